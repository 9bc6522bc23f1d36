// SPDX-License-Identifier: BSD-3-Clause
#include "server/openpmix/job_data.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "common/codec/pack.h"
#include "common/values/array_value.h"
#include "dstore/qualified.h"
#include "openpmix/known_keys.h"
#include "openpmix/known_types.h"
#include "openpmix/tellable.h"

namespace pmix::server {

using common::Bytes;
using common::InfoList;
using common::Rank;
using common::Result;
using common::Value;
using dstore::Found;
using dstore::Owner;
using dstore::OwnerKind;
using openpmix::Traits;

namespace {

using Calls = std::vector<uint8_t>;

// Keys that their library takes for a node's or an application's wherever they stand: outside of such an array they
// would end the reading of the message, or be taken for those of the client's own node.
bool belongs_to_a_level(std::string_view key) noexcept {
    constexpr std::string_view kKeys[] = {PMIX_NODE_OVERSUBSCRIBED, PMIX_FABRIC_DEVICES, PMIX_FABRIC_COORDINATES,
                                          PMIX_FABRIC_DEVICE,       PMIX_PSET_NAME,      PMIX_PSET_MEMBERS,
                                          PMIX_APP_MAP_TYPE,        PMIX_APP_MAP_REGEX};
    return natural_owner(key) != OwnerKind::job ||
           std::find(std::begin(kKeys), std::end(kKeys), key) != std::end(kKeys);
}

// The maps are this library's way to describe a placement; theirs are told by arrays.
bool is_map(std::string_view key) noexcept {
    return key == PMIX_NODE_MAP || key == PMIX_NODE_MAP_RAW || key == PMIX_PROC_MAP || key == PMIX_PROC_MAP_RAW;
}

// One rule for all that the host has said and that leaves outside the array of its level. A process has the name and
// the number of its node in their library, too.
bool stands_alone(OwnerKind owner, std::string_view key) noexcept {
    if (is_map(key)) return false;
    if (owner == OwnerKind::proc && (key == PMIX_HOSTNAME || key == PMIX_NODEID)) return true;
    return !belongs_to_a_level(key);
}

// Decodes a value that may be told. PMIX_ERR_NOT_SUPPORTED: it may not.
Result<Value> readable(std::string_view key, Bytes encoded, const Traits& traits) {
    if (dstore::is_deleted(encoded) || dstore::is_stored_qualified(key, encoded)) return PMIX_ERR_NOT_SUPPORTED;
    Value value;
    common::ByteReader r(encoded);
    const pmix_status_t rc = common::decode_value(r, value.c_ptr());
    if (rc == PMIX_ERR_NOMEM) throw std::bad_alloc();
    if (rc != PMIX_SUCCESS || !openpmix::is_known(traits, value.get())) return PMIX_ERR_NOT_SUPPORTED;
    return value;
}

// Calls of one value each, one after the other.
class Writer {
  public:
    explicit Writer(const Traits& traits) noexcept : traits_(traits) {}

    void add(std::string_view key, Value&& value) {
        openpmix::SectionData one;
        one.values.pairs.push_back({std::string(key), std::move(value)});
        // What cannot be written is of no use to a client; the rest is.
        (void)openpmix::encode(one, traits_, &calls_);
    }
    void add(std::string_view key, Bytes encoded) {
        if (!openpmix::is_known_key(traits_, key)) return;
        if (auto value = readable(key, encoded, traits_); value.ok()) add(key, std::move(value).value());
    }
    // What a process has put. One with qualifiers is told as the array that it put.
    void add_put(std::string_view key, Bytes encoded) {
        if (!dstore::is_stored_qualified(key, encoded)) return add(key, encoded);
        Value array;
        if (!traits_.qualifies || common::decode_value_into(encoded, array.c_ptr()) != PMIX_SUCCESS) return;
        for (const pmix_info_t& info : common::infos_in(array.get()))
            if (!openpmix::is_known_key(traits_, common::key_view(info))) return;
        if (openpmix::is_tellable(traits_, array.get())) add(PMIX_QUALIFIED_VALUE, std::move(array));
    }
    void add(std::string_view key, InfoList&& infos) {
        auto array = common::array_value(std::move(infos));
        if (!array.ok()) throw std::bad_alloc();
        add(key, std::move(array).value());
    }
    size_t size() const noexcept { return calls_.size(); }
    void cut(size_t size) noexcept { calls_.resize(size); }
    Calls take() noexcept { return std::move(calls_); }

  private:
    const Traits& traits_;
    Calls calls_;
};

void append(InfoList& infos, std::string_view key, Value&& value) {
    if (infos.append(key, std::move(value)) == PMIX_ERR_NOMEM) throw std::bad_alloc();
}

// Adds what an owner has, but for the keys that stand there already.
pmix_status_t append_all(InfoList& infos, const dstore::Reader& reader, Owner owner, const Traits& traits) {
    const pmix_status_t rc = reader.for_each(owner, [&](std::string_view key, const Found& found) {
        if (infos.find(key) != nullptr) return;
        auto value = readable(key, found.bytes(), traits);
        if (value.ok() && openpmix::is_tellable(traits, value->get())) append(infos, key, std::move(value).value());
    });
    return rc == PMIX_ERR_NOT_FOUND ? PMIX_SUCCESS : rc;
}

pmix_status_t write_job_keys(Writer& out, const dstore::Reader& reader) {
    const pmix_status_t rc = reader.for_each(Owner::job(), [&](std::string_view key, const Found& found) {
        if (stands_alone(OwnerKind::job, key)) out.add(key, found.bytes());
    });
    return rc == PMIX_ERR_NOT_FOUND ? PMIX_SUCCESS : rc;
}

pmix_status_t write_session(Writer& out, const Nspace& nspace, const Traits& traits) {
    InfoList infos;
    append(infos, PMIX_SESSION_ID, Value::u32(nspace.session.value_or(PMIX_RANK_UNDEF)));
    const pmix_status_t rc =
        append_all(infos, nspace.data->reader(), Owner::session(nspace.session.value_or(0)), traits);
    if (rc != PMIX_SUCCESS || (infos.size() == 1 && !nspace.session)) return rc;
    if (traits.session_array) {
        out.add(PMIX_SESSION_INFO_ARRAY, std::move(infos));
        return rc;
    }
    for (const pmix_info_t& info : infos) {
        auto value = Value::copy_of(info.value);
        if (!value.ok()) throw std::bad_alloc();
        if (common::key_view(info) != PMIX_SESSION_ID || nspace.session)
            out.add(common::key_view(info), std::move(value).value());
    }
    return rc;
}

pmix_status_t write_nodes(Writer& out, const dstore::Reader& reader, const Traits& traits) {
    for (uint32_t i = 0; i < reader.nodes(); ++i) {
        InfoList infos;
        auto name = Value::string(reader.node_name(i));
        if (!name.ok()) throw std::bad_alloc();
        append(infos, PMIX_HOSTNAME, std::move(name).value());
        append(infos, PMIX_NODEID, Value::u32(reader.node_id(i).value_or(i)));
        WIREUP_RETURN_IF_ERROR(append_all(infos, reader, Owner::node(i), traits));
        out.add(PMIX_NODE_INFO_ARRAY, std::move(infos));
    }
    return PMIX_SUCCESS;
}

pmix_status_t write_apps(Writer& out, const Nspace& nspace, const Traits& traits) {
    const dstore::Reader& reader = nspace.data->reader();
    const size_t count = std::max<size_t>(nspace.placed.apps.size(), 1);
    for (uint32_t number = 0; number < count; ++number) {
        InfoList infos;
        append(infos, PMIX_APPNUM, Value::u32(number));
        WIREUP_RETURN_IF_ERROR(append_all(infos, reader, Owner::app(number), traits));
        if (infos.size() > 1) out.add(PMIX_APP_INFO_ARRAY, std::move(infos));
    }
    return PMIX_SUCCESS;
}

// What the host has said of one process.
pmix_status_t write_rank(Writer& out, const dstore::Reader& reader, Rank rank, const Traits& traits) {
    openpmix::RankData data;
    data.rank.value = rank;
    pmix_status_t rc = reader.for_each(Owner::proc(rank), [&](std::string_view key, const Found& found) {
        if (found.scope() != PMIX_SCOPE_UNDEF || key == PMIX_RANK || !openpmix::is_known_key(traits, key)) return;
        if (!stands_alone(OwnerKind::proc, key)) return;
        auto value = readable(key, found.bytes(), traits);
        if (value.ok() && openpmix::is_tellable(traits, value->get()))
            data.values.pairs.push_back({std::string(key), std::move(value).value()});
    });
    if (rc != PMIX_SUCCESS && rc != PMIX_ERR_NOT_FOUND) return rc;
    // Hosts give the parent for the whole job; clients from 7.0 on look for it with their own process, and nowhere
    // else.
    const auto is_parent = [](const auto& pair) { return pair.key == PMIX_PARENT_ID; };
    if (Found parent; std::ranges::none_of(data.values.pairs, is_parent) &&
                      reader.find(Owner::job(), dstore::Key(PMIX_PARENT_ID), parent) == PMIX_SUCCESS) {
        if (auto value = readable(PMIX_PARENT_ID, parent.bytes(), traits); value.ok())
            data.values.pairs.push_back({PMIX_PARENT_ID, std::move(value).value()});
    }
    if (data.values.pairs.empty()) return PMIX_SUCCESS;
    Calls bytes;
    if (openpmix::encode(data, traits, &bytes) != PMIX_SUCCESS) return PMIX_SUCCESS;
    const pmix_byte_object_t object{reinterpret_cast<char*>(bytes.data()), bytes.size()};
    auto value = Value::load(&object, PMIX_BYTE_OBJECT);
    if (!value.ok()) throw std::bad_alloc();
    out.add(PMIX_PROC_BLOB, std::move(value).value());
    return PMIX_SUCCESS;
}

pmix_status_t write_ranks(Writer& out, const Nspace& nspace, const Traits& traits, size_t most) {
    if (!nspace.size_known()) return PMIX_SUCCESS;
    const dstore::Reader& reader = nspace.data->reader();
    const auto is_here = [&](Rank rank) { return reader.node_of(rank) == nspace.own_node; };
    for (const bool here : {true, false}) {
        for (Rank rank = 0; rank < nspace.size(); ++rank) {
            if (is_here(rank) != here) continue;
            const size_t before = out.size();
            WIREUP_RETURN_IF_ERROR(write_rank(out, reader, rank, traits));
            if (out.size() <= most) continue;
            out.cut(before);
            return PMIX_SUCCESS;
        }
    }
    return PMIX_SUCCESS;
}

}  // namespace

Result<OpenPmixJobData::Calls> OpenPmixJobData::job(const Nspace& nspace, const Traits& traits) {
    if (nspace.data == nullptr) return PMIX_ERR_NOT_FOUND;
    const Form form{traits.form.fixed,       traits.form.described,   traits.session_array, traits.newest_type,
                    traits.lacks_statistics, traits.topology_support, traits.numbers_keys};
    Entry& entry = entries_[{nspace.number, form}];
    if (entry.calls != nullptr && entry.state == nspace.data->described()) return entry.calls;
    const dstore::Reader& reader = nspace.data->reader();
    Writer out(traits);
    WIREUP_RETURN_IF_ERROR(write_job_keys(out, reader));
    WIREUP_RETURN_IF_ERROR(write_session(out, nspace, traits));
    WIREUP_RETURN_IF_ERROR(write_nodes(out, reader, traits));
    WIREUP_RETURN_IF_ERROR(write_apps(out, nspace, traits));
    WIREUP_RETURN_IF_ERROR(write_ranks(out, nspace, traits, most_));
    entry.calls = std::make_shared<const std::vector<uint8_t>>(out.take());
    entry.state = nspace.data->described();
    return entry.calls;
}

void OpenPmixJobData::namespace_gone(Nspace& nspace) {
    std::erase_if(entries_, [&](const auto& entry) { return entry.first.first == nspace.number; });
}

Result<std::vector<uint8_t>> OpenPmixJobData::job_key(const Nspace& nspace, std::string_view key,
                                                      const Traits& traits) {
    // No release reads the value of a map: it takes an empty one for the answer. A session's key it reads by itself,
    // too.
    const bool alone = stands_alone(OwnerKind::job, key) || natural_owner(key) == OwnerKind::session;
    if (nspace.data == nullptr || !alone) return PMIX_ERR_NOT_FOUND;
    Found found;
    const pmix_status_t rc = nspace.data->reader().find(Owner::job(), dstore::Key(key), found);
    if (rc != PMIX_SUCCESS) return rc;
    Writer out(traits);
    out.add(key, found.bytes());
    if (out.size() == 0) return PMIX_ERR_NOT_FOUND;
    return out.take();
}

Result<std::vector<uint8_t>> OpenPmixJobData::proc(const Nspace& nspace, Rank rank, bool committed_only,
                                                   const Traits& traits) {
    if (nspace.data == nullptr) return PMIX_ERR_NOT_FOUND;
    Writer out(traits);
    const pmix_status_t rc =
        nspace.data->reader().for_each(Owner::proc(rank), [&](std::string_view key, const Found& found) {
            const bool put = found.scope() != PMIX_SCOPE_UNDEF;
            if (put) {
                out.add_put(key, found.bytes());
            } else if (!committed_only && stands_alone(OwnerKind::proc, key)) {
                out.add(key, found.bytes());
            }
        });
    if (rc != PMIX_SUCCESS && rc != PMIX_ERR_NOT_FOUND) return rc;
    return out.take();
}

Result<std::vector<uint8_t>> OpenPmixJobData::any_proc(const Nspace& nspace, std::string_view key,
                                                       const Traits& traits) {
    if (nspace.data == nullptr) return PMIX_ERR_NOT_FOUND;
    Found found;
    const pmix_status_t rc = nspace.data->reader().find_any_rank(dstore::Key(key), found);
    if (rc != PMIX_SUCCESS) return rc;
    if (found.scope() == PMIX_SCOPE_UNDEF && !stands_alone(OwnerKind::proc, key)) return PMIX_ERR_NOT_FOUND;
    Writer out(traits);
    out.add(key, found.bytes());
    if (out.size() == 0) return PMIX_ERR_NOT_FOUND;
    return out.take();
}

}  // namespace pmix::server

// SPDX-License-Identifier: BSD-3-Clause
#include "client/openpmix/job_blob.h"

#include <algorithm>
#include <functional>
#include <map>

#include "client/data/get_request.h"
#include "common/base/comma_list.h"
#include "common/codec/pack.h"
#include "common/values/array_value.h"
#include "common/values/declared_types.h"
#include "common/values/info_view.h"

namespace pmix::client {

using common::InfoView;
using common::kNoNode;
using common::Rank;
using common::Result;
using dstore::Owner;

namespace {

std::optional<uint32_t> number_in(const pmix_value_t& value) noexcept {
    uint64_t n = 0;
    if (value.type == PMIX_PROC_RANK) return value.data.rank;
    if (common::read_number(value, &n) != PMIX_SUCCESS || n > UINT32_MAX) return std::nullopt;
    return static_cast<uint32_t>(n);
}

std::string_view text_in(const pmix_value_t& value) noexcept {
    return value.type == PMIX_STRING && value.data.string != nullptr ? std::string_view(value.data.string)
                                                                     : std::string_view();
}

class Reading {
  public:
    // values: so many in all.
    Reading(JobBlob& out, const openpmix::Traits& traits, size_t values) noexcept
        : out_(out), traits_(traits), column_ranks_(kColumnRanks + kColumnRanksPerValue * values) {}

    pmix_status_t take(std::string_view key, const pmix_value_t& value) {
        const InfoView array = common::infos_in(value);
        if (key == PMIX_PROC_BLOB) return take_rank_bytes(value);
        if (key == PMIX_PROC_INFO_ARRAY && array.size() != 0) return take_rank_array(array);
        if (key == PMIX_SESSION_INFO_ARRAY) return take_session(array);
        if (key == PMIX_APP_INFO_ARRAY && array.size() != 0) return take_app(array);
        if (key == PMIX_JOB_INFO_ARRAY) return take_all(array);
        if (key == PMIX_NODE_INFO_ARRAY || (!common::is_reserved_key(key) && array.has(PMIX_HOSTNAME)))
            return take_node(array);
        if (key == PMIX_NODE_MAP || key == PMIX_PROC_MAP) return PMIX_SUCCESS;  // the arrays say it
        take_of_job(key, value);
        return PMIX_SUCCESS;
    }

    pmix_status_t take_all(const InfoView& infos) {
        for (const pmix_info_t& info : infos) WIREUP_RETURN_IF_ERROR(take(common::key_view(info), info.value));
        return PMIX_SUCCESS;
    }

  private:
    bool encode(std::string_view key, const pmix_value_t& value, common::Blob* out) {
        common::ByteWriter w;
        if (common::encode_value(w, declared_.as_declared(key, value)) != PMIX_SUCCESS) return false;
        *out = w.take();
        return true;
    }
    void add(Owner owner, std::string_view key, const pmix_value_t& value) {
        JobBlob::Fact fact;
        if (!common::is_valid_key(key) || !encode(key, value, &fact.value)) return;
        fact.owner = owner;
        fact.key = key;
        out_.facts.push_back(std::move(fact));
    }

    void take_of_job(std::string_view key, const pmix_value_t& value) {
        if (key == PMIX_JOB_SIZE) out_.job_size = number_in(value);
        if (key == PMIX_SESSION_ID) note_session(value);
        add(Owner::job(), key, value);
        const Realm realm = default_realm(key);
        if (realm == Realm::session) add(Owner::session(0), key, value);
        if (realm == Realm::app) add(Owner::app(0), key, value);
    }

    void note_session(const pmix_value_t& value) {
        const auto id = number_in(value);
        if (id && *id != UINT32_MAX) out_.session = id;
    }

    pmix_status_t take_session(const InfoView& array) {
        for (const pmix_info_t& info : array) {
            const std::string_view key = common::key_view(info);
            if (key == PMIX_SESSION_ID) {
                note_session(info.value);
            } else {
                add(Owner::session(0), key, info.value);
            }
        }
        return PMIX_SUCCESS;
    }

    pmix_status_t take_app(const InfoView& array) {
        JobBlob::App app;
        for (const pmix_info_t& info : array) {
            const std::string_view key = common::key_view(info);
            const auto n = number_in(info.value);
            if (key == PMIX_APPNUM && n) app.number = *n;
            if (key == PMIX_APP_SIZE) app.size = n;
            if (key == PMIX_APPLDR) app.leader = n;
        }
        for (const pmix_info_t& info : array) add(Owner::app(app.number), common::key_view(info), info.value);
        out_.apps.push_back(app);
        return PMIX_SUCCESS;
    }

    pmix_status_t take_node(const InfoView& array) {
        JobBlob::Node node;
        for (const pmix_info_t& info : array) {
            const std::string_view key = common::key_view(info);
            if (key == PMIX_HOSTNAME) node.name = text_in(info.value);
            if (key == PMIX_NODEID) node.id = number_in(info.value);
            if (key == PMIX_LOCAL_PEERS) node.peers = text_in(info.value);
            if (key == PMIX_HOSTNAME_ALIASES) {
                node.aliases.clear();
                for (const std::string_view alias : common::CommaList(text_in(info.value)))
                    node.aliases.emplace_back(alias);
            }
        }
        if (node.name.empty() && !node.id) return PMIX_SUCCESS;
        const auto place = static_cast<uint32_t>(out_.nodes.size());
        for (const pmix_info_t& info : array) add(Owner::node(place), common::key_view(info), info.value);
        out_.nodes.push_back(std::move(node));
        out_.places = true;
        return PMIX_SUCCESS;
    }

    void take_of_rank(Rank rank, std::string_view key, const pmix_value_t& value) {
        if (key == PMIX_RANK || !common::is_valid_key(key)) return;
        if (key == PMIX_HOSTNAME && !text_in(value).empty() && rank < column_ranks_) {
            out_.hosts.emplace_back(rank, text_in(value));
            out_.places = true;
        }
        common::Blob encoded;
        if (!encode(key, value, &encoded)) return;
        // A rank far above what such a message can describe sizes no column: it has a record of its own.
        if (rank >= column_ranks_ || !out_.procs.set(rank, key, encoded))
            out_.facts.push_back({Owner::proc_info(rank), std::string(key), std::move(encoded)});
    }

    pmix_status_t take_rank_bytes(const pmix_value_t& value) {
        if (value.type != PMIX_BYTE_OBJECT || value.data.bo.bytes == nullptr) return PMIX_ERR_UNPACK_FAILURE;
        openpmix::RankData data;
        const auto* bytes = reinterpret_cast<const uint8_t*>(value.data.bo.bytes);
        WIREUP_RETURN_IF_ERROR(openpmix::decode({bytes, value.data.bo.size}, traits_, &data));
        if (!common::is_real_rank(data.rank.value)) return PMIX_ERR_UNPACK_FAILURE;
        for (const openpmix::KeyValue& pair : data.values.pairs)
            take_of_rank(data.rank.value, pair.key, pair.value.get());
        return PMIX_SUCCESS;
    }

    pmix_status_t take_rank_array(const InfoView& array) {
        const pmix_info_t* said = array.find(PMIX_RANK);
        const auto rank = said == nullptr ? std::nullopt : number_in(said->value);
        if (!rank || !common::is_real_rank(*rank)) return PMIX_ERR_UNPACK_FAILURE;
        for (const pmix_info_t& info : array) take_of_rank(*rank, common::key_view(info), info.value);
        return PMIX_SUCCESS;
    }

    static constexpr size_t kColumnRanks = 1024;
    static constexpr size_t kColumnRanksPerValue = 64;
    JobBlob& out_;
    const openpmix::Traits& traits_;
    const size_t column_ranks_;
    common::DeclaredTypes declared_;
};

// Nodes, each with its number, from their arrays and from where ranks are said to be.
struct Places {
    std::map<std::string, uint32_t, std::less<>> by_name;

    uint32_t obtain(std::string_view name, std::vector<std::string>& nodes) {
        const auto [at, fresh] = by_name.try_emplace(std::string(name), static_cast<uint32_t>(nodes.size()));
        if (fresh) nodes.emplace_back(name);
        return at->second;
    }
};

void place_apps(const JobBlob& blob, uint32_t size, PlacedJob& placed) {
    if (blob.apps.empty()) {
        if (size != 0) placed.apps.push_back({0, size});
        return;
    }
    uint32_t highest = 0;
    for (const JobBlob::App& app : blob.apps) highest = std::max(highest, app.number);
    // As many as were named, give or take: a number alone sizes nothing.
    if (highest >= 2 * blob.apps.size() + 64) return;
    placed.apps.resize(highest + 1);
    for (const JobBlob::App& app : blob.apps) {
        if (!app.leader && highest != 0) continue;
        placed.apps[app.number] = {app.leader.value_or(0), app.size.value_or(highest == 0 ? size : 0)};
    }
}

}  // namespace

Result<JobBlob> JobBlob::read(const openpmix::KeyValues& values, const openpmix::Traits& traits) {
    JobBlob out;
    Reading reading(out, traits, values.pairs.size());
    for (const openpmix::KeyValue& pair : values.pairs)
        WIREUP_RETURN_IF_ERROR(reading.take(pair.key, pair.value.get()));
    return out;
}

uint32_t PlacedJob::place_of(std::string_view name) const noexcept {
    const auto at = std::find(nodes.begin(), nodes.end(), name);
    if (at != nodes.end()) return static_cast<uint32_t>(at - nodes.begin());
    for (const auto& [place, alias] : aliases)
        if (alias == name) return place;
    return kNoNode;
}

Result<PlacedJob> PlacedJob::of(const JobBlob& blob) {
    PlacedJob out;
    Places places;
    for (const JobBlob::Node& node : blob.nodes) {
        if (node.name.empty()) continue;
        const uint32_t place = places.obtain(node.name, out.nodes);
        for (const std::string& alias : node.aliases) out.aliases.emplace_back(place, alias);
    }
    std::vector<uint32_t> node_of;
    const auto put = [&](Rank rank, uint32_t place) {
        if (rank >= common::kMaxMapRanks) return;
        if (node_of.size() <= rank) node_of.resize(rank + 1, kNoNode);
        node_of[rank] = place;
    };
    for (const JobBlob::Node& node : blob.nodes) {
        if (node.peers.empty() || node.name.empty()) continue;
        auto ranks = common::parse_proc_map(node.peers);
        if (!ranks.ok()) return ranks.status();
        const uint32_t place = places.obtain(node.name, out.nodes);
        ranks->for_each_on(0, [&](Rank rank) { put(rank, place); });
    }
    for (const auto& [rank, name] : blob.hosts) {
        // Another name of a node that is known, or one more node.
        const uint32_t known = places.by_name.count(name) != 0 ? kNoNode : out.place_of(name);
        put(rank, known != kNoNode ? known : places.obtain(name, out.nodes));
    }
    bool renumbered = false;
    std::vector<uint32_t> ids(out.nodes.size());
    for (uint32_t i = 0; i < ids.size(); ++i) ids[i] = i;
    for (const JobBlob::Node& node : blob.nodes) {
        if (node.name.empty() || !node.id) continue;
        const uint32_t place = places.obtain(node.name, out.nodes);
        renumbered = renumbered || *node.id != place;
        ids[place] = *node.id;
    }
    if (renumbered) out.ids = std::move(ids);
    const auto known = static_cast<uint32_t>(
        std::count_if(node_of.begin(), node_of.end(), [](uint32_t node) { return node != kNoNode; }));
    // Only where it is all of the job: half a map would move the other ranks to nowhere.
    if (known != 0 && known >= blob.job_size.value_or(known)) {
        auto procs = common::ProcMap::from_node_index(static_cast<uint32_t>(out.nodes.size()), std::move(node_of));
        if (!procs.ok()) return procs.status();
        out.procs = std::move(procs).value();
        out.has_procs = true;
    }
    place_apps(blob, blob.job_size.value_or(known), out);
    return out;
}

}  // namespace pmix::client

// SPDX-License-Identifier: BSD-3-Clause
#include "client/openpmix/shadow.h"

#include <fcntl.h>

#include <algorithm>
#include <utility>

#include "client/data/get_request.h"
#include "client/openpmix/qualified_values.h"
#include "common/base/log.h"
#include "common/codec/pack.h"
#include "common/values/declared_types.h"

namespace pmix::client {

using common::kNoNode;
using common::Result;
using dstore::Computed;
using dstore::Owner;
using dstore::OwnerKind;
using dstore::Record;

namespace {

// One put for each owner: what is published together is found together.
pmix_status_t put_sorted(dstore::Writer& writer, std::vector<std::pair<Owner, Record>>& items) {
    std::stable_sort(items.begin(), items.end(), [](const auto& a, const auto& b) {
        return a.first.kind != b.first.kind ? a.first.kind < b.first.kind : a.first.index < b.first.index;
    });
    std::vector<Record> records;
    for (size_t i = 0; i < items.size();) {
        const Owner owner = items[i].first;
        records.clear();
        for (; i < items.size() && items[i].first == owner; ++i) records.push_back(items[i].second);
        WIREUP_RETURN_IF_ERROR(writer.put(owner, records));
    }
    return PMIX_SUCCESS;
}

common::Blob encoded_u32(uint32_t n) {
    uint8_t bytes[common::kMaxScalarBytes];
    const size_t size = common::encode_scalar(PMIX_UINT32, n, bytes);
    return {bytes, bytes + size};
}

// What follows from the placement where the server does not say it.
void compute_columns(const PlacedJob& placed, dstore::ColumnBuilder& nodes, dstore::ColumnBuilder& procs) {
    nodes.compute(PMIX_HOSTNAME, Computed::node_name, PMIX_STRING, 0);
    nodes.compute(PMIX_NODEID, Computed::node_id, PMIX_UINT32, 4);
    nodes.compute(PMIX_LOCAL_SIZE, Computed::local_size, PMIX_UINT32, 4);
    nodes.compute(PMIX_LOCALLDR, Computed::local_leader, PMIX_PROC_RANK, 4);
    nodes.compute(PMIX_LOCAL_PEERS, Computed::local_peers, PMIX_STRING, 0);
    procs.compute(PMIX_NODEID, Computed::node_id, PMIX_UINT32, 4);
    procs.compute(PMIX_HOSTNAME, Computed::node_name, PMIX_STRING, 0);
    procs.compute(PMIX_LOCAL_RANK, Computed::local_rank, PMIX_UINT16, 2);
    if (placed.apps.empty()) return;
    procs.compute(PMIX_APPNUM, Computed::app_number, PMIX_UINT32, 4);
    procs.compute(PMIX_APP_RANK, Computed::app_rank, PMIX_PROC_RANK, 4);
    procs.compute(PMIX_APPLDR, Computed::app_leader, PMIX_PROC_RANK, 4);
}

}  // namespace

Result<Shadow::Entry*> Shadow::obtain_entry(std::string_view nspace) {
    const auto known = entries_.find(nspace);
    if (known != entries_.end()) return &known->second;
    if (nspace.empty() || nspace.size() > common::kMaxNspaceLength) return PMIX_ERR_UNPACK_FAILURE;
    make_space();
    auto writer = dstore::Writer::create({});
    if (!writer.ok()) return writer.status();
    Entry entry;
    entry.writer = std::move(writer).value();
    entry.instance = next_instance_++;
    if (own_.empty()) freshness_->set_own(own_ = nspace);
    return &entries_.emplace(nspace, std::move(entry)).first->second;
}

void Shadow::hold(std::string_view nspace) {
    ++held_.try_emplace(std::string(nspace), 0).first->second;
}

void Shadow::release(std::string_view nspace) {
    const auto held = held_.find(nspace);
    if (held != held_.end()) {
        if (--held->second != 0) return;
        held_.erase(held);
    }
    const auto entry = entries_.find(nspace);
    if (entry != entries_.end() && nspace != own_) give_back(entry);
}

void Shadow::give_back(Entries::iterator entry) {
    if (gone_ && entry->second.shown != 0) gone_(entry->first, entry->second.shown);
    freshness_->forget(entry->first);
    entries_.erase(entry);
}

// For one more store. The oldest goes: jobs that were asked about once, and have ended.
void Shadow::make_space() {
    size_t others = 0;
    auto oldest = entries_.end();
    for (auto it = entries_.begin(); it != entries_.end(); ++it) {
        if (held_.count(it->first) != 0) continue;
        ++others;
        if (it->first == own_) continue;
        if (oldest == entries_.end() || it->second.instance < oldest->second.instance) oldest = it;
    }
    if (others >= kMostOthers && oldest != entries_.end()) give_back(oldest);
}

pmix_status_t Shadow::obtain(std::string_view nspace) {
    return obtain_entry(nspace).status();
}

const dstore::Reader* Shadow::reader(std::string_view nspace) const noexcept {
    const auto it = entries_.find(nspace);
    return it == entries_.end() ? nullptr : &it->second.writer->reader();
}

uint32_t Shadow::job_size(std::string_view nspace) const {
    const dstore::Reader* in = reader(nspace);
    dstore::Found found;
    if (in == nullptr || in->find(Owner::job(), dstore::Key(PMIX_JOB_SIZE), found) != PMIX_SUCCESS) return 0;
    common::Value value;
    uint64_t size = 0;
    if (common::decode_value_into(found.bytes(), value.c_ptr()) != PMIX_SUCCESS ||
        common::read_number(value.get(), &size) != PMIX_SUCCESS || size >= PMIX_RANK_VALID)
        return 0;
    return static_cast<uint32_t>(size);
}

std::string Shadow::nodes_of_all() const {
    std::set<std::string> known;
    std::string text;
    for (const auto& [name, entry] : entries_) {
        const dstore::Reader& in = entry.writer->reader();
        for (uint32_t i = 0; i < in.nodes(); ++i) {
            if (in.local_size(i).value_or(0) == 0 || !known.emplace(in.node_name(i)).second) continue;
            if (!text.empty()) text += ',';
            text += in.node_name(i);
        }
    }
    return text;
}

common::ProcList Shadow::procs_of_all(std::string_view node) const {
    common::ProcList procs;
    for (const auto& [name, entry] : entries_) {
        const dstore::Reader& in = entry.writer->reader();
        const auto place = in.node_by_name(node.empty() ? std::string_view(hostname_) : node);
        const uint32_t count = place ? in.local_size(*place).value_or(0) : 0;
        for (uint32_t i = 0; i < count; ++i)
            if (const auto rank = in.rank_on(*place, i)) procs.emplace_back(name, *rank);
    }
    return procs;
}

pmix_status_t Shadow::take_job(std::string_view nspace, const openpmix::KeyValues& values) {
    auto blob = JobBlob::read(values, traits_);
    if (!blob.ok()) return blob.status();
    auto entry = obtain_entry(nspace);
    if (!entry.ok()) return entry.status();
    const pmix_status_t rc = apply(**entry, std::move(blob).value());
    written(**entry);
    return rc;
}

pmix_status_t Shadow::apply(Entry& entry, JobBlob&& blob) {
    dstore::Writer& writer = *entry.writer;
    dstore::ColumnBuilder nodes_known(OwnerKind::node);
    std::vector<std::pair<Owner, Record>> items;
    // A node by itself is no placement of a job that has one.
    if (blob.places && (blob.job_size || entry.nodes.empty())) {
        auto placed = PlacedJob::of(blob);
        if (!placed.ok()) return placed.status();
        dstore::Placement placement;
        placement.procs = placed->has_procs ? &placed->procs : nullptr;
        placement.nodes = placed->nodes;
        placement.node_ids = placed->ids;
        std::vector<dstore::NodeAlias> aliases;
        for (const auto& [place, alias] : placed->aliases) aliases.push_back({place, alias});
        placement.aliases = aliases;
        placement.apps = placed->apps;
        if (!placed->nodes.empty()) {
            WIREUP_RETURN_IF_ERROR(writer.set_placement(placement));
            entry.nodes = placed->nodes;
        }
        if (placed->has_procs && !std::exchange(entry.computes, true))
            compute_columns(*placed, nodes_known, blob.procs);
        for (uint32_t i = 0; i < placed->apps.size(); ++i) {
            const dstore::AppRange& app = placed->apps[i];
            const bool said = std::any_of(blob.facts.begin(), blob.facts.end(), [&](const JobBlob::Fact& fact) {
                return fact.owner == Owner::app(i) && fact.key == PMIX_APP_SIZE;
            });
            if (app.size != 0 && !said) blob.facts.push_back({Owner::app(i), PMIX_APP_SIZE, encoded_u32(app.size)});
        }
    }
    if (blob.session) {
        blob.facts.push_back({Owner::job(), PMIX_SESSION_ID, encoded_u32(*blob.session)});
        blob.facts.push_back({Owner::session(0), PMIX_SESSION_ID, encoded_u32(*blob.session)});
    }
    // A job knows its session's number, by which its session is found.
    uint32_t session = blob.session.value_or(0);
    dstore::Found found;
    if (!blob.session && writer.reader().find(Owner::job(), dstore::Key(PMIX_SESSION_ID), found) == PMIX_SUCCESS) {
        common::Value value;
        uint64_t id = 0;
        if (common::decode_value_into(found.bytes(), value.c_ptr()) == PMIX_SUCCESS &&
            common::read_number(value.get(), &id) == PMIX_SUCCESS && id < UINT32_MAX)
            session = static_cast<uint32_t>(id);
    }
    const auto place_of = [&](std::string_view name) {
        const auto at = std::find(entry.nodes.begin(), entry.nodes.end(), name);
        return at == entry.nodes.end() ? kNoNode : static_cast<uint32_t>(at - entry.nodes.begin());
    };
    const uint32_t own_node = place_of(hostname_);
    for (const JobBlob::Fact& fact : blob.facts) {
        const Record record{fact.key, fact.value, PMIX_GLOBAL};
        Owner owner = fact.owner;
        if (owner.kind == OwnerKind::session) owner.index = session;
        if (owner.kind == OwnerKind::node) {
            owner.index = place_of(blob.nodes[owner.index].name);
            if (owner.index == kNoNode) continue;
        } else if (owner.kind == OwnerKind::job && own_node != kNoNode && default_realm(fact.key) == Realm::node) {
            items.emplace_back(Owner::node(own_node), record);
        }
        items.emplace_back(owner, record);
    }
    WIREUP_RETURN_IF_ERROR(put_sorted(writer, items));
    if (!blob.procs.empty()) WIREUP_RETURN_IF_ERROR(writer.add_columns(std::move(blob.procs)));
    if (!nodes_known.empty()) WIREUP_RETURN_IF_ERROR(writer.add_columns(std::move(nodes_known)));
    return PMIX_SUCCESS;
}

// What a process shows to this one and what to processes of other nodes, the server does not say. As a commit, in which
// what is there already costs nothing.
pmix_status_t Shadow::take_proc(const common::ProcId& proc, openpmix::KeyValues&& values, uint64_t exchanges) {
    if (!common::is_real_rank(proc.rank)) return PMIX_ERR_UNPACK_FAILURE;
    auto entry = obtain_entry(proc.nspace);
    if (!entry.ok()) return entry.status();
    store_qualified(values);
    std::vector<common::Blob> encoded;
    std::vector<std::string_view> keys;
    common::DeclaredTypes types;
    for (const openpmix::KeyValue& pair : values.pairs) {
        common::ByteWriter w;
        const pmix_value_t declared = types.as_declared(pair.key, pair.value.get());
        if (!common::is_valid_key(pair.key) || common::encode_value(w, declared) != PMIX_SUCCESS) continue;
        encoded.push_back(w.take());
        keys.push_back(pair.key);
    }
    std::vector<Record> records;
    for (size_t i = 0; i < keys.size(); ++i) records.push_back({keys[i], encoded[i], PMIX_GLOBAL});
    if ((*entry)->procs.insert(proc.rank).second) (*entry)->writer->add_local(proc.rank);
    const auto generation = (*entry)->writer->commit(proc.rank, records);
    written(**entry);
    if (generation.ok()) freshness_->note_fetched(proc, exchanges);
    return generation.status();
}

pmix_status_t Shadow::take_deletion(const common::ProcId& proc, std::string_view key) {
    const auto it = entries_.find(proc.nspace);
    if (it == entries_.end() || it->second.procs.count(proc.rank) == 0 || !common::is_valid_key(key))
        return PMIX_SUCCESS;
    const Record gone{key, dstore::kDeletedValue, PMIX_GLOBAL};
    const auto generation = it->second.writer->commit(proc.rank, {&gone, 1});
    written(it->second);
    return generation.status();
}

void Shadow::written(Entry& entry) {
    if (!entry.writer->compaction_due()) return;
    const auto renewed = entry.writer->compact();
    if (!renewed.ok() || !renewed.value()) return;
    entry.instance = next_instance_++;
    entry.handed_out = false;
}

Result<Shadow::Grant> Shadow::grant(std::string_view nspace, bool lacks) {
    const auto it = entries_.find(nspace);
    if (it == entries_.end()) return PMIX_ERR_NOT_FOUND;
    Entry& entry = it->second;
    Grant out;
    out.segment.nspace = it->first;
    out.segment.instance = entry.instance;
    out.segment.generation = entry.writer->reader().publications();
    if (entry.handed_out && !lacks) return out;
    transport::Descriptor descriptor(::fcntl(entry.writer->descriptor(), F_DUPFD_CLOEXEC, STDERR_FILENO + 1));
    if (!descriptor) return PMIX_ERR_OUT_OF_RESOURCE;
    out.segment.has_descriptor = true;
    if (outlet_) {
        WIREUP_RETURN_IF_ERROR(outlet_(out.segment, std::move(descriptor)));
        out.segment.has_descriptor = false;
    } else {
        out.descriptor = std::move(descriptor);
    }
    entry.handed_out = true;
    entry.shown = entry.instance;
    return out;
}

}  // namespace pmix::client

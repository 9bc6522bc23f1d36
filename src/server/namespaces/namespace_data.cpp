// SPDX-License-Identifier: BSD-3-Clause
#include "server/namespaces/namespace_data.h"

#include <algorithm>

#include "server/namespaces/node_index.h"
#include "server/namespaces/registry.h"

namespace pmix::server {

using common::Bytes;
using common::kNoNode;
using common::Rank;
using common::Result;
using dstore::Found;
using dstore::Key;
using dstore::Owner;
using dstore::OwnerKind;
using dstore::Record;

Result<std::unique_ptr<NamespaceData>> NamespaceData::create(uint32_t job_size, uint64_t origin, uint32_t instance) {
    dstore::WriterOptions options;
    options.job_size = job_size;
    options.origin = origin;
    auto writer = dstore::Writer::create(options);
    if (!writer.ok()) return writer.status();
    return std::unique_ptr<NamespaceData>(new NamespaceData(std::move(writer).value(), instance));
}

Result<bool> NamespaceData::renew(uint32_t instance) {
    auto renewed = writer_->compact();
    if (renewed.ok() && *renewed) instance_ = instance;
    return renewed;
}

namespace {

// The places in the current list of nodes that arrays named.
class NodePlaces {
  public:
    explicit NodePlaces(const Placed& current) : listed_(current.node_ids.empty() ? current.nodes.size() : 0) {
        for (uint32_t i = 0; i < current.nodes.size(); ++i) index_.note(current.nodes[i], i);
        for (const auto& [place, alias] : current.aliases) index_.note(alias, place);
        for (uint32_t i = 0; i < current.node_ids.size(); ++i) index_.note(current.node_ids[i], i);
    }
    // kNoNode when it is not in it.
    uint32_t of(const NodeRef& node) const {
        if (const auto place = index_.find(node.name)) return *place;
        if (!node.id) return kNoNode;
        return *node.id < listed_ ? *node.id : index_.find(*node.id).value_or(kNoNode);
    }

  private:
    const size_t listed_;  // nodes whose place is their number
    NodeIndex index_;
};

struct Placing {
    Owner owner;
    Record record;
    ValueSource source;
};

// One put per owner: what is published together is found together.
pmix_status_t put_sorted(dstore::Writer& writer, ValueSources& sources, std::vector<Placing>& items) {
    std::stable_sort(items.begin(), items.end(), [](const Placing& a, const Placing& b) {
        return a.owner.kind != b.owner.kind ? a.owner.kind < b.owner.kind : a.owner.index < b.owner.index;
    });
    std::vector<Record> records;
    for (size_t i = 0; i < items.size();) {
        Owner owner = items[i].owner;
        const size_t first = i;
        records.clear();
        for (; i < items.size() && items[i].owner == owner; ++i) records.push_back(items[i].record);
        pmix_status_t rc = writer.put(owner, records);
        if (rc != PMIX_SUCCESS) return rc;
        for (size_t k = first; k < i; ++k) sources.set(owner, items[k].record.key, items[k].source);
    }
    return PMIX_SUCCESS;
}

}  // namespace

pmix_status_t NamespaceData::apply(JobInfo&& setup, const Placed& placed, uint32_t own_node) {
    ++described_;
    dstore::ColumnBuilder nodes_known(OwnerKind::node);
    if (!placed.nodes.empty()) {
        dstore::Placement placement;
        placement.procs = placed.has_procs ? &placed.procs : nullptr;
        placement.nodes = placed.nodes;
        placement.node_ids = placed.node_ids;
        std::vector<dstore::NodeAlias> aliases;
        for (const auto& [place, alias] : placed.aliases) aliases.push_back({place, alias});
        placement.aliases = aliases;
        placement.apps = placed.apps;
        pmix_status_t rc = writer_->set_placement(placement);
        if (rc != PMIX_SUCCESS) return rc;
        if (!nodes_declared_) declare_nodes(nodes_known);
        if (!ranks_declared_ && placed.has_procs) declare_ranks(placed, nodes_known, setup.procs_known);
    }
    const size_t said = setup.items.size();
    derive_values(setup, placed, [this](Owner owner, std::string_view key) { return said_before(owner, key); });

    const NodePlaces places(placed);
    std::vector<Placing> items;
    items.reserve(setup.items.size());
    for (size_t i = 0; i < setup.items.size(); ++i) {
        const JobInfo::Item& item = setup.items[i];
        Owner owner = item.owner;
        std::string_view key = setup.key_of(item);
        Record record{key, setup.value_of(item), PMIX_GLOBAL};
        if (owner.kind == OwnerKind::node) {
            uint32_t place = places.of(setup.nodes_named[owner.index]);
            if (place == kNoNode) continue;
            owner.index = place;
        } else if (owner.kind == OwnerKind::job && own_node != kNoNode && natural_owner(key) == OwnerKind::node) {
            items.push_back({Owner::node(own_node), record, ValueSource::host});
        }
        items.push_back({owner, record, i < said ? ValueSource::host : ValueSource::derived});
    }
    pmix_status_t rc = put_sorted(*writer_, sources_, items);
    if (rc == PMIX_SUCCESS && !setup.procs_known.empty()) rc = writer_->add_columns(std::move(setup.procs_known));
    if (rc == PMIX_SUCCESS && !nodes_known.empty()) rc = writer_->add_columns(std::move(nodes_known));
    if (rc != PMIX_SUCCESS || placed.nodes.empty()) return rc;
    nodes_declared_ = true;
    ranks_declared_ = ranks_declared_ || placed.has_procs;
    return rc;
}

// The host itself, not this server for want of better.
bool NamespaceData::said_before(Owner owner, std::string_view key) const {
    Found found;
    return sources_.of(owner, key) != ValueSource::derived && reader().find(owner, Key(key), found) == PMIX_SUCCESS;
}

pmix_status_t NamespaceData::put_proc_info(Rank rank, std::string_view key, Bytes encoded) {
    ++described_;
    const Record record{key, encoded, PMIX_GLOBAL};
    return writer_->put(Owner::proc_info(rank), {&record, 1});
}

pmix_status_t NamespaceData::apply_shared(const std::vector<Fact>& facts, const Placed& current, ValueSource source) {
    ++described_;
    const NodePlaces places(current);
    std::vector<Placing> items;
    Found found;
    for (const Fact& fact : facts) {
        Owner owner = fact.owner;
        if (owner.kind == OwnerKind::node) {
            uint32_t place = places.of(*fact.node);
            if (place == kNoNode) continue;
            owner.index = place;
        }
        if (!replaces(source, sources_.of(owner, fact.key)) &&
            reader().find(owner, Key(fact.key), found) == PMIX_SUCCESS)
            continue;
        items.push_back({owner, {fact.key, fact.value, PMIX_GLOBAL}, source});
    }
    return put_sorted(*writer_, sources_, items);
}

pmix_status_t NamespaceData::withdraw_resources(const std::vector<Fact>& facts, const Placed& current) {
    ++described_;
    const NodePlaces places(current);
    std::vector<Placing> items;
    const auto withdraw = [&](Owner owner, std::string_view key) {
        if (sources_.of(owner, key) != ValueSource::resources) return;
        items.push_back({owner, {key, dstore::kDeletedValue, PMIX_GLOBAL}, ValueSource::derived});
    };
    for (const Fact& fact : facts) {
        if (fact.owner.kind != OwnerKind::node) {
            withdraw(fact.owner, fact.key);
        } else if (!fact.node->name.empty() || fact.node->id) {
            if (const uint32_t place = places.of(*fact.node); place != kNoNode) withdraw(Owner::node(place), fact.key);
        } else {
            for (uint32_t place = 0; place < current.nodes.size(); ++place) withdraw(Owner::node(place), fact.key);
        }
    }
    return put_sorted(*writer_, sources_, items);
}

Result<uint64_t> NamespaceData::commit(Rank rank, const std::vector<common::CommitEntry>& entries) {
    std::vector<Record> records;
    records.reserve(entries.size());
    for (const common::CommitEntry& entry : entries) {
        const auto scope = static_cast<pmix_scope_t>(entry.scope);
        const pmix_scope_t deleted = dstore::deleted_scope(scope);
        if (deleted == PMIX_SCOPE_UNDEF) {
            records.push_back({entry.key, entry.value, scope});
        } else {
            records.push_back({entry.key, dstore::kDeletedValue, deleted});
        }
    }
    return writer_->commit(rank, records);
}

bool NamespaceData::has(Rank rank, std::string_view key) const noexcept {
    if (key.empty()) return reader().has_commits(rank);
    Found found;
    return reader().find(Owner::proc(rank), Key(key), found) == PMIX_SUCCESS;
}

bool NamespaceData::has_anywhere(std::string_view key) const noexcept {
    Found found;
    return reader().find_any_rank(Key(key), found) == PMIX_SUCCESS;
}

Result<std::vector<uint8_t>> NamespaceData::contribution(std::string_view nspace,
                                                         std::span<const dstore::RankSince> ranks, size_t most) const {
    auto chunk = writer_->contribution(ranks);
    if (!chunk.ok() || chunk->empty()) return chunk;
    if (chunk->size() <= most) return wrap_section(nspace, *chunk);
    if (ranks.size() < 2) return PMIX_ERR_OUT_OF_RESOURCE;
    chunk = std::vector<uint8_t>{};
    auto first = contribution(nspace, ranks.first(ranks.size() / 2), most);
    if (!first.ok()) return first;
    auto second = contribution(nspace, ranks.subspan(ranks.size() / 2), most);
    if (!second.ok()) return second.status();
    first->insert(first->end(), second->begin(), second->end());
    return first;
}

std::vector<uint8_t> NamespaceData::kept_names(std::string_view nspace, common::Rank rank) const {
    std::vector<std::string> keys;
    writer_->reader().for_each(dstore::Owner::proc(rank), [&](std::string_view key, const dstore::Found& found) {
        const dstore::Key here(key);
        if (found.scope() == PMIX_LOCAL ? !writer_->exists_outside_scope(rank, here)
                                        : found.scope() == PMIX_GLOBAL && writer_->deleted_for_remote(rank, here))
            keys.emplace_back(key);
    });
    return wrap_kept(nspace, rank, keys);
}

void append_owner(const Nspace& nspace, std::vector<uint8_t>& blob) {
    if (!nspace.owner) return;
    const std::vector<uint8_t> section = wrap_owner(nspace.name, *nspace.owner);
    blob.insert(blob.end(), section.begin(), section.end());
}

pmix_status_t ingest_blob(Registry& registry, Bytes blob, std::string_view remote, const BeforeIngest& before) {
    std::vector<uint8_t> storage;
    while (!blob.empty()) {
        auto section = read_section(blob);
        if (!section.ok()) return section.status();
        blob = blob.subspan(section->size);
        if (section->kept || section->group || section->job || section->presence || section->state) continue;
        Nspace* nspace = registry.find(section->nspace);
        if (section->owner) {
            // What this node's own host has registered takes precedence.
            const auto uid = section_owner(*section);
            if (nspace != nullptr && uid && !nspace->owner) nspace->owner = uid;
            continue;
        }
        if (nspace == nullptr && !remote.empty() && section->nspace == remote) nspace = &registry.obtain_remote(remote);
        if (nspace == nullptr) continue;
        if (pmix_status_t rc = registry.ensure_data(*nspace); rc != PMIX_SUCCESS) return rc;
        auto chunks = section_chunks(*section, storage);
        if (!chunks.ok()) return chunks.status();
        if (before) before(*nspace, *chunks);
        dstore::Ingested done = nspace->data->ingest(*chunks);
        registry.written(*nspace);
        if (done.status != PMIX_SUCCESS) return done.status;
    }
    return PMIX_SUCCESS;
}

}  // namespace pmix::server

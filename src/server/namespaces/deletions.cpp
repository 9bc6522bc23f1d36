// SPDX-License-Identifier: BSD-3-Clause
#include "server/namespaces/deletions.h"

#include "dstore/contribution.h"
#include "server/namespaces/registry.h"

namespace pmix::server {

// From the end: where some are taken out meanwhile, one may be told twice, and none is left out.
void Deletions::tell(const Nspace& nspace, common::Rank rank, std::string_view key, const Peer* by) const {
    for (size_t i = watchers_.size(); i-- > 0;)
        if (i < watchers_.size()) watchers_[i]->key_deleted(nspace, rank, key, by);
}

// A block that replaces all that was known deletes by what it does not have.
void ReceivedDeletions::note(const Nspace& nspace, common::Bytes chunks) {
    if (nspace.data == nullptr) return;
    const dstore::Reader& reader = nspace.data->reader();
    while (!chunks.empty()) {
        auto chunk = dstore::ChunkView::check(chunks);
        if (!chunk.ok()) return;
        size_t at = chunk->first();
        for (uint32_t i = 0; i < chunk->blocks(); ++i) {
            const dstore::BlockView block = chunk->at(at);
            at += block.size;
            if (block.owner.kind != dstore::OwnerKind::proc) continue;
            const common::Rank rank = block.owner.index;
            if (!reader.has_commits(rank)) continue;
            const auto add = [&](std::string_view key) { present_.emplace(nspace.name, rank, std::string(key)); };
            for (uint32_t r = 0; !block.generations.full && r < block.records; ++r) {
                const dstore::Record record = chunk->record(block, r);
                if (dstore::is_deleted(record.value) && nspace.data->has(rank, record.key)) add(record.key);
            }
            if (!block.generations.full) continue;
            (void)reader.for_each(block.owner, [&](std::string_view key, const dstore::Found& found) {
                if (found.scope() != PMIX_SCOPE_UNDEF && !dstore::is_deleted(found.bytes())) add(key);
            });
        }
        chunks = chunks.subspan(chunk->size());
    }
}

void ReceivedDeletions::tell(const Registry& registry, const Deletions& deletions) const {
    for (const auto& [name, rank, key] : present_) {
        const Nspace* nspace = registry.find(name);
        if (nspace != nullptr && nspace->data != nullptr && !nspace->data->has(rank, key))
            deletions.tell(*nspace, rank, key, nullptr);
    }
}

}  // namespace pmix::server

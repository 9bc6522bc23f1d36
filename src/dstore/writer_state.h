// SPDX-License-Identifier: BSD-3-Clause
// What the writer's four files share: the segment being filled, its owner tables, its keys, the local ranks.
//
// Private to the writer. Server's loop only. Its functions that append leave bytes behind the published size; their
// caller publishes, then sets the reference that leads there. Appended bytes that are never referred to are only
// lost memory, so there is nothing to undo when a later step fails.
#pragma once

#include <array>
#include <cassert>
#include <unordered_map>
#include <vector>

#include "dstore/access.h"
#include "dstore/block.h"
#include "dstore/catalog.h"
#include "dstore/columns.h"
#include "dstore/contribution.h"
#include "dstore/layout.h"
#include "dstore/segment.h"
#include "dstore/writer.h"

namespace pmix::dstore {

struct Writer::State {
    WriterOptions options;
    std::unique_ptr<Segment> segment;
    std::unique_ptr<Reader> reader;
    uint64_t tail = 0;
    // Bytes written for owners that had some before, which may have replaced as much, and those of columns, placements
    // and catalogs that have been replaced.
    uint64_t rewritten = 0;
    uint64_t look_again_at = 0;  // the last look at them found too little replaced

    // ---- Space and publication (writer.cpp)
    // Zeroed only where fresh from the kernel, which is everywhere: nothing is ever allocated twice.
    common::Result<uint64_t> allocate(uint64_t bytes);
    uint8_t* at(uint64_t offset) const noexcept { return segment->base() + offset; }
    uint8_t* ref(uint32_t reference) const noexcept { return at(reference * layout::kUnit); }
    void publish_size() noexcept {
        assert(tail >= layout::load_word(at(layout::kHdrPublished)));
        layout::store_word(at(layout::kHdrPublished), tail);
    }
    void count_publication() noexcept {
        uint8_t* p = at(layout::kHdrPublications);
        layout::store_word(p, layout::load_word(p) + 1);
    }

    // ---- Owner tables
    pmix_status_t reserve_entry(Owner owner);
    // After reserve_entry.
    void set_newest(Owner owner, uint32_t reference) noexcept;
    uint32_t newest(Owner owner) const noexcept;

    // ---- Keys: name -> dictionary entry, in units. A key's place is its hash's, keyed
    std::vector<uint32_t> key_slots;
    size_t keys = 0;
    common::Result<uint32_t> intern(const Key& key);
    std::string_view key_name(uint32_t reference) const noexcept {
        const uint8_t* k = ref(reference);
        return {reinterpret_cast<const char*>(k + layout::kKeyName), layout::get16(k + layout::kKeyLength)};
    }

    // ---- Blocks
    // The record of an owner's own chain, columns and other owners left out.
    // equal, where given: how many records of other keys with its hash were met.
    bool find_own(Owner owner, const Key& key, RecordView* record, unsigned* equal = nullptr) noexcept;
    // Appends a block of the items (sorted here) and makes it the newest one. `base` is what is known after it, or, of
    // a block with a gap in front (kFlagGap), what it follows.
    pmix_status_t add_block(Owner owner, std::vector<Item>& items, uint64_t generation, uint64_t base,
                            uint8_t flags = 0);
    // A block that refers to the records of the first blocks of a chain (newest first), the first one counting where
    // several have a key. It takes the place of at least `at_least` of them, and older ones stay behind it where
    // they are much larger: many small commits of one owner would otherwise write all its references again and again.
    // Where it takes the place of all, `behind` is the next older block. One with a gap in front has the base of the
    // last block whose place it takes.
    common::Result<uint32_t> write_index(const BlockHead& head, std::span<const uint32_t> blocks, size_t at_least,
                                         uint32_t behind = 0);
    size_t worth_merging(std::span<const uint32_t> blocks, size_t at_least) const noexcept;
    bool over_quota(uint64_t held_units, uint64_t more_bytes) const noexcept {
        return held_units + more_bytes / layout::kUnit > options.rank_quota / layout::kUnit;
    }
    // Up to which generation a rank is known without a gap.
    uint64_t known(uint32_t newest_reference) const noexcept;

    // ---- Ingest (writer_ingest.cpp)
    // A rank's chain: deltas that something in front of them is missing for, each with the generations (base,
    // generation], newest first; no two of them overlap or continue each other. Below them is what is known without a
    // gap. The two are never merged: what is missing has its place between them. The newest may have several blocks,
    // of which each continues the next; the others have one.
    struct Delta {
        uint32_t block;  // the newest of them
        unsigned blocks;
        uint32_t behind;  // the next older block; 0: there is none
        uint64_t base;
        uint64_t generation;
    };
    struct Layers {
        std::array<Delta, layout::kMaxGaps> delta;  // the first `gaps` of them
        unsigned gaps = 0;
        uint32_t solid = 0;  // newest block without a gap; 0: there is none
    };
    Layers layers_of(uint32_t head) const noexcept;
    // Its blocks, newest first, behind those that are there.
    void append_blocks(const Delta& delta, std::vector<uint32_t>& blocks) const;
    // One block that stands for all of the delta's, in front of `behind`.
    common::Result<uint32_t> write_delta(Owner owner, const Delta& delta, uint32_t held, uint32_t behind);
    enum class Verdict : uint8_t { take, skip, full };
    Verdict judge(const BlockView& block) const noexcept;
    // Takes the block at `offset`, copied there with its dictionary, into its owner's chain.
    common::Result<bool> link(uint64_t offset);
    pmix_status_t take_chunk(const ChunkView& chunk, Ingested& result);

    // ---- Catalog (writer_catalog.cpp)
    common::Result<uint32_t> lone_record(common::Bytes value);
    common::Result<uint32_t> append(const void* bytes, uint64_t size);
    common::Result<uint32_t> append_words(std::span<const uint32_t> words);
    pmix_status_t publish_catalog(const std::vector<std::vector<uint8_t>>& columns, uint32_t proc_columns,
                                  uint32_t placement);
    pmix_status_t write_column(const ColumnData& data, uint8_t (&column)[layout::kColumnSize]);
    bool same_placement(const Placement& placement) noexcept;
    // What they take: the catalog itself, what a column refers to, a placement with its arrays and names. 0: there is
    // none.
    uint64_t catalog_bytes() const noexcept;
    uint64_t column_bytes(const uint8_t* column) const noexcept;
    uint64_t placement_bytes(uint32_t reference) const noexcept;

    // ---- A new segment with what counts of an old one (writer_compact.cpp). `from` is not changed, except by the last
    template <class F>
    void for_each_owner(F&& fn) const;
    // fn(newest block, the block behind the last one, base), for what is known without a gap and then for each delta
    // with a gap in front, oldest first.
    template <class F>
    pmix_status_t for_each_layer(uint32_t newest_block, F&& fn) const;
    void collect(uint32_t newest_block, uint32_t end, std::vector<uint64_t>& records) const;
    uint64_t live_bytes() const;
    pmix_status_t copy_owner(const State& from, Owner owner, uint32_t newest_block);
    common::Result<uint32_t> copy_lone(const State& from, uint32_t reference);
    pmix_status_t copy_column(const State& from, uint8_t* column);
    common::Result<uint32_t> copy_placement(const State& from, uint32_t reference);
    pmix_status_t copy_catalog(const State& from);
    void take_locals(State& from);

    // ---- Local ranks
    struct Entry {
        uint32_t hash = 0;
        pmix_scope_t scope = PMIX_SCOPE_UNDEF;
        uint64_t generation = 0;  // of its commit
        std::string_view key;     // in the segment, or in `own`
        common::Bytes value;      // likewise
        std::unique_ptr<uint8_t[]> own;
    };
    struct Local {
        uint64_t generation = 0;
        uint64_t own_bytes = 0;
        // What other nodes may see: global records, which lie in the segment, and remote ones, which do not. Each key
        // is in one of the runs, which are in order of hashes; each run is at most half as long as the one before it,
        // but for the last: what many small commits add is merged a few times, not moved by each commit.
        std::vector<std::vector<Entry>> remote;
    };
    std::unordered_map<common::Rank, Local> locals;
    static Entry* find_entry(std::vector<std::vector<Entry>>& runs, const Key& key, unsigned* equal = nullptr) noexcept;
    static const Entry* find_entry(const std::vector<std::vector<Entry>>& runs, const Key& key,
                                   unsigned* equal = nullptr) noexcept {
        return find_entry(const_cast<std::vector<std::vector<Entry>>&>(runs), key, equal);
    }
    void merge_runs(Local& local);
    // The peers that find a value under a local rank's key now.
    Audience audience_with(const Local& local, Owner owner, const Key& key) noexcept;
    WriterCounts counts;
};

}  // namespace pmix::dstore

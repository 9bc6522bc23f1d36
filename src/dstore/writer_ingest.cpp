// SPDX-License-Identifier: BSD-3-Clause
// Taking over what other nodes have sent: one copy per chunk, then one reference per rank.

#include <algorithm>

#include "dstore/contribution.h"
#include "dstore/writer_state.h"

namespace pmix::dstore {

using namespace layout;

// Whether a block brings anything, and whether there is room for it.
Writer::State::Verdict Writer::State::judge(const BlockView& block) const noexcept {
    if (locals.count(block.owner.index) != 0) return Verdict::skip;
    const uint32_t head = newest(block.owner);
    if (head == 0) return over_quota(0, block.size) ? Verdict::full : Verdict::take;
    const uint64_t generation = block.generations.generation;
    if (generation <= known(head)) return Verdict::skip;
    for (uint32_t r = head; r != 0; r = get32(ref(r) + kBlkPrev)) {
        if (get64(ref(r) + kBlkGeneration) == generation && (ref(r)[kBlkFlags] & kFlagGap) != 0) {
            if (!block.generations.full) return Verdict::skip;
        }
    }
    return over_quota(get32(ref(head) + kBlkHeld), block.size) ? Verdict::full : Verdict::take;
}

common::Result<bool> Writer::State::link(uint64_t offset) {
    uint8_t* const b = at(offset);
    const auto self = static_cast<uint32_t>(offset / kUnit);
    BlockView view;
    view.owner = {static_cast<OwnerKind>(b[kBlkKind]), get32(b + kBlkIndex)};
    view.generations = {get64(b + kBlkGeneration), get64(b + kBlkBase), (b[kBlkFlags] & kFlagFull) != 0};
    view.size = uint64_t{get32(b + kBlkSize)} * kUnit;
    // Again, because a chunk may hold several blocks of one rank.
    switch (judge(view)) {
        case Verdict::skip:
            return false;
        case Verdict::full:
            return PMIX_ERR_OUT_OF_RESOURCE;
        case Verdict::take:
            break;
    }
    const uint64_t generation = view.generations.generation;
    const uint32_t head = newest(view.owner);
    if (head != 0) rewritten += view.size;
    const uint64_t known_before = known(head);
    const uint64_t newest_generation = head == 0 ? 0 : get64(ref(head) + kBlkGeneration);
    const bool closes = view.generations.full || view.generations.base_generation <= known_before;

    BlockHead h;
    h.owner = view.owner;
    h.generation = generation;
    h.held = (head == 0 ? 0 : get32(ref(head) + kBlkHeld)) + get32(b + kBlkSize);
    h.flags = (view.generations.full ? kFlagFull : 0) | (closes ? 0 : kFlagGap);
    h.base = closes ? generation : view.generations.base_generation;
    h.chain = 1;

    // What it stands on, newest first, as far as it does not replace it; later blocks that came earlier stay on top.
    std::vector<uint32_t> above;
    std::vector<uint32_t> below;
    if (newest_generation > generation || (head != 0 && ref(head)[kBlkChain] >= kMaxChain && !view.generations.full)) {
        for (uint32_t r = head; r != 0; r = get32(ref(r) + kBlkPrev)) {
            if (get64(ref(r) + kBlkGeneration) > generation) {
                above.push_back(r);
            } else if (!view.generations.full) {
                below.push_back(r);
            }
        }
    }
    uint32_t first = self;
    if (above.empty() && below.empty()) {
        if (head != 0 && !view.generations.full) {
            h.prev = head;
            h.chain = static_cast<uint8_t>(ref(head)[kBlkChain] + 1);
        }
        write_block_head(b, h, get32(b + kBlkCount), view.size);
    } else {
        write_block_head(b, h, get32(b + kBlkCount), view.size);
        uint64_t known_after = closes ? generation : known_before;
        for (auto r = above.rbegin(); r != above.rend(); ++r) {
            const uint8_t* p = ref(*r);
            if ((p[kBlkFlags] & kFlagGap) != 0 && get64(p + kBlkBase) <= known_after) {
                known_after = std::max(known_after, get64(p + kBlkGeneration));
            }
        }
        std::vector<uint32_t> blocks = above;
        blocks.push_back(self);
        blocks.insert(blocks.end(), below.begin(), below.end());
        BlockHead merged = h;
        merged.generation = std::max(generation, newest_generation);
        merged.base = known_after;
        // Those that are newer than this one, and this one, are not in the order of the chain.
        common::Result<uint32_t> index = write_index(merged, blocks, std::max<size_t>(2, above.size() + 1));
        if (!index.ok()) return index.status();
        first = *index;
    }
    publish_size();
    set_newest(view.owner, first);
    return true;
}

pmix_status_t Writer::State::take_chunk(const ChunkView& chunk, Ingested& result) {
    struct Wanted {
        size_t offset;  // in the chunk
        size_t size;
    };
    std::vector<Wanted> wanted;
    pmix_status_t status = PMIX_SUCCESS;
    uint64_t wanted_bytes = 0;
    size_t at_block = chunk.first();
    wanted.reserve(chunk.blocks());
    for (uint32_t i = 0; i < chunk.blocks(); ++i) {
        const BlockView block = chunk.at(at_block);
        at_block += block.size;
        if (block.owner.kind != OwnerKind::proc || !common::is_real_rank(block.owner.index))
            return PMIX_ERR_UNPACK_FAILURE;
        const Verdict v = judge(block);
        if (v == Verdict::full) status = PMIX_ERR_OUT_OF_RESOURCE;
        if (v != Verdict::take) {
            result.skipped += v == Verdict::skip;
            continue;
        }
        wanted.push_back({block.offset, block.size});
        wanted_bytes += block.size;
    }
    if (wanted.empty()) return status;
    for (const Wanted& w : wanted) {
        if (pmix_status_t rc = reserve_entry(chunk.at(w.offset).owner); rc != PMIX_SUCCESS) return rc;
    }

    // Dictionary and blocks, which are written one behind the other, keep their distances: one copy. Where blocks are
    // left out, the others move towards the dictionary and their records' distances shrink with them.
    const size_t dictionary = chunk.first() - kChunkHeader;
    // Ranks that were here before mostly say the same keys again.
    if (newest(chunk.at(wanted.front().offset).owner) != 0) rewritten += dictionary;
    common::Result<uint64_t> place = allocate(dictionary + wanted_bytes);
    if (!place.ok()) return place.status();
    const uint8_t* const from = chunk.bytes().data();
    if (wanted.size() == chunk.blocks()) {
        std::memcpy(at(*place), from + kChunkHeader, dictionary + wanted_bytes);
    } else {
        std::memcpy(at(*place), from + kChunkHeader, dictionary);
        uint64_t to = *place + dictionary;
        for (const Wanted& w : wanted) {
            uint8_t* const b = at(to);
            std::memcpy(b, from + w.offset, w.size);
            const uint64_t closer = (w.offset - kChunkHeader) - (to - *place);
            const uint32_t n = get32(b + kBlkCount);
            for (uint32_t i = 0; i < n; ++i) {
                uint8_t* r = b + uint64_t{get32(b + kBlkArrays + 4 * (size_t{n} + i))} * kUnit;
                put32(r + kRecKeyBack, get32(r + kRecKeyBack) - static_cast<uint32_t>(closer / kUnit));
            }
            to += w.size;
        }
    }
    uint64_t offset = *place + dictionary;
    for (const Wanted& w : wanted) {
        common::Result<bool> linked = link(offset);
        if (!linked.ok()) {
            status = linked.status();
        } else {
            ++(*linked ? result.blocks : result.skipped);
        }
        offset += w.size;
    }
    return status;
}

Ingested Writer::ingest(common::Bytes chunks) {
    State& s = *state_;
    Ingested result;
    while (!chunks.empty()) {
        common::Result<ChunkView> chunk = ChunkView::check(chunks);
        if (!chunk.ok()) {
            result.status = chunk.status();
            break;
        }
        ++result.chunks;
        if (pmix_status_t rc = s.take_chunk(*chunk, result); rc != PMIX_SUCCESS) {
            result.status = rc;
            if (rc != PMIX_ERR_OUT_OF_RESOURCE) break;
        }
        chunks = chunks.subspan(chunk->size());
    }
    if (result.blocks != 0) s.count_publication();
    return result;
}

}  // namespace pmix::dstore

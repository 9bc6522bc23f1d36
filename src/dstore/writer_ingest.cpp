// SPDX-License-Identifier: BSD-3-Clause
// Taking over what other nodes have sent: one copy per chunk, then one reference per rank.

#include <algorithm>
#include <cassert>

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
    const uint64_t base = block.generations.base_generation;
    if (generation <= known(head)) return Verdict::skip;
    const Layers layers = layers_of(head);
    // Whether it is one more block with a gap in front, which joins none of those that are there.
    bool apart = !block.generations.full && base > known(head);
    for (unsigned i = 0; i < layers.gaps; ++i) {
        const Delta& d = layers.delta[i];
        if (!block.generations.full && d.base <= base && generation <= d.generation) return Verdict::skip;
        if (d.base <= generation && base <= d.generation) apart = false;
    }
    if (apart && layers.gaps == kMaxGaps) return Verdict::full;
    return over_quota(get32(ref(head) + kBlkHeld), block.size) ? Verdict::full : Verdict::take;
}

Writer::State::Layers Writer::State::layers_of(uint32_t head) const noexcept {
    Layers layers;
    uint32_t r = head;
    for (; r != 0 && (ref(r)[kBlkFlags] & kFlagGap) != 0; r = get32(ref(r) + kBlkPrev)) {
        const uint64_t base = get64(ref(r) + kBlkBase);
        const uint64_t generation = get64(ref(r) + kBlkGeneration);
        if (layers.gaps == 0 || layers.delta[layers.gaps - 1].base != generation) {
            if (layers.gaps == kMaxGaps) break;
            layers.delta[layers.gaps++] = {r, 0, 0, base, generation};
        }
        Delta& delta = layers.delta[layers.gaps - 1];
        ++delta.blocks;
        delta.base = base;
        delta.behind = get32(ref(r) + kBlkPrev);
    }
    layers.solid = r;
    return layers;
}

void Writer::State::append_blocks(const Delta& delta, std::vector<uint32_t>& blocks) const {
    uint32_t r = delta.block;
    for (unsigned i = 0; i < delta.blocks; ++i, r = get32(ref(r) + kBlkPrev)) {
        assert((ref(r)[kBlkFlags] & kFlagGap) != 0);
        blocks.push_back(r);
    }
    assert(r == delta.behind);
}

common::Result<uint32_t> Writer::State::write_delta(Owner owner, const Delta& delta, uint32_t held, uint32_t behind) {
    std::vector<uint32_t> blocks;
    append_blocks(delta, blocks);
    BlockHead h;
    h.owner = owner;
    h.flags = kFlagGap;
    h.generation = delta.generation;
    h.held = held;
    return write_index(h, blocks, blocks.size(), behind);
}

common::Result<bool> Writer::State::link(uint64_t offset) {
    assert(offset % kUnit == 0 && offset < tail);
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
    const uint64_t base = view.generations.base_generation;
    const uint32_t head = newest(view.owner);
    if (head != 0) rewritten += view.size;
    const uint64_t known_before = known(head);
    const bool closes = view.generations.full || view.generations.base_generation <= known_before;

    // Its place among the deltas with a gap in front: below those that begin after it, and above those that end
    // before it. One that it overlaps or continues becomes one with it; those that it contains are replaced.
    const Layers layers = layers_of(head);
    unsigned above = 0;
    while (above < layers.gaps && layers.delta[above].base > generation) ++above;
    const Delta* newer = nullptr;
    const Delta* older = nullptr;
    const Delta* next = nullptr;
    for (unsigned i = above; i < layers.gaps && next == nullptr; ++i) {
        const Delta& d = layers.delta[i];
        if (d.generation > generation) {
            newer = &d;
        } else if (d.generation < base) {
            next = &d;
        } else if (d.base < base) {
            older = &d;
        }
    }

    uint32_t held = (head == 0 ? 0 : get32(ref(head) + kBlkHeld)) + get32(b + kBlkSize);
    uint32_t below = next != nullptr ? next->block : view.generations.full ? 0 : layers.solid;
    if (next != nullptr && next->blocks > 1) {
        // Only the newest delta has several blocks, and that is another one then.
        assert(next == layers.delta.data() && above == 0);
        common::Result<uint32_t> index = write_delta(view.owner, *next, held, next->behind);
        if (!index.ok()) return index.status();
        below = *index;
        held = get32(ref(below) + kBlkHeld);
    }
    // What continues the newest delta is put in front of it, and merged with it as a chain without gaps is.
    const bool continues = !closes && above == 0 && newer == nullptr && older == layers.delta.data();

    BlockHead h;
    h.owner = view.owner;
    h.generation = generation;
    h.held = held;
    h.flags = (view.generations.full ? kFlagFull : 0) | (closes ? 0 : kFlagGap);
    h.base = closes ? generation : continues ? older->generation : base;
    h.prev = continues ? older->block : below;
    h.chain = static_cast<uint8_t>(1 + (h.prev == 0 ? 0 : ref(h.prev)[kBlkChain]));
    write_block_head(b, h, get32(b + kBlkCount), view.size);
    uint32_t first = self;
    const bool merges = newer != nullptr || (continues ? older->blocks == kMaxChain : older != nullptr);
    // Older lies in front. What is older was indexed behind this block where a chunk has several of one rank.
    if (merges || h.prev > self || (closes && h.chain > kMaxChain)) {
        std::vector<uint32_t> blocks;
        if (newer != nullptr) append_blocks(*newer, blocks);
        blocks.push_back(self);
        if (older != nullptr) append_blocks(*older, blocks);
        const size_t at_least = continues ? 2 : std::max<size_t>(2, blocks.size());
        BlockHead merged = h;
        if (newer != nullptr) merged.generation = newer->generation;
        if (closes) merged.base = merged.generation;
        // Only what is known without a gap is merged with what is.
        if (closes)
            for (uint32_t r = below; r != 0; r = get32(ref(r) + kBlkPrev)) blocks.push_back(r);
        common::Result<uint32_t> index = write_index(merged, blocks, at_least, closes ? 0 : below);
        if (!index.ok()) return index.status();
        first = *index;
    }
    // Published blocks do not change, so those above get a new one each, which leads to the same records.
    for (unsigned i = above; i-- > 0;) {
        common::Result<uint32_t> index = write_delta(view.owner, layers.delta[i], get32(ref(first) + kBlkHeld), first);
        if (!index.ok()) return index.status();
        first = *index;
    }
    assert(ref(first)[kBlkChain] <= kChainBound);  // where a reader gives up
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
            assert(closer % kUnit == 0);
            const uint32_t n = get32(b + kBlkCount);
            for (uint32_t i = 0; i < n; ++i) {
                uint8_t* r = b + uint64_t{get32(b + kBlkArrays + 4 * (size_t{n} + i))} * kUnit;
                put32(r + kRecKeyBack, get32(r + kRecKeyBack) - static_cast<uint32_t>(closer / kUnit));
            }
            to += w.size;
        }
        assert(to == *place + dictionary + wanted_bytes);
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

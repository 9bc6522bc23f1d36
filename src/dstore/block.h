// SPDX-License-Identifier: BSD-3-Clause
// Writing one block, the same way into a chunk and into a segment.
//
// Pure functions on memory that the caller owns and has measured; nothing can go wrong here.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "common/base/bytes.h"
#include "dstore/layout.h"
#include "dstore/store.h"

namespace pmix::dstore {

// A record on its way into a block. key_at is where its dictionary entry lies, from the same origin as the block.
struct Item {
    uint32_t hash = 0;
    pmix_scope_t scope = PMIX_SCOPE_UNDEF;
    uint64_t key_at = 0;
    common::Bytes value;
};

inline uint64_t block_size(std::span<const Item> items) noexcept {
    uint64_t size = layout::kBlkArrays + uint64_t{8} * items.size();
    for (const Item& i : items) size += layout::record_size(i.value.size());
    return size;
}

// Blocks are searched by hash.
inline void sort_items(std::span<Item> items) noexcept {
    std::sort(items.begin(), items.end(), [](const Item& a, const Item& b) { return a.hash < b.hash; });
}

struct BlockHead {
    Owner owner;
    uint8_t flags = 0;
    uint8_t chain = 0;
    uint64_t generation = 0;
    uint64_t base = 0;
    uint32_t prev = 0;
    uint32_t held = 0;
};

inline void write_block_head(uint8_t* at, const BlockHead& head, uint32_t count, uint64_t size) noexcept {
    using namespace layout;
    put32(at + kBlkIndex, head.owner.index);
    at[kBlkKind] = static_cast<uint8_t>(head.owner.kind);
    at[kBlkFlags] = head.flags;
    at[kBlkChain] = head.chain;
    at[kBlkChain + 1] = 0;
    put32(at + kBlkCount, count);
    put32(at + kBlkSize, static_cast<uint32_t>(size / kUnit));
    put64(at + kBlkGeneration, head.generation);
    put64(at + kBlkBase, head.base);
    put32(at + kBlkPrev, head.prev);
    put32(at + kBlkHeld, head.held);
}

// `origin` + offset is the block; items are sorted. Writes block_size(items) bytes.
inline void write_block(uint8_t* origin, uint64_t offset, const BlockHead& head, std::span<const Item> items) noexcept {
    using namespace layout;
    uint8_t* const block = origin + offset;
    const auto count = static_cast<uint32_t>(items.size());
    uint8_t* hash = block + kBlkArrays;
    uint8_t* where = hash + 4 * items.size();
    uint64_t at = kBlkArrays + 8 * items.size();
    for (const Item& i : items) {
        put32(hash, i.hash);
        put32(where, static_cast<uint32_t>(at / kUnit));
        write_record(block + at, static_cast<uint32_t>((offset + at - i.key_at) / kUnit),
                     static_cast<uint16_t>(i.scope), i.value);
        hash += 4;
        where += 4;
        at += record_size(i.value.size());
    }
    write_block_head(block, head, count, at);
}

}  // namespace pmix::dstore

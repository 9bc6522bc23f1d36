// SPDX-License-Identifier: BSD-3-Clause
#include "dstore/contribution.h"

#include <algorithm>
#include <cassert>
#include <cstring>
#include <unordered_map>

#include "dstore/block.h"
#include "dstore/keyed_hash.h"
#include "dstore/layout.h"

namespace pmix::dstore {

using namespace layout;
using common::Bytes;

// ---- ChunkBuilder
// -----------------------------------------------------------------------------------------------------

struct ChunkBuilder::State {
    struct Entry {
        uint32_t hash;
        uint64_t at;  // in the chunk, behind the header
        std::string name;
    };
    struct Block {
        BlockHead head;
        size_t first;
        size_t count;
    };
    std::vector<Entry> keys;
    std::unordered_multimap<uint32_t, uint32_t, KeyedHash> by_hash;
    uint64_t keys_size = 0;
    std::vector<Item> items;
    std::vector<Block> blocks;
    bool too_large = false;

    uint64_t intern(const Key& key) {
        auto [from, to] = by_hash.equal_range(key.hash());
        for (; from != to; ++from) {
            if (keys[from->second].name == key.name()) return keys[from->second].at;
        }
        by_hash.emplace(key.hash(), static_cast<uint32_t>(keys.size()));
        keys.push_back({key.hash(), kChunkHeader + keys_size, std::string(key.name())});
        keys_size += key_entry_size(key.name().size());
        return keys.back().at;
    }
};

ChunkBuilder::ChunkBuilder() : state_(std::make_unique<State>()) {}
ChunkBuilder::~ChunkBuilder() = default;
ChunkBuilder::ChunkBuilder(ChunkBuilder&&) noexcept = default;
ChunkBuilder& ChunkBuilder::operator=(ChunkBuilder&&) noexcept = default;

bool ChunkBuilder::empty() const noexcept {
    return state_->blocks.empty();
}

void ChunkBuilder::begin(Owner owner, const BlockGenerations& generations) {
    BlockHead head;
    head.owner = owner;
    head.flags = generations.full ? kFlagFull : 0;
    head.generation = generations.generation;
    head.base = generations.full ? 0 : generations.base_generation;
    state_->blocks.push_back({head, state_->items.size(), 0});
}

void ChunkBuilder::add(const Key& key, pmix_scope_t scope, Bytes value) {
    State& s = *state_;
    if (value.size() > UINT32_MAX - 64) {
        s.too_large = true;
        return;
    }
    assert(!s.blocks.empty());  // begin() comes first
    s.items.push_back({key.hash(), scope, s.intern(key), value});
    ++s.blocks.back().count;
}

common::Result<std::vector<uint8_t>> ChunkBuilder::finish(uint64_t origin) {
    State& s = *state_;
    uint64_t total = kChunkHeader + s.keys_size;
    for (State::Block& b : s.blocks) {
        auto first = s.items.begin() + static_cast<ptrdiff_t>(b.first);
        auto last = first + static_cast<ptrdiff_t>(b.count);
        std::stable_sort(first, last, [](const Item& x, const Item& y) {
            return x.hash != y.hash ? x.hash < y.hash : x.key_at < y.key_at;
        });
        last = std::unique(first, last, [](const Item& x, const Item& y) { return x.key_at == y.key_at; });
        b.count = static_cast<size_t>(last - first);
        total += block_size({s.items.data() + b.first, b.count});
    }
    if (s.too_large || total > kMaxSegment || total > SIZE_MAX / 2 || s.keys_size / kUnit > UINT32_MAX) {
        return PMIX_ERR_OUT_OF_RESOURCE;
    }

    std::vector<uint8_t> out(total);
    uint8_t* const p = out.data();
    put32(p + kChkMagic, kChunkMagic);
    put16(p + kChkVersion, kChunkVersion);
    put64(p + kChkSize, total);
    put64(p + kChkOrigin, origin);
    put32(p + kChkKeys, static_cast<uint32_t>(s.keys.size()));
    put32(p + kChkKeyUnits, static_cast<uint32_t>(s.keys_size / kUnit));
    put32(p + kChkBlocks, static_cast<uint32_t>(s.blocks.size()));
    for (const State::Entry& k : s.keys) write_key(p + k.at, k.name.data(), k.name.size(), k.hash);
    uint64_t at = kChunkHeader + s.keys_size;
    for (const State::Block& b : s.blocks) {
        const std::span<const Item> items{s.items.data() + b.first, b.count};
        write_block(p, at, b.head, items);
        at += block_size(items);
    }
    assert(at == total);
    return out;
}

// ---- ChunkView
// --------------------------------------------------------------------------------------------------------

namespace {

// Which units of the dictionary start an entry.
class EntryStarts {
  public:
    explicit EntryStarts(size_t units) {
        if (units > sizeof small_ * 8) {
            large_.resize(units / 64 + 1);
            words_ = large_.data();
        }
    }
    void set(size_t unit) noexcept { words_[unit / 64] |= uint64_t{1} << unit % 64; }
    bool get(size_t unit) const noexcept { return (words_[unit / 64] >> unit % 64 & 1) != 0; }

  private:
    uint64_t small_[8] = {};
    std::vector<uint64_t> large_;
    uint64_t* words_ = small_;
};

bool check_dictionary(Bytes chunk, uint32_t keys, size_t units, EntryStarts& starts) noexcept {
    size_t at = 0;
    for (uint32_t i = 0; i < keys; ++i) {
        if (at >= units) return false;
        const uint8_t* e = chunk.data() + kChunkHeader + at * kUnit;
        const size_t length = get16(e + kKeyLength);
        const uint64_t size = key_entry_size(length) / kUnit;
        if (length == 0 || length > common::kMaxKeyLength || size > units - at) return false;
        const std::string_view name{reinterpret_cast<const char*>(e + kKeyName), length};
        if (std::memchr(name.data(), 0, length) != nullptr || hash_key(name) != get32(e + kKeyHash)) return false;
        starts.set(at);
        at += size;
    }
    return at == units;
}

// The block at `at`; from there to the end of the chunk are at least a header's bytes.
bool check_block(Bytes chunk, size_t at, size_t units, const EntryStarts& starts) noexcept {
    const uint8_t* const b = chunk.data() + at;
    const uint64_t left = chunk.size() - at;
    const uint64_t size = uint64_t{get32(b + kBlkSize)} * kUnit;
    const uint64_t count = get32(b + kBlkCount);
    const uint64_t generation = get64(b + kBlkGeneration);
    const uint64_t base = get64(b + kBlkBase);
    if (size > left || size < kBlkArrays || count > (size - kBlkArrays) / 8) return false;
    if (b[kBlkKind] >= kOwnerKinds || (b[kBlkFlags] & ~kFlagFull) != 0 || get16(b + kBlkChain) != 0) return false;
    if (get32(b + kBlkPrev) != 0 || get32(b + kBlkHeld) != 0) return false;
    if (generation == 0 || base >= generation || (b[kBlkFlags] == kFlagFull && base != 0)) return false;

    const uint8_t* hash = b + kBlkArrays;
    const uint8_t* where = hash + 4 * count;
    uint64_t next = kBlkArrays + 8 * count;
    uint32_t before = 0;
    unsigned equal = 0;
    for (uint64_t i = 0; i < count; ++i, hash += 4, where += 4) {
        const uint32_t h = get32(hash);
        const uint64_t rec = uint64_t{get32(where)} * kUnit;
        // Records lie in the order of the hashes and do not share bytes.
        if (h < before || rec < next || rec > size || size - rec < kRecValue) return false;
        equal = h == before ? equal + 1 : 0;
        if (equal > kEqualHashBound) return false;
        before = h;
        const uint8_t* const r = b + rec;
        const uint64_t length = get32(r + kRecLength);
        if (length < 2 || length > size - rec - kRecValue || get16(r + kRecScope) > PMIX_INTERNAL) return false;
        // Unit of the record, counted from the first unit of the dictionary.
        const uint64_t unit = (at + rec - kChunkHeader) / kUnit;
        const uint64_t back = get32(r + kRecKeyBack);
        if (back > unit || unit - back >= units || !starts.get(unit - back)) return false;
        if (get32(r - back * kUnit + kKeyHash) != h) return false;
        next = rec + record_size(length);
    }
    return true;
}

}  // namespace

common::Result<ChunkView> ChunkView::check(Bytes bytes) {
    const uint8_t* const p = bytes.data();
    if (bytes.size() < kChkVersion + 2) return PMIX_ERR_UNPACK_FAILURE;
    if (get32(p + kChkMagic) != kChunkMagic || get16(p + kChkVersion) != kChunkVersion) return PMIX_ERR_NOT_SUPPORTED;
    if (bytes.size() < kChunkHeader) return PMIX_ERR_UNPACK_FAILURE;
    const uint64_t size = get64(p + kChkSize);
    const uint64_t units = get32(p + kChkKeyUnits);
    if (size < kChunkHeader || size > bytes.size() || size > kMaxSegment || size % kUnit != 0 ||
        get16(p + kChkFlags) != 0 || get32(p + kChkBlocks + 4) != 0 || units > (size - kChunkHeader) / kUnit) {
        return PMIX_ERR_UNPACK_FAILURE;
    }
    ChunkView v;
    v.bytes_ = bytes.first(static_cast<size_t>(size));
    v.first_ = static_cast<size_t>(kChunkHeader + units * kUnit);
    v.blocks_ = get32(p + kChkBlocks);

    EntryStarts starts(units);
    if (!check_dictionary(v.bytes_, get32(p + kChkKeys), units, starts)) return PMIX_ERR_UNPACK_FAILURE;
    size_t at = v.first_;
    for (uint32_t i = 0; i < v.blocks_; ++i) {
        if (size - at < kBlkArrays || !check_block(v.bytes_, at, units, starts)) return PMIX_ERR_UNPACK_FAILURE;
        at += uint64_t{get32(p + at + kBlkSize)} * kUnit;
    }
    if (at != size) return PMIX_ERR_UNPACK_FAILURE;
    return v;
}

uint64_t ChunkView::origin() const noexcept {
    return get64(bytes_.data() + kChkOrigin);
}

BlockView ChunkView::at(size_t offset) const noexcept {
    const uint8_t* const b = bytes_.data() + offset;
    BlockView v;
    v.owner = {static_cast<OwnerKind>(b[kBlkKind]), get32(b + kBlkIndex)};
    v.generations = {get64(b + kBlkGeneration), get64(b + kBlkBase), (b[kBlkFlags] & kFlagFull) != 0};
    v.records = get32(b + kBlkCount);
    v.offset = offset;
    v.size = static_cast<size_t>(uint64_t{get32(b + kBlkSize)} * kUnit);
    return v;
}

Record ChunkView::record(const BlockView& block, uint32_t i) const noexcept {
    const uint8_t* const b = bytes_.data() + block.offset;
    const uint8_t* const r = b + uint64_t{get32(b + kBlkArrays + 4 * size_t{block.records} + 4 * size_t{i})} * kUnit;
    const uint8_t* const key = r - uint64_t{get32(r + kRecKeyBack)} * kUnit;
    Record out;
    out.key = {reinterpret_cast<const char*>(key + kKeyName), get16(key + kKeyLength)};
    out.value = {r + kRecValue, get32(r + kRecLength)};
    out.scope = static_cast<pmix_scope_t>(get16(r + kRecScope));
    return out;
}

void for_each_key(Bytes chunks, const std::function<void(std::string_view)>& fn) {
    while (chunks.size() >= kChunkHeader) {
        const uint8_t* const p = chunks.data();
        const uint64_t size = get64(p + kChkSize);
        const uint64_t dictionary = uint64_t{get32(p + kChkKeyUnits)} * kUnit;
        if (get32(p + kChkMagic) != kChunkMagic || size < kChunkHeader || size > chunks.size() ||
            dictionary > size - kChunkHeader)
            return;
        for (uint64_t at = 0; dictionary - at >= kUnit;) {
            const uint8_t* const e = p + kChunkHeader + at;
            const size_t length = get16(e + kKeyLength);
            if (key_entry_size(length) > dictionary - at) return;
            fn({reinterpret_cast<const char*>(e + kKeyName), length});
            at += key_entry_size(length);
        }
        chunks = chunks.subspan(static_cast<size_t>(size));
    }
}

void for_each_record(Bytes chunks, const std::function<void(Owner, std::string_view)>& fn) {
    while (!chunks.empty()) {
        auto chunk = ChunkView::check(chunks);
        if (!chunk.ok()) return;
        size_t at = chunk->first();
        for (uint32_t b = 0; b < chunk->blocks(); ++b) {
            const BlockView block = chunk->at(at);
            fn(block.owner, {});
            for (uint32_t i = 0; i < block.records; ++i) fn(block.owner, chunk->record(block, i).key);
            at += block.size;
        }
        chunks = chunks.subspan(chunk->size());
    }
}

}  // namespace pmix::dstore

// SPDX-License-Identifier: BSD-3-Clause
// The byte map of a segment and of a chunk; docs/reference/dstore.md draws it.
//
// Why a reader needs no lock. The server only appends: it writes bytes behind the published size, raises the published
// size, and then sets one reference to what it wrote, each with a release store. A reader loads the reference with
// acquire and holds it against the published size, which by then is at least as large. What a reference leads to never
// changes again, save references themselves, which are single aligned words and only move on to something newer. So a
// reader sees all of a record or nothing of it, and a pointer that it was given stays good. What a stale reference
// costs: the value that was there a moment ago.
//
// Everything is little-endian and of fixed width. References are counted in units of 8 bytes from the start of the
// segment and 0 is none, so a segment holds at most 32 GiB. Owns nothing; constants and loads only.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "common/base/bytes.h"

namespace pmix::dstore::layout {

inline constexpr uint64_t kUnit = 8;
inline constexpr uint64_t kMaxSegment = (1ull << 32) * kUnit;
constexpr uint64_t padded(uint64_t bytes) noexcept {
    return (bytes + kUnit - 1) & ~(kUnit - 1);
}

// ---- Segment header, 256 bytes ------------------------------------------------------------------------------------
inline constexpr uint64_t kSegmentMagic = 0x0145524f54535557ull;  // "WUSTORE" and 1
inline constexpr size_t kHdrMagic = 0;                            // u64
inline constexpr size_t kHdrStamp = 8;                            // u64, kStamp
inline constexpr size_t kHdrReservation = 16;                     // u64, address space a client does well to map
inline constexpr size_t kHdrOrigin = 24;                          // u64
inline constexpr size_t kHdrPublished = 64;                       // u64, atomic: bytes that may be read
inline constexpr size_t kHdrPublications = 72;                    // u64, atomic: raised by every publication
inline constexpr size_t kHdrCatalog = 80;                         // u32, atomic reference: columns and placement
inline constexpr size_t kHdrLeaf = 128;  // u32[8], atomic references by owner kind: indices below kLeafEntries
inline constexpr size_t kHdrRoot = 160;  // u32[8], atomic references by owner kind: all others
// u32, atomic: not 0 when another segment has taken this one's place, or the namespace has ended. Written once, so
// readers keep its cache line.
inline constexpr size_t kHdrSuperseded = 192;
// u32, atomic: how many commits of processes here the server has refused. A process that reads its socket late looks
// for its own refusals where this has changed.
inline constexpr size_t kHdrRefusals = 196;
inline constexpr size_t kHeaderSize = 256;

// ---- Owner tables: index -> newest block. Root, middle and leaf are arrays of atomic u32 references ----------------
inline constexpr unsigned kLeafBits = 10;
inline constexpr unsigned kMiddleBits = 11;
inline constexpr unsigned kRootBits = 32 - kLeafBits - kMiddleBits;
inline constexpr uint32_t kLeafEntries = 1u << kLeafBits;
inline constexpr uint32_t kMiddleEntries = 1u << kMiddleBits;
inline constexpr uint32_t kRootEntries = 1u << kRootBits;

// ---- Block: some records of one owner, newest block first in a chain ------------------------------------------------
// In a segment kBlkBase of a block that closes without a gap is what is known after it (kBlkGap not set); kBlkChain,
// kBlkPrev and kBlkHeld are 0 in a chunk.
inline constexpr size_t kBlkIndex = 0;        // u32, of the owner
inline constexpr size_t kBlkKind = 4;         // u8, OwnerKind
inline constexpr size_t kBlkFlags = 5;        // u8
inline constexpr size_t kBlkChain = 6;        // u8, length of the chain from here
inline constexpr size_t kBlkCount = 8;        // u32, records
inline constexpr size_t kBlkSize = 12;        // u32, units, header included
inline constexpr size_t kBlkGeneration = 16;  // u64
inline constexpr size_t kBlkBase = 24;        // u64
inline constexpr size_t kBlkPrev = 32;        // u32, reference to the next older block
inline constexpr size_t kBlkHeld = 36;        // u32, units of all blocks ever written for this owner
inline constexpr size_t kBlkArrays = 40;      // u32 hash[count], ascending; u32 where[count]
inline constexpr uint8_t kFlagFull = 1;       // replaces everything older
inline constexpr uint8_t kFlagIndex = 2;      // where[] are references to records of older blocks; segments only
inline constexpr uint8_t kFlagGap = 4;  // something between this block and what was known is missing; segments only
// where[] of any other block: units from the start of the block to the record.
inline constexpr unsigned kMaxChain = 4;     // the writer merges longer ones
inline constexpr unsigned kChainBound = 16;  // a reader gives up here
// Runs of blocks that something in front of them is missing for. They are not merged with what is known, so they are
// bounded by what a reader looks through: the newest run has up to kMaxChain blocks, the others have one.
inline constexpr unsigned kMaxGaps = kChainBound - 2 * kMaxChain + 1;
inline constexpr unsigned kEqualHashBound = 1024;
// The writer takes no more keys of one owner that have one hash. Of a million keys chosen without a purpose hardly ever
// three have, so a process that reaches this number chose its keys for it.
inline constexpr unsigned kMaxEqualHashes = 64;
inline constexpr uint32_t kLinearRecords = 16;  // up to here a scan beats a search

// ---- Record. The value starts 10 bytes in, so that the payload of strings and byte objects (6 bytes on) is aligned --
inline constexpr size_t kRecKeyBack = 0;  // u32, units back to the key's dictionary entry; 0 for a value without a key
inline constexpr size_t kRecLength = 4;   // u32, of the value
inline constexpr size_t kRecScope = 8;    // u16, pmix_scope_t
inline constexpr size_t kRecValue = 10;

// ---- Dictionary entry -----------------------------------------------------------------------------------------------
inline constexpr size_t kKeyHash = 0;    // u32
inline constexpr size_t kKeyLength = 4;  // u16
inline constexpr size_t kKeyName = 6;    // then padding to a unit

// ---- Chunk: header, dictionary, blocks with their records -----------------------------------------------------------
inline constexpr uint32_t kChunkMagic = 0x4b435557u;  // "WUCK"
inline constexpr uint16_t kChunkVersion = 1;
inline constexpr size_t kChkMagic = 0;      // u32
inline constexpr size_t kChkVersion = 4;    // u16
inline constexpr size_t kChkFlags = 6;      // u16, 0
inline constexpr size_t kChkSize = 8;       // u64, bytes, header included, whole units
inline constexpr size_t kChkOrigin = 16;    // u64
inline constexpr size_t kChkKeys = 24;      // u32, dictionary entries
inline constexpr size_t kChkKeyUnits = 28;  // u32, their size
inline constexpr size_t kChkBlocks = 32;    // u32
inline constexpr size_t kChunkHeader = 40;

// ---- Catalog: what is known for every rank and node. Replaced as a whole
// ---------------------------------------------
inline constexpr size_t kCatProcColumns = 0;  // u32
inline constexpr size_t kCatNodeColumns = 4;  // u32
inline constexpr size_t kCatPlacement = 8;    // u32, reference
inline constexpr size_t kCatHashes = 16;      // u32[proc + node], ascending in each part; padding; then the columns
inline constexpr uint32_t kMaxColumns = 4096;

inline constexpr size_t kColHash = 0;        // u32
inline constexpr size_t kColForm = 4;        // u8, ColumnData::Form; 0: only computed
inline constexpr size_t kColPayload = 5;     // u8, bytes of a number, at most 8
inline constexpr size_t kColWidth = 6;       // u8, of an element: 0, 1, 2, 4, 8
inline constexpr size_t kColFunction = 7;    // u8, Computed: for indices without a value of their own; 0: none
inline constexpr size_t kColType = 8;        // u16, type of a number
inline constexpr size_t kColFnType = 10;     // u16, type of what is computed
inline constexpr size_t kColFnPayload = 12;  // u8
inline constexpr size_t kColKey = 16;        // u32, reference to a dictionary entry
inline constexpr size_t kColLimit = 20;      // u32, one more than the highest index with a value
inline constexpr size_t kColBase = 24;       // u64
inline constexpr size_t kColValid = 32;      // u32, reference to a bit per index; 0: all below the limit
inline constexpr size_t kColElements = 36;   // u32, reference to width bytes per index
inline constexpr size_t kColValues = 40;     // u32, reference to u32 references to lone records (interned)
inline constexpr size_t kColNValues = 44;    // u32
inline constexpr size_t kColumnSize = 48;

// ---- Placement
// --------------------------------------------------------------------------------------------------------
inline constexpr size_t kPlcNodes = 0;       // u32
inline constexpr size_t kPlcRanks = 4;       // u32
inline constexpr size_t kPlcRankLimit = 8;   // u32
inline constexpr size_t kPlcForm = 12;       // u32, ProcMap::Form plus one; 0: no ranks known
inline constexpr size_t kPlcBlock = 16;      // u32
inline constexpr size_t kPlcStarts = 20;     // u32, reference to u32[nodes + 1]
inline constexpr size_t kPlcList = 24;       // u32, reference to u32[ranks]
inline constexpr size_t kPlcNodeOf = 28;     // u32, reference to u32[rank limit]
inline constexpr size_t kPlcNames = 32;      // u32, reference to u32[nodes], references to lone records
inline constexpr size_t kPlcIds = 36;        // u32, reference to u32[nodes]; 0: node i has id i
inline constexpr size_t kPlcNameSlots = 40;  // u32, a power of two, or 0
inline constexpr size_t kPlcNameTable = 44;  // u32, reference to slots {u32 hash, u32 node + 1, u32 lone record}
inline constexpr size_t kPlcIdSlots = 48;    // u32
inline constexpr size_t kPlcIdTable = 52;    // u32, reference to slots {u32 id, u32 node + 1}
inline constexpr size_t kPlcApps = 56;       // u32
inline constexpr size_t kPlcAppTable = 60;   // u32, reference to {u32 first, u32 size}
inline constexpr size_t kPlacementSize = 64;
inline constexpr size_t kNameSlot = 12;
inline constexpr size_t kIdSlot = 8;

// Version, features and sizes in one number, held against our own when a segment is opened.
constexpr uint64_t make_stamp() noexcept {
    uint64_t h = 0xcbf29ce484222325ull;
    for (uint64_t part :
         {uint64_t{1}, kUnit, uint64_t{kHeaderSize}, uint64_t{kBlkArrays}, uint64_t{kRecValue}, uint64_t{kKeyName},
          uint64_t{kColumnSize}, uint64_t{kPlacementSize}, uint64_t{kNameSlot}, uint64_t{kLeafBits},
          uint64_t{kMiddleBits}, uint64_t{kHdrPublished}, uint64_t{kChunkVersion}}) {
        h = (h ^ part) * 0x100000001b3ull;
    }
    return h;
}
inline constexpr uint64_t kStamp = make_stamp();

static_assert(kHdrPublished % 8 == 0 && kHdrCatalog % 4 == 0 && kHeaderSize % kUnit == 0);
static_assert((kRecValue + 6) % kUnit == 0, "payload of byte objects is aligned");

// Words that change under a reader. The pages may be read-only, which an atomic load never minds.
inline uint32_t load_ref(const uint8_t* p) noexcept {
    return common::to_little(__atomic_load_n(reinterpret_cast<const uint32_t*>(p), __ATOMIC_ACQUIRE));
}
inline uint64_t load_word(const uint8_t* p) noexcept {
    return common::to_little(__atomic_load_n(reinterpret_cast<const uint64_t*>(p), __ATOMIC_ACQUIRE));
}
inline void store_ref(uint8_t* p, uint32_t v) noexcept {
    __atomic_store_n(reinterpret_cast<uint32_t*>(p), common::to_little(v), __ATOMIC_RELEASE);
}
inline void store_word(uint8_t* p, uint64_t v) noexcept {
    __atomic_store_n(reinterpret_cast<uint64_t*>(p), common::to_little(v), __ATOMIC_RELEASE);
}

inline uint16_t get16(const uint8_t* p) noexcept {
    return common::load_le<uint16_t>(p);
}
inline uint32_t get32(const uint8_t* p) noexcept {
    return common::load_le<uint32_t>(p);
}
inline uint64_t get64(const uint8_t* p) noexcept {
    return common::load_le<uint64_t>(p);
}
inline void put16(uint8_t* p, uint16_t v) noexcept {
    common::store_le(p, v);
}
inline void put32(uint8_t* p, uint32_t v) noexcept {
    common::store_le(p, v);
}
inline void put64(uint8_t* p, uint64_t v) noexcept {
    common::store_le(p, v);
}

// How many bytes things take.
constexpr uint64_t key_entry_size(size_t name) noexcept {
    return padded(kKeyName + name);
}
constexpr uint64_t record_size(uint64_t value) noexcept {
    return padded(kRecValue + value);
}

inline void write_key(uint8_t* at, const char* name, size_t length, uint32_t hash) noexcept {
    put32(at + kKeyHash, hash);
    put16(at + kKeyLength, static_cast<uint16_t>(length));
    std::memcpy(at + kKeyName, name, length);
    std::memset(at + kKeyName + length, 0, key_entry_size(length) - kKeyName - length);
}
inline void write_record(uint8_t* at, uint32_t key_back, uint16_t scope, common::Bytes value) noexcept {
    put32(at + kRecKeyBack, key_back);
    put32(at + kRecLength, static_cast<uint32_t>(value.size()));
    put16(at + kRecScope, scope);
    if (!value.empty()) std::memcpy(at + kRecValue, value.data(), value.size());
    std::memset(at + kRecValue + value.size(), 0, record_size(value.size()) - kRecValue - value.size());
}

}  // namespace pmix::dstore::layout

// SPDX-License-Identifier: BSD-3-Clause
// Chunks: the form in which records of several owners travel, and in which they lie in a segment.
//
// A chunk is position independent and self-delimiting, so hosts may concatenate chunks of many nodes. ChunkBuilder
// makes one from records; ChunkView holds foreign bytes against every bound before anything is believed. What a
// byte means is in layout.h and docs/reference/dstore.md. Pure values, one thread per object. What can go wrong: memory
// (std::bad_alloc), a chunk that outgrows its 32-bit distances (PMIX_ERR_OUT_OF_RESOURCE), bytes that are no chunk
// (PMIX_ERR_NOT_SUPPORTED for another magic or version, PMIX_ERR_UNPACK_FAILURE for everything else).
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>
#include <vector>

#include "common/base/bytes.h"
#include "common/base/status.h"
#include "dstore/store.h"

namespace pmix::dstore {

// How far a block takes its owner. A block replaces all that was known (full), or adds to what was known at
// `base_generation`. After it the owner stands at `generation`.
struct BlockGenerations {
    uint64_t generation = 0;
    uint64_t base_generation = 0;
    bool full = false;
};

class ChunkBuilder {
  public:
    ChunkBuilder();
    ~ChunkBuilder();
    ChunkBuilder(ChunkBuilder&&) noexcept;
    ChunkBuilder& operator=(ChunkBuilder&&) noexcept;

    // Records follow with add() until the next begin() or finish(). A key that is added twice counts with the first.
    // Values are borrowed until finish(), keys are copied. A generation is at least 1 and above its base.
    void begin(Owner owner, const BlockGenerations& generations);
    void add(const Key& key, pmix_scope_t scope, common::Bytes value);
    bool empty() const noexcept;
    // origin: who made it, for logs; no meaning here.
    common::Result<std::vector<uint8_t>> finish(uint64_t origin);

  private:
    struct State;
    std::unique_ptr<State> state_;
};

// One block of a checked chunk.
struct BlockView {
    Owner owner;
    BlockGenerations generations;
    uint32_t records = 0;
    size_t offset = 0;  // in the chunk
    size_t size = 0;
};

// A chunk whose every byte was held against its bounds, borrowed from its owner. It needs no alignment.
class ChunkView {
  public:
    // Checks the first chunk of bytes. size() says where the next one starts.
    static common::Result<ChunkView> check(common::Bytes bytes);

    size_t size() const noexcept { return bytes_.size(); }
    common::Bytes bytes() const noexcept { return bytes_; }
    uint64_t origin() const noexcept;
    uint32_t blocks() const noexcept { return blocks_; }
    // Walks the blocks: BlockView at(first()), then next(offset) blocks() - 1 times.
    size_t first() const noexcept { return first_; }
    BlockView at(size_t offset) const noexcept;
    // Record i of a block, i < block.records.
    Record record(const BlockView& block, uint32_t i) const noexcept;

  private:
    common::Bytes bytes_;
    size_t first_ = 0;
    uint32_t blocks_ = 0;
};

// Calls fn(key) for each key that the dictionaries of the chunks have, up to the first that cannot be read. Whether
// there are records of it is for the store to say.
void for_each_key(common::Bytes chunks, const std::function<void(std::string_view key)>& fn);

// Calls fn(owner, key) for each record of the chunks, up to the first chunk that is none, and first with an empty key
// for each block: it may have no records.
void for_each_record(common::Bytes chunks, const std::function<void(Owner owner, std::string_view key)>& fn);

}  // namespace pmix::dstore

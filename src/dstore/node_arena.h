// SPDX-License-Identifier: BSD-3-Clause
// Memory for the nodes of a PrivateStore: blocks out of mappings of our own.
//
// Not malloc, for three reasons. A put is mostly the first touch of memory, and blocks that lie side by side without
// heads between touch fewer lines and pages. Pages can be asked for several at once, which costs two thirds. And an
// address is a plain one below 2^48, with nothing in its upper bits, whatever the process's malloc puts there (memory
// tags, for one); the store keeps hash bits in them.
//
// Freed blocks are kept for the same size, by classes at most a sixteenth apart; large ones go back to the kernel.
// Owned by one store, which locks. What can go wrong: no memory (null).
#pragma once

#include <cstddef>
#include <cstdint>
#include <new>

namespace pmix::dstore {

class NodeArena {
  public:
    // Of every block.
    static constexpr size_t kAlignment = 16;
    // Larger ones get a mapping each.
    static constexpr size_t kMaxSmall = 32 * 1024;
    static constexpr int kAddressBits = 48;

    // Maps the first chunk and touches it: a process that makes a store will put, and then is on the way to its first
    // fence.
    NodeArena() noexcept;
    ~NodeArena();
    NodeArena(const NodeArena&) = delete;
    NodeArena& operator=(const NodeArena&) = delete;

    void* allocate(size_t size) noexcept;
    // With the size that was asked for.
    void free(void* block, size_t size) noexcept;
    // Brings what allocate() will most likely answer next into the cache.
    void prefetch() const noexcept {
        __builtin_prefetch(next_, 1);
        __builtin_prefetch(next_ + 64, 1);
    }

    // What a block of this size takes.
    static size_t rounded(size_t size) noexcept;

  private:
    struct Chunk;
    struct Large;
    struct Free {
        Free* next;
    };
    // Up to 1 KiB in steps of 16 bytes, then 16 steps to each doubling.
    static constexpr size_t kFineLimit = 1024;
    static constexpr size_t kClasses = kFineLimit / 16 + 5 * 16;
    static size_t class_of(size_t rounded) noexcept;
    bool add_chunk() noexcept;
    void* allocate_large(size_t size) noexcept;
    void free_large(void* block) noexcept;

    uint8_t* next_ = nullptr;     // free from here
    uint8_t* touched_ = nullptr;  // up to here the pages are there
    uint8_t* end_ = nullptr;
    size_t chunk_size_ = 0;  // of the newest
    size_t freed_ = 0;       // blocks in the lists
    Chunk* chunks_ = nullptr;
    Large* large_ = nullptr;
    Free* lists_[kClasses] = {};
};

// For a container that lies in an arena, whose owner locks.
template <class T>
struct ArenaAllocator {
    using value_type = T;
    NodeArena* arena;

    explicit ArenaAllocator(NodeArena& a) noexcept : arena(&a) {}
    template <class U>
    ArenaAllocator(const ArenaAllocator<U>& o) noexcept : arena(o.arena) {}
    T* allocate(size_t n) {
        void* block = n <= SIZE_MAX / sizeof(T) ? arena->allocate(n * sizeof(T)) : nullptr;
        if (block == nullptr) throw std::bad_alloc();
        return static_cast<T*>(block);
    }
    void deallocate(T* block, size_t n) noexcept { arena->free(block, n * sizeof(T)); }
    bool operator==(const ArenaAllocator&) const noexcept = default;
};

}  // namespace pmix::dstore

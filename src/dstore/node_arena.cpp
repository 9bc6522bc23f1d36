// SPDX-License-Identifier: BSD-3-Clause
#include "dstore/node_arena.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cassert>
#include <utility>

#include "dstore/pages.h"

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define WIREUP_ASAN 1
#endif
#elif defined(__SANITIZE_ADDRESS__)
#define WIREUP_ASAN 1
#endif
#ifdef WIREUP_ASAN
#include <sanitizer/asan_interface.h>
#endif

namespace pmix::dstore {
namespace {

// Room for some 250 values of 64 bytes with the store's table, or for 30 of 1 KiB.
constexpr size_t kFirstChunk = 40 * 1024;
// Of it, touched when the store is made: room for 100 values of 64 bytes.
constexpr size_t kFirstTouched = 20 * 1024;
constexpr size_t kSecondChunk = 128 * 1024;
constexpr size_t kMaxChunk = 1024 * 1024;  // below the size of a huge page
// Touched together when the pages that are there do not suffice.
constexpr size_t kStep = 20 * 1024;

#ifdef WIREUP_ASAN
void forbid(void* p, size_t n) noexcept {
    ASAN_POISON_MEMORY_REGION(p, n);
}
void permit(void* p, size_t n) noexcept {
    ASAN_UNPOISON_MEMORY_REGION(p, n);
}
#else
void forbid(void*, size_t) noexcept {}
void permit(void*, size_t) noexcept {}
#endif

void* map(size_t size) noexcept {
    void* p = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED) return nullptr;
    // No kernel chooses a higher address unless the caller asks for one.
    if (reinterpret_cast<uintptr_t>(p) >> NodeArena::kAddressBits != 0) {
        ::munmap(p, size);
        return nullptr;
    }
    return p;
}

void unmap(void* p, size_t size) noexcept {
    permit(p, size);
    ::munmap(p, size);
}

size_t up_to(size_t n, size_t unit) noexcept {
    return (n + unit - 1) / unit * unit;
}

// Fails on kernels before 5.14; then each page comes at its first touch.
void touch(uint8_t* from, uint8_t* to) noexcept {
#ifdef MADV_POPULATE_WRITE
    ::madvise(from, static_cast<size_t>(to - from), MADV_POPULATE_WRITE);
#else
    (void)from, (void)to;
#endif
}

}  // namespace

struct alignas(NodeArena::kAlignment) NodeArena::Chunk {
    Chunk* older;
    size_t size;
};

struct alignas(NodeArena::kAlignment) NodeArena::Large {
    Large* next;
    Large* before;
    size_t size;
};

NodeArena::NodeArena() noexcept {
    add_chunk();
}

NodeArena::~NodeArena() {
    for (Chunk* c = chunks_; c != nullptr;) {
        Chunk* older = c->older;
        unmap(c, c->size);
        c = older;
    }
    for (Large* l = large_; l != nullptr;) {
        Large* next = l->next;
        unmap(l, l->size);
        l = next;
    }
}

size_t NodeArena::rounded(size_t size) noexcept {
    if (size <= kFineLimit) return up_to(std::max<size_t>(size, 1), 16);
    const size_t step = size_t{1} << (std::bit_width(size - 1) - 5);
    return (size + step - 1) & ~(step - 1);
}

size_t NodeArena::class_of(size_t rounded) noexcept {
    if (rounded <= kFineLimit) return rounded / 16 - 1;
    const auto width = static_cast<size_t>(std::bit_width(rounded - 1));
    return kFineLimit / 16 + (width - 11) * 16 + ((rounded - 1) >> (width - 5)) - 16;
}

bool NodeArena::add_chunk() noexcept {
    const size_t size = up_to(chunk_size_ == 0             ? kFirstChunk
                              : chunk_size_ == kFirstChunk ? kSecondChunk
                                                           : std::min(chunk_size_ * 2, kMaxChunk),
                              page_size());
    auto* chunk = static_cast<Chunk*>(map(size));
    if (chunk == nullptr) return false;
    auto* const bytes = reinterpret_cast<uint8_t*>(chunk);
    next_ = bytes + sizeof(Chunk);
    touched_ = bytes + std::min(up_to(chunk_size_ == 0 ? kFirstTouched : kStep, page_size()), size);
    touch(bytes, touched_);
    end_ = bytes + size;
    chunk_size_ = size;
    chunk->older = std::exchange(chunks_, chunk);
    chunk->size = size;
    assert(next_ < touched_ && touched_ <= end_);
    forbid(next_, static_cast<size_t>(end_ - next_));
    return true;
}

void* NodeArena::allocate(size_t size) noexcept {
    if (size > kMaxSmall) return allocate_large(size);
    const size_t asked = size;
    size = rounded(size);
    if (freed_ != 0) {
        Free*& list = lists_[class_of(size)];
        if (list != nullptr) {
            Free* block = list;
            permit(block, std::max(asked, sizeof(Free)));
            list = block->next;
            assert(freed_ > 0);
            --freed_;
            return block;
        }
    }
    if (size > static_cast<size_t>(end_ - next_) && !add_chunk()) return nullptr;
    assert(size <= static_cast<size_t>(end_ - next_));  // a new chunk has room for any small block
    uint8_t* const block = next_;
    next_ += size;
    if (next_ > touched_) {
        uint8_t* const from = touched_;
        touched_ += std::min(up_to(std::max(kStep, static_cast<size_t>(next_ - touched_)), page_size()),
                             static_cast<size_t>(end_ - touched_));
        touch(from, touched_);
    }
    assert(next_ <= touched_ && touched_ <= end_);
    permit(block, std::max(asked, sizeof(Free)));
    return block;
}

void NodeArena::free(void* block, size_t size) noexcept {
    if (size > kMaxSmall) return free_large(block);
    size = rounded(size);
    assert(class_of(size) < std::size(lists_));
    auto* freed = static_cast<Free*>(block);
    Free*& list = lists_[class_of(size)];
    freed->next = list;
    list = freed;
    ++freed_;
    forbid(block, size);
}

void* NodeArena::allocate_large(size_t size) noexcept {
    if (size > SIZE_MAX / 2) return nullptr;
    const size_t whole = up_to(sizeof(Large) + size, page_size());
    auto* large = static_cast<Large*>(map(whole));
    if (large == nullptr) return nullptr;
    large->next = large_;
    large->before = nullptr;
    large->size = whole;
    if (large_ != nullptr) large_->before = large;
    large_ = large;
    return large + 1;
}

void NodeArena::free_large(void* block) noexcept {
    Large* large = static_cast<Large*>(block) - 1;
    assert((large->before != nullptr ? large->before->next : large_) == large);
    assert(large->next == nullptr || large->next->before == large);
    (large->before != nullptr ? large->before->next : large_) = large->next;
    if (large->next != nullptr) large->next->before = large->before;
    unmap(large, large->size);
}

}  // namespace pmix::dstore

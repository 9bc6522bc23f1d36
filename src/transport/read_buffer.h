// SPDX-License-Identifier: BSD-3-Clause
// Received bytes that are not yet whole frames, and the descriptors received with them.
//
// Owned by a Connection or a stream and used only by the thread that holds its read side. Grows only as bytes are
// received, never because a header announces them: a hostile length allocates nothing until its bytes have been sent.
//
// A buffer that has been read out needs no memory: it leaves it to the next one of its loop (SpareReadMemory). A server
// of 256 processes reads them all into the same memory, which is in the caches, and keeps none for each of them.
#pragma once

#include <algorithm>
#include <atomic>
#include <cassert>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <new>
#include <utility>
#include <vector>

#include "common/base/bytes.h"
#include "transport/descriptor.h"

namespace pmix::transport {

// The memory of a buffer. Its bytes follow it.
struct alignas(16) ReadMemory {
    size_t capacity;
    uint8_t* bytes() noexcept { return reinterpret_cast<uint8_t*>(this + 1); }
};

// The memory of one buffer that no buffer needs at the moment. One for each loop; any thread.
class SpareReadMemory {
  public:
    SpareReadMemory() = default;
    SpareReadMemory(const SpareReadMemory&) = delete;
    SpareReadMemory& operator=(const SpareReadMemory&) = delete;
    ~SpareReadMemory() { std::free(take()); }

    // Null: there is none.
    ReadMemory* take() noexcept { return memory_.exchange(nullptr, std::memory_order_acq_rel); }
    void give(ReadMemory* memory) noexcept { std::free(memory_.exchange(memory, std::memory_order_acq_rel)); }

  private:
    std::atomic<ReadMemory*> memory_{nullptr};
};

class ReadBuffer {
  public:
    static constexpr size_t kSmall = 16u << 10;  // the first size
    static constexpr size_t kUsual = 64u << 10;  // grown to when a read fills it; given back when empty

    ReadBuffer() = default;
    ReadBuffer(const ReadBuffer&) = delete;
    ReadBuffer& operator=(const ReadBuffer&) = delete;
    ~ReadBuffer() { std::free(memory_); }

    common::Bytes unread() const noexcept {
        return memory_ == nullptr ? common::Bytes() : common::Bytes{memory_->bytes() + begin_, end_ - begin_};
    }
    void consume(size_t n) noexcept {
        assert(n <= end_ - begin_);
        begin_ += n;
        if (begin_ == end_) begin_ = end_ = 0;
    }
    // Space for the next read, at least one byte; wanted is the size of the frame at the front as far as it is known.
    struct Space {
        uint8_t* data;
        size_t size;
    };
    Space space(size_t wanted) {
        if (begin_ == end_ && capacity() > kUsual && wanted <= kUsual) std::free(std::exchange(memory_, nullptr));
        if (end_ == capacity() || capacity() - begin_ < std::min(wanted, capacity())) compact();
        if (end_ == capacity()) grow(wanted);
        assert(begin_ <= end_ && end_ < capacity());
        return {memory_->bytes() + end_, capacity() - end_};
    }
    void filled(size_t n) noexcept {
        assert(n <= capacity() - end_);
        end_ += n;
    }

    // Before a read: with the loop's spare memory, where this buffer has none of its own.
    void borrow(SpareReadMemory& spare) noexcept {
        assert(memory_ != nullptr || end_ == 0);
        if (memory_ == nullptr) memory_ = spare.take();
    }
    // Behind a read: what unread() has returned is not valid any more, unless it is not empty.
    void give_back(SpareReadMemory& spare) noexcept {
        if (memory_ == nullptr || begin_ != end_) return;
        if (capacity() > kUsual) return std::free(std::exchange(memory_, nullptr));
        spare.give(std::exchange(memory_, nullptr));
    }

    // Oldest first; at most those of one unfinished frame stay here between reads. An empty one stands for all that did
    // not fit into this process's table, from that place to the end of what one read brought.
    std::vector<Descriptor> descriptors;

  private:
    size_t capacity() const noexcept { return memory_ == nullptr ? 0 : memory_->capacity; }
    void compact() noexcept {
        if (begin_ == 0) return;
        std::memmove(memory_->bytes(), memory_->bytes() + begin_, end_ - begin_);
        end_ -= begin_;
        begin_ = 0;
    }
    // Called with a full buffer that starts at its front: twice the size, but not beyond a large frame's end.
    void grow(size_t wanted) {
        assert(begin_ == 0 && end_ == capacity());
        size_t size = memory_ == nullptr ? kSmall : capacity() * 2;
        if (size > kUsual) size = std::max(kUsual, std::min(size, std::max(wanted, capacity() + 1)));
        assert(size > capacity());
        void* p = std::realloc(memory_, sizeof(ReadMemory) + size);
        if (p == nullptr) throw std::bad_alloc();
        memory_ = new (p) ReadMemory{size};
    }

    ReadMemory* memory_ = nullptr;  // null: nothing is unread
    size_t begin_ = 0;
    size_t end_ = 0;
};

}  // namespace pmix::transport

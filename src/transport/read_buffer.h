// SPDX-License-Identifier: BSD-3-Clause
// Received bytes that are not yet whole frames, and the descriptors received with them.
//
// Owned by a Connection and used only by the thread that holds its read side. Grows only as bytes are received, never
// because a header announces them: a hostile length allocates nothing until its bytes have been sent.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <new>
#include <vector>

#include "common/base/bytes.h"
#include "transport/descriptor.h"

namespace pmix::transport {

class ReadBuffer {
  public:
    static constexpr size_t kSmall = 16u << 10;  // the first size
    static constexpr size_t kUsual = 64u << 10;  // grown to when a read fills it; kept when empty

    ReadBuffer() = default;
    ReadBuffer(const ReadBuffer&) = delete;
    ReadBuffer& operator=(const ReadBuffer&) = delete;
    ~ReadBuffer() { std::free(data_); }

    common::Bytes unread() const noexcept { return {data_ + begin_, end_ - begin_}; }
    void consume(size_t n) noexcept {
        begin_ += n;
        if (begin_ == end_) begin_ = end_ = 0;
    }
    // Space for the next read, at least one byte; wanted is the size of the frame at the front as far as it is known.
    struct Space {
        uint8_t* data;
        size_t size;
    };
    Space space(size_t wanted) {
        if (begin_ == end_ && capacity_ > kUsual && wanted <= kUsual) release();
        if (end_ == capacity_ || capacity_ - begin_ < std::min(wanted, capacity_)) compact();
        if (end_ == capacity_) grow(wanted);
        return {data_ + end_, capacity_ - end_};
    }
    void filled(size_t n) noexcept { end_ += n; }

    // Oldest first; at most those of one unfinished frame stay here between reads. An empty one stands for all that did
    // not fit into this process's table, from that place to the end of what one read brought.
    std::vector<Descriptor> descriptors;

  private:
    void compact() noexcept {
        if (begin_ == 0) return;
        std::memmove(data_, data_ + begin_, end_ - begin_);
        end_ -= begin_;
        begin_ = 0;
    }
    // Called with a full buffer that starts at its front: twice the size, but not beyond a large frame's end.
    void grow(size_t wanted) {
        size_t size = capacity_ == 0 ? kSmall : capacity_ * 2;
        if (size > kUsual) size = std::max(kUsual, std::min(size, std::max(wanted, capacity_ + 1)));
        void* p = std::realloc(data_, size);
        if (p == nullptr) throw std::bad_alloc();
        data_ = static_cast<uint8_t*>(p);
        capacity_ = size;
    }
    void release() noexcept {
        std::free(data_);
        data_ = nullptr;
        capacity_ = begin_ = end_ = 0;
    }

    uint8_t* data_ = nullptr;
    size_t capacity_ = 0;
    size_t begin_ = 0;
    size_t end_ = 0;
};

}  // namespace pmix::transport

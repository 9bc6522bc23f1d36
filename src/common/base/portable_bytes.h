// SPDX-License-Identifier: BSD-3-Clause
// The bytes of the portable encoding (portable.h): numbers of variable length, written into a caller's
// pmix_data_buffer_t and read from anywhere.
//
// BufferWriter owns nothing: it borrows a buffer's malloc block, lets it grow, and gives it back when it goes; what was
// written counts only after commit(). PortableReader reads bytes that somebody else keeps alive. One thread at a time.
// Memory exhaustion throws std::bad_alloc, with the buffer as it was. The reader is sticky: after its first failure
// every read yields zero and status() says what it was.
#pragma once

#include <pmix_common.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <new>

#include "common/base/bytes.h"

namespace pmix::common {

// Eight groups of seven bits, the lowest first, and a ninth byte with the eight bits left: 9 bytes hold any number.
inline constexpr size_t kMaxFlexBytes = 9;

inline uint8_t* put_flex(uint8_t* out, uint64_t n) noexcept {
    for (int group = 0; group < 8 && n >= 0x80; ++group, n >>= 7) *out++ = static_cast<uint8_t>(n | 0x80);
    *out++ = static_cast<uint8_t>(n);
    return out;
}

// The bytes of an unsigned number, the highest first.
template <class T>
inline uint8_t* put_big(uint8_t* out, T n) noexcept {
    for (int shift = 8 * static_cast<int>(sizeof n) - 8; shift >= 0; shift -= 8) {
        *out++ = static_cast<uint8_t>(n >> shift);
    }
    return out;
}

// Signed numbers go to unsigned ones so that small magnitudes stay short: 0, -1, 1, -2 are 0, 1, 2, 3.
constexpr uint64_t fold(int64_t n) noexcept {
    return (static_cast<uint64_t>(n) << 1) ^ (n < 0 ? ~uint64_t{0} : uint64_t{0});
}
constexpr int64_t unfold(uint64_t n) noexcept {
    return static_cast<int64_t>((n >> 1) ^ ((n & 1) != 0 ? ~uint64_t{0} : uint64_t{0}));
}

// Bools as 0 and 1, eight at a time, whatever their bytes are.
inline void copy_bools(void* to, const void* from, size_t n) noexcept {
    auto* out = static_cast<uint8_t*>(to);
    const auto* in = static_cast<const uint8_t*>(from);
    constexpr uint64_t kLow = 0x7f7f7f7f7f7f7f7f;
    for (; n >= 8; n -= 8, in += 8, out += 8) {
        uint64_t word;
        std::memcpy(&word, in, 8);
        word = (((word & kLow) + kLow) | word) >> 7 & 0x0101010101010101;
        std::memcpy(out, &word, 8);
    }
    for (; n != 0; --n) *out++ = *in++ != 0;
}

// Of how a topology is supported: not said, so as many as this machine's hwloc has (portable.h).
inline constexpr size_t kUnknownSupport = SIZE_MAX;

// What a buffer holds, if its pointers agree with each other; unread starts at unpack_ptr.
struct BufferView {
    Bytes whole;
    Bytes unread;
};
inline bool view_buffer(const pmix_data_buffer_t& b, BufferView* out) noexcept {
    *out = {};
    if (b.base_ptr == nullptr) return b.bytes_used == 0;
    const auto* base = reinterpret_cast<const uint8_t*>(b.base_ptr);
    // As integers: a pointer that was never set may stand before the block.
    size_t read = b.unpack_ptr == nullptr
                      ? 0
                      : reinterpret_cast<uintptr_t>(b.unpack_ptr) - reinterpret_cast<uintptr_t>(b.base_ptr);
    if (read > b.bytes_used) return false;
    out->whole = {base, b.bytes_used};
    out->unread = out->whole.subspan(read);
    return true;
}

class BufferWriter {
  public:
    // The buffer must have passed view_buffer().
    explicit BufferWriter(pmix_data_buffer_t* b) noexcept
        : buffer_(b),
          base_(reinterpret_cast<uint8_t*>(b->base_ptr)),
          read_(b->base_ptr == nullptr || b->unpack_ptr == nullptr ? 0
                                                                   : static_cast<size_t>(b->unpack_ptr - b->base_ptr)),
          capacity_(b->base_ptr == nullptr ? 0
                                           : (b->bytes_allocated < b->bytes_used ? b->bytes_used : b->bytes_allocated)),
          used_(b->bytes_used),
          committed_(b->bytes_used) {}
    BufferWriter(const BufferWriter&) = delete;
    BufferWriter& operator=(const BufferWriter&) = delete;
    ~BufferWriter() {
        buffer_->base_ptr = reinterpret_cast<char*>(base_);
        buffer_->bytes_allocated = capacity_;
        buffer_->bytes_used = committed_;
        buffer_->pack_ptr = buffer_->base_ptr == nullptr ? nullptr : buffer_->base_ptr + committed_;
        buffer_->unpack_ptr = buffer_->base_ptr == nullptr ? nullptr : buffer_->base_ptr + read_;
    }
    void commit() noexcept { committed_ = used_; }
    // Arrays without a type are written as arrays of no infos: releases differ in how they read the others.
    void set_typed_empty_arrays(bool they_are) noexcept { typed_empty_arrays_ = they_are; }
    bool typed_empty_arrays() const noexcept { return typed_empty_arrays_; }
    // How many bytes are written behind a topology's XML (portable.h).
    void set_support_bytes(size_t n) noexcept { support_bytes_ = n; }
    size_t support_bytes() const noexcept { return support_bytes_; }

    // Space for n bytes more. The caller writes there and reports by wrote() how many bytes it has written.
    uint8_t* reserve(size_t n) {
        if (n > capacity_ - used_) [[unlikely]]
            grow(n);
        return base_ + used_;
    }
    void wrote(const uint8_t* end) noexcept { used_ = static_cast<size_t>(end - base_); }

    void byte(uint8_t b) {
        uint8_t* p = reserve(1);
        *p = b;
        ++used_;
    }
    void flex(uint64_t n) { wrote(put_flex(reserve(kMaxFlexBytes), n)); }
    void raw(const void* p, size_t n) {
        if (n == 0) return;
        std::memcpy(reserve(n), p, n);
        used_ += n;
    }

  private:
    [[gnu::noinline]] void grow(size_t n) {
        if (n > SIZE_MAX / 4 - used_) throw std::bad_alloc();
        size_t capacity = capacity_ < 64 ? 128 : capacity_ * 2;
        if (capacity < used_ + n) capacity = used_ + n;
        auto* base = static_cast<uint8_t*>(std::realloc(base_, capacity));
        if (base == nullptr) throw std::bad_alloc();
        base_ = base;
        capacity_ = capacity;
    }

    pmix_data_buffer_t* buffer_;
    uint8_t* base_;
    size_t read_;
    size_t capacity_;
    size_t used_;
    size_t committed_;
    size_t support_bytes_ = kUnknownSupport;
    bool typed_empty_arrays_ = false;
};

class PortableReader {
  public:
    explicit PortableReader(Bytes bytes) noexcept : next_(bytes.data()), end_(bytes.data() + bytes.size()) {}

    uint8_t byte() noexcept {
        if (next_ == end_) return static_cast<uint8_t>(cut_short());
        return *next_++;
    }
    uint64_t flex() noexcept {
        if (next_ != end_ && *next_ < 0x80) [[likely]]
            return *next_++;
        return long_flex();
    }
    // An unsigned number that must fit.
    uint64_t flex(uint64_t most) noexcept {
        uint64_t n = flex();
        if (n <= most) [[likely]]
            return n;
        return bad();
    }
    // The highest byte first, as many as T has.
    template <class T>
    T big() noexcept {
        const Bytes b = raw(sizeof(T));
        T n = 0;
        for (const uint8_t byte : b) n = static_cast<T>(n << 8 | byte);
        return n;
    }
    Bytes raw(size_t n) noexcept {
        if (n > left()) {
            cut_short();
            return {};
        }
        Bytes b{next_, n};
        next_ += n;
        return b;
    }
    Bytes rest() const noexcept { return {next_, left()}; }
    // A count of things that take at least `least` bytes each; those that take none are few.
    size_t count(uint64_t n, size_t least) noexcept {
        constexpr size_t kMaxFree = size_t{1} << 20;
        if (least == 0 ? n > kMaxFree : n > left() / least) {
            cut_short();
            return 0;
        }
        return static_cast<size_t>(n);
    }

    // What decoding asks of memory beyond the bytes themselves is taken from here. Without one there is no bound: the
    // bytes are this process's own.
    void set_budget(size_t* bytes) noexcept { budget_ = bytes; }
    bool spend(size_t bytes) noexcept {
        if (budget_ == nullptr) return true;
        if (bytes > *budget_) {
            (void)bad();
            return false;
        }
        *budget_ -= bytes;
        return true;
    }
    size_t* budget() const noexcept { return budget_; }
    // Writers since OpenPMIx 6.1 leave out the size of an array that has no type.
    void set_short_empty_arrays(bool they_are) noexcept { short_empty_arrays_ = they_are; }
    bool short_empty_arrays() const noexcept { return short_empty_arrays_; }

    // Infos keep the flag of an array's end that they were sent with. Otherwise it is set as they lie in memory.
    void set_keep_array_ends(bool keep) noexcept { keep_array_ends_ = keep; }
    bool keep_array_ends() const noexcept { return keep_array_ends_; }

    // How many bytes are behind a topology's XML (portable.h).
    void set_support_bytes(size_t n) noexcept { support_bytes_ = n; }
    size_t support_bytes() const noexcept { return support_bytes_; }
    // What happens to a topology: reading stops at it, it is read over and comes out as an absent one, or it is made.
    enum class Topologies : uint8_t { stop, skip, make };
    void set_topologies(Topologies how) noexcept { topologies_ = how; }
    Topologies topologies() const noexcept { return topologies_; }
    void stop_at_topology() noexcept {
        stopped_ = true;
        (void)bad();
    }
    bool stopped_at_topology() const noexcept { return stopped_; }

    size_t left() const noexcept { return static_cast<size_t>(end_ - next_); }
    const uint8_t* position() const noexcept { return next_; }
    bool ok() const noexcept { return status_ == PMIX_SUCCESS; }
    pmix_status_t status() const noexcept { return status_; }
    uint64_t bad() noexcept { return fail(PMIX_ERR_UNPACK_FAILURE); }

  private:
    uint64_t cut_short() noexcept { return fail(PMIX_ERR_UNPACK_READ_PAST_END_OF_BUFFER); }
    uint64_t fail(pmix_status_t status) noexcept {
        if (status_ == PMIX_SUCCESS) status_ = status;
        next_ = end_;
        return 0;
    }
    [[gnu::noinline]] uint64_t long_flex() noexcept {
        uint64_t n = 0;
        for (unsigned shift = 0; shift < 56; shift += 7) {
            if (next_ == end_) return cut_short();
            uint8_t b = *next_++;
            n |= static_cast<uint64_t>(b & 0x7f) << shift;
            if (b < 0x80) return n;
        }
        if (next_ == end_) return cut_short();
        return n | static_cast<uint64_t>(*next_++) << 56;
    }

    const uint8_t* next_;
    const uint8_t* end_;
    size_t* budget_ = nullptr;
    size_t support_bytes_ = kUnknownSupport;
    pmix_status_t status_ = PMIX_SUCCESS;
    bool short_empty_arrays_ = false;
    bool keep_array_ends_ = false;
    bool stopped_ = false;
    Topologies topologies_ = Topologies::stop;
};

}  // namespace pmix::common

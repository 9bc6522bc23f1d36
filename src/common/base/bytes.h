// SPDX-License-Identifier: BSD-3-Clause
// The only code that touches wire and segment bytes: little-endian loads and stores, ByteWriter, ByteReader.
//
// Owns nothing but ByteWriter's buffer. Any thread, no shared state. ByteReader is sticky: after the first read past
// the end every further read yields zero and ok() stays false, so a decoder checks once, at its end.
#pragma once

#include <bit>
#include <cassert>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace pmix::common {

using Bytes = std::span<const uint8_t>;

template <class T>
constexpr T to_little(T v) noexcept {
    static_assert(std::is_unsigned_v<T>);
    if constexpr (std::endian::native == std::endian::little || sizeof(T) == 1) {
        return v;
    } else if constexpr (sizeof(T) == 2) {
        return __builtin_bswap16(v);
    } else if constexpr (sizeof(T) == 4) {
        return __builtin_bswap32(v);
    } else {
        return __builtin_bswap64(v);
    }
}

template <class T>
inline T load_le(const void* p) noexcept {
    T v;
    std::memcpy(&v, p, sizeof v);
    return to_little(v);
}

template <class T>
inline void store_le(void* p, T v) noexcept {
    v = to_little(v);
    std::memcpy(p, &v, sizeof v);
}

// Appends to a buffer of its own. Memory exhaustion throws std::bad_alloc, which the walls turn into a status.
class ByteWriter {
  public:
    ByteWriter() = default;
    explicit ByteWriter(size_t reserve) { buffer_.reserve(reserve); }
    // Room for so many bytes, where there is none: what is written value by value has its buffer grown at every
    // doubling.
    void expect(size_t bytes) {
        if (buffer_.capacity() == 0) buffer_.reserve(bytes);
    }

    void u8(uint8_t v) { buffer_.push_back(v); }
    void u16(uint16_t v) { fixed(v); }
    void u32(uint32_t v) { fixed(v); }
    void u64(uint64_t v) { fixed(v); }
    void raw(const void* p, size_t n) {
        if (n != 0) append(static_cast<const uint8_t*>(p), n);
    }
    void raw(Bytes b) { raw(b.data(), b.size()); }
    // u32 length, then the bytes.
    void bytes(Bytes b) {
        u32(static_cast<uint32_t>(b.size()));
        raw(b);
    }
    void string(std::string_view s) { bytes({reinterpret_cast<const uint8_t*>(s.data()), s.size()}); }
    // A place to be filled later by patch_u32 (a count or length that is known only at the end).
    size_t hole_u32() {
        u32(0);
        return buffer_.size() - 4;
    }
    void patch_u32(size_t at, uint32_t v) noexcept {
        assert(at + sizeof v <= buffer_.size());
        store_le(buffer_.data() + at, v);
    }

    size_t size() const noexcept { return buffer_.size(); }
    uint8_t* data() noexcept { return buffer_.data(); }
    const uint8_t* data() const noexcept { return buffer_.data(); }
    Bytes view() const noexcept { return buffer_; }
    void clear() noexcept { buffer_.clear(); }
    // Back to an earlier size(): what was appended since goes.
    void truncate(size_t size) noexcept {
        assert(size <= buffer_.size());
        buffer_.resize(size);
    }
    // Takes back everything after the first `size` bytes: an encoder that failed half-way leaves no half.
    void cut(size_t size) noexcept {
        assert(size <= buffer_.size());
        buffer_.erase(buffer_.begin() + static_cast<ptrdiff_t>(size), buffer_.end());
    }
    std::vector<uint8_t> take() noexcept { return std::move(buffer_); }

  private:
    // Not inlined: it is most of the code, and where gcc 12 inlines it with -O3, it warns of an overflow in the growth
    // of a vector of known size (-Wstringop-overflow, -Warray-bounds). There is none: the vector allocates before it
    // copies.
    [[gnu::noinline]] void append(const uint8_t* p, size_t n) { buffer_.insert(buffer_.end(), p, p + n); }
    // Grown first and stored in place: cheaper than a copy of a few bytes that has to be found out to be one.
    template <class T>
    void fixed(T v) {
        const size_t at = buffer_.size();
        buffer_.resize(at + sizeof v);
        store_le(buffer_.data() + at, v);
    }
    std::vector<uint8_t> buffer_;
};

// Reads from bytes that somebody else keeps alive. Nothing it returns is copied.
class ByteReader {
  public:
    ByteReader() = default;
    explicit ByteReader(Bytes bytes) noexcept : next_(bytes.data()), end_(bytes.data() + bytes.size()) {}

    uint8_t u8() noexcept { return fixed<uint8_t>(); }
    uint16_t u16() noexcept { return fixed<uint16_t>(); }
    uint32_t u32() noexcept { return fixed<uint32_t>(); }
    uint64_t u64() noexcept { return fixed<uint64_t>(); }
    Bytes raw(size_t n) noexcept {
        if (n > left()) {
            fail();
            return {};
        }
        Bytes b{next_, n};
        next_ += n;
        return b;
    }
    Bytes bytes() noexcept { return raw(u32()); }
    std::string_view string() noexcept {
        Bytes b = bytes();
        return {reinterpret_cast<const char*>(b.data()), b.size()};
    }
    // A count of things that take at least min_size bytes each: more of them than could follow is a failure, so a
    // hostile count never sizes an allocation.
    uint32_t count(size_t min_size) noexcept {
        uint32_t n = u32();
        if (min_size != 0 && n > left() / min_size) {
            fail();
            return 0;
        }
        return n;
    }

    // What decoding asks of memory beyond the bytes themselves is taken from here, by this reader and those made from
    // it. Without one there is no bound: the bytes are this process's own. One that did not suffice is kOverspent from
    // then on.
    static constexpr size_t kOverspent = SIZE_MAX;
    void set_budget(size_t* bytes) noexcept { budget_ = bytes; }
    bool spend(size_t bytes) noexcept {
        if (budget_ == nullptr) return true;
        if (bytes > *budget_ || *budget_ == kOverspent) {
            *budget_ = kOverspent;
            fail();
            return false;
        }
        *budget_ -= bytes;
        return true;
    }
    // Reads what bytes() gives.
    ByteReader inner() noexcept {
        ByteReader r(bytes());
        r.budget_ = budget_;
        return r;
    }

    size_t left() const noexcept { return static_cast<size_t>(end_ - next_); }
    bool ok() const noexcept { return ok_; }
    bool at_end() const noexcept { return next_ == end_; }
    // Well-formed and used up to the last byte.
    bool finished() const noexcept { return ok_ && at_end(); }
    void fail() noexcept {
        ok_ = false;
        next_ = end_;
    }

  private:
    template <class T>
    T fixed() noexcept {
        if (left() < sizeof(T)) {
            fail();
            return 0;
        }
        T v = load_le<T>(next_);
        next_ += sizeof(T);
        return v;
    }
    const uint8_t* next_ = nullptr;
    const uint8_t* end_ = nullptr;
    size_t* budget_ = nullptr;
    bool ok_ = true;
};

}  // namespace pmix::common

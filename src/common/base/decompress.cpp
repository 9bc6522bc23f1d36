// SPDX-License-Identifier: BSD-3-Clause
#include "common/base/decompress.h"

#include <algorithm>
#include <array>
#include <new>

#include "common/base/compress.h"
#include "common/base/open_library.h"

namespace pmix::common {
namespace {

constexpr std::array<uint8_t, 4> kZstdMagic{0x28, 0xb5, 0x2f, 0xfd};
constexpr std::array<uint8_t, 4> kLz4Magic{0x04, 0x22, 0x4d, 0x18};

bool starts_with(Bytes stream, const std::array<uint8_t, 4>& magic) noexcept {
    return stream.size() >= magic.size() && std::equal(magic.begin(), magic.end(), stream.begin());
}

constexpr const char* kPurpose = "compressed data cannot be read";

// One step of a stream: how much of the input it read, how much it wrote, and whether the stream is at its end.
struct Step {
    size_t read = 0;
    size_t written = 0;
    bool done = false;
    bool failed = false;
};

// The public ABI of libzstd 1 (zstd.h: streaming decompression).
struct Zstd {
    struct In {
        const void* src;
        size_t size;
        size_t pos;
    };
    struct Out {
        void* dst;
        size_t size;
        size_t pos;
    };
    void* (*create)() = nullptr;
    size_t (*free)(void*) = nullptr;
    size_t (*decompress)(void*, Out*, In*) = nullptr;
    unsigned (*is_error)(size_t) = nullptr;

    static const Zstd* open() noexcept {
        static const Zstd library = [] {
            Zstd z;
            void* handle = open_library("libzstd.so.1", kPurpose);
            if (handle == nullptr || !find_function(handle, "ZSTD_createDCtx", z.create) ||
                !find_function(handle, "ZSTD_freeDCtx", z.free) ||
                !find_function(handle, "ZSTD_decompressStream", z.decompress) ||
                !find_function(handle, "ZSTD_isError", z.is_error))
                z.create = nullptr;
            return z;
        }();
        return library.create == nullptr ? nullptr : &library;
    }
    Step step(void* context, Bytes in, uint8_t* out, size_t capacity) const noexcept {
        In from{in.data(), in.size(), 0};
        Out to{out, capacity, 0};
        const size_t rc = decompress(context, &to, &from);
        return {from.pos, to.pos, rc == 0, is_error(rc) != 0};
    }
};

// The public ABI of liblz4 1 (lz4frame.h).
struct Lz4 {
    static constexpr unsigned kVersion = 100;
    size_t (*make)(void**, unsigned) = nullptr;
    size_t (*free)(void*) = nullptr;
    size_t (*decompress)(void*, void*, size_t*, const void*, size_t*, const void*) = nullptr;
    unsigned (*is_error)(size_t) = nullptr;

    static const Lz4* open() noexcept {
        static const Lz4 library = [] {
            Lz4 l;
            void* handle = open_library("liblz4.so.1", kPurpose);
            if (handle == nullptr || !find_function(handle, "LZ4F_createDecompressionContext", l.make) ||
                !find_function(handle, "LZ4F_freeDecompressionContext", l.free) ||
                !find_function(handle, "LZ4F_decompress", l.decompress) ||
                !find_function(handle, "LZ4F_isError", l.is_error))
                l.make = nullptr;
            return l;
        }();
        return library.make == nullptr ? nullptr : &library;
    }
    void* create() const noexcept {
        void* context = nullptr;
        return is_error(make(&context, kVersion)) != 0 ? nullptr : context;
    }
    Step step(void* context, Bytes in, uint8_t* out, size_t capacity) const noexcept {
        size_t read = in.size();
        const size_t rc = decompress(context, out, &capacity, in.data(), &read, nullptr);
        return {read, capacity, rc == 0, is_error(rc) != 0};
    }
};

// The whole stream through the steps of one library.
template <class Library>
Result<std::vector<uint8_t>> run(Bytes stream, size_t max_output, size_t size_hint) {
    const Library* library = Library::open();
    if (library == nullptr) return PMIX_ERR_NOT_SUPPORTED;
    struct Context {
        const Library* library;
        void* context;
        ~Context() { library->free(context); }
    } holder{library, library->create()};
    if (holder.context == nullptr) throw std::bad_alloc();
    // The hint saves copies; what a few bytes claim does not decide how much is allocated at first.
    constexpr size_t kFirst = 1u << 20;
    const size_t first = std::min(size_hint == 0 ? stream.size() * 4 : size_hint, std::max(kFirst, stream.size() * 16));
    std::vector<uint8_t> out(std::min(max_output, std::max<size_t>(first, 64)));
    size_t used = 0;
    uint8_t spare = 0;  // one byte beyond max_output, to tell "exactly full" from "more to come"
    for (;;) {
        const bool full = used == max_output;
        const Step step = full ? library->step(holder.context, stream, &spare, 1)
                               : library->step(holder.context, stream, out.data() + used, out.size() - used);
        if (step.failed) return PMIX_ERR_UNPACK_FAILURE;
        if (full && step.written != 0) return PMIX_ERR_OUT_OF_RESOURCE;
        stream = stream.subspan(step.read);
        used += step.written;
        if (step.done) {
            if (!stream.empty()) return PMIX_ERR_UNPACK_FAILURE;
            out.resize(used);
            return out;
        }
        if (used == out.size() && used < max_output) {
            out.resize(std::min(max_output, used * 2));
        } else if (step.read == 0 && step.written == 0) {
            return PMIX_ERR_UNPACK_FAILURE;  // cut short
        }
    }
}

}  // namespace

Result<std::vector<uint8_t>> decompress_bounded(Bytes stream, size_t max_output, size_t size_hint) {
    if (starts_with(stream, kZstdMagic)) return run<Zstd>(stream, max_output, size_hint);
    if (starts_with(stream, kLz4Magic)) return run<Lz4>(stream, max_output, size_hint);
    return inflate_bounded(stream, max_output, size_hint);
}

}  // namespace pmix::common

// SPDX-License-Identifier: BSD-3-Clause
#include "common/base/compress.h"

#include <algorithm>
#include <new>

#include "common/base/zlib_functions.h"

namespace pmix::common {
namespace {

// zlib counts in 32 bits: larger buffers are passed in steps of this size.
constexpr size_t kMaxStep = 1u << 30;

uInt step(size_t left) noexcept {
    return static_cast<uInt>(std::min(left, kMaxStep));
}

constexpr int kFastest = 1;  // level

// What zlib takes by itself, 260 KiB; other libraries read the stream, and some tell it by its first byte, which names
// the window. And 64 KiB, for what this library alone reads: most of the memory is touched for the first time, and the
// stream is hardly longer.
struct Memory {
    int window_bits, level;
};
constexpr Memory kUsual{15, 8}, kSmall{13, 6};

constexpr size_t kSample = size_t{8} << 10;

// A zlib stream that is ended whatever happens to the vectors beside it.
struct Deflate {
    const Zlib& zlib;
    z_stream z{};
    Deflate(const Zlib& functions, Memory memory) : zlib(functions) {
        if (zlib.deflate_init(&z, kFastest, Z_DEFLATED, memory.window_bits, memory.level, Z_DEFAULT_STRATEGY,
                              ZLIB_VERSION, sizeof z) != Z_OK)
            throw std::bad_alloc();
    }
    ~Deflate() { zlib.deflate_end(&z); }
    Deflate(const Deflate&) = delete;
    Deflate& operator=(const Deflate&) = delete;
};

struct Inflate {
    const Zlib& zlib;
    z_stream z{};
    explicit Inflate(const Zlib& functions) : zlib(functions) {
        if (zlib.inflate_init(&z, ZLIB_VERSION, sizeof z) != Z_OK) throw std::bad_alloc();
    }
    ~Inflate() { zlib.inflate_end(&z); }
    Inflate(const Inflate&) = delete;
    Inflate& operator=(const Inflate&) = delete;
};

// What it gives, unless that and the header would not be smaller than the input.
std::optional<std::vector<uint8_t>> run(Deflate& stream, Bytes input, size_t header) {
    // Room for less than the input and no more: a stream that does not gain runs out of it and is given up there. It
    // grows by quarters of the input, since what compresses at all usually needs one.
    const size_t most = input.size() - 1;
    std::vector<uint8_t> out(std::min(most, header + input.size() / 4 + 64));
    const uint8_t* next_in = input.data();
    size_t left = input.size();
    size_t used = header;
    for (;;) {
        const uInt in = step(left);
        const uInt space = step(out.size() - used);
        stream.z.next_in = const_cast<Bytef*>(next_in);
        stream.z.avail_in = in;
        stream.z.next_out = out.data() + used;
        stream.z.avail_out = space;
        const int rc = stream.zlib.deflate(&stream.z, in == left ? Z_FINISH : Z_NO_FLUSH);
        next_in += in - stream.z.avail_in;
        left -= in - stream.z.avail_in;
        used += space - stream.z.avail_out;
        if (rc == Z_STREAM_END) {
            out.resize(used);
            return out;
        }
        if (rc != Z_OK && rc != Z_BUF_ERROR) return std::nullopt;
        if (used == out.size()) {
            if (used == most) return std::nullopt;
            out.resize(std::min(most, used + input.size() / 4 + 64));
        }
    }
}

}  // namespace

std::optional<std::vector<uint8_t>> deflate_if_smaller(Bytes input, size_t header) {
    if (input.size() < kMinCompress || header >= input.size()) return std::nullopt;
    const Zlib* zlib = Zlib::open();
    if (zlib == nullptr) return std::nullopt;
    Deflate stream(*zlib, kUsual);
    return run(stream, input, header);
}

std::optional<std::vector<uint8_t>> deflate_if_much_smaller(Bytes input) {
    if (input.size() < 2 * kSample) return std::nullopt;
    const Zlib* zlib = Zlib::open();
    if (zlib == nullptr) return std::nullopt;
    Deflate stream(*zlib, kSmall);
    const auto sample = run(stream, input.subspan(input.size() / 2, kSample), 0);
    if (!sample || sample->size() > kSample / 4 || zlib->deflate_reset(&stream.z) != Z_OK) return std::nullopt;
    return run(stream, input, 0);
}

void prepare_compression() noexcept {
    (void)Zlib::open();
}

Result<std::vector<uint8_t>> inflate_bounded(Bytes stream, size_t max_output, size_t size_hint) {
    const Zlib* zlib = Zlib::open();
    if (zlib == nullptr) return PMIX_ERR_NOT_SUPPORTED;
    // Deflate expands at most 1032 times, so a hint beyond that is a lie that would only cost memory.
    constexpr size_t kMaxExpansion = 1032;
    size_t first = stream.size() * 4;
    if (size_hint != 0) first = std::min(size_hint, stream.size() * kMaxExpansion);
    std::vector<uint8_t> out(std::min(max_output, std::max<size_t>(first, 64)));
    Inflate inflater(*zlib);
    const uint8_t* next_in = stream.data();
    size_t left = stream.size();
    size_t used = 0;
    uint8_t spare = 0;  // one byte beyond max_output, to tell "exactly full" from "more to come"
    for (;;) {
        const uInt in = step(left);
        const bool full = used == max_output;
        const uInt space = full ? 1 : step(out.size() - used);
        inflater.z.next_in = const_cast<Bytef*>(next_in);
        inflater.z.avail_in = in;
        inflater.z.next_out = full ? &spare : out.data() + used;
        inflater.z.avail_out = space;
        const int rc = zlib->inflate(&inflater.z, Z_NO_FLUSH);
        const uInt took = in - inflater.z.avail_in;
        const uInt gave = space - inflater.z.avail_out;
        next_in += took;
        left -= took;
        if (full && gave != 0) return PMIX_ERR_OUT_OF_RESOURCE;
        used += gave;
        if (rc == Z_STREAM_END) {
            if (left != 0) return PMIX_ERR_UNPACK_FAILURE;
            out.resize(used);
            return out;
        }
        if (rc == Z_MEM_ERROR) throw std::bad_alloc();
        if (rc != Z_OK && rc != Z_BUF_ERROR) return PMIX_ERR_UNPACK_FAILURE;
        if (used == out.size()) {
            if (used < max_output) out.resize(std::min(max_output, used * 2));
        } else if (took == 0 && gave == 0) {
            return PMIX_ERR_UNPACK_FAILURE;  // it wants input that is not there
        }
        // A stream that is full, needs no more space and still gives nothing can only be cut short.
        if (full && took == 0 && gave == 0) return PMIX_ERR_UNPACK_FAILURE;
    }
}

}  // namespace pmix::common

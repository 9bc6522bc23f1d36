// SPDX-License-Identifier: BSD-3-Clause
// PMIx_Data_compress and PMIx_Data_decompress, in the bytes that OpenPMIx uses: the length in 4 bytes, then
// zlib. What OpenPMIx 7 compressed with zstd or lz4 is read too.
//
// Owns nothing; the caller frees the result. Any thread. False means "keep what you have" and leaves NULL and 0.
#include <pmix.h>

#include <cstdlib>
#include <cstring>

#include "abi/boundary.h"
#include "common/base/compress.h"
#include "common/base/decompress.h"

namespace {

using namespace pmix::common;

bool hand_out(const std::vector<uint8_t>& bytes, uint8_t** out, size_t* size) noexcept {
    auto* copy = static_cast<uint8_t*>(std::malloc(bytes.empty() ? 1 : bytes.size()));
    if (copy == nullptr) return false;
    if (!bytes.empty()) std::memcpy(copy, bytes.data(), bytes.size());
    *out = copy;
    *size = bytes.size();
    return true;
}

template <class F>
bool run(const uint8_t* in, uint8_t** out, size_t* size, F&& f) noexcept {
    if (out != nullptr) *out = nullptr;
    if (size != nullptr) *size = 0;
    if (in == nullptr || out == nullptr || size == nullptr) return false;
    return pmix::api::guarded([&] { return f() ? PMIX_SUCCESS : PMIX_ERROR; }) == PMIX_SUCCESS;
}

}  // namespace

extern "C" bool PMIx_Data_compress(const uint8_t* inbytes, size_t size, uint8_t** outbytes, size_t* nbytes) {
    return run(inbytes, outbytes, nbytes, [&] {
        if (size > UINT32_MAX) return false;
        auto packed = deflate_if_smaller({inbytes, size}, kCompressedPrefix);
        if (!packed) return false;
        store_le(packed->data(), static_cast<uint32_t>(size));
        return hand_out(*packed, outbytes, nbytes);
    });
}

extern "C" bool PMIx_Data_decompress(const uint8_t* inbytes, size_t size, uint8_t** outbytes, size_t* nbytes) {
    return run(inbytes, outbytes, nbytes, [&] {
        if (size < kCompressedPrefix) return false;
        const auto length = load_le<uint32_t>(inbytes);
        const auto plain = decompress_bounded({inbytes + kCompressedPrefix, size - kCompressedPrefix}, length, length);
        return plain.ok() && plain.value().size() == length && hand_out(plain.value(), outbytes, nbytes);
    });
}

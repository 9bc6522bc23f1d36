// SPDX-License-Identifier: BSD-3-Clause
#include "common/base/zlib_functions.h"

#include "common/base/open_library.h"

extern "C" __attribute__((weak, visibility("hidden"))) const pmix::common::Zlib wireup_linked_zlib;

namespace pmix::common {

const Zlib* Zlib::open() noexcept {
    if (&wireup_linked_zlib != nullptr) return &wireup_linked_zlib;
    static const Zlib library = [] {
        Zlib z;
        void* handle = open_library("libz.so.1", "nothing is compressed, and compressed data cannot be read");
        if (handle == nullptr || !find_function(handle, "deflateInit2_", z.deflate_init) ||
            !find_function(handle, "deflate", z.deflate) || !find_function(handle, "deflateReset", z.deflate_reset) ||
            !find_function(handle, "deflateEnd", z.deflate_end) ||
            !find_function(handle, "inflateInit_", z.inflate_init) || !find_function(handle, "inflate", z.inflate) ||
            !find_function(handle, "inflateEnd", z.inflate_end))
            z.inflate_end = nullptr;
        return z;
    }();
    return library.inflate_end == nullptr ? nullptr : &library;
}

}  // namespace pmix::common

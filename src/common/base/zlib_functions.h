// SPDX-License-Identifier: BSD-3-Clause
// The functions of zlib that the library calls: of libz.so.1, which is opened at first use, or, in programs that link
// the static library, of the zlib that they link.
//
// Any thread. What can go wrong: no zlib on this machine (null).
#pragma once

#include <zlib.h>

namespace pmix::common {

struct Zlib {
    decltype(&::deflateInit2_) deflate_init = nullptr;
    decltype(&::deflate) deflate = nullptr;
    decltype(&::deflateReset) deflate_reset = nullptr;
    decltype(&::deflateEnd) deflate_end = nullptr;
    decltype(&::inflateInit_) inflate_init = nullptr;
    decltype(&::inflate) inflate = nullptr;
    decltype(&::inflateEnd) inflate_end = nullptr;

    static const Zlib* open() noexcept;
};

}  // namespace pmix::common

// Of linked_zlib.cpp, which only the static library has.
extern "C" const pmix::common::Zlib wireup_linked_zlib;

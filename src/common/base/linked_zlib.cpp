// SPDX-License-Identifier: BSD-3-Clause
// Of the static library only: zlib by the linker. What opens shared libraries is not for every static program.
#include "common/base/zlib_functions.h"

extern "C" constinit const pmix::common::Zlib wireup_linked_zlib = {
    &::deflateInit2_, &::deflate, &::deflateReset, &::deflateEnd, &::inflateInit_, &::inflate, &::inflateEnd};

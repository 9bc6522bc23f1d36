// SPDX-License-Identifier: BSD-3-Clause
// In place of libstdc++'s file of this name, which is for glibc: what its headers ask about the C library, for musl.
#pragma once

#define __GLIBC_PREREQ(major, minor) 0
#define __locale_t locale_t

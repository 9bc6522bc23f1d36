// SPDX-License-Identifier: BSD-3-Clause
// pmix_regex2_t: a list in a form that has a name of its own, as OpenPMIx 7 hands maps around.
//
// Owns nothing but values; any thread. Two forms are known: "raw", the list with its NUL, and "compress", the list's
// length in 4 bytes and a compressed stream (zlib here; zstd or lz4 from others are read where their libraries are).
// Input is hostile: what it expands to is bounded by kMaxMapText.
#pragma once

#include <pmix_common.h>

#include <string>
#include <string_view>

#include "common/base/bytes.h"
#include "common/base/status.h"

namespace pmix::common {

// Fills `out`, whose strings the caller frees (PMIX_REGEX2). On a failure nothing is in it.
pmix_status_t make_regex2(std::string_view list, pmix_regex2_t* out);

// The list. PMIX_ERR_NOT_SUPPORTED: another form, or no library for it. PMIX_ERR_UNPACK_FAILURE: damaged.
// PMIX_ERR_OUT_OF_RESOURCE: longer than kMaxMapText.
Result<std::string> read_regex2(const pmix_regex2_t& regex);

// The bytes of a map in a value, in any of the types that hosts use: PMIX_STRING (perhaps a "blob:" with NULs inside),
// PMIX_REGEX, PMIX_BYTE_OBJECT, PMIX_REGEX2, whose list is put into `expanded`. PMIX_ERR_TYPE_MISMATCH: of another
// type, or NULL; the statuses of read_regex2.
pmix_status_t map_bytes(const pmix_value_t& value, std::string& expanded, Bytes* out);

}  // namespace pmix::common

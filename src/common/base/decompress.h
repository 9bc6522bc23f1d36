// SPDX-License-Identifier: BSD-3-Clause
// Payloads that OpenPMIx compressed: zlib, and from 7.0 on zstd or lz4 under the same label.
//
// Owns nothing but the two compression libraries once they are opened, which is at the first payload of their form: a
// process that never gets one does not load them. Any thread. No length in the input is trusted: memory grows with
// what comes out, up to the caller's bound.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "common/base/bytes.h"
#include "common/base/status.h"

namespace pmix::common {

// The length of the content in 4 bytes, lowest first, stands in front of the stream.
inline constexpr size_t kCompressedPrefix = 4;

// The content of a stream, whose first bytes tell its form. The statuses of inflate_bounded, and
// PMIX_ERR_NOT_SUPPORTED where the library of its form is not on this machine (a line of the log names it).
Result<std::vector<uint8_t>> decompress_bounded(Bytes stream, size_t max_output, size_t size_hint = 0);

}  // namespace pmix::common

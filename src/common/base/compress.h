// SPDX-License-Identifier: BSD-3-Clause
// Blobs made smaller for the way between nodes, and compressed maps read (zlib, level 1).
//
// Pure functions, any thread. No length in the input is believed: memory grows with what really comes out, up to the
// caller's bound. A damaged or oversized stream is a status, and so is a machine without zlib, where nothing is
// smaller.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "common/base/bytes.h"
#include "common/base/status.h"

namespace pmix::common {

// Below this a deflate costs more time than its bytes do.
inline constexpr size_t kMinCompress = 4096;

// The zlib stream, after `header` bytes left for the caller to fill; nothing when all of that would not be smaller
// than the input (or the input is smaller than kMinCompress).
std::optional<std::vector<uint8_t>> deflate_if_smaller(Bytes input, size_t header = 0);

// The same where it gains much: nothing unless 8 KiB from the middle of the input shrink to a quarter. At the beginning
// there are often names, which shrink more than what they name. The stream's window is smaller than usual.
std::optional<std::vector<uint8_t>> deflate_if_much_smaller(Bytes input);

// Loads zlib, so that the first call of the others does not: some 150 us.
void prepare_compression() noexcept;

// What the stream holds. PMIX_ERR_OUT_OF_RESOURCE beyond max_output; PMIX_ERR_UNPACK_FAILURE when it is damaged, ends
// early or is followed by other bytes; PMIX_ERR_NOT_SUPPORTED without zlib. size_hint, if the sender named a size,
// saves copies and nothing more.
Result<std::vector<uint8_t>> inflate_bounded(Bytes stream, size_t max_output, size_t size_hint = 0);

}  // namespace pmix::common

// SPDX-License-Identifier: BSD-3-Clause
// The frame header: 16 bytes before every message, both directions.
//
//    0               4       6       8              12              16
//   +---------------+-------+-------+---------------+---------------+----------------------
//   | payload bytes |command| flags |      id       |    status     | payload ...
//   |      u32      |  u16  |  u16  |      u32      |      i32      |
//   +---------------+-------+-------+---------------+---------------+----------------------
//
//   flags   bits 0-1   kind: 1 request, 2 reply, 3 notify; 0 is invalid
//           bit  2     error: a reply whose status is a failure; its payload is empty or the message's own
//           bits 8-11  descriptors that travel with this frame (SCM_RIGHTS), in order
//           others     zero; a frame that sets one is malformed
//   id      chosen by the requester, not 0, unique among its open requests; a reply carries the request's; notify: 0
//   status  a reply's pmix_status_t; 0 in requests and notifications
//
// All little-endian. Pure, any thread. A header that is not as drawn ends the connection that sent it.
#pragma once

#include <vector>

#include "common/base/bytes.h"
#include "common/base/limits.h"
#include "common/base/status.h"

namespace pmix::common {

inline constexpr size_t kFrameHeaderSize = 16;
inline constexpr unsigned kMaxFrameDescriptors = 15;

enum class FrameKind : uint8_t { request = 1, reply = 2, notify = 3 };

struct FrameHeader {
    uint32_t payload = 0;
    uint16_t command = 0;
    FrameKind kind = FrameKind::notify;
    uint8_t descriptors = 0;
    uint32_t id = 0;
    pmix_status_t status = PMIX_SUCCESS;

    static FrameHeader request(uint16_t command, uint32_t id) noexcept {
        return {0, command, FrameKind::request, 0, id, PMIX_SUCCESS};
    }
    static FrameHeader reply(uint16_t command, uint32_t id, pmix_status_t status) noexcept {
        return {0, command, FrameKind::reply, 0, id, status};
    }
    static FrameHeader notify(uint16_t command) noexcept { return {0, command, FrameKind::notify, 0, 0, PMIX_SUCCESS}; }

    bool operator==(const FrameHeader&) const = default;
};

// A header and the bytes it announces. Owned; descriptors travel beside it.
struct Frame {
    FrameHeader header;
    std::vector<uint8_t> payload;
};

// The error bit is computed from kind and status, so it cannot disagree with them.
void build_frame_header(const FrameHeader& header, uint8_t out[kFrameHeaderSize]) noexcept;

// bytes holds at least kFrameHeaderSize bytes. max_payload: kMaxHelloPayload before the hello, kMaxFramePayload after.
// PMIX_ERR_UNPACK_FAILURE: not a header. PMIX_ERR_OUT_OF_RESOURCE: a payload beyond max_payload.
Result<FrameHeader> parse_frame_header(Bytes bytes, uint32_t max_payload) noexcept;

}  // namespace pmix::common

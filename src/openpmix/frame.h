// SPDX-License-Identifier: BSD-3-Clause
// OpenPMIx's message header after the handshake: 16 bytes in network order before every payload, both directions.
//
//    0            4            8            12           16
//   | peer index |    tag     |  payload   |     0      | payload ...
//
// The index of an incoming header means nothing and is not looked at. Pure, any thread.
#pragma once

#include <cstdint>

#include "common/base/bytes.h"
#include "common/base/status.h"

namespace pmix::openpmix {

// Tags with a meaning of their own. Others below kFirstRequestTag are reserved: their messages are dropped.
inline constexpr uint32_t kEventTag = 0;
inline constexpr uint32_t kHeartbeatTag = 1;  // from a client, empty, never answered
inline constexpr uint32_t kOutputTag = 2;
inline constexpr uint32_t kFlowTag = 3;  // to peers of 7.0 and later only, as the next
inline constexpr uint32_t kDeletionTag = 4;
inline constexpr uint32_t kFirstRequestTag = 100;
inline constexpr uint32_t kConnectTag = 0xffffffff;

struct FrameHeader {
    int32_t index = 0;
    uint32_t tag = 0;
    uint32_t payload = 0;
};

void build_header(const FrameHeader& header, uint8_t out[16]) noexcept;
// PMIX_ERR_UNPACK_FAILURE: the connect message's tag, which nobody sends twice.
pmix_status_t parse_header(const uint8_t in[16], FrameHeader* out) noexcept;

}  // namespace pmix::openpmix

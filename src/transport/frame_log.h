// SPDX-License-Identifier: BSD-3-Clause
// Frames as lines of the log: "7 > fence #3 -> FenceRequest{procs=[job.*] infos=[]}".
//
// Any thread; called where log_on(frames, trace) said so. Never fails: without memory the line is lost.
#pragma once

#include "common/base/log.h"
#include "common/protocol/frame.h"

namespace pmix::transport {

using common::log_on;
using common::LogArea;
using common::LogLevel;

// direction: '>' sent, '<' received. fd: the connection's, to tell several apart. payload may be hostile.
void log_frame(int fd, char direction, const common::FrameHeader& header, common::Bytes payload) noexcept;

}  // namespace pmix::transport

// SPDX-License-Identifier: BSD-3-Clause
#include "transport/frame_log.h"

#include <new>
#include <string>

#include "common/protocol/messages.h"

namespace pmix::transport {

void log_frame(int fd, char direction, const common::FrameHeader& header, common::Bytes payload) noexcept {
    try {
        std::string line = std::to_string(fd);
        line += ' ';
        line += direction;
        line += ' ';
        line += common::describe_frame(header, payload);
        common::log_text(LogArea::frames, LogLevel::trace, line);
    } catch (const std::bad_alloc&) {
        common::log_text(LogArea::frames, LogLevel::error, "no memory to describe a frame");
    }
}

}  // namespace pmix::transport

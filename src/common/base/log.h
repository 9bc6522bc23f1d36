// SPDX-License-Identifier: BSD-3-Clause
// The log: off unless somebody asked for it; then one line for each thing that happens, written at once.
//
//   WIREUP_LOG=SPEC in the environment, or the attribute "wireup.log" (PMIX_STRING) to an init function, which goes
//   first
//
//   SPEC         ITEM[,ITEM...][@DESTINATION]
//   ITEM         LEVEL for all areas, or AREA=LEVEL; a later one goes over an earlier one
//   LEVEL        off, error, warn, info, debug, trace
//   AREA         api, client, server, frames, host, events; frames=trace prints each frame of the protocol, decoded
//   DESTINATION  stderr (default), stdout, syslog, or a file that is appended to: %p is the process, %n its namespace,
//   %r its
//                rank, %h the host, %% a percent sign; 0600 where it is new, and never through a symbolic link
//
// Owns the levels and where lines go. log_on() from any thread, also in a signal-free forked child: one load and a
// branch while it is off. Lines of one write each, so those of several processes do not mix in a file. start_log() and
// stop_log() are called by init and finalize, one at a time. What can go wrong: a malformed SPEC is
// PMIX_ERR_BAD_PARAM and the log stays as it was; a file that cannot be opened is the status of that; a line that
// cannot be written is lost.
#pragma once

#include <atomic>
#include <string_view>

#include "common/base/ids.h"
#include "common/base/status.h"

namespace pmix::common {

enum class LogArea : uint8_t { api, client, server, frames, host, events };
enum class LogLevel : uint8_t { off, error, warn, info, debug, trace };

inline constexpr const char* kLogVariable = "WIREUP_LOG";
inline constexpr const char* kLogAttribute = "wireup.log";

namespace log_detail {
extern std::atomic<uint32_t> levels;  // four bits an area
}

inline bool log_on(LogArea area, LogLevel level) noexcept {
    const uint32_t all = log_detail::levels.load(std::memory_order_relaxed);
    return ((all >> (4 * static_cast<unsigned>(area))) & 15u) >= static_cast<unsigned>(level);
}

// One line, cut where it is too long; the newline is added. Keeps errno.
void log_line(LogArea area, LogLevel level, const char* format, ...) noexcept __attribute__((format(printf, 3, 4)));

// The text alone for what is long: a frame. Cut too.
void log_text(LogArea area, LogLevel level, std::string_view text) noexcept;

// "PMIX_ERR_TIMEOUT", for a line; "another status" for one that has no name.
const char* log_status(pmix_status_t status) noexcept;

pmix_status_t start_log(std::string_view spec, const ProcId& self);
void stop_log() noexcept;

}  // namespace pmix::common

// Arguments are not evaluated while the log is off.
#define WIREUP_LOG(area, level, ...)                                                                         \
    do {                                                                                                     \
        if (pmix::common::log_on(pmix::common::LogArea::area, pmix::common::LogLevel::level)) [[unlikely]]   \
            pmix::common::log_line(pmix::common::LogArea::area, pmix::common::LogLevel::level, __VA_ARGS__); \
    } while (0)

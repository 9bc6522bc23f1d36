// SPDX-License-Identifier: BSD-3-Clause
#include "common/base/log.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <syslog.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cstdarg>
#include <cstdio>
#include <cstring>
#include <new>
#include <string>

#include "common/base/names.h"
#include "common/base/standard_streams.h"

namespace pmix::common {

namespace log_detail {
constinit std::atomic<uint32_t> levels{0};
}

namespace {

constexpr const char* kAreas[] = {"api", "client", "server", "frames", "host", "events"};
constexpr const char* kLevels[] = {"off", "error", "warn", "info", "debug", "trace"};
constexpr size_t kLine = 2048;
constexpr int kToSyslog = -1;

// The destination of the lines and the name of their writer. Never freed, because a thread may be writing while another
// thread starts the log again; a process that starts the log many times with the same values has one.
struct Sink {
    int fd;
    std::string destination;
    std::string who;  // "job.7:3"
    const Sink* before;
};
constinit std::atomic<const Sink*> current{nullptr};

// syslog(3) opens its descriptor with the first line, at the lowest free number, and keeps it. (openlog() would replace
// what the program has asked of it.)
constinit std::atomic<bool> syslog_is_open{false};

template <size_t N>
int index_of(const char* const (&names)[N], std::string_view name) noexcept {
    for (size_t i = 0; i < N; ++i)
        if (name == names[i]) return static_cast<int>(i);
    return -1;
}

// The items of a SPEC into levels.
pmix_status_t read_items(std::string_view items, uint32_t& levels) noexcept {
    while (true) {
        const size_t comma = items.find(',');
        std::string_view item = items.substr(0, comma);
        const size_t equals = item.find('=');
        const int level = index_of(kLevels, equals == item.npos ? item : item.substr(equals + 1));
        if (level < 0) return PMIX_ERR_BAD_PARAM;
        for (size_t area = 0; area < std::size(kAreas); ++area) {
            if (equals != item.npos && item.substr(0, equals) != kAreas[area]) continue;
            levels = (levels & ~(15u << (4 * area))) | (static_cast<uint32_t>(level) << (4 * area));
        }
        if (equals != item.npos && index_of(kAreas, item.substr(0, equals)) < 0) return PMIX_ERR_BAD_PARAM;
        if (comma == items.npos) return PMIX_SUCCESS;
        items.remove_prefix(comma + 1);
    }
}

// A namespace may hold anything; in a file's name a slash or a dot at the front would lead elsewhere.
void append_name(std::string& path, std::string_view text) {
    for (char c : text) path += c > ' ' && c < 0x7f && c != '/' ? c : '_';
}

Result<std::string> expand(std::string_view pattern, const ProcId& self) {
    std::string path;
    for (size_t i = 0; i < pattern.size(); ++i) {
        if (pattern[i] != '%') {
            path += pattern[i];
            continue;
        }
        if (++i == pattern.size()) return PMIX_ERR_BAD_PARAM;
        char host[256] = {};
        switch (pattern[i]) {
            case 'p':
                path += std::to_string(::getpid());
                break;
            case 'r':
                path += std::to_string(self.rank);
                break;
            case 'n':
                append_name(path, self.nspace);
                break;
            case 'h':
                ::gethostname(host, sizeof host - 1);
                append_name(path, host);
                break;
            case '%':
                path += '%';
                break;
            default:
                return PMIX_ERR_BAD_PARAM;
        }
    }
    return path;
}

pmix_status_t open_destination(const std::string& where, int& fd) {
    fd = where == "stderr" ? 2 : where == "stdout" ? 1 : kToSyslog;
    if (fd >= 0 || where == "syslog") return PMIX_SUCCESS;
    constexpr int kHow = O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOCTTY | O_NOFOLLOW | O_NONBLOCK;
    fd = above_standard(::open(where.c_str(), kHow, 0600));
    if (fd < 0) {
        if (errno == EACCES || errno == EPERM || errno == ELOOP || errno == EROFS) return PMIX_ERR_NO_PERMISSIONS;
        return errno == ENOENT || errno == ENOTDIR ? PMIX_ERR_NOT_FOUND : PMIX_ERR_OUT_OF_RESOURCE;
    }
    return PMIX_SUCCESS;
}

size_t write_time(char* out, size_t capacity) noexcept {
    timespec now{};
    tm parts{};
    ::clock_gettime(CLOCK_REALTIME, &now);
    ::gmtime_r(&now.tv_sec, &parts);
    const size_t n = ::strftime(out, capacity, "%Y-%m-%dT%H:%M:%S", &parts);
    return n + static_cast<size_t>(std::snprintf(out + n, capacity - n, ".%06ldZ ", now.tv_nsec / 1000));
}

int syslog_priority(LogLevel level) noexcept {
    switch (level) {
        case LogLevel::error:
            return LOG_ERR;
        case LogLevel::warn:
            return LOG_WARNING;
        case LogLevel::info:
            return LOG_INFO;
        default:
            return LOG_DEBUG;
    }
}

void emit(LogArea area, LogLevel level, std::string_view text) noexcept {
    const Sink* sink = current.load(std::memory_order_acquire);
    if (sink == nullptr) return;
    const int keep = errno;
    const char* a = kAreas[static_cast<size_t>(area)];
    const char* l = kLevels[static_cast<size_t>(level)];
    if (sink->fd == kToSyslog) {
        const int priority = syslog_priority(level);
        const auto write = [&] {
            ::syslog(LOG_USER | priority, "wireup %s %s %s: %.*s", sink->who.c_str(), a, l,
                     static_cast<int>(text.size()), text.data());
        };
        if (syslog_is_open.load(std::memory_order_acquire)) {
            write();
        } else {
            const StandardStreamsTaken taken;
            write();
            if ((::setlogmask(0) & LOG_MASK(priority)) != 0) syslog_is_open.store(true, std::memory_order_release);
        }
    } else {
        char head[512];
        size_t n = write_time(head, sizeof head);
        const int more = std::snprintf(head + n, sizeof head - n, "%s[%d.%ld] %s %s: ", sink->who.c_str(), ::getpid(),
                                       ::syscall(SYS_gettid), a, l);
        if (more > 0) n = std::min(n + static_cast<size_t>(more), sizeof head - 1);
        char end = '\n';
        const iovec parts[] = {{head, n}, {const_cast<char*>(text.data()), text.size()}, {&end, 1}};
        // All or nothing as far as it matters: a line that does not fit is not worth waiting for.
        while (::writev(sink->fd, parts, 3) < 0 && errno == EINTR) continue;
    }
    errno = keep;
}

}  // namespace

const char* log_status(pmix_status_t status) noexcept {
    const char* name = constant_name(Names::status, status);
    return name != nullptr ? name : "another status";
}

void log_text(LogArea area, LogLevel level, std::string_view text) noexcept {
    emit(area, level, text.substr(0, kLine));
}

void log_line(LogArea area, LogLevel level, const char* format, ...) noexcept {
    char text[kLine];
    va_list args;
    va_start(args, format);
    const int n = std::vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if (n > 0) emit(area, level, {text, std::min(static_cast<size_t>(n), sizeof text - 1)});
}

pmix_status_t start_log(std::string_view spec, const ProcId& self) {
    const size_t at = spec.find('@');
    uint32_t levels = 0;
    WIREUP_RETURN_IF_ERROR(read_items(spec.substr(0, at), levels));
    auto where = expand(at == spec.npos ? "stderr" : spec.substr(at + 1), self);
    if (!where.ok()) return where.status();
    if (where->empty()) return PMIX_ERR_BAD_PARAM;
    std::string who;
    append_name(who, self.nspace.empty() ? "-" : self.nspace);
    who.resize(std::min<size_t>(who.size(), 255));
    who += ':' + std::to_string(self.rank);
    const Sink* before = current.load(std::memory_order_relaxed);
    if (before == nullptr || before->destination != *where || before->who != who) {
        int fd = -1;
        const pmix_status_t opened =
            before != nullptr && before->destination == *where ? PMIX_SUCCESS : open_destination(*where, fd);
        if (opened != PMIX_SUCCESS) return opened;
        if (before != nullptr && before->destination == *where) fd = before->fd;
        current.store(new Sink{fd, std::move(where).value(), std::move(who), before}, std::memory_order_release);
    }
    log_detail::levels.store(levels, std::memory_order_relaxed);
    return PMIX_SUCCESS;
}

void stop_log() noexcept {
    log_detail::levels.store(0, std::memory_order_relaxed);
}

}  // namespace pmix::common

// SPDX-License-Identifier: BSD-3-Clause
#include "server/services/log_channels.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <paths.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <syslog.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "common/base/standard_streams.h"
#include "common/base/xml.h"
#include "common/values/support.h"
#include "server/base/safe_path.h"

namespace pmix::server {

using common::InfoView;

namespace {

// For streams whose reader has stopped, in one request.
constexpr int kPatienceMs = 5000;

LogChannel channel_of(std::string_view key, bool has_file) {
    if (key == PMIX_LOG_STDOUT) return LogChannel::out;
    if (key == PMIX_LOG_STDERR) return LogChannel::error;
    if (key == PMIX_LOG_SYSLOG) return LogChannel::any_syslog;
    if (key == PMIX_LOG_LOCAL_SYSLOG) return LogChannel::local_syslog;
    if (key == PMIX_LOG_GLOBAL_SYSLOG) return LogChannel::global_syslog;
    if (key == PMIX_LOG_MSG && has_file) return LogChannel::file;
    return LogChannel::unknown;
}

const char* name_of(LogChannel channel) {
    switch (channel) {
        case LogChannel::out:
            return "stdout";
        case LogChannel::error:
            return "stderr";
        case LogChannel::file:
            return "file";
        default:
            return "syslog";
    }
}

// Until it can be written to.
pmix_status_t await(int fd, transport::Deadline deadline) {
    for (;;) {
        pollfd p{fd, POLLOUT, 0};
        const int ready = ::poll(&p, 1, deadline.poll_ms());
        if (ready > 0) return PMIX_SUCCESS;
        if (ready == 0) return PMIX_ERR_TIMEOUT;
        if (errno != EINTR) return PMIX_ERR_IOF_FAILURE;
    }
}

// In parts of PIPE_BUF bytes, each only when the stream is ready: a write of that size does not block then.
pmix_status_t write_stream(int fd, std::string_view text, transport::Deadline deadline) {
    while (!text.empty()) {
        const pmix_status_t ready = await(fd, deadline);
        if (ready != PMIX_SUCCESS) return ready;
        const ssize_t n = ::write(fd, text.data(), std::min<size_t>(text.size(), PIPE_BUF));
        if (n < 0 && (errno == EINTR || errno == EAGAIN)) continue;
        if (n <= 0) return PMIX_ERR_IOF_FAILURE;
        text.remove_prefix(static_cast<size_t>(n));
    }
    return PMIX_SUCCESS;
}

// As RFC 3164 has an entry, and as syslog(3) writes it.
std::string syslog_line(int priority, const char* text) {
    static constexpr const char* kMonths[] = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                              "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
    const time_t now = ::time(nullptr);
    tm at{};
    ::localtime_r(&now, &at);
    char head[64];
    std::snprintf(head, sizeof head, "<%d>%s %2d %02d:%02d:%02d ", LOG_USER | priority, kMonths[at.tm_mon % 12],
                  at.tm_mday, at.tm_hour, at.tm_min, at.tm_sec);
    return std::string(head) + program_invocation_short_name + ": " + text;
}

// syslog(3) waits for a daemon that does not read, without an end, and reports nothing where there is none, so the
// entry goes by a socket of our own. A daemon with another kind of socket is syslog's affair.
pmix_status_t write_syslog(int priority, const char* text, transport::Deadline deadline) {
    constexpr int kType = SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC;
    const transport::Descriptor line(common::above_standard(::socket(AF_UNIX, kType, 0)));
    const sockaddr_un address{AF_UNIX, _PATH_LOG};
    if (!line) return PMIX_ERR_OUT_OF_RESOURCE;
    if (::connect(line.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
        if (errno != EPROTOTYPE) return PMIX_ERR_NOT_AVAILABLE;
        const common::StandardStreamsTaken taken;  // it opens a descriptor of its own
        ::syslog(LOG_USER | priority, "%s", text);
        return PMIX_SUCCESS;
    }
    if ((::setlogmask(0) & LOG_MASK(priority)) == 0) return PMIX_SUCCESS;
    const std::string entry = syslog_line(priority, text);
    for (;;) {
        const pmix_status_t ready = await(line.get(), deadline);
        if (ready != PMIX_SUCCESS) return ready;
        if (::send(line.get(), entry.data(), entry.size(), MSG_DONTWAIT | MSG_NOSIGNAL) >= 0) return PMIX_SUCCESS;
        // The daemon has ended meanwhile: nobody listens.
        if (errno == ECONNREFUSED || errno == ENOTCONN || errno == ECONNRESET) return PMIX_ERR_NOT_AVAILABLE;
        if (errno != EAGAIN && errno != EINTR) return PMIX_ERR_IOF_FAILURE;
    }
}

pmix_status_t write_file(const LogTask& log, std::string_view text, const LogSinks& sinks,
                         transport::Deadline deadline) {
    const size_t slash = log.file.rfind('/');
    const auto folder = open_folder_of_user(std::string_view(log.file).substr(0, slash + 1), log.user.uid);
    if (!folder) return errno == EACCES || errno == EPERM ? PMIX_ERR_NO_PERMISSIONS : PMIX_ERR_IOF_FAILURE;
    constexpr int kHow = O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC;
    const int opened = ::openat(folder.get(), log.file.c_str() + slash + 1, kHow, 0600);
    const transport::Descriptor file(common::above_standard(opened));
    if (!file) return errno == EACCES || errno == EPERM ? PMIX_ERR_NO_PERMISSIONS : PMIX_ERR_IOF_FAILURE;
    struct stat info;
    if (::fstat(file.get(), &info) != 0 || !S_ISREG(info.st_mode)) return PMIX_ERR_IOF_FAILURE;
    return sinks.stream(file.get(), text, deadline);
}

std::string time_text(time_t time) {
    tm parts{};
    char text[64] = "";
    if (::localtime_r(&time, &parts) != nullptr) ::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S%z", &parts);
    return text;
}

std::string source_text(const common::ProcId& source) {
    return source.nspace + ',' + std::to_string(source.rank);
}

// One line, or several where the text has several.
std::string formatted(const LogTask& log, const LogEntry& entry) {
    std::string line;
    const char* channel = name_of(entry.channel);
    if (log.xml) {
        line.append("<").append(channel).append(" nspace=\"");
        common::append_xml(log.source.nspace, line);
        line += "\" rank=\"" + std::to_string(log.source.rank) + '"';
        if (log.show_time) line += " timestamp=\"" + time_text(log.time) + '"';
        line += '>';
        common::append_xml(entry.text, line);
        return line.append("</").append(channel).append(">\n");
    }
    std::string tag;
    if (log.show_time) tag += time_text(log.time);
    if (log.tag) tag += '[' + source_text(log.source) + "]<" + channel + ">";
    if (!tag.empty()) tag += ": ";
    std::string_view text = entry.text;
    if (!text.empty() && text.back() == '\n') text.remove_suffix(1);
    // Each line has the tag: a line without one could be anybody's.
    for (size_t end = 0; end != std::string_view::npos; text.remove_prefix(std::min(end + 1, text.size()))) {
        end = text.find('\n');
        line.append(tag).append(text.substr(0, end)).append(1, '\n');
    }
    return line;
}

// Always contains the source, and is always one line: the text cannot forge an entry of another process.
std::string for_syslog(const LogTask& log, const LogEntry& entry) {
    std::string text;
    if (log.show_time) text += time_text(log.time) + ' ';
    text += '[' + source_text(log.source) + "] " + entry.text;
    while (!text.empty() && text.back() == '\n') text.pop_back();
    for (char& c : text)
        if (static_cast<unsigned char>(c) < ' ' || c == 0x7f) c = ' ';
    return text;
}

pmix_status_t write_one(const LogTask& log, const LogEntry& entry, const LogSinks& sinks, bool as_user,
                        transport::Deadline deadline) {
    switch (entry.channel) {
        case LogChannel::out:
            return sinks.stream(STDOUT_FILENO, formatted(log, entry), deadline);
        case LogChannel::error:
            return sinks.stream(STDERR_FILENO, formatted(log, entry), deadline);
        case LogChannel::global_syslog:
            if (!log.gateway) return PMIX_ERR_NOT_SUPPORTED;
            [[fallthrough]];
        case LogChannel::any_syslog:
        case LogChannel::local_syslog:
            return sinks.syslog(log.priority, for_syslog(log, entry).c_str(), deadline);
        case LogChannel::file:
            return as_user ? write_file(log, formatted(log, entry), sinks, deadline) : PMIX_ERR_NO_PERMISSIONS;
        case LogChannel::unknown:
            break;
    }
    return PMIX_ERR_NOT_SUPPORTED;
}

bool is_syslog(LogChannel channel) {
    return channel == LogChannel::any_syslog || channel == LogChannel::local_syslog ||
           channel == LogChannel::global_syslog;
}

bool text_of(const pmix_value_t& value, bool bytes_too, std::string& out) {
    if (value.type == PMIX_STRING && value.data.string != nullptr) {
        out = value.data.string;
        return true;
    }
    if (!bytes_too || value.type != PMIX_BYTE_OBJECT || value.data.bo.bytes == nullptr) return false;
    out.assign(value.data.bo.bytes, value.data.bo.size);
    return true;
}

}  // namespace

LogSinks system_log_sinks() noexcept {
    return {&write_stream, &write_syslog};
}

pmix_status_t read_log_task(InfoView data, InfoView directives, bool trusted, LogTask& log) {
    if (data.size() == 0) return PMIX_ERR_BAD_PARAM;
    std::string_view file;
    bool show = false;
    pmix_status_t rc = directives.get(PMIX_LOG_FILE, &file);
    if (rc == PMIX_SUCCESS) rc = directives.get(PMIX_LOG_SYSLOG_PRI, &log.priority);
    if (rc == PMIX_SUCCESS) rc = directives.get(PMIX_LOG_ONCE, &log.once);
    if (rc == PMIX_SUCCESS) rc = directives.get(PMIX_LOG_TAG_OUTPUT, &log.tag);
    if (rc == PMIX_SUCCESS) rc = directives.get(PMIX_LOG_XML_OUTPUT, &log.xml);
    if (rc == PMIX_SUCCESS) rc = directives.get(PMIX_LOG_TIMESTAMP_OUTPUT, &show);
    if (rc == PMIX_SUCCESS) rc = directives.get(PMIX_LOG_GENERATE_TIMESTAMP, &log.generate_time);
    if (rc != PMIX_SUCCESS) return rc;
    if (log.priority < LOG_EMERG || log.priority > LOG_DEBUG) return PMIX_ERR_BAD_PARAM;
    if (!file.empty() && (file[0] != '/' || file.back() == '/')) return PMIX_ERR_BAD_PARAM;
    log.file = file;
    log.time = ::time(nullptr);
    const pmix_info_t* time = directives.find(PMIX_LOG_TIMESTAMP);
    if (time != nullptr) {
        if (time->value.type != PMIX_TIME) return PMIX_ERR_BAD_PARAM;
        log.time = time->value.data.time;
    }
    log.show_time = show || log.generate_time || time != nullptr;
    const pmix_proc_t* source = nullptr;
    rc = directives.get(PMIX_LOG_SOURCE, &source);
    if (rc != PMIX_SUCCESS) return rc;
    // Only the server's own process may name another source, because it forwards requests of others.
    if (trusted && source != nullptr) log.source = common::ProcId(*source);
    for (const pmix_info_t& info : data) {
        LogEntry entry;
        entry.channel = channel_of(common::key_view(info), !log.file.empty());
        if (entry.channel != LogChannel::unknown && !text_of(info.value, entry.channel == LogChannel::file, entry.text))
            return PMIX_ERR_BAD_PARAM;
        log.entries.push_back(std::move(entry));
    }
    return PMIX_SUCCESS;
}

pmix_status_t check_log_directives(InfoView directives) noexcept {
    return common::check_required(directives, common::Function::PMIx_Log,
                                  common::level::server | common::level::client);
}

pmix_status_t write_log(const LogTask& log, const LogSinks& sinks, LogStreams& streams, bool as_user) {
    size_t written = 0;
    pmix_status_t trouble = PMIX_SUCCESS;
    const auto patience = transport::Deadline::in_ms(kPatienceMs);
    for (const LogEntry& entry : log.entries) {
        const bool stream = entry.channel == LogChannel::out || entry.channel == LogChannel::error;
        std::atomic<bool>& stuck = stream ? streams.stuck : streams.syslog_stuck;
        const bool reads = stream || is_syslog(entry.channel);  // somebody must read what is written
        // A reader that does not read must not delay all later requests.
        const auto deadline = reads && stuck ? transport::Deadline::in_ms(0) : patience;
        const pmix_status_t rc =
            streams.stopping ? PMIX_ERR_LOST_CONNECTION : write_one(log, entry, sinks, as_user, deadline);
        if (rc == PMIX_SUCCESS) ++written;
        if (reads && (rc == PMIX_SUCCESS || rc == PMIX_ERR_TIMEOUT)) stuck = rc == PMIX_ERR_TIMEOUT;
        if (rc == PMIX_SUCCESS && log.once) return PMIX_SUCCESS;
        if (rc != PMIX_SUCCESS && (trouble == PMIX_SUCCESS || trouble == PMIX_ERR_NOT_SUPPORTED)) trouble = rc;
    }
    if (trouble == PMIX_SUCCESS) return PMIX_SUCCESS;
    return written > 0 ? PMIX_ERR_PARTIAL_SUCCESS : trouble;
}

}  // namespace pmix::server

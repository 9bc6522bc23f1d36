// SPDX-License-Identifier: BSD-3-Clause
#include "server/services/log_channels.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <sys/stat.h>
#include <syslog.h>
#include <unistd.h>

#include <algorithm>

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

// In parts of PIPE_BUF bytes, each only when the stream is ready: a write of that size does not block then.
pmix_status_t write_stream(int fd, std::string_view text, transport::Deadline deadline) {
    while (!text.empty()) {
        pollfd p{fd, POLLOUT, 0};
        const int ready = ::poll(&p, 1, deadline.poll_ms());
        if (ready < 0 && errno == EINTR) continue;
        if (ready == 0) return PMIX_ERR_TIMEOUT;
        const ssize_t n = ready < 0 ? -1 : ::write(fd, text.data(), std::min<size_t>(text.size(), PIPE_BUF));
        if (n < 0 && (errno == EINTR || errno == EAGAIN)) continue;
        if (n <= 0) return PMIX_ERR_IOF_FAILURE;
        text.remove_prefix(static_cast<size_t>(n));
    }
    return PMIX_SUCCESS;
}

void write_syslog(int priority, const char* text) {
    ::syslog(LOG_USER | priority, "%s", text);
}

pmix_status_t write_file(const LogTask& log, std::string_view text, const LogSinks& sinks,
                         transport::Deadline deadline) {
    const size_t slash = log.file.rfind('/');
    const auto folder = open_folder_of_user(std::string_view(log.file).substr(0, slash + 1), log.user.uid);
    if (!folder) return errno == EACCES || errno == EPERM ? PMIX_ERR_NO_PERMISSIONS : PMIX_ERR_IOF_FAILURE;
    constexpr int kHow = O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC;
    const transport::Descriptor file(::openat(folder.get(), log.file.c_str() + slash + 1, kHow, 0600));
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
    if (log.show_time) line += time_text(log.time);
    if (log.tag) line += '[' + source_text(log.source) + "]<" + channel + ">";
    if (!line.empty()) line += ": ";
    line += entry.text;
    if (line.empty() || line.back() != '\n') line += '\n';
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
            sinks.syslog(log.priority, for_syslog(log, entry).c_str());
            return PMIX_SUCCESS;
        case LogChannel::file:
            return as_user ? write_file(log, formatted(log, entry), sinks, deadline) : PMIX_ERR_NO_PERMISSIONS;
        case LogChannel::unknown:
            break;
    }
    return PMIX_ERR_NOT_SUPPORTED;
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
    // A reader that does not read must not delay all later requests.
    auto deadline = transport::Deadline::in_ms(streams.stuck ? 0 : kPatienceMs);
    for (const LogEntry& entry : log.entries) {
        const pmix_status_t rc =
            streams.stopping ? PMIX_ERR_LOST_CONNECTION : write_one(log, entry, sinks, as_user, deadline);
        const bool stream = entry.channel == LogChannel::out || entry.channel == LogChannel::error;
        if (rc == PMIX_ERR_TIMEOUT) {
            streams.stuck = true;
            deadline = transport::Deadline::in_ms(0);
        } else if (rc == PMIX_SUCCESS) {
            if (stream) streams.stuck = false;
            ++written;
            if (log.once) return PMIX_SUCCESS;
        }
        if (rc != PMIX_SUCCESS && (trouble == PMIX_SUCCESS || trouble == PMIX_ERR_NOT_SUPPORTED)) trouble = rc;
    }
    if (trouble == PMIX_SUCCESS) return PMIX_SUCCESS;
    return written > 0 ? PMIX_ERR_PARTIAL_SUCCESS : trouble;
}

}  // namespace pmix::server

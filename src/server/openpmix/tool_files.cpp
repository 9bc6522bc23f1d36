// SPDX-License-Identifier: BSD-3-Clause
#include "server/openpmix/tool_files.h"

#include <arpa/inet.h>
#include <errno.h>
#include <signal.h>
#include <unistd.h>

#include <charconv>
#include <ctime>
#include <string_view>

#include "common/base/log.h"
#include "transport/tcp/tcp_socket.h"

namespace pmix::server {

namespace {

// Below 7.0.0, whose peers expect messages of their server that this one does not send.
constexpr std::string_view kClaimedVersion = "v5.0.11";
constexpr std::string_view kScheme = ";tcp4://127.0.0.1:";
constexpr int kPatienceMs = 200;  // at an address of this node

template <class T>
bool parse(std::string_view text, T* out) {
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *out);
    return error == std::errc() && end == text.data() + text.size() && !text.empty();
}

std::string_view take_line(std::string_view& text) {
    const size_t end = text.find('\n');
    if (end == text.npos) return {};
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(end + 1);
    return line;
}

// True if the server that a file describes does not exist any more. The lock is the caller's to try.
bool is_of_the_dead(std::string_view text) {
    const std::string_view uri = take_line(text);
    take_line(text);  // the version
    pid_t pid = 0;
    uint16_t port = 0;
    const size_t address = uri.rfind(kScheme);
    if (address == uri.npos || !parse(uri.substr(address + kScheme.size()), &port)) return false;
    if (!parse(take_line(text), &pid) || pid <= 0) return false;
    if (::kill(pid, 0) == 0 || errno != ESRCH) return false;
    sockaddr_in at{};
    at.sin_family = AF_INET;
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    at.sin_port = htons(port);
    const auto socket = transport::connect_tcp(at, transport::Deadline::in_ms(kPatienceMs));
    return !socket.ok() && socket.status() == PMIX_ERR_UNREACH;
}

std::string now() {
    const time_t seconds = ::time(nullptr);
    tm parts{};
    char text[64] = {};
    if (::localtime_r(&seconds, &parts) == nullptr) return {};
    return std::strftime(text, sizeof text, "%a %b %d %H:%M:%S %Y", &parts) == 0 ? std::string() : std::string(text);
}

}  // namespace

void OpenPmixToolFiles::make(const ToolFileOptions& options) {
    const std::string pid = std::to_string(::getpid());
    const std::string text = options.uri + '\n' + std::string(kClaimedVersion) + '\n' + pid + '\n' +
                             std::to_string(::geteuid()) + ':' + std::to_string(::getegid()) + '\n' + now() + '\n';
    const std::string of_tools = "pmix." + options.node + ".tool";
    if (options.tools && !options.tmpdir.empty()) {
        transport::RendezvousFile::remove_stale(options.tmpdir, of_tools, is_of_the_dead);
        if (options.session) make_one(options.tmpdir, of_tools, text, false);
        make_one(options.tmpdir, of_tools + '.' + pid, text, false);
        make_one(options.tmpdir, of_tools + '.' + options.server, text, false);
    }
    if (options.system && !options.system_tmpdir.empty())
        make_one(options.system_tmpdir, "pmix.sys." + options.node, text, true);
    if (options.scheduler && !options.system_tmpdir.empty())
        make_one(options.system_tmpdir, "pmix.sched." + options.node, text, true);
}

// for_all: the host decides which users' tools it takes, so all may read where it is.
void OpenPmixToolFiles::make_one(const std::string& folder, const std::string& name, const std::string& text,
                                 bool for_all) {
    pmix_status_t rc = PMIX_ERR_BAD_PARAM;
    if (name.find('/') == name.npos) {
        auto file =
            transport::RendezvousFile::create_text(folder + '/' + name, text, for_all ? 0644 : 0600, is_of_the_dead);
        rc = file.status();
        if (file.ok()) files_.push_back(std::move(file).value());
    }
    if (rc != PMIX_SUCCESS)
        WIREUP_LOG(server, warn, "OpenPMIx's tools do not find this server by %s/%s: %s", folder.c_str(), name.c_str(),
                   common::log_status(rc));
}

}  // namespace pmix::server

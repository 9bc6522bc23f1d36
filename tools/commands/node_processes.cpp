// SPDX-License-Identifier: BSD-3-Clause
#include "node_processes.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace commands {
namespace {

constexpr char kPrefix[] = "@wireup/";

// "@wireup/UID/PID/NONCE", all of it.
bool parse_address(const std::string& address, uid_t& uid, pid_t& pid) {
    unsigned user = 0;
    int process = 0, read = 0;
    if (std::sscanf(address.c_str(), "@wireup/%u/%d/%n", &user, &process, &read) != 2 || read == 0) return false;
    uid = user;
    pid = process;
    return pid > 0 && address.size() > static_cast<size_t>(read) && address.size() < sizeof(sockaddr_un::sun_path);
}

bool may_see(uid_t uid) {
    return ::geteuid() == 0 || uid == ::geteuid() || uid == 0;
}

std::string file_of(pid_t pid, const char* name) {
    std::ifstream file("/proc/" + std::to_string(pid) + "/" + name);
    std::ostringstream text;
    text << file.rdbuf();
    return text.str();
}

bool belongs_to(pid_t pid, uid_t uid) {
    const std::string status = file_of(pid, "status");
    const size_t at = status.find("\nUid:");
    unsigned real = 0, effective = 0;
    return at != status.npos && std::sscanf(status.c_str() + at, "\nUid: %u %u", &real, &effective) == 2 &&
           effective == uid;
}

// Of the text of a file stat: the letter of the state, or 0.
char state_in(const std::string& stat) {
    const size_t name_end = stat.rfind(')');
    return name_end == stat.npos || name_end + 2 >= stat.size() ? '\0' : stat[name_end + 2];
}

}  // namespace

std::vector<std::string> server_addresses() {
    std::vector<std::string> all;
    std::ifstream list("/proc/net/unix");
    for (std::string line; std::getline(list, line);) {
        unsigned flags = 0;
        const size_t at = line.find(kPrefix);
        uid_t uid = 0;
        pid_t pid = 0;
        // Connections have the name of their listener, without the flag that marks one (__SO_ACCEPTCON).
        if (at == line.npos || std::sscanf(line.c_str(), "%*s %*s %*s %x", &flags) != 1 || (flags & 0x10000) == 0)
            continue;
        if (parse_address(line.substr(at), uid, pid) && may_see(uid)) all.push_back(line.substr(at));
    }
    return all;
}

namespace {

// -1: nobody listens, or its backlog is full (EAGAIN).
int connect_to(const std::string& address) {
    const int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0) return -1;
    sockaddr_un name{};
    name.sun_family = AF_UNIX;
    std::memcpy(name.sun_path + 1, address.data() + 1, address.size() - 1);
    const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + address.size());
    if (::connect(fd, reinterpret_cast<const sockaddr*>(&name), size) == 0) return fd;
    const int error = errno;
    ::close(fd);
    errno = error;
    return -1;
}

}  // namespace

bool find_owner(const std::string& address, NodeServer& out) {
    uid_t uid = 0;
    pid_t pid = 0;
    if (!parse_address(address, uid, pid)) return false;
    const int fd = connect_to(address);
    const bool full = fd < 0 && errno == EAGAIN;
    ucred owner{};
    socklen_t length = sizeof owner;
    const bool known = fd >= 0 && ::getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &owner, &length) == 0;
    if (fd >= 0) ::close(fd);
    out.address = address;
    out.uid = uid;
    out.pid = known ? owner.pid : pid;
    return known ? owner.uid == uid : full && belongs_to(pid, uid);
}

bool hangs_up(const std::string& address, int patience_ms) {
    const int fd = connect_to(address);
    if (fd < 0) return false;
    ::shutdown(fd, SHUT_WR);
    pollfd end{fd, POLLIN, 0};
    const bool over = ::poll(&end, 1, patience_ms) == 1;
    ::close(fd);
    return over;
}

std::string process_condition(pid_t pid) {
    const char state = state_in(file_of(pid, "stat"));
    switch (state) {
        case '\0':
            return "";
        case 'R':
            return "running";
        case 'S':
        case 'I':
            return "sleeping";
        case 'D':
            return "in the kernel";
        case 'T':
            return "stopped";
        case 't':
            return "traced";
        case 'Z':
        case 'X':
            return "ended";
        default:
            return std::string(1, state);
    }
}

bool any_thread_runs(pid_t pid) {
    std::error_code error;
    for (const auto& entry : std::filesystem::directory_iterator("/proc/" + std::to_string(pid) + "/task", error))
        if (state_in(file_of(pid, ("task/" + entry.path().filename().string() + "/stat").c_str())) == 'R') return true;
    return false;
}

std::string process_name(pid_t pid) {
    std::string name = file_of(pid, "comm");
    while (!name.empty() && name.back() == '\n') name.pop_back();
    return name;
}

std::string process_wait_channel(pid_t pid) {
    const std::string name = file_of(pid, "wchan");
    return name == "0" ? "" : name;
}

std::string process_kernel_stack(pid_t pid) {
    constexpr size_t kMost = 8192;
    return file_of(pid, "stack").substr(0, kMost);
}

namespace {

// 0: there is no such process.
pid_t parent_of(pid_t pid) {
    const std::string stat = file_of(pid, "stat");
    const size_t name_end = stat.rfind(')');
    int parent = 0;
    if (name_end == stat.npos || std::sscanf(stat.c_str() + name_end, ") %*c %d", &parent) != 1) return 0;
    return parent;
}

}  // namespace

bool descends_from(pid_t pid, pid_t ancestor) {
    constexpr int kMostGenerations = 256;
    for (int i = 0; i < kMostGenerations && pid > 0; ++i, pid = parent_of(pid))
        if (pid == ancestor) return true;
    return false;
}

Started started_processes() {
    std::map<pid_t, std::pair<std::string, uint32_t>> all;
    std::map<pid_t, pid_t> parents;
    std::error_code error;
    for (const auto& entry : std::filesystem::directory_iterator("/proc", error)) {
        const pid_t pid = std::atoi(entry.path().filename().c_str());
        if (pid <= 0) continue;
        const std::string environment = '\0' + file_of(pid, "environ");
        const auto variable = [&](const char* name) -> std::string {
            const size_t at = environment.find(std::string(1, '\0') + name + "=");
            return at == environment.npos ? "" : environment.c_str() + at + std::strlen(name) + 2;
        };
        const std::string nspace = variable("PMIX_NAMESPACE"), rank = variable("PMIX_RANK");
        if (nspace.empty() || rank.empty()) continue;
        const pid_t parent = parent_of(pid);
        if (parent == 0) continue;
        all[pid] = {nspace, static_cast<uint32_t>(std::strtoul(rank.c_str(), nullptr, 10))};
        parents[pid] = parent;
    }
    Started first;
    for (const auto& [pid, process] : all) {
        const auto parent = all.find(parents[pid]);
        if (parent == all.end() || parent->second != process) first.emplace(process, pid);
    }
    return first;
}

}  // namespace commands

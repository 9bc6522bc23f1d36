// SPDX-License-Identifier: BSD-3-Clause
#include "transport/tcp/tcp_user.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <compare>
#include <cstring>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "common/base/standard_streams.h"
#include "transport/descriptor.h"

namespace pmix::transport {

using common::Result;

namespace {

// TCP_ESTABLISHED and TCP_LISTEN, in both of the kernel's answers.
constexpr uint8_t kEstablished = 1;
constexpr uint8_t kListens = 10;
constexpr time_t kMostSeconds = 2;
// A table of a million sockets.
constexpr size_t kMostTable = size_t{160} << 20;

bool read_address(int (*ask)(int, sockaddr*, socklen_t*), int fd, sockaddr_in* out) {
    socklen_t length = sizeof *out;
    return ask(fd, reinterpret_cast<sockaddr*>(out), &length) == 0 && length == sizeof *out &&
           out->sin_family == AF_INET;
}

bool is_established(int fd) {
    tcp_info info{};
    socklen_t length = sizeof info;
    return ::getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &length) == 0 && info.tcpi_state == kEstablished;
}

// How the kernel describes one socket.
struct TcpSocket {
    uint8_t state = 0;
    uint64_t inode = 0;  // 0: of no process
    uid_t uid = 0;

    // It is whole, and its process has not accepted it.
    bool is_queued() const noexcept { return state == kEstablished && inode == 0; }
};

Result<uid_t> user_of(const Result<TcpSocket>& found, uint8_t state) {
    if (!found.ok()) return found.status();
    const TcpSocket& socket = found.value();
    if (socket.state != state || socket.inode == 0) return PMIX_ERR_INVALID_CRED;
    return socket.uid;
}

// While the connection is queued, its listener is there, and nobody else can listen at that address: the kernel lets
// only sockets of one user share it.
template <class LookUp>
Result<uid_t> listener_of(const TcpEnds& ends, LookUp look_up) {
    const auto queued = [&]() -> pmix_status_t {
        const Result<TcpSocket> found = look_up(ends);
        if (!found.ok()) return found.status();
        return found.value().is_queued() ? PMIX_SUCCESS : PMIX_ERR_INVALID_CRED;
    };
    WIREUP_RETURN_IF_ERROR(queued());
    TcpEnds at;
    at.local = ends.local;
    const Result<uid_t> user = user_of(look_up(at), kListens);
    WIREUP_RETURN_IF_ERROR(queued());
    return user;
}

Result<std::string> read_tcp_table() {
    const Descriptor file(::open("/proc/net/tcp", O_RDONLY | O_CLOEXEC));
    if (!file) return PMIX_ERR_NOT_SUPPORTED;
    std::string table;
    size_t used = 0;
    for (;;) {
        table.resize(used + (64u << 10));
        const ssize_t n = ::read(file.get(), table.data() + used, table.size() - used);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return PMIX_ERR_NOT_SUPPORTED;
        used += static_cast<size_t>(n);
        if (n == 0) break;
        if (used > kMostTable) return PMIX_ERR_NOT_SUPPORTED;
    }
    table.resize(used);
    return table;
}

// The n-th word of a line, from 0; empty if there are fewer.
std::string_view word(std::string_view line, size_t n) {
    for (;;) {
        const size_t begin = line.find_first_not_of(' ');
        if (begin == line.npos) return {};
        const size_t end = std::min(line.find(' ', begin), line.size());
        if (n-- == 0) return line.substr(begin, end - begin);
        line.remove_prefix(end);
    }
}

template <class T>
bool parse(std::string_view text, int base, T* out) {
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *out, base);
    return error == std::errc() && end == text.data() + text.size() && !text.empty();
}

struct TableAddress {
    uint32_t host = 0;  // as in sockaddr_in
    uint16_t port = 0;  // of this host's byte order
    auto operator<=>(const TableAddress&) const = default;
};

TableAddress table_address(const sockaddr_in& address) noexcept {
    return {address.sin_addr.s_addr, ntohs(address.sin_port)};
}

// "0100007F:1F90": the address as a number of this host's byte order, the port.
bool read_table_address(std::string_view text, TableAddress* out) {
    const size_t colon = text.find(':');
    return colon != text.npos && parse(text.substr(0, colon), 16, &out->host) &&
           parse(text.substr(colon + 1), 16, &out->port);
}

// sl local remote state queues timer retransmissions uid timeout inode
bool read_table_ends(std::string_view line, TableAddress* local, TableAddress* remote) {
    return read_table_address(word(line, 1), local) && read_table_address(word(line, 2), remote);
}

bool read_table_socket(std::string_view line, TcpSocket* out) {
    return parse(word(line, 3), 16, &out->state) && parse(word(line, 7), 10, &out->uid) &&
           parse(word(line, 9), 10, &out->inode);
}

// f(line) until it returns true.
template <class F>
void for_lines(std::string_view table, F&& f) {
    while (!table.empty()) {
        const size_t end = std::min(table.find('\n'), table.size());
        if (f(table.substr(0, end))) return;
        table.remove_prefix(std::min(end + 1, table.size()));
    }
}

bool is_listener(const TcpEnds& ends) noexcept {
    return ends.remote.sin_port == 0;
}

// The socket with these ends; where the remote one is empty, the one that listens.
Result<TcpSocket> look_up_by_sock_diag(const TcpEnds& ends) {
    const Descriptor netlink(
        common::above_standard(::socket(AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC, NETLINK_SOCK_DIAG)));
    if (!netlink) return PMIX_ERR_NOT_SUPPORTED;
    const timeval most{kMostSeconds, 0};
    (void)::setsockopt(netlink.get(), SOL_SOCKET, SO_RCVTIMEO, &most, sizeof most);

    struct {
        nlmsghdr header;
        inet_diag_req_v2 body;
    } request{};
    request.header.nlmsg_len = sizeof request;
    request.header.nlmsg_type = SOCK_DIAG_BY_FAMILY;
    request.header.nlmsg_flags = NLM_F_REQUEST;
    request.body.sdiag_family = AF_INET;
    request.body.sdiag_protocol = IPPROTO_TCP;
    request.body.idiag_states = ~0u;
    request.body.id.idiag_sport = ends.local.sin_port;
    request.body.id.idiag_dport = ends.remote.sin_port;
    request.body.id.idiag_src[0] = ends.local.sin_addr.s_addr;
    request.body.id.idiag_dst[0] = ends.remote.sin_addr.s_addr;
    request.body.id.idiag_cookie[0] = INET_DIAG_NOCOOKIE;
    request.body.id.idiag_cookie[1] = INET_DIAG_NOCOOKIE;
    sockaddr_nl kernel{};
    kernel.nl_family = AF_NETLINK;
    ssize_t n;
    do {
        n = ::sendto(netlink.get(), &request, sizeof request, 0, reinterpret_cast<sockaddr*>(&kernel), sizeof kernel);
    } while (n < 0 && errno == EINTR);
    if (n < 0) return PMIX_ERR_NOT_SUPPORTED;

    alignas(nlmsghdr) uint8_t answer[4096];
    do {
        n = ::recv(netlink.get(), answer, sizeof answer, 0);
    } while (n < 0 && errno == EINTR);
    nlmsghdr header;
    if (n < static_cast<ssize_t>(sizeof header)) return PMIX_ERR_NOT_SUPPORTED;
    std::memcpy(&header, answer, sizeof header);
    if (header.nlmsg_len > static_cast<size_t>(n)) return PMIX_ERR_NOT_SUPPORTED;
    if (header.nlmsg_type == NLMSG_ERROR) {
        nlmsgerr error;
        if (header.nlmsg_len < NLMSG_LENGTH(sizeof error)) return PMIX_ERR_NOT_SUPPORTED;
        std::memcpy(&error, answer + NLMSG_HDRLEN, sizeof error);
        return error.error == -ENOENT ? PMIX_ERR_INVALID_CRED : PMIX_ERR_NOT_SUPPORTED;
    }
    inet_diag_msg found;
    if (header.nlmsg_type != SOCK_DIAG_BY_FAMILY || header.nlmsg_len < NLMSG_LENGTH(sizeof found)) {
        return PMIX_ERR_NOT_SUPPORTED;
    }
    std::memcpy(&found, answer + NLMSG_HDRLEN, sizeof found);
    // A listening socket answers for ends that have no connection.
    if (found.id.idiag_sport != ends.local.sin_port || found.id.idiag_dport != ends.remote.sin_port) {
        return PMIX_ERR_INVALID_CRED;
    }
    return TcpSocket{found.idiag_state, found.idiag_inode, found.idiag_uid};
}

Result<TcpSocket> look_up_in_tcp_table(std::string_view table, const TcpEnds& ends) {
    const TableAddress wanted = table_address(ends.local), wanted_remote = table_address(ends.remote);
    Result<TcpSocket> found = PMIX_ERR_INVALID_CRED;
    for_lines(table, [&](std::string_view line) {
        TableAddress local, remote;
        if (!read_table_ends(line, &local, &remote) || remote != wanted_remote) return false;
        if (is_listener(ends) && local.host == 0) local.host = wanted.host;
        if (local != wanted) return false;
        TcpSocket socket;
        found = read_table_socket(line, &socket) ? Result<TcpSocket>(socket) : PMIX_ERR_NOT_SUPPORTED;
        return true;
    });
    return found;
}

bool read_ends(int fd, TcpEnds& ends) {
    return read_address(::getpeername, fd, &ends.local) && read_address(::getsockname, fd, &ends.remote);
}

using Ask = Result<uid_t> (*)(const TcpEnds&);
using Find = Result<uid_t> (*)(std::string_view, const TcpEnds&);

Result<uid_t> user_at_other_end(int fd, Ask ask, Find find) {
    TcpEnds ends;
    if (!read_ends(fd, ends)) return PMIX_ERR_INVALID_CRED;
    Result<uid_t> user = ask(ends);
    if (!user.ok() && user.status() == PMIX_ERR_NOT_SUPPORTED) {
        const Result<std::string> table = read_tcp_table();
        if (!table.ok()) return table.status();
        user = find(table.value(), ends);
    }
    // Had the other end been closed before, its port could be a new socket's.
    if (user.ok() && !is_established(fd)) return PMIX_ERR_INVALID_CRED;
    return user;
}

}  // namespace

Result<uid_t> ask_sock_diag(const TcpEnds& ends) {
    return user_of(look_up_by_sock_diag(ends), kEstablished);
}

Result<uid_t> find_in_tcp_table(std::string_view table, const TcpEnds& ends) {
    return user_of(look_up_in_tcp_table(table, ends), kEstablished);
}

std::vector<Result<uid_t>> find_all_in_tcp_table(std::string_view table, std::span<const TcpEnds> all) {
    std::vector<Result<uid_t>> users(all.size(), PMIX_ERR_INVALID_CRED);
    std::map<std::pair<TableAddress, TableAddress>, size_t> wanted;
    for (size_t i = 0; i < all.size(); ++i)
        wanted.emplace(std::pair(table_address(all[i].local), table_address(all[i].remote)), i);
    for_lines(table, [&](std::string_view line) {
        TableAddress local, remote;
        if (!read_table_ends(line, &local, &remote)) return false;
        const auto at = wanted.find({local, remote});
        if (at == wanted.end()) return false;
        TcpSocket socket;
        const bool whole = read_table_socket(line, &socket);
        users[at->second] = user_of(whole ? Result<TcpSocket>(socket) : PMIX_ERR_NOT_SUPPORTED, kEstablished);
        wanted.erase(at);  // the first line counts
        return wanted.empty();
    });
    return users;
}

Result<uid_t> ask_sock_diag_for_listener(const TcpEnds& ends) {
    return listener_of(ends, look_up_by_sock_diag);
}

Result<uid_t> find_listener_in_tcp_table(std::string_view table, const TcpEnds& ends) {
    return listener_of(ends, [table](const TcpEnds& of) { return look_up_in_tcp_table(table, of); });
}

Result<uid_t> tcp_user(int fd) {
    return user_at_other_end(fd, ask_sock_diag, find_in_tcp_table);
}

std::vector<Result<uid_t>> tcp_users(std::span<const int> fds) {
    std::vector<Result<uid_t>> users;
    std::vector<TcpEnds> by_table;
    std::vector<size_t> places;
    users.reserve(fds.size());
    for (const int fd : fds) {
        TcpEnds ends;
        users.push_back(read_ends(fd, ends) ? ask_sock_diag(ends) : PMIX_ERR_INVALID_CRED);
        if (users.back().ok() || users.back().status() != PMIX_ERR_NOT_SUPPORTED) continue;
        by_table.push_back(ends);
        places.push_back(users.size() - 1);
    }
    if (!by_table.empty()) {
        const Result<std::string> table = read_tcp_table();
        const auto found = table.ok() ? find_all_in_tcp_table(table.value(), by_table)
                                      : std::vector<Result<uid_t>>(by_table.size(), table.status());
        for (size_t i = 0; i < places.size(); ++i) users[places[i]] = found[i];
    }
    // As in user_at_other_end().
    for (size_t i = 0; i < fds.size(); ++i)
        if (users[i].ok() && !is_established(fds[i])) users[i] = PMIX_ERR_INVALID_CRED;
    return users;
}

Result<TcpServerUser> await_tcp_user(int fd, Deadline deadline, const Io& io) {
    constexpr int kMostMs = 50;
    for (int ms = 1;; ms = std::min(2 * ms, kMostMs)) {
        for (const bool has_accepted : {true, false}) {
            const Result<uid_t> user =
                has_accepted ? tcp_user(fd)
                             : user_at_other_end(fd, ask_sock_diag_for_listener, find_listener_in_tcp_table);
            if (user.ok()) return TcpServerUser{user.value(), has_accepted};
            if (user.status() != PMIX_ERR_INVALID_CRED) return user.status();
        }
        if (!is_established(fd)) return PMIX_ERR_UNREACH;
        if (deadline.passed()) return PMIX_ERR_TIMEOUT;
        // It is woken where the other end is closed before.
        pollfd p{fd, POLLRDHUP, 0};
        if (io.poll(&p, 1, sooner(deadline, Deadline::in_ms(ms)).poll_ms()) > 0) return PMIX_ERR_UNREACH;
    }
}

pmix_status_t try_tcp_user(const Io& io) {
    const Descriptor socket(io.socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    if (!socket) return PMIX_ERR_OUT_OF_RESOURCE;
    sockaddr_in at{};
    at.sin_family = AF_INET;
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (io.bind(socket.get(), reinterpret_cast<const sockaddr*>(&at), sizeof at) != 0) return PMIX_ERR_NOT_SUPPORTED;
    if (!read_address(::getsockname, socket.get(), &at)) return PMIX_ERR_NOT_SUPPORTED;
    // TCP's simultaneous open: a socket that connects to its own address is both ends at once, and nobody else can
    // be one of them.
    if (io.connect(socket.get(), reinterpret_cast<const sockaddr*>(&at), sizeof at) != 0) return PMIX_ERR_NOT_SUPPORTED;
    Result<uid_t> uid = tcp_user(socket.get());
    if (!uid.ok()) return uid.status();
    return *uid == ::geteuid() ? PMIX_SUCCESS : PMIX_ERR_NOT_SUPPORTED;
}

}  // namespace pmix::transport

// SPDX-License-Identifier: BSD-3-Clause
// The user at the other end of a local TCP connection, by the kernel.
#include "transport/tcp/tcp_user.h"

#include <arpa/inet.h>
#include <errno.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <fstream>
#include <sstream>
#include <string>

#include "support/other_users.h"
#include "support/status.h"
#include "transport/descriptor.h"

namespace pmix::transport::tcp_user_test {
namespace {

sockaddr_in loopback(uint16_t port = 0) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port = htons(port);
    return address;
}

// A listening socket, and what connects to it.
struct Pair {
    Descriptor listener;
    sockaddr_in address = loopback();
    Descriptor client;
    Descriptor server;

    explicit Pair(in_addr_t at = INADDR_LOOPBACK) : listener(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
        socklen_t length = sizeof address;
        address.sin_addr.s_addr = htonl(at);
        EXPECT_EQ(::bind(listener.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
        EXPECT_EQ(::listen(listener.get(), 8), 0);
        EXPECT_EQ(::getsockname(listener.get(), reinterpret_cast<sockaddr*>(&address), &length), 0);
    }
    void knock() {
        client = Descriptor(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
        const sockaddr_in here = loopback(ntohs(address.sin_port));
        ASSERT_EQ(::connect(client.get(), reinterpret_cast<const sockaddr*>(&here), sizeof here), 0);
    }
    void connect() {
        knock();
        accept();
    }
    void accept() {
        pollfd waiting{listener.get(), POLLIN, 0};
        ASSERT_EQ(::poll(&waiting, 1, 60000), 1);
        server = Descriptor(::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
        ASSERT_TRUE(server);
    }
    TcpEnds ends() const { return ends_of(server); }
    // Of the socket at the other end of this one.
    static TcpEnds ends_of(const Descriptor& end) {
        TcpEnds ends;
        socklen_t length = sizeof ends.local;
        EXPECT_EQ(::getpeername(end.get(), reinterpret_cast<sockaddr*>(&ends.local), &length), 0);
        length = sizeof ends.remote;
        EXPECT_EQ(::getsockname(end.get(), reinterpret_cast<sockaddr*>(&ends.remote), &length), 0);
        return ends;
    }
};

std::string tcp_table() {
    std::ifstream file("/proc/net/tcp");
    std::stringstream text;
    text << file.rdbuf();
    return text.str();
}

TEST(TcpUserTest, BothEnds_OfAConnection_AreOurs) {
    Pair pair;
    pair.connect();
    for (const Descriptor* end : {&pair.client, &pair.server}) {
        const auto user = tcp_user(end->get());
        ASSERT_TRUE(user.ok()) << user.status();
        EXPECT_EQ(user.value(), ::geteuid());
    }
}

TEST(TcpUserTest, TableOfTheKernel_HasTheSameUser) {
    Pair pair;
    pair.connect();
    const std::string table = tcp_table();
    if (table.empty()) GTEST_SKIP() << "no /proc/net/tcp";
    const auto user = find_in_tcp_table(table, pair.ends());
    ASSERT_TRUE(user.ok()) << user.status();
    EXPECT_EQ(user.value(), ::geteuid());
}

TEST(TcpUserTest, OtherEnd_Closed_HasNoUser) {
    Pair pair;
    pair.connect();
    const TcpEnds ends = pair.ends();
    pair.client.reset();
    pollfd readable{pair.server.get(), POLLIN | POLLRDHUP, 0};
    ASSERT_EQ(::poll(&readable, 1, 60000), 1);
    EXPECT_STATUS(PMIX_ERR_INVALID_CRED, tcp_user(pair.server.get()).status());
    EXPECT_STATUS(PMIX_ERR_INVALID_CRED, find_in_tcp_table(tcp_table(), ends).status());
}

// The port of a socket that has gone, at a server that still has its end.
TEST(TcpUserTest, Ends_OfNoSocket_HaveNoUser) {
    Pair pair;
    pair.connect();
    TcpEnds ends = pair.ends();
    ends.remote.sin_port = htons(1);
    EXPECT_STATUS(PMIX_ERR_INVALID_CRED, ask_sock_diag(ends).status());
    // A listening socket is no end of a connection.
    ends.local = pair.address;
    EXPECT_STATUS(PMIX_ERR_INVALID_CRED, ask_sock_diag(ends).status());
}

TEST(TcpUserTest, NotATcpSocket_HasNoUser) {
    int pair[2];
    ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
    const Descriptor one(pair[0]);
    const Descriptor other(pair[1]);
    EXPECT_STATUS(PMIX_ERR_INVALID_CRED, tcp_user(one.get()).status());
    EXPECT_STATUS(PMIX_ERR_INVALID_CRED, tcp_user(-1).status());
    const Pair unconnected;
    EXPECT_STATUS(PMIX_ERR_INVALID_CRED, tcp_user(unconnected.listener.get()).status());
}

TEST(TcpUserTest, ProcessOfAnotherUser_IsThatUser) {
    if (!can_be_other_users()) GTEST_SKIP() << "needs root, to become another user";
    Pair pair;
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
        if (::setgid(4711) != 0 || ::setuid(4711) != 0) ::_exit(1);
        const int fd = ::socket(AF_INET, SOCK_STREAM, 0);
        if (::connect(fd, reinterpret_cast<sockaddr*>(&pair.address), sizeof pair.address) != 0) ::_exit(2);
        char byte;
        ::_exit(::read(fd, &byte, 1) == 0 ? 0 : 3);  // until the server closes
    }
    pair.accept();
    ASSERT_TRUE(pair.server);
    const auto user = tcp_user(pair.server.get());
    const auto by_table = find_in_tcp_table(tcp_table(), pair.ends());
    pair.server.reset();
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
    ASSERT_TRUE(user.ok()) << user.status();
    EXPECT_EQ(user.value(), 4711u);
    ASSERT_TRUE(by_table.ok()) << by_table.status();
    EXPECT_EQ(by_table.value(), 4711u);
}

TEST(TcpUserTest, NotAcceptedYet_IsTheListeners) {
    for (const in_addr_t at : {INADDR_LOOPBACK, INADDR_ANY}) {
        Pair pair(at);
        pair.knock();
        EXPECT_STATUS(PMIX_ERR_INVALID_CRED, tcp_user(pair.client.get()).status()) << "nobody's so far";
        const auto before = await_tcp_user(pair.client.get(), Deadline::in_ms(0));
        ASSERT_TRUE(before.ok()) << before.status();
        EXPECT_EQ(before.value().user, ::geteuid());
        EXPECT_FALSE(before.value().has_accepted);
        const TcpEnds ends = Pair::ends_of(pair.client);
        EXPECT_EQ(ask_sock_diag_for_listener(ends).value(), ::geteuid());
        if (const std::string table = tcp_table(); !table.empty()) {
            EXPECT_EQ(find_listener_in_tcp_table(table, ends).value(), ::geteuid());
        }
        pair.accept();
        const auto after = await_tcp_user(pair.client.get(), Deadline::in_ms(0));
        ASSERT_TRUE(after.ok()) << after.status();
        EXPECT_EQ(after.value().user, ::geteuid());
        EXPECT_TRUE(after.value().has_accepted);
        EXPECT_STATUS(PMIX_ERR_INVALID_CRED, ask_sock_diag_for_listener(ends).status()) << "it waits there no more";
    }
}

TEST(TcpUserTest, NotAcceptedYet_ListenerOfAnotherUser_IsThatUsers) {
    if (!can_be_other_users()) GTEST_SKIP() << "needs root, to become another user";
    int ready[2], over[2];
    ASSERT_EQ(::pipe(ready), 0);
    ASSERT_EQ(::pipe(over), 0);
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
        ::close(over[1]);
        if (::setgid(4711) != 0 || ::setuid(4711) != 0) ::_exit(1);
        const Pair pair;
        (void)!::write(ready[1], &pair.address, sizeof pair.address);
        char byte;
        (void)!::read(over[0], &byte, 1);
        ::_exit(0);
    }
    ::close(over[0]);
    sockaddr_in address{};
    ASSERT_EQ(::read(ready[0], &address, sizeof address), static_cast<ssize_t>(sizeof address));
    const Descriptor client(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    ASSERT_EQ(::connect(client.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    const auto user = await_tcp_user(client.get(), Deadline::in_ms(60000));
    const auto by_table = find_listener_in_tcp_table(tcp_table(), Pair::ends_of(client));
    ::close(over[1]);
    EXPECT_EQ(::waitpid(child, nullptr, 0), child);
    for (const int fd : {ready[0], ready[1]}) ::close(fd);
    ASSERT_TRUE(user.ok()) << user.status();
    EXPECT_EQ(user.value().user, 4711u);
    EXPECT_FALSE(user.value().has_accepted);
    EXPECT_EQ(by_table.value(), 4711u);
    // The queue has gone with its listener.
    EXPECT_STATUS(PMIX_ERR_UNREACH, await_tcp_user(client.get(), Deadline::in_ms(60000)).status());
}

TEST(TcpUserTest, Trial_IsAboutThisProcess) {
    EXPECT_STATUS(PMIX_SUCCESS, try_tcp_user());
}

TEST(TcpUserTest, Trial_WithoutTcp_IsNotSupported) {
    Io io = kRealIo;
    io.connect = [](int, const sockaddr*, socklen_t) {
        errno = ECONNREFUSED;
        return -1;
    };
    EXPECT_STATUS(PMIX_ERR_NOT_SUPPORTED, try_tcp_user(io));
}

// The lines of a connection and of listening sockets: only one that waits is its listener's.
TEST(TcpUserTest, Table_Listener_CountsForWhatWaitsThere) {
    TcpEnds ends;
    ends.local = loopback(8080);
    ends.remote = loopback(9090);
    const auto line = [](in_addr_t local, const char* remote, const char* state, const char* uid, const char* inode) {
        char at[32];
        std::snprintf(at, sizeof at, "%08X:1F90", htonl(local));
        return "  0: " + std::string(at) + " " + remote + " " + state + " 00000000:00000000 00:00000000 00000000  " +
               uid + "        0 " + inode + " 1 0000000000000000 20 4 30 10 -1\n";
    };
    char peer[32];
    std::snprintf(peer, sizeof peer, "%08X:2382", ends.remote.sin_addr.s_addr);
    const std::string queued = line(INADDR_LOOPBACK, peer, "01", "0", "0");
    const std::string listens = line(INADDR_LOOPBACK, "00000000:0000", "0A", "1000", "77");
    const auto find = [&](const std::string& table) { return find_listener_in_tcp_table(table, ends); };
    EXPECT_EQ(find(listens + queued).value(), 1000u);
    EXPECT_EQ(find(queued + line(INADDR_ANY, "00000000:0000", "0A", "1001", "77")).value(), 1001u);
    EXPECT_STATUS(PMIX_ERR_INVALID_CRED, find(listens).status()) << "no connection";
    EXPECT_STATUS(PMIX_ERR_INVALID_CRED, find(queued).status()) << "no listener";
    EXPECT_STATUS(PMIX_ERR_INVALID_CRED, find(listens + line(INADDR_LOOPBACK, peer, "01", "1000", "78")).status());
    EXPECT_STATUS(PMIX_ERR_INVALID_CRED, find(listens + line(INADDR_LOOPBACK, peer, "03", "0", "0")).status());
    EXPECT_STATUS(PMIX_ERR_INVALID_CRED,
                  find(line(INADDR_BROADCAST, "00000000:0000", "0A", "1000", "77") + queued).status());
    EXPECT_STATUS(PMIX_ERR_INVALID_CRED,
                  find(line(INADDR_LOOPBACK, "00000000:0000", "07", "1000", "77") + queued).status());
}

TEST(TcpUserTest, Table_OfAnyText_HasNoUser) {
    TcpEnds ends;
    ends.local = loopback(8080);
    ends.remote = loopback(9090);
    char local[32];
    std::snprintf(local, sizeof local, "%08X:1F90", ends.local.sin_addr.s_addr);
    char remote[32];
    std::snprintf(remote, sizeof remote, "%08X:2382", ends.remote.sin_addr.s_addr);
    const auto line = [&](const char* state, const char* uid, const char* inode) {
        return "  0: " + std::string(local) + " " + remote + " " + state + " 00000000:00000000 00:00000000 00000000  " +
               uid + "        0 " + inode + " 1 0000000000000000 20 4 30 10 -1\n";
    };
    EXPECT_EQ(find_in_tcp_table("header\n" + line("01", "1000", "77"), ends).value(), 1000u);
    EXPECT_STATUS(PMIX_ERR_INVALID_CRED, find_in_tcp_table(line("06", "0", "77"), ends).status());
    EXPECT_STATUS(PMIX_ERR_INVALID_CRED, find_in_tcp_table(line("01", "0", "0"), ends).status());
    EXPECT_STATUS(PMIX_ERR_NOT_SUPPORTED, find_in_tcp_table(line("01", "x", "77"), ends).status());
    EXPECT_STATUS(PMIX_ERR_NOT_SUPPORTED, find_in_tcp_table(line("01", "99999999999", "77"), ends).status());
    // All at once: each has its own line, and the first one counts.
    TcpEnds other = ends, absent = ends;
    other.remote = loopback(9091);
    absent.remote = loopback(9092);
    char others_remote[32];
    std::snprintf(others_remote, sizeof others_remote, "%08X:2383", ends.remote.sin_addr.s_addr);
    std::string others_line = line("06", "1001", "78");
    others_line.replace(others_line.find(remote), std::strlen(remote), others_remote);
    const TcpEnds all[] = {other, ends, absent};
    const auto users =
        find_all_in_tcp_table("header\n" + line("01", "1000", "77") + others_line + line("01", "0", "79"), all);
    ASSERT_EQ(3u, users.size());
    EXPECT_STATUS(PMIX_ERR_INVALID_CRED, users[0].status()) << "it has ended";
    EXPECT_EQ(1000u, users[1].value());
    EXPECT_STATUS(PMIX_ERR_INVALID_CRED, users[2].status());
    EXPECT_STATUS(PMIX_ERR_NOT_SUPPORTED, find_all_in_tcp_table(line("01", "x", "77"), all)[1].status());
    for (const char* text : {"", "\n", " ", "0: :", "0: 0100007F: 0100007F:", "0: 0100007F:1F90"}) {
        EXPECT_STATUS(PMIX_ERR_INVALID_CRED, find_in_tcp_table(text, ends).status()) << text;
    }
}

}  // namespace
}  // namespace pmix::transport::tcp_user_test

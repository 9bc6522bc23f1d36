// SPDX-License-Identifier: BSD-3-Clause
// Whose TCP connections are where netlink is refused: the kernel's table is read once for all that are accepted
// together.
#include <errno.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <stdarg.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstring>
#include <vector>

#include "support/fake_client.h"
#include "support/status.h"
#include "transport/tcp/tcp_socket.h"
#include "transport/tcp/tcp_user.h"

namespace {

int g_tables = 0;  // how often the table has been opened

}  // namespace

// In libc's place: a filter of system calls that has no netlink.
extern "C" int socket(int domain, int type, int protocol) {
    if (domain == AF_NETLINK) {
        errno = EPERM;
        return -1;
    }
    return static_cast<int>(::syscall(SYS_socket, domain, type, protocol));
}

extern "C" int open(const char* path, int flags, ...) {
    va_list more;
    va_start(more, flags);
    const mode_t mode = (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(more, mode_t) : 0;
    va_end(more);
    g_tables += std::strcmp(path, "/proc/net/tcp") == 0;
    return static_cast<int>(::syscall(SYS_openat, AT_FDCWD, path, flags, mode));
}

namespace tcp_table_test {

using namespace pmix;
using namespace pmix::test;

namespace {

constexpr size_t kMany = 40;

std::vector<transport::Descriptor> connect_many(const sockaddr_in& to) {
    std::vector<transport::Descriptor> clients;
    for (size_t i = 0; i < kMany; ++i) {
        clients.emplace_back(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
        EXPECT_EQ(0, ::connect(clients.back().get(), reinterpret_cast<const sockaddr*>(&to), sizeof to));
    }
    return clients;
}

sockaddr_in address_of(int fd) {
    sockaddr_in address{};
    socklen_t length = sizeof address;
    EXPECT_EQ(0, ::getsockname(fd, reinterpret_cast<sockaddr*>(&address), &length));
    return address;
}

TEST(TcpTableTest, Users_OfManyConnections_OneTable) {
    auto listener = transport::listen_loopback(transport::kRealIo);
    ASSERT_TRUE(listener.ok());
    const auto clients = connect_many(address_of(listener->get()));
    std::vector<transport::Descriptor> servers;
    std::vector<int> numbers;
    while (servers.size() < kMany) {
        servers.emplace_back(::accept4(listener->get(), nullptr, nullptr, SOCK_CLOEXEC));
        if (!servers.back()) servers.pop_back();
    }
    for (const auto& server : servers) numbers.push_back(server.get());
    numbers.push_back(listener->get());  // it has no other end
    g_tables = 0;
    const auto users = transport::tcp_users(numbers);
    EXPECT_EQ(1, g_tables);
    ASSERT_EQ(kMany + 1, users.size());
    for (size_t i = 0; i < kMany; ++i) {
        ASSERT_STATUS(PMIX_SUCCESS, users[i].status()) << i;
        EXPECT_EQ(::geteuid(), users[i].value());
    }
    EXPECT_STATUS(PMIX_ERR_INVALID_CRED, users[kMany].status());
}

TEST(TcpTableTest, Server_ThatManyWaitFor_LooksOnceForAll) {
    server::ServerOptions options;
    options.openpmix = true;
    TestServer server(nullptr, options);
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    const std::string address = server.parts().openpmix_listener.address();
    ASSERT_NE(std::string(), address);
    to.sin_port = htons(static_cast<uint16_t>(std::stoi(address.substr(address.find(':') + 1))));
    const auto clients = connect_many(to);
    g_tables = 0;
    ASSERT_TRUE(server.turn_until([&] { return server.parts().listener.half_open() == kMany; }));
    EXPECT_EQ(1, g_tables);
}

}  // namespace
}  // namespace tcp_table_test

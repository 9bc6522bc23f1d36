// SPDX-License-Identifier: BSD-3-Clause
// Whose server a process talks to where the launcher has OpenPMIx's library: its own user's or root's, by the kernel's
// word, and nobody else's.
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <regex>
#include <string>
#include <thread>

#include "support/long_wait.h"
#include "support/openpmix_process.h"
#include "support/other_users.h"
#include "support/status.h"
#include "transport/tcp/tcp_socket.h"

namespace pmix::test::openpmix_users_test {
namespace {

constexpr uid_t kOther = 12345;

class OpenPmixUsers : public OpenPmixProcess {};
INSTANTIATE_TEST_SUITE_P(Releases, OpenPmixUsers,
                         ::testing::Values(std::make_pair("4.2.2", "v41"), std::make_pair("7.0.0rc1", "v61")));

// As under a daemon of a resource manager, which serves the jobs of all users.
TEST_P(OpenPmixUsers, ServerOfRoot_IsTrustedByAnotherUser) {
    if (!can_be_other_users()) GTEST_SKIP() << "needs two users";
    const pid_t child = ::fork();
    if (child == 0) {
        if (::setresgid(kOther, kOther, kOther) != 0 || ::setresuid(kOther, kOther, kOther) != 0) ::_exit(2);
        server_->set_environment();
        if (PMIx_Init(&self_, nullptr, 0) != PMIX_SUCCESS) ::_exit(3);
        if (number(proc(PMIX_RANK_WILDCARD), PMIX_JOB_SIZE) != 3) ::_exit(4);
        if (PMIx_Fence(nullptr, 0, nullptr, 0) != PMIX_SUCCESS) ::_exit(5);
        ::_exit(PMIx_Finalize(nullptr, 0) == PMIX_SUCCESS ? 0 : 6);
    }
    server_->start();
    int status = -1;
    EXPECT_EQ(child, ::waitpid(child, &status, 0));
    EXPECT_TRUE(WIFEXITED(status));
    EXPECT_EQ(0, WEXITSTATUS(status));
}

// Servers accept, and then wait for the first bytes, one connection after the other.
TEST_P(OpenPmixUsers, Hello_DoesNotWaitUntilTheServerAccepts) {
    server_->set_environment();
    std::thread init([this] { EXPECT_STATUS(PMIX_SUCCESS, PMIx_Init(&self_, nullptr, 0)); });
    // rx_queue of an established socket that has no inode.
    const std::regex waiting(
        "^ *[0-9]+: [0-9A-F]+:([0-9A-F]+) [0-9A-F]+:[0-9A-F]+ 01 [0-9A-F]+:0*[1-9A-F][0-9A-F]* "
        "[0-9A-F]+:[0-9A-F]+ [0-9A-F]+ +[0-9]+ +[0-9]+ 0 ");
    const int port = std::stoi(server_->uri.substr(server_->uri.rfind(':') + 1));
    bool seen = false;
    for (LongWait wait; !seen && !wait.over();) {
        std::ifstream table("/proc/net/tcp");
        if (!table) break;
        for (std::string line; !seen && std::getline(table, line);) {
            std::smatch match;
            seen = std::regex_search(line, match, waiting) && std::stoi(match[1], nullptr, 16) == port;
        }
    }
    EXPECT_TRUE(seen);
    server_->start();
    init.join();
}

// The socket that listens is root's, and the process that accepts is not: it gets the hello, and no answer of it
// counts.
TEST_P(OpenPmixUsers, ServerOfAnotherUser_ThatAcceptsForRoot_IsNotBelieved) {
    if (!can_be_other_users()) GTEST_SKIP() << "needs two users";
    int over[2];
    ASSERT_EQ(0, ::pipe(over));
    const pid_t child = ::fork();
    if (child == 0) {
        ::close(over[1]);
        if (::setresgid(kOther, kOther, kOther) != 0 || ::setresuid(kOther, kOther, kOther) != 0) ::_exit(2);
        server_->start();
        char byte;
        (void)!::read(over[0], &byte, 1);
        ::_exit(server_->requests == 0 ? 0 : 1);
    }
    ::close(over[0]);
    server_->set_environment();
    EXPECT_STATUS(PMIX_ERR_INVALID_CRED, PMIx_Init(&self_, nullptr, 0));
    ::close(over[1]);
    int status = -1;
    EXPECT_EQ(child, ::waitpid(child, &status, 0));
    EXPECT_TRUE(WIFEXITED(status));
    EXPECT_EQ(0, WEXITSTATUS(status)) << "it was asked for data";
}

// A process of another user has the port of the server: it is told nothing.
TEST_P(OpenPmixUsers, ServerOfAnotherUser_ReceivesNoByte) {
    if (!can_be_other_users()) GTEST_SKIP() << "needs two users";
    int ready[2];
    ASSERT_EQ(0, ::pipe(ready));
    const pid_t child = ::fork();
    if (child == 0) {
        // The user counts with which a connection is accepted.
        ::close(ready[0]);
        if (::setresgid(kOther, kOther, kOther) != 0 || ::setresuid(kOther, kOther, kOther) != 0) ::_exit(2);
        auto listener = transport::listen_loopback();
        if (!listener.ok()) ::_exit(3);
        const std::string address = transport::tcp_address(listener->get());
        (void)!::write(ready[1], address.c_str(), address.size() + 1);
        pollfd waiting{listener->get(), POLLIN, 0};
        ::poll(&waiting, 1, 60'000);
        const int socket = ::accept(listener->get(), nullptr, nullptr);
        char byte;
        ::_exit(::recv(socket, &byte, 1, 0) == 0 ? 0 : 1);
    }
    ::close(ready[1]);
    char address[64] = "";
    EXPECT_GT(::read(ready[0], address, sizeof address - 1), 0);
    ::close(ready[0]);
    server_->uri = std::string("server.0;tcp4://") + address;
    server_->start();
    server_->set_environment();
    EXPECT_STATUS(PMIX_ERR_INVALID_CRED, PMIx_Init(&self_, nullptr, 0));
    EXPECT_FALSE(PMIx_Initialized());
    int status = -1;
    EXPECT_EQ(child, ::waitpid(child, &status, 0));
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << "it was sent something";
}

}  // namespace
}  // namespace pmix::test::openpmix_users_test

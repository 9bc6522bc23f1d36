// SPDX-License-Identifier: BSD-3-Clause
// Connections that are accepted by a process whose standard streams are closed.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "transport/unix_socket.h"

namespace pmix::transport::accept_test {
namespace {

TEST(AcceptTest, NoPeerTakesThePlaceOfAStandardStream) {
    const std::string address = make_abstract_address();
    auto listener = listen_abstract(address);
    ASSERT_TRUE(listener.ok());
    auto other_end = connect_to(address, Deadline::in_ms(60'000));
    ASSERT_TRUE(other_end.ok());
    const int kept = ::fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 10);
    ::close(STDIN_FILENO);
    auto accepted = accept_one(listener->get());
    const bool free = ::fcntl(STDIN_FILENO, F_GETFD) == -1;
    if (kept >= 0) {
        ::dup2(kept, STDIN_FILENO);
        ::close(kept);
    }
    ASSERT_TRUE(accepted.ok());
    EXPECT_GT(accepted->get(), STDERR_FILENO);
    EXPECT_TRUE(free);
    EXPECT_NE(0, ::fcntl(accepted->get(), F_GETFD) & FD_CLOEXEC);
    EXPECT_NE(0, ::fcntl(accepted->get(), F_GETFL) & O_NONBLOCK);
}

}  // namespace
}  // namespace pmix::transport::accept_test

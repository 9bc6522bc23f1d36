// SPDX-License-Identifier: BSD-3-Clause
// What the kernel tells of a local TCP connection.
#include "transport/tcp/tcp_socket.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <sched.h>
#include <sys/socket.h>

#include <tuple>

#include "support/sockets.h"

namespace pmix::transport::tcp_socket_test {
namespace {

TEST(TcpSocketTest, SendingProcessor_IsThatOfTheLastSender) {
    Descriptor near, far;
    std::tie(near, far) = test::tcp_pair();
    cpu_set_t before;
    ASSERT_EQ(0, ::sched_getaffinity(0, sizeof before, &before));
    for (int processor = 0; processor < CPU_SETSIZE; ++processor) {
        if (!CPU_ISSET(processor, &before)) continue;
        cpu_set_t one;
        CPU_ZERO(&one);
        CPU_SET(processor, &one);
        ASSERT_EQ(0, ::sched_setaffinity(0, sizeof one, &one));
        ASSERT_EQ(1, ::send(far.get(), "x", 1, 0));
        pollfd waiting{near.get(), POLLIN, 0};
        ASSERT_EQ(1, ::poll(&waiting, 1, 60'000));
        EXPECT_EQ(processor, sending_processor(near.get()));
        char byte;
        ASSERT_EQ(1, ::recv(near.get(), &byte, 1, 0));
    }
    EXPECT_EQ(0, ::sched_setaffinity(0, sizeof before, &before));
}

TEST(TcpSocketTest, SendingProcessor_OfNoSocket_IsNotKnown) {
    EXPECT_EQ(-1, sending_processor(-1));
}

}  // namespace
}  // namespace pmix::transport::tcp_socket_test

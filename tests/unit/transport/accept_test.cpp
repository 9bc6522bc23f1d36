// SPDX-License-Identifier: BSD-3-Clause
// What is opened, accepted and received by a process whose standard streams are closed.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "common/base/standard_streams.h"
#include "transport/event_loop.h"
#include "transport/io.h"
#include "transport/memory/fence_memory.h"
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

// While it exists, descriptor 0 is free.
class StdinClosed {
  public:
    StdinClosed() : kept_(::fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 10)) {
        if (kept_ >= 0) ::close(STDIN_FILENO);
    }
    ~StdinClosed() {
        if (kept_ < 0) return;
        ::dup2(kept_, STDIN_FILENO);
        ::close(kept_);
    }
    bool free() const { return ::fcntl(STDIN_FILENO, F_GETFD) == -1; }

  private:
    const int kept_;
};

TEST(AcceptTest, NothingThatIsOpenedTakesThePlaceOfAStandardStream) {
    StdinClosed closed;
    const Descriptor socket(kRealIo.socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    EXPECT_TRUE(closed.free());
    const Descriptor epoll(kRealIo.epoll_create1(EPOLL_CLOEXEC));
    EXPECT_TRUE(closed.free());
    const Descriptor event(kRealIo.eventfd(0, EFD_CLOEXEC));
    EXPECT_TRUE(closed.free());
    for (const Descriptor* one : {&socket, &epoll, &event}) {
        EXPECT_GT(one->get(), STDERR_FILENO);
        EXPECT_NE(0, ::fcntl(one->get(), F_GETFD) & FD_CLOEXEC);
    }
    EXPECT_EQ(-1, kRealIo.socket(-1, 0, 0));
    const auto memory = FenceMemory::create(2, 0);
    ASSERT_TRUE(memory.ok());
    EXPECT_TRUE(closed.free());
    // With the descriptors of libevent's own.
    const auto loop = EventLoop::create();
    ASSERT_TRUE(loop.ok());
    EXPECT_TRUE(closed.free());
}

TEST(AcceptTest, OthersDescriptorsAreKeptOutWhileTheyAreOpened) {
    StdinClosed closed;
    {
        const common::StandardStreamsTaken taken;
        EXPECT_FALSE(closed.free());
        EXPECT_EQ(-1, ::write(STDIN_FILENO, "x", 1));
        const Descriptor theirs(::open("/dev/null", O_RDONLY | O_CLOEXEC));
        EXPECT_GT(theirs.get(), STDERR_FILENO);
    }
    EXPECT_TRUE(closed.free());
}

}  // namespace
}  // namespace pmix::transport::accept_test

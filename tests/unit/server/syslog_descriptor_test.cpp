// SPDX-License-Identifier: BSD-3-Clause
// Where the descriptor is that syslog(3) opens: not in the place of a standard stream that the program has closed.
#include <errno.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <syslog.h>
#include <unistd.h>

#include <cstring>

#include "common/base/log.h"
#include "server/services/log_channels.h"
#include "support/status.h"
#include "transport/deadline.h"

namespace {

int g_opened = -1;  // by the last line
int g_lines = 0;

}  // namespace

// In libc's place. As there, the first line opens a descriptor.
extern "C" void syslog(int, const char*, ...) {
    ++g_lines;
    if (g_opened < 0) g_opened = ::open("/dev/null", O_WRONLY | O_CLOEXEC);
}

// The system's log has a stream, which is left to syslog(3).
extern "C" int connect(int fd, const sockaddr* address, socklen_t size) {
    const auto* named = reinterpret_cast<const sockaddr_un*>(address);
    if (address->sa_family == AF_UNIX && std::strcmp(named->sun_path, "/dev/log") == 0) {
        errno = EPROTOTYPE;
        return -1;
    }
    return static_cast<int>(::syscall(SYS_connect, fd, address, size));
}

namespace {

// A program that has closed its standard input.
class SyslogDescriptor : public ::testing::Test {
  protected:
    void SetUp() override {
        kept_ = ::fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 10);
        ::close(STDIN_FILENO);
        g_opened = -1;
        g_lines = 0;
    }
    void TearDown() override {
        if (g_opened >= 0) ::close(g_opened);
        if (kept_ >= 0) {
            ::dup2(kept_, STDIN_FILENO);
            ::close(kept_);
        }
    }
    // The number that the program gets for what it opens next is the one that it has closed.
    static bool input_is_free() {
        const int fd = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
        ::close(fd);
        return fd == STDIN_FILENO;
    }
    int kept_ = -1;
};

}  // namespace

TEST_F(SyslogDescriptor, OfTheLibrarysLog_IsNoStandardStream) {
    using namespace pmix::common;
    ASSERT_STATUS(PMIX_SUCCESS, start_log("info@syslog", ProcId("job", 1)));
    WIREUP_LOG(api, info, "first");
    WIREUP_LOG(api, info, "second");
    stop_log();
    EXPECT_EQ(2, g_lines);
    EXPECT_GT(g_opened, STDERR_FILENO);
    EXPECT_TRUE(input_is_free());
}

TEST_F(SyslogDescriptor, OfPMIxLog_IsNoStandardStream) {
    EXPECT_STATUS(PMIX_SUCCESS, pmix::server::system_log_sinks().syslog(LOG_INFO, "a line",
                                                                        pmix::transport::Deadline::in_ms(60'000)));
    EXPECT_EQ(1, g_lines);
    EXPECT_GT(g_opened, STDERR_FILENO);
    EXPECT_TRUE(input_is_free());
}

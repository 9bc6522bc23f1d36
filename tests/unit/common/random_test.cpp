// SPDX-License-Identifier: BSD-3-Clause
// Random bytes where a filter of system calls refuses getrandom, and where nothing has any.
#include "common/base/random.h"

#include <errno.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <string>

#include "common/base/log.h"
#include "support/fake_client.h"
#include "support/status.h"
#include "support/temporary_folder.h"
#include "transport/unix_socket.h"

namespace {

int g_error = 0;           // what getrandom fails with; 0: it does not
int g_interruptions = 0;   // before it works
size_t g_most = SIZE_MAX;  // bytes that it gives at once

}  // namespace

// In libc's place.
extern "C" ssize_t getrandom(void* out, size_t n, unsigned flags) {
    if (g_interruptions > 0) {
        --g_interruptions;
        errno = EINTR;
        return -1;
    }
    if (g_error != 0) {
        errno = g_error;
        return -1;
    }
    return ::syscall(SYS_getrandom, out, std::min(n, g_most), flags);
}

namespace random_test {

using namespace pmix;
using namespace pmix::test;

namespace {

using Bytes = std::array<uint8_t, 32>;

class RandomTest : public ::testing::Test {
  protected:
    RandomTest() { EXPECT_STATUS(PMIX_SUCCESS, common::start_log("warn@" + folder.path("log"), {"server", 0})); }
    ~RandomTest() override {
        g_error = g_interruptions = 0;
        g_most = SIZE_MAX;
        common::stop_log();
    }
    size_t lines(const std::string& with) const {
        const std::string log = folder.text("log");
        size_t n = 0;
        for (size_t at = log.find(with); at != log.npos; at = log.find(with, at + 1)) ++n;
        return n;
    }
    // Neither half of it stayed as it was.
    static bool is_filled(const Bytes& bytes) {
        return std::any_of(bytes.begin(), bytes.begin() + 16, [](uint8_t b) { return b != 0; }) &&
               std::any_of(bytes.begin() + 16, bytes.end(), [](uint8_t b) { return b != 0; });
    }
    // No file can be opened meanwhile.
    struct NoDescriptors {
        NoDescriptors() {
            EXPECT_EQ(0, ::getrlimit(RLIMIT_NOFILE, &before));
            const rlimit none{0, before.rlim_max};
            EXPECT_EQ(0, ::setrlimit(RLIMIT_NOFILE, &none));
        }
        ~NoDescriptors() { ::setrlimit(RLIMIT_NOFILE, &before); }
        rlimit before{};
    };
    TemporaryFolder folder;
};

}  // namespace

TEST_F(RandomTest, FewAtATimeAndInterrupted_AreAll) {
    g_most = 16;
    g_interruptions = 1;
    Bytes a{}, b{};
    EXPECT_TRUE(common::fill_random(a.data(), a.size()));
    EXPECT_TRUE(common::fill_random(b.data(), b.size()));
    EXPECT_TRUE(is_filled(a) && is_filled(b));
    EXPECT_NE(a, b);
    EXPECT_EQ(0u, lines("getrandom"));
}

TEST_F(RandomTest, Refused_TheDeviceIsReadAndTheLogTellsOnce) {
    for (const int error : {ENOSYS, EPERM}) {
        g_error = error;
        Bytes bytes{};
        EXPECT_TRUE(common::fill_random(bytes.data(), bytes.size()));
        EXPECT_TRUE(is_filled(bytes));
    }
    EXPECT_EQ(1u, lines("getrandom fails"));
    EXPECT_EQ(1u, lines("/dev/urandom is read instead"));
}

TEST_F(RandomTest, NothingHasAny_FailsWithALineOfTheLog) {
    g_error = ENOSYS;
    {
        const NoDescriptors none;
        Bytes bytes{};
        EXPECT_FALSE(common::fill_random(bytes.data(), bytes.size()));
        EXPECT_TRUE(transport::make_abstract_address().empty());
    }
    EXPECT_EQ(2u, lines("no random numbers"));
}

// A client of a server that has no random numbers: a credential is refused with a status that says so.
TEST_F(RandomTest, NothingHasAny_ACredentialIsNotSupported) {
    TestServer server(nullptr);
    server.job("job", 1, 1);
    FakeClient client(server, {"job", 0});
    ASSERT_STATUS(PMIX_SUCCESS, client.hello());
    g_error = EPERM;
    EXPECT_STATUS(PMIX_SUCCESS, client.ask<Command::get_credential>(common::GetCredentialRequest{}));
    const NoDescriptors none;
    EXPECT_STATUS(PMIX_ERR_NOT_SUPPORTED, client.ask<Command::get_credential>(common::GetCredentialRequest{}));
}

}  // namespace random_test

// SPDX-License-Identifier: BSD-3-Clause
// A container that forbids the system calls of shared memory: the log says which, and why, once.
#include <errno.h>
#include <gtest/gtest.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <string>

#include "common/base/log.h"
#include "dstore/writer.h"
#include "support/temporary_folder.h"

namespace {

int g_error = 0;

}  // namespace

// In libc's place.
extern "C" int memfd_create(const char* name, unsigned flags) noexcept {
    if (g_error == 0) return static_cast<int>(::syscall(SYS_memfd_create, name, flags));
    errno = g_error;
    return -1;
}

TEST(SegmentRefused, Creation_IsToldInTheLogOnce) {
    using namespace pmix;
    const test::TemporaryFolder folder;
    ASSERT_EQ(PMIX_SUCCESS, common::start_log("error@" + folder.path("log"), {"job", 0}));
    EXPECT_TRUE(dstore::Writer::create({}).ok());
    g_error = EMFILE;
    EXPECT_EQ(PMIX_ERR_OUT_OF_RESOURCE, dstore::Writer::create({}).status()) << "a lack is no refusal";
    g_error = EPERM;
    for (int i = 0; i < 2; ++i) EXPECT_FALSE(dstore::Writer::create({}).ok());
    common::stop_log();
    const std::string text = folder.text("log");
    EXPECT_NE(std::string::npos, text.find("memfd_create: Operation not permitted")) << text;
    EXPECT_EQ(1, std::count(text.begin(), text.end(), '\n')) << text;
}

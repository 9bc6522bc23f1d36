// SPDX-License-Identifier: BSD-3-Clause
// A process that is refused because of what the host has registered: the log names the process and what is missing.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>

#include "common/base/log_limit.h"
#include "server/admission/refusal_reason.h"
#include "support/fake_client.h"
#include "support/status.h"
#include "support/temporary_folder.h"

namespace refusal_log_test {

using namespace pmix;
using namespace pmix::test;

namespace {

class RefusalLogTest : public ::testing::Test {
  protected:
    RefusalLogTest() : server(nullptr, options()) {
        server.job("job", 1, 2);
        EXPECT_STATUS(PMIX_SUCCESS, common::start_log("warn@" + folder.path("log"), {"server", 0}));
    }
    ~RefusalLogTest() override { common::stop_log(); }
    static server::ServerOptions options() {
        server::ServerOptions given;
        given.registration_wait_ms = 20;
        return given;
    }
    std::string refused(const common::ProcId& claimed) {
        FakeClient one(server, claimed);
        EXPECT_STATUS(PMIX_ERR_NOT_FOUND, one.hello());
        return folder.text("log");
    }
    static bool has(const std::string& log, const std::string& text) { return log.find(text) != std::string::npos; }

    TemporaryFolder folder;
    TestServer server;
};

}  // namespace

// rows: V10
TEST_F(RefusalLogTest, NamespaceNeverRegistered) {
    const std::string log = refused({"another", 0});
    EXPECT_TRUE(has(log, "is refused: PMIX_ERR_NOT_FOUND, \"another\":0: the namespace was never registered")) << log;
}

// The name of an unregistered process can neither end a line of the log nor control a terminal.
TEST_F(RefusalLogTest, NamespaceWithControlCharacters_IsShownWithoutThem) {
    const std::string log = refused({"a\nserver warn: b\x1b[2J", 0});
    EXPECT_TRUE(has(log, "\"a?server warn: b?[2J\":0: the namespace was never registered")) << log;
}

// Anybody can be refused without end.
TEST_F(RefusalLogTest, ManyRefusals_WriteAFewLines) {
    std::string log;
    for (uint64_t i = 0; i < 3 * common::LogLimit::kLines; ++i) log = refused({"another", 0});
    // A machine that is very slow may begin a second limit.
    EXPECT_LE(static_cast<uint64_t>(std::count(log.begin(), log.end(), '\n')), 2 * common::LogLimit::kLines + 1) << log;
}

// rows: V10
TEST_F(RefusalLogTest, RankBeyondTheJob) {
    const std::string log = refused({"job", 9});
    EXPECT_TRUE(has(log, "is refused: PMIX_ERR_NOT_FOUND, \"job\":9: the size of the job is 2")) << log;
}

// rows: V10
TEST_F(RefusalLogTest, RankDeregistered) {
    server.parts().registration.deregister_client({"job", 1});
    const std::string log = refused({"job", 1});
    EXPECT_TRUE(has(log, "\"job\":1: the rank has ended, or was deregistered")) << log;
}

// rows: V10
TEST_F(RefusalLogTest, RankNeverRegistered) {
    server::JobInfo job;
    job.nspace = "later";
    job.job_size = 2;
    EXPECT_STATUS(PMIX_SUCCESS, server.parts().registration.register_nspace(std::move(job), true));
    const std::string log = refused({"later", 1});
    EXPECT_TRUE(has(log, "\"later\":1: the rank was never registered, though the namespace was")) << log;
}

// rows: V10
TEST_F(RefusalLogTest, RankOfAnotherUser) {
    server.parts().registration.register_client({"job", 1}, 4711, ::getegid(), nullptr);
    // By the text alone: a test that is root's own would be let in.
    const server::Credentials other{4712, 4712, ::getpid()};
    EXPECT_EQ(", \"job\":1: the rank was registered for user 4711",
              server::refusal_reason(server.parts().registry, {"job", 1}, other, PMIX_ERR_INVALID_CRED));
}

}  // namespace refusal_log_test

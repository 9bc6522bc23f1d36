// SPDX-License-Identifier: BSD-3-Clause
// A host's direct modex of a job that it registers later: held until then, for a limited time, and answered once.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "server/namespaces/modex_blob.h"
#include "support/fake_client.h"
#include "support/fake_host.h"
#include "support/status.h"

namespace pmix::test {
namespace {

using common::ProcId;

struct Got {
    int calls = 0;
    pmix_status_t status = PMIX_ERROR;
    std::vector<uint8_t> bytes;
};

class ServerEarlyModexTest : public ::testing::Test {
  protected:
    ServerEarlyModexTest() : module_(host_.module()), server_(&module_) {}
    server::Get& gets() { return server_.parts().get; }
    void ask(const ProcId& proc, Got& got) {
        server_.on_loop([&] {
            gets().modex_request(proc, [&got](pmix_status_t status, common::Bytes bytes) {
                ++got.calls;
                got.status = status;
                got.bytes.assign(bytes.begin(), bytes.end());
            });
            server_.parts().host.flush();
            return 0;
        });
    }
    void stop() {
        server_.on_loop([&] {
            gets().stop(PMIX_ERR_UNREACH);
            server_.parts().host.flush();
            return 0;
        });
    }
    void end(const std::string& nspace) {
        const transport::LoopRole role(*server_.loop);
        server_.setup().deregister_nspace(nspace);
    }

    FakeHost host_;
    pmix_server_module_t module_;
    TestServer server_;
};

// rows: V13
TEST_F(ServerEarlyModexTest, Request_BeforeTheRegistration_HasWhatTheProcessCommits) {
    Got of_rank, of_job, of_nobody;
    ask({"job", 0}, of_rank);
    ask({"job", PMIX_RANK_WILDCARD}, of_job);
    ask({"job", 7}, of_nobody);
    EXPECT_EQ(0, of_rank.calls + of_job.calls + of_nobody.calls);
    EXPECT_EQ(3u, gets().waiting());
    server_.job("other", 1, 1);
    EXPECT_EQ(0, of_rank.calls + of_job.calls + of_nobody.calls) << "another job";
    server_.job("job", 1, 1);
    ASSERT_TRUE(server_.turn_until([&] { return of_job.calls == 1 && of_nobody.calls == 1; }));
    EXPECT_STATUS(PMIX_SUCCESS, of_job.status);
    EXPECT_STATUS(PMIX_ERR_NOT_FOUND, of_nobody.status) << "the job has no such rank";
    EXPECT_EQ(0, of_rank.calls) << "it has committed nothing";
    FakeClient a(server_, {"job", 0});
    ASSERT_STATUS(PMIX_SUCCESS, a.hello());
    a.put("k", "value");
    ASSERT_TRUE(server_.turn_until([&] { return of_rank.calls == 1; }));
    EXPECT_STATUS(PMIX_SUCCESS, of_rank.status);
    EXPECT_NE(std::string::npos, std::string(of_rank.bytes.begin(), of_rank.bytes.end()).find("value"));
    EXPECT_EQ(0u, gets().waiting());
}

// rows: V13
TEST_F(ServerEarlyModexTest, Request_OfAJobThatHasEnded_IsAnsweredAtOnce) {
    server_.job("job", 1, 1);
    end("job");
    server_.settle();
    Got ended;
    ask({"job", 0}, ended);
    EXPECT_EQ(1, ended.calls);
    EXPECT_STATUS(PMIX_ERR_NOT_FOUND, ended.status);
    server_.job("job", 1, 1);
    end("job");
    Got other;
    ask({"another", 0}, other);
    EXPECT_EQ(0, other.calls);
    stop();
    EXPECT_EQ(1, other.calls);
}

// Its processes were announced, but the job itself was not. rows: V13
TEST_F(ServerEarlyModexTest, Request_OfAJobThatEndsUnregistered_IsAnswered) {
    server_.add_client("job", 0);
    Got held;
    ask({"job", 7}, held);
    EXPECT_EQ(0, held.calls);
    end("job");
    ASSERT_TRUE(server_.turn_until([&] { return held.calls == 1; }));
    EXPECT_STATUS(PMIX_ERR_NOT_FOUND, held.status);
    EXPECT_EQ(0u, gets().waiting());
}

// rows: V13
TEST_F(ServerEarlyModexTest, Requests_ThatAreTooMany_AreAnsweredAtOnce) {
    std::vector<Got> held(server::kMostEarly);
    for (Got& one : held) ask({"job", 0}, one);
    Got beyond;
    ask({"job", 0}, beyond);
    EXPECT_EQ(1, beyond.calls);
    EXPECT_STATUS(PMIX_ERR_NOT_FOUND, beyond.status);
    stop();
    for (const Got& one : held) {
        EXPECT_EQ(1, one.calls);
        EXPECT_STATUS(PMIX_ERR_UNREACH, one.status);
    }
}

}  // namespace
}  // namespace pmix::test

// SPDX-License-Identifier: BSD-3-Clause
// A process that the host has started and that initializes as a tool of OpenPMIx's library: a server lets it in as the
// rank that it is. There is no token in that protocol; the kernel reports the user.
#include <gtest/gtest.h>

#include "server/server.h"
#include "support/openpmix_client.h"
#include "support/served_job.h"
#include "support/sockets.h"
#include "support/status.h"

namespace openpmix_tool_rank_test {

using namespace pmix;
using namespace pmix::test;

namespace {

class OpenPmixToolRankTest : public ::testing::TestWithParam<openpmix::PeerKind> {
  protected:
    OpenPmixToolRankTest() : server_(nullptr, serving_openpmix()), uri_(register_served_job(2)) {}

    ServerHere server_;
    std::string uri_;
};

}  // namespace

TEST_P(OpenPmixToolRankTest, Hello_WithTheNameOfALocalRank_IsThatRank) {
    OpenPmixClient tool(uri_), other(uri_);
    tool.request.kind = GetParam();
    ASSERT_TRUE(tool.hello({"job", 1}));
    ASSERT_TRUE(other.hello({"job", 0}));
    // The rank owns the tool's values, and a fence of the job waits for it.
    ASSERT_STATUS(PMIX_SUCCESS, commit_global(tool, "key", 5));
    openpmix::FenceRequest fence;
    fence.procs.procs = {{"job", PMIX_RANK_WILDCARD}};
    const uint32_t first = other.send(fence);
    EXPECT_TRUE(other.is_silent(50));
    EXPECT_STATUS(PMIX_SUCCESS, tool.status_of(fence));
    EXPECT_STATUS(PMIX_SUCCESS, other.receive<openpmix::StatusReply>(first).status.value);
    EXPECT_STATUS(PMIX_SUCCESS, other.ask<openpmix::GetReply>(get_of("job", 1, "key")).status.value);
}

// The rank's own process, and a child of it.
TEST_P(OpenPmixToolRankTest, Hello_BesideTheRanksClient_SharesTheRank) {
    OpenPmixClient rank(uri_), tool(uri_);
    ASSERT_TRUE(rank.hello({"job", 1}));
    tool.request.kind = GetParam();
    ASSERT_TRUE(tool.hello({"job", 1}));
    ASSERT_STATUS(PMIX_SUCCESS, commit_global(rank, "key", 5));
    EXPECT_STATUS(PMIX_SUCCESS, tool.ask<openpmix::GetReply>(get_of("job", 1, "key")).status.value);
}

TEST_P(OpenPmixToolRankTest, Hello_WithTheNameOfNoRank_IsRefused) {
    OpenPmixClient tool(uri_);
    tool.request.kind = GetParam();
    EXPECT_FALSE(tool.hello({"job", 7}));
}

TEST_P(OpenPmixToolRankTest, Hello_OfARankOfAnotherUser_IsRefused) {
    const pmix_proc_t theirs = ProcId("job", 2).to_c();
    ASSERT_STATUS(PMIX_SUCCESS,
                  PMIx_server_register_client(&theirs, ::geteuid() + 1, ::getegid(), nullptr, nullptr, nullptr));
    OpenPmixClient tool(uri_);
    tool.request.kind = GetParam();
    EXPECT_FALSE(tool.hello({"job", 2}));
}

INSTANTIATE_TEST_SUITE_P(Kinds, OpenPmixToolRankTest,
                         ::testing::Values(openpmix::PeerKind::client_tool, openpmix::PeerKind::named_tool,
                                           openpmix::PeerKind::client_launcher),
                         [](const auto& kind) { return "Kind" + std::to_string(static_cast<int>(kind.param)); });

}  // namespace openpmix_tool_rank_test

// SPDX-License-Identifier: BSD-3-Clause
// Queries of connected processes: which of them the server answers by itself, and which the host is asked. Queries of
// the server's own process are in query_test.cpp; those between users are in server_users_test.cpp.
#include <gtest/gtest.h>
#include <pmix_server.h>

#include "support/fake_client.h"
#include "support/query_here.h"

namespace pmix::test::server_query_test {
namespace {

class ServerQueryTest : public ::testing::Test {
  protected:
    void SetUp() override {
        QueryHost::current() = &host;
        module.query = &QueryHost::query;
        server = std::make_unique<TestServer>(&module);
        server->job("job", 2, 1);
        client = std::make_unique<FakeClient>(*server, ProcId("job", 0));
        ASSERT_EQ(PMIX_SUCCESS, client->hello());
    }
    void TearDown() override {
        client.reset();
        server.reset();
        QueryHost::current() = nullptr;
    }
    pmix_status_t query(const char* what, const char* node, bool of_its_own_rank = false) {
        std::string text = what;
        char* keys[] = {text.data(), nullptr};
        InfoList qualifiers = of_job("job");
        qualifiers.append_string(PMIX_HOSTNAME, node);
        const pmix_rank_t rank = 0;
        if (of_its_own_rank) qualifiers.append(PMIX_RANK, &rank, PMIX_PROC_RANK);
        pmix_query_t one{};
        one.keys = keys;
        one.qualifiers = const_cast<pmix_info_t*>(qualifiers.c_array());
        one.nqual = qualifiers.size();
        common::QueryRequest request;
        request.queries = common::Queries::borrow(&one, 1);
        host.keys.clear();
        return client->ask<Command::query>(request);
    }

    QueryHost host;
    pmix_server_module_t module{};
    std::unique_ptr<TestServer> server;
    std::unique_ptr<FakeClient> client;
};

}  // namespace

// This server has processes to measure, but none of the node that the query names. rows: Q16 Q17
TEST_F(ServerQueryTest, MemoryOfAnotherNode_ProcessesAreConnectedHere_HostIsAsked) {
    for (const char* key : {PMIX_CLIENT_AVG_MEMORY, PMIX_AVAIL_PHYS_MEMORY, PMIX_DAEMON_MEMORY}) {
        EXPECT_EQ(PMIX_ERR_NOT_FOUND, query(key, "n1")) << key;
        EXPECT_EQ(std::vector<std::string>{key}, host.keys);
        EXPECT_EQ(PMIX_SUCCESS, query(key, "n0")) << key;
        EXPECT_TRUE(host.keys.empty()) << key;
    }
}

// Also where the query names a rank that is on this node. rows: Q16 Q17
TEST_F(ServerQueryTest, MemoryUsageOfOneRank_OnAnotherNode_HostIsAsked) {
    EXPECT_EQ(PMIX_ERR_NOT_FOUND, query(PMIX_QUERY_MEMORY_USAGE, "n1", true));
    EXPECT_EQ(std::vector<std::string>{PMIX_QUERY_MEMORY_USAGE}, host.keys);
    EXPECT_EQ(PMIX_SUCCESS, query(PMIX_QUERY_MEMORY_USAGE, "n0", true));
    EXPECT_TRUE(host.keys.empty());
}

}  // namespace pmix::test::server_query_test

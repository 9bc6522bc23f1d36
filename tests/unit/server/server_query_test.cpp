// SPDX-License-Identifier: BSD-3-Clause
// Queries of connected processes: which of them the server answers by itself, and which the host is asked. Queries of
// the server's own process are in query_test.cpp; those between users are in server_users_test.cpp.
#include <gtest/gtest.h>
#include <pmix_server.h>
#include <unistd.h>

#include <string>
#include <utility>
#include <vector>

#include "support/fake_client.h"
#include "support/query_here.h"
#include "support/status.h"

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
        ASSERT_STATUS(PMIX_SUCCESS, client->hello());
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

    // One sample: the infos in the answer.
    common::InfoList sample(const char* key, InfoList qualifiers) {
        const auto [status, infos] = ask({key}, std::move(qualifiers));
        EXPECT_STATUS(PMIX_SUCCESS, status) << key;
        for (const pmix_info_t& result : InfoView(infos.c_array(), infos.size()))
            for (const pmix_info_t& info : common::infos_in(result.value)) {
                EXPECT_EQ(key, common::key_view(info));
                common::InfoList out;
                for (const pmix_info_t& one : common::infos_in(info.value)) out.append(one);
                return out;
            }
        return {};
    }
    std::pair<pmix_status_t, common::InfoList> ask(std::vector<std::string> what, InfoList qualifiers) {
        std::vector<char*> keys;
        for (std::string& key : what) keys.push_back(key.data());
        keys.push_back(nullptr);
        pmix_query_t one{};
        one.keys = keys.data();
        one.qualifiers = const_cast<pmix_info_t*>(qualifiers.c_array());
        one.nqual = qualifiers.size();
        common::QueryRequest request;
        request.queries = common::Queries::borrow(&one, 1);
        host.keys.clear();
        auto reply = client->wait(client->start<Command::query>(request));
        common::ResultsReply results;
        if (!reply) return {PMIX_ERR_LOST_CONNECTION, common::InfoList()};
        if (!reply->payload.empty()) {
            EXPECT_STATUS(PMIX_SUCCESS, common::decode_message(reply->payload, results));
        }
        return {reply->header.status, results.infos.take()};
    }
    static InfoList list_of_node(const char* name, const char* aliases) {
        InfoList list;
        list.append_string(PMIX_HOSTNAME, name);
        list.append_string(PMIX_HOSTNAME_ALIASES, aliases);
        return list;
    }
    static InfoList of_rank(uint32_t rank) {
        InfoList list;
        const pmix_proc_t proc = ProcId("job", rank).to_c();
        list.append(PMIX_PROCID, &proc, PMIX_PROC);
        return list;
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
        EXPECT_STATUS(PMIX_ERR_NOT_FOUND, query(key, "n1")) << key;
        EXPECT_EQ(std::vector<std::string>{key}, host.keys);
        EXPECT_STATUS(PMIX_SUCCESS, query(key, "n0")) << key;
        EXPECT_TRUE(host.keys.empty()) << key;
    }
}

// Also where the query names a rank that is on this node. rows: Q16 Q17
TEST_F(ServerQueryTest, MemoryUsageOfOneRank_OnAnotherNode_HostIsAsked) {
    EXPECT_STATUS(PMIX_ERR_NOT_FOUND, query(PMIX_QUERY_MEMORY_USAGE, "n1", true));
    EXPECT_EQ(std::vector<std::string>{PMIX_QUERY_MEMORY_USAGE}, host.keys);
    EXPECT_STATUS(PMIX_SUCCESS, query(PMIX_QUERY_MEMORY_USAGE, "n0", true));
    EXPECT_TRUE(host.keys.empty());
}

// A node is named by its name, by an alias or by its number, in every query that is about a node. rows: Q16 Q17 Q20
// proves: PMIx_Query_info PMIX_QUERY_LOCAL_PROC_TABLE PMIX_HOSTNAME PMIX_NODEID server
// proves: PMIx_Query_info PMIX_QUERY_MEMORY_USAGE PMIX_HOSTNAME PMIX_NODEID server
// proves: PMIx_Query_info PMIX_DAEMON_MEMORY PMIX_HOSTNAME PMIX_NODEID server
// proves: PMIx_Query_info PMIX_CLIENT_AVG_MEMORY PMIX_HOSTNAME PMIX_NODEID server
// proves: PMIx_Query_info PMIX_AVAIL_PHYS_MEMORY PMIX_HOSTNAME PMIX_NODEID server
// proves: PMIx_Query_info PMIX_SERVER_URI PMIX_HOSTNAME PMIX_NODEID server
TEST_F(ServerQueryTest, ANodeByNameAliasOrNumber_InEveryQuery) {
    InfoList here = list_of_node("n0", "alias0"), far = list_of_node("n1", "alias1"), nodes;
    here.append_number<uint32_t>(PMIX_NODEID, 40, PMIX_UINT32);
    far.append_number<uint32_t>(PMIX_NODEID, 41, PMIX_UINT32);
    nodes.append(PMIX_NODE_INFO_ARRAY, std::move(common::array_value(std::move(here))).value());
    nodes.append(PMIX_NODE_INFO_ARRAY, std::move(common::array_value(std::move(far))).value());
    ASSERT_STATUS(PMIX_SUCCESS, server->add_job("job", 1, nodes));
    struct Way {
        const char* key;
        const char* name;
        uint32_t number;
        bool here;
    };
    constexpr Way kWays[] = {{PMIX_HOSTNAME, "n0", 0, true},      {PMIX_HOSTNAME, "n1", 0, false},
                             {PMIX_HOSTNAME, "alias0", 0, true},  {PMIX_HOSTNAME, "alias1", 0, false},
                             {PMIX_NODEID, nullptr, 40, true},    {PMIX_NODEID, nullptr, 41, false},
                             {PMIX_HOSTNAME, "nobody", 0, false}, {PMIX_NODEID, nullptr, 0, false}};
    for (const char* key : {PMIX_QUERY_PROC_TABLE, PMIX_QUERY_LOCAL_PROC_TABLE, PMIX_QUERY_MEMORY_USAGE,
                            PMIX_DAEMON_MEMORY, PMIX_CLIENT_AVG_MEMORY, PMIX_AVAIL_PHYS_MEMORY, PMIX_SERVER_URI,
                            PMIX_QUERY_PROC_RESOURCE_USAGE, PMIX_QUERY_NODE_RESOURCE_USAGE}) {
        for (const Way& way : kWays) {
            InfoList qualifiers = of_job("job");
            if (way.name != nullptr) {
                qualifiers.append_string(way.key, way.name);
            } else {
                qualifiers.append_number(way.key, way.number, PMIX_UINT32);
            }
            const auto status = ask({key}, std::move(qualifiers)).first;
            const std::string what = std::string(key) + ' ' + (way.name ? way.name : std::to_string(way.number));
            EXPECT_STATUS(way.here ? PMIX_SUCCESS : PMIX_ERR_NOT_FOUND, status) << what;
            EXPECT_EQ(way.here ? std::vector<std::string>() : std::vector<std::string>{key}, host.keys) << what;
        }
    }
}

// The host may call the node otherwise than it calls itself. rows: Q16 Q17 Q20
TEST_F(ServerQueryTest, ThisNodeByAnAlias_IsAnsweredHere) {
    InfoList here = list_of_node("n0", "alias0,other0"), far = list_of_node("n1", "alias1"), nodes;
    nodes.append(PMIX_NODE_INFO_ARRAY, std::move(common::array_value(std::move(here))).value());
    nodes.append(PMIX_NODE_INFO_ARRAY, std::move(common::array_value(std::move(far))).value());
    ASSERT_STATUS(PMIX_SUCCESS, server->add_job("job", 1, nodes));
    for (const char* key : {PMIX_QUERY_LOCAL_PROC_TABLE, PMIX_QUERY_MEMORY_USAGE, PMIX_DAEMON_MEMORY, PMIX_SERVER_URI,
                            PMIX_QUERY_PROC_RESOURCE_USAGE, PMIX_QUERY_NODE_RESOURCE_USAGE}) {
        host.upcalls = 0;
        for (const char* name : {"alias0", "other0"})
            EXPECT_STATUS(PMIX_SUCCESS, query(key, name)) << key << " " << name;
        EXPECT_EQ(0, host.upcalls) << key;
        for (const char* name : {"alias1", "n1", "nowhere"})
            EXPECT_STATUS(PMIX_ERR_NOT_FOUND, query(key, name)) << key << " " << name;
        EXPECT_EQ(3, host.upcalls) << key;
    }
    // Of a namespace that has no node of that name, as a tool's own.
    InfoList of_nobody;
    of_nobody.append_string(PMIX_NSPACE, "no.job");
    of_nobody.append_string(PMIX_HOSTNAME, "alias0");
    EXPECT_STATUS(PMIX_SUCCESS, ask({PMIX_DAEMON_MEMORY}, std::move(of_nobody)).first);
}

// The job has two nodes, of which this is one. rows: Q17 Q20
// proves: PMIx_Query_info PMIX_QUERY_PROC_RESOURCE_USAGE PMIX_PROCID PMIX_NSPACE PMIX_RANK PMIX_HOSTNAME server
// proves: PMIx_Query_info PMIX_QUERY_PROC_RESOURCE_USAGE PMIX_NODEID server
TEST_F(ServerQueryTest, ResourcesOfProcesses_HereAreSampled_OthersAreTheHosts) {
    InfoList by_name = of_job("job"), by_node = of_job("job"), by_number = of_job("job");
    const pmix_rank_t rank = 0;
    by_name.append(PMIX_RANK, &rank, PMIX_PROC_RANK);
    by_node.append_string(PMIX_HOSTNAME, "n0");
    by_number.append_number<uint32_t>(PMIX_NODEID, 0, PMIX_UINT32);
    for (InfoList* qualifiers : {&by_name, &by_node, &by_number}) {
        const common::InfoList found = sample(PMIX_QUERY_PROC_RESOURCE_USAGE, std::move(*qualifiers));
        ASSERT_EQ(1u, found.size());
        EXPECT_EQ(PMIX_PROC_RESOURCE_USAGE, common::key_view(found[0]));
        const InfoView figures = common::infos_in(found[0].value);
        const pmix_proc_t* proc = nullptr;
        ASSERT_STATUS(PMIX_SUCCESS, figures.get(PMIX_PROCID, &proc));
        EXPECT_EQ(ProcId("job", 0), ProcId(*proc));
        ASSERT_NE(nullptr, figures.find(PMIX_PROC_PID));
        EXPECT_EQ(::getpid(), figures.find(PMIX_PROC_PID)->value.data.pid);
        EXPECT_TRUE(host.keys.empty());
    }
    EXPECT_EQ(1u, sample(PMIX_QUERY_PROC_RESOURCE_USAGE, of_rank(0)).size());
    for (const bool whole : {true, false}) {
        EXPECT_STATUS(PMIX_ERR_NOT_FOUND,
                      ask({PMIX_QUERY_PROC_RESOURCE_USAGE}, whole ? of_job("job") : of_rank(1)).first);
        EXPECT_EQ(std::vector<std::string>{PMIX_QUERY_PROC_RESOURCE_USAGE}, host.keys) << whole;
    }
}

// rows: Q17 Q20
// proves: PMIx_Query_info PMIX_QUERY_NODE_RESOURCE_USAGE PMIX_HOSTNAME PMIX_NODEID PMIX_NSPACE server
TEST_F(ServerQueryTest, ResourcesOfNodes_ThisOneIsSampled_OthersAreTheHosts) {
    server->job("small", 1, 1);
    InfoList named, numbered, another = of_job("job"), second;
    named.append_string(PMIX_HOSTNAME, "n0");
    numbered.append_number<uint32_t>(PMIX_NODEID, 0, PMIX_UINT32);
    InfoList whole_job = of_job("small");
    for (InfoList* qualifiers : {&named, &numbered, &whole_job}) {
        const common::InfoList found = sample(PMIX_QUERY_NODE_RESOURCE_USAGE, std::move(*qualifiers));
        ASSERT_EQ(1u, found.size());
        EXPECT_EQ(PMIX_NODE_RESOURCE_USAGE, common::key_view(found[0]));
        const InfoView figures = common::infos_in(found[0].value);
        std::string_view name;
        EXPECT_STATUS(PMIX_SUCCESS, figures.get(PMIX_HOSTNAME, &name));
        EXPECT_EQ("n0", name);
        EXPECT_NE(nullptr, figures.find(PMIX_NODE_MEM_TOTAL));
        EXPECT_TRUE(host.keys.empty());
    }
    second.append_number<uint32_t>(PMIX_NODEID, 1, PMIX_UINT32);
    for (InfoList* qualifiers : {&another, &second}) {
        EXPECT_STATUS(PMIX_ERR_NOT_FOUND, ask({PMIX_QUERY_NODE_RESOURCE_USAGE}, std::move(*qualifiers)).first);
        EXPECT_EQ(std::vector<std::string>{PMIX_QUERY_NODE_RESOURCE_USAGE}, host.keys);
    }
}

// Keys that are sampled and others, of which the host knows one, in one answer. rows: Q17 Q20
TEST_F(ServerQueryTest, ResourcesAmongOtherKeys_OneAnswerHasAll) {
    const auto [status, infos] =
        ask({"host.thing", PMIX_QUERY_PROC_RESOURCE_USAGE, PMIX_PROC_PID, PMIX_QUERY_NODE_RESOURCE_USAGE}, of_rank(0));
    EXPECT_STATUS(PMIX_ERR_PARTIAL_SUCCESS, status) << "the job has another node";
    ASSERT_EQ(1u, infos.size());
    const InfoView found = common::infos_in(infos[0].value);
    EXPECT_NE(nullptr, found.find("host.thing"));
    EXPECT_NE(nullptr, found.find(PMIX_QUERY_PROC_RESOURCE_USAGE));
    EXPECT_NE(nullptr, found.find(PMIX_PROC_PID));
    EXPECT_EQ((std::vector<std::string>{"host.thing", PMIX_QUERY_NODE_RESOURCE_USAGE}), host.keys);
}

// Each sample is a walk through the kernel's files, and a request of a few bytes could ask for thousands. rows: Q20
TEST_F(ServerQueryTest, ResourcesAskedForTooOften_IsRefused) {
    std::vector<std::string> keys(16, PMIX_QUERY_PROC_RESOURCE_USAGE);
    EXPECT_STATUS(PMIX_SUCCESS, ask(keys, of_rank(0)).first);
    keys.emplace_back(PMIX_QUERY_PROC_RESOURCE_USAGE);
    EXPECT_STATUS(PMIX_ERR_OUT_OF_RESOURCE, ask(keys, of_rank(0)).first);
}

// rows: Q20
TEST_F(ServerQueryTest, ResourcesOfAProcess_TheRequesterHasGone_TheServerGoesOn) {
    std::string text = PMIX_QUERY_PROC_RESOURCE_USAGE;
    char* keys[] = {text.data(), nullptr};
    const InfoList qualifiers = of_rank(0);
    pmix_query_t one{};
    one.keys = keys;
    one.qualifiers = const_cast<pmix_info_t*>(qualifiers.c_array());
    one.nqual = qualifiers.size();
    common::QueryRequest request;
    request.queries = common::Queries::borrow(&one, 1);
    client->start<Command::query>(request);
    client.reset();
    server->settle();
    client = std::make_unique<FakeClient>(*server, ProcId("job", 0));
    ASSERT_STATUS(PMIX_SUCCESS, client->hello());
    EXPECT_EQ(1u, sample(PMIX_QUERY_PROC_RESOURCE_USAGE, of_rank(0)).size());
}

}  // namespace pmix::test::server_query_test

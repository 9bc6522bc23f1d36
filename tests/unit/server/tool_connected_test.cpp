// SPDX-License-Identifier: BSD-3-Clause
// The host's entry for tools: what it is told of each, that its answer names the tool, and that its refusal ends the
// connection.
#include <gtest/gtest.h>
#include <pmix_server.h>
#include <unistd.h>

#include <vector>

#include "common/values/info_view.h"
#include "support/fake_client.h"
#include "support/status.h"

namespace pmix::test::tool_connected_test {
namespace {

using common::InfoList;
using common::InfoView;
using common::PeerRole;

struct ToolHost {
    static inline ToolHost* current = nullptr;
    ToolHost() { current = this; }
    ~ToolHost() { current = nullptr; }
    InfoList told;
    int calls = 0;
    pmix_status_t status = PMIX_SUCCESS;
    ProcId name{"given-by-host", 4};
    bool later = false;
    pmix_tool_connection_cbfunc_t waiting = nullptr;
    void* waiting_data = nullptr;

    void answer(pmix_tool_connection_cbfunc_t done, void* cbdata) const {
        pmix_proc_t given = name.to_c();
        done(status, name.nspace.empty() ? nullptr : &given, cbdata);
    }
    static void connected(pmix_info_t* infos, size_t n, pmix_tool_connection_cbfunc_t done, void* cbdata) {
        ++current->calls;
        current->told.reset();
        current->told.append_all(infos, n);
        if (!current->later) return current->answer(done, cbdata);
        current->waiting = done;
        current->waiting_data = cbdata;
    }
};

class ToolConnected : public ::testing::Test {
  protected:
    ToolConnected() {
        module.tool_connected = &ToolHost::connected;
        server::ServerOptions options;
        options.tool_support = true;
        server = std::make_unique<TestServer>(&module, options);
    }
    uint32_t told_number(const char* key) {
        uint32_t n = 4711;
        EXPECT_STATUS(PMIX_SUCCESS, InfoView(host.told).get(key, &n));
        return n;
    }
    ToolHost host;
    pmix_server_module_t module{};
    std::unique_ptr<TestServer> server;
};

// rows: U13 T4
TEST_F(ToolConnected, TheHostLearnsWhoItIsAndNamesIt) {
    FakeClient tool(*server, ProcId());
    ASSERT_STATUS(PMIX_SUCCESS, tool.hello({}, PeerRole::tool));
    EXPECT_EQ(1, host.calls);
    EXPECT_EQ(::geteuid(), told_number(PMIX_USERID));
    EXPECT_EQ(::getegid(), told_number(PMIX_GRPID));
    EXPECT_FALSE(InfoView(host.told).has(PMIX_TOOL_NSPACE)) << "it has not said";
    EXPECT_EQ(ProcId("given-by-host", 4), tool.hello_reply().self);
}

// rows: U13 T4
TEST_F(ToolConnected, ANameOfItsOwnIsTold) {
    FakeClient tool(*server, ProcId("own-name", 2));
    host.name = ProcId("own-name", 2);
    ASSERT_STATUS(PMIX_SUCCESS, tool.hello({}, PeerRole::tool));
    std::string_view nspace;
    EXPECT_STATUS(PMIX_SUCCESS, InfoView(host.told).get(PMIX_TOOL_NSPACE, &nspace));
    EXPECT_EQ("own-name", nspace);
    const pmix_info_t* rank = InfoView(host.told).find(PMIX_TOOL_RANK);
    ASSERT_NE(nullptr, rank);
    EXPECT_EQ(2u, rank->value.data.rank);
    EXPECT_EQ(ProcId("own-name", 2), tool.hello_reply().self);
}

// The attributes that a tool was given are sent too, in whatever type. rows: U13 T4
TEST_F(ToolConnected, ItsRankIsToldInTheStandardsType) {
    FakeClient tool(*server, ProcId("own-name", 5));
    host.name = ProcId("own-name", 5);
    common::HelloRequest mine;
    mine.role = PeerRole::tool;
    mine.nspace = "own-name";
    mine.rank = 5;
    InfoList given;
    const int rank_given = 5;
    given.append_string(PMIX_TOOL_NSPACE, "own-name");
    given.append(PMIX_TOOL_RANK, &rank_given, PMIX_INT);
    mine.infos = common::Infos::borrow(given.c_array(), given.size());
    common::HelloClient hello(std::move(mine), common::Token{});
    tool.start<Command::hello>(hello.request());
    ASSERT_TRUE(server->turn_until([&] { return host.calls == 1; }));
    const pmix_info_t* rank = InfoView(host.told).find(PMIX_TOOL_RANK);
    ASSERT_NE(nullptr, rank);
    EXPECT_EQ(PMIX_PROC_RANK, rank->value.type);
    EXPECT_EQ(5u, rank->value.data.rank);
}

// rows: U13
TEST_F(ToolConnected, RefusalEndsTheConnectionAndLeavesNothing) {
    for (const pmix_status_t refusal : {PMIX_ERR_NO_PERMISSIONS, PMIX_ERR_NOT_SUPPORTED}) {
        host.status = refusal;
        FakeClient tool(*server, ProcId());
        EXPECT_EQ(refusal, tool.hello({}, PeerRole::tool));
        EXPECT_TRUE(server->turn_until([&] { return tool.hung_up(); }));
    }
    EXPECT_EQ(0u, server->parts().tools.size());
    EXPECT_TRUE(server->parts().peers.empty());
}

// rows: U13
TEST_F(ToolConnected, AnAnswerForAToolThatHasGoneIsNobodys) {
    host.later = true;
    {
        FakeClient tool(*server, ProcId());
        common::HelloRequest mine;
        mine.role = PeerRole::tool;
        common::HelloClient hello(std::move(mine), common::Token{});
        tool.start<Command::hello>(hello.request());
        ASSERT_TRUE(server->turn_until([&] { return host.waiting != nullptr; }));
        tool.kill();
        server->settle();
    }
    host.answer(host.waiting, host.waiting_data);
    server->settle();
    EXPECT_EQ(0u, server->parts().tools.size());
    EXPECT_TRUE(server->parts().peers.empty());
    host.later = false;
    FakeClient next(*server, ProcId());
    EXPECT_STATUS(PMIX_SUCCESS, next.hello({}, PeerRole::tool)) << "the name is free";
}

}  // namespace
}  // namespace pmix::test::tool_connected_test

// SPDX-License-Identifier: BSD-3-Clause
// The host's entry for tools: what it is told of each, that its answer names the tool, and that its refusal ends the
// connection.
#include <gtest/gtest.h>
#include <pmix_server.h>
#include <unistd.h>

#include <vector>

#include "common/values/info_view.h"
#include "support/fake_client.h"

namespace pmix::test {
namespace {

using common::InfoList;
using common::InfoView;
using common::PeerRole;

struct Door {
    static inline Door* current = nullptr;
    Door() { current = this; }
    ~Door() { current = nullptr; }
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
    static void came(pmix_info_t* infos, size_t n, pmix_tool_connection_cbfunc_t done, void* cbdata) {
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
        module.tool_connected = &Door::came;
        server::ServerOptions options;
        options.tool_support = true;
        server = std::make_unique<TestServer>(&module, options);
    }
    uint32_t told_number(const char* key) {
        uint32_t n = 4711;
        EXPECT_EQ(PMIX_SUCCESS, InfoView(door.told).get(key, &n));
        return n;
    }
    Door door;
    pmix_server_module_t module{};
    std::unique_ptr<TestServer> server;
};

// rows: U13 T4
TEST_F(ToolConnected, TheHostLearnsWhoItIsAndNamesIt) {
    FakeClient tool(*server, ProcId());
    ASSERT_EQ(PMIX_SUCCESS, tool.hello({}, PeerRole::tool));
    EXPECT_EQ(1, door.calls);
    EXPECT_EQ(::geteuid(), told_number(PMIX_USERID));
    EXPECT_EQ(::getegid(), told_number(PMIX_GRPID));
    EXPECT_FALSE(InfoView(door.told).has(PMIX_TOOL_NSPACE)) << "it has not said";
    EXPECT_EQ(ProcId("given-by-host", 4), tool.hello_reply().self);
}

// rows: U13 T4
TEST_F(ToolConnected, ANameOfItsOwnIsTold) {
    FakeClient tool(*server, ProcId("own-name", 2));
    door.name = ProcId("own-name", 2);
    ASSERT_EQ(PMIX_SUCCESS, tool.hello({}, PeerRole::tool));
    std::string_view nspace;
    EXPECT_EQ(PMIX_SUCCESS, InfoView(door.told).get(PMIX_TOOL_NSPACE, &nspace));
    EXPECT_EQ("own-name", nspace);
    const pmix_info_t* rank = InfoView(door.told).find(PMIX_TOOL_RANK);
    ASSERT_NE(nullptr, rank);
    EXPECT_EQ(2u, rank->value.data.rank);
    EXPECT_EQ(ProcId("own-name", 2), tool.hello_reply().self);
}

// rows: U13
TEST_F(ToolConnected, RefusalEndsTheConnectionAndLeavesNothing) {
    for (const pmix_status_t refusal : {PMIX_ERR_NO_PERMISSIONS, PMIX_ERR_NOT_SUPPORTED}) {
        door.status = refusal;
        FakeClient tool(*server, ProcId());
        EXPECT_EQ(refusal, tool.hello({}, PeerRole::tool));
        EXPECT_TRUE(server->turn_until([&] { return tool.hung_up(); }));
    }
    EXPECT_EQ(0u, server->parts().tools.size());
    EXPECT_TRUE(server->parts().peers.empty());
}

// rows: U13
TEST_F(ToolConnected, AnAnswerForAToolThatHasGoneIsNobodys) {
    door.later = true;
    {
        FakeClient tool(*server, ProcId());
        common::HelloRequest mine;
        mine.role = PeerRole::tool;
        common::HelloClient hello(std::move(mine), common::Token{});
        tool.start<Command::hello>(hello.request());
        ASSERT_TRUE(server->turn_until([&] { return door.waiting != nullptr; }));
        tool.kill();
        server->settle();
    }
    door.answer(door.waiting, door.waiting_data);
    server->settle();
    EXPECT_EQ(0u, server->parts().tools.size());
    EXPECT_TRUE(server->parts().peers.empty());
    door.later = false;
    FakeClient next(*server, ProcId());
    EXPECT_EQ(PMIX_SUCCESS, next.hello({}, PeerRole::tool)) << "the name is free";
}

}  // namespace
}  // namespace pmix::test

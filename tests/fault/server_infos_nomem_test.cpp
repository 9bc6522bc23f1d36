// SPDX-License-Identifier: BSD-3-Clause
// The n-th allocation of a server fails, for every n, while it makes an upcall: the host is given all the infos that it
// is to be given, or is not called.
#include <gtest/gtest.h>

#include <initializer_list>

#include "client/session/handshake.h"
#include "support/failing_node.h"
#include "support/group_requests.h"

namespace server_infos_nomem_test {

using namespace pmix;
using namespace pmix::test;

namespace {

constexpr const char* kSiteKey = "site.key";

InfoList given(InfoList list = {}) {
    list.append_string(kSiteKey, "of the callers");
    return list;
}

void expect_infos(const Node& node, const char* upcall, std::initializer_list<const char*> keys) {
    for (const Seen& seen : node.host.seen) {
        if (seen.what != upcall) continue;
        for (const char* key : keys) EXPECT_NE(nullptr, seen.infos.find(key)) << upcall << " without " << key;
    }
}

void expect_infos_of_collective(const Node& node, const char* upcall) {
    expect_infos(node, upcall,
                 {kSiteKey, PMIX_USERID, PMIX_GRPID, PMIX_SORTED_PROC_ARRAY, PMIX_LOCAL_COLLECTIVE_STATUS});
}

void fail_everywhere_but_in_host(const std::function<void(Node&)>& scenario) {
    fail_everywhere(scenario, 5, true);
}

}  // namespace

TEST(ServerInfosNomemTest, Fence_OneAllocationFails_HostIsGivenTheCallersInfos) {
    fail_everywhere_but_in_host([](Node& node) {
        common::FenceRequest request;
        request.procs = {{"job", PMIX_RANK_WILDCARD}};
        request.infos = given(flag(PMIX_COLLECT_DATA));
        const uint32_t ia = node.a->start<Command::fence>(request);
        request.infos = given(flag(PMIX_COLLECT_DATA));
        await_both(node, ia, node.b->start<Command::fence>(request));
        expect_infos_of_collective(node, "fence");
        expect_infos(node, "fence", {PMIX_COLLECT_DATA});
    });
}

TEST(ServerInfosNomemTest, ConnectAndDisconnect_OneAllocationFails_HostIsGivenTheCallersInfos) {
    fail_everywhere_but_in_host([](Node& node) {
        const auto ask = [](FakeClient& client, auto command) {
            common::ConnectRequest request;
            request.procs = {{"job", PMIX_RANK_WILDCARD}};
            request.infos = given();
            return client.start<command.value>(request);
        };
        constexpr std::integral_constant<Command, Command::connect> connect{};
        constexpr std::integral_constant<Command, Command::disconnect> disconnect{};
        const auto [ca, cb] = await_both(node, ask(*node.a, connect), ask(*node.b, connect));
        expect_infos_of_collective(node, "connect");
        if (ca != PMIX_SUCCESS || cb != PMIX_SUCCESS) return;
        await_both(node, ask(*node.a, disconnect), ask(*node.b, disconnect));
        expect_infos_of_collective(node, "disconnect");
    });
}

TEST(ServerInfosNomemTest, Group_OneAllocationFails_HostIsGivenTheCallersInfos) {
    fail_everywhere_but_in_host([](Node& node) {
        const auto infos = [] {
            InfoList list = given();
            for (const char* key : {PMIX_GROUP_NOTIFY_TERMINATION, PMIX_GROUP_FT_COLLECTIVE, PMIX_GROUP_OPTIONAL})
                list.append_flag(key, true);
            return list;
        };
        node.host.group_results = [](const Seen&, InfoList& out) {
            const Spared spared;
            out.append_number<size_t>(PMIX_GROUP_CONTEXT_ID, 7, PMIX_SIZE);
        };
        const uint32_t ia = construct(*node.a, {kAll}, infos());
        await_both(node, ia, construct(*node.b, {kAll}, infos()));
        expect_infos_of_collective(node, "group");
        expect_infos(node, "group",
                     {PMIX_GROUP_ASSIGN_CONTEXT_ID, PMIX_GROUP_OPTIONAL, PMIX_GROUP_NOTIFY_TERMINATION,
                      PMIX_GROUP_FT_COLLECTIVE});
    });
}

TEST(ServerInfosNomemTest, ConstructByALeader_OneAllocationFails_HostIsGivenTheCallersInfos) {
    fail_everywhere_but_in_host([](Node& node) {
        node.host.statuses["group"] = PMIX_ERR_NOT_SUPPORTED;
        const uint32_t ia = construct(*node.a, {{"job", 0}}, given(leading(1)));
        std::optional<pmix_status_t> status;
        EXPECT_TRUE(node.turn_until([&] {
            if (!status) status = outcome(*node.a, ia);
            return status.has_value();
        })) << "rank 0 waits";
        expect_infos(node, "group",
                     {kSiteKey, PMIX_GROUP_BOOTSTRAP, PMIX_USERID, PMIX_GRPID, PMIX_LOCAL_COLLECTIVE_STATUS});
    });
}

// A context id that is assigned on this node.
TEST(ServerInfosNomemTest, LocalGroupWithAContextId_OneAllocationFails_IsNoLackOfSupport) {
    fail_everywhere([](Node& node) {
        const auto infos = [] {
            InfoList list = flag(PMIX_GROUP_ASSIGN_CONTEXT_ID);
            list.append_number<pmix_data_range_t>(PMIX_RANGE, PMIX_RANGE_LOCAL, PMIX_DATA_RANGE);
            return list;
        };
        node.module.group = nullptr;
        node.server.on_loop([&] { return node.server.parts().host.set_module(&node.module, 0), 0; });
        const ProcList here{{"job", 0}, {"job", 1}};
        const uint32_t ia = construct(*node.a, here, infos()), ib = construct(*node.b, here, infos());
        const auto [sa, sb] = await_both(node, ia, ib);
        EXPECT_NE(PMIX_ERR_NOT_SUPPORTED, sa);
        EXPECT_NE(PMIX_ERR_NOT_SUPPORTED, sb);
    });
}

TEST(ServerInfosNomemTest, Hello_OneAllocationFails_HostIsToldOfTheUser) {
    fail_everywhere_but_in_host([](Node& node) {
        node.server.job("other", 1, 1);
        FakeClient c(node.server, {"other", 0});
        common::HelloRequest mine;
        mine.role = common::PeerRole::client;
        mine.nspace = "other";
        mine.rank = 0;
        mine.infos = given();
        common::HelloClient hello(std::move(mine), {});
        const uint32_t id = c.start<Command::hello>(hello.request());
        EXPECT_TRUE(node.turn_until([&] { return outcome(c, id).has_value(); })) << "it waits";
        const Seen* seen = node.host.last("client_connected2");
        if (seen == nullptr || seen->proc != ProcId("other", 0)) return;
        for (const char* key : {kSiteKey, PMIX_USERID, PMIX_GRPID})
            EXPECT_NE(nullptr, seen->infos.find(key)) << "no " << key;
    });
}

}  // namespace server_infos_nomem_test

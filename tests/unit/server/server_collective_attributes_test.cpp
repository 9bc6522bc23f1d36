// SPDX-License-Identifier: BSD-3-Clause
// Attributes of fence, connect, disconnect and groups at the server: each test fails where its attribute is not heeded.
#include <gtest/gtest.h>

#include "common/protocol/group_calls.h"
#include "common/values/proc_array.h"
#include "support/fake_client.h"
#include "support/status.h"

namespace server_collective_attributes_test {

using namespace pmix;
using namespace pmix::test;
using common::GroupCall;
using common::InfoList;
using common::ProcList;

namespace {

const ProcId kAll("job", PMIX_RANK_WILDCARD);

InfoList flag(const char* key) {
    InfoList list;
    list.append_flag(key, true);
    return list;
}

struct Setting {
    explicit Setting(unsigned nodes, unsigned ppn, bool placed = true) : module(host.module()), server(&module) {
        if (placed) {
            server.job("job", nodes, ppn);
        } else {
            EXPECT_STATUS(PMIX_SUCCESS, server.add_job("job", static_cast<int>(ppn), {}));
            for (unsigned r = 0; r < ppn; ++r) server.add_client("job", r);
        }
        for (unsigned r = 0; r < ppn; ++r) clients.push_back(join(r));
    }
    std::unique_ptr<FakeClient> join(unsigned rank) {
        auto client = std::make_unique<FakeClient>(server, ProcId("job", rank));
        EXPECT_STATUS(PMIX_SUCCESS, client->hello());
        return client;
    }
    FakeClient& operator[](size_t i) { return *clients[i]; }
    void kill(size_t i) {
        clients[i]->kill();
        server.settle();
    }
    FakeHost host;
    pmix_server_module_t module;
    TestServer server;
    std::vector<std::unique_ptr<FakeClient>> clients;
};

using Start = uint32_t (*)(FakeClient&, InfoList);
struct Collective {
    const char* name;
    Start start;
};
template <Command C, class Request>
uint32_t start(FakeClient& client, InfoList infos) {
    Request request;
    request.procs = {kAll};
    request.infos = std::move(infos);
    return client.start<C>(request);
}
const Collective kCollectives[] = {{"fence", start<Command::fence, common::FenceRequest>},
                                   {"connect", start<Command::connect, common::ConnectRequest>},
                                   {"disconnect", start<Command::disconnect, common::ConnectRequest>}};

// Both processes join, and wait for a clone of one of them.
std::pair<uint32_t, uint32_t> start_without_a_clone(Setting& s, const Collective& c) {
    if (c.start == kCollectives[2].start) {
        const uint32_t a = kCollectives[1].start(s[0], {}), b = kCollectives[1].start(s[1], {});
        EXPECT_STATUS(PMIX_SUCCESS, status_of(s[0], a));
        EXPECT_STATUS(PMIX_SUCCESS, status_of(s[1], b));
    }
    const uint32_t a = c.start(s[0], flag(PMIX_ALL_CLONES_PARTICIPATE));
    const uint32_t b = c.start(s[1], flag(PMIX_ALL_CLONES_PARTICIPATE));
    s.server.settle();
    EXPECT_FALSE(s[0].take(a)) << "the clone is missing";
    return {a, b};
}

uint32_t group(FakeClient& client, GroupCall call, ProcList procs = {}, InfoList infos = {}) {
    common::GroupRequest request;
    request.call = call;
    request.name = "group";
    request.procs = std::move(procs);
    request.infos = std::move(infos);
    return client.start<Command::group>(request);
}
ProcList members_of(FakeClient& client, uint32_t id) {
    auto reply = client.wait(id);
    common::GroupReply message;
    ProcList members;
    if (!reply || common::decode_message(reply->payload, message) != PMIX_SUCCESS) return members;
    const InfoList results = message.infos.take();
    if (const pmix_info_t* info = results.find(PMIX_GROUP_MEMBERSHIP)) common::read_proc_array(info->value, members);
    return members;
}
void form(Setting& s) {
    std::vector<uint32_t> ids;
    for (auto& client : s.clients) ids.push_back(group(*client, GroupCall::construct, {kAll}));
    for (size_t i = 0; i < ids.size(); ++i) ASSERT_STATUS(PMIX_SUCCESS, status_of(s[i], ids[i]));
}

}  // namespace

// rows: F1 F12 C1 C4
// proves: PMIx_Fence PMIX_ALL_CLONES_PARTICIPATE server
// proves: PMIx_Connect PMIX_ALL_CLONES_PARTICIPATE server
// proves: PMIx_Disconnect PMIX_ALL_CLONES_PARTICIPATE server
TEST(CollectiveAttributes, EveryCloneOfARankIsWaitedFor) {
    for (const Collective& c : kCollectives) {
        SCOPED_TRACE(c.name);
        Setting s(1, 2);
        auto clone = s.join(0);
        const auto [a, b] = start_without_a_clone(s, c);
        const uint32_t third = c.start(*clone, flag(PMIX_ALL_CLONES_PARTICIPATE));
        EXPECT_STATUS(PMIX_SUCCESS, status_of(s[0], a));
        EXPECT_STATUS(PMIX_SUCCESS, status_of(s[1], b));
        EXPECT_STATUS(PMIX_SUCCESS, status_of(*clone, third));
    }
}

// rows: C4
TEST(CollectiveAttributes, Disconnect_OfASetThatIsNotConnected_IsRefused) {
    for (const bool with_host : {false, true}) {
        FakeHost host;
        auto module = host.module();
        TestServer server(with_host ? &module : nullptr);
        server.job("job", 1, 1);
        FakeClient a(server, {"job", 0});
        ASSERT_STATUS(PMIX_SUCCESS, a.hello());
        const auto& connect = kCollectives[1];
        const auto& disconnect = kCollectives[2];
        EXPECT_STATUS(PMIX_ERR_INVALID_OPERATION, status_of(a, disconnect.start(a, {}))) << with_host;
        EXPECT_STATUS(PMIX_SUCCESS, status_of(a, connect.start(a, {}))) << with_host;
        EXPECT_STATUS(PMIX_SUCCESS, status_of(a, disconnect.start(a, {}))) << with_host;
        EXPECT_STATUS(PMIX_ERR_INVALID_OPERATION, status_of(a, disconnect.start(a, {}))) << with_host;
    }
}

// A process that has ended cannot join: its clones are not to wait for it.
TEST(CollectiveAttributes, CloneThatEnds_BeforeItJoins_IsWaitedForNoLonger) {
    for (const Collective& c : kCollectives) {
        SCOPED_TRACE(c.name);
        Setting s(1, 2);
        auto clone = s.join(0);
        const auto [a, b] = start_without_a_clone(s, c);
        clone->kill();
        EXPECT_STATUS(PMIX_SUCCESS, status_of(s[0], a));
        EXPECT_STATUS(PMIX_SUCCESS, status_of(s[1], b));
    }
}

TEST(CollectiveAttributes, CloneThatEnds_AfterItJoined_DoesNotStandForAnother) {
    Setting s(1, 2);
    auto joins = s.join(0), late = s.join(0);
    const auto fence = [](FakeClient& c) { return kCollectives[0].start(c, flag(PMIX_ALL_CLONES_PARTICIPATE)); };
    const uint32_t a = fence(s[0]), b = fence(s[1]);
    fence(*joins);
    s.server.settle();
    joins->kill();
    ASSERT_TRUE(s.server.turn_until([&] { return s.server.parts().peers.size() == 3; }));
    s.server.settle();
    EXPECT_FALSE(s[1].take(b)) << "two processes are left under rank 0, and one of them has not joined";
    const uint32_t c = fence(*late);
    EXPECT_STATUS(PMIX_SUCCESS, status_of(s[0], a));
    EXPECT_STATUS(PMIX_SUCCESS, status_of(s[1], b));
    EXPECT_STATUS(PMIX_SUCCESS, status_of(*late, c));
}

// rows: C1 C4 G11
// proves: PMIx_Connect PMIX_TIMEOUT server
// proves: PMIx_Disconnect PMIX_TIMEOUT server
// proves: PMIx_Group_destruct PMIX_TIMEOUT server
TEST(CollectiveAttributes, Timeout_AMemberNeverJoins_EndsTheWait) {
    const auto limit = [] {
        InfoList list;
        list.append_number<int>(PMIX_TIMEOUT, 1, PMIX_INT);
        return list;
    };
    Setting s(1, 2);
    form(s);
    const uint32_t ids[] = {kCollectives[1].start(s[0], limit()), kCollectives[2].start(s[0], limit()),
                            group(s[0], GroupCall::destruct, {}, limit())};
    for (uint32_t id : ids) EXPECT_STATUS(PMIX_ERR_TIMEOUT, status_of(s[0], id));
}

// rows: C1 C4 U8
// proves: PMIx_Connect PMIX_LOCAL_COLLECTIVE_STATUS server
// proves: PMIx_Disconnect PMIX_LOCAL_COLLECTIVE_STATUS server
// proves: PMIx_Group_destruct PMIX_LOCAL_COLLECTIVE_STATUS server
TEST(CollectiveAttributes, TheHostIsToldThatAMemberDiedHere) {
    for (const Collective& c : {kCollectives[1], kCollectives[2]}) {
        SCOPED_TRACE(c.name);
        Setting s(2, 2);
        s.host.statuses[c.name] = PMIX_ERR_PARTIAL_SUCCESS;
        const uint32_t a = c.start(s[0], {});
        s.server.settle();
        s.kill(1);
        EXPECT_NE(PMIX_SUCCESS, status_of(s[0], a));
        ASSERT_EQ(1u, s.host.count(c.name));
        EXPECT_STATUS(PMIX_ERR_PARTIAL_SUCCESS, number_of(s.host.last(c.name)->infos, PMIX_LOCAL_COLLECTIVE_STATUS));
    }
    Setting s(2, 2);
    form(s);
    s.kill(1);
    s.host.statuses["group"] = PMIX_ERR_PROC_TERM_WO_SYNC;
    EXPECT_STATUS(PMIX_ERR_PROC_TERM_WO_SYNC, status_of(s[0], group(s[0], GroupCall::destruct)));
    EXPECT_STATUS(PMIX_ERR_PROC_TERM_WO_SYNC, number_of(s.host.last("group")->infos, PMIX_LOCAL_COLLECTIVE_STATUS));
}

// rows: R12
// proves: PMIx_Group_destruct PMIX_GROUP_FT_COLLECTIVE server
TEST(CollectiveAttributes, ADestructThatForgivesGoesOnWithoutWhoDied) {
    for (bool forgives : {false, true}) {
        Setting s(1, 3);
        form(s);
        s.kill(2);
        const uint32_t a = group(s[0], GroupCall::destruct, {}, forgives ? flag(PMIX_GROUP_FT_COLLECTIVE) : InfoList());
        s.server.settle();
        if (!forgives) {
            EXPECT_STATUS(PMIX_ERR_PROC_TERM_WO_SYNC, status_of(s[0], a));
            continue;
        }
        EXPECT_FALSE(s[0].take(a)) << "rank 1 runs";
        const uint32_t b = group(s[1], GroupCall::destruct);
        EXPECT_STATUS(PMIX_SUCCESS, status_of(s[0], a));
        EXPECT_STATUS(PMIX_SUCCESS, status_of(s[1], b));
    }
}

// rows: R4
// proves: PMIx_Group_construct PMIX_GROUP_FINAL_MEMBERSHIP_ORDER server
TEST(CollectiveAttributes, TheOrderThatWasAskedFor) {
    Setting s(1, 3);
    const ProcList wanted = {{"job", 2}, {"job", 0}, {"job", 1}};
    InfoList order;
    common::append_proc_array(order, PMIX_GROUP_FINAL_MEMBERSHIP_ORDER, wanted);
    const uint32_t a = group(s[0], GroupCall::construct, {kAll}),
                   b = group(s[1], GroupCall::construct, {kAll}, std::move(order));
    const uint32_t c = group(s[2], GroupCall::construct, {kAll});
    EXPECT_EQ(wanted, members_of(s[0], a));
    EXPECT_EQ(wanted, members_of(s[1], b));
    EXPECT_EQ(wanted, members_of(s[2], c));
}

// rows: R1 R3
// proves: PMIx_Group_construct PMIX_GROUP_LOCAL_ONLY server
TEST(CollectiveAttributes, WhoSaysThatAllAreHereNeedsNoHost) {
    for (bool local : {false, true}) {
        Setting s(1, 2, false);
        const auto infos = [&] { return local ? flag(PMIX_GROUP_LOCAL_ONLY) : InfoList(); };
        const uint32_t a = group(s[0], GroupCall::construct, {kAll}, infos());
        const uint32_t b = group(s[1], GroupCall::construct, {kAll}, infos());
        EXPECT_STATUS(PMIX_SUCCESS, status_of(s[0], a));
        EXPECT_STATUS(PMIX_SUCCESS, status_of(s[1], b));
        EXPECT_EQ(local ? 0u : 1u, s.host.count("group")) << "nobody knows where the rest of the job is";
    }
}

// rows: R5 R3
// proves: PMIx_Group_construct PMIX_GROUP_ENDPT_DATA server
TEST(CollectiveAttributes, WhatTheMembersHavePutTravelsWithTheGroup) {
    std::vector<uint8_t> theirs;
    {
        // The other node, which has rank 1: what its server gives its host.
        FakeHost host;
        const auto module = host.module();
        server::ServerOptions options;
        options.hostname = "n1";
        TestServer server(&module, std::move(options));
        server.job("job", 2, 1, false);
        server.add_client("job", 1);
        FakeClient other(server, ProcId("job", 1));
        ASSERT_STATUS(PMIX_SUCCESS, other.hello());
        other.put("endpoint", "of rank 1");
        group(other, GroupCall::construct, {kAll});
        ASSERT_TRUE(server.turn_until([&] { return host.count("group") == 1; }));
        const pmix_info_t* data = host.last("group")->infos.find(PMIX_GROUP_ENDPT_DATA);
        ASSERT_NE(nullptr, data);
        const auto* bytes = reinterpret_cast<const uint8_t*>(data->value.data.bo.bytes);
        theirs.assign(bytes, bytes + data->value.data.bo.size);
    }
    Setting s(2, 1);
    s.host.group_results = [&](const Seen&, InfoList& out) {
        pmix_byte_object_t object{reinterpret_cast<char*>(theirs.data()), theirs.size()};
        out.append(PMIX_GROUP_ENDPT_DATA, &object, PMIX_BYTE_OBJECT);
    };
    ASSERT_STATUS(PMIX_SUCCESS, status_of(s[0], group(s[0], GroupCall::construct, {kAll})));
    EXPECT_EQ("of rank 1", s[0].read_text(1, "endpoint"));
    EXPECT_EQ(0u, s.host.count("direct_modex"));
}

// rows: R12 R18
TEST(CollectiveAttributes, NothingIsLeftOfAGroupThatWasDestructed) {
    Setting s(2, 2);
    for (int i = 0; i < 3; ++i) {
        form(s);
        const uint32_t a = group(s[0], GroupCall::destruct), b = group(s[1], GroupCall::destruct);
        ASSERT_STATUS(PMIX_SUCCESS, status_of(s[0], a));
        ASSERT_STATUS(PMIX_SUCCESS, status_of(s[1], b));
    }
    EXPECT_TRUE(s.server.parts().registry.groups().empty());
    EXPECT_EQ(0u, s.server.parts().groups.open());
    // Its name is a namespace that nobody knows, as before.
    s.host.statuses["direct_modex"] = PMIX_ERR_NOT_FOUND;
    EXPECT_STATUS(PMIX_ERR_NOT_FOUND, status_of(s[0], s[0].start_get({"group", 0}, "key")));
    EXPECT_STATUS(PMIX_ERR_NOT_FOUND, status_of(s[0], s[0].start_get({"group", 0}, "key", 0, true)));
    EXPECT_STATUS(PMIX_ERR_NOT_FOUND,
                  status_of(s[0], s[0].start_get({"group", PMIX_RANK_WILDCARD}, PMIX_GROUP_CONTEXT_ID, 0, true)));
    EXPECT_STATUS(PMIX_ERR_NOT_A_MEMBER, status_of(s[0], s[0].start_fence({{"group", PMIX_RANK_WILDCARD}})));
    EXPECT_STATUS(PMIX_ERR_NOT_FOUND, status_of(s[0], group(s[0], GroupCall::names, {{"job", 0}})));
    EXPECT_STATUS(PMIX_ERR_NOT_FOUND, status_of(s[0], group(s[0], GroupCall::leave)));
    EXPECT_EQ(nullptr, s.server.parts().registry.find("group"));
    EXPECT_EQ(0u, s.server.parts().get.waiting());
}

}  // namespace server_collective_attributes_test

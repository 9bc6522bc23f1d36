// SPDX-License-Identifier: BSD-3-Clause
// Groups whose members or leader end, stay silent, or whose namespaces end: who is told, and how each call ends.
#include <gtest/gtest.h>

#include "common/values/info_view.h"
#include "support/group_requests.h"
#include "support/status.h"

namespace server_group_failures_test {

using namespace pmix;
using namespace pmix::test;

namespace {

void expect_event(FakeClient& client, pmix_status_t code, const ProcId& affected) {
    auto event = client.take_event();
    ASSERT_TRUE(event) << code;
    EXPECT_EQ(code, event->status);
    EXPECT_EQ(affected, event->source);
    const InfoList infos = event->infos.take();
    std::string_view group;
    const pmix_proc_t* proc = nullptr;
    common::InfoView(infos).get(PMIX_GROUP_ID, &group);
    common::InfoView(infos).get(PMIX_EVENT_AFFECTED_PROC, &proc);
    EXPECT_EQ(kName, group);
    ASSERT_NE(nullptr, proc);
    EXPECT_EQ(affected, ProcId(*proc));
    EXPECT_TRUE(common::InfoView(infos).flag(PMIX_EVENT_NON_DEFAULT)) << "the group says what becomes of it";
}

}  // namespace

// rows: R8
// proves: PMIx_Group_construct PMIX_LOCAL_COLLECTIVE_STATUS server
TEST(ServerGroupFailuresTest, AMemberThatEndsBeforeItCallsIsAnErrorForAll) {
    Setting s(2, 3);
    uint32_t a = construct(s[0]), b = construct(s[1]);
    s.kill(2);
    EXPECT_STATUS(PMIX_ERR_PROC_TERM_WO_SYNC, done_of(s[0], a).status);
    EXPECT_STATUS(PMIX_ERR_PROC_TERM_WO_SYNC, done_of(s[1], b).status);
    ASSERT_EQ(1u, s.host.count("group")) << "the other nodes must hear of it";
    EXPECT_STATUS(PMIX_ERR_PROC_TERM_WO_SYNC, number_of(s.host.last("group")->infos, PMIX_LOCAL_COLLECTIVE_STATUS));
    EXPECT_STATUS(PMIX_ERR_PROC_TERM_WO_SYNC, done_of(s[0], construct(s[0], {kAll}, {}, "next")).status) << "at once";
}

// rows: R8
TEST(ServerGroupFailuresTest, Construct_FailsHereUnderAHostOf7_IsCancelledThere) {
    for (const bool of_7 : {false, true}) {
        Setting s(2, 3);
        if (of_7) s.server->parts().host.note_call_of_7();
        const uint32_t a = construct(s[0]), b = construct(s[1]);
        s.kill(2);
        EXPECT_STATUS(PMIX_ERR_PROC_TERM_WO_SYNC, done_of(s[0], a).status);
        EXPECT_STATUS(PMIX_ERR_PROC_TERM_WO_SYNC, done_of(s[1], b).status);
        s.server->settle();
        ASSERT_EQ(1u, s.host.count("group"));
        EXPECT_EQ(of_7 ? PMIX_GROUP_CANCEL : PMIX_GROUP_CONSTRUCT, s.host.last("group")->status);
        EXPECT_EQ(kName, s.host.last("group")->message);
        EXPECT_EQ(of_7, s.host.last("group")->procs.empty());
    }
    // A group whose members are all here is not handed to the host at all.
    Setting s(1, 3);
    s.server->parts().host.note_call_of_7();
    const uint32_t a = construct(s[0]), b = construct(s[1]);
    s.kill(2);
    EXPECT_STATUS(PMIX_ERR_PROC_TERM_WO_SYNC, done_of(s[0], a).status);
    EXPECT_STATUS(PMIX_ERR_PROC_TERM_WO_SYNC, done_of(s[1], b).status);
    s.server->settle();
    EXPECT_EQ(0u, s.host.count("group"));
}

// rows: R8
// proves: PMIx_Group_construct PMIX_GROUP_NOTIFY_TERMINATION server
TEST(ServerGroupFailuresTest, WhoWantsToBeToldDecides) {
    for (GroupCall verdict : {GroupCall::decide, GroupCall::abort}) {
        Setting s(1, 3);
        listen(s[0], {PMIX_GROUP_MEMBER_FAILED});
        uint32_t a = construct(s[0], {kAll}, flag(PMIX_GROUP_NOTIFY_TERMINATION)), b = construct(s[1]);
        s.kill(2);
        auto event = s[0].take_event();
        ASSERT_TRUE(event);
        EXPECT_STATUS(PMIX_GROUP_MEMBER_FAILED, event->status);
        EXPECT_EQ(ProcId("job", 2), event->source);
        EXPECT_FALSE(s[1].take(b)) << "nothing is decided yet";
        EXPECT_STATUS(PMIX_SUCCESS, done_of(s[0], start(s[0], verdict)).status);
        Done da = done_of(s[0], a), db = done_of(s[1], b);
        const bool goes_on = verdict == GroupCall::decide;
        EXPECT_STATUS(goes_on ? PMIX_ERR_PARTIAL_SUCCESS : PMIX_GROUP_CONSTRUCT_ABORT, da.status);
        EXPECT_EQ(da.status, db.status);
        if (goes_on) {
            EXPECT_EQ((ProcList{{"job", 0}, {"job", 1}}), db.members);
        }
    }
}

// rows: R8
// proves: PMIx_Group_construct PMIX_GROUP_LEADER server
TEST(ServerGroupFailuresTest, OnlyTheLeaderIsToldWhereThereIsOne) {
    Setting s(1, 3);
    listen(s[0], {PMIX_GROUP_MEMBER_FAILED});
    listen(s[1], {PMIX_GROUP_MEMBER_FAILED});
    InfoList leads = flag(PMIX_GROUP_NOTIFY_TERMINATION);
    leads.append_flag(PMIX_GROUP_LEADER, true);
    uint32_t a = construct(s[0], {kAll}, std::move(leads));
    uint32_t b = construct(s[1], {kAll}, flag(PMIX_GROUP_NOTIFY_TERMINATION));
    s.kill(2);
    EXPECT_TRUE(s[0].take_event());
    EXPECT_FALSE(s[1].take_event());
    start(s[0], GroupCall::decide);
    EXPECT_STATUS(PMIX_ERR_PARTIAL_SUCCESS, done_of(s[0], a).status);
    EXPECT_STATUS(PMIX_ERR_PARTIAL_SUCCESS, done_of(s[1], b).status);
}

// rows: R9
TEST(ServerGroupFailuresTest, ALeaderThatEndsIsReplacedByTheFirstWhoWantsToLead) {
    Setting s(1, 4);
    for (int i = 1; i < 3; ++i) listen(s[i], {PMIX_GROUP_LEADER_FAILED, PMIX_GROUP_LEADER_SELECTED});
    InfoList leads = flag(PMIX_GROUP_NOTIFY_TERMINATION);
    leads.append_flag(PMIX_GROUP_LEADER, true);
    construct(s[0], {kAll}, std::move(leads));
    uint32_t b = construct(s[1], {kAll}, flag(PMIX_GROUP_NOTIFY_TERMINATION));
    uint32_t c = construct(s[2], {kAll}, flag(PMIX_GROUP_NOTIFY_TERMINATION));
    s.server->settle();
    s.kill(0);
    for (int i = 1; i < 3; ++i) {
        auto event = s[i].take_event();
        ASSERT_TRUE(event);
        EXPECT_STATUS(PMIX_GROUP_LEADER_FAILED, event->status);
    }
    start(s[2], GroupCall::decide, {}, flag(PMIX_GROUP_LEADER));
    start(s[1], GroupCall::decide, {}, flag(PMIX_GROUP_LEADER));
    s.server->settle();
    for (int i = 1; i < 3; ++i) {
        auto event = s[i].take_event();
        ASSERT_TRUE(event);
        EXPECT_STATUS(PMIX_GROUP_LEADER_SELECTED, event->status);
        EXPECT_TRUE(common::InfoView(event->infos.data(), event->infos.size()).flag(PMIX_EVENT_NON_DEFAULT));
        EXPECT_EQ(ProcId("job", 2), event->source);
        EXPECT_FALSE(s[i].take_event()) << "one leader";
    }
    uint32_t d = construct(s[3], {kAll});
    Done db = done_of(s[1], b);
    EXPECT_STATUS(PMIX_ERR_PARTIAL_SUCCESS, db.status);
    EXPECT_EQ((ProcList{{"job", 1}, {"job", 2}, {"job", 3}}), db.members);
    EXPECT_EQ(db.members, done_of(s[2], c).members);
    EXPECT_EQ(db.members, done_of(s[3], d).members);
}

// A host that says that some are missing has formed the group, whatever the callers have asked for; a job that is named
// as a whole and of which nothing is known is missing too. rows: R8 R12
TEST(ServerGroupFailuresTest, AHostThatFormsTheGroupInPart_IsTheAnswer) {
    Setting s(2, 2);
    listen(s[0], {PMIX_GROUP_MEMBER_FAILED});
    s.host.statuses["group"] = PMIX_ERR_PARTIAL_SUCCESS;
    const uint32_t a = construct(s[0]), b = construct(s[1]);
    EXPECT_STATUS(PMIX_ERR_PARTIAL_SUCCESS, done_of(s[0], a).status);
    EXPECT_STATUS(PMIX_ERR_PARTIAL_SUCCESS, done_of(s[1], b).status);
    const uint32_t c = destruct(s[0]), d = destruct(s[1]);
    s.host.statuses["group"] = PMIX_SUCCESS;
    EXPECT_NE(PMIX_ERR_NOT_FOUND, done_of(s[0], c).status) << "it is there";
    done_of(s[1], d);
    EXPECT_FALSE(s[0].take_event()) << "nobody has asked for it";

    s.host.statuses["group"] = PMIX_ERR_PARTIAL_SUCCESS;
    const ProcList named = {kAll, {"ended", PMIX_RANK_WILDCARD}};
    const uint32_t e = construct(s[0], named, flag(PMIX_GROUP_NOTIFY_TERMINATION), "other");
    const uint32_t f = construct(s[1], named, flag(PMIX_GROUP_NOTIFY_TERMINATION), "other");
    const Done done = done_of(s[0], e);
    EXPECT_STATUS(PMIX_ERR_PARTIAL_SUCCESS, done.status);
    EXPECT_EQ((ProcList{{"job", 0}, {"job", 1}, {"job", 2}, {"job", 3}}), done.members);
    done_of(s[1], f);
    s.server->settle();
    auto event = s[0].take_event();
    ASSERT_TRUE(event);
    EXPECT_EQ(ProcId("ended", PMIX_RANK_WILDCARD), event->source);
    EXPECT_FALSE(s[0].take_event());
}

// The end of a member with its node is reported by no server: the destruct does it. rows: R8 R12
TEST(ServerGroupFailuresTest, ADestructWithoutSomeMembers_ReportsTheirEnd) {
    Setting s(2, 2);
    listen(s[0], {PMIX_GROUP_MEMBER_FAILED});
    const uint32_t a = construct(s[0], {kAll}, flag(PMIX_GROUP_NOTIFY_TERMINATION));
    const uint32_t b = construct(s[1], {kAll}, flag(PMIX_GROUP_NOTIFY_TERMINATION));
    ASSERT_STATUS(PMIX_SUCCESS, done_of(s[0], a).status);
    ASSERT_STATUS(PMIX_SUCCESS, done_of(s[1], b).status);
    s.host.statuses["group"] = PMIX_ERR_PARTIAL_SUCCESS;
    s.host.group_results = [](const Seen&, InfoList& out) {
        common::append_proc_array(out, PMIX_GROUP_MEMBERSHIP, {{"job", 0}, {"job", 1}, {"job", 3}});
    };
    const uint32_t c = destruct(s[0]), d = destruct(s[1]);
    EXPECT_STATUS(PMIX_SUCCESS, done_of(s[0], c).status) << "the event is in the place of an error";
    EXPECT_STATUS(PMIX_SUCCESS, done_of(s[1], d).status);
    s.server->settle();
    auto event = s[0].take_event();
    ASSERT_TRUE(event);
    EXPECT_STATUS(PMIX_GROUP_MEMBER_FAILED, event->status);
    EXPECT_EQ(ProcId("job", 2), event->source);
    EXPECT_FALSE(s[0].take_event());
}

// rows: R10 R11
// proves: PMIx_Group_construct PMIX_GROUP_OPTIONAL PMIX_TIMEOUT server
TEST(ServerGroupFailuresTest, OptionalMembersAndTimeouts) {
    Setting s(1, 3);
    uint32_t a = construct(s[0], {kAll}, timed(flag(PMIX_GROUP_OPTIONAL)));
    uint32_t x = construct(s[0], {kAll}, timed({}), "strict"), y = construct(s[1], {kAll}, {}, "strict");
    uint32_t b = construct(s[1], {kAll}, flag(PMIX_GROUP_OPTIONAL));
    Done da = done_of(s[0], a);
    EXPECT_STATUS(PMIX_ERR_PARTIAL_SUCCESS, da.status);
    EXPECT_EQ((ProcList{{"job", 0}, {"job", 1}}), da.members);
    EXPECT_EQ(da.members, done_of(s[1], b).members);
    EXPECT_STATUS(PMIX_ERR_TIMEOUT, done_of(s[0], x).status);
    EXPECT_STATUS(PMIX_ERR_TIMEOUT, done_of(s[1], y).status);
    // Late, which is reported once; the next round is a new one.
    EXPECT_STATUS(PMIX_ERR_TIMEOUT, done_of(s[2], construct(s[2], {kAll}, {}, "strict")).status);
    EXPECT_STATUS(PMIX_ERR_TIMEOUT, done_of(s[2], construct(s[2])).status);
    uint32_t again[3];
    for (int i = 0; i < 3; ++i) again[i] = construct(s[i], {kAll}, {}, "strict");
    for (int i = 0; i < 3; ++i) EXPECT_STATUS(PMIX_SUCCESS, done_of(s[i], again[i]).status);
}

// rows: R10
TEST(ServerGroupFailuresTest, Construct_OptionalMemberEnds_NobodyIsTold) {
    Setting s(1, 3);
    listen(s[0], {PMIX_GROUP_MEMBER_FAILED, PMIX_GROUP_LEADER_FAILED});
    InfoList leads = flag(PMIX_GROUP_OPTIONAL);
    leads.append_flag(PMIX_GROUP_LEADER, true);
    uint32_t a = construct(s[0], {kAll}, flag(PMIX_GROUP_OPTIONAL));
    construct(s[1], {kAll}, std::move(leads));
    s.server->settle();
    s.kill(2);
    s.kill(1);
    EXPECT_EQ((ProcList{{"job", 0}, {"job", 1}}), done_of(s[0], a).members) << "which had called";
    EXPECT_FALSE(s[0].take_event());
}

// The construct goes on at once; the event names the missing member, as OpenPMIx 7.0 has it. rows: R10
// proves: PMIx_Group_construct PMIX_GROUP_FT_COLLECTIVE server
TEST(ServerGroupFailuresTest, Construct_FaultTolerantMemberEnds_TellsTheOthersOrTheirLeader) {
    for (bool led : {false, true}) {
        Setting s(2, 3);
        for (int i = 0; i < 2; ++i) listen(s[i], {PMIX_GROUP_MEMBER_FAILED});
        InfoList infos = flag(PMIX_GROUP_FT_COLLECTIVE);
        if (led) infos.append_flag(PMIX_GROUP_LEADER, true);
        uint32_t a = construct(s[0], {kAll}, std::move(infos)), b = construct(s[1]);
        s.server->settle();
        s.kill(2);
        EXPECT_STATUS(PMIX_ERR_PARTIAL_SUCCESS, done_of(s[0], a).status);
        EXPECT_EQ((ProcList{{"job", 0}, {"job", 1}, {"job", 3}, {"job", 4}, {"job", 5}}), done_of(s[1], b).members);
        expect_event(s[0], PMIX_GROUP_MEMBER_FAILED, {"job", 2});
        if (!led) expect_event(s[1], PMIX_GROUP_MEMBER_FAILED, {"job", 2});
        EXPECT_FALSE(s[1].take_event());
        EXPECT_EQ(led ? 0u : 1u, s.host.count("notify_event")) << "members of the other node";
    }
}

// A node whose members all ended has no server that tells of them: the host's answer shows who is missing. rows: R8 R10
TEST(ServerGroupFailuresTest, Construct_HostLeavesMembersOut_TheirFellowsAreTold) {
    for (const char* mode : {PMIX_GROUP_FT_COLLECTIVE, PMIX_GROUP_NOTIFY_TERMINATION, PMIX_GROUP_OPTIONAL}) {
        Setting s(2, 2);
        for (int i = 0; i < 2; ++i) listen(s[i], {PMIX_GROUP_MEMBER_FAILED});
        s.host.statuses["group"] = PMIX_ERR_PARTIAL_SUCCESS;
        s.host.group_results = [](const Seen&, InfoList& out) {
            common::append_proc_array(out, PMIX_GROUP_MEMBERSHIP, {{"job", 0}, {"job", 1}, {"job", 3}});
        };
        uint32_t a = construct(s[0], {kAll}, flag(mode)), b = construct(s[1]);
        EXPECT_STATUS(PMIX_ERR_PARTIAL_SUCCESS, done_of(s[0], a).status);
        EXPECT_EQ((ProcList{{"job", 0}, {"job", 1}, {"job", 3}}), done_of(s[1], b).members);
        s.server->settle();
        for (int i = 0; i < 2; ++i) {
            if (mode != std::string_view(PMIX_GROUP_OPTIONAL)) expect_event(s[i], PMIX_GROUP_MEMBER_FAILED, {"job", 2});
            EXPECT_FALSE(s[i].take_event());
        }
        EXPECT_EQ(0u, s.host.count("notify_event")) << "each node tells its own";
    }
}

// A leader that has called and ends is a member like any other, but all are told. rows: R9
TEST(ServerGroupFailuresTest, Construct_LeaderEndsAndNobodyAskedToBeTold_AllAreTold) {
    Setting s(1, 3);
    for (int i = 0; i < 2; ++i) listen(s[i], {PMIX_GROUP_LEADER_FAILED, PMIX_GROUP_LEADER_SELECTED});
    construct(s[2], {kAll}, flag(PMIX_GROUP_LEADER));
    uint32_t a = construct(s[0]);
    s.server->settle();
    s.kill(2);
    for (int i = 0; i < 2; ++i) expect_event(s[i], PMIX_GROUP_LEADER_FAILED, {"job", 2});
    EXPECT_FALSE(s[0].take(a)) << "rank 1 is missing";
    uint32_t b = construct(s[1]);
    EXPECT_STATUS(PMIX_SUCCESS, done_of(s[0], a).status);
    EXPECT_EQ((ProcList{{"job", 0}, {"job", 1}, {"job", 2}}), done_of(s[1], b).members);
    EXPECT_FALSE(s[0].take_event());
}

// rows: R9
TEST(ServerGroupFailuresTest, Construct_LeaderEndsWhileTheHostHasIt_AllAreTold) {
    Setting s(2, 2);
    listen(s[0], {PMIX_GROUP_LEADER_FAILED, PMIX_GROUP_LEADER_SELECTED});
    s.host.styles["group"] = Style::later;
    construct(s[1], {kAll}, flag(PMIX_GROUP_LEADER));
    uint32_t a = construct(s[0], {kAll}, flag(PMIX_GROUP_FT_COLLECTIVE));
    ASSERT_TRUE(s.server->turn_until([&] { return s.host.waiting() == 1; }));
    s.kill(1);
    expect_event(s[0], PMIX_GROUP_LEADER_FAILED, {"job", 1});
    EXPECT_EQ(1u, s.host.count("notify_event")) << "members of the other node";
    s.host.answer_waiting();
    EXPECT_STATUS(PMIX_SUCCESS, done_of(s[0], a).status);
}

// rows: R9
TEST(ServerGroupFailuresTest, Construct_LeaderEndsAndNobodyWantsToLead_TheSelectionSaysSo) {
    Setting s(1, 4);
    for (int i = 0; i < 2; ++i) listen(s[i], {PMIX_GROUP_LEADER_FAILED, PMIX_GROUP_LEADER_SELECTED});
    InfoList leads = flag(PMIX_GROUP_NOTIFY_TERMINATION);
    leads.append_flag(PMIX_GROUP_LEADER, true);
    construct(s[2], {kAll}, std::move(leads));
    uint32_t a = construct(s[0], {kAll}, flag(PMIX_GROUP_NOTIFY_TERMINATION));
    uint32_t b = construct(s[1], {kAll}, flag(PMIX_GROUP_NOTIFY_TERMINATION));
    s.server->settle();
    s.kill(2);
    for (int i = 0; i < 2; ++i) expect_event(s[i], PMIX_GROUP_LEADER_FAILED, {"job", 2});
    for (int i = 0; i < 2; ++i) start(s[i], GroupCall::decide);
    for (int i = 0; i < 2; ++i) {
        s.server->settle();
        auto event = s[i].take_event();
        ASSERT_TRUE(event);
        EXPECT_STATUS(PMIX_GROUP_LEADER_SELECTED, event->status);
        EXPECT_TRUE(common::InfoView(event->infos.data(), event->infos.size()).flag(PMIX_EVENT_NON_DEFAULT));
        const pmix_proc_t* leader = nullptr;
        const InfoList infos = event->infos.take();
        common::InfoView(infos).get(PMIX_GROUP_LEADER, &leader);
        ASSERT_NE(nullptr, leader);
        EXPECT_EQ(PMIX_RANK_INVALID, leader->rank) << "nobody";
    }
    construct(s[3]);
    EXPECT_EQ((ProcList{{"job", 0}, {"job", 1}, {"job", 3}}), done_of(s[0], a).members);
    EXPECT_STATUS(PMIX_ERR_PARTIAL_SUCCESS, done_of(s[1], b).status);
}

// Asked for at the destruct alone, as OpenPMIx 7.0 takes it: the event stands in place of the error. rows: R12
// proves: PMIx_Group_destruct PMIX_GROUP_NOTIFY_TERMINATION server
TEST(ServerGroupFailuresTest, Destruct_NotifyGivenThereOnly_TellsTheOthersAndSucceeds) {
    for (bool before : {true, false}) {
        Setting s(1, 3);
        for (int i = 0; i < 2; ++i) listen(s[i], {PMIX_GROUP_MEMBER_FAILED});
        uint32_t id[3];
        for (int i = 0; i < 3; ++i) id[i] = construct(s[i]);
        for (int i = 0; i < 3; ++i) ASSERT_STATUS(PMIX_SUCCESS, done_of(s[i], id[i]).status);
        if (before) s.kill(2);
        EXPECT_FALSE(s[0].take_event()) << "nobody asked to be told";
        uint32_t a = start(s[0], GroupCall::destruct, {}, flag(PMIX_GROUP_NOTIFY_TERMINATION));
        s.server->settle();
        if (!before) s.kill(2);
        uint32_t b = destruct(s[1]);
        EXPECT_STATUS(PMIX_SUCCESS, done_of(s[0], a).status);
        EXPECT_STATUS(PMIX_SUCCESS, done_of(s[1], b).status);
        for (int i = 0; i < 2; ++i) {
            expect_event(s[i], PMIX_GROUP_MEMBER_FAILED, {"job", 2});
            EXPECT_FALSE(s[i].take_event()) << "once";
        }
    }
}

// rows: R12
TEST(ServerGroupFailuresTest, DestructAfterADeath) {
    for (bool agreed : {false, true}) {
        Setting s(1, 3);
        listen(s[0], {PMIX_GROUP_MEMBER_FAILED, PMIX_GROUP_MEMBERSHIP_UPDATE});
        uint32_t id[3];
        for (int i = 0; i < 3; ++i)
            id[i] = construct(s[i], {kAll}, agreed ? flag(PMIX_GROUP_NOTIFY_TERMINATION) : InfoList());
        for (int i = 0; i < 3; ++i) ASSERT_STATUS(PMIX_SUCCESS, done_of(s[i], id[i]).status);
        s.kill(2);
        if (agreed) {
            auto failed = s[0].take_event(), update = s[0].take_event();
            ASSERT_TRUE(failed && update);
            EXPECT_STATUS(PMIX_GROUP_MEMBER_FAILED, failed->status);
            EXPECT_STATUS(PMIX_GROUP_MEMBERSHIP_UPDATE, update->status);
            EXPECT_TRUE(common::InfoView(update->infos.data(), update->infos.size()).flag(PMIX_EVENT_NON_DEFAULT));
        }
        uint32_t a = destruct(s[0]), b = agreed ? destruct(s[1]) : 0;
        EXPECT_STATUS(agreed ? PMIX_SUCCESS : PMIX_ERR_PROC_TERM_WO_SYNC, done_of(s[0], a).status);
        if (agreed) {
            EXPECT_STATUS(PMIX_SUCCESS, done_of(s[1], b).status);
        }
    }
}

// rows: R8 R12
TEST(ServerGroupFailuresTest, TheEndOfANamespaceEndsWhatNamesIt) {
    Setting s(1, 1);
    s.server->job("other", 1, 1);
    uint32_t a = construct(s[0], {kAll, {"other", 0}});
    s.server->settle();
    s.server->on_loop([&] { s.server->setup().deregister_nspace("other"); });
    EXPECT_NE(PMIX_SUCCESS, done_of(s[0], a).status);
    EXPECT_EQ(0u, s.server->parts().groups.open());
}

// rows: R8 R12
TEST(ServerGroupFailuresTest, TheEndOfAMembersNamespaceFailsTheDestructOnEveryNode) {
    // Another node may have called before it was told of the end, with the same error: the host must get this node's
    // call.
    for (bool elsewhere : {false, true}) {
        Setting s(2, 2);
        s.server->job("other", elsewhere ? 2 : 1, 1, false);
        const ProcId gone("other", elsewhere ? 1 : 0);
        if (!elsewhere) s.server->add_client("other", 0);
        const ProcList members = {kAll, gone};
        std::unique_ptr<FakeClient> other;
        uint32_t a = construct(s[0], members), b = construct(s[1], members);
        if (!elsewhere) {
            other = std::make_unique<FakeClient>(*s.server, gone);
            ASSERT_STATUS(PMIX_SUCCESS, other->hello());
            construct(*other, members);
        }
        ASSERT_STATUS(PMIX_SUCCESS, done_of(s[0], a).status);
        ASSERT_STATUS(PMIX_SUCCESS, done_of(s[1], b).status);
        if (other) other->kill();
        s.server->settle();
        s.server->on_loop([&] { s.server->setup().deregister_nspace("other"); });
        s.host.statuses["group"] = PMIX_ERR_PROC_TERM_WO_SYNC;
        EXPECT_STATUS(PMIX_ERR_PROC_TERM_WO_SYNC, done_of(s[0], destruct(s[0])).status);
        ASSERT_EQ(PMIX_GROUP_DESTRUCT, s.host.last("group")->status);
        EXPECT_STATUS(PMIX_ERR_PROC_TERM_WO_SYNC, number_of(s.host.last("group")->infos, PMIX_LOCAL_COLLECTIVE_STATUS));
        EXPECT_EQ(2u, s.host.count("group"));
        EXPECT_STATUS(PMIX_ERR_PROC_TERM_WO_SYNC, done_of(s[1], destruct(s[1])).status) << "late for the same";
        EXPECT_EQ(2u, s.host.count("group"));
        EXPECT_STATUS(PMIX_ERR_NOT_FOUND, done_of(s[1], destruct(s[1])).status);
    }
}

// rows: R8 R12
TEST(ServerGroupFailuresTest, ACollectiveThatANamespaceEndsIsTheHostsToo) {
    // The members of this node are not all here yet, those of another may be: they wait for this node's call.
    Setting s(2, 2);
    s.server->job("other", 1, 1);
    uint32_t a = construct(s[0], {kAll, {"other", 0}});
    s.server->settle();
    s.server->on_loop([&] { s.server->setup().deregister_nspace("other"); });
    EXPECT_STATUS(PMIX_ERR_PROC_TERM_WO_SYNC, done_of(s[0], a).status);
    s.server->settle();
    ASSERT_EQ(1u, s.host.count("group"));
    EXPECT_STATUS(PMIX_ERR_PROC_TERM_WO_SYNC, number_of(s.host.last("group")->infos, PMIX_LOCAL_COLLECTIVE_STATUS));
    EXPECT_STATUS(PMIX_ERR_PROC_TERM_WO_SYNC, done_of(s[1], construct(s[1], {kAll, {"other", 0}})).status);
    EXPECT_EQ(1u, s.host.count("group"));

    // Where its members may end, it goes on with the others.
    s.server->job("third", 1, 1);
    a = construct(s[0], {kAll, {"third", PMIX_RANK_WILDCARD}}, flag(PMIX_GROUP_FT_COLLECTIVE));
    s.server->settle();
    s.server->on_loop([&] { s.server->setup().deregister_nspace("third"); });
    s.server->settle();
    EXPECT_FALSE(s[0].take(a)) << "rank 1 is missing";
    uint32_t b = construct(s[1], {kAll, {"third", PMIX_RANK_WILDCARD}}, flag(PMIX_GROUP_FT_COLLECTIVE));
    Done done = done_of(s[1], b);
    EXPECT_STATUS(PMIX_ERR_PARTIAL_SUCCESS, done.status);
    EXPECT_EQ((ProcList{{"job", 0}, {"job", 1}, {"job", 2}, {"job", 3}}), done.members);
    EXPECT_STATUS(PMIX_ERR_PARTIAL_SUCCESS, done_of(s[0], a).status);
}

// One user's processes may invite without end: those of another user are told all the same what becomes of theirs.
// rows: R13
TEST(ServerGroupFailuresTest, Invitation_BesideAnotherUsersFullShare_IsRemembered) {
    Setting s;
    s.server->job("other", 1, 1, false);
    s.server->add_client("other", 0, ::geteuid() + 1);
    const auto invite = [&](const ProcId& inviter, const std::string& group, const ProcId& invited) {
        InfoList infos;
        infos.append_string(PMIX_GROUP_ID, group);
        common::append_proc_array(infos, PMIX_EVENT_CUSTOM_RANGE, {invited});
        s.server->on_loop([&] {
            s.server->parts().groups.event_notified(PMIX_GROUP_INVITED, inviter, infos, false);
            return 0;
        });
    };
    const auto fill = [&] {
        for (size_t i = 0; i < server::GroupInvitations::kMaxOpenOfUser + 1; ++i)
            invite({"other", 0}, "group" + std::to_string(i), {"elsewhere", 0});
    };
    listen(s[0], {PMIX_GROUP_INVITE_FAILED});
    invite({"job", 0}, kName, {"job", 1});
    fill();
    s.kill(1);
    expect_event(s[0], PMIX_GROUP_INVITE_FAILED, {"job", 1});
    fill();
    invite({"job", 0}, kName, {"job", 2});
    invite({"other", 0}, "another", {"elsewhere", 0});
    s.kill(2);
    expect_event(s[0], PMIX_GROUP_INVITE_FAILED, {"job", 2});
}

// Two have invited to groups of one name. The abort of one ends its own invitation and no construct but its own, though
// it names processes that the other has asked too; a participant's is for all that it names. rows: R13 R14 R15
TEST(ServerGroupFailuresTest, Abort_OfAnInvitersOwn_LeavesOthersOfTheName) {
    Setting s;
    const auto event = [&](pmix_status_t code, const ProcId& source, const ProcList& targets, const ProcId* leader) {
        InfoList infos;
        infos.append_string(PMIX_GROUP_ID, kName);
        common::append_proc_array(infos, PMIX_EVENT_CUSTOM_RANGE, targets);
        if (leader != nullptr) {
            const pmix_proc_t proc = leader->to_c();
            infos.append(PMIX_GROUP_LEADER, &proc, PMIX_PROC);
        }
        s.server->on_loop([&] {
            s.server->parts().groups.event_notified(code, source, infos, true);
            return 0;
        });
        s.server->settle();
    };
    const ProcId far{"far", 0};
    listen(s[0], {PMIX_GROUP_INVITE_FAILED});
    event(PMIX_GROUP_INVITED, {"job", 0}, {{"job", 1}, {"job", 2}}, nullptr);
    event(PMIX_GROUP_INVITED, far, {{"job", 1}, {"job", 2}}, nullptr);
    event(PMIX_GROUP_CONSTRUCT_ABORT, far, {{"job", 1}, {"job", 2}, far}, &far);
    s.kill(1);
    expect_event(s[0], PMIX_GROUP_INVITE_FAILED, {"job", 1});

    const uint32_t a = construct(s[0], {{"job", 0}, {"job", 2}});
    s.server->settle();
    event(PMIX_GROUP_CONSTRUCT_ABORT, far, {{"job", 2}, far}, &far);
    EXPECT_FALSE(s[0].take(a)) << "the construct is another's";
    event(PMIX_GROUP_CONSTRUCT_ABORT, far, {{"job", 2}, far}, nullptr);
    EXPECT_STATUS(PMIX_GROUP_CONSTRUCT_ABORT, done_of(s[0], a).status);
}

// An open invitation is in the report of each server that has part in it: with all answers at its inviter's, with those
// of the own node elsewhere. rows: R13
TEST(ServerGroupFailuresTest, Invitation_WhileItIsOpen_IsReported) {
    Setting s;
    const auto event = [&](pmix_status_t code, const ProcId& source, const ProcList& targets) {
        InfoList infos;
        infos.append_string(PMIX_GROUP_ID, kName);
        common::append_proc_array(infos, PMIX_EVENT_CUSTOM_RANGE, targets);
        s.server->on_loop([&] {
            s.server->parts().groups.event_notified(code, source, infos, true);
            return 0;
        });
        s.server->settle();
    };
    const auto rows = [&] {
        return s.server->on_loop([&] {
            server::ReportRows all;
            s.server->parts().groups.report(all);
            return all.collectives;
        });
    };
    const ProcId far{"far", 0};
    event(PMIX_GROUP_INVITED, {"job", 0}, {{"job", 1}, {"job", 2}, far});
    ASSERT_EQ(1u, rows().size());
    EXPECT_EQ("group invite " + kName, rows()[0].operation);
    EXPECT_EQ(ProcId("job", 0), rows()[0].inviter);
    EXPECT_EQ((ProcList{far, {"job", 1}, {"job", 2}}), rows()[0].members);
    EXPECT_EQ((ProcList{far, {"job", 1}, {"job", 2}}), rows()[0].missing);
    EXPECT_GT(rows()[0].began_ms, 0);
    event(PMIX_GROUP_INVITE_ACCEPTED, {"job", 1}, {{"job", 0}});
    event(PMIX_GROUP_INVITE_DECLINED, far, {{"job", 0}});
    EXPECT_EQ((ProcList{far, {"job", 1}}), rows()[0].joined);
    EXPECT_EQ((ProcList{{"job", 2}}), rows()[0].missing);
    EXPECT_FALSE(rows()[0].at_host);
    event(PMIX_GROUP_INVITED, {"job", 0}, {{"job", 1}});
    EXPECT_EQ((ProcList{{"job", 1}, {"job", 2}}), rows()[0].missing) << "asked once more";
    event(PMIX_GROUP_INVITE_ACCEPTED, {"job", 1}, {{"job", 0}});
    event(PMIX_GROUP_INVITE_ACCEPTED, {"job", 2}, {{"job", 0}});
    EXPECT_TRUE(rows().empty()) << "all have answered: the construct is what waits now";
    event(PMIX_GROUP_CONSTRUCT_COMPLETE, {"job", 0}, {{"job", 1}, {"job", 2}});

    event(PMIX_GROUP_INVITED, far, {{"job", 1}, {"far", 1}});
    ASSERT_EQ(1u, rows().size());
    EXPECT_EQ((ProcList{{"job", 1}}), rows()[0].missing) << "the other is of another node";
    EXPECT_FALSE(rows()[0].at_host);
    event(PMIX_GROUP_INVITE_ACCEPTED, {"job", 1}, {far});
    EXPECT_TRUE(rows()[0].missing.empty());
    EXPECT_TRUE(rows()[0].at_host) << "for the other node";
    event(PMIX_GROUP_CONSTRUCT_COMPLETE, far, {{"job", 1}});
    EXPECT_TRUE(rows().empty());
}

// A process that waits for an invitation is notified that there will be none: its inviter ends, has ended, or is no
// process. Not any more once it is invited, has declined, or has been answered. rows: R13 R15
TEST(ServerGroupFailuresTest, AcceptanceBeforeAnInvitation_InviterEnds_IsTold) {
    Setting s;
    for (int i = 1; i < 3; ++i) listen(s[i], {PMIX_GROUP_LEADER_FAILED});
    const auto event = [&](pmix_status_t code, const std::string& group, const ProcId& source, const ProcList& targets,
                           bool answers = false) {
        InfoList infos;
        infos.append_string(PMIX_GROUP_ID, group);
        common::append_proc_array(infos, PMIX_EVENT_CUSTOM_RANGE, targets);
        if (answers) infos.append_flag(common::kAnswersAcceptance, true);
        s.server->on_loop([&] {
            s.server->parts().groups.event_notified(code, source, infos, source.nspace != "job");
            return 0;
        });
        s.server->settle();
    };
    const ProcId inviter{"job", 0};
    for (const std::string& group : {kName, std::string("invited"), std::string("declined"), std::string("answered")})
        event(PMIX_GROUP_INVITE_ACCEPTED, group, {"job", 1}, {inviter});
    event(PMIX_GROUP_INVITE_ACCEPTED, kName, {"far", 3}, {inviter});
    event(PMIX_GROUP_INVITE_ACCEPTED, std::string(300, 'x'), {"job", 1}, {inviter});  // no name of a group
    event(PMIX_GROUP_INVITED, "invited", inviter, {{"job", 1}});
    event(PMIX_GROUP_CONSTRUCT_COMPLETE, "invited", inviter, {{"job", 1}});
    event(PMIX_GROUP_INVITE_DECLINED, "declined", {"job", 1}, {inviter});
    event(PMIX_GROUP_CONSTRUCT_ABORT, "answered", inviter, {{"job", 1}}, true);
    EXPECT_FALSE(s[1].take_event());
    s.kill(0);
    expect_event(s[1], PMIX_GROUP_LEADER_FAILED, inviter);
    EXPECT_FALSE(s[1].take_event());
    EXPECT_FALSE(s[2].take_event());
    event(PMIX_GROUP_INVITE_ACCEPTED, kName, {"job", 2}, {inviter});
    expect_event(s[2], PMIX_GROUP_LEADER_FAILED, inviter);
    event(PMIX_GROUP_INVITE_ACCEPTED, kName, {"job", 2}, {{"job", 99}});
    expect_event(s[2], PMIX_GROUP_LEADER_FAILED, {"job", 99});
}

// More than are kept: the oldest waits for its own limit.
TEST(ServerGroupFailuresTest, AcceptanceBeforeAnInvitation_OfTooMany_ForgetsTheOldest) {
    Setting s;
    listen(s[1], {PMIX_GROUP_LEADER_FAILED});
    const auto used = [&] {
        return s.server->on_loop([&] { return s.server->parts().budget.of(::geteuid())->used(); });
    };
    const size_t before = used();
    for (size_t i = 0; i <= server::EarlyAcceptances::kMost; ++i) {
        InfoList infos;
        infos.append_string(PMIX_GROUP_ID, "group" + std::to_string(i));
        common::append_proc_array(infos, PMIX_EVENT_CUSTOM_RANGE, {{"job", 0}});
        s.server->on_loop([&] {
            s.server->parts().groups.event_notified(PMIX_GROUP_INVITE_ACCEPTED, {"job", 1}, infos, false);
            return 0;
        });
    }
    EXPECT_GT(used(), before + server::EarlyAcceptances::kMost * 2 * sizeof(ProcId)) << "they are the user's";
    s.kill(0);
    std::vector<std::string> told;
    s.server->turn_until([&] {
        while (auto e = s[1].take_event())
            told.push_back(common::InfoView(e->infos.data(), e->infos.size()).find(PMIX_GROUP_ID)->value.data.string);
        return told.size() >= server::EarlyAcceptances::kMost;
    });
    ASSERT_EQ(server::EarlyAcceptances::kMost, told.size());
    EXPECT_EQ("group1", told.front()) << "the first was forgotten";
    EXPECT_EQ("group" + std::to_string(server::EarlyAcceptances::kMost), told.back());
    s.server->settle();
    EXPECT_FALSE(s[1].take_event());
}

// rows: R13
TEST(ServerGroupFailuresTest, Invitation_OverTheUsersShare_ForgetsTheOldestOne) {
    Setting s;
    listen(s[0], {PMIX_GROUP_INVITE_FAILED});
    const auto invite = [&](const std::string& group, const ProcId& invited) {
        InfoList infos;
        infos.append_string(PMIX_GROUP_ID, group);
        common::append_proc_array(infos, PMIX_EVENT_CUSTOM_RANGE, {invited});
        s.server->on_loop([&] {
            s.server->parts().groups.event_notified(PMIX_GROUP_INVITED, {"job", 0}, infos, false);
            return 0;
        });
    };
    invite("oldest", {"job", 1});
    invite(kName, {"job", 1});
    for (size_t i = 1; i < server::GroupInvitations::kMaxOpenOfUser; ++i)
        invite("group" + std::to_string(i), {"elsewhere", 0});
    s.kill(1);
    expect_event(s[0], PMIX_GROUP_INVITE_FAILED, {"job", 1});
    EXPECT_FALSE(s[0].take_event());
}

}  // namespace server_group_failures_test

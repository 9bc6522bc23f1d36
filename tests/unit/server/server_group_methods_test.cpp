// SPDX-License-Identifier: BSD-3-Clause
// Groups that form by leaders who know only their number (bootstrap), and by invitation, as the server sees them.
#include <gtest/gtest.h>
#include <time.h>

#include "support/cpu_time.h"
#include "support/group_requests.h"
#include "support/sanitizers.h"
#include "support/status.h"

namespace server_group_methods_test {

using namespace pmix;
using namespace pmix::test;

// The host is silent.
TEST(ServerGroupMethodsTest, Bootstrap_NamespaceEnds_CallIsOver) {
    Setting s(2, 3);
    s.host.styles["group"] = Style::later;
    const uint32_t leader = construct(s[0], {{"job", 0}}, leading(2, {{"job", 1}})), added = construct(s[1], {});
    ASSERT_TRUE(s.server->turn_until([&] { return s.host.count("group") == 2; }));
    s.server->on_loop([&] {
        s.server->setup().deregister_nspace("job");
        return 0;
    });
    for (auto [client, id] : {std::pair(&s[0], leader), std::pair(&s[1], added)}) {
        const pmix_status_t status = status_of(*client, id);
        EXPECT_TRUE(status == PMIX_ERR_NOT_FOUND || status == PMIX_ERR_LOST_CONNECTION) << status;
    }
    s.host.answer_waiting();
    s.server->settle();
}

TEST(ServerGroupMethodsTest, Bootstrap_ServerFinalizes_CallIsOver) {
    Setting s(2, 3);
    s.host.styles["group"] = Style::later;
    const uint32_t leader = construct(s[0], {{"job", 0}}, leading(2, {{"job", 1}})), added = construct(s[1], {});
    ASSERT_TRUE(s.server->turn_until([&] { return s.host.count("group") == 2; }));
    s.server->stop();
    EXPECT_STATUS(PMIX_ERR_LOST_CONNECTION, status_of(s[0], leader));
    EXPECT_STATUS(PMIX_ERR_LOST_CONNECTION, status_of(s[1], added));
}

// Leaders that have no names of each other, and members that they add: each is passed up alone; the host names the
// members.
// rows: R1 R4 R11 U17
// proves: PMIx_Group_construct PMIX_GROUP_BOOTSTRAP PMIX_GROUP_ADD_MEMBERS server
TEST(ServerGroupMethodsTest, WhoOnlyTheHostCanGatherGoesUpAlone) {
    Setting s(2, 3);
    s.host.styles["group"] = Style::later;
    const ProcList members = {{"job", 0}, {"job", 1}, {"job", 4}};
    s.host.group_results = [&](const Seen&, InfoList& infos) {
        common::append_proc_array(infos, PMIX_GROUP_MEMBERSHIP, members);
        infos.append_number<size_t>(PMIX_GROUP_CONTEXT_ID, 77, PMIX_SIZE);
    };
    InfoList first = leading(2, {{"job", 1}});
    first.append_flag(PMIX_GROUP_ASSIGN_CONTEXT_ID, true);
    uint32_t a = construct(s[0], {{"job", 0}}, std::move(first)), b = construct(s[1], {});
    ASSERT_TRUE(s.server->turn_until([&] { return s.host.count("group") == 2; }));
    const Seen &leader = s.host.seen[s.host.seen.size() - 2], &added = s.host.seen.back();
    EXPECT_EQ((ProcList{{"job", 0}}), leader.procs);
    size_t leaders = 0;
    EXPECT_STATUS(PMIX_SUCCESS, common::InfoView(leader.infos).get(PMIX_GROUP_BOOTSTRAP, &leaders));
    EXPECT_EQ(2u, leaders);
    EXPECT_EQ((ProcList{{"job", 1}}), added.procs);
    EXPECT_EQ(nullptr, added.infos.find(PMIX_GROUP_BOOTSTRAP));
    ProcList named;
    ASSERT_NE(nullptr, added.infos.find(PMIX_GROUP_ADD_MEMBERS));
    common::read_proc_array(added.infos.find(PMIX_GROUP_ADD_MEMBERS)->value, named);
    EXPECT_EQ((ProcList{{"job", 1}}), named) << "so that the host knows what it is";
    s.host.answer_waiting();
    for (auto [client, id] : {std::pair(&s[0], a), std::pair(&s[1], b)}) {
        Done done = done_of(*client, id);
        EXPECT_STATUS(PMIX_SUCCESS, done.status);
        EXPECT_EQ(members, done.members);
        EXPECT_NE(nullptr, done.results.find(PMIX_GROUP_CONTEXT_ID));
    }
    EXPECT_STATUS(PMIX_ERR_EXISTS, done_of(s[0], construct(s[0], {{"job", 0}}, leading(2))).status);

    // The host's error is for the requester; a limit holds without the host; a late answer has no effect.
    s.host.statuses["group"] = PMIX_ERR_PROC_TERM_WO_SYNC;
    uint32_t failed = construct(s[2], {{"job", 2}}, leading(3), "other");
    s.server->settle();
    s.host.answer_waiting();
    EXPECT_STATUS(PMIX_ERR_PROC_TERM_WO_SYNC, done_of(s[2], failed).status);
    uint32_t late = construct(s[2], {}, timed({}), "other");
    EXPECT_STATUS(PMIX_ERR_TIMEOUT, done_of(s[2], late).status);
    construct(s[2], {}, {}, "other");
    s.server->settle();
    s.kill(2);
    s.host.answer_waiting();
    s.server->settle();

    EXPECT_STATUS(PMIX_ERR_BAD_PARAM, done_of(s[0], construct(s[0], {{"job", 1}}, leading(2), "bad")).status);
    EXPECT_STATUS(PMIX_ERR_BAD_PARAM,
                  done_of(s[0], construct(s[0], {{"job", 0}, {"job", 1}}, leading(2), "bad")).status);
    EXPECT_STATUS(PMIX_ERR_BAD_PARAM, done_of(s[0], construct(s[0], {{"job", 0}}, leading(0), "bad")).status);
}

// The host may name whole jobs, and it may leave the caller out. rows: R1 U17
TEST(ServerGroupMethodsTest, Bootstrap_HostNamesTheWholeJob_MeansItsCallers) {
    Setting s(2, 2);
    s.host.styles["group"] = Style::later;
    ProcList named = {kAll};
    s.host.group_results = [&](const Seen&, InfoList& infos) {
        common::append_proc_array(infos, PMIX_GROUP_MEMBERSHIP, named);
    };
    const uint32_t a = construct(s[0], {{"job", 0}}, leading(1, {kAll})), b = construct(s[1], {});
    ASSERT_TRUE(s.server->turn_until([&] { return s.host.waiting() == 2; }));
    s.host.answer_waiting();
    const ProcList all = {{"job", 0}, {"job", 1}, {"job", 2}, {"job", 3}};
    EXPECT_EQ(all, done_of(s[0], a).members);
    EXPECT_EQ(all, done_of(s[1], b).members);

    named = {{"job", 2}};
    const uint32_t c = construct(s[0], {{"job", 0}}, leading(1), "other");
    ASSERT_TRUE(s.server->turn_until([&] { return s.host.waiting() == 1; }));
    s.host.answer_waiting();
    EXPECT_STATUS(PMIX_ERR_NOT_FOUND, done_of(s[0], c).status) << "it is in no group";
    EXPECT_EQ(1u, s.server->parts().registry.groups().all().size());
}

// The process that invites takes part in the construct, so that it learns how it ends; it is a member only if it has
// listed itself. rows: R13 R15 U17
TEST(ServerGroupMethodsTest, Construct_InviterThatIsNoMember_TakesPartOnly) {
    Setting s(2, 3);
    s.host.group_results = [](const Seen& seen, InfoList& out) {
        common::append_proc_array(out, PMIX_GROUP_MEMBERSHIP, seen.procs);  // the host counts the named members
        out.append_number<size_t>(PMIX_GROUP_CONTEXT_ID, 7, PMIX_SIZE);
    };
    const ProcList members = {{"job", 2}, {"job", 1}, {"job", 4}};
    const uint32_t a = invited(s[0], {"job", 0}, members, true), b = invited(s[1], {"job", 0}, members);
    s.server->settle();
    EXPECT_EQ(0u, s.host.count("group"));
    const uint32_t c = invited(s[2], {"job", 0}, members);
    const Done inviter = done_of(s[0], a);
    EXPECT_STATUS(PMIX_SUCCESS, inviter.status);
    EXPECT_EQ(members, inviter.members);
    EXPECT_EQ(members, done_of(s[1], b).members);
    EXPECT_EQ(members, done_of(s[2], c).members);
    EXPECT_EQ((ProcList{{"job", 0}, {"job", 1}, {"job", 2}, {"job", 4}}), s.host.last("group")->procs)
        << "all who call";
    EXPECT_STATUS(PMIX_ERR_NOT_FOUND, done_of(s[0], destruct(s[0])).status);
    const uint32_t d = destruct(s[1]), e = destruct(s[2]);
    EXPECT_STATUS(PMIX_SUCCESS, done_of(s[1], d).status);
    EXPECT_STATUS(PMIX_SUCCESS, done_of(s[2], e).status);
    EXPECT_EQ((ProcList{{"job", 1}, {"job", 2}, {"job", 4}}), s.host.last("group")->procs);
    EXPECT_TRUE(s.server->parts().registry.groups().empty());
}

// rows: R13 R15
TEST(ServerGroupMethodsTest, Construct_InviterWithoutAMemberOnItsNode_LeavesNothingThere) {
    Setting s(2, 1);
    const uint32_t a = invited(s[0], {"job", 0}, {{"job", 1}}, true);
    EXPECT_EQ((ProcList{{"job", 1}}), done_of(s[0], a).members);
    EXPECT_TRUE(s.server->parts().registry.groups().empty());
    // The same processes in another part are another matter.
    Setting t(1, 3);
    invited(t[0], {"job", 0}, {{"job", 1}, {"job", 2}}, true);
    EXPECT_STATUS(PMIX_ERR_BAD_PARAM, done_of(t[1], construct(t[1])).status);
}

// rows: R13 R8
TEST(ServerGroupMethodsTest, Construct_InviterThatIsNoMemberEnds_DoesNotMakeTheGroupSmaller) {
    for (bool had_called : {false, true}) {
        Setting s(1, 3);
        const ProcList members = {{"job", 1}, {"job", 2}};
        const auto call = [&](size_t i) {
            return invited(s[i], {"job", 0}, members, i == 0, flag(PMIX_GROUP_FT_COLLECTIVE));
        };
        if (had_called) call(0);
        const uint32_t b = call(1);
        s.server->settle();
        s.kill(0);
        EXPECT_FALSE(s[1].take(b));
        const uint32_t c = call(2);
        EXPECT_STATUS(PMIX_SUCCESS, done_of(s[1], b).status) << had_called;
        EXPECT_EQ(members, done_of(s[2], c).members);
    }
}

// An invitation may name any processes: a quadratic step takes half a minute of the server's loop here.
// rows: R1
TEST(ServerGroupMethodsTest, Invitation_OfAHundredThousandProcesses_TakesTimeThatGrowsWithTheirNumber) {
    constexpr uint32_t kInvited = 100'000;
    TestServer server(nullptr);
    server.job("job", 1, 2);
    std::vector<ProcId> invited;
    for (uint32_t rank = 0; rank < kInvited; ++rank) invited.push_back({"a-job-of-another-node", rank});
    common::InfoList infos;
    ASSERT_STATUS(PMIX_SUCCESS, infos.append_string(PMIX_GROUP_ID, "group"));
    ASSERT_STATUS(PMIX_SUCCESS, common::append_proc_array(infos, PMIX_EVENT_CUSTOM_RANGE, invited));
    const double begin = cpu_seconds();
    server.on_loop([&] {
        for (int i = 0; i < 2; ++i) server.parts().groups.event_notified(PMIX_GROUP_INVITED, {"job", 0}, infos, false);
        return 0;
    });
#ifdef UNDER_ASAN
    EXPECT_LT(cpu_seconds() - begin, 10.0);  // without optimisation
#else
    EXPECT_LT(cpu_seconds() - begin, 2.0);
#endif
    // The end of a process that has no part in it does not depend on how many have.
    const double ends = cpu_seconds();
    server.on_loop([&] {
        server::Registry& registry = server.parts().registry;
        for (int i = 0; i < 2000; ++i)
            server.parts().groups.member_gone(*registry.find("job"), *registry.member({"job", 1}));
        return 0;
    });
    EXPECT_LT(cpu_seconds() - ends, 2.0);
}

}  // namespace server_group_methods_test

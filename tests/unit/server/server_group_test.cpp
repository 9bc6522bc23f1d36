// SPDX-License-Identifier: BSD-3-Clause
// Groups through a whole server: what the host sees and what members get. Failures are in
// server_group_failures_test.cpp.
#include <gtest/gtest.h>

#include "support/group_requests.h"
#include "support/status.h"

namespace server_group_test {

using namespace pmix;
using namespace pmix::test;

// rows: R1 R2 R4 R12
TEST(ServerGroupTest, AllLocalNeedsNoHostAndKeepsTheOrderGiven) {
    Setting s(1, 3, false);
    const ProcList order = {{"job", 2}, {"job", 0}, {"job", 1}};
    uint32_t a = construct(s[1], order), b = construct(s[0], {{"job", 0}, {"job", 1}, {"job", 2}});
    s.server->settle();
    EXPECT_FALSE(s[1].take(a)) << "rank 2 is missing";
    uint32_t c = construct(s[2], {{"job", 1}, {"job", 2}, {"job", 0}});
    Done first = done_of(s[1], a);
    EXPECT_STATUS(PMIX_SUCCESS, first.status);
    EXPECT_EQ((ProcList{{"job", 0}, {"job", 1}, {"job", 2}}), first.members) << "the first member's order";
    EXPECT_EQ(first.members, done_of(s[0], b).members);
    EXPECT_EQ(first.members, done_of(s[2], c).members);
    EXPECT_STATUS(PMIX_ERR_EXISTS, done_of(s[0], construct(s[0])).status);
    uint32_t d[3];
    for (int i = 0; i < 3; ++i) d[i] = destruct(s[i]);
    for (int i = 0; i < 3; ++i) EXPECT_STATUS(PMIX_SUCCESS, done_of(s[i], d[i]).status);
    EXPECT_STATUS(PMIX_ERR_NOT_FOUND, done_of(s[0], destruct(s[0])).status);
    EXPECT_EQ(0u, s.host.count("group"));
    EXPECT_EQ(0u, s.server->parts().groups.open());
}

// rows: R1
TEST(ServerGroupTest, Construct_MembersAsRangesListAndWildcard_AreThoseOfTheFirstInItsOrder) {
    Setting s(1, 4, false);
    common::GroupRequest request;
    request.name = kName;
    request.ranges = {{"job", {2, 3, 1, 1, 0, 0}}};
    const uint32_t a = s[0].start<Command::group>(request);
    const ProcList order = {{"job", 2}, {"job", 3}, {"job", 1}, {"job", 0}};
    uint32_t rest[3];
    for (size_t i = 0; i < 3; ++i) rest[i] = construct(s[i + 1], i == 0 ? order : ProcList{kAll});
    const Done done = done_of(s[0], a);
    EXPECT_STATUS(PMIX_SUCCESS, done.status);
    EXPECT_EQ(order, done.members);
    for (size_t i = 0; i < 3; ++i) EXPECT_EQ(order, done_of(s[i + 1], rest[i]).members);
    // What is no list of members.
    const auto status_of = [&](common::RangeList ranges, ProcList procs = {}) {
        request.name = "other";
        request.ranges = std::move(ranges);
        request.procs = std::move(procs);
        return done_of(s[0], s[0].start<Command::group>(request)).status;
    };
    EXPECT_STATUS(PMIX_ERR_BAD_PARAM, status_of({{"job", {0, 1}}}, {{"job", 0}}));
    EXPECT_STATUS(PMIX_ERR_BAD_PARAM, status_of({{"job", {1, 0}}}));
    EXPECT_STATUS(PMIX_ERR_BAD_PARAM, status_of({{"job", {0, 0}, 0, {3}}}));
    EXPECT_STATUS(PMIX_ERR_NOT_A_MEMBER, status_of({{"job", {1, 3}}}));
    EXPECT_EQ(0u, s.server->parts().groups.open());
}

// A call looks at the operations of its name, not at all that are open. rows: R1 R12
TEST(ServerGroupTest, Construct_ManyOthersOpen_LooksAtNoneOfThem) {
    constexpr uint64_t kOpen = 300;
    Setting s(1, 2, false);
    std::vector<uint32_t> first, second;
    for (uint64_t i = 0; i < kOpen; ++i) {
        first.push_back(construct(s[0], {{"job", 0}, {"job", 1}}, {}, "g" + std::to_string(i)));
        s.server->run_once();  // more would not fit into the socket
    }
    auto& groups = s.server->parts().groups;
    ASSERT_TRUE(s.server->turn_until([&] { return groups.open() == kOpen; }));
    EXPECT_EQ(0u, groups.examined());
    EXPECT_STATUS(PMIX_ERR_BAD_PARAM, done_of(s[1], construct(s[1], {{"job", 1}}, {}, "g0")).status);
    for (uint64_t i = 0; i < kOpen; ++i) {
        second.push_back(construct(s[1], {{"job", 1}, {"job", 0}}, {}, "g" + std::to_string(i)));
        s.server->run_once();
    }
    for (uint64_t i = 0; i < kOpen; ++i) {
        EXPECT_STATUS(PMIX_SUCCESS, done_of(s[0], first[i]).status) << i;
        EXPECT_STATUS(PMIX_SUCCESS, done_of(s[1], second[i]).status) << i;
    }
    EXPECT_EQ(kOpen + 1, groups.examined());
    // Of groups that have formed: a destruct waits for the other member, beside those of the other groups.
    for (uint64_t i = 0; i < kOpen; ++i) {
        first[i] = destruct(s[0], "g" + std::to_string(i));
        s.server->run_once();
    }
    for (uint64_t i = 0; i < kOpen; ++i) {
        second[i] = destruct(s[1], "g" + std::to_string(i));
        s.server->run_once();
    }
    for (uint64_t i = 0; i < kOpen; ++i) EXPECT_STATUS(PMIX_SUCCESS, done_of(s[1], second[i]).status) << i;
    EXPECT_EQ(2 * kOpen + 1, groups.examined());
    EXPECT_EQ(0u, groups.open());
}

// The end of a process looks at the groups that it is in, not at all that there are. rows: R1 R8
TEST(ServerGroupTest, MemberEnds_ManyOtherGroups_LooksAtNoneOfThem) {
    constexpr uint64_t kGroups = 100;
    Setting s(1, 3, false);
    for (uint64_t i = 0; i < kGroups; ++i)
        ASSERT_STATUS(PMIX_SUCCESS, done_of(s[0], construct(s[0], {{"job", 0}}, {}, "g" + std::to_string(i))).status);
    const uint32_t one = construct(s[1], {{"job", 1}, {"job", 2}}, {}, "both");
    ASSERT_STATUS(PMIX_SUCCESS, done_of(s[2], construct(s[2], {{"job", 1}, {"job", 2}}, {}, "both")).status);
    ASSERT_STATUS(PMIX_SUCCESS, done_of(s[1], one).status);
    auto& groups = s.server->parts().groups;
    const uint64_t before = groups.examined();
    s[1].kill();
    s.server->settle();
    EXPECT_EQ(before + 1, groups.examined());
    s[2].kill();
    s.server->settle();
    EXPECT_EQ(before + 2, groups.examined());
    EXPECT_EQ(kGroups, s.server->parts().registry.groups().all().size()) << "the group of both has gone with them";
    s[0].kill();
    s.server->settle();
    EXPECT_TRUE(s.server->parts().registry.groups().empty());
}

// A process may begin many: what happens in another job, or to one of several processes of a rank, looks at none of
// them. rows: R1 R8
TEST(ServerGroupTest, Event_ManyOthersOpen_LooksAtNoneOfThem) {
    constexpr uint64_t kOpen = 300;
    Setting s(1, 2);
    s.host.styles["group"] = Style::later;
    s.server->job("other", 1, 3);
    FakeClient leader(*s.server, {"other", 0}), gone(*s.server, {"other", 1}), later(*s.server, {"other", 2});
    for (FakeClient* client : {&leader, &gone, &later}) ASSERT_STATUS(PMIX_SUCCESS, client->hello());
    auto& parts = s.server->parts();
    for (uint64_t i = 0; i < kOpen; ++i) {
        const std::string name = "g" + std::to_string(i);
        construct(s[0], {{"job", 0}, {"job", 1}}, {}, name);
        construct(s[0], {{"job", 0}}, leading(2), "b" + name);
        s[0].start_fence({{"job", 0}, {"job", 1}});
        s.server->run_once();
    }
    ASSERT_TRUE(s.server->turn_until(
        [&] { return parts.groups.open() == kOpen && parts.fence.open() == kOpen && s.host.count("group") == kOpen; }));
    const uint64_t groups = parts.groups.examined(), fences = parts.fence.examined();
    {
        FakeClient clone(*s.server, {"job", 0});
        ASSERT_STATUS(PMIX_SUCCESS, clone.hello());
        clone.kill();
        s.server->settle();
    }
    construct(leader, {{"other", 0}}, leading(1), "bg0");
    ASSERT_TRUE(s.server->turn_until([&] { return s.host.count("group") == kOpen + 1; }));
    gone.kill();
    s.server->settle();
    s.server->add_client("other", 2);
    EXPECT_STATUS(PMIX_ERR_EXISTS, done_of(leader, construct(leader, {{"other", 0}}, leading(1), "bg0")).status);
    EXPECT_EQ(groups, parts.groups.examined());
    EXPECT_EQ(fences, parts.fence.examined());
    leader.kill();
    s.server->settle();
    EXPECT_EQ(groups + 1, parts.groups.examined()) << "its own call";
    s.host.answer_waiting();
    s.server->settle();
}

// rows: R1 R12
TEST(ServerGroupTest, Construct_MoreOpenThanAProcessMayBegin_IsRefused) {
    constexpr size_t kMost = server::OpenShares::kMost;
    Setting s(1, 2);
    s.host.styles["group"] = Style::later;
    auto& groups = s.server->parts().groups;
    std::vector<uint32_t> first;
    for (size_t i = 0; i < kMost; ++i) {
        const std::string name = "g" + std::to_string(i);
        const bool bootstrap = i % 2 != 0;
        first.push_back(bootstrap ? construct(s[0], {{"job", 0}}, leading(2), name)
                                  : construct(s[0], {{"job", 0}, {"job", 1}}, {}, name));
        s.server->run_once();
    }
    ASSERT_TRUE(s.server->turn_until([&] { return groups.open() == kMost / 2 && s.host.count("group") == kMost / 2; }));
    const ProcList both{{"job", 0}, {"job", 1}};
    EXPECT_STATUS(PMIX_ERR_OUT_OF_RESOURCE, done_of(s[0], construct(s[0], both, {}, "one-more")).status);
    EXPECT_STATUS(PMIX_ERR_OUT_OF_RESOURCE,
                  done_of(s[0], construct(s[0], {{"job", 0}}, leading(2), "one-more")).status);
    // It may take part in what the other process begins, and one that ends makes place.
    const uint32_t theirs = construct(s[1], both, {}, "theirs");
    s.server->settle();
    EXPECT_STATUS(PMIX_SUCCESS, done_of(s[0], construct(s[0], both, {}, "theirs")).status);
    EXPECT_STATUS(PMIX_SUCCESS, done_of(s[1], theirs).status);
    EXPECT_STATUS(PMIX_ERR_OUT_OF_RESOURCE, done_of(s[0], destruct(s[0], "theirs")).status);
    EXPECT_STATUS(PMIX_SUCCESS, done_of(s[1], construct(s[1], both, {}, "g0")).status);
    EXPECT_STATUS(PMIX_SUCCESS, done_of(s[0], first[0]).status);
    const uint32_t ends = destruct(s[0], "theirs");
    s.server->settle();
    EXPECT_STATUS(PMIX_SUCCESS, done_of(s[1], destruct(s[1], "theirs")).status);
    EXPECT_STATUS(PMIX_SUCCESS, done_of(s[0], ends).status);
    s.host.answer_waiting();
    s.server->settle();
}

// Two jobs of one server use the same name at the same time, as MPI_Comm_create_from_group does with its tags; so do
// two halves of one job. rows: R1 R4 R6 R12
TEST(ServerGroupTest, Construct_SameNameInTwoJobs_AreTwoGroups) {
    TestServer server(nullptr);
    server.job("one", 1, 2);
    server.job("two", 1, 2);
    server.job("job", 1, 4);
    const auto client = [&](const char* job, uint32_t rank) {
        auto c = std::make_unique<FakeClient>(server, ProcId(job, rank));
        EXPECT_STATUS(PMIX_SUCCESS, c->hello());
        return c;
    };
    const std::vector<std::vector<ProcId>> sets = {
        {{"one", 0}, {"one", 1}}, {{"two", 0}, {"two", 1}}, {{"job", 0}, {"job", 2}}, {{"job", 3}, {"job", 1}}};
    std::vector<std::vector<std::unique_ptr<FakeClient>>> c;
    for (const auto& set : sets) {
        c.emplace_back();
        for (const ProcId& p : set) c.back().push_back(client(p.nspace.c_str(), p.rank));
    }
    const auto procs = [&](size_t i) {
        return i < 2 ? ProcList{{i == 0 ? "one" : "two", PMIX_RANK_WILDCARD}}
                     : ProcList(sets[i].begin(), sets[i].end());
    };
    uint32_t ids[4];
    for (size_t i = 0; i < 4; ++i) ids[i] = construct(*c[i][0], procs(i));
    server.settle();
    for (size_t i = 0; i < 4; ++i) EXPECT_FALSE(c[i][0]->take(ids[i])) << i << ": its second member is missing";
    for (size_t i = 0; i < 4; ++i) {
        const Done second = done_of(*c[i][1], construct(*c[i][1], procs(i)));
        EXPECT_STATUS(PMIX_SUCCESS, second.status) << i;
        EXPECT_EQ(ProcList(sets[i].begin(), sets[i].end()), second.members) << i;
        EXPECT_STATUS(PMIX_SUCCESS, done_of(*c[i][0], ids[i]).status) << i;
    }
    EXPECT_EQ(4u, server.parts().registry.groups().all().size());
    EXPECT_STATUS(PMIX_ERR_EXISTS, done_of(*c[0][0], construct(*c[0][0], procs(0))).status) << "it is in one already";
    EXPECT_STATUS(PMIX_ERR_EXISTS, done_of(*c[2][0], construct(*c[2][0], {{"job", PMIX_RANK_WILDCARD}})).status);

    // The name means the caller's own group: its members fence, one leaves, the others hear of it.
    for (size_t i = 0; i < 4; ++i) {
        const ProcId whole(kName, PMIX_RANK_WILDCARD);
        const uint32_t first = c[i][0]->start_fence({whole});
        server.settle();
        EXPECT_FALSE(c[i][0]->take(first)) << i;
        const uint32_t second = c[i][1]->start_fence({whole});
        EXPECT_STATUS(PMIX_SUCCESS, c[i][0]->wait(first)->header.status) << i;
        EXPECT_STATUS(PMIX_SUCCESS, c[i][1]->wait(second)->header.status) << i;
        listen(*c[i][0], {PMIX_GROUP_LEFT});
    }
    EXPECT_STATUS(PMIX_SUCCESS, done_of(*c[1][1], start(*c[1][1], GroupCall::leave)).status);
    server.settle();
    for (size_t i = 0; i < 4; ++i) EXPECT_EQ(i == 1, c[i][0]->take_event().has_value()) << i;

    // Each is taken apart by its own members.
    EXPECT_STATUS(PMIX_SUCCESS, done_of(*c[1][0], destruct(*c[1][0])).status) << "alone since the other has left";
    for (const size_t i : {0u, 2u, 3u}) {
        const uint32_t first = destruct(*c[i][0]);
        server.settle();
        EXPECT_FALSE(c[i][0]->take(first)) << i;
        EXPECT_STATUS(PMIX_SUCCESS, done_of(*c[i][1], destruct(*c[i][1])).status) << i;
        EXPECT_STATUS(PMIX_SUCCESS, done_of(*c[i][0], first).status) << i;
    }
    EXPECT_TRUE(server.parts().registry.groups().empty());
    EXPECT_EQ(0u, server.parts().groups.open());
}

// A construct that ends, by a death, an abort or a timeout, is its own members' affair. rows: R8 R10 R11
TEST(ServerGroupTest, Construct_SameNameInTwoJobs_EndsForOneOnly) {
    TestServer server(nullptr);
    server.job("one", 1, 3);
    server.job("two", 1, 2);
    FakeClient a(server, {"one", 0}), b(server, {"one", 1}), c(server, {"two", 0}), d(server, {"two", 1});
    for (FakeClient* client : {&a, &b, &c, &d}) ASSERT_STATUS(PMIX_SUCCESS, client->hello());
    const ProcList one = {{"one", PMIX_RANK_WILDCARD}}, two = {{"two", PMIX_RANK_WILDCARD}};
    uint32_t x = construct(a, one), y = construct(c, two);
    server.settle();
    b.kill();
    EXPECT_STATUS(PMIX_ERR_PROC_TERM_WO_SYNC, done_of(a, x).status);
    x = construct(a, {{"one", 0}, {"one", 2}});
    server.settle();
    EXPECT_STATUS(PMIX_SUCCESS, done_of(a, start(a, GroupCall::abort)).status);
    EXPECT_STATUS(PMIX_GROUP_CONSTRUCT_ABORT, done_of(a, x).status);
    EXPECT_STATUS(PMIX_ERR_TIMEOUT, done_of(a, construct(a, {{"one", 0}, {"one", 2}}, timed({}))).status);
    EXPECT_FALSE(c.take(y)) << "the other job waits for its own";
    EXPECT_STATUS(PMIX_SUCCESS, done_of(d, construct(d, two)).status);
    EXPECT_STATUS(PMIX_SUCCESS, done_of(c, y).status);
}

// rows: R1 R4
TEST(ServerGroupTest, Construct_LongListUnsortedAndRepeated_KeepsTheFirstOfEach) {
    Setting s(1, 3, false);
    s.server->job("far", 300, 10, false);
    ProcList list, wanted;
    for (uint32_t r = 3000; r-- > 10;) wanted.push_back({"far", r});
    wanted.insert(wanted.begin() + 7, {"job", 2});
    wanted.push_back({"job", 0});
    list = wanted;
    list.push_back({"far", 2999});
    list.push_back({"job", 2});
    // Without a host nobody can gather the others: what counts is who of this node is waited for.
    const uint32_t first = construct(s[0], list);
    s.server->settle();
    EXPECT_FALSE(s[0].take(first)) << "rank 2 is missing";
    EXPECT_STATUS(PMIX_ERR_NOT_SUPPORTED, done_of(s[2], construct(s[2], list)).status);
    EXPECT_STATUS(PMIX_ERR_NOT_SUPPORTED, done_of(s[0], first).status);
    Setting wide(1, 3);
    wide.server->job("far", 300, 10, false);
    const uint32_t a = construct(wide[2], list), b = construct(wide[0], list);
    const Done done = done_of(wide[2], a);
    EXPECT_STATUS(PMIX_SUCCESS, done.status);
    EXPECT_EQ(wanted, done.members);
    EXPECT_EQ(wanted, done_of(wide[0], b).members);
}

// rows: R1
TEST(ServerGroupTest, WhatCannotBeAGroup) {
    Setting s(1, 1);
    EXPECT_STATUS(PMIX_ERR_BAD_PARAM, done_of(s[0], construct(s[0], {kAll}, {}, "")).status);
    EXPECT_STATUS(PMIX_ERR_BAD_PARAM, done_of(s[0], construct(s[0], {kAll}, {}, std::string(256, 'x'))).status);
    EXPECT_STATUS(PMIX_ERR_BAD_PARAM, done_of(s[0], construct(s[0], {kAll}, {}, "job")).status) << "a namespace's name";
    EXPECT_STATUS(PMIX_ERR_NOT_SUPPORTED, done_of(s[0], construct(s[0], {})).status)
        << "a host that does not name the members";
    EXPECT_STATUS(PMIX_ERR_NOT_A_MEMBER, done_of(s[0], construct(s[0], {{"job", 5}})).status);
    EXPECT_STATUS(PMIX_ERR_BAD_PARAM, done_of(s[0], construct(s[0], {{"job", PMIX_RANK_UNDEF}})).status);
    InfoList required;
    bool yes = true;
    required.append("myapp.unknown", &yes, PMIX_BOOL, PMIX_INFO_REQD);
    EXPECT_STATUS(PMIX_ERR_NOT_SUPPORTED, done_of(s[0], construct(s[0], {kAll}, std::move(required))).status);
    EXPECT_STATUS(PMIX_ERR_NOT_FOUND, done_of(s[0], start(s[0], GroupCall::leave)).status);
}

// rows: R2 R3
// proves: PMIx_Group_construct PMIX_GROUP_ASSIGN_CONTEXT_ID PMIX_RANGE server
TEST(ServerGroupTest, WithoutTheHostsEntryNoContextIdNorOtherNodes) {
    Setting near(1, 1, false);
    EXPECT_STATUS(PMIX_ERR_NOT_SUPPORTED,
                  done_of(near[0], construct(near[0], {kAll}, flag(PMIX_GROUP_ASSIGN_CONTEXT_ID))).status);
    InfoList local = flag(PMIX_GROUP_ASSIGN_CONTEXT_ID);
    pmix_data_range_t range = PMIX_RANGE_LOCAL;
    local.append(PMIX_RANGE, &range, PMIX_DATA_RANGE);
    Done done = done_of(near[0], construct(near[0], {kAll}, std::move(local)));
    EXPECT_STATUS(PMIX_SUCCESS, done.status) << "unique on the node is what was asked for";
    EXPECT_GT(number_of(done.results, PMIX_GROUP_CONTEXT_ID), 0);
}

TEST(ServerGroupTest, OtherNodesNeedTheHostsEntry) {
    Setting wide(2, 1, false);
    EXPECT_STATUS(PMIX_ERR_NOT_SUPPORTED, done_of(wide[0], construct(wide[0])).status);
}

// rows: R3 R4 U17
TEST(ServerGroupTest, OneUpcallWithSortedProcessesAndTheAnswerForAll) {
    Setting s(2, 2);
    s.host.styles["group"] = Style::later;
    s.host.group_results = [](const Seen& seen, InfoList& out) {
        out.append_number<size_t>(PMIX_GROUP_CONTEXT_ID, 77, PMIX_SIZE);
        if (const pmix_info_t* data = seen.infos.find(PMIX_GROUP_ENDPT_DATA)) out.append(*data);
    };
    const ProcList order = {{"job", 3}, {"job", 1}, {"job", 0}, {"job", 2}};
    s[0].put("k", "from 0");
    uint32_t a = construct(s[0], order, flag(PMIX_GROUP_ASSIGN_CONTEXT_ID));
    s.server->settle();
    EXPECT_EQ(0u, s.host.count("group"));
    uint32_t b = construct(s[1], order);
    ASSERT_TRUE(s.server->turn_until([&] { return s.host.waiting() == 1; }));
    const Seen* seen = s.host.last("group");
    EXPECT_EQ(PMIX_GROUP_CONSTRUCT, seen->status);
    EXPECT_EQ(kName, seen->message);
    EXPECT_EQ((ProcList{{"job", 0}, {"job", 1}, {"job", 2}, {"job", 3}}), seen->procs);
    EXPECT_STATUS(PMIX_SUCCESS, number_of(seen->infos, PMIX_LOCAL_COLLECTIVE_STATUS));
    EXPECT_NE(nullptr, seen->infos.find(PMIX_GROUP_ENDPT_DATA));
    s.host.answer_waiting();
    Done da = done_of(s[0], a), db = done_of(s[1], b);
    EXPECT_STATUS(PMIX_SUCCESS, da.status);
    EXPECT_EQ(order, da.members);
    EXPECT_EQ(order, db.members);
    EXPECT_EQ(77, number_of(da.results, PMIX_GROUP_CONTEXT_ID));
    EXPECT_EQ(77, number_of(db.results, PMIX_GROUP_CONTEXT_ID));
    // The host is told of the end too.
    s.host.styles["group"] = Style::before_return;
    uint32_t c = destruct(s[0]), d = destruct(s[1]);
    EXPECT_STATUS(PMIX_SUCCESS, done_of(s[0], c).status);
    EXPECT_STATUS(PMIX_SUCCESS, done_of(s[1], d).status);
    EXPECT_EQ(PMIX_GROUP_DESTRUCT, s.host.last("group")->status);
    EXPECT_EQ(2u, s.host.count("group"));
}

// The operation is at the host because its limit is over, and the host has not answered yet. rows: R3
TEST(ServerGroupTest, Construct_MemberCallsWhileTheHostAnswersLate_EndsAsTheOthers) {
    Setting s(2, 2);
    s.host.styles["group"] = Style::later;
    const uint32_t a = construct(s[0], {{"job", 0}, {"job", 1}, {"job", 2}}, timed({}));
    ASSERT_TRUE(s.server->turn_until([&] { return s.host.waiting() == 1; })) << "the limit is over";
    const uint32_t b = construct(s[1], {{"job", 0}, {"job", 1}, {"job", 2}}, timed({}));
    EXPECT_STATUS(PMIX_ERR_EXISTS,
                  done_of(s[1], construct(s[1], {{"job", 0}, {"job", 1}, {"job", 2}}, timed({}))).status);
    EXPECT_STATUS(PMIX_ERR_EXISTS,
                  done_of(s[0], construct(s[0], {{"job", 0}, {"job", 1}, {"job", 2}}, timed({}))).status);
    EXPECT_STATUS(PMIX_ERR_TIMEOUT, done_of(s[0], a).status);
    EXPECT_STATUS(PMIX_ERR_TIMEOUT, done_of(s[1], b).status);
    s.host.answer_waiting();
    // Both have had their answer: the next construct is a new one.
    s.host.styles["group"] = Style::before_return;
    const uint32_t c = construct(s[0], {{"job", 0}, {"job", 1}, {"job", 2}}, timed({}));
    const uint32_t d = construct(s[1], {{"job", 0}, {"job", 1}, {"job", 2}}, timed({}));
    EXPECT_STATUS(PMIX_SUCCESS, done_of(s[0], c).status);
    EXPECT_STATUS(PMIX_SUCCESS, done_of(s[1], d).status);
}

// What one member asks for, whichever calls first, reaches the host once.
TEST(ServerGroupTest, Construct_DirectiveOfOneMember_HostIsToldOnce) {
    for (const char* key :
         {PMIX_GROUP_ASSIGN_CONTEXT_ID, PMIX_GROUP_OPTIONAL, PMIX_GROUP_NOTIFY_TERMINATION, PMIX_GROUP_FT_COLLECTIVE}) {
        for (const size_t asks : {0u, 1u, 2u}) {  // 2: nobody
            Setting s(2, 2);
            s.host.styles["group"] = Style::before_return;
            s.host.group_results = [](const Seen&, InfoList& out) {
                out.append_number<size_t>(PMIX_GROUP_CONTEXT_ID, 77, PMIX_SIZE);
            };
            uint32_t id[2];
            for (size_t i = 0; i < 2; ++i) {
                id[i] = construct(s[i], {kAll}, asks == i ? flag(key) : InfoList());
                s.server->settle();
            }
            for (size_t i = 0; i < 2; ++i) EXPECT_STATUS(PMIX_SUCCESS, done_of(s[i], id[i]).status) << key;
            const InfoList& infos = s.host.last("group")->infos;
            size_t n = 0;
            for (const pmix_info_t& info : infos) n += common::key_view(info) == key;
            const bool always = std::string_view(key) == PMIX_GROUP_ASSIGN_CONTEXT_ID;
            EXPECT_EQ(asks != 2 || always ? 1u : 0u, n) << key;
            EXPECT_EQ(asks != 2, common::InfoView(infos).flag(key)) << key;
        }
    }
}

// rows: U17 R3
TEST(ServerGroupTest, HostThatAnswersNothing) {
    for (Style style : {Style::before_return, Style::succeeded, Style::other_thread, Style::fails}) {
        Setting s(2, 1);
        s.host.styles["group"] = style;
        if (style == Style::fails) s.host.statuses["group"] = PMIX_ERR_NO_PERMISSIONS;
        uint32_t id = construct(s[0]);
        Done done = done_of(s[0], id);
        EXPECT_STATUS(style == Style::fails ? PMIX_ERR_NO_PERMISSIONS : PMIX_SUCCESS, done.status);
        if (style != Style::fails) {
            EXPECT_EQ((ProcList{{"job", 0}, {"job", 1}}), done.members);
        }
        s.server->settle();
        EXPECT_FALSE(s[0].take(id)) << "answered twice";
        if (style == Style::fails) continue;
        // A number that was asked for and not given is no success.
        EXPECT_STATUS(PMIX_ERR_NOT_SUPPORTED,
                      done_of(s[0], construct(s[0], {kAll}, flag(PMIX_GROUP_ASSIGN_CONTEXT_ID), "other")).status);
    }
}

// rows: R6
TEST(ServerGroupTest, GroupName_InOtherCalls_MeansItsMembers) {
    Setting s(2, 2);
    uint32_t a = construct(s[0]), b = construct(s[1]);
    ASSERT_STATUS(PMIX_SUCCESS, done_of(s[0], a).status);
    ASSERT_STATUS(PMIX_SUCCESS, done_of(s[1], b).status);
    uint32_t fa = s[0].start_fence({{kName, PMIX_RANK_WILDCARD}});
    uint32_t fb = s[1].start_fence({{kName, 0}, {kName, 1}, {kName, 2}, {kName, 3}});
    EXPECT_STATUS(PMIX_SUCCESS, s[0].wait(fa)->header.status);
    EXPECT_STATUS(PMIX_SUCCESS, s[1].wait(fb)->header.status);
    EXPECT_EQ((ProcList{{"job", 0}, {"job", 1}, {"job", 2}, {"job", 3}}), s.host.last("fence")->procs);
    EXPECT_STATUS(PMIX_ERR_NOT_FOUND, s[0].wait(s[0].start_fence({{kName, 4}}))->header.status);
    s.host.data = [](const Seen&) { return std::vector<uint8_t>(); };
    s[0].wait(s[0].start_get({kName, 3}, "k", 1));
    ASSERT_NE(nullptr, s.host.last("direct_modex"));
    EXPECT_EQ(ProcId("job", 3), s.host.last("direct_modex")->proc);
}

// rows: R7
TEST(ServerGroupTest, SeveralAtOnceAndAFenceBesides) {
    Setting s(1, 2);
    uint32_t a1 = construct(s[0], {kAll}, {}, "one"), a2 = construct(s[0], {kAll}, {}, "two");
    uint32_t fa = s[0].start_fence({kAll});
    uint32_t b2 = construct(s[1], {kAll}, {}, "two");
    EXPECT_STATUS(PMIX_SUCCESS, done_of(s[0], a2).status);
    EXPECT_STATUS(PMIX_SUCCESS, done_of(s[1], b2).status);
    EXPECT_FALSE(s[0].take(a1));
    uint32_t fb = s[1].start_fence({kAll});
    EXPECT_STATUS(PMIX_SUCCESS, s[0].wait(fa)->header.status);
    EXPECT_STATUS(PMIX_SUCCESS, s[1].wait(fb)->header.status);
    uint32_t b1 = construct(s[1], {kAll}, {}, "one");
    EXPECT_STATUS(PMIX_SUCCESS, done_of(s[0], a1).status);
    EXPECT_STATUS(PMIX_SUCCESS, done_of(s[1], b1).status);
}

// rows: R17 R12
TEST(ServerGroupTest, WhoLeavesIsAnnouncedAndNotWaitedFor) {
    Setting s(2, 2);
    listen(s[0], {PMIX_GROUP_LEFT, PMIX_GROUP_MEMBERSHIP_UPDATE});
    uint32_t a = construct(s[0]), b = construct(s[1]);
    ASSERT_STATUS(PMIX_SUCCESS, done_of(s[0], a).status);
    ASSERT_STATUS(PMIX_SUCCESS, done_of(s[1], b).status);
    EXPECT_STATUS(PMIX_SUCCESS, done_of(s[1], start(s[1], GroupCall::leave)).status);
    EXPECT_STATUS(PMIX_ERR_NOT_FOUND, done_of(s[1], start(s[1], GroupCall::leave)).status);
    auto event = s[0].take_event();
    ASSERT_TRUE(event);
    EXPECT_STATUS(PMIX_GROUP_LEFT, event->status);
    EXPECT_TRUE(common::InfoView(event->infos.data(), event->infos.size()).flag(PMIX_EVENT_NON_DEFAULT));
    EXPECT_EQ(ProcId("job", 1), event->source);
    event = s[0].take_event();
    ASSERT_TRUE(event);
    EXPECT_STATUS(PMIX_GROUP_MEMBERSHIP_UPDATE, event->status) << "of what is left, after its reason";
    ASSERT_EQ(1u, s.host.count("notify_event")) << "members of the other node";
    EXPECT_STATUS(PMIX_ERR_NOT_FOUND, s[0].wait(s[0].start_fence({{kName, 1}}))->header.status);
    EXPECT_STATUS(PMIX_SUCCESS, done_of(s[0], destruct(s[0])).status);
    EXPECT_EQ((ProcList{{"job", 0}, {"job", 2}, {"job", 3}}), s.host.last("group")->procs);
}

// As a member of another node does it, by its host, and a client of OpenPMIx.
TEST(ServerGroupTest, Leave_ByTheEventAlone_ChangeIsToldAfterIt) {
    Setting s(1, 3);
    listen(s[0], {PMIX_GROUP_LEFT, PMIX_GROUP_MEMBERSHIP_UPDATE});
    uint32_t ids[3];
    for (int i = 0; i < 3; ++i) ids[i] = construct(s[i]);
    for (int i = 0; i < 3; ++i) ASSERT_STATUS(PMIX_SUCCESS, done_of(s[i], ids[i]).status);
    common::NotifyEventRequest left;
    left.status = PMIX_GROUP_LEFT;
    left.source = {"job", 2};
    left.range = PMIX_RANGE_CUSTOM;
    InfoList infos;
    infos.append_string(PMIX_GROUP_ID, kName);
    common::append_proc_array(infos, PMIX_EVENT_CUSTOM_RANGE, {{"job", 0}});
    left.infos = std::move(infos);
    EXPECT_STATUS(PMIX_SUCCESS, s[2].ask<Command::notify_event>(left));
    s.server->settle();
    for (const pmix_status_t code : {PMIX_GROUP_LEFT, PMIX_GROUP_MEMBERSHIP_UPDATE}) {
        auto event = s[0].take_event();
        ASSERT_TRUE(event);
        EXPECT_STATUS(code, event->status);
    }
    const uint32_t a = destruct(s[0]);
    EXPECT_STATUS(PMIX_SUCCESS, done_of(s[1], destruct(s[1])).status);
    EXPECT_STATUS(PMIX_SUCCESS, done_of(s[0], a).status);
}

// Names of jobs are the host's to choose: those who have called already do not wait for the others for ever.
// rows: R1
TEST(ServerGroupTest, AJobThatTakesTheNameOfAGroupWhichFormsKeepsNobodyOut) {
    Setting s(1, 3);
    uint32_t ids[3] = {construct(s[0])};
    s.server->settle();
    s.server->job(kName, 1, 1);
    for (size_t i = 1; i < 3; ++i) ids[i] = construct(s[i]);
    for (size_t i = 0; i < 3; ++i) {
        const Done done = done_of(s[i], ids[i]);
        EXPECT_STATUS(PMIX_SUCCESS, done.status);
        EXPECT_EQ(3u, done.members.size());
    }
    EXPECT_EQ(0u, s.server->parts().groups.open());
    EXPECT_STATUS(PMIX_ERR_BAD_PARAM, done_of(s[0], construct(s[0])).status) << "now it is a namespace's name";
}

}  // namespace server_group_test

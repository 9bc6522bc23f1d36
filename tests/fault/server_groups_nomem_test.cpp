// SPDX-License-Identifier: BSD-3-Clause
// The n-th allocation of a server fails, for every n, when a process that a group or an invitation is about ends: each
// process that is to be told of it is told, once, and one that has been told and decides is waited for.
#include <gtest/gtest.h>

#include <algorithm>
#include <initializer_list>
#include <map>
#include <memory>
#include <optional>

#include "support/failing_node.h"
#include "support/group_requests.h"
#include "support/status.h"

namespace server_groups_nomem_test {

using namespace pmix;
using namespace pmix::test;

namespace {

// A third process of the node, of a job of its own.
std::unique_ptr<FakeClient> third_of(Node& node) {
    node.server.job("third", 1, 1);
    auto client = std::make_unique<FakeClient>(node.server, ProcId("third", 0));
    EXPECT_STATUS(PMIX_SUCCESS, client->hello());
    return client;
}

// The host passes on an event of a group. Its allocations are counted.
void hear(Node& node, pmix_status_t code, const ProcId& source, const ProcList& targets) {
    InfoList infos;
    infos.append_string(PMIX_GROUP_ID, kName);
    common::append_proc_array(infos, PMIX_EVENT_CUSTOM_RANGE, targets);
    node.server.on_loop([&] {
        node.server.parts().groups.event_notified(code, source, infos, true);
        return 0;
    });
}

// Each of these is told once, unless it has lost its connection.
void expect_told_once(Node& node, std::initializer_list<FakeClient*> clients, pmix_status_t code) {
    std::map<FakeClient*, int> told;
    const auto look = [&] {
        for (FakeClient* client : clients) {
            while (const auto event = client->take_event())
                if (event->status == code) ++told[client];
        }
    };
    EXPECT_TRUE(node.turn_until([&] {
        look();
        return std::all_of(clients.begin(), clients.end(), [&](FakeClient* c) { return told[c] > 0 || c->hung_up(); });
    })) << "not all are told";
    node.server.settle();
    look();
    for (FakeClient* client : clients) EXPECT_LE(told[client], 1) << "told more than once";
}

bool has_formed(const std::optional<pmix_status_t>& status) {
    return status == PMIX_SUCCESS || status == PMIX_ERR_PARTIAL_SUCCESS;
}

}  // namespace

TEST(ServerGroupsNomemTest, InvitedOneEnds_OneAllocationFails_InviterIsToldOnce) {
    fail_everywhere(
        [](Node& node) {
            listen(*node.a, {PMIX_GROUP_INVITE_FAILED});
            hear(node, PMIX_GROUP_INVITED, {"job", 0}, {{"job", 1}, {"far", 0}});
            node.b->kill();
            expect_told_once(node, {node.a.get()}, PMIX_GROUP_INVITE_FAILED);
        },
        5, true);
}

// The inviter is of another node: the host tells it.
TEST(ServerGroupsNomemTest, InvitedOneEnds_OneAllocationFails_InviterElsewhereIsToldOnce) {
    fail_everywhere(
        [](Node& node) {
            hear(node, PMIX_GROUP_INVITED, {"far", 0}, {{"job", 1}, {"far", 1}});
            node.b->kill();
            const auto told = [&] {
                return std::count_if(node.host.seen.begin(), node.host.seen.end(), [](const Seen& seen) {
                    return seen.what == "notify_event" && seen.codes.at(0) == PMIX_GROUP_INVITE_FAILED;
                });
            };
            EXPECT_TRUE(node.turn_until([&] { return told() > 0; })) << "the inviter is not told";
            node.server.settle();
            EXPECT_EQ(1, told());
        },
        5, true);
}

TEST(ServerGroupsNomemTest, InviterEnds_OneAllocationFails_EachInvitedIsToldOnce) {
    fail_everywhere(
        [](Node& node) {
            const auto inviter = third_of(node);
            for (FakeClient* client : {node.a.get(), node.b.get()}) listen(*client, {PMIX_GROUP_LEADER_FAILED});
            hear(node, PMIX_GROUP_INVITED, {"third", 0}, {{"job", 0}, {"job", 1}, {"far", 0}});
            inviter->kill();
            expect_told_once(node, {node.a.get(), node.b.get()}, PMIX_GROUP_LEADER_FAILED);
        },
        5, true);
}

// A process that accepts an invitation of one that has gone is told of it.
TEST(ServerGroupsNomemTest, AcceptedAfterTheInviterHasGone_OneAllocationFails_InvitedIsTold) {
    fail_everywhere([](Node& node) {
        const auto inviter = third_of(node);
        listen(*node.a, {PMIX_GROUP_LEADER_FAILED});
        hear(node, PMIX_GROUP_INVITED, {"third", 0}, {{"job", 0}, {"job", 1}});
        inviter->kill();
        node.server.settle();
        ASSERT_TRUE(node.a->take_event());
        InfoList infos;
        infos.append_string(PMIX_GROUP_ID, kName);
        common::append_proc_array(infos, PMIX_EVENT_CUSTOM_RANGE, {{"third", 0}});
        bool heard = false;
        node.server.on_loop([&] {
            FailingMemory::resume();
            try {
                node.server.parts().groups.event_notified(PMIX_GROUP_INVITE_ACCEPTED, {"job", 0}, infos, false);
                heard = true;
            } catch (const std::bad_alloc&) {
            }
            FailingMemory::pause();
            return 0;
        });
        // One that has not been heard has failed for its sender.
        if (heard) expect_told_once(node, {node.a.get()}, PMIX_GROUP_LEADER_FAILED);
    });
}

// A participant ends before it has called. Any process that has been told of it aborts, and the group does not form,
// though what followed in telling it may have failed: others of the construct are on another node.
TEST(ServerGroupsNomemTest, ConstructThatAParticipantLeaves_OneAllocationFails_WhoWasToldIsWaitedFor) {
    fail_everywhere(
        [](Node& node) {
            const auto c = third_of(node);
            for (FakeClient* member : {node.a.get(), node.b.get()}) listen(*member, {PMIX_GROUP_MEMBER_FAILED});
            const ProcList procs{kAll, {"third", 0}};
            const uint32_t ia = construct(*node.a, procs, flag(PMIX_GROUP_NOTIFY_TERMINATION));
            const uint32_t ib = construct(*node.b, procs, flag(PMIX_GROUP_NOTIFY_TERMINATION));
            node.server.settle();
            c->kill();
            std::optional<pmix_status_t> sa, sb;
            std::map<FakeClient*, uint32_t> aborts;
            const auto both = [&] {
                node.host.answer_waiting();
                for (FakeClient* member : {node.a.get(), node.b.get()}) {
                    // As the client library does it.
                    bool asks = member->take_event().has_value();
                    if (aborts.count(member) != 0) {
                        const auto answer = outcome(*member, aborts[member]);
                        asks = asks || answer == PMIX_ERR_NOMEM || answer == PMIX_ERROR;
                    }
                    if (!asks) continue;
                    node.server.settle();  // it takes its time to decide
                    node.host.answer_waiting();
                    aborts[member] = start(*member, GroupCall::abort);
                }
                if (!sa) sa = outcome(*node.a, ia);
                if (!sb) sb = outcome(*node.b, ib);
                return sa && sb;
            };
            EXPECT_TRUE(node.turn_until(both)) << (sa ? "" : "rank 0 waits ") << (sb ? "" : "rank 1 waits");
            EXPECT_FALSE(!aborts.empty() && (has_formed(sa) || has_formed(sb))) << "formed though it was aborted";
        },
        5, true);
}

// One of two could not join, and was told so: the other one does not form the group with it.
TEST(ServerGroupsNomemTest, Construct_OneAllocationFails_WhoCouldNotJoinIsNoMember) {
    fail_everywhere(
        [](Node& node) {
            node.host.styles["group"] = test::Style::later;  // so that its upcall is seen before its answer
            const uint32_t ia = construct(*node.a);
            std::optional<pmix_status_t> sa, sb;
            EXPECT_TRUE(node.turn_until([&] {
                sa = outcome(*node.a, ia);
                return sa || node.server.on_loop([&] {
                    server::ReportRows rows;
                    node.server.parts().groups.report(rows);
                    return !rows.collectives.empty() && !rows.collectives[0].joined.empty();
                });
            }));
            if (sa) return;  // it has not joined, and there is no group that it is missed in
            const uint32_t ib = construct(*node.b);
            EXPECT_TRUE(node.turn_until([&] {
                sb = outcome(*node.b, ib);
                return sb || node.host.count("group") != 0;
            }));
            if (!sb) return;
            EXPECT_NE(PMIX_SUCCESS, *sb);
            node.server.settle();
            EXPECT_EQ(0u, node.host.count("group")) << "it is taken for one that has joined";
        },
        5, true);
}

// A member of a group that has formed ends: it is out of the group, and the others are told, also where some step of it
// had no memory at first.
TEST(ServerGroupsNomemTest, MemberEnds_OneAllocationFails_GroupIsWithoutIt) {
    fail_everywhere(
        [](Node& node) {
            const ProcList procs{{"job", 0}, {"job", 1}};
            const uint32_t ia = construct(*node.a, procs, flag(PMIX_GROUP_NOTIFY_TERMINATION));
            const uint32_t ib = construct(*node.b, procs, flag(PMIX_GROUP_NOTIFY_TERMINATION));
            ASSERT_STATUS(PMIX_SUCCESS, done_of(*node.a, ia).status);
            ASSERT_STATUS(PMIX_SUCCESS, done_of(*node.b, ib).status);
            node.b->kill();
            const auto is_member = [&] {
                return node.server.on_loop([&] {
                    const auto* group = node.server.parts().registry.groups().find(kName, {"job", 0});
                    return group != nullptr && group->has({"job", 1});
                });
            };
            EXPECT_TRUE(node.turn_until([&] { return !is_member(); })) << "it is still in the group";
        },
        5, true);
}

// The host leaves out members of other nodes, and their fellows here are told. Where there is no memory for that, the
// group forms all the same, as it does on the other nodes.
TEST(ServerGroupsNomemTest, HostLeavesMembersOut_NoMemoryToTellOfThem_GroupForms) {
    // In how many ways it fails, of all ways in which an allocation may.
    const auto failures = [](unsigned left_out) {
        int failed = 0;
        for (long n = 0;; ++n) {
            Node node(true);
            node.host.group_results = [](const Seen&, InfoList& out) {
                const Spared spared;
                common::append_proc_array(out, PMIX_GROUP_MEMBERSHIP, {{"job", 0}, {"job", 1}});
            };
            ProcList procs{{"job", 0}, {"job", 1}};
            for (unsigned r = 0; r < left_out; ++r) procs.emplace_back("far", r);
            FailingMemory::arm(n);
            const uint32_t ia = construct(*node.a, procs, flag(PMIX_GROUP_NOTIFY_TERMINATION));
            const auto [sa, sb] = await_both(node, ia, construct(*node.b, procs, flag(PMIX_GROUP_NOTIFY_TERMINATION)));
            if (!FailingMemory::failed() || ::testing::Test::HasFailure()) {
                EXPECT_STATUS(PMIX_ERR_PARTIAL_SUCCESS, sa);
                EXPECT_STATUS(PMIX_ERR_PARTIAL_SUCCESS, sb);
                return failed;
            }
            if (!has_formed(sa) || !has_formed(sb)) ++failed;
        }
    };
    const int with_one = failures(1), with_twenty = failures(20);
    // To tell of each takes several allocations.
    EXPECT_LT(with_twenty, with_one + 19);
}

}  // namespace server_groups_nomem_test

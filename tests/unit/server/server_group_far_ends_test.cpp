// SPDX-License-Identifier: BSD-3-Clause
// Groups and processes of other nodes whose server is lost: only the host's events tell that they have ended.
#include <gtest/gtest.h>

#include "common/values/info_view.h"
#include "support/group_requests.h"
#include "support/status.h"

namespace server_group_far_ends_test {

using namespace pmix;
using namespace pmix::test;

namespace {

const ProcId kEnvironment("", PMIX_RANK_UNDEF);

// "job" has ranks 0 to 2 here and 3 to 5 on the other node, "n1".
struct FarSetting : Setting {
    FarSetting() : Setting(2, 3) {}

    // As the host hands it down.
    void reports(pmix_status_t code, const ProcId& source, InfoList infos) {
        common::NotifyEventRequest request;
        request.status = code;
        request.source = source;
        request.range = PMIX_RANGE_SESSION;
        request.infos = std::move(infos);
        auto bytes = common::message_bytes(request);
        server->on_loop([&] {
            server->server->on_frame(server->server->self_peer(),
                                     common::FrameHeader::request(static_cast<uint16_t>(Command::notify_event), 5),
                                     *bytes);
            return 0;
        });
        server->settle();
    }
    void reports_end(pmix_status_t code, const ProcId& source, const ProcId& affected) {
        InfoList infos;
        const pmix_proc_t proc = affected.to_c();
        infos.append(PMIX_EVENT_AFFECTED_PROC, &proc, PMIX_PROC);
        reports(code, source, std::move(infos));
    }
    void group_event(pmix_status_t code, const ProcId& source, const ProcList& targets, bool from_host,
                     const ProcId* affected = nullptr) {
        InfoList infos;
        infos.append_string(PMIX_GROUP_ID, kName);
        common::append_proc_array(infos, PMIX_EVENT_CUSTOM_RANGE, targets);
        if (affected != nullptr) {
            const pmix_proc_t proc = affected->to_c();
            infos.append(PMIX_EVENT_AFFECTED_PROC, &proc, PMIX_PROC);
        }
        if (from_host) return reports(code, source, std::move(infos));
        server->on_loop([&] {
            server->parts().groups.event_notified(code, source, infos, false);
            return 0;
        });
        server->settle();
    }
    // The next event that this client gets.
    void expect(size_t client, pmix_status_t code, const ProcId& affected) {
        std::optional<common::EventNotify> event;
        ASSERT_TRUE(server->turn_until([&] { return (event = clients[client]->take_event()).has_value(); })) << code;
        EXPECT_STATUS(code, event->status);
        EXPECT_EQ(affected, event->source);
        std::string_view group;
        const InfoList infos = event->infos.take();
        common::InfoView(infos).get(PMIX_GROUP_ID, &group);
        EXPECT_EQ(kName, group);
    }
    // Whatever was to be told of an earlier end has been told when a later one has.
    void expect_nothing_until(size_t client, const ProcId& last) {
        group_event(PMIX_GROUP_INVITED, {"job", static_cast<uint32_t>(client)}, {last}, false);
        reports_end(PMIX_EVENT_PROC_TERMINATED, kEnvironment, last);
        expect(client, PMIX_GROUP_INVITE_FAILED, last);
    }
    bool ended(const ProcId& proc) {
        return server->on_loop([&] { return server->parts().registry.has_ended(proc); });
    }
};

}  // namespace

// rows: R13 R14
TEST(ServerGroupFarEndsTest, InvitedProcess_ItsNodeIsLost_InviterIsTold) {
    FarSetting s;
    listen(s[0], {PMIX_GROUP_INVITE_FAILED});
    s.group_event(PMIX_GROUP_INVITED, {"job", 0}, {{"job", 1}, {"job", 4}}, false);
    s.reports_end(PMIX_ERR_PROC_ABORTED_BY_SIG, {"job", 4}, {"job", 4});
    EXPECT_TRUE(s.ended({"job", 4}));
    s.expect(0, PMIX_GROUP_INVITE_FAILED, {"job", 4});
    // One that has ended before it is invited.
    s.group_event(PMIX_GROUP_INVITED, {"job", 0}, {{"job", 4}}, false);
    s.expect(0, PMIX_GROUP_INVITE_FAILED, {"job", 4});
    // It does not wait for one that has declined, and is told once.
    s.group_event(PMIX_GROUP_INVITED, {"job", 0}, {{"job", 3}}, false);
    s.group_event(PMIX_GROUP_INVITE_DECLINED, {"job", 3}, {{"job", 0}}, true);
    s.reports_end(PMIX_ERR_EXIT_NONZERO_TERM, kEnvironment, {"job", 3});
    s.expect_nothing_until(0, {"job", 5});
    EXPECT_FALSE(s[0].take_event());
}

// rows: R13 R15
TEST(ServerGroupFarEndsTest, Inviter_ItsNodeIsLost_ThoseThatWaitForItAreTold) {
    FarSetting s;
    for (int i = 0; i < 3; ++i) listen(s[i], {PMIX_GROUP_LEADER_FAILED});
    s.group_event(PMIX_GROUP_INVITED, {"job", 4}, {{"job", 0}, {"job", 3}}, true);
    s.group_event(PMIX_GROUP_INVITE_ACCEPTED, {"job", 1}, {{"job", 4}}, false);  // before an invitation
    s.reports_end(PMIX_ERR_LOST_CONNECTION, kEnvironment, {"job", 4});
    s.expect(0, PMIX_GROUP_LEADER_FAILED, {"job", 4});
    s.expect(1, PMIX_GROUP_LEADER_FAILED, {"job", 4});
    // A process that accepts now does not wait either, with an invitation and without one.
    s.group_event(PMIX_GROUP_INVITE_ACCEPTED, {"job", 0}, {{"job", 4}}, false);
    s.expect(0, PMIX_GROUP_LEADER_FAILED, {"job", 4});
    s.group_event(PMIX_GROUP_INVITE_ACCEPTED, {"job", 2}, {{"job", 4}}, false);
    s.expect(2, PMIX_GROUP_LEADER_FAILED, {"job", 4});
    // The other node's processes are for its server.
    for (const Seen& seen : s.host.seen)
        EXPECT_FALSE(seen.what == "notify_event" && seen.status == PMIX_GROUP_LEADER_FAILED);
}

// A process's own server that still runs announces its end. rows: R13 R15
TEST(ServerGroupFarEndsTest, End_OwnServerAnnouncesIt_IsToldOnce) {
    FarSetting s;
    listen(s[0], {PMIX_GROUP_INVITE_FAILED, PMIX_GROUP_LEADER_FAILED});
    const ProcId invited{"job", 3}, inviter{"job", 4};
    s.group_event(PMIX_GROUP_INVITED, {"job", 0}, {invited}, false);
    s.group_event(PMIX_GROUP_INVITED, inviter, {{"job", 0}}, true);
    s.reports_end(PMIX_EVENT_PROC_TERMINATED, kEnvironment, invited);
    s.reports_end(PMIX_EVENT_PROC_TERMINATED, kEnvironment, inviter);
    s.group_event(PMIX_GROUP_INVITE_FAILED, invited, {{"job", 0}}, true, &invited);
    s.group_event(PMIX_GROUP_LEADER_FAILED, inviter, {{"job", 0}}, true, &inviter);
    s.expect(0, PMIX_GROUP_INVITE_FAILED, invited);
    s.expect(0, PMIX_GROUP_LEADER_FAILED, inviter);
    s.expect_nothing_until(0, {"job", 5});
}

// proves: PMIx_Group_construct PMIX_GROUP_NOTIFY_TERMINATION server
TEST(ServerGroupFarEndsTest, Member_ItsNodeIsLost_LeavesTheGroup) {
    FarSetting s;
    s.host.group_results = [](const Seen& seen, InfoList& out) {
        common::append_proc_array(out, PMIX_GROUP_MEMBERSHIP, seen.procs);
    };
    listen(s[1], {PMIX_GROUP_MEMBER_FAILED, PMIX_GROUP_MEMBERSHIP_UPDATE});
    InfoList notify;
    notify.append_flag(PMIX_GROUP_NOTIFY_TERMINATION, true);
    const ProcList members = {{"job", 0}, {"job", 1}, {"job", 4}};
    const uint32_t a = construct(s[0], members, std::move(notify)), b = construct(s[1], members);
    ASSERT_STATUS(PMIX_SUCCESS, done_of(s[0], a).status);
    ASSERT_STATUS(PMIX_SUCCESS, done_of(s[1], b).status);
    s.reports_end(PMIX_ERR_PROC_KILLED_BY_CMD, kEnvironment, {"job", 4});
    s.expect(1, PMIX_GROUP_MEMBER_FAILED, {"job", 4});
    s.expect(1, PMIX_GROUP_MEMBERSHIP_UPDATE, {"job", 4});
    const uint32_t c = destruct(s[0]), d = destruct(s[1]);
    EXPECT_STATUS(PMIX_SUCCESS, done_of(s[0], c).status) << "the group is of this node alone now";
    EXPECT_STATUS(PMIX_SUCCESS, done_of(s[1], d).status);
}

// A namespace that the host takes back has no processes any more. rows: R13
TEST(ServerGroupFarEndsTest, InvitedProcess_ItsNamespaceEnds_InviterIsTold) {
    FarSetting s;
    listen(s[0], {PMIX_GROUP_INVITE_FAILED});
    s.server->job("away", 1, 1, false);
    s.group_event(PMIX_GROUP_INVITED, {"job", 0}, {{"away", 7}}, false);
    s.server->on_loop([&] {
        s.server->setup().deregister_nspace("away");
        return 0;
    });
    s.expect(0, PMIX_GROUP_INVITE_FAILED, {"away", 7});
}

// rows: R15
TEST(ServerGroupFarEndsTest, Inviter_ItsNamespaceEnds_ThoseThatWaitForItAreTold) {
    FarSetting s;
    for (int i = 0; i < 2; ++i) listen(s[i], {PMIX_GROUP_LEADER_FAILED});
    s.server->job("away", 1, 1, false);
    s.group_event(PMIX_GROUP_INVITED, {"away", 7}, {{"job", 0}}, true);
    s.group_event(PMIX_GROUP_INVITE_ACCEPTED, {"job", 1}, {{"away", 7}}, false);  // before an invitation
    s.server->on_loop([&] {
        s.server->setup().deregister_nspace("away");
        return 0;
    });
    s.expect(0, PMIX_GROUP_LEADER_FAILED, {"away", 7});
    s.expect(1, PMIX_GROUP_LEADER_FAILED, {"away", 7});
}

TEST(ServerGroupFarEndsTest, Reports_OfHosts_NameEndedProcesses) {
    FarSetting s;
    s.server->job("other", 2, 1, false);
    const auto node_down = [&](const char* key, const void* value, pmix_data_type_t type) {
        InfoList infos;
        infos.append(key, value, type);
        s.reports(PMIX_EVENT_NODE_DOWN, kEnvironment, std::move(infos));
    };
    node_down(PMIX_HOSTNAME, "n0", PMIX_STRING);
    EXPECT_FALSE(s.ended({"job", 0})) << "this node's processes are seen to end";
    node_down(PMIX_HOSTNAME, "nowhere", PMIX_STRING);
    EXPECT_FALSE(s.ended({"job", 3}));
    node_down(PMIX_HOSTNAME, "n1", PMIX_STRING);
    for (uint32_t rank = 3; rank < 6; ++rank) EXPECT_TRUE(s.ended({"job", rank}));
    EXPECT_TRUE(s.ended({"other", 1}));

    s.server->job("second", 2, 1, false);
    const uint32_t id = 1;
    node_down(PMIX_NODEID, &id, PMIX_UINT32);
    EXPECT_TRUE(s.ended({"second", 1}));

    s.server->job("third", 3, 1, false);
    s.reports_end(PMIX_EVENT_JOB_END, kEnvironment, {"third", PMIX_RANK_WILDCARD});
    EXPECT_TRUE(s.ended({"third", 1}));
    EXPECT_TRUE(s.ended({"third", 2}));
}

// It initialises again, or is started again; or it has ended in another job's opinion only.
TEST(ServerGroupFarEndsTest, Reports_ThatAreNoEnds_LeaveTheProcess) {
    FarSetting s;
    s.reports_end(PMIX_ERR_PROC_TERM_WO_SYNC, {"job", 3}, {"job", 3});
    EXPECT_FALSE(s.ended({"job", 3})) << "it may have finalized only";
    s.server->job("other", 2, 1, false);
    s.reports_end(PMIX_ERR_PROC_ABORTED_BY_SIG, {"other", 1}, {"job", 3});
    EXPECT_FALSE(s.ended({"job", 3})) << "another job's word";
    s.reports(PMIX_ERR_PROC_ABORTED_BY_SIG, {"job", 3}, {});
    EXPECT_FALSE(s.ended({"job", 3})) << "who tells it of nobody";
    s.reports_end(PMIX_ERR_PROC_ABORTED_BY_SIG, kEnvironment, {"job", 3});
    EXPECT_TRUE(s.ended({"job", 3}));
    s.reports_end(PMIX_ERR_PROC_RESTART, kEnvironment, {"job", 3});
    EXPECT_FALSE(s.ended({"job", 3}));
    s.reports_end(PMIX_ERR_PROC_ABORTED_BY_SIG, kEnvironment, {"job", 3});
    s.group_event(PMIX_GROUP_INVITED, {"job", 3}, {{"job", 0}}, true);
    EXPECT_FALSE(s.ended({"job", 3})) << "who invites is there";
}

}  // namespace server_group_far_ends_test

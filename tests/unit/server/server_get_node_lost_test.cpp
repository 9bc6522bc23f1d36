// SPDX-License-Identifier: BSD-3-Clause
// A Get of a process whose node is lost, as the host reports by an event: it ends as on one node, also where the host
// leaves its direct modex without an answer.
#include "support/status.h"
#include "unit/server/server_get_setting.h"

namespace server_get_node_lost_test {

using namespace pmix;
using namespace pmix::test;

namespace {

const common::ProcId kEnvironment("", PMIX_RANK_UNDEF);

// "job" has ranks 0 and 1 here, and 2 and 3 on "n1".
struct ServerGetNodeLost : ::testing::Test {
    ServerGetNodeLost() : s(2) {
        s.host.styles["direct_modex"] = Style::later;
        s.host.data = [](const Seen&) { return blob_of(2, "k", "far", 1); };
        s.connect();
    }
    // As the host hands it down.
    void reports(pmix_status_t code, common::InfoList infos) {
        common::NotifyEventRequest request;
        request.status = code;
        request.source = kEnvironment;
        request.range = PMIX_RANGE_SESSION;
        request.infos = std::move(infos);
        auto bytes = common::message_bytes(request);
        s.server.on_loop([&] {
            s.server.server->on_frame(
                s.server.server->self_peer(),
                common::FrameHeader::request(static_cast<uint16_t>(common::Command::notify_event), 5), *bytes);
            return 0;
        });
        s.server.settle();
    }
    void reports_of(pmix_status_t code, const common::ProcId& affected) {
        common::InfoList infos;
        const pmix_proc_t proc = affected.to_c();
        infos.append(PMIX_EVENT_AFFECTED_PROC, &proc, PMIX_PROC);
        reports(code, std::move(infos));
    }
    void node_is_lost(const char* name) {
        common::InfoList infos;
        infos.append_string(PMIX_HOSTNAME, name);
        reports(PMIX_EVENT_NODE_DOWN, std::move(infos));
    }
    size_t waiting() { return s.server.parts().get.waiting(); }
    GetSetting s;
};

TEST_F(ServerGetNodeLost, Host_AnswersNothing_EveryGetOfItsProcessesEnds) {
    const uint32_t first = s.a.start_get({"job", 2}, "k"), limited = s.b.start_get({"job", 2}, "absent", 1000),
                   other = s.b.start_get({"job", 3}, "k");
    s.server.settle();
    ASSERT_EQ(3u, waiting());
    node_is_lost("n1");
    EXPECT_STATUS(PMIX_ERR_NOT_FOUND, status_of(s.a, first));
    EXPECT_STATUS(PMIX_ERR_NOT_FOUND, status_of(s.b, limited));
    EXPECT_STATUS(PMIX_ERR_NOT_FOUND, status_of(s.b, other));
    EXPECT_EQ(0u, waiting());
    s.host.answer_waiting();  // too late
    s.server.settle();
    const uint32_t later = s.a.start_get({"job", 3}, "k");
    EXPECT_STATUS(PMIX_ERR_NOT_FOUND, status_of(s.a, later)) << "the loss is remembered";
}

// A job that is not registered here: its processes may be anywhere, so the host's answer counts.
TEST_F(ServerGetNodeLost, OfAJobThatIsNotRegistered_HostsStatusEndsTheGet) {
    s.host.statuses["direct_modex"] = PMIX_ERR_UNREACH;
    const uint32_t strange = s.b.start_get({"strange", 2}, "k");
    s.server.settle();
    node_is_lost("n1");
    EXPECT_EQ(1u, waiting());
    s.host.answer_waiting();
    EXPECT_STATUS(PMIX_ERR_UNREACH, status_of(s.b, strange));
    EXPECT_EQ(0u, waiting());
}

// The host is not asked about any rank: another node, or a process that the host starts again, may still bring the key.
TEST_F(ServerGetNodeLost, OfAnyRank_WaitsUntilTheJobEnds) {
    const uint32_t any = s.a.start_get({"job", PMIX_RANK_UNDEF}, "k");
    FakeClient other(s.server, {"other", 0});
    s.server.job("other", 1, 1);
    ASSERT_STATUS(PMIX_SUCCESS, other.hello());
    const uint32_t others = other.start_get({"job", PMIX_RANK_UNDEF}, "k");
    s.server.settle();
    node_is_lost("n1");
    EXPECT_EQ(2u, waiting());
    EXPECT_EQ(0u, s.host.count("direct_modex"));
    s.server.on_loop([&] { s.server.setup().deregister_nspace("job"); });
    EXPECT_STATUS(PMIX_ERR_NOT_FOUND, status_of(other, others));
    EXPECT_EQ(0u, waiting());
    EXPECT_FALSE(s.a.take(any)) << "its own job: the connection ends";
}

// What it has committed is still at its server.
TEST_F(ServerGetNodeLost, ProcessHasOnlyEnded_HostIsWaitedFor) {
    const uint32_t ended = s.a.start_get({"job", 2}, "k"), lost = s.b.start_get({"job", 3}, "k");
    s.server.settle();
    reports_of(PMIX_EVENT_PROC_TERMINATED, {"job", 2});
    reports_of(PMIX_EVENT_NODE_DOWN, {"job", 3});
    EXPECT_STATUS(PMIX_ERR_NOT_FOUND, status_of(s.b, lost));
    EXPECT_EQ(1u, waiting());
    s.host.answer_waiting();
    EXPECT_STATUS(PMIX_SUCCESS, status_of(s.a, ended));
}

TEST_F(ServerGetNodeLost, ProcessIsStartedAgain_HostIsWaitedFor) {
    const uint32_t again = s.a.start_get({"job", 2}, "k"), lost = s.b.start_get({"job", 3}, "k");
    s.server.settle();
    node_is_lost("n1");
    reports_of(PMIX_ERR_PROC_RESTART, {"job", 2});
    EXPECT_STATUS(PMIX_ERR_NOT_FOUND, status_of(s.b, lost));
    EXPECT_EQ(1u, waiting());
    s.host.answer_waiting();
    EXPECT_STATUS(PMIX_SUCCESS, status_of(s.a, again));
}

// The process had ended before; the loss of the node comes as a second report of it.
TEST_F(ServerGetNodeLost, ProcessHadEndedBefore_GetEnds) {
    const uint32_t id = s.a.start_get({"job", 2}, "k");
    s.server.settle();
    reports_of(PMIX_EVENT_PROC_TERMINATED, {"job", 2});
    node_is_lost("n1");
    EXPECT_STATUS(PMIX_ERR_NOT_FOUND, status_of(s.a, id));
}

TEST_F(ServerGetNodeLost, OfAnotherNode_HostIsWaitedFor) {
    const uint32_t id = s.a.start_get({"job", 2}, "k");
    s.server.settle();
    node_is_lost("n0");
    node_is_lost("nowhere");
    EXPECT_EQ(1u, waiting());
    s.host.answer_waiting();
    EXPECT_STATUS(PMIX_SUCCESS, status_of(s.a, id));
}

}  // namespace
}  // namespace server_get_node_lost_test

// SPDX-License-Identifier: BSD-3-Clause
// Samples in periods, of other nodes, for the host, and too many of them: when they come and when they end.
#include "server/monitoring/usage_monitors.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "support/status.h"
#include "unit/server/usage_setting.h"

namespace pmix::server::usage_monitors_test {
namespace {

class UsageMonitorsTest : public UsageSetting {};

// ---- periods ----

// rows: J4
// proves: PMIx_Process_monitor PMIX_MONITOR_RESOURCE_RATE PMIX_MONITOR_ID server
TEST_F(UsageMonitorsTest, Request_WithARate_OneSampleAtOnceAndOneInEachPeriod) {
    ASSERT_STATUS(PMIX_SUCCESS, ask(usage(PMIX_MONITOR_PROC_RESOURCE_USAGE), of_procs({{"job", 2}}, rate(2, "load"))));
    EXPECT_EQ(1u, procs_in(peer->results).size());
    EXPECT_EQ(1u, monitors.size());
    EXPECT_TRUE(peer->events.empty());
    kernel.put("proc/uptime", "1002.50 0\n");
    kernel.put_process(102, 250 + static_cast<uint64_t>(ticks_per_second()));
    scheduler.advance(1999);
    EXPECT_TRUE(peer->events.empty());
    period(1);
    ASSERT_EQ(1u, peer->events.size());
    const auto& event = peer->events.front();
    EXPECT_STATUS(PMIX_MONITOR_RESUSAGE_UPDATE, event.status);
    EXPECT_EQ("load", text(infos_of(event), PMIX_MONITOR_ID));
    EXPECT_TRUE(infos_of(event).flag(PMIX_EVENT_NON_DEFAULT)) << "a sample is no error";
    const auto all = entries(infos_of(event), PMIX_PROC_RESOURCE_USAGE);
    ASSERT_EQ(1u, all.size());
    EXPECT_NEAR(50, number(all[0], PMIX_PROC_PERCENT_CPU), 0.01) << "of one second in two";
    EXPECT_TRUE(other->events.empty()) << "it is the requester's alone";
    EXPECT_EQ(0, host.notified);
    EXPECT_EQ(0u, events.cached()) << "not in the place of an event that somebody may miss";
    period(2000);
    EXPECT_EQ(2u, peer->events.size());
}

// rows: J4
TEST_F(UsageMonitorsTest, Period_ProcessesComeAndGo_EventsFollow) {
    ASSERT_STATUS(PMIX_SUCCESS, ask(usage(PMIX_MONITOR_PROC_RESOURCE_USAGE),
                                    of_procs({{"job", 1}, {"job", 2}}, rate(1, "x")), kCode));
    kernel.end_process(102);
    period(1000);
    ASSERT_EQ(1u, peer->events.size());
    EXPECT_EQ(kCode, peer->events.back().status);
    EXPECT_EQ(std::vector<ProcId>{ProcId("job", 1)}, procs_in(infos_of(peer->events.back())));
    kernel.end_process(101);
    period(1000);
    EXPECT_EQ(1u, peer->events.size()) << "nothing to tell";
    kernel.put_process(102, 5);
    period(1000);
    ASSERT_EQ(2u, peer->events.size());
    EXPECT_EQ(std::vector<ProcId>{ProcId("job", 2)}, procs_in(infos_of(peer->events.back())));
    // Used again by a process that has used less time: it began later.
    kernel.put("proc/uptime", "1001.50 0\n");
    kernel.put_process(102, 1);
    period(1000);
    ASSERT_EQ(3u, peer->events.size());
    const auto all = entries(infos_of(peer->events.back()), PMIX_PROC_RESOURCE_USAGE);
    ASSERT_EQ(1u, all.size());
    EXPECT_GE(number(all[0], PMIX_PROC_PERCENT_CPU), 0);
}

// rows: J4
TEST_F(UsageMonitorsTest, Request_WithARange_AllInItGetTheSamples) {
    InfoList directives = rate(1);
    const pmix_data_range_t range = PMIX_RANGE_NAMESPACE;
    directives.append(PMIX_RANGE, &range, PMIX_DATA_RANGE);
    ASSERT_STATUS(PMIX_SUCCESS, ask(usage(PMIX_MONITOR_NODE_RESOURCE_USAGE), std::move(directives), kCode));
    period(1000);
    EXPECT_EQ(1u, peer->events.size());
    EXPECT_EQ(1u, other->events.size());
    EXPECT_EQ(PMIX_RANGE_NAMESPACE, other->events.front().range);
}

// rows: J4
TEST_F(UsageMonitorsTest, Period_IsNeverMostOfTheTime) {
    EXPECT_EQ(1000, UsageMonitors::wait_ms(1, 0));
    EXPECT_EQ(1000, UsageMonitors::wait_ms(1, 100));
    EXPECT_EQ(2500, UsageMonitors::wait_ms(1, 250)) << "a tenth at most is spent on samples";
    EXPECT_EQ(60'000, UsageMonitors::wait_ms(60, 250));
}

// rows: J4
TEST_F(UsageMonitorsTest, Cancel_ByName_AllTogetherOrWithItsProcess) {
    ASSERT_STATUS(PMIX_SUCCESS, ask(usage(PMIX_MONITOR_NODE_RESOURCE_USAGE), rate(1, "a")));
    EXPECT_STATUS(PMIX_ERR_DUPLICATE_KEY, ask(usage(PMIX_MONITOR_NODE_RESOURCE_USAGE), rate(1, "a")));
    host.monitors = false;
    InfoList beat, beats;
    beat.append_flag(PMIX_MONITOR_HEARTBEAT, true);
    beats.append_string(PMIX_MONITOR_ID, "a");
    beats.append_number<uint32_t>(PMIX_MONITOR_HEARTBEAT_TIME, 1, PMIX_UINT32);
    EXPECT_STATUS(PMIX_ERR_DUPLICATE_KEY, ask(std::move(beat), std::move(beats)))
        << "a name is one monitor's of any kind";
    EXPECT_STATUS(PMIX_ERR_NOT_FOUND, ask(other, cancel("a"), {})) << "it is another's";
    EXPECT_EQ(1u, monitors.size());
    EXPECT_STATUS(PMIX_SUCCESS, ask(cancel("a"), {}));
    EXPECT_EQ(0u, monitors.size());
    EXPECT_STATUS(PMIX_ERR_NOT_FOUND, ask(cancel("a"), {}));
    ASSERT_STATUS(PMIX_SUCCESS, ask(usage(PMIX_MONITOR_NODE_RESOURCE_USAGE), rate(1, "b")));
    ASSERT_STATUS(PMIX_SUCCESS, ask(usage(PMIX_MONITOR_NET_RESOURCE_USAGE), rate(1)));
    EXPECT_STATUS(PMIX_SUCCESS, ask(cancel(nullptr), {}));
    EXPECT_EQ(0u, monitors.size());
    ASSERT_STATUS(PMIX_SUCCESS, ask(usage(PMIX_MONITOR_NODE_RESOURCE_USAGE), rate(1, "b")));
    peers.erase(peer->serial());
    monitors.peer_gone(*peer);
    EXPECT_EQ(0u, monitors.size());
    scheduler.advance(10'000);
    EXPECT_TRUE(peer->events.empty());
    EXPECT_EQ(0u, scheduler.timers());
}

// ---- other nodes ----

// rows: J4 U14
// proves: PMIx_Process_monitor PMIX_MONITOR_TARGET_NODES PMIX_MONITOR_LOCAL_ONLY server
TEST_F(UsageMonitorsTest, Request_OfOtherNodes_GoesToTheHost) {
    ASSERT_STATUS(PMIX_SUCCESS,
                  ask(usage(PMIX_MONITOR_NODE_RESOURCE_USAGE), of_names(PMIX_MONITOR_TARGET_NODES, {"n7"}), kCode));
    EXPECT_EQ(1, host.asked);
    EXPECT_EQ(kCode, host.last_code);
    EXPECT_EQ(ProcId("job", 1), host.requester);
    EXPECT_EQ(PMIX_MONITOR_NODE_RESOURCE_USAGE, common::key_view(host.last_what[0]));
    EXPECT_EQ(::geteuid(), number(host.last, PMIX_USERID));
    ASSERT_EQ(1u, peer->results.size());
    EXPECT_EQ("elsewhere", text(peer->results, "site.usage"));
    ASSERT_STATUS(PMIX_SUCCESS,
                  ask(usage(PMIX_MONITOR_NODE_RESOURCE_USAGE), of_names(PMIX_MONITOR_TARGET_NODES, {"n7", "n0"})));
    EXPECT_EQ(2u, peer->results.size()) << "of both";
    EXPECT_EQ(1u, entries(peer->results, PMIX_NODE_RESOURCE_USAGE).size());
    host.asked = 0;
    for (const char* node : {"n7", "n0"}) {
        InfoList directives = of_names(PMIX_MONITOR_TARGET_NODES, {node});
        directives.append_flag(PMIX_MONITOR_LOCAL_ONLY, true);
        ASSERT_STATUS(PMIX_SUCCESS, ask(usage(PMIX_MONITOR_NODE_RESOURCE_USAGE), std::move(directives)));
        EXPECT_EQ(std::string_view(node) == "n0" ? 1u : 0u, peer->results.size()) << node;
    }
    EXPECT_EQ(0, host.asked);
}

// rows: J4
// proves: PMIx_Process_monitor PMIX_MONITOR_TARGET_NODEIDS server
TEST_F(UsageMonitorsTest, Request_ByNodeId_ThatOfTheRequestersJob) {
    Nspace& job = *registry.find("job");
    ASSERT_STATUS(PMIX_SUCCESS, registry.ensure_data(job));
    job.own_node = 3;
    const auto by_id = [&](std::vector<uint32_t> ids) {
        return targets(PMIX_MONITOR_TARGET_NODEIDS, PMIX_UINT32, std::move(ids));
    };
    ASSERT_STATUS(PMIX_SUCCESS, ask(usage(PMIX_MONITOR_NODE_RESOURCE_USAGE), by_id({3})));
    EXPECT_EQ(0, host.asked);
    const auto all = entries(peer->results, PMIX_NODE_RESOURCE_USAGE);
    ASSERT_EQ(1u, all.size());
    EXPECT_EQ(3, number(all[0], PMIX_NODEID));
    ASSERT_STATUS(PMIX_SUCCESS, ask(usage(PMIX_MONITOR_NODE_RESOURCE_USAGE), by_id({4})));
    EXPECT_EQ(1, host.asked);
    ASSERT_STATUS(PMIX_SUCCESS, ask(usage(PMIX_MONITOR_PROC_RESOURCE_USAGE), of_pid(101, nullptr, 3)));
    EXPECT_EQ(1u, procs_in(peer->results).size());
    EXPECT_EQ(1, host.asked);
}

// rows: J4
TEST_F(UsageMonitorsTest, Request_WhatCountsAsElsewhere) {
    struct Row {
        const char* what;
        InfoList directives;
        bool here;
    };
    Row rows[] = {{"a rank of another node", of_procs({{"job", 3}}), false},
                  {"a job with ranks on other nodes", of_procs({{"job", PMIX_RANK_WILDCARD}}), true},
                  {"a job that is not known", of_procs({{"far", 0}}), false},
                  {"all processes everywhere", of_procs({}), true},
                  {"all nodes", of_names(PMIX_MONITOR_TARGET_NODES, {}), true},
                  {"a pid of another node", of_pid(101, "n7"), false}};
    for (Row& row : rows) {
        SCOPED_TRACE(row.what);
        host.asked = 0;
        ASSERT_STATUS(PMIX_SUCCESS, ask(usage(PMIX_MONITOR_PROC_RESOURCE_USAGE), std::move(row.directives)));
        EXPECT_EQ(1, host.asked);
        EXPECT_EQ(row.here ? 2u : 0u, procs_in(peer->results).size());
    }
}

// rows: J4
TEST_F(UsageMonitorsTest, HostRefuses_TheRequestIsRefused) {
    host.monitors = false;
    EXPECT_STATUS(PMIX_ERR_NOT_SUPPORTED, ask(usage(PMIX_MONITOR_NODE_RESOURCE_USAGE),
                                              of_names(PMIX_MONITOR_TARGET_NODES, {"n7", "n0"}, rate(1, "a"))));
    EXPECT_EQ(0u, monitors.size()) << "half a monitor is none";
    host.monitors = true;
    host.status = PMIX_ERR_NO_PERMISSIONS;
    EXPECT_STATUS(PMIX_ERR_NO_PERMISSIONS, ask(usage(PMIX_MONITOR_NODE_RESOURCE_USAGE),
                                               of_names(PMIX_MONITOR_TARGET_NODES, {"n7", "n0"}, rate(1, "a"))));
    EXPECT_EQ(0u, monitors.size());
}

// rows: J4
TEST_F(UsageMonitorsTest, Cancel_TheHostHasAPart_HearsOfIt) {
    ASSERT_STATUS(PMIX_SUCCESS, ask(usage(PMIX_MONITOR_NODE_RESOURCE_USAGE),
                                    of_names(PMIX_MONITOR_TARGET_NODES, {"n7", "n0"}, rate(1, "a"))));
    EXPECT_EQ(1u, monitors.size());
    host.status = PMIX_ERR_NOT_SUPPORTED;
    EXPECT_STATUS(PMIX_SUCCESS, ask(cancel("a"), {})) << "this node's part is cancelled";
    EXPECT_EQ(2, host.asked);
    EXPECT_EQ(PMIX_MONITOR_CANCEL, common::key_view(host.last_what[0]));
    EXPECT_EQ(0u, monitors.size());
    host.status = PMIX_SUCCESS;
    ASSERT_STATUS(PMIX_SUCCESS,
                  ask(usage(PMIX_MONITOR_NODE_RESOURCE_USAGE), of_names(PMIX_MONITOR_TARGET_NODES, {"n7"}, rate(1))));
    EXPECT_EQ(0u, monitors.size()) << "the host's alone";
    host.asked = 0;
    EXPECT_STATUS(PMIX_SUCCESS, ask(other, cancel(nullptr), {}));
    EXPECT_EQ(0, host.asked) << "it had the host do nothing";
    EXPECT_STATUS(PMIX_SUCCESS, ask(cancel(nullptr), {}));
    EXPECT_EQ(1, host.asked);
    EXPECT_STATUS(PMIX_SUCCESS, ask(cancel(nullptr), {}));
    EXPECT_EQ(1, host.asked) << "once";
}

// rows: J4
TEST_F(UsageMonitorsTest, RequesterGone_TheHostHasAPart_IsAskedToCancelAll) {
    ASSERT_STATUS(PMIX_SUCCESS, ask(usage(PMIX_MONITOR_NODE_RESOURCE_USAGE),
                                    of_names(PMIX_MONITOR_TARGET_NODES, {"n7", "n0"}, rate(1, "a"))));
    ASSERT_STATUS(PMIX_SUCCESS, ask(other, usage(PMIX_MONITOR_NODE_RESOURCE_USAGE), rate(1)));
    host.asked = 0;
    host.requester = {};
    monitors.peer_gone(*other);
    EXPECT_EQ(0, host.asked) << "the host does nothing for it";
    monitors.peer_gone(*peer);
    EXPECT_EQ(1, host.asked);
    EXPECT_EQ(ProcId("job", 1), host.requester);
    EXPECT_EQ(PMIX_MONITOR_CANCEL, common::key_view(host.last_what[0]));
    EXPECT_EQ(nullptr, host.last_what[0].value.data.string);
    EXPECT_EQ(::geteuid(), number(host.last, PMIX_USERID));
    monitors.peer_gone(*peer);
    EXPECT_EQ(1, host.asked) << "once";
    EXPECT_EQ(0u, monitors.size());
}

// rows: J4
TEST_F(UsageMonitorsTest, HostAnswersLate_TheRequesterHasGone_NothingBeginsAndTheHostCancels) {
    host.waits = true;
    start(peer, usage(PMIX_MONITOR_NODE_RESOURCE_USAGE),
          of_names(PMIX_MONITOR_TARGET_NODES, {"n7", "n0"}, rate(1, "a")));
    peers.erase(peer->serial());
    peer->set_gone();
    monitors.peer_gone(*peer);
    host.asked = 0;
    host.waits = false;
    HostAnswer a;
    host.waiting(a);
    scheduler.run();
    EXPECT_EQ(0u, monitors.size());
    EXPECT_EQ(0u, scheduler.timers());
    EXPECT_EQ(1, host.asked);
    EXPECT_EQ(PMIX_MONITOR_CANCEL, common::key_view(host.last_what[0]));
}

// What a host does that serves other nodes' requests: it asks its own library in the requester's name. rows: J4 U14
// proves: PMIx_Process_monitor PMIX_MONITOR_PROXY server
TEST_F(UsageMonitorsTest, Request_OfTheHostInAnothersName_SeesWhatThatUserMay) {
    const PeerPtr self = connect(PeerKind::self, {"server", 0}, 1);
    rank("theirs", 0, 105, 4242);
    const auto proxy = [&](std::optional<uint32_t> uid, InfoList list) {
        const pmix_proc_t proc = ProcId("far", 4).to_c();
        list.append(PMIX_MONITOR_PROXY, &proc, PMIX_PROC);
        list.append_flag(PMIX_MONITOR_LOCAL_ONLY, true);
        if (uid) list.append_number<uint32_t>(PMIX_USERID, *uid, PMIX_UINT32);
        return list;
    };
    EXPECT_STATUS(PMIX_ERR_BAD_PARAM, ask(self, usage(PMIX_MONITOR_PROC_RESOURCE_USAGE), proxy({}, rate(1, "p"))));
    EXPECT_STATUS(PMIX_ERR_NO_PERMISSIONS,
                  ask(self, usage(PMIX_MONITOR_PROC_RESOURCE_USAGE), proxy(4242, of_procs({{"job", 1}}))));
    ASSERT_STATUS(PMIX_SUCCESS, ask(self, usage(PMIX_MONITOR_PROC_RESOURCE_USAGE), proxy(::geteuid(), rate(1, "p"))));
    EXPECT_EQ(2u, procs_in(self->results).size());
    period(1000);
    EXPECT_TRUE(self->events.empty());
    EXPECT_EQ(1, host.notified) << "the requester is on another node";
    EXPECT_STATUS(PMIX_ERR_NOT_FOUND, ask(self, cancel("p"), {})) << "not the host's own";
    EXPECT_STATUS(PMIX_SUCCESS, ask(self, cancel("p"), proxy({}, {})));
    EXPECT_EQ(0u, monitors.size());
    ASSERT_STATUS(PMIX_SUCCESS, ask(self, usage(PMIX_MONITOR_PROC_RESOURCE_USAGE), proxy(::geteuid(), rate(1, "p"))));
    monitors.namespace_gone(registry.obtain("far"));
    EXPECT_EQ(0u, monitors.size()) << "nobody is left to tell";
    EXPECT_EQ(0, host.asked) << "a host's own request is no upcall to itself";
    // Of a client it is the host's to believe.
    InfoList mine;
    const pmix_proc_t proc = ProcId("job", 2).to_c();
    mine.append(PMIX_MONITOR_PROXY, &proc, PMIX_PROC);
    ASSERT_STATUS(PMIX_SUCCESS, ask(usage(PMIX_MONITOR_PROC_RESOURCE_USAGE), std::move(mine)));
    EXPECT_EQ(1, host.asked);
}

// rows: J4 G20
TEST_F(UsageMonitorsTest, Request_TooManyOfAUser_Refused) {
    for (size_t i = 0; i < UsageMonitors::kMaxPerUser; ++i)
        ASSERT_STATUS(PMIX_SUCCESS, ask(i % 2 == 0 ? peer : other, usage(PMIX_MONITOR_NODE_RESOURCE_USAGE), rate(10)));
    EXPECT_STATUS(PMIX_ERR_OUT_OF_RESOURCE, ask(usage(PMIX_MONITOR_NODE_RESOURCE_USAGE), rate(10)));
    EXPECT_STATUS(PMIX_SUCCESS, ask(usage(PMIX_MONITOR_NODE_RESOURCE_USAGE), {})) << "one sample is no monitor";
    const PeerPtr foreign = rank("theirs", 0, 105, 4242);
    EXPECT_STATUS(PMIX_SUCCESS, ask(foreign, usage(PMIX_MONITOR_NODE_RESOURCE_USAGE), rate(10)))
        << "its limit is its own";
}

// A kernel that does not answer, as of a process whose memory is locked: here a pipe that nobody writes to. rows: J4
TEST_F(UsageMonitorsTest, KernelDoesNotAnswer_TheRequestEndsAndOthersAreRefused) {
    kernel.end_process(102);
    kernel.put("proc/102/cmdline", "");
    const std::string pipe = kernel.files().proc + "/102/stat";
    ASSERT_EQ(0, ::mkfifo(pipe.c_str(), 0600));
    const size_t limit = UsageMonitors::kMaxUnderWay;
    start(other, usage(PMIX_MONITOR_PROC_RESOURCE_USAGE), of_procs({{"job", 2}}, rate(1)));
    for (size_t i = 1; i < limit; ++i) start(peer, usage(PMIX_MONITOR_NODE_RESOURCE_USAGE), {});
    EXPECT_EQ(limit, monitors.size());
    EXPECT_STATUS(PMIX_ERR_OUT_OF_RESOURCE, ask(usage(PMIX_MONITOR_NODE_RESOURCE_USAGE), {}));
    EXPECT_STATUS(PMIX_SUCCESS, ask(cancel(nullptr), {})) << "of which none is periodic";
    scheduler.advance(UsageMonitors::kLimitMs);
    EXPECT_EQ(std::vector<pmix_status_t>{PMIX_ERR_TIMEOUT}, other->statuses);
    EXPECT_EQ(limit + 1, peer->statuses.size());
    EXPECT_STATUS(PMIX_ERR_TIMEOUT, peer->statuses.back());
    EXPECT_EQ(0u, monitors.size());
    EXPECT_STATUS(PMIX_ERR_OUT_OF_RESOURCE, ask(usage(PMIX_MONITOR_NODE_RESOURCE_USAGE), {})) << "still under way";
    // Now it does.
    const int end = ::open(pipe.c_str(), O_WRONLY | O_CLOEXEC);
    ASSERT_GE(end, 0);
    ::close(end);
    EXPECT_TRUE(scheduler.run_until([&] { return ask(usage(PMIX_MONITOR_NODE_RESOURCE_USAGE), {}) == PMIX_SUCCESS; }));
    EXPECT_EQ(1u, other->statuses.size()) << "answered once";
}

// rows: J4
TEST_F(UsageMonitorsTest, Stop_ARequestIsOpen_Answered) {
    start(peer, usage(PMIX_MONITOR_NODE_RESOURCE_USAGE), {});
    monitors.stop(PMIX_ERR_LOST_CONNECTION);
    scheduler.run();
    EXPECT_EQ(std::vector<pmix_status_t>{PMIX_ERR_LOST_CONNECTION}, peer->statuses);
}

}  // namespace
}  // namespace pmix::server::usage_monitors_test

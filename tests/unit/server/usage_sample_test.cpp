// SPDX-License-Identifier: BSD-3-Clause
// Samples of processes, the node and its devices: what is in them, and which user is shown which.
#include "server/monitoring/usage_sample.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <tuple>

#include "support/status.h"
#include "unit/server/usage_setting.h"

namespace pmix::server::usage_sample_test {
namespace {

class UsageSampleTest : public UsageSetting {};

// ---- what is in a sample ----

// rows: J4
// proves: PMIx_Process_monitor PMIX_MONITOR_PROC_RESOURCE_USAGE PMIX_MONITOR_TARGET_PROCS server
TEST_F(UsageSampleTest, Request_OfAProcess_AllFiguresAndTheProcessFirst) {
    ASSERT_STATUS(PMIX_SUCCESS, ask(usage(PMIX_MONITOR_PROC_RESOURCE_USAGE), of_procs({{"job", 1}})));
    ASSERT_EQ(1u, peer->results.size());
    const auto all = entries(peer->results, PMIX_PROC_RESOURCE_USAGE);
    ASSERT_EQ(1u, all.size());
    const InfoView one = all[0];
    EXPECT_EQ(PMIX_PROCID, common::key_view(one[0]));
    EXPECT_EQ(std::vector<ProcId>{ProcId("job", 1)}, procs_in(peer->results));
    EXPECT_EQ(101, number(one, PMIX_PROC_PID));
    EXPECT_EQ("n0", text(one, PMIX_HOSTNAME));
    EXPECT_EQ("./rank --fast", text(one, PMIX_CMD_LINE));
    EXPECT_EQ("S", text(one, PMIX_PROC_OS_STATE));
    EXPECT_EQ(20, number(one, PMIX_PROC_PRIORITY));
    EXPECT_EQ(3, number(one, PMIX_PROC_NUM_THREADS));
    EXPECT_EQ(6, number(one, PMIX_PROC_CPU));
    EXPECT_EQ(100, number(one, PMIX_PROC_VSIZE));
    EXPECT_EQ(200, number(one, PMIX_PROC_PEAK_VSIZE));
    EXPECT_EQ(10, number(one, PMIX_PROC_RSS));
    EXPECT_EQ(5, number(one, PMIX_PROC_PSS));
    const double seconds = 200 / ticks_per_second(), age = 1000.5 - 50 / ticks_per_second();
    EXPECT_NEAR(100 * seconds / age, number(one, PMIX_PROC_PERCENT_CPU), 1e-3);
    const pmix_info_t* used = one.find(PMIX_PROC_TIME);
    ASSERT_TRUE(used != nullptr && used->value.type == PMIX_TIMEVAL);
    EXPECT_EQ(static_cast<time_t>(seconds), used->value.data.tv.tv_sec);
    const pmix_info_t* when = one.find(PMIX_PROC_SAMPLE_TIME);
    ASSERT_TRUE(when != nullptr && when->value.type == PMIX_TIME);
    EXPECT_LE(std::abs(std::difftime(std::time(nullptr), when->value.data.time)), 600);
    EXPECT_EQ(0u, monitors.size());
    EXPECT_EQ(0u, scheduler.timers());
    EXPECT_EQ(0, host.asked);
}

// rows: J4
TEST_F(UsageSampleTest, Request_NamesFigures_ThoseAndNoOthers) {
    ASSERT_STATUS(PMIX_SUCCESS, ask(usage(PMIX_MONITOR_PROC_RESOURCE_USAGE, {PMIX_PROC_RSS, PMIX_PROC_OS_STATE, "odd"}),
                                    of_procs({{"job", 2}})));
    const auto all = entries(peer->results, PMIX_PROC_RESOURCE_USAGE);
    ASSERT_EQ(1u, all.size());
    EXPECT_EQ(6u, all[0].size()) << "the process, its pid and host, the two, the time";
    EXPECT_EQ(10, number(all[0], PMIX_PROC_RSS));
    EXPECT_EQ("S", text(all[0], PMIX_PROC_OS_STATE));
}

// rows: J4
// proves: PMIx_Process_monitor PMIX_MONITOR_NODE_RESOURCE_USAGE server
TEST_F(UsageSampleTest, Request_OfTheNode_WithItsDevices) {
    ASSERT_STATUS(PMIX_SUCCESS, ask(usage(PMIX_MONITOR_NODE_RESOURCE_USAGE), {}));
    const auto all = entries(peer->results, PMIX_NODE_RESOURCE_USAGE);
    ASSERT_EQ(1u, all.size());
    ASSERT_EQ(1u, peer->results.size());
    const InfoView node = all[0];
    EXPECT_EQ(PMIX_HOSTNAME, common::key_view(node[0]));
    EXPECT_EQ("n0", text(node, PMIX_HOSTNAME));
    EXPECT_EQ(0.25, number(node, PMIX_NODE_LOAD_AVG));
    EXPECT_EQ(2.75, number(node, PMIX_NODE_LOAD_AVG15));
    EXPECT_EQ(8192, number(node, PMIX_NODE_MEM_TOTAL));
    EXPECT_EQ(512, number(node, PMIX_NODE_MEM_MAPPED));
    EXPECT_TRUE(node.has(PMIX_NODE_SAMPLE_TIME));
    EXPECT_EQ(2u, entries(node, PMIX_DISK_RESOURCE_USAGE).size());
    EXPECT_EQ(2u, entries(node, PMIX_NETWORK_RESOURCE_USAGE).size());
    ASSERT_STATUS(PMIX_SUCCESS,
                  ask(usage(PMIX_MONITOR_NODE_RESOURCE_USAGE, {PMIX_NODE_MEM_FREE, PMIX_NET_SENT_BYTES}), {}));
    const auto part = entries(peer->results, PMIX_NODE_RESOURCE_USAGE);
    ASSERT_EQ(1u, part.size());
    EXPECT_EQ(1024, number(part[0], PMIX_NODE_MEM_FREE));
    EXPECT_FALSE(part[0].has(PMIX_NODE_LOAD_AVG));
    EXPECT_EQ(0u, entries(part[0], PMIX_DISK_RESOURCE_USAGE).size());
    EXPECT_EQ(2u, entries(part[0], PMIX_NETWORK_RESOURCE_USAGE).size());
}

// rows: J4
// proves: PMIx_Process_monitor PMIX_MONITOR_DISK_RESOURCE_USAGE PMIX_MONITOR_TARGET_DISKS server
// proves: PMIx_Process_monitor PMIX_MONITOR_NET_RESOURCE_USAGE PMIX_MONITOR_TARGET_NETS server
// proves: PMIx_Process_monitor PMIX_DISK_ID PMIX_NETWORK_ID server
TEST_F(UsageSampleTest, Request_OfDevices_AllOrThoseNamed) {
    ASSERT_STATUS(PMIX_SUCCESS, ask(usage(PMIX_MONITOR_DISK_RESOURCE_USAGE), {}));
    auto all = entries(peer->results, PMIX_DISK_RESOURCE_USAGE);
    ASSERT_EQ(2u, all.size());
    EXPECT_EQ(PMIX_DISK_ID, common::key_view(all[0][0]));
    EXPECT_EQ("sda", text(all[0], PMIX_DISK_ID));
    EXPECT_EQ(11, number(all[0], PMIX_DISK_READ_COMPLETED));
    EXPECT_EQ(17, number(all[0], PMIX_DISK_WRITE_SECTORS));
    EXPECT_EQ(21, number(all[0], PMIX_DISK_IO_WEIGHTED));
    EXPECT_TRUE(all[0].has(PMIX_DISK_SAMPLE_TIME));
    ASSERT_STATUS(PMIX_SUCCESS, ask(usage(PMIX_MONITOR_DISK_RESOURCE_USAGE, {PMIX_DISK_READ_SECTORS}),
                                    of_names(PMIX_MONITOR_TARGET_DISKS, {"sda1"})));
    all = entries(peer->results, PMIX_DISK_RESOURCE_USAGE);
    ASSERT_EQ(1u, all.size());
    EXPECT_EQ(3u, all[0].size());
    EXPECT_EQ(3, number(all[0], PMIX_DISK_READ_SECTORS));
    ASSERT_STATUS(PMIX_SUCCESS,
                  ask(usage(PMIX_MONITOR_NET_RESOURCE_USAGE), of_names(PMIX_MONITOR_TARGET_NETS, {"eth0", "eth9"})));
    all = entries(peer->results, PMIX_NETWORK_RESOURCE_USAGE);
    ASSERT_EQ(1u, all.size());
    EXPECT_EQ("eth0", text(all[0], PMIX_NETWORK_ID));
    EXPECT_EQ(123456789012.0, number(all[0], PMIX_NET_RECVD_BYTES));
    EXPECT_EQ(1, number(all[0], PMIX_NET_SENT_ERRS));
    // A name among the figures chooses the device, and all of its figures.
    const std::tuple<const char*, const char*, const char*, const char*, size_t> rows[] = {
        {PMIX_MONITOR_NET_RESOURCE_USAGE, PMIX_NETWORK_ID, "lo", PMIX_NETWORK_RESOURCE_USAGE, 8},
        {PMIX_MONITOR_DISK_RESOURCE_USAGE, PMIX_DISK_ID, "sda1", PMIX_DISK_RESOURCE_USAGE, 13}};
    for (const auto& [kind, key, name, answer, size] : rows) {
        InfoList named, what;
        named.append_string(key, name);
        what.append(kind, std::move(common::array_value(std::move(named))).value());
        ASSERT_STATUS(PMIX_SUCCESS, ask(std::move(what), {}));
        all = entries(peer->results, answer);
        ASSERT_EQ(1u, all.size()) << kind;
        EXPECT_EQ(name, text(all[0], key));
        EXPECT_EQ(size, all[0].size()) << kind;
    }
}

// rows: J4
// proves: PMIx_Process_monitor PMIX_MONITOR_TARGET_PIDS server
TEST_F(UsageSampleTest, Request_ByPid_KnownProcessesHaveTheirNames) {
    kernel.put_process(103, 10);
    ASSERT_STATUS(PMIX_SUCCESS, ask(usage(PMIX_MONITOR_PROC_RESOURCE_USAGE), of_pid(102, "n0")));
    EXPECT_EQ(std::vector<ProcId>{ProcId("job", 2)}, procs_in(peer->results));
    ASSERT_STATUS(PMIX_SUCCESS, ask(usage(PMIX_MONITOR_PROC_RESOURCE_USAGE), of_pid(103, "n0")));
    const auto all = entries(peer->results, PMIX_PROC_RESOURCE_USAGE);
    ASSERT_EQ(1u, all.size());
    EXPECT_EQ(PMIX_PROC_PID, common::key_view(all[0][0]));
    EXPECT_EQ(103, number(all[0], PMIX_PROC_PID));
    EXPECT_STATUS(PMIX_ERR_BAD_PARAM, ask(usage(PMIX_MONITOR_PROC_RESOURCE_USAGE), of_pid(0, "n0")));
}

// rows: J4
TEST_F(UsageSampleTest, Request_NoTargets_AllProcessesOfTheUsersJobs) {
    rank("another", 0, 104);
    kernel.put_process(104, 10);
    ASSERT_STATUS(PMIX_SUCCESS, ask(usage(PMIX_MONITOR_PROC_RESOURCE_USAGE), {}));
    const std::vector<ProcId> expected = {{"another", 0}, {"job", 1}, {"job", 2}};
    EXPECT_EQ(expected, procs_in(peer->results));
    ASSERT_STATUS(PMIX_SUCCESS,
                  ask(usage(PMIX_MONITOR_PROC_RESOURCE_USAGE), of_procs({{"job", 2}, {"job", 2}, {"job", 1}})));
    EXPECT_EQ(2u, procs_in(peer->results).size()) << "each once";
}

// rows: J4
TEST_F(UsageSampleTest, Request_TheProcessHasEnded_IsLeftOut) {
    kernel.end_process(102);
    ASSERT_STATUS(PMIX_SUCCESS, ask(usage(PMIX_MONITOR_PROC_RESOURCE_USAGE), {}));
    EXPECT_EQ(std::vector<ProcId>{ProcId("job", 1)}, procs_in(peer->results));
    kernel.end_process(101);
    ASSERT_STATUS(PMIX_SUCCESS, ask(usage(PMIX_MONITOR_PROC_RESOURCE_USAGE), {}));
    EXPECT_TRUE(peer->results.empty());
}

// rows: J4
TEST_F(UsageSampleTest, Request_TheServerItself_ForItsUserOnly) {
    kernel.put_process(::getpid(), 5);
    ASSERT_STATUS(PMIX_SUCCESS, ask(usage(PMIX_MONITOR_PROC_RESOURCE_USAGE), of_procs({{"server", 0}})));
    EXPECT_EQ(std::vector<ProcId>{ProcId("server", 0)}, procs_in(peer->results));
    const PeerPtr foreign = rank("theirs", 0, 105, 4242);
    EXPECT_STATUS(PMIX_ERR_NO_PERMISSIONS,
                  ask(foreign, usage(PMIX_MONITOR_PROC_RESOURCE_USAGE), of_procs({{"server", 0}})));
}

// ---- who may see what ----

// rows: J4
TEST_F(UsageSampleTest, Request_OfAnotherUser_SeesItsOwn) {
    const PeerPtr foreign = rank("theirs", 0, 105, 4242);
    kernel.put_process(105, 5);  // the test's user's: its number has been used again
    EXPECT_STATUS(PMIX_ERR_NO_PERMISSIONS,
                  ask(foreign, usage(PMIX_MONITOR_PROC_RESOURCE_USAGE), of_procs({{"job", 1}})));
    EXPECT_STATUS(PMIX_ERR_NO_PERMISSIONS,
                  ask(foreign, usage(PMIX_MONITOR_PROC_RESOURCE_USAGE), of_procs({{"job", PMIX_RANK_WILDCARD}})));
    ASSERT_STATUS(PMIX_SUCCESS, ask(foreign, usage(PMIX_MONITOR_PROC_RESOURCE_USAGE), {}));
    EXPECT_TRUE(foreign->results.empty()) << "no process of the others, nor one in the place of its own";
    ASSERT_STATUS(PMIX_SUCCESS, ask(foreign, usage(PMIX_MONITOR_PROC_RESOURCE_USAGE), of_pid(101, "n0")));
    EXPECT_TRUE(foreign->results.empty());
    ASSERT_STATUS(PMIX_SUCCESS, ask(foreign, usage(PMIX_MONITOR_NODE_RESOURCE_USAGE), {}));
    EXPECT_EQ(1u, foreign->results.size()) << "the node's figures are anybody's";
    EXPECT_STATUS(PMIX_ERR_NOT_FOUND, ask(usage(PMIX_MONITOR_PROC_RESOURCE_USAGE), of_procs({{"job", 77}})));
    const PeerPtr tool = connect(PeerKind::tool, {"a-tool", 0}, 106, 4242);
    EXPECT_STATUS(PMIX_SUCCESS, ask(foreign, usage(PMIX_MONITOR_PROC_RESOURCE_USAGE), of_procs({{"a-tool", 0}})));
    const PeerPtr third = rank("thirds", 0, 107, 4343);
    EXPECT_STATUS(PMIX_ERR_NO_PERMISSIONS,
                  ask(third, usage(PMIX_MONITOR_PROC_RESOURCE_USAGE), of_procs({{"a-tool", 0}})));
}

// ---- what is no request, and what is too much ----

// rows: J4
TEST_F(UsageSampleTest, Request_IsWrong_BadParam) {
    const auto with = [](const char* key, InfoList value) {
        InfoList list;
        list.append(key, std::move(common::array_value(std::move(value))).value());
        return list;
    };
    for (const char* key : {PMIX_MONITOR_TARGET_PROCS, PMIX_MONITOR_TARGET_PIDS, PMIX_MONITOR_TARGET_NODES,
                            PMIX_MONITOR_TARGET_NODEIDS, PMIX_MONITOR_TARGET_DISKS, PMIX_MONITOR_TARGET_NETS}) {
        InfoList infos, one;
        infos.append_flag("x", true);
        EXPECT_STATUS(PMIX_ERR_BAD_PARAM, ask(usage(PMIX_MONITOR_PROC_RESOURCE_USAGE), with(key, std::move(infos))))
            << key;
        one.append_string(key, "text");
        EXPECT_STATUS(PMIX_ERR_BAD_PARAM, ask(usage(PMIX_MONITOR_PROC_RESOURCE_USAGE), std::move(one))) << key;
    }
    InfoList text, id, odd, required, range;
    text.append_string(PMIX_MONITOR_PROC_RESOURCE_USAGE, "all");
    EXPECT_STATUS(PMIX_ERR_BAD_PARAM, ask(std::move(text), {}));
    id.append_flag(PMIX_DISK_ID, true);
    EXPECT_STATUS(PMIX_ERR_BAD_PARAM, ask(with(PMIX_MONITOR_DISK_RESOURCE_USAGE, std::move(id)), {}));
    EXPECT_STATUS(PMIX_ERR_BAD_PARAM, ask(targets<uint32_t>(PMIX_MONITOR_NODE_RESOURCE_USAGE, PMIX_UINT32, {1}), {}));
    odd.append("odd", common::Value::flag(true), PMIX_INFO_REQD);
    EXPECT_STATUS(PMIX_ERR_NOT_SUPPORTED, ask(with(PMIX_MONITOR_NODE_RESOURCE_USAGE, std::move(odd)), {}));
    required.append("odd", common::Value::flag(true), PMIX_INFO_REQD);
    EXPECT_STATUS(PMIX_ERR_NOT_SUPPORTED, ask(usage(PMIX_MONITOR_NODE_RESOURCE_USAGE), std::move(required)));
    EXPECT_STATUS(PMIX_ERR_BAD_PARAM, ask(usage(PMIX_MONITOR_NODE_RESOURCE_USAGE), rate(UINT32_MAX)));
    range.append_number<uint32_t>(PMIX_RANGE, 250, PMIX_UINT32);
    EXPECT_STATUS(PMIX_ERR_BAD_PARAM, ask(usage(PMIX_MONITOR_NODE_RESOURCE_USAGE), std::move(range)));
    // As a program of OpenPMIx writes "all figures".
    ASSERT_STATUS(PMIX_SUCCESS, ask(targets<pmix_proc_t>(PMIX_MONITOR_PROC_RESOURCE_USAGE, PMIX_PROC, {}), {}));
    EXPECT_EQ(2u, procs_in(peer->results).size());
    EXPECT_EQ(0u, monitors.size());
}

}  // namespace
}  // namespace pmix::server::usage_sample_test

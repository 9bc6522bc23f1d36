// SPDX-License-Identifier: BSD-3-Clause
// Samples for queries: what of this node a query is about, and that each ends with one answer. The whole way through a
// server is in server_query_test.cpp.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "support/status.h"
#include "unit/server/usage_setting.h"

namespace pmix::server::usage_query_test {
namespace {

class UsageQueryTest : public UsageSetting {
  protected:
    struct Answer {
        int count = 0;
        pmix_status_t status = PMIX_SUCCESS;
        InfoList infos;
    };
    // What the query is about, or why it is not answered here.
    common::Result<UsageScope> read(const char* key, const ProcId& proc, const InfoList& qualifiers = {},
                                    uint32_t uid = ::geteuid()) {
        const UsageViewer viewer{{uid == ::geteuid() ? "job" : "else", 0}, {uid, uid, 1}, false};
        return monitors.usage().targets().read_query(key, proc, InfoView(qualifiers.c_array(), qualifiers.size()),
                                                     viewer);
    }
    void once(const char* key, const ProcId& proc, Answer& to, const InfoList& qualifiers = {}) {
        const UsageViewer viewer{peer->id(), peer->credentials(), false};
        auto scope = read(key, proc, qualifiers);
        ASSERT_TRUE(scope.ok());
        monitors.usage().once(viewer, usage_options_of_query(key), *scope, nullptr,
                              [&to](pmix_status_t status, InfoList infos) {
                                  ++to.count;
                                  to.status = status;
                                  to.infos = std::move(infos);
                              });
    }
    static InfoList with_node(const char* name) {
        InfoList list;
        list.append_string(PMIX_HOSTNAME, name);
        return list;
    }
    static InfoList only_here() {
        InfoList list;
        list.append_flag(PMIX_QUERY_LOCAL_ONLY, true);
        return list;
    }

    static constexpr const char* kProcesses = PMIX_QUERY_PROC_RESOURCE_USAGE;
    static constexpr const char* kNode = PMIX_QUERY_NODE_RESOURCE_USAGE;
    const ProcId all{"job", PMIX_RANK_WILDCARD};
};

// Two of the four processes of the job are here. rows: Q17 Q20
TEST_F(UsageQueryTest, ReadQuery_AboutMoreThanThisNode_IsNotAnsweredHere) {
    EXPECT_STATUS(PMIX_SUCCESS, read(kProcesses, {"job", 1}).status());
    EXPECT_STATUS(PMIX_SUCCESS, read(kProcesses, all, only_here()).status());
    EXPECT_STATUS(PMIX_SUCCESS, read(kProcesses, all, with_node("n0")).status());
    EXPECT_STATUS(PMIX_ERR_NOT_FOUND, read(kProcesses, all).status()) << "a part is no answer";
    EXPECT_STATUS(PMIX_ERR_NOT_FOUND, read(kProcesses, {"job", 3}).status());
    EXPECT_STATUS(PMIX_ERR_NOT_FOUND, read(kProcesses, {"job", 1}, with_node("n7")).status());
    EXPECT_STATUS(PMIX_ERR_NOT_FOUND, read(kProcesses, {"unknown", 1}).status());

    EXPECT_STATUS(PMIX_ERR_NOT_FOUND, read(kNode, all).status()) << "the job has other nodes";
    EXPECT_STATUS(PMIX_ERR_NOT_FOUND, read(kNode, {"job", 1}).status()) << "the nodes of a job, not of a process";
    EXPECT_STATUS(PMIX_ERR_NOT_FOUND, read(kNode, all, with_node("n7")).status());
    EXPECT_STATUS(PMIX_SUCCESS, read(kNode, all, with_node("n0")).status());
    EXPECT_STATUS(PMIX_SUCCESS, read(kNode, {"unknown", 1}, only_here()).status());

    InfoList number, text;
    number.append_number<uint32_t>(PMIX_NODEID, 5, PMIX_UINT32);
    EXPECT_STATUS(PMIX_ERR_NOT_FOUND, read(kNode, all, number).status());
    text.append_string(PMIX_NODEID, "first");
    EXPECT_STATUS(PMIX_ERR_BAD_PARAM, read(kNode, all, text).status());
    InfoList name;
    name.append_flag(PMIX_HOSTNAME, true);
    EXPECT_STATUS(PMIX_ERR_BAD_PARAM, read(kNode, all, name).status());
}

// Its users see a node; processes only their own user. rows: Q20
TEST_F(UsageQueryTest, ReadQuery_OfAnotherUser_MayKnowTheNodeAndNotTheJob) {
    const uint32_t another_user = ::geteuid() + 1;
    EXPECT_STATUS(PMIX_ERR_NO_PERMISSIONS, read(kProcesses, {"job", 1}, {}, another_user).status());
    EXPECT_STATUS(PMIX_ERR_NO_PERMISSIONS, read(kProcesses, all, only_here(), another_user).status());
    EXPECT_STATUS(PMIX_SUCCESS, read(kNode, all, with_node("n0"), another_user).status());
}

// rows: Q20
TEST_F(UsageQueryTest, Once_OfAProcessAndTheNode_AllFigures) {
    Answer process, node;
    once(kProcesses, {"job", 2}, process);
    EXPECT_TRUE(scheduler.run_until([&] { return process.count > 0; }));
    EXPECT_STATUS(PMIX_SUCCESS, process.status);
    EXPECT_EQ(std::vector<ProcId>{ProcId("job", 2)}, procs_in(process.infos));
    const auto one = entries(process.infos, PMIX_PROC_RESOURCE_USAGE);
    ASSERT_EQ(1u, one.size());
    EXPECT_EQ(10, number(one[0], PMIX_PROC_RSS));
    EXPECT_EQ(102, number(one[0], PMIX_PROC_PID));
    once(kNode, all, node, with_node("n0"));
    EXPECT_TRUE(scheduler.run_until([&] { return node.count > 0; }));
    EXPECT_STATUS(PMIX_SUCCESS, node.status);
    const auto here = entries(node.infos, PMIX_NODE_RESOURCE_USAGE);
    ASSERT_EQ(1u, here.size());
    EXPECT_EQ("n0", text(here[0], PMIX_HOSTNAME));
    EXPECT_EQ(2u, entries(here[0], PMIX_DISK_RESOURCE_USAGE).size());
    EXPECT_EQ(2u, entries(here[0], PMIX_NETWORK_RESOURCE_USAGE).size());
    EXPECT_EQ(0u, scheduler.timers());
}

// A process whose figures the kernel does not give, as one whose memory is locked: here a pipe that nobody writes to.
// rows: Q20
TEST_F(UsageQueryTest, Once_KernelDoesNotAnswer_EndsOnce) {
    kernel.end_process(102);
    kernel.put("proc/102/cmdline", "");
    const std::string pipe = kernel.files().proc + "/102/stat";
    ASSERT_EQ(0, ::mkfifo(pipe.c_str(), 0600));
    Answer first, second;
    once(kProcesses, {"job", 2}, first);
    once(kProcesses, {"job", 1}, second);
    scheduler.advance(UsageMonitors::kLimitMs);
    for (const Answer* a : {&first, &second}) {
        EXPECT_EQ(1, a->count);
        EXPECT_STATUS(PMIX_ERR_TIMEOUT, a->status);
    }
    EXPECT_EQ(0u, scheduler.timers());
    const int end = ::open(pipe.c_str(), O_WRONLY | O_CLOEXEC);
    ASSERT_GE(end, 0);
    ::close(end);
    EXPECT_TRUE(scheduler.run_until([&] { return ask(usage(PMIX_MONITOR_NODE_RESOURCE_USAGE), {}) == PMIX_SUCCESS; }));
    EXPECT_EQ(1, first.count);
    EXPECT_EQ(1, second.count);
}

// rows: Q20
TEST_F(UsageQueryTest, Stop_ASampleIsUnderWay_Answered) {
    Answer open;
    once(kProcesses, {"job", 1}, open);
    monitors.stop(PMIX_ERR_LOST_CONNECTION);
    scheduler.run();
    EXPECT_EQ(1, open.count);
    EXPECT_STATUS(PMIX_ERR_LOST_CONNECTION, open.status);
}

}  // namespace
}  // namespace pmix::server::usage_query_test

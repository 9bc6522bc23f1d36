// SPDX-License-Identifier: BSD-3-Clause
// A host's mistakes: each is refused, or one line of the log names the call and what is wrong with it.
#include <gtest/gtest.h>
#include <pmix.h>
#include <pmix_server.h>
#include <unistd.h>

#include <cstdlib>
#include <string>
#include <utility>

#include "common/values/array_value.h"
#include "support/own_module.h"
#include "support/server_here.h"
#include "support/status.h"
#include "support/temporary_folder.h"

namespace host_mistakes_test {

using namespace pmix::test;

namespace {

pmix_status_t g_returns = PMIX_SUCCESS;
int g_answers = 1;
pmix_status_t g_answer = PMIX_SUCCESS;

pmix_status_t publish(const pmix_proc_t*, const pmix_info_t[], size_t, pmix_op_cbfunc_t done, void* cbdata) {
    for (int i = 0; i < g_answers; ++i) done(g_answer, cbdata);
    return g_returns;
}

class HostMistakesTest : public ::testing::Test {
  protected:
    void start(const char* levels = "warn") {
        g_returns = g_answer = PMIX_SUCCESS;
        g_answers = 1;
        InfoList infos = ServerHere::named();
        infos.append_string(PMIX_WIREUP_LOG, std::string(levels) + "@" + file);
        infos.append_string(PMIX_HOSTNAME, "here");
        module.publish = &publish;
        ASSERT_STATUS(PMIX_SUCCESS, PMIx_server_init(&module, infos.c_array(), infos.size()));
        running = true;
        ask_own_module();
    }
    void TearDown() override {
        if (running) {
            EXPECT_STATUS(PMIX_SUCCESS, PMIx_server_finalize());
        }
    }
    bool says(const std::string& text) const { return folder.text("log").find(text) != std::string::npos; }
    pmix_status_t job(int nlocal, InfoList infos) {
        pmix_nspace_t name;
        PMIx_Load_nspace(name, "job");
        return PMIx_server_register_nspace(name, nlocal, infos.c_array(), infos.size(), nullptr, nullptr);
    }
    static InfoList of_size(uint32_t n) {
        InfoList infos;
        infos.append_number<uint32_t>(PMIX_JOB_SIZE, n, PMIX_UINT32);
        return infos;
    }
    static void maps(InfoList& infos, const char* nodes, const char* procs) {
        for (const auto& [key, text] : {std::pair(PMIX_NODE_MAP, nodes), std::pair(PMIX_PROC_MAP, procs)}) {
            char* map = nullptr;
            const bool of_nodes = std::string(key) == PMIX_NODE_MAP;
            ASSERT_STATUS(PMIX_SUCCESS, of_nodes ? PMIx_generate_regex(text, &map) : PMIx_generate_ppn(text, &map));
            infos.append_string(key, map);
            std::free(map);
        }
    }
    static void client(pmix_rank_t rank) {
        const pmix_proc_t proc = ProcId("job", rank).to_c();
        EXPECT_STATUS(PMIX_SUCCESS,
                      PMIx_server_register_client(&proc, ::geteuid(), ::getegid(), nullptr, nullptr, nullptr));
    }
    pmix_status_t publish_one() {
        InfoList infos;
        infos.append_string("offer", "here");
        return PMIx_Publish(infos.c_array(), infos.size());
    }

    TemporaryFolder folder;
    const std::string file = folder.path("log");
    pmix_server_module_t module{};
    bool running = false;
};

}  // namespace

TEST_F(HostMistakesTest, RegisterNspace_NegativeNumberOfLocalProcesses_IsRefused) {
    start();
    EXPECT_STATUS(PMIX_ERR_BAD_PARAM, job(-5, of_size(4)));
    EXPECT_TRUE(says("PMIx_server_register_nspace: PMIX_ERR_BAD_PARAM"));
    EXPECT_STATUS(PMIX_SUCCESS, job(-1, of_size(4))) << "so PRRTE says that it does not know";
}

TEST_F(HostMistakesTest, RegisterNspace_SizeIsText_IsRefused) {
    start();
    InfoList infos;
    infos.append_string(PMIX_JOB_SIZE, "four");
    EXPECT_STATUS(PMIX_ERR_BAD_PARAM, job(4, std::move(infos)));
    EXPECT_TRUE(says("PMIX_JOB_SIZE is no number"));
    InfoList odd = of_size(4);
    odd.append_string(PMIX_MAX_PROCS, "four");
    EXPECT_STATUS(PMIX_SUCCESS, job(4, std::move(odd)));
    EXPECT_TRUE(says("PMIX_MAX_PROCS is a PMIX_STRING and should be a PMIX_UINT32"));
}

TEST_F(HostMistakesTest, RegisterNspace_TypesThatAreNotTheStandards_AreNamedOnceEach) {
    start();
    InfoList infos = of_size(3);
    infos.append_number<size_t>(PMIX_UNIV_SIZE, 3, PMIX_SIZE);
    infos.append_number<int>(PMIX_NUM_NODES, 1, PMIX_INT);  // as wide as the Standard's
    infos.append_flag(PMIX_JOBID, true);
    InfoList cpusets;  // an array in the Standard, a text in OpenPMIx's header
    infos.append(PMIX_LOCAL_CPUSETS, pmix::common::array_value(std::move(cpusets)).value());
    for (uint32_t rank = 0; rank < 3; ++rank) {
        InfoList proc;
        proc.append(PMIX_RANK, &rank, PMIX_PROC_RANK);
        proc.append_string(PMIX_LOCAL_RANK, "first");
        infos.append(PMIX_PROC_INFO_ARRAY, pmix::common::array_value(std::move(proc)).value());
    }
    EXPECT_STATUS(PMIX_SUCCESS, job(3, std::move(infos)));
    EXPECT_TRUE(says("PMIX_UNIV_SIZE is a PMIX_SIZE and should be a PMIX_UINT32")) << folder.text("log");
    EXPECT_TRUE(says("PMIX_JOBID is a PMIX_BOOL and should be a PMIX_STRING")) << folder.text("log");
    EXPECT_FALSE(says("PMIX_NUM_NODES"));
    EXPECT_FALSE(says("PMIX_LOCAL_CPUSETS"));
    const std::string log = folder.text("log");
    const size_t at = log.find("PMIX_LOCAL_RANK is a PMIX_STRING and should be a PMIX_UINT16");
    EXPECT_NE(std::string::npos, at) << log;
    EXPECT_EQ(std::string::npos, log.find("PMIX_LOCAL_RANK", at + 1)) << log;
}

// rows: V10
TEST_F(HostMistakesTest, RegisterClient_RankBeyondTheJob_IsInTheLog) {
    start();
    ASSERT_STATUS(PMIX_SUCCESS, job(4, of_size(4)));
    EXPECT_FALSE(says("rank"));
    const pmix_proc_t proc = ProcId("job", 9).to_c();
    PMIx_server_register_client(&proc, ::geteuid(), ::getegid(), nullptr, nullptr, nullptr);
    EXPECT_TRUE(says("PMIx_server_register_client: \"job\" has no rank 9, its size is 4"));
}

// rows: V10
TEST_F(HostMistakesTest, RegisterClient_RankThatTheMapDoesNotHave_IsInTheLog) {
    start();
    InfoList infos = of_size(4);
    maps(infos, "here", "0,1,2");
    ASSERT_STATUS(PMIX_SUCCESS, job(3, std::move(infos)));
    client(2);
    EXPECT_FALSE(says("rank"));
    client(3);
    EXPECT_TRUE(says("PMIx_server_register_client: rank 3 of \"job\" is not in its process map of 3 ranks"))
        << folder.text("log");
}

// rows: V10
TEST_F(HostMistakesTest, RegisterClient_RankOfAnotherNode_IsInTheLog) {
    start();
    InfoList infos = of_size(4);
    maps(infos, "here,there", "0,1;2,3");
    ASSERT_STATUS(PMIX_SUCCESS, job(2, std::move(infos)));
    client(1);
    EXPECT_FALSE(says("rank"));
    client(2);
    EXPECT_TRUE(says("rank 2 of \"job\" is registered on \"here\", and in its process map on \"there\""))
        << folder.text("log");
}

// The same where the job's data comes after the ranks. rows: V10
TEST_F(HostMistakesTest, RegisterNspace_AfterARankOfAnotherNode_IsInTheLog) {
    start();
    client(2);
    client(7);
    InfoList infos = of_size(4);
    maps(infos, "here,there", "0,1;2,3");
    ASSERT_STATUS(PMIX_SUCCESS, job(2, std::move(infos)));
    EXPECT_TRUE(says("rank 2 of \"job\" is registered on \"here\", and in its process map on \"there\""))
        << folder.text("log");
    EXPECT_TRUE(says("\"job\" has no rank 7, its size is 4")) << folder.text("log");
}

TEST_F(HostMistakesTest, RegisterNspace_ThisNodeIsInNoMap_IsInTheLog) {
    start();
    InfoList infos = of_size(4);
    maps(infos, "elsewhere,there", "0,1;2,3");
    ASSERT_STATUS(PMIX_SUCCESS, job(2, std::move(infos)));
    EXPECT_TRUE(says("\"job\": this node, \"here\", is not in its node map (elsewhere, there)")) << folder.text("log");
}

TEST_F(HostMistakesTest, RegisterNspace_OfOtherNodesAlone_IsNoMistake) {
    start();
    InfoList infos = of_size(4);
    maps(infos, "elsewhere,there", "0,1;2,3");
    ASSERT_STATUS(PMIX_SUCCESS, job(0, std::move(infos)));
    EXPECT_EQ("", folder.text("log"));
}

TEST_F(HostMistakesTest, RegisterNspace_ANodeThatIsInNoMap_IsInTheLog) {
    start();
    InfoList infos = of_size(4), node, known;
    maps(infos, "here,there", "0,1;2,3");
    node.append_string(PMIX_HOSTNAME, "nowhere");
    infos.append(PMIX_NODE_INFO_ARRAY, pmix::common::array_value(std::move(node)).value());
    known.append_string(PMIX_HOSTNAME, "there");
    infos.append(PMIX_NODE_INFO_ARRAY, pmix::common::array_value(std::move(known)).value());
    ASSERT_STATUS(PMIX_SUCCESS, job(2, std::move(infos)));
    EXPECT_TRUE(says("\"job\": PMIX_HOSTNAME \"nowhere\" is not in its node map")) << folder.text("log");
    EXPECT_FALSE(says("\"there\""));
}

TEST_F(HostMistakesTest, Upcall_AnsweredTwice_IsInTheLog) {
    start();
    g_answers = 2;
    EXPECT_STATUS(PMIX_SUCCESS, publish_one());
    EXPECT_TRUE(says("publish #"));
    EXPECT_TRUE(says("a second answer"));
}

TEST_F(HostMistakesTest, Upcall_AnsweredAndThenReturnsAnError_TheAnswerCountsAndTheLogTells) {
    start();
    g_returns = PMIX_ERR_NO_PERMISSIONS;
    EXPECT_STATUS(PMIX_SUCCESS, publish_one());
    EXPECT_TRUE(says("a second answer"));
}

TEST_F(HostMistakesTest, Upcall_ReturnsAPositiveNumber_IsAnErrorAndInTheLog) {
    start();
    g_answers = 0;
    g_returns = 42;
    EXPECT_STATUS(PMIX_ERROR, publish_one());
    EXPECT_TRUE(says("returned 42, which is no status"));
    EXPECT_TRUE(says("publish #"));
}

TEST_F(HostMistakesTest, Answer_WithAPositiveNumber_IsAnErrorAndInTheLog) {
    start();
    g_answer = 7;
    EXPECT_STATUS(PMIX_ERROR, publish_one());
    EXPECT_TRUE(says("is 7, which is no status"));
}

TEST_F(HostMistakesTest, Answer_InTheLogOfTheHost_HasItsCallStatusAndSize) {
    start("host=debug");
    g_answer = PMIX_ERR_NO_PERMISSIONS;
    EXPECT_STATUS(PMIX_ERR_NO_PERMISSIONS, publish_one());
    EXPECT_TRUE(says("answered PMIX_ERR_NO_PERMISSIONS, 0 bytes"));
}

TEST_F(HostMistakesTest, RegisterAttributes_Refused_TheCallIsInTheLog) {
    start();
    char nonsense[] = "fly";
    EXPECT_STATUS(PMIX_ERR_BAD_PARAM, PMIx_Register_attributes(nonsense, nullptr));
    EXPECT_TRUE(says("PMIx_Register_attributes: PMIX_ERR_BAD_PARAM"));
}

TEST_F(HostMistakesTest, ServerInit_RequiredAttributeUnknown_IsInTheLog) {
    InfoList infos = ServerHere::named();
    infos.append_string(PMIX_WIREUP_LOG, "warn@" + file);
    infos.append("host.own", pmix::common::Value::flag(true), PMIX_INFO_REQD);
    EXPECT_STATUS(PMIX_ERR_NOT_SUPPORTED, PMIx_server_init(nullptr, infos.c_array(), infos.size()));
    EXPECT_TRUE(says("init of"));
    EXPECT_TRUE(says("required attribute"));
}

TEST_F(HostMistakesTest, Init_NoServer_WhatWasTriedIsInTheLog) {
    InfoList infos;
    infos.append_string(PMIX_WIREUP_LOG, "info@" + file);
    pmix_proc_t me;
    EXPECT_STATUS(PMIX_ERR_UNREACH, PMIx_Init(&me, infos.c_array(), infos.size()));
    EXPECT_TRUE(says("PMIX_SERVER_URI_WIREUP"));
    EXPECT_STATUS(PMIX_SUCCESS, PMIx_Finalize(nullptr, 0));
}

TEST_F(HostMistakesTest, Init_ServerHasGone_ItsAddressIsInTheLog) {
    ::setenv("PMIX_NAMESPACE", "job", 1);
    ::setenv("PMIX_RANK", "0", 1);
    ::setenv("PMIX_SERVER_URI_WIREUP", "here.3;wireup:@wireup/0/1/nobody", 1);
    InfoList infos;
    infos.append_string(PMIX_WIREUP_LOG, "info@" + file);
    infos.append_number<int>(PMIX_TIMEOUT, 100, PMIX_INT);
    EXPECT_NE(PMIX_SUCCESS, PMIx_Init(nullptr, infos.c_array(), infos.size()));
    EXPECT_TRUE(says("@wireup/0/1/nobody"));
    for (const char* name : {"PMIX_NAMESPACE", "PMIX_RANK", "PMIX_SERVER_URI_WIREUP"}) ::unsetenv(name);
}

}  // namespace host_mistakes_test

// SPDX-License-Identifier: BSD-3-Clause
// What PMIx_tool_init does with the directives about the library itself: who drives it, and its log.
#include <event2/event.h>
#include <gtest/gtest.h>
#include <pmix_tool.h>
#include <unistd.h>

#include <fstream>
#include <iterator>
#include <string>
#include <thread>

#include "common/base/ids.h"
#include "common/values/value.h"
#include "support/status.h"
#include "support/thread_binding.h"

namespace pmix::test::tool_init_test {
namespace {

using common::InfoList;

// A tool that looks for no server, with more directives.
pmix_status_t init(InfoList infos) {
    for (const char* name : {"PMIX_NAMESPACE", "PMIX_RANK", "PMIX_SERVER_URI_WIREUP"}) ::unsetenv(name);
    infos.append_flag(PMIX_TOOL_DO_NOT_CONNECT, true);
    return PMIx_tool_init(nullptr, infos.c_array(), infos.size());
}

// Where callbacks come from.
struct Called {
    int times = 0;
    std::thread::id thread;
    static void back(pmix_status_t, void* self) {
        auto* called = static_cast<Called*>(self);
        called->thread = std::this_thread::get_id();
        ++called->times;
    }
};

pmix_status_t call_back(Called& called) {
    return PMIx_Notify_event(PMIX_ERR_TIMEOUT, nullptr, PMIX_RANGE_PROC_LOCAL, nullptr, 0, Called::back, &called);
}

// rows: T3 T4
TEST(ToolInit, DoNotConnect_NobodyNamedIt_NamesItself) {
    InfoList infos;
    infos.append_flag(PMIX_TOOL_DO_NOT_CONNECT, true);
    pmix_proc_t me{}, again{};
    ASSERT_STATUS(PMIX_SUCCESS, PMIx_tool_init(&me, infos.c_array(), infos.size()));
    EXPECT_NE('\0', me.nspace[0]);
    EXPECT_EQ(0u, me.rank);
    ASSERT_STATUS(PMIX_SUCCESS, PMIx_tool_init(&again, infos.c_array(), infos.size()));
    EXPECT_TRUE(PMIx_Check_procid(&me, &again));
    EXPECT_STATUS(PMIX_SUCCESS, PMIx_tool_finalize());
    EXPECT_STATUS(PMIX_SUCCESS, PMIx_tool_finalize());
}

// rows: T3
TEST(ToolInit, DoNotConnect_InStrictMode_ReturnsNoName) {
    InfoList infos;
    infos.append_flag(PMIX_TOOL_DO_NOT_CONNECT, true);
    infos.append_flag(PMIX_WIREUP_STRICT, true);
    pmix_proc_t me{};
    ASSERT_STATUS(PMIX_SUCCESS, PMIx_tool_init(&me, infos.c_array(), infos.size()));
    EXPECT_EQ('\0', me.nspace[0]);
    EXPECT_EQ(PMIX_RANK_UNDEF, me.rank);
    EXPECT_STATUS(PMIX_SUCCESS, PMIx_tool_finalize());
}

// rows: G17
TEST(ToolInit, Attach_AFlagIsANumber_BadParam) {
    ASSERT_STATUS(PMIX_SUCCESS, init({}));
    InfoList infos;
    infos.append_number<int>(PMIX_CONNECT_TO_SYSTEM, 1, PMIX_INT);
    EXPECT_STATUS(PMIX_ERR_BAD_PARAM, PMIx_tool_attach_to_server(nullptr, nullptr, infos.c_array(), 1));
    EXPECT_STATUS(PMIX_ERR_BAD_PARAM, PMIx_tool_connect_to_server(nullptr, infos.c_array(), 1));
    const pmix_proc_t server = common::ProcId("server", 0).to_c();
    EXPECT_STATUS(PMIX_ERR_BAD_PARAM, PMIx_tool_set_server(&server, infos.c_array(), 1));
    EXPECT_STATUS(PMIX_SUCCESS, PMIx_tool_finalize());
}

// rows: T10
TEST(ToolInit, SetServer_Itself_AnswersItsRequests) {
    InfoList infos;
    infos.append_flag(PMIX_TOOL_DO_NOT_CONNECT, true);
    pmix_proc_t me{};
    ASSERT_STATUS(PMIX_SUCCESS, PMIx_tool_init(&me, infos.c_array(), infos.size()));
    char key[] = PMIX_QUERY_NAMESPACES;
    char* keys[] = {key, nullptr};
    pmix_query_t query{keys, nullptr, 0};
    pmix_info_t* results = nullptr;
    size_t n = 0;
    EXPECT_STATUS(PMIX_ERR_UNREACH, PMIx_Query_info(&query, 1, &results, &n));
    EXPECT_STATUS(PMIX_SUCCESS, PMIx_tool_set_server(&me, nullptr, 0));
    EXPECT_STATUS(PMIX_SUCCESS, PMIx_tool_set_server(&me, nullptr, 0)) << "twice is as good as once";
    EXPECT_STATUS(PMIX_SUCCESS, PMIx_Query_info(&query, 1, &results, &n));
    if (results != nullptr) PMIx_Info_free(results, n);
    EXPECT_STATUS(PMIX_SUCCESS, PMIx_tool_finalize());
}

// rows: T6
TEST(ToolInit, Finalize_OfTheClient_EndsATool) {
    ASSERT_STATUS(PMIX_SUCCESS, init({}));
    ASSERT_STATUS(PMIX_SUCCESS, init({}));
    EXPECT_STATUS(PMIX_SUCCESS, PMIx_Finalize(nullptr, 0));
    EXPECT_EQ(1, PMIx_Initialized());
    EXPECT_STATUS(PMIX_SUCCESS, PMIx_Finalize(nullptr, 0));
    EXPECT_EQ(0, PMIx_Initialized());
    EXPECT_STATUS(PMIX_ERR_INIT, PMIx_Finalize(nullptr, 0));
    EXPECT_STATUS(PMIX_ERR_INIT, PMIx_tool_finalize());
}

// proves: PMIx_tool_init PMIX_EXTERNAL_PROGRESS
TEST(ToolInit, DrivenByTheTool) {
    InfoList infos;
    infos.append_flag(PMIX_EXTERNAL_PROGRESS, true);
    ASSERT_STATUS(PMIX_SUCCESS, init(std::move(infos)));
    Called called;
    ASSERT_STATUS(PMIX_SUCCESS, call_back(called));
    ::usleep(20'000);
    EXPECT_EQ(0, called.times) << "nobody drives";
    for (int i = 0; i < 1000 && called.times == 0; ++i) PMIx_Progress();
    EXPECT_EQ(1, called.times);
    EXPECT_EQ(std::this_thread::get_id(), called.thread);
    EXPECT_STATUS(PMIX_SUCCESS, PMIx_tool_finalize());
}

// proves: PMIx_tool_init PMIX_BIND_PROGRESS_THREAD PMIX_BIND_REQUIRED
TEST(ToolInit, ProgressThreadIsBound) {
    ASSERT_STATUS(PMIX_SUCCESS, init(binding(std::to_string(last_cpu()), true)));
    EXPECT_TRUE(is_only(cpus_of_progress_thread(), last_cpu()));
    EXPECT_STATUS(PMIX_SUCCESS, PMIx_tool_finalize());
    EXPECT_STATUS(PMIX_ERR_NOT_SUPPORTED, init(binding("1000000", true)));
    InfoList driven = binding(std::to_string(last_cpu()), true);
    driven.append_flag(PMIX_EXTERNAL_PROGRESS, true);
    EXPECT_STATUS(PMIX_ERR_NOT_SUPPORTED, init(std::move(driven))) << "there is no thread to bind";
    EXPECT_EQ(0, PMIx_Initialized());
}

// proves: PMIx_tool_init PMIX_EVENT_BASE
TEST(ToolInit, DrivenByAnEventBaseOfTheTools) {
    event_base* base = event_base_new();
    ASSERT_NE(nullptr, base);
    InfoList infos;
    infos.append_number<void*>(PMIX_EVENT_BASE, base, PMIX_POINTER);
    ASSERT_STATUS(PMIX_SUCCESS, init(std::move(infos)));
    Called called;
    ASSERT_STATUS(PMIX_SUCCESS, call_back(called));
    PMIx_Progress();
    ::usleep(20'000);
    EXPECT_EQ(0, called.times) << "only the base drives";
    for (int i = 0; i < 1000 && called.times == 0; ++i) event_base_loop(base, EVLOOP_ONCE | EVLOOP_NONBLOCK);
    EXPECT_EQ(1, called.times);
    EXPECT_EQ(std::this_thread::get_id(), called.thread);
    EXPECT_STATUS(PMIX_SUCCESS, PMIx_tool_finalize());
    event_base_free(base);
}

// What strict mode does stands with the operations that have one.
// proves: PMIx_tool_init PMIX_WIREUP_STRICT
TEST(ToolInit, StrictMode_AnInitThatContradictsTheFirst_IsRefused) {
    const auto says = [](bool strict) {
        InfoList infos;
        infos.append_flag(PMIX_WIREUP_STRICT, strict);
        return init(std::move(infos));
    };
    ASSERT_STATUS(PMIX_SUCCESS, says(true));
    EXPECT_STATUS(PMIX_ERR_BAD_PARAM, says(false));
    EXPECT_STATUS(PMIX_SUCCESS, says(true));
    EXPECT_STATUS(PMIX_SUCCESS, PMIx_tool_finalize());
    EXPECT_STATUS(PMIX_SUCCESS, PMIx_tool_finalize());
}

// proves: PMIx_tool_init PMIX_WIREUP_LOG
TEST(ToolInit, ItsLog) {
    char path[] = "/tmp/tool_init_test.XXXXXX";
    const int file = ::mkstemp(path);
    ASSERT_GE(file, 0);
    ::close(file);
    InfoList infos, wrong;
    infos.append_string(PMIX_WIREUP_LOG, std::string("api=info@") + path);
    ASSERT_STATUS(PMIX_SUCCESS, init(std::move(infos)));
    EXPECT_STATUS(PMIX_SUCCESS, PMIx_tool_finalize());
    std::ifstream in(path);
    const std::string text{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
    EXPECT_NE(std::string::npos, text.find("init 1 of")) << text;
    EXPECT_NE(std::string::npos, text.find("finalized")) << text;
    ::unlink(path);
    wrong.append_string(PMIX_WIREUP_LOG, "no such level");
    EXPECT_STATUS(PMIX_ERR_BAD_PARAM, init(std::move(wrong)));
}

}  // namespace
}  // namespace pmix::test::tool_init_test

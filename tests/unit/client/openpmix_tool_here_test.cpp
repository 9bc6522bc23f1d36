// SPDX-License-Identifier: BSD-3-Clause
// A tool by OpenPMIx's protocol at this library's own server, which is another process, by its TCP port.
#include "support/status.h"
#include "unit/client/openpmix_tool_setting.h"

namespace pmix::test::openpmix_tool_here_test {
namespace {

using common::InfoView;

void on_tool(pmix_info_t* infos, size_t ninfos, pmix_tool_connection_cbfunc_t done, void* data) {
    const InfoView view(infos, ninfos);
    std::string_view nspace;
    (void)view.get(PMIX_TOOL_NSPACE, &nspace);
    const pmix_proc_t named = common::ProcId(nspace.empty() ? "assigned" : std::string(nspace), 0).to_c();
    done(nspace == "unwanted" ? PMIX_ERR_NO_PERMISSIONS : PMIX_SUCCESS, const_cast<pmix_proc_t*>(&named), data);
}
pmix_status_t on_query(pmix_proc_t*, pmix_query_t[], size_t, pmix_info_cbfunc_t done, void* data) {
    static pmix_info_t answer;
    PMIX_INFO_LOAD(&answer, "site.answer", "42", PMIX_STRING);
    done(PMIX_SUCCESS, &answer, 1, data, nullptr, nullptr);
    return PMIX_SUCCESS;
}
pmix_status_t on_control(const pmix_proc_t*, const pmix_proc_t[], size_t, const pmix_info_t[], size_t,
                         pmix_info_cbfunc_t done, void* data) {
    done(PMIX_SUCCESS, nullptr, 0, data, nullptr, nullptr);
    return PMIX_SUCCESS;
}
void on_log(const pmix_proc_t*, const pmix_info_t[], size_t, const pmix_info_t[], size_t, pmix_op_cbfunc_t done,
            void* data) {
    done(PMIX_SUCCESS, data);
}

// In a process of its own: this one is a tool.
class OwnServer {
  public:
    explicit OwnServer(const TemporaryFolder& folder) {
        int up[2], down[2];
        EXPECT_EQ(0, ::pipe2(up, O_CLOEXEC));
        EXPECT_EQ(0, ::pipe2(down, O_CLOEXEC));
        child_ = ::fork();
        if (child_ == 0) {
            ::close(up[0]);
            ::close(down[1]);
            ::_exit(serve(folder, up[1], down[0]));
        }
        ::close(up[1]);
        ::close(down[0]);
        from_.reset(up[0]);
        to_.reset(down[1]);
        char text[512] = {};
        const ssize_t n = ::read(up[0], text, sizeof text - 1);
        EXPECT_GT(n, 0);
        uri = text;
    }
    ~OwnServer() {
        to_.reset();
        int status = 0;
        EXPECT_EQ(child_, ::waitpid(child_, &status, 0));
        EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
    }
    void notify() const { EXPECT_EQ(1, ::write(to_.get(), "e", 1)); }
    std::string uri;

  private:
    static int serve(const TemporaryFolder& folder, int up, int down) {
        pmix_server_module_t module{};
        module.tool_connected = on_tool;
        module.query = on_query;
        module.job_control = on_control;
        module.log = on_log;
        InfoList infos = ServerHere::named();
        infos.append_string(PMIX_HOSTNAME, "node");
        infos.append_string(PMIX_SERVER_TMPDIR, folder.name().c_str());
        infos.append_flag(PMIX_SERVER_TOOL_SUPPORT, true);
        if (PMIx_server_init(&module, infos.c_array(), infos.size()) != PMIX_SUCCESS) return 1;
        pmix_nspace_t job;
        PMIx_Load_nspace(job, "job");
        InfoList facts;
        const uint32_t size = 2;
        facts.append(PMIX_JOB_SIZE, &size, PMIX_UINT32);
        if (PMIx_server_register_nspace(job, 2, facts.c_array(), facts.size(), nullptr, nullptr) != PMIX_SUCCESS)
            return 2;
        std::ifstream file(folder.path("pmix.node.tool.here"));
        std::string uri;
        if (!std::getline(file, uri) || ::write(up, uri.data(), uri.size()) < 0) return 3;
        char letter = 0;
        while (::read(down, &letter, 1) == 1)
            PMIx_Notify_event(-3107, nullptr, PMIX_RANGE_LOCAL, nullptr, 0, nullptr, nullptr);
        return PMIx_server_finalize() == PMIX_SUCCESS ? 0 : 4;
    }

    pid_t child_ = -1;
    transport::Descriptor from_, to_;
};

class OpenPmixToolHere : public ::testing::Test {
  protected:
    void SetUp() override {
        ::setenv("PMIX_HOSTNAME", "node", 1);
        ::setenv("PMIX_SYSTEM_TMPDIR", folder_.name().c_str(), 1);
    }
    void TearDown() override {
        if (PMIx_Initialized()) PMIx_tool_finalize();
        ::unsetenv("PMIX_HOSTNAME");
        ::unsetenv("PMIX_SYSTEM_TMPDIR");
    }
    void init() {
        InfoList infos;
        infos.append_string(PMIX_SERVER_URI, server_.uri.c_str());
        ASSERT_EQ(0u, server_.uri.find("here.3;tcp4://")) << server_.uri;
        ASSERT_STATUS(PMIX_SUCCESS, init_tool(&me_, infos));
        ASSERT_TRUE(PMIx_tool_is_connected());
    }
    TemporaryFolder folder_;
    OwnServer server_{folder_};
    pmix_proc_t me_{};
};

TEST_F(OpenPmixToolHere, Init_IsNamedByTheHost) {
    init();
    EXPECT_STREQ("assigned", me_.nspace);
    EXPECT_TRUE(has_server("here"));
}

TEST_F(OpenPmixToolHere, Init_RefusedByTheHost_IsUnreachableOrTheStatus) {
    InfoList infos;
    infos.append_string(PMIX_SERVER_URI, server_.uri.c_str());
    infos.append_string(PMIX_TOOL_NSPACE, "unwanted");
    EXPECT_NE(PMIX_SUCCESS, init_tool(&me_, infos));
}

TEST_F(OpenPmixToolHere, Init_Again_AfterFinalize) {
    for (int i = 0; i < 3; ++i) {
        init();
        EXPECT_STATUS(PMIX_SUCCESS, PMIx_tool_finalize());
    }
}

TEST_F(OpenPmixToolHere, Query_IsAnsweredByServerAndHost) {
    init();
    for (const char* key : {PMIX_QUERY_NAMESPACES, "site.answer"}) {
        char* keys[] = {const_cast<char*>(key), nullptr};
        pmix_query_t query{keys, nullptr, 0};
        pmix_info_t* results = nullptr;
        size_t n = 0;
        ASSERT_STATUS(PMIX_SUCCESS, PMIx_Query_info(&query, 1, &results, &n)) << key;
        std::string_view text;
        EXPECT_STATUS(PMIX_SUCCESS, InfoView(results, n).get(key, &text));
        EXPECT_EQ(key == std::string(PMIX_QUERY_NAMESPACES) ? "job" : "42", text);
        PMIx_Info_free(results, n);
    }
}

TEST_F(OpenPmixToolHere, Get_OfAJob_HasItsData) {
    init();
    const pmix_proc_t job = common::ProcId("job", PMIX_RANK_WILDCARD).to_c();
    pmix_value_t* value = nullptr;
    ASSERT_STATUS(PMIX_SUCCESS, PMIx_Get(&job, PMIX_JOB_SIZE, nullptr, 0, &value));
    EXPECT_EQ(2u, value->data.uint32);
    PMIx_Value_free(value, 1);
    EXPECT_STATUS(PMIX_ERR_NOT_FOUND, PMIx_Get(&job, "pmix.nosuch", nullptr, 0, &value));
}

struct HeardHere {
    std::mutex mutex;
    std::condition_variable changed;
    std::string source;
};
HeardHere g_heard_here;
void on_event(size_t, pmix_status_t, const pmix_proc_t* source, pmix_info_t[], size_t, pmix_info_t[], size_t,
              pmix_event_notification_cbfunc_fn_t done, void* cbdata) {
    {
        const std::lock_guard lock(g_heard_here.mutex);
        g_heard_here.source = source->nspace;
        g_heard_here.changed.notify_all();
    }
    if (done != nullptr) done(PMIX_EVENT_ACTION_COMPLETE, nullptr, 0, nullptr, nullptr, cbdata);
}

TEST_F(OpenPmixToolHere, Event_OfTheServer_IsHeard) {
    init();
    pmix_status_t code = -3107;
    ASSERT_GE(PMIx_Register_event_handler(&code, 1, nullptr, 0, &on_event, nullptr, nullptr), 0);
    server_.notify();
    std::unique_lock lock(g_heard_here.mutex);
    EXPECT_TRUE(
        g_heard_here.changed.wait_for(lock, std::chrono::seconds(60), [] { return !g_heard_here.source.empty(); }));
    EXPECT_EQ("here", g_heard_here.source);
}

TEST_F(OpenPmixToolHere, Control_Log_AndWhatIsNotThere) {
    init();
    const pmix_proc_t job = common::ProcId("job", PMIX_RANK_WILDCARD).to_c();
    InfoList kill;
    kill.append_flag(PMIX_JOB_CTRL_KILL, true);
    pmix_info_t* results = nullptr;
    size_t n = 0;
    EXPECT_STATUS(PMIX_SUCCESS, PMIx_Job_control(&job, 1, kill.c_array(), kill.size(), &results, &n));
    InfoList text;
    text.append_string("site.log", "words");
    EXPECT_STATUS(PMIX_SUCCESS, PMIx_Log(text.c_array(), text.size(), nullptr, 0));
    // Its host has no entries for these.
    EXPECT_STATUS(PMIX_ERR_NOT_SUPPORTED, PMIx_Publish(text.c_array(), text.size()));
    EXPECT_STATUS(PMIX_ERR_NOT_SUPPORTED, PMIx_Allocation_request(PMIX_ALLOC_NEW, nullptr, 0, &results, &n));
}

TEST_F(OpenPmixToolHere, Server_Gone_IsALostConnection) {
    init();
    EXPECT_TRUE(PMIx_tool_is_connected());
    const pmix_proc_t server = ServerHere::self();
    EXPECT_STATUS(PMIX_SUCCESS, PMIx_tool_disconnect(&server));
    EXPECT_FALSE(PMIx_tool_is_connected());
    InfoList infos;
    infos.append_string(PMIX_SERVER_URI, server_.uri.c_str());
    pmix_proc_t again{};
    EXPECT_STATUS(PMIX_SUCCESS, PMIx_tool_attach_to_server(nullptr, &again, infos.c_array(), infos.size()));
    EXPECT_STREQ("here", again.nspace);
    EXPECT_TRUE(PMIx_tool_is_connected());
}

}  // namespace
}  // namespace pmix::test::openpmix_tool_here_test

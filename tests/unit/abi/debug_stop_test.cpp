// SPDX-License-Identifier: BSD-3-Clause
// PMIX_DEBUG_STOP_IN_INIT: processes of a job that is started under a debugger stop in their init, tell the host, and
// go on when they are released. The server is in this process, its clients are forked children.
#include <gtest/gtest.h>
#include <pmix.h>
#include <pmix_server.h>
#include <pmix_tool.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <condition_variable>
#include <mutex>
#include <string>
#include <vector>

#include "common/values/info_view.h"
#include "support/server_here.h"
#include "support/status.h"

namespace pmix::test::debug_stop_test {
namespace {

// What the host hears of.
struct Waiting {
    static inline std::mutex mutex;
    static inline std::condition_variable changed;
    static inline std::vector<std::pair<ProcId, std::string>> seen;

    static pmix_status_t notify(pmix_status_t code, const pmix_proc_t* source, pmix_data_range_t range,
                                pmix_info_t infos[], size_t n, pmix_op_cbfunc_t, void*) {
        if (code != PMIX_READY_FOR_DEBUG || range != PMIX_RANGE_RM) return PMIX_OPERATION_SUCCEEDED;
        std::lock_guard lock(mutex);
        std::string where = "nowhere";
        for (size_t i = 0; i < n; ++i)
            if (PMIx_Check_key(infos[i].key, PMIX_BREAKPOINT)) where = infos[i].value.data.string;
        EXPECT_TRUE(common::InfoView(infos, n).flag(PMIX_EVENT_NON_DEFAULT)) << "that a rank waits is no failure";
        seen.emplace_back(ProcId(*source), where);
        changed.notify_all();
        return PMIX_OPERATION_SUCCEEDED;
    }
    static void tool(pmix_info_t*, size_t, pmix_tool_connection_cbfunc_t done, void* cbdata) {
        pmix_proc_t name = ProcId("a-tool", 0).to_c();
        done(PMIX_SUCCESS, &name, cbdata);
    }
    static bool for_one() {
        std::unique_lock lock(mutex);
        return changed.wait_for(lock, std::chrono::seconds(60), [] { return !seen.empty(); });
    }
};

// A child that initialises with the job's environment and says so.
class Child {
  public:
    Child(const pmix_proc_t& proc, bool tool) {
        char** env = nullptr;
        EXPECT_STATUS(PMIX_SUCCESS, PMIx_server_setup_fork(&proc, &env));
        int ends[2];
        EXPECT_EQ(0, ::pipe(ends));
        pid_ = ::fork();
        if (pid_ == 0) {
            for (char** e = env; *e != nullptr; ++e) ::putenv(*e);
            const pmix_status_t rc = tool ? PMIx_tool_init(nullptr, nullptr, 0) : PMIx_Init(nullptr, nullptr, 0);
            if (::write(ends[1], &rc, sizeof rc) != sizeof rc) ::_exit(1);
            ::_exit(tool ? PMIx_tool_finalize() : PMIx_Finalize(nullptr, 0));
        }
        PMIx_Argv_free(env);
        ::close(ends[1]);
        line_ = ends[0];
    }
    ~Child() {
        int status = -1;
        EXPECT_EQ(pid_, ::waitpid(pid_, &status, 0));
        EXPECT_EQ(0, status);
        ::close(line_);
    }
    bool is_through(int patience_ms) {
        pollfd p{line_, POLLIN, 0};
        return ::poll(&p, 1, patience_ms) == 1;
    }
    pmix_status_t said() {
        pmix_status_t rc = PMIX_ERROR;
        EXPECT_EQ(static_cast<ssize_t>(sizeof rc), ::read(line_, &rc, sizeof rc));
        return rc;
    }

  private:
    pid_t pid_;
    int line_;
};

class DebugStop : public ::testing::Test {
  protected:
    DebugStop() {
        Waiting::seen.clear();
        module.notify_event = &Waiting::notify;
        module.tool_connected = &Waiting::tool;
        InfoList infos = ServerHere::named();
        infos.append_flag(PMIX_SERVER_TOOL_SUPPORT, true);
        server = std::make_unique<ServerHere>(&module, std::move(infos));
    }
    void add_job(const char* name, const InfoList& infos) {
        pmix_nspace_t nspace;
        PMIx_Load_nspace(nspace, name);
        InfoList all;
        all.append_all(infos.c_array(), infos.size());
        all.append_number<uint32_t>(PMIX_JOB_SIZE, 2, PMIX_UINT32);
        ASSERT_STATUS(PMIX_SUCCESS,
                      PMIx_server_register_nspace(nspace, 2, all.c_array(), all.size(), nullptr, nullptr));
        for (uint32_t rank = 0; rank < 2; ++rank) {
            const pmix_proc_t proc = ProcId(name, rank).to_c();
            ASSERT_STATUS(PMIX_SUCCESS,
                          PMIx_server_register_client(&proc, ::geteuid(), ::getegid(), nullptr, nullptr, nullptr));
        }
    }
    static void release(const pmix_proc_t& proc) {
        InfoList to;
        to.append(PMIX_EVENT_CUSTOM_RANGE, &proc, PMIX_PROC);
        to.append_flag(PMIX_EVENT_NON_DEFAULT, true);
        const pmix_proc_t self = ServerHere::self();
        EXPECT_STATUS(PMIX_SUCCESS, PMIx_Notify_event(PMIX_DEBUGGER_RELEASE, &self, PMIX_RANGE_CUSTOM, to.c_array(),
                                                      to.size(), nullptr, nullptr));
    }
    void expect_stop(const char* name, bool tool) {
        const pmix_proc_t proc = ProcId(name, 1).to_c();
        Child child(proc, tool);
        ASSERT_TRUE(Waiting::for_one());
        EXPECT_EQ(ProcId(name, 1), Waiting::seen.front().first);
        EXPECT_EQ(tool ? "pmix-tool-init" : "pmix-init", Waiting::seen.front().second);
        EXPECT_FALSE(child.is_through(100)) << "it waits";
        release(ProcId(name, 0).to_c());
        EXPECT_FALSE(child.is_through(50)) << "somebody else's";
        release(proc);
        ASSERT_TRUE(child.is_through(60'000));
        EXPECT_STATUS(PMIX_SUCCESS, child.said());
    }

    pmix_server_module_t module{};
    std::unique_ptr<ServerHere> server;
};

// proves: PMIx_Init PMIX_DEBUG_STOP_IN_INIT client
TEST_F(DebugStop, AClientStopsUntilItIsReleased) {
    InfoList all;
    all.append_flag(PMIX_DEBUG_STOP_IN_INIT, true);
    add_job("stops", all);
    expect_stop("stops", false);
}

// rows: T15
// proves: PMIx_tool_init PMIX_DEBUG_STOP_IN_INIT tool
TEST_F(DebugStop, AToolThatWasStartedAsAProcessOfAJobStopsToo) {
    InfoList one;
    const pmix_rank_t rank = 1;
    one.append(PMIX_DEBUG_STOP_IN_INIT, &rank, PMIX_PROC_RANK);
    add_job("launcher", one);
    expect_stop("launcher", true);
}

// The attribute's value as the Standard has it for several processes, and as a list of processes.
TEST_F(DebugStop, OneOfSeveralStops) {
    pmix_rank_t ranks[] = {3, 1};
    pmix_data_array_t array{PMIX_PROC_RANK, 2, ranks};
    InfoList several;
    several.append(PMIX_DEBUG_STOP_IN_INIT, &array, PMIX_DATA_ARRAY);
    add_job("several", several);
    expect_stop("several", false);

    Waiting::seen.clear();
    pmix_proc_t procs[] = {ProcId("named", 0).to_c(), ProcId("named", 1).to_c()};
    pmix_data_array_t list{PMIX_PROC, 2, procs};
    InfoList named;
    named.append(PMIX_DEBUG_STOP_IN_INIT, &list, PMIX_DATA_ARRAY);
    add_job("named", named);
    expect_stop("named", false);
}

TEST_F(DebugStop, WhoIsNotMeantGoesOn) {
    InfoList other, no, others, elsewhere, text;
    pmix_rank_t ranks[] = {0, 2};
    pmix_data_array_t array{PMIX_PROC_RANK, 2, ranks};
    others.append(PMIX_DEBUG_STOP_IN_INIT, &array, PMIX_DATA_ARRAY);
    add_job("others", others);
    pmix_proc_t procs[] = {ProcId("others", 1).to_c()};
    pmix_data_array_t list{PMIX_PROC, 1, procs};
    elsewhere.append(PMIX_DEBUG_STOP_IN_INIT, &list, PMIX_DATA_ARRAY);
    add_job("elsewhere", elsewhere);
    uint32_t numbers[] = {1};
    pmix_data_array_t of_numbers{PMIX_UINT32, 1, numbers};
    text.append(PMIX_DEBUG_STOP_IN_INIT, &of_numbers, PMIX_DATA_ARRAY);
    add_job("numbers", text);
    const pmix_rank_t rank = 0;
    other.append(PMIX_DEBUG_STOP_IN_INIT, &rank, PMIX_PROC_RANK);
    add_job("other", other);
    no.append_flag(PMIX_DEBUG_STOP_IN_INIT, false);
    add_job("no", no);
    for (const char* name : {"other", "no", "others", "elsewhere", "numbers"}) {
        Child child(ProcId(name, 1).to_c(), false);
        EXPECT_TRUE(child.is_through(60'000)) << name;
        EXPECT_STATUS(PMIX_SUCCESS, child.said());
    }
    EXPECT_TRUE(Waiting::seen.empty());
}

}  // namespace
}  // namespace pmix::test::debug_stop_test

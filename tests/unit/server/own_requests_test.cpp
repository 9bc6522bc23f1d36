// SPDX-License-Identifier: BSD-3-Clause
// What a host requests of its own library: mostly, while it holds a lock that its upcalls take too, an answer and no
// upcall; what a launcher starts and controls its processes with is for its own module.
#include <gtest/gtest.h>
#include <pmix.h>
#include <pmix_server.h>
#include <pmix_tool.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <future>
#include <mutex>

#include "support/server_here.h"
#include "support/status.h"

namespace own_requests_test {

using namespace pmix::test;

namespace {

std::mutex g_lock;  // of the host's own
std::atomic<int> g_upcalls{0};

template <class F>
struct Entry;
template <class R, class... Arguments>
struct Entry<R (*)(Arguments...)> {
    static R call(Arguments...) {
        ++g_upcalls;
        const std::lock_guard held(g_lock);
        return R(PMIX_ERROR);
    }
};
template <class... Arguments>
struct Entry<void (*)(Arguments...)> {
    static void call(Arguments...) {
        ++g_upcalls;
        const std::lock_guard held(g_lock);
    }
};
template <class... Slots>
void fill(Slots&... slots) {
    ((slots = &Entry<Slots>::call), ...);
}

class OwnRequestsTest : public ::testing::Test {
  protected:
    void SetUp() override {
        ::alarm(300);  // one that waits for the lock ends here
        g_upcalls = 0;
        fill(module.client_connected, module.client_finalized, module.abort, module.fence_nb, module.direct_modex,
             module.publish, module.lookup, module.unpublish, module.spawn, module.connect, module.disconnect,
             module.register_events, module.deregister_events, module.notify_event, module.query, module.tool_connected,
             module.log, module.allocate, module.job_control, module.monitor, module.get_credential,
             module.validate_credential, module.iof_pull, module.push_stdin, module.group, module.fabric,
             module.client_connected2, module.tool_connected2, module.log2, module.session_control,
             module.resource_block);
        infos.append_number<size_t>(PMIX_SERVER_MODULE_SIZE, sizeof module, PMIX_SIZE);
        ASSERT_STATUS(PMIX_SUCCESS, PMIx_server_init(&module, infos.c_array(), infos.size()));
        job.append_string(PMIX_NODE_MAP, "near,far");
        job.append_string(PMIX_PROC_MAP, "0;1");
        job.append_number<uint32_t>(PMIX_JOB_SIZE, 2, PMIX_UINT32);
        pmix_nspace_t name;
        PMIx_Load_nspace(name, "job");
        ASSERT_STATUS(PMIX_SUCCESS, PMIx_server_register_nspace(name, 1, job.c_array(), job.size(), nullptr, nullptr));
    }
    void TearDown() override {
        EXPECT_EQ(0, g_upcalls);
        EXPECT_STATUS(PMIX_SUCCESS, PMIx_server_finalize());
        EXPECT_EQ(0, g_upcalls);
        ::alarm(0);
    }

    pmix_server_module_t module{};
    InfoList infos = ServerHere::named(), job;
    const pmix_proc_t remote = ProcId("job", 1).to_c();
    const pmix_proc_t own = ProcId("here", 3).to_c();
};

void any_event(size_t, pmix_status_t, const pmix_proc_t*, pmix_info_t[], size_t, pmix_info_t[], size_t,
               pmix_event_notification_cbfunc_fn_t done, void* cbdata) {
    if (done != nullptr) done(PMIX_EVENT_ACTION_COMPLETE, nullptr, 0, nullptr, nullptr, cbdata);
}

}  // namespace

// rows: G15
TEST_F(OwnRequestsTest, DataRequests_UnderALockOfTheHosts_AreAnsweredWithoutAnUpcall) {
    const std::lock_guard held(g_lock);
    InfoList offer, wait;
    offer.append_string("offer", "here");
    wait.append_number<int>(PMIX_TIMEOUT, 200, PMIX_INT);
    EXPECT_STATUS(PMIX_ERR_NOT_SUPPORTED, PMIx_Publish(offer.c_array(), offer.size()));
    pmix_pdata_t wanted;
    PMIx_Pdata_construct(&wanted);
    PMIx_Load_key(wanted.key, "offer");
    EXPECT_STATUS(PMIX_ERR_NOT_SUPPORTED, PMIx_Lookup(&wanted, 1, nullptr, 0));
    EXPECT_STATUS(PMIX_ERR_NOT_SUPPORTED, PMIx_Unpublish(nullptr, nullptr, 0));
    PMIx_Pdata_destruct(&wanted);
    pmix_value_t* value = nullptr;
    EXPECT_STATUS(PMIX_ERR_NOT_FOUND, PMIx_Get(&remote, "mine", wait.c_array(), wait.size(), &value));
    EXPECT_STATUS(PMIX_SUCCESS, PMIx_Put(PMIX_GLOBAL, "mine", Text("put").get()));
    EXPECT_STATUS(PMIX_SUCCESS, PMIx_Commit());
    EXPECT_STATUS(PMIX_SUCCESS, PMIx_Fence(nullptr, 0, nullptr, 0)) << "of itself alone";
    const pmix_proc_t both[] = {own, remote};
    EXPECT_STATUS(PMIX_ERR_NOT_SUPPORTED, PMIx_Fence(both, 2, nullptr, 0)) << "only a host reaches the other";
    EXPECT_STATUS(PMIX_ERR_NOT_SUPPORTED, PMIx_Connect(both, 2, nullptr, 0));
    EXPECT_STATUS(PMIX_ERR_NOT_SUPPORTED, PMIx_Disconnect(both, 2, nullptr, 0));
    pmix_info_t* results = nullptr;
    size_t n = 0;
    EXPECT_STATUS(PMIX_ERR_NOT_SUPPORTED, PMIx_Group_construct("group", both, 2, nullptr, 0, &results, &n));
}

struct Busy {
    std::promise<void> entered, over;
    static void callback(pmix_status_t, void* cbdata) {
        auto* busy = static_cast<Busy*>(cbdata);
        busy->entered.set_value();
        busy->over.get_future().wait();
    }
};

// An upcall or a callback of the host's may take as long as it likes: what is registered is read meanwhile. rows: G15
TEST_F(OwnRequestsTest, Get_WhileTheHostHoldsTheLibrarysThread_ReadsWhatIsRegistered) {
    Busy busy;
    pmix_proc_t proc = ProcId("job", 0).to_c();
    ASSERT_STATUS(PMIX_SUCCESS,
                  PMIx_server_register_client(&proc, ::getuid(), ::getgid(), nullptr, &Busy::callback, &busy));
    busy.entered.get_future().wait();
    pmix_value_t *size = nullptr, *missing = nullptr;
    const pmix_proc_t all = ProcId("job", PMIX_RANK_WILDCARD).to_c();
    auto found = std::async(std::launch::async, [&] { return PMIx_Get(&all, PMIX_JOB_SIZE, nullptr, 0, &size); });
    auto absent = std::async(std::launch::async, [&] { return PMIx_Get(&all, "pmix.none", nullptr, 0, &missing); });
    const bool both = found.wait_for(std::chrono::seconds(60)) == std::future_status::ready &&
                      absent.wait_for(std::chrono::seconds(60)) == std::future_status::ready;
    busy.over.set_value();
    PMIx_server_deregister_client(&proc, nullptr, nullptr);  // returns after the callback
    EXPECT_TRUE(both) << "they waited for the library's thread";
    ASSERT_STATUS(PMIX_SUCCESS, found.get());
    EXPECT_EQ(2u, size->data.uint32);
    PMIx_Value_free(size, 1);
    EXPECT_STATUS(PMIX_ERR_NOT_FOUND, absent.get());
}

// rows: G15
TEST_F(OwnRequestsTest, Services_UnderALockOfTheHosts_AreAnsweredWithoutAnUpcall) {
    const std::lock_guard held(g_lock);
    pmix_info_t* results = nullptr;
    size_t n = 0;
    // No device, no fabric; which it is depends on the machine.
    pmix_fabric_t fabric = PMIX_FABRIC_STATIC_INIT;
    const pmix_status_t registered = PMIx_Fabric_register(&fabric, nullptr, 0);
    if (registered == PMIX_SUCCESS) {
        EXPECT_STATUS(PMIX_SUCCESS, PMIx_Fabric_deregister(&fabric));
    }
    char unknown[] = "host.only", namespaces[] = PMIX_QUERY_NAMESPACES;
    char* of_host[] = {unknown, nullptr};
    char* of_library[] = {namespaces, nullptr};
    pmix_query_t query{of_host, nullptr, 0};
    EXPECT_NE(PMIX_SUCCESS, PMIx_Query_info(&query, 1, &results, &n));
    query.keys = of_library;
    EXPECT_STATUS(PMIX_SUCCESS, PMIx_Query_info(&query, 1, &results, &n));
    PMIx_Info_free(results, n);
    pmix_byte_object_t credential{};
    EXPECT_STATUS(PMIX_SUCCESS, PMIx_Get_credential(nullptr, 0, &credential)) << "the library's own kind";
    results = nullptr, n = 0;
    EXPECT_STATUS(PMIX_SUCCESS, PMIx_Validate_credential(&credential, nullptr, 0, &results, &n));
    PMIx_Info_free(results, n);
    credential.bytes[0] ^= 1;
    results = nullptr, n = 0;
    EXPECT_STATUS(PMIX_ERR_INVALID_CRED, PMIx_Validate_credential(&credential, nullptr, 0, &results, &n));
    PMIx_Byte_object_destruct(&credential);
    InfoList monitor, log;
    monitor.append_string("some.monitor", "x");
    log.append_string(PMIX_LOG_STDERR, "");
    EXPECT_STATUS(PMIX_ERR_NOT_SUPPORTED,
                  PMIx_Process_monitor(monitor.c_array(), PMIX_SUCCESS, nullptr, 0, &results, &n));
    EXPECT_STATUS(PMIX_SUCCESS, PMIx_Log(log.c_array(), log.size(), nullptr, 0));
    pmix_status_t code = PMIX_EVENT_SYS_BASE;
    const pmix_status_t reference = PMIx_Register_event_handler(&code, 1, nullptr, 0, &any_event, nullptr, nullptr);
    ASSERT_GE(reference, 0);
    EXPECT_STATUS(PMIX_SUCCESS, PMIx_Notify_event(code, &own, PMIX_RANGE_GLOBAL, nullptr, 0, nullptr, nullptr));
    EXPECT_STATUS(PMIX_SUCCESS, PMIx_Deregister_event_handler(static_cast<size_t>(reference), nullptr, nullptr));
}

// rows: G15
TEST_F(OwnRequestsTest, WhatOnlyAHostCanDo_UnderALockOfTheHosts_IsNotSupported) {
    const std::lock_guard held(g_lock);
    pmix_info_t* results = nullptr;
    size_t n = 0;
    InfoList allocation;
    allocation.append_number<uint64_t>(PMIX_ALLOC_NUM_NODES, 2, PMIX_UINT64);
    EXPECT_STATUS(PMIX_ERR_NOT_SUPPORTED,
                  PMIx_Allocation_request(PMIX_ALLOC_NEW, allocation.c_array(), allocation.size(), &results, &n));
    EXPECT_STATUS(PMIX_ERR_NOT_SUPPORTED, PMIx_Abort(1, "end", const_cast<pmix_proc_t*>(&remote), 1));
}

namespace {

// A launcher's entries: each takes the lock, and answers.
struct Launcher {
    static inline std::atomic<bool> own{true};  // all requests were of this process
    static void note(const pmix_proc_t* proc) {
        ++g_upcalls;
        const std::lock_guard held(g_lock);
        own = own && ProcId(*proc) == ProcId("here", 3);
    }
    static pmix_status_t spawn(const pmix_proc_t* proc, const pmix_info_t[], size_t, const pmix_app_t[], size_t,
                               pmix_spawn_cbfunc_t done, void* cbdata) {
        note(proc);
        char name[] = "spawned";
        done(PMIX_SUCCESS, name, cbdata);
        return PMIX_SUCCESS;
    }
    static pmix_status_t control(const pmix_proc_t* proc, const pmix_proc_t[], size_t, const pmix_info_t[], size_t,
                                 pmix_info_cbfunc_t done, void* cbdata) {
        note(proc);
        done(PMIX_SUCCESS, nullptr, 0, cbdata, nullptr, nullptr);
        return PMIX_SUCCESS;
    }
    static pmix_status_t input(const pmix_proc_t* proc, const pmix_proc_t[], size_t, const pmix_info_t[], size_t,
                               const pmix_byte_object_t*, pmix_op_cbfunc_t done, void* cbdata) {
        note(proc);
        done(PMIX_SUCCESS, cbdata);
        return PMIX_SUCCESS;
    }
};

void on_spawned(pmix_status_t status, char nspace[], void* cbdata) {
    const bool right = status != PMIX_SUCCESS || (nspace != nullptr && std::string(nspace) == "spawned");
    Answer::done(right ? status : PMIX_ERROR, cbdata);
}
void on_controlled(pmix_status_t status, pmix_info_t[], size_t, void* cbdata, pmix_release_cbfunc_t release,
                   void* borrowed) {
    if (release != nullptr) release(borrowed);
    Answer::done(status, cbdata);
}

}  // namespace

// What a launcher that is its own server calls.
class OwnLaunches : public ::testing::Test {
  protected:
    void SetUp() override {
        ::alarm(300);  // a wait without an end ends here
        Launcher::own = true;
        g_upcalls = 0;
        PMIx_App_construct(&app);
        app.cmd = command;
        app.argv = arguments;
        app.maxprocs = 1;
        stop.append_flag(PMIX_JOB_CTRL_KILL, true);
    }
    void TearDown() override { ::alarm(0); }
    void start(pmix_server_module_t& module) {
        InfoList infos = ServerHere::named();
        ASSERT_STATUS(PMIX_SUCCESS, PMIx_server_init(&module, infos.c_array(), infos.size()));
    }
    static pmix_server_module_t launcher() {
        pmix_server_module_t module{};
        module.spawn = &Launcher::spawn;
        module.job_control = &Launcher::control;
        module.push_stdin = &Launcher::input;
        return module;
    }

  public:
    pmix_status_t spawn(pmix_nspace_t child) { return PMIx_Spawn(nullptr, 0, &app, 1, child); }
    pmix_status_t control() { return PMIx_Job_control(&target, 1, stop.c_array(), stop.size(), &results, &count); }
    pmix_status_t push() { return PMIx_IOF_push(&target, 1, &input, nullptr, 0, nullptr, nullptr); }

  protected:
    char command[8] = "program", bytes[2] = "x";
    char* arguments[2] = {command, nullptr};
    pmix_app_t app;
    pmix_byte_object_t input{bytes, 1};
    InfoList stop;
    pmix_info_t* results = nullptr;
    size_t count = 0;
    const pmix_proc_t target = ProcId("spawned", 0).to_c();
};

// With the calls that do not wait: they are upcalls to itself, which get its lock when the call has returned. rows: G15
TEST_F(OwnLaunches, WithoutAWait_UnderALockOfTheHosts_GoToTheModule) {
    pmix_server_module_t module = launcher();
    start(module);
    Answer spawned, controlled, pushed;
    {
        const std::lock_guard held(g_lock);
        ASSERT_STATUS(PMIX_SUCCESS, PMIx_Spawn_nb(nullptr, 0, &app, 1, &on_spawned, &spawned));
        ASSERT_STATUS(PMIX_SUCCESS,
                      PMIx_Job_control_nb(&target, 1, stop.c_array(), stop.size(), &on_controlled, &controlled));
        ASSERT_STATUS(PMIX_SUCCESS, PMIx_IOF_push(&target, 1, &input, nullptr, 0, &Answer::done, &pushed));
    }
    EXPECT_STATUS(PMIX_SUCCESS, spawned.wait());
    EXPECT_STATUS(PMIX_SUCCESS, controlled.wait());
    EXPECT_STATUS(PMIX_SUCCESS, pushed.wait());
    EXPECT_TRUE(Launcher::own);
    EXPECT_STATUS(PMIX_SUCCESS, PMIx_server_finalize());
}

// The blocking forms do the same, on any thread that is not the library's. rows: G15
TEST_F(OwnLaunches, BlockingForms_OnAThreadOfTheHosts_GoToTheModule) {
    pmix_server_module_t module = launcher();
    start(module);
    pmix_nspace_t child = "";
    EXPECT_STATUS(PMIX_SUCCESS, spawn(child));
    EXPECT_STREQ("spawned", child);
    EXPECT_STATUS(PMIX_SUCCESS, control());
    EXPECT_STATUS(PMIX_SUCCESS, PMIx_Job_control(&target, 1, stop.c_array(), stop.size(), nullptr, nullptr));
    EXPECT_STATUS(PMIX_SUCCESS, push());
    EXPECT_EQ(4, g_upcalls);
    EXPECT_TRUE(Launcher::own);
    auto other = std::async(std::launch::async, [&] { return control(); });
    EXPECT_STATUS(PMIX_SUCCESS, other.get());
    EXPECT_EQ(5, g_upcalls);
    EXPECT_STATUS(PMIX_SUCCESS, PMIx_server_finalize());
}

// The library's own thread would wait for itself: it is told so, and nothing is done. rows: G15
TEST_F(OwnLaunches, BlockingForms_OnTheLibrarysThread_WouldBlock) {
    pmix_server_module_t module = launcher();
    start(module);
    struct OnLoop {
        OwnLaunches* test;
        pmix_status_t spawned = PMIX_SUCCESS, controlled = PMIX_SUCCESS;
        std::promise<void> over;
        static void run(pmix_status_t, void* cbdata) {
            auto* call = static_cast<OnLoop*>(cbdata);
            pmix_nspace_t child;
            call->spawned = call->test->spawn(child);
            call->controlled = call->test->control();
            call->over.set_value();
        }
    } call{this, {}, {}, {}};
    pmix_nspace_t job;
    PMIx_Load_nspace(job, "job");
    ASSERT_STATUS(PMIX_SUCCESS, PMIx_server_register_nspace(job, 1, nullptr, 0, &OnLoop::run, &call));
    call.over.get_future().wait();
    EXPECT_STATUS(PMIX_ERR_WOULD_BLOCK, call.spawned);
    EXPECT_STATUS(PMIX_ERR_WOULD_BLOCK, call.controlled);
    EXPECT_EQ(0, g_upcalls);
    EXPECT_STATUS(PMIX_SUCCESS, PMIx_server_finalize());
}

// A module without the entries, and one that refuses or never answers. rows: G9 G15
TEST_F(OwnLaunches, BlockingForms_OfModulesThatDoNotServeThem_EndWithTheReason) {
    pmix_nspace_t child;
    pmix_server_module_t module{};
    start(module);
    EXPECT_STATUS(PMIX_ERR_NOT_SUPPORTED, spawn(child));
    EXPECT_STATUS(PMIX_ERR_NOT_SUPPORTED, control());
    EXPECT_STATUS(PMIX_ERR_NOT_SUPPORTED, push());
    EXPECT_STATUS(PMIX_SUCCESS, PMIx_server_finalize());
    module.spawn = [](const pmix_proc_t*, const pmix_info_t*, size_t, const pmix_app_t*, size_t, pmix_spawn_cbfunc_t,
                      void*) -> pmix_status_t { return PMIX_ERR_NO_PERMISSIONS; };
    module.job_control = [](const pmix_proc_t*, const pmix_proc_t*, size_t, const pmix_info_t*, size_t,
                            pmix_info_cbfunc_t, void*) -> pmix_status_t { return PMIX_SUCCESS; };
    start(module);
    EXPECT_STATUS(PMIX_ERR_NO_PERMISSIONS, spawn(child));
    stop.append_number<int>(PMIX_TIMEOUT, 1, PMIX_INT);
    EXPECT_STATUS(PMIX_ERR_TIMEOUT, control());
    EXPECT_STATUS(PMIX_SUCCESS, PMIx_server_finalize());
}

}  // namespace own_requests_test

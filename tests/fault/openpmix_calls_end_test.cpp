// SPDX-License-Identifier: BSD-3-Clause
// A server of OpenPMIx's that ends while it is asked what goes to its host, for output, events or groups, and by calls
// that do not wait: each ends once, with a status, and leaves nothing behind, whether the connection was closed or
// reset. The calls for data and jobs are in openpmix_server_gone_test.cpp.
#include <gtest/gtest.h>
#include <pmix.h>
#include <pmix_tool.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <functional>
#include <mutex>
#include <string>
#include <vector>

#include "support/openpmix_process.h"
#include "support/status.h"

namespace pmix::test::openpmix_calls_end_test {
namespace {

namespace theirs = openpmix;

void on_event(size_t, pmix_status_t, const pmix_proc_t*, pmix_info_t[], size_t, pmix_info_t[], size_t,
              pmix_event_notification_cbfunc_fn_t done, void* cbdata) {
    if (done != nullptr) done(PMIX_SUCCESS, nullptr, 0, nullptr, nullptr, cbdata);
}
void on_output(size_t, pmix_iof_channel_t, pmix_proc_t*, pmix_byte_object_t*, pmix_info_t*, size_t) {}

// The end of a call that does not wait, which comes once.
class Callback {
  public:
    static void op(pmix_status_t status, void* self) { static_cast<Callback*>(self)->fire(status); }
    static void infos(pmix_status_t status, pmix_info_t[], size_t, void* self, pmix_release_cbfunc_t release,
                      void* cbdata) {
        if (release != nullptr) release(cbdata);
        op(status, self);
    }
    static void value(pmix_status_t status, pmix_value_t*, void* self) { op(status, self); }
    static void reference(pmix_status_t status, size_t, void* self) { op(status, self); }
    pmix_status_t wait() {
        std::unique_lock lock(mutex_);
        EXPECT_TRUE(changed_.wait_for(lock, std::chrono::seconds(60), [&] { return times_ > 0; })) << "no end";
        return times_ == 1 ? status_ : PMIX_SUCCESS;
    }

  private:
    void fire(pmix_status_t status) {
        const std::lock_guard lock(mutex_);
        status_ = status;
        ++times_;
        changed_.notify_all();
    }
    std::mutex mutex_;
    std::condition_variable changed_;
    int times_ = 0;
    pmix_status_t status_ = PMIX_SUCCESS;
};

// A call that waits for this command's answer; of one that does not wait, the status that its callback gets.
struct Call {
    const char* name;
    theirs::Command command;
    std::function<pmix_status_t()> make;
    bool since_7 = false;      // earlier servers are not asked
    bool serves_here = false;  // the handler is registered all the same, for what happens in the process
};

pmix_proc_t g_peer, g_all, g_other;
pmix_info_t* g_results = nullptr;
size_t g_count = 0;

template <class F>
pmix_status_t later(F&& call) {
    Callback callback;
    const pmix_status_t rc = call(&callback);
    return rc == PMIX_SUCCESS ? callback.wait() : rc;
}

std::vector<Call> make_calls() {
    PMIX_LOAD_PROCID(&g_peer, "job", 1);
    PMIX_LOAD_PROCID(&g_all, "job", PMIX_RANK_WILDCARD);
    PMIX_LOAD_PROCID(&g_other, "other", PMIX_RANK_WILDCARD);
    using C = theirs::Command;
    static pmix_info_t info;
    PMIX_INFO_LOAD(&info, PMIX_LOG_STDERR, "text", PMIX_STRING);
    static pmix_info_t watched;
    PMIX_INFO_LOAD(&watched, PMIX_MONITOR_FILE, "/a/file", PMIX_STRING);
    static char bytes[] = "bytes", asked[] = PMIX_QUERY_NAMESPACES;
    static char* asked_keys[] = {asked, nullptr};
    static pmix_query_t query{};
    query.keys = asked_keys;
    static pmix_byte_object_t object{bytes, 5};
    static const pmix_proc_t pair[] = {g_peer, [] {
                                           pmix_proc_t self;
                                           PMIX_LOAD_PROCID(&self, "job", 0);
                                           return self;
                                       }()};
    const auto results = [](auto call) { return call(&g_results, &g_count); };
    return {
        {"Fence_nb", C::fence,
         [] { return later([](Callback* c) { return PMIx_Fence_nb(nullptr, 0, nullptr, 0, Callback::op, c); }); }},
        {"Get_nb", C::get,
         [] { return later([](Callback* c) { return PMIx_Get_nb(&g_peer, "key", nullptr, 0, Callback::value, c); }); }},
        {"Get of another job", C::get,
         [] {
             pmix_value_t* value = nullptr;
             return PMIx_Get(&g_other, PMIX_JOB_SIZE, nullptr, 0, &value);
         }},
        {"Query", C::query,
         [results] { return results([](auto r, auto n) { return PMIx_Query_info(&query, 1, r, n); }); }},
        {"Query_nb", C::query,
         [] { return later([](Callback* c) { return PMIx_Query_info_nb(&query, 1, Callback::infos, c); }); }},
        {"Log", C::log, [] { return PMIx_Log(&info, 1, nullptr, 0); }},
        {"Allocation", C::allocation,
         [results] {
             return results([](auto r, auto n) { return PMIx_Allocation_request(PMIX_ALLOC_NEW, &info, 1, r, n); });
         }},
        {"Job control", C::job_control,
         [results] { return results([](auto r, auto n) { return PMIx_Job_control(&g_peer, 1, &info, 1, r, n); }); }},
        {"Monitor", C::monitor,
         [results] {
             return results([](auto r, auto n) {
                 return PMIx_Process_monitor(&watched, PMIX_MONITOR_FILE_ALERT, nullptr, 0, r, n);
             });
         }},
        {"Validate credential", C::validate_credential,
         [results] {
             return results([](auto r, auto n) { return PMIx_Validate_credential(&object, nullptr, 0, r, n); });
         }},
        {"Group construct_nb", C::group_construct,
         [] {
             return later(
                 [](Callback* c) { return PMIx_Group_construct_nb("g", pair, 2, nullptr, 0, Callback::infos, c); });
         }},
        {"Group invite", C::group_invite,
         [results] {
             return results([](auto r, auto n) { return PMIx_Group_invite("g", pair, 2, nullptr, 0, r, n); });
         },
         true},
        {"Group join", C::group_join,
         [results] {
             return results(
                 [](auto r, auto n) { return PMIx_Group_join("g", &g_peer, PMIX_GROUP_ACCEPT, nullptr, 0, r, n); });
         },
         true},
        {"Register a handler", C::register_events,
         [] {
             pmix_status_t code = -3100;
             return PMIx_Register_event_handler(&code, 1, nullptr, 0, &on_event, nullptr, nullptr);
         },
         false, true},
        {"Notify", C::notify,
         [] { return PMIx_Notify_event(-3101, nullptr, PMIX_RANGE_GLOBAL, nullptr, 0, nullptr, nullptr); }},
        {"Pull", C::iof_pull,
         [] { return PMIx_IOF_pull(&g_peer, 1, nullptr, 0, PMIX_FWD_STDOUT_CHANNEL, &on_output, nullptr, nullptr); }},
        {"Push", C::iof_push, [] { return PMIx_IOF_push(&g_peer, 1, &object, nullptr, 0, nullptr, nullptr); }},
        {"Fabric", C::fabric_register,
         [] {
             pmix_fabric_t fabric;
             PMIX_FABRIC_CONSTRUCT(&fabric);
             return PMIx_Fabric_register(&fabric, nullptr, 0);
         }},
    };
}

const std::vector<Call>& calls() {
    static const std::vector<Call> all = make_calls();
    return all;
}

class OpenPmixCallsEnd : public OpenPmixProcess {};
INSTANTIATE_TEST_SUITE_P(Releases, OpenPmixCallsEnd,
                         ::testing::Values(std::make_pair("4.0.0", "v4"), std::make_pair("4.2.2rc2", "v41"),
                                           std::make_pair("5.0.7", "v41"), std::make_pair("7.0.0rc1", "v61")));

TEST_P(OpenPmixCallsEnd, ServerGoesWhileItIsAsked_EachEnds) {
    for (const bool by_reset : {false, true}) {
        for (const Call& call : calls()) {
            SCOPED_TRACE(std::string(call.name) + (by_reset ? ", reset" : ", closed"));
            SetUp();
            if (call.since_7 && !server_->traits.forms_invited) continue;
            std::atomic<int> asked{0};
            server_->on(call.command, [&](uint32_t, common::Bytes) {
                ++asked;
                by_reset ? server_->reset() : server_->cut();
            });
            init();
            if (HasFatalFailure()) return;
            g_results = nullptr;
            g_count = 0;
            const auto is_lost = [&](pmix_status_t status) {
                if (call.serves_here) return status >= 0;
                return status == PMIX_ERR_LOST_CONNECTION || status == PMIX_ERR_UNREACH;
            };
            const pmix_status_t rc = call.make();
            EXPECT_TRUE(is_lost(rc)) << PMIx_Error_string(rc);
            EXPECT_EQ(1, asked) << "the server was to end while it was asked";
            EXPECT_EQ(nullptr, g_results);
            EXPECT_EQ(0u, g_count);
            // The next one finds nobody, and what is known stays known.
            const pmix_status_t next = call.make();
            // A reserved key that is not here, and nobody to ask.
            const bool missing = call.command == theirs::Command::get && next == PMIX_ERR_NOT_FOUND;
            EXPECT_TRUE(is_lost(next) || missing) << PMIx_Error_string(next);
            EXPECT_EQ(3u, number(g_all, PMIX_JOB_SIZE));
            EXPECT_STATUS(PMIX_SUCCESS, PMIx_Finalize(nullptr, 0));
            TearDown();
        }
    }
}

// What needs no answer of a server does not fail with it.
TEST_P(OpenPmixCallsEnd, ServerHasGone_WhatIsThisProcesssOwn_GoesOn) {
    init();
    pmix_status_t code = -3102;
    const pmix_status_t handler = PMIx_Register_event_handler(&code, 1, nullptr, 0, &on_event, nullptr, nullptr);
    ASSERT_GE(handler, 0);
    server_->stop();
    for (int tries = 0; PMIx_Fence(nullptr, 0, nullptr, 0) == PMIX_SUCCESS && tries < 100; ++tries) {
    }
    common::Value value = common::Value::u32(5), got;
    EXPECT_STATUS(PMIX_SUCCESS, PMIx_Put(PMIX_GLOBAL, "own", value.c_ptr()));
    const pmix_status_t committed = PMIx_Commit();
    EXPECT_TRUE(committed == PMIX_ERR_UNREACH || committed == PMIX_ERR_LOST_CONNECTION) << committed;
    EXPECT_STATUS(PMIX_SUCCESS, get(self_, "own", &got));
    EXPECT_EQ(5u, got.get().data.uint32);
    EXPECT_STATUS(PMIX_SUCCESS, PMIx_Deregister_event_handler(static_cast<size_t>(handler), nullptr, nullptr));
    pmix_proc_t* procs = nullptr;
    size_t count = 0;
    EXPECT_STATUS(PMIX_SUCCESS, PMIx_Resolve_peers("here", "job", &procs, &count));
    EXPECT_EQ(2u, count);
    PMIX_PROC_FREE(procs, count);
    EXPECT_STATUS(PMIX_SUCCESS, PMIx_Finalize(nullptr, 0));
}

}  // namespace
}  // namespace pmix::test::openpmix_calls_end_test

// SPDX-License-Identifier: BSD-3-Clause
// A host's event base that no thread runs: calls with a limit end at it, and finalize ends those without.
#include <event2/event.h>
#include <gtest/gtest.h>
#include <pmix.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <fstream>
#include <string>
#include <thread>

#include "support/server_here.h"
#include "support/status.h"

namespace pmix::test::host_base_test {
namespace {

InfoList on(event_base* base) {
    InfoList infos = ServerHere::named();
    infos.append(PMIX_EVENT_BASE, base, PMIX_POINTER);
    return infos;
}

bool sleeps(pid_t thread) {
    std::ifstream file("/proc/self/task/" + std::to_string(thread) + "/stat");
    std::string stat;
    std::getline(file, stat);
    const size_t name_ends = stat.rfind(')');
    return name_ends != std::string::npos && stat.size() > name_ends + 2 && stat[name_ends + 2] == 'S';
}

}  // namespace

// rows: I13
TEST(HostBase, AGetIsOverWhenItsTimeIs) {
    event_base* base = event_base_new();
    {
        ServerHere server(nullptr, on(base));
        InfoList limit;
        limit.append_number<int>(PMIX_TIMEOUT, 1, PMIX_INT);
        const pmix_proc_t other = ProcId("other", 0).to_c();
        pmix_value_t* value = nullptr;
        EXPECT_STATUS(PMIX_ERR_TIMEOUT, PMIx_Get(&other, "key", limit.c_array(), limit.size(), &value));
        // The loop comes to it when nobody waits any more.
        event_base_loop(base, EVLOOP_NONBLOCK);
    }
    event_base_free(base);
}

// Two threads: one waits for the loop, the other ends the library.
// rows: I13
TEST(HostBase, WhoWaitsForTheLoopIsAnsweredByFinalize) {
    event_base* base = event_base_new();
    std::atomic<pid_t> waiting{0};
    std::atomic<bool> answered{false};
    std::thread waiter;
    {
        ServerHere server(nullptr, on(base));
        waiter = std::thread([&] {
            waiting = static_cast<pid_t>(::syscall(SYS_gettid));
            const auto nothing = [](size_t, pmix_status_t, const pmix_proc_t*, pmix_info_t[], size_t, pmix_info_t[],
                                    size_t, pmix_event_notification_cbfunc_fn_t, void*) {};
            PMIx_Register_event_handler(nullptr, 0, nullptr, 0, nothing, nullptr, nullptr);
            answered = true;
        });
        const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(60);
        while ((waiting == 0 || !sleeps(waiting)) && std::chrono::steady_clock::now() < until)
            std::this_thread::yield();
        EXPECT_FALSE(answered);
    }
    waiter.join();
    EXPECT_TRUE(answered);
    event_base_free(base);
}

}  // namespace pmix::test::host_base_test

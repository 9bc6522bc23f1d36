// SPDX-License-Identifier: BSD-3-Clause
// PMIx_Progress_thread_stop: the thread ends, what was queued has run, and the process drives the library from then on.
#include <dirent.h>
#include <gtest/gtest.h>
#include <pmix.h>
#include <pmix_server.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <fstream>
#include <string>
#include <thread>

#include "support/server_here.h"
#include "support/status.h"

namespace pmix::test::progress_thread_test {
namespace {

int threads_of_the_library() {
    int n = 0;
    DIR* folder = ::opendir("/proc/self/task");
    while (const dirent* entry = ::readdir(folder)) {
        std::string name;
        std::ifstream file("/proc/self/task/" + std::string(entry->d_name) + "/comm");
        std::getline(file, name);
        n += name == "wireup";
    }
    ::closedir(folder);
    return n;
}

// Whether it comes to so many, which may take as long as the machine likes.
bool comes_to(int threads) {
    const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (threads_of_the_library() != threads && std::chrono::steady_clock::now() < until) ::usleep(100);
    return threads_of_the_library() == threads;
}

// The name of a new thread is set by itself.
bool has_thread() {
    return comes_to(1);
}

// A thread that has been joined is listed for a moment yet.
bool has_no_thread() {
    return comes_to(0);
}

void count(pmix_status_t status, void* counter) {
    EXPECT_STATUS(PMIX_SUCCESS, status);
    ++*static_cast<std::atomic<int>*>(counter);
}

void register_later(const char* name, std::atomic<int>& done) {
    pmix_nspace_t nspace;
    PMIx_Load_nspace(nspace, name);
    EXPECT_STATUS(PMIX_SUCCESS, PMIx_server_register_nspace(nspace, 1, nullptr, 0, count, &done));
}

// proves: PMIx_Progress_thread_stop client PMIX_PROGRESS_THREAD_NAME
TEST(ProgressThread, StoppedOnceAndDrivenByTheProcess) {
    PMIx_Progress_thread_stop(nullptr, 0);  // there is none
    ServerHere server;
    ASSERT_TRUE(has_thread());
    pmix_info_t other = PMIX_INFO_STATIC_INIT;
    PMIx_Info_load(&other, PMIX_PROGRESS_THREAD_NAME, "somebody else's", PMIX_STRING);
    PMIx_Progress_thread_stop(&other, 1);
    PMIx_Progress_thread_stop(nullptr, 1);
    EXPECT_TRUE(has_thread());
    PMIx_Info_destruct(&other);
    PMIx_Info_load(&other, "pmix.evname", "somebody else's", PMIX_STRING);  // its string until OpenPMIx 6
    PMIx_Progress_thread_stop(&other, 1);
    EXPECT_TRUE(has_thread());
    PMIx_Info_destruct(&other);

    const int number = 1;
    PMIx_Info_load(&other, PMIX_PROGRESS_THREAD_FLUSH, &number, PMIX_INT);  // no flag
    PMIx_Progress_thread_stop(&other, 1);
    EXPECT_TRUE(has_thread());
    PMIx_Info_destruct(&other);

    std::atomic<int> before{0}, after{0};
    for (int i = 0; i < 100; ++i) register_later(("before." + std::to_string(i)).c_str(), before);
    PMIx_Info_load(&other, PMIX_PROGRESS_THREAD_NAME, "wireup", PMIX_STRING);
    PMIx_Progress_thread_stop(&other, 1);
    PMIx_Info_destruct(&other);
    EXPECT_TRUE(has_no_thread());
    EXPECT_EQ(100, before) << "what was queued has run";

    register_later("after", after);
    EXPECT_EQ(0, after) << "who ran it?";
    for (int i = 0; i < 1000 && after == 0; ++i) PMIx_Progress();
    EXPECT_EQ(1, after);
    register_job("blocking");  // the thread that waits drives the loop
    EXPECT_STATUS(PMIX_SUCCESS, PMIx_Put(PMIX_GLOBAL, "k", Text("v").get()));
    EXPECT_EQ("v", text_of(ServerHere::self(), "k"));
    PMIx_Progress_thread_stop(nullptr, 0);
    EXPECT_TRUE(has_no_thread());
}

std::atomic<bool> g_blocked{false}, g_go{false};
void block(pmix_status_t, void*) {
    g_blocked = true;
    while (!g_go) ::usleep(100);
    PMIx_Progress_thread_stop(nullptr, 0);  // on the thread itself: nothing
}

// proves: PMIx_Progress_thread_stop client PMIX_PROGRESS_THREAD_FLUSH
TEST(ProgressThread, StopWithoutFlush_TasksQueued_RunOnTheDrivingThread) {
    ServerHere server;
    std::atomic<int> queued{0};
    pmix_nspace_t nspace;
    PMIx_Load_nspace(nspace, "blocks");
    ASSERT_STATUS(PMIX_SUCCESS, PMIx_server_register_nspace(nspace, 1, nullptr, 0, block, nullptr));
    while (!g_blocked) ::usleep(100);
    register_later("queued", queued);
    g_go = true;
    const bool no = false;
    pmix_info_t flush = PMIX_INFO_STATIC_INIT;
    PMIx_Info_load(&flush, PMIX_PROGRESS_THREAD_FLUSH, &no, PMIX_BOOL);
    PMIx_Progress_thread_stop(&flush, 1);
    EXPECT_TRUE(has_no_thread());
    // It may have been taken up just before the stop; if not, it is not lost.
    for (int i = 0; i < 1000 && queued == 0; ++i) PMIx_Progress();
    EXPECT_EQ(1, queued);
}

TEST(ProgressThread, FinalizeGoesOnWhenItIsStoppedMeanwhile) {
    const bool no = false;
    pmix_info_t flush = PMIX_INFO_STATIC_INIT;
    PMIx_Info_load(&flush, PMIX_PROGRESS_THREAD_FLUSH, &no, PMIX_BOOL);
    for (int i = 0; i < 30; ++i) {
        std::thread other;
        {
            ServerHere server;
            other = std::thread([&] { PMIx_Progress_thread_stop(&flush, 1); });
        }
        other.join();
    }
    PMIx_Info_destruct(&flush);
}

common::InfoList external() {
    common::InfoList infos = ServerHere::named();
    infos.append_flag(PMIX_EXTERNAL_PROGRESS, true);
    return infos;
}

// Another thread waits, and runs the loop for it: finalize ends its call all the same.
TEST(ProgressThread, Finalize_CallerRunsTheLoop_EndsItsCall) {
    for (int i = 0; i < 20; ++i) {
        std::atomic<bool> asks{false};
        std::thread waits;
        {
            ServerHere server(nullptr, external());
            register_job("job");
            waits = std::thread([&] {
                pmix_value_t* value = nullptr;
                const pmix_proc_t proc = ProcId("job", 0).to_c();
                asks = true;
                // With a limit a server's own question waits, too.
                common::InfoList limit;
                limit.append_number<int>(PMIX_TIMEOUT, 600, PMIX_INT);
                const pmix_status_t rc = PMIx_Get(&proc, "never committed", limit.c_array(), limit.size(), &value);
                // Before it was asked, while it waited, or on the way in.
                EXPECT_TRUE(rc == PMIX_ERR_INIT || rc == PMIX_ERR_LOST_CONNECTION || rc == PMIX_ERR_UNREACH)
                    << PMIx_Error_string(rc);
            });
            while (!asks) std::this_thread::yield();
            // Enough for it to wait in the kernel; well too where it does not yet.
            ::usleep(1000);
        }
        waits.join();
    }
}

// Another thread drives all the time, through inits and finalizes.
TEST(ProgressThread, Finalize_AnotherThreadProgresses_BothComplete) {
    std::atomic<bool> over{false};
    std::thread drives([&] {
        while (!over) PMIx_Progress();
    });
    const auto done = [](pmix_status_t, void*) {};
    for (int i = 0; i < 20; ++i) {
        ServerHere server(nullptr, external());
        const pmix_proc_t self = ServerHere::self();
        for (int k = 0; k < 20; ++k)
            PMIx_Notify_event(-3000 - k, &self, PMIX_RANGE_NAMESPACE, nullptr, 0, done, nullptr);
    }
    over = true;
    drives.join();
}

}  // namespace
}  // namespace pmix::test::progress_thread_test

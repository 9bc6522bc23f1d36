// SPDX-License-Identifier: BSD-3-Clause
// The n-th allocation fails, for every n, while parts of the library are made and ended: the caller gets an error or an
// exception that the API turns into one, and the process goes on.
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <functional>
#include <memory>
#include <new>
#include <string>
#include <vector>

#include "server/admission/message_admission.h"
#include "server/base/blocking_tasks.h"
#include "server/iof/iof_queue.h"
#include "server/services/cleanup.h"
#include "support/failing_memory.h"
#include "support/fake_scheduler.h"
#include "support/recording_handler.h"
#include "support/status.h"
#include "transport/connection.h"

using namespace pmix;
using namespace pmix::test;

namespace {

// Runs what is measured with the first, the second, ... allocation failing, until none fails any more. It makes what
// it needs before, and counts its own allocations by resume() and pause().
void fail_everywhere(const std::function<void()>& measured) {
    for (long n = 0; n < 1000; ++n) {
        SCOPED_TRACE("allocation " + std::to_string(n) + " fails");
        FailingMemory::arm(n);
        measured();
        FailingMemory::pause();
        if (::testing::Test::HasFailure() || !FailingMemory::failed()) {
            EXPECT_GE(n, 1) << "no allocation was made to fail";
            return;
        }
    }
    ADD_FAILURE() << "there is no end of allocations";
}

}  // namespace

TEST(PartsNomemTest, ConnectionOpen_OneAllocationFails_CallerIsTold) {
    fail_everywhere([] {
        ManualLoop loop;
        RecordingHandler handler;
        auto [ours, theirs] = socket_pair();
        transport::LoopRole role(*loop.loop);
        transport::ConnectionOptions options;
        options.caller_reads = true;
        std::shared_ptr<transport::Connection> connection;
        FailingMemory::resume();
        try {
            auto opened = transport::Connection::open(*loop.loop, std::move(ours), handler, options);
            if (opened.ok()) connection = std::move(opened).value();
        } catch (const std::bad_alloc&) {
        }
        FailingMemory::pause();
        EXPECT_EQ(connection == nullptr, FailingMemory::failed());
        if (connection != nullptr) connection->close();
    });
}

TEST(PartsNomemTest, OutputQueue_OneAllocationFails_CallerIsTold) {
    fail_everywhere([] {
        bool made = false;
        FailingMemory::resume();
        try {
            const server::IofQueue queue{server::IofLimit()};
            made = queue.empty();
        } catch (const std::bad_alloc&) {
        }
        FailingMemory::pause();
        EXPECT_NE(made, FailingMemory::failed());
    });
}

namespace {

struct LargeSender final : server::MessageAdmission::Sender {
    explicit LargeSender(server::AccountPtr from) : account(std::move(from)) {}
    const server::AccountPtr& sender_account() const noexcept override { return account; }
    size_t received() const noexcept override { return 0; }
    void read_on() override {}
    void end() override {}
    server::AccountPtr account;
};

}  // namespace

// It is read without being counted then, and its end finds nothing of it.
TEST(PartsNomemTest, LargeMessage_OneAllocationFails_NothingOfItStays) {
    for (const size_t bytes : {20u, 80u, 200u}) {  // admitted, waits, never fits
        fail_everywhere([bytes] {
            FakeScheduler scheduler;
            server::MessageAdmission admission(scheduler);
            const auto account = std::make_shared<server::UserAccount>(100);
            LargeSender first(account), second(account);
            EXPECT_TRUE(admission.admit(first, 80));
            bool failed = false;
            FailingMemory::resume();
            try {
                EXPECT_EQ(bytes == 20, admission.admit(second, bytes));
            } catch (const std::bad_alloc&) {
                failed = true;
            }
            FailingMemory::pause();
            EXPECT_EQ(FailingMemory::failed(), failed);
            EXPECT_EQ(failed || bytes == 20 ? 0u : 1u, admission.waiting());
            FailingMemory::resume();
            admission.done(first);
            FailingMemory::pause();
            admission.done(second);
            EXPECT_EQ(0u, admission.waiting());
            EXPECT_EQ(0u, account->used());
        });
    }
}

// All of a request is registered or nothing, and what it protects is free again with its last path.
TEST(PartsNomemTest, Cleanup_OneAllocationFails_NothingIsHalfRegistered) {
    server::CleanupRules rules;
    rules.ignore = {"/nowhere/keep.one.with.a.long.name", "/nowhere/keep.two.with.a.long.name", "short"};
    const std::vector<std::string> files{"/nowhere/one.with.a.long.name", "/nowhere/two.with.a.long.name"};
    const std::vector<std::string> folders{"/nowhere/three.with.a.long.name"};
    FakeScheduler scheduler;
    server::BlockingTasks tasks(scheduler);
    const auto account = std::make_shared<server::UserAccount>(1u << 20);
    const server::CleanupRequest request{1, "a name that is long enough for the heap", {1, 2}, {1, 1}, account};
    fail_everywhere([&] {
        server::Cleanup cleanup(tasks);
        ASSERT_STATUS(PMIX_SUCCESS, cleanup.add({3, "", {1}, {1, 1}, account}, {files[0]}, {}, {}));
        pmix_status_t rc = PMIX_ERR_NOMEM;
        FailingMemory::resume();
        try {
            rc = cleanup.add(request, files, folders, rules);
        } catch (const std::bad_alloc&) {
        }
        FailingMemory::pause();
        EXPECT_STATUS(FailingMemory::failed() ? PMIX_ERR_NOMEM : PMIX_SUCCESS, rc);
        EXPECT_EQ(rc == PMIX_SUCCESS ? 3u : 1u, cleanup.size());
        EXPECT_EQ(rc == PMIX_SUCCESS ? 3u : 0u, cleanup.cancel(1, nullptr));
        EXPECT_EQ(1u, cleanup.cancel(3, nullptr));
        EXPECT_EQ(0u, account->used());
        // Nothing is protected any more.
        EXPECT_STATUS(PMIX_SUCCESS,
                      cleanup.add({3, "", {1}, {1, 1}, account}, {rules.ignore[0], rules.ignore[1]}, {}, {}));
        cleanup.cancel(3, nullptr);
        EXPECT_EQ(0u, cleanup.size());
        EXPECT_EQ(0u, account->used());
    });
}

TEST(PartsNomemTest, BlockingTasksEnd_OneAllocationFails_ThreadIsJoined) {
    FakeScheduler scheduler;
    server::BlockingTasks tasks(scheduler);
    std::atomic<bool> ran{false};
    tasks.add([&ran](bool) { ran = true; });
    while (!ran) ::usleep(100);
    FailingMemory::arm(0);
    FailingMemory::resume();
    const bool ended = tasks.finish();
    FailingMemory::pause();
    EXPECT_TRUE(ended);
}

// SPDX-License-Identifier: BSD-3-Clause
// The n-th allocation of the loop fails, for every n, while a period of a usage monitor ends: a sample is whole or is
// left out, and the next one comes.
#include <gtest/gtest.h>

#include <memory>
#include <new>
#include <string>

#include "support/failing_memory.h"
#include "support/status.h"
#include "unit/server/usage_setting.h"

namespace pmix::server::usage_monitors_nomem_test {
namespace {

using pmix::test::FailingMemory;

class UsageMonitorsNomemTest : public UsageSetting {
  protected:
    void run_period() {
        scheduler.advance(1000);
        scheduler.run_until([&] { return scheduler.timers() == monitors.size(); });
    }
};

TEST_F(UsageMonitorsNomemTest, Period_OneAllocationFails_NextSampleComes) {
    ASSERT_STATUS(PMIX_SUCCESS, ask(usage(PMIX_MONITOR_PROC_RESOURCE_USAGE), of_procs({{"job", 2}}, rate(1, "load"))));
    peer->while_noting = [] {
        const bool counted = FailingMemory::counts();
        FailingMemory::pause();
        return std::shared_ptr<void>(nullptr, [counted](void*) {
            if (counted) FailingMemory::resume();
        });
    };
    for (long n = 0; n < 2000; ++n) {
        SCOPED_TRACE("allocation " + std::to_string(n) + " fails");
        // The worker's allocations are not counted: those of another thread never are.
        FailingMemory::arm(n);
        bool lost = false;
        FailingMemory::resume();
        try {
            run_period();
        } catch (const std::bad_alloc&) {
            lost = true;
        }
        FailingMemory::pause();
        if (lost) monitors.recover();
        const size_t before = peer->events.size();
        for (int periods = 0; periods < 100 && peer->events.size() == before; ++periods) run_period();
        EXPECT_GT(peer->events.size(), before) << "there are no samples any more";
        for (const auto& event : peer->events) {
            EXPECT_EQ("load", text(infos_of(event), PMIX_MONITOR_ID));
            EXPECT_TRUE(infos_of(event).flag(PMIX_EVENT_NON_DEFAULT));
        }
        EXPECT_EQ(0u, events.cached());
        peer->events.clear();
        if (HasFailure() || !FailingMemory::failed()) {
            EXPECT_GE(n, 20) << "hardly any allocation was made to fail";
            return;
        }
    }
    ADD_FAILURE() << "there is no end of allocations";
}

// The worker has a sample and no memory to hand it back. The monitor goes on, and what was lost is under way no more: a
// user may have so many, and would have none in the end.
TEST_F(UsageMonitorsNomemTest, Samples_LostOnTheirWay_NextOnesCome) {
    ASSERT_STATUS(PMIX_SUCCESS, ask(usage(PMIX_MONITOR_PROC_RESOURCE_USAGE), of_procs({{"job", 2}}, rate(1, "load"))));
    for (size_t i = 0; i < UsageMonitors::kMaxUnderWay + 2; ++i) {
        const int before = scheduler.lost_steps;
        scheduler.no_memory = true;
        scheduler.advance(1000);
        ASSERT_TRUE(scheduler.run_until([&] { return scheduler.lost_steps != before; })) << "sample " << i;
        scheduler.no_memory = false;
        EXPECT_EQ(0u, scheduler.timers());
        monitors.recover();
        ASSERT_EQ(1u, scheduler.timers()) << "sample " << i;
    }
    EXPECT_TRUE(peer->events.empty());
    run_period();
    EXPECT_EQ(1u, peer->events.size());
}

// The end of a process does not fail for want of memory: its monitors end here, and the host is asked once at most.
TEST_F(UsageMonitorsNomemTest, RequesterGone_OneAllocationFails_ItsMonitorsEndAndThoseOfOthersStay) {
    ASSERT_STATUS(PMIX_SUCCESS, ask(other, usage(PMIX_MONITOR_NODE_RESOURCE_USAGE), rate(1)));
    for (long n = 0; n < 200; ++n) {
        SCOPED_TRACE("allocation " + std::to_string(n) + " fails");
        ASSERT_STATUS(PMIX_SUCCESS, ask(usage(PMIX_MONITOR_NODE_RESOURCE_USAGE),
                                        of_names(PMIX_MONITOR_TARGET_NODES, {"n7", "n0"}, rate(1, "a"))));
        ASSERT_EQ(2u, monitors.size());
        host.asked = 0;
        FailingMemory::arm(n);
        FailingMemory::resume();
        monitors.peer_gone(*peer);
        FailingMemory::pause();
        EXPECT_EQ(1u, monitors.size());
        EXPECT_LE(host.asked, 1);
        monitors.peer_gone(*peer);
        EXPECT_LE(host.asked, 1) << "it was asked again";
        if (FailingMemory::failed()) continue;
        EXPECT_EQ(1, host.asked);
        EXPECT_EQ(PMIX_MONITOR_CANCEL, common::key_view(host.last_what[0]));
        EXPECT_GE(n, 2) << "hardly any allocation was made to fail";
        return;
    }
    ADD_FAILURE() << "there is no end of allocations";
}

}  // namespace
}  // namespace pmix::server::usage_monitors_nomem_test

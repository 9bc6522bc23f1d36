// SPDX-License-Identifier: BSD-3-Clause
// The n-th allocation of a server fails, for every n, when all have joined a fence in memory that the host takes part
// in: each process learns how it ended, and the host is called once at most. The other nodes count its calls. The same
// when one has joined and another one's request makes the round one of requests.
#include <gtest/gtest.h>

#include "support/failing_memory.h"
#include "unit/server/server_memory_fence_setting.h"

namespace pmix::test {
namespace {

// A process waits in memory; where that tells it to ask, it asks.
struct Waiting {
    Rank& rank;
    uint32_t round;
    uint32_t request = 0;
    bool done = false;

    void look() {
        if (done) return;
        pmix_status_t status = PMIX_SUCCESS;
        // One whose word could not be read has lost its connection.
        if (rank.hung_up() || (request != 0 && rank.answered(request, status))) {
            done = true;
        } else if (request == 0) {
            bool ask = false;
            const Ended end = rank.look(round, nullptr, &ask);
            done = end == Ended::ended && !ask;
            if (end == Ended::by_request || (end == Ended::ended && ask))
                request = rank.start_request(FenceUse::joined, round);
        }
    }
};

TEST(ServerMemoryFenceNomemTest, AllHaveJoined_OneAllocationFails_HostIsCalledOnce) {
    for (long n = 0; n < 3000; ++n) {
        SCOPED_TRACE("allocation " + std::to_string(n) + " fails");
        MemoryFenceSetting s;
        s.begin_in_memory(2);
        const uint32_t round = s.a->join().round;
        ASSERT_EQ(s.b->join().kind, Joined::last_to_server);
        const size_t calls = s.host.count("fence");
        s.b->tell_joined(round);
        Waiting a{*s.a, round}, b{*s.b, round};
        FailingMemory::arm(n);
        const auto deadline = transport::Deadline::in_ms(60'000);
        while (!(a.done && b.done) && !deadline.passed()) {
            FailingMemory::resume();
            s.server->run_once();
            FailingMemory::pause();
            s.host.answer_waiting();
            a.look();
            b.look();
        }
        EXPECT_TRUE(a.done) << "rank 0 waits";
        EXPECT_TRUE(b.done) << "rank 1 waits";
        EXPECT_LE(s.host.count("fence"), calls + 1);
        if (HasFailure()) return;
        if (!FailingMemory::failed()) {
            EXPECT_GE(n, 5) << "hardly any allocation was made to fail";
            return;
        }
    }
    ADD_FAILURE() << "there is no end of allocations";
}

TEST(ServerMemoryFenceNomemTest, RequestAfterAJoin_OneAllocationFails_NobodyWaits) {
    for (long n = 0; n < 3000; ++n) {
        SCOPED_TRACE("allocation " + std::to_string(n) + " fails");
        MemoryFenceSetting s;
        s.begin_in_memory();
        Waiting a{*s.a, s.a->join().round};
        uint32_t request = s.b->start_request(FenceUse::has);
        bool answered = false;
        pmix_status_t status = PMIX_SUCCESS;
        FailingMemory::arm(n);
        const auto deadline = transport::Deadline::in_ms(60'000);
        for (int still = 0; !(a.done && answered) && !deadline.passed();) {
            FailingMemory::resume();
            s.server->run_once();
            FailingMemory::pause();
            a.look();
            answered = answered || s.b->hung_up() || s.b->answered(request, status);
            // An error while rank 0 goes on waiting: its request has not been counted.
            still = answered && status != PMIX_SUCCESS ? still + 1 : 0;
            if (still < 100 || a.done || s.b->hung_up()) continue;
            request = s.b->start_request(FenceUse::has);
            answered = false;
            still = 0;
        }
        EXPECT_TRUE(a.done) << "rank 0 waits";
        EXPECT_TRUE(answered) << "rank 1 waits";
        if (HasFailure()) return;
        if (!FailingMemory::failed()) {
            EXPECT_GE(n, 5) << "hardly any allocation was made to fail";
            return;
        }
    }
    ADD_FAILURE() << "there is no end of allocations";
}

}  // namespace
}  // namespace pmix::test

// SPDX-License-Identifier: BSD-3-Clause
// Many rounds of fences in memory by several threads, with a server that ends some and makes others rounds of requests:
// nobody leaves a round before all have joined, what was written before a fence is read after it, and nobody is left
// behind.
#include <gtest/gtest.h>

#include <atomic>
#include <mutex>
#include <thread>
#include <vector>

#include "transport/fence_memory.h"

namespace pmix::transport {
namespace {

using Joined = FenceMemory::Joined::Kind;
using Ended = FenceMemory::End::Kind;
using Mode = FenceMemory::Mode;

constexpr uint32_t kProcesses = 4;
constexpr int kRounds = 1000;

// What a server does with requests, as far as this needs it: a round by request ends when all have asked.
class Requests {
  public:
    explicit Requests(FenceMemory& memory) : memory_(memory) {}
    // Returns when all have asked.
    void ask() {
        const int mine = generation_.load(std::memory_order_acquire);
        if (asked_.fetch_add(1, std::memory_order_acq_rel) + 1 == kProcesses) {
            asked_.store(0, std::memory_order_relaxed);
            memory_.end_round(memory_.state().round, PMIX_SUCCESS, false, Mode::open);
            generation_.store(mine + 1, std::memory_order_release);
        }
        while (generation_.load(std::memory_order_acquire) == mine) std::this_thread::yield();
    }

  private:
    FenceMemory& memory_;
    std::atomic<int> generation_{0};
    std::atomic<uint32_t> asked_{0};
};

TEST(FenceMemoryStress, EverybodyMeetsInEveryRound) {
    auto created = FenceMemory::create(kProcesses);
    ASSERT_TRUE(created.ok());
    FenceMemory& memory = *created.value();
    Requests requests(memory);
    memory.end_round(0, PMIX_SUCCESS, false, Mode::open);
    // Plain numbers on purpose: what orders them is the fence alone.
    std::vector<int> written(kProcesses * 16, 0);
    std::atomic<int> wrong{0}, by_request{0}, by_server{0};
    std::atomic<bool> done{false};
    std::mutex server_is_one_thread;

    const auto process = [&](uint32_t slot) {
        // One mapping for all: ThreadSanitizer knows memory by its address, and finds no order between two.
        FenceMemory& fence = memory;
        const auto meet = [&](int round) {
            const auto join = fence.join(slot, (round + slot) % 7 == 0, false, static_cast<uint64_t>(round));
            if (join.kind == Joined::ended) return;
            if (join.kind == Joined::last_to_server) {
                std::lock_guard lock(server_is_one_thread);
                if (fence.state().mode == Mode::at_server) {
                    ++by_server;
                    fence.end_round(join.round, PMIX_SUCCESS, false, Mode::open);
                    return;
                }
            }
            if (join.kind == Joined::waits) {
                const auto end = fence.wait(join.round, Deadline::in_ms(60'000));
                if (end.kind == Ended::ended && end.status == PMIX_SUCCESS) return;
                if (end.kind != Ended::by_request) return void(++wrong);
            }
            ++by_request;
            requests.ask();
        };
        for (int round = 1; round <= kRounds && wrong == 0; ++round) {
            written[slot * 16] = round;
            meet(round);
            for (uint32_t other = 0; other < kProcesses; ++other)
                if (written[other * 16] != round) ++wrong;
            meet(round);  // nobody writes the next number before all have read
        }
    };
    std::thread server([&] {
        while (!done) {
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
            std::lock_guard lock(server_is_one_thread);
            if (memory.state().mode == Mode::open) memory.turn_to_requests();
        }
    });
    std::vector<std::thread> processes;
    for (uint32_t slot = 0; slot < kProcesses; ++slot) processes.emplace_back(process, slot);
    for (std::thread& one : processes) one.join();
    done = true;
    server.join();
    EXPECT_EQ(wrong, 0);
    EXPECT_GT(by_server, 0);
    RecordProperty("by_request", by_request);
}

}  // namespace
}  // namespace pmix::transport

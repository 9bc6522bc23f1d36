// SPDX-License-Identifier: BSD-3-Clause
// Many rounds of fences in memory by several threads, with a server that ends some and makes others rounds of requests:
// nobody leaves a round before all have joined, what was written before a fence is read after it, and nobody is left
// behind. And commits that are left for a server which looks now and then.
#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <mutex>
#include <thread>
#include <vector>

#include "transport/memory/fence_memory.h"

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
    std::vector<uint32_t> found(kProcesses, ~0u);  // by the server: the last round that it turned and each has joined

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
                std::lock_guard lock(server_is_one_thread);
                if (found[slot] != join.round) ++wrong;
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
            if (memory.state().mode != Mode::open) continue;
            memory.turn_to_requests();
            const auto state = memory.state();
            if (state.mode != Mode::by_request) continue;  // all had joined, and the last one waits for the lock
            uint32_t joined = 0;
            for (uint32_t slot = 0; slot < kProcesses; ++slot) {
                if (!memory.has_joined(slot, state.round)) continue;
                found[slot] = state.round;
                ++joined;
            }
            if (joined < state.joined) ++wrong;
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

// What goes by the socket here: a queue that the server empties behind the mailbox.
struct Sent {
    std::mutex mutex;
    std::vector<uint32_t> commits;
    std::atomic<uint32_t> read{0};  // the newest one that the server has read, either way
};

// Each commit reaches the server once, whole and in order, however often it stops looking.
TEST(FenceMemoryStress, CommitsThatAreLeft_AreTakenOnceAndInOrder) {
    constexpr uint32_t kCommits = 20'000;
    using Watch = CommitMailboxes::Watch;
    auto created = FenceMemory::create(kProcesses);
    ASSERT_TRUE(created.ok());
    CommitMailboxes& mailboxes = created.value()->mailboxes();
    Sent sent[kProcesses];
    std::atomic<uint32_t> left{0}, over{0}, wrong{0};

    const auto process = [&](uint32_t slot) {
        uint32_t last_left = 0;
        for (uint32_t number = 1; number <= kCommits; ++number) {
            uint32_t copies[32];
            for (uint32_t& one : copies) one = number;
            const common::Bytes part(reinterpret_cast<const uint8_t*>(copies), sizeof copies);
            const bool in_order = last_left == number - 1 || sent[slot].read.load() == number - 1;
            if (in_order && mailboxes.leave(slot, {&part, 1})) {
                last_left = number;
                ++left;
                continue;
            }
            {
                const std::lock_guard lock(sent[slot].mutex);
                sent[slot].commits.push_back(number);
            }
            // As a fence does it.
            while (number % 4 == 0 && sent[slot].read.load() != number) std::this_thread::yield();
        }
        ++over;
    };
    const auto reads = [&](uint32_t slot, uint32_t number) {
        if (number != sent[slot].read.load() + 1) ++wrong;
        sent[slot].read = number;
    };
    const auto take = [&](uint32_t slot) {
        uint8_t buffer[CommitMailboxes::kMostBytes];
        const auto taken = mailboxes.take(slot, CommitMailboxes::Buffer(buffer));
        if (!taken) return;
        uint32_t copies[32] = {};
        if (taken->size() != sizeof copies) return void(++wrong);
        std::memcpy(copies, taken->data(), sizeof copies);
        for (const uint32_t one : copies)
            if (one != copies[0]) ++wrong;
        reads(slot, copies[0]);
    };
    std::thread server([&] {
        for (uint32_t look = 0;; ++look) {
            const bool last = over == kProcesses;
            mailboxes.set_watch(look % 3 == 0 ? Watch::closed : look % 3 == 1 ? Watch::idle : Watch::looks);
            for (uint32_t slot = 0; slot < kProcesses; ++slot) {
                take(slot);
                std::vector<uint32_t> commits;
                {
                    const std::lock_guard lock(sent[slot].mutex);
                    // What was left before these were sent.
                    take(slot);
                    commits.swap(sent[slot].commits);
                }
                for (const uint32_t number : commits) reads(slot, number);
            }
            if (last) break;
            std::this_thread::yield();
        }
    });
    std::vector<std::thread> processes;
    for (uint32_t slot = 0; slot < kProcesses; ++slot) processes.emplace_back(process, slot);
    for (std::thread& one : processes) one.join();
    server.join();
    EXPECT_EQ(wrong, 0u);
    for (const Sent& one : sent) EXPECT_EQ(one.read, kCommits);
    EXPECT_GT(left, 0u);
    RecordProperty("left", left);
}

}  // namespace
}  // namespace pmix::transport

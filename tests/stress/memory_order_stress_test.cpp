// SPDX-License-Identifier: BSD-3-Clause
// The orders of docs/design/memory-order.md, one test each, with threads that are stopped at random instructions: a
// thread of its own sends signals whose handler lasts some microseconds. What a test looks for is the outcome that the
// orders forbid.
#include <gtest/gtest.h>
#include <pthread.h>
#include <signal.h>
#include <time.h>

#include <array>
#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <random>
#include <thread>
#include <vector>

#include "client/state/read_guard.h"
#include "dstore/private_store.h"
#include "support/sanitizers.h"
#include "support/store_values.h"

namespace pmix::dstore {
namespace {

using namespace test;

#if defined(UNDER_ASAN) || defined(UNDER_TSAN)
constexpr auto kDuration = std::chrono::milliseconds(1500);
#else
constexpr auto kDuration = std::chrono::milliseconds(700);
#endif

// The handler: waits a little, in which the others go on. Async-signal-safe.
void stand_still(int) {
    thread_local uint32_t state = 88172645;
    state ^= state << 13;
    state ^= state >> 17;
    state ^= state << 5;
    timespec pause{0, static_cast<long>(state % 64) * 1000};
    nanosleep(&pause, nullptr);
}

// For a machine on which a thread may not run at all within kDuration.
constexpr auto kLongest = std::chrono::seconds(120);

// Runs each function again and again in a thread of its own, stopping the threads, until the time is over and as much
// has happened as the test needs to say something, or one answers false. Answers whether none did.
bool run_with_stops(const std::vector<std::function<bool()>>& loops, const std::function<bool()>& enough) {
    struct sigaction action {
    }, before{};
    action.sa_handler = &stand_still;
    action.sa_flags = SA_RESTART;
    sigaction(SIGUSR2, &action, &before);
    std::atomic<bool> stop{false}, good{true};
    std::atomic<size_t> running{0};
    std::vector<std::thread> threads;
    std::vector<pthread_t> ids;
    for (const auto& loop : loops) {
        threads.emplace_back([&] {
            running.fetch_add(1);
            while (!stop.load(std::memory_order_relaxed)) {
                if (!loop()) good = false;
            }
        });
        ids.push_back(threads.back().native_handle());
    }
    while (running.load() != loops.size()) std::this_thread::yield();
    std::mt19937 random(7);
    const auto begun = std::chrono::steady_clock::now();
    const auto goes_on = [&] {
        const auto lasted = std::chrono::steady_clock::now() - begun;
        return lasted < kDuration || (lasted < kLongest && !enough());
    };
    while (good.load() && goes_on()) {
        pthread_kill(ids[random() % ids.size()], SIGUSR2);
        std::this_thread::sleep_for(std::chrono::microseconds(random() % 50));
    }
    stop = true;
    for (std::thread& t : threads) t.join();
    sigaction(SIGUSR2, &before, nullptr);
    return good.load();
}

// Order 1: a reader that sees a reference sees the bytes and the size behind it; and what one thread found another
// finds too. With a small reservation the segment is mapped again meanwhile.
void readers_of_a_reference(uint64_t reservation) {
    WriterOptions options;
    options.reservation = reservation;
    auto w = make_writer(options);
    w->add_local(0);
    const Reader& r = w->reader();
    uint32_t written = 0;
    std::atomic<uint32_t> seen{0};
    auto read = [&] {
        const uint32_t others = seen.load(std::memory_order_acquire);
        Found f;
        const pmix_status_t rc = r.find(Owner::proc(0), Key("hot"), f);
        if (rc == PMIX_ERR_NOT_FOUND) return others == 0;
        uint32_t n = 0;
        if (rc != PMIX_SUCCESS || !told(f.bytes(), &n) || n < others) return false;
        uint32_t before = others;
        while (before < n && !seen.compare_exchange_weak(before, n, std::memory_order_acq_rel)) {
        }
        return true;
    };
    auto write = [&] {
        if (written == 20'000) return true;
        ++written;
        const Buffer v = telling(written);
        const Records commit = Records().add("hot", v).add("other." + std::to_string(written % 8), v);
        return w->commit(0, commit.list()).ok();
    };
    EXPECT_TRUE(run_with_stops({read, write, read}, [&] { return seen.load() > 0; }));
    EXPECT_GT(seen.load(), 0u);
}

TEST(MemoryOrder, Publication_ReferenceSeen_BytesAreThere) {
    readers_of_a_reference(1 << 20);
}

TEST(MemoryOrder, Publication_ReferenceSeenInTheOnlyMapping_BytesAreThere) {
    readers_of_a_reference(1 << 30);
}

// Order 2: a value that a reader holds is not freed, however often it is replaced meanwhile.
TEST(MemoryOrder, PrivateValue_ReplacedWhileHeld_IsNotFreed) {
    PrivateStore s;
    const auto ns = s.intern("job");
    uint32_t written = 0;
    size_t before = 0;
    std::atomic<uint32_t> held{0}, freed{0};
    auto read = [&] {
        const auto hit = s.find(ns, 0, Key("hot"));
        if (!hit) return true;
        uint32_t first = 0, again = 0;
        if (!told(hit.bytes(), &first)) return false;
        std::this_thread::yield();
        held.fetch_add(1, std::memory_order_relaxed);
        return told(hit.bytes(), &again) && again == first;
    };
    auto write = [&] {
        s.put(ns, 0, Key("hot"), PMIX_GLOBAL, telling(++written));
        s.take_staged([](std::string_view, pmix_scope_t, common::Bytes) {});
        const size_t after = s.bytes();
        if (after <= before) freed.fetch_add(1, std::memory_order_relaxed);
        before = after;
        return true;
    };
    EXPECT_TRUE(run_with_stops({read, write, read}, [&] { return held.load() > 0 && freed.load() > 0; }));
    EXPECT_GT(held.load(), 0u);
    // What was replaced has been freed on the way, and all of it once nobody is inside. How much on the way, nobody can
    // say: a reader that does not run keeps what was replaced meanwhile.
    EXPECT_GT(freed.load(), 0u);
    for (int i = 0; i < 3; ++i) write();
    EXPECT_LT(s.bytes(), 100'000u);
}

// What readers of orders 3 and 4 look at: something that is "unmapped" by writing over it.
struct Mapped {
    std::atomic<uint64_t> word{1};
};

// Order 3: what is removed stays until those that were inside have left.
TEST(MemoryOrder, Removal_AReaderInside_IsWaitedFor) {
    std::array<Mapped, 64> all;
    std::atomic<Mapped*> present{&all[0]};
    std::atomic<size_t> next{0};
    std::atomic<uint32_t> read_some{0};
    auto read = [&] {
        client::Reading guard;
        const Mapped* m = present.load(std::memory_order_acquire);
        for (int i = 0; i < 20; ++i) {
            if (m->word.load(std::memory_order_relaxed) != 1) return false;
        }
        read_some.fetch_add(1, std::memory_order_relaxed);
        return true;
    };
    std::atomic<bool> possible{true};
    auto remove = [&] {
        Mapped* const gone = present.load(std::memory_order_relaxed);
        Mapped* const fresh = &all[++next % all.size()];
        fresh->word.store(1, std::memory_order_relaxed);
        present.store(fresh, std::memory_order_seq_cst);
        client::GracePeriod period;
        period.begin();
        // Over at some time, unless the kernel has no membarrier: then it stays mapped.
        const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
        while (!period.over()) {
            if (std::chrono::steady_clock::now() > end) return possible = false, true;
            std::this_thread::yield();
        }
        gone->word.store(0, std::memory_order_relaxed);
        return true;
    };
    EXPECT_TRUE(run_with_stops({read, remove, read}, [&] { return !possible || (read_some > 0 && next > 10); }));
    EXPECT_TRUE(possible.load());
    EXPECT_GT(read_some.load(), 0u);
    EXPECT_GT(next.load(), 10u);
}

// Order 4: a thread that reads for the first time is either known to the remover, or does not find what was removed.
TEST(MemoryOrder, Removal_AThreadReadsForTheFirstTime_DoesNotFindIt) {
    std::array<Mapped, 64> all;
    std::atomic<Mapped*> present{&all[0]};
    std::atomic<bool> good{true};
    std::atomic<size_t> next{0};
    auto first_read = [&] {
        std::thread([&] {
            client::Reading guard;
            const Mapped* m = present.load(std::memory_order_acquire);
            for (int i = 0; i < 20; ++i) {
                if (m->word.load(std::memory_order_relaxed) != 1) good = false;
            }
        }).join();
        return good.load();
    };
    auto remove = [&] {
        Mapped* const gone = present.load(std::memory_order_relaxed);
        Mapped* const fresh = &all[++next % all.size()];
        fresh->word.store(1, std::memory_order_relaxed);
        present.store(fresh, std::memory_order_seq_cst);
        client::GracePeriod period;
        period.begin();
        while (!period.over()) std::this_thread::yield();
        gone->word.store(0, std::memory_order_relaxed);
        return true;
    };
    EXPECT_TRUE(run_with_stops({first_read, remove}, [&] { return next > 10; }));
    EXPECT_GT(next.load(), 10u);
}

}  // namespace
}  // namespace pmix::dstore

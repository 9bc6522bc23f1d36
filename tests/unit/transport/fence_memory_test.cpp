// SPDX-License-Identifier: BSD-3-Clause
// The memory for fences: joins, ends, requests, what is refused of a descriptor, and words that make no sense.
#include "transport/memory/fence_memory.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <fstream>
#include <string>
#include <thread>

#include "support/long_wait.h"
#include "support/status.h"

namespace pmix::transport::fence_memory_test {
namespace {

using Joined = FenceMemory::Joined::Kind;
using Ended = FenceMemory::End::Kind;
using Mode = FenceMemory::Mode;

constexpr size_t kWordAt = 64;

std::unique_ptr<FenceMemory> created(uint32_t processes) {
    auto made = FenceMemory::create(processes);
    EXPECT_TRUE(made.ok());
    return std::move(made).value();
}
std::unique_ptr<FenceMemory> taken(const FenceMemory& from, uint32_t processes) {
    auto made = FenceMemory::take_over(Descriptor(::dup(from.descriptor())), processes);
    EXPECT_TRUE(made.ok());
    return std::move(made).value();
}
void open(FenceMemory& memory) {
    memory.end_round(memory.state().round, PMIX_SUCCESS, false, Mode::open);
}
Deadline in_a_moment() {
    return Deadline::in_ms(20);
}
Deadline long_from_now() {
    return Deadline::in_ms(60'000);
}

// The same pages, to write into as a process that means no good.
class Scribbler {
  public:
    explicit Scribbler(const FenceMemory& memory)
        : at_(::mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, memory.descriptor(), 0)) {
        EXPECT_NE(at_, MAP_FAILED);
    }
    ~Scribbler() { ::munmap(at_, 4096); }
    void set_word(uint64_t word) { std::memcpy(static_cast<char*>(at_) + kWordAt, &word, sizeof word); }
    void set_magic(uint32_t magic) { std::memcpy(at_, &magic, sizeof magic); }

  private:
    void* at_;
};

// A thread that waits for the end of a round, asleep once this is made. Who is not woken sleeps for longer than the
// test waits for it.
class Sleeper {
  public:
    Sleeper(const FenceMemory& memory, uint32_t round)
        : thread_([this, &memory, round] {
              thread_id_ = ::gettid();
              end_ = memory.wait(round, Deadline::in_ms(3 * kMostMs));
              done_ = true;
          }) {
        const test::LongWait most;
        while (!asleep() && !most.over()) std::this_thread::yield();
        EXPECT_FALSE(done_);
    }
    ~Sleeper() { thread_.join(); }
    Ended woken() const {
        const test::LongWait most(kMostMs);
        while (!done_ && !most.over()) std::this_thread::yield();
        EXPECT_TRUE(done_) << "nobody woke it";
        return done_ ? end_.kind : Ended::late;
    }

  private:
    static constexpr int64_t kMostMs = 20'000;
    bool asleep() const {
        if (thread_id_ == 0) return false;
        std::ifstream file("/proc/self/task/" + std::to_string(thread_id_) + "/stat");
        std::string line;
        std::getline(file, line);
        const size_t name = line.rfind(')');
        return name != line.npos && line.compare(name, 4, ") S ") == 0;
    }
    FenceMemory::End end_;
    std::atomic<pid_t> thread_id_{0};
    std::atomic<bool> done_{false};
    std::thread thread_;
};

TEST(FenceMemory, Create_IsSealedInSize) {
    const auto memory = created(3);
    EXPECT_EQ(memory->processes(), 3u);
    EXPECT_NE(::ftruncate(memory->descriptor(), 0), 0);
    EXPECT_NE(::ftruncate(memory->descriptor(), 1 << 20), 0);
    EXPECT_EQ(memory->state().mode, Mode::by_request);
    EXPECT_EQ(memory->state().joined, 0u);
}

TEST(FenceMemory, Create_InALaterRound_GoesOnFromThere) {
    constexpr uint32_t kLast = (1u << 30) - 1;  // of the numbers
    auto memory = std::move(FenceMemory::create(1, kLast)).value();
    EXPECT_EQ(memory->state().round, kLast);
    EXPECT_EQ(memory->state().mode, Mode::by_request);
    open(*memory);
    EXPECT_EQ(memory->state().round, 0u);
    EXPECT_EQ(taken(*memory, 1)->join(0, false, false, 0).round, 0u);
    EXPECT_TRUE(FenceMemory::is_before(kLast, 0));
    EXPECT_TRUE(FenceMemory::is_before(4, 5));
    EXPECT_FALSE(FenceMemory::is_before(0, kLast));
    EXPECT_FALSE(FenceMemory::is_before(5, 5));
    EXPECT_FALSE(FenceMemory::is_before(6, 5));
}

TEST(FenceMemory, Create_ForNobodyOrTooMany_IsRefused) {
    EXPECT_STATUS(PMIX_ERR_BAD_PARAM, FenceMemory::create(0).status());
    EXPECT_STATUS(PMIX_ERR_BAD_PARAM, FenceMemory::create(FenceMemory::kMaxProcesses + 1).status());
    const auto most = created(FenceMemory::kMaxProcesses);
    open(*most);
    EXPECT_EQ(taken(*most, FenceMemory::kMaxProcesses)->join(FenceMemory::kMaxProcesses - 1, false, false, 0).kind,
              Joined::waits);
}

TEST(FenceMemory, TakeOver_OfAnythingElse_IsRefused) {
    const auto memory = created(2);
    const auto refused = [](int fd, uint32_t processes) {
        return FenceMemory::take_over(Descriptor(fd), processes).status();
    };
    EXPECT_STATUS(PMIX_ERR_NOT_SUPPORTED, refused(-1, 2));
    EXPECT_STATUS(PMIX_ERR_NOT_SUPPORTED, refused(::dup(memory->descriptor()), 0));
    EXPECT_STATUS(PMIX_ERR_NOT_SUPPORTED, refused(::dup(memory->descriptor()), 3)) << "it is for two";
    EXPECT_STATUS(PMIX_ERR_NOT_SUPPORTED, refused(::dup(memory->descriptor()), 5000)) << "it is shorter";
    EXPECT_STATUS(PMIX_ERR_NOT_SUPPORTED, refused(::open("/dev/null", O_RDWR | O_CLOEXEC), 2));
    const int unsealed = ::memfd_create("unsealed", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    struct stat sealed {};
    ASSERT_EQ(::fstat(memory->descriptor(), &sealed), 0);
    std::string same(static_cast<size_t>(sealed.st_size), '\0');
    ASSERT_EQ(::pread(memory->descriptor(), same.data(), same.size(), 0), sealed.st_size);
    ASSERT_EQ(::pwrite(unsealed, same.data(), same.size(), 0), sealed.st_size);
    EXPECT_STATUS(PMIX_ERR_NOT_SUPPORTED, refused(unsealed, 2)) << "its owner could cut it off";
    Scribbler(*memory).set_magic(1);
    EXPECT_STATUS(PMIX_ERR_NOT_SUPPORTED, refused(::dup(memory->descriptor()), 2));
}

TEST(FenceMemory, Join_BeforeItIsOpen_IsRefused) {
    const auto memory = created(1);
    EXPECT_EQ(memory->join(0, false, false, 0).kind, Joined::refused);
    open(*memory);
    EXPECT_EQ(memory->join(1, false, false, 0).kind, Joined::refused) << "no such place";
    EXPECT_EQ(memory->join(0, false, false, 0).kind, Joined::ended);
}

TEST(FenceMemory, LastJoin_EndsTheRoundForAll) {
    const auto server = created(3);
    open(*server);
    const auto a = taken(*server, 3), b = taken(*server, 3), c = taken(*server, 3);
    const auto first = a->join(0, false, false, 0);
    EXPECT_EQ(first.kind, Joined::waits);
    EXPECT_EQ(first.round, 1u);
    EXPECT_EQ(a->wait(first.round, in_a_moment()).kind, Ended::late);
    EXPECT_EQ(b->join(1, false, true, 0).kind, Joined::waits);
    EXPECT_EQ(server->state().joined, 2u);
    EXPECT_TRUE(server->state().collect);
    EXPECT_EQ(c->join(2, false, false, 0).kind, Joined::ended);
    for (const auto& one : {&a, &b}) {
        const auto end = (*one)->wait(first.round, in_a_moment());
        EXPECT_EQ(end.kind, Ended::ended);
        EXPECT_STATUS(PMIX_SUCCESS, end.status);
        EXPECT_FALSE(end.ask);
    }
    EXPECT_EQ(server->state().round, 2u);
    EXPECT_EQ(server->state().joined, 0u);
    EXPECT_FALSE(server->state().collect);
    EXPECT_EQ(server->state().mode, Mode::open);
}

TEST(FenceMemory, LastJoin_WakesWhoSleeps) {
    const auto server = created(3);
    open(*server);
    const auto a = taken(*server, 3), b = taken(*server, 3);
    const uint32_t round = a->join(0, false, false, 0).round;
    b->join(1, false, false, 0);
    Sleeper first(*a, round), second(*b, round);
    EXPECT_EQ(server->join(2, false, false, 0).kind, Joined::ended);
    EXPECT_EQ(first.woken(), Ended::ended);
    EXPECT_EQ(second.woken(), Ended::ended);
}

TEST(FenceMemory, WhatTheServerHasToDo_IsEndedByIt) {
    const auto server = created(2);
    open(*server);
    const auto a = taken(*server, 2), b = taken(*server, 2);
    const uint32_t round = a->join(0, true, true, 7).round;
    EXPECT_EQ(b->join(1, false, false, 9).kind, Joined::last_to_server);
    EXPECT_EQ(server->state().mode, Mode::at_server);
    EXPECT_TRUE(server->state().collect);
    EXPECT_EQ(server->commits(0), 7u);
    EXPECT_EQ(server->commits(1), 9u);
    EXPECT_EQ(a->wait(round, in_a_moment()).kind, Ended::late);
    EXPECT_EQ(a->join(0, false, false, 0).kind, Joined::refused) << "the round is not over";
    server->end_round(round, PMIX_ERR_TIMEOUT, true, Mode::open);
    const auto end = a->wait(round, in_a_moment());
    EXPECT_EQ(end.kind, Ended::ended);
    EXPECT_STATUS(PMIX_ERR_TIMEOUT, end.status);
    EXPECT_TRUE(end.ask);
    // The next round's end does not touch what this one left.
    EXPECT_EQ(a->join(0, false, false, 7).kind, Joined::waits);
    EXPECT_STATUS(PMIX_ERR_TIMEOUT, b->wait(round, in_a_moment()).status);
}

TEST(FenceMemory, ServerTakesPart_EveryRoundGoesToIt) {
    const auto server = created(1);
    server->set_server_takes_part(true);
    open(*server);
    EXPECT_EQ(server->join(0, false, false, 0).kind, Joined::last_to_server);
    server->end_round(server->state().round, PMIX_SUCCESS, false, Mode::open);
    server->set_server_takes_part(false);
    EXPECT_EQ(server->join(0, false, false, 0).kind, Joined::ended);
}

TEST(FenceMemory, TurnToRequests_WakesWhoWaits) {
    const auto server = created(2);
    open(*server);
    const auto a = taken(*server, 2);
    const auto join = a->join(0, false, false, 0);
    {
        Sleeper waits(*a, join.round);
        server->turn_to_requests();
        EXPECT_EQ(waits.woken(), Ended::by_request);
    }
    server->turn_to_requests();  // again
    EXPECT_EQ(server->state().round, join.round);
    EXPECT_EQ(a->join(0, false, false, 0).kind, Joined::refused);
    open(*server);
    EXPECT_EQ(a->join(0, false, false, 0).round, join.round + 1);
}

TEST(FenceMemory, TurnToRequests_WhoHasJoinedIsKnown) {
    const auto server = created(3);
    open(*server);
    const auto a = taken(*server, 3), c = taken(*server, 3);
    const uint32_t round = a->join(0, false, true, 0).round;
    c->join(2, false, false, 0);
    server->turn_to_requests();
    EXPECT_TRUE(server->has_joined(0, round));
    EXPECT_FALSE(server->has_joined(1, round));
    EXPECT_TRUE(server->has_joined(2, round));
    EXPECT_FALSE(server->has_joined(3, round)) << "no such place";
    EXPECT_FALSE(server->has_joined(0, round + 1));
    EXPECT_TRUE(server->state().collect) << "one of them has asked for data";
    EXPECT_EQ(server->state().joined, 2u);
    open(*server);
    EXPECT_FALSE(server->state().collect);
    EXPECT_FALSE(server->has_joined(0, round + 1));
    EXPECT_EQ(server->join(1, false, false, 0).kind, Joined::waits);
}

// One that is about to join when the round is turned says so: the server may have counted it.
TEST(FenceMemory, TurnedWhileAProcessJoins_IsAskedForThatRound) {
    const auto server = created(1000);
    open(*server);
    const uint32_t round = server->state().round;
    std::atomic<bool> stop{false};
    std::thread writes([&] {
        Scribbler scribbler(*server);
        for (uint64_t i = 0; !stop; ++i)
            scribbler.set_word(uint64_t{round} << 34 | (i % 2 == 0 ? uint64_t{1} << 32 : 0));
    });
    const test::LongWait most;
    FenceMemory::Joined join;
    while (join.kind != Joined::turned && !most.over()) join = server->join(0, false, false, 0);
    stop = true;
    writes.join();
    EXPECT_EQ(join.kind, Joined::turned);
    EXPECT_TRUE(server->has_joined(0, join.round));
}

// It has joined and ends its call without the others: they are to ask, not to end the round with it.
TEST(FenceMemory, Leave_TurnsItsRound) {
    const auto server = created(2);
    open(*server);
    const auto a = taken(*server, 2), b = taken(*server, 2);
    const uint32_t round = a->join(0, false, false, 0).round;
    a->leave(round + 1);
    EXPECT_EQ(server->state().mode, Mode::open) << "another round";
    {
        Sleeper waits(*a, round);
        b->leave(round);
        EXPECT_EQ(waits.woken(), Ended::by_request);
    }
    EXPECT_EQ(b->join(1, false, false, 0).kind, Joined::refused);
    EXPECT_TRUE(server->has_joined(0, round));
    // One that all have joined is the server's.
    open(*server);
    a->join(0, true, false, 0);
    b->join(1, false, false, 0);
    a->leave(round + 1);
    EXPECT_EQ(server->state().mode, Mode::at_server);
}

TEST(FenceMemory, EndRound_WakesWhoWaits) {
    const auto server = created(2);
    server->set_server_takes_part(true);
    open(*server);
    const auto a = taken(*server, 2), b = taken(*server, 2);
    const auto join = a->join(0, false, false, 0);
    std::atomic<int> ended{0};
    const auto wait = [&](FenceMemory& one) {
        const auto end = one.wait(join.round, long_from_now());
        if (end.kind == Ended::ended && end.status == PMIX_ERR_PARTIAL_SUCCESS) ++ended;
    };
    std::thread first([&] { wait(*a); });
    EXPECT_EQ(b->join(1, false, false, 0).kind, Joined::last_to_server);
    std::thread second([&] { wait(*b); });
    server->end_round(join.round, PMIX_ERR_PARTIAL_SUCCESS, false, Mode::by_request);
    first.join();
    second.join();
    EXPECT_EQ(ended, 2);
}

TEST(FenceMemory, RoundsBeginAnewAfterTheLastNumber) {
    const auto server = created(1);
    const uint64_t last = (uint64_t{1} << 30) - 1;
    Scribbler(*server).set_word(last << 34);
    EXPECT_EQ(server->state().round, last);
    EXPECT_EQ(server->join(0, false, false, 0).kind, Joined::ended);
    EXPECT_EQ(server->state().round, 0u);
    EXPECT_EQ(server->wait(static_cast<uint32_t>(last), in_a_moment()).kind, Ended::ended);
    Scribbler(*server).set_word(last << 34);
    server->end_round(static_cast<uint32_t>(last), PMIX_SUCCESS, false, Mode::open);
    EXPECT_EQ(server->state().round, 0u);
}

// Whatever stands there: a process is sent to the server, or waits for no longer than it wants.
TEST(FenceMemory, Nonsense_EndsInARequestOrInTime) {
    const auto server = created(2);
    open(*server);
    Scribbler scribbler(*server);
    const uint64_t round = uint64_t{1} << 34;
    for (const uint64_t low : {uint64_t{2}, uint64_t{0xffff}, uint64_t{0xffff'ffff}}) {
        scribbler.set_word(round | low);
        EXPECT_EQ(server->join(0, false, false, 0).kind, Joined::refused) << low;
    }
    scribbler.set_word(round | uint64_t{3} << 32);  // no such mode
    EXPECT_EQ(server->join(0, false, false, 0).kind, Joined::refused);
    EXPECT_EQ(server->wait(1, in_a_moment()).kind, Ended::late);
    server->turn_to_requests();
    EXPECT_EQ(server->wait(1, in_a_moment()).kind, Ended::by_request);
}

// One that changes the word without end keeps nobody for longer than the deadline.
TEST(FenceMemory, AProcessThatWritesWithoutEnd_KeepsNobody) {
    const auto server = created(2);
    open(*server);
    const uint32_t round = server->join(0, false, false, 0).round;
    std::atomic<bool> stop{false};
    std::thread writes([&] {
        Scribbler scribbler(*server);
        for (uint64_t i = 0; !stop; ++i)
            scribbler.set_word(uint64_t{round} << 34 | (i % 2 == 0 ? uint64_t{2} << 32 : 0));
    });
    const auto end = server->wait(round, in_a_moment());
    EXPECT_EQ(end.kind, Ended::late);
    server->turn_to_requests();  // comes back
    stop = true;
    writes.join();
}

}  // namespace
}  // namespace pmix::transport::fence_memory_test

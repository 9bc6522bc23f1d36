// SPDX-License-Identifier: BSD-3-Clause
// Fences in memory, the server's part: who is given it, rounds that it ends, and what turns them to requests.
#include <sys/mman.h>

#include <cstring>

#include "support/status.h"
#include "unit/server/server_memory_fence_setting.h"

namespace pmix::test::server_memory_fence_test {
namespace {

class ServerMemoryFence : public ::testing::Test, protected MemoryFenceSetting {};

TEST_F(ServerMemoryFence, FirstFence_GivesItToAll) {
    begin_in_memory();
    EXPECT_EQ(a->given, 2u);
    EXPECT_EQ(b->given, 2u);
    EXPECT_EQ(a->slot, 0u);
    EXPECT_EQ(b->slot, 1u);
    EXPECT_EQ(a->join().kind, Joined::waits);
    EXPECT_EQ(b->join().kind, Joined::ended) << "without the server";
}

TEST_F(ServerMemoryFence, IsGivenOnceAndAgainWhereItWasLost) {
    begin_in_memory();
    meet(FenceUse::has, FenceUse::has);
    EXPECT_EQ(a->given, 0u);
    EXPECT_EQ(a->memory->state().mode, Mode::open);
    meet(FenceUse::lacks, FenceUse::has);
    EXPECT_EQ(a->given, 2u);
    EXPECT_EQ(b->given, 0u);
}

TEST_F(ServerMemoryFence, OneThatDoesNotTakeIt_KeepsAllByRequest) {
    begin();
    meet(FenceUse::lacks, FenceUse::none);
    EXPECT_EQ(b->given, 0u);
    meet(FenceUse::has, FenceUse::none);
    ASSERT_TRUE(a->memory);
    EXPECT_EQ(a->memory->state().mode, Mode::by_request);
}

TEST_F(ServerMemoryFence, TurnedOff_IsNotGiven) {
    begin(1, {}, 0);
    meet();
    EXPECT_EQ(a->given, 0u);
    EXPECT_EQ(b->given, 0u);
}

TEST_F(ServerMemoryFence, FencesBeforeTheOneThatBringsIt_DoNot) {
    begin(1, {}, 3);
    for (int fence = 1; fence <= 2; ++fence) {
        meet();
        EXPECT_EQ(a->given, 0u) << fence;
        EXPECT_EQ(b->given, 0u) << fence;
    }
    meet();
    EXPECT_EQ(a->given, 2u);
    EXPECT_EQ(b->given, 2u);
    EXPECT_EQ(a->memory->state().mode, Mode::open);
}

// Processes without the code for it count for nothing.
TEST_F(ServerMemoryFence, FencesOfThoseThatDoNotTakeIt_DoNotBringIt) {
    begin(1, {}, 2);
    for (int fence = 1; fence <= 4; ++fence) meet(FenceUse::none, FenceUse::none);
    meet();
    EXPECT_EQ(a->given, 0u);
    meet();
    EXPECT_EQ(a->given, 2u);
}

TEST_F(ServerMemoryFence, ProcessesOfSeveralUsers_AreNotGivenIt) {
    begin();
    server->add_job("mixed", 2, {});
    server->add_client("mixed", 0);
    server->add_client("mixed", 1, ::geteuid() + 1);
    Rank one(*server, 0, "mixed");
    ASSERT_STATUS(PMIX_SUCCESS, one.hello());
    one.drop_descriptors();
    one.start_request(FenceUse::lacks);
    server->settle();
    const auto* nspace = server->parts().registry.find("mixed");
    ASSERT_NE(nspace, nullptr);
    EXPECT_EQ(server->parts().fence.memories().find(*nspace), nullptr);
}

// What was committed before it can be read after it.
TEST_F(ServerMemoryFence, CommitThatIsUnderWay_IsWaitedFor) {
    begin_in_memory();
    const uint32_t round = a->join(true, 3).round;
    EXPECT_EQ(b->join().kind, Joined::last_to_server);
    b->tell_joined(round);
    server->settle();
    EXPECT_EQ(a->look(round), Ended::late);
    a->commit(2, "old");
    server->settle();
    EXPECT_EQ(a->look(round), Ended::late);
    a->commit(3, "new");
    EXPECT_TRUE(until(Mode::open));
    pmix_status_t status = PMIX_ERROR;
    bool ask = true;
    EXPECT_EQ(b->look(round, &status, &ask), Ended::ended);
    EXPECT_STATUS(PMIX_SUCCESS, status);
    EXPECT_FALSE(ask);
    EXPECT_EQ(host.count("fence"), 0u);
}

// A number of commits that never were holds nobody up: what a process sent before it asks has been read.
TEST_F(ServerMemoryFence, CommitsThatNeverWere_EndWhenAllHaveAsked) {
    begin_in_memory();
    const uint32_t round = a->join(true, 1'000'000).round;
    EXPECT_EQ(b->join().kind, Joined::last_to_server);
    b->tell_joined(round);
    const uint32_t fb = b->start_request(FenceUse::joined, round);
    server->settle();
    pmix_status_t status = PMIX_ERROR;
    EXPECT_FALSE(b->answered(fb, status));
    const uint32_t fa = a->start_request(FenceUse::joined, round);
    EXPECT_STATUS(PMIX_SUCCESS, a->end_request(fa));
    EXPECT_STATUS(PMIX_SUCCESS, b->end_request(fb));
    EXPECT_EQ(a->memory->state().mode, Mode::open);
    EXPECT_EQ(a->memory->state().round, round + 1);
}

// rows: F2 F3 F4
TEST_F(ServerMemoryFence, SeveralNodes_OneUpcallForAll) {
    begin_in_memory(2);
    ASSERT_EQ(host.count("fence"), 1u);
    a->commit(1, "of a");
    const uint32_t round = a->join(true, 1, true).round;
    EXPECT_EQ(b->join().kind, Joined::last_to_server);
    b->tell_joined(round);
    EXPECT_TRUE(until(Mode::open));
    ASSERT_EQ(host.count("fence"), 2u);
    const Seen* seen = host.last("fence");
    EXPECT_EQ(seen->procs, std::vector<ProcId>{kJob});
    EXPECT_TRUE(common::InfoView(seen->infos).flag(PMIX_COLLECT_DATA));
    EXPECT_NE(std::string(seen->blob.begin(), seen->blob.end()).find("of a"), std::string::npos);
    EXPECT_EQ(a->look(round), Ended::ended);
    // Without anything new, too: the others are waited for.
    const uint32_t next = b->join().round;
    EXPECT_EQ(a->join().kind, Joined::last_to_server);
    a->tell_joined(next);
    EXPECT_TRUE(until(Mode::open));
    EXPECT_EQ(host.count("fence"), 3u);
    EXPECT_FALSE(common::InfoView(host.last("fence")->infos).flag(PMIX_COLLECT_DATA));
}

// rows: F5
TEST_F(ServerMemoryFence, ErrorOfTheHost_IsAskedFor) {
    begin_in_memory(2);
    host.statuses["fence"] = PMIX_ERR_TIMEOUT;
    const uint32_t round = a->join().round;
    b->join();
    b->tell_joined(round);
    EXPECT_TRUE(server->run_at_once_until([&] { return a->look(round) == Ended::ended; }));
    pmix_status_t status = PMIX_SUCCESS;
    bool ask = false;
    EXPECT_EQ(b->look(round, &status, &ask), Ended::ended);
    EXPECT_STATUS(PMIX_ERR_TIMEOUT, status);
    EXPECT_TRUE(ask);
    for (Rank* one : {a.get(), b.get()})
        EXPECT_STATUS(PMIX_ERR_TIMEOUT, one->end_request(one->start_request(FenceUse::joined, round)));
    // And a new beginning.
    host.statuses["fence"] = PMIX_SUCCESS;
    EXPECT_EQ(a->memory->state().mode, Mode::by_request);
    meet(FenceUse::has, FenceUse::has);
    EXPECT_EQ(a->memory->state().mode, Mode::open);
}

TEST_F(ServerMemoryFence, AskedWhileTheHostHasIt_IsAnsweredWithIt) {
    const uint32_t round = begin_with_the_host();
    EXPECT_EQ(a->memory->state().mode, Mode::at_server);
    const uint32_t fa = a->start_request(FenceUse::joined, round);
    server->settle();
    pmix_status_t status = PMIX_ERROR;
    EXPECT_FALSE(a->answered(fa, status));
    host.answer_waiting();
    EXPECT_STATUS(PMIX_SUCCESS, a->end_request(fa));
    EXPECT_EQ(b->look(round), Ended::ended);
    EXPECT_EQ(host.count("fence"), 2u);
}

// A fence that goes by request takes the others, which wait in memory, along.
TEST_F(ServerMemoryFence, RequestOfAnother_TakesAllAlong) {
    begin_in_memory();
    const uint32_t round = a->join().round;
    const uint32_t fb = b->start_request(FenceUse::has);
    server->settle();
    bool ask = false;
    EXPECT_EQ(a->look(round, nullptr, &ask), Ended::ended);
    EXPECT_TRUE(ask);
    const uint32_t fa = a->start_request(FenceUse::joined, round);
    EXPECT_STATUS(PMIX_SUCCESS, a->end_request(fa));
    EXPECT_STATUS(PMIX_SUCCESS, b->end_request(fb));
    EXPECT_EQ(a->memory->state().mode, Mode::open);
    EXPECT_EQ(a->memory->state().round, round + 1);
}

// It is late to ask: the others have met, in memory, with it.
TEST_F(ServerMemoryFence, AskedForARoundThatIsOver_IsAnsweredAtOnce) {
    begin_in_memory();
    const uint32_t round = a->join().round;
    EXPECT_EQ(b->join().kind, Joined::ended);
    EXPECT_STATUS(PMIX_SUCCESS, a->end_request(a->start_request(FenceUse::joined, round)));
    EXPECT_EQ(a->memory->state().mode, Mode::open) << "nothing else comes of it";
    EXPECT_EQ(a->memory->state().joined, 0u);
}

// A process with two threads: one sleeps in memory through the round that its join counts in, and the other one's
// fence is the next.
TEST_F(ServerMemoryFence, SleptThroughARoundByRequest_IsToldToAsk) {
    begin_in_memory();
    const uint32_t round = a->join().round;
    const uint32_t other = a->start_request(FenceUse::has);
    EXPECT_STATUS(PMIX_SUCCESS, b->end_request(b->start_request(FenceUse::has))) << "both are in the first round";
    pmix_status_t status = PMIX_ERROR;
    EXPECT_FALSE(a->answered(other, status));
    meet_by_request(*b, other);
    EXPECT_EQ(a->memory->state().mode, Mode::open);
    bool ask = false;
    ASSERT_EQ(a->look(round, nullptr, &ask), Ended::ended);
    EXPECT_TRUE(ask);
    // It takes part in nothing else, though a round has been turned since.
    EXPECT_EQ(b->join().kind, Joined::waits);
    const uint32_t third = a->start_request(FenceUse::has);
    EXPECT_STATUS(PMIX_SUCCESS, a->end_request(third));
    EXPECT_STATUS(PMIX_SUCCESS, a->end_request(a->start_request(FenceUse::joined, round)));
    // Once: a further request takes part in the next one.
    const uint32_t again = a->start_request(FenceUse::joined, round);
    server->settle();
    EXPECT_FALSE(a->answered(again, status)) << "a round before the last that was turned";
}

// The others go on with it, however long it takes to ask. rows: F2 F12
TEST_F(ServerMemoryFence, JoinedAndStopped_Counts) {
    begin_in_memory();
    const uint32_t round = a->join().round;
    EXPECT_STATUS(PMIX_SUCCESS, b->end_request(b->start_request(FenceUse::has)));
    EXPECT_EQ(a->memory->state().mode, Mode::open);
    EXPECT_EQ(b->join().kind, Joined::waits);
    bool ask = false;
    ASSERT_EQ(a->look(round, nullptr, &ask), Ended::ended);
    EXPECT_TRUE(ask);
    EXPECT_STATUS(PMIX_SUCCESS, a->end_request(a->start_request(FenceUse::joined, round)));
    EXPECT_EQ(a->memory->state().mode, Mode::open) << "its answer disturbs nobody";
    EXPECT_EQ(a->join().kind, Joined::ended);
}

// rows: F8
TEST_F(ServerMemoryFence, JoinedAndDead_Counts) {
    begin_in_memory();
    a->join();
    a->kill();
    EXPECT_STATUS(PMIX_SUCCESS, b->end_request(b->start_request(FenceUse::has)));
    EXPECT_STATUS(PMIX_ERR_PARTIAL_SUCCESS, b->end_request(b->start_request(FenceUse::has))) << "not in the next one";
}

// The same of one that finalizes in another thread meanwhile.
TEST_F(ServerMemoryFence, JoinedAndFinalized_Counts) {
    begin_in_memory();
    a->join();
    common::FinalizeRequest over;
    EXPECT_STATUS(PMIX_SUCCESS, a->wait_at_once(a->start<Command::finalize>(over))->header.status);
    EXPECT_STATUS(PMIX_SUCCESS, b->end_request(b->start_request(FenceUse::has)));
}

// Its data is what the others wait for: it counts when that is here, and its own request may come later yet.
TEST_F(ServerMemoryFence, JoinedWithACommitUnderWay_CountsWhenThatIsHere) {
    begin_in_memory(2);
    const uint32_t round = a->join(true, 2, true).round;
    const uint32_t fb = b->start_request(FenceUse::has);
    a->commit(1, "old");
    server->settle();
    pmix_status_t status = PMIX_ERROR;
    EXPECT_FALSE(b->answered(fb, status));
    a->commit(2, "new");
    EXPECT_STATUS(PMIX_SUCCESS, b->end_request(fb));
    const Seen* seen = host.last("fence");
    EXPECT_TRUE(common::InfoView(seen->infos).flag(PMIX_COLLECT_DATA)) << "it has asked for that";
    EXPECT_NE(std::string(seen->blob.begin(), seen->blob.end()).find("new"), std::string::npos);
    EXPECT_STATUS(PMIX_SUCCESS, a->end_request(a->start_request(FenceUse::joined, round)));
    EXPECT_EQ(host.count("fence"), 2u);
}

// The commit that it claims is never sent: it counts when it asks.
TEST_F(ServerMemoryFence, JoinedWithACommitThatNeverWas_CountsWhenItAsks) {
    begin_in_memory();
    const uint32_t round = a->join(true, 1'000'000).round;
    const uint32_t fb = b->start_request(FenceUse::has);
    server->settle();
    const uint32_t fa = a->start_request(FenceUse::joined, round);
    EXPECT_STATUS(PMIX_SUCCESS, a->end_request(fa));
    EXPECT_STATUS(PMIX_SUCCESS, b->end_request(fb));
    a->commit(1'000'000, "late");
    const uint32_t next = b->start_request(FenceUse::has);
    server->settle();
    pmix_status_t status = PMIX_ERROR;
    EXPECT_FALSE(b->answered(next, status)) << "it has not joined this one";
}

// Nor does it count where its connection ends before they have come.
TEST_F(ServerMemoryFence, DeadBeforeItsCommitIsHere_DoesNotCount) {
    begin_in_memory();
    a->join(true, 1);
    const uint32_t fb = b->start_request(FenceUse::has);
    server->settle();
    a->kill();
    EXPECT_STATUS(PMIX_ERR_PARTIAL_SUCCESS, b->end_request(fb));
}

// The round ends without it, which is its answer too.
TEST_F(ServerMemoryFence, CommitComesAfterTheRoundHasFailed_IsThatStatus) {
    begin_in_memory();
    const uint32_t round = a->join(true, 1).round;
    common::FenceRequest hurried;
    hurried.memory = FenceUse::has;
    common::InfoList infos;
    infos.append_number<int>(PMIX_TIMEOUT, 1, PMIX_INT);
    hurried.infos = common::Infos::borrow(infos.c_array(), infos.size());
    const uint32_t fb = b->start<Command::fence>(hurried);
    pmix_status_t status = PMIX_SUCCESS;
    ASSERT_TRUE(server->turn_until([&] { return b->answered(fb, status); }));
    EXPECT_STATUS(PMIX_ERR_TIMEOUT, status);
    a->commit(1, "late");
    server->settle();
    EXPECT_STATUS(PMIX_ERR_TIMEOUT, a->end_request(a->start_request(FenceUse::joined, round)));
    meet(FenceUse::has, FenceUse::has);
    EXPECT_EQ(a->memory->state().mode, Mode::open);
}

// One that has lost the server ends its call: the server learns of that round when somebody asks.
TEST_F(ServerMemoryFence, RoundThatAProcessHasLeft_IsOneOfRequests) {
    begin_in_memory();
    const uint32_t round = a->join().round;
    a->memory->leave(round);
    EXPECT_EQ(b->join().kind, Joined::refused);
    const uint32_t fa = a->start_request(FenceUse::joined, round);
    server->settle();
    EXPECT_STATUS(PMIX_SUCCESS, b->end_request(b->start_request(FenceUse::has)));
    EXPECT_STATUS(PMIX_SUCCESS, a->end_request(fa));
    EXPECT_EQ(a->memory->state().mode, Mode::open);
    // The same where another one is the first to ask.
    const uint32_t next = a->join().round;
    a->memory->leave(next);
    EXPECT_STATUS(PMIX_SUCCESS, b->end_request(b->start_request(FenceUse::has))) << "it had joined";
    EXPECT_STATUS(PMIX_SUCCESS, a->end_request(a->start_request(FenceUse::joined, next)));
    EXPECT_EQ(a->memory->state().mode, Mode::open);
}

// The namespace is named twice: the same set, so the same round.
TEST_F(ServerMemoryFence, WildcardTwice_IsARequestForTheJob) {
    begin_in_memory();
    const uint32_t round = a->join().round;
    common::FenceRequest request;
    request.memory = FenceUse::has;
    request.procs = {{"job", PMIX_RANK_WILDCARD}, {"job", PMIX_RANK_WILDCARD}};
    EXPECT_STATUS(PMIX_SUCCESS, b->end_request(b->start<Command::fence>(request)));
    EXPECT_EQ(a->memory->state().round, round + 1);
    EXPECT_STATUS(PMIX_SUCCESS, a->end_request(a->start_request(FenceUse::joined, round)));
}

// All of the job and a rank of it are a set of its own: its end is no end of the job's round.
TEST_F(ServerMemoryFence, OtherSetWithTheWildcard_EndsNoRoundOfTheJob) {
    begin_in_memory();
    const uint32_t round = a->memory->state().round;
    b->start_request(FenceUse::has);
    ASSERT_TRUE(until(Mode::by_request));
    common::FenceRequest odd;
    odd.procs = {{"job", PMIX_RANK_WILDCARD}, {"job", 0}};
    const uint32_t fa = a->start<Command::fence>(odd), fb = b->start<Command::fence>(odd);
    EXPECT_TRUE(a->wait_at_once(fa).has_value());
    EXPECT_TRUE(b->wait_at_once(fb).has_value());
    EXPECT_EQ(a->memory->state().round, round) << "the job's fence still waits for a process";
    EXPECT_EQ(a->memory->state().mode, Mode::by_request);
}

// A forked process of the same rank asks while it waits: that is the rank's next fence. rows: F12
TEST_F(ServerMemoryFence, CloneAsks_IsInTheNextRound) {
    begin_in_memory();
    const uint32_t round = a->join().round;
    Rank clone(*server, 0);
    ASSERT_STATUS(PMIX_SUCCESS, clone.hello());
    const uint32_t fc = clone.start_request(FenceUse::none);
    EXPECT_STATUS(PMIX_SUCCESS, b->end_request(b->start_request(FenceUse::has)));
    pmix_status_t status = PMIX_ERROR;
    EXPECT_FALSE(clone.answered(fc, status)) << "the other one is missing";
    EXPECT_STATUS(PMIX_SUCCESS, b->end_request(b->start_request(FenceUse::has)));
    EXPECT_STATUS(PMIX_SUCCESS, clone.end_request(fc));
    EXPECT_STATUS(PMIX_SUCCESS, a->end_request(a->start_request(FenceUse::joined, round)));
    meet(FenceUse::has, FenceUse::has);
    EXPECT_EQ(a->memory->state().mode, Mode::by_request) << "a rank of two processes";
}

// The commits that it waits for are those of the process that has joined, whatever another one of its rank has sent.
TEST_F(ServerMemoryFence, CloneAsks_CommitsOfTheOtherOneAreHere_IsInTheNextRound) {
    begin_in_memory();
    a->commit(1, "of a");
    server->settle();
    const uint32_t round = a->join(true, 1).round;
    Rank clone(*server, 0);
    ASSERT_STATUS(PMIX_SUCCESS, clone.hello());
    const uint32_t fc = clone.start_request(FenceUse::none);
    EXPECT_STATUS(PMIX_SUCCESS, b->end_request(b->start_request(FenceUse::has)));
    pmix_status_t status = PMIX_ERROR;
    EXPECT_FALSE(clone.answered(fc, status));
    EXPECT_STATUS(PMIX_SUCCESS, b->end_request(b->start_request(FenceUse::has)));
    EXPECT_STATUS(PMIX_SUCCESS, clone.end_request(fc));
    EXPECT_STATUS(PMIX_SUCCESS, a->end_request(a->start_request(FenceUse::joined, round)));
}

TEST_F(ServerMemoryFence, CloneAsks_CommitsOfTheOtherOneAreUnderWay_ThatIsInTheNextRound) {
    begin_in_memory();
    const uint32_t round = a->join(true, 1).round;
    Rank clone(*server, 0);
    ASSERT_STATUS(PMIX_SUCCESS, clone.hello());
    clone.commit(1, "of the clone");
    const uint32_t fc = clone.start_request(FenceUse::none);
    EXPECT_STATUS(PMIX_SUCCESS, b->end_request(b->start_request(FenceUse::has)));
    EXPECT_STATUS(PMIX_SUCCESS, clone.end_request(fc)) << "it has taken part for its rank";
    const uint32_t next = b->start_request(FenceUse::has);
    server->settle();
    pmix_status_t status = PMIX_ERROR;
    EXPECT_FALSE(b->answered(next, status));
    a->commit(1, "of a");
    EXPECT_STATUS(PMIX_SUCCESS, b->end_request(next));
    EXPECT_EQ(b->read_text(0, "k").value_or("-"), "of a");
    EXPECT_STATUS(PMIX_SUCCESS, a->end_request(a->start_request(FenceUse::joined, round)));
}

// rows: F8
TEST_F(ServerMemoryFence, DeathOfAMember_EndsTheOthersWait) {
    begin_in_memory();
    const uint32_t round = a->join().round;
    b->kill();
    EXPECT_TRUE(until(Mode::by_request));
    EXPECT_STATUS(PMIX_ERR_PARTIAL_SUCCESS, a->end_request(a->start_request(FenceUse::joined, round)));
    EXPECT_EQ(a->memory->state().mode, Mode::by_request);
}

// One that has joined and ends is one that took part.
TEST_F(ServerMemoryFence, DeathAfterAllHaveJoined_IsNoError) {
    const uint32_t round = begin_with_the_host();
    b->kill();
    server->settle();
    EXPECT_EQ(a->look(round), Ended::late);
    host.answer_waiting();
    EXPECT_TRUE(server->run_at_once_until([&] { return a->look(round) == Ended::ended; }));
    pmix_status_t status = PMIX_ERROR;
    a->look(round, &status);
    EXPECT_STATUS(PMIX_SUCCESS, status);
    EXPECT_EQ(a->memory->state().mode, Mode::by_request) << "the next round has one process less";
}

// Nothing of it is kept when its processes have gone.
TEST_F(ServerMemoryFence, AllProcessesGone_IsForgotten) {
    begin_in_memory();
    const auto* nspace = server->parts().registry.find("job");
    a->kill();
    server->settle();
    EXPECT_NE(server->parts().fence.memories().find(*nspace), nullptr);
    b->kill();
    EXPECT_TRUE(server->run_at_once_until([&] { return server->parts().fence.memories().find(*nspace) == nullptr; }));
}

// The last one to join ends before it can say so.
TEST_F(ServerMemoryFence, DeathOfTheLastOne_BeforeItTells_TurnsToRequests) {
    begin_in_memory();
    const uint32_t round = a->join(true, 0).round;
    EXPECT_EQ(b->join().kind, Joined::last_to_server);
    b->kill();
    EXPECT_TRUE(until(Mode::by_request));
    EXPECT_STATUS(PMIX_SUCCESS, a->end_request(a->start_request(FenceUse::joined, round))) << "all had joined";
}

TEST_F(ServerMemoryFence, RankThatIsRegisteredLater_MakesANewOne) {
    begin_in_memory();
    const uint32_t round = a->join().round;
    server->add_client("job", 7);
    EXPECT_EQ(a->look(round), Ended::by_request);
    const auto* nspace = server->parts().registry.find("job");
    EXPECT_EQ(server->parts().fence.memories().find(*nspace), nullptr);
    Rank c(*server, 7);
    ASSERT_STATUS(PMIX_SUCCESS, c.hello());
    c.drop_descriptors();
    const uint32_t fa = a->start_request(FenceUse::joined, round), fb = b->start_request(FenceUse::has);
    const uint32_t fc = c.start_request(FenceUse::lacks);
    EXPECT_STATUS(PMIX_SUCCESS, c.end_request(fc));
    EXPECT_STATUS(PMIX_SUCCESS, a->end_request(fa));
    EXPECT_STATUS(PMIX_SUCCESS, b->end_request(fb));
    EXPECT_EQ(a->given, 3u) << "what it has is no longer one";
    EXPECT_EQ(b->given, 3u);
    EXPECT_EQ(c.given, 3u);
    EXPECT_EQ(c.slot, 2u);
    EXPECT_EQ(c.memory->state().mode, Mode::open);
}

// The memory has been forgotten before it asks, or there is another one: the others have met with it all the same.
TEST_F(ServerMemoryFence, AskedForARoundOfAnEarlierMemory_IsAnsweredWithItsEnd) {
    begin_in_memory();
    const uint32_t round = a->join().round;
    EXPECT_EQ(b->join().kind, Joined::ended);
    server->add_client("job", 7);
    Rank c(*server, 7);
    ASSERT_STATUS(PMIX_SUCCESS, c.hello());
    c.drop_descriptors();
    // The next fence of the others.
    const uint32_t fb = b->start_request(FenceUse::has), fc = c.start_request(FenceUse::lacks);
    server->settle();
    EXPECT_STATUS(PMIX_SUCCESS, a->end_request(a->start_request(FenceUse::joined, round)))
        << "it is no part of the next";
    pmix_status_t status = PMIX_ERROR;
    EXPECT_FALSE(b->answered(fb, status) || c.answered(fc, status));
    const uint32_t fa = a->start_request(FenceUse::has);
    EXPECT_STATUS(PMIX_SUCCESS, a->end_request(fa));
    EXPECT_STATUS(PMIX_SUCCESS, b->end_request(fb));
    EXPECT_STATUS(PMIX_SUCCESS, c.end_request(fc));
    ASSERT_EQ(c.memory->state().mode, Mode::open);
    EXPECT_GT(c.memory->state().round, round) << "a number that was not in use before";
    // All are in the new one by now: it ends at once, and nobody there is disturbed.
    EXPECT_STATUS(PMIX_SUCCESS, a->end_request(a->start_request(FenceUse::joined, round)));
    EXPECT_EQ(c.memory->state().mode, Mode::open);
}

// How the last round ended that the server had is known as long as its job is there.
TEST_F(ServerMemoryFence, AskedForAFailedRoundOfAnEarlierMemory_IsTheFailure) {
    begin_in_memory(2);
    host.statuses["fence"] = PMIX_ERR_TIMEOUT;
    const uint32_t round = a->join().round;
    b->join();
    b->tell_joined(round);
    EXPECT_TRUE(server->run_at_once_until([&] { return a->look(round) == Ended::ended; }));
    server->add_client("job", 7);
    server->settle();
    const auto* nspace = server->parts().registry.find("job");
    ASSERT_EQ(server->parts().fence.memories().find(*nspace), nullptr);
    EXPECT_STATUS(PMIX_ERR_TIMEOUT, a->end_request(a->start_request(FenceUse::joined, round)));
}

// rows: D9
TEST_F(ServerMemoryFence, RefusedCommit_IsTheStatusOfAll) {
    begin_in_memory();
    common::CommitRequest bad;
    bad.generation = 1;
    bad.entries.push_back({99, "k", {}});
    a->tell<Command::commit>(bad);
    const uint32_t round = a->join(true, 1).round;
    b->join();
    b->tell_joined(round);
    EXPECT_TRUE(server->run_at_once_until([&] { return b->look(round) == Ended::ended; }));
    for (Rank* one : {a.get(), b.get()})
        EXPECT_STATUS(PMIX_ERR_BAD_PARAM, one->end_request(one->start_request(FenceUse::joined, round)));
}

// A process that reads in the old segment learns of the new one first.
TEST_F(ServerMemoryFence, SegmentThatWasReplaced_IsAskedFor) {
    begin_in_memory();
    const std::string large(200'000, 'x');
    const auto* nspace = server->parts().registry.find("job");
    const uint32_t before = nspace->data->instance();
    uint64_t generation = 0;
    while (nspace->data->instance() == before && generation < 100) {
        ++generation;
        a->commit(generation, large + std::to_string(generation));
        server->settle();
    }
    ASSERT_NE(nspace->data->instance(), before);
    const uint32_t round = a->join(true, generation).round;
    b->join();
    b->tell_joined(round);
    EXPECT_TRUE(server->run_at_once_until([&] { return b->look(round) == Ended::ended; }));
    bool ask = false;
    b->look(round, nullptr, &ask);
    EXPECT_TRUE(ask);
    EXPECT_STATUS(PMIX_SUCCESS, b->end_request(b->start_request(FenceUse::joined, round)));
    EXPECT_EQ(b->memory->state().mode, Mode::open);
}

TEST_F(ServerMemoryFence, NamespaceThatEnds_LeavesNobodyWaiting) {
    begin_in_memory();
    const uint32_t round = a->join(true, 9).round;
    b->join();
    const uint32_t fb = b->start_request(FenceUse::joined, round);
    server->settle();
    server->on_loop([&] { server->setup().deregister_nspace("job"); });
    EXPECT_TRUE(server->run_at_once_until([&] { return b->hung_up(); }));
    EXPECT_EQ(a->look(round), Ended::by_request);
    pmix_status_t status = PMIX_SUCCESS;
    const bool answered = b->answered(fb, status);
    EXPECT_TRUE(!answered || status != PMIX_SUCCESS);
}

TEST_F(ServerMemoryFence, ServerThatStops_LeavesNobodyWaiting) {
    begin_in_memory();
    const uint32_t round = a->join().round;
    server->stop();
    EXPECT_EQ(a->look(round), Ended::by_request);
}

// Nobody is believed who says that all have joined.
TEST_F(ServerMemoryFence, FalseWord_IsNoJoin) {
    begin_in_memory();
    const uint32_t round = a->join().round;
    b->tell_joined(round);
    b->tell_joined(round + 1);
    server->settle();
    EXPECT_EQ(a->look(round), Ended::late);
    EXPECT_EQ(a->memory->state().mode, Mode::open);
    // A tool has no place there.
    EXPECT_EQ(b->join().kind, Joined::ended);
}

// A rank that writes that all are there, and asks: the others are asked for, and the round ends.
TEST_F(ServerMemoryFence, WordThatLies_EndsInRequests) {
    begin_in_memory();
    const uint32_t round = a->memory->state().round;
    auto* const page = static_cast<char*>(
        ::mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED,
               server->parts().fence.memories().find(*server->parts().registry.find("job"))->shared->descriptor(), 0));
    ASSERT_NE(page, MAP_FAILED);
    const uint64_t lie = (uint64_t{round} << 2 | 2) << 32 | 2;  // at the server, two have joined
    std::memcpy(page + 64, &lie, sizeof lie);
    EXPECT_EQ(b->join().kind, Joined::refused);
    const uint32_t fb = b->start_request(FenceUse::has);
    EXPECT_TRUE(until(Mode::by_request));
    const uint32_t fa = a->start_request(FenceUse::has);
    EXPECT_STATUS(PMIX_SUCCESS, a->end_request(fa));
    EXPECT_STATUS(PMIX_SUCCESS, b->end_request(fb));
    EXPECT_EQ(a->memory->state().mode, Mode::open);
    ::munmap(page, 4096);
}

}  // namespace
}  // namespace pmix::test::server_memory_fence_test

// SPDX-License-Identifier: BSD-3-Clause
// Commits that are left in the memory for fences: what makes the server take them, and when none may be left.
#include <algorithm>
#include <string_view>

#include "server/collectives/left_commits.h"
#include "support/status.h"
#include "unit/server/server_memory_fence_setting.h"

namespace pmix::test::server_left_commits_test {
namespace {

using Watch = transport::CommitMailboxes::Watch;

constexpr std::string_view kLeft = "left";

class ServerLeftCommits : public ::testing::Test, protected MemoryFenceSetting {
  protected:
    // The second process has committed by the socket, so that the server looks.
    void begin_watch(unsigned nodes = 1, server::ServerOptions options = {}) {
        begin_in_memory(nodes, std::move(options));
        ASSERT_EQ(watch(), Watch::idle);
        ASSERT_FALSE(b->leave(1, "first of b"));
        b->commit(1, "first of b");
        server->settle();
        ASSERT_EQ(of(1), "first of b");
        // So that nothing but what a test does has it look.
        const transport::LoopRole role(*server->loop);
        if (auto* memory = this->memory()) memory->look.cancel();
        a->memory->mailboxes().set_watch(Watch::looks);
    }
    Watch watch() { return a->memory->mailboxes().watch(); }
    server::JobFenceMemory* memory() {
        const auto* nspace = server->parts().registry.find("job");
        return nspace == nullptr ? nullptr : server->parts().fence.memories().find(*nspace);
    }
    std::string of(uint32_t rank) { return b->read_text(rank, "k").value_or("-"); }
    bool until_there(const std::string& text) {
        return server->run_at_once_until([&] { return of(0) == text; });
    }
};

TEST_F(ServerLeftCommits, AllHaveJoined_IsTakenBeforeTheRoundEnds) {
    begin_watch();
    ASSERT_TRUE(a->leave(1, "left"));
    server->settle();
    EXPECT_EQ(of(0), "-") << "nothing has told the server";
    const uint32_t round = a->join(true, 1).round;
    EXPECT_EQ(b->join().kind, Joined::last_to_server);
    b->tell_joined(round);
    server->settle();
    EXPECT_EQ(b->look(round), Ended::ended);
    EXPECT_EQ(of(0), "left");
    EXPECT_EQ(watch(), Watch::looks) << "the next ones may be left too";
    EXPECT_TRUE(a->leave(2, "next"));
}

TEST_F(ServerLeftCommits, FirstCommitByTheSocket_HasTheServerLookAMomentLater) {
    begin_in_memory();
    ASSERT_FALSE(b->leave(1, "first of b"));
    b->commit(1, "first of b");
    server->settle();
    ASSERT_TRUE(memory()->look.is_set());
    ASSERT_TRUE(a->leave(1, "left"));
    EXPECT_TRUE(until_there("left"));
    EXPECT_TRUE(server->run_at_once_until([&] { return watch() == Watch::idle; }));
    EXPECT_FALSE(memory()->look.is_set()) << "nothing is done while nobody commits";
    EXPECT_FALSE(a->leave(2, "by the socket"));
}

// A process that is about to send the first commit, and is stopped, holds up nobody's: they go by the socket.
TEST_F(ServerLeftCommits, NobodyHasSentACommit_NoneIsLeft) {
    begin_in_memory();
    ASSERT_FALSE(b->leave(1, "never sent"));
    ASSERT_FALSE(a->leave(1, "by the socket"));
    EXPECT_EQ(watch(), Watch::idle);
    EXPECT_FALSE(memory()->look.is_set());
}

// In the order in which the process did it.
TEST_F(ServerLeftCommits, ProcessSendsSomething_IsTakenBeforeIt) {
    begin_watch();
    ASSERT_TRUE(a->leave(1, "left"));
    a->commit(2, "sent after it");
    EXPECT_TRUE(until_there("sent after it"));
    server->settle();
    EXPECT_EQ(of(0), "sent after it");
    ASSERT_TRUE(a->leave(3, "third"));
    common::FinalizeRequest over;
    EXPECT_STATUS(PMIX_SUCCESS, a->wait_at_once(a->start<Command::finalize>(over))->header.status);
    EXPECT_EQ(of(0), "third");
}

TEST_F(ServerLeftCommits, AnotherOneAsks_IsTakenBeforeTheAnswer) {
    begin_watch();
    ASSERT_TRUE(a->leave(1, "left"));
    EXPECT_STATUS(PMIX_SUCCESS, b->wait_at_once(b->start_get({"job", 0}, "k", 0, true))->header.status);
    EXPECT_EQ(of(0), "left");
}

TEST_F(ServerLeftCommits, HostAsks_IsTakenBeforeTheAnswer) {
    begin_watch(2);
    a->commit(1, "old");
    ASSERT_TRUE(until_there("old"));
    ASSERT_TRUE(a->leave(2, "left"));
    bool told = false;
    const auto respond = [&](pmix_status_t status, common::Bytes data) {
        EXPECT_STATUS(PMIX_SUCCESS, status);
        EXPECT_NE(std::search(data.begin(), data.end(), kLeft.begin(), kLeft.end()), data.end()) << "the newest";
        told = true;
    };
    {
        const transport::LoopRole role(*server->loop);
        server->server->direct_modex_request({"job", 0}, respond);
    }
    EXPECT_TRUE(server->run_at_once_until([&] { return told; }));
    EXPECT_EQ(of(0), "left");
}

// A process that waits for a commit is not to wait longer because of this.
TEST_F(ServerLeftCommits, SomebodyWaits_CommitsGoByTheSocketUntilTheNextRound) {
    begin_watch();
    ASSERT_TRUE(a->leave(1, "left"));
    const uint32_t get = b->start_get({"job", 0}, "another", 60);
    EXPECT_TRUE(until_there("left")) << "it was not what the other one waits for";
    EXPECT_EQ(watch(), Watch::closed);
    EXPECT_FALSE(a->leave(2, "by the socket"));
    a->put("another", "there");
    EXPECT_STATUS(PMIX_SUCCESS, b->wait_at_once(get)->header.status);
    const uint32_t round = a->join(true, 0).round;
    b->join();
    b->tell_joined(round);
    server->settle();
    EXPECT_EQ(b->look(round), Ended::ended);
    EXPECT_EQ(watch(), Watch::idle);
}

TEST_F(ServerLeftCommits, SomebodyWaitsWhileARoundEnds_CommitsStillGoByTheSocket) {
    begin_watch();
    b->start_get({"job", 0}, "another", 60);
    server->settle();
    ASSERT_EQ(watch(), Watch::closed);
    const uint32_t round = a->join(true, 0).round;
    b->join();
    b->tell_joined(round);
    server->settle();
    EXPECT_EQ(b->look(round), Ended::ended);
    EXPECT_EQ(watch(), Watch::closed);
}

TEST_F(ServerLeftCommits, ProcessEnds_WhatItLeftIsThere) {
    begin_watch();
    ASSERT_TRUE(a->leave(1, "left"));
    a->kill();
    EXPECT_TRUE(until_there("left"));
}

// Another thread of it waits in a fence that the host has: nothing is turned to requests.
TEST_F(ServerLeftCommits, ProcessEndsWhileARoundRuns_WhatItLeftIsThere) {
    begin_with_the_host();
    a->memory->mailboxes().set_watch(Watch::looks);
    ASSERT_TRUE(a->leave(1, "left"));
    a->kill();
    EXPECT_TRUE(until_there("left"));
    EXPECT_EQ(a->memory->state().mode, Mode::at_server);
}

TEST_F(ServerLeftCommits, MemoryTurnsToRequests_IsTakenAndNothingMoreIsLeft) {
    begin_watch();
    ASSERT_TRUE(a->leave(1, "left"));
    const uint32_t fence = b->start_request(FenceUse::has);
    EXPECT_TRUE(until(Mode::by_request));
    EXPECT_EQ(of(0), "left");
    EXPECT_EQ(watch(), Watch::closed);
    EXPECT_FALSE(a->leave(2, "by the socket"));
    meet_by_request(*a, fence);
    EXPECT_EQ(watch(), Watch::idle);
}

TEST_F(ServerLeftCommits, AnotherProcessEnds_IsTakenAndNothingMoreIsLeft) {
    begin_watch();
    ASSERT_TRUE(a->leave(1, "left"));
    b->kill();
    EXPECT_TRUE(until(Mode::by_request));
    EXPECT_EQ(of(0), "left");
    EXPECT_EQ(watch(), Watch::closed);
}

TEST_F(ServerLeftCommits, RoundThatFails_NothingMoreIsLeft) {
    begin_watch(2);
    host.statuses["fence"] = PMIX_ERR_TIMEOUT;
    const uint32_t round = a->join(true, 0).round;
    b->join();
    ASSERT_TRUE(b->leave(2, "another thread's"));
    b->tell_joined(round);
    EXPECT_TRUE(until(Mode::by_request));
    server->settle();
    EXPECT_EQ(watch(), Watch::closed);
    EXPECT_EQ(of(1), "another thread's");
}

TEST_F(ServerLeftCommits, WhatIsNoCommit_EndsTheUseOfMailboxesForThisJob) {
    begin_watch();
    const uint8_t nonsense[] = {1, 2, 3};
    ASSERT_TRUE(a->leave(common::Bytes(nonsense)));
    ASSERT_TRUE(b->leave(2, "second of b"));
    const uint32_t round = a->join(true, 0).round;
    b->join(true, 2);
    b->tell_joined(round);
    server->settle();
    EXPECT_EQ(b->look(round), Ended::ended) << "no fence waits for it";
    EXPECT_EQ(of(1), "second of b") << "of another process, in the same round";
    EXPECT_EQ(watch(), Watch::closed);
    EXPECT_FALSE(a->hung_up());
    EXPECT_FALSE(a->leave(1, "by the socket"));
    a->commit(1, "by the socket");
    EXPECT_TRUE(until_there("by the socket"));
}

// Refused as if it had been sent.
TEST_F(ServerLeftCommits, CommitOfAKeyThatNobodyMayUse_IsRefused) {
    begin_watch();
    common::CommitRequest request;
    request.generation = 1;
    request.entries.push_back({PMIX_INTERNAL, "k", {}});
    auto payload = common::message_bytes(request);
    ASSERT_TRUE(a->leave(*payload));
    const uint32_t round = a->join(true, 1).round;
    b->join();
    b->tell_joined(round);
    server->settle();
    EXPECT_EQ(server->parts().counters.refused_commits, 1u);
    pmix_status_t status = PMIX_SUCCESS;
    bool ask = false;
    EXPECT_EQ(b->look(round, &status, &ask), Ended::ended);
    EXPECT_STATUS(PMIX_ERR_BAD_PARAM, status);
}

// What the process before it had left is not its own.
TEST_F(ServerLeftCommits, PlaceWithoutItsProcess_IsEmptied) {
    begin_watch();
    memory()->places[0].holder.reset();
    ASSERT_TRUE(a->leave(1, "left"));
    EXPECT_STATUS(PMIX_ERR_NOT_FOUND, b->wait_at_once(b->start_get({"job", 0}, "k", 0, true))->header.status);
    EXPECT_EQ(of(0), "-");
    EXPECT_TRUE(a->leave(1, "again")) << "it was taken";
}

// A clone of it has taken its place in the rounds, not its mailbox.
TEST_F(ServerLeftCommits, CloneFences_WhatTheOtherOneLeftIsTaken) {
    begin_watch();
    ASSERT_TRUE(a->leave(1, "left"));
    Rank clone(*server, 0);
    ASSERT_STATUS(PMIX_SUCCESS, clone.hello());
    clone.start_request(FenceUse::lacks);
    EXPECT_TRUE(until_there("left"));
    EXPECT_EQ(watch(), Watch::closed);
}

TEST_F(ServerLeftCommits, LastProcessEndsWithACommit_TheMemoryIsForgottenAfterIt) {
    begin_watch();
    b->kill();
    EXPECT_TRUE(until(Mode::by_request));
    a->kill();
    EXPECT_TRUE(server->run_at_once_until([&] { return memory() == nullptr; }));
}

}  // namespace
}  // namespace pmix::test::server_left_commits_test

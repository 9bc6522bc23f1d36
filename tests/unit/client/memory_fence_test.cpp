// SPDX-License-Identifier: BSD-3-Clause
// Fences of a session through memory: what is met there, and what goes by request, with its contents.
#include "client/state/memory_fence.h"

#include "support/long_wait.h"
#include "support/status.h"
#include "unit/client/session_setting.h"

namespace pmix::client::memory_fence_test {
namespace {

using common::FenceUse;
using transport::CommitMailboxes;
using transport::FenceMemory;
using Joined = FenceMemory::Joined::Kind;
using Mode = FenceMemory::Mode;
using Watch = CommitMailboxes::Watch;

class MemoryFenceTest : public SessionTest {
  protected:
    // The session has the first place of so many in a memory that the test serves.
    void give(uint32_t processes) {
        memory = std::move(FenceMemory::create(processes)).value();
        session->memory_fence().allow();
        session->memory_fence().take(transport::Descriptor(::dup(memory->descriptor())), processes, 0);
        open();
    }
    void open() { memory->end_round(memory->state().round, PMIX_SUCCESS, false, Mode::open); }
    pmix_status_t whole() { return fence(*session, nullptr, 0, nullptr, 0); }
    void commit_something() {
        pmix_value_t value;
        value.type = PMIX_UINT32;
        value.data.uint32 = ++number;
        EXPECT_STATUS(PMIX_SUCCESS, put(*session, PMIX_GLOBAL, "k", &value));
        EXPECT_STATUS(PMIX_SUCCESS, commit(*session));
    }
    std::vector<common::FenceRequest> requests() {
        std::vector<common::FenceRequest> out;
        for (const Frame& f : channel->sent())
            if (f.header.command == static_cast<uint16_t>(Command::fence))
                out.push_back(FakeChannel::decoded<common::FenceRequest>(f));
        return out;
    }
    // Of frames that say that all have joined: their rounds.
    std::vector<uint32_t> told() {
        std::vector<uint32_t> out;
        for (const Frame& f : channel->sent())
            if (f.header.command == static_cast<uint16_t>(Command::fence_joined))
                out.push_back(FakeChannel::decoded<common::FenceJoinedNotify>(f).round);
        return out;
    }
    size_t commits_sent() {
        size_t count = 0;
        for (const Frame& f : channel->sent())
            if (f.header.command == static_cast<uint16_t>(Command::commit)) ++count;
        return count;
    }
    // Of the commit that was left in memory; 0: there is none.
    uint64_t taken() {
        uint8_t buffer[CommitMailboxes::kMostBytes];
        const auto payload = memory->mailboxes().take(0, CommitMailboxes::Buffer(buffer));
        if (!payload) return 0;
        common::CommitRequest request;
        EXPECT_STATUS(PMIX_SUCCESS, common::decode_message(*payload, request));
        EXPECT_EQ(request.entries.size(), 1u);
        return request.generation;
    }
    // Ends a round that a commit has made the server's.
    void serve() {
        channel->on_send = [&](const Frame& f) {
            if (f.header.command == static_cast<uint16_t>(Command::fence_joined))
                memory->end_round(memory->state().round, PMIX_SUCCESS, false, Mode::open);
        };
    }
    void until_joind(uint32_t count) {
        const test::LongWait most;
        while (memory->state().joined != count && !most.over()) std::this_thread::yield();
    }

    std::unique_ptr<FenceMemory> memory;
    uint32_t number = 0;
};

TEST_F(MemoryFenceTest, WithoutOne_RequestsSayWhetherItWouldBeTaken) {
    answer_all<common::FenceReply>(PMIX_SUCCESS);
    EXPECT_STATUS(PMIX_SUCCESS, whole());
    session->memory_fence().allow();
    EXPECT_STATUS(PMIX_SUCCESS, whole());
    ASSERT_EQ(requests().size(), 2u);
    EXPECT_EQ(requests()[0].memory, FenceUse::none);
    EXPECT_EQ(requests()[1].memory, FenceUse::lacks);
}

TEST_F(MemoryFenceTest, Alone_NothingIsSent) {
    give(1);
    const uint32_t before = memory->state().round;
    EXPECT_STATUS(PMIX_SUCCESS, whole());
    const pmix_proc_t all = common::ProcId("job", PMIX_RANK_WILDCARD).to_c();
    EXPECT_STATUS(PMIX_SUCCESS, fence(*session, &all, 1, nullptr, 0));
    common::InfoList collect;
    collect.append_flag(PMIX_COLLECT_DATA, true);
    EXPECT_STATUS(PMIX_SUCCESS, fence(*session, nullptr, 0, collect.c_array(), collect.size()));
    EXPECT_EQ(memory->state().round, before + 3);
    EXPECT_TRUE(channel->sent().empty());
}

TEST_F(MemoryFenceTest, OtherJoinsLater_IsWaitedFor) {
    give(2);
    answer_all<common::FenceReply>(PMIX_SUCCESS);
    size_t asked = 1;
    // A busy machine may keep the other one from running for longer than anybody waits in memory, but not each time.
    for (int tries = 0; asked != 0 && tries < 20; ++tries) {
        const size_t before = channel->sent().size();
        std::atomic<bool> other_has{false};
        std::thread other([&] {
            until_joind(1);
            other_has = true;
            EXPECT_EQ(memory->join(1, false, false, 0).kind, Joined::ended);
        });
        EXPECT_STATUS(PMIX_SUCCESS, whole());
        const bool had = other_has;
        other.join();
        asked = channel->sent().size() - before;
        EXPECT_TRUE(had || asked != 0);
    }
    EXPECT_EQ(asked, 0u);
}

// The server sees to a commit, once.
TEST_F(MemoryFenceTest, AfterACommit_TheServerEndsTheRound) {
    give(1);
    channel->on_send = [&](const Frame& f) {
        if (f.header.command != static_cast<uint16_t>(Command::fence_joined)) return;
        EXPECT_EQ(memory->state().mode, Mode::at_server);
        EXPECT_EQ(memory->commits(0), 1u);
        memory->end_round(memory->state().round, PMIX_SUCCESS, false, Mode::open);
    };
    commit_something();
    const uint32_t round = memory->state().round;
    EXPECT_STATUS(PMIX_SUCCESS, whole());
    EXPECT_EQ(told(), std::vector<uint32_t>{round});
    EXPECT_STATUS(PMIX_SUCCESS, whole());
    EXPECT_EQ(told().size(), 1u) << "nothing is new";
    EXPECT_TRUE(requests().empty());
}

// A request is read after the commits that were sent before it.
TEST_F(MemoryFenceTest, AfterACommitAndARequest_TheServerHasSeenToIt) {
    give(1);
    answer_all<common::FenceReply>(PMIX_SUCCESS);
    commit_something();
    memory->turn_to_requests();
    EXPECT_STATUS(PMIX_SUCCESS, whole());
    ASSERT_EQ(requests().size(), 1u);
    EXPECT_EQ(requests()[0].memory, FenceUse::has);
    open();
    EXPECT_STATUS(PMIX_SUCCESS, whole());
    EXPECT_TRUE(told().empty());
    EXPECT_EQ(requests().size(), 1u);
}

// A request that was given up says nothing of what the server has read.
TEST_F(MemoryFenceTest, AfterACommitAndARequestThatFailed_TheServerEndsTheRound) {
    answer_all<common::FenceReply>(PMIX_ERR_TIMEOUT);
    give(1);
    commit_something();
    const pmix_proc_t twice[] = {common::ProcId("job", PMIX_RANK_WILDCARD).to_c(), common::ProcId("job", 0).to_c()};
    EXPECT_STATUS(PMIX_ERR_TIMEOUT, fence(*session, twice, 2, nullptr, 0)) << "another set";
    common::InfoList limit;
    limit.append_number<int>(PMIX_TIMEOUT, 5, PMIX_INT);
    EXPECT_STATUS(PMIX_ERR_TIMEOUT, fence(*session, nullptr, 0, limit.c_array(), limit.size()));
    EXPECT_TRUE(told().empty());
    EXPECT_STATUS(PMIX_ERR_TIMEOUT, whole()) << "nobody ended the round";
    EXPECT_EQ(told().size(), 1u);
}

// All have a new memory, and this process lost it: the one before is nobody's.
TEST_F(MemoryFenceTest, DescriptorThatWasLost_IsAskedForAgain) {
    answer_all<common::FenceReply>(PMIX_SUCCESS);
    give(1);
    session->memory_fence().take(transport::Descriptor(), 1, 0);
    EXPECT_STATUS(PMIX_SUCCESS, whole());
    ASSERT_EQ(requests().size(), 1u);
    EXPECT_EQ(requests()[0].memory, FenceUse::lacks);
}

TEST_F(MemoryFenceTest, ServerHasMoreToSay_IsAskedForTheRound) {
    give(1);
    memory->set_server_takes_part(true);
    channel->on_send = [&](const Frame& f) {
        if (f.header.command == static_cast<uint16_t>(Command::fence_joined)) {
            memory->end_round(memory->state().round, PMIX_ERR_TIMEOUT, true, Mode::open);
        } else {
            channel->answer(f, PMIX_ERR_PARTIAL_SUCCESS, common::FenceReply());
        }
    };
    const uint32_t round = memory->state().round;
    EXPECT_STATUS(PMIX_ERR_PARTIAL_SUCCESS, whole()) << "the answer counts";
    ASSERT_EQ(requests().size(), 1u);
    EXPECT_EQ(requests()[0].memory, FenceUse::joined);
    EXPECT_EQ(requests()[0].memory_round, round);
}

TEST_F(MemoryFenceTest, TurnedToRequests_WhileItWaits_Asks) {
    give(2);
    answer_all<common::FenceReply>(PMIX_SUCCESS);
    const uint32_t round = memory->state().round;
    std::thread server([&] {
        until_joind(1);
        memory->turn_to_requests();
    });
    EXPECT_STATUS(PMIX_SUCCESS, whole());
    server.join();
    ASSERT_EQ(requests().size(), 1u);
    EXPECT_EQ(requests()[0].memory, FenceUse::joined);
    EXPECT_EQ(requests()[0].memory_round, round);
}

TEST_F(MemoryFenceTest, OtherIsLate_Asks) {
    give(2);
    answer_all<common::FenceReply>(PMIX_SUCCESS);
    EXPECT_STATUS(PMIX_SUCCESS, whole());
    ASSERT_EQ(requests().size(), 1u);
    EXPECT_EQ(requests()[0].memory, FenceUse::joined);
}

TEST_F(MemoryFenceTest, WhatMemoryCannotSay_GoesByRequest) {
    give(1);
    answer_all<common::FenceReply>(PMIX_SUCCESS);
    const uint32_t before = memory->state().round;
    common::InfoList timeout, required, other;
    timeout.append_number<int>(PMIX_TIMEOUT, 5, PMIX_INT);
    required.append_flag(PMIX_COLLECT_DATA, true);
    required.c_array()[0].flags |= PMIX_INFO_REQD;
    other.append_flag(PMIX_ALL_CLONES_PARTICIPATE, true);
    common::InfoList no_bool;
    no_bool.append_string(PMIX_COLLECT_DATA, "yes");
    for (common::InfoList* infos : {&timeout, &required, &other, &no_bool})
        EXPECT_STATUS(PMIX_SUCCESS, fence(*session, nullptr, 0, infos->c_array(), infos->size()));
    const pmix_proc_t two[] = {common::ProcId("job", 0).to_c(), common::ProcId("job", 1).to_c()};
    EXPECT_STATUS(PMIX_SUCCESS, fence(*session, two, 2, nullptr, 0));
    const pmix_proc_t others = common::ProcId("other", PMIX_RANK_WILDCARD).to_c();
    EXPECT_STATUS(PMIX_SUCCESS, fence(*session, &others, 1, nullptr, 0));
    ASSERT_EQ(requests().size(), 6u);
    for (size_t i = 0; i < 4; ++i) EXPECT_EQ(requests()[i].memory, FenceUse::has) << i;
    EXPECT_EQ(requests()[4].memory, FenceUse::none) << "no fence of the whole job";
    EXPECT_EQ(requests()[5].memory, FenceUse::none);
    EXPECT_EQ(memory->state().round, before);
}

// The order of a process's fences is kept: none overtakes one that is on its way.
TEST_F(MemoryFenceTest, WhileARequestIsOpen_TheNextOneIsARequest) {
    give(1);
    Once first;
    ASSERT_STATUS(PMIX_SUCCESS, fence_nb(*session, nullptr, 0, nullptr, 0, Once::op, &first));
    channel->on_send = [&](const Frame& f) {
        for (const Frame& open_one : channel->sent()) channel->answer(open_one, PMIX_SUCCESS, common::FenceReply());
        (void)f;
    };
    const uint32_t before = memory->state().round;
    EXPECT_STATUS(PMIX_SUCCESS, whole());
    EXPECT_TRUE(first.wait());
    EXPECT_EQ(requests().size(), 2u);
    EXPECT_EQ(memory->state().round, before);
    EXPECT_STATUS(PMIX_SUCCESS, whole());
    EXPECT_EQ(requests().size(), 2u) << "nothing is on its way any more";
    EXPECT_EQ(memory->state().round, before + 1);
}

TEST_F(MemoryFenceTest, RequestThatIsNotSent_IsNotCounted) {
    give(1);
    channel->before_send = [](const Frame&) { return PMIX_ERR_OUT_OF_RESOURCE; };
    Once never;
    EXPECT_NE(fence_nb(*session, nullptr, 0, nullptr, 0, Once::op, &never), PMIX_SUCCESS);
    const uint32_t before = memory->state().round;
    EXPECT_STATUS(PMIX_SUCCESS, whole());
    EXPECT_EQ(memory->state().round, before + 1);
}

TEST_F(MemoryFenceTest, SecondThread_GoesByRequest) {
    give(2);
    std::atomic<int> asked{0};
    channel->on_send = [&](const Frame& f) {
        ++asked;
        channel->answer(f, PMIX_SUCCESS, common::FenceReply());
    };
    std::thread first([&] { EXPECT_STATUS(PMIX_SUCCESS, whole()); });
    until_joind(1);
    EXPECT_STATUS(PMIX_SUCCESS, whole());
    EXPECT_GE(asked, 1);
    EXPECT_LE(memory->state().joined, 1u) << "the process joins once";
    memory->join(1, false, false, 0);
    first.join();
}

// Between its patience and its request, too.
TEST_F(MemoryFenceTest, ProcessThatIsAboutToAsk_DoesNotJoinAgain) {
    give(2);
    const auto tell = [](uint32_t) { return true; };
    MemoryFence& process = session->memory_fence();
    {
        const auto first = process.fence(false, 0, tell);
        EXPECT_TRUE(first.request);
        EXPECT_FALSE(first.ended);
        EXPECT_FALSE(process.fence(false, 0, tell).request);
        EXPECT_EQ(memory->state().joined, 1u);
    }
    memory->join(1, false, false, 0);  // the other one comes
    EXPECT_TRUE(process.fence(false, 0, tell).request) << "once it has asked";
}

TEST_F(MemoryFenceTest, ServerLostMeanwhile_IsALostConnection) {
    give(2);
    std::thread server([&] {
        until_joind(1);
        channel->lose();
    });
    EXPECT_STATUS(PMIX_ERR_LOST_CONNECTION, whole());
    server.join();
    EXPECT_STATUS(PMIX_ERR_UNREACH, whole()) << "not in memory without a server";
    EXPECT_EQ(memory->state().mode, Mode::by_request) << "another one must not end a round that this one has left";
}

// No thread reads what the server sends, and nothing is sent to it: the loss of it is looked for.
TEST_F(MemoryFenceTest, ServerGoneWithoutAWord_IsSeen) {
    give(1);
    serve();
    EXPECT_STATUS(PMIX_SUCCESS, whole());
    std::atomic<int> looks{0};
    channel->on_look = [&] {
        ++looks;
        channel->open = false;
    };
    pmix_status_t rc = PMIX_SUCCESS;
    const test::LongWait most;
    while (rc == PMIX_SUCCESS && !most.over()) rc = whole();
    EXPECT_STATUS(PMIX_ERR_UNREACH, rc);
    EXPECT_EQ(looks, 1);
}

TEST_F(MemoryFenceTest, ServerGoneWithoutAWord_NoCommitIsLeft) {
    give(1);
    memory->mailboxes().set_watch(Watch::looks);
    channel->on_look = [&] { channel->open = false; };
    pmix_status_t rc = PMIX_SUCCESS;
    const test::LongWait most;
    while (rc == PMIX_SUCCESS && !most.over()) {
        pmix_value_t value;
        value.type = PMIX_UINT32;
        value.data.uint32 = ++number;
        EXPECT_STATUS(PMIX_SUCCESS, put(*session, PMIX_GLOBAL, "k", &value));
        taken();
        rc = commit(*session);
    }
    EXPECT_STATUS(PMIX_ERR_UNREACH, rc);
    EXPECT_EQ(taken(), 0u);
}

// A server that cannot be told that all have joined is asked.
TEST_F(MemoryFenceTest, JoinThatIsNotSent_IsAsked) {
    give(1);
    memory->set_server_takes_part(true);
    channel->before_send = [](const Frame& f) {
        return f.header.command == static_cast<uint16_t>(Command::fence_joined) ? PMIX_ERR_OUT_OF_RESOURCE
                                                                                : PMIX_SUCCESS;
    };
    answer_all<common::FenceReply>(PMIX_SUCCESS);
    EXPECT_STATUS(PMIX_SUCCESS, whole());
    ASSERT_EQ(requests().size(), 1u);
    EXPECT_EQ(requests()[0].memory, FenceUse::joined);
}

TEST_F(MemoryFenceTest, DescriptorOfSomethingElse_IsNotAskedForAgain) {
    session->memory_fence().allow();
    session->memory_fence().take(transport::Descriptor(), 2, 0);
    EXPECT_EQ(session->memory_fence().use(), FenceUse::lacks) << "lost on its way";
    const auto two = std::move(FenceMemory::create(2)).value();
    session->memory_fence().take(transport::Descriptor(::dup(two->descriptor())), 2, 2);
    EXPECT_EQ(session->memory_fence().use(), FenceUse::lacks) << "no place in it";
    session->memory_fence().take(transport::Descriptor(::dup(0)), 2, 0);
    EXPECT_EQ(session->memory_fence().use(), FenceUse::none);
}

TEST_F(MemoryFenceTest, CommitWhileTheServerLooks_IsLeftInMemory) {
    give(1);
    serve();
    memory->mailboxes().set_watch(Watch::looks);
    commit_something();
    EXPECT_EQ(commits_sent(), 0u);
    EXPECT_EQ(memory->commits(0), 0u);
    EXPECT_EQ(session->sent_commit(), 1u);
    EXPECT_STATUS(PMIX_SUCCESS, whole());
    EXPECT_EQ(told().size(), 1u) << "the server has a commit to take";
    EXPECT_EQ(memory->commits(0), 1u);
    EXPECT_EQ(taken(), 1u);
    commit_something();
    EXPECT_EQ(taken(), 2u) << "the one before has been taken";
    commit_something();
    EXPECT_EQ(taken(), 3u) << "without a fence between them too";
    EXPECT_EQ(commits_sent(), 0u);
}

TEST_F(MemoryFenceTest, CommitBehindOneThatIsInMemory_GoesByTheSocketUntilAFence) {
    give(1);
    serve();
    memory->mailboxes().set_watch(Watch::looks);
    commit_something();
    commit_something();
    EXPECT_EQ(commits_sent(), 1u) << "the mailbox is full";
    EXPECT_EQ(taken(), 1u);
    commit_something();
    EXPECT_EQ(commits_sent(), 2u) << "it must not overtake the one in the socket";
    EXPECT_EQ(taken(), 0u);
    EXPECT_STATUS(PMIX_SUCCESS, whole());
    commit_something();
    EXPECT_EQ(commits_sent(), 2u);
    EXPECT_EQ(taken(), 4u);
}

TEST_F(MemoryFenceTest, CommitThatCannotBeLeft_IsSent) {
    commit_something();
    EXPECT_EQ(commits_sent(), 1u) << "no memory";
    give(1);
    serve();
    EXPECT_STATUS(PMIX_SUCCESS, whole());
    commit_something();
    EXPECT_EQ(commits_sent(), 2u) << "closed";
    EXPECT_STATUS(PMIX_SUCCESS, whole());
    memory->mailboxes().set_watch(Watch::idle);
    commit_something();
    EXPECT_EQ(commits_sent(), 3u) << "the server looks once it has read this one";
    EXPECT_EQ(memory->mailboxes().watch(), Watch::idle);
    EXPECT_STATUS(PMIX_SUCCESS, whole());
    pmix_value_t value;
    std::string large(CommitMailboxes::kMostBytes, 'x');
    value.type = PMIX_STRING;
    value.data.string = large.data();
    EXPECT_STATUS(PMIX_SUCCESS, put(*session, PMIX_GLOBAL, "large", &value));
    EXPECT_STATUS(PMIX_SUCCESS, commit(*session));
    EXPECT_EQ(commits_sent(), 4u) << "too large";
    EXPECT_EQ(taken(), 0u);
}

// What was left in the memory before says nothing of this one.
TEST_F(MemoryFenceTest, CommitAfterTheMemoryWasReplaced_IsSent) {
    give(1);
    memory->mailboxes().set_watch(Watch::looks);
    commit_something();
    const auto before = std::move(memory);
    give(1);
    memory->mailboxes().set_watch(Watch::looks);
    commit_something();
    EXPECT_EQ(commits_sent(), 1u);
    EXPECT_EQ(taken(), 0u);
}

TEST_F(MemoryFenceTest, OnTheLoop_IsNotWaitedFor) {
    give(2);
    Once told;
    loop->post([&] { told.fire(whole()); });
    ASSERT_TRUE(told.wait());
    EXPECT_STATUS(PMIX_ERR_WOULD_BLOCK, told.status);
    EXPECT_EQ(memory->state().joined, 0u);
}

}  // namespace
}  // namespace pmix::client::memory_fence_test

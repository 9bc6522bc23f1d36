// SPDX-License-Identifier: BSD-3-Clause
// Rounds of a collective, without sockets: order, repetition, death, timeout, clones, late registration.
#include "server/collectives/collective.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "support/status.h"

namespace collective_test {

using namespace pmix::server;
using pmix::common::ProcId;
using State = Collective::State;

namespace {

// Namespace "a" has number 1; its local ranks and the departed ones are sets.
struct Table final : MemberView {
    std::set<uint32_t> local{0, 1, 2};
    size_t announced = 0;  // a host may name the number before the ranks
    std::set<uint32_t> left;
    std::set<MemberId> others;  // of namespace "b"
    std::map<MemberId, size_t> processes;

    bool in(const Signature& s, uint32_t rank) const { return s.covers(ProcId("a", rank)); }
    size_t expected(const Signature& s) const override {
        bool theirs = s.names("b");
        size_t n = theirs ? others.size() : 0;
        for (uint32_t r : local) n += in(s, r);
        bool wild =
            std::any_of(s.parts().begin(), s.parts().end(), [](const Signature::Part& p) { return p.is_whole(); });
        return wild ? std::max(n, announced) : n;
    }
    bool contains(const Signature& s, MemberId m) const override {
        if (others.count(m) != 0) return true;
        return nspace_number_of(m) == 1 && local.count(rank_of(m)) != 0 && in(s, rank_of(m));
    }
    std::string_view nspace_of(MemberId m) const override { return nspace_number_of(m) == 1 ? "a" : "b"; }
    std::vector<MemberId> gone(const Signature& s) const override {
        std::vector<MemberId> out;
        for (uint32_t r : left)
            if (in(s, r)) out.push_back(member_id(1, r));
        return out;
    }
    size_t clones(MemberId m) const override {
        auto it = processes.find(m);
        return it == processes.end() ? 1 : it->second;
    }
};

MemberId caller(uint32_t rank) {
    return member_id(1, rank);
}
const Signature kAll{ProcId("a", PMIX_RANK_WILDCARD)};
Signature list(std::initializer_list<uint32_t> ranks) {
    std::vector<ProcId> procs;
    for (uint32_t r : ranks) procs.emplace_back("a", r);
    return Signature(procs);
}

}  // namespace

TEST(CollectiveTest, CompletesWithTheLastOneAndIsForgotten) {
    Table table;
    Collective c(table);
    auto first = c.enter(kAll, caller(2));
    EXPECT_EQ(first.state, State::waiting);
    EXPECT_TRUE(first.first);
    EXPECT_EQ(c.enter(kAll, caller(0)).state, State::waiting);
    auto last = c.enter(kAll, caller(1));
    EXPECT_EQ(last.state, State::complete);
    EXPECT_EQ(last.round, first.round);
    EXPECT_FALSE(last.first);
    EXPECT_TRUE(c.is_open(last.round));
    c.end(last.round, PMIX_SUCCESS);
    EXPECT_FALSE(c.is_open(last.round));
    EXPECT_EQ(c.signatures(), 0u);
    EXPECT_EQ(c.rounds(), 0u);
}

TEST(CollectiveTest, OrderOfTheListDoesNotMatterWildcardDoes) {
    Table table;
    Collective c(table);
    auto a = c.enter(list({0, 1, 2}), caller(0));
    auto b = c.enter(list({2, 1, 0, 2}), caller(1));
    auto w = c.enter(kAll, caller(2));
    EXPECT_EQ(a.round, b.round);
    EXPECT_NE(a.round, w.round);
    EXPECT_EQ(c.signatures(), 2u);
}

// A process that calls again and again before the others; the last of its calls have reached their limits.
TEST(CollectiveTest, Enter_ManyRoundsOfOneSetOpen_LooksAtAFewOfThem) {
    constexpr size_t kRounds = OpenShares::kMost, kOpen = kRounds - 200;
    Table table;
    Collective c(table);
    std::vector<uint64_t> rounds;
    for (size_t i = 0; i < kRounds; ++i) {
        const auto [state, id, first, status] = c.enter(list({0, 1}), caller(0));
        ASSERT_TRUE(first);
        rounds.push_back(id);
    }
    for (size_t i = kRounds; i > kOpen; --i) c.end(rounds[i - 1], PMIX_ERR_TIMEOUT);
    for (size_t i = 0; i < kRounds; ++i) ASSERT_EQ(i < kOpen, c.is_open(rounds[i]));
    for (size_t i = 0; i < kRounds; ++i) {
        const auto [state, id, first, status] = c.enter(list({0, 1}), caller(1));
        ASSERT_EQ(rounds[i], id);
        ASSERT_EQ(i < kOpen ? State::complete : State::over, state);
        if (state == State::complete) c.end(id, PMIX_SUCCESS);
    }
    EXPECT_EQ(0u, c.signatures());
    EXPECT_LT(c.examined(), 100 * kRounds);
}

TEST(CollectiveTest, RepeatedRoundsNeverMix) {
    Table table;
    Collective c(table);
    auto t0 = c.enter(kAll, caller(0)).round;
    auto t1 = c.enter(kAll, caller(0)).round;
    auto t2 = c.enter(kAll, caller(0)).round;
    EXPECT_NE(t0, t1);
    EXPECT_NE(t1, t2);
    EXPECT_EQ(c.enter(kAll, caller(1)).round, t0);
    EXPECT_EQ(c.enter(kAll, caller(1)).round, t1);
    auto done = c.enter(kAll, caller(2));
    EXPECT_EQ(done.round, t0);
    EXPECT_EQ(done.state, State::complete);
    // the host has not answered t0 yet, and t1 completes beside it
    done = c.enter(kAll, caller(2));
    EXPECT_EQ(done.round, t1);
    EXPECT_EQ(done.state, State::complete);
    c.end(t1, PMIX_SUCCESS);
    EXPECT_TRUE(c.is_open(t0));
    c.end(t0, PMIX_SUCCESS);
    EXPECT_TRUE(c.is_open(t2));
    EXPECT_EQ(c.rounds(), 1u);
}

TEST(CollectiveTest, OverlappingSetsRunBesideEachOther) {
    Table table;
    Collective c(table);
    auto a = c.enter(list({0, 1}), caller(0));
    auto b = c.enter(list({1, 2}), caller(2));
    EXPECT_EQ(c.enter(list({1, 2}), caller(1)).state, State::complete);
    EXPECT_EQ(c.enter(list({0, 1}), caller(1)).state, State::complete);
    c.end(a.round, PMIX_SUCCESS);
    c.end(b.round, PMIX_SUCCESS);
    EXPECT_EQ(c.signatures(), 0u);
}

TEST(CollectiveTest, AloneIsComplete) {
    Table table;
    Collective c(table);
    auto e = c.enter(list({1}), caller(1));
    EXPECT_EQ(e.state, State::complete);
    EXPECT_TRUE(e.first);
}

TEST(CollectiveTest, Enter_CallerNotInTheSet_LeavesNothing) {
    Table table;
    Collective c(table);
    EXPECT_EQ(c.enter(list({0, 1}), caller(2)).state, State::not_member);
    EXPECT_EQ(c.enter(kAll, member_id(7, 0)).state, State::not_member);
    EXPECT_EQ(c.signatures(), 0u);
}

TEST(CollectiveTest, DeathBreaksTheTurnOnceAndLateCallersGetItsStatus) {
    Table table;
    Collective c(table);
    auto e = c.enter(kAll, caller(0));
    table.left.insert(1);
    auto events = c.member_gone(caller(1));
    ASSERT_EQ(events.size(), 1u);
    EXPECT_EQ(events[0].state, State::broken);
    EXPECT_EQ(events[0].round, e.round);
    EXPECT_TRUE(c.member_gone(caller(1)).empty());
    c.end(e.round, PMIX_ERR_PARTIAL_SUCCESS);
    auto late = c.enter(kAll, caller(2));
    EXPECT_EQ(late.state, State::over);
    EXPECT_STATUS(PMIX_ERR_PARTIAL_SUCCESS, late.status);
    EXPECT_EQ(c.signatures(), 0u) << "everybody has come or gone";
}

TEST(CollectiveTest, MemberGone_AfterItHasJoined_ChangesNothing) {
    Table table;
    Collective c(table);
    c.enter(kAll, caller(1));
    table.left.insert(1);
    EXPECT_TRUE(c.member_gone(caller(1)).empty());
    c.enter(kAll, caller(0));
    EXPECT_EQ(c.enter(kAll, caller(2)).state, State::complete);
}

// Its place has been taken by another process, which is to join the round that the others wait in.
TEST(CollectiveTest, BeginsAnew_OpenRoundsWaitForTheNewProcess) {
    Table table;
    Collective c(table);
    const auto first = c.enter(kAll, caller(1)), second = c.enter(kAll, caller(1));
    c.enter(kAll, caller(0));
    table.left.insert(1);
    EXPECT_TRUE(c.member_gone(caller(1)).empty());
    EXPECT_EQ(std::vector<Collective::RoundId>{second.round}, c.begins_anew(caller(1))) << "nobody is in it any more";
    EXPECT_FALSE(c.is_open(second.round));
    EXPECT_EQ(1u, c.rounds());
    table.left.clear();
    EXPECT_EQ(State::waiting, c.enter(kAll, caller(2)).state);
    const auto last = c.enter(kAll, caller(1));
    EXPECT_EQ(State::complete, last.state);
    EXPECT_EQ(first.round, last.round);
    EXPECT_TRUE(c.begins_anew(caller(1)).empty()) << "of a complete round it is a member";
    EXPECT_EQ(3u, c.joined(first.round).size());
    c.end(first.round, PMIX_SUCCESS);
    EXPECT_EQ(0u, c.signatures());
}

TEST(CollectiveTest, BeginsAnew_RoundsOfOtherSetsAndMembersStay) {
    Table table;
    Collective c(table);
    c.enter(kAll, caller(0));
    c.enter(list({0, 1}), caller(1));
    c.enter(list({0, 2}), caller(2));
    EXPECT_TRUE(c.begins_anew(caller(0)).size() == 1) << "the first";
    EXPECT_EQ(2u, c.signatures());
    EXPECT_EQ(State::complete, c.enter(list({0, 1}), caller(0)).state);
    EXPECT_EQ(State::complete, c.enter(list({0, 2}), caller(0)).state);
}

// Behind a round that is open others have ended: by their own limits of time, or because of a death.
TEST(CollectiveTest, BeginsAnew_LaterRoundsHaveEnded_NewProcessMeetsThemInTheirOrder) {
    Table table;
    Collective c(table);
    const auto open = c.enter(kAll, caller(1)), ended = c.enter(kAll, caller(1));
    c.enter(kAll, caller(0));
    c.end(ended.round, PMIX_ERR_TIMEOUT);
    EXPECT_TRUE(c.begins_anew(caller(1)).empty());
    EXPECT_EQ(open.round, c.enter(kAll, caller(1)).round);
    const auto late = c.enter(kAll, caller(1));
    EXPECT_EQ(State::over, late.state);
    EXPECT_STATUS(PMIX_ERR_TIMEOUT, late.status);
    EXPECT_TRUE(c.enter(kAll, caller(1)).first) << "and then a new one";
    EXPECT_EQ(State::complete, c.enter(kAll, caller(2)).state);
}

// One of its processes had joined a round that waits for all of them.
TEST(CollectiveTest, BeginsAnew_AfterSomeOfItsProcessesHadJoined_AllAreCountedAnew) {
    Table table;
    table.local = {0, 1};
    table.processes[caller(0)] = 2;
    Collective c(table);
    c.enter(kAll, caller(1));
    const auto e = c.enter(kAll, caller(0), true);
    ASSERT_EQ(1u, c.partly_joined(caller(0)).size());
    c.begins_anew(caller(0));
    EXPECT_TRUE(c.partly_joined(caller(0)).empty());
    EXPECT_EQ(State::waiting, c.enter(kAll, caller(0), true).state);
    const auto all = c.enter(kAll, caller(0), true);
    EXPECT_EQ(State::complete, all.state);
    EXPECT_EQ(e.round, all.round);
}

TEST(CollectiveTest, RoundThatStartsAfterADeathIsBrokenAtOnce) {
    Table table;
    table.left.insert(2);
    Collective c(table);
    auto e = c.enter(kAll, caller(0));
    EXPECT_EQ(e.state, State::broken);
    c.end(e.round, PMIX_ERR_PARTIAL_SUCCESS);
    EXPECT_STATUS(PMIX_ERR_PARTIAL_SUCCESS, c.enter(kAll, caller(1)).status);
    EXPECT_EQ(c.signatures(), 0u);
}

TEST(CollectiveTest, TimeoutAnswersLateCallersAndTheNextRoundWorks) {
    Table table;
    Collective c(table);
    auto e = c.enter(kAll, caller(0));
    c.enter(kAll, caller(1));
    c.end(e.round, PMIX_ERR_TIMEOUT);
    // those who were in start the next one
    auto next = c.enter(kAll, caller(0));
    EXPECT_NE(next.round, e.round);
    EXPECT_EQ(next.state, State::waiting);
    auto late = c.enter(kAll, caller(2));
    EXPECT_EQ(late.state, State::over);
    EXPECT_STATUS(PMIX_ERR_TIMEOUT, late.status);
    c.enter(kAll, caller(1));
    EXPECT_EQ(c.enter(kAll, caller(2)).state, State::complete);
    c.end(next.round, PMIX_SUCCESS);
    EXPECT_EQ(c.rounds(), 0u);
}

TEST(CollectiveTest, EndedTwiceAndUnknownRoundsAreIgnored) {
    Table table;
    Collective c(table);
    auto e = c.enter(kAll, caller(0));
    c.end(e.round, PMIX_ERR_TIMEOUT);
    c.end(e.round, PMIX_SUCCESS);
    EXPECT_STATUS(PMIX_ERR_TIMEOUT, c.enter(kAll, caller(1)).status);
    c.end(12345, PMIX_SUCCESS);
    EXPECT_EQ(c.signature_of(12345), nullptr);
}

TEST(CollectiveTest, RanksRegisteredLaterCount) {
    Table table;
    table.local = {0};
    table.announced = 3;
    Collective c(table);
    EXPECT_EQ(c.enter(kAll, caller(0)).state, State::waiting);
    table.local = {0, 1, 2};
    EXPECT_TRUE(c.recheck().empty());
    c.enter(kAll, caller(1));
    EXPECT_EQ(c.enter(kAll, caller(2)).state, State::complete);
}

TEST(CollectiveTest, RecheckFindsARoundThatIsCompleteNow) {
    Table table;
    table.announced = 4;
    Collective c(table);
    c.enter(kAll, caller(0));
    c.enter(kAll, caller(1));
    auto e = c.enter(kAll, caller(2));
    EXPECT_EQ(e.state, State::waiting);
    table.announced = 0;
    auto events = c.recheck();
    ASSERT_EQ(events.size(), 1u);
    EXPECT_EQ(events[0].round, e.round);
    EXPECT_EQ(events[0].state, State::complete);
    EXPECT_TRUE(c.recheck().empty());
}

TEST(CollectiveTest, EveryCloneMustCome) {
    Table table;
    table.processes[caller(0)] = 2;
    Collective c(table);
    c.enter(kAll, caller(1));
    c.enter(kAll, caller(2));
    EXPECT_EQ(c.enter(kAll, caller(0), true).state, State::waiting);
    auto e = c.enter(kAll, caller(0), true);
    EXPECT_EQ(e.state, State::complete);
    c.end(e.round, PMIX_SUCCESS);
    EXPECT_EQ(c.rounds(), 0u);
}

TEST(CollectiveTest, ANamespaceThatEndsGivesBackItsOpenRounds) {
    Table table;
    Collective c(table);
    auto a = c.enter(kAll, caller(0));
    auto b = c.enter(list({0, 1}), caller(0));
    c.end(b.round, PMIX_ERR_TIMEOUT);
    auto open = c.nspace_ended("a", 1, PMIX_ERR_NOT_FOUND);
    ASSERT_EQ(open.size(), 1u);
    EXPECT_EQ(open[0], a.round);
    EXPECT_TRUE(c.nspace_ended("b", 2, PMIX_ERR_NOT_FOUND).empty());
    table.local.clear();  // it is not known any more
    EXPECT_TRUE(c.recheck().empty());
    EXPECT_EQ(c.signatures(), 0u);
    EXPECT_EQ(c.rounds(), 0u);
}

// A late caller of another namespace gets the round's status, and does not open a round that no other member joins.
TEST(CollectiveTest, LateForASetWhoseOtherNamespaceHasEnded) {
    Table table;
    Collective c(table);
    const Signature both{ProcId("a", PMIX_RANK_WILDCARD), ProcId("b", PMIX_RANK_WILDCARD)};
    auto first = c.enter(both, caller(0));
    table.others.insert(member_id(2, 0));
    table.others.insert(member_id(2, 1));
    c.enter(both, member_id(2, 0));
    c.enter(both, member_id(2, 1));
    ASSERT_EQ(c.nspace_ended("b", 2, PMIX_ERR_NOT_FOUND).size(), 1u);
    table.others.clear();
    c.recheck();
    auto late = c.enter(both, caller(1));
    EXPECT_EQ(late.state, State::over);
    EXPECT_EQ(late.round, first.round);
    EXPECT_STATUS(PMIX_ERR_NOT_FOUND, late.status);
    EXPECT_EQ(c.rounds(), 1u);
    table.left.insert(2);
    c.member_gone(caller(2));  // does not come any more
    EXPECT_EQ(c.rounds(), 0u);
    // A new namespace of the old name has nothing to do with it.
    c.enter(both, caller(0));
    c.nspace_ended("b", 2, PMIX_ERR_NOT_FOUND);
    c.nspace_new("b");
    EXPECT_EQ(c.signatures(), 0u);
    EXPECT_TRUE(c.enter(both, caller(1)).first);
}

// A process may begin any number of rounds over ever different sets: what happens in another namespace does not look at
// them, nor does the end of one of its own processes that none of them waits for.
TEST(CollectiveTest, Event_ManyRoundsOfAnotherNamespaceOpen_LooksAtNoneOfThem) {
    constexpr size_t kRounds = 1000, kEvents = 100;
    Table table;
    table.local.clear();
    for (uint32_t rank = 0; rank <= kRounds; ++rank) table.local.insert(rank);
    for (const MemberId m : {member_id(2, 0), member_id(2, 1)}) table.others.insert(m);
    Collective c(table);
    const Signature theirs{ProcId("b", PMIX_RANK_WILDCARD)};
    for (uint32_t i = 1; i <= kRounds; ++i) ASSERT_TRUE(c.enter(list({0, i}), caller(0)).first);
    const auto last = c.enter(theirs, member_id(2, 0));
    const uint64_t before = c.examined();
    for (size_t i = 0; i < kEvents; ++i) {
        EXPECT_TRUE(c.member_gone(member_id(2, 1)).empty());
        EXPECT_TRUE(c.recheck("b").empty());
        EXPECT_TRUE(c.recheck(c.partly_joined(caller(0))).empty());
        EXPECT_TRUE(c.names("b"));
        EXPECT_FALSE(c.names("c"));
    }
    EXPECT_LT(c.examined() - before, kEvents * 20);
    const auto ended = c.nspace_ended("b", 2, PMIX_ERR_NOT_FOUND);
    ASSERT_EQ(1u, ended.size());
    EXPECT_EQ(last.round, ended[0]);
    EXPECT_FALSE(c.names("b"));
    EXPECT_TRUE(c.names("a"));
}

TEST(CollectiveTest, Enter_MoreRoundsOpenThanAProcessMayBegin_IsRefused) {
    Table table;
    Collective c(table);
    table.local.insert(OpenShares::kMost + 1);
    std::vector<Collective::RoundId> open;
    for (uint32_t i = 0; i < OpenShares::kMost; ++i) {
        const auto entered = c.enter(list({0, i + 1}), caller(0));
        ASSERT_TRUE(entered.first);
        open.push_back(entered.round);
    }
    const Signature next = list({0, static_cast<uint32_t>(OpenShares::kMost) + 1});
    EXPECT_EQ(State::refused, c.enter(next, caller(0)).state);
    EXPECT_EQ(OpenShares::kMost, c.rounds());
    EXPECT_EQ(OpenShares::kMost, c.signatures());
    // It may join what others begin, and others may begin.
    const auto theirs = c.enter(next, caller(static_cast<uint32_t>(OpenShares::kMost) + 1));
    EXPECT_TRUE(theirs.first);
    EXPECT_EQ(State::complete, c.enter(next, caller(0)).state);
    c.end(theirs.round, PMIX_SUCCESS);
    // One that ends makes place for another one.
    EXPECT_EQ(State::refused, c.enter(next, caller(0)).state);
    c.end(open.front(), PMIX_ERR_TIMEOUT);
    EXPECT_TRUE(c.enter(next, caller(0)).first);
}

// A process calls over ever new sets with a limit, and the others never call.
TEST(CollectiveTest, Timeouts_OverEverNewSets_DoNotPileUp) {
    Table table;
    Collective c(table);
    const MemberId late = member_id(2, 0);
    table.others.insert(late);
    constexpr uint32_t kSets = 3 * OpenShares::kMost;
    const auto set = [](uint32_t number) { return Signature{ProcId("a", 0), ProcId("b", number)}; };
    for (uint32_t i = 0; i < kSets; ++i) {
        const auto entered = c.enter(set(i), caller(0));
        ASSERT_TRUE(entered.first);
        c.end(entered.round, PMIX_ERR_TIMEOUT);
    }
    EXPECT_EQ(OpenShares::kMost, c.rounds());
    EXPECT_EQ(OpenShares::kMost, c.signatures());
    EXPECT_EQ(State::over, c.enter(set(kSets - 1), late).state) << "the newest are kept";
    EXPECT_EQ(State::waiting, c.enter(set(0), late).state);
}

// rows: F12
TEST(CollectiveTest, PartlyJoined_OnlyOpenRoundsThatWaitForMoreProcesses) {
    Table table;
    table.processes[caller(0)] = 2;
    Collective c(table);
    const auto some = c.enter(list({0, 1}), caller(0), true);
    for (int process = 0; process < 2; ++process) c.enter(list({0, 2}), caller(0), true);
    c.enter(kAll, caller(0));
    EXPECT_EQ((std::vector<Collective::RoundId>{some.round}), c.partly_joined(caller(0)));
    EXPECT_TRUE(c.partly_joined(caller(1)).empty());
    table.processes[caller(0)] = 1;
    EXPECT_TRUE(c.recheck(c.partly_joined(caller(0))).empty());
    EXPECT_TRUE(c.partly_joined(caller(0)).empty()) << "it has joined with all its processes now";
    EXPECT_EQ(State::complete, c.enter(list({0, 1}), caller(1)).state);
    EXPECT_EQ(State::complete, c.enter(list({0, 2}), caller(2)).state);
}

TEST(CollectiveTest, TimeoutsInARowDoNotPileUp) {
    Table table;
    Collective c(table);
    for (int i = 0; i < 10'000; ++i) {
        auto e = c.enter(kAll, caller(0));
        ASSERT_TRUE(e.first);
        c.end(e.round, PMIX_ERR_TIMEOUT);
    }
    EXPECT_LE(c.rounds(), 257u);
}

// All at once, for a set that nobody has called for.
TEST(CollectiveTest, EnterAll_IsARoundLikeAnyOther) {
    Table t;
    Collective c(t);
    EXPECT_TRUE(c.is_idle(kAll));
    const auto all = c.enter_all(kAll, {caller(0), caller(1), caller(2)});
    EXPECT_EQ(all.state, State::complete);
    EXPECT_TRUE(c.is_open(all.round));
    EXPECT_FALSE(c.is_idle(kAll));
    EXPECT_EQ(c.joined(all.round).size(), 3u);
    EXPECT_EQ(c.enter_all(kAll, {caller(0), caller(1), caller(2)}).round, 0u) << "there is one";
    // A member that calls meanwhile is in the next one.
    const auto next = c.enter(kAll, caller(1));
    EXPECT_NE(next.round, all.round);
    EXPECT_EQ(next.state, State::waiting);
    c.end(all.round, PMIX_SUCCESS);
    EXPECT_FALSE(c.is_idle(kAll));
    c.enter(kAll, caller(0));
    EXPECT_EQ(c.enter(kAll, caller(2)).state, State::complete);
    c.end(next.round, PMIX_SUCCESS);
    EXPECT_TRUE(c.is_idle(kAll));
    EXPECT_EQ(c.enter_all(kAll, {}).round, 0u);
}

TEST(CollectiveTest, EnterAll_OfFewerThanExpected_WaitsForTheRest) {
    Table t;
    t.announced = 4;
    Collective c(t);
    const auto most = c.enter_all(kAll, {caller(0), caller(1), caller(2)});
    EXPECT_EQ(most.state, State::waiting);
    t.local.insert(3);
    EXPECT_EQ(c.enter(kAll, caller(3)).state, State::complete);
}

TEST(CollectiveTest, EnterAll_BeyondTheShareOfTheFirst_IsRefused) {
    Table t;
    Collective c(t);
    for (size_t i = 0; i < OpenShares::kMost; ++i) ASSERT_TRUE(c.enter(list({0, 1}), caller(0)).first);
    EXPECT_EQ(c.enter_all(kAll, {caller(0), caller(1), caller(2)}).state, State::refused);
    EXPECT_TRUE(c.is_idle(kAll));
}

}  // namespace collective_test

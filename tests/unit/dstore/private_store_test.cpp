// SPDX-License-Identifier: BSD-3-Clause
// The private store of a process: replacing, staging, pinning.
#include "dstore/private_store.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>

#include "support/sanitizers.h"
#include "support/store_values.h"

namespace pmix::dstore::private_store_test {
namespace {

using namespace test;

// One thread tries every order; under ThreadSanitizer a part of them.
#if defined(UNDER_TSAN)
constexpr unsigned kOrders = 89;
#else
constexpr unsigned kOrders = 1;
#endif

Buffer value(const PrivateStore& s, PrivateStore::Nspace ns, uint32_t rank, std::string_view key) {
    auto hit = s.find(ns, rank, Key(key));
    return hit ? Buffer(hit.bytes().begin(), hit.bytes().end()) : Buffer{};
}

Buffer value_for_local(const PrivateStore& s, PrivateStore::Nspace ns, uint32_t rank, std::string_view key) {
    auto hit = s.find_for_local(ns, rank, Key(key));
    return hit ? Buffer(hit.bytes().begin(), hit.bytes().end()) : Buffer{};
}

TEST(PrivateStore, FindsByNspaceRankAndKey) {
    PrivateStore s;
    EXPECT_EQ(s.nspace("a"), PrivateStore::kNone);
    const auto a = s.intern("a");
    const auto b = s.intern("b");
    EXPECT_NE(a, b);
    EXPECT_EQ(s.intern("a"), a);
    EXPECT_EQ(s.nspace("b"), b);
    EXPECT_FALSE(s.find(a, 0, Key("k")));
    s.put(a, 0, Key("k"), PMIX_GLOBAL, u32(1));
    s.put(a, 1, Key("k"), PMIX_GLOBAL, u32(2));
    s.put(b, 0, Key("k"), PMIX_INTERNAL, u32(3));
    s.put(a, 0, Key("kk"), PMIX_LOCAL, text("four"));
    EXPECT_EQ(value(s, a, 0, "k"), u32(1));
    EXPECT_EQ(value(s, a, 1, "k"), u32(2));
    EXPECT_EQ(value(s, b, 0, "k"), u32(3));
    EXPECT_EQ(value(s, a, 0, "kk"), text("four"));
    EXPECT_FALSE(s.find(b, 1, Key("k")));
    EXPECT_FALSE(s.find(PrivateStore::kNone, 0, Key("k")));
    EXPECT_EQ(s.find(b, 0, Key("k")).scope(), PMIX_INTERNAL);
}

// rows: K5
TEST(PrivateStore, ValuesForLocalAndForRemotePeersAreStagedSideBySide) {
    PrivateStore s;
    const auto ns = s.intern("job");
    s.put(ns, 0, Key("k"), PMIX_LOCAL, u32(1));
    s.put(ns, 0, Key("k"), PMIX_REMOTE, u32(2));
    EXPECT_EQ(value(s, ns, 0, "k"), u32(2)) << "what was put last";
    EXPECT_EQ(value_for_local(s, ns, 0, "k"), u32(1));
    std::vector<std::pair<pmix_scope_t, Buffer>> told;
    const auto tell = [&](std::string_view, pmix_scope_t scope, common::Bytes v) {
        told.emplace_back(scope, Buffer(v.begin(), v.end()));
    };
    EXPECT_EQ(s.take_staged(tell), 2u);
    const std::vector<std::pair<pmix_scope_t, Buffer>> both = {{PMIX_LOCAL, u32(1)}, {PMIX_REMOTE, u32(2)}};
    EXPECT_EQ(told, both);
    EXPECT_EQ(s.take_staged(tell), 0u);
    // A later put for everybody replaces both.
    s.put(ns, 0, Key("k"), PMIX_REMOTE, u32(3));
    s.put(ns, 0, Key("k"), PMIX_GLOBAL, u32(4));
    EXPECT_EQ(s.take_staged(tell), 1u);
}

// Every order of three puts, with and without a commit after each, beside a model: what local peers see, what remote
// peers see, what the process finds. rows: K29
TEST(PrivateStore, PutsInSeveralScopes_InAnyOrder_EachAudienceHasItsNewest) {
    constexpr pmix_scope_t kScopes[] = {PMIX_LOCAL, PMIX_REMOTE, PMIX_GLOBAL};
    for (unsigned order = 0; order < 3u * 3 * 3 * 3 * 16; order += kOrders) {
        PrivateStore s;
        const auto ns = s.intern("job");
        unsigned rest = order;
        uint32_t local = 0, remote = 0;        // what the puts mean
        uint32_t at_local = 0, at_remote = 0;  // what the commits brought there
        std::string told;
        const auto commit = [&] {
            s.take_staged([&](std::string_view, pmix_scope_t scope, common::Bytes v) {
                const uint32_t n = common::load_le<uint32_t>(v.data() + 2);
                if (scope != PMIX_REMOTE) at_local = n;
                if (scope != PMIX_LOCAL) at_remote = n;
            });
        };
        for (uint32_t n = 1; n <= 4; ++n) {
            const pmix_scope_t scope = kScopes[rest % 3];
            rest /= 3;
            told += std::to_string(scope) + ' ';
            s.put(ns, 0, Key("k"), scope, u32(n));
            if (scope != PMIX_REMOTE) local = n;
            if (scope != PMIX_LOCAL) remote = n;
            EXPECT_EQ(value(s, ns, 0, "k"), u32(n)) << told;
            EXPECT_EQ(value_for_local(s, ns, 0, "k"), u32(local != 0 ? local : remote)) << told;
            if (remote != 0) {
                const auto hit = s.find_for_remote(ns, 0, Key("k"));
                ASSERT_TRUE(hit) << told;
                EXPECT_EQ(Buffer(hit.bytes().begin(), hit.bytes().end()), u32(remote)) << told;
            }
            if ((order / 81) >> (n - 1) & 1) commit();
        }
        commit();
        EXPECT_EQ(at_local, local) << told << order / 81;
        EXPECT_EQ(at_remote, remote) << told << order / 81;
        std::vector<Buffer> listed, for_local;
        const auto list_in = [](std::vector<Buffer>& list) {
            return [&list](std::string_view, pmix_scope_t, common::Bytes v) { list.emplace_back(v.begin(), v.end()); };
        };
        s.for_each(ns, 0, list_in(listed));
        EXPECT_EQ(listed, std::vector<Buffer>{u32(4)}) << told;
        s.for_each_for_local(ns, 0, list_in(for_local));
        EXPECT_EQ(for_local, std::vector<Buffer>{u32(local != 0 ? local : remote)}) << told;
    }
}

// Every order of four calls in every scope, puts and deletions, with and without a commit after each, beside a model.
// rows: K38
TEST(PrivateStore, PutsAndDeletions_InAnyOrder_EachAudienceHasItsNewest) {
    constexpr pmix_scope_t kScopes[] = {PMIX_LOCAL, PMIX_REMOTE, PMIX_GLOBAL, PMIX_INTERNAL};
    constexpr unsigned kCalls = 8, kSteps = 4;
    for (unsigned order = 0; order < kCalls * kCalls * kCalls * kCalls * (1u << kSteps); order += kOrders) {
        PrivateStore s;
        const auto ns = s.intern("job");
        unsigned rest = order;
        // What the calls mean, 0 being nothing; and what the commits brought to the peers.
        uint32_t local = 0, remote = 0, internal = 0;
        uint32_t at_local = 0, at_remote = 0;
        std::string told;
        const auto commit = [&] {
            s.take_staged(
                [&](std::string_view, pmix_scope_t scope, common::Bytes v) {
                    const uint32_t n = is_deleted(v) ? 0 : common::load_le<uint32_t>(v.data() + 2);
                    if (scope != PMIX_REMOTE) at_local = n;
                    if (scope != PMIX_LOCAL) at_remote = n;
                },
                1);
        };
        for (uint32_t n = 1; n <= kSteps; ++n) {
            const pmix_scope_t scope = kScopes[rest % 4];
            const bool removes = rest % kCalls >= 4;
            rest /= kCalls;
            told += (removes ? "-" : "+") + std::to_string(scope) + ' ';
            if (removes) {
                s.remove(ns, 0, Key("k"), scope);
            } else {
                s.put(ns, 0, Key("k"), scope, u32(n));
            }
            const uint32_t value = removes ? 0 : n;
            if (scope == PMIX_LOCAL || scope == PMIX_GLOBAL) local = value;
            if (scope == PMIX_REMOTE || scope == PMIX_GLOBAL) remote = value;
            if (scope == PMIX_INTERNAL) internal = value;
            // A value that local peers see takes the place of an internal one.
            if (!removes && scope != PMIX_INTERNAL && scope != PMIX_REMOTE) internal = 0;
            const uint32_t own = std::max({internal, local, remote});
            const auto hit = s.find(ns, 0, Key("k"));
            const auto seen = [&]() -> uint32_t {
                if (!hit) return 0;
                if (!hit.deleted()) return common::load_le<uint32_t>(hit.bytes().data() + 2);
                const auto left = s.find_remaining(ns, 0, Key("k"));
                return !left || left.deleted() ? 0 : common::load_le<uint32_t>(left.bytes().data() + 2);
            };
            EXPECT_EQ(seen(), own) << told << (order >> 12);
            if (order >> 12 >> (n - 1) & 1) commit();
        }
        commit();
        EXPECT_EQ(at_local, local) << told << (order >> 12);
        EXPECT_EQ(at_remote, remote) << told << (order >> 12);
        if (::testing::Test::HasFailure()) return;
    }
}

// rows: K38
TEST(PrivateStore, DeletionOfAnInternalValue_LeavesThoseForPeers) {
    for (const pmix_scope_t scope : {PMIX_LOCAL, PMIX_REMOTE, PMIX_GLOBAL}) {
        PrivateStore s;
        const auto ns = s.intern("job");
        const auto staged = [&] {
            std::vector<std::pair<pmix_scope_t, Buffer>> all;
            s.take_staged([&](std::string_view, pmix_scope_t of,
                              common::Bytes v) { all.emplace_back(of, Buffer(v.begin(), v.end())); },
                          1);
            return all;
        };
        const std::vector<std::pair<pmix_scope_t, Buffer>> the_put = {{scope, u32(1)}};
        // There is no internal value.
        s.put(ns, 0, Key("k"), scope, u32(1));
        s.remove(ns, 0, Key("k"), PMIX_INTERNAL);
        EXPECT_EQ(value(s, ns, 0, "k"), u32(1));
        EXPECT_EQ(s.find(ns, 0, Key("k")).scope(), scope);
        EXPECT_EQ(staged(), the_put);
        // There is one, above a value that was committed, and above one that was not.
        for (const bool committed : {true, false}) {
            if (!committed) s.put(ns, 0, Key("k"), scope, u32(1));
            s.put(ns, 0, Key("k"), PMIX_INTERNAL, u32(2));
            s.remove(ns, 0, Key("k"), PMIX_INTERNAL);
            const auto left = s.find_remaining(ns, 0, Key("k"));
            ASSERT_TRUE(left);
            EXPECT_EQ(Buffer(left.bytes().begin(), left.bytes().end()), u32(1));
            EXPECT_EQ(left.scope(), scope);
            if (committed) {
                EXPECT_FALSE(s.anything_staged()) << "no peer is told of it";
            } else {
                EXPECT_EQ(staged(), the_put);
            }
        }
    }
}

TEST(PrivateStore, GrowsAndKeepsEverything) {
    PrivateStore s;
    const auto ns = s.intern("job");
    for (uint32_t i = 0; i < 5000; ++i) s.put(ns, i % 50, Key("key." + std::to_string(i)), PMIX_INTERNAL, u32(i));
    for (uint32_t i = 0; i < 5000; ++i) ASSERT_EQ(value(s, ns, i % 50, "key." + std::to_string(i)), u32(i));
    size_t n = 0;
    s.for_each(ns, 7, [&](std::string_view key, pmix_scope_t scope, common::Bytes v) {
        EXPECT_EQ(scope, PMIX_INTERNAL);
        EXPECT_EQ(Buffer(v.begin(), v.end()), u32(static_cast<uint32_t>(std::stoul(std::string(key.substr(4))))));
        ++n;
    });
    EXPECT_EQ(n, 100u);
}

TEST(PrivateStore, StagedOncePerCommit) {
    PrivateStore s;
    const auto ns = s.intern("job");
    EXPECT_FALSE(s.anything_staged());
    s.put(ns, 0, Key("b"), PMIX_GLOBAL, u32(1));
    s.put(ns, 0, Key("a"), PMIX_LOCAL, u32(1));
    s.put(ns, 0, Key("i"), PMIX_INTERNAL, u32(1));
    s.put(ns, 0, Key("b"), PMIX_REMOTE, u32(2));
    EXPECT_TRUE(s.anything_staged());
    using Told = std::vector<std::tuple<std::string, pmix_scope_t, Buffer>>;
    auto take = [&] {
        Told told;
        s.take_staged([&](std::string_view k, pmix_scope_t scope, common::Bytes v) {
            told.emplace_back(k, scope, Buffer(v.begin(), v.end()));
        });
        return told;
    };
    // Local peers still get the first value of "b".
    const Told first = {{"b", PMIX_GLOBAL, u32(1)}, {"a", PMIX_LOCAL, u32(1)}, {"b", PMIX_REMOTE, u32(2)}};
    EXPECT_EQ(take(), first);
    EXPECT_FALSE(s.anything_staged());
    EXPECT_EQ(take(), Told{});
    s.put(ns, 0, Key("a"), PMIX_LOCAL, u32(3));
    s.put(ns, 0, Key("c"), PMIX_LOCAL, u32(4));
    s.put(ns, 0, Key("c"), PMIX_INTERNAL, u32(5));  // for the process alone: peers get 4
    const Told second = {{"a", PMIX_LOCAL, u32(3)}, {"c", PMIX_LOCAL, u32(4)}};
    EXPECT_EQ(take(), second);
    EXPECT_EQ(value(s, ns, 0, "c"), u32(5));
}

// What was put for peers is still committed, and sent again after a refusal; the process finds the newer internal
// value.
// rows: K7
TEST(PrivateStore, InternalValue_OverOneForPeers_LeavesThatToBeSent) {
    PrivateStore s;
    const auto ns = s.intern("job");
    using Told = std::vector<std::pair<pmix_scope_t, Buffer>>;
    const auto take = [&](uint32_t mark) {
        Told told;
        s.take_staged([&](std::string_view, pmix_scope_t scope,
                          common::Bytes v) { told.emplace_back(scope, Buffer(v.begin(), v.end())); },
                      mark);
        return told;
    };
    const auto put = [&](const char* key, pmix_scope_t scope, uint32_t v) { s.put(ns, 0, Key(key), scope, u32(v)); };
    uint32_t mark = 1;
    for (const pmix_scope_t scope : {PMIX_LOCAL, PMIX_REMOTE, PMIX_GLOBAL}) {
        const std::string key = "k" + std::to_string(scope);
        put(key.c_str(), scope, 1);
        put(key.c_str(), PMIX_INTERNAL, 2);
        put(key.c_str(), PMIX_INTERNAL, 3);
        EXPECT_EQ(value(s, ns, 0, key.c_str()), u32(3));
        EXPECT_EQ(take(++mark), (Told{{scope, u32(1)}}));
        EXPECT_EQ(value(s, ns, 0, key.c_str()), u32(3));
        EXPECT_FALSE(s.anything_staged());
        s.stage_again(ns, 0, mark);
        EXPECT_EQ(take(++mark), (Told{{scope, u32(1)}})) << "after a refusal";
    }
    // Taken first and replaced then: a refusal may still come.
    put("t", PMIX_GLOBAL, 1);
    take(++mark);
    put("t", PMIX_INTERNAL, 2);
    EXPECT_FALSE(s.anything_staged());
    s.stage_again(ns, 0, mark);
    EXPECT_EQ(take(++mark), (Told{{PMIX_GLOBAL, u32(1)}}));

    // A newer value for the same peers takes the place of what was kept, also if it is kept itself; one for others does
    // not.
    put("n", PMIX_GLOBAL, 4);
    put("n", PMIX_INTERNAL, 5);
    put("n", PMIX_GLOBAL, 6);
    EXPECT_EQ(value(s, ns, 0, "n"), u32(6));
    EXPECT_EQ(take(++mark), (Told{{PMIX_GLOBAL, u32(6)}}));
    put("m", PMIX_GLOBAL, 4);
    put("m", PMIX_INTERNAL, 5);
    put("m", PMIX_LOCAL, 6);
    put("m", PMIX_INTERNAL, 7);
    EXPECT_EQ(value(s, ns, 0, "m"), u32(7));
    EXPECT_EQ(take(++mark), (Told{{PMIX_GLOBAL, u32(4)}, {PMIX_LOCAL, u32(6)}})) << "remote peers see 4, local ones 6";
    for (uint32_t i = 0; i < 100; ++i) {
        put("often", PMIX_GLOBAL, i);
        put("often", PMIX_INTERNAL, 1000);
    }
    EXPECT_EQ(take(++mark), (Told{{PMIX_GLOBAL, u32(99)}}));
}

TEST(PrivateStore, AFailedTakeLosesNothing) {
    PrivateStore s;
    const auto ns = s.intern("job");
    s.put(ns, 0, Key("a"), PMIX_GLOBAL, u32(1));
    EXPECT_THROW(s.take_staged([](std::string_view, pmix_scope_t, common::Bytes) { throw std::bad_alloc(); }),
                 std::bad_alloc);
    size_t n = s.take_staged([](std::string_view, pmix_scope_t, common::Bytes) {});
    EXPECT_EQ(n, 1u);
}

TEST(PrivateStore, TakeStaged_UntilFull_LeavesTheRestStaged) {
    PrivateStore s;
    const auto ns = s.intern("job");
    const auto name = [](uint32_t i) { return "k" + std::to_string(i); };
    for (uint32_t i = 0; i < 10; ++i) s.put(ns, 0, Key(name(i)), PMIX_GLOBAL, u32(i));
    std::vector<std::string> told;
    const auto take = [&](size_t most) {
        size_t n = 0;
        return s.take_staged([&](std::string_view key, pmix_scope_t, common::Bytes) {
            if (n++ == most) return false;
            told.emplace_back(key);
            return true;
        });
    };
    EXPECT_EQ(take(3), 3u);
    EXPECT_TRUE(s.anything_staged());
    s.put(ns, 0, Key(name(1)), PMIX_GLOBAL, u32(100));  // taken already: staged anew, at the end
    s.put(ns, 0, Key(name(5)), PMIX_GLOBAL, u32(101));  // keeps its place
    s.put(ns, 0, Key(name(6)), PMIX_INTERNAL, u32(102));
    EXPECT_EQ(take(100), 8u);
    EXPECT_EQ(told, (std::vector<std::string>{"k0", "k1", "k2", "k3", "k4", "k5", "k6", "k7", "k8", "k9", "k1"}));
    EXPECT_FALSE(s.anything_staged());
}

TEST(PrivateStore, StageAgain_OfWhatWasTakenSinceACommit_StagesWhatStillCounts) {
    PrivateStore s;
    const auto ns = s.intern("job");
    uint32_t commit = UINT32_MAX - 1;  // marks wrap around
    std::vector<std::string> told;
    const auto take = [&](uint32_t mark) {
        told.clear();
        return s.take_staged([&](std::string_view key, pmix_scope_t, common::Bytes) { told.emplace_back(key); }, mark);
    };
    s.put(ns, 0, Key("old"), PMIX_GLOBAL, u32(1));
    take(commit++);
    s.put(ns, 0, Key("a"), PMIX_GLOBAL, u32(1));
    s.put(ns, 0, Key("b"), PMIX_GLOBAL, u32(1));
    s.put(ns, 0, Key("c"), PMIX_GLOBAL, u32(1));
    s.put(ns, 1, Key("another's"), PMIX_GLOBAL, u32(1));
    take(commit);
    s.put(ns, 0, Key("b"), PMIX_GLOBAL, u32(2));
    take(1);
    s.put(ns, 0, Key("c"), PMIX_INTERNAL, u32(2));
    s.stage_again(ns, 0, commit);
    s.stage_again(ns, 0, commit);
    EXPECT_EQ(take(2), 3u);
    std::sort(told.begin(), told.end());
    EXPECT_EQ(told, (std::vector<std::string>{"a", "b", "c"}));
    s.stage_again(ns, 0, 3);
    EXPECT_FALSE(s.anything_staged());
}

// What was refused comes before what was put over it since: the later value counts for the peers that it is meant for.
TEST(PrivateStore, StageAgain_OfValueThatOnlyRemotePeersSeeNow_ComesBeforeTheLocalOne) {
    PrivateStore s;
    const auto ns = s.intern("job");
    std::vector<std::pair<pmix_scope_t, Buffer>> told;
    const auto take = [&](uint32_t mark) {
        told.clear();
        s.take_staged([&](std::string_view, pmix_scope_t scope,
                          common::Bytes v) { told.emplace_back(scope, Buffer(v.begin(), v.end())); },
                      mark);
        return told;
    };
    const std::vector<std::pair<pmix_scope_t, Buffer>> both = {{PMIX_GLOBAL, u32(1)}, {PMIX_LOCAL, u32(2)}};
    s.put(ns, 0, Key("k"), PMIX_GLOBAL, u32(1));
    take(1);
    s.put(ns, 0, Key("k"), PMIX_LOCAL, u32(2));
    s.stage_again(ns, 0, 1);
    EXPECT_EQ(take(2), both);
    s.stage_again(ns, 0, 1);
    EXPECT_EQ(take(3), both) << "both were taken";
    s.put(ns, 0, Key("k"), PMIX_REMOTE, u32(3));
    s.stage_again(ns, 0, 1);
    EXPECT_EQ(take(4), (std::vector<std::pair<pmix_scope_t, Buffer>>{{PMIX_LOCAL, u32(2)}, {PMIX_REMOTE, u32(3)}}));
}

TEST(PrivateStore, ReplacedValuesAreFreedUnlessHeldOrPinned) {
    PrivateStore s;
    const auto ns = s.intern("job");
    s.put(ns, 0, Key("k"), PMIX_GLOBAL, blob(1000, 0));
    const size_t one = s.bytes();
    for (int i = 1; i < 100; ++i) s.put(ns, 0, Key("k"), PMIX_GLOBAL, blob(1000, static_cast<uint8_t>(i)));
    EXPECT_EQ(s.bytes(), one);
    {
        const auto held = s.find(ns, 0, Key("k"));
        s.put(ns, 0, Key("k"), PMIX_GLOBAL, blob(1000, 200));
        EXPECT_EQ(Buffer(held.bytes().begin(), held.bytes().end()), blob(1000, 99));
        EXPECT_EQ(s.bytes(), 2 * one);
    }
    s.put(ns, 0, Key("k"), PMIX_GLOBAL, blob(1000, 201));
    EXPECT_EQ(s.bytes(), one);
    const uint8_t* pinned;
    {
        const auto hit = s.find(ns, 0, Key("k"));
        EXPECT_EQ((reinterpret_cast<uintptr_t>(hit.bytes().data()) + common::kBytesOffset) % 16, 0u);
        hit.pin();
        pinned = hit.bytes().data();
    }
    for (int i = 0; i < 10; ++i) s.put(ns, 0, Key("k"), PMIX_GLOBAL, blob(1000, 202));
    EXPECT_EQ(s.bytes(), 2 * one);
    const Buffer expected = blob(1000, 201);
    EXPECT_TRUE(std::equal(expected.begin(), expected.end(), pinned));
}

// Readers overlap, so that at no moment nobody is inside: what was replaced is freed all the same.
TEST(PrivateStore, FreeRetired_WithOverlappingReaders_IsNotStarved) {
    PrivateStore s;
    const auto ns = s.intern("job");
    s.put(ns, 0, Key("k"), PMIX_INTERNAL, blob(1000, 0));
    const size_t one = s.bytes();
    auto before = std::make_unique<PrivateStore::Lookup>(s.find(ns, 0, Key("k")));
    const auto first = *before->bytes().begin();
    size_t most = 0;
    for (int i = 1; i < 1000; ++i) {
        s.put(ns, 0, Key("k"), PMIX_INTERNAL, blob(1000, static_cast<uint8_t>(i)));
        auto next = std::make_unique<PrivateStore::Lookup>(s.find(ns, 0, Key("k")));
        const Buffer expected = blob(1000, static_cast<uint8_t>(i - 1));
        EXPECT_EQ(Buffer(before->bytes().begin(), before->bytes().end()), expected) << "held by its reader";
        before = std::move(next);
        most = std::max(most, s.bytes());
    }
    (void)first;
    EXPECT_LE(most, 6 * one);
    // One that stays keeps what it may see, and what was replaced after it, but nobody else's.
    const auto stays = s.find(ns, 0, Key("k"));
    before.reset();
    for (int i = 0; i < 10; ++i) s.put(ns, 0, Key("k"), PMIX_INTERNAL, blob(1000, static_cast<uint8_t>(i)));
    // New keys of this size take whatever memory is free.
    for (int i = 0; i < 10; ++i) s.put(ns, 0, Key("k" + std::to_string(i)), PMIX_INTERNAL, blob(1000, 255));
    const Buffer last = blob(1000, static_cast<uint8_t>(999));
    EXPECT_EQ(Buffer(stays.bytes().begin(), stays.bytes().end()), last);
}

// More than small tables hold, whose slots have all the hash they need; values of all sizes, each put twice.
TEST(PrivateStore, LargeTablesAndLargeValues) {
    PrivateStore s;
    const auto ns = s.intern("job");
    const auto size_of = [](uint32_t i) { return i % 97 == 0 ? 5000 + size_t{i} % 40000 : size_t{i} % 200; };
    const auto key = [](uint32_t i) { return "key." + std::to_string(i); };
    for (int round = 0; round < 2; ++round) {
        for (uint32_t i = 0; i < 6000; ++i)
            s.put(ns, i % 3, Key(key(i)), PMIX_GLOBAL,
                  blob(size_of(i), static_cast<uint8_t>(i + static_cast<uint32_t>(round))));
    }
    for (uint32_t i = 0; i < 6000; ++i)
        ASSERT_EQ(value(s, ns, i % 3, key(i)), blob(size_of(i), static_cast<uint8_t>(i + 1)));
    EXPECT_EQ(s.take_staged([](std::string_view, pmix_scope_t, common::Bytes) {}), 6000u);
    EXPECT_FALSE(s.find(ns, 1, Key(key(0))));
    EXPECT_FALSE(s.find(ns, 0, Key(key(6000))));
}

}  // namespace
}  // namespace pmix::dstore::private_store_test

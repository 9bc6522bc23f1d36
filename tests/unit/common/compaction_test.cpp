// SPDX-License-Identifier: BSD-3-Clause
// A new segment with what counts: everything that could be asked before is answered alike, and what comes later finds
// its place.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "common/placement/node_map.h"
#include "dstore/layout.h"
#include "support/portable_random.h"
#include "support/status.h"
#include "support/store_values.h"

namespace pmix::dstore::compaction_test {
namespace {

using namespace test;

constexpr uint32_t kRanks = 40;
const uint32_t kFar[] = {5000, 3'000'000, 4'000'000'000u};

// All that a reader can say.
struct Answers {
    std::map<std::string, std::pair<Buffer, pmix_scope_t>> values;
    std::vector<uint64_t> numbers;
    std::vector<std::string> names;
    bool operator==(const Answers&) const = default;
};

Answers ask_all(const Writer& w) {
    auto reader = open_reader(w);
    const Reader& r = *reader;
    Answers a;
    auto ask = [&](Owner owner) {
        r.for_each(owner, [&](std::string_view key, const Found& f) {
            a.values[std::to_string(static_cast<int>(owner.kind)) + "/" + std::to_string(owner.index) + "/" +
                     std::string(key)] = {copy_of(f), f.scope()};
        });
    };
    ask(Owner::job());
    for (uint32_t i = 0; i < 4; ++i) {
        ask(Owner::session(i));
        ask(Owner::app(i));
        ask(Owner::node(i));
    }
    auto ask_rank = [&](uint32_t rank) {
        ask(Owner::proc(rank));
        a.numbers.push_back(r.generation_of(rank));
        a.numbers.push_back(r.has_commits(rank));
        a.numbers.push_back(r.node_of(rank).value_or(99));
        a.numbers.push_back(r.local_rank(rank).value_or(99));
        a.numbers.push_back(r.app_of(rank).value_or(99));
        a.numbers.push_back(w.committed(rank));
        a.numbers.push_back(w.exists_outside_scope(rank, Key("remote")));
    };
    for (uint32_t rank = 0; rank < kRanks; ++rank) ask_rank(rank);
    for (uint32_t rank : kFar) ask_rank(rank);
    for (uint32_t node = 0; node < r.nodes(); ++node) {
        a.names.emplace_back(r.node_name(node));
        a.numbers.push_back(r.node_by_name(r.node_name(node)).value_or(99));
        a.numbers.push_back(r.node_id(node).value_or(99));
        a.numbers.push_back(r.node_by_id(r.node_id(node).value_or(0)).value_or(99));
        for (uint32_t i = 0; i < r.local_size(node).value_or(0); ++i)
            a.numbers.push_back(r.rank_on(node, i).value_or(99));
    }
    for (const char* alias : {"first", "last.domain", "nobody"})
        a.numbers.push_back(r.node_by_name(alias).value_or(99));
    for (uint32_t since : {0u, 3u}) {
        std::vector<RankSince> ranks;
        for (uint32_t rank = 0; rank < 4; ++rank) ranks.push_back({rank, since});
        Buffer chunk = w.contribution(ranks).value();
        a.names.emplace_back(chunk.begin(), chunk.end());
    }
    return a;
}

void describe(Writer& w, const char* form) {
    const auto map = common::parse_proc_map(std::string_view(form)).value();
    std::vector<std::string> nodes;
    std::vector<uint32_t> ids;
    for (uint32_t i = 0; i < map.nnodes(); ++i) {
        nodes.push_back("node" + std::to_string(i));
        ids.push_back(1000 - 3 * i);
    }
    const NodeAlias aliases[] = {{0, "first"}, {map.nnodes() - 1, "last.domain"}};
    const AppRange apps[] = {{0, 2}, {2, map.rank_limit() - 2}};
    ASSERT_STATUS(PMIX_SUCCESS, w.set_placement({&map, nodes, ids, aliases, apps}));
    ColumnBuilder procs(OwnerKind::proc), of_nodes(OwnerKind::node);
    for (uint32_t rank = 0; rank < 12; ++rank) {
        procs.set(rank, "p.number", u32(7 * rank % 5));
        if (rank % 3 != 1) procs.set(rank, "p.text", text("value" + std::to_string(rank % 4)));
        procs.set(rank, "p.same", u32(3));
    }
    procs.compute("p.node", Computed::node_id, PMIX_UINT32, 4);
    of_nodes.set(1, "n.text", text("second"));
    ASSERT_STATUS(PMIX_SUCCESS, w.add_columns(std::move(procs)));
    ASSERT_STATUS(PMIX_SUCCESS, w.add_columns(std::move(of_nodes)));
}

Buffer value_of(uint32_t n) {
    return n % 3 == 0 ? u32(n) : text(std::string(1 + n % 70, static_cast<char>('a' + n % 26)));
}

// A store with everything in it, much of it replaced.
void fill(Writer& w, uint32_t seed) {
    for (uint32_t rank = 0; rank < 4; ++rank) w.add_local(rank);
    for (uint32_t n = seed; n < seed + 60; ++n) {
        ASSERT_STATUS(PMIX_SUCCESS,
                      w.put(Owner::job(), Records().add("job." + std::to_string(n % 7), value_of(n)).list()));
        for (Owner o : {Owner::session(n % 3), Owner::app(n % 2), Owner::node(n % 2), Owner::proc_info(n % kRanks),
                        Owner::proc_info(kFar[n % 3])})
            ASSERT_STATUS(PMIX_SUCCESS,
                          w.put(o, Records().add("said." + std::to_string(n % 3), value_of(n + 1)).list()));
        const uint32_t rank = n % 4;
        Records records;
        for (uint32_t k = 0; k < 3 + n % 5; ++k) records.add("own." + std::to_string(k), value_of(n + k));
        records.add("near", value_of(n), PMIX_LOCAL).add("remote", value_of(n + 2), PMIX_REMOTE);
        // Seen by all first, then two values: one for peers here, one for those elsewhere.
        records.add("both", value_of(n), n % 8 < 4 ? PMIX_GLOBAL : PMIX_LOCAL);
        // Put before, and not again by the last commits of a rank.
        const Buffer deleted(std::begin(kDeletedValue), std::end(kDeletedValue));
        constexpr pmix_scope_t kScopes[] = {PMIX_LOCAL, PMIX_REMOTE, PMIX_GLOBAL};
        if (n < seed + 30) records.add("gone." + std::to_string(n % 3), value_of(n));
        if (n >= seed + 20) records.add("gone." + std::to_string(n % 3), deleted, kScopes[n % 3]);
        ASSERT_TRUE(w.commit(rank, records.list()).ok());
        const uint32_t other = 10 + n % 9;
        ASSERT_STATUS(PMIX_SUCCESS, w.ingest(chunk_of(other, {n, n - 9, n < 20},
                                                      Records().add("theirs." + std::to_string(n % 4), value_of(n))))
                                        .status);
    }
}

TEST(Compaction, EverythingIsAnsweredAlike) {
    for (const char* form : {"0-3;4-7;8-11", "0,2,4;1,3;5-11", "0-4;5;6-9;;10-30"}) {
        auto w = make_writer();
        describe(*w, form);
        fill(*w, 1);
        const Answers before = ask_all(*w);
        const uint64_t publications = w->reader().publications();
        const uint64_t bytes = w->published_bytes();
        auto old = open_reader(*w);
        auto compacted = w->compact();
        ASSERT_TRUE(compacted.ok());
        ASSERT_TRUE(*compacted) << bytes;
        EXPECT_EQ(before, ask_all(*w));
        EXPECT_LT(w->published_bytes(), bytes);
        EXPECT_GT(w->reader().publications(), publications);
        EXPECT_EQ(before.values.at("0/0/job.1").first, get(*old, Owner::job(), "job.1")) << "who still reads there";

        // The writer continues after the compaction as it does without one.
        auto twin = make_writer();
        describe(*twin, form);
        fill(*twin, 1);
        for (uint32_t again = 0; again < 2; ++again) {
            fill(*w, 61 + 60 * again);
            fill(*twin, 61 + 60 * again);
            EXPECT_EQ(ask_all(*twin), ask_all(*w));
            ASSERT_TRUE(w->compact().ok());
            EXPECT_EQ(ask_all(*twin), ask_all(*w));
        }
    }
}

TEST(Compaction, WhatIsMissingBeforeIsMissedAfterwards) {
    auto w = make_writer();
    auto key = [](int n) { return Records().add("k" + std::to_string(n), u32(static_cast<uint32_t>(n))); };
    ASSERT_STATUS(PMIX_SUCCESS, w->ingest(chunk_of(9, {1, 0, true}, key(1))).status);
    ASSERT_STATUS(PMIX_SUCCESS, w->ingest(chunk_of(9, {3, 2, false}, key(3))).status);
    for (uint32_t n = 0; n < 100; ++n)
        ASSERT_STATUS(PMIX_SUCCESS, w->put(Owner::job(), Records().add("x", blob(1000 + n, 1)).list()));
    ASSERT_TRUE(w->compact().value());
    EXPECT_EQ(1u, w->reader().generation_of(9));
    EXPECT_EQ(u32(3), get(w->reader(), Owner::proc(9), "k3"));
    ASSERT_EQ(1u, w->ingest(chunk_of(9, {2, 1, false}, key(2).add("k3", u32(99)))).blocks);
    EXPECT_EQ(3u, w->reader().generation_of(9)) << "all of it is here now";
    EXPECT_EQ(u32(2), get(w->reader(), Owner::proc(9), "k2"));
    EXPECT_EQ(u32(3), get(w->reader(), Owner::proc(9), "k3")) << "what is newer stays on top";
}

TEST(Compaction, AllGapsOfARank_StayWhereTheyWere) {
    auto w = make_writer();
    auto delta = [](uint32_t g) {
        return chunk_of(9, {g, g - 1, false}, Records().add("k", u32(g)).add("k" + std::to_string(g), u32(g)));
    };
    ASSERT_EQ(1u, w->ingest(delta(1)).blocks);
    const uint32_t last = 1 + 2 * layout::kMaxGaps;
    for (uint32_t g = 3; g <= last; g += 2) ASSERT_EQ(1u, w->ingest(delta(g)).blocks);
    for (uint32_t n = 0; n < 100; ++n)
        ASSERT_STATUS(PMIX_SUCCESS, w->put(Owner::job(), Records().add("x", blob(1000 + n, 1)).list()));
    ASSERT_TRUE(w->compact().value());
    EXPECT_EQ(1u, w->reader().generation_of(9));
    for (uint32_t g = 3; g <= last; g += 2) EXPECT_EQ(1u, w->ingest(delta(g)).skipped) << g;
    // The missing ones, the newest first.
    for (uint32_t g = last - 1; g >= 2; g -= 2) {
        ASSERT_EQ(1u, w->ingest(delta(g)).blocks) << g;
        EXPECT_EQ(g == 2 ? last : 1u, w->reader().generation_of(9));
        EXPECT_EQ(u32(last), get(w->reader(), Owner::proc(9), "k"));
    }
    for (uint32_t g = 1; g <= last; ++g) EXPECT_EQ(u32(g), get(w->reader(), Owner::proc(9), "k" + std::to_string(g)));
}

// The server asks for it when it pays, and what is only added does not.
// A deletion is given back with what it hides, unless something below it is missing. rows: K38
TEST(Compaction, Deletion_HidesAfterwardsWhatItHidBefore) {
    const Buffer deleted(std::begin(kDeletedValue), std::end(kDeletedValue));
    auto from = make_writer(), w = make_writer();
    from->add_local(0);
    std::vector<Buffer> deltas;
    const auto commit = [&](const char* key, const Buffer& value) {
        ASSERT_TRUE(from->commit(0, Records().add(key, value).list()).ok());
        const RankSince since[] = {{0, from->committed(0) - 1}};
        deltas.push_back(from->contribution(since).value());
    };
    commit("known", text(std::string(20'000, 'a')));
    commit("known", deleted);
    commit("missing", u32(3));
    commit("missing", deleted);
    for (size_t i : {0u, 1u, 3u}) ASSERT_STATUS(PMIX_SUCCESS, w->ingest(deltas[i]).status);
    ASSERT_TRUE(w->compact().value());
    ASSERT_TRUE(from->compact().value());
    EXPECT_LT(w->published_bytes(), 10'000u);
    EXPECT_EQ(get(w->reader(), Owner::proc(0), "known"), Buffer{});
    EXPECT_EQ(get(from->reader(), Owner::proc(0), "known"), Buffer{});
    ASSERT_STATUS(PMIX_SUCCESS, w->ingest(deltas[2]).status);
    EXPECT_EQ(get(w->reader(), Owner::proc(0), "missing"), Buffer{}) << "the deletion is newer";
    // Nodes that do not know of it yet are told as before, and it is no change to delete again.
    const RankSince since[] = {{0, 1}};
    auto other = make_writer();
    ASSERT_STATUS(PMIX_SUCCESS, other->ingest(deltas[0]).status);
    ASSERT_STATUS(PMIX_SUCCESS, other->ingest(from->contribution(since).value()).status);
    EXPECT_EQ(get(other->reader(), Owner::proc(0), "known"), Buffer{});
    EXPECT_EQ(from->commit(0, Records().add("known", deleted).list()).value(), 4u);
}

TEST(Compaction, IsDueWhenMuchWasReplaced) {
    auto w = make_writer();
    for (const char* key : {"first", "second", "third"}) {
        for (uint32_t rank = 0; rank < 3000; ++rank) {
            w->add_local(rank);
            ASSERT_TRUE(w->commit(rank, Records().add(key, blob(200, 1)).list()).ok());
        }
    }
    EXPECT_TRUE(w->compaction_due()) << "it cannot know without a look";
    EXPECT_FALSE(w->compact().value());
    EXPECT_FALSE(w->compaction_due());

    auto r = make_writer();
    r->add_local(0);
    uint64_t most = 0;
    int times = 0;
    for (uint32_t n = 0; n < 20000; ++n) {
        ASSERT_TRUE(r->commit(0, Records().add("key", blob(1 + n % 500, static_cast<uint8_t>(n))).list()).ok());
        if (r->compaction_due()) times += r->compact().value();
        most = std::max(most, r->published_bytes());
    }
    EXPECT_GT(times, 10);
    EXPECT_LT(most, 400u << 10) << "5 MiB were written";
    EXPECT_EQ(blob(1 + 19999 % 500, static_cast<uint8_t>(19999)), get(r->reader(), Owner::proc(0), "key"));
}

// As where a host defines process sets and deletes them again.
TEST(Compaction, ReplacedColumnsOfRanksAndNodes_AreGivenBack) {
    for (const OwnerKind kind : {OwnerKind::proc, OwnerKind::node}) {
        auto w = make_writer();
        describe(*w, "0,1,2;3,4,5");
        uint64_t most = 0;
        int times = 0;
        for (uint32_t n = 0; n < 20000; ++n) {
            ColumnBuilder sets(kind);
            for (uint32_t rank = 0; rank < 4; ++rank)
                sets.set(rank, "sets", text(std::string(1 + (n + rank) % 20, 'x')));
            ASSERT_STATUS(PMIX_SUCCESS, w->add_columns(std::move(sets)));
            if (w->compaction_due()) times += w->compact().value();
            most = std::max(most, w->published_bytes());
        }
        EXPECT_GT(times, 10);
        EXPECT_LT(most, 400u << 10) << "some 10 MiB were written";
        EXPECT_EQ(text(std::string(1 + 19999 % 20, 'x')), get(w->reader(), {kind, 0}, "sets"));
        EXPECT_EQ("node1", w->reader().node_name(1));
    }
}

// Another map each time, as of a job that grows and shrinks.
TEST(Compaction, ReplacedPlacements_AreGivenBack) {
    auto w = make_writer();
    uint64_t most = 0;
    int times = 0;
    const char* const forms[] = {"0,1,2;3,4,5", "0,2,4;1,3,5", "5,4,0;3,1,2;6", "0;1;2;3;4;5;6"};
    for (uint32_t n = 0; n < 10000; ++n) {
        const auto map = common::parse_proc_map(std::string_view(forms[n % 4])).value();
        std::vector<std::string> nodes;
        std::vector<uint32_t> ids;
        for (uint32_t i = 0; i < map.nnodes(); ++i) {
            nodes.push_back("node" + std::to_string(i));
            ids.push_back(1000 - 3 * i);
        }
        const NodeAlias aliases[] = {{0, "first"}};
        const AppRange apps[] = {{0, map.nranks()}};
        ASSERT_STATUS(PMIX_SUCCESS, w->set_placement({&map, nodes, ids, aliases, apps}));
        if (w->compaction_due()) times += w->compact().value();
        most = std::max(most, w->published_bytes());
    }
    EXPECT_GT(times, 5);
    EXPECT_LT(most, 400u << 10);
    EXPECT_EQ(0u, w->reader().node_by_name("first").value_or(99));
}

// Columns and values count for more than what was replaced beside them: to copy them would give little back.
TEST(Compaction, LargeColumnsThatCount_AreNotCopiedForALittle) {
    auto w = make_writer();
    ColumnBuilder large(OwnerKind::proc);
    for (uint32_t rank = 0; rank < 20000; ++rank) large.set(rank, "p.text", text("of rank " + std::to_string(rank)));
    ASSERT_STATUS(PMIX_SUCCESS, w->add_columns(std::move(large)));
    const uint64_t columns = w->published_bytes();
    ASSERT_GT(columns, 600u << 10);
    for (uint32_t rank = 0; w->published_bytes() < columns * 5 / 3; ++rank) {
        w->add_local(rank);
        for (size_t size : {1, 2000})
            ASSERT_TRUE(w->commit(rank, Records().add("size" + std::to_string(size), blob(size, 1)).list()).ok());
    }
    for (uint32_t n = 0; n < 2000 && !w->compaction_due(); ++n)
        ASSERT_TRUE(w->commit(0, Records().add("again", blob(500, static_cast<uint8_t>(n))).list()).ok());
    ASSERT_TRUE(w->compaction_due());
    EXPECT_LT(w->published_bytes(), columns * 5 / 2);
    EXPECT_FALSE(w->compact().value());
    EXPECT_FALSE(w->compaction_due());
}

TEST(Compaction, WithoutMemoryAllStaysAsItWas) {
    auto w = make_writer();
    fill(*w, 1);
    const Answers before = ask_all(*w);
    // Writer::compact() makes a segment: no descriptor is left for it.
    std::vector<int> all;
    for (int fd = dup(0); fd >= 0; fd = dup(0)) all.push_back(fd);
    auto compacted = w->compact();
    for (int fd : all) close(fd);
    EXPECT_FALSE(compacted.ok());
    EXPECT_EQ(before, ask_all(*w));
}

}  // namespace
}  // namespace pmix::dstore::compaction_test

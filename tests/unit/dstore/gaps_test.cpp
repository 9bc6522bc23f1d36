// SPDX-License-Identifier: BSD-3-Clause
// Deltas of another node that something in front of them is missing for: which value counts and what is known, in
// whatever order they come, how many of them are taken, and what they cost.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <string>
#include <utility>
#include <vector>

#include "dstore/contribution.h"
#include "dstore/layout.h"
#include "dstore/writer.h"
#include "support/status.h"
#include "support/store_values.h"

namespace pmix::dstore::gaps_test {
namespace {

using namespace test;

// A delta from generation `base` on: one key of its own, and "k" where it has changed that.
Buffer delta_of(uint32_t base, uint32_t generation, bool changes_k) {
    Records records;
    records.add("x" + std::to_string(generation), u32(generation));
    if (changes_k) records.add("k", u32(generation));
    return chunk_of(3, {generation, base, false}, records);
}

TEST(Gaps, Ingest_GapAboveAFullChain_LateDeltaStandsAboveOlderValues) {
    for (uint32_t before = 1; before <= 2 * layout::kMaxChain; ++before) {
        auto w = make_writer();
        const Reader& r = w->reader();
        for (uint32_t g = 1; g <= before; ++g) ASSERT_EQ(w->ingest(delta_of(g - 1, g, g == 1)).blocks, 1u);
        ASSERT_EQ(w->ingest(delta_of(before + 1, before + 2, false)).blocks, 1u);
        EXPECT_EQ(r.generation_of(3), before);
        EXPECT_EQ(w->ingest(delta_of(before + 1, before + 2, false)).skipped, 1u) << before;
        ASSERT_EQ(w->ingest(delta_of(before, before + 1, true)).blocks, 1u);
        EXPECT_EQ(get(r, Owner::proc(3), "k"), u32(before + 1)) << before;
        EXPECT_EQ(r.generation_of(3), before + 2) << before;
        for (uint32_t g = 1; g <= before + 2; ++g)
            EXPECT_EQ(get(r, Owner::proc(3), "x" + std::to_string(g)), u32(g)) << before;
    }
}

// 2 to 4 come one by one below 6, which keeps waiting for 5.
TEST(Gaps, Ingest_SeveralLateDeltasBelowAGap_EachReplacesTheOneBefore) {
    auto w = make_writer();
    const Reader& r = w->reader();
    ASSERT_EQ(w->ingest(delta_of(0, 1, true)).blocks, 1u);
    ASSERT_EQ(w->ingest(delta_of(5, 6, false)).blocks, 1u);
    for (uint32_t g = 2; g <= 5; ++g) {
        ASSERT_EQ(w->ingest(delta_of(g - 1, g, true)).blocks, 1u);
        EXPECT_EQ(get(r, Owner::proc(3), "k"), u32(g));
        EXPECT_EQ(get(r, Owner::proc(3), "x6"), u32(6));
        EXPECT_EQ(r.generation_of(3), g < 5 ? g : 6u);
    }
}

TEST(Gaps, Ingest_DeltasBehindOneGap_CountAsOne) {
    auto w = make_writer();
    const Reader& r = w->reader();
    ASSERT_EQ(w->ingest(delta_of(0, 1, true)).blocks, 1u);
    for (uint32_t g = 3; g <= 60; ++g) {
        ASSERT_EQ(w->ingest(delta_of(g - 1, g, g % 2 == 0)).blocks, 1u) << g;
        EXPECT_EQ(get(r, Owner::proc(3), "k"), u32(g < 4 ? 1 : g & ~1u));
        EXPECT_EQ(r.generation_of(3), 1u);
    }
    // All of it is there already, also where it comes as one.
    EXPECT_EQ(w->ingest(delta_of(10, 50, true)).skipped, 1u);
    ASSERT_EQ(w->ingest(delta_of(1, 2, true)).blocks, 1u);
    EXPECT_EQ(r.generation_of(3), 60u);
    EXPECT_EQ(get(r, Owner::proc(3), "k"), u32(60));
    for (uint32_t g = 1; g <= 60; ++g) EXPECT_EQ(get(r, Owner::proc(3), "x" + std::to_string(g)), u32(g));
}

// One more than a reader may have to look through is refused. What is there stays, and a delta that closes a gap, or
// one that continues the newest, or a snapshot, is taken as before.
TEST(Gaps, Ingest_MoreGapsThanAChainHolds_RefusesAndKeepsWhatItHas) {
    auto w = make_writer();
    auto r = open_reader(*w);
    for (uint32_t g = 1; g <= layout::kMaxChain; ++g) ASSERT_EQ(w->ingest(delta_of(g - 1, g, g == 1)).blocks, 1u);
    uint32_t g = layout::kMaxChain;
    for (uint32_t gaps = 0; gaps < layout::kMaxGaps; ++gaps) {
        g += 2;
        ASSERT_EQ(w->ingest(delta_of(g - 1, g, gaps % 3 == 0)).blocks, 1u) << gaps;
    }
    const Buffer k = get(*r, Owner::proc(3), "k");
    const uint64_t bytes = w->published_bytes();
    for (int i = 0; i < 3; ++i) {
        const Ingested in = w->ingest(delta_of(g + 1, g + 2, true));
        EXPECT_STATUS(PMIX_ERR_OUT_OF_RESOURCE, in.status);
        EXPECT_EQ(in.blocks, 0u);
    }
    EXPECT_EQ(w->published_bytes(), bytes);
    EXPECT_EQ(get(*r, Owner::proc(3), "k"), k);
    EXPECT_EQ(r->generation_of(3), layout::kMaxChain);
    // The oldest records of the longest chain are found.
    EXPECT_EQ(get(*r, Owner::proc(3), "x1"), u32(1));
    unsigned keys = 0;
    EXPECT_STATUS(PMIX_SUCCESS, r->for_each(Owner::proc(3), [&](std::string_view, const Found&) { ++keys; }));
    EXPECT_EQ(keys, 1u + layout::kMaxChain + layout::kMaxGaps);

    ASSERT_EQ(w->ingest(delta_of(g, g + 1, true)).blocks, 1u);
    EXPECT_EQ(get(*r, Owner::proc(3), "k"), u32(g + 1));
    ASSERT_EQ(w->ingest(delta_of(layout::kMaxChain, layout::kMaxChain + 1, true)).blocks, 1u);
    EXPECT_EQ(r->generation_of(3), layout::kMaxChain + 2);
    EXPECT_EQ(get(*r, Owner::proc(3), "k"), u32(g + 1));
    ASSERT_EQ(w->ingest(delta_of(g + 2, g + 3, true)).blocks, 1u);
    EXPECT_STATUS(PMIX_ERR_OUT_OF_RESOURCE, w->ingest(delta_of(g + 5, g + 6, true)).status);
    ASSERT_EQ(w->ingest(chunk_of(3, {g + 6, 0, true}, Records().add("k", u32(g + 6)))).blocks, 1u);
    EXPECT_EQ(r->generation_of(3), g + 6);
    EXPECT_EQ(get(*r, Owner::proc(3), "k"), u32(g + 6));
    EXPECT_EQ(get(*r, Owner::proc(3), "x1"), Buffer{});
}

// Up to the longest chain there is: the newest delta has several blocks, and each of the others has one.
TEST(Gaps, Ingest_NewestDeltaOfSeveralBlocks_EveryRecordIsFoundAndOrderStays) {
    for (uint32_t blocks = 1; blocks <= 3 * layout::kMaxChain; ++blocks) {
        auto w = make_writer();
        auto r = open_reader(*w);
        uint32_t g = 0;
        std::vector<uint32_t> there, missing;
        const auto take = [&](uint32_t generation) {
            ASSERT_EQ(w->ingest(delta_of(generation - 1, generation, true)).blocks, 1u) << generation;
            there.push_back(generation);
            for (uint32_t x : there) ASSERT_EQ(get(*r, Owner::proc(3), "x" + std::to_string(x)), u32(x)) << generation;
            ASSERT_EQ(get(*r, Owner::proc(3), "k"), u32(*std::max_element(there.begin(), there.end())));
        };
        while (g < layout::kMaxChain) take(++g);
        for (uint32_t gap = 0; gap < layout::kMaxGaps; ++gap) {
            missing.push_back(++g);
            for (uint32_t i = 0; i < blocks; ++i) take(++g);
        }
        EXPECT_EQ(r->generation_of(3), layout::kMaxChain);
        unsigned keys = 0;
        EXPECT_STATUS(PMIX_SUCCESS, r->for_each(Owner::proc(3), [&](std::string_view, const Found&) { ++keys; }));
        EXPECT_EQ(keys, 1 + there.size());
        // The missing ones from the middle outwards, the oldest last.
        std::rotate(missing.begin(), missing.begin() + 1, missing.end());
        std::swap(missing.front(), missing[missing.size() / 2]);
        for (uint32_t late : missing) {
            EXPECT_EQ(r->generation_of(3), layout::kMaxChain);
            take(late);
        }
        EXPECT_EQ(r->generation_of(3), g);
    }
}

// A set one of whose fences this node has missed goes on: each later delta continues the one with the gap.
TEST(Gaps, Ingest_ManyDeltasBehindOneGap_IndexEachRecordAFewTimes) {
    constexpr uint32_t kDeltas = 12'000;
    auto w = make_writer();
    for (uint32_t g = 3; g <= kDeltas; ++g) {
        ASSERT_EQ(w->ingest(delta_of(g - 1, g, true)).blocks, 1u) << g;
        ASSERT_EQ(get(w->reader(), Owner::proc(3), "k"), u32(g));
        ASSERT_EQ(w->reader().generation_of(3), 0u);
    }
    EXPECT_LT(w->counts().indexed, uint64_t{kDeltas} * 256);
    EXPECT_LT(w->published_bytes(), uint64_t{32} << 20);
    ASSERT_EQ(w->ingest(delta_of(0, 2, true)).blocks, 1u);
    EXPECT_EQ(w->reader().generation_of(3), kDeltas);
    for (uint32_t g = 2; g <= kDeltas; ++g)
        ASSERT_EQ(get(w->reader(), Owner::proc(3), "x" + std::to_string(g)), u32(g));
}

// A chunk that no writer makes: what is older is indexed behind a block of the same chunk that is still to be taken.
TEST(Gaps, Ingest_SeveralBlocksOfOneRankInOneChunk_ChainStaysReadable) {
    for (const uint32_t first : {1u, 2u}) {
        for (uint32_t n = 2; n <= 40; ++n) {
            ChunkBuilder b;
            std::vector<Buffer> values;
            values.reserve(n);
            for (uint32_t i = 0; i < n; ++i) {
                const uint32_t g = first + i + i / 7;  // a gap after each seventh
                values.push_back(u32(g));
                b.begin(Owner::proc(3), {g, g - 1, false});
                b.add(Key("k"), PMIX_GLOBAL, values.back());
                b.add(Key("x" + std::to_string(g)), PMIX_GLOBAL, values.back());
            }
            auto w = make_writer();
            auto r = open_reader(*w);
            const Buffer chunk = b.finish(7).value();
            const Ingested in = w->ingest(chunk);
            ASSERT_EQ(in.blocks, n);
            ASSERT_STATUS(PMIX_SUCCESS, in.status);
            EXPECT_EQ(r->generation_of(3), first == 1 ? std::min(n, 7u) : 0);
            EXPECT_EQ(get(*r, Owner::proc(3), "k"), values.back()) << n;
            for (uint32_t i = 0; i < n; ++i)
                ASSERT_EQ(get(*r, Owner::proc(3), "x" + std::to_string(first + i + i / 7)), values[i]) << n;
            EXPECT_STATUS(PMIX_SUCCESS, r->for_each(Owner::proc(3), [](std::string_view, const Found&) {}));
        }
    }
}

// The commits of a rank, and deltas and snapshots of them in any order, some twice and some never. In a third of the
// rounds most come in order.
TEST(Gaps, Ingest_InAnyOrder_NewestReceivedValueCounts) {
    constexpr uint32_t kKeys = 6;
    uint64_t state = 1;
    const auto below = [&](uint32_t n) {
        state = state * 6364136223846793005ull + 1442695040888963407ull;
        return static_cast<uint32_t>((state >> 33) % n);
    };
    unsigned refused = 0;
    for (int round = 0; round < 150; ++round) {
        // Of many commits, few of the deltas meet.
        const uint32_t commits = round % 3 == 0 ? 40 : 200;
        const bool in_order = round % 3 == 2;
        std::vector<std::array<bool, kKeys>> changed(commits + 1);
        for (uint32_t g = 1; g <= commits; ++g)
            for (uint32_t k = 0; k < kKeys; ++k) changed[g][k] = below(5) == 0;
        auto w = make_writer();
        auto r = open_reader(*w);
        std::array<uint32_t, kKeys> newest{};  // received, by key; 0: none
        std::vector<std::pair<uint32_t, uint32_t>> received;
        uint32_t last = 0;
        for (int step = 0; step < 90; ++step) {
            const bool full = below(25) == 0;
            uint32_t base = full ? 0 : below(commits);
            if (in_order && !full && below(8) != 0) base = std::min(last + (below(6) == 0), commits - 1);
            const uint32_t generation = base + 1 + below(std::min(commits - base, full ? commits : 3u));
            if (in_order && !full) last = generation;
            Records records;
            std::array<uint32_t, kKeys> now{};
            for (uint32_t k = 0; k < kKeys; ++k) {
                for (uint32_t g = base + 1; g <= generation; ++g)
                    if (changed[g][k]) now[k] = g;
                if (now[k] != 0) records.add("k" + std::to_string(k), u32(now[k]));
            }
            const Ingested in = w->ingest(chunk_of(3, {generation, base, full}, records));
            if (in.status == PMIX_ERR_OUT_OF_RESOURCE) {
                ++refused;
            } else {
                ASSERT_STATUS(PMIX_SUCCESS, in.status);
                received.emplace_back(base, generation);
                for (uint32_t k = 0; k < kKeys; ++k) newest[k] = std::max(newest[k], now[k]);
            }
            uint32_t known = 0;
            for (bool more = true; more;) {
                more = false;
                for (const auto& [from, to] : received)
                    if (from <= known && to > known) known = to, more = true;
            }
            ASSERT_EQ(r->generation_of(3), known) << round << "/" << step;
            for (uint32_t k = 0; k < kKeys; ++k) {
                ASSERT_EQ(get(*r, Owner::proc(3), "k" + std::to_string(k)), newest[k] == 0 ? Buffer{} : u32(newest[k]))
                    << round << "/" << step << " key " << k;
            }
            if (below(20) == 0) {
                for (uint32_t n = 0; n < 100; ++n)
                    ASSERT_STATUS(PMIX_SUCCESS,
                                  w->put(Owner::job(), Records().add("x", blob(1000 + n + step % 2, 1)).list()));
                ASSERT_TRUE(w->compact().value());
                r = open_reader(*w);
            }
        }
        // Everything that is missing comes, and nothing is refused that closes the lowest gap.
        for (uint32_t g = 1; g <= commits; ++g) {
            Records records;
            for (uint32_t k = 0; k < kKeys; ++k)
                if (changed[g][k]) records.add("k" + std::to_string(k), u32(g));
            ASSERT_STATUS(PMIX_SUCCESS, w->ingest(chunk_of(3, {g, g - 1, false}, records)).status);
        }
        EXPECT_EQ(r->generation_of(3), commits);
        for (uint32_t k = 0; k < kKeys; ++k) {
            uint32_t g = commits;
            while (g > 0 && !changed[g][k]) --g;
            ASSERT_EQ(get(*r, Owner::proc(3), "k" + std::to_string(k)), g == 0 ? Buffer{} : u32(g)) << round;
        }
    }
    EXPECT_GT(refused, 0u);
}

}  // namespace
}  // namespace pmix::dstore::gaps_test

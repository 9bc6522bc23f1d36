// SPDX-License-Identifier: BSD-3-Clause
// The writer and other nodes: contributions, deltas, gaps, and bytes that are none.
#include "support/status.h"
#include "unit/dstore/writer_setting.h"

namespace pmix::dstore::writer_ingest_test {
namespace {

// The same for what another node sends bit by bit.
TEST(Writer, Ingest_ManyDeltasOfOneRank_IndexEachRecordAFewTimes) {
    constexpr uint32_t kDeltas = 12'000;
    auto w = make_writer();
    for (uint32_t g = 1; g <= kDeltas; ++g) {
        const Buffer c =
            chunk_of(3, {g, g - 1, false}, Records().add("n", u32(g)).add("k" + std::to_string(g), u32(g)));
        ASSERT_EQ(w->ingest(c).blocks, 1u) << g;
        ASSERT_EQ(w->reader().generation_of(3), g);
        ASSERT_EQ(get(w->reader(), Owner::proc(3), "n"), u32(g));
    }
    EXPECT_LT(w->counts().indexed, uint64_t{kDeltas} * 256);
    for (uint32_t g = 1; g <= kDeltas; ++g)
        ASSERT_EQ(get(w->reader(), Owner::proc(3), "k" + std::to_string(g)), u32(g));
}

// rows: K38
TEST(Writer, Ingest_OfADeletionBehindAGap_HidesWhatIsReceivedLater) {
    auto w = make_writer(), other = make_writer();
    w->add_local(0);
    std::vector<Buffer> deltas;
    for (const Buffer& value : {u32(1), u32(2), deleted()}) {
        ASSERT_TRUE(w->commit(0, Records().add("k", value).list()).ok());
        const RankSince since[] = {{0, w->committed(0) - 1}};
        deltas.push_back(w->contribution(since).value());
    }
    ASSERT_STATUS(PMIX_SUCCESS, other->ingest(deltas[0]).status);
    ASSERT_STATUS(PMIX_SUCCESS, other->ingest(deltas[2]).status);
    EXPECT_EQ(get(other->reader(), Owner::proc(0), "k"), Buffer{});
    ASSERT_STATUS(PMIX_SUCCESS, other->ingest(deltas[1]).status);
    EXPECT_EQ(get(other->reader(), Owner::proc(0), "k"), Buffer{});
}

TEST(Writer, EmptyCommitCountsOnce) {
    auto w = make_writer();
    w->add_local(0);
    EXPECT_EQ(w->commit(0, {}).value(), 1u);
    EXPECT_TRUE(w->reader().has_commits(0));
    EXPECT_EQ(w->commit(0, {}).value(), 1u);
    // Other nodes learn that there is nothing.
    auto other = make_writer();
    const RankSince all[] = {{0, 0}};
    EXPECT_EQ(other->ingest(w->contribution(all).value()).blocks, 1u);
    EXPECT_TRUE(other->reader().has_commits(0));
    pmix_status_t rc;
    get(other->reader(), Owner::proc(0), "k", &rc);
    EXPECT_STATUS(PMIX_ERR_NOT_FOUND, rc);
}

TEST(Writer, DeltasCarryOnlyNews) {
    auto w = make_writer();
    auto other = make_writer();
    w->add_local(5);
    ASSERT_EQ(w->commit(5, Records().add("a", u32(1)).add("b", u32(1), PMIX_REMOTE).list()).value(), 1u);
    RankSince since[] = {{5, 0}};
    EXPECT_EQ(other->ingest(w->contribution(since).value()).blocks, 1u);
    ASSERT_EQ(w->commit(5, Records().add("b", u32(2), PMIX_REMOTE).add("a", u32(1)).list()).value(), 2u);
    since[0].since = 1;
    const Buffer delta = w->contribution(since).value();
    EXPECT_EQ(ChunkView::check(delta)->at(ChunkView::check(delta)->first()).records, 1u);
    EXPECT_EQ(other->ingest(delta).blocks, 1u);
    EXPECT_EQ(other->reader().generation_of(5), 2u);
    EXPECT_EQ(get(other->reader(), Owner::proc(5), "a"), u32(1));
    EXPECT_EQ(get(other->reader(), Owner::proc(5), "b"), u32(2));
    since[0].since = 2;
    EXPECT_TRUE(w->contribution(since).value().empty());
}

TEST(Writer, OwnContributionIsSkipped) {
    auto w = make_writer();
    w->add_local(5);
    ASSERT_TRUE(w->commit(5, Records().add("a", u32(1)).list()).ok());
    const RankSince since[] = {{5, 0}};
    const uint64_t bytes = w->published_bytes();
    const Ingested in = w->ingest(w->contribution(since).value());
    EXPECT_STATUS(PMIX_SUCCESS, in.status);
    EXPECT_EQ(in.blocks, 0u);
    EXPECT_EQ(in.skipped, 1u);
    EXPECT_EQ(w->published_bytes(), bytes);
}

TEST(Writer, FencesWithoutNewsCostNothing) {
    auto w = make_writer();
    Buffer blob_of_all;
    for (uint32_t r = 0; r < 16; ++r) {
        const Buffer c = chunk_of(r, {1, 0, true}, Records().add("addr", blob(64, 1)).add("more", u32(r)));
        blob_of_all.insert(blob_of_all.end(), c.begin(), c.end());
    }
    EXPECT_EQ(w->ingest(blob_of_all).blocks, 16u);
    const uint64_t bytes = w->published_bytes();
    const uint64_t publications = w->reader().publications();
    for (int i = 0; i < 10'000; ++i) ASSERT_EQ(w->ingest(blob_of_all).skipped, 16u);
    EXPECT_EQ(w->published_bytes(), bytes);
    EXPECT_EQ(w->reader().publications(), publications);
    w->add_local(100);
    ASSERT_TRUE(w->commit(100, Records().add("k", blob(64, 2)).list()).ok());
    const uint64_t with_local = w->published_bytes();
    for (int i = 0; i < 10'000; ++i) ASSERT_EQ(w->commit(100, Records().add("k", blob(64, 2)).list()).value(), 1u);
    EXPECT_EQ(w->published_bytes(), with_local);
}

// Part of a chunk is known already: what is taken over is only the rest, and still reads right.
TEST(Writer, PartlyKnownChunks) {
    auto w = make_writer();
    ASSERT_EQ(w->ingest(chunk_of(2, {1, 0, true}, Records().add("k", u32(2)))).blocks, 1u);
    w->add_local(4);
    ChunkBuilder b;
    const Buffer values[] = {text("zero"), text("one"), text("two"), text("three"), text("four"), text("five")};
    for (uint32_t r = 0; r < 6; ++r) {
        b.begin(Owner::proc(r), {1, 0, true});
        b.add(Key("name"), PMIX_GLOBAL, values[r]);
        b.add(Key("name.of." + std::to_string(r)), PMIX_GLOBAL, values[r]);
    }
    const Ingested in = w->ingest(b.finish(0).value());
    EXPECT_STATUS(PMIX_SUCCESS, in.status);
    EXPECT_EQ(in.blocks, 4u);
    EXPECT_EQ(in.skipped, 2u);
    for (uint32_t r : {0u, 1u, 3u, 5u}) {
        EXPECT_EQ(get(w->reader(), Owner::proc(r), "name"), values[r]);
        EXPECT_EQ(get(w->reader(), Owner::proc(r), "name.of." + std::to_string(r)), values[r]);
    }
    EXPECT_EQ(get(w->reader(), Owner::proc(2), "name"), Buffer{});
    EXPECT_EQ(get(w->reader(), Owner::proc(2), "k"), u32(2));
    EXPECT_FALSE(w->reader().has_commits(4));
}

TEST(Writer, GapsDoNotAdvance) {
    auto w = make_writer();
    const Reader& r = w->reader();
    auto delta = [](uint64_t base, uint64_t generation) {
        return chunk_of(1, {generation, base, false},
                        Records()
                            .add("g", u32(static_cast<uint32_t>(generation)))
                            .add("from." + std::to_string(generation), u32(1)));
    };
    ASSERT_EQ(w->ingest(chunk_of(1, {2, 0, true}, Records().add("g", u32(2)).add("old", u32(1)))).blocks, 1u);
    ASSERT_EQ(w->ingest(delta(5, 6)).blocks, 1u);  // 3 to 5 are missing
    EXPECT_EQ(r.generation_of(1), 2u);
    EXPECT_EQ(get(r, Owner::proc(1), "g"), u32(6));
    EXPECT_EQ(w->ingest(delta(5, 6)).skipped, 1u);
    // They are received late: their values do not hide newer ones, and the gap is closed.
    ASSERT_EQ(w->ingest(delta(2, 5)).blocks, 1u);
    EXPECT_EQ(r.generation_of(1), 6u);
    EXPECT_EQ(get(r, Owner::proc(1), "g"), u32(6));
    EXPECT_EQ(get(r, Owner::proc(1), "from.5"), u32(1));
    EXPECT_EQ(get(r, Owner::proc(1), "from.6"), u32(1));
    EXPECT_EQ(get(r, Owner::proc(1), "old"), u32(1));
    EXPECT_EQ(w->ingest(delta(3, 4)).skipped, 1u);
    // A gap that a full snapshot from below does not close, and one from above does.
    ASSERT_EQ(w->ingest(delta(9, 10)).blocks, 1u);
    ASSERT_EQ(w->ingest(chunk_of(1, {8, 0, true}, Records().add("g", u32(8)).add("eight", u32(8)))).blocks, 1u);
    EXPECT_EQ(r.generation_of(1), 8u);
    EXPECT_EQ(get(r, Owner::proc(1), "g"), u32(10));
    EXPECT_EQ(get(r, Owner::proc(1), "eight"), u32(8));
    EXPECT_EQ(get(r, Owner::proc(1), "old"), Buffer{});
    ASSERT_EQ(w->ingest(chunk_of(1, {12, 0, true}, Records().add("g", u32(12)))).blocks, 1u);
    EXPECT_EQ(r.generation_of(1), 12u);
    EXPECT_EQ(get(r, Owner::proc(1), "g"), u32(12));
    EXPECT_EQ(get(r, Owner::proc(1), "eight"), Buffer{});
    EXPECT_EQ(get(r, Owner::proc(1), "from.10"), Buffer{});
}

TEST(Writer, ManyDeltasAreMerged) {
    auto w = make_writer();
    for (uint32_t g = 1; g <= 60; ++g) {
        const Buffer c =
            chunk_of(3, {g, g - 1, false}, Records().add("n", u32(g)).add("k" + std::to_string(g), u32(g)));
        ASSERT_EQ(w->ingest(c).blocks, 1u);
        ASSERT_EQ(w->reader().generation_of(3), g);
        ASSERT_EQ(get(w->reader(), Owner::proc(3), "n"), u32(g));
        for (uint32_t k = 1; k <= g; ++k) ASSERT_EQ(get(w->reader(), Owner::proc(3), "k" + std::to_string(k)), u32(k));
    }
}

TEST(Writer, ForeignBytesAreRefused) {
    auto w = make_writer();
    const Buffer good = chunk_of(1, {1, 0, true}, Records().add("a", u32(1)));
    Buffer bytes = good;
    const Buffer garbage(64, 0x5a);
    bytes.insert(bytes.end(), garbage.begin(), garbage.end());
    Ingested in = w->ingest(bytes);
    EXPECT_STATUS(PMIX_ERR_NOT_SUPPORTED, in.status);
    EXPECT_EQ(in.chunks, 1u);
    EXPECT_EQ(in.blocks, 1u);
    bytes = good;
    bytes.resize(bytes.size() - 8);
    EXPECT_STATUS(PMIX_ERR_UNPACK_FAILURE, w->ingest(bytes).status);
    EXPECT_STATUS(PMIX_SUCCESS, w->ingest({}).status);
    // Only processes, and only real ones, have contributions.
    ChunkBuilder b;
    b.begin(Owner::job(), {1, 0, true});
    EXPECT_STATUS(PMIX_ERR_UNPACK_FAILURE, w->ingest(b.finish(0).value()).status);
    EXPECT_STATUS(PMIX_ERR_UNPACK_FAILURE, w->ingest(chunk_of(PMIX_RANK_WILDCARD, {1, 0, true}, Records())).status);
}

}  // namespace
}  // namespace pmix::dstore::writer_ingest_test

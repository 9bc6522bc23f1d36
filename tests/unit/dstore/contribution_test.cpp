// SPDX-License-Identifier: BSD-3-Clause
// Chunks: the bytes that other nodes get, spelled a second time, and every way in which they can be wrong.
#include "dstore/contribution.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "dstore/layout.h"
#include "support/status.h"
#include "support/store_values.h"

namespace pmix::dstore::contribution_test {
namespace {

using namespace test;

TEST(Chunk, HoldsWhatWasAdded) {
    ChunkBuilder b;
    EXPECT_TRUE(b.empty());
    const Buffer one = u32(1), two = text("two"), three = u16(3);
    b.begin(Owner::proc(5), {4, 2, false});
    b.add(Key("a"), PMIX_GLOBAL, one);
    b.add(Key("b"), PMIX_REMOTE, two);
    b.add(Key("a"), PMIX_GLOBAL, three);  // the first counts
    b.begin(Owner::proc(6), {1, 0, true});
    b.begin(Owner::proc(9), {8, 0, true});
    b.add(Key("b"), PMIX_GLOBAL, three);
    const Buffer bytes = b.finish(42).value();

    const ChunkView v = ChunkView::check(bytes).value();
    EXPECT_EQ(v.size(), bytes.size());
    EXPECT_EQ(v.origin(), 42u);
    ASSERT_EQ(v.blocks(), 3u);
    BlockView block = v.at(v.first());
    EXPECT_EQ(block.owner, Owner::proc(5));
    EXPECT_EQ(block.generations.generation, 4u);
    EXPECT_EQ(block.generations.base_generation, 2u);
    EXPECT_FALSE(block.generations.full);
    ASSERT_EQ(block.records, 2u);
    for (uint32_t i = 0; i < 2; ++i) {
        const Record r = v.record(block, i);
        EXPECT_EQ(Buffer(r.value.begin(), r.value.end()), r.key == "a" ? one : two);
        EXPECT_EQ(r.scope, r.key == "a" ? PMIX_GLOBAL : PMIX_REMOTE);
    }
    block = v.at(block.offset + block.size);
    EXPECT_EQ(block.records, 0u);
    EXPECT_TRUE(block.generations.full);
    block = v.at(block.offset + block.size);
    EXPECT_EQ(block.owner, Owner::proc(9));
    EXPECT_EQ(v.record(block, 0).key, "b");
    EXPECT_EQ(block.offset + block.size, bytes.size());
}

// The format on the wire. A change here is a new kChunkVersion.
TEST(Chunk, Bytes) {
    const Buffer bytes = chunk_of(0x01020304, {9, 7, false}, Records().add("key", u16(0xbeef), PMIX_REMOTE));
    const uint32_t h = hash_key("key");
    const auto b = [&](int shift) { return static_cast<uint8_t>(h >> shift); };
    const Buffer expected = {
        'W',  'U',  'C',         'K',   1,    0,    0,   0,    // magic, version, flags
        120,  0,    0,           0,     0,    0,    0,   0,    // size
        7,    0,    0,           0,     0,    0,    0,   0,    // origin
        1,    0,    0,           0,     2,    0,    0,   0,    // one key, two units
        1,    0,    0,           0,     0,    0,    0,   0,    // one block
        b(0), b(8), b(16),       b(24), 3,    0,    'k', 'e',  // dictionary
        'y',  0,    0,           0,     0,    0,    0,   0,    //
        4,    3,    2,           1,     4,    0,    0,   0,    // rank, kind proc, flags, chain
        1,    0,    0,           0,     8,    0,    0,   0,    // one record, eight units
        9,    0,    0,           0,     0,    0,    0,   0,    // generation
        7,    0,    0,           0,     0,    0,    0,   0,    // base generation
        0,    0,    0,           0,     0,    0,    0,   0,    // prev, held
        b(0), b(8), b(16),       b(24), 6,    0,    0,   0,    // hash, where
        8,    0,    0,           0,     4,    0,    0,   0,    // way back to the key, length
        2,    0,    PMIX_UINT16, 0,     0xef, 0xbe, 0,   0,    // scope, value
    };
    EXPECT_EQ(bytes, expected);
}

TEST(Chunk, HashIsPartOfTheFormat) {
    EXPECT_EQ(hash_key(""), 0x9009402du);
    EXPECT_EQ(hash_key("a"), 0xd8dca86fu);
    EXPECT_EQ(hash_key("pmix"), 0xcccb0b4fu);
    EXPECT_EQ(hash_key("pmix.hname"), 0xbb224755u);
    EXPECT_EQ(hash_key("btl.tcp.5.0-key-of-some-length"), 0xf15e286bu);
}

TEST(Chunk, ForeignMagicAndVersion) {
    Buffer bytes = chunk_of(1, {1, 0, true}, Records().add("k", u16(1)));
    Buffer other = bytes;
    other[0] = 'X';
    EXPECT_STATUS(PMIX_ERR_NOT_SUPPORTED, ChunkView::check(other).status());
    other = bytes;
    other[4] = 2;
    EXPECT_STATUS(PMIX_ERR_NOT_SUPPORTED, ChunkView::check(other).status());
}

TEST(Chunk, EveryTruncation) {
    const Buffer bytes = chunk_of(1, {1, 0, true}, Records().add("k", u16(1)).add("longer.key", text("value")));
    for (size_t n = 0; n < bytes.size(); ++n) {
        const Buffer cut(bytes.begin(), bytes.begin() + static_cast<ptrdiff_t>(n));
        EXPECT_FALSE(ChunkView::check(cut).ok()) << n;
    }
}

// Whatever passes the check can be walked without leaving the bytes (ASan watches), at any alignment.
TEST(Chunk, EveryByteChanged) {
    const Buffer good =
        chunk_of(1, {3, 1, false}, Records().add("k", u16(1)).add("longer.key", text("value")).add("x", u32(3)));
    for (size_t i = 0; i < good.size(); ++i) {
        for (unsigned change : {0x01u, 0x80u, 0xffu}) {
            Buffer bad(good.size() + 1);
            std::copy(good.begin(), good.end(), bad.begin() + 1);
            bad[1 + i] ^= static_cast<uint8_t>(change);
            auto v = ChunkView::check(common::Bytes(bad).subspan(1));
            if (!v.ok()) continue;
            size_t at = v->first();
            size_t sum = 0;
            for (uint32_t b = 0; b < v->blocks(); ++b) {
                const BlockView block = v->at(at);
                for (uint32_t r = 0; r < block.records; ++r) {
                    const Record record = v->record(block, r);
                    for (uint8_t byte : record.value) sum += byte;
                    EXPECT_EQ(hash_key(record.key), Key(record.key).hash());
                }
                at += block.size;
            }
            EXPECT_EQ(at, v->size());
            EXPECT_LT(sum, SIZE_MAX);  // all bytes were read
        }
    }
}

TEST(Chunk, SelfDelimiting) {
    Buffer bytes = chunk_of(1, {1, 0, true}, Records().add("k", u16(1)));
    const size_t first = bytes.size();
    const Buffer second = chunk_of(2, {1, 0, true}, Records().add("kk", u16(2)));
    bytes.insert(bytes.end(), second.begin(), second.end());
    EXPECT_EQ(ChunkView::check(bytes)->size(), first);
}

TEST(Chunk, GenerationsMustMakeSense) {
    EXPECT_FALSE(ChunkView::check(chunk_of(1, {0, 0, true}, Records())).ok());
    EXPECT_FALSE(ChunkView::check(chunk_of(1, {3, 3, false}, Records())).ok());
    EXPECT_TRUE(ChunkView::check(chunk_of(1, {3, 2, false}, Records())).ok());
}

// One field of a sound chunk is changed in each case. The offsets are those of the test Bytes above.
TEST(Chunk, Check_OfOneWrongField_Refuses) {
    const Buffer good = chunk_of(1, {9, 7, false}, Records().add("key", u16(0xbeef)));
    ASSERT_EQ(good.size(), 120u);
    ASSERT_TRUE(ChunkView::check(good).ok());
    const auto with = [&](std::initializer_list<std::pair<size_t, uint32_t>> words) {
        Buffer bad = good;
        for (const auto& [at, word] : words) common::store_le<uint32_t>(&bad[at], word);
        return ChunkView::check(bad).ok();
    };
    const uint32_t wrong = hash_key("key") ^ 1;
    EXPECT_FALSE(with({{40, wrong}, {96, wrong}})) << "the hash of the key, in the dictionary and in the block";
    EXPECT_FALSE(with({{88, 1}})) << "a link to an older block";
    EXPECT_FALSE(with({{92, 1}})) << "bytes that a segment has counted";
    EXPECT_FALSE(with({{112, PMIX_INTERNAL + 1u}})) << "a scope that there is not";
    EXPECT_FALSE(with({{32, 2}})) << "a block that is not there";
}

TEST(Chunk, Check_OfKeyThatIsTooLong_Refuses) {
    const std::string longest(common::kMaxKeyLength, 'k');
    EXPECT_TRUE(ChunkView::check(chunk_of(1, {1, 0, true}, Records().add(longest, u16(1)))).ok());
    EXPECT_FALSE(ChunkView::check(chunk_of(1, {1, 0, true}, Records().add(longest + "k", u16(1)))).ok());
}

TEST(Chunk, Check_OfRecordsThatShareBytes_Refuses) {
    Buffer bytes = chunk_of(1, {1, 0, true}, Records().add("key", u16(1)).add("other", u16(2)));
    const size_t arrays = ChunkView::check(bytes)->first() + layout::kBlkArrays;
    for (const size_t array : {arrays, arrays + 8}) std::copy_n(&bytes[array], 4, &bytes[array + 4]);
    EXPECT_FALSE(ChunkView::check(bytes).ok());
}

// The middle of a key's name looks like the entry of another key.
TEST(Chunk, Check_OfRecordWhoseKeyLiesInsideAnother_Refuses) {
    std::string outer = "ab";                // up to the end of the first unit
    const uint32_t hash = hash_key("pmix");  // 0xcccb0b4f: no byte of it is 0
    for (int shift = 0; shift < 32; shift += 8) outer += static_cast<char>(hash >> shift);
    outer += std::string("\2\1in", 4);
    ASSERT_EQ(outer.find('\0'), outer.npos);
    Buffer bytes = chunk_of(1, {1, 0, true}, Records().add(outer, u16(1)).add("pmix", u16(2)));
    const ChunkView view = ChunkView::check(bytes).value();
    const size_t block = view.first();
    for (uint32_t i = 0; i < 2; ++i) {
        if (view.record(view.at(block), i).key != "pmix") continue;
        const size_t record =
            block + 8 * size_t{common::load_le<uint32_t>(&bytes[block + layout::kBlkArrays + 8 + 4 * i])};
        common::store_le(&bytes[record], static_cast<uint32_t>((record - layout::kChunkHeader - 8) / 8));
    }
    EXPECT_FALSE(ChunkView::check(bytes).ok());
}

TEST(Chunk, ForEachRecord_OfSeveralChunks_NamesBlocksAndTheirKeys) {
    Buffer both = chunk_of(1, {1, 0, true}, Records().add("one", u16(1)));
    const Buffer other = chunk_of(2, {1, 0, true}, Records());
    both.insert(both.end(), other.begin(), other.end());
    both.push_back(0);  // no chunk any more
    std::vector<std::pair<common::Rank, std::string>> seen;
    for_each_record(both, [&](Owner owner, std::string_view key) { seen.emplace_back(owner.index, key); });
    std::sort(seen.begin(), seen.end());
    EXPECT_EQ(seen, (std::vector<std::pair<common::Rank, std::string>>{{1, ""}, {1, "one"}, {2, ""}}));
}

TEST(Chunk, ForEachKey_OfSeveralChunks_NamesTheKeysOfTheirDictionaries) {
    const auto keys_of = [](common::Bytes chunks) {
        std::vector<std::string> keys;
        for_each_key(chunks, [&](std::string_view key) { keys.emplace_back(key); });
        return keys;
    };
    Buffer both = chunk_of(1, {1, 0, true}, Records().add("one", u16(1)).add("a longer name", u16(2)));
    const size_t first = both.size();
    const Buffer other = chunk_of(2, {1, 0, true}, Records().add("other", u16(3)));
    both.insert(both.end(), other.begin(), other.end());
    EXPECT_EQ(keys_of(both), (std::vector<std::string>{"one", "a longer name", "other"}));
    // Whatever the bytes are, it stays within them: what it is called with lies there.
    for (size_t n = 0; n < both.size(); ++n) {
        const std::vector<uint8_t> cut(both.begin(), both.begin() + static_cast<ptrdiff_t>(n));
        EXPECT_EQ(keys_of(cut).size(), n < first ? 0u : 2u) << n;
        for (const uint8_t byte : {0, 1, 0x7f, 0xff}) {
            std::vector<uint8_t> damaged(both.begin(), both.end());
            damaged[n] = byte;
            size_t bytes = 0;
            for (const std::string& key : keys_of(damaged)) bytes += key.size();
            EXPECT_LE(bytes, both.size());
        }
    }
}

}  // namespace
}  // namespace pmix::dstore::contribution_test

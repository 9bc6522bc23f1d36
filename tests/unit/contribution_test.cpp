// Chunks: the bytes that other nodes get, spelled a second time, and every way in which they can be wrong.
#include "dstore/contribution.h"

#include <gtest/gtest.h>

#include "support/store_values.h"

namespace pmix::dstore {
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
        'W', 'U', 'C', 'K', 1, 0, 0, 0,                       // magic, version, flags
        120, 0, 0, 0, 0, 0, 0, 0,                             // size
        7, 0, 0, 0, 0, 0, 0, 0,                               // origin
        1, 0, 0, 0, 2, 0, 0, 0,                               // one key, two units
        1, 0, 0, 0, 0, 0, 0, 0,                               // one block
        b(0), b(8), b(16), b(24), 3, 0, 'k', 'e',             // dictionary
        'y', 0, 0, 0, 0, 0, 0, 0,                             //
        4, 3, 2, 1, 4, 0, 0, 0,                               // rank, kind proc, flags, chain
        1, 0, 0, 0, 8, 0, 0, 0,                               // one record, eight units
        9, 0, 0, 0, 0, 0, 0, 0,                               // generation
        7, 0, 0, 0, 0, 0, 0, 0,                               // base generation
        0, 0, 0, 0, 0, 0, 0, 0,                               // prev, held
        b(0), b(8), b(16), b(24), 6, 0, 0, 0,                 // hash, where
        8, 0, 0, 0, 4, 0, 0, 0,                               // way back to the key, length
        2, 0, PMIX_UINT16, 0, 0xef, 0xbe, 0, 0,               // scope, value
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
    EXPECT_EQ(ChunkView::check(other).status(), PMIX_ERR_NOT_SUPPORTED);
    other = bytes;
    other[4] = 2;
    EXPECT_EQ(ChunkView::check(other).status(), PMIX_ERR_NOT_SUPPORTED);
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
    const Buffer good = chunk_of(1, {3, 1, false}, Records().add("k", u16(1)).add("longer.key", text("value")).add("x", u32(3)));
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

}  // namespace
}  // namespace pmix::dstore

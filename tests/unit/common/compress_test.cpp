// SPDX-License-Identifier: BSD-3-Clause
// zlib with bounds, and the two calls of the interface on top of it.
#include "common/base/compress.h"

#include <gtest/gtest.h>
#include <pmix.h>
#include <zlib.h>

#include <cstdlib>
#include <random>

#include "support/status.h"

namespace pmix::common::compress_test {
namespace {

std::vector<uint8_t> text_of(size_t size) {
    std::vector<uint8_t> bytes(size);
    for (size_t i = 0; i < size; ++i) bytes[i] = static_cast<uint8_t>("rank 0123456789 of node "[i * i % 24]);
    return bytes;
}

std::vector<uint8_t> noise_of(size_t size) {
    std::mt19937 random(7);
    std::vector<uint8_t> bytes(size);
    for (auto& b : bytes) b = static_cast<uint8_t>(random());
    return bytes;
}

std::vector<uint8_t> zlib_of(Bytes bytes, int level) {
    uLongf size = compressBound(bytes.size());
    std::vector<uint8_t> out(size);
    EXPECT_EQ(Z_OK, compress2(out.data(), &size, bytes.data(), bytes.size(), level));
    out.resize(size);
    return out;
}

TEST(Compress, RoundTripLeavesTheHeaderAlone) {
    for (size_t size : {kMinCompress, kMinCompress + 1, size_t{100'000}, size_t{3'000'000}}) {
        for (size_t header : {0u, 4u, 100u}) {
            const auto input = text_of(size);
            auto packed = deflate_if_smaller(input, header);
            ASSERT_TRUE(packed) << size;
            ASSERT_LT(packed->size(), size);
            for (size_t i = 0; i < header; ++i) ASSERT_EQ(0, (*packed)[i]);
            auto plain = inflate_bounded(Bytes{*packed}.subspan(header), size);
            ASSERT_TRUE(plain) << size;
            EXPECT_EQ(input, *plain);
        }
    }
}

TEST(Compress, OnlyIfItGains) {
    EXPECT_FALSE(deflate_if_smaller(text_of(kMinCompress - 1)));
    EXPECT_FALSE(deflate_if_smaller({}));
    EXPECT_FALSE(deflate_if_smaller(noise_of(100'000)));
    EXPECT_FALSE(deflate_if_smaller(text_of(10'000), 10'000));
    EXPECT_FALSE(deflate_if_smaller(text_of(10'000), SIZE_MAX));
    // Gains by itself, but not with the header that is asked for.
    const auto input = text_of(kMinCompress);
    const size_t alone = deflate_if_smaller(input)->size();
    EXPECT_TRUE(deflate_if_smaller(input, kMinCompress - alone - 1));
    EXPECT_FALSE(deflate_if_smaller(input, kMinCompress - alone));
}

// The first byte names the window. Other libraries and programs tell a zlib stream by the usual one.
TEST(Compress, ForOthers_HasTheUsualWindow) {
    EXPECT_EQ(0x78, deflate_if_smaller(text_of(10'000))->front());
}

TEST(Compress, MuchSmaller_IsReadAsAnyOther) {
    const auto input = text_of(300'000);
    const auto packed = deflate_if_much_smaller(input);
    ASSERT_TRUE(packed);
    EXPECT_LT(packed->size(), input.size() / 4);
    auto plain = inflate_bounded(*packed, input.size());
    ASSERT_TRUE(plain);
    EXPECT_EQ(input, *plain);
    EXPECT_FALSE(deflate_if_much_smaller(noise_of(300'000)));
    EXPECT_FALSE(deflate_if_much_smaller(text_of(10'000)));
}

TEST(Compress, OutputIsBoundedToTheByte) {
    const auto input = text_of(50'000);
    const auto packed = zlib_of(input, 9);
    EXPECT_TRUE(inflate_bounded(packed, 50'000));
    EXPECT_STATUS(PMIX_ERR_OUT_OF_RESOURCE, inflate_bounded(packed, 49'999).status());
    EXPECT_STATUS(PMIX_ERR_OUT_OF_RESOURCE, inflate_bounded(packed, 1).status());
    EXPECT_STATUS(PMIX_ERR_OUT_OF_RESOURCE, inflate_bounded(packed, 0).status());
    const auto nothing = zlib_of({}, 1);
    ASSERT_TRUE(inflate_bounded(nothing, 0));
    EXPECT_TRUE(inflate_bounded(nothing, 0)->empty());
}

TEST(Compress, ABombIsStoppedAtTheBound) {
    const std::vector<uint8_t> zeros(64u << 20);
    const auto bomb = zlib_of(zeros, 9);
    ASSERT_LT(bomb.size(), 70'000u);
    EXPECT_STATUS(PMIX_ERR_OUT_OF_RESOURCE, inflate_bounded(bomb, 1u << 20).status());
}

TEST(Compress, AHintChangesNothingButCopies) {
    const auto input = text_of(50'000);
    const auto packed = zlib_of(input, 1);
    for (size_t hint : {size_t{1}, size_t{49'999}, size_t{50'000}, size_t{50'001}, SIZE_MAX}) {
        auto plain = inflate_bounded(packed, 60'000, hint);
        ASSERT_TRUE(plain) << hint;
        EXPECT_EQ(input, *plain);
    }
}

TEST(Compress, DamagedStreamsAreRefused) {
    const auto input = text_of(20'000);
    const auto packed = zlib_of(input, 6);
    for (size_t n = 0; n < packed.size(); ++n) {
        EXPECT_FALSE(inflate_bounded(Bytes{packed}.first(n), 20'000)) << n;
        EXPECT_FALSE(inflate_bounded(Bytes{packed}.first(n), 1 << 20)) << n;
    }
    auto longer = packed;
    longer.push_back(0);
    EXPECT_STATUS(PMIX_ERR_UNPACK_FAILURE, inflate_bounded(longer, 1 << 20).status());
    for (size_t i = 0; i < packed.size(); i += 7) {
        auto bent = packed;
        bent[i] ^= 0x10;
        auto plain = inflate_bounded(bent, 1 << 20);
        EXPECT_FALSE(plain) << i;  // the checksum sees what deflate does not
    }
    EXPECT_FALSE(inflate_bounded(noise_of(5000), 1 << 20));
}

// rows: D8
TEST(DataCompress, RoundTripInTheKnownFormat) {
    const auto input = text_of(100'000);
    uint8_t* packed = nullptr;
    size_t size = 0;
    ASSERT_TRUE(PMIx_Data_compress(input.data(), input.size(), &packed, &size));
    EXPECT_LT(size, input.size());
    EXPECT_EQ(100'000u, load_le<uint32_t>(packed));
    uint8_t* plain = nullptr;
    size_t plain_size = 0;
    ASSERT_TRUE(PMIx_Data_decompress(packed, size, &plain, &plain_size));
    EXPECT_EQ(input, std::vector<uint8_t>(plain, plain + plain_size));
    std::free(plain);

    // Garbage of every kind: a length that lies, a stream cut short, none at all.
    const auto refused = [&](const uint8_t* bytes, size_t n) {
        plain = packed;
        plain_size = 1;
        const bool done = PMIx_Data_decompress(bytes, n, &plain, &plain_size);
        EXPECT_EQ(nullptr, plain);
        EXPECT_EQ(0u, plain_size);
        return !done;
    };
    for (size_t n = 0; n < 100; ++n) EXPECT_TRUE(refused(packed, n)) << n;
    for (uint32_t lie : {0u, 99'999u, 100'001u, UINT32_MAX}) {
        store_le(packed, lie);
        EXPECT_TRUE(refused(packed, size)) << lie;
    }
    EXPECT_TRUE(refused(nullptr, 100));
    std::free(packed);
}

// rows: D8
TEST(DataCompress, SmallOrIncompressibleIsFalseWithDefinedOutputs) {
    for (const auto& input : {text_of(100), noise_of(100'000)}) {
        uint8_t junk = 0;
        uint8_t* packed = &junk;
        size_t size = 1;
        EXPECT_FALSE(PMIx_Data_compress(input.data(), input.size(), &packed, &size));
        EXPECT_EQ(nullptr, packed);
        EXPECT_EQ(0u, size);
    }
    size_t size = 0;
    uint8_t* out = nullptr;
    EXPECT_FALSE(PMIx_Data_compress(nullptr, 5000, &out, &size));
    EXPECT_FALSE(PMIx_Data_compress(text_of(5000).data(), 5000, nullptr, &size));
    EXPECT_FALSE(PMIx_Data_compress(text_of(5000).data(), 5000, &out, nullptr));
}

}  // namespace
}  // namespace pmix::common::compress_test

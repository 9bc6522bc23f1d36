// SPDX-License-Identifier: BSD-3-Clause
// Sections of a blob: what one holds, and what needs several.
#include "server/namespaces/modex_blob.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "dstore/contribution.h"
#include "server/namespaces/namespace_data.h"
#include "support/status.h"
#include "support/store_values.h"

namespace pmix::server::modex_blob_test {
namespace {

using dstore::RankSince;

// So many bytes without memory: reading one of them ends the test.
common::Bytes nothing_of(size_t size) {
    return {reinterpret_cast<const uint8_t*>(64), size};
}

size_t sections_of(common::Bytes blob) {
    size_t n = 0;
    for (; !blob.empty(); ++n) {
        auto section = read_section(blob);
        EXPECT_TRUE(section.ok());
        if (!section.ok()) break;
        EXPECT_EQ("job", section->nspace);
        blob = blob.subspan(section->size);
    }
    return n;
}

}  // namespace

// A size that 32 bits cannot hold must not come out as a smaller one.
TEST(ModexBlobTest, Wrap_OfMoreThanASectionHolds_IsRefused) {
    for (const size_t size : {kMaxBlobPayload + 1, (size_t{1} << 32) + 8, size_t{1} << 40}) {
        EXPECT_STATUS(PMIX_ERR_OUT_OF_RESOURCE, wrap_section("job", nothing_of(size)).status());
        EXPECT_STATUS(PMIX_ERR_OUT_OF_RESOURCE, wrap_group("group", nothing_of(size)).status());
        EXPECT_STATUS(PMIX_ERR_OUT_OF_RESOURCE, wrap_job("job", nothing_of(size)).status());
    }
    EXPECT_STATUS(PMIX_ERR_BAD_PARAM, wrap_group(std::string(common::kMaxNspaceLength + 1, 'n'), {}).status());
}

TEST(ModexBlobTest, ReadSection_OfAnotherVersionOrAnEndlessName_IsRefused) {
    const auto good = wrap_group("group", {}).value();
    ASSERT_TRUE(read_section(good).ok());
    auto other = good;
    other[4] = kBlobVersion + 1;
    EXPECT_STATUS(PMIX_ERR_NOT_SUPPORTED, read_section(other).status());
    auto named = good;
    common::store_le<uint16_t>(&named[6], common::kMaxNspaceLength + 1);
    named.resize(kBlobHeader + common::kMaxNspaceLength + 1, 'n');
    EXPECT_STATUS(PMIX_ERR_UNPACK_FAILURE, read_section(named).status());
    EXPECT_STATUS(PMIX_ERR_UNPACK_FAILURE, read_section(common::Bytes(good).first(good.size() - 1)).status());
}

// What hardly shrinks takes longer to compress and inflate than to be carried, and so does what is short.
TEST(ModexBlobTest, Wrap_CompressesWhatIsLongAndShrinksToASmallPart) {
    constexpr size_t kLong = 256u << 10;
    std::vector<uint8_t> noise(kLong), half(kLong);
    std::mt19937 random(7);
    for (size_t i = 0; i < kLong; ++i) {
        noise[i] = static_cast<uint8_t>(random());
        half[i] = i % 2 == 0 ? noise[i] : 0;
    }
    // Names at the beginning do not stand for the rest.
    auto zeros_first = noise;
    std::fill_n(zeros_first.begin(), kLong / 4, uint8_t{0});
    const std::vector<uint8_t> zeros(kLong);
    const auto is_compressed = [](common::Bytes payload) {
        std::vector<uint8_t> storage;
        const auto blob = wrap_section("job", payload).value();
        auto section = read_section(blob);
        EXPECT_TRUE(section.ok());
        auto chunks = section_chunks(*section, storage);
        EXPECT_TRUE(chunks.ok() && std::ranges::equal(payload, *chunks));
        const auto job = wrap_job("job", payload).value();
        EXPECT_EQ(section->compressed, read_section(job)->compressed);
        return section->compressed;
    };
    EXPECT_TRUE(is_compressed(zeros));
    EXPECT_FALSE(is_compressed(common::Bytes(zeros).first(16u << 10)));
    EXPECT_FALSE(is_compressed(noise));
    EXPECT_FALSE(is_compressed(half));
    EXPECT_FALSE(is_compressed(zeros_first));
}

// The size in the header of a compressed section is bounded before anything is inflated.
TEST(ModexBlobTest, Chunks_OfASizeBeyondTheBound_AreRefused) {
    constexpr size_t kRawSize = 12;  // its place in the header
    const std::vector<uint8_t> zeros(128u << 10);
    auto blob = wrap_section("job", zeros).value();
    std::vector<uint8_t> storage;
    const auto inflate = [&] {
        auto section = read_section(blob);
        EXPECT_TRUE(section.ok() && section->compressed);
        return section.ok() ? section_chunks(*section, storage).status() : section.status();
    };
    ASSERT_EQ(zeros.size(), common::load_le<uint32_t>(&blob[kRawSize]));
    EXPECT_STATUS(PMIX_SUCCESS, inflate());
    common::store_le<uint32_t>(&blob[kRawSize], static_cast<uint32_t>(kMaxBlobPayload) + 1);
    EXPECT_STATUS(PMIX_ERR_OUT_OF_RESOURCE, inflate());
}

TEST(ModexBlobTest, SaysKept_OfAnotherRankOrKey_IsFalse) {
    const auto kept = wrap_kept("job", 3, {"a", "b"});
    EXPECT_TRUE(says_kept(kept, "job", 3, "b"));
    EXPECT_FALSE(says_kept(kept, "job", 2, "b"));
    EXPECT_FALSE(says_kept(kept, "job", 3, "c"));
    EXPECT_FALSE(says_kept(kept, "other", 3, "b"));
}

TEST(ModexBlobTest, Contribution_LargerThanASection_IsSeveral) {
    auto data = NamespaceData::create(8, 1, 1);
    ASSERT_TRUE(data.ok());
    std::vector<RankSince> ranks;
    for (common::Rank rank = 0; rank < 8; ++rank) {
        const auto value = test::blob(1000, static_cast<uint8_t>(rank));
        (*data)->add_local(rank);
        ASSERT_TRUE((*data)->commit(rank, {{PMIX_GLOBAL, "k", value}}).ok());
        ranks.push_back({rank, 0});
    }
    auto one = (*data)->contribution("job", ranks);
    ASSERT_TRUE(one.ok());
    EXPECT_EQ(1u, sections_of(*one));
    auto several = (*data)->contribution("job", ranks, 3000);
    ASSERT_TRUE(several.ok());
    EXPECT_EQ(4u, sections_of(*several));
    EXPECT_STATUS(PMIX_ERR_OUT_OF_RESOURCE, (*data)->contribution("job", ranks, 500).status()) << "of one rank alone";

    // Another node takes all of them over.
    auto there = NamespaceData::create(8, 2, 2);
    ASSERT_TRUE(there.ok());
    std::vector<uint8_t> storage;
    for (common::Bytes blob(*several); !blob.empty();) {
        auto section = read_section(blob);
        ASSERT_TRUE(section.ok());
        auto chunks = section_chunks(*section, storage);
        ASSERT_TRUE(chunks.ok());
        EXPECT_STATUS(PMIX_SUCCESS, (*there)->ingest(*chunks).status);
        blob = blob.subspan(section->size);
    }
    for (common::Rank rank = 0; rank < 8; ++rank) EXPECT_TRUE((*there)->has(rank, "k"));
}

}  // namespace pmix::server::modex_blob_test

// SPDX-License-Identifier: BSD-3-Clause
// Which processes are asked about ahead of their Gets.
#include <gtest/gtest.h>

#include <vector>

#include "openpmix/read_ahead.h"

namespace pmix {
namespace {

using openpmix::ReadAhead;
using By = ReadAhead::By;

std::vector<pmix_rank_t> misses(ReadAhead ahead, pmix_rank_t self, pmix_rank_t first, uint32_t size) {
    std::vector<bool> here(size);
    std::vector<pmix_rank_t> missed;
    here[self] = true;
    for (uint32_t i = 0; i < size; ++i) {
        const pmix_rank_t rank = (first + i) % size;
        if (here[rank]) continue;
        missed.push_back(rank);
        const ReadAhead::Range range = ahead.missed(rank);
        for (pmix_rank_t r = range.first; r < range.first + range.count; ++r) {
            EXPECT_LT(r, size);
            here[r] = true;
        }
    }
    return missed;
}

TEST(OpenPmixReadAhead, OneAfterTheOther_TakesTwiceAsManyEachTime) {
    EXPECT_EQ((std::vector<pmix_rank_t>{1, 6, 15, 32, 65, 98}), misses(ReadAhead(0, 100, By::client), 0, 0, 100));
    EXPECT_EQ((std::vector<pmix_rank_t>{0, 5, 14, 31, 64, 97}), misses(ReadAhead(50, 100, By::client), 50, 0, 100));
    EXPECT_EQ((std::vector<pmix_rank_t>{0, 5, 14}), misses(ReadAhead(13, 20, By::client), 13, 0, 20))
        << "5 and 8 with the own one";
}

TEST(OpenPmixReadAhead, BehindTheOwnRank_GoesAroundTheEnd) {
    EXPECT_EQ((std::vector<pmix_rank_t>{6, 0}), misses(ReadAhead(5, 10, By::client), 5, 6, 10));
    EXPECT_EQ(0u, misses(ReadAhead(0, 1, By::client), 0, 0, 1).size());
    EXPECT_EQ((std::vector<pmix_rank_t>{1}), misses(ReadAhead(0, 2, By::client), 0, 0, 2));
}

TEST(OpenPmixReadAhead, AnyOrder_TakesNone) {
    ReadAhead ahead(0, 100, By::client);
    for (const pmix_rank_t rank : {40u, 7u, 90u, 3u, 99u, 50u, 100u, UINT32_MAX})
        EXPECT_EQ(0u, ahead.missed(rank).count);
    EXPECT_EQ(0u, ahead.missed(60).count);
    EXPECT_EQ(ReadAhead::kFirst, ahead.missed(61).count) << "from here on in order";
    EXPECT_EQ(0u, ahead.missed(10).count);
    EXPECT_EQ(ReadAhead::kFirst, ahead.missed(11).count) << "and from here, with as few as before";
}

TEST(OpenPmixReadAhead, UnknownSize_TakesNone) {
    ReadAhead ahead(0, 0, By::client);
    for (pmix_rank_t rank = 0; rank < 5; ++rank) EXPECT_EQ(0u, ahead.missed(rank).count);
}

TEST(OpenPmixReadAhead, ByAServer_FromTheSecondOn) {
    EXPECT_EQ((std::vector<pmix_rank_t>{1, 2, 35, 68}), misses(ReadAhead(0, 100, By::server), 0, 0, 100));
    ReadAhead neighbours(5, 100, By::server);
    EXPECT_EQ(0u, neighbours.missed(6).count);
    EXPECT_EQ(0u, neighbours.missed(4).count);
}

}  // namespace
}  // namespace pmix

// SPDX-License-Identifier: BSD-3-Clause
// Texts of cpusets and localities, and what two localities share. Pure: no hwloc.
#include "common/placement/locality.h"

#include <gtest/gtest.h>

#include <random>
#include <set>
#include <string>

#include "support/status.h"

namespace pmix::common::locality_test {
namespace {

std::string text_of(const IndexList& list) {
    std::string text;
    list.append_text(text);
    return text;
}

std::string again(std::string_view text) {
    auto list = IndexList::parse(text);
    return list ? text_of(*list) : "status " + std::to_string(list.status());
}

TEST(IndexListTest, ReadsAndWritesRanges) {
    EXPECT_EQ(again(""), "");
    EXPECT_EQ(again("0"), "0");
    EXPECT_EQ(again("0-3,8"), "0-3,8");
    EXPECT_EQ(again("4-"), "4-");
    EXPECT_EQ(again("0,4-"), "0,4-");
    EXPECT_EQ(again("3,1,2"), "1-3");
    EXPECT_EQ(again("0-5,2-3,6"), "0-6");
    EXPECT_EQ(again("7,3-"), "3-");
    EXPECT_EQ(again(" 1, 2 5,"), "1-2,5");
    EXPECT_EQ(again("1048576"), "1048576");
}

// rows: H3
TEST(IndexListTest, RefusesWhatIsNoList) {
    for (const char* bad : {"x",       "-",         "-1",         "1-x",          "3-1",   "1--2",
                            "1;2",     "0x1f",      "007",        "1.5",          "1-2-3", "99999999999999999999",
                            "1048577", "0-1048577", "4294967295", "1-4294967296", "--",    "1,a",
                            "\x01",    "+1",        "3-,9"}) {
        EXPECT_EQ(again(bad), "status " + std::to_string(PMIX_ERR_BAD_PARAM)) << bad;
    }
    EXPECT_FALSE(IndexList::parse(std::string_view("1\0", 2)));
}

TEST(IndexListTest, IsASetOfNumbers) {
    std::mt19937 random(3);
    for (int round = 0; round < 2000; ++round) {
        IndexList lists[2];
        std::set<uint32_t> sets[2];
        for (int which = 0; which < 2; ++which) {
            for (unsigned n = random() % 6; n > 0; --n) {
                const uint32_t first = random() % 40, last = first + random() % 6;
                lists[which].add(first, last);
                for (uint32_t i = first; i <= last; ++i) sets[which].insert(i);
            }
        }
        std::set<uint32_t> back;
        uint64_t least = 0;
        for (const auto& range : lists[0].ranges()) {
            ASSERT_GE(range.first, least);  // in order, and never two ranges where one would do
            least = uint64_t{range.last} + 2;
            for (uint32_t i = range.first; i <= range.last; ++i) back.insert(i);
        }
        ASSERT_EQ(back, sets[0]);
        bool shared = false;
        for (uint32_t i : sets[0]) shared |= sets[1].count(i) != 0;
        ASSERT_EQ(lists[0].intersects(lists[1]), shared) << text_of(lists[0]) << " | " << text_of(lists[1]);
        ASSERT_EQ(text_of(*IndexList::parse(text_of(lists[0]))), text_of(lists[0]));
    }
}

TEST(IndexListTest, NoEndIsBeyondEveryEnd) {
    EXPECT_TRUE(IndexList::parse("5-")->intersects(*IndexList::parse("1000000")));
    EXPECT_TRUE(IndexList::parse("5-")->intersects(*IndexList::parse("9-")));
    EXPECT_FALSE(IndexList::parse("5-")->intersects(*IndexList::parse("0-4")));
    IndexList list;
    list.add(3, IndexList::kOpenEnd);
    list.add(1, 2);
    EXPECT_EQ(text_of(list), "1-");
}

// rows: H3
TEST(CpusetText, NeedsItsSource) {
    EXPECT_EQ(text_of(*parse_cpuset_text("hwloc:0-3,8")), "0-3,8");
    EXPECT_EQ(text_of(*parse_cpuset_text("HWLOC:1")), "1");
    EXPECT_TRUE(parse_cpuset_text("hwloc:")->empty());
    EXPECT_STATUS(PMIX_ERR_BAD_PARAM, parse_cpuset_text("").status());
    EXPECT_STATUS(PMIX_ERR_BAD_PARAM, parse_cpuset_text("0-3").status());
    EXPECT_STATUS(PMIX_ERR_BAD_PARAM, parse_cpuset_text("hwloc").status());
    EXPECT_STATUS(PMIX_ERR_BAD_PARAM, parse_cpuset_text("hwloc:zero").status());
    EXPECT_STATUS(PMIX_ERR_NOT_SUPPORTED, parse_cpuset_text("numactl:0-3").status());
    EXPECT_STATUS(PMIX_ERR_NOT_SUPPORTED, parse_cpuset_text(":0-3").status());
    EXPECT_STATUS(PMIX_ERR_NOT_SUPPORTED, parse_cpuset_text("hwloc2:0").status());
}

TEST(Source, IsComparedWithoutCase) {
    EXPECT_TRUE(is_hwloc_source(nullptr));
    EXPECT_TRUE(is_hwloc_source("hwloc"));
    EXPECT_TRUE(is_hwloc_source("HwLoc:2.9.0"));
    for (const char* other : {"", "h", "hwlo", "hwloc2", "hwloc.2", "xhwloc"})
        EXPECT_FALSE(is_hwloc_source(other)) << other;
}

// rows: H5
TEST(LocalityText, NamesThePlacesInOrder) {
    EXPECT_EQ(locality_text({}), "");
    EXPECT_EQ(locality_text({{Place::package, {}}, {Place::numa, {}}}), "");
    EXPECT_EQ(locality_text({{Place::package, *IndexList::parse("0")},
                             {Place::l3cache, {}},
                             {Place::core, *IndexList::parse("1-2")},
                             {Place::hwthread, *IndexList::parse("2,5")},
                             {Place::numa, *IndexList::parse("0")}}),
              "hwloc:SK0:CR1-2:HT2,5:NM0");
}

pmix_locality_t shared(std::string_view a, std::string_view b) {
    auto locality = relative_locality(a, b);
    auto reverse = relative_locality(b, a);
    EXPECT_EQ(locality.ok() ? *locality : 0, reverse.ok() ? *reverse : 0);
    return locality ? *locality : PMIX_LOCALITY_UNKNOWN;
}

// rows: H6
TEST(RelativeLocality, SetsABitPerSharedPlace) {
    constexpr const char* kAll = "hwloc:SK0:L30:L20:L10:CR0:HT0:NM0";
    EXPECT_EQ(shared(kAll, kAll), PMIX_LOCALITY_SHARE_NODE | PMIX_LOCALITY_SHARE_PACKAGE | PMIX_LOCALITY_SHARE_L3CACHE |
                                      PMIX_LOCALITY_SHARE_L2CACHE | PMIX_LOCALITY_SHARE_L1CACHE |
                                      PMIX_LOCALITY_SHARE_CORE | PMIX_LOCALITY_SHARE_HWTHREAD |
                                      PMIX_LOCALITY_SHARE_NUMA);
    EXPECT_EQ(shared(kAll, "hwloc:SK1:L31:L29:L19:CR9:HT9:NM1"), PMIX_LOCALITY_SHARE_NODE);
    EXPECT_EQ(shared(kAll, "hwloc:NM0"), PMIX_LOCALITY_SHARE_NODE | PMIX_LOCALITY_SHARE_NUMA);
    EXPECT_EQ(shared("hwloc:SK0:CR0-3:HT0-7", "hwloc:SK0:CR3-5:HT9"),
              PMIX_LOCALITY_SHARE_NODE | PMIX_LOCALITY_SHARE_PACKAGE | PMIX_LOCALITY_SHARE_CORE);
    EXPECT_EQ(shared("hwloc:L30", "hwloc:L20"), PMIX_LOCALITY_SHARE_NODE) << "levels are not mixed up";
    EXPECT_EQ(shared("hwloc:", kAll), PMIX_LOCALITY_SHARE_NODE) << "nowhere in particular, on this node";
    EXPECT_EQ(shared("hwloc:XY0:SK0", "hwloc:XY0:SK0"), PMIX_LOCALITY_SHARE_NODE | PMIX_LOCALITY_SHARE_PACKAGE)
        << "a place of a later release";
}

// Texts as other libraries make them: no source, and L0 for L1. rows: H6
TEST(RelativeLocality, ReadsTextsWithoutASource) {
    EXPECT_EQ(shared("SK0:L30:NM0", "hwloc:SK0:L31:NM0"),
              PMIX_LOCALITY_SHARE_NODE | PMIX_LOCALITY_SHARE_PACKAGE | PMIX_LOCALITY_SHARE_NUMA);
    EXPECT_EQ(shared("SK0:L00", "hwloc:L10"), PMIX_LOCALITY_SHARE_NODE | PMIX_LOCALITY_SHARE_L1CACHE);
}

// rows: H6
TEST(RelativeLocality, RefusesWhatItCannotRead) {
    EXPECT_STATUS(PMIX_ERR_BAD_PARAM, relative_locality("", "hwloc:SK0").status());
    EXPECT_STATUS(PMIX_ERR_BAD_PARAM, relative_locality("hwloc:SK0", "").status());
    EXPECT_STATUS(PMIX_ERR_NOT_SUPPORTED, relative_locality("other:SK0", "hwloc:SK0").status());
    EXPECT_STATUS(PMIX_ERR_NOT_SUPPORTED, relative_locality("hwloc:SK0", "other:SK0").status());
    for (const char* bad :
         {"hwloc:S", "hwloc::SK0", "hwloc:SKx", "hwloc:SK0-", "hwloc:SK5-2", "SK0:", "hwloc:CR99999999"}) {
        const auto status = relative_locality(bad, "hwloc:SK0").status();
        const bool open_end = std::string_view(bad) == "hwloc:SK0-" || std::string_view(bad) == "SK0:";
        EXPECT_STATUS(open_end ? PMIX_SUCCESS : PMIX_ERR_BAD_PARAM, status) << bad;
    }
    // Whatever comes: an answer, not a crash.
    std::mt19937 random(11);
    constexpr std::string_view kBytes = "hwlocSKNM3210LCRHT:-,x ";
    for (int i = 0; i < 20'000; ++i) {
        std::string text;
        for (unsigned n = random() % 24; n > 0; --n) text += kBytes[random() % kBytes.size()];
        (void)relative_locality(text, "hwloc:SK0:CR0-3");
        (void)relative_locality("hwloc:" + text, text);
    }
}

}  // namespace
}  // namespace pmix::common::locality_test

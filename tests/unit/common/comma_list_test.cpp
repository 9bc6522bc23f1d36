// SPDX-License-Identifier: BSD-3-Clause
// Lists with commas in a text: their items in order, and what stands behind an item.
#include "common/base/comma_list.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace pmix::common {
namespace {

std::vector<std::string> items(std::string_view text) {
    std::vector<std::string> all;
    for (const std::string_view item : CommaList(text)) all.emplace_back(item);
    return all;
}

TEST(CommaList, Items_InOrder) {
    EXPECT_EQ(items("one"), std::vector<std::string>({"one"}));
    EXPECT_EQ(items("one,two,three"), std::vector<std::string>({"one", "two", "three"}));
    EXPECT_EQ(items("one, two"), std::vector<std::string>({"one", " two"}));
}

TEST(CommaList, EmptyPlaces_AreNoItems) {
    EXPECT_TRUE(items("").empty());
    EXPECT_TRUE(items(",,,").empty());
    EXPECT_EQ(items(",one,,two,"), std::vector<std::string>({"one", "two"}));
    const std::string many(100'000, ',');
    EXPECT_EQ(items(many + "one" + many), std::vector<std::string>({"one"}));
}

TEST(CommaList, Left_IsTheTextBehindTheItem) {
    constexpr CommaList list("one,,two,three");
    auto at = list.begin();
    EXPECT_EQ(at.left(), ",two,three");
    ++at;
    EXPECT_EQ(*at, "two");
    EXPECT_EQ(at.left(), "three");
    ++at;
    EXPECT_EQ(*at, "three");
    EXPECT_EQ(at.left(), "");
    ++at;
    EXPECT_TRUE(at == list.end());
    EXPECT_EQ(at.left(), "");
}

// A view of an empty text may have no address at all.
TEST(CommaList, NoText_HasNoItem) {
    EXPECT_TRUE(CommaList(std::string_view()).begin() == CommaList(std::string_view()).end());
    EXPECT_TRUE((*CommaList(std::string_view()).begin()).empty());
}

}  // namespace
}  // namespace pmix::common

// SPDX-License-Identifier: BSD-3-Clause
// What each release of OpenPMIx writes and expects.
#include <gtest/gtest.h>

#include "openpmix/traits.h"

namespace pmix::openpmix::openpmix_traits_test {
namespace {

Traits of(const char* version, const char* encoding = "v41") {
    const auto traits = traits_of(version, encoding, 1);
    EXPECT_TRUE(traits) << version;
    return traits.value_or(Traits{});
}

TEST(OpenPmixVersionTest, Text_LeadingDigitsOfEachPart) {
    EXPECT_EQ(parse_version("4.2.2rc2"), (Version{4, 2, 2}));
    EXPECT_EQ(parse_version("5.0.7a1"), (Version{5, 0, 7}));
    EXPECT_EQ(parse_version("v"), std::nullopt);
    EXPECT_EQ(parse_version(""), std::nullopt);
    EXPECT_EQ(parse_version("6"), (Version{6, 0, 0}));
    EXPECT_EQ(parse_version("6."), (Version{6, 0, 0}));
    EXPECT_EQ(parse_version("6.1x.4"), (Version{6, 1, 0}));
    EXPECT_EQ(parse_version("4294967296.0.0"), std::nullopt);
    EXPECT_EQ(parse_version("3.1.5.9"), (Version{3, 1, 5}));
}

TEST(OpenPmixTraitsTest, Encoding_FlexibleFixedOrUnknown) {
    for (const char* encoding : {"v4", "v41", "v51", "v61"}) EXPECT_FALSE(of("6.1.0", encoding).form.fixed);
    for (const char* encoding : {"v21", "v3"}) EXPECT_TRUE(of("3.1.5", encoding).form.fixed);
    for (const char* encoding : {"", "v2", "v12", "v20", "v411", "V41"}) {
        EXPECT_FALSE(traits_of("4.2.2", encoding, 1)) << encoding;
    }
}

TEST(OpenPmixTraitsTest, BufferKind_OneOrTwo) {
    EXPECT_FALSE(traits_of("4.2.2", "v41", 1)->form.described);
    EXPECT_TRUE(traits_of("4.2.2", "v41", 2)->form.described);
    EXPECT_FALSE(traits_of("4.2.2", "v41", 0));
    EXPECT_FALSE(traits_of("4.2.2", "v41", 3));
}

TEST(OpenPmixTraitsTest, Releases_AsEachWritesAndReads) {
    EXPECT_EQ(of("4.2.3").group_reply, GroupReplyForm::context_id);
    EXPECT_EQ(of("4.2.4").group_reply, GroupReplyForm::members);
    EXPECT_EQ(of("5.0.11").group_reply, GroupReplyForm::members);
    EXPECT_EQ(of("6.0.0").group_reply, GroupReplyForm::optional_id);
    EXPECT_FALSE(of("4.2.3").destruct_has_members);
    EXPECT_TRUE(of("4.2.4").destruct_has_members);
    EXPECT_FALSE(of("6.0.0").short_empty_arrays);
    EXPECT_TRUE(of("6.1.0").short_empty_arrays);
    EXPECT_FALSE(of("5.0.6").resolves);
    EXPECT_TRUE(of("5.0.7").resolves);
    EXPECT_FALSE(of("4.2.9").one_store_for_all);
    EXPECT_TRUE(of("5.0.0").one_store_for_all);
    EXPECT_FALSE(of("7.0.0rc1").one_store_for_all);
    EXPECT_FALSE(of("4.2.9").refreshes);
    EXPECT_TRUE(of("5.0.0").refreshes);
    EXPECT_FALSE(of("5.0.11").connect_has_extras);
    EXPECT_TRUE(of("6.0.0").connect_has_extras);
    EXPECT_TRUE(of("6.1.1rc2").loses_split_headers);
    EXPECT_FALSE(of("7.0.0rc1").loses_split_headers);
    EXPECT_TRUE(of("6.1.1rc2").topology_support);
    EXPECT_FALSE(of("7.0.0rc1").topology_support);
    EXPECT_FALSE(of("6.1.1rc2").deletes_keys);
    EXPECT_TRUE(of("7.0.0rc1").deletes_keys);
    EXPECT_FALSE(of("6.1.1rc2").forms_invited);
    EXPECT_TRUE(of("7.0.0rc1").forms_invited);
    EXPECT_TRUE(of("4.2.2").keeps_own_events);
    EXPECT_FALSE(of("5.0.7").keeps_own_events);
    EXPECT_FALSE(of("6.1.1rc2").leaves_by_event);
    EXPECT_TRUE(of("7.0.0rc1").leaves_by_event);
    EXPECT_TRUE(of("6.1.1rc2").reserved_at_once);
    EXPECT_FALSE(of("7.0.0rc1").reserved_at_once);
    EXPECT_FALSE(of("6.1.1rc2").takes_notices);
    EXPECT_TRUE(of("7.0.0rc1").takes_notices);
    EXPECT_FALSE(of("4.1.2").session_array);
    EXPECT_TRUE(of("4.2.0").session_array);
    EXPECT_FALSE(of("4.0.0").pull_has_id);
    EXPECT_TRUE(of("4.1.0").pull_has_id);
    EXPECT_EQ(of("6.0.0").most_payload, 0u);
    EXPECT_EQ(of("6.1.0").most_payload, size_t{32} << 20);
}

// 6.0.0 was branched off before 5.0.9 and lacks what that mended.
TEST(OpenPmixTraitsTest, SixZero_AsBeforeFiveZeroNine) {
    for (const char* version : {"4.0.0", "5.0.8", "6.0.0", "6.0.3"}) {
        EXPECT_FALSE(of(version).heeds_refusal) << version;
        EXPECT_FALSE(of(version).singleton_is_client) << version;
    }
    for (const char* version : {"5.0.9", "5.0.11", "6.1.0", "7.0.0"}) {
        EXPECT_TRUE(of(version).heeds_refusal) << version;
        EXPECT_TRUE(of(version).singleton_is_client) << version;
    }
    EXPECT_TRUE(of("3.2.5", "v3").heeds_refusal);
}

}  // namespace
}  // namespace pmix::openpmix::openpmix_traits_test

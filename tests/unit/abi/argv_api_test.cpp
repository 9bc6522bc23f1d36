// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>
#include <pmix.h>
#include <pmix_deprecated.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "support/status.h"

namespace argv_api_test {

namespace {

std::vector<std::string> listed(char** argv) {
    std::vector<std::string> out;
    for (; argv != nullptr && *argv != nullptr; ++argv) out.emplace_back(*argv);
    return out;
}

std::vector<std::string> split(const char* text, bool with_empty) {
    char** argv = with_empty ? PMIx_Argv_split_with_empty(text, ',') : PMIx_Argv_split(text, ',');
    auto out = listed(argv);
    PMIx_Argv_free(argv);
    return out;
}

using Strings = std::vector<std::string>;

// rows: D15
TEST(Argv, AppendPrependUnique) {
    char** argv = nullptr;
    EXPECT_EQ(PMIx_Argv_count(nullptr), 0);
    EXPECT_STATUS(PMIX_SUCCESS, PMIx_Argv_append_nosize(&argv, "b"));
    EXPECT_STATUS(PMIX_SUCCESS, PMIx_Argv_prepend_nosize(&argv, "a"));
    EXPECT_STATUS(PMIX_SUCCESS, PMIx_Argv_append_unique_nosize(&argv, "b"));
    EXPECT_STATUS(PMIX_SUCCESS, PMIx_Argv_append_unique_nosize(&argv, "c"));
    EXPECT_STATUS(PMIX_SUCCESS, PMIx_Argv_append_nosize(&argv, ""));
    EXPECT_EQ(listed(argv), (Strings{"a", "b", "c", ""}));
    EXPECT_EQ(PMIx_Argv_count(argv), 4);
    char** copy = PMIx_Argv_copy(argv);
    PMIx_Argv_free(argv);
    EXPECT_EQ(listed(copy), (Strings{"a", "b", "c", ""}));
    PMIx_Argv_free(copy);
    char** first = nullptr;
    EXPECT_STATUS(PMIX_SUCCESS, PMIx_Argv_prepend_nosize(&first, "only"));
    EXPECT_EQ(listed(first), Strings{"only"});
    PMIx_Argv_free(first);
    PMIx_Argv_free(nullptr);
    EXPECT_EQ(PMIx_Argv_copy(nullptr), nullptr);
    char* none[] = {nullptr};
    char** empty = PMIx_Argv_copy(none);
    ASSERT_NE(empty, nullptr);
    EXPECT_EQ(empty[0], nullptr);
    PMIx_Argv_free(empty);
}

// rows: D15
TEST(Argv, SplitWithOrWithoutEmptyParts) {
    for (const bool with_empty : {false, true}) {
        char** argv = PMIx_Argv_split_inter(":a::b:", ':', with_empty);
        EXPECT_EQ(listed(argv), (with_empty ? Strings{"", "a", "", "b"} : Strings{"a", "b"}));
        EXPECT_EQ(PMIx_Argv_count(argv), with_empty ? 4 : 2) << "what ends with a delimiter has nothing after it";
        PMIx_Argv_free(argv);
    }
}

// rows: D15
TEST(Argv, BadArguments) {
    char** argv = nullptr;
    EXPECT_STATUS(PMIX_ERR_BAD_PARAM, PMIx_Argv_append_nosize(nullptr, "x"));
    EXPECT_STATUS(PMIX_ERR_BAD_PARAM, PMIx_Argv_append_nosize(&argv, nullptr));
    EXPECT_STATUS(PMIX_ERR_BAD_PARAM, PMIx_Argv_prepend_nosize(&argv, nullptr));
    EXPECT_STATUS(PMIX_ERR_BAD_PARAM, PMIx_Argv_append_unique_nosize(nullptr, "x"));
    EXPECT_EQ(argv, nullptr);
    EXPECT_EQ(PMIx_Argv_split(nullptr, ','), nullptr);
}

// rows: D15
TEST(Argv, SplitKeepsOrDropsEmpties) {
    EXPECT_EQ(split("a,b,c", false), (Strings{"a", "b", "c"}));
    EXPECT_EQ(split(",a,,b,", false), (Strings{"a", "b"}));
    EXPECT_EQ(split(",a,,b,", true), (Strings{"", "a", "", "b"}));
    EXPECT_EQ(split("", true), Strings{});
    EXPECT_EQ(split(",", true), Strings{""});
    EXPECT_EQ(split(",", false), Strings{});
    EXPECT_EQ(split("one", true), Strings{"one"});
    std::string longer(100000, 'x');
    EXPECT_EQ(split((longer + "," + longer).c_str(), false), (Strings{longer, longer}));
}

// rows: D15
TEST(Argv, JoinIsTheInverse) {
    char** argv = PMIx_Argv_split_with_empty("a,,ccc", ',');
    char* joined = PMIx_Argv_join(argv, ':');
    EXPECT_STREQ(joined, "a::ccc");
    free(joined);
    PMIx_Argv_free(argv);
    char* nothing = PMIx_Argv_join(nullptr, ',');
    EXPECT_STREQ(nothing, "");
    free(nothing);
}

// rows: D15
TEST(Setenv, OwnLists) {
    char** env = nullptr;
    EXPECT_STATUS(PMIX_SUCCESS, PMIx_Setenv("A", "1", true, &env));
    EXPECT_STATUS(PMIX_SUCCESS, PMIx_Setenv("AB", "2", true, &env));
    EXPECT_STATUS(PMIX_ERR_EXISTS, PMIx_Setenv("A", "3", false, &env));
    EXPECT_EQ(listed(env), (Strings{"A=1", "AB=2"}));
    EXPECT_STATUS(PMIX_SUCCESS, PMIx_Setenv("A", "4=5", true, &env));
    EXPECT_STATUS(PMIX_SUCCESS, PMIx_Setenv("AB", nullptr, true, &env));
    EXPECT_EQ(listed(env), (Strings{"A=4=5", "AB="}));
    std::string longer(200000, 'v');
    EXPECT_STATUS(PMIX_SUCCESS, PMIx_Setenv("LONG", longer.c_str(), true, &env));
    EXPECT_EQ(listed(env).back(), "LONG=" + longer);
    EXPECT_STATUS(PMIX_ERR_BAD_PARAM, PMIx_Setenv(nullptr, "1", true, &env));
    EXPECT_STATUS(PMIX_ERR_BAD_PARAM, PMIx_Setenv("", "1", true, &env));
    EXPECT_STATUS(PMIX_ERR_BAD_PARAM, PMIx_Setenv("A=B", "1", true, &env));
    EXPECT_STATUS(PMIX_ERR_BAD_PARAM, PMIx_Setenv("A", "1", true, nullptr));
    PMIx_Argv_free(env);
}

// rows: D15
TEST(Setenv, TheProcessEnvironment) {
    EXPECT_STATUS(PMIX_SUCCESS, PMIx_Setenv("WIREUP_TEST_VAR", "x", true, &environ));
    EXPECT_STREQ(getenv("WIREUP_TEST_VAR"), "x");
    EXPECT_STATUS(PMIX_SUCCESS, PMIx_Setenv("WIREUP_TEST_VAR", "y", false, &environ));
    EXPECT_STREQ(getenv("WIREUP_TEST_VAR"), "x");
    EXPECT_STATUS(PMIX_SUCCESS, PMIx_Setenv("WIREUP_TEST_VAR", nullptr, true, &environ));
    EXPECT_EQ(getenv("WIREUP_TEST_VAR"), nullptr);
}

}  // namespace

}  // namespace argv_api_test

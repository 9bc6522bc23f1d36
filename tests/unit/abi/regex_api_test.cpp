// SPDX-License-Identifier: BSD-3-Clause
// PMIx_generate_regex and PMIx_generate_ppn, the public functions.
#include <gtest/gtest.h>
#include <pmix_server.h>

#include <cstdlib>
#include <string>

#include "common/placement/node_map.h"
#include "support/status.h"

namespace regex_api_test {

namespace {

using Generator = pmix_status_t (*)(const char*, char**);

std::string made(Generator generate, const char* input) {
    char* text = nullptr;
    EXPECT_STATUS(PMIX_SUCCESS, generate(input, &text)) << input;
    if (text == nullptr) return {};
    std::string copy(text, pmix::common::regex_size(text) - 1);
    std::free(text);  // hosts use free()
    return copy;
}

// rows: V3
TEST(GenerateRegex, IsATextThatOtherVersionsRead) {
    EXPECT_EQ("pmix[node[2:1-12]]",
              made(PMIx_generate_regex,
                   "node01,node02,node03,node04,node05,node06,node07,node08,node09,node10,node11,node12"));
    EXPECT_EQ("raw:login", made(PMIx_generate_regex, "login"));
    EXPECT_EQ("pmix[0-3;4-7]", made(PMIx_generate_ppn, "0,1,2,3;4,5,6,7"));
    EXPECT_EQ("raw:0,2;1", made(PMIx_generate_ppn, "0,2;1"));
    // A host may pass on what it got.
    EXPECT_EQ("pmix[0-3;4-7]", made(PMIx_generate_ppn, made(PMIx_generate_ppn, "0-3;4-7").c_str()));
}

// rows: V3
TEST(GenerateRegex, BadListsAreRefusedWithNothingToFree) {
    for (Generator generate : {PMIx_generate_regex, PMIx_generate_ppn}) {
        char junk = 0;
        for (const char* input : {static_cast<const char*>(nullptr), "", ",", "pmix[", "raw:"}) {
            char* text = &junk;
            EXPECT_STATUS(PMIX_ERR_BAD_PARAM, generate(input, &text));
            EXPECT_EQ(nullptr, text);
        }
        EXPECT_STATUS(PMIX_ERR_BAD_PARAM, generate("node1", nullptr));
    }
    char* text = nullptr;
    EXPECT_STATUS(PMIX_ERR_BAD_PARAM, PMIx_generate_ppn("node1,node2", &text));
    EXPECT_STATUS(PMIX_ERR_BAD_PARAM, PMIx_generate_ppn("0,1;1,2x", &text));
    EXPECT_STATUS(PMIX_ERR_BAD_PARAM, PMIx_generate_ppn("0,1;1,2", &text)) << "a rank of two nodes";
    EXPECT_STATUS(PMIX_ERR_BAD_PARAM, PMIx_generate_ppn("0;0", &text));
    EXPECT_EQ(nullptr, text);
}

}  // namespace

}  // namespace regex_api_test

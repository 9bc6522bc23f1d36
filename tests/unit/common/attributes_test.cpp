// SPDX-License-Identifier: BSD-3-Clause
#include "common/values/attributes.h"

#include <gtest/gtest.h>
#include <pmix.h>
#include <pmix_deprecated.h>
#include <pmix_server.h>
#include <pmix_tool.h>

#include <cstring>

namespace pmix::common::attributes_test {
namespace {

// The table against the headers: name by name, the string must be the macro's.
struct Row {
    const char* name;
    const char* macro;
    const char* string;
};
constexpr Row kRows[] = {
#define ATTRIBUTE(name, string, type) {#name, name, string},
#define ALIAS ATTRIBUTE
#include "common/values/attributes.def"
#undef ATTRIBUTE
#undef ALIAS
};

// rows: Y3
TEST(Attributes, StringsAreTheHeaders) {
    EXPECT_EQ(attribute_count(), std::size(kRows));
    for (const Row& row : kRows) {
        EXPECT_STREQ(row.macro, row.string) << row.name;
        Attribute a = attribute_by_name(row.name);
        ASSERT_NE(a.name, nullptr) << row.name;
        EXPECT_STREQ(a.string, row.string);
        EXPECT_LE(strlen(a.string), size_t{PMIX_MAX_KEYLEN});
        Attribute b = attribute_by_string(row.string);
        ASSERT_NE(b.name, nullptr) << row.string;
        EXPECT_STREQ(b.string, row.string);
        EXPECT_STREQ(PMIx_Get_attribute_string(row.name), row.string);
        EXPECT_STREQ(PMIx_Get_attribute_string(PMIx_Get_attribute_name(row.string)), row.string);
    }
}

// rows: Y3
TEST(Attributes, UnknownComesBackAsItIs) {
    const char* odd = "pmix.no.such.thing";
    EXPECT_EQ(PMIx_Get_attribute_name(odd), odd);
    EXPECT_EQ(PMIx_Get_attribute_string(odd), odd);
    // As somebody types them.
    EXPECT_STREQ(PMIx_Get_attribute_string("pmix_timeout"), PMIX_TIMEOUT);
    EXPECT_STREQ(PMIx_Get_attribute_name("PMIX.TIMEOUT"), "PMIX_TIMEOUT");
    EXPECT_STREQ(PMIx_Get_attribute_string("PMIX_TIMEOU"), "PMIX_TIMEOU");
    EXPECT_STREQ(PMIx_Get_attribute_string("PMIX_TIMEOUTS"), "PMIX_TIMEOUTS");
    EXPECT_STREQ(PMIx_Get_attribute_string("PMIX_TIMEOUT"), PMIX_TIMEOUT);
    EXPECT_STREQ(PMIx_Get_attribute_name(PMIX_EVENT_HDLR_NAME), "PMIX_EVENT_HDLR_NAME");
    EXPECT_STREQ(PMIx_Get_attribute_name(PMIX_ALLOC_FABRIC), "PMIX_ALLOC_FABRIC");
    EXPECT_NE(PMIx_Get_attribute_name(nullptr), nullptr);
    EXPECT_NE(PMIx_Get_attribute_string(nullptr), nullptr);
    EXPECT_EQ(attribute_by_name("").name, nullptr);
    EXPECT_EQ(attribute_by_string("").name, nullptr);
    EXPECT_EQ(attribute_by_name("PMIX_TIMEOUT").type, PMIX_INT);
}

}  // namespace
}  // namespace pmix::common::attributes_test

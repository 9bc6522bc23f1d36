// SPDX-License-Identifier: BSD-3-Clause
// What the tests of queries share.
#pragma once

#include <gtest/gtest.h>
#include <pmix.h>
#include <pmix_server.h>
#include <unistd.h>

#include <algorithm>
#include <future>
#include <string>
#include <vector>

#include "common/values/attributes.h"
#include "common/values/support.h"
#include "common/values/support_question.h"
#include "support/query_here.h"

namespace pmix::test {

using pmix::common::infos_in;

inline std::vector<std::string> attribute_names(const pmix_value_t& value) {
    std::vector<std::string> names;
    if (value.type != PMIX_DATA_ARRAY || value.data.darray->type != PMIX_REGATTR) return names;
    const auto* rows = static_cast<const pmix_regattr_t*>(value.data.darray->array);
    for (size_t i = 0; i < value.data.darray->size; ++i) {
        names.emplace_back(rows[i].name);
        EXPECT_STREQ(rows[i].string, PMIx_Get_attribute_string(rows[i].name));
    }
    return names;
}

inline bool has(const std::vector<std::string>& names, const char* name) {
    return std::find(names.begin(), names.end(), name) != names.end();
}

}  // namespace pmix::test

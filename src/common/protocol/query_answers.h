// SPDX-License-Identifier: BSD-3-Clause
// Which query each answer of a host belongs to.
//
// Two queries may ask for one key, of two jobs say, and a host may answer one of them only. What is known of an answer
// is how the host has grouped it: the Standard has one PMIX_QUERY_RESULTS for each query, with the query's qualifiers
// in front (PMIX_QUERY_QUALIFIERS) where it had any; many hosts list their answers instead, and some put all into one
// group. An answer that may be that of several different queries is left out: given to the wrong one it would be a
// wrong value, which the process keeps.
//
// Pure, any thread. What it returns points into the answers.
#pragma once

#include <pmix_common.h>

#include <span>
#include <string_view>
#include <vector>

#include "common/values/info_view.h"

namespace pmix::common {

struct AskedKey {
    size_t query;  // its place among the queries
    std::string_view key;
};

// For each key that was asked, the answer to it; null: there is none. PMIX_USERID and PMIX_GRPID, which a server adds
// to what it asks a host, are not looked at.
std::vector<const pmix_info_t*> answers_by_query(std::span<const pmix_query_t> queries, std::span<const AskedKey> asked,
                                                 InfoView answers);

}  // namespace pmix::common

// SPDX-License-Identifier: BSD-3-Clause
#include "common/values/support_question.h"

#include <algorithm>

#include "common/base/comma_list.h"

namespace pmix::common {
namespace {

constexpr const char* kAttributeKeys[] = {PMIX_CLIENT_ATTRIBUTES, PMIX_SERVER_ATTRIBUTES, PMIX_HOST_ATTRIBUTES,
                                          PMIX_TOOL_ATTRIBUTES};
constexpr const char* kFunctionKeys[] = {PMIX_CLIENT_FUNCTIONS, PMIX_SERVER_FUNCTIONS, PMIX_HOST_FUNCTIONS,
                                         PMIX_TOOL_FUNCTIONS};

void add_function(std::vector<std::string>& functions, std::string_view name) {
    if (name == "all") {
        for (const std::string_view one : CommaList(supported_functions(level::client | level::server | level::tool))) {
            add_function(functions, one);
        }
        return;
    }
    if (std::ranges::find(functions, name) == functions.end()) functions.emplace_back(name);
}

}  // namespace

const char* attributes_key(Level level) noexcept {
    return kAttributeKeys[static_cast<size_t>(level)];
}
const char* functions_key(Level level) noexcept {
    return kFunctionKeys[static_cast<size_t>(level)];
}

bool SupportQuestion::is_one(const pmix_query_t& query) noexcept {
    return query.keys != nullptr && query.keys[0] != nullptr &&
           std::string_view(query.keys[0]) == PMIX_QUERY_ATTRIBUTE_SUPPORT;
}

SupportQuestion SupportQuestion::read(const pmix_query_t& query) {
    SupportQuestion q;
    for (char** key = query.keys + 1; *key != nullptr; ++key) add_function(q.functions, *key);
    bool any_level = false;
    for (const pmix_info_t& info : InfoView(query.qualifiers, query.nqual)) {
        for (size_t i = 0; i < kLevels.size(); ++i) {
            const bool attributes = key_view(info) == kAttributeKeys[i];
            if (!attributes && key_view(info) != kFunctionKeys[i]) continue;
            if (info.value.type == PMIX_STRING && info.value.data.string != nullptr && attributes) {
                for (const std::string_view name : CommaList(info.value.data.string)) add_function(q.functions, name);
                q.attributes[i] = any_level = true;
            } else if (truth_of(info.value) != PMIX_BOOL_FALSE) {
                (attributes ? q.attributes : q.lists)[i] = any_level = true;
            }
        }
    }
    if (!any_level) (q.functions.empty() ? q.lists : q.attributes).fill(true);
    return q;
}

}  // namespace pmix::common

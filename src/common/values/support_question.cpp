// SPDX-License-Identifier: BSD-3-Clause
#include "common/values/support_question.h"

#include <algorithm>

namespace pmix::common {
namespace {

constexpr const char* kAttributeKeys[] = {PMIX_CLIENT_ATTRIBUTES, PMIX_SERVER_ATTRIBUTES, PMIX_HOST_ATTRIBUTES,
                                          PMIX_TOOL_ATTRIBUTES};
constexpr const char* kFunctionKeys[] = {PMIX_CLIENT_FUNCTIONS, PMIX_SERVER_FUNCTIONS, PMIX_HOST_FUNCTIONS,
                                         PMIX_TOOL_FUNCTIONS};

template <class F>
void for_each_word(std::string_view list, F&& f) {
    while (!list.empty()) {
        const size_t comma = std::min(list.find(','), list.size());
        if (comma != 0) f(list.substr(0, comma));
        list.remove_prefix(std::min(comma + 1, list.size()));
    }
}

void add_function(std::vector<std::string>& functions, std::string_view name) {
    if (name == "all") {
        for_each_word(supported_functions(level::client | level::server | level::tool),
                      [&](std::string_view one) { add_function(functions, one); });
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
                for_each_word(info.value.data.string, [&](std::string_view name) { add_function(q.functions, name); });
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

// SPDX-License-Identifier: BSD-3-Clause
#include "server/host/host_attributes.h"

#include <algorithm>
#include <set>

#include "common/values/attributes.h"
#include "common/values/support.h"

namespace pmix::server {

pmix_status_t HostAttributes::add(std::string_view function, std::vector<std::string> attributes) {
    // A host may be newer than this library, and have functions that it lacks.
    if (!common::is_host_function(function) && !function.starts_with("PMIx_")) return PMIX_ERR_BAD_PARAM;
    if (attributes_.find(function) != attributes_.end()) return PMIX_ERR_REPEAT_ATTR_REGISTRATION;
    attributes_.emplace(function, std::move(attributes));
    return PMIX_SUCCESS;
}

std::vector<std::string> HostAttributes::names_of(std::string_view function) const {
    if (const auto exact = attributes_.find(function); exact != attributes_.end()) return exact->second;
    std::vector<std::string> names;
    for (const auto& [registered, attributes] : attributes_) {
        if (!common::host_function_serves(registered, function)) continue;
        for (const std::string& name : attributes)
            if (std::ranges::find(names, name) == names.end()) names.push_back(name);
    }
    return names;
}

common::Result<common::Value> HostAttributes::of(std::string_view function) const {
    const std::vector<std::string> names = names_of(function);
    return common::described_attributes(names.data(), names.size());
}

bool HostAttributes::knows(std::string_view function) const noexcept {
    return std::ranges::any_of(attributes_,
                               [&](const auto& known) { return common::host_function_serves(known.first, function); });
}

bool HostAttributes::lists(std::string_view function, std::string_view attribute) const {
    return std::ranges::any_of(names_of(function), [&](const std::string& name) {
        if (name == attribute) return true;
        const common::Attribute known = common::attribute_by_name(name);
        return known.string != nullptr && attribute == known.string;
    });
}

std::string HostAttributes::functions() const {
    std::set<std::string_view> names;
    for (const auto& [registered, attributes] : attributes_) names.insert(common::user_function(registered));
    std::string list;
    for (const std::string_view name : names) {
        if (!list.empty()) list += ',';
        list += name;
    }
    return list;
}

std::string HostAttributes::strings_of(std::string_view function) const {
    std::string list;
    for (const std::string& name : names_of(function)) {
        const common::Attribute known = common::attribute_by_name(name);
        if (!list.empty()) list += ',';
        list += known.string == nullptr ? name : known.string;
    }
    return list;
}

}  // namespace pmix::server

#include "server/host_attributes.h"

#include <algorithm>

#include "common/attributes.h"
#include "common/support.h"

namespace pmix::server {

pmix_status_t HostAttributes::add(std::string_view function, std::vector<std::string> attributes) {
    if (!common::is_host_function(function)) return PMIX_ERR_BAD_PARAM;
    // An entry and the function it serves are one.
    const bool repeated = std::ranges::any_of(attributes_, [&](const auto& known) {
        return known.first == function || common::host_function_serves(function, known.first) ||
               common::host_function_serves(known.first, function);
    });
    if (repeated) return PMIX_ERR_REPEAT_ATTR_REGISTRATION;
    attributes_.emplace(function, std::move(attributes));
    return PMIX_SUCCESS;
}

std::vector<std::string> HostAttributes::names_of(std::string_view function) const {
    std::vector<std::string> names;
    for (const auto& [registered, attributes] : attributes_) {
        if (common::host_function_serves(registered, function))
            names.insert(names.end(), attributes.begin(), attributes.end());
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

std::string HostAttributes::functions() const {
    std::string list;
    for (const auto& [registered, attributes] : attributes_) {
        if (!list.empty()) list += ',';
        list += common::user_function(registered);
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

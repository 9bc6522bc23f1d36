// SPDX-License-Identifier: BSD-3-Clause
#include "server/host/required.h"

#include "common/values/attributes.h"

namespace pmix::server {

using common::Function;
using common::InfoList;
using common::InfoView;

namespace {

constexpr common::Levels kHere = common::level::client | common::level::server;

bool is_open(const pmix_info_t& info) noexcept {
    return common::is_required(info) && (info.flags & PMIX_INFO_REQD_PROCESSED) == 0;
}

bool is_ours(const pmix_info_t& info, Function function) noexcept {
    if (function == Function::PMIx_Query_info && common::is_query_qualifier(common::key_view(info))) return true;
    return common::check_required(InfoView(&info, 1), function, kHere) == PMIX_SUCCESS;
}

bool is_registered(const Host& host, std::string_view key, Function function) {
    return host.has(function) && host.attributes().lists(common::function_name(function), key);
}

// The worst of all entries.
template <class Meets>
Required worst(InfoView infos, Function function, Meets by_host) {
    Required result = Required::met_here;
    for (const pmix_info_t& info : infos) {
        if (!is_open(info) || is_ours(info, function)) continue;
        if (!by_host(info)) return Required::unmet;
        result = Required::by_host;
    }
    return result;
}

}  // namespace

Required required_in_collective(const Host& host, InfoView infos, Function function) {
    return worst(infos, function,
                 [&](const pmix_info_t& info) { return is_registered(host, common::key_view(info), function); });
}

Required required_in_service(const Host& host, InfoView infos, Function function, Entries are) {
    return worst(infos, function, [&](const pmix_info_t& info) {
        const std::string_view key = common::key_view(info);
        const bool named = common::attribute_by_string(key).name != nullptr;
        if (are == Entries::payload && (named || !key.starts_with("pmix"))) return true;
        return host.may_meet(function, info, named);
    });
}

pmix_status_t check_service(const Host& host, InfoView infos, Function function, Entries are) {
    const Required required = required_in_service(host, infos, function, are);
    return required == Required::unmet ? PMIX_ERR_NOT_SUPPORTED : PMIX_SUCCESS;
}

void mark_processed(InfoList& infos, Function function) {
    for (size_t i = 0; i < infos.size(); ++i) {
        pmix_info_t& info = infos[i];
        if (is_open(info) && common::key_view(info) != PMIX_COLLECT_DATA && is_ours(info, function))
            info.flags |= PMIX_INFO_REQD_PROCESSED;
    }
}

}  // namespace pmix::server

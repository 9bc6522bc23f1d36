// SPDX-License-Identifier: BSD-3-Clause
#include "server/jobs/inventory.h"

#include "common/values/array_value.h"

namespace pmix::server {
namespace {

using common::InfoList;
using common::InfoView;

std::string_view name_in(InfoView node) noexcept {
    std::string_view name;
    node.get(PMIX_HOSTNAME, &name);
    return name;
}

pmix_status_t keep(InfoList& kept, const pmix_info_t& info) {
    if (pmix_info_t* old = kept.find(common::key_view(info))) {
        auto copy = common::Value::copy_of(info.value);
        if (!copy) return copy.status();
        common::destroy_value(&old->value);
        old->value = copy->take();
        return PMIX_SUCCESS;
    }
    return kept.append(info);
}

}  // namespace

pmix_status_t Inventory::deliver(InfoView infos, std::string_view own) {
    for (const pmix_info_t& info : infos) {
        if (common::key_view(info) == PMIX_NODE_INFO_ARRAY && name_in(common::infos_in(info.value)).empty())
            return PMIX_ERR_BAD_PARAM;
    }
    for (const pmix_info_t& info : infos) {
        const bool array = common::key_view(info) == PMIX_NODE_INFO_ARRAY;
        const InfoView facts = array ? common::infos_in(info.value) : InfoView(&info, 1);
        InfoList& node = nodes_[std::string(array ? name_in(facts) : own)];
        for (const pmix_info_t& fact : facts) {
            WIREUP_RETURN_IF_ERROR(keep(node, fact));
        }
    }
    return PMIX_SUCCESS;
}

const pmix_value_t* Inventory::find(std::string_view node, std::string_view key) const noexcept {
    const auto at = nodes_.find(node);
    if (at == nodes_.end()) return nullptr;
    const pmix_info_t* info = at->second.find(key);
    return info == nullptr ? nullptr : &info->value;
}

std::vector<std::string> Inventory::names() const {
    std::vector<std::string> names;
    for (const auto& [name, facts] : nodes_) names.push_back(name);
    return names;
}

}  // namespace pmix::server

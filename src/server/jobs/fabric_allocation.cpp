// SPDX-License-Identifier: BSD-3-Clause
#include "server/jobs/fabric_allocation.h"

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "common/base/random.h"
#include "common/placement/node_map.h"
#include "common/placement/regex2.h"
#include "common/values/array_value.h"
#include "server/jobs/inventory.h"

namespace pmix::server {
namespace {

using common::InfoList;
using common::InfoView;
using common::Result;
using common::Value;

struct Request {
    std::string_view id;
    std::string_view type;
    bool key = false;  // wanted
};

// Sockets are to be had over whatever carries addresses.
bool serves(std::string_view device, std::string_view type) noexcept {
    constexpr std::string_view kSockets[] = {"tcp", "udp", "sockets"};
    constexpr std::string_view kVerbs[] = {"verbs", "ib", "openfabrics"};
    if (device == type) return true;
    if (std::ranges::find(kSockets, type) != std::end(kSockets)) return device == "ethernet" || device == "infiniband";
    return std::ranges::find(kVerbs, type) != std::end(kVerbs) && device == "openfabrics";
}

pmix_status_t read(InfoView wanted, Request& request) {
    pmix_status_t rc = wanted.get(PMIX_ALLOC_FABRIC_ID, &request.id);
    if (rc == PMIX_SUCCESS) rc = wanted.get(PMIX_ALLOC_FABRIC_TYPE, &request.type);
    if (rc != PMIX_SUCCESS) return rc;
    if (request.id.empty() || request.id.size() > common::kMaxKeyLength || request.type.empty())
        return PMIX_ERR_BAD_PARAM;
    for (const pmix_info_t& info : wanted) {
        const std::string_view key = common::key_view(info);
        if (key == PMIX_ALLOC_FABRIC_SEC_KEY) {
            // A request for one, whatever the value's type.
            request.key = info.value.type != PMIX_BOOL || info.value.data.flag;
        } else if (common::is_required(info) && key != PMIX_ALLOC_FABRIC_ID && key != PMIX_ALLOC_FABRIC_TYPE) {
            return PMIX_ERR_NOT_SUPPORTED;
        }
    }
    return PMIX_SUCCESS;
}

// The nodes of the job, or all known nodes where the host gives no map.
Result<std::vector<std::string>> nodes_of(InfoView directives, const Inventory& inventory) {
    const pmix_info_t* map = directives.find(PMIX_NODE_MAP);
    if (map == nullptr) return inventory.names();
    common::Bytes bytes;
    std::string expanded;
    const pmix_status_t rc = common::map_bytes(map->value, expanded, &bytes);
    if (rc != PMIX_SUCCESS) return rc == PMIX_ERR_TYPE_MISMATCH ? PMIX_ERR_BAD_PARAM : rc;
    return common::parse_node_map(bytes);
}

Result<Value> devices_on(const std::string& node, std::string_view type, const Inventory& inventory) {
    const pmix_value_t* known = inventory.find(node, PMIX_FABRIC_DEVICES);
    if (known == nullptr) return PMIX_ERR_NOT_SUPPORTED;
    InfoList devices;
    for (const pmix_info_t& device : common::infos_in(*known)) {
        std::string_view kind;
        if (common::infos_in(device.value).get(PMIX_FABRIC_DEVICE_TYPE, &kind) != PMIX_SUCCESS || !serves(kind, type))
            continue;
        if (const pmix_status_t rc = devices.append(device); rc != PMIX_SUCCESS) return rc;
    }
    if (devices.empty()) return PMIX_ERR_NOT_SUPPORTED;
    auto array = common::array_value(std::move(devices));
    if (!array) return array.status();
    InfoList facts;
    pmix_status_t rc = facts.append_string(PMIX_HOSTNAME, node);
    if (rc == PMIX_SUCCESS) rc = facts.append(PMIX_FABRIC_DEVICES, std::move(array).value());
    if (rc != PMIX_SUCCESS) return rc;
    return common::array_value(std::move(facts));
}

pmix_status_t append_key(InfoList& met) {
    std::array<char, kFabricKeyBytes> random;
    if (!common::fill_random(random.data(), random.size())) return PMIX_ERR_NOT_SUPPORTED;
    const pmix_byte_object_t key{random.data(), random.size()};
    return met.append(PMIX_ALLOC_FABRIC_SEC_KEY, &key, PMIX_BYTE_OBJECT);
}

pmix_status_t set_up(const Request& request, const std::vector<std::string>& nodes, const Inventory& inventory,
                     InfoList& answer) {
    InfoList by_node;
    pmix_status_t rc = PMIX_SUCCESS;
    for (const std::string& node : nodes) {
        auto devices = devices_on(node, request.type, inventory);
        if (!devices) return devices.status();
        rc = by_node.append(PMIX_NODE_INFO_ARRAY, std::move(devices).value());
        if (rc != PMIX_SUCCESS) return rc;
    }
    auto description = common::array_value(std::move(by_node));
    if (!description) return description.status();
    InfoList met;
    rc = met.append(request.id, std::move(description).value());
    if (rc == PMIX_SUCCESS) rc = met.append_string(PMIX_ALLOC_FABRIC_TYPE, request.type);
    if (rc == PMIX_SUCCESS && request.key) rc = append_key(met);
    if (rc != PMIX_SUCCESS) return rc;
    auto array = common::array_value(std::move(met));
    if (!array) return array.status();
    return answer.append(PMIX_ALLOC_FABRIC, std::move(array).value());
}

}  // namespace

pmix_status_t set_up_fabrics(InfoView directives, const Inventory& inventory, InfoList& answer) {
    for (const pmix_info_t& info : directives) {
        if (common::key_view(info) != PMIX_ALLOC_FABRIC) continue;
        Request request;
        pmix_status_t rc = read(common::infos_in(info.value), request);
        if (rc != PMIX_SUCCESS) return rc;
        auto nodes = nodes_of(directives, inventory);
        if (!nodes) return nodes.status();
        InfoList one;
        rc = nodes->empty() ? PMIX_ERR_NOT_SUPPORTED : set_up(request, *nodes, inventory, one);
        // Not required: the application gets the rest without it.
        if (rc == PMIX_ERR_NOT_SUPPORTED && !common::is_required(info)) continue;
        if (rc == PMIX_SUCCESS) rc = answer.append_all(one.c_array(), one.size());
        if (rc != PMIX_SUCCESS) return rc;
    }
    return PMIX_SUCCESS;
}

pmix_status_t fabric_facts(InfoView delivered, InfoList& facts) {
    for (const pmix_info_t& info : delivered) {
        if (common::key_view(info) != PMIX_ALLOC_FABRIC) continue;
        const InfoView array = common::infos_in(info.value);
        if (array.size() == 0) return PMIX_ERR_BAD_PARAM;
        const std::string_view id = common::key_view(array[0]);
        if (id.empty()) return PMIX_ERR_BAD_PARAM;
        auto copy = Value::copy_of(info.value);
        if (!copy) return copy.status();
        WIREUP_RETURN_IF_ERROR(facts.append(id, std::move(copy).value()));
    }
    return PMIX_SUCCESS;
}

}  // namespace pmix::server

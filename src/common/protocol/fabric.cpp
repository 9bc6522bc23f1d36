// SPDX-License-Identifier: BSD-3-Clause
#include "common/protocol/fabric.h"

#include <algorithm>
#include <array>
#include <optional>

#include "common/base/limits.h"
#include "common/values/array_value.h"

namespace pmix::common {
namespace {

constexpr std::string_view kUnknownVendor = "unknown";

constexpr std::array<std::string_view, 2> kByUse = {"infiniband", "openfabrics"};

// Networks that every node has.
bool is_plain_network(std::string_view type) noexcept {
    return type == "ethernet" || type == "network";
}

size_t use_of(std::string_view type) noexcept {
    return static_cast<size_t>(std::find(kByUse.begin(), kByUse.end(), type) - kByUse.begin());
}

std::string_view text(InfoView infos, const char* key) noexcept {
    std::string_view value;
    infos.get(key, &value);
    return value;
}

struct Fabric {
    std::string_view type;
    std::string_view vendor;  // empty: not all devices have the same
    size_t devices = 0;
};

std::vector<Fabric> sort_by_fabric(InfoView devices) {
    std::vector<Fabric> fabrics;
    for (const pmix_info_t& device : devices) {
        if (key_view(device) != PMIX_FABRIC_DEVICE) continue;
        const InfoView facts = infos_in(device.value);
        const std::string_view type = text(facts, PMIX_FABRIC_DEVICE_TYPE);
        if (type.empty() || is_plain_network(type)) continue;
        const std::string_view vendor = text(facts, PMIX_FABRIC_DEVICE_VENDOR);
        auto it = std::find_if(fabrics.begin(), fabrics.end(), [&](const Fabric& f) { return f.type == type; });
        if (it == fabrics.end()) it = fabrics.insert(it, Fabric{type, vendor});
        if (it->vendor != vendor) it->vendor = {};
        ++it->devices;
    }
    std::stable_sort(fabrics.begin(), fabrics.end(),
                     [](const Fabric& a, const Fabric& b) { return use_of(a.type) < use_of(b.type); });
    return fabrics;
}

pmix_status_t describe(const Fabric& fabric, InfoList& out) {
    pmix_status_t rc = out.append_string(PMIX_FABRIC_VENDOR, fabric.vendor.empty() ? kUnknownVendor : fabric.vendor);
    if (rc == PMIX_SUCCESS) rc = out.append_string(PMIX_FABRIC_IDENTIFIER, fabric.type);
    if (rc == PMIX_SUCCESS) rc = out.append_number(PMIX_FABRIC_NUM_DEVICES, fabric.devices, PMIX_SIZE);
    return rc;
}

std::string identity(InfoView description) {
    std::string name;
    for (const char* key : {PMIX_FABRIC_VENDOR, PMIX_FABRIC_IDENTIFIER, PMIX_FABRIC_PLANE}) {
        name += text(description, key);
        name += '\0';
    }
    return name;
}

}  // namespace

size_t FabricNumbers::of(InfoView description) {
    std::string name = identity(description);
    const auto it = std::find(names_.begin(), names_.end(), name);
    if (it != names_.end()) return static_cast<size_t>(it - names_.begin());
    names_.push_back(std::move(name));
    return names_.size() - 1;
}

Result<InfoList> portable_fabric(const pmix_info_t* infos, size_t n) noexcept {
    const InfoView view(infos, n);
    constexpr size_t kMaxCosts = kMaxFramePayload / 2 / sizeof(uint16_t);
    InfoList out;
    for (const pmix_info_t& info : view) {
        pmix_status_t rc = PMIX_SUCCESS;
        if (info.value.type != PMIX_POINTER) {
            rc = out.append(info);
        } else if (key_view(info) == PMIX_FABRIC_COST_MATRIX && info.value.data.ptr != nullptr) {
            size_t side = 0;
            rc = view.get(PMIX_FABRIC_NUM_DEVICES, &side);
            if (rc != PMIX_SUCCESS) return rc;
            if (side == 0 || side > kMaxCosts / side) continue;
            const pmix_data_array_t costs{PMIX_UINT16, side * side, info.value.data.ptr};
            rc = out.append(PMIX_FABRIC_COST_MATRIX, &costs, PMIX_DATA_ARRAY);
        }
        if (rc != PMIX_SUCCESS) return rc;
    }
    return out;
}

const pmix_data_array_t* portable_costs(InfoView description) noexcept {
    const pmix_data_array_t* costs = nullptr;
    size_t side = 0;
    if (description.get(PMIX_FABRIC_COST_MATRIX, PMIX_UINT16, &costs) != PMIX_SUCCESS || costs == nullptr)
        return nullptr;
    if (description.get(PMIX_FABRIC_NUM_DEVICES, &side) != PMIX_SUCCESS || side == 0) return nullptr;
    return costs->array != nullptr && costs->size % side == 0 && costs->size / side == side ? costs : nullptr;
}

Result<InfoList> describe_fabric(InfoView devices, InfoView directives, FabricNumbers& numbers) {
    std::string_view vendor, identifier, plane;
    std::optional<size_t> number;
    pmix_status_t rc = directives.get(PMIX_FABRIC_VENDOR, &vendor);
    if (rc == PMIX_SUCCESS) rc = directives.get(PMIX_FABRIC_IDENTIFIER, &identifier);
    if (rc == PMIX_SUCCESS) rc = directives.get(PMIX_FABRIC_PLANE, &plane);
    if (rc == PMIX_SUCCESS) rc = directives.get(PMIX_FABRIC_INDEX, &number);
    if (rc != PMIX_SUCCESS) return rc;
    const std::vector<Fabric> fabrics = sort_by_fabric(devices);
    if (fabrics.empty()) return PMIX_ERR_NOT_SUPPORTED;
    // Which plane a device is on, its node does not know.
    if (!plane.empty()) return PMIX_ERR_NOT_FOUND;
    for (const Fabric& fabric : fabrics) {
        if (!identifier.empty() && identifier != fabric.type) continue;
        InfoList description;
        rc = describe(fabric, description);
        if (rc != PMIX_SUCCESS) return rc;
        if (!vendor.empty() && vendor != text(description, PMIX_FABRIC_VENDOR)) continue;
        const size_t own = numbers.of(description);
        if (number && *number != own) continue;
        rc = description.append_number(PMIX_FABRIC_INDEX, own, PMIX_SIZE);
        if (rc != PMIX_SUCCESS) return rc;
        return description;
    }
    return PMIX_ERR_NOT_FOUND;
}

}  // namespace pmix::common

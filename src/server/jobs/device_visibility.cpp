// SPDX-License-Identifier: BSD-3-Clause
#include "server/jobs/device_visibility.h"

#include <strings.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <string_view>

#include "common/base/comma_list.h"
#include "common/base/log.h"

namespace pmix::server {
namespace {

using common::Gpu;
using common::Nic;
using Edit = LaunchEnv::Edit;
using Maker = Gpu::Maker;

constexpr size_t kMaxDevices = 1024;

struct Setting {
    std::string_view name, value;
};
struct MakerRow {
    Maker maker;
    std::string_view variable;
    // With all of them the library counts cards in the order of the bus; without a name: it counts no other way.
    std::array<Setting, 2> counting;
    // Also choose devices, from those that are left.
    std::array<std::string_view, 2> others;
};
// HIP_VISIBLE_DEVICES is not set beside ROCR_VISIBLE_DEVICES: its indices would be among those that the latter leaves.
// Level Zero counts the tiles of cards, unless it is told to show each card as one device (COMPOSITE): with FLAT, which
// newer drivers take when nothing is said, and with COMBINED, index 1 may be the second half of the first card.
constexpr MakerRow kMakers[] = {
    {Maker::nvidia, "CUDA_VISIBLE_DEVICES", {{{"CUDA_DEVICE_ORDER", "PCI_BUS_ID"}, {}}}, {}},
    {Maker::amd, "ROCR_VISIBLE_DEVICES", {}, {"HIP_VISIBLE_DEVICES", "GPU_DEVICE_ORDINAL"}},
    {Maker::intel,
     "ZE_AFFINITY_MASK",
     {{{"ZE_ENABLE_PCI_ID_DEVICE_ORDER", "1"}, {"ZE_FLAT_DEVICE_HIERARCHY", "COMPOSITE"}}},
     {}}};

// The library of a network device is told names. NCCL would take one for the beginning of others without the '='; UCX
// names ports, by patterns.
struct NicVariable {
    Nic::Maker maker;
    std::string_view variable, begin, behind_each;
    bool of_one;  // takes a single name
};
constexpr NicVariable kNicVariables[] = {{Nic::Maker::mellanox, "NCCL_IB_HCA", "=", "", false},
                                         {Nic::Maker::mellanox, "UCX_NET_DEVICES", "", ":*", false},
                                         {Nic::Maker::omni_path, "PSM3_NIC", "", "", true}};

// What follows from a device's name alone, on a node whose topology does not show it.
struct NameRow {
    std::string_view prefix;
    Maker maker;
    bool in_bus_order;
};
constexpr NameRow kNames[] = {{"cuda", Maker::nvidia, false},
                              {"nvml", Maker::nvidia, true},
                              {"rsmi", Maker::amd, true},
                              {"ze", Maker::intel, false}};

struct Chosen {
    Maker maker;
    std::string text;
    bool in_bus_order;
};

bool same(std::string_view a, std::string_view b) noexcept {
    return a.size() == b.size() && ::strncasecmp(a.data(), b.data(), a.size()) == 0;
}

std::optional<Chosen> by_topology(std::string_view name, const std::vector<Gpu>& gpus) {
    const auto is_it = [&](const Gpu& gpu) {
        return (!gpu.id.empty() && same(gpu.id, name)) ||
               std::any_of(gpu.names.begin(), gpu.names.end(), [&](const std::string& n) { return same(n, name); });
    };
    const auto at = std::find_if(gpus.begin(), gpus.end(), is_it);
    if (at == gpus.end()) return {};
    if (at->maker == Maker::nvidia && !at->id.empty()) return Chosen{at->maker, at->id, false};
    return Chosen{at->maker, std::to_string(at->place), true};
}

std::optional<Chosen> by_name(std::string_view name) {
    // Both makers' libraries take their own ids: AMD's has 16 digits, NVIDIA's has them in groups.
    constexpr size_t kAmdId = 20;
    if (name.starts_with("GPU-") && name.size() == kAmdId && name.find('-', 4) == std::string_view::npos)
        return Chosen{Maker::amd, std::string(name), false};
    if (name.starts_with("GPU-") || name.starts_with("MIG-")) return Chosen{Maker::nvidia, std::string(name), false};
    for (const NameRow& row : kNames) {
        if (!name.starts_with(row.prefix)) continue;
        const std::string_view rest = name.substr(row.prefix.size());
        unsigned index = 0;
        const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), index);
        if (error == std::errc() && end == rest.data() + rest.size())
            return Chosen{row.maker, std::to_string(index), row.in_bus_order};
    }
    return {};
}

// The names of one device, the surest first.
using Names = std::vector<std::string_view>;

struct Assigned {
    Names names;
    bool may_be_gpu = true, may_be_nic = true;
};

void add_list(std::string_view text, std::vector<Assigned>& out) {
    for (const std::string_view name : common::CommaList(text)) {
        if (out.size() >= kMaxDevices) return;
        out.push_back({{name}});
    }
}

std::vector<Assigned> assigned(const pmix_value_t& value) {
    std::vector<Assigned> out;
    if (value.type == PMIX_STRING && value.data.string != nullptr) add_list(value.data.string, out);
    const auto add_device = [&](const pmix_device_t& device) {
        const auto may_be = [&](pmix_device_type_t types) {
            return device.type == PMIX_DEVTYPE_UNKNOWN || (device.type & types) != 0;
        };
        Assigned one;
        one.may_be_gpu = may_be(PMIX_DEVTYPE_GPU | PMIX_DEVTYPE_COPROC);
        one.may_be_nic = may_be(PMIX_DEVTYPE_NETWORK | PMIX_DEVTYPE_OPENFABRICS);
        for (const char* name : {device.uuid, device.osname})
            if (name != nullptr && *name != '\0') one.names.emplace_back(name);
        if (!one.names.empty() && out.size() < kMaxDevices) out.push_back(std::move(one));
    };
    if (value.type != PMIX_DATA_ARRAY || value.data.darray == nullptr || value.data.darray->array == nullptr)
        return out;
    const pmix_data_array_t& array = *value.data.darray;
    for (size_t i = 0; i < array.size; ++i) {
        if (array.type == PMIX_DEVICE) add_device(static_cast<const pmix_device_t*>(array.array)[i]);
        if (array.type != PMIX_STRING) continue;
        const char* name = static_cast<char* const*>(array.array)[i];
        if (name != nullptr) add_list(name, out);
    }
    return out;
}

std::optional<Chosen> choose(const Names& names, const std::vector<Gpu>& gpus) {
    for (const std::string_view name : names)
        if (auto chosen = by_topology(name, gpus)) return chosen;
    for (const std::string_view name : names)
        if (auto chosen = by_name(name)) return chosen;
    return {};
}

void add_edits(const MakerRow& row, const std::vector<Chosen>& all, LaunchEnv::Edits& out) {
    std::string list;
    bool in_bus_order = false;
    for (const Chosen& one : all) {
        if (one.maker != row.maker) continue;
        list += list.empty() ? one.text : "," + one.text;
        in_bus_order = in_bus_order || one.in_bus_order;
    }
    if (list.empty()) return;
    std::vector<Edit::Unless> unless;
    unless.push_back({std::string(row.variable), {}});
    for (const std::string_view other : row.others)
        if (!other.empty()) unless.push_back({std::string(other), {}});
    if (in_bus_order) {
        // All or none: each depends on what the user says of any.
        for (const Setting& one : row.counting)
            if (!one.name.empty()) unless.push_back({std::string(one.name), std::string(one.value)});
        for (const Setting& one : row.counting)
            if (!one.name.empty())
                out.push_back({Edit::How::set, std::string(one.name), std::string(one.value), ',', unless});
    }
    out.push_back({Edit::How::set, std::string(row.variable), std::move(list), ',', std::move(unless)});
}

const Nic* nic_of(const Names& names, const std::vector<Nic>& nics) {
    for (const std::string_view name : names)
        for (const Nic& nic : nics)
            if (std::ranges::any_of(nic.names, [&](const std::string& n) { return same(n, name); })) return &nic;
    return nullptr;
}

void add_nic_edits(const std::vector<const Nic*>& chosen, LaunchEnv::Edits& out) {
    for (const NicVariable& row : kNicVariables) {
        std::string list(row.begin);
        size_t n = 0;
        for (const Nic* nic : chosen) {
            if (nic->maker != row.maker) continue;
            if (n++ > 0) list += ',';
            list.append(nic->device).append(row.behind_each);
        }
        if (n == 0 || (n > 1 && row.of_one)) continue;
        const std::string name(row.variable);
        out.push_back({Edit::How::set, name, std::move(list), ',', {{name, {}}}});
    }
}

}  // namespace

LaunchEnv::Edits device_visibility(const common::ProcId& proc, const pmix_value_t& devices, const GpuList& gpus,
                                   const NicList& nics) {
    LaunchEnv::Edits out;
    const std::vector<Assigned> wanted = assigned(devices);
    if (wanted.empty()) return out;
    const std::vector<Gpu> known = gpus ? gpus() : std::vector<Gpu>();
    const std::vector<Nic> known_nics = nics ? nics() : std::vector<Nic>();
    std::vector<Chosen> chosen;
    std::vector<const Nic*> chosen_nics;
    for (const Assigned& device : wanted) {
        const Names& names = device.names;
        const Nic* nic = device.may_be_nic ? nic_of(names, known_nics) : nullptr;
        auto one = device.may_be_gpu && nic == nullptr ? choose(names, known) : std::nullopt;
        if (nic != nullptr) {
            // Several names of one device, as that of its verbs and that of its network.
            if (std::ranges::find(chosen_nics, nic) == chosen_nics.end()) chosen_nics.push_back(nic);
        } else if (one) {
            chosen.push_back(std::move(*one));
        } else if (device.may_be_gpu) {
            WIREUP_LOG(server, warn, "rank %u of \"%s\" is assigned \"%.*s\", which is no GPU that this node shows",
                       proc.rank, proc.nspace.c_str(), static_cast<int>(names[0].size()), names[0].data());
        }
    }
    for (const MakerRow& row : kMakers) add_edits(row, chosen, out);
    add_nic_edits(chosen_nics, out);
    return out;
}

}  // namespace pmix::server

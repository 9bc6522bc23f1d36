// SPDX-License-Identifier: BSD-3-Clause
#include "server/jobs/gpu_visibility.h"

#include <strings.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <string_view>

#include "common/base/log.h"

namespace pmix::server {
namespace {

using common::Gpu;
using Edit = LaunchEnv::Edit;
using Maker = Gpu::Maker;

constexpr size_t kMaxDevices = 1024;

struct MakerRow {
    Maker maker;
    std::string_view variable;
    // Counts in the order of the bus; empty: the library has no other order.
    std::string_view order, order_value;
    // Also choose devices, from those that are left.
    std::array<std::string_view, 2> others;
};
// HIP_VISIBLE_DEVICES is not set beside ROCR_VISIBLE_DEVICES: its indices would be among those that the latter leaves.
constexpr MakerRow kMakers[] = {
    {Maker::nvidia, "CUDA_VISIBLE_DEVICES", "CUDA_DEVICE_ORDER", "PCI_BUS_ID", {}},
    {Maker::amd, "ROCR_VISIBLE_DEVICES", {}, {}, {"HIP_VISIBLE_DEVICES", "GPU_DEVICE_ORDINAL"}},
    {Maker::intel, "ZE_AFFINITY_MASK", "ZE_ENABLE_PCI_ID_DEVICE_ORDER", "1", {}}};

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

void add_list(std::string_view text, std::vector<Names>& out) {
    for (size_t at = 0; at < text.size() && out.size() < kMaxDevices;) {
        const size_t end = std::min(text.find(',', at), text.size());
        if (end > at) out.push_back({text.substr(at, end - at)});
        at = end + 1;
    }
}

std::vector<Names> assigned(const pmix_value_t& value) {
    std::vector<Names> out;
    if (value.type == PMIX_STRING && value.data.string != nullptr) add_list(value.data.string, out);
    const auto add_device = [&](const pmix_device_t& device) {
        const bool may_be_gpu =
            device.type == PMIX_DEVTYPE_UNKNOWN || (device.type & (PMIX_DEVTYPE_GPU | PMIX_DEVTYPE_COPROC)) != 0;
        Names names;
        for (const char* name : {device.uuid, device.osname})
            if (name != nullptr && *name != '\0') names.emplace_back(name);
        if (may_be_gpu && !names.empty() && out.size() < kMaxDevices) out.push_back(std::move(names));
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
    if (in_bus_order && !row.order.empty()) {
        unless.push_back({std::string(row.order), std::string(row.order_value)});
        out.push_back({Edit::How::set, std::string(row.order), std::string(row.order_value), ',', unless});
    }
    out.push_back({Edit::How::set, std::string(row.variable), std::move(list), ',', std::move(unless)});
}

}  // namespace

LaunchEnv::Edits gpu_visibility(const common::ProcId& proc, const pmix_value_t& devices, const GpuList& gpus) {
    LaunchEnv::Edits out;
    const std::vector<Names> wanted = assigned(devices);
    if (wanted.empty()) return out;
    const std::vector<Gpu> known = gpus ? gpus() : std::vector<common::Gpu>();
    std::vector<Chosen> chosen;
    for (const Names& names : wanted) {
        if (auto one = choose(names, known)) {
            chosen.push_back(std::move(*one));
        } else {
            WIREUP_LOG(server, warn, "rank %u of \"%s\" is assigned \"%.*s\", which is no GPU that this node shows",
                       proc.rank, proc.nspace.c_str(), static_cast<int>(names[0].size()), names[0].data());
        }
    }
    for (const MakerRow& row : kMakers) add_edits(row, chosen, out);
    return out;
}

}  // namespace pmix::server

// SPDX-License-Identifier: BSD-3-Clause
// Which variables a rank gets for the GPUs that its host has assigned to it, and what of the user's is left alone.
#include "server/jobs/device_visibility.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <map>

#include "common/values/value.h"
#include "support/status.h"

namespace pmix::server::device_visibility_test {
namespace {

using common::Gpu;
using common::Nic;
using common::ProcId;
using common::Value;
using Map = std::map<std::string, std::string>;

// A node with two GPUs of NVIDIA (the second's own id is not known), two of AMD and one of Intel.
std::vector<Gpu> some_gpus() {
    return {{Gpu::Maker::nvidia,
             0,
             {"0000:01:00.0", "card0", "cuda1", "nvml0"},
             "GPU-11111111-2222-3333-4444-555555555555"},
            {Gpu::Maker::nvidia, 1, {"0000:41:00.0", "renderD129", "gpu://n0::renderD129"}, ""},
            {Gpu::Maker::amd, 0, {"0000:02:00.0", "rsmi0"}, ""},
            {Gpu::Maker::amd, 1, {"0000:42:00.0", "card3"}, ""},
            {Gpu::Maker::intel, 0, {"0000:03:00.0", "card4"}, ""}};
}

struct Device {
    const char* uuid;
    const char* name;
    pmix_device_type_t type = PMIX_DEVTYPE_GPU;
};

Value devices(std::vector<Device> list) {
    std::vector<pmix_device_t> raw;
    for (const Device& d : list) {
        pmix_device_t one{};
        one.uuid = const_cast<char*>(d.uuid);
        one.osname = const_cast<char*>(d.name);
        one.type = d.type;
        raw.push_back(one);
    }
    pmix_data_array_t array{PMIX_DEVICE, raw.size(), raw.data()};
    return std::move(Value::load(&array, PMIX_DATA_ARRAY)).value();
}
Value names(const char* text) {
    return std::move(Value::string(text)).value();
}

// What a process with this environment gets, all in all.
Map applied(const Value& value, const Map& user = {}, const GpuList& gpus = &some_gpus, const NicList& nics = {}) {
    char** env = nullptr;
    size_t n = 0;
    env = static_cast<char**>(std::calloc(user.size() + 1, sizeof(char*)));
    for (const auto& [name, text] : user) env[n++] = ::strdup((name + "=" + text).c_str());
    EXPECT_STATUS(PMIX_SUCCESS, LaunchEnv::apply_edits(device_visibility({"job", 3}, value.get(), gpus, nics), &env));
    Map out;
    for (char** e = env; *e != nullptr; ++e) {
        const std::string entry(*e);
        out[entry.substr(0, entry.find('='))] = entry.substr(entry.find('=') + 1);
        std::free(*e);
    }
    std::free(env);
    return out;
}

TEST(DeviceVisibility, Nvidia_ByItsIdWhereThatIsKnown) {
    const Map expected = {{"CUDA_VISIBLE_DEVICES", "GPU-11111111-2222-3333-4444-555555555555"}};
    for (const char* name : {"card0", "nvml0", "cuda1", "0000:01:00.0", "CARD0"})
        EXPECT_EQ(expected, applied(devices({{nullptr, name}}))) << name;
    EXPECT_EQ(expected, applied(devices({{"GPU-11111111-2222-3333-4444-555555555555", "whatever"}})));
}

TEST(DeviceVisibility, Nvidia_ByItsPlaceOnTheBus_AndTheLibraryCountsSo) {
    const Map expected = {{"CUDA_DEVICE_ORDER", "PCI_BUS_ID"}, {"CUDA_VISIBLE_DEVICES", "1"}};
    EXPECT_EQ(expected, applied(devices({{"gpu://n0::renderD129", "renderD129"}})));
    const Map both = {{"CUDA_DEVICE_ORDER", "PCI_BUS_ID"},
                      {"CUDA_VISIBLE_DEVICES", "1,GPU-11111111-2222-3333-4444-555555555555"}};
    EXPECT_EQ(both, applied(devices({{nullptr, "renderD129"}, {nullptr, "card0"}}))) << "in the host's order";
}

TEST(DeviceVisibility, OtherMakers_EachItsVariable) {
    EXPECT_EQ((Map{{"ROCR_VISIBLE_DEVICES", "1,0"}}), applied(devices({{nullptr, "card3"}, {nullptr, "rsmi0"}})));
    EXPECT_EQ((Map{{"ZE_AFFINITY_MASK", "0"},
                   {"ZE_ENABLE_PCI_ID_DEVICE_ORDER", "1"},
                   {"ZE_FLAT_DEVICE_HIERARCHY", "COMPOSITE"}}),
              applied(devices({{nullptr, "card4", PMIX_DEVTYPE_COPROC}})));
    const Map all = applied(names("card4,card3,card0"));
    EXPECT_EQ(5u, all.size()) << "a node may have all of them";
}

TEST(DeviceVisibility, TopologyShowsNone_NamesThatSayIt) {
    const GpuList none;
    EXPECT_EQ((Map{{"CUDA_VISIBLE_DEVICES", "2"}}), applied(names("cuda2"), {}, none));
    EXPECT_EQ((Map{{"CUDA_DEVICE_ORDER", "PCI_BUS_ID"}, {"CUDA_VISIBLE_DEVICES", "2,3"}}),
              applied(names("nvml2,nvml3"), {}, none));
    EXPECT_EQ((Map{{"CUDA_VISIBLE_DEVICES", "MIG-1234"}}), applied(names("MIG-1234"), {}, none));
    EXPECT_EQ((Map{{"ROCR_VISIBLE_DEVICES", "5"}}), applied(names("rsmi5"), {}, none));
    EXPECT_EQ((Map{{"ROCR_VISIBLE_DEVICES", "GPU-0123456789abcdef"}}),
              applied(names("GPU-0123456789abcdef"), {}, none));
    EXPECT_EQ((Map{{"ZE_AFFINITY_MASK", "1"}}), applied(names("ze1"), {}, none));
}

TEST(DeviceVisibility, NotKnownOrNoGpu_LeftOut) {
    for (const char* name : {"card9", "cuda", "cudax", "cuda1x", "nvml-1", "", ",,"})
        EXPECT_EQ(Map{}, applied(names(name), {}, {})) << name;
    EXPECT_EQ((Map{{"ROCR_VISIBLE_DEVICES", "0"}}), applied(names("card9,rsmi0"))) << "the others are shown";
    EXPECT_EQ(Map{}, applied(devices({{"fab://1::2", "mlx5_0", PMIX_DEVTYPE_OPENFABRICS}})));
    EXPECT_EQ(Map{}, applied(devices({{nullptr, "card0", PMIX_DEVTYPE_NETWORK}}))) << "its type counts";
    EXPECT_EQ(Map{}, applied(devices({{nullptr, nullptr}, {"", ""}})));
    EXPECT_EQ(Map{}, applied(devices({})));
    EXPECT_EQ(Map{}, applied(Value::u32(7)));
    EXPECT_EQ(Map{}, applied(Value()));
}

TEST(DeviceVisibility, TheUserHasChosen_NothingOfThatMakerIsChanged) {
    const Value mine = names("renderD129,card3,card4");
    for (const char* name : {"CUDA_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES",
                             "GPU_DEVICE_ORDINAL", "ZE_AFFINITY_MASK"}) {
        const std::string of_user = name;
        const Map env = applied(mine, {{of_user, "7"}});
        EXPECT_EQ("7", env.at(of_user)) << name;
        EXPECT_EQ(of_user.starts_with("CUDA") ? 0u : 1u, env.count("CUDA_DEVICE_ORDER")) << name;
        const bool amd = of_user.starts_with("ROCR") || of_user.starts_with("HIP") || of_user.starts_with("GPU_");
        EXPECT_EQ(amd && !of_user.starts_with("ROCR") ? 0u : 1u, env.count("ROCR_VISIBLE_DEVICES")) << name;
        EXPECT_EQ(of_user.starts_with("ZE") ? 0u : 1u, env.count("ZE_ENABLE_PCI_ID_DEVICE_ORDER")) << name;
    }
    EXPECT_EQ("", applied(mine, {{"CUDA_VISIBLE_DEVICES", ""}}).at("CUDA_VISIBLE_DEVICES")) << "none is a choice too";
}

// An index of ours would be another device's in the order that the user wants.
TEST(DeviceVisibility, TheUserCountsOtherwise_NoIndexIsSet) {
    const Map other = applied(names("renderD129"), {{"CUDA_DEVICE_ORDER", "FASTEST_FIRST"}});
    EXPECT_EQ((Map{{"CUDA_DEVICE_ORDER", "FASTEST_FIRST"}}), other);
    const Map same = applied(names("renderD129"), {{"CUDA_DEVICE_ORDER", "PCI_BUS_ID"}});
    EXPECT_EQ("1", same.at("CUDA_VISIBLE_DEVICES"));
    const Map id = applied(names("card0"), {{"CUDA_DEVICE_ORDER", "FASTEST_FIRST"}});
    EXPECT_EQ(1u, id.count("CUDA_VISIBLE_DEVICES")) << "an id is the same in any order";
}

// Of Intel's, an index counts cards in one way of showing them and tiles in the two others.
TEST(DeviceVisibility, TheUserWantsTilesShown_NoIndexIsSet) {
    for (const char* hierarchy : {"FLAT", "COMBINED", "", "composite"}) {
        const Map user = {{"ZE_FLAT_DEVICE_HIERARCHY", hierarchy}};
        EXPECT_EQ(user, applied(names("card4"), user)) << hierarchy;
    }
    const Map cards = applied(names("card4"), {{"ZE_FLAT_DEVICE_HIERARCHY", "COMPOSITE"}});
    EXPECT_EQ("0", cards.at("ZE_AFFINITY_MASK"));
    const Map order = {{"ZE_ENABLE_PCI_ID_DEVICE_ORDER", "0"}};
    EXPECT_EQ(order, applied(names("card4"), order)) << "in another order it is another card";
    const Map named = {{"ZE_AFFINITY_MASK", "1"}, {"ZE_FLAT_DEVICE_HIERARCHY", "FLAT"}};
    EXPECT_EQ(named, applied(names("ze1"), {{"ZE_FLAT_DEVICE_HIERARCHY", "FLAT"}}, {}))
        << "the host has counted it by the library itself";
}

TEST(DeviceVisibility, ArraysOfNames_AsOneText) {
    char a[] = "card3", b[] = "rsmi0,card4";
    char* two[] = {a, nullptr, b};
    pmix_data_array_t array{PMIX_STRING, 3, two};
    const Value value = std::move(Value::load(&array, PMIX_DATA_ARRAY)).value();
    EXPECT_EQ((Map{{"ROCR_VISIBLE_DEVICES", "1,0"},
                   {"ZE_AFFINITY_MASK", "0"},
                   {"ZE_ENABLE_PCI_ID_DEVICE_ORDER", "1"},
                   {"ZE_FLAT_DEVICE_HIERARCHY", "COMPOSITE"}}),
              applied(value));
}

// Two cards of Mellanox, the second with a network device of its own, and one of Omni-Path.
std::vector<Nic> some_nics() {
    return {{Nic::Maker::mellanox, "mlx5_0", {"0000:05:00.0", "mlx5_0", "fab://1::2"}},
            {Nic::Maker::mellanox, "mlx5_1", {"0000:06:00.0", "ib1", "mlx5_1"}},
            {Nic::Maker::omni_path, "hfi1_0", {"0000:07:00.0", "hfi1_0"}},
            {Nic::Maker::omni_path, "hfi1_1", {"0000:08:00.0", "hfi1_1"}}};
}

Map with_nics(const Value& value, const Map& user = {}) {
    return applied(value, user, &some_gpus, &some_nics);
}

TEST(DeviceVisibility, NetworkDevices_ByTheNamesOfTheirVerbs) {
    const Map first = {{"NCCL_IB_HCA", "=mlx5_0"}, {"UCX_NET_DEVICES", "mlx5_0:*"}};
    EXPECT_EQ(first, with_nics(devices({{"fab://1::2", "whatever", PMIX_DEVTYPE_OPENFABRICS}})));
    EXPECT_EQ(first, with_nics(devices({{nullptr, "mlx5_0", PMIX_DEVTYPE_UNKNOWN}})));
    EXPECT_EQ(first, with_nics(names("0000:05:00.0")));
    const Map both = {{"NCCL_IB_HCA", "=mlx5_1,mlx5_0"}, {"UCX_NET_DEVICES", "mlx5_1:*,mlx5_0:*"}};
    EXPECT_EQ(both, with_nics(devices({{nullptr, "ib1", PMIX_DEVTYPE_NETWORK},
                                       {nullptr, "mlx5_1", PMIX_DEVTYPE_OPENFABRICS},
                                       {nullptr, "mlx5_0", PMIX_DEVTYPE_OPENFABRICS}})))
        << "one device by two of its names";
    EXPECT_EQ((Map{{"PSM3_NIC", "hfi1_1"}}), with_nics(names("hfi1_1")));
    EXPECT_EQ(Map{}, with_nics(names("hfi1_0,hfi1_1"))) << "the variable takes one";
    const Map mixed = with_nics(names("mlx5_0,card3"));
    EXPECT_EQ("=mlx5_0", mixed.at("NCCL_IB_HCA"));
    EXPECT_EQ("1", mixed.at("ROCR_VISIBLE_DEVICES"));
}

// A name that the topology has not would silently mean another device. "card0" is a GPU's.
TEST(DeviceVisibility, NetworkDevices_NotKnownOrOfAnotherKind_LeftOut) {
    EXPECT_EQ(Map{}, applied(names("mlx5_0"), {}, &some_gpus, {}));
    EXPECT_EQ(Map{}, with_nics(names("mlx5_7")));
    EXPECT_EQ(Map{}, with_nics(devices({{nullptr, "mlx5_0", PMIX_DEVTYPE_GPU}})));
    EXPECT_EQ(Map{}, with_nics(devices({{nullptr, "card0", PMIX_DEVTYPE_NETWORK}})));
    EXPECT_EQ(Map{}, with_nics(devices({{nullptr, "mlx5_0", PMIX_DEVTYPE_BLOCK}})));
}

TEST(DeviceVisibility, NetworkDevices_TheUserHasChosen_Stays) {
    const Map env = with_nics(names("mlx5_0"), {{"UCX_NET_DEVICES", "mlx5_7:1"}});
    EXPECT_EQ((Map{{"NCCL_IB_HCA", "=mlx5_0"}, {"UCX_NET_DEVICES", "mlx5_7:1"}}), env);
    EXPECT_EQ((Map{{"PSM3_NIC", "any"}}), with_nics(names("hfi1_0"), {{"PSM3_NIC", "any"}}));
}

TEST(DeviceVisibility, TooMany_AreCut) {
    std::string list;
    for (int i = 0; i < 5000; ++i) list += "cuda" + std::to_string(i) + ",";
    const Map env = applied(names(list.c_str()), {}, {});
    EXPECT_EQ(1023, std::count(env.at("CUDA_VISIBLE_DEVICES").begin(), env.at("CUDA_VISIBLE_DEVICES").end(), ','));
}

}  // namespace
}  // namespace pmix::server::device_visibility_test

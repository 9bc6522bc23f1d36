// SPDX-License-Identifier: BSD-3-Clause
// Which variables a rank gets for the GPUs that its host has assigned to it, and what of the user's is left alone.
#include "server/jobs/gpu_visibility.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <map>

#include "common/values/value.h"

namespace pmix::server::gpu_visibility_test {
namespace {

using common::Gpu;
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
Map applied(const Value& value, const Map& user = {}, const GpuList& gpus = &some_gpus) {
    char** env = nullptr;
    size_t n = 0;
    env = static_cast<char**>(std::calloc(user.size() + 1, sizeof(char*)));
    for (const auto& [name, text] : user) env[n++] = ::strdup((name + "=" + text).c_str());
    EXPECT_EQ(PMIX_SUCCESS, LaunchEnv::apply_edits(gpu_visibility({"job", 3}, value.get(), gpus), &env));
    Map out;
    for (char** e = env; *e != nullptr; ++e) {
        const std::string entry(*e);
        out[entry.substr(0, entry.find('='))] = entry.substr(entry.find('=') + 1);
        std::free(*e);
    }
    std::free(env);
    return out;
}

TEST(GpuVisibility, Nvidia_ByItsIdWhereThatIsKnown) {
    const Map expected = {{"CUDA_VISIBLE_DEVICES", "GPU-11111111-2222-3333-4444-555555555555"}};
    for (const char* name : {"card0", "nvml0", "cuda1", "0000:01:00.0", "CARD0"})
        EXPECT_EQ(expected, applied(devices({{nullptr, name}}))) << name;
    EXPECT_EQ(expected, applied(devices({{"GPU-11111111-2222-3333-4444-555555555555", "whatever"}})));
}

TEST(GpuVisibility, Nvidia_ByItsPlaceOnTheBus_AndTheLibraryCountsSo) {
    const Map expected = {{"CUDA_DEVICE_ORDER", "PCI_BUS_ID"}, {"CUDA_VISIBLE_DEVICES", "1"}};
    EXPECT_EQ(expected, applied(devices({{"gpu://n0::renderD129", "renderD129"}})));
    const Map both = {{"CUDA_DEVICE_ORDER", "PCI_BUS_ID"},
                      {"CUDA_VISIBLE_DEVICES", "1,GPU-11111111-2222-3333-4444-555555555555"}};
    EXPECT_EQ(both, applied(devices({{nullptr, "renderD129"}, {nullptr, "card0"}}))) << "in the host's order";
}

TEST(GpuVisibility, OtherMakers_EachItsVariable) {
    EXPECT_EQ((Map{{"ROCR_VISIBLE_DEVICES", "1,0"}}), applied(devices({{nullptr, "card3"}, {nullptr, "rsmi0"}})));
    EXPECT_EQ((Map{{"ZE_AFFINITY_MASK", "0"}, {"ZE_ENABLE_PCI_ID_DEVICE_ORDER", "1"}}),
              applied(devices({{nullptr, "card4", PMIX_DEVTYPE_COPROC}})));
    const Map all = applied(names("card4,card3,card0"));
    EXPECT_EQ(4u, all.size()) << "a node may have all of them";
}

TEST(GpuVisibility, TopologyShowsNone_NamesThatSayIt) {
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

TEST(GpuVisibility, NotKnownOrNoGpu_LeftOut) {
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

TEST(GpuVisibility, TheUserHasChosen_NothingOfThatMakerIsChanged) {
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
TEST(GpuVisibility, TheUserCountsOtherwise_NoIndexIsSet) {
    const Map other = applied(names("renderD129"), {{"CUDA_DEVICE_ORDER", "FASTEST_FIRST"}});
    EXPECT_EQ((Map{{"CUDA_DEVICE_ORDER", "FASTEST_FIRST"}}), other);
    const Map same = applied(names("renderD129"), {{"CUDA_DEVICE_ORDER", "PCI_BUS_ID"}});
    EXPECT_EQ("1", same.at("CUDA_VISIBLE_DEVICES"));
    const Map id = applied(names("card0"), {{"CUDA_DEVICE_ORDER", "FASTEST_FIRST"}});
    EXPECT_EQ(1u, id.count("CUDA_VISIBLE_DEVICES")) << "an id is the same in any order";
}

TEST(GpuVisibility, ArraysOfNames_AsOneText) {
    char a[] = "card3", b[] = "rsmi0,card4";
    char* two[] = {a, nullptr, b};
    pmix_data_array_t array{PMIX_STRING, 3, two};
    const Value value = std::move(Value::load(&array, PMIX_DATA_ARRAY)).value();
    EXPECT_EQ((Map{{"ROCR_VISIBLE_DEVICES", "1,0"}, {"ZE_AFFINITY_MASK", "0"}, {"ZE_ENABLE_PCI_ID_DEVICE_ORDER", "1"}}),
              applied(value));
}

TEST(GpuVisibility, TooMany_AreCut) {
    std::string list;
    for (int i = 0; i < 5000; ++i) list += "cuda" + std::to_string(i) + ",";
    const Map env = applied(names(list.c_str()), {}, {});
    EXPECT_EQ(1023, std::count(env.at("CUDA_VISIBLE_DEVICES").begin(), env.at("CUDA_VISIBLE_DEVICES").end(), ','));
}

}  // namespace
}  // namespace pmix::server::gpu_visibility_test

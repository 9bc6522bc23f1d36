// SPDX-License-Identifier: BSD-3-Clause
// The two types that hold an object of hwloc's, cpusets and topologies, through the calls on data: packed alone, in
// values and in arrays, copied, moved, printed. Every other type: portable_test, data_api_test, data_moves_test.
#include <gtest/gtest.h>
#include <pmix.h>
#include <pmix_server.h>

#include <cstdlib>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "support/status.h"
#include "topology/hwloc_library.h"

namespace hwloc_data_test {

namespace {

constexpr const char* kSynthetic = "Package:2 NUMANode:1 L3:1 Core:2 PU:2";

// A server: topologies belong to a library that is up.
class HwlocData : public ::testing::Test {
  protected:
    void SetUp() override {
        if (pmix::api::Hwloc::open() == nullptr) GTEST_SKIP() << "hwloc is not installed";
        unsetenv("HWLOC_XMLFILE");
        setenv("HWLOC_SYNTHETIC", kSynthetic, 1);
        ASSERT_STATUS(PMIX_SUCCESS, PMIx_server_init(nullptr, nullptr, 0));
        up_ = true;
    }
    void TearDown() override {
        if (up_) {
            EXPECT_STATUS(PMIX_SUCCESS, PMIx_server_finalize());
        }
        unsetenv("HWLOC_SYNTHETIC");
    }

  private:
    bool up_ = false;
};

struct Buffer : pmix_data_buffer_t {
    Buffer() { PMIx_Data_buffer_construct(this); }
    ~Buffer() { PMIx_Data_buffer_destruct(this); }
    Buffer(const Buffer&) = delete;
    Buffer& operator=(const Buffer&) = delete;
};

std::string text_of(const pmix_cpuset_t& cpuset) {
    char* text = nullptr;
    if (PMIx_server_generate_cpuset_string(&cpuset, &text) != PMIX_SUCCESS) return "?";
    const std::string copy(text);
    std::free(text);
    return copy;
}

std::string printed(const void* what, pmix_data_type_t type) {
    char* text = nullptr;
    EXPECT_STATUS(PMIX_SUCCESS, PMIx_Data_print(&text, nullptr, const_cast<void*>(what), type));
    const std::string copy(text == nullptr ? "" : text);
    std::free(text);
    return copy;
}

// Texts of cpusets: corners, and some at random.
std::vector<std::string> cpuset_texts() {
    std::vector<std::string> all = {"hwloc:0", "hwloc:0-3,8", "hwloc:63-64", "hwloc:0-1023", "hwloc:5,1000,2047"};
    std::mt19937 random(7);
    for (int i = 0; i < 20; ++i) {
        std::string text = "hwloc:";
        for (unsigned cpu = random() % 9; cpu < 600; cpu += 2 + random() % 90) {
            if (text.back() != ':') text += ',';
            text += std::to_string(cpu);
        }
        all.push_back(text);
    }
    return all;
}

pmix_cpuset_t parsed(const std::string& text) {
    pmix_cpuset_t cpuset;
    PMIx_Cpuset_construct(&cpuset);
    EXPECT_STATUS(PMIX_SUCCESS, PMIx_Parse_cpuset_string(text.c_str(), &cpuset)) << text;
    return cpuset;
}

// What comes back of the cpuset, by each way there is.
void expect_travels(const std::string& text) {
    pmix_cpuset_t cpuset = parsed(text);
    Buffer buffer, joined;
    ASSERT_STATUS(PMIX_SUCCESS, PMIx_Data_pack(nullptr, &buffer, &cpuset, 1, PMIX_PROC_CPUSET));
    pmix_value_t value, copied;
    PMIx_Value_construct(&copied);
    ASSERT_STATUS(PMIX_SUCCESS, PMIx_Value_load(&value, &cpuset, PMIX_PROC_CPUSET));
    ASSERT_STATUS(PMIX_SUCCESS, PMIx_Value_xfer(&copied, &value));
    ASSERT_STATUS(PMIX_SUCCESS, PMIx_Data_pack(nullptr, &buffer, &copied, 1, PMIX_VALUE));
    pmix_data_array_t pair;
    PMIx_Data_array_construct(&pair, 2, PMIX_PROC_CPUSET);
    static_cast<pmix_cpuset_t*>(pair.array)[1] = parsed(text);
    ASSERT_STATUS(PMIX_SUCCESS, PMIx_Data_pack(nullptr, &buffer, &pair, 1, PMIX_DATA_ARRAY));
    EXPECT_EQ(PMIX_EQUAL, PMIx_Value_compare(&value, &copied));
    EXPECT_NE(std::string::npos, printed(&cpuset, PMIX_PROC_CPUSET).find(text.substr(6))) << text;
    PMIx_Data_array_destruct(&pair);
    PMIx_Value_destruct(&copied);
    ASSERT_STATUS(PMIX_SUCCESS, PMIx_Data_copy_payload(&joined, &buffer));

    pmix_cpuset_t back;
    int32_t n = 1;
    ASSERT_STATUS(PMIX_SUCCESS, PMIx_Data_unpack(nullptr, &joined, &back, &n, PMIX_PROC_CPUSET));
    EXPECT_EQ(text, text_of(back));
    void* copy = nullptr;
    ASSERT_STATUS(PMIX_SUCCESS, PMIx_Data_copy(&copy, &back, PMIX_PROC_CPUSET));
    PMIx_Cpuset_destruct(&back);
    EXPECT_EQ(text, text_of(*static_cast<pmix_cpuset_t*>(copy))) << "a copy is its own";
    PMIx_Cpuset_free(static_cast<pmix_cpuset_t*>(copy), 1);
    ASSERT_STATUS(PMIX_SUCCESS, PMIx_Data_unpack(nullptr, &joined, &copied, &n, PMIX_VALUE));
    ASSERT_EQ(PMIX_PROC_CPUSET, copied.type);
    EXPECT_EQ(text, text_of(*copied.data.cpuset));
    PMIx_Value_destruct(&copied);
    ASSERT_STATUS(PMIX_SUCCESS, PMIx_Data_unpack(nullptr, &joined, &pair, &n, PMIX_DATA_ARRAY));
    ASSERT_EQ(2u, pair.size);
    EXPECT_EQ(nullptr, static_cast<pmix_cpuset_t*>(pair.array)[0].bitmap);
    EXPECT_EQ(text, text_of(static_cast<pmix_cpuset_t*>(pair.array)[1]));
    PMIx_Data_array_destruct(&pair);
    EXPECT_EQ(joined.unpack_ptr, joined.pack_ptr);
    PMIx_Value_destruct(&value);
    PMIx_Cpuset_destruct(&cpuset);
}

}  // namespace

// rows: D1 D2 D3 D4 D5
TEST_F(HwlocData, CpusetsTravelEveryWay) {
    for (const std::string& text : cpuset_texts()) {
        SCOPED_TRACE(text);
        expect_travels(text);
    }
}

// rows: D1 D2 D3 D4
TEST_F(HwlocData, TopologiesTravelEveryWay) {
    const pmix::api::Hwloc& hwloc = *pmix::api::Hwloc::open();
    const auto processors = [&](const pmix_topology_t& t) {
        return hwloc.get_nbobjs_by_depth(static_cast<hwloc_topology_t>(t.topology),
                                         hwloc.topology_get_depth(static_cast<hwloc_topology_t>(t.topology)) - 1);
    };
    pmix_topology_t topology = PMIX_TOPOLOGY_STATIC_INIT;
    ASSERT_STATUS(PMIX_SUCCESS, PMIx_Load_topology(&topology));
    EXPECT_EQ(8u, processors(topology));
    EXPECT_NE(std::string::npos, printed(&topology, PMIX_TOPO).find("hwloc"));
    void* copy = nullptr;
    ASSERT_STATUS(PMIX_SUCCESS, PMIx_Data_copy(&copy, &topology, PMIX_TOPO));
    auto* own = static_cast<pmix_topology_t*>(copy);
    EXPECT_NE(topology.topology, own->topology);
    Buffer buffer;
    pmix_value_t value;
    ASSERT_STATUS(PMIX_SUCCESS, PMIx_Value_load(&value, own, PMIX_TOPO));
    ASSERT_STATUS(PMIX_SUCCESS, PMIx_Data_pack(nullptr, &buffer, &value, 1, PMIX_VALUE));
    ASSERT_STATUS(PMIX_SUCCESS, PMIx_Data_pack(nullptr, &buffer, own, 1, PMIX_TOPO));
    PMIx_Value_destruct(&value);
    PMIx_Topology_destruct(own);
    std::free(own);
    int32_t n = 1;
    ASSERT_STATUS(PMIX_SUCCESS, PMIx_Data_unpack(nullptr, &buffer, &value, &n, PMIX_VALUE));
    ASSERT_EQ(PMIX_TOPO, value.type);
    EXPECT_EQ(8u, processors(*value.data.topo));
    PMIx_Value_destruct(&value);
    pmix_topology_t back = PMIX_TOPOLOGY_STATIC_INIT;
    ASSERT_STATUS(PMIX_SUCCESS, PMIx_Data_unpack(nullptr, &buffer, &back, &n, PMIX_TOPO));
    EXPECT_EQ(8u, processors(back));
    PMIx_Topology_destruct(&back);
    EXPECT_EQ(8u, processors(topology)) << "the library's own is still there";
    PMIx_Topology_destruct(&topology);
}

}  // namespace hwloc_data_test

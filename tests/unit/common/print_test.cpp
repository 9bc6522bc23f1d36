// SPDX-License-Identifier: BSD-3-Clause
// What values look like to people: every data type, every field of every struct, every named constant, held against
// texts that were read by people (tests/support/printed.txt) and against the tables of the ABI.
#include <gtest/gtest.h>
#include <pmix.h>
#include <pmix_deprecated.h>

#include <algorithm>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <functional>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "common/base/limits.h"
#include "common/values/describe.h"
#include "common/values/value.h"
#include "support/data_samples.h"
#include "support/status.h"

namespace print_test {

namespace {

using namespace pmix::common;

std::string taken(char* text) {
    std::string out = text == nullptr ? "(none)" : text;
    free(text);
    return out;
}

std::string printed(const void* src, pmix_data_type_t type) {
    char* text = nullptr;
    EXPECT_STATUS(PMIX_SUCCESS, PMIx_Data_print(&text, nullptr, const_cast<void*>(src), type)) << type;
    return taken(text);
}

struct More {
    const char* name;
    pmix_data_type_t type;
    const void* element;
};

// Types that the samples leave out, because releases before 6.1 do not have them or because hwloc owns what is inside.
std::vector<More> more_samples() {
    static pmix_device_t device = {const_cast<char*>("gpu://n1::1"), const_cast<char*>("gpu1"), PMIX_DEVTYPE_GPU};
    static pmix_resource_unit_t unit = {PMIX_DEVTYPE_CORE, 12};
    static pmix_node_pid_t pid = {const_cast<char*>("node7"), 3, 4711};
    static pmix_regex2_t regex = {const_cast<char*>("raw"), reinterpret_cast<uint8_t*>(const_cast<char*>("a,b")), 4};
    static pmix_alloc_inheritance_t inheritance = PMIX_ALLOC_INHERIT_CHILD;
    static pmix_resource_block_directive_t directive = PMIX_RESOURCE_BLOCK_EXTEND;
    static pmix_cpuset_t cpuset = {const_cast<char*>("hwloc"), nullptr};
    static pmix_topology_t topology = {const_cast<char*>("hwloc:2.9.0"), nullptr};
    static pmix_disk_stats_t disks[2] = {};
    static pmix_net_stats_t nets[1] = {};
    static pmix_node_stats_t node = {};
    disks[0].disk = const_cast<char*>("sda");
    disks[1].disk = const_cast<char*>("sdb");
    disks[1].milliseconds_io = 5;
    nets[0].net_interface = const_cast<char*>("eth0");
    node.node = const_cast<char*>("n1");
    node.diskstats = disks;
    node.ndiskstats = 2;
    node.netstats = nets;
    node.nnetstats = 1;
    static void* nowhere = nullptr;
    return {{"device", PMIX_DEVICE, &device},
            {"resource unit", PMIX_RESOURCE_UNIT, &unit},
            {"node and pid", PMIX_NODE_PID, &pid},
            {"resource block", PMIX_RESBLOCK_DIRECTIVE, &directive},
            {"list with its form", PMIX_REGEX2, &regex},
            {"inheritance", PMIX_ALLOC_INHERIT, &inheritance},
            {"cpuset", PMIX_PROC_CPUSET, &cpuset},
            {"topology", PMIX_TOPO, &topology},
            {"node with disks", PMIX_NODE_STATS, &node},
            {"no pointer", PMIX_POINTER, &nowhere}};
}

// Calls see(name, type, src) for each element of each sample; src as PMIx_Data_print takes it.
template <class F>
void each_sample(F&& see) {
    make_samples();
    for (size_t i = 0; i < g_nsamples; ++i) {
        const pmix_sample_t& s = g_samples[i];
        if (s.type == PMIX_POINTER) continue;  // another one in each process
        const bool text = s.type == PMIX_STRING || s.type == PMIX_REGEX;
        const size_t size = text ? sizeof(char*) : type_row(s.type)->size;
        for (int32_t k = 0; k < s.n; ++k) {
            const void* element = static_cast<const char*>(s.values) + static_cast<size_t>(k) * size;
            see(s.name, s.type, text ? *static_cast<char* const*>(element) : element);
        }
    }
    for (const More& m : more_samples()) see(m.name, m.type, m.element);
}

// rows: D4 Y4
TEST(PrintTest, EverySampleIsWhatWasRead) {
    std::ifstream file(WIREUP_SOURCE_DIR "/tests/support/printed.txt");
    std::stringstream expected;
    expected << file.rdbuf();
    std::string all;
    std::string before;
    each_sample([&](const char* name, pmix_data_type_t type, const void* src) {
        if (before != name) all += std::string(name) + "\n";
        before = name;
        all += "  " + printed(src, type) + "\n";
    });
    if (std::getenv("WIREUP_UPDATE_PRINTED") != nullptr) {  // and then read it again
        std::ofstream(WIREUP_SOURCE_DIR "/tests/support/printed.txt") << all;
    }
    std::istringstream a(all), b(expected.str());
    for (std::string ours, theirs;;) {
        const bool more_a = static_cast<bool>(std::getline(a, ours)),
                   more_b = static_cast<bool>(std::getline(b, theirs));
        ASSERT_EQ(more_b, more_a) << ours << theirs;
        if (!more_a) break;
        EXPECT_EQ(theirs, ours);
    }
}

// Every type there is a row for is among the samples, and none is printed as something unknown.
// rows: D4
TEST(PrintTest, EveryTypeHasAText) {
    std::set<pmix_data_type_t> seen{PMIX_UNDEF, PMIX_POINTER};
    each_sample([&](const char* name, pmix_data_type_t type, const void* src) {
        seen.insert(type);
        const std::string text = printed(src, type);
        EXPECT_EQ(0u, text.find(PMIx_Data_type_string(type))) << text;
        EXPECT_GT(text.size(), std::strlen(PMIx_Data_type_string(type)) + (type == PMIX_PROC_NSPACE ? 0 : 1)) << name;
        EXPECT_EQ(std::string::npos, text.find("UNKNOWN T")) << text;
        EXPECT_EQ(std::string::npos, text.find('\n')) << text;
    });
    for (pmix_data_type_t type = 0; type < kTypeRows; ++type) {
        if (type_row(type) == nullptr) continue;
        EXPECT_TRUE(seen.contains(type)) << "no sample of " << type_row(type)->name;
        EXPECT_STREQ(type_row(type)->name, PMIx_Data_type_string(type));
        // In a value, in an array and in an array of values too.
        pmix_data_array_t array = {type, 0, nullptr};
        EXPECT_EQ("PMIX_DATA_ARRAY " + std::string(type_row(type)->name) + "[0]", printed(&array, PMIX_DATA_ARRAY));
        pmix_value_t value = {};
        value.type = type;
        EXPECT_EQ(0u, taken(PMIx_Value_string(&value)).find(type_row(type)->name));
    }
}

// --- the tables of the ABI ---------------------------------------------------------------------------------------

// A line of comma-separated values, where a quote protects commas.
std::vector<std::string> split(const std::string& line) {
    std::vector<std::string> cells(1);
    bool quoted = false;
    for (char c : line) {
        if (c == '"') {
            quoted = !quoted;
        } else if (c == ',' && !quoted) {
            cells.emplace_back();
        } else {
            cells.back() += c;
        }
    }
    return cells;
}

using Line = std::map<std::string, std::string>;
std::vector<Line> table(const std::string& name) {
    std::ifstream file(WIREUP_SOURCE_DIR "/tests/abi/tables/" + name);
    std::string text;
    std::getline(file, text);
    const std::vector<std::string> names = split(text);
    std::vector<Line> lines;
    while (std::getline(file, text)) {
        const std::vector<std::string> cells = split(text);
        Line line;
        for (size_t i = 0; i < names.size() && i < cells.size(); ++i) line[names[i]] = cells[i];
        lines.push_back(line);
    }
    EXPECT_FALSE(lines.empty()) << name;
    return lines;
}

// Every field that a struct has in the ABI is printed under its name; a count is printed as the size of its list.
// rows: D4
TEST(PrintTest, EveryFieldOfEveryStructIsThere) {
    const std::map<std::string, pmix_data_type_t> structs = {
        {"pmix_app_t", PMIX_APP},
        {"pmix_coord_t", PMIX_COORD},
        {"pmix_cpuset_t", PMIX_PROC_CPUSET},
        {"pmix_device_distance_t", PMIX_DEVICE_DIST},
        {"pmix_device_t", PMIX_DEVICE},
        {"pmix_disk_stats_t", PMIX_DISK_STATS},
        {"pmix_endpoint_t", PMIX_ENDPOINT},
        {"pmix_envar_t", PMIX_ENVAR},
        {"pmix_geometry_t", PMIX_GEOMETRY},
        {"pmix_info_t", PMIX_INFO},
        {"pmix_net_stats_t", PMIX_NET_STATS},
        {"pmix_node_pid_t", PMIX_NODE_PID},
        {"pmix_node_stats_t", PMIX_NODE_STATS},
        {"pmix_pdata_t", PMIX_PDATA},
        {"pmix_proc_info_t", PMIX_PROC_INFO},
        {"pmix_proc_stats_t", PMIX_PROC_STATS},
        {"pmix_proc_t", PMIX_PROC},
        {"pmix_query_t", PMIX_QUERY},
        {"pmix_regattr_t", PMIX_REGATTR},
        {"pmix_regex2_t", PMIX_REGEX2},
        {"pmix_resource_unit_t", PMIX_RESOURCE_UNIT},
        {"pmix_topology_t", PMIX_TOPO},
    };
    const std::set<std::string> counts = {"ninfo", "nqual", "dims", "ncoords", "ndiskstats", "nnetstats", "len"};
    std::map<pmix_data_type_t, std::string> texts;
    each_sample([&](const char*, pmix_data_type_t type, const void* src) { texts[type] += printed(src, type); });
    size_t fields = 0;
    for (const Line& line : table("structs.csv")) {
        const auto known = structs.find(line.at("struct"));
        if (known == structs.end() || counts.contains(line.at("field")) || line.at("offset_6_1_0").empty()) continue;
        ++fields;
        const std::string& text = texts[known->second];
        const std::string& field = line.at("field");
        EXPECT_TRUE(text.find("{" + field + "=") != std::string::npos ||
                    text.find(", " + field + "=") != std::string::npos)
            << line.at("struct") << "." << field << " in " << text;
    }
    EXPECT_GT(fields, 100u);
}

// Each constant of the ABI's tables has its name from the function for its kind, and each status its way back.
// rows: Y1 Y4
TEST(PrintTest, EveryConstantOfTheTablesHasItsName) {
    using Namer = std::function<std::string(int64_t)>;
    const std::map<std::string, Namer> namers = {
        {"status", [](int64_t v) { return PMIx_Error_string(static_cast<pmix_status_t>(v)); }},
        {"data_type", [](int64_t v) { return PMIx_Data_type_string(static_cast<pmix_data_type_t>(v)); }},
        {"proc_state", [](int64_t v) { return PMIx_Proc_state_string(static_cast<pmix_proc_state_t>(v)); }},
        {"scope", [](int64_t v) { return PMIx_Scope_string(static_cast<pmix_scope_t>(v)); }},
        {"persistence", [](int64_t v) { return PMIx_Persistence_string(static_cast<pmix_persistence_t>(v)); }},
        {"data_range", [](int64_t v) { return PMIx_Data_range_string(static_cast<pmix_data_range_t>(v)); }},
        {"info_directives",
         [](int64_t v) { return taken(PMIx_Info_directives_string(static_cast<pmix_info_directives_t>(v))); }},
        {"alloc_directive",
         [](int64_t v) { return PMIx_Alloc_directive_string(static_cast<pmix_alloc_directive_t>(v)); }},
        {"alloc_inheritance",
         [](int64_t v) { return PMIx_Alloc_inheritance_string(static_cast<pmix_alloc_inheritance_t>(v)); }},
        {"iof_channel", [](int64_t v) { return PMIx_IOF_channel_string(static_cast<pmix_iof_channel_t>(v)); }},
        {"job_state", [](int64_t v) { return PMIx_Job_state_string(static_cast<pmix_job_state_t>(v)); }},
        {"link_state", [](int64_t v) { return PMIx_Link_state_string(static_cast<pmix_link_state_t>(v)); }},
        {"device_type", [](int64_t v) { return PMIx_Device_type_string(static_cast<pmix_device_type_t>(v)); }},
        {"value_cmp_enum", [](int64_t v) { return PMIx_Value_comparison_string(static_cast<pmix_value_cmp_t>(v)); }},
        {"group_operation_enum",
         [](int64_t v) { return PMIx_Group_operation_string(static_cast<pmix_group_operation_t>(v)); }},
        {"resource_block_directive",
         [](int64_t v) {
             return PMIx_Resource_block_directive_string(static_cast<pmix_resource_block_directive_t>(v));
         }},
    };
    // Where ranges of numbers begin or end: no value that anything has.
    const std::set<std::string> marks = {"PMIX_ERR_BASE", "PMIX_ERR_V2X_BASE", "PMIX_INTERNAL_ERR_BASE",
                                         "PMIX_DATA_TYPE_MAX", "PMIX_INFO_DIR_RESERVED"};
    std::map<std::string, std::map<int64_t, std::set<std::string>>> names;
    for (const Line& line : table("constants.csv")) {
        const std::string& name = line.at("name");
        if (!namers.contains(line.at("group")) || marks.contains(name) || name.starts_with("PMIX_VAL_TYPE_")) continue;
        if (line.at("removed_in") == "4.2.2") continue;  // older than any program that can load this library
        names[line.at("group")][std::strtoll(line.at("value").c_str(), nullptr, 0)].insert(name);
        if (line.at("group") == "status") {
            EXPECT_EQ(std::atoi(line.at("value").c_str()), PMIx_Error_code(name.c_str())) << name;
        }
    }
    size_t constants = 0;
    for (const auto& [group, values] : names) {
        for (const auto& [value, siblings] : values) {
            ++constants;
            const std::string name = namers.at(group)(value);
            EXPECT_TRUE(siblings.contains(name))
                << group << " " << value << ": " << name << ", not " << *siblings.begin();
            if (group != "status") continue;
            EXPECT_EQ(value, PMIx_Error_code(name.c_str())) << name;
        }
    }
    EXPECT_EQ(namers.size(), names.size());
    EXPECT_GT(constants, 300u);
    EXPECT_STREQ("UNKNOWN", PMIx_Error_string(-123456));
    EXPECT_EQ(INT_MIN, PMIx_Error_code("PMIX_ERR_OF_NOBODY"));
}

// --- nesting and length --------------------------------------------------------------------------------------------

// rows: D4 Y4
TEST(PrintTest, NestedArraysAreWholeAndBounded) {
    uint32_t numbers[3] = {1, 2, 3};
    std::vector<pmix_data_array_t> arrays(kMaxValueDepth + 3);
    arrays[0] = {PMIX_UINT32, 3, numbers};
    for (size_t i = 1; i < arrays.size(); ++i) arrays[i] = {PMIX_DATA_ARRAY, 1, &arrays[i - 1]};
    for (size_t i = 0; i < kMaxValueDepth - 1; ++i) {
        pmix_value_t value = {};
        value.type = PMIX_DATA_ARRAY;
        value.data.darray = &arrays[i];
        std::string inside = "PMIX_UINT32[3] {1, 2, 3}";
        for (size_t k = 0; k < i; ++k) inside = "PMIX_DATA_ARRAY[1] {" + inside + "}";
        EXPECT_EQ("PMIX_DATA_ARRAY " + inside, taken(PMIx_Value_string(&value))) << i;
    }
    // Deeper than anything that travels: cut, and said to be.
    EXPECT_NE(std::string::npos, printed(&arrays.back(), PMIX_DATA_ARRAY).find("..."));

    std::vector<uint64_t> many(100000);
    for (size_t i = 0; i < many.size(); ++i) many[i] = i;
    pmix_data_array_t array = {PMIX_UINT64, many.size(), many.data()};
    const std::string text = printed(&array, PMIX_DATA_ARRAY);
    EXPECT_TRUE(text.ends_with(", 99998, 99999}")) << text.substr(text.size() - 40);
    EXPECT_EQ(99999, std::count(text.begin(), text.end(), ','));
}

// An info, an app and a process say all that is in them. rows: Y4
TEST(PrintTest, StringFunctionsSayEverything) {
    make_samples();
    for (size_t i = 0; i < g_nsamples; ++i) {
        const pmix_sample_t& s = g_samples[i];
        if (s.type == PMIX_INFO) {
            const auto* infos = static_cast<const pmix_info_t*>(s.values);
            EXPECT_EQ("PMIX_INFO " + taken(PMIx_Info_string(infos)), printed(infos, PMIX_INFO));
            EXPECT_EQ("PMIX_VALUE " + taken(PMIx_Value_string(&infos->value)), printed(&infos->value, PMIX_VALUE));
        } else if (s.type == PMIX_APP) {
            const auto* app = static_cast<const pmix_app_t*>(s.values);
            const std::string text = taken(PMIx_App_string(app));
            EXPECT_EQ("PMIX_APP " + text, printed(app, PMIX_APP));
            for (const char* part : {"prog", "first", "second", "A=1", "/tmp", "12", "pmix.timeout", "node7"})
                EXPECT_NE(std::string::npos, text.find(part)) << part;
        } else if (s.type == PMIX_PROC) {
            EXPECT_EQ("[ns:3]", taken(PMIx_Proc_string(static_cast<const pmix_proc_t*>(s.values))));
        }
    }
    pmix_proc_t everyone = {"job", PMIX_RANK_WILDCARD}, nobody = {"", PMIX_RANK_UNDEF};
    EXPECT_EQ("[job:WILDCARD]", taken(PMIx_Proc_string(&everyone)));
    EXPECT_EQ("[:UNDEF]", taken(PMIx_Proc_string(&nobody)));
    pmix_resource_unit_t unit = {PMIX_DEVTYPE_CORE, 12};
    EXPECT_EQ("PMIX_DEVTYPE_CORE x 12", taken(PMIx_Resource_unit_string(&unit)));
}

}  // namespace

}  // namespace print_test

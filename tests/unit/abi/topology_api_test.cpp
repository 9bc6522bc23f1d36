// SPDX-License-Identifier: BSD-3-Clause
// The calls on topology, cpusets and locality, in a server of its own that sees a synthetic topology. The
// same facts are compared with another library in tests/integration/topology.
#include "support/status.h"
#include "unit/abi/topology_setting.h"

namespace topology_api_test {

using namespace pmix::test;

namespace {

// rows: G8 G16
TEST_F(TopologyApi, NothingBeforeInit) {
    pmix_topology_t topology = PMIX_TOPOLOGY_STATIC_INIT;
    pmix_cpuset_t cpuset = PMIX_CPUSET_STATIC_INIT;
    pmix_locality_t locality = 77;
    char* text = reinterpret_cast<char*>(&topology);
    auto* distances = reinterpret_cast<pmix_device_distance_t*>(&topology);
    size_t n = 5;
    EXPECT_STATUS(PMIX_ERR_INIT, PMIx_Load_topology(&topology));
    EXPECT_STATUS(PMIX_ERR_INIT, PMIx_Get_cpuset(&cpuset, PMIX_CPUBIND_PROCESS));
    EXPECT_STATUS(PMIX_ERR_INIT, PMIx_Parse_cpuset_string("hwloc:0", &cpuset));
    EXPECT_STATUS(PMIX_ERR_INIT, PMIx_server_generate_cpuset("hwloc:0", &cpuset));
    EXPECT_STATUS(PMIX_ERR_INIT, PMIx_Get_relative_locality("hwloc:SK0", "hwloc:SK0", &locality));
    EXPECT_EQ(locality, PMIX_LOCALITY_UNKNOWN);
    EXPECT_STATUS(PMIX_ERR_INIT, PMIx_server_generate_cpuset_string(&cpuset, &text));
    EXPECT_EQ(text, nullptr);
    EXPECT_STATUS(PMIX_ERR_INIT, PMIx_server_generate_locality_string(&cpuset, &text));
    EXPECT_STATUS(PMIX_ERR_INIT, PMIx_Compute_distances(nullptr, nullptr, nullptr, 0, &distances, &n));
    EXPECT_EQ(distances, nullptr);
    EXPECT_EQ(n, 0u);
    EXPECT_STATUS(PMIX_ERR_INIT, PMIx_Compute_distances_nb(nullptr, nullptr, nullptr, 0, nullptr, nullptr));
}

// rows: H1
TEST_F(TopologyApi, LoadGivesOneReadOnlyTopology) {
    Server server;
    pmix_topology_t any = PMIX_TOPOLOGY_STATIC_INIT;
    EXPECT_STATUS(PMIX_ERR_BAD_PARAM, PMIx_Load_topology(nullptr));
    char other[] = "lstopo", hwloc[] = "HWLOC", version[] = "hwloc:99.0";
    pmix_topology_t wanted = {other, nullptr};
    EXPECT_STATUS(PMIX_ERR_NOT_SUPPORTED, PMIx_Load_topology(&wanted));
    ASSERT_STATUS(PMIX_SUCCESS, PMIx_Load_topology(&any));
    EXPECT_EQ(std::string(any.source).substr(0, 6), "hwloc:");
    wanted = {hwloc, nullptr};
    EXPECT_STATUS(PMIX_SUCCESS, PMIx_Load_topology(&wanted));
    EXPECT_EQ(wanted.topology, any.topology);
    EXPECT_EQ(wanted.source, hwloc);
    wanted = {any.source, nullptr};
    EXPECT_STATUS(PMIX_SUCCESS, PMIx_Load_topology(&wanted));
    wanted = {version, &any};
    EXPECT_STATUS(PMIX_ERR_NOT_SUPPORTED, PMIx_Load_topology(&wanted));
    EXPECT_EQ(wanted.topology, nullptr);
    PMIx_Topology_destruct(&any);
}

// Threads that meet at the first use get the same. rows: H1
TEST_F(TopologyApi, LoadIsDoneOnce) {
    Server server;
    pmix_topology_t topologies[6] = {};
    {
        std::vector<std::thread> threads;
        for (auto& topology : topologies) {
            threads.emplace_back([&] { EXPECT_STATUS(PMIX_SUCCESS, PMIx_Load_topology(&topology)); });
        }
        for (auto& thread : threads) thread.join();
    }
    for (auto& topology : topologies) {
        EXPECT_EQ(topology.topology, topologies[0].topology);
    }
    for (auto& topology : topologies) PMIx_Topology_destruct(&topology);
}

// A thread that loads asks the loop for what the host has shared, and meanwhile a callback on the loop loads too:
// neither waits for the other.
TEST_F(TopologyApi, ACallbackMayLoadWhileAThreadDoes) {
    Server server;
    struct Meeting {
        std::atomic<bool> in_callback{false}, loaded{false};
        std::atomic<pid_t> loader{0};
        pmix_topology_t topology = PMIX_TOPOLOGY_STATIC_INIT;
    } meeting;
    std::thread loader([&] {
        while (!meeting.in_callback) sched_yield();
        meeting.loader = gettid();
        pmix_topology_t topology = PMIX_TOPOLOGY_STATIC_INIT;
        EXPECT_STATUS(PMIX_SUCCESS, PMIx_Load_topology(&topology));
        PMIx_Topology_destruct(&topology);
    });
    pmix_proc_t proc;
    PMIX_LOAD_PROCID(&proc, "nobody", 0);
    const auto in_callback = [](pmix_status_t, pmix_value_t*, void* cbdata) {
        auto& m = *static_cast<Meeting*>(cbdata);
        m.in_callback = true;
        while (m.loader == 0) sched_yield();
        // Until it sleeps, for the loop among others, or is through.
        for (std::string text = "R"; text == "R";) {
            std::ifstream file("/proc/self/task/" + std::to_string(m.loader) + "/stat");
            while (file >> text && text.back() != ')') continue;
            if (!(file >> text)) break;
        }
        EXPECT_STATUS(PMIX_SUCCESS, PMIx_Load_topology(&m.topology));
        m.loaded = true;
    };
    pmix_info_t optional;
    bool yes = true;
    PMIX_INFO_LOAD(&optional, PMIX_OPTIONAL, &yes, PMIX_BOOL);
    ASSERT_STATUS(PMIX_SUCCESS, PMIx_Get_nb(&proc, "nothing", &optional, 1, in_callback, &meeting));
    loader.join();
    while (!meeting.loaded) sched_yield();
    PMIx_Topology_destruct(&meeting.topology);
}

// rows: H9
TEST_F(TopologyApi, DestructLeavesTheLibrarysTopologyAndFreesTheCallers) {
    pmix_topology_t zeroed = PMIX_TOPOLOGY_STATIC_INIT;
    pmix_cpuset_t no_cpus = PMIX_CPUSET_STATIC_INIT;
    PMIx_Topology_destruct(&zeroed);
    PMIx_Cpuset_destruct(&no_cpus);
    PMIx_Topology_destruct(nullptr);
    PMIx_Cpuset_destruct(nullptr);

    pmix_topology_t late = PMIX_TOPOLOGY_STATIC_INIT;
    pmix_cpuset_t cpuset = PMIX_CPUSET_STATIC_INIT;
    pmix_value_t copy;
    for (int instance = 0; instance < 3; ++instance) {
        Server server;
        pmix_topology_t topology = PMIX_TOPOLOGY_STATIC_INIT;
        ASSERT_STATUS(PMIX_SUCCESS, PMIx_Load_topology(&topology));
        void* own = topology.topology;
        // A copy is the caller's, and is freed.
        ASSERT_STATUS(PMIX_SUCCESS, PMIx_Value_load(&copy, &topology, PMIX_TOPO));
        EXPECT_NE(copy.data.topo->topology, own);
        PMIx_Value_destruct(&copy);
        PMIx_Topology_destruct(&topology);
        EXPECT_EQ(topology.topology, nullptr);
        EXPECT_EQ(topology.source, nullptr);
        PMIx_Topology_destruct(&topology);
        EXPECT_EQ(locality_of("hwloc:4"), "hwloc:SK1:L31:L22:L12:CR2:HT4:NM1");
        PMIx_Topology_destruct(&late);  // of the instance before
        ASSERT_STATUS(PMIX_SUCCESS, PMIx_Load_topology(&late));
        EXPECT_EQ(late.topology, own);
        cpuset = parsed("hwloc:1");
        PMIx_Cpuset_destruct(&cpuset);
        EXPECT_EQ(cpuset.bitmap, nullptr);
        PMIx_Cpuset_destruct(&cpuset);
        cpuset = parsed("hwloc:1");
        if (instance < 2) PMIx_Cpuset_destruct(&cpuset);
    }
    PMIx_Topology_destruct(&late);
    PMIx_Cpuset_destruct(&cpuset);  // needs no library

    // A topology made with hwloc by the caller goes with its struct; an object of another source is left alone.
    const Hwloc& hwloc = *Hwloc::open();
    hwloc_topology_t mine = nullptr;
    ASSERT_EQ(hwloc.topology_init(&mine), 0);
    ASSERT_EQ(hwloc.topology_load(mine), 0);
    pmix_topology_t made = {strdup("hwloc"), mine};
    PMIx_Topology_destruct(&made);
    int something = 0;
    pmix_cpuset_t foreign = {strdup("other"), &something};
    PMIx_Cpuset_destruct(&foreign);
    EXPECT_EQ(foreign.source, nullptr);
}

// rows: H2
TEST_F(TopologyApi, CpusetIsWhereTheKernelLetsUsRun) {
    Server server;
    cpu_set_t before, one;
    ASSERT_EQ(sched_getaffinity(0, sizeof before, &before), 0);
    int cpu = 0;
    while (!CPU_ISSET(cpu, &before)) ++cpu;
    CPU_ZERO(&one);
    CPU_SET(cpu, &one);
    std::thread([&] {
        ASSERT_EQ(sched_setaffinity(0, sizeof one, &one), 0);
        pmix_cpuset_t cpuset = PMIX_CPUSET_STATIC_INIT;
        ASSERT_STATUS(PMIX_SUCCESS, PMIx_Get_cpuset(&cpuset, PMIX_CPUBIND_THREAD));
        EXPECT_STREQ(cpuset.source, "hwloc");
        EXPECT_EQ(cpuset_text(cpuset), "hwloc:" + std::to_string(cpu));
        PMIx_Cpuset_destruct(&cpuset);
        // The process is all of its threads.
        ASSERT_STATUS(PMIX_SUCCESS, PMIx_Get_cpuset(&cpuset, PMIX_CPUBIND_PROCESS));
        pmix_cpuset_t again = parsed(cpuset_text(cpuset).c_str());
        EXPECT_TRUE(Hwloc::open()->bitmap_isequal(static_cast<hwloc_bitmap_t>(cpuset.bitmap),
                                                  static_cast<hwloc_bitmap_t>(again.bitmap)));
        EXPECT_EQ(cpuset_text(cpuset) == "hwloc:" + std::to_string(cpu), CPU_COUNT(&before) == 1);
        PMIx_Cpuset_destruct(&cpuset);
        PMIx_Cpuset_destruct(&again);
    }).join();

    pmix_cpuset_t cpuset = PMIX_CPUSET_STATIC_INIT;
    EXPECT_STATUS(PMIX_ERR_BAD_PARAM, PMIx_Get_cpuset(nullptr, PMIX_CPUBIND_PROCESS));
    EXPECT_STATUS(PMIX_ERR_BAD_PARAM, PMIx_Get_cpuset(&cpuset, 2));
    char other[] = "other";
    cpuset.source = other;
    EXPECT_STATUS(PMIX_ERR_NOT_SUPPORTED, PMIx_Get_cpuset(&cpuset, PMIX_CPUBIND_PROCESS));
    EXPECT_EQ(cpuset.bitmap, nullptr);
}

// rows: H3 H4
TEST_F(TopologyApi, CpusetTextsRoundTrip) {
    Server server;
    for (const char* text : {"hwloc:0", "hwloc:0-3,8", "hwloc:", "hwloc:5-", "hwloc:1048576"}) {
        pmix_cpuset_t cpuset = parsed(text);
        EXPECT_STREQ(cpuset.source, "hwloc");
        EXPECT_EQ(cpuset_text(cpuset), text);
        PMIx_Cpuset_destruct(&cpuset);
        ASSERT_STATUS(PMIX_SUCCESS, PMIx_server_generate_cpuset(text, &cpuset));
        EXPECT_EQ(cpuset_text(cpuset), text);
        PMIx_Cpuset_destruct(&cpuset);
    }
    pmix_cpuset_t cpuset = PMIX_CPUSET_STATIC_INIT;
    EXPECT_STATUS(PMIX_ERR_BAD_PARAM, PMIx_Parse_cpuset_string(nullptr, &cpuset));
    EXPECT_STATUS(PMIX_ERR_BAD_PARAM, PMIx_Parse_cpuset_string("hwloc:0", nullptr));
    EXPECT_STATUS(PMIX_ERR_BAD_PARAM, PMIx_Parse_cpuset_string("0-3", &cpuset));
    EXPECT_STATUS(PMIX_ERR_BAD_PARAM, PMIx_Parse_cpuset_string("hwloc:0-99999999", &cpuset));
    EXPECT_STATUS(PMIX_ERR_NOT_SUPPORTED, PMIx_Parse_cpuset_string("other:0-3", &cpuset));
    EXPECT_EQ(cpuset.bitmap, nullptr);

    char* text = nullptr;
    cpuset = parsed("hwloc:1");
    EXPECT_STATUS(PMIX_ERR_BAD_PARAM, PMIx_server_generate_cpuset_string(nullptr, &text));
    EXPECT_STATUS(PMIX_ERR_BAD_PARAM, PMIx_server_generate_cpuset_string(&cpuset, nullptr));
    char other[] = "other";
    pmix_cpuset_t foreign = {other, cpuset.bitmap};
    EXPECT_STATUS(PMIX_ERR_NOT_SUPPORTED, PMIx_server_generate_cpuset_string(&foreign, &text));
    EXPECT_STATUS(PMIX_ERR_NOT_SUPPORTED, PMIx_server_generate_locality_string(&foreign, &text));
    pmix_cpuset_t unnamed = {nullptr, cpuset.bitmap};
    EXPECT_EQ(cpuset_text(unnamed), "hwloc:1");
    pmix_cpuset_t empty = PMIX_CPUSET_STATIC_INIT;
    EXPECT_STATUS(PMIX_ERR_BAD_PARAM, PMIx_server_generate_cpuset_string(&empty, &text));
    EXPECT_EQ(text, nullptr);
    PMIx_Cpuset_destruct(&cpuset);
}

// No topology was asked for before. rows: H5
TEST_F(TopologyApi, LocalityNeedsNoLoadBefore) {
    Server server;
    EXPECT_EQ(locality_of("hwloc:3-4"), "hwloc:SK0-1:L30-1:L21-2:L11-2:CR1-2:HT3-4:NM0-1");
    EXPECT_EQ(locality_of("hwloc:64"), "(null)");
    EXPECT_EQ(locality_of("hwloc:"), "(null)");
    EXPECT_EQ(locality_of("hwloc:0-"), "(null)");
    char* text = nullptr;
    pmix_cpuset_t unbound = PMIX_CPUSET_STATIC_INIT;
    EXPECT_STATUS(PMIX_SUCCESS, PMIx_server_generate_locality_string(&unbound, &text));
    EXPECT_EQ(text, nullptr);
    EXPECT_STATUS(PMIX_ERR_BAD_PARAM, PMIx_server_generate_locality_string(nullptr, &text));
    EXPECT_STATUS(PMIX_ERR_BAD_PARAM, PMIx_server_generate_locality_string(&unbound, nullptr));
}

// rows: H6
TEST_F(TopologyApi, RelativeLocalityOfWhatWasGenerated) {
    Server server;
    pmix_locality_t shared = 0;
    ASSERT_STATUS(PMIX_SUCCESS,
                  PMIx_Get_relative_locality(locality_of("hwloc:0").c_str(), locality_of("hwloc:1").c_str(), &shared));
    EXPECT_EQ(shared, PMIX_LOCALITY_SHARE_NODE | PMIX_LOCALITY_SHARE_PACKAGE | PMIX_LOCALITY_SHARE_NUMA |
                          PMIX_LOCALITY_SHARE_L3CACHE | PMIX_LOCALITY_SHARE_L2CACHE | PMIX_LOCALITY_SHARE_L1CACHE |
                          PMIX_LOCALITY_SHARE_CORE);
    ASSERT_STATUS(PMIX_SUCCESS,
                  PMIx_Get_relative_locality(locality_of("hwloc:0").c_str(), locality_of("hwloc:4").c_str(), &shared));
    EXPECT_EQ(shared, PMIX_LOCALITY_SHARE_NODE);
    EXPECT_STATUS(PMIX_ERR_BAD_PARAM, PMIx_Get_relative_locality(nullptr, "hwloc:SK0", &shared));
    EXPECT_EQ(shared, PMIX_LOCALITY_UNKNOWN);
    EXPECT_STATUS(PMIX_ERR_BAD_PARAM, PMIx_Get_relative_locality("hwloc:SK0", nullptr, &shared));
    EXPECT_STATUS(PMIX_ERR_BAD_PARAM, PMIx_Get_relative_locality("hwloc:SK0", "", &shared));
    EXPECT_STATUS(PMIX_ERR_BAD_PARAM, PMIx_Get_relative_locality("hwloc:SK0", "hwloc:SK0", nullptr));
    EXPECT_STATUS(PMIX_ERR_NOT_SUPPORTED, PMIx_Get_relative_locality("hwloc:SK0", "other:SK0", &shared));
}

// rows: H1
// proves: PMIx_server_init PMIX_TOPOLOGY_FILE PMIX_TOPOLOGY2
TEST_F(TopologyApi, ABadTextIsPassedOverAndABadFileIsNot) {
    pmix_info_t info;
    PMIx_Info_load(&info, PMIX_TOPOLOGY_XML, "<topology>not really", PMIX_STRING);
    {
        Server server(kTwoPackages, &info, 1);
        EXPECT_EQ(locality_of("hwloc:4"), "hwloc:SK1:L31:L22:L12:CR2:HT4:NM1");
    }
    PMIx_Info_destruct(&info);
    PMIx_Info_load(&info, PMIX_TOPOLOGY_FILE, "/nonexistent/topology.xml", PMIX_STRING);
    EXPECT_STATUS(PMIX_ERR_BAD_PARAM, PMIx_server_init(nullptr, &info, 1));
    PMIx_Info_destruct(&info);
    PMIx_Info_load(&info, PMIX_TOPOLOGY2, "text", PMIX_STRING);
    EXPECT_STATUS(PMIX_ERR_BAD_PARAM, PMIx_server_init(nullptr, &info, 1));
    PMIx_Info_destruct(&info);
}

// rows: H1
// proves: PMIx_server_init PMIX_TOPOLOGY_XML PMIX_HWLOC_XML_V1 PMIX_HWLOC_XML_V2 PMIX_LOCAL_TOPO
TEST_F(TopologyApi, TheTextUnderEachOfItsNames) {
    const std::string xml = xml_of_two_packages();
    for (const char* key : {PMIX_TOPOLOGY_XML, PMIX_HWLOC_XML_V1, PMIX_HWLOC_XML_V2, PMIX_LOCAL_TOPO}) {
        pmix_info_t info;
        PMIx_Info_load(&info, key, xml.c_str(), PMIX_STRING);
        Server server("PU:1", &info, 1);
        EXPECT_EQ(locality_of("hwloc:4"), "hwloc:SK1:L31:L22:L12:CR2:HT4:NM1") << key;
        PMIx_Info_destruct(&info);
    }
}

// A server finds the topology with PMIx_Get, too; releasing the value leaves the library's own alone. rows: H1 K37
TEST_F(TopologyApi, Get_OfAServersTopology_IsTheOneThatIsLoaded) {
    Server server;
    pmix_topology_t topology = PMIX_TOPOLOGY_STATIC_INIT;
    for (int round = 0; round < 2; ++round) {
        pmix_value_t* value = nullptr;
        ASSERT_STATUS(PMIX_SUCCESS, PMIx_Get(nullptr, PMIX_TOPOLOGY2, nullptr, 0, &value));
        ASSERT_EQ(value->type, PMIX_TOPO);
        ASSERT_NE(value->data.topo, nullptr);
        ASSERT_STATUS(PMIX_SUCCESS, PMIx_Load_topology(&topology));
        EXPECT_EQ(value->data.topo->topology, topology.topology);
        EXPECT_STREQ(value->data.topo->source, topology.source);
        PMIx_Value_free(value, 1);
        PMIx_Topology_destruct(&topology);
    }
    EXPECT_EQ(locality_of("hwloc:4"), "hwloc:SK1:L31:L22:L12:CR2:HT4:NM1");
}

// A host may hold its topology in something that is not hwloc: it is handed out, and nothing is read of it. rows: H1
// proves: PMIx_server_init PMIX_TOPOLOGY2
TEST_F(TopologyApi, AForeignTopologyIsOnlyHandedOut) {
    int object = 0;
    char source[] = "other:1";
    pmix_topology_t given = {source, &object};
    pmix_info_t info = PMIX_INFO_STATIC_INIT;
    PMIx_Load_key(info.key, PMIX_TOPOLOGY2);
    info.value.type = PMIX_TOPO;
    info.value.data.topo = &given;
    Server server(nullptr, &info, 1);
    pmix_topology_t topology = PMIX_TOPOLOGY_STATIC_INIT;
    ASSERT_STATUS(PMIX_SUCCESS, PMIx_Load_topology(&topology));
    EXPECT_STREQ(topology.source, "other:1");
    EXPECT_EQ(topology.topology, &object);
    PMIx_Topology_destruct(&topology);
    char hwloc[] = "hwloc";
    pmix_topology_t wanted = {hwloc, nullptr};
    EXPECT_STATUS(PMIX_ERR_NOT_SUPPORTED, PMIx_Load_topology(&wanted));
    char* text = nullptr;
    pmix_cpuset_t cpuset = parsed("hwloc:0");
    EXPECT_STATUS(PMIX_ERR_NOT_SUPPORTED, PMIx_server_generate_locality_string(&cpuset, &text));
    PMIx_Cpuset_destruct(&cpuset);
}

// The older name takes a bare pointer to hwloc's object, which stays the host's. rows: H1
// proves: PMIx_server_init PMIX_TOPOLOGY
TEST_F(TopologyApi, TheHostsOwnObjectByABarePointer) {
    const Hwloc& hwloc = *Hwloc::open();
    hwloc_topology_t own = topology_from_xml(hwloc, xml_of_two_packages().c_str(), false);
    ASSERT_NE(own, nullptr);
    {
        pmix_info_t info = PMIX_INFO_STATIC_INIT;
        PMIx_Info_load(&info, PMIX_TOPOLOGY, own, PMIX_POINTER);
        Server server(nullptr, &info, 1);
        pmix_topology_t topology = PMIX_TOPOLOGY_STATIC_INIT;
        ASSERT_STATUS(PMIX_SUCCESS, PMIx_Load_topology(&topology));
        EXPECT_EQ(topology.topology, own);
        PMIx_Topology_destruct(&topology);
    }
    EXPECT_EQ(hwloc.topology_abi_check(own), 0) << "still there";
    hwloc.topology_destroy(own);
}

// The child of a fork has no library, whatever the parent was doing. rows: H1
TEST_F(TopologyApi, AForkedChildIsUninitialised) {
    Server server;
    pmix_topology_t topology = PMIX_TOPOLOGY_STATIC_INIT;
    ASSERT_STATUS(PMIX_SUCCESS, PMIx_Load_topology(&topology));
    const pid_t child = fork();
    if (child == 0) {
        pmix_topology_t mine = PMIX_TOPOLOGY_STATIC_INIT;
        bool well = PMIx_Load_topology(&mine) == PMIX_ERR_INIT;
        PMIx_Topology_destruct(&topology);  // must leave the memory of the parent's alone
        _exit(well ? 0 : 1);
    }
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
    PMIx_Topology_destruct(&topology);
}

}  // namespace

}  // namespace topology_api_test

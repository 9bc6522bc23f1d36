// SPDX-License-Identifier: BSD-3-Clause
// PMIx_Compute_distances and its non-blocking form.
#include "support/status.h"
#include "unit/abi/topology_setting.h"

namespace distances_api_test {

using namespace pmix::test;

namespace {

struct Distances {
    pmix_status_t status = PMIX_ERROR;
    pmix_device_distance_t* array = nullptr;
    size_t n = 0;

    Distances() = default;
    Distances(const Distances&) = delete;
    ~Distances() { PMIx_Device_distance_free(array, n); }
    const pmix_device_distance_t* find(const char* name) const {
        for (size_t i = 0; i < n; ++i) {
            if (std::strcmp(array[i].osname, name) == 0) return &array[i];
        }
        return nullptr;
    }
};

class DistancesApi : public TopologyApi {
  protected:
    void SetUp() override {
        TopologyApi::SetUp();
        if (IsSkipped()) return;
        const std::string xml = xml_of_two_packages();
        ASSERT_NE(xml.find("mlx5_0"), std::string::npos);
        PMIx_Info_load(&info_, PMIX_TOPOLOGY_XML, xml.c_str(), PMIX_STRING);
        server_ = std::make_unique<Server>(nullptr, &info_, 1);
    }
    void TearDown() override {
        server_.reset();
        PMIx_Info_destruct(&info_);
    }
    void compute(Distances& out, const char* cpus, std::vector<pmix_info_t> infos = {}) {
        pmix_cpuset_t cpuset = parsed(cpus);
        out.status = PMIx_Compute_distances(nullptr, &cpuset, infos.data(), infos.size(), &out.array, &out.n);
        PMIx_Cpuset_destruct(&cpuset);
        for (pmix_info_t& info : infos) PMIx_Info_destruct(&info);
    }
    static pmix_info_t kind(pmix_device_type_t kinds) {
        pmix_info_t info;
        PMIx_Info_load(&info, PMIX_DEVICE_TYPE, &kinds, PMIX_DEVTYPE);
        return info;
    }
    static pmix_info_t id(const char* name) {
        pmix_info_t info;
        PMIx_Info_load(&info, PMIX_DEVICE_ID, name, PMIX_STRING);
        return info;
    }

    pmix_info_t info_ = PMIX_INFO_STATIC_INIT;
    std::unique_ptr<Server> server_;
};

// rows: H7
// proves: PMIx_server_init PMIX_TOPOLOGY_XML
TEST_F(DistancesApi, NearIsLessThanFar) {
    Distances all;
    compute(all, "hwloc:0");
    ASSERT_STATUS(PMIX_SUCCESS, all.status);
    for (const char* name : {"eth0", "eth1", "eth2", "ib0", "mlx5_0", "renderD128", "renderD129", "nvme0n1", "cuda0"}) {
        ASSERT_NE(all.find(name), nullptr) << name;
    }
    EXPECT_EQ(all.n, 9u) << "card0 is renderD128, and hwloc keeps no DMA engines";
    EXPECT_EQ(all.find("eth0")->mindist, all.find("eth0")->maxdist);
    EXPECT_LT(all.find("eth0")->maxdist, all.find("eth1")->mindist);
    EXPECT_EQ(all.find("eth1")->mindist, all.find("eth2")->mindist);
    EXPECT_LT(all.find("renderD128")->maxdist, all.find("renderD129")->mindist);
    EXPECT_STREQ(all.find("eth0")->uuid, "ipv4://02:00:00:00:00:10");
    EXPECT_EQ(std::string(all.find("ib0")->uuid).substr(0, 12), "ipv6://80:00");
    EXPECT_STREQ(all.find("mlx5_0")->uuid, "fab://e41d:2d03:005e:7182::e41d:2d03:005e:7182");
    EXPECT_EQ(all.find("mlx5_0")->type, PMIX_DEVTYPE_OPENFABRICS);
    EXPECT_EQ(all.find("nvme0n1")->type, PMIX_DEVTYPE_BLOCK);
    EXPECT_EQ(std::string(all.find("cuda0")->uuid).substr(0, 9), "coproc://");

    // Bound to both packages: near with the one, far with the other.
    Distances both;
    compute(both, "hwloc:0,4");
    ASSERT_STATUS(PMIX_SUCCESS, both.status);
    EXPECT_EQ(both.find("eth0")->mindist, all.find("eth0")->mindist);
    EXPECT_EQ(both.find("eth0")->maxdist, all.find("eth1")->maxdist);
    // Bound to nothing that is here: not known.
    Distances none;
    compute(none, "hwloc:99");
    ASSERT_STATUS(PMIX_SUCCESS, none.status);
    EXPECT_EQ(none.find("eth0")->mindist, UINT16_MAX);
    EXPECT_EQ(none.find("eth0")->maxdist, UINT16_MAX);
}

// rows: H7 G7
// proves: PMIx_Compute_distances PMIX_DEVICE_TYPE PMIX_DEVICE_ID
TEST_F(DistancesApi, ChosenByKindAndName) {
    const auto names = [&](std::vector<pmix_info_t> infos) {
        Distances some;
        compute(some, "hwloc:0", std::move(infos));
        std::string out;
        for (size_t i = 0; i < some.n; ++i) out += std::string(some.array[i].osname) + ' ';
        return some.status == PMIX_SUCCESS ? out : std::to_string(some.status);
    };
    EXPECT_EQ(names({kind(PMIX_DEVTYPE_GPU)}), "renderD128 renderD129 ");
    EXPECT_EQ(names({kind(PMIX_DEVTYPE_OPENFABRICS), kind(PMIX_DEVTYPE_BLOCK)}), "nvme0n1 mlx5_0 ");
    EXPECT_EQ(names({id("ETH1")}), "eth1 ");
    EXPECT_EQ(names({id("eth1"), id("ipv4://02:00:00:00:00:12")}), "eth1 eth2 ");
    EXPECT_EQ(names({kind(PMIX_DEVTYPE_GPU), id("eth1")}), std::to_string(PMIX_ERR_NOT_FOUND));
    EXPECT_EQ(names({kind(PMIX_DEVTYPE_UNKNOWN)}), std::to_string(PMIX_ERR_NOT_FOUND));
    EXPECT_EQ(names({id("eth99")}), std::to_string(PMIX_ERR_NOT_FOUND));
    pmix_info_t strange, required;
    PMIx_Info_load(&strange, "any.key", "x", PMIX_STRING);
    PMIx_Info_load(&required, "any.key", "x", PMIX_STRING);
    PMIx_Info_required(&required);
    EXPECT_EQ(names({strange, id("eth0")}), "eth0 ");
    EXPECT_EQ(names({required, id("eth0")}), std::to_string(PMIX_ERR_NOT_SUPPORTED));
    pmix_info_t wrong;
    PMIx_Info_load(&wrong, PMIX_DEVICE_TYPE, "gpu", PMIX_STRING);
    EXPECT_EQ(names({wrong}), std::to_string(PMIX_ERR_BAD_PARAM));
}

// rows: H7
// proves: PMIx_Compute_distances PMIX_DEVICE_DIST_ORIGIN
TEST_F(DistancesApi, Compute_FromADevice_MeasuresOnTheBusAndOverTheCpus) {
    const auto from = [](const char* name) {
        pmix_info_t info;
        PMIx_Info_load(&info, PMIX_DEVICE_DIST_ORIGIN, name, PMIX_STRING);
        return info;
    };
    // By the three names of one device; "hwloc:4" is of the other package and counts for nothing.
    for (const char* name : {"mlx5_0", "fab://e41d:2d03:005e:7182::e41d:2d03:005e:7182", "0000:01:01.0"}) {
        Distances all;
        compute(all, "hwloc:4", {from(name)});
        ASSERT_STATUS(PMIX_SUCCESS, all.status) << name;
        EXPECT_EQ(all.n, 9u);
        EXPECT_EQ(all.find("mlx5_0")->mindist, 0);
        EXPECT_EQ(all.find("ib0")->maxdist, 0) << "the same PCI device";
        EXPECT_GT(all.find("eth0")->mindist, 0) << "a host bridge is where CPUs are";
        EXPECT_EQ(all.find("eth0")->mindist, all.find("eth0")->maxdist);
        EXPECT_EQ(all.find("renderD128")->mindist, all.find("eth0")->mindist);
        EXPECT_LT(all.find("eth0")->maxdist, all.find("eth1")->mindist) << "the other package";
        EXPECT_EQ(all.find("eth1")->mindist, all.find("eth2")->mindist);
        // As far as from the CPUs beside the first device.
        Distances of_cpu;
        compute(of_cpu, "hwloc:0");
        EXPECT_EQ(all.find("eth1")->mindist, of_cpu.find("eth1")->mindist);
    }
    Distances one;
    compute(one, "hwloc:0", {from("ETH1"), id("eth0")});
    ASSERT_STATUS(PMIX_SUCCESS, one.status);
    ASSERT_EQ(one.n, 1u);
    EXPECT_STREQ(one.array[0].osname, "eth0");
    for (const char* name : {"eth99", "0000:01:09.0", "0000:01:01"}) {
        Distances none;
        compute(none, "hwloc:0", {from(name)});
        EXPECT_STATUS(PMIX_ERR_NOT_FOUND, none.status) << name;
    }
    pmix_info_t wrong;
    const uint32_t number = 1;
    PMIx_Info_load(&wrong, PMIX_DEVICE_DIST_ORIGIN, &number, PMIX_UINT32);
    Distances bad;
    compute(bad, "hwloc:0", {wrong});
    EXPECT_STATUS(PMIX_ERR_BAD_PARAM, bad.status);
}

// rows: H7 G16
TEST_F(DistancesApi, BadInputLeavesSafeOutputs) {
    pmix_cpuset_t cpuset = parsed("hwloc:0");
    auto* array = reinterpret_cast<pmix_device_distance_t*>(&cpuset);
    size_t n = 9;
    EXPECT_STATUS(PMIX_ERR_BAD_PARAM, PMIx_Compute_distances(nullptr, &cpuset, nullptr, 0, nullptr, &n));
    EXPECT_STATUS(PMIX_ERR_BAD_PARAM, PMIx_Compute_distances(nullptr, &cpuset, nullptr, 0, &array, nullptr));
    EXPECT_STATUS(PMIX_ERR_BAD_PARAM, PMIx_Compute_distances(nullptr, &cpuset, nullptr, 3, &array, &n));
    char other[] = "other";
    pmix_topology_t foreign = {other, &n};
    EXPECT_STATUS(PMIX_ERR_NOT_SUPPORTED, PMIx_Compute_distances(&foreign, &cpuset, nullptr, 0, &array, &n));
    pmix_topology_t empty = PMIX_TOPOLOGY_STATIC_INIT;
    EXPECT_STATUS(PMIX_ERR_BAD_PARAM, PMIx_Compute_distances(&empty, &cpuset, nullptr, 0, &array, &n));
    pmix_cpuset_t no_cpus = PMIX_CPUSET_STATIC_INIT, foreign_cpus = {other, cpuset.bitmap};
    EXPECT_STATUS(PMIX_ERR_BAD_PARAM, PMIx_Compute_distances(nullptr, &no_cpus, nullptr, 0, &array, &n));
    EXPECT_STATUS(PMIX_ERR_NOT_SUPPORTED, PMIx_Compute_distances(nullptr, &foreign_cpus, nullptr, 0, &array, &n));
    EXPECT_EQ(array, nullptr);
    EXPECT_EQ(n, 0u);
    PMIx_Cpuset_destruct(&cpuset);

    // No cpuset: ours. A topology of the caller's: that one.
    pmix_topology_t loaded = PMIX_TOPOLOGY_STATIC_INIT;
    ASSERT_STATUS(PMIX_SUCCESS, PMIx_Load_topology(&loaded));
    ASSERT_STATUS(PMIX_SUCCESS, PMIx_Compute_distances(&loaded, nullptr, nullptr, 0, &array, &n));
    EXPECT_EQ(n, 9u);
    PMIx_Device_distance_free(array, n);
    PMIx_Topology_destruct(&loaded);
}

struct Answer {
    std::atomic<int> calls{0};
    std::atomic<bool> returned{false};
    pmix_status_t status = PMIX_ERROR;
    size_t n = 0;
    std::string first;
    pthread_t thread{};
};

void answered(pmix_status_t status, pmix_device_distance_t* distances, size_t n, void* data,
              pmix_release_cbfunc_t release, void* release_data) {
    auto& answer = *static_cast<Answer*>(data);
    answer.status = status;
    answer.n = n;
    answer.first = distances[0].osname;
    answer.thread = pthread_self();
    release(release_data);
    answer.calls.fetch_add(1);
    answer.calls.notify_all();
}

// rows: H8 G2 G4
TEST_F(DistancesApi, CallbackComesOnceOnAnotherThread) {
    pmix_cpuset_t cpuset = parsed("hwloc:0");
    pmix_info_t infos[] = {id("eth1")};
    Answer answer;
    ASSERT_STATUS(PMIX_SUCCESS, PMIx_Compute_distances_nb(nullptr, &cpuset, infos, 1, answered, &answer));
    answer.calls.wait(0);
    EXPECT_STATUS(PMIX_SUCCESS, answer.status);
    EXPECT_EQ(answer.n, 1u);
    EXPECT_EQ(answer.first, "eth1");
    EXPECT_FALSE(pthread_equal(answer.thread, pthread_self()));

    // Any other answer than success: no callback.
    Answer never;
    PMIx_Info_destruct(&infos[0]);
    infos[0] = id("eth99");
    EXPECT_STATUS(PMIX_ERR_NOT_FOUND, PMIx_Compute_distances_nb(nullptr, &cpuset, infos, 1, answered, &never));
    EXPECT_STATUS(PMIX_ERR_BAD_PARAM, PMIx_Compute_distances_nb(nullptr, &cpuset, infos, 1, nullptr, &never));
    PMIx_Info_destruct(&infos[0]);
    PMIx_Cpuset_destruct(&cpuset);
    server_.reset();
    EXPECT_EQ(never.calls.load(), 0);
    EXPECT_EQ(answer.calls.load(), 1);
}

}  // namespace

}  // namespace distances_api_test

// SPDX-License-Identifier: BSD-3-Clause
// From a host's assignment of a node's GPUs and network devices, and the node's topology, to the environment of its
// ranks.
#include <map>

#include "common/values/array_value.h"
#include "common/values/value.h"
#include "support/status.h"
#include "unit/abi/topology_setting.h"

namespace gpu_assignment_test {

using namespace pmix::test;
using pmix::common::InfoList;

namespace {

// The devices of the two packages, of other makers: two GPUs of NVIDIA, one of which has its id there, and one of AMD.
std::string with_gpus() {
    std::string xml = xml_of_two_packages();
    const auto replace = [&](const std::string& from, const std::string& to) {
        const size_t at = xml.find(from);
        ASSERT_NE(std::string::npos, at) << from;
        xml.replace(at, from.size(), to);
    };
    replace("0302 [15b3:1017]", "0302 [10de:20b0]");
    replace("\"0000:02:00.0\" pci_type=\"0200 [15b3:1017]", "\"0000:02:00.0\" pci_type=\"0302 [10de:20b0]");
    replace("name=\"eth1\" osdev_type=\"2\"", "name=\"cuda0\" osdev_type=\"5\"");
    replace("<info name=\"Address\" value=\"02:00:00:00:00:11\"/>", "<info name=\"NVIDIAUUID\" value=\"GPU-a-b\"/>");
    replace("0108 [15b3:1017]", "1200 [1002:740f]");
    replace("name=\"nvme0n1\" osdev_type=\"0\"", "name=\"renderD130\" osdev_type=\"1\"");
    return xml;
}

InfoList rank_with(pmix_rank_t rank, const char* name, pmix_device_type_t type) {
    pmix_device_t one{};
    one.osname = const_cast<char*>(name);
    one.type = type;
    pmix_data_array_t array{PMIX_DEVICE, 1, &one};
    InfoList of_rank, infos;
    of_rank.append(PMIX_RANK, &rank, PMIX_PROC_RANK);
    of_rank.append(PMIX_DEVICE_ID, &array, PMIX_DATA_ARRAY);
    infos.append(PMIX_PROC_INFO_ARRAY, std::move(pmix::common::array_value(std::move(of_rank))).value());
    return infos;
}

std::map<std::string, std::string> environment_of(pmix_rank_t rank, const char* user = nullptr) {
    pmix_proc_t proc;
    PMIx_Load_procid(&proc, "job", rank);
    char** env = nullptr;
    if (user != nullptr) {
        EXPECT_STATUS(PMIX_SUCCESS, PMIx_Argv_append_nosize(&env, user));
    }
    EXPECT_STATUS(PMIX_SUCCESS, PMIx_server_setup_fork(&proc, &env));
    std::map<std::string, std::string> out;
    for (char** e = env; e != nullptr && *e != nullptr; ++e) {
        const std::string entry(*e);
        out[entry.substr(0, entry.find('='))] = entry.substr(entry.find('=') + 1);
    }
    PMIx_Argv_free(env);
    return out;
}

class GpuAssignment : public TopologyApi {
  protected:
    void SetUp() override {
        TopologyApi::SetUp();
        if (IsSkipped()) return;
        xml = with_gpus();
        infos.append_string(PMIX_TOPOLOGY_XML, xml);
        server = std::make_unique<Server>("PU:1", infos.c_array(), infos.size());
    }
    static void register_ranks(const InfoList& given) {
        ASSERT_STATUS(PMIX_SUCCESS, PMIx_server_register_nspace("job", 3, const_cast<pmix_info_t*>(given.c_array()),
                                                                given.size(), nullptr, nullptr));
    }
    static void register_clients() {
        for (pmix_rank_t rank = 0; rank < 3; ++rank) {
            pmix_proc_t proc;
            PMIx_Load_procid(&proc, "job", rank);
            ASSERT_STATUS(PMIX_SUCCESS,
                          PMIx_server_register_client(&proc, geteuid(), getegid(), nullptr, nullptr, nullptr));
        }
    }
    static InfoList assignments() {
        InfoList all = rank_with(0, "renderD128", PMIX_DEVTYPE_GPU);
        for (const InfoList& more : {rank_with(1, "cuda0", PMIX_DEVTYPE_COPROC), rank_with(2, "renderD130", 0)})
            all.append_all(more.c_array(), more.size());
        return all;
    }
    std::string xml;
    InfoList infos;
    std::unique_ptr<Server> server;
};

// rows: V2
// proves: PMIx_server_register_nspace PMIX_DEVICE_ID server
TEST_F(GpuAssignment, SetupFork_EachRankIsShownItsGpus) {
    for (const bool clients_first : {false, true}) {
        if (clients_first) register_clients();
        register_ranks(assignments());
        if (!clients_first) register_clients();
        auto env = environment_of(0);
        EXPECT_EQ("0", env["CUDA_VISIBLE_DEVICES"]) << "the first on the bus";
        EXPECT_EQ("PCI_BUS_ID", env["CUDA_DEVICE_ORDER"]);
        env = environment_of(1);
        EXPECT_EQ("GPU-a-b", env["CUDA_VISIBLE_DEVICES"]);
        EXPECT_EQ(0u, env.count("ROCR_VISIBLE_DEVICES"));
        env = environment_of(2);
        EXPECT_EQ("0", env["ROCR_VISIBLE_DEVICES"]);
        EXPECT_EQ(0u, env.count("CUDA_VISIBLE_DEVICES"));
        PMIx_server_deregister_nspace("job", nullptr, nullptr);
    }
}

// rows: V2
// proves: PMIx_server_register_nspace PMIX_DEVICE_ID server
TEST_F(GpuAssignment, SetupFork_EachRankIsToldItsNetworkDevice) {
    InfoList all = rank_with(0, "mlx5_0", PMIX_DEVTYPE_OPENFABRICS);
    for (const InfoList& more : {rank_with(1, "ib0", PMIX_DEVTYPE_NETWORK), rank_with(2, "eth0", PMIX_DEVTYPE_NETWORK)})
        all.append_all(more.c_array(), more.size());
    register_ranks(all);
    register_clients();
    for (const pmix_rank_t rank : {0u, 1u}) {
        auto env = environment_of(rank);
        EXPECT_EQ("mlx5_0:*", env["UCX_NET_DEVICES"]) << rank;
        EXPECT_EQ("=mlx5_0", env["NCCL_IB_HCA"]) << rank;
    }
    auto env = environment_of(2);
    EXPECT_EQ(0u, env.count("UCX_NET_DEVICES")) << "it has no verbs";
    env = environment_of(0, "UCX_NET_DEVICES=mlx5_7:1");
    EXPECT_EQ("mlx5_7:1", env["UCX_NET_DEVICES"]);
}

// rows: V2
TEST_F(GpuAssignment, SetupFork_TheUserHasChosen_Stays) {
    register_ranks(assignments());
    register_clients();
    auto env = environment_of(0, "CUDA_VISIBLE_DEVICES=1");
    EXPECT_EQ("1", env["CUDA_VISIBLE_DEVICES"]);
    EXPECT_EQ(0u, env.count("CUDA_DEVICE_ORDER"));
    // What the host itself wants for the job counts as set, too.
    pmix_envar_t variable{const_cast<char*>("HIP_VISIBLE_DEVICES"), const_cast<char*>("3"), ','};
    InfoList more;
    more.append(PMIX_SET_ENVAR, &variable, PMIX_ENVAR);
    register_ranks(more);
    env = environment_of(2);
    EXPECT_EQ("3", env["HIP_VISIBLE_DEVICES"]);
    EXPECT_EQ(0u, env.count("ROCR_VISIBLE_DEVICES"));
}

}  // namespace

}  // namespace gpu_assignment_test

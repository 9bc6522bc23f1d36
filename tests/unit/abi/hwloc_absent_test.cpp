// SPDX-License-Identifier: BSD-3-Clause
// Where hwloc is not installed: PMIX_ERR_NOT_SUPPORTED, in silence, and what needs no hwloc works.
#include <gtest/gtest.h>
#include <pmix.h>
#include <pmix_server.h>

#include <cstring>

#include "support/status.h"

namespace {
int g_opened = 0;
}

// In place of the C library's: there is nothing to open.
extern "C" void* dlopen(const char* file, int) {
    if (file != nullptr && std::strstr(file, "hwloc") != nullptr) ++g_opened;
    return nullptr;
}

namespace {

// rows: H1 H2 H3 H5 H6 H7
TEST(HwlocAbsent, NotSupportedInSilence) {
    pmix_info_t infos[2];
    const bool yes = true;
    PMIx_Info_load(&infos[0], PMIX_SERVER_SHARE_TOPOLOGY, &yes, PMIX_BOOL);
    PMIx_Info_load(&infos[1], PMIX_TOPOLOGY_XML, "<topology/>", PMIX_STRING);
    ASSERT_STATUS(PMIX_SUCCESS, PMIx_server_init(nullptr, nullptr, 0));
    EXPECT_EQ(g_opened, 0) << "not before it is needed";
    ASSERT_STATUS(PMIX_SUCCESS, PMIx_server_finalize());
    ASSERT_STATUS(PMIX_SUCCESS, PMIx_server_init(nullptr, infos, 1));
    ASSERT_STATUS(PMIX_SUCCESS, PMIx_server_finalize());
    testing::internal::CaptureStderr();
    testing::internal::CaptureStdout();
    ASSERT_STATUS(PMIX_SUCCESS, PMIx_server_init(nullptr, infos, 2));

    pmix_topology_t topology = PMIX_TOPOLOGY_STATIC_INIT;
    pmix_cpuset_t cpuset = PMIX_CPUSET_STATIC_INIT;
    int object = 0;
    char* text = nullptr;
    pmix_device_distance_t* distances = nullptr;
    size_t n = 0;
    EXPECT_STATUS(PMIX_ERR_NOT_SUPPORTED, PMIx_Load_topology(&topology));
    EXPECT_STATUS(PMIX_ERR_NOT_SUPPORTED, PMIx_Get_cpuset(&cpuset, PMIX_CPUBIND_PROCESS));
    EXPECT_STATUS(PMIX_ERR_NOT_SUPPORTED, PMIx_Parse_cpuset_string("hwloc:0-3", &cpuset));
    EXPECT_STATUS(PMIX_ERR_BAD_PARAM, PMIx_Parse_cpuset_string("0-3", &cpuset));
    EXPECT_STATUS(PMIX_ERR_NOT_SUPPORTED, PMIx_Compute_distances(nullptr, nullptr, nullptr, 0, &distances, &n));
    pmix_cpuset_t unknown = {nullptr, &object};
    EXPECT_STATUS(PMIX_ERR_NOT_SUPPORTED, PMIx_server_generate_cpuset_string(&unknown, &text));
    EXPECT_STATUS(PMIX_ERR_NOT_SUPPORTED, PMIx_server_generate_locality_string(&unknown, &text));
    PMIx_Cpuset_destruct(&unknown);  // nobody here can free it
    pmix_locality_t shared = 0;
    EXPECT_STATUS(PMIX_SUCCESS, PMIx_Get_relative_locality("hwloc:SK0", "hwloc:SK0", &shared));
    EXPECT_EQ(shared, PMIX_LOCALITY_SHARE_NODE | PMIX_LOCALITY_SHARE_PACKAGE);

    ASSERT_STATUS(PMIX_SUCCESS, PMIx_server_finalize());
    EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
    EXPECT_EQ(testing::internal::GetCapturedStdout(), "");
    EXPECT_EQ(g_opened, 1) << "looked for once";
    for (pmix_info_t& info : infos) PMIx_Info_destruct(&info);
}

}  // namespace

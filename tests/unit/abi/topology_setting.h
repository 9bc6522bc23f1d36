// SPDX-License-Identifier: BSD-3-Clause
// What the tests of topology calls share: a server with a topology of the test's choice.
#pragma once

#include <gtest/gtest.h>
#include <pmix.h>
#include <pmix_server.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "common/base/limits.h"
#include "support/status.h"
#include "topology/hwloc_library.h"

namespace pmix::test {

using pmix::api::Hwloc;
using pmix::api::topology_from_xml;

constexpr const char* kTwoPackages = "Package:2 NUMANode:1 L3:1 Core:2 L2:1 L1:1 PU:2";  // CPUs 0-3 and 4-7

// PMIx_server_init with a topology of hwloc's choice, until the end of the scope.
class Server {
  public:
    explicit Server(const char* synthetic = kTwoPackages, pmix_info_t* infos = nullptr, size_t n = 0) {
        unsetenv("HWLOC_XMLFILE");
        synthetic == nullptr ? unsetenv("HWLOC_SYNTHETIC") : setenv("HWLOC_SYNTHETIC", synthetic, 1);
        EXPECT_STATUS(PMIX_SUCCESS, PMIx_server_init(nullptr, infos, n));
    }
    ~Server() {
        EXPECT_STATUS(PMIX_SUCCESS, PMIx_server_finalize());
        unsetenv("HWLOC_SYNTHETIC");
    }
};

class TopologyApi : public ::testing::Test {
  protected:
    void SetUp() override {
        if (Hwloc::open() == nullptr) GTEST_SKIP() << "hwloc is not installed";
    }
};

inline std::string xml_of_two_packages() {
    std::ifstream file(WIREUP_SOURCE_DIR "/tests/support/topologies/two_packages.xml");
    return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

inline pmix_cpuset_t parsed(const char* text) {
    pmix_cpuset_t cpuset = PMIX_CPUSET_STATIC_INIT;
    EXPECT_STATUS(PMIX_SUCCESS, PMIx_Parse_cpuset_string(text, &cpuset)) << text;
    return cpuset;
}

inline std::string cpuset_text(const pmix_cpuset_t& cpuset) {
    char* text = nullptr;
    EXPECT_STATUS(PMIX_SUCCESS, PMIx_server_generate_cpuset_string(&cpuset, &text));
    std::string out = text == nullptr ? "(null)" : text;
    free(text);
    return out;
}

inline std::string locality_of(const char* cpus) {
    pmix_cpuset_t cpuset = parsed(cpus);
    char* text = reinterpret_cast<char*>(&cpuset);
    EXPECT_STATUS(PMIX_SUCCESS, PMIx_server_generate_locality_string(&cpuset, &text));
    std::string out = text == nullptr ? "(null)" : text;
    free(text);
    PMIx_Cpuset_destruct(&cpuset);
    return out;
}

}  // namespace pmix::test

// SPDX-License-Identifier: BSD-3-Clause
// What a process reads from the environment that a server with OpenPMIx's library has given it, and what it chooses
// from there.
#include <gtest/gtest.h>
#include <netinet/in.h>

#include <map>
#include <string>

#include "client/openpmix/environment.h"
#include "openpmix/hello.h"
#include "support/status.h"

namespace pmix::test::openpmix_environment_test {
namespace {

namespace theirs = openpmix;

std::map<std::string, std::string, std::less<>> g_variables;
const char* read_variable(const char* name) {
    const auto it = g_variables.find(name);
    return it == g_variables.end() ? nullptr : it->second.c_str();
}

class Environment : public ::testing::Test {
  protected:
    void SetUp() override {
        g_variables = {{"PMIX_NAMESPACE", "prterun-vm-17@1"},
                       {"PMIX_RANK", "3"},
                       {"PMIX_VERSION", "5.0.7a1"},
                       {"PMIX_SECURITY_MODE", "munge,native"},
                       {"PMIX_SERVER_URI41", "prterun-vm-17@0.0;tcp4://192.0.2.7:36514"}};
    }
    static auto read() { return client::read_openpmix_environment(&read_variable); }
};

TEST_F(Environment, Read_OfARank_HasAllOfIt) {
    auto environment = read();
    ASSERT_TRUE(environment.ok());
    EXPECT_EQ(common::ProcId("prterun-vm-17@1", 3), environment->self);
    EXPECT_EQ(common::ProcId("prterun-vm-17@0", 0), environment->server);
    EXPECT_EQ(36514, ntohs(environment->address.sin_port));
    EXPECT_EQ("v41", environment->encoding);
    EXPECT_EQ("native", environment->security);
    EXPECT_EQ(theirs::kNotDescribed, environment->buffer_kind);
    EXPECT_EQ((theirs::Version{5, 0, 7}), environment->traits.version);
}

TEST_F(Environment, Read_SeveralAddresses_TakesTheBestEncoding) {
    g_variables["PMIX_SERVER_URI4"] = "other.0;tcp4://127.0.0.1:4";
    EXPECT_EQ("v41", read()->encoding);
    g_variables["PMIX_SERVER_URI51"] = "other.0;tcp4://127.0.0.1:51";
    EXPECT_EQ("v51", read()->encoding);
    g_variables["PMIX_SERVER_URI61"] = "other.0;tcp4://127.0.0.1:61";
    EXPECT_EQ("v61", read()->encoding);
    EXPECT_EQ(61, ntohs(read()->address.sin_port));
    g_variables.erase("PMIX_VERSION");
    EXPECT_EQ((theirs::Version{6, 1, 0}), read()->traits.version) << "by the name of the variable";
}

TEST_F(Environment, Read_SomeEncodingsOnly_TakesTheBestOfThese) {
    g_variables["PMIX_SERVER_URI4"] = "other.0;tcp4://127.0.0.1:4";
    g_variables["PMIX_MCA_bfrops"] = "v4";
    EXPECT_EQ("v4", read()->encoding);
    g_variables["PMIX_MCA_bfrops"] = "v3,v41,v4";
    EXPECT_EQ("v41", read()->encoding);
    g_variables["PMIX_MCA_bfrops"] = "^v41,v51";
    EXPECT_EQ("v4", read()->encoding);
    g_variables["PMIX_MCA_bfrops"] = "v20";
    EXPECT_STATUS(PMIX_ERR_NOT_SUPPORTED, read().status());
    g_variables["PMIX_MCA_bfrops"] = "";
    EXPECT_EQ("v41", read()->encoding);
}

TEST_F(Environment, Read_DescribedBuffers_AreDescribed) {
    g_variables["PMIX_BFROP_BUFFER_TYPE"] = "PMIX_BFROP_BUFFER_FULLY_DESC";
    EXPECT_EQ(theirs::kFullyDescribed, read()->buffer_kind);
    EXPECT_TRUE(read()->traits.form.described);
}

TEST_F(Environment, Read_WhatCannotBeSpokenTo_IsAStatus) {
    const auto status_of = [](const char* name, const char* value) {
        const std::string before = g_variables[name];
        g_variables[name] = value;
        const pmix_status_t status = read().status();
        g_variables[name] = before;
        return status;
    };
    for (const char* uri :
         {"nonsense", ";", "server;tcp4://127.0.0.1:1", ".0;tcp4://127.0.0.1:1", "server.x;tcp4://127.0.0.1:1",
          "server.0;tcp4://127.0.0.1", "server.0;tcp4://127.0.0.1:0", "server.0;tcp4://127.0.0.1:70000",
          "server.0;tcp4://localhost:1", "server.0;tcp4://127.0.0.1:1x"})
        EXPECT_STATUS(PMIX_ERR_BAD_PARAM, status_of("PMIX_SERVER_URI41", uri)) << uri;
    EXPECT_STATUS(PMIX_ERR_NOT_SUPPORTED, status_of("PMIX_SERVER_URI41", "server.0;tcp6://[::1]:1"));
    EXPECT_STATUS(PMIX_ERR_NOT_SUPPORTED,
                  status_of("PMIX_SERVER_URI41", "server.0;wireup:@wireup/0/1/0123456789abcdef"));
    EXPECT_STATUS(PMIX_ERR_NOT_SUPPORTED, status_of("PMIX_SECURITY_MODE", "munge"));
    EXPECT_STATUS(PMIX_ERR_BAD_PARAM, status_of("PMIX_RANK", "many"));
    g_variables.erase("PMIX_RANK");
    EXPECT_STATUS(PMIX_ERR_BAD_PARAM, read().status());
    g_variables.erase("PMIX_SERVER_URI41");
    g_variables["PMIX_SERVER_URI3"] = "server.0;tcp4://127.0.0.1:1";
    EXPECT_STATUS(PMIX_ERR_NOT_FOUND, read().status()) << "releases before 4.0";
}

TEST_F(Environment, Security_NoneIsTakenWhereNothingElseIsListed) {
    g_variables["PMIX_SECURITY_MODE"] = "none";
    EXPECT_EQ("none", read()->security);
    g_variables.erase("PMIX_SECURITY_MODE");
    EXPECT_EQ("native", read()->security);
}

// Ranks with OpenPMIx's library name the first module that they have.
TEST_F(Environment, Store_OfAServerWithOneForAJob_IsTheOneThatOthersName) {
    EXPECT_EQ("hash", read()->store) << "nothing listed";
    g_variables["PMIX_GDS_MODULE"] = "shmem2,hash";
    EXPECT_EQ("shmem2", read()->store);
    g_variables["PMIX_GDS_MODULE"] = "hash";
    EXPECT_EQ("hash", read()->store);
    g_variables["PMIX_GDS_MODULE"] = ",hash";
    EXPECT_EQ("hash", read()->store);
    g_variables["PMIX_GDS_MODULE"] = std::string(65, 'x');
    EXPECT_EQ("hash", read()->store);
}

TEST_F(Environment, Store_OfOtherServers_IsPlainData) {
    g_variables["PMIX_GDS_MODULE"] = "ds21,ds12,hash";
    g_variables["PMIX_VERSION"] = "4.2.2";
    EXPECT_EQ("hash", read()->store) << "which answers a Get with nothing but its status where another is named";
    g_variables["PMIX_GDS_MODULE"] = "shmem3,hash";
    g_variables["PMIX_VERSION"] = "7.0.0rc1";
    EXPECT_EQ("hash", read()->store);
}

}  // namespace
}  // namespace pmix::test::openpmix_environment_test

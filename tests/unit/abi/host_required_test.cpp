// SPDX-License-Identifier: BSD-3-Clause
// Required entries (PMIX_INFO_REQD) of the functions that a host calls: one that the library does not read is refused
// before anything is done, and a callback is not called.
#include <gtest/gtest.h>
#include <pmix_server.h>

#include <string>

#include "support/server_here.h"
#include "support/status.h"

namespace pmix::test::host_required_test {
namespace {

using common::InfoList;

// Answers what the function said, and whether the callback was, or is going to be, called.
pmix_status_t set_up_application(const pmix_info_t* infos, size_t n) {
    const auto done = [](pmix_status_t, pmix_info_t[], size_t, void*, pmix_op_cbfunc_t release, void* mine) {
        if (release != nullptr) release(PMIX_SUCCESS, mine);
    };
    return PMIx_server_setup_application("job", const_cast<pmix_info_t*>(infos), n, done, nullptr);
}

pmix_status_t set_up_local_support(const pmix_info_t* infos, size_t n) {
    const auto rc = PMIx_server_setup_local_support("job", const_cast<pmix_info_t*>(infos), n, nullptr, nullptr);
    return rc == PMIX_OPERATION_SUCCEEDED ? PMIX_SUCCESS : rc;
}

pmix_status_t collect_inventory(const pmix_info_t* infos, size_t n) {
    const auto done = [](pmix_status_t, pmix_info_t[], size_t, void*, pmix_release_cbfunc_t release, void* mine) {
        if (release != nullptr) release(mine);
    };
    return PMIx_server_collect_inventory(const_cast<pmix_info_t*>(infos), n, done, nullptr);
}

pmix_status_t deliver_inventory(const pmix_info_t* infos, size_t n) {
    return PMIx_server_deliver_inventory(nullptr, 0, const_cast<pmix_info_t*>(infos), n, nullptr, nullptr);
}

struct Call {
    const char* name;
    pmix_status_t (*call)(const pmix_info_t*, size_t);
    const char* known;  // null: it reads none
};

constexpr Call kCalls[] = {
    {"PMIx_server_setup_application", &set_up_application, PMIX_SETUP_APP_ENVARS},
    {"PMIx_server_setup_local_support", &set_up_local_support, PMIX_PROGRAMMING_MODEL},
    {"PMIx_server_collect_inventory", &collect_inventory, nullptr},
    {"PMIx_server_deliver_inventory", &deliver_inventory, nullptr},
};

InfoList entry(const char* key, bool required) {
    InfoList infos;
    EXPECT_STATUS(PMIX_SUCCESS, infos.append_string(key, "mpi"));
    if (required) PMIX_INFO_REQUIRED(&infos.c_array()[0]);
    return infos;
}

// proves: PMIx_server_setup_application PMIX_SETUP_APP_ENVARS
TEST(HostRequiredTest, WhatNobodyReads_IsRefusedWhereItIsRequired) {
    ServerHere server(nullptr, ServerHere::named());
    register_job("job");
    for (const Call& each : kCalls) {
        InfoList unknown = entry("test.unknown", true), optional = entry("test.unknown", false);
        EXPECT_STATUS(PMIX_ERR_NOT_SUPPORTED, each.call(unknown.c_array(), 1)) << each.name;
        EXPECT_STATUS(PMIX_SUCCESS, common::plain(each.call(optional.c_array(), 1))) << each.name;
        if (each.known == nullptr) continue;
        InfoList known = entry(each.known, true);
        EXPECT_NE(PMIX_ERR_NOT_SUPPORTED, each.call(known.c_array(), 1)) << each.name;
    }
}

}  // namespace
}  // namespace pmix::test::host_required_test

// SPDX-License-Identifier: BSD-3-Clause
// A job whose processes are OpenPMIx's, on the server of this process: for tests that are its clients themselves.
//
// The thread of the test calls, after the server's init.
#pragma once

#include <gtest/gtest.h>
#include <pmix_server.h>
#include <unistd.h>

#include <string>

#include "common/values/value.h"
#include "support/server_here.h"
#include "support/status.h"

namespace pmix::test {

inline common::InfoList serving_openpmix() {
    common::InfoList infos = ServerHere::named();
    infos.append_flag(PMIX_WIREUP_OPENPMIX, true);
    return infos;
}

// "job", of so many ranks, all of this user's and here. about: what else its host says of it. Returns the address that
// its processes are given.
inline std::string register_served_job(uint32_t ranks, common::InfoList about = {}) {
    EXPECT_STATUS(PMIX_SUCCESS, about.append_number<uint32_t>(PMIX_JOB_SIZE, ranks, PMIX_UINT32));
    pmix_nspace_t name;
    PMIx_Load_nspace(name, "job");
    EXPECT_STATUS(PMIX_SUCCESS, PMIx_server_register_nspace(name, static_cast<int>(ranks), about.c_array(),
                                                            about.size(), nullptr, nullptr));
    for (uint32_t rank = 0; rank < ranks; ++rank) {
        const pmix_proc_t proc = common::ProcId("job", rank).to_c();
        EXPECT_STATUS(PMIX_SUCCESS,
                      PMIx_server_register_client(&proc, ::geteuid(), ::getegid(), nullptr, nullptr, nullptr));
    }
    return ChildEnvironment(common::ProcId("job", 0).to_c()).get("PMIX_SERVER_URI41");
}

}  // namespace pmix::test

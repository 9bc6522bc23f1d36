// SPDX-License-Identifier: BSD-3-Clause
// A process without a server: what tests of refused calls, bad arguments and init share.
//
// The thread of the test calls; g_callbacks counts the callbacks of calls that were refused, of which there must be
// none.
#pragma once

#include <gtest/gtest.h>
#include <pmix.h>
#include <pmix_server.h>
#include <pmix_tool.h>
#include <stdlib.h>
#include <string.h>

#include "support/status.h"

namespace pmix::test {

inline int g_callbacks = 0;  // of calls that were refused: must stay 0

inline void on_op(pmix_status_t, void*) {
    ++g_callbacks;
}
inline void on_value(pmix_status_t, pmix_value_t*, void*) {
    ++g_callbacks;
}
inline void on_lookup(pmix_status_t, pmix_pdata_t*, size_t, void*) {
    ++g_callbacks;
}
inline void on_spawn(pmix_status_t, pmix_nspace_t, void*) {
    ++g_callbacks;
}
inline void on_registered(pmix_status_t, size_t, void*) {
    ++g_callbacks;
}
inline void on_event(size_t, pmix_status_t, const pmix_proc_t*, pmix_info_t*, size_t, pmix_info_t*, size_t,
                     pmix_event_notification_cbfunc_fn_t done, void* cbdata) {
    if (done != nullptr) done(PMIX_EVENT_ACTION_COMPLETE, nullptr, 0, nullptr, nullptr, cbdata);
}

template <class T>
T* garbage() {
    return reinterpret_cast<T*>(0xdead);
}

inline pmix_value_t number(int n) {
    pmix_value_t v;
    memset(&v, 0, sizeof v);
    v.type = PMIX_INT;
    v.data.integer = n;
    return v;
}
inline pmix_info_t info(const char* key, int n = 1) {
    pmix_info_t i;
    memset(&i, 0, sizeof i);
    strncpy(i.key, key, PMIX_MAX_KEYLEN);
    i.value = number(n);
    return i;
}
inline pmix_proc_t proc(const char* nspace, pmix_rank_t rank) {
    pmix_proc_t p;
    memset(&p, 0, sizeof p);
    strncpy(p.nspace, nspace, PMIX_MAX_NSLEN);
    p.rank = rank;
    return p;
}
inline pmix_app_t app(const char* cmd) {
    pmix_app_t a;
    memset(&a, 0, sizeof a);
    a.cmd = const_cast<char*>(cmd);
    a.maxprocs = 1;
    return a;
}
inline void on_infos(pmix_status_t, pmix_info_t*, size_t, void*, pmix_release_cbfunc_t, void*) {
    ++g_callbacks;
}
inline void on_credential(pmix_status_t, pmix_byte_object_t*, pmix_info_t*, size_t, void*) {
    ++g_callbacks;
}
inline void on_validation(pmix_status_t, pmix_info_t*, size_t, void*) {
    ++g_callbacks;
}

class Refused : public ::testing::Test {
  protected:
    void SetUp() override {
        // No server, whatever started this test.
        for (const char* name : {"PMIX_NAMESPACE", "PMIX_RANK", "PMIX_SERVER_URI_WIREUP"}) unsetenv(name);
        g_callbacks = 0;
    }
    void TearDown() override { EXPECT_EQ(g_callbacks, 0); }
};

class Alone : public Refused {
  protected:
    void SetUp() override {
        Refused::SetUp();
        ASSERT_STATUS(PMIX_ERR_UNREACH, PMIx_Init(&self, nullptr, 0));
    }
    void TearDown() override {
        EXPECT_STATUS(PMIX_SUCCESS, PMIx_Finalize(nullptr, 0));
        Refused::TearDown();
    }
    pmix_status_t get(const pmix_proc_t* p, const char* key, const pmix_info_t* infos = nullptr, size_t n = 0) {
        pmix_value_t* v = garbage<pmix_value_t>();
        const pmix_status_t rc = PMIx_Get(p, key, infos, n, &v);
        if (rc == PMIX_SUCCESS) {
            PMIx_Value_free(v, 1);
        } else {
            EXPECT_EQ(v, nullptr);
        }
        return rc;
    }
    pmix_proc_t self;
};

}  // namespace pmix::test

// SPDX-License-Identifier: BSD-3-Clause
// A server in this process behind the public API, and what tests need of it.
//
// The library has its own thread here, which makes all callbacks.
#pragma once

#include <gtest/gtest.h>
#include <pmix.h>
#include <pmix_server.h>
#include <unistd.h>

#include <chrono>
#include <cstring>
#include <future>
#include <string>

#include "common/base/ids.h"
#include "common/values/value.h"
#include "support/status.h"

namespace pmix::test {

using common::InfoList;
using common::ProcId;

// A server in this process until the end of the scope.
class ServerHere {
  public:
    explicit ServerHere(pmix_server_module_t* module = nullptr, InfoList infos = named()) {
        status = PMIx_server_init(module, infos.c_array(), infos.size());
        EXPECT_STATUS(PMIX_SUCCESS, status);
    }
    ~ServerHere() {
        if (status == PMIX_SUCCESS) {
            EXPECT_STATUS(PMIX_SUCCESS, PMIx_server_finalize());
        }
    }
    ServerHere(const ServerHere&) = delete;
    ServerHere& operator=(const ServerHere&) = delete;

    static InfoList named() {
        InfoList infos;
        infos.append_string(PMIX_SERVER_NSPACE, "here");
        pmix_rank_t rank = 3;
        infos.append(PMIX_SERVER_RANK, &rank, PMIX_PROC_RANK);
        return infos;
    }
    static pmix_proc_t self() { return ProcId("here", 3).to_c(); }

    pmix_status_t status;
};

struct Text {
    explicit Text(const char* text) {
        PMIx_Value_construct(&value);
        value.type = PMIX_STRING;
        value.data.string = ::strdup(text);
    }
    ~Text() { PMIx_Value_destruct(&value); }
    Text(const Text&) = delete;
    Text& operator=(const Text&) = delete;
    pmix_value_t* get() { return &value; }
    pmix_value_t value;
};

inline std::string text_of(const pmix_proc_t& proc, const char* key) {
    pmix_value_t* value = nullptr;
    pmix_status_t rc = PMIx_Get(&proc, key, nullptr, 0, &value);
    if (rc != PMIX_SUCCESS) return PMIx_Error_string(rc);
    std::string text = value->type == PMIX_STRING ? value->data.string : "not a string";
    PMIx_Value_free(value, 1);
    return text;
}

// The status that a callback brought.
struct Answer {
    std::promise<pmix_status_t> promise;
    pmix_status_t wait() {
        auto f = promise.get_future();
        return f.wait_for(std::chrono::seconds(60)) == std::future_status::ready ? f.get() : PMIX_ERR_TIMEOUT;
    }
    static void done(pmix_status_t status, void* cbdata) { static_cast<Answer*>(cbdata)->promise.set_value(status); }
};

// What PMIx_server_setup_fork gives a child; "" for a variable that is not there.
class ChildEnvironment {
  public:
    explicit ChildEnvironment(const pmix_proc_t& proc) { status = PMIx_server_setup_fork(&proc, &env_); }
    ~ChildEnvironment() { PMIx_Argv_free(env_); }
    ChildEnvironment(const ChildEnvironment&) = delete;
    ChildEnvironment& operator=(const ChildEnvironment&) = delete;
    std::string get(const std::string& name) const {
        for (char** e = env_; e != nullptr && *e != nullptr; ++e)
            if (std::strncmp(*e, (name + "=").c_str(), name.size() + 1) == 0) return *e + name.size() + 1;
        return "";
    }
    pmix_status_t status;

  private:
    char** env_ = nullptr;
};

inline void register_job(const char* nspace) {
    pmix_nspace_t name;
    PMIx_Load_nspace(name, nspace);
    ASSERT_STATUS(PMIX_SUCCESS, PMIx_server_register_nspace(name, 1, nullptr, 0, nullptr, nullptr));
    pmix_proc_t proc = ProcId(nspace, 0).to_c();
    ASSERT_STATUS(PMIX_SUCCESS,
                  PMIx_server_register_client(&proc, ::geteuid(), ::getegid(), nullptr, nullptr, nullptr));
}

}  // namespace pmix::test

// SPDX-License-Identifier: BSD-3-Clause
// PMIx_Query_info through the public API, in a process that is its own server: the fixture of the tests of queries.
//
// The library has its own thread here; the host's upcall comes from there.
#pragma once

#include <gtest/gtest.h>
#include <pmix.h>
#include <pmix_server.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "common/base/ids.h"
#include "common/values/array_value.h"
#include "common/values/value.h"
#include "support/info_lists.h"
#include "support/own_module.h"
#include "support/status.h"

namespace pmix::test {

using common::InfoList;
using common::InfoView;
using common::ProcId;

// The host's part: answers keys that start with "host.", remembers what it was asked.
struct QueryHost {
    std::atomic<int> upcalls{0};
    std::vector<std::string> keys;
    InfoList qualifiers;
    pmix_proc_t requester{};
    bool table = false;    // answers for a table of processes, with one row, of process 77
    bool grouped = false;  // puts its answers into one group, where the Standard has one for each query
    std::function<InfoList(const pmix_query_t* queries, size_t n)> answers_of;  // instead of all this
    pmix_status_t verdict = PMIX_SUCCESS;
    std::string text = "from the host";

    static QueryHost*& current() {
        static QueryHost* host = nullptr;
        return host;
    }
    static pmix_status_t query(pmix_proc_t* proc, pmix_query_t* queries, size_t n, pmix_info_cbfunc_t done,
                               void* cbdata) {
        QueryHost& h = *current();
        ++h.upcalls;
        h.requester = *proc;
        InfoList answers;
        for (size_t i = 0; i < n; ++i) {
            h.qualifiers.append_all(queries[i].qualifiers, queries[i].nqual);
            for (char** key = queries[i].keys; *key != nullptr; ++key) {
                h.keys.emplace_back(*key);
                if (std::strncmp(*key, "host.", 5) == 0) answers.append_string(*key, h.text);
                if (!h.table || std::strcmp(*key, PMIX_QUERY_PROC_TABLE) != 0) continue;
                pmix_proc_info_t row{};
                row.pid = 77;
                pmix_data_array_t array{PMIX_PROC_INFO, 1, &row};
                answers.append(PMIX_QUERY_PROC_TABLE, &array, PMIX_DATA_ARRAY);
            }
        }
        if (h.verdict != PMIX_SUCCESS) return h.verdict;
        if (h.answers_of) {
            answers = h.answers_of(queries, n);
        } else if (h.grouped) {
            InfoList group;
            group.append(PMIX_QUERY_RESULTS, std::move(common::array_value(std::move(answers))).value());
            answers = std::move(group);
        }
        done(answers.empty() ? PMIX_ERR_NOT_FOUND : PMIX_SUCCESS, answers.c_array(), answers.size(), cbdata, nullptr,
             nullptr);
        return PMIX_SUCCESS;
    }
};

class QueryTest : public ::testing::Test {
  protected:
    void start(bool host_answers = true, bool strict = false) {
        QueryHost::current() = &host;
        pmix_server_module_t module{};
        if (host_answers) module.query = &QueryHost::query;
        InfoList infos;
        infos.append_string(PMIX_SERVER_NSPACE, "here");
        pmix_rank_t rank = 3;
        infos.append(PMIX_SERVER_RANK, &rank, PMIX_PROC_RANK);
        infos.append_string(PMIX_HOSTNAME, "n0");
        if (strict) infos.append_flag(PMIX_WIREUP_STRICT, true);
        ASSERT_STATUS(PMIX_SUCCESS, PMIx_server_init(&module, infos.c_array(), infos.size()));
        ask_own_module();
        running = true;
    }
    // A job of two ranks here, or of two nodes with one rank each.
    void job(const char* name, bool two_nodes = false) {
        InfoList infos;
        infos.append_string(PMIX_NODE_MAP, two_nodes ? "n0,n1" : "n0");
        infos.append_string(PMIX_PROC_MAP, two_nodes ? "0;1" : "0,1");
        infos.append_number<uint32_t>(PMIX_JOB_SIZE, 2, PMIX_UINT32);
        infos.append_string(PMIX_CMD_LINE, "./a.out -v");
        pmix_nspace_t nspace;
        PMIx_Load_nspace(nspace, name);
        const int local = two_nodes ? 1 : 2;
        ASSERT_STATUS(PMIX_SUCCESS,
                      PMIx_server_register_nspace(nspace, local, infos.c_array(), infos.size(), nullptr, nullptr));
        for (int r = 0; r < local; ++r) {
            const pmix_proc_t proc = ProcId(name, static_cast<uint32_t>(r)).to_c();
            ASSERT_STATUS(PMIX_SUCCESS,
                          PMIx_server_register_client(&proc, ::geteuid(), ::getegid(), nullptr, nullptr, nullptr));
        }
    }
    void TearDown() override {
        if (running) {
            EXPECT_STATUS(PMIX_SUCCESS, PMIx_server_finalize());
        }
        QueryHost::current() = nullptr;
    }

    QueryHost host;
    bool running = false;
};

// Queries in C's form, for as long as the object exists.
struct Ask {
    explicit Ask(std::vector<std::string> given, InfoList narrowed = {})
        : keys(std::move(given)), qualifiers(std::move(narrowed)) {
        for (std::string& k : keys) pointers.push_back(k.data());
        pointers.push_back(nullptr);
        query.keys = pointers.data();
        query.qualifiers = qualifiers.c_array();
        query.nqual = qualifiers.size();
        status = PMIx_Query_info(&query, 1, &results, &n);
    }
    ~Ask() {
        if (results != nullptr) PMIx_Info_free(results, n);
    }
    Ask(const Ask&) = delete;
    Ask& operator=(const Ask&) = delete;

    const pmix_value_t* value(const char* key) const {
        const pmix_info_t* info = InfoView(results, n).find(key);
        return info == nullptr ? nullptr : &info->value;
    }
    std::string text(const char* key) const {
        const pmix_value_t* v = value(key);
        return v == nullptr || v->type != PMIX_STRING ? "?" : v->data.string;
    }

    std::vector<std::string> keys;
    std::vector<char*> pointers;
    InfoList qualifiers;
    pmix_query_t query{};
    pmix_info_t* results = reinterpret_cast<pmix_info_t*>(16);
    size_t n = 99;
    pmix_status_t status;
};

inline InfoList of_job(const char* nspace) {
    InfoList infos;
    infos.append_string(PMIX_NSPACE, nspace);
    return infos;
}

}  // namespace pmix::test

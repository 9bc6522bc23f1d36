// SPDX-License-Identifier: BSD-3-Clause
// PMIx_server_collect_job_info: what a host hands to the servers of other nodes, read back with the interface's own
// calls.
#include <gtest/gtest.h>
#include <pmix.h>
#include <pmix_server.h>

#include <map>
#include <string>
#include <vector>

#include "support/server_here.h"
#include "support/status.h"

namespace pmix::test::job_info_test {
namespace {

// The jobs of a buffer, by name: their keys and what stands under them.
using Jobs = std::map<std::string, std::map<std::string, std::string>>;

std::string shown(const pmix_value_t& value) {
    if (value.type == PMIX_STRING) return value.data.string;
    return value.type == PMIX_UINT32 ? std::to_string(value.data.uint32) : PMIx_Data_type_string(value.type);
}

Jobs read(pmix_data_buffer_t* buffer) {
    Jobs jobs;
    pmix_byte_object_t object = PMIX_BYTE_OBJECT_STATIC_INIT;
    for (int32_t n = 1; PMIx_Data_unpack(nullptr, buffer, &object, &n, PMIX_BYTE_OBJECT) == PMIX_SUCCESS; n = 1) {
        pmix_data_buffer_t inner = PMIX_DATA_BUFFER_STATIC_INIT;
        EXPECT_STATUS(PMIX_SUCCESS, PMIx_Data_load(&inner, &object));
        char* name = nullptr;
        EXPECT_STATUS(PMIX_SUCCESS, PMIx_Data_unpack(nullptr, &inner, &name, &(n = 1), PMIX_STRING));
        auto& job = jobs[name == nullptr ? "(null)" : name];
        free(name);
        char* key = nullptr;
        while (PMIx_Data_unpack(nullptr, &inner, &key, &(n = 1), PMIX_STRING) == PMIX_SUCCESS) {
            pmix_value_t value = PMIX_VALUE_STATIC_INIT;
            EXPECT_STATUS(PMIX_SUCCESS, PMIx_Data_unpack(nullptr, &inner, &value, &(n = 1), PMIX_VALUE)) << key;
            job[key] = shown(value);
            PMIx_Value_destruct(&value);
            free(key);
        }
        PMIx_Data_buffer_destruct(&inner);
    }
    return jobs;
}

void add_job(const char* name, uint32_t size) {
    InfoList infos;
    infos.append_string(PMIX_JOBID, std::string("id of ") + name);
    infos.append_number(PMIX_MAX_PROCS, size, PMIX_UINT32);
    infos.append_string(PMIX_NODE_MAP, "a,b");
    infos.append_string(PMIX_PROC_MAP, "0,1;2");
    infos.append_string("site.word", "warp");
    pmix_nspace_t nspace;
    PMIx_Load_nspace(nspace, name);
    ASSERT_STATUS(PMIX_SUCCESS,
                  PMIx_server_register_nspace(nspace, 2, infos.c_array(), infos.size(), nullptr, nullptr));
}

TEST(JobInfo, EachJobOnceWithWhatTheHostSaid) {
    ServerHere server;
    add_job("one", 3);
    add_job("two", 7);
    pmix_proc_t procs[5];
    const char* names[] = {"two", "unknown", "one", "two", "one"};
    for (size_t i = 0; i < 5; ++i) procs[i] = ProcId(names[i], static_cast<uint32_t>(i)).to_c();
    pmix_data_buffer_t buffer = PMIX_DATA_BUFFER_STATIC_INIT;
    ASSERT_STATUS(PMIX_SUCCESS, PMIx_server_collect_job_info(procs, 5, &buffer));
    Jobs jobs = read(&buffer);
    PMIx_Data_buffer_destruct(&buffer);
    ASSERT_EQ(2u, jobs.size()) << "each once, and not those that are unknown";
    EXPECT_EQ("id of one", jobs["one"][PMIX_JOBID]);
    EXPECT_EQ("id of two", jobs["two"][PMIX_JOBID]);
    EXPECT_EQ("7", jobs["two"][PMIX_MAX_PROCS]);
    EXPECT_EQ("warp", jobs["one"]["site.word"]);
    EXPECT_EQ("a,b", jobs["one"][PMIX_NODE_MAP]);
    EXPECT_EQ("0,1;2", jobs["one"][PMIX_PROC_MAP]);
    EXPECT_EQ("3", jobs["one"][PMIX_JOB_SIZE]);
}

// A value that has no form in the packed buffer is left out, and the others of its job are not.
TEST(JobInfo, AValueWithoutAForm_IsLeftOut) {
    ServerHere server;
    pmix_info_t infos[3] = {};
    const char* keys[] = {"site.first", "site.nobody", "site.last"};
    for (int i = 0; i < 3; ++i) PMIx_Load_key(infos[i].key, keys[i]);
    char text[] = "there";
    for (int i : {0, 2}) {
        infos[i].value.type = PMIX_STRING;
        infos[i].value.data.string = text;
    }
    infos[1].value.type = PMIX_PROC;  // without one
    pmix_nspace_t nspace;
    PMIx_Load_nspace(nspace, "one");
    ASSERT_STATUS(PMIX_SUCCESS, PMIx_server_register_nspace(nspace, 1, infos, 3, nullptr, nullptr));
    const pmix_proc_t proc = ProcId("one", 0).to_c();
    pmix_data_buffer_t buffer = PMIX_DATA_BUFFER_STATIC_INIT;
    ASSERT_STATUS(PMIX_SUCCESS, PMIx_server_collect_job_info(const_cast<pmix_proc_t*>(&proc), 1, &buffer));
    Jobs jobs = read(&buffer);
    PMIx_Data_buffer_destruct(&buffer);
    EXPECT_EQ("there", jobs["one"]["site.first"]);
    EXPECT_EQ("there", jobs["one"]["site.last"]);
    EXPECT_EQ(0u, jobs["one"].count("site.nobody"));
}

TEST(JobInfo, WhatCannotBe) {
    pmix_proc_t proc = ProcId("unknown", 0).to_c();
    pmix_data_buffer_t buffer = PMIX_DATA_BUFFER_STATIC_INIT;
    EXPECT_STATUS(PMIX_ERR_INIT, PMIx_server_collect_job_info(&proc, 1, &buffer));
    ServerHere server;
    EXPECT_STATUS(PMIX_ERR_NOT_FOUND, PMIx_server_collect_job_info(&proc, 1, &buffer));
    EXPECT_STATUS(PMIX_ERR_BAD_PARAM, PMIx_server_collect_job_info(&proc, 0, &buffer));
    EXPECT_STATUS(PMIX_ERR_BAD_PARAM, PMIx_server_collect_job_info(nullptr, 1, &buffer));
    EXPECT_STATUS(PMIX_ERR_BAD_PARAM, PMIx_server_collect_job_info(&proc, 1, nullptr));
    std::memset(proc.nspace, 'x', sizeof proc.nspace);
    EXPECT_STATUS(PMIX_ERR_BAD_PARAM, PMIx_server_collect_job_info(&proc, 1, &buffer));
    EXPECT_EQ(nullptr, buffer.base_ptr);
}

}  // namespace
}  // namespace pmix::test::job_info_test

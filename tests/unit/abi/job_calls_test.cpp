// SPDX-License-Identifier: BSD-3-Clause
// What a host calls around a job, through the public functions, in this process: set-up of an application and its
// nodes, the environment of a child, inventory, and the end of a job.
#include <gtest/gtest.h>
#include <pmix.h>
#include <pmix_server.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "support/server_here.h"
#include "support/status.h"

namespace job_calls_test {

using namespace pmix::test;

namespace {

struct SetupAnswer {
    Answer answer;
    pmix_info_t* infos = nullptr;
    size_t ninfos = 99;
    pmix_op_cbfunc_t release = nullptr;
    void* release_data = nullptr;
    static void done(pmix_status_t status, pmix_info_t infos[], size_t n, void* mine, pmix_op_cbfunc_t release,
                     void* release_data) {
        auto* s = static_cast<SetupAnswer*>(mine);
        s->infos = infos;
        s->ninfos = n;
        s->release = release;
        s->release_data = release_data;
        s->answer.promise.set_value(status);
    }
};

}  // namespace

// rows: V14
// proves: PMIx_server_setup_application PMIX_SETUP_APP_ENVARS PMIX_SETUP_APP_NONENVARS PMIX_SETUP_APP_ALL
// proves: PMIx_server_setup_application PMIX_PROGRAMMING_MODEL
TEST(JobCallsTest, SetupApplicationHarvestsWhatIsAskedFor) {
    ServerHere server;
    pmix_nspace_t job;
    PMIx_Load_nspace(job, "job");
    const std::pair<const char*, const char*> here[] = {
        {"PMIX_MCA_test_harvest", "1"}, {"OMPI_MCA_test_harvest", "a=b:c"}, {"OMPI_COMM_WORLD_RANK", "7"},
        {"CUDA_test_harvest", "1"},     {"PSM2_test_harvest", "1"},         {"CUDA_VISIBLE_DEVICES", "7"},
        {"UCC_test_harvest", "1"},      {"HCOLL_test_harvest", "1"},        {"SHARP_test_harvest", "1"},
        {"PMIX_RANK_OF_NOBODY", "7"}};
    for (const auto& [name, value] : here) ASSERT_EQ(0, ::setenv(name, value, 1));
    struct Asked {
        const char* option;
        const char* model;
        bool pmix, ompi, told;
    };
    const Asked cases[] = {{nullptr, nullptr, false, false, false},
                           {nullptr, "ompi", false, false, false},
                           {PMIX_SETUP_APP_ENVARS, nullptr, true, true, false},
                           {PMIX_SETUP_APP_ENVARS, "Open MPI", true, true, false},
                           {PMIX_SETUP_APP_ENVARS, "shmem", true, false, false},
                           {PMIX_SETUP_APP_NONENVARS, "ompi", false, false, true},
                           {PMIX_SETUP_APP_ALL, "ompi", true, true, true}};
    for (const Asked& c : cases) {
        InfoList options;
        if (c.option != nullptr) options.append_flag(c.option, true);
        if (c.model != nullptr) options.append_string(PMIX_PROGRAMMING_MODEL, c.model);
        SetupAnswer s;
        ASSERT_STATUS(PMIX_SUCCESS,
                      PMIx_server_setup_application(job, options.c_array(), options.size(), &SetupAnswer::done, &s));
        ASSERT_STATUS(PMIX_SUCCESS, s.answer.wait());
        bool pmix = false, ompi = false, told = false;
        int devices = 0;
        for (size_t i = 0; i < s.ninfos; ++i) {
            const pmix_info_t& info = s.infos[i];
            if (PMIx_Check_key(info.key, PMIX_PROGRAMMING_MODEL)) {
                told = true;
                continue;
            }
            ASSERT_EQ(PMIX_ENVAR, info.value.type);
            const std::string name = info.value.data.envar.envar;
            EXPECT_NE("CUDA_VISIBLE_DEVICES", name) << "of this node's devices";
            for (const char* one : {"CUDA_", "PSM2_", "UCC_", "HCOLL_", "SHARP_"})
                if (name == std::string(one) + "test_harvest") ++devices;
            if (!name.starts_with("PMIX_MCA_") && !name.starts_with("OMPI_")) {
                EXPECT_STREQ(PMIX_ADD_ENVAR, info.key) << name << ": only where there is none";
                continue;
            }
            ASSERT_STREQ(PMIX_SET_ENVAR, info.key);
            EXPECT_NE("OMPI_COMM_WORLD_RANK", name) << "another process's";
            pmix = pmix || name == "PMIX_MCA_test_harvest";
            if (name == "OMPI_MCA_test_harvest") {
                ompi = true;
                EXPECT_STREQ("a=b:c", info.value.data.envar.value);
            }
        }
        EXPECT_EQ(c.pmix, pmix) << c.option;
        EXPECT_EQ(c.ompi, ompi) << c.option;
        EXPECT_EQ(c.told, told) << c.option;
        EXPECT_EQ(c.pmix ? 5 : 0, devices) << c.option;
        ASSERT_NE(nullptr, s.release) << "the host calls it without a look";
        s.release(PMIX_SUCCESS, s.release_data);
    }
    for (const auto& [name, value] : here) ::unsetenv(name);
    SetupAnswer s;
    EXPECT_STATUS(PMIX_ERR_BAD_PARAM, PMIx_server_setup_application(job, nullptr, 0, nullptr, nullptr));
    EXPECT_STATUS(PMIX_ERR_BAD_PARAM, PMIx_server_setup_application(job, nullptr, 1, &SetupAnswer::done, &s));
    pmix_nspace_t nameless = {};
    EXPECT_STATUS(PMIX_ERR_BAD_PARAM, PMIx_server_setup_application(nameless, nullptr, 0, &SetupAnswer::done, &s));
}

// The requester of the job sent its own variables along; those of this host are not the right ones. rows: V14
// proves: PMIx_server_setup_application PMIX_ENVARS_HARVESTED
TEST(JobCallsTest, WhatWasHarvestedIsNotHarvestedAgain) {
    ServerHere server;
    pmix_nspace_t job;
    PMIx_Load_nspace(job, "job");
    ASSERT_EQ(0, ::setenv("OMPI_MCA_test_harvest", "of the host", 1));
    for (bool harvested : {false, true}) {
        InfoList options;
        options.append_flag(PMIX_SETUP_APP_ALL, true);
        options.append_flag(PMIX_ENVARS_HARVESTED, harvested);
        options.append_string(PMIX_PROGRAMMING_MODEL, "ompi");
        SetupAnswer s;
        ASSERT_STATUS(PMIX_SUCCESS,
                      PMIx_server_setup_application(job, options.c_array(), options.size(), &SetupAnswer::done, &s));
        ASSERT_STATUS(PMIX_SUCCESS, s.answer.wait());
        size_t variables = 0, others = 0;
        for (size_t i = 0; i < s.ninfos; ++i) ++(s.infos[i].value.type == PMIX_ENVAR ? variables : others);
        EXPECT_EQ(harvested, variables == 0);
        EXPECT_EQ(1u, others) << "the model is told all the same";
        s.release(PMIX_SUCCESS, s.release_data);
    }
    ::unsetenv("OMPI_MCA_test_harvest");
}

// From the launcher to a child on another node, by pack and unpack as a host would carry it.
// rows: V12 V14 V15
// proves: PMIx_server_setup_application PMIX_PERSONALITY
// proves: PMIx_server_setup_local_support PMIX_PERSONALITY
TEST(JobCallsTest, WhatIsHarvestedReachesTheChild) {
    ServerHere server;
    pmix_nspace_t job;
    PMIx_Load_nspace(job, "job");
    ASSERT_EQ(0, ::setenv("OMPI_MCA_test_harvest", "first", 1));
    InfoList options;
    options.append_flag(PMIX_SETUP_APP_ALL, true);
    options.append_string(PMIX_PERSONALITY, "prrte,ompi");
    SetupAnswer s;
    ASSERT_STATUS(PMIX_SUCCESS,
                  PMIx_server_setup_application(job, options.c_array(), options.size(), &SetupAnswer::done, &s));
    ASSERT_STATUS(PMIX_SUCCESS, s.answer.wait());
    ::unsetenv("OMPI_MCA_test_harvest");
    pmix_data_buffer_t buffer = PMIX_DATA_BUFFER_STATIC_INIT;
    ASSERT_STATUS(PMIX_SUCCESS, PMIx_Data_pack(nullptr, &buffer, s.infos, static_cast<int32_t>(s.ninfos), PMIX_INFO));
    std::vector<pmix_info_t> unpacked(s.ninfos);
    auto count = static_cast<int32_t>(s.ninfos);
    ASSERT_STATUS(PMIX_SUCCESS, PMIx_Data_unpack(nullptr, &buffer, unpacked.data(), &count, PMIX_INFO));
    s.release(PMIX_SUCCESS, s.release_data);
    PMIx_Data_buffer_destruct(&buffer);

    InfoList facts;
    facts.append_string(PMIX_NODE_MAP, "n0,n1");
    facts.append_string(PMIX_PROC_MAP, "0,1;2");
    facts.append_string(PMIX_HOSTNAME, "n0");
    facts.append_number<uint32_t>(PMIX_JOB_SIZE, 3, PMIX_UINT32);
    facts.append_number<uint32_t>(PMIX_UNIV_SIZE, 8, PMIX_UINT32);
    ASSERT_STATUS(PMIX_SUCCESS, PMIx_server_register_nspace(job, 2, facts.c_array(), facts.size(), nullptr, nullptr));
    const pmix_proc_t proc = ProcId("job", 1).to_c();
    ASSERT_STATUS(PMIX_SUCCESS,
                  PMIx_server_register_client(&proc, ::geteuid(), ::getegid(), nullptr, nullptr, nullptr));
    EXPECT_EQ("", ChildEnvironment(proc).get("OMPI_COMM_WORLD_RANK")) << "nobody spoke of Open MPI yet";
    ASSERT_STATUS(PMIX_OPERATION_SUCCEEDED,
                  PMIx_server_setup_local_support(job, unpacked.data(), unpacked.size(), nullptr, nullptr));
    for (pmix_info_t& info : unpacked) PMIx_Info_destruct(&info);
    const ChildEnvironment child(proc);
    EXPECT_EQ("first", child.get("OMPI_MCA_test_harvest"));
    EXPECT_EQ("1", child.get("OMPI_COMM_WORLD_RANK"));
    EXPECT_EQ("3", child.get("OMPI_COMM_WORLD_SIZE"));
    EXPECT_EQ("1", child.get("OMPI_COMM_WORLD_LOCAL_RANK"));
    EXPECT_EQ("8", child.get("OMPI_UNIVERSE_SIZE"));
}

// Each directive once, in the job's own data and from setup_application, on an environment that has something already.
// rows: V12 V15
// proves: PMIx_server_register_nspace PMIX_SET_ENVAR PMIX_ADD_ENVAR PMIX_UNSET_ENVAR
// proves: PMIx_server_register_nspace PMIX_PREPEND_ENVAR PMIX_APPEND_ENVAR PMIX_FIRST_ENVAR
// proves: PMIx_server_setup_local_support PMIX_SET_ENVAR PMIX_ADD_ENVAR PMIX_UNSET_ENVAR
// proves: PMIx_server_setup_local_support PMIX_PREPEND_ENVAR PMIX_APPEND_ENVAR PMIX_FIRST_ENVAR
TEST(JobCallsTest, EnvironmentDirectivesOfAJob) {
    for (bool later : {false, true}) {
        ServerHere server;
        pmix_nspace_t job;
        PMIx_Load_nspace(job, "job");
        InfoList infos;
        const auto direct = [&](const char* key, const char* name, const char* value) {
            std::string n(name), v(value);
            const pmix_envar_t variable{n.data(), v.data(), ':'};
            EXPECT_STATUS(PMIX_SUCCESS, infos.append(key, &variable, PMIX_ENVAR));
        };
        direct(PMIX_SET_ENVAR, "SET", "new");
        direct(PMIX_ADD_ENVAR, "THERE", "new");
        direct(PMIX_ADD_ENVAR, "NOT_THERE", "new");
        direct(PMIX_PREPEND_ENVAR, "PRE", "new");
        direct(PMIX_APPEND_ENVAR, "POST", "new");
        direct(PMIX_FIRST_ENVAR, "FIRST", "b");
        infos.append_string(PMIX_UNSET_ENVAR, "GONE");
        direct(PMIX_UNSET_ENVAR, "GONE_TOO", "whatever");
        ASSERT_STATUS(PMIX_SUCCESS,
                      PMIx_server_register_nspace(job, 1, infos.c_array(), later ? 0 : infos.size(), nullptr, nullptr));
        if (later) {
            ASSERT_STATUS(PMIX_OPERATION_SUCCEEDED,
                          PMIx_server_setup_local_support(job, infos.c_array(), infos.size(), nullptr, nullptr));
        }
        const pmix_proc_t proc = ProcId("job", 0).to_c();
        ASSERT_STATUS(PMIX_SUCCESS,
                      PMIx_server_register_client(&proc, ::geteuid(), ::getegid(), nullptr, nullptr, nullptr));
        char** env = nullptr;
        for (const char* entry : {"SET=old", "THERE=old", "PRE=old", "POST=old", "FIRST=a:b:c", "GONE=1", "GONE_TOO=1"})
            ASSERT_STATUS(PMIX_SUCCESS, PMIx_Argv_append_nosize(&env, entry));
        ASSERT_STATUS(PMIX_SUCCESS, PMIx_server_setup_fork(&proc, &env));
        const auto value = [&](const std::string& name) -> std::string {
            for (char** e = env; *e != nullptr; ++e)
                if (std::strncmp(*e, (name + "=").c_str(), name.size() + 1) == 0) return *e + name.size() + 1;
            return "(none)";
        };
        EXPECT_EQ("new", value("SET"));
        EXPECT_EQ("old", value("THERE"));
        EXPECT_EQ("new", value("NOT_THERE"));
        EXPECT_EQ("new:old", value("PRE"));
        EXPECT_EQ("old:new", value("POST"));
        EXPECT_EQ("b:a:c", value("FIRST"));
        EXPECT_EQ("(none)", value("GONE"));
        EXPECT_EQ("(none)", value("GONE_TOO"));
        PMIx_Argv_free(env);
    }
}

// rows: V12 V15
TEST(JobCallsTest, NamesThatNoVariableCanHaveAreRefused) {
    ServerHere server;
    register_job("job");
    pmix_nspace_t job, other;
    PMIx_Load_nspace(job, "job");
    PMIx_Load_nspace(other, "other");
    char good[] = "GOOD", nothing[] = "", assigned[] = "A=B", value[] = "v";
    struct Case {
        const char* key;
        char* name;
        bool name_alone;
    };
    for (const Case& c : {Case{PMIX_SET_ENVAR, nothing, false}, Case{PMIX_SET_ENVAR, nullptr, false},
                          Case{PMIX_ADD_ENVAR, assigned, false}, Case{PMIX_PREPEND_ENVAR, nothing, false},
                          Case{PMIX_UNSET_ENVAR, nothing, true}, Case{PMIX_UNSET_ENVAR, assigned, false},
                          Case{PMIX_SET_ENVAR, good, true}}) {
        InfoList infos;
        pmix_envar_t variable{good, value, ':'};
        infos.append(PMIX_SET_ENVAR, &variable, PMIX_ENVAR);
        variable.envar = c.name;
        if (c.name_alone) {
            infos.append_string(c.key, c.name);
        } else {
            infos.append(c.key, &variable, PMIX_ENVAR);
        }
        EXPECT_STATUS(PMIX_ERR_BAD_PARAM,
                      PMIx_server_setup_local_support(job, infos.c_array(), infos.size(), nullptr, nullptr))
            << c.key;
        EXPECT_EQ("", ChildEnvironment(ProcId("job", 0).to_c()).get("GOOD")) << "nothing of it was done";
        EXPECT_STATUS(PMIX_ERR_BAD_PARAM,
                      PMIx_server_register_nspace(other, 1, infos.c_array(), infos.size(), nullptr, nullptr))
            << c.key;
    }
}

// Every key by which Open MPI may be named, in what comes from setup_application.
// rows: V14 V15
// proves: PMIx_server_setup_application PMIX_MODEL_LIBRARY_NAME PMIX_MODEL_LIBRARY_VERSION PMIX_PERSONALITY
// proves: PMIx_server_setup_local_support PMIX_PROGRAMMING_MODEL PMIX_MODEL_LIBRARY_NAME PMIX_PERSONALITY
TEST(JobCallsTest, TheModelUnderEachOfItsKeys) {
    for (const char* key : {PMIX_PROGRAMMING_MODEL, PMIX_MODEL_LIBRARY_NAME, PMIX_PERSONALITY}) {
        ServerHere server;
        register_job("job");
        InfoList options;
        options.append_flag(PMIX_SETUP_APP_NONENVARS, true);
        options.append_string(key, "Open MPI");
        options.append_string(PMIX_MODEL_LIBRARY_VERSION, "5.0");
        pmix_nspace_t job;
        PMIx_Load_nspace(job, "job");
        SetupAnswer s;
        ASSERT_STATUS(PMIX_SUCCESS,
                      PMIx_server_setup_application(job, options.c_array(), options.size(), &SetupAnswer::done, &s));
        ASSERT_STATUS(PMIX_SUCCESS, s.answer.wait());
        ASSERT_EQ(2u, s.ninfos) << key;
        EXPECT_STREQ(key, s.infos[0].key);
        EXPECT_STREQ("5.0", s.infos[1].value.data.string);
        const pmix_proc_t proc = ProcId("job", 0).to_c();
        EXPECT_EQ("", ChildEnvironment(proc).get("OMPI_COMM_WORLD_RANK"));
        ASSERT_STATUS(PMIX_OPERATION_SUCCEEDED, PMIx_server_setup_local_support(job, s.infos, 1, nullptr, nullptr));
        EXPECT_EQ("0", ChildEnvironment(proc).get("OMPI_COMM_WORLD_RANK")) << key;
        s.release(PMIX_SUCCESS, s.release_data);
    }
}

// rows: V15
TEST(JobCallsTest, SetupLocalSupportReachesTheChildrensEnvironment) {
    ServerHere server;
    pmix_nspace_t job;
    PMIx_Load_nspace(job, "job");
    char early_name[] = "WIREUP_TEST_EARLY", early_value[] = "before";
    pmix_envar_t early{early_name, early_value, ':'};
    InfoList before;
    before.append(PMIX_SET_ENVAR, &early, PMIX_ENVAR);
    // What comes before the registration waits for it, and goes with it.
    for (int round = 0; round < 2; ++round) {
        if (round == 0) {
            EXPECT_STATUS(PMIX_OPERATION_SUCCEEDED,
                          PMIx_server_setup_local_support(job, before.c_array(), before.size(), nullptr, nullptr));
        }
        register_job("job");
        EXPECT_EQ(round == 0 ? "before" : "", ChildEnvironment(ProcId("job", 0).to_c()).get(early_name)) << round;
        PMIx_server_deregister_nspace(job, nullptr, nullptr);
    }
    register_job("job");
    pmix_proc_t proc = ProcId("job", 0).to_c();
    // But not without end: the first of too many is forgotten.
    const auto name_of = [](size_t number) { return "other" + std::to_string(number); };
    constexpr size_t kMost = 256;
    for (size_t i = 0; i <= kMost; ++i) {
        pmix_nspace_t other;
        PMIx_Load_nspace(other, name_of(i).c_str());
        ASSERT_STATUS(PMIX_OPERATION_SUCCEEDED,
                      PMIx_server_setup_local_support(other, before.c_array(), before.size(), nullptr, nullptr));
    }
    for (size_t i : {size_t{0}, size_t{1}, kMost}) {
        register_job(name_of(i).c_str());
        EXPECT_EQ(i == 0 ? "" : "before", ChildEnvironment(ProcId(name_of(i), 0).to_c()).get(early_name)) << i;
    }

    // What setup_application brought is taken; without a option it is nothing.
    SetupAnswer set_up;
    ASSERT_STATUS(PMIX_SUCCESS, PMIx_server_setup_application(job, nullptr, 0, &SetupAnswer::done, &set_up));
    ASSERT_STATUS(PMIX_SUCCESS, set_up.answer.wait());
    EXPECT_STATUS(PMIX_OPERATION_SUCCEEDED,
                  PMIx_server_setup_local_support(job, set_up.infos, set_up.ninfos, nullptr, nullptr));
    set_up.release(PMIX_SUCCESS, set_up.release_data);

    char name[] = "WIREUP_TEST_VARIABLE", first[] = "one", second[] = "two";
    pmix_envar_t variable{name, first, ':'};
    InfoList infos;
    infos.append_string("test.nobody.knows", "x");
    infos.append(PMIX_SET_ENVAR, &variable, PMIX_ENVAR);
    EXPECT_STATUS(PMIX_OPERATION_SUCCEEDED,
                  PMIx_server_setup_local_support(job, infos.c_array(), infos.size(), nullptr, nullptr));
    EXPECT_EQ("one", ChildEnvironment(proc).get(name)) << "without a callback it is done on return";

    variable.value = second;
    InfoList more;
    more.append(PMIX_SET_ENVAR, &variable, PMIX_ENVAR);
    Answer answer;
    ASSERT_STATUS(PMIX_SUCCESS,
                  PMIx_server_setup_local_support(job, more.c_array(), more.size(), &Answer::done, &answer));
    EXPECT_STATUS(PMIX_SUCCESS, answer.wait());
    EXPECT_EQ("two", ChildEnvironment(proc).get(name));
    EXPECT_STATUS(PMIX_ERR_BAD_PARAM, PMIx_server_setup_local_support(job, nullptr, 1, nullptr, nullptr));
}

namespace {

struct Inventory {
    Answer answer;
    InfoList infos;
    static void done(pmix_status_t status, pmix_info_t* infos, size_t n, void* mine, pmix_release_cbfunc_t release,
                     void* release_data) {
        auto* self = static_cast<Inventory*>(mine);
        self->infos.append_all(infos, n);
        if (release != nullptr) release(release_data);
        self->answer.promise.set_value(status);
    }
};

// What a query for one key of a node finds.
pmix_status_t ask_node(const char* node, const char* key, std::string* text) {
    std::string name = key;
    char* keys[] = {name.data(), nullptr};
    InfoList qualifiers;
    qualifiers.append_string(PMIX_HOSTNAME, node);
    pmix_query_t query{};
    query.keys = keys;
    query.qualifiers = qualifiers.c_array();
    query.nqual = qualifiers.size();
    pmix_info_t* results = nullptr;
    size_t n = 0;
    const pmix_status_t rc = PMIx_Query_info(&query, 1, &results, &n);
    if (rc != PMIX_SUCCESS) return rc;
    if (results[0].value.type == PMIX_STRING) *text = results[0].value.data.string;
    PMIx_Info_free(results, n);
    return rc;
}

}  // namespace

// rows: V16
// proves: PMIx_server_deliver_inventory PMIX_NODE_INFO_ARRAY PMIX_HOSTNAME
// proves: PMIx_Query_info PMIX_HOSTNAME server
TEST(JobCallsTest, InventoryIsCollectedCarriedAndKept) {
    InfoList how = ServerHere::named();
    how.append_string(PMIX_HOSTNAME, "n7");
    ServerHere server(nullptr, std::move(how));
    Inventory collected;
    ASSERT_STATUS(PMIX_SUCCESS, PMIx_server_collect_inventory(nullptr, 0, &Inventory::done, &collected));
    ASSERT_STATUS(PMIX_SUCCESS, collected.answer.wait());
    ASSERT_EQ(1u, collected.infos.size());
    ASSERT_STREQ(PMIX_NODE_INFO_ARRAY, collected.infos[0].key);
    EXPECT_STATUS(PMIX_ERR_BAD_PARAM, PMIx_server_collect_inventory(nullptr, 0, nullptr, nullptr));

    // As a host carries it to the scheduler's node.
    pmix_data_buffer_t buffer = PMIX_DATA_BUFFER_STATIC_INIT;
    ASSERT_STATUS(PMIX_SUCCESS, PMIx_Data_pack(nullptr, &buffer, collected.infos.c_array(), 1, PMIX_INFO));
    pmix_info_t unpacked;
    int32_t count = 1;
    ASSERT_STATUS(PMIX_SUCCESS, PMIx_Data_unpack(nullptr, &buffer, &unpacked, &count, PMIX_INFO));
    PMIx_Data_buffer_destruct(&buffer);
    std::string text;
    EXPECT_STATUS(PMIX_ERR_NOT_SUPPORTED, ask_node("n7", PMIX_HWLOC_XML_V2, &text))
        << "not delivered yet, and the host answers none";
    EXPECT_STATUS(PMIX_SUCCESS, PMIx_server_deliver_inventory(&unpacked, 1, nullptr, 0, nullptr, nullptr));
    PMIx_Info_destruct(&unpacked);
    EXPECT_STATUS(PMIX_SUCCESS, ask_node("n7", PMIX_HWLOC_XML_V2, &text));
    EXPECT_NE(std::string::npos, text.find("<topology")) << text.substr(0, 80);
    EXPECT_STATUS(PMIX_ERR_NOT_SUPPORTED, ask_node("n8", PMIX_HWLOC_XML_V2, &text));

    // A newer word replaces the older one, and what stands alone is about this node.
    InfoList infos;
    infos.append_string("test.inventory", "x");
    EXPECT_STATUS(PMIX_SUCCESS, PMIx_server_deliver_inventory(infos.c_array(), 1, nullptr, 0, nullptr, nullptr));
    EXPECT_STATUS(PMIX_SUCCESS, ask_node("n7", "test.inventory", &text));
    EXPECT_EQ("x", text);
    InfoList newer;
    newer.append_string("test.inventory", "y");
    Answer answer;
    ASSERT_STATUS(PMIX_SUCCESS, PMIx_server_deliver_inventory(newer.c_array(), 1, nullptr, 0, &Answer::done, &answer));
    EXPECT_STATUS(PMIX_SUCCESS, answer.wait());
    EXPECT_STATUS(PMIX_SUCCESS, ask_node("n7", PMIX_HOSTNAME, &text));
    EXPECT_EQ("n7", text);

    pmix_data_array_t nameless{};
    nameless.type = PMIX_INFO;
    InfoList bad;
    bad.append(PMIX_NODE_INFO_ARRAY, &nameless, PMIX_DATA_ARRAY);
    EXPECT_STATUS(PMIX_ERR_BAD_PARAM, PMIx_server_deliver_inventory(bad.c_array(), 1, nullptr, 0, nullptr, nullptr));
}

namespace {

size_t segments_mapped() {
    std::ifstream maps("/proc/self/maps");
    size_t n = 0;
    for (std::string line; std::getline(maps, line);) n += line.find("wireup-store") != std::string::npos;
    return n;
}

template <class F>
bool becomes_true(F&& f) {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (!f()) {
        if (std::chrono::steady_clock::now() > deadline) return false;
        std::this_thread::yield();
    }
    return true;
}

}  // namespace

// Jobs start and end under a long-lived server, which reads from each: nothing of them stays but values that it
// borrowed.
TEST(JobCallsTest, JobsThatEndAreUnmapped) {
    ServerHere server;
    size_t before = 0;
    pmix_value_t* borrowed = nullptr;
    for (int i = 0; i < 200; ++i) {
        const std::string name = "job" + std::to_string(i);
        pmix_nspace_t job;
        PMIx_Load_nspace(job, name.c_str());
        InfoList infos;
        infos.append_string("test.name", name);
        ASSERT_STATUS(PMIX_SUCCESS,
                      PMIx_server_register_nspace(job, 1, infos.c_array(), infos.size(), nullptr, nullptr));
        const pmix_proc_t all = ProcId(name, PMIX_RANK_WILDCARD).to_c();
        EXPECT_EQ(name, text_of(all, "test.name"));
        if (i == 5) {
            InfoList pointer;
            pointer.append_flag(PMIX_GET_POINTER_VALUES, true);
            ASSERT_STATUS(PMIX_SUCCESS, PMIx_Get(&all, "test.name", pointer.c_array(), pointer.size(), &borrowed));
        }
        PMIx_server_deregister_nspace(job, nullptr, nullptr);
        // This thread may be faster than the notice.
        EXPECT_TRUE(becomes_true([&] { return text_of(all, "test.name") == "PMIX_ERR_NOT_FOUND"; }));
        if (i == 10) before = segments_mapped();
    }
    EXPECT_TRUE(becomes_true([&] { return segments_mapped() <= before; }));
    ASSERT_NE(nullptr, borrowed);
    EXPECT_STREQ("job5", borrowed->data.string);
}

namespace {

InfoList text_info(const char* key, const char* value) {
    InfoList infos;
    infos.append_string(key, value);
    return infos;
}

}  // namespace

// rows: V9
TEST(JobCallsTest, ResourcesAreEveryJobsUntilTheyAreTakenBack) {
    ServerHere server;
    register_job("before");
    InfoList resource = text_info("site.scratch", "/scratch"), other = text_info("site.other", "stays");
    ASSERT_STATUS(PMIX_SUCCESS, PMIx_server_register_resources(resource.c_array(), resource.size(), nullptr, nullptr));
    Answer told;
    ASSERT_STATUS(PMIX_SUCCESS, PMIx_server_register_resources(other.c_array(), other.size(), &Answer::done, &told));
    EXPECT_STATUS(PMIX_SUCCESS, told.wait());
    register_job("after");
    for (const char* job : {"before", "after"})
        EXPECT_EQ("/scratch", text_of(ProcId(job, PMIX_RANK_WILDCARD).to_c(), "site.scratch")) << job;
    // The keys select what is removed; the value beside one does not matter.
    InfoList gone = text_info("site.scratch", "elsewhere");
    ASSERT_STATUS(PMIX_SUCCESS, PMIx_server_deregister_resources(gone.c_array(), gone.size(), nullptr, nullptr));
    Answer again;
    ASSERT_STATUS(PMIX_SUCCESS, PMIx_server_deregister_resources(gone.c_array(), gone.size(), &Answer::done, &again));
    EXPECT_STATUS(PMIX_SUCCESS, again.wait()) << "it is not there, which is what was wanted";
    for (const char* job : {"before", "after"}) {
        EXPECT_EQ("PMIX_ERR_NOT_FOUND", text_of(ProcId(job, PMIX_RANK_WILDCARD).to_c(), "site.scratch")) << job;
        EXPECT_EQ("stays", text_of(ProcId(job, PMIX_RANK_WILDCARD).to_c(), "site.other")) << job;
    }
    register_job("later");
    const pmix_proc_t later = ProcId("later", PMIX_RANK_WILDCARD).to_c();
    EXPECT_EQ("PMIX_ERR_NOT_FOUND", text_of(later, "site.scratch"));
    EXPECT_EQ("stays", text_of(later, "site.other"));
    pmix_info_t no_value{};
    PMIX_LOAD_KEY(no_value.key, "site.other");
    ASSERT_EQ(PMIX_UNDEF, no_value.value.type);
    ASSERT_STATUS(PMIX_SUCCESS, PMIx_server_deregister_resources(&no_value, 1, nullptr, nullptr));
    register_job("last");
    EXPECT_EQ("PMIX_ERR_NOT_FOUND", text_of(ProcId("last", PMIX_RANK_WILDCARD).to_c(), "site.other"));
    EXPECT_STATUS(PMIX_ERR_BAD_PARAM, PMIx_server_register_resources(nullptr, 1, nullptr, nullptr));
    EXPECT_STATUS(PMIX_ERR_BAD_PARAM, PMIx_server_deregister_resources(nullptr, 1, nullptr, nullptr));
}

// rows: V17
TEST(JobCallsTest, RegisterSession_ByTheCall_BlockingAndNot) {
    EXPECT_STATUS(PMIX_ERR_INIT, PMIx_server_register_session(7, nullptr, 0, nullptr, nullptr));
    Answer early;
    PMIx_server_deregister_session(7, &Answer::done, &early);
    EXPECT_STATUS(PMIX_ERR_INIT, early.wait());
    ServerHere server;
    InfoList about = text_info("site.queue", "long");
    EXPECT_STATUS(PMIX_ERR_BAD_PARAM, PMIx_server_register_session(UINT32_MAX, nullptr, 0, nullptr, nullptr));
    EXPECT_STATUS(PMIX_ERR_BAD_PARAM, PMIx_server_register_session(7, nullptr, 1, nullptr, nullptr));
    ASSERT_STATUS(PMIX_SUCCESS, PMIx_server_register_session(7, about.c_array(), about.size(), nullptr, nullptr));
    Answer told;
    ASSERT_STATUS(PMIX_SUCCESS, PMIx_server_register_session(7, nullptr, 0, &Answer::done, &told));
    EXPECT_STATUS(PMIX_SUCCESS, told.wait()) << "it is known";
    PMIx_server_deregister_session(7, nullptr, nullptr);
    Answer gone;
    PMIx_server_deregister_session(7, &Answer::done, &gone);
    EXPECT_STATUS(PMIX_SUCCESS, gone.wait()) << "one that is not known is no error";
}

// rows: O9
TEST(JobCallsTest, InputFlowControl_ByTheCall_BlockingAndNot) {
    constexpr pmix_iof_channel_t kIn = PMIX_FWD_STDIN_CHANNEL;
    EXPECT_STATUS(PMIX_ERR_INIT, PMIx_server_IOF_flow_control(nullptr, kIn, true, nullptr, 0, nullptr, nullptr));
    ServerHere server;
    const pmix_proc_t source = ProcId("job", 0).to_c();
    EXPECT_STATUS(PMIX_ERR_NOT_SUPPORTED,
                  PMIx_server_IOF_flow_control(&source, PMIX_FWD_STDOUT_CHANNEL, true, nullptr, 0, nullptr, nullptr));
    EXPECT_STATUS(PMIX_ERR_BAD_PARAM, PMIx_server_IOF_flow_control(&source, kIn, true, nullptr, 1, nullptr, nullptr));
    EXPECT_STATUS(PMIX_OPERATION_SUCCEEDED,
                  PMIx_server_IOF_flow_control(&source, kIn, true, nullptr, 0, nullptr, nullptr));
    Answer told;
    EXPECT_STATUS(PMIX_SUCCESS, PMIx_server_IOF_flow_control(nullptr, PMIX_FWD_ALL_CHANNELS, false, nullptr, 0,
                                                             &Answer::done, &told));
    EXPECT_STATUS(PMIX_SUCCESS, told.wait());
    InfoList insisted = text_info("site.directive", "x");
    insisted.c_array()[0].flags = PMIX_INFO_REQD;
    EXPECT_STATUS(PMIX_ERR_NOT_SUPPORTED,
                  PMIx_server_IOF_flow_control(&source, kIn, true, insisted.c_array(), 1, nullptr, nullptr));
}

// rows: S1
TEST(JobCallsTest, ProcessSetsComeAndGo) {
    char name[] = "even", nobody[] = "odd";
    const pmix_proc_t members[] = {ProcId("job", 0).to_c(), ProcId("job", 2).to_c()};
    EXPECT_STATUS(PMIX_ERR_INIT, PMIx_server_delete_process_set(name));
    ServerHere server;
    EXPECT_STATUS(PMIX_ERR_NOT_FOUND, PMIx_server_delete_process_set(name));
    ASSERT_STATUS(PMIX_SUCCESS, PMIx_server_define_process_set(members, 2, name));
    EXPECT_STATUS(PMIX_ERR_EXISTS, PMIx_server_define_process_set(members, 2, name));
    EXPECT_STATUS(PMIX_ERR_NOT_FOUND, PMIx_server_delete_process_set(nobody));
    EXPECT_STATUS(PMIX_SUCCESS, PMIx_server_delete_process_set(name));
    EXPECT_STATUS(PMIX_ERR_NOT_FOUND, PMIx_server_delete_process_set(name));
    EXPECT_STATUS(PMIX_SUCCESS, PMIx_server_define_process_set(members, 2, name)) << "the name is free again";
    EXPECT_STATUS(PMIX_ERR_BAD_PARAM, PMIx_server_delete_process_set(nullptr));
    EXPECT_STATUS(PMIX_SUCCESS, PMIx_server_delete_process_set(name));
    const pmix_proc_t twice[] = {members[0], members[1], members[0]};
    ASSERT_STATUS(PMIX_SUCCESS, PMIx_server_define_process_set(twice, 3, name));
    pmix_info_t which;
    PMIX_INFO_LOAD(&which, PMIX_PSET_NAME, name, PMIX_STRING);
    char key[] = PMIX_QUERY_PSET_MEMBERSHIP;
    char* keys[] = {key, nullptr};
    pmix_query_t query{keys, &which, 1};
    pmix_info_t* results = nullptr;
    size_t n = 0;
    ASSERT_STATUS(PMIX_SUCCESS, PMIx_Query_info(&query, 1, &results, &n));
    ASSERT_EQ(1u, n);
    ASSERT_EQ(PMIX_DATA_ARRAY, results[0].value.type);
    EXPECT_EQ(2u, results[0].value.data.darray->size) << "each member once";
    PMIX_INFO_FREE(results, n);
    PMIX_INFO_DESTRUCT(&which);
}

// rows: O8
TEST(JobCallsTest, OutputOfANamespaceWithoutAnEnd_IsRefused) {
    ServerHere server;
    pmix_proc_t source{};
    std::memset(source.nspace, 'n', sizeof source.nspace);
    EXPECT_STATUS(PMIX_ERR_BAD_PARAM,
                  PMIx_server_IOF_deliver(&source, PMIX_FWD_STDOUT_CHANNEL, nullptr, nullptr, 0, nullptr, nullptr));
    EXPECT_STATUS(PMIX_ERR_BAD_PARAM,
                  PMIx_server_IOF_deliver(nullptr, PMIX_FWD_STDOUT_CHANNEL, nullptr, nullptr, 0, nullptr, nullptr));
}

}  // namespace job_calls_test

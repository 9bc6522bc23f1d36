// SPDX-License-Identifier: BSD-3-Clause
// Each public client function before init, after finalize, and in a process without a server: its status, and outputs
// that are safe afterwards. Outputs are filled with garbage first.
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "support/alone.h"
#include "support/status.h"

namespace client_refused_test {

using namespace pmix::test;

namespace {

// Every call with good arguments: what each answers when there is no library.
std::vector<std::pair<const char*, std::function<pmix_status_t()>>> all_calls() {
    static pmix_value_t v = number(1);
    static pmix_info_t i = info("k");
    static pmix_proc_t p = proc("ns", 0);
    static pmix_app_t a = app("true");
    static char k0[] = "k";
    static char* keys[] = {k0, nullptr};
    static pmix_pdata_t data;
    strcpy(data.key, "k");
    return {
        {"Put", [] { return PMIx_Put(PMIX_GLOBAL, "k", &v); }},
        {"Store_internal", [] { return PMIx_Store_internal(&p, "k", &v); }},
        {"Commit", [] { return PMIx_Commit(); }},
        {"Get",
         [] {
             pmix_value_t* out = garbage<pmix_value_t>();
             const pmix_status_t rc = PMIx_Get(&p, "k", nullptr, 0, &out);
             EXPECT_EQ(out, nullptr);
             return rc;
         }},
        {"Get_nb", [] { return PMIx_Get_nb(&p, "k", nullptr, 0, on_value, nullptr); }},
        {"IOF_pull", [] { return PMIx_IOF_pull(&p, 1, &i, 1, PMIX_FWD_STDOUT_CHANNEL, nullptr, nullptr, nullptr); }},
        {"IOF_deregister", [] { return PMIx_IOF_deregister(0, &i, 1, nullptr, nullptr); }},
        {"IOF_push", [] { return PMIx_IOF_push(&p, 1, nullptr, &i, 1, nullptr, nullptr); }},
        {"Fence", [] { return PMIx_Fence(nullptr, 0, nullptr, 0); }},
        {"Fence_nb", [] { return PMIx_Fence_nb(nullptr, 0, nullptr, 0, on_op, nullptr); }},
        {"Publish", [] { return PMIx_Publish(&i, 1); }},
        {"Publish_nb", [] { return PMIx_Publish_nb(&i, 1, on_op, nullptr); }},
        {"Lookup", [] { return PMIx_Lookup(&data, 1, nullptr, 0); }},
        {"Lookup_nb", [] { return PMIx_Lookup_nb(keys, nullptr, 0, on_lookup, nullptr); }},
        {"Unpublish", [] { return PMIx_Unpublish(keys, nullptr, 0); }},
        {"Unpublish_nb", [] { return PMIx_Unpublish_nb(keys, nullptr, 0, on_op, nullptr); }},
        {"Spawn",
         [] {
             pmix_nspace_t ns;
             memset(ns, 'x', sizeof ns);
             const pmix_status_t rc = PMIx_Spawn(nullptr, 0, &a, 1, ns);
             EXPECT_EQ(ns[0], '\0');
             return rc;
         }},
        {"Spawn_nb", [] { return PMIx_Spawn_nb(nullptr, 0, &a, 1, on_spawn, nullptr); }},
        {"Connect", [] { return PMIx_Connect(&p, 1, nullptr, 0); }},
        {"Connect_nb", [] { return PMIx_Connect_nb(&p, 1, nullptr, 0, on_op, nullptr); }},
        {"Disconnect", [] { return PMIx_Disconnect(&p, 1, nullptr, 0); }},
        {"Disconnect_nb", [] { return PMIx_Disconnect_nb(&p, 1, nullptr, 0, on_op, nullptr); }},
        {"Resolve_peers",
         [] {
             pmix_proc_t* procs = garbage<pmix_proc_t>();
             size_t n = 99;
             const pmix_status_t rc = PMIx_Resolve_peers("nowhere", "ns", &procs, &n);
             EXPECT_EQ(procs, nullptr);
             EXPECT_EQ(n, 0u);
             return rc;
         }},
        {"Resolve_nodes",
         [] {
             char* nodes = garbage<char>();
             const pmix_status_t rc = PMIx_Resolve_nodes("ns", &nodes);
             EXPECT_EQ(nodes, nullptr);
             return rc;
         }},
        {"Abort", [] { return PMIx_Abort(1, "text", nullptr, 0); }},
        {"Notify_event",
         [] { return PMIx_Notify_event(-3100, nullptr, PMIX_RANGE_GLOBAL, nullptr, 0, nullptr, nullptr); }},
    };
}

// With good arguments, but nothing can be done where there is no server.
std::vector<std::pair<const char*, std::function<pmix_status_t()>>> calls_of_groups() {
    static pmix_proc_t p = proc("ns", 0);
    static pmix_info_t i = info("k");
    static pmix_info_t* infos;
    static size_t n;
    return {
        {"Group_construct", [] { return PMIx_Group_construct("g", &p, 1, &i, 1, &infos, &n); }},
        {"Group_construct_nb", [] { return PMIx_Group_construct_nb("g", &p, 1, &i, 1, on_infos, nullptr); }},
        {"Group_destruct", [] { return PMIx_Group_destruct("g", &i, 1); }},
        {"Group_invite", [] { return PMIx_Group_invite("g", &p, 1, &i, 1, &infos, &n); }},
        {"Group_join", [] { return PMIx_Group_join("g", &p, PMIX_GROUP_ACCEPT, &i, 1, &infos, &n); }},
        {"Group_leave", [] { return PMIx_Group_leave("g", &i, 1); }},
    };
}

// Calls that are not served yet: each has its status and safe outputs all the same.
std::vector<std::pair<const char*, std::function<pmix_status_t()>>> calls_of_services() {
    static pmix_info_t i = info("k");
    static pmix_proc_t p = proc("ns", 0);
    static pmix_info_t* infos;
    static size_t n;
    return {
        {"Allocation_request", [] { return PMIx_Allocation_request(PMIX_ALLOC_NEW, &i, 1, &infos, &n); }},
        {"Allocation_request_nb", [] { return PMIx_Allocation_request_nb(PMIX_ALLOC_NEW, &i, 1, on_infos, nullptr); }},
        {"Session_control", [] { return PMIx_Session_control(1, &i, 1, on_infos, nullptr); }},
        {"Process_monitor", [] { return PMIx_Process_monitor(&i, -1, &i, 1, &infos, &n); }},
        {"Process_monitor_nb", [] { return PMIx_Process_monitor_nb(&i, -1, &i, 1, on_infos, nullptr); }},
        {"Get_credential",
         [] {
             pmix_byte_object_t credential = {garbage<char>(), 7};
             const pmix_status_t rc = PMIx_Get_credential(&i, 1, &credential);
             EXPECT_EQ(credential.bytes, nullptr);
             return rc;
         }},
        {"Get_credential_nb", [] { return PMIx_Get_credential_nb(&i, 1, on_credential, nullptr); }},
        {"Validate_credential", [] { return PMIx_Validate_credential(nullptr, &i, 1, &infos, &n); }},
        {"Validate_credential_nb", [] { return PMIx_Validate_credential_nb(nullptr, &i, 1, on_validation, nullptr); }},
        {"tool_attach_to_server", [] { return PMIx_tool_attach_to_server(&p, &p, &i, 1); }},
        {"tool_disconnect", [] { return PMIx_tool_disconnect(&p); }},
        {"tool_set_server", [] { return PMIx_tool_set_server(&p, &i, 1); }},
    };
}

std::vector<std::pair<const char*, std::function<pmix_status_t()>>> calls_of_fabrics() {
    static pmix_info_t i = info("k");
    return {
        {"Fabric_register", [] { return PMIx_Fabric_register(nullptr, &i, 1); }},
        {"Fabric_update", [] { return PMIx_Fabric_update(nullptr); }},
        {"Fabric_deregister", [] { return PMIx_Fabric_deregister(nullptr); }},
    };
}

}  // namespace

// rows: G8 G18 G19 I11 I13
TEST_F(Refused, BeforeInitAndAfterFinalize) {
    const auto check = [] {
        EXPECT_EQ(PMIx_Initialized(), 0);
        EXPECT_STATUS(PMIX_ERR_INIT, PMIx_Finalize(nullptr, 0));
        PMIx_Progress();
        for (const auto& [name, call] : all_calls()) EXPECT_STATUS(PMIX_ERR_INIT, call()) << name;
        EXPECT_STATUS(PMIX_ERR_INIT,
                      PMIx_Register_event_handler(nullptr, 0, nullptr, 0, on_event, on_registered, nullptr));
        EXPECT_STATUS(PMIX_ERR_INIT, PMIx_Deregister_event_handler(0, on_op, nullptr));
        for (const auto& [name, call] : calls_of_fabrics()) EXPECT_STATUS(PMIX_ERR_INIT, call()) << name;
        for (const auto& [name, call] : calls_of_services()) EXPECT_STATUS(PMIX_ERR_INIT, call()) << name;
        for (const auto& [name, call] : calls_of_groups()) EXPECT_STATUS(PMIX_ERR_INIT, call()) << name;
        EXPECT_STATUS(PMIX_ERR_INIT, PMIx_tool_finalize());
        EXPECT_STATUS(PMIX_ERR_INIT, PMIx_server_finalize());
        EXPECT_STATUS(PMIX_ERR_INIT, PMIx_server_collect_job_info(nullptr, 0, nullptr));
        EXPECT_STATUS(PMIX_ERR_INIT, PMIx_Register_attributes(nullptr, nullptr));
        // Which version of the interface this is may be asked at any time.
        char stable[] = PMIX_QUERY_STABLE_ABI_VERSION, other[] = PMIX_QUERY_NAMESPACES;
        char* keys[] = {stable, nullptr, nullptr};
        pmix_query_t query = {keys, nullptr, 0};
        pmix_info_t* infos = garbage<pmix_info_t>();
        size_t n = 7;
        EXPECT_STATUS(PMIX_SUCCESS, PMIx_Query_info(&query, 1, &infos, &n));
        PMIx_Info_free(infos, n);
        keys[1] = other;
        infos = garbage<pmix_info_t>();
        EXPECT_STATUS(PMIX_ERR_INIT, PMIx_Query_info(&query, 1, &infos, &n));
        EXPECT_EQ(infos, nullptr);
        EXPECT_STATUS(PMIX_ERR_INIT, PMIx_Query_info_nb(&query, 1, on_infos, nullptr));
        // A host may plan its job before it starts the server.
        char* text = nullptr;
        EXPECT_STATUS(PMIX_SUCCESS, PMIx_generate_regex("a,b", &text));
        free(text);
        EXPECT_STATUS(PMIX_SUCCESS, PMIx_generate_ppn("0;1", &text));
        free(text);
        EXPECT_GE(PMIx_Get_version()[0], '3');
    };
    const std::string version = PMIx_Get_version();
    check();
    EXPECT_STATUS(PMIX_ERR_UNREACH, PMIx_Init(nullptr, nullptr, 0));
    EXPECT_EQ(PMIx_Initialized(), 1);
    EXPECT_EQ(version, PMIx_Get_version());
    EXPECT_STATUS(PMIX_SUCCESS, PMIx_Finalize(nullptr, 0));
    check();
    EXPECT_EQ(version, PMIx_Get_version());
}

// rows: O1 O6 O7
TEST_F(Alone, ForwardingNeedsAServer) {
    pmix_proc_t p;
    PMIX_LOAD_PROCID(&p, "job", 0);
    EXPECT_STATUS(PMIX_ERR_UNREACH,
                  PMIx_IOF_pull(&p, 1, nullptr, 0, PMIX_FWD_STDOUT_CHANNEL, nullptr, nullptr, nullptr));
    EXPECT_STATUS(PMIX_ERR_BAD_PARAM, PMIx_IOF_deregister(0, nullptr, 0, nullptr, nullptr)) << "nothing was registered";
    EXPECT_STATUS(PMIX_ERR_BAD_PARAM, PMIx_IOF_push(&p, 1, nullptr, nullptr, 0, nullptr, nullptr)) << "push what?";
}

// rows: R1 R12 R13 R16 R17
TEST_F(Alone, GroupsNeedAServer) {
    for (const auto& [name, call] : calls_of_groups()) EXPECT_STATUS(PMIX_ERR_UNREACH, call()) << name;
}

TEST_F(Alone, CallsThatNeedAServer_AreRefused) {
    for (const auto& [name, call] : calls_of_services()) {
        const std::string_view which = name;
        // Arguments are looked at first; and this process is no tool.
        const pmix_status_t expected = which.starts_with("Validate") ? PMIX_ERR_BAD_PARAM
                                       : which.starts_with("tool_")  ? PMIX_ERR_INIT
                                                                     : PMIX_ERR_UNREACH;
        EXPECT_EQ(call(), expected) << name;
    }
}

// rows: X3 X4
TEST_F(Alone, FabricsAreObjectsOfTheCaller) {
    for (const auto& [name, call] : calls_of_fabrics()) EXPECT_STATUS(PMIX_ERR_BAD_PARAM, call()) << name;
}

TEST_F(Alone, CallsForServers_AreRefused) {
    EXPECT_STATUS(PMIX_ERR_INIT, PMIx_server_collect_job_info(nullptr, 0, nullptr));
    EXPECT_STATUS(PMIX_ERR_INIT, PMIx_Register_attributes(nullptr, nullptr));
}

}  // namespace client_refused_test

// Each public client function with what it must refuse: before init, after finalize, and with bad arguments in a
// process without a server. Outputs are filled with garbage first and must be safe afterwards.
#include <gtest/gtest.h>
#include <pmix.h>
#include <pmix_server.h>
#include <pmix_tool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <functional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace {

int g_callbacks = 0;  // of calls that were refused: must stay 0

void on_op(pmix_status_t, void*) { ++g_callbacks; }
void on_value(pmix_status_t, pmix_value_t*, void*) { ++g_callbacks; }
void on_lookup(pmix_status_t, pmix_pdata_t*, size_t, void*) { ++g_callbacks; }
void on_spawn(pmix_status_t, pmix_nspace_t, void*) { ++g_callbacks; }
void on_registered(pmix_status_t, size_t, void*) { ++g_callbacks; }
void on_event(size_t, pmix_status_t, const pmix_proc_t*, pmix_info_t*, size_t, pmix_info_t*, size_t,
              pmix_event_notification_cbfunc_fn_t done, void* cbdata) {
    if (done != nullptr) done(PMIX_EVENT_ACTION_COMPLETE, nullptr, 0, nullptr, nullptr, cbdata);
}

template <class T>
T* garbage() {
    return reinterpret_cast<T*>(0xdead);
}

pmix_value_t number(int n) {
    pmix_value_t v;
    memset(&v, 0, sizeof v);
    v.type = PMIX_INT;
    v.data.integer = n;
    return v;
}
pmix_info_t info(const char* key, int n = 1) {
    pmix_info_t i;
    memset(&i, 0, sizeof i);
    strncpy(i.key, key, PMIX_MAX_KEYLEN);
    i.value = number(n);
    return i;
}
pmix_proc_t proc(const char* nspace, pmix_rank_t rank) {
    pmix_proc_t p;
    memset(&p, 0, sizeof p);
    strncpy(p.nspace, nspace, PMIX_MAX_NSLEN);
    p.rank = rank;
    return p;
}
pmix_app_t app(const char* cmd) {
    pmix_app_t a;
    memset(&a, 0, sizeof a);
    a.cmd = const_cast<char*>(cmd);
    a.maxprocs = 1;
    return a;
}

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

void on_infos(pmix_status_t, pmix_info_t*, size_t, void*, pmix_release_cbfunc_t, void*) { ++g_callbacks; }
void on_credential(pmix_status_t, pmix_byte_object_t*, pmix_info_t*, size_t, void*) { ++g_callbacks; }
void on_validation(pmix_status_t, pmix_info_t*, size_t, void*) { ++g_callbacks; }

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
        {"Allocation_request_nb",
         [] { return PMIx_Allocation_request_nb(PMIX_ALLOC_NEW, &i, 1, on_infos, nullptr); }},
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
        {"Validate_credential_nb",
         [] { return PMIx_Validate_credential_nb(nullptr, &i, 1, on_validation, nullptr); }},
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
        ASSERT_EQ(PMIx_Init(&self, nullptr, 0), PMIX_ERR_UNREACH);
    }
    void TearDown() override {
        EXPECT_EQ(PMIx_Finalize(nullptr, 0), PMIX_SUCCESS);
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

// rows: G8 G18 G19 I11 I13
TEST_F(Refused, BeforeInitAndAfterFinalize) {
    const auto check = [] {
        EXPECT_EQ(PMIx_Initialized(), 0);
        EXPECT_EQ(PMIx_Finalize(nullptr, 0), PMIX_ERR_INIT);
        PMIx_Progress();
        for (const auto& [name, call] : all_calls()) EXPECT_EQ(call(), PMIX_ERR_INIT) << name;
        EXPECT_EQ(PMIx_Register_event_handler(nullptr, 0, nullptr, 0, on_event, on_registered, nullptr), PMIX_ERR_INIT);
        EXPECT_EQ(PMIx_Deregister_event_handler(0, on_op, nullptr), PMIX_ERR_INIT);
        for (const auto& [name, call] : calls_of_fabrics()) EXPECT_EQ(call(), PMIX_ERR_INIT) << name;
        for (const auto& [name, call] : calls_of_services()) EXPECT_EQ(call(), PMIX_ERR_INIT) << name;
        for (const auto& [name, call] : calls_of_groups()) EXPECT_EQ(call(), PMIX_ERR_INIT) << name;
        EXPECT_EQ(PMIx_tool_finalize(), PMIX_ERR_INIT);
        EXPECT_EQ(PMIx_server_finalize(), PMIX_ERR_INIT);
        EXPECT_EQ(PMIx_server_collect_job_info(nullptr, 0, nullptr), PMIX_ERR_INIT);
        EXPECT_EQ(PMIx_Register_attributes(nullptr, nullptr), PMIX_ERR_INIT);
        // Which version of the interface this is may be asked at any time.
        char stable[] = PMIX_QUERY_STABLE_ABI_VERSION, other[] = PMIX_QUERY_NAMESPACES;
        char* keys[] = {stable, nullptr, nullptr};
        pmix_query_t query = {keys, nullptr, 0};
        pmix_info_t* infos = garbage<pmix_info_t>();
        size_t n = 7;
        EXPECT_EQ(PMIx_Query_info(&query, 1, &infos, &n), PMIX_SUCCESS);
        PMIx_Info_free(infos, n);
        keys[1] = other;
        infos = garbage<pmix_info_t>();
        EXPECT_EQ(PMIx_Query_info(&query, 1, &infos, &n), PMIX_ERR_INIT);
        EXPECT_EQ(infos, nullptr);
        EXPECT_EQ(PMIx_Query_info_nb(&query, 1, on_infos, nullptr), PMIX_ERR_INIT);
        // A host may plan its job before it starts the server.
        char* text = nullptr;
        EXPECT_EQ(PMIx_generate_regex("a,b", &text), PMIX_SUCCESS);
        free(text);
        EXPECT_EQ(PMIx_generate_ppn("0;1", &text), PMIX_SUCCESS);
        free(text);
        EXPECT_GE(PMIx_Get_version()[0], '3');
    };
    const std::string version = PMIx_Get_version();
    check();
    EXPECT_EQ(PMIx_Init(nullptr, nullptr, 0), PMIX_ERR_UNREACH);
    EXPECT_EQ(PMIx_Initialized(), 1);
    EXPECT_EQ(version, PMIx_Get_version());
    EXPECT_EQ(PMIx_Finalize(nullptr, 0), PMIX_SUCCESS);
    check();
    EXPECT_EQ(version, PMIx_Get_version());
}

// rows: O1 O6 O7
TEST_F(Alone, ForwardingNeedsAServer) {
    pmix_proc_t p;
    PMIX_LOAD_PROCID(&p, "job", 0);
    EXPECT_EQ(PMIx_IOF_pull(&p, 1, nullptr, 0, PMIX_FWD_STDOUT_CHANNEL, nullptr, nullptr, nullptr), PMIX_ERR_UNREACH);
    EXPECT_EQ(PMIx_IOF_deregister(0, nullptr, 0, nullptr, nullptr), PMIX_ERR_BAD_PARAM) << "nothing was registered";
    EXPECT_EQ(PMIx_IOF_push(&p, 1, nullptr, nullptr, 0, nullptr, nullptr), PMIX_ERR_BAD_PARAM) << "push what?";
}

// rows: R1 R12 R13 R16 R17
TEST_F(Alone, GroupsNeedAServer) {
    for (const auto& [name, call] : calls_of_groups()) EXPECT_EQ(call(), PMIX_ERR_UNREACH) << name;
}

TEST_F(Alone, WhatNeedsAServerSaysSo) {
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
    for (const auto& [name, call] : calls_of_fabrics()) EXPECT_EQ(call(), PMIX_ERR_BAD_PARAM) << name;
}

TEST_F(Alone, WhatIsForServersSaysSo) {
    EXPECT_EQ(PMIx_server_collect_job_info(nullptr, 0, nullptr), PMIX_ERR_INIT);
    EXPECT_EQ(PMIx_Register_attributes(nullptr, nullptr), PMIX_ERR_INIT);
}

// rows: I2 I4 I12
TEST_F(Alone, IdentityAndCounting) {
    EXPECT_EQ(std::string(self.nspace).rfind("singleton.", 0), 0u);
    EXPECT_NE(std::string(self.nspace).find("." + std::to_string(getpid())), std::string::npos);
    EXPECT_EQ(self.rank, 0u);
    pmix_proc_t again;
    EXPECT_EQ(PMIx_Init(&again, nullptr, 0), PMIX_ERR_UNREACH);
    EXPECT_EQ(memcmp(&again, &self, sizeof self), 0);
    EXPECT_EQ(PMIx_Finalize(nullptr, 0), PMIX_SUCCESS);
    EXPECT_EQ(PMIx_Initialized(), 1);
}

// rows: I1 G18
TEST_F(Refused, BadOrStaleAddress) {
    setenv("PMIX_NAMESPACE", "job", 1);
    setenv("PMIX_RANK", "0", 1);
    for (const char* uri : {"server.0;wireup:@wireup/0/1/0000000000000000", "nonsense", "server.0;wireup:", "",
                            "server.0;wireup:/nonexistent/socket"}) {
        setenv("PMIX_SERVER_URI_WIREUP", uri, 1);
        pmix_proc_t p = proc("kept", 5);
        const pmix_status_t rc = PMIx_Init(&p, nullptr, 0);
        EXPECT_LT(rc, 0) << uri;
        if (PMIx_Initialized()) {  // taken as "no server at all"
            EXPECT_EQ(rc, PMIX_ERR_UNREACH) << uri;
            EXPECT_EQ(PMIx_Finalize(nullptr, 0), PMIX_SUCCESS);
        } else {
            EXPECT_STREQ(p.nspace, "kept") << uri;
        }
    }
    setenv("PMIX_SERVER_URI_WIREUP", "server.0;wireup:@wireup/0/1/0000000000000000", 1);
    setenv("PMIX_RANK", "many", 1);
    EXPECT_LT(PMIx_Init(nullptr, nullptr, 0), 0);
    if (PMIx_Initialized()) PMIx_Finalize(nullptr, 0);
}

// rows: I3 I7
TEST_F(Alone, DirectivesOfALaterInit) {
    pmix_info_t external = info(PMIX_EXTERNAL_PROGRESS);
    external.value.type = PMIX_BOOL;
    external.value.data.flag = true;
    EXPECT_EQ(PMIx_Init(nullptr, &external, 1), PMIX_ERR_BAD_PARAM);
    external.value.data.flag = false;
    EXPECT_EQ(PMIx_Init(nullptr, &external, 1), PMIX_ERR_UNREACH);
    EXPECT_EQ(PMIx_Finalize(nullptr, 0), PMIX_SUCCESS);
    EXPECT_EQ(PMIx_Init(nullptr, nullptr, 1), PMIX_ERR_BAD_PARAM);
}

// rows: I7 G7
TEST_F(Refused, RequiredUnknownDirectiveOfInit) {
    pmix_info_t i = info("site.needs");
    i.flags = PMIX_INFO_REQD;
    EXPECT_EQ(PMIx_Init(nullptr, &i, 1), PMIX_ERR_NOT_SUPPORTED);
    EXPECT_EQ(PMIx_Initialized(), 0);
    // The only way to the server is such a socket.
    i = info(PMIX_USOCK_DISABLE);
    i.flags = PMIX_INFO_REQD;
    EXPECT_EQ(PMIx_Init(nullptr, &i, 1), PMIX_ERR_NOT_SUPPORTED);
    i.flags = 0;
    EXPECT_EQ(PMIx_Init(nullptr, &i, 1), PMIX_ERR_UNREACH);
    i.flags = PMIX_INFO_REQD;
    EXPECT_EQ(PMIx_Init(nullptr, &i, 1), PMIX_ERR_NOT_SUPPORTED) << "a later init too";
    EXPECT_EQ(PMIx_Finalize(nullptr, 0), PMIX_SUCCESS);
    EXPECT_EQ(PMIx_Initialized(), 0) << "and it was not counted";
}

// rows: I7
TEST_F(Refused, InitTakesWhatItFollowsAsRequired) {
    for (const char* key : {PMIX_SINGLE_LISTENER, PMIX_TIMEOUT, PMIX_MODEL_NUM_THREADS}) {
        pmix_info_t i = info(key);
        i.flags = PMIX_INFO_REQD;
        EXPECT_EQ(PMIx_Init(nullptr, &i, 1), PMIX_ERR_UNREACH) << key;
        EXPECT_EQ(PMIx_Finalize(nullptr, 0), PMIX_SUCCESS);
    }
    pmix_info_t i = info(PMIX_TIMEOUT, -1);
    EXPECT_EQ(PMIx_Init(nullptr, &i, 1), PMIX_ERR_BAD_PARAM);
    EXPECT_EQ(PMIx_Initialized(), 0);
}

// rows: G13 K1 K3
TEST_F(Alone, Put) {
    pmix_value_t v = number(1);
    EXPECT_EQ(PMIx_Put(PMIX_GLOBAL, nullptr, &v), PMIX_ERR_BAD_PARAM);
    EXPECT_EQ(PMIx_Put(PMIX_GLOBAL, "", &v), PMIX_ERR_BAD_PARAM);
    EXPECT_EQ(PMIx_Put(PMIX_GLOBAL, "k", nullptr), PMIX_ERR_BAD_PARAM);
    EXPECT_EQ(PMIx_Put(PMIX_SCOPE_UNDEF, "k", &v), PMIX_ERR_BAD_PARAM);
    EXPECT_EQ(PMIx_Put(77, "k", &v), PMIX_ERR_BAD_PARAM);
    const std::string longest(511, 'k'), longer(512, 'k'), endless(4000, 'k');
    EXPECT_EQ(PMIx_Put(PMIX_GLOBAL, longest.c_str(), &v), PMIX_SUCCESS);
    EXPECT_EQ(get(nullptr, longest.c_str()), PMIX_SUCCESS);
    EXPECT_EQ(PMIx_Put(PMIX_GLOBAL, longer.c_str(), &v), PMIX_ERR_BAD_PARAM);
    EXPECT_EQ(PMIx_Put(PMIX_GLOBAL, endless.c_str(), &v), PMIX_ERR_BAD_PARAM);
    v.type = 12345;
    EXPECT_EQ(PMIx_Put(PMIX_GLOBAL, "k", &v), PMIX_ERR_UNKNOWN_DATA_TYPE);
    EXPECT_EQ(get(nullptr, "k"), PMIX_ERR_NOT_FOUND);
    for (const pmix_scope_t scope : {PMIX_LOCAL, PMIX_REMOTE, PMIX_GLOBAL, PMIX_INTERNAL}) {
        v = number(scope);
        EXPECT_EQ(PMIx_Put(scope, "k", &v), PMIX_SUCCESS);
        EXPECT_EQ(get(nullptr, "k"), PMIX_SUCCESS);
    }
    EXPECT_EQ(PMIx_Commit(), PMIX_SUCCESS);
}

// rows: K3
TEST_F(Alone, PutCopiesDeeply) {
    char bytes[3] = {1, 2, 3};
    char text[] = "text";
    pmix_info_t inner = info("inner", 9);
    pmix_data_array_t array;
    array.type = PMIX_INFO;
    array.size = 1;
    array.array = &inner;
    pmix_value_t v;
    memset(&v, 0, sizeof v);
    v.type = PMIX_BYTE_OBJECT;
    v.data.bo.bytes = bytes;
    v.data.bo.size = 3;
    EXPECT_EQ(PMIx_Put(PMIX_GLOBAL, "bo", &v), PMIX_SUCCESS);
    v.data.bo.size = 0;
    EXPECT_EQ(PMIx_Put(PMIX_GLOBAL, "empty", &v), PMIX_SUCCESS);
    v.type = PMIX_STRING;
    v.data.string = text;
    EXPECT_EQ(PMIx_Put(PMIX_GLOBAL, "text", &v), PMIX_SUCCESS);
    v.data.string = nullptr;
    EXPECT_EQ(PMIx_Put(PMIX_GLOBAL, "null", &v), PMIX_SUCCESS);
    v.type = PMIX_DATA_ARRAY;
    v.data.darray = &array;
    EXPECT_EQ(PMIx_Put(PMIX_GLOBAL, "array", &v), PMIX_SUCCESS);
    bytes[0] = text[0] = 0;
    inner.value.data.integer = 0;

    pmix_value_t* out = nullptr;
    ASSERT_EQ(PMIx_Get(nullptr, "bo", nullptr, 0, &out), PMIX_SUCCESS);
    EXPECT_EQ(out->data.bo.bytes[0], 1);
    PMIx_Value_free(out, 1);
    ASSERT_EQ(PMIx_Get(nullptr, "empty", nullptr, 0, &out), PMIX_SUCCESS);
    EXPECT_EQ(out->type, PMIX_BYTE_OBJECT);
    EXPECT_EQ(out->data.bo.size, 0u);
    PMIx_Value_free(out, 1);
    ASSERT_EQ(PMIx_Get(nullptr, "text", nullptr, 0, &out), PMIX_SUCCESS);
    EXPECT_STREQ(out->data.string, "text");
    PMIx_Value_free(out, 1);
    ASSERT_EQ(PMIx_Get(nullptr, "null", nullptr, 0, &out), PMIX_SUCCESS);
    EXPECT_EQ(out->data.string, nullptr);
    PMIx_Value_free(out, 1);
    ASSERT_EQ(PMIx_Get(nullptr, "array", nullptr, 0, &out), PMIX_SUCCESS);
    EXPECT_EQ(static_cast<pmix_info_t*>(out->data.darray->array)[0].value.data.integer, 9);
    PMIx_Value_free(out, 1);
}

// rows: K7
TEST_F(Alone, StoreInternal) {
    pmix_value_t v = number(3);
    const pmix_proc_t other = proc("elsewhere", 12);
    EXPECT_EQ(PMIx_Store_internal(nullptr, "mine", &v), PMIX_SUCCESS);
    EXPECT_EQ(PMIx_Store_internal(&other, "theirs", &v), PMIX_SUCCESS);
    EXPECT_EQ(PMIx_Store_internal(&other, "pmix.theirs", &v), PMIX_SUCCESS);
    EXPECT_EQ(get(nullptr, "mine"), PMIX_SUCCESS);
    EXPECT_EQ(get(&other, "theirs"), PMIX_SUCCESS);
    EXPECT_EQ(get(&other, "pmix.theirs"), PMIX_SUCCESS);
    EXPECT_EQ(PMIx_Store_internal(nullptr, nullptr, &v), PMIX_ERR_BAD_PARAM);
    EXPECT_EQ(PMIx_Store_internal(nullptr, "k", nullptr), PMIX_ERR_BAD_PARAM);
    pmix_proc_t bad = proc("x", 0);
    memset(bad.nspace, 'n', sizeof bad.nspace);
    EXPECT_EQ(PMIx_Store_internal(&bad, "k", &v), PMIX_ERR_BAD_PARAM);
    bad = proc("x", PMIX_RANK_INVALID);
    EXPECT_EQ(PMIx_Store_internal(&bad, "k", &v), PMIX_ERR_BAD_PARAM);
}

// rows: G12 G13 G16 K16 K32
TEST_F(Alone, Get) {
    EXPECT_EQ(PMIx_Get(&self, "k", nullptr, 0, nullptr), PMIX_ERR_BAD_PARAM);
    EXPECT_EQ(get(&self, ""), PMIX_ERR_BAD_PARAM);
    EXPECT_EQ(get(&self, std::string(512, 'k').c_str()), PMIX_ERR_BAD_PARAM);
    pmix_value_t* v = garbage<pmix_value_t>();
    EXPECT_EQ(PMIx_Get(&self, "k", nullptr, 1, &v), PMIX_ERR_BAD_PARAM);
    EXPECT_EQ(v, nullptr);
    pmix_proc_t bad = proc("x", PMIX_RANK_INVALID);
    EXPECT_EQ(get(&bad, "k"), PMIX_ERR_BAD_PARAM);
    memset(bad.nspace, 'n', sizeof bad.nspace);
    bad.rank = 0;
    EXPECT_EQ(get(&bad, "k"), PMIX_ERR_BAD_PARAM);

    EXPECT_EQ(get(&self, "pmix.nope"), PMIX_ERR_NOT_FOUND);
    EXPECT_EQ(get(&self, "nope"), PMIX_ERR_NOT_FOUND);
    const pmix_proc_t peer = proc(self.nspace, 7), foreign = proc("foreign", 0);
    EXPECT_EQ(get(&peer, "nope"), PMIX_ERR_UNREACH);
    EXPECT_EQ(get(&foreign, PMIX_JOB_SIZE), PMIX_ERR_UNREACH);
    pmix_info_t optional = info(PMIX_OPTIONAL);
    optional.value.type = PMIX_UNDEF;
    EXPECT_EQ(get(&peer, "nope", &optional, 1), PMIX_ERR_NOT_FOUND);
    const pmix_proc_t job = proc(self.nspace, PMIX_RANK_WILDCARD);
    EXPECT_EQ(get(&job, PMIX_JOB_SIZE), PMIX_SUCCESS);
    EXPECT_EQ(get(&self, PMIX_JOB_SIZE), PMIX_SUCCESS);
    EXPECT_EQ(get(&self, PMIX_PARENT_ID), PMIX_ERR_NOT_FOUND);
    EXPECT_EQ(PMIx_Get_nb(&self, "k", nullptr, 0, nullptr, nullptr), PMIX_ERR_BAD_PARAM);
    EXPECT_EQ(PMIx_Get_nb(&self, "", nullptr, 0, on_value, nullptr), PMIX_ERR_BAD_PARAM);
}

// rows: G5 G13 P3 P6
TEST_F(Alone, PublishLookupUnpublish) {
    EXPECT_EQ(PMIx_Publish(nullptr, 0), PMIX_ERR_BAD_PARAM);
    EXPECT_EQ(PMIx_Publish(nullptr, 1), PMIX_ERR_BAD_PARAM);
    pmix_info_t i = info("k");
    EXPECT_EQ(PMIx_Publish(&i, 0), PMIX_ERR_BAD_PARAM);
    EXPECT_EQ(PMIx_Publish(&i, 1), PMIX_ERR_UNREACH);
    EXPECT_EQ(PMIx_Publish_nb(&i, 1, nullptr, nullptr), PMIX_ERR_BAD_PARAM);
    EXPECT_EQ(PMIx_Publish_nb(&i, 1, on_op, nullptr), PMIX_ERR_UNREACH);
    memset(i.key, 'k', sizeof i.key);
    EXPECT_EQ(PMIx_Publish(&i, 1), PMIX_ERR_BAD_PARAM);

    pmix_pdata_t data;
    memset(&data, 0, sizeof data);
    EXPECT_EQ(PMIx_Lookup(nullptr, 0, nullptr, 0), PMIX_ERR_BAD_PARAM);
    EXPECT_EQ(PMIx_Lookup(&data, 1, nullptr, 0), PMIX_ERR_BAD_PARAM);
    strcpy(data.key, "k");
    EXPECT_EQ(PMIx_Lookup(&data, 1, nullptr, 0), PMIX_ERR_UNREACH);
    EXPECT_EQ(data.value.type, PMIX_UNDEF);
    char key[] = "k", empty[] = "";
    char *keys[] = {key, nullptr}, *none[] = {nullptr}, *bad[] = {empty, nullptr};
    EXPECT_EQ(PMIx_Lookup_nb(nullptr, nullptr, 0, on_lookup, nullptr), PMIX_ERR_BAD_PARAM);
    EXPECT_EQ(PMIx_Lookup_nb(none, nullptr, 0, on_lookup, nullptr), PMIX_ERR_BAD_PARAM);
    EXPECT_EQ(PMIx_Lookup_nb(keys, nullptr, 0, nullptr, nullptr), PMIX_ERR_BAD_PARAM);
    EXPECT_EQ(PMIx_Lookup_nb(keys, nullptr, 0, on_lookup, nullptr), PMIX_ERR_UNREACH);
    EXPECT_EQ(PMIx_Unpublish(bad, nullptr, 0), PMIX_ERR_BAD_PARAM);
    EXPECT_EQ(PMIx_Unpublish(keys, nullptr, 0), PMIX_ERR_UNREACH);
    EXPECT_EQ(PMIx_Unpublish_nb(nullptr, nullptr, 0, nullptr, nullptr), PMIX_ERR_BAD_PARAM);
}

// rows: C1 C5 F1 G12 G16
TEST_F(Alone, Processes) {
    pmix_info_t late = info(PMIX_TIMEOUT, -1);
    EXPECT_EQ(PMIx_Fence(nullptr, 1, nullptr, 0), PMIX_ERR_BAD_PARAM);
    EXPECT_EQ(PMIx_Fence(nullptr, 0, nullptr, 1), PMIX_ERR_BAD_PARAM);
    EXPECT_EQ(PMIx_Fence(nullptr, 0, &late, 1), PMIX_ERR_BAD_PARAM);
    pmix_proc_t bad = proc("", 0), invalid = proc("ns", PMIX_RANK_INVALID), other = proc("ns", 0);
    EXPECT_EQ(PMIx_Fence(&bad, 1, nullptr, 0), PMIX_ERR_BAD_PARAM);
    EXPECT_EQ(PMIx_Fence(&invalid, 1, nullptr, 0), PMIX_ERR_BAD_PARAM);
    EXPECT_EQ(PMIx_Fence(&other, 1, nullptr, 0), PMIX_ERR_UNREACH);
    EXPECT_EQ(PMIx_Fence(nullptr, 0, nullptr, 0), PMIX_SUCCESS);
    EXPECT_EQ(PMIx_Fence(&self, 1, nullptr, 0), PMIX_SUCCESS);
    EXPECT_EQ(PMIx_Connect(nullptr, 0, nullptr, 0), PMIX_ERR_BAD_PARAM);
    EXPECT_EQ(PMIx_Connect(&other, 1, nullptr, 0), PMIX_ERR_UNREACH);
    EXPECT_EQ(PMIx_Connect_nb(&other, 1, nullptr, 0, nullptr, nullptr), PMIX_ERR_BAD_PARAM);
    EXPECT_EQ(PMIx_Disconnect(nullptr, 1, nullptr, 0), PMIX_ERR_BAD_PARAM);
    EXPECT_EQ(PMIx_Disconnect(&other, 1, nullptr, 0), PMIX_ERR_UNREACH);

    pmix_app_t good = app("true"), nothing = app(nullptr);
    EXPECT_EQ(PMIx_Spawn(nullptr, 0, nullptr, 0, nullptr), PMIX_ERR_BAD_PARAM);
    EXPECT_EQ(PMIx_Spawn(nullptr, 0, &good, 0, nullptr), PMIX_ERR_BAD_PARAM);
    EXPECT_EQ(PMIx_Spawn(nullptr, 0, &nothing, 1, nullptr), PMIX_ERR_JOB_NO_EXE_SPECIFIED);
    EXPECT_EQ(PMIx_Spawn(nullptr, 0, &good, 1, nullptr), PMIX_ERR_UNREACH);
    EXPECT_EQ(PMIx_Spawn_nb(nullptr, 0, &good, 1, nullptr, nullptr), PMIX_ERR_BAD_PARAM);
    EXPECT_EQ(PMIx_Abort(1, nullptr, nullptr, 1), PMIX_ERR_BAD_PARAM);
    EXPECT_EQ(PMIx_Abort(1, nullptr, nullptr, 0), PMIX_ERR_UNREACH);

    pmix_proc_t* procs = garbage<pmix_proc_t>();
    size_t n = 9;
    EXPECT_EQ(PMIx_Resolve_peers(nullptr, nullptr, nullptr, &n), PMIX_ERR_BAD_PARAM);
    EXPECT_EQ(PMIx_Resolve_peers(nullptr, nullptr, &procs, nullptr), PMIX_ERR_BAD_PARAM);
    const std::string long_nspace(300, 'n');
    EXPECT_EQ(PMIx_Resolve_peers(nullptr, long_nspace.c_str(), &procs, &n), PMIX_ERR_BAD_PARAM);
    EXPECT_EQ(procs, nullptr);
    EXPECT_EQ(PMIx_Resolve_peers(nullptr, nullptr, &procs, &n), PMIX_SUCCESS);
    ASSERT_EQ(n, 1u);
    EXPECT_STREQ(procs[0].nspace, self.nspace);
    free(procs);
    EXPECT_EQ(PMIx_Resolve_nodes(nullptr, nullptr), PMIX_ERR_BAD_PARAM);
}

// rows: E1 E5 E12 E13 E16
TEST_F(Alone, Events) {
    pmix_status_t code = -3100;
    EXPECT_EQ(PMIx_Register_event_handler(&code, 1, nullptr, 0, nullptr, on_registered, nullptr), PMIX_ERR_BAD_PARAM);
    EXPECT_EQ(PMIx_Register_event_handler(nullptr, 1, nullptr, 0, on_event, on_registered, nullptr), PMIX_ERR_BAD_PARAM);
    EXPECT_EQ(PMIx_Register_event_handler(&code, 1, nullptr, 1, on_event, on_registered, nullptr), PMIX_ERR_BAD_PARAM);
    pmix_info_t required = info("site.needs");
    required.flags = PMIX_INFO_REQD;
    EXPECT_EQ(PMIx_Register_event_handler(&code, 1, &required, 1, on_event, on_registered, nullptr),
              PMIX_ERR_NOT_SUPPORTED);
    pmix_info_t first = info(PMIX_EVENT_HDLR_FIRST);  // an int is no truth value
    EXPECT_EQ(PMIx_Register_event_handler(&code, 1, &first, 1, on_event, nullptr, nullptr), PMIX_ERR_BAD_PARAM);
    first.value.type = PMIX_UNDEF;
    const pmix_status_t reference = PMIx_Register_event_handler(&code, 1, &first, 1, on_event, nullptr, nullptr);
    ASSERT_GE(reference, 0);
    EXPECT_EQ(PMIx_Register_event_handler(&code, 1, &first, 1, on_event, nullptr, nullptr), PMIX_ERR_EVENT_REGISTRATION);
    EXPECT_EQ(PMIx_Deregister_event_handler(static_cast<size_t>(reference), nullptr, nullptr), PMIX_SUCCESS);
    EXPECT_EQ(PMIx_Deregister_event_handler(static_cast<size_t>(reference), nullptr, nullptr), PMIX_ERR_BAD_PARAM);
    EXPECT_EQ(PMIx_Deregister_event_handler(4711, nullptr, nullptr), PMIX_ERR_BAD_PARAM);

    EXPECT_EQ(PMIx_Notify_event(code, nullptr, PMIX_RANGE_PROC_LOCAL, nullptr, 0, nullptr, nullptr), PMIX_SUCCESS);
    EXPECT_EQ(PMIx_Notify_event(code, nullptr, PMIX_RANGE_GLOBAL, nullptr, 0, nullptr, nullptr), PMIX_ERR_UNREACH);
    EXPECT_EQ(PMIx_Notify_event(code, nullptr, 99, nullptr, 0, nullptr, nullptr), PMIX_ERR_BAD_PARAM);
    EXPECT_EQ(PMIx_Notify_event(code, nullptr, PMIX_RANGE_CUSTOM, nullptr, 0, nullptr, nullptr), PMIX_ERR_BAD_PARAM);
    EXPECT_EQ(PMIx_Notify_event(code, nullptr, PMIX_RANGE_PROC_LOCAL, nullptr, 1, nullptr, nullptr), PMIX_ERR_BAD_PARAM);
}

// rows: I8 I12
TEST_F(Alone, ForkedChildIsUninitialisedAndMayInitAgain) {
#ifdef __SANITIZE_THREAD__
    GTEST_SKIP() << "ThreadSanitizer has no threads in the child of a process with threads";
#endif
    pmix_value_t v = number(5);
    ASSERT_EQ(PMIx_Put(PMIX_GLOBAL, "before", &v), PMIX_SUCCESS);
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
        int bad = 0;
        pmix_value_t* out = nullptr;
        bad |= PMIx_Initialized() != 0;
        bad |= PMIx_Get(nullptr, "before", nullptr, 0, &out) != PMIX_ERR_INIT;
        bad |= PMIx_Finalize(nullptr, 0) != PMIX_ERR_INIT;
        pmix_proc_t me;
        bad |= PMIx_Init(&me, nullptr, 0) != PMIX_ERR_UNREACH;
        bad |= strcmp(me.nspace, self.nspace) == 0;
        bad |= PMIx_Get(nullptr, "before", nullptr, 0, &out) != PMIX_ERR_NOT_FOUND;
        bad |= PMIx_Fence(nullptr, 0, nullptr, 0) != PMIX_SUCCESS;
        bad |= PMIx_Finalize(nullptr, 0) != PMIX_SUCCESS;
        _exit(bad);
    }
    int status = -1;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
    EXPECT_EQ(get(nullptr, "before"), PMIX_SUCCESS);
}

// rows: I12
TEST_F(Refused, AThousandCyclesLeaveNoDescriptorAndNoThread) {
    const auto descriptors = [] {
        const int fd = dup(0);
        close(fd);
        return fd;  // the lowest free number
    };
    PMIx_Init(nullptr, nullptr, 0);
    PMIx_Finalize(nullptr, 0);
    const int before = descriptors();
    for (int i = 0; i < 1100; ++i) {
        ASSERT_EQ(PMIx_Init(nullptr, nullptr, 0), PMIX_ERR_UNREACH);
        ASSERT_EQ(PMIx_Finalize(nullptr, 0), PMIX_SUCCESS);
    }
    EXPECT_EQ(descriptors(), before);
}

// rows: I13
// proves: PMIx_Init PMIX_EXTERNAL_PROGRESS
TEST_F(Refused, ExternalProgress) {
    pmix_info_t external = info(PMIX_EXTERNAL_PROGRESS);
    external.value.type = PMIX_UNDEF;
    ASSERT_EQ(PMIx_Init(nullptr, &external, 1), PMIX_ERR_UNREACH);
    pmix_value_t v = number(5);
    EXPECT_EQ(PMIx_Put(PMIX_GLOBAL, "k", &v), PMIX_SUCCESS);
    struct Got {
        int calls = 0, n = 0;
        std::thread::id thread;
    } got;
    const auto on_got = [](pmix_status_t, pmix_value_t* value, void* self) {
        auto* g = static_cast<Got*>(self);
        ++g->calls;
        if (value != nullptr) g->n = value->data.integer;
        g->thread = std::this_thread::get_id();
        PMIx_Progress();  // harmless from inside
    };
    EXPECT_EQ(PMIx_Get_nb(nullptr, "k", nullptr, 0, on_got, &got), PMIX_SUCCESS);
    EXPECT_EQ(got.calls, 0);
    for (int i = 0; i < 1000 && got.calls == 0; ++i) PMIx_Progress();
    EXPECT_EQ(got.calls, 1);
    EXPECT_EQ(got.n, 5);
    EXPECT_EQ(got.thread, std::this_thread::get_id());
    // A blocking call turns the loop itself.
    EXPECT_GE(PMIx_Register_event_handler(nullptr, 0, nullptr, 0, on_event, nullptr, nullptr), 0);
    EXPECT_EQ(PMIx_Finalize(nullptr, 0), PMIX_SUCCESS);
}

// rows: I6
// proves: PMIx_Init PMIX_PROGRAMMING_MODEL
TEST_F(Refused, ADeclaredModelReachesAHandlerThatComesLater) {
    struct Seen {
        std::atomic<int> calls{0};
        std::string model;
    };
    static Seen seen;
    pmix_info_t model = info(PMIX_PROGRAMMING_MODEL);
    char mpi[] = "MPI", shmem[] = "SHMEM";
    model.value.type = PMIX_STRING;
    model.value.data.string = mpi;
    ASSERT_EQ(PMIx_Init(nullptr, &model, 1), PMIX_ERR_UNREACH);
    const auto on_model = [](size_t, pmix_status_t, const pmix_proc_t*, pmix_info_t* infos, size_t n, pmix_info_t*, size_t,
                             pmix_event_notification_cbfunc_fn_t done, void* cbdata) {
        for (size_t i = 0; i < n; ++i) {
            if (strcmp(infos[i].key, PMIX_PROGRAMMING_MODEL) == 0) seen.model += infos[i].value.data.string;
        }
        ++seen.calls;
        seen.calls.notify_all();
        done(PMIX_SUCCESS, nullptr, 0, nullptr, nullptr, cbdata);
    };
    pmix_status_t code = PMIX_MODEL_DECLARED;
    ASSERT_GE(PMIx_Register_event_handler(&code, 1, nullptr, 0, on_model, nullptr, nullptr), 0);
    seen.calls.wait(0);
    EXPECT_EQ(seen.model, "MPI");
    model.value.data.string = shmem;
    ASSERT_EQ(PMIx_Init(nullptr, &model, 1), PMIX_ERR_UNREACH);
    seen.calls.wait(1);
    EXPECT_EQ(seen.model, "MPISHMEM");
    EXPECT_EQ(PMIx_Finalize(nullptr, 0), PMIX_SUCCESS);
    EXPECT_EQ(PMIx_Finalize(nullptr, 0), PMIX_SUCCESS);
}

}  // namespace

// SPDX-License-Identifier: BSD-3-Clause
// Each public client function with bad arguments, in a process without a server: refused, and outputs are safe
// afterwards.
#include <gtest/gtest.h>

#include <future>
#include <string>

#include "support/alone.h"
#include "support/status.h"

namespace client_bad_input_test {

using namespace pmix::test;

// rows: G13 K1 K3
TEST_F(Alone, Put) {
    pmix_value_t v = number(1);
    EXPECT_STATUS(PMIX_ERR_BAD_PARAM, PMIx_Put(PMIX_GLOBAL, nullptr, &v));
    EXPECT_STATUS(PMIX_ERR_BAD_PARAM, PMIx_Put(PMIX_GLOBAL, "", &v));
    EXPECT_STATUS(PMIX_ERR_BAD_PARAM, PMIx_Put(PMIX_GLOBAL, "k", nullptr));
    EXPECT_STATUS(PMIX_ERR_NOT_SUPPORTED, PMIx_Put(PMIX_SCOPE_UNDEF, "k", &v));
    EXPECT_STATUS(PMIX_ERR_NOT_SUPPORTED, PMIx_Put(77, "k", &v));
    const std::string longest(511, 'k'), longer(512, 'k'), endless(4000, 'k');
    EXPECT_STATUS(PMIX_SUCCESS, PMIx_Put(PMIX_GLOBAL, longest.c_str(), &v));
    EXPECT_STATUS(PMIX_SUCCESS, get(nullptr, longest.c_str()));
    EXPECT_STATUS(PMIX_ERR_BAD_PARAM, PMIx_Put(PMIX_GLOBAL, longer.c_str(), &v));
    EXPECT_STATUS(PMIX_ERR_BAD_PARAM, PMIx_Put(PMIX_GLOBAL, endless.c_str(), &v));
    v.type = 12345;
    EXPECT_STATUS(PMIX_ERR_UNKNOWN_DATA_TYPE, PMIx_Put(PMIX_GLOBAL, "k", &v));
    EXPECT_STATUS(PMIX_ERR_NOT_FOUND, get(nullptr, "k"));
    for (const pmix_scope_t scope : {PMIX_LOCAL, PMIX_REMOTE, PMIX_GLOBAL, PMIX_INTERNAL}) {
        v = number(scope);
        EXPECT_STATUS(PMIX_SUCCESS, PMIx_Put(scope, "k", &v));
        EXPECT_STATUS(PMIX_SUCCESS, get(nullptr, "k"));
    }
    EXPECT_STATUS(PMIX_SUCCESS, PMIx_Commit());
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
    EXPECT_STATUS(PMIX_SUCCESS, PMIx_Put(PMIX_GLOBAL, "bo", &v));
    v.data.bo.size = 0;
    EXPECT_STATUS(PMIX_SUCCESS, PMIx_Put(PMIX_GLOBAL, "empty", &v));
    v.type = PMIX_STRING;
    v.data.string = text;
    EXPECT_STATUS(PMIX_SUCCESS, PMIx_Put(PMIX_GLOBAL, "text", &v));
    v.data.string = nullptr;
    EXPECT_STATUS(PMIX_SUCCESS, PMIx_Put(PMIX_GLOBAL, "null", &v));
    v.type = PMIX_DATA_ARRAY;
    v.data.darray = &array;
    EXPECT_STATUS(PMIX_SUCCESS, PMIx_Put(PMIX_GLOBAL, "array", &v));
    bytes[0] = text[0] = 0;
    inner.value.data.integer = 0;

    pmix_value_t* out = nullptr;
    ASSERT_STATUS(PMIX_SUCCESS, PMIx_Get(nullptr, "bo", nullptr, 0, &out));
    EXPECT_EQ(out->data.bo.bytes[0], 1);
    PMIx_Value_free(out, 1);
    ASSERT_STATUS(PMIX_SUCCESS, PMIx_Get(nullptr, "empty", nullptr, 0, &out));
    EXPECT_EQ(out->type, PMIX_BYTE_OBJECT);
    EXPECT_EQ(out->data.bo.size, 0u);
    PMIx_Value_free(out, 1);
    ASSERT_STATUS(PMIX_SUCCESS, PMIx_Get(nullptr, "text", nullptr, 0, &out));
    EXPECT_STREQ(out->data.string, "text");
    PMIx_Value_free(out, 1);
    ASSERT_STATUS(PMIX_SUCCESS, PMIx_Get(nullptr, "null", nullptr, 0, &out));
    EXPECT_EQ(out->data.string, nullptr);
    PMIx_Value_free(out, 1);
    ASSERT_STATUS(PMIX_SUCCESS, PMIx_Get(nullptr, "array", nullptr, 0, &out));
    EXPECT_EQ(static_cast<pmix_info_t*>(out->data.darray->array)[0].value.data.integer, 9);
    PMIx_Value_free(out, 1);
}

// rows: K7
TEST_F(Alone, StoreInternal) {
    pmix_value_t v = number(3);
    const pmix_proc_t other = proc("elsewhere", 12);
    EXPECT_STATUS(PMIX_SUCCESS, PMIx_Store_internal(nullptr, "mine", &v));
    EXPECT_STATUS(PMIX_SUCCESS, PMIx_Store_internal(&other, "theirs", &v));
    EXPECT_STATUS(PMIX_SUCCESS, PMIx_Store_internal(&other, "pmix.theirs", &v));
    EXPECT_STATUS(PMIX_SUCCESS, get(nullptr, "mine"));
    EXPECT_STATUS(PMIX_SUCCESS, get(&other, "theirs"));
    EXPECT_STATUS(PMIX_SUCCESS, get(&other, "pmix.theirs"));
    EXPECT_STATUS(PMIX_ERR_BAD_PARAM, PMIx_Store_internal(nullptr, nullptr, &v));
    EXPECT_STATUS(PMIX_ERR_BAD_PARAM, PMIx_Store_internal(nullptr, "k", nullptr));
    pmix_proc_t bad = proc("x", 0);
    memset(bad.nspace, 'n', sizeof bad.nspace);
    EXPECT_STATUS(PMIX_ERR_BAD_PARAM, PMIx_Store_internal(&bad, "k", &v));
    bad = proc("x", PMIX_RANK_INVALID);
    EXPECT_STATUS(PMIX_ERR_BAD_PARAM, PMIx_Store_internal(&bad, "k", &v));
}

// rows: G12 G13 G16 K16 K32
TEST_F(Alone, Get) {
    EXPECT_STATUS(PMIX_ERR_BAD_PARAM, PMIx_Get(&self, "k", nullptr, 0, nullptr));
    EXPECT_STATUS(PMIX_ERR_BAD_PARAM, get(&self, ""));
    EXPECT_STATUS(PMIX_ERR_BAD_PARAM, get(&self, std::string(512, 'k').c_str()));
    pmix_value_t* v = garbage<pmix_value_t>();
    EXPECT_STATUS(PMIX_ERR_BAD_PARAM, PMIx_Get(&self, "k", nullptr, 1, &v));
    EXPECT_EQ(v, nullptr);
    pmix_proc_t bad = proc("x", PMIX_RANK_INVALID);
    EXPECT_STATUS(PMIX_ERR_BAD_PARAM, get(&bad, "k"));
    memset(bad.nspace, 'n', sizeof bad.nspace);
    bad.rank = 0;
    EXPECT_STATUS(PMIX_ERR_BAD_PARAM, get(&bad, "k"));

    EXPECT_STATUS(PMIX_ERR_NOT_FOUND, get(&self, "pmix.nope"));
    EXPECT_STATUS(PMIX_ERR_NOT_FOUND, get(&self, "nope"));
    const pmix_proc_t peer = proc(self.nspace, 7), foreign = proc("foreign", 0);
    // A singleton has no server, so nobody has the data of another process: not found, at once.
    const pmix_proc_t any = proc(self.nspace, PMIX_RANK_UNDEF);
    pmix_info_t limit = info(PMIX_TIMEOUT, 300);
    for (const pmix_proc_t* other : {&peer, &foreign, &any}) {
        EXPECT_STATUS(PMIX_ERR_NOT_FOUND, get(other, "nope"));
        EXPECT_STATUS(PMIX_ERR_NOT_FOUND, get(other, "nope", &limit, 1));
    }
    EXPECT_STATUS(PMIX_ERR_NOT_FOUND, get(&foreign, PMIX_JOB_SIZE));
    EXPECT_STATUS(PMIX_ERR_NOT_FOUND, get(&peer, PMIX_GROUP_NAMES));
    std::promise<pmix_status_t> answer;
    const auto absent = [](pmix_status_t status, pmix_value_t*, void* cbdata) {
        static_cast<std::promise<pmix_status_t>*>(cbdata)->set_value(status);
    };
    ASSERT_STATUS(PMIX_SUCCESS, PMIx_Get_nb(&peer, "nope", nullptr, 0, absent, &answer));
    EXPECT_STATUS(PMIX_ERR_NOT_FOUND, answer.get_future().get());
    pmix_info_t optional = info(PMIX_OPTIONAL);
    optional.value.type = PMIX_UNDEF;
    EXPECT_STATUS(PMIX_ERR_NOT_FOUND, get(&peer, "nope", &optional, 1));
    const pmix_proc_t job = proc(self.nspace, PMIX_RANK_WILDCARD);
    EXPECT_STATUS(PMIX_SUCCESS, get(&job, PMIX_JOB_SIZE));
    EXPECT_STATUS(PMIX_SUCCESS, get(&self, PMIX_JOB_SIZE));
    EXPECT_STATUS(PMIX_ERR_NOT_FOUND, get(&self, PMIX_PARENT_ID));
    EXPECT_STATUS(PMIX_ERR_BAD_PARAM, PMIx_Get_nb(&self, "k", nullptr, 0, nullptr, nullptr));
    EXPECT_STATUS(PMIX_ERR_BAD_PARAM, PMIx_Get_nb(&self, "", nullptr, 0, on_value, nullptr));
}

// rows: G5 G13 P3 P6
TEST_F(Alone, PublishLookupUnpublish) {
    EXPECT_STATUS(PMIX_ERR_BAD_PARAM, PMIx_Publish(nullptr, 0));
    EXPECT_STATUS(PMIX_ERR_BAD_PARAM, PMIx_Publish(nullptr, 1));
    pmix_info_t i = info("k");
    EXPECT_STATUS(PMIX_ERR_BAD_PARAM, PMIx_Publish(&i, 0));
    EXPECT_STATUS(PMIX_ERR_UNREACH, PMIx_Publish(&i, 1));
    EXPECT_STATUS(PMIX_ERR_BAD_PARAM, PMIx_Publish_nb(&i, 1, nullptr, nullptr));
    EXPECT_STATUS(PMIX_ERR_UNREACH, PMIx_Publish_nb(&i, 1, on_op, nullptr));
    memset(i.key, 'k', sizeof i.key);
    EXPECT_STATUS(PMIX_ERR_BAD_PARAM, PMIx_Publish(&i, 1));

    pmix_pdata_t data;
    memset(&data, 0, sizeof data);
    EXPECT_STATUS(PMIX_ERR_BAD_PARAM, PMIx_Lookup(nullptr, 0, nullptr, 0));
    EXPECT_STATUS(PMIX_ERR_BAD_PARAM, PMIx_Lookup(&data, 1, nullptr, 0));
    strcpy(data.key, "k");
    EXPECT_STATUS(PMIX_ERR_UNREACH, PMIx_Lookup(&data, 1, nullptr, 0));
    EXPECT_EQ(data.value.type, PMIX_UNDEF);
    char key[] = "k", empty[] = "";
    char *keys[] = {key, nullptr}, *none[] = {nullptr}, *bad[] = {empty, nullptr};
    EXPECT_STATUS(PMIX_ERR_BAD_PARAM, PMIx_Lookup_nb(nullptr, nullptr, 0, on_lookup, nullptr));
    EXPECT_STATUS(PMIX_ERR_BAD_PARAM, PMIx_Lookup_nb(none, nullptr, 0, on_lookup, nullptr));
    EXPECT_STATUS(PMIX_ERR_BAD_PARAM, PMIx_Lookup_nb(keys, nullptr, 0, nullptr, nullptr));
    EXPECT_STATUS(PMIX_ERR_UNREACH, PMIx_Lookup_nb(keys, nullptr, 0, on_lookup, nullptr));
    EXPECT_STATUS(PMIX_ERR_BAD_PARAM, PMIx_Unpublish(bad, nullptr, 0));
    EXPECT_STATUS(PMIX_ERR_UNREACH, PMIx_Unpublish(keys, nullptr, 0));
    EXPECT_STATUS(PMIX_ERR_BAD_PARAM, PMIx_Unpublish_nb(nullptr, nullptr, 0, nullptr, nullptr));
}

// rows: C1 C5 F1 G12 G16
TEST_F(Alone, Processes) {
    pmix_info_t late = info(PMIX_TIMEOUT, -1);
    EXPECT_STATUS(PMIX_ERR_BAD_PARAM, PMIx_Fence(nullptr, 1, nullptr, 0));
    EXPECT_STATUS(PMIX_ERR_BAD_PARAM, PMIx_Fence(nullptr, 0, nullptr, 1));
    EXPECT_STATUS(PMIX_ERR_BAD_PARAM, PMIx_Fence(nullptr, 0, &late, 1));
    pmix_proc_t bad = proc("", 0), invalid = proc("ns", PMIX_RANK_INVALID), other = proc("ns", 0);
    EXPECT_STATUS(PMIX_ERR_BAD_PARAM, PMIx_Fence(&bad, 1, nullptr, 0));
    EXPECT_STATUS(PMIX_ERR_BAD_PARAM, PMIx_Fence(&invalid, 1, nullptr, 0));
    EXPECT_STATUS(PMIX_ERR_UNREACH, PMIx_Fence(&other, 1, nullptr, 0));
    EXPECT_STATUS(PMIX_SUCCESS, PMIx_Fence(nullptr, 0, nullptr, 0));
    EXPECT_STATUS(PMIX_SUCCESS, PMIx_Fence(&self, 1, nullptr, 0));
    EXPECT_STATUS(PMIX_ERR_BAD_PARAM, PMIx_Connect(nullptr, 0, nullptr, 0));
    EXPECT_STATUS(PMIX_ERR_UNREACH, PMIx_Connect(&other, 1, nullptr, 0));
    EXPECT_STATUS(PMIX_ERR_BAD_PARAM, PMIx_Connect_nb(&other, 1, nullptr, 0, nullptr, nullptr));
    EXPECT_STATUS(PMIX_ERR_BAD_PARAM, PMIx_Disconnect(nullptr, 1, nullptr, 0));
    EXPECT_STATUS(PMIX_ERR_UNREACH, PMIx_Disconnect(&other, 1, nullptr, 0));

    pmix_app_t good = app("true"), nothing = app(nullptr);
    EXPECT_STATUS(PMIX_ERR_BAD_PARAM, PMIx_Spawn(nullptr, 0, nullptr, 0, nullptr));
    EXPECT_STATUS(PMIX_ERR_BAD_PARAM, PMIx_Spawn(nullptr, 0, &good, 0, nullptr));
    EXPECT_STATUS(PMIX_ERR_JOB_NO_EXE_SPECIFIED, PMIx_Spawn(nullptr, 0, &nothing, 1, nullptr));
    EXPECT_STATUS(PMIX_ERR_UNREACH, PMIx_Spawn(nullptr, 0, &good, 1, nullptr));
    EXPECT_STATUS(PMIX_ERR_BAD_PARAM, PMIx_Spawn_nb(nullptr, 0, &good, 1, nullptr, nullptr));
    EXPECT_STATUS(PMIX_ERR_BAD_PARAM, PMIx_Abort(1, nullptr, nullptr, 1));
    EXPECT_STATUS(PMIX_ERR_UNREACH, PMIx_Abort(1, nullptr, nullptr, 0));

    pmix_proc_t* procs = garbage<pmix_proc_t>();
    size_t n = 9;
    EXPECT_STATUS(PMIX_ERR_BAD_PARAM, PMIx_Resolve_peers(nullptr, nullptr, nullptr, &n));
    EXPECT_STATUS(PMIX_ERR_BAD_PARAM, PMIx_Resolve_peers(nullptr, nullptr, &procs, nullptr));
    const std::string long_nspace(300, 'n');
    EXPECT_STATUS(PMIX_ERR_BAD_PARAM, PMIx_Resolve_peers(nullptr, long_nspace.c_str(), &procs, &n));
    EXPECT_EQ(procs, nullptr);
    EXPECT_STATUS(PMIX_SUCCESS, PMIx_Resolve_peers(nullptr, nullptr, &procs, &n));
    ASSERT_EQ(n, 1u);
    EXPECT_STREQ(procs[0].nspace, self.nspace);
    free(procs);
    EXPECT_STATUS(PMIX_ERR_BAD_PARAM, PMIx_Resolve_nodes(nullptr, nullptr));
}

// rows: E1 E5 E12 E13 E16
TEST_F(Alone, Events) {
    pmix_status_t code = -3100;
    EXPECT_STATUS(PMIX_ERR_BAD_PARAM,
                  PMIx_Register_event_handler(&code, 1, nullptr, 0, nullptr, on_registered, nullptr));
    EXPECT_STATUS(PMIX_ERR_BAD_PARAM,
                  PMIx_Register_event_handler(nullptr, 1, nullptr, 0, on_event, on_registered, nullptr));
    EXPECT_STATUS(PMIX_ERR_BAD_PARAM,
                  PMIx_Register_event_handler(&code, 1, nullptr, 1, on_event, on_registered, nullptr));
    pmix_info_t required = info("site.needs");
    required.flags = PMIX_INFO_REQD;
    EXPECT_STATUS(PMIX_ERR_NOT_SUPPORTED,
                  PMIx_Register_event_handler(&code, 1, &required, 1, on_event, on_registered, nullptr));
    pmix_info_t first = info(PMIX_EVENT_HDLR_FIRST);  // an int is no truth value
    EXPECT_STATUS(PMIX_ERR_BAD_PARAM, PMIx_Register_event_handler(&code, 1, &first, 1, on_event, nullptr, nullptr));
    first.value.type = PMIX_UNDEF;
    const pmix_status_t reference = PMIx_Register_event_handler(&code, 1, &first, 1, on_event, nullptr, nullptr);
    ASSERT_GE(reference, 0);
    EXPECT_STATUS(PMIX_ERR_EVENT_REGISTRATION,
                  PMIx_Register_event_handler(&code, 1, &first, 1, on_event, nullptr, nullptr));
    EXPECT_STATUS(PMIX_SUCCESS, PMIx_Deregister_event_handler(static_cast<size_t>(reference), nullptr, nullptr));
    EXPECT_STATUS(PMIX_ERR_BAD_PARAM, PMIx_Deregister_event_handler(static_cast<size_t>(reference), nullptr, nullptr));
    EXPECT_STATUS(PMIX_ERR_BAD_PARAM, PMIx_Deregister_event_handler(4711, nullptr, nullptr));

    EXPECT_STATUS(PMIX_SUCCESS, PMIx_Notify_event(code, nullptr, PMIX_RANGE_PROC_LOCAL, nullptr, 0, nullptr, nullptr));
    EXPECT_STATUS(PMIX_ERR_UNREACH, PMIx_Notify_event(code, nullptr, PMIX_RANGE_GLOBAL, nullptr, 0, nullptr, nullptr));
    EXPECT_STATUS(PMIX_ERR_BAD_PARAM, PMIx_Notify_event(code, nullptr, 99, nullptr, 0, nullptr, nullptr));
    EXPECT_STATUS(PMIX_ERR_BAD_PARAM,
                  PMIx_Notify_event(code, nullptr, PMIX_RANGE_CUSTOM, nullptr, 0, nullptr, nullptr));
    EXPECT_STATUS(PMIX_ERR_BAD_PARAM,
                  PMIx_Notify_event(code, nullptr, PMIX_RANGE_PROC_LOCAL, nullptr, 1, nullptr, nullptr));
}

// Alone there is nothing to wait for, but a requirement that nobody meets is not passed over.
TEST_F(Alone, Fence_OfOneselfWithAnUnknownRequirement_IsRefused) {
    EXPECT_STATUS(PMIX_SUCCESS, PMIx_Fence(&self, 1, nullptr, 0));
    pmix_info_t required = info("site.needs");
    required.flags = PMIX_INFO_REQD;
    EXPECT_STATUS(PMIX_ERR_NOT_SUPPORTED, PMIx_Fence(&self, 1, &required, 1));
}

}  // namespace client_bad_input_test

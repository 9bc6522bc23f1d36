/* SPDX-License-Identifier: BSD-3-Clause */
/* Publish/Lookup Operations, and the upcalls that they make. */
#include "check.h"
#include "host.h"

#define PUBLISH "Publish/Lookup Operations / PMIx_Publish"
#define PUBLISH_NB "Publish/Lookup Operations / PMIx_Publish_nb"
#define LOOKUP "Publish/Lookup Operations / PMIx_Lookup"
#define LOOKUP_NB "Publish/Lookup Operations / PMIx_Lookup_nb"
#define UNPUBLISH "Publish/Lookup Operations / PMIx_Unpublish"
#define PUBLISH_UPCALL "Server-Specific Interfaces / pmix_server_publish_fn_t"
#define LOOKUP_UPCALL "Server-Specific Interfaces / pmix_server_lookup_fn_t"
#define UNPUBLISH_UPCALL "Server-Specific Interfaces / pmix_server_unpublish_fn_t"

static void publish_text(const char* key, const char* text) {
    pmix_info_t info = info_of(key, text, PMIX_STRING);
    EXPECT_OPTIONAL(PMIx_Publish(&info, 1), PMIX_SUCCESS);
    PMIX_INFO_DESTRUCT(&info);
}
static pmix_pdata_t asked(const char* key) {
    pmix_pdata_t pdata;
    memset(&pdata, 0, sizeof(pdata));
    PMIX_LOAD_KEY(pdata.key, key);
    return pdata;
}

ROW(publish_found, LOOKUP, "What one process publishes another finds, with the process that published it", .ranks = 2) {
    if (my_rank == 0) publish_text("service", "at port 5");
    barrier(false);
    pmix_pdata_t pdata = asked("service");
    EXPECT_OK(PMIx_Lookup(&pdata, 1, NULL, 0));
    EXPECT_INT(PMIX_STRING, pdata.value.type);
    EXPECT_STRING("at port 5", pdata.value.data.string);
    EXPECT_STRING(me.nspace, pdata.proc.nspace);
    EXPECT_INT(0, pdata.proc.rank);
}
ROW(publish_several, LOOKUP, "Several keys are each returned in their own place", .ranks = 1) {
    pmix_info_t info[3] = {info_of("one", "1", PMIX_STRING), info_of("two", "2", PMIX_STRING),
                           info_of("three", "3", PMIX_STRING)};
    EXPECT_OPTIONAL(PMIx_Publish(info, 3), PMIX_SUCCESS);
    pmix_pdata_t pdata[3] = {asked("three"), asked("one"), asked("two")};
    EXPECT_OK(PMIx_Lookup(pdata, 3, NULL, 0));
    const char *keys[] = {"three", "one", "two"}, *values[] = {"3", "1", "2"};
    for (int i = 0; i < 3; ++i) {
        EXPECT_STRING(keys[i], pdata[i].key);
        EXPECT_STRING(values[i], pdata[i].value.data.string);
    }
}
ROW(lookup_none, LOOKUP, "A key that nobody has published is PMIX_ERR_NOT_FOUND", .ranks = 1) {
    pmix_pdata_t pdata = asked("nothing");
    EXPECT_OPTIONAL(PMIx_Lookup(&pdata, 1, NULL, 0), PMIX_ERR_NOT_FOUND);
    EXPECT_INT(PMIX_UNDEF, pdata.value.type);
}
ROW(lookup_some, LOOKUP,
    "Where only some keys are found the status is PMIX_ERR_PARTIAL_SUCCESS and the others are PMIX_UNDEF", .ranks = 1) {
    publish_text("there", "yes");
    pmix_pdata_t pdata[2] = {asked("absent"), asked("there")};
    EXPECT_STATUS(PMIx_Lookup(pdata, 2, NULL, 0), PMIX_ERR_PARTIAL_SUCCESS);
    EXPECT_INT(PMIX_UNDEF, pdata[0].value.type);
    EXPECT_STRING("yes", pdata[1].value.data.string);
}
ROW(lookup_nothing, LOOKUP, "No keys are an error", .ranks = 1) {
    EXPECT_ERROR(PMIx_Lookup(NULL, 0, NULL, 0));
}
ROW(publish_nothing, PUBLISH, "No data is an error", .ranks = 1) {
    EXPECT_ERROR(PMIx_Publish(NULL, 0));
}
ROW(publish_duplicate, PUBLISH, "A key that is published already is PMIX_ERR_DUPLICATE_KEY", .ranks = 1) {
    publish_text("twice", "first");
    pmix_info_t info = info_of("twice", "second", PMIX_STRING);
    EXPECT_STATUS(PMIx_Publish(&info, 1), PMIX_ERR_DUPLICATE_KEY);
    pmix_pdata_t pdata = asked("twice");
    EXPECT_OK(PMIx_Lookup(&pdata, 1, NULL, 0));
    EXPECT_STRING("first", pdata.value.data.string);
}
ROW(publish_types, PUBLISH, "Published data keeps its type: a byte object", .ranks = 1) {
    pmix_byte_object_t bytes = {"\0\1\2\3", 4};
    pmix_info_t info = info_of("bytes", &bytes, PMIX_BYTE_OBJECT);
    EXPECT_OPTIONAL(PMIx_Publish(&info, 1), PMIX_SUCCESS);
    pmix_pdata_t pdata = asked("bytes");
    EXPECT_OK(PMIx_Lookup(&pdata, 1, NULL, 0));
    EXPECT_INT(PMIX_BYTE_OBJECT, pdata.value.type);
    EXPECT_INT(4, pdata.value.data.bo.size);
    EXPECT(memcmp(pdata.value.data.bo.bytes, bytes.bytes, 4) == 0);
}
ROW(unpublish_removes, UNPUBLISH, "After unpublishing a key is not found, others are", .ranks = 1) {
    publish_text("gone", "1");
    publish_text("stays", "2");
    char* keys[] = {"gone", NULL};
    EXPECT_OK(PMIx_Unpublish(keys, NULL, 0));
    pmix_pdata_t pdata = asked("gone");
    EXPECT_STATUS(PMIx_Lookup(&pdata, 1, NULL, 0), PMIX_ERR_NOT_FOUND);
    pdata = asked("stays");
    EXPECT_OK(PMIx_Lookup(&pdata, 1, NULL, 0));
}
ROW(unpublish_all, UNPUBLISH, "No keys: all data of the caller is removed", .ranks = 1) {
    publish_text("one", "1");
    publish_text("two", "2");
    EXPECT_OK(PMIx_Unpublish(NULL, NULL, 0));
    pmix_pdata_t pdata[2] = {asked("one"), asked("two")};
    EXPECT_STATUS(PMIx_Lookup(pdata, 2, NULL, 0), PMIX_ERR_NOT_FOUND);
}
ROW(publish_again, UNPUBLISH, "An unpublished key can be published again", .ranks = 1) {
    publish_text("key", "old");
    char* keys[] = {"key", NULL};
    EXPECT_OK(PMIx_Unpublish(keys, NULL, 0));
    publish_text("key", "new");
    pmix_pdata_t pdata = asked("key");
    EXPECT_OK(PMIx_Lookup(&pdata, 1, NULL, 0));
    EXPECT_STRING("new", pdata.value.data.string);
}

static struct signal done;
ROW(publish_nb, PUBLISH_NB, "The data is there when the callback is called", .ranks = 1) {
    pmix_info_t info = info_of("key", "value", PMIX_STRING);
    pmix_status_t status =
        EXPECT_OPTIONAL(PMIx_Publish_nb(&info, 1, op_done, &done), PMIX_SUCCESS, PMIX_OPERATION_SUCCEEDED);
    if (status == PMIX_SUCCESS) {
        wait_signal(&done, 1, "the callback");
        EXPECT_OK(done.status);
    }
    pmix_pdata_t pdata = asked("key");
    EXPECT_OK(PMIx_Lookup(&pdata, 1, NULL, 0));
}
ROW(publish_nb_nothing, PUBLISH_NB, "No data is an error without a callback", .ranks = 1) {
    EXPECT_ERROR(PMIx_Publish_nb(NULL, 0, op_done, &done));
    pause_ms(50);
    EXPECT_INT(0, signal_count(&done));
}
static size_t found;
static char found_text[100];
static void on_lookup(pmix_status_t status, pmix_pdata_t data[], size_t ndata, void* cbdata) {
    found = ndata;
    if (ndata > 0) snprintf(found_text, sizeof(found_text), "%s", data[0].value.data.string);
    raise_signal(cbdata, status);
}
ROW(lookup_nb, LOOKUP_NB, "The callback has what was found", .ranks = 1) {
    publish_text("key", "value");
    char* keys[] = {"key", NULL};
    EXPECT_OK(PMIx_Lookup_nb(keys, NULL, 0, on_lookup, &done));
    wait_signal(&done, 1, "the callback");
    EXPECT_OK(done.status);
    EXPECT_INT(1, found);
    EXPECT_STRING("value", found_text);
}
ROW(lookup_nb_none, LOOKUP_NB, "Nothing found is PMIX_ERR_NOT_FOUND in the callback, without data", .ranks = 1) {
    char* keys[] = {"nothing", NULL};
    pmix_status_t status =
        EXPECT_OPTIONAL(PMIx_Lookup_nb(keys, NULL, 0, on_lookup, &done), PMIX_SUCCESS, PMIX_ERR_NOT_FOUND);
    if (status != PMIX_SUCCESS) return;
    wait_signal(&done, 1, "the callback");
    EXPECT_STATUS(done.status, PMIX_ERR_NOT_FOUND);
    EXPECT_INT(0, found);
}
ROW(lookup_nb_no_keys, LOOKUP_NB, "No keys are an error", .ranks = 1) {
    EXPECT_ERROR(PMIx_Lookup_nb(NULL, NULL, 0, on_lookup, &done));
}
ROW(unpublish_nb, "Publish/Lookup Operations / PMIx_Unpublish_nb", "The data is gone when the callback is called",
    .ranks = 1) {
    publish_text("key", "value");
    char* keys[] = {"key", NULL};
    pmix_status_t status = EXPECT_ACCEPTED(PMIx_Unpublish_nb(keys, NULL, 0, op_done, &done));
    if (status == PMIX_SUCCESS) {
        wait_signal(&done, 1, "the callback");
        EXPECT_OK(done.status);
    }
    pmix_pdata_t pdata = asked("key");
    EXPECT_STATUS(PMIx_Lookup(&pdata, 1, NULL, 0), PMIX_ERR_NOT_FOUND);
}

/* ---- the upcalls ---- */

static void publish_checked(void) {
    const struct upcall* upcall = upcall_at("publish", 0);
    EXPECT_INT(0, upcall->proc.rank);
    EXPECT_STRING(row_nspace, upcall->proc.nspace);
    expect_ids(upcall);
    EXPECT(upcall_info(upcall, "key") != NULL);
    const pmix_info_t* range = upcall_info(upcall, PMIX_RANGE);
    EXPECT(range != NULL);
    EXPECT_INT(PMIX_RANGE_GLOBAL, range->value.data.range);
    const pmix_info_t* other = upcall_info(upcall, "pmix.conformance.directive");
    EXPECT(other != NULL);
}
ROW(upcall_publish, PUBLISH_UPCALL, "The host has the publisher, its user and group, the data and all attributes",
    .ranks = 1, .after = publish_checked) {
    pmix_data_range_t range = PMIX_RANGE_GLOBAL;
    pmix_info_t info[3] = {info_of("key", "value", PMIX_STRING), info_of(PMIX_RANGE, &range, PMIX_DATA_RANGE),
                           info_true("pmix.conformance.directive")};
    EXPECT_OPTIONAL(PMIx_Publish(info, 3), PMIX_SUCCESS);
}
static void lookup_checked(void) {
    const struct upcall* upcall = upcall_at("lookup", 0);
    expect_ids(upcall);
    EXPECT_INT(2, upcall->ntext);
    EXPECT_STRING("one", upcall->text[0]);
    EXPECT_STRING("two", upcall->text[1]);
    EXPECT(upcall_info(upcall, PMIX_TIMEOUT) != NULL);
}
ROW(upcall_lookup, LOOKUP_UPCALL, "The host has the keys, user and group, and all attributes", .ranks = 1,
    .after = lookup_checked) {
    pmix_pdata_t pdata[2] = {asked("one"), asked("two")};
    pmix_info_t info = info_timeout(5);
    EXPECT_OPTIONAL(PMIx_Lookup(pdata, 2, &info, 1), PMIX_ERR_NOT_FOUND);
}
static void unpublish_checked(void) {
    const struct upcall* upcall = upcall_at("unpublish", 0);
    expect_ids(upcall);
    EXPECT_INT(1, upcall->ntext);
    EXPECT_STRING("key", upcall->text[0]);
}
ROW(upcall_unpublish, UNPUBLISH_UPCALL, "The host has the keys, user and group", .ranks = 1,
    .after = unpublish_checked) {
    char* keys[] = {"key", NULL};
    EXPECT_OPTIONAL(PMIx_Unpublish(keys, NULL, 0), PMIX_SUCCESS);
}
static void unpublish_all_checked(void) {
    EXPECT(upcall_at("unpublish", 0)->null_text);
}
ROW(upcall_unpublish_all, UNPUBLISH_UPCALL, "No keys are no keys for the host too", .ranks = 1,
    .after = unpublish_all_checked) {
    EXPECT_OPTIONAL(PMIx_Unpublish(NULL, NULL, 0), PMIX_SUCCESS);
}
static void denies(void) {
    host_module.client_connected2 = NULL;
    host_module.client_finalized = NULL;
    host_answer = PMIX_ERR_NO_PERMISSIONS;
}
ROW(upcall_publish_error, PUBLISH_UPCALL, "The error of the host is that of the client", .ranks = 1, .before = denies) {
    pmix_info_t info = info_of("key", "value", PMIX_STRING);
    EXPECT_STATUS(PMIx_Publish(&info, 1), PMIX_ERR_NO_PERMISSIONS);
}
ROW(upcall_lookup_error, LOOKUP_UPCALL, "The error of the host is that of the client", .ranks = 1, .before = denies) {
    pmix_pdata_t pdata = asked("key");
    EXPECT_STATUS(PMIx_Lookup(&pdata, 1, NULL, 0), PMIX_ERR_NO_PERMISSIONS);
}
static void at_once(void) {
    host_answers_at_once = true;
}
ROW(upcall_publish_at_once, PUBLISH_UPCALL, "PMIX_OPERATION_SUCCEEDED of the host completes the request", .ranks = 1,
    .before = at_once) {
    publish_text("key", "value");
    pmix_pdata_t pdata = asked("key");
    EXPECT_OK(PMIx_Lookup(&pdata, 1, NULL, 0));
    EXPECT_STRING("value", pdata.value.data.string);
}
static void no_functions(void) {
    host_module.publish = NULL;
    host_module.lookup = NULL;
    host_module.unpublish = NULL;
}
ROW(upcall_publish_absent, PUBLISH_UPCALL,
    "Without host functions the answer is PMIX_ERR_NOT_SUPPORTED, or the library has a store of its own", .ranks = 1,
    .before = no_functions) {
    pmix_info_t info = info_of("key", "value", PMIX_STRING);
    EXPECT_OPTIONAL(PMIx_Publish(&info, 1), PMIX_SUCCESS);
    pmix_pdata_t pdata = asked("key");
    EXPECT_OK(PMIx_Lookup(&pdata, 1, NULL, 0));
}

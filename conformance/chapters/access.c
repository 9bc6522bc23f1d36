/* SPDX-License-Identifier: BSD-3-Clause */
/* Data Access and Sharing: PMIx_Put, PMIx_Commit, PMIx_Get and their rules, on one node; two_nodes.c has the others. */
#include "check.h"
#include "host.h"

#define PUT "Data Access and Sharing / PMIx_Put"
#define STORE "Data Access and Sharing / PMIx_Store_internal"
#define COMMIT "Data Access and Sharing / PMIx_Commit"
#define GET "Data Access and Sharing / PMIx_Get"
#define GET_NB "Data Access and Sharing / PMIx_Get_nb"
#define RULES "Data Access and Sharing / Retrieval rules for non-reserved keys"

static pmix_proc_t rank_of(pmix_rank_t rank) {
    return proc_of(me.nspace, rank);
}
static pmix_status_t optional_get(const pmix_proc_t* proc, const char* key) {
    pmix_info_t info = info_true(PMIX_OPTIONAL);
    return status_of_get(proc, key, &info, 1);
}

ROW(put_global, PUT, "Data of PMIX_GLOBAL scope reaches a peer", .ranks = 2) {
    put_int(PMIX_GLOBAL, "key", 10 + my_rank);
    EXPECT_OK(PMIx_Commit());
    barrier(true);
    pmix_proc_t peer = rank_of((pmix_rank_t)(1 - my_rank));
    EXPECT_INT(11 - my_rank, get_int(&peer, "key"));
}
ROW(put_reserved, PUT, "A reserved key is PMIX_ERR_BAD_PARAM (since 5.0)", .ranks = 1) {
    pmix_value_t value = value_int(1);
    EXPECT_STATUS(PMIx_Put(PMIX_GLOBAL, PMIX_JOB_SIZE, &value), PMIX_ERR_BAD_PARAM);
    EXPECT_STATUS(PMIx_Put(PMIX_GLOBAL, "pmix.conformance", &value), PMIX_ERR_BAD_PARAM);
}
ROW(put_undefined_scope, PUT, "A scope that is not supported is refused with PMIX_ERR_NOT_SUPPORTED", .ranks = 1) {
    pmix_value_t value = value_int(1);
    EXPECT_STATUS(PMIx_Put((pmix_scope_t)77, "key", &value), PMIX_ERR_NOT_SUPPORTED);
}
ROW(put_null_key, PUT, "No key is an error", .ranks = 1) {
    pmix_value_t value = value_int(1);
    EXPECT_ERROR(PMIx_Put(PMIX_GLOBAL, NULL, &value));
}
ROW(put_null_value, PUT, "No value is an error", .ranks = 1) {
    EXPECT_ERROR(PMIx_Put(PMIX_GLOBAL, "key", NULL));
}
ROW(put_long_key, PUT, "A key that is longer than PMIX_MAX_KEYLEN is an error", .ranks = 1) {
    char key[PMIX_MAX_KEYLEN + 10];
    memset(key, 'k', sizeof(key));
    key[sizeof(key) - 1] = '\0';
    pmix_value_t value = value_int(1);
    EXPECT_ERROR(PMIx_Put(PMIX_GLOBAL, key, &value));
}
ROW(put_longest_key, PUT, "A key of PMIX_MAX_KEYLEN characters travels whole", .ranks = 2) {
    char key[PMIX_MAX_KEYLEN + 1];
    memset(key, 'k', sizeof(key));
    key[PMIX_MAX_KEYLEN] = '\0';
    put_int(PMIX_GLOBAL, key, 20 + my_rank);
    key[PMIX_MAX_KEYLEN - 1] = 'j';
    put_int(PMIX_GLOBAL, key, 30 + my_rank);
    EXPECT_OK(PMIx_Commit());
    barrier(true);
    pmix_proc_t peer = rank_of((pmix_rank_t)(1 - my_rank));
    EXPECT_INT(31 - my_rank, get_int(&peer, key));
    key[PMIX_MAX_KEYLEN - 1] = 'k';
    EXPECT_INT(21 - my_rank, get_int(&peer, key));
}
ROW(put_copies, PUT, "The value is copied before the call returns", .ranks = 1) {
    char text[] = "before";
    pmix_value_t value = value_string(text), *got = NULL;
    EXPECT_OK(PMIx_Put(PMIX_GLOBAL, "key", &value));
    memcpy(text, "after!", 6);
    EXPECT_OK(PMIx_Commit());
    EXPECT_OK(PMIx_Get(&me, "key", NULL, 0, &got));
    EXPECT_STRING("before", got->data.string);
    PMIX_VALUE_RELEASE(got);
}
ROW(put_replaces, PUT, "A later value of the same key replaces the earlier one, before and after the commit",
    .ranks = 2) {
    put_int(PMIX_GLOBAL, "key", 1);
    put_int(PMIX_GLOBAL, "key", 2);
    EXPECT_OK(PMIx_Commit());
    put_int(PMIX_GLOBAL, "key", 3 + my_rank);
    EXPECT_OK(PMIx_Commit());
    barrier(true);
    pmix_proc_t peer = rank_of((pmix_rank_t)(1 - my_rank));
    EXPECT_INT(4 - my_rank, get_int(&peer, "key"));
    EXPECT_INT(3 + my_rank, get_int(&me, "key"));
}
ROW(put_replaces_type, PUT, "The later value may have another type", .ranks = 2) {
    put_int(PMIX_GLOBAL, "key", 1);
    pmix_value_t text = value_string("text"), *got = NULL;
    EXPECT_OK(PMIx_Put(PMIX_GLOBAL, "key", &text));
    EXPECT_OK(PMIx_Commit());
    barrier(true);
    pmix_proc_t peer = rank_of((pmix_rank_t)(1 - my_rank));
    EXPECT_OK(PMIx_Get(&peer, "key", NULL, 0, &got));
    EXPECT_INT(PMIX_STRING, got->type);
    EXPECT_STRING("text", got->data.string);
}
ROW(put_many, PUT, "Hundreds of keys of one process are all found", .ranks = 2) {
    char key[40];
    for (int i = 0; i < 500; ++i) {
        snprintf(key, sizeof(key), "key-%d", i);
        put_int(PMIX_GLOBAL, key, i * 3 + my_rank);
    }
    EXPECT_OK(PMIx_Commit());
    barrier(true);
    pmix_proc_t peer = rank_of((pmix_rank_t)(1 - my_rank));
    for (int i = 0; i < 500; ++i) {
        snprintf(key, sizeof(key), "key-%d", i);
        EXPECT_INT(i * 3 + 1 - my_rank, get_int(&peer, key));
    }
}
ROW(put_large, PUT, "A value of a megabyte arrives whole", .ranks = 2) {
    enum { kSize = 1 << 20 };
    char* bytes = malloc(kSize);
    for (int i = 0; i < kSize; ++i) bytes[i] = (char)(i * 7 + my_rank);
    pmix_value_t value, *got = NULL;
    memset(&value, 0, sizeof(value));
    value.type = PMIX_BYTE_OBJECT;
    value.data.bo.bytes = bytes;
    value.data.bo.size = kSize;
    EXPECT_OK(PMIx_Put(PMIX_GLOBAL, "large", &value));
    EXPECT_OK(PMIx_Commit());
    barrier(true);
    pmix_proc_t peer = rank_of((pmix_rank_t)(1 - my_rank));
    EXPECT_OK(PMIx_Get(&peer, "large", NULL, 0, &got));
    EXPECT_INT(kSize, got->data.bo.size);
    for (int i = 0; i < kSize; ++i) EXPECT(got->data.bo.bytes[i] == (char)(i * 7 + 1 - my_rank));
}
ROW(scope_local, PUT, "Data of PMIX_LOCAL scope reaches a peer of the same node", .ranks = 2) {
    pmix_value_t value = value_int(5 + my_rank);
    EXPECT_OPTIONAL(PMIx_Put(PMIX_LOCAL, "local", &value), PMIX_SUCCESS);
    EXPECT_OK(PMIx_Commit());
    barrier(true);
    pmix_proc_t peer = rank_of((pmix_rank_t)(1 - my_rank));
    EXPECT_INT(6 - my_rank, get_int(&peer, "local"));
}
ROW(scope_remote_hidden, PUT, "Data of PMIX_REMOTE scope is not given to a peer of the same node", .ranks = 2) {
    pmix_value_t value = value_int(5);
    EXPECT_OPTIONAL(PMIx_Put(PMIX_REMOTE, "remote", &value), PMIX_SUCCESS);
    EXPECT_OK(PMIx_Commit());
    barrier(true);
    pmix_proc_t peer = rank_of((pmix_rank_t)(1 - my_rank));
    pmix_info_t info[2] = {info_true(PMIX_IMMEDIATE), info_timeout(2)};
    EXPECT_ERROR(status_of_get(&peer, "remote", info, 2));
}
#ifdef PMIX_ERR_EXISTS_OUTSIDE_SCOPE
ROW(scope_remote_status, GET, "A key whose scope excludes the requester is PMIX_ERR_EXISTS_OUTSIDE_SCOPE", .ranks = 2) {
    pmix_value_t value = value_int(5);
    EXPECT_OPTIONAL(PMIx_Put(PMIX_REMOTE, "remote", &value), PMIX_SUCCESS);
    EXPECT_OK(PMIx_Commit());
    barrier(true);
    pmix_proc_t peer = rank_of((pmix_rank_t)(1 - my_rank));
    pmix_info_t info = info_timeout(2);
    EXPECT_STATUS(status_of_get(&peer, "remote", &info, 1), PMIX_ERR_EXISTS_OUTSIDE_SCOPE);
}
#endif
ROW(scope_own, PUT, "A process finds its own data, whatever the scope", .ranks = 1) {
    const pmix_scope_t scopes[] = {PMIX_LOCAL, PMIX_REMOTE, PMIX_GLOBAL, PMIX_INTERNAL};
    char key[20];
    for (int i = 0; i < 4; ++i) {
        snprintf(key, sizeof(key), "own-%d", i);
        pmix_value_t value = value_int(i);
        pmix_status_t status = PMIx_Put(scopes[i], key, &value);
        if (status == PMIX_ERR_NOT_SUPPORTED && scopes[i] != PMIX_GLOBAL) continue;
        EXPECT_OK(status);
        EXPECT_OK(PMIx_Commit());
        EXPECT_INT(i, get_int(&me, key));
    }
}
ROW(scope_internal_hidden, PUT, "Data of PMIX_INTERNAL scope stays in its process", .ranks = 2) {
    pmix_value_t value = value_int(5);
    EXPECT_OPTIONAL(PMIx_Put(PMIX_INTERNAL, "internal", &value), PMIX_SUCCESS);
    EXPECT_OK(PMIx_Commit());
    barrier(true);
    pmix_proc_t peer = rank_of((pmix_rank_t)(1 - my_rank));
    pmix_info_t info[2] = {info_true(PMIX_IMMEDIATE), info_timeout(2)};
    EXPECT_ERROR(status_of_get(&peer, "internal", info, 2));
}

ROW(store_reserved, STORE, "A reserved key is PMIX_ERR_BAD_PARAM (since 5.0)", .ranks = 1) {
    pmix_value_t value = value_int(1);
    EXPECT_STATUS(PMIx_Store_internal(&me, "pmix.conformance", &value), PMIX_ERR_BAD_PARAM);
}
ROW(store_null, STORE, "No key or no value is an error", .ranks = 1) {
    pmix_value_t value = value_int(1);
    EXPECT_ERROR(PMIx_Store_internal(&me, NULL, &value));
    EXPECT_ERROR(PMIx_Store_internal(&me, "key", NULL));
}
ROW(store_private, STORE, "What is stored is not posted, not even by a commit", .ranks = 2) {
    pmix_value_t value = value_int(5);
    EXPECT_OK(PMIx_Store_internal(&me, "private", &value));
    EXPECT_OK(PMIx_Commit());
    barrier(true);
    EXPECT_INT(5, get_int(&me, "private"));
    pmix_proc_t peer = rank_of((pmix_rank_t)(1 - my_rank));
    pmix_info_t info[2] = {info_true(PMIX_IMMEDIATE), info_timeout(2)};
    EXPECT_ERROR(status_of_get(&peer, "private", info, 2));
}
ROW(store_other_namespace, STORE, "Data of a process of any namespace can be kept", .ranks = 1) {
    pmix_proc_t other = proc_of("conformance-elsewhere", 12);
    pmix_value_t value = value_int(9);
    EXPECT_OK(PMIx_Store_internal(&other, "kept", &value));
    EXPECT_OK(optional_get(&other, "kept"));
}

ROW(commit_nothing, COMMIT, "A commit without data is success", .ranks = 1) {
    EXPECT_OK(PMIx_Commit());
    EXPECT_OK(PMIx_Commit());
}
ROW(commit_twice, COMMIT, "Data of a second commit is added to that of the first", .ranks = 2) {
    put_int(PMIX_GLOBAL, "first", 1);
    EXPECT_OK(PMIx_Commit());
    put_int(PMIX_GLOBAL, "second", 2);
    EXPECT_OK(PMIx_Commit());
    barrier(true);
    pmix_proc_t peer = rank_of((pmix_rank_t)(1 - my_rank));
    EXPECT_INT(1, get_int(&peer, "first"));
    EXPECT_INT(2, get_int(&peer, "second"));
}

ROW(get_null_proc, GET, "No process means the caller", .ranks = 1) {
    put_int(PMIX_GLOBAL, "key", 6);
    EXPECT_OK(PMIx_Commit());
    EXPECT_INT(6, get_int(NULL, "key"));
}
ROW(get_optional_absent, RULES, "With PMIX_OPTIONAL an absent key is PMIX_ERR_NOT_FOUND without asking the server",
    .ranks = 2) {
    pmix_proc_t peer = rank_of((pmix_rank_t)(1 - my_rank));
    EXPECT_STATUS(optional_get(&peer, "absent"), PMIX_ERR_NOT_FOUND);
    EXPECT_STATUS(optional_get(&me, "absent"), PMIX_ERR_NOT_FOUND);
}
ROW(get_immediate_absent, RULES, "With PMIX_IMMEDIATE a key that the server has not is PMIX_ERR_NOT_FOUND",
    .ranks = 2) {
    pmix_proc_t peer = rank_of((pmix_rank_t)(1 - my_rank));
    pmix_info_t info[2] = {info_true(PMIX_IMMEDIATE), info_timeout(5)};
    EXPECT_STATUS(status_of_get(&peer, "absent", info, 2), PMIX_ERR_NOT_FOUND);
}
ROW(get_waits, RULES, "A get of a local process is held until that process commits the key", .ranks = 2) {
    if (my_rank == 0) {
        pmix_proc_t peer = rank_of(1);
        EXPECT_INT(7, get_int(&peer, "late"));
    } else {
        pause_ms(300);
        put_int(PMIX_GLOBAL, "late", 7);
        EXPECT_OK(PMIx_Commit());
    }
    barrier(false);
}
ROW(get_timeout, RULES, "A key that does not appear within PMIX_TIMEOUT is PMIX_ERR_TIMEOUT", .ranks = 2) {
    pmix_proc_t peer = rank_of((pmix_rank_t)(1 - my_rank));
    pmix_info_t info = info_timeout(1);
    EXPECT_STATUS(status_of_get(&peer, "never", &info, 1), PMIX_ERR_TIMEOUT);
    barrier(false);
}
ROW(get_after_timeout, RULES, "After a timeout the key can be read once it is there", .ranks = 2) {
    pmix_proc_t peer = rank_of((pmix_rank_t)(1 - my_rank));
    pmix_info_t info = info_timeout(1);
    EXPECT_STATUS(status_of_get(&peer, "key", &info, 1), PMIX_ERR_TIMEOUT);
    barrier(false);
    put_int(PMIX_GLOBAL, "key", 2);
    EXPECT_OK(PMIx_Commit());
    EXPECT_INT(2, get_int(&peer, "key"));
    barrier(false);
}
ROW(get_uncommitted, RULES, "The own value is found before it is committed", .ranks = 1) {
    put_int(PMIX_GLOBAL, "key", 3);
    EXPECT_OK(optional_get(&me, "key"));
}
ROW(get_undef_rank, RULES, "A globally unique key is found with PMIX_RANK_UNDEF after a fence that collects",
    .ranks = 2) {
    char key[20];
    snprintf(key, sizeof(key), "unique-%d", my_rank);
    put_int(PMIX_GLOBAL, key, 40 + my_rank);
    EXPECT_OK(PMIx_Commit());
    barrier(true);
    pmix_proc_t anyone = rank_of(PMIX_RANK_UNDEF);
    EXPECT_INT(40, get_int(&anyone, "unique-0"));
    EXPECT_INT(41, get_int(&anyone, "unique-1"));
}
ROW(get_undef_rank_timeout, RULES,
    "A key that nobody has posted with PMIX_RANK_UNDEF and a timeout is PMIX_ERR_TIMEOUT", .ranks = 1) {
    pmix_proc_t anyone = rank_of(PMIX_RANK_UNDEF);
    pmix_info_t info = info_timeout(1);
    EXPECT_STATUS(status_of_get(&anyone, "nobody", &info, 1), PMIX_ERR_TIMEOUT);
}
ROW(get_refresh, RULES, "PMIX_GET_REFRESH_CACHE brings the value that a local peer posted later", .ranks = 2) {
    if (my_rank == 1) {
        put_int(PMIX_GLOBAL, "key", 1);
        EXPECT_OK(PMIx_Commit());
    }
    barrier(true);
    pmix_proc_t poster = rank_of(1);
    EXPECT_INT(1, get_int(&poster, "key"));
    barrier(false);
    if (my_rank == 1) {
        put_int(PMIX_GLOBAL, "key", 2);
        EXPECT_OK(PMIx_Commit());
    }
    barrier(false);
    pmix_info_t info[2] = {info_true(PMIX_GET_REFRESH_CACHE), info_timeout(5)};
    pmix_value_t* got = NULL;
    EXPECT_OK(PMIx_Get(&poster, "key", info, 2, &got));
    EXPECT_INT(2, got->data.integer);
    barrier(false);
}
ROW(get_refresh_absent, RULES, "With PMIX_GET_REFRESH_CACHE an absent key is PMIX_ERR_NOT_FOUND", .ranks = 2) {
    pmix_proc_t peer = rank_of((pmix_rank_t)(1 - my_rank));
    pmix_info_t info[2] = {info_true(PMIX_GET_REFRESH_CACHE), info_timeout(3)};
    EXPECT_STATUS(status_of_get(&peer, "absent", info, 2), PMIX_ERR_NOT_FOUND);
    barrier(false);
}
ROW(get_independent, GET, "The value that is returned belongs to the caller: later posts do not change it",
    .ranks = 1) {
    put_int(PMIX_GLOBAL, "key", 1);
    pmix_value_t *got = NULL, *later_got = NULL;
    EXPECT_OK(PMIx_Get(&me, "key", NULL, 0, &got));
    put_int(PMIX_GLOBAL, "key", 2);
    EXPECT_OK(PMIx_Get(&me, "key", NULL, 0, &later_got));
    EXPECT_INT(1, got->data.integer);
    EXPECT_INT(2, later_got->data.integer);
    EXPECT(got != later_got);
    PMIX_VALUE_RELEASE(got);
    PMIX_VALUE_RELEASE(later_got);
}
ROW(get_static, GET, "PMIX_GET_STATIC_VALUES writes into the storage of the caller", .ranks = 1) {
    put_int(PMIX_GLOBAL, "key", 12);
    EXPECT_OK(PMIx_Commit());
    pmix_value_t storage, *pointer = &storage;
    memset(&storage, 0, sizeof(storage));
    pmix_info_t info = info_true(PMIX_GET_STATIC_VALUES);
    EXPECT_OPTIONAL(PMIx_Get(&me, "key", &info, 1, &pointer), PMIX_SUCCESS);
    EXPECT(pointer == &storage);
    EXPECT_INT(PMIX_INT, storage.type);
    EXPECT_INT(12, storage.data.integer);
}
ROW(get_static_null, GET, "PMIX_GET_STATIC_VALUES without storage is PMIX_ERR_BAD_PARAM", .ranks = 1) {
    put_int(PMIX_GLOBAL, "key", 12);
    EXPECT_OK(PMIx_Commit());
    pmix_info_t info = info_true(PMIX_GET_STATIC_VALUES);
    pmix_value_t* pointer = NULL;
    EXPECT_OPTIONAL(PMIx_Get(&me, "key", &info, 1, &pointer), PMIX_ERR_BAD_PARAM);
}
ROW(get_pointer, GET, "PMIX_GET_POINTER_VALUES returns the value, which the caller does not release", .ranks = 1) {
    pmix_value_t value = value_string("in the library"), *got = NULL;
    EXPECT_OK(PMIx_Put(PMIX_GLOBAL, "key", &value));
    EXPECT_OK(PMIx_Commit());
    pmix_info_t info = info_true(PMIX_GET_POINTER_VALUES);
    EXPECT_OPTIONAL(PMIx_Get(&me, "key", &info, 1, &got), PMIX_SUCCESS);
    EXPECT_STRING("in the library", got->data.string);
}
ROW(get_null_key_nothing, GET, "Neither process nor key nor place for the value: an error", .ranks = 1) {
    EXPECT_ERROR(PMIx_Get(NULL, NULL, NULL, 0, NULL));
}
ROW(get_long_key, GET, "A key that is longer than PMIX_MAX_KEYLEN is an error", .ranks = 1) {
    char key[PMIX_MAX_KEYLEN + 10];
    memset(key, 'k', sizeof(key));
    key[sizeof(key) - 1] = '\0';
    pmix_info_t info = info_timeout(2);
    EXPECT_ERROR(status_of_get(&me, key, &info, 1));
}
ROW(get_unknown_rank, GET, "A rank that the job has not is an error, at the latest after the timeout", .ranks = 1) {
    pmix_proc_t nobody = rank_of(500);
    pmix_info_t info = info_timeout(1);
    EXPECT_ERROR(status_of_get(&nobody, "key", &info, 1));
}
ROW(get_unknown_namespace, GET, "A namespace that nobody knows is an error, at the latest after the timeout",
    .ranks = 1) {
    pmix_proc_t nobody = proc_of("conformance-nowhere", 0);
    pmix_info_t info = info_timeout(1);
    EXPECT_ERROR(status_of_get(&nobody, "key", &info, 1));
}
ROW(get_data_scope, GET, "PMIX_DATA_SCOPE searches only data of that scope", .ranks = 1) {
    pmix_value_t value = value_int(1);
    EXPECT_OPTIONAL(PMIx_Put(PMIX_LOCAL, "scoped", &value), PMIX_SUCCESS);
    EXPECT_OK(PMIx_Commit());
    pmix_scope_t local = PMIX_LOCAL, remote = PMIX_REMOTE;
    pmix_info_t here[2] = {info_of(PMIX_DATA_SCOPE, &local, PMIX_SCOPE), info_true(PMIX_OPTIONAL)};
    pmix_info_t there[2] = {info_of(PMIX_DATA_SCOPE, &remote, PMIX_SCOPE), info_true(PMIX_OPTIONAL)};
    EXPECT_OK(status_of_get(&me, "scoped", here, 2));
    EXPECT_ERROR(status_of_get(&me, "scoped", there, 2));
}

/* ---- PMIx_Get_nb ---- */

static struct signal answered;
static pmix_status_t answer_status;
static long long answer_number;
static bool answer_had_value;
static void on_value(pmix_status_t status, pmix_value_t* value, void* cbdata) {
    EXPECT_INT(0x1234, (uintptr_t)cbdata);
    answer_status = status;
    answer_had_value = value != NULL;
    answer_number = value != NULL ? value->data.integer : 0;
    raise_signal(&answered, status);
}
#define COOKIE ((void*)(uintptr_t)0x1234)

ROW(get_nb_found, GET_NB, "The callback has the value and the pointer of the caller", .ranks = 1) {
    put_int(PMIX_GLOBAL, "key", 4);
    EXPECT_OK(PMIx_Commit());
    EXPECT_OK(PMIx_Get_nb(&me, "key", NULL, 0, on_value, COOKIE));
    wait_signal(&answered, 1, "the callback");
    EXPECT_OK(answer_status);
    EXPECT_INT(4, answer_number);
    pause_ms(50);
    EXPECT_INT(1, signal_count(&answered));
}
ROW(get_nb_absent, GET_NB, "An absent key is PMIX_ERR_NOT_FOUND in the callback or at once, not both", .ranks = 1) {
    pmix_info_t info = info_true(PMIX_OPTIONAL);
    pmix_status_t status = PMIx_Get_nb(&me, "absent", &info, 1, on_value, COOKIE);
    if (status == PMIX_SUCCESS) {
        wait_signal(&answered, 1, "the callback");
        EXPECT_STATUS(answer_status, PMIX_ERR_NOT_FOUND);
    } else {
        EXPECT_STATUS(status, PMIX_ERR_NOT_FOUND);
        pause_ms(50);
        EXPECT_INT(0, signal_count(&answered));
    }
}
ROW(get_nb_waits, GET_NB, "The callback follows when a peer posts the key", .ranks = 2) {
    if (my_rank == 0) {
        pmix_proc_t peer = rank_of(1);
        pmix_info_t info = info_timeout(10);
        EXPECT_OK(PMIx_Get_nb(&peer, "late", &info, 1, on_value, COOKIE));
        EXPECT_INT(0, signal_count(&answered));
        barrier(false);
        wait_signal(&answered, 1, "the callback");
        EXPECT_OK(answer_status);
        EXPECT_INT(8, answer_number);
    } else {
        barrier(false);
        put_int(PMIX_GLOBAL, "late", 8);
        EXPECT_OK(PMIx_Commit());
    }
    barrier(false);
}
ROW(get_nb_timeout, GET_NB, "After PMIX_TIMEOUT the callback has PMIX_ERR_TIMEOUT and no value", .ranks = 2) {
    pmix_proc_t peer = rank_of((pmix_rank_t)(1 - my_rank));
    pmix_info_t info = info_timeout(1);
    EXPECT_OK(PMIx_Get_nb(&peer, "never", &info, 1, on_value, COOKIE));
    wait_signal(&answered, 1, "the callback");
    EXPECT_STATUS(answer_status, PMIX_ERR_TIMEOUT);
    EXPECT(!answer_had_value);
    barrier(false);
}
ROW(get_nb_many, GET_NB, "A hundred requests at the same time each have one callback", .ranks = 2) {
    if (my_rank == 0) {
        pmix_proc_t peer = rank_of(1);
        pmix_info_t info = info_timeout(10);
        for (int i = 0; i < 100; ++i) EXPECT_OK(PMIx_Get_nb(&peer, "late", &info, 1, on_value, COOKIE));
        barrier(false);
        wait_signal(&answered, 100, "the callbacks");
        pause_ms(50);
        EXPECT_INT(100, signal_count(&answered));
    } else {
        barrier(false);
        put_int(PMIX_GLOBAL, "late", 8);
        EXPECT_OK(PMIx_Commit());
    }
    barrier(false);
}
static struct signal nested;
static void on_nested(pmix_status_t status, pmix_value_t* value, void* cbdata) {
    (void)value;
    (void)cbdata;
    raise_signal(&nested, status);
}
static void on_value_again(pmix_status_t status, pmix_value_t* value, void* cbdata) {
    (void)status;
    (void)value;
    (void)cbdata;
    pmix_status_t inner = PMIx_Get_nb(&me, "key", NULL, 0, on_nested, NULL);
    if (inner != PMIX_SUCCESS) raise_signal(&nested, inner);
}
ROW(get_nb_in_callback, GET_NB, "A callback may make the next request", .ranks = 1) {
    put_int(PMIX_GLOBAL, "key", 4);
    EXPECT_OK(PMIx_Commit());
    EXPECT_OK(PMIx_Get_nb(&me, "key", NULL, 0, on_value_again, NULL));
    wait_signal(&nested, 1, "the callback of the inner request");
    EXPECT_OK(nested.status);
}
ROW(get_nb_no_callback, GET_NB, "No callback is an error", .ranks = 1) {
    EXPECT_ERROR(PMIx_Get_nb(&me, "key", NULL, 0, NULL, NULL));
}
ROW(get_nb_static, GET_NB, "PMIX_GET_STATIC_VALUES cannot be supported and is an error", .ranks = 1) {
    put_int(PMIX_GLOBAL, "key", 4);
    pmix_info_t info = info_true(PMIX_GET_STATIC_VALUES);
    PMIX_INFO_REQUIRED(&info);
    pmix_status_t status = PMIx_Get_nb(&me, "key", &info, 1, on_value, COOKIE);
    if (status == PMIX_SUCCESS) {
        wait_signal(&answered, 1, "the callback");
        status = answer_status;
    }
    EXPECT_ERROR(status);
}

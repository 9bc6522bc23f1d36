/* SPDX-License-Identifier: BSD-3-Clause */
/* data_keys: several values under one key, told apart by qualifiers, and keys that are deleted.
 * usage: data_keys qualified|deleted */
#include "check.h"

/* A value and a qualifier of it; PMIX_INFO_QUALIFIER marks the latter. */
static pmix_status_t put_qualified(pmix_scope_t scope, const char* key, uint32_t number, const char* colour,
                                   size_t size) {
    pmix_value_t value;
    pmix_data_array_t array;
    PMIX_DATA_ARRAY_CONSTRUCT(&array, size ? 3 : 2, PMIX_INFO);
    pmix_info_t* infos = array.array;
    PMIX_INFO_LOAD(&infos[0], key, &number, PMIX_UINT32);
    PMIX_INFO_LOAD(&infos[1], "test.colour", colour, PMIX_STRING);
    PMIX_INFO_SET_QUALIFIER(&infos[1]);
    if (size) PMIX_INFO_LOAD(&infos[2], "test.size", &size, PMIX_SIZE);
    if (size) PMIX_INFO_SET_QUALIFIER(&infos[2]);
    value.type = PMIX_DATA_ARRAY;
    value.data.darray = &array;
    pmix_status_t status = PMIx_Put(scope, PMIX_QUALIFIED_VALUE, &value);
    PMIX_DATA_ARRAY_DESTRUCT(&array);
    return status;
}

struct got_number {
    struct signal_box box;
    uint32_t number;
};

static void take_number(pmix_status_t status, pmix_value_t* value, void* cbdata) {
    struct got_number* got = cbdata;
    if (status == PMIX_SUCCESS && value->type == PMIX_UINT32) got->number = value->data.uint32;
    box_signal(&got->box, status);
}

/* The number, or 0 with a status that is not PMIX_SUCCESS. Waits no longer than two minutes. */
static uint32_t get_qualified(pmix_rank_t rank, const char* key, const char* colour, size_t size, bool here_only) {
    pmix_proc_t proc = rank_of_job(rank);
    pmix_info_t infos[4];
    const int seconds = 120;
    size_t n = 0;
    PMIX_INFO_LOAD(&infos[n++], PMIX_TIMEOUT, &seconds, PMIX_INT);
    PMIX_INFO_LOAD(&infos[n++], PMIX_OPTIONAL, &here_only, PMIX_BOOL);
    if (size) PMIX_INFO_LOAD(&infos[n], "test.size", &size, PMIX_SIZE);
    if (size) PMIX_INFO_SET_QUALIFIER(&infos[n]), n++;
    if (colour) PMIX_INFO_LOAD(&infos[n], "test.colour", colour, PMIX_STRING);
    if (colour) PMIX_INFO_SET_QUALIFIER(&infos[n]), n++;
    pmix_value_t* value = NULL;
    uint32_t number = 0;
    pmix_status_t status = PMIx_Get(&proc, key, infos, n, &value);
    CHECK(status == PMIX_SUCCESS || status == PMIX_ERR_NOT_FOUND);
    if (status == PMIX_SUCCESS) {
        CHECK(value->type == PMIX_UINT32);
        number = value->data.uint32;
        PMIX_VALUE_RELEASE(value);
        /* The other form finds the same. */
        struct got_number got = {.box = SIGNAL_BOX, .number = 0};
        CHECK_OK(PMIx_Get_nb(&proc, key, infos, n, take_number, &got));
        CHECK(box_wait(&got.box, 1, 120));
        CHECK(got.number == number);
    }
    for (size_t i = 0; i < n; i++) PMIX_INFO_DESTRUCT(&infos[i]);
    return number;
}

/* Values of one key with different qualifiers lie beside each other and beside the one without; each is found by its
 * own, here and on other nodes. rows: K36
 * proves: PMIx_Put PMIX_QUALIFIED_VALUE */
static void qualified(int argc, char** argv) {
    (void)argc, (void)argv;
    start();
    const pmix_rank_t next = (me.rank + 1) % job_size;
    const uint32_t mine = me.rank * 100;
    CHECK_OK(put_qualified(PMIX_GLOBAL, "test.number", mine + 1, "red", 0));
    CHECK_OK(put_qualified(PMIX_GLOBAL, "test.number", mine + 2, "blue", 0));
    CHECK_OK(put_u32(PMIX_GLOBAL, "test.number", mine + 3));
    CHECK_OK(put_qualified(PMIX_GLOBAL, "test.number", mine + 4, "green", 7));
    CHECK_OK(put_qualified(PMIX_GLOBAL, "test.other", mine + 5, "red", 0)); /* and nothing without */
    /* The same qualifiers again: that one is replaced, and only that one. */
    CHECK_OK(put_qualified(PMIX_GLOBAL, "test.number", mine + 6, "blue", 0));
    CHECK_OK(PMIx_Commit());
    fence(true);
    const pmix_rank_t ranks[] = {me.rank, next};
    for (size_t i = 0; i < 2; i++) {
        const uint32_t base = ranks[i] * 100;
        CHECK(get_qualified(ranks[i], "test.number", "red", 0, false) == base + 1);
        CHECK(get_qualified(ranks[i], "test.number", "blue", 0, false) == base + 6);
        CHECK(get_qualified(ranks[i], "test.number", NULL, 0, false) == base + 3);
        CHECK(get_qualified(ranks[i], "test.number", "green", 7, false) == base + 4);
        CHECK(get_qualified(ranks[i], "test.number", "green", 0, true) == base + 4); /* these, and more */
        CHECK(get_qualified(ranks[i], "test.number", NULL, 7, true) == base + 4);
        CHECK(get_qualified(ranks[i], "test.number", "green", 8, true) == 0);
        CHECK(get_qualified(ranks[i], "test.number", "yellow", 0, true) == 0);
        CHECK(get_qualified(ranks[i], "test.other", "red", 0, false) == base + 5);
        CHECK(get_qualified(ranks[i], "test.other", NULL, 0, true) == 0);
    }
    /* All that a process has: what is qualified is shown with its qualifiers. */
    pmix_value_t* all = NULL;
    pmix_proc_t peer = rank_of_job(next);
    CHECK_OK(PMIx_Get(&peer, NULL, NULL, 0, &all));
    CHECK(all->type == PMIX_DATA_ARRAY && all->data.darray->type == PMIX_INFO);
    int plain = 0, with_qualifiers = 0;
    for (size_t i = 0; i < all->data.darray->size; i++) {
        const pmix_info_t* info = (pmix_info_t*)all->data.darray->array + i;
        plain += PMIX_CHECK_KEY(info, "test.number");
        if (!PMIX_CHECK_KEY(info, PMIX_QUALIFIED_VALUE)) continue;
        const pmix_info_t* inside = info->value.data.darray->array;
        CHECK(info->value.data.darray->size >= 2 && PMIX_INFO_IS_QUALIFIER(&inside[1]));
        with_qualifiers++;
    }
    CHECK(plain == 1 && with_qualifiers == 4);
    PMIX_VALUE_RELEASE(all);
    fence(false);
    /* One that comes later is waited for, although another of the key is there; it comes from one node only. */
    if (me.rank == 0) {
        CHECK_OK(put_qualified(PMIX_GLOBAL, "test.number", 77, "late", 0));
        CHECK_OK(PMIx_Commit());
    }
    CHECK(get_qualified(0, "test.number", "late", 0, false) == 77);
    fence(false);
    /* What is no array, or has nothing in front, is refused. */
    pmix_value_t value = {.type = PMIX_UINT32, .data.uint32 = 1};
    CHECK_STATUS(PMIx_Put(PMIX_GLOBAL, PMIX_QUALIFIED_VALUE, &value), PMIX_ERR_BAD_PARAM);
    pmix_data_array_t none = {.type = PMIX_INFO};
    value.type = PMIX_DATA_ARRAY, value.data.darray = &none;
    CHECK_STATUS(PMIx_Put(PMIX_GLOBAL, PMIX_QUALIFIED_VALUE, &value), PMIX_ERR_BAD_PARAM);
    finish();
}

/* A Get that neither waits nor leaves this process. */
static pmix_status_t here(pmix_rank_t rank, const char* key) {
    pmix_proc_t proc = rank_of_job(rank);
    pmix_value_t* value = NULL;
    pmix_info_t info;
    PMIX_INFO_LOAD(&info, PMIX_OPTIONAL, NULL, PMIX_BOOL);
    pmix_status_t status = PMIx_Get(&proc, key, &info, 1, &value);
    PMIX_INFO_DESTRUCT(&info);
    if (status == PMIX_SUCCESS) PMIX_VALUE_RELEASE(value);
    return status;
}

static bool listed(pmix_rank_t rank, const char* key) {
    pmix_proc_t proc = rank_of_job(rank);
    pmix_value_t* all = NULL;
    CHECK_OK(PMIx_Get(&proc, NULL, NULL, 0, &all));
    bool found = false;
    for (size_t i = 0; i < all->data.darray->size; i++)
        found |= PMIX_CHECK_KEY((pmix_info_t*)all->data.darray->array + i, key);
    PMIX_VALUE_RELEASE(all);
    return found;
}

/* A key is deleted by the scopes that name its peers: at once for the process itself, for peers of its node with the
 * commit, for processes of other nodes with the next fence that collects; a later put brings it back.
 * rows: K38 */
static void deleted(int argc, char** argv) {
    enum { GONE = PMIX_ERR_NOT_FOUND };
    static const struct {
        const char* key;
        pmix_scope_t put, removed;
        pmix_status_t own, local, remote; /* afterwards, here */
    } keys[] = {{"all.all", PMIX_GLOBAL, PMIX_DEL_GLOBAL, GONE, GONE, GONE},
                {"all.local", PMIX_GLOBAL, PMIX_DEL_LOCAL, PMIX_SUCCESS, GONE, PMIX_SUCCESS},
                {"all.remote", PMIX_GLOBAL, PMIX_DEL_REMOTE, PMIX_SUCCESS, PMIX_SUCCESS, GONE},
                {"all.mine", PMIX_GLOBAL, PMIX_DEL_INTERNAL, PMIX_SUCCESS, PMIX_SUCCESS, PMIX_SUCCESS},
                {"local.local", PMIX_LOCAL, PMIX_DEL_LOCAL, GONE, GONE, GONE},
                {"local.remote", PMIX_LOCAL, PMIX_DEL_REMOTE, PMIX_SUCCESS, PMIX_SUCCESS, GONE},
                {"local.all", PMIX_LOCAL, PMIX_DEL_GLOBAL, GONE, GONE, GONE},
                {"remote.local", PMIX_REMOTE, PMIX_DEL_LOCAL, PMIX_SUCCESS, GONE, PMIX_SUCCESS},
                {"remote.remote", PMIX_REMOTE, PMIX_DEL_REMOTE, GONE, GONE, GONE},
                {"remote.all", PMIX_REMOTE, PMIX_DEL_GLOBAL, GONE, GONE, GONE},
                {"mine.mine", PMIX_INTERNAL, PMIX_DEL_INTERNAL, GONE, GONE, GONE},
                {"mine.all", PMIX_INTERNAL, PMIX_DEL_GLOBAL, PMIX_SUCCESS, GONE, GONE}};
    enum { KEYS = sizeof keys / sizeof keys[0] };
    (void)argc, (void)argv;
    uint32_t number = 0;
    pmix_value_t ignored = {.type = PMIX_UINT32};
    start();
    for (int i = 0; i < KEYS; i++) CHECK_OK(put_u32(keys[i].put, keys[i].key, me.rank));
    CHECK_OK(put_u32(PMIX_GLOBAL, "stays", me.rank));
    CHECK_OK(put_qualified(PMIX_GLOBAL, "number", me.rank + 1, "red", 0));
    CHECK_OK(put_qualified(PMIX_GLOBAL, "number", me.rank + 2, "blue", 0));
    CHECK_OK(PMIx_Commit());
    fence(true);
    for (uint32_t rank = 0; rank < job_size; rank++) {
        if (rank == me.rank) continue;
        for (int i = 0; i < KEYS; i++) {
            const bool shown =
                keys[i].put == PMIX_GLOBAL || keys[i].put == (same_node(me.rank, rank) ? PMIX_LOCAL : PMIX_REMOTE);
            CHECK_STATUS(here(rank, keys[i].key), shown ? PMIX_SUCCESS : GONE);
        }
    }
    fence(false);

    for (int i = 0; i < KEYS; i++) {
        CHECK_OK(PMIx_Put(keys[i].removed, keys[i].key, i % 2 ? NULL : &ignored));
        CHECK_STATUS(here(me.rank, keys[i].key), keys[i].own);
        CHECK(listed(me.rank, keys[i].key) == (keys[i].own == PMIX_SUCCESS));
    }
    CHECK_OK(put_qualified(PMIX_DEL_GLOBAL, "number", 0, "red", 0));
    CHECK(get_qualified(me.rank, "number", "red", 0, true) == 0);
    CHECK(get_qualified(me.rank, "number", "blue", 0, true) == me.rank + 2);
    /* What nobody has put is no error; nor is a key that is put and deleted between two commits. */
    for (pmix_scope_t scope = PMIX_DEL_LOCAL; scope <= PMIX_DEL_INTERNAL; scope++)
        CHECK_OK(PMIx_Put(scope, "never", NULL));
    CHECK_STATUS(PMIx_Put(PMIX_DEL_INTERNAL + 1, "never", NULL), PMIX_ERR_BAD_PARAM);
    CHECK_STATUS(PMIx_Put(PMIX_DEL_INTERNAL + 1, "never", &ignored), PMIX_ERR_NOT_SUPPORTED);
    CHECK_STATUS(PMIx_Put(PMIX_DEL_GLOBAL, NULL, NULL), PMIX_ERR_BAD_PARAM);
    CHECK_STATUS(PMIx_Put(PMIX_DEL_GLOBAL, "", NULL), PMIX_ERR_BAD_PARAM);
    CHECK_STATUS(PMIx_Put(PMIX_DEL_GLOBAL, PMIX_QUALIFIED_VALUE, NULL), PMIX_ERR_BAD_PARAM);
    CHECK_OK(put_u32(PMIX_GLOBAL, "shortly", 1));
    CHECK_OK(PMIx_Put(PMIX_DEL_GLOBAL, "shortly", NULL));
    CHECK_OK(put_u32(PMIX_GLOBAL, "anew", 1));
    CHECK_OK(PMIx_Put(PMIX_DEL_GLOBAL, "anew", NULL));
    CHECK_OK(put_u32(PMIX_GLOBAL, "anew", 2));
    CHECK_OK(PMIx_Commit());
    /* Nobody collects: processes of other nodes go on to find what they have. */
    fence(false);
    for (uint32_t rank = 0; rank < job_size; rank++) {
        if (rank == me.rank) continue;
        const bool local = same_node(me.rank, rank);
        for (int i = 0; i < KEYS; i++) {
            const bool had = keys[i].put == PMIX_GLOBAL || keys[i].put == PMIX_REMOTE;
            CHECK_STATUS(here(rank, keys[i].key), local ? keys[i].local : had ? PMIX_SUCCESS : GONE);
        }
    }
    fence(true);
    for (uint32_t rank = 0; rank < job_size; rank++) {
        const bool local = same_node(me.rank, rank);
        pmix_proc_t proc = rank_of_job(rank);
        for (int i = 0; i < KEYS; i++) {
            const pmix_status_t wanted = rank == me.rank ? keys[i].own : local ? keys[i].local : keys[i].remote;
            CHECK_STATUS(here(rank, keys[i].key), wanted);
            CHECK(listed(rank, keys[i].key) == (wanted == PMIX_SUCCESS));
            if (rank == me.rank) continue;
            /* Asked for with the server's help, and the host's. */
            const bool outside = wanted != PMIX_SUCCESS && (local ? keys[i].remote : keys[i].local) == PMIX_SUCCESS;
            CHECK_STATUS(get_u32(&proc, keys[i].key, 0, &number), outside ? PMIX_ERR_EXISTS_OUTSIDE_SCOPE : wanted);
        }
        CHECK_STATUS(here(rank, "never"), GONE);
        CHECK_STATUS(here(rank, "shortly"), GONE);
        CHECK_OK(get_u32(&proc, "anew", 0, &number));
        CHECK(number == 2);
        CHECK_OK(here(rank, "stays"));
        CHECK(get_qualified(rank, "number", "red", 0, true) == 0);
        CHECK(get_qualified(rank, "number", "blue", 0, true) == rank + 2);
    }
    const pmix_rank_t next = (me.rank + 1) % job_size, previous = (me.rank + job_size - 1) % job_size;
    pmix_proc_t proc = rank_of_job(next);
    CHECK_STATUS(get_u32(&proc, "all.all", 1, &number), PMIX_ERR_TIMEOUT);
    fence(false);
    /* A deleted key is waited for as one that was never put. */
    if (me.rank % 2) {
        CHECK_OK(get_u32(&proc, "all.all", 600, &number));
        CHECK(number == 1000 + next);
    }
    CHECK_OK(put_u32(PMIX_GLOBAL, "all.all", 1000 + me.rank));
    CHECK_OK(PMIx_Commit());
    proc = rank_of_job(previous);
    CHECK_OK(get_u32(&proc, "all.all", 600, &number));
    CHECK(number == 1000 + previous);
    fence(true);
    for (uint32_t rank = 0; rank < job_size; rank++) CHECK_OK(here(rank, "all.all"));
    fence(false);
    finish();
}

int main(int argc, char** argv) {
    static const struct test_case cases[] = {{"qualified", qualified}, {"deleted", deleted}};
    RUN_CASE(cases);
    return 0;
}

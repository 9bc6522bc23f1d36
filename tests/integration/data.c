/* SPDX-License-Identifier: BSD-3-Clause */
/* data: put, commit, fence, get over nodes.
 * usage: data types|scopes|replace|large|many|fresh|uncommitted|own */
#include <stdatomic.h>

#include "check.h"

static pmix_status_t get(pmix_rank_t rank, const char* key, const char* directive, pmix_value_t** value) {
    pmix_proc_t proc = rank_of_job(rank);
    pmix_info_t info;
    PMIX_INFO_LOAD(&info, directive ? directive : PMIX_OPTIONAL, NULL, PMIX_BOOL);
    pmix_status_t status = PMIx_Get(&proc, key, &info, directive != NULL, value);
    PMIX_INFO_DESTRUCT(&info);
    return status;
}

/* --- every type ----------------------------------------------------------------------------------------------------
 */

enum { TYPES = 12 };

static void make_value(pmix_value_t* value, int which, uint32_t rank, char* text) {
    static char bytes[256];
    static pmix_proc_t proc;
    static uint32_t numbers[4];
    static pmix_data_array_t array;
    memset(value, 0, sizeof *value);
    snprintf(text, 64, "text of %u", rank);
    memset(bytes, (int)(rank & 0xff), sizeof bytes);
    PMIX_LOAD_PROCID(&proc, "another", rank);
    for (uint32_t i = 0; i < 4; i++) numbers[i] = rank * 10 + i;
    array = (pmix_data_array_t){.type = PMIX_UINT32, .size = 4, .array = numbers};
    switch (which) {
        case 0:
            value->type = PMIX_BOOL, value->data.flag = rank & 1;
            break;
        case 1:
            value->type = PMIX_BYTE, value->data.byte = (uint8_t)rank;
            break;
        case 2:
            value->type = PMIX_STRING, value->data.string = text;
            break;
        case 3:
            value->type = PMIX_INT, value->data.integer = -(int)rank;
            break;
        case 4:
            value->type = PMIX_UINT16, value->data.uint16 = (uint16_t)(1000 + rank);
            break;
        case 5:
            value->type = PMIX_INT64, value->data.int64 = -1 - ((int64_t)rank << 40);
            break;
        case 6:
            value->type = PMIX_DOUBLE, value->data.dval = rank + 0.25;
            break;
        case 7:
            value->type = PMIX_BYTE_OBJECT, value->data.bo = (pmix_byte_object_t){bytes, sizeof bytes};
            break;
        case 8:
            value->type = PMIX_PROC, value->data.proc = &proc;
            break;
        case 9:
            value->type = PMIX_DATA_ARRAY, value->data.darray = &array;
            break;
        case 10:
            value->type = PMIX_TIMEVAL, value->data.tv = (struct timeval){rank, 7};
            break;
        default:
            value->type = PMIX_STATUS, value->data.status = -(pmix_status_t)rank;
            break;
    }
}

static bool same_value(const pmix_value_t* a, const pmix_value_t* b) {
    if (a->type != b->type) return false;
    switch (a->type) {
        case PMIX_BOOL:
            return a->data.flag == b->data.flag;
        case PMIX_BYTE:
            return a->data.byte == b->data.byte;
        case PMIX_STRING:
            return strcmp(a->data.string, b->data.string) == 0;
        case PMIX_INT:
            return a->data.integer == b->data.integer;
        case PMIX_UINT16:
            return a->data.uint16 == b->data.uint16;
        case PMIX_INT64:
            return a->data.int64 == b->data.int64;
        case PMIX_DOUBLE:
            return a->data.dval == b->data.dval;
        case PMIX_BYTE_OBJECT:
            return a->data.bo.size == b->data.bo.size &&
                   memcmp(a->data.bo.bytes, b->data.bo.bytes, b->data.bo.size) == 0;
        case PMIX_PROC:
            return PMIX_CHECK_PROCID(a->data.proc, b->data.proc);
        case PMIX_DATA_ARRAY:
            return a->data.darray->type == b->data.darray->type && a->data.darray->size == b->data.darray->size &&
                   memcmp(a->data.darray->array, b->data.darray->array, b->data.darray->size * sizeof(uint32_t)) == 0;
        case PMIX_TIMEVAL:
            return a->data.tv.tv_sec == b->data.tv.tv_sec && a->data.tv.tv_usec == b->data.tv.tv_usec;
        case PMIX_STATUS:
            return a->data.status == b->data.status;
        default:
            return false;
    }
}

/* rows: K1 K3 K6 K10 K13 F2 */
static void types(int argc, char** argv) {
    (void)argc, (void)argv;
    pmix_value_t value, *got = NULL;
    char key[32], text[64];
    start();
    for (int which = 0; which < TYPES; which++) {
        snprintf(key, sizeof key, "type.%d", which);
        make_value(&value, which, me.rank, text);
        CHECK_OK(PMIx_Put(PMIX_GLOBAL, key, &value));
    }
    memset(text, 'x', sizeof text - 1); /* Put has copied */
    CHECK_OK(PMIx_Commit());
    fence(true);
    for (uint32_t rank = 0; rank < job_size; rank++) {
        for (int which = 0; which < TYPES; which++) {
            snprintf(key, sizeof key, "type.%d", which);
            make_value(&value, which, rank, text);
            CHECK_OK(get(rank, key, NULL, &got));
            CHECK(same_value(got, &value));
            PMIX_VALUE_RELEASE(got);
        }
    }
    CHECK_OK(PMIx_Get(NULL, "type.2", NULL, 0, &got)); /* no process named: oneself */
    PMIX_VALUE_RELEASE(got);
    finish();
}

static pmix_status_t get_in_scope(uint32_t rank, const char* key, pmix_scope_t scope, uint32_t* number) {
    pmix_proc_t peer = rank_of_job(rank);
    pmix_value_t* got = NULL;
    pmix_info_t info;
    PMIX_INFO_LOAD(&info, PMIX_DATA_SCOPE, &scope, PMIX_SCOPE);
    pmix_status_t rc = PMIx_Get(&peer, key, &info, 1, &got);
    if (rc != PMIX_SUCCESS) return rc;
    *number = got->data.uint32;
    PMIX_VALUE_RELEASE(got);
    return rc;
}

/* Scopes: the same key in two scopes, and keys that are not for the requester. rows: K1 K5 K29 K30 */
static void scopes(int argc, char** argv) {
    (void)argc, (void)argv;
    uint32_t number = 0;
    start();
    CHECK_OK(put_u32(PMIX_LOCAL, "both", 1000 + me.rank));
    CHECK_OK(put_u32(PMIX_REMOTE, "both", 2000 + me.rank));
    CHECK_OK(put_u32(PMIX_GLOBAL, "for.all", 3000 + me.rank));
    CHECK_OK(put_u32(PMIX_LOCAL, "only.local", me.rank));
    CHECK_OK(put_u32(PMIX_REMOTE, "only.remote", me.rank));
    CHECK_OK(put_u32(PMIX_INTERNAL, "only.mine", me.rank));
    CHECK_OK(PMIx_Commit());
    fence(true);
    CHECK_OK(get_u32(&me, "both", 60, &number)); /* what was put last */
    CHECK(number == 2000 + me.rank);
    CHECK_OK(get_in_scope(me.rank, "both", PMIX_LOCAL, &number));
    CHECK(number == 1000 + me.rank);
    CHECK_OK(get_in_scope(me.rank, "both", PMIX_REMOTE, &number));
    CHECK(number == 2000 + me.rank);
    CHECK_OK(get_u32(&me, "only.mine", 60, &number));
    CHECK(number == me.rank);
    CHECK_OK(get_u32(&me, "only.remote", 60, &number)); /* one always finds one's own */
    for (uint32_t rank = 0; rank < job_size; rank++) {
        if (rank == me.rank) continue;
        pmix_proc_t peer = rank_of_job(rank);
        bool local = same_node(me.rank, rank);
        CHECK_OK(get_u32(&peer, "both", 60, &number));
        CHECK(number == (local ? 1000 : 2000) + rank);
        CHECK_OK(get_u32(&peer, local ? "only.local" : "only.remote", 60, &number));
        CHECK(number == rank);
        CHECK_STATUS(get_u32(&peer, local ? "only.remote" : "only.local", 60, &number), PMIX_ERR_EXISTS_OUTSIDE_SCOPE);
        /* A value for everybody is data of either scope. */
        CHECK_OK(get_in_scope(rank, "for.all", PMIX_LOCAL, &number));
        CHECK(number == 3000 + rank);
        CHECK_OK(get_in_scope(rank, "for.all", PMIX_REMOTE, &number));
        CHECK(number == 3000 + rank);
        CHECK_OK(get_in_scope(rank, "both", local ? PMIX_LOCAL : PMIX_REMOTE, &number));
        CHECK_STATUS(get_in_scope(rank, "both", local ? PMIX_REMOTE : PMIX_LOCAL, &number), PMIX_ERR_NOT_FOUND);
    }
    fence(false);
    finish();
}

/* The last value counts, also when it has another type. rows: K4 K8 K18 */
static void replace(int argc, char** argv) {
    (void)argc, (void)argv;
    uint32_t number = 0;
    pmix_value_t text = {.type = PMIX_STRING, .data.string = "words"}, *got = NULL;
    start();
    CHECK_OK(PMIx_Commit()); /* nothing staged is fine */
    CHECK_OK(put_u32(PMIX_GLOBAL, "again", 1));
    CHECK_OK(get_u32(&me, "again", 0, &number)); /* own data needs no commit */
    CHECK(number == 1);
    CHECK_OK(put_u32(PMIX_GLOBAL, "again", 2));
    CHECK_OK(PMIx_Commit());
    fence(true);
    for (uint32_t rank = 0; rank < job_size; rank++) {
        pmix_proc_t peer = rank_of_job(rank);
        CHECK_OK(get_u32(&peer, "again", 60, &number));
        CHECK(number == 2);
    }
    fence(false);
    CHECK_OK(PMIx_Put(PMIX_GLOBAL, "again", &text));
    CHECK_OK(PMIx_Commit());
    CHECK_OK(PMIx_Commit());
    fence(true);
    for (uint32_t rank = 0; rank < job_size; rank++) {
        CHECK_OK(get(rank, "again", NULL, &got));
        CHECK(same_value(got, &text));
        PMIX_VALUE_RELEASE(got);
    }
    fence(false);
    finish();
}

/* 100 KiB a rank, incompressible. rows: F2 */
static void large(int argc, char** argv) {
    enum { SIZE = 100 * 1024 };
    (void)argc, (void)argv;
    char* bytes = malloc(SIZE);
    CHECK(bytes);
    start();
    uint32_t state = me.rank + 1;
    for (int i = 0; i < SIZE; i++) bytes[i] = (char)((state = state * 1664525u + 1013904223u) >> 24);
    pmix_value_t value = {.type = PMIX_BYTE_OBJECT, .data.bo = {bytes, SIZE}}, *got = NULL;
    CHECK_OK(PMIx_Put(PMIX_GLOBAL, "large", &value));
    CHECK_OK(PMIx_Commit());
    fence(true);
    for (uint32_t rank = 0; rank < job_size; rank++) {
        CHECK_OK(get(rank, "large", NULL, &got));
        CHECK(got->type == PMIX_BYTE_OBJECT && got->data.bo.size == SIZE);
        state = rank + 1;
        for (int i = 0; i < SIZE; i++)
            CHECK(got->data.bo.bytes[i] == (char)((state = state * 1664525u + 1013904223u) >> 24));
        PMIX_VALUE_RELEASE(got);
    }
    free(bytes);
    finish();
}

/* New keys in each of many rounds, and old ones still there. rows: K8 F5 */
static void many(int argc, char** argv) {
    int rounds = argc > 0 ? atoi(argv[0]) : 50;
    uint32_t number = 0;
    char key[32];
    start();
    for (int round = 0; round < rounds; round++) {
        snprintf(key, sizeof key, "round.%d", round);
        CHECK_OK(put_u32(PMIX_GLOBAL, key, me.rank + (uint32_t)round * 1000));
        CHECK_OK(PMIx_Commit());
        fence(true);
        for (uint32_t rank = 0; rank < job_size; rank++) {
            pmix_proc_t peer = rank_of_job(rank);
            for (int back = round; back >= 0 && back > round - 2; back--) {
                snprintf(key, sizeof key, "round.%d", back);
                CHECK_OK(get_u32(&peer, key, 60, &number));
                CHECK(number == rank + (uint32_t)back * 1000);
            }
        }
    }
    finish();
}

/* More open requests than a server takes from one process (65,536): all are answered. rows: K33 G4 */
enum { FLOOD = 70000 };
static unsigned char flood_answers[FLOOD];
static atomic_uint flood_wrong;
static struct signal_box flood_over = SIGNAL_BOX;

static void flood_answer(pmix_status_t status, pmix_value_t* value, void* cbdata) {
    static unsigned answered; /* the library calls back on one thread */
    const uint32_t number = (uint32_t)(uintptr_t)cbdata;
    if (status != PMIX_SUCCESS || value->type != PMIX_UINT32 || value->data.uint32 != number || flood_answers[number]++)
        flood_wrong++;
    if (++answered == FLOOD) box_signal(&flood_over, PMIX_SUCCESS);
}

static void flood(int argc, char** argv) {
    (void)argc, (void)argv;
    char key[32];
    start();
    const pmix_proc_t other = rank_of_job(1);
    for (uint32_t i = 0; me.rank == 0 && i < FLOOD; i++) {
        snprintf(key, sizeof key, "flood.%u", i);
        CHECK_OK(PMIx_Get_nb(&other, key, NULL, 0, flood_answer, (void*)(uintptr_t)i));
    }
    fence(false);
    for (uint32_t i = 0; me.rank == 1 && i < FLOOD; i++) {
        snprintf(key, sizeof key, "flood.%u", i);
        CHECK_OK(put_u32(PMIX_GLOBAL, key, i));
    }
    if (me.rank == 1) CHECK_OK(PMIx_Commit());
    if (me.rank == 0) CHECK(box_wait(&flood_over, 1, 100) && flood_wrong == 0);
    fence(false);
    finish();
}

/* A value that was replaced after it was seen: known by PMIX_GET_REFRESH_CACHE at the latest. rows: K15 K31 */
/* proves: PMIx_Get PMIX_GET_REFRESH_CACHE */
static void fresh(int argc, char** argv) {
    (void)argc, (void)argv;
    uint32_t number = 0;
    pmix_value_t* got = NULL;
    start();
    pmix_proc_t next = rank_of_job((me.rank + 1) % job_size);
    CHECK_OK(put_u32(PMIX_GLOBAL, "fresh", 1));
    CHECK_OK(PMIx_Commit());
    fence(true);
    CHECK_OK(get_u32(&next, "fresh", 60, &number));
    CHECK(number == 1);
    fence(false);
    CHECK_OK(put_u32(PMIX_GLOBAL, "fresh", 2));
    CHECK_OK(PMIx_Commit());
    fence(false);
    CHECK_OK(get(next.rank, "fresh", PMIX_GET_REFRESH_CACHE, &got));
    CHECK(got->type == PMIX_UINT32 && got->data.uint32 == 2);
    PMIX_VALUE_RELEASE(got);
    fence(false);
    finish();
}

/* What was put and not committed is nobody else's; what is absent is absent at once when asked so. rows: K9 K15 K18 K19
 */
static void uncommitted(int argc, char** argv) {
    (void)argc, (void)argv;
    uint32_t number = 0;
    pmix_value_t* got = (pmix_value_t*)8;
    start();
    pmix_proc_t next = rank_of_job((me.rank + 1) % job_size);
    CHECK_OK(put_u32(PMIX_GLOBAL, "committed", 7));
    CHECK_OK(PMIx_Commit());
    CHECK_OK(put_u32(PMIX_GLOBAL, "staged", 8));
    fence(true);
    CHECK_OK(get_u32(&next, "committed", 60, &number));
    CHECK(number == 7);
    CHECK_STATUS(get(next.rank, "staged", PMIX_OPTIONAL, &got), PMIX_ERR_NOT_FOUND);
    CHECK(got == NULL);
    CHECK_STATUS(get(next.rank, "staged", PMIX_IMMEDIATE, &got), PMIX_ERR_NOT_FOUND);
    fence(false);
    CHECK_OK(PMIx_Commit());
    fence(true);
    CHECK_OK(get_u32(&next, "staged", 60, &number));
    CHECK(number == 8);
    fence(false);
    finish();
}

/* The process's own identity, and its server's. rows: K37 */
static void own(int argc, char** argv) {
    (void)argc, (void)argv;
    start();
    pmix_value_t* value = NULL;
    pmix_proc_t unknown = rank_of_job(PMIX_RANK_INVALID), self = rank_of_job(me.rank);
    CHECK_OK(PMIx_Get(&unknown, PMIX_RANK, NULL, 0, &value));
    CHECK(value->type == PMIX_PROC_RANK && value->data.rank == me.rank);
    PMIX_VALUE_RELEASE(value);
    const bool yes = true;
    pmix_info_t info;
    PMIX_INFO_LOAD(&info, PMIX_OPTIONAL, &yes, PMIX_BOOL);
    CHECK_OK(PMIx_Get(&unknown, PMIX_RANK, &info, 1, &value));
    CHECK(value->type == PMIX_PROC_RANK && value->data.rank == me.rank);
    PMIX_VALUE_RELEASE(value);
    CHECK_STATUS(PMIx_Get(&unknown, PMIX_HOSTNAME, NULL, 0, &value), PMIX_ERR_BAD_PARAM);
    pmix_proc_t elsewhere = unknown;
    PMIX_LOAD_NSPACE(elsewhere.nspace, "another");
    CHECK_STATUS(PMIx_Get(&elsewhere, PMIX_RANK, NULL, 0, &value), PMIX_ERR_BAD_PARAM);

    /* The address, as a query has it, and as the environment has it. */
    pmix_query_t query;
    pmix_info_t* answer = NULL;
    size_t answers = 0;
    PMIX_QUERY_CONSTRUCT(&query);
    pmix_status_t status;
    PMIX_ARGV_APPEND(status, query.keys, PMIX_SERVER_URI);
    CHECK_OK(status);
    CHECK_OK(PMIx_Query_info(&query, 1, &answer, &answers));
    CHECK(answers == 1 && answer[0].value.type == PMIX_STRING);
    const pmix_proc_t* whose[] = {NULL, &self};
    for (size_t i = 0; i < 2; i++) {
        CHECK_OK(PMIx_Get(whose[i], PMIX_SERVER_URI, &info, 1, &value));
        CHECK(value->type == PMIX_STRING && strcmp(value->data.string, answer[0].value.data.string) == 0);
        CHECK(strcmp(value->data.string, getenv("PMIX_SERVER_URI_WIREUP")) == 0);
        PMIX_VALUE_RELEASE(value);
        CHECK_OK(PMIx_Get(whose[i], PMIX_SERVER_NSPACE, NULL, 0, &value));
        CHECK(value->type == PMIX_STRING && value->data.string[0]);
        PMIX_VALUE_RELEASE(value);
        CHECK_OK(PMIx_Get(whose[i], PMIX_SERVER_RANK, NULL, 0, &value));
        CHECK(value->type == PMIX_PROC_RANK);
        PMIX_VALUE_RELEASE(value);
    }
    PMIX_INFO_FREE(answer, answers);
    PMIX_QUERY_DESTRUCT(&query);
    /* Of another process this one knows no server. */
    pmix_proc_t next = rank_of_job((me.rank + 1) % job_size);
    CHECK_STATUS(PMIx_Get(&next, PMIX_SERVER_URI, NULL, 0, &value), PMIX_ERR_NOT_FOUND);
    fence(false);
    finish();
}

int main(int argc, char** argv) {
    static const struct test_case cases[] = {
        {"types", types}, {"scopes", scopes}, {"replace", replace},         {"large", large}, {"many", many},
        {"flood", flood}, {"fresh", fresh},   {"uncommitted", uncommitted}, {"own", own},
    };
    RUN_CASE(cases);
    return 0;
}

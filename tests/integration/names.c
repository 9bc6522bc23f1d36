/* SPDX-License-Identifier: BSD-3-Clause */
/* names: publish, lookup, unpublish over nodes.
 * usage: names basic|nonsense|duplicate|wait|timeout|partial|ranges|persistence|nspace|unpublish|many|arguments */
#include "spawn_check.h"

enum { TEXT = 64 };

static pmix_status_t publish(const char* key, const char* text, int range, int persistence) {
    pmix_info_t info[3];
    size_t count = 0;
    pmix_data_range_t within = (pmix_data_range_t)range;
    pmix_persistence_t until = (pmix_persistence_t)persistence;
    PMIX_INFO_LOAD(&info[count], key, text, PMIX_STRING), count++;
    if (range >= 0) PMIX_INFO_LOAD(&info[count], PMIX_RANGE, &within, PMIX_DATA_RANGE), count++;
    if (persistence >= 0) PMIX_INFO_LOAD(&info[count], PMIX_PERSISTENCE, &until, PMIX_PERSIST), count++;
    pmix_status_t status = PMIx_Publish(info, count);
    for (size_t i = 0; i < count; i++) PMIX_INFO_DESTRUCT(&info[i]);
    return status;
}

static pmix_status_t look_up(const char* key, char text[TEXT], pmix_proc_t* publisher) {
    return look_up_string(key, NULL, 0, text, TEXT, publisher);
}

/* rows: P1 P3 P4 */
static void basic(int argc, char** argv) {
    (void)argc, (void)argv;
    char key[32], text[TEXT];
    pmix_proc_t publisher;
    start();
    snprintf(key, sizeof key, "basic.%u", me.rank);
    snprintf(text, sizeof text, "text of %u", me.rank);
    CHECK_OK(publish(key, text, -1, -1));
    fence(false);
    for (uint32_t rank = 0; rank < job_size; rank++) {
        char wanted[TEXT];
        snprintf(key, sizeof key, "basic.%u", rank);
        snprintf(wanted, sizeof wanted, "text of %u", rank);
        CHECK_OK(look_up(key, text, &publisher));
        CHECK(strcmp(text, wanted) == 0);
        CHECK(publisher.rank == rank && strcmp(publisher.nspace, me.nspace) == 0);
    }
    fence(false);
    finish();
}

/* What stands for nothing, or is nothing, is refused and leaves nothing. rows: P1 P2 */
static void nonsense(int argc, char** argv) {
    (void)argc, (void)argv;
    char text[TEXT];
    start();
    static const struct {
        int range, persistence;
    } odd[] = {{8, -1}, {77, -1}, {PMIX_RANGE_INVALID, -1}, {-1, 6}, {-1, PMIX_PERSIST_INVALID}};
    for (size_t i = 0; i < sizeof odd / sizeof *odd; i++) {
        CHECK_STATUS(publish("odd", "text", odd[i].range, odd[i].persistence), PMIX_ERR_BAD_PARAM);
        CHECK_STATUS(look_up("odd", text, NULL), PMIX_ERR_NOT_FOUND);
    }
    CHECK_STATUS(publish("pmix.reserved", "text", -1, -1), PMIX_ERR_BAD_PARAM);
    fence(false);
    finish();
}

/* rows: P2 */
static void duplicate(int argc, char** argv) {
    (void)argc, (void)argv;
    char text[TEXT];
    start();
    if (me.rank == 0) CHECK_OK(publish("taken", "first", -1, -1));
    fence(false);
    if (me.rank != 0) CHECK_STATUS(publish("taken", "second", -1, -1), PMIX_ERR_DUPLICATE_KEY);
    /* In another range the key is another. */
    if (me.rank != 0) CHECK_OK(publish("taken", "mine", PMIX_RANGE_PROC_LOCAL, -1));
    fence(false);
    pmix_data_range_t session = PMIX_RANGE_SESSION;
    pmix_info_t info;
    PMIX_INFO_LOAD(&info, PMIX_RANGE, &session, PMIX_DATA_RANGE);
    CHECK_OK(look_up_string("taken", &info, 1, text, sizeof text, NULL));
    CHECK(strcmp(text, me.rank == 0 ? "first" : text) == 0);
    PMIX_INFO_DESTRUCT(&info);
    fence(false);
    finish();
}

/* Rank 0 publishes when all others say that they are about to wait. rows: P5 */
static void wait(int argc, char** argv) {
    (void)argc, (void)argv;
    char text[TEXT];
    start();
    CHECK_STATUS(look_up("awaited", text, NULL), PMIX_ERR_NOT_FOUND); /* without PMIX_WAIT nobody waits */
    fence(false);
    if (me.rank == 0)
        raise_flag("awaited");
    else
        await_flag("awaited");
    fence(false);
    finish();
}

/* PMIX_WAIT 1 of two keys: the first one that is there ends the wait, with some of the data. Both: they are never there. rows: P5
 * proves: PMIx_Lookup PMIX_WAIT client */
static void some(int argc, char** argv) {
    (void)argc, (void)argv;
    pmix_info_t info[2];
    pmix_pdata_t wanted[2];
    int count = 1, seconds = 60;
    start();
    for (int i = 0; i < 2; i++) {
        PMIX_PDATA_CONSTRUCT(&wanted[i]);
        PMIX_LOAD_KEY(wanted[i].key, i == 0 ? "never.there" : "there.later");
    }
    if (me.rank == 0) {
        await_flag("waiting");
        CHECK_OK(publish("there.later", "x", -1, -1));
    } else {
        if (me.rank == 1) raise_flag("waiting");
        PMIX_INFO_LOAD(&info[0], PMIX_WAIT, &count, PMIX_INT);
        PMIX_INFO_LOAD(&info[1], PMIX_TIMEOUT, &seconds, PMIX_INT);
        CHECK_STATUS(PMIx_Lookup(wanted, 2, info, 2), PMIX_ERR_PARTIAL_SUCCESS);
        CHECK(wanted[0].value.type == PMIX_UNDEF && wanted[1].value.type == PMIX_STRING);
        PMIX_VALUE_DESTRUCT(&wanted[1].value);
    }
    count = 0, seconds = 1;
    PMIX_INFO_LOAD(&info[0], PMIX_WAIT, &count, PMIX_INT);
    PMIX_INFO_LOAD(&info[1], PMIX_TIMEOUT, &seconds, PMIX_INT);
    CHECK_STATUS(PMIx_Lookup(wanted, 2, info, 2), PMIX_ERR_TIMEOUT);
    CHECK(wanted[1].value.type == PMIX_UNDEF);
    count = -1;
    PMIX_INFO_LOAD(&info[0], PMIX_WAIT, &count, PMIX_INT);
    CHECK_STATUS(PMIx_Lookup(wanted, 2, info, 2), PMIX_ERR_BAD_PARAM);
    for (int i = 0; i < 2; i++) PMIX_PDATA_DESTRUCT(&wanted[i]);
    fence(false);
    finish();
}

/* rows: P5 G11 */
static void timeout(int argc, char** argv) {
    (void)argc, (void)argv;
    pmix_info_t info[2];
    int all = 0, seconds = 1;
    start();
    PMIX_INFO_LOAD(&info[0], PMIX_WAIT, &all, PMIX_INT);
    PMIX_INFO_LOAD(&info[1], PMIX_TIMEOUT, &seconds, PMIX_INT);
    double before = seconds_now();
    CHECK_STATUS(look_up_string("never", info, 2, NULL, 0, NULL), PMIX_ERR_TIMEOUT);
    CHECK(seconds_now() - before > 0.8 && seconds_now() - before < 60);
    fence(false);
    finish();
}

/* Some of what was asked for: partial success, and the missing are marked; the order is the requester's. rows: P4 P6 */
static void partial(int argc, char** argv) {
    (void)argc, (void)argv;
    pmix_pdata_t wanted[3];
    start();
    if (me.rank == 0) {
        CHECK_OK(publish("here.a", "a", -1, -1));
        CHECK_OK(publish("here.b", "b", -1, -1));
    }
    fence(false);
    const char* const keys[3] = {"here.b", "nowhere", "here.a"};
    for (int i = 0; i < 3; i++) {
        PMIX_PDATA_CONSTRUCT(&wanted[i]);
        PMIX_LOAD_KEY(wanted[i].key, keys[i]);
    }
    CHECK_STATUS(PMIx_Lookup(wanted, 3, NULL, 0), PMIX_ERR_PARTIAL_SUCCESS);
    CHECK(wanted[0].value.type == PMIX_STRING && strcmp(wanted[0].value.data.string, "b") == 0);
    CHECK(wanted[1].value.type == PMIX_UNDEF);
    CHECK(wanted[2].value.type == PMIX_STRING && strcmp(wanted[2].value.data.string, "a") == 0);
    for (int i = 0; i < 3; i++) PMIX_PDATA_DESTRUCT(&wanted[i]);
    fence(false);
    finish();
}

/* The ranks that may see what rank 0 published in each range. rows: P8 */
static void ranges(int argc, char** argv) {
    (void)argc, (void)argv;
    char text[TEXT];
    start();
    if (me.rank == 0) {
        CHECK_OK(publish("to.self", "x", PMIX_RANGE_PROC_LOCAL, -1));
        CHECK_OK(publish("to.node", "x", PMIX_RANGE_LOCAL, -1));
        CHECK_OK(publish("to.job", "x", PMIX_RANGE_NAMESPACE, -1));
        CHECK_OK(publish("to.session", "x", PMIX_RANGE_SESSION, -1));
        CHECK_OK(publish("to.all", "x", PMIX_RANGE_GLOBAL, -1));
        pmix_info_t info[3];
        pmix_data_range_t range = PMIX_RANGE_CUSTOM;
        pmix_proc_t* chosen = NULL;
        pmix_data_array_t array = {.type = PMIX_PROC, .size = 1};
        PMIX_PROC_CREATE(chosen, 1);
        chosen[0] = rank_of_job(job_size - 1);
        array.array = chosen;
        PMIX_INFO_LOAD(&info[0], "to.last", "x", PMIX_STRING);
        PMIX_INFO_LOAD(&info[1], PMIX_RANGE, &range, PMIX_DATA_RANGE);
        PMIX_INFO_LOAD(&info[2], PMIX_EVENT_CUSTOM_RANGE, &array, PMIX_DATA_ARRAY);
        CHECK_OK(PMIx_Publish(info, 3));
        for (int i = 0; i < 3; i++) PMIX_INFO_DESTRUCT(&info[i]);
        /* One process, without an array around it. */
        PMIX_INFO_LOAD(&info[0], "to.last.alone", "x", PMIX_STRING);
        PMIX_INFO_LOAD(&info[1], PMIX_RANGE, &range, PMIX_DATA_RANGE);
        PMIX_INFO_LOAD(&info[2], PMIX_EVENT_CUSTOM_RANGE, &chosen[0], PMIX_PROC);
        CHECK_OK(PMIx_Publish(info, 3));
        for (int i = 0; i < 3; i++) PMIX_INFO_DESTRUCT(&info[i]);
        PMIX_PROC_FREE(chosen, 1);
    }
    fence(false);
    CHECK_STATUS(look_up("to.self", text, NULL), me.rank == 0 ? PMIX_SUCCESS : PMIX_ERR_NOT_FOUND);
    CHECK_STATUS(look_up("to.node", text, NULL), same_node(0, me.rank) ? PMIX_SUCCESS : PMIX_ERR_NOT_FOUND);
    CHECK_OK(look_up("to.job", text, NULL));
    CHECK_OK(look_up("to.session", text, NULL));
    CHECK_OK(look_up("to.all", text, NULL));
    CHECK_STATUS(look_up("to.last", text, NULL), me.rank == job_size - 1 ? PMIX_SUCCESS : PMIX_ERR_NOT_FOUND);
    CHECK_STATUS(look_up("to.last.alone", text, NULL), me.rank == job_size - 1 ? PMIX_SUCCESS : PMIX_ERR_NOT_FOUND);
    /* The requester's range: only what was published near it. */
    pmix_info_t near;
    pmix_data_range_t local = PMIX_RANGE_LOCAL;
    PMIX_INFO_LOAD(&near, PMIX_RANGE, &local, PMIX_DATA_RANGE);
    CHECK_STATUS(look_up_string("to.all", &near, 1, text, sizeof text, NULL),
                 same_node(0, me.rank) ? PMIX_SUCCESS : PMIX_ERR_NOT_FOUND);
    PMIX_INFO_DESTRUCT(&near);
    /* Chosen publishers: one, or a list. What names nobody is the session: Open MPI 5 passes bytes that it has not set.
     */
    pmix_proc_t publishers[2] = {rank_of_job(job_size - 1), rank_of_job(0)};
    pmix_data_array_t both = {.type = PMIX_PROC, .size = 2, .array = publishers};
    pmix_data_range_t custom = PMIX_RANGE_CUSTOM;
    pmix_info_t chosen[2];
    const pmix_data_range_t nobodys[] = {PMIX_RANGE_RM, PMIX_RANGE_CUSTOM, 53, PMIX_RANGE_INVALID};
    for (size_t i = 0; i < sizeof nobodys / sizeof *nobodys; i++) {
        PMIX_INFO_LOAD(&chosen[0], PMIX_RANGE, &nobodys[i], PMIX_DATA_RANGE);
        CHECK_OK(look_up_string("to.all", chosen, 1, text, sizeof text, NULL));
    }
    PMIX_INFO_LOAD(&chosen[0], PMIX_RANGE, &custom, PMIX_DATA_RANGE);
    for (int i = 0; i < 3; i++) {
        if (i < 2)
            PMIX_INFO_LOAD(&chosen[1], PMIX_EVENT_CUSTOM_RANGE, &publishers[i], PMIX_PROC);
        else
            PMIX_INFO_LOAD(&chosen[1], PMIX_EVENT_CUSTOM_RANGE, &both, PMIX_DATA_ARRAY);
        CHECK_STATUS(look_up_string("to.all", chosen, 2, text, sizeof text, NULL),
                     i > 0 || job_size == 1 ? PMIX_SUCCESS : PMIX_ERR_NOT_FOUND);
        PMIX_INFO_DESTRUCT(&chosen[1]);
    }
    CHECK_STATUS(publish("to.nobody", "x", PMIX_RANGE_CUSTOM, -1), PMIX_ERR_BAD_PARAM);
    fence(false);
    finish();
}

/* Run as two applications: rank 0 of the first leaves, and the rest of the second sees what stays. rows: P8 */
static void persistence(int argc, char** argv) {
    (void)argc, (void)argv;
    char text[TEXT];
    start();
    CHECK(job_u32(PMIX_JOB_NUM_APPS) == 2);
    pmix_proc_t first = rank_of_job(0);
    uint32_t app = 9;
    CHECK_OK(get_u32(&me, PMIX_APPNUM, 0, &app));
    if (me.rank == 0) {
        CHECK_OK(publish("once", "x", -1, PMIX_PERSIST_FIRST_READ));
        CHECK_OK(publish("with.me", "x", -1, PMIX_PERSIST_PROC));
        CHECK_OK(publish("with.app", "x", -1, PMIX_PERSIST_APP));
        CHECK_OK(publish("with.session", "x", -1, PMIX_PERSIST_SESSION));
        CHECK_OK(publish("for.ever", "x", -1, PMIX_PERSIST_INDEF));
    }
    fence(false);
    if (me.rank == job_size - 1) {
        CHECK_OK(look_up("once", text, NULL));
        CHECK_STATUS(look_up("once", text, NULL), PMIX_ERR_NOT_FOUND);
    }
    fence(false);
    if (app == 0) {
        finish();
        return;
    }
    /* All of application 0 leave now: what is bound to them goes, as soon as their end is known. */
    double deadline = seconds_now() + 60;
    pmix_status_t status;
    do status = look_up("with.app", text, NULL);
    while (status == PMIX_SUCCESS && seconds_now() < deadline);
    CHECK(status == PMIX_ERR_NOT_FOUND);
    CHECK_STATUS(look_up("with.me", text, NULL), PMIX_ERR_NOT_FOUND);
    CHECK_OK(look_up("with.session", text, NULL));
    CHECK_OK(look_up("for.ever", text, &first));
    finish();
}

/* publishes: one of two applications of a spawned job leaves at once, the other one when it is told to. */
static void publishes(int argc, char** argv) {
    (void)argc, (void)argv;
    uint32_t app = 9;
    start();
    CHECK_OK(get_u32(&me, PMIX_APPNUM, 0, &app));
    if (app == 0) {
        CHECK_OK(publish("with.app", "x", -1, PMIX_PERSIST_APP));
        CHECK_OK(publish("with.nspace", "x", -1, PMIX_PERSIST_NSPACE));
        CHECK_OK(publish("with.session", "x", -1, PMIX_PERSIST_SESSION));
    }
    fence(false);
    if (app == 0) raise_flag("published");
    if (app == 1) await_flag("seen");
    finish();
}

static void await_gone(const char* key) {
    char text[TEXT];
    const double deadline = seconds_now() + 120;
    pmix_status_t status;
    do status = look_up(key, text, NULL);
    while (status == PMIX_SUCCESS && seconds_now() < deadline);
    CHECK_STATUS(status, PMIX_ERR_NOT_FOUND);
}

/* What is bound to a namespace is there as long as one of its processes runs, not only the one that published it, and
 * goes with the last; another namespace's data stays. rows: P8 */
static void nspace(int argc, char** argv) {
    (void)argc, (void)argv;
    char text[TEXT];
    start();
    if (me.rank == 0) {
        pmix_app_t apps[2];
        pmix_nspace_t child;
        CHECK_OK(publish("of.parent", "x", -1, PMIX_PERSIST_NSPACE));
        for (int i = 0; i < 2; i++) app_of(&apps[i], 1, "publishes", (char*)NULL);
        CHECK_OK(spawn(NULL, 0, apps, 2, child));
        await_flag("published");
        await_gone("with.app");
        CHECK_OK(look_up("with.nspace", text, NULL));
        raise_flag("seen");
        await_gone("with.nspace");
        CHECK_OK(look_up("with.session", text, NULL));
        CHECK_OK(look_up("of.parent", text, NULL));
    }
    fence(false);
    finish();
}

/* Only one's own, some or all of it. rows: P7 */
static void unpublish(int argc, char** argv) {
    (void)argc, (void)argv;
    char text[TEXT], one[32], two[32], *keys[] = {one, NULL}, others[] = "un.one.0", *not_mine[] = {others, NULL};
    start();
    snprintf(one, sizeof one, "un.one.%u", me.rank);
    snprintf(two, sizeof two, "un.two.%u", me.rank);
    CHECK_OK(publish(one, "x", -1, -1));
    CHECK_OK(publish(two, "x", -1, -1));
    fence(false);
    if (me.rank != 0) CHECK_OK(PMIx_Unpublish(not_mine, NULL, 0));
    fence(false);
    CHECK_OK(look_up("un.one.0", text, NULL));
    fence(false);
    CHECK_OK(PMIx_Unpublish(keys, NULL, 0));
    CHECK_STATUS(look_up(one, text, NULL), PMIX_ERR_NOT_FOUND);
    CHECK_OK(look_up(two, text, NULL));
    CHECK_OK(PMIx_Unpublish(keys, NULL, 0)); /* gone already: fine */
    CHECK_OK(publish(one, "y", -1, -1));     /* and free again */
    CHECK_OK(PMIx_Unpublish(NULL, NULL, 0));
    CHECK_STATUS(look_up(one, text, NULL), PMIX_ERR_NOT_FOUND);
    CHECK_STATUS(look_up(two, text, NULL), PMIX_ERR_NOT_FOUND);
    fence(false);
    finish();
}

enum { MANY = 1000, LEVELS = 30 };

static pmix_status_t publish_many(const char* prefix, int from, int to) {
    pmix_info_t* infos;
    PMIX_INFO_CREATE(infos, (size_t)(to - from));
    for (int i = from; i < to; i++) {
        char key[32];
        snprintf(key, sizeof key, "%s.%d", prefix, i);
        PMIX_INFO_LOAD(&infos[i - from], key, key, PMIX_STRING);
    }
    pmix_status_t status = PMIx_Publish(infos, (size_t)(to - from));
    PMIX_INFO_FREE(infos, (size_t)(to - from));
    return status;
}

/* Arrays of one info each, within one another. */
static void nest(pmix_info_t* info, int levels) {
    if (levels == 0) {
        PMIX_INFO_LOAD(info, "nested", "inmost", PMIX_STRING);
        return;
    }
    pmix_data_array_t array;
    PMIX_DATA_ARRAY_CONSTRUCT(&array, 1, PMIX_INFO);
    nest(array.array, levels - 1);
    PMIX_INFO_LOAD(info, "nested", &array, PMIX_DATA_ARRAY);
    PMIX_DATA_ARRAY_DESTRUCT(&array);
}

/* More names than a table begins with, all or none of a call, and a value that is nested deeply. rows: P1 P2 P7 */
static void many(int argc, char** argv) {
    (void)argc, (void)argv;
    char text[TEXT], key[32];
    start();
    if (me.rank == 0) {
        CHECK_OK(publish_many("many", 0, MANY));
        CHECK_STATUS(publish_many("many", MANY - 1, 2 * MANY), PMIX_ERR_DUPLICATE_KEY);
        pmix_info_t twice[3];
        const char* keys[] = {"once", "again", "again"};
        for (int i = 0; i < 3; i++) PMIX_INFO_LOAD(&twice[i], keys[i], "x", PMIX_STRING);
        CHECK_STATUS(PMIx_Publish(twice, 3), PMIX_ERR_DUPLICATE_KEY);
        CHECK_STATUS(look_up("once", text, NULL), PMIX_ERR_NOT_FOUND);
        CHECK_STATUS(look_up("again", text, NULL), PMIX_ERR_NOT_FOUND);
        for (int i = 0; i < 3; i++) PMIX_INFO_DESTRUCT(&twice[i]);
        pmix_info_t nested;
        nest(&nested, LEVELS);
        CHECK_OK(PMIx_Publish(&nested, 1));
        PMIX_INFO_DESTRUCT(&nested);
    }
    fence(false);
    for (int i = 0; i < MANY; i += 37) {
        snprintf(key, sizeof key, "many.%d", i);
        CHECK_OK(look_up(key, text, NULL));
        CHECK(strcmp(text, key) == 0);
    }
    snprintf(key, sizeof key, "many.%d", MANY + 1);
    CHECK_STATUS(look_up(key, text, NULL), PMIX_ERR_NOT_FOUND);
    pmix_pdata_t found;
    PMIX_PDATA_CONSTRUCT(&found);
    PMIX_LOAD_KEY(found.key, "nested");
    CHECK_OK(PMIx_Lookup(&found, 1, NULL, 0));
    const pmix_value_t* value = &found.value;
    int levels = 0;
    for (; value->type == PMIX_DATA_ARRAY; levels++) value = &((pmix_info_t*)value->data.darray->array)->value;
    CHECK(levels == LEVELS && value->type == PMIX_STRING && strcmp(value->data.string, "inmost") == 0);
    PMIX_PDATA_DESTRUCT(&found);
    fence(false);
    if (me.rank == 0) {
        char* keys[MANY / 2 + 1] = {NULL};
        for (int i = 0; i < MANY / 2; i++) {
            snprintf(key, sizeof key, "many.%d", 2 * i);
            keys[i] = strdup(key);
        }
        CHECK_OK(PMIx_Unpublish(keys, NULL, 0));
        for (int i = 0; i < MANY / 2; i++) free(keys[i]);
    }
    fence(false);
    for (int i = 0; i < 100; i++) {
        snprintf(key, sizeof key, "many.%d", i);
        CHECK_STATUS(look_up(key, text, NULL), i % 2 == 0 ? PMIX_ERR_NOT_FOUND : PMIX_SUCCESS);
    }
    fence(false);
    finish();
}

/* rows: P3 P6 */
static void arguments(int argc, char** argv) {
    (void)argc, (void)argv;
    start();
    CHECK_STATUS(PMIx_Publish(NULL, 0), PMIX_ERR_BAD_PARAM);
    CHECK_STATUS(PMIx_Lookup(NULL, 0, NULL, 0), PMIX_ERR_BAD_PARAM);
    CHECK_STATUS(PMIx_Lookup_nb(NULL, NULL, 0, NULL, NULL), PMIX_ERR_BAD_PARAM);
    fence(false);
    finish();
}

int main(int argc, char** argv) {
    static const struct test_case cases[] = {
        {"basic", basic},         {"nonsense", nonsense},   {"duplicate", duplicate},
        {"wait", wait},           {"some", some},           {"timeout", timeout},
        {"partial", partial},     {"ranges", ranges},       {"persistence", persistence},
        {"unpublish", unpublish}, {"arguments", arguments}, {"nspace", nspace},
        {"publishes", publishes}, {"many", many},
    };
    program = argv[0];
    RUN_CASE(cases);
    return 0;
}

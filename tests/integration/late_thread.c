/* SPDX-License-Identifier: BSD-3-Clause */
/* late_thread: a process that uses nothing but the calls which wait has no thread of the library's, and does not load
 * libevent; the first handler, the first call with a callback, or a second thread that waits starts it.
 * usage: late_thread none|event|callback|waiters|refused|replaced|gone */
#include "spawn_check.h"

enum { BYTES = 32 << 10, ROUNDS = 40, MOST_COMMITS = 2000, CODE = PMIX_EXTERNAL_ERR_BASE - 41 };

static unsigned before; /* threads before PMIx_Init */

static unsigned threads(void) {
    unsigned count = 0;
    DIR* folder = opendir("/proc/self/task");
    CHECK(folder);
    for (struct dirent* entry; (entry = readdir(folder));) count += entry->d_name[0] != '.';
    closedir(folder);
    return count;
}

static bool has_libevent(void) {
    FILE* maps = fopen("/proc/self/maps", "r");
    char line[4096];
    bool found = false;
    CHECK(maps);
    while (fgets(line, sizeof line, maps)) found = found || strstr(line, "/libevent");
    fclose(maps);
    return found;
}

#define WITHOUT(call)               \
    do {                            \
        call;                       \
        CHECK(threads() == before); \
    } while (0)

static struct signal_box box = SIGNAL_BOX;

/* --- none ----------------------------------------------------------------------------------------------------------
 */

static void put_text(char letter) {
    char* text = malloc(BYTES);
    CHECK(text);
    memset(text, letter, BYTES - 1);
    text[BYTES - 1] = '\0';
    pmix_value_t value = {.type = PMIX_STRING, .data.string = text};
    CHECK_OK(PMIx_Put(PMIX_GLOBAL, "text", &value));
    CHECK_OK(PMIx_Commit());
    free(text);
}

/* Rank 0 replaces its value until the server has begun new segments; each round's is seen by all. */
static void see_replaced(void) {
    pmix_proc_t zero = rank_of_job(0);
    for (uint32_t round = 0; round < ROUNDS; round++) {
        if (me.rank == 0) WITHOUT(put_text((char)('a' + round % 26)));
        WITHOUT(fence(true));
        pmix_value_t* value = NULL;
        WITHOUT(CHECK_OK(PMIx_Get(&zero, "text", NULL, 0, &value)));
        CHECK(value->type == PMIX_STRING && strlen(value->data.string) == BYTES - 1);
        CHECK(value->data.string[0] == 'a' + (int)(round % 26));
        PMIX_VALUE_RELEASE(value);
        WITHOUT(fence(false));
    }
}

/* rows: I1 K1 F1 */
static void none(int argc, char** argv) {
    (void)argc, (void)argv;
    uint32_t number = 0;
    const pmix_proc_t next = rank_of_job((me.rank + 1) % job_size);
    WITHOUT(CHECK_OK(put_u32(PMIX_GLOBAL, "rank", me.rank)));
    WITHOUT(CHECK_OK(PMIx_Commit()));
    WITHOUT(fence(false));
    WITHOUT(CHECK_OK(get_u32(&next, "rank", 0, &number)));
    CHECK(number == next.rank);
    WITHOUT(CHECK_STATUS(get_u32(&next, "not there", 1, &number), PMIX_ERR_TIMEOUT));
    pmix_info_t published;
    char key[64];
    snprintf(key, sizeof key, "published.%u", me.rank);
    PMIX_INFO_LOAD(&published, key, &me.rank, PMIX_UINT32);
    WITHOUT(CHECK_OK(PMIx_Publish(&published, 1)));
    PMIX_INFO_DESTRUCT(&published);
    WITHOUT(fence(true));
    pmix_pdata_t found;
    PMIX_PDATA_CONSTRUCT(&found);
    snprintf(found.key, sizeof found.key, "published.%u", next.rank);
    WITHOUT(CHECK_OK(PMIx_Lookup(&found, 1, NULL, 0)));
    CHECK(found.value.data.uint32 == next.rank);
    PMIX_PDATA_DESTRUCT(&found);
    see_replaced();
    CHECK(!has_libevent());
}

/* --- event ---------------------------------------------------------------------------------------------------------
 */

static void take(size_t id, pmix_status_t status, const pmix_proc_t* source, pmix_info_t info[], size_t ninfo,
                 pmix_info_t results[], size_t nresults, pmix_event_notification_cbfunc_fn_t done, void* cbdata) {
    (void)id, (void)source, (void)info, (void)ninfo, (void)results, (void)nresults;
    box_signal(&box, status);
    done(PMIX_EVENT_ACTION_COMPLETE, NULL, 0, NULL, NULL, cbdata);
}

static void event(int argc, char** argv) {
    (void)argc, (void)argv;
    WITHOUT(fence(false));
    pmix_status_t code = CODE;
    CHECK(PMIx_Register_event_handler(&code, 1, NULL, 0, take, NULL, NULL) >= 0);
    CHECK(threads() == before + 1 && has_libevent());
    fence(false);
    if (me.rank == 0) CHECK_DONE(PMIx_Notify_event(CODE, &me, PMIX_RANGE_NAMESPACE, NULL, 0, NULL, NULL));
    CHECK(box_wait(&box, 1, 60) && box.status == CODE);
    fence(false);
}

/* --- callback ------------------------------------------------------------------------------------------------------
 */

static void fenced(pmix_status_t status, void* cbdata) {
    (void)cbdata;
    box_signal(&box, status);
}

static void callback(int argc, char** argv) {
    (void)argc, (void)argv;
    WITHOUT(fence(false));
    CHECK_OK(PMIx_Fence_nb(NULL, 0, NULL, 0, fenced, NULL));
    CHECK(threads() == before + 1);
    CHECK(box_wait(&box, 1, 60) && box.status == PMIX_SUCCESS);
    fence(false);
}

/* --- waiters -------------------------------------------------------------------------------------------------------
 */

static void* get_late(void* proc) {
    uint32_t number = 0;
    const pmix_proc_t* of = proc;
    CHECK_OK(get_u32(of, "rank", 0, &number));
    CHECK(number == of->rank);
    return NULL;
}

/* Two threads of rank 0 wait. The one whose answer comes first may be the one that reads for both. */
static void waiters(int argc, char** argv) {
    (void)argc, (void)argv;
    pthread_t getters[2];
    pmix_proc_t procs[2] = {rank_of_job(1), rank_of_job(2)};
    if (me.rank == 0) {
        for (int i = 0; i < 2; i++) CHECK(pthread_create(&getters[i], NULL, get_late, &procs[i]) == 0);
        CHECK(pthread_join(getters[0], NULL) == 0);
        raise_flag("first");
        CHECK(pthread_join(getters[1], NULL) == 0);
    }
    if (me.rank == 2) await_flag("first");
    CHECK_OK(put_u32(PMIX_GLOBAL, "rank", me.rank));
    CHECK_OK(PMIx_Commit());
    fence(false);
}

/* --- refused -------------------------------------------------------------------------------------------------------
 */

/* The server has no room for all (the test limits the size of its files), and a rank that does nothing but commit is
 * told so. */
static void refused(int argc, char** argv) {
    (void)argc, (void)argv;
    pmix_status_t status = PMIX_SUCCESS;
    char* text = malloc(BYTES);
    CHECK(text);
    /* At first the server begins a new segment, of which the rank, which reads nothing, does not hear. */
    for (int i = 0; i < ROUNDS; i++) {
        put_text((char)('a' + i % 26));
        usleep(500);
    }
    memset(text, 'x', BYTES - 1);
    text[BYTES - 1] = '\0';
    const pmix_value_t value = {.type = PMIX_STRING, .data.string = text};
    for (int i = 0; i < MOST_COMMITS && status == PMIX_SUCCESS; i++) {
        char key[32];
        snprintf(key, sizeof key, "text.%d", i);
        CHECK_OK(PMIx_Put(PMIX_GLOBAL, key, (pmix_value_t*)&value));
        status = PMIx_Commit();
        usleep(500);
    }
    free(text);
    CHECK_STATUS(status, PMIX_ERR_OUT_OF_RESOURCE);
}

/* --- replaced ------------------------------------------------------------------------------------------------------
 */

static char text_here(void) {
    pmix_proc_t zero = rank_of_job(0);
    pmix_value_t* value = NULL;
    CHECK_OK(PMIx_Get(&zero, "text", NULL, 0, &value));
    CHECK(value->type == PMIX_STRING);
    const char letter = value->data.string[0];
    PMIX_VALUE_RELEASE(value);
    return letter;
}

/* Rank 0 and rank 1 tell each other by signals how far they are: a call of the library would read what is to stay
 * unread. */
static volatile sig_atomic_t signals;
static uint32_t other;

static void count_signal(int number) {
    (void)number;
    ++signals;
}

static bool await_signals(int count) {
    for (int i = 0; i < 60000 && signals < count; i++) usleep(1000);
    return signals >= count;
}

/* The first event is held up, so that the second is unread while the server begins new segments. The third comes after
 * all that was committed. */
static void look_at_text(size_t id, pmix_status_t status, const pmix_proc_t* source, pmix_info_t info[], size_t ninfo,
                         pmix_info_t results[], size_t nresults, pmix_event_notification_cbfunc_fn_t done,
                         void* cbdata) {
    (void)id, (void)source, (void)info, (void)ninfo, (void)results, (void)nresults;
    static int count;
    if (++count == 1) {
        CHECK(kill((pid_t)other, SIGUSR1) == 0);
        CHECK(await_signals(1));
    } else if (count == 3) {
        const char letter = text_here();
        if (letter != 'z') printf("FAIL rank %u: %c\n", me.rank, letter);
        box_signal(&box, status);
    }
    done(PMIX_EVENT_ACTION_COMPLETE, NULL, 0, NULL, NULL, cbdata);
}

static void replace_text(void) {
    uint32_t number = 0;
    const pmix_proc_t one = rank_of_job(1);
    CHECK_DONE(PMIx_Notify_event(CODE, &me, PMIX_RANGE_NAMESPACE, NULL, 0, NULL, NULL));
    CHECK(await_signals(1));
    CHECK_DONE(PMIx_Notify_event(CODE, &me, PMIX_RANGE_NAMESPACE, NULL, 0, NULL, NULL));
    for (int i = 0; i < ROUNDS; i++) {
        put_text((char)('b' + i % 8));
        usleep(3000);
    }
    put_text('z');
    /* There is no such key: the answer comes after what was committed. */
    CHECK_STATUS(get_u32(&one, "nothing", 1, &number), PMIX_ERR_TIMEOUT);
    CHECK_DONE(PMIx_Notify_event(CODE, &me, PMIX_RANGE_NAMESPACE, NULL, 0, NULL, NULL));
    CHECK(kill((pid_t)other, SIGUSR1) == 0);
}

/* A handler sees what was committed before its event also where a segment was begun that could not be sent at once. */
static void replaced(int argc, char** argv) {
    (void)argc, (void)argv;
    struct sigaction action = {.sa_handler = count_signal};
    CHECK(sigaction(SIGUSR1, &action, NULL) == 0);
    if (me.rank == 0) put_text('a');
    CHECK_OK(put_u32(PMIX_GLOBAL, "pid", (uint32_t)getpid()));
    CHECK_OK(PMIx_Commit());
    if (me.rank == 1) {
        pmix_status_t code = CODE;
        CHECK(PMIx_Register_event_handler(&code, 1, NULL, 0, look_at_text, NULL, NULL) >= 0);
    }
    fence(true);
    if (me.rank < 2) {
        const pmix_proc_t partner = rank_of_job(1 - me.rank);
        CHECK_OK(get_u32(&partner, "pid", 0, &other));
    }
    if (me.rank == 1) CHECK(text_here() == 'a');
    fence(false);
    if (me.rank == 0) replace_text();
    if (me.rank == 1) CHECK(box_wait(&box, 1, 120));
    fence(false);
}

/* --- gone ----------------------------------------------------------------------------------------------------------
 */

/* What the spawned process does. It ends when its parents have seen its value. */
static void short_lived(int argc, char** argv) {
    (void)argc, (void)argv;
    CHECK_OK(put_u32(PMIX_GLOBAL, "passing", 7));
    CHECK_OK(PMIx_Commit());
    await_flag("seen");
}

/* The end of another namespace is seen by a process that has no thread to be told of it. */
static void gone(int argc, char** argv) {
    (void)argc, (void)argv;
    if (me.rank == 0) {
        pmix_proc_t child = {.rank = 0};
        uint32_t number = 0;
        pmix_app_t app;
        app_of(&app, 1, "short_lived", NULL);
        WITHOUT(CHECK_OK(spawn(NULL, 0, &app, 1, child.nspace)));
        WITHOUT(CHECK_OK(get_u32(&child, "passing", 60, &number)));
        CHECK(number == 7);
        pmix_proc_t* procs = NULL;
        size_t nprocs = 0;
        WITHOUT(CHECK_OK(PMIx_Resolve_peers(NULL, child.nspace, &procs, &nprocs)));
        PMIX_PROC_FREE(procs, nprocs);
        raise_flag("seen");
        pmix_status_t status = PMIX_SUCCESS;
        for (int i = 0; i < 1200 && status == PMIX_SUCCESS; i++) {
            usleep(50000);
            WITHOUT(status = get_u32(&child, "passing", 1, &number));
        }
        CHECK(status == PMIX_ERR_NOT_FOUND || status == PMIX_ERR_TIMEOUT);
        WITHOUT(status = PMIx_Resolve_peers(NULL, child.nspace, &procs, &nprocs));
        CHECK(status != PMIX_SUCCESS || nprocs == 0);
    }
    fence(false);
}

int main(int argc, char** argv) {
    static const struct test_case cases[] = {
        {"none", none},       {"event", event},       {"callback", callback}, {"waiters", waiters},
        {"refused", refused}, {"replaced", replaced}, {"gone", gone},         {"short_lived", short_lived}};
    program = argv[0];
    before = threads();
    start();
    CHECK(threads() == before);
    run_case(cases, sizeof cases / sizeof *cases, argc, argv);
    return finish();
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* client_of_7.c: the processes of the jobs of hosts_of_7.c; see zoo.h. */
#include <pmix_tool.h>
#include <stdlib.h>
#include <string.h>

#include "zoo.h"

static pmix_proc_t me;

/* Rank 1 never calls; rank 2 is of another node. rows: R8 R11 */
static void group_in_vain(void) {
    if (me.rank != 0) return;
    pmix_proc_t members[3];
    pmix_info_t info;
    pmix_info_t* results = NULL;
    size_t nresults = 0;
    const int seconds = 1;
    for (uint32_t rank = 0; rank < 3; rank++) members[rank] = proc_of(me.nspace, rank);
    PMIX_INFO_LOAD(&info, PMIX_TIMEOUT, &seconds, PMIX_INT);
    CHECK_STATUS(PMIx_Group_construct("never.whole", members, 3, &info, 1, &results, &nresults), PMIX_ERR_TIMEOUT);
    PMIX_INFO_DESTRUCT(&info);
}

static struct box input_over = BOX;

static void on_input_over(size_t handler, pmix_status_t status, const pmix_proc_t* source, pmix_info_t info[],
                          size_t ninfo, pmix_info_t* results, size_t nresults, pmix_event_notification_cbfunc_fn_t done,
                          void* cbdata) {
    (void)handler, (void)source, (void)info, (void)ninfo, (void)results, (void)nresults;
    box_signal(&input_over, status);
    done(PMIX_EVENT_ACTION_COMPLETE, NULL, 0, NULL, NULL, cbdata);
}

static bool is_over(void) {
    pthread_mutex_lock(&input_over.lock);
    const bool over = input_over.count > 0;
    pthread_mutex_unlock(&input_over.lock);
    return over;
}

/* Rank 0's stdin is a pipe of the host's. It publishes as long as it forwards. rows: O9 */
static void forwards_input(void) {
    if (me.rank != 0) return;
    pmix_status_t codes[] = {PMIX_ERR_IOF_COMPLETE, PMIX_ERR_IOF_FAILURE};
    CHECK(PMIx_Register_event_handler(codes, 2, NULL, 0, on_input_over, NULL, NULL) >= 0);
    const pmix_proc_t target = proc_of(me.nspace, 1);
    pmix_info_t info;
    const bool yes = true;
    PMIX_INFO_LOAD(&info, PMIX_IOF_PUSH_STDIN, &yes, PMIX_BOOL);
    CHECK_DONE(PMIx_IOF_push(&target, 1, NULL, &info, 1, NULL, NULL));
    PMIX_INFO_DESTRUCT(&info);
    PMIX_INFO_LOAD(&info, "zoo.still.there", "yes", PMIX_STRING);
    while (!is_over()) CHECK_OK(PMIx_Publish(&info, 1));
    PMIX_INFO_DESTRUCT(&info);
    CHECK(input_over.status == PMIX_ERR_IOF_COMPLETE);
}

/* Each inheritance once: the host refuses the first, and grants the one below it for the others; the last is required.
 */
static void allocation_to_inherit(void) {
    if (me.rank != 0) return;
    for (pmix_alloc_inheritance_t wanted = PMIX_ALLOC_INHERIT_NONE; wanted <= PMIX_ALLOC_INHERIT_CHILD_DEFAULT;
         wanted++) {
        pmix_info_t info;
        pmix_info_t* results = NULL;
        size_t nresults = 0;
        PMIX_INFO_LOAD(&info, PMIX_ALLOC_INHERITANCE, &wanted, PMIX_ALLOC_INHERIT);
        if (wanted == PMIX_ALLOC_INHERIT_CHILD_DEFAULT) PMIX_INFO_REQUIRED(&info);
        const pmix_status_t status = PMIx_Allocation_request(PMIX_ALLOC_NEW, &info, 1, &results, &nresults);
        PMIX_INFO_DESTRUCT(&info);
        if (wanted == PMIX_ALLOC_INHERIT_NONE) {
            CHECK_STATUS(status, PMIX_ERR_NOT_SUPPORTED);
            CHECK(nresults == 0);
            continue;
        }
        CHECK_OK(status);
        CHECK(nresults == 1 && PMIX_CHECK_KEY(&results[0], PMIX_ALLOC_INHERITANCE));
        CHECK(results[0].value.type == PMIX_ALLOC_INHERIT && results[0].value.data.inheritance == wanted - 1);
        PMIX_INFO_FREE(results, nresults);
    }
}

static void all_of_allocations(void) {
    if (me.rank != 0) return;
    size_t count, nresults = 0;
    pmix_info_t *samples = allocation_samples(&count), *results = NULL;
    CHECK_OK(PMIx_Allocation_request(PMIX_ALLOC_EXTERNAL, samples, count, &results, &nresults));
    CHECK(has_each(results, nresults, samples, count));
    PMIX_INFO_FREE(results, nresults);

    pmix_query_t query;
    PMIX_QUERY_CONSTRUCT(&query);
    for (size_t i = 0; allocation_questions[i]; i++)
        CHECK_OK(PMIx_Argv_append_nosize(&query.keys, allocation_questions[i]));
    query.qualifiers = samples;
    query.nqual = count;
    CHECK_OK(PMIx_Query_info(&query, 1, &results, &nresults));
    PMIX_QUERY_DESTRUCT(&query);
    samples = answer_samples(&count);
    CHECK(has_each(results, nresults, samples, count));
    PMIX_INFO_FREE(samples, count);
    PMIX_INFO_FREE(results, nresults);

    pmix_app_t app;
    pmix_nspace_t nspace;
    PMIX_APP_CONSTRUCT(&app);
    app.cmd = strdup("program");
    app.maxprocs = 1;
    app.info = spawn_samples(&app.ninfo);
    CHECK_OK(PMIx_Spawn(app.info, app.ninfo, &app, 1, nspace));
    CHECK(strcmp(nspace, "spawned") == 0);
    PMIX_APP_DESTRUCT(&app);
}

int client_of_7(const char* mode) {
    static const struct {
        const char* name;
        void (*run)(void);
    } modes[] = {
        {"group-in-vain", group_in_vain},
        {"forwards-input", forwards_input},
        {"allocation-to-inherit", allocation_to_inherit},
        {"all-of-allocations", all_of_allocations},
    };
    for (size_t i = 0; i < sizeof modes / sizeof *modes; i++) {
        if (strcmp(mode, modes[i].name) != 0) continue;
        CHECK_OK(PMIx_Init(&me, NULL, 0));
        modes[i].run();
        pmix_proc_t local[RANKS];
        for (uint32_t rank = 0; rank < RANKS; rank++) local[rank] = proc_of(me.nspace, rank);
        CHECK_OK(PMIx_Fence(local, RANKS, NULL, 0));
        CHECK_OK(PMIx_Finalize(NULL, 0));
        return 0;
    }
    return -1;
}

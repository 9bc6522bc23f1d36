/* SPDX-License-Identifier: BSD-3-Clause */
/* A rank whose server is killed (tests/engines/orphans). Run as `pmix_orphan STATE`; the files lie beside the program.
 * It makes at.RANK, waits for the file "go", makes call.RANK, and then, with the server stopped in the first four
 * states: init      calls PMIx_Init fence     is in a fence of all get       is in a Get of a peer's key finalize calls
 * PMIx_Finalize part      is in a fence that rank 0 has not joined never     is in a Get of a key of a peer that
 * commits nothing handler   waits for the event that the server is lost idle      is in no call, and makes all kinds of
 * them afterwards The file "dead" is there when the server is gone. Then it finalizes, and writes the status of what it
 * was in, or the names of the calls that should have failed and did not, to end.RANK.
 */
#include <pmix.h>
#include <semaphore.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char folder[512];
static pmix_proc_t me, everyone;
static sem_t told;
static pmix_status_t told_code;

static void note(const char* what, const char* rank, const char* text) {
    char part[600], name[600];
    snprintf(part, sizeof part, "%s/.%s.%s", folder, what, rank);
    snprintf(name, sizeof name, "%s/%s.%s", folder, what, rank);
    FILE* f = fopen(part, "w");
    if (!f || fprintf(f, "%s\n", text) < 0 || fclose(f) || rename(part, name)) _exit(3);
}

static void await(const char* what) {
    char name[600];
    snprintf(name, sizeof name, "%s/%s", folder, what);
    while (access(name, F_OK)) usleep(10000);
}

static void on_event(size_t handler, pmix_status_t code, const pmix_proc_t* source, pmix_info_t info[], size_t ninfo,
                     pmix_info_t results[], size_t nresults, pmix_event_notification_cbfunc_fn_t done, void* cbdata) {
    (void)handler, (void)source, (void)info, (void)ninfo, (void)results, (void)nresults;
    told_code = code;
    if (done) done(PMIX_EVENT_ACTION_COMPLETE, NULL, 0, NULL, NULL, cbdata);
    sem_post(&told);
}

static pmix_status_t get_from_peer(const char* key) {
    pmix_proc_t peer;
    pmix_value_t* value = NULL;
    PMIX_LOAD_PROCID(&peer, me.nspace, me.rank == 0 ? 1 : 0);
    pmix_status_t rc = PMIx_Get(&peer, key, NULL, 0, &value);
    if (value) PMIX_VALUE_RELEASE(value);
    return rc;
}

static char succeeded[512];
static void must_fail(const char* call, pmix_status_t rc) {
    if (rc != PMIX_SUCCESS && rc != PMIX_OPERATION_SUCCEEDED) return;
    snprintf(succeeded + strlen(succeeded), sizeof succeeded - strlen(succeeded), " %s", call);
}

static void make_all_calls(void) {
    pmix_info_t info, *infos = NULL;
    pmix_pdata_t pdata;
    pmix_query_t* query;
    pmix_app_t* app;
    pmix_value_t value;
    pmix_nspace_t nspace;
    pmix_proc_t* procs = NULL;
    size_t n = 0;
    pmix_status_t rc;
    int number = 7;
    char* keys[] = {"orphan.published", NULL};

    must_fail("PMIx_Fence", PMIx_Fence(&everyone, 1, NULL, 0));
    PMIX_VALUE_LOAD(&value, &number, PMIX_INT);
    PMIx_Put(PMIX_GLOBAL, "orphan.put", &value);
    must_fail("PMIx_Commit", PMIx_Commit());
    must_fail("PMIx_Get", get_from_peer("orphan.never"));
    PMIX_INFO_LOAD(&info, "orphan.published", &number, PMIX_INT);
    must_fail("PMIx_Publish", PMIx_Publish(&info, 1));
    PMIX_PDATA_CONSTRUCT(&pdata);
    PMIX_LOAD_KEY(pdata.key, "orphan.published");
    must_fail("PMIx_Lookup", PMIx_Lookup(&pdata, 1, NULL, 0));
    PMIX_PDATA_DESTRUCT(&pdata);
    must_fail("PMIx_Unpublish", PMIx_Unpublish(keys, NULL, 0));
    PMIX_QUERY_CREATE(query, 1);
    PMIX_ARGV_APPEND(rc, query->keys, PMIX_QUERY_NAMESPACES);
    must_fail("PMIx_Query_info", PMIx_Query_info(query, 1, &infos, &n));
    PMIX_QUERY_FREE(query, 1);
    PMIX_APP_CREATE(app, 1);
    app->cmd = strdup("/bin/true");
    PMIX_ARGV_APPEND(rc, app->argv, "/bin/true");
    app->maxprocs = 1;
    must_fail("PMIx_Spawn", PMIx_Spawn(NULL, 0, app, 1, nspace));
    PMIX_APP_FREE(app, 1);
    must_fail("PMIx_Connect", PMIx_Connect(&everyone, 1, NULL, 0));
    must_fail("PMIx_Disconnect", PMIx_Disconnect(&everyone, 1, NULL, 0));
    infos = NULL;
    must_fail("PMIx_Group_construct", PMIx_Group_construct("orphans", &everyone, 1, NULL, 0, &infos, &n));
    must_fail("PMIx_Job_control", PMIx_Job_control(&everyone, 1, &info, 1, &infos, &n));
    PMIx_Resolve_peers(NULL, me.nspace, &procs, &n); /* from what is here, perhaps */
    if (procs) PMIX_PROC_FREE(procs, n);
    /* These reach this process at least. */
    PMIx_Notify_event(PMIX_EXTERNAL_ERR_BASE - 1, &me, PMIX_RANGE_NAMESPACE, NULL, 0, NULL, NULL);
    rc = PMIx_Register_event_handler(NULL, 0, NULL, 0, on_event, NULL, NULL);
    if (rc >= 0) PMIx_Deregister_event_handler((size_t)rc, NULL, NULL);
    PMIX_INFO_DESTRUCT(&info);
}

int main(int argc, char** argv) {
    const char* rank = getenv("PMIX_RANK");
    const char* state = argc > 1 ? argv[1] : "";
    pmix_status_t codes[] = {PMIX_ERR_LOST_CONNECTION, PMIX_ERR_LOST_CONNECTION_TO_SERVER};
    pmix_status_t rc = PMIX_SUCCESS, last;
    bool is_early = !strcmp(state, "init");
    ssize_t length = readlink("/proc/self/exe", folder, sizeof folder - 1);
    if (!rank || length <= 0) return 2;
    *strrchr(folder, '/') = '\0';
    alarm(100);
    sem_init(&told, 0, 0);
    if (!is_early && PMIx_Init(&me, NULL, 0) != PMIX_SUCCESS) return 1;
    PMIX_LOAD_PROCID(&everyone, me.nspace, PMIX_RANK_WILDCARD);
    if (!strcmp(state, "handler") && PMIx_Register_event_handler(codes, 2, NULL, 0, on_event, NULL, NULL) < 0) return 1;
    note("at", rank, state);
    await("go");
    note("call", rank, state);
    if (is_early) {
        rc = PMIx_Init(&me, NULL, 0);
    } else if (!strcmp(state, "fence")) {
        rc = PMIx_Fence(NULL, 0, NULL, 0);
    } else if (!strcmp(state, "part")) {
        if (me.rank == 0) await("dead");
        rc = PMIx_Fence(NULL, 0, NULL, 0);
    } else if (!strcmp(state, "get") || !strcmp(state, "never")) {
        rc = get_from_peer("nobody.puts.it");
    } else if (!strcmp(state, "handler")) {
        while (sem_wait(&told)) {
        }
        rc = told_code;
    } else if (!strcmp(state, "idle")) {
        await("dead");
        make_all_calls();
    }
    if (!strcmp(state, "finalize")) {
        rc = PMIx_Finalize(NULL, 0);
    } else if (!is_early || rc == PMIX_SUCCESS) {
        last = PMIx_Finalize(NULL, 0);
        if (rc == PMIX_SUCCESS && strcmp(state, "idle")) rc = last;
    }
    note("end", rank, !strcmp(state, "idle") ? (succeeded[0] ? succeeded : "all failed") : PMIx_Error_string(rc));
    return 0;
}

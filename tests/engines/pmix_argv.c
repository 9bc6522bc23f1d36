/* SPDX-License-Identifier: BSD-3-Clause */
/* PMIx_Spawn with an argv of arguments only, as MPICH's MPI_Comm_spawn passes it: the program's name comes in front,
 * with every launcher and with every library in the caller. Rank 0 starts this program so, and joins it for a moment.
 * usage: pmix_argv */
#include <pmix.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHECK_OK(call)                                                                    \
    do {                                                                                  \
        const pmix_status_t status = (call);                                              \
        if (status != PMIX_SUCCESS) {                                                     \
            printf("FAIL line %d: %s: %s\n", __LINE__, #call, PMIx_Error_string(status)); \
            exit(1);                                                                      \
        }                                                                                 \
    } while (0)

static void join(pmix_proc_t mine, pmix_proc_t other) {
    pmix_proc_t both[2] = {mine, other};
    CHECK_OK(PMIx_Connect(both, 2, NULL, 0));
    CHECK_OK(PMIx_Disconnect(both, 2, NULL, 0));
}

int main(int argc, char** argv) {
    pmix_proc_t me;
    setvbuf(stdout, NULL, _IOLBF, 0);
    CHECK_OK(PMIx_Init(&me, NULL, 0));
    if (argc > 1) { /* the one that was started */
        pmix_proc_t parent;
        if (argc != 3 || strcmp(argv[1], "first") != 0 || strcmp(argv[2], "second") != 0) {
            printf("FAIL %d arguments, the first of them %s\n", argc - 1, argv[1]);
            return 1;
        }
        PMIX_LOAD_PROCID(&parent, getenv("ARGV_PARENT"), 0);
        join(parent, me);
        CHECK_OK(PMIx_Finalize(NULL, 0));
        return 0;
    }
    if (me.rank == 0) {
        /* Allocated as PMIx's: 4.2.2 makes them longer in place. */
        pmix_app_t app;
        pmix_nspace_t started;
        pmix_proc_t child;
        pmix_status_t rc;
        PMIX_APP_CONSTRUCT(&app);
        app.cmd = strdup(argv[0]);
        PMIX_ARGV_APPEND(rc, app.argv, "first");
        PMIX_ARGV_APPEND(rc, app.argv, "second");
        PMIX_SETENV(rc, "ARGV_PARENT", me.nspace, &app.env); /* mpirun 4.1.4 has no PMIX_PARENT_ID */
        CHECK_OK(rc);
        app.maxprocs = 1;
        pmix_info_t how;
        PMIX_INFO_LOAD(&how, PMIX_MAPBY, "slot", PMIX_STRING);
        CHECK_OK(PMIx_Spawn(&how, 1, &app, 1, started));
        PMIX_INFO_DESTRUCT(&how);
        PMIX_APP_DESTRUCT(&app);
        PMIX_LOAD_PROCID(&child, started, 0);
        join(me, child);
        printf("OK argv\n");
    }
    CHECK_OK(PMIx_Finalize(NULL, 0));
    return 0;
}

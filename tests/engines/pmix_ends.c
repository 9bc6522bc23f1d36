/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Ends a job step in an unusual way.  pmix_ends HOW
 *   kill    rank 1 dies of SIGKILL while the others are in a fence
 *   exit    rank 1 leaves with status 7 without PMIx_Finalize while the others are in a fence
 *   abort   rank 1 calls PMIx_Abort(9) while the others are in a fence
 *   hang    rank 1 never comes to the fence: somebody else must end the step
 * A fence that ends says how; then the process leaves with 0.
 */
#include <pmix.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int main(int argc, char** argv) {
    const char* how = argc > 1 ? argv[1] : "";
    pmix_proc_t me, all;
    pmix_status_t rc = PMIx_Init(&me, NULL, 0);
    if (PMIX_SUCCESS != rc) {
        fprintf(stderr, "FAIL PMIx_Init %d\n", rc);
        return 1;
    }
    PMIX_LOAD_PROCID(&all, me.nspace, PMIX_RANK_WILDCARD);
    rc = PMIx_Fence(&all, 1, NULL, 0);
    if (PMIX_SUCCESS != rc) {
        fprintf(stderr, "FAIL first fence %d\n", rc);
        return 1;
    }
    if (1 == me.rank) {
        if (0 == strcmp(how, "kill")) {
            raise(SIGKILL);
        } else if (0 == strcmp(how, "exit")) {
            _exit(7);
        } else if (0 == strcmp(how, "abort")) {
            PMIx_Abort(9, "as asked", NULL, 0);
            pause();
        } else {
            printf("HANGING\n");
            fflush(stdout);
            pause();
        }
    }
    rc = PMIx_Fence(&all, 1, NULL, 0);
    printf("rank %u: fence ended with %d\n", me.rank, rc);
    fflush(stdout);
    PMIx_Finalize(NULL, 0);
    return 0;
}

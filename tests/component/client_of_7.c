/* SPDX-License-Identifier: BSD-3-Clause */
/* client_of_7.c: the processes of the jobs of hosts_of_7.c; see zoo.h. */
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

int client_of_7(const char* mode) {
    static const struct {
        const char* name;
        void (*run)(void);
    } modes[] = {
        {"group-in-vain", group_in_vain},
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

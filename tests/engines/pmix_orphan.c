/* SPDX-License-Identifier: BSD-3-Clause */
/* A rank whose server is killed while a call waits for it. Run as `pmix_orphan STATE`, STATE one of init, fence, get
 * and finalize: it makes the file /tmp/at.RANK, waits for /tmp/go, makes that call, finalizes, and writes the status of
 * the call to /tmp/end.RANK. The server is stopped between the two files and killed afterwards (tests/engines/in_root).
 */
#include <pmix.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void note(const char* what, const char* rank, const char* text) {
    char part[64], name[64];
    snprintf(part, sizeof part, "/tmp/.%s.%s", what, rank);
    snprintf(name, sizeof name, "/tmp/%s.%s", what, rank);
    FILE* f = fopen(part, "w");
    if (!f || fprintf(f, "%s\n", text) < 0 || fclose(f) || rename(part, name)) _exit(3);
}

int main(int argc, char** argv) {
    const char* rank = getenv("PMIX_RANK");
    const char* state = argc > 1 ? argv[1] : "";
    pmix_proc_t me, peer;
    pmix_value_t* value = NULL;
    pmix_status_t rc = PMIX_SUCCESS;
    int early = !strcmp(state, "init"), i;
    if (!rank) return 2;
    alarm(60);
    if (!early && PMIx_Init(&me, NULL, 0) != PMIX_SUCCESS) return 1;
    note("at", rank, state);
    for (i = 0; i < 3000 && access("/tmp/go", F_OK); ++i) usleep(10000);
    if (early) {
        rc = PMIx_Init(&me, NULL, 0);
    } else if (!strcmp(state, "fence")) {
        rc = PMIx_Fence(NULL, 0, NULL, 0);
    } else if (!strcmp(state, "get")) {
        PMIX_PROC_LOAD(&peer, me.nspace, me.rank == 0 ? 1 : 0);
        rc = PMIx_Get(&peer, "nobody.puts.it", NULL, 0, &value);
    }
    pmix_status_t last = early && rc != PMIX_SUCCESS ? rc : PMIx_Finalize(NULL, 0);
    note("end", rank, PMIx_Error_string(!strcmp(state, "finalize") ? last : rc));
    return 0;
}

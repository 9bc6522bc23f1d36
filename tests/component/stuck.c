/* SPDX-License-Identifier: BSD-3-Clause */
/* stuck.c: a host whose process goes on while its library cannot work: it never returns from an upcall, in the thread
 * of the server's loop. It does not end by itself, and is no case of the zoo: who starts it looks at it from outside
 * and kills it. "STUCK PID" says that it has come so far. */
#include <string.h>
#include <unistd.h>

#include "zoo.h"

static bool spins;

static pmix_status_t connected(const pmix_proc_t* proc, void* object, pmix_info_t info[], size_t ninfo,
                               pmix_op_cbfunc_t done, void* cbdata) {
    (void)proc, (void)object, (void)info, (void)ninfo, (void)done, (void)cbdata;
    printf("STUCK %d\n", (int)getpid());
    fflush(stdout);
    for (volatile bool always = true; always;)
        if (!spins) pause();
    return PMIX_ERROR;
}

int stuck_host(const char* how) {
    pmix_server_module_t module;
    memset(&module, 0, sizeof module);
    module.client_connected2 = connected;
    spins = strcmp(how, "spins") == 0;
    CHECK_OK(PMIx_server_init(&module, NULL, 0));
    register_job("stuck", 1, NULL, NULL);
    register_rank("stuck", 0, NULL, NULL);
    await_client(start_client("stuck", 0, "waits"), 0);
    return 1;
}

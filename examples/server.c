/* SPDX-License-Identifier: BSD-3-Clause */
/* server.c: the least that makes a process a PMIx server: one node, one job, no upcall but two.
 *
 *     server 4 client
 *
 * Starts 4 copies of ./client (or any program) and waits for them. What is local to one node (put, commit, fence, get
 * among these processes) the library does by itself; what a resource manager adds is in launcher/. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* execvpe */
#endif
#include <pmix.h>
#include <pmix_server.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char** environ;

static pmix_status_t client_connected2(const pmix_proc_t* proc, void* object, pmix_info_t info[], size_t ninfo,
                                       pmix_op_cbfunc_t cbfunc, void* cbdata) {
    (void)proc, (void)object, (void)info, (void)ninfo, (void)cbfunc, (void)cbdata;
    return PMIX_OPERATION_SUCCEEDED; /* done: the callback is not called */
}

static pmix_status_t client_finalized(const pmix_proc_t* proc, void* object, pmix_op_cbfunc_t cbfunc, void* cbdata) {
    (void)proc, (void)object, (void)cbfunc, (void)cbdata;
    return PMIX_OPERATION_SUCCEEDED;
}

static pmix_server_module_t module = {.client_connected2 = client_connected2, .client_finalized = client_finalized};

static void check(pmix_status_t status, const char* what) {
    if (status == PMIX_SUCCESS || status == PMIX_OPERATION_SUCCEEDED) return;
    fprintf(stderr, "%s: %s (%d)\n", what, PMIx_Error_string(status), status);
    exit(1);
}

static const pmix_nspace_t kJob = "example";

/* Two maps and a size: the rest is derived from them. */
static void register_job(uint32_t size) {
    char *nodes = NULL, *procs = NULL, host[256] = "", *ranks = calloc(size, 12);
    if (!ranks || gethostname(host, sizeof host - 1) != 0) exit(1);
    for (uint32_t rank = 0, used = 0; rank < size; rank++) {
        used += (uint32_t)sprintf(ranks + used, "%s%u", rank ? "," : "", rank);
    }
    check(PMIx_generate_regex(host, &nodes), "PMIx_generate_regex");
    check(PMIx_generate_ppn(ranks, &procs), "PMIx_generate_ppn");
    pmix_info_t info[3];
    PMIX_INFO_LOAD(&info[0], PMIX_NODE_MAP, nodes, PMIX_REGEX);
    PMIX_INFO_LOAD(&info[1], PMIX_PROC_MAP, procs, PMIX_REGEX);
    PMIX_INFO_LOAD(&info[2], PMIX_JOB_SIZE, &size, PMIX_UINT32);
    check(PMIx_server_register_nspace(kJob, (int)size, info, 3, NULL, NULL), "PMIx_server_register_nspace");
    for (int i = 0; i < 3; i++) PMIX_INFO_DESTRUCT(&info[i]);
    free(nodes);
    free(procs);
    free(ranks);
}

/* The address of this server is put into the client's environment. */
static void start(uint32_t rank, char** argv) {
    pmix_proc_t proc;
    char** env = NULL;
    PMIX_LOAD_PROCID(&proc, kJob, rank);
    check(PMIx_server_register_client(&proc, geteuid(), getegid(), NULL, NULL, NULL), "PMIx_server_register_client");
    check(PMIx_server_setup_fork(&proc, &env), "PMIx_server_setup_fork");
    size_t own = 0, added = 0;
    while (environ[own]) own++;
    while (env[added]) added++;
    char** all = calloc(own + added + 1, sizeof *all);
    if (!all) exit(1);
    memcpy(all, env, added * sizeof *all); /* first, because programs take the first variable of a name */
    memcpy(all + added, environ, own * sizeof *all);
    fflush(stdout);
    if (fork() == 0) {
        execvpe(argv[0], argv, all);
        _exit(127);
    }
    for (size_t i = 0; i < added; i++) free(env[i]);
    free(env);
    free(all);
}

int main(int argc, char** argv) {
    uint32_t size = argc > 2 ? (uint32_t)strtoul(argv[1], NULL, 10) : 0;
    int status, failed = 0;
    if (size == 0) {
        fprintf(stderr, "usage: server N PROGRAM [ARG...]\n");
        return 2;
    }
    check(PMIx_server_init(&module, NULL, 0), "PMIx_server_init");
    register_job(size);
    for (uint32_t rank = 0; rank < size; rank++) start(rank, argv + 2);
    while (wait(&status) > 0) failed += status != 0;
    PMIx_server_deregister_nspace(kJob, NULL, NULL);
    check(PMIx_server_finalize(), "PMIx_server_finalize");
    return failed > 0;
}

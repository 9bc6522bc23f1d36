/* SPDX-License-Identifier: BSD-3-Clause */
/* ends: how a process may end, and what becomes of the others.
 * usage: ends exit CODE|signal N|silent|abort STATUS|abort_long|abort_some|abort_unknown|hang|hang_with_children */
#include <signal.h>
#include <sys/wait.h>

#include "check.h"

static void wait_for_the_end(void) {
    for (;;) pause(); /* alarm() ends it, and with it the test */
}

/* The last rank exits with a code; the others would wait for ever. rows: G10 */
static void exits(int argc, char** argv) {
    start();
    fence(false);
    if (me.rank == job_size - 1) exit(argc > 0 ? atoi(argv[0]) : 1);
    wait_for_the_end();
}

static void dies(int argc, char** argv) {
    start();
    fence(false);
    if (me.rank == job_size - 1) raise(argc > 0 ? atoi(argv[0]) : SIGKILL);
    wait_for_the_end();
}

/* Leaves with 0, but without PMIx_Finalize. */
static void silent(int argc, char** argv) {
    (void)argc, (void)argv;
    start();
    fence(false);
    if (me.rank == job_size - 1) _exit(0);
    wait_for_the_end();
}

/* rows: C10 U4 */
static void aborts(int argc, char** argv) {
    int status = argc > 0 ? atoi(argv[0]) : 1;
    start();
    fence(false);
    if (me.rank != job_size - 1) wait_for_the_end();
    PMIx_Abort(status, "as the test wants it", NULL, 0);
    CHECK(!"PMIx_Abort returned in its own target");
}

/* The whole message is reported. rows: C10 */
static void abort_long(int argc, char** argv) {
    (void)argc, (void)argv;
    static char message[20000];
    start();
    fence(false);
    if (me.rank != job_size - 1) wait_for_the_end();
    memset(message, '.', sizeof message - 1);
    memcpy(message + sizeof message - 8, " to end", 8);
    PMIx_Abort(5, message, NULL, 0);
    CHECK(!"PMIx_Abort returned in its own target");
}

/* Only rank 0 is to end, on whichever node; the caller goes on. rows: C10 C11 */
static void abort_some(int argc, char** argv) {
    (void)argc, (void)argv;
    start();
    fence(false);
    pmix_proc_t first = rank_of_job(0);
    if (me.rank == 0) wait_for_the_end();
    if (me.rank == job_size - 1) CHECK_OK(PMIx_Abort(7, "only the first", &first, 1));
    finish();
}

/* Aborting an unknown process is an error, and all processes go on. rows: C11 */
static void abort_unknown(int argc, char** argv) {
    (void)argc, (void)argv;
    pmix_proc_t unknown;
    start();
    PMIX_LOAD_PROCID(&unknown, "no.such.job", 0);
    CHECK_STATUS(PMIx_Abort(7, "nobody", &unknown, 1), PMIX_ERR_PARAM_VALUE_NOT_SUPPORTED);
    fence(false);
    finish();
}

static void hang(int argc, char** argv) {
    (void)argc, (void)argv;
    start();
    printf("up %u\n", me.rank);
    fflush(stdout);
    if (me.rank != 0) PMIx_Fence(NULL, 0, NULL, 0);
    wait_for_the_end();
}

/* As hang, with processes of its own: one that stays in the rank's process group, one that leaves it, and one that is
 * nobody's child any more. */
static void hang_with_children(int argc, char** argv) {
    fflush(stdout);
    for (int i = 0; i < 3; i++) {
        int ready[2];
        char byte;
        CHECK(pipe(ready) == 0);
        pid_t pid = fork();
        CHECK(pid >= 0);
        if (pid == 0) {
            if (i == 1) setsid();
            if (i == 2 && (setsid(), fork() > 0)) _exit(0);
            CHECK(write(ready[1], "x", 1) == 1);
            close(ready[0]);
            close(ready[1]);
            for (;;) pause();
        }
        CHECK(read(ready[0], &byte, 1) == 1);
        close(ready[0]);
        close(ready[1]);
        if (i == 2) waitpid(pid, NULL, 0);
    }
    hang(argc, argv);
}

int main(int argc, char** argv) {
    static const struct test_case cases[] = {
        {"exit", exits},
        {"signal", dies},
        {"silent", silent},
        {"abort", aborts},
        {"hang", hang},
        {"hang_with_children", hang_with_children},
        {"abort_long", abort_long},
        {"abort_some", abort_some},
        {"abort_unknown", abort_unknown},
    };
    RUN_CASE(cases);
    return 0;
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* slow_exec: to be preloaded: each program is executed SLOW_EXEC_MS milliseconds late, as from a busy file server. */
#include <dlfcn.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

typedef int execute(const char* file, char* const argv[]);

static execute* real;
static long delay_ms;

static __attribute__((constructor)) void find(void) {
    const char* given = getenv("SLOW_EXEC_MS");
    *(void**)&real = dlsym(RTLD_NEXT, "execvp");
    delay_ms = given ? atol(given) : 0;
}

int execvp(const char* file, char* const argv[]) {
    struct timespec time = {.tv_sec = delay_ms / 1000, .tv_nsec = delay_ms % 1000 * 1000000};
    nanosleep(&time, NULL);
    return real(file, argv);
}

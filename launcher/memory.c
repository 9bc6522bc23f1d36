/* SPDX-License-Identifier: BSD-3-Clause */
/* What a daemon holds goes back to the system when jobs end: glibc's allocator would keep the memory of the largest
 * job. The daemon's own thread calls all of it. */
#include <stdbool.h>
#include <stdlib.h> /* __GLIBC__ */
#ifdef __GLIBC__
#include <malloc.h>
#endif

#include "loop.h"
#include "node.h"

/* Not at once: frames and answers that are still on their way through the daemon or the library's thread are freed
 * after the job, and what is freed behind a trim stays. */
enum { TRIM_AFTER_MS = 100 };

static struct timer* trim;
static bool ended_since; /* another job ended while the timer ran */

/* One arena for all threads: malloc_trim does not reach the end of any but the first, which would keep what the
 * library's thread once held. Before a second thread starts. */
void memory_start(void) {
#ifdef __GLIBC__
    mallopt(M_ARENA_MAX, 1);
#endif
}

static void give_back(void* unused) {
    (void)unused;
#ifdef __GLIBC__
    malloc_trim(0);
#endif
    trim = ended_since ? loop_after(TRIM_AFTER_MS / 1000.0, give_back, NULL) : NULL;
    ended_since = false;
}

void memory_give_back_later(void) {
    ended_since = trim != NULL;
    if (!trim) trim = loop_after(TRIM_AFTER_MS / 1000.0, give_back, NULL);
}

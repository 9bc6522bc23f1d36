// SPDX-License-Identifier: BSD-3-Clause
/* Which figures can be true: a program refuses to print others. Pure; C and C++. */
#ifndef BENCH_FIGURES_H
#define BENCH_FIGURES_H
#include <math.h>
#include <stdbool.h>
#include <string.h>

/* A call takes a nanosecond at the very least, so one thread makes at most so many in a second. */
#define FIGURE_MOST_PER_THREAD 1e9
/* Nothing here is measured for longer than a day. */
#define FIGURE_LONGEST_NS (86400.0 * 1e9)

/* Calls per second of so many threads. */
static inline bool rate_is_possible(double per_second, int threads) {
    return isfinite(per_second) && per_second > 0 && per_second <= FIGURE_MOST_PER_THREAD * threads;
}

/* Elapsed times are above zero. Processor times ("_cpu_" in the name) and amounts are not below it, changes
 * ("_growth") may be. */
static inline bool figure_is_possible(const char* name, const char* unit, double v) {
    if (!isfinite(v)) return false;
    double ns = strcmp(unit, "ns") == 0 ? v : strcmp(unit, "us") == 0 ? v * 1e3 : strcmp(unit, "ms") == 0 ? v * 1e6 : 0;
    bool time = strcmp(unit, "ns") == 0 || strcmp(unit, "us") == 0 || strcmp(unit, "ms") == 0;
    if (time && strstr(name, "_cpu") != NULL)
        return ns >= 0 && ns <= FIGURE_LONGEST_NS * 1024; /* of all processes of a run */
    if (time) return ns >= 1e9 / FIGURE_MOST_PER_THREAD && ns <= FIGURE_LONGEST_NS;
    return v >= 0 || strstr(name, "_growth") != NULL;
}
#endif

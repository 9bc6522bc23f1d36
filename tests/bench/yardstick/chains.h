/* SPDX-License-Identifier: BSD-3-Clause */
/* Chains of wake-ups: what this machine needs for the hops of an operation when each of them does nothing else. */
#ifndef CHAINS_H
#define CHAINS_H

enum { CHAIN_STATIONS = 8, CHAIN_ROUTE = 12 };

typedef struct {
    const char* name;            /* of the figure */
    int process[CHAIN_STATIONS]; /* which process has the station; each station is a thread of its own */
    int stations;
    int route[CHAIN_ROUTE]; /* the stations that a message passes; it begins and ends with 0 */
    int length;
} chain_t;

extern const chain_t chains[];
extern const int chain_count;

/* The median of the time in us that a message takes along the route, or a negative number where the machine refuses a
 * descriptor, a process or a thread. Leaves nothing behind. */
double chain_time(const chain_t* c);
#endif

// SPDX-License-Identifier: BSD-3-Clause
/* loop.h: the one thread that does everything in a process of pmixrun.
 *
 * What this owns: the poll set, the timers and the queue by which other threads hand work over. PMIx makes its
 * upcalls on a thread of the library, where a host must not wait: an upcall copies its arguments into a task and
 * posts it; the loop does the work and calls PMIx back, which PMIx allows from any thread.
 * Which thread calls it: loop_post() any; all the rest the thread that runs the loop.
 * What can go wrong: the descriptors of poll and eventfd, at start; then loop_start() returns false. */
#ifndef PMIXRUN_LOOP_H
#define PMIXRUN_LOOP_H

#include <stdbool.h>

struct timer;

bool loop_start(void);
/* Runs until *stop; every posted task is done before any descriptor is served, so that what a thread posted before
 * it caused an event (a process that finalized and then exited) is seen in that order. */
void loop_run(const bool* stop);

void loop_post(void (*task)(void* argument), void* argument);

void loop_watch(int fd, short events, void (*ready)(int fd, short events, void* argument), void* argument);
void loop_watch_events(int fd, short events);
void loop_unwatch(int fd);

struct timer* loop_after(double seconds, void (*expired)(void* argument), void* argument); /* fires once */
/* NULL is fine. A timer frees itself when it fires: what it runs must make its owner forget it. */
void loop_cancel(struct timer* timer);

double loop_now(void); /* seconds on the monotonic clock */

#endif

// SPDX-License-Identifier: BSD-3-Clause
/* waits.h: waits of pmixrun's processes outside of a loop; each has an end.
 *
 * Which thread calls it: any. What can go wrong: no descriptor for the signals; then the time alone ends a wait. */
#ifndef PMIXRUN_WAITS_H
#define PMIXRUN_WAITS_H

#include <stdbool.h>
#include <stddef.h>

double waits_until(double seconds); /* from now, on the monotonic clock */
double waits_left(double until);    /* in seconds; 0: the time is over */

/* Until there is something to read, or the other end is closed. False: the time is over (errno ETIMEDOUT), or a signal
 * that ends pmixrun and is blocked has come (EINTR), which stays pending. */
bool waits_readable(int fd, double until);
/* Reads all of it. False as above; EPIPE: the other end was closed before. */
bool waits_read(int fd, void* data, size_t size, double until);
/* The signal that has come; 0: none. */
int waits_signal(void);

#endif

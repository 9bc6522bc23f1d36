// SPDX-License-Identifier: BSD-3-Clause
/* progress.h: the line about a launch that takes its time, on a terminal.
 *
 * What this owns: one line of the terminal that is pmixrun's standard error, from two seconds after the launch of the
 * user's job began until all its processes are up; the line is rewritten in place and gone at the end. Of anything but
 * a terminal nothing is written. Once processes write to it the terminal is theirs, and the line does not come back.
 * Which thread calls it: the head's loop.
 * What can go wrong: a terminal that takes nothing; then the line is left out. */
#ifndef PMIXRUN_PROGRESS_H
#define PMIXRUN_PROGRESS_H

#include <stdint.h>

void progress_begin(uint32_t processes);
void progress_node(int node, uint32_t up); /* so many processes of the node are up */
void progress_hide(void);                  /* something else is about to be written */
void progress_end(void);

#endif

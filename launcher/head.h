// SPDX-License-Identifier: BSD-3-Clause
/* head.h: the process the user started: it supervises, and joins the nodes to the terminal.
 *
 * head.c: jobs from definition to end, failures, signals, the exit status. headio.c: standard streams.
 * Everything runs in the loop of that process. */
#ifndef PMIXRUN_HEAD_H
#define PMIXRUN_HEAD_H

#include <signal.h>

#include "job.h"
#include "keeper.h"
#include "mesh.h"
#include "options.h"

/* Before anything is made that must be removed again: from here on signals are pending until head_main handles them. */
void head_block_signals(sigset_t* set);
/* Runs the job; gives pmixrun's exit status. daemons[i] is the process of node i, a child of the keeper. */
int head_main(const struct options* options, const char* server_nspace, const struct keeper* keeper,
              const pid_t* daemons, int* sockets);

/* Remembers the first exit status that is not zero, and ends all jobs: by SIGTERM, then by SIGKILL. */
void head_end_everything(int exit_status);

void headio_start(void (*drained)(void));
bool headio_drained(void);
void headio_say(const char* text); /* a line for stderr; never waits */
void headio_end(void);
void headio_stdin_to(const struct job* job, const struct options* options); /* which runs now */
void on_output(int from, uint64_t id, struct buffer* body);

#endif

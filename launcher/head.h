// SPDX-License-Identifier: BSD-3-Clause
/* head.h: the process the user started: it supervises, and joins the nodes to the terminal.
 *
 * head.c: jobs until they are over, failures, signals, the exit status. starts.h: how they begin. headio.c: standard
 * streams.
 * Everything runs in the loop of that process. */
#ifndef PMIXRUN_HEAD_H
#define PMIXRUN_HEAD_H

#include <signal.h>

#include "job.h"
#include "keeper.h"
#include "mesh.h"
#include "options.h"

enum { EXIT_TIMEOUT = 124 };

/* Before anything is made that must be removed again: from here on signals are pending until head_main handles them. */
void head_block_signals(sigset_t* set);
/* Runs the job; gives pmixrun's exit status. daemons[i] is the process of node i, a child of the keeper. */
int head_main(const struct options* options, const char* server_nspace, const struct keeper* keeper,
              const pid_t* daemons, int* sockets);

/* Remembers the first exit status that is not zero, and ends all jobs: by SIGTERM, then by SIGKILL. */
void head_end_everything(int exit_status);
bool head_is_ending(void);
/* Ends processes: by SIGTERM, then by SIGKILL. launch_failed: those of a job whose start has failed. */
void head_end_procs(const pmix_proc_t* procs, size_t count, bool launch_failed);
/* Their end is no failure. by_user: but the exit status shows it. */
void head_expect_end_of(const pmix_proc_t* procs, size_t count, bool by_user);
/* Ends the jobs that are to end with this one, which is their parent's. */
void head_end_children(const char* nspace);
/* All processes of the job have ended: the nodes forget it, and so does the head. */
void head_job_over(struct job* job);
/* A sentence for the user. */
void head_say(const char* format, ...) __attribute__((format(printf, 1, 2)));

void headio_start(void (*drained)(void));
bool headio_drained(void);
void headio_say(const char* text); /* a line for stderr; never waits */
void headio_end(void);
void headio_stdin_to(const struct job* job, const struct options* options); /* which runs now */
void on_output(int from, uint64_t id, struct buffer* body);

#endif

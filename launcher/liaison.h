// SPDX-License-Identifier: BSD-3-Clause
/* liaison.h: with the tool that has started this pmixrun by PMIx_Spawn (the Standard's indirect launch).
 *
 * Such a pmixrun has the name that the tool gave it: that is the name of its first node's server, to which the tool
 * connects. The same name is a process of a job at the tool's own server. A process of its own is that one, because a
 * server cannot be a process of another one: it stops in PMIx_tool_init if the tool wants that, gets the directives for
 * the job of the command line, and notices when the tool ends.
 *
 * What this owns: that process and the line to it. It ends when the line is closed.
 * Which thread calls it: the first, before there are others; then the head's loop.
 * What can go wrong: the tool's server does not take it: the job starts without directives. It ends, or its directives
 * are too long: the job does not start. */
#ifndef PMIXRUN_LIAISON_H
#define PMIXRUN_LIAISON_H

#include "wire.h"

/* The name that the tool has given; NULL: no tool has started this pmixrun. */
const char* liaison_name(void);
/* The line to the process; -1: it cannot be made. Before pmixrun has other descriptors and children. */
int liaison_start(void);
/* The tool has released the launcher by way of a server of ours. */
void liaison_release(int line);

/* The tool can connect to the server of our first node; before that the process reports nothing as ready. */
void liaison_server_up(int line);

/* Waits until it has left the tool's server, if that takes no more than a few seconds. */
void liaison_end(int line);

struct tidings {
    bool good;          /* false: there is no more */
    bool gone;          /* the tool has ended; else the job is to be started */
    bool unmet;         /* its directives are more than the line takes */
    pmix_proc_t tool;   /* empty namespace: unknown */
    pmix_info_t* infos; /* its directives; infos_free() */
    size_t count;
};
struct tidings liaison_read(int line);

#endif

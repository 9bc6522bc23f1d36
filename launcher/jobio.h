// SPDX-License-Identifier: BSD-3-Clause
/* jobio.h: the source of a job's input and the destinations of its output: from the user's options for the job of the
 * command line, from the attributes of PMIx_Spawn for the others.
 *
 * What this owns: the two paths in a job_io. Which thread calls it: any; a job_io belongs to one thread at a time.
 * What can go wrong: nothing but memory. */
#ifndef PMIXRUN_JOBIO_H
#define PMIXRUN_JOBIO_H

#include <time.h>

#include "wire.h"

struct job;

#ifndef PMIX_IOF_INHERIT /* headers before 7.0 */
#define PMIX_IOF_INHERIT "pmix.iof.inhrt"
#endif

struct job_io {
    bool tag;             /* lines begin with [JOB,RANK]<STREAM>: */
    bool fullname;        /* or with [NSPACE,RANK]<STREAM>: */
    bool detailed;        /* or with [NSPACE,RANK][NODE:PID]<STREAM>: */
    bool rank_tag;        /* or with [RANK]<STREAM>: */
    bool timestamp;       /* and with the time */
    const time_t* at;     /* that time, borrowed; NULL: now, as for all output of processes */
    bool xml;             /* each line is an element, with all that as attributes */
    bool raw;             /* bytes are passed on as they are read, not by lines */
    bool merge;           /* stderr is written where stdout is */
    bool file_only;       /* into files and nowhere else */
    bool pattern;         /* `file` has %n for the namespace and %r for the rank in it */
    bool numbered;        /* below `directory`, the job is its number, not its namespace */
    bool diagnostics;     /* its processes have a third output */
    bool apart;           /* a reader of the output of its parent does not get its output too */
    char* file;           /* FILE.NSPACE.RANK.stdout, or NULL */
    char* directory;      /* DIRECTORY/NSPACE/rank.RANK/stdout, or NULL */
    pmix_rank_t stdin_to; /* whose stdin is a pipe: PMIX_RANK_WILDCARD: all, PMIX_RANK_INVALID: none */
};

/* The environment variable by which a process finds the descriptor of its third output. */
#define JOBIO_DIAGNOSTICS "PMIXRUN_STDDIAG_FD"

void jobio_of_spawn(struct job_io* io, const pmix_info_t* infos, size_t count);
void jobio_put(struct buffer* b, const struct job_io* io);
void jobio_get(struct buffer* b, struct job_io* io);
void jobio_destruct(struct job_io* io);
bool jobio_has_stdin(const struct job_io* io, pmix_rank_t rank);
bool jobio_has_files(const struct job_io* io);
/* All processes write one file per stream: its name does not say of which rank it is. */
bool jobio_shares_file(const struct job_io* io);
/* Empties those files, where they are; before any process of the job can write. */
void jobio_empty_shared_file(const struct job_io* io, const struct job* job);
/* Each line has a beginning of ours. */
bool jobio_marks_lines(const struct job_io* io);
/* The file of a stream; the caller frees it. */
char* jobio_path(const struct job_io* io, const struct job* job, pmix_rank_t rank, const char* stream);
/* The prefix of a line, the line or a part of it, and its suffix (the newline, if it has one). */
void jobio_begin_line(const struct job_io* io, const struct job* job, pmix_rank_t rank, const char* stream,
                      struct buffer* text);
void jobio_text(const struct job_io* io, const uint8_t* bytes, size_t size, struct buffer* text);
/* So many bytes are lines with their ends. */
size_t jobio_whole_lines(const uint8_t* bytes, size_t size);
void jobio_end_line(const struct job_io* io, const char* stream, struct buffer* text);

#endif

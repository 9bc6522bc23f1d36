// SPDX-License-Identifier: BSD-3-Clause
/* options.h: the command line of pmixrun. */
#ifndef PMIXRUN_OPTIONS_H
#define PMIXRUN_OPTIONS_H

#include "job.h"

enum input_to { INPUT_TO_RANK, INPUT_TO_ALL, INPUT_TO_NONE, INPUT_OPEN };

struct options {
    struct app* apps;
    uint32_t app_count;
    int nodes;
    enum placement placement;
    double timeout;     /* seconds; 0: none */
    double linger;      /* seconds that processes may run after their node's daemon is lost */
    double kill_after;  /* seconds between SIGTERM and SIGKILL */
    size_t event_cache; /* events that each server keeps; 0: the library's default */
    bool continuous;    /* a process that fails does not end the job */
    bool tag_output;
    bool timestamp_output;
    bool merge_stderr;      /* into stdout */
    bool report_bindings;   /* on stderr, of each process */
    struct binding binding; /* of the processes of the command line */
    char** words;           /* the command line */
    bool share_topology;    /* each server gives its processes the hardware topology */
    char* output_directory; /* NULL: no files */
    bool file_only;
    enum input_to input_to;
    uint32_t input_rank;
    bool verbose;
    int liaison; /* line to liaison.h's process; -1: no tool has started this pmixrun */
};

/* What they mean for the job of the command line; the caller's to destruct. */
struct job_io options_io(const struct options* options);
/* What they mean for a job that a process has spawned, in all that the spawn leaves open. */
void options_complete_io(const struct options* options, const pmix_info_t* spawn, size_t count, struct job_io* io);

/* Reads the command line. Prints what is wrong, or the usage, and exits. */
void options_read(int argc, char** argv, struct options* options);

#endif

// SPDX-License-Identifier: BSD-3-Clause
/* job.h: what a job is (its applications, its processes and where they run) and its state as the head and each node see
 * it.
 *
 * What this owns: the list of jobs of this process. A job is described once by the head, encoded in a frame, and the
 * same on every node; placement is computed by each of them from the same few numbers.
 * Which thread calls it: the loop.
 * What can go wrong: nothing but memory; a description that cannot be read gives NULL. */
#ifndef PMIXRUN_JOB_H
#define PMIXRUN_JOB_H

#include "binding.h"
#include "jobio.h"
#include "wire.h"

enum { MAX_NODES = 64 };

enum placement { BY_SLOT, BY_NODE }; /* blocks of neighbouring ranks; or one to each node in turn */

struct layout {
    enum placement shares; /* how many processes each node gets */
    enum placement ranks;  /* and how their ranks follow each other on the nodes */
    uint32_t ppr;          /* at most so many of an application on each; 0: no limit */
};

#define NO_LIMIT UINT32_MAX

struct place { /* a node that an application may use */
    uint32_t node;
    uint32_t slots;  /* how many of its processes; NO_LIMIT: any number */
    uint32_t of_job; /* and how many together with those of the other applications that have their hosts of the job */
};

struct app {
    char* program; /* what to execute; NULL: argv[0] */
    char** argv;
    char** env;        /* NAME=VALUE to set, NAME to unset: in this order, over pmixrun's own environment */
    char* wdir;        /* NULL: pmixrun's own */
    char* pset;        /* name of the process set that its processes make; NULL: none */
    bool pset_defined; /* it is in this node's server */
    uint32_t size;     /* processes */
    uint32_t first;
    bool session_wdir;    /* its directory is the node's private one */
    bool index_argv;      /* argv[0] of rank 3 is NAME-3 */
    struct place* places; /* NULL: all nodes */
    uint32_t place_count;
    char* cpus; /* that its processes may run on; NULL: all */
    struct binding binding;
    bool reports_bindings; /* to the user, of each process */
};

enum wanted_event {                       /* events about the job that its spawn asked for */
                    WANTS_JOB_EVENTS = 1, /* its start, its launch, its end */
                    WANTS_JOB_END = 2,
                    WANTS_PROC_ENDS = 4,     /* of each process */
                    WANTS_ABNORMAL_ENDS = 8, /* of each that fails */
                    WANTS_SILENT_END = 16,   /* no event when it ends well */
                    IS_RECOVERABLE = 32,     /* not an event: a process of it that fails does not end anything */
                    LOGS_JOB_EVENTS = 64,    /* the same to be logged, and where */
                    LOGS_JOB_END = 128,
                    LOGS_PROC_ENDS = 256,
                    LOGS_ABNORMAL_ENDS = 512,
                    LOG_ON_STDOUT = 1024,
                    LOG_ON_STDERR = 2048,
                    LOG_ON_SYSLOG = 4096,
                    LOG_WITH_TIME = 8192,
                    ENDS_WITH_PARENT = 16384, /* not an event: it is ended when the job of its parent is over */
                    TELLS_PARENT = WANTS_JOB_EVENTS | WANTS_JOB_END | WANTS_PROC_ENDS | WANTS_ABNORMAL_ENDS,
};

/* What one spawn may ask for. Each node keeps tables of all processes of a job, so a number that no machine could start
 * must end there and not in the memory of every daemon. */
enum { MAX_SPAWNED = 65536 };

enum stop { STOP_ON_EXEC = 1, STOP_IN_INIT = 2, STOP_IN_APP = 4 }; /* where a process waits for a debugger */

enum proc_phase { PROC_DEFINED, PROC_RUNNING, PROC_ENDED };

struct proc {
    uint32_t node, local_rank;
    enum proc_phase phase;
    pid_t pid;
    bool connected;  /* client_connected2 was called (known on its node) */
    bool finalized;  /* client_finalized was called (known on its node) */
    bool expected;   /* its end was requested: not a failure */
    bool by_user;    /* by a tool: the exit status shows that */
    int wait_status; /* once ended */
    bool lost;       /* once ended: it had initialised, and not finalized */
    bool aborted;    /* it was ended because it called PMIx_Abort (known on its node, once ended everywhere) */
    uint8_t stops;   /* of enum stop: where it is to wait for a debugger */
    uint8_t stands;  /* and where it does, known to the head */
};

struct job {
    struct job* next;
    pmix_nspace_t nspace;
    uint32_t number; /* 1 for the one of the command line, then the spawned ones */
    uint32_t size;
    uint32_t first_global; /* so many processes had the jobs before it, in all */
    uint32_t nodes;        /* that have a process of it */
    struct layout layout;
    uint32_t* ranks_on[MAX_NODES]; /* in order */
    uint32_t size_on[MAX_NODES];
    uint32_t node_ranks_from[MAX_NODES]; /* those below may be other jobs' */
    uint32_t beside_on[MAX_NODES];       /* processes that the jobs before it had there when it was made */
    struct app* apps;
    uint32_t app_count;
    pmix_proc_t parent;           /* empty namespace: started by the user */
    pmix_proc_t requester;        /* which process asked for it, known to the head: mostly the parent */
    bool left_parent;             /* they have disconnected */
    bool over;                    /* by the head's decision */
    bool cut_short;               /* some of its processes were never started (known to the head) */
    bool starting;                /* not all nodes have reported its start (known to the head) */
    bool launch_failed;           /* what runs of it is being ended, and its parent never got its name */
    struct launch* failed_launch; /* known to the head: which answers when the job is over */
    struct job_io io;
    bool is_debugger;         /* its processes are daemons of a debugger */
    pmix_proc_t debug_target; /* that they look at; empty namespace: none */
    struct buffer directives; /* PMIX_LAUNCH_DIRECTIVES for its processes, a value; empty: none */
    char* breakpoint;         /* where a process of it has stopped last by itself, known to the head */
    uint32_t with;            /* number of the first job of the same spawn, known to the head */
    struct proc* procs;
    cpu_set_t* cpus;           /* that each process may run on, an empty set: all; NULL: nobody is bound (cpus.h) */
    uint32_t alive;            /* processes that have not ended */
    uint32_t wanted;           /* see above; known to the head */
    pmix_status_t term_status; /* of its first failure, known to the head, as are the next two */
    uint32_t failed_rank;
    int failed_code;
};

/* Describes a job of `nodes` nodes; the apps are taken over, and so is `io`, set afterwards. It is not in the list yet.
 * NULL, with the apps gone: its processes cannot be placed, because there are not as many slots. */
struct job* job_new(const char* nspace, uint32_t number, uint32_t nodes, struct layout layout, struct app* apps,
                    uint32_t app_count, const pmix_proc_t* parent);
void job_free(struct job* job);
void layout_put(struct buffer* b, struct layout layout);
struct layout layout_get(struct buffer* b);
void job_put(struct buffer* b, const struct job* job);
struct job* job_get(struct buffer* b, uint32_t nodes);
void app_put(struct buffer* b, const struct app* app);
void app_get(struct buffer* b, struct app* app);
void app_destruct(struct app* app);
struct app* apps_get(struct buffer* b, uint32_t count);
void apps_free(struct app* apps, uint32_t count);

/* Keeps applications to the usable nodes. False: none is left, or one was given some of the nodes and not all of them
 * are usable. */
bool apps_keep_to(struct app* apps, uint32_t count, uint32_t nodes, bool (*usable)(int node));

/* Finds the place on each node of a job that is not in the list yet, beside those that are. */
void job_place_beside_others(struct job* job);
/* Processes that were never started, as far as the head knows, have ended. */
void job_end_unstarted(struct job* job);
void jobs_add(struct job* job);
void jobs_remove(struct job* job); /* and frees it */
struct job* jobs_first(void);
struct job* job_find(const char* nspace);
/* The process, or NULL if there is none of that name. */
struct proc* proc_find(const pmix_proc_t* id);

uint32_t job_node_of(const struct job* job, uint32_t rank);
uint32_t job_size_on(const struct job* job, uint32_t node);
uint32_t job_rank_at(const struct job* job, uint32_t node, uint32_t local_rank);
uint32_t job_local_rank(const struct job* job, uint32_t rank);
uint32_t job_app_of(const struct job* job, uint32_t rank);
/* "3,4,5": the ranks on a node; the caller frees it. */
char* job_ranks_on(const struct job* job, uint32_t node);

/* Does `pattern` (a rank, or PMIX_RANK_WILDCARD) name this process? */
bool proc_matches(const pmix_proc_t* pattern, const char* nspace, uint32_t rank);
/* By namespace and rank, for qsort. */
int compare_procs(const void* a, const void* b);
/* Each process once, for wildcards all of their job, in order. The caller frees it. */
pmix_proc_t* single_procs(const pmix_proc_t* procs, size_t nprocs, size_t* count);
bool procs_match(const pmix_proc_t* patterns, size_t count, const char* nspace, uint32_t rank);

#endif

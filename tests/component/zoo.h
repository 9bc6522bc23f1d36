// SPDX-License-Identifier: BSD-3-Clause
/* zoo.h: what the hosts of the zoo share. Each host is a program of its own (one case of host_zoo) that has one habit
 * of a real resource manager; real clients run under it, and the host ends by itself, with the right statuses and with
 * nothing left. The clients are this very program, started with the environment that PMIx_server_setup_fork gives.
 *
 * Helpers may be called by any thread of a host; a failed check is one line on stdout and exit status 1.
 */
#ifndef WIREUP_TESTS_COMPONENT_ZOO_H
#define WIREUP_TESTS_COMPONENT_ZOO_H

#include <pmix.h>
#include <pmix_server.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#define CHECK(condition)                                               \
    do {                                                               \
        if (!(condition)) zoo_fail(__FILE__, __LINE__, #condition, 0); \
    } while (0)
#define CHECK_OK(call) CHECK_STATUS(call, PMIX_SUCCESS)
#define CHECK_STATUS(call, wanted)                                             \
    do {                                                                       \
        pmix_status_t status_ = (call);                                        \
        if (status_ != (wanted)) zoo_fail(__FILE__, __LINE__, #call, status_); \
    } while (0)
/* A call that may be done at once. */
#define CHECK_DONE(call)                                                      \
    do {                                                                      \
        pmix_status_t status_ = (call);                                       \
        if (status_ != PMIX_OPERATION_SUCCEEDED && status_ != PMIX_SUCCESS) { \
            zoo_fail(__FILE__, __LINE__, #call, status_);                     \
        }                                                                     \
    } while (0)
void zoo_fail(const char* file, int line, const char* what, pmix_status_t got);

/* One habit. */
struct host {
    const char* name;
    void (*run)(void);
};
extern const struct host order_hosts[], answer_hosts[], ending_hosts[], data_hosts[],
    hosts_of_7[]; /* each ends with a NULL name */

/* What a client does, by its name: see client.c. */
enum { CLIENT_GOOD = 0 };

/* --- the job: two ranks of one node, unless a host says otherwise --- */
enum { RANKS = 2 };
void register_job(const char* name, uint32_t ranks, pmix_op_cbfunc_t done, void* cbdata);
void register_rank(const char* name, uint32_t rank, pmix_op_cbfunc_t done, void* cbdata);
void deregister_job(const char* name);
pmix_proc_t proc_of(const char* name, uint32_t rank);

/* setup_fork, fork and exec; mode: what the client is to do. */
pid_t start_client(const char* name, uint32_t rank, const char* mode);
/* The same with an environment that was made before, which is freed. */
char** environment_of(const char* name, uint32_t rank);
pid_t start_in(char** env, const char* mode);
_Noreturn void exec_client(char** env, const char* mode);
/* Its exit status must be that; 128+N for signal N. */
void await_client(pid_t pid, int wanted);
/* Starts all ranks of a job, and waits until they have ended well. */
void run_job(const char* name, uint32_t ranks, const char* mode);
/* The whole run of the usual host: init, register, run, deregister, finalize. */
void usual_run(pmix_server_module_t* module, const char* mode);
int stuck_host(const char* how); /* see stuck.c; "sleeps" or "spins" */
int client(const char* mode);
int data_client(const char* mode); /* the modes of hosts_data; -1: it is none of these */
int client_of_7(const char* mode); /* likewise, of hosts_of_7 */

/* --- what a process and a host say of allocations, the same on both sides: allocation_samples.c --- */
pmix_info_t* allocation_samples(size_t* count);  /* PMIX_ALLOC_* */
pmix_info_t* spawn_samples(size_t* count);       /* PMIX_SPAWN_TARGET, PMIX_SPAWN_ALLOC */
extern const char* const allocation_questions[]; /* PMIX_QUERY_ALLOC*; NULL at the end */
pmix_info_t* answer_samples(size_t* count);      /* to these */
/* Each of the wanted ones is there once, as it is wanted. */
bool has_each(const pmix_info_t infos[], size_t ninfos, const pmix_info_t wanted[], size_t nwanted);

/* --- a callback that somebody waits for --- */
struct box {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    int count;
    pmix_status_t status;
};
#define BOX \
    { PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 0, PMIX_SUCCESS }
void box_signal(struct box* box, pmix_status_t status);
void box_wait(struct box* box, int count);
void box_done(pmix_status_t status, void* box);

/* --- a module whose entries answer in one of these ways --- */
enum way {
    BY_CALLBACK, /* before the upcall returns */
    BY_RETURN,   /* PMIX_OPERATION_SUCCEEDED */
    BY_THREAD,   /* later, from a thread of the host's */
    TWICE,       /* from two threads */
    BOTH,        /* by the callback, and by PMIX_OPERATION_SUCCEEDED after it */
    NEVER,
    POSITIVE, /* returns 42 */
    REFUSES   /* returns PMIX_ERR_NO_PERMISSIONS */
};
pmix_server_module_t module_that(enum way connected, enum way publish);
int upcalls(void); /* that this module has had */
void join_answers(void);
void fill_module_with_null(pmix_server_module_t* module);

#endif

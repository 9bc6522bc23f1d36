// SPDX-License-Identifier: BSD-3-Clause
/*
 * What the example programs in Debian's libpmix-dev include as "examples.h" and Debian does not install: locks,
 * a query's answer and a release notice, with the names those programs use. Written from their use alone, so that they
 * compile as they lie in /usr/share/doc/libpmix-dev/examples.
 */
#ifndef WIREUP_TESTS_EXAMPLES_H
#define WIREUP_TESTS_EXAMPLES_H

#include <pmix.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    pthread_mutex_t mutex;
    pthread_cond_t cond;
    volatile bool active; /* true until woken */
    pmix_status_t status;
    int count;
    size_t evhandler_ref;
    char* answer;
} mylock_t;

typedef struct {
    mylock_t lock;
    volatile bool active; /* for the one program that polls instead of waiting */
    pmix_info_t* info;
    size_t ninfo;
    pmix_status_t status;
} myquery_data_t;

typedef struct {
    mylock_t lock;
    char* nspace;
    int exit_code;
    bool exit_code_given;
} myrel_t;

static inline void examples_lock_init(mylock_t* l) {
    memset(l, 0, sizeof *l);
    pthread_mutex_init(&l->mutex, NULL);
    pthread_cond_init(&l->cond, NULL);
    l->active = true;
    l->status = PMIX_SUCCESS;
}

static inline void examples_lock_wait(mylock_t* l) {
    pthread_mutex_lock(&l->mutex);
    while (l->active) {
        pthread_cond_wait(&l->cond, &l->mutex);
    }
    pthread_mutex_unlock(&l->mutex);
}

static inline void examples_lock_wake(mylock_t* l) {
    pthread_mutex_lock(&l->mutex);
    l->active = false;
    pthread_cond_broadcast(&l->cond);
    pthread_mutex_unlock(&l->mutex);
}

static inline void examples_lock_end(mylock_t* l) {
    pthread_mutex_destroy(&l->mutex);
    pthread_cond_destroy(&l->cond);
}

/* programs name the parameters that they do not use */
#define EXAMPLES_HIDE_UNUSED_PARAMS(...) ((void)0)

#define DEBUG_CONSTRUCT_LOCK(l) examples_lock_init(l)
#define DEBUG_DESTRUCT_LOCK(l) examples_lock_end(l)
#define DEBUG_WAIT_THREAD(l) examples_lock_wait(l)
#define DEBUG_WAKEUP_THREAD(l) examples_lock_wake(l)

#define DEBUG_CONSTRUCT_MYQUERY(q)      \
    do {                                \
        examples_lock_init(&(q)->lock); \
        (q)->info = NULL;               \
        (q)->ninfo = 0;                 \
    } while (0)
#define DEBUG_DESTRUCT_MYQUERY(q)                  \
    do {                                           \
        examples_lock_end(&(q)->lock);             \
        if (NULL != (q)->info) {                   \
            PMIX_INFO_FREE((q)->info, (q)->ninfo); \
        }                                          \
    } while (0)

#define DEBUG_CONSTRUCT_MYREL(r)        \
    do {                                \
        examples_lock_init(&(r)->lock); \
        (r)->nspace = NULL;             \
        (r)->exit_code = 0;             \
        (r)->exit_code_given = false;   \
    } while (0)
#define DEBUG_DESTRUCT_MYREL(r)        \
    do {                               \
        examples_lock_end(&(r)->lock); \
        free((r)->nspace);             \
    } while (0)

#endif

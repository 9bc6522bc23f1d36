/* SPDX-License-Identifier: BSD-3-Clause */
/* The way from an upcall to the event loop. post() is called by any thread; the rest by the loop, which polls queue_fd.
 * An item and what it contains belong to the loop once it is posted. */
#ifndef BENCH_QUEUE_H
#define BENCH_QUEUE_H
#include <pmix_common.h>

#include "buffer.h"

enum { Q_FENCE = 1, Q_DMREQ, Q_DMRSP, Q_EVENT, Q_PUB, Q_LOOKUP, Q_UNPUB, Q_QUERY };
typedef struct item {
    struct item* next;
    int type, rank, node;
    pmix_status_t status;
    uint64_t id, t;
    buf_t b, sig;
    bool* part; /* fence: participating nodes */
    void (*fn)(void);
    void* cbdata;
} item_t;

extern int queue_fd;
void queue_open(void);
item_t* item_new(int type, void (*fn)(void), void* cbdata);
void post(item_t* it);
void drain_queue(void); /* on_item (dispatch.h) of each */
#endif

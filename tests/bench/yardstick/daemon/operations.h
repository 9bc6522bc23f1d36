/* SPDX-License-Identifier: BSD-3-Clause */
/* The operations of the host, each in a file of its own. Of each: the upcalls (up_*), which a thread of the library
 * calls; what the event loop does with their items (queue.h); and what it does with frames of other daemons (mesh.h).
 * A daemon's request that another one answers has an id (requests.c). */
#ifndef BENCH_OPERATIONS_H
#define BENCH_OPERATIONS_H
#include <pmix_server.h>

#include "queue.h"

/* fence.c: the nodes that take part send each other their data; the n-th fence of a set of processes meets the n-th of
 * the others. */
pmix_status_t up_fence(const pmix_proc_t procs[], size_t np, const pmix_info_t info[], size_t ni, char* data, size_t nd,
                       pmix_modex_cbfunc_t cb, void* cbd);
void fence_local(item_t* it);
void fence_remote(int from, const buf_t* sig, uint64_t seq, const void* data, size_t n);
void fence_report(void); /* the figure host_fence_us, when the clients have ended */

/* direct_modex.c: asks the daemon of a rank for its data. */
pmix_status_t up_dmodex(const pmix_proc_t* p, const pmix_info_t info[], size_t ni, pmix_modex_cbfunc_t cb, void* cbd);
void dm_request(item_t* it);
void dm_answer(const item_t* it);
void dm_serve(int node, uint64_t id, int rank);
void dm_complete(uint64_t id, pmix_status_t st, const void* d, size_t n);

/* data_server.c: node 0 keeps what is published, for all. A lookup with PMIX_WAIT stays until all of its keys are
 * there. */
pmix_status_t up_publish(const pmix_proc_t* p, const pmix_info_t info[], size_t n, pmix_op_cbfunc_t cb, void* cbd);
pmix_status_t up_lookup(const pmix_proc_t* p, char** keys, const pmix_info_t info[], size_t n, pmix_lookup_cbfunc_t cb,
                        void* cbd);
pmix_status_t up_unpublish(const pmix_proc_t* p, char** keys, const pmix_info_t info[], size_t n, pmix_op_cbfunc_t cb,
                           void* cbd);
void ds_request(item_t* it);
void ds_handle(int node, uint64_t id, int mtype, buf_t* b); /* on node 0 */
void ds_complete(uint64_t id, bool pdata, pmix_status_t st, buf_t* b);

/* events.c: an event of a client of this node goes to all other nodes. */
pmix_status_t up_event(pmix_status_t code, const pmix_proc_t* src, pmix_data_range_t range, pmix_info_t info[],
                       size_t n, pmix_op_cbfunc_t cb, void* cbd);
void event_forward(const item_t* it);
void event_raise(buf_t* b);

/* upcalls.c: the module, with the upcalls that are answered at once. A newer library copies a longer structure than
 * this header's: zeros follow it. */
pmix_server_module_t* server_module(void);
void query_answer(const item_t* it);

/* requests.c: what waits for another daemon's answer, by id. */
typedef struct req {
    struct req* next;
    uint64_t id;
    void (*fn)(void);
    void* cbdata;
} req_t;
uint64_t req_add(void (*fn)(void), void* cbdata);
bool req_take(uint64_t id, req_t* out); /* false: there is none */
#endif

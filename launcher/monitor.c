/* SPDX-License-Identifier: BSD-3-Clause */
/* monitor.c: PMIx_Process_monitor of processes and nodes that other nodes have.
 *
 * What this owns: the requests that wait for other nodes, and the names of the requesters of other nodes that have
 * periodic samples here. Their library cancels these at their end; when their node is lost, this node does.
 * Which thread calls it: up_monitor a thread of the library; all else the loop.
 * What can go wrong: a kind of monitor that is no sample of usage (PMIX_ERR_NOT_SUPPORTED); no other node has one of
 * the targets (PMIX_ERR_NOT_FOUND); the first status of a node that has failed. A node that is lost has no part.
 */
#include <stdlib.h>
#include <string.h>

#include "loop.h"
#include "node.h"

#ifndef PMIX_MONITOR_PROC_RESOURCE_USAGE /* before 6.1 */
#define PMIX_MONITOR_PROC_RESOURCE_USAGE "pmix.monitor.presuse"
#define PMIX_MONITOR_NODE_RESOURCE_USAGE "pmix.monitor.ndresuse"
#define PMIX_MONITOR_DISK_RESOURCE_USAGE "pmix.monitor.dkresuse"
#define PMIX_MONITOR_NET_RESOURCE_USAGE "pmix.monitor.netresuse"
#define PMIX_MONITOR_RESOURCE_RATE "pmix.monitor.resrate"
#define PMIX_MONITOR_LOCAL_ONLY "pmix.monitor.local"
#define PMIX_MONITOR_PROXY "pmix.monitor.proxy"
#endif

enum { kNodeSeconds = 90 }; /* a sample ends after 60 at the latest */

struct requested { /* by a process of this node */
    struct buffer body;
    bool cancels;
    pmix_info_cbfunc_t cbfunc;
    void* cbdata;
    size_t open;
    size_t good;          /* nodes that have answered with success */
    pmix_status_t failed; /* the first status that is none, of a node that is there */
    pmix_info_t* list;    /* moved together from the nodes' answers */
    size_t count;
};

struct asked { /* by another node */
    int from;
    uint64_t id;
    pmix_info_t what;
    pmix_info_t* directives;
    size_t count;
    pmix_status_t status;
    struct buffer answer;
};

struct watcher { /* a requester of another node that has periodic samples here */
    struct watcher* next;
    int node;
    pmix_proc_t proc;
};
static struct watcher* watchers;

/* --- the requester's node ----------------------------------------------------------------------------------------- */

static void release(void* cbdata) {
    struct requested* request = cbdata;
    infos_free(request->list, request->count);
    free(request);
}

static void part_done(struct requested* request) {
    if (--request->open > 0) return;
    pmix_status_t status = PMIX_SUCCESS;
    /* A node without a target succeeds with nothing: what the target's node refuses is the answer. */
    if (request->count == 0 && !(request->cancels && request->good > 0))
        status = request->failed != PMIX_SUCCESS ? request->failed : PMIX_ERR_NOT_FOUND;
    wire_free(&request->body);
    if (request->count > 0) {
        request->cbfunc(status, request->list, request->count, request->cbdata, release, request);
    } else {
        request->cbfunc(status, NULL, 0, request->cbdata, NULL, NULL);
        release(request);
    }
}

static void replied(pmix_status_t status, struct buffer* body, void* argument) {
    struct requested* request = argument;
    size_t count = 0;
    pmix_info_t* infos = status == PMIX_SUCCESS ? wire_get_infos(body, &count) : NULL;
    if (status == PMIX_SUCCESS && body->bad) status = PMIX_ERR_UNPACK_FAILURE;
    if (status == PMIX_SUCCESS) {
        request->good++;
    } else if (status != PMIX_ERR_LOST_CONNECTION && request->failed == PMIX_SUCCESS) {
        request->failed = status;
    }
    if (status == PMIX_SUCCESS && count > 0) {
        pmix_info_t* all = infos_new(request->count + count);
        if (request->count > 0) memcpy(all, request->list, request->count * sizeof *all);
        memcpy(all + request->count, infos, count * sizeof *all);
        free(request->list);
        free(infos); /* what they contain has moved */
        request->list = all;
        request->count += count;
    } else {
        infos_free(infos, count);
    }
    part_done(request);
}

static void run_request(void* argument) {
    struct requested* request = argument;
    request->open = 1; /* this function's own part */
    for (int i = 0; i < mesh_nodes(); i++) {
        if (i == mesh_self() || !mesh_alive(i)) continue;
        request->open++;
        mesh_request(i, FRAME_MONITOR, &request->body, kNodeSeconds, replied, request);
    }
    part_done(request);
}

pmix_status_t up_monitor(const pmix_proc_t* requestor, const pmix_info_t* monitor, pmix_status_t error,
                         const pmix_info_t directives[], size_t ndirs, pmix_info_cbfunc_t cbfunc, void* cbdata) {
    /* A name that no monitor has here, asked by another node. */
    if (info_true(directives, ndirs, PMIX_MONITOR_LOCAL_ONLY)) return PMIX_ERR_NOT_FOUND;
    const bool cancels = PMIX_CHECK_KEY(monitor, PMIX_MONITOR_CANCEL);
    if (!cancels && !PMIX_CHECK_KEY(monitor, PMIX_MONITOR_PROC_RESOURCE_USAGE) &&
        !PMIX_CHECK_KEY(monitor, PMIX_MONITOR_NODE_RESOURCE_USAGE) &&
        !PMIX_CHECK_KEY(monitor, PMIX_MONITOR_DISK_RESOURCE_USAGE) &&
        !PMIX_CHECK_KEY(monitor, PMIX_MONITOR_NET_RESOURCE_USAGE)) {
        return PMIX_ERR_NOT_SUPPORTED;
    }
    struct requested* request = xcalloc(1, sizeof *request);
    request->cancels = cancels;
    request->cbfunc = cbfunc;
    request->cbdata = cbdata;
    wire_put_proc(&request->body, requestor);
    wire_put_u32(&request->body, (uint32_t)error);
    if (!wire_put_infos(&request->body, monitor, 1) || !wire_put_infos(&request->body, directives, ndirs)) {
        wire_free(&request->body);
        free(request);
        return PMIX_ERR_NOT_SUPPORTED;
    }
    loop_post(run_request, request);
    return PMIX_SUCCESS;
}

/* --- the target's node -------------------------------------------------------------------------------------------- */

static void library_answered(void* argument) {
    struct asked* asked = argument;
    if (asked->from >= 0)
        mesh_reply(asked->from, asked->id, asked->status, asked->status == PMIX_SUCCESS ? &asked->answer : NULL);
    wire_free(&asked->answer);
    PMIX_INFO_DESTRUCT(&asked->what);
    infos_free(asked->directives, asked->count);
    free(asked);
}

static void library_answers(pmix_status_t status, pmix_info_t* info, size_t ninfo, void* cbdata,
                            pmix_release_cbfunc_t done, void* done_data) {
    struct asked* asked = cbdata;
    asked->status = status == PMIX_OPERATION_SUCCEEDED ? PMIX_SUCCESS : status;
    if (asked->status == PMIX_SUCCESS && !wire_put_infos(&asked->answer, info, ninfo))
        asked->status = PMIX_ERR_NOT_SUPPORTED;
    if (done) done(done_data);
    loop_post(library_answered, asked);
}

/* Of this node alone, and what the process of the other node may see. */
static void ask_library(struct asked* asked, const pmix_proc_t* requestor, pmix_status_t error) {
    const bool yes = true;
    pmix_info_t* all = infos_new(asked->count + 2);
    if (asked->count > 0) memcpy(all, asked->directives, asked->count * sizeof *all);
    free(asked->directives);
    PMIX_INFO_LOAD(&all[asked->count], PMIX_MONITOR_PROXY, requestor, PMIX_PROC);
    PMIX_INFO_LOAD(&all[asked->count + 1], PMIX_MONITOR_LOCAL_ONLY, &yes, PMIX_BOOL);
    asked->directives = all;
    asked->count += 2;
    const pmix_status_t status =
        PMIx_Process_monitor_nb(&asked->what, error, asked->directives, asked->count, library_answers, asked);
    if (status == PMIX_SUCCESS) return;
    asked->status = status == PMIX_OPERATION_SUCCEEDED ? PMIX_SUCCESS : status;
    if (asked->status == PMIX_SUCCESS) wire_put_infos(&asked->answer, NULL, 0);
    library_answered(asked);
}

static void forget_watcher(int number, const pmix_proc_t* proc) {
    for (struct watcher** at = &watchers; *at; at = &(*at)->next) {
        struct watcher* watcher = *at;
        if (watcher->node != number || !PMIX_CHECK_PROCID(&watcher->proc, proc)) continue;
        *at = watcher->next;
        free(watcher);
        return;
    }
}

static void remember_watcher(int number, const pmix_proc_t* proc) {
    forget_watcher(number, proc);
    struct watcher* watcher = xcalloc(1, sizeof *watcher);
    watcher->node = number;
    watcher->proc = *proc;
    watcher->next = watchers;
    watchers = watcher;
}

void on_monitor(int from, uint64_t id, struct buffer* body) {
    pmix_proc_t requestor;
    size_t count = 0;
    struct asked* asked = xcalloc(1, sizeof *asked);
    asked->from = from;
    asked->id = id;
    wire_get_proc(body, &requestor);
    const pmix_status_t error = (pmix_status_t)wire_get_u32(body);
    pmix_info_t* what = wire_get_infos(body, &count);
    asked->directives = wire_get_infos(body, &asked->count);
    if (body->bad || count != 1) {
        infos_free(what, count);
        asked->status = PMIX_ERR_BAD_PARAM;
        library_answered(asked);
        return;
    }
    asked->what = *what;
    free(what); /* what it contains has moved */
    if (info_number(asked->directives, asked->count, PMIX_MONITOR_RESOURCE_RATE, 0) > 0)
        remember_watcher(from, &requestor);
    if (PMIX_CHECK_KEY(&asked->what, PMIX_MONITOR_CANCEL) && asked->what.value.data.string == NULL)
        forget_watcher(from, &requestor);
    ask_library(asked, &requestor, error);
}

/* Its library can cancel nothing any more. */
void monitor_node_lost(int number) {
    for (struct watcher** at = &watchers; *at;) {
        struct watcher* watcher = *at;
        if (watcher->node != number) {
            at = &watcher->next;
            continue;
        }
        *at = watcher->next;
        struct asked* asked = xcalloc(1, sizeof *asked);
        asked->from = -1;
        PMIX_LOAD_KEY(asked->what.key, PMIX_MONITOR_CANCEL);
        ask_library(asked, &watcher->proc, PMIX_SUCCESS);
        free(watcher);
    }
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* publish.c: publish, lookup and unpublish: from the upcall to the store on node 0, and the answer back.
 *
 * What this owns: on node 0, the pending lookups that wait for a key (PMIX_WAIT), each tried again whenever a key is
 * published. The waiting lookup's PMIX_TIMEOUT is kept on node 0, so that it leaves this list by itself.
 * Which thread calls it: up_* a thread of the library; all else the loop.
 * What can go wrong: the statuses of datastore.h, a value of a type without an encoding (PMIX_ERR_NOT_SUPPORTED), the
 * timeout, the loss of node 0 (PMIX_ERR_LOST_CONNECTION). */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "datastore.h"
#include "loop.h"
#include "node.h"

enum { STORE_NODE = 0, ANY_NODE = -1 };

struct call { /* an upcall, from here until the reply */
    enum frame frame;
    struct buffer body;
    pmix_op_cbfunc_t done;
    pmix_lookup_cbfunc_t found;
    void* cbdata;
};

struct waiting { /* node 0: a lookup that waits */
    struct waiting* next;
    int from;
    uint64_t id;
    struct party who;
    struct scope scope;
    uint32_t wanted; /* how many keys must be there */
    char** keys;
    struct timer* timer;
};

static struct waiting* all_waiting;

/* --- asking ------------------------------------------------------------------------------------------------------- */

static void answer_lookup(const struct call* call, pmix_status_t status, struct buffer* body) {
    uint32_t count = body->size ? wire_get_u32(body) : 0;
    if (count > body->size) count = 0;
    pmix_pdata_t* found = NULL;
    if (count > 0) PMIX_PDATA_CREATE(found, count);
    if (count > 0 && !found) status = PMIX_ERR_NOMEM, count = 0;
    for (uint32_t i = 0; i < count; i++) {
        wire_get_proc(body, &found[i].proc);
        char* key = wire_get_string(body);
        snprintf(found[i].key, sizeof found[i].key, "%s", key ? key : "");
        free(key);
        wire_get_value(body, &found[i].value);
    }
    call->found(status, found, count, call->cbdata);
    if (found) PMIX_PDATA_FREE(found, count);
}

static void replied(pmix_status_t status, struct buffer* body, void* argument) {
    struct call* call = argument;
    if (call->found)
        answer_lookup(call, status, body);
    else if (call->done)
        call->done(status, call->cbdata);
    free(call);
}

static void run_call(void* argument) {
    struct call* call = argument;
    mesh_request(STORE_NODE, call->frame, &call->body, 0, replied, call);
    wire_free(&call->body);
}

static struct call* new_call(enum frame frame, const pmix_proc_t* proc, const pmix_info_t info[], size_t ninfo,
                             void* cbdata) {
    struct call* call = xcalloc(1, sizeof *call);
    call->frame = frame;
    call->cbdata = cbdata;
    wire_put_proc(&call->body, proc);
    if (!wire_put_infos(&call->body, info, ninfo)) {
        wire_free(&call->body);
        free(call);
        return NULL;
    }
    return call;
}

pmix_status_t up_publish(const pmix_proc_t* proc, const pmix_info_t info[], size_t ninfo, pmix_op_cbfunc_t cbfunc,
                         void* cbdata) {
    struct call* call = new_call(FRAME_PUBLISH, proc, info, ninfo, cbdata);
    if (!call) return PMIX_ERR_NOT_SUPPORTED;
    call->done = cbfunc;
    loop_post(run_call, call);
    return PMIX_SUCCESS;
}

pmix_status_t up_lookup(const pmix_proc_t* proc, char** keys, const pmix_info_t info[], size_t ninfo,
                        pmix_lookup_cbfunc_t cbfunc, void* cbdata) {
    struct call* call = new_call(FRAME_LOOKUP, proc, info, ninfo, cbdata);
    if (!call) return PMIX_ERR_NOT_SUPPORTED;
    wire_put_strings(&call->body, keys);
    call->found = cbfunc;
    loop_post(run_call, call);
    return PMIX_SUCCESS;
}

pmix_status_t up_unpublish(const pmix_proc_t* proc, char** keys, const pmix_info_t info[], size_t ninfo,
                           pmix_op_cbfunc_t cbfunc, void* cbdata) {
    struct call* call = new_call(FRAME_UNPUBLISH, proc, info, ninfo, cbdata);
    if (!call) return PMIX_ERR_NOT_SUPPORTED;
    wire_put_u8(&call->body, keys != NULL);
    wire_put_strings(&call->body, keys);
    call->done = cbfunc;
    loop_post(run_call, call);
    return PMIX_SUCCESS;
}

/* --- node 0 ------------------------------------------------------------------------------------------------------- */

static struct party party_of(const pmix_proc_t* proc, int node_number, const pmix_info_t* info, size_t ninfo) {
    struct party who = {.proc = *proc, .node = (uint32_t)node_number};
    const struct job* job = job_find(proc->nspace);
    if (job && proc->rank < job->size) who.app = job_app_of(job, proc->rank);
    who.uid = (uint32_t)info_number(info, ninfo, PMIX_USERID, UINT32_MAX);
    who.gid = (uint32_t)info_number(info, ninfo, PMIX_GRPID, UINT32_MAX);
    return who;
}

static void* list_of(const pmix_info_t* info, size_t ninfo, const char* key, pmix_data_type_t type, size_t size,
                     size_t* count) {
    const pmix_value_t* value = info_find(info, ninfo, key);
    const pmix_data_array_t* array = value && value->type == PMIX_DATA_ARRAY ? value->data.darray : NULL;
    if (!array || array->type != type || array->size == 0) return NULL;
    *count = array->size;
    return memcpy(xcalloc(array->size, size), array->array, array->size * size);
}

/* The processes of PMIX_RANGE_CUSTOM: of those that may read, or of publishers. As in an event it may be one. */
static pmix_proc_t* custom_of(const pmix_info_t* info, size_t ninfo, size_t* count) {
    const pmix_value_t* value = info_find(info, ninfo, PMIX_EVENT_CUSTOM_RANGE);
    if (value && value->type == PMIX_PROC && value->data.proc) {
        *count = 1;
        return memcpy(xcalloc(1, sizeof(pmix_proc_t)), value->data.proc, sizeof(pmix_proc_t));
    }
    return list_of(info, ninfo, PMIX_EVENT_CUSTOM_RANGE, PMIX_PROC, sizeof(pmix_proc_t), count);
}

/* Directives and data share one array: reserved keys are directives, all others data. PMIX_ACCESS_PERMISSIONS
 * contains the two lists of ids as an array of infos; either list may also be given by itself. */
static struct publication publication_of(const pmix_info_t* info, size_t ninfo) {
    struct publication how = {0};
    how.scope.range = (pmix_data_range_t)info_number(info, ninfo, PMIX_RANGE, PMIX_RANGE_SESSION);
    how.persistence = (pmix_persistence_t)info_number(info, ninfo, PMIX_PERSISTENCE, PMIX_PERSIST_APP);
    how.scope.custom = custom_of(info, ninfo, &how.scope.ncustom);
    const pmix_value_t* access = info_find(info, ninfo, PMIX_ACCESS_PERMISSIONS);
    if (access && access->type == PMIX_DATA_ARRAY && access->data.darray && access->data.darray->type == PMIX_INFO) {
        info = access->data.darray->array;
        ninfo = access->data.darray->size;
    }
    how.uids = list_of(info, ninfo, PMIX_ACCESS_USERIDS, PMIX_UINT32, sizeof *how.uids, &how.nuids);
    how.gids = list_of(info, ninfo, PMIX_ACCESS_GRPIDS, PMIX_UINT32, sizeof *how.gids, &how.ngids);
    return how;
}

/* A number that stands for nothing would be as good as the widest range; a custom range without processes as none. */
static bool makes_sense(const struct publication* how, const pmix_info_t* info, size_t ninfo) {
    const int64_t range = info_number(info, ninfo, PMIX_RANGE, PMIX_RANGE_SESSION);
    if (range == PMIX_RANGE_CUSTOM && how->scope.ncustom == 0) return false;
    const int64_t persistence = info_number(info, ninfo, PMIX_PERSISTENCE, PMIX_PERSIST_APP);
    /* 5: PMIX_PERSIST_NSPACE, which older headers lack. */
    return range >= 0 && range <= PMIX_RANGE_PROC_LOCAL && persistence >= 0 && persistence <= 5;
}

/* Answers the lookup if it can be answered, or must be; false: it remains pending. */
static bool try_lookup(const struct waiting* lookup, bool last) {
    struct buffer results = {0}, body = {0};
    uint32_t found;
    pmix_status_t status = datastore_lookup(&lookup->who, &lookup->scope, lookup->keys, false, &results, &found);
    bool enough = found >= lookup->wanted;
    if (enough && !last) {
        wire_free(&results);
        status = datastore_lookup(&lookup->who, &lookup->scope, lookup->keys, true, &results, &found);
    }
    if (last) status = PMIX_ERR_TIMEOUT;
    if (enough || last) {
        wire_put_u32(&body, last ? 0 : found);
        if (!last) wire_append(&body, results.data, results.size);
        mesh_reply(lookup->from, lookup->id, status, &body);
    }
    wire_free(&results);
    wire_free(&body);
    return enough || last;
}

static void forget(struct waiting* lookup) {
    for (struct waiting** at = &all_waiting; *at; at = &(*at)->next) {
        if (*at != lookup) continue;
        *at = lookup->next;
        break;
    }
    loop_cancel(lookup->timer);
    strings_free(lookup->keys);
    free(lookup->scope.custom);
    free(lookup);
}

static void lookup_expired(void* argument) {
    struct waiting* lookup = argument;
    lookup->timer = NULL;
    try_lookup(lookup, true);
    forget(lookup);
}

static void try_waiting(void) {
    for (struct waiting *lookup = all_waiting, *next; lookup; lookup = next) {
        next = lookup->next;
        if (try_lookup(lookup, false)) forget(lookup);
    }
}

void on_publish(int from, uint64_t id, struct buffer* body) {
    pmix_proc_t proc;
    size_t ninfo, count = 0;
    wire_get_proc(body, &proc);
    pmix_info_t* info = wire_get_infos(body, &ninfo);
    struct party who = party_of(&proc, from, info, ninfo);
    struct publication how = publication_of(info, ninfo);
    pmix_info_t* data = xcalloc(ninfo, sizeof *data); /* borrows the values of `info` */
    for (size_t i = 0; i < ninfo; i++) {
        if (strncmp(info[i].key, "pmix", 4) != 0) data[count++] = info[i];
    }
    if (body->bad || !makes_sense(&how, info, ninfo)) count = 0;
    pmix_status_t status = datastore_publish(&who, &how, data, count);
    free(data);
    infos_free(info, ninfo);
    mesh_reply(from, id, status, NULL);
    if (status == PMIX_SUCCESS) try_waiting();
}

void on_lookup(int from, uint64_t id, struct buffer* body) {
    struct waiting* lookup = xcalloc(1, sizeof *lookup);
    pmix_proc_t proc;
    size_t ninfo;
    wire_get_proc(body, &proc);
    pmix_info_t* info = wire_get_infos(body, &ninfo);
    lookup->keys = wire_get_strings(body);
    lookup->from = from;
    lookup->id = id;
    lookup->who = party_of(&proc, from, info, ninfo);
    lookup->scope.range = (pmix_data_range_t)info_number(info, ninfo, PMIX_RANGE, PMIX_RANGE_SESSION);
    lookup->scope.custom = custom_of(info, ninfo, &lookup->scope.ncustom);
    /* No process publishes within the range of the resource manager alone, and a custom range without processes names
     * none. Open MPI 5.0.7's MPI_Lookup_name passes a byte that nobody has set, and means the session. */
    if (lookup->scope.range == PMIX_RANGE_RM ||
        (lookup->scope.range == PMIX_RANGE_CUSTOM && lookup->scope.ncustom == 0))
        lookup->scope.range = PMIX_RANGE_SESSION;
    uint32_t keys = (uint32_t)strings_count(lookup->keys);
    if (info_find(info, ninfo, PMIX_WAIT)) { /* for so many keys; 0: for all */
        int64_t wait = info_number(info, ninfo, PMIX_WAIT, 0);
        lookup->wanted = wait > 0 && wait < keys ? (uint32_t)wait : keys;
    }
    double timeout = (double)info_number(info, ninfo, PMIX_TIMEOUT, 0);
    infos_free(info, ninfo);
    if (try_lookup(lookup, false)) {
        forget(lookup);
        return;
    }
    if (timeout > 0) lookup->timer = loop_after(timeout, lookup_expired, lookup);
    lookup->next = all_waiting;
    all_waiting = lookup;
}

void on_unpublish(int from, uint64_t id, struct buffer* body) {
    pmix_proc_t proc;
    size_t ninfo;
    wire_get_proc(body, &proc);
    pmix_info_t* info = wire_get_infos(body, &ninfo);
    struct party who = party_of(&proc, from, info, ninfo);
    pmix_data_range_t range = (pmix_data_range_t)info_number(info, ninfo, PMIX_RANGE, PMIX_RANGE_UNDEF);
    bool some = wire_get_u8(body);
    char** keys = wire_get_strings(body);
    if (!body->bad) datastore_unpublish(&who, range, some ? keys : NULL);
    strings_free(keys);
    infos_free(info, ninfo);
    mesh_reply(from, id, body->bad ? PMIX_ERR_BAD_PARAM : PMIX_SUCCESS, NULL);
}

/* A lookup that nobody awaits any more would take what may be read only once. `from`: ANY_NODE, or only those of it. */
static void drop_lookups(const pmix_proc_t* proc, int from) {
    for (struct waiting *lookup = all_waiting, *next; lookup; lookup = next) {
        next = lookup->next;
        if (!proc_matches(&lookup->who.proc, proc->nspace, proc->rank)) continue;
        if (from != ANY_NODE && lookup->from != from) continue;
        mesh_reply(lookup->from, lookup->id, PMIX_ERR_NOT_FOUND, NULL);
        forget(lookup);
    }
}

/* A rank's data stays until its process ends; of a tool's end nobody else notifies us. What a tool did by the server of
 * another node, to which it may still be connected, is kept. */
void on_proc_left(int from, uint64_t id, struct buffer* body) {
    (void)id;
    pmix_proc_t proc;
    wire_get_proc(body, &proc);
    if (body->bad) return;
    drop_lookups(&proc, from);
    if (!job_find(proc.nspace)) datastore_tool_left(&proc, (uint32_t)from);
}

/* It has finalized, or its connection ended; it may still run. */
void publish_proc_left(const pmix_proc_t* proc) {
    struct buffer body = {0};
    wire_put_proc(&body, proc);
    mesh_send(STORE_NODE, FRAME_PROC_LEFT, &body);
    wire_free(&body);
}

void publish_proc_ended(const pmix_proc_t* proc) {
    drop_lookups(proc, ANY_NODE);
    datastore_proc_ended(proc);
}

void publish_app_ended(const char* nspace, uint32_t app) {
    datastore_app_ended(nspace, app);
}

void publish_nspace_ended(const char* nspace) {
    datastore_nspace_ended(nspace);
}

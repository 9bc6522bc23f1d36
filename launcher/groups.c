/* SPDX-License-Identifier: BSD-3-Clause */
/* groups.c: construct and destruct of groups, collected on the first node that is alive.
 *
 * What this owns: on that node, for each group the operations in progress: the nodes that have joined, with their data.
 * A node joins once, when all its members have; the answer to all is the same: the context id, the data of all, and the
 * members if some processes are left out. Operations belong to the group's name, so they do not mix with a fence of the
 * same processes. A node that joins again after an operation has failed without others begins the next one. And the
 * processes that have left a group: a destruct that still names them does not wait for them.
 * Which thread calls it: up_group and group_left a thread of the library; all else the loop.
 * What can go wrong (every node gets that status): a local failure (PMIX_LOCAL_COLLECTIVE_STATUS), the callers'
 * PMIX_TIMEOUT, and, once all others have joined, a member that has ended: PMIX_ERR_PROC_TERM_WO_SYNC from its server,
 * a node that was lost or has no member left alive. Where a node's callers allow that (PMIX_GROUP_OPTIONAL,
 * _FT_COLLECTIVE, _NOTIFY_TERMINATION) the operation ends without that member instead; a node that does not join is
 * waited for until the timeout, and with PMIX_GROUP_OPTIONAL the others then form the group. */
#include <stdlib.h>
#include <string.h>

#include "first.h"
#include "loop.h"
#include "node.h"

enum { ASSIGN = 1, OPTIONAL = 2, FORGIVING = 4 }; /* flags of a request */

/* Servers whose own members are late report that at the timeout: they get this much longer. */
static const double kOptionalExtra = 1.0;

/* How long the other nodes are waited for once a member has ended and no caller allows that: one of them may. */
static const double kLossWait = 2.0;

struct operation {
    struct operation* next;
    uint32_t what;
    char* name;
    pmix_proc_t* procs;
    size_t nprocs;
    bool wanted[MAX_NODES];
    bool joined[MAX_NODES];
    uint64_t requests[MAX_NODES];
    struct buffer blobs[MAX_NODES];
    uint32_t flags;
    bool partial; /* without whole nodes */
    bool lost;    /* a member of a node that has joined, or of a job that has ended */
    struct timer* loss_limit;
    pmix_status_t status; /* of one that is over: late nodes get it */
    bool over;
    bool awaits_late; /* kept for nodes that join behind its end */
    struct timer* timer;
    double due; /* when it expires */
};

static struct operation* operations;
static uint64_t groups_numbered; /* by this node */

/* The oldest ones beyond it are forgotten: their destruct then waits until they have ended. */
enum { MAX_DEPARTURES = 4096 };

/* The same of operations that are over and whose late nodes have not joined. */
enum { MAX_LATE = 4096 };
static int late_operations;

struct departure {
    struct departure* next; /* an earlier one */
    char* name;
    pmix_proc_t proc;
};

static struct departure* departures;

/* Each node has numbers of its own. */
static uint64_t next_context(void) {
    return ((uint64_t)mesh_self() << 40) + ++groups_numbered;
}

/* --- on the first node ----------------------------------------------------------------------------------------- */

static void drop(struct operation* op) {
    struct operation** at = &operations;
    while (*at != op) at = &(*at)->next;
    *at = op->next;
    late_operations -= op->awaits_late;
    loop_cancel(op->timer);
    loop_cancel(op->loss_limit);
    for (int i = 0; i < MAX_NODES; i++) wire_free(&op->blobs[i]);
    free(op->name);
    free(op->procs);
    free(op);
}

static void answer_node(const struct operation* op, int node_number, const struct buffer* rest) {
    struct buffer body = {0};
    wire_put_u32(&body, (uint32_t)op->status);
    if (rest) wire_append(&body, rest->data, rest->size);
    mesh_reply(node_number, op->requests[node_number], PMIX_SUCCESS, &body);
    wire_free(&body);
}

static void put_members(struct buffer* b, const struct operation* op) {
    pmix_proc_t* members = NULL;
    size_t count = 0;
    for (size_t i = 0; i < op->nprocs; i++) {
        const struct job* job = job_find(op->procs[i].nspace);
        for (uint32_t rank = 0; job && rank < job->size; rank++) {
            if (!proc_matches(&op->procs[i], job->nspace, rank) || !op->joined[job_node_of(job, rank)]) continue;
            members = xrealloc(members, (count + 1) * sizeof *members);
            PMIX_LOAD_PROCID(&members[count], job->nspace, rank);
            count++;
        }
    }
    wire_put_procs(b, members, count);
    free(members);
}

/* The late nodes of one that is forgotten begin it anew, and wait for the others until their own timeout. */
static void forget_oldest_late(void) {
    for (struct operation *op = operations, *next; op && late_operations > MAX_LATE; op = next) {
        next = op->next;
        if (op->awaits_late) drop(op);
    }
}

/* Answers all nodes that have joined. The operation is kept as long as a node may still join late. */
static void end(struct operation* op, pmix_status_t status) {
    op->over = true;
    op->status = status;
    loop_cancel(op->timer);
    loop_cancel(op->loss_limit);
    op->timer = op->loss_limit = NULL;
    struct buffer rest = {0}, blobs = {0};
    if (status == PMIX_SUCCESS) {
        bool numbered = (op->flags & ASSIGN) != 0;
        for (int i = 0; i < mesh_nodes(); i++) wire_append(&blobs, op->blobs[i].data, op->blobs[i].size);
        wire_put_u32(&rest, (numbered ? NUMBERED : 0u) | (op->partial ? PARTIAL : 0u));
        wire_put_u64(&rest, numbered ? next_context() : 0);
        if (op->partial)
            put_members(&rest, op);
        else
            wire_put_procs(&rest, NULL, 0);
        wire_put_bytes(&rest, blobs.data, blobs.size);
    }
    bool late = false;
    for (int i = 0; i < mesh_nodes(); i++) {
        if (op->joined[i])
            answer_node(op, i, status == PMIX_SUCCESS ? &rest : NULL);
        else
            late =
                late || (op->wanted[i] && mesh_alive(i) && collective_anybody_left(op->procs, op->nprocs, (uint32_t)i));
    }
    wire_free(&rest);
    wire_free(&blobs);
    for (int i = 0; i < MAX_NODES; i++) wire_free(&op->blobs[i]);
    if (op->status == PMIX_SUCCESS) op->status = PMIX_ERR_TIMEOUT; /* for late nodes: it ended without them */
    op->awaits_late = late;
    late_operations += late;
    if (!late) drop(op);
}

static void loss_limit_over(void* argument) {
    struct operation* op = argument;
    op->loss_limit = NULL;
    if (!(op->flags & FORGIVING)) end(op, PMIX_ERR_PROC_TERM_WO_SYNC);
}

/* Ends the operation when all have joined that are left: the last of them may allow that some are not. */
static void judge(struct operation* op) {
    bool gone = false, waiting = false;
    for (int i = 0; i < mesh_nodes(); i++) {
        if (!op->wanted[i] || op->joined[i]) continue;
        if (mesh_alive(i) && collective_anybody_left(op->procs, op->nprocs, (uint32_t)i))
            waiting = true;
        else
            gone = true;
    }
    const bool fails = (gone || op->lost) && !(op->flags & FORGIVING);
    if (waiting) {
        if (fails && !op->over && !op->loss_limit) op->loss_limit = loop_after(kLossWait, loss_limit_over, op);
    } else if (op->over) {
        drop(op);
    } else if (fails) {
        end(op, PMIX_ERR_PROC_TERM_WO_SYNC);
    } else {
        op->partial = op->partial || gone;
        end(op, PMIX_SUCCESS);
    }
}

static void expired(void* argument) {
    struct operation* op = argument;
    op->timer = NULL;
    bool optional = (op->flags & OPTIONAL) != 0;
    if (optional) op->partial = true;
    end(op, optional ? PMIX_SUCCESS : PMIX_ERR_TIMEOUT);
}

/* Which nodes have a member; PMIX_ERR_NOT_FOUND if one is unknown. */
static pmix_status_t nodes_of(const pmix_proc_t* procs, size_t nprocs, bool wanted[MAX_NODES]) {
    pmix_status_t status = PMIX_SUCCESS;
    for (size_t i = 0; i < nprocs; i++) {
        const struct job* job = job_find(procs[i].nspace);
        uint32_t rank = procs[i].rank;
        if (!job || (rank != PMIX_RANK_WILDCARD && rank >= job->size)) {
            status = PMIX_ERR_NOT_FOUND;
            continue;
        }
        if (rank != PMIX_RANK_WILDCARD) wanted[job_node_of(job, rank)] = true;
        for (int n = 0; rank == PMIX_RANK_WILDCARD && n < mesh_nodes(); n++) {
            wanted[n] = wanted[n] || job_size_on(job, (uint32_t)n) > 0;
        }
    }
    return status;
}

static bool overlap(const struct operation* op, const pmix_proc_t* procs, size_t nprocs) {
    for (size_t i = 0; i < op->nprocs; i++) {
        bool whole = op->procs[i].rank == PMIX_RANK_WILDCARD;
        for (size_t k = 0; k < nprocs; k++) {
            if (strncmp(op->procs[i].nspace, procs[k].nspace, PMIX_MAX_NSLEN) != 0) continue;
            if (whole || procs[k].rank == PMIX_RANK_WILDCARD || op->procs[i].rank == procs[k].rank) return true;
        }
    }
    return false;
}

static bool same_set(const struct operation* op, const pmix_proc_t* procs, size_t nprocs) {
    size_t first, second;
    pmix_proc_t *a = single_procs(op->procs, op->nprocs, &first), *b = single_procs(procs, nprocs, &second);
    bool same = first == second;
    for (size_t i = 0; same && i < first; i++) same = compare_procs(&a[i], &b[i]) == 0;
    free(a);
    free(b);
    return same;
}

/* A destruct goes on without this process. */
static void leave_out(struct operation* op, const pmix_proc_t* proc) {
    bool named = false;
    for (size_t i = 0; i < op->nprocs; i++) named = named || proc_matches(&op->procs[i], proc->nspace, proc->rank);
    if (!named) return;
    size_t count, kept = 0;
    pmix_proc_t* all = single_procs(op->procs, op->nprocs, &count);
    for (size_t i = 0; i < count; i++) {
        if (compare_procs(&all[i], proc) != 0) all[kept++] = all[i];
    }
    free(op->procs);
    op->procs = all;
    op->nprocs = kept;
}

/* Of the nodes that it waits for, those that still have a member. */
static void leave_nodes_out(struct operation* op) {
    for (int i = 0; i < mesh_nodes(); i++) {
        bool needed = false;
        for (size_t k = 0; k < op->nprocs && !needed; k++) {
            const struct job* job = job_find(op->procs[k].nspace);
            needed =
                !job || op->procs[k].rank >= job->size ? op->wanted[i] : (int)job_node_of(job, op->procs[k].rank) == i;
        }
        op->wanted[i] = op->wanted[i] && (needed || op->joined[i]);
    }
}

/* The first operation of that name and of some of these processes that the node has not joined: other processes may use
 * the name for a group of their own. Processes that are not late for a construct may make a new group of its name; the
 * late nodes of a destruct may name fewer members. */
static struct operation* operation_of(uint32_t what, const char* name, const pmix_proc_t* procs, size_t nprocs,
                                      int from) {
    struct operation** at = &operations;
    for (; *at; at = &(*at)->next) {
        if ((*at)->what != what || strcmp((*at)->name, name) != 0 || (*at)->joined[from]) continue;
        if (!overlap(*at, procs, nprocs)) continue;
        if ((*at)->over && what == PMIX_GROUP_CONSTRUCT && !same_set(*at, procs, nprocs)) continue;
        return *at;
    }
    *at = xcalloc(1, sizeof **at);
    (*at)->what = what;
    (*at)->name = xstrdup(name);
    return *at;
}

/* name: NULL for all. */
void groups_forget_departures(const char* name, const pmix_proc_t* procs, size_t nprocs) {
    for (struct departure** at = &departures; *at;) {
        struct departure* d = *at;
        bool returns = false;
        for (size_t i = 0; i < nprocs && (!name || strcmp(d->name, name) == 0); i++) {
            returns = returns || proc_matches(&procs[i], d->proc.nspace, d->proc.rank);
        }
        if (!returns) {
            at = &d->next;
            continue;
        }
        *at = d->next;
        free(d->name);
        free(d);
    }
}

static void forget_oldest_departures(void) {
    struct departure** at = &departures;
    for (int kept = 0; *at && kept < MAX_DEPARTURES; kept++) at = &(*at)->next;
    while (*at) {
        struct departure* d = *at;
        *at = d->next;
        free(d->name);
        free(d);
    }
}

void on_group_left(int from, uint64_t id, struct buffer* body) {
    (void)from, (void)id;
    struct departure* d = xcalloc(1, sizeof *d);
    d->name = wire_get_string(body);
    wire_get_proc(body, &d->proc);
    if (body->bad || !d->name) {
        free(d->name);
        free(d);
        return;
    }
    d->next = departures;
    departures = d;
    for (struct operation *op = operations, *next; op; op = next) {
        next = op->next;
        if (op->what != PMIX_GROUP_DESTRUCT || strcmp(op->name, d->name) != 0) continue;
        leave_out(op, &d->proc);
        leave_nodes_out(op);
        judge(op);
    }
    forget_oldest_departures();
}

void on_group(int from, uint64_t id, struct buffer* body) {
    size_t nprocs;
    bool wanted[MAX_NODES] = {false};
    uint32_t what = wire_get_u32(body);
    char* name = wire_get_string(body);
    pmix_proc_t* procs = wire_get_procs(body, &nprocs);
    uint32_t flags = wire_get_u32(body);
    pmix_status_t status = (pmix_status_t)wire_get_u32(body);
    uint64_t seconds = wire_get_u64(body);
    struct buffer blob = wire_get_view(body);
    if (body->bad || !name || from >= mesh_nodes()) {
        mesh_reply(from, id, PMIX_ERR_BAD_PARAM, NULL);
        free(name);
        free(procs);
        return;
    }
    forget_oldest_late();
    struct operation* op = operation_of(what, name, procs, nprocs, from);
    bool first = !op->procs;
    if (what == PMIX_GROUP_CONSTRUCT) groups_forget_departures(name, procs, nprocs);
    if (first) {
        op->procs = procs;
        op->nprocs = nprocs;
        for (struct departure* d = departures; what == PMIX_GROUP_DESTRUCT && d; d = d->next) {
            if (strcmp(d->name, name) == 0) leave_out(op, &d->proc);
        }
    }
    free(name);
    pmix_status_t known = nodes_of(first ? op->procs : procs, first ? op->nprocs : nprocs, wanted);
    /* The members are those that each caller names. Where some may be missing, the callers may know of it or not. */
    bool differs = !first && !op->over && what == PMIX_GROUP_CONSTRUCT && known == PMIX_SUCCESS &&
                   !((op->flags | flags) & FORGIVING) && !same_set(op, procs, nprocs);
    if (!first) free(procs);
    if (differs) {
        mesh_reply(from, id, PMIX_ERR_BAD_PARAM, NULL);
        return;
    }
    /* They ended before their call was handled: the others continue without them, and would not join this. */
    if (first && known == PMIX_SUCCESS && !collective_anybody_left(op->procs, op->nprocs, (uint32_t)from)) {
        mesh_reply(from, id, PMIX_ERR_PROC_TERM_WO_SYNC, NULL);
        drop(op);
        return;
    }
    /* A node that was notified that a member left does not name it any more; the others will not wait for it. */
    for (int i = 0; i < mesh_nodes(); i++) op->wanted[i] = wanted[i] && (first || op->wanted[i] || op->joined[i]);
    op->joined[from] = true;
    op->requests[from] = id;
    op->flags |= flags;
    if (op->over) {
        answer_node(op, from, NULL);
        judge(op);
        return;
    }
    wire_append(&op->blobs[from], blob.data, blob.size);
    if (known == PMIX_ERR_NOT_FOUND && (op->flags & FORGIVING))
        op->partial = true; /* a job that has ended meanwhile is a member that is missing */
    else if (known != PMIX_SUCCESS && (status == PMIX_SUCCESS || status == PMIX_ERR_PROC_TERM_WO_SYNC))
        status = known;
    if (status == PMIX_ERR_PROC_TERM_WO_SYNC) { /* this node's callers do not allow it: others may */
        op->lost = true;
        status = PMIX_SUCCESS;
    }
    if (status != PMIX_SUCCESS) {
        end(op, status);
        return;
    }
    const double limit = (double)seconds + (op->flags & OPTIONAL ? kOptionalExtra : 0);
    if (seconds > 0 && (!op->timer || loop_now() + limit < op->due)) { /* the shortest of the callers' */
        loop_cancel(op->timer);
        op->due = loop_now() + limit;
        op->timer = loop_after(limit, expired, op);
    }
    judge(op);
}

void groups_put_answer(struct buffer* rest, bool numbered, const pmix_proc_t* members, size_t nmembers,
                       const struct buffer* blobs) {
    wire_put_u32(rest, (numbered ? NUMBERED : 0u) | NAMED);
    wire_put_u64(rest, numbered ? next_context() : 0);
    wire_put_procs(rest, members, nmembers);
    wire_put_bytes(rest, blobs->data, blobs->size);
}

void groups_proc_ended(void) {
    bootstrap_proc_ended();
    for (struct operation *op = operations, *next; op; op = next) {
        next = op->next;
        judge(op);
    }
}

void groups_job_ended(const char* nspace) {
    bootstrap_job_ended(nspace);
    first_job_ended(nspace);
    pmix_proc_t all;
    PMIX_LOAD_PROCID(&all, nspace, PMIX_RANK_WILDCARD);
    groups_forget_departures(NULL, &all, 1);
    for (struct operation *op = operations, *next; op; op = next) {
        next = op->next;
        size_t i = 0;
        while (i < op->nprocs && strncmp(op->procs[i].nspace, nspace, PMIX_MAX_NSLEN) != 0) i++;
        if (i == op->nprocs) continue;
        /* Members of other jobs may still join it. */
        op->lost = true;
        judge(op);
    }
}

/* --- on each node ------------------------------------------------------------------------------------------------- */

struct call { /* an upcall until its answer */
    struct errand errand;
    pmix_proc_t about; /* one of the processes */
    char* constructs;  /* the name, of a construct, and its members */
    pmix_proc_t* procs;
    size_t nprocs;
    pmix_info_cbfunc_t cbfunc;
    void* cbdata;
};

struct results { /* borrowed by the library until it has read them */
    pmix_info_t info[3];
    size_t count;
};

static void release(void* cbdata) {
    struct results* results = cbdata;
    for (size_t i = 0; i < results->count; i++) PMIX_INFO_DESTRUCT(&results->info[i]);
    free(results);
}

static void answered(pmix_status_t status, struct buffer* body, void* argument) {
    struct call* call = argument;
    struct results* results = xcalloc(1, sizeof *results);
    bool partial = false;
    if (status == PMIX_SUCCESS) status = (pmix_status_t)wire_get_u32(body);
    if (status == PMIX_SUCCESS) {
        size_t nmembers;
        uint32_t flags = wire_get_u32(body);
        size_t number = (size_t)wire_get_u64(body);
        pmix_proc_t* members = wire_get_procs(body, &nmembers);
        struct buffer blob = wire_get_view(body);
        partial = (flags & PARTIAL) != 0;
        if (body->bad) status = PMIX_ERROR;
        if (!body->bad && (flags & NUMBERED)) {
            PMIX_INFO_LOAD(&results->info[results->count], PMIX_GROUP_CONTEXT_ID, &number, PMIX_SIZE);
            results->count++;
        }
        if (!body->bad && (flags & (PARTIAL | NAMED))) {
            pmix_data_array_t array = {.type = PMIX_PROC, .size = nmembers, .array = members};
            PMIX_INFO_LOAD(&results->info[results->count], PMIX_GROUP_MEMBERSHIP, &array, PMIX_DATA_ARRAY);
            results->count++;
        }
        if (!body->bad && blob.size > 0) {
            pmix_byte_object_t object = {.bytes = (char*)blob.data, .size = blob.size};
            PMIX_INFO_LOAD(&results->info[results->count], PMIX_GROUP_ENDPT_DATA, &object, PMIX_BYTE_OBJECT);
            results->count++;
        }
        free(members);
    }
    if (status == PMIX_SUCCESS && partial) status = PMIX_ERR_PARTIAL_SUCCESS;
    call->cbfunc(status, results->info, results->count, call->cbdata, release, results);
    free(call);
}

static void send_call(void* argument) {
    struct call* call = argument;
    if (call->constructs) first_is_member(call->constructs, call->procs, call->nprocs);
    free(call->constructs);
    free(call->procs);
    first_request(&call->errand, &call->about, answered, call);
}

static const pmix_data_array_t* list_in(const pmix_value_t* value) {
    const pmix_data_array_t* array = value && value->type == PMIX_DATA_ARRAY ? value->data.darray : NULL;
    return array && array->type == PMIX_PROC ? array : NULL;
}

/* An added process calls for itself: it is the only one that is named, and added. */
static bool adds_itself(const pmix_value_t* added, const pmix_proc_t procs[], size_t nprocs) {
    const pmix_data_array_t* list = list_in(added);
    if (!list || list->size != 1 || nprocs != 1 || procs[0].rank == PMIX_RANK_WILDCARD) return false;
    return proc_matches(list->array, procs[0].nspace, procs[0].rank);
}

/* One of several leaders, or a process that a leader adds: see bootstrap.c. */
static void put_caller(struct buffer* b, const char* name, const pmix_proc_t* caller, const pmix_info_t info[],
                       size_t ninfo) {
    int64_t leaders = info_number(info, ninfo, PMIX_GROUP_BOOTSTRAP, 0);
    wire_put_string(b, name);
    wire_put_proc(b, caller);
    wire_put_u32(b, (uint32_t)info_number(info, ninfo, PMIX_USERID, 0));
    wire_put_u64(b, leaders > 0 ? (uint64_t)leaders : 0);
    const pmix_data_array_t* added = list_in(info_find(info, ninfo, PMIX_GROUP_ADD_MEMBERS));
    wire_put_procs(b, added ? added->array : NULL, added ? added->size : 0);
    wire_put_u8(b, info_true(info, ninfo, PMIX_GROUP_ASSIGN_CONTEXT_ID));
    wire_put_u64(b, (uint64_t)info_number(info, ninfo, PMIX_TIMEOUT, 0));
}

struct leaver {
    char* name;
    pmix_proc_t proc;
};

static void send_departure(void* argument) {
    struct leaver* leaver = argument;
    first_departed(leaver->name, &leaver->proc);
    free(leaver->name);
    free(leaver);
}

void group_left(const char* name, const pmix_proc_t* proc) {
    if (!name) return;
    struct leaver* leaver = xcalloc(1, sizeof *leaver);
    leaver->name = xstrdup(name);
    leaver->proc = *proc;
    loop_post(send_departure, leaver);
}

pmix_status_t up_group(pmix_group_operation_t what, char name[], const pmix_proc_t procs[], size_t nprocs,
                       const pmix_info_t info[], size_t ninfo, pmix_info_cbfunc_t cbfunc, void* cbdata) {
    if (what != PMIX_GROUP_CONSTRUCT && what != PMIX_GROUP_DESTRUCT) return PMIX_ERR_NOT_SUPPORTED;
    struct call* call = xcalloc(1, sizeof *call);
    const pmix_value_t* data = info_find(info, ninfo, PMIX_GROUP_ENDPT_DATA);
    bool optional = info_true(info, ninfo, PMIX_GROUP_OPTIONAL);
    bool forgiving = optional || info_true(info, ninfo, PMIX_GROUP_FT_COLLECTIVE) ||
                     info_true(info, ninfo, PMIX_GROUP_NOTIFY_TERMINATION);
    const pmix_value_t* added = info_find(info, ninfo, PMIX_GROUP_ADD_MEMBERS);
    bool bootstrap = info_find(info, ninfo, PMIX_GROUP_BOOTSTRAP) || adds_itself(added, procs, nprocs);
    call->cbfunc = cbfunc;
    call->cbdata = cbdata;
    struct errand* errand = &call->errand;
    errand->frame = bootstrap ? FRAME_BOOTSTRAP : FRAME_GROUP;
    bool has_data = data && data->type == PMIX_BYTE_OBJECT;
    if (nprocs > 0) call->about = procs[0];
    if (what == PMIX_GROUP_CONSTRUCT) {
        call->constructs = xstrdup(name);
        call->nprocs = nprocs;
        call->procs = memcpy(xcalloc(nprocs, sizeof *procs), procs, nprocs * sizeof *procs);
    }
    if (errand->frame == FRAME_BOOTSTRAP) {
        put_caller(&errand->body, name, procs, info, ninfo);
        errand->status_at = errand->body.size;
        wire_put_u32(&errand->body, (uint32_t)PMIX_SUCCESS);
        errand->blob_at = errand->body.size;
        wire_put_bytes(&errand->body, has_data ? data->data.bo.bytes : NULL, has_data ? data->data.bo.size : 0);
        loop_post(send_call, call);
        return PMIX_SUCCESS;
    }
    wire_put_u32(&errand->body, what);
    wire_put_string(&errand->body, name);
    wire_put_procs(&errand->body, procs, nprocs);
    wire_put_u32(&errand->body, (info_true(info, ninfo, PMIX_GROUP_ASSIGN_CONTEXT_ID) ? (uint32_t)ASSIGN : 0u) |
                                    (optional ? (uint32_t)OPTIONAL : 0u) | (forgiving ? (uint32_t)FORGIVING : 0u));
    errand->status_at = errand->body.size;
    /* Members are added to a group by leaders only. */
    const int64_t local = info_number(info, ninfo, PMIX_LOCAL_COLLECTIVE_STATUS, PMIX_SUCCESS);
    wire_put_u32(&errand->body, added && local == PMIX_SUCCESS ? (uint32_t)PMIX_ERR_NOT_SUPPORTED : (uint32_t)local);
    wire_put_u64(&errand->body, (uint64_t)info_number(info, ninfo, PMIX_TIMEOUT, 0));
    errand->blob_at = errand->body.size;
    wire_put_bytes(&errand->body, has_data ? data->data.bo.bytes : NULL, has_data ? data->data.bo.size : 0);
    loop_post(send_call, call);
    return PMIX_SUCCESS;
}

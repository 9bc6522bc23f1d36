/* SPDX-License-Identifier: BSD-3-Clause */
/* collective.c: fence, connect and disconnect: an all-gather among the nodes that have a participant.
 *
 * What this owns: for each set of participants as the callers wrote it (sorted; a wildcard and a full list are two
 * sets) the turns in progress. The n-th upcall for a set on one node belongs to the n-th on each other, so sets may
 * be used again before everybody has left the last turn, overlap, and run at the same time.
 * The library has gathered the processes of this node before it calls up: a node contributes once, with one blob.
 * Which thread calls it: up_* a thread of the library; all else the loop.
 * What can go wrong, and then every participant gets that status: a local failure (PMIX_LOCAL_COLLECTIVE_STATUS), the
 * caller's PMIX_TIMEOUT, a participating node that was lost or has no participant left alive. Who comes to a turn that
 * has failed gets its status at once. As in any all-gather, one node may succeed a moment before another fails. */
#include <stdlib.h>
#include <string.h>

#include "loop.h"
#include "node.h"

enum kind { FENCE, CONNECT, DISCONNECT };

struct turn {
    struct turn* next;
    struct set* set;
    uint64_t number;
    bool joined; /* this node is in; what follows is then valid */
    bool failed;
    pmix_status_t status; /* of a failed turn */
    struct buffer blobs[MAX_NODES];
    bool arrived[MAX_NODES];
    bool wanted[MAX_NODES];
    struct timer* timer;
    pmix_modex_cbfunc_t answer_data; /* fence */
    pmix_op_cbfunc_t answer;         /* connect, disconnect */
    void* cbdata;
};

struct set {
    struct set* next;
    enum kind kind;
    pmix_proc_t* procs; /* sorted */
    size_t nprocs;
    uint64_t joined; /* turns this node has come to */
    uint64_t connected;
    struct turn* turns;
};

struct join { /* an upcall on its way into the loop */
    enum kind kind;
    pmix_proc_t* procs;
    size_t nprocs;
    char* data;
    size_t size;
    pmix_status_t status;
    double timeout;
    pmix_modex_cbfunc_t answer_data;
    pmix_op_cbfunc_t answer;
    void* cbdata;
};

static struct set* sets;

/* --- sets and turns ----------------------------------------------------------------------------------------------- */

static int compare_procs(const void* left, const void* right) {
    const pmix_proc_t *a = left, *b = right;
    int order = strncmp(a->nspace, b->nspace, PMIX_MAX_NSLEN);
    return order ? order : (a->rank > b->rank) - (a->rank < b->rank);
}

static struct set* find_set(enum kind kind, const pmix_proc_t* sorted, size_t nprocs) {
    for (struct set* set = sets; set; set = set->next) {
        if (set->kind != kind || set->nprocs != nprocs) continue;
        size_t i = 0;
        while (i < nprocs && compare_procs(&set->procs[i], &sorted[i]) == 0) i++;
        if (i == nprocs) return set;
    }
    return NULL;
}

static struct set* set_of(enum kind kind, const pmix_proc_t* sorted, size_t nprocs) {
    struct set* set = find_set(kind, sorted, nprocs);
    if (set) return set;
    set = xcalloc(1, sizeof *set);
    set->kind = kind;
    set->nprocs = nprocs;
    set->procs = xcalloc(nprocs, sizeof *set->procs);
    memcpy(set->procs, sorted, nprocs * sizeof *sorted);
    set->next = sets;
    sets = set;
    return set;
}

static struct turn* turn_of(struct set* set, uint64_t number) {
    for (struct turn* turn = set->turns; turn; turn = turn->next) {
        if (turn->number == number) return turn;
    }
    if (number < set->joined) return NULL; /* finished here */
    struct turn* turn = xcalloc(1, sizeof *turn);
    turn->set = set;
    turn->number = number;
    turn->next = set->turns;
    set->turns = turn;
    return turn;
}

static void drop_turn(struct turn* turn) {
    struct turn** at = &turn->set->turns;
    while (*at != turn) at = &(*at)->next;
    *at = turn->next;
    loop_cancel(turn->timer);
    for (int i = 0; i < MAX_NODES; i++) wire_free(&turn->blobs[i]);
    free(turn);
}

/* --- the end of a turn -------------------------------------------------------------------------------------------- */

static void answer(struct turn* turn, pmix_status_t status) {
    if (turn->answer_data) {
        struct buffer all = {0};
        for (int i = 0; status == PMIX_SUCCESS && i < mesh_nodes(); i++) {
            wire_append(&all, turn->blobs[i].data, turn->blobs[i].size);
        }
        turn->answer_data(status, (char*)all.data, all.size, turn->cbdata, all.data ? free : NULL, all.data);
    } else if (turn->answer) {
        turn->answer(status, turn->cbdata);
    }
}

static void put_turn(struct buffer* b, const struct turn* turn, pmix_status_t status) {
    wire_put_u32(b, turn->set->kind);
    wire_put_procs(b, turn->set->procs, turn->set->nprocs);
    wire_put_u64(b, turn->number);
    wire_put_u32(b, (uint32_t)status);
}

static void send_to_others(const struct turn* turn, enum frame frame, const struct buffer* body) {
    for (int i = 0; i < mesh_nodes(); i++) {
        if (turn->wanted[i] && i != mesh_self()) mesh_send(i, frame, body);
    }
}

/* Only a turn that this node has joined ends; a failure that comes earlier waits in it for the local participants. */
static void fail(struct turn* turn, pmix_status_t status, bool tell) {
    turn->failed = true;
    turn->status = status;
    if (!turn->joined) return;
    if (tell) {
        struct buffer body = {0};
        put_turn(&body, turn, status);
        send_to_others(turn, FRAME_COLLECTIVE_FAILED, &body);
        wire_free(&body);
    }
    answer(turn, status);
    drop_turn(turn);
}

bool collective_anybody_left(const pmix_proc_t* procs, size_t nprocs, uint32_t on_node) {
    for (size_t i = 0; i < nprocs; i++) {
        const struct job* job = job_find(procs[i].nspace);
        if (!job) continue;
        for (uint32_t local = 0; local < job_size_on(job, on_node); local++) {
            uint32_t rank = job_rank_at(job, on_node, local);
            if (job->procs[rank].phase != PROC_ENDED && proc_matches(&procs[i], job->nspace, rank)) return true;
        }
    }
    return false;
}

/* A job and the process that spawned it are connected from the start; NULL if the set is none such, or is no longer. */
static struct job* family_of(const pmix_proc_t* procs, size_t nprocs) {
    for (size_t i = 0; nprocs == 2 && i < 2; i++) {
        struct job* job = job_find(procs[i].nspace);
        bool whole = procs[i].rank == PMIX_RANK_WILDCARD && job && !job->left_parent;
        if (whole && PMIX_CHECK_PROCID(&job->parent, &procs[1 - i]) && job->parent.rank == procs[1 - i].rank)
            return job;
    }
    return NULL;
}

static void disconnect(const struct set* set) {
    struct set* connection = find_set(CONNECT, set->procs, set->nprocs);
    struct job* family = family_of(set->procs, set->nprocs);
    if (connection && connection->connected > 0)
        connection->connected--;
    else if (family)
        family->left_parent = true;
}

static bool are_connected(const pmix_proc_t* procs, size_t nprocs) {
    const struct set* connection = find_set(CONNECT, procs, nprocs);
    return (connection && connection->connected > 0) || family_of(procs, nprocs);
}

/* Ends the turn if it is complete, or can no longer become so. */
static void judge(struct turn* turn) {
    if (!turn->joined) return;
    bool complete = true;
    for (int i = 0; i < mesh_nodes(); i++) {
        if (!turn->wanted[i] || turn->arrived[i]) continue;
        complete = false;
        if (!mesh_alive(i)) {
            fail(turn, PMIX_ERR_LOST_CONNECTION, true);
            return;
        }
        if (!collective_anybody_left(turn->set->procs, turn->set->nprocs, (uint32_t)i)) {
            fail(turn, PMIX_ERR_PROC_TERM_WO_SYNC, true);
            return;
        }
    }
    if (!complete) return;
    struct set* set = turn->set;
    if (set->kind == CONNECT) set->connected++;
    if (set->kind == DISCONNECT) disconnect(set);
    answer(turn, PMIX_SUCCESS);
    drop_turn(turn);
}

static void expired(void* argument) {
    struct turn* turn = argument;
    turn->timer = NULL;
    fail(turn, PMIX_ERR_TIMEOUT, true);
}

/* --- coming to a turn --------------------------------------------------------------------------------------------- */

/* Which nodes have a participant; PMIX_ERR_NOT_FOUND if one is unknown. */
static pmix_status_t find_nodes(const struct set* set, bool wanted[MAX_NODES]) {
    for (size_t i = 0; i < set->nprocs; i++) {
        const struct job* job = job_find(set->procs[i].nspace);
        uint32_t rank = set->procs[i].rank;
        if (!job || (rank != PMIX_RANK_WILDCARD && rank >= job->size)) return PMIX_ERR_NOT_FOUND;
        if (rank != PMIX_RANK_WILDCARD) {
            wanted[job_node_of(job, rank)] = true;
            continue;
        }
        for (int n = 0; n < mesh_nodes(); n++) wanted[n] = wanted[n] || job_size_on(job, (uint32_t)n) > 0;
    }
    return PMIX_SUCCESS;
}

static void join_turn(struct set* set, const struct join* join) {
    struct turn* turn = turn_of(set, set->joined);
    set->joined++;
    turn->answer_data = join->answer_data;
    turn->answer = join->answer;
    turn->cbdata = join->cbdata;
    turn->joined = true;
    find_nodes(set, turn->wanted);
    pmix_status_t status = turn->failed ? turn->status : join->status;
    if (status != PMIX_SUCCESS) {
        fail(turn, status, !turn->failed);
        return;
    }
    struct buffer body = {0};
    put_turn(&body, turn, PMIX_SUCCESS);
    wire_put_bytes(&body, join->data, join->size);
    send_to_others(turn, FRAME_COLLECTIVE, &body);
    wire_free(&body);
    turn->arrived[mesh_self()] = true;
    wire_append(&turn->blobs[mesh_self()], join->data, join->size);
    if (join->timeout > 0) turn->timer = loop_after(join->timeout, expired, turn);
    judge(turn);
}

static void run_join(void* argument) {
    struct join* join = argument;
    qsort(join->procs, join->nprocs, sizeof *join->procs, compare_procs);
    bool wanted[MAX_NODES] = {false};
    struct set* set = set_of(join->kind, join->procs, join->nprocs);
    pmix_status_t status = find_nodes(set, wanted);
    if (join->kind == DISCONNECT && !are_connected(join->procs, join->nprocs)) status = PMIX_ERR_INVALID_OPERATION;
    if (status == PMIX_SUCCESS) {
        join_turn(set, join);
    } else {
        struct turn refused = {.answer_data = join->answer_data, .answer = join->answer, .cbdata = join->cbdata};
        answer(&refused, status);
    }
    free(join->procs);
    free(join->data);
    free(join);
}

static struct join* new_join(enum kind kind, const pmix_proc_t procs[], size_t nprocs, const pmix_info_t info[],
                             size_t ninfo, void* cbdata) {
    struct join* join = xcalloc(1, sizeof *join);
    join->kind = kind;
    join->procs = xcalloc(nprocs, sizeof *procs);
    memcpy(join->procs, procs, nprocs * sizeof *procs);
    join->nprocs = nprocs;
    join->status = (pmix_status_t)info_number(info, ninfo, PMIX_LOCAL_COLLECTIVE_STATUS, PMIX_SUCCESS);
    join->timeout = (double)info_number(info, ninfo, PMIX_TIMEOUT, 0);
    join->cbdata = cbdata;
    return join;
}

/* The blob is ours from here on: the library gives it away. */
pmix_status_t up_fence_nb(const pmix_proc_t procs[], size_t nprocs, const pmix_info_t info[], size_t ninfo, char* data,
                          size_t ndata, pmix_modex_cbfunc_t cbfunc, void* cbdata) {
    struct join* join = new_join(FENCE, procs, nprocs, info, ninfo, cbdata);
    join->data = data;
    join->size = data ? ndata : 0;
    join->answer_data = cbfunc;
    loop_post(run_join, join);
    return PMIX_SUCCESS;
}

pmix_status_t up_connect(const pmix_proc_t procs[], size_t nprocs, const pmix_info_t info[], size_t ninfo,
                         pmix_op_cbfunc_t cbfunc, void* cbdata) {
    struct join* join = new_join(CONNECT, procs, nprocs, info, ninfo, cbdata);
    join->answer = cbfunc;
    loop_post(run_join, join);
    return PMIX_SUCCESS;
}

pmix_status_t up_disconnect(const pmix_proc_t procs[], size_t nprocs, const pmix_info_t info[], size_t ninfo,
                            pmix_op_cbfunc_t cbfunc, void* cbdata) {
    struct join* join = new_join(DISCONNECT, procs, nprocs, info, ninfo, cbdata);
    join->answer = cbfunc;
    loop_post(run_join, join);
    return PMIX_SUCCESS;
}

void collective_assemblage_of(const pmix_proc_t* proc, struct buffer* members) {
    for (const struct set* set = sets; set; set = set->next) {
        if (set->kind != CONNECT || set->connected == 0) continue;
        if (procs_match(set->procs, set->nprocs, proc->nspace, proc->rank))
            wire_append(members, set->procs, set->nprocs * sizeof *set->procs);
    }
}

/* --- what other nodes say ----------------------------------------------------------------------------------------- */

static struct turn* read_turn(struct buffer* body, pmix_status_t* status) {
    size_t nprocs;
    enum kind kind = (enum kind)wire_get_u32(body);
    pmix_proc_t* procs = wire_get_procs(body, &nprocs);
    uint64_t number = wire_get_u64(body);
    *status = (pmix_status_t)wire_get_u32(body);
    struct turn* turn = body->bad ? NULL : turn_of(set_of(kind, procs, nprocs), number);
    free(procs);
    return turn;
}

void on_collective(int from, uint64_t id, struct buffer* body) {
    (void)id;
    pmix_status_t status;
    struct turn* turn = read_turn(body, &status);
    struct buffer blob = wire_get_view(body);
    if (!turn || body->bad || from >= mesh_nodes() || turn->arrived[from]) return;
    turn->arrived[from] = true;
    wire_append(&turn->blobs[from], blob.data, blob.size);
    judge(turn);
}

void on_collective_failed(int from, uint64_t id, struct buffer* body) {
    (void)from;
    (void)id;
    pmix_status_t status;
    struct turn* turn = read_turn(body, &status);
    if (turn && !turn->failed) fail(turn, status, false);
}

void collective_proc_ended(void) {
    for (struct set *set = sets, *next_set; set; set = next_set) {
        next_set = set->next;
        for (struct turn *turn = set->turns, *next; turn; turn = next) {
            next = turn->next;
            judge(turn);
        }
    }
}

void collective_job_ended(const char* nspace) {
    for (struct set** at = &sets; *at;) {
        struct set* set = *at;
        size_t i = 0;
        while (i < set->nprocs && strncmp(set->procs[i].nspace, nspace, PMIX_MAX_NSLEN) != 0) i++;
        if (i == set->nprocs) {
            at = &set->next;
            continue;
        }
        while (set->turns) {
            if (set->turns->joined) answer(set->turns, PMIX_ERR_PROC_TERM_WO_SYNC);
            drop_turn(set->turns);
        }
        *at = set->next;
        free(set->procs);
        free(set);
    }
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* collective.c: fence, connect and disconnect: an all-gather among the nodes that have a participant.
 *
 * What this owns: for each set of participants as the callers wrote it (sorted; a wildcard and a full list are two
 * sets) the rounds in progress. The n-th upcall for a set on one node belongs to the n-th on each other, so sets may
 * be used again before all nodes have left the last round, overlap, and run at the same time.
 * The library makes the upcall when all processes of this node have joined: a node contributes once, with one blob.
 * Which thread calls it: up_* a thread of the library; all else the loop.
 * What can go wrong (every participant gets that status): a local failure (PMIX_LOCAL_COLLECTIVE_STATUS), the caller's
 * PMIX_TIMEOUT, a participating node that was lost or has no participant left alive (PMIX_ERR_PARTIAL_SUCCESS, as the
 * library answers for a lost member on its own node). A node that joins a round that has failed gets its status at
 * once. As in any all-gather, one node may succeed a moment before another fails. */
#include <stdlib.h>
#include <string.h>

#include "loop.h"
#include "node.h"

enum kind { FENCE, CONNECT, DISCONNECT };

struct round {
    struct round* next;
    struct set* set;
    uint64_t number;
    bool joined_here; /* this node has joined: the callbacks and cbdata are valid */
    bool failed;
    pmix_status_t status; /* of a failed round */
    struct buffer blobs[MAX_NODES];
    bool joined[MAX_NODES];
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
    uint64_t joined; /* number of rounds that this node has joined */
    bool connected;  /* once, however often they connect, as the library has it for sets of one node */
    struct round* rounds;
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

/* --- sets and rounds ---------------------------------------------------------------------------------------------- */

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

static struct round* round_of(struct set* set, uint64_t number) {
    for (struct round* round = set->rounds; round; round = round->next) {
        if (round->number == number) return round;
    }
    if (number < set->joined) return NULL; /* finished here */
    struct round* round = xcalloc(1, sizeof *round);
    round->set = set;
    round->number = number;
    round->next = set->rounds;
    set->rounds = round;
    return round;
}

static void drop_round(struct round* round) {
    struct round** at = &round->set->rounds;
    while (*at != round) at = &(*at)->next;
    *at = round->next;
    loop_cancel(round->timer);
    for (int i = 0; i < MAX_NODES; i++) wire_free(&round->blobs[i]);
    free(round);
}

/* --- the end of a round ------------------------------------------------------------------------------------------- */

static void answer(struct round* round, pmix_status_t status) {
    if (round->answer_data) {
        struct buffer all = {0};
        for (int i = 0; status == PMIX_SUCCESS && i < mesh_nodes(); i++) {
            wire_append(&all, round->blobs[i].data, round->blobs[i].size);
        }
        round->answer_data(status, (char*)all.data, all.size, round->cbdata, all.data ? free : NULL, all.data);
    } else if (round->answer) {
        round->answer(status, round->cbdata);
    }
}

static void put_round(struct buffer* b, const struct round* round, pmix_status_t status) {
    wire_put_u32(b, round->set->kind);
    wire_put_procs(b, round->set->procs, round->set->nprocs);
    wire_put_u64(b, round->number);
    wire_put_u32(b, (uint32_t)status);
}

static void send_to_others(const struct round* round, enum frame frame, const struct buffer* body) {
    for (int i = 0; i < mesh_nodes(); i++) {
        if (round->wanted[i] && i != mesh_self()) mesh_send(i, frame, body);
    }
}

/* Only a round that this node has joined ends; an earlier failure is kept in it for the local participants. */
static void fail(struct round* round, pmix_status_t status, bool tell) {
    round->failed = true;
    round->status = status;
    if (!round->joined_here) {
        for (int i = 0; i < MAX_NODES; i++) wire_free(&round->blobs[i]);
        return;
    }
    if (tell) {
        struct buffer body = {0};
        put_round(&body, round, status);
        send_to_others(round, FRAME_COLLECTIVE_FAILED, &body);
        wire_free(&body);
    }
    answer(round, status);
    drop_round(round);
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

/* A job and the process that spawned it are connected from the start; NULL if the set is no such pair, or no longer. */
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
    if (connection) connection->connected = false;
    if (family) family->left_parent = true;
}

static bool are_connected(const pmix_proc_t* procs, size_t nprocs) {
    const struct set* connection = find_set(CONNECT, procs, nprocs);
    return (connection && connection->connected) || family_of(procs, nprocs);
}

/* Ends the round if it is complete, or can no longer become so. */
static void judge(struct round* round) {
    if (!round->joined_here) return;
    bool complete = true;
    for (int i = 0; i < mesh_nodes(); i++) {
        if (!round->wanted[i] || round->joined[i]) continue;
        complete = false;
        if (!mesh_alive(i) || !collective_anybody_left(round->set->procs, round->set->nprocs, (uint32_t)i)) {
            fail(round, PMIX_ERR_PARTIAL_SUCCESS, true);
            return;
        }
    }
    if (!complete) return;
    struct set* set = round->set;
    if (set->kind == CONNECT) set->connected = true;
    if (set->kind == DISCONNECT) disconnect(set);
    answer(round, PMIX_SUCCESS);
    drop_round(round);
}

static void expired(void* argument) {
    struct round* round = argument;
    round->timer = NULL;
    fail(round, PMIX_ERR_TIMEOUT, true);
}

/* --- joining a round ---------------------------------------------------------------------------------------------- */

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

static void join_round(struct set* set, const struct join* join) {
    struct round* round = round_of(set, set->joined);
    set->joined++;
    round->answer_data = join->answer_data;
    round->answer = join->answer;
    round->cbdata = join->cbdata;
    round->joined_here = true;
    find_nodes(set, round->wanted);
    pmix_status_t status = round->failed ? round->status : join->status;
    if (status != PMIX_SUCCESS) {
        fail(round, status, !round->failed);
        return;
    }
    struct buffer body = {0};
    put_round(&body, round, PMIX_SUCCESS);
    wire_put_bytes(&body, join->data, join->size);
    send_to_others(round, FRAME_COLLECTIVE, &body);
    wire_free(&body);
    round->joined[mesh_self()] = true;
    wire_append(&round->blobs[mesh_self()], join->data, join->size);
    if (join->timeout > 0) round->timer = loop_after(join->timeout, expired, round);
    judge(round);
}

static void run_join(void* argument) {
    struct join* join = argument;
    qsort(join->procs, join->nprocs, sizeof *join->procs, compare_procs);
    bool wanted[MAX_NODES] = {false};
    pmix_status_t status = find_nodes(&(struct set){.procs = join->procs, .nprocs = join->nprocs}, wanted);
    if (join->kind == DISCONNECT && !are_connected(join->procs, join->nprocs)) status = PMIX_ERR_INVALID_OPERATION;
    if (status == PMIX_SUCCESS) {
        join_round(set_of(join->kind, join->procs, join->nprocs), join);
    } else {
        struct round refused = {.answer_data = join->answer_data, .answer = join->answer, .cbdata = join->cbdata};
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

/* This function owns the blob from here on. */
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
        if (set->kind != CONNECT || !set->connected) continue;
        if (procs_match(set->procs, set->nprocs, proc->nspace, proc->rank))
            wire_append(members, set->procs, set->nprocs * sizeof *set->procs);
    }
}

/* --- frames of other nodes ---------------------------------------------------------------------------------------- */

static struct round* read_round(struct buffer* body, pmix_status_t* status) {
    size_t nprocs;
    enum kind kind = (enum kind)wire_get_u32(body);
    pmix_proc_t* procs = wire_get_procs(body, &nprocs);
    uint64_t number = wire_get_u64(body);
    *status = (pmix_status_t)wire_get_u32(body);
    struct round* round = body->bad ? NULL : round_of(set_of(kind, procs, nprocs), number);
    free(procs);
    return round;
}

void on_collective(int from, uint64_t id, struct buffer* body) {
    (void)id;
    pmix_status_t status;
    struct round* round = read_round(body, &status);
    struct buffer blob = wire_get_view(body);
    if (!round || body->bad || from >= mesh_nodes() || round->joined[from]) return;
    round->joined[from] = true;
    wire_append(&round->blobs[from], blob.data, blob.size);
    judge(round);
}

void on_collective_failed(int from, uint64_t id, struct buffer* body) {
    (void)from;
    (void)id;
    pmix_status_t status;
    struct round* round = read_round(body, &status);
    if (round && !round->failed) fail(round, status, false);
}

void collective_proc_ended(void) {
    for (struct set *set = sets, *next_set; set; set = next_set) {
        next_set = set->next;
        for (struct round *round = set->rounds, *next; round; round = next) {
            next = round->next;
            judge(round);
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
        while (set->rounds) {
            if (set->rounds->joined_here) answer(set->rounds, PMIX_ERR_PROC_TERM_WO_SYNC);
            drop_round(set->rounds);
        }
        *at = set->next;
        free(set->procs);
        free(set);
    }
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* bootstrap.c: groups whose leaders know their number but not their identities, formed on the first node.
 *
 * What this owns: on the first node that is alive, each group that forms so: the processes that have called, their
 * data, and the processes that the leaders have added; and the callers that no leader has added yet. Every process
 * calls for itself; the answer to all is the membership in the order of the names, the context id, and the data of all.
 *
 * Callers with the same name, the same user and, for leaders, the same number of leaders belong together, because
 * nothing else is known before all have called. A process that names no others belongs to the group whose leader has
 * added it. Groups of one name that differ in one of these form beside each other.
 * Which thread calls it: the loop.
 * What can go wrong (all callers of the group get that status, and those that call too late as well): leaders
 * that give different numbers and share a process (PMIX_ERR_BAD_PARAM), the callers' PMIX_TIMEOUT, a process that has
 * called or was added and ends (PMIX_ERR_PROC_TERM_WO_SYNC). A caller that no leader has added gets
 * PMIX_ERR_NOT_FOUND when a group of that name with processes of its job has formed. */
#include <stdlib.h>
#include <string.h>

#include "loop.h"
#include "node.h"

struct start;

struct caller {
    struct caller* next;
    struct start* start; /* NULL: no leader has added it yet */
    char* name;
    uint32_t uid;
    pmix_proc_t proc;
    uint64_t leaders; /* how many there are, if it is one; 0: it was added */
    bool numbered;
    int from;
    uint64_t id;
    struct buffer blob;
    struct timer* timer;
    bool answered; /* in a start that is over: it has its status already */
};

struct member { /* added by a leader */
    pmix_proc_t proc;
    bool joined;
};

struct start {
    struct start* next;
    char* name;
    uint32_t uid;
    uint64_t leaders; /* how many there are */
    uint64_t leaders_here;
    struct member* added;
    size_t nadded;
    struct caller* callers;
    bool over; /* it has failed, and some may still call for it */
    pmix_status_t status;
};

static struct start* starts;
static struct caller* unclaimed;

static bool same_proc(const pmix_proc_t* a, const pmix_proc_t* b) {
    return a->rank == b->rank && strncmp(a->nspace, b->nspace, PMIX_MAX_NSLEN) == 0;
}

static void drop_caller(struct caller* caller) {
    loop_cancel(caller->timer);
    wire_free(&caller->blob);
    free(caller->name);
    free(caller);
}

static void unlink_caller(struct caller** list, struct caller* caller) {
    while (*list != caller) list = &(*list)->next;
    *list = caller->next;
}

static void drop(struct start* start) {
    struct start** at = &starts;
    while (*at != start) at = &(*at)->next;
    *at = start->next;
    while (start->callers) {
        struct caller* caller = start->callers;
        start->callers = caller->next;
        drop_caller(caller);
    }
    free(start->name);
    free(start->added);
    free(start);
}

static struct caller* caller_of(struct caller* list, const pmix_proc_t* proc) {
    while (list && !same_proc(&list->proc, proc)) list = list->next;
    return list;
}

static struct member* added_of(const struct start* start, const pmix_proc_t* proc) {
    for (size_t i = 0; i < start->nadded; i++) {
        if (same_proc(&start->added[i].proc, proc)) return &start->added[i];
    }
    return NULL;
}

static void tell(struct caller* caller, pmix_status_t status, const struct buffer* rest) {
    if (caller->answered) return;
    struct buffer body = {0};
    wire_put_u32(&body, (uint32_t)status);
    if (rest) wire_append(&body, rest->data, rest->size);
    mesh_reply(caller->from, caller->id, PMIX_SUCCESS, &body);
    wire_free(&body);
    caller->answered = true;
    loop_cancel(caller->timer);
    caller->timer = NULL;
}

/* A wildcard that is left in a list is one of a job that is not known here, or is no longer. */
static bool has_ended(const pmix_proc_t* proc) {
    const struct job* job = job_find(proc->nspace);
    if (!job || proc->rank >= job->size) return true;
    return job->procs[proc->rank].phase == PROC_ENDED || !mesh_alive((int)job_node_of(job, proc->rank));
}

/* Drops a start that is over if no process may still call for it. */
static void drop_if_settled(struct start* start) {
    size_t kept = 0;
    for (size_t i = 0; i < start->nadded; i++) {
        if (!start->added[i].joined && !has_ended(&start->added[i].proc)) start->added[kept++] = start->added[i];
    }
    start->nadded = kept;
    if (start->leaders_here >= start->leaders && kept == 0) drop(start);
}

static void fail(struct start* start, pmix_status_t status) {
    for (struct caller* caller = start->callers; caller; caller = caller->next) {
        tell(caller, status, NULL);
        wire_free(&caller->blob);
        caller->blob = (struct buffer){0};
    }
    start->over = true;
    start->status = status;
    drop_if_settled(start);
}

static int compare(const void* left, const void* right) {
    const pmix_proc_t *a = left, *b = right;
    int order = strncmp(a->nspace, b->nspace, PMIX_MAX_NSLEN);
    return order ? order : (a->rank > b->rank) - (a->rank < b->rank);
}

static bool is_of(const char* name, uint32_t uid, const char* other, uint32_t other_uid) {
    return uid == other_uid && strcmp(name, other) == 0;
}

/* Callers of the jobs that have a member in the group which has formed, and that no leader has added to any. */
static void refuse_unclaimed(const struct start* formed) {
    for (const struct start* start = starts; start; start = start->next) {
        if (start != formed && !start->over && is_of(start->name, start->uid, formed->name, formed->uid)) return;
    }
    for (struct caller *caller = unclaimed, *next; caller; caller = next) {
        next = caller->next;
        if (!is_of(caller->name, caller->uid, formed->name, formed->uid)) continue;
        const struct caller* member = formed->callers;
        while (member && !PMIX_CHECK_NSPACE(member->proc.nspace, caller->proc.nspace)) member = member->next;
        if (!member) continue;
        tell(caller, PMIX_ERR_NOT_FOUND, NULL);
        unlink_caller(&unclaimed, caller);
        drop_caller(caller);
    }
}

static void complete(struct start* start) {
    struct buffer members = {0}, blobs = {0}, rest = {0};
    bool numbered = false;
    for (const struct caller* caller = start->callers; caller; caller = caller->next) {
        wire_append(&members, &caller->proc, sizeof caller->proc);
        wire_append(&blobs, caller->blob.data, caller->blob.size);
        numbered = numbered || caller->numbered;
    }
    size_t count = members.size / sizeof(pmix_proc_t);
    qsort(members.data, count, sizeof(pmix_proc_t), compare);
    groups_forget_departures(start->name, (const pmix_proc_t*)(const void*)members.data, count);
    groups_put_answer(&rest, numbered, (const pmix_proc_t*)(const void*)members.data, count, &blobs);
    for (struct caller* caller = start->callers; caller; caller = caller->next) tell(caller, PMIX_SUCCESS, &rest);
    wire_free(&members);
    wire_free(&blobs);
    wire_free(&rest);
    refuse_unclaimed(start);
    drop(start);
}

static void judge(struct start* start) {
    bool all = start->leaders_here == start->leaders;
    for (const struct caller* caller = start->callers; caller; caller = caller->next) {
        if (!has_ended(&caller->proc)) continue;
        fail(start, PMIX_ERR_PROC_TERM_WO_SYNC);
        return;
    }
    for (size_t i = 0; i < start->nadded; i++) {
        if (start->added[i].joined) continue;
        if (has_ended(&start->added[i].proc)) {
            fail(start, PMIX_ERR_PROC_TERM_WO_SYNC);
            return;
        }
        all = false;
    }
    if (all) complete(start);
}

static void expired(void* argument) {
    struct caller* caller = argument;
    caller->timer = NULL;
    if (caller->start) {
        fail(caller->start, PMIX_ERR_TIMEOUT);
        return;
    }
    tell(caller, PMIX_ERR_TIMEOUT, NULL);
    unlink_caller(&unclaimed, caller);
    drop_caller(caller);
}

/* It is one of the group now. */
static void enter(struct start* start, struct caller* caller) {
    caller->start = start;
    caller->next = start->callers;
    start->callers = caller;
    start->leaders_here += caller->leaders > 0;
    struct member* member = added_of(start, &caller->proc);
    if (member) member->joined = true;
}

/* It calls for a group that has failed without it. */
static void come_late(struct start* start, struct caller* caller) {
    tell(caller, start->status, NULL);
    enter(start, caller);
    drop_if_settled(start);
}

static void add(struct start* start, const pmix_proc_t* proc) {
    if (added_of(start, proc)) return;
    start->added = xrealloc(start->added, (start->nadded + 1) * sizeof *start->added);
    struct member* member = &start->added[start->nadded++];
    member->proc = *proc;
    member->joined = caller_of(start->callers, proc) != NULL;
    struct caller* waiting = unclaimed;
    while (waiting && !(same_proc(&waiting->proc, proc) && is_of(waiting->name, waiting->uid, start->name, start->uid)))
        waiting = waiting->next;
    if (!waiting) return;
    unlink_caller(&unclaimed, waiting);
    enter(start, waiting);
}

/* Processes may be named by themselves and by their job's wildcard, by one leader or by several. */
static void add_all(struct start* start, const pmix_proc_t* procs, size_t nprocs) {
    for (size_t i = 0; i < nprocs; i++) {
        const struct job* job = procs[i].rank == PMIX_RANK_WILDCARD ? job_find(procs[i].nspace) : NULL;
        if (!job) add(start, &procs[i]);
        for (uint32_t rank = 0; job && rank < job->size; rank++) {
            pmix_proc_t proc = procs[i];
            proc.rank = rank;
            add(start, &proc);
        }
    }
}

static bool names(const pmix_proc_t* procs, size_t nprocs, const pmix_proc_t* proc) {
    for (size_t i = 0; i < nprocs; i++) {
        if (procs[i].rank != PMIX_RANK_WILDCARD && procs[i].rank != proc->rank) continue;
        if (PMIX_CHECK_NSPACE(procs[i].nspace, proc->nspace)) return true;
    }
    return false;
}

/* Has a leader, or the processes that it adds, a part in that group? No process is in two groups of one name. */
static bool has_part(const struct start* start, const struct caller* leader, const pmix_proc_t* added, size_t nadded) {
    if (added_of(start, &leader->proc)) return true;
    for (const struct caller* caller = start->callers; caller; caller = caller->next) {
        if (names(added, nadded, &caller->proc)) return true;
    }
    for (size_t i = 0; i < start->nadded; i++) {
        if (names(added, nadded, &start->added[i].proc)) return true;
    }
    return false;
}

static struct start* new_start(const struct caller* leader) {
    struct start* start = xcalloc(1, sizeof *start);
    start->name = xstrdup(leader->name);
    start->uid = leader->uid;
    start->leaders = leader->leaders;
    start->next = starts;
    starts = start;
    return start;
}

static void take_leader(struct caller* caller, const pmix_proc_t* added, size_t nadded) {
    bool refused = false;
    for (struct start *start = starts, *next; start; start = next) {
        next = start->next;
        if (!is_of(start->name, start->uid, caller->name, caller->uid)) continue;
        bool waits = start->leaders_here < start->leaders && start->leaders == caller->leaders;
        if (start->over && waits && !caller_of(start->callers, &caller->proc)) {
            come_late(start, caller);
            return;
        }
        if (start->over || waits || !has_part(start, caller, added, nadded)) continue;
        refused = true;
        if (start->leaders_here < start->leaders)
            fail(start, PMIX_ERR_BAD_PARAM); /* they do not agree on their number */
    }
    if (refused) {
        tell(caller, PMIX_ERR_BAD_PARAM, NULL);
        drop_caller(caller);
        return;
    }
    struct start* start = starts;
    while (start && (start->over || start->leaders != caller->leaders || start->leaders_here == start->leaders ||
                     !is_of(start->name, start->uid, caller->name, caller->uid)))
        start = start->next;
    if (!start) start = new_start(caller);
    enter(start, caller);
    add_all(start, added, nadded);
    judge(start);
}

static void take_member(struct caller* caller) {
    struct start* late = NULL;
    for (struct start* start = starts; start; start = start->next) {
        if (!is_of(start->name, start->uid, caller->name, caller->uid)) continue;
        struct member* member = added_of(start, &caller->proc);
        if (!member || member->joined) continue;
        if (start->over) {
            late = start;
            continue;
        }
        enter(start, caller);
        judge(start);
        return;
    }
    if (late) {
        come_late(late, caller);
    } else if (has_ended(&caller->proc)) {
        tell(caller, PMIX_ERR_PROC_TERM_WO_SYNC, NULL);
        drop_caller(caller);
    } else {
        caller->next = unclaimed;
        unclaimed = caller;
    }
}

/* Another first node has failed it, and was lost: those that call late get the same status from this one. Of a process
 * that was added its leader brings the failure. */
static void take_failure(struct caller* caller, const pmix_proc_t* added, size_t nadded, pmix_status_t status) {
    if (caller->leaders == 0) {
        tell(caller, status, NULL);
        for (struct start* start = starts; start; start = start->next) {
            struct member* member = added_of(start, &caller->proc);
            if (!start->over || !member || !is_of(start->name, start->uid, caller->name, caller->uid)) continue;
            member->joined = true;
            drop_if_settled(start);
            break;
        }
        drop_caller(caller);
        return;
    }
    struct start* start = starts;
    while (start &&
           (start->leaders_here == start->leaders || start->leaders != caller->leaders ||
            caller_of(start->callers, &caller->proc) || !is_of(start->name, start->uid, caller->name, caller->uid)))
        start = start->next;
    if (!start) start = new_start(caller);
    enter(start, caller);
    add_all(start, added, nadded);
    fail(start, status);
}

void on_bootstrap(int from, uint64_t id, struct buffer* body) {
    struct caller* caller = xcalloc(1, sizeof *caller);
    size_t nadded;
    caller->name = wire_get_string(body);
    wire_get_proc(body, &caller->proc);
    caller->uid = wire_get_u32(body);
    caller->leaders = wire_get_u64(body);
    pmix_proc_t* added = wire_get_procs(body, &nadded);
    caller->numbered = wire_get_u8(body);
    uint64_t seconds = wire_get_u64(body);
    pmix_status_t failed = (pmix_status_t)wire_get_u32(body);
    struct buffer blob = wire_get_view(body);
    caller->from = from;
    caller->id = id;
    if (body->bad || !caller->name) {
        tell(caller, PMIX_ERR_BAD_PARAM, NULL);
        drop_caller(caller);
        free(added);
        return;
    }
    wire_append(&caller->blob, blob.data, blob.size);
    if (seconds > 0) caller->timer = loop_after((double)seconds, expired, caller);
    if (failed != PMIX_SUCCESS)
        take_failure(caller, added, nadded, failed);
    else if (caller->leaders > 0)
        take_leader(caller, added, nadded);
    else
        take_member(caller);
    free(added);
}

void bootstrap_proc_ended(void) {
    for (struct start *start = starts, *next; start; start = next) {
        next = start->next;
        if (start->over)
            drop_if_settled(start);
        else
            judge(start);
    }
    for (struct caller *caller = unclaimed, *next; caller; caller = next) {
        next = caller->next;
        if (!has_ended(&caller->proc)) continue;
        tell(caller, PMIX_ERR_PROC_TERM_WO_SYNC, NULL);
        unlink_caller(&unclaimed, caller);
        drop_caller(caller);
    }
}

/* A start that is over is kept for late callers; with the jobs of all its callers, the late leaders are gone too. */
void bootstrap_job_ended(const char* nspace) {
    for (struct start *start = starts, *next; start; start = next) {
        next = start->next;
        if (!start->over) continue;
        bool others = false, its = false;
        for (const struct caller* caller = start->callers; caller; caller = caller->next) {
            bool of_it = PMIX_CHECK_NSPACE(caller->proc.nspace, nspace);
            its = its || of_it;
            others = others || (!of_it && job_find(caller->proc.nspace));
        }
        if (its && !others) drop(start);
    }
}

/* bootstrap.c: groups whose leaders know how many they are but not who, gathered on node 0.
 *
 * What this owns: on node 0, for each group that forms so, who has come, with what data, and who was added by a leader.
 * Every caller comes by itself; the answer to all is who is in the group, in the order of their names, the context id,
 * and the data of all.
 * Which thread calls it: the loop.
 * What can go wrong, and then everybody who has come gets that status, and who comes late too: leaders that do not agree
 * on their number (PMIX_ERR_BAD_PARAM), the callers' PMIX_TIMEOUT, one who has come or was added and ends
 * (PMIX_ERR_PROC_TERM_WO_SYNC). Who comes by itself and was added by nobody is told so (PMIX_ERR_NOT_FOUND). */
#include <stdlib.h>
#include <string.h>

#include "loop.h"
#include "node.h"

struct caller {
    struct caller* next;
    pmix_proc_t proc;
    bool leader;
    int from;
    uint64_t id;
    struct buffer blob;
};

struct start {
    struct start* next;
    char* name;
    uint64_t leaders; /* how many there are; 0: none has come */
    uint64_t leaders_here;
    pmix_proc_t* added;
    size_t nadded;
    struct caller* callers;
    bool numbered;
    bool over; /* it has failed, and somebody may be late for it */
    pmix_status_t status;
    struct timer* timer;
};

static struct start* starts;

static void drop_callers(struct start* start) {
    while (start->callers) {
        struct caller* caller = start->callers;
        start->callers = caller->next;
        wire_free(&caller->blob);
        free(caller);
    }
}

static void drop(struct start* start) {
    struct start** at = &starts;
    while (*at != start) at = &(*at)->next;
    *at = start->next;
    loop_cancel(start->timer);
    drop_callers(start);
    free(start->name);
    free(start->added);
    free(start);
}

static struct caller* caller_of(const struct start* start, const pmix_proc_t* proc) {
    struct caller* caller = start->callers;
    while (caller && !(PMIX_CHECK_NSPACE(caller->proc.nspace, proc->nspace) && caller->proc.rank == proc->rank))
        caller = caller->next;
    return caller;
}

static bool is_added(const struct start* start, const pmix_proc_t* proc) {
    for (size_t i = 0; i < start->nadded; i++) {
        if (PMIX_CHECK_NSPACE(start->added[i].nspace, proc->nspace) && start->added[i].rank == proc->rank) return true;
    }
    return false;
}

static void tell(const struct caller* caller, pmix_status_t status, const struct buffer* rest) {
    struct buffer body = {0};
    wire_put_u32(&body, (uint32_t)status);
    if (rest) wire_append(&body, rest->data, rest->size);
    mesh_reply(caller->from, caller->id, PMIX_SUCCESS, &body);
    wire_free(&body);
}

static bool has_ended(const pmix_proc_t* proc) {
    const struct job* job = job_find(proc->nspace);
    if (!job || proc->rank >= job->size) return true;
    return job->procs[proc->rank].phase == PROC_ENDED || !mesh_alive((int)job_node_of(job, proc->rank));
}

static void fail(struct start* start, pmix_status_t status) {
    for (const struct caller* caller = start->callers; caller; caller = caller->next) tell(caller, status, NULL);
    loop_cancel(start->timer);
    start->timer = NULL;
    start->over = true;
    start->status = status;
    /* What is left are those who may be late. */
    size_t kept = 0;
    for (size_t i = 0; i < start->nadded; i++) {
        if (!caller_of(start, &start->added[i])) start->added[kept++] = start->added[i];
    }
    start->nadded = kept;
    drop_callers(start);
    if (start->leaders_here >= start->leaders && kept == 0) drop(start);
}

static int compare(const void* left, const void* right) {
    const pmix_proc_t *a = left, *b = right;
    int order = strncmp(a->nspace, b->nspace, PMIX_MAX_NSLEN);
    return order ? order : (a->rank > b->rank) - (a->rank < b->rank);
}

static void complete(struct start* start) {
    struct buffer members = {0}, blobs = {0}, rest = {0};
    for (const struct caller* caller = start->callers; caller; caller = caller->next) {
        if (!caller->leader && !is_added(start, &caller->proc)) continue;
        wire_append(&members, &caller->proc, sizeof caller->proc);
        wire_append(&blobs, caller->blob.data, caller->blob.size);
    }
    size_t count = members.size / sizeof(pmix_proc_t);
    qsort(members.data, count, sizeof(pmix_proc_t), compare);
    groups_put_answer(&rest, start->numbered, (const pmix_proc_t*)(const void*)members.data, count, &blobs);
    for (const struct caller* caller = start->callers; caller; caller = caller->next) {
        bool in = caller->leader || is_added(start, &caller->proc);
        tell(caller, in ? PMIX_SUCCESS : PMIX_ERR_NOT_FOUND, in ? &rest : NULL);
    }
    wire_free(&members);
    wire_free(&blobs);
    wire_free(&rest);
    drop(start);
}

static void judge(struct start* start) {
    for (const struct caller* caller = start->callers; caller; caller = caller->next) {
        if (!has_ended(&caller->proc)) continue;
        fail(start, PMIX_ERR_PROC_TERM_WO_SYNC);
        return;
    }
    bool all = start->leaders > 0 && start->leaders_here == start->leaders;
    for (size_t i = 0; i < start->nadded; i++) {
        if (caller_of(start, &start->added[i])) continue;
        if (has_ended(&start->added[i])) {
            fail(start, PMIX_ERR_PROC_TERM_WO_SYNC);
            return;
        }
        all = false;
    }
    if (all) complete(start);
}

static void expired(void* argument) {
    struct start* start = argument;
    start->timer = NULL;
    fail(start, PMIX_ERR_TIMEOUT);
}

static struct start* start_of(const char* name) {
    struct start* start = starts;
    while (start && strcmp(start->name, name) != 0) start = start->next;
    if (start) return start;
    start = xcalloc(1, sizeof *start);
    start->name = xstrdup(name);
    start->next = starts;
    starts = start;
    return start;
}

static void come_late(struct start* start, const struct caller* caller) {
    size_t kept = 0;
    tell(caller, start->status, NULL);
    start->leaders_here += caller->leader;
    for (size_t i = 0; i < start->nadded; i++) {
        bool same = compare(&start->added[i], &caller->proc) == 0;
        if (!same && !has_ended(&start->added[i])) start->added[kept++] = start->added[i];
    }
    start->nadded = kept;
    if (start->leaders_here >= start->leaders && kept == 0) drop(start);
}

void on_bootstrap(int from, uint64_t id, struct buffer* body) {
    struct caller* caller = xcalloc(1, sizeof *caller);
    size_t nadded;
    char* name = wire_get_string(body);
    wire_get_proc(body, &caller->proc);
    uint64_t leaders = wire_get_u64(body);
    pmix_proc_t* added = wire_get_procs(body, &nadded);
    bool numbered = wire_get_u8(body);
    uint64_t seconds = wire_get_u64(body);
    struct buffer blob = wire_get_view(body);
    caller->from = from;
    caller->id = id;
    caller->leader = leaders > 0;
    struct start* start = body->bad || !name ? NULL : start_of(name);
    free(name);
    if (!start || start->over) {
        if (start)
            come_late(start, caller);
        else
            tell(caller, PMIX_ERR_BAD_PARAM, NULL);
        free(caller);
        free(added);
        return;
    }
    wire_append(&caller->blob, blob.data, blob.size);
    caller->next = start->callers;
    start->callers = caller;
    start->numbered = start->numbered || numbered;
    bool agree = !caller->leader || start->leaders == 0 || start->leaders == leaders;
    if (caller->leader) {
        start->leaders = leaders;
        start->leaders_here++;
        start->added = xrealloc(start->added, (start->nadded + nadded) * sizeof *added + 1);
        for (size_t i = 0; i < nadded; i++) {
            if (!is_added(start, &added[i])) start->added[start->nadded++] = added[i];
        }
    }
    free(added);
    if (seconds > 0 && !start->timer) start->timer = loop_after((double)seconds, expired, start);
    if (agree)
        judge(start);
    else
        fail(start, PMIX_ERR_BAD_PARAM);
}

void bootstrap_proc_ended(void) {
    for (struct start *start = starts, *next; start; start = next) {
        next = start->next;
        if (!start->over) judge(start);
    }
}

void bootstrap_job_ended(const char* nspace) {
    for (struct start *start = starts, *next; start; start = next) {
        next = start->next;
        size_t i = 0;
        while (i < start->nadded && !PMIX_CHECK_NSPACE(start->added[i].nspace, nspace)) i++;
        if (start->over && i < start->nadded) drop(start); /* nobody is late for it */
    }
}

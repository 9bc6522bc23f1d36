/* SPDX-License-Identifier: BSD-3-Clause */
/* clients.c: what happens to processes: connected, finalized, aborted, controlled, ended.
 *
 * What this owns: the aborts that wait for the end of their own caller: PMIx_Abort does not return to a process that is
 * among its targets, so its upcall is answered when that process is gone.
 * Which thread calls it: up_* a thread of the library; all else the loop.
 * What can go wrong: targets that are not ours (PMIX_ERR_PARAM_VALUE_NOT_SUPPORTED, without any effect), a control that
 * is not offered (PMIX_ERR_NOT_SUPPORTED). */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "loop.h"
#include "node.h"

enum change { CONNECTED, FINALIZED };

struct coming_or_going {
    pmix_proc_t proc;
    enum change change;
};

struct demand { /* an abort or a control, on its way to the head, or waiting for its caller's end */
    struct demand* next;
    pmix_proc_t caller;
    int status;
    int signal;
    char* message;
    pmix_proc_t* targets;
    size_t ntargets;
    pmix_op_cbfunc_t aborted;
    pmix_info_cbfunc_t controlled;
    void* cbdata;
};

static struct demand* waiting_aborts;

/* --- connected, finalized ----------------------------------------------------------------------------------------- */

/* Notifies the processes connected with it that it left without disconnecting: only this node can tell. */
static void tell_that_it_left(const pmix_proc_t* proc) {
    struct buffer members = {0};
    collective_assemblage_of(proc, &members);
    events_tell(PMIX_ERR_PROC_TERM_WO_SYNC, proc, &members, true);
    wire_free(&members);
}

static void note_change(void* argument) {
    struct coming_or_going* note = argument;
    struct proc* proc = proc_find(&note->proc);
    if (proc && note->change == CONNECTED) proc->connected = true;
    if (proc && note->change == FINALIZED && !proc->finalized) tell_that_it_left(&note->proc);
    if (note->change == FINALIZED) publish_proc_left(&note->proc);
    if (proc) proc->finalized = note->change == FINALIZED;
    free(note);
}

static pmix_status_t post_change(const pmix_proc_t* proc, enum change change) {
    struct coming_or_going* note = xcalloc(1, sizeof *note);
    note->proc = *proc;
    note->change = change;
    loop_post(note_change, note);
    return PMIX_OPERATION_SUCCEEDED;
}

pmix_status_t up_client_connected2(const pmix_proc_t* proc, void* server_object, pmix_info_t info[], size_t ninfo,
                                   pmix_op_cbfunc_t cbfunc, void* cbdata) {
    (void)server_object, (void)info, (void)ninfo, (void)cbfunc, (void)cbdata;
    return post_change(proc, CONNECTED);
}

pmix_status_t up_client_finalized(const pmix_proc_t* proc, void* server_object, pmix_op_cbfunc_t cbfunc, void* cbdata) {
    (void)server_object, (void)cbfunc, (void)cbdata;
    return post_change(proc, FINALIZED);
}

/* The library of this node has raised the event for the processes here; other nodes raise it for theirs. */
static void tell_connection_lost(const pmix_proc_t* proc) {
    bool non_default = true;
    pmix_info_t infos[2];
    PMIX_INFO_LOAD(&infos[0], PMIX_EVENT_AFFECTED_PROC, proc, PMIX_PROC);
    PMIX_INFO_LOAD(&infos[1], PMIX_EVENT_NON_DEFAULT, &non_default, PMIX_BOOL);
    up_notify_event(PMIX_ERR_LOST_CONNECTION, proc, PMIX_RANGE_NAMESPACE, infos, 2, NULL, NULL);
    for (int i = 0; i < 2; i++) PMIX_INFO_DESTRUCT(&infos[i]);
}

static void connection_left(void* argument) {
    pmix_proc_t* proc = argument;
    const struct job* job = job_find(proc->nspace);
    bool of_job = job && proc->rank < job->size;
    /* Another node's library has raised the event again here. */
    bool here = !of_job || job_node_of(job, proc->rank) == (uint32_t)mesh_self();
    if (here) publish_proc_left(proc);
    if (here && of_job) tell_connection_lost(proc);
    free(proc);
}

/* For a process that did not finalize the library raises this in place of the upcall. */
static void connection_lost(size_t handler, pmix_status_t status, const pmix_proc_t* source, pmix_info_t info[],
                            size_t ninfo, pmix_info_t results[], size_t nresults,
                            pmix_event_notification_cbfunc_fn_t done, void* cbdata) {
    (void)handler, (void)status, (void)info, (void)ninfo, (void)results, (void)nresults;
    loop_post(connection_left, memcpy(xcalloc(1, sizeof *source), source, sizeof *source));
    if (done) done(PMIX_SUCCESS, NULL, 0, NULL, NULL, cbdata);
}

pmix_status_t clients_watch_connections(void) {
    pmix_status_t code = PMIX_ERR_LOST_CONNECTION;
    pmix_status_t status = PMIx_Register_event_handler(&code, 1, NULL, 0, connection_lost, NULL, NULL);
    return status < 0 ? status : PMIX_SUCCESS; /* a positive one is the handler's reference */
}

/* --- abort, control ----------------------------------------------------------------------------------------------- */

static void free_demand(struct demand* demand) {
    free(demand->message);
    free(demand->targets);
    free(demand);
}

static void answer_demand(struct demand* demand, pmix_status_t status) {
    if (demand->aborted) demand->aborted(status, demand->cbdata);
    if (demand->controlled) demand->controlled(status, NULL, 0, demand->cbdata, NULL, NULL);
    free_demand(demand);
}

static bool targets_known(const struct demand* demand) {
    for (size_t i = 0; i < demand->ntargets; i++) {
        const struct job* job = job_find(demand->targets[i].nspace);
        uint32_t rank = demand->targets[i].rank;
        if (!job || (rank != PMIX_RANK_WILDCARD && rank >= job->size)) return false;
    }
    return true;
}

/* Where nobody is named, or the caller itself is, the caller. */
static bool waits_for_itself(const struct demand* demand) {
    return demand->ntargets == 0 ||
           procs_match(demand->targets, demand->ntargets, demand->caller.nspace, demand->caller.rank);
}

/* Those that are to be aborted have ended, as far as anybody will know. A tool is no process of a job. */
static bool abort_is_done(const struct demand* demand) {
    const pmix_proc_t* targets = waits_for_itself(demand) ? &demand->caller : demand->targets;
    size_t count = waits_for_itself(demand) ? 1 : demand->ntargets;
    for (size_t i = 0; i < count; i++) {
        const struct job* job = job_find(targets[i].nspace);
        for (uint32_t rank = 0; job && rank < job->size; rank++) {
            if (proc_matches(&targets[i], job->nspace, rank) && job->procs[rank].phase != PROC_ENDED &&
                mesh_alive((int)job_node_of(job, rank)))
                return false;
        }
    }
    return true;
}

static void run_demand(void* argument) {
    struct demand* demand = argument;
    if (!targets_known(demand)) {
        answer_demand(demand, PMIX_ERR_PARAM_VALUE_NOT_SUPPORTED);
        return;
    }
    struct proc* caller = proc_find(&demand->caller);
    if (demand->aborted && caller && waits_for_itself(demand)) caller->aborted = true;
    struct buffer body = {0};
    if (demand->aborted) {
        wire_put_proc(&body, &demand->caller);
        wire_put_u32(&body, (uint32_t)demand->status);
        wire_put_string(&body, demand->message);
    }
    wire_put_procs(&body, demand->targets, demand->ntargets);
    wire_put_u32(&body, (uint32_t)demand->signal);
    /* The end that a user requests by a tool becomes the exit status; the end that a process requests does not. */
    if (!demand->aborted) wire_put_u8(&body, job_find(demand->caller.nspace) == NULL);
    mesh_send(mesh_head(), demand->aborted ? FRAME_ABORT : FRAME_CONTROL, &body);
    wire_free(&body);
    if (demand->aborted && !abort_is_done(demand)) {
        demand->next = waiting_aborts;
        waiting_aborts = demand;
    } else {
        answer_demand(demand, PMIX_SUCCESS);
    }
}

static struct demand* new_demand(const pmix_proc_t* caller, const pmix_proc_t* targets, size_t ntargets, void* cbdata) {
    struct demand* demand = xcalloc(1, sizeof *demand);
    demand->caller = *caller;
    demand->cbdata = cbdata;
    if (targets && ntargets > 0) {
        demand->ntargets = ntargets;
        demand->targets = memcpy(xcalloc(ntargets, sizeof *targets), targets, ntargets * sizeof *targets);
    }
    return demand;
}

pmix_status_t up_abort(const pmix_proc_t* proc, void* server_object, int status, const char msg[], pmix_proc_t procs[],
                       size_t nprocs, pmix_op_cbfunc_t cbfunc, void* cbdata) {
    (void)server_object;
    struct demand* demand = new_demand(proc, procs, nprocs, cbdata);
    demand->status = status;
    demand->message = msg ? xstrdup(msg) : NULL;
    demand->aborted = cbfunc;
    loop_post(run_demand, demand);
    return PMIX_SUCCESS;
}

static int wanted_signal(const pmix_info_t* directives, size_t ndirs) {
    if (info_true(directives, ndirs, PMIX_JOB_CTRL_KILL)) return SIGKILL;
    if (info_true(directives, ndirs, PMIX_JOB_CTRL_TERMINATE)) return SIGTERM;
    if (info_true(directives, ndirs, PMIX_JOB_CTRL_PAUSE)) return SIGSTOP;
    if (info_true(directives, ndirs, PMIX_JOB_CTRL_RESUME)) return SIGCONT;
    return (int)info_number(directives, ndirs, PMIX_JOB_CTRL_SIGNAL, 0);
}

/* A request only about preemption or the way of checkpointing asks for no action; pmixrun does neither. */
static bool informs(const pmix_info_t* directives, size_t ndirs) {
    return info_find(directives, ndirs, PMIX_JOB_CTRL_PREEMPTIBLE) ||
           info_find(directives, ndirs, PMIX_JOB_CTRL_CHECKPOINT_METHOD);
}

pmix_status_t up_job_control(const pmix_proc_t* requestor, const pmix_proc_t targets[], size_t ntargets,
                             const pmix_info_t directives[], size_t ndirs, pmix_info_cbfunc_t cbfunc, void* cbdata) {
    int signal_number = wanted_signal(directives, ndirs);
    if (signal_number == 0 && informs(directives, ndirs)) return PMIX_OPERATION_SUCCEEDED;
    if (signal_number < 0 || signal_number >= NSIG) return PMIX_ERR_BAD_PARAM;
    /* Named, and of a type that no signal has. */
    if (signal_number == 0 && info_find(directives, ndirs, PMIX_JOB_CTRL_SIGNAL)) return PMIX_ERR_BAD_PARAM;
    if (signal_number == 0) return PMIX_ERR_NOT_SUPPORTED;
    pmix_proc_t own_job = *requestor;
    own_job.rank = PMIX_RANK_WILDCARD;
    bool given = targets && ntargets > 0;
    struct demand* demand = new_demand(requestor, given ? targets : &own_job, given ? ntargets : 1, cbdata);
    demand->signal = signal_number;
    demand->controlled = cbfunc;
    loop_post(run_demand, demand);
    return PMIX_SUCCESS;
}

/* --- the end of a process, here or on another node ---------------------------------------------------------------- */

void clients_procs_ended(void) {
    for (struct demand** at = &waiting_aborts; *at;) {
        struct demand* demand = *at;
        if (!abort_is_done(demand)) {
            at = &demand->next;
            continue;
        }
        *at = demand->next;
        answer_demand(demand, PMIX_SUCCESS);
    }
}

static bool app_over(const struct job* job, uint32_t app) {
    uint32_t end = job->apps[app].first + job->apps[app].size;
    for (uint32_t rank = job->apps[app].first; rank < end; rank++) {
        if (job->procs[rank].phase != PROC_ENDED) return false;
    }
    return true;
}

static void add_proc(struct buffer* list, const char* nspace, pmix_rank_t rank) {
    pmix_proc_t proc;
    PMIX_LOAD_PROCID(&proc, nspace, rank);
    wire_append(list, &proc, sizeof proc);
}

/* Notifies the job of the failed process, its parent and the jobs that it spawned; the processes connected with it also
 * that they no longer are. Every node notifies its own clients. A parent whose spawn was refused never had the job: the
 * status of the spawn has all that it is to know. */
static void tell_failure(const struct job* job, const pmix_proc_t* name, pmix_status_t code, bool launch_failed) {
    struct buffer family = {0}, assemblage = {0};
    collective_assemblage_of(name, &assemblage);
    add_proc(&family, job->nspace, PMIX_RANK_WILDCARD);
    if (job->parent.nspace[0] && !job->left_parent && !launch_failed)
        add_proc(&family, job->parent.nspace, job->parent.rank);
    for (const struct job* child = jobs_first(); child; child = child->next) {
        /* Compared by our own: PMIX_CHECK_PROCID takes the empty parent of the user's job for any namespace. */
        if (!child->left_parent && proc_matches(&child->parent, name->nspace, name->rank))
            add_proc(&family, child->nspace, PMIX_RANK_WILDCARD);
    }
    const struct proc* proc = proc_find(name);
    if (proc && !mesh_alive((int)proc->node)) assemblage.size = 0; /* clients_node_lost() has notified them */
    if (code == PMIX_ERR_PROC_TERM_WO_SYNC)
        wire_append(&family, assemblage.data, assemblage.size); /* once to each */
    else
        events_tell(PMIX_ERR_PROC_TERM_WO_SYNC, name, &assemblage, false);
    events_tell(code, name, &family, false);
    wire_free(&family);
    wire_free(&assemblage);
}

/* Its processes may still run, but no process can be connected with them. */
void clients_node_lost(uint32_t number) {
    events_node_lost(number);
    for (const struct job* job = jobs_first(); job; job = job->next) {
        for (uint32_t i = 0; i < job_size_on(job, number); i++) {
            pmix_proc_t name;
            struct buffer assemblage = {0};
            uint32_t rank = job_rank_at(job, number, i);
            PMIX_LOAD_PROCID(&name, job->nspace, rank);
            if (job->procs[rank].phase == PROC_ENDED) continue;
            collective_assemblage_of(&name, &assemblage);
            events_tell(PMIX_ERR_PROC_TERM_WO_SYNC, &name, &assemblage, false);
            wire_free(&assemblage);
        }
    }
    clients_procs_ended();
    for (struct job *job = jobs_first(), *next; job; job = next) {
        next = job->next;
        launch_forget_if_over(job);
    }
}

void on_exit_of_proc(int from, uint64_t id, struct buffer* body) {
    (void)from;
    (void)id;
    pmix_proc_t name;
    wire_get_proc(body, &name);
    int wait_status = (int)wire_get_u32(body);
    bool without_finalize = wire_get_u8(body), launch_failed = wire_get_u8(body), aborted = wire_get_u8(body);
    struct job* job = job_find(name.nspace);
    struct proc* proc = proc_find(&name);
    if (body->bad || !proc || proc->phase == PROC_ENDED) return;
    proc->phase = PROC_ENDED;
    proc->wait_status = wait_status;
    proc->lost = without_finalize;
    proc->aborted = aborted;
    job->alive--;
    clients_procs_ended();
    collective_proc_ended();
    groups_proc_ended();
    modex_proc_ended(&name);
    publish_proc_ended(&name);
    uint32_t app = job_app_of(job, name.rank);
    if (app_over(job, app)) publish_app_ended(job->nspace, app);
    if (job->alive == 0) publish_nspace_ended(job->nspace);
    if (job->alive == 0) input_end_if_nobody_is_left();
    if (aborted)
        tell_failure(job, &name, PMIX_ERR_PROC_REQUESTED_ABORT, launch_failed);
    else if (WIFSIGNALED(wait_status))
        tell_failure(job, &name, PMIX_ERR_PROC_ABORTED_BY_SIG, launch_failed);
    else if (wait_status != 0)
        tell_failure(job, &name, PMIX_ERR_EXIT_NONZERO_TERM, launch_failed);
    else if (without_finalize)
        tell_failure(job, &name, PMIX_ERR_PROC_TERM_WO_SYNC, launch_failed);
    launch_forget_if_over(job);
}

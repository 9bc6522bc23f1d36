/* SPDX-License-Identifier: BSD-3-Clause */
#include "starts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "debug.h"
#include "head.h"
#include "loop.h"
#include "progress.h"
#include "report.h"

enum { EXIT_CANNOT_START = 127 };

struct launch { /* a job that is being started, or whose start has failed and which is not over */
    struct job* job;
    int outstanding; /* nodes that have not replied yet */
    pmix_status_t status;
    int requester; /* node of the process that spawned it; -1: the user */
    uint64_t id;
    bool first_runs;
    bool answered;        /* the requester got the answer that the time was over */
    struct timer* timer;  /* until when the start may take */
    uint32_t time_limit;  /* seconds that it may run; 0: no limit */
    uint32_t start_limit; /* seconds that the start of all jobs of the spawn may take; 0: no limit */
    double start_until;   /* when they are over; 0: none has begun */
    struct launch* next;  /* the next job of the same spawn: started when this one is */
    pmix_nspace_t first;  /* namespace of the first of them, which is the answer */
};

static const struct options* options;
static const char* base_name;
static uint32_t job_count;
static uint32_t process_count; /* of all jobs so far */
static int launches;           /* in progress */

bool starts_in_progress(void) {
    return launches > 0;
}

static void answer_requester(struct launch* launch) {
    struct buffer body = {0};
    if (launch->requester < 0 || launch->answered) return;
    launch->answered = true;
    if (launch->status == PMIX_SUCCESS) wire_put_string(&body, launch->first);
    mesh_reply(launch->requester, launch->id, launch->status, &body);
    wire_free(&body);
}

/* The requester does not wait longer; processes started meanwhile are ended when all nodes have reported theirs. */
static void start_takes_too_long(void* argument) {
    struct launch* launch = argument;
    launch->timer = NULL;
    if (launch->status == PMIX_SUCCESS) {
        head_say("job %u was not started in time", launch->job->number);
        launch->status = PMIX_ERR_TIMEOUT;
    }
    answer_requester(launch);
}

static void time_limit_over(void* argument) {
    for (struct job* job = jobs_first(); job; job = job->next) {
        pmix_proc_t all;
        if (job->number != (uint32_t)(uintptr_t)argument) continue;
        PMIX_LOAD_PROCID(&all, job->nspace, PMIX_RANK_WILDCARD);
        head_say("job %u did not end in the time it was given", job->number);
        if (job->term_status == PMIX_SUCCESS) job->term_status = PMIX_ERR_TIMEOUT;
        head_expect_end_of(&all, 1, false);
        head_end_procs(&all, 1, false);
        return;
    }
}

/* Of launches that never began. */
static void discard(struct launch* launch) {
    for (struct launch* next; launch; launch = next) {
        next = launch->next;
        job_free(launch->job);
        free(launch);
    }
}

/* The other jobs of the spawn, whose requester gets none of them. */
static void end_companions(const struct job* failed) {
    for (struct job* job = jobs_first(); job; job = job->next) {
        pmix_proc_t all;
        if (job == failed || job->with != failed->with) continue;
        PMIX_LOAD_PROCID(&all, job->nspace, PMIX_RANK_WILDCARD);
        job->launch_failed = true;
        head_expect_end_of(&all, 1, false);
        head_end_procs(&all, 1, true);
    }
}

static void launch_job(struct launch* launch);

static void launched(struct launch* launch) {
    struct job* job = launch->job;
    pmix_proc_t all;
    PMIX_LOAD_PROCID(&all, job->nspace, PMIX_RANK_WILDCARD);
    launches--;
    job->starting = false;
    if (launch->requester < 0) progress_end();
    if (launch->status == PMIX_SUCCESS) {
        report_launch_complete(job);
        if (launch->time_limit > 0) loop_after(launch->time_limit, time_limit_over, (void*)(uintptr_t)job->number);
    }
    if (launch->status == PMIX_SUCCESS) {
        loop_cancel(launch->timer);
        if (launch->requester < 0) headio_stdin_to(job, options);
        /* Of a parent that has ended meanwhile. */
        if (!job_find(job->parent.nspace)) head_end_children(job->parent.nspace);
        if (launch->next) {
            launch->next->start_until = launch->start_until;
            launch_job(launch->next);
        } else {
            answer_requester(launch);
        }
        free(launch);
    } else {
        discard(launch->next);
        launch->next = NULL;
        job->term_status = launch->status;
        job->launch_failed = true;
        job->failed_launch = launch;
        job_end_unstarted(job);
        head_expect_end_of(&all, 1, false);
        head_end_procs(&all, 1, true);
        end_companions(job);
        if (launch->requester < 0) head_end_everything(EXIT_CANNOT_START);
    }
    if (job->alive == 0) head_job_over(job);
}

static void started(pmix_status_t status, struct buffer* body, void* argument) {
    struct launch* launch = argument;
    struct job* job = launch->job;
    uint32_t count = body->size ? wire_get_u32(body) : 0;
    for (uint32_t i = 0; i < count && !body->bad; i++) {
        uint32_t rank = wire_get_u32(body);
        pid_t pid = (pid_t)wire_get_u32(body);
        if (rank >= job->size) continue;
        if (launch->requester < 0) progress_node((int)job_node_of(job, rank), count);
        job->procs[rank].pid = pid;
        if (job->procs[rank].phase == PROC_DEFINED) job->procs[rank].phase = PROC_RUNNING;
    }
    if (count > 0 && !launch->first_runs) report_job_started(job);
    launch->first_runs = launch->first_runs || count > 0;
    char* why = body->size ? wire_get_string(body) : NULL;
    if (status != PMIX_SUCCESS && launch->status == PMIX_SUCCESS) {
        launch->status = status;
        head_say("%s", why ? why : PMIx_Error_string(status));
    }
    free(why);
    if (--launch->outstanding == 0) launched(launch);
}

void on_progress(int from, uint64_t id, struct buffer* body) {
    (void)id;
    uint32_t up = wire_get_u32(body);
    if (!body->bad) progress_node(from, up);
}

/* A node that was lost before has no part in the job. One that has, and is lost now, makes the launch fail. */
static bool takes_part(const struct job* job, int number) {
    return mesh_alive(number) || job_size_on(job, (uint32_t)number) > 0;
}

static void ask_nodes(struct launch* launch, enum frame frame, const struct buffer* body, reply_handler done) {
    launch->outstanding = 0;
    for (int i = 0; i < mesh_nodes(); i++) launch->outstanding += takes_part(launch->job, i);
    for (int i = 0; i < mesh_nodes(); i++) {
        if (takes_part(launch->job, i)) mesh_request(i, frame, body, 0, done, launch);
    }
}

static void defined(pmix_status_t status, struct buffer* body, void* argument) {
    struct launch* launch = argument;
    char* why = body->size ? wire_get_string(body) : NULL;
    if (status != PMIX_SUCCESS && launch->status == PMIX_SUCCESS) {
        launch->status = status;
        if (why)
            head_say("cannot bind job %u: %s", launch->job->number, why);
        else
            head_say("cannot register job %u: %s (%d)", launch->job->number, PMIx_Error_string(status), status);
    }
    free(why);
    if (--launch->outstanding > 0) return;
    if (head_is_ending() && launch->status == PMIX_SUCCESS) launch->status = PMIX_ERR_JOB_CANCELED;
    if (launch->status != PMIX_SUCCESS) {
        launched(launch);
        return;
    }
    jobio_empty_shared_file(&launch->job->io, launch->job);
    struct buffer name = {0};
    wire_put_string(&name, launch->job->nspace);
    ask_nodes(launch, FRAME_JOB_START, &name, started);
    wire_free(&name);
}

static struct launch* launch_new(struct app* apps, uint32_t app_count, struct layout layout, const pmix_proc_t* parent,
                                 int requester, uint64_t id) {
    pmix_nspace_t nspace;
    snprintf(nspace, sizeof nspace, "%s.%u", base_name, job_count + 1);
    struct job* job = job_new(nspace, job_count + 1, (uint32_t)mesh_nodes(), layout, apps, app_count, parent);
    if (!job) return NULL;
    struct launch* launch = xcalloc(1, sizeof *launch);
    job->first_global = process_count;
    process_count += job->size;
    job_count++;
    job->with = job->number;
    launch->job = job;
    launch->requester = requester;
    launch->id = id;
    return launch;
}

static void launch_job(struct launch* launch) {
    launches++;
    if (launch->start_limit > 0) {
        if (launch->start_until == 0) launch->start_until = loop_now() + launch->start_limit;
        const double left = launch->start_until - loop_now();
        launch->timer = loop_after(left > 0 ? left : 0, start_takes_too_long, launch);
    }
    launch->job->starting = true;
    job_place_beside_others(launch->job);
    if (options->verbose) head_say("job %s: %u processes", launch->job->nspace, launch->job->size);
    jobs_add(launch->job);
    struct buffer body = {0};
    job_put(&body, launch->job);
    ask_nodes(launch, FRAME_JOB_DEFINE, &body, defined);
    wire_free(&body);
}

/* A process inherits what the application of its parent was given, as with fork; its own settings come after. */
static void inherit_env(struct app* app, const pmix_proc_t* parent) {
    const struct job* job = job_find(parent->nspace);
    if (!job || parent->rank >= job->size) return;
    const struct app* given = &job->apps[job_app_of(job, parent->rank)];
    const size_t inherited = strings_count(given->env), own = strings_count(app->env);
    if (inherited == 0) return;
    char** all = xcalloc(inherited + own + 1, sizeof *all);
    for (size_t i = 0; i < inherited; i++) all[i] = xstrdup(given->env[i]);
    if (own > 0) memcpy(all + inherited, app->env, own * sizeof *all);
    free(app->env);
    app->env = all;
}

/* What the jobs of one spawn have in common. */
struct spawn {
    int from;
    uint64_t id;
    pmix_proc_t requester, parent;
    struct layout layout;
    uint32_t wanted, start_limit, time_limit;
    struct buffer io, directives; /* views, which each job reads anew */
};

/* The applications are taken over. `first`: the launch of the spawn's first job, NULL for that one itself. */
static pmix_status_t prepare(const struct spawn* spawn, struct app* apps, uint32_t count, struct debug_app* debugs,
                             const struct launch* first, struct launch** made) {
    for (uint32_t i = 0; i < count; i++) inherit_env(&apps[i], &spawn->parent);
    pmix_status_t status = debug_place(&apps[0], &debugs[0], first ? first->job : NULL);
    if (status == PMIX_SUCCESS && !apps_keep_to(apps, count, (uint32_t)mesh_nodes(), mesh_alive))
        status = PMIX_ERR_JOB_ALLOC_FAILED;
    if (status != PMIX_SUCCESS) {
        apps_free(apps, count);
        return status;
    }
    struct launch* launch = launch_new(apps, count, spawn->layout, &spawn->parent, spawn->from, spawn->id);
    if (!launch) return PMIX_ERR_JOB_INSUFFICIENT_RESOURCES;
    struct job* job = launch->job;
    struct buffer io = spawn->io;
    jobio_get(&io, &job->io);
    wire_append(&job->directives, spawn->directives.data, spawn->directives.size);
    debug_apply(job, debugs);
    if (job->is_debugger) process_count -= job->size; /* the user's processes are numbered without it */
    job->requester = spawn->requester;
    /* A debugger that fails does not end what it looks at. */
    job->wanted = spawn->wanted | (job->is_debugger ? IS_RECOVERABLE : 0);
    job->with = first ? first->job->number : job->number;
    PMIX_LOAD_NSPACE(launch->first, first ? first->first : job->nspace);
    launch->time_limit = spawn->time_limit;
    launch->start_limit = spawn->start_limit;
    *made = launch;
    return PMIX_SUCCESS;
}

/* One job of the applications, and one of each that is apart from them. */
static pmix_status_t prepare_all(const struct spawn* spawn, struct app* apps, uint32_t count, struct debug_app* debugs,
                                 struct launch** first) {
    const uint32_t together = debug_sort(apps, debugs, count);
    const uint32_t jobs_before = job_count, processes_before = process_count;
    pmix_status_t status = PMIX_SUCCESS;
    struct launch** last = first;
    uint32_t done = 0;
    uint64_t total = 0;
    while (done < count && status == PMIX_SUCCESS) {
        const uint32_t next = done == 0 ? together : done + 1, size = next - done;
        struct app* own = memcpy(xcalloc(size, sizeof *own), apps + done, size * sizeof *own);
        status = prepare(spawn, own, size, &debugs[done], done == 0 ? NULL : *first, last);
        if (status == PMIX_SUCCESS) {
            total += (*last)->job->size;
            last = &(*last)->next;
            if (total > MAX_SPAWNED) status = PMIX_ERR_OUT_OF_RESOURCE;
        }
        done = next;
    }
    if (status == PMIX_SUCCESS) return status;
    for (; done < count; done++) app_destruct(&apps[done]);
    discard(*first);
    job_count = jobs_before;
    process_count = processes_before;
    return status;
}

void on_spawn(int from, uint64_t id, struct buffer* body) {
    struct spawn spawn = {.from = from, .id = id};
    wire_get_proc(body, &spawn.requester);
    wire_get_proc(body, &spawn.parent);
    spawn.layout = layout_get(body);
    spawn.wanted = wire_get_u32(body);
    spawn.start_limit = wire_get_u32(body);
    spawn.time_limit = wire_get_u32(body);
    spawn.io = wire_get_view(body);
    spawn.directives = wire_get_view(body);
    uint32_t count = wire_get_u32(body);
    if (body->bad || count == 0 || count > body->size || head_is_ending()) {
        mesh_reply(from, id, head_is_ending() ? PMIX_ERR_JOB_CANCELED : PMIX_ERR_BAD_PARAM, NULL);
        return;
    }
    /* The end of a parent that is no job of ours is not known here. */
    if (!job_find(spawn.parent.nspace)) spawn.wanted &= ~(uint32_t)ENDS_WITH_PARENT;
    struct app* apps = apps_get(body, count);
    struct debug_app* debugs = debug_get(body, count);
    struct launch* first = NULL;
    const pmix_status_t status = prepare_all(&spawn, apps, count, debugs, &first);
    if (status == PMIX_SUCCESS)
        launch_job(first);
    else
        mesh_reply(from, id, status, NULL);
    free(apps); /* what was in them is the jobs' */
    debug_free(debugs, count);
}

/* Another job of the same spawn that is still being ended. */
static struct job* companion_of(const struct job* failed) {
    struct job* job = jobs_first();
    while (job && (job == failed || job->with != failed->with)) job = job->next;
    return job;
}

/* The last one answers. */
void starts_job_over(struct job* job) {
    if (!job->failed_launch) return;
    struct job* companion = companion_of(job);
    if (companion) {
        companion->failed_launch = job->failed_launch;
        job->failed_launch = NULL;
        return;
    }
    loop_cancel(job->failed_launch->timer);
    answer_requester(job->failed_launch);
    free(job->failed_launch);
    job->failed_launch = NULL;
}

void starts_prepare(const struct options* given, const char* server_nspace) {
    options = given;
    base_name = server_nspace;
}

bool starts_begun(void) {
    return job_count > 0;
}

/* Where the processes are to stop; the tool gets the events of its job without asking. */
static pmix_status_t direct(struct job* job, const struct tidings* tidings) {
    pmix_app_t* apps = xcalloc(job->app_count, sizeof *apps);
    struct debug_app* debugs = xcalloc(job->app_count, sizeof *debugs);
    for (uint32_t i = 0; i < job->app_count; i++) apps[i].maxprocs = (int)job->apps[i].size;
    pmix_status_t status = debug_read(debugs, apps, job->app_count, tidings->infos, tidings->count);
    if (status == PMIX_SUCCESS && debugs[0].debugger) status = PMIX_ERR_BAD_PARAM;
    if (status == PMIX_SUCCESS) debug_apply(job, debugs);
    job->requester = tidings->tool;
    if (tidings->tool.nspace[0]) job->wanted |= WANTS_JOB_EVENTS;
    debug_free(debugs, job->app_count);
    free(apps);
    return status;
}

void starts_begin(const struct tidings* tidings) {
    struct layout layout = {options->placement, options->placement, 0};
    struct launch* first = launch_new(options->apps, options->app_count, layout, NULL, -1, 0);
    first->job->io = options_io(options);
    const pmix_status_t status = tidings ? direct(first->job, tidings) : PMIX_SUCCESS;
    if (status != PMIX_SUCCESS) {
        head_say("the tool's directives for the job cannot be met: %s", PMIx_Error_string(status));
        discard(first);
        head_end_everything(EXIT_CANNOT_START);
        return;
    }
    progress_begin(first->job->size);
    launch_job(first);
}

/* SPDX-License-Identifier: BSD-3-Clause */
#include "starts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
    bool answered;       /* the requester got the answer that the time was over */
    struct timer* timer; /* until when the start may take */
    uint32_t time_limit; /* seconds that it may run; 0: no limit */
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
    if (launch->status == PMIX_SUCCESS) wire_put_string(&body, launch->job->nspace);
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
        answer_requester(launch);
    } else {
        job->term_status = launch->status;
        job->launch_failed = true;
        job->failed_launch = launch;
        job_end_unstarted(job);
        head_expect_end_of(&all, 1, false);
        head_end_procs(&all, 1, true);
        if (launch->requester < 0) head_end_everything(EXIT_CANNOT_START);
    }
    if (launch->status == PMIX_SUCCESS && launch->requester < 0) headio_stdin_to(job, options);
    if (launch->status == PMIX_SUCCESS) free(launch);
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
    (void)body;
    struct launch* launch = argument;
    if (status != PMIX_SUCCESS && launch->status == PMIX_SUCCESS) {
        launch->status = status;
        head_say("cannot register job %u: %s (%d)", launch->job->number, PMIx_Error_string(status), status);
    }
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
    launch->job = job;
    launch->requester = requester;
    launch->id = id;
    return launch;
}

static void launch_job(struct launch* launch) {
    launches++;
    launch->job->starting = true;
    job_place_beside_others(launch->job);
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

void on_spawn(int from, uint64_t id, struct buffer* body) {
    pmix_proc_t requester, parent;
    wire_get_proc(body, &requester);
    wire_get_proc(body, &parent);
    struct layout layout = layout_get(body);
    uint32_t wanted = wire_get_u32(body), start_limit = wire_get_u32(body), time_limit = wire_get_u32(body);
    struct job_io io;
    jobio_get(body, &io);
    uint32_t count = wire_get_u32(body);
    if (body->bad || count > body->size || head_is_ending()) {
        jobio_destruct(&io);
        mesh_reply(from, id, head_is_ending() ? PMIX_ERR_JOB_CANCELED : PMIX_ERR_BAD_PARAM, NULL);
        return;
    }
    struct app* apps = apps_get(body, count);
    for (uint32_t i = 0; i < count; i++) inherit_env(&apps[i], &parent);
    bool there = apps_keep_to(apps, count, (uint32_t)mesh_nodes(), mesh_alive);
    struct launch* launch = there ? launch_new(apps, count, layout, &parent, from, id) : NULL;
    if (!launch) {
        jobio_destruct(&io);
        if (!there) apps_free(apps, count);
        mesh_reply(from, id, there ? PMIX_ERR_JOB_INSUFFICIENT_RESOURCES : PMIX_ERR_JOB_ALLOC_FAILED, NULL);
        return;
    }
    launch->job->requester = requester;
    launch->job->wanted = wanted;
    launch->job->io = io;
    launch->time_limit = time_limit;
    if (start_limit > 0) launch->timer = loop_after(start_limit, start_takes_too_long, launch);
    launch_job(launch);
}

void starts_job_over(struct job* job) {
    if (!job->failed_launch) return;
    loop_cancel(job->failed_launch->timer);
    answer_requester(job->failed_launch);
    free(job->failed_launch);
    job->failed_launch = NULL;
}

void starts_begin(const struct options* given, const char* server_nspace) {
    options = given;
    base_name = server_nspace;
    struct layout layout = {options->placement, options->placement};
    struct launch* first = launch_new(options->apps, options->app_count, layout, NULL, -1, 0);
    first->job->io = options_io(options);
    progress_begin(first->job->size);
    launch_job(first);
}

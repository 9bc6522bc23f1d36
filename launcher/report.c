/* SPDX-License-Identifier: BSD-3-Clause */
#include "report.h"

#include <string.h>
#include <sys/wait.h>
#include <time.h>

#include "mesh.h"

enum { MOST_INFOS = 10 };

struct report {
    pmix_info_t infos[MOST_INFOS];
    size_t count;
};

static void add(struct report* report, const char* key, const void* data, pmix_data_type_t type) {
    PMIX_INFO_LOAD(&report->infos[report->count], key, data, type);
    report->count++;
}

/* To those only that asked for it, by the spawn of the job: its requester, and the parent that it named. */
static void address(struct report* report, const struct job* job) {
    pmix_proc_t to[2] = {job->requester, job->parent};
    pmix_data_array_t array = {.type = PMIX_PROC, .array = to};
    array.size = !to[1].nspace[0] || proc_matches(&to[0], to[1].nspace, to[1].rank) ? 1 : 2;
    add(report, PMIX_EVENT_CUSTOM_RANGE, &array, PMIX_DATA_ARRAY);
}

/* The resource manager is no process of a job, so the source is empty; an info names the process it is about. */
static void send_report(struct report* report, pmix_status_t code, const struct job* job, const pmix_proc_t* about,
                        bool told, uint32_t logged) {
    struct buffer body = {0};
    pmix_proc_t nobody;
    time_t now = time(NULL);
    PMIX_LOAD_PROCID(&nobody, "", PMIX_RANK_UNDEF);
    const bool some = info_find(report->infos, report->count, PMIX_EVENT_AFFECTED_PROCS) != NULL;
    if (!some) add(report, PMIX_EVENT_AFFECTED_PROC, about, PMIX_PROC);
    add(report, PMIX_NSPACE, about->nspace, PMIX_STRING);
    add(report, PMIX_JOBID, about->nspace, PMIX_STRING);
    add(report, PMIX_EVENT_TIMESTAMP, &now, PMIX_TIME);
    /* A requested report is no failure of the other jobs, whose default handlers may abort at any event. */
    bool asked_for = code != PMIX_ERR_JOB_TERM_WO_SYNC;
    if (asked_for) add(report, PMIX_EVENT_NON_DEFAULT, &asked_for, PMIX_BOOL);
    if (asked_for) address(report, job);
    wire_put_u32(&body, (uint32_t)code);
    wire_put_proc(&body, &nobody);
    wire_put_u8(&body, asked_for ? PMIX_RANGE_CUSTOM : PMIX_RANGE_SESSION);
    if (told && wire_put_infos(&body, report->infos, report->count)) {
        for (int i = 0; i < mesh_nodes(); i++) mesh_send(i, FRAME_EVENT, &body);
    }
    wire_free(&body);
    wire_put_u32(&body, (uint32_t)code);
    wire_put_proc(&body, about);
    wire_put_u32(&body, logged);
    if (logged && wire_put_infos(&body, report->infos, report->count)) {
        int first = 0;
        while (first + 1 < mesh_nodes() && !mesh_alive(first)) first++;
        mesh_send(first, FRAME_LOG, &body);
    }
    wire_free(&body);
    for (size_t i = 0; i < report->count; i++) PMIX_INFO_DESTRUCT(&report->infos[i]);
}

/* How it is to be logged, if the spawn asked for one of these. */
static uint32_t logged(const struct job* job, uint32_t events) {
    return job->wanted & events ? job->wanted : 0;
}

static pmix_proc_t whole(const struct job* job) {
    pmix_proc_t all;
    PMIX_LOAD_PROCID(&all, job->nspace, PMIX_RANK_WILDCARD);
    return all;
}

void report_job_started(const struct job* job) {
    struct report report = {.count = 0};
    pmix_proc_t about = whole(job);
    send_report(&report, PMIX_EVENT_JOB_START, job, &about, job->wanted & WANTS_JOB_EVENTS,
                logged(job, LOGS_JOB_EVENTS));
}

static bool any_stops(const struct job* job, enum stop stop) {
    uint32_t rank = 0;
    while (rank < job->size && !(job->procs[rank].stops & stop)) rank++;
    return rank < job->size;
}

void report_launch_complete(const struct job* job) {
    struct report report = {.count = 0};
    pmix_proc_t about = whole(job);
    /* Where processes stop at their first instruction, it is also the sign that they do. */
    const bool told = job->wanted & WANTS_JOB_EVENTS || any_stops(job, STOP_ON_EXEC);
    send_report(&report, PMIX_LAUNCH_COMPLETE, job, &about, told, logged(job, LOGS_JOB_EVENTS));
}

void report_ready_for_debug(const struct job* job, enum stop stop, const char* breakpoint) {
    struct report report = {.count = 0};
    struct buffer waiting = {0};
    pmix_proc_t about = whole(job), one;
    for (uint32_t rank = 0; rank < job->size; rank++) {
        if (!(job->procs[rank].stands & stop)) continue;
        PMIX_LOAD_PROCID(&one, job->nspace, rank);
        wire_append(&waiting, &one, sizeof one);
    }
    pmix_data_array_t array = {.type = PMIX_PROC, .size = waiting.size / sizeof one, .array = waiting.data};
    add(&report, PMIX_BREAKPOINT, breakpoint, PMIX_STRING);
    if (array.size < job->size) add(&report, PMIX_EVENT_AFFECTED_PROCS, &array, PMIX_DATA_ARRAY);
    send_report(&report, PMIX_READY_FOR_DEBUG, job, &about, true, 0);
    wire_free(&waiting);
}

void report_proc_ended(struct job* job, uint32_t rank, int wait_status, bool without_finalize) {
    struct report report = {.count = 0};
    pmix_proc_t about;
    PMIX_LOAD_PROCID(&about, job->nspace, rank);
    int code = WIFSIGNALED(wait_status) ? 128 + WTERMSIG(wait_status) : WEXITSTATUS(wait_status);
    const bool aborted = job->procs[rank].aborted;
    pmix_status_t status = aborted                    ? PMIX_ERR_PROC_REQUESTED_ABORT
                           : WIFSIGNALED(wait_status) ? PMIX_ERR_PROC_ABORTED_BY_SIG
                           : wait_status != 0         ? PMIX_ERR_EXIT_NONZERO_TERM
                           : without_finalize         ? PMIX_ERR_PROC_TERM_WO_SYNC
                                                      : PMIX_SUCCESS;
    if (status != PMIX_SUCCESS && job->term_status == PMIX_SUCCESS) {
        job->term_status = aborted                     ? PMIX_ERR_JOB_ABORTED
                           : job->procs[rank].expected ? PMIX_ERR_JOB_KILLED_BY_CMD
                           : WIFSIGNALED(wait_status)  ? PMIX_ERR_JOB_ABORTED_BY_SIG
                           : wait_status != 0          ? PMIX_ERR_JOB_NON_ZERO_TERM
                                                       : PMIX_ERR_JOB_TERM_WO_SYNC;
        job->failed_rank = rank;
        job->failed_code = code;
    }
    bool bad = status != PMIX_SUCCESS;
    bool told = job->wanted & (bad ? WANTS_PROC_ENDS | WANTS_ABNORMAL_ENDS : WANTS_PROC_ENDS);
    uint32_t log = logged(job, bad ? LOGS_PROC_ENDS | LOGS_ABNORMAL_ENDS : LOGS_PROC_ENDS);
    add(&report, PMIX_PROC_TERM_STATUS, &status, PMIX_STATUS);
    add(&report, PMIX_EXIT_CODE, &code, PMIX_INT);
    send_report(&report, PMIX_EVENT_PROC_TERMINATED, job, &about, told, log);
}

void report_job_ended(const struct job* job) {
    struct report report = {.count = 0};
    pmix_proc_t about = whole(job), failed;
    bool silent = job->term_status == PMIX_SUCCESS && (job->wanted & WANTS_SILENT_END);
    bool told = !silent && (job->wanted & (WANTS_JOB_EVENTS | WANTS_JOB_END));
    add(&report, PMIX_JOB_TERM_STATUS, &job->term_status, PMIX_STATUS);
    if (job->failed_rank != PMIX_RANK_UNDEF) {
        PMIX_LOAD_PROCID(&failed, job->nspace, job->failed_rank);
        add(&report, PMIX_PROCID, &failed, PMIX_PROC);
        add(&report, PMIX_EXIT_CODE, &job->failed_code, PMIX_INT);
    }
    send_report(&report, PMIX_EVENT_JOB_END, job, &about, told, logged(job, LOGS_JOB_EVENTS | LOGS_JOB_END));
}

void report_jobs_terminated(void) {
    if (!jobs_first() || !jobs_first()->next) return;
    for (const struct job* job = jobs_first(); job; job = job->next) {
        struct report report = {.count = 0};
        pmix_proc_t about = whole(job);
        send_report(&report, PMIX_ERR_JOB_TERM_WO_SYNC, job, &about, true, 0);
    }
}

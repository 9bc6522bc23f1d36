// SPDX-License-Identifier: BSD-3-Clause
/* tool_spawn.h: what the tests of a tool that starts processes by itself share: requests, the events of the end, and
 * what it reads of the output. */
#ifndef WIREUP_TESTS_INTEGRATION_TOOL_SPAWN_H
#define WIREUP_TESTS_INTEGRATION_TOOL_SPAWN_H

#include <errno.h>
#include <fcntl.h>

#include "tools_servers.h"

static const char* program;
static bool yes = true;
static const double LONG = 60; /* seconds; nothing here takes as long */

/* --- asking ----------------------------------------------------------------------------------------------------------
 */

static pmix_info_t options[8];
static size_t noptions;

static inline void option(const char* key, const void* data, pmix_data_type_t type) {
    PMIX_INFO_LOAD(&options[noptions], key, data, type);
    noptions++;
}

/* Spawns words[0] with the options, and clears them. */
static inline pmix_status_t spawn_in(const char* folder, char** env, const char* const* words, int count,
                                     pmix_nspace_t nspace) {
    pmix_app_t app;
    PMIX_APP_CONSTRUCT(&app);
    app.cmd = (char*)(uintptr_t)words[0];
    app.argv = (char**)(uintptr_t)words;
    app.env = env;
    app.cwd = (char*)(uintptr_t)folder;
    app.maxprocs = count;
    memset(nspace, 'x', sizeof(pmix_nspace_t));
    pmix_status_t status = PMIx_Spawn(options, noptions, &app, 1, nspace);
    CHECK(status == PMIX_SUCCESS ? nspace[0] != 0 && strlen(nspace) < PMIX_MAX_NSLEN : nspace[0] == 0);
    destruct_infos(options, &noptions);
    return status;
}

#define WORDS(...) ((const char* const[]){__VA_ARGS__, NULL})
#define SHELL(text) WORDS("/bin/sh", "-c", text)

static inline pmix_status_t spawn(const char* const* words, int count, pmix_nspace_t nspace) {
    return spawn_in(NULL, NULL, words, count, nspace);
}

static inline pmix_status_t control(const char* nspace, pmix_rank_t rank, const char* key, const void* data,
                                    pmix_data_type_t type) {
    pmix_proc_t target;
    pmix_info_t info;
    PMIX_LOAD_PROCID(&target, nspace, rank);
    PMIX_INFO_LOAD(&info, key, data, type);
    pmix_status_t status = PMIx_Job_control(&target, 1, &info, 1, NULL, NULL);
    PMIX_INFO_DESTRUCT(&info);
    return status == PMIX_OPERATION_SUCCEEDED ? PMIX_SUCCESS : status;
}

/* A tool without a server, under a name of its own if there is one. */
static inline void alone_as(const char* name, bool launcher) {
    pmix_info_t info[3];
    size_t count = 1;
    PMIX_INFO_LOAD(&info[0], PMIX_TOOL_DO_NOT_CONNECT, &yes, PMIX_BOOL);
    if (launcher) PMIX_INFO_LOAD(&info[count++], PMIX_LAUNCHER, &yes, PMIX_BOOL);
    if (name) PMIX_INFO_LOAD(&info[count++], PMIX_TOOL_NSPACE, name, PMIX_STRING);
    alarm(200);
    CHECK_OK(PMIx_tool_init(&me, info, count));
    CHECK(!PMIx_tool_is_connected() && (name ? strcmp(me.nspace, name) == 0 : me.nspace[0] != 0));
    destruct_infos(info, &count);
}

static inline void alone(void) {
    alone_as(NULL, false);
}

/* --- its events
 * --------------------------------------------------------------------------------------------------------
 */

struct notice {
    pmix_status_t code, term_status;
    pmix_proc_t about, failed;
    bool has_failed, has_code;
    int exit_code;
};
static struct notice notices[64];
static unsigned nnotices;
static pthread_mutex_t notices_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t notices_changed = PTHREAD_COND_INITIALIZER;

static inline void note(size_t handler, pmix_status_t status, const pmix_proc_t* source, pmix_info_t info[],
                        size_t ninfo, pmix_info_t* results, size_t nresults, pmix_event_notification_cbfunc_fn_t done,
                        void* cbdata) {
    (void)handler, (void)source, (void)results, (void)nresults;
    struct notice n = {.code = status};
    bool dated = false, non_default = false;
    for (size_t i = 0; i < ninfo; i++) {
        const pmix_value_t* value = &info[i].value;
        if (PMIX_CHECK_KEY(&info[i], PMIX_EVENT_AFFECTED_PROC)) n.about = *value->data.proc;
        if (PMIX_CHECK_KEY(&info[i], PMIX_PROCID)) n.failed = *value->data.proc, n.has_failed = true;
        if (PMIX_CHECK_KEY(&info[i], PMIX_EXIT_CODE)) n.exit_code = value->data.integer, n.has_code = true;
        if (PMIX_CHECK_KEY(&info[i], PMIX_JOB_TERM_STATUS)) n.term_status = value->data.status;
        if (PMIX_CHECK_KEY(&info[i], PMIX_PROC_TERM_STATUS)) n.term_status = value->data.status;
        dated = dated || (PMIX_CHECK_KEY(&info[i], PMIX_EVENT_TIMESTAMP) && value->type == PMIX_TIME);
        non_default = non_default || (PMIX_CHECK_KEY(&info[i], PMIX_EVENT_NON_DEFAULT) && PMIX_INFO_TRUE(&info[i]));
    }
    CHECK(dated && non_default);
    pthread_mutex_lock(&notices_lock);
    CHECK(nnotices < 64);
    notices[nnotices++] = n;
    pthread_cond_broadcast(&notices_changed);
    pthread_mutex_unlock(&notices_lock);
    done(PMIX_EVENT_ACTION_COMPLETE, NULL, 0, NULL, NULL, cbdata);
}

static inline void listen_for_ends(void) {
    pmix_status_t codes[] = {PMIX_EVENT_JOB_START, PMIX_LAUNCH_COMPLETE, PMIX_EVENT_JOB_END,
                             PMIX_EVENT_PROC_TERMINATED};
    nnotices = 0;
    CHECK(PMIx_Register_event_handler(codes, 4, NULL, 0, note, NULL, NULL) >= 0);
}

static inline struct timespec from_now(double seconds) {
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += (time_t)seconds;
    return until;
}

/* The first event of that code about that job. */
static inline struct notice await_notice(pmix_status_t code, const char* nspace) {
    struct timespec limit = from_now(LONG);
    pthread_mutex_lock(&notices_lock);
    for (unsigned i = 0;; i++) {
        while (i == nnotices) CHECK(pthread_cond_timedwait(&notices_changed, &notices_lock, &limit) == 0);
        if (notices[i].code != code || strcmp(notices[i].about.nspace, nspace) != 0) continue;
        struct notice found = notices[i];
        pthread_mutex_unlock(&notices_lock);
        return found;
    }
}

static inline unsigned count_notices(pmix_status_t code, const char* nspace) {
    unsigned count = 0;
    pthread_mutex_lock(&notices_lock);
    for (unsigned i = 0; i < nnotices; i++)
        count += notices[i].code == code && strcmp(notices[i].about.nspace, nspace) == 0;
    pthread_mutex_unlock(&notices_lock);
    return count;
}

static inline struct notice job_ends(const char* nspace, pmix_status_t how) {
    struct notice end = await_notice(PMIX_EVENT_JOB_END, nspace);
    if (end.term_status != how) fail_at(__LINE__, "how the job ended", end.term_status, how);
    CHECK(end.about.rank == PMIX_RANK_WILDCARD && end.has_failed == (how != PMIX_SUCCESS));
    return end;
}

/* Spawns and waits for that end. */
static inline struct notice runs(const char* const* words, int count, pmix_status_t how) {
    pmix_nspace_t nspace;
    option(PMIX_NOTIFY_COMPLETION, &yes, PMIX_BOOL);
    CHECK_OK(spawn(words, count, nspace));
    return job_ends(nspace, how);
}

/* --- what it reads ---------------------------------------------------------------------------------------------------
 */

struct stream {
    char* text;
    size_t size;
    unsigned ends;
};
static struct stream streams[2], *out = &streams[0], *err = &streams[1];
static pmix_nspace_t read_job; /* what still comes from an earlier one is not looked at */
static pthread_mutex_t streams_lock = PTHREAD_MUTEX_INITIALIZER; /* of all three */
static pthread_cond_t streams_changed = PTHREAD_COND_INITIALIZER;

static inline void take(size_t id, pmix_iof_channel_t channel, pmix_proc_t* source, pmix_byte_object_t* payload,
                        pmix_info_t info[], size_t ninfo) {
    (void)id, (void)info, (void)ninfo;
    struct stream* stream = channel == PMIX_FWD_STDERR_CHANNEL ? err : out;
    pthread_mutex_lock(&streams_lock);
    if (strcmp(source->nspace, read_job) == 0) {
        stream->text = realloc(stream->text, stream->size + payload->size + 1);
        CHECK(stream->text);
        if (payload->size) memcpy(stream->text + stream->size, payload->bytes, payload->size);
        stream->size += payload->size;
        stream->text[stream->size] = '\0';
        stream->ends += payload->size == 0;
        pthread_cond_broadcast(&streams_changed);
    }
    pthread_mutex_unlock(&streams_lock);
}

/* From a job that has been spawned: what it has written until now is kept. */
static inline void pull(const char* nspace) {
    pmix_proc_t source;
    PMIX_LOAD_PROCID(&source, nspace, PMIX_RANK_WILDCARD);
    pthread_mutex_lock(&streams_lock);
    for (int i = 0; i < 2; i++) free(streams[i].text);
    memset(streams, 0, sizeof streams);
    snprintf(read_job, sizeof read_job, "%s", nspace);
    pthread_mutex_unlock(&streams_lock);
    pmix_status_t status =
        PMIx_IOF_pull(&source, 1, NULL, 0, PMIX_FWD_STDOUT_CHANNEL | PMIX_FWD_STDERR_CHANNEL, take, NULL, NULL);
    CHECK(status >= 0);
}

/* Until it has that many lines. */
static inline void await_lines(struct stream* stream, unsigned wanted) {
    struct timespec limit = from_now(LONG);
    pthread_mutex_lock(&streams_lock);
    for (;;) {
        unsigned lines = 0;
        for (size_t i = 0; i < stream->size; i++) lines += stream->text[i] == '\n';
        if (lines >= wanted) break;
        CHECK(pthread_cond_timedwait(&streams_changed, &streams_lock, &limit) == 0);
    }
    pthread_mutex_unlock(&streams_lock);
}

static inline void await_ends(struct stream* stream, unsigned wanted) {
    struct timespec limit = from_now(LONG);
    pthread_mutex_lock(&streams_lock);
    while (stream->ends < wanted) CHECK(pthread_cond_timedwait(&streams_changed, &streams_lock, &limit) == 0);
    pthread_mutex_unlock(&streams_lock);
}

static inline void forget_streams(void) {
    free(out->text);
    free(err->text);
    out->text = err->text = NULL;
}

static inline pmix_status_t push(const char* nspace, pmix_rank_t rank, const char* text) {
    pmix_proc_t target;
    pmix_info_t ends;
    pmix_byte_object_t bytes = {(char*)(uintptr_t)text, text ? strlen(text) : 0};
    PMIX_LOAD_PROCID(&target, nspace, rank);
    PMIX_INFO_LOAD(&ends, PMIX_IOF_COMPLETE, &yes, PMIX_BOOL);
    pmix_status_t status = PMIx_IOF_push(&target, 1, text ? &bytes : NULL, &ends, text ? 0 : 1, NULL, NULL);
    return status == PMIX_OPERATION_SUCCEEDED ? PMIX_SUCCESS : status;
}

/* A process that writes its number as the first line of its output, and is then there. */
static inline pid_t first_number(void) {
    await_lines(out, 1);
    return (pid_t)atoi(out->text);
}

#endif

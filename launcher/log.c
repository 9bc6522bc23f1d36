/* SPDX-License-Identifier: BSD-3-Clause */
/* log.c: requests of PMIx_Log, and log entries about jobs that their spawns asked for.
 *
 * What this owns: nothing. Lines for stdout and stderr go to the head, as the processes' own output does. Entries
 * for other channels are given back to the library of this node, as requests of its own: it writes to syslog and files.
 * Which thread calls it: up_log a thread of the library; all else the loop.
 * What can go wrong: a channel that does not exist (PMIX_ERR_NOT_SUPPORTED, or PMIX_ERR_PARTIAL_SUCCESS). */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "loop.h"
#include "node.h"

struct demand { /* the caller's arrays stay until it is answered */
    pmix_proc_t client;
    const pmix_info_t* data;
    size_t ndata;
    const pmix_info_t* directives;
    size_t ndirs;
    pmix_op_cbfunc_t cbfunc;
    void* cbdata;
};

static void say_as(const struct demand* demand, const char* stream, const char* text) {
    const pmix_value_t* at = info_find(demand->directives, demand->ndirs, PMIX_LOG_TIMESTAMP);
    struct job_io io = {
        .rank_tag = info_true(demand->directives, demand->ndirs, PMIX_LOG_TAG_OUTPUT),
        .timestamp = info_true(demand->directives, demand->ndirs, PMIX_LOG_TIMESTAMP_OUTPUT) || at != NULL,
        .at = at && at->type == PMIX_TIME ? &at->data.time : NULL,
        .xml = info_true(demand->directives, demand->ndirs, PMIX_LOG_XML_OUTPUT)};
    const struct job* job = job_find(demand->client.nspace);
    struct buffer lines = {0};
    size_t length = strlen(text);
    if (length > 0 && text[length - 1] == '\n') length--;
    /* Each line has the tag: without one, it could be anybody's. An XML element contains the whole text. */
    bool by_line = job && !io.xml && jobio_marks_lines(&io);
    for (const char *next = text, *end = text + length; next; text = next) {
        const char* stop = by_line ? memchr(text, '\n', (size_t)(end - text)) : NULL;
        next = stop ? stop + 1 : NULL;
        if (job) jobio_begin_line(&io, job, demand->client.rank, stream, &lines);
        jobio_text(&io, (const uint8_t*)text, (size_t)((stop ? stop : end) - text), &lines);
        jobio_end_line(&io, stream, &lines);
    }
    iof_say(strcmp(stream, "stderr") == 0, lines.data, lines.size);
    wire_free(&lines);
}

/* For a channel of the library's own, in the name of the client, which only we know. */
static pmix_status_t give_back(const struct demand* demand, const pmix_info_t* entry) {
    pmix_info_t* directives = xcalloc(demand->ndirs + 1, sizeof *directives);
    if (demand->ndirs > 0) memcpy(directives, demand->directives, demand->ndirs * sizeof *directives);
    pmix_info_t* source = &directives[demand->ndirs];
    PMIX_INFO_LOAD(source, PMIX_LOG_SOURCE, &demand->client, PMIX_PROC);
    pmix_status_t status = PMIx_Log(entry, 1, directives, demand->ndirs + 1);
    PMIX_INFO_DESTRUCT(source);
    free(directives);
    return status;
}

/* The directives contain the time of the request already, where it is wanted. */
static pmix_status_t log_one(const struct demand* demand, const pmix_info_t* entry) {
    bool out = PMIX_CHECK_KEY(entry, PMIX_LOG_STDOUT), error = PMIX_CHECK_KEY(entry, PMIX_LOG_STDERR);
    /* The library writes a file with the rights of the requester. */
    if (PMIX_CHECK_KEY(entry, PMIX_LOG_MSG)) return PMIX_ERR_NOT_SUPPORTED;
    if (!out && !error) return give_back(demand, entry);
    if (entry->value.type != PMIX_STRING || !entry->value.data.string) return PMIX_ERR_BAD_PARAM;
    say_as(demand, error ? "stderr" : "stdout", entry->value.data.string);
    return PMIX_SUCCESS;
}

static void run_demand(void* argument) {
    struct demand* demand = argument;
    bool once = info_true(demand->directives, demand->ndirs, PMIX_LOG_ONCE);
    pmix_status_t trouble = PMIX_SUCCESS;
    size_t written = 0;
    for (size_t i = 0; i < demand->ndata && !(once && written > 0); i++) {
        pmix_status_t status = log_one(demand, &demand->data[i]);
        if (status == PMIX_SUCCESS || status == PMIX_OPERATION_SUCCEEDED)
            written++;
        else
            trouble = status;
    }
    if (once && written > 0) trouble = PMIX_SUCCESS;
    if (trouble != PMIX_SUCCESS && written > 0) trouble = PMIX_ERR_PARTIAL_SUCCESS;
    demand->cbfunc(trouble, demand->cbdata);
    free(demand);
}

void up_log(const pmix_proc_t* client, const pmix_info_t data[], size_t ndata, const pmix_info_t directives[],
            size_t ndirs, pmix_op_cbfunc_t cbfunc, void* cbdata) {
    struct demand* demand = xcalloc(1, sizeof *demand);
    *demand = (struct demand){*client, data, ndata, directives, ndirs, cbfunc, cbdata};
    loop_post(run_demand, demand);
}

/* --- what happens to jobs ----------------------------------------------------------------------------------------- */

static void describe(struct buffer* line, pmix_status_t code, const pmix_proc_t* about, const pmix_info_t* infos,
                     size_t count) {
    char text[PMIX_MAX_NSLEN + 200], subject[PMIX_MAX_NSLEN + 32];
    if (about->rank == PMIX_RANK_WILDCARD)
        snprintf(subject, sizeof subject, "%s", about->nspace);
    else
        snprintf(subject, sizeof subject, "%s rank %u", about->nspace, about->rank);
    const char* key = code == PMIX_EVENT_JOB_END ? PMIX_JOB_TERM_STATUS : PMIX_PROC_TERM_STATUS;
    const pmix_value_t* status = info_find(infos, count, key);
    snprintf(text, sizeof text, "pmixrun: %s: %s", PMIx_Error_string(code), subject);
    wire_append(line, text, strlen(text));
    if (status) {
        snprintf(text, sizeof text, ": %s", PMIx_Error_string(status->data.status));
        wire_append(line, text, strlen(text));
    }
    if (info_find(infos, count, PMIX_EXIT_CODE)) {
        snprintf(text, sizeof text, ", exit code %d", (int)info_number(infos, count, PMIX_EXIT_CODE, 0));
        wire_append(line, text, strlen(text));
    }
    wire_append(line, "", 1);
}

/* The head has no library: the first node logs for it. */
void on_log(int from, uint64_t id, struct buffer* body) {
    (void)from, (void)id;
    pmix_status_t code = (pmix_status_t)wire_get_u32(body);
    pmix_proc_t about;
    wire_get_proc(body, &about);
    uint32_t how = wire_get_u32(body);
    size_t count, ndata = 0;
    pmix_info_t* infos = wire_get_infos(body, &count);
    struct buffer line = {0};
    if (!body->bad) {
        describe(&line, code, &about, infos, count);
        const char* text = (const char*)line.data;
        pmix_info_t data[3], directive;
        bool yes = true, timed = how & LOG_WITH_TIME;
        if (how & LOG_ON_STDOUT) PMIX_INFO_LOAD(&data[ndata++], PMIX_LOG_STDOUT, text, PMIX_STRING);
        if (how & LOG_ON_STDERR) PMIX_INFO_LOAD(&data[ndata++], PMIX_LOG_STDERR, text, PMIX_STRING);
        if (how & LOG_ON_SYSLOG) PMIX_INFO_LOAD(&data[ndata++], PMIX_LOG_SYSLOG, text, PMIX_STRING);
        PMIX_INFO_LOAD(&directive, PMIX_LOG_TIMESTAMP_OUTPUT, &yes, PMIX_BOOL);
        struct demand demand = {
            .client = about, .data = data, .ndata = ndata, .directives = &directive, .ndirs = timed};
        for (size_t i = 0; i < ndata; i++) {
            log_one(&demand, &data[i]);
            PMIX_INFO_DESTRUCT(&data[i]);
        }
        PMIX_INFO_DESTRUCT(&directive);
    }
    infos_free(infos, count);
    wire_free(&line);
}

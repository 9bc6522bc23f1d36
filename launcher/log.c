/* SPDX-License-Identifier: BSD-3-Clause */
/* log.c: requests of PMIx_Log, and log entries about jobs that their spawns asked for.
 *
 * What this owns: the requests in progress, each an entry at a time. Lines for stdout and stderr go to the head, as the
 * processes' own output does, and like that wait where the head cannot write: a process that logs without a pause is
 * held back by its answers. Entries for other channels are given back to the library of this node, as requests of its
 * own: it writes to syslog and files, and calls back.
 * Which thread calls it: up_log and entry_given_back threads of the library; all else the loop.
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
    bool once;               /* the first channel that takes it is enough */
    size_t next;             /* entry */
    size_t written;          /* entries */
    bool at_head;            /* it has sent something there */
    pmix_status_t trouble;   /* of the last one that failed */
    pmix_info_t* given_back; /* what the library has until it calls back: the directives and a source */
    pmix_status_t status;    /* with which it does */
};

static void write_entries(void* argument);

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

static void entry_done(struct demand* demand, pmix_status_t status) {
    demand->next++;
    if (status == PMIX_SUCCESS || status == PMIX_OPERATION_SUCCEEDED)
        demand->written++;
    else
        demand->trouble = status;
}

static void go_on(void* argument) {
    struct demand* demand = argument;
    PMIX_INFO_DESTRUCT(&demand->given_back[demand->ndirs]);
    free(demand->given_back);
    demand->given_back = NULL;
    entry_done(demand, demand->status);
    write_entries(demand);
}

static void entry_given_back(pmix_status_t status, void* cbdata) {
    struct demand* demand = cbdata;
    demand->status = status;
    loop_post(go_on, demand);
}

/* For a channel of the library's own, in the name of the client, which only we know. */
static void give_back(struct demand* demand, const pmix_info_t* entry) {
    demand->given_back = xcalloc(demand->ndirs + 1, sizeof *demand->given_back);
    if (demand->ndirs > 0) memcpy(demand->given_back, demand->directives, demand->ndirs * sizeof *demand->given_back);
    PMIX_INFO_LOAD(&demand->given_back[demand->ndirs], PMIX_LOG_SOURCE, &demand->client, PMIX_PROC);
    pmix_status_t status = PMIx_Log_nb(entry, 1, demand->given_back, demand->ndirs + 1, entry_given_back, demand);
    if (status != PMIX_SUCCESS) entry_given_back(status, demand); /* which no callback follows */
}

/* False: the library has it, and calls back. The directives contain the time of the request already, where it is
 * wanted. */
static bool log_one(struct demand* demand) {
    const pmix_info_t* entry = &demand->data[demand->next];
    bool out = PMIX_CHECK_KEY(entry, PMIX_LOG_STDOUT), error = PMIX_CHECK_KEY(entry, PMIX_LOG_STDERR);
    /* The library writes a file with the rights of the requester. */
    bool of_file = PMIX_CHECK_KEY(entry, PMIX_LOG_MSG);
    if (!out && !error && !of_file) {
        give_back(demand, entry);
        return false;
    }
    pmix_status_t status = of_file ? PMIX_ERR_NOT_SUPPORTED : PMIX_SUCCESS;
    if (status == PMIX_SUCCESS && (entry->value.type != PMIX_STRING || !entry->value.data.string))
        status = PMIX_ERR_BAD_PARAM;
    if (status == PMIX_SUCCESS) demand->at_head = true;
    if (status == PMIX_SUCCESS) say_as(demand, error ? "stderr" : "stdout", entry->value.data.string);
    entry_done(demand, status);
    return true;
}

static void answer(void* argument) {
    struct demand* demand = argument;
    pmix_status_t trouble = demand->trouble;
    if (demand->once && demand->written > 0) trouble = PMIX_SUCCESS;
    if (trouble != PMIX_SUCCESS && demand->written > 0) trouble = PMIX_ERR_PARTIAL_SUCCESS;
    demand->cbfunc(trouble, demand->cbdata);
    free(demand);
}

static void write_entries(void* argument) {
    struct demand* demand = argument;
    while (demand->next < demand->ndata && !(demand->once && demand->written > 0)) {
        if (!log_one(demand)) return;
    }
    if (demand->at_head)
        iof_when_space(answer, demand);
    else
        answer(demand);
}

static struct demand* demand_new(const struct demand* what) {
    struct demand* demand = memcpy(xcalloc(1, sizeof *demand), what, sizeof *demand);
    demand->once = info_true(demand->directives, demand->ndirs, PMIX_LOG_ONCE);
    return demand;
}

void up_log(const pmix_proc_t* client, const pmix_info_t data[], size_t ndata, const pmix_info_t directives[],
            size_t ndirs, pmix_op_cbfunc_t cbfunc, void* cbdata) {
    const struct demand what = {.client = *client,
                                .data = data,
                                .ndata = ndata,
                                .directives = directives,
                                .ndirs = ndirs,
                                .cbfunc = cbfunc,
                                .cbdata = cbdata};
    loop_post(write_entries, demand_new(&what));
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

struct entry_of_head {
    pmix_info_t data[3], directive;
    size_t ndata;
};

static void entry_written(pmix_status_t status, void* cbdata) {
    (void)status; /* nobody waits for it */
    struct entry_of_head* entry = cbdata;
    for (size_t i = 0; i < entry->ndata; i++) PMIX_INFO_DESTRUCT(&entry->data[i]);
    PMIX_INFO_DESTRUCT(&entry->directive);
    free(entry);
}

/* The head has no library: the first node logs for it. */
void on_log(int from, uint64_t id, struct buffer* body) {
    (void)from, (void)id;
    pmix_status_t code = (pmix_status_t)wire_get_u32(body);
    pmix_proc_t about;
    wire_get_proc(body, &about);
    uint32_t how = wire_get_u32(body);
    size_t count;
    pmix_info_t* infos = wire_get_infos(body, &count);
    struct buffer line = {0};
    if (!body->bad) {
        describe(&line, code, &about, infos, count);
        const char* text = (const char*)line.data;
        struct entry_of_head* entry = xcalloc(1, sizeof *entry);
        bool yes = true, timed = how & LOG_WITH_TIME;
        if (how & LOG_ON_STDOUT) PMIX_INFO_LOAD(&entry->data[entry->ndata++], PMIX_LOG_STDOUT, text, PMIX_STRING);
        if (how & LOG_ON_STDERR) PMIX_INFO_LOAD(&entry->data[entry->ndata++], PMIX_LOG_STDERR, text, PMIX_STRING);
        if (how & LOG_ON_SYSLOG) PMIX_INFO_LOAD(&entry->data[entry->ndata++], PMIX_LOG_SYSLOG, text, PMIX_STRING);
        PMIX_INFO_LOAD(&entry->directive, PMIX_LOG_TIMESTAMP_OUTPUT, &yes, PMIX_BOOL);
        const struct demand what = {.client = about,
                                    .data = entry->data,
                                    .ndata = entry->ndata,
                                    .directives = &entry->directive,
                                    .ndirs = timed,
                                    .cbfunc = entry_written,
                                    .cbdata = entry};
        write_entries(demand_new(&what)); /* while its job is there, whose end may be the next frame */
    }
    infos_free(infos, count);
    wire_free(&line);
}

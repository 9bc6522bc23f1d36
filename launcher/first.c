/* SPDX-License-Identifier: BSD-3-Clause */
/* A failure is repeated as a call with that local status: at the new first node it fails the operation for those that
 * call late, as it did at the old one. */
#include "first.h"

#include <stdlib.h>
#include <string.h>

#include "job.h"

enum { MAX_KEPT = 1024 };

struct request {
    struct errand errand;
    pmix_proc_t about;
    reply_handler done;
    void* argument;
};

struct failure {
    struct failure* next; /* a later one */
    struct errand errand;
    pmix_nspace_t nspace;
};

struct departure {
    struct departure* next; /* a later one */
    char* name;
    pmix_proc_t proc;
};

static struct failure* failures;
static struct departure* departures;
static int failures_kept, departures_kept;
static int told; /* the first node, as far as it has what is kept here */

int first_node(void) {
    int first = 0;
    while (first < mesh_nodes() - 1 && !mesh_alive(first)) first++;
    return first;
}

static void drop_failure(struct failure** at) {
    struct failure* failure = *at;
    *at = failure->next;
    wire_free(&failure->errand.body);
    free(failure);
    failures_kept--;
}

static void drop_departure(struct departure** at) {
    struct departure* departure = *at;
    *at = departure->next;
    free(departure->name);
    free(departure);
    departures_kept--;
}

static void keep_failure(const struct errand* errand, const pmix_proc_t* about, pmix_status_t status) {
    struct failure *failure = xcalloc(1, sizeof *failure), **at = &failures;
    const uint32_t number = (uint32_t)status;
    failure->errand = *errand;
    memset(&failure->errand.body, 0, sizeof failure->errand.body);
    wire_append(&failure->errand.body, errand->body.data, errand->blob_at);
    wire_put_bytes(&failure->errand.body, NULL, 0);
    memcpy(failure->errand.body.data + errand->status_at, &number, sizeof number);
    PMIX_LOAD_NSPACE(failure->nspace, about->nspace);
    while (*at) at = &(*at)->next;
    *at = failure;
    if (++failures_kept > MAX_KEPT) drop_failure(&failures);
}

static void send_departure(const struct departure* departure) {
    struct buffer body = {0};
    wire_put_string(&body, departure->name);
    wire_put_proc(&body, &departure->proc);
    mesh_send(first_node(), FRAME_GROUP_LEFT, &body);
    wire_free(&body);
}

static void ignore(pmix_status_t status, struct buffer* body, void* argument) {
    (void)status, (void)body, (void)argument;
}

/* Before any call of this node that comes later than what is kept. */
void first_check(void) {
    if (first_node() == told) return;
    told = first_node();
    for (const struct failure* failure = failures; failure; failure = failure->next)
        mesh_request(told, failure->errand.frame, &failure->errand.body, 0, ignore, NULL);
    for (const struct departure* departure = departures; departure; departure = departure->next)
        send_departure(departure);
}

static void replied(pmix_status_t status, struct buffer* body, void* argument);

static void send_request(struct request* request) {
    first_check();
    mesh_request(told, request->errand.frame, &request->errand.body, 0, replied, request);
}

static void replied(pmix_status_t status, struct buffer* body, void* argument) {
    struct request* request = argument;
    if (status == PMIX_ERR_LOST_CONNECTION) {
        send_request(request);
        return;
    }
    struct buffer view = wire_view(body->data, body->size);
    pmix_status_t outcome = status == PMIX_SUCCESS ? (pmix_status_t)wire_get_u32(&view) : status;
    if (outcome == PMIX_SUCCESS && (wire_get_u32(&view) & PARTIAL)) outcome = PMIX_ERR_TIMEOUT; /* for late ones */
    const bool of_all = status == PMIX_SUCCESS && !view.bad; /* else it was refused to this node alone */
    if (of_all && outcome != PMIX_SUCCESS) keep_failure(&request->errand, &request->about, outcome);
    request->done(status, body, request->argument);
    wire_free(&request->errand.body);
    free(request);
}

void first_request(struct errand* errand, const pmix_proc_t* about, reply_handler done, void* argument) {
    struct request* request = xcalloc(1, sizeof *request);
    request->errand = *errand;
    request->about = *about;
    request->done = done;
    request->argument = argument;
    send_request(request);
}

void first_departed(const char* name, const pmix_proc_t* proc) {
    struct departure *departure = xcalloc(1, sizeof *departure), **at = &departures;
    first_check();
    departure->name = xstrdup(name);
    departure->proc = *proc;
    while (*at) at = &(*at)->next;
    *at = departure;
    send_departure(departure);
    if (++departures_kept > MAX_KEPT) drop_departure(&departures);
}

void first_is_member(const char* name, const pmix_proc_t* procs, size_t nprocs) {
    for (struct departure** at = &departures; *at;) {
        const bool of_name = !name || strcmp((*at)->name, name) == 0;
        if (of_name && procs_match(procs, nprocs, (*at)->proc.nspace, (*at)->proc.rank))
            drop_departure(at);
        else
            at = &(*at)->next;
    }
}

void first_job_ended(const char* nspace) {
    pmix_proc_t all;
    PMIX_LOAD_PROCID(&all, nspace, PMIX_RANK_WILDCARD);
    first_is_member(NULL, &all, 1);
    for (struct failure** at = &failures; *at;) {
        if (strncmp((*at)->nspace, nspace, PMIX_MAX_NSLEN) == 0)
            drop_failure(at);
        else
            at = &(*at)->next;
    }
}

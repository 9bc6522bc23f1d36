/* SPDX-License-Identifier: BSD-3-Clause */
/* events.c: events between the nodes.
 *
 * What this owns: nothing. An event that a process of this node raised is sent to the nodes in its range; one from
 * another node is handed to our library, which gives it to the local clients that asked for it and never hands it
 * back up, so that no event circulates.
 * Which thread calls it: up_* a thread of the library; all else the loop.
 * What can go wrong: an info of a type without an encoding (PMIX_ERR_NOT_SUPPORTED). Delivery itself is not confirmed.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "debug.h"
#include "loop.h"
#include "node.h"

struct event { /* on its way to the loop, or borrowed by the library */
    pmix_status_t code;
    pmix_proc_t source;
    pmix_data_range_t range;
    pmix_info_t* info;
    size_t ninfo;
    struct buffer body;
    struct buffer ready; /* for the head; empty: the event is none for it */
    pmix_proc_t* custom;
    size_t ncustom;
};

/* Every event reaches every node in its range, so it does not matter which codes are wanted where. */
pmix_status_t up_register_events(pmix_status_t* codes, size_t ncodes, const pmix_info_t info[], size_t ninfo,
                                 pmix_op_cbfunc_t cbfunc, void* cbdata) {
    (void)codes, (void)ncodes, (void)info, (void)ninfo, (void)cbfunc, (void)cbdata;
    return PMIX_OPERATION_SUCCEEDED;
}

pmix_status_t up_deregister_events(pmix_status_t* codes, size_t ncodes, pmix_op_cbfunc_t cbfunc, void* cbdata) {
    (void)codes, (void)ncodes, (void)cbfunc, (void)cbdata;
    return PMIX_OPERATION_SUCCEEDED;
}

static bool node_in_range(const struct event* event, int number) {
    const struct job* job;
    switch (event->range) {
        case PMIX_RANGE_RM:
        case PMIX_RANGE_LOCAL:
        case PMIX_RANGE_PROC_LOCAL:
            return false;
        case PMIX_RANGE_NAMESPACE:
            job = job_find(event->source.nspace);
            return job && job_size_on(job, (uint32_t)number);
        case PMIX_RANGE_CUSTOM:
            break;
        default:
            return true;
    }
    for (size_t i = 0; i < event->ncustom; i++) {
        const pmix_proc_t* target = &event->custom[i];
        job = job_find(target->nspace);
        if (!job) return true; /* a tool, on whichever node */
        if (target->rank >= job->size ? job_size_on(job, (uint32_t)number) > 0
                                      : job_node_of(job, target->rank) == (uint32_t)number) {
            return true;
        }
    }
    return false;
}

static void send_event(void* argument) {
    struct event* event = argument;
    /* A process of this node raised it, if perhaps in the name of another: events from other nodes are not handed up.
     */
    for (int i = 0; i < mesh_nodes(); i++) {
        if (i != mesh_self() && node_in_range(event, i)) mesh_send(i, FRAME_EVENT, &event->body);
    }
    if (event->ready.size > 0) mesh_send(mesh_head(), FRAME_READY_FOR_DEBUG, &event->ready);
    wire_free(&event->ready);
    wire_free(&event->body);
    free(event->custom);
    free(event);
}

/* As the generator gave them: the ids that the library of this node adds are for its host. */
static bool put_event_infos(struct buffer* body, const pmix_info_t* info, size_t ninfo) {
    pmix_info_t* kept = xcalloc(ninfo, sizeof *kept);
    size_t count = 0;
    for (size_t i = 0; i < ninfo; i++) {
        if (PMIX_CHECK_KEY(&info[i], PMIX_USERID) || PMIX_CHECK_KEY(&info[i], PMIX_GRPID)) continue;
        kept[count++] = info[i];
    }
    bool good = wire_put_infos(body, kept, count);
    free(kept);
    return good;
}

pmix_status_t up_notify_event(pmix_status_t code, const pmix_proc_t* source, pmix_data_range_t range,
                              pmix_info_t info[], size_t ninfo, pmix_op_cbfunc_t cbfunc, void* cbdata) {
    (void)cbfunc, (void)cbdata;
    struct event* event = xcalloc(1, sizeof *event);
    event->source = *source;
    event->range = range;
    wire_put_u32(&event->body, (uint32_t)code);
    wire_put_proc(&event->body, source);
    wire_put_u8(&event->body, range);
    if (!put_event_infos(&event->body, info, ninfo)) {
        wire_free(&event->body);
        free(event);
        return PMIX_ERR_NOT_SUPPORTED;
    }
    const pmix_value_t* custom = info_find(info, ninfo, PMIX_EVENT_CUSTOM_RANGE);
    if (custom && custom->type == PMIX_PROC) {
        event->ncustom = 1;
        event->custom = xcalloc(1, sizeof *event->custom);
        *event->custom = *custom->data.proc;
    } else if (custom && custom->type == PMIX_DATA_ARRAY && custom->data.darray &&
               custom->data.darray->type == PMIX_PROC) {
        event->ncustom = custom->data.darray->size;
        event->custom = xcalloc(event->ncustom, sizeof *event->custom);
        memcpy(event->custom, custom->data.darray->array, event->ncustom * sizeof *event->custom);
    }
    if (event->ncustom > 0) event->range = PMIX_RANGE_CUSTOM;
    if (code == PMIX_GROUP_LEFT) group_left(info_string(info, ninfo, PMIX_GROUP_ID), source);
    if (code == PMIX_READY_FOR_DEBUG) debug_put_ready(&event->ready, source, info, ninfo);
    loop_post(send_event, event);
    return PMIX_OPERATION_SUCCEEDED; /* it is on its way; delivery is not confirmed */
}

static void delivered(pmix_status_t status, void* cbdata) {
    (void)status;
    struct event* event = cbdata;
    infos_free(event->info, event->ninfo);
    free(event);
}

static void deliver(struct event* event) {
    pmix_status_t status =
        PMIx_Notify_event(event->code, &event->source, event->range, event->info, event->ninfo, delivered, event);
    if (status == PMIX_SUCCESS) return;
    if (status != PMIX_OPERATION_SUCCEEDED) daemon_say("event %d: %s", event->code, PMIx_Error_string(status));
    delivered(status, event);
}

void on_event(int from, uint64_t id, struct buffer* body) {
    (void)from;
    (void)id;
    struct event* event = xcalloc(1, sizeof *event);
    event->code = (pmix_status_t)wire_get_u32(body);
    wire_get_proc(body, &event->source);
    event->range = wire_get_u8(body);
    event->info = wire_get_infos(body, &event->ninfo);
    if (body->bad)
        delivered(PMIX_ERROR, event);
    else
        deliver(event);
}

void events_tell(pmix_status_t code, const pmix_proc_t* about, const struct buffer* to, bool all_nodes) {
    pmix_info_t info[2];
    struct buffer body = {0};
    pmix_data_array_t array = {.type = PMIX_PROC, .size = to->size / sizeof *about, .array = to->data};
    if (array.size == 0) return;
    PMIX_INFO_LOAD(&info[0], PMIX_EVENT_AFFECTED_PROC, about, PMIX_PROC);
    PMIX_INFO_LOAD(&info[1], PMIX_EVENT_CUSTOM_RANGE, &array, PMIX_DATA_ARRAY);
    wire_put_u32(&body, (uint32_t)code);
    wire_put_proc(&body, about);
    wire_put_u8(&body, PMIX_RANGE_CUSTOM);
    if (wire_put_infos(&body, info, 2)) {
        for (int i = 0; i < mesh_nodes(); i++) {
            if (all_nodes && i != mesh_self()) mesh_send(i, FRAME_EVENT, &body);
        }
        on_event(mesh_self(), 0, &body);
    }
    wire_free(&body);
    PMIX_INFO_DESTRUCT(&info[0]);
    PMIX_INFO_DESTRUCT(&info[1]);
}

void events_node_lost(uint32_t number) {
    char hostname[sizeof node.hostname];
    pmix_proc_t self;
    pmix_info_t info[2];
    bool yes = true;
    struct buffer body = {0};
    snprintf(hostname, sizeof hostname, "node%u", number + 1);
    PMIX_LOAD_PROCID(&self, node.server_nspace, (pmix_rank_t)mesh_self());
    PMIX_INFO_LOAD(&info[0], PMIX_HOSTNAME, hostname, PMIX_STRING);
    PMIX_INFO_LOAD(&info[1], PMIX_EVENT_DO_NOT_CACHE, &yes, PMIX_BOOL);
    wire_put_u32(&body, (uint32_t)PMIX_EVENT_NODE_DOWN);
    wire_put_proc(&body, &self);
    wire_put_u8(&body, PMIX_RANGE_RM);
    if (wire_put_infos(&body, info, 2)) on_event(mesh_self(), 0, &body);
    wire_free(&body);
    PMIX_INFO_DESTRUCT(&info[0]);
    PMIX_INFO_DESTRUCT(&info[1]);
}

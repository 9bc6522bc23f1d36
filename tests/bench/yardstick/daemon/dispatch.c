/* SPDX-License-Identifier: BSD-3-Clause */
#include "dispatch.h"

#include "control.h"
#include "daemon.h"
#include "operations.h"

void on_frame(int from, const frame_t* f, uint8_t* sigp, uint8_t* data) {
    buf_t sig = {.p = sigp, .n = f->siglen}, b = {.p = data, .n = f->len};

    switch (f->type) {
        case M_FENCE:
            fence_remote(from, &sig, f->id, data, f->len);
            break;
        case M_DMREQ:
            dm_serve(from, f->id, f->rank);
            break;
        case M_DMREP:
            dm_complete(f->id, f->status, data, f->len);
            break;
        case M_EVENT:
            event_raise(&b);
            break;
        case M_PUB:
        case M_LOOKUP:
        case M_UNPUB:
            ds_handle(from, f->id, (int)f->type, &b);
            break;
        case M_STATUS:
            ds_complete(f->id, false, f->status, NULL);
            break;
        case M_PDATA:
            ds_complete(f->id, true, f->status, &b);
            break;
        default:
            fatal("node %d: unknown frame %u", me, f->type);
    }
}
void on_item(item_t* it) {
    switch (it->type) {
        case Q_FENCE:
            fence_local(it);
            break;
        case Q_DMREQ:
            dm_request(it);
            break;
        case Q_DMRSP:
            dm_answer(it);
            break;
        case Q_EVENT:
            event_forward(it);
            break;
        case Q_PUB:
        case Q_LOOKUP:
        case Q_UNPUB:
            ds_request(it);
            break;
        case Q_QUERY:
            query_answer(it);
            break;
    }
    b_free(&it->b);
    b_free(&it->sig);
    free(it);
}

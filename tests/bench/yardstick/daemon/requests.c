/* SPDX-License-Identifier: BSD-3-Clause */
#include "control.h"
#include "daemon.h"
#include "operations.h"

static req_t* reqs;
static uint64_t next_id = 1;
uint64_t req_add(void (*fn)(void), void* cbd) {
    req_t* r = xcalloc(1, sizeof *r);
    r->id = next_id++;
    r->fn = fn;
    r->cbdata = cbd;
    r->next = reqs;
    reqs = r;
    return r->id;
}
bool req_take(uint64_t id, req_t* out) {
    for (req_t** pp = &reqs; *pp; pp = &(*pp)->next)
        if ((*pp)->id == id) {
            req_t* r = *pp;
            *out = *r;
            *pp = r->next;
            free(r);
            return true;
        }
    return false;
}

// SPDX-License-Identifier: BSD-3-Clause
/* facts.h: data about processes and servers that only one node has, requested from all nodes that it concerns.
 *
 * What this owns: nothing that callers see. Which thread calls it: the loop.
 * What can go wrong: a node that is lost or has no such data makes the whole answer missing; there are no partial ones.
 */
#ifndef PMIXRUN_FACTS_H
#define PMIXRUN_FACTS_H

#include "wire.h"

struct fact { /* the caller's; used until fact_ask returns */
    const char* key;
    const char* nspace;
    pmix_rank_t rank;     /* PMIX_RANK_WILDCARD: all of them */
    const char* hostname; /* NULL: no node is named */
};

/* The answer becomes the callee's; NULL: there is none. */
typedef void (*fact_done)(pmix_value_t* value, void* argument);

/* Is it a key of which each node has a part? */
bool fact_is_one(const char* key);
/* Calls `done` once, perhaps before it returns. */
void fact_ask(const struct fact* fact, fact_done done, void* argument);
void on_fact(int from, uint64_t id, struct buffer* body);

#endif

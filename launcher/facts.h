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
    pmix_rank_t rank; /* PMIX_RANK_WILDCARD: all of them */
    int node;         /* NODE_ANY: none is named; NODE_UNKNOWN: there is none of that name or number */
};

enum { NODE_ANY = -1, NODE_UNKNOWN = -2 };
/* The node that infos name, by PMIX_HOSTNAME or else by PMIX_NODEID. */
int node_meant(const pmix_info_t* info, size_t ninfo);

/* The answer becomes the callee's; NULL: there is none. */
typedef void (*fact_done)(pmix_value_t* value, void* argument);

/* Is it a key of which each node has a part? */
bool fact_is_one(const char* key);
/* Calls `done` once, perhaps before it returns. */
void fact_ask(const struct fact* fact, fact_done done, void* argument);
void on_fact(int from, uint64_t id, struct buffer* body);

#endif

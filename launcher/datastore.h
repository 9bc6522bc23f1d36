// SPDX-License-Identifier: BSD-3-Clause
/* datastore.h: what processes have published: the rules of ranges, persistence and permission, without any network.
 *
 * What this owns: the published values, in memory, on one node (node 0) for the whole session.
 * Which thread calls it: the loop.
 * What can go wrong: a key that is taken (PMIX_ERR_DUPLICATE_KEY), nothing found (PMIX_ERR_NOT_FOUND), found only in
 * part (PMIX_ERR_PARTIAL_SUCCESS), found but not for this user (PMIX_ERR_NO_PERMISSIONS). */
#ifndef PMIXRUN_DATASTORE_H
#define PMIXRUN_DATASTORE_H

#include "wire.h"

struct party { /* the process that publishes or asks, and its place */
    pmix_proc_t proc;
    uint32_t node;
    uint32_t app;
    uint32_t uid, gid;
};

struct scope {
    pmix_data_range_t range;
    pmix_proc_t* custom; /* of PMIX_RANGE_CUSTOM */
    size_t ncustom;
};

struct publication {
    struct scope scope; /* its processes are taken over */
    pmix_persistence_t persistence;
    uint32_t *uids, *gids; /* others who may read; taken over */
    size_t nuids, ngids;
};

/* Takes over what the publication points at, not the infos: the values are kept in the datastore's own encoding.
 * All or nothing: a key that is taken leaves the store as it was. */
pmix_status_t datastore_publish(const struct party* who, struct publication* how, const pmix_info_t* data,
                                size_t count);

/* Finds what `who` may see of the keys, published by processes within `scope` of it. Found entries are written as
 * publisher, key, value; their number is in *found. With `take`, what is to be deleted by its first read is. */
pmix_status_t datastore_lookup(const struct party* who, const struct scope* scope, char* const* keys, bool take,
                               struct buffer* results, uint32_t* found);

/* Removes what `who` itself published in that range (PMIX_RANGE_UNDEF: any); keys NULL: all of it. */
void datastore_unpublish(const struct party* who, pmix_data_range_t range, char* const* keys);

void datastore_proc_ended(const pmix_proc_t* proc);
void datastore_app_ended(const char* nspace, uint32_t app);
void datastore_nspace_ended(const char* nspace);
/* For a tool, which is its own application and namespace, connected to this node no more. */
void datastore_tool_left(const pmix_proc_t* proc, uint32_t node);

#endif

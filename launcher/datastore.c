/* SPDX-License-Identifier: BSD-3-Clause */
/* A table by key. Entries of one key, of several ranges or publishers, are in its chain, the newest first. */
#include "datastore.h"

#include <stdlib.h>
#include <string.h>

#include "job.h"

#ifndef PMIX_PERSIST_NSPACE /* headers older than OpenPMIx 7.0 have no name for it */
#define PMIX_PERSIST_NSPACE 5
#endif

struct entry {
    struct entry* next;
    struct party publisher;
    struct publication how; /* its lists belong to this entry */
    char* key;
    struct buffer value;
};

static struct entry** buckets;
static size_t nbuckets; /* a power of two, or 0 before the first entry */
static size_t nentries;

static size_t place_of(const char* key) {
    uint64_t hash = 14695981039346656037u; /* FNV-1a */
    for (; *key; key++) hash = (hash ^ (unsigned char)*key) * 1099511628211u;
    return (hash ^ hash >> 32) & (nbuckets - 1);
}

/* The chain of a key; others' entries may be in it too. NULL: there is none yet. */
static struct entry** chain_of(const char* key) {
    return nbuckets ? &buckets[place_of(key)] : NULL;
}

static struct entry* reversed(struct entry* chain) {
    struct entry* out = NULL;
    while (chain) {
        struct entry* next = chain->next;
        chain->next = out;
        out = chain;
        chain = next;
    }
    return out;
}

static void grow(void) {
    struct entry** old = buckets;
    const size_t nold = nbuckets;
    nbuckets = nold ? 2 * nold : 64;
    buckets = xcalloc(nbuckets, sizeof *buckets);
    for (size_t i = 0; i < nold; i++) {
        /* The oldest first, so that the newest is in front again. */
        for (struct entry *entry = reversed(old[i]), *next; entry; entry = next) {
            struct entry** to = chain_of(entry->key);
            next = entry->next;
            entry->next = *to;
            *to = entry;
        }
    }
    free(old);
}

static bool same_proc(const pmix_proc_t* a, const pmix_proc_t* b) {
    return a->rank == b->rank && strncmp(a->nspace, b->nspace, PMIX_MAX_NSLEN) == 0;
}

static void remove_entry(struct entry** at) {
    struct entry* entry = *at;
    *at = entry->next;
    free(entry->how.scope.custom);
    free(entry->how.uids);
    free(entry->how.gids);
    free(entry->key);
    wire_free(&entry->value);
    free(entry);
    nentries--;
}

/* Removes every entry of which goes(entry, about) is true. */
static void remove_all(bool (*goes)(const struct entry* entry, const void* about), const void* about) {
    for (size_t i = 0; i < nbuckets; i++) {
        for (struct entry** at = &buckets[i]; *at;) {
            if (goes(*at, about))
                remove_entry(at);
            else
                at = &(*at)->next;
        }
    }
}

static void* copy_list(const void* list, size_t count, size_t size) {
    return count ? memcpy(xcalloc(count, size), list, count * size) : NULL;
}

/* Is `other` within `range` of `center`? The rule is the same for readers of data and for publishers looked for. */
static bool in_range(const struct scope* scope, const struct party* center, const struct party* other) {
    switch (scope->range) {
        case PMIX_RANGE_PROC_LOCAL:
            return same_proc(&center->proc, &other->proc);
        case PMIX_RANGE_LOCAL:
            return center->node == other->node;
        case PMIX_RANGE_NAMESPACE:
            return strncmp(center->proc.nspace, other->proc.nspace, PMIX_MAX_NSLEN) == 0;
        case PMIX_RANGE_CUSTOM:
            return procs_match(scope->custom, scope->ncustom, other->proc.nspace, other->proc.rank);
        case PMIX_RANGE_RM:
            return false; /* for the resource manager: no process sees it */
        default:
            return true; /* session and global: pmixrun has one session */
    }
}

static bool listed(const uint32_t* list, size_t count, uint32_t id) {
    for (size_t i = 0; i < count; i++) {
        if (list[i] == id) return true;
    }
    return false;
}

static bool permitted(const struct entry* entry, const struct party* who) {
    return who->uid == entry->publisher.uid || listed(entry->how.uids, entry->how.nuids, who->uid) ||
           listed(entry->how.gids, entry->how.ngids, who->gid);
}

/* A key is taken when it is published in the same range: the same kind, around the same process, node or namespace. */
static bool taken(const struct party* who, const struct publication* how, const char* key) {
    struct entry** const chain = chain_of(key);
    for (const struct entry* entry = chain ? *chain : NULL; entry; entry = entry->next) {
        if (entry->how.scope.range != how->scope.range || strcmp(entry->key, key) != 0) continue;
        if (how->scope.range == PMIX_RANGE_CUSTOM || how->scope.range == PMIX_RANGE_RM) return true;
        if (in_range(&how->scope, &entry->publisher, who)) return true;
    }
    return false;
}

static void add_entry(const struct party* who, const struct publication* how, const pmix_info_t* info) {
    if (nentries >= nbuckets) grow();
    struct entry** const chain = chain_of(info->key);
    struct entry* entry = xcalloc(1, sizeof *entry);
    entry->publisher = *who;
    entry->how = *how;
    entry->how.scope.custom = copy_list(how->scope.custom, how->scope.ncustom, sizeof *how->scope.custom);
    entry->how.uids = copy_list(how->uids, how->nuids, sizeof *how->uids);
    entry->how.gids = copy_list(how->gids, how->ngids, sizeof *how->gids);
    entry->key = xstrdup(info->key);
    wire_put_value(&entry->value, &info->value);
    entry->next = *chain;
    *chain = entry;
    nentries++;
}

pmix_status_t datastore_publish(const struct party* who, struct publication* how, const pmix_info_t* data,
                                size_t count) {
    pmix_status_t status = count > 0 ? PMIX_SUCCESS : PMIX_ERR_BAD_PARAM;
    size_t added = 0;
    while (added < count && status == PMIX_SUCCESS) {
        if (taken(who, how, data[added].key))
            status = PMIX_ERR_DUPLICATE_KEY; /* also where the call has it twice */
        else
            add_entry(who, how, &data[added++]);
    }
    /* What this call has added is the newest of its key. */
    while (status != PMIX_SUCCESS && added > 0) {
        struct entry** at = chain_of(data[--added].key);
        while (strcmp((*at)->key, data[added].key) != 0) at = &(*at)->next;
        remove_entry(at);
    }
    free(how->scope.custom);
    free(how->uids);
    free(how->gids);
    return status;
}

static struct entry** find(const struct party* who, const struct scope* scope, const char* key, bool* refused) {
    for (struct entry** at = chain_of(key); at && *at; at = &(*at)->next) {
        struct entry* entry = *at;
        if (strcmp(entry->key, key) != 0 || !in_range(scope, who, &entry->publisher)) continue;
        if (!in_range(&entry->how.scope, &entry->publisher, who)) continue;
        if (permitted(entry, who)) return at;
        *refused = true;
    }
    return NULL;
}

pmix_status_t datastore_lookup(const struct party* who, const struct scope* scope, char* const* keys, bool take,
                               struct buffer* results, uint32_t* found) {
    size_t wanted = strings_count(keys);
    bool refused = false;
    *found = 0;
    for (size_t i = 0; i < wanted; i++) {
        struct entry** at = find(who, scope, keys[i], &refused);
        if (!at) continue;
        wire_put_proc(results, &(*at)->publisher.proc);
        wire_put_string(results, (*at)->key);
        wire_append(results, (*at)->value.data, (*at)->value.size);
        ++*found;
        if (take && (*at)->how.persistence == PMIX_PERSIST_FIRST_READ) remove_entry(at);
    }
    if (*found == wanted) return PMIX_SUCCESS;
    if (*found > 0) return PMIX_ERR_PARTIAL_SUCCESS;
    return refused ? PMIX_ERR_NO_PERMISSIONS : PMIX_ERR_NOT_FOUND;
}

struct unpublished {
    const struct party* who;
    pmix_data_range_t range;
};

static bool is_unpublished(const struct entry* entry, const void* about) {
    const struct unpublished* what = about;
    return same_proc(&entry->publisher.proc, &what->who->proc) &&
           (what->range == PMIX_RANGE_UNDEF || what->range == entry->how.scope.range);
}

void datastore_unpublish(const struct party* who, pmix_data_range_t range, char* const* keys) {
    const struct unpublished what = {who, range};
    if (!keys) {
        remove_all(is_unpublished, &what);
        return;
    }
    for (; *keys; keys++) {
        for (struct entry** at = chain_of(*keys); at && *at;) {
            if (strcmp((*at)->key, *keys) == 0 && is_unpublished(*at, &what))
                remove_entry(at);
            else
                at = &(*at)->next;
        }
    }
}

static bool of_proc(const struct entry* entry, const void* about) {
    return entry->how.persistence == PMIX_PERSIST_PROC && same_proc(&entry->publisher.proc, about);
}

void datastore_proc_ended(const pmix_proc_t* proc) {
    remove_all(of_proc, proc);
}

struct application {
    const char* nspace;
    uint32_t app;
};

static bool is_in(const struct entry* entry, const char* nspace) {
    return strncmp(entry->publisher.proc.nspace, nspace, PMIX_MAX_NSLEN) == 0;
}

static bool of_app(const struct entry* entry, const void* about) {
    const struct application* ended = about;
    return entry->how.persistence == PMIX_PERSIST_APP && entry->publisher.app == ended->app &&
           is_in(entry, ended->nspace);
}

void datastore_app_ended(const char* nspace, uint32_t app) {
    const struct application ended = {nspace, app};
    remove_all(of_app, &ended);
}

static bool of_nspace(const struct entry* entry, const void* about) {
    return entry->how.persistence == PMIX_PERSIST_NSPACE && is_in(entry, about);
}

void datastore_nspace_ended(const char* nspace) {
    remove_all(of_nspace, nspace);
}

struct tool {
    const pmix_proc_t* proc;
    uint32_t node;
};

static bool of_tool(const struct entry* entry, const void* about) {
    const struct tool* left = about;
    const pmix_persistence_t persistence = entry->how.persistence;
    const bool ends_with_its_publisher =
        persistence == PMIX_PERSIST_PROC || persistence == PMIX_PERSIST_APP || persistence == PMIX_PERSIST_NSPACE;
    return ends_with_its_publisher && entry->publisher.node == left->node &&
           same_proc(&entry->publisher.proc, left->proc);
}

void datastore_tool_left(const pmix_proc_t* proc, uint32_t node) {
    const struct tool left = {proc, node};
    remove_all(of_tool, &left);
}

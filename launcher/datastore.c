/* SPDX-License-Identifier: BSD-3-Clause */
/* A list: a session publishes tens of names, and looks each up a few times. */
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

static struct entry* entries;

static bool same_proc(const pmix_proc_t* a, const pmix_proc_t* b) {
    return a->rank == b->rank && strncmp(a->nspace, b->nspace, PMIX_MAX_NSLEN) == 0;
}

static void remove_entry(struct entry** at) {
    struct entry* entry = *at;
    *at = entry->next;
    free(entry->how.custom);
    free(entry->how.uids);
    free(entry->how.gids);
    free(entry->key);
    wire_free(&entry->value);
    free(entry);
}

static void* copy_list(const void* list, size_t count, size_t size) {
    return count ? memcpy(xcalloc(count, size), list, count * size) : NULL;
}

/* Is `other` within `range` of `center`? The rule is the same for readers of data and for publishers looked for. */
static bool in_range(pmix_data_range_t range, const struct party* center, const struct party* other,
                     const pmix_proc_t* custom, size_t ncustom) {
    switch (range) {
        case PMIX_RANGE_PROC_LOCAL:
            return same_proc(&center->proc, &other->proc);
        case PMIX_RANGE_LOCAL:
            return center->node == other->node;
        case PMIX_RANGE_NAMESPACE:
            return strncmp(center->proc.nspace, other->proc.nspace, PMIX_MAX_NSLEN) == 0;
        case PMIX_RANGE_CUSTOM:
            return procs_match(custom, ncustom, other->proc.nspace, other->proc.rank);
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
    for (const struct entry* entry = entries; entry; entry = entry->next) {
        if (entry->how.range != how->range || strcmp(entry->key, key) != 0) continue;
        if (how->range == PMIX_RANGE_CUSTOM || how->range == PMIX_RANGE_RM) return true;
        if (in_range(how->range, &entry->publisher, who, NULL, 0)) return true;
    }
    return false;
}

static void add_entry(const struct party* who, const struct publication* how, const pmix_info_t* info) {
    struct entry* entry = xcalloc(1, sizeof *entry);
    entry->publisher = *who;
    entry->how = *how;
    entry->how.custom = copy_list(how->custom, how->ncustom, sizeof *how->custom);
    entry->how.uids = copy_list(how->uids, how->nuids, sizeof *how->uids);
    entry->how.gids = copy_list(how->gids, how->ngids, sizeof *how->gids);
    entry->key = xstrdup(info->key);
    wire_put_value(&entry->value, &info->value);
    entry->next = entries;
    entries = entry;
}

pmix_status_t datastore_publish(const struct party* who, struct publication* how, const pmix_info_t* data,
                                size_t count) {
    pmix_status_t status = PMIX_SUCCESS;
    for (size_t i = 0; i < count && status == PMIX_SUCCESS; i++) {
        if (taken(who, how, data[i].key)) status = PMIX_ERR_DUPLICATE_KEY;
        for (size_t k = 0; k < i; k++) {
            if (strcmp(data[k].key, data[i].key) == 0) status = PMIX_ERR_DUPLICATE_KEY;
        }
    }
    for (size_t i = 0; i < count && status == PMIX_SUCCESS; i++) add_entry(who, how, &data[i]);
    free(how->custom);
    free(how->uids);
    free(how->gids);
    return status;
}

static struct entry** find(const struct party* who, pmix_data_range_t range, const char* key, bool* refused) {
    for (struct entry** at = &entries; *at; at = &(*at)->next) {
        struct entry* entry = *at;
        if (!in_range(range, who, &entry->publisher, NULL, 0) || strcmp(entry->key, key) != 0) continue;
        if (!in_range(entry->how.range, &entry->publisher, who, entry->how.custom, entry->how.ncustom)) continue;
        if (permitted(entry, who)) return at;
        *refused = true;
    }
    return NULL;
}

pmix_status_t datastore_lookup(const struct party* who, pmix_data_range_t range, char* const* keys, bool take,
                               struct buffer* results, uint32_t* found) {
    size_t wanted = strings_count(keys);
    bool refused = false;
    *found = 0;
    for (size_t i = 0; i < wanted; i++) {
        struct entry** at = find(who, range, keys[i], &refused);
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

static bool key_listed(char* const* keys, const char* key) {
    if (!keys) return true;
    for (; *keys; keys++) {
        if (strcmp(*keys, key) == 0) return true;
    }
    return false;
}

void datastore_unpublish(const struct party* who, pmix_data_range_t range, char* const* keys) {
    for (struct entry** at = &entries; *at;) {
        const struct entry* entry = *at;
        if (same_proc(&entry->publisher.proc, &who->proc) && key_listed(keys, entry->key) &&
            (range == PMIX_RANGE_UNDEF || range == entry->how.range)) {
            remove_entry(at);
        } else {
            at = &(*at)->next;
        }
    }
}

void datastore_proc_ended(const pmix_proc_t* proc) {
    for (struct entry** at = &entries; *at;) {
        if ((*at)->how.persistence == PMIX_PERSIST_PROC && same_proc(&(*at)->publisher.proc, proc))
            remove_entry(at);
        else
            at = &(*at)->next;
    }
}

void datastore_app_ended(const char* nspace, uint32_t app) {
    for (struct entry** at = &entries; *at;) {
        const struct entry* entry = *at;
        if (entry->how.persistence == PMIX_PERSIST_APP && entry->publisher.app == app &&
            strncmp(entry->publisher.proc.nspace, nspace, PMIX_MAX_NSLEN) == 0) {
            remove_entry(at);
        } else {
            at = &(*at)->next;
        }
    }
}

void datastore_nspace_ended(const char* nspace) {
    for (struct entry** at = &entries; *at;) {
        const struct entry* entry = *at;
        if (entry->how.persistence == PMIX_PERSIST_NSPACE &&
            strncmp(entry->publisher.proc.nspace, nspace, PMIX_MAX_NSLEN) == 0) {
            remove_entry(at);
        } else {
            at = &(*at)->next;
        }
    }
}

static bool ends_with_its_publisher(pmix_persistence_t persistence) {
    return persistence == PMIX_PERSIST_PROC || persistence == PMIX_PERSIST_APP || persistence == PMIX_PERSIST_NSPACE;
}

void datastore_tool_left(const pmix_proc_t* proc, uint32_t node) {
    for (struct entry** at = &entries; *at;) {
        const struct entry* entry = *at;
        if (ends_with_its_publisher(entry->how.persistence) && entry->publisher.node == node &&
            same_proc(&entry->publisher.proc, proc)) {
            remove_entry(at);
        } else {
            at = &(*at)->next;
        }
    }
}

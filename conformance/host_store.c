/* SPDX-License-Identifier: BSD-3-Clause */
/* What the small host does with published data. */
#include <pthread.h>

#include "host.h"

/* A store of one list: enough for each rule that the Standard leaves to the library. */
struct stored {
    pmix_info_t info;
    pmix_proc_t owner;
    struct stored* next;
};
static struct stored* store;
static pthread_mutex_t store_mutex = PTHREAD_MUTEX_INITIALIZER;

static bool is_directive(const char* key) {
    return strncmp(key, "pmix", 4) == 0;
}

pmix_status_t host_publish(const pmix_proc_t* proc, const pmix_info_t info[], size_t ninfo, pmix_op_cbfunc_t cbfunc,
                           void* cbdata) {
    host_note("publish", proc, info, ninfo);
    if (host_answer != PMIX_SUCCESS) return host_answer_op(cbfunc, cbdata);
    pthread_mutex_lock(&store_mutex);
    for (size_t i = 0; i < ninfo; ++i) {
        if (is_directive(info[i].key)) continue;
        for (struct stored* s = store; s != NULL; s = s->next) {
            if (strcmp(s->info.key, info[i].key) == 0) {
                pthread_mutex_unlock(&store_mutex);
                return PMIX_ERR_DUPLICATE_KEY;
            }
        }
        struct stored* s = calloc(1, sizeof(*s));
        (void)PMIx_Info_xfer(&s->info, (pmix_info_t*)(uintptr_t)&info[i]);
        s->owner = *proc;
        s->next = store;
        store = s;
    }
    pthread_mutex_unlock(&store_mutex);
    return host_answer_op(cbfunc, cbdata);
}

struct found {
    pmix_lookup_cbfunc_t cbfunc;
    void* cbdata;
    pmix_status_t status;
    pmix_pdata_t* pdata;
    size_t npdata;
};

static void send_found(void* argument) {
    struct found* found = argument;
    found->cbfunc(found->status, found->pdata, found->npdata, found->cbdata);
    for (size_t i = 0; i < found->npdata; ++i) PMIX_VALUE_DESTRUCT(&found->pdata[i].value);
    free(found->pdata);
    free(found);
}

pmix_status_t host_lookup(const pmix_proc_t* proc, char** keys, const pmix_info_t info[], size_t ninfo,
                          pmix_lookup_cbfunc_t cbfunc, void* cbdata) {
    struct upcall* upcall = host_note("lookup", proc, info, ninfo);
    upcall->null_text = keys == NULL;
    size_t n = 0;
    for (; keys != NULL && keys[n] != NULL; ++n) host_add_text(upcall, keys[n]);
    struct found* found = calloc(1, sizeof(*found));
    found->cbfunc = cbfunc;
    found->cbdata = cbdata;
    found->pdata = calloc(n + 1, sizeof(pmix_pdata_t));
    pthread_mutex_lock(&store_mutex);
    /* In the reverse order of the keys: the library must not rely on the order. */
    for (size_t i = n; i > 0; --i) {
        for (struct stored* s = store; s != NULL; s = s->next) {
            if (strcmp(s->info.key, keys[i - 1]) != 0) continue;
            pmix_pdata_t* pdata = &found->pdata[found->npdata++];
            pdata->proc = s->owner;
            PMIX_LOAD_KEY(pdata->key, s->info.key);
            (void)PMIx_Value_xfer(&pdata->value, &s->info.value);
            break;
        }
    }
    pthread_mutex_unlock(&store_mutex);
    found->status = found->npdata == n  ? PMIX_SUCCESS
                    : found->npdata > 0 ? PMIX_ERR_PARTIAL_SUCCESS
                                        : PMIX_ERR_NOT_FOUND;
    if (host_answer != PMIX_SUCCESS) {
        found->status = host_answer;
        found->npdata = 0;
    }
    later(send_found, found);
    return PMIX_SUCCESS;
}

pmix_status_t host_unpublish(const pmix_proc_t* proc, char** keys, const pmix_info_t info[], size_t ninfo,
                             pmix_op_cbfunc_t cbfunc, void* cbdata) {
    struct upcall* upcall = host_note("unpublish", proc, info, ninfo);
    upcall->null_text = keys == NULL;
    for (size_t n = 0; keys != NULL && keys[n] != NULL; ++n) host_add_text(upcall, keys[n]);
    pthread_mutex_lock(&store_mutex);
    for (struct stored** p = &store; *p != NULL;) {
        bool remove = keys == NULL;
        for (size_t n = 0; keys != NULL && keys[n] != NULL; ++n)
            remove = remove || strcmp(keys[n], (*p)->info.key) == 0;
        if (remove && (*p)->owner.rank == proc->rank)
            *p = (*p)->next;
        else
            p = &(*p)->next;
    }
    pthread_mutex_unlock(&store_mutex);
    return host_answer_op(cbfunc, cbdata);
}

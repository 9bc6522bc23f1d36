/* query.c: PMIx_Query_info, for what every node knows: the jobs there are, their size, the processes of this node.
 *
 * What this owns: nothing; a query is answered from the job list.
 * Which thread calls it: up_query a thread of the library; all else the loop.
 * What can go wrong: nothing of what was asked is known (PMIX_ERR_NOT_FOUND), or only some
 * (PMIX_QUERY_PARTIAL_SUCCESS). */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "loop.h"
#include "node.h"

struct question {
    struct question* next;
    char* key;
    pmix_nspace_t nspace; /* the qualifier, else the asker's */
};

struct asking {
    struct question* questions; /* in order */
    size_t count;
    pmix_info_cbfunc_t cbfunc;
    void* cbdata;
};

struct answers { /* freed by the library when it has read them */
    pmix_info_t* list;
    size_t count;
};

static void release(void* cbdata) {
    struct answers* answers = cbdata;
    infos_free(answers->list, answers->count);
    free(answers);
}

/* --- answers -------------------------------------------------------------------------------------------------------
 */

static char* all_namespaces(void) {
    struct buffer names = {0};
    for (const struct job* job = jobs_first(); job; job = job->next) {
        if (names.size) wire_append(&names, ",", 1);
        wire_append(&names, job->nspace, strlen(job->nspace));
    }
    wire_append(&names, "", 1);
    return (char*)names.data;
}

static pmix_data_array_t* local_procs(const struct job* job) {
    uint32_t here = (uint32_t)mesh_self(), count = job_size_on(job, here);
    pmix_data_array_t* array = xcalloc(1, sizeof *array);
    pmix_proc_info_t* procs = xcalloc(count, sizeof *procs);
    array->type = PMIX_PROC_INFO;
    array->size = count;
    array->array = procs;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t rank = job_rank_at(job, here, i);
        const struct app* app = &job->apps[job_app_of(job, rank)];
        PMIX_LOAD_PROCID(&procs[i].proc, job->nspace, rank);
        procs[i].hostname = xstrdup(node.hostname);
        procs[i].executable_name = xstrdup(app->program ? app->program : app->argv[0]);
        procs[i].pid = job->procs[rank].pid;
        procs[i].state = job->procs[rank].phase == PROC_RUNNING ? PMIX_PROC_STATE_RUNNING
                         : job->procs[rank].phase == PROC_ENDED ? PMIX_PROC_STATE_TERMINATED
                                                                : PMIX_PROC_STATE_UNDEF;
    }
    return array;
}

static bool answer_one(const struct question* question, pmix_info_t* info) {
    const struct job* job = job_find(question->nspace);
    if (strcmp(question->key, PMIX_QUERY_NAMESPACES) == 0) {
        info->value.type = PMIX_STRING;
        info->value.data.string = all_namespaces();
    } else if (!job) {
        return false;
    } else if (strcmp(question->key, PMIX_JOB_SIZE) == 0) {
        PMIX_INFO_LOAD(info, PMIX_JOB_SIZE, &job->size, PMIX_UINT32);
    } else if (strcmp(question->key, PMIX_NUM_NODES) == 0) {
        PMIX_INFO_LOAD(info, PMIX_NUM_NODES, &job->nodes, PMIX_UINT32);
    } else if (strcmp(question->key, PMIX_JOB_NUM_APPS) == 0) {
        PMIX_INFO_LOAD(info, PMIX_JOB_NUM_APPS, &job->app_count, PMIX_UINT32);
    } else if (strcmp(question->key, PMIX_QUERY_LOCAL_PROC_TABLE) == 0) {
        info->value.type = PMIX_DATA_ARRAY;
        info->value.data.darray = local_procs(job);
    } else {
        return false;
    }
    PMIX_LOAD_KEY(info->key, question->key);
    return true;
}

static void run_query(void* argument) {
    struct asking* asking = argument;
    struct answers* answers = xcalloc(1, sizeof *answers);
    PMIX_INFO_CREATE(answers->list, asking->count);
    for (struct question *question = asking->questions, *next; question; question = next) {
        next = question->next;
        answers->count += answer_one(question, &answers->list[answers->count]);
        free(question->key);
        free(question);
    }
    pmix_status_t status = answers->count == asking->count ? PMIX_SUCCESS
                           : answers->count > 0            ? PMIX_ERR_PARTIAL_SUCCESS
                                                           : PMIX_ERR_NOT_FOUND;
    if (answers->count > 0) {
        asking->cbfunc(status, answers->list, answers->count, asking->cbdata, release, answers);
    } else {
        asking->cbfunc(status, NULL, 0, asking->cbdata, NULL, NULL);
        infos_free(answers->list, asking->count);
        free(answers);
    }
    free(asking);
}

/* --- the upcall ----------------------------------------------------------------------------------------------------
 */

static void nspace_of(const pmix_query_t* query, const pmix_proc_t* asker, pmix_nspace_t nspace) {
    const char* name = info_string(query->qualifiers, query->nqual, PMIX_NSPACE);
    const pmix_value_t* proc = info_find(query->qualifiers, query->nqual, PMIX_PROCID);
    if (proc && proc->type == PMIX_PROC && proc->data.proc) name = proc->data.proc->nspace;
    PMIX_LOAD_NSPACE(nspace, name ? name : asker->nspace);
}

pmix_status_t up_query(pmix_proc_t* proc, pmix_query_t* queries, size_t nqueries, pmix_info_cbfunc_t cbfunc,
                       void* cbdata) {
    struct asking* asking = xcalloc(1, sizeof *asking);
    struct question** last = &asking->questions;
    asking->cbfunc = cbfunc;
    asking->cbdata = cbdata;
    for (size_t i = 0; i < nqueries; i++) {
        for (char** key = queries[i].keys; key && *key; key++) {
            *last = xcalloc(1, sizeof **last);
            (*last)->key = xstrdup(*key);
            nspace_of(&queries[i], proc, (*last)->nspace);
            last = &(*last)->next;
            asking->count++;
        }
    }
    loop_post(run_query, asking);
    return PMIX_SUCCESS;
}

void query_register(void) {
    char* attributes[] = {"PMIX_QUERY_NAMESPACES", "PMIX_JOB_SIZE", "PMIX_NUM_NODES", "PMIX_JOB_NUM_APPS",
                          "PMIX_QUERY_LOCAL_PROC_TABLE", "PMIX_NSPACE", "PMIX_PROCID", NULL};
    PMIx_Register_attributes("query", attributes);
}

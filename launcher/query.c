/* SPDX-License-Identifier: BSD-3-Clause */
/* query.c: PMIx_Query_info, for keys that the library's server does not answer by itself: all jobs, their sizes, and
 * processes of several nodes.
 *
 * What this owns: the queries that wait for data of other nodes (facts.h).
 * Which thread calls it: up_query a thread of the library; all else the loop.
 * What can go wrong: no key has an answer (PMIX_ERR_NOT_FOUND), or only some have
 * (PMIX_ERR_PARTIAL_SUCCESS). */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "facts.h"
#include "loop.h"
#include "node.h"

struct question {
    struct asking* asking;
    char* key;
    pmix_nspace_t nspace; /* the qualifier, else the requester's */
    pmix_rank_t rank;     /* the qualifier, else PMIX_RANK_WILDCARD */
    int node;             /* that the qualifiers name, else NODE_ANY */
    bool unknown;         /* it has a qualifier that is not supported */
    bool answered;
    pmix_value_t value;
};

struct asking {
    struct question* questions; /* in order */
    size_t count;
    size_t open; /* that other nodes have not answered yet, and one for run_query itself */
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

/* --- answers ------------------------------------------------------------------------------------------------------ */

static char* all_namespaces(void) {
    struct buffer names = {0};
    for (const struct job* job = jobs_first(); job; job = job->next) {
        if (names.size) wire_append(&names, ",", 1);
        wire_append(&names, job->nspace, strlen(job->nspace));
    }
    wire_append(&names, "", 1);
    return (char*)names.data;
}

/* Every node knows how each process has ended. The library judges a job of one node alike. */
static pmix_status_t status_of(const struct job* job) {
    for (uint32_t rank = 0; rank < job->size; rank++) {
        if (job->procs[rank].lost) return PMIX_ERR_PROC_ABORTED;
    }
    return PMIX_SUCCESS;
}

static bool answer_here(const struct question* question, pmix_value_t* value) {
    const struct job* job = job_find(question->nspace);
    value->type = PMIX_UINT32;
    if (strcmp(question->key, PMIX_QUERY_NAMESPACES) == 0) {
        value->type = PMIX_STRING;
        value->data.string = all_namespaces();
    } else if (!job) {
        return false;
    } else if (strcmp(question->key, PMIX_JOB_SIZE) == 0) {
        value->data.uint32 = job->size;
    } else if (strcmp(question->key, PMIX_NUM_NODES) == 0) {
        value->data.uint32 = job->nodes;
    } else if (strcmp(question->key, PMIX_JOB_NUM_APPS) == 0) {
        value->data.uint32 = job->app_count;
    } else if (strcmp(question->key, PMIX_QUERY_JOB_STATUS) == 0) {
        value->type = PMIX_STATUS;
        value->data.status = status_of(job);
    } else if (strcmp(question->key, PMIX_CMD_LINE) == 0) {
        value->type = PMIX_STRING;
        value->data.string = jobinfo_command_line(job);
    } else if (strcmp(question->key, PMIX_EXIT_CODE) == 0 && question->rank < job->size &&
               job->procs[question->rank].phase == PROC_ENDED) {
        const int status = job->procs[question->rank].wait_status;
        value->type = PMIX_INT;
        value->data.integer = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
    } else {
        return false;
    }
    return true;
}

static void finish_when_answered(struct asking* asking) {
    if (--asking->open > 0) return;
    struct answers* answers = xcalloc(1, sizeof *answers);
    answers->list = xcalloc(asking->count, sizeof *answers->list);
    for (size_t i = 0; i < asking->count; i++) {
        struct question* question = &asking->questions[i];
        if (question->answered) {
            pmix_info_t* info = &answers->list[answers->count++];
            PMIX_LOAD_KEY(info->key, question->key);
            info->value = question->value;
        }
        free(question->key);
    }
    pmix_status_t status = answers->count == asking->count ? PMIX_SUCCESS
                           : answers->count > 0            ? PMIX_ERR_PARTIAL_SUCCESS
                                                           : PMIX_ERR_NOT_FOUND;
    if (answers->count > 0) {
        asking->cbfunc(status, answers->list, answers->count, asking->cbdata, release, answers);
    } else {
        asking->cbfunc(status, NULL, 0, asking->cbdata, NULL, NULL);
        release(answers);
    }
    free(asking->questions);
    free(asking);
}

static void fact_answered(pmix_value_t* value, void* argument) {
    struct question* question = argument;
    question->answered = value != NULL;
    if (value) question->value = *value;
    finish_when_answered(question->asking);
}

static void run_query(void* argument) {
    struct asking* asking = argument;
    asking->open = 1;
    for (size_t i = 0; i < asking->count; i++) {
        struct question* question = &asking->questions[i];
        question->answered = answer_here(question, &question->value);
        if (question->answered || question->unknown || !fact_is_one(question->key)) continue;
        struct fact fact = {question->key, question->nspace, question->rank, question->node};
        asking->open++;
        fact_ask(&fact, fact_answered, question);
    }
    finish_when_answered(asking);
}

/* --- the upcall --------------------------------------------------------------------------------------------------- */

static void read_qualifiers(const pmix_query_t* query, const pmix_proc_t* requester, struct question* question) {
    const pmix_info_t* info = query->qualifiers;
    size_t count = query->nqual;
    const char* name = info_string(info, count, PMIX_NSPACE);
    const pmix_value_t *proc = info_find(info, count, PMIX_PROCID), *rank = info_find(info, count, PMIX_RANK);
    question->rank = PMIX_RANK_WILDCARD;
    if (rank && rank->type == PMIX_PROC_RANK)
        question->rank = rank->data.rank;
    else if (rank)
        question->rank = (pmix_rank_t)info_number(info, count, PMIX_RANK, PMIX_RANK_WILDCARD);
    if (proc && proc->type == PMIX_PROC && proc->data.proc) {
        name = proc->data.proc->nspace;
        question->rank = proc->data.proc->rank;
    }
    PMIX_LOAD_NSPACE(question->nspace, name ? name : requester->nspace);
    question->node = node_meant(info, count);
    question->unknown =
        info_true(info, count, PMIX_QUERY_REPORT_AVG) || info_true(info, count, PMIX_QUERY_REPORT_MINMAX);
}

pmix_status_t up_query(pmix_proc_t* proc, pmix_query_t* queries, size_t nqueries, pmix_info_cbfunc_t cbfunc,
                       void* cbdata) {
    struct asking* asking = xcalloc(1, sizeof *asking);
    size_t most = 0;
    for (size_t i = 0; i < nqueries; i++) most += strings_count(queries[i].keys);
    asking->questions = xcalloc(most, sizeof *asking->questions);
    asking->cbfunc = cbfunc;
    asking->cbdata = cbdata;
    for (size_t i = 0; i < nqueries; i++) {
        for (char** key = queries[i].keys; key && *key; key++) {
            struct question* question = &asking->questions[asking->count++];
            question->asking = asking;
            question->key = xstrdup(*key);
            read_qualifiers(&queries[i], proc, question);
        }
    }
    loop_post(run_query, asking);
    return PMIX_SUCCESS;
}

void query_register(void) {
    char* attributes[] = {"PMIX_QUERY_NAMESPACES",
                          "PMIX_JOB_SIZE",
                          "PMIX_NUM_NODES",
                          "PMIX_JOB_NUM_APPS",
                          "PMIX_QUERY_JOB_STATUS",
                          "PMIX_EXIT_CODE",
                          "PMIX_CMD_LINE",
                          "PMIX_QUERY_PROC_TABLE",
                          "PMIX_QUERY_LOCAL_PROC_TABLE",
                          "PMIX_QUERY_MEMORY_USAGE",
                          "PMIX_QUERY_PROC_RESOURCE_USAGE",
                          "PMIX_QUERY_NODE_RESOURCE_USAGE",
                          "PMIX_DAEMON_MEMORY",
                          "PMIX_CLIENT_AVG_MEMORY",
                          "PMIX_AVAIL_PHYS_MEMORY",
                          "PMIX_SERVER_URI",
                          "PMIX_PROC_PID",
                          "PMIX_PROC_STATE_STATUS",
                          "WIREUP_QUERY_REPORTS",
                          "PMIX_NSPACE",
                          "PMIX_PROCID",
                          "PMIX_RANK",
                          "PMIX_HOSTNAME",
                          "PMIX_NODEID",
                          NULL};
    PMIx_Register_attributes("query", attributes);
}

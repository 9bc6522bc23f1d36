/* SPDX-License-Identifier: BSD-3-Clause */
/* facts.c: data that only one node has: the pids, states, memory and resources of its processes, the identity of its
 * server and that server's report, what is used of the node.
 *
 * What this owns: the questions that are open at other nodes. Each is sent to all nodes that it concerns; their
 * parts are put together in order, and one part that is missing makes the whole answer missing. Reports are there to
 * find a node that is stuck: of those, the place of a missing one says that it does not answer.
 * Which thread calls it: the loop; the library answers on a thread of its own.
 * What can go wrong: a node that is lost or has no such data: no answer. */
#include "facts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "loop.h"
#include "node.h"

struct part { /* what one node answered */
    struct facts* facts;
    int node;
    bool have;
    pmix_status_t status;
    pmix_value_t value;
};

struct facts { /* one question, until all have answered */
    fact_done done;
    void* argument;
    int open;
    int count;
    bool reports;
    bool table;    /* of the processes of `nspace` */
    int only_node; /* NODE_ANY: of all nodes */
    pmix_nspace_t nspace;
    struct part parts[MAX_NODES];
};

/* Headers of OpenPMIx have neither. */
#ifndef WIREUP_QUERY_REPORTS
#define WIREUP_QUERY_REPORTS "wireup.reports"
#define WIREUP_REPORT_PROBLEM "wireup.rep.problem"
#endif
#ifndef PMIX_QUERY_PROC_RESOURCE_USAGE /* before 6.1 */
#define PMIX_QUERY_PROC_RESOURCE_USAGE "pmix.qry.pres"
#define PMIX_QUERY_NODE_RESOURCE_USAGE "pmix.qry.nres"
#endif
#ifndef WIREUP_QUERY_REPORT
#define WIREUP_QUERY_REPORT "wireup.report"
#endif

static const double kReportSeconds = 7; /* that a node, perhaps a busy one, has for its report: who asks waits 10 */

struct looking { /* a question of another node (or our own) in our library */
    int from;
    uint64_t id;
    pmix_nspace_t table; /* the job whose processes are asked for; empty: another question */
    pmix_info_t qualifiers[3];
    char* keys[2];
    pmix_query_t query;
    pmix_status_t status;
    pmix_value_t value;
};

static bool is(const char* key, const char* other) {
    return strcmp(key, other) == 0;
}

/* --- one value for another process -------------------------------------------------------------------------------- */

static bool put_value(struct buffer* body, pmix_value_t* value) {
    pmix_data_buffer_t packed;
    pmix_byte_object_t bytes = {NULL, 0};
    PMIX_DATA_BUFFER_CONSTRUCT(&packed);
    bool good = PMIx_Data_pack(NULL, &packed, value, 1, PMIX_VALUE) == PMIX_SUCCESS &&
                PMIx_Data_unload(&packed, &bytes) == PMIX_SUCCESS;
    if (good) wire_put_bytes(body, bytes.bytes, bytes.size);
    free(bytes.bytes);
    PMIX_DATA_BUFFER_DESTRUCT(&packed);
    return good;
}

static bool get_value(struct buffer* body, pmix_value_t* value) {
    struct buffer view = wire_get_view(body);
    if (body->bad || view.size == 0) return false;
    pmix_data_buffer_t packed;
    pmix_byte_object_t bytes = {memcpy(xcalloc(view.size, 1), view.data, view.size), view.size};
    int32_t count = 1;
    PMIX_DATA_BUFFER_CONSTRUCT(&packed);
    bool good = PMIx_Data_load(&packed, &bytes) == PMIX_SUCCESS && /* which takes the bytes */
                PMIx_Data_unpack(NULL, &packed, value, &count, PMIX_VALUE) == PMIX_SUCCESS && count == 1;
    PMIX_DATA_BUFFER_DESTRUCT(&packed);
    return good;
}

/* --- putting the parts together ----------------------------------------------------------------------------------- */

static size_t size_of_row(const pmix_value_t* value) {
    if (value->type != PMIX_DATA_ARRAY || !value->data.darray) return 0;
    if (value->data.darray->type == PMIX_PROC_INFO) return sizeof(pmix_proc_info_t);
    if (value->data.darray->type == PMIX_INFO) return sizeof(pmix_info_t);
#ifdef PMIX_PROC_STATS /* headers of OpenPMIx 6.1 have no statistics */
    if (value->data.darray->type == PMIX_PROC_STATS) return sizeof(pmix_proc_stats_t);
#endif
    return 0;
}

static int by_rank(const void* a, const void* b) {
    const pmix_proc_info_t *one = a, *other = b;
    return one->proc.rank < other->proc.rank ? -1 : one->proc.rank > other->proc.rank;
}

#ifdef PMIX_PROC_STATS
static int by_rank_stats(const void* a, const void* b) {
    const pmix_proc_stats_t *one = a, *other = b;
    return one->proc.rank < other->proc.rank ? -1 : one->proc.rank > other->proc.rank;
}
#endif

/* Moves the rows of the second table behind those of the first. */
static void append_rows(pmix_value_t* to, pmix_value_t* from) {
    pmix_data_array_t *all = to->data.darray, *more = from->data.darray;
    size_t row = size_of_row(to);
    if (more->size > 0) {
        all->array = xrealloc(all->array, (all->size + more->size) * row);
        memcpy((char*)all->array + all->size * row, more->array, more->size * row);
        all->size += more->size;
    }
    free(more->array); /* its rows have moved */
    free(more);
    from->type = PMIX_UNDEF;
}

static void node_name(int number, char name[sizeof node.hostname]) {
    snprintf(name, sizeof node.hostname, "node%d", number + 1);
}

static pmix_proc_state_t state_of(const struct proc* proc) {
    if (proc->phase == PROC_RUNNING) return PMIX_PROC_STATE_RUNNING;
    if (proc->phase != PROC_ENDED) return PMIX_PROC_STATE_UNDEF;
    if (proc->aborted) return PMIX_PROC_STATE_CALLED_ABORT;
    return WIFSIGNALED(proc->wait_status) ? PMIX_PROC_STATE_ABORTED_BY_SIG
           : proc->wait_status != 0       ? PMIX_PROC_STATE_TERM_NON_ZERO
                                          : PMIX_PROC_STATE_TERMINATED;
}

static void fill_row(const struct job* job, uint32_t rank, pmix_proc_info_t* row) {
    const struct app* app = &job->apps[job_app_of(job, rank)];
    char hostname[sizeof node.hostname];
    node_name((int)job_node_of(job, rank), hostname);
    PMIX_LOAD_PROCID(&row->proc, job->nspace, rank);
    row->hostname = xstrdup(hostname);
    row->executable_name = xstrdup(app->program ? app->program : app->argv[0]);
    row->pid = job->procs[rank].pid;
    row->state = state_of(&job->procs[rank]);
}

static bool has_answer_of(const struct facts* facts, int node_number) {
    for (int i = 0; i < facts->count; i++) {
        if (facts->parts[i].node == node_number && facts->parts[i].status == PMIX_SUCCESS) return true;
    }
    return false;
}

static void make_table(pmix_value_t* value) {
    value->type = PMIX_DATA_ARRAY;
    value->data.darray = xcalloc(1, sizeof *value->data.darray);
    value->data.darray->type = PMIX_PROC_INFO;
}

/* The processes of nodes that are lost are in the table as they ended; those of a node that had answered already are.
 */
static void append_lost(const struct facts* facts, pmix_value_t* table) {
    const struct job* job = job_find(facts->nspace);
    if (!job || table->type != PMIX_DATA_ARRAY || table->data.darray->type != PMIX_PROC_INFO) return;
    pmix_data_array_t* rows = table->data.darray;
    pmix_proc_info_t* all = rows->array;
    for (uint32_t rank = 0; rank < job->size; rank++) {
        int where = (int)job_node_of(job, rank);
        bool meant = facts->only_node < 0 || facts->only_node == where;
        if (!meant || mesh_alive(where) || has_answer_of(facts, where)) continue;
        rows->array = all = xrealloc(all, (rows->size + 1) * sizeof *all);
        memset(&all[rows->size], 0, sizeof *all);
        fill_row(job, rank, &all[rows->size++]);
    }
}

static bool join(struct facts* facts, pmix_value_t* all) {
    /* Of a node that was lost meanwhile the table is told below. */
    int first = -1;
    for (int i = facts->count - 1; i >= 0; i--) {
        if (facts->parts[i].have)
            first = i;
        else if (!facts->table || mesh_alive(facts->parts[i].node))
            return false;
    }
    if (first < 0 && !facts->table) return false;
    if (first < 0) {
        make_table(all);
    } else {
        *all = facts->parts[first].value;
        facts->parts[first].have = false;
    }
    for (int i = first + 1; i < facts->count; i++) {
        pmix_value_t* part = &facts->parts[i].value;
        if (!facts->parts[i].have) continue;
        if (size_of_row(all) == 0 || size_of_row(part) == 0 || part->data.darray->type != all->data.darray->type) {
            PMIX_VALUE_DESTRUCT(all);
            return false;
        }
        append_rows(all, part);
        facts->parts[i].have = false;
    }
    if (facts->table) append_lost(facts, all);
    /* Infos (samples of what is used) stay in the order of the nodes. */
    if (size_of_row(all) != 0 && all->data.darray->size > 1 && all->data.darray->type != PMIX_INFO) {
        int (*order)(const void*, const void*) = by_rank;
#ifdef PMIX_PROC_STATS
        if (all->data.darray->type == PMIX_PROC_STATS) order = by_rank_stats;
#endif
        qsort(all->data.darray->array, all->data.darray->size, size_of_row(all), order);
    }
    return true;
}

/* What there is of a node whose server has no report. */
static pmix_data_array_t* no_report(const struct part* part) {
    char name[sizeof node.hostname];
    const char* problem = part->status == PMIX_ERR_TIMEOUT           ? "does not answer"
                          : part->status == PMIX_ERR_LOST_CONNECTION ? "is gone"
                                                                     : PMIx_Error_string(part->status);
    node_name(part->node, name);
    pmix_data_array_t* array = xcalloc(1, sizeof *array);
    pid_t daemon = node.daemons[part->node];
    size_t count = daemon > 0 ? 3 : 2;
    pmix_info_t* infos = infos_new(count);
    PMIX_INFO_LOAD(&infos[0], PMIX_HOSTNAME, name, PMIX_STRING);
    PMIX_INFO_LOAD(&infos[1], WIREUP_REPORT_PROBLEM, problem, PMIX_STRING);
    if (daemon > 0) PMIX_INFO_LOAD(&infos[2], PMIX_SERVER_PIDINFO, &daemon, PMIX_PID);
    *array = (pmix_data_array_t){.type = PMIX_INFO, .size = count, .array = infos};
    return array;
}

static void join_reports(struct facts* facts, pmix_value_t* all) {
    size_t count = (size_t)facts->count;
    pmix_data_array_t* array = xcalloc(1, sizeof *array);
    pmix_info_t* infos = infos_new(count);
    for (size_t i = 0; i < count; i++) {
        struct part* part = &facts->parts[i];
        PMIX_LOAD_KEY(infos[i].key, WIREUP_QUERY_REPORT);
        if (part->have) {
            infos[i].value = part->value;
            part->have = false;
        } else {
            infos[i].value.type = PMIX_DATA_ARRAY;
            infos[i].value.data.darray = no_report(part);
        }
    }
    *array = (pmix_data_array_t){.type = PMIX_INFO, .size = count, .array = infos};
    all->type = PMIX_DATA_ARRAY;
    all->data.darray = array;
}

static void part_done(struct facts* facts) {
    if (--facts->open > 0) return;
    pmix_value_t all = {.type = PMIX_UNDEF};
    bool have = (facts->count > 0 || facts->table) && (facts->reports || join(facts, &all));
    if (facts->reports) join_reports(facts, &all);
    for (int i = 0; i < facts->count; i++) {
        if (facts->parts[i].have) PMIX_VALUE_DESTRUCT(&facts->parts[i].value);
    }
    facts->done(have ? &all : NULL, facts->argument);
    free(facts);
}

static void replied(pmix_status_t status, struct buffer* body, void* argument) {
    struct part* part = argument;
    part->status = status;
    part->have = status == PMIX_SUCCESS && get_value(body, &part->value);
    part_done(part->facts);
}

/* --- asking ------------------------------------------------------------------------------------------------------- */

static int node_of_name(const char* hostname) {
    for (int i = 0; i < mesh_nodes(); i++) {
        char name[sizeof node.hostname];
        node_name(i, name);
        if (is(name, hostname)) return i;
    }
    return -1;
}

int node_meant(const pmix_info_t* info, size_t ninfo) {
    const char* hostname = info_string(info, ninfo, PMIX_HOSTNAME);
    if (hostname && *hostname) {
        const int number = node_of_name(hostname);
        return number < 0 ? NODE_UNKNOWN : number;
    }
    if (!info_find(info, ninfo, PMIX_NODEID)) return NODE_ANY;
    const int64_t number = info_number(info, ninfo, PMIX_NODEID, -1);
    return number >= 0 && number < mesh_nodes() ? (int)number : NODE_UNKNOWN;
}

bool fact_is_one(const char* key) {
    return is(key, PMIX_QUERY_PROC_TABLE) || is(key, PMIX_QUERY_LOCAL_PROC_TABLE) || is(key, PMIX_QUERY_MEMORY_USAGE) ||
           is(key, PMIX_PROC_PID) || is(key, PMIX_PROC_STATE_STATUS) || is(key, PMIX_SERVER_URI) ||
           is(key, PMIX_DAEMON_MEMORY) || is(key, PMIX_AVAIL_PHYS_MEMORY) || is(key, PMIX_CLIENT_AVG_MEMORY) ||
           is(key, WIREUP_QUERY_REPORTS) || is(key, PMIX_QUERY_PROC_RESOURCE_USAGE) ||
           is(key, PMIX_QUERY_NODE_RESOURCE_USAGE);
}

/* Which nodes have a part of the answer; none: it cannot be had. */
static int nodes_of(const struct fact* fact, int nodes[MAX_NODES]) {
    if (is(fact->key, WIREUP_QUERY_REPORTS)) {
        for (int i = 0; i < mesh_nodes(); i++) nodes[i] = i;
        return mesh_nodes();
    }
    int named = fact->node == NODE_ANY ? mesh_self() : fact->node;
    bool of_node = is(fact->key, PMIX_QUERY_NODE_RESOURCE_USAGE);
    bool one_node = is(fact->key, PMIX_SERVER_URI) || is(fact->key, PMIX_DAEMON_MEMORY) ||
                    is(fact->key, PMIX_AVAIL_PHYS_MEMORY) || is(fact->key, PMIX_CLIENT_AVG_MEMORY) ||
                    (of_node && fact->node != NODE_ANY);
    const struct job* job = job_find(fact->nspace);
    if (!one_node && !job) return 0;
    bool one_rank = fact->rank != PMIX_RANK_WILDCARD && !is(fact->key, PMIX_QUERY_PROC_TABLE) &&
                    !is(fact->key, PMIX_QUERY_LOCAL_PROC_TABLE) && !of_node;
    if (!one_node && one_rank) {
        if (fact->rank >= job->size) return 0;
        nodes[0] = (int)job_node_of(job, fact->rank);
        /* How it ended is known here too. */
        if (!mesh_alive(nodes[0]) && is(fact->key, PMIX_PROC_STATE_STATUS)) nodes[0] = mesh_self();
        return 1;
    }
    if (is(fact->key, PMIX_PROC_PID) || is(fact->key, PMIX_PROC_STATE_STATUS)) return 0; /* names no process */
    if (one_node || is(fact->key, PMIX_QUERY_LOCAL_PROC_TABLE) || fact->node != NODE_ANY) {
        nodes[0] = named;
        return named >= 0 && mesh_alive(named) ? 1 : 0;
    }
    int count = 0;
    for (int i = 0; i < mesh_nodes(); i++) {
        if (job_size_on(job, (uint32_t)i) > 0 && mesh_alive(i)) nodes[count++] = i;
    }
    return count;
}

void fact_ask(const struct fact* fact, fact_done done, void* argument) {
    struct facts* facts = xcalloc(1, sizeof *facts);
    int nodes[MAX_NODES];
    facts->done = done;
    facts->argument = argument;
    facts->count = nodes_of(fact, nodes);
    facts->open = facts->count + 1; /* this function's own part */
    facts->reports = is(fact->key, WIREUP_QUERY_REPORTS);
    facts->only_node = fact->node;
    facts->table = is(fact->key, PMIX_QUERY_PROC_TABLE) && job_find(fact->nspace) && fact->node != NODE_UNKNOWN;
    PMIX_LOAD_NSPACE(facts->nspace, fact->nspace);
    struct buffer body = {0};
    wire_put_string(&body, facts->reports ? WIREUP_QUERY_REPORT : fact->key);
    wire_put_string(&body, fact->nspace);
    wire_put_u32(&body, fact->rank);
    for (int i = 0; i < facts->count; i++) {
        facts->parts[i].facts = facts;
        facts->parts[i].node = nodes[i];
        mesh_request(nodes[i], FRAME_FACT, &body, facts->reports ? kReportSeconds : 0, replied, &facts->parts[i]);
    }
    wire_free(&body);
    part_done(facts);
}

/* --- answering ---------------------------------------------------------------------------------------------------- */

static pmix_data_array_t* local_procs(const struct job* job) {
    uint32_t self = (uint32_t)mesh_self(), count = job_size_on(job, self);
    pmix_data_array_t* array = xcalloc(1, sizeof *array);
    pmix_proc_info_t* procs = xcalloc(count, sizeof *procs);
    array->type = PMIX_PROC_INFO;
    array->size = count;
    array->array = procs;
    for (uint32_t i = 0; i < count; i++) {
        fill_row(job, job_rank_at(job, self, i), &procs[i]);
    }
    return array;
}

static void reply_value(int from, uint64_t id, pmix_value_t* value) {
    struct buffer body = {0};
    bool good = put_value(&body, value);
    mesh_reply(from, id, good ? PMIX_SUCCESS : PMIX_ERR_NOT_FOUND, good ? &body : NULL);
    wire_free(&body);
    PMIX_VALUE_DESTRUCT(value);
}

/* The library's rows of processes that run are better: they contain the state of the connection and the program's path.
 * How processes have ended is known here. */
static void merge_rows(pmix_data_array_t* rows, const struct job* job, const pmix_value_t* from) {
    const pmix_data_array_t* theirs = from->type == PMIX_DATA_ARRAY ? from->data.darray : NULL;
    if (!theirs || theirs->type != PMIX_PROC_INFO) return;
    for (size_t i = 0; i < rows->size; i++) {
        pmix_proc_info_t* row = (pmix_proc_info_t*)rows->array + i;
        for (size_t k = 0; k < theirs->size; k++) {
            const pmix_proc_info_t* better = (const pmix_proc_info_t*)theirs->array + k;
            if (better->proc.rank != row->proc.rank || better->pid != row->pid) continue;
            if (job->procs[row->proc.rank].phase == PROC_ENDED) continue;
            row->state = better->state;
            if (!better->executable_name) continue;
            free(row->executable_name);
            row->executable_name = xstrdup(better->executable_name);
        }
    }
}

static void reply_table(struct looking* looking) {
    const struct job* job = job_find(looking->table);
    if (!job) {
        mesh_reply(looking->from, looking->id, PMIX_ERR_NOT_FOUND, NULL);
    } else {
        pmix_value_t rows = {.type = PMIX_DATA_ARRAY, .data.darray = local_procs(job)};
        if (looking->status == PMIX_SUCCESS) merge_rows(rows.data.darray, job, &looking->value);
        reply_value(looking->from, looking->id, &rows);
    }
    if (looking->status == PMIX_SUCCESS) PMIX_VALUE_DESTRUCT(&looking->value);
}

static void library_answered(void* argument) {
    struct looking* looking = argument;
    if (looking->table[0])
        reply_table(looking);
    else if (looking->status == PMIX_SUCCESS)
        reply_value(looking->from, looking->id, &looking->value);
    else
        mesh_reply(looking->from, looking->id, looking->status, NULL);
    for (size_t i = 0; i < looking->query.nqual; i++) PMIX_INFO_DESTRUCT(&looking->qualifiers[i]);
    free(looking->keys[0]);
    free(looking);
}

static void library_answers(pmix_status_t status, pmix_info_t* info, size_t ninfo, void* cbdata,
                            pmix_release_cbfunc_t release, void* release_data) {
    struct looking* looking = cbdata;
    const pmix_value_t* value = info_find(info, ninfo, looking->keys[0]);
    looking->status = status == PMIX_SUCCESS && !value ? PMIX_ERR_NOT_FOUND : status;
    if (looking->status == PMIX_SUCCESS) looking->status = PMIx_Value_xfer(&looking->value, value);
    if (release) release(release_data);
    loop_post(library_answered, looking);
}

/* Our own server has the answer; it must not hand the question back to us. */
static void ask_library(int from, uint64_t id, const char* key, const char* nspace, pmix_rank_t rank, bool table) {
    struct looking* looking = xcalloc(1, sizeof *looking);
    bool yes = true;
    if (table) PMIX_LOAD_NSPACE(looking->table, nspace);
    looking->from = from;
    looking->id = id;
    looking->keys[0] = xstrdup(key);
    PMIX_INFO_LOAD(&looking->qualifiers[0], PMIX_QUERY_LOCAL_ONLY, &yes, PMIX_BOOL);
    PMIX_INFO_LOAD(&looking->qualifiers[1], PMIX_NSPACE, nspace, PMIX_STRING);
    PMIX_INFO_LOAD(&looking->qualifiers[2], PMIX_RANK, &rank, PMIX_PROC_RANK);
    looking->query.keys = looking->keys;
    looking->query.qualifiers = looking->qualifiers;
    looking->query.nqual = rank == PMIX_RANK_WILDCARD ? 2 : 3;
    pmix_status_t status = PMIx_Query_info_nb(&looking->query, 1, library_answers, looking);
    if (status == PMIX_SUCCESS) return;
    looking->status = status;
    library_answered(looking);
}

void on_fact(int from, uint64_t id, struct buffer* body) {
    char *key = wire_get_string(body), *nspace = wire_get_string(body);
    pmix_rank_t rank = wire_get_u32(body);
    const struct job* job = nspace ? job_find(nspace) : NULL;
    pmix_value_t value = {.type = PMIX_UNDEF};
    if (body->bad || !key || !nspace) {
        mesh_reply(from, id, PMIX_ERR_BAD_PARAM, NULL);
    } else if (job && (is(key, PMIX_QUERY_PROC_TABLE) || is(key, PMIX_QUERY_LOCAL_PROC_TABLE))) {
        ask_library(from, id, PMIX_QUERY_LOCAL_PROC_TABLE, nspace, PMIX_RANK_WILDCARD, true);
    } else if (job && rank < job->size && is(key, PMIX_PROC_PID)) {
        value.type = PMIX_PID;
        value.data.pid = job->procs[rank].pid;
        reply_value(from, id, &value);
    } else if (job && rank < job->size && is(key, PMIX_PROC_STATE_STATUS) &&
               (job->procs[rank].phase == PROC_ENDED || !mesh_alive((int)job_node_of(job, rank)))) {
        value.type = PMIX_PROC_STATE;
        value.data.state = state_of(&job->procs[rank]);
        reply_value(from, id, &value);
    } else {
        ask_library(from, id, key, nspace, rank, false);
    }
    free(key);
    free(nspace);
}

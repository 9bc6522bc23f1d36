/* SPDX-License-Identifier: BSD-3-Clause */
/* queries: PMIx_Query_info from a client to the server of its node, which is another process, and from there to the
 * host (pmixrun). usage: queries support|jobs|lost|processes|tables|failed|node_lost|summary|each|by_node|
 * refusals NODES */
#include <signal.h>

#include "check.h"

#ifndef PMIX_QUERY_PROC_RESOURCE_USAGE /* headers before 6.1 */
#define PMIX_QUERY_PROC_RESOURCE_USAGE "pmix.qry.pres"
#define PMIX_QUERY_NODE_RESOURCE_USAGE "pmix.qry.nres"
#define PMIX_PROC_RESOURCE_USAGE "pmix.proc.res"
#define PMIX_NODE_RESOURCE_USAGE "pmix.node.res"
#endif

static uint32_t nodes;

struct asked {
    pmix_status_t status;
    pmix_info_t* infos;
    size_t n;
};

/* Asks for keys (NULL at their end), narrowed by one qualifier or none. */
static struct asked ask(char** keys, pmix_info_t* qualifier) {
    struct asked asked = {PMIX_ERROR, NULL, 0};
    pmix_query_t query = {keys, qualifier, qualifier != NULL};
    asked.status = PMIx_Query_info(&query, 1, &asked.infos, &asked.n);
    CHECK((asked.status == PMIX_SUCCESS || asked.status == PMIX_ERR_PARTIAL_SUCCESS) == (asked.infos != NULL));
    return asked;
}
#define ASK(qualifier, ...) ask((char*[]){__VA_ARGS__, NULL}, qualifier)

static void forget(struct asked* asked) {
    if (asked->infos) PMIX_INFO_FREE(asked->infos, asked->n);
}

static const pmix_value_t* found(const pmix_info_t* infos, size_t n, const char* key) {
    for (size_t i = 0; i < n; i++)
        if (PMIX_CHECK_KEY(&infos[i], key)) return &infos[i].value;
    return NULL;
}
static const pmix_value_t* answer(const struct asked* asked, const char* key) {
    const pmix_value_t* value = found(asked->infos, asked->n, key);
    CHECK(value != NULL);
    return value;
}
static const char* answered_text(const struct asked* asked, const char* key) {
    const pmix_value_t* value = answer(asked, key);
    CHECK(value->type == PMIX_STRING && value->data.string);
    return value->data.string;
}

static bool in_list(const char* list, const char* word) {
    const size_t n = strlen(word);
    for (const char* at = list; (at = strstr(at, word)) != NULL; at += n)
        if ((at == list || at[-1] == ',') && (at[n] == ',' || at[n] == '\0')) return true;
    return false;
}

static bool among(const pmix_value_t* attributes, const char* name) {
    if (!attributes || attributes->type != PMIX_DATA_ARRAY || attributes->data.darray->type != PMIX_REGATTR)
        return false;
    const pmix_regattr_t* rows = attributes->data.darray->array;
    for (size_t i = 0; i < attributes->data.darray->size; i++)
        if (strcmp(rows[i].name, name) == 0) return strcmp(rows[i].string, PMIx_Get_attribute_string(name)) == 0;
    return false;
}

/* What is supported at each level: this process says it of clients and tools, the server of itself and of its host.
 * rows: Q3 Q8 Q11 Q12
 * proves: PMIx_Query_info PMIX_QUERY_ATTRIBUTE_SUPPORT PMIX_QUERY_SUPPORTED_KEYS PMIX_QUERY_SUPPORTED_QUALIFIERS
 * proves: PMIx_Query_info PMIX_CLIENT_ATTRIBUTES PMIX_CLIENT_FUNCTIONS client
 * proves: PMIx_Query_info PMIX_SERVER_ATTRIBUTES PMIX_SERVER_FUNCTIONS server
 * proves: PMIx_Query_info PMIX_HOST_ATTRIBUTES PMIX_HOST_FUNCTIONS server */
static void support(int argc, char** argv) {
    (void)argc, (void)argv;
    start();
    struct asked asked = ASK(NULL, PMIX_QUERY_ATTRIBUTE_SUPPORT, "PMIx_Fence", "PMIx_Get", "PMIx_Query_info");
    CHECK_OK(asked.status);
    const pmix_value_t* fences = answer(&asked, "PMIx_Fence");
    CHECK(fences->type == PMIX_DATA_ARRAY && fences->data.darray->type == PMIX_INFO);
    const pmix_info_t* levels = fences->data.darray->array;
    size_t n = fences->data.darray->size;
    CHECK(among(found(levels, n, PMIX_CLIENT_ATTRIBUTES), "PMIX_TIMEOUT"));
    CHECK(among(found(levels, n, PMIX_SERVER_ATTRIBUTES), "PMIX_COLLECT_DATA"));
    CHECK(!among(found(levels, n, PMIX_HOST_ATTRIBUTES), "PMIX_COLLECT_DATA")); /* pmixrun said nothing of fences */
    const pmix_value_t* own = answer(&asked, "PMIx_Query_info");
    CHECK(among(found(own->data.darray->array, own->data.darray->size, PMIX_HOST_ATTRIBUTES), "PMIX_JOB_NUM_APPS"));
    forget(&asked);

    /* One level each, of one function and of all. */
    static const struct {
        const char *attributes, *functions, *attribute, *function;
    } levels_of[] = {{PMIX_CLIENT_ATTRIBUTES, PMIX_CLIENT_FUNCTIONS, "PMIX_TIMEOUT", "PMIx_Fence_nb"},
                     {PMIX_SERVER_ATTRIBUTES, PMIX_SERVER_FUNCTIONS, "PMIX_COLLECT_DATA", "PMIx_server_setup_fork"},
                     {PMIX_HOST_ATTRIBUTES, PMIX_HOST_FUNCTIONS, NULL, "PMIx_Query_info"}};
    for (size_t i = 0; i < sizeof levels_of / sizeof *levels_of; i++) {
        pmix_info_t level;
        PMIX_INFO_LOAD(&level, levels_of[i].attributes, NULL, PMIX_BOOL);
        asked = ASK(&level, PMIX_QUERY_ATTRIBUTE_SUPPORT, "PMIx_Fence");
        if (levels_of[i].attribute) {
            CHECK_OK(asked.status);
            fences = answer(&asked, "PMIx_Fence");
            CHECK(fences->data.darray->size == 1);
            levels = fences->data.darray->array;
            CHECK(among(found(levels, 1, levels_of[i].attributes), levels_of[i].attribute));
        }
        forget(&asked);
        PMIX_INFO_DESTRUCT(&level);
        PMIX_INFO_LOAD(&level, levels_of[i].functions, NULL, PMIX_BOOL);
        asked = ASK(&level, PMIX_QUERY_ATTRIBUTE_SUPPORT);
        CHECK_OK(asked.status);
        CHECK(in_list(answered_text(&asked, levels_of[i].functions), levels_of[i].function));
        forget(&asked);
        PMIX_INFO_DESTRUCT(&level);
    }

    asked = ASK(NULL, PMIX_QUERY_SUPPORTED_KEYS);
    CHECK_OK(asked.status);
    const char* keys = answered_text(&asked, PMIX_QUERY_SUPPORTED_KEYS);
    CHECK(in_list(keys, PMIX_QUERY_NAMESPACES) && in_list(keys, PMIX_JOB_NUM_APPS)); /* the server's; the host's */
    forget(&asked);
    asked = ASK(NULL, PMIX_QUERY_SUPPORTED_QUALIFIERS, PMIX_QUERY_MEMORY_USAGE);
    CHECK_OK(asked.status);
    CHECK(in_list(answered_text(&asked, PMIX_QUERY_MEMORY_USAGE), PMIX_PROCID));
    forget(&asked);
    finish();
}

/* Jobs: the server's data, and data that only the host has.
 * rows: Q1 Q8 U12
 * proves: PMIx_Query_info PMIX_QUERY_NAMESPACES PMIX_QUERY_NAMESPACE_INFO PMIX_QUERY_JOB_STATUS PMIX_NSPACE server
 * proves: PMIx_Query_info PMIX_QUERY_NUM_PSETS PMIX_QUERY_PSET_NAMES PMIX_QUERY_NUM_GROUPS server */
static void jobs(int argc, char** argv) {
    (void)argc, (void)argv;
    start();
    struct asked asked =
        ASK(NULL, PMIX_QUERY_NAMESPACES, PMIX_QUERY_NUM_PSETS, PMIX_QUERY_PSET_NAMES, PMIX_QUERY_NUM_GROUPS);
    CHECK_OK(asked.status);
    CHECK(in_list(answered_text(&asked, PMIX_QUERY_NAMESPACES), me.nspace));
    CHECK(answer(&asked, PMIX_QUERY_NUM_PSETS)->data.size == 0);
    CHECK(answered_text(&asked, PMIX_QUERY_PSET_NAMES)[0] == '\0');
    CHECK(answer(&asked, PMIX_QUERY_NUM_GROUPS)->data.size == 0);
    forget(&asked);

    pmix_info_t of_job;
    PMIX_INFO_LOAD(&of_job, PMIX_NSPACE, me.nspace, PMIX_STRING);
    asked = ASK(&of_job, PMIX_JOB_SIZE, PMIX_NUM_NODES, PMIX_QUERY_NAMESPACE_INFO, PMIX_JOB_NUM_APPS);
    CHECK_OK(asked.status);
    CHECK(answer(&asked, PMIX_JOB_SIZE)->data.uint32 == job_size);
    CHECK(answer(&asked, PMIX_NUM_NODES)->data.uint32 == nodes);
    CHECK(answer(&asked, PMIX_JOB_NUM_APPS)->data.uint32 == 1);
    const pmix_value_t* infos = answer(&asked, PMIX_QUERY_NAMESPACE_INFO);
    CHECK(infos->type == PMIX_DATA_ARRAY && infos->data.darray->type == PMIX_INFO && infos->data.darray->size == 1);
    const pmix_data_array_t* job = ((pmix_info_t*)infos->data.darray->array)[0].value.data.darray;
    CHECK(strcmp(found(job->array, job->size, PMIX_NSPACE)->data.string, me.nspace) == 0);
    forget(&asked);
    asked = ASK(&of_job, PMIX_QUERY_JOB_STATUS); /* on several nodes the host knows */
    CHECK_OK(asked.status);
    CHECK_OK(answer(&asked, PMIX_QUERY_JOB_STATUS)->data.status);
    forget(&asked);
    asked = ASK(&of_job, PMIX_CMD_LINE);
    CHECK_OK(asked.status);
    const pmix_proc_t whole = rank_of_job(PMIX_RANK_WILDCARD);
    pmix_value_t* line = NULL;
    CHECK_OK(PMIx_Get(&whole, PMIX_CMD_LINE, NULL, 0, &line));
    CHECK(strcmp(answered_text(&asked, PMIX_CMD_LINE), line->data.string) == 0);
    CHECK(strstr(line->data.string, "queries") && strstr(line->data.string, " jobs "));
    PMIX_VALUE_RELEASE(line);
    forget(&asked);
    PMIX_INFO_DESTRUCT(&of_job);
    finish();
}

/* A job that has lost a process, on one node and on several. rows: Q8 */
static void lost(int argc, char** argv) {
    (void)argc, (void)argv;
    start();
    fence(false);
    if (me.rank == job_size - 1) raise(SIGKILL);
    pmix_info_t of_job;
    PMIX_INFO_LOAD(&of_job, PMIX_NSPACE, me.nspace, PMIX_STRING);
    pmix_info_t fresh;
    PMIX_INFO_LOAD(&fresh, PMIX_QUERY_REFRESH_CACHE, NULL, PMIX_BOOL);
    pmix_status_t status = PMIX_SUCCESS;
    while (status == PMIX_SUCCESS) { /* until alarm() ends the test */
        pmix_info_t both[2] = {of_job, fresh};
        char* keys[] = {PMIX_QUERY_JOB_STATUS, NULL};
        pmix_query_t query = {keys, both, 2};
        struct asked asked = {PMIX_ERROR, NULL, 0};
        CHECK_OK(PMIx_Query_info(&query, 1, &asked.infos, &asked.n));
        status = answer(&asked, PMIX_QUERY_JOB_STATUS)->data.status;
        forget(&asked);
        if (status == PMIX_SUCCESS) usleep(10000);
    }
    CHECK_STATUS(status, PMIX_ERR_PROC_ABORTED);
    PMIX_INFO_DESTRUCT(&of_job);
    PMIX_INFO_DESTRUCT(&fresh);
    finish();
}

/* Processes: those of this node with the kernel's data of them.
 * rows: Q8
 * proves: PMIx_Query_info PMIX_QUERY_LOCAL_PROC_TABLE PMIX_QUERY_PROC_TABLE PMIX_NSPACE server
 * proves: PMIx_Query_info PMIX_PROC_PID PMIX_PROC_STATE_STATUS PMIX_PROCID PMIX_NSPACE PMIX_RANK server
 * proves: PMIx_Query_info PMIX_QUERY_MEMORY_USAGE PMIX_DAEMON_MEMORY server
 * proves: PMIx_Query_info PMIX_CLIENT_AVG_MEMORY PMIX_AVAIL_PHYS_MEMORY server
 * proves: PMIx_Query_info PMIX_SERVER_URI PMIX_QUERY_AVAIL_SERVERS server */
static void processes(int argc, char** argv) {
    (void)argc, (void)argv;
    start();
    pmix_info_t of_job, of_me;
    PMIX_INFO_LOAD(&of_job, PMIX_NSPACE, me.nspace, PMIX_STRING);
    PMIX_INFO_LOAD(&of_me, PMIX_PROCID, &me, PMIX_PROC);
    struct asked asked = ASK(&of_job, PMIX_QUERY_LOCAL_PROC_TABLE);
    CHECK_OK(asked.status);
    const pmix_data_array_t* table = answer(&asked, PMIX_QUERY_LOCAL_PROC_TABLE)->data.darray;
    CHECK(table->type == PMIX_PROC_INFO);
    const pmix_proc_info_t* mine = NULL;
    for (size_t i = 0; i < table->size; i++) {
        const pmix_proc_info_t* row = (const pmix_proc_info_t*)table->array + i;
        CHECK(same_node(me.rank, row->proc.rank));
        if (row->proc.rank == me.rank) mine = row;
    }
    CHECK(mine != NULL && mine->pid == getpid() && strstr(mine->executable_name, "client_queries") != NULL);
    forget(&asked);

    asked = ASK(&of_me, PMIX_PROC_PID, PMIX_PROC_STATE_STATUS, PMIX_QUERY_MEMORY_USAGE);
    CHECK_OK(asked.status);
    CHECK(answer(&asked, PMIX_PROC_PID)->data.pid == getpid());
    CHECK(answer(&asked, PMIX_PROC_STATE_STATUS)->data.state == PMIX_PROC_STATE_CONNECTED);
    forget(&asked);
    pmix_info_t one[2]; /* the same process, by two qualifiers */
    PMIX_INFO_LOAD(&one[0], PMIX_NSPACE, me.nspace, PMIX_STRING);
    PMIX_INFO_LOAD(&one[1], PMIX_RANK, &me.rank, PMIX_PROC_RANK);
    char* keys[] = {PMIX_PROC_PID, PMIX_PROC_STATE_STATUS, PMIX_QUERY_MEMORY_USAGE, NULL};
    pmix_query_t query = {keys, one, 2};
    asked.status = PMIx_Query_info(&query, 1, &asked.infos, &asked.n);
    CHECK_OK(asked.status);
    CHECK(answer(&asked, PMIX_PROC_PID)->data.pid == getpid());
    CHECK(answer(&asked, PMIX_PROC_STATE_STATUS)->data.state == PMIX_PROC_STATE_CONNECTED);
    forget(&asked);
    PMIX_INFO_DESTRUCT(&one[0]);
    PMIX_INFO_DESTRUCT(&one[1]);
    asked = ASK(NULL, PMIX_DAEMON_MEMORY, PMIX_CLIENT_AVG_MEMORY, PMIX_AVAIL_PHYS_MEMORY, PMIX_SERVER_URI,
                PMIX_QUERY_AVAIL_SERVERS);
    CHECK_OK(asked.status);
    CHECK(answer(&asked, PMIX_DAEMON_MEMORY)->data.fval > 0.1F);
    CHECK(answer(&asked, PMIX_CLIENT_AVG_MEMORY)->data.fval > 0.1F);
    CHECK(answered_text(&asked, PMIX_SERVER_URI)[0] != '\0');
    forget(&asked);
    PMIX_INFO_DESTRUCT(&of_job);
    PMIX_INFO_DESTRUCT(&of_me);
    fence(false); /* nobody goes while others look */
    finish();
}

/* A node is named by PMIX_HOSTNAME or by PMIX_NODEID, and both have the same answer, here and elsewhere. Of one that
 * does
 * not exist there is none. rows: Q16 Q17 Q20 */
static void by_node(int argc, char** argv) {
    (void)argc, (void)argv;
    const char* keys[] = {PMIX_QUERY_PROC_TABLE, PMIX_QUERY_LOCAL_PROC_TABLE,    PMIX_QUERY_MEMORY_USAGE,
                          PMIX_DAEMON_MEMORY,    PMIX_CLIENT_AVG_MEMORY,         PMIX_AVAIL_PHYS_MEMORY,
                          PMIX_SERVER_URI,       PMIX_QUERY_PROC_RESOURCE_USAGE, PMIX_QUERY_NODE_RESOURCE_USAGE};
    start();
    fence(false); /* what a process uses is measured where all have connected */
    for (size_t k = 0; k < sizeof keys / sizeof *keys; k++) {
        for (uint32_t node = 0; node <= nodes; node++) {
            char name[32];
            pmix_info_t by_name, by_number;
            snprintf(name, sizeof name, "node%u", node + 1);
            PMIX_INFO_LOAD(&by_name, PMIX_HOSTNAME, name, PMIX_STRING);
            PMIX_INFO_LOAD(&by_number, PMIX_NODEID, &node, PMIX_UINT32);
            const pmix_status_t wanted = node < nodes ? PMIX_SUCCESS : PMIX_ERR_NOT_FOUND;
            struct asked named = ASK(&by_name, (char*)(uintptr_t)keys[k]);
            struct asked numbered = ASK(&by_number, (char*)(uintptr_t)keys[k]);
            CHECK_STATUS(named.status, wanted);
            CHECK_STATUS(numbered.status, wanted);
            CHECK(named.n == numbered.n);
            if (named.n > 0) {
                const pmix_value_t *a = answer(&named, keys[k]), *b = answer(&numbered, keys[k]);
                CHECK(a->type == b->type);
                if (a->type == PMIX_DATA_ARRAY) CHECK(a->data.darray->size == b->data.darray->size);
                if (a->type == PMIX_STRING) CHECK(strcmp(a->data.string, b->data.string) == 0);
                if (a->type == PMIX_UINT64) CHECK(a->data.uint64 == b->data.uint64);
            }
            forget(&named);
            forget(&numbered);
            PMIX_INFO_DESTRUCT(&by_name);
        }
    }
    fence(false);
    finish();
}

static pid_t pid_of(uint32_t rank) {
    pmix_proc_t proc = rank_of_job(rank);
    pmix_value_t* value = NULL;
    CHECK_OK(PMIx_Get(&proc, "test.pid", NULL, 0, &value));
    CHECK(value->type == PMIX_PID);
    pid_t pid = value->data.pid;
    PMIX_VALUE_RELEASE(value);
    return pid;
}

static bool is_in_table(uint32_t rank, pmix_proc_state_t state) {
    pmix_info_t of_job, anew;
    const bool yes = true;
    PMIX_INFO_LOAD(&of_job, PMIX_NSPACE, me.nspace, PMIX_STRING);
    PMIX_INFO_LOAD(&anew, PMIX_QUERY_REFRESH_CACHE, &yes, PMIX_BOOL);
    pmix_info_t qualifiers[2] = {of_job, anew};
    char* keys[] = {PMIX_QUERY_PROC_TABLE, NULL};
    pmix_query_t query = {keys, qualifiers, 2};
    pmix_info_t* results = NULL;
    size_t nresults = 0;
    CHECK_OK(PMIx_Query_info(&query, 1, &results, &nresults));
    CHECK(nresults == 1 && results[0].value.type == PMIX_DATA_ARRAY && results[0].value.data.darray->size == job_size);
    const pmix_proc_info_t* row = (const pmix_proc_info_t*)results[0].value.data.darray->array + rank;
    const bool is = row->state == state; /* the exit code is in no message, here as with OpenPMIx */
    PMIX_INFO_FREE(results, nresults);
    PMIX_INFO_DESTRUCT(&of_job);
    return is;
}

/* Of one process: the state in its own query is that of the table, and the exit code is to be had too. */
static void check_end(uint32_t rank, pmix_proc_state_t state, int code) {
    const pmix_proc_t proc = rank_of_job(rank);
    pmix_info_t of_it;
    PMIX_INFO_LOAD(&of_it, PMIX_PROCID, &proc, PMIX_PROC);
    struct asked asked = ASK(&of_it, PMIX_PROC_STATE_STATUS, PMIX_EXIT_CODE);
    CHECK_OK(asked.status);
    CHECK(answer(&asked, PMIX_PROC_STATE_STATUS)->data.state == state);
    CHECK(answer(&asked, PMIX_EXIT_CODE)->type == PMIX_INT && answer(&asked, PMIX_EXIT_CODE)->data.integer == code);
    forget(&asked);
    PMIX_INFO_DESTRUCT(&of_it);
}

/* How processes have ended is in the table (with --continuous: rank 1 exits with 3, rank 2 is killed). rows: Q16 */
static void failed(int argc, char** argv) {
    (void)argc, (void)argv;
    start();
    CHECK(job_size == 3);
    fence(false);
    if (me.rank == 2) kill(getpid(), SIGKILL);
    if (me.rank == 1) {
        await_flag("killed");
        _exit(3);
    }
    while (!is_in_table(2, PMIX_PROC_STATE_ABORTED_BY_SIG)) usleep(10000); /* or the alarm */
    CHECK(is_in_table(1, PMIX_PROC_STATE_CONNECTED));
    raise_flag("killed");
    while (!is_in_table(1, PMIX_PROC_STATE_TERM_NON_ZERO)) usleep(10000);
    check_end(2, PMIX_PROC_STATE_ABORTED_BY_SIG, 128 + SIGKILL);
    check_end(1, PMIX_PROC_STATE_TERM_NON_ZERO, 3);
    finish();
}

/* So are those of a node that was lost, while the rest goes on (with --continuous; the last rank has its node alone).
 * rows: Q16 */
static void node_lost(int argc, char** argv) {
    (void)argc, (void)argv;
    pmix_proc_t last;
    start();
    fence(false);
    last = rank_of_job(job_size - 1);
    if (me.rank == last.rank) {
        kill(getppid(), SIGKILL);
        kill(getpid(), SIGKILL);
    }
    while (!is_in_table(last.rank, PMIX_PROC_STATE_ABORTED_BY_SIG)) usleep(10000); /* or the alarm */
    pmix_info_t of_last;
    PMIX_INFO_LOAD(&of_last, PMIX_PROCID, &last, PMIX_PROC);
    struct asked asked = ASK(&of_last, PMIX_PROC_STATE_STATUS);
    CHECK_OK(asked.status);
    CHECK(answer(&asked, PMIX_PROC_STATE_STATUS)->data.state == PMIX_PROC_STATE_ABORTED_BY_SIG);
    forget(&asked);
    PMIX_INFO_DESTRUCT(&of_last);
    CHECK_OK(PMIx_Finalize(NULL, 0));
    printf("OK rank %u\n", me.rank);
}

/* A job on several nodes: whole tables, or an honest status. Debuggers live on the first one.
 * rows: Q16 Q17 Q18 Q20
 * proves: PMIx_Query_info PMIX_QUERY_PROC_TABLE PMIX_QUERY_LOCAL_PROC_TABLE PMIX_QUERY_MEMORY_USAGE PMIX_NSPACE server
 * proves: PMIx_Query_info PMIX_PROC_PID PMIX_PROCID server
 * proves: PMIx_Query_info PMIX_QUERY_PROC_RESOURCE_USAGE PMIX_QUERY_NODE_RESOURCE_USAGE PMIX_NSPACE server
 * proves: PMIx_Query_info PMIX_SERVER_URI PMIX_DAEMON_MEMORY PMIX_CLIENT_AVG_MEMORY server */
static void tables(int argc, char** argv) {
    (void)argc, (void)argv;
    start();
    pid_t pid = getpid();
    pmix_value_t mine;
    PMIX_VALUE_LOAD(&mine, &pid, PMIX_PID);
    CHECK_OK(PMIx_Put(PMIX_GLOBAL, "test.pid", &mine));
    CHECK_OK(PMIx_Commit());
    fence(true);

    pmix_info_t of_job;
    PMIX_INFO_LOAD(&of_job, PMIX_NSPACE, me.nspace, PMIX_STRING);
    struct asked asked = ASK(&of_job, PMIX_QUERY_PROC_TABLE);
    CHECK_OK(asked.status);
    const pmix_data_array_t* table = answer(&asked, PMIX_QUERY_PROC_TABLE)->data.darray;
    CHECK(table->type == PMIX_PROC_INFO && table->size == job_size);
    for (uint32_t rank = 0; rank < job_size; rank++) {
        const pmix_proc_info_t* row = (const pmix_proc_info_t*)table->array + rank;
        CHECK(row->proc.rank == rank && row->pid == pid_of(rank));
        CHECK(row->hostname && row->executable_name && strstr(row->executable_name, "client_queries") != NULL);
        /* As on one node: the program that runs, and the state of its connection. */
        CHECK(row->executable_name[0] == '/' && row->state == PMIX_PROC_STATE_CONNECTED);
        CHECK((strcmp(row->hostname, ((const pmix_proc_info_t*)table->array + me.rank)->hostname) == 0) ==
              same_node(me.rank, rank));
    }
    forget(&asked);

    asked = ASK(&of_job, PMIX_QUERY_MEMORY_USAGE);
    CHECK_OK(asked.status);
    table = answer(&asked, PMIX_QUERY_MEMORY_USAGE)->data.darray;
    CHECK(table->size == job_size);
#ifdef PMIX_PROC_STATS /* headers of OpenPMIx 6.1 have no statistics */
    CHECK(table->type == PMIX_PROC_STATS);
    for (uint32_t rank = 0; rank < job_size; rank++) {
        const pmix_proc_stats_t* row = (const pmix_proc_stats_t*)table->array + rank;
        CHECK(row->proc.rank == rank && row->pid == pid_of(rank) && row->rss > 0.1F);
    }
#endif
    forget(&asked);

    /* What all processes and all nodes of the job use, in the order of the nodes. */
    asked = ASK(&of_job, PMIX_QUERY_PROC_RESOURCE_USAGE, PMIX_QUERY_NODE_RESOURCE_USAGE);
    CHECK_OK(asked.status);
    table = answer(&asked, PMIX_QUERY_PROC_RESOURCE_USAGE)->data.darray;
    CHECK(table->type == PMIX_INFO && table->size == job_size);
    for (size_t i = 0; i < table->size; i++) {
        const pmix_info_t* sample = (const pmix_info_t*)table->array + i;
        CHECK(PMIX_CHECK_KEY(sample, PMIX_PROC_RESOURCE_USAGE));
        const pmix_data_array_t* figures = sample->value.data.darray;
        const pmix_proc_t* proc = found(figures->array, figures->size, PMIX_PROCID)->data.proc;
        CHECK(found(figures->array, figures->size, PMIX_PROC_PID)->data.pid == pid_of(proc->rank));
    }
    table = answer(&asked, PMIX_QUERY_NODE_RESOURCE_USAGE)->data.darray;
    CHECK(table->type == PMIX_INFO && table->size == nodes);
    for (size_t i = 0; i < table->size; i++) {
        const pmix_info_t* sample = (const pmix_info_t*)table->array + i;
        char name[32];
        snprintf(name, sizeof name, "node%zu", i + 1);
        CHECK(PMIX_CHECK_KEY(sample, PMIX_NODE_RESOURCE_USAGE));
        const pmix_data_array_t* figures = sample->value.data.darray;
        CHECK(strcmp(found(figures->array, figures->size, PMIX_HOSTNAME)->data.string, name) == 0);
    }
    forget(&asked);

    pmix_info_t narrowed[2];
    PMIX_INFO_LOAD(&narrowed[0], PMIX_NSPACE, me.nspace, PMIX_STRING);

    for (uint32_t rank = 0; rank < job_size; rank++) { /* of one process, wherever it is */
        pmix_proc_t proc = rank_of_job(rank);
        pmix_info_t of_proc;
        PMIX_INFO_LOAD(&of_proc, PMIX_PROCID, &proc, PMIX_PROC);
        asked = ASK(&of_proc, PMIX_PROC_PID, PMIX_QUERY_MEMORY_USAGE, PMIX_QUERY_PROC_RESOURCE_USAGE);
        CHECK_OK(asked.status);
        CHECK(answer(&asked, PMIX_PROC_PID)->data.pid == pid_of(rank));
        CHECK(answer(&asked, PMIX_QUERY_PROC_RESOURCE_USAGE)->data.darray->size == 1);
        table = answer(&asked, PMIX_QUERY_MEMORY_USAGE)->data.darray;
        CHECK(table->size == 1);
#ifdef PMIX_PROC_STATS
        CHECK(((const pmix_proc_stats_t*)table->array)->proc.rank == rank);
#endif
        forget(&asked);
        PMIX_INFO_DESTRUCT(&of_proc);
    }

    /* Of each node by its name: its server, and the processes there. */
    struct asked own = ASK(NULL, PMIX_SERVER_URI, PMIX_DAEMON_MEMORY);
    CHECK_OK(own.status);
    size_t total = 0, same = 0;
    for (uint32_t n = 1; n <= nodes; n++) {
        char name[32];
        snprintf(name, sizeof name, "node%u", n);
        PMIX_INFO_LOAD(&narrowed[1], PMIX_HOSTNAME, name, PMIX_STRING);
        char* keys[] = {PMIX_SERVER_URI, PMIX_DAEMON_MEMORY, PMIX_CLIENT_AVG_MEMORY, PMIX_QUERY_LOCAL_PROC_TABLE, NULL};
        pmix_query_t query = {keys, narrowed, 2};
        asked.status = PMIx_Query_info(&query, 1, &asked.infos, &asked.n);
        CHECK_OK(asked.status);
        same += strcmp(answered_text(&asked, PMIX_SERVER_URI), answered_text(&own, PMIX_SERVER_URI)) == 0;
        CHECK(answer(&asked, PMIX_DAEMON_MEMORY)->data.fval > 0.1F);
        CHECK(answer(&asked, PMIX_CLIENT_AVG_MEMORY)->data.fval > 0.1F);
        table = answer(&asked, PMIX_QUERY_LOCAL_PROC_TABLE)->data.darray;
        for (size_t i = 0; i < table->size; i++) {
            const pmix_proc_info_t* row = (const pmix_proc_info_t*)table->array + i;
            CHECK(strcmp(row->hostname, name) == 0 && row->pid == pid_of(row->proc.rank));
        }
        total += table->size;
        forget(&asked);
        PMIX_INFO_DESTRUCT(&narrowed[1]);
    }
    CHECK(same == 1);
    CHECK(total == job_size);
    PMIX_INFO_LOAD(&narrowed[1], PMIX_HOSTNAME, "nowhere", PMIX_STRING);
    char* uri[] = {PMIX_SERVER_URI, NULL};
    pmix_query_t query = {uri, narrowed, 2};
    CHECK_STATUS(PMIx_Query_info(&query, 1, &asked.infos, &asked.n), PMIX_ERR_NOT_FOUND);
    forget(&own);
    PMIX_INFO_DESTRUCT(&narrowed[0]);
    PMIX_INFO_DESTRUCT(&narrowed[1]);
    PMIX_INFO_DESTRUCT(&of_job);
    fence(false); /* nobody goes while others look */
    finish();
}

/* The memory of all processes of the job as one row, as two, and as three.
 * rows: Q18
 * proves: PMIx_Query_info PMIX_QUERY_MEMORY_USAGE PMIX_QUERY_REPORT_AVG PMIX_QUERY_REPORT_MINMAX server */
static void summary(int argc, char** argv) {
    (void)argc, (void)argv;
    start();
    fence(false);
    for (int which = 1; which <= 3; which++) { /* bit 0: the mean; bit 1: the least and the greatest */
        pmix_info_t narrowed[3];
        bool average = which & 1, minmax = which & 2;
        PMIX_INFO_LOAD(&narrowed[0], PMIX_NSPACE, me.nspace, PMIX_STRING);
        PMIX_INFO_LOAD(&narrowed[1], PMIX_QUERY_REPORT_AVG, &average, PMIX_BOOL);
        PMIX_INFO_LOAD(&narrowed[2], PMIX_QUERY_REPORT_MINMAX, &minmax, PMIX_BOOL);
        char* keys[] = {PMIX_QUERY_MEMORY_USAGE, NULL};
        pmix_query_t query = {keys, narrowed, 3};
        struct asked asked = {PMIX_ERROR, NULL, 0};
        asked.status = PMIx_Query_info(&query, 1, &asked.infos, &asked.n);
        if (nodes > 1) { /* nobody makes sums over several nodes here, and those of one would be wrong */
            CHECK_STATUS(asked.status, PMIX_ERR_NOT_FOUND);
        } else {
            CHECK_OK(asked.status);
            const pmix_data_array_t* rows = answer(&asked, PMIX_QUERY_MEMORY_USAGE)->data.darray;
            CHECK(rows->size == (size_t)(average + 2 * minmax));
#ifdef PMIX_PROC_STATS
            const pmix_proc_stats_t* row = rows->array;
            CHECK(rows->type == PMIX_PROC_STATS);
            for (size_t i = 0; i < rows->size; i++) {
                CHECK(row[i].proc.rank == PMIX_RANK_WILDCARD && strcmp(row[i].proc.nspace, me.nspace) == 0);
                CHECK(row[i].rss > 0.1F && row[i].vsize >= row[i].rss && row[i].num_threads >= 1);
            }
            if (minmax) CHECK(row[average].rss <= row[average + 1].rss && row[average].pss <= row[average + 1].pss);
            if (which == 3) CHECK(row[1].rss <= row[0].rss && row[0].rss <= row[2].rss);
            if (which == 3) CHECK(row[1].vsize <= row[0].vsize && row[0].vsize <= row[2].vsize);
#endif
        }
        forget(&asked);
        for (int i = 0; i < 3; i++) PMIX_INFO_DESTRUCT(&narrowed[i]);
    }
    fence(false);
    finish();
}

/* Each key that the server reports as supported, by itself: answered, with the type that it is to have. rows: Q8 Q19 */
static void each(int argc, char** argv) {
    static const struct {
        const char* key;
        pmix_data_type_t type;
    } rows[] = {{PMIX_QUERY_STABLE_ABI_VERSION, PMIX_STRING},
                {PMIX_QUERY_PROVISIONAL_ABI_VERSION, PMIX_STRING},
                {PMIX_QUERY_SUPPORTED_KEYS, PMIX_STRING},
                {PMIX_QUERY_NAMESPACES, PMIX_STRING},
                {PMIX_QUERY_NAMESPACE_INFO, PMIX_DATA_ARRAY},
                {PMIX_QUERY_JOB_STATUS, PMIX_STATUS},
                {PMIX_QUERY_PROC_TABLE, PMIX_DATA_ARRAY},
                {PMIX_QUERY_LOCAL_PROC_TABLE, PMIX_DATA_ARRAY},
                {PMIX_QUERY_NUM_GROUPS, PMIX_SIZE},
                {PMIX_QUERY_GROUP_NAMES, PMIX_DATA_ARRAY},
                {PMIX_QUERY_GROUP_MEMBERSHIP, PMIX_DATA_ARRAY},
                {PMIX_CMD_LINE, PMIX_STRING},
                {PMIX_QUERY_NUM_PSETS, PMIX_SIZE},
                {PMIX_QUERY_PSET_NAMES, PMIX_STRING},
                {PMIX_QUERY_PSET_MEMBERSHIP, PMIX_DATA_ARRAY},
                {PMIX_QUERY_AVAIL_SERVERS, PMIX_DATA_ARRAY},
                {PMIX_QUERY_MEMORY_USAGE, PMIX_DATA_ARRAY},
                {PMIX_QUERY_PROC_RESOURCE_USAGE, PMIX_DATA_ARRAY},
                {PMIX_QUERY_NODE_RESOURCE_USAGE, PMIX_DATA_ARRAY},
                {PMIX_QUERY_SPAWN_SUPPORT, PMIX_STRING},
                {PMIX_QUERY_DEBUG_SUPPORT, PMIX_STRING},
                {PMIX_DAEMON_MEMORY, PMIX_FLOAT},
                {PMIX_CLIENT_AVG_MEMORY, PMIX_FLOAT},
                {PMIX_AVAIL_PHYS_MEMORY, PMIX_UINT64},
                {PMIX_SERVER_URI, PMIX_STRING},
                {PMIX_PROC_PID, PMIX_PID},
                {PMIX_PROC_STATE_STATUS, PMIX_PROC_STATE},
                {PMIX_JOB_SIZE, PMIX_UINT32},
                {PMIX_NUM_NODES, PMIX_UINT32},
                {PMIX_JOB_NUM_APPS, PMIX_UINT32},
                {"wireup.reports", PMIX_DATA_ARRAY}}; /* the user's own: this process has the server's user */
    /* Others in the list: two that are asked in a form of their own (support), what only a process that has ended has
     * (failed), and qualifiers that pmixrun names. */
    static const char* const apart[] = {PMIX_QUERY_ATTRIBUTE_SUPPORT,
                                        PMIX_QUERY_SUPPORTED_QUALIFIERS,
                                        PMIX_EXIT_CODE,
                                        PMIX_NSPACE,
                                        PMIX_PROCID,
                                        PMIX_RANK,
                                        PMIX_HOSTNAME,
                                        PMIX_NODEID};
    (void)argc, (void)argv;
    start();
    pmix_proc_t all = rank_of_job(PMIX_RANK_WILDCARD);
    pmix_info_t* results = NULL;
    size_t nresults = 0;
    CHECK_OK(PMIx_Group_construct("each.group", &all, 1, NULL, 0, &results, &nresults));
    if (results) PMIX_INFO_FREE(results, nresults);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        pmix_info_t narrowed[4];
        PMIX_INFO_LOAD(&narrowed[0], PMIX_NSPACE, me.nspace, PMIX_STRING);
        PMIX_INFO_LOAD(&narrowed[1], PMIX_RANK, &me.rank, PMIX_PROC_RANK);
        PMIX_INFO_LOAD(&narrowed[2], PMIX_GROUP_ID, "each.group", PMIX_STRING);
        PMIX_INFO_LOAD(&narrowed[3], PMIX_PSET_NAME, "each.set", PMIX_STRING);
        char* keys[] = {(char*)rows[i].key, NULL};
        pmix_query_t query = {keys, narrowed, 4};
        struct asked asked = {PMIX_ERROR, NULL, 0};
        asked.status = PMIx_Query_info(&query, 1, &asked.infos, &asked.n);
        if (asked.status != PMIX_SUCCESS) printf("%s\n", rows[i].key);
        CHECK_OK(asked.status);
        CHECK(asked.n == 1 && strcmp(asked.infos[0].key, rows[i].key) == 0);
        CHECK(asked.infos[0].value.type == rows[i].type);
        if (strcmp(rows[i].key, PMIX_QUERY_SPAWN_SUPPORT) == 0) {
            CHECK(in_list(asked.infos[0].value.data.string, PMIX_MAPBY));
            CHECK(!in_list(asked.infos[0].value.data.string, PMIX_USERID)); /* the library adds it */
        }
        forget(&asked);
        for (int k = 0; k < 4; k++) PMIX_INFO_DESTRUCT(&narrowed[k]);
    }
    struct asked asked = ASK(NULL, PMIX_QUERY_SUPPORTED_KEYS); /* none is missing above */
    CHECK_OK(asked.status);
    char* list = strdup(answered_text(&asked, PMIX_QUERY_SUPPORTED_KEYS));
    for (char *rest = list, *key; (key = strtok_r(rest, ",", &rest)) != NULL;) {
        bool known = false;
        for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) known |= strcmp(key, rows[i].key) == 0;
        for (size_t i = 0; i < sizeof apart / sizeof *apart; i++) known |= strcmp(key, apart[i]) == 0;
        if (!known) printf("not tried: %s\n", key);
        CHECK(known);
    }
    free(list);
    forget(&asked);
    fence(false);
    finish();
}

struct called {
    struct signal_box box;
    char namespaces[512];
};

static void on_answer(pmix_status_t status, pmix_info_t* infos, size_t n, void* cbdata, pmix_release_cbfunc_t release,
                      void* release_data) {
    struct called* called = cbdata;
    const pmix_value_t* value = found(infos, n, PMIX_QUERY_NAMESPACES);
    if (value) snprintf(called->namespaces, sizeof called->namespaces, "%s", value->data.string);
    if (release) release(release_data);
    box_signal(&called->box, status);
}

/* What nobody knows, what only some know, and bad questions. rows: Q4 Q9 Q10 */
static void refusals(int argc, char** argv) {
    (void)argc, (void)argv;
    start();
    pmix_info_t* infos = (pmix_info_t*)&infos;
    size_t n = 77;
    struct asked asked = ASK(NULL, "nobody.knows.this");
    CHECK_STATUS(asked.status, PMIX_ERR_NOT_FOUND);
    asked = ASK(NULL, "nobody.knows.this", PMIX_QUERY_NAMESPACES);
    CHECK_STATUS(asked.status, PMIX_ERR_PARTIAL_SUCCESS);
    CHECK(in_list(answered_text(&asked, PMIX_QUERY_NAMESPACES), me.nspace));
    forget(&asked);
    pmix_info_t of_nobody;
    PMIX_INFO_LOAD(&of_nobody, PMIX_NSPACE, "no-such-job", PMIX_STRING);
    asked = ASK(&of_nobody, PMIX_QUERY_LOCAL_PROC_TABLE);
    CHECK_STATUS(asked.status, PMIX_ERR_NOT_FOUND);
    PMIX_INFO_DESTRUCT(&of_nobody);
    CHECK_STATUS(PMIx_Query_info(NULL, 1, &infos, &n), PMIX_ERR_BAD_PARAM);

    struct called called = {SIGNAL_BOX, ""};
    pmix_query_t query = {(char*[]){PMIX_QUERY_NAMESPACES, NULL}, NULL, 0};
    CHECK_OK(PMIx_Query_info_nb(&query, 1, on_answer, &called));
    CHECK(box_wait(&called.box, 1, 60) && called.box.status == PMIX_SUCCESS);
    CHECK(in_list(called.namespaces, me.nspace));
    finish();
}

int main(int argc, char** argv) {
    static const struct test_case cases[] = {{"support", support},     {"jobs", jobs},       {"lost", lost},
                                             {"processes", processes}, {"tables", tables},   {"failed", failed},
                                             {"node_lost", node_lost}, {"summary", summary}, {"each", each},
                                             {"refusals", refusals},   {"by_node", by_node}};
    nodes = argc > 2 ? (uint32_t)atoi(argv[2]) : 1;
    RUN_CASE(cases);
    return 0;
}

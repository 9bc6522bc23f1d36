/* SPDX-License-Identifier: BSD-3-Clause */
/* binding: what a job's data tell of the CPUs that its processes are bound to (run under pmixrun).
 * usage: binding told BINDTO MAPBY RANKBY | spawned     The children are this program too. BINDTO none: nobody is. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <pmix_server.h>

#include "spawn_check.h"

enum { TEXT = 8192 };

/* --- reading ------------------------------------------------------------------------------------------------------ */

/* Of the data that the server has; NULL: there is none. */
static pmix_value_t* datum(pmix_rank_t rank, const char* key) {
    const pmix_proc_t proc = rank_of_job(rank);
    pmix_value_t* value = NULL;
    const pmix_status_t status = PMIx_Get(&proc, key, NULL, 0, &value);
    CHECK(status == PMIX_SUCCESS || status == PMIX_ERR_NOT_FOUND);
    return status == PMIX_SUCCESS ? value : NULL;
}

static bool is_text(pmix_rank_t rank, const char* key, const char* wanted) {
    pmix_value_t* value = datum(rank, key);
    if (!value) return wanted == NULL;
    CHECK(value->type == PMIX_STRING && value->data.string);
    const bool same = wanted && strcmp(value->data.string, wanted) == 0;
    PMIX_VALUE_RELEASE(value);
    return same;
}

static bool text_of(pmix_rank_t rank, const char* key, char text[TEXT]) {
    pmix_value_t* value = datum(rank, key);
    text[0] = 0;
    if (!value) return false;
    CHECK(value->type == PMIX_STRING && value->data.string);
    snprintf(text, TEXT, "%s", value->data.string);
    PMIX_VALUE_RELEASE(value);
    return true;
}

/* What the kernel has, in the form of PMIX_CPUSET. */
static void own_cpus(char text[TEXT]) {
    cpu_set_t cpus;
    CHECK(sched_getaffinity(0, sizeof cpus, &cpus) == 0);
    size_t used = (size_t)snprintf(text, TEXT, "hwloc:");
    for (int first = 0, last; first < CPU_SETSIZE; first = last + 1) {
        last = first;
        if (!CPU_ISSET(first, &cpus)) continue;
        while (last + 1 < CPU_SETSIZE && CPU_ISSET(last + 1, &cpus)) last++;
        used += (size_t)snprintf(text + used, TEXT - used, "%s%d", text[used - 1] == ':' ? "" : ",", first);
        if (last > first) used += (size_t)snprintf(text + used, TEXT - used, "-%d", last);
    }
}

static void put_text(const char* key, char* text) {
    pmix_value_t value = {.type = PMIX_STRING, .data.string = text};
    CHECK_OK(PMIx_Put(PMIX_GLOBAL, key, &value));
}

/* --- one rank's data ---------------------------------------------------------------------------------------------- */

/* The calls agree with the data. */
static void look_at_myself(const char* cpus) {
    pmix_value_t holder = {.type = PMIX_PROC_CPUSET, .data.cpuset = calloc(1, sizeof(pmix_cpuset_t))};
    pmix_cpuset_t* set = holder.data.cpuset;
    char *text = NULL, *locality = NULL, told[TEXT];
    CHECK_OK(PMIx_Get_cpuset(set, PMIX_CPUBIND_PROCESS));
    CHECK_OK(PMIx_server_generate_cpuset_string(set, &text));
    CHECK(strcmp(text, cpus) == 0);
    CHECK_OK(PMIx_server_generate_locality_string(set, &locality));
    if (text_of(me.rank, PMIX_LOCALITY_STRING, told)) CHECK(locality && strcmp(locality, told) == 0);
    free(locality);
    free(text);
    PMIX_VALUE_DESTRUCT(&holder);
}

static void bitmap_is(pmix_rank_t rank, const char* cpus) {
    pmix_value_t* value = datum(rank, PMIX_CPUSET_BITMAP);
    char* text = NULL;
    CHECK(value && value->type == PMIX_PROC_CPUSET && value->data.cpuset);
    CHECK_OK(PMIx_server_generate_cpuset_string(value->data.cpuset, &text));
    CHECK(strcmp(text, cpus) == 0);
    free(text);
    PMIX_VALUE_RELEASE(value);
}

/* "SK1" of a locality; a process in several packages has none. */
static bool package_of(pmix_rank_t rank, char package[32]) {
    char locality[TEXT];
    if (!text_of(rank, PMIX_LOCALITY_STRING, locality)) return false;
    const char* at = strstr(locality, ":SK");
    if (!at) return false;
    snprintf(package, 32, "%.*s", (int)strcspn(at + 1, ":"), at + 1);
    return strpbrk(package, ",-") == NULL;
}

static void package_rank_is_right(pmix_rank_t rank) {
    char own[32], other[32];
    pmix_value_t* value = datum(rank, PMIX_PACKAGE_RANK);
    const bool wanted = package_of(rank, own);
    CHECK(wanted == (value != NULL));
    if (!value) return;
    uint16_t before = 0;
    for (pmix_rank_t r = 0; r < rank; r++)
        before += same_node(r, rank) && package_of(r, other) && strcmp(own, other) == 0;
    CHECK(value->type == PMIX_UINT16 && value->data.uint16 == before);
    PMIX_VALUE_RELEASE(value);
}

static void rank_is_right(pmix_rank_t rank, bool bound) {
    char cpus[TEXT], mine[TEXT], its[TEXT];
    pmix_locality_t shared = 0;
    CHECK(text_of(rank, "own.cpus", cpus));
    CHECK(is_text(rank, PMIX_CPUSET, bound ? cpus : NULL));
    if (!bound) {
        CHECK(!datum(rank, PMIX_CPUSET_BITMAP) && !datum(rank, PMIX_LOCALITY_STRING) &&
              !datum(rank, PMIX_PACKAGE_RANK));
        return;
    }
    bitmap_is(rank, cpus);
    package_rank_is_right(rank);
    CHECK(text_of(rank, PMIX_LOCALITY_STRING, its) && text_of(me.rank, PMIX_LOCALITY_STRING, mine));
    CHECK_OK(PMIx_Get_relative_locality(mine, its, &shared));
    CHECK(is_text(me.rank, PMIX_CPUSET, cpus) == (strcmp(mine, its) == 0));
    CHECK(((shared & PMIX_LOCALITY_SHARE_HWTHREAD) != 0) || strcmp(mine, its) != 0);
}

/* --- nodes and the job -------------------------------------------------------------------------------------------- */

static pmix_value_t* of_node(const char* host, const char* key) {
    const pmix_proc_t job = rank_of_job(PMIX_RANK_WILDCARD);
    pmix_info_t info[2];
    pmix_value_t* value = NULL;
    PMIX_INFO_LOAD(&info[0], PMIX_NODE_INFO, NULL, PMIX_BOOL);
    PMIX_INFO_LOAD(&info[1], PMIX_HOSTNAME, host, PMIX_STRING);
    const pmix_status_t status = PMIx_Get(&job, key, info, host ? 2 : 0, &value);
    CHECK(status == PMIX_SUCCESS || status == PMIX_ERR_NOT_FOUND);
    PMIX_INFO_DESTRUCT(&info[0]);
    PMIX_INFO_DESTRUCT(&info[1]);
    return status == PMIX_SUCCESS ? value : NULL;
}

/* In the order of the peers. NULL: the node of this process, without its name. */
static void cpusets_are_right(const char* host, bool bound) {
    pmix_value_t *sets = of_node(host, PMIX_LOCAL_CPUSETS), *peers = of_node(host, PMIX_LOCAL_PEERS);
    CHECK((sets != NULL) == bound && peers);
    char* rest = peers->data.string;
    for (size_t i = 0; bound && i < sets->data.darray->size; i++) {
        char own[TEXT];
        CHECK(sets->type == PMIX_DATA_ARRAY && sets->data.darray->type == PMIX_STRING && *rest);
        CHECK(text_of((pmix_rank_t)strtoul(rest, &rest, 10), "own.cpus", own));
        CHECK(strcmp(((char**)sets->data.darray->array)[i], own) == 0);
        if (*rest == ',') rest++;
    }
    CHECK(!bound || !*rest);
    if (sets) PMIX_VALUE_RELEASE(sets);
    PMIX_VALUE_RELEASE(peers);
}

/* told BINDTO MAPBY RANKBY: of every rank to every rank. rows: K28 */
static void told(int argc, char** argv) {
    char cpus[TEXT], line[TEXT];
    CHECK(argc >= 3);
    const bool bound = strcmp(argv[0], "none") != 0;
    start();
    own_cpus(cpus);
    put_text("own.cpus", cpus);
    CHECK_OK(PMIx_Commit());
    fence(true);
    CHECK(is_text(PMIX_RANK_WILDCARD, PMIX_BINDTO, argv[0]));
    CHECK(is_text(PMIX_RANK_WILDCARD, PMIX_MAPBY, argv[1]));
    CHECK(is_text(PMIX_RANK_WILDCARD, PMIX_RANKBY, argv[2]));
    CHECK(job_u32(PMIX_NUM_SLOTS) == job_u32(PMIX_MAX_PROCS));
    CHECK(text_of(PMIX_RANK_WILDCARD, PMIX_CMD_LINE, line) && strstr(line, " told ") && strstr(line, argv[1]));
    CHECK((strstr(line, "pmixrun") != NULL) == (strstr(line, " -n ") != NULL));
    look_at_myself(cpus);
    for (pmix_rank_t rank = 0; rank < job_size; rank++) {
        char host[TEXT];
        rank_is_right(rank, bound);
        CHECK(text_of(rank, PMIX_HOSTNAME, host));
        cpusets_are_right(host, bound);
    }
    cpusets_are_right(NULL, bound);
    fence(false);
    if (argc > 3)
        child_done(argv[3]);
    else
        finish();
}

/* --- spawned jobs ------------------------------------------------------------------------------------------------- */

static void directive(pmix_info_t* info, const char* key, const char* value, bool required) {
    PMIX_INFO_LOAD(info, key, value, PMIX_STRING);
    info->flags = required ? PMIX_INFO_REQD : 0;
}

/* Up to two of these directives, marked with ! where they are required; the children look at what they got. */
static void spawn_told(const char* flag, const char* key, const char* value, const char* key2, const char* value2,
                       const char* to, const char* map, const char* ranks) {
    pmix_app_t app;
    pmix_info_t info[2];
    pmix_nspace_t nspace;
    app_of(&app, 3, "told", to, map, ranks, flag, NULL);
    directive(&info[0], key, value + (value[0] == '!'), value[0] == '!');
    if (key2) directive(&info[1], key2, value2 + (value2[0] == '!'), value2[0] == '!');
    CHECK_OK(spawn(info, key2 ? 2 : 1, &app, 1, nspace));
    await_children(flag, 3);
}

static void refused(const char* key, const char* value, int count, pmix_status_t wanted) {
    pmix_app_t app;
    pmix_info_t info;
    pmix_nspace_t nspace;
    app_of(&app, count, "told", "never", "never", "never", NULL);
    directive(&info, key, value, true);
    CHECK_STATUS(spawn(&info, 1, &app, 1, nspace), wanted);
}

/* Two applications, of which the second has a binding of its own: the job has that of the first. */
static void spawn_two(void) {
    pmix_app_t apps[2];
    pmix_info_t none;
    pmix_nspace_t nspace;
    static const char* const wanted[] = {"core", "none"};
    app_of(&apps[0], 1, "seen", "two", NULL);
    app_of(&apps[1], 1, "seen", "two", NULL);
    app_infos(&apps[1], 1);
    directive(&apps[1].info[0], PMIX_BINDTO, "none", true);
    directive(&none, PMIX_BINDTO, "core", true);
    CHECK_OK(spawn(&none, 1, apps, 2, nspace));
    for (uint32_t app = 0; app < 2; app++) {
        pmix_proc_t job, proc;
        pmix_info_t info[2];
        pmix_value_t* value = NULL;
        PMIX_LOAD_PROCID(&job, nspace, PMIX_RANK_WILDCARD);
        PMIX_LOAD_PROCID(&proc, nspace, app);
        PMIX_INFO_LOAD(&info[0], PMIX_APP_INFO, NULL, PMIX_BOOL);
        PMIX_INFO_LOAD(&info[1], PMIX_APPNUM, &app, PMIX_UINT32);
        CHECK_OK(PMIx_Get(&job, PMIX_BINDTO, info, 2, &value));
        CHECK(value->type == PMIX_STRING && strcmp(value->data.string, wanted[app]) == 0);
        PMIX_VALUE_RELEASE(value);
        CHECK_OK(PMIx_Get(&job, PMIX_BINDTO, NULL, 0, &value));
        CHECK(strcmp(value->data.string, "core") == 0);
        PMIX_VALUE_RELEASE(value);
        CHECK_STATUS(PMIx_Get(&proc, PMIX_CPUSET, NULL, 0, &value), app == 0 ? PMIX_SUCCESS : PMIX_ERR_NOT_FOUND);
        if (app == 0) PMIX_VALUE_RELEASE(value);
    }
    say_seen("two");
    await_children("two", 2);
}

/* rows: C5 C7 */
static void spawned(int argc, char** argv) {
    (void)argc, (void)argv;
    start();
    if (me.rank == 0) {
        cpu_set_t ours;
        CHECK(sched_getaffinity(0, sizeof ours, &ours) == 0);
        spawn_told("plain", PMIX_MAPBY, "!slot", NULL, NULL, "none", "slot", "slot");
        spawn_told("core", PMIX_BINDTO, "!core", NULL, NULL, "core", "slot", "slot");
        spawn_told("thread", PMIX_BINDTO, "HwThread:overload-allowed", PMIX_MAPBY, "!node", "hwthread", "node", "node");
        spawn_told("numa", PMIX_BINDTO, "!numa", PMIX_PPR, "!3:node", "numa", "ppr:3:node", "slot");
        spawn_told("ppr", PMIX_MAPBY, "!ppr:3:node", PMIX_RANKBY, "!node", "none", "ppr:3:node", "node");
        /* What is not required is passed over, and what is required beside it holds. */
        spawn_told("fridge", PMIX_BINDTO, "fridge", PMIX_MAPBY, "fridge", "none", "slot", "slot");
        spawn_told("ranks", PMIX_MAPBY, "!node", PMIX_RANKBY, "core", "none", "node", "node");
        spawn_told("maps", PMIX_MAPBY, "core", PMIX_RANKBY, "!node", "none", "slot", "node");
        spawn_two();
        refused(PMIX_BINDTO, "fridge", 1, PMIX_ERR_NOT_SUPPORTED);
        refused(PMIX_BINDTO, "core:some", 1, PMIX_ERR_NOT_SUPPORTED);
        refused(PMIX_MAPBY, "core", 1, PMIX_ERR_NOT_SUPPORTED);
        refused(PMIX_RANKBY, "fill", 1, PMIX_ERR_NOT_SUPPORTED);
        refused(PMIX_PPR, "0:node", 1, PMIX_ERR_NOT_SUPPORTED);
        const int too_many = (CPU_COUNT(&ours) + 1) * 3; /* on three nodes too */
        if (too_many < 300) refused(PMIX_BINDTO, "hwthread:no-overload", too_many, PMIX_ERR_JOB_INSUFFICIENT_RESOURCES);
    }
    fence(false);
    finish();
}

int main(int argc, char** argv) {
    static const struct test_case cases[] = {{"told", told}, {"spawned", spawned}, {"seen", seen}};
    program = argv[0];
    RUN_CASE(cases);
    return 0;
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* spawn_binding: on which CPUs spawned processes run, and how their ranks go round the nodes (run under pmixrun).
 * usage: spawn_binding cpus|ranks      The children are this program too. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <sched.h>

#include "spawn_check.h"

static uint32_t first_of(const cpu_set_t* cpus) {
    uint32_t cpu = 0;
    while (!CPU_ISSET(cpu, cpus)) cpu++;
    return cpu;
}

/* Which CPUs a CPU shares its core with, as the kernel writes it; "" where it does not say. */
static void core_name(uint32_t cpu, char* text, size_t size) {
    char path[96];
    snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%u/topology/thread_siblings_list", cpu);
    FILE* file = fopen(path, "r");
    if (!file || !fgets(text, (int)size, file)) text[0] = 0;
    if (file) fclose(file);
}

/* bound FLAG: tells how many CPUs it has, and the first of them; all are of one core if it has "core" as another word
 */
static void bound(int argc, char** argv) {
    cpu_set_t cpus;
    CHECK(sched_getaffinity(0, sizeof cpus, &cpus) == 0);
    if (argc > 1) {
        char core[1024], other[1024];
        core_name(first_of(&cpus), core, sizeof core);
        for (uint32_t cpu = 0; cpu < CPU_SETSIZE; cpu++) {
            if (!CPU_ISSET(cpu, &cpus)) continue;
            core_name(cpu, other, sizeof other);
            CHECK(strcmp(core, other) == 0 && (core[0] || CPU_COUNT(&cpus) == 1));
        }
    }
    start();
    CHECK_OK(put_u32(PMIX_GLOBAL, "cpus", (uint32_t)CPU_COUNT(&cpus)));
    CHECK_OK(put_u32(PMIX_GLOBAL, "first", first_of(&cpus)));
    CHECK_OK(PMIx_Commit());
    be_seen(argv[0]);
    child_done(argv[0]);
}

static uint32_t told(const char* nspace, pmix_rank_t rank, const char* key) {
    pmix_proc_t proc;
    uint32_t number = 0;
    PMIX_LOAD_PROCID(&proc, nspace, rank);
    CHECK_OK(get_u32(&proc, key, 60, &number));
    return number;
}

static void must(pmix_info_t* info, const char* key, const char* value) {
    PMIX_INFO_LOAD(info, key, value, PMIX_STRING);
    info->flags = PMIX_INFO_REQD;
}

/* `count` processes with these options; the caller looks at them, and calls seen_all(). NULL: none. */
static void spawn_bound(const char* flag, int count, const char* list, const char* to, pmix_nspace_t nspace) {
    pmix_app_t app;
    pmix_info_t info[2];
    size_t ninfo = 0;
    app_of(&app, count, "bound", flag, to && strcmp(to, "core") == 0 ? "core" : NULL, NULL);
    if (list) must(&info[ninfo++], PMIX_CPU_LIST, list);
    if (to) must(&info[ninfo++], PMIX_BINDTO, to);
    CHECK_OK(spawn(info, ninfo, &app, 1, nspace));
}

static void seen_all(const char* flag, uint32_t count) {
    say_seen(flag);
    await_children(flag, count);
}

static void refused(const char* key, const char* value, pmix_status_t wanted) {
    pmix_app_t app;
    pmix_info_t info;
    pmix_nspace_t nspace;
    app_of(&app, 1, "bound", "never", NULL);
    must(&info, key, value);
    CHECK_STATUS(spawn(&info, 1, &app, 1, nspace), wanted);
}

/* Ours is pmixrun's own share of the machine. rows: C5 */
static void cpus(int argc, char** argv) {
    (void)argc, (void)argv;
    start();
    if (me.rank == 0) {
        cpu_set_t ours, left;
        char list[64];
        pmix_nspace_t nspace;
        CHECK(sched_getaffinity(0, sizeof ours, &ours) == 0);
        uint32_t count = (uint32_t)CPU_COUNT(&ours), first = first_of(&ours);
        left = ours;
        CPU_CLR(first, &left);
        uint32_t second = count > 1 ? first_of(&left) : first;

        spawn_bound("none", 1, NULL, "none", nspace);
        CHECK(told(nspace, 0, "cpus") == count);
        seen_all("none", 1);
        /* One CPU; some of a list are not there to be had. */
        snprintf(list, sizeof list, "%u-%u,1022-1023", second, second);
        spawn_bound("list", 2, list, NULL, nspace);
        for (pmix_rank_t rank = 0; rank < 2; rank++)
            CHECK(told(nspace, rank, "cpus") == 1 && told(nspace, rank, "first") == second);
        seen_all("list", 2);
        /* One each, in turn, of those on the node; the third has a turn on another node or shares. */
        spawn_bound("threads", 3, NULL, "hwthread", nspace);
        CHECK(told(nspace, 0, "cpus") == 1 && told(nspace, 0, "first") == first);
        CHECK(told(nspace, 1, "cpus") == 1);
        CHECK(told(nspace, 1, "first") == (job_u32(PMIX_NUM_NODES) == 1 ? second : first));
        CHECK(told(nspace, 2, "cpus") == 1);
        seen_all("threads", 3);
        snprintf(list, sizeof list, "%u", second);
        spawn_bound("both", 2, list, "hwthread", nspace);
        for (pmix_rank_t rank = 0; rank < 2; rank++)
            CHECK(told(nspace, rank, "cpus") == 1 && told(nspace, rank, "first") == second);
        seen_all("both", 2);
        spawn_bound("cores", 2, NULL, "core", nspace); /* they look at it themselves */
        CHECK(told(nspace, 0, "first") == first);
        seen_all("cores", 2);

        static const char* const no_lists[] = {"", "x", "1-", "3-1", "1,,2", "0,", "5000", "-1", "0x1"};
        for (size_t i = 0; i < sizeof no_lists / sizeof *no_lists; i++)
            refused(PMIX_CPU_LIST, no_lists[i], PMIX_ERR_BAD_PARAM);
        refused(PMIX_BINDTO, "fridge", PMIX_ERR_NOT_SUPPORTED);
        if (!CPU_ISSET(1023, &ours)) refused(PMIX_CPU_LIST, "1023", PMIX_ERR_JOB_ALLOC_FAILED);
    }
    fence(false);
    finish();
}

static void spawn_ranked(const char* map, const char* rank_by, int count, const char* flag, const char* wanted) {
    pmix_nspace_t nspace;
    pmix_app_t app;
    pmix_info_t info[2];
    app_of(&app, count, "seen", flag, NULL);
    must(&info[0], strchr(map, ':') ? PMIX_PPR : PMIX_MAPBY, map);
    must(&info[1], PMIX_RANKBY, rank_by);
    CHECK_OK(spawn(info, 2, &app, 1, nspace));
    for (pmix_rank_t rank = 0; rank < (pmix_rank_t)count; rank++) {
        pmix_proc_t proc;
        pmix_value_t* host = NULL;
        PMIX_LOAD_PROCID(&proc, nspace, rank);
        CHECK_OK(PMIx_Get(&proc, PMIX_HOSTNAME, NULL, 0, &host));
        CHECK(host->type == PMIX_STRING && strncmp(host->data.string, "node", 4) == 0);
        CHECK(host->data.string[4] == wanted[rank]);
        PMIX_VALUE_RELEASE(host);
    }
    seen_all(flag, (uint32_t)count);
}

/* Of three nodes. rows: C5 C7 */
static void ranks(int argc, char** argv) {
    (void)argc, (void)argv;
    start();
    if (me.rank == 0) {
        spawn_ranked("slot", "slot", 5, "one", "11223");
        spawn_ranked("slot", "node", 5, "two", "12312");
        spawn_ranked("node", "node", 5, "three", "12312");
        spawn_ranked("node", "slot", 5, "four", "11223");
        spawn_ranked("2:node", "node", 4, "five", "1212");
        refused(PMIX_RANKBY, "core", PMIX_ERR_NOT_SUPPORTED);
    }
    fence(false);
    finish();
}

int main(int argc, char** argv) {
    static const struct test_case cases[] = {{"cpus", cpus}, {"ranks", ranks}, {"seen", seen}, {"bound", bound}};
    program = argv[0];
    RUN_CASE(cases);
    return 0;
}

/* SPDX-License-Identifier: BSD-3-Clause */
#include "client.h"

typedef struct {
    double kb[3]; /* rss, pss, uss */
} mem_t;
static mem_t mine_before, server_before;

static mem_t read_mem(pid_t pid) {
    mem_t m = {{0, 0, 0}};
    char path[64], line[256];
    double v;
    snprintf(path, sizeof path, "/proc/%d/smaps_rollup", (int)pid);
    FILE* f = fopen(path, "r");
    if (!f) return m;
    while (fgets(line, sizeof line, f)) {
        if (sscanf(line, "Rss: %lf", &v) == 1)
            m.kb[0] = v;
        else if (sscanf(line, "Pss: %lf", &v) == 1)
            m.kb[1] = v;
        else if (sscanf(line, "Private_Clean: %lf", &v) == 1 || sscanf(line, "Private_Dirty: %lf", &v) == 1)
            m.kb[2] += v;
    }
    fclose(f);
    return m;
}
static mem_t read_server(void) {
    return shm && lrank_of(rank_) == 0 ? read_mem(getppid()) : (mem_t){{0, 0, 0}};
}
void memory_base(bool server) {
    mine_before = read_mem(getpid());
    if (server) server_before = read_server();
}
void mode_mem(void) {
    const char* tag = exchanged ? "end" : "init";
    bar();
    usleep(20000); /* let progress threads go quiet */
    mem_t m = read_mem(getpid()), s = read_server();
    bar();
    metric("med", "KiB", m.kb[0], "mem_%s_client_rss", tag);
    metric("med", "KiB", m.kb[1], "mem_%s_client_pss", tag);
    metric("med", "KiB", m.kb[2], "mem_%s_client_uss", tag);
    if (shm && lrank_of(rank_) == 0) {
        metric("med", "KiB", s.kb[0], "mem_%s_server_rss", tag);
        metric("med", "KiB", s.kb[1], "mem_%s_server_pss", tag);
        metric("med", "KiB", s.kb[2], "mem_%s_server_uss", tag);
    }
    metric("sum", "KiB", m.kb[1] + s.kb[1], "mem_%s_total_pss", tag);
    if (exchanged) {
        double mine = m.kb[1] - mine_before.kb[1];
        metric("med", "KiB", mine, "mem_%s_client_pss_growth", tag);
        metric("sum", "KiB", mine + (lrank_of(rank_) == 0 ? s.kb[1] - server_before.kb[1] : 0),
               "mem_%s_total_pss_growth", tag);
    }
}

static clockid_t srv_clock;
static bool have_srv;
void find_server_clock(void) {
    have_srv = clock_getcpuclockid(getppid(), &srv_clock) == 0;
}
uint64_t cpu_srv(void) {
    return have_srv && lrank_of(rank_) == 0 ? cpu_ns(srv_clock) : 0;
}

/* SPDX-License-Identifier: BSD-3-Clause */
#include <pmix_server.h>
#include <sys/stat.h>

#include "buffer.h"
#include "control.h"
#include "daemon.h"
#include "infos.h"

static char* ranks_of(int node, char sep) {
    char *s = xcalloc((size_t)job.ppn * 8 + 1, 1), *q = s;
    for (int l = 0; l < job.ppn; l++) q += sprintf(q, "%s%d", l ? (char[]){sep, 0} : "", rank_at(node, l));
    return s;
}
void job_info(infos_t* a) {
    char host[32], **peers = xcalloc(job.nodes, sizeof *peers), path[PATH_MAX + PMIX_MAX_NSLEN + 32];
    buf_t nl = {0}, pl = {0};
    infos_t s = {0};
    char *regex = NULL, *ppn = NULL;
    pmix_status_t st;

    for (int n = 0; n < job.nodes; n++) {
        peers[n] = ranks_of(n, ',');
        snprintf(host, sizeof host, "%sbnode%d", n ? "," : "", n);
        b_put(&nl, host, strlen(host));
        if (n) b_put(&pl, ";", 1);
        b_put(&pl, peers[n], strlen(peers[n]));
    }
    b_put(&nl, "", 1);
    b_put(&pl, "", 1);
    if ((st = PMIx_generate_regex((char*)nl.p, &regex)) != PMIX_SUCCESS)
        fatal("PMIx_generate_regex: %s", PMIx_Error_string(st));
    if ((st = PMIx_generate_ppn((char*)pl.p, &ppn)) != PMIX_SUCCESS)
        fatal("PMIx_generate_ppn: %s", PMIx_Error_string(st));
    /* a regex may be opaque ("blob:" with embedded zeros), so its length is known only to the
     * library: these two infos are loaded by the library itself, as PMIX_REGEX */
    in_new(a, PMIX_NODE_MAP);
    in_new(a, PMIX_PROC_MAP);
    if (PMIx_Info_load(&a->v[0], PMIX_NODE_MAP, regex, PMIX_REGEX) != PMIX_SUCCESS ||
        PMIx_Info_load(&a->v[1], PMIX_PROC_MAP, ppn, PMIX_REGEX) != PMIX_SUCCESS)
        fatal("PMIx_Info_load of a PMIX_REGEX failed");
    free(regex);
    free(ppn);

    in_str(a, PMIX_JOBID, run.nspace);
    in_u32(a, PMIX_UNIV_SIZE, (uint32_t)job.procs);
    in_u32(a, PMIX_MAX_PROCS, (uint32_t)job.procs);
    in_u32(a, PMIX_JOB_SIZE, (uint32_t)job.procs);
    in_u32(a, PMIX_JOB_NUM_APPS, 1);
    in_u32(a, PMIX_NUM_NODES, (uint32_t)job.nodes);
    in_u32(a, PMIX_NODE_SIZE, (uint32_t)job.ppn);
    in_u32(a, PMIX_LOCAL_SIZE, (uint32_t)job.ppn);
    in_str(a, PMIX_LOCAL_PEERS, peers[me]);
    in_rank(a, PMIX_LOCALLDR, (pmix_rank_t)rank_at(me, 0));
    in_u32(a, PMIX_NODEID, (uint32_t)me);
    in_str(a, PMIX_TMPDIR, run.session);
    snprintf(path, sizeof path, "%s/n%d/%s", run.session, me, run.nspace);
    mkdir(path, 0700);
    in_str(a, PMIX_NSDIR, path);

    for (int n = 0; n < job.nodes; n++) {
        snprintf(host, sizeof host, "bnode%d", n);
        in_str(&s, PMIX_HOSTNAME, host);
        in_u32(&s, PMIX_NODEID, (uint32_t)n);
        in_u32(&s, PMIX_NODE_SIZE, (uint32_t)job.ppn);
        in_u32(&s, PMIX_LOCAL_SIZE, (uint32_t)job.ppn);
        in_rank(&s, PMIX_LOCALLDR, (pmix_rank_t)rank_at(n, 0));
        in_str(&s, PMIX_LOCAL_PEERS, peers[n]);
        in_arr(a, PMIX_NODE_INFO_ARRAY, &s);
    }
    in_u32(&s, PMIX_APPNUM, 0);
    in_u32(&s, PMIX_APP_SIZE, (uint32_t)job.procs);
    in_rank(&s, PMIX_APPLDR, 0);
    in_arr(a, PMIX_APP_INFO_ARRAY, &s);

    for (int r = 0; r < job.procs; r++) {
        in_rank(&s, PMIX_RANK, (pmix_rank_t)r);
        in_rank(&s, PMIX_GLOBAL_RANK, (pmix_rank_t)r);
        in_rank(&s, PMIX_APP_RANK, (pmix_rank_t)r);
        in_u16(&s, PMIX_LOCAL_RANK, (uint16_t)lrank_of(r));
        in_u16(&s, PMIX_NODE_RANK, (uint16_t)lrank_of(r));
        in_u32(&s, PMIX_NODEID, (uint32_t)node_of(r));
        snprintf(host, sizeof host, "bnode%d", node_of(r));
        in_str(&s, PMIX_HOSTNAME, host);
        in_u32(&s, PMIX_APPNUM, 0);
        in_u32(&s, PMIX_REINCARNATION, 0);
        in_arr(a, PMIX_PROC_INFO_ARRAY, &s);
    }
    for (int n = 0; n < job.nodes; n++) free(peers[n]);
    free(peers);
    b_free(&nl);
    b_free(&pl);
}

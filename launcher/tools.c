/* SPDX-License-Identifier: BSD-3-Clause */
/* tools.c: tools that connect to this node's server.
 *
 * What this owns: the count of the tools that were named here. A tool brings its name, or gets one that no job
 * and no other node's tool has.
 * Which thread calls it: a thread of the library, one at a time.
 * What can go wrong: a tool of another user (PMIX_ERR_NO_PERMISSIONS), or with the name of the servers
 * (PMIX_ERR_EXISTS). */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "node.h"

void up_tool_connected(pmix_info_t* info, size_t ninfo, pmix_tool_connection_cbfunc_t cbfunc, void* cbdata) {
    static unsigned count;
    pmix_proc_t name;
    int64_t user = info_number(info, ninfo, PMIX_USERID, -1);
    const char* nspace = info_string(info, ninfo, PMIX_TOOL_NSPACE);
    if (user != (int64_t)geteuid() && user != 0) {
        cbfunc(PMIX_ERR_NO_PERMISSIONS, NULL, cbdata);
        return;
    }
    /* The servers' own; the library refuses those of jobs. */
    if (nspace && strcmp(nspace, node.server_nspace) == 0) {
        cbfunc(PMIX_ERR_EXISTS, NULL, cbdata);
        return;
    }
    char made[PMIX_MAX_NSLEN + 1];
    snprintf(made, sizeof made, "%.200s.tool.%d.%u", node.server_nspace, mesh_self(), ++count);
    const pmix_value_t* rank = info_find(info, ninfo, PMIX_TOOL_RANK);
    PMIX_LOAD_PROCID(&name, nspace ? nspace : made,
                     nspace && rank && rank->type == PMIX_PROC_RANK ? rank->data.rank : 0);
    daemon_say("tool %s connected", name.nspace);
    cbfunc(PMIX_SUCCESS, &name, cbdata);
}

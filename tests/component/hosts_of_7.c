/* SPDX-License-Identifier: BSD-3-Clause */
/* hosts_of_7.c: hosts that use what came with OpenPMIx 7.0: a group's construct is cancelled, and input is stopped at
 * its source and let go on. The clients' half, by the same names: client_of_7.c. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "zoo.h"

/* Two ranks of this node, and one of another that nobody starts. */
static void register_job_of_two_nodes(void) {
    pmix_info_t info[3];
    pmix_nspace_t nspace;
    uint32_t size = 3;
    char host[256] = "", nodes[300];
    CHECK(gethostname(host, sizeof host - 1) == 0);
    snprintf(nodes, sizeof nodes, "%s,far", host);
    PMIX_INFO_LOAD(&info[0], PMIX_NODE_MAP, nodes, PMIX_STRING);
    PMIX_INFO_LOAD(&info[1], PMIX_PROC_MAP, "0,1;2", PMIX_STRING);
    PMIX_INFO_LOAD(&info[2], PMIX_JOB_SIZE, &size, PMIX_UINT32);
    PMIX_LOAD_NSPACE(nspace, "job");
    CHECK_OK(PMIx_server_register_nspace(nspace, RANKS, info, 3, NULL, NULL));
    for (int i = 0; i < 3; i++) PMIX_INFO_DESTRUCT(&info[i]);
    for (uint32_t rank = 0; rank < RANKS; rank++) register_rank("job", rank, NULL, NULL);
}

/* --- groups --------------------------------------------------------------------------------------------------------
 */

static struct box constructs = BOX, cancels = BOX;

static pmix_status_t group(pmix_group_operation_t operation, char* name, const pmix_proc_t procs[], size_t nprocs,
                           const pmix_info_t info[], size_t ninfo, pmix_info_cbfunc_t done, void* cbdata) {
    (void)procs;
    CHECK(strcmp(name, "never.whole") == 0);
    if (operation == PMIX_GROUP_CANCEL) {
        CHECK(nprocs == 0 && ninfo == 0);
        box_signal(&cancels, PMIX_SUCCESS);
    } else {
        CHECK(operation == PMIX_GROUP_CONSTRUCT && nprocs == 3);
        pmix_status_t local = PMIX_SUCCESS;
        for (size_t i = 0; i < ninfo; i++)
            if (PMIX_CHECK_KEY(&info[i], PMIX_LOCAL_COLLECTIVE_STATUS)) local = info[i].value.data.status;
        box_signal(&constructs, local);
    }
    done(PMIX_SUCCESS, NULL, 0, cbdata, NULL, NULL);
    return PMIX_SUCCESS;
}

/* One of two members of this node joins, with a limit of time; what the host is told of it. */
static void run_construct(void (*shows)(void)) {
    pmix_server_module_t module = module_that(BY_CALLBACK, BY_CALLBACK);
    module.group = group;
    CHECK_OK(PMIx_server_init(&module, NULL, 0));
    shows();
    register_job_of_two_nodes();
    run_job("job", RANKS, "group-in-vain");
    deregister_job("job");
    CHECK_OK(PMIx_server_finalize());
    const bool older = constructs.count != 0;
    CHECK(constructs.count == (older ? 1 : 0) && cancels.count == (older ? 0 : 1));
    CHECK(!older || constructs.status == PMIX_ERR_TIMEOUT);
}

static void shows_nothing(void) {}

static void registers_a_session(void) {
    struct box done = BOX;
    CHECK_OK(PMIx_server_register_session(7, NULL, 0, box_done, &done));
    box_wait(&done, 1);
}

static void makes_a_short_list(void) {
    pmix_regex2_t regex;
    CHECK_OK(PMIx_generate_regex2("a,b,c", NULL, 0, &regex));
    PMIx_Regex2_destruct(&regex);
}

static void lets_input_go_on(void) {
    CHECK_DONE(PMIx_server_IOF_flow_control(NULL, PMIX_FWD_STDIN_CHANNEL, false, NULL, 0, NULL, NULL));
}

static void is_given_no_cancel_before_7(void) {
    run_construct(shows_nothing);
    CHECK(constructs.count == 1);
}

static void is_of_7_by_a_session(void) {
    run_construct(registers_a_session);
    CHECK(cancels.count == 1);
}

static void is_of_7_by_a_short_list(void) {
    run_construct(makes_a_short_list);
    CHECK(cancels.count == 1);
}

static void is_of_7_by_flow_control(void) {
    run_construct(lets_input_go_on);
    CHECK(cancels.count == 1);
}

const struct host hosts_of_7[] = {
    {"is_given_no_cancel_before_7", is_given_no_cancel_before_7},
    {"is_of_7_by_a_session", is_of_7_by_a_session},
    {"is_of_7_by_a_short_list", is_of_7_by_a_short_list},
    {"is_of_7_by_flow_control", is_of_7_by_flow_control},
    {NULL, NULL},
};

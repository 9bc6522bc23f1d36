/* SPDX-License-Identifier: BSD-3-Clause */
/* client.c: the processes of the zoo's jobs. What one does is its mode; its exit status is 0 where all was as the mode
 * says, else the number of the line. */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "zoo.h"

static pmix_proc_t me;

static pmix_status_t fence_all(void) {
    pmix_info_t info;
    bool yes = true;
    PMIX_INFO_LOAD(&info, PMIX_COLLECT_DATA, &yes, PMIX_BOOL);
    pmix_status_t status = PMIx_Fence(NULL, 0, &info, 1);
    PMIX_INFO_DESTRUCT(&info);
    return status;
}

static uint32_t size_of_job(void) {
    pmix_proc_t job = proc_of(me.nspace, PMIX_RANK_WILDCARD);
    pmix_value_t* value = NULL;
    CHECK_OK(PMIx_Get(&job, PMIX_JOB_SIZE, NULL, 0, &value));
    uint32_t size = value->data.uint32;
    PMIX_VALUE_RELEASE(value);
    return size;
}

/* Put, commit, fence, get everybody's. */
static void exchange(const char* key) {
    uint32_t size = size_of_job();
    pmix_value_t mine = {.type = PMIX_UINT32, .data.uint32 = me.rank + 100};
    CHECK_OK(PMIx_Put(PMIX_GLOBAL, key, &mine));
    CHECK_OK(PMIx_Commit());
    CHECK_OK(fence_all());
    for (uint32_t rank = 0; rank < size; rank++) {
        pmix_proc_t peer = proc_of(me.nspace, rank);
        pmix_value_t* value = NULL;
        CHECK_OK(PMIx_Get(&peer, key, NULL, 0, &value));
        CHECK(value->type == PMIX_UINT32 && value->data.uint32 == rank + 100);
        PMIX_VALUE_RELEASE(value);
    }
}

static pmix_status_t publish_for(int seconds) {
    pmix_info_t info[2];
    PMIX_INFO_LOAD(&info[0], "zoo.offer", "something", PMIX_STRING);
    PMIX_INFO_LOAD(&info[1], PMIX_TIMEOUT, &seconds, PMIX_INT);
    pmix_status_t status = PMIx_Publish(info, seconds > 0 ? 2 : 1);
    PMIX_INFO_DESTRUCT(&info[0]);
    PMIX_INFO_DESTRUCT(&info[1]);
    return status;
}

/* The rank that is killed has no part in the last fence; the others are told. */
static int one_is_killed(void) {
    exchange("before");
    if (me.rank == 0) raise(SIGKILL);
    CHECK(fence_all() != PMIX_SUCCESS);
    CHECK_OK(PMIx_Finalize(NULL, 0));
    return 0;
}

/* The host ends its part while we wait in a call: the call ends, with an error. */
static int the_host_leaves(void) {
    exchange("before");
    pmix_proc_t peer = proc_of(me.nspace, me.rank == 0 ? 1 : 0);
    pmix_value_t* value = NULL;
    printf("WAITING\n"); /* to the host */
    fflush(stdout);
    CHECK(PMIx_Get(&peer, "never.put", NULL, 0, &value) != PMIX_SUCCESS);
    PMIx_Finalize(NULL, 0);
    return 0;
}

int client(const char* mode) {
    if (strcmp(mode, "refused") == 0) return PMIx_Init(&me, NULL, 0) == PMIX_ERR_NO_PERMISSIONS ? 0 : 1;
    if (strcmp(mode, "nobody") == 0) return PMIx_Init(&me, NULL, 0) == PMIX_ERR_NOT_FOUND ? 0 : 1;
    if (strcmp(mode, "waits") == 0) { /* until its host has ended: PMIx_Init has a limit of time */
        CHECK(prctl(PR_SET_PDEATHSIG, SIGKILL) == 0);
        PMIx_Init(&me, NULL, 0);
        for (;;) pause();
    }
    int status = data_client(mode);
    if (status < 0) status = client_of_7(mode);
    if (status >= 0) return status;
    CHECK_OK(PMIx_Init(&me, NULL, 0));
    if (strcmp(mode, "killed") == 0) return one_is_killed();
    if (strcmp(mode, "left") == 0) return the_host_leaves();
    if (strcmp(mode, "bare") != 0) { /* a job that nothing is known of has no size */
        exchange("zoo.one");
        exchange("zoo.two");
    } else {
        CHECK_OK(PMIx_Commit());
    }
    if (strcmp(mode, "publish") == 0) CHECK_OK(publish_for(0));
    if (strcmp(mode, "publish-twice") == 0) {
        CHECK_OK(publish_for(0));
        CHECK_OK(publish_for(0));
    }
    if (strcmp(mode, "publish-in-vain") == 0) CHECK_STATUS(publish_for(1), PMIX_ERR_TIMEOUT);
    if (strcmp(mode, "publish-refused") == 0) CHECK_STATUS(publish_for(0), PMIX_ERR_NO_PERMISSIONS);
    if (strcmp(mode, "publish-error") == 0) CHECK_STATUS(publish_for(0), PMIX_ERROR);
    if (strcmp(mode, "publish-unsupported") == 0) CHECK_STATUS(publish_for(0), PMIX_ERR_NOT_SUPPORTED);
    CHECK_OK(PMIx_Finalize(NULL, 0));
    return 0;
}

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A tool that starts a job at a server, reads what it writes, and ends it.  pmix_tool_run FILE
 * FILE names the server.  The job writes for as long as it runs.
 */
#include <pmix.h>
#include <pmix_tool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char said[2][4096]; /* on standard output and standard error */
static volatile int heard[2];

static void on_output(size_t id, pmix_iof_channel_t channel, pmix_proc_t* source, pmix_byte_object_t* data,
                      pmix_info_t info[], size_t ninfo) {
    const int which = 0 != (channel & PMIX_FWD_STDERR_CHANNEL);
    const size_t had = strlen(said[which]), left = sizeof said[0] - 1 - had;
    (void)id;
    (void)source;
    (void)info;
    (void)ninfo;
    if (NULL == data || NULL == data->bytes) return;
    strncat(said[which], data->bytes, data->size < left ? data->size : left);
    if (NULL != strstr(said[which], which ? "an error\n" : "a line\n")) heard[which] = 1;
}

static int failed(const char* what, pmix_status_t rc) {
    fprintf(stderr, "FAIL %s: %s (%d)\n", what, PMIx_Error_string(rc), rc);
    return 1;
}

int main(int argc, char** argv) {
    char file[4200];
    pmix_info_t info;
    pmix_proc_t me, job;
    pmix_app_t app;

    alarm(60);
    if (argc != 2) return failed("arguments", PMIX_ERR_BAD_PARAM);
    snprintf(file, sizeof file, "file:%s", argv[1]);
    PMIX_INFO_LOAD(&info, PMIX_SERVER_URI, file, PMIX_STRING);
    pmix_status_t rc = PMIx_tool_init(&me, &info, 1);
    PMIX_INFO_DESTRUCT(&info);
    if (PMIX_SUCCESS != rc) return failed("PMIx_tool_init", rc);

    PMIX_APP_CONSTRUCT(&app);
    app.cmd = strdup("/bin/sh");
    app.maxprocs = 2;
    PMIX_ARGV_APPEND(rc, app.argv, "/bin/sh");
    PMIX_ARGV_APPEND(rc, app.argv, "-c");
    PMIX_ARGV_APPEND(rc, app.argv, "while sleep 0.1; do echo a line; echo an error >&2; done");
    PMIX_LOAD_PROCID(&job, "", PMIX_RANK_WILDCARD);
    rc = PMIx_Spawn(NULL, 0, &app, 1, job.nspace);
    PMIX_APP_DESTRUCT(&app);
    if (PMIX_SUCCESS != rc) return failed("PMIx_Spawn", rc);

    const pmix_status_t pull =
        PMIx_IOF_pull(&job, 1, NULL, 0, PMIX_FWD_STDOUT_CHANNEL | PMIX_FWD_STDERR_CHANNEL, on_output, NULL, NULL);
    if (pull < 0) return failed("PMIx_IOF_pull", pull);
    while (!heard[0] || !heard[1]) usleep(10000); /* or the alarm */
    rc = PMIx_IOF_deregister((size_t)pull, NULL, 0, NULL, NULL);
    if (PMIX_SUCCESS != rc) return failed("PMIx_IOF_deregister", rc);

    PMIX_INFO_LOAD(&info, PMIX_JOB_CTRL_KILL, NULL, PMIX_BOOL);
    rc = PMIx_Job_control(&job, 1, &info, 1, NULL, NULL);
    PMIX_INFO_DESTRUCT(&info);
    if (PMIX_SUCCESS != rc && PMIX_OPERATION_SUCCEEDED != rc) return failed("PMIx_Job_control", rc);
    printf("OK tool %s: job %s\n", me.nspace, job.nspace);
    fflush(stdout);
    rc = PMIx_tool_finalize();
    return PMIX_SUCCESS == rc ? 0 : failed("PMIx_tool_finalize", rc);
}

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A tool that finds a server and asks it for its jobs.  pmix_tool HOW [WHAT]
 *   pid PID     the server in that process
 *   uri URI     the server at that address
 *   file FILE   the server that a file names
 *   any         the one that it finds
 * It prints the server's name, and the jobs.
 */
#include <pmix.h>
#include <pmix_tool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int failed(const char* what, pmix_status_t rc) {
    fprintf(stderr, "FAIL %s: %s (%d)\n", what, PMIx_Error_string(rc), rc);
    return 1;
}

/* In the answer, or in the array of results that is one. */
static const char* jobs_in(const pmix_info_t* infos, size_t n) {
    for (size_t i = 0; i < n; i++) {
        const pmix_value_t* value = &infos[i].value;
        if (PMIX_STRING == value->type && 0 == strcmp(infos[i].key, PMIX_QUERY_NAMESPACES)) return value->data.string;
        if (PMIX_DATA_ARRAY != value->type || NULL == value->data.darray) continue;
        const pmix_data_array_t* array = value->data.darray;
        if (PMIX_INFO != array->type) continue;
        const char* jobs = jobs_in((const pmix_info_t*)array->array, array->size);
        if ('\0' != jobs[0]) return jobs;
    }
    return "";
}

int main(int argc, char** argv) {
    const char* how = argc > 1 ? argv[1] : "any";
    const char* what = argc > 2 ? argv[2] : "";
    pmix_info_t info;
    size_t count = 1;
    pid_t pid = (pid_t)atoi(what);
    char file[4200];
    pmix_proc_t me;

    alarm(60);
    if (0 == strcmp(how, "pid")) {
        PMIX_INFO_LOAD(&info, PMIX_SERVER_PIDINFO, &pid, PMIX_PID);
    } else if (0 == strcmp(how, "uri")) {
        PMIX_INFO_LOAD(&info, PMIX_SERVER_URI, what, PMIX_STRING);
    } else if (0 == strcmp(how, "file")) {
        snprintf(file, sizeof file, "file:%s", what);
        PMIX_INFO_LOAD(&info, PMIX_SERVER_URI, file, PMIX_STRING);
    } else {
        count = 0;
    }
    pmix_status_t rc = PMIx_tool_init(&me, count > 0 ? &info : NULL, count);
    if (PMIX_SUCCESS != rc) return failed("PMIx_tool_init", rc);

    pmix_query_t* query;
    pmix_info_t* results = NULL;
    size_t n = 0;
    PMIX_QUERY_CREATE(query, 1);
    PMIX_ARGV_APPEND(rc, query->keys, PMIX_QUERY_NAMESPACES);
    rc = PMIx_Query_info(query, 1, &results, &n);
    if (PMIX_SUCCESS != rc) return failed("PMIx_Query_info", rc);
    printf("OK tool %s: jobs %s\n", me.nspace, jobs_in(results, n));
    fflush(stdout);
    PMIX_QUERY_FREE(query, 1);
    if (NULL != results) PMIX_INFO_FREE(results, n);
    rc = PMIx_tool_finalize();
    return PMIX_SUCCESS == rc ? 0 : failed("PMIx_tool_finalize", rc);
}

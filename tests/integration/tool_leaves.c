/* SPDX-License-Identifier: BSD-3-Clause */
/* tool_leaves.c: what a tool that finalizes or is killed leaves at pmixrun: not the data that it published for its own
 * time, and no lookup that waits and takes what may be read only once.
 *
 *     tool_leaves                            a rank: starts tools, one after the other, and looks for what they left
 *     tool_leaves KEY PERSISTENCE ONCE END   such a tool: END is finalize or kill */
#include <pmix_tool.h>
#include <sys/wait.h>

#include "check.h"

static void found(pmix_status_t status, pmix_pdata_t data[], size_t ndata, void* cbdata) {
    (void)status, (void)data, (void)ndata, (void)cbdata; /* for some the process does not wait */
}

static pmix_status_t publish(const char* key, pmix_persistence_t persistence) {
    pmix_info_t info[2];
    PMIX_INFO_LOAD(&info[0], key, "value", PMIX_STRING);
    PMIX_INFO_LOAD(&info[1], PMIX_PERSISTENCE, &persistence, PMIX_PERSIST);
    pmix_status_t status = PMIx_Publish(info, 2);
    PMIX_INFO_DESTRUCT(&info[0]);
    return status;
}

static pmix_status_t look_up(const char* key) {
    pmix_pdata_t data;
    PMIX_PDATA_CONSTRUCT(&data);
    PMIX_LOAD_KEY(data.key, key);
    pmix_status_t status = PMIx_Lookup(&data, 1, NULL, 0);
    PMIX_PDATA_DESTRUCT(&data);
    return status;
}

static int tool(char** arguments) {
    pmix_info_t info;
    PMIX_INFO_LOAD(&info, PMIX_SERVER_URI, getenv("OF_THE_RANK"), PMIX_STRING);
    CHECK_OK(PMIx_tool_init(&me, &info, 1));
    PMIX_INFO_DESTRUCT(&info);
    char* keys[] = {arguments[2], NULL};
    PMIX_INFO_LOAD(&info, PMIX_WAIT, NULL, PMIX_BOOL);
    CHECK_OK(PMIx_Lookup_nb(keys, &info, 1, found, NULL));
    CHECK_OK(publish(arguments[0], (pmix_persistence_t)atoi(arguments[1])));
    if (strcmp(arguments[3], "kill") == 0) kill(getpid(), SIGKILL);
    CHECK_OK(PMIx_tool_finalize());
    return 0;
}

static void run_tool(const char* key, pmix_persistence_t persistence, const char* once, const char* end) {
    char number[16];
    snprintf(number, sizeof number, "%d", persistence);
    pid_t child = fork();
    if (child == 0) {
        execl("/proc/self/exe", "tool_leaves", key, number, once, end, (char*)NULL);
        _exit(127);
    }
    int status;
    CHECK(waitpid(child, &status, 0) == child);
    CHECK(strcmp(end, "kill") == 0 ? WIFSIGNALED(status) : WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

static void left_by(const char* end) {
    static const pmix_persistence_t bound[] = {PMIX_PERSIST_PROC, PMIX_PERSIST_APP};
    char key[64], once[64];
    for (size_t i = 0; i < 2; i++) {
        snprintf(key, sizeof key, "key.%u.%s.%zu", me.rank, end, i);
        snprintf(once, sizeof once, "once.%u.%s.%zu", me.rank, end, i);
        run_tool(key, bound[i], once, end);
        const double until = seconds_now() + 20;
        while (look_up(key) != PMIX_ERR_NOT_FOUND) CHECK(seconds_now() < until);
        CHECK_OK(publish(once, PMIX_PERSIST_FIRST_READ));
        CHECK_OK(look_up(once));
        CHECK_STATUS(look_up(once), PMIX_ERR_NOT_FOUND);
    }
    snprintf(key, sizeof key, "key.%u.%s.session", me.rank, end);
    run_tool(key, PMIX_PERSIST_SESSION, once, end);
    CHECK_OK(look_up(key));
}

int main(int argc, char** argv) {
    if (argc == 5) return tool(argv + 1);
    setenv("OF_THE_RANK", getenv("PMIX_SERVER_URI_WIREUP"), 1);
    CHECK_OK(PMIx_Init(&me, NULL, 0));
    /* With these the tools would be this rank. */
    unsetenv("PMIX_NAMESPACE");
    unsetenv("PMIX_RANK");
    unsetenv("PMIX_SERVER_URI_WIREUP");
    unsetenv("PMIX_WIREUP_TOKEN");
    left_by("finalize");
    left_by("kill");
    CHECK_OK(PMIx_Finalize(NULL, 0));
    printf("OK\n");
    return 0;
}

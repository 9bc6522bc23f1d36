/* SPDX-License-Identifier: BSD-3-Clause */
/* syslog: what PMIx_Log writes to the system's log; syslog_drive.py listens there and compares.
 * usage: syslog said|lost|silent|flood ENTRIES BYTES */
#include <syslog.h>

#include "check.h"

static pmix_status_t log_to(const char* channel, const char* text, const int* priority) {
    pmix_info_t data, directive;
    PMIX_INFO_LOAD(&data, channel, text, PMIX_STRING);
    if (priority) PMIX_INFO_LOAD(&directive, PMIX_LOG_SYSLOG_PRI, priority, PMIX_INT);
    pmix_status_t status = PMIx_Log(&data, 1, &directive, priority != NULL);
    PMIX_INFO_DESTRUCT(&data);
    return status;
}

/* Every priority, the one that is meant when none is given, and what a text may not do. */
static void say_all(void) {
    static const int priorities[] = {LOG_EMERG,   LOG_ALERT,  LOG_CRIT, LOG_ERR,
                                     LOG_WARNING, LOG_NOTICE, LOG_INFO, LOG_DEBUG};
    static const int wrong[] = {-1, 8, LOG_DAEMON | LOG_INFO};
    char text[64];
    CHECK_OK(log_to(PMIX_LOG_SYSLOG, "no priority", NULL));
    for (int i = 0; i < 8; i++) {
        snprintf(text, sizeof text, "priority %d", i);
        CHECK_OK(log_to(PMIX_LOG_LOCAL_SYSLOG, text, &priorities[i]));
    }
    for (int i = 0; i < 3; i++) CHECK_STATUS(log_to(PMIX_LOG_SYSLOG, "wrong priority", &wrong[i]), PMIX_ERR_BAD_PARAM);
    CHECK_OK(log_to(PMIX_LOG_SYSLOG, "100%s %n of\n<0>a\tline\n", NULL));
}

/* Of a job, the system's log of the whole system is that of one node. */
static void say_global(void) {
    pmix_status_t status = log_to(PMIX_LOG_GLOBAL_SYSLOG, "for all nodes", NULL);
    CHECK(status == PMIX_SUCCESS || status == PMIX_ERR_NOT_SUPPORTED);
    printf("global: %s\n", status == PMIX_SUCCESS ? "written" : "not here");
}

static void log_both(void) {
    pmix_info_t data[2], directive;
    bool yes = true;
    PMIX_INFO_LOAD(&data[0], PMIX_LOG_LOCAL_SYSLOG, "the first", PMIX_STRING);
    PMIX_INFO_LOAD(&data[1], PMIX_LOG_SYSLOG, "the second", PMIX_STRING);
    CHECK_OK(PMIx_Log(data, 2, NULL, 0));
    PMIX_INFO_LOAD(&directive, PMIX_LOG_ONCE, &yes, PMIX_BOOL);
    CHECK_OK(PMIx_Log(data, 2, &directive, 1));
    PMIX_INFO_DESTRUCT(&data[0]);
    PMIX_INFO_DESTRUCT(&data[1]);
}

/* rows: J7 J8 */
/* proves: PMIx_Log server PMIX_LOG_SYSLOG PMIX_LOG_LOCAL_SYSLOG PMIX_LOG_GLOBAL_SYSLOG PMIX_LOG_SYSLOG_PRI */
static void said(int argc, char** argv) {
    (void)argc, (void)argv;
    start();
    if (me.rank == 1) {
        printf("source: %s\n", me.nspace);
        say_all();
        say_global();
        log_both();
    }
    fence(false);
    finish();
}

/* Nobody listens: what is lost is no success, and nobody waits. Another channel of the request is written. rows: J7 */
static void lost(int argc, char** argv) {
    (void)argc, (void)argv;
    start();
    for (int i = 0; i < 20; i++) CHECK_STATUS(log_to(PMIX_LOG_SYSLOG, "to nobody", NULL), PMIX_ERR_NOT_AVAILABLE);
    CHECK_STATUS(log_to(PMIX_LOG_LOCAL_SYSLOG, "to nobody", NULL), PMIX_ERR_NOT_AVAILABLE);
    pmix_info_t both[2], directive;
    bool yes = true;
    PMIX_INFO_LOAD(&both[0], PMIX_LOG_SYSLOG, "to nobody", PMIX_STRING);
    PMIX_INFO_LOAD(&both[1], PMIX_LOG_STDERR, "to stderr", PMIX_STRING);
    CHECK_STATUS(PMIx_Log(both, 2, NULL, 0), PMIX_ERR_PARTIAL_SUCCESS);
    PMIX_INFO_LOAD(&directive, PMIX_LOG_ONCE, &yes, PMIX_BOOL);
    CHECK_OK(PMIx_Log(both, 2, &directive, 1));
    for (int i = 0; i < 2; i++) PMIX_INFO_DESTRUCT(&both[i]);
    fence(false);
    finish();
}

/* Somebody has the log and does not read it: a request ends with a status, and those behind it do not wait as long. The
 * other requests of the node go on meanwhile. rows: J7 */
static void silent(int argc, char** argv) {
    (void)argc, (void)argv;
    enum { MOST = 4096 }; /* more than its queue takes */
    int taken = 0;
    pmix_status_t status = PMIX_SUCCESS;
    start();
    for (; me.rank == 1 && status == PMIX_SUCCESS && taken < MOST; taken++)
        status = log_to(PMIX_LOG_SYSLOG, "to nobody", NULL);
    if (me.rank == 1) CHECK_STATUS(status, PMIX_ERR_TIMEOUT);
    for (int i = 0; me.rank == 1 && i < 20; i++)
        CHECK_STATUS(log_to(PMIX_LOG_SYSLOG, "to nobody", NULL), PMIX_ERR_TIMEOUT);
    fence(false);
    finish();
}

/* flood ENTRIES BYTES: of x, on stdout, without a pause */
static void flood(int argc, char** argv) {
    CHECK(argc == 2);
    size_t size = (size_t)atoi(argv[1]);
    char* text = malloc(size + 1);
    CHECK(text);
    memset(text, 'x', size);
    text[size] = 0;
    start();
    for (int i = 0; i < atoi(argv[0]); i++) CHECK_OK(log_to(PMIX_LOG_STDOUT, text, NULL));
    free(text);
    CHECK_OK(PMIx_Finalize(NULL, 0));
}

int main(int argc, char** argv) {
    static const struct test_case cases[] = {{"said", said}, {"lost", lost}, {"silent", silent}, {"flood", flood}};
    RUN_CASE(cases);
    return 0;
}

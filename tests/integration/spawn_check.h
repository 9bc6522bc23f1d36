// SPDX-License-Identifier: BSD-3-Clause
/* spawn_check.h: what the tests of spawn share: asking for jobs of the test's own program, and the plainest children.
 * Used from one thread at a time. */
#ifndef WIREUP_TESTS_INTEGRATION_SPAWN_CHECK_H
#define WIREUP_TESTS_INTEGRATION_SPAWN_CHECK_H

#include <stdarg.h>

#include "check.h"

static const char* program;

/* --- asking --------------------------------------------------------------------------------------------------------
 */

/* An application that runs this program with the arguments up to NULL. */
static inline void app_of(pmix_app_t* app, int count, const char* first, ...) {
    va_list more;
    size_t argc = 1;
    PMIX_APP_CONSTRUCT(app);
    app->cmd = strdup(program);
    app->argv = calloc(16, sizeof *app->argv);
    app->argv[0] = strdup(program);
    va_start(more, first);
    for (const char* word = first; word && argc < 15; word = va_arg(more, const char*))
        app->argv[argc++] = strdup(word);
    va_end(more);
    app->maxprocs = count;
}

static inline void set_env(pmix_app_t* app, const char* setting) {
    app->env = calloc(2, sizeof *app->env);
    app->env[0] = strdup(setting);
}

static inline void app_infos(pmix_app_t* app, size_t count) {
    app->ninfo = count;
    PMIX_INFO_CREATE(app->info, count);
}

static inline pmix_status_t spawn(pmix_info_t* info, size_t ninfo, pmix_app_t* apps, size_t napps,
                                  pmix_nspace_t nspace) {
    memset(nspace, 'x', sizeof(pmix_nspace_t));
    pmix_status_t status = PMIx_Spawn(info, ninfo, apps, napps, nspace);
    CHECK(status == PMIX_SUCCESS ? nspace[0] != 0 && strlen(nspace) < PMIX_MAX_NSLEN : nspace[0] == 0);
    for (size_t i = 0; i < napps; i++) PMIX_APP_DESTRUCT(&apps[i]);
    for (size_t i = 0; i < ninfo; i++) PMIX_INFO_DESTRUCT(&info[i]);
    return status;
}

static inline void await_children(const char* flag, uint32_t count) {
    char name[96];
    for (uint32_t rank = 0; rank < count; rank++) {
        snprintf(name, sizeof name, "%s.%u", flag, rank);
        await_flag(name);
    }
}

/* --- children ------------------------------------------------------------------------------------------------------
 */

static inline void child_done(const char* flag) {
    char name[96];
    snprintf(name, sizeof name, "%s.%u", flag, me.rank);
    raise_flag(name);
    finish();
}

static inline pmix_proc_t parent_of_job(void) {
    pmix_proc_t job = rank_of_job(PMIX_RANK_WILDCARD), parent;
    pmix_value_t* value = NULL;
    CHECK_OK(PMIx_Get(&job, PMIX_PARENT_ID, NULL, 0, &value));
    CHECK(value->type == PMIX_PROC);
    parent = *value->data.proc;
    PMIX_VALUE_RELEASE(value);
    return parent;
}

/* child FLAG: nothing to check but that it is one */
static inline void child(int argc, char** argv) {
    CHECK(argc == 1);
    start();
    parent_of_job();
    fence(false);
    child_done(argv[0]);
}

/* The parent looks at the child's job while it is there (what is known of it goes with it), and says so with
 * FLAG.seen. */
static inline void be_seen(const char* flag) {
    char name[96];
    snprintf(name, sizeof name, "%s.seen", flag);
    await_flag(name);
}

static inline void say_seen(const char* flag) {
    char name[96];
    snprintf(name, sizeof name, "%s.seen", flag);
    raise_flag(name);
}

/* seen FLAG: nothing but that */
static inline void seen(int argc, char** argv) {
    CHECK(argc == 1);
    start();
    be_seen(argv[0]);
    child_done(argv[0]);
}

/* stays: until it is killed */
static inline void stays(int argc, char** argv) {
    (void)argc, (void)argv;
    start();
    for (;;) pause();
}

#endif

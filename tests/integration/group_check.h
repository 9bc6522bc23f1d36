// SPDX-License-Identifier: BSD-3-Clause
/* group_check.h: what the tests of groups share: results by key, directives, and a handler that waits for an
 * invitation. Used from one thread at a time. */
#ifndef WIREUP_TESTS_INTEGRATION_GROUP_CHECK_H
#define WIREUP_TESTS_INTEGRATION_GROUP_CHECK_H

#include <signal.h>

#include "check.h"

static const char* const name = "wireup-test-group";

static inline pmix_proc_t all_of_job(void) {
    return rank_of_job(PMIX_RANK_WILDCARD);
}

static inline void die(void) {
    raise(SIGKILL);
    _exit(1);
}

static inline const pmix_value_t* result(const pmix_info_t* infos, size_t count, const char* key) {
    for (size_t i = 0; i < count; i++)
        if (PMIX_CHECK_KEY(&infos[i], key)) return &infos[i].value;
    return NULL;
}

static inline size_t members_in(const pmix_info_t* infos, size_t count) {
    const pmix_value_t* value = result(infos, count, PMIX_GROUP_MEMBERSHIP);
    return value && value->type == PMIX_DATA_ARRAY ? value->data.darray->size : 0;
}

static inline const pmix_proc_t* member_of(const pmix_info_t* infos, size_t count, size_t rank) {
    const pmix_value_t* value = result(infos, count, PMIX_GROUP_MEMBERSHIP);
    CHECK(value && value->type == PMIX_DATA_ARRAY && rank < value->data.darray->size);
    return (const pmix_proc_t*)value->data.darray->array + rank;
}

static inline pmix_info_t flag(const char* key) {
    pmix_info_t info;
    bool yes = true;
    PMIX_INFO_LOAD(&info, key, &yes, PMIX_BOOL);
    return info;
}

static inline pmix_info_t limit(int seconds) {
    pmix_info_t info;
    PMIX_INFO_LOAD(&info, PMIX_TIMEOUT, &seconds, PMIX_INT);
    return info;
}

/* --- invitations ---------------------------------------------------------------------------------------------------
 */

static struct signal_box invited = SIGNAL_BOX, seen = SIGNAL_BOX;
static pmix_proc_t inviter;

static inline void on_invited(size_t reference, pmix_status_t status, const pmix_proc_t* source, pmix_info_t info[],
                              size_t ninfo, pmix_info_t results[], size_t nresults,
                              pmix_event_notification_cbfunc_fn_t done, void* cbdata) {
    (void)reference, (void)results, (void)nresults;
    const pmix_value_t* id = result(info, ninfo, PMIX_GROUP_ID);
    CHECK(id && strcmp(id->data.string, name) == 0);
    inviter = *source;
    box_signal(&invited, status);
    done(PMIX_EVENT_ACTION_COMPLETE, NULL, 0, NULL, NULL, cbdata);
}

/* What on_event answers to the library. */
static pmix_status_t verdict = PMIX_EVENT_ACTION_COMPLETE;
static bool wants_to_lead;

static inline void on_event(size_t reference, pmix_status_t status, const pmix_proc_t* source, pmix_info_t info[],
                            size_t ninfo, pmix_info_t results[], size_t nresults,
                            pmix_event_notification_cbfunc_fn_t done, void* cbdata) {
    (void)reference, (void)source, (void)info, (void)ninfo, (void)results, (void)nresults;
    box_signal(&seen, status);
    pmix_info_t lead = flag(PMIX_GROUP_LEADER);
    done(verdict, &lead, wants_to_lead ? 1 : 0, NULL, NULL, cbdata);
}

/* For a request that is not expected to be answered. */
static inline void never(pmix_status_t status, pmix_info_t* info, size_t ninfo, void* cbdata,
                         pmix_release_cbfunc_t release, void* release_cbdata) {
    (void)status, (void)info, (void)ninfo, (void)cbdata;
    if (release) release(release_cbdata);
}

static inline void listen_to(pmix_status_t code, pmix_notification_fn_t handler) {
    pmix_status_t reference = PMIx_Register_event_handler(&code, 1, NULL, 0, handler, NULL, NULL);
    CHECK(reference >= 0);
}

#endif

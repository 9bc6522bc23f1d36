/* SPDX-License-Identifier: BSD-3-Clause */
/* arguments: a caller's arrays are the caller's again when a blocking call has returned, and when the callback of
 * another one has run: they are overwritten at once, and what was asked for is done all the same. usage: arguments
 * blocking|callbacks */
#include "check.h"

enum { EVENT = -3207 };

/* Arrays as a caller may have them on its stack. `spoil` leaves nothing of what was in them. */
struct arguments {
    char key[PMIX_MAX_KEYLEN + 1];
    char text[64];
    pmix_proc_t procs[64];
    pmix_info_t info[2];
    size_t ninfo;
    pmix_value_t value;
};

static void load(struct arguments* a, const char* key, const char* text) {
    CHECK(job_size <= 64);
    memset(a, 0, sizeof *a);
    snprintf(a->key, sizeof a->key, "%s", key);
    snprintf(a->text, sizeof a->text, "%s", text);
    for (uint32_t i = 0; i < job_size; i++) a->procs[i] = rank_of_job(job_size - 1 - i);
    a->value = (pmix_value_t){.type = PMIX_STRING, .data.string = a->text};
}

static void add_info(struct arguments* a, const char* key, const void* value, pmix_data_type_t type) {
    PMIX_INFO_LOAD(&a->info[a->ninfo], key, value, type);
    a->ninfo++;
}

static void spoil(struct arguments* a) {
    for (size_t i = 0; i < a->ninfo; i++) {
        if (a->info[i].value.type == PMIX_STRING) {
            char* text = a->info[i].value.data.string;
            memset(text, 0x5a, strlen(text));
        }
        PMIX_INFO_DESTRUCT(&a->info[i]);
    }
    memset(a, 0x5a, sizeof *a);
}

static void expect_text(uint32_t rank, const char* key, const char* wanted) {
    struct arguments a;
    const int seconds = 120;
    pmix_value_t* value = NULL;
    load(&a, key, "");
    pmix_proc_t proc = rank_of_job(rank);
    add_info(&a, PMIX_TIMEOUT, &seconds, PMIX_INT);
    CHECK_OK(PMIx_Get(&proc, a.key, a.info, a.ninfo, &value));
    spoil(&a);
    memset(&proc, 0x5a, sizeof proc);
    CHECK(value->type == PMIX_STRING && strcmp(value->data.string, wanted) == 0);
    PMIX_VALUE_RELEASE(value);
}

static struct signal_box events = SIGNAL_BOX;

static void on_event(size_t handler, pmix_status_t status, const pmix_proc_t* source, pmix_info_t info[], size_t ninfo,
                     pmix_info_t* results, size_t nresults, pmix_event_notification_cbfunc_fn_t done, void* cbdata) {
    (void)handler, (void)source, (void)results, (void)nresults;
    bool right = false;
    for (size_t i = 0; i < ninfo; i++)
        if (strcmp(info[i].key, "arguments.text") == 0) right = strcmp(info[i].value.data.string, "of rank 0") == 0;
    CHECK(right);
    box_signal(&events, status);
    done(PMIX_EVENT_ACTION_COMPLETE, NULL, 0, NULL, NULL, cbdata);
}

/* rows: G5 */
static void blocking(int argc, char** argv) {
    (void)argc, (void)argv;
    struct arguments a;
    char text[64], key[64];
    const bool yes = true;
    start();
    snprintf(text, sizeof text, "of rank %u", me.rank);
    /* A handler, whose codes and infos are no longer there when the event comes. */
    pmix_status_t code = EVENT;
    load(&a, "", "");
    add_info(&a, PMIX_EVENT_HDLR_NAME, "arguments", PMIX_STRING);
    const pmix_status_t handler = PMIx_Register_event_handler(&code, 1, a.info, a.ninfo, on_event, NULL, NULL);
    CHECK(handler >= 0);
    code = 0x5a5a;
    spoil(&a);
    load(&a, "arguments.put", text);
    CHECK_OK(PMIx_Put(PMIX_GLOBAL, a.key, &a.value));
    spoil(&a);
    load(&a, "arguments.stored", text);
    CHECK_OK(PMIx_Store_internal(&a.procs[0], a.key, &a.value)); /* of the last rank */
    spoil(&a);
    expect_text(job_size - 1, "arguments.stored", text);
    CHECK_OK(PMIx_Commit());
    for (int round = 0; round < 3; round++) {
        load(&a, "", "");
        add_info(&a, PMIX_COLLECT_DATA, &yes, PMIX_BOOL);
        CHECK_OK(PMIx_Fence(a.procs, job_size, a.info, a.ninfo));
        spoil(&a);
    }
    for (uint32_t rank = 0; rank < job_size; rank++) {
        snprintf(text, sizeof text, "of rank %u", rank);
        expect_text(rank, "arguments.put", text);
    }
    /* Published, and looked up by keys that are overwritten too. */
    snprintf(key, sizeof key, "arguments.offer.%u", me.rank);
    snprintf(text, sizeof text, "of rank %u", me.rank);
    load(&a, "", "");
    add_info(&a, key, text, PMIX_STRING);
    CHECK_OK(PMIx_Publish(a.info, a.ninfo));
    spoil(&a);
    fence(false);
    for (uint32_t rank = 0; rank < job_size; rank++) {
        char found[64] = "";
        snprintf(key, sizeof key, "arguments.offer.%u", rank);
        snprintf(text, sizeof text, "of rank %u", rank);
        CHECK_OK(look_up_string(key, NULL, 0, found, sizeof found, NULL));
        CHECK(strcmp(found, text) == 0);
    }
    load(&a, "", "");
    CHECK_OK(PMIx_Connect(a.procs, job_size, NULL, 0));
    spoil(&a);
    load(&a, "", "");
    CHECK_OK(PMIx_Disconnect(a.procs, job_size, NULL, 0));
    spoil(&a);
    fence(false);
    if (me.rank == 0) {
        load(&a, "", "");
        add_info(&a, "arguments.text", "of rank 0", PMIX_STRING);
        CHECK_OK(PMIx_Notify_event(EVENT, &a.procs[job_size - 1], PMIX_RANGE_NAMESPACE, a.info, a.ninfo, NULL, NULL));
        spoil(&a);
    }
    CHECK(box_wait(&events, 1, 120));
    CHECK(events.status == EVENT);
    fence(false);
    CHECK_OK(PMIx_Deregister_event_handler((size_t)handler, NULL, NULL));
    finish();
}

/* --- the forms with a callback: it overwrites them ------------------------------------------------------------------
 */

struct call {
    struct signal_box box;
    struct arguments a;
    bool found;
};

static void over(pmix_status_t status, void* cbdata) {
    struct call* call = cbdata;
    spoil(&call->a);
    box_signal(&call->box, status);
}

static void got(pmix_status_t status, pmix_value_t* value, void* cbdata) {
    struct call* call = cbdata;
    call->found = status == PMIX_SUCCESS && value->type == PMIX_STRING && strcmp(value->data.string, "late") == 0;
    over(status, cbdata);
}

static struct call* begin(const char* key) {
    static const struct signal_box empty = SIGNAL_BOX;
    struct call* call = calloc(1, sizeof *call);
    CHECK(call);
    call->box = empty;
    load(&call->a, key, "");
    return call;
}

static void end(struct call* call) {
    CHECK(box_wait(&call->box, 1, 120));
    CHECK_OK(call->box.status);
    free(call);
}

/* rows: G5 */
static void callbacks(int argc, char** argv) {
    (void)argc, (void)argv;
    char key[64], text[64];
    const bool yes = true;
    const int seconds = 120;
    pmix_value_t late = {.type = PMIX_STRING, .data.string = (char*)(uintptr_t) "late"};
    start();
    /* Of the next rank, which has put nothing yet. */
    struct call* get = begin("arguments.late");
    get->a.procs[0] = rank_of_job((me.rank + 1) % job_size);
    add_info(&get->a, PMIX_TIMEOUT, &seconds, PMIX_INT);
    CHECK_OK(PMIx_Get_nb(&get->a.procs[0], get->a.key, get->a.info, get->a.ninfo, got, get));
    fence(false);
    CHECK_OK(PMIx_Put(PMIX_GLOBAL, "arguments.late", &late));
    CHECK_OK(PMIx_Commit());
    CHECK(box_wait(&get->box, 1, 120));
    CHECK(get->found);
    end(get);
    for (int round = 0; round < 3; round++) {
        struct call* fenced = begin("");
        add_info(&fenced->a, PMIX_COLLECT_DATA, &yes, PMIX_BOOL);
        CHECK_OK(PMIx_Fence_nb(fenced->a.procs, job_size, fenced->a.info, fenced->a.ninfo, over, fenced));
        end(fenced);
    }
    snprintf(key, sizeof key, "arguments.offer.%u", me.rank);
    snprintf(text, sizeof text, "of rank %u", me.rank);
    struct call* published = begin("");
    add_info(&published->a, key, text, PMIX_STRING);
    CHECK_OK(PMIx_Publish_nb(published->a.info, published->a.ninfo, over, published));
    end(published);
    fence(false);
    for (uint32_t rank = 0; rank < job_size; rank++) {
        char found[64] = "";
        snprintf(key, sizeof key, "arguments.offer.%u", rank);
        snprintf(text, sizeof text, "of rank %u", rank);
        CHECK_OK(look_up_string(key, NULL, 0, found, sizeof found, NULL));
        CHECK(strcmp(found, text) == 0);
    }
    struct call* connected = begin("");
    CHECK_OK(PMIx_Connect_nb(connected->a.procs, job_size, NULL, 0, over, connected));
    end(connected);
    struct call* disconnected = begin("");
    CHECK_OK(PMIx_Disconnect_nb(disconnected->a.procs, job_size, NULL, 0, over, disconnected));
    end(disconnected);
    finish();
}

int main(int argc, char** argv) {
    static const struct test_case cases[] = {{"blocking", blocking}, {"callbacks", callbacks}};
    RUN_CASE(cases);
    return 0;
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* Event Notification: registration, the order of the chain, ranges, attributes, and the upcalls. */
#include "check.h"
#include "host.h"

#define REGISTER "Event Notification / PMIx_Register_event_handler"
#define CHAIN "Event Notification / Notification and management"
#define HANDLER "Event Notification / pmix_notification_fn_t"
#define DEREGISTER "Event Notification / PMIx_Deregister_event_handler"
#define NOTIFY "Event Notification / PMIx_Notify_event"

enum { kCode = -3500, kOther = -3501 };

/* What the handlers saw, in their order. */
struct seen {
    char who;
    pmix_status_t status;
    pmix_proc_t source;
    size_t ninfo, nresults;
    void* object;
    char text[100];
};
static struct seen seen[300];
static int seen_count;
static struct signal events;
static pmix_status_t reply = PMIX_SUCCESS; /* what handler 'a' passes to the completion function */

static void note(char who, pmix_status_t status, const pmix_proc_t* source, pmix_info_t info[], size_t ninfo,
                 size_t nresults) {
    struct seen* s = &seen[__atomic_fetch_add(&seen_count, 1, __ATOMIC_SEQ_CST)];
    s->who = who;
    s->status = status;
    if (source != NULL) s->source = *source;
    s->ninfo = ninfo;
    s->nresults = nresults;
    for (size_t i = 0; i < ninfo; ++i) {
        if (PMIX_CHECK_KEY(&info[i], PMIX_EVENT_RETURN_OBJECT)) s->object = info[i].value.data.ptr;
        if (PMIX_CHECK_KEY(&info[i], "text")) snprintf(s->text, sizeof(s->text), "%s", info[i].value.data.string);
        if (PMIX_CHECK_KEY(&info[i], PMIX_EVENT_TEXT_MESSAGE))
            snprintf(s->text, sizeof(s->text), "%s", info[i].value.data.string);
    }
}

#define HANDLER_FUNCTION(letter)                                                                            \
    static void on_##letter(size_t id, pmix_status_t status, const pmix_proc_t* source, pmix_info_t info[], \
                            size_t ninfo, pmix_info_t results[], size_t nresults,                           \
                            pmix_event_notification_cbfunc_fn_t done, void* cbdata) {                       \
        (void)id;                                                                                           \
        (void)results;                                                                                      \
        note(#letter[0], status, source, info, ninfo, nresults);                                            \
        done(#letter[0] == 'a' ? reply : PMIX_SUCCESS, NULL, 0, NULL, NULL, cbdata);                        \
        raise_signal(&events, status);                                                                      \
    }
HANDLER_FUNCTION(a)
HANDLER_FUNCTION(b)
HANDLER_FUNCTION(c)
HANDLER_FUNCTION(d)
HANDLER_FUNCTION(e)
HANDLER_FUNCTION(f)

static size_t add(pmix_notification_fn_t handler, int ncodes, pmix_info_t* info, size_t ninfo) {
    pmix_status_t codes[2] = {kCode, kOther};
    pmix_status_t id =
        PMIx_Register_event_handler(ncodes > 0 ? codes : NULL, (size_t)ncodes, info, ninfo, handler, NULL, NULL);
    if (id == PMIX_ERR_NOT_SUPPORTED) unsupported("event notification");
    if (id < 0) failed("PMIx_Register_event_handler: %s", PMIx_Error_string(id));
    return (size_t)id;
}
static size_t add_flag(pmix_notification_fn_t handler, int ncodes, const char* key) {
    pmix_info_t info = info_true(key);
    return add(handler, ncodes, &info, 1);
}
static void notify(pmix_status_t code, pmix_data_range_t range, pmix_info_t* info, size_t ninfo) {
    EXPECT_ACCEPTED(PMIx_Notify_event(code, &me, range, info, ninfo, NULL, NULL));
}
static void notify_self(pmix_status_t code) {
    notify(code, PMIX_RANGE_PROC_LOCAL, NULL, 0);
}
/* The handlers that saw the event, as a text such as "abc". */
static void expect_order(const char* letters) {
    wait_signal(&events, (int)strlen(letters), "the handlers");
    pause_ms(100);
    char order[40] = "";
    for (int i = 0; i < seen_count && i < 39; ++i) order[i] = seen[i].who;
    EXPECT_STRING(letters, order);
}

ROW(register_blocking, REGISTER, "Without a callback the reference is returned, 0 or more", .ranks = 1) {
    pmix_status_t code = kCode;
    EXPECT(PMIx_Register_event_handler(&code, 1, NULL, 0, on_a, NULL, NULL) >= 0);
}
static struct signal registered;
static size_t registered_id;
static void on_registered(pmix_status_t status, size_t id, void* cbdata) {
    EXPECT_INT(0x77, (uintptr_t)cbdata);
    registered_id = id;
    raise_signal(&registered, status);
}
ROW(register_callback, REGISTER, "With a callback the reference is given to it", .ranks = 1) {
    pmix_status_t code = kCode;
    EXPECT_OK(PMIx_Register_event_handler(&code, 1, NULL, 0, on_a, on_registered, (void*)0x77));
    wait_signal(&registered, 1, "the registration callback");
    EXPECT_OK(registered.status);
    notify_self(kCode);
    expect_order("a");
    EXPECT_ACCEPTED(PMIx_Deregister_event_handler(registered_id, NULL, NULL));
}
ROW(register_references, REGISTER, "Each registration has a reference of its own", .ranks = 1) {
    size_t one = add(on_a, 1, NULL, 0), two = add(on_a, 1, NULL, 0), three = add(on_b, 0, NULL, 0);
    EXPECT(one != two && two != three && one != three);
    notify_self(kCode);
    expect_order("aab");
}
ROW(register_any_code, REGISTER, "Any integer may be a code", .ranks = 1) {
    const pmix_status_t codes[] = {4711, -100000, INT32_MAX, -3001};
    for (int i = 0; i < 4; ++i) {
        pmix_status_t code = codes[i];
        EXPECT(PMIx_Register_event_handler(&code, 1, NULL, 0, on_a, NULL, NULL) >= 0);
        notify_self(codes[i]);
        wait_signal(&events, i + 1, "the event");
        EXPECT_INT(codes[i], seen[i].status);
    }
}
ROW(handler_default, CHAIN, "A handler without codes sees every event", .ranks = 1) {
    add(on_a, 0, NULL, 0);
    notify_self(kCode);
    notify_self(kOther);
    expect_order("aa");
    EXPECT_INT(kCode, seen[0].status);
    EXPECT_INT(kOther, seen[1].status);
}
ROW(handler_single, CHAIN, "A handler of one code sees no other", .ranks = 1) {
    add(on_a, 1, NULL, 0);
    add(on_b, 0, NULL, 0);
    notify_self(kOther);
    expect_order("b");
}
ROW(handler_multi, CHAIN, "A handler of several codes sees each of them", .ranks = 1) {
    add(on_a, 2, NULL, 0);
    notify_self(kOther);
    notify_self(kCode);
    notify_self(-3502);
    expect_order("aa");
}
ROW(chain_categories, CHAIN, "Handlers of one code are called before those of several, and these before default ones",
    .ranks = 1) {
    add(on_c, 0, NULL, 0);
    add(on_b, 2, NULL, 0);
    add(on_a, 1, NULL, 0);
    notify_self(kCode);
    expect_order("abc");
}
ROW(chain_first, CHAIN, "PMIX_EVENT_HDLR_FIRST is called before all others", .ranks = 1) {
    add(on_b, 1, NULL, 0);
    add_flag(on_a, 0, PMIX_EVENT_HDLR_FIRST);
    notify_self(kCode);
    expect_order("ab");
}
ROW(chain_last, CHAIN, "PMIX_EVENT_HDLR_LAST is called after all others", .ranks = 1) {
    add_flag(on_c, 1, PMIX_EVENT_HDLR_LAST);
    add(on_a, 1, NULL, 0);
    add(on_b, 0, NULL, 0);
    notify_self(kCode);
    expect_order("abc");
}
ROW(chain_all_six, CHAIN, "First, one code, several codes, default, last", .ranks = 1) {
    add_flag(on_e, 0, PMIX_EVENT_HDLR_LAST);
    add(on_d, 0, NULL, 0);
    add(on_c, 2, NULL, 0);
    add(on_b, 1, NULL, 0);
    add_flag(on_a, 0, PMIX_EVENT_HDLR_FIRST);
    notify_self(kCode);
    expect_order("abcde");
}
ROW(chain_one_first, CHAIN, "Only one handler may be the first", .ranks = 1) {
    add_flag(on_a, 0, PMIX_EVENT_HDLR_FIRST);
    pmix_info_t info = info_true(PMIX_EVENT_HDLR_FIRST);
    EXPECT_ERROR(PMIx_Register_event_handler(NULL, 0, &info, 1, on_b, NULL, NULL));
}
ROW(chain_one_last, CHAIN, "Only one handler may be the last", .ranks = 1) {
    add_flag(on_a, 0, PMIX_EVENT_HDLR_LAST);
    pmix_info_t info = info_true(PMIX_EVENT_HDLR_LAST);
    EXPECT_ERROR(PMIx_Register_event_handler(NULL, 0, &info, 1, on_b, NULL, NULL));
}
ROW(chain_first_freed, CHAIN, "After the first handler is deregistered another may be the first", .ranks = 1) {
    size_t id = add_flag(on_a, 0, PMIX_EVENT_HDLR_FIRST);
    EXPECT_ACCEPTED(PMIx_Deregister_event_handler(id, NULL, NULL));
    add_flag(on_b, 0, PMIX_EVENT_HDLR_FIRST);
    notify_self(kCode);
    expect_order("b");
}
ROW(chain_first_in_category, CHAIN, "PMIX_EVENT_HDLR_FIRST_IN_CATEGORY is called before the others of its category",
    .ranks = 1) {
    add(on_b, 1, NULL, 0);
    add(on_c, 0, NULL, 0);
    add_flag(on_a, 1, PMIX_EVENT_HDLR_FIRST_IN_CATEGORY);
    notify_self(kCode);
    expect_order("abc");
}
ROW(chain_last_in_category, CHAIN, "PMIX_EVENT_HDLR_LAST_IN_CATEGORY is called after the others of its category",
    .ranks = 1) {
    add_flag(on_b, 1, PMIX_EVENT_HDLR_LAST_IN_CATEGORY);
    add(on_a, 1, NULL, 0);
    add(on_c, 0, NULL, 0);
    notify_self(kCode);
    expect_order("abc");
}
ROW(chain_before, CHAIN, "PMIX_EVENT_HDLR_BEFORE puts a handler before the one that is named", .ranks = 1) {
    pmix_info_t name = info_of(PMIX_EVENT_HDLR_NAME, "named", PMIX_STRING),
                before = info_of(PMIX_EVENT_HDLR_BEFORE, "named", PMIX_STRING);
    add(on_a, 1, NULL, 0);
    add(on_c, 1, &name, 1);
    add(on_b, 1, &before, 1);
    notify_self(kCode);
    wait_signal(&events, 3, "the handlers");
    pause_ms(50);
    int at_b = -1, at_c = -1;
    for (int i = 0; i < seen_count; ++i) {
        if (seen[i].who == 'b') at_b = i;
        if (seen[i].who == 'c') at_c = i;
    }
    EXPECT_INT(at_b + 1, at_c);
}
ROW(chain_after, CHAIN, "PMIX_EVENT_HDLR_AFTER puts a handler after the one that is named", .ranks = 1) {
    pmix_info_t name = info_of(PMIX_EVENT_HDLR_NAME, "named", PMIX_STRING),
                after = info_of(PMIX_EVENT_HDLR_AFTER, "named", PMIX_STRING);
    add(on_c, 1, &name, 1);
    add(on_d, 1, &after, 1);
    notify_self(kCode);
    expect_order("cd");
}
ROW(chain_prepend, CHAIN, "PMIX_EVENT_HDLR_PREPEND puts a handler in front of its category", .ranks = 1) {
    add(on_b, 1, NULL, 0);
    add_flag(on_a, 1, PMIX_EVENT_HDLR_PREPEND);
    notify_self(kCode);
    expect_order("ab");
}
ROW(chain_append, CHAIN, "PMIX_EVENT_HDLR_APPEND puts a handler at the end of its category", .ranks = 1) {
    add(on_a, 1, NULL, 0);
    add_flag(on_b, 1, PMIX_EVENT_HDLR_APPEND);
    notify_self(kCode);
    expect_order("ab");
}
ROW(chain_complete, CHAIN, "PMIX_EVENT_ACTION_COMPLETE ends the chain", .ranks = 1) {
    reply = PMIX_EVENT_ACTION_COMPLETE;
    add(on_a, 1, NULL, 0);
    add(on_b, 0, NULL, 0);
    notify_self(kCode);
    expect_order("a");
    notify_self(kOther);
    expect_order("ab");
}

static void on_result(size_t id, pmix_status_t status, const pmix_proc_t* source, pmix_info_t info[], size_t ninfo,
                      pmix_info_t results[], size_t nresults, pmix_event_notification_cbfunc_fn_t done, void* cbdata) {
    (void)id;
    (void)results;
    static pmix_info_t mine;
    mine = info_of("text", "from the first", PMIX_STRING);
    note('r', status, source, info, ninfo, nresults);
    done(PMIX_EVENT_PARTIAL_ACTION_TAKEN, &mine, 1, NULL, NULL, cbdata);
    raise_signal(&events, status);
}
static char result_text[100];
static void on_see_results(size_t id, pmix_status_t status, const pmix_proc_t* source, pmix_info_t info[], size_t ninfo,
                           pmix_info_t results[], size_t nresults, pmix_event_notification_cbfunc_fn_t done,
                           void* cbdata) {
    (void)id;
    note('s', status, source, info, ninfo, nresults);
    for (size_t i = 0; i < nresults; ++i) {
        if (PMIX_CHECK_KEY(&results[i], "text"))
            snprintf(result_text, sizeof(result_text), "%s", results[i].value.data.string);
    }
    done(PMIX_SUCCESS, NULL, 0, NULL, NULL, cbdata);
    raise_signal(&events, status);
}
ROW(chain_results, HANDLER, "A later handler sees what an earlier one passed to the completion function", .ranks = 1) {
    add(on_result, 1, NULL, 0);
    add(on_see_results, 0, NULL, 0);
    notify_self(kCode);
    expect_order("rs");
    EXPECT_INT(0, seen[0].nresults);
    EXPECT(seen[1].nresults > 0);
    EXPECT_STRING("from the first", result_text);
}
ROW(handler_source, HANDLER, "The source is the process that reported the event", .ranks = 2) {
    if (my_rank == 0) {
        add(on_a, 1, NULL, 0);
        barrier(false);
        wait_signal(&events, 1, "the event");
        EXPECT_STRING(me.nspace, seen[0].source.nspace);
        EXPECT_INT(1, seen[0].source.rank);
        EXPECT_INT(kCode, seen[0].status);
    } else {
        barrier(false);
        notify(kCode, PMIX_RANGE_LOCAL, NULL, 0);
    }
    barrier(false);
}
ROW(handler_info, HANDLER, "The attributes of the event reach the handler", .ranks = 2) {
    if (my_rank == 0) {
        add(on_a, 1, NULL, 0);
        barrier(false);
        wait_signal(&events, 1, "the event");
        EXPECT_STRING("what happened", seen[0].text);
    } else {
        barrier(false);
        pmix_info_t info = info_of("text", "what happened", PMIX_STRING);
        notify(kCode, PMIX_RANGE_LOCAL, &info, 1);
    }
    barrier(false);
}
ROW(handler_text_message, NOTIFY, "PMIX_EVENT_TEXT_MESSAGE is passed to the handler", .ranks = 1) {
    add(on_a, 1, NULL, 0);
    pmix_info_t info = info_of(PMIX_EVENT_TEXT_MESSAGE, "a message", PMIX_STRING);
    notify(kCode, PMIX_RANGE_PROC_LOCAL, &info, 1);
    wait_signal(&events, 1, "the event");
    EXPECT_STRING("a message", seen[0].text);
}
ROW(handler_object, REGISTER, "PMIX_EVENT_RETURN_OBJECT is given to the handler that registered it, to no other",
    .ranks = 1) {
    static int object;
    pmix_info_t info = info_of(PMIX_EVENT_RETURN_OBJECT, &object, PMIX_POINTER);
    add(on_a, 1, &info, 1);
    add(on_b, 0, NULL, 0);
    notify_self(kCode);
    expect_order("ab");
    EXPECT(seen[0].object == &object);
    EXPECT(seen[1].object == NULL);
}
ROW(range_proc_local, NOTIFY, "An event of PMIX_RANGE_PROC_LOCAL stays in its process", .ranks = 2) {
    add(on_a, 1, NULL, 0);
    barrier(false);
    if (my_rank == 1) notify_self(kCode);
    barrier(false);
    pause_ms(150);
    EXPECT_INT(my_rank == 1 ? 1 : 0, signal_count(&events));
}
ROW(range_namespace, NOTIFY, "An event of PMIX_RANGE_NAMESPACE reaches all processes of the namespace", .ranks = 3) {
    add(on_a, 1, NULL, 0);
    barrier(false);
    if (my_rank == 1) notify(kCode, PMIX_RANGE_NAMESPACE, NULL, 0);
    if (my_rank != 1) wait_signal(&events, 1, "the event");
    barrier(false);
}
ROW(range_global, NOTIFY, "An event of PMIX_RANGE_GLOBAL reaches the peers", .ranks = 2) {
    add(on_a, 1, NULL, 0);
    barrier(false);
    if (my_rank == 1) notify(kCode, PMIX_RANGE_GLOBAL, NULL, 0);
    if (my_rank == 0) wait_signal(&events, 1, "the event");
    barrier(false);
}
ROW(range_session, NOTIFY, "An event of PMIX_RANGE_SESSION reaches the peers", .ranks = 2) {
    add(on_a, 1, NULL, 0);
    barrier(false);
    if (my_rank == 1) notify(kCode, PMIX_RANGE_SESSION, NULL, 0);
    if (my_rank == 0) wait_signal(&events, 1, "the event");
    barrier(false);
}
ROW(range_custom, NOTIFY, "An event of PMIX_RANGE_CUSTOM reaches the processes that are listed, no others",
    .ranks = 3) {
    add(on_a, 1, NULL, 0);
    barrier(false);
    if (my_rank == 0) {
        pmix_proc_t target = proc_of(me.nspace, 2);
        pmix_data_array_t array = {PMIX_PROC, 1, &target};
        pmix_info_t info = info_of(PMIX_EVENT_CUSTOM_RANGE, &array, PMIX_DATA_ARRAY);
        notify(kCode, PMIX_RANGE_CUSTOM, &info, 1);
    }
    if (my_rank == 2) wait_signal(&events, 1, "the event");
    barrier(false);
    pause_ms(150);
    if (my_rank == 1) EXPECT_INT(0, signal_count(&events));
}
ROW(notify_non_default, NOTIFY, "PMIX_EVENT_NON_DEFAULT keeps an event from default handlers", .ranks = 1) {
    add(on_a, 1, NULL, 0);
    add(on_b, 0, NULL, 0);
    pmix_info_t info = info_true(PMIX_EVENT_NON_DEFAULT);
    notify(kCode, PMIX_RANGE_PROC_LOCAL, &info, 1);
    expect_order("a");
}
ROW(notify_cached, CHAIN, "An event is kept for a process that registers its handler later", .ranks = 2) {
    if (my_rank == 0) notify(kCode, PMIX_RANGE_NAMESPACE, NULL, 0);
    barrier(false);
    if (my_rank == 1) {
        add(on_a, 1, NULL, 0);
        wait_signal(&events, 1, "the cached event");
        EXPECT_INT(kCode, seen[0].status);
    }
    barrier(false);
}
ROW(notify_not_cached, NOTIFY, "PMIX_EVENT_DO_NOT_CACHE: a handler that is registered later does not see the event",
    .ranks = 2) {
    pmix_info_t info = info_true(PMIX_EVENT_DO_NOT_CACHE);
    if (my_rank == 0) notify(kCode, PMIX_RANGE_NAMESPACE, &info, 1);
    barrier(false);
    pause_ms(100);
    if (my_rank == 1) add(on_a, 1, NULL, 0);
    barrier(false);
    pause_ms(150);
    EXPECT_INT(0, signal_count(&events));
}
ROW(notify_order, NOTIFY, "Events of one process are seen in their order", .ranks = 2) {
    add(on_a, 0, NULL, 0);
    barrier(false);
    if (my_rank == 1) {
        for (int i = 0; i < 50; ++i) notify(-4000 - i, PMIX_RANGE_LOCAL, NULL, 0);
    } else {
        wait_signal(&events, 50, "the events");
        for (int i = 0; i < 50; ++i) EXPECT_INT(-4000 - i, seen[i].status);
    }
    barrier(false);
}
static struct signal done;
ROW(notify_callback, NOTIFY, "With a callback: one callback, or PMIX_OPERATION_SUCCEEDED without", .ranks = 1) {
    pmix_status_t status = EXPECT_ACCEPTED(PMIx_Notify_event(kCode, &me, PMIX_RANGE_LOCAL, NULL, 0, op_done, &done));
    if (status == PMIX_SUCCESS) {
        wait_signal(&done, 1, "the callback");
        EXPECT_STATUS(done.status, PMIX_SUCCESS, PMIX_OPERATION_SUCCEEDED);
    }
    pause_ms(50);
    EXPECT_INT(status == PMIX_SUCCESS ? 1 : 0, signal_count(&done));
}
static void on_notify_again(size_t id, pmix_status_t status, const pmix_proc_t* source, pmix_info_t info[],
                            size_t ninfo, pmix_info_t results[], size_t nresults,
                            pmix_event_notification_cbfunc_fn_t completed, void* cbdata) {
    (void)id;
    (void)results;
    note('n', status, source, info, ninfo, nresults);
    (void)PMIx_Notify_event(kOther, &me, PMIX_RANGE_PROC_LOCAL, NULL, 0, op_done, &done);
    completed(PMIX_SUCCESS, NULL, 0, NULL, NULL, cbdata);
    raise_signal(&events, status);
}
static void on_other(size_t id, pmix_status_t status, const pmix_proc_t* source, pmix_info_t info[], size_t ninfo,
                     pmix_info_t results[], size_t nresults, pmix_event_notification_cbfunc_fn_t completed,
                     void* cbdata) {
    on_b(id, status, source, info, ninfo, results, nresults, completed, cbdata);
}
ROW(notify_in_handler, NOTIFY, "A handler may report another event", .ranks = 1) {
    pmix_status_t other = kOther;
    add(on_notify_again, 1, NULL, 0);
    EXPECT(PMIx_Register_event_handler(&other, 1, NULL, 0, on_other, NULL, NULL) >= 0);
    notify_self(kCode);
    expect_order("nb");
}
ROW(deregister_stops, DEREGISTER, "After deregistration a handler sees nothing more", .ranks = 1) {
    size_t id = add(on_a, 1, NULL, 0);
    notify_self(kCode);
    wait_signal(&events, 1, "the event");
    EXPECT_ACCEPTED(PMIx_Deregister_event_handler(id, NULL, NULL));
    notify_self(kCode);
    pause_ms(150);
    EXPECT_INT(1, signal_count(&events));
}
ROW(deregister_callback, DEREGISTER, "With a callback: one callback, or PMIX_OPERATION_SUCCEEDED without", .ranks = 1) {
    size_t id = add(on_a, 1, NULL, 0);
    pmix_status_t status = EXPECT_ACCEPTED(PMIx_Deregister_event_handler(id, op_done, &done));
    if (status == PMIX_SUCCESS) {
        wait_signal(&done, 1, "the callback");
        EXPECT_STATUS(done.status, PMIX_SUCCESS, PMIX_OPERATION_SUCCEEDED);
    }
}
ROW(deregister_unknown, DEREGISTER, "A reference that was never given is PMIX_ERR_BAD_PARAM", .ranks = 1) {
    EXPECT_STATUS(PMIx_Deregister_event_handler(987654, NULL, NULL), PMIX_ERR_BAD_PARAM);
}
ROW(deregister_twice, DEREGISTER, "A reference that was given back is PMIX_ERR_BAD_PARAM", .ranks = 1) {
    size_t id = add(on_a, 1, NULL, 0);
    EXPECT_ACCEPTED(PMIx_Deregister_event_handler(id, NULL, NULL));
    EXPECT_STATUS(PMIx_Deregister_event_handler(id, NULL, NULL), PMIX_ERR_BAD_PARAM);
}
ROW(affected_proc, REGISTER, "A handler with PMIX_EVENT_AFFECTED_PROC sees only events that name that process",
    .ranks = 1) {
    pmix_proc_t one = proc_of(me.nspace, 5), other = proc_of(me.nspace, 6);
    pmix_info_t wanted = info_of(PMIX_EVENT_AFFECTED_PROC, &one, PMIX_PROC),
                not_wanted = info_of(PMIX_EVENT_AFFECTED_PROC, &other, PMIX_PROC);
    add(on_a, 1, &wanted, 1);
    add(on_b, 0, NULL, 0);
    notify(kCode, PMIX_RANGE_PROC_LOCAL, &not_wanted, 1);
    expect_order("b");
    notify(kCode, PMIX_RANGE_PROC_LOCAL, &wanted, 1);
    expect_order("bab");
}
#ifdef PMIX_SYSTEM_EVENT
ROW(system_event, "Event Notification / System events",
    "System events are the codes between PMIX_EVENT_SYS_BASE and PMIX_EVENT_SYS_OTHER") {
    EXPECT(PMIX_SYSTEM_EVENT(PMIX_EVENT_SYS_BASE));
    EXPECT(PMIX_SYSTEM_EVENT(PMIX_EVENT_NODE_DOWN));
    EXPECT(PMIX_SYSTEM_EVENT(PMIX_EVENT_SYS_OTHER));
    EXPECT(!PMIX_SYSTEM_EVENT(PMIX_EVENT_SYS_BASE + 1));
    EXPECT(!PMIX_SYSTEM_EVENT(PMIX_EVENT_SYS_OTHER - 1));
    EXPECT(!PMIX_SYSTEM_EVENT(PMIX_ERR_NOT_FOUND));
}
#endif

/* ---- between host and clients ---- */

static void host_notifies(void) {
    wait_clients(2);
    pmix_proc_t source = proc_of("", PMIX_RANK_UNDEF);
    pmix_info_t info = info_of("text", "from the host", PMIX_STRING);
    EXPECT_ACCEPTED(PMIx_Notify_event(kCode, &source, PMIX_RANGE_LOCAL, &info, 1, NULL, NULL));
}
static void not_echoed(void) {
    for (int i = 0; i < upcall_count("notify_event"); ++i) EXPECT(upcall_at("notify_event", i)->number != kCode);
}
ROW(host_event, NOTIFY,
    "An event that the host gives to its server reaches the clients, and is not given back to the host", .ranks = 2,
    .during = host_notifies, .after = not_echoed) {
    add(on_a, 1, NULL, 0);
    tell_host();
    wait_signal(&events, 1, "the event");
    EXPECT_STRING("from the host", seen[0].text);
}
static void event_for_host(void) {
    const struct upcall* upcall = upcall_at("notify_event", 0);
    EXPECT_INT(kCode, upcall->number);
    EXPECT_INT(0, upcall->proc.rank);
    EXPECT_STRING(row_nspace, upcall->proc.nspace);
    const pmix_info_t* info = upcall_info(upcall, "text");
    EXPECT(info != NULL);
    EXPECT_STRING("up", info->value.data.string);
}
ROW(upcall_notify, "Server-Specific Interfaces / pmix_server_notify_event_fn_t",
    "An event of a client beyond its node is given to the host", .ranks = 1, .after = event_for_host) {
    pmix_info_t info = info_of("text", "up", PMIX_STRING);
    notify(kCode, PMIX_RANGE_GLOBAL, &info, 1);
    barrier(false);
}
static void by_callback(void) {
    host_notify_callback = true;
}
ROW(upcall_notify_callback, "Server-Specific Interfaces / pmix_server_notify_event_fn_t",
    "The host may answer later, from a thread of its own", .ranks = 2, .before = by_callback) {
    for (int i = 0; i < 20; ++i) notify(kCode, PMIX_RANGE_GLOBAL, NULL, 0);
    barrier(false);
}
ROW(lost_process, NOTIFY, "The end of a process without PMIx_Finalize is an event for those who asked for it",
    .ranks = 2, .raw = true) {
    EXPECT_OK(PMIx_Init(&me, NULL, 0));
    if (my_rank == 0) {
        pmix_status_t codes[2] = {PMIX_ERR_LOST_CONNECTION, PMIX_ERR_PROC_ABORTED};
        EXPECT(PMIx_Register_event_handler(codes, 2, NULL, 0, on_a, NULL, NULL) >= 0);
    }
    barrier(false);
    if (my_rank == 1) _exit(0);
    wait_signal(&events, 1, "an event of the lost process");
    EXPECT_OK(PMIx_Finalize(NULL, 0));
}

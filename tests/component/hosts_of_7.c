/* SPDX-License-Identifier: BSD-3-Clause */
/* hosts_of_7.c: hosts that use what is new in OpenPMIx 7.0: a group's construct is cancelled, and input is stopped at
 * its source and let go on, and allocations are asked for, with all that can be said of one. The clients' half, by the
 * same names: client_of_7.c. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
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

static struct box constructs = BOX, cancels = BOX, requests = BOX;

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

/* --- input ---------------------------------------------------------------------------------------------------------
 * Rank 0 forwards its stdin, which this host fills. Stopped, its source hands over nothing more and shortly afterwards
 * reads nothing more; when it may go on, all comes in order. */

enum { INPUT = 1 << 20, FIRST = 4096, HELD = 256 << 10 }; /* HELD: more than buffers between here and there take */

static pthread_mutex_t input_lock = PTHREAD_MUTEX_INITIALIZER;
static size_t received;
static bool stopped, stops_by_answer, ended;

static char letter_at(size_t at) {
    return (char)('a' + (at * 7 + at / 251) % 26);
}

static pmix_status_t push_stdin(const pmix_proc_t* source, const pmix_proc_t targets[], size_t ntargets,
                                const pmix_info_t directives[], size_t ndirs, const pmix_byte_object_t* bytes,
                                pmix_op_cbfunc_t done, void* cbdata) {
    (void)directives, (void)ndirs;
    CHECK(source->rank == 0 && ntargets == 1 && targets[0].rank == 1);
    pthread_mutex_lock(&input_lock);
    CHECK(!stopped && !ended);
    for (size_t i = 0; bytes && i < bytes->size; i++) CHECK(bytes->bytes[i] == letter_at(received + i));
    const size_t size = bytes ? bytes->size : 0;
    const bool stop = stops_by_answer && received == 0 && size > 0;
    received += size;
    ended = size == 0;
    stopped = stop;
    pthread_mutex_unlock(&input_lock);
    done(stop ? PMIX_ERR_IOF_XOFF : PMIX_SUCCESS, cbdata);
    return PMIX_SUCCESS;
}

static size_t received_now(void) {
    pthread_mutex_lock(&input_lock);
    const size_t size = received;
    pthread_mutex_unlock(&input_lock);
    return size;
}

static void control_input(const pmix_proc_t* source, bool stop) {
    struct box done = BOX;
    if (!stop) {
        pthread_mutex_lock(&input_lock);
        stopped = false;
        pthread_mutex_unlock(&input_lock);
    }
    CHECK_OK(PMIx_server_IOF_flow_control(source, PMIX_FWD_STDIN_CHANNEL, stop, NULL, 0, box_done, &done));
    box_wait(&done, 1);
    CHECK(done.status == PMIX_SUCCESS);
    pthread_mutex_lock(&input_lock);
    stopped = stop;
    pthread_mutex_unlock(&input_lock);
}

/* Writes up to `limit` bytes in all, as far as the pipe takes them now. */
static size_t fill(int fd, size_t at, size_t limit) {
    char block[4096];
    while (at < limit) {
        size_t size = limit - at < sizeof block ? limit - at : sizeof block;
        for (size_t i = 0; i < size; i++) block[i] = letter_at(at + i);
        const ssize_t n = write(fd, block, size);
        if (n < 0) {
            CHECK(errno == EAGAIN || errno == EINTR);
            break;
        }
        at += (size_t)n;
    }
    return at;
}

static void run_input(const pmix_proc_t* source, bool by_answer) {
    pmix_server_module_t module = module_that(BY_CALLBACK, BY_CALLBACK);
    const pmix_proc_t pusher = proc_of("job", 0);
    const struct timespec moment = {0, 1000000};
    int ends[2];
    module.push_stdin = push_stdin;
    stops_by_answer = by_answer;
    CHECK_OK(PMIx_server_init(&module, NULL, 0));
    register_job_of_two_nodes();
    CHECK(pipe2(ends, O_CLOEXEC) == 0 && fcntl(ends[1], F_SETFL, O_NONBLOCK) == 0);
    const int before = dup(0);
    CHECK(before >= 0 && dup2(ends[0], 0) == 0);
    pid_t pids[RANKS];
    for (uint32_t rank = 0; rank < RANKS; rank++) pids[rank] = start_client("job", rank, "forwards-input");
    CHECK(dup2(before, 0) == 0);
    close(before), close(ends[0]);

    size_t sent = fill(ends[1], 0, FIRST);
    CHECK(sent == FIRST);
    while (received_now() < (by_answer ? 1 : FIRST)) nanosleep(&moment, NULL);
    if (!by_answer) control_input(source, true);
    const size_t taken = received_now();
    /* Rank 0 goes on publishing: these upcalls are the time in which it could hand over input, and it does not. */
    for (const int until = upcalls() + 200; upcalls() < until; nanosleep(&moment, NULL))
        sent = fill(ends[1], sent, INPUT);
    CHECK(received_now() == taken);
    CHECK(sent < taken + HELD);
    control_input(by_answer ? &pusher : source, false);
    for (; sent < INPUT; nanosleep(&moment, NULL)) sent = fill(ends[1], sent, INPUT);
    close(ends[1]);
    for (uint32_t rank = 0; rank < RANKS; rank++) await_client(pids[rank], 0);
    CHECK(ended && received == INPUT);
    deregister_job("job");
    CHECK_OK(PMIx_server_finalize());
}

static void stops_input_by_its_answer(void) {
    run_input(NULL, true);
}

static void stops_input_of_a_process(void) {
    const pmix_proc_t source = proc_of("job", 0);
    run_input(&source, false);
}

static void stops_input_of_a_job(void) {
    const pmix_proc_t source = proc_of("job", PMIX_RANK_WILDCARD);
    run_input(&source, false);
}

static void stops_all_input(void) {
    run_input(NULL, false);
}

/* --- allocations ---------------------------------------------------------------------------------------------------
 * The host gets the inheritance as it was given, of its own type, and grants the next weaker one in its answer. */

static pmix_status_t allocate(const pmix_proc_t* client, pmix_alloc_directive_t directive, const pmix_info_t data[],
                              size_t ndata, pmix_info_cbfunc_t done, void* cbdata) {
    static pmix_info_t granted[4]; /* until the server has ended: its callback may read them later */
    const pmix_info_t* asked = NULL;
    CHECK(client->rank == 0 && directive == PMIX_ALLOC_NEW);
    for (size_t i = 0; i < ndata; i++)
        if (PMIX_CHECK_KEY(&data[i], PMIX_ALLOC_INHERITANCE)) asked = &data[i];
    CHECK(asked && asked->value.type == PMIX_ALLOC_INHERIT);
    const pmix_alloc_inheritance_t wanted = asked->value.data.inheritance;
    CHECK(wanted == PMIX_ALLOC_INHERIT_NONE + requests.count && wanted <= PMIX_ALLOC_INHERIT_CHILD_DEFAULT);
    CHECK(PMIX_INFO_IS_REQUIRED(asked) == (wanted == PMIX_ALLOC_INHERIT_CHILD_DEFAULT));
    box_signal(&requests, PMIX_SUCCESS);
    if (wanted == PMIX_ALLOC_INHERIT_NONE) return PMIX_ERR_NOT_SUPPORTED;
    pmix_info_t* answer = &granted[wanted - 1];
    const pmix_alloc_inheritance_t weaker = (pmix_alloc_inheritance_t)(wanted - 1);
    PMIX_INFO_LOAD(answer, PMIX_ALLOC_INHERITANCE, &weaker, PMIX_ALLOC_INHERIT);
    done(PMIX_SUCCESS, answer, 1, cbdata, NULL, NULL);
    return PMIX_SUCCESS;
}

static void grants_allocations_that_jobs_inherit(void) {
    pmix_server_module_t module = module_that(BY_CALLBACK, BY_CALLBACK);
    module.allocate = allocate;
    CHECK_OK(PMIx_server_init(&module, NULL, 0));
    register_job_of_two_nodes();
    run_job("job", RANKS, "allocation-to-inherit");
    deregister_job("job");
    CHECK_OK(PMIx_server_finalize());
    CHECK(requests.count == 4);
}

/* All that a process says of an allocation, whatever it means, and what the host says. */
static pmix_status_t takes_allocation(const pmix_proc_t* client, pmix_alloc_directive_t directive,
                                      const pmix_info_t data[], size_t ndata, pmix_info_cbfunc_t done, void* cbdata) {
    size_t count;
    pmix_info_t* samples = allocation_samples(&count);
    CHECK(client->rank == 0 && directive == PMIX_ALLOC_EXTERNAL);
    CHECK(has_each(data, ndata, samples, count));
    box_signal(&requests, PMIX_SUCCESS);
    done(PMIX_SUCCESS, samples, count, cbdata, NULL, NULL);
    PMIX_INFO_FREE(samples, count);
    return PMIX_SUCCESS;
}

static pmix_status_t takes_spawn(const pmix_proc_t* proc, const pmix_info_t info[], size_t ninfo,
                                 const pmix_app_t apps[], size_t napps, pmix_spawn_cbfunc_t done, void* cbdata) {
    size_t count;
    pmix_info_t* samples = spawn_samples(&count);
    pmix_nspace_t nspace;
    CHECK(proc->rank == 0 && napps == 1);
    CHECK(has_each(info, ninfo, samples, count));
    CHECK(has_each(apps[0].info, apps[0].ninfo, samples, count));
    PMIX_INFO_FREE(samples, count);
    box_signal(&requests, PMIX_SUCCESS);
    PMIX_LOAD_NSPACE(nspace, "spawned");
    done(PMIX_SUCCESS, nspace, cbdata);
    return PMIX_SUCCESS;
}

static pmix_status_t takes_questions(pmix_proc_t* proc, pmix_query_t* queries, size_t n, pmix_info_cbfunc_t done,
                                     void* cbdata) {
    size_t count;
    pmix_info_t* samples = allocation_samples(&count);
    CHECK(proc->rank == 0 && n == 1);
    CHECK(has_each(queries[0].qualifiers, queries[0].nqual, samples, count));
    PMIX_INFO_FREE(samples, count);
    for (size_t i = 0; allocation_questions[i]; i++) CHECK(strcmp(queries[0].keys[i], allocation_questions[i]) == 0);
    box_signal(&requests, PMIX_SUCCESS);
    samples = answer_samples(&count);
    done(PMIX_SUCCESS, samples, count, cbdata, NULL, NULL);
    PMIX_INFO_FREE(samples, count);
    return PMIX_SUCCESS;
}

static void is_told_all_of_allocations(void) {
    pmix_server_module_t module = module_that(BY_CALLBACK, BY_CALLBACK);
    module.allocate = takes_allocation;
    module.spawn = takes_spawn;
    module.query = takes_questions;
    CHECK_OK(PMIx_server_init(&module, NULL, 0));
    register_job_of_two_nodes();
    run_job("job", RANKS, "all-of-allocations");
    deregister_job("job");
    CHECK_OK(PMIx_server_finalize());
    CHECK(requests.count == 3);
}

const struct host hosts_of_7[] = {
    {"is_given_no_cancel_before_7", is_given_no_cancel_before_7},
    {"is_of_7_by_a_session", is_of_7_by_a_session},
    {"is_of_7_by_a_short_list", is_of_7_by_a_short_list},
    {"is_of_7_by_flow_control", is_of_7_by_flow_control},
    {"stops_input_by_its_answer", stops_input_by_its_answer},
    {"stops_input_of_a_process", stops_input_of_a_process},
    {"stops_input_of_a_job", stops_input_of_a_job},
    {"stops_all_input", stops_all_input},
    {"grants_allocations_that_jobs_inherit", grants_allocations_that_jobs_inherit},
    {"is_told_all_of_allocations", is_told_all_of_allocations},
    {NULL, NULL},
};

/* SPDX-License-Identifier: BSD-3-Clause */
/* services: what server and host do for processes beside data: control, log, monitors, cleanup, credentials.
 * usage: services control|log|heartbeat|file|usage|cleanup|credential|munge|refused|victim (the last by spawn) */
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>

#include "check.h"

/* Headers of older releases do not have them. */
#ifndef PMIX_LOG_FILE
#define PMIX_LOG_FILE "wireup.logfile"
#endif
#ifndef PMIX_MONITOR_PROC_RESOURCE_USAGE
#define PMIX_MONITOR_PROC_RESOURCE_USAGE "pmix.monitor.presuse"
#define PMIX_MONITOR_RESOURCE_RATE "pmix.monitor.resrate"
#define PMIX_MONITOR_TARGET_PROCS "pmix.monitor.tgtproc"
#define PMIX_MONITOR_RESUSAGE_UPDATE (-114)
#define PMIX_PROC_RESOURCE_USAGE "pmix.proc.res"
#define PMIX_PROC_RSS "pmix.proc.rss"
#endif

static const char* program;

/* --- control: another job is stopped, goes on, hears a signal, is ended ------------------------------------------- */

static volatile sig_atomic_t heard;

/* The texts of infos are kept until the end: some calls are not waited for. */
static void keep(const pmix_info_t* info) {
    static char* kept[256];
    static size_t count;
    CHECK(count < sizeof kept / sizeof *kept);
    kept[count++] = info->value.data.string;
}

static void hear(int number) {
    heard = number;
}

static void victim(int argc, char** argv) {
    (void)argc, (void)argv;
    sigset_t none, heard_only;
    struct sigaction action = {.sa_handler = hear};
    sigaction(SIGUSR1, &action, NULL);
    sigemptyset(&heard_only);
    sigaddset(&heard_only, SIGUSR1);
    sigprocmask(SIG_BLOCK, &heard_only,
                NULL); /* but in sigsuspend: it is not to come in between the look and the wait */
    start();
    CHECK_OK(put_u32(PMIX_GLOBAL, "pid", (uint32_t)getpid()));
    CHECK_OK(PMIx_Commit());
    raise_flag("victim.up");
    sigemptyset(&none);
    while (heard != SIGUSR1) sigsuspend(&none);
    raise_flag("victim.heard");
    for (;;) pause();
}

static char state_of(pid_t pid) {
    char path[64], text[512];
    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    FILE* file = fopen(path, "r");
    if (!file) return 0;
    size_t size = fread(text, 1, sizeof text - 1, file);
    fclose(file);
    text[size] = 0;
    const char* after = strrchr(text, ')');
    return after ? after[2] : 0;
}

static void await_state(pid_t pid, bool stopped) {
    double until = seconds_now() + 60;
    while ((state_of(pid) == 'T') != stopped) {
        CHECK(seconds_now() < until);
        sched_yield();
    }
}

static pmix_status_t do_to(const pmix_proc_t* target, const char* key, int signal_number) {
    pmix_info_t info;
    pmix_info_t* results = (pmix_info_t*)(uintptr_t)1;
    size_t nresults = 77;
    bool yes = true;
    if (signal_number)
        PMIX_INFO_LOAD(&info, key, &signal_number, PMIX_INT);
    else
        PMIX_INFO_LOAD(&info, key, &yes, PMIX_BOOL);
    pmix_status_t status = PMIx_Job_control(target, 1, &info, 1, &results, &nresults);
    CHECK(results == NULL && nresults == 0);
    return status;
}

static struct signal_box ended = SIGNAL_BOX;

static void note(size_t id, pmix_status_t status, const pmix_proc_t* source, pmix_info_t info[], size_t ninfo,
                 pmix_info_t results[], size_t nresults, pmix_event_notification_cbfunc_fn_t done, void* cbdata) {
    (void)id, (void)source, (void)info, (void)ninfo, (void)results, (void)nresults;
    box_signal(&ended, status);
    done(PMIX_EVENT_NO_ACTION_TAKEN, NULL, 0, NULL, NULL, cbdata);
}

static void listen_to(pmix_status_t code) {
    CHECK(PMIx_Register_event_handler(&code, 1, NULL, 0, note, NULL, NULL) >= 0);
}

static struct signal_box controlled = SIGNAL_BOX;

static void control_done(pmix_status_t status, pmix_info_t* info, size_t ninfo, void* cbdata,
                         pmix_release_cbfunc_t release, void* release_data) {
    (void)info, (void)ninfo;
    box_signal(cbdata, status);
    if (release) release(release_data);
}

/* rows: J2 U14 G3 */
static void control(int argc, char** argv) {
    char* arguments[] = {(char*)(uintptr_t)program, "victim", NULL};
    pmix_nspace_t nspace = "";
    uint32_t pid = 0;
    bool yes = true;
    (void)argc, (void)argv;
    start();
    if (me.rank == 0) {
        pmix_app_t app;
        pmix_info_t option;
        PMIX_APP_CONSTRUCT(&app);
        app.cmd = arguments[0];
        app.argv = arguments;
        app.maxprocs = 1;
        listen_to(PMIX_EVENT_JOB_END);
        PMIX_INFO_LOAD(&option, PMIX_NOTIFY_COMPLETION, &yes, PMIX_BOOL);
        CHECK_OK(PMIx_Spawn(&option, 1, &app, 1, nspace));
        await_flag("victim.up");
        pmix_proc_t target, all;
        PMIX_LOAD_PROCID(&target, nspace, 0);
        PMIX_LOAD_PROCID(&all, nspace, PMIX_RANK_WILDCARD);
        CHECK_OK(get_u32(&target, "pid", 60, &pid));
        CHECK_OK(do_to(&target, PMIX_JOB_CTRL_PAUSE, 0));
        await_state((pid_t)pid, true);
        CHECK_OK(do_to(&all, PMIX_JOB_CTRL_RESUME, 0));
        await_state((pid_t)pid, false);
        CHECK_OK(do_to(&target, PMIX_JOB_CTRL_SIGNAL, SIGUSR1));
        await_flag("victim.heard");
        pmix_info_t unusable, *results = NULL;
        size_t nresults = 0;
        PMIX_INFO_LOAD(&unusable, PMIX_JOB_CTRL_SIGNAL, "USR1", PMIX_STRING);
        CHECK_STATUS(PMIx_Job_control(&target, 1, &unusable, 1, &results, &nresults), PMIX_ERR_BAD_PARAM);
        PMIX_INFO_DESTRUCT(&unusable);
        pmix_info_t end;
        PMIX_INFO_LOAD(&end, PMIX_JOB_CTRL_TERMINATE, &yes, PMIX_BOOL);
        pmix_status_t status = PMIx_Job_control_nb(&all, 1, &end, 1, control_done, &controlled);
        CHECK(status == PMIX_SUCCESS);
        CHECK(box_wait(&controlled, 1, 60) && controlled.status == PMIX_SUCCESS);
        CHECK(box_wait(&ended, 1, 60));
        PMIX_LOAD_PROCID(&target, "no-such-job", 0);
        CHECK(do_to(&target, PMIX_JOB_CTRL_KILL, 0) < 0);
        CHECK_STATUS(PMIx_Job_control(&all, 1, NULL, 0, NULL, NULL), PMIX_ERR_BAD_PARAM);
    }
    fence(false);
    finish();
}

/* --- log: what is seen on pmixrun's own streams, the test's command looks at -------------------------------------- */

static pmix_info_t line(const char* channel, const char* text) {
    pmix_info_t info;
    PMIX_INFO_LOAD(&info, channel, text, PMIX_STRING);
    keep(&info);
    return info;
}

/* rows: J7 J8 U15 */
static void logs(int argc, char** argv) {
    char path[] = "/tmp/services.XXXXXX", text[64] = "";
    bool yes = true;
    (void)argc, (void)argv;
    start();
    if (me.rank == 1) {
        pmix_info_t data[2] = {line(PMIX_LOG_STDOUT, "to stdout"), line(PMIX_LOG_STDERR, "to stderr")};
        CHECK_OK(PMIx_Log(data, 2, NULL, 0));
        pmix_info_t once[2] = {line(PMIX_LOG_STDOUT, "the first"), line(PMIX_LOG_STDERR, "not the second")},
                    directives[2];
        PMIX_INFO_LOAD(&directives[0], PMIX_LOG_ONCE, &yes, PMIX_BOOL);
        PMIX_INFO_LOAD(&directives[1], PMIX_LOG_TAG_OUTPUT, &yes, PMIX_BOOL);
        CHECK_OK(PMIx_Log_nb(once, 2, directives, 2, op_done, &controlled));
        CHECK(box_wait(&controlled, 1, 60) && controlled.status == PMIX_SUCCESS);
        pmix_info_t some[2] = {line(PMIX_LOG_STDOUT, "some"), line(PMIX_LOG_EMAIL, "of it")};
        CHECK_STATUS(PMIx_Log(some, 2, NULL, 0), PMIX_ERR_PARTIAL_SUCCESS);
        CHECK_STATUS(PMIx_Log(&some[1], 1, NULL, 0), PMIX_ERR_NOT_SUPPORTED);
        CHECK_STATUS(PMIx_Log(NULL, 0, NULL, 0), PMIX_ERR_BAD_PARAM);
        pmix_info_t wrong;
        PMIX_INFO_LOAD(&wrong, PMIX_LOG_STDERR, &yes, PMIX_BOOL);
        CHECK_STATUS(PMIx_Log_nb(&wrong, 1, NULL, 0, op_done, &controlled), PMIX_ERR_BAD_PARAM);
        /* a file, with the caller's rights */
        CHECK(close(mkstemp(path)) == 0);
        pmix_info_t message = line(PMIX_LOG_MSG, "to the file"), file = line(PMIX_LOG_FILE, path);
        for (int i = 0; i < 2; i++) CHECK_OK(PMIx_Log(&message, 1, &file, 1));
        int fd = open(path, O_RDONLY | O_CLOEXEC);
        CHECK(fd >= 0 && read(fd, text, sizeof text - 1) > 0);
        CHECK(strcmp(text, "to the file\nto the file\n") == 0);
        close(fd);
        /* beside another channel too, and not after the first when one is enough */
        pmix_info_t both[2] = {message, line(PMIX_LOG_STDOUT, "beside a file")}, more[2] = {file, directives[0]};
        CHECK_OK(PMIx_Log(both, 2, &file, 1));
        both[1] = line(PMIX_LOG_STDOUT, "no second");
        CHECK_OK(PMIx_Log(both, 2, more, 2));
        struct stat written;
        CHECK(stat(path, &written) == 0 && written.st_size == 4 * 12);
        unlink(path);
        /* the time is the caller's, and each line has its tag */
        time_t at = 1000000000;
        pmix_info_t lines = line(PMIX_LOG_STDOUT, "above\nbelow\n");
        PMIX_INFO_LOAD(&more[0], PMIX_LOG_TIMESTAMP, &at, PMIX_TIME);
        more[1] = directives[1];
        CHECK_OK(PMIx_Log(&lines, 1, more, 2));
        CHECK(box_count(&controlled) == 1);
    }
    fence(false);
    finish();
}

/* --- monitors ----------------------------------------------------------------------------------------------------- */

static pmix_status_t watch(const char* key, const char* file, const char* period_key, uint32_t seconds,
                           const char* id) {
    pmix_info_t monitor, directives[2];
    bool yes = true;
    if (file) {
        PMIX_INFO_LOAD(&monitor, key, file, PMIX_STRING);
        keep(&monitor);
    } else {
        PMIX_INFO_LOAD(&monitor, key, &yes, PMIX_BOOL);
    }
    PMIX_INFO_LOAD(&directives[0], period_key, &seconds, PMIX_UINT32);
    PMIX_INFO_LOAD(&directives[1], PMIX_MONITOR_ID, id, PMIX_STRING);
    keep(&directives[1]);
    return PMIx_Process_monitor(&monitor, PMIX_SUCCESS, directives, 2, NULL, NULL);
}

/* One rank's heartbeats stop; all are notified, on all nodes. A process that finalizes raises nothing. rows: J4 J5 */
static void heartbeat(int argc, char** argv) {
    (void)argc, (void)argv;
    start();
    listen_to(PMIX_MONITOR_HEARTBEAT_ALERT);
    fence(false);
    if (me.rank == 1) CHECK_OK(watch(PMIX_MONITOR_HEARTBEAT, NULL, PMIX_MONITOR_HEARTBEAT_TIME, 1, "heart"));
    if (me.rank == 1) PMIx_Heartbeat();
    CHECK(box_wait(&ended, 1, 60));
    CHECK_STATUS(PMIx_Process_monitor(NULL, PMIX_SUCCESS, NULL, 0, NULL, NULL), PMIX_ERR_BAD_PARAM);
    pmix_info_t cancel = line(PMIX_MONITOR_CANCEL, "heart"), none = line(PMIX_MONITOR_CANCEL, "none");
    if (me.rank == 1) CHECK_OK(PMIx_Process_monitor(&cancel, PMIX_SUCCESS, NULL, 0, NULL, NULL));
    CHECK_STATUS(PMIx_Process_monitor(&none, PMIX_SUCCESS, NULL, 0, NULL, NULL), PMIX_ERR_NOT_FOUND);
    CHECK_OK(watch(PMIX_MONITOR_HEARTBEAT, NULL, PMIX_MONITOR_HEARTBEAT_TIME, 100, "last"));
    fence(false);
    CHECK(box_count(&ended) == 1);
    finish();
}

/* The processes in an answer or an event whose figures are there. */
static size_t sampled(const pmix_info_t* info, size_t n) {
    size_t found = 0;
    for (size_t i = 0; i < n; i++) {
        if (!PMIX_CHECK_KEY(&info[i], PMIX_PROC_RESOURCE_USAGE)) continue;
        CHECK(info[i].value.type == PMIX_DATA_ARRAY && info[i].value.data.darray->type == PMIX_INFO);
        const pmix_info_t* part = info[i].value.data.darray->array;
        CHECK(PMIX_CHECK_KEY(&part[0], PMIX_PROCID));
        for (size_t k = 0; k < info[i].value.data.darray->size; k++)
            if (PMIX_CHECK_KEY(&part[k], PMIX_PROC_RSS) && part[k].value.data.fval > 0) found++;
    }
    return found;
}

static struct signal_box updated = SIGNAL_BOX;

static void update(size_t id, pmix_status_t status, const pmix_proc_t* source, pmix_info_t info[], size_t ninfo,
                   pmix_info_t results[], size_t nresults, pmix_event_notification_cbfunc_fn_t done, void* cbdata) {
    (void)id, (void)source, (void)results, (void)nresults;
    CHECK(sampled(info, ninfo) == 1);
    box_signal(&updated, status);
    done(PMIX_EVENT_ACTION_COMPLETE, NULL, 0, NULL, NULL, cbdata);
}

static pmix_status_t sample_of(pmix_rank_t rank, uint32_t seconds, pmix_info_t** results, size_t* n) {
    pmix_proc_t target;
    pmix_data_array_t array = {.type = PMIX_PROC, .size = 1, .array = &target};
    pmix_info_t monitor, directives[3];
    PMIX_LOAD_PROCID(&target, me.nspace, rank);
    PMIX_INFO_CONSTRUCT(&monitor);
    PMIX_LOAD_KEY(monitor.key, PMIX_MONITOR_PROC_RESOURCE_USAGE);
    PMIX_INFO_LOAD(&directives[0], PMIX_MONITOR_TARGET_PROCS, &array, PMIX_DATA_ARRAY);
    PMIX_INFO_LOAD(&directives[1], PMIX_MONITOR_RESOURCE_RATE, &seconds, PMIX_UINT32);
    PMIX_INFO_LOAD(&directives[2], PMIX_MONITOR_ID, "usage", PMIX_STRING);
    pmix_status_t rc = PMIx_Process_monitor(&monitor, PMIX_MONITOR_RESUSAGE_UPDATE, directives, 3, results, n);
    for (int i = 0; i < 3; i++) PMIX_INFO_DESTRUCT(&directives[i]);
    return rc;
}

/* Samples of itself and of the other rank, wherever that is: once, and once a second until the monitor is cancelled or
 * its process ends. rows: J4 */
static void usage(int argc, char** argv) {
    pmix_status_t code = PMIX_MONITOR_RESUSAGE_UPDATE;
    pmix_info_t cancel = line(PMIX_MONITOR_CANCEL, "usage");
    (void)argc, (void)argv;
    start();
    CHECK(PMIx_Register_event_handler(&code, 1, NULL, 0, update, NULL, NULL) >= 0);
    pmix_info_t* none = NULL;
    size_t nnone = 0;
    CHECK_STATUS(sample_of(7, 0, &none, &nnone), PMIX_ERR_NOT_FOUND);
    CHECK(nnone == 0 && none == NULL);
    for (int other = 0; other < 2; other++) {
        const pmix_rank_t target = other ? 1 - me.rank : me.rank;
        for (uint32_t seconds = 0; seconds < 2; seconds++) {
            pmix_info_t* results = NULL;
            size_t n = 0;
            CHECK_OK(sample_of(target, seconds, &results, &n));
            CHECK(n == 1 && sampled(results, n) == 1);
            PMIX_INFO_FREE(results, n);
        }
        CHECK(box_wait(&updated, box_count(&updated) + 2, 60));
        if (other && me.rank == 1) break;
        CHECK_OK(PMIx_Process_monitor(&cancel, PMIX_SUCCESS, NULL, 0, NULL, NULL));
        CHECK_STATUS(PMIx_Process_monitor(&cancel, PMIX_SUCCESS, NULL, 0, NULL, NULL), PMIX_ERR_NOT_FOUND);
    }
    fence(false);
    finish();
}

/* rows: J6 */
static void file(int argc, char** argv) {
    char path[] = "/tmp/services.XXXXXX";
    (void)argc, (void)argv;
    start();
    listen_to(PMIX_MONITOR_FILE_ALERT);
    fence(false);
    CHECK(close(mkstemp(path)) == 0);
    if (me.rank == 0) CHECK_OK(watch(PMIX_MONITOR_FILE, path, PMIX_MONITOR_FILE_CHECK_TIME, 1, "file"));
    CHECK(box_wait(&ended, 1, 60));
    unlink(path);
    fence(false);
    finish();
}

/* --- cleanup ------------------------------------------------------------------------------------------------------ */

static bool gone_in_time(const char* path) {
    double until = seconds_now() + 60;
    while (access(path, F_OK) == 0) {
        if (seconds_now() > until) return false;
        sched_yield();
    }
    return true;
}

static pmix_status_t clean(const char* key, const char* path, bool for_me) {
    pmix_info_t info[2];
    bool yes = true;
    PMIX_INFO_LOAD(&info[0], key, path, PMIX_STRING);
    keep(&info[0]);
    PMIX_INFO_LOAD(&info[1], PMIX_CLEANUP_RECURSIVE, &yes, PMIX_BOOL);
    return PMIx_Job_control(for_me ? &me : NULL, for_me, info, 2, NULL, NULL);
}

/* Rank 1's own file goes when its process has ended, and not when it finalizes; the job's goes with the job, which
 * the test's command looks at: `cleanup DIRECTORY`. rows: J3 */
static void cleanup(int argc, char** argv) {
    char own[1024], shared[1024], inside[1100];
    CHECK(argc == 1);
    snprintf(own, sizeof own, "%s/own", argv[0]);
    snprintf(shared, sizeof shared, "%s/shared.%s", argv[0], getenv("PMIX_RANK"));
    snprintf(inside, sizeof inside, "%s/inside", shared);
    start();
    CHECK(mkdir(shared, 0700) == 0 && mkdir(inside, 0700) == 0);
    CHECK_OK(clean(PMIX_REGISTER_CLEANUP_DIR, shared, false));
    CHECK_STATUS(clean(PMIX_REGISTER_CLEANUP, "relative", true), PMIX_ERR_BAD_PARAM);
    CHECK_STATUS(clean(PMIX_REGISTER_CLEANUP, shared, true), PMIX_ERR_CONFLICTING_CLEANUP_DIRECTIVES);
    if (me.rank == 1) {
        CHECK(close(open(own, O_CREAT | O_WRONLY | O_CLOEXEC, 0600)) == 0);
        CHECK_OK(clean(PMIX_REGISTER_CLEANUP, own, true));
    }
    fence(false);
    if (me.rank == 1) {
        CHECK_OK(PMIx_Finalize(NULL, 0));
        struct timespec while_it_could = {0, 200000000};
        nanosleep(&while_it_could, NULL);
        CHECK(access(own, F_OK) == 0); /* the process still runs */
        printf("OK rank 1\n");
        return;
    }
    CHECK(gone_in_time(own));
    CHECK(access(shared, F_OK) == 0);
    finish();
}

/* --- credentials -------------------------------------------------------------------------------------------------- */

static uint32_t found_number(const pmix_info_t* info, size_t ninfo, const char* key) {
    for (size_t i = 0; i < ninfo; i++) {
        if (PMIX_CHECK_KEY(&info[i], key)) return info[i].value.data.uint32;
    }
    return UINT32_MAX;
}

static struct signal_box validated = SIGNAL_BOX;

static void on_valid(pmix_status_t status, pmix_info_t info[], size_t ninfo, void* cbdata) {
    if (status == PMIX_SUCCESS) CHECK(found_number(info, ninfo, PMIX_USERID) == geteuid());
    box_signal(cbdata, status);
}

static pmix_byte_object_t passed;

static void on_credential(pmix_status_t status, pmix_byte_object_t* credential, pmix_info_t info[], size_t ninfo,
                          void* cbdata) {
    (void)info;
    if (status == PMIX_SUCCESS) CHECK(credential && credential->size > 0 && ninfo > 0);
    box_signal(cbdata, status);
}

/* Rank 0 proves to the other, on the same node, who it is. `credential [TYPE]`. rows: X1 X2 G16 */
/* proves: PMIx_Get_credential PMIX_CRED_TYPE client */
static void credential(int argc, char** argv) {
    pmix_info_t type, *results = NULL;
    size_t nresults = 0, ntypes = argc > 0;
    pmix_proc_t first;
    PMIX_INFO_LOAD(&type, PMIX_CRED_TYPE, argc > 0 ? argv[0] : "", PMIX_STRING);
    keep(&type);
    start();
    first = rank_of_job(0);
    if (me.rank == 0) {
        pmix_value_t value = {.type = PMIX_BYTE_OBJECT};
        CHECK_OK(PMIx_Get_credential(&type, ntypes, &value.data.bo));
        CHECK(value.data.bo.size > 0);
        CHECK_OK(PMIx_Put(PMIX_GLOBAL, "proof", &value));
        CHECK_OK(PMIx_Commit());
        PMIX_VALUE_DESTRUCT(&value);
        CHECK_STATUS(PMIx_Get_credential(NULL, 0, NULL), PMIX_ERR_BAD_PARAM);
        CHECK_OK(PMIx_Get_credential_nb(&type, ntypes, on_credential, &controlled));
        CHECK(box_wait(&controlled, 1, 60) && controlled.status == PMIX_SUCCESS);
    }
    fence(true);
    if (me.rank == 1) {
        pmix_value_t* proof = NULL;
        CHECK_OK(PMIx_Get(&first, "proof", NULL, 0, &proof));
        passed = proof->data.bo;
        CHECK_OK(PMIx_Validate_credential(&passed, NULL, 0, &results, &nresults));
        CHECK(found_number(results, nresults, PMIX_USERID) == geteuid());
        CHECK(found_number(results, nresults, PMIX_GRPID) == getegid());
        PMIX_INFO_FREE(results, nresults);
        CHECK_OK(PMIx_Validate_credential_nb(&passed, NULL, 0, on_valid, &validated));
        CHECK(box_wait(&validated, 1, 60) && validated.status == PMIX_SUCCESS);
        /* no credential at all, half of one, one letter wrong, another maker's */
        pmix_byte_object_t wrong = {.bytes = NULL, .size = 0};
        CHECK_STATUS(PMIx_Validate_credential(&wrong, NULL, 0, &results, &nresults), PMIX_ERR_INVALID_CRED);
        CHECK(results == NULL && nresults == 0);
        wrong = (pmix_byte_object_t){.bytes = passed.bytes, .size = passed.size - 1};
        CHECK_STATUS(PMIx_Validate_credential(&wrong, NULL, 0, &results, &nresults), PMIX_ERR_INVALID_CRED);
        passed.bytes[passed.size - 1] ^= 1;
        CHECK_STATUS(PMIx_Validate_credential(&passed, NULL, 0, NULL, NULL), PMIX_ERR_INVALID_CRED);
        wrong = (pmix_byte_object_t){.bytes = "from elsewhere", .size = 14};
        CHECK_STATUS(PMIx_Validate_credential(&wrong, NULL, 0, &results, &nresults), PMIX_ERR_INVALID_CRED);
        CHECK_STATUS(PMIx_Validate_credential(NULL, NULL, 0, &results, &nresults), PMIX_ERR_BAD_PARAM);
        PMIX_VALUE_RELEASE(proof);
    }
    fence(false);
    finish();
}

/* --- what this resource manager does not offer -------------------------------------------------------------------- */

/* rows: J1 G9 G16 X1 */
static void refused(int argc, char** argv) {
    pmix_info_t *results = (pmix_info_t*)(uintptr_t)1, type = line(PMIX_CRED_TYPE, "kerberos");
    size_t nresults = 77;
    pmix_byte_object_t proof;
    (void)argc, (void)argv;
    start();
    CHECK_STATUS(PMIx_Allocation_request(PMIX_ALLOC_EXTEND, NULL, 0, &results, &nresults), PMIX_ERR_NOT_SUPPORTED);
    CHECK(results == NULL && nresults == 0);
    CHECK_OK(PMIx_Allocation_request_nb(PMIX_ALLOC_NEW, NULL, 0, control_done, &controlled));
    CHECK(box_wait(&controlled, 1, 60) && controlled.status == PMIX_ERR_NOT_SUPPORTED);
#ifdef PMIX_RESOURCE_BLOCK_DEFINE
    pmix_resource_unit_t unit = {.type = PMIX_DEVTYPE_GPU, .count = 2};
    char block[] = "block";
    CHECK_STATUS(PMIx_Session_control(7, NULL, 0, NULL, NULL), PMIX_ERR_NOT_SUPPORTED);
    CHECK_OK(PMIx_Session_control(7, NULL, 0, control_done, &controlled));
    CHECK(box_wait(&controlled, 2, 60) && controlled.status == PMIX_ERR_NOT_SUPPORTED);
    CHECK_STATUS(PMIx_Resource_block(PMIX_RESOURCE_BLOCK_DEFINE, block, &unit, 1, NULL, 0), PMIX_ERR_NOT_SUPPORTED);
    CHECK_STATUS(PMIx_Resource_block(PMIX_RESOURCE_BLOCK_DEFINE, NULL, &unit, 1, NULL, 0), PMIX_ERR_BAD_PARAM);
    CHECK_OK(PMIx_Resource_block_nb(PMIX_RESOURCE_BLOCK_DELETE, block, NULL, 0, NULL, 0, op_done, &controlled));
    CHECK(box_wait(&controlled, 3, 60) && controlled.status == PMIX_ERR_NOT_SUPPORTED);
#endif
    CHECK_STATUS(PMIx_Get_credential(&type, 1, &proof), PMIX_ERR_NOT_SUPPORTED);
    CHECK(proof.bytes == NULL && proof.size == 0);
    pmix_info_t measure = line("site.monitor", "all");
    CHECK_STATUS(PMIx_Process_monitor(&measure, PMIX_SUCCESS, NULL, 0, &results, &nresults), PMIX_ERR_NOT_SUPPORTED);
    finish();
}

int main(int argc, char** argv) {
    static const struct test_case cases[] = {
        {"control", control}, {"log", logs},        {"heartbeat", heartbeat},   {"file", file},
        {"usage", usage},     {"cleanup", cleanup}, {"credential", credential}, {"refused", refused},
        {"victim", victim}};
    program = argv[0];
    RUN_CASE(cases);
    return 0;
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* spawn_io: what PMIx_Spawn says about the streams of the new job, and which of its events somebody hears of.
 * usage: spawn_io streams|none|inherited|files|shown ATTRIBUTE...|wanted|echo (the last by spawn) */
#include <errno.h>
#include <fcntl.h>
#include <pmix_tool.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "check.h"

static const char* program;

enum { MOST_INFOS = 8 };
static pmix_info_t infos[MOST_INFOS];
static size_t ninfos;

static void with(const char* key, const void* value, pmix_data_type_t type) {
    CHECK(ninfos < MOST_INFOS);
    PMIX_INFO_LOAD(&infos[ninfos], key, value, type);
    ninfos++;
}

static void with_flag(const char* key) {
    bool yes = true;
    with(key, &yes, PMIX_BOOL);
}

/* Spawns `command` with what with() was told. */
static void spawn_for(pmix_status_t expected, const char* command, const char* first, const char* second, int count,
                      pmix_nspace_t nspace) {
    char* arguments[] = {(char*)(uintptr_t)command, (char*)(uintptr_t)first, (char*)(uintptr_t)second, NULL};
    pmix_app_t app;
    PMIX_APP_CONSTRUCT(&app);
    app.cmd = arguments[0];
    app.argv = arguments;
    app.maxprocs = count;
    CHECK_STATUS(PMIx_Spawn(infos, ninfos, &app, 1, nspace), expected);
    destruct_infos(infos, &ninfos);
}

static void spawn(const char* command, const char* first, const char* second, int count, pmix_nspace_t nspace) {
    spawn_for(PMIX_SUCCESS, command, first, second, count, nspace);
}

/* --- the three streams of a job that somebody else reads, and its input -------------------------------------------
 */

enum { COPIES = 2, LINES = 2000 };
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char heard[9][COPIES][1 << 17]; /* by channel and rank */
static size_t heard_size[9][COPIES];
static int stream_ends;
static struct signal_box over = SIGNAL_BOX;

static void take(size_t id, pmix_iof_channel_t channel, pmix_proc_t* source, pmix_byte_object_t* payload,
                 pmix_info_t info[], size_t ninfo) {
    (void)id, (void)info, (void)ninfo;
    pthread_mutex_lock(&lock);
    CHECK(channel <= 8 && source->rank < COPIES);
    size_t* size = &heard_size[channel][source->rank];
    CHECK(*size + payload->size <= sizeof heard[0][0]);
    if (payload->size) memcpy(heard[channel][source->rank] + *size, payload->bytes, payload->size);
    *size += payload->size;
    if (payload->size == 0 && ++stream_ends == 3 * COPIES) box_signal(&over, PMIX_SUCCESS);
    pthread_mutex_unlock(&lock);
}

#ifndef PMIX_IOF_INHERIT /* headers before 7.0 */
#define PMIX_IOF_INHERIT "pmix.iof.inhrt"
#endif

static char inherited_text[1024];
static struct signal_box inherited_ends = SIGNAL_BOX;

static void take_inherited(size_t id, pmix_iof_channel_t channel, pmix_proc_t* source, pmix_byte_object_t* bytes,
                           pmix_info_t info[], size_t ninfo) {
    (void)id, (void)info, (void)ninfo;
    if (strcmp(source->nspace, me.nspace) == 0 || channel != PMIX_FWD_STDOUT_CHANNEL) return;
    if (!bytes || bytes->size == 0) {
        box_signal(&inherited_ends, PMIX_SUCCESS);
        return;
    }
    pthread_mutex_lock(&lock);
    strncat(inherited_text, bytes->bytes, bytes->size);
    pthread_mutex_unlock(&lock);
}

/* Says all that it reads, on each of its outputs. */
static void echo(int argc, char** argv) {
    (void)argc, (void)argv;
    static char text[1 << 17];
    size_t size = 0;
    alarm(200);
    for (ssize_t got; (got = read(STDIN_FILENO, text + size, sizeof text - size)) != 0;) {
        if (got < 0 && errno != EINTR) _exit(3);
        if (got > 0) size += (size_t)got;
    }
    const char* third = getenv("PMIXRUN_STDDIAG_FD");
    const int fds[] = {STDOUT_FILENO, STDERR_FILENO, third ? atoi(third) : -1};
    for (int i = 0; i < 3; i++) {
        for (size_t done = 0; done < size;) {
            ssize_t put = write(fds[i], text + done, size - done);
            if (put < 0 && errno != EINTR) _exit(4);
            if (put > 0) done += (size_t)put;
        }
    }
}

/* A job spawned to be talked to: its input, output, errors and diagnostics, byte by byte. rows: O1 O2 O7 O8 */
static void streams(int argc, char** argv) {
    (void)argc, (void)argv;
    static char text[LINES * 16];
    size_t size = 0;
    pmix_nspace_t nspace = "";
    pmix_rank_t everyone = PMIX_RANK_WILDCARD;
    start();
    if (me.rank == 0) {
        with(PMIX_FWD_STDIN, &everyone, PMIX_PROC_RANK);
        with_flag(PMIX_FWD_STDOUT);
        with_flag(PMIX_FWD_STDERR);
        with_flag(PMIX_FWD_STDDIAG);
        spawn(program, "echo", NULL, COPIES, nspace);
        pmix_proc_t all;
        PMIX_LOAD_PROCID(&all, nspace, PMIX_RANK_WILDCARD);
        pmix_iof_channel_t outputs = PMIX_FWD_STDOUT_CHANNEL | PMIX_FWD_STDERR_CHANNEL | PMIX_FWD_STDDIAG_CHANNEL;
        CHECK(PMIx_IOF_pull(&all, 1, NULL, 0, outputs, take, NULL, NULL) >= 0);
        for (int i = 0; i < LINES; i++) size += (size_t)sprintf(text + size, "line %d\n", i);
        pmix_byte_object_t bytes = {.bytes = text, .size = size}, none = {.bytes = NULL, .size = 0};
        CHECK_OK(PMIx_IOF_push(&all, 1, &bytes, NULL, 0, NULL, NULL));
        CHECK_OK(PMIx_IOF_push(&all, 1, &none, NULL, 0, NULL, NULL));
        CHECK(box_wait(&over, 1, 60));
        for (int channel = 2; channel <= 8; channel *= 2) {
            for (int rank = 0; rank < COPIES; rank++) {
                CHECK(heard_size[channel][rank] == size);
                CHECK(memcmp(heard[channel][rank], text, size) == 0);
            }
        }
    }
    fence(false);
    finish();
}

/* What was not asked for is not there: no input, no diagnostics. rows: O1 O7 */
static void none(int argc, char** argv) {
    (void)argc, (void)argv;
    pmix_nspace_t nspace = "";
    start();
    if (me.rank == 0) {
        spawn("sleep", "1000", NULL, 1, nspace);
        pmix_proc_t all;
        PMIX_LOAD_PROCID(&all, nspace, PMIX_RANK_WILDCARD);
        CHECK_STATUS(PMIx_IOF_pull(&all, 1, NULL, 0, PMIX_FWD_STDDIAG_CHANNEL, take, NULL, NULL),
                     PMIX_ERR_NOT_SUPPORTED);
        pmix_byte_object_t bytes = {.bytes = "x", .size = 1};
        CHECK_STATUS(PMIx_IOF_push(&all, 1, &bytes, NULL, 0, NULL, NULL), PMIX_ERR_NOT_SUPPORTED);
        pmix_info_t kill;
        PMIX_INFO_LOAD(&kill, PMIX_JOB_CTRL_KILL, NULL, PMIX_BOOL);
        CHECK_DONE(PMIx_Job_control(&all, 1, &kill, 1, NULL, NULL));
    }
    fence(false);
    finish();
}

/* Sends a part to a process, and the end with it where that is wanted. */
static pmix_status_t push(const pmix_proc_t* to, char* text, size_t size, bool ends) {
    pmix_byte_object_t bytes = {.bytes = text, .size = size};
    pmix_info_t end;
    PMIX_INFO_LOAD(&end, PMIX_IOF_COMPLETE, NULL, PMIX_BOOL);
    return PMIx_IOF_push(to, 1, &bytes, ends ? &end : NULL, ends, NULL, NULL);
}

static void spawn_reader(const char* line, pmix_proc_t* reader) {
    pmix_rank_t first = 0;
    with(PMIX_FWD_STDIN, &first, PMIX_PROC_RANK);
    spawn("sh", "-c", line, 1, reader->nspace);
    reader->rank = 0;
}

/* Input that nobody can take any more is refused. rows: O7 */
static void refused(int argc, char** argv) {
    static char text[1 << 20];
    (void)argc, (void)argv;
    pmix_proc_t closed, ended;
    pmix_info_t kill;
    PMIX_INFO_LOAD(&kill, PMIX_JOB_CTRL_KILL, NULL, PMIX_BOOL);
    start();
    spawn_reader("exec 0<&-; exec sleep 1000", &closed);
    CHECK_STATUS(push(&closed, text, sizeof text, false), PMIX_ERR_IOF_COMPLETE);
    CHECK_STATUS(push(&closed, text, 1, false), PMIX_ERR_IOF_COMPLETE);
    spawn_reader("cat >/dev/null; exec sleep 1000", &ended);
    CHECK_OK(push(&ended, text, sizeof text, false));
    CHECK_OK(push(&ended, text, 1, true));
    CHECK_STATUS(push(&ended, text, 1, false), PMIX_ERR_IOF_COMPLETE);
    CHECK_STATUS(push(&ended, NULL, 0, true), PMIX_ERR_IOF_COMPLETE);
    CHECK_DONE(PMIx_Job_control(&closed, 1, &kill, 1, NULL, NULL));
    CHECK_DONE(PMIx_Job_control(&ended, 1, &kill, 1, NULL, NULL));
    finish();
}

/* A large push reaches its reader whole and in order. One that gets something else fails the launch. rows: O7 */
static void much(int argc, char** argv) {
    enum { SIZE = 64 << 20 };
    (void)argc, (void)argv;
    pmix_proc_t reader;
    char path[PMIX_MAX_NSLEN + 32], line[3 * sizeof path];
    uint32_t state = 1;
    char* text = malloc(SIZE);
    CHECK(text);
    for (size_t i = 0; i < SIZE; i++) text[i] = (char)((state = state * 1664525 + 1013904223) >> 24);
    start();
    snprintf(path, sizeof path, "/tmp/spawn_io.%s", me.nspace);
    FILE* copy = fopen(path, "w");
    CHECK(copy && fwrite(text, 1, SIZE, copy) == SIZE && fclose(copy) == 0);
    snprintf(line, sizeof line, "cmp - %s; same=$?; rm %s; exit $same", path, path);
    spawn_reader(line, &reader);
    CHECK_OK(push(&reader, text, SIZE, true));
    free(text);
    finish();
}

/* Input ends where nobody is left to push: for jobs whose spawner has ended, though there are two of them. With "own":
 * for the targets of a process's own stdin when it finalizes, though another of its job goes on. rows: O7 */
static void left(int argc, char** argv) {
    const bool own = argc > 0 && strcmp(argv[0], "own") == 0;
    char path[PMIX_MAX_NSLEN + 32], line[2 * PMIX_MAX_NSLEN];
    int never[2];
    pmix_proc_t reader;
    CHECK(pipe(never) == 0);
    CHECK(dup2(never[0], STDIN_FILENO) == STDIN_FILENO);
    start();
    snprintf(path, sizeof path, "/tmp/spawn_io.%s", me.nspace);
    snprintf(line, sizeof line, "cat; echo over > %s", path);
    if (me.rank == 0) {
        spawn_reader(own ? line : "cat", &reader);
        if (!own) spawn_reader("cat", &reader);
        with_flag(PMIX_IOF_PUSH_STDIN);
        if (own) CHECK_OK(PMIx_IOF_push(&reader, 1, NULL, infos, ninfos, NULL, NULL));
    }
    while (own && me.rank == 1 && access(path, F_OK) != 0) usleep(10000); /* or the alarm */
    if (own && me.rank == 1) CHECK(unlink(path) == 0);
    finish();
}

/* Outputs with "from" in them, and the ends of the streams of spawned processes. */
static bool has_heard(int lines, int ends) {
    for (int i = 0; i < 600; i++) {
        pthread_mutex_lock(&lock);
        int count = 0;
        for (const char* at = inherited_text; (at = strstr(at, "from ")); at++) count++;
        pthread_mutex_unlock(&lock);
        if (count >= lines && box_count(&inherited_ends) >= ends) return count == lines;
        usleep(100000);
    }
    return false;
}

/* What a process says itself is for run_clean, too. */
static void pull_copy(const pmix_proc_t* from) {
    with_flag(PMIX_IOF_COPY);
    CHECK(PMIx_IOF_pull(from, 1, infos, ninfos, PMIX_FWD_STDOUT_CHANNEL, take_inherited, NULL, NULL) >= 0);
    destruct_infos(infos, &ninfos);
}

/* A tool that reads the output of the process which has started it. */
static void reader(int argc, char** argv) {
    pmix_proc_t self, spawner;
    CHECK(argc == 2 && strlen(argv[0]) < sizeof spawner.nspace);
    CHECK_OK(PMIx_tool_init(&self, NULL, 0));
    PMIX_LOAD_PROCID(&spawner, argv[0], 0);
    pull_copy(&spawner);
    CHECK(close(atoi(argv[1])) == 0); /* it may begin */
    CHECK(has_heard(COPIES + 1, COPIES + 1));
    pthread_mutex_lock(&lock);
    CHECK(strstr(inherited_text, "inherited from 0\n") && strstr(inherited_text, "inherited from 1\n"));
    CHECK(strstr(inherited_text, "last from 0\n") && !strstr(inherited_text, "apart"));
    pthread_mutex_unlock(&lock);
    CHECK_OK(PMIx_tool_finalize());
}

/* A tool that reads the output of a process gets that of the jobs which it spawns, on each node, unless the spawn has
 * said no; everybody else has what he had before. A reader that is no tool gets none of it. */
static void inherited(int argc, char** argv) {
    (void)argc, (void)argv;
    pmix_nspace_t nspace = "";
    const bool no = false;
    int ready[2], status = 1;
    char byte, number[16];
    start();
    pull_copy(&me);
    CHECK(pipe(ready) == 0);
    const pid_t tool = fork();
    CHECK(tool >= 0);
    if (tool == 0) {
        close(ready[0]);
        snprintf(number, sizeof number, "%d", ready[1]);
        static const char* const own[] = {"PMIX_NAMESPACE", "PMIX_RANK", NULL};
        for (int i = 0; own[i]; i++) unsetenv(own[i]);
        execl(program, program, "reader", me.nspace, number, (char*)NULL);
        _exit(127);
    }
    CHECK(close(ready[1]) == 0 && read(ready[0], &byte, 1) == 0);
    spawn("sh", "-c", "echo inherited from $PMIX_RANK", COPIES, nspace);
    with(PMIX_IOF_INHERIT, &no, PMIX_BOOL);
    spawn("sh", "-c", "echo apart from $PMIX_RANK", COPIES, nspace);
    spawn("sh", "-c", "sleep 0.3; echo last from $PMIX_RANK", 1, nspace);
    CHECK(waitpid(tool, &status, 0) == tool && status == 0);
    CHECK(box_count(&inherited_ends) == 0);
    finish();
}

/* --- files ---------------------------------------------------------------------------------------------------------
 */

static struct signal_box job_over = SIGNAL_BOX;

static void note_end(size_t id, pmix_status_t status, const pmix_proc_t* source, pmix_info_t info[], size_t ninfo,
                     pmix_info_t results[], size_t nresults, pmix_event_notification_cbfunc_fn_t done, void* cbdata) {
    (void)id, (void)source, (void)info, (void)ninfo, (void)results, (void)nresults;
    box_signal(&job_over, status);
    done(PMIX_EVENT_NO_ACTION_TAKEN, NULL, 0, NULL, NULL, cbdata);
}

static void listen_to(pmix_status_t code) {
    CHECK(PMIx_Register_event_handler(&code, 1, NULL, 0, note_end, NULL, NULL) >= 0);
}

/* Runs a shell line twice, to its end. */
static void run_line(const char* line, pmix_nspace_t nspace) {
    char* arguments[] = {"sh", "-c", (char*)(uintptr_t)line, NULL};
    int before = box_count(&job_over);
    pmix_app_t app;
    PMIX_APP_CONSTRUCT(&app);
    app.cmd = arguments[0];
    app.argv = arguments;
    app.maxprocs = 2;
    with_flag(PMIX_NOTIFY_COMPLETION);
    CHECK_OK(PMIx_Spawn(infos, ninfos, &app, 1, nspace));
    destruct_infos(infos, &ninfos);
    CHECK(box_wait(&job_over, before + 1, 60));
}

/* A file of the test's directory holds just that, and then no more. NULL: it is not there. */
static void check_file(const char* directory, const char* name, const char* wanted) {
    char path[1024], text[256] = "";
    snprintf(path, sizeof path, "%s/%s", directory, name);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    CHECK((fd >= 0) == (wanted != NULL));
    if (fd < 0) return;
    CHECK(read(fd, text, sizeof text - 1) >= 0);
    CHECK(strcmp(text, wanted) == 0);
    close(fd);
    CHECK(unlink(path) == 0);
}

/* Per rank and stream below a folder, by name, by pattern; merged; nowhere else. rows: O3 */
static void files(int argc, char** argv) {
    static const char both[] = "echo out; echo err >&2";
    char directory[] = "/tmp/spawn_io.XXXXXX", path[1024], name[1024];
    pmix_nspace_t nspace = "";
    (void)argc, (void)argv;
    start();
    CHECK(mkdtemp(directory));
    listen_to(PMIX_EVENT_JOB_END);

    with(PMIX_IOF_OUTPUT_TO_DIRECTORY, directory, PMIX_STRING);
    with_flag(PMIX_IOF_FILE_ONLY);
    run_line(both, nspace);
    for (int rank = 0; rank < 2; rank++) {
        snprintf(name, sizeof name, "%s/rank.%d/stdout", nspace, rank);
        check_file(directory, name, "out\n");
        snprintf(name, sizeof name, "%s/rank.%d/stderr", nspace, rank);
        check_file(directory, name, "err\n");
        snprintf(path, sizeof path, "%s/%s/rank.%d", directory, nspace, rank);
        CHECK(rmdir(path) == 0);
    }
    snprintf(path, sizeof path, "%s/%s", directory, nspace);
    CHECK(rmdir(path) == 0);

    snprintf(path, sizeof path, "%s/name", directory);
    with(PMIX_IOF_OUTPUT_TO_FILE, path, PMIX_STRING);
    with_flag(PMIX_IOF_MERGE_STDERR_STDOUT);
    with_flag(PMIX_IOF_FILE_ONLY);
    run_line("echo out; sleep 0.1; echo err >&2", nspace);
    for (int rank = 0; rank < 2; rank++) {
        snprintf(name, sizeof name, "name.%s.%d.stderr", nspace, rank);
        check_file(directory, name, NULL);
        snprintf(name, sizeof name, "name.%s.%d.stdout", nspace, rank);
        check_file(directory, name, "out\nerr\n");
    }

    snprintf(path, sizeof path, "%s/%%r-of-%%n", directory);
    with(PMIX_IOF_OUTPUT_TO_FILE, path, PMIX_STRING);
    with_flag(PMIX_IOF_FILE_PATTERN);
    with_flag(PMIX_IOF_FILE_ONLY);
    run_line(both, nspace);
    for (int rank = 0; rank < 2; rank++) {
        snprintf(name, sizeof name, "%d-of-%s.stdout", rank, nspace);
        check_file(directory, name, "out\n");
        snprintf(name, sizeof name, "%d-of-%s.stderr", rank, nspace);
        check_file(directory, name, "err\n");
    }

    /* Without the rank in it, one file of both, in which a line stays together; what was in it before is gone. */
    snprintf(path, sizeof path, "%s/all.stdout", directory);
    int old = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    CHECK(old >= 0 && write(old, "something else\n", 15) == 15 && close(old) == 0);
    snprintf(path, sizeof path, "%s/all", directory);
    with(PMIX_IOF_OUTPUT_TO_FILE, path, PMIX_STRING);
    with_flag(PMIX_IOF_FILE_PATTERN);
    with_flag(PMIX_IOF_FILE_ONLY);
    run_line("for i in 1 2 3; do printf o; sleep 0.1; echo ut; done; echo err >&2", nspace);
    check_file(directory, "all.stdout", "out\nout\nout\nout\nout\nout\n");
    check_file(directory, "all.stderr", "err\nerr\n");
    /* What a pull refuses too: files alone and no file, and two places for one stream. */
    with_flag(PMIX_IOF_FILE_ONLY);
    spawn_for(PMIX_ERR_BAD_PARAM, "true", NULL, NULL, 1, nspace);
    with(PMIX_IOF_OUTPUT_TO_FILE, path, PMIX_STRING);
    with(PMIX_IOF_OUTPUT_TO_DIRECTORY, directory, PMIX_STRING);
    spawn_for(PMIX_ERR_BAD_PARAM, "true", NULL, NULL, 1, nspace);
    CHECK(rmdir(directory) == 0);
    finish();
}

/* To pmixrun's own output, as the attributes ask; what is seen there, the test's command looks at. rows: O3 */
static void shown(int argc, char** argv) {
    pmix_nspace_t nspace = "";
    start();
    listen_to(PMIX_EVENT_JOB_END);
    for (int i = 0; i < argc; i++) with_flag(argv[i]);
    run_line("printf '<a>&b\\nrest'", nspace);
    finish();
}

/* Its events in pmixrun's log: see the test's command. `logged STATUS ATTRIBUTE...`: the two processes end with STATUS
 * and with 0. rows: C5 J8 */
static void logged(int argc, char** argv) {
    char text[64];
    pmix_nspace_t nspace = "";
    CHECK(argc >= 1);
    snprintf(text, sizeof text, "exit $((PMIX_RANK * %d))", atoi(argv[0]));
    start();
    listen_to(PMIX_EVENT_JOB_END);
    for (int i = 1; i < argc; i++) with_flag(argv[i]);
    run_line(text, nspace);
    finish();
}

/* --- events --------------------------------------------------------------------------------------------------------
 */

enum { JOB_START, LAUNCH_COMPLETE, JOB_END, PROC_TERMINATED, KINDS };
static const pmix_status_t kinds[KINDS] = {PMIX_EVENT_JOB_START, PMIX_LAUNCH_COMPLETE, PMIX_EVENT_JOB_END,
                                           PMIX_EVENT_PROC_TERMINATED};
static struct signal_box counts[KINDS] = {SIGNAL_BOX, SIGNAL_BOX, SIGNAL_BOX, SIGNAL_BOX};
static pmix_nspace_t last_namespace;
static pmix_status_t term_status;
static int exit_code;

static void note_kind(size_t id, pmix_status_t status, const pmix_proc_t* source, pmix_info_t info[], size_t ninfo,
                      pmix_info_t results[], size_t nresults, pmix_event_notification_cbfunc_fn_t done, void* cbdata) {
    (void)id, (void)source, (void)results, (void)nresults;
    int kind = 0;
    while (kinds[kind] != status) kind++;
    for (size_t i = 0; i < ninfo; i++) {
        if (PMIX_CHECK_KEY(&info[i], PMIX_NSPACE)) PMIX_LOAD_NSPACE(last_namespace, info[i].value.data.string);
        if (PMIX_CHECK_KEY(&info[i], PMIX_JOB_TERM_STATUS)) term_status = info[i].value.data.status;
        if (PMIX_CHECK_KEY(&info[i], PMIX_PROC_TERM_STATUS)) term_status = info[i].value.data.status;
        if (PMIX_CHECK_KEY(&info[i], PMIX_EXIT_CODE)) exit_code = info[i].value.data.integer;
    }
    box_signal(&counts[kind], status);
    done(PMIX_EVENT_NO_ACTION_TAKEN, NULL, 0, NULL, NULL, cbdata);
}

static void check_counts(int job_start, int launched, int job_end, int terminated) {
    const int wanted[KINDS] = {job_start, launched, job_end, terminated};
    for (int i = 0; i < KINDS; i++) CHECK(box_count(&counts[i]) == wanted[i]);
}

/* Events that nobody asked for do not come, those that somebody asked for come once. Each step waits for what it asked
 * for, and the head raises them in the order of what happens. With --continuous. rows: E7 C5 */
static void wanted(int argc, char** argv) {
    (void)argc, (void)argv;
    pmix_nspace_t nspace = "";
    start();
    for (int i = 0; i < KINDS; i++) {
        pmix_status_t code = kinds[i];
        CHECK(PMIx_Register_event_handler(&code, 1, NULL, 0, note_kind, NULL, NULL) >= 0);
    }
    /* nothing */
    spawn("true", NULL, NULL, 2, nspace);
    /* only the end of the job, which ended well */
    with_flag(PMIX_NOTIFY_COMPLETION);
    spawn("true", NULL, NULL, 2, nspace);
    CHECK(box_wait(&counts[JOB_END], 1, 60));
    check_counts(0, 0, 1, 0);
    CHECK(term_status == PMIX_SUCCESS && PMIX_CHECK_NSPACE(last_namespace, nspace));
    /* only processes that fail: rank 1 of two */
    with_flag(PMIX_NOTIFY_PROC_ABNORMAL_TERMINATION);
    spawn("sh", "-c", "exit $((PMIX_RANK * 7))", 2, nspace);
    CHECK(box_wait(&counts[PROC_TERMINATED], 1, 60));
    CHECK(exit_code == 7 && term_status == PMIX_ERR_EXIT_NONZERO_TERM);
    /* all processes, and the job's end only if it is a bad one */
    with_flag(PMIX_NOTIFY_PROC_TERMINATION);
    with_flag(PMIX_NOTIFY_COMPLETION);
    with_flag(PMIX_EVENT_SILENT_TERMINATION);
    spawn("true", NULL, NULL, 2, nspace);
    CHECK(box_wait(&counts[PROC_TERMINATED], 3, 60));
    with_flag(PMIX_NOTIFY_COMPLETION);
    with_flag(PMIX_EVENT_SILENT_TERMINATION);
    spawn("sh", "-c", "kill -9 $$", 2, nspace);
    CHECK(box_wait(&counts[JOB_END], 2, 60));
    CHECK(term_status == PMIX_ERR_JOB_ABORTED_BY_SIG && exit_code == 137);
    CHECK(PMIX_CHECK_NSPACE(last_namespace, nspace));
    check_counts(0, 0, 2, 3);
    /* all there is */
    with_flag(PMIX_NOTIFY_JOB_EVENTS);
    spawn("true", NULL, NULL, 2, nspace);
    CHECK(box_wait(&counts[JOB_END], 3, 60));
    check_counts(1, 1, 3, 3);
    finish();
}

int main(int argc, char** argv) {
    static const struct test_case cases[] = {{"streams", streams}, {"none", none},     {"inherited", inherited},
                                             {"reader", reader},   {"files", files},   {"shown", shown},
                                             {"wanted", wanted},   {"logged", logged}, {"echo", echo},
                                             {"refused", refused}, {"much", much},     {"left", left}};
    program = argv[0];
    RUN_CASE(cases);
    return 0;
}

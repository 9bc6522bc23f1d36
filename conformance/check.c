/* SPDX-License-Identifier: BSD-3-Clause */
/* The frame of each program: it lists its rows, runs one of them, and says where it failed. */
#include "check.h"

#include <errno.h>
#include <execinfo.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <time.h>

#include "host.h"

pmix_proc_t me;
int my_rank = 0;
int rank_count = 0;
bool rows_need_library;
char row_nspace[PMIX_MAX_NSLEN + 1] = "conformance-job";

static struct row* rows;
static const char* volatile at_file = "start";
static volatile int at_line;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;

void add_row(struct row* row) {
    static struct row** end = &rows;
    *end = row;
    end = &row->next;
}

static const char* base_name(const char* path) {
    const char* slash = strrchr(path, '/');
    return slash != NULL ? slash + 1 : path;
}

void at(const char* file, int line) {
    at_file = file;
    at_line = line;
}

void failed(const char* format, ...) {
    char text[1500];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    fflush(stdout);
    fprintf(stderr, "FAIL %s:%d: %s\n", base_name(at_file), at_line, text);
    fflush(stderr);
    _exit(1);
}

void unsupported(const char* why) {
    fprintf(stderr, "UNSUPPORTED %s:%d: %s\n", base_name(at_file), at_line, why);
    _exit(77);
}

static const char* status_text(pmix_status_t status, char* room, size_t size) {
    const char* name = PMIx_Error_string(status);
    snprintf(room, size, "%s (%d)", name != NULL ? name : "?", (int)status);
    return room;
}

pmix_status_t expect_status(pmix_status_t got, const char* call, bool optional, const pmix_status_t* allowed,
                            size_t n) {
    for (size_t i = 0; i < n; ++i) {
        if (allowed[i] == got) return got;
    }
    if (optional && got == PMIX_ERR_NOT_SUPPORTED) unsupported(call);
    char text[600] = "";
    char name[200];
    for (size_t i = 0; i < n; ++i) {
        size_t used = strlen(text);
        snprintf(text + used, sizeof(text) - used, "%s%s", i == 0 ? "" : " or ",
                 status_text(allowed[i], name, sizeof(name)));
    }
    failed("%s: %s, expected %s", call, status_text(got, name, sizeof(name)), text);
}

pmix_status_t expect_error(pmix_status_t got, const char* call) {
    char name[200];
    if (got >= 0 || got == PMIX_OPERATION_SUCCEEDED)
        failed("%s: %s, expected an error", call, status_text(got, name, sizeof(name)));
    return got;
}

void expect_string(const char* wanted, const char* text, const char* name) {
    if (text == NULL || strcmp(wanted, text) != 0)
        failed("%s is \"%s\", expected \"%s\"", name, text != NULL ? text : "(NULL)", wanted);
}

void expect_int(long long wanted, long long number, const char* name) {
    if (wanted != number) failed("%s is %lld, expected %lld", name, number, wanted);
}

void raise_signal(struct signal* signal, pmix_status_t status) {
    pthread_mutex_lock(&mutex);
    signal->status = status;
    ++signal->count;
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&mutex);
}

void op_done(pmix_status_t status, void* signal) {
    raise_signal(signal, status);
}

void wait_signal(struct signal* signal, int count, const char* what) {
    struct timespec end;
    clock_gettime(CLOCK_REALTIME, &end);
    end.tv_sec += 10;
    pthread_mutex_lock(&mutex);
    int rc = 0;
    while (signal->count < count && rc != ETIMEDOUT) rc = pthread_cond_timedwait(&changed, &mutex, &end);
    int seen = signal->count;
    pthread_mutex_unlock(&mutex);
    if (seen < count) failed("%s: %d of %d seen after 10 seconds", what, seen, count);
}

int signal_count(struct signal* signal) {
    pthread_mutex_lock(&mutex);
    int count = signal->count;
    pthread_mutex_unlock(&mutex);
    return count;
}

void pause_ms(int milliseconds) {
    struct timespec time = {milliseconds / 1000, (milliseconds % 1000) * 1000000L};
    nanosleep(&time, NULL);
}

pmix_info_t info_of(const char* key, const void* data, pmix_data_type_t type) {
    pmix_info_t info;
    memset(&info, 0, sizeof(info));
    PMIX_INFO_LOAD(&info, key, data, type);
    return info;
}

pmix_info_t info_timeout(int seconds) {
    return info_of(PMIX_TIMEOUT, &seconds, PMIX_INT);
}

pmix_info_t info_true(const char* key) {
    bool yes = true;
    return info_of(key, &yes, PMIX_BOOL);
}

pmix_proc_t proc_of(const char* nspace, pmix_rank_t rank) {
    pmix_proc_t proc;
    memset(&proc, 0, sizeof(proc));
    PMIX_LOAD_PROCID(&proc, nspace, rank);
    return proc;
}

pmix_value_t value_int(int number) {
    pmix_value_t value;
    memset(&value, 0, sizeof(value));
    value.type = PMIX_INT;
    value.data.integer = number;
    return value;
}

pmix_value_t value_string(const char* text) {
    pmix_value_t value;
    memset(&value, 0, sizeof(value));
    value.type = PMIX_STRING;
    value.data.string = (char*)(uintptr_t)text;
    return value;
}

void put_int(pmix_scope_t scope, const char* key, int number) {
    pmix_value_t value = value_int(number);
    EXPECT_OK(PMIx_Put(scope, key, &value));
}

int get_int(const pmix_proc_t* proc, const char* key) {
    pmix_value_t* value = NULL;
    pmix_info_t info = info_timeout(10);
    EXPECT_OK(PMIx_Get(proc, key, &info, 1, &value));
    EXPECT(value != NULL);
    EXPECT_INT(PMIX_INT, value->type);
    int number = value->data.integer;
    PMIX_VALUE_RELEASE(value);
    return number;
}

void barrier(bool collect) {
    pmix_info_t info = info_of(PMIX_COLLECT_DATA, &collect, PMIX_BOOL);
    EXPECT_OK(PMIx_Fence(NULL, 0, &info, 1));
}

pmix_status_t status_of_get(const pmix_proc_t* proc, const char* key, const pmix_info_t* info, size_t ninfo) {
    pmix_value_t* value = NULL;
    pmix_status_t status = PMIx_Get(proc, key, info, ninfo, &value);
    if (status == PMIX_SUCCESS) {
        if (value == NULL) failed("PMIx_Get(%s): success without a value", key);
        PMIX_VALUE_RELEASE(value);
    }
    return status;
}

static void say_where(int number) {
    (void)number;
    char text[200];
    int size = snprintf(text, sizeof(text), "AT %s:%d\n", base_name(at_file), at_line);
    ssize_t ignored = write(2, text, (size_t)size);
    (void)ignored;
    _exit(75);
}

/* Where a process crashed, for --verbose. */
static void say_frames(int number) {
    void* frames[12];
    int count = backtrace(frames, 12);
    backtrace_symbols_fd(frames, count, 2);
    signal(number, SIG_DFL);
    raise(number);
}

static void json_text(const char* text) {
    putchar('"');
    for (; *text != '\0'; ++text) {
        if (*text == '"' || *text == '\\') putchar('\\');
        putchar(*text);
    }
    putchar('"');
}

int main(int argc, char** argv) {
    if (argc == 2 && strcmp(argv[1], "--list") == 0) {
        for (struct row* row = rows; row != NULL; row = row->next) {
            printf("{\"name\": ");
            json_text(row->name);
            printf(", \"chapter\": ");
            json_text(row->chapter);
            printf(", \"says\": ");
            json_text(row->says);
            printf(", \"ranks\": %d, \"launched\": %d, \"absent\": %d}\n", row->ranks, row->launched, row->absent);
        }
        return 0;
    }
    if (argc == 2 && strcmp(argv[1], "--version") == 0) {
        printf("%s\n", PMIx_Get_version());
        return 0;
    }
    if (argc != 2) {
        fprintf(stderr, "usage: %s --list | --version | ROW (conformance/pmix-check runs this)\n", argv[0]);
        return 2;
    }
    struct sigaction action;
    memset(&action, 0, sizeof(action));
    action.sa_handler = say_where;
    sigaction(SIGTERM, &action, NULL);
    signal(SIGSEGV, say_frames);
    signal(SIGABRT, say_frames);
    signal(SIGPIPE, SIG_IGN);
    for (struct row* row = rows; row != NULL; row = row->next) {
        if (strcmp(row->name, argv[1]) != 0) continue;
        rank_count = row->ranks;
        if (row->ranks == 0) {
            if (rows_need_library) EXPECT_OK(PMIx_server_init(NULL, NULL, 0));
            row->run();
            return 0;
        }
        const char* rank = getenv("CONFORMANCE_RANK");
        if (rank == NULL) return run_under_host(row, argv[0]);
        my_rank = atoi(rank);
        const char* nspace = getenv("CONFORMANCE_NSPACE");
        if (nspace != NULL) snprintf(row_nspace, sizeof(row_nspace), "%s", nspace);
        if (row->raw || row->tool) {
            row->run();
            return 0;
        }
        EXPECT_OK(PMIx_Init(&me, NULL, 0));
        row->run();
        EXPECT_OK(PMIx_Finalize(NULL, 0));
        return 0;
    }
    fprintf(stderr, "no row is called %s\n", argv[1]);
    return 2;
}

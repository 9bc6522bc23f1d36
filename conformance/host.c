/* SPDX-License-Identifier: BSD-3-Clause */
/* The small host: starts a server of the library, registers a job, forks its clients and waits for them. With two nodes
 * a second process is the host of the other half of the ranks, and both exchange what a resource manager would send
 * between nodes. */
#include "host.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>

bool host_answers_at_once = false;
bool host_notify_callback;
bool host_serves_tools = true;
pmix_status_t host_answer = PMIX_SUCCESS;
pmix_info_t host_init_info[8];
size_t host_init_ninfo;
int host_remote_ranks;
void (*host_registered)(void);

extern char** environ;

static const char* program_path;
static const char* row_name;
static bool two_nodes;
static int my_node;
static int link_to_other = -1;
static int from_clients[2], to_clients[2];
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static struct upcall upcalls[256];
static int upcalls_used;

int host_my_node(void) {
    return my_node;
}
bool host_has_two_nodes(void) {
    return two_nodes;
}

int host_node_of(pmix_rank_t rank) {
    if (two_nodes) return (int)rank < (rank_count + 1) / 2 ? 0 : 1;
    return (int)rank < rank_count ? 0 : 1;
}

/* ---- what the library called ---- */

struct upcall* host_note(const char* name, const pmix_proc_t* proc, const pmix_info_t* info, size_t ninfo) {
    pthread_mutex_lock(&mutex);
    if (upcalls_used == (int)(sizeof(upcalls) / sizeof(upcalls[0]))) upcalls_used = 0;
    struct upcall* upcall = &upcalls[upcalls_used];
    memset(upcall, 0, sizeof(*upcall));
    snprintf(upcall->name, sizeof(upcall->name), "%s", name);
    if (proc != NULL) upcall->proc = *proc;
    upcall->info = calloc(ninfo + 1, sizeof(pmix_info_t));
    upcall->ninfo = ninfo;
    for (size_t i = 0; i < ninfo; ++i) {
        (void)PMIx_Info_xfer(&upcall->info[i], (pmix_info_t*)(uintptr_t)&info[i]);
        upcall->info[i].flags = info[i].flags;
    }
    ++upcalls_used;
    pthread_mutex_unlock(&mutex);
    return upcall;
}

int upcall_count(const char* name) {
    int count = 0;
    pthread_mutex_lock(&mutex);
    for (int i = 0; i < upcalls_used; ++i) count += strcmp(upcalls[i].name, name) == 0;
    pthread_mutex_unlock(&mutex);
    return count;
}

const struct upcall* upcall_at(const char* name, int index) {
    pthread_mutex_lock(&mutex);
    int seen = 0;
    const struct upcall* found = NULL;
    for (int i = 0; i < upcalls_used && found == NULL; ++i) {
        if (strcmp(upcalls[i].name, name) == 0 && seen++ == index) found = &upcalls[i];
    }
    pthread_mutex_unlock(&mutex);
    if (found == NULL) failed("the host function %s was called %d times, expected more than %d", name, seen, index);
    return found;
}

const pmix_info_t* upcall_info(const struct upcall* upcall, const char* key) {
    for (size_t i = 0; i < upcall->ninfo; ++i) {
        if (PMIX_CHECK_KEY(&upcall->info[i], key)) return &upcall->info[i];
    }
    return NULL;
}

void expect_ids(const struct upcall* upcall) {
    const pmix_info_t* uid = upcall_info(upcall, PMIX_USERID);
    const pmix_info_t* gid = upcall_info(upcall, PMIX_GRPID);
    if (uid == NULL) failed("%s: PMIX_USERID is absent", upcall->name);
    if (gid == NULL) failed("%s: PMIX_GRPID is absent", upcall->name);
    EXPECT_INT(geteuid(), uid->value.data.uint32);
    EXPECT_INT(getegid(), gid->value.data.uint32);
}

/* ---- answers from a thread of the host's own ---- */

struct work {
    void (*run)(void*);
    void* argument;
    struct work* next;
};
static struct work *first_work, *last_work;
static pthread_cond_t work_added = PTHREAD_COND_INITIALIZER;
static pthread_mutex_t work_mutex = PTHREAD_MUTEX_INITIALIZER;

void later(void (*run)(void*), void* argument) {
    struct work* work = calloc(1, sizeof(*work));
    work->run = run;
    work->argument = argument;
    pthread_mutex_lock(&work_mutex);
    if (last_work != NULL)
        last_work->next = work;
    else
        first_work = work;
    last_work = work;
    pthread_cond_signal(&work_added);
    pthread_mutex_unlock(&work_mutex);
}

static void* do_work(void* unused) {
    (void)unused;
    for (;;) {
        pthread_mutex_lock(&work_mutex);
        while (first_work == NULL) pthread_cond_wait(&work_added, &work_mutex);
        struct work* work = first_work;
        first_work = work->next;
        if (first_work == NULL) last_work = NULL;
        pthread_mutex_unlock(&work_mutex);
        work->run(work->argument);
        free(work);
    }
    return NULL;
}

/* ---- between the two nodes ---- */

enum { kPart = 1, kAsk, kAnswer };
struct frame {
    int kind;
    pmix_status_t status;
    uint64_t id;
    uint64_t size;
    pmix_proc_t proc;
};

struct collective {
    uint64_t id;
    bool here, there;
    char* data[2];
    size_t size[2];
    void (*done)(pmix_status_t, char*, size_t, void*);
    void* state;
    struct collective* next;
};
static struct collective* collectives;

struct question {
    uint64_t id;
    pmix_modex_cbfunc_t cbfunc;
    void* cbdata;
    struct question* next;
};
static struct question* questions;
static uint64_t next_question = 1;

static void write_all(int fd, const void* bytes, size_t size) {
    const char* p = bytes;
    while (size > 0) {
        ssize_t n = write(fd, p, size);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) return;
        p += n;
        size -= (size_t)n;
    }
}

static bool read_all(int fd, void* bytes, size_t size) {
    char* p = bytes;
    while (size > 0) {
        ssize_t n = read(fd, p, size);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) return false;
        p += n;
        size -= (size_t)n;
    }
    return true;
}

static void send_frame(const struct frame* frame, const char* data) {
    static pthread_mutex_t send_mutex = PTHREAD_MUTEX_INITIALIZER;
    pthread_mutex_lock(&send_mutex);
    write_all(link_to_other, frame, sizeof(*frame));
    if (frame->size > 0) write_all(link_to_other, data, frame->size);
    pthread_mutex_unlock(&send_mutex);
}

static struct collective* collective_of(uint64_t id, bool here) {
    for (struct collective* c = collectives; c != NULL; c = c->next) {
        if (c->id == id && (here ? !c->here : !c->there)) return c;
    }
    struct collective* c = calloc(1, sizeof(*c));
    c->id = id;
    struct collective** end = &collectives;
    while (*end != NULL) end = &(*end)->next;
    *end = c;
    return c;
}

static void finish_collective(void* argument) {
    struct collective* c = argument;
    size_t size = c->size[0] + c->size[1];
    char* data = size > 0 ? malloc(size) : NULL;
    if (c->size[0] > 0) memcpy(data, c->data[0], c->size[0]);
    if (c->size[1] > 0) memcpy(data + c->size[0], c->data[1], c->size[1]);
    c->done(PMIX_SUCCESS, data, size, c->state);
    free(c->data[0]);
    free(c->data[1]);
    free(c);
}

static void complete_if_ready(struct collective* c, bool alone) {
    if (!c->here || (!c->there && !alone)) return;
    for (struct collective** p = &collectives; *p != NULL; p = &(*p)->next) {
        if (*p == c) {
            *p = c->next;
            break;
        }
    }
    later(finish_collective, c);
}

void host_collective(const char* kind, const pmix_proc_t* procs, size_t nprocs, char* data, size_t size,
                     void (*done)(pmix_status_t, char*, size_t, void*), void* state) {
    uint64_t id = 1469598103934665603u;
    for (const char* p = kind; *p != '\0'; ++p) id = (id ^ (unsigned char)*p) * 1099511628211u;
    bool both = false;
    for (size_t i = 0; i < nprocs; ++i) {
        for (const char* p = procs[i].nspace; *p != '\0'; ++p) id = (id ^ (unsigned char)*p) * 1099511628211u;
        id = (id ^ procs[i].rank) * 1099511628211u;
        if (two_nodes && (procs[i].rank == PMIX_RANK_WILDCARD || host_node_of(procs[i].rank) != my_node)) both = true;
    }
    pthread_mutex_lock(&mutex);
    struct collective* c = collective_of(id, true);
    c->here = true;
    c->done = done;
    c->state = state;
    c->data[0] = size > 0 ? malloc(size) : NULL;
    if (size > 0) memcpy(c->data[0], data, size);
    c->size[0] = size;
    if (both) {
        struct frame frame = {.kind = kPart, .id = id, .size = size};
        send_frame(&frame, data);
    }
    complete_if_ready(c, !both);
    pthread_mutex_unlock(&mutex);
}

void host_ask_other_node(const pmix_proc_t* proc, pmix_modex_cbfunc_t cbfunc, void* cbdata) {
    struct question* question = calloc(1, sizeof(*question));
    question->cbfunc = cbfunc;
    question->cbdata = cbdata;
    pthread_mutex_lock(&mutex);
    question->id = next_question++;
    question->next = questions;
    questions = question;
    pthread_mutex_unlock(&mutex);
    struct frame frame = {.kind = kAsk, .id = question->id, .proc = *proc};
    send_frame(&frame, NULL);
}

static void answer_question(pmix_status_t status, char* data, size_t size, void* cbdata) {
    struct frame* frame = cbdata;
    frame->kind = kAnswer;
    frame->status = status;
    frame->size = status == PMIX_SUCCESS ? size : 0;
    send_frame(frame, data);
    free(frame);
}

static void release_bytes(void* bytes) {
    free(bytes);
}

static void* read_other_node(void* unused) {
    (void)unused;
    struct frame frame;
    while (read_all(link_to_other, &frame, sizeof(frame))) {
        char* data = frame.size > 0 ? malloc(frame.size) : NULL;
        if (frame.size > 0 && !read_all(link_to_other, data, frame.size)) break;
        if (frame.kind == kPart) {
            pthread_mutex_lock(&mutex);
            struct collective* c = collective_of(frame.id, false);
            c->there = true;
            c->data[1] = data;
            c->size[1] = frame.size;
            complete_if_ready(c, false);
            pthread_mutex_unlock(&mutex);
        } else if (frame.kind == kAsk) {
            struct frame* copy = malloc(sizeof(frame));
            *copy = frame;
            pmix_status_t status = PMIx_server_dmodex_request(&copy->proc, answer_question, copy);
            if (status != PMIX_SUCCESS) answer_question(status, NULL, 0, copy);
        } else if (frame.kind == kAnswer) {
            pthread_mutex_lock(&mutex);
            struct question* question = NULL;
            for (struct question** p = &questions; *p != NULL; p = &(*p)->next) {
                if ((*p)->id == frame.id) {
                    question = *p;
                    *p = question->next;
                    break;
                }
            }
            pthread_mutex_unlock(&mutex);
            if (question != NULL)
                question->cbfunc(frame.status, data, frame.size, question->cbdata, release_bytes, data);
            free(question);
        }
    }
    return NULL;
}

/* ---- tokens between host and clients ---- */

static void one_token(int fd) {
    char token = 1;
    write_all(fd, &token, 1);
}

static void read_token(int fd, const char* who) {
    char token;
    if (!read_all(fd, &token, 1)) failed("%s ended", who);
}

static int token_fd(const char* name) {
    const char* text = getenv(name);
    if (text == NULL) failed("no host: %s is not set", name);
    return atoi(text);
}

void tell_host(void) {
    one_token(token_fd("CONFORMANCE_TO_HOST"));
}
void wait_host(void) {
    read_token(token_fd("CONFORMANCE_FROM_HOST"), "the host");
}
void wait_clients(int tokens) {
    while (tokens-- > 0) read_token(from_clients[0], "every client");
}
void tell_clients(int tokens) {
    while (tokens-- > 0) one_token(to_clients[1]);
}

/* ---- processes ---- */

enum { kProcesses = 64 };
static pid_t processes[kProcesses];
static int numbers[kProcesses]; /* ranks, of spawned processes from 100 */
static int process_count;

/* The number of a process that has ended, or -1. */
static int forget_process(pid_t pid) {
    int number = -1;
    pthread_mutex_lock(&mutex);
    for (int i = 0; i < process_count; ++i) {
        if (processes[i] == pid) {
            number = numbers[i];
            processes[i] = 0;
        }
    }
    pthread_mutex_unlock(&mutex);
    return number;
}

static int processes_left(int signal_number) {
    int left = 0;
    pthread_mutex_lock(&mutex);
    for (int i = 0; i < process_count; ++i) {
        if (processes[i] <= 0) continue;
        ++left;
        if (signal_number != 0) kill(processes[i], signal_number);
    }
    pthread_mutex_unlock(&mutex);
    return left;
}

pid_t host_start(const char* nspace, int rank, char** argv, char** environment) {
    size_t n = 0;
    while (environment != NULL && environment[n] != NULL) ++n;
    char** env = calloc(n + 6, sizeof(char*));
    memcpy(env, environment, n * sizeof(char*));
    const char* names[] = {"CONFORMANCE_RANK", "CONFORMANCE_TO_HOST", "CONFORMANCE_FROM_HOST", "CONFORMANCE_NSPACE"};
    char texts[4][400];
    snprintf(texts[0], sizeof(texts[0]), "%s=%d", names[0], rank);
    snprintf(texts[1], sizeof(texts[1]), "%s=%d", names[1], from_clients[1]);
    snprintf(texts[2], sizeof(texts[2]), "%s=%d", names[2], to_clients[0]);
    snprintf(texts[3], sizeof(texts[3]), "%s=%s", names[3], nspace);
    for (int i = 0; i < 4; ++i) env[n + (size_t)i] = texts[i];
    char* own[] = {(char*)(uintptr_t)program_path, (char*)(uintptr_t)row_name, NULL};
    if (argv == NULL) argv = own;
    pthread_mutex_lock(&mutex);
    pid_t pid = fork();
    if (pid == 0) {
        execve(argv[0], argv, env);
        _exit(126);
    }
    if (process_count < kProcesses) {
        numbers[process_count] = rank;
        processes[process_count++] = pid;
    }
    pthread_mutex_unlock(&mutex);
    free(env);
    return pid;
}

static pid_t start_client(struct row* row, int rank) {
    char** env = NULL;
    char** own = environ;
    size_t n = 0;
    while (own[n] != NULL) ++n;
    env = calloc(n + 1, sizeof(char*));
    for (size_t i = 0; i < n; ++i) env[i] = strdup(own[i]);
    if (!row->tool) {
        pmix_proc_t proc = proc_of(row_nspace, (pmix_rank_t)rank);
        EXPECT_OK(PMIx_server_setup_fork(&proc, &env));
    }
    return host_start(row_nspace, rank, NULL, env);
}

/* The exit status of the row: the worst of its clients. A client that failed leaves the others 3 seconds. */
static int wait_processes(void) {
    int result = 0;
    double end = 0;
    while (processes_left(0) > 0) {
        int state;
        pid_t pid = waitpid(-1, &state, WNOHANG);
        struct timespec now;
        clock_gettime(CLOCK_MONOTONIC, &now);
        double time = (double)now.tv_sec + (double)now.tv_nsec / 1e9;
        if (pid <= 0) {
            if (end > 0 && time > end) processes_left(SIGKILL);
            pause_ms(2);
            continue;
        }
        int rank = forget_process(pid);
        if (rank < 0) continue;
        int code = 0;
        if (WIFSIGNALED(state)) {
            if (end == 0 || WTERMSIG(state) != SIGKILL)
                fprintf(stderr, "CRASH rank %d: signal %d\n", rank, WTERMSIG(state));
            code = 70;
        } else if (WIFEXITED(state)) {
            code = WEXITSTATUS(state);
        }
        if (code == 0) continue;
        if (result == 0 || (result == 77 && code != 77)) result = code;
        if (end == 0) end = time + 3;
    }
    return result;
}

int run_under_host(struct row* row, const char* program) {
    program_path = program;
    row_name = row->name;
    two_nodes = row->nodes == 2;
    if (pipe(from_clients) != 0 || pipe(to_clients) != 0) return 2;
    pid_t other = -1;
    if (two_nodes) {
        int ends[2];
        if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) return 2;
        other = fork();
        my_node = other == 0 ? 1 : 0;
        link_to_other = ends[my_node];
        close(ends[1 - my_node]);
    }
    host_fill_module();
    if (row->before != NULL) row->before();
    const char* place = getenv("TMPDIR");
    char folder[400];
    snprintf(folder, sizeof(folder), "%s", place != NULL ? place : "/tmp");
    pmix_info_t info[16];
    size_t n = 0;
    info[n++] = info_of(PMIX_SERVER_TMPDIR, folder, PMIX_STRING);
    info[n++] = info_of(PMIX_SYSTEM_TMPDIR, folder, PMIX_STRING);
    if (two_nodes) {
        info[n++] = info_of(PMIX_HOSTNAME, my_node == 0 ? "nodea" : "nodeb", PMIX_STRING);
        char name[40];
        snprintf(name, sizeof(name), "conformance-server-%d", my_node);
        info[n++] = info_of(PMIX_SERVER_NSPACE, name, PMIX_STRING);
    }
    if (row->tool && host_serves_tools) info[n++] = info_true(PMIX_SERVER_TOOL_SUPPORT);
    for (size_t i = 0; i < host_init_ninfo; ++i) info[n++] = host_init_info[i];
    EXPECT_OK(PMIx_server_init(&host_module, info, n));
    pthread_t thread;
    pthread_create(&thread, NULL, do_work, NULL);
    if (two_nodes) pthread_create(&thread, NULL, read_other_node, NULL);
    if (!row->tool) host_register_job(row_nspace, row->ranks);
    if (host_registered != NULL) host_registered();
    for (int rank = 0; rank < row->ranks; ++rank) {
        if (two_nodes && host_node_of((pmix_rank_t)rank) != my_node) continue;
        (void)start_client(row, rank);
    }
    if (row->during != NULL) row->during();
    int result = wait_processes();
    if (result == 0 && row->after != NULL) row->after();
    if (two_nodes) {
        if (my_node == 1) {
            /* The other node may still ask for data. */
            char token;
            shutdown(link_to_other, SHUT_WR);
            while (recv(link_to_other, &token, 1, MSG_PEEK) > 0) pause_ms(2);
            fflush(stderr);
            _exit(result);
        }
        shutdown(link_to_other, SHUT_WR);
        int state;
        if (waitpid(other, &state, 0) == other && state != 0 && result == 0) {
            if (WIFSIGNALED(state)) fprintf(stderr, "CRASH host 1: signal %d\n", WTERMSIG(state));
            result = WIFEXITED(state) ? WEXITSTATUS(state) : 70;
        }
    }
    if (result == 0) {
        EXPECT_OK(PMIx_server_finalize());
    }
    fflush(stderr);
    _exit(result);
}

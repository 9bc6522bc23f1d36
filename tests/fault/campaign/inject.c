/* SPDX-License-Identifier: BSD-3-Clause */
/* inject: loaded before the C library (LD_PRELOAD), it makes calls of libpmix.so.2 fail now and then as a full machine
 * would: no memory, no descriptors, no space, no thread, a message whose descriptors found no room, half a write.
 *
 * CAMPAIGN_FAULTS=SEED:MEMORY:OTHER  one allocation in MEMORY fails, one of the other calls in OTHER (0: none)
 * Only calls whose return address lies in libpmix.so.2 are touched; everybody else's go through.
 * CAMPAIGN_CRASHES=FOLDER            a process that crashes leaves its stack in FOLDER/PID
 * CAMPAIGN_TRACE=FOLDER              each call that is made to fail leaves its stack in FOLDER/PID, to find out what a
 *                                    failure has led to
 */
#include <dlfcn.h>
#include <errno.h>
#include <execinfo.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <sys/uio.h>
#include <unistd.h>

static _Atomic(uintptr_t) low, high; /* where libpmix.so.2 lies; 0: not yet known */
static _Atomic(uint64_t) state;
static unsigned memory_every, other_every;

static int find(struct dl_phdr_info* info, size_t size, void* unused) {
    (void)size, (void)unused;
    if (strstr(info->dlpi_name, "libpmix.so.2") == NULL) return 0;
    uintptr_t end = info->dlpi_addr;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        if (info->dlpi_phdr[i].p_type != PT_LOAD) continue;
        uintptr_t last = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr + info->dlpi_phdr[i].p_memsz;
        if (last > end) end = last;
    }
    atomic_store(&high, end);
    atomic_store(&low, info->dlpi_addr);
    return 1;
}

static int crashes = -1, traces = -1; /* the folders */

static void leave_stack(int folder, const char* what, int number) {
    char name[32];
    void* frames[64];
    snprintf(name, sizeof name, "%d", (int)getpid());
    const int fd = openat(folder, name, O_CREAT | O_WRONLY | O_APPEND | O_CLOEXEC, 0600);
    if (fd < 0) return;
    dprintf(fd, "%s %d in process %d\n", what, number, (int)getpid());
    backtrace_symbols_fd(frames, backtrace(frames, 64), fd);
    close(fd);
}

static void crashed(int number) {
    leave_stack(crashes, "signal", number);
    signal(number, SIG_DFL);
    raise(number);
}

static int folder_of(const char* variable) {
    const char* folder = getenv(variable);
    return folder ? open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC) : -1;
}

static void open_folders(void) {
    crashes = folder_of("CAMPAIGN_CRASHES");
    traces = folder_of("CAMPAIGN_TRACE");
    if (crashes < 0 && traces < 0) return;
    void* frame;
    backtrace(&frame, 1); /* loads what it needs now */
    for (int i = 0; crashes >= 0 && i < 4; i++) signal((int[]){SIGSEGV, SIGBUS, SIGABRT, SIGFPE}[i], crashed);
}

__attribute__((constructor)) static void begin(void) {
    open_folders();
    unsigned long seed = 0;
    const char* text = getenv("CAMPAIGN_FAULTS");
    if (text && sscanf(text, "%lu:%u:%u", &seed, &memory_every, &other_every) == 3) {
        atomic_store(&state, (seed + 1) * 0x9e3779b97f4a7c15u ^ (uint64_t)getpid() << 20);
        dl_iterate_phdr(find, NULL);
    }
}

static int hit(void* caller, unsigned every) {
    uintptr_t at = (uintptr_t)caller;
    if (every == 0 || at < atomic_load_explicit(&low, memory_order_relaxed) ||
        at >= atomic_load_explicit(&high, memory_order_relaxed)) {
        return 0;
    }
    uint64_t x = atomic_fetch_add(&state, 0x9e3779b97f4a7c15u);
    x ^= x >> 30, x *= 0xbf58476d1ce4e5b9u, x ^= x >> 27, x *= 0x94d049bb133111ebu, x ^= x >> 31;
    if (x % every != 0) return 0;
    if (traces >= 0) leave_stack(traces, "one call in this many fails:", (int)every);
    return 1;
}

#define HERE __builtin_return_address(0)
#define FAIL_IF(every, error, result) \
    do {                              \
        if (hit(HERE, every)) {       \
            errno = (error);          \
            return result;            \
        }                             \
    } while (0)
#define REAL(type, name, ...)         \
    static type (*real)(__VA_ARGS__); \
    if (real == NULL) real = (type(*)(__VA_ARGS__))dlsym(RTLD_NEXT, name)

/* The allocator's own names: dlsym may allocate, so the aliases that glibc has are called instead. */
extern void* __libc_malloc(size_t);
extern void* __libc_calloc(size_t, size_t);
extern void* __libc_realloc(void*, size_t);

void* malloc(size_t size) {
    FAIL_IF(memory_every, ENOMEM, NULL);
    return __libc_malloc(size);
}
void* calloc(size_t count, size_t size) {
    FAIL_IF(memory_every, ENOMEM, NULL);
    return __libc_calloc(count, size);
}
void* realloc(void* old, size_t size) {
    FAIL_IF(memory_every, ENOMEM, NULL);
    return __libc_realloc(old, size);
}
void* mmap(void* at, size_t size, int prot, int flags, int fd, off_t offset) {
    REAL(void*, "mmap", void*, size_t, int, int, int, off_t);
    FAIL_IF(other_every, ENOMEM, MAP_FAILED);
    return real(at, size, prot, flags, fd, offset);
}
int memfd_create(const char* name, unsigned flags) {
    REAL(int, "memfd_create", const char*, unsigned);
    FAIL_IF(other_every, EMFILE, -1);
    return real(name, flags);
}
int ftruncate(int fd, off_t size) {
    REAL(int, "ftruncate", int, off_t);
    FAIL_IF(other_every, ENOSPC, -1);
    return real(fd, size);
}
int fallocate(int fd, int mode, off_t offset, off_t size) {
    REAL(int, "fallocate", int, int, off_t, off_t);
    FAIL_IF(other_every, ENOSPC, -1);
    return real(fd, mode, offset, size);
}
int posix_fallocate(int fd, off_t offset, off_t size) {
    REAL(int, "posix_fallocate", int, off_t, off_t);
    if (hit(HERE, other_every)) return ENOSPC;
    return real(fd, offset, size);
}
int socket(int domain, int type, int protocol) {
    REAL(int, "socket", int, int, int);
    FAIL_IF(other_every, EMFILE, -1);
    return real(domain, type, protocol);
}
int accept4(int fd, struct sockaddr* address, socklen_t* size, int flags) {
    REAL(int, "accept4", int, struct sockaddr*, socklen_t*, int);
    FAIL_IF(other_every, EMFILE, -1);
    return real(fd, address, size, flags);
}
int epoll_create1(int flags) {
    REAL(int, "epoll_create1", int);
    FAIL_IF(other_every, EMFILE, -1);
    return real(flags);
}
int eventfd(unsigned value, int flags) {
    REAL(int, "eventfd", unsigned, int);
    FAIL_IF(other_every, EMFILE, -1);
    return real(value, flags);
}
int dup(int fd) {
    REAL(int, "dup", int);
    FAIL_IF(other_every, EMFILE, -1);
    return real(fd);
}
int pipe2(int fds[2], int flags) {
    REAL(int, "pipe2", int*, int);
    FAIL_IF(other_every, EMFILE, -1);
    return real(fds, flags);
}
int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*run)(void*), void* argument) {
    REAL(int, "pthread_create", pthread_t*, const pthread_attr_t*, void* (*)(void*), void*);
    if (hit(HERE, other_every)) return EAGAIN;
    return real(thread, attributes, run, argument);
}
int fcntl(int fd, int command, ...) {
    REAL(int, "fcntl", int, int, ...);
    va_list args;
    va_start(args, command);
    void* argument = va_arg(args, void*);
    va_end(args);
    if (command == F_DUPFD || command == F_DUPFD_CLOEXEC) FAIL_IF(other_every, EMFILE, -1);
    return real(fd, command, argument);
}
int fcntl64(int fd, int command, ...) {
    REAL(int, "fcntl64", int, int, ...);
    va_list args;
    va_start(args, command);
    void* argument = va_arg(args, void*);
    va_end(args);
    if (command == F_DUPFD || command == F_DUPFD_CLOEXEC) FAIL_IF(other_every, EMFILE, -1);
    return real(fd, command, argument);
}
/* The receiver's table of descriptors is full: the kernel drops them and marks the message. */
ssize_t recvmsg(int fd, struct msghdr* message, int flags) {
    REAL(ssize_t, "recvmsg", int, struct msghdr*, int);
    if (message->msg_controllen > 0 && hit(HERE, other_every)) {
        struct msghdr bare = *message;
        bare.msg_control = NULL, bare.msg_controllen = 0;
        ssize_t got = real(fd, &bare, flags);
        message->msg_controllen = 0, message->msg_flags = bare.msg_flags;
        return got;
    }
    return real(fd, message, flags);
}
/* One byte leaves; what is attached goes with it. */
ssize_t sendmsg(int fd, const struct msghdr* message, int flags) {
    REAL(ssize_t, "sendmsg", int, const struct msghdr*, int);
    if (message->msg_iovlen > 0 && message->msg_iov[0].iov_len > 0 && hit(HERE, other_every)) {
        struct iovec first = {message->msg_iov[0].iov_base, 1};
        struct msghdr cut = *message;
        cut.msg_iov = &first, cut.msg_iovlen = 1;
        return real(fd, &cut, flags);
    }
    return real(fd, message, flags);
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* events: a program that uses libevent itself, in its own way; the library runs beside it. Run under pmixrun.
 * usage: events locks|locks_late|debug|debug_locks
 *
 * libevent's locking hooks and its debug mode are the process's: the library neither sets nor needs them. */
#include <event2/event.h>
#include <event2/thread.h>
#include <fcntl.h>

#include "../check.h"

static struct event_base* base;
static int rounds;

static void tick(evutil_socket_t fd, short what, void* argument) {
    (void)what;
    char byte;
    struct event* timer = argument;
    CHECK(read(fd, &byte, 1) == 1);
    struct timeval later = {0, 100};
    CHECK(event_add(timer, &later) == 0);
}

static void timer_fired(evutil_socket_t fd, short what, void* argument) {
    (void)fd, (void)what;
    int* pipe_end = argument;
    if (++rounds < 300) {
        CHECK(write(*pipe_end, "x", 1) == 1);
    } else {
        event_base_loopbreak(base);
    }
}

/* The application's own events: a pipe and a timer that set each other off. */
static void* own_loop(void* unused) {
    (void)unused;
    static int ends[2];
    CHECK(pipe2(ends, O_CLOEXEC | O_NONBLOCK) == 0);
    struct event* timer = event_new(base, -1, 0, timer_fired, &ends[1]);
    struct event* reader = event_new(base, ends[0], EV_READ | EV_PERSIST, tick, timer);
    CHECK(timer && reader && event_add(reader, NULL) == 0);
    CHECK(write(ends[1], "x", 1) == 1);
    CHECK(event_base_dispatch(base) >= 0);
    CHECK(rounds == 300);
    event_free(reader);
    event_free(timer);
    close(ends[0]);
    close(ends[1]);
    return NULL;
}

static void use_the_library(void) {
    uint32_t number = 0;
    char key[32];
    pmix_proc_t next = rank_of_job((me.rank + 1) % job_size);
    for (int i = 0; i < 20; i++) {
        snprintf(key, sizeof key, "beside.%d", i);
        CHECK_OK(put_u32(PMIX_GLOBAL, key, me.rank + (uint32_t)i));
        CHECK_OK(PMIx_Commit());
        CHECK_OK(fence_of(NULL, 0, true, 60)); /* with a timer in the library's loop or the server's */
        CHECK_OK(get_u32(&next, key, 60, &number));
        CHECK(number == next.rank + (uint32_t)i);
        /* A request that only the library's own timer ends. */
        if (i % 5 == 0) CHECK_STATUS(look_up_string("no.such.name", NULL, 0, NULL, 0, NULL), PMIX_ERR_NOT_FOUND);
    }
}

int main(int argc, char** argv) {
    CHECK(argc == 2);
    const bool debug = strncmp(argv[1], "debug", 5) == 0;
    const bool late = strcmp(argv[1], "locks_late") == 0, alone = strcmp(argv[1], "debug") == 0;
    if (!late && !alone) CHECK(evthread_use_pthreads() == 0);
    if (debug) event_enable_debug_mode();
    if (late) {
        start();
        CHECK(evthread_use_pthreads() == 0);
    }
    base = event_base_new();
    CHECK(base);
    if (!late) start();
    if (alone) {
        /* Debug mode without locks is for programs that use libevent in one thread: the two alternate here. */
        own_loop(NULL);
        use_the_library();
    } else {
        pthread_t thread;
        CHECK(pthread_create(&thread, NULL, own_loop, NULL) == 0);
        use_the_library();
        CHECK(pthread_join(thread, NULL) == 0);
    }
    int status = finish();
    /* The application's base is as good as before, after the library has gone. */
    rounds = 290;
    own_loop(NULL);
    event_base_free(base);
    return status;
}

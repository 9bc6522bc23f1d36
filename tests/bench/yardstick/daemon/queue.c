/* SPDX-License-Identifier: BSD-3-Clause */
#include "queue.h"

#include <pthread.h>
#include <sys/eventfd.h>

#include "control.h"
#include "daemon.h"
#include "dispatch.h"

static pthread_mutex_t qlock = PTHREAD_MUTEX_INITIALIZER;
static item_t *qhead, **qtail = &qhead;
int queue_fd = -1;

void queue_open(void) {
    queue_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
}
item_t* item_new(int type, void (*fn)(void), void* cbdata) {
    item_t* it = xcalloc(1, sizeof *it);
    it->type = type;
    it->fn = fn;
    it->cbdata = cbdata;
    return it;
}

void post(item_t* it) {
    uint64_t one = 1;
    it->next = NULL;
    pthread_mutex_lock(&qlock);
    *qtail = it;
    qtail = &it->next;
    pthread_mutex_unlock(&qlock);
    if (write(queue_fd, &one, sizeof one) < 0) fatal("eventfd: %s", strerror(errno));
}
void drain_queue(void) {
    uint64_t x;
    if (read(queue_fd, &x, sizeof x) < 0 && errno != EAGAIN) fatal("eventfd: %s", strerror(errno));
    pthread_mutex_lock(&qlock);
    item_t* h = qhead;
    qhead = NULL;
    qtail = &qhead;
    pthread_mutex_unlock(&qlock);
    while (h) {
        item_t* nx = h->next;
        on_item(h);
        h = nx;
    }
}

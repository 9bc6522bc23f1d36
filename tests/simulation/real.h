// SPDX-License-Identifier: BSD-3-Clause
// The functions of the C library that calls_*.cpp replace, as they are.
#pragma once

#include <poll.h>
#include <pthread.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <time.h>

#include <cstdint>

namespace pmix::simulation {

struct Real {
    long (*syscall)(long, ...);
    int (*pthread_create)(uint64_t*, const void*, void* (*)(void*), void*);
    int (*pthread_join)(uint64_t, void**);
    int (*pthread_once)(pthread_once_t*, void (*)());
    int (*pthread_mutex_lock)(pthread_mutex_t*);
    int (*pthread_mutex_trylock)(pthread_mutex_t*);
    int (*pthread_mutex_unlock)(pthread_mutex_t*);
    int (*clock_gettime)(clockid_t, timespec*);
    int (*poll)(pollfd*, nfds_t, int);
    int (*close)(int);
    ssize_t (*read)(int, void*, size_t);
    ssize_t (*write)(int, const void*, size_t);
    ssize_t (*readv)(int, const iovec*, int);
    ssize_t (*writev)(int, const iovec*, int);
    int (*fcntl)(int, int, ...);
    int (*dup)(int);
    void* (*mmap)(void*, size_t, int, int, int, off_t);
    int (*munmap)(void*, size_t);
};
const Real& real();

}  // namespace pmix::simulation

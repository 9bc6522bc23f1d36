// SPDX-License-Identifier: BSD-3-Clause
// Replaces what the C library has for descriptors in general: read and write, poll and epoll, close and copies.
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdarg.h>
#include <sys/epoll.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>

#include "simulation/descriptors.h"
#include "simulation/real.h"
#include "simulation/scheduler.h"
#include "simulation/streams.h"

using namespace pmix::simulation;

namespace {

int failed(int error) {
    errno = error;
    return -1;
}

Nanoseconds deadline_in(int ms) {
    return ms < 0 ? kNever : now() + ms * kMillisecond;
}

ssize_t read_counter(Counter& c, void* to, size_t n) {
    if (n < sizeof(uint64_t)) return failed(EINVAL);
    if (c.value == 0) {
        if (c.nonblocking) return failed(EAGAIN);
        wait_until([&c] { return c.value != 0; }, kNever, "read of an eventfd");
    }
    *static_cast<uint64_t*>(to) = c.value;
    c.value = 0;
    return sizeof(uint64_t);
}

ssize_t write_counter(Counter& c, const void* from, size_t n) {
    if (n < sizeof(uint64_t)) return failed(EINVAL);
    c.value += *static_cast<const uint64_t*>(from);
    ++c.edges;
    return sizeof(uint64_t);
}

}  // namespace

extern "C" {

ssize_t read(int fd, void* to, size_t n) {
    const auto object = t_self == nullptr ? nullptr : object_of(fd);
    if (object == nullptr) return real().read(fd, to, n);
    yield("read");
    if (auto* c = dynamic_cast<Counter*>(object.get())) return read_counter(*c, to, n);
    if (auto* s = dynamic_cast<Socket*>(object.get())) {
        iovec part{to, n};
        msghdr m{};
        m.msg_iov = &part;
        m.msg_iovlen = 1;
        return receive(*s, m, 0);
    }
    return failed(EINVAL);
}

ssize_t writev(int fd, const iovec* parts, int count) {
    const auto object = t_self == nullptr ? nullptr : object_of(fd);
    if (object == nullptr) return real().writev(fd, parts, count);
    yield("write");
    if (auto* c = dynamic_cast<Counter*>(object.get())) return write_counter(*c, parts[0].iov_base, parts[0].iov_len);
    if (auto* s = dynamic_cast<Socket*>(object.get())) {
        msghdr m{};
        m.msg_iov = const_cast<iovec*>(parts);
        m.msg_iovlen = static_cast<size_t>(count);
        return transmit(*s, m, MSG_NOSIGNAL);
    }
    return failed(EINVAL);
}

ssize_t write(int fd, const void* from, size_t n) {
    if (t_self == nullptr || object_of(fd) == nullptr) return real().write(fd, from, n);
    const iovec part{const_cast<void*>(from), n};
    return writev(fd, &part, 1);
}

int close(int fd) {
    return t_self == nullptr ? real().close(fd) : close_descriptor(fd);
}

int fcntl(int fd, int command, ...) {
    va_list list;
    va_start(list, command);
    void* argument = va_arg(list, void*);
    va_end(list);
    const auto object = t_self == nullptr ? nullptr : object_of(fd);
    if (t_self != nullptr && (command == F_DUPFD || command == F_DUPFD_CLOEXEC)) return duplicate(fd);
    if (object != nullptr && command == F_GETFL) return O_RDWR | (object->nonblocking ? O_NONBLOCK : 0);
    if (object != nullptr && command == F_SETFL) {
        object->nonblocking = (reinterpret_cast<intptr_t>(argument) & O_NONBLOCK) != 0;
        return 0;
    }
    return real().fcntl(fd, command, argument);
}
int fcntl64(int fd, int command, ...) __attribute__((alias("fcntl")));

int dup(int fd) {
    return t_self == nullptr ? real().dup(fd) : duplicate(fd);
}

int eventfd(unsigned initial, int flags) {
    auto c = std::make_shared<Counter>();
    c->value = initial;
    c->nonblocking = (flags & O_NONBLOCK) != 0;
    return add_descriptor(std::move(c));
}

int poll(pollfd* fds, nfds_t count, int timeout_ms) {
    if (t_self == nullptr) return real().poll(fds, count, timeout_ms);
    int found = 0;
    const auto look = [&] {
        found = 0;
        for (nfds_t i = 0; i < count; ++i) {
            fds[i].revents = 0;
            if (fds[i].fd < 0) continue;
            const auto there = static_cast<short>(events_of(fds[i].fd));
            fds[i].revents = static_cast<short>(there & (fds[i].events | POLLHUP | POLLERR));
            found += fds[i].revents != 0;
        }
        return found != 0;
    };
    if (timeout_ms == 0) {
        yield("poll");
        look();
    } else {
        wait_until(look, deadline_in(timeout_ms), "poll");
    }
    return found;
}

int epoll_create1(int) {
    return add_descriptor(std::make_shared<EpollSet>());
}
int epoll_create(int) {
    return epoll_create1(0);
}

int epoll_ctl(int epoll_fd, int operation, int fd, epoll_event* event) {
    const auto set = object_as<EpollSet>(epoll_fd);
    if (set == nullptr) return failed(EBADF);
    const auto i = set->watched.find(fd);
    const auto object = object_of(fd);
    // A closed descriptor is in no set any more, though its number may be used again.
    const bool there = i != set->watched.end() && (i->second.is_real || i->second.object.lock() == object);
    if (operation == EPOLL_CTL_DEL) {
        if (!there) return failed(ENOENT);
        set->watched.erase(i);
        return 0;
    }
    if (operation == EPOLL_CTL_ADD && there) return failed(EEXIST);
    if (operation == EPOLL_CTL_MOD && !there) return failed(ENOENT);
    set->watched[fd] = {event->events, event->data, object, object == nullptr, UINT64_MAX};
    return 0;
}

int epoll_wait(int epoll_fd, epoll_event* events, int most, int timeout_ms) {
    const auto set = object_as<EpollSet>(epoll_fd);
    if (set == nullptr) return failed(EBADF);
    std::vector<epoll_event> found;
    const auto look = [&] {
        found = set->ready(1000);
        return !found.empty();
    };
    if (timeout_ms == 0) {
        yield("epoll_wait");
        look();
    } else {
        wait_until(look, deadline_in(timeout_ms), "epoll_wait");
    }
    // Any of them first, and not all at once.
    for (size_t i = found.size(); i > 1; --i) std::swap(found[i - 1], found[dice().below(static_cast<uint32_t>(i))]);
    const size_t n = std::min(found.size(), static_cast<size_t>(dice().one_in(4) ? 1 : most));
    std::copy_n(found.begin(), n, events);
    for (size_t i = 0; i < n; ++i) set->reported(events[i]);
    return static_cast<int>(n);
}
int epoll_pwait(int epoll_fd, epoll_event* events, int most, int timeout_ms, const sigset_t*) {
    return epoll_wait(epoll_fd, events, most, timeout_ms);
}

}  // extern "C"

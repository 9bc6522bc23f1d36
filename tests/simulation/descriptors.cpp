// SPDX-License-Identifier: BSD-3-Clause
#include "simulation/descriptors.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>

#include "simulation/real.h"

namespace pmix::simulation {

namespace {

struct Entry {
    ObjectRef object;  // none: a real descriptor
    const Process* owner;
};
std::map<int, Entry> g_descriptors;

}  // namespace

std::map<std::string, std::shared_ptr<ListeningSocket>>& listeners() {
    static std::map<std::string, std::shared_ptr<ListeningSocket>> all;
    return all;
}

uint32_t Socket::events() const {
    uint32_t e = 0;
    if (!incoming.empty() && incoming.front().at <= now()) e |= EPOLLIN;
    if (incoming.empty() && connected && (peer_closed || peer_shut)) e |= EPOLLIN | EPOLLRDHUP;
    if (connected && peer_closed) e |= EPOLLHUP | EPOLLOUT;
    if (!connected) e |= EPOLLHUP | EPOLLOUT;
    if (connected && !peer_closed && space() > 0) e |= EPOLLOUT;
    return e;
}

size_t Socket::space() const {
    const auto to = peer.lock();
    if (to == nullptr) return 0;
    size_t used = 0;
    for (const Fragment& p : to->incoming) used += p.bytes.size() - p.read;
    return used >= kCapacity ? 0 : kCapacity - used;
}

void Socket::closed() {
    for (Fragment& p : incoming)
        for (int fd : p.real_descriptors) real().close(fd);
    incoming.clear();
    if (const auto to = peer.lock()) to->peer_closed = true;
}

void ListeningSocket::closed() {
    for (const auto& s : pending) s->closed();
    pending.clear();
    listeners().erase(name);
}

uint32_t EpollSet::events() const {
    return ready(1).empty() ? 0 : uint32_t{EPOLLIN};
}

std::vector<epoll_event> EpollSet::ready(size_t most) const {
    std::vector<epoll_event> found;
    for (const auto& [fd, w] : watched) {
        if (found.size() == most) break;
        uint32_t now_there;
        if (w.is_real) {
            pollfd p{fd, static_cast<short>(w.wanted), 0};
            now_there = real().poll(&p, 1, 0) > 0 ? static_cast<uint32_t>(p.revents) : 0;
        } else {
            const auto object = w.object.lock();
            now_there = object == nullptr ? 0 : object->events();
            if (object != nullptr && (w.wanted & EPOLLET) != 0 && object->edges == w.seen) now_there = 0;
        }
        now_there &= w.wanted | EPOLLHUP | EPOLLERR;
        if (now_there != 0) found.push_back({now_there, w.data});
    }
    return found;
}

void EpollSet::reported(const epoll_event& event) {
    for (auto& [fd, w] : watched)
        if (w.data.u64 == event.data.u64)
            if (const auto object = w.object.lock()) w.seen = object->edges;
}

int add_descriptor(ObjectRef object) {
    const int fd = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (fd < 0) return -1;
    ++object->references;
    g_descriptors[fd] = {std::move(object), t_self->process};
    return fd;
}

void own_real_descriptor(int fd) {
    if (fd >= 0) g_descriptors[fd] = {nullptr, t_self->process};
}

ObjectRef object_of(int fd) {
    const auto i = g_descriptors.find(fd);
    return i == g_descriptors.end() ? nullptr : i->second.object;
}

void replace_object(int fd, ObjectRef object) {
    object->references = 1;
    g_descriptors[fd].object = std::move(object);
}

int duplicate(int fd) {
    const auto object = object_of(fd);
    if (object != nullptr) return add_descriptor(object);
    const int copy = real().fcntl(fd, F_DUPFD_CLOEXEC, 3);
    own_real_descriptor(copy);
    return copy;
}

int close_descriptor(int fd) {
    const auto i = g_descriptors.find(fd);
    if (i != g_descriptors.end()) {
        const ObjectRef object = std::move(i->second.object);
        g_descriptors.erase(i);
        if (object != nullptr && --object->references == 0) object->closed();
    }
    return real().close(fd);
}

void close_all_of(const Process& process) {
    for (int fd : descriptors_of(process)) close_descriptor(fd);
}

std::vector<int> descriptors_of(const Process& process) {
    std::vector<int> found;
    for (const auto& [fd, entry] : g_descriptors)
        if (entry.owner == &process) found.push_back(fd);
    return found;
}

uint32_t events_of(int fd) {
    const auto object = object_of(fd);
    if (object != nullptr) return object->events();
    pollfd p{fd, POLLIN | POLLOUT, 0};
    return real().poll(&p, 1, 0) > 0 ? static_cast<uint32_t>(p.revents) : 0;
}

}  // namespace pmix::simulation

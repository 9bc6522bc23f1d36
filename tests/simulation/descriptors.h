// SPDX-License-Identifier: BSD-3-Clause
// The simulated kernel's descriptors: stream sockets, listeners, event counters and epoll sets.
//
// The number of a simulated descriptor is that of an open file of the real kernel, so that no other file gets it. An
// object exists as long as a descriptor, or a message that still travels, refers to it. A process owns the descriptors
// that it has opened or received; they are closed at its end.
#pragma once

#include <sys/epoll.h>
#include <sys/socket.h>

#include <deque>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "simulation/scheduler.h"

namespace pmix::simulation {

struct Object {
    virtual ~Object() = default;
    virtual uint32_t events() const = 0;  // as of epoll
    virtual void closed() {}              // by its last descriptor
    bool nonblocking = false;
    int references = 0;
    uint64_t edges = 0;  // number of writes, for EPOLLET
};
using ObjectRef = std::shared_ptr<Object>;

// A fragment of a stream, as it was sent. Its descriptors are received with its first byte.
struct Fragment {
    std::vector<uint8_t> bytes;
    size_t read = 0;
    std::vector<ObjectRef> objects;
    std::vector<int> real_descriptors;  // copies; the receiver gets them
    Nanoseconds at = 0;                 // when it can be read
};

struct Socket final : Object {
    uint32_t events() const override;
    void closed() override;
    size_t space() const;  // that the peer has for what is written here
    int domain = AF_UNIX;
    std::deque<Fragment> incoming;
    std::weak_ptr<Socket> peer;
    bool connected = false, peer_closed = false, write_shut = false, peer_shut = false;
    Nanoseconds last_at = 0;  // streams keep their order
    int owner_pid = 0, peer_pid = 0;
    std::string name, peer_name;  // of bind
    static constexpr size_t kCapacity = 212'992;
};

struct ListeningSocket final : Object {
    uint32_t events() const override { return pending.empty() ? 0 : uint32_t{EPOLLIN}; }
    void closed() override;
    int domain = AF_UNIX;
    std::string name;
    std::deque<std::shared_ptr<Socket>> pending;
    int owner_pid = 0;
};

struct Counter final : Object {
    uint32_t events() const override { return EPOLLOUT | (value != 0 ? EPOLLIN : 0u); }
    uint64_t value = 0;
};

// Readable when the process has ended: pidfd_open.
struct ProcessEnd final : Object {
    uint32_t events() const override { return process == nullptr || !process->alive ? uint32_t{EPOLLIN} : 0; }
    const Process* process = nullptr;
};

struct EpollSet final : Object {
    uint32_t events() const override;
    struct Watched {
        uint32_t wanted;
        epoll_data_t data;
        std::weak_ptr<Object> object;  // of the simulation; none: a real descriptor
        bool is_real;
        uint64_t seen = UINT64_MAX;  // the edges that were reported
    };
    std::map<int, Watched> watched;
    std::vector<epoll_event> ready(size_t most) const;
    void reported(const epoll_event& event);
};

int add_descriptor(ObjectRef object);  // the lowest free number; -1: EMFILE
ObjectRef object_of(int fd);           // null: a descriptor of the real kernel, or none
template <class T>
std::shared_ptr<T> object_as(int fd) {
    return std::dynamic_pointer_cast<T>(object_of(fd));
}
// The same number becomes another object: a socket that listens.
void replace_object(int fd, ObjectRef object);
int duplicate(int fd);
int close_descriptor(int fd);
void close_all_of(const Process& process);
void own_real_descriptor(int fd);  // opened by the process that runs
std::vector<int> descriptors_of(const Process& process);
uint32_t events_of(int fd);  // of either kind

std::map<std::string, std::shared_ptr<ListeningSocket>>& listeners();

}  // namespace pmix::simulation

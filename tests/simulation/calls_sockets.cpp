// SPDX-License-Identifier: BSD-3-Clause
// Replaces what the C library has for sockets: of Unix domain, and of TCP on the loopback.
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <string>

#include "simulation/descriptors.h"
#include "simulation/real.h"
#include "simulation/streams.h"

namespace pmix::simulation {

Network& network() {
    static Network all;
    return all;
}

namespace {

int failed(int error) {
    errno = error;
    return -1;
}

std::string name_of(const sockaddr* a, socklen_t length) {
    if (a->sa_family == AF_INET)
        return "tcp:" + std::to_string(ntohs(reinterpret_cast<const sockaddr_in*>(a)->sin_port));
    const auto* u = reinterpret_cast<const sockaddr_un*>(a);
    size_t n = length - offsetof(sockaddr_un, sun_path);
    if (n > 0 && u->sun_path[0] != 0) n = strnlen(u->sun_path, n);
    return {u->sun_path, n};
}

int give_name(int domain, const std::string& name, sockaddr* to, socklen_t* length) {
    if (domain == AF_INET) {
        sockaddr_in in{};
        in.sin_family = AF_INET;
        in.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        if (name.size() > 4) in.sin_port = htons(static_cast<uint16_t>(std::stoi(name.substr(4))));
        memcpy(to, &in, std::min<size_t>(*length, sizeof in));
        *length = sizeof in;
        return 0;
    }
    sockaddr_un u{};
    u.sun_family = AF_UNIX;
    memcpy(u.sun_path, name.data(), std::min(name.size(), sizeof u.sun_path));
    const auto n = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + name.size());
    memcpy(to, &u, std::min(*length, n));
    *length = n;
    return 0;
}

void join(const std::shared_ptr<Socket>& a, const std::shared_ptr<Socket>& b, int pid_a, int pid_b) {
    a->peer = b, b->peer = a;
    a->connected = b->connected = true;
    a->peer_pid = pid_b, b->peer_pid = pid_a;
}

int g_ports = 40'000;

}  // namespace

ssize_t receive(Socket& s, msghdr& m, int flags) {
    const auto there = [&s] { return (s.events() & (EPOLLIN | EPOLLRDHUP | EPOLLHUP)) != 0; };
    if (!there()) {
        if (s.nonblocking || (flags & MSG_DONTWAIT) != 0) return failed(EAGAIN);
        wait_until(there, kNever, "recvmsg");
    }
    const bool torn = dice().one_in(network().torn_in);
    size_t done = 0, part = 0, in_part = 0, control = 0;
    m.msg_flags = 0;
    size_t fragment = 0;
    while (fragment < s.incoming.size() && part < m.msg_iovlen) {
        Fragment& p = s.incoming[fragment];
        const bool brings = p.read == 0 && !(p.objects.empty() && p.real_descriptors.empty());
        if (p.at > now() || (brings && done > 0)) break;
        if (brings && (flags & MSG_PEEK) == 0) {
            std::vector<int> fds;
            for (auto& o : p.objects) {
                fds.push_back(add_descriptor(o));
                --o->references;  // that of the message
            }
            for (int fd : p.real_descriptors) own_real_descriptor(fd), fds.push_back(fd);
            p.objects.clear();
            p.real_descriptors.clear();
            const size_t space = m.msg_control == nullptr || m.msg_controllen < sizeof(cmsghdr)
                                     ? 0
                                     : (m.msg_controllen - CMSG_LEN(0)) / sizeof(int);
            const size_t n = std::min(space, fds.size());
            for (size_t i = n; i < fds.size(); ++i) close_descriptor(fds[i]), m.msg_flags |= MSG_CTRUNC;
            if (n > 0) {
                auto* c = static_cast<cmsghdr*>(m.msg_control);
                c->cmsg_level = SOL_SOCKET;
                c->cmsg_type = SCM_RIGHTS;
                c->cmsg_len = CMSG_LEN(n * sizeof(int));
                memcpy(CMSG_DATA(c), fds.data(), n * sizeof(int));
                control = CMSG_SPACE(n * sizeof(int));
            }
        }
        size_t from = p.read;
        while (from < p.bytes.size() && part < m.msg_iovlen) {
            const iovec& v = m.msg_iov[part];
            if (in_part == v.iov_len) {
                ++part, in_part = 0;
                continue;
            }
            size_t n = std::min(v.iov_len - in_part, p.bytes.size() - from);
            if (torn && n > 1) n = 1 + dice().below(static_cast<uint32_t>(n - 1));
            memcpy(static_cast<uint8_t*>(v.iov_base) + in_part, p.bytes.data() + from, n);
            from += n, in_part += n, done += n;
            if (torn) break;
        }
        if ((flags & MSG_PEEK) == 0) p.read = from;
        if (from < p.bytes.size() || torn || brings) {
            if (from == p.bytes.size() && (flags & MSG_PEEK) == 0) s.incoming.erase(s.incoming.begin());
            break;
        }
        if ((flags & MSG_PEEK) == 0)
            s.incoming.pop_front();
        else
            ++fragment;
    }
    m.msg_controllen = control;
    return static_cast<ssize_t>(done);
}

ssize_t transmit(Socket& s, const msghdr& m, int flags) {
    size_t length = 0;
    for (size_t i = 0; i < m.msg_iovlen; ++i) length += m.msg_iov[i].iov_len;
    if (s.write_shut) return failed(EPIPE);
    if (!s.connected) return failed(ENOTCONN);
    if (!s.nonblocking && (flags & MSG_DONTWAIT) == 0)
        wait_until([&s] { return s.peer_closed || s.space() > 0; }, kNever, "sendmsg");
    const auto to = s.peer.lock();
    if (s.peer_closed || to == nullptr) return failed(EPIPE);
    size_t n = std::min(length, s.space());
    if (n == 0 && length > 0) return failed(EAGAIN);
    if (n > 1 && (s.nonblocking || (flags & MSG_DONTWAIT) != 0) && dice().one_in(network().torn_in))
        n = 1 + dice().below(static_cast<uint32_t>(n - 1));
    Fragment p;
    for (size_t i = 0; i < m.msg_iovlen && p.bytes.size() < n; ++i) {
        const auto* from = static_cast<const uint8_t*>(m.msg_iov[i].iov_base);
        p.bytes.insert(p.bytes.end(), from, from + std::min(m.msg_iov[i].iov_len, n - p.bytes.size()));
    }
    for (cmsghdr* c = CMSG_FIRSTHDR(&m); c != nullptr; c = CMSG_NXTHDR(const_cast<msghdr*>(&m), c)) {
        if (c->cmsg_type != SCM_RIGHTS) continue;
        const size_t count = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
        for (size_t i = 0; i < count; ++i) {
            int fd;
            memcpy(&fd, CMSG_DATA(c) + i * sizeof fd, sizeof fd);
            if (const auto object = object_of(fd)) {
                ++object->references;
                p.objects.push_back(object);
            } else {
                p.real_descriptors.push_back(real().fcntl(fd, F_DUPFD_CLOEXEC, 3));
            }
        }
    }
    const Nanoseconds takes =
        dice().below(static_cast<uint32_t>(dice().one_in(network().one_in) ? network().rare : network().usual));
    p.at = std::max(s.last_at, now() + takes);
    s.last_at = p.at;
    alarm_at(p.at);
    to->incoming.push_back(std::move(p));
    ++to->edges;
    return static_cast<ssize_t>(n);
}

}  // namespace pmix::simulation

using namespace pmix::simulation;

extern "C" {

int socket(int domain, int type, int) {
    if ((domain != AF_UNIX && domain != AF_INET) || (type & 15) != SOCK_STREAM) return failed(EAFNOSUPPORT);
    auto s = std::make_shared<Socket>();
    s->domain = domain;
    s->nonblocking = (type & SOCK_NONBLOCK) != 0;
    s->owner_pid = t_self->process->pid;
    return add_descriptor(std::move(s));
}

int socketpair(int, int type, int, int fds[2]) {
    auto a = std::make_shared<Socket>(), b = std::make_shared<Socket>();
    a->nonblocking = b->nonblocking = (type & SOCK_NONBLOCK) != 0;
    join(a, b, t_self->process->pid, t_self->process->pid);
    fds[0] = add_descriptor(std::move(a));
    fds[1] = add_descriptor(std::move(b));
    return 0;
}

int pipe2(int fds[2], int flags) {
    return socketpair(AF_UNIX, SOCK_STREAM | ((flags & O_NONBLOCK) != 0 ? SOCK_NONBLOCK : 0), 0, fds);
}

int bind(int fd, const sockaddr* address, socklen_t length) {
    const auto s = object_as<Socket>(fd);
    if (s == nullptr) return failed(EBADF);
    s->name = name_of(address, length);
    if (s->domain == AF_INET && s->name == "tcp:0") s->name = "tcp:" + std::to_string(g_ports++);
    return listeners().count(s->name) != 0 ? failed(EADDRINUSE) : 0;
}

int listen(int fd, int) {
    const auto s = object_as<Socket>(fd);
    if (s == nullptr) return object_as<ListeningSocket>(fd) != nullptr ? 0 : failed(EBADF);
    if (listeners().count(s->name) != 0) return failed(EADDRINUSE);
    auto l = std::make_shared<ListeningSocket>();
    l->domain = s->domain;
    l->name = s->name;
    l->nonblocking = s->nonblocking;
    l->owner_pid = s->owner_pid;
    listeners()[l->name] = l;
    replace_object(fd, l);
    return 0;
}

int accept4(int fd, sockaddr* address, socklen_t* length, int flags) {
    const auto l = object_as<ListeningSocket>(fd);
    if (l == nullptr) return failed(EINVAL);
    yield("accept");
    if (l->pending.empty()) {
        if (l->nonblocking) return failed(EAGAIN);
        wait_until([&l] { return !l->pending.empty(); }, kNever, "accept");
    }
    const auto s = l->pending.front();
    l->pending.pop_front();
    s->nonblocking = (flags & SOCK_NONBLOCK) != 0;
    if (address != nullptr && length != nullptr) give_name(s->domain, s->peer_name, address, length);
    return add_descriptor(s);
}
int accept(int fd, sockaddr* address, socklen_t* length) {
    return accept4(fd, address, length, 0);
}

int connect(int fd, const sockaddr* address, socklen_t length) {
    const auto s = object_as<Socket>(fd);
    if (s == nullptr) return failed(EBADF);
    yield("connect");
    const auto l = listeners().find(name_of(address, length));
    if (l == listeners().end()) return failed(ECONNREFUSED);
    auto other = std::make_shared<Socket>();
    other->domain = s->domain;
    other->name = l->first;
    s->peer_name = l->first;
    if (s->domain == AF_INET) s->name = "tcp:" + std::to_string(g_ports++);
    other->peer_name = s->name;
    join(s, other, t_self->process->pid, l->second->owner_pid);
    l->second->pending.push_back(std::move(other));
    ++l->second->edges;
    return 0;
}

int shutdown(int fd, int how) {
    const auto s = object_as<Socket>(fd);
    if (s == nullptr) return failed(ENOTSOCK);
    if (how != SHUT_RD) {
        s->write_shut = true;
        if (const auto to = s->peer.lock()) to->peer_shut = true;
    }
    return 0;
}

int getsockopt(int fd, int level, int name, void* value, socklen_t* length) {
    const auto s = object_as<Socket>(fd);
    const auto l = object_as<ListeningSocket>(fd);
    if (s == nullptr && l == nullptr) return failed(ENOTSOCK);
    if (level != SOL_SOCKET) return failed(ENOPROTOOPT);
    const auto give = [&](const void* what, size_t n) {
        memcpy(value, what, std::min<size_t>(*length, n));
        *length = static_cast<socklen_t>(n);
        return 0;
    };
    const int domain = s != nullptr ? s->domain : l->domain;
    int number = 0;
    switch (name) {
        case SO_PEERCRED: {
            if (s == nullptr || domain != AF_UNIX) return failed(ENOTCONN);
            const ucred c{s->peer_pid, geteuid(), getegid()};
            return give(&c, sizeof c);
        }
        case SO_TYPE:
            number = SOCK_STREAM;
            break;
        case SO_DOMAIN:
            number = domain;
            break;
        case SO_ACCEPTCONN:
            number = l != nullptr;
            break;
        case SO_ERROR:
            break;
        case SO_SNDBUF:
        case SO_RCVBUF:
            number = static_cast<int>(Socket::kCapacity);
            break;
        default:
            return failed(ENOPROTOOPT);
    }
    return give(&number, sizeof number);
}

int setsockopt(int, int, int, const void*, socklen_t) {
    return 0;
}

int getsockname(int fd, sockaddr* address, socklen_t* length) {
    if (const auto l = object_as<ListeningSocket>(fd)) return give_name(l->domain, l->name, address, length);
    const auto s = object_as<Socket>(fd);
    return s == nullptr ? failed(ENOTSOCK) : give_name(s->domain, s->name, address, length);
}

int getpeername(int fd, sockaddr* address, socklen_t* length) {
    const auto s = object_as<Socket>(fd);
    if (s == nullptr || !s->connected) return failed(ENOTCONN);
    return give_name(s->domain, s->peer_name, address, length);
}

ssize_t sendmsg(int fd, const msghdr* m, int flags) {
    const auto s = object_as<Socket>(fd);
    if (s == nullptr) return failed(ENOTSOCK);
    yield("sendmsg");
    return transmit(*s, *m, flags);
}
ssize_t sendto(int fd, const void* from, size_t n, int flags, const sockaddr*, socklen_t) {
    iovec part{const_cast<void*>(from), n};
    msghdr m{};
    m.msg_iov = &part;
    m.msg_iovlen = 1;
    return sendmsg(fd, &m, flags);
}
ssize_t send(int fd, const void* from, size_t n, int flags) {
    return sendto(fd, from, n, flags, nullptr, 0);
}

ssize_t recvmsg(int fd, msghdr* m, int flags) {
    const auto s = object_as<Socket>(fd);
    if (s == nullptr) return failed(ENOTSOCK);
    yield("recvmsg");
    return receive(*s, *m, flags);
}
ssize_t recv(int fd, void* to, size_t n, int flags) {
    iovec part{to, n};
    msghdr m{};
    m.msg_iov = &part;
    m.msg_iovlen = 1;
    return recvmsg(fd, &m, flags);
}

}  // extern "C"

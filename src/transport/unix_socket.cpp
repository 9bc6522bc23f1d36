// SPDX-License-Identifier: BSD-3-Clause
#include "transport/unix_socket.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstring>

#include "common/base/random.h"
#include "common/base/standard_streams.h"
#include "transport/foreign_file.h"

namespace pmix::transport {

using common::Result;

namespace {

constexpr std::string_view kPrefix = "@wireup/";
constexpr int kBacklog = 4096;  // the kernel cuts it to net.core.somaxconn

struct Address {
    sockaddr_un un{};
    socklen_t length = 0;
};

// text without the '@' (abstract), or a path that fits.
bool fill(Address& address, std::string_view text, bool abstract) noexcept {
    const size_t lead = abstract ? 1 : 0;
    // A path needs its NUL; an abstract name is as long as it is.
    if (text.empty() || text.size() + 1 > sizeof address.un.sun_path) return false;
    address.un.sun_family = AF_UNIX;
    std::memcpy(address.un.sun_path + lead, text.data(), text.size());
    address.length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + text.size() + 1);
    return true;
}

pmix_status_t status_of(int error) noexcept {
    switch (error) {
        case ECONNREFUSED:
        case ENOENT:
        case ENOTDIR:
        case ENOTSOCK:
        case ECONNRESET:
        case EPROTOTYPE:
        case ELOOP:
            return PMIX_ERR_UNREACH;
        case EACCES:
        case EPERM:
            return PMIX_ERR_NO_PERMISSIONS;
        case EADDRINUSE:
        case EEXIST:
            return PMIX_ERR_EXISTS;
        case EINVAL:
        case ENAMETOOLONG:
            return PMIX_ERR_BAD_PARAM;
        default:  // EMFILE, ENFILE, ENOBUFS, ENOMEM and what nobody expects
            return PMIX_ERR_OUT_OF_RESOURCE;
    }
}

Descriptor make_socket(const Io& io) noexcept {
    return Descriptor(io.socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
}

// To a socket for listening: processes that connect to it cannot pass descriptors (sendmsg gives them EPERM, from the
// first byte on, because what connects inherits this). A server needs none, and one that was made for it (a connection
// with unsent data and a long SO_LINGER, a file of a file system that does not answer) would hold the loop's thread
// when the kernel gives it back. Linux 6.16 is the first that has this; elsewhere see docs/design/threads.md.
void refuse_descriptors(int listener) noexcept {
#ifdef SO_PASSRIGHTS
    constexpr int kPassRights = SO_PASSRIGHTS;
#elif defined(__sparc__) || defined(__hppa__)
    constexpr int kPassRights = -1;  // numbers of their own
#else
    constexpr int kPassRights = 83;
#endif
    const int off = 0;
    (void)::setsockopt(listener, SOL_SOCKET, kPassRights, &off, sizeof off);
}

// A path of any length as a short one: its directory opened once, reached through /proc/self/fd. The descriptor pins
// the directory, so that nobody can exchange it between two steps.
struct ShortPath {
    Descriptor directory;
    std::string name;   // inside the directory
    std::string whole;  // /proc/self/fd/N/name
};

Result<ShortPath> shorten(const std::string& path) {
    const size_t slash = path.rfind('/');
    if (slash == std::string::npos || slash + 1 == path.size() || path.find('\0') != std::string::npos) {
        return PMIX_ERR_BAD_PARAM;
    }
    ShortPath result;
    const std::string directory = slash == 0 ? "/" : path.substr(0, slash);
    result.directory.reset(common::above_standard(::open(directory.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC)));
    if (!result.directory) return status_of(errno);
    result.name = path.substr(slash + 1);
    result.whole = "/proc/self/fd/" + std::to_string(result.directory.get()) + "/" + result.name;
    return result;
}

// One attempt. 0, or errno; EAGAIN: the backlog is full.
int connect_once(int fd, const Address& address, const Io& io) noexcept {
    while (io.connect(fd, reinterpret_cast<const sockaddr*>(&address.un), address.length) != 0) {
        if (errno != EINTR) return errno;  // a Unix socket is connected or not: nothing goes on in the background
    }
    return 0;
}

Result<Descriptor> listen_on(const Address& address, const Io& io) noexcept {
    Descriptor fd = make_socket(io);
    if (!fd) return status_of(errno);
    refuse_descriptors(fd.get());
    if (io.bind(fd.get(), reinterpret_cast<const sockaddr*>(&address.un), address.length) != 0) return status_of(errno);
    if (io.listen(fd.get(), kBacklog) != 0) return status_of(errno);
    return fd;
}

}  // namespace

std::string make_abstract_address() {
    uint64_t nonce = 0;
    if (!common::fill_random(&nonce, sizeof nonce)) return {};
    char text[80];
    const int n = ::snprintf(text, sizeof text, "@wireup/%u/%d/%016llx", static_cast<unsigned>(::geteuid()),
                             static_cast<int>(::getpid()), static_cast<unsigned long long>(nonce));
    return {text, static_cast<size_t>(n)};
}

bool is_abstract_address(std::string_view address) noexcept {
    if (!address.starts_with(kPrefix) || address.size() > sizeof(sockaddr_un::sun_path)) return false;
    return address.size() > kPrefix.size() &&
           std::all_of(address.begin(), address.end(), [](char c) { return c > ' ' && c < 0x7f && c != ';'; });
}

Result<Descriptor> listen_abstract(std::string_view address, const Io& io) {
    Address at;
    if (!is_abstract_address(address) || !fill(at, address.substr(1), true)) return PMIX_ERR_BAD_PARAM;
    return listen_on(at, io);
}

Result<Descriptor> listen_path(const std::string& path, const Io& io) {
    auto place = shorten(path);
    if (!place) return place.status();
    Address at;
    if (!fill(at, place->whole, false)) return PMIX_ERR_BAD_PARAM;

    Descriptor fd = make_socket(io);
    if (!fd) return status_of(errno);
    refuse_descriptors(fd.get());
    // The mode of the file follows the socket's own at bind, so there is no moment in which others could connect.
    if (::fchmod(fd.get(), 0600) != 0) return status_of(errno);
    for (int attempt = 0; io.bind(fd.get(), reinterpret_cast<const sockaddr*>(&at.un), at.length) != 0; ++attempt) {
        if (errno != EADDRINUSE || attempt > 0) return status_of(errno);
        // Another user's is in the way. Of ours, stale is only a socket on which nobody listens.
        struct stat info {};
        if (::fstatat(place->directory.get(), place->name.c_str(), &info, AT_SYMLINK_NOFOLLOW) != 0)
            return PMIX_ERR_EXISTS;
        if (is_foreign(info)) {
            const int error = ::unlink(at.un.sun_path) != 0 && errno != ENOENT ? errno : 0;
            log_foreign(path, info, error);
            if (error != 0) return status_of(error);
            continue;
        }
        if (!S_ISSOCK(info.st_mode)) return PMIX_ERR_EXISTS;
        Descriptor probe = make_socket(io);
        if (!probe) return status_of(errno);
        if (connect_once(probe.get(), at, io) != ECONNREFUSED) return PMIX_ERR_EXISTS;
        const int unlink_rc = ::unlink(at.un.sun_path);
        if (unlink_rc != 0 && errno != ENOENT) return status_of(errno);
    }
    if (io.listen(fd.get(), kBacklog) != 0) {
        const int error = errno;
        ::unlink(at.un.sun_path);
        return status_of(error);
    }
    return fd;
}

void unlink_path(const std::string& path) noexcept {
    ::unlink(path.c_str());
}

Result<Descriptor> accept_one(int listener, const Io& io) {
    for (;;) {
        const int fd = io.accept4(listener, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
        if (fd >= 0) return Descriptor(fd);
        if (errno == EINTR || errno == ECONNABORTED) continue;
        if (errno == EAGAIN || errno == EWOULDBLOCK) return PMIX_ERR_WOULD_BLOCK;
        return PMIX_ERR_OUT_OF_RESOURCE;
    }
}

Result<Descriptor> connect_to(const std::string& address, Deadline deadline, const Io& io) {
    Address at;
    ShortPath place;
    if (address.starts_with('@')) {
        if (!is_abstract_address(address) || !fill(at, std::string_view(address).substr(1), true)) {
            return PMIX_ERR_BAD_PARAM;
        }
    } else {
        auto shortened = shorten(address);
        if (!shortened) return shortened.status();
        place = std::move(*shortened);
        if (!fill(at, place.whole, false)) return PMIX_ERR_BAD_PARAM;
    }
    Descriptor fd = make_socket(io);
    if (!fd) return status_of(errno);
    for (int pause_ms = 1;; pause_ms = std::min(pause_ms * 2, 20)) {
        const int error = connect_once(fd.get(), at, io);
        if (error == 0) return fd;
        if (error != EAGAIN) return status_of(error);
        // The backlog is full. The kernel offers nothing to wait on, so try again after a short pause.
        if (deadline.passed()) return PMIX_ERR_TIMEOUT;
        io.poll(nullptr, 0, deadline.is_never() ? pause_ms : std::min(pause_ms, deadline.poll_ms()));
    }
}

Result<PeerCredentials> peer_credentials(int fd, const Io& io) {
    ucred kernel{};
    socklen_t length = sizeof kernel;
    if (io.getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &kernel, &length) != 0 || length != sizeof kernel) {
        return PMIX_ERR_INVALID_CRED;
    }
    return PeerCredentials{kernel.pid, kernel.uid, kernel.gid};
}

uint32_t overflow_uid() {
    constexpr uint32_t kKernelsDefault = 65534;
    Descriptor file(::open("/proc/sys/kernel/overflowuid", O_RDONLY | O_CLOEXEC));
    char text[16] = {};
    if (!file || ::read(file.get(), text, sizeof text - 1) <= 0) return kKernelsDefault;
    uint32_t uid = 0;
    const auto end = std::from_chars(text, text + std::strlen(text), uid);
    return end.ec == std::errc() ? uid : kKernelsDefault;
}

}  // namespace pmix::transport

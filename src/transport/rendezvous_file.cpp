#include "transport/rendezvous_file.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <utility>

#include "transport/deadline.h"
#include "transport/unix_socket.h"

namespace pmix::transport {

using common::Result;

namespace {

constexpr size_t kMaxText = 16u << 10;

pmix_status_t status_of(int error) noexcept {
    switch (error) {
        case ENOENT:
        case ENOTDIR:
            return PMIX_ERR_NOT_FOUND;
        case EACCES:
        case EPERM:
        case EROFS:
        case ELOOP:
            return PMIX_ERR_NO_PERMISSIONS;
        case EEXIST:
            return PMIX_ERR_EXISTS;
        case EINVAL:
        case ENAMETOOLONG:
        case EISDIR:
            return PMIX_ERR_BAD_PARAM;
        default:
            return PMIX_ERR_OUT_OF_RESOURCE;
    }
}

struct Place {
    Descriptor directory;
    std::string name;
};

Result<Place> open_place(const std::string& path) {
    const size_t slash = path.rfind('/');
    Place place;
    place.name = slash == path.npos ? path : path.substr(slash + 1);
    if (place.name.empty() || path.find('\0') != path.npos) return PMIX_ERR_BAD_PARAM;
    const std::string directory = slash == path.npos ? "." : slash == 0 ? "/" : path.substr(0, slash);
    place.directory.reset(::open(directory.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    if (!place.directory) return status_of(errno);
    return place;
}

bool write_all(int fd, std::string_view text) noexcept {
    while (!text.empty()) {
        const ssize_t n = ::write(fd, text.data(), text.size());
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) return false;
        text.remove_prefix(static_cast<size_t>(n));
    }
    return true;
}

Result<Contact> read_at(const Place& place) {
    // Not to wait for the writer of a FIFO that somebody put there.
    const Descriptor file(::openat(place.directory.get(), place.name.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
    if (!file) return status_of(errno);
    struct stat info{};
    if (::fstat(file.get(), &info) != 0) return status_of(errno);
    if (!S_ISREG(info.st_mode)) return PMIX_ERR_NO_PERMISSIONS;
    if ((info.st_uid != ::geteuid() && info.st_uid != 0) || (info.st_mode & 022) != 0) return PMIX_ERR_NO_PERMISSIONS;
    std::string text(kMaxText + 1, '\0');
    size_t size = 0;
    while (size < text.size()) {
        const ssize_t n = ::read(file.get(), text.data() + size, text.size() - size);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return status_of(errno);
        if (n == 0) break;
        size += static_cast<size_t>(n);
    }
    if (size > kMaxText) return PMIX_ERR_BAD_PARAM;
    // The first line. What follows is for people.
    return parse_uri(std::string_view(text.data(), size).substr(0, std::min(text.find('\n'), size)));
}

// Was it left by a server that is not there any more?
bool is_stale(const Place& place) {
    auto contact = read_at(place);
    if (!contact) return false;
    for (const std::string& address : contact->addresses) {
        // Only a refusal proves that nobody listens.
        if (auto socket = connect_to(address, Deadline::in_ms(1000)); socket.ok() || socket.status() != PMIX_ERR_UNREACH)
            return false;
    }
    return true;
}

}  // namespace

Result<RendezvousFile> RendezvousFile::create(const std::string& path, const std::string& uri) {
    auto place = open_place(path);
    if (!place) return place.status();
    constexpr int kHow = O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW;
    Descriptor file(::openat(place->directory.get(), place->name.c_str(), kHow, 0600));
    if (!file && errno == EEXIST) {
        if (!is_stale(*place)) return PMIX_ERR_EXISTS;
        if (::unlinkat(place->directory.get(), place->name.c_str(), 0) != 0 && errno != ENOENT) return status_of(errno);
        file.reset(::openat(place->directory.get(), place->name.c_str(), kHow, 0600));
    }
    if (!file) return status_of(errno);
    struct stat info{};
    const std::string text = uri + "\n" + std::to_string(::getpid()) + "\n";
    if (::fchmod(file.get(), 0600) != 0 || ::fstat(file.get(), &info) != 0 || !write_all(file.get(), text)) {
        const int error = errno;
        ::unlinkat(place->directory.get(), place->name.c_str(), 0);
        return status_of(error);
    }
    RendezvousFile made;
    made.directory_ = std::move(place->directory);
    made.name_ = std::move(place->name);
    made.device_ = info.st_dev;
    made.inode_ = info.st_ino;
    return made;
}

RendezvousFile::RendezvousFile(RendezvousFile&& o) noexcept
    : directory_(std::move(o.directory_)), name_(std::exchange(o.name_, {})), device_(o.device_), inode_(o.inode_) {}

RendezvousFile& RendezvousFile::operator=(RendezvousFile&& o) noexcept {
    std::swap(directory_, o.directory_);
    std::swap(name_, o.name_);
    std::swap(device_, o.device_);
    std::swap(inode_, o.inode_);
    return *this;
}

RendezvousFile::~RendezvousFile() {
    if (!directory_ || name_.empty()) return;
    struct stat info{};
    if (::fstatat(directory_.get(), name_.c_str(), &info, AT_SYMLINK_NOFOLLOW) != 0) return;
    if (info.st_dev == device_ && info.st_ino == inode_) ::unlinkat(directory_.get(), name_.c_str(), 0);
}

Result<Contact> read_rendezvous_file(const std::string& path) {
    auto place = open_place(path);
    if (!place) return place.status();
    return read_at(*place);
}

}  // namespace pmix::transport

// SPDX-License-Identifier: BSD-3-Clause
#include "transport/rendezvous/rendezvous_file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "common/base/random.h"
#include "common/base/standard_streams.h"
#include "transport/deadline.h"
#include "transport/foreign_file.h"
#include "transport/unix_socket.h"

namespace pmix::transport {

using common::Result;

// The kernel's, for C libraries that have no renameat2.
#ifndef RENAME_NOREPLACE
#define RENAME_NOREPLACE (1 << 0)
#define RENAME_EXCHANGE (1 << 1)
#endif

namespace {

int rename_in(int folder, const char* from, const char* to, unsigned flags) noexcept {
    return static_cast<int>(::syscall(SYS_renameat2, folder, from, folder, to, flags));
}

constexpr size_t kMaxText = 16u << 10;
constexpr size_t kMostStale = 256;  // looked at in one folder

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
    place.directory.reset(common::above_standard(::open(directory.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC)));
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

// Not to wait for the writer of a FIFO that somebody put there.
Descriptor open_at(const Place& place) {
    return Descriptor(
        ::openat(place.directory.get(), place.name.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
}

// PMIX_ERR_BAD_PARAM: there is more than any such file has.
Result<std::string> read_all(const Descriptor& file) {
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
    text.resize(size);
    return text;
}

// What a reader believes: see the header.
Result<std::string> read_trusted(const Place& place) {
    const Descriptor file = open_at(place);
    if (!file) return status_of(errno);
    struct stat info {};
    if (::fstat(file.get(), &info) != 0) return status_of(errno);
    if (!S_ISREG(info.st_mode)) return PMIX_ERR_NO_PERMISSIONS;
    if ((info.st_uid != ::geteuid() && info.st_uid != 0) || (info.st_mode & 022) != 0) return PMIX_ERR_NO_PERMISSIONS;
    return read_all(file);
}

Result<Contact> read_at(const Place& place) {
    auto text = read_trusted(place);
    if (!text) return text.status();
    return parse_rendezvous_text(*text);
}

// The file that has a name now. As long as it is held, none that comes after it gets its number.
Descriptor hold_named(const Place& place, const std::string& name) noexcept {
    constexpr int kHow = O_PATH | O_NOFOLLOW | O_CLOEXEC;
    return Descriptor(common::above_standard(::openat(place.directory.get(), name.c_str(), kHow)));
}

// True if the name still refers to the file that is held open.
bool is_named(int directory, const std::string& name, const Descriptor& held) noexcept {
    struct stat mine {
    }, there{};
    return held && ::fstat(held.get(), &mine) == 0 &&
           ::fstatat(directory, name.c_str(), &there, AT_SYMLINK_NOFOLLOW) == 0 && mine.st_dev == there.st_dev &&
           mine.st_ino == there.st_ino;
}

// Was it left by a server that is not there any more? An empty one of our own user's is of a server that was killed
// while it made it.
bool is_stale(const Place& place) {
    struct stat info {};
    if (::fstatat(place.directory.get(), place.name.c_str(), &info, AT_SYMLINK_NOFOLLOW) == 0 &&
        S_ISREG(info.st_mode) && info.st_size == 0 && info.st_uid == ::geteuid())
        return true;
    auto contact = read_at(place);
    if (!contact) return false;
    for (const std::string& address : contact->addresses) {
        // Only a refusal proves that nobody listens.
        if (auto socket = connect_to(address, Deadline::in_ms(1000));
            socket.ok() || socket.status() != PMIX_ERR_UNREACH)
            return false;
    }
    return true;
}

// A file with its text that may give way, held; none: it may not.
Descriptor hold_dead(const Place& place, const RendezvousFile::IsDead& is_dead) {
    Descriptor file = open_at(place);
    struct stat info {};
    if (!file || ::fstat(file.get(), &info) != 0 || !S_ISREG(info.st_mode) || info.st_uid != ::geteuid()) return {};
    if (::flock(file.get(), LOCK_EX | LOCK_NB) != 0) return {};
    auto text = read_all(file);
    if (!text.ok() || !is_dead(*text)) return {};
    return file;
}

// A whole file gets its name, which nobody has. 0, or errno.
int give_name(const Place& place, const std::string& from) noexcept {
    const int at = place.directory.get();
    if (rename_in(at, from.c_str(), place.name.c_str(), RENAME_NOREPLACE) == 0) return 0;
    if (errno != EINVAL && errno != ENOSYS) return errno;
    // A file system that cannot do so.
    if (::linkat(at, from.c_str(), at, place.name.c_str(), 0) != 0) return errno;
    ::unlinkat(at, from.c_str(), 0);
    return 0;
}

// Takes the stale file's place. Somebody else may be doing so too, and then it is not the stale one that comes back.
int take_place(const Place& place, const std::string& from, const Descriptor& stale) {
    const int at = place.directory.get();
    if (rename_in(at, from.c_str(), place.name.c_str(), RENAME_EXCHANGE) == 0) {
        if (is_named(at, from, stale)) {
            ::unlinkat(at, from.c_str(), 0);
            return 0;
        }
        rename_in(at, from.c_str(), place.name.c_str(), RENAME_EXCHANGE);
        return EEXIST;
    }
    if (errno == ENOENT) return give_name(place, from);
    if (errno != EINVAL && errno != ENOSYS) return errno;
    if (is_named(at, place.name, stale)) ::unlinkat(at, place.name.c_str(), 0);
    return give_name(place, from);
}

// The same for what another user has put there. `error` stays as it is where that is not so.
int replace_foreign(const Place& place, const std::string& from, int error) {
    const Descriptor there = hold_named(place, place.name);
    struct stat info {};
    if (!there || ::fstat(there.get(), &info) != 0 || !is_foreign(info)) return error;
    error = take_place(place, from, there);
    log_foreign(place.name, info, error);
    return error;
}

std::string temporary_name(const std::string& name) {
    uint64_t nonce = 0;
    if (!common::fill_random(&nonce, sizeof nonce)) nonce = static_cast<uint64_t>(::getpid());
    // Of a length that fits where the name itself does.
    return '.' + name.substr(0, NAME_MAX - 24) + '.' + std::to_string(nonce);
}

// Written under another name first, so that nobody ever reads half of it, and a server that is killed leaves nothing at
// its place. find_stale: the file that may give way, held, or none.
template <class FindStale>
Result<Descriptor> put_at(const Place& place, std::string_view text, mode_t mode, FindStale&& find_stale) {
    const int at = place.directory.get();
    const std::string temporary = temporary_name(place.name);
    constexpr int kHow = O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW;
    Descriptor file(common::above_standard(::openat(at, temporary.c_str(), kHow, 0600)));
    if (!file) return status_of(errno);
    int error = 0;
    if (!write_all(file.get(), text) || ::fchmod(file.get(), mode) != 0) {
        error = errno;
    } else {
        // The lock is the kernel's proof that this process has not ended. A file system without locks has none.
        (void)::flock(file.get(), LOCK_EX | LOCK_NB);
        error = give_name(place, temporary);
        if (error == EEXIST) {
            if (const Descriptor stale = find_stale()) {
                error = take_place(place, temporary, stale);
            } else {
                error = replace_foreign(place, temporary, error);
            }
        }
    }
    if (error != 0) {
        ::unlinkat(at, temporary.c_str(), 0);
        return status_of(error);
    }
    return file;
}

}  // namespace

Result<RendezvousFile> RendezvousFile::create(const std::string& path, const std::string& uri) {
    auto place = open_place(path);
    if (!place) return place.status();
    auto file = put_at(*place, uri + "\n" + std::to_string(::getpid()) + "\n", 0600, [&] {
        Descriptor stale = hold_named(*place, place->name);
        return stale && is_stale(*place) ? std::move(stale) : Descriptor();
    });
    if (!file) return file.status();
    return hold(std::move(place->directory), std::move(file).value(), std::move(place->name));
}

Result<RendezvousFile> RendezvousFile::create_text(const std::string& path, std::string_view text, mode_t mode,
                                                   const IsDead& is_dead) {
    auto place = open_place(path);
    if (!place) return place.status();
    auto file = put_at(*place, text, mode, [&] { return hold_dead(*place, is_dead); });
    if (!file) return file.status();
    return hold(std::move(place->directory), std::move(file).value(), std::move(place->name));
}

void RendezvousFile::remove_stale(const std::string& folder, std::string_view prefix, const IsDead& is_dead) {
    const std::unique_ptr<DIR, int (*)(DIR*)> listing(::opendir(folder.c_str()), ::closedir);
    if (listing == nullptr) return;
    std::vector<std::string> names;
    while (const dirent* entry = ::readdir(listing.get())) {
        if (!std::string_view(entry->d_name).starts_with(prefix)) continue;
        // Others' files are theirs to remove, and do not count.
        struct stat info {};
        if (::fstatat(::dirfd(listing.get()), entry->d_name, &info, AT_SYMLINK_NOFOLLOW) != 0) continue;
        if (info.st_uid != ::geteuid() || !S_ISREG(info.st_mode)) continue;
        names.emplace_back(entry->d_name);
        if (names.size() == kMostStale) break;
    }
    for (const std::string& name : names) {
        auto place = open_place(folder + '/' + name);
        if (!place) return;
        const Descriptor dead = hold_dead(*place, is_dead);
        if (is_named(place->directory.get(), name, dead)) ::unlinkat(place->directory.get(), name.c_str(), 0);
    }
}

RendezvousFile RendezvousFile::hold(Descriptor directory, Descriptor file, std::string name) {
    RendezvousFile made;
    made.directory_ = std::move(directory);
    made.file_ = std::move(file);
    made.name_ = std::move(name);
    return made;
}

RendezvousFile::RendezvousFile(RendezvousFile&& o) noexcept
    : directory_(std::move(o.directory_)), file_(std::move(o.file_)), name_(std::exchange(o.name_, {})) {}

RendezvousFile& RendezvousFile::operator=(RendezvousFile&& o) noexcept {
    std::swap(directory_, o.directory_);
    std::swap(file_, o.file_);
    std::swap(name_, o.name_);
    return *this;
}

RendezvousFile::~RendezvousFile() {
    if (!directory_ || name_.empty()) return;
    if (is_named(directory_.get(), name_, file_)) ::unlinkat(directory_.get(), name_.c_str(), 0);
}

Result<std::string> read_rendezvous_text(const std::string& path) {
    auto place = open_place(path);
    if (!place) return place.status();
    return read_trusted(*place);
}

// The first line is the contact; what follows is for people. Without a whole line, the writer has not finished, or
// ended before it did.
Result<Contact> parse_rendezvous_text(std::string_view text) {
    const size_t line = std::min(text.find('\n'), text.size());
    auto contact = parse_uri(text.substr(0, line));
    if (!contact && line == text.size()) return PMIX_ERR_NOT_FOUND;
    return contact;
}

Result<Contact> read_rendezvous_file(const std::string& path) {
    auto place = open_place(path);
    if (!place) return place.status();
    return read_at(*place);
}

}  // namespace pmix::transport

// SPDX-License-Identifier: BSD-3-Clause
#include "server/base/safe_path.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

#include <string>

namespace pmix::server {

namespace {
constexpr int kMaxLinks = 40;
}

transport::Descriptor open_folder_of_user(std::string_view path, uid_t user) {
    if (path.empty() || path[0] != '/' || path.size() >= PATH_MAX) {
        errno = EINVAL;
        return {};
    }
    transport::Descriptor at(::open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    std::string left(path);
    int links = 0;
    while (at) {
        const size_t begin = left.find_first_not_of('/');
        if (begin == left.npos) return at;
        const size_t end = left.find('/', begin);
        const std::string name = left.substr(begin, end == left.npos ? left.npos : end - begin);
        left = end == left.npos ? std::string() : left.substr(end);
        transport::Descriptor next(::openat(at.get(), name.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
        struct stat info;
        if (!next || ::fstat(next.get(), &info) != 0) return {};
        if (S_ISLNK(info.st_mode)) {
            char target[PATH_MAX];
            const ssize_t n = ::readlinkat(next.get(), "", target, sizeof target);
            if (n <= 0) return {};
            if (++links > kMaxLinks || (info.st_uid != user && info.st_uid != 0 && info.st_uid != ::geteuid()) ||
                left.size() + static_cast<size_t>(n) >= PATH_MAX) {
                errno = links > kMaxLinks ? ELOOP : EPERM;
                return {};
            }
            if (target[0] == '/') at = transport::Descriptor(::open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
            left = std::string(target, static_cast<size_t>(n)) + left;
            continue;
        }
        at = transport::Descriptor(::openat(at.get(), name.c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
        struct stat same;
        if (!at || ::fstat(at.get(), &same) != 0 || same.st_ino != info.st_ino || same.st_dev != info.st_dev) return {};
    }
    return at;
}

}  // namespace pmix::server

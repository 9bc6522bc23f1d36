// SPDX-License-Identifier: BSD-3-Clause
#include "client/iof/iof_files.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

#include "client/iof/iof_format.h"
#include "common/base/standard_streams.h"

namespace pmix::client {
namespace {

using transport::Descriptor;

constexpr mode_t kFolderMode = 0777;  // less the user's mask
constexpr mode_t kFileMode = 0666;

// A namespace as one part of a path.
std::string as_part(std::string_view name) {
    std::string part(name);
    for (char& c : part)
        if (c == '/' || c == '\0') c = '_';
    if (part.empty() || part[0] == '.') part.insert(part.begin(), '_');
    return part;
}

pmix_status_t status_of_errno() noexcept {
    return errno == EACCES || errno == EPERM || errno == ELOOP ? PMIX_ERR_NO_PERMISSIONS : PMIX_ERR_IOF_FAILURE;
}

// The user's own words may lead through links.
common::Result<Descriptor> open_base(const std::string& path) {
    for (size_t slash = path.find('/', 1); slash != std::string::npos; slash = path.find('/', slash + 1))
        ::mkdir(path.substr(0, slash).c_str(), kFolderMode);
    ::mkdir(path.c_str(), kFolderMode);
    Descriptor fd(common::above_standard(::open(path.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC)));
    if (!fd) return status_of_errno();
    return fd;
}

common::Result<Descriptor> open_below(const Descriptor& parent, const std::string& name) {
    ::mkdirat(parent.get(), name.c_str(), kFolderMode);
    constexpr int kHow = O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
    Descriptor fd(common::above_standard(::openat(parent.get(), name.c_str(), kHow)));
    if (!fd) return status_of_errno();
    return fd;
}

common::Result<Descriptor> open_file(const Descriptor& parent, const std::string& name, Before before) {
    // O_NONBLOCK: a pipe that somebody put there does not hold us up. Emptied only when it is known to be a file.
    constexpr int kHow = O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC | O_NOCTTY;
    Descriptor fd(common::above_standard(::openat(parent.get(), name.c_str(), kHow, kFileMode)));
    struct stat what {};
    if (!fd || ::fstat(fd.get(), &what) != 0) return status_of_errno();
    if (!S_ISREG(what.st_mode) || what.st_nlink != 1) return PMIX_ERR_NO_PERMISSIONS;
    if (before == Before::dropped && ::ftruncate(fd.get(), 0) != 0) return status_of_errno();
    return fd;
}

}  // namespace

pmix_status_t read_iof_file_names(common::InfoView infos, IofFileNames& names) {
    for (const char* key : {PMIX_IOF_OUTPUT_TO_FILE, PMIX_OUTPUT_TO_FILE}) {
        std::string_view text;
        if (infos.get(key, &text) != PMIX_SUCCESS) return PMIX_ERR_BAD_PARAM;
        if (names.file.empty()) names.file = text;
    }
    for (const char* key : {PMIX_IOF_OUTPUT_TO_DIRECTORY, PMIX_OUTPUT_TO_DIRECTORY}) {
        std::string_view text;
        if (infos.get(key, &text) != PMIX_SUCCESS) return PMIX_ERR_BAD_PARAM;
        if (names.directory.empty()) names.directory = text;
    }
    names.pattern = infos.flag(PMIX_IOF_FILE_PATTERN);
    if (names.file.size() >= PATH_MAX || names.directory.size() >= PATH_MAX) return PMIX_ERR_BAD_PARAM;
    // One place is enough, and a name that ends in a slash is none.
    if (!names.file.empty() && (!names.directory.empty() || names.file.back() == '/')) return PMIX_ERR_BAD_PARAM;
    return PMIX_SUCCESS;
}

IofPath iof_path(const IofFileNames& names, const common::ProcId& source, pmix_iof_channel_t channel) {
    IofPath path;
    const std::string nspace = as_part(source.nspace), rank = std::to_string(source.rank);
    if (!names.directory.empty()) {
        path.base = names.directory;
        path.below[0] = nspace;
        path.below[1] = "rank." + rank;
        path.below[2] = iof_channel_name(channel);
        return path;
    }
    std::string name;
    if (names.pattern) {
        for (size_t i = 0; i < names.file.size(); ++i) {
            const char next = names.file[i] == '%' && i + 1 < names.file.size() ? names.file[i + 1] : '\0';
            if (next == 'n' || next == 'r' || next == '%') {
                name += next == 'n' ? nspace : next == 'r' ? rank : "%";
                ++i;
            } else {
                name += names.file[i];
            }
        }
    } else {
        name = names.file + '.' + nspace + '.' + rank;
    }
    name += std::string(".") + iof_channel_name(channel);
    const size_t slash = name.rfind('/');
    path.base = slash == std::string::npos ? "." : slash == 0 ? "/" : name.substr(0, slash);
    path.below[2] = slash == std::string::npos ? name : name.substr(slash + 1);
    return path;
}

bool IofFileNames::shared() const noexcept {
    if (!pattern || !directory.empty()) return false;
    for (size_t i = 0; i + 1 < file.size(); ++i) {
        if (file[i] != '%') continue;
        if (file[i + 1] == 'r') return false;
        if (file[i + 1] == '%') ++i;
    }
    return true;
}

common::Result<Descriptor> create_iof_file(const IofPath& path, Before before) {
    auto folder = open_base(path.base);
    for (int i = 0; i < 2 && folder.ok(); ++i)
        if (!path.below[i].empty()) folder = open_below(*folder, path.below[i]);
    if (!folder.ok()) return folder.status();
    return open_file(*folder, path.below[2], before);
}

pmix_status_t write_iof_file(int fd, std::string_view bytes) noexcept {
    while (!bytes.empty()) {
        const ssize_t put = ::write(fd, bytes.data(), bytes.size());
        if (put < 0 && errno == EINTR) continue;
        if (put <= 0) return PMIX_ERR_IOF_FAILURE;
        bytes.remove_prefix(static_cast<size_t>(put));
    }
    return PMIX_SUCCESS;
}

}  // namespace pmix::client

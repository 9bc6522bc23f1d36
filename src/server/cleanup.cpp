// Removal of what processes leave behind: see cleanup.h.
#include "server/cleanup.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

namespace pmix::server {

namespace {

// Deeper trees are left alone: each level holds a descriptor.
constexpr int kMaxDepth = 64;

bool ignored(const CleanupRules& rules, const std::string& path, std::string_view name) {
    return std::any_of(rules.ignore.begin(), rules.ignore.end(),
                       [&](const std::string& i) { return i == path || i == name; });
}

// Empties an open folder (which it closes). True: nothing is left in it.
bool empty_folder(int fd, const std::string& path, uid_t user, const CleanupRules& rules, int depth) {
    DIR* folder = ::fdopendir(fd);
    if (folder == nullptr) {
        ::close(fd);
        return false;
    }
    bool empty = true;
    while (const dirent* entry = ::readdir(folder)) {
        std::string_view name = entry->d_name;
        if (name == "." || name == "..") continue;
        std::string full = path + "/" + entry->d_name;
        struct stat info;
        bool mine = ::fstatat(::dirfd(folder), entry->d_name, &info, AT_SYMLINK_NOFOLLOW) == 0 && info.st_uid == user;
        bool gone = false;
        if (mine && !ignored(rules, full, name)) {
            if (!S_ISDIR(info.st_mode)) {
                gone = !rules.only_empty && ::unlinkat(::dirfd(folder), entry->d_name, 0) == 0;
            } else if (rules.recursive && depth < kMaxDepth) {
                int below = ::openat(::dirfd(folder), entry->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
                gone = below >= 0 && empty_folder(below, full, user, rules, depth + 1) &&
                       ::unlinkat(::dirfd(folder), entry->d_name, AT_REMOVEDIR) == 0;
            }
        }
        empty = empty && gone;
    }
    ::closedir(folder);
    return empty;
}

}  // namespace

pmix_status_t Cleanup::add(MemberId who, uid_t user, const std::string& path, bool folder, const CleanupRules& rules) {
    if (path.size() < 2 || path[0] != '/' || path.back() == '/') return PMIX_ERR_BAD_PARAM;
    auto [at, fresh] = entries_.try_emplace(path);
    Entry& entry = at->second;
    if (fresh) {
        entry.user = user;
        entry.folder = folder;
        entry.rules = rules;
    } else if (entry.user != user || entry.folder != folder || entry.rules.leave_top != rules.leave_top) {
        return PMIX_ERR_CONFLICTING_CLEANUP_DIRECTIVES;
    } else {
        entry.rules.recursive = entry.rules.recursive || rules.recursive;
        for (const std::string& i : rules.ignore) entry.rules.ignore.push_back(i);
    }
    entry.holders.insert(who);
    return PMIX_SUCCESS;
}

void Cleanup::remove(const std::string& path, const Entry& entry) {
    size_t slash = path.rfind('/');
    std::string parent = slash == 0 ? "/" : path.substr(0, slash);
    std::string name = path.substr(slash + 1);
    int above = ::open(parent.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (above < 0) return;
    struct stat info;
    if (::fstatat(above, name.c_str(), &info, AT_SYMLINK_NOFOLLOW) == 0 && info.st_uid == entry.user &&
        S_ISDIR(info.st_mode) == entry.folder) {
        if (!entry.folder) {
            ::unlinkat(above, name.c_str(), 0);
        } else {
            int fd = ::openat(above, name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
            struct stat opened;
            bool same = fd >= 0 && ::fstat(fd, &opened) == 0 && opened.st_ino == info.st_ino &&
                        opened.st_dev == info.st_dev;
            if (!same) {
                if (fd >= 0) ::close(fd);
            } else if (empty_folder(fd, path, entry.user, entry.rules, 0) && !entry.rules.leave_top) {
                ::unlinkat(above, name.c_str(), AT_REMOVEDIR);
            }
        }
    }
    ::close(above);
}

void Cleanup::member_gone(MemberId who) {
    for (auto it = entries_.begin(); it != entries_.end();) {
        if (it->second.holders.erase(who) != 0 && it->second.holders.empty()) {
            remove(it->first, it->second);
            it = entries_.erase(it);
        } else {
            ++it;
        }
    }
}

void Cleanup::everybody_gone() {
    for (const auto& [path, entry] : entries_) remove(path, entry);
    entries_.clear();
}

}  // namespace pmix::server

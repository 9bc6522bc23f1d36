// Removal of what processes leave behind: see cleanup.h.
#include "server/cleanup.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "server/safe_path.h"

namespace pmix::server {

namespace {

// Deeper trees are left alone: each level holds a descriptor.
constexpr int kMaxDepth = 64;

bool ignored(const CleanupRules& rules, const std::string& path, std::string_view name) {
    return std::any_of(rules.ignore.begin(), rules.ignore.end(),
                       [&](const std::string& i) { return i == path || i == name; });
}

// Empties an open folder (which it closes). True: nothing is left in it. `top` is the folder that was named: only what
// is on its file system and its owner's is removed.
bool empty_folder(int fd, const std::string& path, const struct stat& top, const CleanupRules& rules, int depth) {
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
        bool mine = ::fstatat(::dirfd(folder), entry->d_name, &info, AT_SYMLINK_NOFOLLOW) == 0 &&
                    info.st_uid == top.st_uid && info.st_dev == top.st_dev;
        bool gone = false;
        if (mine && !ignored(rules, full, name)) {
            if (!S_ISDIR(info.st_mode)) {
                gone = !rules.only_empty && ::unlinkat(::dirfd(folder), entry->d_name, 0) == 0;
            } else if (rules.recursive && depth < kMaxDepth) {
                int below = ::openat(::dirfd(folder), entry->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
                gone = below >= 0 && empty_folder(below, full, top, rules, depth + 1) &&
                       ::unlinkat(::dirfd(folder), entry->d_name, AT_REMOVEDIR) == 0;
            }
        }
        empty = empty && gone;
    }
    ::closedir(folder);
    return empty;
}

void remove_now(const std::string& path, uid_t user, bool folder, const CleanupRules& rules) {
    const size_t slash = path.rfind('/');
    const std::string parent = slash == 0 ? "/" : path.substr(0, slash);
    const std::string name = path.substr(slash + 1);
    const transport::Descriptor folder_of = open_folder_of_user(parent, user);
    if (!folder_of) return;
    const int above = folder_of.get();
    struct stat info;
    if (::fstatat(above, name.c_str(), &info, AT_SYMLINK_NOFOLLOW) == 0 && info.st_uid == user &&
        S_ISDIR(info.st_mode) == folder) {
        if (!folder) {
            ::unlinkat(above, name.c_str(), 0);
        } else {
            const int fd = ::openat(above, name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
            struct stat opened;
            const bool same =
                fd >= 0 && ::fstat(fd, &opened) == 0 && opened.st_ino == info.st_ino && opened.st_dev == info.st_dev;
            if (!same) {
                if (fd >= 0) ::close(fd);
            } else if (empty_folder(fd, path, info, rules, 0) && !rules.leave_top) {
                ::unlinkat(above, name.c_str(), AT_REMOVEDIR);
            }
        }
    }
}

bool is_ignored_by(const CleanupRules& rules, const std::string& path) {
    return std::find(rules.ignore.begin(), rules.ignore.end(), path) != rules.ignore.end();
}

}  // namespace

pmix_status_t Cleanup::check(const std::string& path, bool folder, Rights user, const CleanupRules& rules) const {
    const std::string_view name = std::string_view(path).substr(path.rfind('/') + 1);
    if (path.size() < 2 || path[0] != '/' || name.empty() || name == "." || name == "..") return PMIX_ERR_BAD_PARAM;
    if (is_ignored_by(rules, path)) return PMIX_ERR_CONFLICTING_CLEANUP_DIRECTIVES;
    // What one wish protects, another of the same user cannot remove, whichever came first.
    for (const auto& [other, entry] : entries_) {
        if (entry.user.uid == user.uid && (is_ignored_by(entry.rules, path) || is_ignored_by(rules, other)))
            return PMIX_ERR_CONFLICTING_CLEANUP_DIRECTIVES;
    }
    const auto at = entries_.find(path);
    if (at == entries_.end()) return PMIX_SUCCESS;
    const Entry& entry = at->second;
    const bool same = entry.user.uid == user.uid && entry.folder == folder &&
                      entry.rules.leave_top == rules.leave_top && entry.rules.only_empty == rules.only_empty;
    return same ? PMIX_SUCCESS : PMIX_ERR_CONFLICTING_CLEANUP_DIRECTIVES;
}

pmix_status_t Cleanup::add(const CleanupWish& wish, const std::vector<std::string>& files,
                           const std::vector<std::string>& folders, const CleanupRules& rules) {
    for (const bool folder : {false, true}) {
        for (const std::string& path : folder ? folders : files) {
            const pmix_status_t rc = check(path, folder, wish.user, rules);
            if (rc != PMIX_SUCCESS) return rc;
            const bool twice = folder && std::find(files.begin(), files.end(), path) != files.end();
            if (twice) return PMIX_ERR_CONFLICTING_CLEANUP_DIRECTIVES;
        }
    }
    for (const bool folder : {false, true}) {
        for (const std::string& path : folder ? folders : files) {
            auto [at, fresh] = entries_.try_emplace(path);
            Entry& entry = at->second;
            if (fresh) {
                entry.user = wish.user;
                entry.folder = folder;
                entry.rules = rules;
            } else {
                entry.rules.recursive = entry.rules.recursive || rules.recursive;
                for (const std::string& i : rules.ignore) entry.rules.ignore.push_back(i);
            }
            for (const MemberId holder : wish.holders) entry.claims.push_back({wish.asker, wish.id, holder});
        }
    }
    return PMIX_SUCCESS;
}

size_t Cleanup::cancel(MemberId asker, const std::string* id) {
    size_t forgotten = 0;
    for (auto it = entries_.begin(); it != entries_.end();) {
        forgotten += std::erase_if(it->second.claims, [&](const Claim& c) {
                         return c.asker == asker && (id == nullptr || c.id == *id);
                     }) != 0;
        it = it->second.claims.empty() ? entries_.erase(it) : std::next(it);
    }
    return forgotten;
}

void Cleanup::remove(const std::string& path, Entry&& entry) {
    const Rights user = entry.user;
    chores_.add(user, [path, user, folder = entry.folder, rules = std::move(entry.rules)](bool) {
        remove_now(path, user.uid, folder, rules);
    });
}

void Cleanup::member_gone(MemberId who) {
    for (auto it = entries_.begin(); it != entries_.end();) {
        const bool held = std::erase_if(it->second.claims, [&](const Claim& c) { return c.holder == who; }) != 0;
        if (held && it->second.claims.empty()) {
            remove(it->first, std::move(it->second));
            it = entries_.erase(it);
        } else {
            ++it;
        }
    }
}

void Cleanup::everybody_gone() {
    Entries all = std::move(entries_);
    entries_.clear();
    for (auto& [path, entry] : all) remove(path, std::move(entry));
}

}  // namespace pmix::server

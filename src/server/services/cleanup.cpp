// SPDX-License-Identifier: BSD-3-Clause
#include "server/services/cleanup.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "common/base/limits.h"
#include "server/base/safe_path.h"

namespace pmix::server {

namespace {

// Deeper trees are left alone: each level holds a descriptor.
constexpr int kMaxDepth = 64;

using Keep = std::vector<std::shared_ptr<const std::set<std::string>>>;

bool ignored(const Keep& lists, const std::string& path, std::string_view name) {
    return std::any_of(lists.begin(), lists.end(),
                       [&](const auto& list) { return list->count(path) != 0 || list->count(std::string(name)) != 0; });
}

// Empties an open folder (which it closes). True: nothing is left in it. `top` is the folder that was named: only what
// is on its file system and its owner's is removed.
bool empty_folder(int fd, const std::string& path, const struct stat& top, const CleanupRules& rules, const Keep& keep,
                  int depth) {
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
        if (mine && !ignored(keep, full, name)) {
            if (!S_ISDIR(info.st_mode)) {
                gone = !rules.only_empty && ::unlinkat(::dirfd(folder), entry->d_name, 0) == 0;
            } else if (rules.recursive && depth < kMaxDepth) {
                int below = ::openat(::dirfd(folder), entry->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
                gone = below >= 0 && empty_folder(below, full, top, rules, keep, depth + 1) &&
                       ::unlinkat(::dirfd(folder), entry->d_name, AT_REMOVEDIR) == 0;
            }
        }
        empty = empty && gone;
    }
    ::closedir(folder);
    return empty;
}

void remove_now(const std::string& path, uid_t user, bool folder, const CleanupRules& rules, const Keep& keep) {
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
            } else if (empty_folder(fd, path, info, rules, keep, 0) && !rules.leave_top) {
                ::unlinkat(above, name.c_str(), AT_REMOVEDIR);
            }
        }
    }
}

}  // namespace

pmix_status_t Cleanup::check(const std::string& path, bool folder, Rights user, const CleanupRules& rules) const {
    const std::string_view name = std::string_view(path).substr(path.rfind('/') + 1);
    if (path.size() < 2 || path[0] != '/' || name.empty() || name == "." || name == "..") return PMIX_ERR_BAD_PARAM;
    // What one request protects, another of the same user cannot remove, whichever was first.
    if (protected_.count({user.uid, path}) != 0) return PMIX_ERR_CONFLICTING_CLEANUP_DIRECTIVES;
    const auto at = entries_.find({user.uid, path});
    if (at == entries_.end()) return PMIX_SUCCESS;
    const Entry& entry = at->second;
    const bool same = entry.folder == folder && entry.rules.leave_top == rules.leave_top &&
                      entry.rules.only_empty == rules.only_empty;
    return same ? PMIX_SUCCESS : PMIX_ERR_CONFLICTING_CLEANUP_DIRECTIVES;
}

void Cleanup::attach(Entry& entry, const std::shared_ptr<const Ignored>& list, const Rights& user) {
    if (list->empty() || (!entry.ignored.empty() && entry.ignored.back() == list)) return;
    entry.ignored.push_back(list);
    if (++lists_[list.get()] == 1)
        for (const std::string& path : *list) ++protected_[{user.uid, path}];
}

// Out of the table: what it protected is free.
Cleanup::Entry Cleanup::take(Entries::iterator at) {
    Entry entry = std::move(at->second);
    entries_.erase(at);
    for (const auto& list : entry.ignored) {
        const auto count = lists_.find(list.get());
        if (--count->second != 0) continue;
        lists_.erase(count);
        for (const std::string& path : *list) {
            const auto kept = protected_.find({entry.user.uid, path});
            if (--kept->second == 0) protected_.erase(kept);
        }
    }
    return entry;
}

template <class Which>
bool Cleanup::forget_claims(Entry& entry, Which&& which) {
    return std::erase_if(entry.claims, [&](const Claim& claim) {
               if (!which(claim)) return false;
               const auto asked = asked_.find(claim.requester);
               asked->second -= claim.weight;
               if (asked->second == 0) asked_.erase(asked);
               return true;
           }) != 0;
}

pmix_status_t Cleanup::add(const CleanupRequest& request, const std::vector<std::string>& files,
                           const std::vector<std::string>& folders, const CleanupRules& rules) {
    const size_t paths = files.size() + folders.size();
    if (paths == 0 || request.holders.empty()) return PMIX_SUCCESS;
    const auto before = asked_.find(request.requester);
    const size_t left = common::kMaxCleanupsPerProcess - (before == asked_.end() ? 0 : before->second);
    if (rules.ignore.size() > left || paths > (left - rules.ignore.size()) / request.holders.size())
        return PMIX_ERR_OUT_OF_RESOURCE;

    const auto list = std::make_shared<const Ignored>(rules.ignore.begin(), rules.ignore.end());
    const std::set<std::string_view> as_files(files.begin(), files.end());
    for (const bool folder : {false, true}) {
        for (const std::string& path : folder ? folders : files) {
            WIREUP_RETURN_IF_ERROR(check(path, folder, request.user, rules));
            if (list->count(path) != 0 || (folder && as_files.count(path) != 0))
                return PMIX_ERR_CONFLICTING_CLEANUP_DIRECTIVES;
        }
    }
    for (const std::string& path : *list)
        if (entries_.count({request.user.uid, path}) != 0) return PMIX_ERR_CONFLICTING_CLEANUP_DIRECTIVES;

    size_t& asked = asked_[request.requester];
    size_t weight = 1 + rules.ignore.size();
    for (const bool folder : {false, true}) {
        for (const std::string& path : folder ? folders : files) {
            auto [at, fresh] = entries_.try_emplace(UserPath{request.user.uid, path});
            Entry& entry = at->second;
            if (fresh) {
                entry.user = request.user;
                entry.folder = folder;
                entry.rules = {rules.recursive, rules.only_empty, rules.leave_top, {}};
            } else {
                entry.rules.recursive = entry.rules.recursive || rules.recursive;
            }
            attach(entry, list, request.user);
            for (const MemberId holder : request.holders) {
                entry.claims.push_back({request.requester, request.id, holder, weight});
                asked += std::exchange(weight, 1);
            }
        }
    }
    return PMIX_SUCCESS;
}

size_t Cleanup::cancel(MemberId requester, const std::string* id) {
    size_t forgotten = 0;
    for (auto it = entries_.begin(); it != entries_.end();) {
        const auto at = it++;
        forgotten += forget_claims(
            at->second, [&](const Claim& c) { return c.requester == requester && (id == nullptr || c.id == *id); });
        if (at->second.claims.empty()) take(at);
    }
    return forgotten;
}

void Cleanup::remove(const std::string& path, Entry&& entry) {
    const Rights user = entry.user;
    blocking_tasks_.add(user, [path, user, folder = entry.folder, rules = std::move(entry.rules),
                               keep = std::move(entry.ignored)](bool as_user) {
        // With this process's own rights it would be this process that removes.
        if (as_user) remove_now(path, user.uid, folder, rules, keep);
    });
}

void Cleanup::member_gone(MemberId member) {
    for (auto it = entries_.begin(); it != entries_.end();) {
        const auto at = it++;
        const bool held = forget_claims(at->second, [&](const Claim& c) { return c.holder == member; });
        if (!held || !at->second.claims.empty()) continue;
        const std::string path = at->first.second;
        remove(path, take(at));
    }
}

void Cleanup::everybody_gone() {
    while (!entries_.empty()) {
        const std::string path = entries_.begin()->first.second;
        remove(path, take(entries_.begin()));
    }
    asked_.clear();
}

}  // namespace pmix::server

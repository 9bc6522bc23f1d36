// SPDX-License-Identifier: BSD-3-Clause
#include "server/services/cleanup.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cassert>
#include <cstring>
#include <iterator>
#include <set>
#include <utility>
#include <vector>

#include "common/base/limits.h"
#include "server/base/safe_path.h"

namespace pmix::server {

namespace {

// Deeper trees are left alone: each level holds a descriptor.
constexpr int kMaxDepth = 64;

// What stays: by path or name, or the same file by another path, where a folder on the way is a link.
class Keep {
  public:
    explicit Keep(std::vector<std::shared_ptr<CleanupAsked>>&& requests) : requests_(std::move(requests)) {}
    // As the user: what it cannot see is nothing that it can remove.
    void look_up() {
        struct stat info;
        for (const auto& asked : requests_)
            for (const std::string& path : asked->ignored)
                if (path.starts_with('/') && ::lstat(path.c_str(), &info) == 0)
                    files_.emplace(info.st_dev, info.st_ino);
    }
    bool has(const std::string& path, std::string_view name, const struct stat& info) const {
        if (files_.count({info.st_dev, info.st_ino}) != 0) return true;
        return std::any_of(requests_.begin(), requests_.end(), [&](const auto& asked) {
            return asked->ignored.count(path) != 0 || asked->ignored.count(std::string(name)) != 0;
        });
    }

  private:
    std::vector<std::shared_ptr<CleanupAsked>> requests_;
    std::set<std::pair<dev_t, ino_t>> files_;
};

// Twice as much where it is not enough: a path may be named again and again.
template <class T>
void make_room(std::vector<T>& in, size_t more) {
    const size_t needed = in.size() + more;
    if (needed > in.capacity()) in.reserve(std::max(needed, 2 * in.size()));
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
        if (mine && !keep.has(full, name, info)) {
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
    if (path.size() >= common::kMaxCleanupPath) return PMIX_ERR_BAD_PARAM;
    // What one request protects, another of the same user cannot remove, whichever was first.
    if (protected_.count({user.uid, path}) != 0) return PMIX_ERR_CONFLICTING_CLEANUP_DIRECTIVES;
    const auto at = entries_.find({user.uid, path});
    if (at == entries_.end()) return PMIX_SUCCESS;
    const Entry& entry = at->second;
    const bool same = entry.folder == folder && entry.rules.leave_top == rules.leave_top &&
                      entry.rules.only_empty == rules.only_empty;
    return same ? PMIX_SUCCESS : PMIX_ERR_CONFLICTING_CLEANUP_DIRECTIVES;
}

// Each path as if nobody else had named it, because its entry may outlast the other requests; twice what is in vectors
// that grow, and what is ignored once more for protected_.
size_t Cleanup::memory_of(const CleanupAsked& asked, const std::vector<const std::string*>& paths, size_t holders) {
    constexpr size_t kNode = 64;  // of a map or set, beside the element, with what malloc keeps of it and of a string
    const size_t each = kNode + sizeof(Entries::value_type) + 2 * (sizeof(AskedPtr) + holders * sizeof(Claim));
    size_t bytes = kNode + sizeof asked + asked.id.size();
    for (const std::string* path : paths) bytes += each + path->size();
    for (const std::string& path : asked.ignored)
        bytes += 2 * (kNode + sizeof(decltype(protected_)::value_type) + path.size());
    return bytes;
}

// Out of the table: what it protected is free.
Cleanup::Entry Cleanup::take(Entries::iterator at) {
    Entry entry = std::move(at->second);
    entries_.erase(at);
    for (const AskedPtr& asked : entry.ignoring) {
        assert(asked->entries > 0);
        if (--asked->entries != 0) continue;
        for (const std::string& path : asked->ignored) {
            const auto kept = protected_.find({entry.user.uid, path});
            assert(kept != protected_.end() && kept->second > 0);
            if (--kept->second == 0) protected_.erase(kept);
        }
    }
    return entry;
}

template <class Which>
bool Cleanup::forget_claims(Entry& entry, Which&& which) {
    return std::erase_if(entry.claims, [&](const Claim& claim) {
               if (!which(claim)) return false;
               const auto weight = asked_.find(claim.asked->requester);
               assert(weight != asked_.end() && weight->second >= claim.weight);
               weight->second -= claim.weight;
               if (weight->second == 0) asked_.erase(weight);
               return true;
           }) != 0;
}

pmix_status_t Cleanup::add(const CleanupRequest& request, const std::vector<std::string>& files,
                           const std::vector<std::string>& folders, const CleanupRules& rules, CleanupTicket* ticket) {
    const size_t paths = files.size() + folders.size();
    if (paths == 0 || request.holders.empty()) return PMIX_SUCCESS;
    if (request.id.size() > common::kMaxCleanupId) return PMIX_ERR_BAD_PARAM;
    const auto before = asked_.find(request.requester);
    const size_t left = common::kMaxCleanupsPerProcess - (before == asked_.end() ? 0 : before->second);
    if (rules.ignore.size() > left || paths > (left - rules.ignore.size()) / request.holders.size())
        return PMIX_ERR_OUT_OF_RESOURCE;

    const auto asked = std::make_shared<CleanupAsked>();
    asked->requester = request.requester;
    asked->id = request.id;
    asked->ignored.insert(rules.ignore.begin(), rules.ignore.end());
    for (const std::string& path : asked->ignored) {
        if (path.size() >= common::kMaxCleanupPath) return PMIX_ERR_BAD_PARAM;
        if (entries_.count({request.user.uid, path}) != 0) return PMIX_ERR_CONFLICTING_CLEANUP_DIRECTIVES;
    }
    std::set<std::string_view> seen[2];
    std::vector<const std::string*> each;
    size_t n_files = 0;  // of them, at the front
    for (const bool folder : {false, true}) {
        for (const std::string& path : folder ? folders : files) {
            WIREUP_RETURN_IF_ERROR(check(path, folder, request.user, rules));
            if (asked->ignored.count(path) != 0 || (folder && seen[false].count(path) != 0))
                return PMIX_ERR_CONFLICTING_CLEANUP_DIRECTIVES;
            if (seen[folder].insert(path).second) each.push_back(&path);
        }
        if (!folder) n_files = each.size();
    }
    if (!asked->charge.set(request.account, memory_of(*asked, each, request.holders.size())))
        return PMIX_ERR_OUT_OF_RESOURCE;

    // First all that needs memory, then all that changes something.
    Entries fresh;
    std::vector<Entry*> named;
    named.reserve(each.size());
    for (size_t i = 0; i < each.size(); ++i) {
        UserPath key{request.user.uid, *each[i]};
        auto at = entries_.find(key);
        if (at == entries_.end()) {
            at = fresh.try_emplace(std::move(key)).first;
            at->second.user = request.user;
            at->second.folder = i >= n_files;
            at->second.rules = {rules.recursive, rules.only_empty, rules.leave_top, {}};
        }
        make_room(at->second.claims, request.holders.size());
        if (!asked->ignored.empty()) make_room(at->second.ignoring, 1);
        named.push_back(&at->second);
    }
    decltype(protected_) to_protect;
    for (const std::string& path : asked->ignored) to_protect.emplace(UserPath{request.user.uid, path}, 1);
    size_t& weight = asked_[request.requester];

    entries_.merge(fresh);
    protected_.merge(to_protect);
    for (const auto& [path, one] : to_protect) protected_.find(path)->second += one;  // others' too
    assert(fresh.empty());                                                            // each was new
    size_t of_claim = 1 + rules.ignore.size();
    for (Entry* entry : named) {
        entry->rules.recursive = entry->rules.recursive || rules.recursive;
        if (!asked->ignored.empty()) {
            entry->ignoring.push_back(asked);
            ++asked->entries;
        }
        assert(entry->claims.capacity() - entry->claims.size() >= request.holders.size());
        for (const MemberId holder : request.holders) {
            entry->claims.push_back({asked, holder, of_claim});
            weight += std::exchange(of_claim, 1);
        }
    }
    if (ticket != nullptr) *ticket = asked;
    return PMIX_SUCCESS;
}

template <class Which>
size_t Cleanup::forget(Which&& which) {
    size_t forgotten = 0;
    for (auto it = entries_.begin(); it != entries_.end();) {
        const auto at = it++;
        forgotten += forget_claims(at->second, which);
        if (at->second.claims.empty()) take(at);
    }
    return forgotten;
}

size_t Cleanup::cancel(MemberId requester, const std::string* id) {
    return forget(
        [&](const Claim& c) { return c.asked->requester == requester && (id == nullptr || c.asked->id == *id); });
}

void Cleanup::withdraw(const CleanupTicket& ticket) {
    const auto asked = ticket.lock();
    if (asked != nullptr) forget([&](const Claim& c) { return c.asked == asked; });
}

// What was asked stays charged until it is done.
void Cleanup::remove(const std::string& path, Entry&& entry, AskedPtr asked) {
    const Rights user = entry.user;
    blocking_tasks_.add(user, [path, user, folder = entry.folder, rules = std::move(entry.rules),
                               keep = Keep(std::move(entry.ignoring)), asked = std::move(asked)](bool as_user) mutable {
        // With this process's own rights it would be this process that removes.
        if (!as_user) return;
        keep.look_up();
        remove_now(path, user.uid, folder, rules, keep);
    });
}

// What lies in a folder goes before the folder, which may be removed only when it is empty.
void Cleanup::members_gone(MemberId first, MemberId last) {
    for (auto next = entries_.end(); next != entries_.begin();) {
        const auto at = std::prev(next);
        assert(!at->second.claims.empty());  // an entry goes with its last claim
        const AskedPtr asked = at->second.claims.front().asked;
        const bool held =
            forget_claims(at->second, [&](const Claim& c) { return c.holder >= first && c.holder <= last; });
        if (!held || !at->second.claims.empty()) {
            next = at;
            continue;
        }
        const std::string path = at->first.second;
        remove(path, take(at), asked);
    }
}

void Cleanup::everybody_gone() {
    while (!entries_.empty()) {
        const auto last = std::prev(entries_.end());
        const std::string path = last->first.second;
        Entry entry = take(last);
        AskedPtr asked = entry.claims.front().asked;
        remove(path, std::move(entry), std::move(asked));
    }
    asked_.clear();
}

}  // namespace pmix::server

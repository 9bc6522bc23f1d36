// SPDX-License-Identifier: BSD-3-Clause
// Files and folders that processes asked to be removed when they end.
//
// Owns the list. Loop thread only; removal is a blocking task, with the rights of the requester's user. Each user has a
// list of its own. A path that several processes of a user named is removed at the end of the last of them. Removal
// works from open folders and follows no link; what does not belong to the requester's user stays. A failure to remove
// is not reported, because the requester has ended. What a request takes in memory is charged to its user's account,
// until all of its paths have been removed or taken back. What can go wrong: see add().
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "server/base/blocking_tasks.h"
#include "server/base/budget.h"
#include "server/base/member.h"

namespace pmix::server {

struct CleanupRules {
    bool recursive = false;
    bool only_empty = false;
    bool leave_top = false;
    std::vector<std::string> ignore;  // full paths or bare names
};

// One request: the requester, the request's name (or none), and the processes whose end it waits for.
struct CleanupRequest {
    MemberId requester = 0;
    std::string id;
    std::vector<MemberId> holders;
    Rights user;
    AccountPtr account = {};
};

// What there is once of a request, for all its claims and for the tasks that remove its paths. The loop writes; a task
// reads what is ignored.
struct CleanupAsked {
    MemberId requester = 0;
    std::string id;
    std::set<std::string> ignored;
    size_t entries = 0;  // that have it in `ignoring`
    Charge charge;
};

// Names what one add() registered.
using CleanupTicket = std::weak_ptr<const CleanupAsked>;

class Cleanup {
  public:
    explicit Cleanup(BlockingTasks& blocking_tasks) : blocking_tasks_(blocking_tasks) {}

    // Absolute paths that the kernel would take, and a name of limited length; PMIX_ERR_BAD_PARAM otherwise.
    // Contradicting rules for one path: PMIX_ERR_CONFLICTING_CLEANUP_DIRECTIVES. More than one process may ask for, or
    // than its user's account has room for: PMIX_ERR_OUT_OF_RESOURCE. Nothing is registered unless all is, also where
    // there is no memory for it.
    pmix_status_t add(const CleanupRequest& request, const std::vector<std::string>& files,
                      const std::vector<std::string>& folders, const CleanupRules& rules,
                      CleanupTicket* ticket = nullptr);
    // As if it had not been asked for, where its paths have not been removed yet.
    void withdraw(const CleanupTicket& ticket);
    // Forgets what the process asked for under this name, or (null) all it asked for. How many paths that were.
    size_t cancel(MemberId requester, const std::string* id);
    void member_gone(MemberId member) { members_gone(member, member); }
    // All with these numbers.
    void members_gone(MemberId first, MemberId last);
    void everybody_gone();
    size_t size() const noexcept { return entries_.size(); }

  private:
    using AskedPtr = std::shared_ptr<CleanupAsked>;
    struct Claim {
        AskedPtr asked;
        MemberId holder;
        size_t weight = 1;  // of the requester's limit; the first of a request has that of what it ignores too
    };
    struct Entry {
        Rights user;
        bool folder = false;
        CleanupRules rules;              // without what is ignored
        std::vector<AskedPtr> ignoring;  // each request that named the path and has something to ignore
        std::vector<Claim> claims;
    };
    using UserPath = std::pair<uid_t, std::string>;
    using Entries = std::map<UserPath, Entry>;

    pmix_status_t check(const std::string& path, bool folder, Rights user, const CleanupRules& rules) const;
    static size_t memory_of(const CleanupAsked& asked, const std::vector<const std::string*>& paths, size_t holders);
    template <class Which>
    size_t forget(Which&& which);
    template <class Which>
    bool forget_claims(Entry& entry, Which&& which);
    Entry take(Entries::iterator at);
    void remove(const std::string& path, Entry&& entry, AskedPtr asked);

    BlockingTasks& blocking_tasks_;
    Entries entries_;
    std::map<UserPath, size_t> protected_;  // how many requests ignore it
    std::map<MemberId, size_t> asked_;      // weight of the claims, by requester
};

}  // namespace pmix::server

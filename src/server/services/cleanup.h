// SPDX-License-Identifier: BSD-3-Clause
// Files and folders that processes asked to be removed when they end.
//
// Owns the list. Loop thread only; removal is a blocking task, with the rights of the requester's user. Each user has a
// list of its own. A path that several processes of a user named is removed at the end of the last of them. Removal
// works from open folders and follows no link; what does not belong to the requester's user stays. A failure to remove
// is not reported, because the requester has ended.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "server/base/blocking_tasks.h"
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
};

class Cleanup {
  public:
    explicit Cleanup(BlockingTasks& blocking_tasks) : blocking_tasks_(blocking_tasks) {}

    // Absolute paths; PMIX_ERR_BAD_PARAM otherwise. Contradicting rules for one path:
    // PMIX_ERR_CONFLICTING_CLEANUP_DIRECTIVES. More than one process may ask for: PMIX_ERR_OUT_OF_RESOURCE. Nothing is
    // registered unless all is.
    pmix_status_t add(const CleanupRequest& request, const std::vector<std::string>& files,
                      const std::vector<std::string>& folders, const CleanupRules& rules);
    // Forgets what the process asked for under this name, or (null) all it asked for. How many paths that were.
    size_t cancel(MemberId requester, const std::string* id);
    void member_gone(MemberId member);
    void everybody_gone();
    size_t size() const noexcept { return entries_.size(); }

  private:
    using Ignored = std::set<std::string>;
    struct Claim {
        MemberId requester;
        std::string id;
        MemberId holder;
        size_t weight = 1;  // of the requester's limit; the first of a request has that of what it ignores too
    };
    struct Entry {
        Rights user;
        bool folder = false;
        CleanupRules rules;  // without what is ignored
        // What is ignored, of each request that named the path: shared by all its paths.
        std::vector<std::shared_ptr<const Ignored>> ignored;
        std::vector<Claim> claims;
    };
    using UserPath = std::pair<uid_t, std::string>;
    using Entries = std::map<UserPath, Entry>;

    pmix_status_t check(const std::string& path, bool folder, Rights user, const CleanupRules& rules) const;
    template <class Which>
    bool forget_claims(Entry& entry, Which&& which);
    void attach(Entry& entry, const std::shared_ptr<const Ignored>& list, const Rights& user);
    Entry take(Entries::iterator at);
    void remove(const std::string& path, Entry&& entry);

    BlockingTasks& blocking_tasks_;
    Entries entries_;
    std::map<const Ignored*, size_t> lists_;  // how many entries have it
    std::map<UserPath, size_t> protected_;    // how many of those lists name it
    std::map<MemberId, size_t> asked_;        // weight of the claims, by requester
};

}  // namespace pmix::server

// Files and folders that processes asked to be removed when they end.
//
// Owns the list. Loop thread only; the removing itself is a chore, done with the rights of the user who asked. A path
// that several processes named goes with the last of them. Removal works from open folders and follows no link; what
// does not belong to the user who asked stays. What cannot be removed stays without a word: there is nobody left to
// tell.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "server/chores.h"
#include "server/collective.h"

namespace pmix::server {

struct CleanupRules {
    bool recursive = false;
    bool only_empty = false;
    bool leave_top = false;
    std::vector<std::string> ignore;  // full paths or bare names
};

// One wish: who asks, under which name (or none), and whose end it waits for.
struct CleanupWish {
    MemberId asker = 0;
    std::string id;
    std::vector<MemberId> holders;
    Rights user;
};

class Cleanup {
  public:
    explicit Cleanup(Chores& chores) : chores_(chores) {}

    // Absolute paths; PMIX_ERR_BAD_PARAM otherwise. Contradicting rules for one path:
    // PMIX_ERR_CONFLICTING_CLEANUP_DIRECTIVES. Nothing is registered unless all is.
    pmix_status_t add(const CleanupWish& wish, const std::vector<std::string>& files,
                      const std::vector<std::string>& folders, const CleanupRules& rules);
    // Forgets what the process asked for under this name, or (null) all it asked for. How many paths that were.
    size_t cancel(MemberId asker, const std::string* id);
    void member_gone(MemberId who);
    void everybody_gone();
    size_t size() const noexcept { return entries_.size(); }

  private:
    struct Claim {
        MemberId asker;
        std::string id;
        MemberId holder;
    };
    struct Entry {
        Rights user;
        bool folder = false;
        CleanupRules rules;
        std::vector<Claim> claims;
    };
    using Entries = std::map<std::string, Entry>;

    pmix_status_t check(const std::string& path, bool folder, Rights user, const CleanupRules& rules) const;
    void remove(const std::string& path, Entry&& entry);

    Chores& chores_;
    Entries entries_;
};

}  // namespace pmix::server

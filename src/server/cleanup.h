// Files and folders that processes asked to be removed when they end.
//
// Owns the list. Loop thread only. A path that several processes named goes with the last of them. Removal works from
// open folders and follows no link; what does not belong to the user who asked stays. What cannot be removed stays
// without a word: there is nobody left to tell.
#pragma once

#include <sys/types.h>

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "server/collective.h"

namespace pmix::server {

struct CleanupRules {
    bool recursive = false;
    bool only_empty = false;
    bool leave_top = false;
    std::vector<std::string> ignore;  // full paths or bare names
};

class Cleanup {
  public:
    // Absolute paths; PMIX_ERR_BAD_PARAM otherwise. Contradicting rules for one path:
    // PMIX_ERR_CONFLICTING_CLEANUP_DIRECTIVES.
    pmix_status_t add(MemberId who, uid_t user, const std::string& path, bool folder, const CleanupRules& rules);
    void member_gone(MemberId who);
    void everybody_gone();
    size_t size() const noexcept { return entries_.size(); }

  private:
    struct Entry {
        uid_t user = 0;
        bool folder = false;
        CleanupRules rules;
        std::set<MemberId> holders;
    };
    static void remove(const std::string& path, const Entry& entry);
    std::map<std::string, Entry> entries_;
};

}  // namespace pmix::server

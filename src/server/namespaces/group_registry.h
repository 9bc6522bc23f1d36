// SPDX-License-Identifier: BSD-3-Clause
// The groups that have formed, as far as a process of this node is in them: plain state.
//
// Owned by the registry. Loop thread only. A member's rank in the group is its place in the list with which the group
// was made, and stays so when others leave. A name may belong to several groups (jobs use the same names): no process
// is in two of them, so a name and a member say which. What can go wrong: nothing.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/ids.h"
#include "common/base/status.h"
#include "common/protocol/messages.h"
#include "common/protocol/proc_order.h"
#include "common/protocol/proc_set.h"
#include "server/base/budget.h"

namespace pmix::server {

struct Group {
    uint64_t number = 0;  // of this group alone; given by GroupRegistry::add
    struct Member {
        common::ProcId proc;
        bool left = false;
        bool ended = false;  // its namespace has; it has not left, so the group cannot be destructed in peace any more
    };
    std::string name;
    std::vector<Member> members;  // by rank
    std::optional<size_t> context_id;
    bool notify = false;    // PMIX_GROUP_NOTIFY_TERMINATION was agreed
    bool hosted = false;    // the host knows it
    Charge charge;          // of the user whose process made it
    bool hidden = false;    // a namespace has its name, and is what that means: see GroupRegistry::hide
    common::ProcList here;  // the members on this node, by which GroupRegistry::of finds it; they stay when they leave

    common::ProcList current() const;  // the members that have not left
    common::ProcList living() const;   // of these, whose namespaces have not ended
    size_t memory() const noexcept;    // with its places in the registry, about
    bool has(const common::ProcId& proc) const noexcept;
    // False: was none, or has left before.
    bool remove(const common::ProcId& proc) noexcept;
};

class GroupRegistry {
  public:
    using Map = std::multimap<std::string, Group, std::less<>>;

    // The group of that name that has this member; null: there is none.
    Group* find(std::string_view name, const common::ProcId& member) noexcept;
    const Group* find(std::string_view name, const common::ProcId& member) const noexcept;
    // What a process means by the name: the group that it is in, else the only one of that name.
    const Group* meant_by(std::string_view name, const common::ProcId& process) const noexcept;
    Group* find(uint64_t number) noexcept;
    Group& add(Group&& group);
    // The numbers of the groups that a process of this node is a member of, or was, the oldest first.
    std::vector<uint64_t> of(const common::ProcId& local_member) const;
    void erase(uint64_t number);
    Map::iterator erase(Map::iterator group);
    // A namespace of that name comes or goes. Names of jobs can be guessed, and groups are made by any job's processes:
    // what others say of the job must not go to a group's members.
    void hide(std::string_view name, bool hidden) noexcept;
    bool empty() const noexcept { return groups_.empty(); }
    const Map& all() const noexcept { return groups_; }
    Map& all() noexcept { return groups_; }  // erase() is for this class

    // Puts members where a process names a group: all that are in it for a wildcard, one for a rank. A group that is
    // named as a whole again adds nothing: the list would be as long as one number times another.
    // PMIX_ERR_NOT_FOUND: a rank that the group does not have (any more).
    pmix_status_t replace(common::ProcOrder& procs, const common::ProcId& process) const;
    pmix_status_t replace(common::ProcSet& procs, const common::ProcId& process) const;
    // The same for one process; a wildcard stays.
    pmix_status_t replace(common::ProcId& proc, const common::ProcId& process) const;
    std::vector<std::string> names_of(const common::ProcId& proc) const;

  private:
    const Group* shown(std::string_view name, const common::ProcId& process) const noexcept;
    Map groups_;
    std::map<uint64_t, Map::iterator> by_number_;
    std::map<common::ProcId, std::set<uint64_t>> by_local_member_;
    uint64_t next_ = 1;
};

}  // namespace pmix::server

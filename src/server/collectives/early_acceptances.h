// SPDX-License-Identifier: BSD-3-Clause
// Processes that have accepted an invitation which is not there: it may come, or its inviter may end without it.
//
// Fed by GroupInvitations with the events as they pass. The server of the inviter keeps these, which notices the
// inviter's end, and so does the server of the process that waits, because the other may be lost with its node; that
// the inviter is no process at all, every server finds out for its own processes. Loop thread only. Each is charged to
// its user. What can go wrong: of more than kMost of one user the oldest is forgotten, and waits for its own limit, and
// so does one that the account cannot take; what there is no memory to tell stays due, and is told when the server
// recovers.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/ids.h"
#include "server/base/budget.h"
#include "server/namespaces/registry.h"

namespace pmix::server {

class Groups;

class EarlyAcceptances {
  public:
    static constexpr size_t kMost = 1024;

    EarlyAcceptances(Registry& registry, Budget& budget, Groups& groups)
        : registry_(registry), budget_(budget), groups_(groups) {}

    void accepted(std::string_view group, const common::ProcId& inviter, const common::ProcId& proc);
    // They are invited now, or need not wait any longer.
    void over(std::string_view group, const common::ProcId& inviter, const common::ProcList& procs) noexcept;
    void declined(std::string_view group, const common::ProcId& proc) noexcept;
    void gone(const common::ProcId& proc);
    bool waits_for(const common::ProcId& inviter) const noexcept;
    template <class F>
    void for_each_inviter(F&& f) const {
        for (const Early& e : waiting_) f(e.inviter);
    }
    // Tells all that is due: PMIX_GROUP_LEADER_FAILED.
    void tell();
    // The end of a process may not have been noted, for want of memory.
    void recover();

  private:
    struct Early {
        std::string group;
        common::ProcId inviter;
        common::ProcId proc;
        bool due = false;
        std::optional<uint32_t> user{};
        Charge charge{};
    };

    void forget_oldest_of(std::optional<uint32_t> user);

    Registry& registry_;
    Budget& budget_;
    Groups& groups_;
    std::vector<Early> waiting_;  // oldest first
};

}  // namespace pmix::server

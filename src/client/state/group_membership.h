// SPDX-License-Identifier: BSD-3-Clause
// The groups that this process is a member of, what their members have shared, and the constructs under way.
//
// Owns copies of each construct's results. Any thread, under a lock; a Get in a process without groups takes one load.
//
// What can go wrong: nothing that is not some call's status.
#pragma once

#include <pmix.h>

#include <atomic>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "client/state/ended_groups.h"
#include "common/base/ids.h"
#include "common/base/mutex.h"
#include "common/protocol/messages.h"
#include "common/values/info_view.h"
#include "common/values/value.h"

namespace pmix::client {

class GroupMembership {
  public:
    explicit GroupMembership(const common::ProcId& self) : self_(self) {}

    // Constructs under way, which may have to decide. Any thread.
    bool is_constructing(std::string_view name) const;
    void constructing(const std::string& name);
    void constructed(const std::string& name, pmix_status_t status, const common::InfoList& results);
    void gone(const std::string& name);

    bool any() const noexcept { return any_.load(std::memory_order_acquire); }
    // Whether a Get with so many infos can be about a group: of one that has ended only its context id is asked.
    bool any_for(size_t ninfos) const noexcept {
        return any() || (ninfos != 0 && any_ended_.load(std::memory_order_acquire));
    }
    // The process that a group's name and rank stand for; others are left alone. PMIX_ERR_NOT_FOUND: no such rank.
    pmix_status_t replace(pmix_proc_t& proc) const;
    // What a Get asks of a group itself: its number or members by its name, or what a member has shared by the
    // qualifier PMIX_GROUP_CONTEXT_ID (or _ID). Nothing: it is no such question.
    std::optional<common::Result<common::Value>> answer(const pmix_proc_t* proc, std::string_view key,
                                                        const pmix_info_t infos[], size_t ninfos) const;
    // True where all that is marked as a qualifier names one group that exists, of which that process is a member too.
    bool in_common(const pmix_proc_t& proc, common::InfoView infos) const;

  private:
    struct Formed {
        common::ProcList members;
        std::optional<size_t> context_id;
        common::InfoList results;
    };

    const common::ProcId& self_;
    std::atomic<bool> any_{false};
    std::atomic<bool> any_ended_{false};
    mutable common::Mutex mutex_;
    std::map<std::string, Formed, std::less<>> formed_ GUARDED_BY(mutex_);
    std::map<std::string, unsigned, std::less<>> open_ GUARDED_BY(mutex_);
    EndedGroups ended_ GUARDED_BY(mutex_);
};

}  // namespace pmix::client

// The groups that this process is in, and what their events mean to the library.
//
// Owns the table of formed groups (any thread, under a lock), the constructs under way, and the invitations sent and
// being answered (client/group_invite, loop only). Events reach the library after the process's own handlers have had
// them, with what those returned: that is how a handler decides. The server is asked for these events at the first call
// that needs them, under a reference of the library's own.
//
// What can go wrong: nothing that is not some call's status.
#pragma once

#include <pmix.h>

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "client/ended_groups.h"
#include "common/group_calls.h"
#include "common/messages.h"
#include "common/mutex.h"
#include "common/value.h"

namespace pmix::client {

class GroupInvites;
class Session;

// How a group call ends: its status, and its results for success in full or in part.
using GroupDone = std::function<void(pmix_status_t status, common::InfoList&& results)>;

// What the handlers of one event made of it.
struct GroupVerdict {
    bool handled = false;  // at least one has seen it
    bool abort = false;  // one ended with PMIX_GROUP_CONSTRUCT_ABORT
    bool leads = false;  // one returned PMIX_GROUP_LEADER
    common::ProcList replacements;
};

class Groups {
  public:
    explicit Groups(Session& session);
    ~Groups();
    Groups(const Groups&) = delete;
    Groups& operator=(const Groups&) = delete;

    // The library's own handler, as the server knows it.
    static constexpr uint64_t kReference = uint64_t{1} << 62;

    // Asks for the events of groups, once. Any thread; answered before whatever is asked afterwards.
    void listen();
    // Events of groups, when the handlers are done. replayed: it came before we listened. Loop.
    void heard(pmix_status_t code, const common::ProcId& source, const common::InfoList& infos,
               const common::InfoList& results, bool replayed);
    // Nothing comes any more. Loop.
    void shut(pmix_status_t why) noexcept;
    GroupInvites& invites() noexcept { return *invites_; }

    // Constructs under way, which may have to decide. Any thread.
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
    // What a Get asks of a group itself: its number or members by its name, or what a member has shared by the qualifier
    // PMIX_GROUP_CONTEXT_ID (or _ID). Nothing: it is no such question.
    std::optional<common::Result<common::Value>> answer(const pmix_proc_t* proc, std::string_view key,
                                                        const pmix_info_t infos[], size_t ninfos) const;

  private:
    struct Formed {
        common::ProcList members;
        std::optional<size_t> context_id;
        common::InfoList results;
    };

    Session& session_;
    std::unique_ptr<GroupInvites> invites_;
    common::Mutex listen_mutex_;
    std::atomic<bool> listening_{false};
    std::atomic<bool> any_{false};
    std::atomic<bool> any_ended_{false};
    mutable common::Mutex mutex_;
    std::map<std::string, Formed, std::less<>> formed_ GUARDED_BY(mutex_);
    std::map<std::string, unsigned, std::less<>> open_ GUARDED_BY(mutex_);
    EndedGroups ended_ GUARDED_BY(mutex_);
};

}  // namespace pmix::client

// SPDX-License-Identifier: BSD-3-Clause
// Collective operations of groups that ended before all had joined: what those who call late are told.
//
// Loop thread only. At most kMost; beyond it the oldest one of the user who has most is forgotten, so nobody pushes out
// what another user, who has fewer, may be late for. A late caller of an operation that was forgotten begins a new one.
// What can go wrong: memory (std::bad_alloc, nothing changed).
#pragma once

#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/status.h"
#include "common/protocol/group_calls.h"
#include "server/base/budget.h"
#include "server/base/member.h"

namespace pmix::server {

class EndedOperations {
  public:
    static constexpr size_t kMost = 256;

    struct Ended {
        common::GroupCall call;
        std::string name;
        Signature signature;
        std::vector<MemberId> missing;
        pmix_status_t status;
        const UserAccount* user = nullptr;  // never looked into. Null: the server's own process
        Charge charge{};
    };

    void keep(Ended&& ended);
    // The status for a member that is late, which is told it once. signature null: whatever it was.
    std::optional<pmix_status_t> take(common::GroupCall call, std::string_view name, const Signature* signature,
                                      MemberId member) noexcept;
    // Members that will not call any more.
    template <class F>
    void drop_members(F&& is_meant) {
        for (Ended& e : ended_) std::erase_if(e.missing, is_meant);
        std::erase_if(ended_, [](const Ended& e) { return e.missing.empty(); });
    }
    void drop_those_of(std::string_view nspace);
    size_t size() const noexcept { return ended_.size(); }

  private:
    void forget_one();

    std::deque<Ended> ended_;  // the oldest first
};

}  // namespace pmix::server

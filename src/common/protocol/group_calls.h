// SPDX-License-Identifier: BSD-3-Clause
// What a group request (GroupRequest) asks for, and which of its fields each call has. Pure.
#pragma once

#include <pmix_common.h>

#include <cstdint>

#include "common/base/ids.h"
#include "common/values/info_view.h"

namespace pmix::common {

enum class GroupCall : uint32_t {
    // name, procs in the order of the group's ranks, infos; answered with results and segments. directives may have
    // PMIX_GROUP_LEADER (PMIX_PROC): the process that invited these, which takes part as well and is no member.
    construct = 0,
    destruct = 1,  // name, infos
    leave = 2,     // name, infos
    decide = 3,    // name; what a process's handlers made of a failure: infos has PMIX_GROUP_LEADER if it wants to lead
    abort = 4,     // name; the construct is to end with PMIX_GROUP_CONSTRUCT_ABORT
    names = 5,     // procs: one; answered with PMIX_GROUP_NAMES
    // At servers that form invited groups themselves (kFeatureInvitations), where a process sends no events about them.
    // name, procs, infos; answered when the group has formed or is none, with results as of a construct.
    invite = 6,
    accept = 7,   // name, procs: the process that has invited, or none; answered likewise, without one at once
    decline = 8,  // name, procs likewise; answered at once
};

// Events that are about groups.
constexpr bool is_group_event(pmix_status_t code) noexcept {
    return code <= PMIX_GROUP_INVITED && code >= PMIX_GROUP_MEMBER_FAILED;
}
inline constexpr pmix_status_t kGroupEvents[] = {PMIX_GROUP_INVITED,
                                                 PMIX_GROUP_LEFT,
                                                 PMIX_GROUP_INVITE_ACCEPTED,
                                                 PMIX_GROUP_INVITE_DECLINED,
                                                 PMIX_GROUP_INVITE_FAILED,
                                                 PMIX_GROUP_MEMBERSHIP_UPDATE,
                                                 PMIX_GROUP_CONSTRUCT_ABORT,
                                                 PMIX_GROUP_CONSTRUCT_COMPLETE,
                                                 PMIX_GROUP_LEADER_SELECTED,
                                                 PMIX_GROUP_LEADER_FAILED,
                                                 PMIX_GROUP_CONTEXT_ID_ASSIGNED,
                                                 PMIX_GROUP_MEMBER_FAILED};

// PMIX_BOOL in a PMIX_GROUP_CONSTRUCT_ABORT that answers an acceptance which is too late, of a process that was told of
// the end with all others before. So it is for the library, whose caller waits, and not for the process's handlers.
inline constexpr std::string_view kAnswersAcceptance = "wireup.group.answer";
inline bool answers_acceptance(pmix_status_t code, InfoView infos) noexcept {
    return code == PMIX_GROUP_CONSTRUCT_ABORT && infos.flag(kAnswersAcceptance);
}

// PMIX_GROUP_CONSTRUCT_ABORT by which an inviter ends its own invitation: it names itself as the leader, so that
// processes with several invitations to groups of one name do not take it for the end of another. Without that, an
// abort is a participant's, for all.
inline bool is_abort_of(const ProcId& source, InfoView infos) noexcept {
    const pmix_proc_t* leader = nullptr;
    return infos.get(PMIX_GROUP_LEADER, &leader) == PMIX_SUCCESS && leader != nullptr && leader->rank == source.rank &&
           nspace_view(leader->nspace) == source.nspace;
}

}  // namespace pmix::common

// SPDX-License-Identifier: BSD-3-Clause
// What the servers of a group's nodes exchange while it forms: a section of its own kind in the blob that hosts
// carry as PMIX_GROUP_ENDPT_DATA, beside the sections with the members' data (modex_blob.h).
//
//   u8 version · u8 leads · u8 directives · proc requester · list of procs in the order asked for · list of procs in
//   the final order · list of procs that will not join · list of those of them that nobody was told of · u32 count,
//   then for each member that shares something: proc, bytes (its infos)          list: u32 count, procs
//
// Pure. Bytes that are no such section are PMIX_ERR_UNPACK_FAILURE.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "common/base/bytes.h"
#include "common/base/status.h"
#include "common/protocol/messages.h"
#include "common/protocol/proc_order.h"

namespace pmix::server {

// The directives of callers. A directive of one caller holds for all, on every node.
struct GroupDirectives {
    bool assign = false, optional = false, notify = false, tolerant = false;
    bool adds = false;    // members that are not named
    bool differ = false;  // two callers ask for different final orders: refused for all

    // The operation may end without some of those that were named.
    bool forgive() const noexcept { return optional || notify || tolerant; }
    void merge(const GroupDirectives& other) noexcept;
};

GroupDirectives group_directives(const common::InfoList& infos) noexcept;

struct GroupSection {
    struct Shared {
        common::ProcId proc;
        common::InfoList infos;
    };
    bool leads = false;        // the requester is the group's leader
    common::ProcId requester;  // the process that gave the order: the leader, else the first of the callers here
    common::ProcOrder order;
    common::ProcOrder final_order;  // PMIX_GROUP_FINAL_MEMBERSHIP_ORDER, if a caller gives one
    GroupDirectives directives;
    common::ProcList failed;
    common::ProcList untold;  // of them: no event has reported it
    std::vector<Shared> shared;
    std::set<common::ProcId> sharers;  // of them, for merge_group_section
};

// What a member shares with the others: the entries of its PMIX_GROUP_INFO, and the attributes that count as such.
common::InfoList group_shared_by(const common::InfoList& infos);
// PMIX_ERR_TYPE_MISMATCH: a PMIX_GROUP_INFO that is no array of infos.
pmix_status_t check_group_infos(const common::InfoList& infos) noexcept;

common::Result<std::vector<uint8_t>> encode_group_section(const GroupSection& section);
common::Result<GroupSection> decode_group_section(common::Bytes bytes);

// Adds another section: of a caller, or of another node. The leader's order counts, else that of the first of all
// callers.
void merge_group_section(GroupSection& into, GroupSection&& other);

}  // namespace pmix::server

// SPDX-License-Identifier: BSD-3-Clause
// PMIx_Group_invite and _join at a server that forms invited groups itself (Session::server_invites): one request each,
// which is answered when the group has formed, or when there is none. What the events of invitations are about is
// between that server and this process's own handlers.
//
// Any thread; done runs on the loop, once if this answers PMIX_SUCCESS and never otherwise. What can go wrong: the
// server's status, PMIX_GROUP_CONSTRUCT_ABORT and PMIX_GROUP_LEADER_FAILED among them, and PMIX_ERR_TIMEOUT.
#pragma once

#include <string>

#include "client/groups/group_events.h"

namespace pmix::client {

class Session;

pmix_status_t invite_by_server(Session& session, std::string name, common::ProcList members,
                               const common::InfoList& infos, GroupDone done);
// leader: one process, or none.
pmix_status_t join_by_server(Session& session, std::string name, common::ProcList leader, bool accept,
                             const common::InfoList& infos, GroupDone done);

}  // namespace pmix::client

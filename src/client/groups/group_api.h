// SPDX-License-Identifier: BSD-3-Clause
// PMIx_Group_construct, _destruct, _leave: requests to the server, which gathers the members.
//
// Callers' threads; callbacks come from the loop. What can go wrong: an empty or too long name, no processes, a commit
// that fails (then nobody has heard of the call), and the server's status (server/collectives/groups.h).
#pragma once

#include <pmix.h>

#include "client/groups/group_events.h"
#include "common/base/status.h"

namespace pmix::client {

class Session;

pmix_status_t group_construct(Session& session, const char* name, const pmix_proc_t procs[], size_t nprocs,
                              const pmix_info_t infos[], size_t ninfos, pmix_info_t** results, size_t* nresults);
pmix_status_t group_construct_nb(Session& session, const char* name, const pmix_proc_t procs[], size_t nprocs,
                                 const pmix_info_t infos[], size_t ninfos, pmix_info_cbfunc_t callback, void* cbdata);
pmix_status_t group_destruct(Session& session, const char* name, const pmix_info_t infos[], size_t ninfos);
pmix_status_t group_destruct_nb(Session& session, const char* name, const pmix_info_t infos[], size_t ninfos,
                                pmix_op_cbfunc_t callback, void* cbdata);
pmix_status_t group_leave(Session& session, const char* name, const pmix_info_t infos[], size_t ninfos);
pmix_status_t group_leave_nb(Session& session, const char* name, const pmix_info_t infos[], size_t ninfos,
                             pmix_op_cbfunc_t callback, void* cbdata);

// What this process has put goes to the server before its call, with or without a Commit of its own: it is to be there
// for every member when the group has formed.
pmix_status_t commit_for_group(Session& session);
// The name as it goes on the wire: PMIX_ERR_BAD_PARAM for null, empty, too long.
common::Result<std::string> checked_group_name(const char* name);
// The collective itself, for a list of members in order and the process that has invited them (null: nobody has);
// done runs on the loop if this answers PMIX_SUCCESS.
pmix_status_t construct_on_server(Session& session, const std::string& name, common::ProcList members,
                                  const common::ProcId* inviter, const pmix_info_t infos[], size_t ninfos,
                                  GroupDone done);
// Hands results to a caller, who may not want them.
void hand_out_results(common::InfoList&& infos, pmix_info_t** results, size_t* nresults);
// Calls back with results that are ours, and gone afterwards.
void call_with_results(pmix_info_cbfunc_t callback, void* cbdata, pmix_status_t status, common::InfoList&& infos);

}  // namespace pmix::client

// SPDX-License-Identifier: BSD-3-Clause
// PMIx_Group_invite and PMIx_Group_join with their _nb forms: the checks of the arguments, what is put but not yet
// committed, and the way of this session's server, which forms the group itself or has the processes do so
// (client/groups/group_invite.h).
//
// Any thread; the callbacks run on the loop. The forms without one wait as long as the group takes, and answer
// PMIX_ERR_WOULD_BLOCK on a thread that must not wait. What can go wrong: PMIX_ERR_BAD_PARAM, PMIX_ERR_UNREACH without
// a server, and what the group comes to.
#pragma once

#include <pmix_common.h>

#include <cstddef>

namespace pmix::client {

class Session;

pmix_status_t group_invite(Session& session, const char* name, const pmix_proc_t procs[], size_t nprocs,
                           const pmix_info_t infos[], size_t ninfos, pmix_info_t** results, size_t* nresults);
pmix_status_t group_invite_nb(Session& session, const char* name, const pmix_proc_t procs[], size_t nprocs,
                              const pmix_info_t infos[], size_t ninfos, pmix_info_cbfunc_t callback, void* cbdata);
pmix_status_t group_join(Session& session, const char* name, const pmix_proc_t* leader, pmix_group_opt_t opt,
                         const pmix_info_t infos[], size_t ninfos, pmix_info_t** results, size_t* nresults);
pmix_status_t group_join_nb(Session& session, const char* name, const pmix_proc_t* leader, pmix_group_opt_t opt,
                            const pmix_info_t infos[], size_t ninfos, pmix_info_cbfunc_t callback, void* cbdata);

}  // namespace pmix::client

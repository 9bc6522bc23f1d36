// SPDX-License-Identifier: BSD-3-Clause
// The API: PMIx_Group_construct, _destruct, _invite, _join, _leave and their _nb forms.
//
// Any thread. Conversions only: what the calls do is in client/. Outputs are made safe before anything can fail.
#include <pmix.h>

#include "abi/boundary.h"
#include "client/groups/group_api.h"
#include "client/groups/group_invite_api.h"

namespace client = pmix::client;
using pmix::api::boundary;
using pmix::api::Library;

namespace {

void no_results(pmix_info_t** results, size_t* nresults) noexcept {
    if (results != nullptr) *results = nullptr;
    if (nresults != nullptr) *nresults = 0;
}

}  // namespace

extern "C" {

pmix_status_t PMIx_Group_construct(const char* grp, const pmix_proc_t* procs, size_t nprocs,
                                   const pmix_info_t* directives, size_t ndirs, pmix_info_t** results,
                                   size_t* nresults) {
    no_results(results, nresults);
    return boundary([&](Library& library) {
        return client::group_construct(library.client(), grp, procs, nprocs, directives, ndirs, results, nresults);
    });
}

pmix_status_t PMIx_Group_construct_nb(const char* grp, const pmix_proc_t* procs, size_t nprocs, const pmix_info_t* info,
                                      size_t ninfo, pmix_info_cbfunc_t cbfunc, void* cbdata) {
    return boundary([&](Library& library) {
        return client::group_construct_nb(library.client(), grp, procs, nprocs, info, ninfo, cbfunc, cbdata);
    });
}

pmix_status_t PMIx_Group_destruct(const char* grp, const pmix_info_t* info, size_t ninfo) {
    return boundary([&](Library& library) { return client::group_destruct(library.client(), grp, info, ninfo); });
}

pmix_status_t PMIx_Group_destruct_nb(const char* grp, const pmix_info_t* info, size_t ninfo, pmix_op_cbfunc_t cbfunc,
                                     void* cbdata) {
    return boundary([&](Library& library) {
        return client::group_destruct_nb(library.client(), grp, info, ninfo, cbfunc, cbdata);
    });
}

pmix_status_t PMIx_Group_invite(const char* grp, const pmix_proc_t* procs, size_t nprocs, const pmix_info_t* info,
                                size_t ninfo, pmix_info_t** results, size_t* nresult) {
    no_results(results, nresult);
    return boundary([&](Library& library) {
        return client::group_invite(library.client(), grp, procs, nprocs, info, ninfo, results, nresult);
    });
}

pmix_status_t PMIx_Group_invite_nb(const char* grp, const pmix_proc_t* procs, size_t nprocs, const pmix_info_t* info,
                                   size_t ninfo, pmix_info_cbfunc_t cbfunc, void* cbdata) {
    return boundary([&](Library& library) {
        return client::group_invite_nb(library.client(), grp, procs, nprocs, info, ninfo, cbfunc, cbdata);
    });
}

pmix_status_t PMIx_Group_join(const char* grp, const pmix_proc_t* leader, pmix_group_opt_t opt, const pmix_info_t* info,
                              size_t ninfo, pmix_info_t** results, size_t* nresult) {
    no_results(results, nresult);
    return boundary([&](Library& library) {
        return client::group_join(library.client(), grp, leader, opt, info, ninfo, results, nresult);
    });
}

pmix_status_t PMIx_Group_join_nb(const char* grp, const pmix_proc_t* leader, pmix_group_opt_t opt,
                                 const pmix_info_t* info, size_t ninfo, pmix_info_cbfunc_t cbfunc, void* cbdata) {
    return boundary([&](Library& library) {
        return client::group_join_nb(library.client(), grp, leader, opt, info, ninfo, cbfunc, cbdata);
    });
}

pmix_status_t PMIx_Group_leave(const char* grp, const pmix_info_t* info, size_t ninfo) {
    return boundary([&](Library& library) { return client::group_leave(library.client(), grp, info, ninfo); });
}

pmix_status_t PMIx_Group_leave_nb(const char* grp, const pmix_info_t* info, size_t ninfo, pmix_op_cbfunc_t cbfunc,
                                  void* cbdata) {
    return boundary(
        [&](Library& library) { return client::group_leave_nb(library.client(), grp, info, ninfo, cbfunc, cbdata); });
}

}  // extern "C"

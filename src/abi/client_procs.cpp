// SPDX-License-Identifier: BSD-3-Clause
// The API: PMIx_Spawn, Connect, Disconnect and their _nb forms, Resolve_peers, Resolve_nodes.
//
// Any thread. Conversions only: what the calls do is in client/. Outputs are made safe before anything can fail.
#include <pmix.h>

#include <cstring>

#include "abi/boundary.h"
#include "client/services/resolve.h"
#include "client/services/spawn.h"
#include "client/session/connect.h"
#include "runtime/local_spawn.h"

namespace client = pmix::client;
using pmix::api::boundary;
using pmix::api::Library;

extern "C" {

pmix_status_t PMIx_Spawn(const pmix_info_t job_info[], size_t ninfo, const pmix_app_t apps[], size_t napps,
                         pmix_nspace_t nspace) {
    if (nspace != nullptr) std::memset(nspace, 0, sizeof(pmix_nspace_t));
    return boundary([&](Library& library) -> pmix_status_t {
        auto here = pmix::api::apps_to_start_here(library, apps, napps);
        if (!here) return here.status();
        return client::spawn(library.client(), job_info, ninfo, here->empty() ? apps : here->data(), napps, nspace);
    });
}

pmix_status_t PMIx_Spawn_nb(const pmix_info_t job_info[], size_t ninfo, const pmix_app_t apps[], size_t napps,
                            pmix_spawn_cbfunc_t cbfunc, void* cbdata) {
    return boundary([&](Library& library) -> pmix_status_t {
        if (cbfunc == nullptr) return PMIX_ERR_BAD_PARAM;
        auto here = pmix::api::apps_to_start_here(library, apps, napps);
        if (!here) return here.status();
        return client::spawn_nb(library.client(), job_info, ninfo, here->empty() ? apps : here->data(), napps, cbfunc,
                                cbdata);
    });
}

pmix_status_t PMIx_Connect(const pmix_proc_t procs[], size_t nprocs, const pmix_info_t info[], size_t ninfo) {
    return boundary([&](Library& library) { return client::connect(library.client(), procs, nprocs, info, ninfo); });
}

pmix_status_t PMIx_Connect_nb(const pmix_proc_t procs[], size_t nprocs, const pmix_info_t info[], size_t ninfo,
                              pmix_op_cbfunc_t cbfunc, void* cbdata) {
    return boundary([&](Library& library) {
        return client::connect_nb(library.client(), procs, nprocs, info, ninfo, cbfunc, cbdata);
    });
}

pmix_status_t PMIx_Disconnect(const pmix_proc_t procs[], size_t nprocs, const pmix_info_t info[], size_t ninfo) {
    return boundary([&](Library& library) { return client::disconnect(library.client(), procs, nprocs, info, ninfo); });
}

pmix_status_t PMIx_Disconnect_nb(const pmix_proc_t ranges[], size_t nprocs, const pmix_info_t info[], size_t ninfo,
                                 pmix_op_cbfunc_t cbfunc, void* cbdata) {
    return boundary([&](Library& library) {
        return client::disconnect_nb(library.client(), ranges, nprocs, info, ninfo, cbfunc, cbdata);
    });
}

pmix_status_t PMIx_Resolve_peers(const char* nodename, const char nspace[], pmix_proc_t** procs, size_t* nprocs) {
    if (procs != nullptr) *procs = nullptr;
    if (nprocs != nullptr) *nprocs = 0;
    return boundary(
        [&](Library& library) { return client::resolve_peers(library.client(), nodename, nspace, procs, nprocs); });
}

pmix_status_t PMIx_Resolve_nodes(const char nspace[], char** nodelist) {
    if (nodelist != nullptr) *nodelist = nullptr;
    return boundary([&](Library& library) { return client::resolve_nodes(library.client(), nspace, nodelist); });
}

}  // extern "C"

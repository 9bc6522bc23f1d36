// SPDX-License-Identifier: BSD-3-Clause
// The API: PMIx_tool_*.
//
// Any thread. No state here: see library, client/tool/tool and client/tool/server_set.
#include <pmix_tool.h>

#include "abi/boundary.h"
#include "client/session/session.h"
#include "client/tool/server_set.h"
#include "client/tool/tool.h"
#include "common/values/info_view.h"
#include "common/values/support.h"
#include "server/server.h"

using pmix::api::boundary;
using pmix::api::guarded;
using pmix::api::Library;
using pmix::common::Function;
using pmix::common::InfoView;
using pmix::common::ProcId;

namespace {

// Calls that only a tool has.
template <class F>
pmix_status_t tool_boundary(F&& run) noexcept {
    return boundary([&](Library& library) -> pmix_status_t {
        if (library.servers() == nullptr) return PMIX_ERR_INIT;
        return run(library, *library.servers());
    });
}

pmix_status_t check(Function function, const pmix_info_t infos[], size_t ninfos) noexcept {
    if (infos == nullptr && ninfos != 0) return PMIX_ERR_BAD_PARAM;
    WIREUP_RETURN_IF_ERROR(pmix::common::check_flags({infos, ninfos}));
    return pmix::common::check_required({infos, ninfos}, function, pmix::common::level::tool);
}

}  // namespace

extern "C" {

pmix_status_t PMIx_tool_init(pmix_proc_t* proc, pmix_info_t info[], size_t ninfo) {
    pmix::transport::CancelShield no_cancel;
    return guarded([&] { return Library::init_tool(proc, info, ninfo); });
}

pmix_status_t PMIx_tool_finalize() {
    pmix::transport::CancelShield no_cancel;
    return guarded([] { return Library::finalize_tool(); });
}

pmix_status_t PMIx_tool_attach_to_server(pmix_proc_t* myproc, pmix_proc_t* server, pmix_info_t info[], size_t ninfo) {
    return tool_boundary([&](Library& library, pmix::client::ServerSet& servers) {
        pmix_status_t rc = check(Function::PMIx_tool_attach_to_server, info, ninfo);
        ProcId id;
        if (rc == PMIX_SUCCESS)
            rc = pmix::client::attach_to_server(library.client(), servers, InfoView(info, ninfo), id);
        if (rc != PMIX_SUCCESS) return rc;
        if (myproc != nullptr) *myproc = library.client().self().to_c();
        if (server != nullptr) *server = id.to_c();
        return PMIX_SUCCESS;
    });
}

pmix_status_t PMIx_tool_connect_to_server(pmix_proc_t* myproc, pmix_info_t info[], size_t ninfo) {
    return PMIx_tool_attach_to_server(myproc, nullptr, info, ninfo);
}

pmix_status_t PMIx_tool_disconnect(const pmix_proc_t* server) {
    return tool_boundary([&](Library& library, pmix::client::ServerSet& servers) {
        return pmix::client::disconnect_from_server(library.client(), servers, server);
    });
}

pmix_status_t PMIx_tool_get_servers(pmix_proc_t* servers[], size_t* nservers) {
    if (servers != nullptr) *servers = nullptr;
    if (nservers != nullptr) *nservers = 0;
    return tool_boundary([&](Library& library, pmix::client::ServerSet& set) {
        return pmix::client::get_servers(set, library.client().self(), servers, nservers);
    });
}

pmix_status_t PMIx_tool_set_server(const pmix_proc_t* server, pmix_info_t info[], size_t ninfo) {
    return tool_boundary([&](Library& library, pmix::client::ServerSet& servers) {
        WIREUP_RETURN_IF_ERROR(check(Function::PMIx_tool_set_server, info, ninfo));
        if (server != nullptr && ProcId(*server) == library.client().self()) return library.choose_own_server();
        return pmix::client::set_server(library.client(), servers, server, InfoView(info, ninfo));
    });
}

pmix_status_t PMIx_tool_set_server_module(pmix_server_module_t* module) {
    return boundary([&](Library& library) -> pmix_status_t {
        if (module == nullptr) return PMIX_ERR_BAD_PARAM;
        // Only a launcher has anybody to serve.
        if (library.server() == nullptr) return PMIX_ERR_NOT_SUPPORTED;
        library.client().on_loop_and_wait([&] { library.server()->set_module(module); });
        return PMIX_SUCCESS;
    });
}

bool PMIx_tool_is_connected() {
    bool connected = false;
    tool_boundary([&](Library& library, pmix::client::ServerSet& servers) {
        const auto ids = servers.servers();
        connected = servers.connected() && !ids.empty() && ids.front() != library.client().self();
        return PMIX_SUCCESS;
    });
    return connected;
}

}  // extern "C"

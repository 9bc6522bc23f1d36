// SPDX-License-Identifier: BSD-3-Clause
// PMIx_tool_attach_to_server and what else a tool does with its servers, after its init has made it one.
//
// Callers' threads; may wait, so not on the loop. What can go wrong: see tool_search and server_set.
#pragma once

#include <pmix_tool.h>

#include "client/tool/server_set.h"
#include "client/tool/tool_search.h"

namespace pmix::client {

class Session;

// Takes a server that was found into use. Loop.
pmix_status_t attach_server(Session& session, ServerSet& servers, ToolFound& found);

pmix_status_t attach_to_server(Session& session, ServerSet& servers, common::InfoView infos, common::ProcId& server);
pmix_status_t disconnect_from_server(Session& session, ServerSet& servers, const pmix_proc_t* server);
pmix_status_t set_server(Session& session, ServerSet& servers, const pmix_proc_t* server, common::InfoView infos);
pmix_status_t get_servers(const ServerSet& servers, const common::ProcId& self, pmix_proc_t** array, size_t* n);

}  // namespace pmix::client

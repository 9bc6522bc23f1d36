// SPDX-License-Identifier: BSD-3-Clause
// Copies of the shared library, one for each simulated process, each with variables of its own.
#pragma once

#include <pmix.h>
#include <pmix_server.h>

#include <string>

namespace pmix::simulation {

// clang-format off
#define SIMULATED_FUNCTIONS(F) \
    F(Init) F(Finalize) F(Put) F(Commit) F(Fence) F(Get) F(Publish) F(Lookup) F(Unpublish) F(Connect) F(Disconnect) \
    F(Group_construct) F(Group_destruct) F(Register_event_handler) F(Notify_event) F(Info_load) F(Info_destruct) \
    F(Info_xfer) F(Value_load) F(Value_destruct) F(Load_nspace) F(Pdata_destruct) F(server_init) F(server_finalize) \
    F(server_register_nspace) F(server_register_client) F(server_deregister_client) F(server_deregister_nspace) \
    F(server_setup_fork) F(server_dmodex_request) F(Error_string) F(Get_nb) F(Resolve_peers) F(Query_info) \
    F(Deregister_event_handler) F(Info_free) F(Load_key)
// clang-format on

// Its functions, as PMIx_NAME.
struct Library {
#define DECLARE(name) decltype(&PMIx_##name) name;
    SIMULATED_FUNCTIONS(DECLARE)
#undef DECLARE
};

// Ends the program with a message when the file cannot be loaded. Before the simulation begins.
Library load_copy(const std::string& file);

}  // namespace pmix::simulation

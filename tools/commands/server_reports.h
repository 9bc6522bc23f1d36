// SPDX-License-Identifier: BSD-3-Clause
// Gets the reports or the counters of servers: of this node by asking each one as an observer, of other nodes by the
// resource manager.
//
// One thread of the command; a query that got no answer in time is left to the library's. An observer is answered while
// hosts are stuck too. What can go wrong: a server does not answer. It is in the list with its process, because it is
// the likeliest reason of a hang.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "options.h"
#include "tool.h"

namespace commands {

struct ServerState {
    Infos infos;  // with its notes (server_notes.h); counters as they come; of a silent one what is known of it
    std::string problem{};  // why there is no answer
    bool answered = false;
    bool silent = false;  // it exists and does not answer
    pid_t pid = 0;        // of a silent one; 0: not known
};

struct Wanted {
    bool counters = false;  // else the report
    bool all_nodes = false;
    bool stacks = false;
};

// The servers that the options name, or all of the node. False: all_nodes was wanted, and no resource manager has
// reports of its other nodes; the reason is on stderr.
bool get_reports(const CommandLine& line, const Wanted& wanted, std::vector<ServerState>& out);

}  // namespace commands

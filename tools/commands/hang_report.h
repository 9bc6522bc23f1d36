// SPDX-License-Identifier: BSD-3-Clause
// A report of a hang that a user can send to somebody else: what the servers wait for, and what the kernel shows of
// their processes.
//
// One thread; writes one file, for its owner only. It has names of jobs, nodes, programs and keys, and numbers of
// processes; no values of keys, no command lines, no environment and no addresses of servers. What can go wrong: the
// file is there already, or cannot be written.
#pragma once

#include <string>
#include <vector>

#include "server_reports.h"

namespace commands {

// counters: as text; empty: none. False: the reason is on stderr.
bool write_hang_report(const char* program, const std::string& path, const std::vector<ServerState>& servers,
                       const std::string& page, const std::string& json, const std::string& counters);

}  // namespace commands

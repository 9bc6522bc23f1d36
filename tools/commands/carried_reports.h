// SPDX-License-Identifier: BSD-3-Clause
// Reports on their way from other nodes, as lines of text that a starter of programs brings: srun, clush, ssh.
//
// One thread. A starter may put words before each line, mix the lines of nodes and add lines of its own; a line of ours
// is short enough that none of them cuts it. The last line of a node says how many there are before it. The wait for
// the starter has an end, after which it and what it has started here are killed. What can go wrong: the starter fails,
// or a node's lines are not all there; the reports of the others are good all the same.
#pragma once

#include <string>
#include <vector>

#include "server_reports.h"

namespace commands {

// The lines of this node, on stdout. Its exit status for the command: kGood.
int send_reports(const std::vector<ServerState>& servers);

// Starts a command by /bin/sh and takes what it prints. False: reports are missing, for the reason that is on stderr.
// failed: because the command could not be started, or failed by itself.
bool receive_reports(const char* program, const std::string& command, int seconds, std::vector<ServerState>& out,
                     bool& failed);

}  // namespace commands

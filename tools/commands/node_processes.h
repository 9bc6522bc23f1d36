// SPDX-License-Identifier: BSD-3-Clause
// What the kernel shows of this node's servers and processes, whether or not they answer.
//
// One thread; nothing owned. Servers are the listeners of /proc/net/unix with a name of ours (docs/guide/tools.md).
// Names are what their owners made them: the process behind one is the one that the kernel reports for a connection,
// and only where its backlog is full the one in the name, if that is a process of the name's user. What can go wrong:
// no /proc: nothing is found.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace commands {

struct NodeServer {
    std::string address;  // "@wireup/UID/PID/NONCE"
    uid_t uid = 0;
    pid_t pid = 0;
};

// Names of listeners: of this user's and of root's servers; of everybody's for root.
std::vector<std::string> server_addresses();

// The process that listens there. False: nobody does, or a process of another user than the name claims.
bool find_owner(const std::string& address, NodeServer& out);

// The process there reads what it is sent, and hangs up when there is no more: it runs, whichever users it refuses.
bool hangs_up(const std::string& address, int patience_ms);

// "running", "sleeping", "in the kernel", "stopped", "traced", "ended"; empty: there is no such process.
std::string process_condition(pid_t pid);

// A thread of it runs, though the main one may sleep.
bool any_thread_runs(pid_t pid);

// The process itself, or one that it started, directly or not.
bool descends_from(pid_t pid, pid_t ancestor);

// Its name as the kernel has it, or empty.
std::string process_name(pid_t pid);

// The function of the kernel in which its main thread waits, and the call that has led there, line by line. Empty:
// none, or the kernel does not show it: the first is for its own user, the second for root.
std::string process_wait_channel(pid_t pid);
std::string process_kernel_stack(pid_t pid);

// Processes that a launcher started for a rank, by the namespace and the rank in their environment; of several of one
// rank (a shell and its program) the first. Those of other users only for root.
using Started = std::map<std::pair<std::string, uint32_t>, pid_t>;
Started started_processes();

}  // namespace commands

// SPDX-License-Identifier: BSD-3-Clause
// The report of a server with what the kernel of its node shows of its processes: notes that only its node can make.
//
// One thread; nothing owned. A report with its notes is a list of infos again, so that it can be sent to another node
// and shown there. Processes are sorted: those that may be the reason of a hang come first. What can go wrong: what the
// kernel does not show is missing.
#pragma once

#include <pmix_common.h>

#include <string>

#include "node_processes.h"
#include "tool.h"

namespace commands {

// The keys of the notes: of a process, and of a server that has no report.
inline constexpr char kCondition[] = "condition";
inline constexpr char kWaitChannel[] = "wchan";
inline constexpr char kStack[] = "stack";
inline constexpr char kProblem[] = "problem";
inline constexpr char kName[] = "name";

struct NoteOptions {
    const Started* started = nullptr;  // null: the processes are not of this node; nothing is looked up
    bool stacks = false;               // where the kernel shows them
};

// infos: the value of WIREUP_QUERY_REPORT.
Infos with_notes(const pmix_info_t* infos, size_t n, const NoteOptions& options);
// Of a server that does not answer. pid 0: not known.
Infos silent_server(const std::string& hostname, pid_t pid, const std::string& problem, bool stacks);

// Of a process with its notes: nothing about it is a reason of a hang.
bool is_well(const pmix_info_t* proc, size_t n);

}  // namespace commands

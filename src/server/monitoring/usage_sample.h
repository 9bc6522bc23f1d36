// SPDX-License-Identifier: BSD-3-Clause
// A sample of what processes, the node, its disks and its network interfaces use, in the form that PMIx_Process_monitor
// and PMIx_Query_info answer: for each of them an array of infos that begins with its name.
//
// read_usage_options() runs on the loop. take_usage_sample() waits for the kernel's files, so it runs on a worker
// thread with a history of its own; it touches nothing else. What can go wrong: wrong directives (PMIX_ERR_BAD_PARAM);
// no memory. A process that has ended or belongs to another user, and a figure that the kernel does not give, are left
// out.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "common/base/ids.h"
#include "common/base/status.h"
#include "common/values/info_view.h"
#include "common/values/value.h"
#include "server/base/kernel_figures.h"

namespace pmix::server {

// The figures that are wanted: a bit for each key, in the order of the tables in the source file.
struct UsageOptions {
    bool of_processes = false, of_node = false, of_disks = false, of_nets = false;
    uint32_t process = 0, node = 0, disk = 0, net = 0;
    std::vector<std::string> disks, nets;  // empty: all
};

// A sample of one of these is asked for by the key (PMIX_MONITOR_PROC_RESOURCE_USAGE and its three relatives).
bool is_usage_request(std::string_view key) noexcept;

// what: the info with such a key. Its value is an array of the keys of figures, or nothing: all of them.
common::Result<UsageOptions> read_usage_options(const pmix_info_t& what, common::InfoView directives);

// One is asked for by the key of a query too (PMIX_QUERY_PROC_RESOURCE_USAGE, PMIX_QUERY_NODE_RESOURCE_USAGE), of all
// figures.
bool is_usage_query(std::string_view key) noexcept;
UsageOptions usage_options_of_query(std::string_view key) noexcept;

// A process to sample.
struct UsageTarget {
    pid_t pid = 0;
    std::optional<uint32_t> owner;  // whose it must be; none: anybody's
    common::ProcId proc;            // empty namespace: not one that is known here
};

// CPU time at the sample before, by process.
struct UsageHistory {
    struct Before {
        uint64_t start_ticks = 0, cpu_ticks = 0;
    };
    std::map<pid_t, Before> processes;
    double uptime = 0;
};

struct UsageQuestion {
    KernelFiles files;
    UsageOptions options;
    std::string hostname;
    std::optional<uint32_t> node_id;
    std::vector<UsageTarget> targets;
    // The thread has no more rights than the requester, or the requester's files are its own: what the kernel shows
    // only to the process's user may be read.
    bool private_parts = false;
};

common::Result<common::InfoList> take_usage_sample(const UsageQuestion& question, UsageHistory& history);

}  // namespace pmix::server

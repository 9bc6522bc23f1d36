// SPDX-License-Identifier: BSD-3-Clause
// What the kernel counts: of a process, of this node, of its disks and of its network interfaces.
//
// Reads /proc and /sys on the calling thread, which must be one that may wait: a process that holds its own memory map
// can delay the reader of its command line. Nothing owned. Every file is read up to a limit and every list has an end,
// whatever is in them. A process is read through a descriptor of its folder, so that all figures are of one process
// though its number may be used again meanwhile. What can go wrong: a process has ended, or is somebody else's; a
// file is not there or is not understood: what is in it is not known.
#pragma once

#include <sys/types.h>

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace pmix::server {

// Other folders in tests.
struct KernelFiles {
    std::string proc = "/proc";
    std::string sys = "/sys";
};

struct ProcessFigures {
    char state = 0;
    std::string command;  // its command line, or in brackets the kernel's name of it
    int64_t priority = 0;
    uint64_t threads = 0;
    uint64_t cpu = 0;          // the one it last ran on
    uint64_t cpu_ticks = 0;    // used by it, in user and kernel mode
    uint64_t start_ticks = 0;  // after the start of the machine
    double virtual_now = 0;    // bytes, as all sizes
    std::optional<double> virtual_peak, resident, proportional;
};

// The parts that are in files of their own, or cost more than others.
struct ProcessParts {
    bool command = false;
    bool sizes = false;         // virtual_peak and resident
    bool proportional = false;  // the kernel walks the whole address space for it
};

// owner: the user whose process it must be; none: anybody's.
std::optional<ProcessFigures> read_process(const KernelFiles& files, pid_t pid, std::optional<uint32_t> owner,
                                           ProcessParts parts);

// Of a second of CPU time, and of start_ticks.
double ticks_per_second() noexcept;
// Seconds since the machine started; none: not known.
std::optional<double> read_uptime(const KernelFiles& files);

struct NodeFigures {
    // Load over one, five and fifteen minutes; then of memory, in bytes: total, free, buffers, cached, swap cached,
    // swap in all, free swap, mapped.
    static constexpr size_t kLoads = 3;
    static constexpr size_t kCount = 11;
    std::array<std::optional<double>, kCount> figures{};
};
NodeFigures read_node(const KernelFiles& files);

struct DiskFigures {
    // Reads: completed, merged, sectors, milliseconds; writes: the same; requests under way, milliseconds busy, and
    // those times the requests.
    static constexpr size_t kCount = 11;
    std::string name;
    std::array<uint64_t, kCount> figures{};
};
// names: those and no others, partitions too. Empty: all whole disks but those that are made of memory or of files.
std::vector<DiskFigures> read_disks(const KernelFiles& files, const std::vector<std::string>& names);

struct NetFigures {
    // Received: bytes, packets, errors; sent: the same.
    static constexpr size_t kCount = 6;
    std::string name;
    std::array<uint64_t, kCount> figures{};
};
// names: those and no others. Empty: all interfaces.
std::vector<NetFigures> read_nets(const KernelFiles& files, const std::vector<std::string>& names);

}  // namespace pmix::server

// SPDX-License-Identifier: BSD-3-Clause
// What the kernel reports of a local process: its memory and its program.
//
// Reads /proc on the calling thread (the loop's): short files, no waiting. What can go wrong: the process has ended, or
// belongs to somebody whose files may not be read (false, or zero for the part that is not known).
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>

namespace pmix::server {

struct ProcessUse {
    double proportional = 0;  // bytes; the resident size where the kernel does not tell
    double resident = 0;
    double virtual_now = 0;
    double virtual_peak = 0;
    uint16_t threads = 0;
    char state = 0;
};
bool read_process_use(pid_t pid, ProcessUse& out);
// The path of the program; empty: not known.
std::string program_of(pid_t pid);

}  // namespace pmix::server

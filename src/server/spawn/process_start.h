// SPDX-License-Identifier: BSD-3-Clause
// Starting a program as a child of this process: finding its file, and fork and exec in one step.
//
// Any thread; owns nothing. Between fork and exec nothing of ours runs (posix_spawn), so it does not matter what other
// threads hold at that moment. The calling thread stands still until the child has become the program.
// What can go wrong: no such file (PMIX_ERR_JOB_EXE_NOT_FOUND), one that cannot be run
// (PMIX_ERR_JOB_APP_NOT_EXECUTABLE), no more processes or memory (PMIX_ERR_JOB_SYS_OP_FAILED). Then there is no child.
#pragma once

#include <sys/types.h>

#include <string>

#include "common/base/status.h"

namespace pmix::server {

// The file that a name means, as the launchers of MPI find it: a name with a slash in it is a path, another one is
// looked for in the folders of `path` (a PATH; null: the system's), and then in the working folder. Relative ones start
// at folder, an open directory or AT_FDCWD.
common::Result<std::string> find_program(const std::string& name, const char* path, int folder);

struct StartSpec {
    const char* file = nullptr;
    char* const* argv = nullptr;
    char* const* env = nullptr;
    int folder = -1;  // an open directory; negative: the caller's
    // What becomes its standard streams; negative: those of this process. Above 2.
    int streams[3] = {-1, -1, -1};
    int kept = -1;  // one more that it inherits, by the same number; negative: none
};

// The child leads a process group of its own, with no signal blocked.
pmix_status_t start_process(const StartSpec& spec, pid_t* child) noexcept;

}  // namespace pmix::server

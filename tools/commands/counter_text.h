// SPDX-License-Identifier: BSD-3-Clause
// How wireup-top shows the counters of servers: in Prometheus' text exposition format, version 0.0.4.
//
// One thread; nothing owned. The lines of one metric stand together, for all servers, as the format demands. The
// metrics are described in docs/reference/counters.md, which a test holds against the output.
#pragma once

#include <pmix_common.h>
#include <sys/types.h>

#include <string>
#include <vector>

namespace commands {

struct CountedServer {
    const pmix_info_t* infos = nullptr;  // the value of WIREUP_QUERY_COUNTERS; null: it does not answer
    size_t count = 0;
    pid_t pid = 0;  // of one that does not answer; 0: not known
};

std::string counter_text(const std::vector<CountedServer>& servers);

}  // namespace commands

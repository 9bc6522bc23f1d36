// SPDX-License-Identifier: BSD-3-Clause
// Rows of a report: what the objects of this room say of what waits in them. Plain values. See report.h.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/base/ids.h"

namespace pmix::server {

// One gathering: filled in by whoever runs it.
struct GatheringReport {
    std::string operation;
    std::vector<common::ProcId> members, arrived, missing;
    bool at_host = false;
    int64_t began_ms = 0;
};
// One request for data.
struct RequestReport {
    std::string operation;
    common::ProcId asker, target;
    std::string key;
    bool at_host = false;
    int64_t began_ms = 0;
};

}  // namespace pmix::server

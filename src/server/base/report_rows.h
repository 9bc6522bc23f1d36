// SPDX-License-Identifier: BSD-3-Clause
// Rows of a report: what waits in the modules of the server. Plain values. See server/services/report.h.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "common/base/ids.h"

namespace pmix::server {

// One round of a collective operation.
struct CollectiveReport {
    std::string operation;
    std::optional<common::ProcId> inviter;  // of an invitation
    std::vector<common::ProcId> members, joined, missing;
    bool at_host = false;
    int64_t began_ms = 0;
};
// One request that waits: for data, or for the host's answer to an upcall.
struct RequestReport {
    std::string operation;
    std::optional<common::ProcId> requester;  // none: the host
    std::optional<common::ProcId> target;     // none: it is not for the data of a process
    std::string key;
    bool at_host = false;
    int64_t began_ms = 0;
};
struct ReportRows {
    std::vector<CollectiveReport> collectives;
    std::vector<RequestReport> requests;
};

}  // namespace pmix::server

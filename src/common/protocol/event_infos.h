// SPDX-License-Identifier: BSD-3-Clause
// What the infos of an event say about who hears of it, for the process that raises it, the server and the receiver.
//
// Pure, but for the clock. What can go wrong: PMIX_ERR_BAD_PARAM for a value of a wrong type.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "common/base/ids.h"
#include "common/base/status.h"
#include "common/protocol/proc_set.h"
#include "common/values/info_view.h"

namespace pmix::common {

struct EventAttributes {
    bool non_default = false;  // not for default handlers
    bool do_not_cache = false;
    bool stays_local = false;  // not beyond this node, whatever the range
    ProcSet affected;
    ProcSet custom_range;
};
Result<EventAttributes> read_event_attributes(InfoView infos);

// One process, or an array of them, is added to `out`. An absent key adds nothing.
pmix_status_t read_procs(InfoView infos, std::string_view key, std::vector<ProcId>& out);

// Events of the environment are those of the system's own codes, and those that the resource manager raises (nobody's
// namespace) without naming a process. All others are about jobs.
bool is_environment_event(pmix_status_t code, const ProcId& source, const ProcSet& affected) noexcept;

// Servers number their events by it: what a process has had from one of them, and up to when, can be compared with the
// events of another, and of the next start of the same. Nanoseconds since 1970.
uint64_t event_clock() noexcept;

}  // namespace pmix::common

// SPDX-License-Identifier: BSD-3-Clause
// What a server has done since its start, for operators: plain numbers that the modules count up where it happens.
//
// Loop thread only, so that counting is one addition and no atomic one. A number never goes down and never fails. What
// is only true at a moment (open upcalls, memory held, connections) is not counted here: services/counter_page.h looks
// it up when somebody asks.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace pmix::server {

struct Counters {
    // Requests by their number on the wire (common/protocol/commands.def); the first is those of an unknown number.
    static constexpr size_t kKinds = 64;
    std::array<uint64_t, kKinds> requests{};
    // Not begun: unknown, not its sender's to make, above a limit, without memory, or not a message at all.
    uint64_t refused_requests = 0;
    // Answered with a refusal, or ended before their hello because there were too many.
    uint64_t refused_connections = 0;
    uint64_t refused_commits = 0;

    void count_request(uint16_t command) noexcept { ++requests[command < kKinds ? command : 0]; }
};

}  // namespace pmix::server

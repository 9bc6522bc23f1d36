// SPDX-License-Identifier: BSD-3-Clause
// The counters of this server: the answer to WIREUP_QUERY_COUNTERS, for operators and what they measure with.
//
// Nothing owned; loop thread. What is in it is described in pmix_common.h. It is only for the server's own user and
// root (the caller checks that), because it counts what all users do.
#pragma once

#include "common/base/status.h"
#include "common/values/value.h"
#include "server/base/budget.h"
#include "server/base/counters.h"
#include "server/host/host.h"
#include "server/services/query_answers.h"
#include "transport/event_loop.h"

namespace pmix::server {

// Where the numbers are.
struct CounterSources {
    const Counters& counters;
    const Budget& budget;
    const Host& host;
    const transport::EventLoop& loop;
};

common::Result<common::Value> make_counter_page(const Known& known, const CounterSources& sources);

}  // namespace pmix::server

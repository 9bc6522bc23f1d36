// SPDX-License-Identifier: BSD-3-Clause
// The state of this server: the answer to WIREUP_QUERY_REPORT, for people who ask why a job hangs.
//
// Nothing owned; loop thread. Jobs with their processes, and what the observers report: collective operations with the
// processes that have joined and those that have not, requests for data that wait. What is in it is described in
// pmix_common.h. It is only for the server's own user and root (the caller checks that), because it shows all jobs.
#pragma once

#include "common/base/status.h"
#include "common/values/value.h"
#include "server/services/query_answers.h"

namespace pmix::server {

common::Result<common::Value> make_report(const Known& known);

}  // namespace pmix::server

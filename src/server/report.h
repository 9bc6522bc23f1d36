// SPDX-License-Identifier: BSD-3-Clause
// How things stand in this server: the answer to WIREUP_QUERY_REPORT, for people who ask why a job hangs.
//
// Nothing owned; loop thread. It shows what the other objects of the room hold: jobs with their processes, operations
// that gather processes with who has come and who has not, requests for data that wait. What is in it is described in
// pmix_common.h. It is only for the server's own user and root (the asker sees to that), because it tells of all jobs.
#pragma once

#include "common/base/status.h"
#include "common/values/value.h"
#include "server/base/report_rows.h"
#include "server/server.h"

namespace pmix::server {

common::Result<common::Value> make_report(Server::Parts& parts);

}  // namespace pmix::server

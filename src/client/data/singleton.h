// SPDX-License-Identifier: BSD-3-Clause
// A process that nobody launched: an identity of its own, and the job data of a job of one.
//
// Pure but for the host name and the pid. Any thread, before the session is used.
#pragma once

#include "common/base/ids.h"

namespace pmix::client {

class Session;

// singleton.HOST.PID, rank 0.
common::ProcId singleton_identity();
// What a job of one process can say of itself, for Get.
void describe_singleton(Session& session);

}  // namespace pmix::client

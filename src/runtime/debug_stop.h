// SPDX-License-Identifier: BSD-3-Clause
// The stop of a process that is started under a debugger: PMIX_DEBUG_STOP_IN_INIT among its job's data.
//
// Called once, by the first init of a client or tool that has a server, on the caller's thread, when the library is up
// and others may use it. The host is notified that the process waits (PMIX_READY_FOR_DEBUG, for the resource manager,
// with the place of the wait); it goes on at PMIX_DEBUGGER_RELEASE, or when its server is lost.
// What can go wrong: the process waits even if the host refuses the notification, because the requester of the stop may
// still release it. Without memory for the wait it goes on at once.
#pragma once

namespace pmix::api {

class Library;

// Does nothing for a process that is not to stop.
void stop_for_debugger(Library& library, const char* where);

}  // namespace pmix::api

// SPDX-License-Identifier: BSD-3-Clause
// The stop of a process that is started under a debugger: PMIX_DEBUG_STOP_IN_INIT among its job's data.
//
// Called once, by the first init of a client or tool that has a server, on the caller's thread, when the library is up
// and others may use it. The host hears that the process waits (PMIX_READY_FOR_DEBUG, for the resource manager, with
// where it waits); it goes on when PMIX_DEBUGGER_RELEASE comes, or when its server is lost.
// What can go wrong: a host that refuses to hear of it is no reason not to wait, as whoever wanted the stop may release
// the process all the same. Without memory for the wait there is none.
#pragma once

namespace pmix::api {

class Library;

// Does nothing for a process that is not to stop.
void stop_for_debugger(Library& library, const char* where);

}  // namespace pmix::api

// SPDX-License-Identifier: BSD-3-Clause
// The files by which servers that speak OpenPMIx's protocol are found on this node.
//
//   pmix.sys.HOST, pmix.sched.HOST, pmix.sysctrlr.HOST       in the folder of the system: the server of the node, the
//                                                            scheduler, the system's controller
//   pmix.HOST.tool, pmix.HOST.tool.PID, pmix.HOST.tool.NSPACE  in the folder of a session, which is below that of the
//                                                            system: servers that take tools
//
// A file describes its server (server_address.h). It is read only if it is a plain one of this process's own user or of
// root that others cannot write, and it is a hint and no more: its server may be gone, and whose socket listens at the
// address is for the kernel to say (greeting.h). Folders of other users are not entered, nor are symbolic links
// followed.
//
// Free functions, any thread; they read folders, with bounds on their depth and on how many names are looked at, and
// own nothing afterwards. What can go wrong: what cannot be read is left out; a search that a bound ends is cut.
#pragma once

#include <string>
#include <vector>

#include "client/openpmix/server_address.h"
#include "common/values/info_view.h"
#include "transport/rendezvous/rendezvous.h"

namespace pmix::client {

struct OpenPmixPlaces {
    std::vector<std::string> hosts;  // what files may call this node
    std::string session;             // a folder that was named; may be empty
    std::string system;              // the folder of the system
};
// PMIX_SERVER_TMPDIR and PMIX_SYSTEM_TMPDIR, as attributes or variables; of the latter else the folder for temporary
// files. The node is called as in PMIX_HOSTNAME, or as the kernel calls it, with its domain or without.
OpenPmixPlaces read_openpmix_places(common::InfoView infos, transport::EnvironmentReader read);
// The variables are this process's.
OpenPmixPlaces read_openpmix_places(common::InfoView infos);

struct OpenPmixFile {
    enum class Of : uint8_t { tools, system, scheduler, controller };
    Of of = Of::tools;
    std::string name;  // behind "pmix.HOST.tool.", of tools
    OpenPmixContact contact;
};
// Each server once for each purpose: those of this process's own user first, and the oldest file first. A tool of
// theirs has a file of its own, and is younger than the server that it asks. cut: there may be more, because a bound
// ended the search.
std::vector<OpenPmixFile> list_openpmix_files(const OpenPmixPlaces& places, bool* cut = nullptr);

// One that was named. Statuses as of read_rendezvous_file().
common::Result<OpenPmixContact> read_openpmix_file(const std::string& path);

}  // namespace pmix::client

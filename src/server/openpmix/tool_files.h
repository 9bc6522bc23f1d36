// SPDX-License-Identifier: BSD-3-Clause
// The files by which OpenPMIx's tools find a server: in the folders that the host named, for as long as it serves.
//
// Loop thread, or any thread before the loop runs. Tools of this library need none (client/tool/server_survey.h). A
// file that cannot be made is no reason not to serve: the log reports it. The files go with this object; those that a
// killed server of the same user left in these folders are removed by the next one. A server is taken for killed only
// if no process has its number, nobody listens at its address, and nobody holds its file's lock.
#pragma once

#include <string>
#include <vector>

#include "transport/rendezvous/rendezvous_file.h"

namespace pmix::server {

struct ToolFileOptions {
    std::string node;           // as tools call it
    std::string server;         // the server's namespace
    std::string uri;            // where tools connect, as OpenPMIx writes it
    std::string tmpdir;         // of the session; empty: no file there
    std::string system_tmpdir;  // likewise
    bool tools = false;         // PMIX_SERVER_TOOL_SUPPORT
    bool session = false;       // PMIX_SERVER_SESSION_SUPPORT
    bool system = false;        // PMIX_SERVER_SYSTEM_SUPPORT
    bool scheduler = false;     // PMIX_SERVER_SCHEDULER
};

class OpenPmixToolFiles {
  public:
    void make(const ToolFileOptions& options);
    void remove() { files_.clear(); }

  private:
    void make_one(const std::string& folder, const std::string& name, const std::string& text, bool for_all);

    std::vector<transport::RendezvousFile> files_;
};

}  // namespace pmix::server

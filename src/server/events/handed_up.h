// SPDX-License-Identifier: BSD-3-Clause
// The marks of an event that is handed to the host: by which it is recognised when the host hands it down again.
//
// Open MPI 4.1 notifies each event that it is given at once. One mark is that of OpenPMIx's servers, which hosts and
// their handlers find in every event of a client. The other names this server, the code, the range and the user. It
// travels with the event to the servers of other nodes, which take the range from it: such a host notifies the event in
// that of the session everywhere. Loop thread. What can go wrong: a host that drops what it has no use for; its echo is
// an event like any other.
#pragma once

#include <optional>
#include <string>

#include "common/base/ids.h"
#include "common/values/value.h"

namespace pmix::server {

// bool, of OpenPMIx's servers: a client raised the event.
inline constexpr const char* kOfClientKey = "pmix.srvr.internal.notify";
// char*, this library's.
inline constexpr const char* kHandedUpKey = "wireup.event.handed";

class HandedUp {
  public:
    explicit HandedUp(const common::ProcId& server);

    // What an event was when it was handed up: by this server, whose processes have had it, or by another one.
    struct Before {
        bool here;
        pmix_data_range_t range;
        std::optional<uint32_t> user;  // none: all processes of its range have had it
    };

    // For an event whose receivers here have had it.
    pmix_status_t mark(common::InfoList& infos, pmix_status_t code, pmix_data_range_t range,
                       std::optional<uint32_t> user) const;
    // Of an event that the host hands down: what it was if a server of this library has handed it up.
    std::optional<Before> find(const common::InfoList& infos, pmix_status_t code) const;
    // Nobody but a server writes them, and nobody but a host reads them.
    static void remove(common::InfoList& infos);

  private:
    std::string server_;  // its name and when it began
};

}  // namespace pmix::server

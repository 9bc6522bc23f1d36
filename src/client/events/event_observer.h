// SPDX-License-Identifier: BSD-3-Clause
// What the library itself does about events, after the process's own handlers have had them.
//
// An interface, implemented above the event handlers (client/modules). Loop thread.
#pragma once

#include <pmix_common.h>

#include <cstdint>

#include "common/base/ids.h"
#include "common/values/value.h"

namespace pmix::client {

class EventObserver {
  public:
    // The library's own registration, as the server has it.
    static constexpr uint64_t kReference = uint64_t{1} << 62;

    // An event of a group, with what the handlers returned. replayed: it was raised before this process registered.
    virtual void group_event(pmix_status_t code, const common::ProcId& source, const common::InfoList& infos,
                             const common::InfoList& results, bool replayed) = 0;
    // The fabrics that the process has registered are to be described anew.
    virtual void fabric_update_pending() = 0;

  protected:
    ~EventObserver() = default;
};

}  // namespace pmix::client

// SPDX-License-Identifier: BSD-3-Clause
// Reports what the host has not answered yet, beside what waits in the modules of the server, and logs what it has not
// answered for long, with those who wait.
//
// Nothing owned; loop thread. What can go wrong: nothing but memory.
#pragma once

#include <vector>

#include "server/base/lifecycle.h"
#include "server/host/module_host.h"

namespace pmix::server {

class OpenUpcalls final : public LifecycleObserver {
  public:
    OpenUpcalls(ModuleHost& host, const LifecycleObservers& observers);
    void report(ReportRows& rows) const override { host_.report(rows); }

  private:
    void log_late(const std::vector<ModuleHost::LateUpcall>& late) const;

    const ModuleHost& host_;
    const LifecycleObservers& observers_;
};

}  // namespace pmix::server

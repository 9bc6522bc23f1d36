// SPDX-License-Identifier: BSD-3-Clause
// Reports what the host has not answered yet, beside what waits in the modules of the server.
//
// Nothing owned; loop thread. What can go wrong: nothing but memory.
#pragma once

#include "server/base/lifecycle.h"
#include "server/host/module_host.h"

namespace pmix::server {

class OpenUpcalls final : public LifecycleObserver {
  public:
    explicit OpenUpcalls(const ModuleHost& host) : host_(host) {}
    void report(ReportRows& rows) const override { host_.report(rows); }

  private:
    const ModuleHost& host_;
};

}  // namespace pmix::server

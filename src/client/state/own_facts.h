// SPDX-License-Identifier: BSD-3-Clause
// A process's own data that is in no store: the URIs of its servers, and its node's topology.
//
// Owned by the Session. note_uri() by the code that connects the process to a server, before a query asks for it; the
// rest on any thread. What can go wrong: nothing is known (PMIX_ERR_NOT_FOUND), or the topology cannot be had.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <utility>

#include "common/base/ids.h"
#include "common/base/mutex.h"
#include "common/base/status.h"
#include "common/values/value.h"

namespace pmix::client {

class OwnFacts {
  public:
    void note_uri(const common::ProcId& server, std::string uri) {
        if (uri.empty()) return;
        common::MutexLock lock(mutex_);
        uris_[server] = std::move(uri);
    }
    common::Result<common::Value> uri_of(const common::ProcId& server) const {
        common::MutexLock lock(mutex_);
        const auto it = uris_.find(server);
        if (it == uris_.end()) return PMIX_ERR_NOT_FOUND;
        return common::Value::string(it->second);
    }

    // A PMIX_TOPO, and an array with a PMIX_FABRIC_DEVICE for each network device. Set before the first call; may take
    // as long as loading a topology does.
    using Source = std::function<common::Result<common::Value>()>;
    void set_topology(Source source) { topology_ = std::move(source); }
    void set_devices(Source source) { devices_ = std::move(source); }
    common::Result<common::Value> topology() const { return from(topology_); }
    common::Result<common::Value> devices() const { return from(devices_); }

  private:
    static common::Result<common::Value> from(const Source& source) {
        if (!source) return PMIX_ERR_NOT_FOUND;
        auto value = source();
        if (!value && value.status() != PMIX_ERR_NOMEM) return PMIX_ERR_NOT_FOUND;
        return value;
    }
    mutable common::Mutex mutex_;
    std::map<common::ProcId, std::string> uris_ GUARDED_BY(mutex_);
    Source topology_, devices_;
};

}  // namespace pmix::client

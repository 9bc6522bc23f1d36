// SPDX-License-Identifier: BSD-3-Clause
// Namespaces without a host: see adopted.h.
#include "server/remote_namespaces.h"

#include <algorithm>

namespace pmix::server {

RemoteNamespaces::RemoteNamespaces(Scheduler& scheduler, Registry& registry, const Get& get, const Fence& fence,
                                   const Connect& connect, const Disconnect& disconnect, const Groups& groups,
                                   const Peers& peers, Drop drop)
    : scheduler_(scheduler),
      registry_(registry),
      get_(get),
      fence_(fence),
      connect_(connect),
      disconnect_(disconnect),
      groups_(groups),
      peers_(peers),
      drop_(std::move(drop)) {
    registry_.when_adopted([this] { look_soon(); });
}

void RemoteNamespaces::look_soon() {
    if (looks_) return;
    looks_ = true;
    timer_ = Timer(scheduler_, 0, [this] {
        looks_ = false;
        look();
    });
}

// Something is under way that names it, or it has processes here after all.
bool RemoteNamespaces::needed(const Nspace& nspace) const {
    return !nspace.clients.empty() || get_.waiting_for(nspace) || fence_.names(nspace.name) ||
           connect_.names(nspace.name) || disconnect_.names(nspace.name) || connect_.connects(nspace.name) ||
           groups_.names(nspace.name);
}

bool RemoteNamespaces::in_use(const Nspace& nspace) const {
    return nspace.data != nullptr && std::any_of(peers_.begin(), peers_.end(), [&](const auto& entry) {
               return entry.second->knows_segment(nspace.data->instance());
           });
}

void RemoteNamespaces::look() {
    std::vector<const Nspace*> idle, used;
    for (const auto& [name, nspace] : registry_.nspaces()) {
        if (!nspace->adopted || needed(*nspace)) continue;
        (in_use(*nspace) ? used : idle).push_back(nspace.get());
    }
    std::vector<std::string> gone;
    const auto take_oldest = [&](std::vector<const Nspace*>& from, size_t keep) {
        if (from.size() <= keep) return;
        std::sort(from.begin(), from.end(), [](const Nspace* a, const Nspace* b) { return a->last_use < b->last_use; });
        for (size_t i = 0; i < from.size() - keep; ++i) gone.push_back(from[i]->name);
    };
    take_oldest(idle, kIdleAdopted);
    take_oldest(used, kMaxAdopted);
    for (const std::string& name : gone) drop_(name);
}

}  // namespace pmix::server

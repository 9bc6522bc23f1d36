// SPDX-License-Identifier: BSD-3-Clause
#include "server/remote_namespaces.h"

#include <algorithm>

namespace pmix::server {

void RemoteNamespaces::scan_later() {
    if (scan_is_due_ || stopped_) return;
    scan_is_due_ = true;
    timer_ = Timer(scheduler_, 0, [this] {
        scan_is_due_ = false;
        scan();
    });
}

void RemoteNamespaces::stop(pmix_status_t) {
    stopped_ = true;
    timer_.cancel();
}

// Something is in progress that is about it, or it has processes here after all.
bool RemoteNamespaces::needed(const Nspace& nspace) const {
    return !nspace.clients.empty() || observers_.uses(nspace);
}

bool RemoteNamespaces::in_use(const Nspace& nspace) const {
    return nspace.data != nullptr && std::any_of(peers_.begin(), peers_.end(), [&](const auto& entry) {
               return entry.second->knows_segment(nspace.data->instance());
           });
}

void RemoteNamespaces::scan() {
    std::vector<const Nspace*> idle, used;
    for (const auto& [name, nspace] : registry_.nspaces()) {
        if (!nspace->is_remote || needed(*nspace)) continue;
        (in_use(*nspace) ? used : idle).push_back(nspace.get());
    }
    std::vector<std::string> gone;
    const auto take_oldest = [&](std::vector<const Nspace*>& from, size_t keep) {
        if (from.size() <= keep) return;
        std::sort(from.begin(), from.end(), [](const Nspace* a, const Nspace* b) { return a->last_use < b->last_use; });
        for (size_t i = 0; i < from.size() - keep; ++i) gone.push_back(from[i]->name);
    };
    take_oldest(idle, kIdleRemote);
    take_oldest(used, kMaxRemote);
    for (const std::string& name : gone) registration_.deregister_nspace(name);
}

}  // namespace pmix::server

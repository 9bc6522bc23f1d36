// SPDX-License-Identifier: BSD-3-Clause
// Query: the keys that this server can answer are answered here, the others go to the host in one upcall, and one reply
// carries both. What is used at this moment is sampled in between, one key after the other (usage_monitors.h).
//
// The reply has one array of infos per query, in the order of the request, with an info per key that was found; its
// status says whether all, some or none were. Loop thread only. What can go wrong: a process named in two ways
// (PMIX_ERR_BAD_PARAM); nothing found: PMIX_ERR_NOT_FOUND, the host's own status, or PMIX_ERR_NOT_SUPPORTED where the
// host answers no queries.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "common/protocol/messages.h"
#include "server/base/reply.h"
#include "server/host/host.h"
#include "server/host/host_attributes.h"
#include "server/monitoring/usage_monitors.h"
#include "server/services/counter_page.h"
#include "server/services/query_answers.h"

namespace pmix::server {

class Query {
  public:
    Query(const LifecycleObservers& observers, Host& host, const Registry& registry, const Segments& segments,
          const std::map<uint64_t, std::shared_ptr<Peer>>& peers, const common::ProcId& server, const std::string& uri,
          const std::string& openpmix_uri, bool starts_jobs, UsageMonitors& usage, CounterSources counters)
        : host_(host),
          host_attributes_(host.attributes()),
          known_{observers, registry, segments, host, starts_jobs, inventory_, peers, server, uri, openpmix_uri},
          usage_(usage),
          counters_(counters) {}

    void request(Peer& peer, common::QueryRequest& request, Reply reply);
    HostAttributes& host_attributes() noexcept { return host_attributes_; }
    Inventory& inventory() noexcept { return inventory_; }

  private:
    struct Work;
    pmix_status_t answer_here(const Peer& peer, const pmix_query_t& query, Work& work, size_t index);
    void take_samples(const AccountPtr& account, std::unique_ptr<Work> work);
    void ask_host(Peer& peer, std::unique_ptr<Work> work);
    pmix_status_t answer_support(const pmix_query_t& query, Work& work, size_t index) const;

    Host& host_;
    HostAttributes& host_attributes_;
    Inventory inventory_;
    const Known known_;
    UsageMonitors& usage_;
    const CounterSources counters_;
};

}  // namespace pmix::server

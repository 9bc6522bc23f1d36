// SPDX-License-Identifier: BSD-3-Clause
// What the host tells this server: namespaces, clients, resources, process sets. Applies it to the registry, the data,
// the environment of children, and tells everybody who counts.
//
// Loop thread only. Each answers a status; the door decides how the host hears of it. Repeating a call updates.
#pragma once

#include <functional>
#include <string_view>
#include <vector>

#include "server/collectives/connect.h"
#include "server/collectives/fence.h"
#include "server/collectives/groups.h"
#include "server/data/get.h"
#include "server/events/events.h"
#include "server/jobs/launch_env.h"
#include "server/jobs/process_sets.h"
#include "server/namespaces/job_info.h"
#include "server/namespaces/registry.h"
#include "transport/rendezvous.h"

namespace pmix::server {

class Registration {
  public:
    struct Children {
        common::ProcId server;
        std::shared_ptr<const Variables> variables;  // for every child: where the server is, and what the host added
    };
    // drop: ends the connections of a rank (or of all ranks, PMIX_RANK_WILDCARD).
    using Drop = std::function<void(const common::ProcId&)>;
    // ended: tells those who have mapped a namespace's segment that it goes.
    using Ended = std::function<void(const Nspace&)>;
    // registered: a rank may connect from now on.
    using Registered = std::function<void(const common::ProcId&)>;

    Registration(Registry& registry, LaunchEnv& launch_env, Get& get, Fence& fence, Connect& connect,
                 Disconnect& disconnect, Groups& groups, Events& events, Children children, Drop drop, Ended ended,
                 Registered registered)
        : registry_(registry),
          launch_env_(launch_env),
          get_(get),
          fence_(fence),
          connect_(connect),
          disconnect_(disconnect),
          groups_(groups),
          events_(events),
          sets_(registry, events, children.server),
          children_(std::move(children)),
          drop_(std::move(drop)),
          ended_(std::move(ended)),
          registered_(std::move(registered)) {}

    // by_host false: it was described by another server.
    pmix_status_t register_nspace(JobInfo&& job, bool by_host = true);
    void deregister_nspace(std::string_view name);
    pmix_status_t register_client(const common::ProcId& proc, uint32_t uid, uint32_t gid, void* server_object);
    void deregister_client(const common::ProcId& proc);
    pmix_status_t register_resources(JobInfo&& resources);
    pmix_status_t deregister_resources(const JobInfo& named);
    pmix_status_t define_process_set(std::string_view name, std::vector<common::ProcId> members) {
        return sets_.define(name, std::move(members));
    }
    pmix_status_t delete_process_set(std::string_view name) { return sets_.remove(name); }
    // More variables for the children of a namespace, from PMIx_server_setup_local_support.
    pmix_status_t add_variables(std::string_view nspace, const common::InfoList& infos);

    // A process will not come any more (or has come): whoever counts on it hears of it.
    void client_gone(Nspace& nspace, common::Rank rank);

  private:
    void count_again();
    // Of collectives that an earlier namespace of this name has ended.
    void nobody_is_late_for(std::string_view nspace);
    pmix_status_t ensure_data(Nspace& nspace);
    void announce_locals(Nspace& nspace);
    void set_environment(const Nspace& nspace, const Client& client,
                         const std::shared_ptr<const LaunchEnv::Edits>& edits);
    void set_environments(const Nspace& nspace);

    Registry& registry_;
    LaunchEnv& launch_env_;
    Get& get_;
    Fence& fence_;
    Connect& connect_;
    Disconnect& disconnect_;
    Groups& groups_;
    Events& events_;
    ProcessSets sets_;
    Children children_;
    Drop drop_;
    Ended ended_;
    Registered registered_;
    std::vector<JobInfo> resources_;
};

}  // namespace pmix::server

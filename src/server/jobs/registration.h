// SPDX-License-Identifier: BSD-3-Clause
// What the host registers with this server: namespaces, clients, resources, process sets. Applies it to the registry,
// the data and the environment of children, and notifies the observers.
//
// Loop thread only. Each call answers a status. Repeating a call updates.
#pragma once

#include <algorithm>
#include <deque>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "server/base/lifecycle.h"
#include "server/events/events.h"
#include "server/jobs/device_visibility.h"
#include "server/jobs/launch_env.h"
#include "server/jobs/process_sets.h"
#include "server/namespaces/job_info.h"
#include "server/namespaces/registry.h"
#include "server/namespaces/resources.h"
#include "transport/rendezvous/rendezvous.h"

namespace pmix::server {

class Registration final : public LifecycleObserver {
  public:
    // self: in whose name process sets are announced.
    Registration(const LifecycleObservers& observers, Registry& registry, LaunchEnv& launch_env, Events& events,
                 const common::ProcId& self)
        : observers_(observers), registry_(registry), launch_env_(launch_env), sets_(registry, events, self) {}

    // This node's, for ranks that are assigned one. Before the first registration.
    void set_devices(GpuList gpus, NicList nics) {
        gpus_ = std::move(gpus);
        nics_ = std::move(nics);
    }
    // by_host false: it was described by another server.
    pmix_status_t register_nspace(JobInfo&& job, bool by_host = true);
    void deregister_nspace(std::string_view name);
    pmix_status_t register_client(const common::ProcId& proc, uint32_t uid, uint32_t gid, void* server_object);
    void deregister_client(const common::ProcId& proc);
    pmix_status_t register_resources(JobInfo&& resources);
    pmix_status_t deregister_resources(const JobInfo& named);
    // What the jobs of a session find under PMIX_SESSION_INFO. One that is known already stays as it is.
    pmix_status_t register_session(uint32_t id, JobInfo&& session);
    // Jobs that have its data keep them, as what was published is not taken back.
    void deregister_session(uint32_t id) {
        sessions_.erase(id);
        told_.erase(id);
    }
    pmix_status_t define_process_set(std::string_view name, std::vector<common::ProcId> members) {
        return sets_.define(name, std::move(members));
    }
    pmix_status_t delete_process_set(std::string_view name) { return sets_.remove(name); }
    // More variables for the children of a namespace, from PMIx_server_setup_local_support. Those of a namespace that
    // is not registered yet wait for it; of more than so many namespaces those of the oldest are forgotten.
    static constexpr size_t kMostEarly = 256;
    pmix_status_t add_variables(std::string_view nspace, const common::InfoList& infos);

    // The process has ended, or will not take part in anything any more: notifies the observers of member_gone.
    void client_gone(Nspace& nspace, common::Rank rank);

    // LifecycleObserver
    void job_received(JobInfo& job) override { register_nspace(std::move(job), false); }

  private:
    pmix_status_t ensure_data(Nspace& nspace);
    void announce_locals(Nspace& nspace);
    uint32_t own_node_in(const Placed& placed, const Nspace& nspace) const noexcept;
    void warn_of_place(const Nspace& nspace, common::Rank rank) const;
    void warn_of_nodes(const Nspace& nspace) const;
    bool name_own_node(Nspace& nspace);
    void own_node_found(Nspace& nspace);
    std::vector<uint32_t> note_sessions(const std::vector<Fact>& facts);
    pmix_status_t tell_session(uint32_t id);
    pmix_status_t tell_of_session(Nspace& nspace);
    void never_registered(Nspace& nspace, common::Rank rank);
    LaunchEnv::Block environment_of(const Nspace& nspace, const Client& client,
                                    std::shared_ptr<const LaunchEnv::Edits> edits);
    auto early_of(std::string_view name) noexcept {
        return std::find_if(early_variables_.begin(), early_variables_.end(),
                            [&](const auto& early) { return early.first == name; });
    }
    pmix_status_t keep_variables(std::string_view name, const common::InfoList& infos);
    void set_environments(const Nspace& nspace);
    LaunchEnv::Edits device_edits(const Nspace& nspace, const common::ProcId& proc);

    const LifecycleObservers& observers_;
    Registry& registry_;
    LaunchEnv& launch_env_;
    ProcessSets sets_;
    Resources resources_;
    std::map<uint32_t, JobInfo> sessions_;
    // What jobs were registered with about their session, by key: a session's data are all its jobs'.
    std::map<uint32_t, std::map<std::string, std::vector<uint8_t>, std::less<>>> told_;
    std::deque<std::pair<std::string, common::InfoList>> early_variables_;  // of namespaces that are still to come
    GpuList gpus_;
    NicList nics_;
    std::optional<std::vector<common::Gpu>> known_gpus_;
    std::optional<std::vector<common::Nic>> known_nics_;
};

}  // namespace pmix::server

// SPDX-License-Identifier: BSD-3-Clause
// What a host calls, handed to the object that does it. Loop thread.
#include <new>
#include <utility>

#include "common/base/compress.h"
#include "server/jobs/fabric_allocation.h"
#include "server/namespaces/job_section.h"
#include "server/parts.h"
#include "server/server.h"

namespace pmix::server {

namespace {

constexpr int64_t kStartMs = 5;  // by then processes are being started

}  // namespace

void Server::make_due_upcalls() {
    parts_->host.flush();
}

pmix_status_t Server::register_nspace(JobInfo&& job) {
    const std::string name = job.nspace;
    WIREUP_RETURN_IF_ERROR(parts_->registration.register_nspace(std::move(job)));
    parts_->share_with_self(name);
    // While the host starts the processes: neither while it registers them nor in their first exchange with other
    // nodes.
    const Nspace* nspace = parts_->registry.find(name);
    if (nspace == nullptr || nspace->placed.nodes.size() < 2) return PMIX_SUCCESS;
    try {
        parts_->scheduler.after(kStartMs, [] { common::prepare_compression(); });
    } catch (const std::bad_alloc&) {  // then in their exchange
    }
    return PMIX_SUCCESS;
}

void Server::deregister_nspace(std::string_view name) {
    parts_->registration.deregister_nspace(name);
    parts_->iof.forget_output(name);
}

pmix_status_t Server::register_client(const common::ProcId& proc, uint32_t uid, uint32_t gid, void* server_object) {
    parts_->registered_again(proc);
    return parts_->registration.register_client(proc, uid, gid, server_object);
}

void Server::deregister_client(const common::ProcId& proc) {
    parts_->registration.deregister_client(proc);
}

pmix_status_t Server::register_resources(JobInfo&& resources) {
    return parts_->registration.register_resources(std::move(resources));
}

pmix_status_t Server::deregister_resources(const JobInfo& named) {
    return parts_->registration.deregister_resources(named);
}

pmix_status_t Server::register_session(uint32_t id, JobInfo&& session) {
    return parts_->registration.register_session(id, std::move(session));
}

void Server::deregister_session(uint32_t id) {
    parts_->registration.deregister_session(id);
}

void Server::note_call_of_7() noexcept {
    parts_->host.note_call_of_7();
}

void Server::control_input(const std::optional<common::ProcId>& source, bool stop) {
    if (stop) parts_->iof.input().stop(source);
    std::vector<std::shared_ptr<Peer>> peers;
    for (const auto& [serial, peer] : parts_->peers) peers.push_back(peer);
    for (const auto& peer : peers) peer->input_controlled(source, stop);
    if (!stop) parts_->iof.input().go_on(source);
}

pmix_status_t Server::define_process_set(std::string_view name, std::vector<common::ProcId> members) {
    return parts_->registration.define_process_set(name, std::move(members));
}

pmix_status_t Server::delete_process_set(std::string_view name) {
    return parts_->registration.delete_process_set(name);
}

pmix_status_t Server::register_attributes(std::string_view function, std::vector<std::string> attributes) {
    return parts_->host.attributes().add(function, std::move(attributes));
}

pmix_status_t Server::add_variables(std::string_view nspace, const common::InfoList& infos) {
    return parts_->registration.add_variables(nspace, infos);
}

pmix_status_t Server::allocate_fabrics(common::InfoView options, common::InfoList& answer) {
    return set_up_fabrics(options, parts_->query.inventory(), answer);
}

pmix_status_t Server::deliver_inventory(const common::InfoList& infos) {
    return parts_->query.inventory().deliver(infos, parts_->options.hostname);
}

common::Result<common::InfoList> Server::collect_job_info(std::string_view nspace) {
    const Nspace* known = parts_->registry.find(nspace);
    if (known == nullptr) return PMIX_ERR_NOT_FOUND;
    return job_facts(*known);
}

void Server::direct_modex_request(const common::ProcId& proc, Get::Respond respond) {
    LeftCommits& left = parts_->fence.left_commits();
    if (const Nspace* nspace = parts_->registry.find(proc.nspace); nspace != nullptr) left.take(*nspace);
    parts_->get.modex_request(proc, std::move(respond));
    left.awaited();
}

void Server::deliver_output(IofDelivery delivery) {
    parts_->iof.deliver(std::move(delivery));
}

void Server::set_module(const pmix_server_module_t* module) {
    parts_->host.set_module(module, 0);
}

bool Server::host_spawns() const noexcept {
    return parts_->host.has(common::Function::PMIx_Spawn);
}

void Server::set_devices(GpuList gpus, NicList nics) {
    parts_->registration.set_devices(std::move(gpus), std::move(nics));
}

void Server::set_fabric_devices(Fabrics::Devices devices) {
    parts_->fabrics.set_devices(std::move(devices));
}

}  // namespace pmix::server

// SPDX-License-Identifier: BSD-3-Clause
#include "server/spawn/spawn.h"

#include "server/host/required.h"

namespace pmix::server {

void Spawn::request(Peer& peer, common::SpawnRequest& request, Reply reply) {
    common::CArray<pmix_app_t> apps = request.apps.take();
    if (apps.empty()) return reply.status(PMIX_ERR_BAD_PARAM);
    common::InfoList infos = request.infos.take();
    const pmix_proc_t* named = nullptr;
    if (common::InfoView(infos).get(PMIX_PARENT_ID, &named) != PMIX_SUCCESS) return reply.status(PMIX_ERR_BAD_PARAM);
    pmix_proc_t parent = peer.id().to_c();
    const bool tool = peer.kind() == PeerKind::tool;
    infos.remove(PMIX_REQUESTOR_IS_TOOL);
    infos.remove(PMIX_REQUESTOR_IS_CLIENT);
    // A tool may launch for somebody else; a process is the parent of what it spawns.
    if (!tool) infos.remove(PMIX_PARENT_ID);
    pmix_status_t rc = append_ids(infos, peer.credentials());
    if (rc == PMIX_SUCCESS && !infos.find(PMIX_SPAWNED)) rc = infos.append_flag(PMIX_SPAWNED, true);
    if (rc == PMIX_SUCCESS && !infos.find(PMIX_PARENT_ID)) rc = infos.append(PMIX_PARENT_ID, &parent, PMIX_PROC);
    if (rc == PMIX_SUCCESS) rc = infos.append_flag(tool ? PMIX_REQUESTOR_IS_TOOL : PMIX_REQUESTOR_IS_CLIENT, true);
    if (rc != PMIX_SUCCESS) return reply.status(rc);
    for (pmix_app_t& app : apps) replace_ids(app, peer.credentials());
    Host& host = host_.of_spawn(peer);
    rc = check_service(host, infos, common::Function::PMIx_Spawn);
    for (const pmix_app_t& app : apps)
        if (rc == PMIX_SUCCESS) rc = check_service(host, {app.info, app.ninfo}, common::Function::PMIx_Spawn);
    if (rc != PMIX_SUCCESS) return reply.status(rc);
    const common::InfoView said(infos);
    const bool forwards = said.has(PMIX_FWD_STDOUT) || said.has(PMIX_FWD_STDERR) || said.has(PMIX_FWD_STDDIAG);
    host.spawn(peer.id(), std::move(infos), std::move(apps),
               [this, forwards, reply = std::move(reply)](HostAnswer& a) mutable {
                   if (forwards && common::succeeded(a.status)) iof_.spawned_with_forwarding(a.nspace);
                   answer(reply, a.status, std::move(a.nspace));
               });
}

void Spawn::answer(Reply& reply, pmix_status_t status, std::string name) {
    common::SpawnReply message;
    std::vector<int> descriptors;
    Nspace* nspace = registry_.find(name);
    message.nspace = std::move(name);
    auto requester = reply.peer();
    if (common::succeeded(status) && nspace != nullptr && requester != nullptr) {
        connect_.spawned(*requester, nspace->name);
        segments_.add(*requester, *nspace, message.segments, descriptors);
    }
    reply.message(common::plain(status), message, descriptors);
}

}  // namespace pmix::server

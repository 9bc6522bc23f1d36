// Abort: up to the host; the asker is answered when the host has answered, unless it is gone by then.
//
// Of a job of this process's own (local_jobs), done here.
//
// Loop thread, nothing owned. No procs: the asker's whole namespace, which the host sees as NULL.
#pragma once

#include <unistd.h>

#include "common/messages.h"
#include "server/host.h"
#include "server/local_jobs.h"
#include "server/registry.h"
#include "server/reply.h"

namespace pmix::server {

class Abort {
  public:
    Abort(Host& host, Registry& registry) : host_(host), registry_(registry) {}
    void set_local(LocalJobs* local) noexcept { local_ = local; }
    void request(Peer& peer, common::AbortRequest& request, Reply reply) {
        const bool own =
            local_ != nullptr && (request.procs.empty() ? local_->owns(peer.id().nspace) : local_->own(request.procs));
        if (own) {
            const uid_t uid = peer.credentials().uid;
            if (uid != 0 && uid != ::geteuid()) return reply.status(PMIX_ERR_NO_PERMISSIONS);
            reply.status(PMIX_SUCCESS);
            return local_->abort(peer.id(), request.status, request.procs);
        }
        Client* client = registry_.find_client(peer.id());
        host_.of(peer).abort(peer.id(), client == nullptr ? nullptr : client->server_object, request.status,
                             std::move(request.message), request.procs,
                             [reply = std::move(reply)](HostAnswer& a) mutable {
                                 reply.status(common::succeeded(a.status) ? PMIX_SUCCESS : a.status);
                             });
    }

  private:
    LocalJobs* local_ = nullptr;
    Host& host_;
    Registry& registry_;
};

}  // namespace pmix::server

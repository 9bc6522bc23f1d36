// Commit: one client's puts into its namespace's data.
//
// Loop thread. Published when it returns; whoever waited for it is answered before. What can go wrong: entries that no
// client of ours sends (PMIX_ERR_BAD_PARAM), a full quota or no memory (PMIX_ERR_OUT_OF_RESOURCE): nothing of the
// commit is visible then.
#pragma once

#include "common/messages.h"
#include "server/get.h"
#include "server/registry.h"
#include "server/reply.h"

namespace pmix::server {

class Commit {
  public:
    Commit(Registry& registry, Get& get) : registry_(registry), get_(get) {}
    void request(Peer& peer, common::CommitRequest& request, Reply reply) {
        Nspace* nspace = registry_.find(peer.id().nspace);
        if (nspace == nullptr) return reply.status(PMIX_ERR_NOT_FOUND);
        for (const common::CommitEntry& entry : request.entries) {
            // Internal data never leaves its process.
            bool scope = entry.scope == PMIX_LOCAL || entry.scope == PMIX_REMOTE || entry.scope == PMIX_GLOBAL;
            if (!scope || !common::is_valid_key(entry.key)) return reply.status(PMIX_ERR_BAD_PARAM);
        }
        if (nspace->data == nullptr) {
            if (pmix_status_t rc = registry_.ensure_data(*nspace); rc != PMIX_SUCCESS) return reply.status(rc);
            nspace->data->add_local(peer.id().rank);
        }
        auto generation = nspace->data->commit(peer.id().rank, request.entries);
        if (!generation.ok()) return reply.status(generation.status());
        registry_.written(*nspace);
        get_.committed(*nspace, peer.id().rank);
        common::CommitReply message;
        message.generation = nspace->data->generation();
        reply.message(PMIX_SUCCESS, message);
    }

  private:
    Registry& registry_;
    Get& get_;
};

}  // namespace pmix::server

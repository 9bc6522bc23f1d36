// SPDX-License-Identifier: BSD-3-Clause
#include "server/data/commit.h"

#include <algorithm>
#include <new>

#include "common/base/log.h"
#include "common/protocol/message_memory.h"

namespace pmix::server {

using common::FrameHeader;

void Commit::request(Peer& peer, common::CommitRequest& request, Reply reply) {
    // No job's data has a place for a tool's puts: they stay in its own process, and that is no refusal.
    if (peer.kind() == PeerKind::tool && registry_.find(peer.id().nspace) == nullptr) {
        return reply.message(PMIX_SUCCESS, common::CommitReply{});
    }
    pmix_status_t rc;
    try {
        rc = apply(peer, request);
    } catch (const std::bad_alloc&) {
        rc = PMIX_ERR_NOMEM;
    }
    peer.set_commits(request.generation);
    if (rc != PMIX_SUCCESS) return refuse(peer, request.generation, rc, std::move(reply));
    Nspace* nspace = registry_.find(peer.id().nspace);
    const auto refused = nspace->refused_commits.find({peer.id().rank, peer.serial()});
    if (refused != nspace->refused_commits.end() && refused->second.generation <= request.resent_up_to) {
        nspace->refused_commits.erase(refused);
    }
    registry_.written(*nspace);
    // What is for processes of other nodes only, nobody here has read.
    for (const common::CommitEntry& entry : request.entries)
        if (entry.scope == PMIX_DEL_LOCAL || entry.scope == PMIX_DEL_GLOBAL)
            deletions_.tell(*nspace, peer.id().rank, entry.key, &peer);
    get_.committed(*nspace, peer.id().rank, request.entries);
    common::CommitReply message;
    message.generation = nspace->data->generation();
    reply.message(PMIX_SUCCESS, message);
}

pmix_status_t Commit::apply(Peer& peer, const common::CommitRequest& request) {
    Nspace* nspace = registry_.find(peer.id().nspace);
    if (nspace == nullptr) return PMIX_ERR_NOT_FOUND;
    for (const common::CommitEntry& entry : request.entries) {
        // Internal data never leaves its process. A deletion has a scope of its own and no value.
        const bool deletes = entry.scope >= PMIX_DEL_LOCAL && entry.scope <= PMIX_DEL_GLOBAL;
        const bool scope = entry.scope == PMIX_LOCAL || entry.scope == PMIX_REMOTE || entry.scope == PMIX_GLOBAL;
        if (!(deletes ? entry.value.empty() : scope && !dstore::is_deleted(entry.value))) return PMIX_ERR_BAD_PARAM;
        if (!common::is_valid_key(entry.key)) return PMIX_ERR_BAD_PARAM;
    }
    if (nspace->data == nullptr) {
        if (pmix_status_t rc = registry_.ensure_data(*nspace); rc != PMIX_SUCCESS) return rc;
        nspace->data->add_local(peer.id().rank);
    }
    return nspace->data->commit(peer.id().rank, request.entries).status();
}

void Commit::refuse(Peer& peer, uint64_t generation, pmix_status_t status, Reply reply) {
    ++counters_.refused_commits;
    WIREUP_LOG(server, warn, "commit %llu of %s:%u is refused: %s", static_cast<unsigned long long>(generation),
               peer.id().nspace.c_str(), peer.id().rank, common::log_status(status));
    Nspace* nspace = registry_.find(peer.id().nspace);
    if (nspace != nullptr) {
        RefusedCommit& refused = nspace->refused_commits[{peer.id().rank, peer.serial()}];
        refused.generation = std::max(refused.generation, generation);
        refused.status = status;
    }
    if (reply.open()) {
        reply.status(status);
    } else {
        common::CommitRefusedNotify message;
        message.generation = generation;
        message.status = status;
        auto payload = common::message_bytes(message);
        if (!payload.ok()) return peer.close();
        FrameHeader header = FrameHeader::notify(static_cast<uint16_t>(common::Command::commit_refused));
        header.payload = static_cast<uint32_t>(payload->size());
        peer.send(header, *payload, {});
        const auto connection = peer.connection();
        peer.set_refusal_queued(connection != nullptr && connection->queued_bytes() != 0);
        count_refusal(nspace);
    }
    if (nspace != nullptr) get_.refused(*nspace, peer.id().rank, status);
}

// A process that looks for its refusals because of this finds them in its socket.
void Commit::count_refusal(Nspace* nspace) {
    if (nspace != nullptr && nspace->data != nullptr) nspace->data->count_refusal();
}

// It may have looked before the refusal was there.
void Commit::peer_reads(Peer& peer) {
    if (!peer.refusal_queued()) return;
    peer.set_refusal_queued(false);
    count_refusal(registry_.find(peer.id().nspace));
}

bool Commit::left(Peer& peer, common::Bytes payload) {
    common::CommitRequest message;
    size_t memory = 0;
    if (common::decode_message(payload, message, memory) != PMIX_SUCCESS) return false;
    counters_.count_request(static_cast<uint16_t>(common::Command::commit));
    request(peer, message, Reply());
    return true;
}

void Commit::unread(Peer& peer, common::Bytes payload) {
    common::ByteReader r(payload);
    const uint64_t generation = r.u64();
    if (r.ok()) peer.set_commits(generation);
    refuse(peer, r.ok() ? generation : 0, PMIX_ERR_NOMEM, Reply());
}

void Commit::peer_gone(const Peer& peer) {
    if (Nspace* nspace = registry_.find(peer.id().nspace)) {
        nspace->refused_commits.erase({peer.id().rank, peer.serial()});
    }
}

}  // namespace pmix::server

// SPDX-License-Identifier: BSD-3-Clause
#include "server/collectives/left_commits.h"

#include <memory>
#include <new>

#include "common/base/log.h"

namespace pmix::server {

using transport::CommitMailboxes;
using Watch = CommitMailboxes::Watch;

void LeftCommits::begin(JobFenceMemory& memory, const Nspace& nspace) noexcept {
    if (memory.commits_by_socket || memory.shared->mailboxes().watch() != Watch::closed) return;
    if (!get_.awaits_commit_of(nspace.number)) memory.shared->mailboxes().set_watch(Watch::idle);
}

void LeftCommits::end(JobFenceMemory& memory, const Nspace& nspace) noexcept {
    memory.close_mailboxes();
    take_all(nspace.number);
}

void LeftCommits::take_of(const Peer& peer) noexcept {
    if (memories_.all().empty()) return;
    JobFenceMemory* const memory = memories_.of_job(peer);
    const JobFenceMemory::Place* const place = memory == nullptr ? nullptr : memory->held_by(peer);
    if (place != nullptr) take_one(registry_.find(peer.id().nspace)->number, memory->slot_of(*place));
}

// No user has this server work for the jobs of others.
void LeftCommits::take_everywhere(const Peer& requester) noexcept {
    auto& all = memories_.all();
    for (auto at = all.begin(); at != all.end();) {
        const uint32_t nspace = at->first;
        const bool may = requester.kind() == PeerKind::self || at->second.user == requester.credentials().uid;
        if (may && at->second.shared->mailboxes().watch() != Watch::closed) take_all(nspace);
        at = all.upper_bound(nspace);
    }
}

void LeftCommits::awaited() noexcept {
    auto& all = memories_.all();
    for (auto at = all.begin(); at != all.end();) {
        const uint32_t nspace = at->first;
        if (at->second.shared->mailboxes().watch() != Watch::closed && get_.awaits_commit_of(nspace)) {
            at->second.close_mailboxes();
            take_all(nspace);
        }
        at = all.upper_bound(nspace);
    }
}

void LeftCommits::sent(const Peer& peer) noexcept {
    if (memories_.all().empty()) return;
    JobFenceMemory* const memory = memories_.of(peer);
    if (memory == nullptr || memory->look.is_set() || memory->shared->mailboxes().watch() != Watch::idle) return;
    const uint32_t nspace = registry_.find(peer.id().nspace)->number;
    try {
        memory->look = Timer(scheduler_, kLookMs, [this, nspace] { look(nspace); });
    } catch (const std::bad_alloc&) {  // the next commit asks once more
        return;
    }
    memory->shared->mailboxes().set_watch(Watch::looks);
}

void LeftCommits::look(uint32_t nspace) noexcept {
    auto& all = memories_.all();
    const auto at = all.find(nspace);
    if (at == all.end()) return;
    at->second.look = Timer();
    if (at->second.shared->mailboxes().watch() == Watch::looks) at->second.shared->mailboxes().set_watch(Watch::idle);
    take_all(nspace);
}

void LeftCommits::take_all(uint32_t nspace) noexcept {
    for (size_t place = 0; take_one(nspace, place); ++place) {
    }
}

// There is no memory for it. As for one out of the socket.
void LeftCommits::refuse(Peer& peer, common::Bytes payload) noexcept {
    scheduler_.step_lost();
    try {
        commit_.unread(peer, payload);
        return;
    } catch (const std::bad_alloc&) {  // it would not learn that its commit is lost
    }
    try {
        peer.close();
    } catch (const std::bad_alloc&) {
        scheduler_.step_lost();
    }
}

// False: there is no such place. The memory is looked up for each, because what a commit leads to may end it.
bool LeftCommits::take_one(uint32_t nspace, size_t place) noexcept {
    auto& all = memories_.all();
    const auto at = all.find(nspace);
    if (at == all.end() || place >= at->second.places.size()) return false;
    JobFenceMemory& memory = at->second;
    uint8_t buffer[CommitMailboxes::kMostBytes];
    const auto payload = memory.shared->mailboxes().take(static_cast<uint32_t>(place), CommitMailboxes::Buffer(buffer));
    if (!payload) return true;
    const std::shared_ptr<Peer> peer = memory.places[place].holder.lock();
    if (peer == nullptr) return true;
    bool well = true;
    try {
        well = commit_.left(*peer, *payload);
    } catch (const std::bad_alloc&) {
        refuse(*peer, *payload);
    }
    if (!well) {
        WIREUP_LOG(server, warn, "what %s:%u has left in memory is no commit", peer->id().nspace.c_str(),
                   peer->id().rank);
        memory.commits_by_socket = true;
        memory.close_mailboxes();
    }
    return true;
}

}  // namespace pmix::server

// SPDX-License-Identifier: BSD-3-Clause
#include "server/collectives/fence.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <memory>

#include "common/values/info_view.h"
#include "common/values/value.h"
#include "server/base/need.h"
#include "server/data/get.h"
#include "server/namespaces/modex_blob.h"

namespace pmix::server {

using common::Bytes;
using common::FenceUse;
using common::InfoList;
using common::Result;

namespace {

bool is_over_own_job(const common::FenceRequest& request, const Peer& peer) {
    return request.ranges.empty() && common::is_all_of(request.procs, peer.id().nspace);
}

// Sets that a job fences over. Beyond it the memory of what was sent starts anew: more is sent, nothing is lost.
constexpr size_t kMaxRemembered = 1024;
// The processes in all of them together.
constexpr size_t kMaxRememberedProcs = 1u << 20;
}  // namespace

// Why what the others would look for afterwards is not all there.
pmix_status_t Fence::refused(const Peer& peer) const {
    const Nspace* const own = registry_.find(peer.id().nspace);
    if (own == nullptr || own->refused_commits.empty()) return PMIX_SUCCESS;
    const auto refused = own->refused_commits.find({peer.id().rank, peer.serial()});
    return refused == own->refused_commits.end() ? PMIX_SUCCESS : refused->second.status;
}

void Fence::join(Peer& peer, Result<Signature> procs, InfoList infos, Reply reply) {
    enter(peer, std::move(procs), std::move(infos), std::move(reply), refused(peer));
}

void Fence::request(Peer& peer, common::FenceRequest& request, Reply reply) {
    if (request.procs.empty() && request.ranges.empty())
        request.procs.emplace_back(peer.id().nspace, PMIX_RANK_WILDCARD);
    if (is_over_own_job(request, peer)) {
        JobFenceMemory* memory = memories_.asked_by(peer.shared_from_this(), request.memory);
        if (request.memory == FenceUse::joined && ask_in_memory(memory, peer, request, reply)) return;
        if (memory != nullptr) memory = memories_.of_job(peer);
        // A round that runs has counted this process already.
        if (memory != nullptr && memory->running == 0) to_requests(*registry_.find(peer.id().nspace), *memory);
        // This call of the process is the one that counts.
        memory = memories_.of_job(peer);
        JobFenceMemory::Place* const held = memory == nullptr ? nullptr : memory->held_by(peer);
        if (held != nullptr) held->is_due = false;
    }
    join(peer, common::read_ranges(request.procs, std::move(request.ranges)), request.infos.take(), std::move(reply));
}

// Only what is newer than what this set was given before. Ranks without a commit contribute nothing.
Result<std::vector<uint8_t>> Fence::collect(const Signature& signature, Sent& sending) {
    std::vector<uint8_t> blob;
    auto known = sent_.find(signature);
    for (auto& [nspace, ranks] : registry_.local_members(signature)) {
        if (nspace->data == nullptr) continue;
        std::vector<dstore::RankSince> since;
        for (common::Rank rank : ranks) {
            uint64_t reached = nspace->data->committed(rank);
            if (reached == 0) continue;
            MemberId member = member_id(nspace->number, rank);
            uint64_t before = 0;
            if (known != sent_.end()) {
                auto at = known->second.find(member);
                if (at != known->second.end()) before = at->second;
            }
            if (before < reached) since.push_back({rank, before});
            sending[member] = reached;
        }
        if (since.empty()) continue;
        auto section = nspace->data->contribution(nspace->name, since);
        if (!section.ok()) return section;
        blob.insert(blob.end(), section->begin(), section->end());
    }
    return blob;
}

void Fence::launch(RoundId id, Round& round) {
    Reach reach = registry_.reach(round.signature);
    Host& host = host_of(round);
    if (reach == Reach::unknown && !host.has_fence()) reach = Reach::here;
    if (reach == Reach::here && round.required != Required::by_host) return finish(id, round.local_status);
    if (!host.has_fence()) return finish(id, PMIX_ERR_NOT_SUPPORTED);

    Sent sending;
    std::vector<uint8_t> blob;
    if (round.collect) {
        auto collected = collect(round.signature, sending);
        if (collected.ok()) {
            blob = std::move(collected).value();
        } else {
            // The others must not wait for this node: it takes part without data and with an error as local status.
            if (round.local_status == PMIX_SUCCESS) round.local_status = collected.status();
            sending.clear();
        }
    }
    // Never without data: Slurm's plug-in exchanges a fence between nodes only if the infos name PMIX_COLLECT_DATA,
    // with whatever value, and there are bytes. Otherwise each node's part ends at once, and where only some nodes have
    // bytes those nodes wait for the others without end.
    if (blob.empty()) blob = wrap_presence();
    std::unique_ptr<char, void (*)(void*)> data(static_cast<char*>(std::malloc(blob.size())), &std::free);
    size_t size = 0;
    if (data == nullptr) {
        round.local_status = PMIX_ERR_NOMEM;
        sending.clear();
    } else {
        size = blob.size();
        std::memcpy(data.get(), blob.data(), size);
    }
    // A copy: where there is no memory for the upcall, it is tried once more.
    InfoList infos;
    need(infos.append_all(round.infos.c_array(), round.infos.size()));
    mark_processed(infos, function_);
    // The infos are the first caller's; what any member asked for counts for all.
    if (round.collect && !common::InfoView(infos).flag(PMIX_COLLECT_DATA)) {
        if (pmix_info_t* no = infos.find(PMIX_COLLECT_DATA)) {
            common::destroy_value(&no->value);
            no->value.type = PMIX_BOOL;
            no->value.data.flag = true;
        } else {
            need(infos.append_flag(PMIX_COLLECT_DATA, true));
        }
    } else if (!round.collect && infos.find(PMIX_COLLECT_DATA) == nullptr) {
        need(infos.append_flag(PMIX_COLLECT_DATA, false));
    }
    need(round.users.append_ids(infos));
    need(infos.append_flag(PMIX_SORTED_PROC_ARRAY, true));
    need(infos.append_number<pmix_status_t>(PMIX_LOCAL_COLLECTIVE_STATUS, round.local_status, PMIX_STATUS));
    Signature signature = round.signature;
    Host::Done done = [this, id, signature, instances = instances_of(signature), sending = std::move(sending),
                       due = due(round)](HostAnswer& answer) {
        // The job may have ended, and its name been used again, while the host was answering: drop the data.
        if (still_there(signature, instances)) host_answered(id, signature, sending, answer);
    };
    host.fence(signature, std::move(infos), data.release(), size, std::move(done));
}

void Fence::host_answered(RoundId id, const Signature& signature, const Sent& sending, HostAnswer& answer) {
    pmix_status_t status = answer.status;
    // Also when the round has timed out meanwhile: the data is here, and later gets are spared a trip.
    if (common::succeeded(status) && !is_presence_only(answer.data)) {
        status = get_.ingest(answer.data);
        get_.received();
    }
    if (common::succeeded(status) && !sending.empty()) {
        if (sent_.size() >= kMaxRemembered || remembered_ >= kMaxRememberedProcs) {
            sent_.clear();
            remembered_ = 0;
        }
        const auto [at, fresh] = sent_.try_emplace(signature);
        if (fresh) remembered_ += signature.memory() / sizeof(common::ProcId) + sending.size();
        Sent& sent = at->second;
        for (const auto& [member, generation] : sending) sent[member] = std::max(sent[member], generation);
    }
    if (common::succeeded(status)) status = PMIX_SUCCESS;
    if (Round* round = find(id); round != nullptr && status == PMIX_SUCCESS) status = round->local_status;
    finish(id, status);
}

void Fence::answer(Reply& reply, const Signature& signature, pmix_status_t status) {
    auto peer = reply.peer();
    if (peer == nullptr) return;
    common::FenceReply message;
    std::vector<int> descriptors;
    if (status == PMIX_SUCCESS) {
        add_segments(segments_, registry_, signature, *peer, message.segments, descriptors);
        give_memory(*peer, signature, message, descriptors);
    }
    if (Nspace* own = registry_.find(peer->id().nspace); own != nullptr && own->data != nullptr)
        message.generation = own->data->generation();
    reply.message(status, message, descriptors);
}

void Fence::namespace_gone(Nspace& nspace) {
    CollectiveOperation::namespace_gone(nspace);
    if (JobFenceMemory* const memory = memories_.find(nspace)) {
        for (JobFenceMemory::Held& held : memory->held) held.reply.status(PMIX_ERR_NOT_FOUND);
        memory->turn_to_requests();
    }
    memories_.namespace_gone(nspace);
    std::erase_if(sent_, [&](const auto& entry) { return entry.first.names(nspace.name); });
}

}  // namespace pmix::server

// SPDX-License-Identifier: BSD-3-Clause
#include "server/iof/iof.h"

#include <algorithm>
#include <cassert>

#include "common/values/info_view.h"
#include "server/host/required.h"
#include "server/iof/spawners.h"

namespace pmix::server {

using common::InfoList;
using common::InfoView;
using common::ProcId;

namespace {

constexpr size_t kMostSettled = 1024;  // of namespaces that may never be registered here

bool names(const ProcId& pattern, const ProcId& proc) {
    return pattern.nspace == proc.nspace && (pattern.rank == PMIX_RANK_WILDCARD || pattern.rank == proc.rank);
}

}  // namespace

bool Iof::Pull::wants(const ProcId& source, pmix_iof_channel_t channel) const noexcept {
    if ((channels & channel) == 0 || leaving.open()) return false;
    return procs.empty() ||
           std::any_of(procs.begin(), procs.end(), [&](const ProcId& pattern) { return names(pattern, source); });
}

// ---- registrations ----

// What a tool reads it also gets of the jobs that are spawned; a host has to know that to send it here.
pmix_status_t Iof::append_requester(InfoList& infos, const Peer& peer) {
    infos.remove(PMIX_REQUESTOR_IS_TOOL);
    const pmix_status_t rc = append_ids(infos, peer.credentials());
    return rc == PMIX_SUCCESS && peer.kind() == PeerKind::tool ? infos.append_flag(PMIX_REQUESTOR_IS_TOOL, true) : rc;
}

void Iof::pull(Peer& peer, common::IofPullRequest& request, Reply reply) {
    const bool own = peer.kind() == PeerKind::self;
    if ((request.channels & PMIX_FWD_STDIN_CHANNEL) != 0) return reply.status(PMIX_ERR_NOT_SUPPORTED);
    if (request.channels == 0 || (request.procs.empty() && !own)) return reply.status(PMIX_ERR_BAD_PARAM);
    const Key key{peer.serial(), request.reference};
    if (pulls_.count(key) != 0) return reply.status(PMIX_ERR_BAD_PARAM);
    if (has_enough(peer.serial()) && !own) return reply.status(PMIX_ERR_OUT_OF_RESOURCE);
    IofLimit limit;
    pmix_status_t rc = read_iof_limit(request.infos.data(), request.infos.size(), limit);
    if (rc != PMIX_SUCCESS) return reply.status(rc);
    Pull pull{peer.shared_from_this(), std::move(request.procs), request.channels, IofQueue(limit), 0, Reply(), false};
    pull.inherits = !pull.procs.empty() && (own || peer.kind() == PeerKind::tool);
    // A queue longer than the default is charged as if it were full. Data in queues of the default length is shared by
    // all readers.
    const size_t longer = limit.bytes > common::kIofQueueBytes ? 3 * size_t{limit.bytes} : 0;
    size_t bytes = sizeof pull + pull.procs.size() * sizeof(ProcId) + longer;
    for (const ProcId& p : pull.procs) bytes += p.nspace.capacity();
    if (!pull.charge.set(peer.account(), bytes)) return reply.status(PMIX_ERR_OUT_OF_RESOURCE);
    // The host needs no upcall for a request of its own process.
    if (own) return settle(key, std::move(pull), std::move(reply), PMIX_SUCCESS);
    InfoList infos = request.infos.take();
    pull.copies = InfoView(infos).flag(PMIX_IOF_COPY);
    rc = append_requester(infos, peer);
    if (rc != PMIX_SUCCESS) return reply.status(rc);
    pull.asked_host = true;
    const common::ProcList procs = pull.procs;
    host_.iof_pull(procs, std::move(infos), request.channels,
                   [this, key, pull = std::move(pull), reply = std::move(reply)](HostAnswer& a) mutable {
                       settle(key, std::move(pull), std::move(reply), common::plain(a.status));
                   });
}

bool Iof::has_enough(uint64_t serial) const noexcept {
    return std::distance(pulls_.lower_bound({serial, 0}), pulls_.upper_bound({serial, UINT64_MAX})) >= kMaxIofPulls;
}

// Registers the reader, and sends it the cached output first.
void Iof::settle(Key key, Pull pull, Reply reply, pmix_status_t status) {
    auto peer = pull.peer.lock();
    const bool here = peer != nullptr && !peer->gone();
    if (!common::succeeded(status) || !here) {
        if (common::succeeded(status)) tell_host_end(pull);
        return reply.status(status);
    }
    // Several requests may have been at the host together.
    if (has_enough(peer->serial()) && peer->kind() != PeerKind::self) {
        tell_host_end(pull);
        return reply.status(PMIX_ERR_OUT_OF_RESOURCE);
    }
    auto [it, fresh] = pulls_.emplace(key, std::move(pull));
    if (!fresh) return reply.status(PMIX_ERR_BAD_PARAM);
    reply.status(PMIX_SUCCESS);
    Pull& mine = it->second;
    cache_.take([&](const ProcId& source, pmix_iof_channel_t channel) { return mine.wants(source, channel); },
                [&](const ProcId& source, pmix_iof_channel_t channel, IofBufferPtr buffer, uint64_t lost) {
                    mine.queue.add_lost(source, channel, lost);
                    if (buffer != nullptr) mine.queue.push(std::move(buffer), nullptr);
                });
    pump(it);
}

// With what the host needs to know which of several readers of the same it is.
void Iof::tell_host_end(const Pull& pull) {
    if (!pull.asked_host) return;
    InfoList infos;
    if (infos.append_flag(PMIX_IOF_STOP, true) != PMIX_SUCCESS) return;
    if (pull.copies && infos.append_flag(PMIX_IOF_COPY, true) != PMIX_SUCCESS) return;
    auto peer = pull.peer.lock();
    if (peer != nullptr && append_requester(infos, *peer) != PMIX_SUCCESS) return;
    if (peer == nullptr && pull.inherits && infos.append_flag(PMIX_REQUESTOR_IS_TOOL, true) != PMIX_SUCCESS) return;
    host_.iof_pull(pull.procs, std::move(infos), pull.channels, [](HostAnswer&) {});
}

void Iof::deregister(Peer& peer, common::IofDeregisterRequest& request, Reply reply) {
    auto it = pulls_.find({peer.serial(), request.reference});
    if (it == pulls_.end() || it->second.leaving.open()) return reply.status(PMIX_ERR_BAD_PARAM);
    tell_host_end(it->second);
    if (!reply.open()) {
        // The requester wants no reply: its handler is gone, so the rest is dropped.
        pulls_.erase(it);
        return;
    }
    it->second.leaving = std::move(reply);
    it->second.queue.release_receipts();
    pump(it);
}

void Iof::peer_gone(const Peer& peer) {
    input_.peer_gone(peer);
    const uint64_t serial = peer.serial();
    std::vector<Pull> gone;  // destroyed after the loop: their receipts run callbacks
    for (auto it = pulls_.lower_bound({serial, 0}); it != pulls_.end() && it->first.first == serial;) {
        gone.push_back(std::move(it->second));
        it = pulls_.erase(it);
    }
    for (const Pull& pull : gone)
        if (!pull.leaving.open()) tell_host_end(pull);
}

void Iof::stop(pmix_status_t) {
    const Pulls gone = std::move(pulls_);
    pulls_.clear();
    cache_.clear();
    input_.clear();
}

// ---- output ----

void Iof::deliver(IofDelivery delivery) {
    auto receipt = std::make_shared<IofReceipt>([this, done = std::move(delivery.done)](pmix_status_t status) mutable {
        scheduler_.post([done = std::move(done), status]() mutable { done(status); });
    });
    IofLimit cache = default_cache_;
    pmix_status_t rc = read_iof_limit(delivery.infos.c_array(), delivery.infos.size(), cache);
    if (rc != PMIX_SUCCESS) return receipt->fail(rc);
    // Another server writes it: this one has it for its readers alone.
    const bool shown =
        !InfoView(delivery.infos).has(PMIX_IOF_LOCAL_OUTPUT) || InfoView(delivery.infos).flag(PMIX_IOF_LOCAL_OUTPUT);
    const bool ends = delivery.data.empty() || InfoView(delivery.infos).flag(PMIX_IOF_COMPLETE);

    std::vector<IofBufferPtr> buffers;
    auto buffer = std::make_shared<IofBuffer>();
    buffer->source = delivery.source;
    buffer->channel = delivery.channel;
    buffer->data = std::move(delivery.data);
    buffer->infos = std::move(delivery.infos);
    if (!buffer->is_end()) buffers.push_back(buffer);
    if (ends) {
        auto end = std::make_shared<IofBuffer>();
        end->source = delivery.source;
        end->channel = delivery.channel;
        end->infos.append_flag(PMIX_IOF_COMPLETE, true);
        buffers.push_back(std::move(end));
    }
    bool taken = false, inherits = false;
    for (auto it = pulls_.begin(); it != pulls_.end();) {
        auto next = std::next(it);
        if (!shown && it->second.procs.empty()) {
            it = next;
            continue;
        }
        if (it->second.wants(delivery.source, delivery.channel)) {
            taken = true;
            for (const IofBufferPtr& p : buffers) it->second.queue.push(p, p->is_end() ? nullptr : receipt);
            pump(it);
        } else if (it->second.inherits) {
            inherits = true;
        }
        it = next;
    }
    if (inherits) deliver_to_heirs(delivery.source, delivery.channel, buffers, receipt);
    if (taken) return;
    for (IofBufferPtr& p : buffers) cache_.keep(std::move(p), cache);
}

// Each tool once, by what it reads of the process that is nearest.
void Iof::deliver_to_heirs(const ProcId& source, pmix_iof_channel_t channel, const std::vector<IofBufferPtr>& buffers,
                           const IofReceiptPtr& receipt) {
    if (std::find(settled_.begin(), settled_.end(), source.nspace) != settled_.end()) return;
    const common::ProcList spawners = spawners_of(registry_, source);
    std::vector<uint64_t> served;  // peers
    for (const auto& [key, pull] : pulls_)
        if (!spawners.empty() && pull.inherits && pull.wants(source, channel)) served.push_back(key.first);
    for (const ProcId& spawner : spawners) {
        const size_t before = served.size();
        for (auto it = pulls_.begin(); it != pulls_.end(); ++it) {
            Pull& pull = it->second;
            const auto end = served.begin() + static_cast<ptrdiff_t>(before);
            if (!pull.inherits || std::find(served.begin(), end, it->first.first) != end) continue;
            if (!pull.wants(spawner, channel)) continue;
            served.push_back(it->first.first);
            assert(!pull.leaving.open());
            for (const IofBufferPtr& p : buffers) pull.queue.push(p, p->is_end() ? nullptr : receipt);
            pump(it);  // ends nothing: this reader is not leaving
        }
    }
}

void Iof::spawned_with_forwarding(std::string_view nspace) {
    if (settled_.size() >= kMostSettled) settled_.pop_front();
    settled_.emplace_back(nspace);
}

void Iof::namespace_gone(Nspace& nspace) {
    std::erase(settled_, nspace.name);
}

// Sends as much as the reader's window takes. May end the registration.
void Iof::pump(Pulls::iterator it) {
    Pull& pull = it->second;
    while (!pull.queue.empty() && pull.in_flight < common::kIofWindow)
        send(pull, it->first.second, pull.queue.take(common::kIofFrameBytes));
    if (!pull.leaving.open() || !pull.queue.empty()) return;
    Pull gone = std::move(pull);
    pulls_.erase(it);
    assert(gone.queue.bytes() == 0);
    gone.leaving.status(PMIX_SUCCESS);
}

void Iof::send(Pull& pull, uint64_t reference, IofQueue::Part part) {
    pull.in_flight += part.size + common::kIofFrameCost;
    auto peer = pull.peer.lock();
    if (peer == nullptr || peer->gone()) return;
    common::IofNotify message;
    message.source = part.buffer->source;
    message.channel = part.buffer->channel;
    message.data = common::Bytes(part.buffer->data.data() + part.offset, part.size);
    if (part.offset == 0) {
        const InfoList& infos = part.buffer->infos;
        message.infos = common::Infos::borrow(infos.c_array(), infos.size());
    }
    message.reference = reference;
    message.lost = part.lost;
    common::ByteWriter w;
    if (common::encode_message(w, message) != PMIX_SUCCESS) {
        // An info that cannot be encoded: the bytes are sent without infos.
        message.infos = common::Infos();
        if (common::encode_message(w, message) != PMIX_SUCCESS) return;
    }
    common::FrameHeader header = common::FrameHeader::notify(static_cast<uint16_t>(common::Command::iof));
    header.payload = static_cast<uint32_t>(w.size());
    peer->send(header, w.view(), {});
}

void Iof::credit(Peer& peer, common::IofCredit& request, Reply) {
    auto it = pulls_.find({peer.serial(), request.reference});
    if (it == pulls_.end()) return;
    it->second.in_flight -= static_cast<size_t>(std::min<uint64_t>(request.bytes, it->second.in_flight));
    pump(it);
}

// ---- input ----

void Iof::push(Peer& peer, common::IofPushRequest& request, Reply reply) {
    Host& host = host_.of_processes(peer, request.procs);
    if (!host.has_push_stdin()) return reply.status(PMIX_ERR_NOT_SUPPORTED);
    if (request.procs.empty()) return reply.status(PMIX_ERR_BAD_PARAM);
    if (request.probe) return reply.status(PMIX_SUCCESS);
    InfoList infos = request.infos.take();
    pmix_status_t rc = check_service(host, infos, common::Function::PMIx_IOF_push);
    if (rc == PMIX_SUCCESS) rc = append_ids(infos, peer.credentials());
    if (rc != PMIX_SUCCESS) return reply.status(rc);
    input_.push(
        peer,
        {peer.id(), request.procs, std::move(infos), {request.data.begin(), request.data.end()}, std::move(reply)});
}

}  // namespace pmix::server

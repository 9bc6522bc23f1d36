// SPDX-License-Identifier: BSD-3-Clause
#include "client/tool/server_set.h"

#include <algorithm>
#include <atomic>
#include <cassert>
#include <optional>
#include <utility>

#include "common/protocol/event_infos.h"
#include "common/protocol/messages.h"

namespace pmix::client {

using common::Bytes;
using common::Command;
using common::FrameHeader;
using common::FrameKind;
using common::MutexLock;
using common::ProcId;

// Ended pulls whose output may still be on its way.
constexpr size_t kEndedPulls = 64;

// One server: its channel, and which of our requests it has not answered.
class ServerSet::Member final : public transport::ConnectionHandler {
  public:
    Member(ServerSet& set, ProcId id, Standing standing) : set_(set), id_(std::move(id)), standing_(standing) {}

    const ProcId& id() const noexcept { return id_; }
    bool stands_in() const noexcept { return standing_ == Standing::stand_in; }
    Channel& channel() noexcept { return *channel_; }
    void set_channel(std::unique_ptr<Channel> channel) noexcept { channel_ = std::move(channel); }

    // The process has asked to be finalized here, or does so now.
    void note_finalized() noexcept { finalized_.store(true, std::memory_order_relaxed); }
    bool is_finalized() const noexcept { return finalized_.load(std::memory_order_relaxed); }
    bool awaits_finalize() const noexcept {
        return !is_finalized() && channel_->connected() && channel_->awaits_finalize();
    }

    // Runs send(), with the request in the list before an answer can come.
    template <class F>
    pmix_status_t sending(const FrameHeader& header, Bytes payload, F&& send) {
        const bool asks = header.kind == FrameKind::request;
        if (asks) {
            const Open open{header.command, pull_of(header, payload)};
            MutexLock lock(mutex_);
            if (closed_) return PMIX_ERR_UNREACH;
            [[maybe_unused]] const bool is_new = open_.emplace(header.id, open).second;
            assert(is_new);
        }
        const pmix_status_t rc = send();
        if (asks && rc != PMIX_SUCCESS) answered(header.id, rc);
        return rc;
    }

    // Ends what is open. No request is taken after it.
    void fail_all() REQUIRES(common::loop_thread) {
        std::map<uint32_t, Open> open;
        {
            MutexLock lock(mutex_);
            closed_ = true;
            open.swap(open_);
        }
        for (const auto& [id, request] : open)
            set_.hooks_.sink.on_frame({FrameHeader::reply(request.command, id, PMIX_ERR_LOST_CONNECTION), {}, {}});
    }

    bool take_anywhere(transport::ReceivedFrame& frame) noexcept override {
        if (frame.header.kind == FrameKind::reply) answered(frame.header.id, frame.header.status);
        if (!is_for_us(frame.header)) return true;
        return set_.hooks_.sink.take_anywhere(frame);
    }
    void on_frame(transport::ReceivedFrame frame) REQUIRES(common::loop_thread) override {
        if (frame.header.kind == FrameKind::reply) answered(frame.header.id, frame.header.status);
        if (!is_for_us(frame.header)) return;
        const Speaking speaking(set_.speaking_, this);
        set_.hooks_.sink.on_frame(std::move(frame));
    }
    void on_closed(pmix_status_t) REQUIRES(common::loop_thread) override { set_.member_closed(*this); }

  private:
    // While the set's sink has a frame of this server.
    class Speaking {
      public:
        Speaking(const Member*& now, const Member* member) noexcept : now_(now), outer_(std::exchange(now, member)) {}
        ~Speaking() { now_ = outer_; }
        Speaking(const Speaking&) = delete;
        Speaking& operator=(const Speaking&) = delete;

      private:
        const Member*& now_;
        const Member* const outer_;
    };

    // Segments are the primary server's, and numbered by it.
    bool is_for_us(const FrameHeader& header) const noexcept {
        const bool about_segments =
            header.kind == FrameKind::notify && (header.command == static_cast<uint16_t>(Command::segment_gone) ||
                                                 header.command == static_cast<uint16_t>(Command::attach_nspace));
        return !about_segments || set_.is_primary(*this);
    }
    // The forwarding that a request begins or ends.
    static std::optional<uint64_t> pull_of(const FrameHeader& header, Bytes payload) {
        common::IofPullRequest pull;
        common::IofDeregisterRequest end;
        if (header.command == static_cast<uint16_t>(Command::iof_pull) &&
            common::decode_message(payload, pull) == PMIX_SUCCESS)
            return pull.reference;
        if (header.command == static_cast<uint16_t>(Command::iof_deregister) &&
            common::decode_message(payload, end) == PMIX_SUCCESS)
            return end.reference;
        return {};
    }
    void answered(uint32_t id, pmix_status_t status) noexcept {
        Open request;
        {
            MutexLock lock(mutex_);
            auto at = open_.find(id);
            if (at == open_.end()) return;
            request = at->second;
            open_.erase(at);
        }
        // Nothing is forwarded any more, or never was.
        const bool begins = request.command == static_cast<uint16_t>(Command::iof_pull);
        if (request.pull && !(begins && common::succeeded(status))) set_.forget_pull(*request.pull);
    }

    ServerSet& set_;
    std::atomic<bool> finalized_{false};
    const ProcId id_;
    const Standing standing_;
    std::unique_ptr<Channel> channel_;
    common::Mutex mutex_;
    struct Open {
        uint16_t command = 0;
        std::optional<uint64_t> pull;
    };
    std::map<uint32_t, Open> open_ GUARDED_BY(mutex_);
    bool closed_ GUARDED_BY(mutex_) = false;
};

ServerSet::ServerSet(Hooks hooks) : hooks_(std::move(hooks)) {}

ServerSet::~ServerSet() = default;

void ServerSet::Handler::settle_at(const Member& member) {
    home = &member;
    if (server != member.id()) server = member.id(), had = 0;
}

// ---- the attached servers ----

ServerSet::MemberPtr ServerSet::find(const ProcId& id) const {
    auto it = std::find_if(members_.begin(), members_.end(), [&](const MemberPtr& m) { return m->id() == id; });
    return it == members_.end() ? nullptr : *it;
}

bool ServerSet::is_primary(const Member& member) const {
    MutexLock lock(mutex_);
    return primary_.get() == &member;
}

std::vector<ProcId> ServerSet::servers() const {
    MutexLock lock(mutex_);
    std::vector<ProcId> ids;
    if (primary_ != nullptr) ids.push_back(primary_->id());
    for (const MemberPtr& m : members_)
        if (m != primary_) ids.push_back(m->id());
    return ids;
}

bool ServerSet::has(const ProcId& id) const {
    MutexLock lock(mutex_);
    return find(id) != nullptr;
}

size_t ServerSet::pulls() const {
    MutexLock lock(mutex_);
    return pulls_.size();
}

bool ServerSet::stood_in() const {
    MutexLock lock(mutex_);
    return primary_ != nullptr && primary_->stands_in();
}

bool ServerSet::connected() const noexcept {
    MutexLock lock(mutex_);
    return primary_ != nullptr && primary_->channel().connected();
}

FinalizeWay ServerSet::way_to_finalize(const MemberPtr& member) {
    member->note_finalized();
    return [member](const FrameHeader& header, Bytes payload, transport::Waiter* waiter, transport::Deadline deadline) {
        return member->sending(header, payload, [&] {
            Channel& channel = member->channel();
            return waiter == nullptr ? channel.send(header, payload)
                                     : channel.send_and_wait(header, payload, *waiter, deadline);
        });
    };
}

std::vector<FinalizeWay> ServerSet::take_all_to_finalize() {
    MutexLock lock(mutex_);
    std::vector<FinalizeWay> ways;
    for (const MemberPtr& m : members_)
        if (m->awaits_finalize()) ways.push_back(way_to_finalize(m));
    return ways;
}

pmix_status_t ServerSet::take_to_finalize(const ProcId& id, std::vector<FinalizeWay>& ways) {
    MutexLock lock(mutex_);
    const MemberPtr member = find(id);
    if (member == nullptr || member->is_finalized()) return PMIX_ERR_NOT_FOUND;
    if (member->awaits_finalize()) ways.push_back(way_to_finalize(member));
    return PMIX_SUCCESS;
}

bool ServerSet::serves_root_for_another() const noexcept {
    MutexLock lock(mutex_);
    return primary_ != nullptr && primary_->channel().serves_root_for_another();
}

// ---- coming and going ----

pmix_status_t ServerSet::attach(const ProcId& id, const Make& make, Standing standing) {
    retired_.erase(
        std::remove_if(retired_.begin(), retired_.end(), [](const MemberPtr& m) { return m.use_count() == 1; }),
        retired_.end());
    auto member = std::make_shared<Member>(*this, id, standing);
    {
        MutexLock lock(mutex_);
        if (find(id) != nullptr) return PMIX_ERR_EXISTS;
        members_.reserve(members_.size() + 1);
        retired_.reserve(retired_.size() + members_.size() + 1);
    }
    auto channel = make(*member);
    if (!channel) return channel.status();
    member->set_channel(std::move(channel).value());
    bool first = false;
    {
        MutexLock lock(mutex_);
        members_.push_back(member);
        first = primary_ == nullptr ? members_.size() == 1 : primary_->stands_in();
    }
    return first ? set_primary(id) : PMIX_SUCCESS;
}

pmix_status_t ServerSet::set_primary(const ProcId& id) {
    MemberPtr member;
    {
        MutexLock lock(mutex_);
        member = find(id);
        if (member == nullptr) return PMIX_ERR_NOT_FOUND;
        if (member == primary_) return PMIX_SUCCESS;
        primary_ = member;
    }
    hooks_.changed(id);
    settle_handlers();
    return PMIX_SUCCESS;
}

// Handlers that no server has are the primary one's.
void ServerSet::settle_handlers() {
    MemberPtr primary;
    std::vector<common::Blob> registrations;
    {
        MutexLock lock(mutex_);
        primary = primary_;
        if (primary == nullptr || primary->is_finalized()) return;
        for (auto& [reference, handler] : handlers_) {
            if (handler.home != nullptr) continue;
            const bool returns = handler.server == primary->id() && handler.had != 0;
            handler.registration.after = returns ? handler.had : handler.until;
            auto payload = common::message_bytes(handler.registration);
            if (!payload) continue;
            registrations.push_back(std::move(payload).value());
            handler.settle_at(*primary);
        }
    }
    FrameHeader header = FrameHeader::notify(static_cast<uint16_t>(Command::register_events));
    for (const auto& payload : registrations) {
        header.payload = static_cast<uint32_t>(payload.size());
        primary->channel().send(header, payload);
    }
}

void ServerSet::take_out(const MemberPtr& member) {
    bool was_primary = false;
    {
        MutexLock lock(mutex_);
        std::erase(members_, member);
        was_primary = primary_ == member;
        if (was_primary) primary_ = nullptr;
        for (auto& [reference, handler] : handlers_)
            if (handler.home == member.get()) handler.home = nullptr, handler.until = common::event_clock();
        std::erase_if(pulls_, [&](const auto& entry) { return entry.second.lock() == member; });
    }
    // It may be what has called us.
    retired_.push_back(member);
    // First, since a caller that hears of the loss may choose another server at once.
    if (was_primary) hooks_.changed({});
    member->fail_all();
    // Where another one is the primary, nobody chooses one now.
    settle_handlers();
}

void ServerSet::forget_pull(uint64_t reference) noexcept {
    MutexLock lock(mutex_);
    pulls_.erase(reference);
}

pmix_status_t ServerSet::detach(const ProcId& id) {
    transport::assert_on_loop();
    MemberPtr member;
    {
        MutexLock lock(mutex_);
        member = find(id);
    }
    if (member == nullptr) return PMIX_ERR_NOT_FOUND;
    auto finalize = common::message_bytes(common::FinalizeRequest());
    pmix_status_t rc = finalize ? PMIX_SUCCESS : finalize.status();
    if (finalize && !member->is_finalized()) {
        FrameHeader header = FrameHeader::notify(static_cast<uint16_t>(Command::finalize));
        header.payload = static_cast<uint32_t>(finalize->size());
        rc = member->channel().send(header, finalize.value());
    }
    take_out(member);
    member->channel().close();
    return rc;
}

void ServerSet::member_closed(Member& gone) {
    MemberPtr member;
    {
        MutexLock lock(mutex_);
        auto it = std::find_if(members_.begin(), members_.end(), [&](const MemberPtr& m) { return m.get() == &gone; });
        if (it != members_.end()) member = *it;
    }
    if (member == nullptr) return;
    take_out(member);
    if (!gone.is_finalized()) hooks_.lost(gone.id());
}

void ServerSet::close() noexcept {
    transport::assert_on_loop();
    {
        MutexLock lock(mutex_);
        handlers_.clear();  // they move nowhere
    }
    for (;;) {
        MemberPtr member;
        {
            MutexLock lock(mutex_);
            if (members_.empty()) break;
            member = members_.back();
        }
        try {
            detach(member->id());
        } catch (const std::bad_alloc&) {
            // No memory: close without the finalize message.
            MutexLock lock(mutex_);
            std::erase(members_, member);
            member->channel().close();
        }
    }
    MutexLock lock(mutex_);
    primary_ = nullptr;
}

void ServerSet::abandon() noexcept NO_THREAD_SAFETY_ANALYSIS {
    // In a forked child the lock may be held by a thread that is not there.
    for (const MemberPtr& member : members_) member->channel().abandon();
    for (const MemberPtr& member : retired_) member->channel().abandon();
}

// ---- events ----

void ServerSet::note_event(uint64_t number, uint64_t replay_for) {
    if (speaking_ == nullptr || number == 0) return;
    MutexLock lock(mutex_);
    for (auto& [reference, handler] : handlers_) {
        if (handler.home != speaking_ || (replay_for != 0 && reference != replay_for - 1)) continue;
        handler.had = std::max(handler.had, number);
    }
}

bool ServerSet::is_from_server_of(uint64_t reference) const {
    if (speaking_ == nullptr) return true;
    MutexLock lock(mutex_);
    const auto handler = handlers_.find(reference);
    return handler == handlers_.end() || handler->second.home == speaking_;
}

// ---- sending ----

ServerSet::MemberPtr ServerSet::route(const FrameHeader& header, Bytes payload) {
    MutexLock lock(mutex_);
    switch (static_cast<Command>(header.command)) {
        case Command::register_events: {
            common::RegisterEventsRequest request;
            if (common::decode_message(payload, request) != PMIX_SUCCESS) return primary_;
            const uint64_t reference = request.reference;
            Handler& handler = handlers_[reference];
            handler = {std::move(request), nullptr, {}, 0, 0};
            if (primary_ != nullptr) handler.settle_at(*primary_);
            return primary_;
        }
        case Command::deregister_events: {
            common::DeregisterEventsRequest request;
            if (common::decode_message(payload, request) != PMIX_SUCCESS) return primary_;
            auto it = handlers_.find(request.reference);
            if (it == handlers_.end()) return primary_;
            const Member* home = it->second.home;
            handlers_.erase(it);
            for (const MemberPtr& m : members_)
                if (m.get() == home) return m;
            return nullptr;
        }
        case Command::iof_pull: {
            common::IofPullRequest request;
            if (common::decode_message(payload, request) == PMIX_SUCCESS && primary_ != nullptr)
                pulls_[request.reference] = primary_;
            return primary_;
        }
        case Command::iof_credit: {
            common::IofCredit credit;
            if (common::decode_message(payload, credit) != PMIX_SUCCESS) return primary_;
            auto it = pulls_.find(credit.reference);
            return it == pulls_.end() ? primary_ : it->second.lock();
        }
        case Command::iof_deregister: {
            common::IofDeregisterRequest request;
            if (common::decode_message(payload, request) != PMIX_SUCCESS) return primary_;
            auto it = pulls_.find(request.reference);
            if (it == pulls_.end()) return primary_;
            // Credit is given for what is still on its way: the last few are remembered.
            ended_pulls_.push_back(request.reference);
            const MemberPtr home = it->second.lock();
            if (ended_pulls_.size() > kEndedPulls) {
                pulls_.erase(ended_pulls_.front());
                ended_pulls_.pop_front();
            }
            return home;
        }
        default:
            return primary_;
    }
}

pmix_status_t ServerSet::send(const FrameHeader& header, Bytes payload) {
    const MemberPtr to = route(header, payload);
    if (to == nullptr) return PMIX_ERR_UNREACH;
    return to->sending(header, payload, [&] { return to->channel().send(header, payload); });
}

pmix_status_t ServerSet::send_and_wait(const FrameHeader& header, Bytes payload, transport::Waiter& waiter,
                                       transport::Deadline deadline) {
    const MemberPtr to = route(header, payload);
    if (to == nullptr) return PMIX_ERR_UNREACH;
    return to->sending(header, payload, [&] { return to->channel().send_and_wait(header, payload, waiter, deadline); });
}

pmix_status_t ServerSet::wait_for_room(transport::Deadline deadline) {
    MemberPtr to;
    {
        MutexLock lock(mutex_);
        to = primary_;
    }
    return to == nullptr ? PMIX_SUCCESS : to->channel().wait_for_room(deadline);
}

common::Result<SegmentGrant> ServerSet::attach(std::string_view nspace, transport::Deadline deadline) {
    MemberPtr to;
    {
        MutexLock lock(mutex_);
        to = primary_;
    }
    if (to == nullptr) return PMIX_ERR_NOT_FOUND;
    return to->channel().attach(nspace, deadline);
}

}  // namespace pmix::client

// SPDX-License-Identifier: BSD-3-Clause
// One process and its server: identity, channel, open requests, mapped namespaces, private data, event handlers.
//
// The operations (get, put, fence, publish, ...) are functions on a Session, one file each; this file is what they
// share: asking the server and waiting, asking and being called back. Callers' threads encode, read stores, send and
// wait; replies and events are received through ConnectionHandler (see there for threads). All user code runs on the
// loop.
//
// What can go wrong: no server (PMIX_ERR_UNREACH), a server that was lost while a call waited
// (PMIX_ERR_LOST_CONNECTION for each such call, and an event of that code), a blocking call on the loop thread
// (PMIX_ERR_WOULD_BLOCK).
#pragma once

#include <atomic>
#include <exception>
#include <memory>
#include <new>
#include <span>
#include <utility>
#include <vector>

#include "client/session/channel.h"
#include "client/session/pending_requests.h"
#include "client/session/request_window.h"
#include "client/session/session_modules.h"
#include "client/session/time_limit.h"
#include "client/state/borrowed_values.h"
#include "client/state/commit_refusals.h"
#include "client/state/group_membership.h"
#include "client/state/memory_fence.h"
#include "client/state/namespaces.h"
#include "client/state/own_facts.h"
#include "client/state/query_cache.h"
#include "common/base/ids.h"
#include "common/base/mutex.h"
#include "common/base/status.h"
#include "common/protocol/hello.h"
#include "common/protocol/messages.h"
#include "dstore/private_store.h"
#include "transport/event_loop.h"

namespace pmix::client {

class Events;
class Fabrics;
class GroupEvents;
class Iof;

class Session final : public transport::ConnectionHandler {
  public:
    // Without a channel the process is alone: what needs a server answers PMIX_ERR_UNREACH.
    Session(transport::EventLoop& loop, common::ProcId self, common::ProcId server);
    ~Session();
    Session(const Session&) = delete;
    Session& operator=(const Session&) = delete;

    // The modules above the session, which it owns and does not know (client/modules: make_session()).
    struct ModuleParts {
        Events* events = nullptr;
        Iof* iof = nullptr;
        GroupEvents* group_events = nullptr;
        Fabrics* fabrics = nullptr;
    };
    void set_parts(const ModuleParts& parts) noexcept { parts_ = parts; }
    void set_modules(std::unique_ptr<SessionModules> modules) noexcept { modules_ = std::move(modules); }

    // Before the first call.
    void set_channel(std::unique_ptr<Channel> channel) noexcept { channel_ = std::move(channel); }

    const common::ProcId& self() const noexcept { return self_; }
    // The one that requests go to. A tool's may change, and may be nobody (an empty name).
    const common::ProcId& server() const noexcept { return *server_.load(std::memory_order_acquire); }
    transport::EventLoop& loop() noexcept { return loop_; }
    Namespaces& namespaces() noexcept { return namespaces_; }
    dstore::PrivateStore& mine() noexcept { return mine_; }
    dstore::PrivateStore::Nspace own_nspace() const noexcept { return own_nspace_; }
    // Is this process in strict mode (common/values/strict.h)? Set before the first call.
    bool strict() const noexcept { return strict_; }
    void set_strict(bool strict) noexcept { strict_ = strict; }
    // Does its server take participants as ranges, and with bits (common/protocol/hello.h)? Of a tool, whose servers
    // change, not known. Set before the first call.
    bool takes_ranges() const noexcept { return takes_ranges_; }
    bool takes_rank_bits() const noexcept { return takes_rank_bits_; }
    bool takes_group_ranges() const noexcept { return takes_group_ranges_; }
    // Does its server take deletions in a commit? Of a tool, whose values stay with it, taken for granted. Likewise.
    bool server_deletes() const noexcept { return server_deletes_; }
    // Does its server form groups of processes that are invited? Likewise, not of a tool.
    bool server_invites() const noexcept { return server_invites_; }
    // Is its server content with a client that reads when it makes a call? Likewise.
    bool may_read_late() const noexcept { return may_read_late_; }
    // Its server may know more of a job than it has said of it: one that speaks OpenPMIx's protocol. A client's is set
    // before the first call, a tool's with the first such server.
    bool server_has_more() const noexcept { return server_has_more_.load(std::memory_order_relaxed); }
    void set_server_has_more() noexcept { server_has_more_.store(true, std::memory_order_relaxed); }
    void set_features(uint64_t features) noexcept {
        takes_ranges_ = (features & common::kFeatureRanges) != 0;
        takes_rank_bits_ = (features & common::kFeatureRankBits) != 0;
        takes_group_ranges_ = (features & common::kFeatureGroupRanges) != 0;
        server_deletes_ = (features & common::kFeatureDeletions) != 0;
        server_invites_ = (features & common::kFeatureInvitations) != 0;
        may_read_late_ = (features & common::kFeatureReadsLate) != 0;
    }
    // Has PMIx_Store_internal been used for another process?
    bool stored_for_others() const noexcept { return stored_for_others_.load(std::memory_order_acquire); }
    void set_stored_for_others() noexcept { stored_for_others_.store(true, std::memory_order_release); }
    // Inside a Reading. The segment of the own namespace, or null.
    const dstore::Reader* own_reader() const noexcept { return namespaces_.own(); }
    // Likewise, by name.
    const dstore::Reader* reader(std::string_view nspace) const noexcept {
        return nspace == self_.nspace ? own_reader() : namespaces_.find(nspace);
    }
    Events& events() noexcept { return *parts_.events; }
    Iof& iof() noexcept { return *parts_.iof; }
    GroupEvents& group_events() noexcept { return *parts_.group_events; }
    Fabrics& fabrics() noexcept { return *parts_.fabrics; }
    GroupMembership& group_membership() noexcept { return group_membership_; }
    QueryCache& query_cache() noexcept { return query_cache_; }
    BorrowedValues& borrowed() noexcept { return borrowed_; }
    OwnFacts& own_facts() noexcept { return own_facts_; }

    bool connected() const noexcept { return channel_ != nullptr && channel_->connected(); }
    // The same for a caller that may go on for long without a word to the server: every kLookMs it looks whether that
    // is still there.
    bool still_connected() noexcept;
    bool server_takes(const pmix_value_t& value) const { return channel_ == nullptr || channel_->takes(value); }
    // See Channel. Loop.
    void note_event(uint64_t number, uint64_t replay_for) {
        if (channel_ != nullptr) channel_->note_event(number, replay_for);
    }
    bool is_from_server_of(uint64_t reference) const {
        return channel_ == nullptr || channel_->is_from_server_of(reference);
    }
    // Its servers are of its own choice.
    bool is_tool() const noexcept { return is_tool_; }
    void set_is_tool() noexcept { is_tool_ = true; }
    // It is the client half of a server: its calls are the host's. (A launcher that is its own server is a tool.)
    bool is_servers_own() const noexcept { return !is_tool_ && server() == self_; }
    // There is one, or there was.
    bool has_server() const noexcept { return channel_ != nullptr; }
    // Asks the server, or those of a tool, to note that this process finalizes, and waits for their answers: ten
    // seconds at most, for all of them together. What comes of it does not matter to a process that goes. Not on the
    // loop.
    void ask_to_finalize(std::span<const pmix_info_t> infos);
    void ask_to_finalize(std::span<const pmix_info_t> infos, std::span<const FinalizeWay> ways);
    // What is here of this process may be older than what the server has.
    bool may_be_old(std::string_view nspace, common::Rank rank) const noexcept {
        return channel_ != nullptr && channel_->may_be_old(nspace, rank);
    }
    // It ends, or has ended: a wait for anything else than a reply stops. Any thread.
    bool is_shut() const noexcept { return shut_.load(std::memory_order_acquire); }
    // A call made here must not wait: it would wait for itself.
    bool must_not_wait() const noexcept { return loop_.on_loop_thread(); }

    // A tool of root's at the server of another user: it maps none of that user's memory, whose contents its owner may
    // change while they are read. What lies in segments only is not there for it (PMIX_ERR_NO_PERMISSIONS).
    bool refuses_segments() const noexcept {
        return is_tool_ && channel_ != nullptr && channel_->serves_root_for_another();
    }
    // Maps the segments of a reply or of the first frames.
    pmix_status_t add_segments(const common::SegmentList& segments, std::vector<transport::Descriptor>&& descriptors);
    // Takes in what the server has sent without being asked, where the loop's thread is not there to do so.
    // False: there may be more.
    bool read_pending() noexcept { return channel_ == nullptr || channel_->read_pending(); }
    // The same of refused commits, without a system call where the server has refused none.
    void read_refusals() noexcept;
    // Maps a namespace's segment if there is one that is not mapped yet. May wait. PMIX_ERR_OUT_OF_RESOURCE: there is
    // one, and no room for its descriptor in this process.
    pmix_status_t attach(std::string_view nspace, TimeLimit limit);
    // Asks for the segment that has taken the place of the one that is mapped. May wait. PMIX_ERR_NOT_FOUND: there is
    // none, the namespace has ended, and what was mapped of it is not found any more.
    pmix_status_t renew(std::string_view nspace, TimeLimit limit);
    // The same without a wait: done(status) runs on the loop, once if this answers PMIX_SUCCESS and never otherwise.
    template <class Done>
    pmix_status_t attach_nb(std::string_view nspace, Done done, TimeLimit limit, int tries = kAttachTries) {
        common::AttachNspaceRequest request;
        request.nspace = nspace;
        return ask_nb<common::Command::attach_nspace>(
            request,
            [this, name = request.nspace, done, limit, tries](pmix_status_t rc, common::AttachNspaceReply& reply) {
                if (attach_again(name, rc, reply) && tries > 1 && !limit.over()) {
                    rc = attach_nb(name, done, limit, tries - 1);
                    if (rc == PMIX_SUCCESS) return;
                }
                if (rc == PMIX_ERR_NOT_FOUND) forget_ended(name);
                done(rc == PMIX_SUCCESS && namespaces_.lacks(name) ? PMIX_ERR_OUT_OF_RESOURCE : rc);
            },
            limit.left_s());
    }
    // The same where nobody else is waited for (a server and its own segments). PMIX_ERR_TIMEOUT: its loop did not come
    // to it in time.
    pmix_status_t attach_here(std::string_view nspace, TimeLimit limit);
    // Commits so far. Under the commit mutex.
    uint64_t commits() const noexcept { return commits_; }
    void count_commit() noexcept { ++commits_; }
    // The newest one that is on its way to the server. Any thread.
    uint64_t sent_commit() const noexcept { return sent_commit_.load(std::memory_order_acquire); }
    void set_sent_commit(uint64_t commit) noexcept { sent_commit_.store(commit, std::memory_order_release); }
    // What was refused of the commits up to this one is staged again, and the server does not know that yet; 0:
    // nothing. Under the commit mutex.
    uint64_t resent_up_to() const noexcept { return resent_up_to_; }
    void set_resent_up_to(uint64_t commit) noexcept { resent_up_to_ = commit; }
    CommitRefusals& refusals() noexcept { return refusals_; }
    MemoryFence& memory_fence() noexcept { return memory_fence_; }
    common::Mutex& commit_mutex() noexcept { return commit_mutex_; }

    // Asks and waits. timeout_s 0: no limit. A server that does not keep the limit it was given is given up somewhat
    // later than it.
    template <common::Command C>
    pmix_status_t ask(const typename common::CommandTypes<C>::Request& request,
                      typename common::CommandTypes<C>::Reply& reply, int timeout_s = 0) {
        auto payload = written(request);
        if (!payload) return payload.status();
        Blocked blocked;
        pmix_status_t rc = ask_bytes(static_cast<uint16_t>(C), payload.value(), timeout_s, blocked);
        if (!common::succeeded(rc) && blocked.payload.empty()) return rc;
        return finish(rc, blocked.payload, std::move(blocked.descriptors), reply);
    }

    // Asks; done(status, reply&) runs on the loop, once if this answers PMIX_SUCCESS and never otherwise.
    template <common::Command C, class Done>
    pmix_status_t ask_nb(const typename common::CommandTypes<C>::Request& request, Done done, int timeout_s = 0) {
        auto payload = written(request);
        if (!payload) return payload.status();
        using Reply = typename common::CommandTypes<C>::Reply;
        CallPtr call(new (std::nothrow) Callback<Reply, Done>(*this, std::move(done)));
        if (call == nullptr) return PMIX_ERR_NOMEM;
        return ask_bytes_nb(static_cast<uint16_t>(C), payload.value(), timeout_s, std::move(call));
    }

    // Before a blocking call takes a lock and sends something to which there is no answer: waits while a server that
    // does not read has too much before it. Not on the loop thread, which would wait for itself.
    pmix_status_t wait_for_room() {
        return channel_ == nullptr ? PMIX_SUCCESS : channel_->wait_for_room(transport::Deadline::never());
    }

    // Says something to which there is no answer. The payload is an encoded message.
    pmix_status_t tell(common::Command command, common::Bytes payload) {
        if (payload.size() > common::kMaxFramePayload) return PMIX_ERR_OUT_OF_RESOURCE;
        return send(common::FrameHeader::notify(static_cast<uint16_t>(command)), payload);
    }

    // The same for one that lies in several places.
    pmix_status_t tell(common::Command command, std::span<const common::Bytes> parts);

    // Runs a step on the loop and waits for it; inline where this is the loop.
    template <class F>
    void on_loop_and_wait(F&& step) {
        if (loop_.on_loop_thread()) {
            step();
            return;
        }
        transport::Waiter done;
        bool finished = false;
        loop_.post([&step, &done, &finished] {
            const transport::CompleteAtEnd at_end(done);
            step();
            finished = true;
        });
        loop_.wait(done, transport::Deadline::never());
        if (!finished) throw std::bad_alloc();
    }

    // Ends all that waits, closes the channel, tells nobody. Loop thread. After it nothing is asked any more.
    void shut(pmix_status_t why) noexcept;
    // A tool: from here on this server answers, and what was learnt from the one before is forgotten. Loop.
    void turn_to(const common::ProcId& server);
    // A tool: one of its servers is gone. Loop.
    void server_lost(const common::ProcId& server);
    // In a forked child, instead of destruction.
    void abandon() noexcept;

    // transport::ConnectionHandler
    bool take_anywhere(transport::ReceivedFrame& frame) noexcept override;
    void take_new_segments(transport::ReceivedFrame& frame) noexcept;
    void take_gone_segment(const transport::ReceivedFrame& frame) noexcept;
    void on_frame(transport::ReceivedFrame frame) REQUIRES(common::loop_thread) override;
    void on_closed(pmix_status_t why) REQUIRES(common::loop_thread) override;

  private:
    // A caller that waits for an answer: on its stack.
    struct Blocked final : Call {
        void complete(Answer&& answer) noexcept override;
        bool anywhere() const noexcept override { return true; }
        bool borrowed() const noexcept override { return true; }

        transport::Waiter waiter;
        pmix_status_t status = PMIX_SUCCESS;
        common::Blob payload;
        std::vector<transport::Descriptor> descriptors;
    };

    // An answer for a function.
    template <class Reply, class Done>
    struct Callback final : Call {
        Callback(Session& s, Done d) : session(s), done(std::move(d)) {}
        void complete(Answer&& answer) noexcept override {
            Reply reply;
            pmix_status_t rc = answer.status;
            if (common::succeeded(rc) || !answer.payload.empty()) {
                rc = session.finish(rc, answer.payload, std::move(answer.descriptors), reply);
            }
            try {
                done(rc, reply);
            } catch (const std::exception&) {  // out of the user's callback: not ours to pass on
            }
        }
        Session& session;
        Done done;
    };

    template <class Reply>
    pmix_status_t finish(pmix_status_t rc, common::Bytes payload, std::vector<transport::Descriptor>&& descriptors,
                         Reply& reply) noexcept {
        try {
            const pmix_status_t decoded = common::decode_message(payload, reply);
            if (decoded != PMIX_SUCCESS) {
                note_failed_comm();
                return common::succeeded(rc) ? decoded : rc;
            }
            if constexpr (requires { reply.memory_ranks; }) {
                if (reply.memory_ranks != 0 && !descriptors.empty()) {
                    memory_fence_.take(std::move(descriptors.back()), reply.memory_ranks, reply.memory_slot);
                    descriptors.pop_back();
                }
            }
            if constexpr (requires { reply.segments; }) {
                const pmix_status_t added = add_segments(reply.segments, std::move(descriptors));
                if (added != PMIX_SUCCESS && common::succeeded(rc)) return added;
            }
            return rc;
        } catch (const std::bad_alloc&) {
            return PMIX_ERR_NOMEM;
        }
    }

    // The server sends a descriptor anew only when everything before it has been read, so that unread ones do not pile
    // up. An answer without one says that something else was under way to this process: by now it has been read.
    static constexpr int kAttachTries = 16;
    bool attach_again(std::string_view nspace, pmix_status_t rc, const common::AttachNspaceReply& reply) const noexcept;

    // A message could not be read, or not be written: the process itself hears of it.
    void note_failed_comm() noexcept;
    template <class Request>
    auto written(const Request& request) {
        auto payload = common::message_bytes(request);
        if (!payload) note_failed_comm();
        return payload;
    }

    pmix_status_t send(common::FrameHeader header, common::Bytes payload);
    pmix_status_t ask_bytes(uint16_t command, common::Bytes payload, int timeout_s, Blocked& blocked);
    pmix_status_t ask_bytes_nb(uint16_t command, common::Bytes payload, int timeout_s, CallPtr call);
    void complete(CallPtr call, transport::ReceivedFrame& frame) noexcept;
    // A windowed request has ended: sends one that waits in its place. Loop.
    void send_next(uint32_t ended) noexcept REQUIRES(common::loop_thread);
    // Unmaps what was removed as soon as nobody reads in it: now, or in some milliseconds and then more. Loop.
    void reclaim(int64_t next_try_ms);
    void defer_reclaim();
    // The namespace has ended at the server. Without memory for it, all stays as it is.
    void forget_ended(std::string_view nspace) noexcept;

    static constexpr int64_t kLookMs = 10;

    transport::EventLoop& loop_;
    const common::ProcId self_;
    std::atomic<const common::ProcId*> server_;
    std::vector<std::unique_ptr<const common::ProcId>> servers_;  // all there ever were: callers hold references
    std::unique_ptr<Channel> channel_;
    Calls calls_;
    RequestWindow window_;
    Namespaces namespaces_;
    dstore::PrivateStore mine_;
    const dstore::PrivateStore::Nspace own_nspace_;
    bool is_tool_ = false;
    bool strict_ = false;
    bool takes_ranges_ = false;
    bool takes_rank_bits_ = false;
    bool takes_group_ranges_ = false;
    bool server_deletes_ = true;
    bool server_invites_ = false;
    bool may_read_late_ = false;
    std::atomic<bool> server_has_more_{false};
    std::atomic<bool> reclaiming_{false};
    std::atomic<bool> shut_{false};
    std::atomic<bool> stored_for_others_{false};
    GroupMembership group_membership_{self_};
    BorrowedValues borrowed_;
    QueryCache query_cache_;
    OwnFacts own_facts_;
    std::unique_ptr<SessionModules> modules_;
    ModuleParts parts_;

    common::Mutex commit_mutex_;
    uint64_t commits_ = 0;
    uint64_t resent_up_to_ = 0;
    std::atomic<uint64_t> sent_commit_{0};
    std::atomic<int64_t> looked_at_ms_{0};  // still_connected()
    CommitRefusals refusals_;
    std::atomic<uint32_t> refusals_read_{0};  // of dstore::Reader::refusals()
    MemoryFence memory_fence_;
};

}  // namespace pmix::client

// SPDX-License-Identifier: BSD-3-Clause
// The servers of a tool: one Channel that is several. Requests go to the primary server, and what standing requests
// (event handlers, forwarded output) need afterwards goes to the server that has them.
//
// Owns the channels, as the Session's channel. send() and the questions from any thread, under one short lock; attach,
// detach, set_primary and what comes in on the loop. A request is remembered until it is answered: when its server
// goes, its caller gets PMIX_ERR_LOST_CONNECTION and the other servers go on.
//
// A handler stands at one server, so that no event comes twice: the one that was primary when it registered, or, where
// there was none or that one has gone, the primary one, now or when there is one. It is called for that server's
// events only. Where it moves to it is sent what is newer than the loss of its last server, and what is newer than the
// last event that it has had where it returns.
//
// What can go wrong: no primary server (PMIX_ERR_UNREACH), a server that is not attached (PMIX_ERR_NOT_FOUND).
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <vector>

#include "client/session/channel.h"
#include "common/base/ids.h"
#include "common/base/mutex.h"
#include "common/protocol/messages.h"
#include "transport/event_loop.h"

namespace pmix::client {

class ServerSet final : public Channel {
  public:
    // sink: the session. lost: a server went away by itself; on the loop. changed: another server (or none: an empty
    // name) is the primary one; on the loop.
    struct Hooks {
        transport::ConnectionHandler& sink;
        std::function<void(const common::ProcId&)> lost;
        std::function<void(const common::ProcId&)> changed;
    };
    explicit ServerSet(Hooks hooks);
    ~ServerSet() override;

    // Loop. make(handler) opens the channel whose frames go to the handler. The first server becomes primary.
    using Make = std::function<common::Result<std::unique_ptr<Channel>>(transport::ConnectionHandler& handler)>;
    // One that stands in is the primary one until there is another.
    enum class Standing : uint8_t { server, stand_in };
    pmix_status_t attach(const common::ProcId& id, const Make& make, Standing standing = Standing::server);
    // Sends the finalize message, if it has not been sent, and closes. Loop.
    pmix_status_t detach(const common::ProcId& id) REQUIRES(common::loop_thread);
    pmix_status_t set_primary(const common::ProcId& id);
    // The ways to servers that are to answer a finalize before their connections end: of all, or of one, for which
    // PMIX_ERR_NOT_FOUND says that it is not there, or that another call leaves it. A way is given once, and what it is
    // given for is to be asked then: its end is no loss any more. Any thread.
    std::vector<FinalizeWay> take_all_to_finalize();
    pmix_status_t take_to_finalize(const common::ProcId& id, std::vector<FinalizeWay>& ways);

    // Any thread. The primary one first, then by age.
    std::vector<common::ProcId> servers() const;
    bool has(const common::ProcId& id) const;
    // Is the primary one there for want of another?
    bool stood_in() const;

    // Channel
    pmix_status_t send(const common::FrameHeader& header, common::Bytes payload) override;
    pmix_status_t send_and_wait(const common::FrameHeader& header, common::Bytes payload, transport::Waiter& waiter,
                                transport::Deadline deadline) override;
    pmix_status_t wait_for_room(transport::Deadline deadline) override;
    common::Result<SegmentGrant> attach(std::string_view nspace, transport::Deadline deadline) override;
    // How many forwardings stand at a server.
    size_t pulls() const;
    bool connected() const noexcept override;
    bool serves_root_for_another() const noexcept override;
    void note_event(uint64_t number, uint64_t replay_for) override;
    bool is_from_server_of(uint64_t reference) const override;
    void close() noexcept override;
    void abandon() noexcept override;

  private:
    class Member;
    using MemberPtr = std::shared_ptr<Member>;
    struct Handler {
        common::RegisterEventsRequest registration;
        const Member* home = nullptr;
        // Of its home, or of the last one: its name, the last event from there by its number, and when it went.
        common::ProcId server;
        uint64_t had = 0;
        uint64_t until = 0;
        void settle_at(const Member& member);
    };

    MemberPtr find(const common::ProcId& id) const REQUIRES(mutex_);
    static FinalizeWay way_to_finalize(const MemberPtr& member);
    bool is_primary(const Member& member) const;
    // Where a frame goes; notes what it sets up or ends. Null: nowhere.
    MemberPtr route(const common::FrameHeader& header, common::Bytes payload);
    void take_out(const MemberPtr& member) REQUIRES(common::loop_thread);
    void forget_pull(uint64_t reference) noexcept;
    void settle_handlers();
    void member_closed(Member& member) REQUIRES(common::loop_thread);

    Hooks hooks_;
    mutable common::Mutex mutex_;
    std::vector<MemberPtr> members_ GUARDED_BY(mutex_);  // by age
    MemberPtr primary_ GUARDED_BY(mutex_);
    std::map<uint64_t, Handler> handlers_ GUARDED_BY(mutex_);             // event handlers, by reference
    std::map<uint64_t, std::weak_ptr<Member>> pulls_ GUARDED_BY(mutex_);  // forwarded output, by reference
    std::deque<uint64_t> ended_pulls_ GUARDED_BY(mutex_);                 // some of them, oldest first
    const Member* speaking_ = nullptr;                                    // whose frame the sink has; loop
    // Out of use, but a caller's thread may still be inside: destroyed later, on the loop.
    std::vector<MemberPtr> retired_;
};

}  // namespace pmix::client

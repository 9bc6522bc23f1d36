// SPDX-License-Identifier: BSD-3-Clause
// Between OpenPMIx's messages and this library's frames, for one client: its requests become frames that dispatch
// knows, what the operations answer becomes its replies. No operation learns of it.
//
// Owned by an OpenPmixPeer. Loop thread only. A client of OpenPMIx maps no segment, so where an answer says "it is in
// the segment now", the values are read from there and sent. What can go wrong: bytes that are no such message (the
// request is answered with the status of the decoder), a tag that is in use (the connection ends), no memory
// (std::bad_alloc).
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "common/protocol/messages.h"
#include "openpmix/frame.h"
#include "openpmix/messages.h"
#include "openpmix/read_ahead.h"
#include "openpmix/traits.h"
#include "server/base/budget.h"
#include "server/base/peer.h"
#include "server/base/scheduler.h"
#include "server/namespaces/registry.h"
#include "server/namespaces/segments.h"
#include "server/openpmix/earlier_invitations.h"
#include "server/openpmix/invitations.h"
#include "server/openpmix/job_data.h"

namespace pmix::server {

class OpenPmixTranslator {
  public:
    // Both ways out of here.
    class Ends {
      public:
        virtual void send_message(uint32_t tag, common::Bytes payload) = 0;
        virtual void serve_frame(const common::FrameHeader& header, common::Bytes payload) = 0;
        // All that was sent has left this process's memory.
        virtual bool all_sent() const noexcept = 0;
        // Calls drained() later, from the loop.
        virtual void call_drained() = 0;

      protected:
        ~Ends() = default;
    };

    OpenPmixTranslator(Peer& peer, Ends& ends, const Registry& registry, const Segments& segments,
                       OpenPmixJobData& job_data, Scheduler& scheduler, const openpmix::Traits& traits)
        : peer_(peer),
          ends_(ends),
          registry_(registry),
          segments_(segments),
          job_data_(job_data),
          scheduler_(scheduler),
          traits_(traits) {}

    // From the client. False: it does not keep to the protocol; end its connection.
    bool message(const openpmix::FrameHeader& header, common::Bytes payload);
    // From the server, for the client.
    void frame(const common::FrameHeader& header, common::Bytes payload);
    // A process has deleted a key that this client may keep.
    void key_deleted(const common::ProcId& proc, std::string_view key);
    // The input that it pushes is to stop, or may go on, if it is one of these.
    void input_controlled(const std::optional<common::ProcId>& source, bool stop);
    // What had waited for the socket has been sent: readers of output get their credit.
    void drained();

  private:
    // A request on its way through the server.
    struct Pending {
        openpmix::Command command = openpmix::Command::job_data;
        common::ProcId proc;  // get, refresh
        std::string key;      // get; group_invite: the group
        bool renews = false;  // get: what the client has may be old
        uint64_t reference = 0;
        std::vector<pmix_status_t> codes;  // register_events
        bool own = false;                  // not the client's
        std::string numbers;               // own: the group that is to have its context id
    };
    // Clients that have such requests leave the upper half of the tags to their servers.
    static constexpr uint32_t kFirstOwnTag = 0x80000000;
    static constexpr size_t kMostInvites = 64;
    // An invitation of this client's (translator_groups.cpp).
    enum class Answer { none, accepted, refused };
    struct Asked {
        Answer answer = Answer::none;
        bool reported = false;  // the client has been told that it has failed
    };
    struct Invite {
        common::ProcList asked;  // itself, where it is to be a member
        std::map<common::ProcId, Asked> answers;
        size_t pending = 0;  // of them
        bool optional = false, assigns = false;
        pmix_status_t sent = PMIX_SUCCESS;
        bool answered = false;   // the client has its answer, so the end may follow
        bool numbering = false;  // its context id is awaited, and nothing else
        uint32_t timeout = 0;    // seconds; 0: none
        Timer timer;
        Charge charge;
    };
    struct Numbered {
        std::string group;
        std::string temporary;  // the group that has given the number
        std::optional<size_t> number;
    };
    // A registration for events, under the name that the server has for it.
    struct Registration {
        std::set<pmix_status_t> codes;  // empty at first: a default handler
        bool is_default = false;
    };

    // An event that waits for the answer of a registration.
    struct Held {
        std::vector<uint8_t> payload;
        Charge charge;
    };

    // ---- requests (translator_requests.cpp) ----
    template <class Theirs>
    bool read(uint32_t tag, common::Bytes payload, Theirs* out);
    template <class Ours>
    void pass(uint32_t tag, common::Command command, const Ours& request, Pending pending);
    template <class Theirs, class Ours, class Convert>
    bool relay(uint32_t tag, common::Bytes payload, common::Command command, Convert convert);
    bool request(uint8_t command, uint32_t tag, common::Bytes payload);
    bool request_of_services(openpmix::Command command, uint32_t tag, common::Bytes payload);
    bool tell_job(uint32_t tag);
    bool commit(uint32_t tag, common::Bytes payload);
    bool get(uint32_t tag, common::Bytes payload);
    bool refresh(uint32_t tag, common::Bytes payload);
    bool register_events(uint32_t tag, common::Bytes payload);
    bool deregister_events(common::Bytes payload);
    bool lookup(uint32_t tag, common::Bytes payload);
    bool unpublish(uint32_t tag, common::Bytes payload);
    bool log(uint32_t tag, common::Bytes payload);
    bool iof_pull(uint32_t tag, common::Bytes payload);
    bool iof_deregister(uint32_t tag, common::Bytes payload);
    bool group_destruct(uint32_t tag, common::Bytes payload);
    template <class Ours>
    void pass_own(common::Command command, const Ours& request);

    // ---- invitations (translator_groups.cpp) ----
    bool group_invite(uint32_t tag, common::Bytes payload);
    bool group_join(uint32_t tag, common::Bytes payload);
    void complete_group_event(common::NotifyEventRequest& event);
    common::NotifyEventRequest event_of_client(pmix_status_t code, const common::InfoList& infos) const;
    void announce(pmix_status_t code, const common::InfoList& infos);
    void tell_client(pmix_status_t code, const common::InfoList& infos);
    bool listen_to_groups();
    // The client's acceptances, where another process leads now.
    void accept_again();
    void not_sent(const std::string& group, pmix_status_t status);
    void end_waiting();
    void hear_of_groups(const common::EventNotify& event);
    common::ProcList each_of(const common::ProcList& procs) const;
    void settle_invites();
    void settle(const std::string& group);
    void complete(const std::string& group, const std::optional<size_t>& number);
    void number_group(const std::string& group);
    void numbered(const Pending& pending, pmix_status_t status, common::Bytes payload);
    void settle_numbered();
    void notify_server(common::Command command, const auto& message);

    // ---- replies (translator_replies.cpp) ----
    template <class Theirs>
    void answer(uint32_t tag, const Theirs& reply);
    void answer_status(uint32_t tag, pmix_status_t status);
    void reply(uint32_t tag, const Pending& pending, pmix_status_t status, common::Bytes payload);
    void reply_infos(uint32_t tag, const Pending& pending, pmix_status_t status, common::Bytes payload);
    void reply_get(uint32_t tag, const Pending& pending);
    std::vector<std::vector<uint8_t>> ahead_of(const Nspace& nspace, common::Rank asked);
    void reply_refresh(uint32_t tag, const Pending& pending);
    void reply_lookup(uint32_t tag, common::Bytes payload);
    void reply_spawn(uint32_t tag, common::Bytes payload);
    void reply_connect(uint32_t tag, common::Bytes payload);
    void reply_credential(uint32_t tag, common::Bytes payload);
    void reply_resolve(uint32_t tag, const Pending& pending, common::Bytes payload);
    void reply_group(uint32_t tag, common::Bytes payload);
    void event(common::Bytes payload);
    void hold_event(common::Bytes payload);
    void send_held_events();
    void send_event(const common::EventNotify& event);
    bool is_wanted(const common::EventNotify& event) const;
    void output(common::Bytes payload);
    void give_credit(uint64_t reference, uint64_t bytes);
    // The encoded calls behind a proc or a namespace's name, as a byte object's content.
    template <class Head>
    std::vector<uint8_t> with_head(const Head& head, common::Bytes calls) const;
    const Nspace* readable(std::string_view nspace) const;
    std::vector<std::vector<uint8_t>> jobs_of(const common::SegmentList& segments);

    Peer& peer_;
    Ends& ends_;
    const Registry& registry_;
    const Segments& segments_;
    OpenPmixJobData& job_data_;
    Scheduler& scheduler_;
    const openpmix::Traits traits_;
    std::map<uint32_t, Pending> pending_;  // by tag
    uint64_t commits_ = 0;
    std::optional<openpmix::ReadAhead> ahead_;  // since the first Get behind an exchange
    uint64_t next_reference_ = 1;
    std::map<uint64_t, Registration> registrations_;  // by reference
    size_t registering_ = 0;                          // of them, those that are not answered
    std::deque<Held> held_events_;                    // until then
    uint64_t lost_events_ = 0;                        // of those, the account being full
    std::map<uint64_t, size_t> pulls_;                // by reference: the client's number for it
    OpenPmixInvitations invitations_;
    EarlierInvitations earlier_;
    std::map<std::string, Invite, std::less<>> invites_;  // by group
    std::vector<Numbered> numbered_;
    bool listens_ = false;  // to the events of invitations
    uint32_t next_own_tag_ = kFirstOwnTag;
    bool pushes_ = false;                  // has pushed input
    std::vector<common::IofCredit> owed_;  // for output that waits for the socket
};

}  // namespace pmix::server

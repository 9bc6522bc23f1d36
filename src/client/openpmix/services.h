// SPDX-License-Identifier: BSD-3-Clause
// What a session asks of a server beside data, in OpenPMIx's messages: events, forwarded output, publish and look up,
// spawn, connect, groups, queries, log, control, monitoring, credentials, fabrics and resolving.
//
// Owned by an OpenPmixTranslator. Loop thread only. Three things are kept here because the other side does not:
//
//   events   a server has a set of codes for this process and no registrations. A code is registered with it once for
//            all handlers, without the directives of any of them, which the process itself follows; it is taken back
//            with the last handler. Nor does a server pass an event back to the process that raised it: its own
//            handlers are told here, also those that come later, of the newest of its events. What a server keeps
//            for these itself, as releases from 5.0 on do, they would have twice: it is dropped.
//            An event that a server sends before there is a handler is kept for those to come.
//   input    what is pushed while the server has stopped it, answered only when the server has it. With 16 MiB of it
//            here, a further push is refused with PMIX_ERR_OUT_OF_RESOURCE.
//   groups   the members of each, which the end of a group names again, as does a collective operation of the group.
//
// What a server has no command for is answered with PMIX_ERR_NOT_SUPPORTED, here or by the server; resolving, from what
// is known here.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "client/openpmix/exchange.h"
#include "client/openpmix/shadow.h"

namespace pmix::client {

class OpenPmixServices {
  public:
    OpenPmixServices(OpenPmixExchange& exchange, Shadow& shadow, const common::ProcId& self)
        : exchange_(exchange), shadow_(shadow), self_(self) {}

    // This process is a tool, to which a server forwards some output by itself.
    void set_is_tool() noexcept { is_tool_ = true; }
    // False: nothing that a server of OpenPMIx knows.
    bool request(const common::FrameHeader& header, common::Bytes payload);
    // Unasked, from the server.
    void event(common::Bytes payload);
    void output(common::Bytes payload);
    void control_input(common::Bytes payload);
    // The members of groups in the place of the groups' names.
    void replace_groups(common::ProcList& procs) const;
    // What this process shows to others than its node's: a connect tells it.
    void note_put(std::string_view key, common::Bytes value);
    void note_deletion(std::string_view key);

  private:
    struct Pull {
        pmix_iof_channel_t channels = 0;
        common::ProcList procs;
        std::optional<size_t> server_reference;
        bool asked = true;   // and not answered
        bool ended = false;  // before the answer
    };
    struct Group {
        common::ProcList members;  // each process, in the order of the group's ranks
        common::ProcList named;    // the same with wildcards for whole jobs; empty: without one
        bool constructed = false;  // else asked for
        // They keep their ranks in the group, and take no part in it any more.
        std::set<common::ProcId> left{};
        common::ProcList remaining() const;
        // The same as a server is to be told it: all members name a group alike, or it takes them for different ones.
        common::ProcList present() const { return left.empty() && !named.empty() ? named : remaining(); }
    };
    // An invitation that was sent or accepted, until there is a group or none.
    struct Invitation {
        common::FrameHeader header;
        common::ProcId leader;  // the process that has sent it
    };
    struct Registration {
        common::FrameHeader header;
        std::vector<pmix_status_t> codes;
        bool waits = false;  // for the server to have all of them
    };
    struct Code {
        size_t handlers = 0;
        uint64_t request = 0;  // the one that asks the server for it; 0: none
        bool registered = false;
    };

    bool request_of_host(const common::FrameHeader& header, common::Bytes payload);
    template <class Ours, class Convert>
    void relay_infos(const common::FrameHeader& header, common::Bytes payload, Convert convert);
    template <class Ours, class Convert>
    void relay_status(const common::FrameHeader& header, common::Bytes payload, Convert convert) {
        exchange_.relay_status<Ours>(header, payload, convert);
    }

    // This class's own registration, for the events that invitations end with.
    static constexpr uint64_t kWatch = uint64_t{1} << 61;
    // And for those by which members leave.
    static constexpr uint64_t kWatchLeft = kWatch + 2;
    void register_events(const common::FrameHeader& header, common::Bytes payload);
    void deregister_events(const common::FrameHeader& header, common::Bytes payload);
    void advance(uint64_t reference);
    void registered(uint64_t reference, uint64_t request, pmix_status_t status);
    void forget_registration(uint64_t reference);
    void notify_event(const common::FrameHeader& header, common::Bytes payload);
    void keep(common::EventNotify&& event);
    void replay_kept(uint64_t reference);
    bool has_handler(pmix_status_t code, bool non_default) const noexcept;
    bool is_kept(const openpmix::EventMessage& event) const noexcept;
    void query(const common::FrameHeader& header, common::Bytes payload);
    void lookup(const common::FrameHeader& header, common::Bytes payload);
    void spawn(const common::FrameHeader& header, common::Bytes payload);
    void connect(const common::FrameHeader& header, common::Bytes payload);
    void disconnect(const common::FrameHeader& header, common::Bytes payload);
    template <class Answer, class Theirs, class Then>
    pmix_status_t ask_with_others(const common::FrameHeader& header, common::ConnectRequest& ours, Theirs request,
                                  Then then);
    void append_extras(const common::ConnectRequest& ours, openpmix::InfosToEnd* extras) const;
    void fabric(const common::FrameHeader& header, common::Bytes payload);
    void get_credential(const common::FrameHeader& header, common::Bytes payload);
    void pull(const common::FrameHeader& header, common::Bytes payload);
    void end_pull(const common::FrameHeader& header, common::Bytes payload);
    void push(const common::FrameHeader& header, common::Bytes payload);
    void send_push(const common::FrameHeader& header, common::Bytes payload);
    void group(const common::FrameHeader& header, common::Bytes payload);
    void construct(const common::FrameHeader& header, common::GroupRequest&& ours);
    void forget_construction(const std::string& name);
    void forget_group(const std::string& name);
    void destruct(const common::FrameHeader& header, common::GroupRequest&& ours);
    void leave(const common::FrameHeader& header, common::GroupRequest&& ours);
    void note_group_event(const openpmix::EventMessage& event);
    // Not before this process's own construct is answered: until then its name is nobody's.
    bool waits_for_group(const openpmix::EventMessage& event, common::Bytes payload);
    void send_waiting(const std::string& name);
    void deliver(const openpmix::EventMessage& event, size_t bytes);
    Group group_of(common::ProcList&& named) const;
    // The processes with each of a job in a wildcard's place, each once. A job whose size is not known stays a
    // wildcard.
    common::ProcList each_of(const common::ProcList& procs) const;
    // Asks for the sizes of the jobs among members that are wildcards. then() is called in the end, also where the
    // server does not say.
    void learn_sizes(const common::ProcList& members, std::function<void()> then);
    void learn_size_of(std::vector<std::string>&& jobs, std::function<void()>&& then);
    // From here on the group is known by its members. The results of its construction, for its caller.
    common::InfoList note_group(const std::string& name, common::ProcList&& members, std::optional<size_t> context,
                                const common::Infos& shared);
    void invite(const common::FrameHeader& header, common::GroupRequest&& ours);
    void answer_invitation(const common::FrameHeader& header, common::GroupRequest&& ours);
    void watch_invitations(std::function<void(pmix_status_t)> then);
    void watching(pmix_status_t status);
    void watch_leaves();
    template <class Theirs>
    void ask_of_invitation(const common::FrameHeader& header, const std::string& name, common::ProcId leader,
                           std::shared_ptr<const Theirs> request);
    void invitation_formed(const std::string& name, const openpmix::EventMessage& event);
    void end_invitations(const std::string& name, const common::ProcId* leader, pmix_status_t status);
    void leader_ended(const common::ProcId& leader);
    void take_shared(const pmix_value_t& shared, const common::ProcList& members, std::optional<size_t> context);
    void member_left(const std::string& name, const common::ProcId& proc);
    void resolve_peers(const common::FrameHeader& header, common::Bytes payload);
    void resolve_nodes(const common::FrameHeader& header, common::Bytes payload);
    void name_known_nodes(const common::FrameHeader& header, pmix_status_t otherwise);
    // Job data of other namespaces, each taken over; their segments are what a reply hands out. Of namespaces that take
    // no part nothing is kept.
    pmix_status_t take_jobs(const openpmix::ByteObjects& objects, const std::set<std::string>& participants,
                            common::SegmentList* segments, std::vector<transport::Descriptor>* descriptors);
    // The namespaces of these processes, without this process's own.
    std::set<std::string> others_of(const common::ProcList& procs) const;
    pmix_status_t add_segment(const std::string& nspace, common::SegmentList* segments,
                              std::vector<transport::Descriptor>* descriptors);
    bool is_here(const common::ProcId& proc) const noexcept;

    OpenPmixExchange& exchange_;
    Shadow& shadow_;
    const common::ProcId& self_;
    bool is_tool_ = false;
    std::map<uint64_t, Registration> registrations_;  // by reference
    std::map<pmix_status_t, Code> codes_;             // of all of them; kDefaultHandlerCode too
    uint64_t registration_requests_ = 0;
    uint64_t events_ = 0;
    std::deque<common::EventNotify> kept_events_;  // the newest of its own, and those received before their handlers
    std::map<uint64_t, Pull> pulls_;
    bool input_stopped_ = false;
    std::deque<common::Frame> held_pushes_;  // in their order, while it is stopped
    size_t held_input_ = 0;                  // bytes of them
    std::map<std::string, Group, std::less<>> groups_;
    static constexpr size_t kMostWaiting = 64;
    std::multimap<std::string, common::Blob, std::less<>> waiting_events_;  // by group, until it is constructed
    std::multimap<std::string, Invitation, std::less<>> invitations_;       // by group
    std::vector<std::function<void(pmix_status_t)>> watchers_;              // wait for the registration of kWatch
    std::map<std::string, common::Blob, std::less<>> puts_;
};

}  // namespace pmix::client

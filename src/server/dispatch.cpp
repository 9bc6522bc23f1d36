// SPDX-License-Identifier: BSD-3-Clause
#include "server/dispatch.h"

#include <algorithm>
#include <iterator>

#include "common/protocol/message_memory.h"

namespace pmix::server {

using common::Bytes;
using common::Command;
using common::FrameHeader;
using common::FrameKind;

namespace {

using Parts = Server::Parts;

// The roles that may make a request.
enum class Requester : uint8_t {
    process,  // a client, a tool, or the server's own process
    anyone,   // observers too
};
// An answer that comes `later` waits for the host; one that `waits`, for other processes, perhaps for long: such a
// frame must want an answer, or it would be kept for nobody.
enum class Answers : uint8_t { now, later, waits };

// What a request takes beside its message: the operation's entry, the reply.
constexpr size_t kRequestMemory = 512;

using Run = bool (*)(Parts&, Peer&, Bytes, Reply, bool counted);

// The request is answered, and nothing else comes of it.
void refuse(Parts& server, Reply& reply, pmix_status_t status) {
    ++server.counters.refused_requests;
    reply.status(status);
}

// Decodes, and counts what that took for the peer's user. False: it is not to be carried out; `valid` says why. A value
// that cannot be made here, as a topology where hwloc is not in use, is no fault of the message's form, nor is one that
// is too large.
template <class Message>
bool decode(Parts& server, Peer& peer, Bytes payload, Message& message, Reply& reply, bool counted, bool& valid) {
    size_t memory = 0;
    const pmix_status_t rc = common::decode_message(payload, message, memory);
    const bool refused = rc == PMIX_ERR_NOT_SUPPORTED || rc == PMIX_ERR_OUT_OF_RESOURCE;
    valid = rc == PMIX_SUCCESS || refused;
    if (refused) {
        refuse(server, reply, rc);
        return false;
    }
    if (!valid || !counted || reply.hold(peer.account(), kRequestMemory + memory)) return valid;
    refuse(server, reply, PMIX_ERR_OUT_OF_RESOURCE);
    return false;
}

// Decodes and calls. `member` is the operation in Parts, `handler` its function.
template <auto member, auto handler>
struct Call;
template <class Operation, class Message, Operation Parts::*member, void (Operation::*handler)(Peer&, Message&, Reply)>
struct Call<member, handler> {
    static bool run(Parts& server, Peer& peer, Bytes payload, Reply reply, bool counted) {
        Message message;
        bool valid;
        if (!decode(server, peer, payload, message, reply, counted, valid)) return valid;
        ((server.*member).*handler)(peer, message, std::move(reply));
        return true;
    }
};
template <auto handler>
struct Own;
template <class Message, void (Parts::*handler)(Peer&, Message&, Reply)>
struct Own<handler> {
    static bool run(Parts& server, Peer& peer, Bytes payload, Reply reply, bool counted) {
        Message message;
        bool valid;
        if (!decode(server, peer, payload, message, reply, counted, valid)) return valid;
        (server.*handler)(peer, message, std::move(reply));
        return true;
    }
};

struct Row {
    Command command;
    Requester requester;
    Run run;
    Answers answers;
    size_t most = common::kMaxFramePayload;  // bytes of its message, but for the host's own
};

// Read this and you know the server.
constexpr Row kRows[] = {
    {Command::commit, Requester::process, Call<&Parts::commit, &Commit::request>::run, Answers::now},
    {Command::get, Requester::process, Call<&Parts::get, &Get::request>::run, Answers::waits},
    {Command::fence, Requester::process, Call<&Parts::fence, &Fence::request>::run, Answers::waits},
    {Command::fence_joined, Requester::process, Call<&Parts::fence, &Fence::joined_in_memory>::run, Answers::now},
    {Command::publish, Requester::process, Call<&Parts::publish, &Publish::publish>::run, Answers::later},
    {Command::lookup, Requester::process, Call<&Parts::publish, &Publish::lookup>::run, Answers::later},
    {Command::unpublish, Requester::process, Call<&Parts::publish, &Publish::unpublish>::run, Answers::later},
    {Command::abort, Requester::process, Call<&Parts::abort, &Abort::request>::run, Answers::later},
    {Command::finalize, Requester::anyone, Own<&Parts::finalize>::run, Answers::later},
    {Command::attach_nspace, Requester::process, Own<&Parts::attach>::run, Answers::now},
    {Command::resolve_peers, Requester::process, Call<&Parts::resolve, &Resolve::peers>::run, Answers::now},
    {Command::resolve_nodes, Requester::process, Call<&Parts::resolve, &Resolve::nodes>::run, Answers::now},
    {Command::register_events, Requester::process, Call<&Parts::events, &Events::register_handler>::run,
     Answers::later},
    {Command::deregister_events, Requester::process, Call<&Parts::events, &Events::deregister_handler>::run,
     Answers::now},
    {Command::notify_event, Requester::process, Call<&Parts::events, &Events::notify>::run, Answers::later,
     kMaxEventBytes},
    {Command::connect, Requester::process, Call<&Parts::connect, &Connect::request>::run, Answers::waits},
    {Command::disconnect, Requester::process, Call<&Parts::disconnect, &Disconnect::request>::run, Answers::waits},
    {Command::job_control, Requester::process, Call<&Parts::control, &Control::job_control>::run, Answers::later},
    {Command::log, Requester::process, Call<&Parts::log, &Log::request>::run, Answers::later},
    {Command::monitor, Requester::process, Call<&Parts::monitors, &Monitors::request>::run, Answers::later},
    {Command::heartbeat, Requester::process, Call<&Parts::monitors, &Monitors::heartbeat>::run, Answers::now},
    {Command::allocate, Requester::process, Call<&Parts::control, &Control::allocate>::run, Answers::later},
    {Command::session_control, Requester::process, Call<&Parts::control, &Control::session_control>::run,
     Answers::later},
    {Command::resource_block, Requester::process, Call<&Parts::control, &Control::resource_block>::run, Answers::later},
    {Command::fabric, Requester::process, Call<&Parts::fabrics, &Fabrics::request>::run, Answers::later},
    {Command::get_credential, Requester::process, Call<&Parts::credentials, &CredentialOffice::get>::run,
     Answers::later},
    {Command::validate_credential, Requester::process, Call<&Parts::credentials, &CredentialOffice::validate>::run,
     Answers::later},
    {Command::query, Requester::anyone, Call<&Parts::query, &Query::request>::run, Answers::later},
    {Command::group, Requester::process, Call<&Parts::groups, &Groups::request>::run, Answers::waits},
    {Command::spawn, Requester::process, Call<&Parts::spawn, &Spawn::request>::run, Answers::later},
    {Command::iof_pull, Requester::process, Call<&Parts::iof, &Iof::pull>::run, Answers::later},
    {Command::iof_deregister, Requester::process, Call<&Parts::iof, &Iof::deregister>::run, Answers::later},
    {Command::iof_push, Requester::process, Call<&Parts::iof, &Iof::push>::run, Answers::later},
    {Command::iof_credit, Requester::process, Call<&Parts::iof, &Iof::credit>::run, Answers::now},
};

}  // namespace

bool dispatch(Parts& server, Peer& peer, const FrameHeader& header, Bytes payload) {
    if (header.kind == FrameKind::reply) return false;  // a server asks nothing
    auto shared = peer.shared_from_this();
    const Row* row = std::find_if(std::begin(kRows), std::end(kRows),
                                  [&](const Row& r) { return static_cast<uint16_t>(r.command) == header.command; });
    // One that wants no answer counts as well, if its operation is not over at once: its id is 0.
    const bool waits = row != std::end(kRows) && row->answers != Answers::now;
    Reply reply = header.kind == FrameKind::request || waits ? Reply(shared, header.command, header.id) : Reply();
    server.counters.count_request(row == std::end(kRows) ? 0 : header.command);
    if (row == std::end(kRows)) {
        refuse(server, reply, PMIX_ERR_NOT_SUPPORTED);
        return true;
    }
    if (row->command == Command::finalize && peer.kind() == PeerKind::self) {
        refuse(server, reply, PMIX_ERR_NOT_SUPPORTED);  // it has other ways
        return true;
    }
    if (row->requester != Requester::anyone && peer.kind() == PeerKind::observer) {
        refuse(server, reply, PMIX_ERR_NO_PERMISSIONS);
        return true;
    }
    if (row->answers == Answers::waits && header.kind != FrameKind::request) return false;
    // This one is counted already. A finalize is always carried out, and the host's own process bounds itself.
    const bool counted = waits && row->command != Command::finalize && peer.kind() != PeerKind::self;
    if (counted && peer.open_requests()->load(std::memory_order_relaxed) > kMaxOpenRequests) {
        refuse(server, reply, PMIX_ERR_OUT_OF_RESOURCE);
        return true;
    }
    if (payload.size() > row->most && peer.kind() != PeerKind::self) {
        refuse(server, reply, PMIX_ERR_OUT_OF_RESOURCE);
        return true;
    }
    return row->run(server, peer, payload, std::move(reply), counted);
}

}  // namespace pmix::server

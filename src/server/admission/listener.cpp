// SPDX-License-Identifier: BSD-3-Clause
// Accept, hello, credentials: see listener.h. A connection's way:
//
//   hello     waits for the first frame, with a deadline
//   unregistered  (if need be) the host has not registered the rank yet; held for a bounded time
//   asking    the claim is right; the host's client_connected is on its way, with the same deadline
//   admitted  a Peer like any other; the server is notified of its frames and of its end
#include "server/admission/listener.h"

#include <algorithm>
#include <cassert>
#include <climits>

#include "common/base/log.h"
#include "common/base/version.h"
#include "common/protocol/messages.h"
#include "common/values/info_view.h"
#include "server/admission/refusal_reason.h"
#include "server/base/need.h"
#include "server/base/places.h"

namespace pmix::server {

using common::Bytes;
using common::FrameHeader;
using common::ProcId;

namespace {
// Beside connections: segments, pidfds, files of the host's and its calls.
constexpr size_t kSparePlaces = 32;
// However small the table is.
constexpr unsigned kFewestHalfOpen = 32;
constexpr size_t kFewestClones = 2;
}  // namespace

Listener::Listener(transport::EventLoop& loop, Scheduler& scheduler, Registry& registry, Host& host,
                   const Segments& segments, Tools& tools, Budget& budget, MessageAdmission& admission,
                   Counters& counters, PeerEvents& events, ListenerOptions options)
    : loop_(loop),
      scheduler_(scheduler),
      registry_(registry),
      host_(host),
      segments_(segments),
      tools_(tools),
      budget_(budget),
      admission_(admission),
      counters_(counters),
      events_(events),
      options_(std::move(options)),
      places_(options_.max_descriptors != 0 ? options_.max_descriptors : highest_descriptor_limit()) {
    options_.max_half_open = std::clamp(static_cast<unsigned>(std::min<size_t>(places_ / 8, UINT_MAX)),
                                        std::min(kFewestHalfOpen, options_.max_half_open), options_.max_half_open);
}

bool Listener::leaves_places(const IncomingPeer& peer) const {
    size_t kept = kSparePlaces;
    for (const auto& [name, nspace] : registry_.nspaces())
        for (const auto& [rank, client] : nspace->clients) kept += client.state == Client::State::registered;
    const size_t needed = static_cast<size_t>(peer.descriptor()) + 1 + kept;
    if (needed > places_) return false;
    if (options_.max_descriptors == 0 && needed > descriptor_limit()) raise_descriptor_limit(needed);
    return options_.max_descriptors != 0 || needed <= descriptor_limit();
}

// Of one rank, so that those of all ranks leave half of the table.
size_t Listener::max_clones() const {
    size_t ranks = 0;
    for (const auto& [name, nspace] : registry_.nspaces()) ranks += nspace->clients.size();
    return std::clamp<size_t>(places_ / 2 / std::max<size_t>(ranks, 1), kFewestClones, kMaxClones);
}

Listener::~Listener() = default;

pmix_status_t Listener::open() {
    std::vector<std::string> wanted{transport::make_abstract_address()};
    if (wanted.front().empty()) return PMIX_ERR_OUT_OF_RESOURCE;
    if (!options_.socket_file.empty()) {
        if (options_.single) wanted.clear();
        wanted.push_back(options_.socket_file);
    }
    for (std::string& address : wanted) {
        auto acceptor = Acceptor::open(loop_, scheduler_, std::move(address), [this](transport::Descriptor socket) {
            transport::assert_on_loop();
            take_connection(std::move(socket));
        });
        if (!acceptor.ok()) {
            acceptors_.clear();
            return acceptor.status();
        }
        acceptors_.push_back(std::move(acceptor).value());
    }
    return PMIX_SUCCESS;
}

void Listener::start() {
    for (const auto& acceptor : acceptors_) acceptor->start();
}

void Listener::close() {
    transport::assert_on_loop();
    acceptors_.clear();
    auto waiting = std::move(waiting_);
    waiting_.clear();
    for (const auto& peer : waiting) {
        peer->stage_ = IncomingPeer::Stage::over;
        peer->deadline_.cancel();
        peer->drop_connection();
    }
}

void Listener::abandon() noexcept {
    for (const auto& acceptor : acceptors_) acceptor->abandon();
    for (const auto& peer : waiting_) peer->abandon();
}

std::vector<std::string> Listener::addresses() const {
    std::vector<std::string> all;
    for (const auto& acceptor : acceptors_) all.push_back(acceptor->address());
    return all;
}

bool Listener::is_unregistered(uint32_t uid) const {
    return uid != options_.own_uid && uid != 0 && !registry_.has_user(uid);
}

// The oldest has had the longest time to speak.
void Listener::make_room(bool unregistered) {
    auto drop = [&](auto&& which) {
        auto it = std::find_if(waiting_.begin(), waiting_.end(), which);
        if (it == waiting_.end()) return;
        ++counters_.refused_connections;
        (*it)->close();
    };
    if (unregistered) {
        auto unregistered_users =
            std::count_if(waiting_.begin(), waiting_.end(), [](const auto& p) { return p->unregistered_user_; });
        if (static_cast<unsigned>(unregistered_users) >= options_.max_unregistered)
            drop([](const auto& p) { return p->unregistered_user_; });
    }
    // One that the host is being asked about has a right to its answer.
    if (waiting_.size() >= options_.max_half_open)
        drop([](const auto& p) { return p->stage_ != IncomingPeer::Stage::asking; });
}

pmix_status_t Listener::take_connection(transport::Descriptor socket) {
    transport::assert_on_loop();
    auto who = transport::peer_credentials(socket.get(), loop_.io());
    if (!who.ok()) return who.status();
    auto peer = std::make_shared<SocketPeer>(Credentials{who->uid, who->gid, who->pid}, *this, events_);
    return take(peer, [&] { return peer->open(loop_, std::move(socket)); });
}

void Listener::prepare(IncomingPeer& peer) {
    peer.set_account(budget_.of(peer.credentials().uid));
    peer.unregistered_user_ = is_unregistered(peer.credentials().uid);
    make_room(peer.unregistered_user_);
}

void Listener::wait_for_hello(const std::shared_ptr<IncomingPeer>& peer) {
    assert(peer->stage_ == IncomingPeer::Stage::hello && std::ranges::find(waiting_, peer) == waiting_.end());
    waiting_.push_back(peer);
    std::weak_ptr<Peer> weak = peer;
    peer->deadline_ = Timer(scheduler_, options_.hello_timeout_ms, [weak] {
        if (auto late = weak.lock()) late->close();
    });
}

void Listener::forget(IncomingPeer& peer) {
    peer.deadline_.cancel();
    waiting_.remove_if([&](const auto& p) { return p.get() == &peer; });
}

void Listener::refuse(IncomingPeer& peer, pmix_status_t status) {
    if (common::log_on(common::LogArea::server, common::LogLevel::warn) &&
        log_limit_.admit(common::LogArea::server, common::LogLevel::warn)) [[unlikely]] {
        const common::HelloRequest& claim = peer.claim();
        const bool is_rank = claim.role == common::PeerRole::client;
        const std::string reason =
            is_rank ? refusal_reason(registry_, ProcId(claim.nspace, claim.rank), peer.credentials(), status) : "";
        WIREUP_LOG(server, warn, "process %d of user %u is refused: %s%s", peer.credentials().pid,
                   peer.credentials().uid, common::log_status(status), reason.c_str());
    }
    ++counters_.refused_connections;
    peer.send_refusal(status);
    peer.close();
}

void Listener::claimed(IncomingPeer& peer) {
    const common::HelloRequest& claim = peer.claim();
    peer.set_strict(options_.strict ||
                    common::InfoView(claim.infos.data(), claim.infos.size()).flag(PMIX_WIREUP_STRICT));
    if (claim.role == common::PeerRole::server_clone) return refuse(peer, PMIX_ERR_NOT_SUPPORTED);
    ProcId id(claim.nspace, claim.rank);
    Client* client = registry_.find_client(id);
    // A process that the host started and that initializes as a tool comes as the process that it is: it shows the
    // rank's token, or the kernel reports the rank's user where a client needs no token either.
    const auto is_rank = [&] {
        return client != nullptr && (!claim.token.empty() || peer.check(expected_of(*client)) == PMIX_SUCCESS);
    };
    const bool is_tool = claim.role == common::PeerRole::tool && !is_rank();
    if (is_tool || claim.role == common::PeerRole::observer) return hello_of_tool(peer);
    if (client == nullptr) return hold(peer, id);
    hello_of_client(peer, id);
}

// Some hosts start a process first and register it then. A process that shows a token was registered before.
void Listener::hold(IncomingPeer& peer, const ProcId& id) {
    const Nspace* nspace = registry_.find(id.nspace);
    const bool will_not_be =
        nspace != nullptr &&
        (nspace->has_left(id.rank) || (!nspace->is_remote && nspace->size_known() && !nspace->has_rank(id.rank)));
    if (options_.registration_wait_ms == 0 || will_not_be || !peer.claim().token.empty())
        return refuse(peer, PMIX_ERR_NOT_FOUND);
    WIREUP_LOG_WITHIN(log_limit_, server, info, "%s:%u has connected and is not registered yet; it is held for %d ms",
                      id.nspace.c_str(), id.rank, options_.registration_wait_ms);
    assert(peer.stage_ == IncomingPeer::Stage::hello);
    peer.set_id(id);
    peer.stage_ = IncomingPeer::Stage::unregistered;
    const auto self = std::static_pointer_cast<IncomingPeer>(peer.shared_from_this());
    peer.deadline_ = Timer(scheduler_, options_.registration_wait_ms, [this, weak = std::weak_ptr<IncomingPeer>(self)] {
        if (const auto late = weak.lock()) refuse(*late, PMIX_ERR_NOT_FOUND);
    });
}

void Listener::client_registered(const ProcId& id) {
    const auto held = [&](const auto& p) { return p->stage_ == IncomingPeer::Stage::unregistered && p->id() == id; };
    if (std::none_of(waiting_.begin(), waiting_.end(), held)) return;
    // Not on the stack of the registration, which others may have to hear of first.
    scheduler_.post([this, id, alive = std::weak_ptr<bool>(alive_)] {
        if (alive.expired()) return;
        const auto waiting = waiting_;
        for (const auto& p : waiting) {
            if (p->stage_ != IncomingPeer::Stage::unregistered || p->id() != id) continue;
            const auto weak = std::weak_ptr<IncomingPeer>(p);
            p->deadline_ = Timer(scheduler_, options_.hello_timeout_ms, [weak] {
                if (const auto late = weak.lock()) late->close();
            });
            hello_of_client(*p, id);
        }
    });
}

common::ExpectedPeer Listener::expected_of(const Client& client) const {
    common::ExpectedPeer expected;
    expected.uid = client.uid;
    expected.gid = client.gid;
    expected.server_uid = options_.own_uid;
    expected.overflow_uid = options_.overflow_uid;
    expected.unmapped_users = options_.unmapped_users;
    expected.token = client.token;
    return expected;
}

void Listener::hello_of_client(IncomingPeer& peer, const ProcId& id) {
    const common::HelloRequest& claim = peer.claim();
    Nspace* nspace = registry_.find(id.nspace);
    Client* client = registry_.find_client(id);
    if (client == nullptr) return refuse(peer, PMIX_ERR_NOT_FOUND);
    const pmix_status_t rc = peer.check(expected_of(*client));
    if (rc != PMIX_SUCCESS) return refuse(peer, rc);
    // One that comes while the host is still asked about its rank waits for that answer: the host is told of a rank
    // once.
    const bool asked = std::any_of(waiting_.begin(), waiting_.end(), [&](const auto& p) {
        return p->stage_ == IncomingPeer::Stage::asking && p->kind() == PeerKind::client && p->id() == id;
    });
    peer.set_id(id);
    peer.stage_ = IncomingPeer::Stage::asking;
    auto self = std::static_pointer_cast<IncomingPeer>(peer.shared_from_this());
    // A clone shares the rank: the host has heard of it.
    if (client->connections > 0) return admit(self, *nspace, *client);
    if (asked) return;
    common::InfoList infos;
    const common::Infos& given = claim.infos;
    need(infos.append_all(given.data(), given.size()));
    need(append_ids(infos, peer.credentials()));
    auto due = std::make_shared<char>();
    client->at_host = true;
    client->admission_due = due;
    host_.client_connected(id, client->server_object, std::move(infos),
                           [this, id, due = std::move(due)](HostAnswer& answer) {
                               const auto waiting = waiting_;
                               for (const auto& p : waiting)
                                   if (p->kind() == PeerKind::client && p->id() == id) decide(p, answer.status);
                               decided(id, answer.status);
                           });
}

// All processes of a rank that waited for the host's answer have been admitted or have gone. The host waits for this
// server to see the end of a rank that it took as connected, also where no process of it was admitted.
void Listener::decided(const ProcId& id, pmix_status_t status) {
    Client* client = registry_.find_client(id);
    if (client == nullptr || !client->at_host) return;
    if (common::succeeded(status) && client->connections == 0) events_.lost_before_admission(id);
    client->at_host = false;
}

// A peer that waits for another of its rank waits for that one's answer.
void Listener::recover() {
    start();  // where one of the sockets is not watched yet
    const auto waiting = waiting_;
    for (const auto& p : waiting) {
        if (p->stage_ != IncomingPeer::Stage::asking || p->kind() != PeerKind::client) continue;
        const Client* client = registry_.find_client(p->id());
        if (client == nullptr || !client->at_host || client->admission_due.expired()) p->close();
    }
    // Of a lost answer nobody can tell whether it was success: the rank may come again.
    std::vector<ProcId> lost;
    for (const auto& [name, nspace] : registry_.nspaces())
        for (const auto& [rank, client] : nspace->clients)
            if (client.at_host && client.admission_due.expired()) lost.emplace_back(name, rank);
    for (const ProcId& id : lost) decided(id, PMIX_SUCCESS);
}

// The host has answered. By then the connection may have gone, or the rank may have been deregistered.
void Listener::decide(const std::shared_ptr<IncomingPeer>& peer, pmix_status_t status) {
    if (peer->stage_ != IncomingPeer::Stage::asking) return;
    Nspace* nspace = registry_.find(peer->id().nspace);
    Client* client = registry_.find_client(peer->id());
    if (client == nullptr) return refuse(*peer, PMIX_ERR_NOT_FOUND);
    if (!common::succeeded(status)) return refuse(*peer, status);
    admit(peer, *nspace, *client);
}

void Listener::admit(const std::shared_ptr<IncomingPeer>& peer, Nspace& nspace, Client& client) {
    assert(peer->stage_ == IncomingPeer::Stage::asking && peer->id() == ProcId(nspace.name, client.rank));
    if (client.connections > 0 && (client.connections >= max_clones() || !leaves_places(*peer)))
        return refuse(*peer, PMIX_ERR_OUT_OF_RESOURCE);
    common::HelloReply mine;
    mine.server = options_.server;
    mine.library_version = common::kVersionText;
    mine.self = peer->id();
    std::vector<int> descriptors;
    segments_.add(*peer, nspace, mine.segments, descriptors);
    auto answer = peer->make_welcome(std::move(mine), client.token);
    if (!answer.ok()) return peer->close();
    // One that has finalized and still runs comes back itself.
    if (client.gone() && !client.may_return) events_.rank_begins(nspace, client.rank);
    registry_.set_state(nspace, client, Client::State::connected);
    ++client.connections;
    welcome(peer, *answer, descriptors);
}

}  // namespace pmix::server

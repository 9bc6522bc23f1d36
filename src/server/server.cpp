// SPDX-License-Identifier: BSD-3-Clause
#include "server/server.h"

#include <unistd.h>

#include <cassert>
#include <new>

#include "common/base/log.h"
#include "common/base/version.h"
#include "common/values/info_view.h"
#include "common/values/strict.h"
#include "server/base/need.h"
#include "server/base/scheduler.h"
#include "server/dispatch.h"
#include "server/parts.h"
#include "transport/unix_socket.h"

namespace pmix::server {

using common::Bytes;
using common::FrameHeader;
using common::ProcId;
using common::Result;

namespace {

constexpr size_t kMaxFolder = 4096;

Variables variables_for_all(const ServerOptions& options, bool openpmix) {
    Variables v;
    v.emplace_back("PMIX_HOSTNAME", options.hostname);
    v.emplace_back("PMIX_VERSION", common::kRelease);
    // The kernel names the user of a connection whichever module its process uses, and some are told to use "none".
    v.emplace_back("PMIX_SECURITY_MODE", openpmix ? "native,none" : "native");
    // Its clients keep what they are told themselves, and look for no segments of their server's.
    if (openpmix) v.emplace_back("PMIX_GDS_MODULE", "hash");
    if (openpmix) v.emplace_back("PMIX_BFROP_BUFFER_TYPE", "PMIX_BFROP_BUFFER_NON_DESC");
    if (!options.tmpdir.empty()) v.emplace_back("PMIX_SERVER_TMPDIR", options.tmpdir);
    // A host that is in strict mode has processes that are.
    if (options.strict) v.emplace_back(common::kStrictVariable, "1");
    if (!options.system_tmpdir.empty()) v.emplace_back("PMIX_SYSTEM_TMPDIR", options.system_tmpdir);
    return v;
}

uint64_t origin_of(const ServerOptions& options) {
    return std::hash<std::string>{}(options.hostname) ^ static_cast<uint64_t>(::getpid());
}

// By the Standard a server without a folder of its own is in that for temporary files.
std::string folder_of(const std::string& named, const char* variable) {
    if (!named.empty()) return named;
    for (const char* name : {variable, "TMPDIR"}) {
        const char* text = ::secure_getenv(name);
        if (text != nullptr && *text != '\0' && common::bounded_length(text, kMaxFolder) < kMaxFolder) return text;
    }
    return "/tmp";
}

}  // namespace

std::string local_hostname() {
    char name[256] = {};
    ::gethostname(name, sizeof name - 1);
    return name;
}

Server::Parts::Parts(transport::EventLoop& on, const pmix_server_module_t* module, ServerOptions given)
    : loop(on),
      options(std::move(given)),
      scheduler(loop),
      budget(options.user_memory),
      admission(scheduler),
      registry(observers, options.hostname, origin_of(options)),
      segments(registry, options.id.nspace, ::geteuid()),
      host(scheduler, module, options.module_size),
      events(observers, host, registry, segments, options.id, options.event_cache),
      process_ends(observers, registry, options.id),
      get(observers, scheduler, host, registry, segments, deletions),
      commit(registry, get, deletions, counters),
      fence(scheduler, host, registry, segments, get, commit, options.fence_memory_at),
      connect(scheduler, host, registry, segments),
      disconnect(scheduler, host, registry, segments, connect),
      groups(scheduler, host, registry, budget, segments, events, get),
      publish(host),
      spawn(host, registry, segments, connect, iof),
      abort(host, registry),
      blocking_tasks(scheduler),
      cleanup(blocking_tasks),
      control(host, registry, cleanup),
      log(host, blocking_tasks, options.gateway),
      monitors(scheduler, host, events, blocking_tasks, registry, peers, options.id),
      credentials(host, options.id),
      resolve(registry, segments),
      iof(scheduler, host, registry, options.iof_cache),
      registration(observers, registry, launch_env, events, options.id),
      tools({options.tool_support, options.system_support, options.scheduler, options.session_support, ::geteuid()},
            registry, host),
      listener(loop, scheduler, registry, host, segments, tools, budget, admission, counters, *this,
               {options.id, ::geteuid(), transport::overflow_uid(), options.unmapped_users, options.hello_timeout_ms,
                options.registration_wait_ms, options.max_half_open, options.max_unregistered, options.socket_file,
                options.strict, options.single_listener, options.max_descriptors,
                folder_of(options.tmpdir, "PMIX_SERVER_TMPDIR"), folder_of(options.system_tmpdir, "PMIX_SYSTEM_TMPDIR"),
                options.launcher}),
      openpmix_listener(loop, {listener, *this, registry, segments, openpmix_job_data, deletions, scheduler}),
      compaction(scheduler, registry, segments, peers, self),
      remote_namespaces(observers, scheduler, registry, peers, registration),
      query(observers, host, registry, segments, peers, options.id, uri, openpmix_uri, options.local_jobs,
            monitors.usage(), {counters, budget, host, loop}),
      fabrics(host, blocking_tasks, query.inventory(), options.hostname) {
    // The order counts in two places. Groups come before the events: what they announce of a member or a namespace that
    // ends must not stay in the cache. Compaction comes after all that answers requests: an answer may still carry the
    // segment that it then takes back.
    observers.set({&get, &commit, &fence, &connect, &disconnect, &groups, &events, &iof, &monitors, &credentials, &log,
                   &process_ends, &listener, &registration, this, &compaction, &remote_namespaces, &openpmix_job_data,
                   &open_upcalls});
    self = std::make_shared<SelfPeer>(options.id, Credentials{::geteuid(), ::getegid(), ::getpid()});
    self->set_serial(next_serial++);
    self->set_strict(options.strict);
    events.peer_here(self);
    // The process is a rank of its own namespace, so that its own puts and fences have a place.
    Nspace& own = registry.obtain(options.id.nspace);
    own.owner = ::geteuid();
    Client& me = own.clients[options.id.rank];
    me.rank = options.id.rank;
    me.uid = ::geteuid();
    registry.add_user(me.uid);
    me.gid = ::getegid();
    me.state = Client::State::connected;
    me.connections = 1;
}

Server::Parts::~Parts() {
    loop.set_recovery(this, nullptr);
    LaunchEnv::set_current(nullptr);
}

void Server::Parts::peer_admitted(const std::shared_ptr<Peer>& peer) {
    peer->set_serial(next_serial++);
    WIREUP_LOG(server, info, "%s:%u is here, process %d of user %u", peer->id().nspace.c_str(), peer->id().rank,
               peer->credentials().pid, peer->credentials().uid);
    if (auto member = registry.member(peer->id())) leaving.erase(*member);  // it has returned
    [[maybe_unused]] const bool is_new = peers.emplace(peer->serial(), peer).second;
    assert(is_new && !peer->gone());
    events.peer_here(peer);
}

void Server::Parts::peer_frame(Peer& peer, const FrameHeader& header, Bytes payload) {
    bool ours = false;
    LeftCommits& left = fence.left_commits();
    const auto is = [&header](common::Command command) { return header.command == static_cast<uint16_t>(command); };
    // What it did before it sent this, and what others have done before they let it ask.
    left.take_of(peer);
    if (peer.gone()) return;
    if (is(common::Command::get)) left.take_everywhere(peer);
    try {
        ours = dispatch(*this, peer, header, payload);
    } catch (const std::bad_alloc&) {
        ours = true;  // its Reply has answered an error
        ++counters.refused_requests;
        scheduler.step_lost();
        // A commit has none. Where there is no memory to refuse it the connection ends.
        if (header.kind == common::FrameKind::notify && is(common::Command::commit)) {
            try {
                commit.unread(peer, payload);
            } catch (const std::bad_alloc&) {
                peer.close();
            }
        }
    }
    if (is(common::Command::get)) left.awaited();
    if (is(common::Command::commit)) {
        left.sent(peer);
        // A fence may wait for it.
        try {
            fence.commit_done(peer);
        } catch (const std::bad_alloc&) {
            scheduler.step_lost();
        }
    }
    if (!ours) ++counters.refused_requests;
    if (ours || peer.kind() == PeerKind::self) return;
    run_all(
        [&] {
            // For the host, if it has asked for this code.
            common::InfoList infos;
            need(infos.append_flag(PMIX_EVENT_NON_DEFAULT, true));
            events.raise(PMIX_ERR_FAILED_COMM, peer.id(), PMIX_RANGE_RM, std::move(infos));
        },
        [&] { peer.close(); });
}

void Server::Parts::peer_lost(Peer& peer) {
    auto keep = peer.shared_from_this();
    if (peer.gone()) return;
    fence.left_commits().take_of(peer);
    peer.set_gone();
    WIREUP_LOG(server, info, "%s:%u is gone%s", peer.id().nspace.c_str(), peer.id().rank,
               peer.finalized() ? "" : " without finalize");
    peers.erase(peer.serial());
    // What others wait for is done in any case.
    run_all([&] { observers.notify(&LifecycleObserver::peer_gone, peer); }, [&] { connection_ended(peer); });
}

// A process has one connection less, its last perhaps.
void Server::Parts::connection_ended(Peer& peer) {
    if (peer.kind() == PeerKind::tool || peer.kind() == PeerKind::observer) return tool_lost(peer);
    Nspace* nspace = registry.find(peer.id().nspace);
    Client* client = nspace == nullptr ? nullptr : nspace->find_client(peer.id().rank);
    if (client == nullptr) return;
    if (client->connections > 0) --client->connections;
    if (client->connections > 0) return observers.notify(&LifecycleObserver::clone_gone, peer);
    // Clones that finalized while another was connected did not end their rank. The last hang-up does.
    if (peer.finalized() && !client->gone() && !stopped) finalized(*nspace, *client, peer, Reply());
    // The files that it registered for removal at its end stay while its process runs and may return.
    run_all(
        [&] {
            if (!client->may_return) cleanup.member_gone(member_id(nspace->number, client->rank));
        },
        [&] {
            if (!peer.finalized()) rank_lost(*nspace, *client, peer.id());
        });
}

void Server::Parts::lost_before_admission(const ProcId& id) {
    Nspace* nspace = registry.find(id.nspace);
    Client* client = nspace == nullptr ? nullptr : nspace->find_client(id.rank);
    if (client == nullptr || client->connections > 0) return;
    WIREUP_LOG(server, info, "%s:%u ended its connection before it was admitted", id.nspace.c_str(), id.rank);
    rank_lost(*nspace, *client, id);
}

// The last connection of a rank has ended without a finalize.
void Server::Parts::rank_lost(Nspace& nspace, Client& client, const ProcId& id) {
    if (client.gone()) return;
    assert(client.connections == 0);
    registry.set_state(nspace, client, Client::State::lost);
    registration.client_gone(nspace, client.rank);
    if (stopped) return;
    common::InfoList infos;
    pmix_proc_t proc = id.to_c();
    need(infos.append(PMIX_EVENT_AFFECTED_PROC, &proc, PMIX_PROC));
    // For the host's handlers, and for peers that ask for this very code: nobody's default handler is to take the
    // hang-up of a neighbour for the end of the job before the host has said so.
    need(infos.append_flag(PMIX_EVENT_NON_DEFAULT, true));
    events.raise(PMIX_ERR_LOST_CONNECTION, id, PMIX_RANGE_NAMESPACE, std::move(infos));
}

// It leaves nothing behind but its name, which is free again.
void Server::Parts::tool_lost(Peer& peer) {
    tools.leave(peer.id(), peer.credentials());
    if (peer.finalized() || peer.kind() == PeerKind::observer || stopped) return;
    common::InfoList infos;
    pmix_proc_t proc = peer.id().to_c();
    need(infos.append(PMIX_EVENT_AFFECTED_PROC, &proc, PMIX_PROC));
    need(infos.append_flag(PMIX_EVENT_NON_DEFAULT, true));
    events.raise(PMIX_ERR_LOST_CONNECTION, peer.id(), PMIX_RANGE_RM, std::move(infos));
}

void Server::Parts::finalize(Peer& peer, common::FinalizeRequest&, Reply reply) {
    Nspace* nspace = registry.find(peer.id().nspace);
    Client* client = nspace == nullptr ? nullptr : nspace->find_client(peer.id().rank);
    bool first = !peer.finalized();
    peer.set_finalized();
    monitors.peer_gone(peer);
    // A host keeps things for tools too, what they published for example.
    if (first && peer.kind() == PeerKind::tool) {
        host.client_finalized(peer.id(), nullptr,
                              [reply = std::move(reply)](HostAnswer&) mutable { reply.status(PMIX_SUCCESS); });
        return;
    }
    if (client == nullptr || !first) return reply.status(PMIX_SUCCESS);
    // It waits for our answer, so its pid is its own.
    watch_rank(member_id(nspace->number, client->rank), peer);
    if (client->connections > 1) return reply.status(PMIX_SUCCESS);
    finalized(*nspace, *client, peer, std::move(reply));
}

// The last process of a rank has finalized, or has hung up after another finalized.
void Server::Parts::finalized(Nspace& nspace, Client& client, const Peer& peer, Reply reply) {
    registry.set_state(nspace, client, Client::State::finalized);
    const auto left = leaving.find(member_id(nspace.number, client.rank));
    client.may_return = left != leaving.end();
    client.script_runs = client.may_return && left->second.is_script;
    void* object = client.server_object;
    registration.client_gone(nspace, client.rank);
    host.client_finalized(peer.id(), object, [reply = std::move(reply)](HostAnswer&) mutable {
        // Whatever the host thinks of it, the process is leaving.
        reply.status(PMIX_SUCCESS);
    });
}

// Where there is no memory for it, the rank counts as ended with its program.
void Server::Parts::watch_rank(MemberId member, const Peer& peer) noexcept {
    const auto ended = [this, member] { exited(member); };
    try {
        const auto [at, fresh] = leaving.try_emplace(member);
        if (!fresh) return;
        // Of a process in another pid namespace, and of one with OpenPMIx's library, the kernel does not tell the pid.
        const pid_t pid = peer.credentials().pid, started = pid > 0 ? started_process_of(pid) : 0;
        if (started == 0) return;
        at->second.is_script = started != pid;
        at->second.watch = ExitWatch::open(loop, started, ended);
        if (at->second.watch == nullptr) look_at(member, started);
    } catch (const std::bad_alloc&) {
        leaving.erase(member);
    }
}

void Server::Parts::look_at(MemberId member, pid_t started) {
    if (!is_running_child(started)) return exited(member);
    leaving[member].look = Timer(scheduler, kLookMs, [this, member, started] { look_at(member, started); });
}

// The host names the rank's process anew: of one whose end nobody would notice, that is the end.
void Server::Parts::registered_again(const ProcId& proc) {
    const auto member = registry.member(proc);
    const auto at = member ? leaving.find(*member) : leaving.end();
    if (at != leaving.end() && !at->second.is_known()) exited(*member);
}

void Server::Parts::exited(MemberId member) {
    leaving.erase(member);
    Nspace* nspace = registry.find(nspace_number_of(member));
    Client* client = nspace == nullptr ? nullptr : nspace->find_client(rank_of(member));
    if (client == nullptr || !client->may_return) return;
    client->may_return = client->script_runs = false;
    run_all([&] { cleanup.member_gone(member); }, [&] { registration.client_gone(*nspace, rank_of(member)); });
}

void Server::Parts::attach(Peer& peer, common::AttachNspaceRequest& request, Reply reply) {
    Nspace* nspace = registry.find(request.nspace);
    if (nspace == nullptr || nspace->data == nullptr) return reply.status(PMIX_ERR_NOT_FOUND);
    if (!segments.may_map(peer, *nspace)) return reply.status(PMIX_ERR_NO_PERMISSIONS);
    if (request.generation == 0) peer.says_it_lacks(nspace->data->instance());
    common::AttachNspaceReply message;
    std::vector<int> descriptors;
    segments.add(peer, *nspace, message.segments, descriptors);
    reply.message(PMIX_SUCCESS, message, descriptors);
}

void Server::Parts::share_with_self(std::string_view name) {
    Nspace* nspace = registry.find(name);
    if (self == nullptr || nspace == nullptr || nspace->data == nullptr) return;
    if (self->knows_segment(nspace->data->instance())) return;
    common::AttachNspaceReply message;
    std::vector<int> descriptors;
    segments.add(*self, *nspace, message.segments, descriptors);
    auto payload = common::message_bytes(message);
    if (!payload.ok()) return self->set_lacks_segment(nspace->data->instance());
    FrameHeader header = FrameHeader::notify(static_cast<uint16_t>(common::Command::attach_nspace));
    header.payload = static_cast<uint32_t>(payload->size());
    self->send(header, *payload, descriptors);
}

void Server::Parts::name_withdrawn(const ProcId& proc) {
    std::vector<std::shared_ptr<Peer>> closing;
    for (const auto& [serial, peer] : peers) {
        bool meant =
            peer->id().nspace == proc.nspace && (proc.rank == PMIX_RANK_WILDCARD || proc.rank == peer->id().rank);
        if (meant) closing.push_back(peer);
    }
    // The host does not wait any more for the end of processes that have finalized.
    const Nspace* nspace = registry.find(proc.nspace);
    std::vector<MemberId> ended;
    for (const auto& [member, left] : leaving) {
        if (nspace != nullptr && nspace_number_of(member) == nspace->number &&
            (proc.rank == PMIX_RANK_WILDCARD || proc.rank == rank_of(member)))
            ended.push_back(member);
    }
    // What may find no memory stands above: from here on each of them is ended, whatever the end of another finds.
    run_all([&] { run_each(closing, [](const auto& peer) { peer->close(); }); },
            [&] {
                run_each(ended, [&](const MemberId member) {
                    leaving.erase(member);
                    cleanup.member_gone(member);
                });
            },
            [&] {
                // Some may never have connected. What waits for their end would wait for ever.
                if (nspace == nullptr) return;
                const bool all = proc.rank == PMIX_RANK_WILDCARD;
                cleanup.members_gone(member_id(nspace->number, all ? 0 : proc.rank),
                                     member_id(nspace->number, all ? UINT32_MAX : proc.rank));
            });
}

// What clients of OpenPMIx are told to connect to; empty: nothing, and they find no server.
static std::string open_openpmix(Server::Parts& parts) {
    if (!parts.options.openpmix) return {};
    // Their addresses have no way to write a separator in a name; a tool may have given itself any.
    const bool has_separator = parts.options.id.nspace.find(';') != std::string::npos;
    const pmix_status_t rc = has_separator ? PMIX_ERR_BAD_PARAM : parts.openpmix_listener.open();
    if (rc != PMIX_SUCCESS) {
        WIREUP_LOG(server, warn, "processes with OpenPMIx's library are not served: %s", common::log_status(rc));
        return {};
    }
    WIREUP_LOG(server, info, "processes with OpenPMIx's library are served at %s",
               parts.openpmix_listener.address().c_str());
    return parts.options.id.nspace + '.' + std::to_string(parts.options.id.rank) + ";tcp4://" +
           parts.openpmix_listener.address();
}

// Tools call the node by its name without its domain, unless the host has named it.
static ToolFileOptions tool_file_options(const ServerOptions& options, const std::string& uri) {
    const std::string& name = options.hostname;
    return {.node = name == local_hostname() ? name.substr(0, name.find('.')) : name,
            .server = options.id.nspace,
            .uri = uri,
            .tmpdir = options.tmpdir,
            .system_tmpdir = options.system_tmpdir,
            .tools = options.tool_support,
            .session = options.session_support,
            .system = options.system_support,
            .scheduler = options.scheduler};
}

// The host has asked for tools, and they would be refused.
static void warn_of_missing_entry(const Server::Parts& parts) {
    const ServerOptions& options = parts.options;
    if (!(options.tool_support || options.system_support || options.scheduler) || parts.host.has_tool_connected())
        return;
    WIREUP_LOG(host, warn, "no tool can connect, for the module has no tool_connected (%s)",
               options.scheduler        ? "PMIX_SERVER_SCHEDULER"
               : options.system_support ? "PMIX_SERVER_SYSTEM_SUPPORT"
                                        : "PMIX_SERVER_TOOL_SUPPORT");
}

Server::Server(std::unique_ptr<Parts> parts) noexcept : parts_(std::move(parts)) {}

Server::~Server() = default;

Result<std::unique_ptr<Server>> Server::create(transport::EventLoop& loop, const pmix_server_module_t* module,
                                               ServerOptions options) {
    bool listen = options.listen;
    auto parts = std::make_unique<Parts>(loop, module, std::move(options));
    transport::Contact contact{parts->options.id, {}};
    if (listen) {
        pmix_status_t rc = parts->listener.open();
        if (rc != PMIX_SUCCESS) return rc;
        contact.addresses = parts->listener.addresses();
    }
    if (listen) parts->openpmix_uri = open_openpmix(*parts);
    const std::string& openpmix_uri = parts->openpmix_uri;
    const std::string uri = transport::format_uri(contact);
    // Processes that could not reach us are not to try.
    const bool reachable = listen || !parts->options.local_jobs;
    Variables variables = reachable ? transport::server_variables(uri, openpmix_uri) : Variables();
    for (auto& variable : variables_for_all(parts->options, !openpmix_uri.empty()))
        variables.push_back(std::move(variable));
    parts->launch_env.set_for_all(std::make_shared<const Variables>(std::move(variables)));
    if (!contact.addresses.empty()) parts->uri = uri;
    const auto make_file = [&](const std::string& path, transport::RendezvousFile& made) -> pmix_status_t {
        if (parts->uri.empty() || path.empty()) return PMIX_SUCCESS;
        auto file = transport::RendezvousFile::create(path, parts->uri);
        if (file) made = std::move(file).value();
        return file.status();
    };
    WIREUP_RETURN_IF_ERROR(make_file(parts->options.rendezvous_file, parts->rendezvous_file));
    if (parts->options.uri_file != parts->options.rendezvous_file)
        WIREUP_RETURN_IF_ERROR(make_file(parts->options.uri_file, parts->uri_file));
    if (!openpmix_uri.empty()) parts->openpmix_files.make(tool_file_options(parts->options, openpmix_uri));
    Parts* p = parts.get();
    if (listen && module != nullptr) warn_of_missing_entry(*parts);  // a launcher gives its module later
    if (parts->options.local_jobs) {
        p->local_host = std::make_unique<LocalHost>(LocalHost::Around{loop, p->scheduler, p->registry, p->registration,
                                                                      p->launch_env, p->events, p->iof, p->options.id});
        p->host.serve_itself();
        p->host.set_local(p->local_host.get());
    }
    LaunchEnv::set_current(&parts->launch_env);
    loop.post([p] {
        p->loop.set_recovery(p, [p] {
            p->observers.notify(&LifecycleObserver::recover);
            return true;
        });
        p->listener.start();
        p->openpmix_listener.start();
    });
    return std::unique_ptr<Server>(new Server(std::move(parts)));
}

SelfPeer& Server::self_peer() noexcept {
    return *parts_->self;
}

void Server::on_frame(Peer& peer, const FrameHeader& header, Bytes payload) {
    parts_->peer_frame(peer, header, payload);
}

Result<BorrowedSegment> Server::borrow_segment(Peer& peer, std::string_view name) {
    Nspace* nspace = parts_->registry.find(name);
    if (nspace == nullptr || nspace->data == nullptr) return PMIX_ERR_NOT_FOUND;
    if (!parts_->segments.may_map(peer, *nspace)) return PMIX_ERR_NO_PERMISSIONS;
    peer.set_knows_segment(nspace->data->instance());
    return BorrowedSegment{nspace->data->descriptor(), nspace->data->instance(), nspace->data->generation()};
}

// Each step is made, also where there was no memory for one before it: what that one left goes with the server.
void Server::stop() {
    Parts& p = *parts_;
    if (p.stopped) return;
    const auto make = [](auto&&... steps) {
        try {
            run_all(steps...);
        } catch (const std::bad_alloc&) {
        }
    };
    make([&] { p.host.flush(); });
    p.stopped = true;
    LaunchEnv::set_current(nullptr);
    p.listener.close();
    p.openpmix_listener.close();
    make([&] { p.openpmix_files.remove(); });
    p.rendezvous_file = {};
    p.uri_file = {};
    p.leaving.clear();
    if (p.local_host) make([&] { p.local_host->stop(); });
    // Every request that waits is answered before the connection ends, which says it too.
    make([&] { p.observers.notify(&LifecycleObserver::stop, PMIX_ERR_LOST_CONNECTION); });
    auto peers = std::move(p.peers);
    p.peers.clear();
    for (auto& [serial, peer] : peers) make([&closing = peer] { closing->close(); });
    make([&] { p.self->close(); }, [&] { p.cleanup.everybody_gone(); }, [&] { p.blocking_tasks.finish(); },
         [&] { p.host.flush(); });
}

// No lock and no destructor, as in Connection::abandon(). What a fork gives a child (LaunchEnv) stays.
void Server::abandon() noexcept {
    parts_->listener.abandon();
    parts_->openpmix_listener.abandon();
    for (const auto& [serial, peer] : parts_->peers) peer->abandon();
}

const ServerOptions& Server::options() const noexcept {
    return parts_->options;
}

const std::string& Server::uri() const noexcept {
    return parts_->uri;
}

}  // namespace pmix::server

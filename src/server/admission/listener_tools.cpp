// SPDX-License-Identifier: BSD-3-Clause
// Connections of tools: the request for this server's identity, and hellos in the role of a tool or an observer.
#include <unistd.h>

#include "common/base/version.h"
#include "common/values/info_view.h"
#include "server/admission/listener.h"
#include "transport/rendezvous/rendezvous.h"

namespace pmix::server {

using common::Bytes;
using common::FrameHeader;
using common::InfoList;
using common::PeerRole;
using common::ProcId;

void Listener::introduce(SocketPeer& peer, const FrameHeader& header, Bytes payload) {
    common::IdentityRequest request;
    if (common::decode_message(payload, request) != PMIX_SUCCESS || request.magic != common::kHelloMagic)
        return peer.close();
    FrameHeader answer = FrameHeader::reply(header.command, header.id, tools_.may_ask(peer.credentials()));
    common::ByteWriter w;
    if (answer.status == PMIX_SUCCESS) {
        common::IdentityReply mine;
        mine.server = options_.server;
        mine.pid = static_cast<uint32_t>(::getpid());
        mine.offers = tools_.offers();
        mine.hostname = registry_.hostname();
        mine.library_version = common::kVersionText;
        mine.uri = transport::format_uri({options_.server, addresses()});
        mine.tmpdir = options_.tmpdir;
        mine.system_tmpdir = options_.system_tmpdir;
        mine.launcher = static_cast<uint32_t>(options_.launcher);
        // A server of the system may let other users in; names of jobs are not for them.
        const Nspace* named = registry_.find(request.nspace);
        mine.has_nspace = named != nullptr && named->is_a_job() &&
                          tools_.may_connect(PeerRole::observer, peer.credentials()) == PMIX_SUCCESS;
        if (common::encode_message(w, mine) != PMIX_SUCCESS) return peer.close();
    }
    answer.payload = static_cast<uint32_t>(w.size());
    peer.send(answer, w.view(), {});
    // A process that may not even send this request is disconnected.
    if (answer.status == PMIX_SUCCESS) return;
    ++counters_.refused_connections;
    peer.close();
}

void Listener::hello_of_tool(IncomingPeer& peer) {
    const common::HelloRequest& claim = peer.claim();
    pmix_status_t rc = tools_.may_connect(claim.role, peer.credentials());
    // A secret is a rank's: there is no rank of this name.
    if (rc == PMIX_SUCCESS && !claim.token.empty()) rc = PMIX_ERR_INVALID_CRED;
    if (rc != PMIX_SUCCESS) return refuse(peer, rc);
    auto self = std::static_pointer_cast<IncomingPeer>(peer.shared_from_this());
    if (claim.role == PeerRole::observer) {
        peer.set_kind(PeerKind::observer);
        return admit_tool(self, tools_.make_name(registry_.hostname(), peer.credentials()));
    }
    peer.set_kind(PeerKind::tool);

    InfoList infos;
    const ProcId named(claim.nspace, claim.rank);
    if (!named.nspace.empty()) rc = tools_.may_claim(named);
    if (rc != PMIX_SUCCESS) return refuse(peer, rc);
    const Credentials& who = peer.credentials();
    const auto add = [&](const char* key, const void* data, pmix_data_type_t type) {
        if (rc == PMIX_SUCCESS && infos.find(key) == nullptr) rc = infos.append(key, data, type);
    };
    // The tool's own claims come first in the list only where the kernel reports nothing.
    rc = append_ids(infos, who);
    if (who.pid > 0) add(PMIX_PROC_PID, &who.pid, PMIX_PID);
    for (const pmix_info_t& info : claim.infos) {
        // Its name follows, as it was read and in the Standard's types.
        const std::string_view key = common::key_view(info);
        if (key == PMIX_TOOL_NSPACE || key == PMIX_TOOL_RANK) continue;
        if (rc == PMIX_SUCCESS && infos.find(key) == nullptr) rc = infos.append(info);
    }
    if (!named.nspace.empty()) {
        add(PMIX_TOOL_NSPACE, named.nspace.c_str(), PMIX_STRING);
        add(PMIX_TOOL_RANK, &named.rank, PMIX_PROC_RANK);
    }
    const bool yes = true;
    add(PMIX_REQUESTOR_IS_TOOL, &yes, PMIX_BOOL);
    add(PMIX_VERSION_INFO, claim.library_version.c_str(), PMIX_STRING);
    add(PMIX_HOSTNAME, registry_.hostname().c_str(), PMIX_STRING);
    if (rc != PMIX_SUCCESS) return refuse(peer, rc);

    peer.stage_ = IncomingPeer::Stage::asking;
    host_.tool_connected(std::move(infos), [this, weak = std::weak_ptr<IncomingPeer>(self), named](HostAnswer& answer) {
        if (auto asked = weak.lock()) decide_tool(asked, named, answer);
    });
}

// The host has answered; by then the tool may have gone.
void Listener::decide_tool(const std::shared_ptr<IncomingPeer>& peer, const ProcId& named, HostAnswer& answer) {
    if (peer->stage_ != IncomingPeer::Stage::asking) return;
    if (!common::succeeded(answer.status)) return refuse(*peer, answer.status);
    ProcId id = answer.tool.nspace.empty() ? named : answer.tool;
    // A tool that has a name keeps it on all its servers.
    if (!named.nspace.empty() && id != named) return refuse(*peer, PMIX_ERR_EXISTS);
    if (id.nspace.empty()) id = tools_.make_name(registry_.hostname(), peer->credentials());
    admit_tool(peer, std::move(id));
}

void Listener::admit_tool(const std::shared_ptr<IncomingPeer>& peer, ProcId id) {
    if (!leaves_places(*peer)) return refuse(*peer, PMIX_ERR_OUT_OF_RESOURCE);
    const pmix_status_t rc = tools_.enter(id, peer->credentials());
    if (rc != PMIX_SUCCESS) return refuse(*peer, rc);
    peer->set_id(std::move(id));
    common::HelloReply mine;
    mine.server = options_.server;
    mine.library_version = common::kVersionText;
    mine.self = peer->id();
    auto answer = peer->make_welcome(std::move(mine), {});
    if (!answer.ok()) {
        tools_.leave(peer->id(), peer->credentials());
        return peer->close();
    }
    welcome(peer, *answer, {});
}

// The last step for everybody: from here on it is a Peer like any other.
void Listener::welcome(const std::shared_ptr<IncomingPeer>& peer, Bytes reply, std::span<const int> descriptors) {
    peer->admitted();
    peer->deadline_.cancel();
    peer->stage_ = IncomingPeer::Stage::admitted;
    waiting_.remove(peer);
    // The server registers the peer before the peer is told that it is accepted.
    try {
        events_.peer_admitted(peer);
    } catch (const std::bad_alloc&) {
        peer->close();  // or it would wait for the answer
        throw;
    }
    peer->send_welcome(reply, descriptors);
}

}  // namespace pmix::server

// SPDX-License-Identifier: BSD-3-Clause
#include "client/session/handshake.h"

#include <unistd.h>

#include "common/base/log.h"
#include "common/base/version.h"
#include "common/protocol/frame.h"
#include "common/values/info_view.h"
#include "transport/blocking_io.h"
#include "transport/unix_socket.h"

namespace pmix::client {
namespace {

using common::FrameHeader;
using transport::Deadline;
using transport::Descriptor;
using transport::Io;

// The reply carries the job's segment by reference only, so this is ample for a good server, and a bound for others.
constexpr uint32_t kMaxReply = 1u << 20;

// The hello and its reply, on a socket that nobody else reads.
struct Exchange {
    FrameHeader header;
    std::vector<uint8_t> payload;
    std::vector<Descriptor> descriptors;
};

common::Result<Exchange> exchange(int fd, common::Bytes body, Deadline deadline, const Io& io) {
    FrameHeader header = FrameHeader::request(static_cast<uint16_t>(common::Command::hello), 1);
    header.payload = static_cast<uint32_t>(body.size());
    uint8_t head[common::kFrameHeaderSize];
    common::build_frame_header(header, head);
    // At once: the first part alone would wake the server, for nothing.
    std::vector<uint8_t> request(std::begin(head), std::end(head));
    request.insert(request.end(), body.begin(), body.end());
    pmix_status_t rc = transport::send_all(fd, request, deadline, io);
    if (rc != PMIX_SUCCESS) return rc;

    Exchange got;
    rc = transport::receive_all(fd, head, sizeof head, deadline, io, &got.descriptors);
    if (rc != PMIX_SUCCESS) return rc;
    auto parsed = common::parse_frame_header({head, sizeof head}, kMaxReply);
    if (!parsed) return parsed.status();
    got.header = parsed.value();
    got.payload.resize(parsed->payload);
    rc = transport::receive_all(fd, got.payload.data(), got.payload.size(), deadline, io, &got.descriptors);
    if (rc != PMIX_SUCCESS) return rc;
    if (got.descriptors.size() != parsed->descriptors) return PMIX_ERR_UNPACK_FAILURE;
    return got;
}

}  // namespace

common::Result<Descriptor> connect_any(const std::vector<std::string>& addresses, Deadline deadline, const Io& io) {
    pmix_status_t why = PMIX_ERR_UNREACH;
    for (const std::string& address : addresses) {
        auto socket = transport::connect_to(address, deadline, io);
        if (socket) return socket;
        why = socket.status();
        WIREUP_LOG(client, info, "no server at %s: %s", address.c_str(), common::log_status(why));
    }
    return why;
}

bool is_trusted(int fd, Trust trust, const Io& io) {
    auto peer = transport::peer_credentials(fd, io);
    if (!peer) return false;
    return peer->uid == ::geteuid() || peer->uid == 0 || (trust == Trust::any_for_root && ::geteuid() == 0);
}

common::Result<Greeting> greet(Descriptor socket, common::HelloRequest mine, const common::Token& token,
                               const pmix_info_t infos[], size_t ninfos, Trust trust, Deadline deadline, const Io& io) {
    const int fd = socket.get();
    mine.pid = static_cast<uint32_t>(::getpid());
    mine.library_version = common::kVersionText;
    // Addresses (an event base, a return object) mean nothing to the server.
    common::InfoList told;
    for (const pmix_info_t& info : common::InfoView(infos, ninfos)) {
        if (info.value.type == PMIX_POINTER) continue;
        WIREUP_RETURN_IF_ERROR(told.append(info));
    }
    mine.infos = common::Infos(std::move(told));
    common::HelloClient hello(std::move(mine), token);

    auto body = common::message_bytes(hello.request());
    if (!body) return body.status();
    if (body->size() > common::kMaxHelloPayload) return PMIX_ERR_BAD_PARAM;
    auto got = exchange(fd, body.value(), deadline, io);
    if (!got) return got.status();
    pmix_status_t rc = hello.receive(got->header, got->payload, is_trusted(fd, trust, io));
    if (rc != PMIX_SUCCESS) return rc;
    Greeting greeting;
    rc = common::decode_message(got->payload, greeting.reply);
    if (rc != PMIX_SUCCESS) return rc;
    greeting.descriptors = std::move(got->descriptors);
    greeting.socket = std::move(socket);
    return greeting;
}

common::Result<Greeting> shake_hands(const transport::ClientEnvironment& environment, const pmix_info_t infos[],
                                     size_t ninfos, Deadline deadline, const Io& io) {
    auto socket = connect_any(environment.contact.addresses, deadline, io);
    if (!socket) return socket.status();
    common::HelloRequest mine;
    mine.role = common::PeerRole::client;
    mine.nspace = environment.self.nspace;
    mine.rank = environment.self.rank;
    return greet(std::move(socket).value(), std::move(mine), environment.token, infos, ninfos, Trust::own_or_root,
                 deadline, io);
}

}  // namespace pmix::client

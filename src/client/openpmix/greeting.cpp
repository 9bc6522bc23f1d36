// SPDX-License-Identifier: BSD-3-Clause
#include "client/openpmix/greeting.h"

#include <string.h>
#include <unistd.h>

#include "common/base/log.h"
#include "openpmix/frame.h"
#include "openpmix/hello.h"
#include "openpmix/messages.h"
#include "transport/blocking_io.h"
#include "transport/tcp_socket.h"
#include "transport/tcp_user.h"

namespace pmix::client {

using common::Result;
using transport::Deadline;
using transport::Descriptor;
using transport::Io;

namespace {

// What we say we are: servers send what only later releases read to those that say so.
constexpr const char* kClaimedVersion = "5.0.11";
constexpr uint32_t kJobDataTag = openpmix::kFirstRequestTag + 1;
constexpr uint32_t kWholeJobTag = kJobDataTag + 1;
// Messages that nobody has asked for, before the answer.
constexpr int kMostOthers = 1000;

Result<Descriptor> open_connection(const OpenPmixEnvironment& environment, Deadline deadline, const Io& io) {
    if (!transport::is_own_address(environment.address, io)) {
        WIREUP_LOG(client, error, "the server %s is on another node: nobody there can be trusted",
                   environment.uri.c_str());
        return PMIX_ERR_NOT_SUPPORTED;
    }
    auto socket = transport::connect_tcp(environment.address, deadline, io);
    if (!socket) return socket;
    transport::send_at_once(socket->get());
    auto user = transport::await_tcp_user(socket->get(), deadline, io);
    if (!user) return user.status();
    if (*user != ::geteuid() && *user != 0) {
        WIREUP_LOG(client, error, "the server %s belongs to user %u", environment.uri.c_str(),
                   static_cast<unsigned>(*user));
        return PMIX_ERR_INVALID_CRED;
    }
    return socket;
}

// As the module "native" packs it: the user and the group, in the byte order of the host.
std::vector<uint8_t> credential_of(const std::string& module) {
    if (module != "native") return {};
    const uint32_t ids[2] = {::geteuid(), ::getegid()};
    const auto* bytes = reinterpret_cast<const uint8_t*>(ids);
    return {bytes, bytes + sizeof ids};
}

pmix_status_t say_hello(int fd, const OpenPmixEnvironment& environment, Deadline deadline, const Io& io) {
    openpmix::ConnectRequest request;
    request.security = environment.security;
    request.credential = credential_of(environment.security);
    request.id = environment.self;
    request.version = kClaimedVersion;
    request.encoding = environment.encoding;
    request.buffer_kind = environment.buffer_kind;
    request.store = environment.store;
    std::vector<uint8_t> message;
    WIREUP_RETURN_IF_ERROR(request.encode(&message));
    WIREUP_RETURN_IF_ERROR(transport::send_all(fd, message, deadline, io));
    const openpmix::ReplyForm form = openpmix::reply_form(openpmix::PeerKind::client, environment.traits);
    std::vector<uint8_t> bytes;
    openpmix::ConnectReply reply;
    for (size_t used = 0; used == 0;) {
        bytes.push_back(0);
        WIREUP_RETURN_IF_ERROR(transport::receive_all(fd, &bytes.back(), 1, deadline, io));
        WIREUP_RETURN_IF_ERROR(openpmix::decode_reply(bytes, form, &reply, &used));
    }
    if (reply.status == PMIX_ERR_READY_FOR_HANDSHAKE) return PMIX_ERR_NOT_SUPPORTED;
    return reply.status;
}

template <class Request>
Result<std::vector<uint8_t>> ask(int fd, uint32_t tag, const Request& request, const openpmix::Traits& traits,
                                 Deadline deadline, const Io& io) {
    std::vector<uint8_t> payload;
    WIREUP_RETURN_IF_ERROR(openpmix::encode(request, traits, &payload));
    uint8_t head[openpmix::kHeaderSize];
    openpmix::build_header({0, tag, static_cast<uint32_t>(payload.size())}, head);
    payload.insert(payload.begin(), std::begin(head), std::end(head));
    WIREUP_RETURN_IF_ERROR(transport::send_all(fd, payload, deadline, io));
    for (int i = 0; i < kMostOthers; ++i) {
        WIREUP_RETURN_IF_ERROR(transport::receive_all(fd, head, sizeof head, deadline, io));
        openpmix::FrameHeader header;
        WIREUP_RETURN_IF_ERROR(openpmix::parse_header(head, &header));
        if (header.payload > common::kMaxFramePayload) return PMIX_ERR_UNPACK_FAILURE;
        // What is there is believed, what is announced is not.
        constexpr size_t kStep = 1u << 20;
        std::vector<uint8_t> content;
        while (content.size() < header.payload) {
            const size_t before = content.size();
            content.resize(before + std::min<size_t>(kStep, header.payload - before));
            WIREUP_RETURN_IF_ERROR(
                transport::receive_all(fd, content.data() + before, content.size() - before, deadline, io));
        }
        if (header.tag == tag) return content;
    }
    return PMIX_ERR_UNPACK_FAILURE;
}

// Where a process of the job has asked for its data in shared memory before, some servers answer this one with the way
// there, which is of no use to it. Asked for as data they hand it out.
pmix_status_t ask_for_whole_job(int fd, const OpenPmixEnvironment& environment, Shadow& shadow, Deadline deadline,
                                const Io& io) {
    common::InfoList at_once;
    WIREUP_RETURN_IF_ERROR(at_once.append_flag(PMIX_IMMEDIATE, true));
    openpmix::GetRequest request;
    request.nspace = openpmix::Text(environment.self.nspace);
    request.rank.value = PMIX_RANK_WILDCARD;
    request.infos.infos = std::move(at_once);
    auto bytes = ask(fd, kWholeJobTag, request, environment.traits, deadline, io);
    if (!bytes) return bytes.status();
    openpmix::GetReply reply;
    WIREUP_RETURN_IF_ERROR(openpmix::decode(*bytes, environment.traits, &reply));
    for (const common::Bytes& object : reply.objects.objects) {
        openpmix::ProcData data;
        WIREUP_RETURN_IF_ERROR(openpmix::decode(object, environment.traits, &data));
        if (data.proc.id != common::ProcId(environment.self.nspace, PMIX_RANK_WILDCARD)) continue;
        WIREUP_RETURN_IF_ERROR(shadow.take_job(environment.self.nspace, data.values));
    }
    return PMIX_SUCCESS;
}

bool has_size(const Shadow& shadow, const std::string& nspace) {
    dstore::Found found;
    const dstore::Reader* reader = shadow.reader(nspace);
    return reader != nullptr && reader->find(dstore::Owner::job(), dstore::Key(PMIX_JOB_SIZE), found) == PMIX_SUCCESS;
}

}  // namespace

Result<OpenPmixGreeting> greet_openpmix(const OpenPmixEnvironment& environment, std::string hostname, Deadline deadline,
                                        const Io& io) {
    auto socket = open_connection(environment, deadline, io);
    if (!socket) return socket.status();
    WIREUP_RETURN_IF_ERROR(say_hello(socket->get(), environment, deadline, io));
    auto bytes = ask(socket->get(), kJobDataTag, openpmix::JobDataRequest{}, environment.traits, deadline, io);
    if (!bytes) return bytes.status();
    openpmix::JobData job;
    WIREUP_RETURN_IF_ERROR(openpmix::decode(*bytes, environment.traits, &job));
    // A failure is a status alone, which is no name.
    if (job.nspace.null || job.nspace.text != environment.self.nspace) return PMIX_ERR_UNPACK_FAILURE;

    OpenPmixGreeting out;
    out.shadow = std::make_unique<Shadow>(environment.traits, std::move(hostname));
    WIREUP_RETURN_IF_ERROR(out.shadow->take_job(environment.self.nspace, job.values));
    if (!has_size(*out.shadow, environment.self.nspace)) {
        const pmix_status_t rc = ask_for_whole_job(socket->get(), environment, *out.shadow, deadline, io);
        if (rc == PMIX_ERR_UNREACH || rc == PMIX_ERR_TIMEOUT) return rc;
    }
    auto grant = out.shadow->grant(environment.self.nspace);
    if (!grant) return grant.status();
    common::HelloReply& reply = out.greeting.reply;
    reply.version = common::kProtocolMax;
    reply.features = common::kFeatureSegments;
    reply.server = environment.server;
    reply.self = environment.self;
    reply.segments.push_back(std::move(grant->segment));
    out.greeting.descriptors.push_back(std::move(grant->descriptor));
    out.greeting.socket = std::move(socket).value();
    return out;
}

}  // namespace pmix::client

// SPDX-License-Identifier: BSD-3-Clause
#include "client/openpmix/greeting.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "common/base/log.h"
#include "openpmix/frame.h"
#include "openpmix/hello.h"
#include "openpmix/known_types.h"
#include "openpmix/messages.h"
#include "transport/blocking_io.h"
#include "transport/tcp/tcp_socket.h"
#include "transport/tcp/tcp_user.h"

namespace pmix::client {

using common::Result;
using transport::Deadline;
using transport::Descriptor;
using transport::Io;

namespace {

// What we say we are: servers send what only later releases read to those that say so. Deletions of keys are told to
// those of 7.0.
constexpr const char* claimed_version(const openpmix::Traits& traits) noexcept {
    return traits.deletes_keys ? "7.0.0" : "5.0.11";
}
constexpr uint32_t kJobDataTag = openpmix::kFirstRequestTag + 1;
constexpr uint32_t kWholeJobTag = kJobDataTag + 1;
// Messages that nobody has asked for, before the answer.
constexpr int kMostOthers = 1000;
constexpr size_t kMaxCommandLine = 4096;  // bytes

// Where the first of a server's addresses cannot be had, the others are tried. What happens after that is its answer.
Result<Descriptor> connect_to(const OpenPmixEnvironment& environment, Deadline deadline, const Io& io) {
    const auto try_at = [&](const sockaddr_in& address) -> Result<Descriptor> {
        if (transport::is_own_address(address, io)) return transport::connect_tcp(address, deadline, io);
        WIREUP_LOG(client, error, "the server %s is on another node: nobody there can be trusted",
                   environment.uri.c_str());
        return PMIX_ERR_NOT_SUPPORTED;
    };
    auto socket = try_at(environment.address);
    for (const sockaddr_in& other : environment.others) {
        if (socket || deadline.passed()) break;
        if (auto next = try_at(other)) socket = std::move(next);
    }
    return socket;
}

pmix_status_t check_user(uid_t user, const OpenPmixEnvironment& environment) {
    if (user == ::geteuid() || user == 0) return PMIX_SUCCESS;
    WIREUP_LOG(client, error, "the server %s belongs to user %u", environment.uri.c_str(), static_cast<unsigned>(user));
    return PMIX_ERR_INVALID_CRED;
}

Result<Descriptor> open_connection(const OpenPmixEnvironment& environment, Deadline deadline, const Io& io,
                                   bool* has_accepted) {
    auto socket = connect_to(environment, deadline, io);
    if (!socket) return socket;
    transport::send_at_once(socket->get());
    auto server = transport::await_tcp_user(socket->get(), deadline, io);
    if (!server) return server.status();
    WIREUP_RETURN_IF_ERROR(check_user(server->user, environment));
    *has_accepted = server->has_accepted;
    return socket;
}

// As the module "native" packs it: the user and the group, in the byte order of the host.
std::vector<uint8_t> credential_of(const std::string& module) {
    if (module != "native") return {};
    const uint32_t ids[2] = {::geteuid(), ::getegid()};
    const auto* bytes = reinterpret_cast<const uint8_t*>(ids);
    return {bytes, bytes + sizeof ids};
}

// The words of /proc/self/cmdline, as far as they fit.
std::string command_line() {
    const Descriptor file(::open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC));
    char text[kMaxCommandLine];
    const ssize_t n = file ? ::read(file.get(), text, sizeof text) : 0;
    std::string out(text, n > 0 ? static_cast<size_t>(n) : 0);
    while (!out.empty() && out.back() == '\0') out.pop_back();
    std::replace(out.begin(), out.end(), '\0', ' ');
    return out;
}

// Beside what its caller has given, a tool says which process it is. Addresses mean nothing to the server, and what is
// this library's own neither.
pmix_status_t tell_of_tool(const OpenPmixEnvironment& environment, common::InfoView infos,
                           openpmix::ConnectRequest& request) {
    common::InfoList told;
    for (const pmix_info_t& info : infos) {
        if (info.value.type == PMIX_POINTER || common::key_view(info).starts_with("wireup.") ||
            !openpmix::is_known(environment.traits, info.value))
            continue;
        WIREUP_RETURN_IF_ERROR(told.append(info));
    }
    const pid_t pid = ::getpid();
    WIREUP_RETURN_IF_ERROR(told.append(PMIX_PROC_PID, &pid, PMIX_PID));
    WIREUP_RETURN_IF_ERROR(told.append_string(PMIX_CMD_LINE, command_line().c_str()));
    request.has_infos = true;
    request.infos = common::Infos(std::move(told));
    request.uid = ::geteuid();
    request.gid = ::getegid();
    return PMIX_SUCCESS;
}

// The names of both sides in `environment` are a tool's afterwards.
pmix_status_t say_hello(int fd, OpenPmixEnvironment& environment, common::InfoView infos, bool has_accepted,
                        Deadline deadline, const Io& io) {
    openpmix::ConnectRequest request;
    request.kind = environment.kind;
    const bool is_tool = environment.kind != openpmix::PeerKind::client;
    if (is_tool) WIREUP_RETURN_IF_ERROR(tell_of_tool(environment, infos, request));
    request.security = environment.security;
    request.credential = credential_of(environment.security);
    request.id = environment.self;
    request.version = claimed_version(environment.traits);
    request.encoding = environment.encoding;
    request.buffer_kind = environment.buffer_kind;
    request.store = environment.store;
    std::vector<uint8_t> message;
    WIREUP_RETURN_IF_ERROR(request.encode(&message));
    WIREUP_RETURN_IF_ERROR(transport::send_all(fd, message, deadline, io));
    const openpmix::ReplyForm form = openpmix::reply_form(environment.kind, environment.traits);
    std::vector<uint8_t> bytes;
    openpmix::ConnectReply reply;
    for (size_t used = 0; used == 0;) {
        bytes.push_back(0);
        WIREUP_RETURN_IF_ERROR(transport::receive_all(fd, &bytes.back(), 1, deadline, io));
        if (!std::exchange(has_accepted, true)) {
            auto user = transport::tcp_user(fd);
            if (!user) return user.status() == PMIX_ERR_INVALID_CRED ? PMIX_ERR_UNREACH : user.status();
            WIREUP_RETURN_IF_ERROR(check_user(*user, environment));
        }
        WIREUP_RETURN_IF_ERROR(openpmix::decode_reply(bytes, form, &reply, &used));
    }
    if (reply.status == PMIX_ERR_READY_FOR_HANDSHAKE) return PMIX_ERR_NOT_SUPPORTED;
    if (reply.status != PMIX_SUCCESS || !is_tool) return reply.status;
    if (reply.security != PMIX_SUCCESS)
        return reply.security == PMIX_ERR_READY_FOR_HANDSHAKE ? PMIX_ERR_NOT_SUPPORTED : reply.security;
    // Somebody else by now.
    if (reply.server != environment.server) return PMIX_ERR_UNREACH;
    if (reply.self) environment.self = *reply.self;
    return environment.self.nspace.empty() ? PMIX_ERR_UNPACK_FAILURE : PMIX_SUCCESS;
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

Result<OpenPmixGreeting> greet_openpmix(OpenPmixEnvironment environment, std::string hostname, common::InfoView infos,
                                        Deadline deadline, const Io& io) {
    bool has_accepted = false;
    auto socket = open_connection(environment, deadline, io, &has_accepted);
    if (!socket) return socket.status();
    WIREUP_RETURN_IF_ERROR(say_hello(socket->get(), environment, infos, has_accepted, deadline, io));
    auto bytes = ask(socket->get(), kJobDataTag, openpmix::JobDataRequest{}, environment.traits, deadline, io);
    if (!bytes) return bytes.status();
    openpmix::JobData job;
    WIREUP_RETURN_IF_ERROR(openpmix::decode(*bytes, environment.traits, &job));
    // A failure is a status alone, which is no name.
    if (job.nspace.null || job.nspace.text != environment.self.nspace) return PMIX_ERR_UNPACK_FAILURE;

    OpenPmixGreeting out;
    out.shadow = std::make_unique<Shadow>(environment.traits, std::move(hostname));
    WIREUP_RETURN_IF_ERROR(out.shadow->take_job(environment.self.nspace, job.values));
    // A tool is no job, unless it is a process of one.
    const bool has_job =
        environment.kind == openpmix::PeerKind::client || environment.kind == openpmix::PeerKind::client_tool;
    if (has_job && !has_size(*out.shadow, environment.self.nspace)) {
        const pmix_status_t rc = ask_for_whole_job(socket->get(), environment, *out.shadow, deadline, io);
        if (rc == PMIX_ERR_UNREACH || rc == PMIX_ERR_TIMEOUT) return rc;
    }
    auto grant = out.shadow->grant(environment.self.nspace);
    if (!grant) return grant.status();
    common::HelloReply& reply = out.greeting.reply;
    reply.version = common::kProtocolMax;
    reply.features = common::kFeatureSegments;
    if (environment.traits.deletes_keys) reply.features |= common::kFeatureDeletions;
    if (environment.traits.forms_invited) reply.features |= common::kFeatureInvitations;
    reply.server = environment.server;
    reply.self = environment.self;
    reply.segments.push_back(std::move(grant->segment));
    out.greeting.descriptors.push_back(std::move(grant->descriptor));
    out.greeting.socket = std::move(socket).value();
    return out;
}

}  // namespace pmix::client

// SPDX-License-Identifier: BSD-3-Clause
// OpenPMIx's messages, one struct each with one field list, from which encoding, decoding, printing and fuzzing follow.
//
// Pure values, any thread. A request begins with its command's number (kCommand); a reply is its fields alone. What
// differs between releases is a field that may be absent at the end (std::optional), or a struct of its own where
// Traits say which. After a status every field of a reply may be missing: a failure is a status alone. Bytes behind the
// last known field are a newer peer's and are not looked at.
//
// Decoding takes hostile bytes: any status but PMIX_SUCCESS means that the message is to be thrown away.
#pragma once

#include "common/base/field_list.h"
#include "openpmix/fields.h"
#include "openpmix/traits.h"

namespace pmix::openpmix {

enum class Command : uint8_t {
    job_data = 0,
    abort = 1,
    commit = 2,
    fence = 3,
    get = 4,
    finalize = 5,
    publish = 6,
    lookup = 7,
    unpublish = 8,
    spawn = 9,
    connect = 10,
    disconnect = 11,
    notify = 12,
    register_events = 13,
    deregister_events = 14,
    query = 15,
    log = 16,
    allocation = 17,
    job_control = 18,
    monitor = 19,
    get_credential = 20,
    validate_credential = 21,
    iof_pull = 22,
    iof_push = 23,
    group_construct = 24,
    group_join = 25,
    group_invite = 26,
    group_destruct = 28,
    iof_deregister = 29,
    fabric_register = 30,
    fabric_update = 31,
    device_distances = 32,
    refresh = 33,
    resource_block = 34,
    session_control = 35,
    resolve_peers = 37,
    resolve_node = 38,
    store_fallback = 39,
};

// The command of a request, before the rest is decoded. PMIX_ERR_UNPACK_FAILURE: there is none.
pmix_status_t read_command(common::Bytes payload, const Traits& traits, uint8_t* command) noexcept;

// ---- blobs: byte objects that hold calls ----

// Job data, and what other namespaces are told of one.
struct JobData {
    Text nspace;
    KeyValues values;
    WIREUP_FIELDS(JobData, nspace, values)
};
// Data of one process, or of a job (a wildcard rank).
struct ProcData {
    Proc proc;
    KeyValues values;
    WIREUP_FIELDS(ProcData, proc, values)
};
// The same within job data.
struct RankData {
    RankItem rank;
    KeyValues values;
    WIREUP_FIELDS(RankData, rank, values)
};
// A section of a commit.
struct SectionData {
    KeyValues values;
    WIREUP_FIELDS(SectionData, values)
};

// What ends a connect message (hello.h).
struct HelloInfosMessage {
    Infos infos;
    WIREUP_FIELDS(HelloInfosMessage, infos)
};

// ---- requests ----

struct JobDataRequest {
    static constexpr Command kCommand = Command::job_data;
    template <class V>
    static void fields(V&&) {}
};
struct AbortRequest {
    static constexpr Command kCommand = Command::abort;
    Status status;
    Text message;
    ProcsIfAny procs;
    WIREUP_FIELDS(AbortRequest, status, message, procs)
};
struct CommitRequest {
    static constexpr Command kCommand = Command::commit;
    Sections sections;
    WIREUP_FIELDS(CommitRequest, sections)
};
struct FenceRequest {
    static constexpr Command kCommand = Command::fence;
    Procs procs;
    Infos infos;
    WIREUP_FIELDS(FenceRequest, procs, infos)
};
struct GetRequest {
    static constexpr Command kCommand = Command::get;
    Text nspace;
    RankItem rank;
    Infos infos;
    std::optional<Text> key;
    WIREUP_FIELDS(GetRequest, nspace, rank, infos, key)
};
struct FinalizeRequest {
    static constexpr Command kCommand = Command::finalize;
    template <class V>
    static void fields(V&&) {}
};
struct PublishRequest {
    static constexpr Command kCommand = Command::publish;
    Number32 uid;
    Infos infos;
    WIREUP_FIELDS(PublishRequest, uid, infos)
};
struct LookupRequest {
    static constexpr Command kCommand = Command::lookup;
    Number32 uid;
    Keys keys;
    Infos infos;
    WIREUP_FIELDS(LookupRequest, uid, keys, infos)
};
struct UnpublishRequest {
    static constexpr Command kCommand = Command::unpublish;
    Number32 uid;
    Keys keys;
    Infos infos;
    WIREUP_FIELDS(UnpublishRequest, uid, keys, infos)
};
struct SpawnRequest {
    static constexpr Command kCommand = Command::spawn;
    Infos infos;
    Apps apps;
    WIREUP_FIELDS(SpawnRequest, infos, apps)
};
struct ConnectRequestMessage {
    static constexpr Command kCommand = Command::connect;
    Procs procs;
    Infos infos;
    InfosToEnd extras;  // the requester's data, of releases since 6.0
    WIREUP_FIELDS(ConnectRequestMessage, procs, infos, extras)
};
// The same without the extras: for a server, which has that data from its host, and need not know how to read all of
// it.
struct PlainConnectRequest {
    static constexpr Command kCommand = Command::connect;
    Procs procs;
    Infos infos;
    WIREUP_FIELDS(PlainConnectRequest, procs, infos)
};
struct DisconnectRequest {
    static constexpr Command kCommand = Command::disconnect;
    Procs procs;
    Infos infos;
    WIREUP_FIELDS(DisconnectRequest, procs, infos)
};
struct NotifyRequest {
    static constexpr Command kCommand = Command::notify;
    Status code;
    Range range;
    Infos infos;
    WIREUP_FIELDS(NotifyRequest, code, range, infos)
};
struct RegisterEventsRequest {
    static constexpr Command kCommand = Command::register_events;
    Statuses codes;  // none: a default handler
    Infos infos;
    WIREUP_FIELDS(RegisterEventsRequest, codes, infos)
};
// The code that stands for a default handler. The request is not answered.
inline constexpr pmix_status_t kDefaultHandlerCode = INT32_MIN;
struct DeregisterEventsRequest {
    static constexpr Command kCommand = Command::deregister_events;
    StatusesToEnd codes;
    WIREUP_FIELDS(DeregisterEventsRequest, codes)
};
struct QueryRequest {
    static constexpr Command kCommand = Command::query;
    Queries queries;
    WIREUP_FIELDS(QueryRequest, queries)
};
struct LogRequest {
    static constexpr Command kCommand = Command::log;
    Time time;
    Infos data;
    Infos directives;
    WIREUP_FIELDS(LogRequest, time, data, directives)
};
struct AllocationRequest {
    static constexpr Command kCommand = Command::allocation;
    AllocDirective directive;
    Infos infos;
    WIREUP_FIELDS(AllocationRequest, directive, infos)
};
struct JobControlRequest {
    static constexpr Command kCommand = Command::job_control;
    ProcsIfAny procs;
    Infos infos;
    WIREUP_FIELDS(JobControlRequest, procs, infos)
};
struct MonitorRequest {
    static constexpr Command kCommand = Command::monitor;
    OneInfo monitor;
    Status error;
    Infos infos;
    WIREUP_FIELDS(MonitorRequest, monitor, error, infos)
};
struct GetCredentialRequest {
    static constexpr Command kCommand = Command::get_credential;
    Infos infos;
    WIREUP_FIELDS(GetCredentialRequest, infos)
};
struct ValidateCredentialRequest {
    static constexpr Command kCommand = Command::validate_credential;
    ByteObject credential;
    Infos infos;
    WIREUP_FIELDS(ValidateCredentialRequest, credential, infos)
};
struct IofPullRequest {
    static constexpr Command kCommand = Command::iof_pull;
    Procs procs;
    Infos infos;
    Channel channels;
    std::optional<Size> reference;  // not from releases before 4.1
    WIREUP_FIELDS(IofPullRequest, procs, infos, channels, reference)
};
struct IofPushRequest {
    static constexpr Command kCommand = Command::iof_push;
    Procs procs;
    Infos infos;
    ByteObject data;  // empty: the end of the input
    WIREUP_FIELDS(IofPushRequest, procs, infos, data)
};
struct IofDeregisterRequest {
    static constexpr Command kCommand = Command::iof_deregister;
    Infos infos;
    Size reference;
    WIREUP_FIELDS(IofDeregisterRequest, infos, reference)
};
struct GroupConstructRequest {
    static constexpr Command kCommand = Command::group_construct;
    Text group;
    Procs procs;
    Infos infos;
    WIREUP_FIELDS(GroupConstructRequest, group, procs, infos)
};
// Of releases where Traits::destruct_has_members.
struct GroupDestructRequest {
    static constexpr Command kCommand = Command::group_destruct;
    Text group;
    Procs procs;
    Infos infos;
    WIREUP_FIELDS(GroupDestructRequest, group, procs, infos)
};
struct PlainGroupDestructRequest {
    static constexpr Command kCommand = Command::group_destruct;
    Text group;
    Infos infos;
    WIREUP_FIELDS(PlainGroupDestructRequest, group, infos)
};
// Of releases since 7.0, which form the groups of invited processes themselves; before, and of others, all of it is
// events. Both are answered at once; what becomes of the group is told by an event.
struct GroupInviteRequest {
    static constexpr Command kCommand = Command::group_invite;
    Text group;
    Procs procs;
    Number32 timeout;  // seconds; 0: none
    Flag optional;
    Flag assigns_id;
    WIREUP_FIELDS(GroupInviteRequest, group, procs, timeout, optional, assigns_id)
};
struct GroupJoinRequest {
    static constexpr Command kCommand = Command::group_join;
    Text group;
    Status answer;  // PMIX_GROUP_INVITE_ACCEPTED or _DECLINED
    Flag has_leader;
    std::optional<Proc> leader;
    WIREUP_FIELDS(GroupJoinRequest, group, answer, has_leader, leader)
};
struct FabricRegisterRequest {
    static constexpr Command kCommand = Command::fabric_register;
    Infos infos;
    WIREUP_FIELDS(FabricRegisterRequest, infos)
};
struct FabricUpdateRequest {
    static constexpr Command kCommand = Command::fabric_update;
    Size index;
    WIREUP_FIELDS(FabricUpdateRequest, index)
};
struct DeviceDistancesRequest {
    static constexpr Command kCommand = Command::device_distances;
    Topology topology;
    Cpuset cpuset;
    Infos infos;
    WIREUP_FIELDS(DeviceDistancesRequest, topology, cpuset, infos)
};
struct RefreshRequest {
    static constexpr Command kCommand = Command::refresh;
    Text nspace;
    RankItem rank;
    WIREUP_FIELDS(RefreshRequest, nspace, rank)
};
struct ResourceBlockRequest {
    static constexpr Command kCommand = Command::resource_block;
    BlockDirective directive;
    Text block;
    Units units;
    Infos infos;
    WIREUP_FIELDS(ResourceBlockRequest, directive, block, units, infos)
};
struct SessionControlRequest {
    static constexpr Command kCommand = Command::session_control;
    Number32 session;
    Infos infos;
    WIREUP_FIELDS(SessionControlRequest, session, infos)
};
struct ResolvePeersRequest {
    static constexpr Command kCommand = Command::resolve_peers;
    Text node;
    Text nspace;
    WIREUP_FIELDS(ResolvePeersRequest, node, nspace)
};
struct ResolveNodeRequest {
    static constexpr Command kCommand = Command::resolve_node;
    Text nspace;
    WIREUP_FIELDS(ResolveNodeRequest, nspace)
};
struct StoreFallbackRequest {
    static constexpr Command kCommand = Command::store_fallback;
    Text module;
    WIREUP_FIELDS(StoreFallbackRequest, module)
};

// ---- replies ----

struct StatusReply {
    Status status;
    WIREUP_FIELDS(StatusReply, status)
};
// Of query, allocation, job control, monitor, credential validation, fabrics and session control.
struct InfosReply {
    Status status;
    std::optional<Infos> infos;
    WIREUP_FIELDS(InfosReply, status, infos)
};
// Each object is a ProcData, or a JobData before those of another namespace.
struct GetReply {
    Status status;
    ByteObjects objects;
    WIREUP_FIELDS(GetReply, status, objects)
};
struct LookupReply {
    Status status;
    std::optional<PublishedData> data;
    WIREUP_FIELDS(LookupReply, status, data)
};
struct SpawnReply {
    Status status;
    std::optional<Text> nspace;
    KeyValues values;
    WIREUP_FIELDS(SpawnReply, status, nspace, values)
};
// Each object is a JobData.
struct ConnectReplyMessage {
    Status status;
    ByteObjects objects;
    WIREUP_FIELDS(ConnectReplyMessage, status, objects)
};
struct CredentialReply {
    Status status;
    std::optional<ByteObject> credential;
    std::optional<Infos> infos;
    WIREUP_FIELDS(CredentialReply, status, credential, infos)
};
struct IofPullReply {
    Status status;
    std::optional<Size> reference;
    WIREUP_FIELDS(IofPullReply, status, reference)
};
struct DeviceDistancesReply {
    Status status;
    std::optional<Distances> distances;
    WIREUP_FIELDS(DeviceDistancesReply, status, distances)
};
struct RefreshReply {
    Status status;
    KeyValues values;
    WIREUP_FIELDS(RefreshReply, status, values)
};
struct ResolvePeersReply {
    Status status;
    std::optional<ProcsIfAny> procs;
    WIREUP_FIELDS(ResolvePeersReply, status, procs)
};
struct ResolveNodeReply {
    Status status;
    std::optional<Text> nodes;
    WIREUP_FIELDS(ResolveNodeReply, status, nodes)
};
// By Traits::group_reply.
struct GroupContextReply {
    Status status;
    std::optional<Size> context_id;
    WIREUP_FIELDS(GroupContextReply, status, context_id)
};
struct GroupMembersReply {
    Status status;
    std::optional<Procs> members;
    std::optional<Size> context_id;
    ByteObjects objects;  // JobData
    WIREUP_FIELDS(GroupMembersReply, status, members, context_id, objects)
};
struct GroupReply {
    Status status;
    std::optional<Procs> members;
    std::optional<ContextId> context_id;
    std::optional<InfosApart> infos;
    WIREUP_FIELDS(GroupReply, status, members, context_id, infos)
};

// ---- unasked, server to client ----

struct EventMessage {
    static constexpr Command kCommand = Command::notify;
    Status code;
    Proc source;
    Infos infos;
    std::optional<Range> range;  // not from releases before 4.0, nor always
    WIREUP_FIELDS(EventMessage, code, source, infos, range)
};
struct OutputMessage {
    Proc source;
    Channel channel;
    Size reference;
    Infos infos;
    ByteObject data;  // empty: the end of the stream
    WIREUP_FIELDS(OutputMessage, source, channel, reference, infos, data)
};
// Where Traits::takes_notices. A process has deleted a key: what its reader keeps of it is to go.
struct DeletionMessage {
    Proc proc;
    Scope scope;  // of those for deletions
    Text key;
    WIREUP_FIELDS(DeletionMessage, proc, scope, key)
};
// Likewise. A process that pushes input is to stop, or may go on.
struct FlowMessage {
    Proc source;  // whose input; a wildcard without a namespace: everybody's
    Channel channel;
    Flag stop;
    Infos infos;
    WIREUP_FIELDS(FlowMessage, source, channel, stop, infos)
};

// All of them, for the definitions and tests.
// clang-format off
#define WIREUP_OPENPMIX_REQUESTS(X) \
    X(JobDataRequest) X(AbortRequest) X(CommitRequest) X(FenceRequest) X(GetRequest) \
    X(FinalizeRequest) X(PublishRequest) X(LookupRequest) X(UnpublishRequest) X(SpawnRequest) \
    X(ConnectRequestMessage) X(PlainConnectRequest) X(DisconnectRequest) X(NotifyRequest) X(RegisterEventsRequest) \
    X(DeregisterEventsRequest) X(QueryRequest) X(LogRequest) X(AllocationRequest) \
    X(JobControlRequest) X(MonitorRequest) X(GetCredentialRequest) X(ValidateCredentialRequest) \
    X(IofPullRequest) X(IofPushRequest) X(IofDeregisterRequest) X(GroupConstructRequest) \
    X(GroupDestructRequest) X(PlainGroupDestructRequest) X(GroupInviteRequest) X(GroupJoinRequest) X(FabricRegisterRequest) \
    X(FabricUpdateRequest) X(DeviceDistancesRequest) X(RefreshRequest) X(ResourceBlockRequest) \
    X(SessionControlRequest) X(ResolvePeersRequest) X(ResolveNodeRequest) X(StoreFallbackRequest)
#define WIREUP_OPENPMIX_OTHERS(X) \
    X(JobData) X(ProcData) X(RankData) X(SectionData) X(HelloInfosMessage) X(StatusReply) \
    X(InfosReply) X(GetReply) X(LookupReply) X(SpawnReply) X(ConnectReplyMessage) X(CredentialReply) \
    X(IofPullReply) X(DeviceDistancesReply) X(RefreshReply) X(ResolvePeersReply) X(ResolveNodeReply) \
    X(GroupContextReply) X(GroupMembersReply) X(GroupReply) X(EventMessage) X(OutputMessage) \
    X(DeletionMessage) X(FlowMessage)
// clang-format on

// Appends the message's calls to out, which is unchanged on an error.
template <class M>
pmix_status_t encode(const M& message, const Traits& traits, std::vector<uint8_t>* out);

// left: bytes behind the last known field.
template <class M>
pmix_status_t decode(common::Bytes payload, const Traits& traits, M* out, size_t* left = nullptr);

// "Name{field=value ...}", values cut short, for the log.
template <class M>
void print(std::string& out, const M& message);

}  // namespace pmix::openpmix

// SPDX-License-Identifier: BSD-3-Clause
// One struct per request and reply, one field list each: encode, decode, print and the fuzz round trip follow from it.
//
// Pure values, any thread. A message is its fields one after the other, little-endian (docs/reference/wire.md). New
// fields are appended: a decoder leaves a missing trailing field at its default and ignores what follows the last field
// of its own version. A struct inside a message carries its length, so it grows in the same way.
//
// A reply's status travels in the frame header, not here. Decoding takes hostile bytes: PMIX_ERR_UNPACK_FAILURE, or
// what the value codec says; the message is then to be thrown away.
//
// Ownership: decoded messages own what they hold, save fields of type Bytes or string_view (CommitEntry, forwarded
// data), which point into the payload they were decoded from. To encode a caller's array without a copy, hand it in by
// AbiArray::borrow().
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/bytes.h"
#include "common/base/field_list.h"
#include "common/base/ids.h"
#include "common/base/status.h"
#include "common/codec/rank_ranges.h"
#include "common/protocol/frame.h"
#include "common/protocol/message_fields.h"
#include "common/protocol/service_messages.h"
#include "common/protocol/tool_messages.h"

namespace pmix::common {

struct Nothing {
    template <class V>
    static void fields(V&&) {}
};

// ---- handshake (common/protocol/hello.h) ----

// An observer is a tool that only asks the library how things stand; the host never hears of it.
enum class PeerRole : uint8_t { client = 1, tool = 2, server_clone = 3, observer = 4 };

struct HelloRequest {
    uint32_t magic = 0;
    uint16_t min_version = 0, max_version = 0;
    PeerRole role = PeerRole::client;
    std::string nspace;  // empty: a tool that asks for an identity
    Rank rank = PMIX_RANK_UNDEF;
    Blob token;  // the client's half, or empty
    uint32_t pid = 0;
    std::string library_version;
    uint64_t features = 0;
    Infos infos;  // of PMIx_Init or PMIx_tool_init, as far as the server is concerned
    WIREUP_FIELDS(HelloRequest, magic, min_version, max_version, role, nspace, rank, token, pid, library_version,
                  features, infos)
};

struct HelloReply {
    uint16_t version = 0;
    uint64_t features = 0;
    ProcId server;
    std::string library_version;
    Blob token;            // the server's half, or empty
    ProcId self;           // the receiver's name (assigned to a tool that asked)
    SegmentList segments;  // the receiver's own namespace
    Infos infos;
    WIREUP_FIELDS(HelloReply, version, features, server, library_version, token, self, segments, infos)
};

// ---- data ----

// Borrowed on both ways: the encoder's caller and the decoded payload keep key and value alive.
struct CommitEntry {
    uint8_t scope = 0;  // pmix_scope_t
    std::string_view key;
    Bytes value;  // encoded
    WIREUP_FIELDS(CommitEntry, scope, key, value)
};

// No reply is asked for when the frame is sent as a notify; order on the socket is enough for what follows, and a
// refusal is answered by CommitRefusedNotify.
struct CommitRequest {
    uint64_t generation = 0;  // the sender's n-th commit, from 1
    std::vector<CommitEntry> entries;
    // What was refused of the commits up to this one has been sent again in commits up to and including this message.
    uint64_t resent_up_to = 0;
    WIREUP_FIELDS(CommitRequest, generation, entries, resent_up_to)
};

// To the sender of a commit that was sent as a notify and could not be taken over: nothing of it is published.
struct CommitRefusedNotify {
    uint64_t generation = 0;  // of the CommitRequest
    int32_t status = 0;
    WIREUP_FIELDS(CommitRefusedNotify, generation, status)
};

struct CommitReply {
    uint64_t generation = 0;  // of the segment, when the values were published
    WIREUP_FIELDS(CommitReply, generation)
};

struct GetRequest {
    ProcId proc;
    std::string key;  // empty: all values of proc
    Infos infos;
    uint64_t generation = 0;  // what the requester has seen of proc's namespace; 0: nothing
    WIREUP_FIELDS(GetRequest, proc, key, infos, generation)
};

// Either the value itself, or "read again": it is in the segment at or after this generation.
struct GetReply {
    uint64_t generation = 0;
    bool is_inline = false;
    Blob value;  // encoded, when is_inline
    SegmentList segments;
    WIREUP_FIELDS(GetReply, generation, is_inline, value, segments)
};

// What a process does with the memory in which its job's processes on this node meet for a fence
// (transport/memory/fence_memory.h).
enum class FenceUse : uint8_t {
    none = 0,    // it does not take it
    lacks = 1,   // it would, and has not been given it
    has = 2,     // this fence goes by request all the same
    joined = 3,  // it has joined there, in the round that is named, and wants this fence's answer from the server
};

struct FenceRequest {
    ProcList procs;
    Infos infos;
    RangeList ranges;  // participants beside procs; both empty: all of the sender's namespace
    FenceUse memory = FenceUse::none;
    uint32_t memory_round = 0;
    WIREUP_FIELDS(FenceRequest, procs, infos, ranges, memory, memory_round)
};

struct FenceReply {
    uint64_t generation = 0;    // of the requester's namespace
    SegmentList segments;       // of the participants, as far as they changed and the requester may map them
    uint32_t memory_ranks = 0;  // the memory for the next fences is the last descriptor, for so many; 0: it is not
    uint32_t memory_slot = 0;   // the requester's place there
    WIREUP_FIELDS(FenceReply, generation, segments, memory_ranks, memory_slot)
};

// The sender was the last one to join in that round of the memory, which the server is to end.
struct FenceJoinedNotify {
    uint32_t round = 0;
    WIREUP_FIELDS(FenceJoinedNotify, round)
};

struct PublishRequest {
    Infos infos;  // what to publish and how, as the caller gave it
    WIREUP_FIELDS(PublishRequest, infos)
};

struct LookupRequest {
    KeyList keys;
    Infos infos;
    WIREUP_FIELDS(LookupRequest, keys, infos)
};

struct PublishedItem {
    ProcId owner;
    std::string key;
    Blob value;  // encoded
    WIREUP_FIELDS(PublishedItem, owner, key, value)
};

struct LookupReply {
    std::vector<PublishedItem> items;  // the keys that were found
    WIREUP_FIELDS(LookupReply, items)
};

struct UnpublishRequest {
    bool all = false;  // all that the requester published; keys is empty then
    KeyList keys;
    Infos infos;
    WIREUP_FIELDS(UnpublishRequest, all, keys, infos)
};

// ---- abort, finalize ----

struct AbortRequest {
    int32_t status = 0;
    std::string message;
    ProcList procs;  // empty: all of the requester's namespace
    WIREUP_FIELDS(AbortRequest, status, message, procs)
};

struct FinalizeRequest {
    Infos infos;
    WIREUP_FIELDS(FinalizeRequest, infos)
};

struct AttachNspaceRequest {
    std::string nspace;
    uint64_t generation = 0;  // what the requester has; 0: nothing
    WIREUP_FIELDS(AttachNspaceRequest, nspace, generation)
};

struct AttachNspaceReply {
    SegmentList segments;
    WIREUP_FIELDS(AttachNspaceReply, segments)
};

// To those who were given the segment: the namespace has ended. Unmap it.
struct SegmentGoneNotify {
    std::string nspace;
    uint64_t instance = 0;
    WIREUP_FIELDS(SegmentGoneNotify, nspace, instance)
};

struct ResolveRequest {
    std::string node;    // resolve_peers; empty: the requester's
    std::string nspace;  // empty: every namespace
    WIREUP_FIELDS(ResolveRequest, node, nspace)
};

struct ResolvePeersReply {
    ProcList procs;
    WIREUP_FIELDS(ResolvePeersReply, procs)
};

struct ResolveNodesReply {
    std::string nodes;  // comma-separated
    WIREUP_FIELDS(ResolveNodesReply, nodes)
};

// ---- events ----

struct RegisterEventsRequest {
    std::vector<int32_t> codes;  // empty: a default handler
    Infos infos;
    uint64_t reference = 0;  // the requester's name for it
    uint64_t after = 0;      // events up to this number are not replayed
    WIREUP_FIELDS(RegisterEventsRequest, codes, infos, reference, after)
};

struct DeregisterEventsRequest {
    uint64_t reference = 0;
    WIREUP_FIELDS(DeregisterEventsRequest, reference)
};

struct NotifyEventRequest {
    int32_t status = 0;
    ProcId source;
    uint8_t range = 0;  // pmix_data_range_t
    Infos infos;
    WIREUP_FIELDS(NotifyEventRequest, status, source, range, infos)
};

struct EventNotify {
    int32_t status = 0;
    ProcId source;
    uint8_t range = 0;
    Infos infos;
    uint64_t sequence = 0;  // rises by one per event to this peer
    // 0: new, for all handlers. Otherwise an event from the cache, only for the handler with this reference plus one.
    uint64_t replay_for = 0;
    uint8_t nearness = 0;  // of the source, as the server sees it
    static constexpr uint8_t kOnThisNode = 1;
    static constexpr uint8_t kInAnotherSession = 2;  // than the receiver's
    static constexpr uint8_t kToItsSource = 4;       // the receiver is the source, and has not raised it itself
    uint64_t number = 0;                             // rising: when the server got it (event_clock()); 0: it has none
    WIREUP_FIELDS(EventNotify, status, source, range, infos, sequence, replay_for, nearness, number)
    // The same event for another process: w ends with it as it was encoded for one.
    void encode_for_receiver(ByteWriter& w) const {
        w.truncate(w.size() - (sizeof sequence + sizeof replay_for + sizeof nearness + sizeof number));
        w.u64(sequence);
        w.u64(replay_for);
        w.u8(nearness);
        w.u64(number);
    }
};

// ---- processes ----

struct ConnectRequest {  // and disconnect
    ProcList procs;
    Infos infos;
    RangeList ranges;  // participants beside procs
    WIREUP_FIELDS(ConnectRequest, procs, infos, ranges)
};

struct ConnectReply {
    SegmentList segments;  // of the namespaces that the requester may read now
    WIREUP_FIELDS(ConnectReply, segments)
};

struct SpawnRequest {
    Infos infos;
    Apps apps;
    WIREUP_FIELDS(SpawnRequest, infos, apps)
};

struct SpawnReply {
    std::string nspace;
    SegmentList segments;
    WIREUP_FIELDS(SpawnReply, nspace, segments)
};

// ---- forwarded output and input ----

struct IofPullRequest {
    uint64_t reference = 0;  // the requester's name for it
    uint16_t channels = 0;   // pmix_iof_channel_t bits
    ProcList procs;
    Infos infos;
    WIREUP_FIELDS(IofPullRequest, reference, channels, procs, infos)
};

// The answer comes when all that was kept for the registration is on its way, in front of the answer.
struct IofDeregisterRequest {
    uint64_t reference = 0;
    WIREUP_FIELDS(IofDeregisterRequest, reference)
};

// data is borrowed on both ways, as a CommitEntry's.
struct IofPushRequest {
    ProcList procs;
    Infos infos;
    Bytes data;          // none: the end
    bool probe = false;  // only the question whether input can be forwarded at all
    WIREUP_FIELDS(IofPushRequest, procs, infos, data, probe)
};

// The receiver gives back credit for data.size() + kIofFrameCost bytes once they are dealt with.
struct IofNotify {
    ProcId source;
    uint16_t channel = 0;  // pmix_iof_channel_t
    Bytes data;            // borrowed on both ways; none: the end of the stream
    Infos infos;
    uint64_t reference = 0;  // of the iof_pull that asked for it
    uint64_t lost = 0;       // bytes of this stream that were dropped in front of these
    WIREUP_FIELDS(IofNotify, source, channel, data, infos, reference, lost)
};

struct IofCredit {
    uint64_t reference = 0;
    uint64_t bytes = 0;
    WIREUP_FIELDS(IofCredit, reference, bytes)
};

// ---- what follows from the lists ----

enum class Command : uint16_t {
#define WIREUP_COMMAND(number, name, request, reply, since) name = number,
#define WIREUP_NOTIFY(number, name, message, since) name = number,
#include "common/protocol/commands.def"
};

template <Command C>
struct CommandTypes;
#define WIREUP_COMMAND(number, name, request, reply, since) \
    template <>                                             \
    struct CommandTypes<Command::name> {                    \
        using Request = request;                            \
        using Reply = reply;                                \
    };
#define WIREUP_NOTIFY(number, name, message, since) \
    template <>                                     \
    struct CommandTypes<Command::name> {            \
        using Notify = message;                     \
    };
#include "common/protocol/commands.def"

// "fence"; nullptr for a number that is none.
const char* command_name(uint16_t command) noexcept;

// Defined for every struct of commands.def. encode appends and throws bad_alloc; on a status the writer is as it was.
template <class M>
pmix_status_t encode_message(ByteWriter& w, const M& message);
template <class M>
pmix_status_t decode_message(Bytes payload, M& message);
// "FenceRequest{procs=[job.*] infos=[pmix.collect:BOOL]}", for the trace; long contents are cut.
template <class M>
void print_message(std::string& out, const M& message);

// The payload alone, ready to be sent. Fails only where a value cannot be encoded.
template <class M>
Result<Blob> message_bytes(const M& message) {
    ByteWriter w;
    WIREUP_RETURN_IF_ERROR(encode_message(w, message));
    return w.take();
}

// One line for a whole frame, whatever it is.
std::string describe_frame(const FrameHeader& header, Bytes payload);

// Decodes the payload of a frame as its command and kind say and encodes it again. PMIX_ERR_NOT_FOUND: no such message.
// What the fuzz targets and the tests stand on.
pmix_status_t reencode_payload(const FrameHeader& header, Bytes payload, ByteWriter& w);

}  // namespace pmix::common

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
#include <type_traits>
#include <vector>

#include "common/base/bytes.h"
#include "common/base/ids.h"
#include "common/base/status.h"
#include "common/codec/rank_ranges.h"
#include "common/protocol/frame.h"
#include "common/protocol/tool_messages.h"
#include "common/values/value.h"

namespace pmix::common {

// Infos, apps or queries in a message: owned (after decoding, or moved in), or borrowed until encoded.
template <class T>
class AbiArray {
  public:
    using Owner = std::conditional_t<std::is_same_v<T, pmix_info_t>, InfoList, CArray<T>>;

    AbiArray() = default;
    AbiArray(Owner&& owner) noexcept : owner_(std::move(owner)) {}
    static AbiArray borrow(const T* array, size_t n) noexcept {
        AbiArray a;
        a.borrowed_ = array;
        a.borrowed_size_ = array == nullptr ? 0 : n;
        return a;
    }

    const T* data() const noexcept { return borrowed_ != nullptr ? borrowed_ : owned_data(owner_); }
    size_t size() const noexcept { return borrowed_ != nullptr ? borrowed_size_ : owner_.size(); }
    bool empty() const noexcept { return size() == 0; }
    const T* begin() const noexcept { return data(); }
    const T* end() const noexcept { return data() + size(); }
    const T& operator[](size_t i) const noexcept { return data()[i]; }
    // What is owned (empty for a borrowed array).
    Owner& owned() noexcept { return owner_; }
    const Owner& owned() const noexcept { return owner_; }
    Owner take() noexcept { return std::move(owner_); }

  private:
    static const T* owned_data(const InfoList& l) noexcept { return l.c_array(); }
    static const T* owned_data(const CArray<T>& a) noexcept { return a.data(); }
    Owner owner_;
    const T* borrowed_ = nullptr;
    size_t borrowed_size_ = 0;
};
using Infos = AbiArray<pmix_info_t>;
using Apps = AbiArray<pmix_app_t>;
using Queries = AbiArray<pmix_query_t>;

using ProcList = std::vector<ProcId>;
using KeyList = std::vector<std::string>;
using Blob = std::vector<uint8_t>;  // opaque, or one value as common/codec/pack.h encodes it

// field lists: v(name, pointer to member), in wire order.
#define WIREUP_FIELD(member) v(#member, &Self::member);

// A segment of a namespace's store that the receiver may map.
struct SegmentRef {
    std::string nspace;
    uint32_t index = 0;           // a namespace may have several
    uint64_t instance = 0;        // tells apart two namespaces of the same name
    uint64_t reservation = 0;     // bytes of address space to map
    uint64_t generation = 0;      // published when this was written
    bool has_descriptor = false;  // the frame's next descriptor is this segment's; false: the receiver has it already
    using Self = SegmentRef;
    template <class V>
    static void fields(V&& v) {
        WIREUP_FIELD(nspace)
        WIREUP_FIELD(index)
        WIREUP_FIELD(instance) WIREUP_FIELD(reservation) WIREUP_FIELD(generation) WIREUP_FIELD(has_descriptor)
    }
};
using SegmentList = std::vector<SegmentRef>;

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
    using Self = HelloRequest;
    template <class V>
    static void fields(V&& v) {
        WIREUP_FIELD(magic)
        WIREUP_FIELD(min_version)
        WIREUP_FIELD(max_version)
        WIREUP_FIELD(role)
        WIREUP_FIELD(nspace)
        WIREUP_FIELD(rank)
        WIREUP_FIELD(token) WIREUP_FIELD(pid) WIREUP_FIELD(library_version) WIREUP_FIELD(features) WIREUP_FIELD(infos)
    }
};

struct HelloReply {
    uint16_t version = 0;
    uint64_t features = 0;
    ProcId server;
    std::string library_version;
    Blob token;            // the server's half, or empty
    ProcId self;           // who the receiver is (assigned to a tool that asked)
    SegmentList segments;  // the receiver's own namespace
    Infos infos;
    using Self = HelloReply;
    template <class V>
    static void fields(V&& v) {
        WIREUP_FIELD(version)
        WIREUP_FIELD(features)
        WIREUP_FIELD(server)
        WIREUP_FIELD(library_version) WIREUP_FIELD(token) WIREUP_FIELD(self) WIREUP_FIELD(segments) WIREUP_FIELD(infos)
    }
};

// ---- data ----

// Borrowed on both ways: the encoder's caller and the decoded payload keep key and value alive.
struct CommitEntry {
    uint8_t scope = 0;  // pmix_scope_t
    std::string_view key;
    Bytes value;  // encoded
    using Self = CommitEntry;
    template <class V>
    static void fields(V&& v) {
        WIREUP_FIELD(scope) WIREUP_FIELD(key) WIREUP_FIELD(value)
    }
};

// No reply is asked for when the frame is sent as a notify; order on the socket is enough for what follows, and a
// refusal is answered by CommitRefusedNotify.
struct CommitRequest {
    uint64_t generation = 0;  // the sender's n-th commit, from 1
    std::vector<CommitEntry> entries;
    // What was refused of the commits up to this one has been sent again in commits up to and including this message.
    uint64_t resent_up_to = 0;
    using Self = CommitRequest;
    template <class V>
    static void fields(V&& v) {
        WIREUP_FIELD(generation) WIREUP_FIELD(entries) WIREUP_FIELD(resent_up_to)
    }
};

// To the sender of a commit that was sent as a notify and could not be taken over: nothing of it is published.
struct CommitRefusedNotify {
    uint64_t generation = 0;  // of the CommitRequest
    int32_t status = 0;
    using Self = CommitRefusedNotify;
    template <class V>
    static void fields(V&& v) {
        WIREUP_FIELD(generation) WIREUP_FIELD(status)
    }
};

struct CommitReply {
    uint64_t generation = 0;  // of the segment, when the values were published
    using Self = CommitReply;
    template <class V>
    static void fields(V&& v) {
        WIREUP_FIELD(generation)
    }
};

struct GetRequest {
    ProcId proc;
    std::string key;  // empty: all values of proc
    Infos infos;
    uint64_t generation = 0;  // what the requester has seen of proc's namespace; 0: nothing
    using Self = GetRequest;
    template <class V>
    static void fields(V&& v) {
        WIREUP_FIELD(proc) WIREUP_FIELD(key) WIREUP_FIELD(infos) WIREUP_FIELD(generation)
    }
};

// Either the value itself, or "read again": it is in the segment at or after this generation.
struct GetReply {
    uint64_t generation = 0;
    bool is_inline = false;
    Blob value;  // encoded, when is_inline
    SegmentList segments;
    using Self = GetReply;
    template <class V>
    static void fields(V&& v) {
        WIREUP_FIELD(generation) WIREUP_FIELD(is_inline) WIREUP_FIELD(value) WIREUP_FIELD(segments)
    }
};

struct FenceRequest {
    ProcList procs;
    Infos infos;
    RangeList ranges;  // participants beside procs; both empty: all of the sender's namespace
    using Self = FenceRequest;
    template <class V>
    static void fields(V&& v) {
        WIREUP_FIELD(procs) WIREUP_FIELD(infos) WIREUP_FIELD(ranges)
    }
};

struct FenceReply {
    uint64_t generation = 0;  // of the requester's namespace
    SegmentList segments;     // of the participants, as far as they changed and the requester may map them
    using Self = FenceReply;
    template <class V>
    static void fields(V&& v) {
        WIREUP_FIELD(generation) WIREUP_FIELD(segments)
    }
};

struct PublishRequest {
    Infos infos;  // what to publish and how, as the caller gave it
    using Self = PublishRequest;
    template <class V>
    static void fields(V&& v) {
        WIREUP_FIELD(infos)
    }
};

struct LookupRequest {
    KeyList keys;
    Infos infos;
    using Self = LookupRequest;
    template <class V>
    static void fields(V&& v) {
        WIREUP_FIELD(keys) WIREUP_FIELD(infos)
    }
};

struct PublishedItem {
    ProcId owner;
    std::string key;
    Blob value;  // encoded
    using Self = PublishedItem;
    template <class V>
    static void fields(V&& v) {
        WIREUP_FIELD(owner) WIREUP_FIELD(key) WIREUP_FIELD(value)
    }
};

struct LookupReply {
    std::vector<PublishedItem> items;  // the keys that were found
    using Self = LookupReply;
    template <class V>
    static void fields(V&& v) {
        WIREUP_FIELD(items)
    }
};

struct UnpublishRequest {
    bool all = false;  // all that the requester published; keys is empty then
    KeyList keys;
    Infos infos;
    using Self = UnpublishRequest;
    template <class V>
    static void fields(V&& v) {
        WIREUP_FIELD(all) WIREUP_FIELD(keys) WIREUP_FIELD(infos)
    }
};

// ---- abort, finalize ----

struct AbortRequest {
    int32_t status = 0;
    std::string message;
    ProcList procs;  // empty: all of the requester's namespace
    using Self = AbortRequest;
    template <class V>
    static void fields(V&& v) {
        WIREUP_FIELD(status) WIREUP_FIELD(message) WIREUP_FIELD(procs)
    }
};

struct FinalizeRequest {
    Infos infos;
    using Self = FinalizeRequest;
    template <class V>
    static void fields(V&& v) {
        WIREUP_FIELD(infos)
    }
};

struct AttachNspaceRequest {
    std::string nspace;
    uint64_t generation = 0;  // what the requester has; 0: nothing
    using Self = AttachNspaceRequest;
    template <class V>
    static void fields(V&& v) {
        WIREUP_FIELD(nspace) WIREUP_FIELD(generation)
    }
};

struct AttachNspaceReply {
    SegmentList segments;
    using Self = AttachNspaceReply;
    template <class V>
    static void fields(V&& v) {
        WIREUP_FIELD(segments)
    }
};

// To those who were given the segment: the namespace has ended. Unmap it.
struct SegmentGoneNotify {
    std::string nspace;
    uint64_t instance = 0;
    using Self = SegmentGoneNotify;
    template <class V>
    static void fields(V&& v) {
        WIREUP_FIELD(nspace) WIREUP_FIELD(instance)
    }
};

struct ResolveRequest {
    std::string node;    // resolve_peers; empty: the requester's
    std::string nspace;  // empty: every namespace
    using Self = ResolveRequest;
    template <class V>
    static void fields(V&& v) {
        WIREUP_FIELD(node) WIREUP_FIELD(nspace)
    }
};

struct ResolvePeersReply {
    ProcList procs;
    using Self = ResolvePeersReply;
    template <class V>
    static void fields(V&& v) {
        WIREUP_FIELD(procs)
    }
};

struct ResolveNodesReply {
    std::string nodes;  // comma-separated
    using Self = ResolveNodesReply;
    template <class V>
    static void fields(V&& v) {
        WIREUP_FIELD(nodes)
    }
};

// ---- events ----

struct RegisterEventsRequest {
    std::vector<int32_t> codes;  // empty: a default handler
    Infos infos;
    uint64_t reference = 0;  // the requester's name for it
    using Self = RegisterEventsRequest;
    template <class V>
    static void fields(V&& v) {
        WIREUP_FIELD(codes) WIREUP_FIELD(infos) WIREUP_FIELD(reference)
    }
};

struct DeregisterEventsRequest {
    uint64_t reference = 0;
    using Self = DeregisterEventsRequest;
    template <class V>
    static void fields(V&& v) {
        WIREUP_FIELD(reference)
    }
};

struct NotifyEventRequest {
    int32_t status = 0;
    ProcId source;
    uint8_t range = 0;  // pmix_data_range_t
    Infos infos;
    using Self = NotifyEventRequest;
    template <class V>
    static void fields(V&& v) {
        WIREUP_FIELD(status) WIREUP_FIELD(source) WIREUP_FIELD(range) WIREUP_FIELD(infos)
    }
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
    using Self = EventNotify;
    template <class V>
    static void fields(V&& v) {
        WIREUP_FIELD(status)
        WIREUP_FIELD(source)
        WIREUP_FIELD(range) WIREUP_FIELD(infos) WIREUP_FIELD(sequence) WIREUP_FIELD(replay_for) WIREUP_FIELD(nearness)
    }
};

// ---- processes ----

struct ConnectRequest {  // and disconnect
    ProcList procs;
    Infos infos;
    RangeList ranges;  // participants beside procs
    using Self = ConnectRequest;
    template <class V>
    static void fields(V&& v) {
        WIREUP_FIELD(procs) WIREUP_FIELD(infos) WIREUP_FIELD(ranges)
    }
};

struct ConnectReply {
    SegmentList segments;  // of the namespaces that the requester may read now
    using Self = ConnectReply;
    template <class V>
    static void fields(V&& v) {
        WIREUP_FIELD(segments)
    }
};

struct SpawnRequest {
    Infos infos;
    Apps apps;
    using Self = SpawnRequest;
    template <class V>
    static void fields(V&& v) {
        WIREUP_FIELD(infos) WIREUP_FIELD(apps)
    }
};

struct SpawnReply {
    std::string nspace;
    SegmentList segments;
    using Self = SpawnReply;
    template <class V>
    static void fields(V&& v) {
        WIREUP_FIELD(nspace) WIREUP_FIELD(segments)
    }
};

// ---- everything else: the command says which call it is, the fields are its arguments ----

struct ControlRequest {
    uint32_t kind = 0;  // the call's directive, operation or channel bits
    std::string name;   // group or process set
    ProcList procs;     // targets or members
    Infos infos;        // the data (log, monitor, allocate)
    Infos directives;
    Queries queries;
    Blob data;  // a credential
    using Self = ControlRequest;
    template <class V>
    static void fields(V&& v) {
        WIREUP_FIELD(kind)
        WIREUP_FIELD(name)
        WIREUP_FIELD(procs) WIREUP_FIELD(infos) WIREUP_FIELD(directives) WIREUP_FIELD(queries) WIREUP_FIELD(data)
    }
};

struct ControlReply {
    Infos infos;
    ProcList procs;
    Blob data;
    uint64_t number = 0;  // a reference or context id
    SegmentList segments;
    using Self = ControlReply;
    template <class V>
    static void fields(V&& v) {
        WIREUP_FIELD(infos) WIREUP_FIELD(procs) WIREUP_FIELD(data) WIREUP_FIELD(number) WIREUP_FIELD(segments)
    }
};

// ---- forwarded output and input ----

struct IofPullRequest {
    uint64_t reference = 0;  // the requester's name for it
    uint16_t channels = 0;   // pmix_iof_channel_t bits
    ProcList procs;
    Infos infos;
    using Self = IofPullRequest;
    template <class V>
    static void fields(V&& v) {
        WIREUP_FIELD(reference) WIREUP_FIELD(channels) WIREUP_FIELD(procs) WIREUP_FIELD(infos)
    }
};

// The answer comes when all that was kept for the registration is on its way, in front of the answer.
struct IofDeregisterRequest {
    uint64_t reference = 0;
    using Self = IofDeregisterRequest;
    template <class V>
    static void fields(V&& v) {
        WIREUP_FIELD(reference)
    }
};

// data is borrowed on both ways, as a CommitEntry's.
struct IofPushRequest {
    ProcList procs;
    Infos infos;
    Bytes data;          // none: the end
    bool probe = false;  // only the question whether input can be forwarded at all
    using Self = IofPushRequest;
    template <class V>
    static void fields(V&& v) {
        WIREUP_FIELD(procs) WIREUP_FIELD(infos) WIREUP_FIELD(data) WIREUP_FIELD(probe)
    }
};

// The receiver gives back credit for data.size() + kIofFrameCost bytes once they are dealt with.
struct IofNotify {
    ProcId source;
    uint16_t channel = 0;  // pmix_iof_channel_t
    Bytes data;            // borrowed on both ways; none: the end of the stream
    Infos infos;
    uint64_t reference = 0;  // of the iof_pull that asked for it
    uint64_t lost = 0;       // bytes of this stream that were dropped in front of these
    using Self = IofNotify;
    template <class V>
    static void fields(V&& v) {
        WIREUP_FIELD(source)
        WIREUP_FIELD(channel) WIREUP_FIELD(data) WIREUP_FIELD(infos) WIREUP_FIELD(reference) WIREUP_FIELD(lost)
    }
};

struct IofCredit {
    uint64_t reference = 0;
    uint64_t bytes = 0;
    using Self = IofCredit;
    template <class V>
    static void fields(V&& v) {
        WIREUP_FIELD(reference) WIREUP_FIELD(bytes)
    }
};

#undef WIREUP_FIELD

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
    const pmix_status_t rc = encode_message(w, message);
    if (rc != PMIX_SUCCESS) return rc;
    return w.take();
}

// One line for a whole frame, whatever it is.
std::string describe_frame(const FrameHeader& header, Bytes payload);

// Decodes the payload of a frame as its command and kind say and encodes it again. PMIX_ERR_NOT_FOUND: no such message.
// What the fuzz targets and the tests stand on.
pmix_status_t reencode_payload(const FrameHeader& header, Bytes payload, ByteWriter& w);

}  // namespace pmix::common

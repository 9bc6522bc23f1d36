// SPDX-License-Identifier: BSD-3-Clause
// OpenPMIx's handshake as bytes, both ends: the connect message of a client or tool and the server's answer.
//
//   client  16 bytes of header in the byte order of its host, then at most kMaxConnectPayload bytes: ConnectRequest
//   server  no header: ConnectReply, in network order. A refusal is no answer at all (the connection is closed), since
//           releases up to 5.0.8 do not look at a status and some of their processes then hang
//
// Pure, any thread. Received bytes are hostile: PMIX_ERR_UNPACK_FAILURE for what is no such message. What a peer says
// of its user counts for nothing; the kernel is asked.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "common/base/ids.h"
#include "common/protocol/message_fields.h"
#include "openpmix/traits.h"

namespace pmix::openpmix {

inline constexpr size_t kMaxConnectPayload = 131072;
inline constexpr uint8_t kNotDescribed = 1;
inline constexpr uint8_t kFullyDescribed = 2;

// The kind of process that connects. The numbers are the wire's.
enum class PeerKind : uint8_t {
    client = 0,
    legacy_tool = 1,
    legacy_launcher = 2,
    tool = 3,         // asks for an identity
    named_tool = 4,   // has one
    client_tool = 5,  // is a client too
    launcher = 6,     // asks for an identity
    named_launcher = 7,
    client_launcher = 8,
    singleton = 9,
    scheduler = 10,
};
inline constexpr uint8_t kPeerKinds = 11;

// Whether its request carries a namespace and rank.
constexpr bool has_identity(PeerKind kind) noexcept {
    return kind != PeerKind::legacy_tool && kind != PeerKind::legacy_launcher && kind != PeerKind::tool &&
           kind != PeerKind::launcher;
}

struct ConnectRequest {
    std::string security;  // the name of its module
    std::vector<uint8_t> credential;
    PeerKind kind = PeerKind::client;
    uint32_t uid = 0;  // of all but clients
    uint32_t gid = 0;
    common::ProcId id;  // if the kind has one
    std::string version;
    std::string encoding;
    uint8_t buffer_kind = kNotDescribed;
    std::string store;  // the name of its module
    bool has_infos = false;
    common::Infos infos;
    bool stray_nul = false;  // releases 4.1.0 to 4.2.2 end with one

    // payload: what follows the header. traits: out, as version, encoding and buffer kind give it.
    // PMIX_ERR_NOT_SUPPORTED: the message is well-formed as far as the encoding, which nobody here speaks.
    static pmix_status_t decode(common::Bytes payload, ConnectRequest* out, Traits* traits);
    // With its header.
    pmix_status_t encode(std::vector<uint8_t>* out) const;
};

// The payload's size that a connect message's header announces. PMIX_ERR_UNPACK_FAILURE: it is no such header.
inline constexpr size_t kHeaderSize = 16;
pmix_status_t read_connect_header(common::Bytes header, size_t* payload) noexcept;

struct ConnectReply {
    pmix_status_t status = PMIX_SUCCESS;
    uint32_t peer_index = 0;                // a client's
    std::optional<common::ProcId> self;     // the identity that a tool asked for
    common::ProcId server;                  // a tool is told
    pmix_status_t security = PMIX_SUCCESS;  // a tool is told
};

// Whether the answer has a tool's form, and whether it hands out an identity.
struct ReplyForm {
    bool tool = false;
    bool assigns = false;
};
ReplyForm reply_form(PeerKind kind, const Traits& traits) noexcept;

std::vector<uint8_t> encode_reply(const ConnectReply& reply, ReplyForm form);
// From the start of a stream: the bytes used, 0 if more are needed. PMIX_ERR_UNPACK_FAILURE: a name without its end.
pmix_status_t decode_reply(common::Bytes bytes, ReplyForm form, ConnectReply* out, size_t* used);

}  // namespace pmix::openpmix

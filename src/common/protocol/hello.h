// SPDX-License-Identifier: BSD-3-Clause
// The handshake as a pure state machine, both ends: bytes in, bytes out, state explicit. No socket, no clock.
//
//   client                                             server
//     HelloClient::request() ── request hello ──▶ HelloServer::receive() → claimed
//                                                 the owner looks the claim up: check_identity(), registered clients
//     HelloClient::receive() ◀── reply hello ──── HelloServer::accept(...) or refuse(status)
//
// A server always answers before it closes, so that the client can say why. The request proves the rank by the first
// half of its token, the accepting reply proves the server by the second half. Halves need no cryptography here: both
// travel over a socket whose name holds 64 random bits, and a process that listens on that name sees one half only.
//
// Owned by one connection on each side and used on one thread. Everything received is hostile: what is not a hello,
// comes twice, or promises what was not offered is refused with a status.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "common/base/ids.h"
#include "common/protocol/frame.h"
#include "common/protocol/messages.h"

namespace pmix::common {

inline constexpr uint32_t kHelloMagic = 0x50554957;  // "WIUP" as little-endian bytes W I U P
inline constexpr uint16_t kProtocolMin = 1;          // the oldest version this library speaks
inline constexpr uint16_t kProtocolMax = 1;          // the newest

// Feature bits: each end says what it can do; what both can is in force.
inline constexpr uint64_t kFeatureSegments = 1u << 0;  // data by shared segments (memfd) besides inline values
inline constexpr uint64_t kFeatureRanges = 1u << 1;  // participants of fence, connect and disconnect as ranges of ranks
inline constexpr uint64_t kFeatureDeletions = 1u << 2;  // commits may delete keys
inline constexpr uint64_t kFeatureRankBits = 1u << 3;   // ranges may have ranks as bits beside them
// A client may leave what it is told unread until its next call; a server marks segments that others have replaced.
inline constexpr uint64_t kFeatureReadsLate = 1u << 4;
// The server forms the groups that processes are invited to (GroupCall::invite). No server of this library's own does:
// its clients do. Those of OpenPMIx 7 do.
inline constexpr uint64_t kFeatureInvitations = 1u << 5;
inline constexpr uint64_t kFeatureGroupRanges = 1u << 6;  // the members of a group as ranges of ranks
inline constexpr uint64_t kFeatures =
    kFeatureSegments | kFeatureRanges | kFeatureDeletions | kFeatureRankBits | kFeatureReadsLate | kFeatureGroupRanges;

// Per rank, random, made at registration and handed over by setup_fork.
inline constexpr size_t kTokenHalf = 16;
struct Token {
    std::array<uint8_t, kTokenHalf> client{};  // the rank shows this to the server
    std::array<uint8_t, kTokenHalf> server{};  // the server shows this to the rank
    bool present() const noexcept;             // any bit set
};

// Constant time for equal lengths.
bool same_secret(Bytes a, Bytes b) noexcept;

// The ids and the token with which a process may connect as this rank.
struct ExpectedPeer {
    uint32_t uid = 0;
    uint32_t gid = 0;
    uint32_t server_uid = 0;        // the server's own effective uid
    uint32_t overflow_uid = 65534;  // what the kernel reports for a user that this server's user namespace does not map
    bool unmapped_users = true;     // such a process may be the rank, if it shows the rank's token
    Token token;
};
// May a process with these kernel credentials, showing this (maybe empty) token half, be that rank? The kernel's uid
// decides: it must be the registered one, the server's or 0. A token that is shown must match as well (a stale one from
// an earlier instance of the namespace does not get in). The token stands in for the uid only where the kernel has no
// number for the user: then it is required, and the host may forbid that.
pmix_status_t check_identity(const ExpectedPeer& expected, uint32_t uid, Bytes shown) noexcept;

class HelloClient {
  public:
    enum class State : uint8_t { fresh, waiting, accepted, refused };

    // mine: role, nspace, rank, pid and so on; magic, versions and features are filled in here, the shown half from
    // token.
    HelloClient(HelloRequest mine, const Token& token);

    const HelloRequest& request() noexcept;  // to be sent; state becomes waiting

    // The reply. PMIX_SUCCESS: accepted, reply() and version() are valid. PMIX_ERR_NOT_SUPPORTED: no common version.
    // PMIX_ERR_INVALID_CRED: the server did not prove itself and server_trusted is false. Else the server's refusal, or
    // PMIX_ERR_UNPACK_FAILURE. server_trusted: the kernel reports our own user or root as the server's.
    pmix_status_t receive(const FrameHeader& header, Bytes payload, bool server_trusted);

    State state() const noexcept { return state_; }
    const HelloReply& reply() const noexcept { return reply_; }
    uint16_t version() const noexcept { return reply_.version; }
    uint64_t features() const noexcept { return reply_.features; }

  private:
    HelloRequest request_;
    HelloReply reply_;
    Token token_;
    State state_ = State::fresh;
};

class HelloServer {
  public:
    enum class State : uint8_t { fresh, claimed, accepted, refused };

    // The first frame of a connection. PMIX_SUCCESS: claim() is valid and the owner must accept or refuse. Else the
    // status to refuse with (refuse() still builds the reply); PMIX_ERR_UNPACK_FAILURE: not a hello at all, just close.
    pmix_status_t receive(const FrameHeader& header, Bytes payload);
    const HelloRequest& claim() const noexcept { return claim_; }
    // The other end is of our kind, so a refusal is an answer that it understands.
    bool speaks() const noexcept { return speaks_; }
    uint32_t id() const noexcept { return id_; }
    uint16_t version() const noexcept { return version_; }
    uint64_t features() const noexcept { return claim_.features & kFeatures; }

    // Fills in version, features and the server's half of the token. State: accepted.
    HelloReply accept(HelloReply mine, const Token& token);
    // An empty reply; the status travels in the frame header. State: refused.
    HelloReply refuse();

    State state() const noexcept { return state_; }

  private:
    HelloRequest claim_;
    uint32_t id_ = 0;
    uint16_t version_ = 0;
    bool speaks_ = false;
    State state_ = State::fresh;
};

}  // namespace pmix::common

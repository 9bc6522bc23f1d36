// SPDX-License-Identifier: BSD-3-Clause
#include "common/protocol/hello.h"

#include <algorithm>

namespace pmix::common {
namespace {

// What a client may write into a hello: names that are names.
bool plausible(const HelloRequest& claim) noexcept {
    if (claim.nspace.size() > kMaxNspaceLength || claim.nspace.find('\0') != std::string::npos) return false;
    if (claim.role < PeerRole::client || claim.role > PeerRole::observer) return false;
    if (!claim.token.empty() && claim.token.size() != kTokenHalf) return false;
    // Only a tool may come without a name.
    const bool is_tool = claim.role == PeerRole::tool || claim.role == PeerRole::observer;
    if (!is_tool && (claim.nspace.empty() || !is_real_rank(claim.rank))) return false;
    return claim.min_version <= claim.max_version;
}

}  // namespace

bool same_secret(Bytes a, Bytes b) noexcept {
    if (a.size() != b.size()) return false;
    volatile uint8_t difference = 0;
    for (size_t i = 0; i < a.size(); ++i) difference = static_cast<uint8_t>(difference | (a[i] ^ b[i]));
    return difference == 0;
}

bool Token::present() const noexcept {
    auto any = [](const auto& half) { return std::any_of(half.begin(), half.end(), [](uint8_t b) { return b != 0; }); };
    return any(client) || any(server);
}

pmix_status_t check_identity(const ExpectedPeer& expected, uint32_t uid, Bytes shown) noexcept {
    const bool proven = !shown.empty() && expected.token.present() && same_secret(shown, expected.token.client);
    if (!shown.empty() && !proven) return PMIX_ERR_INVALID_CRED;
    bool known = uid == expected.uid || uid == expected.server_uid || uid == 0;
    // Every user without a number looks like this, also where the rank's user or the server's is one of them.
    if (uid == expected.overflow_uid) known = proven && (known || expected.unmapped_users);
    return known ? PMIX_SUCCESS : PMIX_ERR_INVALID_CRED;
}

// ---- client ----

HelloClient::HelloClient(HelloRequest mine, const Token& token) : request_(std::move(mine)), token_(token) {
    request_.magic = kHelloMagic;
    request_.min_version = kProtocolMin;
    request_.max_version = kProtocolMax;
    request_.features = kFeatures;
    if (token_.present()) request_.token.assign(token_.client.begin(), token_.client.end());
}

const HelloRequest& HelloClient::request() noexcept {
    if (state_ == State::fresh) state_ = State::waiting;
    return request_;
}

pmix_status_t HelloClient::receive(const FrameHeader& header, Bytes payload, bool server_trusted) {
    const bool expected = state_ == State::waiting;
    state_ = State::refused;  // until the last line
    if (!expected || header.kind != FrameKind::reply || header.command != static_cast<uint16_t>(Command::hello)) {
        return PMIX_ERR_UNPACK_FAILURE;
    }
    if (!succeeded(header.status)) return header.status;
    HelloReply reply;
    if (decode_message(payload, reply) != PMIX_SUCCESS) return PMIX_ERR_UNPACK_FAILURE;
    if (reply.version < kProtocolMin || reply.version > kProtocolMax) return PMIX_ERR_NOT_SUPPORTED;
    if ((reply.features & ~request_.features) != 0) return PMIX_ERR_UNPACK_FAILURE;
    // Told the secret, a server is believed whatever its number looks like from here. A wrong one is believed by
    // nobody.
    const bool proves = token_.present() && same_secret(reply.token, token_.server);
    if (!proves && (!server_trusted || !reply.token.empty())) return PMIX_ERR_INVALID_CRED;
    // A process that has a name keeps it.
    if (!request_.nspace.empty() && reply.self != ProcId(request_.nspace, request_.rank))
        return PMIX_ERR_UNPACK_FAILURE;
    reply_ = std::move(reply);
    state_ = State::accepted;
    return PMIX_SUCCESS;
}

// ---- server ----

pmix_status_t HelloServer::receive(const FrameHeader& header, Bytes payload) {
    const bool expected = state_ == State::fresh;
    state_ = State::refused;
    if (!expected || header.kind != FrameKind::request || header.command != static_cast<uint16_t>(Command::hello) ||
        header.descriptors != 0) {
        return PMIX_ERR_UNPACK_FAILURE;
    }
    // The magic first, by hand: what has none is not of our kind and gets no answer.
    ByteReader r(payload);
    if (r.u32() != kHelloMagic || !r.ok()) return PMIX_ERR_UNPACK_FAILURE;
    id_ = header.id;
    speaks_ = true;
    HelloRequest claim;
    if (decode_message(payload, claim) != PMIX_SUCCESS) return PMIX_ERR_BAD_PARAM;
    if (!plausible(claim)) return PMIX_ERR_BAD_PARAM;
    if (claim.max_version < kProtocolMin || claim.min_version > kProtocolMax) return PMIX_ERR_NOT_SUPPORTED;
    version_ = std::min(claim.max_version, kProtocolMax);
    claim_ = std::move(claim);
    state_ = State::claimed;
    return PMIX_SUCCESS;
}

HelloReply HelloServer::accept(HelloReply mine, const Token& token) {
    mine.version = version_;
    mine.features = features();
    // Proof for proof: a client without one gets none, and cannot collect the server's half to impersonate it later.
    if (!claim_.token.empty()) mine.token.assign(token.server.begin(), token.server.end());
    state_ = State::accepted;
    return mine;
}

HelloReply HelloServer::refuse() {
    state_ = State::refused;
    return {};
}

}  // namespace pmix::common

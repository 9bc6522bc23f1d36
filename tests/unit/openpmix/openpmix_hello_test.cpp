// SPDX-License-Identifier: BSD-3-Clause
// OpenPMIx's handshake from bytes that no such peer sends, and in every form of identity.
#include <gtest/gtest.h>

#include <cstring>

#include "openpmix/hello.h"
#include "support/status.h"

namespace pmix::openpmix::openpmix_hello_test {
namespace {

using common::Bytes;

ConnectRequest client() {
    ConnectRequest m;
    m.security = "native";
    m.credential.assign(8, 0);
    m.id = {"job1", 3};
    m.version = "5.0.7";
    m.encoding = "v41";
    m.store = "hash";
    return m;
}

std::vector<uint8_t> payload_of(const ConnectRequest& m) {
    std::vector<uint8_t> bytes;
    EXPECT_STATUS(PMIX_SUCCESS, m.encode(&bytes));
    size_t size = 0;
    EXPECT_STATUS(PMIX_SUCCESS, read_connect_header(Bytes(bytes).first(kHeaderSize), &size));
    EXPECT_EQ(size, bytes.size() - kHeaderSize);
    bytes.erase(bytes.begin(), bytes.begin() + kHeaderSize);
    return bytes;
}

pmix_status_t decode_request(const std::vector<uint8_t>& payload) {
    ConnectRequest m;
    Traits traits;
    return ConnectRequest::decode(payload, &m, &traits);
}

TEST(OpenPmixHelloTest, EveryKind_EncodedAndDecoded_Same) {
    for (uint8_t kind = 0; kind < kPeerKinds; ++kind) {
        ConnectRequest m = client();
        m.kind = static_cast<PeerKind>(kind);
        m.uid = 1000;
        m.gid = 100;
        m.stray_nul = kind % 2 != 0;
        ConnectRequest out;
        Traits traits;
        ASSERT_STATUS(PMIX_SUCCESS, ConnectRequest::decode(payload_of(m), &out, &traits)) << int{kind};
        EXPECT_EQ(out.kind, m.kind);
        EXPECT_EQ(out.id, has_identity(m.kind) ? m.id : common::ProcId());
        EXPECT_EQ(out.uid, kind == 0 ? 0u : 1000u);
        EXPECT_EQ(out.stray_nul, m.stray_nul);
        EXPECT_FALSE(out.has_infos);
        EXPECT_EQ(traits.version, (Version{5, 0, 7}));
    }
}

TEST(OpenPmixHelloTest, AnyCut_OfTheMessage_Refused) {
    const std::vector<uint8_t> whole = payload_of(client());
    for (size_t size = 0; size < whole.size(); ++size) {
        EXPECT_NE(decode_request({whole.begin(), whole.begin() + static_cast<ptrdiff_t>(size)}), PMIX_SUCCESS) << size;
    }
}

TEST(OpenPmixHelloTest, Names_LongerThanAnyIs_Refused) {
    for (auto member : {&ConnectRequest::security, &ConnectRequest::version, &ConnectRequest::store}) {
        ConnectRequest m = client();
        m.*member += std::string(255 - (m.*member).size(), '0');
        EXPECT_STATUS(PMIX_SUCCESS, decode_request(payload_of(m)));
        m.*member += '0';
        EXPECT_STATUS(PMIX_ERR_UNPACK_FAILURE, decode_request(payload_of(m)));
    }
    ConnectRequest m = client();
    m.id.nspace.assign(256, 'n');
    EXPECT_STATUS(PMIX_ERR_UNPACK_FAILURE, decode_request(payload_of(m)));
}

TEST(OpenPmixHelloTest, Credential_LongerThanTheMessage_Refused) {
    std::vector<uint8_t> payload = payload_of(client());
    std::memset(payload.data() + sizeof "native", 0xff, 4);
    EXPECT_STATUS(PMIX_ERR_UNPACK_FAILURE, decode_request(payload));
}

TEST(OpenPmixHelloTest, KindOrEncoding_Unknown_Refused) {
    std::vector<uint8_t> payload = payload_of(client());
    payload[sizeof "native" + 4 + 8] = kPeerKinds;
    EXPECT_STATUS(PMIX_ERR_UNPACK_FAILURE, decode_request(payload));

    payload = payload_of(client());
    std::memcpy(payload.data() + payload.size() - sizeof "hash" - 1 - sizeof "v41", "v12", 3);
    EXPECT_STATUS(PMIX_ERR_NOT_SUPPORTED, decode_request(payload));
}

TEST(OpenPmixHelloTest, TrailingBytes_NeitherInfosNorANul_Refused) {
    std::vector<uint8_t> payload = payload_of(client());
    payload.push_back(7);
    EXPECT_NE(decode_request(payload), PMIX_SUCCESS);
    payload.back() = 0;
    EXPECT_STATUS(PMIX_SUCCESS, decode_request(payload));
    payload.push_back(0);
    EXPECT_NE(decode_request(payload), PMIX_SUCCESS);
}

TEST(OpenPmixHelloTest, TrailingBytes_BehindInfos_OnlyANul) {
    ConnectRequest m = client();
    common::InfoList infos;
    ASSERT_STATUS(PMIX_SUCCESS, infos.append_string("pmix.cmd.line", "/bin/true"));
    m.infos = common::Infos(std::move(infos));
    m.has_infos = true;
    std::vector<uint8_t> payload = payload_of(m);
    EXPECT_STATUS(PMIX_SUCCESS, decode_request(payload));
    payload.push_back(0);
    EXPECT_STATUS(PMIX_SUCCESS, decode_request(payload));
    payload.back() = 1;
    EXPECT_STATUS(PMIX_ERR_UNPACK_FAILURE, decode_request(payload));
    payload.back() = 0;
    payload.push_back(0);
    EXPECT_STATUS(PMIX_ERR_UNPACK_FAILURE, decode_request(payload));
}

TEST(OpenPmixHelloTest, Header_NotOfAConnectMessage_Refused) {
    size_t size = 0;
    uint32_t words[4] = {UINT32_MAX, UINT32_MAX, 100, 0};
    const auto* bytes = reinterpret_cast<const uint8_t*>(words);
    EXPECT_STATUS(PMIX_SUCCESS, read_connect_header({bytes, 16}, &size));
    EXPECT_EQ(size, 100u);
    EXPECT_STATUS(PMIX_ERR_UNPACK_FAILURE, read_connect_header({bytes, 15}, &size));
    words[2] = kMaxConnectPayload + 1;
    EXPECT_STATUS(PMIX_ERR_UNPACK_FAILURE, read_connect_header({bytes, 16}, &size));
    words[2] = 0;
    EXPECT_STATUS(PMIX_ERR_UNPACK_FAILURE, read_connect_header({bytes, 16}, &size));
    words[2] = 100;
    words[1] = 101;
    EXPECT_STATUS(PMIX_ERR_UNPACK_FAILURE, read_connect_header({bytes, 16}, &size));
}

TEST(OpenPmixHelloTest, Reply_ByteByByte_CompleteAtItsLast) {
    const Traits traits = *traits_of("4.2.2", "v41", 1);
    for (const PeerKind kind : {PeerKind::client, PeerKind::tool, PeerKind::named_tool, PeerKind::singleton}) {
        ConnectReply reply;
        reply.peer_index = 7;
        reply.self = {"tool", 0};
        reply.server = {"server", 2};
        const ReplyForm form = reply_form(kind, traits);
        const std::vector<uint8_t> bytes = encode_reply(reply, form);
        ConnectReply out;
        size_t used = 1;
        for (size_t n = 0; n < bytes.size(); ++n) {
            ASSERT_STATUS(PMIX_SUCCESS, decode_reply(Bytes(bytes).first(n), form, &out, &used));
            ASSERT_EQ(used, 0u) << n;
        }
        ASSERT_STATUS(PMIX_SUCCESS, decode_reply(bytes, form, &out, &used));
        EXPECT_EQ(used, bytes.size());
        if (form.tool) {
            EXPECT_EQ(out.server, reply.server);
        } else {
            EXPECT_EQ(out.peer_index, 7u);
        }
        if (form.assigns) {
            EXPECT_EQ(*out.self, *reply.self);
        }
    }
}

TEST(OpenPmixHelloTest, Reply_Refusal_IsItsStatusAlone) {
    const ReplyForm form = reply_form(PeerKind::tool, *traits_of("7.0.0", "v61", 1));
    ConnectReply reply;
    reply.status = PMIX_ERR_INVALID_CRED;
    const std::vector<uint8_t> bytes = encode_reply(reply, form);
    EXPECT_EQ(bytes.size(), 4u);
    ConnectReply out;
    size_t used = 0;
    ASSERT_STATUS(PMIX_SUCCESS, decode_reply(bytes, form, &out, &used));
    EXPECT_EQ(used, 4u);
    EXPECT_STATUS(PMIX_ERR_INVALID_CRED, out.status);
}

TEST(OpenPmixHelloTest, Reply_NamespaceWithoutItsEnd_Refused) {
    const ReplyForm form{true, false};
    ConnectReply reply;
    std::vector<uint8_t> bytes = encode_reply(reply, form);
    std::memset(bytes.data() + 4, 'x', 256);
    ConnectReply out;
    size_t used = 0;
    EXPECT_STATUS(PMIX_ERR_UNPACK_FAILURE, decode_reply(bytes, form, &out, &used));
}

}  // namespace
}  // namespace pmix::openpmix::openpmix_hello_test

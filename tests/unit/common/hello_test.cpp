// SPDX-License-Identifier: BSD-3-Clause
// The handshake as a list of conversations.
#include "common/protocol/hello.h"

#include <gtest/gtest.h>

#include <functional>

#include "support/status.h"

namespace pmix::common::hello_test {
namespace {

Token token(uint8_t seed) {
    Token t;
    t.client.fill(seed);
    t.server.fill(static_cast<uint8_t>(seed + 100));
    return t;
}

HelloRequest rank(std::string nspace, Rank r) {
    HelloRequest mine;
    mine.nspace = std::move(nspace);
    mine.rank = r;
    mine.pid = 4711;
    mine.library_version = "test";
    return mine;
}

Blob bytes(const HelloRequest& m) {
    return message_bytes(m).value();
}
Blob bytes(const HelloReply& m) {
    return message_bytes(m).value();
}

constexpr auto kHello = static_cast<uint16_t>(Command::hello);

struct Conversation {
    const char* what;
    Token client_token{}, server_token{};
    uint32_t client_uid = 1000;  // as the server's kernel reports
    uint32_t rank_uid = 1000;    // as the host registered it
    bool unmapped_users = true;
    bool server_trusted = true;                          // as the client's kernel reports
    std::function<void(HelloRequest&)> spoil_request{};  // between the two
    std::function<void(HelloReply&)> spoil_reply{};
    pmix_status_t server_status = PMIX_SUCCESS;  // receive(), then check_identity()
    pmix_status_t client_status = PMIX_SUCCESS;
};

class Hello : public testing::TestWithParam<Conversation> {};

TEST_P(Hello, Conversation) {
    const Conversation& c = GetParam();
    HelloClient client(rank("job", 3), c.client_token);
    HelloServer server;

    HelloRequest sent;
    ASSERT_STATUS(PMIX_SUCCESS, decode_message(bytes(client.request()), sent));
    if (c.spoil_request) c.spoil_request(sent);
    pmix_status_t rc = server.receive(FrameHeader::request(kHello, 1), bytes(sent));
    ExpectedPeer expected;
    expected.uid = c.rank_uid;
    expected.unmapped_users = c.unmapped_users;
    expected.server_uid = 500;
    expected.token = c.server_token;
    if (rc == PMIX_SUCCESS) {
        EXPECT_EQ(HelloServer::State::claimed, server.state());
        rc = check_identity(expected, c.client_uid, server.claim().token);
    }
    EXPECT_EQ(c.server_status, rc);

    HelloReply mine;
    mine.server = ProcId("server", 0);
    mine.self = ProcId(server.claim().nspace, server.claim().rank);
    mine.library_version = "theirs";
    HelloReply answer = rc == PMIX_SUCCESS ? server.accept(std::move(mine), c.server_token) : server.refuse();
    EXPECT_EQ(rc == PMIX_SUCCESS ? HelloServer::State::accepted : HelloServer::State::refused, server.state());
    if (c.spoil_reply) c.spoil_reply(answer);
    EXPECT_EQ(c.client_status, client.receive(FrameHeader::reply(kHello, 1, rc), bytes(answer), c.server_trusted));
    if (c.client_status == PMIX_SUCCESS) {
        EXPECT_EQ(HelloClient::State::accepted, client.state());
        EXPECT_EQ(ProcId("server", 0), client.reply().server);
        EXPECT_EQ(kProtocolMax, client.version());
        EXPECT_EQ(kFeatures, client.features());
        EXPECT_EQ(4711u, server.claim().pid);
    } else {
        EXPECT_EQ(HelloClient::State::refused, client.state());
    }
}

INSTANTIATE_TEST_SUITE_P(
    All, Hello,
    testing::Values(
        Conversation{.what = "same user, no token"},
        Conversation{.what = "same user, token", .client_token = token(1), .server_token = token(1)},
        Conversation{.what = "root's client", .client_uid = 0},
        Conversation{.what = "the server's own user", .client_uid = 500},
        Conversation{.what = "other user",
                     .client_uid = 1001,
                     .server_status = PMIX_ERR_INVALID_CRED,
                     .client_status = PMIX_ERR_INVALID_CRED},
        Conversation{.what = "across user namespaces, both prove",
                     .client_token = token(1),
                     .server_token = token(1),
                     .client_uid = 65534,
                     .server_trusted = false},
        Conversation{.what = "other user with the right token",
                     .client_token = token(1),
                     .server_token = token(1),
                     .client_uid = 1001,
                     .server_status = PMIX_ERR_INVALID_CRED,
                     .client_status = PMIX_ERR_INVALID_CRED},
        Conversation{.what = "across user namespaces, no token",
                     .client_uid = 65534,
                     .server_status = PMIX_ERR_INVALID_CRED,
                     .client_status = PMIX_ERR_INVALID_CRED},
        Conversation{.what = "across user namespaces, the host forbids it",
                     .client_token = token(1),
                     .server_token = token(1),
                     .client_uid = 65534,
                     .unmapped_users = false,
                     .server_status = PMIX_ERR_INVALID_CRED,
                     .client_status = PMIX_ERR_INVALID_CRED},
        Conversation{.what = "rank of a user without a number, no token",
                     .client_uid = 65534,
                     .rank_uid = 65534,
                     .server_status = PMIX_ERR_INVALID_CRED,
                     .client_status = PMIX_ERR_INVALID_CRED},
        Conversation{.what = "rank of a user without a number, token",
                     .client_token = token(1),
                     .server_token = token(1),
                     .client_uid = 65534,
                     .rank_uid = 65534,
                     .unmapped_users = false},
        Conversation{.what = "same user, a token of an earlier instance",
                     .client_token = token(2),
                     .server_token = token(1),
                     .server_status = PMIX_ERR_INVALID_CRED,
                     .client_status = PMIX_ERR_INVALID_CRED},
        Conversation{.what = "a token where the server has none",
                     .client_token = token(2),
                     .server_status = PMIX_ERR_INVALID_CRED,
                     .client_status = PMIX_ERR_INVALID_CRED},
        Conversation{.what = "an untrusted server that shows nothing",
                     .server_trusted = false,
                     .client_status = PMIX_ERR_INVALID_CRED},
        Conversation{.what = "an impostor that took the request and guesses",
                     .client_token = token(1),
                     .server_token = token(1),
                     .server_trusted = false,
                     .spoil_reply = [](HelloReply& r) { r.token.assign(kTokenHalf, 1); },  // echoes the client's half
                     .client_status = PMIX_ERR_INVALID_CRED},
        Conversation{.what = "a trusted user's wrong server",
                     .client_token = token(1),
                     .server_token = token(1),
                     .spoil_reply = [](HelloReply& r) { r.token.back() ^= 1; },
                     .client_status = PMIX_ERR_INVALID_CRED},
        Conversation{.what = "a newer client", .spoil_request = [](HelloRequest& r) { r.max_version = 9; }},
        Conversation{.what = "a client too new",
                     .spoil_request = [](HelloRequest& r) { r.min_version = r.max_version = kProtocolMax + 1; },
                     .server_status = PMIX_ERR_NOT_SUPPORTED,
                     .client_status = PMIX_ERR_NOT_SUPPORTED},
        Conversation{.what = "an empty version range",
                     .spoil_request = [](HelloRequest& r) { r.min_version = 2; },
                     .server_status = PMIX_ERR_BAD_PARAM,
                     .client_status = PMIX_ERR_BAD_PARAM},
        Conversation{.what = "features of the future are not in force",
                     .spoil_request = [](HelloRequest& r) { r.features |= 1ull << 63; }},
        Conversation{.what = "a server that answers a version nobody offered",
                     .spoil_reply = [](HelloReply& r) { r.version = 99; },
                     .client_status = PMIX_ERR_NOT_SUPPORTED},
        Conversation{.what = "a server that answers features nobody offered",
                     .spoil_reply = [](HelloReply& r) { r.features |= 1ull << 40; },
                     .client_status = PMIX_ERR_UNPACK_FAILURE},
        Conversation{.what = "a server that renames its client",
                     .spoil_reply = [](HelloReply& r) { r.self.rank = 4; },
                     .client_status = PMIX_ERR_UNPACK_FAILURE},
        Conversation{.what = "a rank that is none",
                     .spoil_request = [](HelloRequest& r) { r.rank = PMIX_RANK_WILDCARD; },
                     .server_status = PMIX_ERR_BAD_PARAM,
                     .client_status = PMIX_ERR_BAD_PARAM},
        Conversation{.what = "a client without a name",
                     .spoil_request = [](HelloRequest& r) { r.nspace.clear(); },
                     .server_status = PMIX_ERR_BAD_PARAM,
                     .client_status = PMIX_ERR_BAD_PARAM},
        Conversation{.what = "a name too long",
                     .spoil_request = [](HelloRequest& r) { r.nspace.assign(kMaxNspaceLength + 1, 'x'); },
                     .server_status = PMIX_ERR_BAD_PARAM,
                     .client_status = PMIX_ERR_BAD_PARAM},
        Conversation{.what = "a name with a NUL inside",
                     .spoil_request = [](HelloRequest& r) { r.nspace = std::string("a\0b", 3); },
                     .server_status = PMIX_ERR_BAD_PARAM,
                     .client_status = PMIX_ERR_BAD_PARAM},
        Conversation{.what = "half a token",
                     .spoil_request = [](HelloRequest& r) { r.token.assign(3, 1); },
                     .server_status = PMIX_ERR_BAD_PARAM,
                     .client_status = PMIX_ERR_BAD_PARAM},
        Conversation{.what = "an unknown role",
                     .spoil_request = [](HelloRequest& r) { r.role = static_cast<PeerRole>(77); },
                     .server_status = PMIX_ERR_BAD_PARAM,
                     .client_status = PMIX_ERR_BAD_PARAM},
        Conversation{.what = "not our magic",
                     .spoil_request = [](HelloRequest& r) { r.magic = 0x20544547; },
                     .server_status = PMIX_ERR_UNPACK_FAILURE,
                     .client_status = PMIX_ERR_UNPACK_FAILURE}),
    [](const testing::TestParamInfo<Conversation>& one) {
        std::string name;
        for (const char* c = one.param.what; *c != '\0'; ++c)
            name += std::isalnum(static_cast<unsigned char>(*c)) ? *c : '_';
        return name;
    });

TEST(HelloServer, WantsOneHelloAndNothingElse) {
    HelloClient client(rank("job", 0), {});
    const Blob good = bytes(client.request());
    for (const FrameHeader& wrong : {FrameHeader::request(kHello + 1, 1), FrameHeader::notify(kHello),
                                     FrameHeader::reply(kHello, 1, PMIX_SUCCESS)}) {
        HelloServer server;
        EXPECT_STATUS(PMIX_ERR_UNPACK_FAILURE, server.receive(wrong, good));
        EXPECT_STATUS(PMIX_ERR_UNPACK_FAILURE, server.receive(FrameHeader::request(kHello, 1), good)) << "one chance";
    }
    HelloServer server;
    EXPECT_STATUS(PMIX_SUCCESS, server.receive(FrameHeader::request(kHello, 8), good));
    EXPECT_EQ(8u, server.id());
    EXPECT_STATUS(PMIX_ERR_UNPACK_FAILURE, server.receive(FrameHeader::request(kHello, 9), good)) << "twice";
    HelloServer empty;
    EXPECT_STATUS(PMIX_ERR_UNPACK_FAILURE, empty.receive(FrameHeader::request(kHello, 1), {}));
    // Cut anywhere, it is refused or understood as an older one, and never more than that.
    for (size_t n = 0; n < good.size(); ++n) {
        HelloServer cut;
        cut.receive(FrameHeader::request(kHello, 1), Bytes(good).first(n));
    }
}

TEST(HelloClient, TakesOneReplyAfterItsRequest) {
    const Blob reply = bytes(HelloReply{});
    HelloClient early(rank("job", 0), {});
    EXPECT_STATUS(PMIX_ERR_UNPACK_FAILURE, early.receive(FrameHeader::reply(kHello, 1, PMIX_SUCCESS), reply, true));
    HelloClient refused(rank("job", 0), {});
    refused.request();
    EXPECT_STATUS(PMIX_ERR_NOT_FOUND, refused.receive(FrameHeader::reply(kHello, 1, PMIX_ERR_NOT_FOUND), {}, true));
    EXPECT_STATUS(PMIX_ERR_UNPACK_FAILURE, refused.receive(FrameHeader::reply(kHello, 1, PMIX_SUCCESS), reply, true));
    HelloClient garbage(rank("job", 0), {});
    garbage.request();
    EXPECT_STATUS(PMIX_ERR_UNPACK_FAILURE, garbage.receive(FrameHeader::notify(16), reply, true));
}

TEST(HelloClient, AToolIsGivenAName) {
    HelloRequest mine;
    mine.role = PeerRole::tool;
    HelloClient client(std::move(mine), {});
    HelloServer server;
    ASSERT_STATUS(PMIX_SUCCESS, server.receive(FrameHeader::request(kHello, 1), bytes(client.request())));
    HelloReply reply;
    reply.self = ProcId("tool-17", 0);
    EXPECT_STATUS(PMIX_SUCCESS, client.receive(FrameHeader::reply(kHello, 1, PMIX_SUCCESS),
                                               bytes(server.accept(std::move(reply), {})), true));
    EXPECT_EQ(ProcId("tool-17", 0), client.reply().self);
}

TEST(SameSecret, Compares) {
    const Blob a{1, 2, 3}, b{1, 2, 4}, c{1, 2};
    EXPECT_TRUE(same_secret(a, a));
    EXPECT_TRUE(same_secret({}, {}));
    EXPECT_FALSE(same_secret(a, b));
    EXPECT_FALSE(same_secret(a, c));
}

}  // namespace
}  // namespace pmix::common::hello_test

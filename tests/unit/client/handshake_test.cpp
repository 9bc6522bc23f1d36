// SPDX-License-Identifier: BSD-3-Clause
// The first frames as a client sends them: which servers it trusts, silence, and replies that are not sound.
#include "client/session/handshake.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include "common/protocol/message_codec.h"
#include "common/protocol/messages.h"
#include "support/status.h"
#include "transport/unix_socket.h"

namespace pmix::client::handshake_test {
namespace {

using transport::Deadline;
using transport::Descriptor;

uid_t g_server = 0;

int credentials_of_server(int, int, int, void* value, socklen_t*) {
    *static_cast<ucred*>(value) = {1, g_server, 0};
    return 0;
}

TEST(Handshake, IsTrusted_OwnServerAndRootsOnly) {
    transport::Io io = transport::kRealIo;
    io.getsockopt = &credentials_of_server;
    for (const uid_t uid : {::geteuid(), uid_t{0}}) {
        g_server = uid;
        EXPECT_TRUE(is_trusted(0, Trust::own_or_root, io)) << uid;
    }
    g_server = ::geteuid() + 1;
    EXPECT_FALSE(is_trusted(0, Trust::own_or_root, io));
    EXPECT_EQ(is_trusted(0, Trust::any_for_root, io), ::geteuid() == 0);
}

struct Pair {
    Pair() {
        int ends[2];
        EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends), 0);
        mine.reset(ends[0]);
        server.reset(ends[1]);
    }
    // The answer to a question that is still to be sent.
    void answer(uint8_t descriptors) {
        common::HelloReply hello;
        hello.version = common::kProtocolMax;
        hello.server = common::ProcId("server", 3);
        const auto payload = common::message_bytes(hello).value();
        auto header = common::FrameHeader::reply(static_cast<uint16_t>(common::Command::hello), 1, PMIX_SUCCESS);
        header.payload = static_cast<uint32_t>(payload.size());
        header.descriptors = descriptors;
        uint8_t head[common::kFrameHeaderSize];
        common::build_frame_header(header, head);
        EXPECT_EQ(::write(server.get(), head, sizeof head), static_cast<ssize_t>(sizeof head));
        EXPECT_EQ(::write(server.get(), payload.data(), payload.size()), static_cast<ssize_t>(payload.size()));
    }
    common::Result<Greeting> greet(Deadline deadline) {
        return client::greet(std::move(mine), {}, {}, nullptr, 0, Trust::own_or_root, deadline, transport::kRealIo);
    }
    Descriptor mine, server;
};

TEST(Handshake, Greet_ServerIsSilent_EndsWithTheDeadline) {
    Pair pair;
    EXPECT_STATUS(PMIX_ERR_TIMEOUT, pair.greet(Deadline::in_ms(20)).status());
}

TEST(Handshake, Greet_ReplyAnnouncesDescriptorsThatAreNotThere_IsRefused) {
    Pair good, bad;
    good.answer(0);
    auto greeting = good.greet(Deadline::in_ms(60'000));
    ASSERT_TRUE(greeting.ok());
    EXPECT_EQ(greeting->reply.server, common::ProcId("server", 3));
    bad.answer(1);
    EXPECT_STATUS(PMIX_ERR_UNPACK_FAILURE, bad.greet(Deadline::in_ms(60'000)).status());
}

TEST(Handshake, ConnectAny_FirstAddressIsDead_TakesTheNext) {
    const std::string dead = transport::make_abstract_address(), alive = transport::make_abstract_address();
    auto listener = transport::listen_abstract(alive);
    ASSERT_TRUE(listener.ok());
    EXPECT_TRUE(connect_any({dead, alive}, Deadline::in_ms(60'000), transport::kRealIo).ok());
    EXPECT_FALSE(connect_any({dead}, Deadline::in_ms(60'000), transport::kRealIo).ok());
}

}  // namespace
}  // namespace pmix::client::handshake_test

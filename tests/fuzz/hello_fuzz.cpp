// SPDX-License-Identifier: BSD-3-Clause
// Both ends of the handshake from any bytes. Input: u8 mode (bit 0: client or server, bits 1-2: kind, bit 3: trusted),
// i32 status, then the payload. Another user is never accepted, and a user without a number only with the secret.
#include <cstdlib>

#include "common/protocol/hello.h"

using namespace pmix::common;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    if (size < 5) return 0;
    const uint8_t mode = data[0];
    FrameHeader header;
    header.command = static_cast<uint16_t>(Command::hello);
    header.kind = static_cast<FrameKind>(1 + ((mode >> 1) & 3) % 3);
    header.id = 1;
    header.status = static_cast<pmix_status_t>(load_le<uint32_t>(data + 1));
    const Bytes payload(data + 5, size - 5);
    Token token;
    token.client.fill(0x5a);
    token.server.fill(0xa5);

    if ((mode & 1) != 0) {
        HelloServer server;
        if (server.receive(header, payload) != PMIX_SUCCESS) {
            if (server.state() != HelloServer::State::refused) std::abort();
            return 0;
        }
        const HelloRequest& claim = server.claim();
        if (claim.nspace.size() > kMaxNspaceLength || server.version() < kProtocolMin) std::abort();
        ExpectedPeer expected;
        expected.uid = expected.server_uid = 1000;
        expected.token = token;
        if (check_identity(expected, 4711, claim.token) == PMIX_SUCCESS) std::abort();
        const bool let_in = check_identity(expected, expected.overflow_uid, claim.token) == PMIX_SUCCESS;
        if (let_in && !same_secret(claim.token, token.client)) std::abort();
        if (!message_bytes(server.accept({}, token)).ok()) std::abort();
        return 0;
    }
    HelloRequest mine;
    mine.nspace = "job";
    mine.rank = 0;
    HelloClient client(std::move(mine), token);
    client.request();
    const bool trusted = (mode & 8) != 0;
    if (client.receive(header, payload, trusted) != PMIX_SUCCESS) return 0;
    if (!trusted && !same_secret(client.reply().token, token.server)) std::abort();
    if (client.reply().self != ProcId("job", 0)) std::abort();
    return 0;
}

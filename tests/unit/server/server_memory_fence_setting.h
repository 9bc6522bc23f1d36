// SPDX-License-Identifier: BSD-3-Clause
// What the tests of fences in memory share: a server, and two processes of a job that join in memory as clients do.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>

#include "support/status.h"
#include "transport/memory/fence_memory.h"
#include "unit/server/server_fence_setting.h"

namespace pmix::test {

using common::FenceUse;
using transport::FenceMemory;
using Joined = FenceMemory::Joined::Kind;
using Ended = FenceMemory::End::Kind;
using Mode = FenceMemory::Mode;

// One process of the job, with its place in the memory once it has been given it.
class Rank : public FakeClient {
  public:
    Rank(TestServer& server, uint32_t rank, const std::string& job = "job") : FakeClient(server, {job, rank}) {}

    uint32_t start_request(FenceUse use, uint32_t round = 0) {
        common::FenceRequest request;
        request.memory = use;
        request.memory_round = round;
        return start<Command::fence>(request);
    }
    // The answer to it; takes what memory it brings.
    pmix_status_t end_request(uint32_t id) {
        auto reply = wait_at_once(id);
        if (!reply) return PMIX_ERR_LOST_CONNECTION;
        common::FenceReply message;
        EXPECT_STATUS(PMIX_SUCCESS, common::decode_message(reply->payload, message));
        given = message.memory_ranks;
        if (given != 0) {
            slot = message.memory_slot;
            transport::Descriptor descriptor;
            for (auto next = take_descriptor(); next; next = take_descriptor()) descriptor = std::move(next);
            auto taken = FenceMemory::take_over(std::move(descriptor), given);
            EXPECT_TRUE(taken.ok());
            if (taken.ok()) memory = std::move(taken).value();
        }
        return reply->header.status;
    }
    bool answered(uint32_t id, pmix_status_t& status) {
        auto reply = take(id);
        if (reply) status = reply->header.status;
        return reply.has_value();
    }
    void commit(uint64_t generation, const std::string& text) {
        common::ByteWriter w;
        tell<Command::commit>(request_for(generation, text, w));
    }
    // In memory. False: it has to go by the socket.
    bool leave(uint64_t generation, const std::string& text) {
        common::ByteWriter w;
        auto payload = common::message_bytes(request_for(generation, text, w));
        return leave(*payload);
    }
    bool leave(common::Bytes payload) { return memory->mailboxes().leave(slot, {&payload, 1}); }
    static common::CommitRequest request_for(uint64_t generation, const std::string& text, common::ByteWriter& w) {
        common::encode_string_value(w, text);
        common::CommitRequest request;
        request.generation = generation;
        request.entries.push_back({PMIX_GLOBAL, "k", w.view()});
        return request;
    }
    FenceMemory::Joined join(bool news = false, uint64_t commits = 0, bool collect = false) {
        return memory->join(slot, news, collect, commits);
    }
    void tell_joined(uint32_t round) {
        common::FenceJoinedNotify message;
        message.round = round;
        tell<Command::fence_joined>(message);
    }
    Ended look(uint32_t round, pmix_status_t* status = nullptr, bool* ask = nullptr) {
        const auto end = memory->wait(round, transport::Deadline::in_ms(0));
        if (status != nullptr) *status = end.status;
        if (ask != nullptr) *ask = end.ask;
        return end.kind;
    }

    std::unique_ptr<FenceMemory> memory;
    uint32_t slot = 0, given = 0;
};

// Two processes of a job that have met once, by request. The first fence brings the memory.
struct MemoryFenceSetting {
    void begin(unsigned nodes = 1, server::ServerOptions options = {}, unsigned memory_at = 1) {
        options.fence_memory_at = memory_at;
        server = std::make_unique<TestServer>(&module, std::move(options));
        server->job("job", nodes, 2);
        a = std::make_unique<Rank>(*server, 0);
        b = std::make_unique<Rank>(*server, 1);
        ASSERT_STATUS(PMIX_SUCCESS, a->hello());
        ASSERT_STATUS(PMIX_SUCCESS, b->hello());
        a->drop_descriptors();
        b->drop_descriptors();
    }
    void meet(FenceUse first = FenceUse::lacks, FenceUse second = FenceUse::lacks) {
        const uint32_t fa = a->start_request(first), fb = b->start_request(second);
        EXPECT_STATUS(PMIX_SUCCESS, a->end_request(fa));
        EXPECT_STATUS(PMIX_SUCCESS, b->end_request(fb));
    }
    // The request of one is under way; this one asks too.
    void meet_by_request(Rank& rank, uint32_t other) {
        const uint32_t fence = rank.start_request(FenceUse::has);
        EXPECT_STATUS(PMIX_SUCCESS, rank.end_request(fence));
        EXPECT_STATUS(PMIX_SUCCESS, (&rank == b.get() ? a : b)->end_request(other));
    }
    void begin_in_memory(unsigned nodes = 1, server::ServerOptions options = {}) {
        begin(nodes, std::move(options));
        meet();
        ASSERT_TRUE(a->memory != nullptr && b->memory != nullptr);
        ASSERT_EQ(a->memory->state().mode, Mode::open);
    }
    // Both have joined a round in memory, which the host has and answers when the test lets it. The round.
    uint32_t begin_with_the_host() {
        host.styles["fence"] = Style::later;
        begin(2);
        const uint32_t first_a = a->start_request(FenceUse::lacks), first_b = b->start_request(FenceUse::lacks);
        server->settle();
        host.answer_waiting();
        EXPECT_STATUS(PMIX_SUCCESS, a->end_request(first_a));
        EXPECT_STATUS(PMIX_SUCCESS, b->end_request(first_b));
        const uint32_t round = a->join().round;
        b->join();
        b->tell_joined(round);
        server->settle();
        return round;
    }
    bool until(Mode mode) {
        return server->run_at_once_until([&] { return a->memory->state().mode == mode; });
    }

    FakeHost host;
    pmix_server_module_t module = host.module();
    std::unique_ptr<TestServer> server;
    std::unique_ptr<Rank> a, b;
};

}  // namespace pmix::test

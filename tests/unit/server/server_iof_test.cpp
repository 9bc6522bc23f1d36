// SPDX-License-Identifier: BSD-3-Clause
// Forwarded output and input through a whole server: who gets what, what is kept, what is dropped and told, and when
// the host is answered.
#include <gtest/gtest.h>

#include <cstring>
#include <optional>

#include "common/values/info_view.h"
#include "server/iof/iof_queue.h"
#include "support/fake_client.h"
#include "support/status.h"

namespace server_iof_test {

using namespace pmix;
using namespace pmix::test;
using common::InfoList;

namespace {

constexpr pmix_iof_channel_t kOut = PMIX_FWD_STDOUT_CHANNEL, kErr = PMIX_FWD_STDERR_CHANNEL;

struct Setting {
    explicit Setting(server::ServerOptions options = {})
        : module(host.module()), server(&module, std::move(options)), a(server, {"job", 0}), b(server, {"job", 1}) {
        server.job("job", 1, 2);
        EXPECT_STATUS(PMIX_SUCCESS, a.hello());
        EXPECT_STATUS(PMIX_SUCCESS, b.hello());
    }
    pmix_status_t pull(FakeClient& client, uint64_t reference, common::ProcList procs,
                       pmix_iof_channel_t channels = kOut, InfoList infos = {}) {
        common::IofPullRequest request;
        request.reference = reference;
        request.channels = channels;
        request.procs = std::move(procs);
        request.infos = std::move(infos);
        return client.ask<Command::iof_pull>(request);
    }
    // The place where the host's answer will be: 1 while there is none.
    std::shared_ptr<pmix_status_t> deliver(ProcId source, std::string_view text, pmix_iof_channel_t channel = kOut,
                                           InfoList infos = {}) {
        auto answer = std::make_shared<pmix_status_t>(1);
        server.on_loop([&] {
            server::IofDelivery d;
            d.source = std::move(source);
            d.channel = channel;
            d.data.assign(text.begin(), text.end());
            d.infos = std::move(infos);
            d.done = [answer](pmix_status_t status) { *answer = status; };
            server.parts().iof.deliver(std::move(d));
            return 0;
        });
        server.settle();
        return answer;
    }
    void credit(FakeClient& client, uint64_t reference, uint64_t bytes) {
        common::IofCredit message;
        message.reference = reference;
        message.bytes = bytes;
        client.tell<Command::iof_credit>(message);
        server.settle();
    }
    // All that has come to the client, as one text; lost: added up.
    std::string text(FakeClient& client, uint64_t* lost = nullptr) {
        server.settle();
        std::string all;
        while (auto output = client.take_output()) {
            all.append(reinterpret_cast<const char*>(output->data.data()), output->data.size());
            if (output->data.empty()) all += '$';
            if (lost != nullptr) *lost += output->lost;
        }
        return all;
    }
    const server::IofCache& cache() { return server.parts().iof.cache(); }
    FakeHost host;
    pmix_server_module_t module;
    TestServer server;
    FakeClient a, b;
};

InfoList limit(uint32_t bytes, const char* how = nullptr) {
    InfoList list;
    list.append_number<uint32_t>(PMIX_IOF_CACHE_SIZE, bytes, PMIX_UINT32);
    if (how != nullptr) list.append_flag(how, true);
    return list;
}

}  // namespace

// rows: O1 O8 U16
TEST(ServerIofTest, Pull_TwoReaders_EachGetsItsOutputAndTheHostTheirIds) {
    Setting s;
    ASSERT_STATUS(PMIX_SUCCESS, s.pull(s.a, 7, {{"far", PMIX_RANK_WILDCARD}}, kOut));
    ASSERT_STATUS(PMIX_SUCCESS, s.pull(s.b, 7, {{"far", 2}}, kOut | kErr));
    ASSERT_EQ(2u, s.host.count("iof_pull"));
    const Seen& seen = *s.host.last("iof_pull");
    EXPECT_EQ((std::vector<ProcId>{{"far", 2}}), seen.procs);
    EXPECT_EQ(kOut | kErr, seen.channels);
    EXPECT_EQ(::geteuid(), number_of(seen.infos, PMIX_USERID));
    EXPECT_EQ(::getegid(), number_of(seen.infos, PMIX_GRPID));
    EXPECT_STATUS(PMIX_SUCCESS, *s.deliver({"far", 1}, "one"));
    EXPECT_STATUS(PMIX_SUCCESS, *s.deliver({"far", 2}, "two"));
    EXPECT_STATUS(PMIX_SUCCESS, *s.deliver({"far", 2}, "error", kErr));
    EXPECT_STATUS(PMIX_SUCCESS, *s.deliver({"far", 2}, ""));
    EXPECT_EQ("onetwo$", s.text(s.a));
    EXPECT_EQ("twoerror$", s.text(s.b));
}

// rows: O1
TEST(ServerIofTest, WhatCannotBePulled) {
    Setting s;
    EXPECT_STATUS(PMIX_ERR_NOT_SUPPORTED, s.pull(s.a, 1, {{"far", 0}}, PMIX_FWD_STDIN_CHANNEL));
    EXPECT_STATUS(PMIX_ERR_NOT_SUPPORTED, s.pull(s.a, 1, {{"far", 0}}, PMIX_FWD_ALL_CHANNELS));
    EXPECT_STATUS(PMIX_ERR_BAD_PARAM, s.pull(s.a, 1, {}, kOut));
    EXPECT_STATUS(PMIX_ERR_BAD_PARAM, s.pull(s.a, 1, {{"far", 0}}, 0));
    EXPECT_EQ(0u, s.host.count("iof_pull"));
    s.host.styles["iof_pull"] = Style::fails;
    s.host.statuses["iof_pull"] = PMIX_ERR_NO_PERMISSIONS;
    EXPECT_STATUS(PMIX_ERR_NO_PERMISSIONS, s.pull(s.a, 1, {{"far", 0}}));
    EXPECT_EQ(0u, s.server.parts().iof.registrations());
}

// rows: O4 O8
// proves: PMIx_IOF_pull PMIX_IOF_CACHE_SIZE PMIX_IOF_DROP_OLDEST server
TEST(ServerIofTest, Deliver_BeforeAnyReader_IsCachedUpToTheLimitAndTheRestCounted) {
    Setting s;
    EXPECT_STATUS(PMIX_SUCCESS, *s.deliver({"far", 0}, "0123456789", kOut, limit(16)));
    EXPECT_STATUS(PMIX_SUCCESS, *s.deliver({"far", 0}, "abcdefghij", kOut, limit(16)));
    EXPECT_STATUS(PMIX_SUCCESS, *s.deliver({"far", 1}, "0123456789", kOut, limit(16, PMIX_IOF_DROP_OLDEST)));
    EXPECT_STATUS(PMIX_SUCCESS, *s.deliver({"far", 1}, "abcdefghij", kOut, limit(16, PMIX_IOF_DROP_OLDEST)));
    EXPECT_STATUS(PMIX_SUCCESS, *s.deliver({"far", 1}, ""));
    uint64_t lost = 0;
    ASSERT_STATUS(PMIX_SUCCESS, s.pull(s.a, 1, {{"far", 0}}));
    EXPECT_EQ("0123456789abcdef", s.text(s.a, &lost));
    EXPECT_EQ(0u, lost) << "what is missing lies behind";
    s.deliver({"far", 0}, "next");
    EXPECT_EQ("next", s.text(s.a, &lost));
    EXPECT_EQ(4u, lost);
    lost = 0;
    ASSERT_STATUS(PMIX_SUCCESS, s.pull(s.b, 1, {{"far", 1}}));
    EXPECT_EQ("456789abcdefghij$", s.text(s.b, &lost));
    EXPECT_EQ(4u, lost);
    EXPECT_EQ(0u, s.cache().bytes());
    EXPECT_EQ(0u, s.cache().streams());
}

// rows: O4
TEST(ServerIofTest, TheCacheIsBoundedForOneAndForAll) {
    Setting s;
    const std::string block(60'000, 'x');
    for (uint32_t rank = 0; rank < 400; ++rank) {
        s.server.on_loop([&] {
            server::IofDelivery d;
            d.source = ProcId("far", rank);
            d.channel = kOut;
            d.data.assign(block.begin(), block.end());
            s.server.parts().iof.deliver(std::move(d));
            return 0;
        });
    }
    EXPECT_LE(s.cache().bytes(), common::kIofCacheTotal + 100'000);
    EXPECT_GT(s.cache().bytes(), common::kIofCacheTotal / 2);
    // Single characters cost what they cost.
    for (int i = 0; i < 100'000; ++i) {
        s.server.on_loop([&] {
            server::IofDelivery d;
            d.source = ProcId("tiny", 0);
            d.channel = kOut;
            d.data.assign(1, 'x');
            s.server.parts().iof.deliver(std::move(d));
            return 0;
        });
    }
    EXPECT_LE(s.cache().bytes(), common::kIofCacheTotal + 100'000);
    uint64_t lost = 0;
    ASSERT_STATUS(PMIX_SUCCESS, s.pull(s.a, 1, {{"far", 0}}));
    s.deliver({"far", 0}, "y");
    EXPECT_EQ("y", s.text(s.a, &lost)) << "the first gave way";
    EXPECT_EQ(60'000u, lost);
    s.server.on_loop([&] {
        s.server.parts().iof.forget_output("far");
        s.server.parts().iof.forget_output("tiny");
        return 0;
    });
    EXPECT_EQ(0u, s.cache().bytes());
}

// rows: O8
TEST(ServerIofTest, AReaderThatGivesNoCreditHoldsUpItsSourceAndNothingElse) {
    Setting s;
    ASSERT_STATUS(PMIX_SUCCESS, s.pull(s.a, 1, {{"far", 0}}, kOut, limit(100'000)));
    ASSERT_STATUS(PMIX_SUCCESS, s.pull(s.b, 1, {{"far", 1}}));
    const std::string block(50'000, 'x');
    std::vector<std::shared_ptr<pmix_status_t>> answers;
    size_t accepted = 0;
    for (int i = 0; i < 20; ++i) {
        answers.push_back(s.deliver({"far", 0}, block));
        accepted += *answers.back() == PMIX_SUCCESS;
    }
    // The window and the queue, and not more.
    EXPECT_GE(accepted * block.size(), common::kIofWindow);
    EXPECT_LE(accepted * block.size(), common::kIofWindow + common::kIofFrameBytes + 100'000 + block.size());
    for (int i = 0; i < 20; ++i) {
        EXPECT_STATUS(PMIX_SUCCESS, *s.deliver({"far", 1}, block)) << "others go on";
        EXPECT_EQ(block.size(), s.text(s.b).size());
        s.credit(s.b, 1, block.size() + common::kIofFrameCost);
    }
    // It reads again: nothing is missing, and every delivery is answered.
    size_t got = 0;
    uint64_t lost = 0;
    for (int i = 0; i < 100 && got < 20 * block.size(); ++i) {
        const size_t n = s.text(s.a, &lost).size();
        got += n;
        s.credit(s.a, 1, n + 20 * common::kIofFrameCost);
    }
    EXPECT_EQ(20 * block.size(), got);
    EXPECT_EQ(0u, lost);
    s.server.settle();
    for (const auto& answer : answers) EXPECT_STATUS(PMIX_SUCCESS, *answer);
}

// rows: O1 O4
// proves: PMIx_IOF_pull PMIX_IOF_DROP_OLDEST server
TEST(ServerIofTest, AReaderThatLetsDropHoldsUpNobodyAndIsTold) {
    Setting s;
    ASSERT_STATUS(PMIX_SUCCESS, s.pull(s.a, 1, {{"far", 0}}, kOut, limit(100'000, PMIX_IOF_DROP_OLDEST)));
    ASSERT_STATUS(PMIX_SUCCESS, s.pull(s.b, 1, {{"far", 0}}));
    const std::string block(50'000, 'x');
    for (int i = 0; i < 40; ++i) {
        EXPECT_STATUS(PMIX_SUCCESS, *s.deliver({"far", 0}, block)) << "the same stream, another reader";
        EXPECT_EQ(block.size(), s.text(s.b).size());
        s.credit(s.b, 1, block.size() + common::kIofFrameCost);
    }
    uint64_t lost = 0;
    size_t got = 0;
    for (int i = 0; i < 100; ++i) {
        const size_t n = s.text(s.a, &lost).size();
        got += n;
        s.credit(s.a, 1, n + 20 * common::kIofFrameCost);
    }
    EXPECT_EQ(40 * block.size(), got + lost) << "each byte is here, or known to be missing";
    EXPECT_GT(lost, 0u);
}

// rows: O1 O4
// proves: PMIx_IOF_pull PMIX_IOF_DROP_NEWEST PMIX_IOF_DROP_OLDEST server
TEST(ServerIofTest, WhichOutputIsDroppedIsTheReadersChoice) {
    for (const char* how : {PMIX_IOF_DROP_NEWEST, PMIX_IOF_DROP_OLDEST}) {
        Setting s;
        ASSERT_STATUS(PMIX_SUCCESS, s.pull(s.a, 1, {{"far", 0}}, kOut, limit(200'000, how)));
        // What goes out at once is its credit's worth; behind it, the limit's worth is kept, of 40 blocks.
        for (char c = 'A'; c < 'A' + 40; ++c)
            EXPECT_STATUS(PMIX_SUCCESS, *s.deliver({"far", 0}, std::string(50'000, c)));
        uint64_t lost = 0;
        std::string all;
        for (int i = 0; i < 100; ++i) {
            const std::string some = s.text(s.a, &lost);
            all += some;
            s.credit(s.a, 1, some.size() + 20 * common::kIofFrameCost);
        }
        // The number of missing bytes is sent with the next output.
        EXPECT_STATUS(PMIX_SUCCESS, *s.deliver({"far", 0}, "end"));
        all += s.text(s.a, &lost);
        EXPECT_EQ(40 * 50'000 + 3, all.size() + lost) << how;
        const bool has_last = all.find(static_cast<char>('A' + 39)) != std::string::npos;
        EXPECT_GT(lost, 0u) << how;
        EXPECT_EQ(std::string(how) == PMIX_IOF_DROP_OLDEST, has_last) << how;
    }
}

// rows: O8
TEST(ServerIofTest, ADelivererThatDoesNotWaitIsRefusedInTheEnd) {
    Setting s;
    ASSERT_STATUS(PMIX_SUCCESS, s.pull(s.a, 1, {{"far", 0}}));
    const std::string block(4u << 20, 'x');
    std::vector<std::shared_ptr<pmix_status_t>> answers;
    for (int i = 0; i < 24; ++i) answers.push_back(s.deliver({"far", 0}, block));
    EXPECT_STATUS(PMIX_ERR_OUT_OF_RESOURCE, *answers.back());
    EXPECT_EQ(1, *answers[10]) << "held";
    s.a.kill();
    ASSERT_TRUE(s.server.turn_until([&] { return *answers[10] == PMIX_SUCCESS; })) << "the reader is gone";
    EXPECT_EQ(0u, s.server.parts().iof.registrations());
    ASSERT_EQ(2u, s.host.count("iof_pull"));
    EXPECT_EQ(1, number_of(s.host.last("iof_pull")->infos, PMIX_IOF_STOP) != 0);
    EXPECT_EQ(nullptr, s.host.last("iof_pull")->infos.find(PMIX_IOF_COPY));
}

// Which of several readers of the same it is: those that read beside the host's own output, and those instead of it.
TEST(ServerIofTest, TheEndOfAPullSaysWhetherItWasACopy) {
    Setting s;
    InfoList copy;
    copy.append_flag(PMIX_IOF_COPY, true);
    ASSERT_STATUS(PMIX_SUCCESS, s.pull(s.a, 1, {{"far", 0}}, kOut, std::move(copy)));
    s.a.kill();
    ASSERT_TRUE(s.server.turn_until([&] { return s.host.count("iof_pull") == 2; }));
    EXPECT_NE(0u, number_of(s.host.last("iof_pull")->infos, PMIX_IOF_STOP));
    EXPECT_NE(0u, number_of(s.host.last("iof_pull")->infos, PMIX_IOF_COPY));
}

// rows: O6
TEST(ServerIofTest, DeregistrationSendsWhatIsLeftAndThenAnswers) {
    Setting s;
    ASSERT_STATUS(PMIX_SUCCESS, s.pull(s.a, 1, {{"far", 0}}));
    const std::string block(200'000, 'x');
    auto first = s.deliver({"far", 0}, block), second = s.deliver({"far", 0}, block),
         third = s.deliver({"far", 0}, block);
    EXPECT_EQ(1, *third);
    common::IofDeregisterRequest off;
    off.reference = 1;
    const uint32_t id = s.a.start<Command::iof_deregister>(off);
    s.server.settle();
    EXPECT_STATUS(PMIX_SUCCESS, *third) << "nobody waits for a reader that leaves";
    EXPECT_STATUS(PMIX_SUCCESS, *s.deliver({"far", 0}, "later"));
    size_t got = 0;
    for (int i = 0; i < 20; ++i) {
        const size_t n = s.text(s.a).size();
        got += n;
        if (got < 3 * block.size()) {
            EXPECT_FALSE(s.a.take(id));
        }
        s.credit(s.a, 1, n + 20 * common::kIofFrameCost);
    }
    EXPECT_EQ(3 * block.size(), got);
    auto reply = s.a.take(id);
    ASSERT_TRUE(reply);
    EXPECT_STATUS(PMIX_SUCCESS, reply->header.status);
    EXPECT_STATUS(PMIX_ERR_BAD_PARAM, s.a.ask<Command::iof_deregister>(off));
    EXPECT_EQ(1u, s.cache().streams()) << "later output waits for the next reader";
}

// rows: O7 U16
TEST(ServerIofTest, InputGoesUpWithItsSourceAndTargets) {
    Setting s;
    common::IofPushRequest request;
    request.procs = {{"job", PMIX_RANK_WILDCARD}};
    const std::string text = "input";
    request.data = common::Bytes(reinterpret_cast<const uint8_t*>(text.data()), text.size());
    EXPECT_STATUS(PMIX_SUCCESS, s.a.ask<Command::iof_push>(request));
    const Seen* seen = s.host.last("push_stdin");
    ASSERT_NE(nullptr, seen);
    EXPECT_EQ(ProcId("job", 0), seen->proc);
    EXPECT_EQ(request.procs, seen->procs);
    EXPECT_EQ("input", std::string(seen->blob.begin(), seen->blob.end()));
    EXPECT_EQ(::geteuid(), number_of(seen->infos, PMIX_USERID));
    request.data = {};
    EXPECT_STATUS(PMIX_SUCCESS, s.a.ask<Command::iof_push>(request));
    EXPECT_TRUE(s.host.last("push_stdin")->null_blob) << "zero bytes: the end";
    s.host.styles["push_stdin"] = Style::fails;
    s.host.statuses["push_stdin"] = PMIX_ERR_NOT_SUPPORTED;
    EXPECT_STATUS(PMIX_ERR_NOT_SUPPORTED, s.a.ask<Command::iof_push>(request));
}

// A source that the host stops is not answered until it may go on; nothing is lost and the order stays. rows: O9
TEST(ServerIofTest, Push_OfAStoppedSource_WaitsUntilItMayGoOn) {
    Setting s;
    common::IofPushRequest request;
    request.procs = {{"job", PMIX_RANK_WILDCARD}};
    const auto start = [&](FakeClient& client, const char* text) {
        request.data = common::Bytes(reinterpret_cast<const uint8_t*>(text), std::strlen(text));
        return client.start<Command::iof_push>(request);
    };
    const auto pushed = [&] {
        std::string all;
        for (const Seen& seen : s.host.seen)
            if (seen.what == "push_stdin") all.append(seen.blob.begin(), seen.blob.end()).push_back(' ');
        return all;
    };
    const auto control = [&](const std::optional<ProcId>& source, bool stop) {
        s.server.on_loop([&] {
            stop ? s.server.parts().iof.input().stop(source) : s.server.parts().iof.input().go_on(source);
            return PMIX_SUCCESS;
        });
        s.server.settle();
    };
    for (const std::optional<ProcId>& source :
         {std::optional<ProcId>(ProcId("job", 0)), std::optional<ProcId>(ProcId("job", PMIX_RANK_WILDCARD)),
          std::optional<ProcId>()}) {
        s.host.seen.clear();
        control(source, true);
        const uint32_t first = start(s.a, "1"), second = start(s.a, "2");
        s.server.settle();
        EXPECT_EQ("", pushed());
        EXPECT_EQ(2u, s.server.parts().iof.input().held());
        if (source && source->rank == 0) {
            EXPECT_STATUS(PMIX_SUCCESS, s.b.wait(start(s.b, "b"))->header.status) << "another source";
            s.host.seen.clear();
        }
        control(source, false);
        EXPECT_EQ("1 2 ", pushed());
        EXPECT_STATUS(PMIX_SUCCESS, s.a.wait(first)->header.status);
        EXPECT_STATUS(PMIX_SUCCESS, s.a.wait(second)->header.status);
        EXPECT_EQ(0u, s.server.parts().iof.input().held());
    }
    // Another source may go on: this one is still stopped.
    s.host.seen.clear();
    control(ProcId("job", 0), true);
    control(ProcId("job", 1), true);
    const uint32_t of_a = start(s.a, "a"), of_b = start(s.b, "b");
    s.server.settle();
    control(ProcId("job", 1), false);
    EXPECT_EQ("b ", pushed());
    EXPECT_STATUS(PMIX_SUCCESS, s.b.wait(of_b)->header.status);
    control(ProcId("job", 0), false);
    EXPECT_EQ("b a ", pushed());
    EXPECT_STATUS(PMIX_SUCCESS, s.a.wait(of_a)->header.status);
    // A source that ends is forgotten with its pushes.
    control(ProcId("job", 0), true);
    start(s.a, "3");
    s.server.settle();
    ASSERT_EQ(1u, s.server.parts().iof.input().held());
    s.a.kill();
    EXPECT_TRUE(s.server.turn_until([&] { return s.server.parts().iof.input().held() == 0; }));
}

// Neither the push of a stopped source nor a host that delivers waits for a server that has ended. rows: O9
TEST(ServerIofTest, Stop_PushAndDeliveriesAreHeld_AreAnswered) {
    Setting s;
    ASSERT_STATUS(PMIX_SUCCESS, s.pull(s.b, 1, {{"far", 0}}));
    const std::string block(4u << 20, 'x');
    std::vector<std::shared_ptr<pmix_status_t>> deliveries;
    for (int i = 0; i < 12; ++i) deliveries.push_back(s.deliver({"far", 0}, block));
    ASSERT_EQ(1, *deliveries.back()) << "held";
    s.server.on_loop([&] {
        s.server.parts().iof.input().stop(std::nullopt);
        return PMIX_SUCCESS;
    });
    common::IofPushRequest request;
    request.procs = {{"job", PMIX_RANK_WILDCARD}};
    const uint32_t push = s.a.start<Command::iof_push>(request);
    s.server.settle();
    ASSERT_EQ(1u, s.server.parts().iof.input().held());
    s.server.stop();
    s.server.run_once();  // as a finalize does
    for (const auto& delivery : deliveries) EXPECT_NE(1, *delivery);
    const auto reply = s.a.wait(push);
    if (reply) {
        EXPECT_STATUS(PMIX_ERROR, reply->header.status);
    }
    EXPECT_TRUE(s.a.hung_up());
    EXPECT_EQ(0u, s.host.count("push_stdin"));
}

// The answer XOFF says that the data was taken and that no more shall come. rows: O9
TEST(ServerIofTest, Push_AnsweredWithXoff_StopsItsSource) {
    Setting s;
    common::IofPushRequest request;
    request.procs = {{"job", PMIX_RANK_WILDCARD}};
    const std::string text = "x";
    request.data = common::Bytes(reinterpret_cast<const uint8_t*>(text.data()), text.size());
    s.host.statuses["push_stdin"] = PMIX_ERR_IOF_XOFF;
    EXPECT_STATUS(PMIX_SUCCESS, s.a.ask<Command::iof_push>(request));
    s.host.statuses.clear();
    const uint32_t next = s.a.start<Command::iof_push>(request);
    s.server.settle();
    EXPECT_EQ(1u, s.host.count("push_stdin"));
    s.server.on_loop([&] {
        s.server.parts().iof.input().go_on({{"job", 0}});
        return PMIX_SUCCESS;
    });
    EXPECT_STATUS(PMIX_SUCCESS, s.a.wait(next)->header.status);
    EXPECT_EQ(2u, s.host.count("push_stdin"));
}

// rows: O1 O7
TEST(ServerIofTest, AHostWithoutTheEntriesForwardsNothing) {
    TestServer server(nullptr);
    server.job("job", 1, 1);
    FakeClient a(server, {"job", 0});
    ASSERT_STATUS(PMIX_SUCCESS, a.hello());
    common::IofPullRequest pull;
    pull.channels = kOut;
    pull.procs = {{"far", 0}};
    EXPECT_STATUS(PMIX_ERR_NOT_SUPPORTED, a.ask<Command::iof_pull>(pull));
    common::IofPushRequest push;
    push.procs = {{"far", 0}};
    EXPECT_STATUS(PMIX_ERR_NOT_SUPPORTED, a.ask<Command::iof_push>(push));
}

namespace {

server::IofBufferPtr output_of(size_t bytes) {
    auto output = std::make_shared<server::IofBuffer>();
    output->source = {"far", 0};
    output->channel = kOut;
    output->data.assign(bytes, 'x');
    return output;
}

}  // namespace

// Outputs of one byte each are bounded by their number, long before their bytes are.
TEST(IofQueue, Push_OfManySmallBuffers_CountsThem) {
    server::IofLimit limit;
    limit.bytes = 640;
    limit.overflow = server::IofOverflow::drop_newest;
    server::IofQueue queue(limit);
    for (int i = 0; i < 100; ++i) queue.push(output_of(1), nullptr);
    EXPECT_EQ(74u, queue.bytes());
    EXPECT_EQ(26u, queue.lost());
}

// The answer tells the deliverer that there is room for what it delivered: each waits until its own bytes fit.
// rows: O8
TEST(IofQueue, Held_SomeAreTaken_AreAnsweredAsTheyFit) {
    server::IofLimit limit;
    limit.bytes = 100;
    server::IofQueue queue(limit);
    pmix_status_t answers[] = {1, 1, 1};  // 1: none yet
    for (pmix_status_t& answer : answers)
        queue.push(output_of(60),
                   std::make_shared<server::IofReceipt>([&answer](pmix_status_t status) { answer = status; }));
    EXPECT_STATUS(PMIX_SUCCESS, answers[0]);
    EXPECT_EQ(1, answers[1]) << "it goes beyond the limit";
    EXPECT_EQ(10u, queue.take(10).size);
    EXPECT_EQ(1, answers[1]) << "50 bytes and its 60 are more than 100";
    EXPECT_EQ(20u, queue.take(20).size);
    EXPECT_STATUS(PMIX_SUCCESS, answers[1]) << "30 bytes and its 60 fit";
    EXPECT_EQ(1, answers[2]);
    EXPECT_EQ(30u, queue.take(30).size);
    EXPECT_EQ(1, answers[2]) << "60 bytes and its 60 do not";
    EXPECT_EQ(20u, queue.take(20).size);
    EXPECT_STATUS(PMIX_SUCCESS, answers[2]);
}

}  // namespace server_iof_test

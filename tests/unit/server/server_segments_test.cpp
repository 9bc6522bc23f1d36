// SPDX-License-Identifier: BSD-3-Clause
// Which segments a server gives to which clients: with answers, after compaction, at the end of a namespace; and
// commits that are refused.
#include "support/status.h"
#include "unit/server/server_get_setting.h"

namespace server_segments_test {

using namespace pmix;
using namespace pmix::test;

TEST(ServerGetTest, AnotherNamespacesSegmentComesWithTheAnswer) {
    GetSetting s(1);
    s.server.job("second", 1, 1);
    s.connect();
    common::GetRequest request;
    request.proc = {"second", PMIX_RANK_WILDCARD};
    request.key = PMIX_JOB_SIZE;
    auto reply = s.a.wait(s.a.start<Command::get>(request));
    ASSERT_TRUE(reply);
    EXPECT_STATUS(PMIX_SUCCESS, reply->header.status);
    EXPECT_EQ(1u, reply->header.descriptors);
    common::GetReply message;
    ASSERT_STATUS(PMIX_SUCCESS, common::decode_message(reply->payload, message));
    ASSERT_EQ(1u, message.segments.size());
    EXPECT_EQ("second", message.segments[0].nspace);
}

// rows: V8
TEST(ServerGetTest, Deregister_ClientHasASegment_IsNotifiedOnce) {
    GetSetting s(1);
    s.server.job("second", 1, 1);
    s.connect();
    common::GetRequest request;
    request.proc = {"second", PMIX_RANK_WILDCARD};
    request.key = PMIX_JOB_SIZE;
    auto reply = s.a.wait(s.a.start<Command::get>(request));
    common::GetReply message;
    ASSERT_TRUE(reply && common::decode_message(reply->payload, message) == PMIX_SUCCESS);
    ASSERT_EQ(1u, message.segments.size());
    s.server.on_loop([&] {
        s.server.setup().deregister_nspace("second");
        return 0;
    });
    const auto told = [](FakeClient& client) {
        return client.take_notify<Command::segment_gone, common::SegmentGoneNotify>();
    };
    std::optional<common::SegmentGoneNotify> gone;
    ASSERT_TRUE(s.server.turn_until([&] { return (gone = told(s.a)).has_value(); }));
    EXPECT_EQ("second", gone->nspace);
    EXPECT_EQ(message.segments[0].instance, gone->instance);
    s.server.settle();
    EXPECT_FALSE(told(s.b)) << "it never had it";
    EXPECT_FALSE(told(s.a)) << "once";
}

// A segment goes only to the user whose namespace it is.
TEST(ServerGetTest, AnotherUsersNamespaceIsNotGivenOut) {
    if (::geteuid() != 0) GTEST_SKIP() << "root may read all; others cannot register another user";
    TestServer server(nullptr);
    server.job("mine", 1, 1, false);
    server.job("theirs", 1, 1, false);
    server.add_client("mine", 0, 12345);
    server.add_client("theirs", 0, 54321);
    server::SelfPeer peer({"mine", 0}, {12345, 12345, 1});
    server::Nspace* theirs = server.parts().registry.find("theirs");
    class Plain final : public server::Peer {
      public:
        using Peer::Peer;
        void send(const common::FrameHeader&, common::Bytes, std::span<const int>) override {}
        void close() override {}
    } plain(server::PeerKind::client, {"mine", 0}, server::Credentials{12345, 12345, 1});
    EXPECT_FALSE(server.parts().segments.may_map(plain, *theirs));
    EXPECT_TRUE(server.parts().segments.may_map(plain, *server.parts().registry.find("mine")));
}

// rows: V8 V11
TEST(ServerGetTest, DeregistrationEndsTheWaitAndTheConnection) {
    GetSetting s(1);
    s.server.job("second", 1, 2);
    s.connect();
    uint32_t g = s.a.start_get({"second", 0}, "k"), h = s.a.start_get({"second", 1}, "k");
    s.server.settle();
    s.server.on_loop([&] {
        s.server.setup().deregister_client({"second", 0});
        return 0;
    });
    EXPECT_STATUS(PMIX_ERR_NOT_FOUND, status_at_once(s.a, g));
    EXPECT_FALSE(s.a.take(h));
    s.server.on_loop([&] {
        s.server.setup().deregister_nspace("second");
        s.server.setup().deregister_nspace("never was");
        return 0;
    });
    EXPECT_STATUS(PMIX_ERR_NOT_FOUND, status_at_once(s.a, h));
    s.server.on_loop([&] {
        s.server.setup().deregister_client({"job", 1});
        return 0;
    });
    ASSERT_TRUE(s.server.turn_until([&] { return s.b.hung_up(); }));
    EXPECT_FALSE(s.a.hung_up());
}

// rows: K4
TEST(ServerGetTest, Compaction_PeerDoesNotRead_OthersGoOnAndItGetsTheNewest) {
    for (const bool job_ends : {false, true}) {
        GetSetting s(1);
        s.connect();
        // A process of another job, so that the end of "job" does not end it. It stops reading its replies.
        s.server.job("other", 1, 1);
        FakeClient stopped(s.server, {"other", 0});
        stopped.features &= ~common::kFeatureReadsLate;
        ASSERT_STATUS(PMIX_SUCCESS, stopped.hello());
        common::AttachNspaceRequest attach;
        attach.nspace = "job";
        ASSERT_STATUS(PMIX_SUCCESS, stopped.ask<Command::attach_nspace>(attach));
        const size_t descriptors = stopped.descriptors_received();
        common::ResolveRequest ask;
        ask.nspace = "wide";
        s.server.job("wide", 1, 5000, false);
        const auto queued = [&] {
            for (const auto& [serial, peer] : s.server.parts().peers)
                if (peer->id() == ProcId("other", 0)) return peer->connection()->queued_bytes();
            return size_t{0};
        };
        uint32_t last = 0;
        for (int i = 0; i < 200 && queued() == 0; ++i) {
            last = stopped.start<Command::resolve_peers>(ask);
            s.server.run_once();
        }
        ASSERT_GT(queued(), 0u);
        const uint32_t first = s.server.parts().registry.find("job")->data->instance();
        uint64_t most = 0;
        std::string value;
        for (int i = 0; i < 6000; ++i) {
            value = std::to_string(i) + std::string(200 + i % 100, 'x');
            s.a.put("k", value);
            if (i % 20 != 0) continue;
            s.server.settle();
            most = std::max(most, s.server.parts().registry.find("job")->data->bytes());
        }
        s.server.settle();
        EXPECT_LT(most, 600u << 10) << "1.8 MB were written";
        EXPECT_GT(s.server.parts().registry.find("job")->data->instance(), first);
        ASSERT_GT(queued(), 0u) << "it has not read";
        if (job_ends) {
            s.server.on_loop([&] {
                s.server.setup().deregister_nspace("job");
                return 0;
            });
            auto gone = stopped.take_notify<Command::segment_gone, common::SegmentGoneNotify>();
            s.server.turn_until([&] {
                return gone || (gone = stopped.take_notify<Command::segment_gone, common::SegmentGoneNotify>());
            });
            ASSERT_TRUE(gone);
            EXPECT_EQ(first, gone->instance) << "the one that it has";
            continue;
        }
        ASSERT_TRUE(stopped.wait(last));
        std::optional<common::AttachNspaceReply> fresh;
        ASSERT_TRUE(s.server.turn_until([&] {
            fresh = stopped.take_notify<Command::attach_nspace, common::AttachNspaceReply>();
            return fresh.has_value();
        }));
        ASSERT_EQ(1u, fresh->segments.size());
        EXPECT_EQ(s.server.parts().registry.find("job")->data->instance(), fresh->segments[0].instance);
        EXPECT_TRUE(fresh->segments[0].has_descriptor);
        EXPECT_EQ(descriptors + 1, stopped.descriptors_received()) << "none for the compactions between";
        FakeClient late(s.server, {"job", 0});
        ASSERT_STATUS(PMIX_SUCCESS, late.hello());
        EXPECT_EQ(value, late.read_text(0, "k"));
    }
}

// rows: K8 K9
TEST(ServerGetTest, BadCommitsChangeNothing) {
    GetSetting s(1);
    s.connect();
    common::CommitRequest request;
    common::ByteWriter w;
    common::encode_string_value(w, "x");
    request.entries.push_back({PMIX_GLOBAL, "fine", w.view()});
    request.entries.push_back({PMIX_INTERNAL, "k", w.view()});
    EXPECT_STATUS(PMIX_ERR_BAD_PARAM, s.a.ask<Command::commit>(request));
    request.entries[1] = {PMIX_GLOBAL, "", w.view()};
    EXPECT_STATUS(PMIX_ERR_BAD_PARAM, s.a.ask<Command::commit>(request));
    EXPECT_FALSE(s.b.read_text(0, "fine"));
    request.entries.pop_back();
    EXPECT_STATUS(PMIX_SUCCESS, s.a.ask<Command::commit>(request));
    EXPECT_EQ("x", s.b.read_text(0, "fine"));
}

// rows: K4
TEST(ServerGetTest, Compaction_SegmentIsMostlyReplaced_IsSentToAllItsReaders) {
    GetSetting s(1);
    s.a.features = s.b.features = common::kFeatures & ~common::kFeatureReadsLate;
    s.connect();
    uint64_t most = 0;
    const auto bytes = [&] { return s.server.parts().registry.find("job")->data->bytes(); };
    for (int i = 0; i < 6000; ++i) {
        s.a.put("k", std::to_string(i) + std::string(200 + i % 100, 'x'));
        if (i % 20 != 0) continue;
        s.server.settle();
        most = std::max(most, bytes());
    }
    s.server.settle();
    EXPECT_LT(most, 600u << 10) << "1.8 MB were written";
    for (FakeClient* client : {&s.a, &s.b}) {
        uint64_t last = 0;
        size_t compactions = 0;
        while (auto fresh = client->take_notify<Command::attach_nspace, common::AttachNspaceReply>()) {
            ASSERT_EQ(1u, fresh->segments.size());
            EXPECT_EQ("job", fresh->segments[0].nspace);
            EXPECT_TRUE(fresh->segments[0].has_descriptor);
            EXPECT_GT(fresh->segments[0].instance, last);
            last = fresh->segments[0].instance;
            ++compactions;
        }
        EXPECT_GE(compactions, 3u);
        EXPECT_EQ(1 + compactions, client->descriptors_received());
    }
    // A process that connects now gets the newest segment, with the right value.
    FakeClient late(s.server, {"job", 1});
    ASSERT_STATUS(PMIX_SUCCESS, late.hello());
    EXPECT_EQ("5999" + std::string(299, 'x'), late.read_text(0, "k"));
}

namespace {

uint32_t newest_segment(GetSetting& s) {
    return s.server.parts().registry.find("job")->data->instance();
}

// Replaces a value of rank 0 until its job has a newer segment than that.
void replace_until_above(GetSetting& s, uint32_t segment) {
    for (int i = 0; i < 6000 && newest_segment(s) <= segment; ++i) {
        s.a.put("k", std::to_string(i) + std::string(200 + i % 100, 'x'));
        s.server.settle();
    }
}

}  // namespace

// A process without a thread reads when it makes a call. It is told of one new segment and of no more before it has
// read that; it sees from the mark in its own that there is another, and asks. rows: K4
TEST(ServerGetTest, Compaction_PeerReadsAtItsNextCall_HasOneNewSegmentUnreadAtMost) {
    GetSetting s(1);
    s.connect();
    // Of another job, so that the end of "job" does not end it.
    s.server.job("other", 1, 1);
    FakeClient late(s.server, {"other", 0});
    ASSERT_STATUS(PMIX_SUCCESS, late.hello());
    common::AttachNspaceRequest ask;
    ask.nspace = "job";
    const auto attached = [&] {
        common::AttachNspaceReply reply;
        const auto answer = late.wait(late.start<Command::attach_nspace>(ask));
        EXPECT_TRUE(answer && answer->header.status == PMIX_SUCCESS);
        EXPECT_TRUE(answer && common::decode_message(answer->payload, reply) == PMIX_SUCCESS);
        EXPECT_EQ(1u, reply.segments.size());
        return reply;
    };
    const auto told_of_one = [&] { return late.take_notify<Command::attach_nspace, common::AttachNspaceReply>(); };
    const auto newest = [&] { return newest_segment(s); };
    const auto replace_until = [&](uint32_t above) { replace_until_above(s, above); };
    const uint32_t first = newest();
    attached();
    const size_t before_it = late.descriptors_received();
    for (uint32_t last = first; last < first + 4; last = newest()) {
        replace_until(last);
        ASSERT_GT(newest(), last);
    }
    auto told = told_of_one();
    ASSERT_TRUE(told);
    ASSERT_EQ(1u, told->segments.size());
    EXPECT_GT(told->segments[0].instance, first);
    EXPECT_LT(told->segments[0].instance, newest());
    EXPECT_FALSE(told_of_one());
    EXPECT_EQ(before_it + 1, late.descriptors_received());

    const common::AttachNspaceReply reply = attached();
    EXPECT_EQ(newest(), reply.segments[0].instance);
    EXPECT_TRUE(reply.segments[0].has_descriptor);
    EXPECT_EQ(before_it + 2, late.descriptors_received());

    // It has read all: it is told at once.
    replace_until(newest());
    told = told_of_one();
    ASSERT_TRUE(told);
    EXPECT_EQ(newest(), told->segments[0].instance);

    // The end of the namespace takes away what it has.
    s.server.on_loop([&] {
        s.server.setup().deregister_nspace("job");
        return 0;
    });
    auto gone = late.take_notify<Command::segment_gone, common::SegmentGoneNotify>();
    if (!gone)
        s.server.turn_until([&] {
            gone = late.take_notify<Command::segment_gone, common::SegmentGoneNotify>();
            return gone.has_value();
        });
    ASSERT_TRUE(gone);
    EXPECT_EQ(told->segments[0].instance, gone->instance);
}

// What is sent to a peer that has an old segment follows the new one, because it may tell of what is there. Where the
// peer does not read, descriptors do not pile up all the same. rows: K4
TEST(ServerGetTest, Compaction_FrameToAPeerThatHasNotRead_FollowsTheNewSegment) {
    GetSetting s(1);
    s.connect();
    s.server.job("other", 1, 1);
    FakeClient late(s.server, {"other", 0});
    ASSERT_STATUS(PMIX_SUCCESS, late.hello());
    common::AttachNspaceRequest ask;
    ask.nspace = "job";
    ASSERT_TRUE(late.wait(late.start<Command::attach_nspace>(ask)));
    const size_t before_it = late.descriptors_received();
    const auto newest = [&] { return newest_segment(s); };
    const auto replace_until = [&](uint32_t above) { replace_until_above(s, above); };
    const auto send_a_frame = [&] {
        s.server.on_loop([&] {
            common::SegmentGoneNotify message;
            message.nspace = "nobody's";
            auto payload = common::message_bytes(message);
            common::FrameHeader header = common::FrameHeader::notify(static_cast<uint16_t>(Command::segment_gone));
            header.payload = static_cast<uint32_t>(payload->size());
            for (const auto& [serial, peer] : s.server.parts().peers)
                if (peer->id().nspace == "other") peer->send(header, *payload, {});
            return 0;
        });
    };
    const auto told_of_one = [&] { return late.take_notify<Command::attach_nspace, common::AttachNspaceReply>(); };
    std::vector<uint32_t> instances;
    for (int round = 0; round < 8; ++round) {
        replace_until(newest());
        send_a_frame();
        instances.push_back(newest());
    }
    // The first was sent when it had read all, then four before frames.
    std::vector<uint32_t> told;
    while (auto one = told_of_one()) told.push_back(static_cast<uint32_t>(one->segments[0].instance));
    EXPECT_EQ((std::vector<uint32_t>{instances.begin(), instances.begin() + 5}), told);
    EXPECT_EQ(before_it + 5, late.descriptors_received());
    // It has read all.
    send_a_frame();
    auto last = told_of_one();
    ASSERT_TRUE(last);
    EXPECT_EQ(newest(), last->segments[0].instance);
}

}  // namespace server_segments_test

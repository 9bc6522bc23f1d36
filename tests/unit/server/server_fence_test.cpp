// SPDX-License-Identifier: BSD-3-Clause
// Fence through a whole server: what the host sees, what members get, what a death and a timeout do.
#include "support/status.h"
#include "unit/server/server_fence_setting.h"

namespace server_fence_test {

using namespace pmix;
using namespace pmix::test;

// rows: F1 F6
TEST(ServerFenceTest, AllLocalNeverReachesTheHost) {
    FakeHost host;
    auto module = host.module();
    TestServer server(&module);
    server.job("job", 1, 2);
    FakeClient a(server, {"job", 0}), b(server, {"job", 1});
    ASSERT_STATUS(PMIX_SUCCESS, a.hello());
    ASSERT_STATUS(PMIX_SUCCESS, b.hello());
    a.put("k", "from a");
    uint32_t fa = a.start_fence({kJob}, true);
    server.settle();
    EXPECT_FALSE(a.take(fa)) << "b is missing";
    uint32_t fb = b.start_fence({});  // no list: the caller's namespace
    EXPECT_STATUS(PMIX_SUCCESS, status_of(a, fa));
    EXPECT_STATUS(PMIX_SUCCESS, status_of(b, fb));
    EXPECT_EQ(0u, host.count("fence"));
    EXPECT_EQ("from a", b.read_text(0, "k"));
}

// Those of the server's own processor take it when they are answered, and the others would wait.
TEST(ServerFenceTest, ThoseOfOtherProcessorsAreAnsweredFirst) {
    static std::vector<common::Rank> answered;
    struct Member final : server::Peer {
        explicit Member(common::Rank rank) : Peer(server::PeerKind::client, {"job", rank}, {::geteuid(), 0, 1}) {}
        void send(const common::FrameHeader&, common::Bytes, std::span<const int>) override {
            answered.push_back(id().rank);
        }
        void close() override {}
        bool sends_from(int) const noexcept override { return id().rank % 2 == 0; }
    };
    answered.clear();
    TestServer server(nullptr);
    server.job("job", 1, 4);
    std::vector<std::shared_ptr<Member>> members;
    for (common::Rank rank = 0; rank < 4; ++rank) {
        members.push_back(std::make_shared<Member>(rank));
        common::FenceRequest request;
        server.parts().fence.request(*members.back(), request, {members.back(), 0, rank + 1});
    }
    EXPECT_EQ((std::vector<common::Rank>{1, 3, 0, 2}), answered);
}

// rows: F6 F4
TEST(ServerFenceTest, WithoutAHostEntryOneNodeWorksSeveralDoNot) {
    TestServer server(nullptr);
    server.job("job", 1, 1);
    server.job("wide", 2, 1);
    FakeClient a(server, {"job", 0}), w(server, {"wide", 0});
    ASSERT_STATUS(PMIX_SUCCESS, a.hello());
    ASSERT_STATUS(PMIX_SUCCESS, w.hello());
    EXPECT_STATUS(PMIX_SUCCESS, status_of(a, a.start_fence({kJob})));
    EXPECT_STATUS(PMIX_ERR_NOT_SUPPORTED, status_of(w, w.start_fence({})));
}

// rows: F2 F3 F4 U5
// proves: PMIx_Fence PMIX_COLLECT_DATA server
TEST(ServerFenceTest, OneUpcallWithOneBlobAndTheAnswerIsReadable) {
    FakeHost host;
    auto module = host.module();
    TestServer server(&module);
    server.job("job", 2, 2);
    FakeClient a(server, {"job", 0}), b(server, {"job", 1});
    ASSERT_STATUS(PMIX_SUCCESS, a.hello());
    ASSERT_STATUS(PMIX_SUCCESS, b.hello());
    a.put("g", "a global");
    a.put("l", "a local", PMIX_LOCAL);
    b.put("r", "b remote", PMIX_REMOTE);
    std::vector<uint8_t> other = blob_of(2, "g", "from far");
    host.data = [&](const Seen& s) {
        std::vector<uint8_t> all = other;  // any order
        all.insert(all.end(), s.blob.begin(), s.blob.end());
        return all;
    };
    uint32_t fa = a.start_fence({kJob}, true), fb = b.start_fence({kJob}, true);
    EXPECT_STATUS(PMIX_SUCCESS, status_of(a, fa));
    EXPECT_STATUS(PMIX_SUCCESS, status_of(b, fb));
    ASSERT_EQ(1u, host.count("fence"));
    const Seen* seen = host.last("fence");
    EXPECT_EQ(std::vector<ProcId>{kJob}, seen->procs);
    EXPECT_TRUE(common::InfoView(seen->infos).flag(PMIX_COLLECT_DATA));
    EXPECT_TRUE(common::InfoView(seen->infos).flag(PMIX_SORTED_PROC_ARRAY));
    ASSERT_NE(nullptr, seen->infos.find(PMIX_LOCAL_COLLECTIVE_STATUS));
    EXPECT_STATUS(PMIX_SUCCESS, seen->infos.find(PMIX_LOCAL_COLLECTIVE_STATUS)->value.data.status);
    ASSERT_FALSE(seen->null_blob);
    std::string sent(seen->blob.begin(), seen->blob.end());
    EXPECT_NE(std::string::npos, sent.find("a global"));
    EXPECT_NE(std::string::npos, sent.find("b remote"));
    EXPECT_EQ(std::string::npos, sent.find("a local")) << "local data stays on its node";
    EXPECT_EQ(1, host.released) << "the host gets its blob back";
    EXPECT_EQ("from far", a.read_text(2, "g"));
    EXPECT_EQ("a local", b.read_text(0, "l"));
    EXPECT_FALSE(a.read_text(1, "r")) << "remote data is not for local peers";
}

// Optional attributes that the library does not read are the host's to read. rows: F11
TEST(ServerFenceTest, Fence_WithACollectiveAlgorithm_ReachesTheHost) {
    FakeHost host;
    auto module = host.module();
    TestServer server(&module);
    server.job("job", 4, 1);
    FakeClient a(server, {"job", 0});
    ASSERT_STATUS(PMIX_SUCCESS, a.hello());
    common::InfoList infos;
    infos.append_string(PMIX_COLLECTIVE_ALGO, "ring,tree");
    infos.append_flag(PMIX_COLLECTIVE_ALGO_REQD, true);
    common::FenceRequest request;
    request.procs = {kJob};
    request.infos = std::move(infos);
    EXPECT_STATUS(PMIX_SUCCESS, status_of(a, a.start<common::Command::fence>(request)));
    const Seen* seen = host.last("fence");
    ASSERT_NE(nullptr, seen->infos.find(PMIX_COLLECTIVE_ALGO));
    EXPECT_STREQ("ring,tree", seen->infos.find(PMIX_COLLECTIVE_ALGO)->value.data.string);
    EXPECT_TRUE(common::InfoView(seen->infos).flag(PMIX_COLLECTIVE_ALGO_REQD));
}

// The infos that the host sees are the first caller's, but data is collected if any member asked for it.
// rows: F2
// proves: PMIx_Fence PMIX_COLLECT_DATA server
TEST(ServerFenceTest, WhatOneMemberAsksToCollectCountsForAll) {
    FakeHost host;
    auto module = host.module();
    TestServer server(&module);
    server.job("job", 4, 2);
    FakeClient a(server, {"job", 0}), b(server, {"job", 1});
    ASSERT_STATUS(PMIX_SUCCESS, a.hello());
    ASSERT_STATUS(PMIX_SUCCESS, b.hello());
    const auto fence = [&](common::InfoList first, bool second_asks) {
        common::FenceRequest request;
        request.procs = {kJob};
        request.infos = std::move(first);
        uint32_t fa = a.start<common::Command::fence>(request), fb = b.start_fence({kJob}, second_asks);
        EXPECT_STATUS(PMIX_SUCCESS, status_of(a, fa));
        EXPECT_STATUS(PMIX_SUCCESS, status_of(b, fb));
        return common::InfoView(host.last("fence")->infos).flag(PMIX_COLLECT_DATA);
    };
    common::InfoList no, no_in_words;
    no.append_flag(PMIX_COLLECT_DATA, false);
    no_in_words.append_string(PMIX_COLLECT_DATA, "false");
    EXPECT_FALSE(fence({}, false));
    EXPECT_TRUE(fence({}, true));
    EXPECT_TRUE(fence(std::move(no), true));
    EXPECT_TRUE(fence(std::move(no_in_words), true));
}

// rows: F2
TEST(ServerFenceTest, CollectionOfTheFirstMemberOnly_DataIsSent) {
    FakeHost host;
    auto module = host.module();
    TestServer server(&module);
    server.job("job", 2, 2);
    FakeClient a(server, {"job", 0}), b(server, {"job", 1});
    ASSERT_STATUS(PMIX_SUCCESS, a.hello());
    ASSERT_STATUS(PMIX_SUCCESS, b.hello());
    a.put("k", "value");
    const uint32_t fa = a.start_fence({kJob}, true);
    server.settle();
    EXPECT_STATUS(PMIX_SUCCESS, status_of(b, b.start_fence({kJob}, false)));
    EXPECT_STATUS(PMIX_SUCCESS, status_of(a, fa));
    EXPECT_FALSE(sent_nothing(host));
}

// Where the host describes no placement, its number of local processes is what a fence waits for. rows: F1
TEST(ServerFenceTest, Fence_FewerRegisteredThanAnnounced_WaitsForTheOthers) {
    TestServer server(nullptr);
    ASSERT_STATUS(PMIX_SUCCESS, server.add_job("job", 2, {}));
    server.add_client("job", 0);
    FakeClient a(server, {"job", 0});
    ASSERT_STATUS(PMIX_SUCCESS, a.hello());
    const uint32_t fa = a.start_fence({kJob});
    server.settle();
    EXPECT_FALSE(a.take(fa)) << "two were announced";
    server.add_client("job", 1);
    FakeClient b(server, {"job", 1});
    ASSERT_STATUS(PMIX_SUCCESS, b.hello());
    EXPECT_STATUS(PMIX_SUCCESS, status_of(b, b.start_fence({kJob})));
    EXPECT_STATUS(PMIX_SUCCESS, status_of(a, fa));
}

// Data of a fence may name any namespace; only data of namespaces that this server has is kept.
TEST(ServerFenceTest, Answer_NamesAnUnknownNamespace_NoneIsMade) {
    FakeHost host;
    auto module = host.module();
    TestServer server(&module);
    server.job("job", 2, 1);
    FakeClient a(server, {"job", 0});
    ASSERT_STATUS(PMIX_SUCCESS, a.hello());
    host.data = [](const Seen&) {
        std::vector<uint8_t> blob = blob_of(1, "k", "value");
        auto section = server::read_section(blob);
        std::vector<uint8_t> storage;
        auto chunks = server::section_chunks(*section, storage);
        const auto foreign = server::wrap_section("elsewhere", *chunks).value();
        blob.insert(blob.end(), foreign.begin(), foreign.end());
        return blob;
    };
    EXPECT_STATUS(PMIX_SUCCESS, status_of(a, a.start_fence({kJob}, true)));
    EXPECT_EQ("value", a.read_text(1, "k"));
    EXPECT_EQ(nullptr, server.parts().registry.find("elsewhere"));
}

// The order of the list, repeats and the form on the wire do not matter. rows: F1
TEST(ServerFenceTest, Fence_ParticipantsAsListAndAsRanges_AreOneSet) {
    FakeHost host;
    auto module = host.module();
    TestServer server(&module);
    server.job("job", 50, 2);
    FakeClient a(server, {"job", 0}), b(server, {"job", 1});
    ASSERT_STATUS(PMIX_SUCCESS, a.hello());
    ASSERT_STATUS(PMIX_SUCCESS, b.hello());
    common::FenceRequest list, ranges;
    for (uint32_t r = 100; r-- > 0;) list.procs.emplace_back("job", r);
    list.procs.emplace_back("job", 7);
    ranges.procs = {{"job", 3}};
    ranges.ranges = {{"job", {50, 99, 0, 60}}};
    const uint32_t fa = a.start<common::Command::fence>(list);
    server.settle();
    EXPECT_FALSE(a.take(fa)) << "rank 1 is missing";
    EXPECT_STATUS(PMIX_SUCCESS, status_of(b, b.start<common::Command::fence>(ranges)));
    EXPECT_STATUS(PMIX_SUCCESS, status_of(a, fa));
    EXPECT_EQ(1u, host.count("fence"));
    const Seen* seen = host.last("fence");
    ASSERT_EQ(100u, seen->procs.size());
    for (uint32_t r = 0; r < 100; ++r) EXPECT_EQ(ProcId("job", r), seen->procs[r]);
    // A hundred ranks as bits, and one beside them.
    ranges.ranges = {{"job", {99, 99}, 0, std::vector<uint8_t>(12, 0xff)}, {"job", {96, 98}}};
    const uint32_t again = b.start<common::Command::fence>(ranges);
    EXPECT_STATUS(PMIX_SUCCESS, status_of(a, a.start<common::Command::fence>(list)));
    EXPECT_STATUS(PMIX_SUCCESS, status_of(b, again));
    ranges.ranges = {{"job", {}, 7, {1}}};
    EXPECT_STATUS(PMIX_ERR_BAD_PARAM, status_of(b, b.start<common::Command::fence>(ranges))) << "not a multiple of 64";
    ranges.ranges = {{"job", {9, 0}}};
    EXPECT_STATUS(PMIX_ERR_BAD_PARAM, status_of(b, b.start<common::Command::fence>(ranges)));
    ranges.procs.clear();
    ranges.ranges = {{"job", {1, 99}}};
    EXPECT_STATUS(PMIX_ERR_NOT_A_MEMBER, status_of(a, a.start<common::Command::fence>(ranges)))
        << "it is not in the set";
    ranges.ranges = {{"job", {0, 15'000'000}}};
    EXPECT_STATUS(PMIX_ERR_OUT_OF_RESOURCE, status_of(a, a.start<common::Command::fence>(ranges)))
        << "the array for the host is the memory of the caller's user";
}

// rows: F2 F5
TEST(ServerFenceTest, NothingNewIsNotSentAgain) {
    FakeHost host;
    auto module = host.module();
    TestServer server(&module);
    server.job("job", 2, 1);
    FakeClient a(server, {"job", 0});
    ASSERT_STATUS(PMIX_SUCCESS, a.hello());
    EXPECT_STATUS(PMIX_SUCCESS, status_of(a, a.start_fence({kJob}, true)));
    EXPECT_TRUE(sent_nothing(host)) << "nothing was committed";
    a.put("k", "first");
    EXPECT_STATUS(PMIX_SUCCESS, status_of(a, a.start_fence({kJob}, true)));
    EXPECT_FALSE(sent_nothing(host));
    EXPECT_STATUS(PMIX_SUCCESS, status_of(a, a.start_fence({kJob}, true)));
    EXPECT_TRUE(sent_nothing(host));
    a.put("k2", "second");
    EXPECT_STATUS(PMIX_SUCCESS, status_of(a, a.start_fence({kJob}, true)));
    std::string sent(host.last("fence")->blob.begin(), host.last("fence")->blob.end());
    EXPECT_NE(std::string::npos, sent.find("second"));
    EXPECT_EQ(std::string::npos, sent.find("first"));
    // another set has not been given anything yet
    EXPECT_STATUS(PMIX_SUCCESS, status_of(a, a.start_fence({{"job", 0}, {"job", 1}}, true)));
    sent.assign(host.last("fence")->blob.begin(), host.last("fence")->blob.end());
    EXPECT_NE(std::string::npos, sent.find("first"));
    // no collection: no data
    a.put("k3", "third");
    EXPECT_STATUS(PMIX_SUCCESS, status_of(a, a.start_fence({kJob})));
    EXPECT_TRUE(sent_nothing(host));
}

// The other nodes have nothing of an exchange that has failed. rows: F2 F5
TEST(ServerFenceTest, ExchangeThatFails_ItsDataIsSentWithTheNext) {
    FakeHost host;
    auto module = host.module();
    TestServer server(&module);
    server.job("job", 2, 1);
    FakeClient a(server, {"job", 0});
    ASSERT_STATUS(PMIX_SUCCESS, a.hello());
    a.put("k", "first");
    host.statuses["fence"] = PMIX_ERR_UNREACH;
    EXPECT_STATUS(PMIX_ERR_UNREACH, status_of(a, a.start_fence({kJob}, true)));
    EXPECT_FALSE(sent_nothing(host));
    host.statuses.clear();
    EXPECT_STATUS(PMIX_SUCCESS, status_of(a, a.start_fence({kJob}, true)));
    const std::string sent(host.last("fence")->blob.begin(), host.last("fence")->blob.end());
    EXPECT_NE(std::string::npos, sent.find("first"));
}

// Fences of one set overlap, and their exchanges may end in any order. rows: F2 F5
TEST(ServerFenceTest, ExchangesThatEndInReverse_NothingIsSentAgain) {
    FakeHost host;
    auto module = host.module();
    TestServer server(&module);
    server.job("job", 2, 1);
    FakeClient a(server, {"job", 0});
    ASSERT_STATUS(PMIX_SUCCESS, a.hello());
    host.styles["fence"] = Style::later;
    a.put("k", "first");
    const uint32_t first = a.start_fence({kJob}, true);
    ASSERT_TRUE(server.turn_until([&] { return host.waiting() == 1; }));
    a.put("k2", "second");
    const uint32_t second = a.start_fence({kJob}, true);
    ASSERT_TRUE(server.turn_until([&] { return host.waiting() == 2; }));
    host.answer_last();
    EXPECT_STATUS(PMIX_SUCCESS, status_of(a, second));
    host.answer_last();
    EXPECT_STATUS(PMIX_SUCCESS, status_of(a, first));
    host.styles.clear();
    EXPECT_STATUS(PMIX_SUCCESS, status_of(a, a.start_fence({kJob}, true)));
    EXPECT_TRUE(sent_nothing(host)) << "both have been sent";
}

// A namespace that this server has not been told of runs elsewhere. rows: F1
TEST(ServerFenceTest, Fence_WithANamespaceNotKnownHere_GoesToTheHost) {
    for (const bool with_host : {true, false}) {
        FakeHost host;
        auto module = host.module();
        TestServer server(with_host ? &module : nullptr);
        server.job("job", 1, 1);
        FakeClient a(server, {"job", 0});
        ASSERT_STATUS(PMIX_SUCCESS, a.hello());
        EXPECT_STATUS(with_host ? PMIX_SUCCESS : PMIX_ERR_NOT_SUPPORTED,
                      status_of(a, a.start_fence({{"job", 0}, {"elsewhere", 0}})));
        EXPECT_EQ(with_host ? 1u : 0u, host.count("fence"));
    }
}

// A server outlives its jobs by far. rows: F5
TEST(ServerFenceTest, WhatASetWasSent_NamespaceEnds_IsForgotten) {
    FakeHost host;
    auto module = host.module();
    TestServer server(&module);
    server.job("other", 2, 1);
    for (int round = 0; round < 3; ++round) {
        server.job("job", 2, 1);
        FakeClient a(server, {"job", 0});
        ASSERT_STATUS(PMIX_SUCCESS, a.hello());
        a.put("k", "value");
        EXPECT_STATUS(PMIX_SUCCESS, status_of(a, a.start_fence({kJob}, true)));
        EXPECT_FALSE(sent_nothing(host)) << "the job of this name before is another";
        EXPECT_EQ(1u, server.parts().fence.sets_remembered());
        server.on_loop([&] {
            server.setup().deregister_nspace("job");
            return 0;
        });
        EXPECT_EQ(0u, server.parts().fence.sets_remembered());
    }
}

// A host may take a fence without bytes for one that needs no exchange (Slurm's plug-in does so where the infos do not
// name PMIX_COLLECT_DATA or there is no data). Every upcall carries both, and no value is claimed that nobody gave.
// rows: F2 F4
// proves: PMIx_Fence PMIX_COLLECT_DATA server
TEST(ServerFenceTest, Upcall_NoDataToSend_CarriesPresenceSectionAndCollectKey) {
    FakeHost host;
    auto module = host.module();
    TestServer server(&module);
    server.job("job", 2, 1);
    FakeClient a(server, {"job", 0});
    ASSERT_STATUS(PMIX_SUCCESS, a.hello());
    const auto fence = [&](common::InfoList infos) {
        common::FenceRequest request;
        request.procs = {kJob};
        request.infos = std::move(infos);
        EXPECT_STATUS(PMIX_SUCCESS, status_of(a, a.start<common::Command::fence>(request)));
        const Seen* seen = host.last("fence");
        EXPECT_EQ(16u, seen->blob.size());
        EXPECT_TRUE(server::is_presence_only(seen->blob));
        size_t named = 0;
        for (size_t i = 0; i < seen->infos.size(); ++i)
            named += std::string_view(seen->infos.c_array()[i].key) == PMIX_COLLECT_DATA ? 1 : 0;
        EXPECT_EQ(1u, named);
        return common::InfoView(seen->infos).flag(PMIX_COLLECT_DATA);
    };
    common::InfoList yes, no;
    yes.append_flag(PMIX_COLLECT_DATA, true);
    no.append_flag(PMIX_COLLECT_DATA, false);
    EXPECT_FALSE(fence({}));
    EXPECT_FALSE(fence(std::move(no)));
    EXPECT_TRUE(fence(std::move(yes))) << "nothing was committed";
}

// Sections of nodes with and without data come in any order, and those of older servers are missing altogether.
// rows: F2
TEST(ServerFenceTest, Answer_PresenceSections_AreSkippedAndDataIsRead) {
    const std::vector<uint8_t> presence = server::wrap_presence();
    const std::vector<uint8_t> data = blob_of(1, "k", "from far");
    const auto joined = [](std::initializer_list<std::vector<uint8_t>> parts) {
        std::vector<uint8_t> all;
        for (const auto& part : parts) all.insert(all.end(), part.begin(), part.end());
        return all;
    };
    const struct {
        std::vector<uint8_t> answer;
        bool has_data;
    } cases[] = {{{}, false},
                 {presence, false},
                 {joined({presence, presence, presence}), false},
                 {joined({presence, data}), true},
                 {joined({data, presence, presence}), true}};
    for (const auto& c : cases) {
        FakeHost host;
        auto module = host.module();
        TestServer server(&module);
        server.job("job", 2, 1);
        FakeClient a(server, {"job", 0});
        ASSERT_STATUS(PMIX_SUCCESS, a.hello());
        host.data = [&](const Seen&) { return c.answer; };
        EXPECT_EQ(!c.has_data, server::is_presence_only(c.answer));
        EXPECT_STATUS(PMIX_SUCCESS, status_of(a, a.start_fence({kJob}, true)));
        EXPECT_EQ(c.has_data, a.read_text(1, "k") == "from far");
    }
    std::vector<uint8_t> torn = presence;
    torn.resize(presence.size() - 1);
    EXPECT_FALSE(server::is_presence_only(torn));
}

// rows: U1 G3
TEST(ServerFenceTest, EveryStyleOfAnswerIsOneReply) {
    for (Style style : {Style::before_return, Style::later, Style::other_thread, Style::succeeded, Style::fails}) {
        FakeHost host;
        host.styles["fence"] = style;
        host.statuses["fence"] = style == Style::fails ? PMIX_ERR_TIMEOUT : PMIX_SUCCESS;
        auto module = host.module();
        TestServer server(&module);
        server.job("job", 2, 1);
        FakeClient a(server, {"job", 0});
        ASSERT_STATUS(PMIX_SUCCESS, a.hello());
        uint32_t f = a.start_fence({kJob});
        if (style == Style::later) {
            ASSERT_TRUE(server.turn_until([&] { return host.waiting() == 1; }));
            server.settle();
            EXPECT_FALSE(a.take(f));
            host.answer_waiting();
        }
        EXPECT_EQ(host.statuses["fence"], status_of(a, f)) << static_cast<int>(style);
        server.settle();
        EXPECT_FALSE(a.take(f)) << "answered twice";
        EXPECT_EQ(0u, server.parts().host.open());
    }
}

// rows: F5
TEST(ServerFenceTest, RepeatedFencesDoNotMix) {
    FakeHost host;
    auto module = host.module();
    TestServer server(&module);
    server.job("job", 1, 2);
    FakeClient a(server, {"job", 0}), b(server, {"job", 1});
    ASSERT_STATUS(PMIX_SUCCESS, a.hello());
    ASSERT_STATUS(PMIX_SUCCESS, b.hello());
    std::vector<uint32_t> ids;
    for (int i = 0; i < 100; ++i) ids.push_back(a.start_fence({kJob}));
    for (int i = 0; i < 100; ++i) {
        EXPECT_STATUS(PMIX_SUCCESS, status_of(b, b.start_fence({kJob})));
        EXPECT_STATUS(PMIX_SUCCESS, status_of(a, ids[static_cast<size_t>(i)]));
        if (i < 99) {
            EXPECT_FALSE(a.take(ids[static_cast<size_t>(i) + 1]));
        }
    }
    EXPECT_EQ(0u, server.parts().fence.open());
}

// rows: F9 G12
TEST(ServerFenceTest, WhoIsNotInTheSetIsToldSo) {
    TestServer server(nullptr);
    server.job("job", 1, 2);
    FakeClient a(server, {"job", 0});
    ASSERT_STATUS(PMIX_SUCCESS, a.hello());
    EXPECT_STATUS(PMIX_ERR_BAD_PARAM, status_of(a, a.start_fence({{"job", PMIX_RANK_WILDCARD}}, false, -1)));
    EXPECT_STATUS(PMIX_ERR_NOT_A_MEMBER, status_of(a, a.start_fence({{"job", 1}})));
    common::ConnectRequest others;
    others.procs = {{"job", 1}};
    EXPECT_STATUS(PMIX_ERR_NOT_A_MEMBER, status_of(a, a.start<common::Command::connect>(others)));
    EXPECT_STATUS(PMIX_ERR_NOT_A_MEMBER, status_of(a, a.start<common::Command::disconnect>(others)));
    EXPECT_STATUS(PMIX_ERR_BAD_PARAM, status_of(a, a.start_fence({{"job", PMIX_RANK_INVALID}})));
    EXPECT_EQ(0u, server.parts().fence.open());
}

// rows: G7
TEST(ServerFenceTest, ARequiredEntryThatNobodyKnowsIsRefused) {
    TestServer server(nullptr);
    server.job("job", 1, 1);
    FakeClient a(server, {"job", 0});
    ASSERT_STATUS(PMIX_SUCCESS, a.hello());
    common::FenceRequest request;
    request.procs = {kJob};
    common::InfoList list;
    list.append("nobody.knows", common::Value::flag(true), PMIX_INFO_REQD);
    request.infos = std::move(list);
    EXPECT_STATUS(PMIX_ERR_NOT_SUPPORTED, a.ask<Command::fence>(request));
}

// A node that runs another library contributes bytes that mean nothing here.
TEST(ServerFenceTest, ForeignBytesFailTheFence) {
    FakeHost host;
    auto module = host.module();
    TestServer server(&module);
    server.job("job", 2, 1);
    FakeClient a(server, {"job", 0});
    ASSERT_STATUS(PMIX_SUCCESS, a.hello());
    host.data = [](const Seen&) { return std::vector<uint8_t>(64, 0x5a); };
    EXPECT_STATUS(PMIX_ERR_NOT_SUPPORTED, status_of(a, a.start_fence({kJob}, true)));
    host.data = [](const Seen&) {
        auto blob = blob_of(1, "k", "v");
        for (int i = 0; i < 3; ++i) blob.pop_back();
        return blob;
    };
    EXPECT_STATUS(PMIX_ERR_UNPACK_FAILURE, status_of(a, a.start_fence({kJob}, true)));
    host.data = [](const Seen&) { return blob_of(1, "k", "v"); };
    EXPECT_STATUS(PMIX_SUCCESS, status_of(a, a.start_fence({kJob}, true)));
    EXPECT_EQ("v", a.read_text(1, "k"));
}

}  // namespace server_fence_test

// SPDX-License-Identifier: BSD-3-Clause
// A session with a server that the test plays: asking, waiting, timeouts, loss, fence, publish and lookup.
#include "client/groups/group_api.h"
#include "common/protocol/proc_order.h"
#include "support/status.h"
#include "unit/client/session_setting.h"

namespace pmix::client::session_test {
namespace {

TEST_F(SessionTest, AskGetsTheReply) {
    common::SpawnReply reply;
    reply.nspace = "child";
    answer_all<common::SpawnReply>(PMIX_SUCCESS, reply);
    pmix_app_t app;
    memset(&app, 0, sizeof app);
    app.cmd = const_cast<char*>("true");
    pmix_nspace_t nspace;
    EXPECT_STATUS(PMIX_SUCCESS, spawn(*session, nullptr, 0, &app, 1, nspace));
    EXPECT_STREQ(nspace, "child");
}

// Root does not map what another user may change while it is read.
TEST_F(SessionTest, AddSegments_ToolOfRootAtAnotherUsersServer_MapsNothing) {
    session->set_is_tool();
    channel->another_users = true;
    common::SegmentRef ref;
    ref.nspace = "theirs";
    ref.instance = 1;
    ref.has_descriptor = true;
    std::vector<transport::Descriptor> descriptors(1);
    EXPECT_STATUS(PMIX_SUCCESS, session->add_segments({ref}, std::move(descriptors)));
    EXPECT_FALSE(session->namespaces().lacks("theirs"));
    answer_all<common::GetReply>(PMIX_SUCCESS);
    const pmix_proc_t job = common::ProcId("theirs", PMIX_RANK_WILDCARD).to_c();
    pmix_value_t* found = nullptr;
    EXPECT_STATUS(PMIX_ERR_NO_PERMISSIONS, get(*session, &job, PMIX_JOB_SIZE, nullptr, 0, &found));
}

TEST_F(SessionTest, RefusalReachesTheCaller) {
    answer_all<common::Nothing>(PMIX_ERR_DUPLICATE_KEY);
    common::InfoList data;
    data.append_string("k", "v");
    EXPECT_STATUS(PMIX_ERR_DUPLICATE_KEY, publish(*session, data.c_array(), data.size()));
}

// rows: G2 G4
TEST_F(SessionTest, CallbackOnceOnTheLoopWithItsData) {
    answer_all<common::FenceReply>(PMIX_SUCCESS);
    Once once;
    ASSERT_STATUS(PMIX_SUCCESS, fence_nb(*session, nullptr, 0, nullptr, 0, &Once::op, &once));
    ASSERT_TRUE(once.wait());
    EXPECT_STATUS(PMIX_SUCCESS, once.status);
    EXPECT_NE(once.thread, std::this_thread::get_id());
    EXPECT_EQ(once.calls, 1);
}

// rows: G10
TEST_F(SessionTest, LossEndsEveryWaitAndRaisesAnEvent) {
    static Once event;
    const pmix_status_t code = PMIX_ERR_LOST_CONNECTION;
    answer_all<common::Nothing>(PMIX_SUCCESS);
    const auto handler = [](size_t, pmix_status_t status, const pmix_proc_t*, pmix_info_t*, size_t, pmix_info_t*,
                            size_t, pmix_event_notification_cbfunc_fn_t done, void* cbdata) {
        event.fire(status);
        done(PMIX_EVENT_ACTION_COMPLETE, nullptr, 0, nullptr, nullptr, cbdata);
    };
    ASSERT_GE(session->events().register_handler(&code, 1, nullptr, 0, handler, nullptr, nullptr), 0);

    Once pending;
    channel->on_send = nullptr;
    ASSERT_STATUS(PMIX_SUCCESS, fence_nb(*session, nullptr, 0, nullptr, 0, &Once::op, &pending));
    channel->on_send = [this](const Frame&) { channel->lose(); };
    EXPECT_STATUS(PMIX_ERR_LOST_CONNECTION, fence(*session, nullptr, 0, nullptr, 0));
    ASSERT_TRUE(pending.wait());
    EXPECT_STATUS(PMIX_ERR_LOST_CONNECTION, pending.status);
    ASSERT_TRUE(event.wait());
    EXPECT_STATUS(PMIX_ERR_LOST_CONNECTION, event.status);
    EXPECT_STATUS(PMIX_ERR_UNREACH, fence(*session, nullptr, 0, nullptr, 0));
    EXPECT_STATUS(PMIX_ERR_UNREACH, fence_nb(*session, nullptr, 0, nullptr, 0, &Once::op, &pending));
    EXPECT_EQ(pending.calls, 1);
}

// rows: G11
TEST_F(SessionTest, SilentServerIsGivenUpAfterTheTimeout) {
    common::InfoList infos;
    infos.append_number(PMIX_TIMEOUT, 1, PMIX_INT);
    pmix_value_t* value = reinterpret_cast<pmix_value_t*>(1);
    const pmix_proc_t peer = common::ProcId("job", 2).to_c();
    channel->no_call_without_a_limit = true;
    EXPECT_STATUS(PMIX_ERR_TIMEOUT, get(*session, &peer, "k", infos.c_array(), infos.size(), &value));
    EXPECT_EQ(value, nullptr);
    Once once;
    ASSERT_STATUS(PMIX_SUCCESS, fence_nb(*session, nullptr, 0, infos.c_array(), infos.size(), &Once::op, &once));
    ASSERT_TRUE(once.wait());
    EXPECT_STATUS(PMIX_ERR_TIMEOUT, once.status);
    // What comes too late finds nobody.
    channel->answer(channel->sent().back(), PMIX_SUCCESS, common::FenceReply());
    bool drained = false;
    session->on_loop_and_wait([&] { drained = true; });
    EXPECT_TRUE(drained);
    EXPECT_EQ(once.calls, 1);
}

// rows: G20
TEST_F(SessionTest, ACallThatWouldWaitForItselfIsRefused) {
    answer_all<common::FenceReply>(PMIX_SUCCESS);
    pmix_status_t rc = PMIX_SUCCESS, nb = PMIX_ERROR;
    Once once;
    session->on_loop_and_wait([&] {
        rc = fence(*session, nullptr, 0, nullptr, 0);
        nb = fence_nb(*session, nullptr, 0, nullptr, 0, &Once::op, &once);
    });
    EXPECT_STATUS(PMIX_ERR_WOULD_BLOCK, rc);
    EXPECT_STATUS(PMIX_SUCCESS, nb);
    EXPECT_TRUE(once.wait());
}

// rows: G7 F1 F3
TEST_F(SessionTest, FenceSendsWhatItWasGiven) {
    answer_all<common::FenceReply>(PMIX_SUCCESS);
    common::InfoList infos;
    infos.append_flag(PMIX_COLLECT_DATA, true);
    const int n = 4;
    infos.append("site.needs", &n, PMIX_INT, PMIX_INFO_REQD);
    EXPECT_STATUS(PMIX_SUCCESS, fence(*session, nullptr, 0, infos.c_array(), infos.size()));
    const auto request = FakeChannel::decoded<common::FenceRequest>(channel->sent().at(0));
    ASSERT_EQ(request.procs.size(), 1u);
    EXPECT_EQ(request.procs[0], common::ProcId("job", PMIX_RANK_WILDCARD));
    ASSERT_EQ(request.infos.size(), 2u);
    EXPECT_STREQ(request.infos[1].key, "site.needs");
    EXPECT_TRUE(request.infos[1].flags & PMIX_INFO_REQD);
}

// rows: F1
TEST_F(SessionTest, FenceOfOneEndsAtOnce) {
    const pmix_proc_t self = session->self().to_c();
    EXPECT_STATUS(PMIX_SUCCESS, fence(*session, &self, 1, nullptr, 0));
    EXPECT_TRUE(channel->sent().empty());
    common::InfoList infos;
    const int n = 4;
    infos.append("site.needs", &n, PMIX_INT, PMIX_INFO_REQD);
    // What the library lacks the host may have: the server decides.
    answer_all<common::FenceReply>(PMIX_ERR_NOT_SUPPORTED);
    EXPECT_STATUS(PMIX_ERR_NOT_SUPPORTED, fence(*session, &self, 1, infos.c_array(), infos.size()));
    EXPECT_EQ(channel->sent().size(), 1u);
}

TEST_F(SessionTest, Fence_OfEverySecondRank_IsSentAsBitsToServersThatTakeThem) {
    answer_all<common::FenceReply>(PMIX_SUCCESS);
    std::vector<pmix_proc_t> procs(500);
    for (size_t i = 0; i < procs.size(); ++i) {
        procs[i] = session->self().to_c();
        procs[i].rank = static_cast<pmix_rank_t>(2 * i);
    }
    const auto of_features = [&](uint64_t features) {
        session->set_features(features);
        EXPECT_STATUS(PMIX_SUCCESS, fence(*session, procs.data(), procs.size(), nullptr, 0));
        return FakeChannel::decoded<common::FenceRequest>(channel->sent().back());
    };
    const auto list = of_features(common::kFeatureSegments);
    EXPECT_EQ(procs.size(), list.procs.size());
    EXPECT_TRUE(list.ranges.empty());
    const auto ranges = of_features(common::kFeatureSegments | common::kFeatureRanges);
    ASSERT_EQ(1u, ranges.ranges.size());
    EXPECT_EQ(2 * procs.size(), ranges.ranges[0].ranks.size());
    EXPECT_TRUE(ranges.ranges[0].bits.empty());
    const auto bits = of_features(common::kFeatures);
    ASSERT_EQ(1u, bits.ranges.size());
    EXPECT_TRUE(bits.procs.empty() && bits.ranges[0].ranks.empty());
    EXPECT_EQ(std::vector<uint8_t>(125, 0x55), bits.ranges[0].bits);
}

// Never as bits: they have no order. rows: R1
TEST_F(SessionTest, GroupConstruct_OfManyListed_IsSentAsRangesToServersThatTakeThem) {
    answer_all<common::GroupReply>(PMIX_SUCCESS);
    common::ProcList members;
    for (uint32_t rank = 500; rank < 1000; ++rank) members.emplace_back(session->self().nspace, rank);
    for (uint32_t rank = 0; rank < 500; rank += 2) members.emplace_back(session->self().nspace, rank);
    const auto of_features = [&](uint64_t features, size_t n) {
        session->set_features(features);
        std::vector<pmix_proc_t> procs;
        for (size_t i = 0; i < n; ++i) procs.push_back(members[i].to_c());
        EXPECT_STATUS(PMIX_SUCCESS, group_construct(*session, "g", procs.data(), n, nullptr, 0, nullptr, nullptr));
        return FakeChannel::decoded<common::GroupRequest>(channel->sent().back());
    };
    const auto list = of_features(common::kFeatures & ~common::kFeatureGroupRanges, members.size());
    EXPECT_EQ(members, list.procs);
    EXPECT_TRUE(list.ranges.empty());
    const auto ranges = of_features(common::kFeatures, members.size());
    EXPECT_TRUE(ranges.procs.empty());
    ASSERT_EQ(1u, ranges.ranges.size());
    EXPECT_EQ(2u * 251, ranges.ranges[0].ranks.size());
    EXPECT_TRUE(ranges.ranges[0].bits.empty());
    auto read = common::ProcOrder::read(ranges.procs, ranges.ranges);
    ASSERT_TRUE(read.ok());
    EXPECT_EQ(members, read->list());
    EXPECT_EQ(3u, of_features(common::kFeatures, 3).procs.size()) << "a short list stays one";
    // The form that calls back names the same.
    std::vector<pmix_proc_t> procs;
    for (const common::ProcId& member : members) procs.push_back(member.to_c());
    Once done;
    const auto back = [](pmix_status_t status, pmix_info_t[], size_t, void* once, pmix_release_cbfunc_t, void*) {
        static_cast<Once*>(once)->fire(status);
    };
    ASSERT_STATUS(PMIX_SUCCESS, group_construct_nb(*session, "g", procs.data(), procs.size(), nullptr, 0, back, &done));
    EXPECT_TRUE(done.wait());
    const auto called_back = FakeChannel::decoded<common::GroupRequest>(channel->sent().back());
    EXPECT_TRUE(called_back.procs.empty());
    auto again = common::ProcOrder::read(called_back.procs, called_back.ranges);
    ASSERT_TRUE(again.ok());
    EXPECT_EQ(members, again->list());
}

// rows: P4
TEST_F(SessionTest, LookupMatchesByKeyAndMarksTheMissing) {
    common::LookupReply reply;
    for (const char* key : {"c", "a"}) {
        common::ByteWriter w;
        common::encode_string_value(w, key);
        reply.items.push_back({common::ProcId("other", 5), key, w.take()});
    }
    answer_all<common::LookupReply>(PMIX_ERR_PARTIAL_SUCCESS, reply);
    pmix_pdata_t data[3];
    memset(data, 0, sizeof data);
    strcpy(data[0].key, "a");
    strcpy(data[1].key, "b");
    strcpy(data[2].key, "c");
    EXPECT_STATUS(PMIX_ERR_PARTIAL_SUCCESS, lookup(*session, data, 3, nullptr, 0));
    EXPECT_STREQ(data[0].value.data.string, "a");
    EXPECT_EQ(data[0].proc.rank, 5u);
    EXPECT_EQ(data[1].value.type, PMIX_UNDEF);
    EXPECT_STREQ(data[2].value.data.string, "c");
    free(data[0].value.data.string);
    free(data[2].value.data.string);

    // All that was asked for, whatever the host counts.
    strcpy(data[1].key, "c");
    EXPECT_STATUS(PMIX_SUCCESS, lookup(*session, data, 3, nullptr, 0));
    for (pmix_pdata_t& one : data) free(one.value.data.string);
    // Some of it, from a host that has found out that it failed, too.
    strcpy(data[1].key, "b");
    answer_all<common::LookupReply>(PMIX_ERR_TIMEOUT, reply);
    EXPECT_STATUS(PMIX_ERR_TIMEOUT, lookup(*session, data, 3, nullptr, 0));
    for (pmix_pdata_t& one : data)
        if (one.value.type == PMIX_STRING) free(one.value.data.string);

    answer_all<common::LookupReply>(PMIX_SUCCESS);
    EXPECT_STATUS(PMIX_ERR_NOT_FOUND, lookup(*session, data, 3, nullptr, 0));
    answer_all<common::LookupReply>(PMIX_ERR_NO_PERMISSIONS);
    EXPECT_STATUS(PMIX_ERR_NO_PERMISSIONS, lookup(*session, data, 3, nullptr, 0));
}

// rows: P4
TEST_F(SessionTest, LookupNb_OfSomeOfTheKeys_IsPartialSuccess) {
    struct Told {
        Once done;
        size_t found = 0;
    };
    common::LookupReply reply;
    common::ByteWriter w;
    common::encode_string_value(w, "x");
    reply.items.push_back({common::ProcId("other", 5), "a", w.take()});
    const auto look = [&](std::vector<const char*> keys, pmix_status_t of_host) {
        Told told;
        answer_all<common::LookupReply>(of_host, reply);
        keys.push_back(nullptr);
        const auto back = [](pmix_status_t status, pmix_pdata_t[], size_t n, void* cbdata) {
            static_cast<Told*>(cbdata)->found = n;
            static_cast<Told*>(cbdata)->done.fire(status);
        };
        EXPECT_STATUS(PMIX_SUCCESS, lookup_nb(*session, const_cast<char**>(keys.data()), nullptr, 0, back, &told));
        EXPECT_TRUE(told.done.wait());
        EXPECT_EQ(1u, told.found);
        return told.done.status;
    };
    EXPECT_STATUS(PMIX_ERR_PARTIAL_SUCCESS, look({"a", "b"}, PMIX_ERR_PARTIAL_SUCCESS));
    EXPECT_STATUS(PMIX_ERR_PARTIAL_SUCCESS, look({"a", "b"}, PMIX_SUCCESS));
    EXPECT_STATUS(PMIX_SUCCESS, look({"a"}, PMIX_ERR_PARTIAL_SUCCESS));
}

// PMIX_WAIT: a host that has not waited must not pass for one that has.
TEST_F(SessionTest, Lookup_WithWait_CountsWhatWasFound) {
    common::LookupReply reply;
    common::ByteWriter w;
    common::encode_string_value(w, "x");
    reply.items.push_back({common::ProcId("other", 5), "a", w.take()});
    answer_all<common::LookupReply>(PMIX_SUCCESS, reply);
    const auto look = [&](int wanted) {
        pmix_pdata_t data[2];
        memset(data, 0, sizeof data);
        strcpy(data[0].key, "a");
        strcpy(data[1].key, "b");
        common::InfoList infos;
        infos.append_number<int>(PMIX_WAIT, wanted, PMIX_INT);
        const pmix_status_t rc = lookup(*session, data, 2, infos.c_array(), infos.size());
        free(data[0].value.type == PMIX_STRING ? data[0].value.data.string : nullptr);
        return rc;
    };
    EXPECT_STATUS(PMIX_ERR_PARTIAL_SUCCESS, look(1)) << "enough to go on with, and not all";
    EXPECT_STATUS(PMIX_ERR_PARTIAL_SUCCESS, look(2));
    EXPECT_STATUS(PMIX_ERR_PARTIAL_SUCCESS, look(0)) << "0 is all of them";
    EXPECT_STATUS(PMIX_ERR_BAD_PARAM, look(-1));
}

TEST_F(SessionTest, Publish_OfAnEmptyKey_IsRefused) {
    answer_all<common::Nothing>(PMIX_SUCCESS);
    pmix_info_t info;
    memset(&info, 0, sizeof info);
    info.value.type = PMIX_BOOL;
    EXPECT_STATUS(PMIX_ERR_BAD_PARAM, publish(*session, &info, 1));
    strcpy(info.key, "k");
    EXPECT_STATUS(PMIX_SUCCESS, publish(*session, &info, 1));
}

TEST_F(SessionTest, Fence_WithANumberAndNoList_IsRefused) {
    answer_all<common::FenceReply>(PMIX_SUCCESS);
    EXPECT_STATUS(PMIX_ERR_BAD_PARAM, fence(*session, nullptr, 3, nullptr, 0));
    EXPECT_STATUS(PMIX_SUCCESS, fence(*session, nullptr, 0, nullptr, 0));
}

TEST_F(SessionTest, Tell_OfMoreThanAFrame_SendsNothing) {
    const std::vector<uint8_t> part(1u << 20);
    const std::vector<common::Bytes> parts(common::kMaxFramePayload / part.size() + 1, common::Bytes(part));
    EXPECT_STATUS(PMIX_ERR_OUT_OF_RESOURCE, session->tell(Command::commit, parts));
    EXPECT_TRUE(channel->sent().empty());
}

TEST_F(SessionTest, SegmentGone_EndsTheMapping) {
    auto store = dstore::Writer::create({}).value();
    ASSERT_STATUS(PMIX_SUCCESS,
                  session->namespaces().add("their", 7, transport::Descriptor(::dup(store->descriptor()))));
    common::SegmentGoneNotify gone;
    gone.nspace = "their";
    gone.instance = 7;
    auto payload = common::message_bytes(gone);
    ASSERT_TRUE(payload.ok());
    common::FrameHeader header = common::FrameHeader::notify(static_cast<uint16_t>(Command::segment_gone));
    header.payload = static_cast<uint32_t>(payload->size());
    transport::ReceivedFrame frame{header, *payload, {}};
    EXPECT_TRUE(session->take_anywhere(frame)) << "no thread need be there to take it";
    Reading reading;
    EXPECT_EQ(session->namespaces().find("their"), nullptr);
}

}  // namespace
}  // namespace pmix::client::session_test

// SPDX-License-Identifier: BSD-3-Clause
// A session with a server that the test plays: asking, waiting, timeouts, loss; the operations' use of the wire.
#include "client/session/session.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <map>
#include <mutex>
#include <thread>

#include "client/data/commit_frame.h"
#include "client/data/fence.h"
#include "client/data/get.h"
#include "client/data/publish.h"
#include "client/data/put.h"
#include "client/events/events.h"
#include "client/modules.h"
#include "client/services/spawn.h"
#include "common/codec/pack.h"
#include "dstore/writer.h"
#include "server/base/peer.h"
#include "support/fake_channel.h"
#include "transport/event_loop.h"

namespace pmix::client {
namespace {

using common::Command;
using common::Frame;
using test::FakeChannel;

// A completion that a test waits for.
struct Once {
    std::atomic<int> calls{0};
    pmix_status_t status = 1;
    std::thread::id thread;
    transport::Waiter waiter;
    void fire(pmix_status_t rc) {
        status = rc;
        thread = std::this_thread::get_id();
        if (++calls == 1) waiter.complete();
    }
    bool wait() {
        const test::LongWait most;
        return waiter.wait(most.deadline()) || !most.over();
    }
    static void op(pmix_status_t rc, void* self) { static_cast<Once*>(self)->fire(rc); }
};

class SessionTest : public ::testing::Test {
  protected:
    SessionTest() {
        loop = std::move(transport::EventLoop::create()).value();
        session = client::make_session(*loop, common::ProcId("job", 1), common::ProcId("server", 0));
        auto made = std::make_unique<FakeChannel>(*loop, *session);
        channel = made.get();
        session->set_channel(std::move(made));
        EXPECT_EQ(loop->start(), PMIX_SUCCESS);
    }
    ~SessionTest() override {
        loop->post([this] { session->shut(PMIX_ERR_INIT); });
        loop->stop();
        transport::LoopRole role(*loop);
        session.reset();
    }
    template <class Message>
    void answer_all(pmix_status_t status, Message message = {}) {
        channel->on_send = [this, status, message = std::make_shared<Message>(std::move(message))](const Frame& f) {
            if (f.header.kind == common::FrameKind::request) channel->answer(f, status, *message);
        };
    }

    std::unique_ptr<transport::EventLoop> loop;
    std::unique_ptr<Session> session;
    FakeChannel* channel = nullptr;
};

TEST_F(SessionTest, AskGetsTheReply) {
    common::SpawnReply reply;
    reply.nspace = "child";
    answer_all<common::SpawnReply>(PMIX_SUCCESS, reply);
    pmix_app_t app;
    memset(&app, 0, sizeof app);
    app.cmd = const_cast<char*>("true");
    pmix_nspace_t nspace;
    EXPECT_EQ(spawn(*session, nullptr, 0, &app, 1, nspace), PMIX_SUCCESS);
    EXPECT_STREQ(nspace, "child");
}

// A commit is sent when the server has room for it, and stays staged when it will have none any more.
TEST_F(SessionTest, Commit_ServerDoesNotRead_WaitsForRoomFirst) {
    pmix_value_t value;
    memset(&value, 0, sizeof value);
    value.type = PMIX_BOOL;
    ASSERT_EQ(put(*session, PMIX_GLOBAL, "k", &value), PMIX_SUCCESS);
    channel->queue_status = PMIX_ERR_NOMEM;
    EXPECT_EQ(commit(*session), PMIX_ERR_NOMEM);
    EXPECT_TRUE(channel->sent().empty());
    channel->queue_status = PMIX_SUCCESS;
    EXPECT_EQ(commit(*session), PMIX_SUCCESS);
    EXPECT_EQ(channel->sent().size(), 1u);
    EXPECT_EQ(channel->queue_waits, 2);
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
    EXPECT_EQ(session->add_segments({ref}, std::move(descriptors)), PMIX_SUCCESS);
    EXPECT_FALSE(session->namespaces().lacks("theirs"));
    answer_all<common::GetReply>(PMIX_SUCCESS);
    const pmix_proc_t job = common::ProcId("theirs", PMIX_RANK_WILDCARD).to_c();
    pmix_value_t* found = nullptr;
    EXPECT_EQ(get(*session, &job, PMIX_JOB_SIZE, nullptr, 0, &found), PMIX_ERR_NO_PERMISSIONS);
}

TEST_F(SessionTest, RefusalReachesTheCaller) {
    answer_all<common::Nothing>(PMIX_ERR_DUPLICATE_KEY);
    common::InfoList data;
    data.append_string("k", "v");
    EXPECT_EQ(publish(*session, data.c_array(), data.size()), PMIX_ERR_DUPLICATE_KEY);
}

// rows: G2 G4
TEST_F(SessionTest, CallbackOnceOnTheLoopWithItsData) {
    answer_all<common::FenceReply>(PMIX_SUCCESS);
    Once once;
    ASSERT_EQ(fence_nb(*session, nullptr, 0, nullptr, 0, &Once::op, &once), PMIX_SUCCESS);
    ASSERT_TRUE(once.wait());
    EXPECT_EQ(once.status, PMIX_SUCCESS);
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
    ASSERT_EQ(fence_nb(*session, nullptr, 0, nullptr, 0, &Once::op, &pending), PMIX_SUCCESS);
    channel->on_send = [this](const Frame&) { channel->lose(); };
    EXPECT_EQ(fence(*session, nullptr, 0, nullptr, 0), PMIX_ERR_LOST_CONNECTION);
    ASSERT_TRUE(pending.wait());
    EXPECT_EQ(pending.status, PMIX_ERR_LOST_CONNECTION);
    ASSERT_TRUE(event.wait());
    EXPECT_EQ(event.status, PMIX_ERR_LOST_CONNECTION);
    EXPECT_EQ(fence(*session, nullptr, 0, nullptr, 0), PMIX_ERR_UNREACH);
    EXPECT_EQ(fence_nb(*session, nullptr, 0, nullptr, 0, &Once::op, &pending), PMIX_ERR_UNREACH);
    EXPECT_EQ(pending.calls, 1);
}

// rows: G11
TEST_F(SessionTest, SilentServerIsGivenUpAfterTheTimeout) {
    common::InfoList infos;
    infos.append_number(PMIX_TIMEOUT, 1, PMIX_INT);
    pmix_value_t* value = reinterpret_cast<pmix_value_t*>(1);
    const pmix_proc_t peer = common::ProcId("job", 2).to_c();
    channel->no_call_without_a_limit = true;
    EXPECT_EQ(get(*session, &peer, "k", infos.c_array(), infos.size(), &value), PMIX_ERR_TIMEOUT);
    EXPECT_EQ(value, nullptr);
    Once once;
    ASSERT_EQ(fence_nb(*session, nullptr, 0, infos.c_array(), infos.size(), &Once::op, &once), PMIX_SUCCESS);
    ASSERT_TRUE(once.wait());
    EXPECT_EQ(once.status, PMIX_ERR_TIMEOUT);
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
    EXPECT_EQ(rc, PMIX_ERR_WOULD_BLOCK);
    EXPECT_EQ(nb, PMIX_SUCCESS);
    EXPECT_TRUE(once.wait());
}

// rows: G7 F1 F3
TEST_F(SessionTest, FenceSendsWhatItWasGiven) {
    answer_all<common::FenceReply>(PMIX_SUCCESS);
    common::InfoList infos;
    infos.append_flag(PMIX_COLLECT_DATA, true);
    const int n = 4;
    infos.append("site.needs", &n, PMIX_INT, PMIX_INFO_REQD);
    EXPECT_EQ(fence(*session, nullptr, 0, infos.c_array(), infos.size()), PMIX_SUCCESS);
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
    EXPECT_EQ(fence(*session, &self, 1, nullptr, 0), PMIX_SUCCESS);
    EXPECT_TRUE(channel->sent().empty());
    common::InfoList infos;
    const int n = 4;
    infos.append("site.needs", &n, PMIX_INT, PMIX_INFO_REQD);
    // What the library lacks the host may have: the server decides.
    answer_all<common::FenceReply>(PMIX_ERR_NOT_SUPPORTED);
    EXPECT_EQ(fence(*session, &self, 1, infos.c_array(), infos.size()), PMIX_ERR_NOT_SUPPORTED);
    EXPECT_EQ(channel->sent().size(), 1u);
}

// rows: K38
TEST_F(SessionTest, Put_OfADeletion_IsSentInItsPlaceAndOnlyToServersThatTakeIt) {
    pmix_value_t one;
    one.type = PMIX_UINT32;
    one.data.uint32 = 1;
    EXPECT_EQ(put(*session, PMIX_GLOBAL, "kept", &one), PMIX_SUCCESS);
    EXPECT_EQ(put(*session, PMIX_DEL_REMOTE, "kept", nullptr), PMIX_SUCCESS);
    EXPECT_EQ(put(*session, PMIX_DEL_GLOBAL, "gone", &one), PMIX_SUCCESS);
    EXPECT_EQ(put(*session, PMIX_INTERNAL, "mine", &one), PMIX_SUCCESS);
    EXPECT_EQ(put(*session, PMIX_DEL_INTERNAL, "mine", nullptr), PMIX_SUCCESS);
    EXPECT_EQ(commit(*session), PMIX_SUCCESS);
    const auto sent = channel->sent();
    ASSERT_EQ(sent.size(), 1u);
    const auto request = FakeChannel::decoded<common::CommitRequest>(sent[0]);
    ASSERT_EQ(request.entries.size(), 3u);
    EXPECT_EQ(request.entries[0].scope, PMIX_GLOBAL);
    EXPECT_EQ(request.entries[1].scope, PMIX_DEL_REMOTE);
    EXPECT_EQ(request.entries[1].key, "kept");
    EXPECT_TRUE(request.entries[1].value.empty());
    EXPECT_EQ(request.entries[2].scope, PMIX_DEL_GLOBAL);
    EXPECT_EQ(request.entries[2].key, "gone");
    // A server of an older release would refuse all of the commit.
    session->set_features(common::kFeatureSegments | common::kFeatureRanges);
    EXPECT_EQ(put(*session, PMIX_DEL_GLOBAL, "kept", nullptr), PMIX_ERR_NOT_SUPPORTED);
    EXPECT_EQ(put(*session, PMIX_DEL_INTERNAL, "mine", nullptr), PMIX_SUCCESS);
    EXPECT_EQ(commit(*session), PMIX_SUCCESS);
    EXPECT_EQ(channel->sent().size(), 1u);
}

// rows: K4 K8
TEST_F(SessionTest, CommitSendsOnlyWhatChanged) {
    EXPECT_EQ(commit(*session), PMIX_SUCCESS);
    EXPECT_TRUE(channel->sent().empty());
    const auto put_text = [&](pmix_scope_t scope, const char* key, const char* text) {
        pmix_value_t v;
        v.type = PMIX_STRING;
        v.data.string = const_cast<char*>(text);
        EXPECT_EQ(put(*session, scope, key, &v), PMIX_SUCCESS);
    };
    put_text(PMIX_GLOBAL, "a", "1");
    put_text(PMIX_LOCAL, "b", "2");
    put_text(PMIX_INTERNAL, "c", "3");
    put_text(PMIX_GLOBAL, "a", "4");
    EXPECT_EQ(commit(*session), PMIX_SUCCESS);
    put_text(PMIX_REMOTE, "d", "5");
    EXPECT_EQ(commit(*session), PMIX_SUCCESS);
    EXPECT_EQ(commit(*session), PMIX_SUCCESS);

    const auto sent = channel->sent();
    ASSERT_EQ(sent.size(), 2u);
    const auto first = FakeChannel::decoded<common::CommitRequest>(sent[0]);
    const auto second = FakeChannel::decoded<common::CommitRequest>(sent[1]);
    EXPECT_EQ(first.generation, 1u);
    EXPECT_EQ(second.generation, 2u);
    ASSERT_EQ(first.entries.size(), 2u);
    EXPECT_EQ(first.entries[0].key, "a");
    EXPECT_EQ(first.entries[1].key, "b");
    EXPECT_EQ(first.entries[1].scope, PMIX_LOCAL);
    common::Value newest;
    ASSERT_EQ(common::decode_value_into(first.entries[0].value, newest.c_ptr()), PMIX_SUCCESS);
    EXPECT_STREQ(newest.get().data.string, "4");
    ASSERT_EQ(second.entries.size(), 1u);
    EXPECT_EQ(second.entries[0].key, "d");
}

// What a server has of a session's commits, which it may refuse.
struct Committed {
    std::map<std::string, std::string> values;
    struct One {
        uint64_t generation, resent_up_to;
        std::vector<std::string> keys;
    };
    std::vector<One> commits;

    static std::string text_of(common::Bytes encoded) {
        common::Value value;
        EXPECT_EQ(common::decode_value_into(encoded, value.c_ptr()), PMIX_SUCCESS);
        return value.type() == PMIX_STRING ? value.get().data.string : "";
    }
    void take(const Frame& frame) {
        const auto request = FakeChannel::decoded<common::CommitRequest>(frame);
        EXPECT_EQ(request.generation, commits.size() + 1);
        commits.push_back({request.generation, request.resent_up_to, {}});
        for (const auto& e : request.entries) {
            values[std::string(e.key)] = text_of(e.value);
            commits.back().keys.emplace_back(e.key);
        }
    }
};

class CommitTest : public SessionTest {
  protected:
    CommitTest() {
        channel->on_send = [this](const Frame& frame) {
            if (frame.header.command == static_cast<uint16_t>(Command::commit)) {
                server.take(frame);
                if (refuse_next-- <= 0) return;
                common::CommitRefusedNotify refused;
                refused.generation = server.commits.back().generation;
                refused.status = PMIX_ERR_OUT_OF_RESOURCE;
                channel->notify(refused);
            } else if (frame.header.command == static_cast<uint16_t>(Command::fence)) {
                channel->answer(frame, fence_status, common::FenceReply());
            } else if (frame.header.command == static_cast<uint16_t>(Command::get)) {
                common::GetReply reply;
                reply.is_inline = true;
                common::ByteWriter w;
                common::encode_string_value(w, "peer's");
                reply.value = w.take();
                channel->answer(frame, get_status, reply);
            }
        };
    }
    void put_text(const std::string& key, const std::string& text, pmix_scope_t scope = PMIX_GLOBAL) {
        pmix_value_t v;
        v.type = PMIX_STRING;
        v.data.string = const_cast<char*>(text.c_str());
        ASSERT_EQ(put(*session, scope, key.c_str(), &v), PMIX_SUCCESS);
    }
    // What the server has sent by now has been read.
    void settle() {
        session->on_loop_and_wait([] {});
    }
    pmix_status_t get_from_peer() {
        pmix_value_t* value = nullptr;
        const pmix_proc_t peer = common::ProcId("job", 2).to_c();
        const pmix_status_t rc = get(*session, &peer, "k", nullptr, 0, &value);
        EXPECT_EQ(rc == PMIX_SUCCESS, value != nullptr);
        if (value != nullptr) {
            common::destroy_value(value);
            free(value);
        }
        return rc;
    }

    Committed server;
    int refuse_next = 0;
    pmix_status_t fence_status = PMIX_SUCCESS;
    pmix_status_t get_status = PMIX_SUCCESS;
};

// A server that reads slowly may have too much before it after each frame of a commit. rows: K8
TEST_F(CommitTest, Commit_OfSeveralFrames_WaitsForRoomBeforeEachWithoutTheLock) {
    put_text("a", std::string(600, 'a'));
    put_text("b", std::string(600, 'b'));
    put_text("c", std::string(600, 'c'));
    int waits = 0;
    channel->on_wait_for_room = [&] {
        EXPECT_EQ(waits++, static_cast<int>(server.commits.size())) << "one wait before each frame";
        const bool is_free = session->commit_mutex().try_lock();
        EXPECT_TRUE(is_free);
        if (is_free) session->commit_mutex().unlock();
        // A callback on the loop, which drains the queue, may commit too.
        if (waits == 3) {
            EXPECT_EQ(commit(*session, 1000), PMIX_SUCCESS);
        }
    };
    EXPECT_EQ(commit(*session, 1000), PMIX_SUCCESS);
    EXPECT_EQ(server.commits.size(), 3u) << "the third by the other commit";
    EXPECT_EQ(server.values.size(), 3u);
    // The connection ends while it waits between two frames: the rest stays staged.
    put_text("a", std::string(601, 'a'));
    put_text("b", std::string(601, 'b'));
    waits = 3;
    channel->on_wait_for_room = [&] {
        if (++waits == 5) channel->queue_status = PMIX_ERR_NOMEM;
    };
    EXPECT_EQ(commit(*session, 1000), PMIX_ERR_NOMEM);
    EXPECT_EQ(server.commits.size(), 4u);
    channel->queue_status = PMIX_SUCCESS;
    EXPECT_EQ(commit(*session, 1000), PMIX_SUCCESS);
    EXPECT_EQ(server.commits.size(), 5u);
}

// rows: K8
TEST_F(CommitTest, Commit_AfterRefusal_ReportsItOnceAndSendsAllAgain) {
    put_text("a", "1");
    put_text("b", "2");
    refuse_next = 1;
    ASSERT_EQ(commit(*session), PMIX_SUCCESS);
    settle();
    put_text("c", "3");
    put_text("b", "4");
    put_text("i", "internal", PMIX_INTERNAL);
    server.values.clear();
    EXPECT_EQ(commit(*session), PMIX_ERR_OUT_OF_RESOURCE);
    EXPECT_EQ(server.commits.size(), 1u) << "what fails sends nothing";
    EXPECT_EQ(commit(*session), PMIX_SUCCESS);
    ASSERT_EQ(server.commits.size(), 2u);
    EXPECT_EQ(server.commits[1].resent_up_to, 1u);
    EXPECT_EQ(server.values, (std::map<std::string, std::string>{{"a", "1"}, {"b", "4"}, {"c", "3"}}));
    EXPECT_EQ(commit(*session), PMIX_SUCCESS);
    EXPECT_EQ(server.commits.size(), 2u) << "nothing is staged";
    put_text("d", "5");
    EXPECT_EQ(commit(*session), PMIX_SUCCESS);
    EXPECT_EQ(server.commits.back().resent_up_to, 0u);
    EXPECT_EQ(server.commits.back().keys.size(), 1u);
}

// rows: K8
TEST_F(CommitTest, Commit_AfterRefusalOfValuesThatWereReplacedSince_TellsTheServerSo) {
    put_text("a", "1");
    refuse_next = 1;
    ASSERT_EQ(commit(*session), PMIX_SUCCESS);
    put_text("a", "2");
    const pmix_status_t second = commit(*session);
    // The refusal may have overtaken this commit, which then tells it: the case of the test above.
    if (second == PMIX_ERR_OUT_OF_RESOURCE) return;
    ASSERT_EQ(second, PMIX_SUCCESS);
    settle();
    EXPECT_EQ(commit(*session), PMIX_ERR_OUT_OF_RESOURCE);
    EXPECT_EQ(commit(*session), PMIX_SUCCESS);
    ASSERT_EQ(server.commits.size(), 3u);
    EXPECT_EQ(server.commits[2].resent_up_to, 1u);
    EXPECT_EQ(server.values["a"], "2");
}

// rows: K8 F1
TEST_F(CommitTest, Fence_AfterRefusal_ReportsItAndTheNextCommitTriesAgain) {
    const pmix_proc_t self = session->self().to_c();
    for (const bool by_server : {false, true}) {
        put_text("a", by_server ? "1" : "2");
        refuse_next = 1;
        ASSERT_EQ(commit(*session), PMIX_SUCCESS);
        fence_status = by_server ? PMIX_ERR_OUT_OF_RESOURCE : PMIX_SUCCESS;
        EXPECT_EQ(fence(*session, nullptr, 0, nullptr, 0), PMIX_ERR_OUT_OF_RESOURCE);
        fence_status = PMIX_SUCCESS;
        EXPECT_EQ(fence(*session, nullptr, 0, nullptr, 0), PMIX_SUCCESS) << "once";
        server.values.clear();
        EXPECT_EQ(commit(*session), PMIX_SUCCESS);
        EXPECT_EQ(server.values.count("a"), 1u);
    }
    put_text("a", "3");
    refuse_next = 1;
    ASSERT_EQ(commit(*session), PMIX_SUCCESS);
    settle();
    EXPECT_EQ(fence(*session, &self, 1, nullptr, 0), PMIX_ERR_OUT_OF_RESOURCE) << "of this process alone";
    EXPECT_EQ(fence(*session, &self, 1, nullptr, 0), PMIX_SUCCESS);
    put_text("a", "4");
    refuse_next = 1;
    ASSERT_EQ(commit(*session), PMIX_SUCCESS);
    Once once;
    ASSERT_EQ(fence_nb(*session, nullptr, 0, nullptr, 0, &Once::op, &once), PMIX_SUCCESS);
    ASSERT_TRUE(once.wait());
    EXPECT_EQ(once.status, PMIX_ERR_OUT_OF_RESOURCE);
}

// rows: K8
TEST_F(CommitTest, Get_ThatAsksAfterRefusal_ReportsIt) {
    put_text("a", "1");
    refuse_next = 1;
    ASSERT_EQ(commit(*session), PMIX_SUCCESS);
    get_status = PMIX_ERR_NOT_FOUND;
    EXPECT_EQ(get_from_peer(), PMIX_ERR_NOT_FOUND) << "a failure of its own comes first";
    get_status = PMIX_SUCCESS;
    EXPECT_EQ(get_from_peer(), PMIX_ERR_OUT_OF_RESOURCE);
    EXPECT_EQ(get_from_peer(), PMIX_SUCCESS);
}

// rows: K8
TEST_F(CommitTest, Commit_OfMoreThanAFrame_SendsSeveralInOrder) {
    const std::string large(1000, 'l');
    for (int i = 0; i < 10; ++i) put_text("k" + std::to_string(i), large);
    put_text("larger than a frame", std::string(5000, 'm'));
    put_text("last", "x");
    EXPECT_EQ(commit(*session, 4096), PMIX_SUCCESS);
    ASSERT_EQ(server.commits.size(), 6u);
    EXPECT_EQ(server.values.size(), 12u);
    for (int i = 0; i < 10; ++i) {
        EXPECT_EQ(server.commits[static_cast<size_t>(i) / 3].keys.at(static_cast<size_t>(i) % 3),
                  "k" + std::to_string(i));
    }
    for (const Frame& frame : channel->sent()) {
        const bool single = FakeChannel::decoded<common::CommitRequest>(frame).entries.size() == 1;
        EXPECT_TRUE(frame.payload.size() <= 4096 || single);
    }
    EXPECT_EQ(server.commits[4].keys.size(), 1u);
}

// rows: K8
TEST_F(CommitTest, Commit_WhoseSecondFrameIsNotSent_KeepsItForTheNext) {
    const std::string large(1000, 'l');
    put_text("both", "near", PMIX_LOCAL);
    for (int i = 0; i < 10; ++i) put_text("k" + std::to_string(i), large);
    int sends = 0;
    channel->before_send = [&](const Frame&) { return ++sends == 2 ? PMIX_ERR_OUT_OF_RESOURCE : PMIX_SUCCESS; };
    EXPECT_EQ(commit(*session, 4096), PMIX_ERR_OUT_OF_RESOURCE);
    EXPECT_EQ(sends, 2) << "order is kept: nothing overtakes what was not sent";
    channel->before_send = nullptr;
    server.commits.clear();
    channel->on_send = [this](const Frame& frame) {
        for (const auto& e : FakeChannel::decoded<common::CommitRequest>(frame).entries) {
            server.values[std::string(e.key)] = Committed::text_of(e.value);
        }
    };
    EXPECT_EQ(commit(*session, 4096), PMIX_SUCCESS);
    EXPECT_EQ(server.values.size(), 11u);
    EXPECT_EQ(commit(*session, 4096), PMIX_SUCCESS);
}

// rows: K8
TEST_F(CommitTest, Commit_ToLostServer_FailsEachTime) {
    put_text("a", "1");
    channel->open = false;
    EXPECT_EQ(commit(*session), PMIX_ERR_UNREACH);
    EXPECT_EQ(commit(*session), PMIX_ERR_UNREACH) << "it is not there now either";
    channel->open = true;
    EXPECT_EQ(commit(*session), PMIX_SUCCESS);
    EXPECT_EQ(server.values["a"], "1");
}

// What another thread's Commit has taken from the store is on its way when this thread's Commit returns.
// rows: K8 G3
TEST_F(CommitTest, Commit_BesideAnotherThreads_ReturnsWhenItIsSent) {
    std::atomic<bool> sending{false}, go_on{false}, sent{false};
    channel->before_send = [&](const Frame&) {
        sending = true;
        while (!go_on) std::this_thread::yield();
        sent = true;
        return PMIX_SUCCESS;
    };
    put_text("a", "1");
    std::thread other([&] { EXPECT_EQ(commit(*session), PMIX_SUCCESS); });
    while (!sending) std::this_thread::yield();
    std::thread release([&] {
        // Time for a Commit that does not wait to return.
        std::this_thread::sleep_for(std::chrono::milliseconds(50));
        go_on = true;
    });
    EXPECT_EQ(commit(*session), PMIX_SUCCESS);
    EXPECT_TRUE(sent);
    other.join();
    release.join();
}

// A frame takes so much; what could never be sent is refused by Put.
TEST_F(CommitTest, Put_OfValueThatNoFrameCanTake_IsRefused) {
    const std::string key = "k";
    const size_t most =
        common::kMaxFramePayload - CommitFrame::kEmptySize - CommitFrame::entry_size(key.size(), common::kBytesOffset);
    // Never touched: it is not copied.
    const std::unique_ptr<void, decltype(&free)> bytes(calloc(most + 1, 1), &free);
    ASSERT_NE(bytes, nullptr);
    pmix_value_t v;
    v.type = PMIX_BYTE_OBJECT;
    v.data.bo = {static_cast<char*>(bytes.get()), most + 1};
    EXPECT_EQ(put(*session, PMIX_GLOBAL, key.c_str(), &v), PMIX_ERR_BAD_PARAM);
    EXPECT_FALSE(session->mine().anything_staged());
}

// What the callbacks of many requests said; the session's end calls those that are still open.
struct Told {
    std::mutex mutex;
    std::vector<pmix_status_t> statuses;
    std::atomic<size_t> calls{0};
    static void on(pmix_status_t rc, pmix_value_t*, void* self) {
        auto* told = static_cast<Told*>(self);
        std::lock_guard lock(told->mutex);
        told->statuses.push_back(rc);
        ++told->calls;
    }
    bool wait(size_t n) const {
        const test::LongWait most(120'000);
        while (calls < n && !most.over()) std::this_thread::yield();
        return calls == n;
    }
};
struct HasTold {
    Told told;
};

// More Get_nb than a server takes from one process: the others wait in the client.
class ManyGetsTest : public HasTold, public SessionTest {
  protected:
    static constexpr size_t kAsked = common::kMaxOpenGets + 3000;
    void ask(size_t n, int timeout_s = 0) {
        common::InfoList infos;
        if (timeout_s != 0) infos.append_number(PMIX_TIMEOUT, timeout_s, PMIX_INT);
        for (size_t i = 0; i < n; ++i) {
            const pmix_proc_t peer = common::ProcId("job", static_cast<common::Rank>(next_rank++)).to_c();
            ASSERT_EQ(get_nb(*session, &peer, "k", infos.c_array(), infos.size(), &Told::on, &told), PMIX_SUCCESS);
        }
    }
    size_t next_rank = 2;
};

// rows: K33 G4
TEST_F(ManyGetsTest, GetNb_BeyondTheWindow_WaitsAndIsSentInOrder) {
    static_assert(common::kMaxOpenGets < server::kMaxOpenRequests);
    ask(kAsked);
    session->on_loop_and_wait([] {});
    auto sent = channel->sent();
    ASSERT_EQ(sent.size(), common::kMaxOpenGets);
    size_t answered = 0;
    while (answered < kAsked) {
        ASSERT_GT(sent.size(), answered);
        for (; answered < sent.size(); ++answered) {
            channel->answer(sent[answered], PMIX_ERR_NOT_FOUND, common::GetReply());
        }
        session->on_loop_and_wait([] {});
        sent = channel->sent();
    }
    ASSERT_TRUE(told.wait(kAsked));
    ASSERT_EQ(sent.size(), kAsked);
    for (size_t i = 0; i < kAsked; ++i) {
        ASSERT_EQ(FakeChannel::decoded<common::GetRequest>(sent[i]).proc.rank, i + 2);
    }
}

// rows: G11
TEST_F(ManyGetsTest, GetNb_ThatWaitsInTheClient_KeepsItsTimeout) {
    ask(common::kMaxOpenGets);
    ask(2, 1);
    ASSERT_TRUE(told.wait(2));
    EXPECT_EQ(told.statuses, std::vector<pmix_status_t>(2, PMIX_ERR_TIMEOUT));
    // What is asked later takes the place of one that was answered.
    ask(1);
    session->on_loop_and_wait([] {});
    const auto before = channel->sent();
    ASSERT_EQ(before.size(), common::kMaxOpenGets);
    channel->answer(before[0], PMIX_ERR_NOT_FOUND, common::GetReply());
    ASSERT_TRUE(told.wait(3));
    session->on_loop_and_wait([] {});
    ASSERT_EQ(channel->sent().size(), common::kMaxOpenGets + 1);
    EXPECT_EQ(FakeChannel::decoded<common::GetRequest>(channel->sent().back()).proc.rank, next_rank - 1);
}

// rows: G10
TEST_F(ManyGetsTest, LostConnection_EndsWhatWaitsInTheClientToo) {
    ask(kAsked);
    channel->lose();
    ASSERT_TRUE(told.wait(kAsked));
    EXPECT_EQ(told.statuses, std::vector<pmix_status_t>(kAsked, PMIX_ERR_LOST_CONNECTION));
}

TEST(CommitFrame, IsACommitRequest) {
    common::CommitRequest request;
    request.generation = 7;
    const common::Blob value{1, 2, 3}, large(CommitFrame::kBorrowedFrom, 9), larger(100'000, 8);
    request.entries.push_back({PMIX_LOCAL, "a key", value});
    request.entries.push_back({PMIX_GLOBAL, "borrowed", large});
    request.entries.push_back({PMIX_GLOBAL, "b", {}});
    std::vector<std::string> keys;
    for (size_t i = 0; i < CommitFrame::kMaxBorrowed + 3; ++i) keys.push_back("k" + std::to_string(i));
    for (const std::string& key : keys) {
        request.entries.push_back({PMIX_REMOTE, key, key.size() % 2 == 0 ? larger : large});
    }
    for (size_t n : {size_t{0}, size_t{1}, size_t{2}, size_t{3}, request.entries.size()}) {
        common::CommitRequest some;
        some.generation = 7;
        some.entries.assign(request.entries.begin(), request.entries.begin() + static_cast<ptrdiff_t>(n));
        CommitFrame frame(7, 0);
        some.resent_up_to = 5;
        size_t expected = CommitFrame::kEmptySize;
        for (const auto& e : some.entries) {
            expected += CommitFrame::entry_size(e.key.size(), e.value.size());
            EXPECT_TRUE(frame.has_room(e.key.size(), e.value.size(), expected));
            EXPECT_FALSE(frame.has_room(e.key.size(), e.value.size(), expected - 1));
            frame.add(e.scope, e.key, e.value);
        }
        frame.finish(5);
        EXPECT_EQ(expected, frame.size());
        common::Blob mine;
        const auto parts = frame.parts();
        EXPECT_LE(parts.size(), transport::Connection::kMaxParts);
        for (const common::Bytes& part : parts) {
            EXPECT_FALSE(part.empty());
            mine.insert(mine.end(), part.begin(), part.end());
        }
        EXPECT_EQ(frame.size(), mine.size());
        EXPECT_EQ(mine, common::message_bytes(some).value()) << n;
    }
}

// rows: K16 K18 K19
TEST_F(SessionTest, WhatGetAsksTheServerAndWhatNot) {
    common::GetReply reply;
    reply.is_inline = true;
    common::ByteWriter w;
    common::encode_string_value(w, "from afar");
    reply.value = w.take();
    answer_all<common::GetReply>(PMIX_SUCCESS, reply);
    pmix_value_t* value = nullptr;
    const pmix_proc_t peer = common::ProcId("job", 2).to_c();

    EXPECT_EQ(get(*session, &peer, "pmix.nope", nullptr, 0, &value), PMIX_ERR_NOT_FOUND);
    common::InfoList optional;
    optional.append_flag(PMIX_OPTIONAL, true);
    EXPECT_EQ(get(*session, &peer, "k", optional.c_array(), 1, &value), PMIX_ERR_NOT_FOUND);
    EXPECT_EQ(get(*session, nullptr, "k", nullptr, 0, &value), PMIX_ERR_NOT_FOUND);
    EXPECT_TRUE(channel->sent().empty());

    ASSERT_EQ(get(*session, &peer, "k", nullptr, 0, &value), PMIX_SUCCESS);
    EXPECT_STREQ(value->data.string, "from afar");
    common::destroy_value(value);
    free(value);
    const auto request = FakeChannel::decoded<common::GetRequest>(channel->sent().at(0));
    EXPECT_EQ(request.proc, common::ProcId("job", 2));
    EXPECT_EQ(request.key, "k");
}

// rows: G7
TEST_F(SessionTest, RequiredAttributeThatOurStoreWouldIgnore) {
    pmix_value_t v;
    v.type = PMIX_BOOL;
    v.data.flag = true;
    ASSERT_EQ(store_internal(*session, nullptr, "k", &v), PMIX_SUCCESS);
    common::InfoList infos;
    const int n = 1;
    infos.append("site.needs", &n, PMIX_INT, PMIX_INFO_REQD);
    pmix_value_t* value = nullptr;
    EXPECT_EQ(get(*session, nullptr, "k", infos.c_array(), 1, &value), PMIX_ERR_NOT_SUPPORTED);
    Once once;
    const auto got = [](pmix_status_t rc, pmix_value_t* found, void* self) {
        EXPECT_EQ(found, nullptr);
        static_cast<Once*>(self)->fire(rc);
    };
    ASSERT_EQ(get_nb(*session, nullptr, "k", infos.c_array(), 1, got, &once), PMIX_SUCCESS);
    ASSERT_TRUE(once.wait());
    EXPECT_EQ(once.status, PMIX_ERR_NOT_SUPPORTED);
}

// After a refresh, what the stores have is the answer, also where the server has no newer value.
TEST_F(SessionTest, Get_RefreshOfAKeyTheServerHasNot_AnswersFromTheStores) {
    pmix_value_t v;
    v.type = PMIX_INT;
    v.data.integer = 42;
    ASSERT_EQ(store_internal(*session, nullptr, "k", &v), PMIX_SUCCESS);
    answer_all<common::GetReply>(PMIX_ERR_NOT_FOUND);
    common::InfoList infos;
    infos.append_flag(PMIX_GET_REFRESH_CACHE, true);
    pmix_value_t* value = nullptr;
    ASSERT_EQ(get(*session, nullptr, "k", infos.c_array(), 1, &value), PMIX_SUCCESS);
    EXPECT_EQ(value->data.integer, 42);
    free(value);
    EXPECT_EQ(channel->sent().size(), 1u) << "the server was asked";
    EXPECT_EQ(get(*session, nullptr, "none", infos.c_array(), 1, &value), PMIX_ERR_NOT_FOUND);
}

// rows: K33
TEST_F(SessionTest, GetNbCallsBackOnceForAHitAMissAndARefusal) {
    pmix_value_t v;
    v.type = PMIX_INT;
    v.data.integer = 42;
    ASSERT_EQ(store_internal(*session, nullptr, "k", &v), PMIX_SUCCESS);
    struct Got {
        Once once;
        int n = 0;
        bool had_value = false;
        static void on(pmix_status_t rc, pmix_value_t* value, void* self) {
            auto* got = static_cast<Got*>(self);
            got->had_value = value != nullptr;
            if (value != nullptr) got->n = value->data.integer;
            got->once.fire(rc);
        }
    } hit, miss, refused;
    ASSERT_EQ(get_nb(*session, nullptr, "k", nullptr, 0, &Got::on, &hit), PMIX_SUCCESS);
    ASSERT_TRUE(hit.once.wait());
    EXPECT_EQ(hit.n, 42);
    EXPECT_NE(hit.once.thread, std::this_thread::get_id());
    ASSERT_EQ(get_nb(*session, nullptr, "none", nullptr, 0, &Got::on, &miss), PMIX_SUCCESS);
    ASSERT_TRUE(miss.once.wait());
    EXPECT_EQ(miss.once.status, PMIX_ERR_NOT_FOUND);
    EXPECT_FALSE(miss.had_value);
    answer_all<common::GetReply>(PMIX_ERR_EXISTS_OUTSIDE_SCOPE);
    const pmix_proc_t peer = common::ProcId("job", 2).to_c();
    ASSERT_EQ(get_nb(*session, &peer, "r", nullptr, 0, &Got::on, &refused), PMIX_SUCCESS);
    ASSERT_TRUE(refused.once.wait());
    EXPECT_EQ(refused.once.status, PMIX_ERR_EXISTS_OUTSIDE_SCOPE);
    common::InfoList infos;
    infos.append_flag(PMIX_GET_STATIC_VALUES, true);
    EXPECT_EQ(get_nb(*session, nullptr, "k", infos.c_array(), 1, &Got::on, &hit), PMIX_ERR_NOT_SUPPORTED);
    EXPECT_EQ(get_nb(*session, nullptr, "k", nullptr, 0, nullptr, nullptr), PMIX_ERR_BAD_PARAM);
    EXPECT_EQ(hit.once.calls, 1);
}

// rows: K11 K12 K15 K35
TEST_F(SessionTest, StaticAndBorrowedValues) {
    pmix_value_t v;
    v.type = PMIX_STRING;
    v.data.string = const_cast<char*>("text");
    ASSERT_EQ(store_internal(*session, nullptr, "s", &v), PMIX_SUCCESS);
    v.type = PMIX_INT;
    v.data.integer = 7;
    ASSERT_EQ(store_internal(*session, nullptr, "n", &v), PMIX_SUCCESS);

    common::InfoList by_pointer, statics;
    by_pointer.append_flag(PMIX_GET_POINTER_VALUES, true);
    statics.append_flag(PMIX_GET_STATIC_VALUES, true);
    pmix_value_t *first = nullptr, *again = nullptr;
    ASSERT_EQ(get(*session, nullptr, "s", by_pointer.c_array(), 1, &first), PMIX_SUCCESS);
    ASSERT_EQ(get(*session, nullptr, "s", by_pointer.c_array(), 1, &again), PMIX_SUCCESS);
    EXPECT_EQ(first, again);
    // Stays when the key is replaced.
    v.type = PMIX_STRING;
    v.data.string = const_cast<char*>("other");
    ASSERT_EQ(store_internal(*session, nullptr, "s", &v), PMIX_SUCCESS);
    EXPECT_STREQ(first->data.string, "text");

    pmix_value_t storage;
    pmix_value_t* into = &storage;
    ASSERT_EQ(get(*session, nullptr, "s", statics.c_array(), 1, &into), PMIX_SUCCESS);
    EXPECT_EQ(into, &storage);
    EXPECT_STREQ(storage.data.string, "other");
    ASSERT_EQ(get(*session, nullptr, "n", statics.c_array(), 1, &into), PMIX_SUCCESS);
    EXPECT_EQ(storage.data.integer, 7);
    into = nullptr;
    EXPECT_EQ(get(*session, nullptr, "n", statics.c_array(), 1, &into), PMIX_ERR_BAD_PARAM);
    // A text that is made for the caller has no place in the store to point to.
    into = &storage;
    EXPECT_EQ(get(*session, nullptr, PMIX_NSPACE, statics.c_array(), 1, &into), PMIX_ERR_GET_MALLOC_REQD);
    EXPECT_STREQ(storage.data.string, "job");
    free(storage.data.string);
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
    EXPECT_EQ(lookup(*session, data, 3, nullptr, 0), PMIX_SUCCESS);
    EXPECT_STREQ(data[0].value.data.string, "a");
    EXPECT_EQ(data[0].proc.rank, 5u);
    EXPECT_EQ(data[1].value.type, PMIX_UNDEF);
    EXPECT_STREQ(data[2].value.data.string, "c");
    free(data[0].value.data.string);
    free(data[2].value.data.string);

    answer_all<common::LookupReply>(PMIX_SUCCESS);
    EXPECT_EQ(lookup(*session, data, 3, nullptr, 0), PMIX_ERR_NOT_FOUND);
    answer_all<common::LookupReply>(PMIX_ERR_NO_PERMISSIONS);
    EXPECT_EQ(lookup(*session, data, 3, nullptr, 0), PMIX_ERR_NO_PERMISSIONS);
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
    EXPECT_EQ(look(1), PMIX_SUCCESS);
    EXPECT_EQ(look(2), PMIX_ERR_PARTIAL_SUCCESS);
    EXPECT_EQ(look(0), PMIX_ERR_PARTIAL_SUCCESS) << "0 is all of them";
    EXPECT_EQ(look(-1), PMIX_ERR_BAD_PARAM);
}

TEST_F(SessionTest, Publish_OfAnEmptyKey_IsRefused) {
    answer_all<common::Nothing>(PMIX_SUCCESS);
    pmix_info_t info;
    memset(&info, 0, sizeof info);
    info.value.type = PMIX_BOOL;
    EXPECT_EQ(publish(*session, &info, 1), PMIX_ERR_BAD_PARAM);
    strcpy(info.key, "k");
    EXPECT_EQ(publish(*session, &info, 1), PMIX_SUCCESS);
}

TEST_F(SessionTest, Fence_WithANumberAndNoList_IsRefused) {
    answer_all<common::FenceReply>(PMIX_SUCCESS);
    EXPECT_EQ(fence(*session, nullptr, 3, nullptr, 0), PMIX_ERR_BAD_PARAM);
    EXPECT_EQ(fence(*session, nullptr, 0, nullptr, 0), PMIX_SUCCESS);
}

TEST_F(SessionTest, Tell_OfMoreThanAFrame_SendsNothing) {
    const std::vector<uint8_t> part(1u << 20);
    const std::vector<common::Bytes> parts(common::kMaxFramePayload / part.size() + 1, common::Bytes(part));
    EXPECT_EQ(session->tell(Command::commit, parts), PMIX_ERR_OUT_OF_RESOURCE);
    EXPECT_TRUE(channel->sent().empty());
}

TEST_F(SessionTest, SegmentGone_EndsTheMapping) {
    auto store = dstore::Writer::create({}).value();
    ASSERT_EQ(session->namespaces().add("their", 7, transport::Descriptor(::dup(store->descriptor()))), PMIX_SUCCESS);
    common::SegmentGoneNotify gone;
    gone.nspace = "their";
    gone.instance = 7;
    auto payload = common::message_bytes(gone);
    ASSERT_TRUE(payload.ok());
    session->on_loop_and_wait([&] {
        transport::assert_on_loop();
        common::FrameHeader header = common::FrameHeader::notify(static_cast<uint16_t>(Command::segment_gone));
        header.payload = static_cast<uint32_t>(payload->size());
        session->on_frame({header, *payload, {}});
    });
    Reading reading;
    EXPECT_EQ(session->namespaces().find("their"), nullptr);
}

}  // namespace
}  // namespace pmix::client

// SPDX-License-Identifier: BSD-3-Clause
// The servers of a tool, played by the test: what becomes of what is under way when one goes.
#include "client/tool/server_set.h"

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <optional>
#include <thread>

#include "client/events/events.h"
#include "client/groups/group_invite_api.h"
#include "client/iof/iof.h"
#include "client/modules.h"
#include "client/session/session.h"
#include "common/protocol/event_infos.h"
#include "support/fake_channel.h"
#include "support/status.h"

namespace pmix::client::server_set_test {
namespace {

using common::Command;
using common::Frame;
using common::ProcId;
using test::FakeChannel;

class ServerSetTest : public ::testing::Test {
  protected:
    ServerSetTest() {
        loop = std::move(transport::EventLoop::create()).value();
        session = client::make_session(*loop, ProcId("job", 1), ProcId());
        session->set_is_tool();
        Session* s = session.get();
        auto set = std::make_unique<ServerSet>(ServerSet::Hooks{*s, [s](const ProcId& id) { s->server_lost(id); },
                                                                [s](const ProcId& id) { s->turn_to(id); }});
        servers = set.get();
        session->set_channel(std::move(set));
        transport::LoopRole role(*loop);
        for (uint32_t k = 0; k < 2; ++k) {
            EXPECT_STATUS(PMIX_SUCCESS,
                          servers->attach(ProcId("server", k), [&](transport::ConnectionHandler& handler) {
                              auto made = std::make_unique<FakeChannel>(*loop, handler);
                              channels[k] = made.get();
                              return common::Result<std::unique_ptr<Channel>>(std::move(made));
                          }));
        }
        EXPECT_STATUS(PMIX_SUCCESS, loop->start());
    }
    ~ServerSetTest() override {
        loop->post([this] { session->shut(PMIX_ERR_INIT); });
        loop->stop();
        transport::LoopRole role(*loop);
        session.reset();
    }
    void settle() {
        for (int i = 0; i < 6; ++i) session->on_loop_and_wait([] {});
    }
    void answer_all(uint32_t k, pmix_status_t status = PMIX_SUCCESS) {
        channels[k]->on_send = [channel = channels[k], status](const Frame& f) {
            if (f.header.kind == common::FrameKind::request) channel->answer(f, status, common::Nothing{});
        };
    }

    std::unique_ptr<transport::EventLoop> loop;
    std::unique_ptr<Session> session;
    ServerSet* servers = nullptr;
    FakeChannel* channels[2] = {};
};

TEST_F(ServerSetTest, WhoHearsOfTheLossMayChooseAnotherAtOnce) {
    std::atomic<pmix_status_t> heard{PMIX_SUCCESS};
    const common::QueryRequest request;  // never answered
    ASSERT_STATUS(PMIX_SUCCESS, session->ask_nb<Command::query>(request, [&](pmix_status_t rc, common::ResultsReply&) {
        EXPECT_EQ(ProcId(), session->server());
        EXPECT_STATUS(PMIX_SUCCESS, servers->set_primary(ProcId("server", 1)));
        heard = rc;
    }));
    channels[0]->lose();
    settle();
    EXPECT_STATUS(PMIX_ERR_LOST_CONNECTION, heard);
    EXPECT_EQ(ProcId("server", 1), session->server());
    EXPECT_EQ(ProcId("server", 1), servers->servers().front());
    EXPECT_TRUE(session->connected());
}

// The process goes on with its other server, or serves others itself: its handler receives an event for each loss.
// rows: G10
TEST_F(ServerSetTest, EachLostServer_IsAnEventAboutIt) {
    static std::atomic<uint32_t> lost[2];
    for (auto& one : lost) one = 0;
    answer_all(0);
    answer_all(1);
    const pmix_status_t code = PMIX_ERR_LOST_CONNECTION;
    const auto handler = [](size_t, pmix_status_t, const pmix_proc_t* source, pmix_info_t* info, size_t ninfo,
                            pmix_info_t*, size_t, pmix_event_notification_cbfunc_fn_t done, void* cbdata) {
        const pmix_proc_t* about = nullptr;
        EXPECT_STATUS(PMIX_SUCCESS, common::InfoView(info, ninfo).get(PMIX_EVENT_AFFECTED_PROC, &about));
        EXPECT_TRUE(about != nullptr && ProcId(*about) == ProcId(*source));
        if (source->rank < 2) ++lost[source->rank];
        done(PMIX_EVENT_ACTION_COMPLETE, nullptr, 0, nullptr, nullptr, cbdata);
    };
    ASSERT_GE(session->events().register_handler(&code, 1, nullptr, 0, handler, nullptr, nullptr), 0);
    channels[1]->lose();
    settle();
    EXPECT_EQ(0u, lost[0]);
    EXPECT_EQ(1u, lost[1]);
    channels[0]->lose();
    settle();
    EXPECT_EQ(1u, lost[0]);
    EXPECT_EQ(1u, lost[1]);
}

struct Joined {
    std::atomic<int> times{0};
    std::atomic<pmix_status_t> status{PMIX_SUCCESS};
    static void back(pmix_status_t status, pmix_info_t*, size_t, void* self, pmix_release_cbfunc_t, void*) {
        static_cast<Joined*>(self)->status = status;
        ++static_cast<Joined*>(self)->times;
    }
};

TEST_F(ServerSetTest, ALostServerEndsInvitesAndJoins) {
    answer_all(0);
    answer_all(1);
    Joined joined, invited, again;
    const pmix_proc_t far = ProcId("far", 0).to_c();
    ASSERT_STATUS(PMIX_SUCCESS,
                  group_join_nb(*session, "j", &far, PMIX_GROUP_ACCEPT, nullptr, 0, &Joined::back, &joined));
    ASSERT_STATUS(PMIX_SUCCESS, group_invite_nb(*session, "i", &far, 1, nullptr, 0, &Joined::back, &invited));
    settle();
    channels[1]->lose();  // not the one that all goes through
    settle();
    EXPECT_EQ(0, joined.times);
    EXPECT_EQ(0, invited.times);
    channels[0]->lose();
    settle();
    EXPECT_EQ(1, joined.times);
    EXPECT_STATUS(PMIX_ERR_LOST_CONNECTION, joined.status);
    EXPECT_EQ(1, invited.times);
    EXPECT_STATUS(PMIX_ERR_LOST_CONNECTION, invited.status);

    // With another server there are groups again.
    FakeChannel* fresh = nullptr;
    session->on_loop_and_wait([&] {
        EXPECT_STATUS(PMIX_SUCCESS, servers->attach(ProcId("server", 2), [&](transport::ConnectionHandler& handler) {
            auto made = std::make_unique<FakeChannel>(*loop, handler);
            fresh = made.get();
            return common::Result<std::unique_ptr<Channel>>(std::move(made));
        }));
    });
    ASSERT_STATUS(PMIX_SUCCESS,
                  group_join_nb(*session, "j", &far, PMIX_GROUP_ACCEPT, nullptr, 0, &Joined::back, &again));
    settle();
    EXPECT_EQ(0, again.times) << "it waits for its inviter";
    fresh->lose();
    settle();
    EXPECT_EQ(1, again.times);
}

void swallow(size_t, pmix_iof_channel_t, pmix_proc_t*, pmix_byte_object_t*, pmix_info_t*, size_t) {}

TEST_F(ServerSetTest, ForwardingThatHasEndedIsForgotten) {
    answer_all(0);
    const pmix_proc_t far = ProcId("far", PMIX_RANK_WILDCARD).to_c();
    for (int i = 0; i < 10; ++i) {
        const pmix_status_t handler =
            session->iof().pull(&far, 1, nullptr, 0, PMIX_FWD_STDOUT_CHANNEL, &swallow, nullptr, nullptr);
        ASSERT_GE(handler, 0);
        EXPECT_EQ(1u, servers->pulls());
        EXPECT_STATUS(PMIX_SUCCESS,
                      session->iof().deregister(static_cast<size_t>(handler), nullptr, 0, nullptr, nullptr));
        settle();
        EXPECT_EQ(0u, servers->pulls());
    }
    answer_all(0, PMIX_ERR_NOT_SUPPORTED);
    EXPECT_STATUS(PMIX_ERR_NOT_SUPPORTED,
                  session->iof().pull(&far, 1, nullptr, 0, PMIX_FWD_STDOUT_CHANNEL, &swallow, nullptr, nullptr));
    settle();
    EXPECT_EQ(0u, servers->pulls()) << "the server has refused";
}

// ---- event handlers ----

std::atomic<int> called[2];

template <int Which>
void count(size_t, pmix_status_t, const pmix_proc_t*, pmix_info_t*, size_t, pmix_info_t*, size_t,
           pmix_event_notification_cbfunc_fn_t done, void* cbdata) {
    ++called[Which];
    done(PMIX_SUCCESS, nullptr, 0, nullptr, nullptr, cbdata);
}

class HandlersTest : public ServerSetTest {
  protected:
    HandlersTest() {
        called[0] = called[1] = 0;
        answer_all(0);
        answer_all(1);
    }
    uint64_t listen(pmix_notification_fn_t handler) {
        const pmix_status_t code = -3300;
        const pmix_status_t reference =
            session->events().register_handler(&code, 1, nullptr, 0, handler, nullptr, nullptr);
        EXPECT_GE(reference, 0);
        return static_cast<uint64_t>(reference);
    }
    void raise(uint32_t k, uint64_t number, uint64_t replay_for = 0) {
        common::EventNotify event;
        event.status = -3300;
        event.source = ProcId("far", 0);
        event.number = number;
        event.replay_for = replay_for;
        channels[k]->notify(event);
        settle();
    }
    // The last registration that a server has been sent.
    std::optional<common::RegisterEventsRequest> registered(uint32_t k) {
        std::optional<common::RegisterEventsRequest> last;
        for (const Frame& f : channels[k]->sent())
            if (f.header.command == static_cast<uint16_t>(Command::register_events))
                last = FakeChannel::decoded<common::RegisterEventsRequest>(f);
        return last;
    }
    void leave(uint32_t k) {
        session->on_loop_and_wait([&] {
            transport::assert_on_loop();
            EXPECT_STATUS(PMIX_SUCCESS, servers->detach(ProcId("server", k)));
        });
    }
    void attach_again(uint32_t k) {
        session->on_loop_and_wait([&] {
            EXPECT_STATUS(PMIX_SUCCESS,
                          servers->attach(ProcId("server", k), [&](transport::ConnectionHandler& handler) {
                              auto made = std::make_unique<FakeChannel>(*loop, handler);
                              channels[k] = made.get();
                              return common::Result<std::unique_ptr<Channel>>(std::move(made));
                          }));
        });
        answer_all(k);
    }
    void choose(uint32_t k) {
        session->on_loop_and_wait([&] { EXPECT_STATUS(PMIX_SUCCESS, servers->set_primary(ProcId("server", k))); });
    }
};

TEST_F(HandlersTest, MoveToThePrimaryThatIsThere) {
    const uint64_t start = common::event_clock();
    const uint64_t reference = listen(&count<0>);
    ASSERT_TRUE(registered(0));
    EXPECT_EQ(0u, registered(0)->after) << "all that is kept";
    choose(1);
    EXPECT_FALSE(registered(1)) << "it stays where it is";
    raise(0, start + 1);
    channels[0]->lose();
    settle();
    const auto moved = registered(1);
    ASSERT_TRUE(moved);
    EXPECT_EQ(reference, moved->reference);
    EXPECT_EQ(std::vector<int32_t>{-3300}, moved->codes);
    EXPECT_GT(moved->after, start) << "from the loss on";
    EXPECT_LE(moved->after, common::event_clock());
    raise(1, start + 2);
    EXPECT_EQ(2, called[0]);
}

TEST_F(HandlersTest, MoveWhenTheToolLeavesTheirServer) {
    listen(&count<0>);
    choose(1);
    leave(0);
    EXPECT_TRUE(registered(1));
    raise(1, 1);
    EXPECT_EQ(1, called[0]);
}

TEST_F(HandlersTest, AreCalledForTheirOwnServersEvents) {
    listen(&count<0>);
    choose(1);
    listen(&count<1>);
    raise(0, 10);
    EXPECT_EQ(1, called[0]);
    EXPECT_EQ(0, called[1]);
    raise(1, 20);
    EXPECT_EQ(1, called[0]);
    EXPECT_EQ(1, called[1]);
    // What the process raises itself is for both.
    EXPECT_STATUS(PMIX_SUCCESS,
                  session->events().notify(-3300, nullptr, PMIX_RANGE_PROC_LOCAL, nullptr, 0, nullptr, nullptr));
    settle();
    EXPECT_EQ(2, called[0]);
    EXPECT_EQ(2, called[1]);
}

TEST_F(HandlersTest, AreSentWhatIsNewWhereTheyReturn) {
    const uint64_t first = listen(&count<0>), second = listen(&count<1>);
    raise(0, 5, first + 1);
    raise(0, 7, second + 1);
    leave(0);
    EXPECT_FALSE(registered(1)) << "it is not the primary one";
    attach_again(0);
    choose(0);
    std::vector<uint64_t> after(2);
    for (const Frame& f : channels[0]->sent()) {
        const auto request = FakeChannel::decoded<common::RegisterEventsRequest>(f);
        ASSERT_LE(request.reference, 1u);
        after[request.reference] = request.after;
    }
    EXPECT_EQ((std::vector<uint64_t>{5, 7}), after) << "each by what it has had";
    raise(0, 9);
    raise(0, 8, first + 1);  // no server does so; the last number stays
    leave(0);
    attach_again(0);
    choose(0);
    EXPECT_EQ(9u, registered(0)->after);
    // By way of another server: since the loss of that one.
    leave(0);
    const uint64_t between = common::event_clock();
    choose(1);
    EXPECT_LT(9u, registered(1)->after);
    leave(1);
    attach_again(0);
    choose(0);
    EXPECT_LE(between, registered(0)->after);
}

}  // namespace
}  // namespace pmix::client::server_set_test

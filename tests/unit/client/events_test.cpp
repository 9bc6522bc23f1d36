// SPDX-License-Identifier: BSD-3-Clause
// Chains of event handlers as they run: completion, results, handlers that come and go, the server's part played by
// the test.
#include "client/events/events.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "client/modules.h"
#include "client/session/session.h"
#include "support/fake_channel.h"
#include "support/status.h"

namespace pmix::client::events_test {
namespace {

using common::Command;
using common::Frame;
using common::InfoList;
using test::FakeChannel;

constexpr pmix_status_t kCode = -3100;

struct Seen {
    size_t reference;
    pmix_status_t status;
    std::string source;
    std::vector<std::string> infos, results;
};

// Handlers have no argument of their own, so what they did is told here. On the loop only, read after a drain.
struct Record {
    std::vector<Seen> seen;
    std::function<void(const Seen&, pmix_event_notification_cbfunc_fn_t, void*)> behave;
    std::vector<std::pair<pmix_event_notification_cbfunc_fn_t, void*>> held;
};
Record* g_record = nullptr;

std::vector<std::string> keys(const pmix_info_t* infos, size_t n) {
    std::vector<std::string> names;
    for (size_t i = 0; i < n; ++i) names.emplace_back(infos[i].key);
    return names;
}

void handler(size_t reference, pmix_status_t status, const pmix_proc_t* source, pmix_info_t* infos, size_t ninfos,
             pmix_info_t* results, size_t nresults, pmix_event_notification_cbfunc_fn_t done, void* cbdata) {
    g_record->seen.push_back({reference, status, std::string(source->nspace) + "." + std::to_string(source->rank),
                              keys(infos, ninfos), keys(results, nresults)});
    if (g_record->behave) {
        g_record->behave(g_record->seen.back(), done, cbdata);
    } else {
        done(PMIX_SUCCESS, nullptr, 0, nullptr, nullptr, cbdata);
    }
}

class EventsTest : public ::testing::Test {
  protected:
    EventsTest() {
        g_record = &record;
        loop = std::move(transport::EventLoop::create()).value();
        session = client::make_session(*loop, common::ProcId("job", 1), common::ProcId("server", 0));
        auto made = std::make_unique<FakeChannel>(*loop, *session);
        channel = made.get();
        session->set_channel(std::move(made));
        channel->on_send = [this](const Frame& f) {
            if (!answering || f.header.kind != common::FrameKind::request) return;
            channel->answer(f, PMIX_SUCCESS, common::Nothing());
            if (f.header.command != static_cast<uint16_t>(Command::notify_event)) return;
            // As a server does when the notifier is in range.
            auto request = FakeChannel::decoded<common::NotifyEventRequest>(f);
            common::EventNotify event;
            event.status = request.status;
            event.source = request.source;
            event.range = request.range;
            channel->notify(event);
        };
        EXPECT_STATUS(PMIX_SUCCESS, loop->start());
    }
    ~EventsTest() override {
        loop->post([this] { session->shut(PMIX_ERR_INIT); });
        loop->stop();
        transport::LoopRole role(*loop);
        session.reset();
    }
    // In the order of registration, which these tests count.
    size_t add(std::vector<pmix_status_t> codes, InfoList infos = {}) {
        infos.append_flag(PMIX_EVENT_HDLR_APPEND, true);
        const pmix_status_t rc = session->events().register_handler(codes.data(), codes.size(), infos.c_array(),
                                                                    infos.size(), handler, nullptr, nullptr);
        EXPECT_GE(rc, 0);
        return static_cast<size_t>(rc);
    }
    size_t add_named(std::vector<pmix_status_t> codes, const char* name) {
        InfoList infos;
        infos.append_string(PMIX_EVENT_HDLR_NAME, name);
        return add(std::move(codes), std::move(infos));
    }
    void raise(pmix_status_t code, InfoList infos = {}) {
        session->events().raise(code, common::ProcId("job", 1), std::move(infos));
    }
    // Steps post further steps: enough runs of the loop for every chain here.
    void drain() {
        for (int i = 0; i < 20; ++i) session->on_loop_and_wait([] {});
    }
    std::vector<size_t> order() {
        std::vector<size_t> references;
        for (const Seen& s : record.seen) references.push_back(s.reference);
        return references;
    }

    Record record;
    std::atomic<bool> answering{true};
    std::unique_ptr<transport::EventLoop> loop;
    std::unique_ptr<Session> session;
    FakeChannel* channel = nullptr;
};

// rows: E6 E23
TEST_F(EventsTest, EachHandlerSeesWhatTheEarlierOnesReturned) {
    const size_t a = add_named({kCode}, "a"), b = add_named({kCode}, "b"), c = add({});
    record.behave = [&](const Seen& s, pmix_event_notification_cbfunc_fn_t done, void* cbdata) {
        InfoList results;
        results.append_number(("from." + std::to_string(s.reference)).c_str(), 1, PMIX_INT);
        done(PMIX_EVENT_NO_ACTION_TAKEN, results.c_array(), results.size(), nullptr, nullptr, cbdata);
    };
    raise(kCode);
    drain();
    ASSERT_EQ(order(), (std::vector<size_t>{a, b, c}));
    EXPECT_TRUE(record.seen[0].results.empty());
    EXPECT_EQ(record.seen[1].results, (std::vector<std::string>{"from.0", "a"}));
    EXPECT_EQ(record.seen[2].results, (std::vector<std::string>{"from.0", "a", "from.1", "b"}));
}

// The handler's results are given back all the same, whenever it comes to its end.
TEST_F(EventsTest, Handler_NeverCompletes_ProcessFinalizes_NoOtherIsCalled) {
    add({kCode});
    add({kCode});
    record.behave = [&](const Seen&, pmix_event_notification_cbfunc_fn_t done, void* cbdata) {
        record.held.emplace_back(done, cbdata);
    };
    raise(kCode);
    drain();
    ASSERT_EQ(1u, record.held.size());
    session->on_loop_and_wait([this] { session->shut(PMIX_ERR_INIT); });
    static int given_back;
    given_back = 0;
    const auto [done, cbdata] = record.held.front();
    done(
        PMIX_SUCCESS, nullptr, 0, [](pmix_status_t, void*) { ++given_back; }, nullptr, cbdata);
    drain();
    EXPECT_EQ(1u, record.seen.size());
    EXPECT_EQ(1, given_back);
}

// A handler that returns no results of its own leaves its name, with its status as the value. rows: E6 E23
TEST_F(EventsTest, Chain_AHandlerHasAnswered_ItsNameAndStatusAreAmongTheResults) {
    add_named({kCode}, "first");
    add_named({kCode}, "second");
    add({});
    static std::vector<std::pair<std::string, pmix_status_t>> told;
    told.clear();
    const auto look = [](size_t, pmix_status_t, const pmix_proc_t*, pmix_info_t*, size_t, pmix_info_t* results,
                         size_t nresults, pmix_event_notification_cbfunc_fn_t done, void* cbdata) {
        for (size_t i = 0; i < nresults; ++i) {
            EXPECT_EQ(PMIX_STATUS, results[i].value.type);
            told.emplace_back(results[i].key, results[i].value.data.status);
        }
        done(PMIX_SUCCESS, nullptr, 0, nullptr, nullptr, cbdata);
    };
    InfoList last;
    last.append_flag(PMIX_EVENT_HDLR_LAST, true);
    pmix_status_t code = kCode;
    ASSERT_GE(session->events().register_handler(&code, 1, last.c_array(), last.size(), look, nullptr, nullptr), 0);
    int calls = 0;
    record.behave = [&](const Seen&, pmix_event_notification_cbfunc_fn_t done, void* cbdata) {
        done(++calls == 1 ? PMIX_EVENT_PARTIAL_ACTION_TAKEN : PMIX_EVENT_NO_ACTION_TAKEN, nullptr, 0, nullptr, nullptr,
             cbdata);
    };
    raise(kCode);
    drain();
    ASSERT_EQ(3u, told.size());
    EXPECT_EQ((std::pair<std::string, pmix_status_t>("first", PMIX_EVENT_PARTIAL_ACTION_TAKEN)), told[0]);
    EXPECT_EQ((std::pair<std::string, pmix_status_t>("second", PMIX_EVENT_NO_ACTION_TAKEN)), told[1]);
}

// rows: E6 E23
TEST_F(EventsTest, ResultsOfTheNamelessAndOfTheOneShot) {
    add({kCode});
    InfoList once;
    once.append_string(PMIX_EVENT_HDLR_NAME, "once");
    once.append_flag(PMIX_EVENT_ONESHOT, true);
    add({kCode}, std::move(once));
    add({});
    raise(kCode);
    drain();
    ASSERT_EQ(record.seen.size(), 3u);
    EXPECT_EQ(record.seen[2].results, (std::vector<std::string>{"UNKNOWN", "once"}));
}

// A handler late in the chain of the first event meets it before the second event, whose chain is shorter.
// rows: E10
TEST_F(EventsTest, EachHandlerMeetsEventsInTheirOrder) {
    const size_t single = add({kCode}), fallback = add({});
    session->on_loop_and_wait([&] {
        raise(kCode);
        raise(kCode - 1);
    });
    drain();
    EXPECT_EQ(order(), (std::vector<size_t>{single, fallback, fallback}));
    EXPECT_EQ(record.seen[1].status, kCode);
    EXPECT_EQ(record.seen[2].status, kCode - 1);
}

// Named by infos, a handler's PMIX_SUCCESS ends the chain; named by codes, it does not.
// rows: E6
// rows: E20
// proves: PMIx_Register_event_handler PMIX_EVENT_NAME PMIX_EVENT_GROUP_NAME client
TEST_F(EventsTest, SuccessEndsAChainForHandlersNamedByInfos) {
    InfoList named;
    named.append_number(PMIX_EVENT_NAME, kCode, PMIX_STATUS);
    const size_t by_info = add({}, std::move(named));
    InfoList group;
    group.append_string(PMIX_EVENT_GROUP_NAME, "migrate");
    const size_t in_group = add({}, std::move(group));
    const size_t fallback = add({});
    raise(kCode);
    raise(PMIX_ERR_PROC_MIGRATE);
    drain();
    EXPECT_EQ(order(), (std::vector<size_t>{by_info, in_group}));
    record.seen.clear();
    record.behave = [](const Seen&, pmix_event_notification_cbfunc_fn_t done, void* cbdata) {
        done(PMIX_EVENT_NO_ACTION_TAKEN, nullptr, 0, nullptr, nullptr, cbdata);
    };
    raise(kCode);
    drain();
    EXPECT_EQ(order(), (std::vector<size_t>{by_info, fallback}));
}

// rows: E2 E4
// proves: PMIx_Register_event_handler PMIX_EVENT_GROUP_COMM PMIX_EVENT_GROUP_PROC PMIX_EVENT_GROUP_JOB client
TEST_F(EventsTest, GroupsOfEvents) {
    InfoList flags;
    flags.append_flag(PMIX_EVENT_GROUP_COMM, true);
    flags.append_flag(PMIX_EVENT_GROUP_PROC, true);
    flags.append_flag(PMIX_EVENT_GROUP_JOB, false);
    const size_t several = add({}, std::move(flags));
    InfoList text;
    text.append_string(PMIX_EVENT_GROUP_NAME, "node");
    text.append_string(PMIX_EVENT_GROUP_NAME, "job");
    const size_t node_and_job = add({}, std::move(text));
    const size_t single = add({PMIX_ERR_LOST_CONNECTION});
    const std::pair<pmix_status_t, std::vector<size_t>> expected[] = {
        {PMIX_ERR_LOST_CONNECTION, {single, several}}, {PMIX_ERR_UNREACH, {several}},
        {PMIX_EVENT_PROC_TERMINATED, {several}},       {PMIX_EVENT_JOB_END, {node_and_job}},
        {PMIX_EVENT_NODE_DOWN, {node_and_job}},        {PMIX_ERR_PROC_MIGRATE, {}}};
    record.behave = [](const Seen&, pmix_event_notification_cbfunc_fn_t done, void* cbdata) {
        done(PMIX_EVENT_NO_ACTION_TAKEN, nullptr, 0, nullptr, nullptr, cbdata);
    };
    for (const auto& [code, chain] : expected) {
        record.seen.clear();
        raise(code);
        drain();
        EXPECT_EQ(order(), chain) << code;
    }
    // The server is asked for the codes.
    const auto request = FakeChannel::decoded<common::RegisterEventsRequest>(channel->sent().at(1));
    EXPECT_EQ(std::count(request.codes.begin(), request.codes.end(), PMIX_EVENT_SYS_BASE), 1);
    EXPECT_EQ(std::count(request.codes.begin(), request.codes.end(), PMIX_EVENT_SYS_OTHER), 1);
    InfoList wrong;
    wrong.append_string(PMIX_EVENT_GROUP_NAME, "no such group");
    EXPECT_STATUS(PMIX_ERR_BAD_PARAM, session->events().register_handler(nullptr, 0, wrong.c_array(), wrong.size(),
                                                                         handler, nullptr, nullptr));
}

// rows: G10 E21
TEST_F(EventsTest, TroubleWithTheServerStaysInTheProcess) {
    add({PMIX_ERR_LOST_SERVER_CONNECTION, PMIX_ERR_FAILED_COMM});
    const size_t sent = channel->sent().size();
    const uint8_t nonsense[] = {1, 2, 3};
    session->on_loop_and_wait([&] {
        transport::assert_on_loop();
        common::FrameHeader header = common::FrameHeader::notify(static_cast<uint16_t>(Command::event));
        header.payload = sizeof nonsense;
        session->on_frame({header, nonsense, {}});
    });
    drain();
    ASSERT_EQ(record.seen.size(), 1u);
    EXPECT_STATUS(PMIX_ERR_FAILED_COMM, record.seen[0].status);
    channel->lose();
    drain();
    ASSERT_EQ(record.seen.size(), 2u);
    EXPECT_STATUS(PMIX_ERR_LOST_SERVER_CONNECTION, record.seen[1].status);
    EXPECT_EQ(record.seen[1].source, "server.0");
    EXPECT_EQ(channel->sent().size(), sent);
    // And for a handler that comes only then.
    const size_t late = add({PMIX_ERR_LOST_SERVER_CONNECTION});
    drain();
    EXPECT_EQ(record.seen.back().reference, late);
}

// rows: E6
TEST_F(EventsTest, ActionCompleteEndsTheChainAlsoBeforeLast) {
    InfoList last;
    last.append_flag(PMIX_EVENT_HDLR_LAST, true);
    add({kCode}, std::move(last));
    const size_t a = add({kCode});
    add({});
    record.behave = [](const Seen&, pmix_event_notification_cbfunc_fn_t done, void* cbdata) {
        done(PMIX_EVENT_ACTION_COMPLETE, nullptr, 0, nullptr, nullptr, cbdata);
    };
    raise(kCode);
    drain();
    EXPECT_EQ(order(), (std::vector<size_t>{a}));
}

// rows: E6
TEST_F(EventsTest, HandlerMayFinishLaterFromAnotherThread) {
    const size_t a = add({kCode}), b = add({kCode});
    record.behave = [this](const Seen&, pmix_event_notification_cbfunc_fn_t done, void* cbdata) {
        record.held.emplace_back(done, cbdata);
    };
    raise(kCode);
    drain();
    EXPECT_EQ(order(), (std::vector<size_t>{a}));
    // Another event is not held up by the first.
    raise(kCode);
    drain();
    EXPECT_EQ(order(), (std::vector<size_t>{a, a}));
    static std::atomic<int> released;
    released = 0;
    const auto release = [](pmix_status_t, void* n) { static_cast<std::atomic<int>*>(n)->fetch_add(1); };
    auto held = record.held;
    std::thread([&] {
        for (auto& [done, cbdata] : held) done(PMIX_SUCCESS, nullptr, 0, release, &released, cbdata);
    }).join();
    drain();
    EXPECT_EQ(order(), (std::vector<size_t>{a, a, b, b}));
    EXPECT_EQ(released, 2);
    for (size_t i = 2; i < record.held.size(); ++i) {
        record.held[i].first(PMIX_SUCCESS, nullptr, 0, nullptr, nullptr, record.held[i].second);
    }
    drain();
}

// rows: E16
TEST_F(EventsTest, DeregisteredWhileItsChainRuns) {
    const size_t a = add({kCode}), b = add({kCode});
    record.behave = [&](const Seen& s, pmix_event_notification_cbfunc_fn_t done, void* cbdata) {
        // From inside the first handler: the second, and itself.
        if (s.reference == a) {
            EXPECT_STATUS(PMIX_SUCCESS, session->events().deregister_handler(b, nullptr, nullptr));
            EXPECT_STATUS(PMIX_SUCCESS, session->events().deregister_handler(a, nullptr, nullptr));
        }
        done(PMIX_SUCCESS, nullptr, 0, nullptr, nullptr, cbdata);
    };
    raise(kCode);
    raise(kCode);
    drain();
    EXPECT_EQ(order(), (std::vector<size_t>{a}));
    EXPECT_STATUS(PMIX_ERR_BAD_PARAM, session->events().deregister_handler(a, nullptr, nullptr));
}

// rows: E7
// proves: PMIx_Register_event_handler PMIX_EVENT_RETURN_OBJECT client
TEST_F(EventsTest, SourceInfosAndTheReturnObject) {
    int object = 0;
    InfoList mine;
    void* address = &object;
    mine.append_number(PMIX_EVENT_RETURN_OBJECT, address, PMIX_POINTER);
    add({kCode}, std::move(mine));
    add({kCode});
    common::EventNotify event;
    event.status = kCode;
    event.source = common::ProcId("", PMIX_RANK_UNDEF);
    event.range = PMIX_RANGE_GLOBAL;
    InfoList infos;
    infos.append_string("k", "v");
    event.infos = common::Infos(std::move(infos));
    channel->notify(event);
    drain();
    ASSERT_EQ(record.seen.size(), 2u);
    EXPECT_EQ(record.seen[0].source, "." + std::to_string(PMIX_RANK_UNDEF));
    EXPECT_EQ(record.seen[0].infos, (std::vector<std::string>{"k", PMIX_EVENT_RETURN_OBJECT}));
    EXPECT_EQ(record.seen[1].infos, (std::vector<std::string>{"k"}));
    // The address stays here.
    for (const Frame& f : channel->sent()) {
        const auto request = FakeChannel::decoded<common::RegisterEventsRequest>(f);
        const common::InfoView sent(request.infos.data(), request.infos.size());
        EXPECT_EQ(nullptr, sent.find(PMIX_EVENT_RETURN_OBJECT));
    }
}

// Programs and hosts that were written for OpenPMIx's libraries take a list without elements, but not NULL. rows: E7
TEST_F(EventsTest, AnEventWithoutInfos_TheListIsEmptyAndNotNull) {
    static bool null = true;
    static size_t length = 1;
    const pmix_status_t code = kCode;
    const auto handler = [](size_t, pmix_status_t, const pmix_proc_t*, pmix_info_t* infos, size_t ninfos, pmix_info_t*,
                            size_t, pmix_event_notification_cbfunc_fn_t done, void* cbdata) {
        null = infos == nullptr;
        length = ninfos;
        done(PMIX_SUCCESS, nullptr, 0, nullptr, nullptr, cbdata);
    };
    ASSERT_LE(0, session->events().register_handler(&code, 1, nullptr, 0, handler, nullptr, nullptr));
    raise(kCode);
    drain();
    EXPECT_FALSE(null);
    EXPECT_EQ(0u, length);
}

// rows: E1
TEST_F(EventsTest, NoEventBeforeTheRegistrationWasAnswered) {
    answering = false;
    struct Answer {
        pmix_status_t status = 1;
        size_t reference = 99, events_before = 99;
        Record* record;
    } answer;
    answer.record = &record;
    pmix_status_t code = kCode;
    const auto registered = [](pmix_status_t rc, size_t reference, void* self) {
        auto* a = static_cast<Answer*>(self);
        a->status = rc;
        a->reference = reference;
        a->events_before = a->record->seen.size();
    };
    raise(kCode);  // is kept for handlers to come
    EXPECT_STATUS(PMIX_SUCCESS, session->events().register_handler(&code, 1, nullptr, 0, handler, registered, &answer));
    drain();
    raise(kCode);
    drain();
    EXPECT_EQ(answer.status, 1);
    EXPECT_TRUE(record.seen.empty());
    channel->answer(channel->sent().at(0), PMIX_SUCCESS, common::Nothing());
    drain();
    EXPECT_STATUS(PMIX_SUCCESS, answer.status);
    EXPECT_EQ(answer.reference, 0u);
    EXPECT_EQ(answer.events_before, 0u);
    EXPECT_EQ(record.seen.size(), 2u);
}

// rows: E1
TEST_F(EventsTest, RefusedRegistrationLeavesNothing) {
    answering = false;
    channel->on_send = [this](const Frame& f) { channel->answer(f, PMIX_ERR_NO_PERMISSIONS, common::Nothing()); };
    pmix_status_t code = kCode;
    EXPECT_STATUS(PMIX_ERR_NO_PERMISSIONS,
                  session->events().register_handler(&code, 1, nullptr, 0, handler, nullptr, nullptr));
    raise(kCode);
    drain();
    EXPECT_TRUE(record.seen.empty());
}

// rows: E10
TEST_F(EventsTest, CachedEventReachesOnlyTheHandlerItIsFor) {
    const size_t a = add({kCode}), b = add({kCode});
    common::EventNotify event;
    event.status = kCode;
    event.source = common::ProcId("job", 0);
    event.range = PMIX_RANGE_GLOBAL;
    event.replay_for = b + 1;
    channel->notify(event);
    drain();
    EXPECT_EQ(order(), (std::vector<size_t>{b}));
    event.replay_for = 0;
    channel->notify(event);
    drain();
    EXPECT_EQ(order(), (std::vector<size_t>{b, a, b}));
}

// rows: E12 E13
// proves: PMIx_Notify_event PMIX_EVENT_CUSTOM_RANGE client
TEST_F(EventsTest, WhatLeavesTheProcessComesBackFromTheServerOnce) {
    add({kCode});
    const size_t registrations = channel->sent().size();
    const auto notify = [&](pmix_data_range_t range, InfoList infos = {}) {
        record.seen.clear();
        EXPECT_STATUS(PMIX_SUCCESS,
                      session->events().notify(kCode, nullptr, range, infos.c_array(), infos.size(), nullptr, nullptr));
        drain();
        return record.seen.size();
    };
    EXPECT_EQ(notify(PMIX_RANGE_PROC_LOCAL), 1u);
    EXPECT_EQ(record.seen[0].source, "job.1");
    EXPECT_EQ(channel->sent().size(), registrations) << "it stays here";
    EXPECT_EQ(notify(PMIX_RANGE_GLOBAL), 1u);
    EXPECT_EQ(record.seen[0].source, "job.1");
    const pmix_proc_t p = common::ProcId("job", 2).to_c();
    InfoList infos;
    infos.append(PMIX_EVENT_CUSTOM_RANGE, &p, PMIX_PROC);
    notify(PMIX_RANGE_GLOBAL, std::move(infos));
    ASSERT_EQ(channel->sent().size(), registrations + 2);
    const auto request = FakeChannel::decoded<common::NotifyEventRequest>(channel->sent().back());
    EXPECT_EQ(request.range, PMIX_RANGE_CUSTOM);
    EXPECT_EQ(request.infos.size(), 1u);
}

// rows: G20
TEST_F(EventsTest, NotifyFromInsideAHandler) {
    const size_t a = add({kCode}), b = add({kCode - 1});
    record.behave = [&](const Seen& s, pmix_event_notification_cbfunc_fn_t done, void* cbdata) {
        if (s.reference == a) {
            EXPECT_STATUS(PMIX_SUCCESS, session->events().notify(kCode - 1, nullptr, PMIX_RANGE_GLOBAL, nullptr, 0,
                                                                 nullptr, nullptr));
        }
        done(PMIX_SUCCESS, nullptr, 0, nullptr, nullptr, cbdata);
    };
    raise(kCode);
    drain();
    EXPECT_EQ(order(), (std::vector<size_t>{a, b}));
}

// proves: PMIx_Register_event_handler PMIX_EVENT_ONESHOT client
TEST_F(EventsTest, AOneShotHandlerIsCalledOnce) {
    InfoList once;
    once.append_flag(PMIX_EVENT_ONESHOT, true);
    const size_t a = add({kCode}, std::move(once));
    raise(kCode);
    raise(kCode);
    drain();
    EXPECT_EQ(order(), (std::vector<size_t>{a}));
}

// A handler that the server refuses gives its place back.
TEST_F(EventsTest, RegisterWithCallback_ServerRefuses_LeavesNothing) {
    answering = false;
    channel->on_send = [this](const Frame& f) { channel->answer(f, PMIX_ERR_NO_PERMISSIONS, common::Nothing()); };
    InfoList first;
    first.append_flag(PMIX_EVENT_HDLR_FIRST, true);
    pmix_status_t code = kCode, refused = 1;
    const auto registered = [](pmix_status_t rc, size_t, void* status) { *static_cast<pmix_status_t*>(status) = rc; };
    EXPECT_STATUS(PMIX_SUCCESS, session->events().register_handler(&code, 1, first.c_array(), first.size(), handler,
                                                                   registered, &refused));
    drain();
    EXPECT_STATUS(PMIX_ERR_NO_PERMISSIONS, refused);
    channel->on_send = [this](const Frame& f) { channel->answer(f, PMIX_SUCCESS, common::Nothing()); };
    EXPECT_GE(session->events().register_handler(&code, 1, first.c_array(), first.size(), handler, nullptr, nullptr), 0)
        << "nobody else is the first";
}

TEST_F(EventsTest, Deregister_TellsTheServer) {
    const size_t a = add({kCode});
    EXPECT_STATUS(PMIX_SUCCESS, session->events().deregister_handler(a, nullptr, nullptr));
    const auto sent = channel->sent();
    ASSERT_EQ(sent.back().header.command, static_cast<uint16_t>(Command::deregister_events));
    EXPECT_EQ(FakeChannel::decoded<common::DeregisterEventsRequest>(sent.back()).reference, a);
}

TEST_F(EventsTest, EventsBeforeAllHandlers_AreKeptUpToABound) {
    for (int i = 0; i < 40; ++i) raise(kCode - i);
    drain();
    const size_t late = add({});
    add({kCode - 39});
    drain();
    const size_t n = static_cast<size_t>(
        std::count_if(record.seen.begin(), record.seen.end(), [&](const Seen& s) { return s.reference == late; }));
    EXPECT_EQ(n, 32u);
    EXPECT_EQ(record.seen.front().status, kCode - 8) << "the oldest are dropped first";
}

TEST_F(EventsTest, ReplayedEvent_BeforeTheRegistrationWasAnswered_IsNotDelivered) {
    answering = false;
    pmix_status_t code = kCode;
    const auto registered = [](pmix_status_t, size_t, void*) {};
    EXPECT_STATUS(PMIX_SUCCESS, session->events().register_handler(&code, 1, nullptr, 0, handler, registered, nullptr));
    drain();
    common::EventNotify event;
    event.status = kCode;
    event.source = common::ProcId("job", 0);
    event.range = PMIX_RANGE_GLOBAL;
    event.replay_for = 1;
    channel->notify(event);
    drain();
    EXPECT_TRUE(record.seen.empty());
    channel->answer(channel->sent().at(0), PMIX_SUCCESS, common::Nothing());
    channel->notify(event);
    drain();
    EXPECT_EQ(record.seen.size(), 1u);
}

TEST_F(EventsTest, EventThatIsNotToBeCached_IsNotKeptForHandlersToCome) {
    InfoList infos;
    infos.append_flag(PMIX_EVENT_DO_NOT_CACHE, true);
    raise(kCode, std::move(infos));
    raise(kCode - 1);
    drain();
    add({kCode, kCode - 1});
    drain();
    ASSERT_EQ(record.seen.size(), 1u);
    EXPECT_EQ(record.seen[0].status, kCode - 1);
}

TEST_F(EventsTest, MalformedEvent_ReachesNoDefaultHandler) {
    add({});
    const size_t named = add({PMIX_ERR_FAILED_COMM});
    session->on_loop_and_wait([&] { session->events().raise_failed_comm(); });
    drain();
    EXPECT_EQ(order(), (std::vector<size_t>{named}));
}

TEST_F(EventsTest, Notify_WithSourceWithoutAnEnd_IsRefused) {
    pmix_proc_t source;
    memset(source.nspace, 'n', sizeof source.nspace);
    source.rank = 0;
    EXPECT_STATUS(PMIX_ERR_BAD_PARAM,
                  session->events().notify(kCode, &source, PMIX_RANGE_GLOBAL, nullptr, 0, nullptr, nullptr));
    EXPECT_STATUS(PMIX_ERR_BAD_PARAM,
                  session->events().notify(kCode, &source, PMIX_RANGE_PROC_LOCAL, nullptr, 0, nullptr, nullptr));
}

}  // namespace
}  // namespace pmix::client::events_test

// Chains of event handlers as they run: completion, results, handlers that come and go, the server's part played by
// the test.
#include "client/events.h"

#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "client/session.h"
#include "support/fake_channel.h"

namespace pmix::client {
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
        session = std::make_unique<Session>(*loop, common::ProcId("job", 1), common::ProcId("server", 0));
        auto made = std::make_unique<FakeChannel>(*loop, *session);
        channel = made.get();
        session->set_channel(std::move(made));
        channel->on_send = [this](const Frame& f) {
            if (answering && f.header.kind == common::FrameKind::request) {
                channel->answer(f, PMIX_SUCCESS, common::Nothing());
            }
        };
        EXPECT_EQ(loop->start(), PMIX_SUCCESS);
    }
    ~EventsTest() override {
        loop->post([this] { session->shut(PMIX_ERR_INIT); });
        loop->stop();
        transport::LoopRole role(*loop);
        session.reset();
    }
    size_t add(std::vector<pmix_status_t> codes, InfoList infos = {}) {
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
    // Steps post further steps: enough turns for every chain here.
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

// rows: E6
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
            EXPECT_EQ(session->events().deregister_handler(b, nullptr, nullptr), PMIX_SUCCESS);
            EXPECT_EQ(session->events().deregister_handler(a, nullptr, nullptr), PMIX_SUCCESS);
        }
        done(PMIX_SUCCESS, nullptr, 0, nullptr, nullptr, cbdata);
    };
    raise(kCode);
    raise(kCode);
    drain();
    EXPECT_EQ(order(), (std::vector<size_t>{a}));
    EXPECT_EQ(session->events().deregister_handler(a, nullptr, nullptr), PMIX_ERR_BAD_PARAM);
}

// rows: E7
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
        EXPECT_EQ(FakeChannel::decoded<common::RegisterEventsRequest>(f).infos.size(), 0u);
    }
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
    EXPECT_EQ(session->events().register_handler(&code, 1, nullptr, 0, handler, registered, &answer), PMIX_SUCCESS);
    drain();
    raise(kCode);
    drain();
    EXPECT_EQ(answer.status, 1);
    EXPECT_TRUE(record.seen.empty());
    channel->answer(channel->sent().at(0), PMIX_SUCCESS, common::Nothing());
    drain();
    EXPECT_EQ(answer.status, PMIX_SUCCESS);
    EXPECT_EQ(answer.reference, 0u);
    EXPECT_EQ(answer.events_before, 0u);
    EXPECT_EQ(record.seen.size(), 2u);
}

// rows: E1
TEST_F(EventsTest, RefusedRegistrationLeavesNothing) {
    answering = false;
    channel->on_send = [this](const Frame& f) { channel->answer(f, PMIX_ERR_NO_PERMISSIONS, common::Nothing()); };
    pmix_status_t code = kCode;
    EXPECT_EQ(session->events().register_handler(&code, 1, nullptr, 0, handler, nullptr, nullptr),
              PMIX_ERR_NO_PERMISSIONS);
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
TEST_F(EventsTest, NotifyReachesOwnHandlersAndTheServerByRange) {
    add({kCode});
    const size_t registrations = channel->sent().size();
    const auto notify = [&](pmix_data_range_t range, InfoList infos = {}) {
        record.seen.clear();
        EXPECT_EQ(session->events().notify(kCode, nullptr, range, infos.c_array(), infos.size(), nullptr, nullptr),
                  PMIX_SUCCESS);
        drain();
        return record.seen.size();
    };
    EXPECT_EQ(notify(PMIX_RANGE_PROC_LOCAL), 1u);
    EXPECT_EQ(record.seen[0].source, "job.1");
    EXPECT_EQ(channel->sent().size(), registrations);
    EXPECT_EQ(notify(PMIX_RANGE_LOCAL), 1u);
    EXPECT_EQ(notify(PMIX_RANGE_NAMESPACE), 1u);
    EXPECT_EQ(notify(PMIX_RANGE_GLOBAL), 1u);
    EXPECT_EQ(notify(PMIX_RANGE_RM), 0u);
    const auto custom = [&](pmix_rank_t rank) {
        const pmix_proc_t p = common::ProcId("job", rank).to_c();
        InfoList infos;
        infos.append(PMIX_EVENT_CUSTOM_RANGE, &p, PMIX_PROC);
        return notify(PMIX_RANGE_CUSTOM, std::move(infos));
    };
    EXPECT_EQ(custom(2), 0u);
    EXPECT_EQ(custom(1), 1u);
    EXPECT_EQ(custom(PMIX_RANK_WILDCARD), 1u);
    EXPECT_EQ(channel->sent().size(), registrations + 7);
}

// rows: G20
TEST_F(EventsTest, NotifyFromInsideAHandler) {
    const size_t a = add({kCode}), b = add({kCode - 1});
    record.behave = [&](const Seen& s, pmix_event_notification_cbfunc_fn_t done, void* cbdata) {
        if (s.reference == a) {
            EXPECT_EQ(session->events().notify(kCode - 1, nullptr, PMIX_RANGE_GLOBAL, nullptr, 0, nullptr, nullptr),
                      PMIX_SUCCESS);
        }
        done(PMIX_SUCCESS, nullptr, 0, nullptr, nullptr, cbdata);
    };
    raise(kCode);
    drain();
    EXPECT_EQ(order(), (std::vector<size_t>{a, b}));
}

TEST_F(EventsTest, AOneShotHandlerIsCalledOnce) {
    InfoList once;
    once.append_flag(PMIX_EVENT_ONESHOT, true);
    const size_t a = add({kCode}, std::move(once));
    raise(kCode);
    raise(kCode);
    drain();
    EXPECT_EQ(order(), (std::vector<size_t>{a}));
}

}  // namespace
}  // namespace pmix::client

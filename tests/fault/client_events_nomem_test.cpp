// SPDX-License-Identifier: BSD-3-Clause
// The n-th allocation fails, for every n, while a chain of handlers runs: all handlers are called, what they return is
// given back once, and the library's own part in the event of a group, for which a call waits, comes behind them.
#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "support/failing_memory.h"
#include "support/status.h"
#include "unit/client/group_invite_setting.h"

namespace pmix::client::client_events_nomem_test {
namespace {

using test::FailingMemory;

// As long as it is there, no allocation of this thread is counted.
class Spared {
  public:
    Spared() noexcept { FailingMemory::pause(); }
    ~Spared() {
        if (counted_) FailingMemory::resume();
    }
    Spared(const Spared&) = delete;
    Spared& operator=(const Spared&) = delete;

  private:
    const bool counted_ = FailingMemory::counts();
};

// What the handlers are given has no place for it.
struct Calls {
    std::atomic<int> plain{0}, with_object{0}, aborting{0}, given_back{0};
    std::atomic<size_t> infos{0};
    std::atomic<void*> held{nullptr};  // the last handler's way back
    InfoList results;
    bool later = false;
};
Calls* calls;

using Done = pmix_event_notification_cbfunc_fn_t;
Done way_back;

void plain(size_t, pmix_status_t, const pmix_proc_t*, pmix_info_t*, size_t, pmix_info_t*, size_t, Done done,
           void* cbdata) {
    ++calls->plain;
    done(PMIX_SUCCESS, nullptr, 0, nullptr, nullptr, cbdata);
}

void with_object(size_t, pmix_status_t, const pmix_proc_t*, pmix_info_t*, size_t ninfos, pmix_info_t*, size_t,
                 Done done, void* cbdata) {
    ++calls->with_object;
    calls->infos = ninfos;
    done(PMIX_SUCCESS, nullptr, 0, nullptr, nullptr, cbdata);
}

void give_back(pmix_status_t, void*) {
    ++calls->given_back;
}

void give_answer(Done done, void* cbdata) {
    done(PMIX_SUCCESS, calls->results.c_array(), calls->results.size(), &give_back, nullptr, cbdata);
}

// The last one: there is to be no group.
void aborting(size_t, pmix_status_t, const pmix_proc_t*, pmix_info_t*, size_t, pmix_info_t*, size_t, Done done,
              void* cbdata) {
    ++calls->aborting;
    if (!calls->later) return give_answer(done, cbdata);
    way_back = done;
    calls->held = cbdata;
}

// An invitation waits for its answer, of which the three handlers hear first.
class Trial final : public GroupInviteTest {
  public:
    Trial() {
        calls = &mine;
        mine.results.append_number("an.answer", PMIX_GROUP_CONSTRUCT_ABORT, PMIX_STATUS);
        session->on_loop_and_wait([this] {
            const auto answers = channel->on_send;
            channel->on_send = [answers](const Frame& f) {
                const Spared spared;
                answers(f);
            };
        });
        add(&plain, {});
        InfoList object;
        object.append_number<void*>(PMIX_EVENT_RETURN_OBJECT, this, PMIX_POINTER);
        add(&with_object, std::move(object));
        InfoList last;
        last.append_flag(PMIX_EVENT_HDLR_LAST, true);
        add(&aborting, std::move(last));
        const pmix_proc_t far = ProcId("far", 0).to_c();
        EXPECT_STATUS(PMIX_SUCCESS, group_invite_nb(*session, "g", &far, 1, nullptr, 0, &Ended::back, &ended));
        settle();
    }
    void TestBody() override {}

    // With the loop's allocations counted from here on. False: the event as a whole is lost, which ends the connection.
    bool hear() {
        bool heard = true;
        session->on_loop_and_wait([&] {
            InfoList infos;
            infos.append_string(PMIX_GROUP_ID, "g");
            infos.append_flag(PMIX_EVENT_NON_DEFAULT, true);
            common::EventNotify e;
            e.status = PMIX_GROUP_INVITE_ACCEPTED;
            e.source = {"far", 0};
            e.range = PMIX_RANGE_CUSTOM;
            e.infos = std::move(infos);
            if (counted) FailingMemory::resume();
            try {
                session->events().on_notify(std::move(e));
            } catch (const std::bad_alloc&) {
                heard = false;
            }
        });
        return heard;
    }
    // The loop stands still, and no allocation of this thread succeeds.
    template <class F>
    void while_the_queue_is_full(F&& act) {
        std::promise<void> stands, goes_on;
        loop->post([&] {
            stands.set_value();
            goes_on.get_future().wait();
        });
        stands.get_future().wait();
        FailingMemory::arm_all();
        FailingMemory::resume();
        try {
            for (;;) loop->post([] {});
        } catch (const std::bad_alloc&) {
        }
        act();
        FailingMemory::pause();
        goes_on.set_value();
    }
    void expect_all() {
        EXPECT_TRUE(ended.within(60)) << "the invitation waits";
        session->on_loop_and_wait([] { FailingMemory::pause(); });
        EXPECT_EQ(1, ended.times);
        EXPECT_STATUS(PMIX_GROUP_CONSTRUCT_ABORT, ended.status.load()) << "what the last handler returned is lost";
        EXPECT_EQ(1, mine.plain);
        EXPECT_EQ(1, mine.with_object);
        EXPECT_EQ(3u, mine.infos);
        EXPECT_EQ(1, mine.aborting);
        EXPECT_EQ(1, mine.given_back);
    }
    void end() {
        session->on_loop_and_wait([] { FailingMemory::pause(); });
        end_all();
    }

    Calls mine;
    Ended ended;
    bool counted = false;

  private:
    void add(pmix_notification_fn_t handler, InfoList infos) {
        const pmix_status_t code = PMIX_GROUP_INVITE_ACCEPTED;
        EXPECT_GE(
            session->events().register_handler(&code, 1, infos.c_array(), infos.size(), handler, nullptr, nullptr), 0);
    }
};

// Runs a trial with the first, the second, ... allocation failing, until none fails any more.
template <class Run>
void fail_everywhere(long least, Run&& run) {
    for (long n = 0; n < 1000; ++n) {
        SCOPED_TRACE("allocation " + std::to_string(n) + " fails");
        Trial trial;
        FailingMemory::arm(n);
        run(trial);
        trial.end();
        if (::testing::Test::HasFailure() || !FailingMemory::failed()) {
            EXPECT_GE(n, least) << "hardly any allocation was made to fail";
            return;
        }
    }
    ADD_FAILURE() << "there is no end of allocations";
}

TEST(ClientEventsNomemTest, Chain_OneAllocationFails_AllHandlersAndTheGroupHear) {
    fail_everywhere(5, [](Trial& trial) {
        trial.counted = true;
        if (trial.hear()) trial.expect_all();
    });
}

TEST(ClientEventsNomemTest, HandlerIsDoneLaterOnItsThread_OneAllocationFails_ChainGoesOn) {
    fail_everywhere(1, [](Trial& trial) {
        trial.mine.later = true;
        ASSERT_TRUE(trial.hear());
        while (trial.mine.held == nullptr) std::this_thread::yield();
        FailingMemory::resume();
        give_answer(way_back, trial.mine.held);
        FailingMemory::pause();
        trial.expect_all();
    });
}

TEST(ClientEventsNomemTest, HandlerIsDoneLaterOnItsThread_NoMemoryAtAll_ChainGoesOn) {
    Trial trial;
    trial.mine.later = true;
    ASSERT_TRUE(trial.hear());
    while (trial.mine.held == nullptr) std::this_thread::yield();
    trial.while_the_queue_is_full([&] { give_answer(way_back, trial.mine.held); });
    trial.expect_all();
    trial.end();
}

}  // namespace
}  // namespace pmix::client::client_events_nomem_test

// SPDX-License-Identifier: BSD-3-Clause
// What the tests of group invitations share: a client whose server the test plays.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <future>
#include <memory>
#include <thread>

#include "client/events/events.h"
#include "client/groups/group_api.h"
#include "client/groups/group_invite.h"
#include "client/groups/group_invite_api.h"
#include "client/modules.h"
#include "client/session/session.h"
#include "common/values/info_view.h"
#include "common/values/proc_array.h"
#include "support/fake_channel.h"
#include "support/status.h"

namespace pmix::client {

using common::Command;
using common::Frame;
using common::InfoList;
using common::ProcId;
using test::FakeChannel;

inline bool is(const Frame& frame, Command command) {
    return frame.header.command == static_cast<uint16_t>(command);
}

// How a join ended, and when.
struct Ended {
    std::atomic<int> times{0};
    std::atomic<pmix_status_t> status{PMIX_SUCCESS};
    const std::chrono::steady_clock::time_point begin = std::chrono::steady_clock::now();
    static void back(pmix_status_t status, pmix_info_t*, size_t, void* self, pmix_release_cbfunc_t, void*) {
        auto* ended = static_cast<Ended*>(self);
        ended->status = status;
        ++ended->times;
    }
    // False: it has not within so many seconds.
    bool within(int seconds) const {
        while (times == 0) {
            if (std::chrono::steady_clock::now() - begin > std::chrono::seconds(seconds)) return false;
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
        }
        return true;
    }
};

class GroupInviteTest : public ::testing::Test {
  protected:
    GroupInviteTest() {
        loop = std::move(transport::EventLoop::create()).value();
        session = client::make_session(*loop, ProcId("job", 1), ProcId("server", 0));
        auto made = std::make_unique<FakeChannel>(*loop, *session);
        channel = made.get();
        // Everything is answered but the collective, whose members never come.
        channel->on_send = [this](const Frame& f) {
            if (f.header.kind == common::FrameKind::request && !is(f, Command::group))
                channel->answer(f, PMIX_SUCCESS, common::Nothing{});
        };
        session->set_channel(std::move(made));
        EXPECT_STATUS(PMIX_SUCCESS, loop->start());
    }
    ~GroupInviteTest() override {
        loop->post([this] { session->shut(PMIX_ERR_INIT); });
        loop->stop();
        transport::LoopRole role(*loop);
        session.reset();
    }
    void settle() {
        for (int i = 0; i < 6; ++i) session->on_loop_and_wait([] {});
    }
    // The loop does together what `calls` asks of it: no limit of time runs out between, however slow the machine is.
    template <class F>
    void together(F&& calls) {
        std::promise<void> all;
        loop->post([asked = all.get_future()]() mutable { asked.wait(); });
        calls();
        all.set_value();
        settle();
    }
    void event(pmix_status_t code, InfoList&& infos, bool replayed = false, const ProcId& source = {"far", 0},
               const char* group = "g") {
        send_event(code, std::move(infos), replayed, source, group);
        settle();
    }
    void send_event(pmix_status_t code, InfoList&& infos, bool replayed = false, const ProcId& source = {"far", 0},
                    const char* group = "g") {
        infos.append_string(PMIX_GROUP_ID, group);
        infos.append_flag(PMIX_EVENT_NON_DEFAULT, true);
        common::EventNotify e;
        e.status = code;
        e.source = source;
        e.range = PMIX_RANGE_CUSTOM;
        e.infos = std::move(infos);
        if (replayed) e.replay_for = EventObserver::kReference + 1;
        channel->notify(e);
    }
    static InfoList members() {
        InfoList infos;
        common::append_proc_array(infos, PMIX_GROUP_MEMBERSHIP, {{"far", 0}, {"job", 1}, {"far", 2}});
        return infos;
    }
    // Accepts with a limit that leaves time for the event that follows, also on a machine that stops this process for
    // some seconds.
    static constexpr int kLimitS = 10;
    void join(Ended& ended) {
        InfoList limit;
        limit.append_number<int>(PMIX_TIMEOUT, kLimitS, PMIX_INT);
        const pmix_proc_t leader = ProcId("far", 0).to_c();
        ASSERT_STATUS(PMIX_SUCCESS, group_join_nb(*session, "g", &leader, PMIX_GROUP_ACCEPT, limit.c_array(),
                                                  limit.size(), &Ended::back, &ended));
        settle();
    }
    std::vector<Frame> constructs() const {
        std::vector<Frame> frames = channel->sent();
        std::erase_if(frames, [](const Frame& f) { return !is(f, Command::group); });
        return frames;
    }
    common::GroupRequest last_construct() const {
        const std::vector<Frame> frames = constructs();
        return frames.empty() ? common::GroupRequest() : FakeChannel::decoded<common::GroupRequest>(frames.back());
    }
    static ProcId inviter_in(const common::GroupRequest& request) {
        const pmix_proc_t* proc = nullptr;
        common::InfoView(request.directives.data(), request.directives.size()).get(PMIX_GROUP_LEADER, &proc);
        return proc == nullptr ? ProcId() : ProcId(*proc);
    }
    static const pmix_info_t* info_in(const common::GroupRequest& request, std::string_view key) {
        for (size_t i = 0; i < request.infos.size(); ++i)
            if (common::key_view(request.infos.data()[i]) == key) return &request.infos.data()[i];
        return nullptr;
    }
    // The last event of that code that was notified: its infos, and the processes that it is for.
    InfoList infos_of(pmix_status_t code) const {
        InfoList infos;
        for (const Frame& f : channel->sent()) {
            if (!is(f, Command::notify_event)) continue;
            auto request = FakeChannel::decoded<common::NotifyEventRequest>(f);
            if (request.status != code) continue;
            infos = request.infos.take();
            EXPECT_TRUE(common::InfoView(infos).flag(PMIX_EVENT_NON_DEFAULT)) << code << " is for those that take part";
        }
        return infos;
    }
    common::ProcList told(pmix_status_t code) const {
        common::ProcList procs;
        const InfoList infos = infos_of(code);
        if (const pmix_info_t* range = infos.find(PMIX_EVENT_CUSTOM_RANGE))
            common::read_proc_array(range->value, procs);
        return procs;
    }
    // The invitations that are open are answered now; others may follow.
    void end_invites() {
        session->on_loop_and_wait([this] { session->group_events().invites().server_gone(PMIX_ERR_INIT); });
    }
    // From now on each construct succeeds at once, with all that it names. Before the loop has anything to do.
    void grant_constructs() {
        channel->on_send = [this](const Frame& f) {
            if (f.header.kind != common::FrameKind::request) return;
            if (!is(f, Command::group)) return channel->answer(f, PMIX_SUCCESS, common::Nothing{});
            common::GroupReply reply;
            InfoList results;
            common::append_proc_array(results, PMIX_GROUP_MEMBERSHIP,
                                      FakeChannel::decoded<common::GroupRequest>(f).procs);
            reply.infos = std::move(results);
            channel->answer(f, PMIX_SUCCESS, reply);
        };
    }
    // Callers that still wait are answered now.
    void end_all() {
        session->on_loop_and_wait([this] { session->group_events().shut(PMIX_ERR_INIT); });
    }
    int times_selected() const {
        int selected = 0;
        for (const Frame& f : channel->sent())
            if (is(f, Command::notify_event))
                selected += FakeChannel::decoded<common::NotifyEventRequest>(f).status == PMIX_GROUP_LEADER_SELECTED;
        return selected;
    }

    std::unique_ptr<transport::EventLoop> loop;
    std::unique_ptr<Session> session;
    FakeChannel* channel = nullptr;
};

inline void leads(size_t, pmix_status_t, const pmix_proc_t*, pmix_info_t*, size_t, pmix_info_t*, size_t,
                  pmix_event_notification_cbfunc_fn_t done, void* cbdata) {
    InfoList contents;
    contents.append_flag(PMIX_GROUP_LEADER, true);
    done(PMIX_SUCCESS, contents.c_array(), contents.size(), nullptr, nullptr, cbdata);
}

// Another process in the place of the one that declined.
inline void replaces(size_t, pmix_status_t, const pmix_proc_t*, pmix_info_t*, size_t, pmix_info_t*, size_t,
                     pmix_event_notification_cbfunc_fn_t done, void* cbdata) {
    InfoList results;
    const pmix_proc_t other = ProcId("far", 2).to_c();
    results.append(PMIX_PROCID, &other, PMIX_PROC);
    done(PMIX_SUCCESS, results.c_array(), results.size(), nullptr, nullptr, cbdata);
}

inline void looks_on(size_t, pmix_status_t, const pmix_proc_t*, pmix_info_t*, size_t, pmix_info_t*, size_t,
                     pmix_event_notification_cbfunc_fn_t done, void* cbdata) {
    done(PMIX_SUCCESS, nullptr, 0, nullptr, nullptr, cbdata);
}

}  // namespace pmix::client

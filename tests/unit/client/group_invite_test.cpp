// SPDX-License-Identifier: BSD-3-Clause
// Invitations and joins against a server that the test plays: whose limit of time counts.
#include "client/groups/group_invite.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <future>
#include <memory>
#include <thread>

#include "client/events/events.h"
#include "client/groups/group_api.h"
#include "client/modules.h"
#include "client/session/session.h"
#include "common/values/info_view.h"
#include "common/values/proc_array.h"
#include "support/fake_channel.h"

namespace pmix::client {
namespace {

using common::Command;
using common::Frame;
using common::InfoList;
using common::ProcId;
using test::FakeChannel;

bool is(const Frame& frame, Command command) {
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
        EXPECT_EQ(PMIX_SUCCESS, loop->start());
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
        ASSERT_EQ(PMIX_SUCCESS, group_join_nb(*session, "g", &leader, PMIX_GROUP_ACCEPT, limit.c_array(), limit.size(),
                                              &Ended::back, &ended));
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
            if (request.status == code) infos = request.infos.take();
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

void leads(size_t, pmix_status_t, const pmix_proc_t*, pmix_info_t*, size_t, pmix_info_t*, size_t,
           pmix_event_notification_cbfunc_fn_t done, void* cbdata) {
    InfoList contents;
    contents.append_flag(PMIX_GROUP_LEADER, true);
    done(PMIX_SUCCESS, contents.c_array(), contents.size(), nullptr, nullptr, cbdata);
}

// Another process in the place of the one that declined.
void replaces(size_t, pmix_status_t, const pmix_proc_t*, pmix_info_t*, size_t, pmix_info_t*, size_t,
              pmix_event_notification_cbfunc_fn_t done, void* cbdata) {
    InfoList results;
    const pmix_proc_t other = ProcId("far", 2).to_c();
    results.append(PMIX_PROCID, &other, PMIX_PROC);
    done(PMIX_SUCCESS, results.c_array(), results.size(), nullptr, nullptr, cbdata);
}

void looks_on(size_t, pmix_status_t, const pmix_proc_t*, pmix_info_t*, size_t, pmix_info_t*, size_t,
              pmix_event_notification_cbfunc_fn_t done, void* cbdata) {
    done(PMIX_SUCCESS, nullptr, 0, nullptr, nullptr, cbdata);
}

TEST_F(GroupInviteTest, WhoTakesOverKeepsTheLimitOfItsJoin) {
    pmix_status_t code = PMIX_GROUP_LEADER_FAILED;
    ASSERT_GE(session->events().register_handler(&code, 1, nullptr, 0, &leads, nullptr, nullptr), 0);
    event(PMIX_GROUP_INVITED, members());
    Ended ended;
    join(ended);
    InfoList failed;
    const pmix_proc_t leader = ProcId("far", 0).to_c();
    failed.append(PMIX_EVENT_AFFECTED_PROC, &leader, PMIX_PROC);
    event(PMIX_GROUP_LEADER_FAILED, std::move(failed));
    EXPECT_TRUE(ended.within(60));
    EXPECT_EQ(PMIX_ERR_TIMEOUT, ended.status);
    EXPECT_EQ(1, times_selected());
}

// When a join begins to listen, the server replays earlier events, and these may be received before the join itself is
// on the loop: a member that chose to lead when the inviter ended leads all the same.
TEST_F(GroupInviteTest, AReplayTakesNothingBack) {
    pmix_status_t code = PMIX_GROUP_LEADER_FAILED;
    ASSERT_GE(session->events().register_handler(&code, 1, nullptr, 0, &leads, nullptr, nullptr), 0);
    for (bool replayed : {false, true}) {
        event(PMIX_GROUP_INVITED, members(), replayed);
        InfoList failed;
        const pmix_proc_t leader = ProcId("far", 0).to_c();
        failed.append(PMIX_EVENT_AFFECTED_PROC, &leader, PMIX_PROC);
        event(PMIX_GROUP_LEADER_FAILED, std::move(failed), replayed);
    }
    Ended ended;
    join(ended);
    EXPECT_EQ(1, times_selected());
    EXPECT_TRUE(ended.within(60));
}

// A handler of the invitation that takes its time.
struct Slow {
    static inline pmix_event_notification_cbfunc_fn_t done = nullptr;
    static inline void* cbdata = nullptr;
    static void on(size_t, pmix_status_t, const pmix_proc_t*, pmix_info_t*, size_t, pmix_info_t*, size_t,
                   pmix_event_notification_cbfunc_fn_t done_given, void* cbdata_given) {
        done = done_given;
        cbdata = cbdata_given;
    }
};

// What becomes of an invitation comes behind it, however long the handlers of the invitation take.
TEST_F(GroupInviteTest, AHandlerThatTakesItsTimeTakesNothingBack) {
    pmix_status_t invited = PMIX_GROUP_INVITED, gone = PMIX_GROUP_LEADER_FAILED;
    ASSERT_GE(session->events().register_handler(&invited, 1, nullptr, 0, &Slow::on, nullptr, nullptr), 0);
    ASSERT_GE(session->events().register_handler(&gone, 1, nullptr, 0, &leads, nullptr, nullptr), 0);
    Slow::done = nullptr;
    event(PMIX_GROUP_INVITED, members());
    ASSERT_NE(nullptr, Slow::done);
    InfoList failed;
    const pmix_proc_t leader = ProcId("far", 0).to_c();
    failed.append(PMIX_EVENT_AFFECTED_PROC, &leader, PMIX_PROC);
    event(PMIX_GROUP_LEADER_FAILED, std::move(failed));
    Slow::done(PMIX_SUCCESS, nullptr, 0, nullptr, nullptr, Slow::cbdata);
    settle();
    Ended ended;
    join(ended);
    EXPECT_EQ(1, times_selected());
    end_all();
    EXPECT_EQ(1, ended.times);
}

// Another group of the name had a second inviter, and this process hears of that only now.
TEST_F(GroupInviteTest, AReplayedSuccessorIsNobodysWhoseInviterIsThere) {
    Ended ended;
    join(ended);
    event(PMIX_GROUP_LEADER_SELECTED, {}, true, {"far", 2});
    event(PMIX_GROUP_MEMBERSHIP_UPDATE, members());
    int formed = 0;
    for (const Frame& f : channel->sent()) formed += is(f, Command::group);
    EXPECT_EQ(1, formed) << "its own inviter is followed";
    end_all();
    EXPECT_EQ(1, ended.times);
}

// A name may be used again before the collective that was given up has been answered.
TEST_F(GroupInviteTest, ALateAnswerIsNotThatOfTheNextInvitation) {
    const pmix_proc_t other = ProcId("far", 0).to_c();
    Ended first, second;
    ASSERT_EQ(PMIX_SUCCESS, group_invite_nb(*session, "g", &other, 1, nullptr, 0, &Ended::back, &first));
    settle();
    event(PMIX_GROUP_INVITE_ACCEPTED, {});
    const std::vector<Frame> sent = channel->sent();
    const auto collective =
        std::find_if(sent.begin(), sent.end(), [](const Frame& f) { return is(f, Command::group); });
    ASSERT_NE(sent.end(), collective);
    event(PMIX_GROUP_CONSTRUCT_ABORT, {});
    EXPECT_EQ(1, first.times);
    ASSERT_EQ(PMIX_SUCCESS, group_invite_nb(*session, "g", &other, 1, nullptr, 0, &Ended::back, &second));
    settle();
    channel->answer(*collective, PMIX_GROUP_CONSTRUCT_ABORT, common::GroupReply());
    settle();
    EXPECT_EQ(0, second.times) << "nobody has answered it yet";
    end_all();
    EXPECT_EQ(1, first.times);
    EXPECT_EQ(1, second.times);
}

// The list is the membership: the inviter is in it only where it names itself. rows: R13
TEST_F(GroupInviteTest, Invite_InviterNotInItsList_IsNoMember) {
    for (const bool listed : {false, true}) {
        const pmix_proc_t far = ProcId("far", 0).to_c(), self = ProcId("job", 1).to_c(), both[] = {far, self};
        Ended ended;
        ASSERT_EQ(PMIX_SUCCESS, group_invite_nb(*session, "g", both, listed ? 2 : 1, nullptr, 0, &Ended::back, &ended));
        settle();
        event(PMIX_GROUP_INVITE_ACCEPTED, {});
        const common::GroupRequest request = last_construct();
        EXPECT_EQ(listed ? (common::ProcList{{"far", 0}, {"job", 1}}) : (common::ProcList{{"far", 0}}), request.procs);
        EXPECT_EQ(ProcId("job", 1), inviter_in(request)) << "the server learns who takes part as well";
        common::GroupReply reply;
        InfoList results;
        common::append_proc_array(results, PMIX_GROUP_MEMBERSHIP, request.procs);
        reply.infos = std::move(results);
        channel->answer(constructs().back(), PMIX_SUCCESS, reply);
        settle();
        EXPECT_EQ(1, ended.times);
        EXPECT_EQ(PMIX_SUCCESS, ended.status);
        EXPECT_EQ(listed, session->group_membership().any()) << "its name means something to members only";
    }
}

// rows: R13
// proves: PMIx_Group_invite PMIX_GROUP_OPTIONAL client
TEST_F(GroupInviteTest, Invite_NobodyIsLeft_AbortsTheConstruct) {
    const pmix_proc_t far = ProcId("far", 0).to_c();
    InfoList optional;
    optional.append_flag(PMIX_GROUP_OPTIONAL, true);
    Ended ended;
    ASSERT_EQ(PMIX_SUCCESS, group_invite_nb(*session, "g", &far, 1, optional.c_array(), 1, &Ended::back, &ended));
    settle();
    event(PMIX_GROUP_INVITE_DECLINED, {});
    EXPECT_EQ(1, ended.times);
    EXPECT_EQ(PMIX_GROUP_CONSTRUCT_ABORT, ended.status);
    EXPECT_TRUE(constructs().empty());
}

// rows: R13
TEST_F(GroupInviteTest, Invite_OfANameThatIsBeingInvited_IsRefused) {
    const pmix_proc_t far = ProcId("far", 0).to_c();
    Ended first, second;
    ASSERT_EQ(PMIX_SUCCESS, group_invite_nb(*session, "g", &far, 1, nullptr, 0, &Ended::back, &first));
    settle();
    ASSERT_EQ(PMIX_SUCCESS, group_invite_nb(*session, "g", &far, 1, nullptr, 0, &Ended::back, &second));
    settle();
    EXPECT_EQ(1, second.times);
    EXPECT_EQ(PMIX_ERR_EXISTS, second.status);
    EXPECT_EQ(0, first.times) << "the first goes on";
    end_invites();
    settle();
}

// rows: R14
TEST_F(GroupInviteTest, Join_Declines_InviterIsTold) {
    const pmix_proc_t leader = ProcId("far", 0).to_c();
    Ended ended;
    ASSERT_EQ(PMIX_SUCCESS,
              group_join_nb(*session, "g", &leader, PMIX_GROUP_DECLINE, nullptr, 0, &Ended::back, &ended));
    settle();
    EXPECT_EQ(1, ended.times);
    EXPECT_EQ(PMIX_SUCCESS, ended.status);
    EXPECT_EQ((common::ProcList{{"far", 0}}), told(PMIX_GROUP_INVITE_DECLINED));
}

// Who is missing may be left out if participation is optional, or if a handler of the inviter's has seen the event and
// does not abort. Otherwise it is all or nothing, as in OpenPMIx 7.0. rows: R13 R14
TEST_F(GroupInviteTest, Invite_OneIsMissing_FormsOnlyWhereThatIsWanted) {
    enum Wants { nothing, optional, handler };
    const pmix_proc_t others[] = {ProcId("far", 0).to_c(), ProcId("far", 2).to_c()};
    for (const pmix_status_t code : {PMIX_GROUP_INVITE_DECLINED, PMIX_GROUP_INVITE_FAILED}) {
        for (const Wants wants : {nothing, optional, handler}) {
            InfoList infos;
            if (wants == optional) infos.append_flag(PMIX_GROUP_OPTIONAL, true);
            pmix_status_t reference = -1, watched = code;
            if (wants == handler)
                reference = session->events().register_handler(&watched, 1, nullptr, 0, &looks_on, nullptr, nullptr);
            const size_t before = constructs().size();
            Ended ended;
            ASSERT_EQ(PMIX_SUCCESS,
                      group_invite_nb(*session, "g", others, 2, infos.c_array(), infos.size(), &Ended::back, &ended));
            settle();
            InfoList affected;
            affected.append(PMIX_EVENT_AFFECTED_PROC, &others[0], PMIX_PROC);
            event(code, std::move(affected));
            if (reference >= 0) session->events().deregister_handler(static_cast<size_t>(reference), nullptr, nullptr);
            if (wants == nothing) {
                EXPECT_EQ(1, ended.times) << code;
                EXPECT_EQ(PMIX_GROUP_CONSTRUCT_ABORT, ended.status);
                EXPECT_EQ((common::ProcList{{"far", 2}}), told(PMIX_GROUP_CONSTRUCT_ABORT)) << "who may have accepted";
                continue;
            }
            event(PMIX_GROUP_INVITE_ACCEPTED, {}, false, {"far", 2});
            EXPECT_EQ(before + 1, constructs().size()) << code << " " << wants;
            EXPECT_EQ((common::ProcList{{"far", 2}}), last_construct().procs);
            end_invites();
        }
    }
}

// A group that formed without an invited process is success in part, however that process was lost. rows: R13 R14
TEST_F(GroupInviteTest, Invite_FormsWithoutAnInvited_IsPartialSuccess) {
    enum Lost { nobody, declined, silent };
    grant_constructs();
    const pmix_proc_t others[] = {ProcId("far", 0).to_c(), ProcId("far", 2).to_c()};
    for (const Lost lost : {nobody, declined, silent}) {
        InfoList infos;
        infos.append_flag(PMIX_GROUP_OPTIONAL, true);
        if (lost == silent) infos.append_number<int>(PMIX_TIMEOUT, 1, PMIX_INT);
        Ended ended;
        together([&] {
            EXPECT_EQ(PMIX_SUCCESS,
                      group_invite_nb(*session, "g", others, 2, infos.c_array(), infos.size(), &Ended::back, &ended));
            send_event(PMIX_GROUP_INVITE_ACCEPTED, {}, false, {"far", 2});
            if (lost == nobody) send_event(PMIX_GROUP_INVITE_ACCEPTED, {}, false, {"far", 0});
            if (lost == declined) send_event(PMIX_GROUP_INVITE_DECLINED, {}, false, {"far", 0});
        });
        EXPECT_TRUE(lost == silent ? ended.within(60) : ended.times == 1) << lost;
        end_invites();
        EXPECT_EQ(lost == nobody ? PMIX_SUCCESS : PMIX_ERR_PARTIAL_SUCCESS, ended.status) << lost;
    }
}

// A replacement takes the place of the process that declined: the group is whole. rows: R13 R14
TEST_F(GroupInviteTest, Invite_MemberIsReplaced_IsSuccess) {
    grant_constructs();
    pmix_status_t declined = PMIX_GROUP_INVITE_DECLINED;
    ASSERT_GE(session->events().register_handler(&declined, 1, nullptr, 0, &replaces, nullptr, nullptr), 0);
    const pmix_proc_t far = ProcId("far", 0).to_c();
    Ended ended;
    ASSERT_EQ(PMIX_SUCCESS, group_invite_nb(*session, "g", &far, 1, nullptr, 0, &Ended::back, &ended));
    settle();
    event(PMIX_GROUP_INVITE_DECLINED, {});
    EXPECT_TRUE(constructs().empty()) << "the replacement has not answered yet";
    event(PMIX_GROUP_INVITE_ACCEPTED, {}, false, {"far", 2});
    EXPECT_EQ(1, ended.times);
    EXPECT_EQ((common::ProcList{{"far", 2}}), last_construct().procs);
    EXPECT_EQ(PMIX_SUCCESS, ended.status);
    end_all();
}

// The process that takes over forms the group without the inviter, which was to be a member. rows: R16
TEST_F(GroupInviteTest, TakeOver_InviterWasAMember_IsPartialSuccess) {
    grant_constructs();
    pmix_status_t code = PMIX_GROUP_LEADER_FAILED;
    ASSERT_GE(session->events().register_handler(&code, 1, nullptr, 0, &leads, nullptr, nullptr), 0);
    event(PMIX_GROUP_INVITED, members());
    Ended ended;
    const pmix_proc_t leader = ProcId("far", 0).to_c();
    ASSERT_EQ(PMIX_SUCCESS, group_join_nb(*session, "g", &leader, PMIX_GROUP_ACCEPT, nullptr, 0, &Ended::back, &ended));
    settle();
    InfoList failed;
    failed.append(PMIX_EVENT_AFFECTED_PROC, &leader, PMIX_PROC);
    event(PMIX_GROUP_LEADER_FAILED, std::move(failed));
    event(PMIX_GROUP_INVITE_ACCEPTED, {}, false, {"far", 2});
    EXPECT_EQ(1, ended.times);
    EXPECT_EQ((common::ProcList{{"job", 1}, {"far", 2}}), last_construct().procs);
    EXPECT_EQ(PMIX_ERR_PARTIAL_SUCCESS, ended.status);
    end_all();
}

// A membership is the inviter's to announce: one from any other process moves no join. rows: R14 R16
TEST_F(GroupInviteTest, Join_MembershipFromAnotherProcess_IsNotFollowed) {
    event(PMIX_GROUP_INVITED, members());
    Ended ended;
    const pmix_proc_t leader = ProcId("far", 0).to_c();
    ASSERT_EQ(PMIX_SUCCESS, group_join_nb(*session, "g", &leader, PMIX_GROUP_ACCEPT, nullptr, 0, &Ended::back, &ended));
    settle();
    event(PMIX_GROUP_MEMBERSHIP_UPDATE, members(), false, {"far", 2});
    EXPECT_TRUE(constructs().empty());
    event(PMIX_GROUP_MEMBERSHIP_UPDATE, {}, false, {"far", 2});
    EXPECT_EQ(0, ended.times) << "an empty membership of another process does not end it either";
    event(PMIX_GROUP_MEMBERSHIP_UPDATE, members());
    EXPECT_EQ(1u, constructs().size());
    end_all();
    EXPECT_EQ(1, ended.times);
}

// Past the limit the group forms without those that are silent, and the inviter is told which they are. rows: R13 R14
// proves: PMIx_Group_invite PMIX_TIMEOUT client
TEST_F(GroupInviteTest, Invite_OptionalAndSilent_IsReportedAtTheLimit) {
    const pmix_proc_t others[] = {ProcId("far", 0).to_c(), ProcId("far", 2).to_c()};
    InfoList infos;
    infos.append_flag(PMIX_GROUP_OPTIONAL, true);
    infos.append_number<int>(PMIX_TIMEOUT, 1, PMIX_INT);
    Ended ended;
    together([&] {
        EXPECT_EQ(PMIX_SUCCESS,
                  group_invite_nb(*session, "g", others, 2, infos.c_array(), infos.size(), &Ended::back, &ended));
        send_event(PMIX_GROUP_INVITE_ACCEPTED, {}, false, {"far", 2});
    });
    const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (constructs().empty() && std::chrono::steady_clock::now() < until) settle();
    EXPECT_EQ((common::ProcList{{"far", 2}}), last_construct().procs);
    EXPECT_EQ((common::ProcList{{"job", 1}}), told(PMIX_GROUP_INVITE_FAILED));
    const pmix_proc_t* silent = nullptr;
    const InfoList contents = infos_of(PMIX_GROUP_INVITE_FAILED);
    common::InfoView(contents).get(PMIX_EVENT_AFFECTED_PROC, &silent);
    ASSERT_NE(nullptr, silent);
    EXPECT_EQ(ProcId("far", 0), ProcId(*silent));
    end_all();
}

// A process that takes over goes on with what the inviter had asked for. rows: R16
TEST_F(GroupInviteTest, TakeOver_InviterWantedOptionalMembers_StaysSo) {
    pmix_status_t code = PMIX_GROUP_LEADER_FAILED;
    ASSERT_GE(session->events().register_handler(&code, 1, nullptr, 0, &leads, nullptr, nullptr), 0);
    InfoList invitation = members();
    invitation.append_flag(PMIX_GROUP_OPTIONAL, true);
    event(PMIX_GROUP_INVITED, std::move(invitation));
    Ended ended;
    join(ended);
    InfoList failed;
    const pmix_proc_t leader = ProcId("far", 0).to_c();
    failed.append(PMIX_EVENT_AFFECTED_PROC, &leader, PMIX_PROC);
    event(PMIX_GROUP_LEADER_FAILED, std::move(failed));
    event(PMIX_GROUP_INVITE_DECLINED, {}, false, {"far", 2});
    EXPECT_EQ((common::ProcList{{"job", 1}}), last_construct().procs);
    const common::GroupRequest request = last_construct();
    EXPECT_TRUE(common::InfoView(request.infos.data(), request.infos.size()).flag(PMIX_GROUP_OPTIONAL));
    end_all();
}

// Endpoint data that members give at the invitation or the answer goes into the construct, as with
// PMIx_Group_construct.
// rows: R5 R13 R16
// proves: PMIx_Group_invite PMIX_GROUP_ENDPT_DATA server
// proves: PMIx_Group_join PMIX_GROUP_ENDPT_DATA server
TEST_F(GroupInviteTest, Invite_AndJoin_EndpointDataGoesIntoTheConstruct) {
    char text[] = "endpoint";
    pmix_byte_object_t object{text, sizeof text};
    InfoList infos;
    infos.append(PMIX_GROUP_ENDPT_DATA, &object, PMIX_BYTE_OBJECT, PMIX_INFO_REQD);
    const pmix_proc_t far = ProcId("far", 0).to_c();
    Ended invited, joined;
    ASSERT_EQ(PMIX_SUCCESS, group_invite_nb(*session, "h", &far, 1, infos.c_array(), 1, &Ended::back, &invited));
    settle();
    event(PMIX_GROUP_INVITE_ACCEPTED, {}, false, {"far", 0}, "h");
    ASSERT_EQ(1u, constructs().size());
    EXPECT_NE(nullptr, info_in(last_construct(), PMIX_GROUP_ENDPT_DATA));
    event(PMIX_GROUP_INVITED, members());
    ASSERT_EQ(PMIX_SUCCESS,
              group_join_nb(*session, "g", &far, PMIX_GROUP_ACCEPT, infos.c_array(), 1, &Ended::back, &joined));
    settle();
    event(PMIX_GROUP_MEMBERSHIP_UPDATE, members());
    ASSERT_EQ(2u, constructs().size());
    EXPECT_NE(nullptr, info_in(last_construct(), PMIX_GROUP_ENDPT_DATA));
    end_all();
}

// rows: R13 R16
TEST_F(GroupInviteTest, Join_InviterThatIsNoMember_TakesPartAllTheSame) {
    event(PMIX_GROUP_INVITED, {});
    Ended ended;
    join(ended);
    InfoList update;
    common::append_proc_array(update, PMIX_GROUP_MEMBERSHIP, {{"job", 1}, {"far", 2}});
    event(PMIX_GROUP_MEMBERSHIP_UPDATE, std::move(update));
    const common::GroupRequest request = last_construct();
    EXPECT_EQ((common::ProcList{{"job", 1}, {"far", 2}}), request.procs);
    EXPECT_EQ(ProcId("far", 0), inviter_in(request));
    end_all();
}

// A tool's server may go while a join is on its way to the loop.
TEST_F(GroupInviteTest, WhoseServerHasGoneMeanwhileIsAnswered) {
    std::promise<void> go_on;
    loop->post([this, held = go_on.get_future()]() mutable {
        held.wait();
        channel->open = false;
        session->group_events().invites().server_gone(PMIX_ERR_LOST_CONNECTION);
    });
    const pmix_proc_t leader = ProcId("far", 0).to_c(), others[] = {ProcId("far", 0).to_c(), ProcId("far", 2).to_c()};
    Ended joined, invited;
    EXPECT_EQ(PMIX_SUCCESS,
              group_join_nb(*session, "g", &leader, PMIX_GROUP_ACCEPT, nullptr, 0, &Ended::back, &joined));
    EXPECT_EQ(PMIX_SUCCESS, group_invite_nb(*session, "h", others, 2, nullptr, 0, &Ended::back, &invited));
    go_on.set_value();
    settle();
    EXPECT_EQ(1, joined.times);
    EXPECT_EQ(PMIX_ERR_UNREACH, joined.status);
    EXPECT_EQ(1, invited.times);
    EXPECT_EQ(PMIX_ERR_UNREACH, invited.status);
}

// The events are asked for once, and whatever any thread asks afterwards comes behind that.
TEST_F(GroupInviteTest, SecondJoin_WhileTheFirstBeginsToListen_WaitsForIt) {
    std::promise<void> began;
    std::atomic<bool> first{true};
    std::atomic<int> before{0}, asked{0};
    std::atomic<bool> sent{false};
    channel->on_send = [&](const Frame& f) {
        if (is(f, Command::group)) {
            ++asked;
            if (!sent) ++before;
        }
        if (!is(f, Command::register_events) || !first.exchange(false)) return;
        began.set_value();
        // The others have a moment to do it wrong.
        const auto until = std::chrono::steady_clock::now() + std::chrono::milliseconds(200);
        while (asked == 0 && std::chrono::steady_clock::now() < until) std::this_thread::yield();
        sent = true;
    };
    const auto construct = [this](const char* name) {
        InfoList infos;
        infos.append_flag(PMIX_GROUP_NOTIFY_TERMINATION, true);
        const pmix_proc_t all = ProcId("job", PMIX_RANK_WILDCARD).to_c();
        return group_construct_nb(
            *session, name, &all, 1, infos.c_array(), infos.size(),
            [](pmix_status_t, pmix_info_t*, size_t, void*, pmix_release_cbfunc_t, void*) {}, nullptr);
    };
    std::thread one([&] { EXPECT_EQ(PMIX_SUCCESS, construct("a")); });
    began.get_future().wait();
    EXPECT_EQ(PMIX_SUCCESS, construct("b"));
    one.join();
    EXPECT_EQ(2, asked);
    EXPECT_EQ(0, before);
}

TEST_F(GroupInviteTest, TheShorterLimitCountsOnceTheGroupForms) {
    event(PMIX_GROUP_INVITED, members());
    Ended ended;
    join(ended);
    InfoList update = members();
    update.append_number<int>(PMIX_TIMEOUT, 600, PMIX_INT);
    event(PMIX_GROUP_MEMBERSHIP_UPDATE, std::move(update));
    EXPECT_TRUE(ended.within(60));
    EXPECT_EQ(PMIX_ERR_TIMEOUT, ended.status);
    int asked = 0;
    for (const Frame& f : channel->sent()) {
        if (!is(f, Command::group)) continue;
        const auto request = FakeChannel::decoded<common::GroupRequest>(f);
        int seconds = 0, limits = 0;
        for (size_t i = 0; i < request.infos.size(); ++i)
            limits += common::key_view(request.infos.data()[i]) == PMIX_TIMEOUT;
        EXPECT_EQ(1, limits);
        common::InfoView(request.infos.data(), request.infos.size()).get(PMIX_TIMEOUT, &seconds);
        EXPECT_GE(seconds, 1) << "what the server is told";
        EXPECT_LE(seconds, kLimitS);
        ++asked;
    }
    EXPECT_EQ(1, asked);
}

}  // namespace
}  // namespace pmix::client

// SPDX-License-Identifier: BSD-3-Clause
// Joining a group by invitation, and taking the place of an inviter that is lost.
#include "support/status.h"
#include "unit/client/group_invite_setting.h"

namespace pmix::client::group_join_test {
namespace {

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
    EXPECT_STATUS(PMIX_ERR_TIMEOUT, ended.status);
    EXPECT_EQ(1, times_selected());
}

// Without its event a call would wait for ever. rows: R13 R15
TEST_F(GroupInviteTest, AnEventThatIsRefusedEndsItsCall) {
    session->on_loop_and_wait([&] {
        channel->on_send = [this](const Frame& f) {
            if (f.header.kind != common::FrameKind::request || is(f, Command::group)) return;
            const bool event = is(f, Command::notify_event);
            channel->answer(f, event ? PMIX_ERR_NOT_SUPPORTED : PMIX_SUCCESS, common::Nothing{});
        };
    });
    const pmix_proc_t far = ProcId("far", 0).to_c();
    Ended joined, declined, invited;
    ASSERT_STATUS(PMIX_SUCCESS,
                  group_join_nb(*session, "g", &far, PMIX_GROUP_ACCEPT, nullptr, 0, &Ended::back, &joined));
    ASSERT_STATUS(PMIX_SUCCESS,
                  group_join_nb(*session, "h", &far, PMIX_GROUP_DECLINE, nullptr, 0, &Ended::back, &declined));
    ASSERT_STATUS(PMIX_SUCCESS, group_invite_nb(*session, "i", &far, 1, nullptr, 0, &Ended::back, &invited));
    settle();
    for (const Ended* ended : {&joined, &declined, &invited}) {
        EXPECT_EQ(1, ended->times);
        EXPECT_STATUS(PMIX_ERR_NOT_SUPPORTED, ended->status);
    }
    // A server of OpenPMIx says so of what it has delivered.
    session->set_server_has_more();
    Ended waits;
    ASSERT_STATUS(PMIX_SUCCESS,
                  group_join_nb(*session, "g", &far, PMIX_GROUP_ACCEPT, nullptr, 0, &Ended::back, &waits));
    settle();
    EXPECT_EQ(0, waits.times);
    end_all();
}

// Without its events no call under way would get an answer.
TEST_F(GroupInviteTest, Registration_IsRefusedForGood_EndsCallsUnderWay) {
    session->on_loop_and_wait([&] {
        channel->on_send = [this](const Frame& f) {
            if (f.header.kind != common::FrameKind::request || is(f, Command::group)) return;
            channel->answer(f, is(f, Command::register_events) ? PMIX_ERR_NOMEM : PMIX_SUCCESS, common::Nothing{});
        };
    });
    const pmix_proc_t far = ProcId("far", 0).to_c();
    Ended joined, invited;
    ASSERT_STATUS(PMIX_SUCCESS,
                  group_join_nb(*session, "g", &far, PMIX_GROUP_ACCEPT, nullptr, 0, &Ended::back, &joined));
    ASSERT_STATUS(PMIX_SUCCESS, group_invite_nb(*session, "i", &far, 1, nullptr, 0, &Ended::back, &invited));
    for (const Ended* ended : {&joined, &invited}) {
        EXPECT_TRUE(ended->within(60));
        EXPECT_STATUS(PMIX_ERR_NOMEM, ended->status);
    }
}

TEST_F(GroupInviteTest, InviteAndJoin_ProcessFinalizes_End) {
    const pmix_proc_t far = ProcId("far", 0).to_c();
    Ended joined, invited;
    ASSERT_STATUS(PMIX_SUCCESS,
                  group_join_nb(*session, "g", &far, PMIX_GROUP_ACCEPT, nullptr, 0, &Ended::back, &joined));
    ASSERT_STATUS(PMIX_SUCCESS, group_invite_nb(*session, "i", &far, 1, nullptr, 0, &Ended::back, &invited));
    settle();
    EXPECT_EQ(0, joined.times + invited.times);
    session->on_loop_and_wait([this] { session->shut(PMIX_ERR_INIT); });
    for (const Ended* ended : {&joined, &invited}) {
        EXPECT_EQ(1, ended->times);
        EXPECT_STATUS(PMIX_ERR_INIT, ended->status);
    }
}

// Nobody was invited, so nobody can follow the inviter. rows: R13 R15
TEST_F(GroupInviteTest, AnInviterThatEndsWithoutAnInvitationEndsTheJoin) {
    pmix_status_t code = PMIX_GROUP_LEADER_FAILED;
    ASSERT_GE(session->events().register_handler(&code, 1, nullptr, 0, &leads, nullptr, nullptr), 0);
    Ended ended;
    join(ended);
    InfoList failed;
    const pmix_proc_t leader = ProcId("far", 0).to_c();
    failed.append(PMIX_EVENT_AFFECTED_PROC, &leader, PMIX_PROC);
    event(PMIX_GROUP_LEADER_FAILED, std::move(failed));
    EXPECT_EQ(1, ended.times);
    EXPECT_STATUS(PMIX_GROUP_LEADER_FAILED, ended.status);
    EXPECT_EQ(0, times_selected());
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

// Without the events of groups it would wait for ever.
TEST_F(GroupInviteTest, Join_ServerHasNoMemoryForItsRegistration_RegistersLater) {
    std::atomic<int> registrations{0};
    channel->on_send = [&](const Frame& f) {
        if (f.header.kind != common::FrameKind::request) return;
        const bool registers = is(f, Command::register_events);
        const bool refused = registers && ++registrations <= 2;
        channel->answer(f, refused ? PMIX_ERR_NOMEM : PMIX_SUCCESS, common::Nothing{});
    };
    Ended ended;
    join(ended);
    const test::LongWait wait;
    while (registrations < 3 && !wait.over()) settle();
    settle();
    EXPECT_EQ(3, registrations) << "and no more, once it was taken";
    event(PMIX_GROUP_CONSTRUCT_ABORT, {});
    EXPECT_EQ(1, ended.times);
}

std::atomic<int> aborts_seen{0};

void counts_aborts(size_t, pmix_status_t, const pmix_proc_t*, pmix_info_t*, size_t, pmix_info_t*, size_t,
                   pmix_event_notification_cbfunc_fn_t done, void* cbdata) {
    ++aborts_seen;
    done(PMIX_EVENT_ACTION_COMPLETE, nullptr, 0, nullptr, nullptr, cbdata);
}

InfoList end_of_far() {
    InfoList infos;
    const pmix_proc_t leader = ProcId("far", 0).to_c();
    infos.append(PMIX_GROUP_LEADER, &leader, PMIX_PROC);
    return infos;
}

// An acceptance that crosses the end of its invitation: the process is told of the end as one of the invited, and the
// answer to its acceptance ends a join that began in between, but is nothing that its handlers see once more. rows: R15
TEST_F(GroupInviteTest, Join_OfAnEndedInvitation_EndsAndHandlersAreCalledOnce) {
    aborts_seen = 0;
    pmix_status_t aborted = PMIX_GROUP_CONSTRUCT_ABORT;
    ASSERT_GE(session->events().register_handler(&aborted, 1, nullptr, 0, &counts_aborts, nullptr, nullptr), 0);
    event(PMIX_GROUP_INVITED, members());
    event(PMIX_GROUP_CONSTRUCT_ABORT, end_of_far());
    EXPECT_EQ(1, aborts_seen);
    Ended ended;
    join(ended);
    EXPECT_EQ(0, ended.times);
    InfoList answer = end_of_far();
    answer.append_flag(common::kAnswersAcceptance, true);
    event(PMIX_GROUP_CONSTRUCT_ABORT, std::move(answer));
    EXPECT_EQ(1, ended.times);
    EXPECT_STATUS(PMIX_GROUP_CONSTRUCT_ABORT, ended.status);
    EXPECT_EQ(1, aborts_seen);
}

// The other end of it: the inviter answers who comes too late, and marks the answer. rows: R15
TEST_F(GroupInviteTest, Invite_AcceptedAfterItsEnd_IsAnsweredForTheLibraryOnly) {
    const pmix_proc_t far = ProcId("far", 0).to_c();
    Ended invited;
    ASSERT_STATUS(PMIX_SUCCESS, group_invite_nb(*session, "g", &far, 1, nullptr, 0, &Ended::back, &invited));
    settle();
    event(PMIX_GROUP_INVITE_DECLINED, {});
    EXPECT_STATUS(PMIX_GROUP_CONSTRUCT_ABORT, invited.status);
    EXPECT_EQ((common::ProcList{{"far", 0}, {"job", 1}}), told(PMIX_GROUP_CONSTRUCT_ABORT));
    EXPECT_EQ(nullptr, infos_of(PMIX_GROUP_CONSTRUCT_ABORT).find(common::kAnswersAcceptance));
    event(PMIX_GROUP_INVITE_ACCEPTED, {});
    EXPECT_EQ((common::ProcList{{"far", 0}}), told(PMIX_GROUP_CONSTRUCT_ABORT));
    const InfoList answer = infos_of(PMIX_GROUP_CONSTRUCT_ABORT);
    EXPECT_TRUE(common::answers_acceptance(PMIX_GROUP_CONSTRUCT_ABORT, answer));
    // One that was not told of the end, since it was not invited, hears of it by this.
    event(PMIX_GROUP_INVITE_ACCEPTED, {}, false, {"far", 7});
    EXPECT_EQ((common::ProcList{{"far", 7}}), told(PMIX_GROUP_CONSTRUCT_ABORT));
    EXPECT_EQ(nullptr, infos_of(PMIX_GROUP_CONSTRUCT_ABORT).find(common::kAnswersAcceptance));
}

// Silent until the limit, it is no member; the others form the group. rows: R15
TEST_F(GroupInviteTest, Invite_AcceptedByOneThatWasLeftOutWhileItForms_IsAnswered) {
    const pmix_proc_t both[] = {ProcId("far", 0).to_c(), ProcId("far", 2).to_c()};
    // One of the name was given up before: of that they were told.
    Ended before;
    ASSERT_STATUS(PMIX_SUCCESS, group_invite_nb(*session, "g", both, 2, nullptr, 0, &Ended::back, &before));
    settle();
    event(PMIX_GROUP_INVITE_DECLINED, {});
    ASSERT_EQ(1, before.times);
    InfoList optional;
    optional.append_flag(PMIX_GROUP_OPTIONAL, true);
    Ended invited;
    ASSERT_STATUS(PMIX_SUCCESS, group_invite_nb(*session, "g", both, 2, optional.c_array(), 1, &Ended::back, &invited));
    settle();
    event(PMIX_GROUP_INVITE_DECLINED, {}, false, {"far", 2});
    event(PMIX_GROUP_INVITE_ACCEPTED, {});
    ASSERT_EQ(1u, constructs().size()) << "it forms";
    event(PMIX_GROUP_INVITE_ACCEPTED, {}, false, {"far", 2});
    EXPECT_EQ((common::ProcList{{"far", 2}}), told(PMIX_GROUP_CONSTRUCT_ABORT));
    EXPECT_EQ(nullptr, infos_of(PMIX_GROUP_CONSTRUCT_ABORT).find(common::kAnswersAcceptance))
        << "it has not been told of an end";
    EXPECT_EQ(0, invited.times);
    end_all();
}

// rows: R14
TEST_F(GroupInviteTest, Join_Declines_InviterIsTold) {
    const pmix_proc_t leader = ProcId("far", 0).to_c();
    Ended ended;
    ASSERT_STATUS(PMIX_SUCCESS,
                  group_join_nb(*session, "g", &leader, PMIX_GROUP_DECLINE, nullptr, 0, &Ended::back, &ended));
    settle();
    EXPECT_EQ(1, ended.times);
    EXPECT_STATUS(PMIX_SUCCESS, ended.status);
    EXPECT_EQ((common::ProcList{{"far", 0}}), told(PMIX_GROUP_INVITE_DECLINED));
}

// The process that takes over forms the group without the inviter, which was to be a member. rows: R16
TEST_F(GroupInviteTest, TakeOver_InviterWasAMember_IsPartialSuccess) {
    grant_constructs();
    pmix_status_t code = PMIX_GROUP_LEADER_FAILED;
    ASSERT_GE(session->events().register_handler(&code, 1, nullptr, 0, &leads, nullptr, nullptr), 0);
    event(PMIX_GROUP_INVITED, members());
    Ended ended;
    const pmix_proc_t leader = ProcId("far", 0).to_c();
    ASSERT_STATUS(PMIX_SUCCESS,
                  group_join_nb(*session, "g", &leader, PMIX_GROUP_ACCEPT, nullptr, 0, &Ended::back, &ended));
    settle();
    InfoList failed;
    failed.append(PMIX_EVENT_AFFECTED_PROC, &leader, PMIX_PROC);
    event(PMIX_GROUP_LEADER_FAILED, std::move(failed));
    event(PMIX_GROUP_INVITE_ACCEPTED, {}, false, {"far", 2});
    EXPECT_EQ(1, ended.times);
    EXPECT_EQ((common::ProcList{{"job", 1}, {"far", 2}}), last_construct().procs);
    EXPECT_STATUS(PMIX_ERR_PARTIAL_SUCCESS, ended.status);
    end_all();
}

// A membership is the inviter's to announce: one from any other process moves no join. rows: R14 R16
TEST_F(GroupInviteTest, Join_MembershipFromAnotherProcess_IsNotFollowed) {
    event(PMIX_GROUP_INVITED, members());
    Ended ended;
    const pmix_proc_t leader = ProcId("far", 0).to_c();
    ASSERT_STATUS(PMIX_SUCCESS,
                  group_join_nb(*session, "g", &leader, PMIX_GROUP_ACCEPT, nullptr, 0, &Ended::back, &ended));
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

// The server of an inviter with OpenPMIx 7 forms the group, and tells of it when it is there. rows: R16
TEST_F(GroupInviteTest, Join_GroupIsSaidToHaveFormed_EndsWithIt) {
    event(PMIX_GROUP_INVITED, members());
    Ended ended;
    join(ended);
    const auto formed = [](const common::ProcList& of) {
        InfoList infos;
        common::append_proc_array(infos, PMIX_GROUP_MEMBERSHIP, of);
        infos.append_number<size_t>(PMIX_GROUP_CONTEXT_ID, 9, PMIX_SIZE);
        return infos;
    };
    event(PMIX_GROUP_CONSTRUCT_COMPLETE, formed({{"far", 0}, {"job", 1}}), false, {"far", 2});
    event(PMIX_GROUP_CONSTRUCT_COMPLETE, formed({{"far", 0}, {"far", 2}}));
    EXPECT_EQ(0, ended.times) << "by another process, and without this one";
    event(PMIX_GROUP_CONSTRUCT_COMPLETE, formed({{"far", 0}, {"job", 1}}));
    EXPECT_EQ(1, ended.times);
    EXPECT_STATUS(PMIX_SUCCESS, ended.status);
    EXPECT_TRUE(constructs().empty()) << "there is no collective";
    EXPECT_TRUE(session->group_membership().any());
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
    std::thread one([&] { EXPECT_STATUS(PMIX_SUCCESS, construct("a")); });
    began.get_future().wait();
    EXPECT_STATUS(PMIX_SUCCESS, construct("b"));
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
    EXPECT_STATUS(PMIX_ERR_TIMEOUT, ended.status);
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
}  // namespace pmix::client::group_join_test

// SPDX-License-Identifier: BSD-3-Clause
// Invitations and joins against a server that the test plays: whose limit of time counts.
#include "unit/client/group_invite_setting.h"

namespace pmix::client {
namespace {

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

// A missing member may be left out if participation is optional, or if a handler of the inviter's has seen the event
// and
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

}  // namespace
}  // namespace pmix::client

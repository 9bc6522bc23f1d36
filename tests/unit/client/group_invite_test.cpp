// SPDX-License-Identifier: BSD-3-Clause
// Invitations and joins against a server that the test plays: whose limit of time counts.
#include "client/data/get.h"
#include "client/data/put.h"
#include "client/groups/group_api.h"
#include "client/state/group_membership.h"
#include "support/status.h"
#include "unit/client/group_invite_setting.h"

namespace pmix::client::group_invite_test {
namespace {

// A name may be used again before the collective that was given up has been answered.
TEST_F(GroupInviteTest, ALateAnswerIsNotThatOfTheNextInvitation) {
    const pmix_proc_t other = ProcId("far", 0).to_c();
    Ended first, second;
    ASSERT_STATUS(PMIX_SUCCESS, group_invite_nb(*session, "g", &other, 1, nullptr, 0, &Ended::back, &first));
    settle();
    event(PMIX_GROUP_INVITE_ACCEPTED, {});
    const std::vector<Frame> sent = channel->sent();
    const auto collective =
        std::find_if(sent.begin(), sent.end(), [](const Frame& f) { return is(f, Command::group); });
    ASSERT_NE(sent.end(), collective);
    event(PMIX_GROUP_CONSTRUCT_ABORT, {});
    EXPECT_EQ(1, first.times);
    ASSERT_STATUS(PMIX_SUCCESS, group_invite_nb(*session, "g", &other, 1, nullptr, 0, &Ended::back, &second));
    settle();
    channel->answer(*collective, PMIX_GROUP_CONSTRUCT_ABORT, common::GroupReply());
    settle();
    EXPECT_EQ(0, second.times) << "nobody has answered it yet";
    end_all();
    EXPECT_EQ(1, first.times);
    EXPECT_EQ(1, second.times);
}

// A member of the group that an invitation has formed, and accepts again, waits for the next one of the name. One that
// is no member is late, as is everybody where there is no group.
TEST_F(GroupInviteTest, AcceptedAfterTheEnd_OnlyALateOneIsAnswered) {
    grant_constructs();
    const pmix_proc_t other = ProcId("far", 0).to_c();
    Ended first, second;
    ASSERT_STATUS(PMIX_SUCCESS, group_invite_nb(*session, "g", &other, 1, nullptr, 0, &Ended::back, &first));
    settle();
    event(PMIX_GROUP_INVITE_ACCEPTED, {});
    ASSERT_EQ(1, first.times);
    const auto answers = [this] {
        size_t count = 0;
        for (const Frame& f : channel->sent())
            if (is(f, Command::notify_event))
                count += FakeChannel::decoded<common::NotifyEventRequest>(f).status == PMIX_GROUP_CONSTRUCT_ABORT;
        return count;
    };
    event(PMIX_GROUP_INVITE_ACCEPTED, {});
    EXPECT_EQ(0u, answers());
    event(PMIX_GROUP_INVITE_ACCEPTED, {}, false, {"far", 5});
    EXPECT_EQ(1u, answers());
    EXPECT_EQ((common::ProcList{{"far", 5}}), told(PMIX_GROUP_CONSTRUCT_ABORT));
    event(PMIX_GROUP_INVITE_ACCEPTED, {}, false, {"far", 5});
    EXPECT_EQ(2u, answers());
    ASSERT_STATUS(PMIX_SUCCESS, group_invite_nb(*session, "g", &other, 1, nullptr, 0, &Ended::back, &second));
    settle();
    event(PMIX_GROUP_INVITE_DECLINED, {});
    ASSERT_EQ(1, second.times);
    const size_t before = answers();
    event(PMIX_GROUP_INVITE_ACCEPTED, {});
    EXPECT_EQ(before + 1, answers());
}

// The list is the membership: the inviter is in it only where it names itself. rows: R13
TEST_F(GroupInviteTest, Invite_InviterNotInItsList_IsNoMember) {
    for (const bool listed : {false, true}) {
        const pmix_proc_t far = ProcId("far", 0).to_c(), self = ProcId("job", 1).to_c(), both[] = {far, self};
        Ended ended;
        ASSERT_STATUS(PMIX_SUCCESS,
                      group_invite_nb(*session, "g", both, listed ? 2 : 1, nullptr, 0, &Ended::back, &ended));
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
        EXPECT_STATUS(PMIX_SUCCESS, ended.status);
        EXPECT_EQ(listed, session->group_membership().any()) << "its name means something to members only";
    }
}

// All callers of the construct wait for the decision.
TEST_F(GroupInviteTest, Decision_ServerHasNoMemoryForIt_IsRepeated) {
    const pmix_proc_t both[] = {ProcId("far", 0).to_c(), ProcId("job", 1).to_c()};
    InfoList decides;
    decides.append_flag(PMIX_GROUP_NOTIFY_TERMINATION, true);
    Ended ended;
    const auto back = [](pmix_status_t status, pmix_info_t* infos, size_t n, void* self, pmix_release_cbfunc_t release,
                         void* data) {
        Ended::back(status, infos, n, self, nullptr, nullptr);
        if (release != nullptr) release(data);
    };
    ASSERT_STATUS(PMIX_SUCCESS, group_construct_nb(*session, "g", both, 2, decides.c_array(), 1, back, &ended));
    settle();
    ASSERT_EQ(1u, constructs().size());
    event(PMIX_GROUP_MEMBER_FAILED, {});
    ASSERT_EQ(2u, constructs().size());
    EXPECT_EQ(common::GroupCall::decide, last_construct().call);
    for (const pmix_status_t status : {PMIX_ERR_NOMEM, PMIX_ERROR}) {
        const size_t before = constructs().size();
        size_t at_once = 0;
        together([&] {
            channel->answer(constructs().back(), status, common::GroupReply());
            loop->post([&] { at_once = constructs().size(); });
        });
        EXPECT_EQ(before, at_once) << "the server is left a moment to find memory";
        const test::LongWait wait;
        while (constructs().size() == before && !wait.over()) settle();
        EXPECT_EQ(before + 1, constructs().size());
    }
    channel->answer(constructs().back(), PMIX_SUCCESS, common::GroupReply());
    settle();
    EXPECT_EQ(4u, constructs().size());
    EXPECT_EQ(common::GroupCall::decide, last_construct().call);
    EXPECT_EQ("g", last_construct().name);
    channel->answer(constructs().front(), PMIX_ERR_TIMEOUT, common::GroupReply());
    settle();
    EXPECT_EQ(1, ended.times);
}

// The same where this process itself cannot send it.
TEST_F(GroupInviteTest, Decision_NoMemoryToSendIt_IsSentLater) {
    const pmix_proc_t both[] = {ProcId("far", 0).to_c(), ProcId("job", 1).to_c()};
    InfoList decides;
    decides.append_flag(PMIX_GROUP_NOTIFY_TERMINATION, true);
    Ended ended;
    ASSERT_STATUS(PMIX_SUCCESS, group_construct_nb(*session, "g", both, 2, decides.c_array(), 1, &Ended::back, &ended));
    settle();
    std::atomic<int> refusals{0};
    session->on_loop_and_wait([&] {
        channel->before_send = [&](const Frame& f) {
            return is(f, Command::group) && ++refusals <= 2 ? PMIX_ERR_NOMEM : PMIX_SUCCESS;
        };
    });
    event(PMIX_GROUP_MEMBER_FAILED, {});
    const test::LongWait wait;
    while (constructs().size() < 2 && !wait.over()) settle();
    EXPECT_EQ(3, refusals);
    EXPECT_EQ(common::GroupCall::decide, last_construct().call);
    session->on_loop_and_wait([&] { channel->before_send = nullptr; });
    channel->answer(constructs().front(), PMIX_ERR_TIMEOUT, common::GroupReply());
    settle();
    EXPECT_EQ(1, ended.times);
}

// rows: R13
// proves: PMIx_Group_invite PMIX_GROUP_OPTIONAL client
TEST_F(GroupInviteTest, Invite_NobodyIsLeft_AbortsTheConstruct) {
    const pmix_proc_t far = ProcId("far", 0).to_c();
    InfoList optional;
    optional.append_flag(PMIX_GROUP_OPTIONAL, true);
    Ended ended;
    ASSERT_STATUS(PMIX_SUCCESS, group_invite_nb(*session, "g", &far, 1, optional.c_array(), 1, &Ended::back, &ended));
    settle();
    event(PMIX_GROUP_INVITE_DECLINED, {});
    EXPECT_EQ(1, ended.times);
    EXPECT_STATUS(PMIX_GROUP_CONSTRUCT_ABORT, ended.status);
    EXPECT_TRUE(constructs().empty());
}

// rows: R13
TEST_F(GroupInviteTest, Invite_OfANameThatIsBeingInvited_IsRefused) {
    const pmix_proc_t far = ProcId("far", 0).to_c();
    Ended first, second;
    ASSERT_STATUS(PMIX_SUCCESS, group_invite_nb(*session, "g", &far, 1, nullptr, 0, &Ended::back, &first));
    settle();
    ASSERT_STATUS(PMIX_SUCCESS, group_invite_nb(*session, "g", &far, 1, nullptr, 0, &Ended::back, &second));
    settle();
    EXPECT_EQ(1, second.times);
    EXPECT_STATUS(PMIX_ERR_EXISTS, second.status);
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
            ASSERT_STATUS(PMIX_SUCCESS, group_invite_nb(*session, "g", others, 2, infos.c_array(), infos.size(),
                                                        &Ended::back, &ended));
            settle();
            InfoList affected;
            affected.append(PMIX_EVENT_AFFECTED_PROC, &others[0], PMIX_PROC);
            event(code, std::move(affected));
            if (reference >= 0) session->events().deregister_handler(static_cast<size_t>(reference), nullptr, nullptr);
            if (wants == nothing) {
                EXPECT_EQ(1, ended.times) << code;
                EXPECT_STATUS(PMIX_GROUP_CONSTRUCT_ABORT, ended.status);
                // All who were asked and live, and the inviter itself.
                common::ProcList all{{"far", 2}, {"job", 1}};
                if (code == PMIX_GROUP_INVITE_DECLINED) all.insert(all.begin(), {"far", 0});
                EXPECT_EQ(all, told(PMIX_GROUP_CONSTRUCT_ABORT));
                const InfoList contents = infos_of(PMIX_GROUP_CONSTRUCT_ABORT);
                EXPECT_TRUE(common::is_abort_of({"job", 1}, contents)) << "it names its own invitation";
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
            EXPECT_STATUS(PMIX_SUCCESS, group_invite_nb(*session, "g", others, 2, infos.c_array(), infos.size(),
                                                        &Ended::back, &ended));
            send_event(PMIX_GROUP_INVITE_ACCEPTED, {}, false, {"far", 2});
            if (lost == nobody) send_event(PMIX_GROUP_INVITE_ACCEPTED, {}, false, {"far", 0});
            if (lost == declined) send_event(PMIX_GROUP_INVITE_DECLINED, {}, false, {"far", 0});
        });
        EXPECT_TRUE(lost == silent ? ended.within(60) : ended.times == 1) << lost;
        end_invites();
        EXPECT_STATUS(lost == nobody ? PMIX_SUCCESS : PMIX_ERR_PARTIAL_SUCCESS, ended.status) << lost;
    }
}

// A replacement takes the place of the process that declined: the group is whole. rows: R13 R14
TEST_F(GroupInviteTest, Invite_MemberIsReplaced_IsSuccess) {
    grant_constructs();
    pmix_status_t declined = PMIX_GROUP_INVITE_DECLINED;
    ASSERT_GE(session->events().register_handler(&declined, 1, nullptr, 0, &replaces, nullptr, nullptr), 0);
    const pmix_proc_t far = ProcId("far", 0).to_c();
    Ended ended;
    ASSERT_STATUS(PMIX_SUCCESS, group_invite_nb(*session, "g", &far, 1, nullptr, 0, &Ended::back, &ended));
    settle();
    event(PMIX_GROUP_INVITE_DECLINED, {});
    EXPECT_TRUE(constructs().empty()) << "the replacement has not answered yet";
    event(PMIX_GROUP_INVITE_ACCEPTED, {}, false, {"far", 2});
    EXPECT_EQ(1, ended.times);
    EXPECT_EQ((common::ProcList{{"far", 2}}), last_construct().procs);
    EXPECT_STATUS(PMIX_SUCCESS, ended.status);
    end_all();
}

TEST_F(GroupInviteTest, Invite_NobodyAnswers_EndsWithTheLimit) {
    InfoList limit;
    limit.append_number<int>(PMIX_TIMEOUT, 1, PMIX_INT);
    const pmix_proc_t far = ProcId("far", 0).to_c();
    Ended ended;
    ASSERT_STATUS(PMIX_SUCCESS,
                  group_invite_nb(*session, "g", &far, 1, limit.c_array(), limit.size(), &Ended::back, &ended));
    EXPECT_TRUE(ended.within(60));
    EXPECT_STATUS(PMIX_ERR_TIMEOUT, ended.status);
    settle();
    EXPECT_EQ((common::ProcList{{"far", 0}, {"job", 1}}), told(PMIX_GROUP_CONSTRUCT_ABORT));
    EXPECT_TRUE(constructs().empty());
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
        EXPECT_STATUS(PMIX_SUCCESS,
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

// Endpoint data and whatever else members give at the invitation or the answer goes into the construct, as with
// PMIx_Group_construct.
// rows: R5 R13 R16
// proves: PMIx_Group_invite PMIX_GROUP_INFO server
// proves: PMIx_Group_invite PMIX_GROUP_LOCAL_CID server
// proves: PMIx_Group_join PMIX_GROUP_INFO server
// proves: PMIx_Group_join PMIX_GROUP_LOCAL_CID server
// proves: PMIx_Group_invite PMIX_GROUP_ENDPT_DATA server
// proves: PMIx_Group_join PMIX_GROUP_ENDPT_DATA server
TEST_F(GroupInviteTest, Invite_AndJoin_EndpointDataGoesIntoTheConstruct) {
    char text[] = "endpoint";
    pmix_byte_object_t object{text, sizeof text};
    InfoList infos;
    infos.append(PMIX_GROUP_ENDPT_DATA, &object, PMIX_BYTE_OBJECT, PMIX_INFO_REQD);
    InfoList inner;
    inner.append_string("key", "value");
    pmix_data_array_t array{};
    array.type = PMIX_INFO;
    array.size = inner.size();
    array.array = const_cast<pmix_info_t*>(inner.c_array());
    infos.append(PMIX_GROUP_INFO, &array, PMIX_DATA_ARRAY, PMIX_INFO_REQD);
    const size_t local = 7;
    infos.append(PMIX_GROUP_LOCAL_CID, &local, PMIX_SIZE, PMIX_INFO_REQD);
    const auto has_all = [this] {
        const common::GroupRequest request = last_construct();
        const pmix_info_t* id = info_in(request, PMIX_GROUP_LOCAL_CID);
        return info_in(request, PMIX_GROUP_ENDPT_DATA) != nullptr && info_in(request, PMIX_GROUP_INFO) != nullptr &&
               id != nullptr && id->value.data.size == 7;
    };
    const pmix_proc_t far = ProcId("far", 0).to_c();
    Ended invited, joined;
    ASSERT_STATUS(PMIX_SUCCESS,
                  group_invite_nb(*session, "h", &far, 1, infos.c_array(), infos.size(), &Ended::back, &invited));
    settle();
    event(PMIX_GROUP_INVITE_ACCEPTED, {}, false, {"far", 0}, "h");
    ASSERT_EQ(1u, constructs().size());
    EXPECT_TRUE(has_all());
    event(PMIX_GROUP_INVITED, members());
    ASSERT_STATUS(PMIX_SUCCESS, group_join_nb(*session, "g", &far, PMIX_GROUP_ACCEPT, infos.c_array(), infos.size(),
                                              &Ended::back, &joined));
    settle();
    event(PMIX_GROUP_MEMBERSHIP_UPDATE, members());
    ASSERT_EQ(2u, constructs().size());
    EXPECT_TRUE(has_all());
    end_all();
}

InfoList led_by(const ProcId& leader) {
    InfoList infos;
    const pmix_proc_t proc = leader.to_c();
    infos.append(PMIX_GROUP_LEADER, &proc, PMIX_PROC);
    return infos;
}

// The inviter hears of the end of its own invitation as all do, perhaps when it has begun another one of the name, and
// others may use the name as well: an inviter's abort ends what that inviter has begun. rows: R14 R15 R16
TEST_F(GroupInviteTest, Abort_OfAnInvitersOwn_EndsNoOtherInvitationOfTheName) {
    const pmix_proc_t far = ProcId("far", 0).to_c();
    Ended invited, joined;
    ASSERT_STATUS(PMIX_SUCCESS, group_invite_nb(*session, "g", &far, 1, nullptr, 0, &Ended::back, &invited));
    ASSERT_STATUS(PMIX_SUCCESS,
                  group_join_nb(*session, "g", &far, PMIX_GROUP_ACCEPT, nullptr, 0, &Ended::back, &joined));
    settle();
    event(PMIX_GROUP_CONSTRUCT_ABORT, led_by({"job", 1}), false, {"job", 1});
    event(PMIX_GROUP_CONSTRUCT_ABORT, led_by({"far", 2}), false, {"far", 2});
    EXPECT_EQ(0, invited.times);
    EXPECT_EQ(0, joined.times);
    event(PMIX_GROUP_CONSTRUCT_ABORT, led_by({"far", 0}), false, {"far", 0});
    EXPECT_EQ(0, invited.times);
    EXPECT_EQ(1, joined.times);
    EXPECT_STATUS(PMIX_GROUP_CONSTRUCT_ABORT, joined.status);
    // A participant's, which names no leader or another one than itself, is for all.
    event(PMIX_GROUP_CONSTRUCT_ABORT, led_by({"job", 1}), false, {"far", 2});
    EXPECT_EQ(1, invited.times);
    EXPECT_STATUS(PMIX_GROUP_CONSTRUCT_ABORT, invited.status);
    EXPECT_EQ((common::ProcList{{"far", 0}}), told(PMIX_GROUP_CONSTRUCT_ABORT)) << "its own handlers have had it";
}

// What a process has put is there for the members without a Commit of its own: it goes before the call that brings the
// process into the group. Who declines sends nothing. rows: R5 R13 R16
TEST_F(GroupInviteTest, Group_WhatIsStaged_GoesBeforeTheCall) {
    const pmix_proc_t far = ProcId("far", 0).to_c(), all[] = {far, ProcId("job", 1).to_c()};
    const pmix_value_t number = {.type = PMIX_UINT32, .data = {.uint32 = 7}};
    const auto commits = [this] {
        const std::vector<Frame> sent = channel->sent();
        return std::count_if(sent.begin(), sent.end(), [](const Frame& f) { return is(f, Command::commit); });
    };
    const auto last_is_commit = [this] { return is(channel->sent().back(), Command::commit); };
    Ended ended[4];
    ASSERT_STATUS(PMIX_SUCCESS, put(*session, PMIX_GLOBAL, "key", &number));
    ASSERT_STATUS(PMIX_SUCCESS,
                  group_join_nb(*session, "g", &far, PMIX_GROUP_DECLINE, nullptr, 0, &Ended::back, &ended[0]));
    settle();
    EXPECT_EQ(0, commits());
    together([&] {
        EXPECT_STATUS(PMIX_SUCCESS,
                      group_join_nb(*session, "g", &far, PMIX_GROUP_ACCEPT, nullptr, 0, &Ended::back, &ended[1]));
        EXPECT_TRUE(commits() == 1 && last_is_commit());
    });
    ASSERT_STATUS(PMIX_SUCCESS, put(*session, PMIX_GLOBAL, "key", &number));
    together([&] {
        EXPECT_STATUS(PMIX_SUCCESS, group_invite_nb(*session, "h", all, 2, nullptr, 0, &Ended::back, &ended[2]));
        EXPECT_TRUE(commits() == 2 && last_is_commit());
    });
    ASSERT_STATUS(PMIX_SUCCESS, put(*session, PMIX_GLOBAL, "key", &number));
    EXPECT_STATUS(PMIX_SUCCESS, group_construct_nb(*session, "i", all, 2, nullptr, 0, &Ended::back, &ended[3]));
    EXPECT_EQ(3, commits());
    EXPECT_FALSE(last_is_commit()) << "the construct is behind it";
    settle();
    end_all();
}

// Nobody has heard of a call whose data could not be sent.
TEST_F(GroupInviteTest, Group_CommitFails_IsTheStatusOfTheCall) {
    const pmix_proc_t far = ProcId("far", 0).to_c();
    const pmix_value_t number = {.type = PMIX_UINT32, .data = {.uint32 = 7}};
    const size_t before = channel->sent().size();
    channel->before_send = [](const Frame& f) {
        return is(f, Command::commit) ? PMIX_ERR_OUT_OF_RESOURCE : PMIX_SUCCESS;
    };
    ASSERT_STATUS(PMIX_SUCCESS, put(*session, PMIX_GLOBAL, "key", &number));
    Ended ended;
    pmix_info_t* results = nullptr;
    size_t count = 0;
    EXPECT_STATUS(PMIX_ERR_OUT_OF_RESOURCE,
                  group_join_nb(*session, "g", &far, PMIX_GROUP_ACCEPT, nullptr, 0, &Ended::back, &ended));
    EXPECT_STATUS(PMIX_ERR_OUT_OF_RESOURCE,
                  group_join(*session, "g", &far, PMIX_GROUP_ACCEPT, nullptr, 0, &results, &count));
    EXPECT_STATUS(PMIX_ERR_OUT_OF_RESOURCE, group_invite_nb(*session, "g", &far, 1, nullptr, 0, &Ended::back, &ended));
    EXPECT_STATUS(PMIX_ERR_OUT_OF_RESOURCE, group_invite(*session, "g", &far, 1, nullptr, 0, &results, &count));
    EXPECT_STATUS(PMIX_ERR_OUT_OF_RESOURCE,
                  group_construct_nb(*session, "g", &far, 1, nullptr, 0, &Ended::back, &ended));
    EXPECT_STATUS(PMIX_ERR_OUT_OF_RESOURCE, group_construct(*session, "g", &far, 1, nullptr, 0, &results, &count));
    settle();
    EXPECT_EQ(before, channel->sent().size());
    EXPECT_EQ(0, ended.times);
    channel->before_send = {};
}

// With the group as the qualifier that a Get marks, what a member has put is found, and what the marked ones do not
// fit is not: another group's number, a process that is no member, other qualifiers beside it. rows: R5
TEST_F(GroupInviteTest, Get_QualifiedByTheGroup_FindsWhatAMemberHasPut) {
    const pmix_proc_t self = ProcId("job", 1).to_c(), other = ProcId("job", 2).to_c();
    const pmix_value_t number = {.type = PMIX_UINT32, .data = {.uint32 = 7}};
    ASSERT_STATUS(PMIX_SUCCESS, put(*session, PMIX_GLOBAL, "key", &number));
    ASSERT_STATUS(PMIX_SUCCESS, store_internal(*session, &other, "key", &number));
    InfoList results;
    results.append_number<size_t>(PMIX_GROUP_CONTEXT_ID, 7, PMIX_SIZE);
    common::append_proc_array(results, PMIX_GROUP_MEMBERSHIP, {{"job", 1}});
    session->group_membership().constructing("g");
    session->group_membership().constructed("g", PMIX_SUCCESS, results);
    const auto finds = [&](const pmix_proc_t& proc, size_t context, const char* group, bool marked, bool more) {
        InfoList infos;
        const pmix_info_directives_t mark = marked ? PMIX_INFO_QUALIFIER : 0;
        if (context != 0) infos.append(PMIX_GROUP_CONTEXT_ID, &context, PMIX_SIZE, mark);
        if (group != nullptr) infos.append(PMIX_GROUP_ID, group, PMIX_STRING, mark);
        if (more) infos.append(PMIX_HOSTNAME, "node", PMIX_STRING, PMIX_INFO_QUALIFIER);
        infos.append_flag(PMIX_OPTIONAL, true);
        pmix_value_t* value = nullptr;
        const pmix_status_t rc = get(*session, &proc, "key", infos.c_array(), infos.size(), &value);
        if (rc == PMIX_SUCCESS) {
            common::destroy_value(value);
            std::free(value);
        }
        return rc == PMIX_SUCCESS;
    };
    EXPECT_TRUE(finds(self, 7, nullptr, true, false));
    EXPECT_TRUE(finds(self, 7, "g", true, false));
    EXPECT_TRUE(finds(self, 0, "g", true, false));
    EXPECT_TRUE(finds(self, 8, nullptr, false, false)) << "by itself it is no qualifier of the value";
    EXPECT_FALSE(finds(self, 8, nullptr, true, false));
    EXPECT_FALSE(finds(self, 7, "h", true, false));
    EXPECT_FALSE(finds(self, 7, "g", true, true));
    EXPECT_FALSE(finds(other, 7, "g", true, false)) << "it is no member";
    session->group_membership().gone("g");
    EXPECT_FALSE(finds(self, 7, nullptr, true, false));
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
    EXPECT_STATUS(PMIX_SUCCESS,
                  group_join_nb(*session, "g", &leader, PMIX_GROUP_ACCEPT, nullptr, 0, &Ended::back, &joined));
    EXPECT_STATUS(PMIX_SUCCESS, group_invite_nb(*session, "h", others, 2, nullptr, 0, &Ended::back, &invited));
    go_on.set_value();
    settle();
    EXPECT_EQ(1, joined.times);
    EXPECT_STATUS(PMIX_ERR_UNREACH, joined.status);
    EXPECT_EQ(1, invited.times);
    EXPECT_STATUS(PMIX_ERR_UNREACH, invited.status);
}

}  // namespace
}  // namespace pmix::client::group_invite_test

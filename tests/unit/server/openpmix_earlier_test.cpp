// SPDX-License-Identifier: BSD-3-Clause
// What clients before OpenPMIx 7 do otherwise than later ones: they send the events of an invitation by themselves. An
// answer does not name the group then, and the announcement does not name the members.
#include <gtest/gtest.h>
#include <pmix_server.h>

#include <optional>

#include "common/values/info_view.h"
#include "common/values/proc_array.h"
#include "support/fake_client.h"
#include "support/openpmix_client.h"
#include "support/served_job.h"
#include "support/server_here.h"
#include "support/status.h"

namespace openpmix_earlier_test {

using namespace pmix;
using namespace pmix::test;
using common::ProcList;

namespace {

struct Release {
    const char* version;
    const char* encoding;
};
constexpr Release kEarlier[] = {{"4.2.2", "v41"}, {"5.0.7", "v51"}};

// A server with a job of three local ranks, and a client of each.
class OpenPmixEarlierTest : public ::testing::Test {
  protected:
    OpenPmixEarlierTest() : server_(&module_, ServerHere::named()), uri_(register_served_job(kRanks)) {}
    void connect(const Release& release) {
        for (uint32_t rank = 0; rank < kRanks; ++rank) connect(rank, release);
    }
    void connect(uint32_t rank, const Release& release) {
        clients_[rank].emplace(uri_);
        of(rank).request.version = release.version;
        of(rank).request.encoding = release.encoding;
        ASSERT_TRUE(of(rank).hello({"job", rank}));
        listen(rank, {PMIX_GROUP_INVITED});
    }
    OpenPmixClient& of(uint32_t rank) { return *clients_[rank]; }

    void listen(uint32_t rank, std::vector<pmix_status_t> codes) {
        openpmix::RegisterEventsRequest registration;
        registration.codes.codes = std::move(codes);
        ASSERT_STATUS(PMIX_SUCCESS, of(rank).status_of(registration));
    }
    void expect_event(uint32_t rank, pmix_status_t code) {
        const auto event = of(rank).receive<openpmix::EventMessage>(openpmix::kEventTag);
        EXPECT_STATUS(code, event.code.value) << rank;
    }
    void notify(uint32_t rank, pmix_status_t code, InfoList infos) {
        openpmix::NotifyRequest request;
        request.code.value = code;
        request.range.value = PMIX_RANGE_CUSTOM;
        request.infos.infos = std::move(infos);
        EXPECT_STATUS(PMIX_SUCCESS, of(rank).status_of(request)) << rank;
    }
    static InfoList about(const ProcList& targets, const char* group) {
        InfoList infos;
        common::append_proc_array(infos, PMIX_EVENT_CUSTOM_RANGE, targets);
        infos.append_string(PMIX_GROUP_ID, group);
        return infos;
    }
    // As these releases do.
    void invite(const ProcList& asked, const char* group = "group") {
        listen(0, {PMIX_GROUP_INVITE_ACCEPTED, PMIX_GROUP_INVITE_DECLINED});
        notify(0, PMIX_GROUP_INVITED, about(asked, group));
    }
    void answer(uint32_t rank, pmix_status_t code = PMIX_GROUP_INVITE_ACCEPTED) {
        InfoList infos;
        const pmix_proc_t inviter = common::ProcId("job", 0).to_c();
        infos.append(PMIX_EVENT_CUSTOM_RANGE, &inviter, PMIX_PROC);
        notify(rank, code, std::move(infos));
    }
    void announce(const ProcList& asked, const char* group = "group") {
        notify(0, PMIX_GROUP_CONSTRUCT_COMPLETE, about(asked, group));
    }
    // By its name, of these.
    void expect_fence(const std::vector<uint32_t>& ranks, pmix_status_t status, const char* group = "group") {
        openpmix::FenceRequest fence;
        fence.procs.procs = {{group, PMIX_RANK_WILDCARD}};
        std::vector<uint32_t> tags;
        for (const uint32_t rank : ranks) tags.push_back(of(rank).send(fence));
        for (size_t i = 0; i < ranks.size(); ++i)
            EXPECT_EQ(status, of(ranks[i]).receive<openpmix::StatusReply>(tags[i]).status.value) << ranks[i];
    }

    static constexpr uint32_t kRanks = 3;
    const ProcList all_{{"job", 0}, {"job", 1}, {"job", 2}};
    pmix_server_module_t module_{};
    ServerHere server_;
    std::string uri_;
    std::optional<OpenPmixClient> clients_[kRanks];
};

}  // namespace

TEST_F(OpenPmixEarlierTest, Invitation_ThatAllAccept_MakesAGroupOfThem) {
    connect(kEarlier[0]);
    invite({{"job", PMIX_RANK_WILDCARD}});
    for (const uint32_t rank : {1u, 2u}) {
        expect_event(rank, PMIX_GROUP_INVITED);
        answer(rank);
        expect_event(0, PMIX_GROUP_INVITE_ACCEPTED);
    }
    announce({{"job", PMIX_RANK_WILDCARD}});
    expect_fence({0, 1, 2}, PMIX_SUCCESS);
}

// Such an inviter announces the group to all that it has asked.
TEST_F(OpenPmixEarlierTest, Invitation_ThatSomebodyDeclines_MakesAGroupOfTheOthers) {
    connect(kEarlier[0]);
    invite(all_);
    answer(1, PMIX_GROUP_INVITE_DECLINED);
    expect_event(1, PMIX_GROUP_INVITED);
    expect_event(0, PMIX_GROUP_INVITE_DECLINED);
    answer(2);
    expect_event(0, PMIX_GROUP_INVITE_ACCEPTED);
    announce(all_);
    expect_fence({0, 2}, PMIX_SUCCESS);
    expect_fence({1}, PMIX_ERR_NOT_A_MEMBER);
}

TEST_F(OpenPmixEarlierTest, Invitation_OfOthers_MakesAGroupWithoutTheInviter) {
    connect(kEarlier[1]);
    const ProcList others{{"job", 2}, {"job", 1}};
    invite(others);
    for (const uint32_t rank : {1u, 2u}) {
        expect_event(rank, PMIX_GROUP_INVITED);
        answer(rank);
        expect_event(0, PMIX_GROUP_INVITE_ACCEPTED);
    }
    announce(others);
    expect_fence({1, 2}, PMIX_SUCCESS);
    expect_fence({0}, PMIX_ERR_NOT_A_MEMBER);
}

// One that was never answered has ended: the next answer is not for it.
TEST_F(OpenPmixEarlierTest, Answer_AfterAnInvitationThatHasEnded_IsForTheNextOne) {
    connect(kEarlier[1]);
    const ProcList two{{"job", 0}, {"job", 1}};
    listen(1, {PMIX_GROUP_CONSTRUCT_ABORT});
    invite(two, "first");
    expect_event(1, PMIX_GROUP_INVITED);
    notify(0, PMIX_GROUP_CONSTRUCT_ABORT, about(two, "first"));
    expect_event(1, PMIX_GROUP_CONSTRUCT_ABORT);
    invite(two, "second");
    expect_event(1, PMIX_GROUP_INVITED);
    answer(1);
    expect_event(0, PMIX_GROUP_INVITE_ACCEPTED);
    announce(two, "second");
    expect_fence({0, 1}, PMIX_SUCCESS, "second");
}

// An answer names the inviter alone: it is about the invitation that has waited longest.
TEST_F(OpenPmixEarlierTest, Answers_ToTwoInvitationsOfAProcess_AreInTheirOrder) {
    connect(kEarlier[0]);
    const ProcList two{{"job", 0}, {"job", 1}};
    for (const char* group : {"first", "second"}) {
        invite(two, group);
        expect_event(1, PMIX_GROUP_INVITED);
    }
    answer(1, PMIX_GROUP_INVITE_DECLINED);
    expect_event(0, PMIX_GROUP_INVITE_DECLINED);
    answer(1);
    expect_event(0, PMIX_GROUP_INVITE_ACCEPTED);
    announce(two, "second");
    announce(two, "first");
    expect_fence({0, 1}, PMIX_SUCCESS, "second");
    expect_fence({1}, PMIX_ERR_NOT_A_MEMBER, "first");
}

// Nobody is put into a group by another's word.
TEST_F(OpenPmixEarlierTest, Announcement_WithoutAnswers_MakesNoGroupOfTheOthers) {
    connect(kEarlier[0]);
    announce(all_, "never");
    expect_fence({0}, PMIX_ERR_NOT_A_MEMBER, "never");
    invite(all_);
    expect_event(1, PMIX_GROUP_INVITED);
    announce(all_);
    for (const uint32_t rank : {1u, 2u}) expect_fence({rank}, PMIX_ERR_NOT_A_MEMBER);
}

// An inviter with this library constructs the group with those that accept; for such a client its server does.
TEST_F(OpenPmixEarlierTest, Invitation_OfAnInviterWithThisLibrary_IsConstructedForTheClient) {
    connect(kEarlier[0]);
    const ProcList two{{"job", 0}, {"job", 1}};
    listen(0, {PMIX_GROUP_INVITE_ACCEPTED});
    InfoList invitation = about({{"job", 1}}, "group");
    common::append_proc_array(invitation, PMIX_GROUP_MEMBERSHIP, two);
    notify(0, PMIX_GROUP_INVITED, std::move(invitation));
    expect_event(1, PMIX_GROUP_INVITED);
    answer(1);
    expect_event(0, PMIX_GROUP_INVITE_ACCEPTED);
    InfoList update = about({{"job", 1}}, "group");
    common::append_proc_array(update, PMIX_GROUP_MEMBERSHIP, two);
    notify(0, PMIX_GROUP_MEMBERSHIP_UPDATE, std::move(update));
    openpmix::GroupConstructRequest construct;
    construct.group = openpmix::Text("group");
    construct.procs.procs = two;
    EXPECT_STATUS(PMIX_SUCCESS, of(0).ask<openpmix::GroupContextReply>(construct).status.value);
    expect_fence({0, 1}, PMIX_SUCCESS);
}

}  // namespace openpmix_earlier_test

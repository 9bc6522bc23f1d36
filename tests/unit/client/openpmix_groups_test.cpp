// SPDX-License-Identifier: BSD-3-Clause
// Groups at a server of OpenPMIx's, which has none by name: which processes it is told in a group's place, and what
// becomes of a group that a member leaves.
#include <gtest/gtest.h>
#include <pmix.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <set>
#include <vector>

#include "common/values/info_view.h"
#include "common/values/proc_array.h"
#include "support/long_wait.h"
#include "support/openpmix_process.h"
#include "support/status.h"

namespace pmix::test::openpmix_groups_test {
namespace {

namespace theirs = openpmix;

class OpenPmixGroupCalls : public OpenPmixProcess {};
INSTANTIATE_TEST_SUITE_P(Releases, OpenPmixGroupCalls,
                         ::testing::Values(std::make_pair("4.0.0", "v4"), std::make_pair("4.2.2rc2", "v41"),
                                           std::make_pair("5.0.7", "v41"), std::make_pair("7.0.0rc1", "v61")));

// A construction that its caller gave up, and that succeeds elsewhere: the group can be ended.
TEST_P(OpenPmixGroupCalls, Group_ConstructionGivenUp_CanBeEnded) {
    std::atomic<int> destructs{0};
    server_->on(theirs::Command::group_construct, [](uint32_t, common::Bytes) {});
    server_->on(theirs::Command::group_destruct, [&](uint32_t tag, common::Bytes payload) {
        ++destructs;
        if (server_->traits.destruct_has_members) {
            const auto request = server_->decoded<theirs::GroupDestructRequest>(payload);
            EXPECT_EQ((common::ProcList{{"job", 0}, {"job", 1}}), request.procs.procs);
        }
        server_->send_status(tag, PMIX_SUCCESS);
    });
    init();
    const pmix_proc_t members[] = {proc(0), proc(1)};
    pmix_info_t limit;
    int seconds = 1;
    PMIX_INFO_LOAD(&limit, PMIX_TIMEOUT, &seconds, PMIX_INT);
    pmix_info_t* results = nullptr;
    size_t nresults = 0;
    EXPECT_STATUS(PMIX_ERR_TIMEOUT, PMIx_Group_construct("group", members, 2, &limit, 1, &results, &nresults));
    EXPECT_STATUS(PMIX_SUCCESS, PMIx_Group_destruct("group", nullptr, 0));
    EXPECT_EQ(1, destructs);
}

// The server is not asked for a group of others. A process that names nobody is to be added by a leader.
TEST_P(OpenPmixGroupCalls, Construct_WithoutTheCaller_IsRefused) {
    int asked = 0;
    server_->on(theirs::Command::group_construct, [&](uint32_t tag, common::Bytes) {
        ++asked;
        server_->send_status(tag, PMIX_ERR_NOT_SUPPORTED);
    });
    init();
    const pmix_proc_t others[] = {proc(1), proc(0, "other"), proc(PMIX_RANK_WILDCARD, "other")};
    pmix_info_t* results = nullptr;
    size_t n = 0;
    EXPECT_STATUS(PMIX_ERR_BAD_PARAM, PMIx_Group_construct("group", others, 3, nullptr, 0, &results, &n));
    EXPECT_EQ(0, asked);
    EXPECT_STATUS(PMIX_ERR_NOT_SUPPORTED, PMIx_Group_construct("group", nullptr, 0, nullptr, 0, &results, &n));
    EXPECT_EQ(1, asked);
}

TEST_P(OpenPmixGroupCalls, Get_NamesOfGroups_AreNotFound) {
    init();
    pmix_value_t* value = nullptr;
    EXPECT_STATUS(PMIX_ERR_NOT_FOUND, PMIx_Get(&self_, PMIX_GROUP_NAMES, nullptr, 0, &value));
}

// ---- the end of a construct ----

std::atomic<int> g_formed{0}, g_formed_at_mark{-1};
constexpr pmix_status_t kMark = PMIX_EXTERNAL_ERR_BASE - 7;
void on_formed(size_t, pmix_status_t code, const pmix_proc_t*, pmix_info_t[], size_t, pmix_info_t[], size_t,
               pmix_event_notification_cbfunc_fn_t done, void* cbdata) {
    if (code == kMark) {
        g_formed_at_mark = g_formed.load();
    } else {
        ++g_formed;
    }
    if (done != nullptr) done(PMIX_SUCCESS, nullptr, 0, nullptr, nullptr, cbdata);
}

// A handler may name the group at once, so the announcement waits for this process's own construct.
TEST_P(OpenPmixGroupCalls, Announcement_BeforeTheConstructIsAnswered_WaitsForIt) {
    const auto send_event = [this](pmix_status_t code) {
        common::InfoList infos;
        EXPECT_STATUS(PMIX_SUCCESS, infos.append_string(PMIX_GROUP_ID, "group"));
        theirs::EventMessage event;
        event.code.value = code;
        event.source.id = {"job", 1};
        event.infos.infos = std::move(infos);
        server_->send(theirs::kEventTag, event);
    };
    pmix_status_t answer = PMIX_SUCCESS;
    server_->on(theirs::Command::group_construct, [&](uint32_t tag, common::Bytes) {
        send_event(PMIX_GROUP_CONSTRUCT_COMPLETE);
        send_event(kMark);
        const LongWait limit;
        while (g_formed_at_mark < 0 && !limit.over()) ::usleep(1000);
        if (!common::succeeded(answer)) return server_->send_status(tag, answer);
        if (server_->traits.group_reply == theirs::GroupReplyForm::context_id)
            return server_->send(tag, theirs::GroupContextReply{});
        if (server_->traits.group_reply == theirs::GroupReplyForm::members)
            return server_->send(tag, theirs::GroupMembersReply{});
        server_->send(tag, theirs::GroupReply{});
    });
    common::ProcList fence;
    server_->on(theirs::Command::fence, [&](uint32_t tag, common::Bytes payload) {
        fence = server_->decoded<theirs::FenceRequest>(payload).procs.procs;
        server_->send_status(tag, PMIX_SUCCESS);
    });
    init();
    pmix_status_t codes[] = {PMIX_GROUP_CONSTRUCT_COMPLETE, kMark};
    ASSERT_GE(PMIx_Register_event_handler(codes, 2, nullptr, 0, &on_formed, nullptr, nullptr), 0);
    const pmix_proc_t members[] = {proc(0), proc(1)};
    for (const pmix_status_t status : {PMIX_SUCCESS, PMIX_ERR_TIMEOUT}) {
        answer = status;
        g_formed = 0;
        g_formed_at_mark = -1;
        pmix_info_t* results = nullptr;
        size_t nresults = 0;
        EXPECT_STATUS(status, PMIx_Group_construct("group", members, 2, nullptr, 0, &results, &nresults));
        EXPECT_EQ(0, g_formed_at_mark);
        const LongWait limit;
        while (g_formed == 0 && !limit.over()) ::usleep(1000);
        EXPECT_EQ(1, g_formed);
        PMIX_INFO_FREE(results, nresults);
        if (status != PMIX_SUCCESS) continue;
        pmix_proc_t group;
        PMIX_LOAD_PROCID(&group, "group", PMIX_RANK_WILDCARD);
        EXPECT_STATUS(PMIX_SUCCESS, PMIx_Fence(&group, 1, nullptr, 0));
        EXPECT_EQ((common::ProcList{{"job", 0}, {"job", 1}}), fence);
        server_->answer_status(theirs::Command::group_destruct, PMIX_SUCCESS);
        EXPECT_STATUS(PMIX_SUCCESS, PMIx_Group_destruct("group", nullptr, 0));
    }
}

// ---- members, and those that leave ----

std::atomic<int> g_left{0};
void on_left(size_t, pmix_status_t, const pmix_proc_t*, pmix_info_t[], size_t, pmix_info_t[], size_t,
             pmix_event_notification_cbfunc_fn_t done, void* cbdata) {
    ++g_left;
    if (done != nullptr) done(PMIX_SUCCESS, nullptr, 0, nullptr, nullptr, cbdata);
}

class OpenPmixGroups : public OpenPmixProcess {
  protected:
    void SetUp() override {
        OpenPmixProcess::SetUp();
        server_->on(theirs::Command::group_construct, [this](uint32_t tag, common::Bytes) {
            theirs::GroupReply reply;
            reply.members.emplace().procs = members_;
            server_->send(tag, reply);
        });
        server_->on(theirs::Command::group_destruct, [this](uint32_t tag, common::Bytes payload) {
            ended_ = server_->decoded<theirs::GroupDestructRequest>(payload).procs.procs;
            server_->send_status(tag, PMIX_SUCCESS);
        });
        server_->on(theirs::Command::notify, [this](uint32_t tag, common::Bytes payload) {
            const auto told = server_->decoded<theirs::NotifyRequest>(payload);
            const common::InfoView infos(told.infos.infos.data(), told.infos.infos.size());
            EXPECT_STATUS(PMIX_GROUP_LEFT, told.code.value);
            EXPECT_EQ(PMIX_RANGE_CUSTOM, told.range.value);
            common::ProcList targets;
            if (const pmix_info_t* range = infos.find(PMIX_EVENT_CUSTOM_RANGE))
                common::read_proc_array(range->value, targets);
            EXPECT_EQ((common::ProcList{{"job", 1}, {"job", 2}}), targets);
            const pmix_proc_t* who = nullptr;
            std::string_view name;
            EXPECT_STATUS(PMIX_SUCCESS, infos.get(PMIX_EVENT_AFFECTED_PROC, &who));
            EXPECT_STATUS(PMIX_SUCCESS, infos.get(PMIX_GROUP_ID, &name));
            EXPECT_EQ(common::ProcId("job", 0), common::ProcId(*who));
            EXPECT_EQ("group", name);
            EXPECT_TRUE(infos.flag("site.mark"));
            ++left_;
            server_->send_status(tag, answer_);
        });
    }
    void construct() { (void)constructed(); }
    // The members that the construct's results say.
    common::ProcList constructed() {
        std::vector<pmix_proc_t> procs;
        for (const common::ProcId& member : members_) procs.push_back(member.to_c());
        pmix_info_t* results = nullptr;
        size_t nresults = 0;
        EXPECT_STATUS(PMIX_SUCCESS,
                      PMIx_Group_construct("group", procs.data(), procs.size(), nullptr, 0, &results, &nresults));
        common::ProcList members;
        if (const pmix_info_t* said = common::InfoView(results, nresults).find(PMIX_GROUP_MEMBERSHIP))
            common::read_proc_array(said->value, members);
        PMIX_INFO_FREE(results, nresults);
        return members;
    }
    void send_left(uint32_t rank) {
        common::InfoList infos;
        const pmix_proc_t who = proc(rank);
        EXPECT_STATUS(PMIX_SUCCESS, infos.append(PMIX_EVENT_AFFECTED_PROC, &who, PMIX_PROC));
        EXPECT_STATUS(PMIX_SUCCESS, infos.append_string(PMIX_GROUP_ID, "group"));
        theirs::EventMessage event;
        event.code.value = PMIX_GROUP_LEFT;
        event.source.id = {"job", rank};
        event.infos.infos = std::move(infos);
        server_->send(theirs::kEventTag, event);
    }
    static pmix_status_t leave() {
        pmix_info_t mark;
        PMIX_INFO_LOAD(&mark, "site.mark", nullptr, PMIX_BOOL);
        return PMIx_Group_leave("group", &mark, 1);
    }

    common::ProcList members_{{"job", 0}, {"job", 1}, {"job", 2}};
    common::ProcList ended_;
    std::atomic<int> left_{0};
    pmix_status_t answer_ = PMIX_SUCCESS;
};
INSTANTIATE_TEST_SUITE_P(Releases, OpenPmixGroups, ::testing::Values(std::make_pair("7.0.0rc1", "v61")));

// The other members are told by an event, and that is all.
TEST_P(OpenPmixGroups, Leave_IsToldToTheMembers) {
    init();
    EXPECT_STATUS(PMIX_ERR_NOT_FOUND, leave()) << "no such group";
    construct();
    answer_ = PMIX_ERR_OUT_OF_RESOURCE;
    EXPECT_STATUS(PMIX_ERR_OUT_OF_RESOURCE, leave());
    answer_ = PMIX_SUCCESS;
    EXPECT_STATUS(PMIX_SUCCESS, leave()) << "it was a member still";
    EXPECT_STATUS(PMIX_ERR_NOT_FOUND, leave());
    EXPECT_EQ(2, left_);
}

TEST_P(OpenPmixGroups, Leave_OfTheLastMember_IsToldToNobody) {
    members_ = {{"job", 0}};
    init();
    construct();
    EXPECT_STATUS(PMIX_SUCCESS, leave());
    EXPECT_EQ(0, left_);
    EXPECT_STATUS(PMIX_ERR_NOT_FOUND, leave());
}

// A member that has left takes no part in the end; its own library keeps no such group.
TEST_P(OpenPmixGroups, Leave_OfAnother_EndsWithoutIt) {
    server_->on(theirs::Command::fence, [this](uint32_t tag, common::Bytes) {
        send_left(1);
        server_->send_status(tag, PMIX_SUCCESS);
    });
    init();
    construct();
    g_left = 0;
    pmix_status_t code = PMIX_GROUP_LEFT;
    ASSERT_GE(PMIx_Register_event_handler(&code, 1, nullptr, 0, &on_left, nullptr, nullptr), 0);
    EXPECT_STATUS(PMIX_SUCCESS, PMIx_Fence(nullptr, 0, nullptr, 0));
    while (g_left == 0) ::usleep(1000);
    EXPECT_STATUS(PMIX_SUCCESS, PMIx_Group_destruct("group", nullptr, 0));
    EXPECT_EQ((common::ProcList{{"job", 0}, {"job", 2}}), ended_);
}

// Without a handler of the application's for it, and under the ranks that the members have had from the beginning.
TEST_P(OpenPmixGroups, Leave_OfAnother_IsHeardByTheLibrary) {
    std::set<pmix_status_t> registered;
    server_->on(theirs::Command::register_events, [&](uint32_t tag, common::Bytes payload) {
        for (const pmix_status_t code : server_->decoded<theirs::RegisterEventsRequest>(payload).codes.codes)
            registered.insert(code);
        server_->send_status(tag, PMIX_SUCCESS);
    });
    std::vector<common::ProcList> fences;
    server_->on(theirs::Command::fence, [&](uint32_t tag, common::Bytes payload) {
        fences.push_back(server_->decoded<theirs::FenceRequest>(payload).procs.procs);
        if (registered.count(PMIX_GROUP_LEFT) != 0) send_left(1);
        server_->send_status(tag, PMIX_SUCCESS);
    });
    members_ = {{"job", 1}, {"job", 2}, {"job", 0}};
    init();
    construct();
    EXPECT_STATUS(PMIX_SUCCESS, PMIx_Fence(nullptr, 0, nullptr, 0));
    pmix_proc_t some[2];
    PMIX_LOAD_PROCID(&some[0], "group", 1);
    PMIX_LOAD_PROCID(&some[1], "group", PMIX_RANK_WILDCARD);
    EXPECT_STATUS(PMIX_SUCCESS, PMIx_Fence(&some[0], 1, nullptr, 0));
    EXPECT_STATUS(PMIX_SUCCESS, PMIx_Fence(&some[1], 1, nullptr, 0));
    ASSERT_EQ(3u, fences.size());
    EXPECT_EQ((common::ProcList{{"job", 2}}), fences[1]);
    EXPECT_EQ((common::ProcList{{"job", 2}, {"job", 0}}), fences[2]);
    EXPECT_STATUS(PMIX_SUCCESS, PMIx_Group_destruct("group", nullptr, 0));
    EXPECT_EQ((common::ProcList{{"job", 2}, {"job", 0}}), ended_);
}

// A whole job as a member: servers name it as the members have, and its ranks are the group's. To the server it is
// named so as well, as by the other members, unless one of them has left.
TEST_P(OpenPmixGroups, Construct_OfAWholeJob_HasItsRanks) {
    std::vector<common::ProcList> fences;
    server_->on(theirs::Command::fence, [&](uint32_t tag, common::Bytes payload) {
        fences.push_back(server_->decoded<theirs::FenceRequest>(payload).procs.procs);
        if (fences.size() == 3) send_left(1);
        server_->send_status(tag, PMIX_SUCCESS);
    });
    members_ = {{"job", 1}, {"job", PMIX_RANK_WILDCARD}};
    init();
    EXPECT_EQ((common::ProcList{{"job", 1}, {"job", 0}, {"job", 2}}), constructed());
    pmix_proc_t some[2];
    PMIX_LOAD_PROCID(&some[0], "group", 1);
    PMIX_LOAD_PROCID(&some[1], "group", PMIX_RANK_WILDCARD);
    EXPECT_STATUS(PMIX_SUCCESS, PMIx_Fence(&some[0], 1, nullptr, 0));
    EXPECT_STATUS(PMIX_SUCCESS, PMIx_Fence(&some[1], 1, nullptr, 0));
    pmix_value_t* value = nullptr;
    ASSERT_STATUS(PMIX_SUCCESS, PMIx_Get(&some[0], PMIX_LOCAL_RANK, nullptr, 0, &value)) << "a member by its rank";
    EXPECT_EQ(0u, value->data.uint16);
    PMIX_VALUE_RELEASE(value);
    EXPECT_STATUS(PMIX_SUCCESS, PMIx_Group_destruct("group", nullptr, 0));
    EXPECT_EQ(members_, ended_);

    construct();
    EXPECT_STATUS(PMIX_SUCCESS, PMIx_Fence(nullptr, 0, nullptr, 0));
    EXPECT_STATUS(PMIX_SUCCESS, PMIx_Fence(&some[1], 1, nullptr, 0));
    EXPECT_STATUS(PMIX_SUCCESS, PMIx_Group_destruct("group", nullptr, 0));
    EXPECT_EQ((common::ProcList{{"job", 0}, {"job", 2}}), ended_);
    ASSERT_EQ(4u, fences.size());
    EXPECT_EQ((common::ProcList{{"job", 0}}), fences[0]);
    EXPECT_EQ(members_, fences[1]);
    EXPECT_EQ((common::ProcList{{"job", 0}, {"job", 2}}), fences[3]);

    construct();
    EXPECT_STATUS(PMIX_SUCCESS, leave()) << "is told to the others, and not to itself";
    EXPECT_EQ(1, left_);
}

// Each member is to have the same members, also one that has not heard of the other jobs before.
TEST_P(OpenPmixGroups, Construct_OfOtherJobs_AsksForTheirSizes) {
    std::vector<std::string> asked;
    server_->on(theirs::Command::get, [&](uint32_t tag, common::Bytes payload) {
        const auto request = server_->decoded<theirs::GetRequest>(payload);
        EXPECT_EQ(PMIX_RANK_WILDCARD, request.rank.value);
        asked.push_back(request.nspace.text);
        if (request.nspace.text == "ended") return server_->send_status(tag, PMIX_ERR_NOT_FOUND);
        theirs::ProcData whole;
        whole.proc.id = {request.nspace.text, PMIX_RANK_WILDCARD};
        whole.values.pairs.push_back({PMIX_JOB_SIZE, common::Value::u32(2)});
        const auto bytes = server_->encoded(whole);
        theirs::GetReply reply;
        reply.objects.objects.push_back(bytes);
        server_->send(tag, reply);
    });
    members_ = {{"job", 0}, {"other", PMIX_RANK_WILDCARD}, {"ended", PMIX_RANK_WILDCARD}};
    init();
    EXPECT_EQ((common::ProcList{{"job", 0}, {"other", 0}, {"other", 1}, {"ended", PMIX_RANK_WILDCARD}}), constructed());
    std::sort(asked.begin(), asked.end());
    EXPECT_EQ((std::vector<std::string>{"ended", "other"}), asked);
    EXPECT_STATUS(PMIX_SUCCESS, PMIx_Group_destruct("group", nullptr, 0));
    EXPECT_EQ(members_, ended_) << "as the other members name them";
}

// A server has no groups by name: the members are named in their place.
TEST_P(OpenPmixGroups, Fence_OfAGroup_NamesItsMembers) {
    std::vector<common::ProcList> fences;
    server_->on(theirs::Command::fence, [&](uint32_t tag, common::Bytes payload) {
        fences.push_back(server_->decoded<theirs::FenceRequest>(payload).procs.procs);
        server_->send_status(tag, PMIX_SUCCESS);
    });
    members_ = {{"job", 2}, {"job", 0}};
    init();
    construct();
    pmix_proc_t group;
    PMIX_LOAD_PROCID(&group, "group", PMIX_RANK_WILDCARD);
    EXPECT_STATUS(PMIX_SUCCESS, PMIx_Fence(&group, 1, nullptr, 0));
    pmix_proc_t two[2];
    PMIX_LOAD_PROCID(&two[0], "job", 1);
    PMIX_LOAD_PROCID(&two[1], "group", 0);
    EXPECT_STATUS(PMIX_SUCCESS, PMIx_Fence(two, 2, nullptr, 0));
    EXPECT_EQ((std::vector<common::ProcList>{{{"job", 2}, {"job", 0}}, {{"job", 1}, {"job", 2}}}), fences);
}

}  // namespace
}  // namespace pmix::test::openpmix_groups_test

// SPDX-License-Identifier: BSD-3-Clause
// PMIx_Group_invite and _join at a server of OpenPMIx's that forms invited groups itself: what it is asked, and by
// which of its events a call ends.
#include <gtest/gtest.h>
#include <pmix.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <string>
#include <vector>

#include "common/values/array_value.h"
#include "common/values/info_view.h"
#include "common/values/proc_array.h"
#include "support/openpmix_process.h"
#include "support/status.h"

namespace pmix::test::openpmix_invitations_test {
namespace {

namespace theirs = openpmix;
using common::InfoList;
using common::InfoView;
using common::Value;

// How a call that calls back has ended.
struct Ended {
    std::mutex mutex;
    std::condition_variable changed;
    bool done = false;
    pmix_status_t status = PMIX_ERROR;
    common::ProcList members;
    size_t context = 0;
    static void on(pmix_status_t status, pmix_info_t infos[], size_t ninfos, void* cbdata,
                   pmix_release_cbfunc_t release, void* release_data) {
        auto* self = static_cast<Ended*>(cbdata);
        const std::lock_guard lock(self->mutex);
        const InfoView results(infos, ninfos);
        if (const pmix_info_t* said = results.find(PMIX_GROUP_MEMBERSHIP))
            common::read_proc_array(said->value, self->members);
        EXPECT_STATUS(PMIX_SUCCESS, results.get(PMIX_GROUP_CONTEXT_ID, &self->context));
        self->status = status;
        self->done = true;
        self->changed.notify_all();
        if (release != nullptr) release(release_data);
    }
    pmix_status_t wait() {
        std::unique_lock lock(mutex);
        EXPECT_TRUE(changed.wait_for(lock, std::chrono::seconds(60), [&] { return done; }));
        return status;
    }
    bool is_done() {
        const std::lock_guard lock(mutex);
        return done;
    }
};

std::mutex g_mutex;
std::condition_variable g_changed;
std::vector<pmix_status_t> g_heard, g_heard_by_default;
void on_default(size_t, pmix_status_t code, const pmix_proc_t*, pmix_info_t[], size_t, pmix_info_t[], size_t,
                pmix_event_notification_cbfunc_fn_t done, void* cbdata) {
    {
        const std::lock_guard lock(g_mutex);
        g_heard_by_default.push_back(code);
        g_changed.notify_all();
    }
    if (done != nullptr) done(PMIX_EVENT_NO_ACTION_TAKEN, nullptr, 0, nullptr, nullptr, cbdata);
}
void on_event(size_t, pmix_status_t code, const pmix_proc_t*, pmix_info_t[], size_t, pmix_info_t[], size_t,
              pmix_event_notification_cbfunc_fn_t done, void* cbdata) {
    {
        const std::lock_guard lock(g_mutex);
        g_heard.push_back(code);
        g_changed.notify_all();
    }
    // The default handler, if there is one, is next.
    if (done != nullptr) done(PMIX_EVENT_NO_ACTION_TAKEN, nullptr, 0, nullptr, nullptr, cbdata);
}
bool heard(pmix_status_t code, const std::vector<pmix_status_t>& where = g_heard) {
    std::unique_lock lock(g_mutex);
    return g_changed.wait_for(lock, std::chrono::seconds(60),
                              [&] { return std::find(where.begin(), where.end(), code) != where.end(); });
}

class OpenPmixInvitations : public OpenPmixProcess {
  protected:
    void SetUp() override {
        OpenPmixProcess::SetUp();
        g_heard.clear();
        g_heard_by_default.clear();
        server_->on(theirs::Command::register_events, [this](uint32_t tag, common::Bytes payload) {
            const auto codes = server_->decoded<theirs::RegisterEventsRequest>(payload).codes.codes;
            registered_.insert(registered_.end(), codes.begin(), codes.end());
            server_->send_status(tag, register_status_);
        });
        server_->on(theirs::Command::group_invite, [this](uint32_t tag, common::Bytes payload) {
            const auto asked = server_->decoded<theirs::GroupInviteRequest>(payload);
            EXPECT_EQ("group", asked.group.text);
            invited_ = asked.procs.procs;
            timeout_ = asked.timeout.value;
            optional_ = asked.optional.value;
            assigns_ = asked.assigns_id.value;
            taken(tag);
        });
        server_->on(theirs::Command::group_join, [this](uint32_t tag, common::Bytes payload) {
            const auto asked = server_->decoded<theirs::GroupJoinRequest>(payload);
            EXPECT_EQ("group", asked.group.text);
            answer_ = asked.answer.value;
            EXPECT_EQ(asked.has_leader.value, asked.leader.has_value());
            if (asked.leader) leader_ = asked.leader->id;
            taken(tag);
        });
        server_->on(theirs::Command::fence, [this](uint32_t tag, common::Bytes) {
            std::function<void()> act;
            {
                const std::lock_guard lock(g_mutex);
                act = at_fence_;
            }
            if (act) act();
            server_->send_status(tag, PMIX_SUCCESS);
        });
        server_->on(theirs::Command::group_destruct, [this](uint32_t tag, common::Bytes payload) {
            ended_ = server_->decoded<theirs::GroupDestructRequest>(payload).procs.procs;
            server_->send_status(tag, PMIX_SUCCESS);
        });
    }
    // The server has a request: it may tell of the group before it answers it.
    void taken(uint32_t tag) {
        EXPECT_NE(registered_.end(), std::find(registered_.begin(), registered_.end(), PMIX_GROUP_CONSTRUCT_COMPLETE));
        if (before_) before_();
        server_->send_status(tag, status_);
        if (after_) after_();
        taken_ = true;
    }
    void tell(pmix_status_t code, common::Rank source, const std::function<void(InfoList&)>& add,
              const char* group = "group") {
        InfoList infos;
        if (group != nullptr) infos.append_string(PMIX_GROUP_ID, group);
        if (add) add(infos);
        theirs::EventMessage event;
        event.code.value = code;
        event.source.id = {"job", source};
        event.infos.infos = std::move(infos);
        server_->send(theirs::kEventTag, event);
    }
    void tell_formed(common::Rank source, const char* group = "group") {
        tell(
            PMIX_GROUP_CONSTRUCT_COMPLETE, source,
            [this](InfoList& infos) {
                common::append_proc_array(infos, PMIX_GROUP_MEMBERSHIP, members_);
                infos.append_number<size_t>(PMIX_GROUP_CONTEXT_ID, 77, PMIX_SIZE);
            },
            group);
    }
    void tell_end_of(common::Rank rank) {
        tell(
            PMIX_ERR_PROC_ABORTED, rank,
            [rank](InfoList& infos) {
                const pmix_proc_t who = proc(rank);
                infos.append(PMIX_EVENT_AFFECTED_PROC, &who, PMIX_PROC);
            },
            nullptr);
    }
    pmix_status_t invite(const InfoList& infos = {}) {
        const pmix_proc_t all = proc(PMIX_RANK_WILDCARD);
        pmix_info_t* results = nullptr;
        size_t n = 0;
        const pmix_status_t rc = PMIx_Group_invite("group", &all, 1, infos.c_array(), infos.size(), &results, &n);
        results_ = {};
        if (const pmix_info_t* said = InfoView(results, n).find(PMIX_GROUP_MEMBERSHIP))
            common::read_proc_array(said->value, results_);
        if (results != nullptr) PMIX_INFO_FREE(results, n);
        return rc;
    }
    static pmix_status_t join_nb(common::Rank leader, Ended& ended, const InfoList& infos = {}) {
        const pmix_proc_t who = proc(leader);
        return PMIx_Group_join_nb("group", &who, PMIX_GROUP_ACCEPT, infos.c_array(), infos.size(), &Ended::on, &ended);
    }
    static pmix_status_t fence() { return PMIx_Fence(nullptr, 0, nullptr, 0); }
    // Events that the server sends with the answer to the next fence.
    void at_the_fence(std::function<void()> act) {
        const std::lock_guard lock(g_mutex);
        at_fence_ = std::move(act);
    }
    // A request is sent behind the registration of the events, which the call does not wait for.
    void await_request() const {
        while (!taken_) ::usleep(1000);
    }

    common::ProcList members_{{"job", 0}, {"job", 1}};
    pmix_status_t status_ = PMIX_SUCCESS, register_status_ = PMIX_SUCCESS;
    std::function<void()> before_, after_, at_fence_;
    std::atomic<bool> taken_{false};
    std::vector<pmix_status_t> registered_;
    common::ProcList invited_, ended_, results_;
    uint32_t timeout_ = 0;
    bool optional_ = false, assigns_ = false;
    pmix_status_t answer_ = PMIX_SUCCESS;
    common::ProcId leader_;
};
INSTANTIATE_TEST_SUITE_P(Releases, OpenPmixInvitations, ::testing::Values(std::make_pair("7.0.0rc1", "v61")));

TEST_P(OpenPmixInvitations, Invite_GroupForms_IsAGroupOfItsMembers) {
    after_ = [this] { tell_formed(0); };
    init();
    InfoList infos;
    infos.append_flag(PMIX_GROUP_OPTIONAL, true);
    infos.append_flag(PMIX_GROUP_ASSIGN_CONTEXT_ID, true);
    infos.append_number<int>(PMIX_TIMEOUT, 50, PMIX_INT);
    EXPECT_STATUS(PMIX_SUCCESS, invite(infos));
    EXPECT_EQ((common::ProcList{{"job", PMIX_RANK_WILDCARD}}), invited_) << "the server finds the processes";
    EXPECT_EQ(50u, timeout_);
    EXPECT_TRUE(optional_);
    EXPECT_TRUE(assigns_);
    EXPECT_EQ(members_, results_);
    Value context;
    pmix_proc_t group;
    PMIX_LOAD_PROCID(&group, "group", PMIX_RANK_WILDCARD);
    EXPECT_STATUS(PMIX_SUCCESS, get(group, PMIX_GROUP_CONTEXT_ID, &context));
    EXPECT_EQ(77u, context.get().data.size);
    EXPECT_STATUS(PMIX_SUCCESS, PMIx_Group_destruct("group", nullptr, 0));
    EXPECT_EQ(members_, ended_);
}

// The server may say them as the inviter has named them.
TEST_P(OpenPmixInvitations, Invite_OfAWholeJob_HasItsRanks) {
    members_ = {{"job", PMIX_RANK_WILDCARD}};
    after_ = [this] { tell_formed(0); };
    init();
    ASSERT_STATUS(PMIX_SUCCESS, invite());
    EXPECT_EQ((common::ProcList{{"job", 0}, {"job", 1}, {"job", 2}}), results_);
    EXPECT_STATUS(PMIX_SUCCESS, PMIx_Group_destruct("group", nullptr, 0));
    EXPECT_EQ(members_, ended_);
}

TEST_P(OpenPmixInvitations, Invite_Plain_AsksForNothingElse) {
    before_ = [this] { tell_formed(0); };
    optional_ = assigns_ = true;
    init();
    EXPECT_STATUS(PMIX_SUCCESS, invite()) << "told before it was answered";
    EXPECT_EQ(0u, timeout_);
    EXPECT_FALSE(optional_);
    EXPECT_FALSE(assigns_);
}

// An inviter looks at what its handlers have seen when the call returns.
TEST_P(OpenPmixInvitations, Invite_HandlersOfWhatWasBefore_AreCalledBefore) {
    after_ = [this] {
        tell(PMIX_GROUP_INVITE_FAILED, 0, {});
        tell_formed(0);
    };
    init();
    pmix_status_t code = PMIX_GROUP_INVITE_FAILED;
    ASSERT_GE(PMIx_Register_event_handler(&code, 1, nullptr, 0, &on_event, nullptr, nullptr), 0);
    EXPECT_STATUS(PMIX_SUCCESS, invite());
    const std::lock_guard lock(g_mutex);
    EXPECT_EQ(std::vector<pmix_status_t>{PMIX_GROUP_INVITE_FAILED}, g_heard);
}

TEST_P(OpenPmixInvitations, Invite_Refused_IsThatStatus) {
    status_ = PMIX_ERR_NOT_A_MEMBER;
    init();
    EXPECT_STATUS(PMIX_ERR_NOT_A_MEMBER, invite());
    EXPECT_STATUS(PMIX_ERR_NOT_FOUND, PMIx_Group_destruct("group", nullptr, 0)) << "no such group";
    status_ = PMIX_SUCCESS;
    after_ = [this] { tell(PMIX_GROUP_CONSTRUCT_ABORT, 0, {}); };
    EXPECT_STATUS(PMIX_GROUP_CONSTRUCT_ABORT, invite());
    EXPECT_TRUE(results_.empty());
}

// Without the events no call would end.
TEST_P(OpenPmixInvitations, Invite_EventsRefused_IsNotAsked) {
    register_status_ = PMIX_ERR_NOT_SUPPORTED;
    status_ = PMIX_ERR_NOT_A_MEMBER;
    init();
    EXPECT_STATUS(PMIX_ERR_NOT_SUPPORTED, invite());
    EXPECT_TRUE(invited_.empty());
    register_status_ = PMIX_SUCCESS;
    EXPECT_STATUS(PMIX_ERR_NOT_A_MEMBER, invite()) << "asked for again";
}

TEST_P(OpenPmixInvitations, Join_EndsWithTheGroupOfItsLeader) {
    init();
    Ended ended;
    EXPECT_STATUS(PMIX_SUCCESS, join_nb(1, ended));
    await_request();
    at_the_fence([this] {
        tell_formed(1, "other");
        tell_formed(2);
        tell_end_of(2);
    });
    EXPECT_STATUS(PMIX_SUCCESS, fence());
    EXPECT_STATUS(PMIX_GROUP_INVITE_ACCEPTED, answer_);
    EXPECT_EQ(common::ProcId("job", 1), leader_);
    at_the_fence({});
    EXPECT_STATUS(PMIX_SUCCESS, fence());  // the callback would be called before its answer
    EXPECT_FALSE(ended.is_done()) << "groups of others";
    at_the_fence([this] { tell_formed(1); });
    EXPECT_STATUS(PMIX_SUCCESS, fence());
    EXPECT_STATUS(PMIX_SUCCESS, ended.wait());
    EXPECT_EQ(members_, ended.members);
    EXPECT_EQ(77u, ended.context);
}

TEST_P(OpenPmixInvitations, Join_GroupOfTheNameByAnother_WaitsOn) {
    init();
    Ended first, second;
    EXPECT_STATUS(PMIX_SUCCESS, join_nb(1, first));
    await_request();
    EXPECT_STATUS(PMIX_SUCCESS, join_nb(2, second));
    await_request();
    at_the_fence([this] { tell_formed(1); });
    EXPECT_STATUS(PMIX_SUCCESS, fence());
    EXPECT_STATUS(PMIX_SUCCESS, first.wait());
    at_the_fence({});
    EXPECT_STATUS(PMIX_SUCCESS, fence());
    EXPECT_FALSE(second.is_done());
    at_the_fence([this] { tell_formed(2); });
    EXPECT_STATUS(PMIX_SUCCESS, fence());
    EXPECT_STATUS(PMIX_SUCCESS, second.wait());
}

// Any process may raise the events of groups, and name any process in them.
TEST_P(OpenPmixInvitations, Events_ThatLie_ChangeNothing) {
    server_->answer_status(theirs::Command::get, PMIX_ERR_NOT_FOUND);
    init();
    Ended ended;
    EXPECT_STATUS(PMIX_SUCCESS, join_nb(1, ended));
    await_request();
    at_the_fence([this] {
        tell_formed(1);
        // Of the same name, by one that has not invited: other members, and what they have put.
        tell(PMIX_GROUP_CONSTRUCT_COMPLETE, 2, [](InfoList& infos) {
            common::append_proc_array(infos, PMIX_GROUP_MEMBERSHIP, {{"job", 0}, {"job", 2}});
            InfoList put;
            const pmix_proc_t who = proc(2);
            put.append(PMIX_PROCID, &who, PMIX_PROC);
            put.append_string("forged", "value");
            infos.append(PMIX_PROC_INFO_ARRAY, std::move(common::array_value(std::move(put))).value());
        });
        // A name of a namespace.
        tell_formed(1, "job");
        // One that is said to have left, by another, and by another member.
        for (const common::Rank liar : {2u, 1u}) {
            tell(PMIX_GROUP_LEFT, liar, [liar](InfoList& infos) {
                const pmix_proc_t who = proc(liar - 1);
                infos.append(PMIX_EVENT_AFFECTED_PROC, &who, PMIX_PROC);
            });
        }
    });
    EXPECT_STATUS(PMIX_SUCCESS, fence());
    EXPECT_STATUS(PMIX_SUCCESS, ended.wait());
    EXPECT_STATUS(PMIX_SUCCESS, fence());
    Value value;
    EXPECT_NE(PMIX_SUCCESS, get(proc(2), "forged", &value));
    EXPECT_STATUS(PMIX_SUCCESS, PMIx_Group_destruct("group", nullptr, 0));
    EXPECT_EQ(members_, ended_);
}

// By the library, not by a process: a default handler, which may end its process, is not asked.
TEST_P(OpenPmixInvitations, Join_LeaderEnds_IsTold) {
    init();
    pmix_status_t code = PMIX_GROUP_LEADER_FAILED;
    ASSERT_GE(PMIx_Register_event_handler(nullptr, 0, nullptr, 0, &on_default, nullptr, nullptr), 0);
    ASSERT_GE(PMIx_Register_event_handler(&code, 1, nullptr, 0, &on_event, nullptr, nullptr), 0);
    after_ = [this] { tell_end_of(1); };
    Ended ended;
    EXPECT_STATUS(PMIX_SUCCESS, join_nb(1, ended));
    EXPECT_STATUS(PMIX_GROUP_LEADER_FAILED, ended.wait());
    EXPECT_TRUE(heard(PMIX_GROUP_LEADER_FAILED));
    // Its handlers have all been called when one of a later event is.
    constexpr pmix_status_t kLater = PMIX_EXTERNAL_ERR_BASE - 1;
    ASSERT_STATUS(PMIX_SUCCESS, PMIx_Notify_event(kLater, &self_, PMIX_RANGE_PROC_LOCAL, nullptr, 0, nullptr, nullptr));
    EXPECT_TRUE(heard(kLater, g_heard_by_default));
    const std::lock_guard lock(g_mutex);
    EXPECT_EQ(0, std::count(g_heard_by_default.begin(), g_heard_by_default.end(), code));
}

TEST_P(OpenPmixInvitations, Join_Limit_Ends) {
    init();
    InfoList infos;
    infos.append_number<int>(PMIX_TIMEOUT, 1, PMIX_INT);
    Ended ended;
    EXPECT_STATUS(PMIX_SUCCESS, join_nb(1, ended, infos));
    EXPECT_STATUS(PMIX_ERR_TIMEOUT, ended.wait());
    // The group forms with this process all the same, which takes part in its end.
    at_the_fence([this] { tell_formed(1); });
    EXPECT_STATUS(PMIX_SUCCESS, fence());
    EXPECT_STATUS(PMIX_SUCCESS, PMIx_Group_destruct("group", nullptr, 0));
    EXPECT_EQ(members_, ended_);
}

TEST_P(OpenPmixInvitations, Join_Declined_IsOverAtOnce) {
    registered_.push_back(PMIX_GROUP_CONSTRUCT_COMPLETE);  // is not needed for it
    init();
    const pmix_proc_t leader = proc(1);
    pmix_info_t* results = nullptr;
    size_t n = 0;
    EXPECT_STATUS(PMIX_SUCCESS, PMIx_Group_join("group", &leader, PMIX_GROUP_DECLINE, nullptr, 0, &results, &n));
    EXPECT_EQ(0u, n);
    EXPECT_STATUS(PMIX_GROUP_INVITE_DECLINED, answer_);
    status_ = PMIX_ERR_NOT_FOUND;
    EXPECT_STATUS(PMIX_ERR_NOT_FOUND, PMIx_Group_join("group", &leader, PMIX_GROUP_DECLINE, nullptr, 0, &results, &n));
}

// What members have put for other nodes comes with the event: with the group's number it is found here as well.
TEST_P(OpenPmixInvitations, Formed_SharesWhatMembersHavePut) {
    after_ = [this] {
        tell(PMIX_GROUP_CONSTRUCT_COMPLETE, 0, [this](InfoList& infos) {
            common::append_proc_array(infos, PMIX_GROUP_MEMBERSHIP, members_);
            infos.append_number<size_t>(PMIX_GROUP_CONTEXT_ID, 77, PMIX_SIZE);
            InfoList shared;
            const pmix_proc_t who = proc(1);
            const pmix_scope_t scope = PMIX_REMOTE;
            shared.append(PMIX_PROCID, &who, PMIX_PROC);
            shared.append(PMIX_DATA_SCOPE, &scope, PMIX_SCOPE);
            shared.append_number<uint32_t>("endpoint", 1235, PMIX_UINT32);
            infos.append(PMIX_PROC_INFO_ARRAY, std::move(common::array_value(std::move(shared))).value());
            infos.append_flag(PMIX_PROC_INFO_ARRAY, true);  // hostile
        });
    };
    server_->answer_status(theirs::Command::get, PMIX_ERR_NOT_FOUND);
    init();
    EXPECT_STATUS(PMIX_SUCCESS, invite());
    Value value;
    pmix_info_t number;
    size_t context = 77;
    PMIX_INFO_LOAD(&number, PMIX_GROUP_CONTEXT_ID, &context, PMIX_SIZE);
    PMIX_INFO_SET_QUALIFIER(&number);
    EXPECT_STATUS(PMIX_SUCCESS, get(proc(1), "endpoint", &value, &number, 1));
    EXPECT_EQ(1235u, value.get().data.uint32);
    EXPECT_STATUS(PMIX_ERR_NOT_FOUND, get(proc(1), "endpoint", &value)) << "it was put for processes of other nodes";
}

TEST_P(OpenPmixInvitations, Connection_Ends_EveryCallEnds) {
    init();
    Ended ended;
    EXPECT_STATUS(PMIX_SUCCESS, join_nb(1, ended));
    await_request();
    server_->cut();
    EXPECT_STATUS(PMIX_ERR_LOST_CONNECTION, ended.wait());
}

}  // namespace
}  // namespace pmix::test::openpmix_invitations_test

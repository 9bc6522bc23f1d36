// SPDX-License-Identifier: BSD-3-Clause
// Attributes of events, fences and groups at the client: each test fails where its attribute is not heeded.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <string>
#include <vector>

#include "client/data/fence.h"
#include "client/events/events.h"
#include "client/groups/group_api.h"
#include "client/groups/group_invite_api.h"
#include "client/modules.h"
#include "client/session/session.h"
#include "common/protocol/group_calls.h"
#include "common/values/info_view.h"
#include "common/values/proc_array.h"
#include "support/fake_channel.h"
#include "support/status.h"
#include "transport/event_loop.h"

namespace pmix::client::client_attributes_test {
namespace {

using common::Command;
using common::Frame;
using common::InfoList;
using common::InfoView;
using common::ProcId;
using common::ProcList;
using test::FakeChannel;

constexpr pmix_status_t kCode = -3300;

// Which handlers ran, by reference. Handlers have no argument of their own.
std::vector<size_t>* g_ran = nullptr;

void handler(size_t reference, pmix_status_t, const pmix_proc_t*, pmix_info_t*, size_t, pmix_info_t*, size_t,
             pmix_event_notification_cbfunc_fn_t done, void* cbdata) {
    g_ran->push_back(reference);
    done(PMIX_SUCCESS, nullptr, 0, nullptr, nullptr, cbdata);
}

struct GroupAnswer {
    std::atomic<int> calls{0};
    pmix_status_t status = 1;
    ProcList members;
    transport::Waiter waiter;
    static void group(pmix_status_t status, pmix_info_t* infos, size_t n, void* cbdata, pmix_release_cbfunc_t release,
                      void* borrowed) {
        auto* self = static_cast<GroupAnswer*>(cbdata);
        self->status = status;
        for (size_t i = 0; i < n; ++i)
            if (common::key_view(infos[i]) == PMIX_GROUP_MEMBERSHIP)
                common::read_proc_array(infos[i].value, self->members);
        if (release != nullptr) release(borrowed);
        ++self->calls;
        self->waiter.complete();
    }
    bool wait(int64_t ms = 60'000) { return waiter.wait(transport::Deadline::in_ms(ms)); }
};

class ClientAttributes : public ::testing::Test {
  protected:
    ClientAttributes() {
        g_ran = &ran;
        loop = std::move(transport::EventLoop::create()).value();
        session = client::make_session(*loop, ProcId("job", 1), ProcId("server", 0));
        auto made = std::make_unique<FakeChannel>(*loop, *session);
        channel = made.get();
        session->set_channel(std::move(made));
        // Registrations and notifications are answered; groups are the test's matter.
        channel->on_send = [this](const Frame& f) {
            if (f.header.kind != common::FrameKind::request ||
                f.header.command == static_cast<uint16_t>(Command::group))
                return;
            channel->answer(f, PMIX_SUCCESS, common::Nothing());
        };
        EXPECT_STATUS(PMIX_SUCCESS, loop->start());
    }
    ~ClientAttributes() override {
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
    // Which handlers an own event of this process reaches.
    std::vector<size_t> reached(InfoList infos) {
        ran.clear();
        EXPECT_STATUS(PMIX_SUCCESS, session->events().notify(kCode, nullptr, PMIX_RANGE_PROC_LOCAL, infos.c_array(),
                                                             infos.size(), nullptr, nullptr));
        drain();
        return ran;
    }
    void drain() {
        for (int i = 0; i < 20; ++i) session->on_loop_and_wait([] {});
    }
    // The last frame of a command, and how many there were.
    std::vector<Frame> sent(Command command) {
        std::vector<Frame> out;
        for (Frame& f : channel->sent())
            if (f.header.command == static_cast<uint16_t>(command)) out.push_back(std::move(f));
        return out;
    }
    void say(pmix_status_t code, const ProcId& source, const std::string& group) {
        common::EventNotify event;
        event.status = code;
        event.source = source;
        event.range = PMIX_RANGE_CUSTOM;
        InfoList infos;
        infos.append_string(PMIX_GROUP_ID, group);
        event.infos = std::move(infos);
        channel->notify(event);
        drain();
    }

    std::vector<size_t> ran;
    std::unique_ptr<transport::EventLoop> loop;
    std::unique_ptr<Session> session;
    FakeChannel* channel = nullptr;
};

InfoList flag(const char* key) {
    InfoList list;
    list.append_flag(key, true);
    return list;
}
InfoList about(const char* key, const ProcId& proc) {
    InfoList list;
    const pmix_proc_t p = proc.to_c();
    list.append(key, &p, PMIX_PROC);
    return list;
}

}  // namespace

// rows: E11
// proves: PMIx_Notify_event PMIX_EVENT_NON_DEFAULT client
TEST_F(ClientAttributes, DefaultHandlersAreSparedWhatIsNotForThem) {
    const size_t named = add({kCode}), other = add({});
    EXPECT_EQ((std::vector<size_t>{named, other}), reached({}));
    EXPECT_EQ((std::vector<size_t>{named}), reached(flag(PMIX_EVENT_NON_DEFAULT)));
}

// rows: E11
// proves: PMIx_Notify_event PMIX_EVENT_DO_NOT_CACHE client
TEST_F(ClientAttributes, NotifyEvent_DoNotCache_IsNotReplayedToLaterHandlers) {
    reached({});
    ran.clear();
    add({kCode});
    drain();
    EXPECT_EQ(1u, ran.size()) << "it was kept";
    reached(flag(PMIX_EVENT_DO_NOT_CACHE));
    ran.clear();
    add({kCode});
    drain();
    EXPECT_EQ(1u, ran.size()) << "the first, and not the second";
}

// rows: E11
// proves: PMIx_Notify_event PMIX_EVENT_AFFECTED_PROC PMIX_EVENT_AFFECTED_PROCS client
TEST_F(ClientAttributes, AffectedProcs_SelectTheHandlers) {
    const size_t of_two = add({kCode}, about(PMIX_EVENT_AFFECTED_PROC, ProcId("job", 2)));
    const size_t of_three = add({kCode}, about(PMIX_EVENT_AFFECTED_PROC, ProcId("job", 3)));
    EXPECT_EQ((std::vector<size_t>{of_two}), reached(about(PMIX_EVENT_AFFECTED_PROC, ProcId("job", 2))));
    InfoList several;
    common::append_proc_array(several, PMIX_EVENT_AFFECTED_PROCS, {{"job", 3}, {"job", 7}});
    EXPECT_EQ((std::vector<size_t>{of_three}), reached(std::move(several)));
    EXPECT_TRUE(reached({}).empty());
}

// rows: F1
// proves: PMIx_Fence PMIX_ALL_CLONES_PARTICIPATE client
TEST_F(ClientAttributes, AFenceOfOneWithClonesIsTheServersMatter) {
    const pmix_proc_t self = session->self().to_c();
    ASSERT_STATUS(PMIX_SUCCESS, fence(*session, &self, 1, nullptr, 0));
    EXPECT_TRUE(sent(Command::fence).empty());
    channel->on_send = [this](const Frame& f) { channel->answer(f, PMIX_SUCCESS, common::FenceReply()); };
    const InfoList clones = flag(PMIX_ALL_CLONES_PARTICIPATE);
    ASSERT_STATUS(PMIX_SUCCESS, fence(*session, &self, 1, clones.c_array(), clones.size()));
    EXPECT_EQ(1u, sent(Command::fence).size());
}

// rows: R13 R15
// proves: PMIx_Group_invite PMIX_GROUP_OPTIONAL PMIX_GROUP_FT_COLLECTIVE PMIX_GROUP_NOTIFY_TERMINATION client
// proves: PMIx_Group_invite PMIX_GROUP_ASSIGN_CONTEXT_ID PMIX_RANGE client
TEST_F(ClientAttributes, WhatTheGroupNeedsFromAllGoesWithTheInvitation) {
    InfoList infos = flag(PMIX_GROUP_OPTIONAL);
    for (const char* key : {PMIX_GROUP_FT_COLLECTIVE, PMIX_GROUP_NOTIFY_TERMINATION, PMIX_GROUP_ASSIGN_CONTEXT_ID})
        infos.append_flag(key, true);
    pmix_data_range_t range = PMIX_RANGE_LOCAL;
    infos.append(PMIX_RANGE, &range, PMIX_DATA_RANGE);
    infos.append_string("myapp.secret", "mine alone");
    const pmix_proc_t invited = ProcId("job", 2).to_c();
    GroupAnswer answer;
    ASSERT_STATUS(PMIX_SUCCESS, group_invite_nb(*session, "band", &invited, 1, infos.c_array(), infos.size(),
                                                GroupAnswer::group, &answer));
    drain();
    std::vector<InfoList> said;
    for (const Frame& f : sent(Command::notify_event)) {
        auto request = FakeChannel::decoded<common::NotifyEventRequest>(f);
        if (request.status == PMIX_GROUP_INVITED) said.push_back(request.infos.take());
    }
    ASSERT_EQ(1u, said.size());
    EXPECT_TRUE(sent(Command::group).empty()) << "nobody has accepted";
    say(PMIX_GROUP_INVITE_ACCEPTED, ProcId("job", 2), "band");
    const auto calls = sent(Command::group);
    ASSERT_EQ(1u, calls.size());
    auto construct = FakeChannel::decoded<common::GroupRequest>(calls[0]);
    EXPECT_EQ(common::GroupCall::construct, construct.call);
    said.push_back(construct.infos.take());
    for (const InfoList& list : said) {
        const InfoView view(list);
        for (const char* key : {PMIX_GROUP_OPTIONAL, PMIX_GROUP_FT_COLLECTIVE, PMIX_GROUP_NOTIFY_TERMINATION,
                                PMIX_GROUP_ASSIGN_CONTEXT_ID})
            EXPECT_TRUE(view.flag(key)) << key;
        const pmix_info_t* said_range = list.find(PMIX_RANGE);
        ASSERT_NE(nullptr, said_range);
        EXPECT_EQ(PMIX_RANGE_LOCAL, said_range->value.data.range);
    }
    EXPECT_EQ(nullptr, said[0].find("myapp.secret"));
    channel->answer(calls[0], PMIX_ERR_NOT_SUPPORTED, common::GroupReply());
    EXPECT_TRUE(answer.wait());
    EXPECT_STATUS(PMIX_ERR_NOT_SUPPORTED, answer.status);
}

// rows: R11 R15 R16
// proves: PMIx_Group_invite PMIX_TIMEOUT PMIX_GROUP_OPTIONAL client
// proves: PMIx_Group_join PMIX_TIMEOUT client
TEST_F(ClientAttributes, ASilentOtherHoldsNoInvitationForLongerThanItsLimit) {
    const auto limited = [](bool optional) {
        InfoList list;
        list.append_number<int>(PMIX_TIMEOUT, 1, PMIX_INT);
        if (optional) list.append_flag(PMIX_GROUP_OPTIONAL, true);
        return list;
    };
    // The server answers as soon as it is asked: the construct has a limit too, and this thread may be slow.
    channel->on_send = [this, answers = channel->on_send](const Frame& f) {
        answers(f);
        if (f.header.kind != common::FrameKind::request) return;
        if (f.header.command == static_cast<uint16_t>(Command::group))
            channel->answer(f, PMIX_SUCCESS, common::GroupReply());
    };
    const pmix_proc_t both[] = {ProcId("job", 2).to_c(), ProcId("job", 1).to_c()}, &other = both[0];
    GroupAnswer strict, joined;
    const InfoList one = limited(false), two = limited(true);
    GroupAnswer lenient;
    ASSERT_STATUS(PMIX_SUCCESS, group_invite_nb(*session, "strict", &other, 1, one.c_array(), one.size(),
                                                GroupAnswer::group, &strict));
    ASSERT_STATUS(PMIX_SUCCESS, group_invite_nb(*session, "lenient", both, 2, two.c_array(), two.size(),
                                                GroupAnswer::group, &lenient));
    ASSERT_STATUS(PMIX_SUCCESS, group_join_nb(*session, "theirs", &other, PMIX_GROUP_ACCEPT, one.c_array(), one.size(),
                                              GroupAnswer::group, &joined));
    EXPECT_TRUE(strict.wait());
    EXPECT_STATUS(PMIX_ERR_TIMEOUT, strict.status);
    EXPECT_TRUE(joined.wait());
    EXPECT_STATUS(PMIX_ERR_TIMEOUT, joined.status);
    EXPECT_TRUE(lenient.wait());
    EXPECT_STATUS(PMIX_ERR_PARTIAL_SUCCESS, lenient.status);
    // Where it may be smaller it is made of those that have answered.
    const auto calls = sent(Command::group);
    ASSERT_EQ(1u, calls.size());
    const auto request = FakeChannel::decoded<common::GroupRequest>(calls[0]);
    EXPECT_EQ("lenient", request.name);
    EXPECT_EQ((ProcList{{"job", 1}}), request.procs);
}

// rows: R8
// proves: PMIx_Group_construct PMIX_GROUP_NOTIFY_TERMINATION client
TEST_F(ClientAttributes, WhoWantsToBeToldOfTerminationListens) {
    const pmix_proc_t all = ProcId("job", PMIX_RANK_WILDCARD).to_c();
    for (bool told : {false, true}) {
        const InfoList infos = told ? flag(PMIX_GROUP_NOTIFY_TERMINATION) : InfoList();
        GroupAnswer answer;
        const std::string name = told ? "told" : "not told";
        ASSERT_STATUS(PMIX_SUCCESS, group_construct_nb(*session, name.c_str(), &all, 1, infos.c_array(), infos.size(),
                                                       GroupAnswer::group, &answer));
        drain();
        bool listens = false;
        for (const Frame& f : sent(Command::register_events)) {
            const auto codes = FakeChannel::decoded<common::RegisterEventsRequest>(f).codes;
            listens = listens || std::find(codes.begin(), codes.end(), PMIX_GROUP_MEMBER_FAILED) != codes.end();
        }
        EXPECT_EQ(told, listens);
        channel->answer(sent(Command::group).back(), PMIX_ERR_NOT_SUPPORTED, common::GroupReply());
        EXPECT_TRUE(answer.wait());
    }
}

// rows: R10 R11
// proves: PMIx_Group_construct PMIX_GROUP_OPTIONAL client
TEST_F(ClientAttributes, WithOptionalMembersTheServerHasTimeToGoOnWithoutThem) {
    const auto waited = [&](bool optional, const char* name) {
        InfoList infos;
        infos.append_number<int>(PMIX_TIMEOUT, 1, PMIX_INT);
        if (optional) infos.append_flag(PMIX_GROUP_OPTIONAL, true);
        const pmix_proc_t all = ProcId("job", PMIX_RANK_WILDCARD).to_c();
        const int64_t before = transport::monotonic_ns();
        pmix_info_t* results = nullptr;
        size_t nresults = 0;
        EXPECT_STATUS(PMIX_ERR_TIMEOUT,
                      group_construct(*session, name, &all, 1, infos.c_array(), infos.size(), &results, &nresults));
        return (transport::monotonic_ns() - before) / 1'000'000;
    };
    const int64_t optional = waited(true, "optional");
    // Once more where this process was stopped meanwhile.
    int64_t plain = waited(false, "plain");
    for (int i = 0; i < 4 && optional < plain + 1000; ++i) plain = std::min(plain, waited(false, "plain"));
    EXPECT_GE(optional, plain + 1000);
}

}  // namespace pmix::client::client_attributes_test

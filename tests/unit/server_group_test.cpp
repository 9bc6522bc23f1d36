// Groups through a whole server: what the host sees, what members get, what a death, a timeout and an abort do.
#include <gtest/gtest.h>
#include <time.h>

#include "common/group_calls.h"
#include "common/proc_array.h"
#include "support/fake_client.h"

using namespace pmix;
using namespace pmix::test;
using common::GroupCall;
using common::InfoList;
using common::ProcList;

namespace {

const ProcId kAll("job", PMIX_RANK_WILDCARD);
const std::string kName = "myapp-group";

struct Done {
    pmix_status_t status = PMIX_ERR_LOST_CONNECTION;
    InfoList results;
    ProcList members;
};

Done done_of(FakeClient& client, uint32_t id) {
    Done done;
    auto reply = client.wait(id);
    if (!reply) return done;
    done.status = reply->header.status;
    common::ControlReply message;
    common::decode_message(reply->payload, message);
    done.results = message.infos.take();
    if (const pmix_info_t* info = done.results.find(PMIX_GROUP_MEMBERSHIP))
        common::read_proc_array(info->value, done.members);
    return done;
}

uint32_t start(FakeClient& client, GroupCall call, ProcList procs = {}, InfoList infos = {},
               const std::string& name = kName) {
    common::ControlRequest request;
    request.kind = static_cast<uint32_t>(call);
    request.name = name;
    request.procs = std::move(procs);
    request.infos = std::move(infos);
    return client.start<Command::group>(request);
}
uint32_t construct(FakeClient& client, ProcList procs = {kAll}, InfoList infos = {}, const std::string& name = kName) {
    return start(client, GroupCall::construct, std::move(procs), std::move(infos), name);
}
// As the client library does when an invitation has been answered: who invites, and the members.
uint32_t invited(FakeClient& client, const ProcId& inviter, ProcList members, bool leads = false, InfoList infos = {}) {
    common::ControlRequest request;
    request.kind = static_cast<uint32_t>(GroupCall::construct);
    request.name = kName;
    request.procs = std::move(members);
    if (leads) infos.append_flag(PMIX_GROUP_LEADER, true);
    request.infos = std::move(infos);
    InfoList who;
    const pmix_proc_t proc = inviter.to_c();
    who.append(PMIX_GROUP_LEADER, &proc, PMIX_PROC);
    request.directives = std::move(who);
    return client.start<Command::group>(request);
}
uint32_t destruct(FakeClient& client) { return start(client, GroupCall::destruct); }

InfoList flag(const char* key) {
    InfoList list;
    list.append_flag(key, true);
    return list;
}
InfoList timed(InfoList list) {
    list.append_number<int>(PMIX_TIMEOUT, 1, PMIX_INT);
    return list;
}

void listen(FakeClient& client, std::vector<int32_t> codes) {
    common::RegisterEventsRequest request;
    request.codes = std::move(codes);
    request.reference = 7;
    ASSERT_EQ(PMIX_SUCCESS, client.ask<Command::register_events>(request));
}

struct Setting {
    explicit Setting(unsigned nodes = 1, unsigned ppn = 3, bool with_host = true) {
        module = host.module();
        if (!with_host) module.group = nullptr;
        server = std::make_unique<TestServer>(&module);
        server->job("job", nodes, ppn);
        for (unsigned r = 0; r < ppn; ++r) {
            clients.push_back(std::make_unique<FakeClient>(*server, ProcId("job", r)));
            EXPECT_EQ(PMIX_SUCCESS, clients.back()->hello());
        }
    }
    FakeClient& operator[](size_t i) { return *clients[i]; }
    void kill(size_t i) {
        clients[i]->kill();
        server->settle();
    }
    FakeHost host;
    pmix_server_module_t module;
    std::unique_ptr<TestServer> server;
    std::vector<std::unique_ptr<FakeClient>> clients;
};

}  // namespace

// rows: R1 R2 R4 R12
TEST(ServerGroupTest, AllLocalNeedsNoHostAndKeepsTheOrderGiven) {
    Setting s(1, 3, false);
    const ProcList order = {{"job", 2}, {"job", 0}, {"job", 1}};
    uint32_t a = construct(s[1], order), b = construct(s[0], {{"job", 0}, {"job", 1}, {"job", 2}});
    s.server->settle();
    EXPECT_FALSE(s[1].take(a)) << "rank 2 is missing";
    uint32_t c = construct(s[2], {{"job", 1}, {"job", 2}, {"job", 0}});
    Done first = done_of(s[1], a);
    EXPECT_EQ(PMIX_SUCCESS, first.status);
    EXPECT_EQ((ProcList{{"job", 0}, {"job", 1}, {"job", 2}}), first.members) << "the first member's order";
    EXPECT_EQ(first.members, done_of(s[0], b).members);
    EXPECT_EQ(first.members, done_of(s[2], c).members);
    EXPECT_EQ(PMIX_ERR_EXISTS, done_of(s[0], construct(s[0])).status);
    uint32_t d[3];
    for (int i = 0; i < 3; ++i) d[i] = destruct(s[i]);
    for (int i = 0; i < 3; ++i) EXPECT_EQ(PMIX_SUCCESS, done_of(s[i], d[i]).status);
    EXPECT_EQ(PMIX_ERR_NOT_FOUND, done_of(s[0], destruct(s[0])).status);
    EXPECT_EQ(0u, s.host.count("group"));
    EXPECT_EQ(0u, s.server->parts().groups.open());
}

// Two jobs of one server use the same name at the same time, as MPI_Comm_create_from_group does with its tags; so do
// two halves of one job. rows: R1 R4 R6 R12
TEST(ServerGroupTest, Construct_SameNameInTwoJobs_AreTwoGroups) {
    TestServer server(nullptr);
    server.job("one", 1, 2);
    server.job("two", 1, 2);
    server.job("job", 1, 4);
    const auto client = [&](const char* job, uint32_t rank) {
        auto c = std::make_unique<FakeClient>(server, ProcId(job, rank));
        EXPECT_EQ(PMIX_SUCCESS, c->hello());
        return c;
    };
    const std::vector<std::vector<ProcId>> sets = {
        {{"one", 0}, {"one", 1}}, {{"two", 0}, {"two", 1}}, {{"job", 0}, {"job", 2}}, {{"job", 3}, {"job", 1}}};
    std::vector<std::vector<std::unique_ptr<FakeClient>>> c;
    for (const auto& set : sets) {
        c.emplace_back();
        for (const ProcId& p : set) c.back().push_back(client(p.nspace.c_str(), p.rank));
    }
    const auto procs = [&](size_t i) {
        return i < 2 ? ProcList{{i == 0 ? "one" : "two", PMIX_RANK_WILDCARD}}
                     : ProcList(sets[i].begin(), sets[i].end());
    };
    uint32_t ids[4];
    for (size_t i = 0; i < 4; ++i) ids[i] = construct(*c[i][0], procs(i));
    server.settle();
    for (size_t i = 0; i < 4; ++i) EXPECT_FALSE(c[i][0]->take(ids[i])) << i << ": its second member is missing";
    for (size_t i = 0; i < 4; ++i) {
        const Done second = done_of(*c[i][1], construct(*c[i][1], procs(i)));
        EXPECT_EQ(PMIX_SUCCESS, second.status) << i;
        EXPECT_EQ(ProcList(sets[i].begin(), sets[i].end()), second.members) << i;
        EXPECT_EQ(PMIX_SUCCESS, done_of(*c[i][0], ids[i]).status) << i;
    }
    EXPECT_EQ(4u, server.parts().registry.groups().all().size());
    EXPECT_EQ(PMIX_ERR_EXISTS, done_of(*c[0][0], construct(*c[0][0], procs(0))).status) << "it is in one already";
    EXPECT_EQ(PMIX_ERR_EXISTS, done_of(*c[2][0], construct(*c[2][0], {{"job", PMIX_RANK_WILDCARD}})).status);

    // The name means the caller's own group: its members fence, one leaves, the others hear of it.
    for (size_t i = 0; i < 4; ++i) {
        const ProcId whole(kName, PMIX_RANK_WILDCARD);
        const uint32_t first = c[i][0]->start_fence({whole});
        server.settle();
        EXPECT_FALSE(c[i][0]->take(first)) << i;
        const uint32_t second = c[i][1]->start_fence({whole});
        EXPECT_EQ(PMIX_SUCCESS, c[i][0]->wait(first)->header.status) << i;
        EXPECT_EQ(PMIX_SUCCESS, c[i][1]->wait(second)->header.status) << i;
        listen(*c[i][0], {PMIX_GROUP_LEFT});
    }
    EXPECT_EQ(PMIX_SUCCESS, done_of(*c[1][1], start(*c[1][1], GroupCall::leave)).status);
    server.settle();
    for (size_t i = 0; i < 4; ++i) EXPECT_EQ(i == 1, c[i][0]->take_event().has_value()) << i;

    // Each is taken apart by its own members.
    EXPECT_EQ(PMIX_SUCCESS, done_of(*c[1][0], destruct(*c[1][0])).status) << "alone since the other has left";
    for (const size_t i : {0u, 2u, 3u}) {
        const uint32_t first = destruct(*c[i][0]);
        server.settle();
        EXPECT_FALSE(c[i][0]->take(first)) << i;
        EXPECT_EQ(PMIX_SUCCESS, done_of(*c[i][1], destruct(*c[i][1])).status) << i;
        EXPECT_EQ(PMIX_SUCCESS, done_of(*c[i][0], first).status) << i;
    }
    EXPECT_TRUE(server.parts().registry.groups().empty());
    EXPECT_EQ(0u, server.parts().groups.open());
}

// A construct that ends, by a death, an abort or a timeout, is its own members' affair. rows: R8 R10 R11
TEST(ServerGroupTest, Construct_SameNameInTwoJobs_EndsForOneOnly) {
    TestServer server(nullptr);
    server.job("one", 1, 3);
    server.job("two", 1, 2);
    FakeClient a(server, {"one", 0}), b(server, {"one", 1}), c(server, {"two", 0}), d(server, {"two", 1});
    for (FakeClient* client : {&a, &b, &c, &d}) ASSERT_EQ(PMIX_SUCCESS, client->hello());
    const ProcList one = {{"one", PMIX_RANK_WILDCARD}}, two = {{"two", PMIX_RANK_WILDCARD}};
    uint32_t x = construct(a, one), y = construct(c, two);
    server.settle();
    b.kill();
    EXPECT_EQ(PMIX_ERR_PROC_TERM_WO_SYNC, done_of(a, x).status);
    x = construct(a, {{"one", 0}, {"one", 2}});
    server.settle();
    EXPECT_EQ(PMIX_SUCCESS, done_of(a, start(a, GroupCall::abort)).status);
    EXPECT_EQ(PMIX_GROUP_CONSTRUCT_ABORT, done_of(a, x).status);
    EXPECT_EQ(PMIX_ERR_TIMEOUT, done_of(a, construct(a, {{"one", 0}, {"one", 2}}, timed({}))).status);
    EXPECT_FALSE(c.take(y)) << "the other job waits for its own";
    EXPECT_EQ(PMIX_SUCCESS, done_of(d, construct(d, two)).status);
    EXPECT_EQ(PMIX_SUCCESS, done_of(c, y).status);
}

// rows: R1 R4
TEST(ServerGroupTest, Construct_LongListUnsortedAndRepeated_KeepsTheFirstOfEach) {
    Setting s(1, 3, false);
    s.server->job("far", 300, 10, false);
    ProcList list, wanted;
    for (uint32_t r = 3000; r-- > 10;) wanted.push_back({"far", r});
    wanted.insert(wanted.begin() + 7, {"job", 2});
    wanted.push_back({"job", 0});
    list = wanted;
    list.push_back({"far", 2999});
    list.push_back({"job", 2});
    // Without a host nobody can gather the others: what counts is who of this node is waited for.
    const uint32_t first = construct(s[0], list);
    s.server->settle();
    EXPECT_FALSE(s[0].take(first)) << "rank 2 is missing";
    EXPECT_EQ(PMIX_ERR_NOT_SUPPORTED, done_of(s[2], construct(s[2], list)).status);
    EXPECT_EQ(PMIX_ERR_NOT_SUPPORTED, done_of(s[0], first).status);
    Setting wide(1, 3);
    wide.server->job("far", 300, 10, false);
    const uint32_t a = construct(wide[2], list), b = construct(wide[0], list);
    const Done done = done_of(wide[2], a);
    EXPECT_EQ(PMIX_SUCCESS, done.status);
    EXPECT_EQ(wanted, done.members);
    EXPECT_EQ(wanted, done_of(wide[0], b).members);
}

// rows: R1
TEST(ServerGroupTest, WhatCannotBeAGroup) {
    Setting s(1, 1);
    EXPECT_EQ(PMIX_ERR_BAD_PARAM, done_of(s[0], construct(s[0], {kAll}, {}, "")).status);
    EXPECT_EQ(PMIX_ERR_BAD_PARAM, done_of(s[0], construct(s[0], {kAll}, {}, std::string(256, 'x'))).status);
    EXPECT_EQ(PMIX_ERR_BAD_PARAM, done_of(s[0], construct(s[0], {kAll}, {}, "job")).status) << "a namespace's name";
    EXPECT_EQ(PMIX_ERR_NOT_SUPPORTED, done_of(s[0], construct(s[0], {})).status) << "a host that does not say who is in it";
    EXPECT_EQ(PMIX_ERR_BAD_PARAM, done_of(s[0], construct(s[0], {{"job", 5}})).status) << "not the caller";
    EXPECT_EQ(PMIX_ERR_BAD_PARAM, done_of(s[0], construct(s[0], {{"job", PMIX_RANK_UNDEF}})).status);
    InfoList required;
    bool yes = true;
    required.append("myapp.unknown", &yes, PMIX_BOOL, PMIX_INFO_REQD);
    EXPECT_EQ(PMIX_ERR_NOT_SUPPORTED, done_of(s[0], construct(s[0], {kAll}, std::move(required))).status);
    EXPECT_EQ(PMIX_ERR_NOT_FOUND, done_of(s[0], start(s[0], GroupCall::leave)).status);
}

// rows: R2 R3
// proves: PMIx_Group_construct PMIX_GROUP_ASSIGN_CONTEXT_ID PMIX_RANGE server
TEST(ServerGroupTest, WithoutTheHostsEntryNoContextIdNorOtherNodes) {
    Setting near(1, 1, false);
    EXPECT_EQ(PMIX_ERR_NOT_SUPPORTED,
              done_of(near[0], construct(near[0], {kAll}, flag(PMIX_GROUP_ASSIGN_CONTEXT_ID))).status);
    InfoList local = flag(PMIX_GROUP_ASSIGN_CONTEXT_ID);
    pmix_data_range_t range = PMIX_RANGE_LOCAL;
    local.append(PMIX_RANGE, &range, PMIX_DATA_RANGE);
    Done done = done_of(near[0], construct(near[0], {kAll}, std::move(local)));
    EXPECT_EQ(PMIX_SUCCESS, done.status) << "unique on the node is what was asked for";
    EXPECT_GT(number_of(done.results, PMIX_GROUP_CONTEXT_ID), 0);
}

TEST(ServerGroupTest, OtherNodesNeedTheHostsEntry) {
    Setting wide(2, 1, false);
    EXPECT_EQ(PMIX_ERR_NOT_SUPPORTED, done_of(wide[0], construct(wide[0])).status);
}

// rows: R3 R4 U17
TEST(ServerGroupTest, OneUpcallWithSortedProcessesAndTheAnswerForAll) {
    Setting s(2, 2);
    s.host.styles["group"] = Style::later;
    s.host.group_results = [](const Seen& seen, InfoList& out) {
        out.append_number<size_t>(PMIX_GROUP_CONTEXT_ID, 77, PMIX_SIZE);
        if (const pmix_info_t* data = seen.infos.find(PMIX_GROUP_ENDPT_DATA)) out.append(*data);
    };
    const ProcList order = {{"job", 3}, {"job", 1}, {"job", 0}, {"job", 2}};
    s[0].put("k", "from 0");
    uint32_t a = construct(s[0], order, flag(PMIX_GROUP_ASSIGN_CONTEXT_ID));
    s.server->settle();
    EXPECT_EQ(0u, s.host.count("group"));
    uint32_t b = construct(s[1], order);
    ASSERT_TRUE(s.server->turn_until([&] { return s.host.waiting() == 1; }));
    const Seen* seen = s.host.last("group");
    EXPECT_EQ(PMIX_GROUP_CONSTRUCT, seen->status);
    EXPECT_EQ(kName, seen->message);
    EXPECT_EQ((ProcList{{"job", 0}, {"job", 1}, {"job", 2}, {"job", 3}}), seen->procs);
    EXPECT_EQ(PMIX_SUCCESS, number_of(seen->infos, PMIX_LOCAL_COLLECTIVE_STATUS));
    EXPECT_NE(nullptr, seen->infos.find(PMIX_GROUP_ENDPT_DATA));
    s.host.answer_waiting();
    Done da = done_of(s[0], a), db = done_of(s[1], b);
    EXPECT_EQ(PMIX_SUCCESS, da.status);
    EXPECT_EQ(order, da.members);
    EXPECT_EQ(order, db.members);
    EXPECT_EQ(77, number_of(da.results, PMIX_GROUP_CONTEXT_ID));
    EXPECT_EQ(77, number_of(db.results, PMIX_GROUP_CONTEXT_ID));
    // The host is told of the end too.
    s.host.styles["group"] = Style::before_return;
    uint32_t c = destruct(s[0]), d = destruct(s[1]);
    EXPECT_EQ(PMIX_SUCCESS, done_of(s[0], c).status);
    EXPECT_EQ(PMIX_SUCCESS, done_of(s[1], d).status);
    EXPECT_EQ(PMIX_GROUP_DESTRUCT, s.host.last("group")->status);
    EXPECT_EQ(2u, s.host.count("group"));
}

// What one member asks for, whichever calls first, reaches the host once.
TEST(ServerGroupTest, Construct_DirectiveOfOneMember_HostIsToldOnce) {
    for (const char* key :
         {PMIX_GROUP_ASSIGN_CONTEXT_ID, PMIX_GROUP_OPTIONAL, PMIX_GROUP_NOTIFY_TERMINATION, PMIX_GROUP_FT_COLLECTIVE}) {
        for (const size_t asks : {0u, 1u, 2u}) {  // 2: nobody
            Setting s(2, 2);
            s.host.styles["group"] = Style::before_return;
            s.host.group_results = [](const Seen&, InfoList& out) {
                out.append_number<size_t>(PMIX_GROUP_CONTEXT_ID, 77, PMIX_SIZE);
            };
            uint32_t id[2];
            for (size_t i = 0; i < 2; ++i) {
                id[i] = construct(s[i], {kAll}, asks == i ? flag(key) : InfoList());
                s.server->settle();
            }
            for (size_t i = 0; i < 2; ++i) EXPECT_EQ(PMIX_SUCCESS, done_of(s[i], id[i]).status) << key;
            const InfoList& infos = s.host.last("group")->infos;
            size_t n = 0;
            for (const pmix_info_t& info : infos) n += common::key_view(info) == key;
            const bool always = std::string_view(key) == PMIX_GROUP_ASSIGN_CONTEXT_ID;
            EXPECT_EQ(asks != 2 || always ? 1u : 0u, n) << key;
            EXPECT_EQ(asks != 2, common::InfoView(infos).flag(key)) << key;
        }
    }
}

// rows: U17 R3
TEST(ServerGroupTest, HostThatAnswersNothing) {
    for (Style style : {Style::before_return, Style::succeeded, Style::other_thread, Style::fails}) {
        Setting s(2, 1);
        s.host.styles["group"] = style;
        if (style == Style::fails) s.host.statuses["group"] = PMIX_ERR_NO_PERMISSIONS;
        uint32_t id = construct(s[0]);
        Done done = done_of(s[0], id);
        EXPECT_EQ(style == Style::fails ? PMIX_ERR_NO_PERMISSIONS : PMIX_SUCCESS, done.status);
        if (style != Style::fails) { EXPECT_EQ((ProcList{{"job", 0}, {"job", 1}}), done.members); }
        s.server->settle();
        EXPECT_FALSE(s[0].take(id)) << "answered twice";
        if (style == Style::fails) continue;
        // A number that was asked for and not given is no success.
        EXPECT_EQ(PMIX_ERR_NOT_SUPPORTED,
                  done_of(s[0], construct(s[0], {kAll}, flag(PMIX_GROUP_ASSIGN_CONTEXT_ID), "other")).status);
    }
}

// rows: R6
TEST(ServerGroupTest, ItsNameStandsForItsMembersInOtherCalls) {
    Setting s(2, 2);
    uint32_t a = construct(s[0]), b = construct(s[1]);
    ASSERT_EQ(PMIX_SUCCESS, done_of(s[0], a).status);
    ASSERT_EQ(PMIX_SUCCESS, done_of(s[1], b).status);
    uint32_t fa = s[0].start_fence({{kName, PMIX_RANK_WILDCARD}});
    uint32_t fb = s[1].start_fence({{kName, 0}, {kName, 1}, {kName, 2}, {kName, 3}});
    EXPECT_EQ(PMIX_SUCCESS, s[0].wait(fa)->header.status);
    EXPECT_EQ(PMIX_SUCCESS, s[1].wait(fb)->header.status);
    EXPECT_EQ((ProcList{{"job", 0}, {"job", 1}, {"job", 2}, {"job", 3}}), s.host.last("fence")->procs);
    EXPECT_EQ(PMIX_ERR_NOT_FOUND, s[0].wait(s[0].start_fence({{kName, 4}}))->header.status);
    s.host.data = [](const Seen&) { return std::vector<uint8_t>(); };
    s[0].wait(s[0].start_get({kName, 3}, "k", 1));
    ASSERT_NE(nullptr, s.host.last("direct_modex"));
    EXPECT_EQ(ProcId("job", 3), s.host.last("direct_modex")->proc);
}

// rows: R7
TEST(ServerGroupTest, SeveralAtOnceAndAFenceBesides) {
    Setting s(1, 2);
    uint32_t a1 = construct(s[0], {kAll}, {}, "one"), a2 = construct(s[0], {kAll}, {}, "two");
    uint32_t fa = s[0].start_fence({kAll});
    uint32_t b2 = construct(s[1], {kAll}, {}, "two");
    EXPECT_EQ(PMIX_SUCCESS, done_of(s[0], a2).status);
    EXPECT_EQ(PMIX_SUCCESS, done_of(s[1], b2).status);
    EXPECT_FALSE(s[0].take(a1));
    uint32_t fb = s[1].start_fence({kAll});
    EXPECT_EQ(PMIX_SUCCESS, s[0].wait(fa)->header.status);
    EXPECT_EQ(PMIX_SUCCESS, s[1].wait(fb)->header.status);
    uint32_t b1 = construct(s[1], {kAll}, {}, "one");
    EXPECT_EQ(PMIX_SUCCESS, done_of(s[0], a1).status);
    EXPECT_EQ(PMIX_SUCCESS, done_of(s[1], b1).status);
}

// rows: R8
// proves: PMIx_Group_construct PMIX_LOCAL_COLLECTIVE_STATUS server
TEST(ServerGroupTest, AMemberThatEndsBeforeItCallsIsAnErrorForAll) {
    Setting s(2, 3);
    uint32_t a = construct(s[0]), b = construct(s[1]);
    s.kill(2);
    EXPECT_EQ(PMIX_ERR_PROC_TERM_WO_SYNC, done_of(s[0], a).status);
    EXPECT_EQ(PMIX_ERR_PROC_TERM_WO_SYNC, done_of(s[1], b).status);
    ASSERT_EQ(1u, s.host.count("group")) << "the other nodes must hear of it";
    EXPECT_EQ(PMIX_ERR_PROC_TERM_WO_SYNC, number_of(s.host.last("group")->infos, PMIX_LOCAL_COLLECTIVE_STATUS));
    EXPECT_EQ(PMIX_ERR_PROC_TERM_WO_SYNC, done_of(s[0], construct(s[0], {kAll}, {}, "next")).status) << "at once";
}

// rows: R8
// proves: PMIx_Group_construct PMIX_GROUP_NOTIFY_TERMINATION server
TEST(ServerGroupTest, WhoWantsToBeToldDecides) {
    for (GroupCall verdict : {GroupCall::decide, GroupCall::abort}) {
        Setting s(1, 3);
        listen(s[0], {PMIX_GROUP_MEMBER_FAILED});
        uint32_t a = construct(s[0], {kAll}, flag(PMIX_GROUP_NOTIFY_TERMINATION)), b = construct(s[1]);
        s.kill(2);
        auto event = s[0].take_event();
        ASSERT_TRUE(event);
        EXPECT_EQ(PMIX_GROUP_MEMBER_FAILED, event->status);
        EXPECT_EQ(ProcId("job", 2), event->source);
        EXPECT_FALSE(s[1].take(b)) << "nothing is decided yet";
        EXPECT_EQ(PMIX_SUCCESS, done_of(s[0], start(s[0], verdict)).status);
        Done da = done_of(s[0], a), db = done_of(s[1], b);
        const bool goes_on = verdict == GroupCall::decide;
        EXPECT_EQ(goes_on ? PMIX_ERR_PARTIAL_SUCCESS : PMIX_GROUP_CONSTRUCT_ABORT, da.status);
        EXPECT_EQ(da.status, db.status);
        if (goes_on) { EXPECT_EQ((ProcList{{"job", 0}, {"job", 1}}), db.members); }
    }
}

// rows: R8
// proves: PMIx_Group_construct PMIX_GROUP_LEADER server
TEST(ServerGroupTest, OnlyTheLeaderIsToldWhereThereIsOne) {
    Setting s(1, 3);
    listen(s[0], {PMIX_GROUP_MEMBER_FAILED});
    listen(s[1], {PMIX_GROUP_MEMBER_FAILED});
    InfoList leads = flag(PMIX_GROUP_NOTIFY_TERMINATION);
    leads.append_flag(PMIX_GROUP_LEADER, true);
    uint32_t a = construct(s[0], {kAll}, std::move(leads));
    uint32_t b = construct(s[1], {kAll}, flag(PMIX_GROUP_NOTIFY_TERMINATION));
    s.kill(2);
    EXPECT_TRUE(s[0].take_event());
    EXPECT_FALSE(s[1].take_event());
    start(s[0], GroupCall::decide);
    EXPECT_EQ(PMIX_ERR_PARTIAL_SUCCESS, done_of(s[0], a).status);
    EXPECT_EQ(PMIX_ERR_PARTIAL_SUCCESS, done_of(s[1], b).status);
}

// rows: R9
TEST(ServerGroupTest, ALeaderThatEndsIsReplacedByTheFirstWhoWantsToLead) {
    Setting s(1, 4);
    for (int i = 1; i < 3; ++i) listen(s[i], {PMIX_GROUP_LEADER_FAILED, PMIX_GROUP_LEADER_SELECTED});
    InfoList leads = flag(PMIX_GROUP_NOTIFY_TERMINATION);
    leads.append_flag(PMIX_GROUP_LEADER, true);
    construct(s[0], {kAll}, std::move(leads));
    uint32_t b = construct(s[1], {kAll}, flag(PMIX_GROUP_NOTIFY_TERMINATION));
    uint32_t c = construct(s[2], {kAll}, flag(PMIX_GROUP_NOTIFY_TERMINATION));
    s.server->settle();
    s.kill(0);
    for (int i = 1; i < 3; ++i) {
        auto event = s[i].take_event();
        ASSERT_TRUE(event);
        EXPECT_EQ(PMIX_GROUP_LEADER_FAILED, event->status);
    }
    start(s[2], GroupCall::decide, {}, flag(PMIX_GROUP_LEADER));
    start(s[1], GroupCall::decide, {}, flag(PMIX_GROUP_LEADER));
    s.server->settle();
    for (int i = 1; i < 3; ++i) {
        auto event = s[i].take_event();
        ASSERT_TRUE(event);
        EXPECT_EQ(PMIX_GROUP_LEADER_SELECTED, event->status);
        EXPECT_EQ(ProcId("job", 2), event->source);
        EXPECT_FALSE(s[i].take_event()) << "one leader";
    }
    uint32_t d = construct(s[3], {kAll});
    Done db = done_of(s[1], b);
    EXPECT_EQ(PMIX_ERR_PARTIAL_SUCCESS, db.status);
    EXPECT_EQ((ProcList{{"job", 1}, {"job", 2}, {"job", 3}}), db.members);
    EXPECT_EQ(db.members, done_of(s[2], c).members);
    EXPECT_EQ(db.members, done_of(s[3], d).members);
}

// rows: R10 R11
// proves: PMIx_Group_construct PMIX_GROUP_OPTIONAL PMIX_TIMEOUT server
TEST(ServerGroupTest, OptionalMembersAndTimeouts) {
    Setting s(1, 3);
    uint32_t a = construct(s[0], {kAll}, timed(flag(PMIX_GROUP_OPTIONAL)));
    uint32_t x = construct(s[0], {kAll}, timed({}), "strict"), y = construct(s[1], {kAll}, {}, "strict");
    uint32_t b = construct(s[1], {kAll}, flag(PMIX_GROUP_OPTIONAL));
    Done da = done_of(s[0], a);
    EXPECT_EQ(PMIX_ERR_PARTIAL_SUCCESS, da.status);
    EXPECT_EQ((ProcList{{"job", 0}, {"job", 1}}), da.members);
    EXPECT_EQ(da.members, done_of(s[1], b).members);
    EXPECT_EQ(PMIX_ERR_TIMEOUT, done_of(s[0], x).status);
    EXPECT_EQ(PMIX_ERR_TIMEOUT, done_of(s[1], y).status);
    // Late, and told so, once; the next turn is a new one.
    EXPECT_EQ(PMIX_ERR_TIMEOUT, done_of(s[2], construct(s[2], {kAll}, {}, "strict")).status);
    EXPECT_EQ(PMIX_ERR_TIMEOUT, done_of(s[2], construct(s[2])).status);
    uint32_t again[3];
    for (int i = 0; i < 3; ++i) again[i] = construct(s[i], {kAll}, {}, "strict");
    for (int i = 0; i < 3; ++i) EXPECT_EQ(PMIX_SUCCESS, done_of(s[i], again[i]).status);
}

// rows: R10
// proves: PMIx_Group_construct PMIX_GROUP_FT_COLLECTIVE server
TEST(ServerGroupTest, OptionalMembersMayEndWithoutNews) {
    for (const char* mode : {PMIX_GROUP_OPTIONAL, PMIX_GROUP_FT_COLLECTIVE}) {
        Setting s(1, 3);
        listen(s[0], {PMIX_GROUP_MEMBER_FAILED});
        uint32_t a = construct(s[0], {kAll}, flag(mode)), b = construct(s[1]);
        s.kill(2);
        EXPECT_EQ(PMIX_ERR_PARTIAL_SUCCESS, done_of(s[0], a).status);
        EXPECT_EQ((ProcList{{"job", 0}, {"job", 1}}), done_of(s[1], b).members);
        EXPECT_FALSE(s[0].take_event());
    }
}

namespace {

InfoList leading(size_t leaders, const ProcList& added = {}) {
    InfoList list;
    list.append_number<size_t>(PMIX_GROUP_BOOTSTRAP, leaders, PMIX_SIZE);
    if (!added.empty()) common::append_proc_array(list, PMIX_GROUP_ADD_MEMBERS, added);
    return list;
}

}  // namespace

// Leaders who do not know each other, and those whom they add: each goes up alone, and the host says who is in it.
// rows: R1 R4 R11 U17
// proves: PMIx_Group_construct PMIX_GROUP_BOOTSTRAP PMIX_GROUP_ADD_MEMBERS server
TEST(ServerGroupTest, WhoOnlyTheHostCanGatherGoesUpAlone) {
    Setting s(2, 3);
    s.host.styles["group"] = Style::later;
    const ProcList members = {{"job", 0}, {"job", 1}, {"job", 4}};
    s.host.group_results = [&](const Seen&, InfoList& infos) {
        common::append_proc_array(infos, PMIX_GROUP_MEMBERSHIP, members);
        infos.append_number<size_t>(PMIX_GROUP_CONTEXT_ID, 77, PMIX_SIZE);
    };
    InfoList first = leading(2, {{"job", 1}});
    first.append_flag(PMIX_GROUP_ASSIGN_CONTEXT_ID, true);
    uint32_t a = construct(s[0], {{"job", 0}}, std::move(first)), b = construct(s[1], {});
    ASSERT_TRUE(s.server->turn_until([&] { return s.host.count("group") == 2; }));
    const Seen &leader = s.host.seen[s.host.seen.size() - 2], &added = s.host.seen.back();
    EXPECT_EQ((ProcList{{"job", 0}}), leader.procs);
    size_t leaders = 0;
    EXPECT_EQ(PMIX_SUCCESS, common::InfoView(leader.infos).get(PMIX_GROUP_BOOTSTRAP, &leaders));
    EXPECT_EQ(2u, leaders);
    EXPECT_EQ((ProcList{{"job", 1}}), added.procs);
    EXPECT_EQ(nullptr, added.infos.find(PMIX_GROUP_BOOTSTRAP));
    ProcList named;
    ASSERT_NE(nullptr, added.infos.find(PMIX_GROUP_ADD_MEMBERS));
    common::read_proc_array(added.infos.find(PMIX_GROUP_ADD_MEMBERS)->value, named);
    EXPECT_EQ((ProcList{{"job", 1}}), named) << "so that the host knows what it is";
    s.host.answer_waiting();
    for (auto [client, id] : {std::pair(&s[0], a), std::pair(&s[1], b)}) {
        Done done = done_of(*client, id);
        EXPECT_EQ(PMIX_SUCCESS, done.status);
        EXPECT_EQ(members, done.members);
        EXPECT_NE(nullptr, done.results.find(PMIX_GROUP_CONTEXT_ID));
    }
    EXPECT_EQ(PMIX_ERR_EXISTS, done_of(s[0], construct(s[0], {{"job", 0}}, leading(2))).status);

    // The host's error is for who asked; a limit holds without the host; who is answered late, or gone, is nobody.
    s.host.statuses["group"] = PMIX_ERR_PROC_TERM_WO_SYNC;
    uint32_t failed = construct(s[2], {{"job", 2}}, leading(3), "other");
    s.server->settle();
    s.host.answer_waiting();
    EXPECT_EQ(PMIX_ERR_PROC_TERM_WO_SYNC, done_of(s[2], failed).status);
    uint32_t late = construct(s[2], {}, timed({}), "other");
    EXPECT_EQ(PMIX_ERR_TIMEOUT, done_of(s[2], late).status);
    construct(s[2], {}, {}, "other");
    s.server->settle();
    s.kill(2);
    s.host.answer_waiting();
    s.server->settle();

    EXPECT_EQ(PMIX_ERR_BAD_PARAM, done_of(s[0], construct(s[0], {{"job", 1}}, leading(2), "bad")).status);
    EXPECT_EQ(PMIX_ERR_BAD_PARAM, done_of(s[0], construct(s[0], {{"job", 0}, {"job", 1}}, leading(2), "bad")).status);
    EXPECT_EQ(PMIX_ERR_BAD_PARAM, done_of(s[0], construct(s[0], {{"job", 0}}, leading(0), "bad")).status);
}

// The host may name whole jobs, and it may leave the caller out. rows: R1 U17
TEST(ServerGroupTest, Bootstrap_HostNamesTheWholeJob_MeansItsCallers) {
    Setting s(2, 2);
    s.host.styles["group"] = Style::later;
    ProcList named = {kAll};
    s.host.group_results = [&](const Seen&, InfoList& infos) {
        common::append_proc_array(infos, PMIX_GROUP_MEMBERSHIP, named);
    };
    const uint32_t a = construct(s[0], {{"job", 0}}, leading(1, {kAll})), b = construct(s[1], {});
    ASSERT_TRUE(s.server->turn_until([&] { return s.host.waiting() == 2; }));
    s.host.answer_waiting();
    const ProcList all = {{"job", 0}, {"job", 1}, {"job", 2}, {"job", 3}};
    EXPECT_EQ(all, done_of(s[0], a).members);
    EXPECT_EQ(all, done_of(s[1], b).members);

    named = {{"job", 2}};
    const uint32_t c = construct(s[0], {{"job", 0}}, leading(1), "other");
    ASSERT_TRUE(s.server->turn_until([&] { return s.host.waiting() == 1; }));
    s.host.answer_waiting();
    EXPECT_EQ(PMIX_ERR_NOT_FOUND, done_of(s[0], c).status) << "it is in no group";
    EXPECT_EQ(1u, s.server->parts().registry.groups().all().size());
}

// rows: R12
TEST(ServerGroupTest, DestructAfterADeath) {
    for (bool agreed : {false, true}) {
        Setting s(1, 3);
        listen(s[0], {PMIX_GROUP_MEMBER_FAILED, PMIX_GROUP_MEMBERSHIP_UPDATE});
        uint32_t id[3];
        for (int i = 0; i < 3; ++i) id[i] = construct(s[i], {kAll}, agreed ? flag(PMIX_GROUP_NOTIFY_TERMINATION) : InfoList());
        for (int i = 0; i < 3; ++i) ASSERT_EQ(PMIX_SUCCESS, done_of(s[i], id[i]).status);
        s.kill(2);
        if (agreed) {
            auto failed = s[0].take_event(), update = s[0].take_event();
            ASSERT_TRUE(failed && update);
            EXPECT_EQ(PMIX_GROUP_MEMBER_FAILED, failed->status);
            EXPECT_EQ(PMIX_GROUP_MEMBERSHIP_UPDATE, update->status);
        }
        uint32_t a = destruct(s[0]), b = agreed ? destruct(s[1]) : 0;
        EXPECT_EQ(agreed ? PMIX_SUCCESS : PMIX_ERR_PROC_TERM_WO_SYNC, done_of(s[0], a).status);
        if (agreed) { EXPECT_EQ(PMIX_SUCCESS, done_of(s[1], b).status); }
    }
}

// rows: R17 R12
TEST(ServerGroupTest, WhoLeavesIsAnnouncedAndNotWaitedFor) {
    Setting s(2, 2);
    listen(s[0], {PMIX_GROUP_LEFT});
    uint32_t a = construct(s[0]), b = construct(s[1]);
    ASSERT_EQ(PMIX_SUCCESS, done_of(s[0], a).status);
    ASSERT_EQ(PMIX_SUCCESS, done_of(s[1], b).status);
    EXPECT_EQ(PMIX_SUCCESS, done_of(s[1], start(s[1], GroupCall::leave)).status);
    EXPECT_EQ(PMIX_ERR_NOT_FOUND, done_of(s[1], start(s[1], GroupCall::leave)).status);
    auto event = s[0].take_event();
    ASSERT_TRUE(event);
    EXPECT_EQ(PMIX_GROUP_LEFT, event->status);
    EXPECT_EQ(ProcId("job", 1), event->source);
    ASSERT_EQ(1u, s.host.count("notify_event")) << "members of the other node";
    EXPECT_EQ(PMIX_ERR_NOT_FOUND, s[0].wait(s[0].start_fence({{kName, 1}}))->header.status);
    EXPECT_EQ(PMIX_SUCCESS, done_of(s[0], destruct(s[0])).status);
    EXPECT_EQ((ProcList{{"job", 0}, {"job", 2}, {"job", 3}}), s.host.last("group")->procs);
}

// The process that invites takes part in the construct, so that it learns how it ends; it is a member only if it has
// listed itself. rows: R13 R15 U17
TEST(ServerGroupTest, Construct_InviterThatIsNoMember_TakesPartOnly) {
    Setting s(2, 3);
    s.host.group_results = [](const Seen& seen, InfoList& out) {
        common::append_proc_array(out, PMIX_GROUP_MEMBERSHIP, seen.procs);  // the host counts whom it was named
        out.append_number<size_t>(PMIX_GROUP_CONTEXT_ID, 7, PMIX_SIZE);
    };
    const ProcList members = {{"job", 2}, {"job", 1}, {"job", 4}};
    const uint32_t a = invited(s[0], {"job", 0}, members, true), b = invited(s[1], {"job", 0}, members);
    s.server->settle();
    EXPECT_EQ(0u, s.host.count("group"));
    const uint32_t c = invited(s[2], {"job", 0}, members);
    const Done inviter = done_of(s[0], a);
    EXPECT_EQ(PMIX_SUCCESS, inviter.status);
    EXPECT_EQ(members, inviter.members);
    EXPECT_EQ(members, done_of(s[1], b).members);
    EXPECT_EQ(members, done_of(s[2], c).members);
    EXPECT_EQ((ProcList{{"job", 0}, {"job", 1}, {"job", 2}, {"job", 4}}), s.host.last("group")->procs) << "all who call";
    EXPECT_EQ(PMIX_ERR_NOT_FOUND, done_of(s[0], destruct(s[0])).status);
    const uint32_t d = destruct(s[1]), e = destruct(s[2]);
    EXPECT_EQ(PMIX_SUCCESS, done_of(s[1], d).status);
    EXPECT_EQ(PMIX_SUCCESS, done_of(s[2], e).status);
    EXPECT_EQ((ProcList{{"job", 1}, {"job", 2}, {"job", 4}}), s.host.last("group")->procs);
    EXPECT_TRUE(s.server->parts().registry.groups().empty());
}

// rows: R13 R15
TEST(ServerGroupTest, Construct_InviterWithoutAMemberOnItsNode_LeavesNothingThere) {
    Setting s(2, 1);
    const uint32_t a = invited(s[0], {"job", 0}, {{"job", 1}}, true);
    EXPECT_EQ((ProcList{{"job", 1}}), done_of(s[0], a).members);
    EXPECT_TRUE(s.server->parts().registry.groups().empty());
    // The same processes in another part are another matter.
    Setting t(1, 3);
    invited(t[0], {"job", 0}, {{"job", 1}, {"job", 2}}, true);
    EXPECT_EQ(PMIX_ERR_BAD_PARAM, done_of(t[1], construct(t[1])).status);
}

// rows: R13 R8
TEST(ServerGroupTest, Construct_InviterThatIsNoMemberEnds_DoesNotMakeTheGroupSmaller) {
    for (bool had_called : {false, true}) {
        Setting s(1, 3);
        const ProcList members = {{"job", 1}, {"job", 2}};
        const auto call = [&](size_t i) { return invited(s[i], {"job", 0}, members, i == 0, flag(PMIX_GROUP_FT_COLLECTIVE)); };
        if (had_called) call(0);
        const uint32_t b = call(1);
        s.server->settle();
        s.kill(0);
        EXPECT_FALSE(s[1].take(b));
        const uint32_t c = call(2);
        EXPECT_EQ(PMIX_SUCCESS, done_of(s[1], b).status) << had_called;
        EXPECT_EQ(members, done_of(s[2], c).members);
    }
}

// Names of jobs are the host's to choose: those who have called already do not wait for the others for ever.
// rows: R1
TEST(ServerGroupTest, AJobThatTakesTheNameOfAGroupWhichFormsKeepsNobodyOut) {
    Setting s(1, 3);
    uint32_t ids[3] = {construct(s[0])};
    s.server->settle();
    s.server->job(kName, 1, 1);
    for (size_t i = 1; i < 3; ++i) ids[i] = construct(s[i]);
    for (size_t i = 0; i < 3; ++i) {
        const Done done = done_of(s[i], ids[i]);
        EXPECT_EQ(PMIX_SUCCESS, done.status);
        EXPECT_EQ(3u, done.members.size());
    }
    EXPECT_EQ(0u, s.server->parts().groups.open());
    EXPECT_EQ(PMIX_ERR_BAD_PARAM, done_of(s[0], construct(s[0])).status) << "now it is a namespace's name";
}

// rows: R8 R12
TEST(ServerGroupTest, TheEndOfANamespaceEndsWhatNamesIt) {
    Setting s(1, 1);
    s.server->job("other", 1, 1);
    uint32_t a = construct(s[0], {kAll, {"other", 0}});
    s.server->settle();
    s.server->on_loop([&] { s.server->setup().deregister_nspace("other"); });
    EXPECT_NE(PMIX_SUCCESS, done_of(s[0], a).status);
    EXPECT_EQ(0u, s.server->parts().groups.open());
}

// rows: R8 R12
TEST(ServerGroupTest, TheEndOfAMembersNamespaceFailsTheDestructOnEveryNode) {
    // Another node may have called before it heard of the end, with the same error: the host must see this node's call.
    for (bool elsewhere : {false, true}) {
        Setting s(2, 2);
        s.server->job("other", elsewhere ? 2 : 1, 1, false);
        const ProcId gone("other", elsewhere ? 1 : 0);
        if (!elsewhere) s.server->add_client("other", 0);
        const ProcList members = {kAll, gone};
        std::unique_ptr<FakeClient> other;
        uint32_t a = construct(s[0], members), b = construct(s[1], members);
        if (!elsewhere) {
            other = std::make_unique<FakeClient>(*s.server, gone);
            ASSERT_EQ(PMIX_SUCCESS, other->hello());
            construct(*other, members);
        }
        ASSERT_EQ(PMIX_SUCCESS, done_of(s[0], a).status);
        ASSERT_EQ(PMIX_SUCCESS, done_of(s[1], b).status);
        if (other) other->kill();
        s.server->settle();
        s.server->on_loop([&] { s.server->setup().deregister_nspace("other"); });
        s.host.statuses["group"] = PMIX_ERR_PROC_TERM_WO_SYNC;
        EXPECT_EQ(PMIX_ERR_PROC_TERM_WO_SYNC, done_of(s[0], destruct(s[0])).status);
        ASSERT_EQ(PMIX_GROUP_DESTRUCT, s.host.last("group")->status);
        EXPECT_EQ(PMIX_ERR_PROC_TERM_WO_SYNC, number_of(s.host.last("group")->infos, PMIX_LOCAL_COLLECTIVE_STATUS));
        EXPECT_EQ(2u, s.host.count("group"));
        EXPECT_EQ(PMIX_ERR_PROC_TERM_WO_SYNC, done_of(s[1], destruct(s[1])).status) << "late for the same";
        EXPECT_EQ(2u, s.host.count("group"));
        EXPECT_EQ(PMIX_ERR_NOT_FOUND, done_of(s[1], destruct(s[1])).status);
    }
}

// rows: R8 R12
TEST(ServerGroupTest, ACollectiveThatANamespaceEndsIsTheHostsToo) {
    // The members of this node are not all here yet, those of another may be: they wait for this node's call.
    Setting s(2, 2);
    s.server->job("other", 1, 1);
    uint32_t a = construct(s[0], {kAll, {"other", 0}});
    s.server->settle();
    s.server->on_loop([&] { s.server->setup().deregister_nspace("other"); });
    EXPECT_EQ(PMIX_ERR_PROC_TERM_WO_SYNC, done_of(s[0], a).status);
    s.server->settle();
    ASSERT_EQ(1u, s.host.count("group"));
    EXPECT_EQ(PMIX_ERR_PROC_TERM_WO_SYNC, number_of(s.host.last("group")->infos, PMIX_LOCAL_COLLECTIVE_STATUS));
    EXPECT_EQ(PMIX_ERR_PROC_TERM_WO_SYNC, done_of(s[1], construct(s[1], {kAll, {"other", 0}})).status);
    EXPECT_EQ(1u, s.host.count("group"));

    // Where its members may end, it goes on with the others.
    s.server->job("third", 1, 1);
    a = construct(s[0], {kAll, {"third", PMIX_RANK_WILDCARD}}, flag(PMIX_GROUP_FT_COLLECTIVE));
    s.server->settle();
    s.server->on_loop([&] { s.server->setup().deregister_nspace("third"); });
    s.server->settle();
    EXPECT_FALSE(s[0].take(a)) << "rank 1 is missing";
    uint32_t b = construct(s[1], {kAll, {"third", PMIX_RANK_WILDCARD}}, flag(PMIX_GROUP_FT_COLLECTIVE));
    Done done = done_of(s[1], b);
    EXPECT_EQ(PMIX_ERR_PARTIAL_SUCCESS, done.status);
    EXPECT_EQ((ProcList{{"job", 0}, {"job", 1}, {"job", 2}, {"job", 3}}), done.members);
    EXPECT_EQ(PMIX_ERR_PARTIAL_SUCCESS, done_of(s[0], a).status);
}

// An invitation names whom it likes: what grows with the square takes half a minute of the server's loop here.
// rows: R1
TEST(ServerGroupTest, Invitation_OfAHundredThousandProcesses_TakesTimeThatGrowsWithTheirNumber) {
    constexpr uint32_t kInvited = 100'000;
    TestServer server(nullptr);
    server.job("job", 1, 1);
    std::vector<ProcId> invited;
    for (uint32_t rank = 0; rank < kInvited; ++rank) invited.push_back({"a-job-of-another-node", rank});
    common::InfoList infos;
    ASSERT_EQ(PMIX_SUCCESS, infos.append_string(PMIX_GROUP_ID, "group"));
    ASSERT_EQ(PMIX_SUCCESS, common::append_proc_array(infos, PMIX_EVENT_CUSTOM_RANGE, invited));
    const auto cpu_seconds = [] {
        timespec t{};
        ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
        return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) * 1e-9;
    };
    const double begin = cpu_seconds();
    server.on_loop([&] {
        for (int i = 0; i < 2; ++i) server.parts().groups.heard(PMIX_GROUP_INVITED, {"job", 0}, infos, false);
        return 0;
    });
    EXPECT_LT(cpu_seconds() - begin, 2.0);
}

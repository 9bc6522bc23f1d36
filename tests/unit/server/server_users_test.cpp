// SPDX-License-Identifier: BSD-3-Clause
// Processes of different users at one server: what one of them reads, hears and finds out of the others.
#include <gtest/gtest.h>

#include <set>

#include "dstore/contribution.h"
#include "server/namespaces/modex_blob.h"
#include "support/fake_client.h"
#include "support/other_users.h"
#include "support/status.h"

namespace pmix::test::server_users_test {
namespace {

using common::InfoList;

constexpr uid_t kAnna = 61001, kBela = 61002;

// As root: a process that connects meanwhile is this user's for the kernel.
class AsUser {
  public:
    explicit AsUser(uid_t uid) { become(uid); }
    ~AsUser() { become(0); }

  private:
    static void become(uid_t uid) {
        // The group first, as long as it may be changed.
        const int before = uid != 0 ? ::setegid(uid) : 0;
        const int user = ::seteuid(uid);
        const int after = uid == 0 ? ::setegid(0) : 0;
        EXPECT_TRUE(before == 0 && user == 0 && after == 0);
    }
};

std::unique_ptr<FakeClient> client_of(TestServer& server, uid_t uid, ProcId id) {
    AsUser user(uid);
    return std::make_unique<FakeClient>(server, std::move(id));
}

// Anna's job "far" on another node, whose rank 0 has put "k".
struct FarJob {
    explicit FarJob(FakeHost& host) {
        there.job("far", 1, 1, false);
        there.add_client("far", 0, kAnna);
        rank = client_of(there, kAnna, {"far", 0});
        EXPECT_STATUS(PMIX_SUCCESS, rank->hello());
        rank->put("k", "annas");
        there.settle();
        host.data = modex_from(there);
    }
    TestServer there{nullptr};
    std::unique_ptr<FakeClient> rank;
};

// Anna has the jobs "anna" and "anna.2", Bela has "bela": one rank of each is on this node.
struct TwoUsers : ::testing::Test {
    void SetUp() override {
        if (!can_be_other_users()) GTEST_SKIP() << "needs root to connect under two users";
        module = host.module();
        server = std::make_unique<TestServer>(&module);
        for (const auto& [job, uid] :
             {std::pair("anna", kAnna), std::pair("anna.2", kAnna), std::pair("bela", kBela)}) {
            server->job(job, 1, 1, false);
            server->add_client(job, 0, uid);
        }
        anna = client_of(*server, kAnna, {"anna", 0});
        second = client_of(*server, kAnna, {"anna.2", 0});
        bela = client_of(*server, kBela, {"bela", 0});
        for (FakeClient* c : {anna.get(), second.get(), bela.get()}) ASSERT_STATUS(PMIX_SUCCESS, c->hello());
    }
    void TearDown() override {
        for (auto* c : {&anna, &second, &bela}) c->reset();
        server.reset();
    }
    static pmix_status_t get(FakeClient& client, const ProcId& proc, const std::string& key) {
        return status_of(client, client.start_get(proc, key));
    }

    FakeHost host;
    pmix_server_module_t module{};
    std::unique_ptr<TestServer> server;
    std::unique_ptr<FakeClient> anna, second, bela;
};

std::vector<uint8_t> blob_of(const char* job, uint32_t rank, const std::string& key) {
    common::ByteWriter w;
    common::encode_string_value(w, "theirs");
    dstore::ChunkBuilder chunk;
    chunk.begin(dstore::Owner::proc(rank), {1, 0, true});
    chunk.add(dstore::Key(key), PMIX_GLOBAL, w.view());
    return server::wrap_section(job, *chunk.finish(1)).value();
}

// The status of the server's answer and what is in it, as text. The host is not asked.
std::string query(FakeClient& client, const char* what, const char* qualifier, const char* name) {
    std::string text = what;
    char* keys[] = {text.data(), nullptr};
    InfoList qualifiers;
    qualifiers.append_flag(PMIX_QUERY_LOCAL_ONLY, true);
    if (qualifier != nullptr) qualifiers.append_string(qualifier, name);
    pmix_query_t one{};
    one.keys = keys;
    one.qualifiers = const_cast<pmix_info_t*>(qualifiers.c_array());
    one.nqual = qualifiers.size();
    common::QueryRequest request;
    request.queries = common::Queries::borrow(&one, 1);
    auto reply = client.wait(client.start<Command::query>(request));
    if (!reply) return "no reply";
    return std::to_string(reply->header.status) + ' ' + std::string(reply->payload.begin(), reply->payload.end());
}

}  // namespace

// The user travels with the data: the target's own server has it registered.
TEST_F(TwoUsers, DirectModex_OfAnotherUsersJob_IsRefusedAndItsOwnersIsNot) {
    const FarJob far(host);
    EXPECT_STATUS(PMIX_ERR_NO_PERMISSIONS, get(*bela, {"far", 0}, "k"));
    EXPECT_STATUS(PMIX_ERR_NO_PERMISSIONS, get(*bela, {"far", 0}, "k")) << "asked again";
    EXPECT_STATUS(PMIX_SUCCESS, get(*anna, {"far", 0}, "k"));
    EXPECT_STATUS(PMIX_SUCCESS, get(*second, {"far", 0}, "k")) << "her other job";
    EXPECT_STATUS(PMIX_ERR_NO_PERMISSIONS, get(*bela, {"far", 0}, "k")) << "now that it is here";
}

// The host decides that other users' processes are told, too; those of the sender's have been. rows: E14
TEST_F(TwoUsers, Event_HandedDownAgain_ReachesThoseWhoDidNotHaveIt) {
    constexpr pmix_status_t kCode = -100;
    for (FakeClient* c : {anna.get(), second.get(), bela.get()}) {
        common::RegisterEventsRequest listen;
        listen.codes = {kCode};
        ASSERT_STATUS(PMIX_SUCCESS, c->ask<Command::register_events>(listen));
    }
    const auto count = [&](FakeClient& client) {
        server->settle();
        size_t n = 0;
        while (client.take_event()) ++n;
        return n;
    };
    common::NotifyEventRequest request;
    request.status = kCode;
    request.source = {"anna", 0};
    request.range = PMIX_RANGE_GLOBAL;
    ASSERT_STATUS(PMIX_SUCCESS, anna->ask<Command::notify_event>(request));
    EXPECT_EQ(1u, count(*anna));
    EXPECT_EQ(1u, count(*second));
    EXPECT_EQ(0u, count(*bela)) << "hers alone, before the host has decided";
    server->on_loop([&] {
        request.range = PMIX_RANGE_SESSION;
        const InfoList& given = host.last("notify_event")->infos;
        request.infos = common::Infos::borrow(given.c_array(), given.size());
        auto bytes = common::message_bytes(request);
        server->server->on_frame(server->server->self_peer(),
                                 common::FrameHeader::request(static_cast<uint16_t>(Command::notify_event), 5), *bytes);
        return 0;
    });
    EXPECT_EQ(0u, count(*anna));
    EXPECT_EQ(0u, count(*second));
    EXPECT_EQ(1u, count(*bela));
}

// Whether a process of another user has a key is not told either, and the host is not asked for it.
TEST_F(TwoUsers, Get_OfAKeyThatAnotherUsersJobLacks_IsRefusedWithoutTheHost) {
    const FarJob far(host);
    ASSERT_STATUS(PMIX_SUCCESS, get(*anna, {"far", 0}, "k"));
    const size_t upcalls = host.count("direct_modex");
    EXPECT_STATUS(PMIX_ERR_NO_PERMISSIONS, get(*bela, {"far", 0}, "missing"));
    EXPECT_STATUS(PMIX_ERR_NO_PERMISSIONS, status_of(*bela, bela->start_get({"far", 0}, "missing", 0, true)))
        << "PMIX_IMMEDIATE";
    EXPECT_EQ(upcalls, host.count("direct_modex"));
    EXPECT_STATUS(PMIX_ERR_NOT_FOUND, get(*anna, {"far", 0}, "missing"));
}

// From a server that does not say whose the data is: the host decides for each user by itself.
TEST_F(TwoUsers, DirectModex_UserUnknown_TheHostIsAskedForEachUser) {
    host.data = [](const Seen&) { return blob_of("far", 0, "k"); };
    EXPECT_STATUS(PMIX_SUCCESS, get(*bela, {"far", 0}, "k"));
    ASSERT_EQ(1u, host.count("direct_modex"));
    EXPECT_EQ(kBela, number_of(host.last("direct_modex")->infos, PMIX_USERID));
    common::AttachNspaceRequest attach;
    attach.nspace = "far";
    EXPECT_STATUS(PMIX_ERR_NO_PERMISSIONS, anna->ask<Command::attach_nspace>(attach))
        << "the host has not answered her";
    // The whole job, which is not here yet.
    EXPECT_STATUS(PMIX_SUCCESS, get(*anna, {"far", 1}, ""));
    ASSERT_EQ(2u, host.count("direct_modex"));
    EXPECT_EQ(kAnna, number_of(host.last("direct_modex")->infos, PMIX_USERID));
    EXPECT_STATUS(PMIX_SUCCESS, anna->ask<Command::attach_nspace>(attach));
    EXPECT_STATUS(PMIX_SUCCESS, second->ask<Command::attach_nspace>(attach)) << "her other job";
}

// Two users ask for the same at the same time: the answer to one is not the other's.
TEST_F(TwoUsers, DirectModex_TwoUsersTogether_EachHasAnUpcallOfItsOwn) {
    host.styles["direct_modex"] = Style::later;
    host.data = [](const Seen&) { return blob_of("far", 0, "k"); };
    const uint32_t b = bela->start_get({"far", 0}, "k");
    ASSERT_TRUE(server->turn_until([&] { return host.waiting() == 1; }));
    host.statuses["direct_modex"] = PMIX_ERR_NO_PERMISSIONS;  // for the upcalls from here on
    const uint32_t a = anna->start_get({"far", 0}, "k");
    ASSERT_TRUE(server->turn_until([&] { return host.waiting() == 2; }));
    EXPECT_EQ(2u, host.count("direct_modex"));
    EXPECT_EQ(kAnna, number_of(host.last("direct_modex")->infos, PMIX_USERID));
    host.answer_waiting();
    EXPECT_STATUS(PMIX_SUCCESS, status_of(*bela, b));
    EXPECT_STATUS(PMIX_ERR_NO_PERMISSIONS, status_of(*anna, a));
}

// Both may have it: the second user waits for the answer of its own upcall.
TEST_F(TwoUsers, DirectModex_FirstUserIsAnswered_SecondWaitsForItsOwnAnswer) {
    host.styles["direct_modex"] = Style::later;
    host.data = [](const Seen&) { return blob_of("far", 0, "k"); };
    const uint32_t b = bela->start_get({"far", 0}, "k");
    ASSERT_TRUE(server->turn_until([&] { return host.waiting() == 1; }));
    const uint32_t a = anna->start_get({"far", 0}, "k");
    ASSERT_TRUE(server->turn_until([&] { return host.waiting() == 2; }));
    host.answer_first();
    EXPECT_STATUS(PMIX_SUCCESS, status_of(*bela, b));
    server->settle();
    EXPECT_FALSE(anna->take(a));
    host.answer_first();
    EXPECT_STATUS(PMIX_SUCCESS, status_of(*anna, a));
}

// Whose a job is does not change with what another node sends later.
TEST_F(TwoUsers, Answer_NamesAnotherOwnerOfAJob_TheFirstStays) {
    const auto owned = [](uid_t uid, const char* key) {
        std::vector<uint8_t> blob = blob_of("far", 0, key);
        const auto owner = server::wrap_owner("far", uid);
        blob.insert(blob.end(), owner.begin(), owner.end());
        return blob;
    };
    host.data = [&](const Seen&) { return owned(kAnna, "k"); };
    ASSERT_STATUS(PMIX_SUCCESS, get(*anna, {"far", 0}, "k"));
    EXPECT_STATUS(PMIX_ERR_NO_PERMISSIONS, get(*bela, {"far", 0}, "k"));
    host.data = [&](const Seen&) { return owned(kBela, "other"); };
    const size_t upcalls = host.count("direct_modex");
    get(*anna, {"far", 0}, "other");
    ASSERT_EQ(upcalls + 1, host.count("direct_modex"));
    EXPECT_STATUS(PMIX_ERR_NO_PERMISSIONS, get(*bela, {"far", 0}, "k"));
    EXPECT_STATUS(PMIX_SUCCESS, get(*anna, {"far", 0}, "k"));
}

// rows: E12
TEST_F(TwoUsers, Event_OfAClient_ReachesItsOwnUsersProcesses) {
    common::RegisterEventsRequest everything;
    for (FakeClient* c : {anna.get(), second.get(), bela.get()})
        ASSERT_STATUS(PMIX_SUCCESS, c->ask<Command::register_events>(everything));
    common::NotifyEventRequest event;
    event.status = PMIX_ERR_PROC_ABORTED;
    event.source = {"bela", 0};
    for (pmix_data_range_t range : {PMIX_RANGE_GLOBAL, PMIX_RANGE_LOCAL, PMIX_RANGE_SESSION}) {
        event.range = range;
        ASSERT_STATUS(PMIX_SUCCESS, bela->ask<Command::notify_event>(event));
        server->settle();
        EXPECT_TRUE(bela->take_event()) << int(range);
        EXPECT_FALSE(anna->take_event()) << int(range);
    }
    InfoList custom;
    const pmix_proc_t target = ProcId("anna", 0).to_c();
    custom.append(PMIX_EVENT_CUSTOM_RANGE, &target, PMIX_PROC);
    event.range = PMIX_RANGE_CUSTOM;
    event.infos = std::move(custom);
    ASSERT_STATUS(PMIX_SUCCESS, bela->ask<Command::notify_event>(event));
    server->settle();
    EXPECT_FALSE(anna->take_event());
    event.infos = InfoList();
    // Also for a handler that comes later.
    common::RegisterEventsRequest later;
    later.reference = 1;
    later.codes = {PMIX_ERR_PROC_ABORTED};
    ASSERT_STATUS(PMIX_SUCCESS, anna->ask<Command::register_events>(later));
    server->settle();
    EXPECT_FALSE(anna->take_event());
    // Anna's own reach her other job, and not Bela.
    event.source = {"anna", 0};
    event.range = PMIX_RANGE_GLOBAL;
    ASSERT_STATUS(PMIX_SUCCESS, anna->ask<Command::notify_event>(event));
    server->settle();
    EXPECT_TRUE(anna->take_event());
    EXPECT_TRUE(second->take_event());
    EXPECT_FALSE(bela->take_event());
    // What the host passes down goes as far as its range says.
    server->on_loop([&] {
        server->parts().events.raise(PMIX_ERR_PROC_ABORTED, {"bela", 0}, PMIX_RANGE_GLOBAL, {});
        return 0;
    });
    server->settle();
    EXPECT_TRUE(anna->take_event());
    EXPECT_TRUE(bela->take_event());
}

// A monitor raises what its owner chose, in its owner's name.
TEST_F(TwoUsers, Event_OfAMonitor_ReachesItsOwnUsersProcesses) {
    common::RegisterEventsRequest everything;
    for (FakeClient* c : {anna.get(), bela.get()})
        ASSERT_STATUS(PMIX_SUCCESS, c->ask<Command::register_events>(everything));
    server->on_loop([&] {
        server->parts().events.announce(PMIX_ERR_PROC_ABORTED, {"bela", 0}, PMIX_RANGE_GLOBAL, {}, {kBela, kBela, 1});
        return 0;
    });
    server->settle();
    EXPECT_TRUE(bela->take_event());
    EXPECT_FALSE(anna->take_event());
    ASSERT_NE(nullptr, host.last("notify_event"));
    EXPECT_EQ(kBela, number_of(host.last("notify_event")->infos, PMIX_USERID));
}

TEST_F(TwoUsers, Resolve_AnotherUsersJob_IsNotFound) {
    common::ResolveRequest of_bela;
    of_bela.nspace = "bela";
    EXPECT_STATUS(PMIX_ERR_NOT_FOUND, anna->ask<Command::resolve_peers>(of_bela));
    EXPECT_STATUS(PMIX_ERR_NOT_FOUND, anna->ask<Command::resolve_nodes>(of_bela));
    EXPECT_STATUS(PMIX_SUCCESS, bela->ask<Command::resolve_peers>(of_bela));
    auto reply = anna->wait(anna->start<Command::resolve_peers>(common::ResolveRequest()));
    ASSERT_TRUE(reply);
    common::ResolvePeersReply peers;
    ASSERT_STATUS(PMIX_SUCCESS, common::decode_message(reply->payload, peers));
    std::set<std::string> jobs;
    for (const ProcId& p : peers.procs) jobs.insert(p.nspace);
    EXPECT_EQ((std::set<std::string>{"anna", "anna.2"}), jobs);
}

TEST_F(TwoUsers, ProcessSetsAndGroups_OfAnotherUser_AreNotTold) {
    common::RegisterEventsRequest defined;
    defined.codes = {PMIX_PROCESS_SET_DEFINE};
    for (FakeClient* c : {anna.get(), bela.get()})
        ASSERT_STATUS(PMIX_SUCCESS, c->ask<Command::register_events>(defined));
    server->on_loop([&] {
        EXPECT_STATUS(PMIX_SUCCESS, server->setup().define_process_set("set.of.bela", {{"bela", 0}}));
        return 0;
    });
    common::GroupRequest construct;
    construct.call = common::GroupCall::construct;
    construct.name = "group.of.bela";
    construct.procs = {{"bela", 0}};
    ASSERT_STATUS(PMIX_SUCCESS, bela->ask<Command::group>(construct));
    server->settle();
    EXPECT_TRUE(bela->take_event());
    EXPECT_FALSE(anna->take_event());

    const auto tells = [&](FakeClient& client, const char* what, const char* word) {
        return query(client, what, nullptr, nullptr).find(word) != std::string::npos;
    };
    EXPECT_TRUE(tells(*bela, PMIX_QUERY_PSET_NAMES, "set.of.bela"));
    EXPECT_FALSE(tells(*anna, PMIX_QUERY_PSET_NAMES, "set.of.bela"));
    EXPECT_TRUE(tells(*bela, PMIX_QUERY_GROUP_NAMES, "group.of.bela"));
    EXPECT_FALSE(tells(*anna, PMIX_QUERY_GROUP_NAMES, "group.of.bela"));
    EXPECT_TRUE(query(*bela, PMIX_QUERY_PSET_MEMBERSHIP, PMIX_PSET_NAME, "set.of.bela").starts_with("0 "));
    EXPECT_FALSE(query(*anna, PMIX_QUERY_PSET_MEMBERSHIP, PMIX_PSET_NAME, "set.of.bela").starts_with("0 "));
    EXPECT_TRUE(query(*bela, PMIX_QUERY_GROUP_MEMBERSHIP, PMIX_GROUP_ID, "group.of.bela").starts_with("0 "));
    EXPECT_FALSE(query(*anna, PMIX_QUERY_GROUP_MEMBERSHIP, PMIX_GROUP_ID, "group.of.bela").starts_with("0 "));
    common::GroupRequest names;
    names.call = common::GroupCall::names;
    names.procs = {{"bela", 0}};
    EXPECT_STATUS(PMIX_SUCCESS, bela->ask<Command::group>(names));
    EXPECT_STATUS(PMIX_ERR_NOT_FOUND, anna->ask<Command::group>(names));
}

TEST_F(TwoUsers, Query_OfAnotherUsersJob_IsNotAnswered) {
    const std::string nothing = std::to_string(PMIX_ERR_NOT_FOUND) + ' ';
    for (const char* key : {PMIX_JOB_SIZE, PMIX_QUERY_PROC_TABLE, PMIX_QUERY_LOCAL_PROC_TABLE, PMIX_QUERY_JOB_STATUS,
                            PMIX_QUERY_MEMORY_USAGE}) {
        EXPECT_TRUE(query(*bela, key, PMIX_NSPACE, "bela").starts_with("0 ")) << key;
        EXPECT_TRUE(query(*anna, key, PMIX_NSPACE, "anna.2").starts_with("0 ")) << key << ": her other job";
        EXPECT_TRUE(query(*anna, key, PMIX_NSPACE, "bela").starts_with(nothing)) << key;
    }
    EXPECT_EQ(std::string::npos, query(*anna, PMIX_QUERY_NAMESPACES, nullptr, nullptr).find("bela"));
}

// The report and the counters are of all jobs: they are for root and for the user of the server.
TEST_F(TwoUsers, Report_ForAnotherUserThanTheServers_IsRefused) {
    server->job("root", 1, 1);
    FakeClient root(*server, {"root", 0});
    ASSERT_STATUS(PMIX_SUCCESS, root.hello());
    EXPECT_TRUE(query(root, WIREUP_QUERY_REPORT, nullptr, nullptr).starts_with("0 "));
    EXPECT_TRUE(query(root, WIREUP_QUERY_COUNTERS, nullptr, nullptr).starts_with("0 "));
    for (FakeClient* c : {anna.get(), bela.get()}) {
        for (const char* key : {WIREUP_QUERY_COUNTERS, WIREUP_QUERY_REPORTS})
            EXPECT_TRUE(query(*c, key, nullptr, nullptr).starts_with(std::to_string(PMIX_ERR_NO_PERMISSIONS) + ' '));
        const std::string answer = query(*c, WIREUP_QUERY_REPORT, nullptr, nullptr);
        EXPECT_TRUE(answer.starts_with(std::to_string(PMIX_ERR_NO_PERMISSIONS) + ' '));
        EXPECT_EQ(std::string::npos, answer.find("anna.2"));
    }
}

}  // namespace pmix::test::server_users_test

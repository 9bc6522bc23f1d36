// SPDX-License-Identifier: BSD-3-Clause
// What the host sees of each request, and what becomes of each way to answer: connect, finalize, abort, publish, spawn,
// connect, job control, with every style of completion.
#include "support/status.h"
#include "unit/server/server_upcalls_setting.h"

namespace server_upcalls_test {

using namespace pmix;
using namespace pmix::test;

// rows: U1 U4 U14 G3
TEST(ServerUpcallsTest, EveryStyleBecomesOneReply) {
    in_every_style("abort", [](FakeClient& a) {
        common::AbortRequest request;
        request.status = 7;
        return a.start<Command::abort>(request);
    });
    in_every_style("publish", [](FakeClient& a) {
        common::PublishRequest request;
        InfoList list;
        list.append_string("k", "v");
        request.infos = std::move(list);
        return a.start<Command::publish>(request);
    });
    in_every_style("lookup", [](FakeClient& a) {
        common::LookupRequest request;
        request.keys = {"k"};
        return a.start<Command::lookup>(request);
    });
    in_every_style("unpublish", [](FakeClient& a) {
        common::UnpublishRequest request;
        request.all = true;
        return a.start<Command::unpublish>(request);
    });
    in_every_style("notify_event", [](FakeClient& a) {
        common::NotifyEventRequest request;
        request.status = -4000;
        request.source = {"job", 0};
        request.range = PMIX_RANGE_SESSION;
        return a.start<Command::notify_event>(request);
    });
    in_every_style("register_events", [](FakeClient& a) {
        common::RegisterEventsRequest request;
        request.codes = {-4000};
        return a.start<Command::register_events>(request);
    });
    in_every_style(
        "connect",
        [](FakeClient& a) {
            common::ConnectRequest request;
            request.procs = {{"job", PMIX_RANK_WILDCARD}};
            return a.start<Command::connect>(request);
        },
        2);
    in_every_style(
        "disconnect",
        [](FakeClient& a) {
            common::ConnectRequest request;
            request.procs = {{"job", PMIX_RANK_WILDCARD}};
            return a.start<Command::disconnect>(request);
        },
        2);
}

// rows: G9 K21 P9
TEST(ServerUpcallsTest, NullEntriesAreNotSupportedAndNeverHang) {
    TestServer server(nullptr);
    server.job("job", 2, 1);
    FakeClient a(server, {"job", 0});
    ASSERT_STATUS(PMIX_SUCCESS, a.hello()) << "client_connected may be missing";
    EXPECT_STATUS(PMIX_ERR_NOT_SUPPORTED, a.ask<Command::abort>(common::AbortRequest{}));
    common::PublishRequest publish;
    InfoList list;
    list.append_string("k", "v");
    publish.infos = std::move(list);
    EXPECT_STATUS(PMIX_ERR_NOT_SUPPORTED, a.ask<Command::publish>(publish));
    common::LookupRequest lookup;
    lookup.keys = {"k"};
    EXPECT_STATUS(PMIX_ERR_NOT_SUPPORTED, a.ask<Command::lookup>(lookup));
    common::UnpublishRequest unpublish;
    unpublish.all = true;
    EXPECT_STATUS(PMIX_ERR_NOT_SUPPORTED, a.ask<Command::unpublish>(unpublish));
    common::ConnectRequest connect;
    connect.procs = {{"job", PMIX_RANK_WILDCARD}};
    EXPECT_STATUS(PMIX_ERR_NOT_SUPPORTED, a.ask<Command::connect>(connect));
    EXPECT_STATUS(PMIX_ERR_BAD_PARAM, a.ask<Command::query>(common::QueryRequest{}));
    char key[] = "nobody.knows";
    char* keys[] = {key, nullptr};
    pmix_query_t query{};
    query.keys = keys;
    common::QueryRequest question;
    question.queries = common::Queries::borrow(&query, 1);
    EXPECT_STATUS(PMIX_ERR_NOT_SUPPORTED, a.ask<Command::query>(question));
    common::RegisterEventsRequest events;
    events.codes = {-4000};
    EXPECT_STATUS(PMIX_SUCCESS, a.ask<Command::register_events>(events)) << "fine without the host";
    common::NotifyEventRequest notify;
    notify.range = PMIX_RANGE_SESSION;
    EXPECT_STATUS(PMIX_ERR_NOT_SUPPORTED, a.ask<Command::notify_event>(notify)) << "nobody else is here to be told";
    notify.range = PMIX_RANGE_LOCAL;
    EXPECT_STATUS(PMIX_SUCCESS, a.ask<Command::notify_event>(notify));
    // Of another node.
    common::FenceRequest fence;
    fence.procs = {{"job", PMIX_RANK_WILDCARD}};
    EXPECT_STATUS(PMIX_ERR_NOT_SUPPORTED, a.ask<Command::fence>(fence));
    EXPECT_STATUS(PMIX_ERR_NOT_SUPPORTED, a.ask<Command::disconnect>(connect));
    common::GetRequest get;
    get.proc = {"job", 1};
    get.key = "k";
    EXPECT_STATUS(PMIX_ERR_NOT_FOUND, a.ask<Command::get>(get)) << "at once";
    common::SpawnRequest spawn;
    char command[] = "true";
    pmix_app_t app{};
    app.cmd = command;
    app.maxprocs = 1;
    spawn.apps = common::Apps::borrow(&app, 1);
    EXPECT_STATUS(PMIX_ERR_NOT_SUPPORTED, a.ask<Command::spawn>(spawn));
    common::GroupRequest group;
    group.call = common::GroupCall::construct;
    group.name = "group";
    group.procs = {{"job", PMIX_RANK_WILDCARD}};
    EXPECT_STATUS(PMIX_ERR_NOT_SUPPORTED, a.ask<Command::group>(group));
    common::JobControlRequest control;
    control.procs = {{"job", 1}};
    InfoList kill;
    kill.append_flag(PMIX_JOB_CTRL_TERMINATE, true);
    control.directives = std::move(kill);
    EXPECT_STATUS(PMIX_ERR_NOT_SUPPORTED, a.ask<Command::job_control>(control));
    EXPECT_STATUS(PMIX_ERR_NOT_SUPPORTED, a.ask<Command::allocate>(common::AllocateRequest{}));
    EXPECT_STATUS(PMIX_ERR_NOT_SUPPORTED, a.ask<Command::session_control>(common::SessionControlRequest{}));
    common::IofPullRequest pull;
    pull.channels = PMIX_FWD_STDOUT_CHANNEL;
    pull.procs = {{"job", 1}};
    EXPECT_STATUS(PMIX_ERR_NOT_SUPPORTED, a.ask<Command::iof_pull>(pull));
    common::IofPushRequest push;
    push.procs = {{"job", 1}};
    const uint8_t bytes[] = {'x'};
    push.data = bytes;
    EXPECT_STATUS(PMIX_ERR_NOT_SUPPORTED, a.ask<Command::iof_push>(push));
    EXPECT_STATUS(PMIX_SUCCESS, a.ask<Command::finalize>(common::FinalizeRequest{}));
}

// rows: P1 P2 P5 P7 U14
TEST(ServerUpcallsTest, PublishFamilyAddsIds) {
    UpcallsSetting s;
    FakeClient a(s.server, {"job", 0});
    ASSERT_STATUS(PMIX_SUCCESS, a.hello());
    common::PublishRequest publish;
    InfoList list;
    list.append_string("k", "v");
    list.append_number<pmix_data_range_t>(PMIX_RANGE, PMIX_RANGE_NAMESPACE, PMIX_DATA_RANGE);
    publish.infos = std::move(list);
    EXPECT_STATUS(PMIX_SUCCESS, a.ask<Command::publish>(publish));
    const Seen* seen = s.host.last("publish");
    EXPECT_EQ(::geteuid(), number_of(seen->infos, PMIX_USERID));
    EXPECT_EQ(::getegid(), number_of(seen->infos, PMIX_GRPID));
    EXPECT_NE(nullptr, seen->infos.find("k"));
    EXPECT_NE(nullptr, seen->infos.find(PMIX_RANGE));
    s.host.statuses["publish"] = PMIX_ERR_DUPLICATE_KEY;
    InfoList again;
    again.append_string("k", "v");
    publish.infos = std::move(again);
    EXPECT_STATUS(PMIX_ERR_DUPLICATE_KEY, a.ask<Command::publish>(publish));
    EXPECT_STATUS(PMIX_ERR_BAD_PARAM, a.ask<Command::publish>(common::PublishRequest{}));

    s.host.published = {{"k2", "two"}, {"k1", "one"}};  // another order than asked for
    common::LookupRequest lookup;
    lookup.keys = {"k1", "k2", "k3"};
    auto reply = a.wait(a.start<Command::lookup>(lookup));
    common::LookupReply found;
    ASSERT_STATUS(PMIX_SUCCESS, common::decode_message(reply->payload, found));
    ASSERT_EQ(2u, found.items.size());
    EXPECT_EQ("k2", found.items[0].key);
    EXPECT_EQ(ProcId("job", 0), found.items[0].owner);
    EXPECT_EQ(lookup.keys, s.host.last("lookup")->keys);
    EXPECT_EQ(::geteuid(), number_of(s.host.last("lookup")->infos, PMIX_USERID));
    EXPECT_STATUS(PMIX_ERR_BAD_PARAM, a.ask<Command::lookup>(common::LookupRequest{}));

    common::UnpublishRequest unpublish;
    unpublish.all = true;
    EXPECT_STATUS(PMIX_SUCCESS, a.ask<Command::unpublish>(unpublish));
    EXPECT_TRUE(s.host.last("unpublish")->null_keys);
    unpublish.all = false;
    unpublish.keys = {"k"};
    EXPECT_STATUS(PMIX_SUCCESS, a.ask<Command::unpublish>(unpublish));
    EXPECT_EQ(unpublish.keys, s.host.last("unpublish")->keys);
    EXPECT_EQ(::getegid(), number_of(s.host.last("unpublish")->infos, PMIX_GRPID));
}

// rows: U7 C5 C6
TEST(ServerUpcallsTest, SpawnTellsTheHostWhoAsksAndBringsTheChildsDataBack) {
    UpcallsSetting s;
    s.server.job("child.1", 1, 1, false);
    FakeClient a(s.server, {"job", 1});
    ASSERT_STATUS(PMIX_SUCCESS, a.hello());
    EXPECT_STATUS(PMIX_ERR_BAD_PARAM, a.ask<Command::spawn>(common::SpawnRequest{}));
    common::SpawnRequest request;
    auto apps = common::CArray<pmix_app_t>::zeroed(1);
    (*apps)[0].cmd = ::strdup("/bin/true");
    (*apps)[0].maxprocs = 1;
    request.apps = common::Apps(std::move(apps).value());
    auto reply = a.wait(a.start<Command::spawn>(request));
    ASSERT_TRUE(reply);
    EXPECT_STATUS(PMIX_SUCCESS, reply->header.status);
    common::SpawnReply message;
    ASSERT_STATUS(PMIX_SUCCESS, common::decode_message(reply->payload, message));
    EXPECT_EQ("child.1", message.nspace);
    ASSERT_EQ(1u, message.segments.size());
    EXPECT_EQ("child.1", message.segments[0].nspace);
    const Seen* seen = s.host.last("spawn");
    EXPECT_EQ(1u, seen->napps);
    EXPECT_EQ(::geteuid(), number_of(seen->infos, PMIX_USERID));
    common::InfoView view(seen->infos);
    EXPECT_TRUE(view.flag(PMIX_SPAWNED));
    EXPECT_TRUE(view.flag(PMIX_REQUESTOR_IS_CLIENT));
    const pmix_proc_t* parent = nullptr;
    ASSERT_STATUS(PMIX_SUCCESS, view.get(PMIX_PARENT_ID, &parent));
    ASSERT_NE(nullptr, parent);
    EXPECT_EQ(ProcId("job", 1), ProcId(*parent));
}

// rows: U7 C5
TEST(ServerUpcallsTest, Spawn_ParentThatIsNoProcess_IsBadParamWithoutAnUpcall) {
    UpcallsSetting s;
    FakeClient a(s.server, {"job", 1});
    ASSERT_STATUS(PMIX_SUCCESS, a.hello());
    common::SpawnRequest request;
    auto apps = common::CArray<pmix_app_t>::zeroed(1);
    (*apps)[0].cmd = ::strdup("/bin/true");
    (*apps)[0].maxprocs = 1;
    request.apps = common::Apps(std::move(apps).value());
    common::InfoList infos;
    ASSERT_STATUS(PMIX_SUCCESS, infos.append_number(PMIX_PARENT_ID, uint32_t{1}, PMIX_UINT32));
    request.infos = common::Infos(std::move(infos));
    EXPECT_STATUS(PMIX_ERR_BAD_PARAM, a.ask<Command::spawn>(request));
    EXPECT_EQ(nullptr, s.host.last("spawn"));
}

// rows: U8 C1 C2 C3 C4
TEST(ServerUpcallsTest, ConnectIsOneUpcallInOneOrderAndGivesTheOthersData) {
    UpcallsSetting s(2, 1);
    s.server.job("other", 1, 1);
    FakeClient a(s.server, {"job", 0}), o(s.server, {"other", 0});
    ASSERT_STATUS(PMIX_SUCCESS, a.hello());
    ASSERT_STATUS(PMIX_SUCCESS, o.hello());
    common::ConnectRequest ab, ba;
    ab.procs = {{"other", 0}, {"job", 0}, {"job", 1}};
    ba.procs = {{"job", 1}, {"job", 0}, {"other", 0}};
    uint32_t ia = a.start<Command::connect>(ab);
    s.server.settle();
    EXPECT_EQ(0u, s.host.count("connect"));
    uint32_t io = o.start<Command::connect>(ba);
    auto reply = a.wait(ia);
    ASSERT_TRUE(reply);
    EXPECT_STATUS(PMIX_SUCCESS, reply->header.status);
    EXPECT_STATUS(PMIX_SUCCESS, status_of(o, io));
    ASSERT_EQ(1u, s.host.count("connect"));
    EXPECT_EQ((std::vector<ProcId>{{"job", 0}, {"job", 1}, {"other", 0}}), s.host.last("connect")->procs);
    common::ConnectReply message;
    ASSERT_STATUS(PMIX_SUCCESS, common::decode_message(reply->payload, message));
    ASSERT_EQ(1u, message.segments.size());
    EXPECT_EQ("other", message.segments[0].nspace);

    // all here: the host is asked all the same, because it is the host that tells them of each other's end
    common::ConnectRequest local;
    local.procs = {{"job", 0}, {"other", 0}};
    ia = a.start<Command::connect>(local);
    EXPECT_STATUS(PMIX_SUCCESS, o.ask<Command::connect>(local));
    EXPECT_STATUS(PMIX_SUCCESS, status_of(a, ia));
    EXPECT_EQ(2u, s.host.count("connect"));
    ia = a.start<Command::disconnect>(local);
    EXPECT_STATUS(PMIX_SUCCESS, o.ask<Command::disconnect>(local));
    EXPECT_STATUS(PMIX_SUCCESS, status_of(a, ia));
    ia = a.start<Command::disconnect>(local);
    EXPECT_STATUS(PMIX_ERR_INVALID_OPERATION, o.ask<Command::disconnect>(local)) << "it is not connected any more";
    EXPECT_STATUS(PMIX_ERR_INVALID_OPERATION, status_of(a, ia));
    EXPECT_EQ(1u, s.host.count("disconnect"));
    EXPECT_STATUS(PMIX_ERR_BAD_PARAM, a.ask<Command::connect>(common::ConnectRequest{}));
}

namespace {

// The host's log: it has no return value, so all that ends it is the callback.
struct HostLog {
    static inline HostLog* current = nullptr;
    HostLog() { current = this; }
    ~HostLog() { current = nullptr; }
    static void log(const pmix_proc_t* client, const pmix_info_t data[], size_t n, const pmix_info_t directives[],
                    size_t ndirectives, pmix_op_cbfunc_t callback, void* cbdata) {
        ++current->calls;
        current->client = ProcId(*client);
        current->data.append_all(data, n);
        current->directives.append_all(directives, ndirectives);
        current->answer = [callback, cbdata](pmix_status_t status) { callback(status, cbdata); };
    }
    int calls = 0;
    ProcId client;
    InfoList data, directives;
    std::function<void(pmix_status_t)> answer;
};

}  // namespace

// rows: U15
TEST(ServerUpcallsTest, LogEndsWithTheHostsCallbackAndCarriesTheIds) {
    for (pmix_status_t status : {PMIX_SUCCESS, PMIX_ERR_NO_PERMISSIONS}) {
        HostLog log;
        pmix_server_module_t module{};
        module.log = &HostLog::log;
        TestServer server(&module);
        server.job("job", 1, 2);
        FakeClient a(server, {"job", 1});
        ASSERT_STATUS(PMIX_SUCCESS, a.hello());
        EXPECT_STATUS(PMIX_ERR_BAD_PARAM, a.ask<Command::log>(common::LogRequest{})) << "nothing to log";
        EXPECT_EQ(0, log.calls);
        common::LogRequest request;
        InfoList data, directives;
        data.append_string(PMIX_LOG_STDERR, "a line");
        directives.append_flag(PMIX_LOG_ONCE, true);
        request.infos = std::move(data);
        request.directives = std::move(directives);
        uint32_t id = a.start<Command::log>(request);
        ASSERT_TRUE(server.turn_until([&] { return log.calls == 1; }));
        server.settle();
        EXPECT_FALSE(a.take(id)) << "the host has not answered";
        EXPECT_EQ(ProcId("job", 1), log.client);
        ASSERT_EQ(1u, log.data.size());
        EXPECT_STREQ("a line", log.data.find(PMIX_LOG_STDERR)->value.data.string);
        EXPECT_NE(nullptr, log.directives.find(PMIX_LOG_ONCE));
        EXPECT_EQ(::geteuid(), number_of(log.directives, PMIX_USERID));
        EXPECT_EQ(::getegid(), number_of(log.directives, PMIX_GRPID));
        log.answer(status);
        EXPECT_EQ(status, status_of(a, id));
        EXPECT_EQ(0u, server.parts().host.open());
    }
}

// rows: Q13 Q14
TEST(ServerUpcallsTest, ResolveFromTheMaps) {
    UpcallsSetting s(2, 2);
    FakeClient a(s.server, {"job", 0});
    ASSERT_STATUS(PMIX_SUCCESS, a.hello());
    auto peers = [&](const char* node, const char* nspace) {
        common::ResolveRequest request{node, nspace};
        auto reply = a.wait(a.start<Command::resolve_peers>(request));
        common::ResolvePeersReply message;
        common::decode_message(reply->payload, message);
        return std::pair(reply->header.status, message.procs);
    };
    EXPECT_EQ((std::vector<ProcId>{{"job", 0}, {"job", 1}}), peers("", "job").second);
    EXPECT_EQ((std::vector<ProcId>{{"job", 2}, {"job", 3}}), peers("n1", "job").second);
    EXPECT_EQ((std::vector<ProcId>{{"job", 0}, {"job", 1}}), peers("", "").second);
    EXPECT_STATUS(PMIX_ERR_NOT_FOUND, peers("nowhere", "job").first);
    EXPECT_STATUS(PMIX_ERR_NOT_FOUND, peers("", "strange").first);
    common::InfoList elsewhere;
    ASSERT_STATUS(PMIX_SUCCESS, elsewhere.append_string(PMIX_NODE_MAP, "n2"));
    ASSERT_STATUS(PMIX_SUCCESS, elsewhere.append_string(PMIX_PROC_MAP, "0"));
    ASSERT_STATUS(PMIX_SUCCESS, s.server.add_job("elsewhere", 0, elsewhere));
    EXPECT_EQ(std::pair(PMIX_SUCCESS, std::vector<ProcId>{}), peers("n2", "job")) << "a node, and nobody of the job";
    common::ResolveRequest request{"", "job"};
    auto reply = a.wait(a.start<Command::resolve_nodes>(request));
    common::ResolveNodesReply message;
    ASSERT_STATUS(PMIX_SUCCESS, common::decode_message(reply->payload, message));
    EXPECT_EQ("n0,n1", message.nodes);
}

// What would take too much memory once it is read is told from what is malformed: the dispatcher refuses the one, and
// ends the connection of the other.
TEST(ServerUpcallsTest, RequestThatIsTooLarge_IsNotMalformed) {
    for (const size_t n : {size_t{500'000}, size_t{10}}) {
        std::vector<pmix_proc_t> procs(n, ProcId("job", 0).to_c());
        pmix_data_array_t array{PMIX_PROC, n, procs.data()};
        InfoList list;
        ASSERT_STATUS(PMIX_SUCCESS, list.append("large", &array, PMIX_DATA_ARRAY));
        common::JobControlRequest request, back;
        request.directives = std::move(list);
        auto bytes = common::message_bytes(request);
        ASSERT_TRUE(bytes.ok());
        EXPECT_STATUS(n == 10 ? PMIX_SUCCESS : PMIX_ERR_OUT_OF_RESOURCE, common::decode_message(*bytes, back)) << n;
        bytes->pop_back();
        if (n == 10) {
            EXPECT_STATUS(PMIX_ERR_UNPACK_FAILURE, common::decode_message(*bytes, back));
        }
    }
}

// A request that asks the host for more and fails has registered nothing.
TEST(ServerUpcallsTest, CleanupOfAFailedRequestIsWithdrawn) {
    UpcallsSetting s;
    char top[] = "/tmp/unit-test.XXXXXX";
    ASSERT_NE(nullptr, ::mkdtemp(top));
    const std::string failed = std::string(top) + "/failed", done = std::string(top) + "/done";
    FakeClient a(s.server, {"job", 0});
    ASSERT_STATUS(PMIX_SUCCESS, a.hello());
    auto ask = [&](const std::string& path, bool more) {
        std::ofstream(path) << "x";
        common::JobControlRequest request;
        request.procs = {{"job", 0}};
        InfoList list;
        EXPECT_STATUS(PMIX_SUCCESS, list.append_string(PMIX_REGISTER_CLEANUP, path));
        if (more) {
            EXPECT_STATUS(PMIX_SUCCESS, list.append_flag(PMIX_JOB_CTRL_PAUSE, true));
        }
        request.directives = std::move(list);
        return a.ask<Command::job_control>(request);
    };
    EXPECT_STATUS(PMIX_ERR_NOT_SUPPORTED, ask(failed, true)) << "no such upcall";
    EXPECT_STATUS(PMIX_SUCCESS, ask(done, false));
    a.kill();
    EXPECT_TRUE(s.server.turn_until([&] { return ::access(done.c_str(), F_OK) != 0; }));
    EXPECT_EQ(0, ::access(failed.c_str(), F_OK));
    ::unlink(failed.c_str());
    ::rmdir(top);
}

// What a process asked to be removed goes with the last one that asked, follows no link, and the host is not bothered.
TEST(ServerUpcallsTest, CleanupIsDoneHere) {
    UpcallsSetting s;
    char top[] = "/tmp/unit-test.XXXXXX";
    ASSERT_NE(nullptr, ::mkdtemp(top));
    std::string base = top, kept = base + ".kept";
    ::mkdir((base + "/sub").c_str(), 0700);
    std::ofstream(base + "/sub/file") << "x";
    std::ofstream(kept) << "x";
    ASSERT_EQ(0, ::symlink(kept.c_str(), (base + "/link").c_str()));
    FakeClient a(s.server, {"job", 0}), b(s.server, {"job", 1});
    ASSERT_STATUS(PMIX_SUCCESS, a.hello());
    ASSERT_STATUS(PMIX_SUCCESS, b.hello());
    auto ask = [&](FakeClient& client, uint32_t rank, const std::string& path) {
        common::JobControlRequest request;
        request.procs = {{"job", rank}};
        InfoList list;
        list.append_string(PMIX_REGISTER_CLEANUP_DIR, path);
        list.append_flag(PMIX_CLEANUP_RECURSIVE, true);
        request.directives = std::move(list);
        return client.ask<Command::job_control>(request);
    };
    EXPECT_STATUS(PMIX_SUCCESS, ask(a, 0, base));
    EXPECT_STATUS(PMIX_SUCCESS, ask(b, 1, base));
    EXPECT_STATUS(PMIX_ERR_BAD_PARAM, ask(a, 0, "relative"));
    EXPECT_EQ(0u, s.host.count("job_control"));
    a.kill();
    ASSERT_TRUE(s.server.turn_until([&] { return s.server.parts().peers.size() == 1; }));
    EXPECT_EQ(0, ::access(base.c_str(), F_OK)) << "the other one still needs it";
    b.kill();
    EXPECT_TRUE(s.server.turn_until([&] { return ::access(base.c_str(), F_OK) != 0; }));
    EXPECT_EQ(0, ::access(kept.c_str(), F_OK));
    ::unlink(kept.c_str());
}

// A host may call back after the server has gone, and twice.
TEST(ServerUpcallsTest, LateAndDoubleAnswersDoNoHarm) {
    FakeHost host;
    host.styles["publish"] = Style::later;
    auto module = host.module();
    {
        TestServer server(&module);
        server.job("job", 1, 1);
        FakeClient a(server, {"job", 0});
        ASSERT_STATUS(PMIX_SUCCESS, a.hello());
        common::PublishRequest publish;
        InfoList list;
        list.append_string("k", "v");
        publish.infos = std::move(list);
        a.start<Command::publish>(publish);
        ASSERT_TRUE(server.turn_until([&] { return host.waiting() == 1; }));
    }
    host.answer_waiting();
}

// The loop does not run between the host's answer and the client's receiving it.
// rows: U1
TEST(ServerUpcallsTest, PublishFamilyIsAnsweredByTheHostsThread) {
    UpcallsSetting s(1, 1);
    for (const char* what : {"publish", "lookup", "unpublish"}) s.host.styles[what] = Style::later;
    s.host.published = {{"k", "v"}};
    FakeClient a(s.server, {"job", 0});
    ASSERT_STATUS(PMIX_SUCCESS, a.hello());
    common::PublishRequest publish;
    InfoList list;
    list.append_string("k", "v");
    publish.infos = std::move(list);
    common::LookupRequest lookup;
    lookup.keys = {"k"};
    common::UnpublishRequest unpublish;
    unpublish.keys = {"k"};
    const uint32_t ids[] = {a.start<Command::publish>(publish), a.start<Command::lookup>(lookup),
                            a.start<Command::unpublish>(unpublish)};
    ASSERT_TRUE(s.server.turn_until([&] { return s.host.waiting() == 3; }));
    std::thread([&] { s.host.answer_waiting(); }).join();
    for (uint32_t id : ids) {
        auto reply = a.take(id);
        ASSERT_TRUE(reply);
        EXPECT_STATUS(PMIX_SUCCESS, reply->header.status);
    }
    EXPECT_EQ(0u, s.server.parts().host.open());
}

// rows: U1
TEST(ServerUpcallsTest, Answer_PeerHasGone_IsDropped) {
    UpcallsSetting s;
    s.host.styles["publish"] = Style::later;
    FakeClient stays(s.server, {"job", 0});
    ASSERT_STATUS(PMIX_SUCCESS, stays.hello());
    {
        FakeClient goes(s.server, {"job", 1});
        ASSERT_STATUS(PMIX_SUCCESS, goes.hello());
        common::PublishRequest publish;
        InfoList list;
        list.append_string("k", "v");
        publish.infos = std::move(list);
        goes.start<Command::publish>(publish);
        ASSERT_TRUE(s.server.turn_until([&] { return s.host.waiting() == 1; }));
    }
    ASSERT_TRUE(s.server.turn_until([&] { return s.server.parts().peers.size() == 1; }));
    std::thread([&] { s.host.answer_waiting(); }).join();
    s.server.settle();
    EXPECT_EQ(0u, s.server.parts().host.open());
    EXPECT_FALSE(stays.hung_up());
}

namespace {

// Answers from another thread at once, and looks at what it was given only afterwards.
std::string g_read_after_answer;
pmix_status_t g_returned = PMIX_SUCCESS;
pmix_status_t answer_then_read(const pmix_proc_t* proc, const pmix_info_t* infos, size_t n, pmix_op_cbfunc_t cb,
                               void* cbdata) {
    std::thread([&] { cb(PMIX_ERR_DUPLICATE_KEY, cbdata); }).join();
    g_read_after_answer = std::string(proc->nspace) + ":" + (n > 0 ? infos[0].value.data.string : "");
    return g_returned;
}

}  // namespace

// What the host borrows stays until its upcall has returned, and its first answer is the one that counts.
// rows: U1
TEST(ServerUpcallsTest, ArgumentsOutliveAnAnswerDuringTheUpcall) {
    FakeHost host;
    auto module = host.module();
    module.publish = &answer_then_read;
    TestServer server(&module);
    server.job("job", 1, 1);
    FakeClient a(server, {"job", 0});
    ASSERT_STATUS(PMIX_SUCCESS, a.hello());
    for (pmix_status_t returned : {PMIX_SUCCESS, PMIX_OPERATION_SUCCEEDED, PMIX_ERR_NOT_SUPPORTED}) {
        g_returned = returned;
        g_read_after_answer.clear();
        common::PublishRequest publish;
        InfoList list;
        list.append_string("k", "value");
        publish.infos = std::move(list);
        const uint32_t id = a.start<Command::publish>(publish);
        EXPECT_STATUS(PMIX_ERR_DUPLICATE_KEY, status_of(a, id));
        server.settle();
        EXPECT_FALSE(a.take(id)) << "answered twice";
        EXPECT_EQ("job:value", g_read_after_answer);
    }
    EXPECT_EQ(0u, server.parts().host.open());
}

}  // namespace server_upcalls_test

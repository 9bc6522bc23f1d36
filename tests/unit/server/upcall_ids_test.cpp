// SPDX-License-Identifier: BSD-3-Clause
// What holds for every upcall. The ids of a requester are the kernel's: each upcall with infos has the user and group
// of the requester, once, even if the request contained others. And one that the host leaves open is in the report.
#include <gtest/gtest.h>
#include <pmix_server.h>

#include <functional>
#include <map>
#include <set>

#include "common/values/array_value.h"
#include "support/fake_client.h"
#include "support/status.h"

namespace pmix::test::upcall_ids_test {
namespace {

using common::InfoList;

constexpr uint32_t kForged = 4242;

// A host that notes the infos of each upcall and refuses it, or holds it for ever.
struct Noting {
    static inline std::map<std::string, InfoList> seen;
    static inline bool holds = false;
    static inline pmix_status_t refusal = PMIX_ERR_NOT_FOUND;
    static pmix_status_t note(const char* entry, const pmix_info_t* infos, size_t n) {
        InfoList& list = seen[entry];
        list.reset();
        list.append_all(infos, n);
        return holds ? PMIX_SUCCESS : refusal;
    }
    static pmix_server_module_t module() {
        pmix_server_module_t m{};
        m.fence_nb = [](const pmix_proc_t*, size_t, const pmix_info_t* i, size_t n, char* data, size_t,
                        pmix_modex_cbfunc_t, void*) {
            std::free(data);
            return note("fence", i, n);
        };
        m.direct_modex = [](const pmix_proc_t*, const pmix_info_t* i, size_t n, pmix_modex_cbfunc_t, void*) {
            return note("direct_modex", i, n);
        };
        m.publish = [](const pmix_proc_t*, const pmix_info_t* i, size_t n, pmix_op_cbfunc_t, void*) {
            return note("publish", i, n);
        };
        m.lookup = [](const pmix_proc_t*, char**, const pmix_info_t* i, size_t n, pmix_lookup_cbfunc_t, void*) {
            return note("lookup", i, n);
        };
        m.unpublish = [](const pmix_proc_t*, char**, const pmix_info_t* i, size_t n, pmix_op_cbfunc_t, void*) {
            return note("unpublish", i, n);
        };
        m.spawn = [](const pmix_proc_t*, const pmix_info_t* i, size_t n, const pmix_app_t* apps, size_t,
                     pmix_spawn_cbfunc_t, void*) {
            note("application", apps[0].info, apps[0].ninfo);
            return note("spawn", i, n);
        };
        m.connect = [](const pmix_proc_t*, size_t, const pmix_info_t* i, size_t n, pmix_op_cbfunc_t, void*) {
            return note("connect", i, n);
        };
        m.disconnect = [](const pmix_proc_t*, size_t, const pmix_info_t* i, size_t n, pmix_op_cbfunc_t, void*) {
            return note("disconnect", i, n);
        };
        m.register_events = [](pmix_status_t*, size_t, const pmix_info_t* i, size_t n, pmix_op_cbfunc_t, void*) {
            return note("register_events", i, n);
        };
        m.notify_event = [](pmix_status_t, const pmix_proc_t*, pmix_data_range_t, pmix_info_t* i, size_t n,
                            pmix_op_cbfunc_t, void*) { return note("notify_event", i, n); };
        m.query = [](pmix_proc_t*, pmix_query_t* q, size_t, pmix_info_cbfunc_t, void*) {
            return note("query", q[0].qualifiers, q[0].nqual);
        };
        m.log2 = [](const pmix_proc_t*, const pmix_info_t*, size_t, const pmix_info_t* i, size_t n, pmix_op_cbfunc_t,
                    void*) { return note("log", i, n); };
        m.allocate = [](const pmix_proc_t*, pmix_alloc_directive_t, const pmix_info_t* i, size_t n, pmix_info_cbfunc_t,
                        void*) { return note("allocate", i, n); };
        m.job_control = [](const pmix_proc_t*, const pmix_proc_t*, size_t, const pmix_info_t* i, size_t n,
                           pmix_info_cbfunc_t, void*) { return note("job_control", i, n); };
        m.monitor = [](const pmix_proc_t*, const pmix_info_t*, pmix_status_t, const pmix_info_t* i, size_t n,
                       pmix_info_cbfunc_t, void*) { return note("monitor", i, n); };
        m.get_credential = [](const pmix_proc_t*, const pmix_info_t* i, size_t n, pmix_credential_cbfunc_t, void*) {
            return note("get_credential", i, n);
        };
        m.validate_credential = [](const pmix_proc_t*, const pmix_byte_object_t*, const pmix_info_t* i, size_t n,
                                   pmix_validation_cbfunc_t, void*) { return note("validate_credential", i, n); };
        m.iof_pull = [](const pmix_proc_t*, size_t, const pmix_info_t* i, size_t n, pmix_iof_channel_t,
                        pmix_op_cbfunc_t, void*) { return note("iof_pull", i, n); };
        m.push_stdin = [](const pmix_proc_t*, const pmix_proc_t*, size_t, const pmix_info_t* i, size_t n,
                          const pmix_byte_object_t*, pmix_op_cbfunc_t, void*) { return note("push_stdin", i, n); };
        m.group = [](pmix_group_operation_t, char*, const pmix_proc_t*, size_t, const pmix_info_t* i, size_t n,
                     pmix_info_cbfunc_t, void*) { return note("group", i, n); };
        m.fabric = [](const pmix_proc_t*, pmix_fabric_operation_t, const pmix_info_t* i, size_t n, pmix_info_cbfunc_t,
                      void*) { return note("fabric", i, n); };
        m.session_control = [](const pmix_proc_t*, uint32_t, const pmix_info_t* i, size_t n, pmix_info_cbfunc_t,
                               void*) { return note("session_control", i, n); };
        m.resource_block = [](const pmix_proc_t*, pmix_resource_block_directive_t, const char*,
                              const pmix_resource_unit_t*, size_t, const pmix_info_t* i, size_t n, pmix_op_cbfunc_t,
                              void*) { return note("resource_block", i, n); };
        m.client_connected2 = [](const pmix_proc_t*, void*, pmix_info_t* i, size_t n, pmix_op_cbfunc_t, void*) {
            note("client_connected2", i, n);
            return PMIX_OPERATION_SUCCEEDED;
        };
        return m;
    }
};

InfoList forged() {
    InfoList infos;
    infos.append_number<uint32_t>(PMIX_USERID, kForged, PMIX_UINT32);
    infos.append_number<uint32_t>(PMIX_GRPID, kForged, PMIX_UINT32);
    return infos;
}

template <class Request>
Request with_directives() {
    Request request;
    request.directives = forged();
    return request;
}

common::GroupRequest group(const char* name, bool bootstrap) {
    common::GroupRequest request;
    request.call = common::GroupCall::construct;
    request.name = name;
    InfoList infos = forged();
    infos.append_number<int>(PMIX_TIMEOUT, 60, PMIX_INT);
    if (bootstrap) infos.append_number<size_t>(PMIX_GROUP_BOOTSTRAP, 2, PMIX_SIZE);
    request.infos = std::move(infos);
    request.procs = {{"job", 0}};
    if (!bootstrap) request.procs.emplace_back("job", 1);
    return request;
}

const ProcId kFar("job", 1);  // on the other node

struct Row {
    const char* entry;
    std::function<void(FakeClient&)> ask;
    const char* shown = nullptr;  // in the report, if not as the entry
};

pmix_status_t answered = PMIX_SUCCESS;  // the last one that the host refused

template <Command C, class M>
void ask(FakeClient& client, const M& message) {
    const uint32_t id = client.start<C>(message);
    if (Noting::holds) return;
    const auto reply = client.wait(id);
    ASSERT_TRUE(reply) << common::command_name(static_cast<uint16_t>(C));
    answered = reply->header.status;
}

const Row kRows[] = {
    {"fence",
     [](FakeClient& c) {
         common::FenceRequest r;
         r.procs = {{"job", PMIX_RANK_WILDCARD}};
         r.infos = forged();
         ask<Command::fence>(c, r);
     }},
    {"direct_modex",
     [](FakeClient& c) {
         common::GetRequest r;
         r.proc = kFar;
         r.key = "k";
         r.infos = forged();
         ask<Command::get>(c, r);
     },
     "get"},
    {"publish",
     [](FakeClient& c) {
         common::PublishRequest r;
         r.infos = forged();
         ask<Command::publish>(c, r);
     }},
    {"lookup",
     [](FakeClient& c) {
         common::LookupRequest r;
         r.keys = {"k"};
         r.infos = forged();
         ask<Command::lookup>(c, r);
     }},
    {"unpublish",
     [](FakeClient& c) {
         common::UnpublishRequest r;
         r.keys = {"k"};
         r.infos = forged();
         ask<Command::unpublish>(c, r);
     }},
    {"spawn",
     [](FakeClient& c) {
         common::SpawnRequest r;
         r.infos = forged();
         pmix_app_t app{};
         char command[] = "x";
         app.cmd = command;
         app.maxprocs = 1;
         InfoList own = forged();
         app.info = const_cast<pmix_info_t*>(own.c_array());
         app.ninfo = own.size();
         r.apps = common::Apps::borrow(&app, 1);
         ask<Command::spawn>(c, r);
     }},
    {"application", [](FakeClient&) {}, ""},  // by the spawn before
    {"connect",
     [](FakeClient& c) {
         common::ConnectRequest r;
         r.procs = {{"job", 0}, kFar};
         r.infos = forged();
         ask<Command::connect>(c, r);
     }},
    {"disconnect",
     [](FakeClient& c) {
         common::ConnectRequest r;
         r.procs = {{"job", 0}, kFar};
         r.infos = forged();
         ask<Command::disconnect>(c, r);
     }},
    {"register_events",
     [](FakeClient& c) {
         common::RegisterEventsRequest r;
         r.codes = {PMIX_EVENT_SYS_BASE};
         r.infos = forged();
         ask<Command::register_events>(c, r);
     }},
    {"notify_event",
     [](FakeClient& c) {
         common::NotifyEventRequest r;
         r.status = PMIX_EXTERNAL_ERR_BASE - 7;
         r.source = {"job", 0};
         r.range = PMIX_RANGE_GLOBAL;
         r.infos = forged();
         ask<Command::notify_event>(c, r);
     }},
    {"query",
     [](FakeClient& c) {
         common::QueryRequest r;
         char key[] = "some.key";
         char* keys[] = {key, nullptr};
         InfoList qualifiers = forged();
         pmix_query_t query{};
         query.keys = keys;
         query.qualifiers = const_cast<pmix_info_t*>(qualifiers.c_array());
         query.nqual = qualifiers.size();
         r.queries = common::Queries::borrow(&query, 1);
         ask<Command::query>(c, r);
     }},
    {"log",
     [](FakeClient& c) {
         common::LogRequest r;
         InfoList data;
         data.append_string(PMIX_LOG_STDERR, "text");
         r.infos = std::move(data);
         r.directives = forged();
         ask<Command::log>(c, r);
     }},
    {"allocate",
     [](FakeClient& c) {
         common::AllocateRequest r;
         r.directive = PMIX_ALLOC_NEW;
         r.infos = forged();
         ask<Command::allocate>(c, r);
     }},
    {"job_control",
     [](FakeClient& c) {
         common::JobControlRequest r;
         InfoList directives = forged();
         directives.append_flag(PMIX_JOB_CTRL_PAUSE, true);
         r.directives = std::move(directives);
         ask<Command::job_control>(c, r);
     }},
    {"monitor",
     [](FakeClient& c) {
         common::MonitorRequest r;
         InfoList what;
         what.append_flag("hosts.own.monitor", true);
         r.infos = std::move(what);
         r.directives = forged();
         ask<Command::monitor>(c, r);
     }},
    {"get_credential",
     [](FakeClient& c) { ask<Command::get_credential>(c, with_directives<common::GetCredentialRequest>()); }},
    {"validate_credential",
     [](FakeClient& c) {
         auto r = with_directives<common::ValidateCredentialRequest>();
         r.credential = {1, 2, 3};
         ask<Command::validate_credential>(c, r);
     }},
    {"iof_pull",
     [](FakeClient& c) {
         common::IofPullRequest r;
         r.procs = {kFar};
         r.channels = PMIX_FWD_STDOUT_CHANNEL;
         r.reference = 1;
         r.infos = forged();
         ask<Command::iof_pull>(c, r);
     }},
    {"push_stdin",
     [](FakeClient& c) {
         common::IofPushRequest r;
         r.procs = {kFar};
         r.infos = forged();
         ask<Command::iof_push>(c, r);
     }},
    {"group", [](FakeClient& c) { ask<Command::group>(c, group("members", false)); }, "group construct members"},
    {"group", [](FakeClient& c) { ask<Command::group>(c, group("leaders", true)); }, "group bootstrap"},
    {"fabric", [](FakeClient& c) { ask<Command::fabric>(c, with_directives<common::FabricRequest>()); }},
    {"session_control",
     [](FakeClient& c) { ask<Command::session_control>(c, with_directives<common::SessionControlRequest>()); }},
    {"resource_block",
     [](FakeClient& c) {
         common::ResourceBlockRequest r;
         r.block = "block";
         r.directives = forged();
         ask<Command::resource_block>(c, r);
     }},
};

// What a query of one key finds: a list of infos.
InfoList answer_to(FakeClient& client, const char* key) {
    std::string name(key);
    char* keys[] = {name.data(), nullptr};
    pmix_query_t one{};
    one.keys = keys;
    common::QueryRequest request;
    request.queries = common::Queries::borrow(&one, 1);
    const auto reply = client.wait(client.start<Command::query>(request));
    common::ResultsReply results;
    InfoList out;
    if (!reply || common::decode_message(reply->payload, results) != PMIX_SUCCESS || results.infos.size() != 1) {
        ADD_FAILURE() << key << " has no answer";
        return out;
    }
    for (const pmix_info_t& answer : common::infos_in(results.infos[0].value))
        for (const pmix_info_t& info : common::infos_in(answer.value)) out.append_all(&info, 1);
    return out;
}

}  // namespace

// rows: P1 C5 Q9 U8
TEST(UpcallIdsTest, EveryUpcall_IdsForged_CarriesTheKernelsOnce) {
    const auto module = Noting::module();
    server::ServerOptions options;
    options.module_size = sizeof module;
    TestServer server(&module, std::move(options));
    server.job("job", 2, 1);
    FakeClient client(server, {"job", 0});
    ASSERT_STATUS(PMIX_SUCCESS, client.hello());
    for (const Row& row : kRows) {
        if (std::string_view(row.entry) != "application") Noting::seen.erase(row.entry);
        row.ask(client);
        const auto at = Noting::seen.find(row.entry);
        ASSERT_NE(Noting::seen.end(), at) << row.entry;
        size_t users = 0, groups = 0;
        for (const pmix_info_t& info : at->second) {
            users += common::key_view(info) == PMIX_USERID;
            groups += common::key_view(info) == PMIX_GRPID;
        }
        EXPECT_EQ(1u, users) << row.entry;
        EXPECT_EQ(1u, groups) << row.entry;
        EXPECT_EQ(::geteuid(), number_of(at->second, PMIX_USERID)) << row.entry;
        EXPECT_EQ(::getegid(), number_of(at->second, PMIX_GRPID)) << row.entry;
    }
}

// A host that has lost the node of what a request needs: its status ends the request, and nothing of it stays open.
TEST(UpcallIdsTest, EveryUpcall_HostHasLostTheNode_RequesterHasTheStatus) {
    const auto module = Noting::module();
    server::ServerOptions options;
    options.module_size = sizeof module;
    TestServer server(&module, std::move(options));
    server.job("job", 2, 1);
    FakeClient client(server, {"job", 0});
    ASSERT_STATUS(PMIX_SUCCESS, client.hello());
    Noting::refusal = PMIX_ERR_LOST_CONNECTION;
    for (const Row& row : kRows) {
        if (std::string_view(row.entry) == "application") continue;
        answered = PMIX_SUCCESS;
        row.ask(client);
        EXPECT_STATUS(PMIX_ERR_LOST_CONNECTION, answered) << row.entry;
    }
    Noting::refusal = PMIX_ERR_NOT_FOUND;
}

// What the host has not answered is shown beside what waits in the server, whichever entry it is.
TEST(UpcallIdsTest, EveryUpcall_HostHoldsIt_IsInTheReport) {
    Noting::seen.clear();
    const auto module = Noting::module();
    server::ServerOptions options;
    options.module_size = sizeof module;
    TestServer server(&module, std::move(options));
    server.job("job", 2, 1);
    FakeClient client(server, {"job", 0}), observer(server, ProcId());
    ASSERT_STATUS(PMIX_SUCCESS, client.hello());
    ASSERT_STATUS(PMIX_SUCCESS, observer.hello({}, common::PeerRole::observer));
    EXPECT_EQ(0u, number_of(answer_to(observer, WIREUP_QUERY_COUNTERS), "wireup.cnt.open"));
    std::multiset<std::string> expected;
    Noting::holds = true;
    for (const Row& row : kRows) {
        if (std::string_view(row.entry) != "application") Noting::seen.erase(row.entry);
        row.ask(client);
        EXPECT_TRUE(server.turn_until([&] { return Noting::seen.count(row.entry) != 0; })) << row.entry;
        const std::string shown = row.shown == nullptr ? row.entry : row.shown;
        if (!shown.empty()) expected.insert(shown);
    }
    Noting::holds = false;
    std::multiset<std::string> found;
    for (const pmix_info_t& row : answer_to(observer, WIREUP_QUERY_REPORT)) {
        const std::string_view kind = common::key_view(row);
        if (kind != WIREUP_REPORT_REQUEST && kind != WIREUP_REPORT_COLLECTIVE) continue;
        InfoList fields;
        for (const pmix_info_t& part : common::infos_in(row.value)) fields.append_all(&part, 1);
        const std::string operation = fields.find(WIREUP_REPORT_OPERATION)->value.data.string;
        found.insert(operation);
        EXPECT_STREQ("host", fields.find(WIREUP_REPORT_WAITS_FOR)->value.data.string) << operation;
        EXPECT_EQ(PMIX_DOUBLE, fields.find(WIREUP_REPORT_AGE)->value.type) << operation;
        // Of an operation of several the members are told.
        const pmix_info_t* requester = fields.find(WIREUP_REPORT_ASKER);
        EXPECT_EQ(kind == WIREUP_REPORT_REQUEST, requester != nullptr) << operation;
        // The host is not told whose registration it is: it is the server's.
        const char* whose = operation == "register_events" ? "test-server" : "job";
        if (requester != nullptr) {
            EXPECT_STREQ(whose, requester->value.data.proc->nspace) << operation;
        }
    }
    EXPECT_EQ(expected, found);
    EXPECT_EQ(expected.size(), number_of(answer_to(observer, WIREUP_QUERY_COUNTERS), "wireup.cnt.open"));
}

// A collective operation of several users' processes is nobody's in particular.
TEST(UpcallIdsTest, Participants_SeveralUsers_AreNotNamed) {
    server::Participants one, several;
    for (int i = 0; i < 2; ++i) one.add({1000, 100, 1 + i});
    several.add({1000, 100, 1});
    several.add({1001, 100, 2});
    InfoList of_one = forged(), of_several = forged();
    ASSERT_STATUS(PMIX_SUCCESS, one.append_ids(of_one));
    ASSERT_STATUS(PMIX_SUCCESS, several.append_ids(of_several));
    EXPECT_EQ(1000, number_of(of_one, PMIX_USERID));
    EXPECT_EQ(100, number_of(of_one, PMIX_GRPID));
    EXPECT_EQ(nullptr, of_several.find(PMIX_USERID));
    EXPECT_EQ(nullptr, of_several.find(PMIX_GRPID));
}

// What processes are told of an event holds no claim about its sender's user.
TEST(UpcallIdsTest, Event_IdsForged_ReachesHandlersWithoutThem) {
    const auto module = Noting::module();
    TestServer server(&module);
    server.job("job", 1, 2);
    FakeClient sender(server, {"job", 0}), handler(server, {"job", 1});
    ASSERT_STATUS(PMIX_SUCCESS, sender.hello());
    ASSERT_STATUS(PMIX_SUCCESS, handler.hello());
    common::RegisterEventsRequest registration;
    registration.codes = {PMIX_EXTERNAL_ERR_BASE + 7};
    registration.codes = {-200};
    ASSERT_STATUS(PMIX_SUCCESS, handler.ask<Command::register_events>(registration));
    common::NotifyEventRequest event;
    event.status = -200;
    event.source = {"job", 0};
    event.range = PMIX_RANGE_LOCAL;
    event.infos = forged();
    ASSERT_STATUS(PMIX_SUCCESS, sender.ask<Command::notify_event>(event));
    auto told = handler.take_event();
    ASSERT_TRUE(told);
    for (const pmix_info_t& info : told->infos) EXPECT_NE(PMIX_USERID, common::key_view(info));
}

}  // namespace pmix::test::upcall_ids_test

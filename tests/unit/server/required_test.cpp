// SPDX-License-Identifier: BSD-3-Clause
// Required entries (PMIX_INFO_REQD) of every operation that takes entries: what nobody has said to support is refused,
// wherever the members run; what the host has registered goes to the host.
#include "server/host/required.h"

#include <gtest/gtest.h>
#include <pmix_server.h>

#include <algorithm>
#include <functional>

#include "common/protocol/group_calls.h"
#include "support/fake_client.h"
#include "support/status.h"

namespace pmix::test::required_test {
namespace {

using common::Function;
using common::GroupCall;
using common::InfoList;
using common::Infos;

// The entries that FakeHost lacks: each notes its name, and succeeds.
struct Services {
    static inline std::vector<std::string> calls;
    static inline InfoList last;
    static void note(const char* what, const pmix_info_t* infos, size_t n) {
        calls.emplace_back(what);
        last.reset();
        last.append_all(infos, n);
    }
    static pmix_status_t job_control(const pmix_proc_t*, const pmix_proc_t[], size_t, const pmix_info_t d[], size_t n,
                                     pmix_info_cbfunc_t, void*) {
        note("job_control", d, n);
        return PMIX_OPERATION_SUCCEEDED;
    }
    static pmix_status_t allocate(const pmix_proc_t*, pmix_alloc_directive_t, const pmix_info_t d[], size_t n,
                                  pmix_info_cbfunc_t, void*) {
        note("allocate", d, n);
        return PMIX_OPERATION_SUCCEEDED;
    }
    static pmix_status_t monitor(const pmix_proc_t*, const pmix_info_t*, pmix_status_t, const pmix_info_t d[], size_t n,
                                 pmix_info_cbfunc_t, void*) {
        note("monitor", d, n);
        return PMIX_OPERATION_SUCCEEDED;
    }
    static pmix_status_t session_control(const pmix_proc_t*, uint32_t, const pmix_info_t d[], size_t n,
                                         pmix_info_cbfunc_t, void*) {
        note("session_control", d, n);
        return PMIX_OPERATION_SUCCEEDED;
    }
    static pmix_status_t resource_block(const pmix_proc_t*, pmix_resource_block_directive_t, const char*,
                                        const pmix_resource_unit_t*, size_t, const pmix_info_t* d, size_t n,
                                        pmix_op_cbfunc_t, void*) {
        note("resource_block", d, n);
        return PMIX_OPERATION_SUCCEEDED;
    }
    static pmix_status_t log2(const pmix_proc_t*, const pmix_info_t[], size_t, const pmix_info_t d[], size_t n,
                              pmix_op_cbfunc_t, void*) {
        note("log2", d, n);
        return PMIX_OPERATION_SUCCEEDED;
    }
    static pmix_status_t get_credential(const pmix_proc_t*, const pmix_info_t d[], size_t n,
                                        pmix_credential_cbfunc_t cb, void* cbdata) {
        note("get_credential", d, n);
        char text[] = "c";
        pmix_byte_object_t object{text, 1};
        cb(PMIX_SUCCESS, &object, nullptr, 0, cbdata);
        return PMIX_SUCCESS;
    }
    static pmix_status_t validate_credential(const pmix_proc_t*, const pmix_byte_object_t*, const pmix_info_t d[],
                                             size_t n, pmix_validation_cbfunc_t cb, void* cbdata) {
        note("validate_credential", d, n);
        cb(PMIX_SUCCESS, nullptr, 0, cbdata);
        return PMIX_SUCCESS;
    }
    static pmix_status_t query(pmix_proc_t*, pmix_query_t* queries, size_t, pmix_info_cbfunc_t cb, void* cbdata) {
        note("query", queries[0].qualifiers, queries[0].nqual);
        InfoList found;
        found.append_string(queries[0].keys[0], "answer");
        cb(PMIX_SUCCESS, found.c_array(), found.size(), cbdata, nullptr, nullptr);
        return PMIX_SUCCESS;
    }
    static void add_to(pmix_server_module_t& m) {
        m.job_control = &job_control;
        m.allocate = &allocate;
        m.monitor = &monitor;
        m.session_control = &session_control;
        m.resource_block = &resource_block;
        m.log2 = &log2;
        m.get_credential = &get_credential;
        m.validate_credential = &validate_credential;
        m.query = &query;
    }
};

using Ask = std::function<pmix_status_t(FakeClient&, InfoList)>;

template <class Request>
Request with_directives(InfoList list) {
    Request request;
    request.directives = std::move(list);
    return request;
}
common::GroupRequest group(GroupCall call, InfoList list) {
    common::GroupRequest request;
    request.call = call;
    request.name = "group";
    if (call == GroupCall::construct) request.procs = {{"job", PMIX_RANK_WILDCARD}};
    request.infos = std::move(list);
    return request;
}
InfoList text(const char* key) {
    InfoList list;
    list.append_string(key, "x");
    return list;
}

enum Kind { collective, service, payload, no_host };

struct Row {
    const char* function;
    const char* entry;  // of the module
    Kind kind;
    Ask ask;
};

const std::vector<Row>& rows() {
    static const std::vector<Row> all = {
        {"PMIx_Fence", "fence", collective,
         [](FakeClient& c, InfoList list) {
             common::FenceRequest request;
             request.procs = {{"job", PMIX_RANK_WILDCARD}};
             request.infos = std::move(list);
             return c.ask<Command::fence>(request);
         }},
        {"PMIx_Connect", "connect", collective,
         [](FakeClient& c, InfoList list) {
             common::ConnectRequest request;
             request.procs = {{"job", PMIX_RANK_WILDCARD}};
             request.infos = std::move(list);
             return c.ask<Command::connect>(request);
         }},
        {"PMIx_Disconnect", "disconnect", collective,
         [](FakeClient& c, InfoList list) {
             common::ConnectRequest request;
             request.procs = {{"job", PMIX_RANK_WILDCARD}};
             EXPECT_STATUS(PMIX_SUCCESS, c.ask<Command::connect>(request));
             request.infos = std::move(list);
             return c.ask<Command::disconnect>(request);
         }},
        {"PMIx_Group_construct", "group", collective,
         [](FakeClient& c, InfoList list) {
             const pmix_status_t rc = c.ask<Command::group>(group(GroupCall::construct, std::move(list)));
             if (rc == PMIX_SUCCESS) {
                 EXPECT_STATUS(PMIX_SUCCESS, c.ask<Command::group>(group(GroupCall::destruct, {})));
             }
             return rc;
         }},
        {"PMIx_Group_destruct", "group", collective,
         [](FakeClient& c, InfoList list) {
             EXPECT_STATUS(PMIX_SUCCESS, c.ask<Command::group>(group(GroupCall::construct, {})));
             return c.ask<Command::group>(group(GroupCall::destruct, std::move(list)));
         }},
        {"PMIx_Group_leave", "", no_host,
         [](FakeClient& c, InfoList list) {
             EXPECT_STATUS(PMIX_SUCCESS, c.ask<Command::group>(group(GroupCall::construct, {})));
             const pmix_status_t rc = c.ask<Command::group>(group(GroupCall::leave, std::move(list)));
             if (rc != PMIX_SUCCESS) {
                 EXPECT_STATUS(PMIX_SUCCESS, c.ask<Command::group>(group(GroupCall::destruct, {})));
             }
             return rc;
         }},
        {"PMIx_Publish", "publish", payload,
         [](FakeClient& c, InfoList list) {
             common::PublishRequest request;
             request.infos = std::move(list);
             return c.ask<Command::publish>(request);
         }},
        {"PMIx_Lookup", "lookup", service,
         [](FakeClient& c, InfoList list) {
             common::LookupRequest request;
             request.keys = {"k"};
             request.infos = std::move(list);
             return c.ask<Command::lookup>(request);
         }},
        {"PMIx_Unpublish", "unpublish", service,
         [](FakeClient& c, InfoList list) {
             common::UnpublishRequest request;
             request.keys = {"k"};
             request.infos = std::move(list);
             return c.ask<Command::unpublish>(request);
         }},
        {"PMIx_Spawn", "spawn", service,
         [](FakeClient& c, InfoList list) {
             pmix_app_t app{};
             char name[] = "program";
             app.cmd = name;
             app.maxprocs = 1;
             common::SpawnRequest request;
             request.apps = common::Apps::borrow(&app, 1);
             request.infos = std::move(list);
             return c.ask<Command::spawn>(request);
         }},
        {"PMIx_Spawn", "spawn", service,
         [](FakeClient& c, InfoList list) {
             pmix_app_t app{};
             char name[] = "program";
             app.cmd = name;
             app.maxprocs = 1;
             app.info = const_cast<pmix_info_t*>(list.c_array());
             app.ninfo = list.size();
             common::SpawnRequest request;
             request.apps = common::Apps::borrow(&app, 1);
             return c.ask<Command::spawn>(request);
         }},
        {"PMIx_Notify_event", "notify_event", payload,
         [](FakeClient& c, InfoList list) {
             common::NotifyEventRequest request;
             request.status = -4000;
             request.range = PMIX_RANGE_GLOBAL;
             request.infos = std::move(list);
             return c.ask<Command::notify_event>(request);
         }},
        {"PMIx_IOF_push", "push_stdin", service,
         [](FakeClient& c, InfoList list) {
             common::IofPushRequest request;
             request.procs = {{"job", 0}};
             request.infos = std::move(list);
             return c.ask<Command::iof_push>(request);
         }},
        {"PMIx_Job_control", "job_control", service,
         [](FakeClient& c, InfoList list) {
             return c.ask<Command::job_control>(with_directives<common::JobControlRequest>(std::move(list)));
         }},
        {"PMIx_Allocation_request", "allocate", service,
         [](FakeClient& c, InfoList list) {
             common::AllocateRequest request;
             request.infos = std::move(list);
             return c.ask<Command::allocate>(request);
         }},
        {"PMIx_Session_control", "session_control", service,
         [](FakeClient& c, InfoList list) {
             return c.ask<Command::session_control>(with_directives<common::SessionControlRequest>(std::move(list)));
         }},
        {"PMIx_Resource_block", "resource_block", service,
         [](FakeClient& c, InfoList list) {
             auto request = with_directives<common::ResourceBlockRequest>(std::move(list));
             request.block = "block";
             return c.ask<Command::resource_block>(request);
         }},
        {"PMIx_Process_monitor", "monitor", service,
         [](FakeClient& c, InfoList list) {
             auto request = with_directives<common::MonitorRequest>(std::move(list));
             request.infos = text("measure");
             return c.ask<Command::monitor>(request);
         }},
        {"PMIx_Log", "log2", service,
         [](FakeClient& c, InfoList list) {
             auto request = with_directives<common::LogRequest>(std::move(list));
             request.infos = text("channel");
             return c.ask<Command::log>(request);
         }},
        {"PMIx_Get_credential", "get_credential", service,
         [](FakeClient& c, InfoList list) {
             return c.ask<Command::get_credential>(with_directives<common::GetCredentialRequest>(std::move(list)));
         }},
        {"PMIx_Validate_credential", "validate_credential", service,
         [](FakeClient& c, InfoList list) {
             auto request = with_directives<common::ValidateCredentialRequest>(std::move(list));
             request.credential = {'c'};
             return c.ask<Command::validate_credential>(request);
         }},
        {"PMIx_Query_info", "query", service,
         [](FakeClient& c, InfoList list) {
             char key[] = "site.query";
             char* keys[] = {key, nullptr};
             pmix_query_t query{};
             query.keys = keys;
             query.qualifiers = const_cast<pmix_info_t*>(list.c_array());
             query.nqual = list.size();
             common::QueryRequest request;
             request.queries = common::Queries::borrow(&query, 1);
             return c.ask<Command::query>(request);
         }},
    };
    return all;
}

// In a payload only reserved keys can be directives.
const char* special_of(const Row& row) {
    return row.kind == payload ? "pmix.test.special" : "site.special";
}

InfoList special(const Row& row, pmix_info_directives_t flags, const char* key = nullptr) {
    InfoList list;
    list.append(key != nullptr ? key : special_of(row), common::Value::flag(true), flags);
    return list;
}

// One process here, and another node's or none.
struct Setting {
    explicit Setting(unsigned nodes, bool with_host = true) {
        auto module = host.module();
        Services::add_to(module);
        Services::calls.clear();
        server::ServerOptions options;
        options.module_size = sizeof(pmix_server_module_t);
        server = std::make_unique<TestServer>(with_host ? &module : nullptr, std::move(options));
        server->job("job", nodes, 1);
        client = std::make_unique<FakeClient>(*server, ProcId("job", 0));
        EXPECT_STATUS(PMIX_SUCCESS, client->hello());
    }
    size_t calls(const Row& row) const {
        return host.count(row.entry) +
               static_cast<size_t>(std::count(Services::calls.begin(), Services::calls.end(), row.entry));
    }
    void support(const Row& row) { server->parts().host.attributes().add(row.function, {special_of(row)}); }

    FakeHost host;
    std::unique_ptr<TestServer> server;
    std::unique_ptr<FakeClient> client;
};

}  // namespace

// rows: G7
TEST(RequiredTest, UnknownToAll_Refused_OnOneNodeAndOnTwo) {
    for (const unsigned nodes : {1u, 2u}) {
        Setting s(nodes);
        for (const Row& row : rows()) {
            EXPECT_STATUS(PMIX_ERR_NOT_SUPPORTED, row.ask(*s.client, special(row, PMIX_INFO_REQD)))
                << row.function << " on " << nodes;
            EXPECT_STATUS(PMIX_SUCCESS, row.ask(*s.client, special(row, 0))) << row.function << " on " << nodes;
        }
    }
}

// What is a service of the host is not asked of it when it cannot be met; a collective's upcall is made for the other
// nodes, with the status. rows: G7 U5
TEST(RequiredTest, UnknownToAll_HostSeesOnlyTheFailureOfACollective) {
    for (const Row& row : rows()) {
        Setting s(2);
        if (row.kind == no_host) continue;
        ASSERT_STATUS(PMIX_ERR_NOT_SUPPORTED, row.ask(*s.client, special(row, PMIX_INFO_REQD))) << row.function;
        if (row.kind != collective) {
            EXPECT_EQ(0u, s.calls(row)) << row.function;
            continue;
        }
        const Seen* seen = s.host.last(row.entry);
        ASSERT_NE(nullptr, seen) << row.function;
        EXPECT_STATUS(PMIX_ERR_NOT_SUPPORTED, seen->infos.find(PMIX_LOCAL_COLLECTIVE_STATUS)->value.data.status)
            << row.function;
    }
}

// rows: G7
TEST(RequiredTest, RegisteredByTheHost_GoesToTheHost_OnOneNodeAndOnTwo) {
    for (const unsigned nodes : {1u, 2u}) {
        for (const Row& row : rows()) {
            Setting s(nodes);
            s.support(row);
            const pmix_status_t wanted = row.kind == no_host ? PMIX_ERR_NOT_SUPPORTED : PMIX_SUCCESS;
            EXPECT_EQ(wanted, row.ask(*s.client, special(row, PMIX_INFO_REQD))) << row.function << " on " << nodes;
            if (row.kind != no_host) {
                EXPECT_LT(0u, s.calls(row)) << row.function << " on " << nodes;
            }
        }
    }
}

// rows: G7
TEST(RequiredTest, NamedByTheHeaders_ServiceDecidedByTheHost_CollectiveRefused) {
    for (const unsigned nodes : {1u, 2u}) {
        for (const Row& row : rows()) {
            Setting s(nodes);
            const bool taken = row.kind == service || row.kind == payload;
            EXPECT_STATUS(taken ? PMIX_SUCCESS : PMIX_ERR_NOT_SUPPORTED,
                          row.ask(*s.client, special(row, PMIX_INFO_REQD, PMIX_JOB_CONTINUOUS)))
                << row.function << " on " << nodes;
        }
    }
}

// rows: G7
TEST(RequiredTest, WithoutAHost_NothingUnknownIsAccepted) {
    Setting s(1, false);
    for (const Row& row : rows()) {
        if (row.kind == payload) continue;  // nobody to publish to, or an event of this node
        s.support(row);
        EXPECT_STATUS(PMIX_ERR_NOT_SUPPORTED, row.ask(*s.client, special(row, PMIX_INFO_REQD))) << row.function;
    }
}

// rows: G7 U5
TEST(RequiredTest, Fence_WhatTheLibraryDoes_IsMarkedProcessedForTheHost) {
    Setting s(2);
    InfoList list;
    list.append(PMIX_ALL_CLONES_PARTICIPATE, common::Value::flag(true), PMIX_INFO_REQD);
    list.append(PMIX_COLLECT_DATA, common::Value::flag(true), PMIX_INFO_REQD);
    ASSERT_STATUS(PMIX_SUCCESS, rows()[0].ask(*s.client, std::move(list)));
    const Seen* seen = s.host.last("fence");
    ASSERT_NE(nullptr, seen);
    EXPECT_EQ(pmix_info_directives_t{PMIX_INFO_REQD | PMIX_INFO_REQD_PROCESSED},
              seen->infos.find(PMIX_ALL_CLONES_PARTICIPATE)->flags & ~pmix_info_directives_t{PMIX_INFO_ARRAY_END});
    EXPECT_EQ(pmix_info_directives_t{PMIX_INFO_REQD},
              seen->infos.find(PMIX_COLLECT_DATA)->flags & ~pmix_info_directives_t{PMIX_INFO_ARRAY_END})
        << "half of it is the host's";
}

TEST(RequiredTest, Entry_MarkedAsProcessed_IsMet) {
    Setting s(1, false);
    const auto& host = s.server->parts().host;
    InfoList open, processed;
    open.append("site.needs", common::Value::flag(true), PMIX_INFO_REQD);
    processed.append("site.needs", common::Value::flag(true), PMIX_INFO_REQD | PMIX_INFO_REQD_PROCESSED);
    using enum common::Function;
    EXPECT_EQ(server::Required::unmet, server::required_in_collective(host, common::InfoView(open), PMIx_Fence));
    EXPECT_EQ(server::Required::met_here,
              server::required_in_collective(host, common::InfoView(processed), PMIx_Fence));
    EXPECT_STATUS(PMIX_SUCCESS, server::check_service(host, common::InfoView(processed), PMIx_Job_control));
}

TEST(RequiredTest, RegisteredAttribute_HostWithoutTheFunction_IsUnmet) {
    Setting s(1, false);
    auto& host = s.server->parts().host;
    host.attributes().add("PMIx_Job_control", {"site.needs"});
    InfoList infos;
    infos.append("site.needs", common::Value::flag(true), PMIX_INFO_REQD);
    EXPECT_STATUS(PMIX_ERR_NOT_SUPPORTED,
                  server::check_service(host, common::InfoView(infos), common::Function::PMIx_Job_control));
}

// An attribute that the headers name is the host's to decide on, where there is a host function that could. rows: G7
TEST(RequiredTest, NamedAttribute_HostWithoutTheFunction_IsUnmet) {
    Setting s(1, false);
    InfoList infos;
    infos.append(PMIX_JOB_CONTINUOUS, common::Value::flag(true), PMIX_INFO_REQD);
    for (const auto function : {common::Function::PMIx_Job_control, common::Function::PMIx_Validate_credential})
        EXPECT_STATUS(PMIX_ERR_NOT_SUPPORTED,
                      server::check_service(s.server->parts().host, common::InfoView(infos), function));
    auto request = with_directives<common::ValidateCredentialRequest>(std::move(infos));
    request.credential = {'c'};
    EXPECT_STATUS(PMIX_ERR_NOT_SUPPORTED, s.client->ask<Command::validate_credential>(request));
}

// rows: G7
TEST(RequiredTest, Fence_SecondCallersHostAttribute_ReachesTheHost) {
    FakeHost host;
    auto module = host.module();
    TestServer server(&module);
    server.job("job", 2, 2);
    server.parts().host.attributes().add("PMIx_Fence", {"site.special"});
    FakeClient a(server, {"job", 0}), b(server, {"job", 1});
    ASSERT_STATUS(PMIX_SUCCESS, a.hello());
    ASSERT_STATUS(PMIX_SUCCESS, b.hello());
    const uint32_t first = a.start_fence({{"job", PMIX_RANK_WILDCARD}});
    server.settle();
    EXPECT_STATUS(PMIX_SUCCESS, rows()[0].ask(b, special(rows()[0], PMIX_INFO_REQD)));
    EXPECT_STATUS(PMIX_SUCCESS, a.wait(first)->header.status);
    EXPECT_NE(nullptr, host.last("fence")->infos.find("site.special"));
}

// What any member requires counts for the round, also where all members are on this node. rows: G7
TEST(RequiredTest, Fence_SecondCallerRequires_CountsForAll) {
    FakeHost host;
    auto module = host.module();
    TestServer server(&module);
    server.job("job", 1, 2);
    server.parts().host.attributes().add("PMIx_Fence", {"site.special"});
    FakeClient a(server, {"job", 0}), b(server, {"job", 1});
    ASSERT_STATUS(PMIX_SUCCESS, a.hello());
    ASSERT_STATUS(PMIX_SUCCESS, b.hello());
    const auto fence = [&](const char* required) {
        const uint32_t first = a.start_fence({{"job", PMIX_RANK_WILDCARD}});
        server.settle();
        const pmix_status_t second = rows()[0].ask(b, special(rows()[0], PMIX_INFO_REQD, required));
        const auto reply = a.wait(first);
        EXPECT_EQ(second, reply ? reply->header.status : PMIX_ERR_LOST_CONNECTION);
        return second;
    };
    EXPECT_STATUS(PMIX_SUCCESS, fence("site.special"));
    EXPECT_EQ(1u, host.count("fence")) << "it is for the host to meet";
    EXPECT_STATUS(PMIX_ERR_NOT_SUPPORTED, fence("site.unknown"));
}

}  // namespace pmix::test::required_test

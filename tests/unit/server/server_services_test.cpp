// SPDX-License-Identifier: BSD-3-Clause
// Requests that go to the host with the requester's ids, the replies, and what the server does when the host refuses:
// log, credentials, control, allocations, sessions, resource blocks.
#include <gtest/gtest.h>
#include <pmix_server.h>
#include <sys/stat.h>

#include <fstream>
#include <functional>
#include <mutex>
#include <sstream>

#include "support/fake_client.h"
#include "support/status.h"

namespace pmix::test::server_services_test {
namespace {

using common::CredentialReply;
using common::InfoList;
using common::InfoView;
using common::ResultsReply;

// The host's service entries: each notes what it was given and answers as told.
struct Services {
    static inline Services* current = nullptr;
    Services() { current = this; }
    ~Services() { current = nullptr; }

    pmix_status_t returns = PMIX_SUCCESS;  // of the entry; PMIX_SUCCESS: the callback comes
    pmix_status_t status = PMIX_SUCCESS;   // of the callback
    InfoList results;
    std::string credential;
    int calls = 0;
    ProcId who;
    InfoList infos, data;
    uint32_t number = 0;
    std::string text;
    size_t units = 0;

    void note(const pmix_proc_t* proc, const pmix_info_t* given, size_t n) {
        ++calls;
        who = ProcId(*proc);
        infos.reset();
        infos.append_all(given, n);
    }
    pmix_status_t answer(pmix_info_cbfunc_t callback, void* cbdata) {
        if (returns == PMIX_SUCCESS) callback(status, results.c_array(), results.size(), cbdata, nullptr, nullptr);
        return returns;
    }
    static pmix_status_t job_control(const pmix_proc_t* p, const pmix_proc_t[], size_t n, const pmix_info_t d[],
                                     size_t nd, pmix_info_cbfunc_t cb, void* cbdata) {
        current->note(p, d, nd);
        current->number = static_cast<uint32_t>(n);
        return current->answer(cb, cbdata);
    }
    static pmix_status_t allocate(const pmix_proc_t* p, pmix_alloc_directive_t directive, const pmix_info_t d[],
                                  size_t nd, pmix_info_cbfunc_t cb, void* cbdata) {
        current->note(p, d, nd);
        current->number = directive;
        return current->answer(cb, cbdata);
    }
    static pmix_status_t monitor(const pmix_proc_t* p, const pmix_info_t* what, pmix_status_t error,
                                 const pmix_info_t d[], size_t nd, pmix_info_cbfunc_t cb, void* cbdata) {
        current->note(p, d, nd);
        current->text = what->key;
        current->number = static_cast<uint32_t>(error);
        return current->answer(cb, cbdata);
    }
    static pmix_status_t session_control(const pmix_proc_t* p, uint32_t id, const pmix_info_t d[], size_t nd,
                                         pmix_info_cbfunc_t cb, void* cbdata) {
        current->note(p, d, nd);
        current->number = id;
        return current->answer(cb, cbdata);
    }
    static pmix_status_t resource_block(const pmix_proc_t* p, pmix_resource_block_directive_t directive,
                                        const char* block, const pmix_resource_unit_t* u, size_t nu,
                                        const pmix_info_t* d, size_t nd, pmix_op_cbfunc_t cb, void* cbdata) {
        current->note(p, d, nd);
        current->number = directive;
        current->text = block;
        current->units = 0;
        for (size_t i = 0; i < nu; ++i) current->units += u[i].count;
        if (current->returns == PMIX_SUCCESS) cb(current->status, cbdata);
        return current->returns;
    }
    static pmix_status_t log2(const pmix_proc_t* p, const pmix_info_t data[], size_t n, const pmix_info_t d[],
                              size_t nd, pmix_op_cbfunc_t cb, void* cbdata) {
        current->note(p, d, nd);
        current->data.reset();
        current->data.append_all(data, n);
        if (current->returns == PMIX_SUCCESS) cb(current->status, cbdata);
        return current->returns;
    }
    static pmix_status_t get_credential(const pmix_proc_t* p, const pmix_info_t d[], size_t nd,
                                        pmix_credential_cbfunc_t cb, void* cbdata) {
        current->note(p, d, nd);
        pmix_byte_object_t object{current->credential.data(), current->credential.size()};
        if (current->returns == PMIX_SUCCESS)
            cb(current->status, &object, current->results.c_array(), current->results.size(), cbdata);
        return current->returns;
    }
    static pmix_status_t validate_credential(const pmix_proc_t* p, const pmix_byte_object_t* credential,
                                             const pmix_info_t d[], size_t nd, pmix_validation_cbfunc_t cb,
                                             void* cbdata) {
        current->note(p, d, nd);
        current->text.assign(credential->bytes, credential->size);
        if (current->returns == PMIX_SUCCESS)
            cb(current->status, current->results.c_array(), current->results.size(), cbdata);
        return current->returns;
    }
    static pmix_server_module_t module() {
        pmix_server_module_t m{};
        m.job_control = &job_control;
        m.allocate = &allocate;
        m.monitor = &monitor;
        m.session_control = &session_control;
        m.resource_block = &resource_block;
        m.log2 = &log2;
        m.get_credential = &get_credential;
        m.validate_credential = &validate_credential;
        return m;
    }
};

server::ServerOptions sized() {
    server::ServerOptions options;
    options.module_size = sizeof(pmix_server_module_t);
    return options;
}

// What the library itself wrote.
struct Sinks {
    static inline std::mutex mutex;
    static inline std::string streams, system;
    static inline bool broken = false;
    static pmix_status_t stream(int fd, std::string_view text, transport::Deadline) {
        std::lock_guard lock(mutex);
        if (broken && fd == 1) return PMIX_ERR_TIMEOUT;
        streams += std::to_string(fd > 2 ? 9 : fd) + ":" + std::string(text);
        return PMIX_SUCCESS;
    }
    static pmix_status_t syslog(int priority, const char* text, transport::Deadline) {
        std::lock_guard lock(mutex);
        system += std::to_string(priority) + ":" + text + "\n";
        return PMIX_SUCCESS;
    }
    static void reset() {
        streams.clear();
        system.clear();
        broken = false;
    }
};

class ServerServicesTest : public ::testing::Test {
  protected:
    void start(const pmix_server_module_t* m, server::ServerOptions options = sized()) {
        server = std::make_unique<TestServer>(m, std::move(options));
        server->job("job", 1, 3);
        a = std::make_unique<FakeClient>(*server, ProcId("job", 1));
        b = std::make_unique<FakeClient>(*server, ProcId("job", 2));
        ASSERT_STATUS(PMIX_SUCCESS, a->hello());
        ASSERT_STATUS(PMIX_SUCCESS, b->hello());
        Sinks::reset();
        server->parts().log.set_sinks({&Sinks::stream, &Sinks::syslog});
    }
    template <Command C>
    pmix_status_t ask(FakeClient& client, const typename common::CommandTypes<C>::Request& request,
                      typename common::CommandTypes<C>::Reply* reply = nullptr) {
        auto frame = client.wait(client.start<C>(request));
        if (!frame) return PMIX_ERR_LOST_CONNECTION;
        typename common::CommandTypes<C>::Reply ignored;
        if (!frame->payload.empty()) common::decode_message(frame->payload, reply == nullptr ? ignored : *reply);
        return frame->header.status;
    }
    void expect_ids() {
        EXPECT_EQ(ProcId("job", 1), host.who);
        EXPECT_EQ(::geteuid(), number_of(host.infos, PMIX_USERID));
        EXPECT_EQ(::getegid(), number_of(host.infos, PMIX_GRPID));
        EXPECT_TRUE(InfoView(host.infos).has("mine"));
    }
    static InfoList mine() {
        InfoList list;
        list.append_flag("mine", true);
        return list;
    }
    static common::LogRequest log(std::initializer_list<std::pair<const char*, const char*>> entries,
                                  InfoList directives = {}) {
        common::LogRequest request;
        InfoList data;
        for (const auto& [key, text] : entries) data.append_string(key, text);
        request.infos = std::move(data);
        request.directives = std::move(directives);
        return request;
    }

    Services host;
    std::unique_ptr<TestServer> server;
    std::unique_ptr<FakeClient> a, b;
};

// rows: J1 J2 J4 U14 G3
TEST_F(ServerServicesTest, RequestsGoUpWithTheIdsAndResultsComeBackAlsoWithARefusal) {
    const auto m = Services::module();
    start(&m);
    host.results.append_string("reason", "because");
    for (const pmix_status_t status : {PMIX_SUCCESS, PMIX_ERR_NO_PERMISSIONS}) {
        host.status = status;
        ResultsReply reply;
        common::JobControlRequest control;
        control.procs = {{"job", 0}};
        control.directives = mine();
        EXPECT_EQ(status, ask<Command::job_control>(*a, control, &reply));
        ASSERT_EQ(1u, reply.infos.size());
        EXPECT_STREQ("reason", reply.infos[0].key);
        expect_ids();
        common::AllocateRequest allocation;
        allocation.directive = PMIX_ALLOC_EXTEND;
        allocation.infos = mine();
        EXPECT_EQ(status, ask<Command::allocate>(*a, allocation, &reply));
        EXPECT_EQ(PMIX_ALLOC_EXTEND, host.number);
        expect_ids();
        common::MonitorRequest monitor;
        InfoList what;
        what.append_flag(PMIX_MONITOR_NODE_RESOURCE_USAGE, true);
        monitor.code = PMIX_MONITOR_RESUSAGE_UPDATE;
        monitor.infos = std::move(what);
        InfoList elsewhere = mine();
        pmix_data_array_t everywhere{PMIX_STRING, 0, nullptr};
        elsewhere.append(PMIX_MONITOR_TARGET_NODES, &everywhere, PMIX_DATA_ARRAY);
        monitor.directives = std::move(elsewhere);
        EXPECT_EQ(status, ask<Command::monitor>(*a, monitor, &reply));
        EXPECT_EQ(PMIX_MONITOR_NODE_RESOURCE_USAGE, host.text);
        EXPECT_STATUS(PMIX_MONITOR_RESUSAGE_UPDATE, static_cast<pmix_status_t>(host.number));
        expect_ids();
        common::SessionControlRequest session;
        session.session_id = 4711;
        session.directives = mine();
        EXPECT_EQ(status, ask<Command::session_control>(*a, session, &reply));
        EXPECT_EQ(4711u, host.number);
        expect_ids();
        common::ResourceBlockRequest block;
        pmix_resource_unit_t two[] = {{PMIX_DEVTYPE_GPU, 2}, {PMIX_DEVTYPE_NETWORK, 5}};
        pmix_data_array_t array{PMIX_RESOURCE_UNIT, 2, two};
        InfoList list;
        ASSERT_STATUS(PMIX_SUCCESS, list.append(PMIX_RESOURCE_BLOCK_NAME, &array, PMIX_DATA_ARRAY));
        block.directive = PMIX_RESOURCE_BLOCK_DEFINE;
        block.block = "block";
        block.units = std::move(list);
        block.directives = mine();
        EXPECT_EQ(status, ask<Command::resource_block>(*a, block));
        EXPECT_EQ("block", host.text);
        EXPECT_EQ(7u, host.units);
        expect_ids();
    }
    EXPECT_EQ(10, host.calls);
    host.returns = PMIX_OPERATION_SUCCEEDED;
    common::JobControlRequest control;
    control.directives = mine();
    EXPECT_STATUS(PMIX_SUCCESS, ask<Command::job_control>(*a, control)) << "done at once";
    EXPECT_EQ(0u, host.number) << "no targets: all of the caller's job";
}

// A number for programs of 4.2, a text for later ones: the host gets what was said.
TEST_F(ServerServicesTest, TheTimeOfAnAllocationMayBeEither) {
    const auto m = Services::module();
    start(&m);
    const uint32_t seconds = 90;
    for (const bool number : {true, false}) {
        common::AllocateRequest allocation;
        InfoList list;
        ASSERT_STATUS(PMIX_SUCCESS, number ? list.append(PMIX_ALLOC_TIME, &seconds, PMIX_UINT32)
                                           : list.append_string(PMIX_ALLOC_TIME, "0:1:30"));
        allocation.directive = PMIX_ALLOC_NEW;
        allocation.infos = std::move(list);
        EXPECT_STATUS(PMIX_SUCCESS, ask<Command::allocate>(*a, allocation));
        const pmix_info_t* time = host.infos.find(PMIX_ALLOC_TIME);
        ASSERT_NE(nullptr, time);
        if (number) {
            EXPECT_TRUE(time->value.type == PMIX_UINT32 && time->value.data.uint32 == 90);
        } else {
            ASSERT_EQ(PMIX_STRING, time->value.type);
            EXPECT_STREQ("0:1:30", time->value.data.string);
        }
    }
}

// rows: J1 J2 J4 X1 X2 G9
TEST_F(ServerServicesTest, WithoutEntriesNothingIsPretended) {
    start(nullptr, {});
    common::JobControlRequest control;
    common::ResourceBlockRequest block;
    common::GetCredentialRequest request;
    common::ValidateCredentialRequest proof;
    control.directives = mine();
    EXPECT_STATUS(PMIX_ERR_NOT_SUPPORTED, ask<Command::job_control>(*a, control));
    EXPECT_STATUS(PMIX_ERR_NOT_SUPPORTED, ask<Command::allocate>(*a, {}));
    EXPECT_STATUS(PMIX_ERR_NOT_SUPPORTED, ask<Command::session_control>(*a, {}));
    block.block = "block";
    EXPECT_STATUS(PMIX_ERR_NOT_SUPPORTED, ask<Command::resource_block>(*a, block));
    InfoList type;
    type.append_string(PMIX_CRED_TYPE, "kerberos");
    request.directives = std::move(type);
    EXPECT_STATUS(PMIX_ERR_NOT_SUPPORTED, ask<Command::get_credential>(*a, request));
    proof.credential = {1, 2, 3};
    EXPECT_STATUS(PMIX_ERR_INVALID_CRED, ask<Command::validate_credential>(*a, proof));
}

// rows: J2 J3
// proves: PMIx_Job_control PMIX_JOB_CTRL_ID PMIX_JOB_CTRL_CANCEL server
TEST_F(ServerServicesTest, CleanupStaysHereAndTheRestGoesUp) {
    const auto m = Services::module();
    start(&m);
    const auto control = [&](auto&& fill) {
        common::JobControlRequest request;
        InfoList list;
        fill(list);
        request.procs = {{"job", 1}};
        request.directives = std::move(list);
        return ask<Command::job_control>(*a, request);
    };
    EXPECT_STATUS(PMIX_SUCCESS, control([](InfoList& l) {
                      l.append_string(PMIX_REGISTER_CLEANUP, "/tmp/not-there-1,/tmp/not-there-2");
                      l.append_string(PMIX_JOB_CTRL_ID, "mine");
                  }));
    EXPECT_EQ(0, host.calls);
    EXPECT_EQ(2u, server->parts().cleanup.size());
    EXPECT_STATUS(PMIX_SUCCESS, control([](InfoList& l) {
                      l.append_string(PMIX_REGISTER_CLEANUP_DIR, "/tmp/not-there-3");
                      l.append_flag(PMIX_JOB_CTRL_PREEMPTIBLE, true);
                  }));
    EXPECT_EQ(1, host.calls);
    EXPECT_FALSE(InfoView(host.infos).has(PMIX_REGISTER_CLEANUP_DIR));
    EXPECT_TRUE(InfoView(host.infos).has(PMIX_JOB_CTRL_PREEMPTIBLE));
    EXPECT_STATUS(PMIX_ERR_BAD_PARAM, control([](InfoList& l) { l.append_flag(PMIX_CLEANUP_RECURSIVE, true); }));
    EXPECT_STATUS(PMIX_SUCCESS, control([](InfoList& l) { l.append_string(PMIX_JOB_CTRL_CANCEL, "mine"); }));
    EXPECT_EQ(1u, server->parts().cleanup.size());
    EXPECT_EQ(1, host.calls) << "it was one of ours";
    EXPECT_STATUS(PMIX_SUCCESS, control([](InfoList& l) { l.append_string(PMIX_JOB_CTRL_CANCEL, "the host's"); }));
    EXPECT_EQ(2, host.calls);
    EXPECT_STATUS(PMIX_SUCCESS, control([](InfoList& l) { l.append(PMIX_JOB_CTRL_CANCEL, nullptr, PMIX_STRING); }));
    EXPECT_EQ(0u, server->parts().cleanup.size());
    EXPECT_EQ(3, host.calls) << "all of mine: the host may have others";
    // One that knows of no others has nothing against what was cancelled here.
    for (const pmix_status_t word : {PMIX_ERR_NOT_SUPPORTED, PMIX_ERR_NOT_FOUND, PMIX_ERR_NO_PERMISSIONS}) {
        EXPECT_STATUS(PMIX_SUCCESS,
                      control([](InfoList& l) { l.append_string(PMIX_REGISTER_CLEANUP, "/tmp/not-there-4"); }));
        host.returns = word;
        EXPECT_EQ(word == PMIX_ERR_NO_PERMISSIONS ? word : PMIX_SUCCESS,
                  control([](InfoList& l) { l.append(PMIX_JOB_CTRL_CANCEL, nullptr, PMIX_STRING); }));
        EXPECT_EQ(word, control([](InfoList& l) { l.append(PMIX_JOB_CTRL_CANCEL, nullptr, PMIX_STRING); }))
            << "none here";
    }
}

// rows: J7 U15
// proves: PMIx_Log PMIX_LOG_STDERR PMIX_LOG_STDOUT PMIX_LOG_GENERATE_TIMESTAMP server
TEST_F(ServerServicesTest, WhatTheHostDoesNotTakeTheLibraryLogs) {
    const auto m = Services::module();
    start(&m);
    InfoList timed = mine();
    timed.append_flag(PMIX_LOG_GENERATE_TIMESTAMP, true);
    EXPECT_STATUS(PMIX_SUCCESS, ask<Command::log>(*a, log({{PMIX_LOG_STDERR, "taken"}}, std::move(timed))));
    expect_ids();
    EXPECT_TRUE(InfoView(host.infos).has(PMIX_LOG_TIMESTAMP)) << "the time of the request";
    EXPECT_EQ("", Sinks::streams);
    for (const bool by_callback : {false, true}) {
        (by_callback ? host.status : host.returns) = PMIX_ERR_NOT_SUPPORTED;
        if (by_callback) host.returns = PMIX_SUCCESS;
        Sinks::reset();
        EXPECT_STATUS(PMIX_SUCCESS,
                      ask<Command::log>(*a, log({{PMIX_LOG_STDERR, "not taken"}, {PMIX_LOG_STDOUT, "ends\n"}})));
        EXPECT_EQ("2:not taken\n1:ends\n", Sinks::streams);
    }
    host.status = PMIX_ERR_NO_PERMISSIONS;
    Sinks::reset();
    EXPECT_STATUS(PMIX_ERR_NO_PERMISSIONS, ask<Command::log>(*a, log({{PMIX_LOG_STDERR, "refused"}})));
    EXPECT_EQ("", Sinks::streams);
}

// rows: J7 J8
// proves: PMIx_Log PMIX_LOG_TAG_OUTPUT PMIX_LOG_XML_OUTPUT PMIX_LOG_TIMESTAMP_OUTPUT PMIX_LOG_SYSLOG PMIX_LOG_LOCAL_SYSLOG PMIX_LOG_SYSLOG_PRI PMIX_LOG_ONCE server
TEST_F(ServerServicesTest, ChannelsFormatsAndOnce) {
    start(nullptr, {});
    const auto flag = [](const char* key) {
        InfoList list;
        list.append_flag(key, true);
        return list;
    };
    EXPECT_STATUS(PMIX_SUCCESS, ask<Command::log>(*a, log({{PMIX_LOG_STDOUT, "x"}}, flag(PMIX_LOG_TAG_OUTPUT))));
    EXPECT_EQ("1:[job,1]<stdout>: x\n", Sinks::streams);
    Sinks::reset();
    EXPECT_STATUS(PMIX_SUCCESS, ask<Command::log>(*a, log({{PMIX_LOG_STDERR, "<x>"}}, flag(PMIX_LOG_XML_OUTPUT))));
    EXPECT_EQ("2:<stderr nspace=\"job\" rank=\"1\">&lt;x&gt;</stderr>\n", Sinks::streams);
    Sinks::reset();
    EXPECT_STATUS(PMIX_SUCCESS, ask<Command::log>(*a, log({{PMIX_LOG_STDOUT, "x"}}, flag(PMIX_LOG_TIMESTAMP_OUTPUT))));
    EXPECT_EQ(0u, Sinks::streams.find("1:20")) << Sinks::streams;
    EXPECT_NE(std::string::npos, Sinks::streams.find(": x\n"));

    // syslog: one line each, with its source; no system's syslog but at the gateway
    Sinks::reset();
    EXPECT_STATUS(PMIX_SUCCESS, ask<Command::log>(*a, log({{PMIX_LOG_SYSLOG, "one\nOct 1 root: forged\n"}})));
    InfoList debug;
    debug.append_number(PMIX_LOG_SYSLOG_PRI, 7, PMIX_INT);
    EXPECT_STATUS(PMIX_SUCCESS, ask<Command::log>(*a, log({{PMIX_LOG_LOCAL_SYSLOG, "two"}}, std::move(debug))));
    EXPECT_EQ("3:[job,1] one Oct 1 root: forged\n7:[job,1] two\n", Sinks::system);
    EXPECT_STATUS(PMIX_ERR_NOT_SUPPORTED, ask<Command::log>(*a, log({{PMIX_LOG_GLOBAL_SYSLOG, "three"}})));
    InfoList bad;
    bad.append_number(PMIX_LOG_SYSLOG_PRI, 99, PMIX_INT);
    EXPECT_STATUS(PMIX_ERR_BAD_PARAM, ask<Command::log>(*a, log({{PMIX_LOG_SYSLOG, "four"}}, std::move(bad))));

    // once: the first that works
    Sinks::reset();
    EXPECT_STATUS(
        PMIX_SUCCESS,
        ask<Command::log>(*a, log({{PMIX_LOG_GLOBAL_SYSLOG, "x"}, {PMIX_LOG_STDERR, "y"}, {PMIX_LOG_STDOUT, "z"}},
                                  flag(PMIX_LOG_ONCE))));
    EXPECT_EQ("2:y\n", Sinks::streams);
    // some of it, and none of it
    EXPECT_STATUS(PMIX_ERR_PARTIAL_SUCCESS, ask<Command::log>(*a, log({{PMIX_LOG_STDERR, "y"}, {"other", "z"}})));
    Sinks::broken = true;
    EXPECT_STATUS(PMIX_ERR_TIMEOUT, ask<Command::log>(*a, log({{PMIX_LOG_STDOUT, "y"}})));
    InfoList required;
    required.append("strange", common::Value::flag(true), PMIX_INFO_REQD);
    EXPECT_STATUS(PMIX_ERR_NOT_SUPPORTED, ask<Command::log>(*a, log({{PMIX_LOG_STDERR, "y"}}, std::move(required))));
}

// rows: J7 J8
// proves: PMIx_Log PMIX_LOG_GLOBAL_SYSLOG PMIX_LOG_TIMESTAMP PMIX_LOG_SOURCE server
TEST_F(ServerServicesTest, TheGatewayLogsForTheSystemAndItsOwnProcessForOthers) {
    server::ServerOptions gateway;
    gateway.gateway = true;
    start(nullptr, gateway);
    EXPECT_STATUS(PMIX_SUCCESS, ask<Command::log>(*a, log({{PMIX_LOG_GLOBAL_SYSLOG, "for all"}})));
    EXPECT_EQ("3:[job,1] for all\n", Sinks::system);
    // The time of the event, not of the request.
    InfoList at;
    const time_t then = 86400 * 365 * 10;
    at.append(PMIX_LOG_TIMESTAMP, &then, PMIX_TIME);
    EXPECT_STATUS(PMIX_SUCCESS, ask<Command::log>(*a, log({{PMIX_LOG_STDOUT, "x"}}, std::move(at))));
    EXPECT_EQ(0u, Sinks::streams.find("1:1979-12-")) << Sinks::streams;
    // In the name of another: the server's own process, and nobody else.
    const pmix_proc_t other = ProcId("elsewhere", 9).to_c();
    const auto for_other = [&] {
        InfoList list;
        list.append(PMIX_LOG_SOURCE, &other, PMIX_PROC);
        list.append_flag(PMIX_LOG_TAG_OUTPUT, true);
        return log({{PMIX_LOG_STDOUT, "x"}}, std::move(list));
    };
    Sinks::reset();
    EXPECT_STATUS(PMIX_SUCCESS, ask<Command::log>(*a, for_other()));
    EXPECT_EQ("1:[job,1]<stdout>: x\n", Sinks::streams);
    Sinks::reset();
    const common::LogRequest request = for_other();
    auto bytes = common::message_bytes(request);
    server->on_loop([&] {
        server->server->on_frame(server->server->self_peer(),
                                 common::FrameHeader::notify(static_cast<uint16_t>(Command::log)), *bytes);
        return 0;
    });
    EXPECT_TRUE(server->turn_until([] {
        std::lock_guard lock(Sinks::mutex);
        return !Sinks::streams.empty();
    }));
    EXPECT_EQ("1:[elsewhere,9]<stdout>: x\n", Sinks::streams);
}

// rows: J7
// proves: PMIx_Log PMIX_LOG_MSG PMIX_LOG_FILE server
TEST_F(ServerServicesTest, FilesAreNotWrittenThroughTraps) {
    start(nullptr, {});
    char top[] = "/tmp/services_test.XXXXXX";
    ASSERT_NE(nullptr, ::mkdtemp(top));
    const std::string target = std::string(top) + "/target", link = std::string(top) + "/link",
                      pipe = std::string(top) + "/pipe";
    std::ofstream(target) << "";
    ASSERT_EQ(0, ::symlink(target.c_str(), link.c_str()));
    ASSERT_EQ(0, ::mkfifo(pipe.c_str(), 0600));
    const auto to = [&](const std::string& path) {
        InfoList list;
        list.append_string(PMIX_LOG_FILE, path);
        return ask<Command::log>(*a, log({{PMIX_LOG_MSG, "line"}}, std::move(list)));
    };
    EXPECT_STATUS(PMIX_SUCCESS, to(target));
    EXPECT_EQ("9:line\n", Sinks::streams);
    EXPECT_NE(PMIX_SUCCESS, to(link));
    EXPECT_NE(PMIX_SUCCESS, to(pipe)) << "nobody reads it, and it is no file";
    EXPECT_NE(PMIX_SUCCESS, to(std::string(top) + "/no/such/folder"));
    EXPECT_STATUS(PMIX_ERR_BAD_PARAM, to("relative"));
    for (const std::string& p : {target, link, pipe}) ::unlink(p.c_str());
    ::rmdir(top);
}

// rows: J7 J8
TEST_F(ServerServicesTest, AFileBesideOtherChannelsIsWritten) {
    const auto m = Services::module();
    start(&m);
    char path[] = "/tmp/services_test.XXXXXX";
    ASSERT_EQ(0, ::close(::mkstemp(path)));
    const auto send = [&](bool once, std::initializer_list<std::pair<const char*, const char*>> entries) {
        InfoList list = mine();
        list.append_string(PMIX_LOG_FILE, path);
        list.append_flag(PMIX_LOG_ONCE, once);
        Sinks::reset();
        host.data.reset();
        return ask<Command::log>(*a, log(entries, std::move(list)));
    };
    EXPECT_STATUS(PMIX_SUCCESS, send(false, {{PMIX_LOG_MSG, "f"}, {PMIX_LOG_STDERR, "e"}, {PMIX_LOG_STDOUT, "o"}}));
    EXPECT_EQ("9:f\n", Sinks::streams);
    EXPECT_EQ(2u, host.data.size()) << "neighbours in one call";
    expect_ids();
    EXPECT_STATUS(PMIX_SUCCESS, send(true, {{PMIX_LOG_MSG, "f"}, {PMIX_LOG_STDERR, "e"}}));
    EXPECT_EQ("9:f\n", Sinks::streams);
    EXPECT_EQ(0u, host.data.size());
    EXPECT_STATUS(PMIX_SUCCESS, send(true, {{PMIX_LOG_STDERR, "e"}, {PMIX_LOG_MSG, "f"}}));
    EXPECT_EQ("", Sinks::streams);
    host.status = PMIX_ERR_NO_PERMISSIONS;
    EXPECT_STATUS(PMIX_ERR_PARTIAL_SUCCESS, send(false, {{PMIX_LOG_STDERR, "e"}, {PMIX_LOG_MSG, "f"}}));
    EXPECT_EQ("9:f\n", Sinks::streams);
    host.status = PMIX_ERR_NOT_SUPPORTED;
    EXPECT_STATUS(PMIX_SUCCESS, send(false, {{PMIX_LOG_MSG, "f"}, {PMIX_LOG_STDERR, "e"}}));
    EXPECT_EQ("9:f\n2:e\n", Sinks::streams);
    ::unlink(path);
}

// rows: X1 X2
TEST_F(ServerServicesTest, NativeCredentialsAreGoodAsLongAsTheirOwnerIsThere) {
    start(nullptr, {});
    CredentialReply given;
    ResultsReply found;
    ASSERT_STATUS(PMIX_SUCCESS, ask<Command::get_credential>(*a, {}, &given));
    common::ValidateCredentialRequest proof;
    proof.credential = given.credential;
    ASSERT_STATUS(PMIX_SUCCESS, ask<Command::validate_credential>(*b, proof, &found));
    const InfoView infos(found.infos.data(), found.infos.size());
    uint32_t uid = 0;
    const pmix_proc_t* owner = nullptr;
    ASSERT_STATUS(PMIX_SUCCESS, infos.get(PMIX_USERID, &uid));
    ASSERT_STATUS(PMIX_SUCCESS, infos.get(PMIX_PROCID, &owner));
    EXPECT_EQ(::geteuid(), uid);
    ASSERT_NE(nullptr, owner);
    EXPECT_EQ(ProcId("job", 1), ProcId(*owner));
    for (size_t i = 0; i < given.credential.size(); ++i) {
        common::ValidateCredentialRequest spoiled;
        spoiled.credential = given.credential;
        spoiled.credential[i] = static_cast<uint8_t>(spoiled.credential[i] ^ 0x40);
        EXPECT_STATUS(PMIX_ERR_INVALID_CRED, ask<Command::validate_credential>(*b, spoiled)) << i;
    }
    common::ValidateCredentialRequest cut;
    cut.credential.assign(given.credential.begin(), given.credential.end() - 1);
    EXPECT_STATUS(PMIX_ERR_INVALID_CRED, ask<Command::validate_credential>(*b, cut));
    EXPECT_STATUS(PMIX_ERR_INVALID_CRED, ask<Command::validate_credential>(*b, {}));
    // As many as one process may have; the oldest go.
    for (size_t i = 0; i < server::CredentialOffice::kMaxPerProcess; ++i)
        ASSERT_STATUS(PMIX_SUCCESS, ask<Command::get_credential>(*a, {}, &given));
    EXPECT_EQ(server::CredentialOffice::kMaxPerProcess, server->parts().credentials.size());
    EXPECT_STATUS(PMIX_ERR_INVALID_CRED, ask<Command::validate_credential>(*b, proof));
    proof.credential = given.credential;
    EXPECT_STATUS(PMIX_SUCCESS, ask<Command::validate_credential>(*b, proof));
    a->kill();
    ASSERT_TRUE(server->turn_until([&] { return server->parts().credentials.size() == 0; }));
    EXPECT_STATUS(PMIX_ERR_INVALID_CRED, ask<Command::validate_credential>(*b, proof));
}

// A credential is compared as a whole: one with more behind it is none that was given. rows: X2
TEST_F(ServerServicesTest, ValidateCredential_WithBytesBehindIt_IsRefused) {
    start(nullptr, {});
    CredentialReply given;
    ASSERT_STATUS(PMIX_SUCCESS, ask<Command::get_credential>(*a, {}, &given));
    for (const size_t more : {size_t{1}, size_t{16}, given.credential.size()}) {
        common::ValidateCredentialRequest proof;
        proof.credential = given.credential;
        proof.credential.resize(given.credential.size() + more);
        EXPECT_STATUS(PMIX_ERR_INVALID_CRED, ask<Command::validate_credential>(*b, proof)) << more;
    }
}

// rows: X1 X2 U14
// proves: PMIx_Get_credential PMIX_CRED_TYPE server
TEST_F(ServerServicesTest, GetCredential_WithoutAList_AsksTheHostFirst) {
    const auto m = Services::module();
    start(&m);
    host.credential = "the host's";
    CredentialReply given;
    common::GetCredentialRequest request;
    request.directives = mine();
    ASSERT_STATUS(PMIX_SUCCESS, ask<Command::get_credential>(*a, request, &given));
    EXPECT_EQ("the host's", std::string(given.credential.begin(), given.credential.end()));
    expect_ids();
    InfoList list;
    list.append_string(PMIX_CRED_TYPE, "native,site");
    request.directives = std::move(list);
    ASSERT_STATUS(PMIX_SUCCESS, ask<Command::get_credential>(*a, request, &given));
    EXPECT_EQ(1, host.calls);
    EXPECT_EQ(1u, server->parts().credentials.size());
    // A host that has none of them, and one that says it has and gives nothing.
    for (const pmix_status_t returns : {PMIX_ERR_NOT_SUPPORTED, PMIX_OPERATION_SUCCEEDED}) {
        host.returns = returns;
        ASSERT_STATUS(PMIX_SUCCESS, ask<Command::get_credential>(*a, {}, &given));
        EXPECT_EQ(0, std::memcmp("wireup", given.credential.data(), 6));
    }
    // What is not ours the host may know.
    common::ValidateCredentialRequest proof;
    ResultsReply found;
    proof.credential = {'t', 'h', 'e', 'i', 'r', 's'};
    proof.directives = mine();
    host.returns = PMIX_SUCCESS;
    host.results.append_string("role", "admin");
    ASSERT_STATUS(PMIX_SUCCESS, ask<Command::validate_credential>(*a, proof, &found));
    EXPECT_EQ("theirs", host.text);
    ASSERT_EQ(1u, found.infos.size());
    expect_ids();
    host.returns = PMIX_OPERATION_SUCCEEDED;
    EXPECT_STATUS(PMIX_SUCCESS, ask<Command::validate_credential>(*a, proof));
    host.returns = PMIX_ERR_NOT_SUPPORTED;
    EXPECT_STATUS(PMIX_ERR_INVALID_CRED, ask<Command::validate_credential>(*a, proof));
}

}  // namespace
}  // namespace pmix::test::server_services_test

// SPDX-License-Identifier: BSD-3-Clause
// What a process asks of a server of OpenPMIx's beside data and groups: that the server is told all of it in the form
// of its release, and that the caller gets the answer, its status, and nothing where there is none.
#include <gtest/gtest.h>
#include <pmix.h>
#include <pmix_tool.h>

#include <atomic>
#include <cstdlib>
#include <string>
#include <vector>

#include "support/openpmix_process.h"
#include "support/status.h"

namespace pmix::test::openpmix_answers_test {
namespace {

namespace theirs = openpmix;
using common::Value;

class OpenPmixAnswers : public OpenPmixProcess {
  protected:
    // Checks the request, and answers with one info.
    template <class Request, class Check>
    void answer_info(const char* key, uint32_t value, Check check) {
        server_->on(Request::kCommand, [this, key, value, check](uint32_t tag, common::Bytes payload) {
            check(server_->template decoded<Request>(payload));
            theirs::InfosReply reply;
            common::InfoList infos;
            EXPECT_STATUS(PMIX_SUCCESS, infos.append_number<uint32_t>(key, value, PMIX_UINT32));
            reply.infos.emplace().infos = std::move(infos);
            server_->send(tag, reply);
        });
    }
    // Results are those of answer_info(); frees them.
    static void expect_result(const char* key, uint32_t value, pmix_info_t* results, size_t count) {
        ASSERT_EQ(1u, count);
        EXPECT_STREQ(key, results[0].key);
        ASSERT_EQ(PMIX_UINT32, results[0].value.type);
        EXPECT_EQ(value, results[0].value.data.uint32);
        PMIX_INFO_FREE(results, count);
    }
    static void expect_none(const pmix_info_t* results, size_t count) {
        EXPECT_EQ(nullptr, results);
        EXPECT_EQ(0u, count);
    }
    static common::InfoList one_flag(const char* key) {
        common::InfoList infos;
        EXPECT_STATUS(PMIX_SUCCESS, infos.append_flag(key, true));
        return infos;
    }
    static bool has(const theirs::Infos& infos, const char* key) {
        return common::InfoView(infos.infos.data(), infos.infos.size()).has(key);
    }
};

// One for each encoding and each way in which releases differ.
INSTANTIATE_TEST_SUITE_P(Releases, OpenPmixAnswers,
                         ::testing::Values(std::make_pair("4.0.0", "v4"), std::make_pair("4.1.2", "v41"),
                                           std::make_pair("4.2.2rc2", "v41"), std::make_pair("5.0.7", "v41"),
                                           std::make_pair("6.0.0", "v51"), std::make_pair("6.1.1rc2", "v61"),
                                           std::make_pair("7.0.0rc1", "v61")));

// ---- credentials ----

TEST_P(OpenPmixAnswers, Validate_Credential_ReturnsTheServersAnswer) {
    const std::string text = "a credential";
    answer_info<theirs::ValidateCredentialRequest>("user", 1001, [&](const auto& request) {
        EXPECT_EQ(text, std::string(request.credential.bytes.begin(), request.credential.bytes.end()));
        EXPECT_TRUE(has(request.infos, "directive"));
    });
    init();
    const pmix_byte_object_t credential{const_cast<char*>(text.data()), text.size()};
    const common::InfoList infos = one_flag("directive");
    pmix_info_t* results = nullptr;
    size_t count = 0;
    ASSERT_STATUS(PMIX_SUCCESS, PMIx_Validate_credential(&credential, infos.c_array(), infos.size(), &results, &count));
    expect_result("user", 1001, results, count);

    results = nullptr;
    server_->answer_status(theirs::Command::validate_credential, PMIX_ERR_INVALID_CRED);
    EXPECT_STATUS(PMIX_ERR_INVALID_CRED, PMIx_Validate_credential(&credential, nullptr, 0, &results, &count));
    expect_none(results, count);
}

TEST_P(OpenPmixAnswers, Get_Credential_IsTheServers) {
    server_->on(theirs::Command::get_credential, [&](uint32_t tag, common::Bytes payload) {
        EXPECT_TRUE(has(server_->decoded<theirs::GetCredentialRequest>(payload).infos, "directive"));
        static const std::vector<uint8_t> bytes = {0, 1, 2, 0xff};
        theirs::CredentialReply reply;
        reply.credential.emplace().bytes = bytes;
        server_->send(tag, reply);
    });
    init();
    const common::InfoList infos = one_flag("directive");
    pmix_byte_object_t credential{};
    ASSERT_STATUS(PMIX_SUCCESS, PMIx_Get_credential(infos.c_array(), infos.size(), &credential));
    EXPECT_EQ(std::string("\0\1\2\xff", 4), std::string(credential.bytes, credential.size));
    std::free(credential.bytes);
    credential = {};
    server_->answer_status(theirs::Command::get_credential, PMIX_ERR_NOT_SUPPORTED);
    EXPECT_STATUS(PMIX_ERR_NOT_SUPPORTED, PMIx_Get_credential(nullptr, 0, &credential));
    EXPECT_EQ(nullptr, credential.bytes);
}

// A positive number in an answer is no status of PMIx.
TEST_P(OpenPmixAnswers, Fence_AnsweredWithAPositiveStatus_IsAnError) {
    server_->answer_status(theirs::Command::fence, 7);
    init();
    EXPECT_STATUS(PMIX_ERROR, PMIx_Fence(nullptr, 0, nullptr, 0));
}

// ---- control ----

TEST_P(OpenPmixAnswers, Job_Control_HasItsTargetsAndDirectives) {
    answer_info<theirs::JobControlRequest>("done", 3, [&](const auto& request) {
        EXPECT_EQ((common::ProcList{{"job", 1}, {"other", PMIX_RANK_WILDCARD}}), request.procs.procs);
        EXPECT_TRUE(has(request.infos, PMIX_JOB_CTRL_PAUSE));
    });
    init();
    const pmix_proc_t targets[] = {proc(1), proc(PMIX_RANK_WILDCARD, "other")};
    const common::InfoList infos = one_flag(PMIX_JOB_CTRL_PAUSE);
    pmix_info_t* results = nullptr;
    size_t count = 0;
    ASSERT_STATUS(PMIX_SUCCESS, PMIx_Job_control(targets, 2, infos.c_array(), infos.size(), &results, &count));
    expect_result("done", 3, results, count);
    results = nullptr;
    server_->answer_status(theirs::Command::job_control, PMIX_ERR_NO_PERMISSIONS);
    EXPECT_STATUS(PMIX_ERR_NO_PERMISSIONS,
                  PMIx_Job_control(nullptr, 0, infos.c_array(), infos.size(), &results, &count));
    expect_none(results, count);
}

TEST_P(OpenPmixAnswers, Allocation_HasItsDirective) {
    answer_info<theirs::AllocationRequest>("nodes", 5, [&](const auto& request) {
        EXPECT_EQ(PMIX_ALLOC_EXTEND, request.directive.value);
        EXPECT_TRUE(has(request.infos, "directive"));
    });
    init();
    common::InfoList infos = one_flag("directive");
    pmix_info_t* results = nullptr;
    size_t count = 0;
    ASSERT_STATUS(PMIX_SUCCESS,
                  PMIx_Allocation_request(PMIX_ALLOC_EXTEND, infos.c_array(), infos.size(), &results, &count));
    expect_result("nodes", 5, results, count);
}

TEST_P(OpenPmixAnswers, Monitor_OfAFile_HasWhatToWatchAndTheEvent) {
    answer_info<theirs::MonitorRequest>("watched", 1, [&](const auto& request) {
        ASSERT_EQ(1u, request.monitor.element.size());
        EXPECT_STREQ(PMIX_MONITOR_FILE, request.monitor.element[0].key);
        EXPECT_STREQ("/a/file", request.monitor.element[0].value.data.string);
        EXPECT_STATUS(PMIX_MONITOR_FILE_ALERT, request.error.value);
        EXPECT_TRUE(has(request.infos, PMIX_MONITOR_FILE_CHECK_TIME));
    });
    init();
    common::InfoList what, how;
    ASSERT_STATUS(PMIX_SUCCESS, what.append_string(PMIX_MONITOR_FILE, "/a/file"));
    ASSERT_STATUS(PMIX_SUCCESS, how.append_number<uint32_t>(PMIX_MONITOR_FILE_CHECK_TIME, 3, PMIX_UINT32));
    pmix_info_t* results = nullptr;
    size_t count = 0;
    ASSERT_STATUS(PMIX_SUCCESS, PMIx_Process_monitor(what.c_array(), PMIX_MONITOR_FILE_ALERT, how.c_array(), how.size(),
                                                     &results, &count));
    expect_result("watched", 1, results, count);
    results = nullptr;
    server_->answer_status(theirs::Command::monitor, PMIX_ERR_NOT_SUPPORTED);
    EXPECT_STATUS(PMIX_ERR_NOT_SUPPORTED, PMIx_Process_monitor(what.c_array(), PMIX_MONITOR_FILE_ALERT, how.c_array(),
                                                               how.size(), &results, &count));
    expect_none(results, count);
}

TEST_P(OpenPmixAnswers, Log_HasDataTimeAndDirectives) {
    server_->on(theirs::Command::log, [&](uint32_t tag, common::Bytes payload) {
        const auto request = server_->decoded<theirs::LogRequest>(payload);
        EXPECT_GT(request.time.value, 0);
        EXPECT_TRUE(has(request.data, PMIX_LOG_STDERR));
        EXPECT_TRUE(has(request.directives, PMIX_LOG_ONCE));
        server_->send_status(tag, PMIX_ERR_NOT_FOUND);
    });
    init();
    common::InfoList data;
    ASSERT_STATUS(PMIX_SUCCESS, data.append_string(PMIX_LOG_STDERR, "text"));
    const common::InfoList directives = one_flag(PMIX_LOG_ONCE);
    EXPECT_STATUS(PMIX_ERR_NOT_FOUND, PMIx_Log(data.c_array(), data.size(), directives.c_array(), directives.size()));
}

// ---- jobs ----

// The answer has the new job and its data, which is then found without a question.
TEST_P(OpenPmixAnswers, Spawn_HasTheNewJobAndItsData) {
    std::atomic<int> gets{0};
    server_->on(theirs::Command::spawn, [&](uint32_t tag, common::Bytes payload) {
        const auto request = server_->decoded<theirs::SpawnRequest>(payload);
        EXPECT_TRUE(has(request.infos, PMIX_TAG_OUTPUT));
        ASSERT_EQ(1u, request.apps.elements.size());
        const pmix_app_t& app = request.apps.elements[0];
        EXPECT_STREQ("program", app.cmd);
        EXPECT_EQ(2, app.maxprocs);
        ASSERT_NE(nullptr, app.argv);
        EXPECT_STREQ("argument", app.argv[1]);
        theirs::SpawnReply reply;
        reply.nspace.emplace("child");
        reply.values.pairs.push_back({PMIX_JOB_SIZE, Value::u32(2)});
        server_->send(tag, reply);
    });
    server_->on(theirs::Command::get, [&](uint32_t tag, common::Bytes) {
        ++gets;
        server_->send_status(tag, PMIX_ERR_NOT_FOUND);
    });
    init();
    char program[] = "program", argument[] = "argument";
    char* argv[] = {program, argument, nullptr};
    pmix_app_t app{};
    app.cmd = program;
    app.argv = argv;
    app.maxprocs = 2;
    const common::InfoList infos = one_flag(PMIX_TAG_OUTPUT);
    pmix_nspace_t nspace{};
    ASSERT_STATUS(PMIX_SUCCESS, PMIx_Spawn(infos.c_array(), infos.size(), &app, 1, nspace));
    EXPECT_STREQ("child", nspace);
    EXPECT_EQ(2u, number(proc(PMIX_RANK_WILDCARD, "child"), PMIX_JOB_SIZE));
    EXPECT_EQ(0, gets);

    server_->on(theirs::Command::spawn, [&](uint32_t tag, common::Bytes) { server_->send(tag, theirs::SpawnReply()); });
    EXPECT_STATUS(PMIX_ERR_UNPACK_FAILURE, PMIx_Spawn(nullptr, 0, &app, 1, nspace)) << "success, but no name";
    server_->answer_status(theirs::Command::spawn, PMIX_ERR_JOB_FAILED_TO_LAUNCH);
    EXPECT_STATUS(PMIX_ERR_JOB_FAILED_TO_LAUNCH, PMIx_Spawn(nullptr, 0, &app, 1, nspace));
}

// What is known of the own job is answered here; of others a server that can is asked, one that cannot is not.
TEST_P(OpenPmixAnswers, Resolve_OfAnotherJob_IsTheServersToSay) {
    server_->on(theirs::Command::resolve_peers, [&](uint32_t tag, common::Bytes payload) {
        const auto request = server_->decoded<theirs::ResolvePeersRequest>(payload);
        EXPECT_EQ("there", request.node.text);
        EXPECT_EQ("other", request.nspace.text);
        theirs::ResolvePeersReply reply;
        reply.procs.emplace().procs = {{"other", 4}, {"other", 5}};
        server_->send(tag, reply);
    });
    server_->on(theirs::Command::resolve_node, [&](uint32_t tag, common::Bytes payload) {
        EXPECT_EQ("other", server_->decoded<theirs::ResolveNodeRequest>(payload).nspace.text);
        theirs::ResolveNodeReply reply;
        reply.nodes.emplace("there,elsewhere");
        server_->send(tag, reply);
    });
    server_->answer_status(theirs::Command::get, PMIX_ERR_NOT_FOUND);
    init();
    pmix_proc_t* procs = nullptr;
    size_t count = 0;
    ASSERT_STATUS(PMIX_SUCCESS, PMIx_Resolve_peers("here", "job", &procs, &count));
    ASSERT_EQ(2u, count);
    EXPECT_EQ(1u, procs[1].rank);
    PMIX_PROC_FREE(procs, count);

    procs = nullptr;
    char* nodes = nullptr;
    if (server_->traits.resolves) {
        ASSERT_STATUS(PMIX_SUCCESS, PMIx_Resolve_peers("there", "other", &procs, &count));
        ASSERT_EQ(2u, count);
        EXPECT_STREQ("other", procs[0].nspace);
        EXPECT_EQ(4u, procs[0].rank);
        PMIX_PROC_FREE(procs, count);
        ASSERT_STATUS(PMIX_SUCCESS, PMIx_Resolve_nodes("other", &nodes));
        EXPECT_STREQ("there,elsewhere", nodes);
        std::free(nodes);
    } else {
        EXPECT_NE(PMIX_SUCCESS, PMIx_Resolve_peers("there", "other", &procs, &count));
        EXPECT_EQ(nullptr, procs);
        EXPECT_NE(PMIX_SUCCESS, PMIx_Resolve_nodes("other", &nodes));
        EXPECT_EQ(nullptr, nodes);
    }
}

// ---- input ----

TEST_P(OpenPmixAnswers, Push_HasTargetsAndBytes_AndTheEndHasNone) {
    std::vector<std::string> pushed;
    server_->on(theirs::Command::iof_push, [&](uint32_t tag, common::Bytes payload) {
        const auto request = server_->decoded<theirs::IofPushRequest>(payload);
        EXPECT_EQ((common::ProcList{{"job", 2}}), request.procs.procs);
        pushed.emplace_back(request.data.bytes.begin(), request.data.bytes.end());
        server_->send_status(tag, PMIX_SUCCESS);
    });
    init();
    const pmix_proc_t target = proc(2);
    char line[] = "a line\n";
    pmix_byte_object_t bytes{line, sizeof line - 1};
    EXPECT_STATUS(PMIX_SUCCESS, PMIx_IOF_push(&target, 1, &bytes, nullptr, 0, nullptr, nullptr));
    const common::InfoList end = one_flag(PMIX_IOF_COMPLETE);
    EXPECT_STATUS(PMIX_SUCCESS, PMIx_IOF_push(&target, 1, nullptr, end.c_array(), end.size(), nullptr, nullptr));
    EXPECT_EQ((std::vector<std::string>{line, ""}), pushed);
    server_->answer_status(theirs::Command::iof_push, PMIX_ERR_NOT_SUPPORTED);
    EXPECT_STATUS(PMIX_ERR_NOT_SUPPORTED, PMIx_IOF_push(&target, 1, &bytes, nullptr, 0, nullptr, nullptr));
}

// ---- fabrics ----

TEST_P(OpenPmixAnswers, Fabric_RegisteredAndUpdated_HasTheServersFacts) {
    const auto facts = [&](uint32_t tag, uint32_t vertices) {
        theirs::InfosReply reply;
        common::InfoList infos;
        infos.append_number<size_t>(PMIX_FABRIC_INDEX, 7, PMIX_SIZE);
        infos.append_number<uint32_t>("vertices", vertices, PMIX_UINT32);
        reply.infos.emplace().infos = std::move(infos);
        server_->send(tag, reply);
    };
    server_->on(theirs::Command::fabric_register, [&](uint32_t tag, common::Bytes payload) {
        EXPECT_TRUE(has(server_->decoded<theirs::FabricRegisterRequest>(payload).infos, "directive"));
        facts(tag, 10);
    });
    server_->on(theirs::Command::fabric_update, [&](uint32_t tag, common::Bytes payload) {
        EXPECT_EQ(7u, server_->decoded<theirs::FabricUpdateRequest>(payload).index.value);
        facts(tag, 11);
    });
    init();
    const auto vertices = [](const pmix_fabric_t& fabric) {
        uint32_t n = 0;
        EXPECT_STATUS(PMIX_SUCCESS, common::InfoView(fabric.info, fabric.ninfo).get("vertices", &n));
        return n;
    };
    pmix_fabric_t fabric;
    PMIX_FABRIC_CONSTRUCT(&fabric);
    const common::InfoList directives = one_flag("directive");
    ASSERT_STATUS(PMIX_SUCCESS, PMIx_Fabric_register(&fabric, directives.c_array(), directives.size()));
    EXPECT_EQ(7u, fabric.index);
    EXPECT_EQ(10u, vertices(fabric));
    EXPECT_STATUS(PMIX_SUCCESS, PMIx_Fabric_update(&fabric));
    EXPECT_EQ(11u, vertices(fabric));
    EXPECT_STATUS(PMIX_SUCCESS, PMIx_Fabric_deregister(&fabric));
    server_->answer_status(theirs::Command::fabric_register, PMIX_ERR_NOT_SUPPORTED);
    EXPECT_STATUS(PMIX_ERR_NOT_SUPPORTED, PMIx_Fabric_register(&fabric, nullptr, 0));
}

}  // namespace
}  // namespace pmix::test::openpmix_answers_test

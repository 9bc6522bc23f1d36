// SPDX-License-Identifier: BSD-3-Clause
// A tool at servers that speak OpenPMIx's protocol: one that is scripted (tests/support/openpmix_server.h), for what is
// said at the start and for servers that say what is false, and this library's own by its TCP port, for what follows.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <pmix_server.h>
#include <pmix_tool.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <condition_variable>
#include <filesystem>
#include <fstream>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "client/openpmix/environment.h"
#include "common/values/info_view.h"
#include "support/openpmix_server.h"
#include "support/server_here.h"
#include "support/temporary_folder.h"

namespace pmix::test::openpmix_tool_test {
namespace {

namespace fs = std::filesystem;
namespace theirs = openpmix;
using common::InfoView;
using common::Value;

pmix_status_t init_tool(pmix_proc_t* me, InfoList& infos) {
    return PMIx_tool_init(me, infos.c_array(), infos.size());
}

bool has_server(const char* nspace) {
    pmix_proc_t* servers = nullptr;
    size_t n = 0;
    if (PMIx_tool_get_servers(&servers, &n) != PMIX_SUCCESS) return false;
    const bool there = n == 1 && std::string(servers[0].nspace) == nspace;
    std::free(servers);
    return there;
}

// ---- a scripted server ----

class OpenPmixTool : public ::testing::TestWithParam<std::pair<const char*, const char*>> {
  protected:
    void SetUp() override {
        OpenPmixServer::clear_environment();
        server_ = std::make_unique<OpenPmixServer>(GetParam().first, GetParam().second);
        answer_as("tool", "server", theirs::PeerKind::tool);
        server_->on(theirs::Command::finalize, [this](uint32_t tag, common::Bytes) {
            ++finalized_;
            server_->send_status(tag, PMIX_SUCCESS);
        });
        ::setenv("PMIX_HOSTNAME", "node", 1);
        ::setenv("PMIX_SYSTEM_TMPDIR", folder_.name().c_str(), 1);
    }
    void TearDown() override {
        if (PMIx_Initialized()) PMIx_tool_finalize();
        OpenPmixServer::clear_environment();
        ::unsetenv("PMIX_SYSTEM_TMPDIR");
    }
    // The server's answer to the hello, and the data of the tool, which is only its name.
    void answer_as(const char* tool, const char* server, theirs::PeerKind kind, pmix_status_t status = PMIX_SUCCESS,
                   pmix_status_t security = PMIX_SUCCESS) {
        theirs::ConnectReply reply;
        reply.status = status;
        reply.self = common::ProcId(tool, 0);
        reply.server = common::ProcId(server, 0);
        reply.security = security;
        server_->hello_answer = theirs::encode_reply(reply, theirs::reply_form(kind, server_->traits));
        server_->on(theirs::Command::job_data, [this, name = std::string(tool)](uint32_t tag, common::Bytes) {
            theirs::JobData data;
            data.nspace = theirs::Text(name);
            server_->send(tag, data);
        });
    }
    pmix_status_t init(InfoList& infos) {
        server_->start();
        return init_tool(&me_, infos);
    }
    InfoList by_uri() const {
        put_file("session/pmix.node.tool.server");
        InfoList infos;
        infos.append_string(PMIX_SERVER_URI, server_->uri.c_str());
        return infos;
    }
    // pid: of a process that is there, and is not this one, whose own servers a tool does not look for.
    void put_file(const std::string& name, pid_t pid = ::getppid()) const {
        const std::string path = folder_.path(name);
        fs::create_directories(fs::path(path).parent_path());
        std::ofstream(path) << server_->uri << "\nv" << GetParam().first << '\n' << pid << "\n0:0\nnow\n";
        ASSERT_EQ(0, ::chmod(path.c_str(), 0600));
    }
    // Left by a server that is gone.
    void put_stale_file(const std::string& name) const {
        // A process that is there now, as that of the number may be.
        std::ofstream(folder_.path(name)) << "server.0;tcp4://127.0.0.1:1\nv5.0.7\n" << ::getppid() << "\n0:0\nnow\n";
        ASSERT_EQ(0, ::chmod(folder_.path(name).c_str(), 0600));
    }

    TemporaryFolder folder_;
    std::unique_ptr<OpenPmixServer> server_;
    std::atomic<int> finalized_{0};
    pmix_proc_t me_{};
};
INSTANTIATE_TEST_SUITE_P(Releases, OpenPmixTool,
                         ::testing::Values(std::make_pair("5.0.7", "v41"), std::make_pair("6.1.1rc2", "v61"),
                                           std::make_pair("7.0.0rc1", "v61")));

TEST_P(OpenPmixTool, Init_WithoutAName_IsNamedByTheServer) {
    InfoList infos = by_uri();
    ASSERT_EQ(PMIX_SUCCESS, init(infos));
    EXPECT_STREQ("tool", me_.nspace);
    EXPECT_EQ(0u, me_.rank);
    EXPECT_TRUE(has_server("server"));
    EXPECT_TRUE(PMIx_tool_is_connected());
    const theirs::ConnectRequest& hello = server_->hello;
    EXPECT_EQ(theirs::PeerKind::tool, hello.kind);
    EXPECT_EQ(::geteuid(), hello.uid);
    EXPECT_EQ(::getegid(), hello.gid);
    EXPECT_EQ("native", hello.security);
    EXPECT_EQ("hash", hello.store);
    EXPECT_STREQ(GetParam().second, hello.encoding.c_str());
    const InfoView told(hello.infos.data(), hello.infos.size());
    ASSERT_NE(nullptr, told.find(PMIX_PROC_PID));
    EXPECT_EQ(::getpid(), told.find(PMIX_PROC_PID)->value.data.pid);
    std::string_view command;
    EXPECT_EQ(PMIX_SUCCESS, told.get(PMIX_CMD_LINE, &command));
    EXPECT_NE(command.npos, command.find("test")) << command;
    EXPECT_TRUE(told.has(PMIX_SERVER_URI)) << "as the user gave it";
}

TEST_P(OpenPmixTool, Init_WithAName_KeepsIt) {
    answer_as("mine", "server", theirs::PeerKind::named_tool);
    InfoList infos = by_uri();
    infos.append_string(PMIX_TOOL_NSPACE, "mine");
    const pmix_rank_t rank = 3;
    infos.append(PMIX_TOOL_RANK, &rank, PMIX_PROC_RANK);
    infos.append_number<void*>("their.pointer", this, PMIX_POINTER);
    infos.append_flag("wireup.something", true);
    ASSERT_EQ(PMIX_SUCCESS, init(infos));
    EXPECT_STREQ("mine", me_.nspace);
    EXPECT_EQ(3u, me_.rank);
    EXPECT_EQ(theirs::PeerKind::named_tool, server_->hello.kind);
    EXPECT_EQ(common::ProcId("mine", 3), server_->hello.id);
    const InfoView told(server_->hello.infos.data(), server_->hello.infos.size());
    EXPECT_TRUE(told.has(PMIX_TOOL_NSPACE));
    EXPECT_FALSE(told.has("their.pointer")) << "an address means nothing there";
    EXPECT_FALSE(told.has("wireup.something"));
}

TEST_P(OpenPmixTool, Init_OfALauncher_SaysSo) {
    answer_as("tool", "server", theirs::PeerKind::launcher);
    InfoList infos = by_uri();
    infos.append_flag(PMIX_LAUNCHER, true);
    ASSERT_EQ(PMIX_SUCCESS, init(infos));
    EXPECT_EQ(theirs::PeerKind::launcher, server_->hello.kind);
}

// Started by the server itself: a process of its job, and a tool.
TEST_P(OpenPmixTool, Init_InTheEnvironmentOfARank_IsThatProcess) {
    answer_as("job", "server", theirs::PeerKind::client_tool);
    server_->set_environment();
    ::setenv("PMIX_HOSTNAME", "node", 1);
    InfoList none;
    ASSERT_EQ(PMIX_SUCCESS, init(none));
    EXPECT_STREQ("job", me_.nspace);
    EXPECT_EQ(theirs::PeerKind::client_tool, server_->hello.kind);
    EXPECT_EQ(common::ProcId("job", 0), server_->hello.id);
}

TEST_P(OpenPmixTool, Init_WithTheAddressAloneInTheEnvironment_IsATool) {
    server_->set_environment();
    ::unsetenv("PMIX_NAMESPACE");
    ::unsetenv("PMIX_RANK");
    ::setenv("PMIX_HOSTNAME", "node", 1);
    InfoList none;
    ASSERT_EQ(PMIX_SUCCESS, init(none));
    EXPECT_STREQ("tool", me_.nspace);
    EXPECT_EQ(theirs::PeerKind::tool, server_->hello.kind);
}

TEST_P(OpenPmixTool, Finalize_IsToldToTheServer) {
    InfoList infos = by_uri();
    ASSERT_EQ(PMIX_SUCCESS, init(infos));
    EXPECT_EQ(PMIX_SUCCESS, PMIx_tool_finalize());
    server_->stop();  // it has read to the end
    EXPECT_EQ(1, finalized_);
}

TEST_P(OpenPmixTool, Disconnect_IsToldToTheServer) {
    InfoList infos = by_uri();
    ASSERT_EQ(PMIX_SUCCESS, init(infos));
    const pmix_proc_t server = common::ProcId("server", 0).to_c();
    EXPECT_EQ(PMIX_SUCCESS, PMIx_tool_disconnect(&server));
    EXPECT_FALSE(PMIx_tool_is_connected());
    server_->stop();
    EXPECT_EQ(1, finalized_);
}

TEST_P(OpenPmixTool, Init_Refused_IsTheServersStatus) {
    answer_as("tool", "server", theirs::PeerKind::tool, PMIX_ERR_NOT_SUPPORTED);
    InfoList infos = by_uri();
    EXPECT_EQ(PMIX_ERR_NOT_SUPPORTED, init(infos));
}

TEST_P(OpenPmixTool, Init_RefusedForItsCredential_IsTheServersStatus) {
    answer_as("tool", "server", theirs::PeerKind::tool, PMIX_SUCCESS, PMIX_ERR_INVALID_CRED);
    InfoList infos = by_uri();
    EXPECT_EQ(PMIX_ERR_INVALID_CRED, init(infos));
}

TEST_P(OpenPmixTool, Init_AnotherServerAtTheAddress_IsNotTheOne) {
    answer_as("tool", "another", theirs::PeerKind::tool);
    InfoList infos = by_uri();
    EXPECT_EQ(PMIX_ERR_UNREACH, init(infos));
}

TEST_P(OpenPmixTool, Init_NamedByNobody_Fails) {
    answer_as("", "server", theirs::PeerKind::tool);
    InfoList infos = by_uri();
    EXPECT_EQ(PMIX_ERR_UNPACK_FAILURE, init(infos));
}

TEST_P(OpenPmixTool, Init_AServerThatSaysNothing_HasItsLimit) {
    server_->answers_hello = false;
    InfoList infos = by_uri();
    const int seconds = 1;
    infos.append(PMIX_TIMEOUT, &seconds, PMIX_INT);
    EXPECT_EQ(PMIX_ERR_TIMEOUT, init(infos));
}

TEST_P(OpenPmixTool, Init_NobodyThere_IsUnreachable) {
    put_stale_file("pmix.node.tool.server");
    InfoList infos;
    infos.append_string(PMIX_TCP_URI, "server.0;tcp4://127.0.0.1:1");
    EXPECT_EQ(PMIX_ERR_UNREACH, init_tool(&me_, infos));
    InfoList other;
    other.append_string(PMIX_SERVER_URI, "server.0;tcp6://[::1]:1");
    EXPECT_EQ(PMIX_ERR_NOT_SUPPORTED, init_tool(&me_, other));
    InfoList bad;
    bad.append_string(PMIX_SERVER_URI, "server.0;tcp4://here");
    EXPECT_EQ(PMIX_ERR_BAD_PARAM, init_tool(&me_, bad));
}

// The addresses of one server are tried until one accepts; what comes from there is its answer.
// proves: PMIx_tool_init PMIX_SERVER_ALT_URIS
TEST_P(OpenPmixTool, Init_NobodyAtTheFirstAddress_IsTriedAtTheOthers) {
    const std::string there = server_->uri.substr(server_->uri.find(';') + 1);
    const std::string nowhere = "tcp4://127.0.0.1:1";
    const auto infos = [&](const std::string& first, const std::string& others) {
        // What tells the release is its file.
        std::ofstream(folder_.path("pmix.node.tool.server"))
            << "server.0;" << first << "\nv" << GetParam().first << "\n0\n";
        EXPECT_EQ(0, ::chmod(folder_.path("pmix.node.tool.server").c_str(), 0600));
        InfoList out;
        out.append_string(PMIX_SERVER_URI, ("server.0;" + first).c_str());
        if (!others.empty()) out.append_string(PMIX_SERVER_ALT_URIS, others.c_str());
        return out;
    };
    server_->start();
    InfoList none = infos(nowhere, "");
    EXPECT_EQ(PMIX_ERR_UNREACH, init_tool(&me_, none));
    InfoList bad = infos(nowhere, there + ",here");
    EXPECT_EQ(PMIX_ERR_BAD_PARAM, init_tool(&me_, bad));
    EXPECT_EQ(0, server_->connections);
    InfoList found = infos(nowhere, nowhere + ",tcp6://[::1]:1," + there);
    ASSERT_EQ(PMIX_SUCCESS, init_tool(&me_, found));
    EXPECT_TRUE(has_server("server"));
    EXPECT_EQ(PMIX_SUCCESS, PMIx_tool_finalize());
    const int before = server_->connections;
    answer_as("tool", "server", theirs::PeerKind::tool, PMIX_ERR_NOT_SUPPORTED);
    InfoList refused = infos(there, there);
    EXPECT_EQ(PMIX_ERR_NOT_SUPPORTED, init_tool(&me_, refused));
    EXPECT_EQ(before + 1, server_->connections);
}

// They answer requests of ours, which an observer's are.
TEST_P(OpenPmixTool, Init_OfAnObserver_IsNotSupported) {
    InfoList infos = by_uri();
    infos.append_flag(WIREUP_OBSERVER, true);
    EXPECT_EQ(PMIX_ERR_NOT_SUPPORTED, init(infos));
    EXPECT_EQ(0, server_->connections);
}

// ---- output ----

std::atomic<int> g_outputs{0};
void on_output(size_t, pmix_iof_channel_t, pmix_proc_t*, pmix_byte_object_t* bytes, pmix_info_t*, size_t) {
    if (bytes != nullptr && bytes->size != 0) ++g_outputs;
}

// A server forwards to a tool by itself too, under the number 0.
TEST_P(OpenPmixTool, Output_ThatWasAskedFor_ComesOnce) {
    g_outputs = 0;
    std::atomic<size_t> number{0};
    server_->on(theirs::Command::iof_pull, [&](uint32_t tag, common::Bytes payload) {
        const auto request = server_->decoded<theirs::IofPullRequest>(payload);
        number = request.reference ? request.reference->value : 0;
        theirs::IofPullReply reply;
        reply.reference.emplace().value = 1;
        server_->send(tag, reply);
    });
    server_->on(theirs::Command::log, [&](uint32_t tag, common::Bytes) {
        const std::vector<uint8_t> line{'o', 'n', 'e', 10};
        for (const size_t id : {size_t{0}, number.load(), size_t{0}}) {
            theirs::OutputMessage output;
            output.source.id = {"job", 1};
            output.channel.value = PMIX_FWD_STDOUT_CHANNEL;
            output.reference.value = id;
            output.data.bytes = line;
            server_->send(theirs::kOutputTag, output);
        }
        server_->send_status(tag, PMIX_SUCCESS);
    });
    InfoList infos = by_uri();
    ASSERT_EQ(PMIX_SUCCESS, init(infos));
    const pmix_proc_t job = common::ProcId("job", PMIX_RANK_WILDCARD).to_c();
    ASSERT_GE(PMIx_IOF_pull(&job, 1, nullptr, 0, PMIX_FWD_STDOUT_CHANNEL, &on_output, nullptr, nullptr), 0);
    EXPECT_NE(0u, number);
    InfoList text;
    text.append_string("site.log", "words");
    EXPECT_EQ(PMIX_SUCCESS, PMIx_Log(text.c_array(), text.size(), nullptr, 0)) << "behind the output";
    EXPECT_EQ(1, g_outputs);
}

// ---- by file ----

TEST_P(OpenPmixTool, Find_ByAFileWithOtherAddresses_AtTheOneThatAccepts) {
    std::ofstream(folder_.path("report")) << "server.0;tcp4://127.0.0.1:1\nv" << GetParam().first
                                          << "\nalturis:" << server_->uri.substr(server_->uri.find(';') + 1) << '\n';
    ASSERT_EQ(0, ::chmod(folder_.path("report").c_str(), 0600));
    InfoList infos;
    infos.append_string(PMIX_TOOL_ATTACHMENT_FILE, folder_.path("report").c_str());
    ASSERT_EQ(PMIX_SUCCESS, init(infos));
    EXPECT_TRUE(has_server("server"));
}

TEST_P(OpenPmixTool, Find_ByTheFileThatIsNamed) {
    put_file("report");
    for (const bool as_uri : {false, true}) {
        InfoList infos;
        infos.append_string(as_uri ? PMIX_SERVER_URI : PMIX_TOOL_ATTACHMENT_FILE,
                            ((as_uri ? "file:" : "") + folder_.path("report")).c_str());
        if (!as_uri) server_->start();
        ASSERT_EQ(PMIX_SUCCESS, init_tool(&me_, infos)) << as_uri;
        EXPECT_TRUE(has_server("server"));
        EXPECT_EQ(PMIX_SUCCESS, PMIx_tool_finalize());
    }
}

// proves: PMIx_tool_init PMIX_SYSTEM_TMPDIR
TEST_P(OpenPmixTool, Find_ByItsProcess) {
    ::unsetenv("PMIX_SYSTEM_TMPDIR");
    put_file("session/pmix.node.tool.server");
    put_stale_file("pmix.node.tool.old");
    InfoList infos;
    const pid_t pid = ::getppid();
    infos.append(PMIX_SERVER_PIDINFO, &pid, PMIX_PID);
    infos.append_string(PMIX_SYSTEM_TMPDIR, folder_.name().c_str());
    ASSERT_EQ(PMIX_SUCCESS, init(infos));
    EXPECT_TRUE(has_server("server"));
}

// proves: PMIx_tool_init PMIX_SERVER_TMPDIR
TEST_P(OpenPmixTool, Find_ByItsNamespace_TheOneThatIsThere) {
    put_file("session/pmix.node.tool.server");
    put_stale_file("pmix.node.tool.gone");
    fs::last_write_time(folder_.path("pmix.node.tool.gone"), fs::file_time_type::min());  // looked at first
    ::setenv("PMIX_SYSTEM_TMPDIR", "/proc/self/fdinfo", 1);
    InfoList infos;
    infos.append_string(PMIX_SERVER_NSPACE, "server");
    infos.append_string(PMIX_SERVER_TMPDIR, folder_.name().c_str());
    ASSERT_EQ(PMIX_SUCCESS, init(infos));
    EXPECT_TRUE(has_server("server"));
}

TEST_P(OpenPmixTool, Find_NobodyOfThisName_IsUnreachable) {
    put_file("session/pmix.node.tool.server");
    put_stale_file("pmix.node.tool.gone");
    InfoList infos;
    infos.append_string(PMIX_SERVER_NSPACE, "nobody");
    EXPECT_EQ(PMIX_ERR_UNREACH, init(infos));
    InfoList of_rank;
    of_rank.append_string(PMIX_SERVER_NSPACE, "server");
    const pmix_rank_t rank = 7;
    of_rank.append(PMIX_SERVER_RANK, &rank, PMIX_PROC_RANK);
    EXPECT_EQ(PMIX_ERR_UNREACH, init_tool(&me_, of_rank));
}

// proves: PMIx_tool_init PMIX_CONNECT_TO_SCHEDULER
TEST_P(OpenPmixTool, Find_TheScheduler) {
    put_file("pmix.sched.node");
    InfoList infos;
    infos.append_flag(PMIX_CONNECT_TO_SCHEDULER, true);
    ASSERT_EQ(PMIX_SUCCESS, init(infos));
    EXPECT_TRUE(has_server("server"));
}

// proves: PMIx_tool_init PMIX_CONNECT_TO_SYS_CONTROLLER
TEST_P(OpenPmixTool, Find_TheController) {
    put_stale_file("pmix.sys.node");
    put_stale_file("pmix.sched.node");
    put_file("pmix.sysctrlr.node");
    InfoList infos;
    infos.append_flag(PMIX_CONNECT_TO_SYS_CONTROLLER, true);
    ASSERT_EQ(PMIX_SUCCESS, init(infos));
    EXPECT_TRUE(has_server("server"));
}

TEST_P(OpenPmixTool, Find_TheController_WhereThereIsNone_IsUnreachable) {
    put_file("pmix.sched.node");
    InfoList infos;
    infos.append_flag(PMIX_CONNECT_TO_SYS_CONTROLLER, true);
    EXPECT_EQ(PMIX_ERR_UNREACH, init(infos));
}

// proves: PMIx_tool_attach_to_server PMIX_CONNECT_TO_SYS_CONTROLLER
TEST_P(OpenPmixTool, Attach_ToTheController) {
    put_file("pmix.sysctrlr.node");
    answer_as("mine", "server", theirs::PeerKind::named_tool);
    InfoList nowhere;
    nowhere.append_flag(PMIX_TOOL_DO_NOT_CONNECT, true);
    nowhere.append_string(PMIX_TOOL_NSPACE, "mine");
    ASSERT_EQ(PMIX_SUCCESS, init(nowhere));
    InfoList infos;
    infos.append_flag(PMIX_CONNECT_TO_SYS_CONTROLLER, true);
    pmix_proc_t server;
    EXPECT_EQ(PMIX_SUCCESS, PMIx_tool_attach_to_server(nullptr, &server, infos.c_array(), infos.size()));
    EXPECT_STREQ("server", server.nspace);
}

// Each once, with what it is for; what is gone is left out.
TEST_P(OpenPmixTool, Query_AvailableServers_HasTheirs) {
    put_file("session/pmix.node.tool.server");
    put_file("session/pmix.node.tool");
    put_file("pmix.sysctrlr.node");
    std::ofstream(folder_.path("pmix.sys.node")) << "gone.0;tcp4://127.0.0.1:1\nv5.0.7\n2147483646\n0:0\nnow\n";
    ASSERT_EQ(0, ::chmod(folder_.path("pmix.sys.node").c_str(), 0600));
    InfoList infos;
    infos.append_flag(PMIX_CONNECT_TO_SYS_CONTROLLER, true);
    ASSERT_EQ(PMIX_SUCCESS, init(infos));
    char* keys[] = {const_cast<char*>(PMIX_QUERY_AVAIL_SERVERS), nullptr};
    pmix_query_t query{keys, nullptr, 0};
    pmix_info_t* results = nullptr;
    size_t n = 0;
    ASSERT_EQ(PMIX_SUCCESS, PMIx_Query_info(&query, 1, &results, &n));
    ASSERT_EQ(1u, n);
    size_t theirs_listed = 0;
    for (const pmix_info_t& server : common::infos_in(results[0].value)) {
        EXPECT_STREQ(PMIX_SERVER_INFO_ARRAY, server.key);
        const common::InfoView about = common::infos_in(server.value);
        std::string_view uri, version, name;
        const pmix_info_t* rank = about.find(PMIX_RANK);
        EXPECT_EQ(PMIX_SUCCESS, about.get(PMIX_SERVER_URI, &uri));
        EXPECT_FALSE(uri.starts_with("gone")) << uri;
        if (uri != server_->uri) continue;
        ++theirs_listed;
        EXPECT_EQ(PMIX_SUCCESS, about.get(PMIX_VERSION_INFO, &version));
        EXPECT_EQ(GetParam().first, version);
        EXPECT_EQ(PMIX_SUCCESS, about.get(PMIX_NSPACE, &name));
        EXPECT_EQ("server", name);
        ASSERT_NE(nullptr, rank);
        EXPECT_EQ(0u, rank->value.data.rank);
        EXPECT_TRUE(about.has(PMIX_SERVER_PIDINFO));
        EXPECT_TRUE(about.flag(PMIX_SERVER_TOOL_SUPPORT));
        EXPECT_FALSE(about.flag(PMIX_SERVER_SYSTEM_SUPPORT));
        EXPECT_TRUE(about.flag(PMIX_SERVER_SYS_CONTROLLER));
    }
    EXPECT_EQ(1u, theirs_listed);
    PMIx_Info_free(results, n);
}

// proves: PMIx_tool_attach_to_server PMIX_CONNECT_TO_SCHEDULER PMIX_SYSTEM_TMPDIR PMIX_SERVER_TMPDIR
TEST_P(OpenPmixTool, Attach_ByAFile_InTheFolderThatIsNamed) {
    ::unsetenv("PMIX_SYSTEM_TMPDIR");
    put_file("pmix.sched.node");
    answer_as("mine", "server", theirs::PeerKind::named_tool);
    InfoList nowhere;
    nowhere.append_flag(PMIX_TOOL_DO_NOT_CONNECT, true);
    nowhere.append_string(PMIX_TOOL_NSPACE, "mine");
    ASSERT_EQ(PMIX_SUCCESS, init(nowhere));
    for (const char* folder : {PMIX_SYSTEM_TMPDIR, PMIX_SERVER_TMPDIR}) {
        InfoList infos;
        infos.append_flag(PMIX_CONNECT_TO_SCHEDULER, true);
        infos.append_string(folder, folder_.name().c_str());
        pmix_proc_t server{};
        ASSERT_EQ(PMIX_SUCCESS, PMIx_tool_attach_to_server(nullptr, &server, infos.c_array(), infos.size())) << folder;
        EXPECT_STREQ("server", server.nspace);
        EXPECT_EQ(theirs::PeerKind::named_tool, server_->hello.kind);
        EXPECT_EQ(PMIX_SUCCESS, PMIx_tool_disconnect(&server));
    }
}

// proves: PMIx_tool_attach_to_server PMIX_SERVER_ALT_URIS
TEST_P(OpenPmixTool, Attach_NobodyAtTheFirstAddress_IsTriedAtTheOthers) {
    std::ofstream(folder_.path("pmix.node.tool.server"))
        << "server.0;tcp4://127.0.0.1:1\nv" << GetParam().first << '\n';
    ASSERT_EQ(0, ::chmod(folder_.path("pmix.node.tool.server").c_str(), 0600));
    answer_as("mine", "server", theirs::PeerKind::named_tool);
    InfoList nowhere;
    nowhere.append_flag(PMIX_TOOL_DO_NOT_CONNECT, true);
    nowhere.append_string(PMIX_TOOL_NSPACE, "mine");
    ASSERT_EQ(PMIX_SUCCESS, init(nowhere));
    InfoList infos;
    infos.append_string(PMIX_TCP_URI, "server.0;tcp4://127.0.0.1:1");
    pmix_proc_t server{};
    EXPECT_EQ(PMIX_ERR_UNREACH, PMIx_tool_attach_to_server(nullptr, &server, infos.c_array(), infos.size()));
    infos.append_string(PMIX_SERVER_ALT_URIS, server_->uri.substr(server_->uri.find(';') + 1).c_str());
    ASSERT_EQ(PMIX_SUCCESS, PMIx_tool_attach_to_server(nullptr, &server, infos.c_array(), infos.size()));
    EXPECT_STREQ("server", server.nspace);
    EXPECT_EQ(PMIX_SUCCESS, PMIx_tool_disconnect(&server));
}

// Each query has its answers, however the server writes them.
TEST_P(OpenPmixTool, Query_TheAnswersOfAll_AreSortedByQuery) {
    for (const bool grouped : {false, true}) {
        server_->on(theirs::Command::query, [this, grouped](uint32_t tag, common::Bytes) {
            theirs::InfosReply reply;
            InfoList answers;
            const auto add = [&](const char* key, const char* text) {
                if (!grouped) return (void)answers.append_string(key, text);
                InfoList one;
                one.append_string(key, text);
                InfoList qualifiers;
                qualifiers.append_string(PMIX_NSPACE, "job");
                one.append(PMIX_QUERY_QUALIFIERS, std::move(common::array_value(std::move(qualifiers))).value());
                answers.append(PMIX_QUERY_RESULTS, std::move(common::array_value(std::move(one))).value());
            };
            add("site.one", "1");
            add("site.two", "2");
            add("site.one", "3");
            reply.infos.emplace().infos = common::Infos(std::move(answers));
            server_->send(tag, reply);
        });
        InfoList infos = by_uri();
        if (!grouped) server_->start();
        ASSERT_EQ(PMIX_SUCCESS, init_tool(&me_, infos));
        char* first[] = {const_cast<char*>("site.one"), const_cast<char*>("site.missing"), nullptr};
        char* second[] = {const_cast<char*>("site.one"), const_cast<char*>("site.two"), nullptr};
        pmix_query_t queries[] = {{first, nullptr, 0}, {second, nullptr, 0}};
        pmix_info_t* results = nullptr;
        size_t n = 0;
        EXPECT_EQ(PMIX_ERR_PARTIAL_SUCCESS, PMIx_Query_info(queries, 2, &results, &n)) << grouped;
        std::string said;
        for (size_t i = 0; i < n; ++i) said += std::string(results[i].key) + "=" + results[i].value.data.string + " ";
        EXPECT_EQ("site.one=1 site.one=3 site.two=2 ", said) << grouped;
        PMIx_Info_free(results, n);
        EXPECT_EQ(PMIX_SUCCESS, PMIx_tool_finalize());
    }
}

// Tools of this library find its own servers without a file.
TEST_P(OpenPmixTool, Find_AFileOfThisProcess_IsNotLookedAt) {
    put_file("pmix.sched.node", ::getpid());
    InfoList infos;
    infos.append_flag(PMIX_CONNECT_TO_SCHEDULER, true);
    EXPECT_EQ(PMIX_ERR_UNREACH, init(infos));
    EXPECT_EQ(0, server_->connections);
}

// ---- releases ----

// 4.2.2 crashes when its host refuses a tool, and mpirun of Open MPI 4.1 refuses all.
TEST(OpenPmixToolRelease, Init_AtAServerThatMayNotSurviveARefusal_IsNotAsked) {
    TemporaryFolder folder;
    ::setenv("PMIX_HOSTNAME", "node", 1);
    ::setenv("PMIX_SYSTEM_TMPDIR", folder.name().c_str(), 1);
    OpenPmixServer server("4.2.2rc2", "v41");
    server.start();
    for (const char* version : {"", "release", "4.2.2rc2", "3.2.5"}) {
        const std::string path = folder.path("pmix.node.tool.server");
        std::ofstream(path) << server.uri << '\n' << version << "\n1\n0:0\nnow\n";
        ASSERT_EQ(0, ::chmod(path.c_str(), 0600));
        InfoList infos;
        infos.append_string(PMIX_SERVER_URI, server.uri.c_str());
        pmix_proc_t me{};
        EXPECT_EQ(PMIX_ERR_NOT_SUPPORTED, init_tool(&me, infos)) << version;
        fs::remove(path);
        EXPECT_EQ(PMIX_ERR_NOT_SUPPORTED, init_tool(&me, infos)) << "nothing says which release it is";
    }
    EXPECT_EQ(0, server.connections);
    OpenPmixServer::clear_environment();
    ::unsetenv("PMIX_SYSTEM_TMPDIR");
}

TEST(OpenPmixToolEnvironment, Describe_AKnownRelease_HasItsEncoding) {
    client::OpenPmixContact contact;
    for (const auto& [version, encoding] :
         {std::pair{"7.0.0rc1", "v61"}, std::pair{"6.1.1rc2", "v61"}, std::pair{"6.0.0", "v51"},
          std::pair{"5.0.7a1", "v41"}, std::pair{"4.2.2", "v41"}, std::pair{"4.0.0", "v4"}}) {
        contact.version = version;
        auto server = client::describe_openpmix_server(contact);
        ASSERT_TRUE(server.ok()) << version;
        EXPECT_EQ(encoding, server->encoding) << version;
    }
    for (const char* version : {"3.2.5", ""}) {
        contact.version = version;
        EXPECT_EQ(PMIX_ERR_NOT_SUPPORTED, client::describe_openpmix_server(contact).status());
    }
}

// ---- this library's own server ----

void on_tool(pmix_info_t* infos, size_t ninfos, pmix_tool_connection_cbfunc_t done, void* data) {
    const InfoView view(infos, ninfos);
    std::string_view nspace;
    (void)view.get(PMIX_TOOL_NSPACE, &nspace);
    const pmix_proc_t named = common::ProcId(nspace.empty() ? "assigned" : std::string(nspace), 0).to_c();
    done(nspace == "unwanted" ? PMIX_ERR_NO_PERMISSIONS : PMIX_SUCCESS, const_cast<pmix_proc_t*>(&named), data);
}
pmix_status_t on_query(pmix_proc_t*, pmix_query_t[], size_t, pmix_info_cbfunc_t done, void* data) {
    static pmix_info_t answer;
    PMIX_INFO_LOAD(&answer, "site.answer", "42", PMIX_STRING);
    done(PMIX_SUCCESS, &answer, 1, data, nullptr, nullptr);
    return PMIX_SUCCESS;
}
pmix_status_t on_control(const pmix_proc_t*, const pmix_proc_t[], size_t, const pmix_info_t[], size_t,
                         pmix_info_cbfunc_t done, void* data) {
    done(PMIX_SUCCESS, nullptr, 0, data, nullptr, nullptr);
    return PMIX_SUCCESS;
}
void on_log(const pmix_proc_t*, const pmix_info_t[], size_t, const pmix_info_t[], size_t, pmix_op_cbfunc_t done,
            void* data) {
    done(PMIX_SUCCESS, data);
}

// In a process of its own: this one is a tool.
class OwnServer {
  public:
    explicit OwnServer(const TemporaryFolder& folder) {
        int up[2], down[2];
        EXPECT_EQ(0, ::pipe2(up, O_CLOEXEC));
        EXPECT_EQ(0, ::pipe2(down, O_CLOEXEC));
        child_ = ::fork();
        if (child_ == 0) {
            ::close(up[0]);
            ::close(down[1]);
            ::_exit(serve(folder, up[1], down[0]));
        }
        ::close(up[1]);
        ::close(down[0]);
        from_.reset(up[0]);
        to_.reset(down[1]);
        char text[512] = {};
        const ssize_t n = ::read(up[0], text, sizeof text - 1);
        EXPECT_GT(n, 0);
        uri = text;
    }
    ~OwnServer() {
        to_.reset();
        int status = 0;
        EXPECT_EQ(child_, ::waitpid(child_, &status, 0));
        EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
    }
    void notify() const { EXPECT_EQ(1, ::write(to_.get(), "e", 1)); }
    std::string uri;

  private:
    static int serve(const TemporaryFolder& folder, int up, int down) {
        pmix_server_module_t module{};
        module.tool_connected = on_tool;
        module.query = on_query;
        module.job_control = on_control;
        module.log = on_log;
        InfoList infos = ServerHere::named();
        infos.append_string(PMIX_HOSTNAME, "node");
        infos.append_string(PMIX_SERVER_TMPDIR, folder.name().c_str());
        infos.append_flag(PMIX_SERVER_TOOL_SUPPORT, true);
        if (PMIx_server_init(&module, infos.c_array(), infos.size()) != PMIX_SUCCESS) return 1;
        pmix_nspace_t job;
        PMIx_Load_nspace(job, "job");
        InfoList facts;
        const uint32_t size = 2;
        facts.append(PMIX_JOB_SIZE, &size, PMIX_UINT32);
        if (PMIx_server_register_nspace(job, 2, facts.c_array(), facts.size(), nullptr, nullptr) != PMIX_SUCCESS)
            return 2;
        std::ifstream file(folder.path("pmix.node.tool.here"));
        std::string uri;
        if (!std::getline(file, uri) || ::write(up, uri.data(), uri.size()) < 0) return 3;
        char letter = 0;
        while (::read(down, &letter, 1) == 1)
            PMIx_Notify_event(-3107, nullptr, PMIX_RANGE_LOCAL, nullptr, 0, nullptr, nullptr);
        return PMIx_server_finalize() == PMIX_SUCCESS ? 0 : 4;
    }

    pid_t child_ = -1;
    transport::Descriptor from_, to_;
};

class OpenPmixToolHere : public ::testing::Test {
  protected:
    void SetUp() override {
        ::setenv("PMIX_HOSTNAME", "node", 1);
        ::setenv("PMIX_SYSTEM_TMPDIR", folder_.name().c_str(), 1);
    }
    void TearDown() override {
        if (PMIx_Initialized()) PMIx_tool_finalize();
        ::unsetenv("PMIX_HOSTNAME");
        ::unsetenv("PMIX_SYSTEM_TMPDIR");
    }
    void init() {
        InfoList infos;
        infos.append_string(PMIX_SERVER_URI, server_.uri.c_str());
        ASSERT_EQ(0u, server_.uri.find("here.3;tcp4://")) << server_.uri;
        ASSERT_EQ(PMIX_SUCCESS, init_tool(&me_, infos));
        ASSERT_TRUE(PMIx_tool_is_connected());
    }
    TemporaryFolder folder_;
    OwnServer server_{folder_};
    pmix_proc_t me_{};
};

TEST_F(OpenPmixToolHere, Init_IsNamedByTheHost) {
    init();
    EXPECT_STREQ("assigned", me_.nspace);
    EXPECT_TRUE(has_server("here"));
}

TEST_F(OpenPmixToolHere, Init_RefusedByTheHost_IsUnreachableOrTheStatus) {
    InfoList infos;
    infos.append_string(PMIX_SERVER_URI, server_.uri.c_str());
    infos.append_string(PMIX_TOOL_NSPACE, "unwanted");
    EXPECT_NE(PMIX_SUCCESS, init_tool(&me_, infos));
}

TEST_F(OpenPmixToolHere, Init_Again_AfterFinalize) {
    for (int i = 0; i < 3; ++i) {
        init();
        EXPECT_EQ(PMIX_SUCCESS, PMIx_tool_finalize());
    }
}

TEST_F(OpenPmixToolHere, Query_IsAnsweredByServerAndHost) {
    init();
    for (const char* key : {PMIX_QUERY_NAMESPACES, "site.answer"}) {
        char* keys[] = {const_cast<char*>(key), nullptr};
        pmix_query_t query{keys, nullptr, 0};
        pmix_info_t* results = nullptr;
        size_t n = 0;
        ASSERT_EQ(PMIX_SUCCESS, PMIx_Query_info(&query, 1, &results, &n)) << key;
        std::string_view text;
        EXPECT_EQ(PMIX_SUCCESS, InfoView(results, n).get(key, &text));
        EXPECT_EQ(key == std::string(PMIX_QUERY_NAMESPACES) ? "job" : "42", text);
        PMIx_Info_free(results, n);
    }
}

TEST_F(OpenPmixToolHere, Get_OfAJob_HasItsData) {
    init();
    const pmix_proc_t job = common::ProcId("job", PMIX_RANK_WILDCARD).to_c();
    pmix_value_t* value = nullptr;
    ASSERT_EQ(PMIX_SUCCESS, PMIx_Get(&job, PMIX_JOB_SIZE, nullptr, 0, &value));
    EXPECT_EQ(2u, value->data.uint32);
    PMIx_Value_free(value, 1);
    EXPECT_EQ(PMIX_ERR_NOT_FOUND, PMIx_Get(&job, "pmix.nosuch", nullptr, 0, &value));
}

struct HeardHere {
    std::mutex mutex;
    std::condition_variable changed;
    std::string source;
};
HeardHere g_heard_here;
void on_event(size_t, pmix_status_t, const pmix_proc_t* source, pmix_info_t[], size_t, pmix_info_t[], size_t,
              pmix_event_notification_cbfunc_fn_t done, void* cbdata) {
    {
        const std::lock_guard lock(g_heard_here.mutex);
        g_heard_here.source = source->nspace;
        g_heard_here.changed.notify_all();
    }
    if (done != nullptr) done(PMIX_EVENT_ACTION_COMPLETE, nullptr, 0, nullptr, nullptr, cbdata);
}

TEST_F(OpenPmixToolHere, Event_OfTheServer_IsHeard) {
    init();
    pmix_status_t code = -3107;
    ASSERT_GE(PMIx_Register_event_handler(&code, 1, nullptr, 0, &on_event, nullptr, nullptr), 0);
    server_.notify();
    std::unique_lock lock(g_heard_here.mutex);
    EXPECT_TRUE(
        g_heard_here.changed.wait_for(lock, std::chrono::seconds(60), [] { return !g_heard_here.source.empty(); }));
    EXPECT_EQ("here", g_heard_here.source);
}

TEST_F(OpenPmixToolHere, Control_Log_AndWhatIsNotThere) {
    init();
    const pmix_proc_t job = common::ProcId("job", PMIX_RANK_WILDCARD).to_c();
    InfoList kill;
    kill.append_flag(PMIX_JOB_CTRL_KILL, true);
    pmix_info_t* results = nullptr;
    size_t n = 0;
    EXPECT_EQ(PMIX_SUCCESS, PMIx_Job_control(&job, 1, kill.c_array(), kill.size(), &results, &n));
    InfoList text;
    text.append_string("site.log", "words");
    EXPECT_EQ(PMIX_SUCCESS, PMIx_Log(text.c_array(), text.size(), nullptr, 0));
    // Its host has no entries for these.
    EXPECT_EQ(PMIX_ERR_NOT_SUPPORTED, PMIx_Publish(text.c_array(), text.size()));
    EXPECT_EQ(PMIX_ERR_NOT_SUPPORTED, PMIx_Allocation_request(PMIX_ALLOC_NEW, nullptr, 0, &results, &n));
}

TEST_F(OpenPmixToolHere, Server_Gone_IsALostConnection) {
    init();
    EXPECT_TRUE(PMIx_tool_is_connected());
    const pmix_proc_t server = ServerHere::self();
    EXPECT_EQ(PMIX_SUCCESS, PMIx_tool_disconnect(&server));
    EXPECT_FALSE(PMIx_tool_is_connected());
    InfoList infos;
    infos.append_string(PMIX_SERVER_URI, server_.uri.c_str());
    pmix_proc_t again{};
    EXPECT_EQ(PMIX_SUCCESS, PMIx_tool_attach_to_server(nullptr, &again, infos.c_array(), infos.size()));
    EXPECT_STREQ("here", again.nspace);
    EXPECT_TRUE(PMIx_tool_is_connected());
}

}  // namespace
}  // namespace pmix::test::openpmix_tool_test

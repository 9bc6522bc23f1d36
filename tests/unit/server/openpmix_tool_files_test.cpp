// SPDX-License-Identifier: BSD-3-Clause
// The files by which OpenPMIx's tools find a server, and such a tool's way to it.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "server/openpmix/tool_files.h"
#include "support/openpmix_client.h"
#include "support/server_here.h"
#include "support/status.h"
#include "support/temporary_folder.h"

namespace openpmix_tool_files_test {

using namespace pmix;
using namespace pmix::test;

namespace {

namespace fs = std::filesystem;

void on_tool(pmix_info_t*, size_t, pmix_tool_connection_cbfunc_t done, void* data) {
    pmix_proc_t none{};
    done(PMIX_SUCCESS, &none, data);
}

class OpenPmixToolFilesTest : public ::testing::Test {
  protected:
    OpenPmixToolFilesTest() {
        char name[] = "/tmp/tool_files_test.XXXXXX";
        folder_ = ::mkdtemp(name);
        fs::create_directory(folder_ + "/session");
        fs::create_directory(folder_ + "/system");
        module_.tool_connected = on_tool;
    }
    ~OpenPmixToolFilesTest() override { fs::remove_all(folder_); }

    InfoList infos(const char* wanted = PMIX_SERVER_TOOL_SUPPORT) const {
        InfoList infos = ServerHere::named();
        infos.append_string(PMIX_HOSTNAME, "node");
        infos.append_string(PMIX_SERVER_TMPDIR, (folder_ + "/session").c_str());
        infos.append_string(PMIX_SYSTEM_TMPDIR, (folder_ + "/system").c_str());
        infos.append_flag(wanted, true);
        return infos;
    }
    std::string session(const std::string& name) const { return folder_ + "/session/" + name; }
    std::string by_pid(pid_t pid = ::getpid()) const { return session("pmix.node.tool." + std::to_string(pid)); }
    size_t files() const {
        size_t n = 0;
        for (const auto& entry : fs::recursive_directory_iterator(folder_)) n += entry.is_directory() ? 0 : 1;
        return n;
    }
    static std::vector<std::string> lines(const std::string& path) {
        std::ifstream file(path);
        std::vector<std::string> lines;
        for (std::string line; std::getline(file, line);) lines.push_back(line);
        return lines;
    }
    // What a server leaves that cannot remove anything any more. Port 1: nobody listens there.
    void leave(pid_t pid, const std::string& port = "1") const {
        std::ofstream(by_pid(pid)) << "gone.0;tcp4://127.0.0.1:" << port << "\nv5.0.11\n" << pid << "\n0:0\nnow\n";
    }
    static pid_t ended_process() {
        const pid_t child = ::fork();
        if (child == 0) ::_exit(0);
        EXPECT_EQ(child, ::waitpid(child, nullptr, 0));
        return child;
    }

    std::string folder_;
    pmix_server_module_t module_{};
};

}  // namespace

TEST_F(OpenPmixToolFilesTest, Server_ThatTakesTools_IsFoundByPidAndName) {
    {
        ServerHere server(&module_, infos());
        const auto text = lines(by_pid());
        ASSERT_EQ(5u, text.size());
        EXPECT_EQ(0u, text[0].find("here.3;tcp4://127.0.0.1:"));
        EXPECT_EQ('v', text[1][0]);
        EXPECT_EQ(std::to_string(::getpid()), text[2]);
        EXPECT_EQ(std::to_string(::geteuid()) + ':' + std::to_string(::getegid()), text[3]);
        EXPECT_EQ(text, lines(session("pmix.node.tool.here")));
        EXPECT_EQ(2u, files());
        struct stat info {};
        ASSERT_EQ(0, ::stat(by_pid().c_str(), &info));
        EXPECT_EQ(0600u, info.st_mode & 07777u);
    }
    EXPECT_EQ(0u, files());
}

TEST_F(OpenPmixToolFilesTest, Server_OfASession_HasTheSessionsFile) {
    ServerHere server(&module_, infos(PMIX_SERVER_SESSION_SUPPORT));
    EXPECT_EQ(lines(by_pid()), lines(session("pmix.node.tool")));
}

// Its host decides about tools of other users.
TEST_F(OpenPmixToolFilesTest, Server_OfTheSystem_HasAFileThatAllMayRead) {
    ServerHere server(&module_, infos(PMIX_SERVER_SYSTEM_SUPPORT));
    EXPECT_EQ(1u, files());
    const std::string path = folder_ + "/system/pmix.sys.node";
    EXPECT_EQ(5u, lines(path).size());
    struct stat info {};
    ASSERT_EQ(0, ::stat(path.c_str(), &info));
    EXPECT_EQ(0644u, info.st_mode & 07777u);
}

TEST_F(OpenPmixToolFilesTest, Scheduler_HasItsFile) {
    ServerHere server(&module_, infos(PMIX_SERVER_SCHEDULER));
    EXPECT_EQ(1u, files());
    EXPECT_EQ(5u, lines(folder_ + "/system/pmix.sched.node").size());
}

// A scheduler whose module has no entry for tools would refuse them all.
TEST_F(OpenPmixToolFilesTest, Host_WithoutToolConnected_IsToldThatNoToolCanConnect) {
    for (const char* asks : {PMIX_SERVER_SCHEDULER, PMIX_SERVER_SYSTEM_SUPPORT, PMIX_SERVER_TOOL_SUPPORT}) {
        TemporaryFolder logs;
        InfoList given = infos(asks);
        given.append_string(PMIX_WIREUP_LOG, "warn@" + logs.path("log"));
        pmix_server_module_t none{};
        ServerHere server(&none, std::move(given));
        EXPECT_NE(std::string::npos, logs.text("log").find("no tool can connect, for the module has no tool_connected"))
            << asks << ": " << logs.text("log");
    }
}

TEST_F(OpenPmixToolFilesTest, Server_ThatTakesNoTools_HasNone) {
    InfoList no_tools = ServerHere::named();
    no_tools.append_string(PMIX_SERVER_TMPDIR, (folder_ + "/session").c_str());
    InfoList not_theirs = infos();
    not_theirs.append_flag(PMIX_WIREUP_OPENPMIX, false);
    for (InfoList* given : {&no_tools, &not_theirs}) {
        ServerHere server(&module_, std::move(*given));
        EXPECT_EQ(0u, files());
    }
}

TEST_F(OpenPmixToolFilesTest, FileOfAKilledServer_IsRemovedByTheNext) {
    const pid_t dead = ended_process();
    leave(dead);
    ServerHere server(&module_, infos());
    EXPECT_FALSE(fs::exists(by_pid(dead)));
    EXPECT_TRUE(fs::exists(by_pid()));
}

TEST_F(OpenPmixToolFilesTest, FileOfAServerThatMayBeThere_Stays) {
    leave(::getppid());  // a process
    const pid_t dead = ended_process();
    ServerHere other(nullptr, ServerHere::named());
    register_job("job");
    const std::string uri = ChildEnvironment(ProcId("job", 0).to_c()).get("PMIX_SERVER_URI41");
    leave(dead, uri.substr(uri.rfind(':') + 1));  // of another pid namespace: somebody listens
    std::ofstream(session("pmix.node.tool.text")) << "no such file\n";
    server::OpenPmixToolFiles made;
    server::ToolFileOptions options;
    options.node = "node";
    options.server = "mine";
    options.uri = "mine.0;tcp4://127.0.0.1:2";
    options.tmpdir = folder_ + "/session";
    options.tools = true;
    made.make(options);
    EXPECT_EQ(5u, files());
    made.remove();
    EXPECT_EQ(3u, files());
}

TEST_F(OpenPmixToolFilesTest, Tool_AtTheAddressInTheFile_IsLetInAndServed) {
    ServerHere server(&module_, infos());
    OpenPmixClient tool(lines(by_pid()).at(0));
    tool.request.kind = openpmix::PeerKind::tool;
    tool.request.uid = ::geteuid();
    tool.request.gid = ::getegid();
    ASSERT_TRUE(tool.hello({}));
    ASSERT_TRUE(tool.reply.self);
    EXPECT_FALSE(tool.reply.self->nspace.empty());
    // As its library asks at once: there is hardly any data of a tool, but its name.
    OpenPmixClient::Bytes payload;
    ASSERT_TRUE(tool.receive(tool.send(openpmix::JobDataRequest{}), &payload));
    openpmix::JobData data;
    values_in(payload, tool.traits, &data);
    EXPECT_EQ(tool.reply.self->nspace, data.nspace.text);
    EXPECT_STATUS(PMIX_SUCCESS, tool.status_of(openpmix::FinalizeRequest{}));
}

// The kernel does not tell whether both are one process.
TEST_F(OpenPmixToolFilesTest, Tool_OfANameInUse_IsRefused) {
    ServerHere server(&module_, infos());
    OpenPmixClient first(lines(by_pid()).at(0));
    OpenPmixClient second(lines(by_pid()).at(0));
    for (OpenPmixClient* tool : {&first, &second}) {
        tool->request.kind = openpmix::PeerKind::named_tool;
        tool->request.uid = ::geteuid();
        tool->request.gid = ::getegid();
    }
    ASSERT_TRUE(first.hello({"tool", 0}));
    EXPECT_FALSE(second.hello({"tool", 0}));
}

}  // namespace openpmix_tool_files_test

// SPDX-License-Identifier: BSD-3-Clause
// How a tool finds a server of OpenPMIx's: by the files that it has left, by process, by namespace, by role.
#include "support/status.h"
#include "unit/client/openpmix_tool_setting.h"

namespace pmix::test::openpmix_tool_find_test {
namespace {

namespace fs = std::filesystem;
namespace theirs = openpmix;

class OpenPmixToolFind : public OpenPmixToolSetting {};
INSTANTIATE_TEST_SUITE_P(Releases, OpenPmixToolFind, kToolReleases);

TEST_P(OpenPmixToolFind, Find_ByAFileWithOtherAddresses_AtTheOneThatAccepts) {
    std::ofstream(folder_.path("report")) << "server.0;tcp4://127.0.0.1:1\nv" << GetParam().first
                                          << "\nalturis:" << server_->uri.substr(server_->uri.find(';') + 1) << '\n';
    ASSERT_EQ(0, ::chmod(folder_.path("report").c_str(), 0600));
    InfoList infos;
    infos.append_string(PMIX_TOOL_ATTACHMENT_FILE, folder_.path("report").c_str());
    ASSERT_STATUS(PMIX_SUCCESS, init(infos));
    EXPECT_TRUE(has_server("server"));
}

TEST_P(OpenPmixToolFind, Find_ByTheFileThatIsNamed) {
    put_file("report");
    for (const bool as_uri : {false, true}) {
        InfoList infos;
        infos.append_string(as_uri ? PMIX_SERVER_URI : PMIX_TOOL_ATTACHMENT_FILE,
                            ((as_uri ? "file:" : "") + folder_.path("report")).c_str());
        if (!as_uri) server_->start();
        ASSERT_STATUS(PMIX_SUCCESS, init_tool(&me_, infos)) << as_uri;
        EXPECT_TRUE(has_server("server"));
        EXPECT_STATUS(PMIX_SUCCESS, PMIx_tool_finalize());
    }
}

// proves: PMIx_tool_init PMIX_SYSTEM_TMPDIR
TEST_P(OpenPmixToolFind, Find_ByItsProcess) {
    ::unsetenv("PMIX_SYSTEM_TMPDIR");
    put_file("session/pmix.node.tool.server");
    put_stale_file("pmix.node.tool.old");
    InfoList infos;
    const pid_t pid = ::getppid();
    infos.append(PMIX_SERVER_PIDINFO, &pid, PMIX_PID);
    infos.append_string(PMIX_SYSTEM_TMPDIR, folder_.name().c_str());
    ASSERT_STATUS(PMIX_SUCCESS, init(infos));
    EXPECT_TRUE(has_server("server"));
}

// proves: PMIx_tool_init PMIX_SERVER_TMPDIR
TEST_P(OpenPmixToolFind, Find_ByItsNamespace_TheOneThatIsThere) {
    put_file("session/pmix.node.tool.server");
    put_stale_file("pmix.node.tool.gone");
    fs::last_write_time(folder_.path("pmix.node.tool.gone"), fs::file_time_type::min());  // looked at first
    ::setenv("PMIX_SYSTEM_TMPDIR", "/proc/self/fdinfo", 1);
    InfoList infos;
    infos.append_string(PMIX_SERVER_NSPACE, "server");
    infos.append_string(PMIX_SERVER_TMPDIR, folder_.name().c_str());
    ASSERT_STATUS(PMIX_SUCCESS, init(infos));
    EXPECT_TRUE(has_server("server"));
}

TEST_P(OpenPmixToolFind, Find_NobodyOfThisName_IsUnreachable) {
    put_file("session/pmix.node.tool.server");
    put_stale_file("pmix.node.tool.gone");
    InfoList infos;
    infos.append_string(PMIX_SERVER_NSPACE, "nobody");
    EXPECT_STATUS(PMIX_ERR_UNREACH, init(infos));
    InfoList of_rank;
    of_rank.append_string(PMIX_SERVER_NSPACE, "server");
    const pmix_rank_t rank = 7;
    of_rank.append(PMIX_SERVER_RANK, &rank, PMIX_PROC_RANK);
    EXPECT_STATUS(PMIX_ERR_UNREACH, init_tool(&me_, of_rank));
}

// proves: PMIx_tool_init PMIX_CONNECT_TO_SCHEDULER
TEST_P(OpenPmixToolFind, Find_TheScheduler) {
    put_file("pmix.sched.node");
    InfoList infos;
    infos.append_flag(PMIX_CONNECT_TO_SCHEDULER, true);
    ASSERT_STATUS(PMIX_SUCCESS, init(infos));
    EXPECT_TRUE(has_server("server"));
}

// proves: PMIx_tool_init PMIX_CONNECT_TO_SYS_CONTROLLER
TEST_P(OpenPmixToolFind, Find_TheController) {
    put_stale_file("pmix.sys.node");
    put_stale_file("pmix.sched.node");
    put_file("pmix.sysctrlr.node");
    InfoList infos;
    infos.append_flag(PMIX_CONNECT_TO_SYS_CONTROLLER, true);
    ASSERT_STATUS(PMIX_SUCCESS, init(infos));
    EXPECT_TRUE(has_server("server"));
}

TEST_P(OpenPmixToolFind, Find_TheController_WhereThereIsNone_IsUnreachable) {
    put_file("pmix.sched.node");
    InfoList infos;
    infos.append_flag(PMIX_CONNECT_TO_SYS_CONTROLLER, true);
    EXPECT_STATUS(PMIX_ERR_UNREACH, init(infos));
}

// proves: PMIx_tool_attach_to_server PMIX_CONNECT_TO_SYS_CONTROLLER
TEST_P(OpenPmixToolFind, Attach_ToTheController) {
    put_file("pmix.sysctrlr.node");
    answer_as("mine", "server", theirs::PeerKind::named_tool);
    InfoList nowhere;
    nowhere.append_flag(PMIX_TOOL_DO_NOT_CONNECT, true);
    nowhere.append_string(PMIX_TOOL_NSPACE, "mine");
    ASSERT_STATUS(PMIX_SUCCESS, init(nowhere));
    InfoList infos;
    infos.append_flag(PMIX_CONNECT_TO_SYS_CONTROLLER, true);
    pmix_proc_t server;
    EXPECT_STATUS(PMIX_SUCCESS, PMIx_tool_attach_to_server(nullptr, &server, infos.c_array(), infos.size()));
    EXPECT_STREQ("server", server.nspace);
}

// Each once, with what it is for; what is gone is left out.
TEST_P(OpenPmixToolFind, Query_AvailableServers_HasTheirs) {
    put_file("session/pmix.node.tool.server");
    put_file("session/pmix.node.tool");
    put_file("pmix.sysctrlr.node");
    std::ofstream(folder_.path("pmix.sys.node")) << "gone.0;tcp4://127.0.0.1:1\nv5.0.7\n2147483646\n0:0\nnow\n";
    ASSERT_EQ(0, ::chmod(folder_.path("pmix.sys.node").c_str(), 0600));
    InfoList infos;
    infos.append_flag(PMIX_CONNECT_TO_SYS_CONTROLLER, true);
    ASSERT_STATUS(PMIX_SUCCESS, init(infos));
    char* keys[] = {const_cast<char*>(PMIX_QUERY_AVAIL_SERVERS), nullptr};
    pmix_query_t query{keys, nullptr, 0};
    pmix_info_t* results = nullptr;
    size_t n = 0;
    ASSERT_STATUS(PMIX_SUCCESS, PMIx_Query_info(&query, 1, &results, &n));
    ASSERT_EQ(1u, n);
    size_t theirs_listed = 0;
    for (const pmix_info_t& server : common::infos_in(results[0].value)) {
        EXPECT_STREQ(PMIX_SERVER_INFO_ARRAY, server.key);
        const common::InfoView about = common::infos_in(server.value);
        std::string_view uri, version, name;
        const pmix_info_t* rank = about.find(PMIX_RANK);
        EXPECT_STATUS(PMIX_SUCCESS, about.get(PMIX_SERVER_URI, &uri));
        EXPECT_FALSE(uri.starts_with("gone")) << uri;
        if (uri != server_->uri) continue;
        ++theirs_listed;
        EXPECT_STATUS(PMIX_SUCCESS, about.get(PMIX_VERSION_INFO, &version));
        EXPECT_EQ(GetParam().first, version);
        EXPECT_STATUS(PMIX_SUCCESS, about.get(PMIX_NSPACE, &name));
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
TEST_P(OpenPmixToolFind, Attach_ByAFile_InTheFolderThatIsNamed) {
    ::unsetenv("PMIX_SYSTEM_TMPDIR");
    put_file("pmix.sched.node");
    answer_as("mine", "server", theirs::PeerKind::named_tool);
    InfoList nowhere;
    nowhere.append_flag(PMIX_TOOL_DO_NOT_CONNECT, true);
    nowhere.append_string(PMIX_TOOL_NSPACE, "mine");
    ASSERT_STATUS(PMIX_SUCCESS, init(nowhere));
    for (const char* folder : {PMIX_SYSTEM_TMPDIR, PMIX_SERVER_TMPDIR}) {
        InfoList infos;
        infos.append_flag(PMIX_CONNECT_TO_SCHEDULER, true);
        infos.append_string(folder, folder_.name().c_str());
        pmix_proc_t server{};
        ASSERT_STATUS(PMIX_SUCCESS, PMIx_tool_attach_to_server(nullptr, &server, infos.c_array(), infos.size()))
            << folder;
        EXPECT_STREQ("server", server.nspace);
        EXPECT_EQ(theirs::PeerKind::named_tool, server_->hello.kind);
        EXPECT_STATUS(PMIX_SUCCESS, PMIx_tool_disconnect(&server));
    }
}

// proves: PMIx_tool_attach_to_server PMIX_SERVER_ALT_URIS
TEST_P(OpenPmixToolFind, Attach_NobodyAtTheFirstAddress_IsTriedAtTheOthers) {
    std::ofstream(folder_.path("pmix.node.tool.server"))
        << "server.0;tcp4://127.0.0.1:1\nv" << GetParam().first << '\n';
    ASSERT_EQ(0, ::chmod(folder_.path("pmix.node.tool.server").c_str(), 0600));
    answer_as("mine", "server", theirs::PeerKind::named_tool);
    InfoList nowhere;
    nowhere.append_flag(PMIX_TOOL_DO_NOT_CONNECT, true);
    nowhere.append_string(PMIX_TOOL_NSPACE, "mine");
    ASSERT_STATUS(PMIX_SUCCESS, init(nowhere));
    InfoList infos;
    infos.append_string(PMIX_TCP_URI, "server.0;tcp4://127.0.0.1:1");
    pmix_proc_t server{};
    EXPECT_STATUS(PMIX_ERR_UNREACH, PMIx_tool_attach_to_server(nullptr, &server, infos.c_array(), infos.size()));
    infos.append_string(PMIX_SERVER_ALT_URIS, server_->uri.substr(server_->uri.find(';') + 1).c_str());
    ASSERT_STATUS(PMIX_SUCCESS, PMIx_tool_attach_to_server(nullptr, &server, infos.c_array(), infos.size()));
    EXPECT_STREQ("server", server.nspace);
    EXPECT_STATUS(PMIX_SUCCESS, PMIx_tool_disconnect(&server));
}

// Tools of this library find its own servers without a file.
TEST_P(OpenPmixToolFind, Find_AFileOfThisProcess_IsNotLookedAt) {
    put_file("pmix.sched.node", ::getpid());
    InfoList infos;
    infos.append_flag(PMIX_CONNECT_TO_SCHEDULER, true);
    EXPECT_STATUS(PMIX_ERR_UNREACH, init(infos));
    EXPECT_EQ(0, server_->connections);
}

}  // namespace
}  // namespace pmix::test::openpmix_tool_find_test

// SPDX-License-Identifier: BSD-3-Clause
// Which of several servers a tool means: folders, users, ancestors, and those that are alike.
#include "client/tool/server_choice.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <map>

#include "client/tool/process_tree.h"
#include "support/status.h"
#include "support/temporary_folder.h"

namespace pmix::client::server_choice_test {
namespace {

using common::InfoList;

std::map<std::string, std::string> g_variables;
const char* variable(const char* name) {
    const auto at = g_variables.find(name);
    return at == g_variables.end() ? nullptr : at->second.c_str();
}

ServerRequests requests_of(std::map<std::string, std::string> variables, InfoList infos = {}) {
    g_variables = std::move(variables);
    ServerRequests requests;
    EXPECT_STATUS(PMIX_SUCCESS, read_requests({infos.c_array(), infos.size()}, &variable, requests));
    return requests;
}

InfoList attribute(const char* key, const std::string& value) {
    InfoList infos;
    infos.append_string(key, value);
    return infos;
}

common::IdentityReply identity_in(const std::string& folder, const std::string& system = "") {
    common::IdentityReply identity;
    identity.tmpdir = folder;
    identity.system_tmpdir = system;
    return identity;
}

MetServer met(const char* nspace, common::Rank rank, pid_t pid, const FolderRequest& folder = {},
              const std::string& tmpdir = "/t") {
    SurveyedServer server;
    server.identity = identity_in(tmpdir);
    server.identity.server = common::ProcId(nspace, rank);
    server.peer = {pid, ::geteuid(), ::getegid()};
    return placed_server(std::move(server), {10, 9, 8}, folder, false, ::geteuid());
}

}  // namespace

TEST(ServerChoice, AttributesNarrow_BeforeVariables_AndTmpdirPrefers) {
    const auto by = requests_of({{"PMIX_SERVER_TMPDIR", "/v"}, {"TMPDIR", "/t"}}, attribute(PMIX_SERVER_TMPDIR, "/a"));
    EXPECT_EQ("/a", by.any.path);
    EXPECT_TRUE(by.any.required && by.server.required);
    const auto inherited = requests_of({{"PMIX_SERVER_TMPDIR", "/v"}, {"TMPDIR", "/t"}});
    EXPECT_EQ("/v", inherited.any.path);
    EXPECT_TRUE(inherited.any.required);
    EXPECT_EQ("/v", inherited.server.path);
    EXPECT_FALSE(inherited.server.required) << "a name is enough";
    const auto preferred = requests_of({{"TMPDIR", "/t"}});
    EXPECT_EQ("/t", preferred.any.path);
    EXPECT_FALSE(preferred.any.required || preferred.server.required || preferred.system.required);
    EXPECT_EQ("", requests_of({}).any.path);
    EXPECT_EQ("", requests_of({{"TMPDIR", std::string(5000, 'x')}}).any.path) << "no folder has so long a name";
}

TEST(ServerChoice, Folders_AreCompared_AsTheyAreResolved) {
    test::TemporaryFolder folder;
    ASSERT_EQ(0, ::mkdir(folder.path("a").c_str(), 0700));
    ASSERT_EQ(0, ::mkdir(folder.path("ab").c_str(), 0700));
    ASSERT_EQ(0, ::symlink(folder.path("a").c_str(), folder.path("link").c_str()));
    EXPECT_TRUE(is_within(folder.path("a"), folder.path("link/")));
    EXPECT_TRUE(is_within(folder.path("link"), folder.name()));
    EXPECT_TRUE(is_within("/gone/b/c", "/gone/b"));
    EXPECT_TRUE(is_within("/gone", "/"));
    EXPECT_FALSE(is_within(folder.path("ab"), folder.path("a")));
    EXPECT_FALSE(is_within(folder.name(), folder.path("a")));
    EXPECT_FALSE(is_within("", "/"));
    ::unlink(folder.path("link").c_str());
}

TEST(ServerChoice, OfTheSystem_ItsOwnFolderIsMeant) {
    const auto requests = requests_of({}, attribute(PMIX_SYSTEM_TMPDIR, "/top"));
    EXPECT_TRUE(satisfies(requests, requests.system, identity_in("/x", "/top")));
    EXPECT_FALSE(satisfies(requests, requests.system, identity_in("/top", "/top/below")));
    EXPECT_TRUE(satisfies(requests, requests.any, identity_in("/top/below", "/x")));
    EXPECT_TRUE(satisfies(requests, requests.any, identity_in("/x", "/top/below")));
    EXPECT_FALSE(satisfies(requests, requests.any, identity_in("/x", "/y")));
    EXPECT_FALSE(satisfies(requests, requests.any, identity_in(""))) << "an older server's answer has no folder";
}

TEST(ServerChoice, Hostname_WithOrWithoutItsDomain) {
    EXPECT_TRUE(is_hostname("node1", "node1"));
    EXPECT_TRUE(is_hostname("node1.a.b", "node1"));
    EXPECT_TRUE(is_hostname("node1", "node1.a.b"));
    EXPECT_FALSE(is_hostname("node1.a", "node1.b"));
    EXPECT_FALSE(is_hostname("node1", "node10"));
    EXPECT_FALSE(is_hostname("", "node1"));
}

TEST(ServerChoice, Order_NearestAncestor_ThenPreferredFolder_ThenTheLowestRank) {
    const FolderRequest folder{"/t/mine"};
    std::vector<MetServer> all;
    all.push_back(met("far", 0, 77, folder, "/t"));
    all.push_back(met("b", 1, 78, folder, "/t/mine"));
    all.push_back(met("b", 0, 79, folder, "/t/mine/below"));
    all.push_back(met("grandparent", 0, 8, folder, "/t"));
    all.push_back(met("parent", 0, 9, folder, "/t"));
    sort_servers(all);
    std::vector<std::string> names;
    for (const MetServer& one : all)
        names.push_back(one.server.identity.server.nspace + std::to_string(one.server.identity.server.rank));
    EXPECT_EQ((std::vector<std::string>{"parent0", "grandparent0", "b0", "b1", "far0"}), names);
    EXPECT_EQ(1u, first_standing(all, 0));
    EXPECT_EQ(2u, first_standing(all, 2));
    EXPECT_FALSE(has_alike(all, 2, 2)) << "two servers of one session";
}

// Only root meets it. Process 1 is in everybody's line, and any server may claim to have the job.
TEST(ServerChoice, AnotherUsersServer_ThatClaimsALauncherAndTheJob_IsLast) {
    std::vector<MetServer> all;
    SurveyedServer other;
    other.identity = identity_in("/t");
    other.identity.server = common::ProcId("other", 0);
    other.identity.launcher = 9;
    other.peer = {77, ::geteuid() + 1, ::getegid()};
    all.push_back(placed_server(std::move(other), {10, 9, 8}, {}, false, ::geteuid()));
    all.push_back(met("mine", 0, 78));
    all.back().by_job = true;
    sort_servers(all);
    EXPECT_EQ("mine", all[0].server.identity.server.nspace);
}

TEST(ServerChoice, InheritedFolderOfTheSystem_Prefers) {
    const auto inherited = requests_of({{"PMIX_SYSTEM_TMPDIR", "/v"}});
    EXPECT_EQ("/v", inherited.any.path);
    EXPECT_FALSE(inherited.any.required || inherited.system.required) << "servers of jobs are elsewhere";
}

TEST(ServerChoice, Alike_TwoSessions_OrOneNameTwice) {
    std::vector<MetServer> sessions, twice;
    sessions.push_back(met("a", 0, 77));
    sessions.push_back(met("b", 1, 78));
    EXPECT_TRUE(has_alike(sessions, 0, 2));
    twice.push_back(met("a", 0, 77));
    twice.push_back(met("a", 0, 78));
    EXPECT_TRUE(has_alike(twice, 0, 2));
    EXPECT_FALSE(has_alike(twice, 0, 1));
}

TEST(ServerChoice, Ancestry_OfThisProcess_BeginsWithItAndItsParent) {
    const std::vector<pid_t> line = ancestry_of(::getpid());
    ASSERT_LE(2u, line.size());
    EXPECT_EQ(::getpid(), line[0]);
    EXPECT_EQ(::getppid(), line[1]);
    EXPECT_FALSE(is_stopped(::getpid()));
}

}  // namespace pmix::client::server_choice_test

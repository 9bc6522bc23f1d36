// SPDX-License-Identifier: BSD-3-Clause
// The addresses of servers that speak OpenPMIx's protocol, their files, and which of them a tool looks at.
#include <arpa/inet.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "client/openpmix/server_address.h"
#include "client/openpmix/server_files.h"
#include "support/other_users.h"
#include "support/status.h"
#include "support/temporary_folder.h"

namespace pmix::test::openpmix_server_files_test {
namespace {

namespace fs = std::filesystem;
using client::OpenPmixFile;
using client::OpenPmixPlaces;
using client::parse_openpmix_address;
using client::parse_openpmix_contact;

constexpr const char* kUri = "prte-vm-17@0.0;tcp4://127.0.0.1:36514";

// ---- addresses ----

TEST(OpenPmixAddress, Parse_AServersUri_HasItsNameAndPlace) {
    auto address = parse_openpmix_address(kUri);
    ASSERT_TRUE(address.ok());
    EXPECT_EQ(common::ProcId("prte-vm-17@0", 0), address->server);
    EXPECT_EQ(36514, ntohs(address->address.sin_port));
    EXPECT_EQ(htonl(INADDR_LOOPBACK), address->address.sin_addr.s_addr);
    EXPECT_EQ(kUri, address->uri);
}

TEST(OpenPmixAddress, Parse_NamesOfEncodingsInFront_AreLeftOut) {
    auto address = parse_openpmix_address(std::string("61:41:4;") + kUri);
    ASSERT_TRUE(address.ok());
    EXPECT_EQ(kUri, address->uri);
    EXPECT_EQ("prte-vm-17@0", address->server.nspace);
}

TEST(OpenPmixAddress, Parse_ANameWithDots_IsCutAtTheLast) {
    auto address = parse_openpmix_address("prte.node1.site-17@0.3;tcp4://10.0.0.1:1");
    ASSERT_TRUE(address.ok());
    EXPECT_EQ(common::ProcId("prte.node1.site-17@0", 3), address->server);
}

TEST(OpenPmixAddress, Parse_WhatIsNone_IsRefused) {
    const std::string long_name(common::kMaxNspaceLength + 1, 'n');
    for (const std::string& text :
         {std::string(), std::string("nonsense"), std::string(";"), std::string("server;tcp4://127.0.0.1:1"),
          std::string(".0;tcp4://127.0.0.1:1"), std::string("server.x;tcp4://127.0.0.1:1"),
          std::string("server.0;tcp4://127.0.0.1"), std::string("server.0;tcp4://127.0.0.1:0"),
          std::string("server.0;tcp4://127.0.0.1:70000"), std::string("server.0;tcp4://localhost:1"),
          std::string("server.0;tcp4://127.0.0.1:1x"), std::string("ab:41;server.0;tcp4://127.0.0.1:1"),
          std::string("server.0;tcp4://127.0.0.1\0:1", 28), std::string("ser\0ver.0;tcp4://127.0.0.1:1", 28),
          long_name + ".0;tcp4://127.0.0.1:1", std::string(1 << 20, '4') + ";server.0;tcp4://127.0.0.1:1"})
        EXPECT_STATUS(PMIX_ERR_BAD_PARAM, parse_openpmix_address(text).status()) << text.substr(0, 80);
    EXPECT_STATUS(PMIX_ERR_NOT_SUPPORTED, parse_openpmix_address("server.0;tcp6://[::1]:1").status());
}

TEST(OpenPmixAddress, Meant_IsByTheScheme) {
    EXPECT_TRUE(client::is_openpmix_address(kUri));
    EXPECT_TRUE(client::is_openpmix_address("41;server.0;tcp4://x"));
    EXPECT_TRUE(client::is_openpmix_address("server.0;tcp6://[::1]:1"));
    for (const char* text : {"", ";", "tcp4://127.0.0.1:1", "server.0;wireup:@wireup/0/1/aa", "server.0;tcp4:"})
        EXPECT_FALSE(client::is_openpmix_address(text)) << text;
}

// ---- what is in a file ----

TEST(OpenPmixContact, Parse_AServersFile_HasItsReleaseAndProcess) {
    auto contact = parse_openpmix_contact(std::string(kUri) + "\nv5.0.7a1\n17\n0:0\nFri Nov 27 2026\n\n");
    ASSERT_TRUE(contact.ok());
    EXPECT_EQ("prte-vm-17@0", contact->address.server.nspace);
    EXPECT_EQ("5.0.7a1", contact->version);
    EXPECT_EQ(17, contact->pid);
    EXPECT_EQ("4.2.2rc2", parse_openpmix_contact(std::string(kUri) + "\n4.2.2rc2\n1\n")->version) << "or without a v";
}

TEST(OpenPmixContact, Parse_AReport_NeedsTheAddressOnly) {
    for (const char* rest : {"\n", "\nv5.0.7a1\n", "\nv5.0.7a1"}) {
        auto contact = parse_openpmix_contact(std::string(kUri) + rest);
        ASSERT_TRUE(contact.ok());
        EXPECT_EQ(0, contact->pid);
    }
    EXPECT_EQ("", parse_openpmix_contact(std::string(kUri) + "\n")->version);
}

TEST(OpenPmixContact, Parse_WhatIsNotInItsForm_IsNotKnownOrRefused) {
    const auto parse = [](const std::string& behind) { return parse_openpmix_contact(kUri + behind); };
    EXPECT_EQ("", parse("\nrelease five\n17\n")->version);
    EXPECT_EQ("", parse("\n" + std::string(100, '5') + "\n17\n")->version);
    for (const char* pid : {"", "-17", "0", "17x", "99999999999"})
        EXPECT_EQ(0, parse(std::string("\n5.0.7\n") + pid + "\n")->pid) << pid;
    EXPECT_STATUS(PMIX_ERR_NOT_FOUND, parse("").status()) << "its writer has not finished";
    EXPECT_STATUS(PMIX_ERR_NOT_FOUND, parse_openpmix_contact("").status());
    EXPECT_STATUS(PMIX_ERR_BAD_PARAM, parse_openpmix_contact("\n\n\n").status());
    EXPECT_STATUS(PMIX_ERR_NOT_SUPPORTED, parse_openpmix_contact("server.0;wireup:@wireup/0/1/aa\n1\n").status());
}

TEST(OpenPmixContact, Parse_AFileWithOtherAddresses_HasThem) {
    const auto others = [](const std::string& behind) {
        auto contact = parse_openpmix_contact(kUri + behind);
        std::string out;
        if (!contact.ok()) return std::string("none");
        for (const sockaddr_in& one : contact->address.others) out += std::to_string(ntohs(one.sin_port)) + ' ';
        return out;
    };
    EXPECT_EQ("1 2 ", others("\nv7.0.0rc1\n17\n0:0\nnow\nalturis:tcp4://10.0.0.1:1,tcp4://10.0.0.2:2\n"));
    EXPECT_EQ("1 ", others("\nv7.0.0rc1\nalturis: tcp4://10.0.0.1:1\n")) << "a report";
    EXPECT_EQ("3 ", others("\nv7.0.0rc1\nalturis:tcp6://[::1]:1,tcp4://10.0.0.1:3\n"));
    for (const char* bad : {"", " ", ",", "tcp4://10.0.0.1:1,", "tcp4://host:1", "tcp4://10.0.0.1", "udp://10.0.0.1:1",
                            "tcp4://10.0.0.1:0", "tcp6://:1", "tcp6://[::1]"}) {
        EXPECT_EQ("", others(std::string("\nv7.0.0rc1\nalturis:") + bad + "\n")) << bad;
        EXPECT_STATUS(PMIX_ERR_BAD_PARAM, client::parse_openpmix_others(bad).status()) << bad;
    }
    EXPECT_STATUS(PMIX_ERR_BAD_PARAM, client::parse_openpmix_others(std::string(1 << 20, ',')).status());
}

// ---- which files ----

class OpenPmixFiles : public ::testing::Test {
  protected:
    OpenPmixFiles() {
        places_.hosts = {"node.site", "node"};
        places_.system = folder_.name();
    }
    // Of a server at this port.
    void put(const std::string& file, unsigned port, mode_t mode = 0600) {
        const std::string path = folder_.path(file);
        fs::create_directories(fs::path(path).parent_path());
        std::ofstream(path) << "server" << port << ".0;tcp4://127.0.0.1:" << port << "\nv5.0.7\n"
                            << port << "\n0:0\nnow\n";
        ASSERT_EQ(0, ::chmod(path.c_str(), mode));
    }
    std::vector<unsigned> ports(OpenPmixFile::Of of = OpenPmixFile::Of::tools) const {
        std::vector<unsigned> out;
        for (const OpenPmixFile& file : client::list_openpmix_files(places_))
            if (file.of == of) out.push_back(ntohs(file.contact.address.address.sin_port));
        return out;
    }
    using Ports = std::vector<unsigned>;

    TemporaryFolder folder_;
    OpenPmixPlaces places_;
};

TEST_F(OpenPmixFiles, List_EachPurpose_ByItsName) {
    put("pmix.sys.node", 1);
    put("pmix.sched.node", 2);
    put("pmix.sysctrlr.node.site", 3);
    put("prte.node.17/pmix.node.tool", 4);
    EXPECT_EQ(Ports{1}, ports(OpenPmixFile::Of::system));
    EXPECT_EQ(Ports{2}, ports(OpenPmixFile::Of::scheduler));
    EXPECT_EQ(Ports{3}, ports(OpenPmixFile::Of::controller));
    EXPECT_EQ(Ports{4}, ports());
}

TEST_F(OpenPmixFiles, List_AServerOfTwoFiles_IsThereOnce) {
    put("prte.node.17/pmix.node.tool.17", 4);
    put("prte.node.17/pmix.node.tool.server4", 4);
    EXPECT_EQ(Ports{4}, ports());
}

TEST_F(OpenPmixFiles, List_TheOldestComesFirst) {
    put("a/pmix.node.tool.1", 1);
    put("b/pmix.node.tool.2", 2);
    put("c/pmix.node.tool.3", 3);
    const auto age = [&](const char* file, time_t seconds) {
        const timespec times[2] = {{seconds, 0}, {seconds, 0}};
        ASSERT_EQ(0, ::utimensat(AT_FDCWD, folder_.path(file).c_str(), times, 0));
    };
    age("a/pmix.node.tool.1", 1000);
    age("b/pmix.node.tool.2", 3000);
    age("c/pmix.node.tool.3", 2000);
    EXPECT_EQ((Ports{1, 3, 2}), ports());
}

TEST_F(OpenPmixFiles, List_OtherNames_AreNoneOfThisNodes) {
    int port = 10;
    for (const char* name :
         {"pmix.other.tool.1", "pmix.node.tools", "pmix.node.toolbox", "pmix.node2.tool.1", "pmix.sys.other",
          "pmix.sys.node2", "pmix.node", "pmix.", "xpmix.node.tool.1", "pmix.node.site2.tool.1"})
        put(name, static_cast<unsigned>(port++));
    EXPECT_EQ(Ports{}, ports());
    EXPECT_EQ(Ports{}, ports(OpenPmixFile::Of::system));
}

// Nobody else may have written what is read, and nothing leads out of the folder.
TEST_F(OpenPmixFiles, List_WhatOthersCouldHaveWritten_IsLeftOut) {
    put("pmix.node.tool.1", 1, 0620);
    put("pmix.node.tool.2", 2, 0602);
    put("elsewhere/file", 3);
    fs::create_symlink(folder_.path("elsewhere/file"), folder_.path("pmix.node.tool.3"));
    ASSERT_EQ(0, ::mkfifo(folder_.path("pmix.node.tool.4").c_str(), 0600));
    fs::create_directory(folder_.path("pmix.node.tool.5"));
    TemporaryFolder outside;
    { std::ofstream(outside.path("pmix.node.tool.6")) << kUri << "\n"; }
    fs::create_directory_symlink(outside.name(), folder_.path("link"));
    EXPECT_EQ(Ports{}, ports());
    if (!can_be_other_users()) return;
    put("pmix.node.tool.7", 7);
    ASSERT_EQ(0, ::chown(folder_.path("pmix.node.tool.7").c_str(), 12345, 12345));
    put("theirs/pmix.node.tool.8", 8);
    ASSERT_EQ(0, ::chown(folder_.path("theirs").c_str(), 12345, 12345));
    EXPECT_EQ(Ports{}, ports());
}

TEST_F(OpenPmixFiles, List_FilesThatAreNone_DoNotHideTheOthers) {
    std::ofstream(folder_.path("pmix.node.tool.1"));
    std::ofstream(folder_.path("pmix.node.tool.2")) << "no address\n";
    std::ofstream(folder_.path("pmix.node.tool.3")) << std::string(1 << 20, 'x');
    put("pmix.node.tool.4", 4);
    EXPECT_EQ(Ports{4}, ports());
}

// Names and files of other users cost time, and hide nothing.
TEST_F(OpenPmixFiles, List_ManyNamesAndFilesOfOthers_DoNotCount) {
    for (int i = 0; i < 30'000; ++i) std::ofstream(folder_.path("name" + std::to_string(i)));
    put("zz/pmix.node.tool.1", 1);
    bool cut = true;
    EXPECT_EQ(1u, client::list_openpmix_files(places_, &cut).size());
    EXPECT_FALSE(cut);
    if (!can_be_other_users()) return;
    for (unsigned i = 0; i < 1'100; ++i) {
        put("pmix.node.tool.s" + std::to_string(i), 2000 + i);
        ASSERT_EQ(0, ::chown(folder_.path("pmix.node.tool.s" + std::to_string(i)).c_str(), 12345, 12345));
    }
    EXPECT_EQ(Ports{1}, ports());
}

TEST_F(OpenPmixFiles, List_HasAnEnd) {
    put("1/2/3/4/pmix.node.tool.1", 1);
    put("1/2/3/4/5/pmix.node.tool.2", 2);
    EXPECT_EQ(Ports{1}, ports()) << "the depth";
    for (unsigned port = 1000; port < 1300; ++port) put("pmix.node.tool." + std::to_string(port), port);
    EXPECT_EQ(256u, ports().size()) << "the number";
    for (int i = 0; i < 1100; ++i) fs::create_directory(folder_.path("f" + std::to_string(i)));
    bool cut = false;
    EXPECT_EQ(256u, client::list_openpmix_files(places_, &cut).size());
    EXPECT_TRUE(cut);
}

// A name that is known is opened, whatever else is there.
TEST_F(OpenPmixFiles, List_TheSystemsServer_IsFoundBehindTooManyFolders) {
    for (int i = 0; i < 1100; ++i) fs::create_directory(folder_.path("f" + std::to_string(i)));
    put("pmix.sys.node", 1);
    EXPECT_EQ(Ports{1}, ports(OpenPmixFile::Of::system));
}

TEST_F(OpenPmixFiles, List_TheFolderOfTheSession_IsLookedAtToo) {
    TemporaryFolder session;
    std::ofstream(session.path("pmix.node.tool.9")) << kUri << "\n";
    ASSERT_EQ(0, ::chmod(session.path("pmix.node.tool.9").c_str(), 0600));
    places_.session = session.name();
    EXPECT_EQ(Ports{36514}, ports());
}

// ---- where ----

std::map<std::string, std::string, std::less<>> g_variables;
const char* read_variable(const char* name) {
    const auto it = g_variables.find(name);
    return it == g_variables.end() ? nullptr : it->second.c_str();
}

TEST(OpenPmixPlaces, Read_AttributesBeforeVariables) {
    g_variables = {};
    EXPECT_EQ("/tmp", client::read_openpmix_places(common::InfoView(nullptr, 0), &read_variable).system);
    EXPECT_EQ("", client::read_openpmix_places(common::InfoView(nullptr, 0), &read_variable).session);
    g_variables = {{"TMP", "/1"}};
    EXPECT_EQ("/1", client::read_openpmix_places(common::InfoView(nullptr, 0), &read_variable).system);
    g_variables["TMPDIR"] = "/2";
    EXPECT_EQ("/2", client::read_openpmix_places(common::InfoView(nullptr, 0), &read_variable).system);
    g_variables["PMIX_SYSTEM_TMPDIR"] = "/3";
    g_variables["PMIX_SERVER_TMPDIR"] = "/4";
    EXPECT_EQ("/3", client::read_openpmix_places(common::InfoView(nullptr, 0), &read_variable).system);
    EXPECT_EQ("/4", client::read_openpmix_places(common::InfoView(nullptr, 0), &read_variable).session);
    common::InfoList infos;
    ASSERT_STATUS(PMIX_SUCCESS, infos.append_string(PMIX_SYSTEM_TMPDIR, "/5"));
    ASSERT_STATUS(PMIX_SUCCESS, infos.append_string(PMIX_SERVER_TMPDIR, "/6"));
    const OpenPmixPlaces places =
        client::read_openpmix_places(common::InfoView(infos.c_array(), infos.size()), &read_variable);
    EXPECT_EQ("/5", places.system);
    EXPECT_EQ("/6", places.session);
    g_variables = {{"TMPDIR", std::string(5000, 'x')}};
    EXPECT_EQ("/tmp", client::read_openpmix_places(common::InfoView(nullptr, 0), &read_variable).system)
        << "no name of a folder is as long";
}

TEST(OpenPmixPlaces, Read_TheNodeIsCalledAsTheVariableHasIt) {
    g_variables = {{"PMIX_HOSTNAME", "node7"}};
    const OpenPmixPlaces places = client::read_openpmix_places(common::InfoView(nullptr, 0), &read_variable);
    ASSERT_FALSE(places.hosts.empty());
    EXPECT_EQ("node7", places.hosts.front());
    g_variables = {{"PMIX_HOSTNAME", "../node7"}};
    for (const std::string& host : client::read_openpmix_places(common::InfoView(nullptr, 0), &read_variable).hosts)
        EXPECT_NE("../node7", host);
}

}  // namespace
}  // namespace pmix::test::openpmix_server_files_test

// SPDX-License-Identifier: BSD-3-Clause
// What the attributes of a cleanup registration do: which files and folders go with the process that asked, and which
// stay.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <string>

#include "support/fake_client.h"
#include "support/status.h"

namespace cleanup_directives_test {

using namespace pmix;
using namespace pmix::test;
using common::InfoList;

namespace {

// A folder with two files and a folder below with one; registered by a process, which then ends.
class Cleaned {
  public:
    explicit Cleaned(const char* how, InfoList rules = {}, const char* what = "") {
        char top[] = "/tmp/unit-test.XXXXXX";
        if (::mkdtemp(top) == nullptr) return;
        base_ = top;
        ::mkdir((base_ + "/sub").c_str(), 0700);
        ::mkdir((base_ + "/hollow").c_str(), 0700);
        for (const char* file : {"/one", "/two", "/sub/three"}) std::ofstream(base_ + file) << "x";
        TestServer server(nullptr);
        server.job("job", 1, 1);
        FakeClient client(server, {"job", 0});
        EXPECT_STATUS(PMIX_SUCCESS, client.hello());
        common::JobControlRequest request;
        rules.append_string(how, base_ + what);
        request.directives = std::move(rules);
        EXPECT_STATUS(PMIX_SUCCESS, client.ask<common::Command::job_control>(request));
        client.kill();
        EXPECT_TRUE(server.turn_until([&] { return server.parts().peers.empty(); }));
    }
    ~Cleaned() {
        const std::string command = "rm -rf " + base_;
        EXPECT_EQ(0, std::system(command.c_str()));
    }
    // What is left: "one two sub three hollow", and "." for the folder itself.
    std::string left() const {
        std::string names;
        for (const char* name : {"", "/one", "/two", "/sub", "/sub/three", "/hollow"}) {
            if (::access((base_ + name).c_str(), F_OK) != 0) continue;
            names += (names.empty() ? "" : " ") + (*name == '\0' ? std::string(".") : std::string(name).substr(1));
        }
        return names;
    }
    const std::string& base() const { return base_; }

  private:
    std::string base_;
};

InfoList flag(const char* key) {
    InfoList infos;
    infos.append_flag(key, true);
    return infos;
}

}  // namespace

TEST(CleanupDirectives, EachIgnoreCounts) {
    InfoList both;
    both.append_string(PMIX_CLEANUP_IGNORE, "one");
    both.append_string(PMIX_CLEANUP_IGNORE, "two");
    EXPECT_EQ(". one two sub sub/three hollow", Cleaned(PMIX_REGISTER_CLEANUP_DIR, std::move(both)).left());
}

TEST(CleanupDirectives, DetoursInAPathAreNoOtherPath) {
    TestServer server(nullptr);
    server.job("job", 1, 1);
    FakeClient client(server, {"job", 0});
    ASSERT_STATUS(PMIX_SUCCESS, client.hello());
    common::JobControlRequest request;
    InfoList rules;
    rules.append_string(PMIX_REGISTER_CLEANUP, "/nowhere//at/./all");
    rules.append_string(PMIX_CLEANUP_IGNORE, "/nowhere/././at///all/");
    request.directives = std::move(rules);
    EXPECT_STATUS(PMIX_ERR_CONFLICTING_CLEANUP_DIRECTIVES, client.ask<common::Command::job_control>(request));
}

// rows: J3
// proves: PMIx_Job_control PMIX_REGISTER_CLEANUP PMIX_REGISTER_CLEANUP_DIR PMIX_CLEANUP_RECURSIVE server
// proves: PMIx_Job_control PMIX_CLEANUP_EMPTY PMIX_CLEANUP_IGNORE PMIX_CLEANUP_LEAVE_TOPDIR server
TEST(CleanupDirectives, WhatGoesAndWhatStays) {
    EXPECT_EQ(". two sub sub/three hollow", Cleaned(PMIX_REGISTER_CLEANUP, {}, "/one").left());
    EXPECT_EQ(". sub sub/three hollow", Cleaned(PMIX_REGISTER_CLEANUP_DIR).left()) << "its own files only";
    EXPECT_EQ("", Cleaned(PMIX_REGISTER_CLEANUP_DIR, flag(PMIX_CLEANUP_RECURSIVE)).left());
    InfoList leave = flag(PMIX_CLEANUP_RECURSIVE);
    leave.append_flag(PMIX_CLEANUP_LEAVE_TOPDIR, true);
    EXPECT_EQ(".", Cleaned(PMIX_REGISTER_CLEANUP_DIR, std::move(leave)).left());
    InfoList empty = flag(PMIX_CLEANUP_RECURSIVE);
    empty.append_flag(PMIX_CLEANUP_EMPTY, true);
    EXPECT_EQ(". one two sub sub/three", Cleaned(PMIX_REGISTER_CLEANUP_DIR, std::move(empty)).left())
        << "empty folders";
    InfoList ignore = flag(PMIX_CLEANUP_RECURSIVE);
    ignore.append_string(PMIX_CLEANUP_IGNORE, "three,two");
    EXPECT_EQ(". two sub sub/three", Cleaned(PMIX_REGISTER_CLEANUP_DIR, std::move(ignore)).left());
}

// rows: J3
TEST(CleanupDirectives, Cleanup_AtTheEndOfAnotherJobsProcesses_IsRefused) {
    char top[] = "/tmp/unit-test.XXXXXX";
    ASSERT_NE(nullptr, ::mkdtemp(top));
    TestServer server(nullptr);
    server.job("job", 1, 1);
    server.job("other", 1, 1);
    FakeClient client(server, {"job", 0}), other(server, {"other", 0});
    ASSERT_STATUS(PMIX_SUCCESS, client.hello());
    ASSERT_STATUS(PMIX_SUCCESS, other.hello());
    const auto ask = [&](common::ProcList targets) {
        common::JobControlRequest request;
        InfoList rules;
        rules.append_string(PMIX_REGISTER_CLEANUP_DIR, top);
        request.directives = std::move(rules);
        request.procs = std::move(targets);
        return client.ask<common::Command::job_control>(request);
    };
    EXPECT_STATUS(PMIX_ERR_NO_PERMISSIONS, ask({{"other", 0}}));
    EXPECT_STATUS(PMIX_ERR_NO_PERMISSIONS, ask({{"job", 0}, {"other", PMIX_RANK_WILDCARD}}));
    other.kill();
    EXPECT_TRUE(server.turn_until([&] { return server.parts().peers.size() == 1; }));
    EXPECT_EQ(0, ::access(top, F_OK)) << "nothing was registered";
    EXPECT_STATUS(PMIX_SUCCESS, ask({{"job", 0}}));
    client.kill();
    EXPECT_TRUE(server.turn_until([&] { return server.parts().peers.empty() && ::access(top, F_OK) != 0; }));
}

}  // namespace cleanup_directives_test

// SPDX-License-Identifier: BSD-3-Clause
#include "transport/rendezvous/rendezvous_file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <fstream>
#include <memory>
#include <thread>
#include <vector>

#include "common/base/log.h"
#include "support/as_user.h"
#include "support/other_users.h"
#include "support/status.h"
#include "support/temporary_folder.h"
#include "transport/unix_socket.h"

namespace pmix::transport::rendezvous_file_test {
namespace {

namespace fs = std::filesystem;

class RendezvousFileTest : public ::testing::Test {
  protected:
    RendezvousFileTest() {
        char name[] = "/tmp/rendezvous_file_test.XXXXXX";
        folder = ::mkdtemp(name);
        path = folder + "/contact";
    }
    ~RendezvousFileTest() override { fs::remove_all(folder); }
    static std::string uri(const std::string& address) { return format_uri({common::ProcId("server", 0), {address}}); }
    void write(const std::string& text) {
        std::ofstream(path) << text;
        ::chmod(path.c_str(), 0600);
    }
    std::string text() const {
        std::ifstream file(path);
        return {std::istreambuf_iterator<char>(file), {}};
    }
    size_t files() const {
        return static_cast<size_t>(std::distance(fs::directory_iterator(folder), fs::directory_iterator()));
    }
    std::string folder, path;
};

TEST_F(RendezvousFileTest, IsThereWholeAndGoesWithItsOwner) {
    {
        auto file = RendezvousFile::create(path, uri("@wireup/0/1/aa"));
        ASSERT_TRUE(file.ok());
        EXPECT_EQ(1u, files());
        struct stat info {};
        ASSERT_EQ(0, ::stat(path.c_str(), &info));
        EXPECT_EQ(0600u, info.st_mode & 07777u);
        EXPECT_EQ(1u, info.st_nlink);
        auto contact = read_rendezvous_file(path);
        ASSERT_TRUE(contact.ok());
        EXPECT_EQ("server", contact->server.nspace);
    }
    EXPECT_EQ(0u, files());
}

// A user who puts a file there first would keep the server from its place, and no reader would believe that file.
TEST_F(RendezvousFileTest, AnotherUsers_InAFolderOfOurs_IsReplacedAndTheLogNamesTheUser) {
    if (!can_be_other_users()) GTEST_SKIP() << "needs root, to become another user";
    const std::string address = make_abstract_address();
    auto listener = listen_abstract(address);
    test::TemporaryFolder logs;
    ASSERT_STATUS(PMIX_SUCCESS, common::start_log("warn@" + logs.path("log"), {"server", 0}));
    write(uri(address) + "\n1\n");
    ASSERT_EQ(0, ::chown(path.c_str(), 1001, 1001));
    {
        auto file = RendezvousFile::create(path, uri("@wireup/0/1/bb"));
        ASSERT_STATUS(PMIX_SUCCESS, file.status());
        EXPECT_EQ("@wireup/0/1/bb", read_rendezvous_file(path)->addresses[0]);
    }
    EXPECT_EQ(0u, files());
    write("anything");
    ASSERT_EQ(0, ::chown(path.c_str(), 1001, 1001));
    EXPECT_STATUS(PMIX_SUCCESS,
                  RendezvousFile::create_text(path, "two\n", 0600, [](std::string_view) { return false; }).status());
    const std::string log = logs.text("log");
    EXPECT_EQ(2, std::count(log.begin(), log.end(), '\n')) << log;
    EXPECT_NE(log.npos, log.find("\"contact\" was user 1001's file, and has been replaced")) << log;
    common::stop_log();
}

TEST_F(RendezvousFileTest, AnotherUsers_WhereTheFolderForbidsIt_IsAnErrorThatSaysSo) {
    if (!can_be_other_users()) GTEST_SKIP() << "needs root, to become another user";
    test::TemporaryFolder logs;
    ASSERT_STATUS(PMIX_SUCCESS, common::start_log("warn@" + logs.path("log"), {"server", 0}));
    ASSERT_EQ(0, ::chmod(folder.c_str(), 01777));  // as /tmp
    write("anything");
    ASSERT_EQ(0, ::chown(path.c_str(), 1002, 1002));
    {
        const test::AsUser user(1001);
        EXPECT_STATUS(PMIX_ERR_NO_PERMISSIONS, RendezvousFile::create(path, uri("@wireup/0/1/bb")).status());
    }
    EXPECT_EQ("anything", text());
    EXPECT_EQ(1u, files());
    const std::string log = logs.text("log");
    EXPECT_NE(log.npos, log.find("\"contact\" is user 1002's file, and cannot be replaced")) << log;
    common::stop_log();
}

TEST_F(RendezvousFileTest, OneOfAServerThatListensIsLeftAlone) {
    const std::string address = make_abstract_address();
    auto listener = listen_abstract(address);
    ASSERT_TRUE(listener.ok());
    auto first = RendezvousFile::create(path, uri(address));
    ASSERT_TRUE(first.ok());
    EXPECT_STATUS(PMIX_ERR_EXISTS, RendezvousFile::create(path, uri("@wireup/0/1/bb")).status());
    EXPECT_EQ(1u, files());
    EXPECT_TRUE(text().starts_with(uri(address) + "\n"));
}

TEST_F(RendezvousFileTest, OneThatAKilledServerLeftIsReplaced) {
    write(uri("@wireup/0/1/dead") + "\n1\n");
    auto file = RendezvousFile::create(path, uri("@wireup/0/1/bb"));
    ASSERT_TRUE(file.ok());
    EXPECT_EQ(1u, files());
    EXPECT_TRUE(text().starts_with(uri("@wireup/0/1/bb") + "\n"));
}

TEST_F(RendezvousFileTest, AnyText_IsThereWithItsMode) {
    const auto never = [](std::string_view) { return false; };
    {
        auto file = RendezvousFile::create_text(path, "one\ntwo\n", 0644, never);
        ASSERT_TRUE(file.ok());
        EXPECT_EQ("one\ntwo\n", text());
        struct stat info {};
        ASSERT_EQ(0, ::stat(path.c_str(), &info));
        EXPECT_EQ(0644u, info.st_mode & 07777u);
        EXPECT_STATUS(PMIX_ERR_EXISTS, RendezvousFile::create_text(path, "three\n", 0600, never).status());
    }
    EXPECT_EQ(0u, files());
}

// Whatever its text: the kernel has the lock of a process that has not ended.
TEST_F(RendezvousFileTest, AnyText_OfARunningProcess_IsLeftAlone) {
    const auto always = [](std::string_view) { return true; };
    auto file = RendezvousFile::create_text(path, "one\n", 0600, always);
    ASSERT_TRUE(file.ok());
    EXPECT_STATUS(PMIX_ERR_EXISTS, RendezvousFile::create_text(path, "two\n", 0600, always).status());
    RendezvousFile::remove_stale(folder, "contact", always);
    EXPECT_EQ("one\n", text());
}

TEST_F(RendezvousFileTest, AnyText_OfTheDead_IsReplaced) {
    write("old\n");
    const auto old = [](std::string_view text) { return text == "old\n"; };
    auto file = RendezvousFile::create_text(path, "new\n", 0600, old);
    ASSERT_TRUE(file.ok());
    EXPECT_EQ("new\n", text());
    EXPECT_EQ(1u, files());
}

TEST_F(RendezvousFileTest, RemovingStale_TakesTheDeadOfTheNameOnly) {
    write("old\n");
    std::ofstream(folder + "/contact.2") << "old\n";
    std::ofstream(folder + "/contact.3") << "another\n";
    std::ofstream(folder + "/another") << "old\n";
    fs::create_directory(folder + "/contact.4");
    fs::create_symlink(folder + "/another", folder + "/contact.5");
    RendezvousFile::remove_stale(folder, "contact", [](std::string_view text) { return text == "old\n"; });
    EXPECT_FALSE(fs::exists(path));
    EXPECT_FALSE(fs::exists(folder + "/contact.2"));
    for (const char* kept : {"/contact.3", "/another", "/contact.4", "/contact.5"})
        EXPECT_TRUE(fs::exists(folder + kept)) << kept;
}

// A server that was killed, or a machine that went down, between the making and the writing.
TEST_F(RendezvousFileTest, AnEmptyOneIsStaleForServersAndNotYetThereForTools) {
    write("");
    EXPECT_STATUS(PMIX_ERR_NOT_FOUND, read_rendezvous_file(path).status());
    write("server.0;");
    EXPECT_STATUS(PMIX_ERR_NOT_FOUND, read_rendezvous_file(path).status());
    write("");
    auto file = RendezvousFile::create(path, uri("@wireup/0/1/bb"));
    ASSERT_TRUE(file.ok());
    EXPECT_TRUE(read_rendezvous_file(path).ok());
}

TEST_F(RendezvousFileTest, WhatIsNoSuchFileIsNobodysToReplace) {
    for (const char* other : {"my notes", "my notes\n"}) {
        write(other);
        EXPECT_STATUS(PMIX_ERR_EXISTS, RendezvousFile::create(path, uri("@wireup/0/1/bb")).status());
        EXPECT_EQ(other, text());
        EXPECT_EQ(1u, files());
    }
    EXPECT_STATUS(PMIX_ERR_BAD_PARAM, read_rendezvous_file(path).status());
    fs::remove(path);
    fs::create_symlink(folder + "/elsewhere", path);
    EXPECT_STATUS(PMIX_ERR_EXISTS, RendezvousFile::create(path, uri("@wireup/0/1/bb")).status());
    EXPECT_FALSE(fs::exists(folder + "/elsewhere"));
}

TEST_F(RendezvousFileTest, ItsOwnerRemovesNoOther) {
    auto first = RendezvousFile::create(path, uri("@wireup/0/1/aa"));
    ASSERT_TRUE(first.ok());
    fs::rename(path, folder + "/aside");
    auto second = RendezvousFile::create(path, uri("@wireup/0/1/bb"));
    ASSERT_TRUE(second.ok());
    *first = {};
    EXPECT_EQ(2u, files());
}

// All find it stale at the same time: one gets the place, and its file stays whole.
// File systems give the number of a file that is gone to the next one.
TEST_F(RendezvousFileTest, AnothersIsNotTakenForItsOwnBecauseOfItsNumber) {
    auto file =
        std::make_unique<RendezvousFile>(std::move(RendezvousFile::create(path, uri("@wireup/0/1/aa"))).value());
    struct stat mine {
    }, others{};
    ASSERT_EQ(0, ::stat(path.c_str(), &mine));
    ASSERT_EQ(0, ::unlink(path.c_str()));
    for (int i = 0; i < 64; ++i) {
        write("another's");
        ASSERT_EQ(0, ::stat(path.c_str(), &others));
        ASSERT_NE(mine.st_ino, others.st_ino);
        if (i == 63) break;
        ASSERT_EQ(0, ::unlink(path.c_str()));
    }
    file.reset();
    EXPECT_EQ("another's", text());
}

TEST_F(RendezvousFileTest, OfServersThatStartAtOnceOneGetsThePlace) {
    for (int round = 0; round < 20; ++round) {
        write(uri("@wireup/0/1/dead") + "\n1\n");
        constexpr int kServers = 4;
        struct Started {
            Descriptor listener;
            std::string uri;
            common::Result<RendezvousFile> file = PMIX_ERROR;
        };
        std::vector<Started> all(kServers);
        for (Started& one : all) {
            const std::string address = make_abstract_address();
            auto listener = listen_abstract(address);
            ASSERT_TRUE(listener.ok());
            one.listener = std::move(*listener);
            one.uri = uri(address);
        }
        std::atomic<int> ready{0};
        std::vector<std::thread> threads;
        for (Started& one : all)
            threads.emplace_back([&] {
                ++ready;
                while (ready < kServers) {
                }
                one.file = RendezvousFile::create(path, one.uri);
            });
        for (std::thread& t : threads) t.join();
        int made = 0;
        for (const Started& one : all) {
            if (one.file.ok()) {
                ++made;
                EXPECT_TRUE(text().starts_with(one.uri + "\n"));
            } else {
                EXPECT_STATUS(PMIX_ERR_EXISTS, one.file.status());
            }
        }
        EXPECT_EQ(1, made);
        EXPECT_EQ(1u, files());
        all.clear();
        EXPECT_EQ(0u, files());
    }
}

}  // namespace
}  // namespace pmix::transport::rendezvous_file_test

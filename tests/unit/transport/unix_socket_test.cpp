// SPDX-License-Identifier: BSD-3-Clause
#include "transport/unix_socket.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <filesystem>
#include <thread>

#include "support/as_user.h"
#include "support/other_users.h"
#include "support/sockets.h"
#include "support/status.h"
#include "transport/send_queue.h"

namespace pmix::transport::unix_socket_test {
namespace {

class Directory {
  public:
    Directory() {
        char name[] = "/tmp/unit-test.XXXXXX";
        path = ::mkdtemp(name);
    }
    ~Directory() { std::filesystem::remove_all(path); }
    std::string path;
};

void expect_talk(int a, int b) {
    test::write_all(a, {42});
    EXPECT_EQ((std::vector<uint8_t>{42}), test::read_exactly(b, 1));
}

TEST(AbstractAddress, IsOursAndUnique) {
    const std::string one = make_abstract_address(), two = make_abstract_address();
    EXPECT_NE(one, two);
    EXPECT_TRUE(one.starts_with("@wireup/" + std::to_string(::geteuid()) + "/" + std::to_string(::getpid()) + "/"));
    EXPECT_TRUE(is_abstract_address(one));
    for (const char* bad :
         {"", "@", "@wireup/", "@other/0/1/2", "wireup/0/1/2", "@wireup/a b", "@wireup/a;b", "@wireup/\n"}) {
        EXPECT_FALSE(is_abstract_address(bad)) << bad;
    }
    EXPECT_FALSE(is_abstract_address("@wireup/" + std::string(200, 'x')));
    EXPECT_FALSE(is_abstract_address(std::string_view("@wireup/a\0b", 11)));
}

TEST(UnixSocket, AbstractListenConnectAccept) {
    test::DescriptorCheck check;
    const std::string address = make_abstract_address();
    EXPECT_STATUS(PMIX_ERR_UNREACH, connect_to(address, Deadline::in_ms(0)).status());
    auto listener = listen_abstract(address);
    ASSERT_TRUE(listener.ok());
    EXPECT_STATUS(PMIX_ERR_EXISTS, listen_abstract(address).status());
    EXPECT_STATUS(PMIX_ERR_WOULD_BLOCK, accept_one(listener->get()).status());
    auto client = connect_to(address, Deadline::in_ms(60'000));
    ASSERT_TRUE(client.ok());
    auto server = accept_one(listener->get());
    ASSERT_TRUE(server.ok());
    expect_talk(client->get(), server->get());
    expect_talk(server->get(), client->get());
    for (int fd : {listener->get(), client->get(), server->get()}) {
        EXPECT_NE(0, ::fcntl(fd, F_GETFD) & FD_CLOEXEC);
        EXPECT_NE(0, ::fcntl(fd, F_GETFL) & O_NONBLOCK);
    }
    auto peer = peer_credentials(server->get());
    ASSERT_TRUE(peer.ok());
    EXPECT_EQ(::getpid(), peer->pid);
    EXPECT_EQ(::geteuid(), peer->uid);
    EXPECT_EQ(::getegid(), peer->gid);
    EXPECT_STATUS(PMIX_ERR_INVALID_CRED, peer_credentials(-1).status());
}

// Closing a passed descriptor on the receiver's thread may take as long as its sender chooses. So the sender is
// refused, also before its connection was accepted.
TEST(UnixSocket, WhoConnectsCannotPassDescriptors) {
    Directory directory;
    const std::string abstract = make_abstract_address(), path = directory.path + "/socket";
    auto one = listen_abstract(abstract);
    auto two = listen_path(path);
    ASSERT_TRUE(one.ok() && two.ok());
    int on = -1;
    socklen_t size = sizeof on;
    constexpr int kPassRights = 83;
    if (::getsockopt(one->get(), SOL_SOCKET, kPassRights, &on, &size) != 0) GTEST_SKIP() << "needs Linux 6.16";
    const auto pass = [](int to) {
        uint8_t byte = 0;
        iovec part{&byte, 1};
        msghdr message{};
        message.msg_iov = &part;
        message.msg_iovlen = 1;
        DescriptorControl control;
        control.attach(message, &to, 1);
        return ::sendmsg(to, &message, MSG_NOSIGNAL) == 1 ? 0 : errno;
    };
    for (const auto& [listener, address] : {std::pair{one->get(), abstract}, {two->get(), path}}) {
        auto client = connect_to(address, Deadline::in_ms(60'000));
        ASSERT_TRUE(client.ok());
        EXPECT_EQ(EPERM, pass(client->get())) << address;
        auto server = accept_one(listener);
        ASSERT_TRUE(server.ok());
        EXPECT_EQ(EPERM, pass(client->get())) << address;
        EXPECT_EQ(0, pass(server->get())) << "a server must be able to";
        expect_talk(client->get(), server->get());
    }
}

TEST(UnixSocket, BadAddresses) {
    for (const char* bad : {"", "@", "@wireup/", "@elsewhere", "relative", "/", "/tmp/"}) {
        EXPECT_STATUS(PMIX_ERR_BAD_PARAM, connect_to(bad, Deadline::never()).status()) << bad;
    }
    EXPECT_STATUS(PMIX_ERR_BAD_PARAM, listen_abstract("@elsewhere").status());
    EXPECT_STATUS(PMIX_ERR_BAD_PARAM, listen_path("relative").status());
    EXPECT_STATUS(PMIX_ERR_UNREACH, connect_to("/nonexistent-directory/x", Deadline::never()).status());
    EXPECT_STATUS(PMIX_ERR_UNREACH, listen_path("/nonexistent-directory/x").status());
}

// A full backlog answers EAGAIN at once; connect_to asks again until there is room or the deadline passed.
TEST(UnixSocket, AFullBacklogIsWaitedFor) {
    const std::string address = make_abstract_address();
    Descriptor listener(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    sockaddr_un un{};
    un.sun_family = AF_UNIX;
    std::memcpy(un.sun_path + 1, address.data() + 1, address.size() - 1);
    const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + address.size());
    ASSERT_EQ(0, ::bind(listener.get(), reinterpret_cast<sockaddr*>(&un), length));
    ASSERT_EQ(0, ::listen(listener.get(), 0));  // room for one
    auto first = connect_to(address, Deadline::in_ms(0));
    ASSERT_TRUE(first.ok());
    EXPECT_STATUS(PMIX_ERR_TIMEOUT, connect_to(address, Deadline::in_ms(3)).status());
    std::thread acceptor([&] {
        int accepted = 0;
        while (accepted < 2) accepted += accept_one(listener.get()).ok();
    });
    EXPECT_TRUE(connect_to(address, Deadline::never()).ok());
    acceptor.join();
}

TEST(UnixSocket, APathOfAnyLength) {
    test::DescriptorCheck check;
    Directory tmp;
    std::string deep = tmp.path;
    for (int i = 0; i < 10; ++i) {
        deep += "/" + std::string(100, 'd');
        ASSERT_EQ(0, ::mkdir(deep.c_str(), 0700));
    }
    const std::string path = deep + "/server";
    ASSERT_GT(path.size(), sizeof(sockaddr_un::sun_path));
    auto listener = listen_path(path);
    ASSERT_TRUE(listener.ok());
    struct stat info {};
    ASSERT_EQ(0, ::stat(path.c_str(), &info));
    EXPECT_TRUE(S_ISSOCK(info.st_mode));
    EXPECT_EQ(0600u, info.st_mode & 07777);
    auto client = connect_to(path, Deadline::in_ms(60'000));
    ASSERT_TRUE(client.ok());
    auto server = accept_one(listener->get());
    ASSERT_TRUE(server.ok());
    expect_talk(client->get(), server->get());

    EXPECT_STATUS(PMIX_ERR_EXISTS, listen_path(path).status()) << "a live one is left alone";
    unlink_path(path);
    EXPECT_STATUS(PMIX_ERR_UNREACH, connect_to(path, Deadline::in_ms(0)).status());
}

TEST(UnixSocket, AStaleFileIsReplacedAForeignOneIsNot) {
    Directory tmp;
    const std::string path = tmp.path + "/server";
    listen_path(path).value().reset();  // killed: the file stays
    ASSERT_TRUE(std::filesystem::exists(path));
    EXPECT_STATUS(PMIX_ERR_UNREACH, connect_to(path, Deadline::in_ms(0)).status());
    auto again = listen_path(path);
    ASSERT_TRUE(again.ok());
    EXPECT_TRUE(connect_to(path, Deadline::in_ms(0)).ok());

    const std::string file = tmp.path + "/file";
    Descriptor made(::open(file.c_str(), O_CREAT | O_CLOEXEC | O_WRONLY, 0600));
    ASSERT_TRUE(static_cast<bool>(made));
    EXPECT_STATUS(PMIX_ERR_EXISTS, listen_path(file).status());
    EXPECT_TRUE(std::filesystem::exists(file));
}

// A socket of another user's, also one that listens, and a file.
TEST(UnixSocket, WhatAnotherUserHasPutThereIsReplacedWhereTheFolderPermitsIt) {
    if (!can_be_other_users()) GTEST_SKIP() << "needs root, to become another user";
    Directory tmp;
    const std::string path = tmp.path + "/server";
    auto live = listen_path(path);
    ASSERT_TRUE(live.ok());
    ASSERT_EQ(0, ::chown(path.c_str(), 1001, 1001));
    auto ours = listen_path(path);
    ASSERT_STATUS(PMIX_SUCCESS, ours.status());
    EXPECT_TRUE(connect_to(path, Deadline::in_ms(0)).ok());
    EXPECT_TRUE(accept_one(ours->get()).ok());
    const std::string file = tmp.path + "/file";
    ::close(::open(file.c_str(), O_CREAT | O_CLOEXEC | O_WRONLY, 0600));
    ASSERT_EQ(0, ::chown(file.c_str(), 1001, 1001));
    EXPECT_STATUS(PMIX_SUCCESS, listen_path(file).status());
    // As /tmp.
    ASSERT_EQ(0, ::chmod(tmp.path.c_str(), 01777));
    ASSERT_EQ(0, ::chown(file.c_str(), 1002, 1002));
    const test::AsUser user(1001);
    EXPECT_STATUS(PMIX_ERR_NO_PERMISSIONS, listen_path(file).status());
}

}  // namespace
}  // namespace pmix::transport::unix_socket_test

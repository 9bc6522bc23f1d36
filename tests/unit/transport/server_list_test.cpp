// SPDX-License-Identifier: BSD-3-Clause
// The kernel's list of Unix sockets, line by line: listeners of ours and nothing else.
#include "transport/rendezvous/server_list.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>

#include "transport/unix_socket.h"

namespace pmix::transport::server_list_test {
namespace {

// rows: T2
TEST(ServerListTest, AListenerOfOurs) {
    ListedServer s;
    ASSERT_TRUE(parse_unix_line("0000000000000000: 00000002 00000000 00010000 0001 01 4711 @wireup/1000/42/00ff", s));
    EXPECT_EQ(s.address, "@wireup/1000/42/00ff");
    EXPECT_EQ(s.uid, 1000u);
    EXPECT_EQ(s.pid, 42);
}

// rows: T2 T12
TEST(ServerListTest, NothingElse) {
    ListedServer s;
    const char* const kHead = "0000000000000000: 00000002 00000000 ";
    for (const char* tail : {
             "00000000 0001 03 4711 @wireup/1000/42/00ff",    // connected, not listening
             "00010000 0001 01 4711 @somebody/1000/42/00ff",  // not ours
             "00010000 0001 01 4711 /tmp/@wireup/1000/42/00ff",
             "00010000 0001 01 4711",  // without a name
             "00010000 0001 01 4711 @wireup/",
             "00010000 0001 01 4711 @wireup/1000",
             "00010000 0001 01 4711 @wireup/1000/42",
             "00010000 0001 01 4711 @wireup/1000/42/",
             "00010000 0001 01 4711 @wireup/x/42/00ff",
             "00010000 0001 01 4711 @wireup/99999999999/42/00ff",
             "00010000 0001 01 4711 @wireup/1000/-/00ff",
             "00010000 0001 01 4711 @wireup/1000/42/00ff and more",
             "",
         }) {
        EXPECT_FALSE(parse_unix_line(std::string(kHead) + tail, s)) << tail;
    }
    EXPECT_FALSE(parse_unix_line("Num       RefCount Protocol Flags    Type St Inode Path", s));
    EXPECT_FALSE(parse_unix_line(std::string(kHead) + "00010000 0001 01 4711 @wireup/1/2/" + std::string(200, 'f'), s));
}

// rows: T2
TEST(ServerListTest, SeesAServerAsLongAsItListens) {
    const std::string address = make_abstract_address();
    const auto there = [&] {
        const auto all = list_servers();
        return std::count_if(all.begin(), all.end(), [&](const ListedServer& s) {
            return s.address == address && s.uid == ::geteuid() && s.pid == ::getpid();
        });
    };
    EXPECT_EQ(there(), 0);
    {
        auto listener = listen_abstract(address);
        ASSERT_TRUE(listener.ok());
        auto other_end = connect_to(address, Deadline::in_ms(60'000));
        auto accepted = accept_one(listener->get());
        ASSERT_TRUE(accepted.ok());
        EXPECT_EQ(there(), 1);
    }
    EXPECT_EQ(there(), 0);
}

}  // namespace
}  // namespace pmix::transport::server_list_test

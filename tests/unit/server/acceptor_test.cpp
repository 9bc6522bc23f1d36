// SPDX-License-Identifier: BSD-3-Clause
#include "server/admission/acceptor.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "server/base/places.h"
#include "support/fake_client.h"
#include "support/full_table.h"
#include "transport/unix_socket.h"

namespace acceptor_test {

using namespace pmix;

namespace {

// A process that connects and closes without end keeps the loop for a few connections at a time only.
TEST(AcceptorTest, OnReady_ManyConnections_AcceptsThemInParts) {
    test::TestServer here(nullptr);
    auto& parts = here.parts();
    int visitors = 0;
    here.on_loop([&] {
        const std::string address = transport::make_abstract_address();
        auto acceptor =
            server::Acceptor::open(*here.loop, parts.scheduler, address, [&](transport::Descriptor) { ++visitors; });
        ASSERT_TRUE(acceptor.ok());
        constexpr int kMany = 100;
        std::vector<transport::Descriptor> clients;
        for (int i = 0; i < kMany; ++i) {
            auto client = transport::connect_to(address, transport::Deadline::in_ms(0));
            ASSERT_TRUE(client.ok());
            clients.push_back(std::move(*client));
        }
        for (int calls = 1; visitors < kMany; ++calls) {
            const int before = visitors;
            (*acceptor)->on_ready(true, false);
            EXPECT_GT(visitors, before);
            EXPECT_LE(visitors, before + 32);
            ASSERT_LE(calls, kMany);
        }
        (*acceptor)->on_ready(true, false);
        EXPECT_EQ(kMany, visitors);
    });
}

// The server's table is full: the soft limit is raised, and the connection is accepted.
TEST(AcceptorTest, Accept_TableFull_SoftLimitIsRaised) {
    test::TestServer here(nullptr);
    auto& parts = here.parts();
    int visitors = 0;
    here.on_loop([&] {
        const std::string address = transport::make_abstract_address();
        auto acceptor =
            server::Acceptor::open(*here.loop, parts.scheduler, address, [&](transport::Descriptor) { ++visitors; });
        ASSERT_TRUE(acceptor.ok());
        auto client = transport::connect_to(address, transport::Deadline::in_ms(0));
        ASSERT_TRUE(client.ok());
        test::FullTable full;
        ASSERT_LT(::dup(0), 0);
        (*acceptor)->on_ready(true, false);
        EXPECT_EQ(1, visitors);
    });
}

TEST(AcceptorTest, RaiseDescriptorLimit_HardLimitReached_AnswersFalse) {
    const pid_t child = ::fork();
    if (child == 0) {
        rlimit low{64, 200};
        bool good = ::setrlimit(RLIMIT_NOFILE, &low) == 0 && server::descriptor_limit() == 64 &&
                    server::highest_descriptor_limit() == 200;
        good = good && server::raise_descriptor_limit(0) && server::descriptor_limit() == 128;
        good = good && server::raise_descriptor_limit(1000) && server::descriptor_limit() == 200;
        good = good && !server::raise_descriptor_limit(1000) && server::descriptor_limit() == 200;
        ::_exit(good ? 0 : 1);
    }
    int status = 0;
    ASSERT_EQ(child, ::waitpid(child, &status, 0));
    EXPECT_EQ(0, status);
}

}  // namespace

}  // namespace acceptor_test

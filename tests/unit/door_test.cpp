#include "server/door.h"

#include <gtest/gtest.h>

#include "support/fake_client.h"
#include "transport/unix_socket.h"

using namespace pmix;

namespace {

// Who connects and closes without end keeps the loop for a few connections at a time only.
TEST(DoorTest, AFloodIsTakenInParts) {
    test::TestServer here(nullptr);
    auto& parts = here.parts();
    int visitors = 0;
    here.on_loop([&] {
        const std::string address = transport::make_abstract_address();
        auto door = server::Door::open(*here.loop, parts.scheduler, address, [&](transport::Descriptor) { ++visitors; });
        ASSERT_TRUE(door.ok());
        constexpr int kMany = 100;
        std::vector<transport::Descriptor> clients;
        for (int i = 0; i < kMany; ++i) {
            auto client = transport::connect_to(address, transport::Deadline::in_ms(0));
            ASSERT_TRUE(client.ok());
            clients.push_back(std::move(*client));
        }
        for (int turns = 1; visitors < kMany; ++turns) {
            const int before = visitors;
            (*door)->on_ready(true, false);
            EXPECT_GT(visitors, before);
            EXPECT_LE(visitors, before + 32);
            ASSERT_LE(turns, kMany);
        }
        (*door)->on_ready(true, false);
        EXPECT_EQ(kMany, visitors);
    });
}

}  // namespace

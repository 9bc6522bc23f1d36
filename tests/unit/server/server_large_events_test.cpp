// SPDX-License-Identifier: BSD-3-Clause
// Events that name many processes: what one of them costs the server's loop and its sender's account.
#include <optional>
#include <thread>

#include "support/cpu_time.h"
#include "support/status.h"
#include "unit/server/server_events_setting.h"

namespace server_large_events_test {

using namespace pmix;
using namespace pmix::test;

namespace {

constexpr int32_t kCode = PMIX_ERR_PROC_ABORTED;

// The processes have a name of usual length.
InfoList naming(const char* key, size_t n, const std::string& nspace) {
    std::vector<pmix_proc_t> procs(n);
    for (size_t i = 0; i < n; ++i) procs[i] = ProcId(nspace, static_cast<uint32_t>(i)).to_c();
    const pmix_data_array_t array{PMIX_PROC, n, procs.data()};
    InfoList infos;
    EXPECT_STATUS(PMIX_SUCCESS, infos.append(key, &array, PMIX_DATA_ARRAY));
    return infos;
}

class ServerLargeEventsTest : public ::testing::Test {
  protected:
    void SetUp() override { EXPECT_STATUS(PMIX_SUCCESS, s.listen(s.b, {kCode}, 1)); }
    static std::vector<uint8_t> event(InfoList infos) {
        common::NotifyEventRequest request;
        request.status = kCode;
        request.source = ProcId("job", 0);
        request.range = PMIX_RANGE_SESSION;
        request.infos = std::move(infos);
        return common::message_bytes(request).value();
    }
    pmix_status_t notify(const std::vector<uint8_t>& bytes) { return notify(s.a, bytes); }
    // The answer. seconds: what it has cost this thread, on which the server is.
    static pmix_status_t notify(FakeClient& client, const std::vector<uint8_t>& bytes, double* seconds = nullptr) {
        constexpr uint32_t kId = 1u << 20;
        const auto header = common::FrameHeader::request(static_cast<uint16_t>(Command::notify_event), kId);
        std::thread writer([&] { client.send_raw(frame_bytes(header, bytes)); });
        const double before = cpu_seconds();
        auto reply = client.wait(kId);
        if (seconds != nullptr) *seconds = cpu_seconds() - before;
        writer.join();
        return reply ? reply->header.status : PMIX_ERR_LOST_CONNECTION;
    }
    // The next event: a large one comes in parts.
    std::optional<common::EventNotify> next(FakeClient& client) {
        std::optional<common::EventNotify> event;
        s.server.turn_until([&] {
            event = client.take_event();
            return event.has_value();
        });
        return event;
    }
    uint64_t refused() { return s.server.parts().counters.refused_requests; }

    EventsSetting s;
};

}  // namespace

// It is refused by its bytes: looking at a million processes would take a second.
TEST_F(ServerLargeEventsTest, BeyondTheLimit_IsRefusedWithoutBeingDecoded) {
    auto bytes = event(naming(PMIX_EVENT_AFFECTED_PROCS, 1'000'000, "a-job-of-usual-name@1"));
    ASSERT_GT(bytes.size(), server::kMaxEventBytes);
    EXPECT_STATUS(PMIX_ERR_OUT_OF_RESOURCE, notify(bytes));
    EXPECT_EQ(1u, refused());
    EXPECT_EQ(0u, s.count(s.b, kCode));
    // Not even its form is looked at.
    std::fill(bytes.begin(), bytes.end(), uint8_t{0xff});
    EXPECT_STATUS(PMIX_ERR_OUT_OF_RESOURCE, notify(bytes));
    EXPECT_STATUS(PMIX_SUCCESS, s.notify(s.a, {"job", 0}, kCode, PMIX_RANGE_SESSION));
    EXPECT_EQ(1u, s.count(s.b, kCode));
}

TEST_F(ServerLargeEventsTest, WithinTheLimit_ReachesEveryoneAndTheHostOnce) {
    for (const char* key : {PMIX_EVENT_AFFECTED_PROCS, PMIX_EVENT_CUSTOM_RANGE}) {
        const auto bytes = event(naming(key, 30'000, "job"));
        ASSERT_LT(bytes.size(), server::kMaxEventBytes);
        EXPECT_STATUS(PMIX_SUCCESS, notify(bytes));
        EXPECT_TRUE(next(s.b)) << key;
        EXPECT_EQ(0u, s.count(s.b, kCode)) << key;
    }
    ASSERT_EQ(2u, s.host.count("notify_event"));
}

// Each listener's frame is the first one's but for its own number: nobody reads another's.
TEST_F(ServerLargeEventsTest, ManyListeners_EachHasItsOwnSequence) {
    EXPECT_STATUS(PMIX_SUCCESS, s.listen(s.o, {kCode}, 1));
    EXPECT_STATUS(PMIX_SUCCESS, s.notify(s.b, {"job", 1}, kCode, PMIX_RANGE_NAMESPACE));
    EXPECT_STATUS(PMIX_SUCCESS, notify(event(naming(PMIX_EVENT_AFFECTED_PROCS, 30'000, "job"))));
    auto first = next(s.b), second = next(s.b), others = next(s.o);
    ASSERT_TRUE(first && second && others);
    EXPECT_EQ(1u, first->sequence);
    EXPECT_EQ(2u, second->sequence);
    EXPECT_EQ(1u, others->sequence);
    EXPECT_EQ(second->number, others->number);
    EXPECT_EQ(common::EventNotify::kOnThisNode, others->nearness);
    const pmix_data_array_t* named = nullptr;
    common::InfoView(others->infos.data(), others->infos.size()).get(PMIX_EVENT_AFFECTED_PROCS, PMIX_PROC, &named);
    ASSERT_NE(nullptr, named);
    EXPECT_EQ(30'000u, named->size);
}

// Whether each process of this node is meant is looked up, and not sought among all that are named. (Without a host
// that takes events, all registered processes are asked about.)
TEST_F(ServerLargeEventsTest, CustomRange_CostDoesNotGrowWithTheClients) {
    TestServer server(nullptr);
    server.job("job", 1, 1);
    FakeClient client(server, {"job", 0});
    ASSERT_STATUS(PMIX_SUCCESS, client.hello());
    const auto bytes = event(naming(PMIX_EVENT_CUSTOM_RANGE, 60'000, "far"));
    const auto seconds = [&] {
        double least = 1e9, now = 0;
        for (int i = 0; i < 3; ++i) {
            EXPECT_STATUS(PMIX_ERR_NOT_SUPPORTED, notify(client, bytes, &now));
            least = std::min(least, now);
        }
        return least;
    };
    const double few = seconds();
    for (int job = 0; job < 8; ++job) server.job("more" + std::to_string(job), 1, 250);
    EXPECT_LT(seconds(), 5 * few);
}

}  // namespace server_large_events_test

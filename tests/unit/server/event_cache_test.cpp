// SPDX-License-Identifier: BSD-3-Clause
// What the cache of events keeps for processes that have not connected, and how much of it.
#include "server/events/event_cache.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "support/status.h"

namespace event_cache_test {

using namespace pmix;
using server::Event;
using server::EventCache;
using server::MemberId;

namespace {

constexpr MemberId kLate = 7;

Event event_of(pmix_status_t code, size_t bytes) {
    Event event;
    event.code = code;
    event.range = PMIX_RANGE_NAMESPACE;
    event.source = {"job", 0};
    EXPECT_STATUS(PMIX_SUCCESS, event.infos.append_string("a.key", std::string(bytes, 'x')));
    return event;
}

std::vector<pmix_status_t> codes_of(const EventCache& cache) {
    std::vector<pmix_status_t> codes;
    cache.for_each([&](const Event& event) { codes.push_back(event.code); });
    return codes;
}

const auto kAwaited = [](const Event&) { return std::vector<MemberId>{kLate}; };

}  // namespace

// rows: E10 E22
TEST(EventCacheTest, PendingEvents_BeyondTheirBytes_TheOldestGo) {
    EventCache cache(1);
    constexpr size_t kOne = common::kMaxCachedEvent / 2;
    constexpr int kMany = static_cast<int>(2 * common::kEventCacheBytes / kOne);
    for (int i = 0; i < kMany; ++i) cache.add(event_of(-1000 - i, kOne), kAwaited);
    EXPECT_LE(cache.bytes(), common::kEventCacheBytes + common::kMaxCachedEvent) << "those that wait, and the ring's";
    EXPECT_GT(cache.bytes(), common::kEventCacheBytes / 2);
    const std::vector<pmix_status_t> codes = codes_of(cache);
    EXPECT_EQ(-1000 - kMany + 1, codes.back());
    EXPECT_EQ(-1000 - kMany + static_cast<int>(codes.size()), codes.front()) << "without a gap";
    cache.member_gone(kLate);
    EXPECT_EQ(1u, cache.size()) << "nobody waits for them";
    EXPECT_LT(cache.bytes(), common::kMaxCachedEvent);
}

// rows: E10 E22
TEST(EventCacheTest, PendingEvents_BeyondTheirNumber_TheOldestGo) {
    EventCache cache(1);
    const int many = static_cast<int>(common::kMaxPendingEvents) + 10;
    for (int i = 0; i < many; ++i) cache.add(event_of(-1000 - i, 1), kAwaited);
    EXPECT_EQ(common::kMaxPendingEvents + 1, cache.size());
    EXPECT_EQ(-1000 - 9, codes_of(cache).front());
}

// rows: E10 E22
TEST(EventCacheTest, Ring_BeyondItsBytes_TheOldestGo) {
    EventCache cache(1000);
    constexpr size_t kOne = common::kMaxCachedEvent / 2;
    for (int i = 0; i < 100; ++i)
        cache.add(event_of(-1000 - i, kOne), [](const Event&) { return std::vector<MemberId>(); });
    EXPECT_LE(cache.bytes(), common::kEventCacheBytes);
    EXPECT_LT(cache.size(), 100u);
    cache.add(event_of(-1, common::kMaxCachedEvent), kAwaited);
    EXPECT_EQ(-1099, codes_of(cache).back()) << "too large to be kept";
}

}  // namespace event_cache_test

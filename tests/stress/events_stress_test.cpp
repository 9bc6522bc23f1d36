// SPDX-License-Identifier: BSD-3-Clause
// Handlers that are registered and removed while events are raised, in a process that is its own server: each handler
// gets every event once and in the order of its source, whenever it was registered. Meant for ThreadSanitizer.
#include <gtest/gtest.h>
#include <pmix_server.h>

#include <array>
#include <atomic>
#include <chrono>
#include <memory>
#include <thread>
#include <vector>

#include "common/values/value.h"
#include "support/status.h"

using pmix::common::InfoList;

namespace {

constexpr pmix_status_t kCode = PMIX_EXTERNAL_ERR_BASE - 40;
constexpr int kSources = 2;
constexpr int kPerSource = 500;
constexpr int kHandlers = 12;

// What one handler has heard. Written on the library's thread only, save the count.
struct Slot {
    std::array<int, kSources> next{};
    std::atomic<int> heard{0};
    std::atomic<int> wrong{0};
};

void take(size_t, pmix_status_t, const pmix_proc_t* source, pmix_info_t infos[], size_t ninfos, pmix_info_t[], size_t,
          pmix_event_notification_cbfunc_fn_t done, void* cbdata) {
    Slot* slot = nullptr;
    int index = -1;
    for (size_t i = 0; i < ninfos; ++i) {
        if (PMIX_CHECK_KEY(&infos[i], "index")) index = infos[i].value.data.integer;
        if (PMIX_CHECK_KEY(&infos[i], PMIX_EVENT_RETURN_OBJECT)) slot = static_cast<Slot*>(infos[i].value.data.ptr);
    }
    if (slot->next[source->rank] != index) ++slot->wrong;
    slot->next[source->rank] = index + 1;
    ++slot->heard;
    done(PMIX_EVENT_NO_ACTION_TAKEN, nullptr, 0, nullptr, nullptr, cbdata);
}

size_t listen(Slot& slot) {
    InfoList infos;
    void* address = &slot;
    infos.append_number(PMIX_EVENT_RETURN_OBJECT, address, PMIX_POINTER);
    pmix_status_t code = kCode;
    const pmix_status_t rc =
        PMIx_Register_event_handler(&code, 1, infos.c_array(), infos.size(), take, nullptr, nullptr);
    EXPECT_GE(rc, 0);
    return static_cast<size_t>(rc);
}

void raise_all(pmix_rank_t rank) {
    constexpr pmix_data_range_t kRanges[] = {PMIX_RANGE_GLOBAL, PMIX_RANGE_LOCAL, PMIX_RANGE_SESSION, PMIX_RANGE_RM};
    pmix_proc_t source;
    PMIX_LOAD_PROCID(&source, "sources", rank);
    for (int i = 0; i < kPerSource; ++i) {
        InfoList infos;
        infos.append_number(std::string_view("index"), i, PMIX_INT);
        const pmix_status_t rc =
            PMIx_Notify_event(kCode, &source, kRanges[i % 4], infos.c_array(), infos.size(), nullptr, nullptr);
        EXPECT_STATUS(PMIX_SUCCESS, rc);
    }
}

bool wait_for(const std::atomic<int>& count, int wanted) {
    const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (count < wanted && std::chrono::steady_clock::now() < until) std::this_thread::yield();
    return count >= wanted;
}

}  // namespace

// rows: E10 E12 E16
TEST(EventsStress, Register_WhileEventsAreRaised_DeliversEachEventOnce) {
    InfoList infos;
    infos.append_number(PMIX_SERVER_CACHE_SIZE, size_t{kSources * kPerSource}, PMIX_SIZE);
    ASSERT_STATUS(PMIX_SUCCESS, PMIx_server_init(nullptr, infos.c_array(), infos.size()));
    std::vector<std::unique_ptr<Slot>> slots, passing;
    for (int i = 0; i < kHandlers; ++i) slots.push_back(std::make_unique<Slot>());
    listen(*slots[0]);
    std::vector<std::thread> raisers;
    for (pmix_rank_t s = 0; s < kSources; ++s) raisers.emplace_back(raise_all, s);
    // Others come and go; nothing reaches them once they are gone.
    std::thread coming_and_going([&] {
        for (int i = 0; i < 30; ++i) {
            passing.push_back(std::make_unique<Slot>());
            const size_t reference = listen(*passing.back());
            EXPECT_STATUS(PMIX_SUCCESS, PMIx_Deregister_event_handler(reference, nullptr, nullptr));
            const int heard = passing.back()->heard;
            EXPECT_EQ(0, passing.back()->wrong);
            EXPECT_STATUS(PMIX_ERR_BAD_PARAM, PMIx_Deregister_event_handler(reference, nullptr, nullptr));
            EXPECT_EQ(heard, passing.back()->heard);
        }
    });
    for (int i = 1; i < kHandlers; ++i) {
        EXPECT_TRUE(wait_for(slots[0]->heard, i * kSources * kPerSource / (kHandlers + 2)));
        listen(*slots[static_cast<size_t>(i)]);
    }
    for (std::thread& t : raisers) t.join();
    coming_and_going.join();
    for (const auto& slot : slots) {
        EXPECT_TRUE(wait_for(slot->heard, kSources * kPerSource));
    }
    EXPECT_STATUS(PMIX_SUCCESS, PMIx_server_finalize());
    for (const auto& slot : slots) {
        EXPECT_EQ(kSources * kPerSource, slot->heard);
        EXPECT_EQ(0, slot->wrong);
    }
}

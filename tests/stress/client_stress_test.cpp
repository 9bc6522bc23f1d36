// SPDX-License-Identifier: BSD-3-Clause
// Many threads in the client API at once, in a process without a server: init and finalize are counted, everyone
// finds what everyone put, values are whole. Meant for ThreadSanitizer; the figures are small so that it ends quickly.
#include <gtest/gtest.h>
#include <pmix.h>
#include <stdlib.h>
#include <string.h>

#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "support/status.h"

namespace {

constexpr int kThreads = 8;
constexpr int kRounds = 300;
constexpr int kKeys = 16;

// A text whose every byte says which version it is of.
std::string text_of(int key, int round) {
    return std::string(40, static_cast<char>('a' + (key + round) % 26));
}

bool whole(const char* s) {
    if (s == nullptr || strlen(s) != 40) return false;
    for (int i = 1; i < 40; ++i) {
        if (s[i] != s[0]) return false;
    }
    return true;
}

void work(int thread, std::atomic<int>& errors) {
    pmix_proc_t self;
    const auto check = [&](bool good) {
        if (!good) ++errors;
    };
    for (int round = 0; round < kRounds; ++round) {
        check(PMIx_Init(&self, nullptr, 0) == PMIX_ERR_UNREACH);
        const std::string key = "key" + std::to_string((thread + round) % kKeys);
        std::string text = text_of(thread, round);
        pmix_value_t v;
        memset(&v, 0, sizeof v);
        v.type = PMIX_STRING;
        v.data.string = text.data();
        check(PMIx_Put(PMIX_GLOBAL, key.c_str(), &v) == PMIX_SUCCESS);
        if (round % 3 == 0) {
            pmix_proc_t other = self;
            other.rank = static_cast<pmix_rank_t>(thread % 3);
            check(PMIx_Store_internal(&other, "internal", &v) == PMIX_SUCCESS);
        }
        pmix_value_t* out = nullptr;
        if (PMIx_Get(&self, key.c_str(), nullptr, 0, &out) == PMIX_SUCCESS) {
            check(out->type == PMIX_STRING && whole(out->data.string));
            PMIx_Value_free(out, 1);
        } else {
            ++errors;
        }
        if (round % 7 == 0) check(PMIx_Commit() == PMIX_SUCCESS);
        if (round % 11 == 0) {
            check(PMIx_Get(&self, nullptr, nullptr, 0, &out) == PMIX_SUCCESS);
            PMIx_Value_free(out, 1);
        }
        if (round % 5 == 0) {
            pmix_info_t pointer;
            memset(&pointer, 0, sizeof pointer);
            strcpy(pointer.key, PMIX_GET_POINTER_VALUES);
            check(PMIx_Get(&self, key.c_str(), &pointer, 1, &out) == PMIX_SUCCESS && whole(out->data.string));
        }
        check(PMIx_Notify_event(-3100, nullptr, PMIX_RANGE_PROC_LOCAL, nullptr, 0, nullptr, nullptr) == PMIX_SUCCESS);
        check(PMIx_Finalize(nullptr, 0) == PMIX_SUCCESS);
    }
}

// rows: I2 I12
TEST(ClientStress, EightThreadsShareOneLibrary) {
    for (const char* name : {"PMIX_NAMESPACE", "PMIX_RANK", "PMIX_SERVER_URI_WIREUP"}) unsetenv(name);
    std::atomic<int> errors{0};
    ASSERT_STATUS(PMIX_ERR_UNREACH, PMIx_Init(nullptr, nullptr, 0));
    std::vector<std::thread> threads;
    for (int t = 0; t < kThreads; ++t) threads.emplace_back([t, &errors] { work(t, errors); });
    for (auto& t : threads) t.join();
    EXPECT_STATUS(PMIX_SUCCESS, PMIx_Finalize(nullptr, 0));
    EXPECT_EQ(PMIx_Initialized(), 0);
    EXPECT_EQ(errors, 0);
}

// The library comes and goes under them: a thread that has initialised it can use it, whatever the others do.
// rows: I2 I12
TEST(ClientStress, TheLibraryComesAndGoes) {
    std::atomic<int> errors{0};
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t) {
        threads.emplace_back([t, &errors] { work(t, errors); });
    }
    for (auto& t : threads) t.join();
    EXPECT_EQ(PMIx_Initialized(), 0);
    EXPECT_EQ(errors, 0);
}

// rows: I9
TEST(ClientStress, FinalizeMeetsCallersThatAreInside) {
    for (int round = 0; round < 50; ++round) {
        ASSERT_STATUS(PMIX_ERR_UNREACH, PMIx_Init(nullptr, nullptr, 0));
        std::atomic<bool> stop{false};
        std::vector<std::thread> threads;
        for (int t = 0; t < 4; ++t) {
            threads.emplace_back([&] {
                while (!stop) {
                    const pmix_status_t rc = PMIx_Fence(nullptr, 0, nullptr, 0);
                    EXPECT_TRUE(rc == PMIX_SUCCESS || rc == PMIX_ERR_INIT) << rc;
                    const pmix_status_t n = PMIx_Deregister_event_handler(77, nullptr, nullptr);
                    EXPECT_TRUE(n == PMIX_ERR_BAD_PARAM || n == PMIX_ERR_INIT) << n;
                }
            });
        }
        EXPECT_STATUS(PMIX_SUCCESS, PMIx_Finalize(nullptr, 0));
        stop = true;
        for (auto& t : threads) t.join();
    }
}

}  // namespace

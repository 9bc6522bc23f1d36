// SPDX-License-Identifier: BSD-3-Clause
// The last PMIx_Finalize in one thread while others make calls that are not counted: each of them ends as before it or
// with PMIX_ERR_INIT, and nothing that such a call uses is destroyed under it.
#include <gtest/gtest.h>
#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <thread>

#include "support/alone.h"
#include "support/long_wait.h"
#include "support/status.h"

namespace pmix::test {
namespace {

class LastFinalize : public Refused {};

template <class Call>
void repeat_until_uninitialised(std::atomic<int>& calls, Call call) {
    for (;; ++calls) {
        const pmix_status_t rc = call();
        if (rc == PMIX_ERR_INIT) break;
        ASSERT_STATUS(PMIX_SUCCESS, rc);
    }
}

TEST_F(LastFinalize, BesideGetsAndPutsOfOtherThreads_DestroysNothingUnderThem) {
    if (::syscall(SYS_membarrier, MEMBARRIER_CMD_QUERY, 0, 0) < 0) GTEST_SKIP() << "a kernel without membarrier";
    for (int round = 0; round < 40; ++round) {
        pmix_proc_t self;
        ASSERT_STATUS(PMIX_ERR_UNREACH, PMIx_Init(&self, nullptr, 0));
        pmix_value_t value = number(7);
        ASSERT_STATUS(PMIX_SUCCESS, PMIx_Put(PMIX_GLOBAL, "key", &value));
        ASSERT_STATUS(PMIX_SUCCESS, PMIx_Commit());
        std::atomic<int> gets{0}, puts{0};
        std::thread getter([&] {
            repeat_until_uninitialised(gets, [&] {
                pmix_value_t* found = nullptr;
                const pmix_status_t rc = PMIx_Get(&self, "key", nullptr, 0, &found);
                if (rc == PMIX_SUCCESS) PMIx_Value_free(found, 1);
                return rc;
            });
        });
        std::thread putter(
            [&] { repeat_until_uninitialised(puts, [&] { return PMIx_Put(PMIX_GLOBAL, "other", &value); }); });
        const LongWait wait;
        while ((gets < 100 || puts < 100) && !wait.over()) std::this_thread::yield();
        EXPECT_STATUS(PMIX_SUCCESS, PMIx_Finalize(nullptr, 0));
        getter.join();
        putter.join();
    }
}

}  // namespace
}  // namespace pmix::test

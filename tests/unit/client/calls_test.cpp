// SPDX-License-Identifier: BSD-3-Clause
// Pending calls: each is completed once, by the first of several threads.
#include <gtest/gtest.h>

#include <set>

#include "client/session/pending_requests.h"
#include "support/status.h"

namespace pmix::client::calls_test {
namespace {

struct Counted : Call {
    Counted(int& completions, int& objects, pmix_status_t& last, bool any)
        : completions_(completions), objects_(objects), last_(last), any_(any) {
        ++objects_;
    }
    ~Counted() override { --objects_; }
    void complete(Answer&& answer) noexcept override {
        ++completions_;
        last_ = answer.status;
    }
    bool anywhere() const noexcept override { return any_; }
    int& completions_;
    int& objects_;
    pmix_status_t& last_;
    bool any_;
};

class CallsTest : public ::testing::Test {
  protected:
    uint32_t add(bool any = false) {
        auto id = calls.add(CallPtr(new Counted(completions, objects, last, any)));
        EXPECT_TRUE(id.ok());
        return id.ok() ? id.value() : 0;
    }
    Calls calls;
    int completions = 0, objects = 0;
    pmix_status_t last = PMIX_SUCCESS;
};

TEST_F(CallsTest, IdsAreDistinctAndNeverZero) {
    std::set<uint32_t> ids;
    for (int i = 0; i < 1000; ++i) ids.insert(add());
    EXPECT_EQ(ids.size(), 1000u);
    EXPECT_EQ(ids.count(0), 0u);
    EXPECT_EQ(calls.open(), 1000u);
    calls.close(PMIX_ERROR, PMIX_ERR_INIT);
    EXPECT_EQ(completions, 1000);
    EXPECT_EQ(objects, 0);
}

TEST_F(CallsTest, TakenOnce) {
    const uint32_t id = add();
    EXPECT_TRUE(calls.waits(id));
    CallPtr first = calls.take(id);
    EXPECT_NE(first, nullptr);
    EXPECT_EQ(calls.take(id), nullptr);
    EXPECT_FALSE(calls.waits(id));
    EXPECT_EQ(calls.take(12345), nullptr);
}

TEST_F(CallsTest, OnlyHarmlessCallsAreCompletedAnywhere) {
    const uint32_t callback = add(false), blocked = add(true);
    EXPECT_EQ(calls.take_anywhere(callback), nullptr);
    EXPECT_NE(calls.take_anywhere(blocked), nullptr);
    EXPECT_NE(calls.take(callback), nullptr);
}

TEST_F(CallsTest, ClosedTableRefuses) {
    add();
    calls.close(PMIX_ERR_LOST_CONNECTION, PMIX_ERR_UNREACH);
    EXPECT_EQ(completions, 1);
    EXPECT_STATUS(PMIX_ERR_LOST_CONNECTION, last);
    EXPECT_STATUS(PMIX_ERR_UNREACH, calls.add(CallPtr(new Counted(completions, objects, last, false))).status());
    EXPECT_EQ(completions, 1);
    EXPECT_EQ(objects, 0);
}

TEST_F(CallsTest, ACompletionMayAskAgain) {
    struct Again : Call {
        explicit Again(Calls& c, pmix_status_t& s) : calls(c), status(s) {}
        void complete(Answer&&) noexcept override { status = calls.add(CallPtr(new Again(calls, status))).status(); }
        Calls& calls;
        pmix_status_t& status;
    };
    pmix_status_t status = PMIX_SUCCESS;
    ASSERT_TRUE(calls.add(CallPtr(new Again(calls, status))).ok());
    calls.close(PMIX_ERROR, PMIX_ERR_INIT);
    EXPECT_STATUS(PMIX_ERR_INIT, status);
}

}  // namespace
}  // namespace pmix::client::calls_test

// SPDX-License-Identifier: BSD-3-Clause
// One account of memory for each user: charges, and large messages that wait for room.
#include "server/base/budget.h"

#include <gtest/gtest.h>

#include "server/admission/message_admission.h"
#include "support/fake_scheduler.h"

namespace budget_test {

using namespace pmix::server;
using pmix::test::FakeScheduler;

TEST(BudgetTest, Charge_OverTheLimit_IsRefusedAndTakesNothing) {
    Budget budget(100);
    const AccountPtr account = budget.of(7);
    EXPECT_EQ(account, budget.of(7));
    EXPECT_NE(account, budget.of(8));
    Charge one, two;
    EXPECT_TRUE(one.set(account, 60));
    EXPECT_FALSE(two.set(account, 41));
    EXPECT_FALSE(two.set(account, SIZE_MAX));
    EXPECT_EQ(60u, account->used());
    EXPECT_TRUE(two.set(budget.of(8), 100)) << "another user's account";
    EXPECT_FALSE(one.grow(41));
    EXPECT_TRUE(one.grow(40));
    EXPECT_EQ(100u, account->used());
    one.shrink_to(10);
    EXPECT_EQ(10u, account->used());
    one.shrink_to(50);
    EXPECT_EQ(10u, account->used());
}

TEST(BudgetTest, Charge_DestroyedOrMoved_GivesBackOnce) {
    AccountPtr account = std::make_shared<UserAccount>(100);
    {
        Charge a;
        ASSERT_TRUE(a.set(account, 30));
        Charge b = std::move(a);
        Charge c;
        ASSERT_TRUE(c.set(account, 5));
        c = std::move(b);
        EXPECT_EQ(30u, account->used());
        ASSERT_TRUE(c.set(account, 20)) << "in place of what it was";
        EXPECT_EQ(20u, account->used());
    }
    EXPECT_EQ(0u, account->used());
    Charge none;
    EXPECT_TRUE(none.set(nullptr, SIZE_MAX)) << "the server's own process";
    EXPECT_TRUE(none.grow(1));
}

TEST(BudgetTest, DefaultLimit_IsAtLeastAGibibyte) {
    EXPECT_GE(Budget(0).limit(), size_t{1} << 30);
}

namespace {

class MessageAdmissionTest : public testing::Test {
  protected:
    struct Sender final : MessageAdmission::Sender {
        Sender(MessageAdmission& to, AccountPtr of) : admission(to), account(std::move(of)) {}
        ~Sender() { admission.done(*this); }
        const AccountPtr& sender_account() const noexcept override { return account; }
        size_t received() const noexcept override { return bytes; }
        void read_on() override { reads = true; }
        void end() override {
            ended = true;
            admission.done(*this);
        }
        MessageAdmission& admission;
        AccountPtr account;
        size_t bytes = 0;
        bool reads = false, ended = false;
    };

    FakeScheduler scheduler;
    MessageAdmission admission{scheduler};
    AccountPtr user = std::make_shared<UserAccount>(100), other = std::make_shared<UserAccount>(100);
};

}  // namespace

TEST_F(MessageAdmissionTest, Message_OverBudget_WaitsUntilAnotherIsComplete) {
    Sender first(admission, user), second(admission, user), third(admission, user), neighbour(admission, other);
    EXPECT_TRUE(admission.admit(first, 60));
    EXPECT_FALSE(admission.admit(second, 60));
    EXPECT_FALSE(admission.admit(third, 60));
    EXPECT_TRUE(admission.admit(neighbour, 60)) << "another user's";
    scheduler.advance(MessageAdmission::kTickMs);
    EXPECT_FALSE(second.reads);
    admission.done(first);
    scheduler.advance(0);
    EXPECT_TRUE(second.reads);
    EXPECT_FALSE(third.reads) << "one after the other";
    admission.done(second);
    scheduler.advance(0);
    EXPECT_TRUE(third.reads);
    admission.done(third);
    EXPECT_EQ(0u, user->used());
    EXPECT_EQ(0u, admission.waiting());
}

// What else the user's processes have given back is noticed, too.
TEST_F(MessageAdmissionTest, Message_RequestAnswered_IsAdmitted) {
    Charge request;
    ASSERT_TRUE(request.set(user, 60));
    Sender sender(admission, user);
    EXPECT_FALSE(admission.admit(sender, 60));
    request.clear();
    scheduler.advance(MessageAdmission::kTickMs);
    EXPECT_TRUE(sender.reads);
}

TEST_F(MessageAdmissionTest, Sender_StalledWhileOthersWait_IsEnded) {
    Sender stalled(admission, user), busy(admission, user), waits(admission, user), neighbour(admission, other);
    EXPECT_TRUE(admission.admit(stalled, 50));
    EXPECT_TRUE(admission.admit(busy, 50));
    EXPECT_TRUE(admission.admit(neighbour, 50));
    EXPECT_FALSE(admission.admit(waits, 50));
    for (int64_t ms = 0; ms <= MessageAdmission::kStalledMs && !stalled.ended; ms += MessageAdmission::kTickMs) {
        ++busy.bytes;
        scheduler.advance(MessageAdmission::kTickMs);
    }
    EXPECT_TRUE(stalled.ended);
    EXPECT_FALSE(busy.ended);
    EXPECT_FALSE(neighbour.ended) << "nobody of its user waits";
    scheduler.advance(0);
    EXPECT_TRUE(waits.reads);
    // Alone, it may take its time (a process that was stopped).
    admission.done(busy);
    scheduler.advance(10 * MessageAdmission::kStalledMs);
    EXPECT_FALSE(waits.ended);
}

TEST_F(MessageAdmissionTest, Wait_WithoutAnEndInSight_IsEnded) {
    Charge kept;
    ASSERT_TRUE(kept.set(user, 80));
    Sender waits(admission, user), never(admission, user);
    EXPECT_FALSE(admission.admit(waits, 50));
    EXPECT_FALSE(admission.admit(never, 101));
    scheduler.advance(0);
    EXPECT_TRUE(never.ended) << "it is larger than the whole account";
    for (int64_t ms = 0; ms < 2 * MessageAdmission::kStalledMs; ms += MessageAdmission::kTickMs) {
        EXPECT_FALSE(waits.ended) << ms;
        scheduler.advance(MessageAdmission::kTickMs);
    }
    EXPECT_TRUE(waits.ended);
    EXPECT_EQ(0u, admission.waiting());
    EXPECT_EQ(80u, user->used());
}

}  // namespace budget_test

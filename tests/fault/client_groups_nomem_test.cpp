// SPDX-License-Identifier: BSD-3-Clause
// The n-th allocation fails, for every n, while an event moves an invitation on: the inviter's call and that of an
// invited process end, with whatever status, unless the event as a whole is reported as lost (std::bad_alloc).
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <utility>

#include "support/failing_memory.h"
#include "support/status.h"
#include "unit/client/group_invite_setting.h"

namespace pmix::client::client_groups_nomem_test {
namespace {

using test::FailingMemory;

// The channel answers everything; what it and the test note is not counted.
class Trial final : public GroupInviteTest {
  public:
    Trial() {
        session->on_loop_and_wait([this] {
            channel->before_send = [](const Frame&) {
                FailingMemory::pause();
                return PMIX_SUCCESS;
            };
            channel->on_send = [this](const Frame& f) {
                if (is(f, Command::group)) {
                    channel->answer(f, PMIX_SUCCESS, common::GroupReply());
                } else if (f.header.kind == common::FrameKind::request) {
                    channel->answer(f, PMIX_SUCCESS, common::Nothing{});
                }
                if (counts_) FailingMemory::resume();
            };
        });
    }
    void TestBody() override {}

    void invite(Ended& ended) {
        const pmix_proc_t far = ProcId("far", 0).to_c();
        EXPECT_STATUS(PMIX_SUCCESS, group_invite_nb(*session, "g", &far, 1, nullptr, 0, &Ended::back, &ended));
        settle();
    }
    void accept(Ended& ended) {
        event(PMIX_GROUP_INVITED, members());
        const pmix_proc_t leader = ProcId("far", 0).to_c();
        EXPECT_STATUS(PMIX_SUCCESS,
                      group_join_nb(*session, "g", &leader, PMIX_GROUP_ACCEPT, nullptr, 0, &Ended::back, &ended));
        settle();
    }
    // The event's part in groups, with allocations counted. False: it is lost.
    bool hear(pmix_status_t code, InfoList infos, const GroupVerdict& verdict = {}) {
        bool heard = false;
        session->on_loop_and_wait([&] {
            counts_ = true;
            FailingMemory::resume();
            try {
                session->group_events().invites().heard(code, "g", {"far", 0}, infos, verdict, false);
                heard = true;
            } catch (const std::bad_alloc&) {
            }
            FailingMemory::pause();
            counts_ = false;
        });
        settle();
        return heard;
    }
    pmix_status_t join_another(const pmix_proc_t& leader, Ended& ended) {
        const pmix_status_t rc =
            group_join_nb(*session, "h", &leader, PMIX_GROUP_ACCEPT, nullptr, 0, &Ended::back, &ended);
        settle();
        return rc;
    }
    void lose_server() {
        session->on_loop_and_wait([this] {
            FailingMemory::arm_all();
            FailingMemory::resume();
            session->group_events().shut(PMIX_ERR_LOST_CONNECTION);
            FailingMemory::pause();
        });
    }
    void end() { end_all(); }
    using GroupInviteTest::event;
    static InfoList membership() { return members(); }

  private:
    bool counts_ = false;  // the loop's
};

void ends_everywhere(const std::function<bool(Trial&, Ended&)>& scenario) {
    for (long n = 0; n < 1000; ++n) {
        SCOPED_TRACE("allocation " + std::to_string(n) + " fails");
        Ended ended;
        Trial run;
        FailingMemory::arm(n);
        const bool heard = scenario(run, ended);
        const bool failed = FailingMemory::failed();
        if (heard) {
            EXPECT_EQ(1, ended.times);
        }
        run.end();
        EXPECT_EQ(1, ended.times);
        if (::testing::Test::HasFailure() || !failed) {
            EXPECT_GE(n, 5) << "hardly any allocation was made to fail";
            return;
        }
    }
    ADD_FAILURE() << "there is no end of allocations";
}

TEST(ClientGroupsNomemTest, AllHaveAccepted_OneAllocationFails_InviteEnds) {
    ends_everywhere([](Trial& run, Ended& ended) {
        run.invite(ended);
        return run.hear(PMIX_GROUP_INVITE_ACCEPTED, {});
    });
}

TEST(ClientGroupsNomemTest, ServerGone_NoMemoryAtAll_AllCallsEnd) {
    Trial run;
    Ended invited, joined;
    run.invite(invited);
    const pmix_proc_t leader = ProcId("far", 0).to_c();
    EXPECT_STATUS(PMIX_SUCCESS, run.join_another(leader, joined));
    run.lose_server();
    EXPECT_EQ(1, invited.times);
    EXPECT_EQ(1, joined.times);
    EXPECT_STATUS(PMIX_ERR_LOST_CONNECTION, invited.status.load());
    EXPECT_STATUS(PMIX_ERR_LOST_CONNECTION, joined.status.load());
}

TEST(ClientGroupsNomemTest, GroupForms_OneAllocationFails_JoinEnds) {
    ends_everywhere([](Trial& run, Ended& ended) {
        run.accept(ended);
        return run.hear(PMIX_GROUP_MEMBERSHIP_UPDATE, Trial::membership());
    });
}

TEST(ClientGroupsNomemTest, TakeOver_OneAllocationFails_CallEnds) {
    ends_everywhere([](Trial& run, Ended& ended) {
        run.accept(ended);
        GroupVerdict verdict;
        verdict.leads = true;
        InfoList failed;
        const pmix_proc_t leader = ProcId("far", 0).to_c();
        failed.append(PMIX_EVENT_AFFECTED_PROC, &leader, PMIX_PROC);
        if (!run.hear(PMIX_GROUP_LEADER_FAILED, std::move(failed), verdict)) return false;
        if (ended.times != 0) return true;
        // It leads now, and the last one that was invited declines: it is alone, and gives up or has its group.
        run.event(PMIX_GROUP_INVITE_DECLINED, {}, false, {"far", 2});
        return true;
    });
}

}  // namespace
}  // namespace pmix::client::client_groups_nomem_test

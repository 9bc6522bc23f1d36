// SPDX-License-Identifier: BSD-3-Clause
// The n-th allocation of a server fails, for every n, while it has news to tell: an alarm is raised, in this period or
// the next; the loss of events is told, if not before this event then before the next; a set of processes is there or
// is not, by its name, its members' data and what the caller is told.
#include <gtest/gtest.h>

#include <algorithm>
#include <new>
#include <string>
#include <vector>

#include "server/events/events.h"
#include "support/failing_node.h"
#include "support/info_lists.h"
#include "support/status.h"
#include "unit/server/monitors_setting.h"

namespace pmix::server::server_news_nomem_test {
namespace {

using common::Command;
using test::FailingMemory;
using test::FakeClient;
using test::Node;
using test::Spared;

// ---- alarms ----

class AlarmsNomemTest : public MonitorsSetting {
  protected:
    void run_period() {
        bool lost = false;
        FailingMemory::resume();
        try {
            scheduler.advance(1000);
        } catch (const std::bad_alloc&) {
            lost = true;
        }
        FailingMemory::pause();
        if (lost) monitors.recover();
    }
};

TEST_F(AlarmsNomemTest, Heartbeat_OneAllocationFails_AlarmIsRaisedAndTheMonitorGoesOn) {
    ASSERT_STATUS(PMIX_SUCCESS, ask(flag(PMIX_MONITOR_HEARTBEAT), beats(1, 0, "heart")));
    peer->while_noting = [] { return std::make_shared<Spared>(); };
    for (long n = 0; n < 1000; ++n) {
        SCOPED_TRACE("allocation " + std::to_string(n) + " fails");
        beat();
        scheduler.advance(1000);
        peer->events.clear();
        FailingMemory::arm(n);
        for (int periods = 0; periods < 3 && peer->events.empty(); ++periods) run_period();
        const bool failed = FailingMemory::failed();
        ASSERT_FALSE(peer->events.empty());
        EXPECT_STATUS(PMIX_MONITOR_HEARTBEAT_ALERT, peer->events.front().status);
        if (HasFailure() || !failed) {
            EXPECT_GE(n, 5) << "hardly any allocation was made to fail";
            return;
        }
    }
    ADD_FAILURE() << "there is no end of allocations";
}

// A step of the loop whose allocations count.
template <class Step>
pmix_status_t counted(Node& node, Step&& step) {
    return node.server.on_loop([&] {
        pmix_status_t rc = PMIX_ERR_NOMEM;
        FailingMemory::resume();
        try {
            rc = step();
        } catch (const std::bad_alloc&) {
        }
        FailingMemory::pause();
        return rc;
    });
}

// ---- lost events ----

TEST(ServerNewsNomemTest, LossOfEvents_OneAllocationFails_IsToldBeforeThisEventOrTheNext) {
    test::fail_everywhere([](Node& node) {
        constexpr pmix_status_t kCode = PMIX_EXTERNAL_ERR_BASE - 62;
        common::RegisterEventsRequest listen;
        listen.codes = {kCode, PMIX_ERR_FAILED_COMM};
        ASSERT_STATUS(PMIX_SUCCESS, node.a->ask<Command::register_events>(listen));
        std::shared_ptr<Peer> peer;
        for (const auto& [serial, known] : node.server.parts().peers)
            if (known->id() == ProcId("job", 0)) peer = known;
        ASSERT_NE(nullptr, peer);
        const auto notify = [&](size_t bytes) {
            InfoList infos;
            infos.append_string("myapp.text", std::string(bytes, 'x'));
            infos.append_flag(PMIX_EVENT_DO_NOT_CACHE, true);
            node.server.parts().events.raise(kCode, {"server", 0}, PMIX_RANGE_LOCAL, std::move(infos));
        };
        node.server.on_loop([&] {
            while (peer->lost_events() == 0) notify(4u << 20);
        });
        bool told = false;
        const auto read_all = [&] {
            while (auto event = node.a->take_event()) told = told || event->status == PMIX_ERR_FAILED_COMM;
            return told;
        };
        // The connection drains, and says so.
        const auto until = transport::Deadline::in_ms(60'000);
        while (peer->connection()->queued_bytes() != 0 && !until.passed()) {
            read_all();
            FailingMemory::resume();
            node.server.run_once();
            FailingMemory::pause();
        }
        for (int i = 0; i < 3 && !read_all() && !node.a->hung_up(); ++i) {
            counted(node, [&] {
                notify(1);
                return PMIX_SUCCESS;
            });
            node.server.settle();
        }
        // A connection that cannot be written any more ends, and the process knows.
        EXPECT_TRUE(read_all() || node.a->hung_up());
        node.server.on_loop([&] { peer.reset(); });  // the last reference, where it has ended
    });
}

// ---- process sets ----

std::vector<std::string> sets_of(Node& node, common::Rank rank) {
    std::vector<std::string> names;
    dstore::Found found;
    common::Value value;
    if (node.a->reader()->find(dstore::Owner::proc(rank), dstore::Key(PMIX_PSET_NAMES), found) != PMIX_SUCCESS)
        return names;
    EXPECT_STATUS(PMIX_SUCCESS, common::decode_value_into(found.bytes(), value.c_ptr()));
    const pmix_data_array_t& array = *value.get().data.darray;
    for (size_t i = 0; i < array.size; ++i) names.emplace_back(static_cast<char**>(array.array)[i]);
    return names;
}

// A caller that is told of a failure can repeat its call.
TEST(ServerNewsNomemTest, ProcessSet_OneAllocationFails_IsThereAsTheCallerIsTold) {
    test::fail_everywhere([](Node& node) {
        const auto define = [&] { return node.server.setup().define_process_set("set", {{"job", 0}, {"job", 1}}); };
        const auto remove = [&] { return node.server.setup().delete_process_set("set"); };
        const std::vector<std::string> none, one{"set"};
        const pmix_status_t defined = counted(node, define);
        for (common::Rank rank : {0u, 1u}) EXPECT_EQ(defined == PMIX_SUCCESS ? one : none, sets_of(node, rank));
        if (defined != PMIX_SUCCESS) {
            EXPECT_STATUS(PMIX_SUCCESS, counted(node, define));
        }
        const pmix_status_t removed = counted(node, remove);
        for (common::Rank rank : {0u, 1u}) EXPECT_EQ(removed == PMIX_SUCCESS ? none : one, sets_of(node, rank));
        if (removed != PMIX_SUCCESS) {
            EXPECT_STATUS(PMIX_SUCCESS, counted(node, remove));
        }
        for (common::Rank rank : {0u, 1u}) EXPECT_EQ(none, sets_of(node, rank));
    });
}

}  // namespace
}  // namespace pmix::server::server_news_nomem_test

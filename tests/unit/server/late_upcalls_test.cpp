// SPDX-License-Identifier: BSD-3-Clause
// An upcall that the host does not answer is in the log after thirty seconds, once, with those who wait for it.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "common/base/log.h"
#include "server/base/report_rows.h"
#include "server/host/open_upcalls.h"
#include "support/fake_host.h"
#include "support/fake_scheduler.h"
#include "support/status.h"
#include "support/temporary_folder.h"

namespace late_upcalls_test {

using namespace pmix;
using namespace pmix::test;
using common::ProcId;
using server::HostAnswer;

namespace {

// What the modules of a server would report.
struct Waiting final : server::LifecycleObserver {
    void report(server::ReportRows& rows) const override {
        rows.collectives.insert(rows.collectives.end(), collectives.begin(), collectives.end());
        rows.requests.insert(rows.requests.end(), requests.begin(), requests.end());
    }
    std::vector<server::CollectiveReport> collectives;
    std::vector<server::RequestReport> requests;
};

class LateUpcallsTest : public ::testing::Test {
  protected:
    void start(const char* level = "warn") {
        observers.set({&waiting});
        for (const char* what : {"publish", "fence", "direct_modex"}) fake.styles[what] = Style::later;
        ASSERT_STATUS(PMIX_SUCCESS, common::start_log(std::string(level) + "@" + folder.path("log"), {"server", 0}));
    }
    ~LateUpcallsTest() override { common::stop_log(); }
    void pass_seconds(int seconds) {
        for (int i = 0; i < seconds; ++i) {
            scheduler.advance(1000);
            scheduler.run();
        }
    }
    std::string log() { return folder.text("log"); }
    size_t times(const std::string& text) {
        size_t n = 0;
        const std::string all = log();
        for (size_t at = all.find(text); at != all.npos; at = all.find(text, at + 1)) ++n;
        return n;
    }
    void publish_as(const ProcId& proc) {
        host.publish(proc, {}, server::Runs::on_loop, [](HostAnswer&) {});
        scheduler.run();
    }

    TemporaryFolder folder;
    FakeHost fake;
    FakeScheduler scheduler;
    pmix_server_module_t module = fake.module();
    server::LifecycleObservers observers;
    server::ModuleHost host{scheduler, &module, sizeof module};
    server::OpenUpcalls open{host, observers};
    Waiting waiting;
};

}  // namespace

TEST_F(LateUpcallsTest, Unanswered_IsLoggedOnceWithItsRequester) {
    start();
    publish_as({"job", 2});
    pass_seconds(29);
    EXPECT_EQ("", log());
    pass_seconds(7);
    EXPECT_EQ(1u, times("publish #")) << log();
    EXPECT_EQ(1u, times("is not answered after 30 s; waiting: job:2")) << log();
    pass_seconds(300);
    EXPECT_EQ(1u, times("publish #")) << log();
    // The next one has a time of its own.
    publish_as({"job", 3});
    pass_seconds(29);
    EXPECT_EQ(0u, times("waiting: job:3")) << log();
    pass_seconds(7);
    EXPECT_EQ(1u, times("waiting: job:3")) << log();
    fake.answer_waiting();
    scheduler.run();
    EXPECT_EQ(2u, times("is not answered")) << log();
}

TEST_F(LateUpcallsTest, AnsweredInTime_IsNotLogged) {
    start();
    publish_as({"job", 2});
    pass_seconds(20);
    fake.answer_waiting();
    scheduler.run();
    pass_seconds(60);
    EXPECT_EQ("", log());
}

TEST_F(LateUpcallsTest, OfACollective_NamesThoseWhoHaveJoinedHere) {
    start();
    server::CollectiveReport fence;
    fence.operation = "fence";
    fence.members = {{"job", PMIX_RANK_WILDCARD}};
    fence.joined = {{"job", 1}, {"job", 0}};
    fence.at_host = true;
    waiting.collectives = {fence};
    host.fence(common::ProcSet{{"job", PMIX_RANK_WILDCARD}}, {}, nullptr, 0, [](HostAnswer&) {});
    scheduler.run();
    pass_seconds(40);
    EXPECT_EQ(1u, times("fence #")) << log();
    EXPECT_EQ(1u, times("waiting: job:0, job:1")) << log();
    fake.answer_waiting();
}

TEST_F(LateUpcallsTest, OfDataOfAProcess_NamesItAndThoseWhoWantIt) {
    start();
    server::RequestReport get;
    get.operation = "get";
    get.target = ProcId("job", 7);
    get.at_host = true;
    for (common::Rank rank = 0; rank < 20; ++rank) {
        get.requester = ProcId("job", rank);
        waiting.requests.push_back(get);
    }
    host.direct_modex({"job", 7}, {}, [](HostAnswer&) {});
    scheduler.run();
    pass_seconds(40);
    EXPECT_EQ(1u, times("direct_modex #")) << log();
    EXPECT_EQ(1u, times(" for the data of job:7 is not answered after 30 s; waiting: job:0, job:1, ")) << log();
    EXPECT_EQ(1u, times("job:15 and 4 more")) << log();
    fake.answer_waiting();
}

TEST_F(LateUpcallsTest, WithoutALogOfWarnings_NoTimerRuns) {
    start("error");
    publish_as({"job", 2});
    EXPECT_EQ(0u, scheduler.timers());
    pass_seconds(40);
    EXPECT_EQ("", log());
    fake.answer_waiting();
}

}  // namespace late_upcalls_test

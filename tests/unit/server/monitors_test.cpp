// SPDX-License-Identifier: BSD-3-Clause
// Heartbeats and watched files: when an alert is raised, how often, its contents, and when none is raised.
#include <optional>

#include "support/fewer_rights.h"
#include "support/other_users.h"
#include "support/status.h"
#include "unit/server/monitors_setting.h"

namespace pmix::server::monitors_test {
namespace {

constexpr pmix_status_t kCode = kMonitorCode;

class MonitorsTest : public MonitorsSetting {};

// rows: J5
// proves: PMIx_Process_monitor PMIX_MONITOR_HEARTBEAT PMIX_MONITOR_HEARTBEAT_TIME PMIX_MONITOR_HEARTBEAT_DROPS PMIX_MONITOR_ID server
TEST_F(MonitorsTest, MissingHeartbeatsRaiseTheAlertOnceUntilTheyComeAgain) {
    ASSERT_STATUS(PMIX_SUCCESS, ask(flag(PMIX_MONITOR_HEARTBEAT), beats(2, 1, "heart")));
    for (int i = 0; i < 5; ++i) {
        beat();
        scheduler.advance(2000);
    }
    EXPECT_TRUE(peer->events.empty());
    scheduler.advance(2000);
    EXPECT_TRUE(peer->events.empty()) << "one may be missed";
    scheduler.advance(2000);
    ASSERT_EQ(1u, peer->events.size());
    const auto& event = peer->events.front();
    EXPECT_STATUS(PMIX_MONITOR_HEARTBEAT_ALERT, event.status);
    EXPECT_EQ(ProcId("job", 1), event.source);
    EXPECT_EQ(PMIX_RANGE_NAMESPACE, event.range);
    const InfoView infos(event.infos.data(), event.infos.size());
    std::string_view id;
    const pmix_proc_t* affected = nullptr;
    ASSERT_STATUS(PMIX_SUCCESS, infos.get(PMIX_MONITOR_ID, &id));
    EXPECT_EQ("heart", id);
    ASSERT_STATUS(PMIX_SUCCESS, infos.get(PMIX_EVENT_AFFECTED_PROC, &affected));
    ASSERT_NE(nullptr, affected);
    EXPECT_EQ(ProcId("job", 1), ProcId(*affected));
    EXPECT_EQ(1u, fake.count("notify_event")) << "processes of other nodes are in range too";
    scheduler.advance(20'000);
    EXPECT_EQ(1u, peer->events.size()) << "once";
    beat();
    scheduler.advance(6000);
    EXPECT_EQ(2u, peer->events.size()) << "and once more when they stop again";
}

// rows: J4 J5
// proves: PMIx_Process_monitor PMIX_SEND_HEARTBEAT server
TEST_F(MonitorsTest, AHeartbeatMayBeSentAsARequestToo) {
    ASSERT_STATUS(PMIX_SUCCESS, ask(flag(PMIX_MONITOR_HEARTBEAT), beats(2, 0)));
    for (int i = 0; i < 5; ++i) {
        EXPECT_STATUS(PMIX_SUCCESS, ask(flag(PMIX_SEND_HEARTBEAT), {}));
        scheduler.advance(2000);
    }
    EXPECT_TRUE(peer->events.empty());
    scheduler.advance(2000);
    EXPECT_EQ(1u, peer->events.size());
}

// rows: J4 J5
// proves: PMIx_Process_monitor PMIX_RANGE PMIX_MONITOR_APP_CONTROL server
TEST_F(MonitorsTest, CodeAndRangeAreTheCallers) {
    InfoList directives = beats(1, 0);
    const pmix_data_range_t local = PMIX_RANGE_LOCAL;
    directives.append(PMIX_RANGE, &local, PMIX_DATA_RANGE);
    directives.append_flag(PMIX_MONITOR_APP_CONTROL, true);
    ASSERT_STATUS(PMIX_SUCCESS, ask(flag(PMIX_MONITOR_HEARTBEAT), std::move(directives), kCode));
    scheduler.advance(1000);
    ASSERT_EQ(1u, peer->events.size());
    EXPECT_EQ(kCode, peer->events.front().status);
    EXPECT_EQ(PMIX_RANGE_LOCAL, peer->events.front().range);
    EXPECT_TRUE(
        InfoView(peer->events.front().infos.data(), peer->events.front().infos.size()).flag(PMIX_MONITOR_APP_CONTROL));
    EXPECT_EQ(0u, fake.count("notify_event")) << "it stays on the node";
}

// A file that changes all the time, watched for another user: where the server may not act as that user, it does not
// look
// with its own rights, and to the user the file is one that cannot be seen. rows: J6
TEST_F(MonitorsTest, WithoutTheUsersRightsAFileIsNotLookedAt) {
    constexpr uint32_t kOther = 4242;
    for (bool able : {false, true}) {
        if (able && !can_be_other_users()) continue;
        SCOPED_TRACE(able);
        BlockingTasks others(scheduler);
        Monitors watching(scheduler, host, events, others, registry, peers, {"server", 0});
        auto user = std::make_shared<NotingPeer>(ProcId("job", 2), able ? 9 : 8, kOther);
        events.peer_here(user);
        common::RegisterEventsRequest listen;
        const pmix_status_t code = able ? kCode - 1 : kCode - 2;
        listen.codes = {code};
        events.register_handler(*user, listen, Reply());
        const auto looked = [&] {
            others.finish();
            EXPECT_TRUE(scheduler.run_until([&] { return scheduler.timers() == 1; }));
        };
        EXPECT_EQ(0, ::chmod(directory.c_str(), 0755));
        write("x");
        std::optional<test::FewerRights> fewer;
        if (!able) fewer.emplace();
        MonitorRequest request;
        request.code = code;
        request.infos = text(PMIX_MONITOR_FILE, file);
        request.directives = checks(10, 0, PMIX_MONITOR_FILE_SIZE);
        watching.request(*user, request, Reply(user, static_cast<uint16_t>(common::Command::monitor), 1));
        EXPECT_TRUE(scheduler.run_until([&] { return !user->statuses.empty(); }));
        EXPECT_STATUS(PMIX_SUCCESS, user->statuses.back());
        looked();
        write("more");
        scheduler.advance(10'000);
        looked();
        EXPECT_EQ(able ? 0u : 1u, user->events.size());
        fewer.reset();
        watching.peer_gone(*user);
        others.finish();
        scheduler.run();
    }
}

// rows: J5
// proves: PMIx_Process_monitor PMIX_MONITOR_CANCEL server
TEST_F(MonitorsTest, TheyEndByNameAllTogetherAndWithTheirProcess) {
    ASSERT_STATUS(PMIX_SUCCESS, ask(flag(PMIX_MONITOR_HEARTBEAT), beats(1, 0, "a")));
    EXPECT_STATUS(PMIX_ERR_DUPLICATE_KEY, ask(flag(PMIX_MONITOR_HEARTBEAT), beats(1, 0, "a")));
    ASSERT_STATUS(PMIX_SUCCESS, ask(flag(PMIX_MONITOR_HEARTBEAT), beats(1, 0, "b")));
    EXPECT_STATUS(PMIX_SUCCESS, ask(text(PMIX_MONITOR_CANCEL, "a"), {}));
    EXPECT_EQ(1u, monitors.size());
    EXPECT_STATUS(PMIX_ERR_NOT_FOUND, ask(text(PMIX_MONITOR_CANCEL, "a"), {}));
    InfoList all;
    all.append(PMIX_MONITOR_CANCEL, nullptr, PMIX_STRING);
    EXPECT_STATUS(PMIX_SUCCESS, ask(std::move(all), {}));
    EXPECT_EQ(0u, monitors.size());
    ASSERT_STATUS(PMIX_SUCCESS, ask(flag(PMIX_MONITOR_HEARTBEAT), beats(1, 0)));
    monitors.peer_gone(*peer);
    scheduler.advance(10'000);
    EXPECT_TRUE(peer->events.empty()) << "a process that finalizes has not stopped";
    EXPECT_EQ(0u, scheduler.timers());
}

// A name belongs to the process that gave it. rows: J5
TEST_F(MonitorsTest, Cancel_ByAnotherProcess_LeavesTheMonitor) {
    ASSERT_STATUS(PMIX_SUCCESS, ask(flag(PMIX_MONITOR_HEARTBEAT), beats(1, 0, "a")));
    auto other = std::make_shared<NotingPeer>(ProcId("job", 2), 8);
    const auto cancel = [&](InfoList what) {
        MonitorRequest request;
        request.infos = std::move(what);
        monitors.request(*other, request, Reply(other, static_cast<uint16_t>(common::Command::monitor), 1));
        EXPECT_TRUE(scheduler.run_until([&] { return !other->statuses.empty(); }));
        return std::exchange(other->statuses, {}).back();
    };
    EXPECT_STATUS(PMIX_ERR_NOT_FOUND, cancel(text(PMIX_MONITOR_CANCEL, "a")));
    EXPECT_EQ(1u, monitors.size());
    InfoList all;
    all.append(PMIX_MONITOR_CANCEL, nullptr, PMIX_STRING);
    EXPECT_STATUS(PMIX_SUCCESS, cancel(std::move(all))) << "all of its own: none";
    EXPECT_EQ(1u, monitors.size());
    scheduler.advance(1000);
    EXPECT_EQ(1u, peer->events.size()) << "it still watches";
}

// rows: J4
TEST_F(MonitorsTest, WhatIsNoMonitor) {
    EXPECT_STATUS(PMIX_ERR_BAD_PARAM, ask({}, {}));
    EXPECT_STATUS(PMIX_ERR_BAD_PARAM, ask(flag(PMIX_MONITOR_HEARTBEAT), {})) << "no period";
    EXPECT_STATUS(PMIX_ERR_BAD_PARAM, ask(flag(PMIX_MONITOR_HEARTBEAT), beats(0, 0)));
    EXPECT_STATUS(PMIX_ERR_BAD_PARAM, ask(text(PMIX_MONITOR_FILE, "relative"), checks(1, 0, PMIX_MONITOR_FILE_SIZE)));
    InfoList strange = beats(1, 0);
    strange.append("strange", common::Value::flag(true), PMIX_INFO_REQD);
    EXPECT_STATUS(PMIX_ERR_NOT_SUPPORTED, ask(flag(PMIX_MONITOR_HEARTBEAT), std::move(strange)));
    for (int i = 0; i < 64; ++i) ASSERT_STATUS(PMIX_SUCCESS, ask(flag(PMIX_MONITOR_HEARTBEAT), beats(1, 0)));
    EXPECT_STATUS(PMIX_ERR_OUT_OF_RESOURCE, ask(flag(PMIX_MONITOR_HEARTBEAT), beats(1, 0)));
    EXPECT_STATUS(PMIX_ERR_NOT_SUPPORTED, ask(flag("site.monitor"), {})) << "the host has no entry";
}

// rows: J6
// proves: PMIx_Process_monitor PMIX_MONITOR_FILE PMIX_MONITOR_FILE_SIZE PMIX_MONITOR_FILE_CHECK_TIME PMIX_MONITOR_FILE_DROPS server
TEST_F(MonitorsTest, AFileThatStopsGrowingIsTold) {
    write("x");
    ASSERT_STATUS(PMIX_SUCCESS, ask(text(PMIX_MONITOR_FILE, file), checks(5, 1, PMIX_MONITOR_FILE_SIZE)));
    for (int i = 0; i < 3; ++i) {
        write("more");
        period(5000);
    }
    EXPECT_TRUE(peer->events.empty());
    period(5000);
    EXPECT_TRUE(peer->events.empty()) << "one may be missed";
    period(5000);
    ASSERT_EQ(1u, peer->events.size());
    EXPECT_STATUS(PMIX_MONITOR_FILE_ALERT, peer->events.front().status);
    std::string_view path;
    const InfoView infos(peer->events.front().infos.data(), peer->events.front().infos.size());
    ASSERT_STATUS(PMIX_SUCCESS, infos.get(PMIX_MONITOR_FILE, &path));
    EXPECT_EQ(file, path);
    period(5000);
    EXPECT_EQ(1u, peer->events.size());
    write("more");
    period(5000);
    period(5000);
    period(5000);
    EXPECT_EQ(2u, peer->events.size());
}

// rows: J6
// proves: PMIx_Process_monitor PMIX_MONITOR_FILE_ACCESS PMIX_MONITOR_FILE_MODIFY server
TEST_F(MonitorsTest, AccessAndModificationAreToldApart) {
    write("x");
    const timespec now[2] = {{1'000'000'000, 0}, {1'000'000'000, 0}};
    ASSERT_EQ(0, ::utimensat(AT_FDCWD, file.c_str(), now, 0));
    ASSERT_STATUS(PMIX_SUCCESS, ask(text(PMIX_MONITOR_FILE, file), checks(1, 0, PMIX_MONITOR_FILE_ACCESS)));
    ASSERT_STATUS(PMIX_SUCCESS, ask(text(PMIX_MONITOR_FILE, file), checks(1, 0, PMIX_MONITOR_FILE_MODIFY), kCode));
    const timespec read_since[2] = {{1'000'000'001, 0}, {0, UTIME_OMIT}};
    ASSERT_EQ(0, ::utimensat(AT_FDCWD, file.c_str(), read_since, 0));
    period(1000);
    ASSERT_EQ(1u, peer->events.size());
    EXPECT_EQ(kCode, peer->events.front().status) << "it was read, not written";
    const timespec written_since[2] = {{0, UTIME_OMIT}, {1'000'000'002, 0}};
    ASSERT_EQ(0, ::utimensat(AT_FDCWD, file.c_str(), written_since, 0));
    period(1000);
    ASSERT_EQ(2u, peer->events.size());
    EXPECT_STATUS(PMIX_MONITOR_FILE_ALERT, peer->events.back().status);
}

// rows: J6
TEST_F(MonitorsTest, AFileThatIsNotThereDoesNotChangeUntilItComes) {
    ASSERT_STATUS(PMIX_SUCCESS, ask(text(PMIX_MONITOR_FILE, file), checks(1, 1, PMIX_MONITOR_FILE_SIZE)));
    period(1000);
    EXPECT_TRUE(peer->events.empty());
    write("x");
    period(1000);
    EXPECT_TRUE(peer->events.empty()) << "it has come";
    ASSERT_EQ(0, ::unlink(file.c_str()));
    period(1000);
    period(1000);
    EXPECT_EQ(1u, peer->events.size()) << "and gone";
}

}  // namespace
}  // namespace pmix::server::monitors_test

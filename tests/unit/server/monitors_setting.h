// SPDX-License-Identifier: BSD-3-Clause
// What the tests of monitors share: monitors over a scheduler whose clock the test has, and a process that notes what
// it is sent.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "server/host/module_host.h"
#include "server/monitoring/monitors.h"
#include "support/fake_host.h"
#include "support/fake_scheduler.h"
#include "unit/server/noting_peer.h"

namespace pmix::server {

using common::InfoList;
using common::InfoView;
using common::MonitorRequest;
using common::ProcId;

inline constexpr pmix_status_t kMonitorCode = PMIX_EXTERNAL_ERR_BASE - 60;

class MonitorsSetting : public ::testing::Test {
  protected:
    MonitorsSetting()
        : module(fake.module()),
          host(scheduler, &module, sizeof module),
          registry(observers, "n0"),
          segments(registry, "server", ::geteuid()),
          events(observers, host, registry, segments, {"server", 0}, 16),
          blocking_tasks(scheduler),
          monitors(scheduler, host, events, blocking_tasks, registry, peers, {"server", 0}) {
        peer = std::make_shared<NotingPeer>(ProcId("job", 1), 7);
        events.peer_here(peer);
        common::RegisterEventsRequest listen;
        listen.codes = {PMIX_MONITOR_HEARTBEAT_ALERT, PMIX_MONITOR_FILE_ALERT, kMonitorCode};
        events.register_handler(*peer, listen, Reply());
        char name[] = "/tmp/monitors_test.XXXXXX";
        directory = ::mkdtemp(name);
        file = directory + "/watched";
    }
    ~MonitorsSetting() override {
        blocking_tasks.finish();
        ::unlink(file.c_str());
        ::rmdir(directory.c_str());
    }
    pmix_status_t ask(InfoList what, InfoList directives, pmix_status_t code = PMIX_SUCCESS) {
        MonitorRequest request;
        request.code = code;
        request.infos = std::move(what);
        request.directives = std::move(directives);
        const size_t before = peer->statuses.size();
        monitors.request(*peer, request, Reply(peer, static_cast<uint16_t>(common::Command::monitor), 1));
        EXPECT_TRUE(scheduler.run_until([&] { return peer->statuses.size() > before; }));
        blocking_tasks.finish();  // a file has been looked at
        scheduler.run();
        return peer->statuses.back();
    }
    static InfoList flag(const char* key) {
        InfoList list;
        list.append_flag(key, true);
        return list;
    }
    static InfoList text(const char* key, const std::string& value) {
        InfoList list;
        list.append_string(key, value);
        return list;
    }
    static InfoList every(const char* key, uint32_t seconds, const char* drops_key, uint32_t drops,
                          const char* id = "") {
        InfoList list;
        list.append_number<uint32_t>(key, seconds, PMIX_UINT32);
        list.append_number<uint32_t>(drops_key, drops, PMIX_UINT32);
        if (*id != 0) list.append_string(PMIX_MONITOR_ID, id);
        return list;
    }
    static InfoList beats(uint32_t seconds, uint32_t drops, const char* id = "") {
        return every(PMIX_MONITOR_HEARTBEAT_TIME, seconds, PMIX_MONITOR_HEARTBEAT_DROPS, drops, id);
    }
    static InfoList checks(uint32_t seconds, uint32_t drops, const char* what) {
        InfoList list = every(PMIX_MONITOR_FILE_CHECK_TIME, seconds, PMIX_MONITOR_FILE_DROPS, drops);
        list.append_flag(what, true);
        return list;
    }
    void beat() {
        common::Nothing nothing;
        monitors.heartbeat(*peer, nothing, Reply());
    }
    // One period of a file monitor: the timer, the look at the file, and the next timer.
    void period(int64_t ms) {
        scheduler.advance(ms);
        EXPECT_TRUE(scheduler.run_until([&] { return scheduler.timers() == monitors.size(); }));
    }
    void write(const char* more) { std::ofstream(file, std::ios::app) << more; }

    test::FakeScheduler scheduler;
    test::FakeHost fake;
    pmix_server_module_t module;
    ModuleHost host;
    server::LifecycleObservers observers;
    Registry registry;
    server::Segments segments;
    Events events;
    BlockingTasks blocking_tasks;
    UsageTargets::Peers peers;
    Monitors monitors;
    std::shared_ptr<NotingPeer> peer;
    std::string directory, file;
};

}  // namespace pmix::server

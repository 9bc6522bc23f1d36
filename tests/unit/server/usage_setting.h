// SPDX-License-Identifier: BSD-3-Clause
// What the tests of samples have in common: a kernel, a host and processes as a test wants them, and requests.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <ctime>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "common/values/array_value.h"
#include "server/monitoring/monitors.h"
#include "support/fake_kernel.h"
#include "support/fake_scheduler.h"
#include "support/status.h"
#include "unit/server/noting_peer.h"

namespace pmix::server {

using common::InfoList;
using common::InfoView;
using common::MonitorRequest;
using common::ProcId;

inline constexpr pmix_status_t kCode = PMIX_EXTERNAL_ERR_BASE - 61;

using PeerPtr = std::shared_ptr<NotingPeer>;

class AnsweringHost final : public Host {
  public:
    explicit AnsweringHost(Scheduler& scheduler) : Host(scheduler), nobody(scheduler) {}
    bool has(common::Function f) const noexcept override {
        return monitors && (f == common::Function::PMIx_Process_monitor || f == common::Function::PMIx_Notify_event);
    }
    void monitor(const ProcId& proc, InfoList what, pmix_status_t code, InfoList directives, Done done) override {
        ++asked;
        requester = proc;
        last_code = code;
        last_what = std::move(what);
        last = std::move(directives);
        HostAnswer a;
        a.status = monitors ? status : PMIX_ERR_NOT_SUPPORTED;
        if (a.status == PMIX_SUCCESS) a.infos.append_string("site.usage", "elsewhere");
        if (!waits) return done(a);
        waiting = std::move(done);
    }
    void notify_event(pmix_status_t, const ProcId&, pmix_data_range_t, InfoList, Done done) override {
        ++notified;
        HostAnswer a;
        done(a);
    }
    Host& of(const Peer& peer) noexcept override { return peer.kind() == PeerKind::self ? nobody : *this; }
    bool monitors = true, waits = false;
    pmix_status_t status = PMIX_SUCCESS, last_code = 0;
    int asked = 0, notified = 0;
    ProcId requester;
    InfoList last_what, last;
    Done waiting;

  private:
    Host nobody;
};

class UsageSetting : public ::testing::Test {
  protected:
    UsageSetting()
        : host(scheduler),
          registry(observers, "n0"),
          segments(registry, "server", ::geteuid()),
          events(observers, host, registry, segments, {"server", 0}, 16),
          blocking_tasks(scheduler),
          monitors(scheduler, host, events, blocking_tasks, registry, peers, {"server", 0}, kernel.files()) {
        kernel.put_process(101, 150);
        kernel.put_process(102, 250);
        peer = rank("job", 1, 101);
        other = rank("job", 2, 102);
    }
    ~UsageSetting() override { monitors.stop(PMIX_ERR_LOST_CONNECTION); }

    PeerPtr rank(const char* nspace, uint32_t number, int pid, uint32_t uid = ::geteuid()) {
        Nspace& job = registry.obtain(nspace);
        job.owner = uid;
        job.job_size = 4;
        job.clients[number].rank = number;
        job.clients[number].uid = uid;
        job.clients[number].state = Client::State::connected;
        return connect(PeerKind::client, ProcId(nspace, number), pid, uid);
    }
    PeerPtr connect(PeerKind kind, ProcId id, int pid, uint32_t uid = ::geteuid()) {
        auto made = std::make_shared<NotingPeer>(kind, std::move(id), next_serial++, uid, pid);
        peers[made->serial()] = made;
        events.peer_here(made);
        common::RegisterEventsRequest listen;
        listen.codes = {PMIX_MONITOR_RESUSAGE_UPDATE, kCode};
        events.register_handler(*made, listen, Reply());
        return made;
    }
    void start(const PeerPtr& who, InfoList what, InfoList directives, pmix_status_t code = PMIX_SUCCESS) {
        MonitorRequest request;
        request.code = code;
        request.infos = std::move(what);
        request.directives = std::move(directives);
        monitors.request(*who, request, Reply(who, static_cast<uint16_t>(common::Command::monitor), 1));
    }
    pmix_status_t ask(const PeerPtr& who, InfoList what, InfoList directives, pmix_status_t code = PMIX_SUCCESS) {
        const size_t before = who->statuses.size();
        const auto begin = std::chrono::steady_clock::now();
        start(who, std::move(what), std::move(directives), code);
        EXPECT_TRUE(scheduler.run_until([&] { return who->statuses.size() > before; }));
        sampled_since(begin);
        return who->statuses.back();
    }
    pmix_status_t ask(InfoList what, InfoList directives, pmix_status_t code = PMIX_SUCCESS) {
        return ask(peer, std::move(what), std::move(directives), code);
    }
    // A period, the sample at its end, and the timer of the next. The next one is late where the sample took more than
    // a tenth of a period: on a busy machine a worker may be held up for as long.
    void period(int64_t ms) {
        const int64_t due = scheduler.next_ms();
        EXPECT_LE(due, std::max(ms, 10 * (slowest_ms + 1)));
        const auto begin = std::chrono::steady_clock::now();
        scheduler.advance(std::max(ms, due));
        EXPECT_TRUE(scheduler.run_until([&] { return scheduler.timers() == monitors.size(); }));
        sampled_since(begin);
    }
    void sampled_since(std::chrono::steady_clock::time_point begin) {
        const auto took = std::chrono::steady_clock::now() - begin;
        slowest_ms = std::max<int64_t>(slowest_ms, std::chrono::ceil<std::chrono::milliseconds>(took).count());
    }

    // All figures, or those with these keys.
    static InfoList usage(const char* kind, std::initializer_list<const char*> keys = {}) {
        InfoList one;
        for (const char* key : keys) one.append_flag(key, true);
        InfoList list;
        list.append(kind, std::move(common::array_value(std::move(one))).value());
        return list;
    }
    static InfoList rate(uint32_t seconds, const char* id = "") {
        InfoList list;
        list.append_number<uint32_t>(PMIX_MONITOR_RESOURCE_RATE, seconds, PMIX_UINT32);
        if (*id != 0) list.append_string(PMIX_MONITOR_ID, id);
        return list;
    }
    template <class T>
    static InfoList targets(const char* key, pmix_data_type_t type, std::vector<T> elements, InfoList list = {}) {
        pmix_data_array_t array{};
        array.type = type;
        array.size = elements.size();
        array.array = elements.data();
        list.append(key, &array, PMIX_DATA_ARRAY);
        return list;
    }
    static InfoList of_procs(std::vector<ProcId> procs, InfoList list = {}) {
        std::vector<pmix_proc_t> raw;
        for (const ProcId& p : procs) raw.push_back(p.to_c());
        return targets(PMIX_MONITOR_TARGET_PROCS, PMIX_PROC, raw, std::move(list));
    }
    static InfoList of_names(const char* key, std::vector<const char*> names, InfoList list = {}) {
        return targets(key, PMIX_STRING, std::move(names), std::move(list));
    }
    static InfoList of_pid(pid_t pid, const char* node, uint32_t node_id = UINT32_MAX) {
        pmix_node_pid_t one{};
        one.hostname = const_cast<char*>(node);
        one.nodeid = node_id;
        one.pid = pid;
        return targets<pmix_node_pid_t>(PMIX_MONITOR_TARGET_PIDS, PMIX_NODE_PID, {one});
    }
    static InfoList cancel(const char* id) {
        InfoList list;
        if (id == nullptr) {
            list.append(PMIX_MONITOR_CANCEL, nullptr, PMIX_STRING);
        } else {
            list.append_string(PMIX_MONITOR_CANCEL, id);
        }
        return list;
    }
    // The entries of one kind in an answer.
    static std::vector<InfoView> entries(InfoView infos, const char* key) {
        std::vector<InfoView> out;
        for (const pmix_info_t& info : infos)
            if (common::key_view(info) == key) out.push_back(common::infos_in(info.value));
        return out;
    }
    static std::string text(InfoView infos, const char* key) {
        std::string_view value;
        EXPECT_STATUS(PMIX_SUCCESS, infos.get(key, &value));
        return std::string(value);
    }
    static double number(InfoView infos, const char* key) {
        const pmix_info_t* info = infos.find(key);
        double n = -1;
        EXPECT_NE(nullptr, info) << key;
        if (info != nullptr) {
            EXPECT_STATUS(PMIX_SUCCESS, common::read_number(info->value, &n)) << key;
        }
        return n;
    }
    static std::vector<ProcId> procs_in(InfoView infos) {
        std::vector<ProcId> out;
        for (const InfoView& one : entries(infos, PMIX_PROC_RESOURCE_USAGE))
            if (one.size() > 0 && one[0].value.type == PMIX_PROC) out.emplace_back(*one[0].value.data.proc);
        return out;
    }
    static InfoView infos_of(const common::EventNotify& event) { return {event.infos.data(), event.infos.size()}; }

    test::FakeScheduler scheduler;
    test::FakeKernel kernel;
    AnsweringHost host;
    LifecycleObservers observers;
    Registry registry;
    Segments segments;
    Events events;
    BlockingTasks blocking_tasks;
    UsageTargets::Peers peers;
    Monitors monitors;
    uint64_t next_serial = 5;
    int64_t slowest_ms = 0;
    PeerPtr peer, other;
};

}  // namespace pmix::server

// SPDX-License-Identifier: BSD-3-Clause
#include "server/monitoring/usage_monitors.h"

#include <algorithm>
#include <chrono>
#include <new>

#include "common/base/log.h"
#include "common/values/support.h"
#include "server/base/need.h"
#include "server/base/scheduler.h"
#include "server/host/required.h"

namespace pmix::server {

using common::InfoList;
using common::InfoView;
using common::ProcId;
using common::Result;

namespace {

constexpr uint32_t kMaxPeriodSeconds = 365 * 24 * 3600;
constexpr int64_t kShareOfTime = 10;
// For a worker that hangs when the server ends.
constexpr int64_t kEndPatienceMs = 2000;

int64_t now_ms() {
    using namespace std::chrono;
    return duration_cast<milliseconds>(steady_clock::now().time_since_epoch()).count();
}

}  // namespace

struct UsageMonitors::Monitor {
    uint64_t serial = 0;
    UsageViewer viewer;
    std::string id;
    pmix_status_t code = PMIX_SUCCESS;
    std::optional<pmix_data_range_t> range;  // none: the requester alone
    bool proxied = false;                    // the requester is on another node
    uint32_t seconds = 0;                    // 0: one sample
    UsageOptions options;
    UsageScope scope;
    std::shared_ptr<UsageHistory> history = std::make_shared<UsageHistory>();
    bool host_too = false;
    // Until the first sample is there.
    Reply reply;
    InfoList from_host;
    Timer timer;
    // After the first sample, one of the two:
    bool waits = false;                // the timer of its next sample runs
    std::weak_ptr<const char> sample;  // until its sample has been taken in, or was lost
    AccountPtr account;
    Charge charge;
};

// A sample under way. The worker has it alone until it is done.
struct UsageMonitors::Task {
    UsageQuestion question;
    std::shared_ptr<UsageHistory> history;
    pmix_status_t status = PMIX_ERR_NOMEM;
    InfoList infos;
    int64_t took_ms = 0;
    Charge charge;
};

UsageMonitors::UsageMonitors(Scheduler& scheduler, Host& host, Events& events, const Registry& registry,
                             const UsageTargets::Peers& peers, const ProcId& self, KernelFiles files)
    : scheduler_(scheduler),
      host_(host),
      events_(events),
      targets_(registry, peers, self),
      files_(std::move(files)),
      tasks_(scheduler) {}

UsageMonitors::~UsageMonitors() = default;

Result<ProcId> monitoring_process(const Peer& peer, InfoView directives) {
    const pmix_proc_t* proxied = nullptr;
    WIREUP_RETURN_IF_ERROR(directives.get(PMIX_MONITOR_PROXY, &proxied));
    return proxied == nullptr ? peer.id() : ProcId(*proxied);
}

Result<std::optional<pmix_data_range_t>> monitoring_range(InfoView directives) {
    const pmix_info_t* range = directives.find(PMIX_RANGE);
    if (range == nullptr) return std::optional<pmix_data_range_t>();
    uint64_t n = 0;
    if (range->value.type == PMIX_DATA_RANGE) {
        n = range->value.data.range;
    } else if (common::read_number(range->value, &n) != PMIX_SUCCESS) {
        return PMIX_ERR_BAD_PARAM;
    }
    if (n > PMIX_RANGE_PROC_LOCAL || n == PMIX_RANGE_CUSTOM) return PMIX_ERR_BAD_PARAM;
    return std::optional(static_cast<pmix_data_range_t>(n));
}

int64_t UsageMonitors::wait_ms(uint32_t seconds, int64_t took_ms) noexcept {
    return std::max<int64_t>(int64_t{seconds} * 1000, kShareOfTime * took_ms);
}

Result<UsageMonitors::Made> UsageMonitors::read(Peer& peer, const common::MonitorRequest& request) const {
    const pmix_info_t& what = request.infos[0];
    const InfoView directives(request.directives.data(), request.directives.size());
    WIREUP_RETURN_IF_ERROR(common::check_required(directives, common::Function::PMIx_Process_monitor,
                                                  common::level::server | common::level::client));
    auto made = std::make_unique<Monitor>();
    Monitor& m = *made;
    auto proc = monitoring_process(peer, directives);
    if (!proc) return proc.status();
    m.serial = peer.serial();
    m.viewer = {*proc, peer.credentials(), peer.kind() == PeerKind::self};
    if (directives.has(PMIX_MONITOR_PROXY)) {
        // The host asks for a process of another node, and is shown what that process's user may see.
        m.proxied = true;
        m.viewer.is_host = false;
        if (!directives.has(PMIX_USERID)) return PMIX_ERR_BAD_PARAM;
        WIREUP_RETURN_IF_ERROR(directives.get(PMIX_USERID, &m.viewer.user.uid));
        WIREUP_RETURN_IF_ERROR(directives.get(PMIX_GRPID, &m.viewer.user.gid));
    }
    std::string_view id;
    WIREUP_RETURN_IF_ERROR(directives.get(PMIX_MONITOR_ID, &id));
    m.id = id;
    m.code = request.code == PMIX_SUCCESS ? PMIX_MONITOR_RESUSAGE_UPDATE : request.code;
    auto range = monitoring_range(directives);
    if (!range) return range.status();
    m.range = *range;
    WIREUP_RETURN_IF_ERROR(directives.get(PMIX_MONITOR_RESOURCE_RATE, &m.seconds));
    if (m.seconds > kMaxPeriodSeconds) return PMIX_ERR_BAD_PARAM;
    auto options = read_usage_options(what, directives);
    if (!options) return options.status();
    m.options = std::move(options).value();
    auto scope = targets_.read(directives, m.viewer);
    if (!scope) return scope.status();
    m.scope = std::move(scope).value();
    if (directives.flag(PMIX_MONITOR_LOCAL_ONLY)) m.scope.elsewhere = false;
    m.account = peer.account();
    if (!m.charge.set(m.account, sizeof m + m.id.capacity() + m.scope.procs.size() * sizeof(ProcId)))
        return PMIX_ERR_OUT_OF_RESOURCE;
    size_t periodic = 0;
    for (const auto& [number, other] : monitors_)
        if (other->seconds > 0 && other->viewer.user.uid == m.viewer.user.uid) ++periodic;
    if (m.seconds > 0 && periodic >= kMaxPerUser) return PMIX_ERR_OUT_OF_RESOURCE;
    return made;
}

void UsageMonitors::request(Peer& peer, common::MonitorRequest& request, Reply reply) {
    auto made = read(peer, request);
    if (!made) return reply.status(made.status());
    if ((*made)->scope.elsewhere) return ask_host(peer, request, std::move(made).value(), std::move(reply));
    begin(std::move(made).value(), {}, std::move(reply));
}

void UsageMonitors::ask_host(Peer& peer, common::MonitorRequest& request, Made made, Reply reply) {
    InfoList one, up = request.directives.take();
    pmix_status_t rc = check_service(host_, up, common::Function::PMIx_Process_monitor);
    if (rc == PMIX_SUCCESS) rc = one.append(request.infos[0]);
    if (rc == PMIX_SUCCESS) rc = append_ids(up, peer.credentials());
    if (rc != PMIX_SUCCESS) return reply.status(rc);
    made->host_too = true;
    Host& host = host_.of(peer);
    host.monitor(peer.id(), std::move(one), request.code, std::move(up),
                 [this, &host, made = std::move(made), reply = std::move(reply)](HostAnswer& a) mutable {
                     if (common::succeeded(a.status)) {
                         if (stopped_) return;
                         if (reply.peer() == nullptr) {
                             if (made->seconds > 0) cancel_at_host(host, made->viewer);
                             return;
                         }
                         if (made->seconds > 0) at_host_.insert(made->serial);
                         return begin(std::move(made), std::move(a.infos), std::move(reply));
                     }
                     common::ResultsReply message;
                     message.infos = std::move(a.infos);
                     reply.message(common::plain(a.status), message);
                 });
}

// What the host has answered stays the answer where there is nothing of this node to add.
void UsageMonitors::begin(Made made, InfoList from_host, Reply reply) {
    if (!made->scope.here) {
        common::ResultsReply message;
        message.infos = std::move(from_host);
        return reply.message(PMIX_SUCCESS, message);
    }
    made->reply = std::move(reply);
    made->from_host = std::move(from_host);
    const uint64_t number = next_++;
    Monitor& m = *monitors_.emplace(number, std::move(made)).first->second;
    pmix_status_t rc = PMIX_ERR_NOMEM;
    try {
        m.timer = Timer(scheduler_, kLimitMs, [this, number] { end(number, PMIX_ERR_TIMEOUT); });
        rc = sample(number);
    } catch (const std::bad_alloc&) {  // nothing is under way
    }
    if (rc != PMIX_SUCCESS) end(number, rc);
}

// Before its first sample.
void UsageMonitors::end(uint64_t number, pmix_status_t status) {
    const auto monitor = monitors_.extract(number);
    if (!monitor.empty()) monitor.mapped()->reply.status(status);
}

void UsageMonitors::once(const UsageViewer& viewer, const UsageOptions& options, const UsageScope& scope,
                         const AccountPtr& account, Sampled done) {
    const uint64_t number = next_++;
    Once& one = once_[number];
    one.done = std::move(done);
    pmix_status_t rc = PMIX_ERR_NOMEM;
    try {
        one.timer = Timer(scheduler_, kLimitMs, [this, number] { end_once(number, PMIX_ERR_TIMEOUT, {}); });
        rc = start(viewer, options, scope, account, std::make_shared<UsageHistory>(),
                   [this, number](Task& task) { end_once(number, task.status, std::move(task.infos)); });
    } catch (const std::bad_alloc&) {  // nothing is under way
    }
    if (rc != PMIX_SUCCESS) end_once(number, rc, {});
}

void UsageMonitors::end_once(uint64_t number, pmix_status_t status, InfoList infos) {
    auto one = once_.extract(number);
    if (!one.empty()) one.mapped().done(status, std::move(infos));
}

pmix_status_t UsageMonitors::sample(uint64_t number) {
    Monitor& m = *monitors_.at(number);
    auto sign = std::make_shared<const char>();
    m.sample = sign;
    return start(m.viewer, m.options, m.scope, m.account, m.history,
                 [this, number, sign = std::move(sign)](Task& task) mutable {
                     sign.reset();
                     sampled(number, task);
                 });
}

pmix_status_t UsageMonitors::start(const UsageViewer& viewer, const UsageOptions& options, const UsageScope& scope,
                                   const AccountPtr& account, const std::shared_ptr<UsageHistory>& history,
                                   TaskDone done) {
    const uint32_t uid = viewer.user.uid;
    std::erase_if(under_way_, [](const auto& user) { return user.second.use_count() == 1; });
    Sign& sign = under_way_[uid];
    if (sign == nullptr) sign = std::make_shared<const char>();
    if (static_cast<size_t>(sign.use_count()) > kMaxUnderWay) return PMIX_ERR_OUT_OF_RESOURCE;
    auto task = std::make_shared<Task>();
    UsageQuestion& q = task->question;
    if (options.of_processes) {
        auto targets = targets_.find(scope, viewer);
        if (!targets) return targets.status();
        q.targets = std::move(targets).value();
    }
    if (!task->charge.set(account, sizeof *task + q.targets.size() * sizeof(UsageTarget)))
        return PMIX_ERR_OUT_OF_RESOURCE;
    q.files = files_;
    q.options = options;
    q.hostname = targets_.hostname();
    q.node_id = targets_.node_id(viewer.proc.nspace);
    task->history = history;
    tasks_.add(
        {uid, viewer.user.gid},
        [task](bool as_user) {
            const int64_t began = now_ms();
            task->question.private_parts = as_user;
            auto infos = take_usage_sample(task->question, *task->history);
            task->status = infos.status();
            if (infos) task->infos = std::move(infos).value();
            task->took_ms = now_ms() - began;
        },
        [task, sign, done = std::move(done)]() mutable {
            sign.reset();
            done(*task);
        });
    return PMIX_SUCCESS;
}

void UsageMonitors::sampled(uint64_t number, Task& task) {
    auto it = monitors_.find(number);
    if (it == monitors_.end()) return;
    Monitor& m = *it->second;
    if (!m.reply.open()) {
        return run_all(
            [&] {
                // An event about nothing would only wake the requester.
                if (!task.infos.empty()) raise(m, std::move(task.infos));
            },
            [&] {
                // Its event may have ended it.
                if (monitors_.count(number) != 0) arm(number, task.took_ms);
            });
    }
    common::ResultsReply message;
    pmix_status_t rc = task.status;
    if (rc == PMIX_SUCCESS) rc = task.infos.append_all(m.from_host.c_array(), m.from_host.size());
    m.from_host = {};
    message.infos = std::move(task.infos);
    Reply reply = std::move(m.reply);
    if (rc == PMIX_SUCCESS && m.seconds != 0) {
        try {
            arm(number, task.took_ms);
        } catch (const std::bad_alloc&) {
            rc = PMIX_ERR_NOMEM;
        }
    }
    if (m.seconds == 0 || rc != PMIX_SUCCESS) monitors_.erase(it);
    if (rc != PMIX_SUCCESS) return reply.status(rc);
    reply.message(PMIX_SUCCESS, message);
}

// A sample that cannot be taken is left out; the next one may.
void UsageMonitors::arm(uint64_t number, int64_t took_ms) {
    Monitor& m = *monitors_.at(number);
    m.waits = false;
    m.timer = Timer(scheduler_, wait_ms(m.seconds, took_ms), [this, number] {
        const auto monitor = monitors_.find(number);
        if (monitor == monitors_.end()) return;
        monitor->second->waits = false;
        pmix_status_t rc = PMIX_ERR_NOMEM;
        try {
            rc = sample(number);
        } catch (const std::bad_alloc&) {  // nothing is under way
        }
        if (rc != PMIX_SUCCESS) arm(number, 0);
    });
    m.waits = true;
}

void UsageMonitors::recover() {
    run_each(monitors_, [&](const auto& entry) {
        const Monitor& m = *entry.second;
        if (!m.waits && m.sample.expired() && !m.reply.open()) arm(entry.first, 0);
    });
}

void UsageMonitors::raise(const Monitor& m, InfoList infos) {
    if (!m.id.empty()) need(infos.append_string(PMIX_MONITOR_ID, m.id));
    // No default handler takes a sample for an error, and none is kept in the place of an event that is one.
    need(infos.append_flag(PMIX_EVENT_NON_DEFAULT, true));
    need(infos.append_flag(PMIX_EVENT_DO_NOT_CACHE, true));
    if (!m.range) {
        const pmix_proc_t requester = m.viewer.proc.to_c();
        need(infos.append(PMIX_EVENT_CUSTOM_RANGE, &requester, PMIX_PROC));
        // The host has nobody to tell.
        if (!m.proxied) return events_.raise(m.code, m.viewer.proc, PMIX_RANGE_CUSTOM, std::move(infos));
    }
    events_.announce(m.code, m.viewer.proc, m.range.value_or(PMIX_RANGE_CUSTOM), std::move(infos), m.viewer.user);
}

// ---- the end of monitors ----

bool UsageMonitors::has(const Peer& peer, const ProcId& proc, std::string_view id) const {
    return std::any_of(monitors_.begin(), monitors_.end(), [&](const auto& entry) {
        const Monitor& m = *entry.second;
        return m.serial == peer.serial() && m.viewer.proc == proc && m.id == id;
    });
}

UsageMonitors::Cancelled UsageMonitors::cancel(const Peer& peer, const ProcId& proc,
                                               std::optional<std::string_view> id) {
    Cancelled out;
    // All: what is the host's alone has no entry here.
    if (!id && proc == peer.id()) out.host_too = at_host_.erase(peer.serial()) != 0;
    for (auto it = monitors_.begin(); it != monitors_.end();) {
        const Monitor& m = *it->second;
        const bool meant = m.serial == peer.serial() && m.viewer.proc == proc && (!id || m.id == *id);
        // What is answered only once ends by itself.
        if (!meant || m.seconds == 0) {
            ++it;
            continue;
        }
        ++out.count;
        out.host_too = out.host_too || m.host_too;
        it = monitors_.erase(it);
    }
    return out;
}

void UsageMonitors::peer_gone(const Peer& peer) {
    const bool host_too = at_host_.erase(peer.serial()) != 0;
    std::erase_if(monitors_, [&](const auto& entry) { return entry.second->serial == peer.serial(); });
    if (host_too && !stopped_) cancel_at_host(host_.of(peer), {peer.id(), peer.credentials(), false});
}

// All that the host measures for a requester that has ended: an identifier that is NULL cancels all. The end of a
// process does not fail for want of memory: the host's part is then cancelled with the job.
void UsageMonitors::cancel_at_host(Host& host, const UsageViewer& requester) noexcept {
    try {
        InfoList what, directives;
        need(what.append(PMIX_MONITOR_CANCEL, nullptr, PMIX_STRING));
        need(append_ids(directives, requester.user));
        host.monitor(requester.proc, std::move(what), PMIX_SUCCESS, std::move(directives), [](HostAnswer&) {});
    } catch (const std::bad_alloc&) {
        WIREUP_LOG(server, warn, "no memory to cancel the monitors of %s:%u at the host", requester.proc.nspace.c_str(),
                   requester.proc.rank);
    }
}

void UsageMonitors::namespace_gone(std::string_view nspace) {
    std::erase_if(monitors_, [&](const auto& entry) { return entry.second->viewer.proc.nspace == nspace; });
}

void UsageMonitors::stop(pmix_status_t status) {
    stopped_ = true;
    auto monitors = std::move(monitors_);
    monitors_.clear();
    for (auto& [number, m] : monitors)
        if (m->reply.open()) m->reply.status(status);
    while (!once_.empty()) end_once(once_.begin()->first, status, {});
    tasks_.finish(kEndPatienceMs);
}

}  // namespace pmix::server

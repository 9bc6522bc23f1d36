// SPDX-License-Identifier: BSD-3-Clause
#include "server/monitoring/monitors.h"

#include <sys/stat.h>

#include <algorithm>
#include <cassert>

#include "common/values/info_view.h"
#include "common/values/support.h"
#include "server/host/required.h"

namespace pmix::server {

using common::InfoList;
using common::InfoView;
using common::ProcId;

namespace {

constexpr ptrdiff_t kMaxPerProcess = 64;
constexpr uint32_t kMaxSeconds = 365 * 24 * 3600;

// Bits of what must change.
constexpr unsigned kSize = 1, kAccess = 2, kModify = 4;

// Older callers pass a string here, newer ones a boolean: true unless it is the boolean false.
bool is_asked(InfoView directives, std::string_view key) {
    const pmix_info_t* info = directives.find(key);
    return info != nullptr && (info->value.type != PMIX_BOOL || info->value.data.flag);
}

}  // namespace

// What a file looked like; nothing: it was not there, or the user may not look at it.
struct Monitors::FileState {
    bool there = false;
    off_t size = 0;
    timespec access{}, modify{};
};

struct Monitors::Monitor {
    uint64_t serial = 0;
    common::ProcId proc;
    Rights user;
    std::string id;
    pmix_status_t code = PMIX_SUCCESS;
    pmix_data_range_t range = PMIX_RANGE_NAMESPACE;
    uint32_t seconds = 0;
    uint32_t allowed = 0;  // periods in a row that may be missed
    uint32_t missed = 0;
    bool app_control = false;  // the application acts on the event: the host is told
    bool raised = false;
    bool beaten = false;
    std::string file;  // empty: heartbeats
    unsigned criteria = 0;
    FileState last;
    bool goes_on = false;      // its period runs
    std::weak_ptr<char> look;  // until its file has been looked at
    Timer timer;
    Charge charge;
};

Monitors::Monitors(Scheduler& scheduler, Host& host, Events& events, BlockingTasks& blocking_tasks,
                   const Registry& registry, const UsageTargets::Peers& peers, const common::ProcId& self,
                   KernelFiles files)
    : scheduler_(scheduler),
      host_(host),
      events_(events),
      blocking_tasks_(blocking_tasks),
      usage_(scheduler, host, events, registry, peers, self, std::move(files)) {}

Monitors::~Monitors() = default;

void Monitors::stop(pmix_status_t status) {
    monitors_.clear();
    usage_.stop(status);
}

pmix_status_t Monitors::read(const pmix_info_t& what, pmix_status_t code, InfoView directives, Monitor& m) {
    pmix_status_t rc = common::check_required(directives, common::Function::PMIx_Process_monitor,
                                              common::level::server | common::level::client);
    std::string_view id;
    if (rc == PMIX_SUCCESS) rc = directives.get(PMIX_MONITOR_ID, &id);
    if (rc == PMIX_SUCCESS) rc = directives.get(PMIX_MONITOR_APP_CONTROL, &m.app_control);
    if (rc != PMIX_SUCCESS) return rc;
    m.id = id;
    auto range = monitoring_range(directives);
    if (!range) return range.status();
    m.range = range->value_or(PMIX_RANGE_NAMESPACE);
    if (common::key_view(what) == PMIX_MONITOR_HEARTBEAT) {
        m.code = code == PMIX_SUCCESS ? PMIX_MONITOR_HEARTBEAT_ALERT : code;
        rc = directives.get(PMIX_MONITOR_HEARTBEAT_TIME, &m.seconds);
        if (rc == PMIX_SUCCESS) rc = directives.get(PMIX_MONITOR_HEARTBEAT_DROPS, &m.allowed);
    } else {
        m.code = code == PMIX_SUCCESS ? PMIX_MONITOR_FILE_ALERT : code;
        if (what.value.type != PMIX_STRING || what.value.data.string == nullptr || what.value.data.string[0] != '/')
            return PMIX_ERR_BAD_PARAM;
        m.file = what.value.data.string;
        rc = directives.get(PMIX_MONITOR_FILE_CHECK_TIME, &m.seconds);
        if (rc == PMIX_SUCCESS) rc = directives.get(PMIX_MONITOR_FILE_DROPS, &m.allowed);
        if (is_asked(directives, PMIX_MONITOR_FILE_SIZE)) m.criteria |= kSize;
        if (is_asked(directives, PMIX_MONITOR_FILE_ACCESS)) m.criteria |= kAccess;
        if (is_asked(directives, PMIX_MONITOR_FILE_MODIFY)) m.criteria |= kModify;
        if (m.criteria == 0) m.criteria = kSize | kAccess | kModify;
    }
    if (rc != PMIX_SUCCESS) return rc;
    return m.seconds == 0 || m.seconds > kMaxSeconds ? PMIX_ERR_BAD_PARAM : PMIX_SUCCESS;
}

void Monitors::request(Peer& peer, common::MonitorRequest& request, Reply reply) {
    if (request.infos.size() != 1) return reply.status(PMIX_ERR_BAD_PARAM);
    const pmix_info_t& what = request.infos[0];
    const std::string_view key = common::key_view(what);
    const InfoView directives(request.directives.data(), request.directives.size());
    if (key == PMIX_SEND_HEARTBEAT) {
        beat(peer);
        return reply.status(PMIX_SUCCESS);
    }
    // Only the host asks us in another's name; in that of others it is asked.
    const bool in_other_name = directives.has(PMIX_MONITOR_PROXY);
    const bool for_host = in_other_name && peer.kind() != PeerKind::self;
    auto proc = monitoring_process(peer, directives);
    if (!proc) return reply.status(proc.status());
    if (key == PMIX_MONITOR_CANCEL) {
        bool host_too = false;
        const bool cancelled = cancel(peer, *proc, what, host_too);
        if (cancelled && !host_too) return reply.status(PMIX_SUCCESS);
        return ask_host(peer, request, cancelled, std::move(reply));
    }
    std::string_view id;
    pmix_status_t rc = directives.get(PMIX_MONITOR_ID, &id);
    if (rc != PMIX_SUCCESS) return reply.status(rc);
    if (!for_host && !id.empty() && has(peer, *proc, id)) return reply.status(PMIX_ERR_DUPLICATE_KEY);
    if (is_usage_request(key) && !for_host) return usage_.request(peer, request, std::move(reply));
    // In another's name, or something that only the host can measure.
    const bool ours = (key == PMIX_MONITOR_HEARTBEAT || key == PMIX_MONITOR_FILE) && !in_other_name;
    if (!ours) return ask_host(peer, request, false, std::move(reply));
    auto made = std::make_unique<Monitor>();
    Monitor& m = *made;
    rc = read(what, request.code, directives, m);
    if (rc != PMIX_SUCCESS) return reply.status(rc);
    const auto mine = std::count_if(monitors_.begin(), monitors_.end(),
                                    [&](const auto& entry) { return entry.second->serial == peer.serial(); });
    if (mine >= kMaxPerProcess) return reply.status(PMIX_ERR_OUT_OF_RESOURCE);
    if (!m.charge.set(peer.account(), sizeof m + m.id.capacity() + m.file.capacity()))
        return reply.status(PMIX_ERR_OUT_OF_RESOURCE);
    m.serial = peer.serial();
    m.proc = peer.id();
    m.user = {peer.credentials().uid, peer.credentials().gid};
    const uint64_t number = next_++;
    monitors_.emplace(number, std::move(made));
    try {
        if (!m.file.empty()) look_at_file(number, true);
        arm(number);
        reply.status(PMIX_SUCCESS);
    } catch (const std::bad_alloc&) {
        monitors_.erase(number);
        throw;
    }
}

// What this server does not do itself, and the part of a cancelled monitor that the host does.
void Monitors::ask_host(Peer& peer, common::MonitorRequest& request, bool cancelled_here, Reply reply) {
    const bool cancels = common::key_view(request.infos[0]) == PMIX_MONITOR_CANCEL;
    const pmix_status_t code = request.code;
    InfoList one, up = request.directives.take();
    pmix_status_t rc = check_service(host_, up, common::Function::PMIx_Process_monitor);
    if (rc == PMIX_SUCCESS) rc = one.append(request.infos[0]);
    if (rc == PMIX_SUCCESS) rc = append_ids(up, peer.credentials());
    if (rc != PMIX_SUCCESS) return reply.status(rc);
    host_.of(peer).monitor(peer.id(), std::move(one), code, std::move(up),
                           [cancels, cancelled_here, reply = std::move(reply)](HostAnswer& a) mutable {
                               common::ResultsReply message;
                               message.infos = std::move(a.infos);
                               // Nobody knows the name.
                               if (cancels && a.status == PMIX_ERR_NOT_SUPPORTED) a.status = PMIX_ERR_NOT_FOUND;
                               if (cancelled_here && a.status == PMIX_ERR_NOT_FOUND) a.status = PMIX_SUCCESS;
                               reply.message(common::plain(a.status), message);
                           });
}

// Is it there no more? An empty name means all, and is content when there is none.
bool Monitors::cancel(const Peer& peer, const ProcId& proc, const pmix_info_t& what, bool& host_too) {
    const bool all = what.value.type != PMIX_STRING || what.value.data.string == nullptr;
    std::optional<std::string_view> id;
    if (!all) id = what.value.data.string;
    const size_t ended = std::erase_if(monitors_, [&](const auto& entry) {
        return entry.second->serial == peer.serial() && proc == peer.id() && (all || entry.second->id == *id);
    });
    const UsageMonitors::Cancelled usage = usage_.cancel(peer, proc, id);
    host_too = usage.host_too;
    return all || ended + usage.count > 0;
}

bool Monitors::has(const Peer& peer, const ProcId& proc, std::string_view id) const {
    return usage_.has(peer, proc, id) || std::any_of(monitors_.begin(), monitors_.end(), [&](const auto& entry) {
               return entry.second->serial == peer.serial() && proc == peer.id() && entry.second->id == id;
           });
}

void Monitors::peer_gone(const Peer& peer) {
    std::erase_if(monitors_, [&](const auto& entry) { return entry.second->serial == peer.serial(); });
    usage_.peer_gone(peer);
}

void Monitors::namespace_gone(Nspace& nspace) {
    usage_.namespace_gone(nspace.name);
}

// ---- periods ----

void Monitors::arm(uint64_t number) {
    Monitor& m = *monitors_.at(number);
    assert(!m.goes_on);  // one period at a time
    m.timer = Timer(scheduler_, int64_t{m.seconds} * 1000, [this, number] { period_over(number); });
    m.goes_on = true;
}

// Its alarm may have ended it.
void Monitors::next_period(uint64_t number) {
    if (monitors_.count(number) != 0) arm(number);
}

void Monitors::recover() {
    run_all(
        [&] {
            run_each(monitors_, [&](const auto& entry) {
                if (!entry.second->goes_on && entry.second->look.expired()) arm(entry.first);
            });
        },
        [&] { usage_.recover(); });
}

void Monitors::period_over(uint64_t number) {
    auto it = monitors_.find(number);
    if (it == monitors_.end()) return;
    Monitor& m = *it->second;
    assert(m.goes_on);
    m.goes_on = false;
    if (!m.file.empty()) return look_at_file(number, false);
    run_all([&] { count(number, std::exchange(m.beaten, false)); }, [&] { next_period(number); });
}

void Monitors::count(uint64_t number, bool alive) {
    Monitor& m = *monitors_.at(number);
    if (alive) {
        m.missed = 0;
        m.raised = false;
    } else if (!m.raised && ++m.missed > m.allowed) {
        m.raised = true;  // before: its event may end it
        bool told = false;
        try {
            told = raise(m);
        } catch (const std::bad_alloc&) {  // some may have been told, and are told again
        }
        if (!told && monitors_.count(number) != 0) m.raised = false;
    }
}

// To all in its range, through the host too, and to default handlers: somebody asked for the alarm. False: there was no
// memory for it, and the next period raises it.
bool Monitors::raise(const Monitor& m) {
    InfoList infos;
    const pmix_proc_t proc = m.proc.to_c();
    const char* drops = m.file.empty() ? PMIX_MONITOR_HEARTBEAT_DROPS : PMIX_MONITOR_FILE_DROPS;
    pmix_status_t rc = infos.append(PMIX_EVENT_AFFECTED_PROC, &proc, PMIX_PROC);
    if (rc == PMIX_SUCCESS && !m.id.empty()) rc = infos.append_string(PMIX_MONITOR_ID, m.id);
    if (rc == PMIX_SUCCESS && m.app_control) rc = infos.append_flag(PMIX_MONITOR_APP_CONTROL, true);
    if (rc == PMIX_SUCCESS && !m.file.empty()) rc = infos.append_string(PMIX_MONITOR_FILE, m.file);
    if (rc == PMIX_SUCCESS) rc = infos.append_number<uint32_t>(drops, m.missed, PMIX_UINT32);
    if (rc != PMIX_SUCCESS) return false;
    events_.announce(m.code, m.proc, m.range, std::move(infos), {m.user.uid, m.user.gid, 0});
    return true;
}

// ---- heartbeats ----

void Monitors::beat(const Peer& peer) {
    for (auto& [number, m] : monitors_)
        if (m->serial == peer.serial() && m->file.empty()) m->beaten = true;
}

void Monitors::heartbeat(Peer& peer, common::Nothing&, Reply) {
    beat(peer);
}

// ---- files ----

// The next period begins when the answer is there: a file system that hangs raises nothing by itself.
void Monitors::look_at_file(uint64_t number, bool first) {
    Monitor& m = *monitors_.at(number);
    auto state = std::make_shared<FileState>();
    auto look = std::make_shared<char>();
    m.look = look;
    blocking_tasks_.add(
        m.user,
        [state, path = m.file](bool as_user) {
            // With this process's rights the user could look at what is not the user's to see.
            struct stat info;
            if (!as_user || ::stat(path.c_str(), &info) != 0) return;
            *state = {true, info.st_size, info.st_atim, info.st_mtim};
        },
        [this, number, state, first, look = std::move(look)]() mutable {
            look.reset();
            saw(number, *state, first);
        });
}

void Monitors::saw(uint64_t number, const FileState& state, bool first) {
    auto it = monitors_.find(number);
    if (it == monitors_.end()) return;
    Monitor& m = *it->second;
    const FileState before = std::exchange(m.last, state);
    if (first) return;
    const auto differ = [](const timespec& a, const timespec& b) {
        return a.tv_sec != b.tv_sec || a.tv_nsec != b.tv_nsec;
    };
    bool alive = state.there && !before.there;
    if (state.there && before.there) {
        alive = ((m.criteria & kSize) != 0 && state.size != before.size) ||
                ((m.criteria & kAccess) != 0 && differ(state.access, before.access)) ||
                ((m.criteria & kModify) != 0 && differ(state.modify, before.modify));
    }
    run_all([&] { count(number, alive); }, [&] { next_period(number); });
}

}  // namespace pmix::server

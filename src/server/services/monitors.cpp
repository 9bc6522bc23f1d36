// SPDX-License-Identifier: BSD-3-Clause
#include "server/services/monitors.h"

#include <sys/stat.h>

#include <algorithm>

#include "common/values/info_view.h"
#include "common/values/support.h"
#include "server/host/required.h"

namespace pmix::server {

using common::InfoList;
using common::InfoView;

namespace {

constexpr size_t kMaxPerProcess = 64;
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
    Timer timer;
    Charge charge;
};

Monitors::Monitors(Scheduler& scheduler, Host& host, Events& events, BlockingTasks& blocking_tasks)
    : scheduler_(scheduler), host_(host), events_(events), blocking_tasks_(blocking_tasks) {}

Monitors::~Monitors() = default;

void Monitors::stop(pmix_status_t) {
    monitors_.clear();
}

pmix_status_t Monitors::read(const pmix_info_t& what, pmix_status_t code, InfoView directives, Monitor& m) {
    pmix_status_t rc = common::check_required(directives, common::Function::PMIx_Process_monitor,
                                              common::level::server | common::level::client);
    std::string_view id;
    if (rc == PMIX_SUCCESS) rc = directives.get(PMIX_MONITOR_ID, &id);
    if (rc == PMIX_SUCCESS) rc = directives.get(PMIX_MONITOR_APP_CONTROL, &m.app_control);
    if (rc != PMIX_SUCCESS) return rc;
    m.id = id;
    if (const pmix_info_t* range = directives.find(PMIX_RANGE)) {
        uint64_t n = 0;
        if (range->value.type == PMIX_DATA_RANGE) {
            n = range->value.data.range;
        } else if (common::read_number(range->value, &n) != PMIX_SUCCESS) {
            return PMIX_ERR_BAD_PARAM;
        }
        if (n > PMIX_RANGE_PROC_LOCAL || n == PMIX_RANGE_CUSTOM) return PMIX_ERR_BAD_PARAM;
        m.range = static_cast<pmix_data_range_t>(n);
    }
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
    const bool cancels = key == PMIX_MONITOR_CANCEL;
    if (cancels) {
        const pmix_status_t rc = cancel(peer, what);
        if (rc != PMIX_ERR_NOT_FOUND) return reply.status(rc);
    }
    // In another's name, or something that only the host can measure.
    const bool ours =
        (key == PMIX_MONITOR_HEARTBEAT || key == PMIX_MONITOR_FILE) && !directives.has(PMIX_MONITOR_PROXY);
    const pmix_status_t code = request.code;
    if (!ours) {
        InfoList one, up = request.directives.take();
        pmix_status_t rc = check_service(host_, up, common::Function::PMIx_Process_monitor);
        if (rc == PMIX_SUCCESS) rc = one.append(what);
        if (rc == PMIX_SUCCESS) rc = append_ids(up, peer.credentials());
        if (rc != PMIX_SUCCESS) return reply.status(rc);
        return host_.of(peer).monitor(peer.id(), std::move(one), code, std::move(up),
                                      [cancels, reply = std::move(reply)](HostAnswer& a) mutable {
                                          common::ResultsReply message;
                                          message.infos = std::move(a.infos);
                                          // Nobody knows the name.
                                          if (cancels && a.status == PMIX_ERR_NOT_SUPPORTED)
                                              a.status = PMIX_ERR_NOT_FOUND;
                                          reply.message(common::plain(a.status), message);
                                      });
    }
    auto made = std::make_unique<Monitor>();
    Monitor& m = *made;
    const pmix_status_t rc = read(what, code, directives, m);
    if (rc != PMIX_SUCCESS) return reply.status(rc);
    size_t mine = 0;
    for (const auto& [number, other] : monitors_) {
        if (other->serial != peer.serial()) continue;
        ++mine;
        if (!m.id.empty() && other->id == m.id) return reply.status(PMIX_ERR_DUPLICATE_KEY);
    }
    if (mine >= kMaxPerProcess) return reply.status(PMIX_ERR_OUT_OF_RESOURCE);
    if (!m.charge.set(peer.account(), sizeof m + m.id.capacity() + m.file.capacity()))
        return reply.status(PMIX_ERR_OUT_OF_RESOURCE);
    m.serial = peer.serial();
    m.proc = peer.id();
    m.user = {peer.credentials().uid, peer.credentials().gid};
    const uint64_t number = next_++;
    monitors_.emplace(number, std::move(made));
    if (!m.file.empty()) look_at_file(number, true);
    arm(number);
    reply.status(PMIX_SUCCESS);
}

pmix_status_t Monitors::cancel(const Peer& peer, const pmix_info_t& what) {
    const bool all = what.value.type != PMIX_STRING || what.value.data.string == nullptr;
    const std::string_view id = all ? std::string_view() : what.value.data.string;
    const size_t ended = std::erase_if(monitors_, [&](const auto& entry) {
        return entry.second->serial == peer.serial() && (all || entry.second->id == id);
    });
    return ended > 0 || all ? PMIX_SUCCESS : PMIX_ERR_NOT_FOUND;
}

void Monitors::peer_gone(const Peer& peer) {
    std::erase_if(monitors_, [&](const auto& entry) { return entry.second->serial == peer.serial(); });
}

// ---- periods ----

void Monitors::arm(uint64_t number) {
    Monitor& m = *monitors_.at(number);
    m.timer = Timer(scheduler_, int64_t{m.seconds} * 1000, [this, number] { period_over(number); });
}

void Monitors::period_over(uint64_t number) {
    auto it = monitors_.find(number);
    if (it == monitors_.end()) return;
    Monitor& m = *it->second;
    if (!m.file.empty()) return look_at_file(number, false);
    count(m, std::exchange(m.beaten, false));
    // Its event may have ended it.
    if (monitors_.count(number) != 0) arm(number);
}

void Monitors::count(Monitor& m, bool alive) {
    if (alive) {
        m.missed = 0;
        m.raised = false;
    } else if (!m.raised && ++m.missed > m.allowed) {
        m.raised = true;
        raise(m);
    }
}

// To all in its range, through the host too.
void Monitors::raise(const Monitor& m) {
    InfoList infos;
    const pmix_proc_t proc = m.proc.to_c();
    infos.append(PMIX_EVENT_AFFECTED_PROC, &proc, PMIX_PROC);
    if (!m.id.empty()) infos.append_string(PMIX_MONITOR_ID, m.id);
    if (m.app_control) infos.append_flag(PMIX_MONITOR_APP_CONTROL, true);
    if (!m.file.empty()) infos.append_string(PMIX_MONITOR_FILE, m.file);
    infos.append_number<uint32_t>(m.file.empty() ? PMIX_MONITOR_HEARTBEAT_DROPS : PMIX_MONITOR_FILE_DROPS, m.missed,
                                  PMIX_UINT32);
    events_.announce(m.code, m.proc, m.range, std::move(infos), {m.user.uid, m.user.gid, 0});
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
    const Monitor& m = *monitors_.at(number);
    auto state = std::make_shared<FileState>();
    blocking_tasks_.add(
        m.user,
        [state, path = m.file](bool as_user) {
            // With this process's rights the user could look at what is not the user's to see.
            struct stat info;
            if (!as_user || ::stat(path.c_str(), &info) != 0) return;
            *state = {true, info.st_size, info.st_atim, info.st_mtim};
        },
        [this, number, state, first] { saw(number, *state, first); });
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
    count(m, alive);
    if (monitors_.count(number) != 0) arm(number);
}

}  // namespace pmix::server

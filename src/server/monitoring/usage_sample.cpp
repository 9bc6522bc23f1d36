// SPDX-License-Identifier: BSD-3-Clause
#include "server/monitoring/usage_sample.h"

#include <sys/time.h>

#include <algorithm>
#include <cmath>
#include <ctime>
#include <iterator>
#include <limits>
#include <span>

#include "common/values/array_value.h"

namespace pmix::server {
namespace {

using common::InfoList;
using common::InfoView;
using common::Result;
using common::Value;

constexpr double kBytesPerMiB = 1024.0 * 1024.0;
constexpr size_t kMaxNames = 1024;

// The key of each figure: its number here is its bit.
enum ProcessKey : unsigned {
    kCommand,
    kState,
    kTime,
    kPercent,
    kPriority,
    kThreads,
    kProportional,
    kVirtual,
    kResident,
    kPeak,
    kCpu
};
constexpr const char* kProcessKeys[] = {
    PMIX_CMD_LINE, PMIX_PROC_OS_STATE, PMIX_PROC_TIME, PMIX_PROC_PERCENT_CPU, PMIX_PROC_PRIORITY, PMIX_PROC_NUM_THREADS,
    PMIX_PROC_PSS, PMIX_PROC_VSIZE,    PMIX_PROC_RSS,  PMIX_PROC_PEAK_VSIZE,  PMIX_PROC_CPU};
// The others are in the order of the figures.
constexpr const char* kNodeKeys[NodeFigures::kCount] = {
    PMIX_NODE_LOAD_AVG,   PMIX_NODE_LOAD_AVG5,     PMIX_NODE_LOAD_AVG15, PMIX_NODE_MEM_TOTAL,
    PMIX_NODE_MEM_FREE,   PMIX_NODE_MEM_BUFFERS,   PMIX_NODE_MEM_CACHED, PMIX_NODE_MEM_SWAP_CACHED,
    PMIX_NODE_SWAP_TOTAL, PMIX_NODE_MEM_SWAP_FREE, PMIX_NODE_MEM_MAPPED};
constexpr const char* kDiskKeys[DiskFigures::kCount] = {
    PMIX_DISK_READ_COMPLETED,  PMIX_DISK_READ_MERGED,  PMIX_DISK_READ_SECTORS,  PMIX_DISK_READ_MILLISEC,
    PMIX_DISK_WRITE_COMPLETED, PMIX_DISK_WRITE_MERGED, PMIX_DISK_WRITE_SECTORS, PMIX_DISK_WRITE_MILLISEC,
    PMIX_DISK_IO_IN_PROGRESS,  PMIX_DISK_IO_MILLISEC,  PMIX_DISK_IO_WEIGHTED};
constexpr const char* kNetKeys[NetFigures::kCount] = {PMIX_NET_RECVD_BYTES, PMIX_NET_RECVD_PCKTS, PMIX_NET_RECVD_ERRS,
                                                      PMIX_NET_SENT_BYTES,  PMIX_NET_SENT_PCKTS,  PMIX_NET_SENT_ERRS};

using Keys = std::span<const char* const>;

constexpr uint32_t all_of(size_t keys) noexcept {
    return (uint32_t{1} << keys) - 1;
}

constexpr bool has(uint32_t bits, size_t number) noexcept {
    return (bits >> number & 1) != 0;
}

uint32_t bit_of(Keys keys, std::string_view key) noexcept {
    for (size_t i = 0; i < keys.size(); ++i)
        if (key == keys[i]) return uint32_t{1} << i;
    return 0;
}

pmix_status_t add_name(std::vector<std::string>& names, const pmix_value_t& value) {
    if (value.type != PMIX_STRING || value.data.string == nullptr || names.size() >= kMaxNames)
        return PMIX_ERR_BAD_PARAM;
    names.emplace_back(value.data.string);
    return PMIX_SUCCESS;
}

pmix_status_t add_names(std::vector<std::string>& names, InfoView directives, const char* key) {
    const pmix_data_array_t* array = nullptr;
    WIREUP_RETURN_IF_ERROR(directives.get(key, PMIX_STRING, &array));
    if (array == nullptr) return PMIX_SUCCESS;
    const auto* texts = static_cast<char* const*>(array->array);
    for (size_t i = 0; texts != nullptr && i < array->size; ++i) {
        if (texts[i] == nullptr || names.size() >= kMaxNames) return PMIX_ERR_BAD_PARAM;
        names.emplace_back(texts[i]);
    }
    return PMIX_SUCCESS;
}

// The keys in the request's array; none: no figure is named, so all are wanted.
Result<InfoView> wanted_keys(const pmix_value_t& value) {
    const InfoView none(nullptr, 0);
    if (value.type == PMIX_UNDEF || value.type == PMIX_BOOL) return none;
    if (value.type != PMIX_DATA_ARRAY) return PMIX_ERR_BAD_PARAM;
    const pmix_data_array_t* array = value.data.darray;
    if (array == nullptr || array->array == nullptr || array->size == 0) return none;
    if (array->type != PMIX_INFO) return PMIX_ERR_BAD_PARAM;
    return common::infos_in(value);
}

// ---- from figures to infos ----

// Adds to a list until something fails.
class Adder {
  public:
    void text(const char* key, std::string_view text) { keep(list_.append_string(key, text)); }
    void real(const char* key, double n) { number(key, static_cast<float>(n), PMIX_FLOAT); }
    void size(const char* key, std::optional<double> bytes) {
        if (bytes) real(key, *bytes / kBytesPerMiB);
    }
    template <class T>
    void number(const char* key, T n, pmix_data_type_t type) {
        keep(list_.append_number<T>(key, n, type));
    }
    // As many as the type can count.
    template <class T>
    void count(const char* key, uint64_t n, pmix_data_type_t type) {
        number(key, static_cast<T>(std::min<uint64_t>(n, std::numeric_limits<T>::max())), type);
    }
    void struct_of(const char* key, const void* data, pmix_data_type_t type) { keep(list_.append(key, data, type)); }
    // Another's list, as one entry.
    void part(const char* key, Adder&& other) {
        keep(other.rc_);
        if (rc_ != PMIX_SUCCESS) return;
        auto value = common::array_value(std::move(other.list_));
        keep(value ? list_.append(key, std::move(value).value()) : value.status());
    }
    Result<InfoList> take() && {
        if (rc_ != PMIX_SUCCESS) return rc_;
        return std::move(list_);
    }

  private:
    void keep(pmix_status_t rc) {
        if (rc_ == PMIX_SUCCESS) rc_ = rc;
    }
    InfoList list_;
    pmix_status_t rc_ = PMIX_SUCCESS;
};

void add_time(Adder& to, const char* key) {
    to.number<time_t>(key, std::time(nullptr), PMIX_TIME);
}

struct CpuShare {
    std::optional<double> uptime;
    UsageHistory now;
    // Of a CPU: since the sample before, or since the process began.
    std::optional<double> of(pid_t pid, const ProcessFigures& figures, const UsageHistory& before) {
        if (!uptime) return {};
        now.processes[pid] = {figures.start_ticks, figures.cpu_ticks};
        const double per_second = ticks_per_second();
        double ticks = static_cast<double>(figures.cpu_ticks);
        double seconds = *uptime - static_cast<double>(figures.start_ticks) / per_second;
        const auto earlier = before.processes.find(pid);
        if (earlier != before.processes.end() && earlier->second.start_ticks == figures.start_ticks &&
            figures.cpu_ticks >= earlier->second.cpu_ticks) {
            ticks = static_cast<double>(figures.cpu_ticks - earlier->second.cpu_ticks);
            seconds = *uptime - before.uptime;
        }
        return seconds > 0 ? std::optional(100 * ticks / per_second / seconds) : std::nullopt;
    }
};

Adder describe_process(const UsageQuestion& q, const UsageTarget& target, const ProcessFigures& p,
                       std::optional<double> share) {
    Adder one;
    if (!target.proc.nspace.empty()) {
        const pmix_proc_t proc = target.proc.to_c();
        one.struct_of(PMIX_PROCID, &proc, PMIX_PROC);
    }
    one.number<pid_t>(PMIX_PROC_PID, target.pid, PMIX_PID);
    one.text(PMIX_HOSTNAME, q.hostname);
    const auto wants = [&](ProcessKey key) { return has(q.options.process, key); };
    if (wants(kCommand)) one.text(PMIX_CMD_LINE, p.command);
    if (wants(kState)) one.text(PMIX_PROC_OS_STATE, std::string_view(&p.state, 1));
    if (wants(kTime)) {
        const double seconds = static_cast<double>(p.cpu_ticks) / ticks_per_second();
        timeval used{};
        used.tv_sec = static_cast<time_t>(seconds);
        used.tv_usec = static_cast<suseconds_t>((seconds - std::floor(seconds)) * 1e6);
        one.struct_of(PMIX_PROC_TIME, &used, PMIX_TIMEVAL);
    }
    if (wants(kPercent) && share) one.real(PMIX_PROC_PERCENT_CPU, *share);
    if (wants(kPriority))
        one.number<int32_t>(PMIX_PROC_PRIORITY,
                            static_cast<int32_t>(std::clamp<int64_t>(p.priority, INT32_MIN, INT32_MAX)), PMIX_INT32);
    if (wants(kThreads)) one.count<uint16_t>(PMIX_PROC_NUM_THREADS, p.threads, PMIX_UINT16);
    if (wants(kProportional)) one.size(PMIX_PROC_PSS, p.proportional);
    if (wants(kVirtual)) one.size(PMIX_PROC_VSIZE, p.virtual_now);
    if (wants(kResident)) one.size(PMIX_PROC_RSS, p.resident);
    if (wants(kPeak)) one.size(PMIX_PROC_PEAK_VSIZE, p.virtual_peak);
    if (wants(kCpu)) one.count<uint16_t>(PMIX_PROC_CPU, p.cpu, PMIX_UINT16);
    add_time(one, PMIX_PROC_SAMPLE_TIME);
    return one;
}

void add_processes(const UsageQuestion& q, UsageHistory& history, Adder& out) {
    const auto wants = [&](ProcessKey key) { return has(q.options.process, key); };
    const ProcessParts parts{wants(kCommand), wants(kResident) || wants(kPeak),
                             wants(kProportional) && q.private_parts};
    CpuShare share{read_uptime(q.files), {}};
    for (const UsageTarget& target : q.targets) {
        const auto figures = read_process(q.files, target.pid, target.owner, parts);
        if (!figures) continue;
        out.part(PMIX_PROC_RESOURCE_USAGE,
                 describe_process(q, target, *figures, share.of(target.pid, *figures, history)));
    }
    share.now.uptime = share.uptime.value_or(0);
    history = std::move(share.now);
}

template <class Figures>
void add_devices(const std::vector<Figures>& devices, const char* entry, const char* name, Keys keys, uint32_t wanted,
                 const char* time, Adder& out) {
    for (const Figures& device : devices) {
        Adder one;
        one.text(name, device.name);
        for (size_t i = 0; i < keys.size(); ++i)
            if (has(wanted, i)) one.number<uint64_t>(keys[i], device.figures[i], PMIX_UINT64);
        add_time(one, time);
        out.part(entry, std::move(one));
    }
}

void add_devices(const UsageQuestion& q, Adder& out) {
    const UsageOptions& o = q.options;
    if (o.of_nets)
        add_devices(read_nets(q.files, o.nets), PMIX_NETWORK_RESOURCE_USAGE, PMIX_NETWORK_ID, kNetKeys, o.net,
                    PMIX_NET_SAMPLE_TIME, out);
    if (o.of_disks)
        add_devices(read_disks(q.files, o.disks), PMIX_DISK_RESOURCE_USAGE, PMIX_DISK_ID, kDiskKeys, o.disk,
                    PMIX_DISK_SAMPLE_TIME, out);
}

void add_node(const UsageQuestion& q, Adder& out) {
    Adder one;
    one.text(PMIX_HOSTNAME, q.hostname);
    if (q.node_id) one.number<uint32_t>(PMIX_NODEID, *q.node_id, PMIX_UINT32);
    const NodeFigures node = read_node(q.files);
    for (size_t i = 0; i < NodeFigures::kCount; ++i) {
        if (!has(q.options.node, i) || !node.figures[i]) continue;
        if (i < NodeFigures::kLoads) {
            one.real(kNodeKeys[i], *node.figures[i]);
        } else {
            one.size(kNodeKeys[i], node.figures[i]);
        }
    }
    add_time(one, PMIX_NODE_SAMPLE_TIME);
    add_devices(q, one);
    out.part(PMIX_NODE_RESOURCE_USAGE, std::move(one));
}

void want_all(UsageOptions& o) noexcept {
    o.process = all_of(std::size(kProcessKeys));
    o.node = all_of(NodeFigures::kCount);
    o.disk = all_of(DiskFigures::kCount);
    o.net = all_of(NetFigures::kCount);
}

// A node's sample contains those of its devices where their figures are wanted.
void want_devices_of_node(UsageOptions& o) noexcept {
    if (!o.of_node) return;
    o.of_disks = o.disk != 0;
    o.of_nets = o.net != 0;
}

}  // namespace

bool is_usage_request(std::string_view key) noexcept {
    return key == PMIX_MONITOR_PROC_RESOURCE_USAGE || key == PMIX_MONITOR_NODE_RESOURCE_USAGE ||
           key == PMIX_MONITOR_DISK_RESOURCE_USAGE || key == PMIX_MONITOR_NET_RESOURCE_USAGE;
}

Result<UsageOptions> read_usage_options(const pmix_info_t& what, InfoView directives) {
    UsageOptions o;
    const std::string_view kind = common::key_view(what);
    o.of_processes = kind == PMIX_MONITOR_PROC_RESOURCE_USAGE;
    o.of_node = kind == PMIX_MONITOR_NODE_RESOURCE_USAGE;
    o.of_disks = kind == PMIX_MONITOR_DISK_RESOURCE_USAGE;
    o.of_nets = kind == PMIX_MONITOR_NET_RESOURCE_USAGE;
    auto keys = wanted_keys(what.value);
    if (!keys) return keys.status();
    bool all = true;
    for (const pmix_info_t& info : *keys) {
        const std::string_view key = common::key_view(info);
        // The name of a device chooses it, not a figure.
        if (key == PMIX_DISK_ID || key == PMIX_NETWORK_ID) {
            WIREUP_RETURN_IF_ERROR(add_name(key == PMIX_DISK_ID ? o.disks : o.nets, info.value));
            continue;
        }
        all = false;
        const uint32_t process = bit_of(kProcessKeys, key), node = bit_of(kNodeKeys, key),
                       disk = bit_of(kDiskKeys, key), net = bit_of(kNetKeys, key);
        if ((process | node | disk | net) == 0 && common::is_required(info)) return PMIX_ERR_NOT_SUPPORTED;
        o.process |= process;
        o.node |= node;
        o.disk |= disk;
        o.net |= net;
    }
    if (all) want_all(o);
    WIREUP_RETURN_IF_ERROR(add_names(o.disks, directives, PMIX_MONITOR_TARGET_DISKS));
    WIREUP_RETURN_IF_ERROR(add_names(o.nets, directives, PMIX_MONITOR_TARGET_NETS));
    want_devices_of_node(o);
    return o;
}

bool is_usage_query(std::string_view key) noexcept {
    return key == PMIX_QUERY_PROC_RESOURCE_USAGE || key == PMIX_QUERY_NODE_RESOURCE_USAGE;
}

UsageOptions usage_options_of_query(std::string_view key) noexcept {
    UsageOptions o;
    o.of_processes = key == PMIX_QUERY_PROC_RESOURCE_USAGE;
    o.of_node = key == PMIX_QUERY_NODE_RESOURCE_USAGE;
    want_all(o);
    want_devices_of_node(o);
    return o;
}

Result<InfoList> take_usage_sample(const UsageQuestion& q, UsageHistory& history) {
    Adder out;
    if (q.options.of_processes) add_processes(q, history, out);
    if (q.options.of_node) {
        add_node(q, out);
    } else {
        add_devices(q, out);
    }
    return std::move(out).take();
}

}  // namespace pmix::server

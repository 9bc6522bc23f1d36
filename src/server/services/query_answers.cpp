// SPDX-License-Identifier: BSD-3-Clause
#include "server/services/query_answers.h"

#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <iterator>

#include "common/base/comma_list.h"
#include "common/codec/pack.h"
#include "common/values/array_value.h"
#include "common/values/support.h"
#include "server/base/process_use.h"
#include "server/monitoring/own_node.h"

namespace pmix::server {
namespace {

using common::InfoList;
using common::InfoView;
using common::ProcId;
using common::Rank;
using common::Result;
using common::Value;

struct Question {
    const Known& known;
    const Peer& requester;
    const Target& target;
    InfoView qualifiers;

    // The job that is asked about, if the requester may know it.
    Result<const Nspace*> job() const {
        const Nspace* nspace = known.registry.find(target.proc.nspace);
        if (nspace == nullptr) return PMIX_ERR_NOT_FOUND;
        if (!known.segments.may_map(requester, *nspace)) return PMIX_ERR_NO_PERMISSIONS;
        return nspace;
    }
    // Does the query name another node than this one? (What is no name and no number names none that is here.)
    NamedNode node() const {
        const auto named = named_node(known.registry, target.proc.nspace, qualifiers);
        return named ? named.value() : NamedNode::other;
    }
    bool of_other_node() const { return node() == NamedNode::other; }
    // Are its processes of this node all that is asked about? Otherwise what is known here is a part, and no answer.
    bool here_is_all(const Nspace& nspace) const {
        const NamedNode named = node();
        if (named != NamedNode::none) return named == NamedNode::own;
        return qualifiers.flag(PMIX_QUERY_LOCAL_ONLY) || nspace.all_local();
    }
    pid_t pid_of(const ProcId& proc) const {
        for (const auto& [serial, peer] : known.peers)
            if (peer->id() == proc) return peer->credentials().pid;
        return proc == known.server ? ::getpid() : 0;
    }
    // The connected tool that is asked about, if the requester may know it: a tool is in no job.
    Result<const Peer*> tool() const {
        const Credentials& who = requester.credentials();
        for (const auto& [serial, peer] : known.peers) {
            const bool is_tool = peer->kind() == PeerKind::tool || peer->kind() == PeerKind::observer;
            if (!is_tool || peer->gone() || peer->id().nspace != target.proc.nspace) continue;
            if (target.proc.rank != PMIX_RANK_WILDCARD && target.proc.rank != peer->id().rank) continue;
            const bool may_know = who.uid == peer->credentials().uid || who.uid == ::geteuid() || who.uid == 0;
            if (!may_know) return PMIX_ERR_NO_PERMISSIONS;
            return peer.get();
        }
        return PMIX_ERR_NOT_FOUND;
    }
};

void add_word(std::string& list, std::string_view word) {
    if (word.empty()) return;
    if (!list.empty()) list += ',';
    list += word;
}

pmix_proc_state_t state_of(const Nspace& nspace, Rank rank) {
    const Client* client = nspace.find_client(rank);
    if (client == nullptr) return PMIX_PROC_STATE_UNDEF;
    return process_state(client->state);
}

bool is_job(const Question& q, const Nspace& nspace) {
    // The server's own name is there for its puts; nobody registered it as a job.
    return (nspace.name != q.known.server.nspace || nspace.data != nullptr) &&
           q.known.segments.may_map(q.requester, nspace);
}

Result<Value> namespaces(const Question& q) {
    std::string list;
    for (const auto& [name, nspace] : q.known.registry.nspaces())
        if (is_job(q, *nspace)) add_word(list, name);
    return Value::string(list);
}

pmix_status_t describe_job(const Nspace& nspace, InfoList& out) {
    InfoList one;
    pmix_status_t rc = one.append_string(PMIX_NSPACE, nspace.name);
    dstore::Found found;
    if (rc == PMIX_SUCCESS && nspace.data != nullptr) {
        const dstore::Key key(PMIX_CMD_LINE);
        const dstore::Reader& reader = nspace.data->reader();
        Value line;
        const bool has = reader.find(dstore::Owner::job(), key, found) == PMIX_SUCCESS ||
                         reader.find(dstore::Owner::app(0), key, found) == PMIX_SUCCESS;
        if (has && common::decode_value_into(found.bytes(), line.c_ptr()) == PMIX_SUCCESS)
            rc = one.append(PMIX_CMD_LINE, std::move(line));
    }
    if (rc != PMIX_SUCCESS) return rc;
    auto value = common::array_value(std::move(one));
    return value ? out.append(PMIX_JOB_INFO_ARRAY, std::move(value).value()) : value.status();
}

Result<Value> namespace_info(const Question& q) {
    InfoList all;
    for (const auto& [name, nspace] : q.known.registry.nspaces()) {
        if (q.target.named_nspace ? name != q.target.proc.nspace : !is_job(q, *nspace)) continue;
        if (!q.known.segments.may_map(q.requester, *nspace)) return PMIX_ERR_NO_PERMISSIONS;
        WIREUP_RETURN_IF_ERROR(describe_job(*nspace, all));
    }
    if (all.empty()) return PMIX_ERR_NOT_FOUND;
    return common::array_value(std::move(all));
}

// Of a job with processes elsewhere only the host knows how it is.
Result<Value> job_status(const Question& q) {
    auto job = q.job();
    if (!job) return job.status();
    const Nspace& nspace = **job;
    if (!nspace.all_local()) return PMIX_ERR_NOT_FOUND;
    pmix_status_t status = PMIX_SUCCESS;
    for (const auto& [rank, client] : nspace.clients)
        if (client.state == Client::State::lost) status = PMIX_ERR_PROC_ABORTED;
    return Value::number(status, PMIX_STATUS);
}

Result<Value> processes(const Question& q, const Nspace& nspace) {
    const std::vector<Rank> ranks = nspace.local_ranks();
    auto rows = common::CArray<pmix_proc_info_t>::zeroed(ranks.size());
    if (!rows) return rows.status();
    for (size_t i = 0; i < ranks.size(); ++i) {
        pmix_proc_info_t& row = (*rows)[i];
        const ProcId proc(nspace.name, ranks[i]);
        row.proc = proc.to_c();
        row.pid = q.pid_of(proc);
        row.state = state_of(nspace, ranks[i]);
        row.hostname = ::strdup(q.known.registry.hostname().c_str());
        const std::string program = program_of(row.pid);
        if (!program.empty()) row.executable_name = ::strdup(program.c_str());
        if (row.hostname == nullptr) return PMIX_ERR_NOMEM;
    }
    return common::array_value(std::move(rows).value());
}

Result<Value> local_processes(const Question& q) {
    auto job = q.job();
    if (!job) return job.status();
    if (q.of_other_node()) return PMIX_ERR_NOT_FOUND;
    return processes(q, **job);
}

// Pids of other nodes are the host's to know.
Result<Value> all_processes(const Question& q) {
    auto job = q.job();
    if (!job) return job.status();
    if (!q.here_is_all(**job)) return PMIX_ERR_NOT_FOUND;
    return processes(q, **job);
}

// Sets and groups of other users' processes are not there for the requester.
bool may_know(const Question& q, const ProcessSet& set) {
    return q.known.segments.may_know_any(q.requester, set.members);
}
bool may_know(const Question& q, const Group& group) {
    return std::any_of(group.members.begin(), group.members.end(),
                       [&](const Group::Member& m) { return q.known.segments.may_know(q.requester, m.proc.nspace); });
}

Result<Value> set_count(const Question& q) {
    const auto& sets = q.known.registry.process_sets();
    const auto n = std::count_if(sets.begin(), sets.end(), [&](const ProcessSet& set) { return may_know(q, set); });
    return Value::number(static_cast<size_t>(n), PMIX_SIZE);
}

Result<Value> set_names(const Question& q) {
    std::string list;
    for (const ProcessSet& set : q.known.registry.process_sets())
        if (may_know(q, set)) add_word(list, set.name);
    return Value::string(list);
}

Result<Value> set_members(const Question& q) {
    std::string_view name;
    if (q.qualifiers.get(PMIX_PSET_NAME, &name) != PMIX_SUCCESS) return PMIX_ERR_BAD_PARAM;
    for (const ProcessSet& set : q.known.registry.process_sets()) {
        if (set.name != name || !may_know(q, set)) continue;
        auto members = common::CArray<pmix_proc_t>::zeroed(set.members.size());
        if (!members) return members.status();
        for (size_t i = 0; i < set.members.size(); ++i) (*members)[i] = set.members[i].to_c();
        return common::array_value(std::move(members).value());
    }
    return PMIX_ERR_NOT_FOUND;
}

// Of groups that have a member on this node.
Result<Value> group_count(const Question& q) {
    const auto& groups = q.known.registry.groups().all();
    const auto n = std::count_if(groups.begin(), groups.end(), [&](const auto& g) { return may_know(q, g.second); });
    return Value::number(static_cast<size_t>(n), PMIX_SIZE);
}

Result<Value> group_names(const Question& q) {
    const auto& groups = q.known.registry.groups().all();
    std::vector<char*> names;
    for (const auto& [name, group] : groups)
        if (may_know(q, group)) names.push_back(const_cast<char*>(name.c_str()));
    pmix_data_array_t array{};
    array.type = PMIX_STRING;
    array.size = names.size();
    array.array = names.data();
    return Value::load(&array, PMIX_DATA_ARRAY);
}

Result<Value> group_members(const Question& q) {
    std::string_view name;
    if (q.qualifiers.get(PMIX_GROUP_ID, &name) != PMIX_SUCCESS || name.empty()) return PMIX_ERR_BAD_PARAM;
    const Group* group = q.known.registry.groups().meant_by(name, q.requester.id());
    if (group == nullptr || !may_know(q, *group)) return PMIX_ERR_NOT_FOUND;
    const common::ProcList members = group->current();
    auto array = common::CArray<pmix_proc_t>::zeroed(members.size());
    if (!array) return array.status();
    for (size_t i = 0; i < members.size(); ++i) (*array)[i] = members[i].to_c();
    return common::array_value(std::move(array).value());
}

const std::string& uri_for(const Question& q) {
    return q.requester.is_openpmix() ? q.known.openpmix_uri : q.known.uri;
}

Result<Value> servers(const Question& q) {
    InfoList one;
    const pmix_rank_t rank = q.known.server.rank;
    const pid_t pid = ::getpid();
    pmix_status_t rc = one.append_string(PMIX_NSPACE, q.known.server.nspace);
    if (rc == PMIX_SUCCESS) rc = one.append(PMIX_RANK, &rank, PMIX_PROC_RANK);
    if (rc == PMIX_SUCCESS) rc = one.append(PMIX_SERVER_PIDINFO, &pid, PMIX_PID);
    if (rc == PMIX_SUCCESS) rc = one.append_string(PMIX_SERVER_URI, uri_for(q));
    if (rc == PMIX_SUCCESS) rc = one.append_string(PMIX_HOSTNAME, q.known.registry.hostname());
    if (rc != PMIX_SUCCESS) return rc;
    auto about = common::array_value(std::move(one));
    if (!about) return about.status();
    InfoList all;
    rc = all.append(PMIX_SERVER_INFO_ARRAY, std::move(about).value());
    if (rc != PMIX_SUCCESS) return rc;
    return common::array_value(std::move(all));
}

Result<Value> server_uri(const Question& q) {
    if (q.of_other_node() || uri_for(q).empty()) return PMIX_ERR_NOT_FOUND;
    return Value::string(uri_for(q));
}

constexpr double kMiB = 1024.0 * 1024.0;

// PMIX_QUERY_REPORT_AVG: one row with the means; PMIX_QUERY_REPORT_MINMAX: two rows, the least and the greatest of each
// figure; both: three. Their process is the whole job.
Result<Value> summary(const Question& q, const std::vector<ProcessUse>& uses, bool average, bool minmax) {
    const size_t n = (average ? 1 : 0) + (minmax ? 2 : 0);
    auto rows = common::CArray<pmix_proc_stats_t>::zeroed(n);
    if (!rows) return rows.status();
    for (size_t i = 0; i < n; ++i) {
        pmix_proc_stats_t& row = (*rows)[i];
        row.node = ::strdup(q.known.registry.hostname().c_str());
        if (row.node == nullptr) return PMIX_ERR_NOMEM;
        row.proc = ProcId(q.target.proc.nspace, PMIX_RANK_WILDCARD).to_c();
    }
    const auto figure = [&](auto of, auto store) {
        double sum = 0, least = of(uses.front()), most = least;
        for (const ProcessUse& use : uses) {
            sum += of(use);
            least = std::min(least, of(use));
            most = std::max(most, of(use));
        }
        size_t at = 0;
        if (average) store((*rows)[at++], sum / static_cast<double>(uses.size()));
        if (!minmax) return;
        store((*rows)[at++], least);
        store((*rows)[at], most);
    };
    using Stats = pmix_proc_stats_t;
    figure([](const ProcessUse& u) { return static_cast<double>(u.threads); },
           [](Stats& r, double v) { r.num_threads = static_cast<uint16_t>(v); });
    figure([](const ProcessUse& u) { return u.proportional; },
           [](Stats& r, double v) { r.pss = static_cast<float>(v / kMiB); });
    figure([](const ProcessUse& u) { return u.resident; },
           [](Stats& r, double v) { r.rss = static_cast<float>(v / kMiB); });
    figure([](const ProcessUse& u) { return u.virtual_now; },
           [](Stats& r, double v) { r.vsize = static_cast<float>(v / kMiB); });
    figure([](const ProcessUse& u) { return u.virtual_peak; },
           [](Stats& r, double v) { r.peak_vsize = static_cast<float>(v / kMiB); });
    return common::array_value(std::move(rows).value());
}

Result<Value> memory_usage(const Question& q) {
    auto job = q.job();
    if (!job) return job.status();
    const bool one_rank = q.target.named_rank && q.target.proc.rank != PMIX_RANK_WILDCARD;
    if (one_rank ? q.of_other_node() : !q.here_is_all(**job)) return PMIX_ERR_NOT_FOUND;
    std::vector<Rank> ranks;
    std::vector<ProcessUse> uses;
    for (const auto& [rank, client] : (*job)->clients) {
        if (one_rank && q.target.proc.rank != rank) continue;
        // It has a memory too, and nobody here knows which process it is.
        if (client.state == Client::State::registered) return PMIX_ERR_NOT_FOUND;
        ranks.push_back(rank);
    }
    auto rows = common::CArray<pmix_proc_stats_t>::zeroed(ranks.size());
    if (!rows) return rows.status();
    size_t n = 0;
    for (Rank rank : ranks) {
        ProcessUse use;
        const ProcId proc((*job)->name, rank);
        const pid_t pid = q.pid_of(proc);
        if (!read_process_use(pid, use)) continue;
        uses.push_back(use);
        pmix_proc_stats_t& row = (*rows)[n++];
        row.node = ::strdup(q.known.registry.hostname().c_str());
        row.proc = proc.to_c();
        row.pid = pid;
        row.state = use.state;
        row.num_threads = use.threads;
        row.pss = static_cast<float>(use.proportional / kMiB);
        row.rss = static_cast<float>(use.resident / kMiB);
        row.vsize = static_cast<float>(use.virtual_now / kMiB);
        row.peak_vsize = static_cast<float>(use.virtual_peak / kMiB);
    }
    if (n == 0) return PMIX_ERR_NOT_FOUND;
    const bool average = q.qualifiers.flag(PMIX_QUERY_REPORT_AVG);
    const bool minmax = q.qualifiers.flag(PMIX_QUERY_REPORT_MINMAX);
    if (average || minmax) return summary(q, uses, average, minmax);
    // The rows of processes that have ended are empty: nothing is lost with them but their place.
    auto value = common::CArray<pmix_proc_stats_t>::copy_of(rows->data(), n);
    if (!value) return value.status();
    return common::array_value(std::move(value).value());
}

Result<Value> megabytes(double bytes) {
    return Value::number(static_cast<float>(bytes / kMiB), PMIX_FLOAT);
}

Result<Value> daemon_memory(const Question& q) {
    ProcessUse use;
    if (q.of_other_node() || !read_process_use(::getpid(), use)) return PMIX_ERR_NOT_FOUND;
    return megabytes(use.proportional);
}

Result<Value> client_memory(const Question& q) {
    if (q.of_other_node()) return PMIX_ERR_NOT_FOUND;
    double sum = 0;
    size_t n = 0;
    for (const auto& [serial, peer] : q.known.peers) {
        ProcessUse use;
        if (peer->kind() != PeerKind::client || !read_process_use(peer->credentials().pid, use)) continue;
        sum += use.proportional;
        ++n;
    }
    if (n == 0) return PMIX_ERR_NOT_FOUND;
    return megabytes(sum / static_cast<double>(n));
}

Result<Value> node_memory(const Question& q) {
    if (q.of_other_node()) return PMIX_ERR_NOT_FOUND;
    const long pages = ::sysconf(_SC_PHYS_PAGES);
    const long page = ::sysconf(_SC_PAGESIZE);
    if (pages <= 0 || page <= 0) return PMIX_ERR_NOT_FOUND;
    return Value::number(static_cast<uint64_t>(pages) * static_cast<uint64_t>(page), PMIX_UINT64);
}

// What the host has, or this library itself where a tool has no other host.
std::string spawn_attributes(const Question& q) {
    if (q.known.starts_jobs && !q.known.host.has(common::Function::PMIx_Spawn))
        return common::supported_strings(common::Function::PMIx_Spawn, common::level::client | common::level::tool);
    return q.known.host.attributes().strings_of("PMIx_Spawn");
}

Result<Value> list_or_nothing(const std::string& list) {
    if (list.empty()) return PMIX_ERR_NOT_FOUND;
    return Value::string(list);
}

Result<Value> spawn_support(const Question& q) {
    return list_or_nothing(spawn_attributes(q));
}

Result<Value> debug_support(const Question& q) {
    static constexpr std::string_view kOfDebuggers[] = {
        PMIX_DEBUG_STOP_ON_EXEC, PMIX_DEBUG_STOP_IN_INIT,     PMIX_DEBUG_STOP_IN_APP,     PMIX_DEBUG_TARGET,
        PMIX_DEBUGGER_DAEMONS,   PMIX_DEBUG_DAEMONS_PER_NODE, PMIX_DEBUG_DAEMONS_PER_PROC};
    std::string list;
    const std::string all = spawn_attributes(q);
    for (const std::string_view one : common::CommaList(all)) {
        if (std::ranges::find(kOfDebuggers, one) == std::end(kOfDebuggers)) continue;
        if (!list.empty()) list += ',';
        list += one;
    }
    return list_or_nothing(list);
}

Result<Value> process_pid(const Question& q) {
    if (auto tool = q.tool(); tool.status() != PMIX_ERR_NOT_FOUND) {
        if (!tool) return tool.status();
        return Value::number((*tool)->credentials().pid, PMIX_PID);
    }
    auto job = q.job();
    if (!job) return job.status();
    const pid_t pid = q.pid_of(q.target.proc);
    if (pid == 0) return PMIX_ERR_NOT_FOUND;
    return Value::number(pid, PMIX_PID);
}

Result<Value> process_state(const Question& q) {
    auto job = q.job();
    if (!job) return job.status();
    if ((*job)->find_client(q.target.proc.rank) == nullptr) return PMIX_ERR_NOT_FOUND;
    return Value::number(state_of(**job, q.target.proc.rank), PMIX_PROC_STATE);
}

struct Row {
    std::string_view key;
    Result<Value> (*answer)(const Question&);
};
constexpr Row kRows[] = {
    {PMIX_QUERY_NAMESPACES, &namespaces},
    {PMIX_QUERY_NAMESPACE_INFO, &namespace_info},
    {PMIX_QUERY_JOB_STATUS, &job_status},
    {PMIX_QUERY_PROC_TABLE, &all_processes},
    {PMIX_QUERY_LOCAL_PROC_TABLE, &local_processes},
    {PMIX_QUERY_NUM_GROUPS, &group_count},
    {PMIX_QUERY_GROUP_NAMES, &group_names},
    {PMIX_QUERY_GROUP_MEMBERSHIP, &group_members},
    {PMIX_QUERY_NUM_PSETS, &set_count},
    {PMIX_QUERY_PSET_NAMES, &set_names},
    {PMIX_QUERY_PSET_MEMBERSHIP, &set_members},
    {PMIX_QUERY_AVAIL_SERVERS, &servers},
    {PMIX_QUERY_MEMORY_USAGE, &memory_usage},
    {PMIX_QUERY_SPAWN_SUPPORT, &spawn_support},
    {PMIX_QUERY_DEBUG_SUPPORT, &debug_support},
    {PMIX_DAEMON_MEMORY, &daemon_memory},
    {PMIX_CLIENT_AVG_MEMORY, &client_memory},
    {PMIX_AVAIL_PHYS_MEMORY, &node_memory},
    {PMIX_SERVER_URI, &server_uri},
    {PMIX_PROC_PID, &process_pid},
    {PMIX_PROC_STATE_STATUS, &process_state},
};
consteval bool all_supported() {
    for (const Row& row : kRows)
        if (!common::supports_query(row.key, common::level::server)) return false;
    return true;
}
// The samples of what is used (usage_sample.h) have no row: they are taken on another thread.
constexpr size_t kSampledKeys = 2;
static_assert(all_supported() && std::size(kRows) + kSampledKeys == common::supported_queries(common::level::server),
              "support.def has the same keys");

// Whose data a query without a key of ours is about: its qualifiers say it, else the key's usual owners, in their
// order.
Result<std::vector<dstore::Owner>> owners_for(const Question& q, const Nspace& nspace, const dstore::Key& key) {
    using dstore::Owner;
    const dstore::Reader& reader = nspace.data->reader();
    const InfoView view = q.qualifiers;
    std::string_view node_name;
    uint32_t app = 0, node_id = 0, session = 0;
    if (view.get(PMIX_HOSTNAME, &node_name) != PMIX_SUCCESS || view.get(PMIX_APPNUM, &app) != PMIX_SUCCESS ||
        view.get(PMIX_NODEID, &node_id) != PMIX_SUCCESS || view.get(PMIX_SESSION_ID, &session) != PMIX_SUCCESS)
        return PMIX_ERR_BAD_PARAM;
    const bool one_rank = common::is_real_rank(q.target.proc.rank);

    const auto node = [&]() -> std::optional<uint32_t> {
        if (!node_name.empty()) return reader.node_by_name(node_name);
        if (view.has(PMIX_NODEID)) return reader.node_by_id(node_id);
        if (one_rank) return reader.node_of(q.target.proc.rank);
        if (nspace.own_node == common::kNoNode) return std::nullopt;
        return nspace.own_node;
    };
    const auto owner_app = [&] {
        if (view.has(PMIX_APPNUM) || !one_rank) return Owner::app(app);
        return Owner::app(reader.app_of(q.target.proc.rank).value_or(0));
    };
    const auto owner_session = [&] {
        dstore::Found found;
        Value id;
        uint64_t n = 0;
        if (!view.has(PMIX_SESSION_ID) &&
            reader.find(Owner::job(), dstore::Key(PMIX_SESSION_ID), found) == PMIX_SUCCESS &&
            common::decode_value_into(found.bytes(), id.c_ptr()) == PMIX_SUCCESS &&
            common::read_number(id.get(), &n) == PMIX_SUCCESS && n <= UINT32_MAX)
            session = static_cast<uint32_t>(n);
        return Owner::session(session);
    };

    std::vector<Owner> owners;
    if (view.flag(PMIX_SESSION_INFO) || view.has(PMIX_SESSION_ID)) {
        owners.push_back(owner_session());
    } else if (view.flag(PMIX_JOB_INFO)) {
        owners.push_back(Owner::job());
    } else if (view.flag(PMIX_APP_INFO) || view.has(PMIX_APPNUM)) {
        owners.push_back(owner_app());
    } else if (view.flag(PMIX_NODE_INFO) || view.has(PMIX_NODEID) || !node_name.empty()) {
        if (const auto n = node()) owners.push_back(Owner::node(*n));
    } else {
        if (one_rank) owners.push_back(Owner::proc(q.target.proc.rank));
        if (one_rank && !key.reserved()) return owners;
        owners.push_back(Owner::job());
        if (const auto n = node()) owners.push_back(Owner::node(*n));
        owners.push_back(owner_app());
        owners.push_back(owner_session());
    }
    return owners;
}

// What the host said about a job, and what its processes committed.
Result<Value> stored(const Question& q, std::string_view name) {
    auto job = q.job();
    if (!job) return job.status();
    const Nspace& nspace = **job;
    if (nspace.data == nullptr) return PMIX_ERR_NOT_FOUND;
    const dstore::Key key(name);
    auto owners = owners_for(q, nspace, key);
    if (!owners) return owners.status();
    for (const dstore::Owner& owner : *owners) {
        dstore::Found found;
        Value value;
        if (nspace.data->reader().find(owner, key, found) == PMIX_SUCCESS &&
            common::decode_value_into(found.bytes(), value.c_ptr()) == PMIX_SUCCESS)
            return value;
    }
    return PMIX_ERR_NOT_FOUND;
}

// What the host has delivered about the node that is named. That of this server has two names where the job has
// another one for it.
const pmix_value_t* delivered_of(const Question& q, std::string_view key) {
    const std::string node = name_of_node(q.known.registry, q.target.proc.nspace, q.qualifiers);
    const pmix_value_t* found = node.empty() ? nullptr : q.known.inventory.find(node, key);
    if (found != nullptr || q.node() != NamedNode::own) return found;
    return q.known.inventory.find(q.known.registry.hostname(), key);
}

}  // namespace

bool host_may_know_better(std::string_view key, const Value& answer) noexcept {
    if (key == PMIX_PROC_STATE_STATUS)
        return answer.type() == PMIX_PROC_STATE && answer.get().data.state == PMIX_PROC_STATE_COMM_FAILED;
    if (key != PMIX_QUERY_PROC_TABLE && key != PMIX_QUERY_LOCAL_PROC_TABLE) return false;
    const pmix_data_array_t* array = answer.get().type == PMIX_DATA_ARRAY ? answer.get().data.darray : nullptr;
    if (array == nullptr || array->type != PMIX_PROC_INFO) return false;
    const auto* rows = static_cast<const pmix_proc_info_t*>(array->array);
    return std::any_of(rows, rows + array->size, [](const pmix_proc_info_t& row) { return row.pid == 0; });
}

Result<Target> Target::read(const ProcId& requester, InfoView qualifiers) {
    Target t;
    t.proc = ProcId(requester.nspace, PMIX_RANK_WILDCARD);
    const pmix_proc_t* proc = nullptr;
    std::string_view name;
    if (qualifiers.get(PMIX_PROCID, &proc) != PMIX_SUCCESS) return PMIX_ERR_BAD_PARAM;
    if (qualifiers.get(PMIX_NSPACE, &name) != PMIX_SUCCESS) return PMIX_ERR_BAD_PARAM;
    const pmix_info_t* rank = qualifiers.find(PMIX_RANK);
    if (proc != nullptr && (qualifiers.has(PMIX_NSPACE) || rank != nullptr)) return PMIX_ERR_BAD_PARAM;
    if (proc != nullptr) {
        t.proc = ProcId(*proc);
        t.named_nspace = t.named_rank = true;
        if (t.proc.nspace.empty()) t.proc.nspace = requester.nspace;
        return t;
    }
    if (name.size() > common::kMaxNspaceLength) return PMIX_ERR_BAD_PARAM;
    if (!name.empty()) {
        t.proc.nspace = name;
        t.named_nspace = true;
    }
    if (rank != nullptr) {
        if (rank->value.type == PMIX_PROC_RANK) {
            t.proc.rank = rank->value.data.rank;
        } else if (qualifiers.get(PMIX_RANK, &t.proc.rank) != PMIX_SUCCESS) {
            return PMIX_ERR_BAD_PARAM;
        }
        t.named_rank = true;
    }
    return t;
}

Result<Value> answer_query(const Known& known, const Peer& requester, std::string_view key, const Target& target,
                           InfoView qualifiers) {
    const Question question{known, requester, target, qualifiers};
    if (key == PMIX_AVAIL_PHYS_MEMORY) {
        // What the host registered, if it did.
        auto said = stored(question, key);
        if (said) return said;
        if (const pmix_value_t* delivered = delivered_of(question, key)) return Value::copy_of(*delivered);
    }
    for (const Row& row : kRows)
        if (row.key == key) return row.answer(question);
    auto said = stored(question, key);
    if (said) return said;
    const pmix_value_t* delivered = delivered_of(question, key);
    if (delivered != nullptr) return Value::copy_of(*delivered);
    return said;
}

}  // namespace pmix::server

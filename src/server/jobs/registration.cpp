// SPDX-License-Identifier: BSD-3-Clause
#include "server/jobs/registration.h"

#include <algorithm>
#include <cstring>

#include "common/base/log.h"
#include "common/base/random.h"
#include "common/codec/pack.h"
#include "common/protocol/app_environment.h"
#include "common/values/info_view.h"
#include "server/jobs/fabric_allocation.h"
#include "server/jobs/open_mpi.h"

namespace pmix::server {

using common::kNoNode;
using common::ProcId;

namespace {

// Of sessions without a job.
constexpr size_t kMostSessionsTold = 1024;

constexpr uint32_t kNoSession = UINT32_MAX;  // no session has this number

bool make_token(common::Token& token) noexcept {
    // Both halves at once: this is done for each process of the node.
    uint8_t both[sizeof token.client + sizeof token.server];
    if (!common::fill_random(both, sizeof both)) return false;
    std::memcpy(token.client.data(), both, sizeof token.client);
    std::memcpy(token.server.data(), both + sizeof token.client, sizeof token.server);
    explicit_bzero(both, sizeof both);
    return true;
}

// Later ones are behind earlier ones. What is said again is one change of a variable, not two.
pmix_status_t add_edits(common::InfoList& edits, const common::InfoList& more) {
    common::InfoList all;
    for (const pmix_info_t& edit : edits) {
        const bool again = std::any_of(more.begin(), more.end(), [&](const pmix_info_t& now) {
            return common::key_view(now) == common::key_view(edit) &&
                   common::compare_values(now.value, edit.value) == PMIX_EQUAL;
        });
        if (again) continue;
        if (const pmix_status_t rc = all.append(edit); rc != PMIX_SUCCESS) return rc;
    }
    if (const pmix_status_t rc = all.append_all(more.c_array(), more.size()); rc != PMIX_SUCCESS) return rc;
    edits = std::move(all);
    return PMIX_SUCCESS;
}

// What a call leaves out is as the host said it before: a value that follows from several follows from the newest of
// each.
void complete(JobInfo& job, const Nspace& known) {
    if (job.nlocalprocs <= 0) job.nlocalprocs = known.nlocalprocs;
    if (!job.job_size) job.job_size = known.job_size;
    if (!job.session_id) job.session_id = known.session;
    for (const AppRef& before : known.apps) {
        const auto now = std::find_if(job.apps.begin(), job.apps.end(),
                                      [&](const AppRef& app) { return app.number == before.number; });
        if (now == job.apps.end()) {
            job.apps.push_back(before);
            continue;
        }
        if (!now->size) now->size = before.size;
        if (!now->leader) now->leader = before.leader;
    }
}

}  // namespace

pmix_status_t Registration::ensure_data(Nspace& nspace) {
    if (nspace.data != nullptr) return PMIX_SUCCESS;
    if (pmix_status_t rc = registry_.ensure_data(nspace); rc != PMIX_SUCCESS) return rc;
    announce_locals(nspace);
    return PMIX_SUCCESS;
}

void Registration::announce_locals(Nspace& nspace) {
    for (common::Rank rank : nspace.local_ranks()) nspace.data->add_local(rank);
}

// By its name; else where a process of ours is, there we are; else where it was before.
uint32_t Registration::own_node_in(const Placed& placed, const Nspace& nspace) const noexcept {
    const uint32_t named = find_own_node(placed, registry_.hostname());
    if (named != kNoNode) return named;
    for (const auto& [rank, client] : nspace.clients)
        if (const uint32_t node = placed.procs.node_of(rank); node != kNoNode) return node;
    if (nspace.own_node < nspace.placed.nodes.size()) {
        const std::string& name = nspace.placed.nodes[nspace.own_node];
        const auto at = std::find(placed.nodes.begin(), placed.nodes.end(), name);
        if (!name.empty() && at != placed.nodes.end()) return static_cast<uint32_t>(at - placed.nodes.begin());
    }
    return placed.nodes.size() == 1 && nspace.nlocalprocs > 0 ? 0 : kNoNode;
}

// True: it was a node that nobody had named.
bool Registration::name_own_node(Nspace& nspace) {
    if (nspace.own_node == kNoNode || !nspace.placed.nodes[nspace.own_node].empty()) return false;
    nspace.placed.nodes[nspace.own_node] = registry_.hostname();
    return !registry_.hostname().empty();
}

// A process of ours has shown which node is this one: the job's data has its name from now on, and what is known by it.
void Registration::own_node_found(Nspace& nspace) {
    const bool named = name_own_node(nspace);
    if (nspace.data == nullptr) return;
    announce_locals(nspace);
    if (!named) return;
    JobInfo again;
    again.nspace = nspace.name;
    complete(again, nspace);
    pmix_status_t rc = nspace.data->apply(std::move(again), nspace.placed, nspace.own_node);
    if (rc == PMIX_SUCCESS) rc = nspace.data->apply_shared(resources_.all(), nspace.placed, ValueSource::resources);
    registry_.written(nspace);
    if (rc != PMIX_SUCCESS)
        WIREUP_LOG(server, warn, "the name of this node is not in the data of \"%s\": %s", nspace.name.c_str(),
                   common::log_status(rc));
}

pmix_status_t Registration::register_nspace(JobInfo&& job, bool by_host) {
    Nspace* known = registry_.find(job.nspace);
    const bool fresh = known == nullptr;
    if (known != nullptr) known->is_remote = known->is_remote && !by_host;
    if (known != nullptr) complete(job, *known);
    auto placed = derive_placement(job, registry_.hostname(), fresh ? Placed() : known->placed);
    if (!placed.ok()) return placed.status();
    const std::string job_name = job.nspace;
    Nspace& nspace = registry_.obtain(job_name);
    if (fresh) observers_.notify(&LifecycleObserver::namespace_new, job.nspace);
    if (fresh || job.nlocalprocs > 0) nspace.nlocalprocs = std::max(job.nlocalprocs, 0);
    if (job.job_size) nspace.job_size = job.job_size;
    if (job.user) nspace.owner = job.user;
    if (job.session_id) nspace.session = job.session_id;
    pmix_status_t rc = add_edits(nspace.envars, job.envars);
    nspace.apps = job.apps;
    nspace.own_node = own_node_in(*placed, nspace);
    nspace.placed = std::move(placed).value();
    nspace.has_placement = !nspace.placed.nodes.empty();
    name_own_node(nspace);
    if (rc == PMIX_SUCCESS && !job.nodata) {
        rc = ensure_data(nspace);
        if (rc == PMIX_SUCCESS) {
            announce_locals(nspace);
            const std::vector<uint32_t> sessions = note_sessions(session_facts_of(job));
            rc = nspace.data->apply(std::move(job), nspace.placed, nspace.own_node);
            for (const uint32_t session : sessions)
                if (rc == PMIX_SUCCESS) rc = tell_session(session);
            registry_.written(nspace);
        }
        if (rc == PMIX_SUCCESS) rc = nspace.data->apply_shared(resources_.all(), nspace.placed, ValueSource::resources);
        if (const auto session = sessions_.find(nspace.session.value_or(kNoSession));
            rc == PMIX_SUCCESS && session != sessions_.end())
            rc = nspace.data->apply_shared(facts_of(session->second), nspace.placed, ValueSource::host);
        if (rc == PMIX_SUCCESS) rc = tell_of_session(nspace);
        if (rc == PMIX_SUCCESS) rc = sets_.namespace_here(nspace);
    }
    if (rc != PMIX_SUCCESS) {
        if (fresh) deregister_nspace(nspace.name);
        return rc;
    }
    // A tool that took this name before it was a job's.
    if (fresh && nspace.is_a_job())
        observers_.notify(&LifecycleObserver::name_withdrawn, ProcId(job_name, PMIX_RANK_WILDCARD));
    if (const auto early = early_of(job_name); by_host && early != early_variables_.end()) {
        const common::InfoList infos = std::move(early->second);
        early_variables_.erase(early);
        rc = add_variables(job_name, infos);
        if (rc != PMIX_SUCCESS)
            WIREUP_LOG(server, warn, "what the host gave for \"%s\" before is left out: %s", job_name.c_str(),
                       common::log_status(rc));
    }
    if (by_host && common::log_on(common::LogArea::server, common::LogLevel::warn)) [[unlikely]] {
        warn_of_nodes(nspace);
        for (const auto& [rank, client] : nspace.clients) warn_of_place(nspace, rank);
    }
    set_environments(nspace);
    if (nspace.data != nullptr) observers_.notify(&LifecycleObserver::namespace_described, nspace);
    observers_.notify(&LifecycleObserver::members_changed, nspace.name);
    return PMIX_SUCCESS;
}

// What a job's registration contains about sessions. Returns their numbers.
std::vector<uint32_t> Registration::note_sessions(const std::vector<Fact>& facts) {
    std::vector<uint32_t> noted;
    for (const Fact& fact : facts) {
        const uint32_t id = fact.owner.index;
        if (!told_.contains(id) && told_.size() >= kMostSessionsTold)
            std::erase_if(told_, [&](const auto& told) {
                return std::ranges::none_of(registry_.nspaces(),
                                            [&](const auto& entry) { return entry.second->session == told.first; });
            });
        told_[id][std::string(fact.key)].assign(fact.value.begin(), fact.value.end());
        if (std::ranges::find(noted, id) == noted.end()) noted.push_back(id);
    }
    return noted;
}

// All jobs of a session, where one of them has brought something.
pmix_status_t Registration::tell_session(uint32_t id) {
    for (auto& [name, nspace] : registry_.nspaces()) {
        if (nspace->session != id) continue;
        WIREUP_RETURN_IF_ERROR(tell_of_session(*nspace));
        if (nspace->data != nullptr) registry_.written(*nspace);
    }
    return PMIX_SUCCESS;
}

pmix_status_t Registration::tell_of_session(Nspace& nspace) {
    const auto told = told_.find(nspace.session.value_or(kNoSession));
    if (told == told_.end() || nspace.data == nullptr) return PMIX_SUCCESS;
    std::vector<Fact> facts;
    facts.reserve(told->second.size());
    for (const auto& [key, value] : told->second)
        facts.push_back({dstore::Owner::session(told->first), nullptr, key, value});
    return nspace.data->apply_shared(facts, nspace.placed, ValueSource::session);
}

void Registration::deregister_nspace(std::string_view given) {
    std::string name(given);  // the caller's may be the one that goes
    std::erase_if(early_variables_, [&](const auto& early) { return early.first == name; });
    Nspace* nspace = registry_.find(name);
    if (nspace == nullptr) return;
    observers_.notify(&LifecycleObserver::name_withdrawn, ProcId(name, PMIX_RANK_WILDCARD));
    observers_.notify(&LifecycleObserver::namespace_gone, *nspace);
    launch_env_.remove(name);
    sets_.namespace_gone(name);
    registry_.remove(name);
    observers_.notify(&LifecycleObserver::members_changed, name);
}

LaunchEnv::Block Registration::environment_of(const Nspace& nspace, const Client& client,
                                              std::shared_ptr<const LaunchEnv::Edits> edits) {
    ProcId proc(nspace.name, client.rank);
    Variables own = transport::client_variables(proc, client.token);
    if (is_open_mpi(nspace)) {
        Variables theirs = open_mpi_variables(nspace, client.rank);
        own.insert(own.end(), std::make_move_iterator(theirs.begin()), std::make_move_iterator(theirs.end()));
    }
    LaunchEnv::Edits of_devices = device_edits(nspace, proc);
    return {std::move(proc), launch_env_.for_all(), std::move(own), std::move(edits), std::move(of_devices)};
}

// The GPUs and network devices that the host has assigned to the rank.
LaunchEnv::Edits Registration::device_edits(const Nspace& nspace, const ProcId& proc) {
    if (nspace.data == nullptr) return {};
    static const dstore::Key key(PMIX_DEVICE_ID);
    dstore::Found found;
    common::Value devices;
    const bool assigned = nspace.data->reader().find(dstore::Owner::proc_info(proc.rank), key, found) == PMIX_SUCCESS &&
                          common::decode_value_into(found.bytes(), devices.c_ptr()) == PMIX_SUCCESS;
    if (!assigned) return {};
    const auto gpus = [this] {
        if (!known_gpus_) known_gpus_ = gpus_ ? gpus_() : std::vector<common::Gpu>();
        return *known_gpus_;
    };
    const auto nics = [this] {
        if (!known_nics_) known_nics_ = nics_ ? nics_() : std::vector<common::Nic>();
        return *known_nics_;
    };
    return device_visibility(proc, devices.get(), gpus, nics);
}

void Registration::set_environments(const Nspace& nspace) {
    const auto edits = LaunchEnv::read_edits(nspace.envars);
    std::vector<LaunchEnv::Block> blocks;
    blocks.reserve(nspace.clients.size());
    for (const auto& [rank, client] : nspace.clients) blocks.push_back(environment_of(nspace, client, edits));
    launch_env_.set_all(std::move(blocks));
    launch_env_.set_for_unregistered(nspace.name, edits);
}

// A rank that is not where the job's data has it.
void Registration::warn_of_place(const Nspace& nspace, common::Rank rank) const {
    const Placed& placed = nspace.placed;
    const bool has_map = placed.has_procs && !placed.partial && !placed.guessed;
    const uint32_t node = placed.has_procs ? placed.procs.node_of(rank) : kNoNode;
    if (nspace.job_size && rank >= *nspace.job_size) {
        WIREUP_LOG(server, warn, "PMIx_server_register_client: \"%s\" has no rank %u, its size is %u",
                   nspace.name.c_str(), rank, *nspace.job_size);
    } else if (has_map && node == kNoNode) {
        WIREUP_LOG(server, warn, "PMIx_server_register_client: rank %u of \"%s\" is not in its process map of %u ranks",
                   rank, nspace.name.c_str(), placed.procs.nranks());
    } else if (has_map && nspace.own_node != kNoNode && node != nspace.own_node && node < placed.nodes.size()) {
        WIREUP_LOG(server, warn,
                   "PMIx_server_register_client: rank %u of \"%s\" is registered on \"%s\", and in its process map on "
                   "\"%s\"",
                   rank, nspace.name.c_str(), placed.nodes[nspace.own_node].c_str(), placed.nodes[node].c_str());
    }
}

// A node with processes of the job that is not among the job's nodes.
void Registration::warn_of_nodes(const Nspace& nspace) const {
    const std::vector<std::string>& nodes = nspace.placed.nodes;
    const bool all_named = std::none_of(nodes.begin(), nodes.end(), [](const auto& name) { return name.empty(); });
    if (nspace.local_count() == 0 || nodes.empty() || !all_named || nspace.placed.more_nodes ||
        find_own_node(nspace.placed, registry_.hostname()) != kNoNode)
        return;
    std::string list;
    constexpr size_t kMost = 8;
    for (size_t i = 0; i < std::min(nodes.size(), kMost); ++i) list += (i == 0 ? "" : ", ") + nodes[i];
    if (nodes.size() > kMost) list += ", ...";
    WIREUP_LOG(server, warn, "PMIx_server_register_nspace of \"%s\": this node, \"%s\", is not in its node map (%s)",
               nspace.name.c_str(), registry_.hostname().c_str(), list.c_str());
}

pmix_status_t Registration::register_client(const ProcId& proc, uint32_t uid, uint32_t gid, void* server_object) {
    Nspace& nspace = registry_.obtain(proc.nspace);
    nspace.is_remote = false;
    auto [at, fresh] = nspace.clients.try_emplace(proc.rank);
    Client& client = at->second;
    client.rank = proc.rank;
    registry_.add_user(uid);
    if (!fresh) registry_.remove_user(client.uid);
    client.uid = uid;
    client.gid = gid;
    client.server_object = server_object;
    if (fresh) {
        observers_.notify(&LifecycleObserver::name_withdrawn, proc);  // a tool that had it before
        // Without random numbers there is no token, and the kernel's word decides alone.
        if (!make_token(client.token)) client.token = {};
        std::erase(nspace.gone, proc.rank);
    }
    if (!nspace.owner) nspace.owner = uid;
    if (common::log_on(common::LogArea::server, common::LogLevel::warn)) [[unlikely]]
        warn_of_place(nspace, proc.rank);
    if (nspace.own_node == kNoNode && nspace.placed.has_procs) {
        // No name of a node was this one's; where a process of ours is, there we are.
        nspace.own_node = nspace.placed.procs.node_of(proc.rank);
        if (nspace.own_node != kNoNode) own_node_found(nspace);
    }
    if (nspace.data != nullptr) nspace.data->add_local(proc.rank);
    launch_env_.set(environment_of(nspace, client, LaunchEnv::read_edits(nspace.envars)));
    observers_.notify(&LifecycleObserver::members_changed, nspace.name);
    observers_.notify(&LifecycleObserver::client_registered, proc);
    return PMIX_SUCCESS;
}

void Registration::deregister_client(const ProcId& proc) {
    Nspace* nspace = registry_.find(proc.nspace);
    if (nspace == nullptr) return;
    if (nspace->find_client(proc.rank) == nullptr) return never_registered(*nspace, proc.rank);
    observers_.notify(&LifecycleObserver::name_withdrawn, proc);
    Client* client = nspace->find_client(proc.rank);
    bool was_gone = client->gone();
    const bool may_return = client->may_return;
    // What may find no memory comes first, so that the caller may call again.
    launch_env_.remove(proc);
    if (!was_gone) nspace->gone.push_back(proc.rank);  // stays there: the namespace still counts it among its own
    registry_.remove_user(client->uid);
    nspace->clients.erase(proc.rank);
    if (!was_gone || may_return) client_gone(*nspace, proc.rank);
}

// A local process that was announced with its job, and will not start: what waits for it does not any more.
void Registration::never_registered(Nspace& nspace, common::Rank rank) {
    const bool expected = nspace.is_local(rank) || (nspace.unnamed_locals() != 0 && nspace.may_be_local(rank));
    if (!expected || nspace.has_left(rank)) return;
    nspace.gone.push_back(rank);
    client_gone(nspace, rank);
    observers_.notify(&LifecycleObserver::members_changed, nspace.name);  // one fewer of which the rank is not known
}

void Registration::client_gone(Nspace& nspace, common::Rank rank) {
    observers_.notify(&LifecycleObserver::member_gone, nspace, member_id(nspace.number, rank));
}

pmix_status_t Registration::register_resources(JobInfo&& resources) {
    resources_.add(resources);
    const std::vector<Fact> facts = facts_of(resources);
    for (auto& [name, nspace] : registry_.nspaces()) {
        if (nspace->data == nullptr) continue;
        pmix_status_t rc = nspace->data->apply_shared(facts, nspace->placed, ValueSource::resources);
        registry_.written(*nspace);
        if (rc != PMIX_SUCCESS) return rc;
    }
    return PMIX_SUCCESS;
}

// By key, for the namespaces that exist and those to come. A process with OpenPMIx's library keeps what it was given
// when it connected: that library has no message that takes job data back.
pmix_status_t Registration::deregister_resources(const JobInfo& named) {
    resources_.remove(named);
    const std::vector<Fact> facts = facts_of(named);
    for (auto& [name, nspace] : registry_.nspaces()) {
        if (nspace->data == nullptr) continue;
        const pmix_status_t rc = nspace->data->withdraw_resources(facts, nspace->placed);
        registry_.written(*nspace);
        if (rc != PMIX_SUCCESS) return rc;
    }
    return PMIX_SUCCESS;
}

pmix_status_t Registration::register_session(uint32_t id, JobInfo&& session) {
    const auto [known, fresh] = sessions_.try_emplace(id, std::move(session));
    if (!fresh) return PMIX_SUCCESS;
    for (auto& [name, nspace] : registry_.nspaces()) {
        if (nspace->data == nullptr || nspace->session != id) continue;
        const pmix_status_t rc = nspace->data->apply_shared(facts_of(known->second), nspace->placed, ValueSource::host);
        if (rc != PMIX_SUCCESS) return rc;
        registry_.written(*nspace);
    }
    return PMIX_SUCCESS;
}

pmix_status_t Registration::keep_variables(std::string_view name, const common::InfoList& infos) {
    auto at = early_of(name);
    if (at == early_variables_.end()) {
        if (early_variables_.size() >= kMostEarly) early_variables_.pop_front();
        at = early_variables_.insert(early_variables_.end(), {std::string(name), common::InfoList()});
    }
    return at->second.append_all(infos.c_array(), infos.size());
}

pmix_status_t Registration::add_variables(std::string_view name, const common::InfoList& infos) {
    for (const pmix_info_t& info : infos)
        if (const pmix_status_t rc = check_variable(info); rc != PMIX_SUCCESS) return rc;
    Nspace* nspace = registry_.find(name);
    if (nspace == nullptr || nspace->is_remote) return keep_variables(name, infos);
    common::InfoList edits;
    for (const pmix_info_t& info : infos) {
        const bool model = common::is_model_key(common::key_view(info)) && info.value.type == PMIX_STRING;
        if (model && info.value.data.string != nullptr && common::names_open_mpi(info.value.data.string))
            nspace->open_mpi = true;
        if (info.value.type != PMIX_ENVAR && common::key_view(info) != PMIX_UNSET_ENVAR) continue;
        pmix_status_t rc = edits.append(info);
        if (rc != PMIX_SUCCESS) return rc;
    }
    if (const pmix_status_t rc = add_edits(nspace->envars, edits); rc != PMIX_SUCCESS) return rc;
    set_environments(*nspace);
    common::InfoList fabrics;
    pmix_status_t rc = fabric_facts(infos, fabrics);
    if (rc != PMIX_SUCCESS || fabrics.empty()) return rc;
    auto job = read_job(name, 0, fabrics.c_array(), fabrics.size());
    return job.ok() ? register_nspace(std::move(job).value()) : job.status();
}

}  // namespace pmix::server

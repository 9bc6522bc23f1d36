// SPDX-License-Identifier: BSD-3-Clause
#include "server/namespaces/registry.h"

#include <algorithm>
#include <cassert>

namespace pmix::server {

using common::kNoNode;
using common::ProcId;
using common::Rank;

Client* Nspace::find_client(Rank rank) noexcept {
    auto it = clients.find(rank);
    return it == clients.end() ? nullptr : &it->second;
}

const Client* Nspace::find_client(Rank rank) const noexcept {
    return const_cast<Nspace*>(this)->find_client(rank);
}

bool Nspace::is_local(Rank rank) const noexcept {
    if (clients.count(rank) != 0) return true;
    return placed.has_procs && own_node != kNoNode && placed.procs.node_of(rank) == own_node;
}

bool Nspace::has_ended(Rank rank) const noexcept {
    const Client* const client = find_client(rank);
    return has_left(rank) && (client == nullptr || !client->may_return);
}

bool Nspace::has_left(Rank rank) const noexcept {
    return std::find(gone.begin(), gone.end(), rank) != gone.end();
}

bool Nspace::commits_no_more(Rank rank) const noexcept {
    const Client* const client = find_client(rank);
    return has_left(rank) && (client == nullptr || !client->script_runs);
}

bool Nspace::has_rank(Rank rank) const noexcept {
    if (clients.count(rank) != 0) return true;
    if (placed.has_procs && !placed.partial) return placed.procs.node_of(rank) != kNoNode;
    return job_size && rank < *job_size;
}

// What the host says about the number counts; ranks may be registered one by one, long after the first has called.
uint32_t Nspace::local_count() const noexcept {
    uint32_t registered = static_cast<uint32_t>(clients.size());
    if (nlocalprocs > 0) return std::max(registered, static_cast<uint32_t>(nlocalprocs));
    if (placed.has_procs && own_node != kNoNode) return std::max(registered, placed.procs.count_on(own_node));
    return registered;
}

uint32_t Nspace::unnamed_locals() const noexcept {
    const uint32_t placed_here = placed.has_procs && own_node != kNoNode ? placed.procs.count_on(own_node) : 0;
    if (placed_here != 0 || placed.is_firm()) return 0;
    const auto deregistered = std::count_if(gone.begin(), gone.end(), [&](Rank rank) { return !clients.count(rank); });
    const size_t named = clients.size() + static_cast<size_t>(deregistered);
    return local_count() <= named ? 0 : static_cast<uint32_t>(local_count() - named);
}

bool Nspace::may_be_local(Rank rank) const noexcept {
    if (!common::is_real_rank(rank) || clients.count(rank) != 0 || has_left(rank)) return false;
    return placed.procs.node_of(rank) == kNoNode && (!size_known() || has_rank(rank));
}

bool Nspace::all_local() const noexcept {
    return size_known() && size() <= local_count();
}

std::vector<Rank> Nspace::local_ranks() const {
    std::vector<Rank> ranks;
    if (placed.has_procs && own_node != kNoNode)
        placed.procs.for_each_on(own_node, [&](Rank rank) { ranks.push_back(rank); });
    for (const auto& [rank, client] : clients) ranks.push_back(rank);
    std::sort(ranks.begin(), ranks.end());
    ranks.erase(std::unique(ranks.begin(), ranks.end()), ranks.end());
    return ranks;
}

Nspace* Registry::find(std::string_view name) noexcept {
    auto it = nspaces_.find(name);
    return it == nspaces_.end() ? nullptr : it->second.get();
}

const Nspace* Registry::find(std::string_view name) const noexcept {
    return const_cast<Registry*>(this)->find(name);
}

Nspace* Registry::find(uint32_t number) noexcept {
    auto it = by_number_.find(number);
    return it == by_number_.end() ? nullptr : it->second;
}

Nspace& Registry::obtain(std::string_view name) {
    if (Nspace* known = find(name)) return *known;
    auto fresh = std::make_unique<Nspace>();
    fresh->name = name;
    fresh->number = next_number_++;
    Nspace& nspace = *fresh;
    by_number_.emplace(nspace.number, &nspace);
    nspaces_.emplace(std::string(name), std::move(fresh));
    groups_.hide(name, true);
    assert(by_number_.size() == nspaces_.size());
    return nspace;
}

Nspace& Registry::obtain_remote(std::string_view name) {
    if (Nspace* known = find(name)) return *known;
    Nspace& nspace = obtain(name);
    nspace.is_remote = true;
    nspace.last_use = next_use();
    observers_.notify(&LifecycleObserver::remote_namespace_new);
    return nspace;
}

pmix_status_t Registry::ensure_data(Nspace& nspace) {
    if (nspace.data != nullptr) return PMIX_SUCCESS;
    auto data = NamespaceData::create(nspace.size_known() ? nspace.size() : 0, origin_, next_segment());
    if (!data.ok()) return data.status();
    nspace.data = std::move(data).value();
    return PMIX_SUCCESS;
}

void Registry::remove(std::string_view name) {
    auto it = nspaces_.find(name);
    if (it == nspaces_.end()) return;
    for (const auto& [rank, client] : it->second->clients) remove_user(client.uid);
    groups_.hide(name, false);
    by_number_.erase(it->second->number);
    nspaces_.erase(it);
    assert(by_number_.size() == nspaces_.size());
}

void Registry::remove_user(uint32_t uid) noexcept {
    auto it = users_.find(uid);
    if (it != users_.end() && --it->second == 0) users_.erase(it);
}

std::optional<uint32_t> Registry::user_of(const ProcId& proc) const noexcept {
    const Nspace* nspace = find(proc.nspace);
    if (nspace == nullptr) return std::nullopt;
    const Client* client = nspace->find_client(proc.rank);
    return client != nullptr ? client->uid : nspace->owner;
}

Client* Registry::find_client(const ProcId& proc) noexcept {
    Nspace* nspace = find(proc.nspace);
    return nspace == nullptr ? nullptr : nspace->find_client(proc.rank);
}

std::optional<MemberId> Registry::member(const ProcId& proc) const noexcept {
    const Nspace* nspace = find(proc.nspace);
    if (nspace == nullptr) return std::nullopt;
    return member_id(nspace->number, proc.rank);
}

ProcId Registry::proc_of(MemberId member) const {
    auto it = by_number_.find(nspace_number_of(member));
    return it == by_number_.end() ? ProcId() : ProcId(it->second->name, rank_of(member));
}

void Registry::set_state(Nspace& nspace, Client& client, Client::State state) {
    bool was_gone = client.gone();
    // Its end must find room in the list, also where there is no memory by then: others wait for it. Before anything
    // is changed: a caller that finds no memory calls again.
    nspace.gone.reserve(nspace.gone.size() + (state == Client::State::connected ? nspace.clients.size() : 1));
    client.state = state;
    client.may_return = client.script_runs = false;
    if (client.gone() == was_gone) return;
    if (client.gone()) {
        assert(nspace.gone.size() < nspace.gone.capacity());
        nspace.gone.push_back(client.rank);
    } else {
        nspace.gone.erase(std::remove(nspace.gone.begin(), nspace.gone.end(), client.rank), nspace.gone.end());
    }
}

bool Registry::is_local(const ProcId& proc) const noexcept {
    const Nspace* nspace = find(proc.nspace);
    return nspace != nullptr && nspace->is_local(proc.rank);
}

bool Registry::has_ended(const ProcId& proc) const noexcept {
    const Nspace* nspace = find(proc.nspace);
    if (nspace == nullptr) return false;
    return nspace->is_local(proc.rank) ? nspace->has_left(proc.rank) : nspace->ended_elsewhere.count(proc.rank) != 0;
}

namespace {

// Local ranks among those that a signature names of one namespace, which may be 100,000 of other nodes beside a few.
std::vector<Rank> local_of(const Nspace& nspace, const Signature::Part& part) {
    std::vector<Rank> ranks;
    const bool whole = part.is_whole();
    if (whole || part.size() > nspace.local_count()) {
        ranks = nspace.local_ranks();
        if (!whole) std::erase_if(ranks, [&](Rank r) { return !part.has(r); });
        return ranks;
    }
    part.for_each([&](Rank rank) {
        if (nspace.is_local(rank)) ranks.push_back(rank);
    });
    return ranks;
}

// Those that were local, as is known only of registered ones. (The number of all includes them.)
std::vector<Rank> deregistered_of(const Nspace& nspace, const Signature::Part& part) {
    std::vector<Rank> ranks;
    if (part.is_whole()) return ranks;
    for (const Rank left : nspace.gone)
        if (part.has(left) && !nspace.is_local(left)) ranks.push_back(left);
    return ranks;
}

size_t unnamed_of(const Nspace& nspace, const Signature::Part& part) noexcept {
    const size_t most = nspace.unnamed_locals();
    if (most == 0 || part.is_whole()) return most;
    size_t n = 0;
    part.ranks.for_ranges([&](Rank first, Rank last) {
        for (uint64_t rank = first; rank <= last && n < most; ++rank) n += nspace.may_be_local(static_cast<Rank>(rank));
        return n < most;
    });
    return n;
}

bool all_local(const Nspace& nspace, const Signature::Part& part) {
    return part.ranks.for_ranges([&](Rank first, Rank last) {
        for (uint64_t rank = first; rank <= last; ++rank)
            if (!nspace.is_local(static_cast<Rank>(rank))) return false;
        return true;
    });
}

}  // namespace

Reach Registry::reach(const Signature& signature) const noexcept {
    Reach reach = Reach::here;
    for (const Signature::Part& part : signature.parts()) {
        const Nspace* nspace = find(part.nspace);
        if (nspace == nullptr) return Reach::beyond;
        if (part.is_whole()) {
            if (!nspace->size_known()) {
                reach = Reach::unknown;
            } else if (!nspace->all_local()) {
                return Reach::beyond;
            }
        } else if (!all_local(*nspace, part)) {
            return Reach::beyond;
        }
    }
    return reach;
}

std::vector<std::pair<Nspace*, std::vector<Rank>>> Registry::local_members(const Signature& signature) {
    std::vector<std::pair<Nspace*, std::vector<Rank>>> members;
    for (const Signature::Part& part : signature.parts())
        if (Nspace* nspace = find(part.nspace)) members.push_back({nspace, local_of(*nspace, part)});
    return members;
}

size_t Registry::expected(const Signature& signature) const {
    size_t n = 0;
    for (const Signature::Part& part : signature.parts()) {
        const Nspace* nspace = find(part.nspace);
        if (nspace == nullptr) continue;
        n += part.is_whole()
                 ? nspace->local_count()
                 : local_of(*nspace, part).size() + deregistered_of(*nspace, part).size() + unnamed_of(*nspace, part);
    }
    return n;
}

std::vector<MemberId> Registry::deregistered_members(const Signature& signature) const {
    std::vector<MemberId> out;
    for (const Signature::Part& part : signature.parts()) {
        const Nspace* nspace = find(part.nspace);
        if (nspace == nullptr) continue;
        for (const Rank rank : deregistered_of(*nspace, part)) out.push_back(member_id(nspace->number, rank));
    }
    return out;
}

size_t Registry::unnamed_members(const Signature& signature) const noexcept {
    size_t n = 0;
    for (const Signature::Part& part : signature.parts())
        if (const Nspace* nspace = find(part.nspace)) n += unnamed_of(*nspace, part);
    return n;
}

bool Registry::contains(const Signature& signature, MemberId member) const {
    auto it = by_number_.find(nspace_number_of(member));
    if (it == by_number_.end()) return false;
    const Signature::Part* part = signature.find(it->second->name);
    return part != nullptr && (part->has(rank_of(member)) || part->is_whole());
}

std::string_view Registry::nspace_of(MemberId member) const {
    auto it = by_number_.find(nspace_number_of(member));
    return it == by_number_.end() ? std::string_view() : std::string_view(it->second->name);
}

std::vector<MemberId> Registry::gone(const Signature& signature) const {
    std::vector<MemberId> out;
    for (const Signature::Part& part : signature.parts()) {
        const Nspace* nspace = find(part.nspace);
        if (nspace == nullptr || nspace->gone.empty()) continue;
        const bool whole = part.is_whole();
        for (Rank left : nspace->gone) {
            if (!whole && !part.has(left)) continue;
            if (nspace->has_ended(left)) out.push_back(member_id(nspace->number, left));
        }
    }
    return out;
}

size_t Registry::clones(MemberId member) const {
    auto it = by_number_.find(nspace_number_of(member));
    if (it == by_number_.end()) return 1;
    const Client* client = it->second->find_client(rank_of(member));
    return client == nullptr || client->connections == 0 ? 1 : client->connections;
}

}  // namespace pmix::server

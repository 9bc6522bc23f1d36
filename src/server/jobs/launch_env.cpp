// SPDX-License-Identifier: BSD-3-Clause
#include "server/jobs/launch_env.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>

#include "transport/rendezvous/rendezvous.h"

namespace pmix::server {

using common::ProcId;
using common::Rank;

namespace {

constinit std::atomic<const LaunchEnv*> g_current{nullptr};

size_t count(char** env) noexcept {
    size_t n = 0;
    while (env != nullptr && env[n] != nullptr) ++n;
    return n;
}

char** find(char** env, std::string_view name) noexcept {
    for (char** e = env; e != nullptr && *e != nullptr; ++e)
        if (std::strncmp(*e, name.data(), name.size()) == 0 && (*e)[name.size()] == '=') return e;
    return nullptr;
}

pmix_status_t set_one(char*** env, std::string_view name, std::string_view value) noexcept {
    if (*env == environ && environ != nullptr) {
        // The process's own environment: its strings are nobody's to free.
        std::string n(name), v(value);
        return ::setenv(n.c_str(), v.c_str(), 1) == 0 ? PMIX_SUCCESS : PMIX_ERR_NOMEM;
    }
    auto* entry = static_cast<char*>(std::malloc(name.size() + value.size() + 2));
    if (entry == nullptr) return PMIX_ERR_NOMEM;
    std::memcpy(entry, name.data(), name.size());
    entry[name.size()] = '=';
    std::memcpy(entry + name.size() + 1, value.data(), value.size());
    entry[name.size() + 1 + value.size()] = '\0';
    if (char** old = find(*env, name)) {
        std::free(*old);
        *old = entry;
        return PMIX_SUCCESS;
    }
    size_t n = count(*env);
    auto* grown = static_cast<char**>(std::realloc(*env, (n + 2) * sizeof(char*)));
    if (grown == nullptr) {
        std::free(entry);
        return PMIX_ERR_NOMEM;
    }
    grown[n] = entry;
    grown[n + 1] = nullptr;
    *env = grown;
    return PMIX_SUCCESS;
}

void unset_one(char*** env, std::string_view name) noexcept {
    if (*env == environ && environ != nullptr) {
        std::string n(name);
        ::unsetenv(n.c_str());
        return;
    }
    char** at = find(*env, name);
    if (at == nullptr) return;
    std::free(*at);
    for (; *at != nullptr; ++at) *at = at[1];
}

pmix_status_t edit_one(char*** env, const LaunchEnv::Edit& edit) {
    using How = LaunchEnv::Edit::How;
    for (const auto& [name, value] : edit.unless) {
        char** set = find(*env, name);
        if (set != nullptr && (value.empty() || value != *set + name.size() + 1)) return PMIX_SUCCESS;
    }
    char** at = find(*env, edit.name);
    std::string before = at == nullptr ? std::string() : std::string(*at + edit.name.size() + 1);
    switch (edit.how) {
        case How::unset:
            unset_one(env, edit.name);
            return PMIX_SUCCESS;
        case How::add:
            return at == nullptr ? set_one(env, edit.name, edit.value) : PMIX_SUCCESS;
        case How::set:
            return set_one(env, edit.name, edit.value);
        case How::prepend:
            return set_one(env, edit.name, before.empty() ? edit.value : edit.value + edit.separator + before);
        case How::append:
            return set_one(env, edit.name, before.empty() ? edit.value : before + edit.separator + edit.value);
        case How::first: {
            // To the front, and nowhere else.
            std::string rest;
            size_t start = 0;
            while (start <= before.size() && !before.empty()) {
                size_t end = std::min(before.find(edit.separator, start), before.size());
                std::string item = before.substr(start, end - start);
                if (item != edit.value) {
                    if (!rest.empty()) rest += edit.separator;
                    rest += item;
                }
                start = end + 1;
            }
            return set_one(env, edit.name, rest.empty() ? edit.value : edit.value + edit.separator + rest);
        }
    }
    return PMIX_SUCCESS;
}

}  // namespace

pmix_status_t set_variables(char*** env, const Variables& variables, const std::vector<std::string>& unset) {
    for (const std::string& name : unset) unset_one(env, name);
    for (const auto& [name, value] : variables) {
        pmix_status_t rc = set_one(env, name, value);
        if (rc != PMIX_SUCCESS) return rc;
    }
    return PMIX_SUCCESS;
}

const LaunchEnv* LaunchEnv::current() noexcept {
    return g_current.load();
}

void LaunchEnv::set_current(const LaunchEnv* launch_env) noexcept {
    g_current.store(launch_env);
}

std::shared_ptr<const LaunchEnv::Edits> LaunchEnv::read_edits(common::InfoView infos) {
    using How = Edit::How;
    Edits edits;
    for (const pmix_info_t& info : infos) {
        std::string_view key = common::key_view(info);
        const pmix_value_t& v = info.value;
        // A name is enough to unset it; some hosts give the whole variable.
        if (key == PMIX_UNSET_ENVAR) {
            const char* name = v.type == PMIX_STRING  ? v.data.string
                               : v.type == PMIX_ENVAR ? v.data.envar.envar
                                                      : nullptr;
            if (name != nullptr) edits.push_back({How::unset, name, {}, ','});
            continue;
        }
        if (v.type != PMIX_ENVAR || v.data.envar.envar == nullptr) continue;
        Edit edit{How::set, v.data.envar.envar, v.data.envar.value == nullptr ? "" : v.data.envar.value,
                  v.data.envar.separator == '\0' ? ',' : v.data.envar.separator};
        if (key == PMIX_ADD_ENVAR) edit.how = How::add;
        if (key == PMIX_PREPEND_ENVAR) edit.how = How::prepend;
        if (key == PMIX_APPEND_ENVAR) edit.how = How::append;
        if (key == PMIX_FIRST_ENVAR) edit.how = How::first;
        edits.push_back(std::move(edit));
    }
    return edits.empty() ? nullptr : std::make_shared<const Edits>(std::move(edits));
}

pmix_status_t LaunchEnv::apply_edits(const Edits& edits, char*** env) {
    pmix_status_t rc = PMIX_SUCCESS;
    for (const Edit& edit : edits)
        if (rc == PMIX_SUCCESS) rc = edit_one(env, edit);
    return rc;
}

LaunchEnv::~LaunchEnv() {
    delete ranks_.load();
    delete nspaces_.load();
}

// The first block that is not before this rank's.
size_t LaunchEnv::place_of(const Table& table, std::string_view nspace, Rank rank) noexcept {
    const std::pair wanted(nspace, rank);
    const auto* begin = table.slots.data();
    const auto* end = begin + table.used.load(std::memory_order_acquire);
    const auto* at = std::lower_bound(begin, end, wanted, [](const auto& block, const auto& w) {
        return std::pair<std::string_view, Rank>(block->proc.nspace, block->proc.rank) < w;
    });
    return static_cast<size_t>(at - begin);
}

const LaunchEnv::Block* LaunchEnv::find(const Published& table, std::string_view nspace, Rank rank) noexcept {
    const Table* now = table.load();
    if (now == nullptr) return nullptr;
    const size_t at = place_of(*now, nspace, rank);
    if (at >= now->used.load(std::memory_order_acquire)) return nullptr;
    const Block* block = now->slots[at].get();
    return block->proc.nspace == nspace && block->proc.rank == rank && !now->has_left(at) ? block : nullptr;
}

void LaunchEnv::publish(Published& table, std::unique_ptr<Table> next) {
    retired_.reserve(retired_.size() + 1);
    const Table* old = table.exchange(next.release());
    if (old != nullptr) retired_.emplace_back(old);
    // A caller that enters from here on finds the new table.
    if (inside_.load() == 0) retired_.clear();
}

void LaunchEnv::set_all(std::vector<Block> blocks) {
    const Table* now = ranks_.load(std::memory_order_relaxed);
    const size_t used = now == nullptr ? 0 : now->used.load(std::memory_order_relaxed);
    const size_t most = used + blocks.size();
    if (blocks.empty()) return;
    auto next = std::make_unique<Table>(std::max<size_t>(16, most + most / 2));
    size_t from = 0, to = 0;
    const auto keep_one = [&] {
        if (!now->has_left(from)) next->slots[to++] = now->slots[from];
        ++from;
    };
    for (Block& block : blocks) {
        while (from < used && now->slots[from]->proc < block.proc) keep_one();
        if (from < used && now->slots[from]->proc == block.proc) ++from;
        next->slots[to++] = std::make_shared<Block>(std::move(block));
    }
    while (from < used) keep_one();
    next->used.store(to, std::memory_order_relaxed);
    publish(ranks_, std::move(next));
}

void LaunchEnv::set_for_unregistered(std::string_view nspace, std::shared_ptr<const Edits> edits) {
    const ProcId any(std::string(nspace), PMIX_RANK_WILDCARD);
    if (edits == nullptr) return remove_if(nspaces_, [&](const ProcId& p) { return p == any; });
    insert(nspaces_, std::make_shared<Block>(Block{any, nullptr, {}, std::move(edits), {}}));
}

void LaunchEnv::insert(Published& table, std::shared_ptr<const Block> block) {
    const ProcId& proc = block->proc;
    Table* now = table.load(std::memory_order_relaxed);
    const size_t used = now == nullptr ? 0 : now->used.load(std::memory_order_relaxed);
    const size_t at = now == nullptr ? 0 : place_of(*now, proc.nspace, proc.rank);
    if (now != nullptr && at == used && used < now->capacity) {
        now->slots[used] = std::move(block);
        now->used.store(used + 1, std::memory_order_release);
        return;
    }
    const bool replaces = at < used && now->slots[at]->proc == proc;
    const size_t most = used + 1;
    auto next = std::make_unique<Table>(std::max<size_t>(16, most + most / 2));
    size_t to = 0;
    for (size_t from = 0; from < used; ++from) {
        if (from == at) next->slots[to++] = block;
        if ((from != at || !replaces) && !now->has_left(from)) next->slots[to++] = now->slots[from];
    }
    if (at == used) next->slots[to++] = block;
    next->used.store(to, std::memory_order_relaxed);
    publish(table, std::move(next));
}

template <class Goes>
void LaunchEnv::remove_if(Published& table, Goes goes) {
    const Table* now = table.load(std::memory_order_relaxed);
    if (now == nullptr) return;
    const size_t used = now->used.load(std::memory_order_relaxed);
    const auto stays = [&](size_t i) { return !now->has_left(i) && !goes(now->slots[i]->proc); };
    size_t left = 0;
    for (size_t i = 0; i < used; ++i) left += stays(i);
    if (left == used - now->removed) return;
    auto next = std::make_unique<Table>(std::max<size_t>(16, left + left / 2));
    size_t to = 0;
    for (size_t i = 0; i < used; ++i)
        if (stays(i)) next->slots[to++] = now->slots[i];
    next->used.store(left, std::memory_order_relaxed);
    publish(table, std::move(next));
}

void LaunchEnv::remove(const ProcId& proc) {
    Table* const now = ranks_.load(std::memory_order_relaxed);
    if (now == nullptr) return;
    const size_t used = now->used.load(std::memory_order_relaxed);
    const size_t at = place_of(*now, proc.nspace, proc.rank);
    if (at >= used || !(now->slots[at]->proc == proc) || now->has_left(at)) return;
    if (2 * (now->removed + 1) >= used) return remove_if(ranks_, [&](const ProcId& p) { return p == proc; });
    now->gone[at].store(true, std::memory_order_release);
    ++now->removed;
}

void LaunchEnv::remove(std::string_view nspace) {
    for (Published* table : {&ranks_, &nspaces_})
        remove_if(*table, [&](const ProcId& p) { return p.nspace == nspace; });
}

pmix_status_t LaunchEnv::apply(std::string_view nspace, Rank rank, char*** env) const noexcept {
    inside_.fetch_add(1);
    pmix_status_t rc = PMIX_ERR_NOT_FOUND;
    try {
        const Block* block = find(ranks_, nspace, rank);
        const bool registered = block != nullptr;
        if (!registered) block = find(nspaces_, nspace, PMIX_RANK_WILDCARD);
        const Variables* shared = registered ? block->shared.get() : for_all_.get();
        if (registered || shared != nullptr) {
            const bool edited = block != nullptr && block->edits != nullptr;
            rc = edited ? apply_edits(*block->edits, env) : PMIX_SUCCESS;
            if (rc == PMIX_SUCCESS && block != nullptr) rc = apply_edits(block->own_edits, env);
            if (rc == PMIX_SUCCESS && shared != nullptr) rc = set_variables(env, *shared);
            if (rc == PMIX_SUCCESS) {
                rc = registered ? set_variables(env, block->own)
                                : set_variables(env, transport::client_variables({nspace, rank}, {}),
                                                {transport::kTokenVariable});  // an outer job's
            }
        }
    } catch (const std::bad_alloc&) {
        rc = PMIX_ERR_NOMEM;
    }
    inside_.fetch_sub(1);
    return rc;
}

}  // namespace pmix::server

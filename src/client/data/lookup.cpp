// SPDX-License-Identifier: BSD-3-Clause
#include "client/data/lookup.h"

#include <functional>
#include <set>
#include <string>

#include "common/codec/pack.h"
#include "dstore/qualified.h"

namespace pmix::client {
namespace {

using dstore::in_scope;
using dstore::Key;
using dstore::Owner;
using dstore::Reader;

bool is_own(const Sources& from, const GetRequest& request) noexcept {
    return request.own_nspace && from.own != nullptr;
}

// The node of the caller, as a place in the target's node list.
std::optional<uint32_t> local_node(const Sources& from, const GetRequest& request) noexcept {
    if (from.own == nullptr) return std::nullopt;
    const auto node = from.own->node_of(from.self.rank);
    if (!node || is_own(from, request)) return node;
    const std::string_view name = from.own->node_name(*node);
    return name.empty() ? std::nullopt : from.target->node_by_name(name);
}

std::optional<uint32_t> node_for(const Sources& from, const GetRequest& request) noexcept {
    if (!request.hostname.empty()) return from.target->node_by_name(request.hostname);
    if (request.node_id) return from.target->node_by_id(*request.node_id);
    if (request.one_rank()) return from.target->node_of(request.rank);
    return local_node(from, request);
}

std::optional<uint32_t> app_for(const Sources& from, const GetRequest& request) noexcept {
    if (request.appnum) return request.appnum;
    const bool own = is_own(from, request);
    const common::Rank rank = request.one_rank() ? request.rank : own ? from.self.rank : PMIX_RANK_UNDEF;
    if (!common::is_real_rank(rank)) return 0;
    const auto app = from.target->app_of(rank);
    return app ? app : 0;
}

uint32_t session_for(const Sources& from, const GetRequest& request) noexcept {
    if (request.session_id) return *request.session_id;
    dstore::Found found;
    if (from.target->find(Owner::job(), Key(PMIX_SESSION_ID), found) != PMIX_SUCCESS) return 0;
    common::Value value;
    uint64_t id = 0;
    if (common::decode_value_into(found.bytes(), value.c_ptr()) != PMIX_SUCCESS) return 0;
    if (common::read_number(value.get(), &id) != PMIX_SUCCESS || id > UINT32_MAX) return 0;
    return static_cast<uint32_t>(id);
}

class Owners {
  public:
    explicit Owners(std::span<Owner, kMaxOwners> out) noexcept : out_(out) {}
    void add(Owner owner) noexcept {
        for (size_t i = 0; i < size_; ++i) {
            if (out_[i] == owner) return;
        }
        if (size_ < out_.size()) out_[size_++] = owner;
    }
    void add_node(const Sources& from, const GetRequest& request) noexcept {
        if (const auto node = node_for(from, request)) add(Owner::node(*node));
    }
    void add_app(const Sources& from, const GetRequest& request) noexcept {
        if (const auto app = app_for(from, request)) add(Owner::app(*app));
    }
    void add_session(const Sources& from, const GetRequest& request) noexcept {
        add(Owner::session(session_for(from, request)));
    }
    size_t size() const noexcept { return size_; }

  private:
    std::span<Owner, kMaxOwners> out_;
    size_t size_ = 0;
};

pmix_status_t find_shared(const Sources& from, const GetRequest& request, const Key& key,
                          dstore::Found& found) noexcept {
    if (from.target == nullptr) return PMIX_ERR_NOT_FOUND;
    // The usual Gets, before the question of realms: they are the first owners of owners_for().
    bool put_by_it = false;  // under a reserved key: what the host says of anything that the process is in comes first
    if (request.realm == Realm::natural) {
        pmix_status_t rc = PMIX_ERR_NOT_FOUND;
        if (request.one_rank()) {
            rc = from.target->find(Owner::proc(request.rank), key, found);
            if (!key.reserved()) return rc;
            put_by_it = rc == PMIX_SUCCESS && found.scope() != PMIX_SCOPE_UNDEF;
            if (put_by_it) rc = PMIX_ERR_NOT_FOUND;
        } else if (!key.reserved() && request.rank == PMIX_RANK_UNDEF) {
            return from.target->find_any_rank(key, found);
        } else {
            rc = from.target->find(Owner::job(), key, found);
        }
        if (rc != PMIX_ERR_NOT_FOUND) return rc;
    }
    Owner owners[kMaxOwners];
    const size_t n = owners_for(from, request, owners);
    for (size_t i = 0; i < n; ++i) {
        if (put_by_it && owners[i] == Owner::proc(request.rank)) continue;
        const pmix_status_t rc = from.target->find(owners[i], key, found);
        if (rc != PMIX_ERR_NOT_FOUND) return rc;
    }
    return put_by_it ? from.target->find(Owner::proc(request.rank), key, found) : PMIX_ERR_NOT_FOUND;
}

// What the store of this process has of a key.
enum class Mine : uint8_t {
    none,     // other stores decide
    found,    // it is in the hit
    deleted,  // no store has it any more, whatever the segment still shows
};

// The value that was found is a deletion.
[[gnu::noinline, gnu::cold]] Mine find_remaining(const Sources& from, dstore::PrivateStore::Nspace nspace,
                                                 const GetRequest& request, const Key& key, Hit& hit) noexcept {
    // Another process may have a value for the caller that does not know whose it is.
    if (request.rank == PMIX_RANK_UNDEF) return Mine::none;
    auto left = from.mine.find_remaining(nspace, request.rank, key);
    if (!left) return Mine::none;
    // What is left of a value for all peers is not for local ones.
    if (left.deleted() || request.scope == PMIX_LOCAL) return Mine::deleted;
    new (&hit.mine_) dstore::PrivateStore::Lookup(std::move(left));
    return Mine::found;
}

// What this process stored for a rank, or for the namespace as a whole. A realm qualifier asks for what the host said.
// A caller that does not know whose key it is may have put it itself.
Mine find_mine(const Sources& from, const GetRequest& request, const Key& key, Hit& hit) noexcept {
    const bool anyones = request.rank == PMIX_RANK_UNDEF && request.own_nspace && !key.reserved();
    common::Rank rank = anyones ? from.self.rank : request.rank;
    if (!from.others_in_mine && (!request.own_nspace || rank != from.self.rank)) return Mine::none;
    if (request.realm != Realm::natural && request.realm != Realm::proc && request.realm != Realm::job)
        return Mine::none;
    const auto nspace = request.own_nspace ? from.own_nspace : from.mine.nspace(request.nspace);
    if (nspace == dstore::PrivateStore::kNone) return Mine::none;
    // Stored for no rank in particular.
    if (anyones && from.others_in_mine && from.mine.find(nspace, request.rank, key)) rank = request.rank;
    // A scope that is named has its own value, though another one was put later for other peers.
    auto lookup = request.scope == PMIX_SCOPE_UNDEF ? from.mine.find(nspace, rank, key)
                                                    : from.mine.find_for_local(nspace, rank, key);
    if (!lookup && key.reserved() && request.rank != PMIX_RANK_WILDCARD) {
        // Job data that this process stored itself.
        auto of_job = from.mine.find(nspace, PMIX_RANK_WILDCARD, key);
        if (!of_job) return Mine::none;
        new (&hit.mine_) dstore::PrivateStore::Lookup(std::move(of_job));
        return Mine::found;
    }
    if (!lookup) return Mine::none;
    if (lookup.deleted()) [[unlikely]]
        return find_remaining(from, nspace, request, key, hit);
    new (&hit.mine_) dstore::PrivateStore::Lookup(std::move(lookup));
    return Mine::found;
}

}  // namespace

size_t owners_for(const Sources& from, const GetRequest& request, std::span<Owner, kMaxOwners> out) noexcept {
    Owners owners(out);
    switch (request.realm) {
        case Realm::proc:
            if (request.one_rank()) owners.add(Owner::proc(request.rank));
            break;
        case Realm::job:
            owners.add(Owner::job());
            break;
        case Realm::app:
            owners.add_app(from, request);
            break;
        case Realm::node:
            owners.add_node(from, request);
            break;
        case Realm::session:
            owners.add_session(from, request);
            break;
        case Realm::natural: {
            if (request.one_rank()) owners.add(Owner::proc(request.rank));
            const Realm realm = request.reserved() ? default_realm(request.key) : Realm::job;
            if (request.one_rank()) {
                if (realm == Realm::node) owners.add_node(from, request);
                if (realm == Realm::app) owners.add_app(from, request);
            }
            owners.add(Owner::job());
            owners.add_node(from, request);
            owners.add_app(from, request);
            owners.add_session(from, request);
            break;
        }
    }
    return owners.size();
}

pmix_status_t look_up(const Sources& from, const GetRequest& request, Hit& hit) noexcept {
    const Key key(request.key);
    if (key.reserved()) {
        const pmix_status_t rc = find_shared(from, request, key, hit.found_);
        if (rc != PMIX_ERR_NOT_FOUND) return rc;
        return find_mine(from, request, key, hit) == Mine::found ? PMIX_SUCCESS : PMIX_ERR_NOT_FOUND;
    }
    switch (find_mine(from, request, key, hit)) {
        case Mine::found:
            return PMIX_SUCCESS;
        case Mine::deleted:
            return PMIX_ERR_NOT_FOUND;
        case Mine::none:
            break;
    }
    return find_shared(from, request, key, hit.found_);
}

pmix_status_t look_up_in_scope(const Sources& from, const GetRequest& request, Hit& hit) noexcept {
    if (request.scope == PMIX_REMOTE && request.own_nspace && request.rank == from.self.rank) {
        // What this process put for remote peers, where that is not what it finds otherwise.
        auto apart = from.mine.find_for_remote(from.own_nspace, request.rank, Key(request.key));
        if (apart && in_scope(request.scope, apart.scope())) {
            if (apart.deleted()) return PMIX_ERR_NOT_FOUND;
            new (&hit.mine_) dstore::PrivateStore::Lookup(std::move(apart));
            return PMIX_SUCCESS;
        }
    }
    const pmix_status_t rc = look_up(from, request, hit);
    return rc == PMIX_SUCCESS && !in_scope(request.scope, hit.scope()) ? PMIX_ERR_NOT_FOUND : rc;
}

common::Result<common::Value> look_up_all(const Sources& from, const GetRequest& request) {
    common::InfoList infos;
    std::set<std::string, std::less<>> seen;
    pmix_status_t failed = PMIX_SUCCESS;
    const auto take = [&](std::string_view key, common::Bytes bytes) {
        if (failed != PMIX_SUCCESS || !seen.emplace(key).second) return;
        common::Value value;
        // A qualified value is shown with its qualifiers.
        if (dstore::is_stored_qualified(key, bytes)) key = PMIX_QUALIFIED_VALUE;
        // One value that cannot be read does not hide the others.
        if (common::decode_value_into(bytes, value.c_ptr()) != PMIX_SUCCESS) return;
        failed = infos.append(key, std::move(value));
    };
    const auto nspace = from.mine.nspace(request.nspace);
    const auto take_mine = [&](bool reserved) {
        if (nspace == dstore::PrivateStore::kNone) return;
        std::vector<std::string> deleted;
        const auto visit = [&](std::string_view key, pmix_scope_t scope, common::Bytes bytes) {
            if (common::is_reserved_key(key) != reserved) return;
            if (dstore::is_deleted(bytes)) {
                deleted.emplace_back(key);
            } else if (in_scope(request.scope, scope)) {
                take(key, bytes);
            }
        };
        if (request.scope == PMIX_REMOTE) {
            from.mine.for_each_apart(nspace, request.rank, visit);
            // What was deleted for remote peers is not data of that scope, though the process itself finds it.
            for (const std::string& key : deleted) seen.insert(key);
            deleted.clear();
        }
        if (request.scope == PMIX_SCOPE_UNDEF) {
            from.mine.for_each(nspace, request.rank, visit);
        } else {
            from.mine.for_each_for_local(nspace, request.rank, visit);
        }
        for (const std::string& key : deleted) {
            const auto left = from.mine.find_remaining(nspace, request.rank, Key(key));
            if (!left) continue;
            if (!left.deleted() && request.scope != PMIX_LOCAL && in_scope(request.scope, left.scope()))
                take(key, left.bytes());
            seen.insert(key);
        }
    };

    take_mine(false);
    if (from.target != nullptr) {
        Owner owners[kMaxOwners];
        size_t n = 1;
        if (request.realm != Realm::natural) {
            n = owners_for(from, request, owners);
        } else {
            owners[0] = request.one_rank() ? Owner::proc(request.rank) : Owner::job();
        }
        for (size_t i = 0; i < n; ++i) {
            const pmix_status_t rc =
                from.target->for_each(owners[i], [&](std::string_view key, const dstore::Found& found) {
                    if (in_scope(request.scope, found.scope())) take(key, found.bytes());
                });
            if (rc != PMIX_SUCCESS && rc != PMIX_ERR_NOT_FOUND) return rc;
        }
    }
    take_mine(true);
    if (failed != PMIX_SUCCESS) return failed;
    if (infos.empty()) return PMIX_ERR_NOT_FOUND;

    auto* array = static_cast<pmix_data_array_t*>(std::calloc(1, sizeof(pmix_data_array_t)));
    if (array == nullptr) return PMIX_ERR_NOMEM;
    array->type = PMIX_INFO;
    array->array = infos.release(&array->size);
    pmix_value_t value;
    std::memset(&value, 0, sizeof value);
    value.type = PMIX_DATA_ARRAY;
    value.data.darray = array;
    return common::Value(value);
}

}  // namespace pmix::client

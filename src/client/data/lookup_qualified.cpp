// SPDX-License-Identifier: BSD-3-Clause
#include "client/data/lookup_qualified.h"

#include <algorithm>
#include <optional>

namespace pmix::client {
namespace {

using common::InfoView;
using common::Result;
using common::Value;
using dstore::Owner;
using dstore::Qualifiers;

InfoView infos_of(const GetRequest& request) noexcept {
    return {request.infos, request.ninfos};
}

// A number of an application or the like says which one where the level is given. By itself it is a qualifier like any
// other: the value may lie with the job or with a process.
GetRequest as_stored(const GetRequest& request, std::string_view key) noexcept {
    GetRequest out = request;
    const InfoView infos = infos_of(request);
    if (!infos.flag(PMIX_SESSION_INFO) && !infos.flag(PMIX_JOB_INFO) && !infos.flag(PMIX_APP_INFO) &&
        !infos.flag(PMIX_NODE_INFO)) {
        out.realm = Realm::natural;
    }
    out.key = key;
    return out;
}

// Of the values that have all of the qualifiers the one with the fewest others; of equals the first by its key.
class Best {
  public:
    Best(const GetRequest& request, const Qualifiers& wanted) noexcept : request_(request), wanted_(wanted) {}
    void offer(std::string_view key, pmix_scope_t scope, common::Bytes bytes) {
        if (!dstore::may_qualify(key, request_.key) || !dstore::in_scope(request_.scope, scope)) return;
        auto stored = dstore::read_stored(bytes, request_.key);
        if (!stored || !wanted_.all_in(stored->what.qualifiers)) return;
        const size_t size = stored->what.qualifiers.size();
        if (best_ && (size > size_ || (size == size_ && key >= key_))) return;
        best_ = std::move(*stored);
        size_ = size;
        key_ = key;
    }
    Result<Value> take() const { return best_ ? Value::copy_of(*best_->what.value) : PMIX_ERR_NOT_FOUND; }
    bool any() const noexcept { return best_.has_value(); }

  private:
    const GetRequest& request_;
    const Qualifiers& wanted_;
    std::optional<dstore::StoredQualified> best_;
    size_t size_ = 0;
    std::string key_;
};

Result<Value> look_among_all(const Sources& from, const GetRequest& request, const GetRequest& stored,
                             const Qualifiers& wanted) {
    Best best(request, wanted);
    std::vector<std::string> deleted;
    const auto nspace = from.mine.nspace(request.nspace);
    if (nspace != dstore::PrivateStore::kNone) {
        const auto visit = [&](std::string_view key, pmix_scope_t scope, common::Bytes bytes) {
            if (dstore::is_deleted(bytes)) {
                if (dstore::may_qualify(key, request.key)) deleted.emplace_back(key);
            } else {
                best.offer(key, scope, bytes);
            }
        };
        if (request.scope == PMIX_SCOPE_UNDEF) {
            from.mine.for_each(nspace, request.rank, visit);
        } else {
            from.mine.for_each_for_local(nspace, request.rank, visit);
        }
    }
    // The segment may still show what this process has deleted.
    std::erase_if(deleted, [&](const std::string& key) {
        const auto left = from.mine.find_remaining(nspace, request.rank, dstore::Key(key));
        if (left && !left.deleted()) best.offer(key, left.scope(), left.bytes());
        return !left;
    });
    if (best.any() || from.target == nullptr) return best.take();
    Owner owners[kMaxOwners];
    size_t n = owners_for(from, stored, owners);
    // What a process has put is looked for with that process only, as in look_up.
    if (stored.realm == Realm::natural && stored.one_rank() && !stored.reserved()) n = 1;
    for (size_t i = 0; i < n && !best.any(); ++i) {
        const pmix_status_t rc =
            from.target->for_each(owners[i], [&](std::string_view key, const dstore::Found& found) {
                if (std::find(deleted.begin(), deleted.end(), key) == deleted.end())
                    best.offer(key, found.scope(), found.bytes());
            });
        if (rc != PMIX_SUCCESS && rc != PMIX_ERR_NOT_FOUND) return rc;
    }
    return best.take();
}

}  // namespace

Result<std::string> qualified_key(const GetRequest& request) {
    auto wanted = Qualifiers::marked_in(infos_of(request));
    if (!wanted) return wanted.status();
    return wanted->key_for(request.key);
}

Result<Value> look_up_qualified(const Sources& from, const GetRequest& request) {
    auto wanted = Qualifiers::marked_in(infos_of(request));
    if (!wanted) return wanted.status();
    const std::string key = wanted->key_for(request.key);
    const GetRequest stored = as_stored(request, key);
    Hit hit;
    const pmix_status_t rc = look_up_in_scope(from, stored, hit);
    if (rc != PMIX_SUCCESS && rc != PMIX_ERR_NOT_FOUND) return rc;
    if (rc == PMIX_SUCCESS) {
        auto found = dstore::read_stored(hit.bytes(), request.key);
        if (!found && found.status() != PMIX_ERR_NOT_FOUND) return found.status();
        if (found && found->what.qualifiers == *wanted) return Value::copy_of(*found->what.value);
    }
    return look_among_all(from, request, stored, *wanted);
}

bool qualifies_realm_only(const GetRequest& request) noexcept {
    if (request.realm == Realm::natural) return false;
    const InfoView infos = infos_of(request);
    return std::all_of(infos.begin(), infos.end(), [](const pmix_info_t& info) {
        const std::string_view key = common::key_view(info);
        return !dstore::is_qualifier(info) || key == PMIX_APPNUM || key == PMIX_SESSION_ID || key == PMIX_NODEID ||
               key == PMIX_HOSTNAME || key == PMIX_SESSION_INFO || key == PMIX_JOB_INFO || key == PMIX_APP_INFO ||
               key == PMIX_NODE_INFO;
    });
}

}  // namespace pmix::client

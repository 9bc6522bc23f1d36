#include "client/put.h"

#include <cstring>
#include <string>
#include <vector>

#include "client/session.h"
#include "common/pack.h"

namespace pmix::client {
namespace {

common::Result<std::string_view> checked_key(const char* key) noexcept {
    if (key == nullptr) return PMIX_ERR_BAD_PARAM;
    const size_t length = ::strnlen(key, common::kMaxKeyLength + 1);
    if (length == 0 || length > common::kMaxKeyLength) return PMIX_ERR_BAD_PARAM;
    return std::string_view(key, length);
}

}  // namespace

pmix_status_t put(Session& session, pmix_scope_t scope, const char* key, const pmix_value_t* value) {
    // Reserved keys are let through: each Open MPI rank puts its host name under one and gives up on a refusal. What
    // the host says under that key wins in Get.
    auto name = checked_key(key);
    if (!name) return name.status();
    if (value == nullptr || scope < PMIX_LOCAL || scope > PMIX_INTERNAL) return PMIX_ERR_BAD_PARAM;
    common::ByteWriter encoded(96);
    const pmix_status_t rc = common::encode_value(encoded, *value);
    if (rc != PMIX_SUCCESS) return rc;
    session.mine().put(session.own_nspace(), session.self().rank, dstore::Key(*name), scope, encoded.view());
    return PMIX_SUCCESS;
}

pmix_status_t store_internal(Session& session, const pmix_proc_t* proc, const char* key, const pmix_value_t* value) {
    auto name = checked_key(key);
    if (!name) return name.status();
    if (value == nullptr) return PMIX_ERR_BAD_PARAM;
    common::Rank rank = session.self().rank;
    auto nspace = session.own_nspace();
    if (proc != nullptr) {
        const size_t length = common::bounded_length(proc->nspace, sizeof proc->nspace);
        if (length > common::kMaxNspaceLength || proc->rank == PMIX_RANK_INVALID) return PMIX_ERR_BAD_PARAM;
        if (length != 0 && std::string_view(proc->nspace, length) != session.self().nspace) {
            nspace = session.mine().intern({proc->nspace, length});
        }
        rank = proc->rank;
    }
    common::ByteWriter encoded(96);
    const pmix_status_t rc = common::encode_value(encoded, *value);
    if (rc != PMIX_SUCCESS) return rc;
    session.mine().put(nspace, rank, dstore::Key(*name), PMIX_INTERNAL, encoded.view());
    if (nspace != session.own_nspace() || rank != session.self().rank) session.set_stored_for_others();
    return PMIX_SUCCESS;
}

pmix_status_t commit(Session& session) {
    if (!session.mine().anything_staged()) return PMIX_SUCCESS;
    // Order of commits is order of sends.
    common::MutexLock lock(session.commit_mutex());

    // The store lends its bytes only inside the visit, so they are gathered first: one block for all values.
    struct Place {
        std::string key;
        pmix_scope_t scope;
        size_t offset, size;
    };
    std::vector<Place> places;
    common::ByteWriter values;
    session.mine().take_staged([&](std::string_view key, pmix_scope_t scope, common::Bytes value) {
        places.push_back({std::string(key), scope, values.size(), value.size()});
        values.raw(value);
    });
    if (!session.connected()) {
        // Alone from the start: nobody else is there to see it. With a server that was lost it is an error.
        return session.has_server() ? PMIX_ERR_UNREACH : PMIX_SUCCESS;
    }
    common::CommitRequest request;
    request.generation = session.next_commit();
    request.entries.reserve(places.size());
    for (const Place& place : places) {
        request.entries.push_back({static_cast<uint8_t>(place.scope), place.key,
                                   common::Bytes(values.data() + place.offset, place.size)});
    }
    return session.tell<common::Command::commit>(request);
}

}  // namespace pmix::client

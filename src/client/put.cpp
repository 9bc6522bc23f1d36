#include "client/put.h"

#include <algorithm>
#include <cstring>
#include <string_view>

#include "client/commit_frame.h"
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

// Encodes and stores. Texts and byte objects, which is nearly everything that is ever put, go into the store in two
// pieces, without a buffer between.
pmix_status_t keep(Session& session, dstore::PrivateStore::Nspace nspace, common::Rank rank, std::string_view key,
                   pmix_scope_t scope, const pmix_value_t& value) {
    dstore::PrivateStore& store = session.mine();
    const bool text = value.type == PMIX_STRING && value.data.string != nullptr;
    const bool object = value.type == PMIX_BYTE_OBJECT && value.data.bo.bytes != nullptr;
    if (text || object) {
        const auto* bytes = reinterpret_cast<const uint8_t*>(text ? value.data.string : value.data.bo.bytes);
        const size_t n = text ? std::strlen(value.data.string) + 1 : value.data.bo.size;
        if (n >= common::kMaxFramePayload) return PMIX_ERR_BAD_PARAM;
        uint8_t head[common::kBytesOffset];
        common::store_le<uint16_t>(head, value.type);
        common::store_le<uint32_t>(head + 2, static_cast<uint32_t>(n));
        store.put(nspace, rank, dstore::Key(key), scope, {head, sizeof head}, {bytes, n});
        return PMIX_SUCCESS;
    }
    common::ByteWriter encoded(96);
    const pmix_status_t rc = common::encode_value(encoded, value);
    if (rc == PMIX_SUCCESS) store.put(nspace, rank, dstore::Key(key), scope, encoded.view());
    return rc;
}

}  // namespace

pmix_status_t put(Session& session, pmix_scope_t scope, const char* key, const pmix_value_t* value) {
    // Reserved keys are let through: each Open MPI rank puts its host name under one and gives up on a refusal. What
    // the host says under that key wins in Get.
    auto name = checked_key(key);
    if (!name) return name.status();
    if (value == nullptr || scope < PMIX_LOCAL || scope > PMIX_INTERNAL) return PMIX_ERR_BAD_PARAM;
    return keep(session, session.own_nspace(), session.self().rank, *name, scope, *value);
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
    // Said first: whoever finds the value may look for it.
    if (nspace != session.own_nspace() || rank != session.self().rank) session.set_stored_for_others();
    return keep(session, nspace, rank, *name, PMIX_INTERNAL, *value);
}

pmix_status_t commit(Session& session) {
    if (!session.mine().anything_staged()) return PMIX_SUCCESS;
    // Order of commits is order of sends.
    common::MutexLock lock(session.commit_mutex());

    // Large values are sent from where the store has them.
    const dstore::PrivateStore::Hold hold(session.mine());
    CommitFrame frame(session.commits() + 1, session.mine().bytes());
    session.mine().take_staged([&](std::string_view key, pmix_scope_t scope, common::Bytes value) {
        frame.add(static_cast<uint8_t>(scope), key, value);
    });
    if (frame.count() == 0) return PMIX_SUCCESS;
    if (!session.connected()) {
        // Alone from the start: nobody else is there to see it. With a server that was lost it is an error.
        return session.has_server() ? PMIX_ERR_UNREACH : PMIX_SUCCESS;
    }
    session.count_commit();
    return session.tell(common::Command::commit, frame.pieces());
}

}  // namespace pmix::client

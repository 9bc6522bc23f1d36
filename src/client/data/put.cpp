// SPDX-License-Identifier: BSD-3-Clause
#include "client/data/put.h"

#include <cstring>
#include <new>
#include <string_view>

#include "client/data/commit_frame.h"
#include "client/session/session.h"
#include "common/codec/pack.h"
#include "dstore/qualified.h"

namespace pmix::client {
namespace {

common::Result<std::string_view> checked_key(const char* key) noexcept {
    if (key == nullptr) return PMIX_ERR_BAD_PARAM;
    const size_t length = ::strnlen(key, common::kMaxKeyLength + 1);
    if (length == 0 || length > common::kMaxKeyLength) return PMIX_ERR_BAD_PARAM;
    return std::string_view(key, length);
}

// A commit has as many frames as it needs, but a value lies in one. What no commit will send has the codec's bounds
// only.
bool can_be_sent(std::string_view key, pmix_scope_t scope, size_t value) noexcept {
    if (scope == PMIX_INTERNAL) return value < common::kMaxFramePayload;
    return CommitFrame::entry_size(key.size(), value) <= common::kMaxFramePayload - CommitFrame::kEmptySize;
}

// The number of a commit in the private store; 0 is none.
uint32_t mark_of(uint64_t commit) noexcept {
    const auto mark = static_cast<uint32_t>(commit);
    return mark != 0 ? mark : 1;
}

bool refused_in_strict_mode(const Session& session, std::string_view key) noexcept {
    return common::is_reserved_key(key) && session.strict();
}

// Encodes and stores. Texts and byte objects, which is nearly everything that is ever put, are passed to the store as
// two buffers, without a copy between, and numbers take no memory.
pmix_status_t keep(Session& session, dstore::PrivateStore::Nspace nspace, common::Rank rank, std::string_view key,
                   pmix_scope_t scope, const pmix_value_t& value) {
    dstore::PrivateStore& store = session.mine();
    const bool text = value.type == PMIX_STRING && value.data.string != nullptr;
    const bool object = value.type == PMIX_BYTE_OBJECT && value.data.bo.bytes != nullptr;
    if (text || object) {
        const auto* bytes = reinterpret_cast<const uint8_t*>(text ? value.data.string : value.data.bo.bytes);
        const size_t n = text ? std::strlen(value.data.string) + 1 : value.data.bo.size;
        if (!can_be_sent(key, scope, common::kBytesOffset + n)) return PMIX_ERR_BAD_PARAM;
        uint8_t head[common::kBytesOffset];
        common::store_le<uint16_t>(head, value.type);
        common::store_le<uint32_t>(head + 2, static_cast<uint32_t>(n));
        store.put(nspace, rank, dstore::Key(key), scope, {head, sizeof head}, {bytes, n});
        return PMIX_SUCCESS;
    }
    // Such a server would refuse the commit, with all that is in it.
    if (scope != PMIX_INTERNAL && session.server_has_more() && !session.server_takes(value)) [[unlikely]]
        return PMIX_ERR_NOT_SUPPORTED;
    uint8_t number[common::kMaxScalarBytes];
    if (const size_t n = common::encode_number(value, number); n != 0) {
        store.put(nspace, rank, dstore::Key(key), scope, {number, n});
        return PMIX_SUCCESS;
    }
    common::ByteWriter encoded(96);
    WIREUP_RETURN_IF_ERROR(common::encode_value(encoded, value));
    if (!can_be_sent(key, scope, encoded.size())) return PMIX_ERR_BAD_PARAM;
    store.put(nspace, rank, dstore::Key(key), scope, encoded.view());
    return PMIX_SUCCESS;
}

// A value with qualifiers has a key of its own, so it replaces none that has others. Entries that are not marked say
// nothing, and a value whose array marks none is an ordinary one.
pmix_status_t keep_qualified(Session& session, dstore::PrivateStore::Nspace nspace, common::Rank rank,
                             pmix_scope_t scope, const pmix_value_t& value) {
    auto what = dstore::QualifiedValue::read(value);
    if (!what) return what.status();
    if (refused_in_strict_mode(session, what->primary)) return PMIX_ERR_BAD_PARAM;
    if (what->qualifiers.empty()) return keep(session, nspace, rank, what->primary, scope, *what->value);
    auto stored = dstore::QualifiedValue::stored(value);
    if (!stored) return stored.status();
    return keep(session, nspace, rank, what->qualifiers.key_for(what->primary), scope, stored->get());
}

// A key that was not put is none to be found either way. The value matters only where its qualifiers name the key.
pmix_status_t remove(Session& session, std::string_view key, pmix_scope_t scope, const pmix_value_t* qualified) {
    // A server that does not know deletions would refuse the whole commit.
    if (session.has_server() && scope != PMIX_INTERNAL && !session.server_deletes()) return PMIX_ERR_NOT_SUPPORTED;
    dstore::PrivateStore& store = session.mine();
    std::string of_qualifiers;
    if (qualified != nullptr) {
        auto what = dstore::QualifiedValue::read(*qualified);
        if (!what) return what.status();
        if (refused_in_strict_mode(session, what->primary)) return PMIX_ERR_BAD_PARAM;
        of_qualifiers = what->qualifiers.empty() ? std::string(what->primary) : what->qualifiers.key_for(what->primary);
        key = of_qualifiers;
    }
    store.remove(session.own_nspace(), session.self().rank, dstore::Key(key), scope);
    return PMIX_SUCCESS;
}

struct SendResult {
    pmix_status_t status = PMIX_SUCCESS;
    bool more = false;  // is staged: the frame was full
};

// One frame of what is staged. Under the commit mutex.
SendResult send_frame(Session& session, size_t frame_limit) {
    dstore::PrivateStore& store = session.mine();
    // The first Commit says that it was made, with nothing in it too: others' Gets wait for it.
    const bool says_nothing = !store.anything_staged() && session.resent_up_to() == 0;
    if (says_nothing && (session.commits() != 0 || !session.connected())) return {};
    if (!session.connected()) {
        // With a server that was lost it is an error. Alone from the start: nobody else is there to see it.
        if (session.has_server()) return {PMIX_ERR_UNREACH};
        store.take_staged([](std::string_view, pmix_scope_t, common::Bytes) {}, mark_of(1));
        return {};
    }
    // Large values are sent from where the store has them.
    const dstore::PrivateStore::Hold hold(store);
    const uint64_t number = session.commits() + 1;
    CommitFrame frame(number, store.bytes());
    bool full = false;
    store.take_staged(
        [&](std::string_view key, pmix_scope_t scope, common::Bytes value) {
            full = frame.count() != 0 && !frame.has_room(key.size(), value.size(), frame_limit);
            if (full) return false;
            const bool deleted = dstore::is_deleted(value);
            frame.add(deleted ? dstore::deletion_for(scope) : scope, key, deleted ? common::Bytes() : value);
            return true;
        },
        mark_of(number));
    session.count_commit();
    pmix_status_t rc = PMIX_ERR_NOMEM;
    try {
        frame.finish(full ? 0 : session.resent_up_to());
        const auto parts = frame.parts();
        if (session.memory_fence().leave_commit(parts, number)) {
            rc = PMIX_SUCCESS;
        } else {
            rc = session.tell(common::Command::commit, parts);
        }
    } catch (const std::bad_alloc&) {  // as if it had been refused
    }
    if (rc != PMIX_SUCCESS) {
        session.refusals().not_sent(number);
        return {rc};
    }
    session.set_sent_commit(number);
    if (!full) session.set_resent_up_to(0);
    return {PMIX_SUCCESS, full};
}

// What was refused is staged again; why, if nobody has been told yet. Under the commit mutex.
pmix_status_t stage_what_was_refused(Session& session) {
    CommitRefusals& refusals = session.refusals();
    if (const auto refused = refusals.to_stage_again()) {
        session.mine().stage_again(session.own_nspace(), session.self().rank, mark_of(refused->first));
        session.set_resent_up_to(refused->last);
        refusals.staged_again(*refused);
    }
    return refusals.reported_by(PMIX_SUCCESS);
}

// A key that the Standard reserves, a deletion, or arguments that are refused.
[[gnu::noinline]] pmix_status_t put_unusual(Session& session, pmix_scope_t scope, std::string_view name,
                                            const pmix_value_t* value) {
    // Reserved keys are let through: each Open MPI rank puts its host name under one and gives up on a refusal. What
    // the host says under that key wins in Get. The Standard's refusal is strict mode's.
    const pmix_scope_t deleted = dstore::deleted_scope(scope);
    const bool qualified = common::is_reserved_key(name) && name == PMIX_QUALIFIED_VALUE;
    if (value == nullptr && (deleted == PMIX_SCOPE_UNDEF || qualified)) return PMIX_ERR_BAD_PARAM;
    if (!qualified && refused_in_strict_mode(session, name)) return PMIX_ERR_BAD_PARAM;
    if (deleted != PMIX_SCOPE_UNDEF) return remove(session, name, deleted, qualified ? value : nullptr);
    if (scope < PMIX_LOCAL || scope > PMIX_INTERNAL) return PMIX_ERR_NOT_SUPPORTED;
    if (qualified) return keep_qualified(session, session.own_nspace(), session.self().rank, scope, *value);
    return keep(session, session.own_nspace(), session.self().rank, name, scope, *value);
}

}  // namespace

pmix_status_t put(Session& session, pmix_scope_t scope, const char* key, const pmix_value_t* value) {
    auto name = checked_key(key);
    if (!name) return name.status();
    if (value == nullptr || scope < PMIX_LOCAL || scope > PMIX_INTERNAL || common::is_reserved_key(*name)) [[unlikely]]
        return put_unusual(session, scope, *name, value);
    return keep(session, session.own_nspace(), session.self().rank, *name, scope, *value);
}

pmix_status_t store_internal(Session& session, const pmix_proc_t* proc, const char* key, const pmix_value_t* value) {
    auto name = checked_key(key);
    if (!name) return name.status();
    if (value == nullptr) return PMIX_ERR_BAD_PARAM;
    const bool qualified = common::is_reserved_key(*name) && *name == PMIX_QUALIFIED_VALUE;
    if (!qualified && refused_in_strict_mode(session, *name)) return PMIX_ERR_BAD_PARAM;
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
    // Set first, because a reader that finds the value tests it.
    if (nspace != session.own_nspace() || rank != session.self().rank) session.set_stored_for_others();
    if (qualified) return keep_qualified(session, nspace, rank, PMIX_INTERNAL, *value);
    return keep(session, nspace, rank, *name, PMIX_INTERNAL, *value);
}

pmix_status_t commit(Session& session, size_t frame_limit) {
    // What was refused of the commits before is to be told now.
    if (session.sent_commit() != 0) session.read_refusals();
    // It may be left in memory, without a word to the server.
    if (session.has_server() && session.mine().anything_staged()) (void)session.still_connected();
    for (bool first = true;; first = false) {
        // Without the lock: the loop's thread, which drains the queue, may be in a commit called by a callback. Before
        // each frame, because the queue to a slow server may be full after any of them.
        if (session.mine().anything_staged()) {
            if (const pmix_status_t rc = session.wait_for_room(); rc != PMIX_SUCCESS) return rc;
        }
        // Order of commits is order of sends, and what another thread's Commit has taken is on its way when this one
        // returns. Between two frames another Commit may send the rest.
        common::MutexLock lock(session.commit_mutex());
        if (first) {
            // A Commit that fails sends nothing: the next one sends all.
            if (const pmix_status_t rc = stage_what_was_refused(session); rc != PMIX_SUCCESS) return rc;
        }
        const SendResult sent = send_frame(session, frame_limit);
        if (sent.status != PMIX_SUCCESS || !sent.more) return sent.status;
    }
}

}  // namespace pmix::client

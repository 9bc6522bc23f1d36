// SPDX-License-Identifier: BSD-3-Clause
// The question that every store answers: what does this owner hold under this key?
//
// Pure values and a hash; any thread. A Key borrows its name and an answer borrows its bytes from the store that gave
// it, so neither outlives its source. Values are opaque here: the encoding of common/codec/pack.h, a type and its
// payload.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include "common/base/bytes.h"
#include "common/base/ids.h"
#include "common/base/status.h"

namespace pmix::dstore {

// What a key can belong to. `proc` is what a process put and committed; `proc_info` is what the host said about one
// process where no column holds it. A reader that asks for `proc` gets both, see Reader::find.
enum class OwnerKind : uint8_t { job = 0, session = 1, app = 2, node = 3, proc = 4, proc_info = 5 };
inline constexpr unsigned kOwnerKinds = 6;

// index: session id, app number, index of the node in the placement (not its id), rank; 0 for the job.
struct Owner {
    OwnerKind kind = OwnerKind::job;
    uint32_t index = 0;

    static constexpr Owner job() noexcept { return {OwnerKind::job, 0}; }
    static constexpr Owner session(uint32_t id) noexcept { return {OwnerKind::session, id}; }
    static constexpr Owner app(uint32_t number) noexcept { return {OwnerKind::app, number}; }
    static constexpr Owner node(uint32_t index) noexcept { return {OwnerKind::node, index}; }
    static constexpr Owner proc(common::Rank rank) noexcept { return {OwnerKind::proc, rank}; }
    static constexpr Owner proc_info(common::Rank rank) noexcept { return {OwnerKind::proc_info, rank}; }
    constexpr bool operator==(const Owner&) const noexcept = default;
};

// Part of the format of segments and chunks: both ends compute it, so a change is a new format version.
uint32_t hash_key(std::string_view name) noexcept;

// A key and its hash, computed once per look-up.
class Key {
  public:
    explicit Key(std::string_view name) noexcept : name_(name), hash_(hash_key(name)) {}
    // For a hash that is known already, from a dictionary.
    Key(std::string_view name, uint32_t hash) noexcept : name_(name), hash_(hash) {}

    std::string_view name() const noexcept { return name_; }
    uint32_t hash() const noexcept { return hash_; }
    bool reserved() const noexcept { return common::is_reserved_key(name_); }

  private:
    std::string_view name_;
    uint32_t hash_;
};

// A key with its value, on the way into a store.
struct Record {
    std::string_view key;
    common::Bytes value;
    pmix_scope_t scope = PMIX_GLOBAL;
};

// The value of a key that its process has deleted: a type that no value has, and no payload. It is put, committed and
// sent to other nodes as a value is, and replaces what was there for the peers that its scope names; look-ups then do
// not find the key. A release that does not know it finds a value that it cannot decode.
inline constexpr uint8_t kDeletedValue[] = {0xff, 0xff};
inline bool is_deleted(const uint8_t* value, size_t length) noexcept {
    return length == sizeof kDeletedValue && std::memcmp(value, kDeletedValue, sizeof kDeletedValue) == 0;
}
inline bool is_deleted(common::Bytes value) noexcept {
    return is_deleted(value.data(), value.size());
}

// The scope whose peers a deletion is meant for; PMIX_SCOPE_UNDEF: it is no scope of a deletion.
constexpr pmix_scope_t deleted_scope(pmix_scope_t scope) noexcept {
    return scope >= PMIX_DEL_LOCAL && scope <= PMIX_DEL_INTERNAL
               ? static_cast<pmix_scope_t>(scope - PMIX_DEL_LOCAL + PMIX_LOCAL)
               : PMIX_SCOPE_UNDEF;
}
constexpr pmix_scope_t deletion_for(pmix_scope_t scope) noexcept {
    return static_cast<pmix_scope_t>(scope - PMIX_LOCAL + PMIX_DEL_LOCAL);
}
static_assert(deleted_scope(PMIX_DEL_LOCAL) == PMIX_LOCAL && deleted_scope(PMIX_DEL_REMOTE) == PMIX_REMOTE &&
              deleted_scope(PMIX_DEL_GLOBAL) == PMIX_GLOBAL && deleted_scope(PMIX_DEL_INTERNAL) == PMIX_INTERNAL);

// Which peers a value is meant for. One key may have two values at once, one for local and one for remote peers; a
// later value replaces an earlier one for the peers that it is meant for.
using Audience = unsigned;
namespace audience {
inline constexpr Audience nobody = 0, local = 1, remote = 2, everybody = 3;
}  // namespace audience
constexpr Audience audience_of(pmix_scope_t scope) noexcept {
    return scope == PMIX_LOCAL    ? audience::local
           : scope == PMIX_REMOTE ? audience::remote
           : scope == PMIX_GLOBAL ? audience::everybody
                                  : audience::nobody;
}

// Is a value that was put with scope `has` data of the scope `asked` (PMIX_DATA_SCOPE)? What everybody may see, local
// and remote peers may see.
constexpr bool in_scope(pmix_scope_t asked, pmix_scope_t has) noexcept {
    return asked == PMIX_SCOPE_UNDEF || asked == has ||
           (has == PMIX_GLOBAL && (asked == PMIX_LOCAL || asked == PMIX_REMOTE));
}

// An answer. Most point into the segment; small computed scalars are held in place, computed lists in a string of
// their own. Not copyable: bytes() may point into the object itself.
class Found {
  public:
    Found() = default;
    Found(const Found&) = delete;
    Found& operator=(const Found&) = delete;

    // The encoded value. Valid as long as this object and the store exist, and if lendable() as long as the store
    // exists.
    common::Bytes bytes() const noexcept { return {data_, size_}; }
    // Lies in the segment and stays there, so that a pointer into it may be handed out (PMIX_GET_POINTER_VALUES).
    bool lendable() const noexcept { return lendable_; }
    // The scope it was put with; PMIX_SCOPE_UNDEF for what the host said.
    pmix_scope_t scope() const noexcept { return scope_; }
    // Whose it is: the rank that find_any_rank met, otherwise the rank or index that was asked for.
    uint32_t index() const noexcept { return index_; }

    // For the stores.
    void refer(const uint8_t* data, size_t size, pmix_scope_t scope, uint32_t index) noexcept {
        data_ = data;
        size_ = size;
        scope_ = scope;
        index_ = index;
        lendable_ = true;
    }
    // An encoded scalar: type, then the low bytes of value.
    void compute(uint16_t type, uint64_t value, size_t width, uint32_t index) noexcept {
        common::store_le<uint16_t>(small_, type);
        common::store_le<uint64_t>(small_ + 2, value);
        data_ = small_;
        size_ = 2 + width;
        scope_ = PMIX_SCOPE_UNDEF;
        index_ = index;
        lendable_ = false;
    }
    std::string& spill() noexcept { return spill_; }
    void use_spill(uint32_t index) noexcept {
        data_ = reinterpret_cast<const uint8_t*>(spill_.data());
        size_ = spill_.size();
        scope_ = PMIX_SCOPE_UNDEF;
        index_ = index;
        lendable_ = false;
    }

  private:
    const uint8_t* data_ = nullptr;
    size_t size_ = 0;
    uint32_t index_ = 0;
    pmix_scope_t scope_ = PMIX_SCOPE_UNDEF;
    bool lendable_ = false;
    uint8_t small_[10] = {};
    std::string spill_;
};

}  // namespace pmix::dstore

// SPDX-License-Identifier: BSD-3-Clause
// Columns and placement, read from a segment: what is known for every rank and node without a record for each.
//
// On the stack of one look-up, like Access. Any thread. Nothing in the segment is trusted: for a reference that leads
// outside, a count that does not fit or a zero divisor the answer is "not there" or Outcome::damaged.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "dstore/access.h"
#include "dstore/columns.h"
#include "dstore/store.h"

namespace pmix::dstore {

enum class Outcome : uint8_t { hit, miss, damaged };

class PlacementView {
  public:
    explicit PlacementView(Access& access) noexcept : access_(access) {}
    // False: there is none.
    bool load(uint32_t reference) noexcept;

    uint32_t nodes() const noexcept { return nodes_; }
    std::optional<uint32_t> node_of(uint32_t rank) noexcept;
    std::optional<uint32_t> local_rank(uint32_t rank) noexcept;
    uint32_t count_on(uint32_t node) noexcept;
    std::optional<uint32_t> rank_on(uint32_t node, uint32_t i) noexcept;
    std::optional<uint32_t> id_of(uint32_t node) noexcept;
    std::optional<uint32_t> by_id(uint32_t id) noexcept;
    std::optional<uint32_t> by_name(std::string_view name) noexcept;
    // The name as an encoded string; false: none.
    bool name(uint32_t node, RecordView& record) noexcept;
    std::optional<uint32_t> app_of(uint32_t rank, AppRange* range) noexcept;
    std::optional<AppRange> app(uint32_t number) noexcept;
    uint32_t rank_limit() const noexcept { return rank_limit_; }

  private:
    const uint8_t* array(size_t field, uint64_t bytes) noexcept {
        const uint32_t reference = layout::get32(at_ + field);
        return reference == 0 ? nullptr : access_.ref(reference, bytes);
    }
    // Ranks of a node, [*from, *to), as places in the list or as ranks themselves.
    bool range(uint32_t node, uint32_t* from, uint32_t* to) noexcept;

    Access& access_;
    const uint8_t* at_ = nullptr;
    uint32_t nodes_ = 0;
    uint32_t ranks_ = 0;
    uint32_t rank_limit_ = 0;
    uint32_t form_ = 0;
    uint32_t block_ = 0;
};

// The characters of an encoded string.
std::string_view text_of(const RecordView& record) noexcept;

class Catalog {
  public:
    explicit Catalog(Access& access) noexcept : access_(access) {}
    // False: there is none, or it is damaged.
    bool load() noexcept;

    uint32_t placement() const noexcept { return placement_; }
    uint32_t columns(OwnerKind kind) const noexcept {
        return kind == OwnerKind::proc ? proc_ : kind == OwnerKind::node ? node_ : 0;
    }
    // Which column of this kind has the key; columns(kind): none.
    uint32_t column_of(OwnerKind kind, const Key& key) noexcept;
    // The i-th column of this kind, i < columns(kind).
    const uint8_t* column(OwnerKind kind, uint32_t i) const noexcept {
        return columns_ + layout::kColumnSize * (kind == OwnerKind::proc ? i : proc_ + i);
    }
    bool key_of(const uint8_t* column, RecordView& record) noexcept;
    // True if the column's arrays are inside the segment. To be called before a walk over all indices.
    bool sound(const uint8_t* column) noexcept;
    // A value of its own for this index?
    bool has_own(const uint8_t* column, uint32_t index) noexcept;
    Outcome value(const uint8_t* column, Owner owner, Found& found);
    // Only what was given, not what is computed.
    Outcome own_value(const uint8_t* column, uint32_t index, Found& found) noexcept;

  private:
    Outcome compute(const uint8_t* column, Owner owner, Found& found);

    Access& access_;
    const uint8_t* hashes_ = nullptr;
    const uint8_t* columns_ = nullptr;
    uint32_t proc_ = 0;
    uint32_t node_ = 0;
    uint32_t placement_ = 0;
};

}  // namespace pmix::dstore

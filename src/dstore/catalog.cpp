// SPDX-License-Identifier: BSD-3-Clause
#include "dstore/catalog.h"

#include <charconv>

#include "common/codec/pack.h"

namespace pmix::dstore {

using namespace layout;

// ---- Placement
// --------------------------------------------------------------------------------------------------------

namespace {
constexpr uint32_t form_number(common::ProcMap::Form form) noexcept {
    return static_cast<uint32_t>(form) + 1;
}
constexpr uint32_t kRegular = form_number(common::ProcMap::Form::regular);
constexpr uint32_t kContiguous = form_number(common::ProcMap::Form::contiguous);
constexpr uint32_t kListed = form_number(common::ProcMap::Form::listed);
}  // namespace

bool PlacementView::load(uint32_t reference) noexcept {
    if (reference == 0) return false;
    at_ = access_.ref(reference, kPlacementSize);
    if (at_ == nullptr) return false;
    nodes_ = get32(at_ + kPlcNodes);
    ranks_ = get32(at_ + kPlcRanks);
    rank_limit_ = get32(at_ + kPlcRankLimit);
    form_ = get32(at_ + kPlcForm);
    block_ = get32(at_ + kPlcBlock);
    // More than any map has: a damaged one, which must not keep anybody busy.
    if (nodes_ > common::kMaxMapNodes || ranks_ > common::kMaxMapRanks || rank_limit_ > common::kMaxMapRanks)
        return false;
    if (nodes_ == 0 || block_ == 0) form_ = 0;
    const uint8_t* starts = form_ == kContiguous ? array(kPlcStarts, uint64_t{4} * nodes_ + 4) : nullptr;
    if (form_ == kRegular) return rank_limit_ == ranks_;
    if (form_ == kContiguous) return starts != nullptr && get32(starts + 4 * size_t{nodes_}) == rank_limit_;
    if (form_ == kListed) return array(kPlcNodeOf, uint64_t{4} * rank_limit_) != nullptr;
    return true;
}

std::optional<uint32_t> PlacementView::node_of(uint32_t rank) noexcept {
    if (rank >= rank_limit_) return std::nullopt;
    if (form_ == kRegular) return rank / block_ % nodes_;
    if (form_ == kContiguous) {
        const uint8_t* starts = array(kPlcStarts, uint64_t{4} * nodes_ + 4);
        if (starts == nullptr) return std::nullopt;
        // The last node that starts at or before the rank and is not empty.
        uint32_t low = 0;
        uint32_t high = nodes_;
        while (low < high) {
            const uint32_t middle = low + (high - low) / 2;
            if (get32(starts + 4 * (size_t{middle} + 1)) <= rank) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        if (low < nodes_) return low;
        return std::nullopt;
    }
    if (form_ == kListed) {
        const uint8_t* node = array(kPlcNodeOf, uint64_t{4} * rank_limit_);
        if (node == nullptr) return std::nullopt;
        const uint32_t n = get32(node + 4 * size_t{rank});
        if (n < nodes_) return n;
    }
    return std::nullopt;
}

bool PlacementView::range(uint32_t node, uint32_t* from, uint32_t* to) noexcept {
    if (node >= nodes_) return false;
    const uint8_t* starts = array(kPlcStarts, uint64_t{4} * nodes_ + 4);
    if (starts == nullptr) return false;
    *from = get32(starts + 4 * size_t{node});
    *to = get32(starts + 4 * (size_t{node} + 1));
    return *from <= *to && *to <= ranks_;
}

std::optional<uint32_t> PlacementView::local_rank(uint32_t rank) noexcept {
    const std::optional<uint32_t> node = node_of(rank);
    if (!node) return std::nullopt;
    if (form_ == kRegular) {
        return static_cast<uint32_t>(rank / (uint64_t{block_} * nodes_) * block_ + rank % block_);
    }
    uint32_t low = 0;
    uint32_t high = 0;
    if (!range(*node, &low, &high)) return std::nullopt;
    const uint32_t from = low;
    if (form_ == kContiguous) return rank - from;
    const uint8_t* list = array(kPlcList, uint64_t{4} * ranks_);
    if (list == nullptr) return std::nullopt;
    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;
        const uint32_t there = get32(list + 4 * size_t{middle});
        if (there == rank) return middle - from;
        if (there < rank) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return std::nullopt;
}

uint32_t PlacementView::count_on(uint32_t node) noexcept {
    if (node >= nodes_ || form_ == 0) return 0;
    if (form_ == kRegular) {
        const uint64_t round = uint64_t{block_} * nodes_;
        const uint64_t rest = ranks_ % round;
        const uint64_t before = uint64_t{block_} * node;
        const uint64_t last = rest <= before ? 0 : rest - before < block_ ? rest - before : block_;
        return static_cast<uint32_t>(ranks_ / round * block_ + last);
    }
    uint32_t from = 0;
    uint32_t to = 0;
    return range(node, &from, &to) ? to - from : 0;
}

std::optional<uint32_t> PlacementView::rank_on(uint32_t node, uint32_t i) noexcept {
    if (i >= count_on(node)) return std::nullopt;
    if (form_ == kRegular) {
        return static_cast<uint32_t>(i / block_ * uint64_t{block_} * nodes_ + uint64_t{node} * block_ + i % block_);
    }
    uint32_t from = 0;
    uint32_t to = 0;
    if (!range(node, &from, &to)) return std::nullopt;
    if (form_ == kContiguous) return from + i;
    const uint8_t* list = array(kPlcList, uint64_t{4} * ranks_);
    if (list == nullptr) return std::nullopt;
    return get32(list + 4 * (size_t{from} + i));
}

std::optional<uint32_t> PlacementView::id_of(uint32_t node) noexcept {
    if (node >= nodes_) return std::nullopt;
    if (get32(at_ + kPlcIds) == 0) return node;
    const uint8_t* ids = array(kPlcIds, uint64_t{4} * nodes_);
    if (ids == nullptr) return std::nullopt;
    return get32(ids + 4 * size_t{node});
}

std::optional<uint32_t> PlacementView::by_id(uint32_t id) noexcept {
    if (get32(at_ + kPlcIds) == 0) return id < nodes_ ? std::optional(id) : std::nullopt;
    const uint32_t slots = get32(at_ + kPlcIdSlots);
    const uint8_t* table = array(kPlcIdTable, kIdSlot * slots);
    if (table == nullptr || slots == 0 || (slots & (slots - 1)) != 0) return std::nullopt;
    for (uint32_t n = 0, s = id * 0x9e3779b1u & (slots - 1); n < slots; ++n, s = (s + 1) & (slots - 1)) {
        const uint8_t* slot = table + kIdSlot * s;
        const uint32_t node = get32(slot + 4);
        if (node == 0) break;
        if (get32(slot) == id) return node - 1;
    }
    return std::nullopt;
}

std::optional<uint32_t> PlacementView::by_name(std::string_view name) noexcept {
    const uint32_t slots = get32(at_ + kPlcNameSlots);
    const uint8_t* table = array(kPlcNameTable, kNameSlot * slots);
    if (table == nullptr || slots == 0 || (slots & (slots - 1)) != 0) return std::nullopt;
    const uint32_t hash = hash_key(name);
    for (uint32_t n = 0, s = hash & (slots - 1); n < slots; ++n, s = (s + 1) & (slots - 1)) {
        const uint8_t* slot = table + kNameSlot * s;
        const uint32_t node = get32(slot + 4);
        if (node == 0) break;
        if (get32(slot) != hash) continue;
        RecordView record;
        if (!record.load(access_, get32(slot + 8))) break;
        if (text_of(record) == name) return node - 1;
    }
    return std::nullopt;
}

bool PlacementView::name(uint32_t node, RecordView& record) noexcept {
    if (node >= nodes_) return false;
    const uint8_t* names = array(kPlcNames, uint64_t{4} * nodes_);
    return names != nullptr && record.load(access_, get32(names + 4 * size_t{node})) && record.length > 0;
}

std::optional<uint32_t> PlacementView::app_of(uint32_t rank, AppRange* range) noexcept {
    const uint32_t n = get32(at_ + kPlcApps);
    const uint8_t* apps = array(kPlcAppTable, uint64_t{8} * n);
    if (apps == nullptr) return std::nullopt;
    for (uint32_t i = 0; i < n; ++i) {
        const AppRange a{get32(apps + 8 * size_t{i}), get32(apps + 8 * size_t{i} + 4)};
        if (rank >= a.first && rank - a.first < a.size) {
            *range = a;
            return i;
        }
    }
    return std::nullopt;
}

std::optional<AppRange> PlacementView::app(uint32_t number) noexcept {
    const uint32_t n = get32(at_ + kPlcApps);
    const uint8_t* apps = array(kPlcAppTable, uint64_t{8} * n);
    if (apps == nullptr || number >= n) return std::nullopt;
    return AppRange{get32(apps + 8 * size_t{number}), get32(apps + 8 * size_t{number} + 4)};
}

std::string_view text_of(const RecordView& record) noexcept {
    if (record.length <= common::kBytesOffset) return {};
    std::string_view text{reinterpret_cast<const char*>(record.value) + common::kBytesOffset,
                          record.length - common::kBytesOffset};
    return text.substr(0, text.find('\0'));
}

// ---- Columns
// ----------------------------------------------------------------------------------------------------------

bool Catalog::load() noexcept {
    const uint8_t* h = access_.header();
    if (h == nullptr) return false;
    const uint32_t reference = load_ref(h + kHdrCatalog);
    if (reference == 0) return false;
    const uint8_t* c = access_.ref(reference, kCatHashes);
    if (c == nullptr) return false;
    const uint32_t proc = get32(c + kCatProcColumns);
    const uint32_t node = get32(c + kCatNodeColumns);
    if (proc > kMaxColumns || node > kMaxColumns) return false;
    const uint64_t hashes = padded(uint64_t{4} * (proc + node));
    c = access_.ref(reference, kCatHashes + hashes + kColumnSize * (proc + node));
    if (c == nullptr) return false;
    hashes_ = c + kCatHashes;
    columns_ = hashes_ + hashes;
    proc_ = proc;
    node_ = node;
    placement_ = get32(c + kCatPlacement);
    return true;
}

bool Catalog::key_of(const uint8_t* column, RecordView& record) noexcept {
    const uint32_t reference = get32(column + kColKey);
    return reference != 0 && record.load_key(access_, reference);
}

uint32_t Catalog::column_of(OwnerKind kind, const Key& key) noexcept {
    const uint32_t n = columns(kind);
    const uint8_t* hash = hashes_ + 4 * size_t{kind == OwnerKind::proc ? 0 : proc_};
    for (uint32_t i = 0; i < n; ++i) {
        if (get32(hash + 4 * size_t{i}) != key.hash()) continue;
        RecordView record;
        if (!key_of(column(kind, i), record)) return n;
        if (record.key == key.name()) return i;
    }
    return n;
}

bool Catalog::sound(const uint8_t* column) noexcept {
    const uint64_t limit = get32(column + kColLimit);
    const uint32_t valid = get32(column + kColValid);
    return limit <= common::kMaxMapRanks && (valid == 0 || access_.ref(valid, (limit + 7) / 8) != nullptr) &&
           access_.ref(get32(column + kColElements), column[kColWidth] * limit) != nullptr;
}

bool Catalog::has_own(const uint8_t* column, uint32_t index) noexcept {
    const uint32_t limit = get32(column + kColLimit);
    if (column[kColForm] == 0 || index >= limit || limit > common::kMaxMapRanks) return false;
    const uint32_t valid = get32(column + kColValid);
    if (valid == 0) return true;
    const uint8_t* bits = access_.ref(valid, (uint64_t{limit} + 7) / 8);
    return bits != nullptr && (bits[index / 8] >> index % 8 & 1) != 0;
}

Outcome Catalog::own_value(const uint8_t* column, uint32_t index, Found& found) noexcept {
    if (!has_own(column, index)) return Outcome::miss;
    const uint8_t width = column[kColWidth];
    const uint8_t payload = column[kColPayload];
    uint64_t number = 0;
    if (width != 0) {
        const uint8_t* elements =
            access_.ref(get32(column + kColElements), uint64_t{width} * get32(column + kColLimit));
        if (elements == nullptr || get32(column + kColElements) == 0) return Outcome::damaged;
        const uint8_t* e = elements + uint64_t{width} * index;
        switch (width) {
            case 1:
                number = *e;
                break;
            case 2:
                number = get16(e);
                break;
            case 4:
                number = get32(e);
                break;
            case 8:
                number = get64(e);
                break;
            default:
                return Outcome::damaged;
        }
    }
    uint64_t base = get64(column + kColBase);
    switch (static_cast<ColumnData::Form>(column[kColForm])) {
        case ColumnData::Form::affine:
            base += index;
            [[fallthrough]];
        case ColumnData::Form::constant:
        case ColumnData::Form::numbers:
            if (payload > 8) return Outcome::damaged;
            found.compute(get16(column + kColType), base + number, payload, index);
            return Outcome::hit;
        case ColumnData::Form::interned: {
            const uint32_t values = get32(column + kColNValues);
            const uint32_t table = get32(column + kColValues);
            const uint8_t* refs = access_.ref(table, uint64_t{4} * values);
            RecordView record;
            if (refs == nullptr || table == 0 || number >= values || !record.load(access_, get32(refs + 4 * number))) {
                return Outcome::damaged;
            }
            found.refer(record.value, record.length, PMIX_SCOPE_UNDEF, index);
            return Outcome::hit;
        }
        case ColumnData::Form::computed:
            break;
    }
    return Outcome::damaged;
}

Outcome Catalog::value(const uint8_t* column, Owner owner, Found& found) {
    const Outcome own = own_value(column, owner.index, found);
    if (own != Outcome::miss || column[kColFunction] == 0) return own;
    return compute(column, owner, found);
}

Outcome Catalog::compute(const uint8_t* column, Owner owner, Found& found) {
    PlacementView placement(access_);
    if (!placement.load(placement_)) return Outcome::miss;
    const uint32_t index = owner.index;
    const uint16_t type = get16(column + kColFnType);
    const uint8_t payload = column[kColFnPayload];
    if (payload > 8) return Outcome::damaged;
    auto scalar = [&](std::optional<uint32_t> number) {
        if (!number) return Outcome::miss;
        found.compute(type, *number, payload, index);
        return Outcome::hit;
    };
    const auto function = static_cast<Computed>(column[kColFunction]);
    // Facts of the rank itself.
    if (owner.kind == OwnerKind::proc) {
        AppRange range;
        std::optional<uint32_t> app;
        switch (function) {
            case Computed::rank:
                if (index >= placement.rank_limit()) return Outcome::miss;
                return scalar(index);
            case Computed::local_rank:
                return scalar(placement.local_rank(index));
            case Computed::app_number:
                return scalar(placement.app_of(index, &range));
            case Computed::app_rank:
                app = placement.app_of(index, &range);
                return app ? scalar(index - range.first) : Outcome::miss;
            case Computed::app_leader:
                app = placement.app_of(index, &range);
                return app ? scalar(range.first) : Outcome::miss;
            default:
                break;
        }
    }
    // Facts of the node, the rank's or this one.
    const std::optional<uint32_t> node =
        owner.kind == OwnerKind::proc ? placement.node_of(index) : std::optional<uint32_t>(index);
    if (!node || *node >= placement.nodes()) return Outcome::miss;
    switch (function) {
        case Computed::node_id:
            return scalar(placement.id_of(*node));
        case Computed::node_index:
            return scalar(*node);
        case Computed::node_name: {
            RecordView record;
            // A node that was registered by its number only has no name.
            if (!placement.name(*node, record) || text_of(record).empty()) return Outcome::miss;
            found.refer(record.value, record.length, PMIX_SCOPE_UNDEF, index);
            return Outcome::hit;
        }
        case Computed::local_size:
            return scalar(placement.count_on(*node));
        case Computed::local_leader:
            return scalar(placement.rank_on(*node, 0));
        case Computed::local_peers: {
            const uint32_t n = placement.count_on(*node);
            if (n == 0) return Outcome::miss;
            std::string text;
            char digits[12];
            for (uint32_t i = 0; i < n; ++i) {
                const std::optional<uint32_t> rank = placement.rank_on(*node, i);
                if (!rank) return Outcome::damaged;
                if (i != 0) text.push_back(',');
                const auto end = std::to_chars(digits, digits + sizeof digits, *rank);
                text.append(digits, end.ptr);
            }
            common::ByteWriter encoded(text.size() + 8);
            common::encode_string_value(encoded, text);
            found.spill().assign(reinterpret_cast<const char*>(encoded.data()), encoded.size());
            found.use_spill(index);
            return Outcome::hit;
        }
        default:
            return Outcome::miss;
    }
}

}  // namespace pmix::dstore

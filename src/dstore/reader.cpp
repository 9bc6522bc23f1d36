// SPDX-License-Identifier: BSD-3-Clause
#include "dstore/reader.h"

#include <algorithm>
#include <new>

#include "dstore/access.h"
#include "dstore/catalog.h"

namespace pmix::dstore {

using namespace layout;

namespace {

constexpr pmix_status_t kDamaged = PMIX_ERR_UNPACK_FAILURE;

// Tells in which of several places a value was found: the unit of a record, or a column.
constexpr uint64_t kColumnSource = 1ull << 63;

Outcome find_in_chain(Access& access, Owner owner, const Key& key, Found& found, uint64_t* source) noexcept {
    bool ok = true;
    uint32_t reference = access.newest(owner, &ok);
    if (reference == 0) return ok ? Outcome::miss : Outcome::damaged;
    const uint32_t newest = reference;
    for (unsigned steps = 0; steps < kChainBound; ++steps) {
        Block block;
        if (!block.load(access, reference)) return Outcome::damaged;
        const uint32_t n = block.count();
        unsigned equal = 0;
        for (uint32_t i = block.lower_bound(key.hash()); i < n && block.hash(i) == key.hash(); ++i) {
            RecordView record;
            const uint64_t unit = block.record(i);
            if (!record.load(access, unit) || ++equal > kEqualHashBound) return Outcome::damaged;
            if (record.key != key.name()) continue;
            if (is_deleted(record.value, record.length)) [[unlikely]]
                return Outcome::miss;
            found.refer(record.value, record.length, record.scope, owner.index);
            *source = unit;
            access.prefetch_neighbour(unit - newest);
            return Outcome::hit;
        }
        const uint32_t prev = block.prev();
        if (prev == 0) return Outcome::miss;
        // Older lies in front: a loop cannot be.
        if (prev >= reference) return Outcome::damaged;
        reference = prev;
    }
    return Outcome::damaged;
}

Outcome find_in_columns(Access& access, Owner owner, const Key& key, Found& found, uint64_t* source) {
    Catalog catalog(access);
    if (!catalog.load()) return Outcome::miss;
    const uint32_t i = catalog.column_of(owner.kind, key);
    if (i == catalog.columns(owner.kind)) return Outcome::miss;
    *source = kColumnSource | i;
    return catalog.value(catalog.column(owner.kind, i), owner, found);
}

Outcome locate(Access& access, Owner owner, const Key& key, Found& found, uint64_t* source) {
    Outcome o;
    switch (owner.kind) {
        case OwnerKind::proc:
            // For reserved keys, data provided by the host takes precedence over what the process has put.
            if (!key.reserved()) {
                o = find_in_chain(access, owner, key, found, source);
                if (o != Outcome::miss) return o;
            }
            o = find_in_chain(access, Owner::proc_info(owner.index), key, found, source);
            if (o == Outcome::miss) o = find_in_columns(access, owner, key, found, source);
            if (o == Outcome::miss && key.reserved()) o = find_in_chain(access, owner, key, found, source);
            return o;
        case OwnerKind::node:
            o = find_in_chain(access, owner, key, found, source);
            return o == Outcome::miss ? find_in_columns(access, owner, key, found, source) : o;
        default:
            return find_in_chain(access, owner, key, found, source);
    }
}

pmix_status_t status_of(Outcome o) noexcept {
    switch (o) {
        case Outcome::hit:
            return PMIX_SUCCESS;
        case Outcome::miss:
            return PMIX_ERR_NOT_FOUND;
        default:
            return kDamaged;
    }
}

// Calls fn(index) for every index of a kind that has a block, ascending, until it answers true. False: damaged.
template <class F>
bool for_each_index(Access& access, OwnerKind kind, uint64_t end, F&& fn) {
    const uint8_t* h = access.header();
    if (h == nullptr) return true;
    const auto k = static_cast<size_t>(kind);
    // At most as many tables as fit into the readable bytes: a circle of references ends here. The size is read again
    // each time, because the writer adds tables meanwhile.
    uint64_t tables = 0;
    auto too_many = [&] { return ++tables > access.readable() / (4 * kLeafEntries) + 1; };
    auto leaf_at = [&](uint32_t leaf, uint64_t first, bool* stop) {
        if (leaf == 0) return true;
        if (too_many()) return false;
        const uint8_t* l = access.ref(leaf, uint64_t{4} * kLeafEntries);
        if (l == nullptr) return false;
        for (uint32_t i = 0; i < kLeafEntries && first + i < end && !*stop; ++i) {
            if (load_ref(l + 4 * i) != 0) *stop = fn(static_cast<uint32_t>(first + i));
        }
        return true;
    };
    bool stop = false;
    if (!leaf_at(load_ref(h + kHdrLeaf + 4 * k), 0, &stop)) return false;
    const uint32_t root = load_ref(h + kHdrRoot + 4 * k);
    if (root == 0 || stop) return true;
    const uint8_t* r = access.ref(root, uint64_t{4} * kRootEntries);
    if (r == nullptr) return false;
    for (uint64_t i = 0; i < kRootEntries && !stop; ++i) {
        const uint64_t first = i << (kLeafBits + kMiddleBits);
        if (first >= end) break;
        const uint32_t middle = load_ref(r + 4 * i);
        if (middle == 0) continue;
        if (too_many()) return false;
        const uint8_t* m = access.ref(middle, uint64_t{4} * kMiddleEntries);
        if (m == nullptr) return false;
        for (uint64_t j = 0; j < kMiddleEntries && !stop; ++j) {
            if (!leaf_at(load_ref(m + 4 * j), first + (j << kLeafBits), &stop)) return false;
        }
    }
    return true;
}

}  // namespace

common::Result<std::unique_ptr<Reader>> Reader::open(int descriptor) {
    common::Result<std::unique_ptr<Mapping>> mapping = Mapping::take_over(descriptor);
    if (!mapping.ok()) return mapping.status();
    return std::unique_ptr<Reader>(new Reader(std::move(mapping).value()));
}

pmix_status_t Reader::find(Owner owner, const Key& key, Found& found) const noexcept {
    try {
        Access access(*mapping_);
        uint64_t source = 0;
        return status_of(locate(access, owner, key, found, &source));
    } catch (const std::bad_alloc&) {
        return PMIX_ERR_NOMEM;
    }
}

pmix_status_t Reader::find_any_rank(const Key& key, Found& found) const noexcept {
    try {
        Access access(*mapping_);
        uint64_t source = 0;
        uint64_t end = 1ull << 32;  // ranks from here on are of no interest any more
        bool hit = false;
        bool damaged = false;
        auto look = [&](uint32_t rank) {
            Found there;
            const Outcome o = locate(access, Owner::proc(rank), key, there, &source);
            damaged = o == Outcome::damaged;
            if (o == Outcome::hit) {
                hit = true;
                end = rank;
            }
            return hit || damaged;
        };
        // The lowest rank with a record, then the lowest one with a column's value if that is lower still.
        if (!for_each_index(access, OwnerKind::proc, end, look) || damaged) return kDamaged;
        hit = false;
        if (!for_each_index(access, OwnerKind::proc_info, end, look) || damaged) return kDamaged;
        Catalog catalog(access);
        if (catalog.load()) {
            const uint32_t i = catalog.column_of(OwnerKind::proc, key);
            if (i != catalog.columns(OwnerKind::proc)) {
                const uint8_t* column = catalog.column(OwnerKind::proc, i);
                PlacementView placement(access);
                if (!catalog.sound(column)) return kDamaged;
                uint64_t limit = get32(column + kColLimit);
                if (column[kColFunction] != 0 && placement.load(catalog.placement())) {
                    limit = std::max<uint64_t>(limit, placement.rank_limit());
                }
                limit = std::min<uint64_t>(limit, common::kMaxMapRanks);
                for (uint64_t rank = 0; rank < limit && rank < end; ++rank) {
                    Found there;
                    const Outcome o = catalog.value(column, Owner::proc(static_cast<uint32_t>(rank)), there);
                    if (o == Outcome::damaged) return kDamaged;
                    if (o == Outcome::hit) end = rank;
                }
            }
        }
        if (end == 1ull << 32) return PMIX_ERR_NOT_FOUND;
        return status_of(locate(access, Owner::proc(static_cast<uint32_t>(end)), key, found, &source));
    } catch (const std::bad_alloc&) {
        return PMIX_ERR_NOMEM;
    }
}

// Every place that may hold keys of the owner is walked, and a key is told only from the place where find() would have
// met it: each key once, with the value that counts, and no memory for what was told already.
pmix_status_t Reader::visit(Owner owner, Visit call, void* context) const {
    Access access(*mapping_);
    bool damaged = false;
    bool any = false;
    auto offer = [&](std::string_view name, uint64_t place) {
        const Key key(name);
        Found found;
        uint64_t source = 0;
        const Outcome o = locate(access, owner, key, found, &source);
        if (o == Outcome::damaged) damaged = true;
        if (o != Outcome::hit || source != place) return;
        any = true;
        call(context, name, found);
    };
    auto walk_chain = [&](Owner of) {
        bool ok = true;
        uint32_t reference = access.newest(of, &ok);
        damaged |= !ok;
        for (unsigned steps = 0; reference != 0 && !damaged; ++steps) {
            Block block;
            if (steps == kChainBound || !block.load(access, reference)) {
                damaged = true;
                return;
            }
            for (uint32_t i = 0; i < block.count() && !damaged; ++i) {
                RecordView record;
                if (!record.load(access, block.record(i))) {
                    damaged = true;
                    return;
                }
                offer(record.key, block.record(i));
            }
            const uint32_t prev = block.prev();
            damaged |= prev >= reference;
            reference = prev;
        }
    };
    walk_chain(owner);
    if (owner.kind == OwnerKind::proc) walk_chain(Owner::proc_info(owner.index));
    Catalog catalog(access);
    if (!damaged && catalog.load()) {
        for (uint32_t i = 0; i < catalog.columns(owner.kind) && !damaged; ++i) {
            RecordView key;
            if (!catalog.key_of(catalog.column(owner.kind, i), key)) {
                damaged = true;
                break;
            }
            offer(key.key, kColumnSource | i);
        }
    }
    return damaged ? kDamaged : any ? PMIX_SUCCESS : PMIX_ERR_NOT_FOUND;
}

uint64_t Reader::publications() const noexcept {
    Access access(*mapping_);
    const uint8_t* h = access.header();
    return h == nullptr ? 0 : load_word(h + kHdrPublications);
}

uint64_t Reader::generation_of(common::Rank rank) const noexcept {
    Access access(*mapping_);
    bool ok = true;
    uint32_t reference = access.newest(Owner::proc(rank), &ok);
    for (unsigned steps = 0; reference != 0 && steps < kChainBound; ++steps) {
        Block block;
        if (!block.load(access, reference)) return 0;
        if ((block.flags() & kFlagGap) == 0) return block.base();
        if (block.prev() >= reference) return 0;
        reference = block.prev();
    }
    return 0;
}

bool Reader::has_commits(common::Rank rank) const noexcept {
    Access access(*mapping_);
    bool ok = true;
    return access.newest(Owner::proc(rank), &ok) != 0;
}

namespace {

template <class F>
auto with_placement(Mapping& mapping, F&& fn) noexcept {
    using R = decltype(fn(std::declval<PlacementView&>()));
    Access access(mapping);
    Catalog catalog(access);
    PlacementView placement(access);
    if (!catalog.load() || !placement.load(catalog.placement())) return R{};
    return fn(placement);
}

}  // namespace

uint32_t Reader::nodes() const noexcept {
    return with_placement(*mapping_, [](PlacementView& p) { return p.nodes(); });
}
std::optional<uint32_t> Reader::node_of(common::Rank rank) const noexcept {
    return with_placement(*mapping_, [&](PlacementView& p) { return p.node_of(rank); });
}
std::optional<uint32_t> Reader::local_rank(common::Rank rank) const noexcept {
    return with_placement(*mapping_, [&](PlacementView& p) { return p.local_rank(rank); });
}
std::optional<uint32_t> Reader::local_size(uint32_t node) const noexcept {
    return with_placement(
        *mapping_, [&](PlacementView& p) { return node < p.nodes() ? std::optional(p.count_on(node)) : std::nullopt; });
}
std::optional<common::Rank> Reader::rank_on(uint32_t node, uint32_t i) const noexcept {
    return with_placement(*mapping_, [&](PlacementView& p) { return p.rank_on(node, i); });
}
std::optional<uint32_t> Reader::node_by_name(std::string_view name) const noexcept {
    return with_placement(*mapping_, [&](PlacementView& p) { return p.by_name(name); });
}
std::optional<uint32_t> Reader::node_by_id(uint32_t id) const noexcept {
    return with_placement(*mapping_, [&](PlacementView& p) { return p.by_id(id); });
}
std::optional<uint32_t> Reader::node_id(uint32_t node) const noexcept {
    return with_placement(*mapping_, [&](PlacementView& p) { return p.id_of(node); });
}
std::string_view Reader::node_name(uint32_t node) const noexcept {
    return with_placement(*mapping_, [&](PlacementView& p) {
        RecordView record;
        return p.name(node, record) ? text_of(record) : std::string_view{};
    });
}
std::optional<uint32_t> Reader::app_of(common::Rank rank) const noexcept {
    return with_placement(*mapping_, [&](PlacementView& p) {
        AppRange range;
        return p.app_of(rank, &range);
    });
}
std::optional<AppRange> Reader::app(uint32_t number) const noexcept {
    return with_placement(*mapping_, [&](PlacementView& p) { return p.app(number); });
}

}  // namespace pmix::dstore

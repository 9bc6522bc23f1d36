// SPDX-License-Identifier: BSD-3-Clause
// Giving back what was superseded: what counts is copied into a new segment, and the old one is let go as a whole.
//
// Nothing that was published is ever written over: readers of other processes take no lock and leave no mark, and
// callers may have pointers to values, so the writer cannot tell when their bytes are free. A new segment needs no such
// proof: each reader changes to it at its own time, and the kernel frees the old one after the last has.

#include <algorithm>

#include "dstore/writer_state.h"

namespace pmix::dstore {

using namespace layout;
using common::Bytes;

namespace {

// Below this much that was superseded it is not worth anybody's while.
constexpr uint64_t kWorthLooking = 256u << 10;

}  // namespace

bool Writer::compaction_due() const noexcept {
    const State& s = *state_;
    return s.rewritten >= std::max({kWorthLooking, s.tail / 2, s.look_again_at});
}

// fn(owner, reference of its newest block), in the order of kinds and indices, as long as it answers true.
template <class F>
void Writer::State::for_each_owner(F&& fn) const {
    bool go_on = true;
    auto leaf = [&](OwnerKind kind, uint32_t table, uint64_t first) {
        for (uint32_t i = 0; table != 0 && i < kLeafEntries && go_on; ++i) {
            const uint32_t newest_block = load_ref(ref(table) + 4 * size_t{i});
            if (newest_block != 0) go_on = fn(Owner{kind, static_cast<uint32_t>(first + i)}, newest_block);
        }
    };
    for (unsigned k = 0; k < kOwnerKinds; ++k) {
        const auto kind = static_cast<OwnerKind>(k);
        leaf(kind, load_ref(at(kHdrLeaf + 4 * size_t{k})), 0);
        const uint32_t root = load_ref(at(kHdrRoot + 4 * size_t{k}));
        for (uint64_t i = 0; root != 0 && i < kRootEntries && go_on; ++i) {
            const uint32_t middle = load_ref(ref(root) + 4 * i);
            for (uint64_t j = 0; middle != 0 && j < kMiddleEntries && go_on; ++j) {
                leaf(kind, load_ref(ref(middle) + 4 * j), (i << (kLeafBits + kMiddleBits)) + (j << kLeafBits));
            }
        }
    }
}

template <class F>
pmix_status_t Writer::State::for_each_layer(uint32_t newest_block, F&& fn) const {
    const Layers layers = layers_of(newest_block);
    pmix_status_t status = layers.solid == 0 ? PMIX_SUCCESS : fn(layers.solid, 0, get64(ref(layers.solid) + kBlkBase));
    for (unsigned i = layers.gaps; i-- > 0 && status == PMIX_SUCCESS;)
        status = fn(layers.delta[i].block, layers.delta[i].behind, layers.delta[i].base);
    return status;
}

// The newest record of each key in the blocks in front of `end`, in units. Their order is that of the chain.
void Writer::State::collect(uint32_t newest_block, uint32_t end, std::vector<uint64_t>& records) const {
    records.clear();
    const bool alone = get32(ref(newest_block) + kBlkPrev) == end;
    for (uint32_t r = newest_block; r != end; r = get32(ref(r) + kBlkPrev)) {
        const uint8_t* b = ref(r);
        const uint32_t n = get32(b + kBlkCount);
        const uint64_t start = (b[kBlkFlags] & kFlagIndex) != 0 ? 0 : r;
        for (uint32_t i = 0; i < n; ++i) {
            const uint64_t unit = start + get32(b + kBlkArrays + 4 * (size_t{n} + i));
            records.push_back(unit);
        }
    }
    if (alone) return;  // a block names each key once
    struct Place {
        uint32_t hash;
        uint32_t order;
        uint64_t unit;
    };
    auto entry_of = [&](uint64_t unit) { return static_cast<uint32_t>(unit - get32(at(unit * kUnit) + kRecKeyBack)); };
    std::vector<Place> places(records.size());
    for (uint32_t i = 0; i < records.size(); ++i)
        places[i] = {get32(ref(entry_of(records[i])) + kKeyHash), i, records[i]};
    std::sort(places.begin(), places.end(),
              [](const Place& x, const Place& y) { return x.hash != y.hash ? x.hash < y.hash : x.order < y.order; });
    records.clear();
    for (size_t i = 0, run = 0; i < places.size(); ++i) {
        if (i == 0 || places[i].hash != places[i - 1].hash) run = records.size();
        const std::string_view name = key_name(entry_of(places[i].unit));
        const bool seen = std::any_of(records.begin() + static_cast<ptrdiff_t>(run), records.end(),
                                      [&](uint64_t unit) { return key_name(entry_of(unit)) == name; });
        if (!seen) records.push_back(places[i].unit);
    }
}

// What counts: the owners' newest records, and the catalog with all that it refers to. Tables and dictionary are small
// beside what a compaction is about.
uint64_t Writer::State::live_bytes() const {
    uint64_t live = catalog_bytes();
    if (const uint32_t reference = load_ref(at(kHdrCatalog)); reference != 0) {
        const uint8_t* catalog = ref(reference);
        const uint64_t n = uint64_t{get32(catalog + kCatProcColumns)} + get32(catalog + kCatNodeColumns);
        const uint8_t* first = catalog + kCatHashes + padded(4 * n);
        for (uint64_t i = 0; i < n; ++i) live += column_bytes(first + kColumnSize * i);
        live += placement_bytes(get32(catalog + kCatPlacement));
    }
    std::vector<uint64_t> records;
    auto count = [&](uint32_t block, uint32_t end, uint64_t) {
        collect(block, end, records);
        live += kBlkArrays + 8 * records.size();
        for (uint64_t unit : records) live += record_size(get32(at(unit * kUnit) + kRecLength));
        return PMIX_SUCCESS;
    };
    for_each_owner([&](Owner, uint32_t newest_block) { return for_each_layer(newest_block, count) == PMIX_SUCCESS; });
    return live;
}

pmix_status_t Writer::State::copy_owner(const State& from, Owner owner, uint32_t newest_block) {
    std::vector<uint64_t> records;
    std::vector<Item> items;
    return from.for_each_layer(newest_block, [&](uint32_t block, uint32_t end, uint64_t base) -> pmix_status_t {
        from.collect(block, end, records);
        items.clear();
        items.reserve(records.size());
        const uint8_t* b = from.ref(block);
        const bool gap = (b[kBlkFlags] & kFlagGap) != 0;
        for (uint64_t unit : records) {
            const uint8_t* r = from.at(unit * kUnit);
            // A deletion hides nothing any more, unless what is missing below it may still be received.
            if (!gap && is_deleted(r + kRecValue, get32(r + kRecLength))) continue;
            const auto entry = static_cast<uint32_t>(unit - get32(r + kRecKeyBack));
            const Key key(from.key_name(entry), get32(from.ref(entry) + kKeyHash));
            common::Result<uint32_t> mine = intern(key);
            if (!mine.ok()) return mine.status();
            items.push_back({key.hash(), static_cast<pmix_scope_t>(get16(r + kRecScope)), *mine * kUnit,
                             Bytes(r + kRecValue, get32(r + kRecLength))});
        }
        return add_block(owner, items, get64(b + kBlkGeneration), base, b[kBlkFlags] & kFlagGap);
    });
}

common::Result<uint32_t> Writer::State::copy_lone(const State& from, uint32_t reference) {
    const uint8_t* r = from.ref(reference);
    return lone_record(Bytes(r + kRecValue, get32(r + kRecLength)));
}

pmix_status_t Writer::State::copy_column(const State& from, uint8_t* column) {
    const uint64_t limit = get32(column + kColLimit);
    pmix_status_t status = PMIX_SUCCESS;
    auto keep = [&](size_t field, common::Result<uint32_t> reference) {
        if (reference.ok()) put32(column + field, *reference);
        if (!reference.ok()) status = reference.status();
    };
    const uint32_t key = get32(column + kColKey);
    keep(kColKey, intern(Key(from.key_name(key), get32(from.ref(key) + kKeyHash))));
    if (uint32_t valid = get32(column + kColValid); valid != 0)
        keep(kColValid, append(from.ref(valid), (limit + 7) / 8));
    if (uint32_t elements = get32(column + kColElements); elements != 0)
        keep(kColElements, append(from.ref(elements), column[kColWidth] * limit));
    if (uint32_t values = get32(column + kColValues); values != 0) {
        std::vector<uint32_t> copies(get32(column + kColNValues));
        for (size_t i = 0; i < copies.size(); ++i) {
            common::Result<uint32_t> copy = copy_lone(from, get32(from.ref(values) + 4 * i));
            if (!copy.ok()) return copy.status();
            copies[i] = *copy;
        }
        keep(kColValues, append_words(copies));
    }
    return status;
}

common::Result<uint32_t> Writer::State::copy_placement(const State& from, uint32_t reference) {
    uint8_t p[kPlacementSize];
    std::memcpy(p, from.ref(reference), sizeof p);
    const uint64_t nodes = get32(p + kPlcNodes);
    pmix_status_t status = PMIX_SUCCESS;
    auto copy_words = [&](size_t field, uint64_t words) {
        const uint32_t there = get32(p + field);
        if (there == 0) return;
        common::Result<uint32_t> copy = append(from.ref(there), 4 * words);
        if (copy.ok()) put32(p + field, *copy);
        if (!copy.ok()) status = copy.status();
    };
    copy_words(kPlcStarts, nodes + 1);
    copy_words(kPlcList, get32(p + kPlcRanks));
    copy_words(kPlcNodeOf, get32(p + kPlcRankLimit));
    copy_words(kPlcNames, nodes);
    copy_words(kPlcIds, nodes);
    copy_words(kPlcNameTable, uint64_t{3} * get32(p + kPlcNameSlots));
    copy_words(kPlcIdTable, uint64_t{2} * get32(p + kPlcIdSlots));
    copy_words(kPlcAppTable, uint64_t{2} * get32(p + kPlcApps));
    if (status != PMIX_SUCCESS) return status;
    // Names of nodes, and aliases, which only the table has: each is copied once, and found again by its old place.
    std::unordered_map<uint32_t, uint32_t> moved;
    auto move_name = [&](uint64_t word) {
        const uint32_t there = get32(at(word));
        if (there == 0) return;
        auto known = moved.find(there);
        if (known == moved.end()) {
            common::Result<uint32_t> copy = copy_lone(from, there);
            if (!copy.ok()) {
                status = copy.status();
                return;
            }
            known = moved.emplace(there, *copy).first;
        }
        put32(at(word), known->second);
    };
    if (const uint64_t names = get32(p + kPlcNames) * kUnit; names != 0)
        for (uint64_t i = 0; i < nodes; ++i) move_name(names + 4 * i);
    if (const uint64_t table = get32(p + kPlcNameTable) * kUnit; table != 0)
        for (uint64_t i = 0; i < get32(p + kPlcNameSlots); ++i) move_name(table + kNameSlot * i + 8);
    if (status != PMIX_SUCCESS) return status;
    return append(p, sizeof p);
}

pmix_status_t Writer::State::copy_catalog(const State& from) {
    const uint32_t reference = load_ref(from.at(kHdrCatalog));
    if (reference == 0) return PMIX_SUCCESS;
    const uint8_t* c = from.ref(reference);
    const uint32_t proc_columns = get32(c + kCatProcColumns);
    const uint32_t n = proc_columns + get32(c + kCatNodeColumns);
    const uint8_t* first = c + kCatHashes + padded(uint64_t{4} * n);
    std::vector<std::vector<uint8_t>> columns;
    for (uint32_t i = 0; i < n; ++i) {
        columns.emplace_back(first + kColumnSize * i, first + kColumnSize * (i + 1));
        if (pmix_status_t rc = copy_column(from, columns.back().data()); rc != PMIX_SUCCESS) return rc;
    }
    uint32_t placement = get32(c + kCatPlacement);
    if (placement != 0) {
        common::Result<uint32_t> copy = copy_placement(from, placement);
        if (!copy.ok()) return copy.status();
        placement = *copy;
    }
    return publish_catalog(columns, proc_columns, placement);
}

// Takes over the local ranks. What they show to other nodes lies in the old segment, as far as it is global. First
// those get bytes of their own that are not in the new one, which may fail; then nothing can.
void Writer::State::take_locals(State& from) {
    auto find_again = [&](common::Rank rank, const Entry& e, RecordView* record) {
        return find_own(Owner::proc(rank), Key(e.key, e.hash), record) &&
               std::equal(e.value.begin(), e.value.end(), record->value, record->value + record->length);
    };
    const auto each = [](Local& local, auto&& fn) {
        for (std::vector<Entry>& run : local.remote) std::for_each(run.begin(), run.end(), fn);
    };
    for (auto& entry : from.locals) {
        const common::Rank rank = entry.first;
        Local& local = entry.second;
        each(local, [&](Entry& e) {
            RecordView record;
            if (e.own || find_again(rank, e, &record)) return;
            // Local peers see a newer value than other nodes do.
            std::unique_ptr<uint8_t[]> own(new uint8_t[e.key.size() + e.value.size()]);
            std::memcpy(own.get(), e.key.data(), e.key.size());
            std::memcpy(own.get() + e.key.size(), e.value.data(), e.value.size());
            e.key = {reinterpret_cast<const char*>(own.get()), e.key.size()};
            e.value = {own.get() + e.key.size(), e.value.size()};
            e.own = std::move(own);
            local.own_bytes += e.key.size() + e.value.size();
        });
    }
    for (auto& entry : from.locals) {
        const common::Rank rank = entry.first;
        Local& local = entry.second;
        each(local, [&](Entry& e) {
            RecordView record;
            if (e.own || !find_again(rank, e, &record)) return;
            e.key = record.key;
            e.value = {record.value, record.length};
        });
    }
    locals = std::move(from.locals);
}

common::Result<bool> Writer::compact() {
    State& old = *state_;
    const uint64_t live = old.live_bytes();
    if (live > old.tail / 2) {
        // Much was added to what was there, little replaced.
        old.look_again_at = 2 * old.rewritten;
        return false;
    }
    old.look_again_at = 2 * old.rewritten;  // should it fail
    common::Result<std::unique_ptr<Writer>> fresh = create(old.options);
    if (!fresh.ok()) return fresh.status();
    State& s = *(*fresh)->state_;
    pmix_status_t status = PMIX_SUCCESS;
    old.for_each_owner([&](Owner owner, uint32_t newest_block) {
        status = s.copy_owner(old, owner, newest_block);
        return status == PMIX_SUCCESS;
    });
    if (status == PMIX_SUCCESS) status = s.copy_catalog(old);
    if (status != PMIX_SUCCESS) return status;
    s.take_locals(old);
    // What counts publications goes on counting.
    store_word(s.at(kHdrPublications), load_word(old.at(kHdrPublications)) + 1);
    store_ref(s.at(kHdrRefusals), load_ref(old.at(kHdrRefusals)));
    s.rewritten = 0;
    s.counts.indexed += old.counts.indexed;
    s.counts.moved += old.counts.moved;
    // A process that still reads in the old one asks for the new one.
    store_ref(old.at(kHdrSuperseded), 1);
    // The kernel takes the old pages back when the last who maps them has let go.
    state_ = std::move((*fresh)->state_);
    return true;
}

void Writer::supersede() noexcept {
    store_ref(state_->at(kHdrSuperseded), 1);
}

void Writer::count_refusal() noexcept {
    uint8_t* count = state_->at(kHdrRefusals);
    store_ref(count, load_ref(count) + 1);
}

}  // namespace pmix::dstore

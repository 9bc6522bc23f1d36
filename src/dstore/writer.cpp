// SPDX-License-Identifier: BSD-3-Clause
#include "dstore/writer.h"

#include <algorithm>
#include <cassert>
#include <iterator>

#include "dstore/contribution.h"
#include "dstore/keyed_hash.h"
#include "dstore/writer_state.h"

namespace pmix::dstore {

using namespace layout;
using common::Bytes;

namespace {

// From here on one system call costs less than the page faults that it saves.
constexpr uint64_t kWorthPreparing = 32u << 10;

// A block stays out of an index of newer ones if it has so many records, and so many times as many as they have. With
// chains of kMaxChain a record is then indexed about a hundred times at the most, where an owner has a million.
constexpr uint64_t kManyRecords = 1024;
constexpr uint64_t kMuchLarger = 16;

// Address space for a job: enough that the segment is rarely mapped twice, little enough for thousands of jobs.
uint64_t default_reservation(uint32_t job_size) noexcept {
    return std::min<uint64_t>((uint64_t{64} << 20) + uint64_t{job_size} * (256u << 10), uint64_t{16} << 30);
}

}  // namespace

// ---- Space
// ------------------------------------------------------------------------------------------------------------

common::Result<uint64_t> Writer::State::allocate(uint64_t bytes) {
    assert(tail % kUnit == 0 && tail <= segment->size());
    const uint64_t size = padded(bytes);
    if (size < bytes || size > kMaxSegment - tail) return PMIX_ERR_OUT_OF_RESOURCE;
    if (tail + size > segment->size()) {
        if (pmix_status_t rc = segment->grow(tail + size); rc != PMIX_SUCCESS) return rc;
    }
    assert(size <= segment->size() - tail);
    const uint64_t at = tail;
    tail += size;
    if (size >= kWorthPreparing) segment->prepare(at, size);
    return at;
}

common::Result<std::unique_ptr<Writer>> Writer::create(const WriterOptions& options) {
    std::unique_ptr<Writer> w(new Writer);
    State& s = *w->state_;
    s.options = options;
    const uint64_t reservation = options.reservation != 0 ? options.reservation : default_reservation(options.job_size);
    common::Result<std::unique_ptr<Segment>> segment = Segment::create(reservation);
    if (!segment.ok()) return segment.status();
    s.segment = std::move(segment).value();
    if (auto header = s.allocate(kHeaderSize); !header.ok()) return header.status();
    uint8_t* const h = s.at(0);
    put64(h + kHdrReservation, reservation);
    put64(h + kHdrOrigin, options.origin);
    put64(h + kHdrStamp, kStamp);
    put64(h + kHdrMagic, kSegmentMagic);
    s.publish_size();
    s.reader = std::make_unique<Reader>(s.segment->mapping());
    return w;
}

Writer::Writer() : state_(std::make_unique<State>()) {}
Writer::~Writer() = default;

int Writer::descriptor() const noexcept {
    return state_->segment->descriptor();
}
const Reader& Writer::reader() const noexcept {
    return *state_->reader;
}
uint64_t Writer::published_bytes() const noexcept {
    return state_->tail;
}
WriterCounts Writer::counts() const noexcept {
    return state_->counts;
}

// ---- Owner tables
// -------------------------------------------------------------------------------------------------------

// A table is published, empty, before a reference leads to it.
pmix_status_t Writer::State::reserve_entry(Owner owner) {
    auto table = [this](uint64_t slot, uint64_t entries) -> pmix_status_t {
        if (load_ref(at(slot)) != 0) return PMIX_SUCCESS;
        common::Result<uint64_t> t = allocate(4 * entries);
        if (!t.ok()) return t.status();
        publish_size();
        store_ref(at(slot), static_cast<uint32_t>(*t / kUnit));
        return PMIX_SUCCESS;
    };
    const size_t kind = static_cast<size_t>(owner.kind);
    if (owner.index < kLeafEntries) return table(kHdrLeaf + 4 * kind, kLeafEntries);
    uint64_t slot = kHdrRoot + 4 * kind;
    if (pmix_status_t rc = table(slot, kRootEntries); rc != PMIX_SUCCESS) return rc;
    slot = load_ref(at(slot)) * kUnit + 4 * (owner.index >> (kLeafBits + kMiddleBits));
    if (pmix_status_t rc = table(slot, kMiddleEntries); rc != PMIX_SUCCESS) return rc;
    slot = load_ref(at(slot)) * kUnit + 4 * (owner.index >> kLeafBits & (kMiddleEntries - 1));
    return table(slot, kLeafEntries);
}

void Writer::State::set_newest(Owner owner, uint32_t reference) noexcept {
    const size_t kind = static_cast<size_t>(owner.kind);
    uint32_t leaf;
    if (owner.index < kLeafEntries) {
        leaf = load_ref(at(kHdrLeaf + 4 * kind));
    } else {
        const uint8_t* root = ref(load_ref(at(kHdrRoot + 4 * kind)));
        const uint8_t* middle = ref(load_ref(root + 4 * (owner.index >> (kLeafBits + kMiddleBits))));
        leaf = load_ref(middle + 4 * (owner.index >> kLeafBits & (kMiddleEntries - 1)));
    }
    assert(leaf != 0 && reference != 0);
    assert(uint64_t{reference} * kUnit < load_word(at(kHdrPublished)));  // a reader may follow it at once
    store_ref(ref(leaf) + 4 * (owner.index % kLeafEntries), reference);
}

uint32_t Writer::State::newest(Owner owner) const noexcept {
    Access access(segment->mapping());
    bool ok = true;
    return access.newest(owner, &ok);
}

// ---- Keys
// ---------------------------------------------------------------------------------------------------------------

common::Result<uint32_t> Writer::State::intern(const Key& key) {
    if (!common::is_valid_key(key.name())) return PMIX_ERR_BAD_PARAM;
    const KeyedHash place;
    if ((keys + 1) * 4 > key_slots.size() * 3) {
        std::vector<uint32_t> larger(std::max<size_t>(64, key_slots.size() * 2));
        for (uint32_t reference : key_slots) {
            if (reference == 0) continue;
            size_t s = place(get32(ref(reference) + kKeyHash)) & (larger.size() - 1);
            while (larger[s] != 0) s = (s + 1) & (larger.size() - 1);
            larger[s] = reference;
        }
        key_slots = std::move(larger);
    }
    assert(std::has_single_bit(key_slots.size()) && keys < key_slots.size());  // a search ends
    size_t s = place(key.hash()) & (key_slots.size() - 1);
    for (; key_slots[s] != 0; s = (s + 1) & (key_slots.size() - 1)) {
        if (get32(ref(key_slots[s]) + kKeyHash) == key.hash() && key_name(key_slots[s]) == key.name()) {
            return key_slots[s];
        }
    }
    common::Result<uint64_t> entry = allocate(key_entry_size(key.name().size()));
    if (!entry.ok()) return entry.status();
    write_key(at(*entry), key.name().data(), key.name().size(), key.hash());
    key_slots[s] = static_cast<uint32_t>(*entry / kUnit);
    ++keys;
    return key_slots[s];
}

// ---- Blocks
// -------------------------------------------------------------------------------------------------------------

bool Writer::State::find_own(Owner owner, const Key& key, RecordView* record, unsigned* equal) noexcept {
    Access access(segment->mapping());
    bool ok = true;
    for (uint32_t reference = access.newest(owner, &ok); reference != 0;) {
        Block block;
        if (!block.load(access, reference)) return false;
        for (uint32_t i = block.lower_bound(key.hash()); i < block.count() && block.hash(i) == key.hash(); ++i) {
            if (record->load(access, block.record(i)) && record->key == key.name()) return true;
            if (equal != nullptr) ++*equal;
        }
        reference = block.prev();
    }
    return false;
}

uint64_t Writer::State::known(uint32_t reference) const noexcept {
    while (reference != 0) {
        const uint8_t* b = ref(reference);
        if ((b[kBlkFlags] & kFlagGap) == 0) return get64(b + kBlkBase);
        reference = get32(b + kBlkPrev);
    }
    return 0;
}

pmix_status_t Writer::State::add_block(Owner owner, std::vector<Item>& items, uint64_t generation, uint64_t base,
                                       uint8_t flags) {
    if (pmix_status_t rc = reserve_entry(owner); rc != PMIX_SUCCESS) return rc;
    sort_items(items);
    const uint64_t size = block_size(items);
    const uint32_t head = newest(owner);
    const uint32_t held = head == 0 ? 0 : get32(ref(head) + kBlkHeld);
    const unsigned chain = head == 0 ? 0 : ref(head)[kBlkChain];
    if (over_quota(held, size)) return PMIX_ERR_OUT_OF_RESOURCE;
    common::Result<uint64_t> block = allocate(size);
    if (!block.ok()) return block.status();

    BlockHead h;
    h.owner = owner;
    h.generation = generation;
    h.flags = flags;
    h.base = base;
    h.held = held + static_cast<uint32_t>(size / kUnit);
    h.chain = static_cast<uint8_t>(chain + 1);
    h.prev = head;
    write_block(at(0), *block, h, items);
    if (head != 0) rewritten += size;
    uint32_t first = static_cast<uint32_t>(*block / kUnit);
    if (chain + 1 > kMaxChain && flags == 0) {
        std::vector<uint32_t> blocks;
        for (uint32_t r = first; r != 0; r = get32(ref(r) + kBlkPrev)) blocks.push_back(r);
        common::Result<uint32_t> index = write_index(h, blocks, 2);
        if (!index.ok()) return index.status();
        first = *index;
    }
    assert(flags != 0 || ref(first)[kBlkChain] <= kMaxChain);
    publish_size();
    set_newest(owner, first);
    return PMIX_SUCCESS;
}

size_t Writer::State::worth_merging(std::span<const uint32_t> blocks, size_t at_least) const noexcept {
    uint64_t newer = 0;
    for (size_t n = 0; n < blocks.size(); ++n) {
        const uint64_t records = get32(ref(blocks[n]) + kBlkCount);
        if (n >= at_least && blocks.size() - n < kMaxChain && records >= kManyRecords && records / kMuchLarger >= newer)
            return n;
        newer += records;
    }
    return blocks.size();
}

common::Result<uint32_t> Writer::State::write_index(const BlockHead& head, std::span<const uint32_t> chain,
                                                    size_t at_least, uint32_t behind) {
    const std::span<const uint32_t> blocks = chain.first(worth_merging(chain, at_least));
    if (blocks.size() < chain.size()) behind = chain[blocks.size()];
    assert(!blocks.empty());
    struct Place {
        uint32_t hash;
        uint32_t order;
        uint64_t unit;
    };
    std::vector<Place> places;
    for (uint32_t b = 0; b < blocks.size(); ++b) {
        const uint8_t* p = ref(blocks[b]);
        const uint32_t n = get32(p + kBlkCount);
        const uint64_t start = (p[kBlkFlags] & kFlagIndex) != 0 ? 0 : blocks[b];
        for (uint32_t i = 0; i < n; ++i) {
            places.push_back(
                {get32(p + kBlkArrays + 4 * size_t{i}), b, start + get32(p + kBlkArrays + 4 * (size_t{n} + i))});
        }
    }
    counts.indexed += places.size();
    std::sort(places.begin(), places.end(),
              [](const Place& x, const Place& y) { return x.hash != y.hash ? x.hash < y.hash : x.order < y.order; });
    auto name = [&](const Place& p) {
        return key_name(static_cast<uint32_t>(p.unit - get32(at(p.unit * kUnit) + kRecKeyBack)));
    };
    size_t kept = 0;
    size_t run = 0;  // where the places with this hash start
    for (size_t i = 0; i < places.size(); ++i) {
        if (kept == 0 || places[kept - 1].hash != places[i].hash) run = kept;
        bool seen = false;
        for (size_t k = run; k < kept && !seen; ++k) seen = name(places[k]) == name(places[i]);
        if (!seen) places[kept++] = places[i];
    }

    const uint64_t size = kBlkArrays + 8 * kept;
    if (over_quota(head.held, size)) return PMIX_ERR_OUT_OF_RESOURCE;
    common::Result<uint64_t> block = allocate(size);
    if (!block.ok()) return block.status();
    uint8_t* hash = at(*block) + kBlkArrays;
    uint8_t* where = hash + 4 * kept;
    for (size_t i = 0; i < kept; ++i) {
        assert(places[i].unit * kUnit < tail && (i == 0 || places[i - 1].hash <= places[i].hash));
        put32(hash + 4 * i, places[i].hash);
        put32(where + 4 * i, static_cast<uint32_t>(places[i].unit));
    }
    BlockHead h = head;
    h.flags = kFlagIndex | (head.flags & kFlagGap);
    if ((head.flags & kFlagGap) != 0) h.base = get64(ref(blocks.back()) + kBlkBase);
    h.chain = static_cast<uint8_t>(1 + (behind == 0 ? 0 : ref(behind)[kBlkChain]));
    h.prev = behind;
    h.held += static_cast<uint32_t>(size / kUnit);
    write_block_head(at(*block), h, static_cast<uint32_t>(kept), size);
    rewritten += size;
    return static_cast<uint32_t>(*block / kUnit);
}

// ---- What the host says
// ---------------------------------------------------------------------------------------------------

namespace {

// Leaves the first of each key, in the order that they have.
void drop_repeated(std::vector<Item>& items) {
    if (items.size() < 2) return;
    std::vector<std::pair<uint64_t, size_t>> by_key;
    by_key.reserve(items.size());
    for (size_t i = 0; i < items.size(); ++i) by_key.emplace_back(items[i].key_at, i);
    std::sort(by_key.begin(), by_key.end());
    std::vector<bool> repeated(items.size());
    bool any = false;
    for (size_t i = 1; i < by_key.size(); ++i)
        if (by_key[i].first == by_key[i - 1].first) any = repeated[by_key[i].second] = true;
    if (!any) return;
    size_t at = 0;
    std::erase_if(items, [&](const Item&) { return repeated[at++]; });
}

}  // namespace

pmix_status_t Writer::put(Owner owner, std::span<const Record> records) {
    State& s = *state_;
    if (owner.kind == OwnerKind::proc || static_cast<size_t>(owner.kind) >= kOwnerKinds) return PMIX_ERR_BAD_PARAM;
    std::vector<Item> items;
    items.reserve(records.size());
    // From the end, so that the last one of a key counts.
    for (size_t i = records.size(); i-- > 0;) {
        const Record& r = records[i];
        const Key key(r.key);
        if (!common::is_valid_key(r.key) || r.value.size() > kMaxSegment / 2) return PMIX_ERR_BAD_PARAM;
        RecordView there;
        if (s.find_own(owner, key, &there) && there.length == r.value.size() &&
            std::equal(r.value.begin(), r.value.end(), there.value)) {
            continue;
        }
        common::Result<uint32_t> entry = s.intern(key);
        if (!entry.ok()) return entry.status();
        items.push_back({key.hash(), PMIX_SCOPE_UNDEF, *entry * kUnit, r.value});
    }
    drop_repeated(items);
    if (items.empty()) return PMIX_SUCCESS;
    const pmix_status_t rc = s.add_block(owner, items, 0, 0);
    if (rc == PMIX_SUCCESS) s.count_publication();
    return rc;
}

// ---- Local ranks
// ------------------------------------------------------------------------------------------------------------

void Writer::add_local(common::Rank rank) {
    state_->locals.try_emplace(rank);
}
bool Writer::is_local(common::Rank rank) const noexcept {
    return state_->locals.count(rank) != 0;
}

uint64_t Writer::committed(common::Rank rank) const noexcept {
    auto local = state_->locals.find(rank);
    return local == state_->locals.end() ? 0 : local->second.generation;
}

Writer::State::Entry* Writer::State::find_entry(std::vector<std::vector<Entry>>& runs, const Key& key,
                                                unsigned* equal) noexcept {
    for (std::vector<Entry>& run : runs) {
        auto e = std::lower_bound(run.begin(), run.end(), key.hash(),
                                  [](const Entry& x, uint32_t hash) { return x.hash < hash; });
        for (; e != run.end() && e->hash == key.hash(); ++e) {
            if (e->key == key.name()) return &*e;
            if (equal != nullptr) ++*equal;
        }
    }
    return nullptr;
}

// Where there is no memory nothing has changed.
void Writer::State::merge_runs(Local& local) {
    std::vector<std::vector<Entry>>& runs = local.remote;
    while (runs.size() > 1 && 2 * runs.back().size() > runs[runs.size() - 2].size()) {
        std::vector<Entry>& older = runs[runs.size() - 2];
        std::vector<Entry>& newer = runs.back();
        std::vector<Entry> merged;
        merged.reserve(older.size() + newer.size());
        std::merge(std::move_iterator(older.begin()), std::move_iterator(older.end()),
                   std::move_iterator(newer.begin()), std::move_iterator(newer.end()), std::back_inserter(merged),
                   [](const Entry& x, const Entry& y) { return x.hash < y.hash; });
        assert(merged.size() == older.size() + newer.size());
        assert(std::is_sorted(merged.begin(), merged.end(),
                              [](const Entry& x, const Entry& y) { return x.hash < y.hash; }));
        counts.moved += merged.size();
        older = std::move(merged);
        runs.pop_back();
    }
    assert(runs.size() < 2 || 2 * runs.back().size() <= runs[runs.size() - 2].size());
}

Audience Writer::State::audience_with(const Local& local, Owner owner, const Key& key) noexcept {
    RecordView record;
    const bool here = find_own(owner, key, &record) && !is_deleted(record.value, record.length);
    const Entry* e = find_entry(local.remote, key);
    const bool there = e != nullptr && !is_deleted(e->value);
    return (here ? audience::local : audience::nobody) | (there ? audience::remote : audience::nobody);
}

bool Writer::exists_outside_scope(common::Rank rank, const Key& key) const noexcept {
    auto local = state_->locals.find(rank);
    if (local == state_->locals.end()) return false;
    const State::Entry* e = State::find_entry(local->second.remote, key);
    if (e == nullptr || is_deleted(e->value)) return false;
    RecordView record;
    return e->scope == PMIX_REMOTE ||
           (state_->find_own(Owner::proc(rank), key, &record) && is_deleted(record.value, record.length));
}

bool Writer::deleted_for_remote(common::Rank rank, const Key& key) const noexcept {
    auto local = state_->locals.find(rank);
    if (local == state_->locals.end()) return false;
    const State::Entry* e = State::find_entry(local->second.remote, key);
    return e != nullptr && is_deleted(e->value);
}

namespace {

// A record of a commit, and for which peers it is left once later ones of its key are there.
struct Hashed {
    uint32_t hash;
    Audience left;
    size_t record;
};

// Leaves of each key the last record for each audience. `seen` is in order of hashes and then of records. False: more
// keys of one hash than are taken.
bool drop_replaced(std::span<const Record> records, std::vector<Hashed>& seen) {
    struct Later {
        std::string_view key;
        Audience has;
    };
    assert(std::is_sorted(seen.begin(), seen.end(), [](const Hashed& x, const Hashed& y) {
        return x.hash != y.hash ? x.hash < y.hash : x.record < y.record;
    }));
    std::vector<Later> keys;
    for (size_t begin = 0, end; begin < seen.size(); begin = end) {
        for (end = begin + 1; end < seen.size() && seen[end].hash == seen[begin].hash;) ++end;
        if (end == begin + 1) continue;
        keys.clear();
        for (size_t i = end; i-- > begin;) {
            const std::string_view key = records[seen[i].record].key;
            auto later = std::find_if(keys.begin(), keys.end(), [&](const Later& k) { return k.key == key; });
            if (later == keys.end()) {
                if (keys.size() == kMaxEqualHashes) return false;
                keys.push_back({key, audience::nobody});
                later = std::prev(keys.end());
            }
            const Audience meant_for = seen[i].left;
            seen[i].left &= ~later->has;
            later->has |= meant_for;
        }
    }
    return true;
}

}  // namespace

common::Result<uint64_t> Writer::commit(common::Rank rank, std::span<const Record> records) {
    State& s = *state_;
    auto found = s.locals.find(rank);
    if (found == s.locals.end()) return PMIX_ERR_BAD_PARAM;
    State::Local& local = found->second;
    const Owner owner = Owner::proc(rank);

    struct Change {
        size_t record;
        Key key;
    };
    std::vector<Change> changes;
    std::vector<Item> items;            // for the segment
    std::vector<size_t> global;         // changes that are items, in the order of items before sorting
    std::vector<State::Entry> entries;  // for other nodes; those of global ones are filled in at the end
    changes.reserve(records.size());
    items.reserve(records.size());
    entries.reserve(records.size());
    std::vector<Hashed> seen;
    seen.reserve(records.size());
    for (size_t i = 0; i < records.size(); ++i)
        seen.push_back({hash_key(records[i].key), audience_of(records[i].scope), i});
    std::sort(seen.begin(), seen.end(), [](const Hashed& x, const Hashed& y) {
        return x.hash != y.hash ? x.hash < y.hash : x.record < y.record;
    });
    if (!drop_replaced(records, seen)) return PMIX_ERR_OUT_OF_RESOURCE;

    uint64_t own_bytes = 0;
    for (size_t i = 0; i < seen.size(); ++i) {
        const Record& r = records[seen[i].record];
        const Key key(r.key, seen[i].hash);
        if (!common::is_valid_key(r.key) || r.value.size() < 2 || r.value.size() > UINT32_MAX - 64 ||
            (r.scope != PMIX_LOCAL && r.scope != PMIX_REMOTE && r.scope != PMIX_GLOBAL)) {
            return PMIX_ERR_BAD_PARAM;
        }
        // Of one key, later values count for the peers that they are meant for.
        Audience left = seen[i].left;
        if (left != audience::nobody && is_deleted(r.value)) left &= s.audience_with(local, owner, key);
        if (left == audience::nobody) continue;
        const pmix_scope_t scope = left == audience::everybody ? PMIX_GLOBAL
                                   : left == audience::local   ? PMIX_LOCAL
                                                               : PMIX_REMOTE;
        auto same = [&](Bytes b) { return std::equal(b.begin(), b.end(), r.value.begin(), r.value.end()); };
        unsigned equal = 0;
        const State::Entry* before = State::find_entry(local.remote, key, &equal);
        if (before == nullptr && equal >= kMaxEqualHashes) return PMIX_ERR_OUT_OF_RESOURCE;
        if (scope == PMIX_REMOTE) {
            if (before != nullptr && before->scope == PMIX_REMOTE && same(before->value)) continue;
            State::Entry e;
            e.own.reset(new uint8_t[r.key.size() + r.value.size()]);
            std::memcpy(e.own.get(), r.key.data(), r.key.size());
            std::memcpy(e.own.get() + r.key.size(), r.value.data(), r.value.size());
            e.hash = key.hash();
            e.scope = scope;
            e.key = {reinterpret_cast<const char*>(e.own.get()), r.key.size()};
            e.value = {e.own.get() + r.key.size(), r.value.size()};
            own_bytes += r.key.size() + r.value.size();
            entries.push_back(std::move(e));
            continue;
        }
        RecordView there;
        equal = 0;
        const bool known = s.find_own(owner, key, &there, &equal);
        if (!known && equal >= kMaxEqualHashes) return PMIX_ERR_OUT_OF_RESOURCE;
        if (known && there.scope == scope && same({there.value, there.length}) &&
            (scope == PMIX_LOCAL || (before != nullptr && before->scope == PMIX_GLOBAL))) {
            continue;
        }
        common::Result<uint32_t> entry = s.intern(key);
        if (!entry.ok()) return entry.status();
        items.push_back({key.hash(), scope, *entry * kUnit, r.value});
    }
    const bool first = local.generation == 0;
    if (items.empty() && entries.empty() && !first) return local.generation;
    if (s.over_quota(0, local.own_bytes + own_bytes)) return PMIX_ERR_OUT_OF_RESOURCE;
    const size_t globals = static_cast<size_t>(
        std::count_if(items.begin(), items.end(), [](const Item& x) { return x.scope == PMIX_GLOBAL; }));
    s.merge_runs(local);
    local.remote.reserve(local.remote.size() + 1);
    std::vector<State::Entry> added;
    added.reserve(entries.size() + globals);

    // An empty block says that the rank has committed.
    const uint64_t generation = local.generation + 1;
    if (!items.empty() || first) {
        if (pmix_status_t rc = s.add_block(owner, items, generation, generation); rc != PMIX_SUCCESS) return rc;
    }
    // From here on nothing fails: there is room for every entry.
    for (const Item& item : items) {
        if (item.scope != PMIX_GLOBAL) continue;
        RecordView record;
        const Key key(s.key_name(static_cast<uint32_t>(item.key_at / kUnit)), item.hash);
        if (!s.find_own(owner, key, &record)) continue;
        State::Entry e;
        e.hash = item.hash;
        e.scope = item.scope;
        e.key = record.key;
        e.value = {record.value, record.length};
        entries.push_back(std::move(e));
    }
    for (State::Entry& e : entries) {
        e.generation = generation;
        if (State::Entry* at = State::find_entry(local.remote, Key(e.key, e.hash)); at != nullptr) {
            if (at->own) local.own_bytes -= at->key.size() + at->value.size();
            *at = std::move(e);
        } else {
            added.push_back(std::move(e));
        }
    }
    if (!added.empty()) {
        std::sort(added.begin(), added.end(),
                  [](const State::Entry& x, const State::Entry& y) { return x.hash < y.hash; });
        local.remote.push_back(std::move(added));
    }
    local.own_bytes += own_bytes;
    local.generation = generation;
    s.count_publication();
    return generation;
}

common::Result<std::vector<uint8_t>> Writer::contribution(std::span<const RankSince> ranks) const {
    const State& s = *state_;
    ChunkBuilder chunk;
    for (const RankSince& r : ranks) {
        auto local = s.locals.find(r.rank);
        if (local == s.locals.end() || local->second.generation <= r.since) continue;
        chunk.begin(Owner::proc(r.rank), {local->second.generation, r.since, r.since == 0});
        for (const std::vector<State::Entry>& run : local->second.remote)
            for (const State::Entry& e : run)
                // A snapshot replaces everything, so what was deleted is only left out.
                if (e.generation > r.since && (r.since != 0 || !is_deleted(e.value)))
                    chunk.add(Key(e.key, e.hash), e.scope, e.value);
    }
    if (chunk.empty()) return std::vector<uint8_t>{};
    return chunk.finish(s.options.origin);
}

}  // namespace pmix::dstore

// SPDX-License-Identifier: BSD-3-Clause
// Columns and placement: the catalog is small and replaced as a whole, what it refers to is written once.

#include <algorithm>
#include <bit>
#include <cassert>

#include "common/codec/pack.h"
#include "dstore/writer_state.h"

namespace pmix::dstore {

using namespace layout;
using common::Bytes;

common::Result<uint32_t> Writer::State::append(const void* bytes, uint64_t size) {
    common::Result<uint64_t> place = allocate(size);
    if (!place.ok()) return place.status();
    if (size != 0) std::memcpy(at(*place), bytes, size);
    return static_cast<uint32_t>(*place / kUnit);
}

common::Result<uint32_t> Writer::State::append_words(std::span<const uint32_t> words) {
    common::Result<uint64_t> place = allocate(4 * words.size());
    if (!place.ok()) return place.status();
    uint8_t* p = at(*place);
    for (size_t i = 0; i < words.size(); ++i) put32(p + 4 * i, words[i]);
    return static_cast<uint32_t>(*place / kUnit);
}

// A value that no key belongs to: where its record would have the way back to one, there is 0.
common::Result<uint32_t> Writer::State::lone_record(Bytes value) {
    common::Result<uint64_t> place = allocate(record_size(value.size()));
    if (!place.ok()) return place.status();
    write_record(at(*place), 0, PMIX_SCOPE_UNDEF, value);
    return static_cast<uint32_t>(*place / kUnit);
}

// ---- What takes how much
// ---------------------------------------------------------------------------------------------------

uint64_t Writer::State::catalog_bytes() const noexcept {
    const uint32_t reference = load_ref(at(kHdrCatalog));
    if (reference == 0) return 0;
    const uint8_t* catalog = ref(reference);
    const uint64_t n = uint64_t{get32(catalog + kCatProcColumns)} + get32(catalog + kCatNodeColumns);
    return kCatHashes + padded(4 * n) + kColumnSize * n;
}

uint64_t Writer::State::column_bytes(const uint8_t* column) const noexcept {
    const uint64_t limit = get32(column + kColLimit);
    uint64_t bytes = 0;
    if (get32(column + kColValid) != 0) bytes += padded((limit + 7) / 8);
    if (get32(column + kColElements) != 0) bytes += padded(column[kColWidth] * limit);
    if (const uint32_t values = get32(column + kColValues); values != 0) {
        const uint64_t n = get32(column + kColNValues);
        bytes += padded(4 * n);
        for (uint64_t i = 0; i < n; ++i) bytes += record_size(get32(ref(get32(ref(values) + 4 * i)) + kRecLength));
    }
    return bytes;
}

uint64_t Writer::State::placement_bytes(uint32_t reference) const noexcept {
    if (reference == 0) return 0;
    const uint8_t* p = ref(reference);
    const uint64_t nodes = get32(p + kPlcNodes), slots = get32(p + kPlcNameSlots);
    uint64_t bytes = padded(kPlacementSize);
    const auto add = [&](size_t field, uint64_t words) {
        if (get32(p + field) != 0) bytes += padded(4 * words);
    };
    add(kPlcStarts, nodes + 1);
    add(kPlcList, get32(p + kPlcRanks));
    add(kPlcNodeOf, get32(p + kPlcRankLimit));
    add(kPlcNames, nodes);
    add(kPlcIds, nodes);
    add(kPlcNameTable, 3 * slots);
    add(kPlcIdTable, uint64_t{2} * get32(p + kPlcIdSlots));
    add(kPlcAppTable, uint64_t{2} * get32(p + kPlcApps));
    // The table has each name and alias once.
    const uint8_t* table = get32(p + kPlcNameTable) == 0 ? nullptr : ref(get32(p + kPlcNameTable));
    for (uint64_t i = 0; table != nullptr && i < slots; ++i)
        if (const uint32_t name = get32(table + kNameSlot * i + 8); name != 0)
            bytes += record_size(get32(ref(name) + kRecLength));
    return bytes;
}

// ---- Columns
// ------------------------------------------------------------------------------------------------------------

pmix_status_t Writer::State::write_column(const ColumnData& data, uint8_t (&column)[kColumnSize]) {
    std::memset(column, 0, sizeof column);
    const Key key(data.key);
    common::Result<uint32_t> entry = intern(key);
    if (!entry.ok()) return entry.status();
    put32(column + kColHash, key.hash());
    put32(column + kColKey, *entry);
    column[kColFunction] = static_cast<uint8_t>(data.function);
    put16(column + kColFnType, data.function_type);
    column[kColFnPayload] = data.function_payload;
    if (data.form == ColumnData::Form::computed) return PMIX_SUCCESS;

    column[kColForm] = static_cast<uint8_t>(data.form);
    column[kColPayload] = data.payload;
    column[kColWidth] = data.width;
    put16(column + kColType, data.type);
    put32(column + kColLimit, data.limit);
    put64(column + kColBase, data.base);
    if (!data.valid.empty()) {
        std::vector<uint8_t> bits((data.limit + 7) / 8);
        for (size_t i = 0; i < bits.size(); ++i) bits[i] = static_cast<uint8_t>(data.valid[i / 8] >> 8 * (i % 8));
        common::Result<uint32_t> r = append(bits.data(), bits.size());
        if (!r.ok()) return r.status();
        put32(column + kColValid, *r);
    }
    if (data.width != 0) {
        assert(data.elements.size() == size_t{data.width} * data.limit);
        common::Result<uint32_t> r = append(data.elements.data(), data.elements.size());
        if (!r.ok()) return r.status();
        put32(column + kColElements, *r);
    }
    if (data.form == ColumnData::Form::interned) {
        std::vector<uint32_t> values;
        values.reserve(data.values.size());
        for (const std::vector<uint8_t>& v : data.values) {
            common::Result<uint32_t> r = lone_record(v);
            if (!r.ok()) return r.status();
            values.push_back(*r);
        }
        common::Result<uint32_t> r = append_words(values);
        if (!r.ok()) return r.status();
        put32(column + kColValues, *r);
        put32(column + kColNValues, static_cast<uint32_t>(values.size()));
    }
    return PMIX_SUCCESS;
}

pmix_status_t Writer::State::publish_catalog(const std::vector<std::vector<uint8_t>>& columns, uint32_t proc_columns,
                                             uint32_t placement) {
    const auto n = static_cast<uint32_t>(columns.size());
    assert(proc_columns <= n);
    if (n > kMaxColumns) return PMIX_ERR_OUT_OF_RESOURCE;
    const uint64_t hashes = padded(uint64_t{4} * n);
    common::Result<uint64_t> place = allocate(kCatHashes + hashes + kColumnSize * n);
    if (!place.ok()) return place.status();
    uint8_t* p = at(*place);
    put32(p + kCatProcColumns, proc_columns);
    put32(p + kCatNodeColumns, n - proc_columns);
    put32(p + kCatPlacement, placement);
    for (uint32_t i = 0; i < n; ++i) {
        std::memcpy(p + kCatHashes + 4 * size_t{i}, columns[i].data() + kColHash, 4);
        std::memcpy(p + kCatHashes + hashes + kColumnSize * i, columns[i].data(), kColumnSize);
    }
    for ([[maybe_unused]] uint32_t i = 1; i < n; ++i)
        assert(i == proc_columns || get32(columns[i - 1].data()) <= get32(columns[i].data()));  // a reader bisects
    const uint64_t replaced = catalog_bytes();
    publish_size();
    store_ref(at(kHdrCatalog), static_cast<uint32_t>(*place / kUnit));
    count_publication();
    rewritten += replaced;
    return PMIX_SUCCESS;
}

pmix_status_t Writer::add_columns(ColumnBuilder&& builder) {
    State& s = *state_;
    const OwnerKind kind = builder.kind();
    if (kind != OwnerKind::proc && kind != OwnerKind::node) return PMIX_ERR_BAD_PARAM;
    Access access(s.segment->mapping());
    Catalog catalog(access);
    const bool exists = catalog.load();

    // Where a key has a column already, its values go below the new ones. A column that says nothing new is left out,
    // so that registering the same thing again costs nothing.
    std::vector<std::string> unchanged;
    for (std::string_view name : exists ? builder.keys() : std::vector<std::string_view>{}) {
        const uint32_t i = catalog.column_of(kind, Key(name));
        if (i == catalog.columns(kind)) continue;
        const uint8_t* column = catalog.column(kind, i);
        const uint32_t new_limit = builder.limit(name);
        bool news = builder.computes(name) && builder.function(name) != static_cast<Computed>(column[kColFunction]);
        std::vector<uint8_t> value;
        for (uint32_t index = 0; index < new_limit && !news; ++index) {
            Found there;
            if (!builder.get(index, name, &value)) continue;
            news = catalog.own_value(column, index, there) != Outcome::hit ||
                   !std::equal(value.begin(), value.end(), there.bytes().begin(), there.bytes().end());
        }
        if (!news) {
            unchanged.emplace_back(name);
            continue;
        }
        const std::string key(name);  // the builder's own may move
        const uint32_t old_limit = get32(column + kColLimit);
        for (uint32_t index = 0; index < old_limit; ++index) {
            Found there;
            if (builder.get(index, key, &value) || catalog.own_value(column, index, there) != Outcome::hit) continue;
            builder.set(index, key, there.bytes());
        }
        if (!builder.computes(key) && column[kColFunction] != 0) {
            builder.compute(key, static_cast<Computed>(column[kColFunction]), get16(column + kColFnType),
                            column[kColFnPayload]);
        }
    }

    std::vector<ColumnData> added = builder.finish();
    std::erase_if(added, [&](const ColumnData& d) {
        return std::find(unchanged.begin(), unchanged.end(), d.key) != unchanged.end();
    });
    if (added.empty()) return PMIX_SUCCESS;

    std::vector<std::vector<uint8_t>> parts[2];  // of ranks, of nodes
    auto replaced = [&](OwnerKind of, const uint8_t* column) {
        return of == kind && std::any_of(added.begin(), added.end(), [&](const ColumnData& d) {
                   return s.key_name(get32(column + kColKey)) == d.key;
               });
    };
    uint64_t replaced_bytes = 0;
    for (OwnerKind of : {OwnerKind::proc, OwnerKind::node}) {
        auto& part = parts[of == OwnerKind::node];
        for (uint32_t i = 0; exists && i < catalog.columns(of); ++i) {
            const uint8_t* c = catalog.column(of, i);
            if (replaced(of, c)) {
                replaced_bytes += s.column_bytes(c);
            } else {
                part.emplace_back(c, c + kColumnSize);
            }
        }
    }
    auto& part = parts[kind == OwnerKind::node];
    for (const ColumnData& d : added) {
        uint8_t column[kColumnSize];
        if (pmix_status_t rc = s.write_column(d, column); rc != PMIX_SUCCESS) return rc;
        part.emplace_back(column, column + kColumnSize);
    }
    std::vector<std::vector<uint8_t>> all;
    for (auto& p : parts) {
        std::sort(p.begin(), p.end(), [](const auto& x, const auto& y) { return get32(x.data()) < get32(y.data()); });
        all.insert(all.end(), p.begin(), p.end());
    }
    const pmix_status_t rc =
        s.publish_catalog(all, static_cast<uint32_t>(parts[0].size()), exists ? catalog.placement() : 0);
    if (rc == PMIX_SUCCESS) s.rewritten += replaced_bytes;
    return rc;
}

// ---- Placement
// ------------------------------------------------------------------------------------------------------------

namespace {

std::vector<uint32_t> words_at(Access& access, const uint8_t* placement, size_t field, size_t count) {
    std::vector<uint32_t> out;
    const uint32_t reference = get32(placement + field);
    const uint8_t* p = reference == 0 ? nullptr : access.ref(reference, uint64_t{4} * count);
    for (size_t i = 0; p != nullptr && i < count; ++i) out.push_back(get32(p + 4 * i));
    return out;
}

bool same_words(const std::vector<uint32_t>& there, std::span<const uint32_t> here) noexcept {
    return std::equal(there.begin(), there.end(), here.begin(), here.end());
}

}  // namespace

bool Writer::State::same_placement(const Placement& placement) noexcept {
    Access access(segment->mapping());
    Catalog catalog(access);
    PlacementView view(access);
    if (!catalog.load() || !view.load(catalog.placement())) return false;
    const uint8_t* p = ref(catalog.placement());
    const size_t nodes = placement.nodes.size();
    if (view.nodes() != nodes || get32(p + kPlcApps) != placement.apps.size()) return false;
    if ((get32(p + kPlcForm) == 0) != (placement.procs == nullptr)) return false;
    if (placement.procs != nullptr) {
        const common::ProcMap& m = *placement.procs;
        if (get32(p + kPlcForm) != static_cast<uint32_t>(m.form()) + 1 || get32(p + kPlcRanks) != m.nranks() ||
            get32(p + kPlcRankLimit) != m.rank_limit() || get32(p + kPlcBlock) != m.block() ||
            !same_words(words_at(access, p, kPlcStarts, m.starts().size()), m.starts()) ||
            !same_words(words_at(access, p, kPlcList, m.ranks().size()), m.ranks()) ||
            !same_words(words_at(access, p, kPlcNodeOf, m.node_index().size()), m.node_index())) {
            return false;
        }
    }
    for (size_t i = 0; i < nodes; ++i) {
        if (view.id_of(static_cast<uint32_t>(i)) != (placement.node_ids.empty() ? i : placement.node_ids[i]))
            return false;
        RecordView name;
        if (!view.name(static_cast<uint32_t>(i), name) || text_of(name) != placement.nodes[i]) return false;
    }
    for (const NodeAlias& a : placement.aliases) {
        if (view.by_name(a.name) != a.node) return false;
    }
    for (size_t i = 0; i < placement.apps.size(); ++i) {
        const std::optional<AppRange> app = view.app(static_cast<uint32_t>(i));
        if (!app || app->first != placement.apps[i].first || app->size != placement.apps[i].size) return false;
    }
    return true;
}

pmix_status_t Writer::set_placement(const Placement& placement) {
    State& s = *state_;
    const size_t nodes = placement.nodes.size();
    if (nodes > common::kMaxMapNodes || (!placement.node_ids.empty() && placement.node_ids.size() != nodes) ||
        (placement.procs != nullptr && placement.procs->nnodes() > nodes) ||
        placement.aliases.size() > 16 * (nodes + 1)) {
        return PMIX_ERR_BAD_PARAM;
    }
    if (s.same_placement(placement)) return PMIX_SUCCESS;

    uint8_t p[kPlacementSize] = {};
    pmix_status_t status = PMIX_SUCCESS;
    auto keep = [&](size_t field, common::Result<uint32_t> reference) {
        if (reference.ok()) {
            put32(p + field, *reference);
        } else {
            status = reference.status();
        }
        return reference.ok();
    };
    put32(p + kPlcNodes, static_cast<uint32_t>(nodes));
    put32(p + kPlcBlock, 1);
    if (placement.procs != nullptr) {
        const common::ProcMap& m = *placement.procs;
        // The nodes of a regular map are dealt in turn, so their number is part of it.
        if (m.nnodes() != nodes && m.form() == common::ProcMap::Form::regular) return PMIX_ERR_BAD_PARAM;
        put32(p + kPlcRanks, m.nranks());
        put32(p + kPlcRankLimit, m.rank_limit());
        put32(p + kPlcForm, static_cast<uint32_t>(m.form()) + 1);
        put32(p + kPlcBlock, m.block());
        if (!m.starts().empty()) {
            std::vector<uint32_t> starts(m.starts().begin(), m.starts().end());
            starts.resize(nodes + 1, starts.back());  // nodes without ranks
            if (!keep(kPlcStarts, s.append_words(starts))) return status;
        }
        if (!m.ranks().empty() && !keep(kPlcList, s.append_words(m.ranks()))) return status;
        if (!m.node_index().empty() && !keep(kPlcNodeOf, s.append_words(m.node_index()))) return status;
    }

    // Names as values that can be handed out, and a table from name (and alias) to node.
    struct Slot {
        uint32_t hash = 0;
        uint32_t node = 0;
        uint32_t name = 0;
    };
    std::vector<Slot> slots(std::bit_ceil((nodes + placement.aliases.size()) * 4 / 3 + 2));
    assert(slots.size() > nodes + placement.aliases.size());
    auto enter = [&](std::string_view name, uint32_t node, uint32_t record) {
        const uint32_t hash = hash_key(name);
        size_t at = hash & (slots.size() - 1);
        while (slots[at].node != 0) at = (at + 1) & (slots.size() - 1);
        slots[at] = {hash, node + 1, record};
    };
    auto write_name = [&](std::string_view name) {
        common::ByteWriter value(name.size() + 8);
        common::encode_string_value(value, name);
        return s.lone_record(value.view());
    };
    std::vector<uint32_t> names;
    names.reserve(nodes);
    for (size_t i = 0; i < nodes; ++i) {
        common::Result<uint32_t> name = write_name(placement.nodes[i]);
        if (!name.ok()) return name.status();
        names.push_back(*name);
        enter(placement.nodes[i], static_cast<uint32_t>(i), *name);
    }
    for (const NodeAlias& a : placement.aliases) {
        if (a.node >= nodes) return PMIX_ERR_BAD_PARAM;
        common::Result<uint32_t> name = write_name(a.name);
        if (!name.ok()) return name.status();
        enter(a.name, a.node, *name);
    }
    std::vector<uint32_t> words;
    words.reserve(3 * slots.size());
    for (const Slot& slot : slots) words.insert(words.end(), {slot.hash, slot.node, slot.name});
    put32(p + kPlcNameSlots, static_cast<uint32_t>(slots.size()));
    if (!keep(kPlcNames, s.append_words(names)) || !keep(kPlcNameTable, s.append_words(words))) return status;

    bool counted = true;  // node i has id i
    for (size_t i = 0; i < placement.node_ids.size(); ++i) counted &= placement.node_ids[i] == i;
    if (!counted) {
        std::vector<uint32_t> ids(2 * std::bit_ceil(nodes * 4 / 3 + 2));
        const size_t mask = ids.size() / 2 - 1;
        assert(mask + 1 > nodes);
        for (size_t i = 0; i < nodes; ++i) {
            size_t at = placement.node_ids[i] * 0x9e3779b1u & mask;
            while (ids[2 * at + 1] != 0) at = (at + 1) & mask;
            ids[2 * at] = placement.node_ids[i];
            ids[2 * at + 1] = static_cast<uint32_t>(i) + 1;
        }
        put32(p + kPlcIdSlots, static_cast<uint32_t>(mask + 1));
        if (!keep(kPlcIds, s.append_words(placement.node_ids)) || !keep(kPlcIdTable, s.append_words(ids)))
            return status;
    }
    words.clear();
    for (const AppRange& a : placement.apps) words.insert(words.end(), {a.first, a.size});
    put32(p + kPlcApps, static_cast<uint32_t>(placement.apps.size()));
    if (!words.empty() && !keep(kPlcAppTable, s.append_words(words))) return status;

    common::Result<uint32_t> place = s.append(p, sizeof p);
    if (!place.ok()) return place.status();
    Access access(s.segment->mapping());
    Catalog catalog(access);
    std::vector<std::vector<uint8_t>> columns;
    uint32_t proc_columns = 0;
    uint64_t replaced_bytes = 0;
    if (catalog.load()) {
        replaced_bytes = s.placement_bytes(catalog.placement());
        proc_columns = catalog.columns(OwnerKind::proc);
        for (OwnerKind kind : {OwnerKind::proc, OwnerKind::node}) {
            for (uint32_t i = 0; i < catalog.columns(kind); ++i) {
                const uint8_t* c = catalog.column(kind, i);
                columns.emplace_back(c, c + kColumnSize);
            }
        }
    }
    const pmix_status_t rc = s.publish_catalog(columns, proc_columns, *place);
    if (rc == PMIX_SUCCESS) s.rewritten += replaced_bytes;
    return rc;
}

}  // namespace pmix::dstore

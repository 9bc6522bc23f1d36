// SPDX-License-Identifier: BSD-3-Clause
#include "dstore/columns.h"

#include <algorithm>
#include <cassert>
#include <unordered_map>

#include "common/codec/pack.h"
#include "dstore/keyed_hash.h"

namespace pmix::dstore {

using common::Bytes;

namespace {

uint8_t width_for(uint64_t n) noexcept {
    return n < 1u << 8 ? 1 : n < 1u << 16 ? 2 : n <= UINT32_MAX ? 4 : 8;
}

// Unsigned numbers in the narrowest width that holds the largest.
class NarrowArray {
  public:
    uint8_t width() const noexcept { return width_; }
    bool empty() const noexcept { return width_ == 0; }
    uint64_t get(size_t i) const noexcept {
        if ((i + 1) * width_ > bytes_.size()) return 0;
        uint64_t v = 0;
        for (unsigned b = 0; b < width_; ++b) v |= uint64_t{bytes_[i * width_ + b]} << 8 * b;
        return v;
    }
    void set(size_t i, uint64_t v, size_t expected) {
        if (const uint8_t need = width_for(v); need > width_) widen(need, expected);
        assert(width_ >= width_for(v));
        if ((i + 1) * width_ > bytes_.size()) bytes_.resize((i + 1) * width_);
        for (unsigned b = 0; b < width_; ++b) bytes_[i * width_ + b] = static_cast<uint8_t>(v >> 8 * b);
    }
    std::vector<uint8_t> take(size_t count) {
        bytes_.resize(count * width_);
        return std::move(bytes_);
    }

  private:
    void widen(uint8_t width, size_t expected) {
        NarrowArray wide;
        wide.width_ = width;
        const size_t n = width_ == 0 ? 0 : bytes_.size() / width_;
        wide.bytes_.reserve(std::max(n, expected) * width);
        wide.bytes_.resize(n * width);
        for (size_t i = 0; i < n; ++i) wide.set(i, get(i), expected);
        *this = std::move(wide);
    }
    uint8_t width_ = 0;
    std::vector<uint8_t> bytes_;
};

// The number in an encoded scalar; false: the value is none.
bool as_number(Bytes value, uint16_t* type, uint8_t* payload, uint64_t* number) noexcept {
    uint8_t sample[common::kMaxScalarBytes];
    if (value.size() < 3 || value.size() > 10) return false;
    *type = common::encoded_type(value);
    if (common::encode_scalar(*type, 0, sample) != value.size()) return false;
    *payload = static_cast<uint8_t>(value.size() - 2);
    uint64_t v = 0;
    for (size_t i = 2; i < value.size(); ++i) v |= uint64_t{value[i]} << 8 * (i - 2);
    *number = v;
    return true;
}

}  // namespace

struct ColumnBuilder::State {
    struct Column {
        std::string key;
        uint32_t hash = 0;
        Computed function{};
        uint16_t function_type = 0;
        uint8_t function_payload = 0;

        // A number per index: the value itself, or which of `values` it is. As long as one of the two holds for all
        // that were set, there is no array.
        bool interned = false;
        uint16_t type = 0;
        uint8_t payload = 0;
        bool constant = true;
        bool affine = true;
        uint64_t first = 0;
        uint64_t offset = 0;  // number - index of the first
        NarrowArray numbers;
        std::vector<uint64_t> valid;
        uint32_t limit = 0;
        uint32_t count = 0;
        std::vector<std::vector<uint8_t>> values;
        std::unordered_multimap<uint32_t, uint32_t, KeyedHash> by_hash;
        uint32_t last_value = 0;

        bool has(uint32_t i) const noexcept { return i < limit && (valid[i / 64] >> i % 64 & 1) != 0; }
        uint64_t by_rule(uint32_t i) const noexcept { return constant ? first : masked(offset + i); }
        uint64_t number(uint32_t i) const noexcept { return numbers.empty() ? by_rule(i) : numbers.get(i); }
        uint64_t masked(uint64_t v) const noexcept {
            return payload == 8 || interned ? v : v & ((uint64_t{1} << 8 * payload) - 1);
        }
        void store(uint32_t i, uint64_t number, uint32_t indices);
        uint32_t intern(Bytes value);
        void make_interned(uint32_t indices);
        std::vector<uint8_t> value(uint32_t i) const;
    };

    OwnerKind kind = OwnerKind::proc;
    uint32_t expected = 0;
    std::vector<Column> columns;
    size_t next = 0;  // hosts name the same keys in the same order for each rank

    Column& column(std::string_view key) {
        for (size_t tries = 0, i = next; tries < columns.size(); ++tries, ++i) {
            if (i >= columns.size()) i = 0;
            if (columns[i].key == key) {
                next = i + 1;
                return columns[i];
            }
        }
        columns.emplace_back();
        columns.back().key = key;
        columns.back().hash = hash_key(key);
        next = columns.size();
        return columns.back();
    }
    const Column* find(std::string_view key) const noexcept {
        for (const Column& c : columns) {
            if (c.key == key) return &c;
        }
        return nullptr;
    }
};

void ColumnBuilder::State::Column::store(uint32_t i, uint64_t n, uint32_t indices) {
    if (count == 0) {
        first = n;
        offset = masked(n - i);
    }
    const bool still_constant = constant && n == first;
    const bool still_affine = affine && !interned && n == masked(offset + i);
    if (numbers.empty() && !still_constant && !still_affine) {
        // Write out what was known by rule so far.
        for (uint32_t k = 0; k < limit; ++k) {
            if (has(k)) numbers.set(k, by_rule(k), std::max(indices, limit));
        }
    }
    if (!numbers.empty() || (!still_constant && !still_affine)) numbers.set(i, n, std::max(indices, limit));
    constant = still_constant;
    affine = still_affine;
    if (i >= limit) {
        limit = i + 1;
        if (valid.size() < limit / 64 + 1) {
            valid.reserve(indices / 64 + 1);
            valid.resize(limit / 64 + 1);
        }
    }
    assert(i < limit && count <= limit && i / 64 < valid.size());
    uint64_t& word = valid[i / 64];
    if ((word >> i % 64 & 1) == 0) {
        word |= uint64_t{1} << i % 64;
        ++count;
    }
}

uint32_t ColumnBuilder::State::Column::intern(Bytes value) {
    auto same = [&](uint32_t id) {
        return std::equal(values[id].begin(), values[id].end(), value.begin(), value.end());
    };
    if (!values.empty() && same(last_value)) return last_value;
    const uint32_t h = hash_key({reinterpret_cast<const char*>(value.data()), value.size()});
    for (auto [from, to] = by_hash.equal_range(h); from != to; ++from) {
        if (same(from->second)) return last_value = from->second;
    }
    values.emplace_back(value.begin(), value.end());
    last_value = static_cast<uint32_t>(values.size() - 1);
    by_hash.emplace(h, last_value);
    return last_value;
}

std::vector<uint8_t> ColumnBuilder::State::Column::value(uint32_t i) const {
    const uint64_t n = number(i);
    if (interned) return values[n];
    std::vector<uint8_t> out(2 + size_t{payload});
    common::store_le(out.data(), type);
    for (unsigned b = 0; b < payload; ++b) out[2 + b] = static_cast<uint8_t>(n >> 8 * b);
    return out;
}

// Values that are no numbers, or of several types.
void ColumnBuilder::State::Column::make_interned(uint32_t indices) {
    Column other;
    other.interned = true;
    for (uint32_t i = 0; i < limit; ++i) {
        if (has(i)) other.store(i, other.intern(value(i)), indices);
    }
    other.key = std::move(key);
    other.hash = hash;
    other.function = function;
    other.function_type = function_type;
    other.function_payload = function_payload;
    *this = std::move(other);
}

ColumnBuilder::ColumnBuilder(OwnerKind kind, uint32_t expected) : state_(std::make_unique<State>()) {
    state_->kind = kind;
    state_->expected = expected;
}
ColumnBuilder::~ColumnBuilder() = default;
ColumnBuilder::ColumnBuilder(ColumnBuilder&&) noexcept = default;
ColumnBuilder& ColumnBuilder::operator=(ColumnBuilder&&) noexcept = default;

OwnerKind ColumnBuilder::kind() const noexcept {
    return state_->kind;
}
bool ColumnBuilder::empty() const noexcept {
    return state_->columns.empty();
}

bool ColumnBuilder::set(uint32_t index, std::string_view key, Bytes value) {
    if (index >= common::kMaxMapRanks) return false;
    State::Column& c = state_->column(key);
    uint16_t type = 0;
    uint8_t payload = 0;
    uint64_t number = 0;
    const bool is_number = as_number(value, &type, &payload, &number);
    if (c.count == 0 && is_number) {
        c.type = type;
        c.payload = payload;
    } else if (!c.interned && (!is_number || type != c.type || payload != c.payload)) {
        c.make_interned(state_->expected);
    }
    c.store(index, c.interned ? c.intern(value) : number, state_->expected);
    return true;
}

void ColumnBuilder::compute(std::string_view key, Computed function, pmix_data_type_t type, uint8_t payload) {
    State::Column& c = state_->column(key);
    c.function = function;
    c.function_type = type;
    c.function_payload = std::min<uint8_t>(payload, 8);
}

std::vector<std::string_view> ColumnBuilder::keys() const {
    std::vector<std::string_view> out;
    for (const State::Column& c : state_->columns) out.push_back(c.key);
    return out;
}

bool ColumnBuilder::get(uint32_t index, std::string_view key, std::vector<uint8_t>* value) const {
    const State::Column* c = state_->find(key);
    if (c == nullptr || !c->has(index)) return false;
    *value = c->value(index);
    return true;
}

uint32_t ColumnBuilder::limit(std::string_view key) const noexcept {
    const State::Column* c = state_->find(key);
    return c == nullptr ? 0 : c->limit;
}

Computed ColumnBuilder::function(std::string_view key) const noexcept {
    const State::Column* c = state_->find(key);
    return c == nullptr ? Computed{} : c->function;
}

std::vector<ColumnData> ColumnBuilder::finish() {
    std::vector<ColumnData> out;
    out.reserve(state_->columns.size());
    for (State::Column& c : state_->columns) {
        ColumnData d;
        d.key = std::move(c.key);
        d.function = c.function;
        d.function_type = c.function_type;
        d.function_payload = c.function_payload;
        d.limit = c.limit;
        if (c.count != c.limit) d.valid = std::move(c.valid);
        if (c.count == 0) {
            d.form = ColumnData::Form::computed;
        } else {
            d.type = c.type;
            d.payload = c.payload;
            d.form = c.interned ? ColumnData::Form::interned : ColumnData::Form::numbers;
            assert(c.interned == !c.values.empty() && c.count <= c.limit);
            if (!c.numbers.empty()) {
                d.width = c.numbers.width();
                d.elements = c.numbers.take(c.limit);
            } else if (!c.interned) {
                d.form = c.constant ? ColumnData::Form::constant : ColumnData::Form::affine;
                d.base = c.constant ? c.first : c.offset;
            } else if (c.first != 0) {  // one value for all, but not the first that was seen
                std::swap(c.values[0], c.values[c.first]);
            }
            d.values = std::move(c.values);
        }
        out.push_back(std::move(d));
    }
    state_->columns.clear();
    return out;
}

}  // namespace pmix::dstore

// SPDX-License-Identifier: BSD-3-Clause
#include "dstore/qualified.h"

#include <algorithm>
#include <cstdio>

#include "common/codec/pack.h"
#include "common/values/array_value.h"

namespace pmix::dstore {

using common::Bytes;
using common::InfoView;
using common::Result;
using common::Value;

namespace {

constexpr char kMark = '?';
constexpr size_t kHashDigits = 32;
constexpr size_t kMaxPrefix = common::kMaxKeyLength - 1 - kHashDigits;

// FNV-1a, without a secret: its digits are part of a key, which lies in shared memory and travels to other nodes, where
// every process must come to the same one. Two sets whose hashes are equal replace each other, and a reader does not
// take one for the other; a process that makes such sets loses only values of its own. Tables in process memory place
// the whole key by a secret of theirs, like any other key (keyed_hash.h).
class Hash {
  public:
    void add(std::string_view bytes) noexcept {
        add_number(bytes.size());
        for (const char c : bytes) add_byte(static_cast<uint8_t>(c));
    }
    std::string digits() const {
        char text[kHashDigits + 1];
        std::snprintf(text, sizeof text, "%016llx%016llx", static_cast<unsigned long long>(one_),
                      static_cast<unsigned long long>(other_));
        return text;
    }

  private:
    void add_number(uint64_t n) noexcept {
        for (unsigned shift = 0; shift < 64; shift += 8) add_byte(static_cast<uint8_t>(n >> shift));
    }
    void add_byte(uint8_t byte) noexcept {
        one_ = (one_ ^ byte) * 0x100000001b3ull;
        other_ = (other_ ^ byte) * 0x9fb21c651e98df25ull;
        other_ ^= other_ >> 29;
    }
    uint64_t one_ = 0xcbf29ce484222325ull;
    uint64_t other_ = 0x2545f4914f6cdd1dull;
};

std::string_view prefix_of(std::string_view primary) noexcept {
    return primary.substr(0, kMaxPrefix);
}

}  // namespace

Result<Qualifiers> Qualifiers::marked_in(const InfoView& infos) {
    Qualifiers out;
    for (const pmix_info_t& info : infos) {
        if (!is_qualifier(info)) continue;
        common::ByteWriter w;
        w.string(common::key_view(info));
        if (const pmix_status_t rc = common::encode_value(w, info.value); rc != PMIX_SUCCESS) return rc;
        out.entries_.emplace_back(reinterpret_cast<const char*>(w.data()), w.size());
    }
    std::sort(out.entries_.begin(), out.entries_.end());
    out.entries_.erase(std::unique(out.entries_.begin(), out.entries_.end()), out.entries_.end());
    return out;
}

bool Qualifiers::all_in(const Qualifiers& other) const noexcept {
    return std::includes(other.entries_.begin(), other.entries_.end(), entries_.begin(), entries_.end());
}

std::string Qualifiers::key_for(std::string_view primary) const {
    Hash hash;
    hash.add(primary);
    for (const std::string& entry : entries_) hash.add(entry);
    return std::string(prefix_of(primary)) + kMark + hash.digits();
}

Result<QualifiedValue> QualifiedValue::read(const pmix_value_t& array) {
    const InfoView infos = common::infos_in(array);
    if (infos.size() == 0) return PMIX_ERR_BAD_PARAM;
    QualifiedValue out;
    out.primary = common::key_view(infos[0]);
    if (!common::is_valid_key(out.primary) || out.primary == PMIX_QUALIFIED_VALUE) return PMIX_ERR_BAD_PARAM;
    out.value = &infos[0].value;
    auto qualifiers = Qualifiers::marked_in({infos.begin() + 1, infos.size() - 1});
    if (!qualifiers) return qualifiers.status();
    out.qualifiers = std::move(*qualifiers);
    return out;
}

Result<Value> QualifiedValue::stored(const pmix_value_t& array) {
    const InfoView infos = common::infos_in(array);
    common::InfoList kept;
    for (const pmix_info_t& info : infos) {
        if (&info != infos.begin() && !is_qualifier(info)) continue;
        if (const pmix_status_t rc = kept.append(info); rc != PMIX_SUCCESS) return rc;
    }
    return common::array_value(std::move(kept));
}

Result<StoredForm> stored_form(const pmix_value_t& array) {
    auto what = QualifiedValue::read(array);
    if (!what) return what.status();
    if (what->qualifiers.empty()) return PMIX_ERR_NOT_FOUND;
    auto stored = QualifiedValue::stored(array);
    if (!stored) return stored.status();
    return StoredForm{what->qualifiers.key_for(what->primary), std::move(*stored)};
}

std::string_view primary_in(std::string_view stored_key) noexcept {
    if (stored_key.size() < kHashDigits + 2) return {};
    const std::string_view primary = stored_key.substr(0, stored_key.size() - kHashDigits - 1);
    if (stored_key[primary.size()] != kMark) return {};
    const std::string_view hash = stored_key.substr(primary.size() + 1);
    return hash.find_first_not_of("0123456789abcdef") == hash.npos ? primary : std::string_view();
}

bool may_qualify(std::string_view stored_key, std::string_view primary) noexcept {
    const std::string_view prefix = prefix_of(primary);
    return stored_key.size() == prefix.size() + 1 + kHashDigits && stored_key.substr(0, prefix.size()) == prefix &&
           stored_key[prefix.size()] == kMark;
}

bool is_stored_qualified(std::string_view key, Bytes encoded) {
    if (key.size() < kHashDigits + 1 || key[key.size() - kHashDigits - 1] != kMark) return false;
    if (common::encoded_type(encoded) != PMIX_DATA_ARRAY) return false;
    Value array;
    if (common::decode_value_into(encoded, array.c_ptr()) != PMIX_SUCCESS) return false;
    auto what = QualifiedValue::read(array.get());
    return what.ok() && what->qualifiers.key_for(what->primary) == key;
}

Result<StoredQualified> read_stored(Bytes encoded, std::string_view primary) {
    if (common::encoded_type(encoded) != PMIX_DATA_ARRAY) return PMIX_ERR_NOT_FOUND;
    StoredQualified out;
    const pmix_status_t rc = common::decode_value_into(encoded, out.array.c_ptr());
    if (rc == PMIX_ERR_NOMEM) return rc;
    if (rc != PMIX_SUCCESS) return PMIX_ERR_NOT_FOUND;
    auto what = QualifiedValue::read(out.array.get());
    if (!what || what->primary != primary || what->qualifiers.empty()) return PMIX_ERR_NOT_FOUND;
    out.what = std::move(*what);
    return out;
}

}  // namespace pmix::dstore

// SPDX-License-Identifier: BSD-3-Clause
// Typed look-up in a caller's array of infos.
//
// Owns nothing: a view of an array that outlives it. Any thread.
// get() leaves its output alone and succeeds when the key is absent, so that a default is what stood there before; a
// value of a wrong type or out of range is PMIX_ERR_BAD_PARAM. The first entry with a key counts.
#pragma once

#include <pmix_common.h>

#include <concepts>
#include <limits>
#include <optional>
#include <string_view>

#include "common/values/value.h"

namespace pmix::common {

inline std::string_view key_view(const pmix_info_t& info) noexcept {
    return {info.key, bounded_length(info.key, kMaxKeyLength)};
}

inline bool is_required(const pmix_info_t& info) noexcept {
    return (info.flags & PMIX_INFO_REQD) != 0;
}

class InfoView {
  public:
    InfoView(const pmix_info_t* infos, size_t n) noexcept : infos_(infos), size_(infos == nullptr ? 0 : n) {}
    InfoView(const InfoList& list) noexcept : infos_(list.c_array()), size_(list.size()) {}

    size_t size() const noexcept { return size_; }
    const pmix_info_t* begin() const noexcept { return infos_; }
    const pmix_info_t* end() const noexcept { return infos_ + size_; }
    const pmix_info_t& operator[](size_t i) const noexcept { return infos_[i]; }

    const pmix_info_t* find(std::string_view key) const noexcept {
        for (const pmix_info_t& info : *this) {
            if (key_view(info) == key) return &info;
        }
        return nullptr;
    }
    bool has(std::string_view key) const noexcept { return find(key) != nullptr; }

    // True when the key is there and true: absent, false and not a truth value are all "not asked for". Of a caller's
    // directives, check_flags() has refused the last before.
    bool flag(std::string_view key) const noexcept {
        const pmix_info_t* info = find(key);
        return info != nullptr && truth_of(info->value) == PMIX_BOOL_TRUE;
    }
    pmix_status_t get(std::string_view key, bool* out) const noexcept;
    // Integers from any integer type of the ABI that holds a number in range.
    template <std::integral T>
    requires(!std::same_as<T, bool>) pmix_status_t get(std::string_view key, T* out)
    const noexcept {
        const pmix_info_t* info = find(key);
        if (info == nullptr) return PMIX_SUCCESS;
        if constexpr (std::is_signed_v<T>) {
            int64_t n = 0;
            if (read_number(info->value, &n) != PMIX_SUCCESS) return PMIX_ERR_BAD_PARAM;
            if (n < std::numeric_limits<T>::min() || n > std::numeric_limits<T>::max()) return PMIX_ERR_BAD_PARAM;
            *out = static_cast<T>(n);
        } else {
            uint64_t n = 0;
            if (read_number(info->value, &n) != PMIX_SUCCESS) return PMIX_ERR_BAD_PARAM;
            if (n > std::numeric_limits<T>::max()) return PMIX_ERR_BAD_PARAM;
            *out = static_cast<T>(n);
        }
        return PMIX_SUCCESS;
    }
    // A string; NULL counts as absent. The view is valid as long as the caller's array.
    pmix_status_t get(std::string_view key, std::string_view* out) const noexcept;
    pmix_status_t get(std::string_view key, const char** out) const noexcept;
    pmix_status_t get(std::string_view key, const pmix_proc_t** out) const noexcept;
    pmix_status_t get(std::string_view key, void** out) const noexcept;  // PMIX_POINTER
    // A data array of the given element type; an array without elements is one too.
    pmix_status_t get(std::string_view key, pmix_data_type_t element, const pmix_data_array_t** out) const noexcept;
    // "timeout, else none".
    template <class T>
    pmix_status_t get(std::string_view key, std::optional<T>* out) const noexcept {
        if (!has(key)) return PMIX_SUCCESS;
        T value{};
        pmix_status_t rc = get(key, &value);
        if (rc == PMIX_SUCCESS) *out = value;
        return rc;
    }

  private:
    const pmix_info_t* infos_;
    size_t size_;
};

// The one rule for flags, which are the attributes of type bool: PMIX_BOOL, no value (true), or a text that is one.
// PMIX_ERR_BAD_PARAM: one has another value, a number for instance.
pmix_status_t check_flags(InfoView infos) noexcept;

}  // namespace pmix::common

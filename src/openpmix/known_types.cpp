// SPDX-License-Identifier: BSD-3-Clause
#include "openpmix/known_types.h"

#include "common/base/limits.h"

namespace pmix::openpmix {
namespace {

// A level of nesting is a value and the array in it, and each counts.
constexpr unsigned kDepth = 2 * common::kMaxValueDepth + 2;

bool elements(const Traits& traits, const void* src, size_t n, pmix_data_type_t type, unsigned depth) noexcept;

// Every release writes and reads values of these types and fails to keep one: 4.2 and earlier crash over the first
// three. In arrays they are ordinary.
bool is_kept(pmix_data_type_t type) noexcept {
    switch (type) {
        case PMIX_INFO:
        case PMIX_APP:
        case PMIX_PDATA:
        case PMIX_VALUE:
        case PMIX_KVAL:
        case PMIX_COMMAND:
        case PMIX_INFO_DIRECTIVES:
        case PMIX_DATA_TYPE:
        case PMIX_QUERY:
        case PMIX_IOF_CHANNEL:
            return false;
        default:
            return true;
    }
}

bool value(const Traits& traits, const pmix_value_t& v, unsigned depth) noexcept {
    if (!traits.knows(v.type) || !is_kept(v.type)) return false;
    if (v.type != PMIX_DATA_ARRAY) return true;
    return elements(traits, v.data.darray, 1, PMIX_DATA_ARRAY, depth);
}

template <class T, class Check>
bool all(const void* src, size_t n, Check check) noexcept {
    const auto* items = static_cast<const T*>(src);
    for (size_t i = 0; i < n; ++i)
        if (!check(items[i])) return false;
    return true;
}

bool elements(const Traits& traits, const void* src, size_t n, pmix_data_type_t type, unsigned depth) noexcept {
    if (src == nullptr || n == 0) return true;
    if (depth == 0) return false;
    switch (type) {
        case PMIX_VALUE:
            return all<pmix_value_t>(src, n, [&](const pmix_value_t& v) { return value(traits, v, depth - 1); });
        case PMIX_INFO:
            return all<pmix_info_t>(src, n, [&](const pmix_info_t& i) { return value(traits, i.value, depth - 1); });
        case PMIX_PDATA:
            return all<pmix_pdata_t>(src, n, [&](const pmix_pdata_t& p) { return value(traits, p.value, depth - 1); });
        case PMIX_DATA_ARRAY:
            return all<pmix_data_array_t>(src, n, [&](const pmix_data_array_t& a) {
                return traits.knows(a.type) && elements(traits, a.array, a.size, a.type, depth - 1);
            });
        case PMIX_APP:
            return all<pmix_app_t>(
                src, n, [&](const pmix_app_t& a) { return elements(traits, a.info, a.ninfo, PMIX_INFO, depth - 1); });
        case PMIX_QUERY:
            return all<pmix_query_t>(src, n, [&](const pmix_query_t& q) {
                return elements(traits, q.qualifiers, q.nqual, PMIX_INFO, depth - 1);
            });
        default:
            return true;
    }
}

}  // namespace

bool holds_known_types(const Traits& traits, const void* src, size_t n, pmix_data_type_t type) noexcept {
    return elements(traits, src, n, type, kDepth);
}

bool is_known(const Traits& traits, const pmix_value_t& v) noexcept {
    return value(traits, v, kDepth);
}

}  // namespace pmix::openpmix

// SPDX-License-Identifier: BSD-3-Clause
// Comparison and sizes of values, from the field lists.
#include <cmath>
#include <type_traits>

#include "common/base/opaque.h"
#include "common/values/elements.h"
#include "common/values/value.h"

namespace pmix::common {
namespace {

// A level of nesting is a value and the array in it, and each counts; so whatever can be copied can be compared.
constexpr unsigned kDepth = 2 * kMaxValueDepth + 2;

// -1, 0, 1; kNoOrder where there is no telling.
constexpr int kNoOrder = 2;
constexpr int kOtherType = 3;

template <class T>
int order(T a, T b) noexcept {
    if constexpr (std::is_floating_point_v<T>) {
        if (std::isnan(a) || std::isnan(b)) return std::isnan(a) && std::isnan(b) ? 0 : kNoOrder;
    }
    return a < b ? -1 : (b < a ? 1 : 0);
}

template <class T>
int order_fields(const void* a, const void* b, size_t offset) noexcept {
    return order(load_field<T>(a, offset), load_field<T>(b, offset));
}

int compare_fields(const TypeRow& row, const void* a, const void* b, unsigned depth) noexcept;
int compare_deep(const pmix_value_t& a, const pmix_value_t& b, unsigned depth) noexcept;

int compare_many(pmix_data_type_t type, const void* a, const void* b, size_t n, unsigned depth) noexcept {
    const TypeRow* row = type_row(type);
    if (row == nullptr || depth == 0) return kNoOrder;
    for (size_t i = 0; i < n; ++i) {
        int c = compare_fields(*row, at(a, i * row->size), at(b, i * row->size), depth);
        if (c != 0) return c;
    }
    return 0;
}

// Shorter first, then by content; NULL before everything.
int compare_lists(pmix_data_type_t type, const void* a, size_t na, const void* b, size_t nb, unsigned depth) noexcept {
    if (a == nullptr) na = 0;
    if (b == nullptr) nb = 0;
    if (na != nb) return order(na, nb);
    return na == 0 ? 0 : compare_many(type, a, b, na, depth);
}

int compare_strings(const char* a, const char* b) noexcept {
    if (a == nullptr || b == nullptr) return order(a != nullptr, b != nullptr);
    return order(std::strcmp(a, b), 0);
}

int compare_argv(char* const* a, char* const* b) noexcept {
    if (a == nullptr || b == nullptr) return order(a != nullptr, b != nullptr);
    for (;; ++a, ++b) {
        if (*a == nullptr || *b == nullptr) return order(*a != nullptr, *b != nullptr);
        if (int c = compare_strings(*a, *b); c != 0) return c;
    }
}

int compare_bytes(const void* a, size_t na, const void* b, size_t nb) noexcept {
    if (a == nullptr) na = 0;
    if (b == nullptr) nb = 0;
    if (na != nb) return order(na, nb);
    return na == 0 ? 0 : order(std::memcmp(a, b, na), 0);
}

int compare_integers(const void* a, const void* b, const Field& f) noexcept {
    bool sign = f.form == Form::sint;
    switch (f.width) {
        case 1:
            return sign ? order_fields<int8_t>(a, b, 0) : order_fields<uint8_t>(a, b, 0);
        case 2:
            return sign ? order_fields<int16_t>(a, b, 0) : order_fields<uint16_t>(a, b, 0);
        case 4:
            return sign ? order_fields<int32_t>(a, b, 0) : order_fields<uint32_t>(a, b, 0);
        default:
            return sign ? order_fields<int64_t>(a, b, 0) : order_fields<uint64_t>(a, b, 0);
    }
}

int compare_field(const Field& f, const void* ea, const void* eb, unsigned depth) noexcept {
    const char* a = at(ea, f.offset);
    const char* b = at(eb, f.offset);
    auto pa = [&] { return load_field<const char*>(a, 0); };
    auto pb = [&] { return load_field<const char*>(b, 0); };
    auto na = [&] { return load_field<size_t>(ea, f.count_offset); };
    auto nb = [&] { return load_field<size_t>(eb, f.count_offset); };
    switch (f.form) {
        case Form::boolean:
            return order(load_field<uint8_t>(a, 0) != 0, load_field<uint8_t>(b, 0) != 0);
        case Form::sint:
        case Form::uint:
            return compare_integers(a, b, f);
        case Form::real:
            return f.width == sizeof(float) ? order_fields<float>(a, b, 0) : order_fields<double>(a, b, 0);
        case Form::timeval: {
            auto ta = load_field<struct timeval>(a, 0);
            auto tb = load_field<struct timeval>(b, 0);
            int c = order(ta.tv_sec, tb.tv_sec);
            return c != 0 ? c : order(ta.tv_usec, tb.tv_usec);
        }
        case Form::address:
            return order_fields<uintptr_t>(a, b, 0);
        case Form::string:
            return compare_strings(pa(), pb());
        case Form::argv:
            return compare_argv(load_field<char* const*>(a, 0), load_field<char* const*>(b, 0));
        case Form::chars: {
            std::string_view sa(a, bounded_length(a, f.width - 1u));
            std::string_view sb(b, bounded_length(b, f.width - 1u));
            return order(sa.compare(sb), 0);
        }
        case Form::blob:
            return compare_bytes(pa(), na(), pb(), nb());
        case Form::list:
            return compare_lists(f.type, pa(), na(), pb(), nb(), depth);
        case Form::record:
            return compare_fields(kTypeTable[f.type], a, b, depth);
        case Form::value:
            return compare_deep(*reinterpret_cast<const pmix_value_t*>(a), *reinterpret_cast<const pmix_value_t*>(b),
                                depth);
        case Form::array: {
            const auto* da = reinterpret_cast<const pmix_data_array_t*>(a);
            const auto* db = reinterpret_cast<const pmix_data_array_t*>(b);
            if (da->type != db->type) return kOtherType;
            return compare_lists(da->type, da->array, da->size, db->array, db->size, depth - 1);
        }
        case Form::buffer: {
            const auto* ba = reinterpret_cast<const pmix_data_buffer_t*>(a);
            const auto* bb = reinterpret_cast<const pmix_data_buffer_t*>(b);
            return compare_bytes(ba->base_ptr, ba->bytes_used, bb->base_ptr, bb->bytes_used);
        }
        case Form::info_flags:
            return 0;  // how an info is treated is no part of its content
        case Form::bitmap:
        case Form::topology: {
            if (pa() == pb()) return 0;
            if (pa() == nullptr || pb() == nullptr) return order(pa() != nullptr, pb() != nullptr);
            const OpaqueOps* ops = opaque_ops_for(ea);
            bool equal =
                f.form == Form::bitmap && opaque_ops_for(eb) == ops && ops != nullptr && ops->equal_bitmaps(pa(), pb());
            return equal ? 0 : kNoOrder;
        }
    }
    return kNoOrder;
}

int compare_fields(const TypeRow& row, const void* a, const void* b, unsigned depth) noexcept {
    for (const Field& f : fields_of(row)) {
        if (int c = compare_field(f, a, b, depth); c != 0) return c;
    }
    return 0;
}

int compare_deep(const pmix_value_t& a, const pmix_value_t& b, unsigned depth) noexcept {
    if (a.type != b.type) return kOtherType;
    const TypeRow* row = type_row(a.type);
    if (row == nullptr || depth == 0) return kNoOrder;
    const void* ea = held_element(*row, &a);
    const void* eb = held_element(*row, &b);
    if (ea == nullptr || eb == nullptr) return order(ea != nullptr, eb != nullptr);
    return compare_fields(*row, ea, eb, depth - 1);
}

// --- sizes -----------------------------------------------------------------------------------------------------------

pmix_status_t add_value(const pmix_value_t& value, size_t* sum, unsigned depth) noexcept;
pmix_status_t add_fields(const TypeRow& row, const void* element, size_t* sum, unsigned depth) noexcept;

pmix_status_t add_elements(pmix_data_type_t type, const void* elements, size_t n, size_t* sum,
                           unsigned depth) noexcept {
    if (elements == nullptr || n == 0) return PMIX_SUCCESS;
    const TypeRow* row = type_row(type);
    if (row == nullptr) return PMIX_ERR_UNKNOWN_DATA_TYPE;
    if (depth == 0) return PMIX_ERR_BAD_PARAM;
    *sum += n * row->size;
    if (row->plain) return PMIX_SUCCESS;
    for (size_t i = 0; i < n; ++i) {
        pmix_status_t rc = add_fields(*row, at(elements, i * row->size), sum, depth - 1);
        if (rc != PMIX_SUCCESS) return rc;
    }
    return PMIX_SUCCESS;
}

size_t string_bytes(const char* text) noexcept {
    return text == nullptr ? 0 : std::strlen(text) + 1;
}

// What the field holds beyond the bytes in its struct.
pmix_status_t add_field(const Field& f, const void* element, size_t* sum, unsigned depth) noexcept {
    const char* p = at(element, f.offset);
    switch (f.form) {
        case Form::string:
            *sum += string_bytes(load_field<const char*>(p, 0));
            return PMIX_SUCCESS;
        case Form::argv:
            if (auto* argv = load_field<char* const*>(p, 0)) {
                for (; *argv != nullptr; ++argv) *sum += sizeof(char*) + string_bytes(*argv);
                *sum += sizeof(char*);
            }
            return PMIX_SUCCESS;
        case Form::blob:
            if (load_field<const char*>(p, 0) != nullptr) *sum += load_field<size_t>(element, f.count_offset);
            return PMIX_SUCCESS;
        case Form::list:
            return add_elements(f.type, load_field<const void*>(p, 0), load_field<size_t>(element, f.count_offset), sum,
                                depth);
        case Form::record:
            return add_fields(kTypeTable[f.type], p, sum, depth);
        case Form::value:
            return add_value(*reinterpret_cast<const pmix_value_t*>(p), sum, depth);
        case Form::array: {
            const auto* a = reinterpret_cast<const pmix_data_array_t*>(p);
            return add_elements(a->type, a->array, a->size, sum, depth);
        }
        case Form::buffer: {
            const auto* b = reinterpret_cast<const pmix_data_buffer_t*>(p);
            if (b->base_ptr != nullptr) *sum += b->bytes_used;
            return PMIX_SUCCESS;
        }
        default:
            return PMIX_SUCCESS;
    }
}

pmix_status_t add_fields(const TypeRow& row, const void* element, size_t* sum, unsigned depth) noexcept {
    for (const Field& f : fields_of(row)) {
        if (pmix_status_t rc = add_field(f, element, sum, depth); rc != PMIX_SUCCESS) return rc;
    }
    return PMIX_SUCCESS;
}

pmix_status_t add_value(const pmix_value_t& value, size_t* sum, unsigned depth) noexcept {
    const TypeRow* row = type_row(value.type);
    if (row == nullptr) return PMIX_ERR_UNKNOWN_DATA_TYPE;
    if (depth == 0) return PMIX_ERR_BAD_PARAM;
    const void* element = held_element(*row, &value);
    if (element == nullptr) return PMIX_SUCCESS;
    if (row->held == Held::by_pointer) *sum += row->size;
    return add_fields(*row, element, sum, depth - 1);
}

}  // namespace

int compare_elements(pmix_data_type_t type, const void* a, const void* b, size_t n) noexcept {
    return compare_many(type, a, b, n, kDepth);
}

pmix_value_cmp_t compare_values(const pmix_value_t& a, const pmix_value_t& b) noexcept {
    if (a.type != b.type) return PMIX_VALUE_TYPE_DIFFERENT;
    switch (compare_deep(a, b, kDepth)) {
        case -1:
            return PMIX_VALUE2_GREATER;
        case 0:
            return PMIX_EQUAL;
        case 1:
            return PMIX_VALUE1_GREATER;
        case kOtherType:
            return PMIX_VALUE_INCOMPATIBLE_OBJECTS;  // arrays of different things
        default:
            return PMIX_VALUE_COMPARISON_NOT_AVAIL;
    }
}

pmix_status_t value_size(const pmix_value_t& value, size_t* out) noexcept {
    *out = 0;
    const TypeRow* row = type_row(value.type);
    if (row == nullptr || row->size == 0) return PMIX_ERR_UNKNOWN_DATA_TYPE;
    size_t sum = 0;
    if (value.type == PMIX_STRING) {
        sum = value.data.string == nullptr ? 1 : string_bytes(value.data.string);  // the text, not its pointer
    } else {
        if (row->held == Held::in_place) sum = row->size;
        pmix_status_t rc = add_value(value, &sum, kDepth);
        if (rc != PMIX_SUCCESS) return rc;
    }
    *out = sum;
    return PMIX_SUCCESS;
}

}  // namespace pmix::common

// SPDX-License-Identifier: BSD-3-Clause
// Values to bytes (portable.h).
#include <algorithm>
#include <cstring>
#include <optional>
#include <string_view>

#include "common/base/limits.h"
#include "common/base/opaque.h"
#include "common/base/portable_bytes.h"
#include "common/codec/portable.h"
#include "common/placement/locality.h"
#include "common/placement/node_map.h"
#include "common/values/elements.h"
#include "common/values/real_text.h"
#include "common/values/value.h"

namespace pmix::common {
namespace {

// How numbers are written: in as many bytes as they need, or in those of their type (portable.h).
struct FlexibleOut {
    static constexpr bool kTyped = false;
    static constexpr size_t kMaxBytes = kMaxFlexBytes;
    static uint8_t* count(uint8_t* out, int64_t n) noexcept { return put_flex(out, fold(n)); }
    static void size(BufferWriter& w, uint64_t n) { w.flex(n); }
    static void type(BufferWriter& w, pmix_data_type_t type) { w.flex(type); }
    template <class T>
    static uint8_t* number(uint8_t* out, T n) noexcept {
        if constexpr (std::is_signed_v<T>) return put_flex(out, fold(n));
        return put_flex(out, static_cast<uint64_t>(n));
    }
};
struct FixedOut {
    static constexpr bool kTyped = true;
    static constexpr size_t kMaxBytes = 8;
    static uint8_t* count(uint8_t* out, int64_t n) noexcept { return put_big(out, static_cast<uint32_t>(n)); }
    static void size(BufferWriter& w, uint64_t n) {
        type(w, PMIX_UINT64);
        w.wrote(put_big(w.reserve(8), n));
    }
    static void type(BufferWriter& w, pmix_data_type_t type) { w.wrote(put_big(w.reserve(2), type)); }
    template <class T>
    static uint8_t* number(uint8_t* out, T n) noexcept {
        return put_big(out, static_cast<std::make_unsigned_t<T>>(n));
    }
};

template <class N>
pmix_status_t put_fields(BufferWriter& w, const TypeRow& row, const void* element, unsigned depth);
template <class N>
pmix_status_t put_elements(BufferWriter& w, pmix_data_type_t type, const void* elements, size_t n, unsigned depth);
template <class N>
pmix_status_t put_value(BufferWriter& w, const pmix_value_t& value, unsigned depth);

template <class N>
void put_empty_array(BufferWriter& w) {
    N::type(w, w.typed_empty_arrays() ? PMIX_INFO : PMIX_UNDEF);
    N::size(w, 0);
}

template <class N>
void put_count(BufferWriter& w, int64_t n) {
    w.wrote(N::count(w.reserve(N::kMaxBytes), n));
}

void put_bools(BufferWriter& w, const char* p, size_t n) {
    uint8_t* out = w.reserve(n);
    copy_bools(out, p, n);
    w.wrote(out + n);
}

// One field of n elements, `stride` bytes apart.
template <class N, class T>
void put_numbers(BufferWriter& w, const char* p, size_t n, size_t stride) {
    constexpr size_t kStep = 256;
    while (n != 0) {
        const size_t k = std::min(n, kStep);
        uint8_t* out = w.reserve(k * N::kMaxBytes);
        for (size_t i = 0; i < k; ++i, p += stride) out = N::number(out, load_field<T>(p, 0));
        w.wrote(out);
        n -= k;
    }
}

template <class N>
pmix_status_t put_integers(BufferWriter& w, const Field& f, const char* p, size_t n, size_t stride) {
    const bool is_signed = f.travel == Travel::as_sint || (f.travel != Travel::as_uint && f.form == Form::sint);
    if (f.travel == Travel::pid) {
        if (n != 0) N::type(w, PMIX_UINT32);
        put_numbers<N, uint32_t>(w, p, n, stride);
        return PMIX_SUCCESS;
    }
    if (N::kTyped && n != 0 && (f.travel == Travel::typed || f.travel == Travel::as_sint)) {
        N::type(w, f.width == 8 ? PMIX_UINT64 : f.form == Form::sint ? PMIX_INT32 : PMIX_UINT32);
    }
    switch (f.width) {
        case 1:
            if (stride == 1) {
                w.raw(p, n);
            } else {
                for (size_t i = 0; i < n; ++i) w.byte(load_field<uint8_t>(p, i * stride));
            }
            break;
        case 2:
            if (is_signed) {
                put_numbers<N, int16_t>(w, p, n, stride);
            } else {
                put_numbers<N, uint16_t>(w, p, n, stride);
            }
            break;
        case 4:
            if (is_signed) {
                put_numbers<N, int32_t>(w, p, n, stride);
            } else {
                put_numbers<N, uint32_t>(w, p, n, stride);
            }
            break;
        default:
            if (is_signed) {
                put_numbers<N, int64_t>(w, p, n, stride);
            } else {
                put_numbers<N, uint64_t>(w, p, n, stride);
            }
            break;
    }
    return PMIX_SUCCESS;
}

// Characters and the NUL that follows them in the encoding, wherever they come from.
template <class N>
pmix_status_t put_text(BufferWriter& w, const char* text, size_t length) {
    if (length >= INT32_MAX) return PMIX_ERR_BAD_PARAM;
    uint8_t* out = w.reserve(N::kMaxBytes + length + 1);
    out = N::count(out, static_cast<int64_t>(length) + 1);
    std::memcpy(out, text, length);
    out += length;
    *out++ = 0;
    w.wrote(out);
    return PMIX_SUCCESS;
}

template <class N>
pmix_status_t put_string(BufferWriter& w, const char* text) {
    if (text != nullptr) return put_text<N>(w, text, std::strlen(text));
    put_count<N>(w, 0);
    return PMIX_SUCCESS;
}

template <class N>
pmix_status_t put_argv(BufferWriter& w, const Field& f, char* const* argv) {
    int64_t n = 0;
    while (argv != nullptr && argv[n] != nullptr) ++n;
    if (n > INT32_MAX) return PMIX_ERR_BAD_PARAM;
    if (N::kTyped && f.travel == Travel::typed) N::type(w, PMIX_INT32);
    put_count<N>(w, n);
    for (int64_t i = 0; i < n; ++i) {
        if (pmix_status_t rc = put_string<N>(w, argv[i]); rc != PMIX_SUCCESS) return rc;
    }
    return PMIX_SUCCESS;
}

template <class N>
void put_bytes(BufferWriter& w, const void* bytes, size_t n) {
    if (bytes == nullptr) n = 0;
    N::size(w, n);
    w.raw(bytes, n);
}

template <class N, class T>
pmix_status_t put_real(BufferWriter& w, T number) {
    char text[kMaxRealText];
    const size_t n = print_real(number, text);
    return put_text<N>(w, text, n);
}

// Without a size the map itself says where it ends. Nothing behind a size is read: of none is an empty map, and what
// has no NUL in it is given one.
template <class N>
pmix_status_t put_regex(BufferWriter& w, const char* map, std::optional<size_t> size) {
    if (size == 0u) map = nullptr;
    if (map != nullptr) {
        const size_t n = size ? regex_size(Bytes{reinterpret_cast<const uint8_t*>(map), *size}) : regex_size(map);
        if (n == 0 && size && std::memchr(map, 0, *size) == nullptr) {
            const std::string_view open(map, *size);
            if (!open.starts_with("pmix")) {
                put_count<N>(w, 1);
                return put_text<N>(w, map, *size);
            }
            w.raw(map, *size);
            w.raw("", 1);
            return PMIX_SUCCESS;
        }
        if (n == 0) return PMIX_ERR_BAD_PARAM;
        const std::string_view text(map, n);
        if (text.starts_with("pmix") || text.starts_with(std::string_view("blob:\0", 6))) {
            w.raw(map, n);
            return PMIX_SUCCESS;
        }
    }
    put_count<N>(w, 1);
    return put_string<N>(w, map);
}

}  // namespace

size_t support_bytes(const OpaqueOps* ops) noexcept {
    const bool newer = ops != nullptr && ops->support_size != nullptr && ops->support_size() > kSupportBytes;
    return newer ? kSupportBytesSince211 : kSupportBytes;
}

namespace {

// An hwloc object travels as text.
template <class N>
pmix_status_t put_opaque(BufferWriter& w, const Field& f, const void* element) {
    const auto* object = load_field<const void*>(element, f.offset);
    if (object == nullptr) return put_string<N>(w, nullptr);
    const OpaqueOps* ops = opaque_ops_for(element);
    if (ops == nullptr) return PMIX_ERR_NOT_SUPPORTED;
    struct Printed {
        char* p;
        ~Printed() { std::free(p); }
    } text{(f.form == Form::bitmap ? ops->print_bitmap : ops->print_topology)(object)};
    if (text.p == nullptr) return PMIX_ERR_NOMEM;
    if (pmix_status_t rc = put_string<N>(w, text.p); rc != PMIX_SUCCESS) return rc;
    if (f.form == Form::topology) {
        uint8_t support[kSupportBytesSince211] = {};
        const size_t size = w.support_bytes() == kUnknownSupport ? support_bytes(ops) : w.support_bytes();
        if (size != 0 && ops->get_support != nullptr) ops->get_support(object, support, size);
        w.raw(support, size);
    }
    return PMIX_SUCCESS;
}

template <class N>
pmix_status_t put_field(BufferWriter& w, const Field& f, const void* element, unsigned depth) {
    const char* p = at(element, f.offset);
    if (f.travel == Travel::absent) return PMIX_SUCCESS;
    if (f.travel == Travel::hwloc) {
        const auto* source = load_field<const char*>(p, 0);
        return source == nullptr || is_hwloc_source(source) ? PMIX_SUCCESS : PMIX_ERR_NOT_SUPPORTED;
    }
    switch (f.form) {
        case Form::boolean:
            w.byte(load_field<uint8_t>(p, 0) != 0);
            return PMIX_SUCCESS;
        case Form::sint:
        case Form::uint:
            return put_integers<N>(w, f, p, 1, f.width);
        case Form::real:
            return f.width == sizeof(float) ? put_real<N>(w, load_field<float>(p, 0))
                                            : put_real<N>(w, load_field<double>(p, 0));
        case Form::timeval: {
            const auto tv = load_field<struct timeval>(p, 0);
            uint8_t* out = N::number(w.reserve(2 * N::kMaxBytes), static_cast<int64_t>(tv.tv_sec));
            w.wrote(N::number(out, static_cast<int64_t>(tv.tv_usec)));
            return PMIX_SUCCESS;
        }
        case Form::address:
            w.byte(1);
            return PMIX_SUCCESS;
        // Whether the value is the holder's to free says nothing to another process.
        case Form::info_flags:
            w.wrote(N::number(w.reserve(N::kMaxBytes),
                              load_field<pmix_info_directives_t>(p, 0) & ~static_cast<uint32_t>(PMIX_INFO_PERSISTENT)));
            return PMIX_SUCCESS;
        case Form::chars:
            return put_text<N>(w, p, strnlen(p, f.width - 1u));
        case Form::string:
            return put_string<N>(w, load_field<const char*>(p, 0));
        case Form::argv:
            return put_argv<N>(w, f, load_field<char* const*>(p, 0));
        case Form::blob: {
            const auto* bytes = load_field<const char*>(p, 0);
            const auto n = load_field<size_t>(element, f.count_offset);
            if (f.travel == Travel::regex) return put_regex<N>(w, bytes, n);
            put_bytes<N>(w, bytes, n);
            return PMIX_SUCCESS;
        }
        case Form::list: {
            const auto* list = load_field<const void*>(p, 0);
            const size_t n = list == nullptr ? 0 : load_field<size_t>(element, f.count_offset);
            N::size(w, n);
            return put_elements<N>(w, f.type, list, n, depth);
        }
        case Form::record:
            return put_fields<N>(w, kTypeTable[f.type], p, depth);
        case Form::value:
            return put_value<N>(w, *reinterpret_cast<const pmix_value_t*>(p), depth);
        case Form::array: {
            const auto* a = reinterpret_cast<const pmix_data_array_t*>(p);
            if (depth == 0) return PMIX_ERR_BAD_PARAM;
            const size_t n = a->array == nullptr ? 0 : a->size;
            if (a->type == PMIX_UNDEF) {
                put_empty_array<N>(w);
                return n == 0 ? PMIX_SUCCESS : PMIX_ERR_UNKNOWN_DATA_TYPE;
            }
            N::type(w, a->type);
            N::size(w, n);
            return put_elements<N>(w, a->type, a->array, n, depth - 1);
        }
        case Form::buffer: {
            BufferView view;
            if (!view_buffer(*reinterpret_cast<const pmix_data_buffer_t*>(p), &view)) return PMIX_ERR_BAD_PARAM;
            put_bytes<N>(w, view.whole.data(), view.whole.size());
            return PMIX_SUCCESS;
        }
        case Form::bitmap:
        case Form::topology:
            return put_opaque<N>(w, f, element);
    }
    return PMIX_ERR_UNKNOWN_DATA_TYPE;
}

template <class N>
pmix_status_t put_fields(BufferWriter& w, const TypeRow& row, const void* element, unsigned depth) {
    for (const Field& f : fields_of(row)) {
        if (pmix_status_t rc = put_field<N>(w, f, element, depth); rc != PMIX_SUCCESS) return rc;
    }
    return PMIX_SUCCESS;
}

template <class N>
pmix_status_t put_elements(BufferWriter& w, pmix_data_type_t type, const void* elements, size_t n, unsigned depth) {
    if (n == 0) return PMIX_SUCCESS;
    const TypeRow* row = type_row(type);
    if (row == nullptr || row->size == 0) return PMIX_ERR_UNKNOWN_DATA_TYPE;
    const Field& first = fields_of(*row)[0];
    if (row->count == 1 && (first.form == Form::sint || first.form == Form::uint)) {
        return put_integers<N>(w, first, static_cast<const char*>(elements), n, row->size);
    }
    if (first.form == Form::boolean) {
        put_bools(w, static_cast<const char*>(elements), n);
        return PMIX_SUCCESS;
    }
    if (first.travel == Travel::sentinel) n = 1;
    for (size_t i = 0; i < n; ++i) {
        if (pmix_status_t rc = put_fields<N>(w, *row, at(elements, i * row->size), depth); rc != PMIX_SUCCESS)
            return rc;
    }
    return PMIX_SUCCESS;
}

template <class N>
pmix_status_t put_value(BufferWriter& w, const pmix_value_t& value, unsigned depth) {
    const TypeRow* row = type_row(value.type);
    if (row == nullptr) return PMIX_ERR_UNKNOWN_DATA_TYPE;
    N::type(w, value.type);
    if (row->size == 0) return PMIX_SUCCESS;
    const void* element = held_element(*row, &value);
    if (row->held == Held::by_pointer) {
        if (element == nullptr) {
            // An array that is not there is one that holds nothing. The others have no such form.
            if (value.type != PMIX_DATA_ARRAY) return PMIX_ERR_BAD_PARAM;
            put_empty_array<N>(w);
            return PMIX_SUCCESS;
        }
        if (value.type != PMIX_DATA_ARRAY) {
            if (depth == 0) return PMIX_ERR_BAD_PARAM;
            --depth;
        }
    }
    return put_fields<N>(w, *row, element, depth);
}

}  // namespace

bool is_described(Bytes bytes) noexcept {
    PortableReader r(bytes);
    if (r.byte() != PMIX_INT32) return false;
    const uint64_t count = r.flex();
    const uint64_t type = r.flex();
    return r.ok() && (count & 1) == 0 && type < kTypeRows;
}

namespace {

template <class N>
pmix_status_t put_call_elements(BufferWriter& w, const void* src, size_t n, pmix_data_type_t type) {
    const TypeRow* row = type_row(type);
    if (row == nullptr || row->size == 0) return PMIX_ERR_UNKNOWN_DATA_TYPE;
    if (type != PMIX_REGEX) return put_elements<N>(w, type, src, n, kMaxValueDepth);
    for (size_t i = 0; i < n; ++i) {
        WIREUP_RETURN_IF_ERROR(put_regex<N>(w, static_cast<const char* const*>(src)[i], std::nullopt));
    }
    return PMIX_SUCCESS;
}

template <class N>
void put_call_head(BufferWriter& w, size_t n, pmix_data_type_t type, bool described) {
    if (described) N::type(w, PMIX_INT32);
    put_count<N>(w, static_cast<int64_t>(n));
    if (described) N::type(w, type);
}

}  // namespace

pmix_status_t pack_values(pmix_data_buffer_t* buffer, const void* src, size_t n, pmix_data_type_t type) {
    const TypeRow* row = type_row(type);
    if (row == nullptr || row->size == 0) return PMIX_ERR_UNKNOWN_DATA_TYPE;
    BufferView there;
    if (n > INT32_MAX || !view_buffer(*buffer, &there)) return PMIX_ERR_BAD_PARAM;
    BufferWriter w(buffer);
    put_call_head<FlexibleOut>(w, n, type, is_described(there.whole));
    const pmix_status_t rc = put_call_elements<FlexibleOut>(w, src, n, type);
    if (rc == PMIX_SUCCESS) w.commit();
    return rc;
}

pmix_status_t begin_call(BufferWriter& w, size_t n, pmix_data_type_t type, CallForm form) {
    if (n > INT32_MAX) return PMIX_ERR_BAD_PARAM;
    form.fixed ? put_call_head<FixedOut>(w, n, type, form.described)
               : put_call_head<FlexibleOut>(w, n, type, form.described);
    return PMIX_SUCCESS;
}

pmix_status_t write_elements(BufferWriter& w, const void* src, size_t n, pmix_data_type_t type, CallForm form) {
    return form.fixed ? put_call_elements<FixedOut>(w, src, n, type) : put_call_elements<FlexibleOut>(w, src, n, type);
}

pmix_status_t append_unread(pmix_data_buffer_t* dest, const pmix_data_buffer_t& src) {
    BufferView to;
    BufferView from;
    if (!view_buffer(*dest, &to) || !view_buffer(src, &from)) return PMIX_ERR_BAD_PARAM;
    if (from.unread.empty()) return PMIX_SUCCESS;
    if (!to.whole.empty() && is_described(to.whole) != is_described(from.unread)) return PMIX_ERR_BAD_PARAM;
    BufferWriter w(dest);
    if (dest == &src) {
        // The block may move under its own bytes, which are its last.
        const size_t n = from.unread.size();
        uint8_t* end = w.reserve(n);
        std::memcpy(end, end - n, n);
        w.wrote(end + n);
    } else {
        w.raw(from.unread.data(), from.unread.size());
    }
    w.commit();
    return PMIX_SUCCESS;
}

}  // namespace pmix::common

// SPDX-License-Identifier: BSD-3-Clause
// Values to bytes (portable.h).
#include <algorithm>
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

pmix_status_t put_fields(BufferWriter& w, const TypeRow& row, const void* element, unsigned depth);
pmix_status_t put_elements(BufferWriter& w, pmix_data_type_t type, const void* elements, size_t n, unsigned depth);
pmix_status_t put_value(BufferWriter& w, const pmix_value_t& value, unsigned depth);

void put_type(BufferWriter& w, pmix_data_type_t type) {
    w.flex(type);
}

void put_bools(BufferWriter& w, const char* p, size_t n) {
    uint8_t* out = w.reserve(n);
    copy_bools(out, p, n);
    w.wrote(out + n);
}

// One field of n elements, `stride` bytes apart. `as` makes the number that travels.
template <class T, class As>
void put_numbers(BufferWriter& w, const char* p, size_t n, size_t stride, As as) {
    constexpr size_t kStep = 256;
    while (n != 0) {
        const size_t k = std::min(n, kStep);
        uint8_t* out = w.reserve(k * kMaxFlexBytes);
        for (size_t i = 0; i < k; ++i, p += stride) out = put_flex(out, as(load_field<T>(p, 0)));
        w.wrote(out);
        n -= k;
    }
}

pmix_status_t put_integers(BufferWriter& w, const Field& f, const char* p, size_t n, size_t stride) {
    const auto plain = [](auto number) { return static_cast<uint64_t>(number); };
    const auto folded = [](auto number) { return fold(number); };
    const bool is_signed = f.travel == Travel::as_sint || (f.travel == Travel::plain && f.form == Form::sint);
    if (f.travel == Travel::pid) {
        if (n != 0) put_type(w, PMIX_UINT32);
        put_numbers<uint32_t>(w, p, n, stride, plain);
        return PMIX_SUCCESS;
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
                put_numbers<int16_t>(w, p, n, stride, folded);
            } else {
                put_numbers<uint16_t>(w, p, n, stride, plain);
            }
            break;
        case 4:
            if (is_signed) {
                put_numbers<int32_t>(w, p, n, stride, folded);
            } else {
                put_numbers<uint32_t>(w, p, n, stride, plain);
            }
            break;
        default:
            if (is_signed) {
                put_numbers<int64_t>(w, p, n, stride, folded);
            } else {
                put_numbers<uint64_t>(w, p, n, stride, plain);
            }
            break;
    }
    return PMIX_SUCCESS;
}

// Characters and the NUL that follows them in the encoding, wherever they come from.
pmix_status_t put_text(BufferWriter& w, const char* text, size_t length) {
    if (length >= INT32_MAX) return PMIX_ERR_BAD_PARAM;
    uint8_t* out = w.reserve(kMaxFlexBytes + length + 1);
    out = put_flex(out, fold(static_cast<int64_t>(length) + 1));
    std::memcpy(out, text, length);
    out += length;
    *out++ = 0;
    w.wrote(out);
    return PMIX_SUCCESS;
}

pmix_status_t put_string(BufferWriter& w, const char* text) {
    if (text != nullptr) return put_text(w, text, std::strlen(text));
    w.byte(0);
    return PMIX_SUCCESS;
}

pmix_status_t put_argv(BufferWriter& w, char* const* argv) {
    int64_t n = 0;
    while (argv != nullptr && argv[n] != nullptr) ++n;
    if (n > INT32_MAX) return PMIX_ERR_BAD_PARAM;
    w.flex(fold(n));
    for (int64_t i = 0; i < n; ++i) {
        if (pmix_status_t rc = put_string(w, argv[i]); rc != PMIX_SUCCESS) return rc;
    }
    return PMIX_SUCCESS;
}

void put_bytes(BufferWriter& w, const void* bytes, size_t n) {
    if (bytes == nullptr) n = 0;
    w.flex(n);
    w.raw(bytes, n);
}

template <class T>
pmix_status_t put_real(BufferWriter& w, T number) {
    char text[kMaxRealText];
    const size_t n = print_real(number, text);
    return put_text(w, text, n);
}

// `size` is known or 0: then the map itself says where it ends.
pmix_status_t put_regex(BufferWriter& w, const char* map, size_t size) {
    if (map != nullptr) {
        const size_t n = size == 0 ? regex_size(map) : regex_size(Bytes{reinterpret_cast<const uint8_t*>(map), size});
        if (n == 0) return PMIX_ERR_BAD_PARAM;
        const std::string_view text(map, n);
        if (text.starts_with("pmix") || text.starts_with(std::string_view("blob:\0", 6))) {
            w.raw(map, n);
            return PMIX_SUCCESS;
        }
    }
    w.flex(fold(1));
    return put_string(w, map);
}

// An hwloc object travels as text.
pmix_status_t put_opaque(BufferWriter& w, const Field& f, const void* element) {
    const auto* object = load_field<const void*>(element, f.offset);
    if (object == nullptr) return put_string(w, nullptr);
    const OpaqueOps* ops = opaque_ops_for(element);
    if (ops == nullptr) return PMIX_ERR_NOT_SUPPORTED;
    struct Text {
        char* p;
        ~Text() { std::free(p); }
    } text{(f.form == Form::bitmap ? ops->print_bitmap : ops->print_topology)(object)};
    if (text.p == nullptr) return PMIX_ERR_NOMEM;
    if (pmix_status_t rc = put_string(w, text.p); rc != PMIX_SUCCESS) return rc;
    if (f.form == Form::topology) {
        uint8_t support[kSupportBytes] = {};
        if (ops->get_support != nullptr) ops->get_support(object, support, sizeof support);
        w.raw(support, sizeof support);
    }
    return PMIX_SUCCESS;
}

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
            return put_integers(w, f, p, 1, f.width);
        case Form::real:
            return f.width == sizeof(float) ? put_real(w, load_field<float>(p, 0))
                                            : put_real(w, load_field<double>(p, 0));
        case Form::timeval: {
            const auto tv = load_field<struct timeval>(p, 0);
            w.flex(fold(tv.tv_sec));
            w.flex(fold(tv.tv_usec));
            return PMIX_SUCCESS;
        }
        case Form::address:
            w.byte(1);
            return PMIX_SUCCESS;
        // Whether the value is the holder's to free says nothing to another process.
        case Form::info_flags:
            w.flex(load_field<pmix_info_directives_t>(p, 0) & ~static_cast<uint32_t>(PMIX_INFO_PERSISTENT));
            return PMIX_SUCCESS;
        case Form::chars:
            return put_text(w, p, strnlen(p, f.width - 1u));
        case Form::string:
            return put_string(w, load_field<const char*>(p, 0));
        case Form::argv:
            return put_argv(w, load_field<char* const*>(p, 0));
        case Form::blob: {
            const auto* bytes = load_field<const char*>(p, 0);
            const auto n = load_field<size_t>(element, f.count_offset);
            if (f.travel == Travel::regex) return put_regex(w, bytes, n);
            put_bytes(w, bytes, n);
            return PMIX_SUCCESS;
        }
        case Form::list: {
            const auto* list = load_field<const void*>(p, 0);
            const size_t n = list == nullptr ? 0 : load_field<size_t>(element, f.count_offset);
            w.flex(n);
            return put_elements(w, f.type, list, n, depth);
        }
        case Form::record:
            return put_fields(w, kTypeTable[f.type], p, depth);
        case Form::value:
            return put_value(w, *reinterpret_cast<const pmix_value_t*>(p), depth);
        case Form::array: {
            const auto* a = reinterpret_cast<const pmix_data_array_t*>(p);
            if (depth == 0) return PMIX_ERR_BAD_PARAM;
            const size_t n = a->array == nullptr ? 0 : a->size;
            put_type(w, a->type);
            w.flex(n);
            return put_elements(w, a->type, a->array, n, depth - 1);
        }
        case Form::buffer: {
            BufferView view;
            if (!view_buffer(*reinterpret_cast<const pmix_data_buffer_t*>(p), &view)) return PMIX_ERR_BAD_PARAM;
            put_bytes(w, view.whole.data(), view.whole.size());
            return PMIX_SUCCESS;
        }
        case Form::bitmap:
        case Form::topology:
            return put_opaque(w, f, element);
    }
    return PMIX_ERR_UNKNOWN_DATA_TYPE;
}

pmix_status_t put_fields(BufferWriter& w, const TypeRow& row, const void* element, unsigned depth) {
    for (const Field& f : fields_of(row)) {
        if (pmix_status_t rc = put_field(w, f, element, depth); rc != PMIX_SUCCESS) return rc;
    }
    return PMIX_SUCCESS;
}

pmix_status_t put_elements(BufferWriter& w, pmix_data_type_t type, const void* elements, size_t n, unsigned depth) {
    if (n == 0) return PMIX_SUCCESS;
    const TypeRow* row = type_row(type);
    if (row == nullptr || row->size == 0) return PMIX_ERR_UNKNOWN_DATA_TYPE;
    const Field& first = fields_of(*row)[0];
    if (row->count == 1 && (first.form == Form::sint || first.form == Form::uint)) {
        return put_integers(w, first, static_cast<const char*>(elements), n, row->size);
    }
    if (first.form == Form::boolean) {
        put_bools(w, static_cast<const char*>(elements), n);
        return PMIX_SUCCESS;
    }
    if (first.travel == Travel::sentinel) n = 1;
    for (size_t i = 0; i < n; ++i) {
        if (pmix_status_t rc = put_fields(w, *row, at(elements, i * row->size), depth); rc != PMIX_SUCCESS) return rc;
    }
    return PMIX_SUCCESS;
}

pmix_status_t put_value(BufferWriter& w, const pmix_value_t& value, unsigned depth) {
    const TypeRow* row = type_row(value.type);
    if (row == nullptr) return PMIX_ERR_UNKNOWN_DATA_TYPE;
    put_type(w, value.type);
    if (row->size == 0) return PMIX_SUCCESS;
    const void* element = held_element(*row, &value);
    if (row->held == Held::by_pointer) {
        if (element == nullptr) {
            // An array that is not there is one that holds nothing. The others have no such form.
            if (value.type != PMIX_DATA_ARRAY) return PMIX_ERR_BAD_PARAM;
            put_type(w, PMIX_UNDEF);
            w.flex(0);
            return PMIX_SUCCESS;
        }
        if (value.type != PMIX_DATA_ARRAY) {
            if (depth == 0) return PMIX_ERR_BAD_PARAM;
            --depth;
        }
    }
    return put_fields(w, *row, element, depth);
}

}  // namespace

bool is_described(Bytes bytes) noexcept {
    PortableReader r(bytes);
    if (r.byte() != PMIX_INT32) return false;
    const uint64_t count = r.flex();
    const uint64_t type = r.flex();
    return r.ok() && (count & 1) == 0 && type < kTypeRows;
}

pmix_status_t pack_values(pmix_data_buffer_t* buffer, const void* src, size_t n, pmix_data_type_t type) {
    const TypeRow* row = type_row(type);
    if (row == nullptr || row->size == 0) return PMIX_ERR_UNKNOWN_DATA_TYPE;
    BufferView there;
    if (n > INT32_MAX || !view_buffer(*buffer, &there)) return PMIX_ERR_BAD_PARAM;
    const bool described = is_described(there.whole);
    BufferWriter w(buffer);
    if (described) put_type(w, PMIX_INT32);
    w.flex(fold(static_cast<int64_t>(n)));
    if (described) put_type(w, type);
    pmix_status_t rc = PMIX_SUCCESS;
    if (type == PMIX_REGEX) {
        for (size_t i = 0; i < n && rc == PMIX_SUCCESS; ++i) {
            rc = put_regex(w, static_cast<const char* const*>(src)[i], 0);
        }
    } else {
        rc = put_elements(w, type, src, n, kMaxValueDepth);
    }
    if (rc == PMIX_SUCCESS) w.commit();
    return rc;
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

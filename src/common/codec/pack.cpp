// SPDX-License-Identifier: BSD-3-Clause
#include "common/codec/pack.h"

#include "common/base/opaque.h"
#include "common/values/elements.h"

namespace pmix::common {
namespace {

pmix_status_t encode_fields(ByteWriter& w, const TypeRow& row, const void* element, unsigned depth);
pmix_status_t encode_value_deep(ByteWriter& w, const pmix_value_t& value, unsigned depth);

void encode_number(ByteWriter& w, const void* p, size_t width) {
    switch (width) {
        case 1:
            w.u8(load_field<uint8_t>(p, 0));
            break;
        case 2:
            w.u16(load_field<uint16_t>(p, 0));
            break;
        case 4:
            w.u32(load_field<uint32_t>(p, 0));
            break;
        default:
            w.u64(load_field<uint64_t>(p, 0));
            break;
    }
}

pmix_status_t encode_string(ByteWriter& w, const char* text) {
    if (text == nullptr) {
        w.u32(0);
        return PMIX_SUCCESS;
    }
    size_t n = std::strlen(text) + 1;
    if (n >= kNullBytes) return PMIX_ERR_BAD_PARAM;
    w.u32(static_cast<uint32_t>(n));
    w.raw(text, n);
    return PMIX_SUCCESS;
}

pmix_status_t encode_argv(ByteWriter& w, char* const* argv) {
    if (argv == nullptr) {
        w.u32(0);
        return PMIX_SUCCESS;
    }
    size_t hole = w.hole_u32();
    uint32_t n = 0;
    for (; argv[n] != nullptr; ++n) {
        if (pmix_status_t rc = encode_string(w, argv[n]); rc != PMIX_SUCCESS) return rc;
    }
    w.patch_u32(hole, n + 1);
    return PMIX_SUCCESS;
}

pmix_status_t encode_elements(ByteWriter& w, pmix_data_type_t type, const void* elements, size_t n, unsigned depth) {
    if (elements == nullptr) n = 0;
    const TypeRow* row = type_row(type);
    if (n != 0 && (row == nullptr || row->size == 0)) return PMIX_ERR_UNKNOWN_DATA_TYPE;
    if (n > most_elements(row)) return PMIX_ERR_BAD_PARAM;
    w.u32(static_cast<uint32_t>(n));
    if (n != 0 && row->plain && kLittleEndian) {
        w.raw(elements, n * row->size);
        return PMIX_SUCCESS;
    }
    for (size_t i = 0; i < n; ++i) {
        pmix_status_t rc = encode_fields(w, *row, at(elements, i * row->size), depth);
        if (rc != PMIX_SUCCESS) return rc;
    }
    return PMIX_SUCCESS;
}

// An hwloc object travels as text: nothing without one.
pmix_status_t encode_opaque(ByteWriter& w, const Field& f, const void* element) {
    const void* object = load_field<const void*>(element, f.offset);
    if (object == nullptr) return encode_string(w, nullptr);
    const OpaqueOps* ops = opaque_ops_for(element);
    if (ops == nullptr) return PMIX_ERR_NOT_SUPPORTED;
    char* text = (f.form == Form::bitmap ? ops->print_bitmap : ops->print_topology)(object);
    if (text == nullptr) return PMIX_ERR_NOMEM;
    pmix_status_t rc = PMIX_ERR_NOMEM;
    try {
        rc = encode_string(w, text);
    } catch (...) {
        std::free(text);
        throw;
    }
    std::free(text);
    return rc;
}

pmix_status_t encode_buffer(ByteWriter& w, const pmix_data_buffer_t& b) {
    size_t used = b.base_ptr == nullptr ? 0 : b.bytes_used;
    size_t read = b.base_ptr == nullptr || b.unpack_ptr == nullptr ? 0 : static_cast<size_t>(b.unpack_ptr - b.base_ptr);
    if (used >= kNullBytes || read > used) return PMIX_ERR_BAD_PARAM;
    w.u32(static_cast<uint32_t>(read));
    w.u32(static_cast<uint32_t>(used));
    w.raw(b.base_ptr, used);
    return PMIX_SUCCESS;
}

pmix_status_t encode_field(ByteWriter& w, const Field& f, const void* element, unsigned depth) {
    const char* p = at(element, f.offset);
    switch (f.form) {
        case Form::boolean:
            w.u8(load_field<uint8_t>(p, 0) != 0);
            return PMIX_SUCCESS;
        case Form::sint:
        case Form::uint:
        case Form::real:
            encode_number(w, p, f.width);
            return PMIX_SUCCESS;
        case Form::address:
            w.u64(load_field<uintptr_t>(p, 0));
            return PMIX_SUCCESS;
        case Form::timeval: {
            auto tv = load_field<struct timeval>(p, 0);
            w.u64(static_cast<uint64_t>(tv.tv_sec));
            w.u64(static_cast<uint64_t>(tv.tv_usec));
            return PMIX_SUCCESS;
        }
        case Form::info_flags: {
            auto flags = load_field<pmix_info_directives_t>(p, 0);
            w.u32(flags & ~static_cast<uint32_t>(PMIX_INFO_ARRAY_END | PMIX_INFO_PERSISTENT));
            return PMIX_SUCCESS;
        }
        case Form::chars: {
            size_t n = bounded_length(p, f.width - 1u);
            w.u16(static_cast<uint16_t>(n));
            w.raw(p, n);
            return PMIX_SUCCESS;
        }
        case Form::string:
            return encode_string(w, load_field<const char*>(p, 0));
        case Form::argv:
            return encode_argv(w, load_field<char* const*>(p, 0));
        case Form::blob: {
            const void* bytes = load_field<const void*>(p, 0);
            size_t n = load_field<size_t>(element, f.count_offset);
            if (bytes == nullptr) {
                w.u32(kNullBytes);
                return PMIX_SUCCESS;
            }
            if (n >= kNullBytes) return PMIX_ERR_BAD_PARAM;
            w.u32(static_cast<uint32_t>(n));
            w.raw(bytes, n);
            return PMIX_SUCCESS;
        }
        case Form::list:
            return encode_elements(w, f.type, load_field<const void*>(p, 0),
                                   load_field<size_t>(element, f.count_offset), depth);
        case Form::record:
            return encode_fields(w, kTypeTable[f.type], p, depth);
        case Form::value:
            return encode_value_deep(w, *reinterpret_cast<const pmix_value_t*>(p), depth);
        case Form::array: {
            const auto* a = reinterpret_cast<const pmix_data_array_t*>(p);
            if (depth == 0) return PMIX_ERR_BAD_PARAM;
            w.u16(a->type);
            return encode_elements(w, a->type, a->array, a->size, depth - 1);
        }
        case Form::buffer:
            return encode_buffer(w, *reinterpret_cast<const pmix_data_buffer_t*>(p));
        case Form::bitmap:
        case Form::topology:
            return encode_opaque(w, f, element);
    }
    return PMIX_ERR_UNKNOWN_DATA_TYPE;
}

pmix_status_t encode_fields(ByteWriter& w, const TypeRow& row, const void* element, unsigned depth) {
    for (const Field& f : fields_of(row)) {
        if (pmix_status_t rc = encode_field(w, f, element, depth); rc != PMIX_SUCCESS) return rc;
    }
    return PMIX_SUCCESS;
}

pmix_status_t encode_value_deep(ByteWriter& w, const pmix_value_t& value, unsigned depth) {
    const TypeRow* row = type_row(value.type);
    if (row == nullptr) return PMIX_ERR_UNKNOWN_DATA_TYPE;
    const void* element = held_element(*row, &value);
    w.u16(value.type);
    if (row->held == Held::by_pointer) {
        w.u8(element != nullptr);
        if (element == nullptr) return PMIX_SUCCESS;
        if (value.type != PMIX_DATA_ARRAY) {
            if (depth == 0) return PMIX_ERR_BAD_PARAM;
            --depth;
        }
    }
    return encode_fields(w, *row, element, depth);
}

// A list that fails leaves nothing in the writer.
template <class F>
pmix_status_t all_or_nothing(ByteWriter& w, F&& encode) {
    size_t before = w.size();
    pmix_status_t rc = encode();
    if (rc != PMIX_SUCCESS) w.cut(before);
    return rc;
}

}  // namespace

pmix_status_t encode_value(ByteWriter& w, const pmix_value_t& value) {
    return all_or_nothing(w, [&] { return encode_value_deep(w, value, kMaxValueDepth); });
}

size_t encode_scalar(pmix_data_type_t type, uint64_t number, uint8_t (&out)[kMaxScalarBytes]) noexcept {
    const TypeRow* row = type_row(type);
    if (row == nullptr || (!row->plain && type != PMIX_BOOL)) return 0;
    store_le<uint16_t>(out, type);
    if (type == PMIX_BOOL) number = number != 0;
    switch (row->size) {
        case 1:
            out[2] = static_cast<uint8_t>(number);
            break;
        case 2:
            store_le(out + 2, static_cast<uint16_t>(number));
            break;
        case 4:
            store_le(out + 2, static_cast<uint32_t>(number));
            break;
        default:
            store_le(out + 2, number);
            break;
    }
    return 2u + row->size;
}

size_t encode_number(const pmix_value_t& value, uint8_t (&out)[kMaxScalarBytes]) noexcept {
    const TypeRow* row = type_row(value.type);
    if (!kLittleEndian || row == nullptr || !row->plain || row->held != Held::in_place) return 0;
    store_le<uint16_t>(out, value.type);
    std::memcpy(out + 2, held_element(*row, &value), row->size);
    return 2u + row->size;
}

void encode_string_value(ByteWriter& w, std::string_view text) {
    w.u16(PMIX_STRING);
    w.u32(static_cast<uint32_t>(text.size() + 1));
    w.raw(text.data(), text.size());
    w.u8(0);
}

pmix_status_t encode_list(ByteWriter& w, pmix_data_type_t type, const void* elements, size_t n) {
    return all_or_nothing(w, [&] { return encode_elements(w, type, elements, n, kMaxValueDepth); });
}

pmix_status_t encode_element(ByteWriter& w, pmix_data_type_t type, const void* element) {
    const TypeRow* row = type_row(type);
    if (row == nullptr) return PMIX_ERR_UNKNOWN_DATA_TYPE;
    return all_or_nothing(w, [&] { return encode_fields(w, *row, element, kMaxValueDepth); });
}

pmix_status_t encode_infos(ByteWriter& w, const pmix_info_t* infos, size_t n) {
    return encode_list(w, PMIX_INFO, infos, n);
}

pmix_status_t encode_info(ByteWriter& w, const pmix_info_t& info) {
    return encode_element(w, PMIX_INFO, &info);
}

}  // namespace pmix::common

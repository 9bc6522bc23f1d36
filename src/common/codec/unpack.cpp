// SPDX-License-Identifier: BSD-3-Clause
// The decoders of pack.h, for bytes of anybody.
#include "common/base/opaque.h"
#include "common/codec/pack.h"
#include "common/values/elements.h"

namespace pmix::common {
namespace {

// How deep a value may still nest, and what becomes of an hwloc object where nobody can make one.
struct Way {
    unsigned depth = kMaxValueDepth;
    Opaque opaque = Opaque::required;
    Way deeper() const noexcept { return {depth - 1, opaque}; }
};

pmix_status_t decode_fields(ByteReader& r, const TypeRow& row, void* element, Way way) noexcept;
pmix_status_t decode_value_deep(ByteReader& r, pmix_value_t* out, Way way) noexcept;

pmix_status_t read_state(const ByteReader& r) noexcept {
    return r.ok() ? PMIX_SUCCESS : PMIX_ERR_UNPACK_FAILURE;
}

void decode_number(ByteReader& r, void* p, size_t width) noexcept {
    switch (width) {
        case 1:
            store_field(p, 0, r.u8());
            break;
        case 2:
            store_field(p, 0, r.u16());
            break;
        case 4:
            store_field(p, 0, r.u32());
            break;
        default:
            store_field(p, 0, r.u64());
            break;
    }
}

// The string's bytes with their NUL; empty for NULL. A string without its NUL fails the reader.
Bytes read_string(ByteReader& r) noexcept {
    Bytes b = r.bytes();
    if (!b.empty() && b.back() != 0) {
        r.fail();
        return {};
    }
    return b;
}

pmix_status_t decode_string(ByteReader& r, char** out) noexcept {
    *out = nullptr;
    Bytes b = read_string(r);
    if (!r.ok()) return PMIX_ERR_UNPACK_FAILURE;
    return b.empty() ? PMIX_SUCCESS : copy_out(b, out);
}

// The argv is linked to its owner before its strings are there, so a failure half-way is cleaned up by the owner.
pmix_status_t decode_argv(ByteReader& r, char*** out) noexcept {
    uint32_t marked = r.u32();
    if (marked == 0) return read_state(r);
    uint32_t n = marked - 1;
    if (n > r.left() / 4) {
        r.fail();
        return PMIX_ERR_UNPACK_FAILURE;
    }
    auto** argv = static_cast<char**>(std::calloc(size_t{n} + 1, sizeof(char*)));
    if (argv == nullptr) return PMIX_ERR_NOMEM;
    *out = argv;
    for (uint32_t i = 0; i < n; ++i) {
        pmix_status_t rc = decode_string(r, &argv[i]);
        if (rc != PMIX_SUCCESS) return rc;
        if (argv[i] == nullptr) return PMIX_ERR_UNPACK_FAILURE;  // a NULL inside would hide what follows
    }
    return PMIX_SUCCESS;
}

// As above: *out and *n are set first, over zeroed elements.
pmix_status_t decode_elements(ByteReader& r, pmix_data_type_t type, void** out, size_t* n, Way way) noexcept {
    *out = nullptr;
    *n = 0;
    const TypeRow* row = type_row(type);
    uint32_t count = r.count(row == nullptr ? 1 : row->min_bytes);
    if (!r.ok()) return PMIX_ERR_UNPACK_FAILURE;
    if (count == 0) return PMIX_SUCCESS;
    if (row == nullptr) return PMIX_ERR_UNKNOWN_DATA_TYPE;
    if (count > most_elements(row) || !r.spend(size_t{count} * row->size)) return PMIX_ERR_UNPACK_FAILURE;
    pmix_status_t rc = create_array(type, count, out);
    if (rc != PMIX_SUCCESS) return rc;
    *n = count;
    if (row->plain && kLittleEndian) {
        Bytes b = r.raw(size_t{count} * row->size);
        if (!r.ok()) return PMIX_ERR_UNPACK_FAILURE;
        std::memcpy(*out, b.data(), b.size());
        return PMIX_SUCCESS;
    }
    for (uint32_t i = 0; i < count; ++i) {
        rc = decode_fields(r, *row, at(*out, i * size_t{row->size}), way);
        if (rc != PMIX_SUCCESS) return rc;
    }
    if (type == PMIX_INFO) static_cast<pmix_info_t*>(*out)[count - 1].flags |= PMIX_INFO_ARRAY_END;
    return PMIX_SUCCESS;
}

// This library parses a bitmap itself, within bounds. A topology's XML goes to hwloc's parser, which was not written
// for hostile input: only a process that works with topologies itself accepts one. The source has been decoded already:
// nobody could free an object whose source is not hwloc.
pmix_status_t decode_opaque(ByteReader& r, Form form, const void* element, void* p, Opaque opaque) noexcept {
    Bytes text = read_string(r);
    if (!r.ok()) return PMIX_ERR_UNPACK_FAILURE;
    if (text.empty()) return PMIX_SUCCESS;
    if (!is_hwloc_source(load_field<const char*>(element, offsetof(pmix_cpuset_t, source))))
        return PMIX_ERR_UNPACK_FAILURE;
    const OpaqueOps* ops = form == Form::bitmap ? open_opaque_ops() : opaque_ops();
    if (ops == nullptr) return opaque == Opaque::required ? PMIX_ERR_NOT_SUPPORTED : PMIX_SUCCESS;
    void* object =
        (form == Form::bitmap ? ops->parse_bitmap : ops->parse_topology)(reinterpret_cast<const char*>(text.data()));
    store_field(p, 0, object);
    return object == nullptr ? PMIX_ERR_UNPACK_FAILURE : PMIX_SUCCESS;
}

pmix_status_t decode_buffer(ByteReader& r, pmix_data_buffer_t* b) noexcept {
    uint32_t read = r.u32();
    Bytes bytes = r.bytes();
    if (!r.ok() || read > bytes.size()) return PMIX_ERR_UNPACK_FAILURE;
    if (bytes.empty()) return PMIX_SUCCESS;
    if (pmix_status_t rc = copy_out(bytes, &b->base_ptr); rc != PMIX_SUCCESS) return rc;
    b->pack_ptr = b->base_ptr + bytes.size();
    b->unpack_ptr = b->base_ptr + read;
    b->bytes_allocated = b->bytes_used = bytes.size();
    return PMIX_SUCCESS;
}

pmix_status_t decode_field(ByteReader& r, const Field& f, void* element, Way way) noexcept {
    char* p = at(element, f.offset);
    switch (f.form) {
        case Form::boolean:
            store_field<uint8_t>(p, 0, r.u8() != 0);
            return read_state(r);
        case Form::sint:
        case Form::uint:
        case Form::real:
            decode_number(r, p, f.width);
            return read_state(r);
        case Form::address:
            store_field(p, 0, static_cast<uintptr_t>(r.u64()));
            return read_state(r);
        case Form::timeval: {
            struct timeval tv;
            tv.tv_sec = static_cast<time_t>(r.u64());
            tv.tv_usec = static_cast<suseconds_t>(r.u64());
            store_field(p, 0, tv);
            return read_state(r);
        }
        case Form::info_flags:
            store_field<pmix_info_directives_t>(
                p, 0, r.u32() & ~static_cast<uint32_t>(PMIX_INFO_ARRAY_END | PMIX_INFO_PERSISTENT));
            return read_state(r);
        case Form::chars: {
            Bytes b = r.raw(r.u16());
            if (!r.ok() || b.size() >= f.width) return PMIX_ERR_UNPACK_FAILURE;
            if (!b.empty()) std::memcpy(p, b.data(), b.size());
            return PMIX_SUCCESS;
        }
        case Form::string: {
            char* text = nullptr;
            pmix_status_t rc = decode_string(r, &text);
            store_field(p, 0, text);
            return rc;
        }
        case Form::argv: {
            char** argv = nullptr;
            pmix_status_t rc = decode_argv(r, &argv);
            store_field(p, 0, argv);
            return rc;
        }
        case Form::blob: {
            uint32_t n = r.u32();
            if (n == kNullBytes) return read_state(r);
            Bytes b = r.raw(n);
            if (!r.ok()) return PMIX_ERR_UNPACK_FAILURE;
            char* bytes = nullptr;
            pmix_status_t rc = copy_out(b, &bytes);
            store_field(p, 0, bytes);
            store_field(element, f.count_offset, bytes == nullptr ? size_t{0} : b.size());
            return rc;
        }
        case Form::list: {
            void* list = nullptr;
            size_t n = 0;
            pmix_status_t rc = decode_elements(r, f.type, &list, &n, way);
            store_field(p, 0, list);
            store_field(element, f.count_offset, n);
            return rc;
        }
        case Form::record:
            return decode_fields(r, kTypeTable[f.type], p, way);
        case Form::value:
            return decode_value_deep(r, reinterpret_cast<pmix_value_t*>(p), way);
        case Form::array: {
            auto* a = reinterpret_cast<pmix_data_array_t*>(p);
            if (way.depth == 0) return PMIX_ERR_UNPACK_FAILURE;
            a->type = r.u16();
            return decode_elements(r, a->type, &a->array, &a->size, way.deeper());
        }
        case Form::buffer:
            return decode_buffer(r, reinterpret_cast<pmix_data_buffer_t*>(p));
        case Form::bitmap:
        case Form::topology:
            return decode_opaque(r, f.form, element, p, way.opaque);
    }
    return PMIX_ERR_UNKNOWN_DATA_TYPE;
}

pmix_status_t decode_fields(ByteReader& r, const TypeRow& row, void* element, Way way) noexcept {
    for (const Field& f : fields_of(row)) {
        if (pmix_status_t rc = decode_field(r, f, element, way); rc != PMIX_SUCCESS) return rc;
    }
    return PMIX_SUCCESS;
}

// *out is filled so far that its owner (or the caller) can destroy it, whatever is returned.
pmix_status_t decode_value_deep(ByteReader& r, pmix_value_t* out, Way way) noexcept {
    std::memset(out, 0, sizeof *out);
    pmix_data_type_t type = r.u16();
    if (!r.ok()) return PMIX_ERR_UNPACK_FAILURE;
    const TypeRow* row = type_row(type);
    if (row == nullptr) return PMIX_ERR_UNKNOWN_DATA_TYPE;
    out->type = type;
    void* element = value_data(out);
    if (row->held == Held::by_pointer) {
        uint8_t present = r.u8();
        if (!r.ok() || present > 1) return PMIX_ERR_UNPACK_FAILURE;
        if (present == 0) return PMIX_SUCCESS;
        if (type != PMIX_DATA_ARRAY) {
            if (way.depth == 0) return PMIX_ERR_UNPACK_FAILURE;
            way = way.deeper();
        }
        if (!r.spend(row->size)) return PMIX_ERR_UNPACK_FAILURE;
        element = std::calloc(1, row->size);
        if (element == nullptr) return PMIX_ERR_NOMEM;
        out->data.ptr = element;
    }
    return decode_fields(r, *row, element, way);
}

}  // namespace

pmix_status_t decode_value(ByteReader& r, pmix_value_t* out) noexcept {
    pmix_status_t rc = decode_value_deep(r, out, {});
    if (rc != PMIX_SUCCESS) destroy_value(out);
    return rc;
}

pmix_status_t borrow_value(Bytes encoded, pmix_value_t* out) noexcept {
    std::memset(out, 0, sizeof *out);
    if (encoded.size() < 2) return PMIX_ERR_UNPACK_FAILURE;
    const uint8_t* payload = encoded.data() + 2;
    size_t left = encoded.size() - 2;
    pmix_data_type_t type = load_le<uint16_t>(encoded.data());
    const TypeRow* row = type_row(type);
    if (row == nullptr) return PMIX_ERR_UNKNOWN_DATA_TYPE;
    if (row->plain && kLittleEndian) {
        if (left != row->size) return PMIX_ERR_UNPACK_FAILURE;
        std::memcpy(value_data(out), payload, row->size);
        out->type = type;
        return PMIX_SUCCESS;
    }
    switch (row->count == 1 ? fields_of(*row)[0].form : Form::record) {
        case Form::string: {
            if (left < 4 || load_le<uint32_t>(payload) != left - 4) return PMIX_ERR_UNPACK_FAILURE;
            if (left > 4) {
                if (payload[left - 1] != 0) return PMIX_ERR_UNPACK_FAILURE;
                out->data.string = reinterpret_cast<char*>(const_cast<uint8_t*>(payload + 4));
            }
            break;
        }
        case Form::blob: {
            if (left < 4) return PMIX_ERR_UNPACK_FAILURE;
            uint32_t n = load_le<uint32_t>(payload);
            if (n == kNullBytes ? left != 4 : n != left - 4) return PMIX_ERR_UNPACK_FAILURE;
            if (n != kNullBytes) {
                out->data.bo.bytes = reinterpret_cast<char*>(const_cast<uint8_t*>(payload + 4));
                out->data.bo.size = n;
            }
            break;
        }
        case Form::boolean:
        case Form::sint:
        case Form::uint:
        case Form::real:
        case Form::timeval:
        case Form::address: {
            ByteReader r({payload, left});
            pmix_status_t rc = decode_fields(r, *row, value_data(out), {.depth = 0});
            if (rc != PMIX_SUCCESS || !r.finished()) {
                std::memset(out, 0, sizeof *out);
                return PMIX_ERR_UNPACK_FAILURE;
            }
            break;
        }
        default:
            if (type != PMIX_UNDEF) return PMIX_ERR_GET_MALLOC_REQD;
            if (left != 0) return PMIX_ERR_UNPACK_FAILURE;
    }
    out->type = type;
    return PMIX_SUCCESS;
}

pmix_status_t decode_value_into(Bytes encoded, pmix_value_t* out) noexcept {
    pmix_status_t rc = borrow_value(encoded, out);
    if (rc == PMIX_SUCCESS) {
        // What is borrowed becomes a copy; numbers are in *out already.
        if (out->type == PMIX_STRING) {
            if (out->data.string == nullptr) return PMIX_SUCCESS;
            rc = copy_out(encoded.subspan(kBytesOffset), &out->data.string);
        } else if (type_row(out->type)->count == 1 && fields_of(*type_row(out->type))[0].form == Form::blob) {
            if (out->data.bo.bytes == nullptr) return PMIX_SUCCESS;
            rc = copy_out(encoded.subspan(kBytesOffset), &out->data.bo.bytes);
        }
        if (rc != PMIX_SUCCESS) std::memset(out, 0, sizeof *out);
        return rc;
    }
    if (rc != PMIX_ERR_GET_MALLOC_REQD) return rc;
    ByteReader r(encoded);
    rc = decode_value(r, out);
    if (rc == PMIX_SUCCESS && !r.finished()) {
        destroy_value(out);
        return PMIX_ERR_UNPACK_FAILURE;
    }
    return rc;
}

pmix_status_t decode_list(ByteReader& r, pmix_data_type_t type, void** out, size_t* n, Opaque opaque) noexcept {
    pmix_status_t rc = decode_elements(r, type, out, n, {.opaque = opaque});
    if (rc != PMIX_SUCCESS) {
        destroy_array(type, *out, *n);
        *out = nullptr;
        *n = 0;
    }
    return rc;
}

pmix_status_t decode_infos(ByteReader& r, InfoList* out, Opaque opaque) noexcept {
    void* p = nullptr;
    size_t n = 0;
    pmix_status_t rc = decode_list(r, PMIX_INFO, &p, &n, opaque);
    *out = InfoList::take_over(static_cast<pmix_info_t*>(p), n);
    return rc;
}

}  // namespace pmix::common

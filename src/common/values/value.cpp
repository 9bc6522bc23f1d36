// SPDX-License-Identifier: BSD-3-Clause
#include "common/values/value.h"

#include <atomic>
#include <cstdint>

#include "common/base/opaque.h"
#include "common/values/elements.h"

namespace pmix::common {
namespace {

constinit std::atomic<const OpaqueOps*> g_opaque{nullptr};
constinit std::atomic<OpaqueOpener> g_opaque_opener{nullptr};

constexpr pmix_info_directives_t kMemoryFlags = PMIX_INFO_ARRAY_END | PMIX_INFO_PERSISTENT;

void mark_end(pmix_data_type_t type, void* array, size_t n) noexcept {
    if (type == PMIX_INFO && n > 0) static_cast<pmix_info_t*>(array)[n - 1].flags |= PMIX_INFO_ARRAY_END;
}

// --- destroy ---------------------------------------------------------------------------------------------------------

void destroy_fields(const TypeRow& row, void* element) noexcept;

void destroy_buffer(pmix_data_buffer_t* b) noexcept {
    std::free(b->base_ptr);
    std::memset(b, 0, sizeof *b);
}

void destroy_field(const Field& f, void* element) noexcept {
    char* p = at(element, f.offset);
    switch (f.form) {
        case Form::string:
            std::free(load_field<void*>(p, 0));
            store_field<void*>(p, 0, nullptr);
            break;
        case Form::argv:
            if (char** argv = load_field<char**>(p, 0)) {
                for (char** a = argv; *a != nullptr; ++a) std::free(*a);
                std::free(argv);
                store_field<void*>(p, 0, nullptr);
            }
            break;
        case Form::blob:
            std::free(load_field<void*>(p, 0));
            store_field<void*>(p, 0, nullptr);
            store_field<size_t>(element, f.count_offset, 0);
            break;
        case Form::list:
            destroy_array(f.type, load_field<void*>(p, 0), load_field<size_t>(element, f.count_offset));
            store_field<void*>(p, 0, nullptr);
            store_field<size_t>(element, f.count_offset, 0);
            break;
        case Form::record:
            destroy_fields(kTypeTable[f.type], p);
            break;
        case Form::value:
            destroy_value(reinterpret_cast<pmix_value_t*>(p));
            break;
        case Form::array: {
            auto* a = reinterpret_cast<pmix_data_array_t*>(p);
            destroy_array(a->type, a->array, a->size);
            std::memset(a, 0, sizeof *a);
            break;
        }
        case Form::buffer:
            destroy_buffer(reinterpret_cast<pmix_data_buffer_t*>(p));
            break;
        case Form::bitmap:
        case Form::topology:
            if (void* object = load_field<void*>(p, 0)) {
                if (const OpaqueOps* ops = opaque_ops_for(element)) {
                    (f.form == Form::bitmap ? ops->free_bitmap : ops->free_topology)(object);
                }
                store_field<void*>(p, 0, nullptr);
            }
            break;
        default:
            break;  // numbers and characters own nothing
    }
}

void destroy_fields(const TypeRow& row, void* element) noexcept {
    const auto fields = fields_of(row);
    // An hwloc object, the last field of its struct, is destroyed before the source, which tells which library frees
    // it.
    if (!fields.empty() && (fields.back().form == Form::bitmap || fields.back().form == Form::topology)) {
        destroy_field(fields.back(), element);
    }
    for (const Field& f : fields) {
        // A persistent info's value belongs to somebody else.
        if (f.form == Form::info_flags &&
            (load_field<pmix_info_directives_t>(element, f.offset) & PMIX_INFO_PERSISTENT) != 0) {
            return;
        }
        destroy_field(f, element);
    }
}

// --- copy ------------------------------------------------------------------------------------------------------------

pmix_status_t copy_fields(const TypeRow& row, void* dst, const void* src, unsigned depth) noexcept;
pmix_status_t copy_array_deep(pmix_data_type_t type, const void* src, size_t n, void** out, unsigned depth) noexcept;
pmix_status_t copy_value_deep(pmix_value_t* dst, const pmix_value_t& src, unsigned depth) noexcept;

pmix_status_t copy_bytes(const void* src, size_t n, void** out) noexcept {
    *out = nullptr;
    if (src == nullptr) return PMIX_SUCCESS;
    void* p = std::malloc(n == 0 ? 1 : n);
    if (p == nullptr) return PMIX_ERR_NOMEM;
    if (n != 0) std::memcpy(p, src, n);
    *out = p;
    return PMIX_SUCCESS;
}

pmix_status_t copy_argv(char* const* src, char*** out) noexcept {
    *out = nullptr;
    if (src == nullptr) return PMIX_SUCCESS;
    size_t n = 0;
    while (src[n] != nullptr) ++n;
    auto** argv = static_cast<char**>(std::calloc(n + 1, sizeof(char*)));
    if (argv == nullptr) return PMIX_ERR_NOMEM;
    for (size_t i = 0; i < n; ++i) {
        argv[i] = strdup(src[i]);
        if (argv[i] == nullptr) {
            while (i > 0) std::free(argv[--i]);
            std::free(argv);
            return PMIX_ERR_NOMEM;
        }
    }
    *out = argv;
    return PMIX_SUCCESS;
}

// Contents and both positions; a buffer whose pointers disagree is PMIX_ERR_BAD_PARAM.
pmix_status_t copy_buffer(pmix_data_buffer_t* dst, const pmix_data_buffer_t& src) noexcept {
    if (src.base_ptr == nullptr) return PMIX_SUCCESS;
    size_t unread = src.unpack_ptr == nullptr ? 0 : static_cast<size_t>(src.unpack_ptr - src.base_ptr);
    if (unread > src.bytes_used) return PMIX_ERR_BAD_PARAM;
    void* p = nullptr;
    if (pmix_status_t rc = copy_bytes(src.base_ptr, src.bytes_used, &p); rc != PMIX_SUCCESS) return rc;
    dst->base_ptr = static_cast<char*>(p);
    dst->pack_ptr = dst->base_ptr + src.bytes_used;
    dst->unpack_ptr = dst->base_ptr + unread;
    dst->bytes_allocated = dst->bytes_used = src.bytes_used;
    return PMIX_SUCCESS;
}

// dst is zeroed. On failure what was copied so far is still well-formed and the caller destroys it.
pmix_status_t copy_field(const Field& f, void* dst, const void* src, unsigned depth) noexcept {
    const char* from = at(src, f.offset);
    char* to = at(dst, f.offset);
    void* p = nullptr;
    switch (f.form) {
        case Form::boolean:
        case Form::sint:
        case Form::uint:
        case Form::real:
        case Form::timeval:
        case Form::address:
            std::memcpy(to, from, f.width);
            return PMIX_SUCCESS;
        case Form::chars:
            std::memcpy(to, from, bounded_length(from, f.width - 1u));
            return PMIX_SUCCESS;
        case Form::info_flags:
            store_field(to, 0, load_field<pmix_info_directives_t>(from, 0) & ~kMemoryFlags);
            return PMIX_SUCCESS;
        case Form::string: {
            const char* text = load_field<const char*>(from, 0);
            pmix_status_t rc = copy_bytes(text, text == nullptr ? 0 : std::strlen(text) + 1, &p);
            store_field(to, 0, p);
            return rc;
        }
        case Form::argv: {
            char** argv = nullptr;
            pmix_status_t rc = copy_argv(load_field<char* const*>(from, 0), &argv);
            store_field(to, 0, argv);
            return rc;
        }
        case Form::blob: {
            const void* bytes = load_field<const void*>(from, 0);
            size_t n = bytes == nullptr ? 0 : load_field<size_t>(src, f.count_offset);
            pmix_status_t rc = copy_bytes(bytes, n, &p);
            store_field(to, 0, p);
            store_field(dst, f.count_offset, p == nullptr ? size_t{0} : n);
            return rc;
        }
        case Form::list: {
            const void* list = load_field<const void*>(from, 0);
            size_t n = list == nullptr ? 0 : load_field<size_t>(src, f.count_offset);
            pmix_status_t rc = copy_array_deep(f.type, list, n, &p, depth);
            store_field(to, 0, p);
            store_field(dst, f.count_offset, p == nullptr ? size_t{0} : n);
            return rc;
        }
        case Form::record:
            return copy_fields(kTypeTable[f.type], to, from, depth);
        case Form::value:
            return copy_value_deep(reinterpret_cast<pmix_value_t*>(to), *reinterpret_cast<const pmix_value_t*>(from),
                                   depth);
        case Form::array: {
            const auto* a = reinterpret_cast<const pmix_data_array_t*>(from);
            auto* b = reinterpret_cast<pmix_data_array_t*>(to);
            if (depth == 0) return PMIX_ERR_BAD_PARAM;
            b->type = a->type;
            size_t n = a->array == nullptr ? 0 : a->size;
            pmix_status_t rc = copy_array_deep(a->type, a->array, n, &b->array, depth - 1);
            b->size = b->array == nullptr ? 0 : n;
            return rc;
        }
        case Form::buffer:
            return copy_buffer(reinterpret_cast<pmix_data_buffer_t*>(to),
                               *reinterpret_cast<const pmix_data_buffer_t*>(from));
        case Form::bitmap:
        case Form::topology: {
            const void* object = load_field<const void*>(from, 0);
            if (object == nullptr) return PMIX_SUCCESS;
            const OpaqueOps* ops = opaque_ops_for(src);
            if (ops == nullptr) return PMIX_ERR_NOT_SUPPORTED;
            p = (f.form == Form::bitmap ? ops->copy_bitmap : ops->copy_topology)(object);
            store_field(to, 0, p);
            return p == nullptr ? PMIX_ERR_NOMEM : PMIX_SUCCESS;
        }
    }
    return PMIX_ERR_UNKNOWN_DATA_TYPE;
}

pmix_status_t copy_fields(const TypeRow& row, void* dst, const void* src, unsigned depth) noexcept {
    for (const Field& f : fields_of(row)) {
        if (pmix_status_t rc = copy_field(f, dst, src, depth); rc != PMIX_SUCCESS) return rc;
    }
    return PMIX_SUCCESS;
}

// dst is zeroed memory for n elements; zeroed again when this fails.
pmix_status_t copy_elements_deep(const TypeRow& row, void* dst, const void* src, size_t n, unsigned depth) noexcept {
    if (row.plain) {
        std::memcpy(dst, src, n * row.size);
        return PMIX_SUCCESS;
    }
    for (size_t i = 0; i < n; ++i) {
        pmix_status_t rc = copy_fields(row, at(dst, i * row.size), at(src, i * row.size), depth);
        if (rc != PMIX_SUCCESS) {
            for (size_t k = 0; k <= i; ++k) destroy_fields(row, at(dst, k * row.size));
            std::memset(dst, 0, n * row.size);
            return rc;
        }
    }
    return PMIX_SUCCESS;
}

pmix_status_t copy_array_deep(pmix_data_type_t type, const void* src, size_t n, void** out, unsigned depth) noexcept {
    *out = nullptr;
    if (src == nullptr || n == 0) return PMIX_SUCCESS;
    pmix_status_t rc = create_array(type, n, out);
    if (rc != PMIX_SUCCESS) return rc;
    rc = copy_elements_deep(kTypeTable[type], *out, src, n, depth);
    if (rc != PMIX_SUCCESS) {
        std::free(*out);
        *out = nullptr;
        return rc;
    }
    mark_end(type, *out, n);
    return PMIX_SUCCESS;
}

pmix_status_t copy_held(pmix_value_t* dst, const TypeRow& row, pmix_data_type_t type, const void* element,
                        unsigned depth) noexcept {
    void* to = value_data(dst);
    if (row.held == Held::by_pointer) {
        if (element == nullptr) {
            dst->type = type;
            return PMIX_SUCCESS;
        }
        // The array counts itself; everything else that is pointed at counts here, so that no chain is endless.
        if (type != PMIX_DATA_ARRAY) {
            if (depth == 0) return PMIX_ERR_BAD_PARAM;
            --depth;
        }
        to = std::calloc(1, row.size);
        if (to == nullptr) return PMIX_ERR_NOMEM;
        dst->data.ptr = to;
    }
    pmix_status_t rc = copy_fields(row, to, element, depth);
    if (rc != PMIX_SUCCESS) {
        destroy_fields(row, to);
        if (row.held == Held::by_pointer) std::free(to);
        std::memset(dst, 0, sizeof *dst);
        return rc;
    }
    dst->type = type;
    return PMIX_SUCCESS;
}

pmix_status_t copy_value_deep(pmix_value_t* dst, const pmix_value_t& src, unsigned depth) noexcept {
    std::memset(dst, 0, sizeof *dst);
    const TypeRow* row = type_row(src.type);
    if (row == nullptr) return PMIX_ERR_UNKNOWN_DATA_TYPE;
    return copy_held(dst, *row, src.type, held_element(*row, &src), depth);
}

}  // namespace

void install_opaque_ops(const OpaqueOps* ops) noexcept {
    g_opaque.store(ops, std::memory_order_release);
}
const OpaqueOps* opaque_ops() noexcept {
    return g_opaque.load(std::memory_order_acquire);
}
const OpaqueOps* open_opaque_ops() noexcept {
    if (const OpaqueOps* ops = opaque_ops()) return ops;
    const OpaqueOpener opener = g_opaque_opener.load(std::memory_order_acquire);
    return opener == nullptr ? nullptr : opener();
}
void set_opaque_opener(OpaqueOpener opener) noexcept {
    g_opaque_opener.store(opener, std::memory_order_release);
}

// Most values are one number, which owns nothing.
inline bool is_number(pmix_data_type_t type) noexcept {
    constexpr uint64_t kNumbers =
        uint64_t{1} << PMIX_BOOL | uint64_t{1} << PMIX_BYTE | uint64_t{1} << PMIX_SIZE | uint64_t{1} << PMIX_PID |
        uint64_t{1} << PMIX_INT | uint64_t{1} << PMIX_INT8 | uint64_t{1} << PMIX_INT16 | uint64_t{1} << PMIX_INT32 |
        uint64_t{1} << PMIX_INT64 | uint64_t{1} << PMIX_UINT | uint64_t{1} << PMIX_UINT8 | uint64_t{1} << PMIX_UINT16 |
        uint64_t{1} << PMIX_UINT32 | uint64_t{1} << PMIX_UINT64 | uint64_t{1} << PMIX_FLOAT |
        uint64_t{1} << PMIX_DOUBLE | uint64_t{1} << PMIX_STATUS | uint64_t{1} << PMIX_PROC_RANK;
    return type < 64 && (kNumbers >> type & 1) != 0;
}

void destroy_value(pmix_value_t* value) noexcept {
    if (value == nullptr) return;
    if (is_number(value->type)) [[likely]] {
        std::memset(value, 0, sizeof *value);
        return;
    }
    const TypeRow* row = type_row(value->type);
    if (row != nullptr && row->size != 0) {
        void* element = held_element(*row, value);
        if (element != nullptr) {
            destroy_fields(*row, element);
            if (row->held == Held::by_pointer) std::free(element);
        }
    }
    std::memset(value, 0, sizeof *value);
}

pmix_status_t copy_value(pmix_value_t* dst, const pmix_value_t& src) noexcept {
    return copy_value_deep(dst, src, kMaxValueDepth);
}

void destroy_elements(pmix_data_type_t type, void* elements, size_t n) noexcept {
    const TypeRow* row = type_row(type);
    if (elements == nullptr || row == nullptr || row->plain) return;
    for (size_t i = 0; i < n; ++i) destroy_fields(*row, at(elements, i * row->size));
}

void destroy_array(pmix_data_type_t type, void* array, size_t n) noexcept {
    destroy_elements(type, array, n);
    std::free(array);
}

pmix_status_t create_array(pmix_data_type_t type, size_t n, void** out) noexcept {
    *out = nullptr;
    const TypeRow* row = type_row(type);
    if (row == nullptr || (row->size == 0 && n != 0)) return PMIX_ERR_UNKNOWN_DATA_TYPE;
    if (n == 0) return PMIX_SUCCESS;
    size_t bytes = 0;
    if (multiply_overflows(n, row->size, &bytes) || bytes > PTRDIFF_MAX) return PMIX_ERR_NOMEM;
    *out = std::calloc(1, bytes);
    if (*out == nullptr) return PMIX_ERR_NOMEM;
    mark_end(type, *out, n);
    return PMIX_SUCCESS;
}

void construct_elements(pmix_data_type_t type, void* elements, size_t n) noexcept {
    for (size_t i = 0; i < n; ++i) {
        switch (type) {
            case PMIX_PROC:
                static_cast<pmix_proc_t*>(elements)[i].rank = PMIX_RANK_UNDEF;
                break;
            case PMIX_PROC_INFO:
                static_cast<pmix_proc_info_t*>(elements)[i].proc.rank = PMIX_RANK_UNDEF;
                break;
            case PMIX_PROC_STATS:
                static_cast<pmix_proc_stats_t*>(elements)[i].proc.rank = PMIX_RANK_UNDEF;
                break;
            case PMIX_PDATA:
                static_cast<pmix_pdata_t*>(elements)[i].proc.rank = PMIX_RANK_UNDEF;
                break;
            case PMIX_DEVICE_DIST:
                static_cast<pmix_device_distance_t*>(elements)[i].mindist = UINT16_MAX;
                static_cast<pmix_device_distance_t*>(elements)[i].maxdist = UINT16_MAX;
                break;
            case PMIX_NODE_PID:
                static_cast<pmix_node_pid_t*>(elements)[i].nodeid = UINT32_MAX;
                break;
            default:
                return;
        }
    }
}

pmix_status_t copy_elements(pmix_data_type_t type, void* dst, const void* src, size_t n) noexcept {
    const TypeRow* row = type_row(type);
    if (row == nullptr) return PMIX_ERR_UNKNOWN_DATA_TYPE;
    std::memset(dst, 0, n * row->size);
    return copy_elements_deep(*row, dst, src, n, kMaxValueDepth);
}

pmix_status_t copy_array(pmix_data_type_t type, const void* src, size_t n, void** out) noexcept {
    return copy_array_deep(type, src, n, out, kMaxValueDepth);
}

bool set_key(char (&dst)[PMIX_MAX_KEYLEN + 1], std::string_view key) noexcept {
    std::memset(dst, 0, sizeof dst);
    if (!is_valid_key(key)) return false;
    std::memcpy(dst, key.data(), key.size());
    return true;
}

Result<Value> Value::string(std::string_view text) noexcept {
    auto* p = static_cast<char*>(std::malloc(text.size() + 1));
    if (p == nullptr) return PMIX_ERR_NOMEM;
    if (!text.empty()) std::memcpy(p, text.data(), text.size());
    p[text.size()] = '\0';
    return number(p, PMIX_STRING);
}

}  // namespace pmix::common

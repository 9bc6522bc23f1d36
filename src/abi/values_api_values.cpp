// SPDX-License-Identifier: BSD-3-Clause
// Values and infos: load, unload, transfer, compare, size, number, truth, flags.
//
// Owns nothing; needs no library; any thread. Destinations are taken as uninitialised, as the inlined versions that
// programs carry do: what a destination held before is not freed. NULL arguments are PMIX_ERR_BAD_PARAM.
#include <pmix.h>
#include <pmix_deprecated.h>

#include <cstdlib>
#include <cstring>

#include "common/values/elements.h"
#include "common/values/strict.h"
#include "common/values/value.h"

namespace {

using namespace pmix::common;

bool load_key(pmix_key_t key, const char* src) noexcept {
    if (src == nullptr) return false;
    size_t n = bounded_length(src, kMaxKeyLength + 1);
    if (n > kMaxKeyLength) return false;  // refused, not cut
    std::memset(key, 0, sizeof(pmix_key_t));
    std::memcpy(key, src, n);
    return true;
}

constexpr pmix_info_directives_t kEnd = PMIX_INFO_ARRAY_END;

// A copy of one element as a block of its own.
pmix_status_t unload_block(pmix_data_type_t type, const void* element, void** data, size_t* size) noexcept {
    pmix_status_t rc = copy_array(type, element, 1, data);
    if (rc == PMIX_SUCCESS) *size = *data == nullptr ? 0 : type_row(type)->size;
    return rc;
}

// Flat data goes to where the caller points. Callers of every release pass a NULL there to learn that the value holds a
// scalar: a new block instead, which the Standard's sentence asks for, would be taken for the scalar itself.
pmix_status_t unload_flat(const void* from, size_t n, void** data, size_t* size) noexcept {
    if (*data == nullptr) {
        if (!process_is_strict()) return PMIX_ERR_BAD_PARAM;
        *data = std::malloc(n);
        if (*data == nullptr) return PMIX_ERR_NOMEM;
    }
    std::memcpy(*data, from, n);
    *size = n;
    return PMIX_SUCCESS;
}

pmix_status_t unload_bytes(const char* from, size_t n, size_t counted, void** data, size_t* size) noexcept {
    *data = nullptr;
    *size = 0;
    if (from == nullptr || n == 0) return PMIX_SUCCESS;
    *data = std::malloc(n);
    if (*data == nullptr) return PMIX_ERR_NOMEM;
    std::memcpy(*data, from, n);
    *size = counted;
    return PMIX_SUCCESS;
}

}  // namespace

extern "C" {

pmix_status_t PMIx_Value_load(pmix_value_t* val, const void* data, pmix_data_type_t type) {
    return val == nullptr ? PMIX_ERR_BAD_PARAM : load_value(val, data, type);
}

// A copy of the data. Scalars, proc and nspace: to where *data points, which may not be NULL (for a pointer, too); in
// strict mode a NULL there becomes a new block, except for a pointer.
// Strings: the text, its length in *sz. Byte objects: the bytes themselves, as up to 5.0 (6.1 hands out a
// pmix_byte_object_t). Pointers: as they are. Everything else: a block with one struct.
pmix_status_t PMIx_Value_unload(pmix_value_t* val, void** data, size_t* sz) {
    if (val == nullptr || data == nullptr || sz == nullptr) return PMIX_ERR_BAD_PARAM;
    const TypeRow* row = type_row(val->type);
    if (row == nullptr || row->size == 0) return PMIX_ERR_UNKNOWN_DATA_TYPE;
    const void* element = held_element(*row, val);
    switch (val->type) {
        case PMIX_STRING: {
            size_t n = val->data.string == nullptr ? 0 : std::strlen(val->data.string);
            return unload_bytes(val->data.string, n + 1, n, data, sz);
        }
        case PMIX_BYTE_OBJECT:
        case PMIX_COMPRESSED_STRING:
        case PMIX_COMPRESSED_BYTE_OBJECT:
        case PMIX_REGEX:
            return unload_bytes(val->data.bo.bytes, val->data.bo.size, val->data.bo.size, data, sz);
        case PMIX_POINTER:
            if (*data == nullptr) return PMIX_ERR_BAD_PARAM;
            *data = val->data.ptr;
            *sz = sizeof(void*);
            return PMIX_SUCCESS;
        case PMIX_PROC:
            if (element == nullptr) return PMIX_ERR_BAD_PARAM;
            return unload_flat(element, sizeof(pmix_proc_t), data, sz);
        case PMIX_PROC_NSPACE: {
            if (element == nullptr) return PMIX_ERR_BAD_PARAM;
            pmix_nspace_t nspace;
            PMIx_Load_nspace(nspace, static_cast<const char*>(element));
            pmix_status_t rc = unload_flat(nspace, sizeof nspace, data, sz);
            if (rc == PMIX_SUCCESS) *sz = std::strlen(nspace);
            return rc;
        }
        default:
            break;
    }
    if (row->held == Held::in_place && val->type != PMIX_ENVAR) return unload_flat(element, row->size, data, sz);
    return unload_block(val->type, element, data, sz);
}

pmix_status_t PMIx_Value_xfer(pmix_value_t* dest, const pmix_value_t* src) {
    if (dest == nullptr || src == nullptr) return PMIX_ERR_BAD_PARAM;
    if (dest == src) return PMIX_SUCCESS;
    return copy_value(dest, *src);
}

pmix_value_cmp_t PMIx_Value_compare(pmix_value_t* v1, pmix_value_t* v2) {
    if (v1 == nullptr || v2 == nullptr) return PMIX_VALUE_COMPARISON_NOT_AVAIL;
    return compare_values(*v1, *v2);
}

pmix_status_t PMIx_Value_get_size(const pmix_value_t* val, size_t* size) {
    if (val == nullptr || size == nullptr) return PMIX_ERR_BAD_PARAM;
    return value_size(*val, size);
}

pmix_status_t PMIx_Value_get_number(const pmix_value_t* value, void* dest, pmix_data_type_t type) {
    if (value == nullptr || dest == nullptr) return PMIX_ERR_BAD_PARAM;
    return convert_number(*value, type, dest);
}

pmix_boolean_t PMIx_Value_true(const pmix_value_t* v) {
    return v == nullptr ? PMIX_NON_BOOL : truth_of(*v);
}

// --- infos -----------------------------------------------------------------------------------------------------------

pmix_status_t PMIx_Info_load(pmix_info_t* info, const char* key, const void* data, pmix_data_type_t type) {
    if (info == nullptr || !load_key(info->key, key)) return PMIX_ERR_BAD_PARAM;
    info->flags = 0;
    return load_value(&info->value, data, type);
}

// Flags go along, but not the mark for the end of an array: that is a matter of the array the info stands in. A
// persistent info's value is shared, since the flag goes along.
pmix_status_t PMIx_Info_xfer(pmix_info_t* dest, const pmix_info_t* src) {
    if (dest == nullptr || src == nullptr) return PMIX_ERR_BAD_PARAM;
    if (dest == src) return PMIX_SUCCESS;
    PMIx_Load_key(dest->key, src->key);
    dest->flags = src->flags & ~kEnd;
    if ((src->flags & PMIX_INFO_PERSISTENT) != 0) {
        dest->value = src->value;
        return PMIX_SUCCESS;
    }
    return copy_value(&dest->value, src->value);
}

pmix_status_t PMIx_Info_get_size(const pmix_info_t* val, size_t* size) {
    if (val == nullptr || size == nullptr) return PMIX_ERR_BAD_PARAM;
    pmix_status_t rc = value_size(val->value, size);
    if (rc == PMIX_SUCCESS) *size += sizeof(pmix_info_t) + bounded_length(val->key, kMaxKeyLength) + 1;
    return rc;
}

pmix_boolean_t PMIx_Info_true(const pmix_info_t* p) {
    return p == nullptr ? PMIX_NON_BOOL : truth_of(p->value);
}

#define WIREUP_SET_FLAG(NAME, FLAG)           \
    void PMIx_Info_##NAME(pmix_info_t* p) {   \
        if (p != nullptr) p->flags |= (FLAG); \
    }
#define WIREUP_TEST_FLAG(NAME, FLAG)                     \
    bool PMIx_Info_##NAME(const pmix_info_t* p) {        \
        return p != nullptr && (p->flags & (FLAG)) != 0; \
    }

WIREUP_SET_FLAG(required, PMIX_INFO_REQD)
WIREUP_SET_FLAG(processed, PMIX_INFO_REQD_PROCESSED)
WIREUP_SET_FLAG(set_end, PMIX_INFO_ARRAY_END)
WIREUP_SET_FLAG(qualifier, PMIX_INFO_QUALIFIER)
WIREUP_SET_FLAG(persistent, PMIX_INFO_PERSISTENT)
WIREUP_TEST_FLAG(is_required, PMIX_INFO_REQD)
WIREUP_TEST_FLAG(was_processed, PMIX_INFO_REQD_PROCESSED)
WIREUP_TEST_FLAG(is_end, PMIX_INFO_ARRAY_END)
WIREUP_TEST_FLAG(is_qualifier, PMIX_INFO_QUALIFIER)
WIREUP_TEST_FLAG(is_persistent, PMIX_INFO_PERSISTENT)

void PMIx_Info_optional(pmix_info_t* p) {
    if (p != nullptr) p->flags &= ~static_cast<pmix_info_directives_t>(PMIX_INFO_REQD);
}
bool PMIx_Info_is_optional(const pmix_info_t* p) {
    return p != nullptr && (p->flags & PMIX_INFO_REQD) == 0;
}

// --- pdata -----------------------------------------------------------------------------------------------------------

void PMIx_Pdata_load(pmix_pdata_t* dest, const pmix_proc_t* p, const char* key, const void* data,
                     pmix_data_type_t type) {
    if (dest == nullptr) return;
    PMIx_Pdata_construct(dest);
    if (p != nullptr) PMIx_Load_procid(&dest->proc, p->nspace, p->rank);
    PMIx_Load_key(dest->key, key);
    (void)load_value(&dest->value, data, type);
}

void PMIx_Pdata_xfer(pmix_pdata_t* dest, pmix_pdata_t* src) {
    if (dest == nullptr || dest == src) return;
    PMIx_Pdata_construct(dest);
    if (src != nullptr) (void)copy_elements(PMIX_PDATA, dest, src, 1);
}

}  // extern "C"

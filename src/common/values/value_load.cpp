// SPDX-License-Identifier: BSD-3-Clause
// The value that the public "load" functions make of a caller's pointer.
#include "common/placement/node_map.h"
#include "common/values/elements.h"
#include "common/values/value.h"

namespace pmix::common {

namespace {

// A caller's char* as an element of the type, for the types that are given as text.
pmix_status_t load_text(pmix_value_t* dst, const char* text) noexcept {
    dst->type = PMIX_STRING;
    if (text == nullptr) return PMIX_SUCCESS;
    dst->data.string = strdup(text);
    if (dst->data.string != nullptr) return PMIX_SUCCESS;
    dst->type = PMIX_UNDEF;
    return PMIX_ERR_NOMEM;
}

// A map is handed over as a char* that may hold NULs; node_map knows where it ends.
pmix_status_t load_regex(pmix_value_t* dst, const char* regex) noexcept {
    size_t n = regex_size(regex);
    auto* bytes = static_cast<char*>(std::malloc(n == 0 ? 1 : n));
    if (bytes == nullptr) return PMIX_ERR_NOMEM;
    if (n != 0) std::memcpy(bytes, regex, n);
    dst->type = PMIX_REGEX;
    dst->data.bo.bytes = bytes;
    dst->data.bo.size = n;
    return PMIX_SUCCESS;
}

}  // namespace

pmix_status_t load_value(pmix_value_t* dst, const void* data, pmix_data_type_t type) noexcept {
    std::memset(dst, 0, sizeof *dst);
    const TypeRow* row = type_row(type);
    if (row == nullptr) return PMIX_ERR_UNKNOWN_DATA_TYPE;
    if (type == PMIX_STRING) return load_text(dst, static_cast<const char*>(data));
    if (data == nullptr) {
        // Nothing given: an empty object, zero, no pointer. Giving a bool without saying which means true.
        if (type == PMIX_BOOL) dst->data.flag = true;
        dst->type = type;
        return PMIX_SUCCESS;
    }
    if (type == PMIX_POINTER) {
        dst->data.ptr = const_cast<void*>(data);
        dst->type = type;
        return PMIX_SUCCESS;
    }
    if (type == PMIX_REGEX) return load_regex(dst, static_cast<const char*>(data));
    // The rest is what a value of this type would hold: copy from one that borrows the caller's element.
    pmix_value_t borrowed;
    std::memset(&borrowed, 0, sizeof borrowed);
    borrowed.type = type;
    if (row->held == Held::by_pointer) {
        borrowed.data.ptr = const_cast<void*>(data);
    } else if (row->size != 0) {
        std::memcpy(value_data(&borrowed), data, row->size);
    }
    return copy_value(dst, borrowed);
}

}  // namespace pmix::common

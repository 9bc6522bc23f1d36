// SPDX-License-Identifier: BSD-3-Clause
// PMIx_Data_pack, unpack, copy, copy_payload, print. (Load, unload and embed are in values_api_buffers.cpp.)
//
// Owns nothing; needs no library and no server: everybody's buffers have one form, so target and source say nothing
// new. Any thread; a buffer belongs to one thread at a time. What unpack and copy hand out is malloc memory of the
// caller's.
#include <pmix.h>

#include <cstdlib>
#include <cstring>
#include <string>

#include "abi/boundary.h"
#include "common/codec/portable.h"
#include "common/placement/node_map.h"
#include "common/values/print.h"
#include "common/values/strict.h"
#include "common/values/value.h"

namespace {

using namespace pmix::common;

bool is_known(pmix_data_type_t type) noexcept {
    const TypeRow* row = type_row(type);
    return row != nullptr && row->size != 0;
}

// Strings and maps are handed over as the char* itself where there is only one of them.
pmix_status_t copy_text(void** dest, const void* src, size_t size) noexcept {
    *dest = std::malloc(size);
    if (*dest == nullptr) return PMIX_ERR_NOMEM;
    std::memcpy(*dest, src, size);
    return PMIX_SUCCESS;
}

}  // namespace

extern "C" {

pmix_status_t PMIx_Data_pack(const pmix_proc_t*, pmix_data_buffer_t* buffer, void* src, int32_t num_vals,
                             pmix_data_type_t type) {
    if (buffer == nullptr || num_vals < 0 || (src == nullptr && num_vals != 0)) return PMIX_ERR_BAD_PARAM;
    return pmix::api::guarded([&] { return pack_values(buffer, src, static_cast<size_t>(num_vals), type); });
}

pmix_status_t PMIx_Data_unpack(const pmix_proc_t*, pmix_data_buffer_t* buffer, void* dest, int32_t* max_num_values,
                               pmix_data_type_t type) {
    if (buffer == nullptr || dest == nullptr || max_num_values == nullptr) return PMIX_ERR_BAD_PARAM;
    return unpack_values(buffer, dest, max_num_values, type);
}

pmix_status_t PMIx_Data_copy(void** dest, void* src, pmix_data_type_t type) {
    if (dest == nullptr) return PMIX_ERR_BAD_PARAM;
    *dest = nullptr;
    if (src == nullptr) return PMIX_ERR_BAD_PARAM;
    if (!is_known(type)) return PMIX_ERR_UNKNOWN_DATA_TYPE;
    if (type == PMIX_STRING) return copy_text(dest, src, std::strlen(static_cast<char*>(src)) + 1);
    if (type == PMIX_REGEX) return copy_text(dest, src, regex_size(static_cast<char*>(src)));
    void* copy = std::calloc(1, type_row(type)->size);
    if (copy == nullptr) return PMIX_ERR_NOMEM;
    pmix_status_t rc = copy_elements(type, copy, src, 1);
    if (rc != PMIX_SUCCESS) {
        std::free(copy);
        return rc;
    }
    *dest = copy;
    return PMIX_SUCCESS;
}

pmix_status_t PMIx_Data_print(char** output, char* prefix, void* src, pmix_data_type_t type) {
    if (output == nullptr) return PMIX_ERR_BAD_PARAM;
    *output = nullptr;
    if (!is_known(type)) return process_is_strict() ? PMIX_ERR_BAD_PARAM : PMIX_ERR_UNKNOWN_DATA_TYPE;
    return pmix::api::guarded([&]() -> pmix_status_t {
        std::string text = prefix == nullptr ? "" : prefix;
        print_data(text, type, src);
        *output = strdup(text.c_str());
        return *output == nullptr ? PMIX_ERR_NOMEM : PMIX_SUCCESS;
    });
}

pmix_status_t PMIx_Data_copy_payload(pmix_data_buffer_t* dest, pmix_data_buffer_t* src) {
    if (dest == nullptr || src == nullptr) return PMIX_ERR_BAD_PARAM;
    return pmix::api::guarded([&] { return append_unread(dest, *src); });
}

}  // extern "C"

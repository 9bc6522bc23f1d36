// SPDX-License-Identifier: BSD-3-Clause
// Packed buffers of any bytes, read as any type: no crash, no leak, and what was read packs to something that reads as
// the same. The first two bytes choose type and capacity.
#include <pmix.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "common/codec/portable.h"
#include "common/values/value.h"

using namespace pmix::common;

namespace {

// Aborts in every build: assert() would vanish from a release one.
void must(bool holds) {
    if (!holds) std::abort();
}

void destroy(pmix_data_type_t type, void* values, int32_t n) {
    destroy_array(type == PMIX_REGEX ? pmix_data_type_t{PMIX_STRING} : type, values, static_cast<size_t>(n));
}

// Not a number is no number's equal, and a statistic without its peak size may get one from what follows.
bool is_stable(pmix_data_type_t type) {
    switch (type) {
        case PMIX_FLOAT:
        case PMIX_DOUBLE:
        case PMIX_PROC_STATS:
        case PMIX_NODE_STATS:
        case PMIX_REGEX:
            return false;
        default:
            return type_row(type)->plain || type == PMIX_STRING || type == PMIX_PROC || type == PMIX_BYTE_OBJECT;
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    if (size < 2) return 0;
    const auto type = static_cast<pmix_data_type_t>(data[0] % kTypeRows);
    const TypeRow* row = type_row(type);
    if (row == nullptr || row->size == 0) return 0;
    const size_t capacity = 1 + data[1] % 8;
    pmix_data_buffer_t b = {};
    pmix_byte_object_t payload = {const_cast<char*>(reinterpret_cast<const char*>(data + 2)), size - 2};
    must(PMIx_Data_embed(&b, &payload) == PMIX_SUCCESS);
    for (int pass = 0; pass < 16; ++pass) {
        void* values = std::malloc(capacity * element_size(*row, type));
        auto n = static_cast<int32_t>(capacity);
        const pmix_status_t rc = PMIx_Data_unpack(nullptr, &b, values, &n, type);
        if (rc != PMIX_SUCCESS) {
            must(n == 0 || rc == PMIX_ERR_UNPACK_INADEQUATE_SPACE);
            destroy(type, values, n);
            break;
        }
        // An hwloc object cannot come here, so everything that was read can be written.
        pmix_data_buffer_t again = {};
        must(PMIx_Data_pack(nullptr, &again, values, n, type) == PMIX_SUCCESS);
        void* twice = std::malloc(capacity * element_size(*row, type));
        auto m = static_cast<int32_t>(capacity);
        must(PMIx_Data_unpack(nullptr, &again, twice, &m, type) == PMIX_SUCCESS && m == n);
        must(again.unpack_ptr == again.pack_ptr);
        must(!is_stable(type) || compare_elements(type, values, twice, static_cast<size_t>(n)) == 0);
        char* text = nullptr;
        if (n > 0 && type != PMIX_STRING && type != PMIX_REGEX) {
            must(PMIx_Data_print(&text, nullptr, values, type) == PMIX_SUCCESS && text != nullptr);
        }
        std::free(text);
        destroy(type, values, n);
        destroy(type, twice, m);
        std::free(again.base_ptr);
    }
    std::free(b.base_ptr);
    return 0;
}

// SPDX-License-Identifier: BSD-3-Clause
// Encoded values of any bytes: no crash, no leak, and what decodes is the same after a round trip.
#include <algorithm>
#include <cstdlib>
#include <string>

#include "common/codec/pack.h"
#include "common/values/print.h"

using namespace pmix::common;

namespace {

void must(bool holds) {
    if (!holds) std::abort();
}

void check_value(Bytes bytes) {
    pmix_value_t v;
    if (decode_value_into(bytes, &v) != PMIX_SUCCESS) {
        must(v.type == PMIX_UNDEF);
        return;
    }
    ByteWriter once;
    must(encode_value(once, v) == PMIX_SUCCESS);
    pmix_value_t again;
    must(decode_value_into(once.view(), &again) == PMIX_SUCCESS);
    ByteWriter twice;
    must(encode_value(twice, again) == PMIX_SUCCESS);
    must(std::ranges::equal(once.view(), twice.view()));
    pmix_value_t copy;
    must(copy_value(&copy, v) == PMIX_SUCCESS);
    must(compare_values(copy, again) == PMIX_EQUAL);
    std::string text;
    print_value(text, copy);
    size_t size = 0;
    (void)value_size(v, &size);
    destroy_value(&v);
    destroy_value(&again);
    destroy_value(&copy);
}

template <class T>
void check_array(Bytes bytes) {
    ByteReader r(bytes);
    CArray<T> array;
    if (decode_array(r, &array) != PMIX_SUCCESS) {
        must(array.empty());
        return;
    }
    ByteWriter w;
    must(encode_array(w, array.data(), array.size()) == PMIX_SUCCESS);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    const Bytes bytes{data, size};
    pmix_value_t borrowed;
    (void)borrow_value(bytes, &borrowed);
    check_value(bytes);
    check_array<pmix_info_t>(bytes);
    check_array<pmix_app_t>(bytes);
    check_array<pmix_query_t>(bytes);
    check_array<pmix_proc_t>(bytes);
    check_array<pmix_pdata_t>(bytes);
    return 0;
}

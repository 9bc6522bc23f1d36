// SPDX-License-Identifier: BSD-3-Clause
// Arrays as values: PMIX_DATA_ARRAY from what this library builds, and a look into one that somebody gave.
//
// Free functions, any thread. What can go wrong: no memory; a view of a value that is no such array is empty.
#pragma once

#include <cstdlib>

#include "common/base/status.h"
#include "common/values/info_view.h"
#include "common/values/value.h"

namespace pmix::common {

// Takes over a malloc'ed array of n elements, also when it fails.
inline Result<Value> take_over_array(pmix_data_type_t type, void* array, size_t n) noexcept {
    auto* d = static_cast<pmix_data_array_t*>(std::calloc(1, sizeof(pmix_data_array_t)));
    if (d == nullptr) {
        if (array != nullptr) destroy_array(type, array, n);
        return PMIX_ERR_NOMEM;
    }
    d->type = type;
    d->size = n;
    d->array = array;
    pmix_value_t v{};
    v.type = PMIX_DATA_ARRAY;
    v.data.darray = d;
    return Value(v);
}

// An empty list is an array without elements.
inline Result<Value> array_value(InfoList&& infos) noexcept {
    size_t n = 0;
    pmix_info_t* array = infos.release(&n);
    return take_over_array(PMIX_INFO, array, n);
}

template <class T>
Result<Value> array_value(CArray<T>&& elements) noexcept {
    const size_t n = elements.size();
    return take_over_array(TypeId<T>::value, elements.release(), n);
}

inline InfoView infos_in(const pmix_value_t& value) noexcept {
    if (value.type != PMIX_DATA_ARRAY || value.data.darray == nullptr || value.data.darray->type != PMIX_INFO) {
        return {nullptr, 0};
    }
    return {static_cast<const pmix_info_t*>(value.data.darray->array), value.data.darray->size};
}

}  // namespace pmix::common

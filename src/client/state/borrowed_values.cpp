// SPDX-License-Identifier: BSD-3-Clause
#include "client/state/borrowed_values.h"

#include <cassert>

#include "common/codec/pack.h"

namespace pmix::client {

using common::MutexLock;

common::Result<const pmix_value_t*> BorrowedValues::make(Kept& kept, common::Bytes bytes) {
    std::memset(&kept.value, 0, sizeof kept.value);
    pmix_status_t rc = common::borrow_value(bytes, &kept.value);
    if (rc == PMIX_ERR_GET_MALLOC_REQD) {
        rc = common::decode_value_into(bytes, kept.own.c_ptr());
        kept.value = kept.own.get();
    }
    if (rc != PMIX_SUCCESS) return rc;
    return &kept.value;
}

common::Result<const pmix_value_t*> BorrowedValues::borrow(common::Bytes bytes) {
    MutexLock lock(mutex_);
    auto known = by_place_.find(bytes.data());
    if (known != by_place_.end()) return &known->second->value;
    values_.emplace_back();
    auto value = make(values_.back(), bytes);
    if (!value) {
        values_.pop_back();
        return value.status();
    }
    by_place_.emplace(bytes.data(), &values_.back());
    places_.emplace(bytes.data(), bytes.size());
    assert(by_place_.size() == places_.size() && by_place_.size() <= values_.size());
    return value.value();
}

std::vector<common::Bytes> BorrowedValues::ranges() {
    MutexLock lock(mutex_);
    std::vector<common::Bytes> all;
    all.reserve(places_.size());
    for (const auto& [data, size] : places_) all.emplace_back(data, size);
    return all;
}

common::Result<const pmix_value_t*> BorrowedValues::keep(common::Bytes bytes) {
    const std::string_view content(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    MutexLock lock(mutex_);
    auto known = by_content_.find(content);
    if (known != by_content_.end()) return &known->second->value;
    values_.emplace_back();
    Kept& kept = values_.back();
    kept.encoded = content;
    auto value = make(kept, {reinterpret_cast<const uint8_t*>(kept.encoded.data()), kept.encoded.size()});
    if (!value) {
        values_.pop_back();
        return value.status();
    }
    by_content_.emplace(std::string_view(kept.encoded), &kept);
    return value.value();
}

}  // namespace pmix::client

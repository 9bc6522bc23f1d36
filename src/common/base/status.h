// SPDX-License-Identifier: BSD-3-Clause
// The statuses that all modules use.
//
// They are the Standard's: pmix_status_t and its constants. The extern "C" functions translate nothing, so a status
// keeps its meaning from the line that found the error to the caller. Result<T> is a value or the status that says
// why there is none. Pure types, any thread.
#pragma once

#include <pmix_common.h>

#include <cassert>
#include <optional>
#include <utility>

namespace pmix::common {

// A T, or the status that says why not. Never both; PMIX_SUCCESS without a value does not exist.
template <class T>
class [[nodiscard]] Result {
  public:
    Result(T value) : value_(std::move(value)), status_(PMIX_SUCCESS) {}
    Result(pmix_status_t status) : status_(status) { assert(status != PMIX_SUCCESS); }

    bool ok() const noexcept { return value_.has_value(); }
    explicit operator bool() const noexcept { return ok(); }
    pmix_status_t status() const noexcept { return status_; }
    T& value() & noexcept { return *value_; }
    const T& value() const& noexcept { return *value_; }
    T&& value() && noexcept { return std::move(*value_); }
    T* operator->() noexcept { return &*value_; }
    T& operator*() noexcept { return *value_; }

  private:
    std::optional<T> value_;
    pmix_status_t status_;
};

// PMIX_OPERATION_SUCCEEDED is a success that was reached at once; everything that asks "did it fail?" uses this.
constexpr bool succeeded(pmix_status_t status) noexcept {
    return status == PMIX_SUCCESS || status == PMIX_OPERATION_SUCCEEDED;
}

}  // namespace pmix::common

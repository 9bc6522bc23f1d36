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
    // Of a failure there is none: ok() has been asked.
    T& value() & noexcept {
        assert(ok());
        return *value_;
    }
    const T& value() const& noexcept {
        assert(ok());
        return *value_;
    }
    T&& value() && noexcept {
        assert(ok());
        return std::move(*value_);
    }
    T* operator->() noexcept {
        assert(ok());
        return &*value_;
    }
    T& operator*() noexcept {
        assert(ok());
        return *value_;
    }

  private:
    std::optional<T> value_;
    pmix_status_t status_;
};

// PMIX_OPERATION_SUCCEEDED is a success that was reached at once; everything that asks "did it fail?" uses this.
constexpr bool succeeded(pmix_status_t status) noexcept {
    return status == PMIX_SUCCESS || status == PMIX_OPERATION_SUCCEEDED;
}

// The same without PMIX_OPERATION_SUCCEEDED: what a caller that waited, or a callback, is told. By the Standard's lists
// of return values that status belongs to the return value of a non-blocking call alone, whose callback is not called
// then; a host's upcall returns it in this sense too. No other status is changed.
constexpr pmix_status_t plain(pmix_status_t status) noexcept {
    return succeeded(status) ? PMIX_SUCCESS : status;
}

// Leaves the function with the status of a call that has failed.
#define WIREUP_RETURN_IF_ERROR(...)                                \
    do {                                                           \
        const pmix_status_t status_of_call = (__VA_ARGS__);        \
        if (status_of_call != PMIX_SUCCESS) return status_of_call; \
    } while (false)

}  // namespace pmix::common

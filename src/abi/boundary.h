// SPDX-License-Identifier: BSD-3-Clause
// The one wrapper around every extern "C" function.
//
// Owns nothing. Any thread. It answers PMIX_ERR_INIT where there is no library (before init, after the last finalize,
// in a forked child), keeps C++ exceptions from leaving, and keeps a thread that is cancelled inside a call from
// unwinding through us: cancellation waits until the call has returned.
#pragma once

#include <exception>
#include <new>
#include <utility>

#include "client/state/read_guard.h"
#include "common/base/log.h"
#include "runtime/library.h"
#include "transport/waiter.h"

namespace pmix::api {

// For what needs no library: only the exceptions are kept in.
template <class F>
inline pmix_status_t guarded(F&& run) noexcept {
    try {
        return std::forward<F>(run)();
    } catch (const std::bad_alloc&) {
        return PMIX_ERR_NOMEM;
    } catch (const std::exception&) {  // a container asked for more than can exist
        return PMIX_ERR_OUT_OF_RESOURCE;
    }
}

// For calls that usually neither wait nor enter the kernel (Get, Put), without boundary()'s cost. Where such a call has
// to wait, it goes through boundary(). It is a reader of the library, for which the last finalize waits as for the
// readers of a segment.
template <class F>
inline pmix_status_t boundary_fast(F&& run) noexcept {
    const client::Reading reading;
    Library* library = Library::current();
    if (library == nullptr) [[unlikely]]
        return PMIX_ERR_INIT;
    return guarded([&] { return std::forward<F>(run)(*library); });
}

// All other calls: they may wait, and the last finalize waits for them.
template <class F>
inline pmix_status_t boundary(F&& run) noexcept {
    transport::CancelShield no_cancel;
    Library* library = Library::enter();
    if (library == nullptr) return PMIX_ERR_INIT;
    const pmix_status_t rc = guarded([&] { return std::forward<F>(run)(*library); });
    Library::leave();
    return rc;
}

// A line of the log for a call that is refused, so that a host whose start fails here has a reason.
inline pmix_status_t told(pmix_status_t rc, const char* name) noexcept {
    if (!common::succeeded(rc)) WIREUP_LOG(api, warn, "%s: %s", name, common::log_status(rc));
    return rc;
}

// PMIx_server_* calls: only for a process that initialised as a server. name: the call's.
template <class F>
inline pmix_status_t server_boundary(F&& run, const char* name = __builtin_FUNCTION()) noexcept {
    return boundary([&](Library& library) -> pmix_status_t {
        if (library.server() == nullptr) return PMIX_ERR_INIT;
        return told(std::forward<F>(run)(library, *library.server()), name);
    });
}

}  // namespace pmix::api

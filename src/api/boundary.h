// The one wrapper around every entry of the C door.
//
// Owns nothing. Any thread. It answers PMIX_ERR_INIT where there is no library (before init, after the last finalize,
// in a forked child), keeps C++ exceptions from leaving, and keeps a thread that is cancelled inside a call from
// unwinding through us: cancellation waits until the call has returned.
#pragma once

#include <pthread.h>

#include <exception>
#include <new>
#include <utility>

#include "api/library.h"

namespace pmix::api {

// A thread cancelled in one of our system calls would unwind through destructors that must not be skipped or doubled.
class NoCancel {
  public:
    NoCancel() noexcept { pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before_); }
    ~NoCancel() { pthread_setcancelstate(before_, &unused_); }
    NoCancel(const NoCancel&) = delete;
    NoCancel& operator=(const NoCancel&) = delete;

  private:
    int before_ = PTHREAD_CANCEL_ENABLE;
    int unused_ = 0;
};

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

// Calls that make no system call on their usual way (Get, Put): no price for cancellation. Whoever leaves the usual
// way there takes a NoCancel itself.
template <class F>
inline pmix_status_t boundary_fast(F&& run) noexcept {
    Library* library = Library::current();
    if (library == nullptr) [[unlikely]]
        return PMIX_ERR_INIT;
    return guarded([&] { return std::forward<F>(run)(*library); });
}

template <class F>
inline pmix_status_t boundary(F&& run) noexcept {
    NoCancel no_cancel;
    return boundary_fast(std::forward<F>(run));
}

// PMIx_server_* calls: only for a process that initialised as a server.
template <class F>
inline pmix_status_t server_boundary(F&& run) noexcept {
    NoCancel no_cancel;
    return boundary_fast([&](Library& library) -> pmix_status_t {
        if (library.server() == nullptr) return PMIX_ERR_INIT;
        return std::forward<F>(run)(library, *library.server());
    });
}

}  // namespace pmix::api

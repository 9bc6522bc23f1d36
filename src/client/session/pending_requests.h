// SPDX-License-Identifier: BSD-3-Clause
// Open requests: id → who gets the answer. Each is completed exactly once, by its reply, by its timeout, or by the end
// of the connection, whichever comes first; what comes later finds nobody.
//
// Any thread: callers insert, the loop (or a caller that reads its own answer) completes. The lock covers the table
// only; completions run without it.
#pragma once

#include <cassert>
#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include "common/base/bytes.h"
#include "common/base/mutex.h"
#include "common/base/status.h"
#include "transport/descriptor.h"
#include "transport/event_loop.h"

namespace pmix::client {

// What ended a request.
struct Answer {
    pmix_status_t status = PMIX_SUCCESS;
    common::Bytes payload;  // borrowed, for the duration of the completion
    std::vector<transport::Descriptor> descriptors;
};

// One request that waits. Completion destroys it unless it belongs to a blocked caller.
class Call {
  public:
    virtual ~Call() = default;
    virtual void complete(Answer&& answer) noexcept = 0;
    // May be completed by whichever thread reads the answer: it only hands bytes to a waiting thread. Otherwise the
    // loop completes it, because user code runs in it.
    virtual bool anywhere() const noexcept { return false; }
    // A blocked caller's: it is on that caller's stack and is not deleted here.
    virtual bool borrowed() const noexcept { return false; }

    transport::TimerId timer = 0;  // loop only
};

struct CallDeleter {
    void operator()(Call* call) const noexcept {
        if (call != nullptr && !call->borrowed()) delete call;
    }
};
using CallPtr = std::unique_ptr<Call, CallDeleter>;

// Completes a call that was taken out of the table. A blocked caller's is gone, with its stack, as soon as it has been
// completed, so nothing of it is touched after that.
inline void complete_call(CallPtr call, Answer&& answer) noexcept {
    assert(call != nullptr);
    const bool borrowed = call->borrowed();
    Call* raw = call.release();
    raw->complete(std::move(answer));
    if (!borrowed) delete raw;
}

class Calls {
  public:
    // The id under which the answer will come, never 0. Fails with the reason given to close() once closed.
    common::Result<uint32_t> add(CallPtr call);

    // Empty: nobody waits under this id (any more).
    CallPtr take(uint32_t id) noexcept;
    // The same, but only when the call may be completed on this thread.
    CallPtr take_anywhere(uint32_t id) noexcept;

    // Is it still open?
    bool waits(uint32_t id) const noexcept;
    // The timer that will end it; the code that takes the request cancels it. Loop.
    void set_timer(uint32_t id, transport::TimerId timer) noexcept;

    // Ends every open request with the status, and refuses new ones with refuse_with.
    void close(pmix_status_t status, pmix_status_t refuse_with) noexcept;

    size_t open() const noexcept;

  private:
    mutable common::Mutex mutex_;
    std::unordered_map<uint32_t, CallPtr> calls_ GUARDED_BY(mutex_);
    uint32_t next_ GUARDED_BY(mutex_) = 1;
    pmix_status_t refuse_with_ GUARDED_BY(mutex_) = PMIX_SUCCESS;
};

}  // namespace pmix::client

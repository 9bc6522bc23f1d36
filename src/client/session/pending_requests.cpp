// SPDX-License-Identifier: BSD-3-Clause
#include "client/session/pending_requests.h"

#include <cassert>
#include <new>

namespace pmix::client {

using common::MutexLock;

common::Result<uint32_t> Calls::add(CallPtr call) {
    assert(call != nullptr && call->timer == 0);
    MutexLock lock(mutex_);
    if (refuse_with_ != PMIX_SUCCESS) return refuse_with_;
    // Ids wrap after four thousand million requests; one that is still open then is stepped over.
    while (next_ == 0 || calls_.count(next_) != 0) ++next_;
    const uint32_t id = next_++;
    try {
        calls_.emplace(id, std::move(call));
    } catch (const std::bad_alloc&) {
        return PMIX_ERR_NOMEM;
    }
    return id;
}

CallPtr Calls::take(uint32_t id) noexcept {
    MutexLock lock(mutex_);
    auto it = calls_.find(id);
    if (it == calls_.end()) return nullptr;
    CallPtr call = std::move(it->second);
    calls_.erase(it);
    return call;
}

CallPtr Calls::take_anywhere(uint32_t id) noexcept {
    MutexLock lock(mutex_);
    auto it = calls_.find(id);
    if (it == calls_.end() || !it->second->anywhere()) return nullptr;
    CallPtr call = std::move(it->second);
    calls_.erase(it);
    return call;
}

bool Calls::waits(uint32_t id) const noexcept {
    MutexLock lock(mutex_);
    return calls_.count(id) != 0;
}

void Calls::set_timer(uint32_t id, transport::TimerId timer) noexcept {
    MutexLock lock(mutex_);
    auto it = calls_.find(id);
    assert(timer != 0 && (it == calls_.end() || it->second->timer == 0));  // a call has one limit
    if (it != calls_.end()) it->second->timer = timer;
}

void Calls::close(pmix_status_t status, pmix_status_t refuse_with) noexcept {
    assert(refuse_with != PMIX_SUCCESS);  // else those added meanwhile would wait
    for (;;) {
        CallPtr call;
        {
            MutexLock lock(mutex_);
            refuse_with_ = refuse_with;
            if (calls_.empty()) return;
            auto it = calls_.begin();
            call = std::move(it->second);
            calls_.erase(it);
        }
        Answer answer;
        answer.status = status;
        complete_call(std::move(call), std::move(answer));
    }
}

size_t Calls::open() const noexcept {
    MutexLock lock(mutex_);
    return calls_.size();
}

}  // namespace pmix::client

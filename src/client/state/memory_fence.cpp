// SPDX-License-Identifier: BSD-3-Clause
#include "client/state/memory_fence.h"

#include <new>

#include "common/base/log.h"

namespace pmix::client {

using common::FenceUse;
using common::MutexLock;
using transport::FenceMemory;

void MemoryFence::take(transport::Descriptor descriptor, uint32_t ranks, uint32_t slot) noexcept {
    if (!allowed_ || slot >= ranks) return;
    if (!descriptor) {  // what there was before is not what the others have
        MutexLock lock(mutex_);
        entry_ = {};
        left_ = 0;
        return;
    }
    auto memory = FenceMemory::take_over(std::move(descriptor), ranks);
    try {
        Entry entry;
        if (memory) entry = {std::shared_ptr<FenceMemory>(std::move(memory).value()), slot};
        MutexLock lock(mutex_);
        entry_ = std::move(entry);
        left_ = 0;
    } catch (const std::bad_alloc&) {
        memory = PMIX_ERR_NOMEM;
    }
    if (memory) return;
    WIREUP_LOG(client, info, "fences go by request: the memory for them cannot be mapped: %s",
               common::log_status(memory.status()));
    refuses_.store(true, std::memory_order_relaxed);
}

FenceUse MemoryFence::use() const {
    if (!allowed_ || refuses_.load(std::memory_order_relaxed)) return FenceUse::none;
    MutexLock lock(mutex_);
    return entry_.memory != nullptr ? FenceUse::has : FenceUse::lacks;
}

MemoryFence::Entry MemoryFence::enter() {
    if (!allowed_) return {};
    if (in_memory_.exchange(true, std::memory_order_acq_rel)) return {};
    // This process is counted already: also by one that has joined, left, and asks now.
    if (requests_.load(std::memory_order_acquire) != 0) {
        leave();
        return {};
    }
    Entry entry;
    {
        MutexLock lock(mutex_);
        entry = entry_;
    }
    if (entry.memory == nullptr) leave();
    return entry;
}

bool MemoryFence::leave_commit(std::span<const common::Bytes> parts, uint64_t number) noexcept {
    if (!allowed_) return false;
    MutexLock lock(mutex_);
    if (entry_.memory == nullptr) return false;
    // A mailbox that is empty says that what was left there is with the server.
    if (left_ != number - 1 && settled_.load(std::memory_order_acquire) != number - 1) return false;
    if (!entry_.memory->mailboxes().leave(entry_.slot, parts)) return false;
    left_ = number;
    return true;
}

void MemoryFence::leave_round(uint32_t round) noexcept {
    MutexLock lock(mutex_);
    if (entry_.memory != nullptr) entry_.memory->leave(round);
}

void MemoryFence::wait(FenceMemory& memory, Outcome& outcome) noexcept {
    const auto end = memory.wait(outcome.round, transport::Deadline::in_ms(kPatienceMs));
    if (end.kind == FenceMemory::End::Kind::ended && !end.ask) {
        outcome.ended = true;
        outcome.status = end.status > 0 ? PMIX_ERROR : end.status;  // any process of the job can write there
    }
}

}  // namespace pmix::client

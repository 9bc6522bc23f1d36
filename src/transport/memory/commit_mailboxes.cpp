// SPDX-License-Identifier: BSD-3-Clause
#include "transport/memory/commit_mailboxes.h"

#include <cstring>

namespace pmix::transport {

using common::Bytes;

namespace {

constexpr auto kIdle = static_cast<uint32_t>(CommitMailboxes::Watch::idle);
constexpr auto kLooks = static_cast<uint32_t>(CommitMailboxes::Watch::looks);

}  // namespace

bool CommitMailboxes::leave(uint32_t slot, std::span<const Bytes> parts) noexcept {
    static_assert(sizeof(Box) == kBytes && std::atomic<uint32_t>::is_always_lock_free);
    size_t size = 0;
    for (const Bytes& part : parts) size += part.size();
    if (slot >= count_ || size == 0 || size > kMostBytes) return false;
    Box& mine = box(slot);
    if (watch_->load(std::memory_order_acquire) != kLooks || mine.size.load(std::memory_order_acquire) != 0)
        return false;
    uint8_t* to = mine.bytes;
    for (const Bytes& part : parts) {
        std::memcpy(to, part.data(), part.size());
        to += part.size();
    }
    auto left = static_cast<uint32_t>(size);
    mine.size.exchange(left, std::memory_order_seq_cst);
    if (watch_->load(std::memory_order_seq_cst) == kLooks) return true;
    // It has looked for the last time, perhaps before this was here: unless it has it, it goes by the socket.
    return !mine.size.compare_exchange_strong(left, 0, std::memory_order_relaxed);
}

CommitMailboxes::Watch CommitMailboxes::watch() const noexcept {
    const uint32_t word = watch_->load(std::memory_order_acquire);
    return word == kLooks ? Watch::looks : word == kIdle ? Watch::idle : Watch::closed;
}

void CommitMailboxes::set_watch(Watch watch) noexcept {
    watch_->exchange(static_cast<uint32_t>(watch), std::memory_order_seq_cst);
}

std::optional<Bytes> CommitMailboxes::take(uint32_t slot, Buffer buffer) noexcept {
    if (slot >= count_) return std::nullopt;
    Box& from = box(slot);
    uint32_t size = from.size.load(std::memory_order_seq_cst);
    if (size == 0) return std::nullopt;
    if (size > kMostBytes) {
        from.size.store(0, std::memory_order_relaxed);
        return Bytes();
    }
    std::memcpy(buffer.data(), from.bytes, size);
    const uint32_t taken = size;
    // Its process may have taken it back, because the watch had ended.
    if (!from.size.compare_exchange_strong(size, 0, std::memory_order_release, std::memory_order_relaxed))
        return std::nullopt;
    return Bytes(buffer.data(), taken);
}

}  // namespace pmix::transport

// SPDX-License-Identifier: BSD-3-Clause
// Mailboxes in the memory for fences (fence_memory.h): a process leaves a commit there, and the server takes it when
// all have joined, before it reads what the process sends, or a moment later. So a job that commits and fences does not
// wake its server for each commit.
//
// One word says whether the server looks, and only the server sets it: closed or idle (commits go by the socket; the
// next one that the server reads in the idle state has it look), looks (the server looks within a bounded time). A
// process leaves its commit and then reads the word; the server sets the word and then reads the mailboxes: one of them
// sees the other, so that no commit is left where nobody looks (docs/design/memory-order.md, section 6).
//
// A view: the memory belongs to FenceMemory. Client: one thread of a process at a time. Server: loop thread. All
// processes of the job may write here. What can go wrong: a size or bytes that make no sense. The server copies before
// it reads.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "common/base/bytes.h"

namespace pmix::transport {

class CommitMailboxes {
  public:
    enum class Watch : uint32_t { closed, idle, looks };
    using Word = std::atomic<uint32_t>;

    static constexpr size_t kBytes = 2048;  // of a mailbox
    static constexpr size_t kMostBytes = kBytes - sizeof(uint64_t);
    static constexpr uint32_t kMostProcesses = 1024;  // the memory of a larger job has none

    static constexpr uint32_t count_for(uint32_t processes) noexcept {
        return processes <= kMostProcesses ? processes : 0;
    }
    // at: the first one of so many, all zero at first. watch: closed at first.
    CommitMailboxes(void* at, uint32_t count, Word& watch) noexcept
        : at_(static_cast<uint8_t*>(at)), count_(count), watch_(&watch) {}

    // ---- client ----

    // Only after a commit that the server has taken. False: it has to go by the socket.
    bool leave(uint32_t slot, std::span<const common::Bytes> parts) noexcept;

    // ---- server ----

    Watch watch() const noexcept;
    // No longer looks: take() all afterwards.
    void set_watch(Watch watch) noexcept;
    using Buffer = std::span<uint8_t, kMostBytes>;
    // What lies there, copied; none: nothing. Empty: it was no commit.
    std::optional<common::Bytes> take(uint32_t slot, Buffer buffer) noexcept;

  private:
    struct Box {
        std::atomic<uint32_t> size;  // 0: empty
        uint32_t unused;
        uint8_t bytes[kMostBytes];
    };
    Box& box(uint32_t slot) const noexcept { return *reinterpret_cast<Box*>(at_ + size_t{slot} * sizeof(Box)); }

    uint8_t* at_;
    uint32_t count_;
    Word* watch_;
};

}  // namespace pmix::transport

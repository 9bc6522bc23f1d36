// SPDX-License-Identifier: BSD-3-Clause
// A CommitRequest's payload, as parts for one vectored write: small values are copied between the entries' heads, large
// ones are borrowed from the store, so that a commit touches few fresh pages. The layout is that of
// common/protocol/messages.h; a test compares the two.
//
// One thread; the borrowed values must outlive the parts. What can go wrong: memory (std::bad_alloc).
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "common/base/bytes.h"
#include "common/base/limits.h"

namespace pmix::client {

class CommitFrame {
  public:
    // A part costs the kernel about as much as copying this many bytes.
    static constexpr size_t kBorrowedFrom = 256;
    // The kernel takes 1,024 parts at once (IOV_MAX), one of them the frame's header.
    static constexpr size_t kMaxBorrowed = 500;

    // expected: bytes of all keys and values, to reserve memory for the copied ones at once.
    CommitFrame(uint64_t generation, size_t expected) : copied_(std::min<size_t>(expected, kReserved)) {
        copied_.u64(generation);
        count_at_ = copied_.hole_u32();
    }
    void add(uint8_t scope, std::string_view key, common::Bytes value) {
        // A struct inside a message carries its length.
        copied_.u32(static_cast<uint32_t>(1 + 4 + key.size() + 4 + value.size()));
        copied_.u8(scope);
        copied_.string(key);
        if (value.size() >= kBorrowedFrom && borrowed_.size() < kMaxBorrowed) {
            copied_.u32(static_cast<uint32_t>(value.size()));
            borrowed_.push_back({copied_.size(), value});
            borrowed_bytes_ += value.size();
        } else {
            copied_.bytes(value);
        }
        ++count_;
    }
    uint32_t count() const noexcept { return count_; }
    size_t size() const noexcept { return copied_.size() + borrowed_bytes_; }
    // Bytes of one entry in a frame, and of a whole frame beside its entries.
    static constexpr size_t entry_size(size_t key, size_t value) noexcept { return 4 + 1 + 4 + key + 4 + value; }
    static constexpr size_t kEmptySize = 8 + 4 + 8;
    // Would the frame, finished, still have at most `limit` bytes with this entry?
    bool has_room(size_t key, size_t value, size_t limit) const noexcept {
        const size_t taken = size() + sizeof(uint64_t);
        return taken <= limit && entry_size(key, value) <= limit - taken && count_ < common::kMaxListLength;
    }
    // Once, after the last add().
    void finish(uint64_t resent_up_to) { copied_.u64(resent_up_to); }
    // After finish().
    std::span<const common::Bytes> parts() {
        copied_.patch_u32(count_at_, count_);
        parts_.clear();
        parts_.reserve(2 * borrowed_.size() + 1);
        size_t from = 0;
        for (const Borrowed& l : borrowed_) {
            parts_.push_back(copied_.view().subspan(from, l.after - from));
            parts_.push_back(l.value);
            from = l.after;
        }
        if (from < copied_.size()) parts_.push_back(copied_.view().subspan(from));
        return parts_;
    }

  private:
    static constexpr size_t kReserved = 16 * 1024;
    struct Borrowed {
        size_t after;  // so many of the copied bytes are before it
        common::Bytes value;
    };
    common::ByteWriter copied_;
    std::vector<Borrowed> borrowed_;
    std::vector<common::Bytes> parts_;
    size_t borrowed_bytes_ = 0;
    size_t count_at_;
    uint32_t count_ = 0;
};

}  // namespace pmix::client

// SPDX-License-Identifier: BSD-3-Clause
// Frames that the socket did not take yet, whole or in part, with their descriptors.
//
// Owned by a Connection and guarded by its send lock. A frame that carries descriptors begins a system call of its own,
// so that they are received with its first byte. What is queued is charged to the account, if there is one; an amount
// that a socket's own buffer would hold is queued even where the account has no room.
#pragma once

#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <cassert>
#include <cstring>
#include <deque>
#include <memory>
#include <span>
#include <vector>

#include "common/protocol/frame.h"
#include "transport/descriptor.h"
#include "transport/queue_account.h"

namespace pmix::transport {

// The control part of a message that passes descriptors.
struct DescriptorControl {
    alignas(cmsghdr) unsigned char bytes[CMSG_SPACE(sizeof(int) * common::kMaxFrameDescriptors)];

    void attach(msghdr& message, const int* fds, size_t count) noexcept {
        if (count == 0) return;
        std::memset(bytes, 0, sizeof bytes);
        message.msg_control = bytes;
        message.msg_controllen = CMSG_SPACE(sizeof(int) * count);
        cmsghdr* header = CMSG_FIRSTHDR(&message);
        header->cmsg_level = SOL_SOCKET;
        header->cmsg_type = SCM_RIGHTS;
        header->cmsg_len = CMSG_LEN(sizeof(int) * count);
        std::memcpy(CMSG_DATA(header), fds, sizeof(int) * count);
    }
};

// In a header that was built: no descriptor travels with the frame. A message that counts on some goes without where
// they cannot be passed, and its receiver asks again.
inline void clear_descriptors(uint8_t header[common::kFrameHeaderSize]) noexcept {
    auto parsed = common::parse_frame_header({header, common::kFrameHeaderSize}, UINT32_MAX);
    if (!parsed) return;
    parsed->descriptors = 0;
    common::build_frame_header(*parsed, header);
}

class SendQueue {
  public:
    static constexpr int kGather = 32;
    static constexpr size_t kAlwaysQueued = 64u << 10;  // bytes, of one connection
    static constexpr size_t kFrameMemory = 128;         // beside a frame's bytes, about

    // Throws bad_alloc: a deque has memory from the beginning.
    explicit SendQueue(std::shared_ptr<QueueAccount> account = nullptr) : account_(std::move(account)) {}
    ~SendQueue() { clear(); }
    SendQueue(const SendQueue&) = delete;
    SendQueue& operator=(const SendQueue&) = delete;

    bool empty() const noexcept { return frames_.empty(); }
    size_t bytes() const noexcept { return bytes_; }
    size_t descriptors() const noexcept { return descriptors_; }

    // Sends the frame at the front without its descriptors, and clears their count in its header. Nothing of the frame
    // has been sent yet.
    void drop_front_descriptors() noexcept {
        if (frames_.empty() || frames_.front().descriptors.empty()) return;
        assert(front_sent_ == 0 && descriptors_ >= frames_.front().descriptors.size());
        descriptors_ -= frames_.front().descriptors.size();
        frames_.front().descriptors.clear();
        clear_descriptors(frames_.front().data.data());
    }

    // What is left of a frame of `size` bytes after `sent` of them. Descriptors only if sent is 0. False: the account
    // has no room for it.
    [[nodiscard]] bool push(std::span<const iovec> parts, size_t size, size_t sent,
                            std::vector<Descriptor> descriptors) {
        assert(sent < size && (sent == 0 || descriptors.empty()));
        const size_t left = size - sent, memory = left + kFrameMemory;
        if (!charge(memory)) return false;
        Entry entry;
        try {
            entry.data.reserve(left);
            frames_.emplace_back();
        } catch (...) {
            give_back(memory);
            throw;
        }
        entry.memory = memory;
        for (const iovec& part : parts) {
            const size_t skipped = std::min(sent, part.iov_len);
            sent -= skipped;
            const auto* bytes = static_cast<const uint8_t*>(part.iov_base);
            if (skipped < part.iov_len) entry.data.insert(entry.data.end(), bytes + skipped, bytes + part.iov_len);
        }
        assert(entry.data.size() == left && sent == 0);  // nothing is allocated behind reserve()
        entry.descriptors = std::move(descriptors);
        bytes_ += entry.data.size();
        descriptors_ += entry.descriptors.size();
        frames_.back() = std::move(entry);
        return true;
    }

    // The next system call: as many frames as go together. The parts stay valid until consume() or clear().
    struct Batch {
        iovec parts[kGather];
        int count = 0;
        int fds[common::kMaxFrameDescriptors];
        size_t fd_count = 0;
    };
    void next(Batch& batch) const noexcept {
        for (const Entry& entry : frames_) {
            const bool first = batch.count == 0;
            if (batch.count == kGather || (!first && !entry.descriptors.empty())) break;
            size_t offset = first ? front_sent_ : 0;
            assert(offset < entry.data.size() && (offset == 0 || entry.descriptors.empty()));
            assert(entry.descriptors.size() <= common::kMaxFrameDescriptors);
            batch.parts[batch.count++] = {const_cast<uint8_t*>(entry.data.data()) + offset, entry.data.size() - offset};
            for (const Descriptor& d : entry.descriptors) batch.fds[batch.fd_count++] = d.get();
        }
    }
    // The call took this many bytes (and then the descriptors too).
    void consume(size_t sent) noexcept {
        assert(sent <= bytes_);
        bytes_ -= sent;
        if (sent > 0 && !frames_.empty()) {
            descriptors_ -= frames_.front().descriptors.size();
            frames_.front().descriptors.clear();
        }
        while (sent > 0) {
            const size_t left = frames_.front().data.size() - front_sent_;
            if (sent < left) {
                front_sent_ += sent;
                return;
            }
            sent -= left;
            front_sent_ = 0;
            give_back(frames_.front().memory);
            frames_.pop_front();
        }
        assert(frames_.empty() == (bytes_ == 0) && (!frames_.empty() || (front_sent_ == 0 && descriptors_ == 0)));
    }
    void clear() noexcept {
        for (const Entry& entry : frames_) give_back(entry.memory);
        frames_.clear();
        bytes_ = front_sent_ = descriptors_ = 0;
    }

  private:
    struct Entry {
        std::vector<uint8_t> data;
        std::vector<Descriptor> descriptors;
        size_t memory = 0;  // as it was charged
    };
    bool charge(size_t memory) noexcept {
        if (account_ == nullptr || account_->take(memory)) return true;
        if (bytes_ + kFrameMemory * frames_.size() + memory > kAlwaysQueued) return false;
        account_->overdraw(memory);
        return true;
    }
    void give_back(size_t memory) noexcept {
        if (account_ != nullptr) account_->give_back(memory);
    }
    const std::shared_ptr<QueueAccount> account_;
    std::deque<Entry> frames_;
    size_t front_sent_ = 0;
    size_t bytes_ = 0;
    size_t descriptors_ = 0;
};

}  // namespace pmix::transport

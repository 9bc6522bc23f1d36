// A CommitRequest's payload, written entry by entry while the store lends its bytes: one copy, from the store into the
// frame. The layout is that of common/messages.h; a test holds the two together.
//
// One thread. What can go wrong: memory (std::bad_alloc).
#pragma once

#include <cstdint>
#include <string_view>

#include "common/bytes.h"

namespace pmix::client {

class CommitFrame {
  public:
    CommitFrame(uint64_t generation, size_t expected) : out_(expected) {
        out_.u64(generation);
        count_at_ = out_.hole_u32();
    }
    void add(uint8_t scope, std::string_view key, common::Bytes value) {
        // A struct inside a message carries its length.
        out_.u32(static_cast<uint32_t>(1 + 4 + key.size() + 4 + value.size()));
        out_.u8(scope);
        out_.string(key);
        out_.bytes(value);
        ++count_;
    }
    uint32_t count() const noexcept { return count_; }
    common::Bytes payload() noexcept {
        out_.patch_u32(count_at_, count_);
        return out_.view();
    }

  private:
    common::ByteWriter out_;
    size_t count_at_;
    uint32_t count_ = 0;
};

}  // namespace pmix::client

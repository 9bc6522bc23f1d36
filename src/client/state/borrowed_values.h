// SPDX-License-Identifier: BSD-3-Clause
// Values to which callers have pointers (PMIX_GET_POINTER_VALUES): they stay where they are until the last finalize,
// also when their namespace ends before.
//
// Owns one pmix_value_t per distinct encoded value that is borrowed, and what such a value needs beside the store's
// bytes. Any thread, one mutex: pointers are the rare way to get. Asking again for the same bytes gives the same
// pointer, so a caller's loop needs no more memory.
#pragma once

#include <list>
#include <string>
#include <unordered_map>
#include <vector>

#include "common/base/bytes.h"
#include "common/base/mutex.h"
#include "common/base/status.h"
#include "common/values/value.h"

namespace pmix::client {

class BorrowedValues {
  public:
    // bytes are in a store, which keeps what ranges() lists: the value points into them.
    common::Result<const pmix_value_t*> borrow(common::Bytes bytes);
    // bytes do not stay: a copy is kept.
    common::Result<const pmix_value_t*> keep(common::Bytes bytes);
    // All that borrow() was given.
    std::vector<common::Bytes> ranges();

  private:
    struct Kept {
        std::string encoded;  // only for kept copies
        pmix_value_t value;   // may point into encoded or into the store
        common::Value own;    // or is this one's content
    };
    common::Result<const pmix_value_t*> make(Kept& kept, common::Bytes bytes);

    common::Mutex mutex_;
    std::list<Kept> values_ GUARDED_BY(mutex_);
    std::unordered_map<const uint8_t*, const Kept*> by_place_ GUARDED_BY(mutex_);
    std::unordered_map<std::string_view, const Kept*> by_content_ GUARDED_BY(mutex_);
    std::unordered_map<const uint8_t*, size_t> places_ GUARDED_BY(mutex_);
};

}  // namespace pmix::client

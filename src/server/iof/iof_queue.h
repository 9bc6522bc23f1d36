// SPDX-License-Identifier: BSD-3-Clause
// Output that waits to be sent to one reader: buffers in order, and a limit.
//
// Pure state, loop thread. Bytes are counted per channel. Up to the limit a buffer is accepted at once. Above it,
// either the buffer is held (it stays in the queue, and its receipt stays open until it fits: this tells the deliverer
// to wait), or bytes are dropped, the oldest or the newest as the options ask; the number of dropped bytes is sent with
// the next buffer of the same stream. The end of a stream is never dropped.
#pragma once

#include <pmix_common.h>

#include <array>
#include <deque>
#include <map>
#include <memory>
#include <utility>

#include "common/base/callback.h"
#include "common/base/ids.h"
#include "common/base/limits.h"
#include "common/protocol/messages.h"
#include "common/values/value.h"

namespace pmix::server {

// The output of one delivery, shared by the queues of all its readers. No data: the end of the stream.
struct IofBuffer {
    common::ProcId source;
    pmix_iof_channel_t channel = 0;
    common::Blob data;
    common::InfoList infos;
    bool is_end() const noexcept { return data.empty(); }
};
using IofBufferPtr = std::shared_ptr<const IofBuffer>;

// Answers the deliverer when the last reference to it is dropped.
class IofReceipt {
  public:
    explicit IofReceipt(common::Callback<void(pmix_status_t)> done) : done_(std::move(done)) {}
    IofReceipt(const IofReceipt&) = delete;
    ~IofReceipt() { done_(status_); }
    void fail(pmix_status_t status) noexcept { status_ = status; }

  private:
    common::Callback<void(pmix_status_t)> done_;
    pmix_status_t status_ = PMIX_SUCCESS;
};
using IofReceiptPtr = std::shared_ptr<IofReceipt>;

enum class IofOverflow : uint8_t { hold, drop_oldest, drop_newest };

struct IofLimit {
    uint32_t bytes = common::kIofQueueBytes;
    IofOverflow overflow = IofOverflow::hold;
};

// PMIX_IOF_CACHE_SIZE and _DROP_OLDEST, _DROP_NEWEST; the fields of `limit` are the defaults. PMIX_ERR_BAD_PARAM: wrong
// types.
pmix_status_t read_iof_limit(const pmix_info_t* infos, size_t n, IofLimit& limit) noexcept;

class IofQueue {
  public:
    // A part of a buffer. lost: bytes of its stream that were dropped in front of it.
    struct Part {
        IofBufferPtr buffer;
        size_t offset = 0;
        size_t size = 0;
        uint64_t lost = 0;
    };

    // Throws bad_alloc: a deque has memory from the beginning.
    explicit IofQueue(IofLimit limit) : limit_(limit) {}
    IofQueue(IofQueue&&) = default;

    // The receipt may be null.
    void push(IofBufferPtr buffer, const IofReceiptPtr& receipt);
    // Adds to the number of bytes that are missing before the stream's next buffer.
    void add_lost(const common::ProcId& source, pmix_iof_channel_t channel, uint64_t bytes);
    bool empty() const noexcept { return parts_.empty(); }
    // Takes at most max bytes of one buffer off the front. Not on an empty queue.
    Part take(size_t max);
    // Drops all receipts: no deliverer waits for this reader any more.
    void release_receipts() noexcept;
    // Drops all data; the number of bytes is kept for a later reader.
    void drop_all();

    void set_limit(IofLimit limit) noexcept { limit_ = limit; }
    size_t bytes() const noexcept;
    size_t parts() const noexcept { return parts_.size(); }
    uint64_t lost() const noexcept;  // bytes dropped after the last buffer in the queue

  private:
    struct Entry {
        IofBufferPtr buffer;
        size_t begin = 0;
        size_t end = 0;
        uint64_t lost = 0;
    };
    struct Held {
        size_t bytes;
        IofReceiptPtr receipt;
    };
    struct Channel {
        size_t bytes = 0;  // queued, held ones included
        size_t count = 0;  // entries
        size_t held_bytes = 0;
        std::deque<Held> held;  // the newest of the queue, oldest first
    };
    using Stream = std::pair<common::ProcId, pmix_iof_channel_t>;

    Channel& channel(pmix_iof_channel_t bit) noexcept;
    bool over(const Channel& c, size_t more) const noexcept;
    void admit_held(Channel& c) noexcept;
    void drop_oldest(pmix_iof_channel_t bit, Channel& c);
    uint64_t take_lost(const IofBuffer& buffer);

    IofLimit limit_;
    std::deque<Entry> parts_;
    std::array<Channel, 3> channels_;
    std::map<Stream, uint64_t> lost_;  // to be sent with the stream's next buffer
};

}  // namespace pmix::server

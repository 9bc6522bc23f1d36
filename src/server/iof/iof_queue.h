// SPDX-License-Identifier: BSD-3-Clause
// Output on its way to one reader: pieces in order, and what happens when they are more than was agreed.
//
// Pure state, loop thread. Bytes are counted per channel. Up to the limit a piece is taken over at once. Above it,
// either the piece is held (it goes out in its turn, and its receipt stays open until it fits: that is how the
// deliverer learns to wait), or bytes are dropped, the oldest or the newest as asked; what was dropped is counted and
// told with the next piece of the same stream. The end of a stream is never dropped.
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

// One delivery of the host's, shared by all who read it. No data: the end of the stream.
struct IofPiece {
    common::ProcId source;
    pmix_iof_channel_t channel = 0;
    common::Blob data;
    common::InfoList infos;
    bool is_end() const noexcept { return data.empty(); }
};
using IofPiecePtr = std::shared_ptr<const IofPiece>;

// Answers the deliverer when the last who holds it lets go.
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

// PMIX_IOF_CACHE_SIZE and _DROP_OLDEST, _DROP_NEWEST, over what stands in `limit`. PMIX_ERR_BAD_PARAM: wrong types.
pmix_status_t read_iof_limit(const pmix_info_t* infos, size_t n, IofLimit& limit) noexcept;

class IofQueue {
  public:
    // A part of a piece. lost: bytes of its stream that were dropped in front of it.
    struct Part {
        IofPiecePtr piece;
        size_t offset = 0;
        size_t size = 0;
        uint64_t lost = 0;
    };

    // Throws bad_alloc: a deque has memory from the beginning.
    explicit IofQueue(IofLimit limit) : limit_(limit) {}
    IofQueue(IofQueue&&) = default;

    // The receipt may be null.
    void push(IofPiecePtr piece, const IofReceiptPtr& receipt);
    // So many bytes of the stream are missing in front of its next piece.
    void add_lost(const common::ProcId& source, pmix_iof_channel_t channel, uint64_t bytes);
    bool empty() const noexcept { return parts_.empty(); }
    // Takes at most max bytes of one piece off the front. Not on an empty queue.
    Part take(size_t max);
    // All receipts are let go: nobody is to wait for this reader any more.
    void release_receipts() noexcept;
    // Everything is dropped, and counted for those who ask later.
    void drop_all();

    void set_limit(IofLimit limit) noexcept { limit_ = limit; }
    size_t bytes() const noexcept;
    size_t parts() const noexcept { return parts_.size(); }
    uint64_t lost() const noexcept;  // not yet told, and with no piece to tell it with

  private:
    struct Entry {
        IofPiecePtr piece;
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
    uint64_t take_lost(const IofPiece& piece);

    IofLimit limit_;
    std::deque<Entry> parts_;
    std::array<Channel, 3> channels_;
    std::map<Stream, uint64_t> lost_;  // to be told with the next piece that comes
};

}  // namespace pmix::server

// SPDX-License-Identifier: BSD-3-Clause
// Output without a reader yet: a bounded queue for each process and channel, and a bound for all together.
//
// Loop thread. There may never be a reader, so nothing waits for one: overflow drops the newest bytes, or the oldest
// where the host asks for that, and the count of dropped bytes is kept for the first reader. When all streams together
// exceed the bound, the oldest streams are emptied.
#pragma once

#include <list>
#include <map>
#include <utility>
#include <vector>

#include "server/iof/iof_queue.h"

namespace pmix::server {

class IofCache {
  public:
    // limit: from the delivery's own infos, and the default for what they lack.
    void keep(IofBufferPtr buffer, IofLimit limit);
    // Hands over all streams for which wanted(source, channel) is true: give(source, channel, buffer, number of bytes
    // lost before it). Where bytes are missing at the end, the last call has no buffer.
    template <class Wanted, class Give>
    void take(Wanted&& wanted, Give&& give) {
        for (auto it = streams_.begin(); it != streams_.end();) {
            if (!wanted(it->first.first, it->first.second)) {
                ++it;
                continue;
            }
            const Key key = it->first;
            Stream stream = std::move(it->second);
            it = forget(it);
            while (!stream.queue.empty()) {
                IofQueue::Part part = stream.queue.take(SIZE_MAX);
                const uint64_t lost = part.lost;
                give(key.first, key.second, whole(std::move(part)), lost);
            }
            if (stream.queue.lost() != 0) give(key.first, key.second, nullptr, stream.queue.lost());
        }
    }
    void forget_nspace(std::string_view nspace);
    void clear();

    size_t bytes() const noexcept { return cost_; }
    size_t streams() const noexcept { return streams_.size(); }

  private:
    using Key = std::pair<common::ProcId, pmix_iof_channel_t>;
    struct Stream {
        IofQueue queue;
        std::list<Key>::iterator age;
        size_t cost = 0;
        bool ended = false;
    };
    using Streams = std::map<Key, Stream>;

    Streams::iterator forget(Streams::iterator it);
    void recount(Stream& stream) noexcept;
    void make_room();
    // The part as a buffer of its own: the whole buffer in most cases, else a copy.
    static IofBufferPtr whole(IofQueue::Part&& part);

    Streams streams_;
    std::list<Key> ages_;  // oldest first
    size_t cost_ = 0;      // of all
};

}  // namespace pmix::server

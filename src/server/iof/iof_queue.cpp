// SPDX-License-Identifier: BSD-3-Clause
#include "server/iof/iof_queue.h"

#include <algorithm>
#include <cassert>

#include "common/values/info_view.h"

namespace pmix::server {

namespace {

// Bounds the number of buffers too, because a small one takes more memory than its bytes.
size_t most_entries(uint32_t bytes) noexcept {
    return 64 + bytes / 64;
}

}  // namespace

pmix_status_t read_iof_limit(const pmix_info_t* infos, size_t n, IofLimit& limit) noexcept {
    const common::InfoView view(infos, n);
    WIREUP_RETURN_IF_ERROR(view.get(PMIX_IOF_CACHE_SIZE, &limit.bytes));
    // No stream may keep more than the limit of all streams together.
    limit.bytes = std::min(limit.bytes, static_cast<uint32_t>(common::kIofCacheTotal));
    if (view.flag(PMIX_IOF_DROP_NEWEST)) limit.overflow = IofOverflow::drop_newest;
    if (view.flag(PMIX_IOF_DROP_OLDEST)) limit.overflow = IofOverflow::drop_oldest;
    return PMIX_SUCCESS;
}

IofQueue::Channel& IofQueue::channel(pmix_iof_channel_t bit) noexcept {
    return channels_[bit == PMIX_FWD_STDOUT_CHANNEL ? 0 : bit == PMIX_FWD_STDERR_CHANNEL ? 1 : 2];
}

bool IofQueue::over(const Channel& c, size_t more) const noexcept {
    return c.bytes + more > limit_.bytes || c.count + 1 > most_entries(limit_.bytes);
}

void IofQueue::add_lost(const common::ProcId& source, pmix_iof_channel_t bit, uint64_t bytes) {
    if (bytes != 0) lost_[{source, bit}] += bytes;
}

uint64_t IofQueue::take_lost(const IofBuffer& buffer) {
    if (lost_.empty()) return 0;
    const auto it = lost_.find({buffer.source, buffer.channel});
    if (it == lost_.end()) return 0;
    const uint64_t bytes = it->second;
    lost_.erase(it);
    return bytes;
}

void IofQueue::push(IofBufferPtr buffer, const IofReceiptPtr& receipt) {
    const IofBuffer& p = *buffer;
    Channel& c = channel(p.channel);
    size_t size = p.data.size();
    size_t dropped = 0;  // bytes at the end of the buffer
    if (size != 0 && limit_.overflow == IofOverflow::drop_newest && over(c, size)) {
        const size_t left =
            c.count < most_entries(limit_.bytes) ? limit_.bytes - std::min<size_t>(c.bytes, limit_.bytes) : 0;
        dropped = size - std::min(size, left);
        size -= dropped;
        if (size == 0) return add_lost(p.source, p.channel, dropped);
    }
    if (size != 0 && limit_.overflow == IofOverflow::hold && c.held_bytes + size > common::kIofMaxHeld) {
        // The deliverer does not wait for its receipts.
        if (receipt != nullptr) receipt->fail(PMIX_ERR_OUT_OF_RESOURCE);
        return add_lost(p.source, p.channel, size);
    }
    const bool hold = limit_.overflow == IofOverflow::hold && receipt != nullptr && c.count != 0 &&
                      (!c.held.empty() || over(c, size));
    if (hold) {
        c.held.push_back({size, receipt});
        c.held_bytes += size;
    }
    assert(size != 0 || p.is_end());
    parts_.push_back({buffer, 0, size, take_lost(p)});
    c.bytes += size;
    ++c.count;
    assert(c.held_bytes <= c.bytes && (c.held.empty() || c.held.size() < c.count));
    add_lost(p.source, p.channel, dropped);
    if (limit_.overflow == IofOverflow::drop_oldest) drop_oldest(p.channel, c);
}

void IofQueue::drop_oldest(pmix_iof_channel_t bit, Channel& c) {
    const auto too_much = [&] { return c.bytes > limit_.bytes || c.count > most_entries(limit_.bytes); };
    for (auto it = parts_.begin(); it != parts_.end() && too_much();) {
        if (it->buffer->channel != bit || it->buffer->is_end()) {
            ++it;
            continue;
        }
        const size_t size = it->end - it->begin;
        const size_t gone = c.count > most_entries(limit_.bytes) ? size : std::min(size, c.bytes - limit_.bytes);
        assert(gone != 0 && gone <= size && gone <= c.bytes && c.count != 0);
        c.bytes -= gone;
        if (gone < size) {
            it->begin += gone;
            it->lost += gone;
            return;
        }
        const IofBufferPtr buffer = it->buffer;
        const uint64_t lost = it->lost + gone;
        --c.count;
        it = parts_.erase(it);
        // The gap is before the stream's next buffer, which is in the queue or will be pushed later.
        const auto next = std::find_if(it, parts_.end(), [&](const Entry& e) {
            return e.buffer->channel == bit && e.buffer->source == buffer->source;
        });
        if (next != parts_.end()) {
            next->lost += lost;
        } else {
            add_lost(buffer->source, bit, lost);
        }
    }
}

IofQueue::Part IofQueue::take(size_t max) {
    assert(!parts_.empty());
    Entry& front = parts_.front();
    Channel& c = channel(front.buffer->channel);
    assert(front.begin < front.end || front.buffer->is_end());
    assert(max != 0 || front.buffer->is_end());  // nothing of a buffer would be taken for the end of its stream
    Part part{front.buffer, front.begin, std::min(max, front.end - front.begin), std::exchange(front.lost, 0)};
    assert(c.bytes >= part.size && c.count != 0);
    front.begin += part.size;
    c.bytes -= part.size;
    if (front.begin == front.end) {
        --c.count;
        parts_.pop_front();
    }
    admit_held(c);
    return part;
}

// Held buffers are the last in the queue, so the one that leaves it is never held.
void IofQueue::admit_held(Channel& c) noexcept {
    while (!c.held.empty()) {
        assert(c.bytes >= c.held_bytes && c.count >= c.held.size());
        const size_t accepted = c.bytes - c.held_bytes;
        const size_t count = c.count - c.held.size();
        const bool fits = accepted + c.held.front().bytes <= limit_.bytes && count < most_entries(limit_.bytes);
        if (!fits && count != 0) return;
        assert(c.held_bytes >= c.held.front().bytes);
        c.held_bytes -= c.held.front().bytes;
        c.held.pop_front();
    }
}

void IofQueue::release_receipts() noexcept {
    for (Channel& c : channels_) {
        c.held.clear();
        c.held_bytes = 0;
    }
}

void IofQueue::drop_all() {
    release_receipts();
    std::deque<Entry> ends;
    for (Entry& e : parts_) {
        if (e.buffer->is_end()) {
            e.lost += take_lost(*e.buffer);
            ends.push_back(std::move(e));
        } else {
            add_lost(e.buffer->source, e.buffer->channel, e.lost + e.end - e.begin);
        }
    }
    for (Channel& c : channels_) c.bytes = c.count = 0;
    for ([[maybe_unused]] const Channel& c : channels_) assert(c.held.empty() && c.held_bytes == 0);
    for (const Entry& e : ends) ++channel(e.buffer->channel).count;
    parts_ = std::move(ends);
}

size_t IofQueue::bytes() const noexcept {
    size_t n = 0;
    for (const Channel& c : channels_) n += c.bytes;
    return n;
}

uint64_t IofQueue::lost() const noexcept {
    uint64_t n = 0;
    for (const auto& [stream, bytes] : lost_) n += bytes;
    return n;
}

}  // namespace pmix::server

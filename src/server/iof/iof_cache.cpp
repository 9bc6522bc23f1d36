// SPDX-License-Identifier: BSD-3-Clause
#include "server/iof/iof_cache.h"

#include <cassert>

namespace pmix::server {

namespace {
constexpr size_t kEntryCost = 256;  // a buffer's memory in addition to its bytes
}

void IofCache::recount(Stream& stream) noexcept {
    assert(cost_ >= stream.cost);
    cost_ -= stream.cost;
    stream.cost = stream.queue.bytes() + stream.queue.parts() * kEntryCost;
    cost_ += stream.cost;
}

IofCache::Streams::iterator IofCache::forget(Streams::iterator it) {
    assert(cost_ >= it->second.cost && *it->second.age == it->first);
    cost_ -= it->second.cost;
    ages_.erase(it->second.age);
    return streams_.erase(it);
}

void IofCache::keep(IofBufferPtr buffer, IofLimit limit) {
    if (limit.overflow == IofOverflow::hold) limit.overflow = IofOverflow::drop_newest;
    const Key key{buffer->source, buffer->channel};
    auto it = streams_.find(key);
    if (it == streams_.end()) {
        ages_.push_back(key);
        it = streams_.emplace(key, Stream{IofQueue(limit), std::prev(ages_.end())}).first;
    }
    Stream& stream = it->second;
    if (buffer->is_end()) {
        if (stream.ended) return;
        stream.ended = true;
    }
    stream.queue.set_limit(limit);
    stream.queue.push(std::move(buffer), nullptr);
    recount(stream);
    make_room();
    assert(streams_.size() == ages_.size() && streams_.size() <= common::kIofCacheStreams);
}

void IofCache::make_room() {
    while (streams_.size() > common::kIofCacheStreams) forget(streams_.find(ages_.front()));
    for (auto age = ages_.begin(); cost_ > common::kIofCacheTotal && age != ages_.end(); ++age) {
        Stream& stream = streams_.find(*age)->second;
        stream.queue.drop_all();
        recount(stream);
    }
}

IofBufferPtr IofCache::whole(IofQueue::Part&& part) {
    if (part.offset == 0 && part.size == part.buffer->data.size()) return part.buffer;
    auto buffer = std::make_shared<IofBuffer>();
    buffer->source = part.buffer->source;
    buffer->channel = part.buffer->channel;
    const auto begin = part.buffer->data.begin() + static_cast<ptrdiff_t>(part.offset);
    buffer->data.assign(begin, begin + static_cast<ptrdiff_t>(part.size));
    return buffer;
}

void IofCache::forget_nspace(std::string_view nspace) {
    for (auto it = streams_.begin(); it != streams_.end();) {
        it = it->first.first.nspace == nspace ? forget(it) : std::next(it);
    }
}

void IofCache::clear() {
    streams_.clear();
    ages_.clear();
    cost_ = 0;
}

}  // namespace pmix::server

// SPDX-License-Identifier: BSD-3-Clause
#include "client/state/namespaces.h"

#include <algorithm>
#include <cassert>

namespace pmix::client {

using common::MutexLock;

const dstore::Reader* Namespaces::find(std::string_view name) const noexcept {
    for (const Entry* e = head_.load(std::memory_order_acquire); e != nullptr;
         e = e->next.load(std::memory_order_acquire)) {
        if (e->name == name) return e->reader.get();
    }
    return nullptr;
}

bool Namespaces::has_ended(uint64_t instance) const noexcept {
    return instance != 0 && std::find(ended_.begin(), ended_.end(), instance) != ended_.end();
}

pmix_status_t Namespaces::add(std::string_view name, uint64_t instance, transport::Descriptor descriptor) {
    if (name.empty() || name.size() > common::kMaxNspaceLength || !descriptor) return PMIX_ERR_BAD_PARAM;
    MutexLock lock(mutex_);
    if (has_ended(instance)) return PMIX_SUCCESS;
    const auto old = std::find_if(entries_.begin(), entries_.end(), [&](const auto& e) { return e->name == name; });
    if (old != entries_.end() && instance <= (*old)->instance) return PMIX_SUCCESS;
    const auto lacked = find_lacked(name);
    if (lacked != lacked_.end() && instance < lacked->instance) return PMIX_SUCCESS;
    auto reader = dstore::Reader::open(descriptor.release());
    if (!reader) return reader.status();
    auto entry = std::make_unique<Entry>();
    entry->name = name;
    entry->instance = instance;
    entry->reader = std::move(reader).value();
    entry->next.store(head_.load(std::memory_order_relaxed), std::memory_order_relaxed);
    const size_t place = static_cast<size_t>(old - entries_.begin());
    const bool replaces = old != entries_.end();
    entries_.push_back(std::move(entry));
    Entry* fresh = entries_.back().get();
    head_.store(fresh, std::memory_order_release);
    if (name == own_name_) own_.store(fresh->reader.get(), std::memory_order_release);
    if (replaces) take_out(place);
    assert(std::count_if(entries_.begin(), entries_.end(), [&](const auto& e) { return e->name == name; }) == 1);
    if (lacked != lacked_.end()) {
        lacked_.erase(lacked);
        lacks_any_.store(!lacked_.empty(), std::memory_order_release);
    }
    return PMIX_SUCCESS;
}

pmix_status_t Namespaces::add_all(const common::SegmentList& segments,
                                  std::vector<transport::Descriptor>&& descriptors) {
    size_t next = 0;
    for (const common::SegmentRef& segment : segments) {
        if (!segment.has_descriptor) continue;
        // A frame without any: its sender had no room for them.
        if (next == descriptors.size() && !descriptors.empty()) return PMIX_ERR_UNPACK_FAILURE;
        transport::Descriptor descriptor;
        if (!descriptors.empty()) descriptor = std::move(descriptors[next++]);
        if (!descriptor) {
            lose(segment.nspace, segment.instance);
            continue;
        }
        WIREUP_RETURN_IF_ERROR(add(segment.nspace, segment.instance, std::move(descriptor)));
    }
    return PMIX_SUCCESS;
}

void Namespaces::note_ended(uint64_t instance) noexcept {
    if (!has_ended(instance)) ended_[next_ended_++ % ended_.size()] = instance;
}

void Namespaces::remove_superseded(std::string_view name) {
    MutexLock lock(mutex_);
    for (size_t i = 0; i < entries_.size(); ++i) {
        if (entries_[i]->name != name || !entries_[i]->reader->is_superseded()) continue;
        note_ended(entries_[i]->instance);
        return take_out(i);
    }
}

void Namespaces::remove(std::string_view name, uint64_t instance) {
    MutexLock lock(mutex_);
    note_ended(instance);
    const auto lacked = find_lacked(name);
    if (lacked != lacked_.end() && lacked->instance <= instance) lacked_.erase(lacked);
    lacks_any_.store(!lacked_.empty(), std::memory_order_release);
    for (size_t i = 0; i < entries_.size(); ++i) {
        if (entries_[i]->name == name && entries_[i]->instance == instance) return take_out(i);
    }
}

void Namespaces::lose(std::string_view name, uint64_t instance) {
    if (name.empty() || name.size() > common::kMaxNspaceLength) return;
    MutexLock lock(mutex_);
    if (has_ended(instance)) return;
    const auto old = std::find_if(entries_.begin(), entries_.end(), [&](const auto& e) { return e->name == name; });
    if (old != entries_.end()) {
        if (instance <= (*old)->instance) return;
        // First, so that a reader which finds no segment any more calls lacks(), which waits for this call.
        lacks_any_.store(true, std::memory_order_release);
        take_out(static_cast<size_t>(old - entries_.begin()));
    }
    const auto lacked = find_lacked(name);
    if (lacked != lacked_.end()) {
        lacked->instance = std::max(lacked->instance, instance);
    } else {
        lacked_.push_back({std::string(name), instance});
    }
    lacks_any_.store(true, std::memory_order_release);
}

std::vector<Namespaces::Lacked>::iterator Namespaces::find_lacked(std::string_view name) {
    return std::find_if(lacked_.begin(), lacked_.end(), [&](const Lacked& l) { return l.name == name; });
}

bool Namespaces::lacks(std::string_view name) const noexcept {
    if (!lacks_any_.load(std::memory_order_acquire)) return false;
    MutexLock lock(mutex_);
    return std::any_of(lacked_.begin(), lacked_.end(), [&](const Lacked& l) { return l.name == name; });
}

void Namespaces::remove_all() {
    MutexLock lock(mutex_);
    while (!entries_.empty()) take_out(entries_.size() - 1);
    assert(head_.load(std::memory_order_relaxed) == nullptr && own_.load(std::memory_order_relaxed) == nullptr);
    ended_.fill(0);
    lacked_.clear();
    lacks_any_.store(false, std::memory_order_release);
}

// Readers that stand on the entry go on along its `next`: what lies behind it is removed later than it, if at all.
void Namespaces::take_out(size_t at) {
    removed_.reserve(removed_.size() + 1);
    const Entry* gone = entries_[at].get();
    const Entry* behind = gone->next.load(std::memory_order_relaxed);
    if (head_.load(std::memory_order_relaxed) == gone) {
        head_.store(behind, std::memory_order_seq_cst);
    } else {
        assert(std::count_if(entries_.begin(), entries_.end(), [gone](const auto& e) {
                   return e->next.load(std::memory_order_relaxed) == gone;
               }) == 1);  // it is linked once
        for (const auto& e : entries_) {
            if (e->next.load(std::memory_order_relaxed) == gone) e->next.store(behind, std::memory_order_seq_cst);
        }
    }
    if (own_.load(std::memory_order_relaxed) == gone->reader.get()) own_.store(nullptr, std::memory_order_seq_cst);
    assert(removed_.size() < removed_.capacity());
    removed_.push_back(std::move(entries_[at]));
    entries_.erase(entries_.begin() + static_cast<std::ptrdiff_t>(at));
    has_removed_.store(true, std::memory_order_release);
    removed_.back()->grace_period.begin();
}

void Namespaces::unmap(size_t at, std::span<const common::Bytes> borrowed) {
    assert(at < removed_.size() && removed_[at]->grace_period.possible());
    remains_.reserve(remains_.size() + 1);
    if (removed_[at]->reader->let_go(borrowed)) remains_.push_back(std::move(removed_[at]->reader));
    removed_.erase(removed_.begin() + static_cast<std::ptrdiff_t>(at));
}

}  // namespace pmix::client

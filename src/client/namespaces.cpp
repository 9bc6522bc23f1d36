#include "client/namespaces.h"

namespace pmix::client {

using common::MutexLock;

const dstore::Reader* Namespaces::find(std::string_view name) const noexcept {
    for (const Entry* e = first(); e != nullptr; e = e->next) {
        if (e->name == name) return e->reader.get();
    }
    return nullptr;
}

pmix_status_t Namespaces::adopt(std::string_view name, uint64_t instance, transport::Descriptor descriptor) {
    if (name.empty() || name.size() > common::kMaxNspaceLength || !descriptor) return PMIX_ERR_BAD_PARAM;
    MutexLock lock(mutex_);
    Entry* old = nullptr;
    for (const auto& e : entries_) {
        if (e->name == name) old = e.get();
    }
    if (old != nullptr && old->instance == instance) return PMIX_SUCCESS;
    auto reader = dstore::Reader::open(descriptor.release());
    if (!reader) return reader.status();
    auto entry = std::make_unique<Entry>();
    entry->name = name;
    entry->instance = instance;
    entry->reader = std::move(reader).value();
    entry->next = first();
    entries_.push_back(std::move(entry));
    head_.store(entries_.back().get(), std::memory_order_release);
    if (old != nullptr) old->reader->retire({});
    return PMIX_SUCCESS;
}

pmix_status_t Namespaces::adopt_all(const common::SegmentList& segments,
                                    std::vector<transport::Descriptor>&& descriptors) {
    size_t next = 0;
    for (const common::SegmentRef& segment : segments) {
        if (!segment.has_descriptor) continue;
        if (next == descriptors.size()) return PMIX_ERR_UNPACK_FAILURE;
        const pmix_status_t rc = adopt(segment.nspace, segment.instance, std::move(descriptors[next++]));
        if (rc != PMIX_SUCCESS) return rc;
    }
    return PMIX_SUCCESS;
}

void Namespaces::retire(std::string_view name) noexcept {
    MutexLock lock(mutex_);
    for (const auto& e : entries_) {
        if (e->name == name) e->reader->retire({});
    }
}

}  // namespace pmix::client

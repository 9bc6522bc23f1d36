#include "client/query_cache.h"

#include "common/pack.h"

namespace pmix::client {

std::string QueryCache::name_of(std::string_view key, common::InfoView qualifiers) {
    common::ByteWriter w;
    for (const pmix_info_t& info : qualifiers) {
        if (common::key_view(info) == PMIX_QUERY_REFRESH_CACHE) continue;
        if (common::encode_info(w, info) != PMIX_SUCCESS) return {};
    }
    std::string name(key);
    name += '\0';
    const common::Bytes bytes = w.view();
    name.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    return name;
}

bool QueryCache::find(const std::string& name, common::Value& out) const {
    common::MutexLock lock(mutex_);
    const auto at = answers_.find(name);
    if (at == answers_.end()) return false;
    auto copy = common::Value::copy_of(at->second.get());
    if (!copy) return false;
    out = std::move(copy).value();
    return true;
}

void QueryCache::keep(const std::string& name, const pmix_value_t& value) {
    auto copy = common::Value::copy_of(value);
    if (!copy || name.empty()) return;
    common::MutexLock lock(mutex_);
    const auto [at, fresh] = answers_.insert_or_assign(name, std::move(copy).value());
    if (!fresh) return;
    order_.push_back(name);
    if (order_.size() <= kMaxAnswers) return;
    answers_.erase(order_.front());
    order_.pop_front();
}

void QueryCache::forget(const std::string& name) {
    common::MutexLock lock(mutex_);
    if (answers_.erase(name) != 0) std::erase(order_, name);
}

void QueryCache::clear() {
    common::MutexLock lock(mutex_);
    answers_.clear();
    order_.clear();
}

}  // namespace pmix::client

// What the host has answered to queries of this process: asked again without PMIX_QUERY_REFRESH_CACHE, it is not asked
// again.
//
// Any thread, one lock. Bounded: the oldest answer goes. What the server library answers by itself is not kept, since
// that is up to date only there.
#pragma once

#include <deque>
#include <string>
#include <string_view>
#include <unordered_map>

#include "common/info_view.h"
#include "common/mutex.h"
#include "common/value.h"

namespace pmix::client {

class QueryCache {
  public:
    // Names the question: the key, and the qualifiers but for the refresh. Empty: it cannot be named.
    static std::string name_of(std::string_view key, common::InfoView qualifiers);

    // A copy; false: not there.
    bool find(const std::string& name, common::Value& out) const;
    void clear();
    // What was known is asked again; whatever the answer is, the old one is not true any more.
    void forget(const std::string& name);
    void keep(const std::string& name, const pmix_value_t& value);

  private:
    static constexpr size_t kMaxAnswers = 64;
    mutable common::Mutex mutex_;
    std::unordered_map<std::string, common::Value> answers_ GUARDED_BY(mutex_);
    std::deque<std::string> order_ GUARDED_BY(mutex_);
};

}  // namespace pmix::client

// SPDX-License-Identifier: BSD-3-Clause
// The answers that queries of this process have returned. PMIx_Get finds them where no store has a value. A query finds
// those of the host, unless it has PMIX_QUERY_REFRESH_CACHE; what the server library answers by itself it asks for each
// time (client/services/query.cpp), because only the server's data is current.
//
// Any thread, one lock. Bounded: the oldest answer is dropped.
#pragma once

#include <atomic>
#include <deque>
#include <string>
#include <string_view>
#include <unordered_map>

#include "common/base/ids.h"
#include "common/base/mutex.h"
#include "common/values/info_view.h"
#include "common/values/value.h"

namespace pmix::client {

class QueryCache {
  public:
    // The process that a query's qualifiers name. An empty namespace: none is named.
    static common::ProcId process_of(const common::ProcId& self, common::InfoView qualifiers);
    // Names the question: key, process, and what else narrows it, in any order. Directives (PMIX_TIMEOUT, a refresh)
    // are no part of it. Empty: it cannot be named.
    static std::string name_of(std::string_view key, const common::ProcId& proc, common::InfoView qualifiers);

    // Has anything been kept? Without it there is nothing to find.
    bool used() const noexcept { return used_.load(std::memory_order_acquire); }
    // For PMIx_Get: what a query for this key of this process returned, or, for the caller's own job, a query that
    // named no process. self: the caller.
    bool find(const common::ProcId& self, const common::ProcId& proc, std::string_view key, common::InfoView qualifiers,
              common::Value& out) const;
    // A copy; false: not there.
    bool find(const std::string& name, common::Value& out) const;
    void clear();
    // What was known is asked again; whatever the answer is, the old one is not true any more.
    void forget(const std::string& name);
    void keep(const std::string& name, const pmix_value_t& value);

  private:
    static constexpr size_t kMaxAnswers = 64;
    std::atomic<bool> used_{false};  // something has been kept
    mutable common::Mutex mutex_;
    std::unordered_map<std::string, common::Value> answers_ GUARDED_BY(mutex_);
    std::deque<std::string> order_ GUARDED_BY(mutex_);
};

}  // namespace pmix::client

// SPDX-License-Identifier: BSD-3-Clause
// How many collective operations of one kind each process has begun that are not over: kMost at most.
//
// The bytes of an operation are its user's (server/base/budget.h); this bounds the work of the events that look at
// operations, a process's end for example. Loop thread only. A Share gives back at its end, and may outlive the table.
// What can go wrong: no share is left, which the caller answers with PMIX_ERR_OUT_OF_RESOURCE.
#pragma once

#include <cassert>
#include <cstddef>
#include <memory>
#include <unordered_map>
#include <utility>

#include "server/base/member.h"

namespace pmix::server {

class OpenShares {
    using Counts = std::unordered_map<MemberId, size_t>;

  public:
    // Programs with many threads have some hundred.
    static constexpr size_t kMost = 4096;

    class Share {
      public:
        Share() noexcept = default;
        Share(Share&& o) noexcept : counts_(std::move(o.counts_)), member_(o.member_) {}
        Share& operator=(Share&& o) noexcept {
            if (this != &o) {
                clear();
                counts_ = std::move(o.counts_);
                member_ = o.member_;
            }
            return *this;
        }
        ~Share() { clear(); }
        explicit operator bool() const noexcept { return counts_ != nullptr; }
        void clear() noexcept {
            if (counts_ == nullptr) return;
            const auto at = counts_->find(member_);
            assert(at != counts_->end() && at->second > 0 && at->second <= kMost);
            if (--at->second == 0) counts_->erase(at);
            counts_.reset();
        }

      private:
        friend class OpenShares;
        std::shared_ptr<Counts> counts_;
        MemberId member_ = 0;
    };

    // Empty: none is left.
    [[nodiscard]] Share take(MemberId member) {
        Share share;
        size_t& count = (*counts_)[member];
        if (count >= kMost) return share;
        ++count;
        share.counts_ = counts_;
        share.member_ = member;
        return share;
    }
    size_t of(MemberId member) const noexcept {
        const auto at = counts_->find(member);
        return at == counts_->end() ? 0 : at->second;
    }

  private:
    const std::shared_ptr<Counts> counts_ = std::make_shared<Counts>();
};

}  // namespace pmix::server

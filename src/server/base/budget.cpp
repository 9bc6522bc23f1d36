// SPDX-License-Identifier: BSD-3-Clause
#include "server/base/budget.h"

#include <unistd.h>

#include <algorithm>

namespace pmix::server {

namespace {
// Users who connect and leave again leave nothing behind once there are so many.
constexpr size_t kManyAccounts = 1024;
}  // namespace

AccountPtr Budget::of(uint32_t uid) {
    if (accounts_.size() >= kManyAccounts)
        std::erase_if(accounts_, [](const auto& entry) { return entry.second.use_count() == 1; });
    AccountPtr& account = accounts_[uid];
    if (account == nullptr) account = std::make_shared<UserAccount>(limit_);
    return account;
}

size_t Budget::default_limit() noexcept {
    constexpr size_t kFloor = size_t{1} << 30;
    const long pages = ::sysconf(_SC_PHYS_PAGES), page = ::sysconf(_SC_PAGESIZE);
    if (pages <= 0 || page <= 0) return kFloor;
    return std::max(kFloor, static_cast<size_t>(pages) / 16 * static_cast<size_t>(page));
}

}  // namespace pmix::server

// SPDX-License-Identifier: BSD-3-Clause
#include "server/base/places.h"

#include <sys/resource.h>

#include <algorithm>

#include "common/base/log.h"

namespace pmix::server {

namespace {
// As many as a process can use, where the kernel names no number.
constexpr rlim_t kPlenty = 1u << 20;

rlim_t bounded(rlim_t limit) noexcept {
    return limit == RLIM_INFINITY ? kPlenty : limit;
}
}  // namespace

size_t descriptor_limit() noexcept {
    rlimit limit{};
    return ::getrlimit(RLIMIT_NOFILE, &limit) == 0 ? static_cast<size_t>(bounded(limit.rlim_cur)) : kPlenty;
}

size_t highest_descriptor_limit() noexcept {
    rlimit limit{};
    return ::getrlimit(RLIMIT_NOFILE, &limit) == 0 ? static_cast<size_t>(bounded(limit.rlim_max)) : kPlenty;
}

bool raise_descriptor_limit(size_t wanted) noexcept {
    rlimit limit{};
    if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return false;
    const rlim_t before = bounded(limit.rlim_cur), highest = bounded(limit.rlim_max);
    const rlim_t next = std::min(highest, std::max<rlim_t>(wanted, before * 2));
    if (next <= before) return false;
    limit.rlim_cur = next;
    if (::setrlimit(RLIMIT_NOFILE, &limit) != 0) return false;
    WIREUP_LOG(server, info, "the limit of open files is raised from %llu to %llu",
               static_cast<unsigned long long>(before), static_cast<unsigned long long>(next));
    return true;
}

}  // namespace pmix::server

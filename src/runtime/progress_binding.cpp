// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/progress_binding.h"

#include <algorithm>
#include <string_view>

#include "common/base/log.h"
#include "common/placement/locality.h"

namespace pmix::api {

using common::IndexList;
using common::InfoView;
using common::Result;

namespace {

// CPUs beyond those that the C library's set can name are left out.
cpu_set_t as_set(const IndexList& list) noexcept {
    cpu_set_t set;
    CPU_ZERO(&set);
    for (const IndexList::Range& range : list.ranges()) {
        const uint32_t end = std::min<uint32_t>(range.last, CPU_SETSIZE - 1);
        for (uint32_t cpu = range.first; cpu <= end; ++cpu) CPU_SET(cpu, &set);
    }
    return set;
}

// Only the kernel decides: the calling thread is bound to these CPUs, and back.
bool can_bind(const cpu_set_t& wanted) noexcept {
    cpu_set_t before;
    if (::sched_getaffinity(0, sizeof before, &before) != 0) return false;
    if (::sched_setaffinity(0, sizeof wanted, &wanted) != 0) return false;
    return ::sched_setaffinity(0, sizeof before, &before) == 0;
}

}  // namespace

Result<std::optional<cpu_set_t>> read_progress_binding(InfoView infos, bool own_thread) {
    std::string_view text;
    WIREUP_RETURN_IF_ERROR(infos.get(PMIX_BIND_PROGRESS_THREAD, &text));
    if (text.empty()) return std::optional<cpu_set_t>();
    auto list = IndexList::parse(text);
    if (!list) return list.status();
    const cpu_set_t wanted = as_set(*list);
    if (own_thread && can_bind(wanted)) return std::optional(wanted);
    if (infos.flag(PMIX_BIND_REQUIRED)) return PMIX_ERR_NOT_SUPPORTED;
    WIREUP_LOG(api, warn, "the progress thread is not bound to %.*s", static_cast<int>(text.size()), text.data());
    return std::optional<cpu_set_t>();
}

}  // namespace pmix::api

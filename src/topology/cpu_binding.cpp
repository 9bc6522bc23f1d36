// SPDX-License-Identifier: BSD-3-Clause
#include "topology/cpu_binding.h"

#include <dirent.h>
#include <sched.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <memory>
#include <vector>

#include "common/base/limits.h"

namespace pmix::api {
namespace {

using common::IndexList;

// Adds the CPUs of a thread (0: the calling one). A kernel with more CPUs than asked for answers EINVAL.
bool add_thread(pid_t thread, std::vector<unsigned long>& mask, IndexList& out) {
    constexpr size_t kBits = 8 * sizeof(unsigned long);
    while (true) {
        std::fill(mask.begin(), mask.end(), 0);
        auto* set = reinterpret_cast<cpu_set_t*>(mask.data());
        if (::sched_getaffinity(thread, mask.size() * sizeof(unsigned long), set) == 0) break;
        if (errno != EINVAL || mask.size() * kBits >= common::kMaxCpuIndex) return false;
        mask.resize(mask.size() * 2);
    }
    for (uint32_t word = 0; word < mask.size(); ++word) {
        for (unsigned long left = mask[word]; left != 0; left &= left - 1) {
            const auto cpu = static_cast<uint32_t>(word * kBits + static_cast<size_t>(__builtin_ctzl(left)));
            out.add(cpu, cpu);
        }
    }
    return true;
}

}  // namespace

common::Result<IndexList> current_binding(pmix_bind_envelope_t envelope) {
    std::vector<unsigned long> mask(sizeof(cpu_set_t) / sizeof(unsigned long));
    IndexList cpus;
    if (envelope == PMIX_CPUBIND_THREAD) {
        if (!add_thread(0, mask, cpus)) return PMIX_ERR_NOT_FOUND;
        return cpus;
    }
    const auto close = [](DIR* d) { ::closedir(d); };
    std::unique_ptr<DIR, decltype(close)> threads(::opendir("/proc/self/task"), close);
    if (threads == nullptr) return PMIX_ERR_NOT_FOUND;
    bool any = false;
    while (const dirent* entry = ::readdir(threads.get())) {
        pid_t thread = 0;
        const char* const end = entry->d_name + std::strlen(entry->d_name);
        const auto [rest, error] = std::from_chars(entry->d_name, end, thread);
        if (error != std::errc() || rest != end) continue;
        any |= add_thread(thread, mask, cpus);  // a thread may end while we look
    }
    if (!any) return PMIX_ERR_NOT_FOUND;
    return cpus;
}

}  // namespace pmix::api

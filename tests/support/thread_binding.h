// SPDX-License-Identifier: BSD-3-Clause
// For tests of PMIX_BIND_PROGRESS_THREAD in each of the three inits.
#pragma once

#include <pmix.h>
#include <sched.h>

#include <chrono>
#include <future>
#include <string>

#include "common/values/value.h"

namespace pmix::test {

inline cpu_set_t cpus_here() {
    cpu_set_t here;
    CPU_ZERO(&here);
    sched_getaffinity(0, sizeof here, &here);
    return here;
}

// The last CPU that this thread may run on.
inline int last_cpu() {
    const cpu_set_t here = cpus_here();
    int last = CPU_SETSIZE - 1;
    while (last > 0 && !CPU_ISSET(last, &here)) --last;
    return last;
}

inline common::InfoList binding(const std::string& cpus, bool required) {
    common::InfoList infos;
    infos.append_string(PMIX_BIND_PROGRESS_THREAD, cpus);
    infos.append_flag(PMIX_BIND_REQUIRED, required);
    return infos;
}

// CPUs of the thread that runs the library's callbacks; none, if none runs within a minute. After an init.
inline cpu_set_t cpus_of_progress_thread() {
    static std::promise<cpu_set_t> told;
    told = {};
    const auto handler = [](size_t, pmix_status_t, const pmix_proc_t*, pmix_info_t[], size_t, pmix_info_t[], size_t,
                            pmix_event_notification_cbfunc_fn_t done, void* cbdata) {
        if (done != nullptr) done(PMIX_SUCCESS, nullptr, 0, nullptr, nullptr, cbdata);
    };
    PMIx_Register_event_handler(
        nullptr, 0, nullptr, 0, handler, [](pmix_status_t, size_t, void*) { told.set_value(cpus_here()); }, nullptr);
    auto here = told.get_future();
    cpu_set_t none;
    CPU_ZERO(&none);
    return here.wait_for(std::chrono::minutes(1)) == std::future_status::ready ? here.get() : none;
}

inline bool is_only(const cpu_set_t& set, int cpu) {
    return CPU_COUNT(&set) == 1 && CPU_ISSET(cpu, &set);
}

}  // namespace pmix::test

// SPDX-License-Identifier: BSD-3-Clause
// Which of a process's environment variables go along to a job that it starts: those of this library's configuration,
// of the programming model, and of the libraries of GPUs and fabrics.
//
// Pure; nothing owned; the environment is the caller's (environ) and read on its thread. What can go wrong: no memory.
#pragma once

#include <string_view>

#include "common/base/status.h"

namespace pmix::common {

// "ompi", "Open MPI", "prrte,ompi" and so on.
bool names_open_mpi(std::string_view model) noexcept;
// A key by which somebody says what a job's program is written with.
bool is_model_key(std::string_view key) noexcept;

// Tells a library of GPUs or fabrics how to work, but not with which devices: these differ from process to process.
bool is_device_variable(std::string_view name) noexcept;

// Calls take(name, value) for each variable that goes along: PMIX_MCA_*, those of devices and, for Open MPI, OMPI_*.
// What names one process of a job (ranks, sizes) is not for others and stays. Ends with the first status that is not
// success.
template <class Take>
pmix_status_t harvest(const char* const* environment, bool open_mpi, Take&& take);

namespace detail {
bool goes_along(std::string_view name, bool open_mpi) noexcept;
}

template <class Take>
pmix_status_t harvest(const char* const* environment, bool open_mpi, Take&& take) {
    for (const char* const* entry = environment; entry != nullptr && *entry != nullptr; ++entry) {
        const std::string_view text(*entry);
        const size_t equals = text.find('=');
        if (equals == std::string_view::npos || !detail::goes_along(text.substr(0, equals), open_mpi)) continue;
        WIREUP_RETURN_IF_ERROR(take(text.substr(0, equals), text.substr(equals + 1)));
    }
    return PMIX_SUCCESS;
}

}  // namespace pmix::common

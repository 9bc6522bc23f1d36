// SPDX-License-Identifier: BSD-3-Clause
// Strict mode: an operation does what the Standard's sentence says, also where consumers force another default
// (tests/conformance/decisions.csv names those places).
//
// Pure; any thread. An init decides it once, from the attribute PMIX_WIREUP_STRICT or, without it, the environment
// variable of the same name. From then on client code asks Session::strict(), server code asks Peer::strict() of the
// process whose request it serves: true where that process or the server itself is in strict mode. Functions of data,
// which work before an init too, ask process_is_strict(): true between an init in strict mode and the last finalize.
//
// What can go wrong: an attribute that is no truth value (PMIX_ERR_BAD_PARAM).
#pragma once

#include <pmix_common.h>

#include <atomic>
#include <string_view>

#include "common/base/status.h"
#include "common/values/info_view.h"

namespace pmix::common {

inline constexpr const char* kStrictVariable = "PMIX_WIREUP_STRICT";

namespace detail {
inline std::atomic<bool> g_process_is_strict{false};
}

inline bool process_is_strict() noexcept {
    return detail::g_process_is_strict.load(std::memory_order_relaxed);
}
// Init and finalize call it, under their lock.
inline void set_process_strict(bool strict) noexcept {
    detail::g_process_is_strict.store(strict, std::memory_order_relaxed);
}

// variable: the environment's text, or null.
inline Result<bool> strict_mode(InfoView infos, const char* variable) noexcept {
    bool strict = variable != nullptr && *variable != '\0' && std::string_view(variable) != "0";
    WIREUP_RETURN_IF_ERROR(infos.get(PMIX_WIREUP_STRICT, &strict));
    return strict;
}

}  // namespace pmix::common

// SPDX-License-Identifier: BSD-3-Clause
// A query for attribute support: which functions it names, at which levels, and whether it wants attributes or lists of
// functions. Read the same way by the client, which knows its own levels, and by the server, which knows the others.
//
// Pure, any thread. In the Standard's form the functions stand behind the key and the levels are true qualifiers;
// OpenPMIx names functions in a qualifier's text, which is read too. No level: all of them.
#pragma once

#include <pmix_common.h>

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "common/values/support.h"

namespace pmix::common {

enum class Level : uint8_t { client, server, host, tool };
inline constexpr std::array kLevels = {Level::client, Level::server, Level::host, Level::tool};

const char* attributes_key(Level level) noexcept;  // PMIX_CLIENT_ATTRIBUTES, ...
const char* functions_key(Level level) noexcept;   // PMIX_CLIENT_FUNCTIONS, ...

struct SupportQuestion {
    // True: its first key is PMIX_QUERY_ATTRIBUTE_SUPPORT.
    static bool is_one(const pmix_query_t& query) noexcept;
    static SupportQuestion read(const pmix_query_t& query);

    bool attributes_of(Level level) const noexcept { return attributes[static_cast<size_t>(level)]; }
    bool list_of(Level level) const noexcept { return lists[static_cast<size_t>(level)]; }
    bool asks_server() const noexcept {
        return (!functions.empty() && (attributes_of(Level::server) || attributes_of(Level::host))) ||
               list_of(Level::server) || list_of(Level::host);
    }

    std::vector<std::string> functions;  // as they were named
    std::array<bool, 4> attributes{};
    std::array<bool, 4> lists{};
};

}  // namespace pmix::common

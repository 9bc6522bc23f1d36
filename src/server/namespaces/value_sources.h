// SPDX-License-Identifier: BSD-3-Clause
// Which of a job's values are not its host's own word about it: those that this server has derived, those of
// PMIx_server_register_resources, and those that were given with another job of its session. They may be replaced by
// what follows from a later call; what the host has said of the job itself may not.
//
// A plain value of one thread. Keys that are not in here, but have a value, are the host's.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "dstore/store.h"

namespace pmix::server {

enum class ValueSource : uint8_t { host, derived, resources, session };

// May a value of one source take the place of one of the other?
constexpr bool replaces(ValueSource now, ValueSource before) noexcept {
    if (before == ValueSource::host) return false;
    if (before == ValueSource::session && now == ValueSource::host) return true;
    return before == ValueSource::derived || before == now ||
           (before == ValueSource::resources && now == ValueSource::session);
}

class ValueSources {
  public:
    ValueSource of(dstore::Owner owner, std::string_view key) const noexcept {
        const auto known = others_.find(number_of(owner));
        if (known == others_.end()) return ValueSource::host;
        const auto at = known->second.find(key);
        return at == known->second.end() ? ValueSource::host : at->second;
    }
    void set(dstore::Owner owner, std::string_view key, ValueSource source) {
        if (source != ValueSource::host) {
            others_[number_of(owner)].insert_or_assign(std::string(key), source);
        } else if (const auto known = others_.find(number_of(owner)); known != others_.end()) {
            if (const auto at = known->second.find(key); at != known->second.end()) known->second.erase(at);
            if (known->second.empty()) others_.erase(known);
        }
    }

  private:
    static constexpr uint64_t number_of(dstore::Owner owner) noexcept {
        return uint64_t{static_cast<uint8_t>(owner.kind)} << 32 | owner.index;
    }
    std::map<uint64_t, std::map<std::string, ValueSource, std::less<>>> others_;
};

}  // namespace pmix::server

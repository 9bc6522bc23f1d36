// SPDX-License-Identifier: BSD-3-Clause
// Calls that are under way, found by their number and by the name of their group: there may be many.
//
// Owns them. A Call has an `id`, which its owner gives it and which rises, and a `name`, which does not change while it
// is here. One thread. What can go wrong: add() throws std::bad_alloc, and has changed nothing.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string_view>
#include <utility>

namespace pmix::client {

template <class Call>
class NamedCalls {
  public:
    Call& add(Call&& call) {
        const auto [at, fresh] = calls_.try_emplace(call.id, std::move(call));
        try {
            names_.emplace(at->second.name, at->first);
        } catch (...) {
            call = std::move(at->second);
            calls_.erase(at);
            throw;
        }
        return at->second;
    }
    void remove(const Call& call) noexcept {
        const auto at = calls_.find(call.id);
        names_.erase({at->second.name, at->first});
        calls_.erase(at);
    }
    // Of several of a name the oldest.
    Call* find(std::string_view name) noexcept {
        const auto at = names_.lower_bound({name, 0});
        return at == names_.end() || at->first != name ? nullptr : find(at->second);
    }
    Call* find(uint64_t id) noexcept {
        const auto at = calls_.find(id);
        return at == calls_.end() ? nullptr : &at->second;
    }
    bool empty() const noexcept { return calls_.empty(); }
    Call& oldest() noexcept { return calls_.begin()->second; }

  private:
    std::map<uint64_t, Call> calls_;
    std::set<std::pair<std::string_view, uint64_t>> names_;  // in calls_
};

}  // namespace pmix::client

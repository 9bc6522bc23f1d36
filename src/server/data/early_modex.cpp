// SPDX-License-Identifier: BSD-3-Clause
#include "server/data/early_modex.h"

#include <algorithm>
#include <utility>

namespace pmix::server {
namespace {

// Names of jobs that are remembered as ended.
constexpr size_t kMostEnded = 256;

}  // namespace

bool EarlyModex::hold(const common::ProcId& proc, Respond& respond) {
    if (held_.size() >= kMostEarly || std::find(ended_.begin(), ended_.end(), proc.nspace) != ended_.end())
        return false;
    Held one;
    one.proc = proc;
    one.id = next_++;
    one.timer = Timer(scheduler_, limit_ms_, [this, id = one.id] { expire(id); });
    held_.push_back(std::move(one));
    held_.back().respond = std::move(respond);
    return true;
}

std::list<EarlyModex::Held> EarlyModex::take(std::string_view nspace) {
    std::erase(ended_, nspace);
    std::list<Held> taken;
    for (auto it = held_.begin(); it != held_.end();) {
        const auto next = std::next(it);
        if (it->proc.nspace == nspace) taken.splice(taken.end(), held_, it);
        it = next;
    }
    return taken;
}

void EarlyModex::ended(std::string_view nspace) {
    std::erase(ended_, nspace);
    if (ended_.size() >= kMostEnded) ended_.pop_front();
    ended_.emplace_back(nspace);
}

std::list<EarlyModex::Held> EarlyModex::take_all() noexcept {
    return std::exchange(held_, {});
}

void EarlyModex::expire(uint64_t id) {
    const auto it = std::find_if(held_.begin(), held_.end(), [&](const Held& one) { return one.id == id; });
    if (it == held_.end()) return;
    Respond respond = std::move(it->respond);
    held_.erase(it);
    late_(std::move(respond));
}

}  // namespace pmix::server

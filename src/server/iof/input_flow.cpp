// SPDX-License-Identifier: BSD-3-Clause
#include "server/iof/input_flow.h"

#include <algorithm>
#include <utility>

namespace pmix::server {

using common::ProcId;

namespace {

bool is_everybody(const std::optional<ProcId>& source) noexcept {
    return !source || source->nspace.empty();
}

bool matches(const ProcId& pattern, const ProcId& proc) noexcept {
    return pattern.nspace == proc.nspace && (pattern.rank == PMIX_RANK_WILDCARD || pattern.rank == proc.rank);
}

}  // namespace

bool InputFlow::stopped(const ProcId& source) const noexcept {
    return all_stopped_ || std::any_of(stopped_.begin(), stopped_.end(),
                                       [&](const ProcId& pattern) { return matches(pattern, source); });
}

void InputFlow::push(const Peer& peer, Push push) {
    if (stopped(push.source)) {
        held_.push_back(std::move(push));
        return;
    }
    Host& host = host_.of_processes(peer, push.targets);
    hand_over(host, std::move(push));
}

void InputFlow::hand_over(Host& host, Push push) {
    const ProcId source = push.source;
    host.push_stdin(source, push.targets, std::move(push.infos), std::move(push.bytes),
                    [this, source, reply = std::move(push.reply)](HostAnswer& answer) mutable {
                        if (answer.status == PMIX_ERR_IOF_XOFF) {
                            stop(source);
                            return reply.status(PMIX_SUCCESS);
                        }
                        reply.status(common::plain(answer.status));
                    });
}

void InputFlow::stop(const std::optional<ProcId>& source) {
    if (is_everybody(source)) {
        all_stopped_ = true;
    } else if (std::find(stopped_.begin(), stopped_.end(), *source) == stopped_.end()) {
        stopped_.push_back(*source);
    }
}

void InputFlow::go_on(const std::optional<ProcId>& source) {
    if (is_everybody(source)) {
        all_stopped_ = false;
        stopped_.clear();
    } else {
        std::erase_if(stopped_, [&](const ProcId& pattern) { return matches(*source, pattern); });
    }
    release();
}

// A push that the host answers at once may stop its source again: each one is looked at by itself.
void InputFlow::release() {
    std::vector<Push> waiting = std::exchange(held_, {});
    for (Push& push : waiting) {
        const auto peer = push.reply.peer();
        if (peer == nullptr) continue;
        this->push(*peer, std::move(push));
    }
}

void InputFlow::peer_gone(const Peer& peer) {
    std::erase_if(held_, [&](const Push& push) { return push.reply.from(peer); });
    const ProcId& source = peer.id();
    std::erase_if(stopped_, [&](const ProcId& pattern) { return pattern == source; });
}

}  // namespace pmix::server

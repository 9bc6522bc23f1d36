// SPDX-License-Identifier: BSD-3-Clause
#include "client/events/event_order.h"

#include <algorithm>
#include <cassert>

namespace pmix::client {
namespace {

using common::ProcId;

bool any_matches(const std::vector<ProcId>& patterns, const ProcId& proc) noexcept {
    return std::any_of(patterns.begin(), patterns.end(), [&](const ProcId& p) { return proc_matches(p, proc); });
}

// As proc_matches(), for the processes of an event, of which there may be many.
bool matches_one_of(const ProcId& pattern, const common::ProcSet& procs) noexcept {
    const auto ranks_match = [&](const common::ProcSet::Part& part) {
        return pattern.rank == PMIX_RANK_WILDCARD || pattern.rank == PMIX_RANK_UNDEF || part.is_whole() ||
               part.has(PMIX_RANK_UNDEF) || part.has(pattern.rank);
    };
    if (pattern.nspace.empty()) return std::any_of(procs.parts().begin(), procs.parts().end(), ranks_match);
    for (const std::string_view nspace : {std::string_view(pattern.nspace), std::string_view()})
        if (const auto* part = procs.find(nspace); part != nullptr && ranks_match(*part)) return true;
    return false;
}

}  // namespace

Category HandlerSpec::category() const noexcept {
    if (first) return Category::first;
    if (last) return Category::last;
    if (codes.empty()) return Category::fallback;
    return codes.size() == 1 && !grouped ? Category::single : Category::multi;
}

bool proc_matches(const ProcId& pattern, const ProcId& proc) noexcept {
    if (!pattern.nspace.empty() && !proc.nspace.empty() && pattern.nspace != proc.nspace) return false;
    const auto open = [](common::Rank r) { return r == PMIX_RANK_WILDCARD || r == PMIX_RANK_UNDEF; };
    return open(pattern.rank) || open(proc.rank) || pattern.rank == proc.rank;
}

common::Result<size_t> EventOrder::add(HandlerSpec spec) {
    std::sort(spec.codes.begin(), spec.codes.end());
    spec.codes.erase(std::unique(spec.codes.begin(), spec.codes.end()), spec.codes.end());
    const Category category = spec.category();
    // Entries of one category lie together: lead | prepend, append | end. Newest first ahead of the middle, newest
    // last behind it.
    constexpr int kSlots = 3;
    const int begin = static_cast<int>(category) * kSlots;
    const int slot = spec.place == Place::lead ? 0 : spec.place == Place::end ? 2 : 1;
    if (category == Category::first || category == Category::last) {
        const auto at = entries_.lower_bound({begin, INT64_MIN});
        if (at != entries_.end() && at->first.first < begin + kSlots) return PMIX_ERR_EVENT_REGISTRATION;
    }
    const bool ahead_of_equals = spec.place == Place::lead || spec.place == Place::prepend;
    const size_t reference = next_++;
    const auto age = static_cast<int64_t>(reference);
    const Position position{begin + slot, ahead_of_equals ? -age : age};
    const auto known = positions_.emplace(reference, position).first;
    try {
        entries_.try_emplace(position, Entry{reference, category, std::move(spec)});
    } catch (...) {
        positions_.erase(known);
        throw;
    }
    assert(positions_.size() == entries_.size());
    return reference;
}

bool EventOrder::remove(size_t reference) {
    const auto at = positions_.find(reference);
    if (at == positions_.end()) return false;
    entries_.erase(at->second);
    positions_.erase(at);
    return true;
}

const HandlerSpec* EventOrder::find(size_t reference) const noexcept {
    const auto at = positions_.find(reference);
    return at == positions_.end() ? nullptr : &entries_.at(at->second).spec;
}

bool EventOrder::contains(size_t reference) const noexcept {
    return find(reference) != nullptr;
}

bool EventOrder::in_range(const HandlerSpec& spec, const EventTraits& event) const {
    switch (spec.range) {
        case PMIX_RANGE_PROC_LOCAL:
            return event.source == self_;
        case PMIX_RANGE_NAMESPACE:
            return event.source.nspace == self_.nspace;
        case PMIX_RANGE_LOCAL:
            return event.source_is_local;
        case PMIX_RANGE_RM:
            return event.source_is_rm;
        case PMIX_RANGE_CUSTOM:
            return any_matches(spec.custom_range, event.source);
        default:
            // Session, global, undefined. A custom list without the range that goes with it still limits.
            if (spec.range == PMIX_RANGE_SESSION && event.other_session) return false;
            return spec.custom_range.empty() || any_matches(spec.custom_range, event.source);
    }
}

bool EventOrder::matches(const HandlerSpec& spec, const EventTraits& event) const {
    if (spec.codes.empty()) {
        if (event.non_default) return false;
    } else if (!std::binary_search(spec.codes.begin(), spec.codes.end(), event.code)) {
        return false;
    }
    if (!(event.of_environment ? spec.environment_level : spec.job_level)) return false;
    if (!in_range(spec, event)) return false;
    if (spec.affected.empty()) return true;
    return std::any_of(spec.affected.begin(), spec.affected.end(),
                       [&](const ProcId& p) { return matches_one_of(p, event.affected); });
}

bool EventOrder::wants(size_t reference, const EventTraits& event) const {
    const HandlerSpec* spec = find(reference);
    return spec != nullptr && matches(*spec, event);
}

std::vector<size_t> EventOrder::chain(const EventTraits& event) const {
    std::vector<const Entry*> chain;
    for (const auto& [position, e] : entries_) {
        if (matches(e.spec, event)) chain.push_back(&e);
    }

    // In order of registration, so that two who both want to stand directly before X end up newest next to X.
    std::vector<const Entry*> movers;
    for (const Entry* e : chain) {
        if (e->category == Category::first || e->category == Category::last) continue;
        if (!e->spec.before.empty() || !e->spec.after.empty()) movers.push_back(e);
    }
    std::sort(movers.begin(), movers.end(), [](const Entry* a, const Entry* b) { return a->reference < b->reference; });
    for (const Entry* mover : movers) {
        const bool before = !mover->spec.before.empty();
        const std::string& name = before ? mover->spec.before : mover->spec.after;
        auto is_target = [&](const Entry* e) { return e != mover && e->spec.name == name; };
        if (std::none_of(chain.begin(), chain.end(), is_target)) continue;
        chain.erase(std::find(chain.begin(), chain.end(), mover));
        auto target = std::find_if(chain.begin(), chain.end(), is_target);
        auto at = before ? target : target + 1;
        if (at == chain.begin() && (*at)->category == Category::first) ++at;
        if (at == chain.end() && chain.back()->category == Category::last) --at;
        chain.insert(at, mover);
    }

    for ([[maybe_unused]] const Entry* e : chain) {
        assert(e->category != Category::first || e == chain.front());
        assert(e->category != Category::last || e == chain.back());
    }
    std::vector<size_t> references;
    references.reserve(chain.size());
    for (const Entry* e : chain) references.push_back(e->reference);
    return references;
}

}  // namespace pmix::client

// SPDX-License-Identifier: BSD-3-Clause
// Which handlers an event meets, and in which order. Pure: no thread, no socket, nothing is called.
//
// The order of a chain: the one "first" handler, handlers for a single code, for several codes, defaults, the one
// "last" handler; within a category the newest first, because an application relies on being called before the MPI
// library that registered in MPI_Init, unless APPEND, FIRST_IN_CATEGORY or LAST_IN_CATEGORY gives another place. BEFORE
// and AFTER name another handler: they count only in chains in which that handler stands, also across categories, and
// never push anything ahead of "first" or behind "last".
//
// What can go wrong: a second "first" or "last" is refused with PMIX_ERR_EVENT_REGISTRATION.
#pragma once

#include <pmix.h>

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "common/base/ids.h"
#include "common/base/status.h"
#include "common/protocol/proc_set.h"

namespace pmix::client {

enum class Category : uint8_t { first, single, multi, fallback, last };

// Place within the category. Two handlers that both want to lead theirs stand newest first; two that want to end it,
// newest last.
enum class Place : uint8_t { lead, prepend, append, end };

// The contents of a registration, apart from the function itself.
struct HandlerSpec {
    std::vector<pmix_status_t> codes;  // empty: a default handler
    bool grouped = false;              // some of them by the name of a group: stands among handlers for several codes
    std::string name;
    bool first = false;
    bool last = false;
    Place place = Place::prepend;
    std::string before;  // names; empty: none
    std::string after;

    // Sources whose events are wanted.
    pmix_data_range_t range = PMIX_RANGE_UNDEF;
    std::vector<common::ProcId> custom_range;
    // Only events that name one of these; empty: all.
    std::vector<common::ProcId> affected;
    // Events of the environment, of jobs (all others), or both.
    bool job_level = true;
    bool environment_level = true;

    Category category() const noexcept;
};

// What of an event decides who hears of it.
struct EventTraits {
    pmix_status_t code = PMIX_SUCCESS;
    common::ProcId source;
    bool source_is_local = true;  // on this node
    bool source_is_rm = false;    // the resource manager: nobody, or the server
    bool other_session = false;   // the source is known to be in a session that is not the receiver's
    bool of_environment = false;
    bool non_default = false;
    common::ProcSet affected;
};

// One id may contain the other: wildcard and undefined ranks stand for every rank of their namespace, an empty
// namespace for every namespace.
bool proc_matches(const common::ProcId& pattern, const common::ProcId& proc) noexcept;

class EventOrder {
  public:
    explicit EventOrder(common::ProcId self) : self_(std::move(self)) {}

    // The reference of the new handler, unique within this object; starts at 0.
    common::Result<size_t> add(HandlerSpec spec);
    bool remove(size_t reference);
    bool contains(size_t reference) const noexcept;
    const HandlerSpec* find(size_t reference) const noexcept;
    size_t size() const noexcept { return entries_.size(); }

    bool wants(size_t reference, const EventTraits& event) const;
    // References in the order in which they are to be called.
    std::vector<size_t> chain(const EventTraits& event) const;

  private:
    struct Entry {
        size_t reference;
        Category category;
        HandlerSpec spec;
    };
    bool in_range(const HandlerSpec& spec, const EventTraits& event) const;
    bool matches(const HandlerSpec& spec, const EventTraits& event) const;

    common::ProcId self_;
    size_t next_ = 0;
    // Where a handler stands, before BEFORE and AFTER: category and place within it, then its age, rising or falling.
    using Position = std::pair<int, int64_t>;
    std::map<Position, Entry> entries_;
    std::unordered_map<size_t, Position> positions_;  // by reference
};

}  // namespace pmix::client

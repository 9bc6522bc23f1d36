// SPDX-License-Identifier: BSD-3-Clause
// A set of processes, for each namespace a set of ranks: a job of any size takes a few bytes, however its processes
// were listed.
//
// Pure values, any thread. A set does not depend on the order in which its processes were named, nor on how often. A
// wildcard stays one: it is not equal to the list of the processes that it includes.
//
// Lists of processes become a few ranges on the wire, or bits where there would be many (RankRanges in
// common/protocol/messages.h); read_ranges() takes them from hostile bytes. What can go wrong: a range that is none, or
// more processes than a list may have (PMIX_ERR_BAD_PARAM).
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/base/ids.h"
#include "common/protocol/messages.h"
#include "common/protocol/rank_set.h"

namespace pmix::common {

class ProcSet {
  public:
    using Range = RankSet::Range;
    // The processes of one namespace. A wildcard is a range of its own.
    struct Part {
        std::string nspace;
        RankSet ranks;

        bool has(Rank rank) const noexcept { return ranks.has(rank); }
        bool is_whole() const noexcept { return ranks.is_whole(); }
        uint64_t size() const noexcept { return ranks.size(); }
        template <class F>
        void for_each(F&& f) const {
            ranks.for_each(f);
        }
    };

    ProcSet() = default;
    explicit ProcSet(const ProcList& procs);
    ProcSet(std::initializer_list<ProcId> procs) : ProcSet(ProcList(procs)) {}
    explicit ProcSet(std::vector<Part> parts);  // in any order, ranges in any order
    ProcSet(const pmix_proc_t* procs, size_t n);

    const std::vector<Part>& parts() const noexcept { return parts_; }  // by namespace
    uint64_t size() const noexcept { return size_; }                    // of processes; a wildcard counts as one
    bool empty() const noexcept { return size_ == 0; }
    const Part* find(std::string_view nspace) const noexcept;
    bool names(std::string_view nspace) const noexcept { return find(nspace) != nullptr; }
    // Is this very process, or this wildcard, named?
    bool has(const ProcId& proc) const noexcept {
        const Part* part = find(proc.nspace);
        return part != nullptr && part->has(proc.rank);
    }
    // Named, or all of its namespace is.
    bool covers(const ProcId& proc) const noexcept {
        const Part* part = find(proc.nspace);
        return part != nullptr && (part->is_whole() || part->has(proc.rank));
    }
    // Have they a process in common? A wildcard has one in common with whatever names its namespace.
    bool overlaps(const ProcSet& other) const noexcept;
    void add(const ProcId& proc);
    void erase(const ProcId& proc);
    void erase(std::string_view nspace);
    // Sorted, as hosts get it.
    ProcList list() const;
    // f(namespace, rank)
    template <class F>
    void for_each(F&& f) const {
        for (const Part& part : parts_) part.for_each([&](Rank rank) { f(part.nspace, rank); });
    }
    size_t memory() const noexcept;

    bool operator==(const ProcSet& o) const noexcept { return compare(o) == 0; }
    // Any order will do, as long as sets of other sizes are told apart at once.
    bool operator<(const ProcSet& o) const noexcept { return compare(o) < 0; }

  private:
    int compare(const ProcSet& o) const noexcept;
    void put_in_order();
    void count() noexcept;
    std::vector<Part> parts_;
    uint64_t size_ = 0;
};

// What a message may name: a namespace of a length that one has, and one of its processes or all.
bool is_nspace(std::string_view nspace) noexcept;
bool is_named_rank(Rank rank) noexcept;
// Does the list name all of a namespace and nothing else, once or several times?
bool is_all_of(const ProcList& procs, std::string_view nspace) noexcept;
// A list as ranges, in its own order. Empty: the list would be shorter as it is.
RangeList ranges_of(const ProcList& procs);
// Where bits are shorter than the ranges, those.
void use_bits(RangeList& ranges);

// What a message names, by list, by ranges and by bits.
Result<ProcSet> read_ranges(const ProcList& procs, RangeList&& ranges);

}  // namespace pmix::common

// SPDX-License-Identifier: BSD-3-Clause
// Process ids and keys, bounded, without the ABI's 260 bytes for each.
//
// Pure values, any thread. A name that is too long or empty never becomes one of these: the makers return a status.
#pragma once

#include <cstring>
#include <string>
#include <string_view>
#include <tuple>

#include "common/base/limits.h"
#include "common/base/status.h"

namespace pmix::common {

using Rank = pmix_rank_t;

// The length of an array-typed C string that may lack its NUL; at most max.
inline size_t bounded_length(const char* s, size_t max) noexcept {
    size_t n = 0;
    while (n < max && s[n] != '\0') ++n;
    return n;
}

// A view of pmix_proc_t::nspace (or any char* that promises at most 255 characters).
inline std::string_view nspace_view(const char* nspace) noexcept {
    return nspace == nullptr ? std::string_view{} : std::string_view{nspace, bounded_length(nspace, kMaxNspaceLength)};
}

// One process, or with a wildcard rank all of its namespace.
struct ProcId {
    std::string nspace;
    Rank rank = PMIX_RANK_UNDEF;

    ProcId() = default;
    ProcId(std::string_view ns, Rank r) : nspace(ns), rank(r) {}
    explicit ProcId(const pmix_proc_t& p) : nspace(nspace_view(p.nspace)), rank(p.rank) {}

    bool operator==(const ProcId& o) const noexcept { return rank == o.rank && nspace == o.nspace; }
    bool operator<(const ProcId& o) const noexcept { return std::tie(nspace, rank) < std::tie(o.nspace, o.rank); }
    pmix_proc_t to_c() const noexcept {
        pmix_proc_t p;
        std::memset(&p, 0, sizeof p);
        size_t n = nspace.size() < kMaxNspaceLength ? nspace.size() : kMaxNspaceLength;
        std::memcpy(p.nspace, nspace.data(), n);
        p.rank = rank;
        return p;
    }
};

// Ranks that name one process, as opposed to wildcard, undefined, local peers and the like.
constexpr bool is_real_rank(Rank rank) noexcept {
    return rank < PMIX_RANK_VALID;
}

// The Standard reserves every key that starts with these four letters, dot or no dot.
constexpr bool is_reserved_key(std::string_view key) noexcept {
    return key.substr(0, 4) == "pmix";
}

// True if a caller may pass this key: neither empty nor too long. The extern "C" functions refuse NULL before this.
inline bool is_valid_key(std::string_view key) noexcept {
    return !key.empty() && key.size() <= kMaxKeyLength;
}

}  // namespace pmix::common

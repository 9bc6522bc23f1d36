// SPDX-License-Identifier: BSD-3-Clause
// Members of collective operations as this server counts them: a local process, a set of processes, and what a set
// means on this node.
//
// Values and one interface, owned by nobody here; the registry implements the interface on the loop thread.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "common/base/ids.h"
#include "common/protocol/proc_set.h"

namespace pmix::server {

// A local process, in 8 bytes: the registry's number of the namespace instance, and the rank.
using MemberId = uint64_t;
constexpr MemberId member_id(uint32_t nspace_number, common::Rank rank) noexcept {
    return (static_cast<uint64_t>(nspace_number) << 32) | rank;
}
constexpr uint32_t nspace_number_of(MemberId id) noexcept {
    return static_cast<uint32_t>(id >> 32);
}
constexpr common::Rank rank_of(MemberId id) noexcept {
    return static_cast<common::Rank>(id);
}

// The set of a collective as its callers wrote it. The order in which they named the processes does not matter; a
// wildcard entry is not equal to the list of the processes that it includes.
using Signature = common::ProcSet;

// What a signature means on this node, asked anew at each step because hosts register ranks one by one.
class MemberView {
  public:
    // Distinct local processes that belong to it, the ones that have left included.
    virtual size_t expected(const Signature& signature) const = 0;
    virtual bool contains(const Signature& signature, MemberId member) const = 0;
    // The name of its namespace; empty: it is not known any more.
    virtual std::string_view nspace_of(MemberId member) const = 0;
    // Those of expected() that have left and are not coming.
    virtual std::vector<MemberId> gone(const Signature& signature) const = 0;
    // Processes connected under this rank: more than one when a client has forked.
    virtual size_t clones(MemberId member) const = 0;

  protected:
    ~MemberView() = default;
};

}  // namespace pmix::server

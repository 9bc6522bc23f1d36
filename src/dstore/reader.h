// SPDX-License-Identifier: BSD-3-Clause
// The read side of a segment: find a value from any thread, with no lock, no system call and no allocation.
//
// Owns (a client) or borrows (the server's own) the mapping; the bytes belong to the server. Nothing in a segment is
// believed: each offset is held against the published size, each loop against a bound. What can go wrong: the key is
// not there (PMIX_ERR_NOT_FOUND), or the segment is damaged (PMIX_ERR_UNPACK_FAILURE). The two exceptions to the first
// sentence: a computed list allocates, and a segment that has outgrown what is mapped is mapped again.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <type_traits>
#include <utility>

#include "common/base/ids.h"
#include "common/base/status.h"
#include "dstore/columns.h"
#include "dstore/layout.h"
#include "dstore/segment.h"
#include "dstore/store.h"

namespace pmix::dstore {

class Reader {
  public:
    // Takes the descriptor, whatever happens.
    static common::Result<std::unique_ptr<Reader>> open(int descriptor);
    // On bytes that somebody else keeps mapped.
    explicit Reader(Mapping& mapping) noexcept : mapping_(&mapping) {}

    // The value of a key. For Owner::proc, reserved keys are looked for in what the host said first and in what the
    // process committed second; other keys the other way round.
    pmix_status_t find(Owner owner, const Key& key, Found& found) const noexcept;
    // The first rank that has the key (PMIX_RANK_UNDEF). Looks at every rank there is, so it may take long.
    pmix_status_t find_any_rank(const Key& key, Found& found) const noexcept;

    // fn(std::string_view key, const Found&) for every key of an owner, each key once, columns included.
    template <class F>
    pmix_status_t for_each(Owner owner, F&& fn) const {
        auto call = [](void* f, std::string_view key, const Found& found) {
            (*static_cast<std::remove_reference_t<F>*>(f))(key, found);
        };
        return visit(owner, call, const_cast<void*>(static_cast<const void*>(&fn)));
    }

    // How often something was published. A change is the sign to look again.
    uint64_t publications() const noexcept;
    // Up to which generation the commits of a rank are known without a gap; 0: none, or only later ones.
    uint64_t generation_of(common::Rank rank) const noexcept;
    // True if data of the rank was committed here, or was received from its node.
    bool has_commits(common::Rank rank) const noexcept;

    // Another segment has taken the place of this one, in which nothing changes any more.
    bool is_superseded() const noexcept {
        const Mapping::View& view = mapping_->view();
        return view.readable.load(std::memory_order_relaxed) >= layout::kHeaderSize &&
               layout::load_ref(view.base + layout::kHdrSuperseded) != 0;
    }

    // How many commits the server has refused. It has changed when the message of it is in the process's socket.
    uint32_t refusals() const noexcept {
        const Mapping::View& view = mapping_->view();
        if (view.readable.load(std::memory_order_relaxed) < layout::kHeaderSize) return 0;
        return layout::load_ref(view.base + layout::kHdrRefusals);
    }

    // Placement. Nodes are places in the node list; node_id() is what the host calls them.
    uint32_t nodes() const noexcept;
    std::optional<uint32_t> node_of(common::Rank rank) const noexcept;
    std::optional<uint32_t> local_rank(common::Rank rank) const noexcept;
    std::optional<uint32_t> local_size(uint32_t node) const noexcept;
    // The i-th rank of a node, in ascending order.
    std::optional<common::Rank> rank_on(uint32_t node, uint32_t i) const noexcept;
    std::optional<uint32_t> node_by_name(std::string_view name) const noexcept;
    std::optional<uint32_t> node_by_id(uint32_t id) const noexcept;
    std::optional<uint32_t> node_id(uint32_t node) const noexcept;
    // Empty: no such node.
    std::string_view node_name(uint32_t node) const noexcept;
    std::optional<uint32_t> app_of(common::Rank rank) const noexcept;
    std::optional<AppRange> app(uint32_t number) const noexcept;

    // The namespace is gone and nobody reads here any more: see Mapping::let_go(). Then only destruction is left.
    bool let_go(std::span<const common::Bytes> borrowed) { return mapping_->let_go(borrowed); }

  private:
    explicit Reader(std::unique_ptr<Mapping> mapping) noexcept : owned_(std::move(mapping)), mapping_(owned_.get()) {}
    using Visit = void (*)(void* context, std::string_view key, const Found& found);
    pmix_status_t visit(Owner owner, Visit call, void* context) const;

    std::unique_ptr<Mapping> owned_;
    Mapping* mapping_;
};

}  // namespace pmix::dstore

// SPDX-License-Identifier: BSD-3-Clause
// Where the processes of a job run: node lists and process maps, from and to the text that hosts hand around.
//
// Owns nothing but values; any thread. Reads every form that hosts pass: "pmix[...]", "raw:...", plain lists and
// ranges, and OpenPMIx's "blob:" (zlib). Text is hostile: what it expands to is bounded (kMaxMapNodes, kMaxMapRanks,
// kMaxMapText) and a malformed map is PMIX_ERR_BAD_PARAM, never a guess.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/bytes.h"
#include "common/base/ids.h"
#include "common/base/status.h"

namespace pmix::common {

// Larger than any machine that exists; a few bytes of range text must not be able to ask for more memory than this
// makes. Ranks are direct indices into tables, so the highest rank counts, not their number.
inline constexpr uint32_t kMaxMapNodes = 1u << 20;
inline constexpr uint32_t kMaxMapRanks = 1u << 24;
// Text of a map, also after decompression; all node names together.
inline constexpr size_t kMaxMapText = 256u << 20;

inline constexpr uint32_t kNoNode = UINT32_MAX;
inline constexpr uint32_t kNoLocalRank = UINT32_MAX;

// Which ranks run on which node. A regular job is a few numbers whatever its size; everything else is arrays. Ranks of
// a node are always in ascending order, which is what defines a local rank. Immutable.
class ProcMap {
  public:
    enum class Form : uint8_t {
        // node = rank / block % nnodes: by node (block = ranks a node), cyclic (block = 1) and all between.
        regular,
        // Node i holds the ranks starts()[i] up to starts()[i + 1].
        contiguous,
        // Node i holds ranks()[starts()[i]] up to ranks()[starts()[i + 1]]; rank r runs on node_index()[r].
        listed,
    };

    ProcMap() = default;

    // nranks ranks dealt out in blocks, the nodes in turn.
    static Result<ProcMap> make_regular(uint32_t nnodes, uint32_t nranks, uint32_t block);
    // From the node of each rank (kNoNode: no such rank). Takes the most compact form that holds it.
    static Result<ProcMap> from_node_index(uint32_t nnodes, std::vector<uint32_t> node_of_rank);
    // Contiguous ranks: node i holds starts[i] up to starts[i + 1]; starts with 0. Regular where it can be.
    static Result<ProcMap> from_starts(std::vector<uint32_t> starts);

    Form form() const noexcept { return form_; }
    uint32_t nnodes() const noexcept { return nnodes_; }
    uint32_t nranks() const noexcept { return nranks_; }
    // One more than the highest rank: nranks() unless the ranks have holes, which only a listed map can.
    uint32_t rank_limit() const noexcept { return rank_limit_; }

    // kNoNode and kNoLocalRank for a rank that the map does not have.
    uint32_t node_of(Rank rank) const noexcept;
    uint32_t local_rank(Rank rank) const noexcept;
    // 0 for a node that the map does not have.
    uint32_t count_on(uint32_t node) const noexcept;
    // The rank whose local rank is i; i < count_on(node).
    Rank rank_on(uint32_t node, uint32_t i) const noexcept;
    template <class F>
    void for_each_on(uint32_t node, F&& f) const {
        for (uint32_t i = 0, n = count_on(node); i < n; ++i) f(rank_on(node, i));
    }
    // What PMIX_LOCAL_PEERS holds: "0,1,2"; empty for an empty node.
    std::string local_peers_string(uint32_t node) const;

    // The parts, for a store that keeps them in its own layout. block: regular only. starts: nnodes() + 1 entries,
    // contiguous and listed. ranks (nranks() entries) and node_index (rank_limit() entries): listed only.
    uint32_t block() const noexcept { return block_; }
    std::span<const uint32_t> starts() const noexcept { return starts_; }
    std::span<const uint32_t> ranks() const noexcept { return ranks_; }
    std::span<const uint32_t> node_index() const noexcept { return node_index_; }

    bool operator==(const ProcMap&) const = default;

  private:
    Form form_ = Form::regular;
    uint32_t nnodes_ = 0;
    uint32_t nranks_ = 0;
    uint32_t rank_limit_ = 0;
    uint32_t block_ = 1;
    std::vector<uint32_t> starts_;
    std::vector<uint32_t> ranks_;
    std::vector<uint32_t> node_index_;
};

// How many bytes a map takes as hosts hold it in a char*: text with its NUL, or a whole "blob:" with the NULs inside.
// Nothing but such a blob is read beyond its first NUL, save the text "blob:" itself, which is no list of anything.
// The second form never looks beyond its argument and answers 0 if the map does not end in it.
size_t regex_size(const char* regex) noexcept;
size_t regex_size(Bytes bytes) noexcept;

// A node list in any form; a NUL at the end is not part of it. The order is kept, duplicates too; empty items are
// skipped; a list with no name at all is PMIX_ERR_BAD_PARAM.
Result<std::vector<std::string>> parse_node_map(Bytes map);
// A process map in any form: nodes separated by ';', ranks and ranges by ','. Nothing between two ';' is a node without
// ranks. A rank that is there twice, or no rank at all, is PMIX_ERR_BAD_PARAM.
Result<ProcMap> parse_proc_map(Bytes map);

inline Bytes as_bytes(std::string_view s) noexcept {
    return {reinterpret_cast<const uint8_t*>(s.data()), s.size()};
}
inline Result<std::vector<std::string>> parse_node_map(std::string_view map) {
    return parse_node_map(as_bytes(map));
}
inline Result<ProcMap> parse_proc_map(std::string_view map) {
    return parse_proc_map(as_bytes(map));
}

// Makes the two fit: a name that is listed twice becomes one node with the ranks of both, and empty nodes at the end of
// the process map that are not in the list are dropped. An empty name is a node that nobody has named, and each is
// another one. PMIX_ERR_BAD_PARAM when the counts differ otherwise.
pmix_status_t reconcile(std::vector<std::string>& nodes, ProcMap& procs);

// The text that OpenPMIx 4, 5 and 6 read: "pmix[...]" where that is shorter, else "raw:...". Never NULs inside. The
// string forms take what PMIx_generate_regex and PMIx_generate_ppn take, and any form that parse_* reads.
Result<std::string> generate_node_map(std::string_view list);
std::string generate_node_map(std::span<const std::string> nodes);
Result<std::string> generate_proc_map(std::string_view list);
std::string generate_proc_map(const ProcMap& procs);

}  // namespace pmix::common

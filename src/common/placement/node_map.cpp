// SPDX-License-Identifier: BSD-3-Clause
// ProcMap: the three forms, and choosing the smallest of them.
#include "common/placement/node_map.h"

#include <algorithm>
#include <charconv>
#include <unordered_map>

namespace pmix::common {
namespace {

// How many of the first n ranks a regular map gives to a node.
uint32_t regular_count(uint32_t nnodes, uint32_t block, uint32_t nranks, uint32_t node) noexcept {
    const uint64_t round = uint64_t{nnodes} * block;
    const uint64_t rest = nranks % round;
    const uint64_t before = uint64_t{node} * block;
    const uint64_t last = rest <= before ? 0 : std::min<uint64_t>(rest - before, block);
    return static_cast<uint32_t>(nranks / round * block + last);
}

}  // namespace

Result<ProcMap> ProcMap::make_regular(uint32_t nnodes, uint32_t nranks, uint32_t block) {
    if (nnodes == 0 || nranks == 0 || block == 0) return PMIX_ERR_BAD_PARAM;
    if (nnodes > kMaxMapNodes || nranks > kMaxMapRanks) return PMIX_ERR_BAD_PARAM;
    ProcMap map;
    map.form_ = Form::regular;
    map.nnodes_ = nnodes;
    map.nranks_ = map.rank_limit_ = nranks;
    // One way to write each map, so that equal maps compare equal.
    map.block_ = nnodes == 1 ? nranks : std::min(block, nranks);
    return map;
}

Result<ProcMap> ProcMap::from_starts(std::vector<uint32_t> starts) {
    if (starts.size() < 2 || starts.front() != 0 || starts.back() == 0) return PMIX_ERR_BAD_PARAM;
    if (starts.size() - 1 > kMaxMapNodes || starts.back() > kMaxMapRanks) return PMIX_ERR_BAD_PARAM;
    if (!std::is_sorted(starts.begin(), starts.end())) return PMIX_ERR_BAD_PARAM;
    const auto nnodes = static_cast<uint32_t>(starts.size() - 1);
    const uint32_t nranks = starts.back();
    if (starts[1] != 0) {
        // Contiguous ranks can only be regular within the first round: full blocks, one shorter, then none.
        uint32_t node = 0;
        while (node < nnodes && starts[node + 1] == std::min<uint64_t>(nranks, uint64_t{starts[1]} * (node + 1)))
            ++node;
        if (node == nnodes) return make_regular(nnodes, nranks, starts[1]);
    }
    ProcMap map;
    map.form_ = Form::contiguous;
    map.nnodes_ = nnodes;
    map.nranks_ = map.rank_limit_ = nranks;
    map.starts_ = std::move(starts);
    return map;
}

Result<ProcMap> ProcMap::from_node_index(uint32_t nnodes, std::vector<uint32_t> node_of_rank) {
    while (!node_of_rank.empty() && node_of_rank.back() == kNoNode) node_of_rank.pop_back();
    if (nnodes == 0 || nnodes > kMaxMapNodes) return PMIX_ERR_BAD_PARAM;
    if (node_of_rank.empty() || node_of_rank.size() > kMaxMapRanks) return PMIX_ERR_BAD_PARAM;
    const auto limit = static_cast<uint32_t>(node_of_rank.size());
    std::vector<uint32_t> starts(size_t{nnodes} + 1);
    uint32_t nranks = 0;
    uint32_t descents = 0;
    uint32_t before = 0;
    for (uint32_t node : node_of_rank) {
        if (node == kNoNode) continue;
        if (node >= nnodes) return PMIX_ERR_BAD_PARAM;
        ++starts[node + 1];
        ++nranks;
        descents += node < before;
        before = node;
    }
    for (uint32_t node = 0; node < nnodes; ++node) starts[node + 1] += starts[node];
    if (nranks == limit) {
        if (descents == 0) return from_starts(std::move(starts));
        uint32_t block = 0;
        while (node_of_rank[block] == 0) ++block;  // ends: there is a descent, so not all are on node 0
        uint64_t rank = 0;
        if (block != 0) {
            while (rank < limit && node_of_rank[rank] == rank / block % nnodes) ++rank;
            if (rank == limit) return make_regular(nnodes, nranks, block);
        }
    }
    ProcMap map;
    map.form_ = Form::listed;
    map.nnodes_ = nnodes;
    map.nranks_ = nranks;
    map.rank_limit_ = limit;
    map.ranks_.resize(nranks);
    std::vector<uint32_t> next(starts.begin(), starts.end() - 1);
    for (uint32_t rank = 0; rank < limit; ++rank) {
        if (node_of_rank[rank] != kNoNode) map.ranks_[next[node_of_rank[rank]]++] = rank;
    }
    map.starts_ = std::move(starts);
    map.node_index_ = std::move(node_of_rank);
    return map;
}

uint32_t ProcMap::node_of(Rank rank) const noexcept {
    if (rank >= rank_limit_) return kNoNode;
    switch (form_) {
        case Form::regular:
            return rank / block_ % nnodes_;
        case Form::contiguous:
            // The last node that starts at or below the rank; empty ones before it start there too and are passed.
            return static_cast<uint32_t>(std::upper_bound(starts_.begin(), starts_.end(), rank) - starts_.begin()) - 1;
        case Form::listed:
            return node_index_[rank];
    }
    return kNoNode;
}

uint32_t ProcMap::local_rank(Rank rank) const noexcept {
    const uint32_t node = node_of(rank);
    if (node == kNoNode) return kNoLocalRank;
    switch (form_) {
        case Form::regular:
            return static_cast<uint32_t>(rank / (uint64_t{nnodes_} * block_) * block_ + rank % block_);
        case Form::contiguous:
            return rank - starts_[node];
        case Form::listed: {
            const auto first = ranks_.begin() + starts_[node];
            const auto last = ranks_.begin() + starts_[node + 1];
            return static_cast<uint32_t>(std::lower_bound(first, last, rank) - first);
        }
    }
    return kNoLocalRank;
}

uint32_t ProcMap::count_on(uint32_t node) const noexcept {
    if (node >= nnodes_) return 0;
    if (form_ == Form::regular) return regular_count(nnodes_, block_, nranks_, node);
    return starts_[node + 1] - starts_[node];
}

Rank ProcMap::rank_on(uint32_t node, uint32_t i) const noexcept {
    switch (form_) {
        case Form::regular:
            return static_cast<Rank>(uint64_t{i / block_} * block_ * nnodes_ + uint64_t{node} * block_ + i % block_);
        case Form::contiguous:
            return starts_[node] + i;
        case Form::listed:
            return ranks_[starts_[node] + i];
    }
    return PMIX_RANK_UNDEF;
}

std::string ProcMap::local_peers_string(uint32_t node) const {
    std::string text;
    const uint32_t n = count_on(node);
    if (n == 0) return text;
    char digits[10];
    const auto width =
        static_cast<size_t>(std::to_chars(digits, digits + sizeof digits, rank_on(node, n - 1)).ptr - digits);
    text.reserve((width + 1) * n);
    for (uint32_t i = 0; i < n; ++i) {
        if (i != 0) text.push_back(',');
        text.append(digits, std::to_chars(digits, digits + sizeof digits, rank_on(node, i)).ptr);
    }
    return text;
}

pmix_status_t reconcile(std::vector<std::string>& nodes, ProcMap& procs) {
    if (nodes.empty() || procs.nnodes() < nodes.size()) return PMIX_ERR_BAD_PARAM;
    for (size_t node = nodes.size(); node < procs.nnodes(); ++node) {
        if (procs.count_on(static_cast<uint32_t>(node)) != 0) return PMIX_ERR_BAD_PARAM;
    }
    std::unordered_map<std::string_view, uint32_t> first_of;
    first_of.reserve(nodes.size());
    std::vector<uint32_t> becomes(nodes.size());
    uint32_t distinct = 0;
    for (size_t i = 0; i < nodes.size(); ++i) {
        // Two nodes without a name are not known to be one.
        becomes[i] = nodes[i].empty() ? distinct : first_of.emplace(nodes[i], distinct).first->second;
        if (becomes[i] == distinct) ++distinct;
    }
    if (distinct == procs.nnodes()) return PMIX_SUCCESS;
    std::vector<uint32_t> node_of_rank(procs.rank_limit());
    for (Rank rank = 0; rank < procs.rank_limit(); ++rank) {
        const uint32_t node = procs.node_of(rank);
        node_of_rank[rank] = node == kNoNode ? kNoNode : becomes[node];
    }
    Result<ProcMap> merged = ProcMap::from_node_index(distinct, std::move(node_of_rank));
    if (!merged) return merged.status();
    first_of.clear();  // its keys point into what is rebuilt now
    std::vector<std::string> names;
    names.reserve(distinct);
    for (size_t i = 0; i < nodes.size(); ++i) {
        if (becomes[i] == names.size()) names.push_back(std::move(nodes[i]));
    }
    nodes = std::move(names);
    procs = std::move(*merged);
    return PMIX_SUCCESS;
}

}  // namespace pmix::common

// SPDX-License-Identifier: BSD-3-Clause
// What the tests of node and process maps share: maps as lists.
#pragma once

#include <gtest/gtest.h>
#include <zlib.h>

#include <algorithm>
#include <random>

#include "common/placement/node_map.h"

namespace pmix::common {

using NameList = std::vector<std::string>;
using Nodes = std::vector<std::vector<Rank>>;

inline NameList names_of(std::string_view map) {
    auto parsed = parse_node_map(map);
    EXPECT_TRUE(parsed) << map;
    return parsed ? *parsed : NameList{};
}

inline Nodes nodes_of(const ProcMap& map) {
    Nodes nodes(map.nnodes());
    for (uint32_t node = 0; node < map.nnodes(); ++node) {
        map.for_each_on(node, [&](Rank rank) { nodes[node].push_back(rank); });
    }
    return nodes;
}

inline Nodes nodes_of(std::string_view map) {
    auto parsed = parse_proc_map(map);
    EXPECT_TRUE(parsed) << map;
    return parsed ? nodes_of(*parsed) : Nodes{};
}

// Every answer of a map, held against the lists it was made from.
inline void expect_consistent(const ProcMap& map, Nodes expected) {
    uint32_t total = 0;
    Rank highest = 0;
    ASSERT_EQ(expected.size(), map.nnodes());
    for (uint32_t node = 0; node < map.nnodes(); ++node) {
        auto& ranks = expected[node];
        std::sort(ranks.begin(), ranks.end());
        ASSERT_EQ(ranks.size(), map.count_on(node)) << node;
        std::string peers;
        for (uint32_t i = 0; i < ranks.size(); ++i) {
            ASSERT_EQ(ranks[i], map.rank_on(node, i));
            ASSERT_EQ(node, map.node_of(ranks[i])) << ranks[i];
            ASSERT_EQ(i, map.local_rank(ranks[i])) << ranks[i];
            peers += (i == 0 ? "" : ",") + std::to_string(ranks[i]);
            highest = std::max(highest, ranks[i]);
            ++total;
        }
        ASSERT_EQ(peers, map.local_peers_string(node));
    }
    EXPECT_EQ(total, map.nranks());
    EXPECT_EQ(highest + 1, map.rank_limit());
    EXPECT_EQ(0u, map.count_on(map.nnodes()));
    EXPECT_EQ(0u, map.count_on(kNoNode));
    for (Rank rank : {map.rank_limit(), Rank{PMIX_RANK_WILDCARD}, Rank{PMIX_RANK_UNDEF}, Rank{PMIX_RANK_INVALID}}) {
        EXPECT_EQ(kNoNode, map.node_of(rank));
        EXPECT_EQ(kNoLocalRank, map.local_rank(rank));
    }
}

inline std::string text_of(const Nodes& nodes) {
    std::string text;
    for (size_t i = 0; i < nodes.size(); ++i) {
        if (i != 0) text += ';';
        for (size_t k = 0; k < nodes[i].size(); ++k) text += (k == 0 ? "" : ",") + std::to_string(nodes[i][k]);
    }
    return text;
}

// A list as OpenPMIx from 5.0.10 on wraps it.
inline std::string blob_of(std::string_view text) {
    uLongf size = compressBound(text.size());
    std::string stream(size, '\0');
    EXPECT_EQ(Z_OK, compress2(reinterpret_cast<Bytef*>(stream.data()), &size,
                              reinterpret_cast<const Bytef*>(text.data()), text.size(), 9));
    stream.resize(size);
    std::string length(4, '\0');
    store_le(length.data(), static_cast<uint32_t>(text.size()));
    std::string blob{"blob:\0component=zlib:\0size=", 27};
    return blob + std::to_string(size + 4) + std::string(":\0", 2) + length + stream;
}

}  // namespace pmix::common

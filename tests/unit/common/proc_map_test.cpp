// SPDX-License-Identifier: BSD-3-Clause
// Maps of processes to nodes, in every form that hosts pass.
#include <cstdlib>
#include <new>

#include "support/status.h"
#include "unit/common/placement_setting.h"

// Memory is counted, not time: an algorithm that is not linear shows there on any machine.
namespace {
size_t allocated_bytes = 0;
}

[[gnu::noinline]] void* operator new(size_t size) {
    allocated_bytes += size;
    if (void* p = std::malloc(size == 0 ? 1 : size)) return p;
    throw std::bad_alloc();
}

[[gnu::noinline]] void* operator new[](size_t size) {
    return operator new(size);
}

[[gnu::noinline]] void operator delete[](void* p) noexcept {
    std::free(p);
}

[[gnu::noinline]] void operator delete[](void* p, size_t) noexcept {
    std::free(p);
}

[[gnu::noinline]] void operator delete(void* p) noexcept {
    std::free(p);
}

[[gnu::noinline]] void operator delete(void* p, size_t) noexcept {
    std::free(p);
}

namespace pmix::common {
namespace {

// rows: V3
TEST(ProcMap, EveryFormThatHostsPass) {
    const Nodes expected{{0, 2}, {1}};
    for (std::string text :
         {std::string("0,2;1"), std::string("raw:0,2;1"), std::string("pmix[0,2;1]"), std::string("2,0;1"),
          std::string(" 0 , 2 ; 1 \n"), std::string("0,,2;1,"), std::string("raw:0,2;1\0", 10),
          std::string("raw:\0"
                      "0,2;1",
                      10),
          blob_of("0,2;1")}) {
        EXPECT_EQ(expected, nodes_of(text)) << text;
    }
    const Nodes blocks{{0, 1, 2, 3}, {4, 5, 6, 7}};
    for (std::string_view text : {"0-3;4-7", "raw:0-3;4-7", "pmix[0-3;4-7]", "0,1,2,3;4,5,6,7", "0-1,2-3;4,5-6,7"}) {
        EXPECT_EQ(blocks, nodes_of(text)) << text;
    }
    EXPECT_EQ((Nodes{{0}}), nodes_of("0"));
    EXPECT_EQ((Nodes{{0, 1}, {}, {2, 3}}), nodes_of("0,1;;2,3"));
    EXPECT_EQ((Nodes{{}, {0}, {}}), nodes_of(";0;"));
}

// rows: V3
TEST(ProcMap, WhatIsNoMapIsRefused) {
    for (std::string_view text : {"",
                                  ";",
                                  ",",
                                  "raw:",
                                  "pmix[]",
                                  "pmix[0",
                                  "pmix[;]",
                                  "0,0",
                                  "0;0",
                                  "0-3;3",
                                  "0,1;1,2",
                                  "3-0",
                                  "-1",
                                  "0-",
                                  "-",
                                  "0--1",
                                  "a",
                                  "0a",
                                  "0 1",
                                  "0;node1",
                                  "node1,node2",
                                  "0:1",
                                  "16777216",
                                  "4294967296",
                                  "0-16777216",
                                  "99999999999999999999999999",
                                  "0-99999999999999999999999999",
                                  "[0-3]",
                                  "0x1",
                                  "+1",
                                  "0.1"}) {
        EXPECT_STATUS(PMIX_ERR_BAD_PARAM, parse_proc_map(text).status()) << text;
    }
    EXPECT_FALSE(parse_proc_map(std::string_view{"0\0;1", 4}));
    EXPECT_FALSE(parse_proc_map(std::string(kMaxMapNodes, ';') + "0"));
    EXPECT_TRUE(parse_proc_map("0-16777215"));
    for (std::string_view text : {"", ";", "a", "node1,node2", "-1", "3-0", "0 1", "16777216"}) {
        EXPECT_STATUS(PMIX_ERR_BAD_PARAM, generate_proc_map(text).status()) << text;
    }
}

TEST(ProcMap, FormsAreRecognised) {
    struct Case {
        const char* text;
        ProcMap::Form form;
        uint32_t block;
    };
    using Form = ProcMap::Form;
    for (const Case& c : {Case{"0", Form::regular, 1},
                          Case{"0-9", Form::regular, 10},
                          Case{"0;1;2", Form::regular, 1},
                          Case{"0,1;2,3;4,5", Form::regular, 2},
                          Case{"0,1;2,3;4", Form::regular, 2},
                          Case{"0,1;2,3;", Form::regular, 2},
                          Case{"0,1;2;", Form::regular, 2},
                          Case{"0,2,4;1,3", Form::regular, 1},
                          Case{"0,3;1,4;2", Form::regular, 1},
                          Case{"0,1,4,5;2,3,6,7", Form::regular, 2},
                          Case{"0,1,4,5;2,3,6", Form::regular, 2},
                          Case{"0,1,4;2,3", Form::regular, 2},
                          Case{"3,2,1,0;7,6,5,4", Form::regular, 4},
                          Case{"0;1,2", Form::contiguous, 0},
                          Case{"0,1;;2,3", Form::contiguous, 0},
                          Case{";0,1", Form::contiguous, 0},
                          Case{"0,1,2;3,4;5,6", Form::contiguous, 0},
                          Case{"1;0", Form::listed, 0},
                          Case{"0;2", Form::listed, 0},
                          Case{"5", Form::listed, 0},
                          Case{"0,3;1,2", Form::listed, 0},
                          Case{"0,1,4,5;2,3,6,8", Form::listed, 0},
                          Case{"0,4;1,2;3", Form::listed, 0},
                          Case{"0,1,4,5,6;2,3", Form::listed, 0}}) {
        auto map = parse_proc_map(c.text);
        ASSERT_TRUE(map) << c.text;
        EXPECT_EQ(c.form, map->form()) << c.text;
        if (c.form == Form::regular) {
            EXPECT_EQ(c.block, map->block()) << c.text;
        }
    }
}

TEST(ProcMap, EveryAnswerOfAnyMap) {
    std::mt19937 random(21);
    for (int round = 0; round < 2'000; ++round) {
        const uint32_t nnodes = 1 + random() % 9;
        const uint32_t nranks = 1 + random() % 60;
        const uint32_t block = 1 + random() % 12;
        Nodes nodes(nnodes);
        const unsigned kind = random() % 5;
        uint32_t at = 0;
        for (Rank rank = 0; rank < nranks; ++rank) {
            switch (kind) {
                case 0:
                    nodes[rank / block % nnodes].push_back(rank);
                    break;
                case 1:
                    while (at + 1 < nnodes && random() % 5 == 0) ++at;
                    nodes[at].push_back(rank);
                    break;
                case 2:
                    nodes[random() % nnodes].push_back(rank);
                    break;
                case 3:
                    nodes[random() % nnodes].push_back(rank * 3 + 1);
                    break;  // ranks with holes
                default:
                    nodes[(nnodes - 1) - rank / block % nnodes].push_back(rank);
                    break;
            }
        }
        for (auto& ranks : nodes) {
            if (random() % 4 == 0) std::shuffle(ranks.begin(), ranks.end(), random);
        }
        const std::string text = text_of(nodes);
        SCOPED_TRACE(text);
        auto map = parse_proc_map(text);
        ASSERT_TRUE(map);
        expect_consistent(*map, nodes);

        auto again = parse_proc_map(*generate_proc_map(text));
        ASSERT_TRUE(again);
        EXPECT_EQ(*map, *again);
        auto from_map = parse_proc_map(generate_proc_map(*map));
        ASSERT_TRUE(from_map);
        EXPECT_EQ(*map, *from_map);
        std::vector<uint32_t> index(map->rank_limit());
        for (Rank rank = 0; rank < map->rank_limit(); ++rank) index[rank] = map->node_of(rank);
        auto from_index = ProcMap::from_node_index(nnodes, index);
        ASSERT_TRUE(from_index);
        EXPECT_EQ(*map, *from_index);
        if (kind == 0) {
            EXPECT_EQ(ProcMap::Form::regular, map->form());
        } else if (kind == 1) {
            EXPECT_NE(ProcMap::Form::listed, map->form());
        }
    }
}

TEST(ProcMap, PartsForAStore) {
    auto listed = parse_proc_map("4,0;2");
    ASSERT_TRUE(listed);
    EXPECT_EQ((std::vector<uint32_t>{0, 2, 3}), std::vector(listed->starts().begin(), listed->starts().end()));
    EXPECT_EQ((std::vector<uint32_t>{0, 4, 2}), std::vector(listed->ranks().begin(), listed->ranks().end()));
    EXPECT_EQ((std::vector<uint32_t>{0, kNoNode, 1, kNoNode, 0}),
              std::vector(listed->node_index().begin(), listed->node_index().end()));
    auto contiguous = parse_proc_map("0;1,2;;3");
    ASSERT_TRUE(contiguous);
    EXPECT_EQ((std::vector<uint32_t>{0, 1, 3, 3, 4}),
              std::vector(contiguous->starts().begin(), contiguous->starts().end()));
    auto regular = parse_proc_map("0-3;4-7");
    ASSERT_TRUE(regular);
    EXPECT_TRUE(regular->starts().empty() && regular->ranks().empty() && regular->node_index().empty());

    EXPECT_FALSE(ProcMap::make_regular(0, 1, 1));
    EXPECT_FALSE(ProcMap::make_regular(1, 0, 1));
    EXPECT_FALSE(ProcMap::make_regular(1, 1, 0));
    EXPECT_FALSE(ProcMap::make_regular(1, kMaxMapRanks + 1, 1));
    EXPECT_FALSE(ProcMap::from_starts({0, 0}));
    EXPECT_FALSE(ProcMap::from_starts({1, 2}));
    EXPECT_FALSE(ProcMap::from_starts({0, 3, 2}));
    EXPECT_FALSE(ProcMap::from_node_index(2, {}));
    EXPECT_FALSE(ProcMap::from_node_index(2, {0, 2}));
    EXPECT_FALSE(ProcMap::from_node_index(2, {kNoNode, kNoNode}));
}

TEST(ProcMap, GeneratedTextIsShortAndKnown) {
    EXPECT_EQ("raw:0,2;1", *generate_proc_map("0,2;1"));
    EXPECT_EQ("raw:0,1;2,3", *generate_proc_map("0-1;2,3"));
    EXPECT_EQ("pmix[0-3;4-7]", *generate_proc_map("0,1,2,3;4,5,6,7"));
    EXPECT_EQ("pmix[0-3;4-7]", *generate_proc_map("0-3;4-7"));
    EXPECT_EQ("pmix[0-3;4-7]", *generate_proc_map("pmix[0-3;4-7]"));
    EXPECT_EQ("pmix[0-2,9;3]", *generate_proc_map("0,1,2,9;3"));
    EXPECT_EQ("pmix[0-2;;3]", *generate_proc_map("0-2;;3"));
    EXPECT_EQ("raw:3,2,1,0", *generate_proc_map("3,2,1,0"));
    EXPECT_EQ("raw:0", *generate_proc_map("0"));
    EXPECT_EQ("", generate_proc_map(ProcMap{}));
}

TEST(ProcMap, LargeRegularJobsBecomeNoTables) {
    constexpr uint32_t kNodes = 10'000;
    constexpr uint32_t kEach = 100;
    Nodes blocks(kNodes);
    Nodes cyclic(kNodes);
    Nodes uneven(kNodes);
    Rank next = 0;
    for (uint32_t node = 0; node < kNodes; ++node) {
        for (uint32_t i = 0; i < kEach; ++i) {
            blocks[node].push_back(node * kEach + i);
            cyclic[node].push_back(i * kNodes + node);
            if (i < 50 || node % 2 == 0) uneven[node].push_back(next++);
        }
    }
    for (const auto& [nodes, form, limit] : {std::tuple{&blocks, ProcMap::Form::regular, kNodes * 8},
                                             std::tuple{&cyclic, ProcMap::Form::regular, kNodes * 8},
                                             std::tuple{&uneven, ProcMap::Form::contiguous, kNodes * 8}}) {
        const std::string text = text_of(*nodes);
        size_t before = allocated_bytes;
        auto map = parse_proc_map(text);
        EXPECT_LE(allocated_bytes - before, limit);
        ASSERT_TRUE(map);
        EXPECT_EQ(form, map->form());
        expect_consistent(*map, *nodes);
        before = allocated_bytes;
        auto shorter = generate_proc_map(text);
        EXPECT_LE(allocated_bytes - before, 4 * text.size() + 8192);
        EXPECT_EQ(*map, *parse_proc_map(*shorter));
    }
    EXPECT_LE(generate_proc_map(text_of(blocks))->size(), 140'000u);
}

TEST(ProcMap, AnyMapCostsItsRanksAndNoMore) {
    std::mt19937 random(22);
    for (uint32_t nranks : {10'000u, 100'000u, 1'000'000u}) {
        Nodes nodes(nranks / 100);
        for (Rank rank = 0; rank < nranks; ++rank) nodes[random() % nodes.size()].push_back(rank);
        const std::string text = text_of(nodes);
        const size_t before = allocated_bytes;
        auto map = parse_proc_map(text);
        EXPECT_LE(allocated_bytes - before, 32u * nranks) << nranks;
        ASSERT_TRUE(map);
        EXPECT_EQ(ProcMap::Form::listed, map->form());
        if (nranks <= 100'000) expect_consistent(*map, nodes);
    }
    // A few bytes cannot ask for more than the bound allows.
    const size_t before = allocated_bytes;
    auto wide = parse_proc_map("1-16777215;0");
    ASSERT_TRUE(wide);
    EXPECT_LE(allocated_bytes - before, size_t{16} * kMaxMapRanks);
}

TEST(ProcMap, ReconcileMakesNamesAndNodesFit) {
    NameList names{"a", "b"};
    ProcMap map = *parse_proc_map("0,1;2,3");
    EXPECT_STATUS(PMIX_SUCCESS, reconcile(names, map));
    EXPECT_EQ((Nodes{{0, 1}, {2, 3}}), nodes_of(map));

    names = {"a", "b", "a", "c"};
    map = *parse_proc_map("0;1;2;3");
    EXPECT_STATUS(PMIX_SUCCESS, reconcile(names, map));
    EXPECT_EQ((NameList{"a", "b", "c"}), names);
    EXPECT_EQ((Nodes{{0, 2}, {1}, {3}}), nodes_of(map));

    names = {"", "a", "", "a"};
    map = *parse_proc_map("0;1;2;3");
    EXPECT_STATUS(PMIX_SUCCESS, reconcile(names, map));
    EXPECT_EQ((NameList{"", "a", ""}), names) << "nodes without names are several";
    EXPECT_EQ((Nodes{{0}, {1, 3}, {2}}), nodes_of(map));

    names = {"a", "b"};
    map = *parse_proc_map("0;1;;");
    EXPECT_STATUS(PMIX_SUCCESS, reconcile(names, map));
    EXPECT_EQ((Nodes{{0}, {1}}), nodes_of(map));

    map = *parse_proc_map("0;1;2");
    EXPECT_STATUS(PMIX_ERR_BAD_PARAM, reconcile(names, map));
    map = *parse_proc_map("0");
    EXPECT_STATUS(PMIX_ERR_BAD_PARAM, reconcile(names, map));
    names.clear();
    EXPECT_STATUS(PMIX_ERR_BAD_PARAM, reconcile(names, map));
}

}  // namespace
}  // namespace pmix::common

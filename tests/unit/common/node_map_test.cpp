// SPDX-License-Identifier: BSD-3-Clause
// Node lists and process maps: every form that hosts pass, round trips, hostile text, and what a large job costs.
#include "common/placement/node_map.h"

#include <gtest/gtest.h>
#include <zlib.h>

#include <algorithm>
#include <cstdlib>
#include <new>
#include <random>

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

using Names = std::vector<std::string>;
using Nodes = std::vector<std::vector<Rank>>;

Names names_of(std::string_view map) {
    auto parsed = parse_node_map(map);
    EXPECT_TRUE(parsed) << map;
    return parsed ? *parsed : Names{};
}

Nodes nodes_of(const ProcMap& map) {
    Nodes nodes(map.nnodes());
    for (uint32_t node = 0; node < map.nnodes(); ++node) {
        map.for_each_on(node, [&](Rank rank) { nodes[node].push_back(rank); });
    }
    return nodes;
}

Nodes nodes_of(std::string_view map) {
    auto parsed = parse_proc_map(map);
    EXPECT_TRUE(parsed) << map;
    return parsed ? nodes_of(*parsed) : Nodes{};
}

// Every answer of a map, held against the lists it was made from.
void expect_consistent(const ProcMap& map, Nodes expected) {
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

std::string text_of(const Nodes& nodes) {
    std::string text;
    for (size_t i = 0; i < nodes.size(); ++i) {
        if (i != 0) text += ';';
        for (size_t k = 0; k < nodes[i].size(); ++k) text += (k == 0 ? "" : ",") + std::to_string(nodes[i][k]);
    }
    return text;
}

// A list as OpenPMIx from 5.0.10 on wraps it.
std::string blob_of(std::string_view text) {
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

// ---- node lists

// rows: V3
TEST(NodeMap, EveryFormThatHostsPass) {
    const Names two{"node1", "node2"};
    EXPECT_EQ(two, names_of("node1,node2"));
    EXPECT_EQ(two, names_of("raw:node1,node2"));
    EXPECT_EQ(two, names_of("pmix[node[1:1-2]]"));
    EXPECT_EQ(two, names_of("pmix[node1,node2]"));
    EXPECT_EQ(two, names_of(std::string_view{"pmix[node[1:1-2]]\0", 18}));
    EXPECT_EQ(two, names_of(std::string_view{"raw:\0node1,node2\0", 17}));
    EXPECT_EQ(two, names_of(std::string_view{"pmix:\0node1,node2\0", 18}));
    EXPECT_EQ(two, names_of(blob_of("node1,node2")));
    EXPECT_EQ(two, names_of(blob_of("node1,node2") + '\0'));
    EXPECT_EQ(Names{"node1"}, names_of("node1"));
    EXPECT_EQ(Names{"node1"}, names_of("pmix[node[1:1]]"));
    // These were written by 4.2.2.
    EXPECT_EQ((Names{"n001", "n002", "n003", "n010"}), names_of("pmix[n[3:1-3,10]]"));
    EXPECT_EQ((Names{"a1b", "a2b", "a3b"}), names_of("pmix[a[1:1-3]b]"));
    EXPECT_EQ((Names{"node1", "gpu1", "node2"}), names_of("pmix[node[1:1],gpu[1:1],node[1:2]]"));
    EXPECT_EQ((Names{"n9", "n10"}), names_of("pmix[n[1:9],n[2:10]]"));
    EXPECT_EQ((Names{"10", "11"}), names_of("pmix[[2:10-11]]"));
    EXPECT_EQ((Names{"n5", "n4", "n3"}), names_of("pmix[n[1:5,4,3]]"));
    EXPECT_EQ((Names{"a1b2", "a1b3"}), names_of("pmix[a[1:1]b2,a[1:1]b3]"));
    EXPECT_EQ((Names{"n1.x.org", "n2.x.org"}), names_of("pmix[n1.x.org,n2.x.org]"));
    // A width that is too small for the number does not cut it.
    EXPECT_EQ((Names{"n9", "n10", "n11"}), names_of("pmix[n[1:9-11]]"));
    EXPECT_EQ((Names{"n007"}), names_of("pmix[n[3:007]]"));
    // Only a map that says so has patterns; these are names, as odd as they are.
    EXPECT_EQ((Names{"x[1-2]"}), names_of("x[1-2]"));
    EXPECT_EQ((Names{"pmix1", "pmix2"}), names_of("pmix1,pmix2"));
    EXPECT_EQ((Names{"pmix"}), names_of("pmix"));
    EXPECT_EQ((Names{"pmix[n[1:1]]", "raw:x"}), names_of("raw:pmix[n[1:1]],raw:x"));
}

// rows: V3
TEST(NodeMap, OrderAndDuplicatesAreKeptEmptyItemsAreNot) {
    EXPECT_EQ((Names{"b", "a", "b"}), names_of("b,a,b"));
    EXPECT_EQ((Names{"a", "b"}), names_of(",a,,b,"));
    EXPECT_EQ((Names{"a", "b"}), names_of(" a ,\tb\n"));
    EXPECT_EQ((Names{"a1x", "b"}), names_of("pmix[ a[1:1]x , b ]"));
    EXPECT_EQ((Names{"node1", "node2"}), names_of("pmix[node[1:1-2],]"));  // 4.2.2's text for "node1,,node2"
    EXPECT_EQ((Names{"node1", "node1"}), names_of("pmix[node[1:1,1]]"));
}

// rows: V3
TEST(NodeMap, WhatIsNoListIsRefused) {
    for (std::string_view text : {"",
                                  ",",
                                  " , ",
                                  "raw:",
                                  "raw:,",
                                  "pmix:",
                                  "pmix[]",
                                  "pmix[",
                                  "pmix[a",
                                  "pmix[a[1:1]",
                                  "pmix[a[1:]]",
                                  "pmix[a[:1]]",
                                  "pmix[a[1]]",
                                  "pmix[a[1-2]]",
                                  "pmix[a[1:2-1]]",
                                  "pmix[a[1:1-]]",
                                  "pmix[a[1:-1]]",
                                  "pmix[a[1:1,]]",
                                  "pmix[a[1:x]]",
                                  "pmix[a[x:1]]",
                                  "pmix[a[1:1 2]]",
                                  "pmix[a[999:1]]",
                                  "pmix[a[1:99999999999999999999999]]",
                                  "pmix[a[1:0-4294967295]]",
                                  "pmix[a[1:0-1048576]]"}) {
        EXPECT_EQ(PMIX_ERR_BAD_PARAM, parse_node_map(text).status()) << text;
        EXPECT_EQ(PMIX_ERR_BAD_PARAM, generate_node_map(text).status()) << text;
    }
    EXPECT_FALSE(parse_node_map(std::string_view{"a\0b", 3}));
    EXPECT_FALSE(parse_node_map(Bytes{}));
    EXPECT_FALSE(parse_node_map(std::string(5000, 'n')));
    // Few bytes that stand for much: each within its bound, together not.
    std::string many = "pmix[";
    for (int i = 0; i < 3; ++i) many += "n[6:0-499999],";
    many.back() = ']';
    EXPECT_FALSE(parse_node_map(many));
    EXPECT_FALSE(parse_node_map("pmix[" + std::string(3900, 'n') + "[1:0-999999]]"));
}

TEST(NodeMap, GeneratedTextIsShortAndKnown) {
    EXPECT_EQ("pmix[n[5:0-3]]", *generate_node_map("n00000,n00001,n00002,n00003"));
    EXPECT_EQ("raw:node1", *generate_node_map("node1"));
    EXPECT_EQ("raw:node1,node2", *generate_node_map("raw:node1,node2"));
    EXPECT_EQ("pmix[rack2-node[2:8-10].site.org]",
              *generate_node_map("rack2-node08.site.org,rack2-node09.site.org,rack2-node10.site.org"));
    EXPECT_EQ("raw:10,n2,11", *generate_node_map("10,n2,11"));
    EXPECT_EQ("raw:x[1-2],x[1-3]", *generate_node_map("x[1-2],x[1-3]"));
    std::string list;
    for (int i = 0; i < 10'000; ++i) {
        char name[16];
        std::snprintf(name, sizeof name, "%sn%05d", i == 0 ? "" : ",", i);
        list += name;
    }
    EXPECT_EQ("pmix[n[5:0-9999]]", *generate_node_map(list));
    EXPECT_EQ("pmix[n[5:0-9999]]", *generate_node_map("pmix[n[5:0-9999]]"));
    EXPECT_EQ("pmix[n[5:0-9999]]", *generate_node_map(blob_of(list)));
    EXPECT_EQ(list, [](const Names& names) {
        std::string all;
        for (auto& name : names) all += (all.empty() ? "" : ",") + name;
        return all;
    }(names_of("pmix[n[5:0-9999]]")));
}

// rows: V3
TEST(NodeMap, AnyListComesBackAsItWas) {
    std::mt19937 random(20);
    const char* parts[] = {"n",
                           "gpu",
                           "-",
                           ".",
                           "x.org",
                           "0",
                           "1",
                           "9",
                           "07",
                           "008",
                           "41",
                           "999",
                           "rack",
                           "_",
                           ":",
                           "123456789012345678",
                           "1234567890123456789012"};
    for (int round = 0; round < 5'000; ++round) {
        Names names;
        while (names.empty() || random() % 8 != 0) {
            std::string name;
            if (!names.empty() && random() % 3 != 0) {
                // A neighbour of the name before, as real lists have them.
                name = names.back();
                char& c = name[random() % name.size()];
                if (c >= '0' && c <= '9') c = static_cast<char>('0' + (c - '0' + (random() % 2 ? 1 : 7)) % 10);
            } else {
                for (size_t n = 1 + random() % 5; n > 0; --n) name += parts[random() % std::size(parts)];
            }
            names.push_back(name);
        }
        const std::string text = generate_node_map(names);
        ASSERT_EQ(names, names_of(text)) << text;
        std::string list;
        for (auto& name : names) list += (list.empty() ? "" : ",") + name;
        ASSERT_EQ(text, *generate_node_map(list));
        ASSERT_LE(text.size(), list.size() + 4);
    }
}

// ---- process maps

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
        EXPECT_EQ(PMIX_ERR_BAD_PARAM, parse_proc_map(text).status()) << text;
    }
    EXPECT_FALSE(parse_proc_map(std::string_view{"0\0;1", 4}));
    EXPECT_FALSE(parse_proc_map(std::string(kMaxMapNodes, ';') + "0"));
    EXPECT_TRUE(parse_proc_map("0-16777215"));
    for (std::string_view text : {"", ";", "a", "node1,node2", "-1", "3-0", "0 1", "16777216"}) {
        EXPECT_EQ(PMIX_ERR_BAD_PARAM, generate_proc_map(text).status()) << text;
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

TEST(ProcMap, AnlMap) {
    const auto anl = [](const char* map) { return generate_anl_map(*parse_proc_map(map)); };
    EXPECT_EQ("(vector,(0,4,2))", anl("0,1;2,3;4,5;6,7"));
    EXPECT_EQ("(vector,(0,2,1),(0,2,1))", anl("0,2;1,3"));
    EXPECT_EQ("(vector,(0,2,2),(2,1,1))", anl("0,1;2,3;4"));
    EXPECT_EQ("(vector,(0,1,1),(2,1,1))", anl("0;;1"));
    EXPECT_EQ("(vector,(1,1,1),(0,1,1))", anl("1;0"));
    EXPECT_EQ("(vector,(0,1,1))", anl("0"));
    EXPECT_EQ("", anl("0;2"));
    EXPECT_EQ("", generate_anl_map(ProcMap{}));
    EXPECT_EQ("(vector,(0,10000,100))", generate_anl_map(*ProcMap::make_regular(10'000, 1'000'000, 100)));
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
    Names names{"a", "b"};
    ProcMap map = *parse_proc_map("0,1;2,3");
    EXPECT_EQ(PMIX_SUCCESS, reconcile(names, map));
    EXPECT_EQ((Nodes{{0, 1}, {2, 3}}), nodes_of(map));

    names = {"a", "b", "a", "c"};
    map = *parse_proc_map("0;1;2;3");
    EXPECT_EQ(PMIX_SUCCESS, reconcile(names, map));
    EXPECT_EQ((Names{"a", "b", "c"}), names);
    EXPECT_EQ((Nodes{{0, 2}, {1}, {3}}), nodes_of(map));

    names = {"a", "b"};
    map = *parse_proc_map("0;1;;");
    EXPECT_EQ(PMIX_SUCCESS, reconcile(names, map));
    EXPECT_EQ((Nodes{{0}, {1}}), nodes_of(map));

    map = *parse_proc_map("0;1;2");
    EXPECT_EQ(PMIX_ERR_BAD_PARAM, reconcile(names, map));
    map = *parse_proc_map("0");
    EXPECT_EQ(PMIX_ERR_BAD_PARAM, reconcile(names, map));
    names.clear();
    EXPECT_EQ(PMIX_ERR_BAD_PARAM, reconcile(names, map));
}

// ---- sizes, and maps that lie

// rows: V3
TEST(RegexSize, IsWhatTheHostHolds) {
    EXPECT_EQ(0u, regex_size(nullptr));
    EXPECT_EQ(1u, regex_size(""));
    EXPECT_EQ(12u, regex_size("node1,node2"));
    EXPECT_EQ(18u, regex_size("pmix[node[1:1-2]]"));
    EXPECT_EQ(16u, regex_size("raw:node1,node2"));
    EXPECT_EQ(6u, regex_size("blob:\0"));
    EXPECT_EQ(7u, regex_size("blob:x"));
    const std::string blob = blob_of("node1,node2");
    EXPECT_EQ(blob.size(), regex_size(blob.data()));
    EXPECT_EQ(blob.size(), regex_size(as_bytes(blob)));
    EXPECT_EQ(blob.size(), regex_size(as_bytes(blob + "behind it")));
    EXPECT_EQ(12u, regex_size(as_bytes(std::string_view{"node1,node2\0x", 13})));
    EXPECT_EQ(0u, regex_size(as_bytes("node1,node2")));
    EXPECT_EQ(0u, regex_size(Bytes{}));
    for (size_t n = 0; n < blob.size(); ++n) {
        // Copies of exactly n bytes, so that a sanitizer sees a read beyond them.
        const std::vector<uint8_t> cut(blob.begin(), blob.begin() + static_cast<ptrdiff_t>(n));
        EXPECT_EQ(0u, regex_size(cut)) << n;
        if (n > 5) {
            EXPECT_FALSE(parse_node_map(cut)) << n;  // a shorter one is the name of a node
        }
    }
}

TEST(Blob, DamageIsRefused) {
    std::string list = "node1";
    for (int i = 2; i < 500; ++i) list += ",node" + std::to_string(i);
    const std::string blob = blob_of(list);
    ASSERT_EQ(499u, names_of(blob).size());
    for (size_t i = 32; i < blob.size(); ++i) {
        std::string bent = blob;
        bent[i] = static_cast<char>(bent[i] ^ 0x20);
        // The first 4 bytes of the payload are a hint; everything behind them is under the checksum.
        const size_t payload = blob.find('\0', 23) + 1;
        if (i >= payload && i < payload + 4) {
            EXPECT_EQ(499u, names_of(bent).size()) << i;
        } else {
            EXPECT_FALSE(parse_node_map(bent)) << i;
        }
    }
    for (const char* size :
         {"0", "1", "3", "4", "99999999", "18446744073709551615", "18446744073709551616", "-1", ""}) {
        const std::string lie =
            std::string("blob:\0component=zlib:\0size=", 27) + size + std::string(":\0", 2) + blob.substr(31);
        EXPECT_FALSE(parse_node_map(lie)) << size;
        EXPECT_LE(regex_size(as_bytes(lie)), lie.size()) << size;
    }
    EXPECT_FALSE(parse_node_map(std::string("blob:\0component=lz4:\0size=4:\0abcd", 33)));
    // A blob in a blob is a list of one odd name at most, never another level.
    EXPECT_FALSE(parse_node_map(blob_of(blob)));
}

TEST(Blob, ABombIsStopped) {
    EXPECT_FALSE(parse_proc_map(blob_of(std::string(8u << 20, ';'))));
    EXPECT_FALSE(parse_node_map(blob_of(std::string(8u << 20, ','))));
}

}  // namespace
}  // namespace pmix::common

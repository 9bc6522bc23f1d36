// SPDX-License-Identifier: BSD-3-Clause
// Columns and placement: right answers for every rank, in few bytes.
#include "dstore/columns.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <functional>
#include <map>
#include <random>

#include "support/status.h"
#include "support/store_values.h"

namespace pmix::dstore::columns_test {
namespace {

using namespace test;
using Form = ColumnData::Form;

ColumnData only(ColumnBuilder& b) {
    std::vector<ColumnData> all = b.finish();
    EXPECT_EQ(all.size(), 1u);
    return std::move(all.at(0));
}

TEST(ColumnBuilder, FindsTheCheapestForm) {
    struct Case {
        Form form;
        unsigned width;
        std::function<Buffer(uint32_t)> value;
    };
    const Case cases[] = {
        {Form::constant, 0, [](uint32_t) { return u32(70'000); }},
        {Form::affine, 0, [](uint32_t r) { return rank(r); }},
        {Form::affine, 0, [](uint32_t r) { return rank(r + 12); }},
        {Form::affine, 0, [](uint32_t r) { return rank(r - 3); }},
        {Form::numbers, 1, [](uint32_t r) { return u16(static_cast<uint16_t>(r % 100)); }},
        {Form::numbers, 2, [](uint32_t r) { return u32(r / 3); }},
        {Form::numbers, 4, [](uint32_t r) { return u32(r * 7'000); }},
        {Form::numbers, 8, [](uint32_t r) { return number(PMIX_UINT64, uint64_t{r} * r * 0x1000000, 8); }},
        {Form::interned, 0, [](uint32_t) { return text("here"); }},
        {Form::interned, 1, [](uint32_t r) { return text("host" + std::to_string(r / 10)); }},
        {Form::interned, 2, [](uint32_t r) { return text("n" + std::to_string(r)); }},
        {Form::interned, 1, [](uint32_t r) { return r % 2 != 0 ? u32(1) : u16(1); }},
    };
    int i = 0;
    for (const Case& c : cases) {
        ColumnBuilder b(OwnerKind::proc, 1000);
        for (uint32_t r = 0; r < 1000; ++r) b.set(r, "k", c.value(r));
        const ColumnData d = only(b);
        EXPECT_EQ(d.form, c.form) << i;
        EXPECT_EQ(d.width, c.width) << i;
        EXPECT_EQ(d.limit, 1000u) << i;
        EXPECT_TRUE(d.valid.empty()) << i;
        EXPECT_EQ(d.elements.size(), 1000u * c.width) << i;
        ++i;
    }
}

// Random columns against a plain map, through segment and reader.
TEST(Columns, EveryValueComesBack) {
    std::mt19937 random(7);
    for (int round = 0; round < 60; ++round) {
        auto w = make_writer();
        auto r = open_reader(*w);
        std::map<uint32_t, Buffer> truth;
        for (int registration = 0; registration < 3; ++registration) {
            ColumnBuilder b(OwnerKind::proc);
            const uint32_t ranks = random() % 300 + 1;
            const unsigned kind = random() % 7;
            for (uint32_t n = 0; n < ranks; ++n) {
                const uint32_t index = random() % 4 != 0 ? n : random() % 2000;
                Buffer v;
                switch (kind) {
                    case 0:
                        v = u32(5);
                        break;
                    case 1:
                        v = rank(index + 1000);
                        break;
                    case 2:
                        v = u16(static_cast<uint16_t>(random()));
                        break;
                    case 3:
                        v = text(std::to_string(random() % 5));
                        break;
                    case 4:
                        v = random() % 5 != 0 ? u32(index) : text("odd");
                        break;
                    case 5:
                        v = number(PMIX_UINT64, uint64_t{random()} << 20, 8);
                        break;
                    default:
                        v = blob(random() % 40, 1);
                        break;
                }
                b.set(index, "key", v);
                truth[index] = v;
            }
            ASSERT_STATUS(PMIX_SUCCESS, w->add_columns(std::move(b)));
        }
        for (uint32_t index = 0; index < 2100; ++index) {
            auto t = truth.find(index);
            ASSERT_EQ(get(*r, Owner::proc(index), "key"), t == truth.end() ? Buffer{} : t->second)
                << round << " " << index;
        }
        Found f;
        ASSERT_STATUS(PMIX_SUCCESS, r->find_any_rank(Key("key"), f));
        EXPECT_EQ(f.index(), truth.begin()->first);
    }
}

TEST(Columns, FindBehindTheLastIndex_IsAMiss) {
    auto w = make_writer();
    auto r = open_reader(*w);
    ColumnBuilder b(OwnerKind::proc);
    for (uint32_t n = 0; n < 4; ++n) {
        b.set(n, "same", u32(5));
        b.set(n, "rank", rank(n));
        b.set(n, "odd", u16(static_cast<uint16_t>(n * n)));
        b.set(n, "text", text(n % 2 != 0 ? "odd" : "even"));
    }
    ASSERT_STATUS(PMIX_SUCCESS, w->add_columns(std::move(b)));
    for (const char* key : {"same", "rank", "odd", "text"}) {
        pmix_status_t rc = PMIX_ERROR;
        get(*r, Owner::proc(3), key, &rc);
        EXPECT_STATUS(PMIX_SUCCESS, rc) << key;
        get(*r, Owner::proc(4), key, &rc);
        EXPECT_STATUS(PMIX_ERR_NOT_FOUND, rc) << key;
    }
}

TEST(ColumnBuilder, Set_OfARankThatNoJobHas_IsRefused) {
    ColumnBuilder b(OwnerKind::proc);
    EXPECT_FALSE(b.set(common::kMaxMapRanks, "k", u32(1)));
    EXPECT_FALSE(b.set(PMIX_RANK_WILDCARD, "k", u32(1)));
    EXPECT_TRUE(b.empty());
}

TEST(Columns, RegisteringTheSameCostsNothing) {
    auto w = make_writer();
    auto fill = [] {
        ColumnBuilder b(OwnerKind::proc, 100);
        for (uint32_t r = 0; r < 100; ++r) {
            b.set(r, "lrank", u16(static_cast<uint16_t>(r % 7)));
            b.set(r, "host", text("n" + std::to_string(r / 10)));
        }
        b.compute("app", Computed::app_number, PMIX_UINT32, 4);
        return b;
    };
    ASSERT_STATUS(PMIX_SUCCESS, w->add_columns(fill()));
    const uint64_t bytes = w->published_bytes();
    for (int i = 0; i < 100; ++i) ASSERT_STATUS(PMIX_SUCCESS, w->add_columns(fill()));
    EXPECT_EQ(w->published_bytes(), bytes);
}

common::ProcMap regular(uint32_t nodes, uint32_t ranks, uint32_t block) {
    return common::ProcMap::make_regular(nodes, ranks, block).value();
}
std::vector<std::string> names(uint32_t n) {
    std::vector<std::string> out;
    for (uint32_t i = 0; i < n; ++i) out.push_back("node" + std::to_string(i));
    return out;
}
void compute_all(Writer& w) {
    ColumnBuilder procs(OwnerKind::proc);
    procs.compute("p.rank", Computed::rank, PMIX_PROC_RANK, 4);
    procs.compute("p.nodeid", Computed::node_id, PMIX_UINT32, 4);
    procs.compute("p.lrank", Computed::local_rank, PMIX_UINT16, 2);
    procs.compute("p.host", Computed::node_name, PMIX_STRING, 0);
    procs.compute("p.app", Computed::app_number, PMIX_UINT32, 4);
    procs.compute("p.apprank", Computed::app_rank, PMIX_PROC_RANK, 4);
    procs.compute("p.appldr", Computed::app_leader, PMIX_PROC_RANK, 4);
    procs.compute("p.lsize", Computed::local_size, PMIX_UINT32, 4);
    procs.compute("p.lpeers", Computed::local_peers, PMIX_STRING, 0);
    ASSERT_STATUS(PMIX_SUCCESS, w.add_columns(std::move(procs)));
    ColumnBuilder nodes(OwnerKind::node);
    nodes.compute("n.id", Computed::node_id, PMIX_UINT32, 4);
    nodes.compute("n.index", Computed::node_index, PMIX_UINT32, 4);
    nodes.compute("n.host", Computed::node_name, PMIX_STRING, 0);
    nodes.compute("n.lsize", Computed::local_size, PMIX_UINT32, 4);
    nodes.compute("n.lldr", Computed::local_leader, PMIX_PROC_RANK, 4);
    nodes.compute("n.lpeers", Computed::local_peers, PMIX_STRING, 0);
    ASSERT_STATUS(PMIX_SUCCESS, w.add_columns(std::move(nodes)));
}

TEST(Placement, AnswersAreThoseOfTheMap) {
    std::vector<common::ProcMap> maps;
    maps.push_back(regular(4, 16, 4));
    maps.push_back(regular(4, 15, 1));
    maps.push_back(regular(3, 17, 2));
    maps.push_back(regular(5, 3, 1));
    maps.push_back(common::parse_proc_map(std::string_view("0-4;5;6-9;;10-30")).value());
    maps.push_back(common::parse_proc_map(std::string_view("0,3,9;1,2;4-8;20,22")).value());
    for (const common::ProcMap& map : maps) {
        auto w = make_writer();
        auto r = open_reader(*w);
        compute_all(*w);
        const auto nodes = names(map.nnodes());
        std::vector<uint32_t> ids;
        for (uint32_t i = 0; i < map.nnodes(); ++i) ids.push_back(1000 - i * 3);
        const NodeAlias aliases[] = {{0, "first"}, {map.nnodes() - 1, "last.domain"}};
        const AppRange apps[] = {{0, 2}, {2, 1}, {3, map.rank_limit() - 3}};
        ASSERT_STATUS(PMIX_SUCCESS, w->set_placement({&map, nodes, ids, aliases, apps}));
        const NodeAlias of_no_node[] = {{map.nnodes(), "beyond"}};
        EXPECT_STATUS(PMIX_ERR_BAD_PARAM, make_writer()->set_placement({&map, nodes, ids, of_no_node, apps}));
        EXPECT_EQ(r->nodes(), map.nnodes());
        for (uint32_t k = 0; k < map.rank_limit() + 3; ++k) {
            const uint32_t node = map.node_of(k);
            const Owner o = Owner::proc(k);
            if (node == common::kNoNode) {
                EXPECT_FALSE(r->node_of(k));
                EXPECT_FALSE(r->local_rank(k));
                EXPECT_EQ(get(*r, o, "p.host"), Buffer{});
                EXPECT_EQ(get(*r, o, "p.lrank"), Buffer{});
                continue;
            }
            EXPECT_EQ(r->node_of(k), node);
            EXPECT_EQ(r->local_rank(k), map.local_rank(k));
            EXPECT_EQ(get(*r, o, "p.rank"), rank(k));
            EXPECT_EQ(get(*r, o, "p.nodeid"), u32(ids[node]));
            EXPECT_EQ(get(*r, o, "p.lrank"), u16(static_cast<uint16_t>(map.local_rank(k))));
            EXPECT_EQ(get(*r, o, "p.host"), text(nodes[node]));
            EXPECT_EQ(get(*r, o, "p.app"), u32(k < 2 ? 0 : k < 3 ? 1 : 2));
            EXPECT_EQ(get(*r, o, "p.apprank"), rank(k < 2 ? k : k < 3 ? 0 : k - 3));
            EXPECT_EQ(get(*r, o, "p.appldr"), rank(k < 2 ? 0 : k < 3 ? 2 : 3));
            EXPECT_EQ(get(*r, o, "p.lsize"), u32(map.count_on(node)));
            EXPECT_EQ(get(*r, o, "p.lpeers"), text(map.local_peers_string(node)));
        }
        for (uint32_t i = 0; i < map.nnodes(); ++i) {
            const Owner o = Owner::node(i);
            EXPECT_EQ(r->node_name(i), nodes[i]);
            EXPECT_EQ(r->node_by_name(nodes[i]), i);
            EXPECT_EQ(r->node_id(i), ids[i]);
            EXPECT_EQ(r->node_by_id(ids[i]), i);
            EXPECT_EQ(r->local_size(i), map.count_on(i));
            EXPECT_EQ(get(*r, o, "n.id"), u32(ids[i]));
            EXPECT_EQ(get(*r, o, "n.index"), u32(i));
            EXPECT_EQ(get(*r, o, "n.host"), text(nodes[i]));
            EXPECT_EQ(get(*r, o, "n.lsize"), u32(map.count_on(i)));
            if (map.count_on(i) == 0) {
                EXPECT_EQ(get(*r, o, "n.lldr"), Buffer{});
                EXPECT_EQ(get(*r, o, "n.lpeers"), Buffer{});
                continue;
            }
            EXPECT_EQ(get(*r, o, "n.lldr"), rank(map.rank_on(i, 0)));
            EXPECT_EQ(get(*r, o, "n.lpeers"), text(map.local_peers_string(i)));
            for (uint32_t k = 0; k < map.count_on(i); ++k) EXPECT_EQ(r->rank_on(i, k), map.rank_on(i, k));
            EXPECT_FALSE(r->rank_on(i, map.count_on(i)));
        }
        EXPECT_EQ(r->node_by_name("first"), 0u);
        EXPECT_EQ(r->node_by_name("last.domain"), map.nnodes() - 1);
        EXPECT_FALSE(r->node_by_name("nobody"));
        EXPECT_FALSE(r->node_by_id(1));
        EXPECT_FALSE(r->local_size(map.nnodes()));
        EXPECT_EQ(get(*r, Owner::node(map.nnodes()), "n.id"), Buffer{});
        EXPECT_EQ(r->app_of(2), 1u);
        EXPECT_EQ(r->app(2)->first, 3u);
        EXPECT_FALSE(r->app(3));
        // Again: nothing new.
        const uint64_t bytes = w->published_bytes();
        ASSERT_STATUS(PMIX_SUCCESS, w->set_placement({&map, nodes, ids, aliases, apps}));
        EXPECT_EQ(w->published_bytes(), bytes);
        // A rank's own value goes before what is computed, for that rank only.
        ColumnBuilder own(OwnerKind::proc);
        own.set(1, "p.host", text("elsewhere"));
        ASSERT_STATUS(PMIX_SUCCESS, w->add_columns(std::move(own)));
        EXPECT_EQ(get(*r, Owner::proc(1), "p.host"), text("elsewhere"));
        EXPECT_EQ(get(*r, Owner::proc(2), "p.host"), text(nodes[map.node_of(2)]));
    }
}

TEST(Placement, NodesAlone) {
    auto w = make_writer();
    const auto nodes = names(3);
    ASSERT_STATUS(PMIX_SUCCESS, w->set_placement({nullptr, nodes, {}, {}, {}}));
    EXPECT_EQ(w->reader().node_by_name("node2"), 2u);
    EXPECT_EQ(w->reader().node_by_id(1), 1u);
    EXPECT_FALSE(w->reader().node_of(0));
    EXPECT_EQ(w->reader().local_size(0), 0u);
    EXPECT_STATUS(PMIX_SUCCESS, w->put(Owner::node(2), Records().add("k", u32(2)).list()));
    EXPECT_EQ(get(w->reader(), Owner::node(2), "k"), u32(2));
}

// A job of a million ranks from its maps: what a server pays for it.
TEST(Placement, MillionRanksInLittleMemory) {
    auto w = make_writer();
    const auto map = regular(10'000, 1'000'000, 100);
    const auto nodes = names(10'000);
    compute_all(*w);
    ASSERT_STATUS(PMIX_SUCCESS, w->set_placement({&map, nodes, {}, {}, {}}));
    EXPECT_LT(w->published_bytes(), 1u << 20);
    EXPECT_EQ(get(w->reader(), Owner::proc(999'999), "p.host"), text("node9999"));
    EXPECT_EQ(w->reader().node_by_name("node7777"), 7777u);
}

// 1,000 nodes of 100 ranks with six facts each.
TEST(Columns, SixFactsForEachRank) {
    auto w = make_writer();
    ColumnBuilder b(OwnerKind::proc, 100'000);
    for (uint32_t r = 0; r < 100'000; ++r) {
        b.set(r, "pmix.rank", rank(r));
        b.set(r, "pmix.lrank", u16(static_cast<uint16_t>(r % 100)));
        b.set(r, "pmix.nrank", u16(static_cast<uint16_t>(r % 100)));
        b.set(r, "pmix.nodeid", u32(r / 100));
        b.set(r, "pmix.appnum", u32(0));
        b.set(r, "pmix.hname", text("n" + std::to_string(r / 100)));
    }
    ASSERT_STATUS(PMIX_SUCCESS, w->add_columns(std::move(b)));
    EXPECT_LT(w->published_bytes(), 1u << 20);
    for (uint32_t r : {0u, 1u, 31'415u, 99'999u}) {
        EXPECT_EQ(get(w->reader(), Owner::proc(r), "pmix.rank"), rank(r));
        EXPECT_EQ(get(w->reader(), Owner::proc(r), "pmix.lrank"), u16(static_cast<uint16_t>(r % 100)));
        EXPECT_EQ(get(w->reader(), Owner::proc(r), "pmix.nodeid"), u32(r / 100));
        EXPECT_EQ(get(w->reader(), Owner::proc(r), "pmix.appnum"), u32(0));
        EXPECT_EQ(get(w->reader(), Owner::proc(r), "pmix.hname"), text("n" + std::to_string(r / 100)));
    }
}

}  // namespace
}  // namespace pmix::dstore::columns_test

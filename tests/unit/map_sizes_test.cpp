// Maps of a million entries: whole, and in time that grows with the list and no faster.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <ctime>
#include <random>
#include <string>
#include <vector>

#include "common/node_map.h"
#include "support/sanitizers.h"

namespace pmix::common {
namespace {

using Names = std::vector<std::string>;

// A list of n names or a map of n ranks: by node, in turns, padded, sparse, without any order.
enum class Shape { regular, cyclic, padded, sparse, irregular };
constexpr Shape kShapes[] = {Shape::regular, Shape::cyclic, Shape::padded, Shape::sparse, Shape::irregular};

std::string node_list(Shape shape, uint32_t n) {
    std::mt19937 random(23);
    std::string list;
    char name[32];
    for (uint32_t i = 0; i < n; ++i) {
        switch (shape) {
            case Shape::regular:
                std::snprintf(name, sizeof name, "node%u,", i);
                break;
            case Shape::cyclic:
                std::snprintf(name, sizeof name, "rack%u-n%02u,", i % 128, i / 128 % 100);
                break;
            case Shape::padded:
                std::snprintf(name, sizeof name, "nid%08u,", i);
                break;
            case Shape::sparse:
                std::snprintf(name, sizeof name, "n%08u,", i * 3);
                break;
            case Shape::irregular:
                std::snprintf(name, sizeof name, "h%08x,", static_cast<uint32_t>(random()));
                break;
        }
        list += name;
    }
    list.pop_back();
    return list;
}

std::string rank_list(Shape shape, uint32_t n) {
    std::mt19937 random(24);
    const uint32_t nodes = n / 100;
    std::vector<std::string> held(nodes);
    for (uint32_t i = 0; i < n; ++i) {
        const uint32_t node = shape == Shape::cyclic      ? i % nodes
                              : shape == Shape::irregular ? random() % nodes
                                                          : i / 100;
        held[std::min(node, nodes - 1)] += std::to_string(shape == Shape::sparse ? i * 3 : i) + ',';
    }
    std::string list;
    for (std::string& node : held) {
        if (!node.empty()) node.pop_back();
        list += node + ';';
    }
    list.pop_back();
    return list;
}

// The least CPU time of a few tries, in seconds.
template <class F>
double cost(F&& f) {
    double least = 1e9;
    for (int i = 0; i < 2; ++i) {
        const std::clock_t before = std::clock();
        f();
        least = std::min(least, static_cast<double>(std::clock() - before) / CLOCKS_PER_SEC);
    }
    return least;
}

// Eight times the list costs eight times the time, give or take what caches do; a square would be 64 times.
// rows: V3
TEST(Maps, AMillionEntriesInLinearTime) {
#if defined(UNDER_ASAN) || defined(UNDER_TSAN)
    constexpr uint32_t kMany = 160'000;  // the same walk, and time enough for it
#else
    constexpr uint32_t kMany = 1'000'000;
#endif
    for (Shape shape : kShapes) {
        double few = 0, many = 0;
        for (uint32_t n : {kMany / 8, kMany}) {
            const std::string names = node_list(shape, n), ranks = rank_list(shape, n);
            double& total = n == kMany ? many : few;
            Result<std::string> map = std::string(), procs = std::string();
            total += cost([&] { map = generate_node_map(names); });
            total += cost([&] { procs = generate_proc_map(ranks); });
            ASSERT_TRUE(map && procs);
            EXPECT_LE(map->size(), names.size() + 6);
            Result<Names> back = Names();
            Result<ProcMap> placed = ProcMap();
            total += cost([&] { back = parse_node_map(*map); });
            total += cost([&] { placed = parse_proc_map(*procs); });
            ASSERT_TRUE(back && placed);
            // What went in: the names, and each rank on its node.
            ASSERT_EQ(n, back->size());
            std::string again;
            for (const std::string& name : *back) again += name + ',';
            again.pop_back();
            EXPECT_TRUE(again == names) << static_cast<int>(shape);
            EXPECT_EQ(n, placed->nranks());
            auto plain = parse_proc_map(ranks);
            ASSERT_TRUE(plain);
            EXPECT_TRUE(*plain == *placed) << static_cast<int>(shape);
        }
        EXPECT_LT(many, 24 * few) << static_cast<int>(shape) << ": " << few << " s and " << many << " s";
    }
}

}  // namespace
}  // namespace pmix::common

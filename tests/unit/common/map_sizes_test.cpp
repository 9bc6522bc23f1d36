// SPDX-License-Identifier: BSD-3-Clause
// Maps of a million entries: whole, and in time that grows with the list and no faster.
#include <gtest/gtest.h>
#include <malloc.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <ctime>
#include <new>
#include <random>
#include <string>
#include <vector>

#include "common/placement/node_map.h"
#include "support/sanitizers.h"

namespace {

struct Counted {
    size_t blocks = 0;
    size_t bytes = 0;
} g_counted;

}  // namespace

// One thread, so plain counters do. (Inlined, the compiler takes the pairs for mismatched ones.)
[[gnu::noinline]] void* operator new(size_t size) {
    ++g_counted.blocks;
    g_counted.bytes += size;
    if (void* p = std::malloc(size)) return p;
    throw std::bad_alloc();
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

// A list of n names or a map of n ranks: by node, in turns, padded, sparse, without any order.
enum class Shape { regular, cyclic, padded, sparse, irregular };
constexpr Shape kShapes[] = {Shape::regular, Shape::cyclic, Shape::padded, Shape::sparse, Shape::irregular};

// Appends a number of at least so many digits. (snprintf would take longer than what is measured.)
void append_padded(std::string& text, uint32_t number, size_t digits, uint32_t base = 10) {
    char buffer[16];
    const char* end = std::to_chars(buffer, buffer + sizeof buffer, number, static_cast<int>(base)).ptr;
    const auto length = static_cast<size_t>(end - buffer);
    if (length < digits) text.append(digits - length, '0');
    text.append(buffer, length);
}

std::string node_list(Shape shape, uint32_t n) {
    std::mt19937 random(23);
    std::string list;
    for (uint32_t i = 0; i < n; ++i) {
        switch (shape) {
            case Shape::regular:
                append_padded(list += "node", i, 1);
                break;
            case Shape::cyclic:
                append_padded(list += "rack", i % 128, 1);
                append_padded(list += "-n", i / 128 % 100, 2);
                break;
            case Shape::padded:
                append_padded(list += "nid", i, 8);
                break;
            case Shape::sparse:
                append_padded(list += 'n', i * 3, 8);
                break;
            case Shape::irregular:
                append_padded(list += 'h', static_cast<uint32_t>(random()), 8, 16);
                break;
        }
        list += ',';
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

// What calls cost: CPU time, blocks of memory asked for, and their bytes.
struct Cost {
    double seconds = 0;
    size_t blocks = 0;
    size_t bytes = 0;
};

// The time is the least of some tries; the counts are the same in each.
template <class F>
void measure(Cost& total, int tries, F&& f) {
    double least = 1e9;
    Counted used;
    for (int i = 0; i < tries; ++i) {
        const Counted before = g_counted;
        const std::clock_t start = std::clock();
        f();
        least = std::min(least, static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC);
        used = {g_counted.blocks - before.blocks, g_counted.bytes - before.bytes};
    }
    total.seconds += least;
    total.blocks += used.blocks;
    total.bytes += used.bytes;
}

// Eight times the list costs eight times the blocks and bytes, to the block that is one more because something doubled,
// and eight times the time, give or take what caches and other machines on this one do; a square would be 64 times.
// rows: V3
TEST(Maps, AMillionEntriesInLinearTime) {
#if defined(UNDER_ASAN) || defined(UNDER_TSAN)
    constexpr uint32_t kMany = 160'000;  // the same walk, and time enough for it
#else
    constexpr uint32_t kMany = 1'000'000;
#endif
#ifdef M_MMAP_THRESHOLD
    // The large blocks of both lists are mapped. Left alone, malloc takes ever larger ones from its heap, whose pages
    // are touched one by one, and where a page fault is dear that is more than all else that is timed here.
    ::mallopt(M_MMAP_THRESHOLD, 128 << 10);
#endif
    // Other work on this machine, or a clock that ticks slowly, may spoil a measurement of time, but not each one.
    const auto measured = [](Shape shape, Cost& few, Cost& many) {
        for (uint32_t n : {kMany / 8, kMany}) {
            const std::string names = node_list(shape, n), ranks = rank_list(shape, n);
            Cost& total = n == kMany ? many : few;
            constexpr int tries = 3;
            Result<std::string> map = std::string(), procs = std::string();
            measure(total, tries, [&] { map = generate_node_map(names); });
            measure(total, tries, [&] { procs = generate_proc_map(ranks); });
            ASSERT_TRUE(map && procs);
            EXPECT_LE(map->size(), names.size() + 6);
            Result<Names> back = Names();
            Result<ProcMap> placed = ProcMap();
            measure(total, tries, [&] { back = parse_node_map(*map); });
            measure(total, tries, [&] { placed = parse_proc_map(*procs); });
            ASSERT_TRUE(back && placed);
            // What went in: the names, and each rank on its node.
            ASSERT_EQ(n, back->size());
            std::string again;
            for (const std::string& name : *back) again.append(name).push_back(',');
            again.pop_back();
            EXPECT_TRUE(again == names) << static_cast<int>(shape);
            EXPECT_EQ(n, placed->nranks());
            auto plain = parse_proc_map(ranks);
            ASSERT_TRUE(plain);
            EXPECT_TRUE(*plain == *placed) << static_cast<int>(shape);
        }
    };
    for (Shape shape : kShapes) {
        Cost few, many;
        for (int attempt = 0; attempt < 15; ++attempt) {
            few = many = {};
            measured(shape, few, many);
            if (HasFatalFailure() || many.seconds < 40 * few.seconds) break;
        }
        EXPECT_LT(many.seconds, 40 * few.seconds) << static_cast<int>(shape);
        EXPECT_LE(many.blocks, 8 * few.blocks + 64) << static_cast<int>(shape);
        EXPECT_LE(many.bytes, 17 * few.bytes) << static_cast<int>(shape) << ": what doubles may be half empty";
        RecordProperty("seconds_of_shape_" + std::to_string(static_cast<int>(shape)), std::to_string(many.seconds));
    }
}

}  // namespace
}  // namespace pmix::common

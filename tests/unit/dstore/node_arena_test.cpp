// SPDX-License-Identifier: BSD-3-Clause
// The memory of a process's own values: blocks that do not overlap, that are used again, and whose addresses leave
// their upper bits to the store.
#include "dstore/node_arena.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>
#include <fstream>
#include <map>
#include <random>
#include <string>
#include <vector>

namespace pmix::dstore::node_arena_test {
namespace {

size_t mapped_bytes() {
    std::ifstream statm("/proc/self/statm");
    size_t pages = 0;
    statm >> pages;
    return pages * static_cast<size_t>(::sysconf(_SC_PAGESIZE));
}

TEST(NodeArena, RoundsByLessThanASixteenth) {
    size_t before = 0;
    for (size_t size = 1; size <= NodeArena::kMaxSmall; ++size) {
        const size_t takes = NodeArena::rounded(size);
        ASSERT_GE(takes, size);
        ASSERT_EQ(takes % NodeArena::kAlignment, 0u);
        ASSERT_GE(takes, before);
        ASSERT_EQ(NodeArena::rounded(takes), takes);
        ASSERT_LE(takes - size, std::max<size_t>(15, size / 16));
        before = takes;
    }
}

// The store keeps 16 bits of hash above an address. With malloc that would depend on the process's allocator: one that
// tags its pointers, as on machines with memory tags, has bits there.
TEST(NodeArena, AddressesArePlain) {
    NodeArena arena;
    for (size_t size : {1u, 26u, 112u, 1088u, 32768u, 32769u, 1000000u}) {
        for (int i = 0; i < 50; ++i) {
            void* block = arena.allocate(size);
            ASSERT_NE(block, nullptr);
            const auto address = reinterpret_cast<uintptr_t>(block);
            EXPECT_EQ(static_cast<uint64_t>(address) >> NodeArena::kAddressBits, 0u);
            EXPECT_EQ(address % NodeArena::kAlignment, 0u);
            std::memset(block, 0xa5, size);
        }
    }
}

TEST(NodeArena, BlocksKeepWhatIsWrittenInThem) {
    NodeArena arena;
    std::minstd_rand random(7);
    struct Block {
        uint8_t* at;
        size_t size;
        uint8_t fill;
    };
    std::vector<Block> blocks;
    for (int i = 0; i < 20000; ++i) {
        if (blocks.size() > 300 || (!blocks.empty() && random() % 3 == 0)) {
            const size_t k = random() % blocks.size();
            for (size_t j = 0; j < blocks[k].size; ++j) ASSERT_EQ(blocks[k].at[j], blocks[k].fill);
            arena.free(blocks[k].at, blocks[k].size);
            blocks[k] = blocks.back();
            blocks.pop_back();
        }
        const size_t size = random() % 50 == 0 ? 1 + random() % 70000 : 1 + random() % 2000;
        auto* at = static_cast<uint8_t*>(arena.allocate(size));
        ASSERT_NE(at, nullptr);
        const auto fill = static_cast<uint8_t>(i);
        std::memset(at, fill, size);
        blocks.push_back({at, size, fill});
    }
}

TEST(NodeArena, WhatIsFreedIsUsedAgain) {
    NodeArena arena;
    for (size_t size : {16u, 100u, 1000u, 1080u, 30000u}) {
        void* first = arena.allocate(size);
        arena.free(first, size);
        EXPECT_EQ(arena.allocate(NodeArena::rounded(size)), first);
    }
    const size_t before = mapped_bytes();
    for (int i = 0; i < 10000; ++i) {
        const size_t size = 1 + static_cast<size_t>(i) * 31 % 60000;
        void* block = arena.allocate(size);
        ASSERT_NE(block, nullptr);
        arena.free(block, size);
    }
    // One block of each class at most, whatever the order of sizes.
    EXPECT_LT(mapped_bytes() - before, 3u << 20);
}

TEST(NodeArena, NoMemoryIsSaid) {
    NodeArena arena;
    EXPECT_EQ(arena.allocate(SIZE_MAX - 100), nullptr);
    EXPECT_EQ(arena.allocate(size_t{1} << 60), nullptr);
    EXPECT_NE(arena.allocate(100), nullptr);
}

}  // namespace
}  // namespace pmix::dstore::node_arena_test

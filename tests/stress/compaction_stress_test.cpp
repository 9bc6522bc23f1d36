// SPDX-License-Identifier: BSD-3-Clause
// Readers while the segment under them is given up for a new one, again and again: what they see is whole and never
// older than before. One process is server and reader, so that ThreadSanitizer sees both ends.
#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

#include "support/sanitizers.h"
#include "support/server_here.h"
#include "support/status.h"

namespace pmix::test {
namespace {

constexpr int kReaders = 3;
#ifdef UNDER_TSAN
constexpr uint32_t kRounds = 1500;
#else
constexpr uint32_t kRounds = 6000;
#endif

// Its length and letters follow from the number that it begins with.
std::string text_at(uint32_t round) {
    std::string text = std::to_string(round) + ":";
    text.append(50 + round * 37 % 900, static_cast<char>('a' + round % 26));
    return text;
}

TEST(CompactionStress, ReadersSeeWholeValuesThatNeverGrowOlder) {
    ServerHere server;
    ASSERT_STATUS(PMIX_SUCCESS, server.status);
    register_job("job");
    pmix_nspace_t name;
    PMIx_Load_nspace(name, "job");
    auto say = [&](uint32_t round) {
        InfoList infos;
        infos.append_string("myapp.text", text_at(round));
        infos.append_string("myapp.same", "as ever");
        return PMIx_server_register_nspace(name, 1, infos.c_array(), infos.size(), nullptr, nullptr);
    };
    ASSERT_STATUS(PMIX_SUCCESS, say(0));
    std::atomic<bool> stop{false};
    std::atomic<uint32_t> bad{0}, reads{0};
    std::vector<std::thread> readers;
    const pmix_proc_t job = ProcId("job", PMIX_RANK_WILDCARD).to_c();
    for (int i = 0; i < kReaders; ++i) {
        readers.emplace_back([&] {
            uint32_t seen = 0;
            while (!stop.load(std::memory_order_relaxed)) {
                const std::string text = text_of(job, "myapp.text");
                const auto round = static_cast<uint32_t>(std::strtoul(text.c_str(), nullptr, 10));
                if (text != text_at(round) || round < seen || text_of(job, "myapp.same") != "as ever") bad.fetch_add(1);
                seen = round;
                reads.fetch_add(1, std::memory_order_relaxed);
            }
        });
    }
    for (uint32_t round = 1; round <= kRounds; ++round) ASSERT_STATUS(PMIX_SUCCESS, say(round));
    EXPECT_EQ(text_at(kRounds), text_of(job, "myapp.text")) << "what the server was told, it answers";
    stop = true;
    for (std::thread& t : readers) t.join();
    EXPECT_EQ(0u, bad.load());
    EXPECT_GT(reads.load(), 0u);
}

}  // namespace
}  // namespace pmix::test

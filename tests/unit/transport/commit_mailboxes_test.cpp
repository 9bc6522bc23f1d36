// SPDX-License-Identifier: BSD-3-Clause
// Mailboxes for commits: what is left and taken, what has to go by the socket, and sizes that make no sense.
#include "transport/memory/commit_mailboxes.h"

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "transport/memory/fence_memory.h"

namespace pmix::transport::commit_mailboxes_test {
namespace {

using common::Bytes;
using Watch = CommitMailboxes::Watch;

Bytes bytes(std::string_view text) {
    return {reinterpret_cast<const uint8_t*>(text.data()), text.size()};
}

class CommitMailboxesTest : public ::testing::Test {
  protected:
    bool leave(uint32_t slot, std::string_view text) {
        const Bytes part = bytes(text);
        return mailboxes.leave(slot, {&part, 1});
    }
    // "-": nothing; "!": no commit.
    std::string take(uint32_t slot) {
        std::array<uint8_t, CommitMailboxes::kMostBytes> buffer;
        const auto taken = mailboxes.take(slot, buffer);
        if (!taken) return "-";
        return taken->empty() ? "!" : std::string(reinterpret_cast<const char*>(taken->data()), taken->size());
    }
    void set_size(uint32_t slot, uint32_t size) {
        std::memcpy(memory.data() + slot * CommitMailboxes::kBytes, &size, sizeof size);
    }

    alignas(64) std::array<uint8_t, 3 * CommitMailboxes::kBytes> memory{};
    CommitMailboxes::Word watch{0};
    CommitMailboxes mailboxes{memory.data(), 3, watch};
};

TEST_F(CommitMailboxesTest, WhileTheServerLooks_IsLeftAndTakenOnce) {
    mailboxes.set_watch(Watch::looks);
    EXPECT_TRUE(leave(1, "first"));
    EXPECT_EQ(take(0), "-");
    EXPECT_EQ(take(1), "first");
    EXPECT_EQ(take(1), "-");
    const Bytes parts[] = {bytes("a"), bytes("bc"), bytes("")};
    EXPECT_TRUE(mailboxes.leave(2, parts));
    EXPECT_EQ(take(2), "abc");
}

TEST_F(CommitMailboxesTest, Closed_NothingIsLeft) {
    EXPECT_FALSE(leave(0, "first"));
    EXPECT_EQ(mailboxes.watch(), Watch::closed);
    EXPECT_EQ(take(0), "-");
}

// The server sets the word when it has read a commit: a process that is about to send one may be stopped before it
// does.
TEST_F(CommitMailboxesTest, Idle_GoesByTheSocketAndLeavesTheWordAlone) {
    mailboxes.set_watch(Watch::idle);
    EXPECT_FALSE(leave(0, "first"));
    EXPECT_EQ(mailboxes.watch(), Watch::idle);
    EXPECT_EQ(take(0), "-");
    mailboxes.set_watch(Watch::looks);
    EXPECT_TRUE(leave(1, "second"));
}

TEST_F(CommitMailboxesTest, Full_NextOneGoesByTheSocket) {
    mailboxes.set_watch(Watch::looks);
    EXPECT_TRUE(leave(0, "first"));
    EXPECT_FALSE(leave(0, "second"));
    EXPECT_EQ(take(0), "first");
    EXPECT_TRUE(leave(0, "third"));
}

TEST_F(CommitMailboxesTest, LargestIsLeft_LargerAndEmptyAreNot) {
    mailboxes.set_watch(Watch::looks);
    EXPECT_FALSE(leave(0, std::string(CommitMailboxes::kMostBytes + 1, 'x')));
    EXPECT_FALSE(leave(0, ""));
    EXPECT_FALSE(leave(3, "no such process"));
    const std::string largest(CommitMailboxes::kMostBytes, 'x');
    EXPECT_TRUE(leave(1, largest));
    EXPECT_EQ(take(1), largest);
    EXPECT_EQ(take(0), "-");
    EXPECT_EQ(take(2), "-");
    EXPECT_EQ(take(3), "-");
}

TEST_F(CommitMailboxesTest, SizeThatMakesNoSense_IsNoCommit) {
    mailboxes.set_watch(Watch::looks);
    set_size(0, CommitMailboxes::kMostBytes + 1);
    EXPECT_EQ(take(0), "!");
    EXPECT_EQ(take(0), "-");
    set_size(1, ~0u);
    EXPECT_EQ(take(1), "!");
    watch = 77;
    EXPECT_EQ(mailboxes.watch(), Watch::closed);
    EXPECT_FALSE(leave(2, "text"));
}

TEST_F(CommitMailboxesTest, OfFenceMemory_EachProcessHasItsOwn) {
    for (const uint32_t processes : {1u, 5u, CommitMailboxes::kMostProcesses}) {
        const auto server = std::move(FenceMemory::create(processes)).value();
        const auto client =
            std::move(FenceMemory::take_over(Descriptor(::dup(server->descriptor())), processes)).value();
        EXPECT_EQ(client->mailboxes().watch(), Watch::closed);
        server->mailboxes().set_watch(Watch::looks);
        const std::string largest(CommitMailboxes::kMostBytes, 'x');
        for (uint32_t slot = 0; slot < processes; ++slot) {
            const Bytes part = bytes(largest);
            EXPECT_TRUE(client->mailboxes().leave(slot, {&part, 1})) << slot;
        }
        // Nothing else has been written over.
        EXPECT_EQ(server->state().mode, FenceMemory::Mode::by_request);
        EXPECT_EQ(server->commits(processes - 1), 0u);
        for (uint32_t slot = 0; slot < processes; ++slot) {
            std::array<uint8_t, CommitMailboxes::kMostBytes> buffer;
            const auto taken = server->mailboxes().take(slot, buffer);
            ASSERT_TRUE(taken);
            EXPECT_EQ(taken->size(), largest.size());
        }
    }
}

TEST_F(CommitMailboxesTest, OfALargeJob_ThereAreNone) {
    const uint32_t processes = CommitMailboxes::kMostProcesses + 1;
    const auto server = std::move(FenceMemory::create(processes)).value();
    server->mailboxes().set_watch(Watch::looks);
    const Bytes part = bytes("text");
    EXPECT_FALSE(server->mailboxes().leave(0, {&part, 1}));
    EXPECT_FALSE(server->mailboxes().leave(processes - 1, {&part, 1}));
}

}  // namespace
}  // namespace pmix::transport::commit_mailboxes_test

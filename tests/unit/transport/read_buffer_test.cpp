// SPDX-License-Identifier: BSD-3-Clause
// The memory of read buffers: who has it, when it passes to another one, and what is kept.
#include "transport/read_buffer.h"

#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace pmix::transport::read_buffer_test {
namespace {

// What a read of `text` leaves.
void fill(ReadBuffer& buffer, std::string_view text, size_t wanted = 1) {
    const auto space = buffer.space(wanted);
    ASSERT_LE(text.size(), space.size);
    std::memcpy(space.data, text.data(), text.size());
    buffer.filled(text.size());
}
std::string unread(const ReadBuffer& buffer) {
    const common::Bytes bytes = buffer.unread();
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

TEST(ReadBuffer, ReadOut_GivesItsMemoryToTheNext) {
    SpareReadMemory spare;
    ReadBuffer one, two;
    one.borrow(spare);
    fill(one, "one");
    const uint8_t* memory = one.unread().data();
    one.consume(3);
    one.give_back(spare);
    EXPECT_EQ("", unread(one));

    two.borrow(spare);
    fill(two, "two");
    EXPECT_EQ(memory, two.unread().data());
    EXPECT_EQ("two", unread(two));

    // There is no spare memory now: it has its own.
    one.borrow(spare);
    fill(one, "again");
    EXPECT_NE(memory, one.unread().data());
    EXPECT_EQ("again", unread(one));
    EXPECT_EQ("two", unread(two));
}

TEST(ReadBuffer, BytesAreUnread_KeepsItsMemory) {
    SpareReadMemory spare;
    ReadBuffer one, two;
    fill(one, "half a frame");
    one.consume(5);
    one.give_back(spare);
    two.borrow(spare);
    fill(two, "another one's");
    EXPECT_EQ("a frame", unread(one));
    one.borrow(spare);
    fill(one, ", whole");
    EXPECT_EQ("a frame, whole", unread(one));
}

TEST(ReadBuffer, MoreThanTheUsual_IsNotKept) {
    SpareReadMemory spare;
    ReadBuffer buffer;
    const std::string large(3 * ReadBuffer::kUsual, 'x');
    size_t done = 0;
    while (done < large.size()) {
        const auto space = buffer.space(large.size());
        const size_t n = std::min(space.size, large.size() - done);
        std::memcpy(space.data, large.data() + done, n);
        buffer.filled(n);
        done += n;
    }
    EXPECT_EQ(large, unread(buffer));
    buffer.consume(large.size());
    buffer.give_back(spare);
    EXPECT_EQ(nullptr, spare.take());

    buffer.give_back(spare);  // it has none: nothing
    EXPECT_EQ(nullptr, spare.take());
}

// Two buffers that were both read out: one memory is kept.
TEST(ReadBuffer, TwoAreGivenBack_OneIsKept) {
    SpareReadMemory spare;
    ReadBuffer one, two;
    fill(one, "1");
    fill(two, "2");
    const uint8_t* second = two.unread().data();
    one.consume(1);
    two.consume(1);
    one.give_back(spare);
    two.give_back(spare);
    ReadMemory* kept = spare.take();
    ASSERT_NE(nullptr, kept);
    EXPECT_EQ(second, kept->bytes());
    EXPECT_EQ(ReadBuffer::kSmall, kept->capacity);
    EXPECT_EQ(nullptr, spare.take());
    spare.give(kept);
}

// Connections of one loop may be read by several threads at once, each its own.
TEST(ReadBuffer, OnManyThreads_EachHasItsOwn) {
    SpareReadMemory spare;
    std::vector<std::thread> threads;
    std::atomic<int> wrong{0};
    for (char mine = 'a'; mine < 'e'; ++mine) {
        threads.emplace_back([&, mine] {
            ReadBuffer buffer;
            const std::string text(100, mine);
            for (int i = 0; i < 2000; ++i) {
                buffer.borrow(spare);
                fill(buffer, text);
                if (unread(buffer) != text) ++wrong;
                buffer.consume(text.size());
                buffer.give_back(spare);
            }
        });
    }
    for (std::thread& t : threads) t.join();
    EXPECT_EQ(0, wrong);
}

}  // namespace
}  // namespace pmix::transport::read_buffer_test

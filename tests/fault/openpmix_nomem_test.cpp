// SPDX-License-Identifier: BSD-3-Clause
// The connection to a server of OpenPMIx's where an allocation fails: each request that was taken is answered, sent, or
// ended with the connection, and the end of a connection is told once.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <functional>
#include <memory>
#include <new>
#include <vector>

#include "client/openpmix/openpmix_channel.h"
#include "common/protocol/messages.h"
#include "openpmix/hello.h"
#include "openpmix/stream.h"
#include "support/failing_memory.h"
#include "support/recording_handler.h"

namespace pmix::test {
namespace {

using common::FrameHeader;

// Notes the end without memory.
struct End final : openpmix::StreamHandler, transport::ConnectionHandler {
    void on_connect(common::Bytes) override {}
    void on_message(const openpmix::FrameHeader&, common::Bytes) override { ++messages; }
    void on_drained() override {}
    void on_closed(pmix_status_t) override { ++ends; }
    bool admit_message(size_t) noexcept override { return admits; }
    void message_complete() noexcept override {}
    void on_frame(transport::ReceivedFrame) override { ++frames; }
    int messages = 0, frames = 0, ends = 0;
    bool admits = true;
};

void run_failing(ManualLoop& here) {
    FailingMemory::resume();
    here.run(20);
    FailingMemory::pause();
}

// Calls it with a failure at the first allocation, then at the second, until there are no more.
void with_failures(const std::function<void()>& run) {
    for (long after = 0; after < 1000; ++after) {
        SCOPED_TRACE(after);
        FailingMemory::arm(after);
        run();
        if (!FailingMemory::failed() || ::testing::Test::HasFailure()) return;
    }
    ADD_FAILURE() << "it allocates without end";
}

// This thread has given up its processor so often: it waited for something.
long times_slept() {
    rusage usage{};
    ::getrusage(RUSAGE_THREAD, &usage);
    return usage.ru_nvcsw;
}

class OpenPmixNoMemory : public ::testing::Test {
  protected:
    template <class M>
    void ask(common::Command command, const M& request);
    openpmix::Traits traits_ = *openpmix::traits_of("5.0.7", "v41", openpmix::kNotDescribed);
};

TEST_F(OpenPmixNoMemory, StreamEnds_IsToldOnce) {
    with_failures([] {
        End handler;
        ManualLoop here;
        auto [ours, theirs] = socket_pair();
        std::shared_ptr<openpmix::Stream> stream;
        {
            transport::LoopRole role(*here.loop);
            stream = std::move(*openpmix::Stream::open(*here.loop, std::move(ours), handler, {.connected = true}));
        }
        theirs.reset();
        run_failing(here);
        EXPECT_EQ(1, handler.ends);
        transport::LoopRole role(*here.loop);
        stream.reset();
    });
}

TEST_F(OpenPmixNoMemory, MessageWithoutMemory_EndsTheStreamOnce) {
    with_failures([] {
        End handler;
        ManualLoop here;
        auto [ours, theirs] = socket_pair();
        std::shared_ptr<openpmix::Stream> stream;
        {
            transport::LoopRole role(*here.loop);
            stream = std::move(*openpmix::Stream::open(*here.loop, std::move(ours), handler, {.connected = true}));
        }
        std::vector<uint8_t> message(openpmix::kHeaderSize + 100'000);
        openpmix::build_header({0, openpmix::kFirstRequestTag, 100'000}, message.data());
        ASSERT_EQ(static_cast<ssize_t>(message.size()), ::send(theirs.get(), message.data(), message.size(), 0));
        run_failing(here);
        EXPECT_LE(1, handler.messages + handler.ends);
        EXPECT_GE(1, handler.messages);
        EXPECT_GE(1, handler.ends);
        transport::LoopRole role(*here.loop);
        stream.reset();
    });
}

// The stream waits for room, so that its socket is not watched, and the kernel refuses to watch it again. Neither that
// nor memory comes back: only what needs none can tell of the end.
TEST_F(OpenPmixNoMemory, StreamEndsWithoutAnyMemory_IsToldAndDoesNotHoldTheLoop) {
    End handler;
    handler.admits = false;
    ManualLoop here;
    auto [ours, theirs] = socket_pair();
    std::shared_ptr<openpmix::Stream> stream;
    {
        transport::LoopRole role(*here.loop);
        stream = std::move(*openpmix::Stream::open(*here.loop, std::move(ours), handler, {.connected = true}));
    }
    uint8_t header[openpmix::kHeaderSize];
    openpmix::build_header({0, openpmix::kFirstRequestTag, 100'000}, header);
    ASSERT_EQ(static_cast<ssize_t>(sizeof header), ::send(theirs.get(), header, sizeof header, 0));
    here.run();
    const transport::Descriptor unwatchable(::open("/dev/null", O_RDWR | O_CLOEXEC));
    ASSERT_EQ(stream->fd(), ::dup3(unwatchable.get(), stream->fd(), O_CLOEXEC));
    long slept = 0;
    FailingMemory::arm_all();
    FailingMemory::resume();
    {
        transport::LoopRole role(*here.loop);
        slept = times_slept();
        stream->fail(PMIX_ERR_LOST_CONNECTION);
        slept = times_slept() - slept;
    }
    const int at_once = handler.ends;
    here.run();
    FailingMemory::pause();
    EXPECT_GT(10, slept);
    EXPECT_EQ(0, at_once);
    EXPECT_TRUE(FailingMemory::failed());
    EXPECT_EQ(1, handler.ends);
    transport::LoopRole role(*here.loop);
    stream.reset();
}

// The socket takes the first part, and there is no memory to keep the rest: a message after it would be taken for its
// end.
TEST_F(OpenPmixNoMemory, MessageWithoutMemoryForItsRest_NothingFollowsIt) {
    End handler;
    ManualLoop here;
    auto [ours, other] = socket_pair();
    const transport::Descriptor theirs = std::move(other);
    std::shared_ptr<openpmix::Stream> stream;
    const std::vector<uint8_t> large(4u << 20, 'x'), small(10, 'y');
    {
        transport::LoopRole role(*here.loop);
        stream = std::move(*openpmix::Stream::open(*here.loop, std::move(ours), handler, {.connected = true}));
        FailingMemory::arm_all();
        FailingMemory::resume();
        stream->send(openpmix::kFirstRequestTag, large);
        FailingMemory::pause();
    }
    EXPECT_TRUE(FailingMemory::failed());
    std::vector<uint8_t> got(8u << 20);
    size_t received = 0;
    const auto drain = [&] {
        for (ssize_t n; (n = ::recv(theirs.get(), got.data(), got.size(), MSG_DONTWAIT)) > 0;)
            received += static_cast<size_t>(n);
    };
    drain();
    ASSERT_LT(0u, received);
    ASSERT_GT(large.size(), received);
    const size_t first_part = received;
    {
        transport::LoopRole role(*here.loop);
        stream->send(openpmix::kFirstRequestTag, small);
    }
    here.run();
    drain();
    EXPECT_EQ(first_part, received);
    EXPECT_EQ(1, handler.ends);
    transport::LoopRole role(*here.loop);
    stream.reset();
}

// A request with an answer, each allocation of which fails once.
template <class M>
void OpenPmixNoMemory::ask(common::Command command, const M& request) {
    with_failures([&] {
        End handler;
        ManualLoop here;
        auto [ours, theirs] = socket_pair();
        std::unique_ptr<client::OpenPmixChannel> channel;
        {
            transport::LoopRole role(*here.loop);
            channel = std::move(*client::OpenPmixChannel::open(*here.loop, std::move(ours),
                                                               std::make_unique<client::Shadow>(traits_, "here"),
                                                               common::ProcId("job", 0), traits_, handler));
        }
        auto payload = common::message_bytes(request);
        FrameHeader header = FrameHeader::request(static_cast<uint16_t>(command), 1);
        header.payload = static_cast<uint32_t>(payload->size());
        bool taken = false;
        FailingMemory::resume();
        try {
            taken = channel->send(header, *payload) == PMIX_SUCCESS;
        } catch (const std::bad_alloc&) {
        }
        FailingMemory::pause();
        run_failing(here);
        if (taken) {
            uint8_t byte;
            const bool sent = ::recv(theirs.get(), &byte, 1, MSG_DONTWAIT) == 1;
            EXPECT_LE(1, (sent ? 1 : 0) + handler.frames + handler.ends);
        }
        transport::LoopRole role(*here.loop);
        channel.reset();
    });
}

TEST_F(OpenPmixNoMemory, Request_IsAnsweredSentOrEnds) {
    common::LookupRequest request;
    request.keys = {"key"};
    ask(common::Command::lookup, request);
}

TEST_F(OpenPmixNoMemory, Invitation_IsAnsweredSentOrEnds) {
    common::GroupRequest request;
    request.call = common::GroupCall::invite;
    request.name = "group";
    for (common::Rank rank = 0; rank < 4; ++rank) request.procs.emplace_back("job", rank);
    ask(common::Command::group, request);
    traits_ = *openpmix::traits_of("7.0.0rc1", "v61", openpmix::kNotDescribed);
    ask(common::Command::group, request);
}

// Nobody waits for it: what is lost must not stay unnoticed.
TEST_F(OpenPmixNoMemory, Commit_IsSentOrEnds) {
    with_failures([this] {
        End handler;
        ManualLoop here;
        auto [ours, theirs] = socket_pair();
        std::unique_ptr<client::OpenPmixChannel> channel;
        {
            transport::LoopRole role(*here.loop);
            channel = std::move(*client::OpenPmixChannel::open(*here.loop, std::move(ours),
                                                               std::make_unique<client::Shadow>(traits_, "here"),
                                                               common::ProcId("job", 0), traits_, handler));
        }
        common::CommitRequest request;
        const std::vector<uint8_t> flag = {PMIX_BOOL, 0, 1};
        request.entries.push_back({PMIX_GLOBAL, "key", flag});
        auto payload = common::message_bytes(request);
        FrameHeader header = FrameHeader::notify(static_cast<uint16_t>(common::Command::commit));
        header.payload = static_cast<uint32_t>(payload->size());
        bool taken = false;
        FailingMemory::resume();
        try {
            taken = channel->send(header, *payload) == PMIX_SUCCESS;
        } catch (const std::bad_alloc&) {
        }
        FailingMemory::pause();
        run_failing(here);
        if (taken) {
            uint8_t byte;
            const bool sent = ::recv(theirs.get(), &byte, 1, MSG_DONTWAIT) == 1;
            EXPECT_LE(1, (sent ? 1 : 0) + handler.frames + handler.ends);
        }
        transport::LoopRole role(*here.loop);
        if (!taken) {
            // Its caller may try again: what was refused must not go out as well, not even with what is left at the
            // end.
            channel->close();
            uint8_t byte;
            EXPECT_GE(0, ::recv(theirs.get(), &byte, 1, MSG_DONTWAIT));
        }
        channel.reset();
    });
}

}  // namespace
}  // namespace pmix::test

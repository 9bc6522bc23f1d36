// SPDX-License-Identifier: BSD-3-Clause
// Each system call of the transport fails once, in each way that it can: the connection ends with a status or goes on,
// and nothing hangs, leaks or is delivered twice.
#include <gtest/gtest.h>
#include <sys/eventfd.h>

#include "support/faulty_io.h"
#include "support/recording_handler.h"
#include "support/status.h"
#include "transport/unix_socket.h"

namespace pmix::transport::connection_fault_test {
namespace {

using common::FrameHeader;
using test::bytes_of;
using test::FaultyIo;
using test::ManualLoop;
using test::RecordingHandler;

struct Outcome {
    bool opened = false;
    std::vector<test::Heard> heard;
    std::vector<pmix_status_t> closed;
    std::string peer_got;
};

// A short connection: three frames in (one with a descriptor), two out (one with a descriptor), the peer
// leaves. Every step that can fail is allowed to.
Outcome live(FaultyIo& io, const std::function<void()>& arm) {
    Outcome out;
    auto [ours, theirs] = test::socket_pair();
    Descriptor peer = std::move(theirs);
    const int passed = ::eventfd(0, EFD_CLOEXEC);
    arm();
    EventLoopOptions options;
    options.drive = Drive::caller;
    options.io = FaultyIo::table();
    auto loop = EventLoop::create(options);
    if (!loop) {
        EXPECT_STATUS(PMIX_ERR_OUT_OF_RESOURCE, loop.status());
        ::close(passed);
        return out;
    }
    RecordingHandler handler;
    std::shared_ptr<Connection> connection;
    {
        LoopRole role(**loop);
        ConnectionOptions connection_options;
        connection_options.caller_reads = true;
        auto opened = Connection::open(**loop, std::move(ours), handler, connection_options);
        if (!opened) {
            EXPECT_STATUS(PMIX_ERR_OUT_OF_RESOURCE, opened.status());
            ::close(passed);
            return out;
        }
        connection = std::move(*opened);
    }
    out.opened = true;
    auto run = [&](int n) {
        for (int i = 0; i < n; ++i) (*loop)->progress();
    };
    test::write_all(peer.get(), test::frame_bytes(FrameHeader::request(4, 1), bytes_of("first")));
    run(40);
    connection->send(FrameHeader::reply(4, 1, PMIX_SUCCESS), bytes_of("answer"), {&passed, 1});
    connection->send(FrameHeader::notify(16), bytes_of("event"));
    run(60);
    const auto second = test::frame_bytes(FrameHeader::notify(5), bytes_of("second"));
    (void)::send(peer.get(), second.data(), second.size(), MSG_NOSIGNAL);  // it may have closed already
    run(40);
    // What the peer got so far, up to the moment in which it leaves.
    char buffer[256];
    for (ssize_t n; (n = ::recv(peer.get(), buffer, sizeof buffer, 0)) > 0;)
        out.peer_got.append(buffer, static_cast<size_t>(n));
    peer.reset();
    for (int i = 0; i < 1000 && handler.closed.empty(); ++i) run(1);
    {
        LoopRole role(**loop);
        connection->close();
        connection.reset();
    }
    out.heard = std::move(handler.heard);
    out.closed = std::move(handler.closed);
    ::close(passed);
    io.disarm();
    return out;
}

// What holds whatever failed: a prefix of the frames, each once and whole; one end; the peer saw a prefix of our bytes.
void expect_sane(const Outcome& out, const Outcome& whole, const std::string& what) {
    if (!out.opened) return;
    ASSERT_LE(out.heard.size(), whole.heard.size()) << what;
    for (size_t i = 0; i < out.heard.size(); ++i) EXPECT_TRUE(out.heard[i] == whole.heard[i]) << what;
    ASSERT_EQ(1u, out.closed.size()) << what;
    EXPECT_TRUE(out.closed[0] == PMIX_ERR_LOST_CONNECTION || out.closed[0] == PMIX_ERR_OUT_OF_RESOURCE)
        << what << " " << out.closed[0];
    EXPECT_EQ(whole.peer_got.substr(0, out.peer_got.size()), out.peer_got) << what;
}

TEST(ConnectionFault, EachSystemCallFailsOnce) {
    FaultyIo io;
    const Outcome whole = live(io, [] {});
    ASSERT_EQ(2u, whole.heard.size());
    ASSERT_EQ(16u + 6 + 16 + 5, whole.peer_got.size());
    const int calls = io.calls();
    ASSERT_GT(calls, 8);
    for (int error : {EINTR, EAGAIN, ENOMEM, ENOBUFS, EMFILE, ECONNRESET, EPIPE}) {
        for (int n = 1; n <= calls + 2; ++n) {
            test::DescriptorCheck check;
            FaultyIo faulty;
            const Outcome out = live(faulty, [&] { faulty.fail_at(n, error); });
            const std::string what = "call " + std::to_string(n) + " fails with " + std::strerror(error);
            expect_sane(out, whole, what);
            // These two are no failures of anything once the connection is there.
            const bool harmless = error == EINTR || error == EAGAIN;
            if (harmless && out.opened) {
                EXPECT_EQ(whole.heard.size(), out.heard.size()) << what;
                EXPECT_EQ(whole.peer_got, out.peer_got) << what;
                EXPECT_STATUS(PMIX_ERR_LOST_CONNECTION, out.closed[0]) << what;
            }
            if (n > calls + 1) {
                EXPECT_FALSE(faulty.fired() && !harmless) << "the list of calls was not complete";
            }
        }
    }
}

TEST(ConnectionFault, EachTransferIsCutShortOnce) {
    FaultyIo io;
    const Outcome whole = live(io, [] {});
    const int calls = io.calls();
    for (int n = 1; n <= calls; ++n) {
        test::DescriptorCheck check;
        FaultyIo faulty;
        const Outcome out = live(faulty, [&] { faulty.shorten_at(n); });
        EXPECT_EQ(whole.heard.size(), out.heard.size()) << n;
        EXPECT_EQ(whole.peer_got, out.peer_got) << n;
        expect_sane(out, whole, "call " + std::to_string(n) + " cut short");
    }
}

// Every transfer moves k bytes at most, for each k: frames are cut at every boundary on both ways.
TEST(ConnectionFault, AllTransfersAreSmall) {
    FaultyIo io;
    const Outcome whole = live(io, [] {});
    for (size_t k = 1; k <= 24; ++k) {
        test::DescriptorCheck check;
        FaultyIo small;
        small.limit_bytes(k);
        const Outcome out = live(small, [] {});
        EXPECT_EQ(whole.heard.size(), out.heard.size()) << k;
        EXPECT_EQ(whole.peer_got, out.peer_got) << k;
    }
}

// A blocked caller whose poll fails sleeps on its waiter instead, and the loop reads for it.
TEST(ConnectionFault, ACallerThatCannotPollStillGetsItsAnswer) {
    class Completer : public RecordingHandler {
      public:
        bool take_anywhere(ReceivedFrame&) noexcept override {
            if (!waiter->done()) waiter->complete();
            return true;
        }
        void on_closed(pmix_status_t) override {
            if (!waiter->done()) waiter->complete();
        }
        Waiter* waiter = nullptr;
    };
    for (int error : {ENOMEM, EINTR}) {
        for (int n = 1; n <= 6; ++n) {
            FaultyIo io;
            auto [ours, peer] = test::socket_pair();
            EventLoopOptions options;
            options.io = FaultyIo::table();
            auto loop = std::move(*EventLoop::create(options));
            Completer handler;
            Waiter waiter;
            handler.waiter = &waiter;
            std::shared_ptr<Connection> connection;
            {
                LoopRole role(*loop);
                ConnectionOptions connection_options;
                connection_options.caller_reads = true;
                connection = *Connection::open(*loop, std::move(ours), handler, connection_options);
            }
            // The answer is there before the loop starts, so that each run makes the same calls in the same order
            // until the caller has given up reading.
            test::write_all(peer.get(), test::frame_bytes(FrameHeader::reply(4, 1, PMIX_SUCCESS), {}));
            io.fail_at(n, error);
            const bool lost_on_send = connection->send(FrameHeader::request(4, 1), {}) != PMIX_SUCCESS;
            const bool led = !lost_on_send && (connection->read_until(waiter, Deadline::in_ms(0)) || waiter.done());
            io.disarm();  // before the loop's thread makes calls of its own
            loop->start();
            if (!lost_on_send) {
                EXPECT_TRUE(led || connection->read_until(waiter, Deadline::never())) << n;
            }
            loop->post([&] {
                assert_on_loop();
                connection->close();
                connection.reset();
            });
            loop->stop();
        }
    }
}

TEST(SocketFault, EachSystemCallFailsOnce) {
    for (int error : {EINTR, ENOMEM, EMFILE, EACCES}) {
        for (int n = 1; n <= 12; ++n) {
            test::DescriptorCheck check;
            FaultyIo io;
            const std::string address = make_abstract_address();
            io.fail_at(n, error);
            auto listener = listen_abstract(address, *FaultyIo::table());
            if (!listener) continue;
            auto client = connect_to(address, Deadline::in_ms(60'000), *FaultyIo::table());
            if (error == EINTR && io.calls() > 3) {
                EXPECT_TRUE(client.ok() || n == 4) << n;  // 4: the socket itself
            }
            if (!client) continue;
            auto server = accept_one(listener->get(), *FaultyIo::table());
            if (!server) {
                EXPECT_STATUS(PMIX_ERR_OUT_OF_RESOURCE, server.status());
                server = accept_one(listener->get(), *FaultyIo::table());
            }
            ASSERT_TRUE(server.ok()) << "the connection still waited";
            auto who = peer_credentials(server->get(), *FaultyIo::table());
            EXPECT_TRUE(who.ok() || who.status() == PMIX_ERR_INVALID_CRED);
        }
    }
}

}  // namespace
}  // namespace pmix::transport::connection_fault_test

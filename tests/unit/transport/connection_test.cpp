// SPDX-License-Identifier: BSD-3-Clause
#include "transport/connection.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/wait.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <thread>

#include "support/full_table.h"
#include "support/recording_handler.h"
#include "transport/send_queue.h"

namespace pmix::transport {
namespace {

using common::FrameHeader;
using test::bytes_of;
using test::frame_bytes;
using test::Heard;
using test::ManualLoop;
using test::RecordingHandler;

// A connection on a hand-turned loop, its other end raw.
struct Fixture : ManualLoop {
    explicit Fixture(ConnectionOptions options = {}) {
        auto [ours, theirs] = test::socket_pair();
        peer = std::move(theirs);
        LoopRole role(*loop);
        auto opened = Connection::open(*loop, std::move(ours), handler, options);
        EXPECT_TRUE(opened.ok());
        connection = std::move(*opened);
    }
    ~Fixture() {
        LoopRole role(*loop);
        connection.reset();
    }
    template <class F>
    void on_loop(F&& f) {
        LoopRole role(*loop);
        f();
    }
    RecordingHandler handler;
    Descriptor peer;
    std::shared_ptr<Connection> connection;
};

FrameHeader with_payload(FrameHeader header, size_t n, size_t descriptors = 0) {
    header.payload = static_cast<uint32_t>(n);
    header.descriptors = static_cast<uint8_t>(descriptors);
    return header;
}

TEST(Connection, DeliversFramesInOrder) {
    test::DescriptorCheck check;
    Fixture f;
    test::write_all(f.peer.get(), frame_bytes(FrameHeader::request(4, 1), bytes_of("one")));
    test::write_all(f.peer.get(), frame_bytes(FrameHeader::notify(16), {}));
    test::write_all(f.peer.get(), frame_bytes(FrameHeader::reply(4, 2, PMIX_ERR_TIMEOUT), bytes_of("three")));
    EXPECT_TRUE(f.handler.heard.empty()) << "nothing is delivered before the loop runs";
    f.turn_until([&] { return f.handler.heard.size() == 3; });
    EXPECT_EQ((std::vector<Heard>{{with_payload(FrameHeader::request(4, 1), 3), "one"},
                                  {FrameHeader::notify(16), ""},
                                  {with_payload(FrameHeader::reply(4, 2, PMIX_ERR_TIMEOUT), 5), "three"}}),
              f.handler.heard);
    EXPECT_TRUE(f.handler.closed.empty());
}

// However the bytes are cut, the frames are the same.
TEST(Connection, ReassemblesAtEveryByteBoundary) {
    std::vector<uint8_t> stream;
    for (int i = 0; i < 3; ++i) {
        auto bytes = frame_bytes(FrameHeader::request(7, static_cast<uint32_t>(i + 1)),
                                 bytes_of(std::string(size_t(i) * 5, 'x')));
        stream.insert(stream.end(), bytes.begin(), bytes.end());
    }
    for (size_t cut = 1; cut < stream.size(); ++cut) {
        Fixture f;
        test::write_all(f.peer.get(), {stream.begin(), stream.begin() + static_cast<ptrdiff_t>(cut)});
        f.run();
        test::write_all(f.peer.get(), {stream.begin() + static_cast<ptrdiff_t>(cut), stream.end()});
        f.turn_until([&] { return f.handler.heard.size() == 3; });
        EXPECT_EQ("xxxxxxxxxx", f.handler.heard[2].payload);
    }
    Fixture f;
    for (uint8_t byte : stream) {
        test::write_all(f.peer.get(), {byte});
        f.run(1);
    }
    f.turn_until([&] { return f.handler.heard.size() == 3; });
}

TEST(Connection, LargeFramesBothWays) {
    ConnectionOptions options;
    options.max_payload = common::kMaxFramePayload;
    Fixture f(options);
    std::vector<uint8_t> large(5'000'000);
    for (size_t i = 0; i < large.size(); ++i) large[i] = static_cast<uint8_t>(i * 31 >> 3);

    std::thread writer([&] { test::write_all(f.peer.get(), frame_bytes(FrameHeader::request(2, 1), large)); });
    f.turn_until([&] { return f.handler.heard.size() == 1; });
    writer.join();
    EXPECT_EQ(std::string(large.begin(), large.end()), f.handler.heard[0].payload);

    // The socket takes a part; the rest waits, a small frame behind it, and all is received in order.
    f.on_loop([&] {
        EXPECT_EQ(PMIX_SUCCESS, f.connection->send(FrameHeader::reply(2, 1, PMIX_SUCCESS), large));
        EXPECT_EQ(PMIX_SUCCESS, f.connection->send(FrameHeader::notify(16), bytes_of("after")));
    });
    EXPECT_GT(f.connection->queued_bytes(), 0u);
    common::Frame first, second;
    std::atomic<bool> done{false};
    std::thread reader([&] {
        first = test::read_frame(f.peer.get());
        second = test::read_frame(f.peer.get());
        done = true;
    });
    f.turn_until([&] { return done.load(); });
    reader.join();
    EXPECT_EQ(large, first.payload);
    EXPECT_EQ(bytes_of("after"), second.payload);
    EXPECT_EQ(0u, f.connection->queued_bytes());
    // And small frames go straight out again.
    EXPECT_EQ(PMIX_SUCCESS, f.connection->send(FrameHeader::notify(16), {}));
    EXPECT_EQ(16u, test::read_frame(f.peer.get()).header.command);
}

// Wherever the socket stops taking, what is queued is the rest of the parts.
TEST(Connection, SendParts_OfAnyNumber_IsOnePayload) {
    std::vector<uint8_t> large(300'000);
    for (size_t i = 0; i < large.size(); ++i) large[i] = static_cast<uint8_t>(i * 31 >> 3);
    const common::Bytes all = large;
    std::vector<common::Bytes> parts;
    for (size_t at = 0, n = 1; at < all.size(); at += n, n = n * 2 % 4093) {
        parts.push_back(all.subspan(at, std::min(n, all.size() - at)));
    }
    ASSERT_LE(parts.size(), Connection::kMaxParts);
    Fixture f;
    f.on_loop([&] {
        for (int i = 0; i < 3; ++i) {
            EXPECT_EQ(PMIX_SUCCESS, f.connection->send_parts(FrameHeader::notify(16), parts));
        }
        EXPECT_EQ(PMIX_SUCCESS, f.connection->send_parts(FrameHeader::notify(17), {}));
        const std::vector<common::Bytes> too_many(Connection::kMaxParts + 1, all.first(1));
        EXPECT_EQ(PMIX_ERR_BAD_PARAM, f.connection->send_parts(FrameHeader::notify(16), too_many));
    });
    EXPECT_GT(f.connection->queued_bytes(), 0u);
    std::vector<common::Frame> frames(4);
    std::atomic<bool> done{false};
    std::thread reader([&] {
        for (auto& frame : frames) frame = test::read_frame(f.peer.get());
        done = true;
    });
    f.turn_until([&] { return done.load(); });
    reader.join();
    for (int i = 0; i < 3; ++i) EXPECT_EQ(large, frames[static_cast<size_t>(i)].payload);
    EXPECT_EQ(17, frames[3].header.command);
    EXPECT_TRUE(frames[3].payload.empty());
}

TEST(Connection, SendWritesFromTheCallersThreadAtOnce) {
    Fixture f;
    std::thread([&] {
        EXPECT_EQ(PMIX_SUCCESS, f.connection->send(FrameHeader::request(3, 5), bytes_of("now")));
    }).join();
    // The loop has not turned.
    EXPECT_EQ(bytes_of("now"), test::read_frame(f.peer.get()).payload);
    EXPECT_EQ(PMIX_ERR_BAD_PARAM,
              f.connection->send(FrameHeader::notify(1), {}, std::vector<int>(common::kMaxFrameDescriptors + 1, 0)));
}

TEST(Connection, PassesDescriptors) {
    test::DescriptorCheck check;
    Fixture f, g;  // f sends to g's peer end by hand: what is received there is put into g
    const int event = ::eventfd(7, EFD_CLOEXEC);
    const std::vector<int> two{event, event};
    f.on_loop([&] {
        EXPECT_EQ(PMIX_SUCCESS, f.connection->send(FrameHeader::reply(10, 1, PMIX_SUCCESS), bytes_of("seg"), two));
    });
    // A frame's descriptors come with its first byte; the frame is complete only later.
    auto frame = with_payload(FrameHeader::reply(10, 1, PMIX_SUCCESS), 3, 2);
    uint8_t head[16];
    build_frame_header(frame, head);
    {
        char control[CMSG_SPACE(2 * sizeof(int))] = {};
        iovec part{head, 5};
        msghdr message{};
        message.msg_iov = &part;
        message.msg_iovlen = 1;
        message.msg_control = control;
        message.msg_controllen = sizeof control;
        cmsghdr* c = CMSG_FIRSTHDR(&message);
        c->cmsg_level = SOL_SOCKET;
        c->cmsg_type = SCM_RIGHTS;
        c->cmsg_len = CMSG_LEN(2 * sizeof(int));
        std::memcpy(CMSG_DATA(c), two.data(), 2 * sizeof(int));
        ASSERT_EQ(5, ::sendmsg(g.peer.get(), &message, 0));
    }
    g.run();
    EXPECT_TRUE(g.handler.heard.empty());
    test::write_all(g.peer.get(), {head + 5, head + 16});
    test::write_all(g.peer.get(), bytes_of("seg"));
    g.turn_until([&] { return g.handler.heard.size() == 1; });
    EXPECT_EQ(2u, g.handler.heard[0].descriptors);
    for (auto& d : g.handler.descriptors) {
        EXPECT_NE(0, ::fcntl(d.get(), F_GETFD) & FD_CLOEXEC);
    }
    uint64_t value = 0;
    EXPECT_EQ(8, ::read(g.handler.descriptors[1].get(), &value, sizeof value));
    EXPECT_EQ(7u, value);
    ::close(event);
}

// Descriptors of frames that had to wait in the queue are duplicates: the lender may close at once.
TEST(Connection, QueuedDescriptorsAreItsOwn) {
    test::DescriptorCheck check;
    auto [a, b] = test::socket_pair();
    ManualLoop loop;
    RecordingHandler sender, receiver;
    std::shared_ptr<Connection> from, to;
    {
        LoopRole role(*loop.loop);
        ConnectionOptions options;
        options.max_payload = common::kMaxFramePayload;
        from = *Connection::open(*loop.loop, std::move(a), sender, options);
        to = *Connection::open(*loop.loop, std::move(b), receiver, options);
        const std::vector<uint8_t> filler(1'000'000);
        EXPECT_EQ(PMIX_SUCCESS, from->send(FrameHeader::notify(1), filler));
        for (uint64_t i = 1; i <= 3; ++i) {
            const int event = ::eventfd(static_cast<unsigned>(i), EFD_CLOEXEC);
            EXPECT_EQ(PMIX_SUCCESS,
                      from->send(FrameHeader::notify(static_cast<uint16_t>(i + 1)), bytes_of("x"), {&event, 1}));
            ::close(event);
        }
        EXPECT_GT(from->queued_bytes(), 0u);
    }
    loop.turn_until([&] { return receiver.heard.size() == 4; });
    ASSERT_EQ(3u, receiver.descriptors.size());
    for (uint64_t i = 1; i <= 3; ++i) {
        uint64_t value = 0;
        EXPECT_EQ(8, ::read(receiver.descriptors[i - 1].get(), &value, sizeof value));
        EXPECT_EQ(i, value);
    }
    LoopRole role(*loop.loop);
    from.reset();
    to.reset();
}

TEST(Connection, TheEndOfThePeerIsHeardOnceAfterItsLastFrame) {
    Fixture f;
    test::write_all(f.peer.get(), frame_bytes(FrameHeader::notify(9), bytes_of("last")));
    f.peer.reset();
    f.turn_until([&] { return !f.handler.closed.empty(); });
    f.run();
    ASSERT_EQ(1u, f.handler.heard.size());
    EXPECT_EQ((std::vector<pmix_status_t>{PMIX_ERR_LOST_CONNECTION}), f.handler.closed);
    EXPECT_EQ(PMIX_ERR_LOST_CONNECTION, f.connection->send(FrameHeader::notify(1), {}));
}

// A send that finds the peer gone reports it, but what the peer had sent before is still received, and then the end.
TEST(Connection, ASendToADeadPeerLosesNothingReceived) {
    Fixture f;
    test::write_all(f.peer.get(), frame_bytes(FrameHeader::notify(9), bytes_of("last")));
    f.peer.reset();
    EXPECT_EQ(PMIX_ERR_LOST_CONNECTION, f.connection->send(FrameHeader::notify(1), {}));
    EXPECT_TRUE(f.handler.closed.empty()) << "never on the stack of send";
    f.turn_until([&] { return !f.handler.closed.empty(); });
    EXPECT_EQ(1u, f.handler.heard.size());
    EXPECT_EQ(1u, f.handler.closed.size());
}

TEST(Connection, CloseEndsTheCallbacks) {
    test::DescriptorCheck check;
    Fixture f;
    test::write_all(f.peer.get(), frame_bytes(FrameHeader::notify(1), {}));
    test::write_all(f.peer.get(), frame_bytes(FrameHeader::notify(2), {}));
    f.handler.then = [&](const Heard&) {
        assert_on_loop();
        f.connection->close();  // within its own callback
        f.connection->close();
    };
    f.run();
    EXPECT_EQ(1u, f.handler.heard.size());
    EXPECT_TRUE(f.handler.closed.empty()) << "the owner knows";
    EXPECT_TRUE(test::read_exactly(f.peer.get(), 1).empty()) << "the peer sees the end";
    EXPECT_EQ(PMIX_ERR_LOST_CONNECTION, f.connection->send(FrameHeader::notify(1), {}));
}

TEST(Connection, MayBeDroppedWithinItsOwnCallbacks) {
    test::DescriptorCheck check;
    {
        Fixture f;
        f.handler.then = [&](const Heard&) {
            assert_on_loop();
            f.connection->close();
            f.connection.reset();
        };
        test::write_all(f.peer.get(), frame_bytes(FrameHeader::notify(1), bytes_of("payload")));
        test::write_all(f.peer.get(), frame_bytes(FrameHeader::notify(2), {}));
        f.run();
        EXPECT_EQ(1u, f.handler.heard.size());
        EXPECT_EQ("payload", f.handler.heard[0].payload);
    }
    Fixture f;
    f.handler.then_closed = [&] { f.connection.reset(); };
    f.peer.reset();
    f.run();
    EXPECT_EQ(1u, f.handler.closed.size());
}

TEST(Connection, CloseSendsWhatItStillCan) {
    Fixture f;
    f.on_loop([&] {
        f.connection->send(FrameHeader::notify(3), bytes_of("bye"));
        f.connection->close();
    });
    EXPECT_EQ(bytes_of("bye"), test::read_frame(f.peer.get()).payload);
}

TEST(Connection, APeerThatDoesNotReadIsDropped) {
    ConnectionOptions options;
    options.max_queued = 1'000'000;
    Fixture f(options);
    const std::vector<uint8_t> chunk(100'000);
    pmix_status_t rc = PMIX_SUCCESS;
    int sent = 0;
    while (rc == PMIX_SUCCESS && sent < 1000) {
        rc = f.connection->send(FrameHeader::notify(1), chunk);
        ++sent;
    }
    EXPECT_EQ(PMIX_ERR_OUT_OF_RESOURCE, rc);
    EXPECT_LE(f.connection->queued_bytes(), options.max_queued + chunk.size() + common::kFrameHeaderSize);
    f.turn_until([&] { return !f.handler.closed.empty(); });
    EXPECT_EQ(PMIX_ERR_OUT_OF_RESOURCE, f.handler.closed[0]);
}

// Each queued descriptor is one of our own table: behind so many of them frames go without theirs, and the peer stays.
TEST(Connection, Send_ManyDescriptorsQueued_LaterFramesGoWithout) {
    test::DescriptorCheck check;
    Fixture f;
    const size_t before = test::open_descriptors();
    const int event = ::eventfd(7, EFD_CLOEXEC);
    constexpr size_t kFrames = 1000;
    for (size_t sent = 0; sent < kFrames; ++sent)
        ASSERT_EQ(PMIX_SUCCESS, f.connection->send(FrameHeader::notify(1), std::vector<uint8_t>(1000), {&event, 1}));
    EXPECT_EQ(before + 1 + common::kMaxQueuedDescriptors, test::open_descriptors());
    ::close(event);
    size_t with = 0;
    for (size_t got = 0; got < kFrames; ++got) {
        f.run(1);
        const common::Frame frame = test::read_frame(f.peer.get());
        ASSERT_EQ(1000u, frame.payload.size());
        with += frame.header.descriptors;
        f.run(1);
    }
    EXPECT_GE(with, common::kMaxQueuedDescriptors);
    EXPECT_LT(with, kFrames);
    EXPECT_TRUE(f.handler.closed.empty());
}

// There is no room for the copy that a frame in the queue needs: it goes without, and the peer stays.
TEST(Connection, Send_NoRoomForACopy_FrameGoesWithoutDescriptor) {
    test::DescriptorCheck check;
    Fixture f;
    const int event = ::eventfd(7, EFD_CLOEXEC);
    const std::vector<uint8_t> filler(1'000'000);
    ASSERT_EQ(PMIX_SUCCESS, f.connection->send(FrameHeader::notify(1), filler));
    {
        test::FullTable full;
        EXPECT_EQ(PMIX_SUCCESS, f.connection->send(FrameHeader::notify(2), bytes_of("poor"), {&event, 1}));
    }
    EXPECT_EQ(PMIX_SUCCESS, f.connection->send(FrameHeader::notify(3), bytes_of("rich"), {&event, 1}));
    std::atomic<bool> done{false};
    std::vector<common::Frame> got;
    std::thread reader([&] {
        for (int i = 0; i < 3; ++i) got.push_back(test::read_frame(f.peer.get()));
        done = true;
    });
    f.turn_until([&] { return done.load(); });
    reader.join();
    EXPECT_EQ(0, got[1].header.descriptors);
    EXPECT_EQ(bytes_of("poor"), got[1].payload);
    EXPECT_EQ(1, got[2].header.descriptors);
    EXPECT_TRUE(f.handler.closed.empty());
    ::close(event);
}

// A client does not give its server up: who may wait does so until half of what is queued has been read.
TEST(Connection, WaitForRoom_ServerDoesNotRead_SenderWaitsAndNothingIsLost) {
    ConnectionOptions options;
    options.max_queued = 1'000'000;
    options.waits_for_room = true;
    auto [ours, peer] = test::socket_pair();
    auto loop = std::move(*EventLoop::create({}));
    RecordingHandler handler;
    std::shared_ptr<Connection> connection;
    {
        LoopRole role(*loop);
        connection = *Connection::open(*loop, std::move(ours), handler, options);
    }
    loop->start();
    constexpr int kFrames = 60;
    const std::vector<uint8_t> chunk(100'000);
    std::atomic<int> sent{0};
    std::atomic<size_t> most{0};
    std::thread sender([&] {
        for (int i = 0; i < kFrames; ++i) {
            EXPECT_EQ(PMIX_SUCCESS, connection->wait_for_room(Deadline::never()));
            EXPECT_EQ(PMIX_SUCCESS, connection->send(FrameHeader::notify(static_cast<uint16_t>(i + 1)), chunk));
            most = std::max(most.load(), connection->queued_bytes());
            ++sent;
        }
    });
    while (connection->queued_bytes() <= options.max_queued) std::this_thread::yield();
    EXPECT_EQ(PMIX_ERR_TIMEOUT, connection->wait_for_room(Deadline::in_ms(20)));
    EXPECT_LT(sent.load(), kFrames);
    for (int i = 0; i < kFrames; ++i) {
        const common::Frame frame = test::read_frame(peer.get());
        ASSERT_EQ(i + 1, frame.header.command);
        ASSERT_EQ(chunk.size(), frame.payload.size());
    }
    sender.join();
    EXPECT_EQ(kFrames, sent.load());
    EXPECT_LE(most.load(), options.max_queued + chunk.size() + common::kFrameHeaderSize);

    // The loop's thread does not wait for itself. It may fill as much again; what is beyond is refused, and no more.
    Waiter done;
    loop->post([&] {
        EXPECT_EQ(PMIX_SUCCESS, connection->wait_for_room(Deadline::never()));
        pmix_status_t rc = PMIX_SUCCESS;
        for (int i = 0; rc == PMIX_SUCCESS && i < kFrames; ++i) {
            rc = connection->send(FrameHeader::notify(1), chunk);
            EXPECT_EQ(PMIX_SUCCESS, connection->wait_for_room(Deadline::never()));
        }
        EXPECT_EQ(PMIX_ERR_OUT_OF_RESOURCE, rc);
        EXPECT_GT(connection->queued_bytes(), 2 * options.max_queued);
        done.complete();
    });
    ASSERT_TRUE(done.wait());
    // The end of the server ends the wait.
    std::thread waits([&] {
        EXPECT_EQ(PMIX_SUCCESS, connection->wait_for_room(Deadline::never()));
        EXPECT_EQ(PMIX_ERR_LOST_CONNECTION, connection->send(FrameHeader::notify(1), chunk));
    });
    peer.reset();
    waits.join();
    loop->post([&] {
        assert_on_loop();
        connection->close();
        connection.reset();
    });
    loop->stop();
}

// The wait ends when the peer has read half, and when the connection has ended: both are seen without a second thread.
TEST(Connection, WaitForRoom_PeerHasReadOrConnectionEnded_ReturnsAtOnce) {
    ConnectionOptions options;
    options.max_queued = 1'000'000;
    options.waits_for_room = true;
    Fixture f(options);
    const std::vector<uint8_t> chunk(100'000);
    const auto fill = [&] {
        while (f.connection->queued_bytes() <= options.max_queued)
            ASSERT_EQ(PMIX_SUCCESS, f.connection->send(FrameHeader::notify(1), chunk));
        ASSERT_EQ(PMIX_ERR_TIMEOUT, f.connection->wait_for_room(Deadline::in_ms(20)));
    };
    fill();
    std::vector<uint8_t> read(chunk.size());
    for (int i = 0; i < 1000 && f.connection->queued_bytes() > options.max_queued / 2; ++i) {
        while (::recv(f.peer.get(), read.data(), read.size(), MSG_DONTWAIT) > 0) continue;
        f.loop->progress();
    }
    ASSERT_LE(f.connection->queued_bytes(), options.max_queued / 2);
    EXPECT_EQ(PMIX_SUCCESS, f.connection->wait_for_room(Deadline::in_ms(20)));
    fill();
    f.on_loop([&] { f.connection->close(); });
    EXPECT_EQ(PMIX_SUCCESS, f.connection->wait_for_room(Deadline::in_ms(20)));
    EXPECT_EQ(PMIX_ERR_LOST_CONNECTION, f.connection->send(FrameHeader::notify(1), chunk));
}

TEST(Connection, KnowsWhetherThePeerHasReadAll) {
    Fixture f;
    EXPECT_TRUE(f.connection->all_read());
    f.connection->send(FrameHeader::notify(1), bytes_of("some text"));
    EXPECT_FALSE(f.connection->all_read());
    EXPECT_EQ(bytes_of("some text"), test::read_frame(f.peer.get()).payload);
    EXPECT_TRUE(f.connection->all_read());
    f.on_loop([&] { f.connection->close(); });
    EXPECT_TRUE(f.connection->all_read());
}

TEST(Connection, HostileHeadersEndTheConnectionOnly) {
    struct Case {
        std::vector<uint8_t> bytes;
        pmix_status_t why;
    };
    auto lie = [](uint32_t length) {
        auto bytes = frame_bytes(FrameHeader::request(1, 1), {});
        common::store_le<uint32_t>(bytes.data(), length);
        return bytes;
    };
    auto promise = frame_bytes(with_payload(FrameHeader::request(1, 1), 0, 3), {});
    for (const Case& c : std::vector<Case>{{lie(0xffffffff), PMIX_ERR_OUT_OF_RESOURCE},
                                           {lie(common::kMaxHelloPayload + 1), PMIX_ERR_OUT_OF_RESOURCE},
                                           {std::vector<uint8_t>(16, 0), PMIX_ERR_UNPACK_FAILURE},
                                           {std::vector<uint8_t>(16, 0xff), PMIX_ERR_UNPACK_FAILURE},
                                           {bytes_of("GET / HTTP/1.0\r\n\r\n"), PMIX_ERR_UNPACK_FAILURE},
                                           {promise, PMIX_ERR_UNPACK_FAILURE}}) {
        Fixture f;
        test::write_all(f.peer.get(), c.bytes);
        f.turn_until([&] { return !f.handler.closed.empty(); });
        EXPECT_EQ(c.why, f.handler.closed[0]);
        EXPECT_TRUE(f.handler.heard.empty());
    }
}

// A peer that sends descriptors nobody asked for cannot fill our table.
TEST(Connection, UnannouncedDescriptorsEndTheConnection) {
    test::DescriptorCheck check;
    Fixture f;
    const int passed = 0;
    uint8_t byte = 0;  // the beginning of a header
    for (unsigned i = 0; i <= common::kMaxFrameDescriptors && f.handler.closed.empty(); ++i) {
        char control[CMSG_SPACE(sizeof(int))] = {};
        iovec part{&byte, i < 15 ? 1u : 0u};
        if (i >= 15) break;
        msghdr message{};
        message.msg_iov = &part;
        message.msg_iovlen = 1;
        message.msg_control = control;
        message.msg_controllen = sizeof control;
        cmsghdr* c = CMSG_FIRSTHDR(&message);
        c->cmsg_level = SOL_SOCKET;
        c->cmsg_type = SCM_RIGHTS;
        c->cmsg_len = CMSG_LEN(sizeof(int));
        std::memcpy(CMSG_DATA(c), &passed, sizeof(int));
        ASSERT_EQ(1, ::sendmsg(f.peer.get(), &message, MSG_NOSIGNAL));
        f.run(1);
    }
    EXPECT_TRUE(f.handler.closed.empty());
    // 40 at once are cut off by the kernel, and that is noticed.
    std::vector<int> many(40, 0);
    std::vector<char> control(CMSG_SPACE(40 * sizeof(int)));
    iovec part{&byte, 1};
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    message.msg_control = control.data();
    message.msg_controllen = control.size();
    cmsghdr* c = CMSG_FIRSTHDR(&message);
    c->cmsg_level = SOL_SOCKET;
    c->cmsg_type = SCM_RIGHTS;
    c->cmsg_len = CMSG_LEN(40 * sizeof(int));
    std::memcpy(CMSG_DATA(c), many.data(), 40 * sizeof(int));
    ASSERT_EQ(1, ::sendmsg(f.peer.get(), &message, MSG_NOSIGNAL));
    f.turn_until([&] { return !f.handler.closed.empty(); });
    EXPECT_EQ(PMIX_ERR_OUT_OF_RESOURCE, f.handler.closed[0]);
}

// Sends a frame with descriptors, all of it in one call.
void send_with_descriptors(int fd, const std::vector<uint8_t>& bytes, std::span<const int> fds) {
    iovec part{const_cast<uint8_t*>(bytes.data()), bytes.size()};
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    DescriptorControl control;
    control.attach(message, fds.data(), fds.size());
    ASSERT_EQ(static_cast<ssize_t>(bytes.size()), ::sendmsg(fd, &message, MSG_NOSIGNAL));
}

// Frames whose descriptors do not fit into the table come whole, with empty descriptors; those before and behind keep
// theirs.
TEST(Connection, ReceiveDescriptors_TableFull_FrameComesWithEmptyOnes) {
    test::DescriptorCheck check;
    Fixture f;
    const int event = ::eventfd(7, EFD_CLOEXEC);
    const std::vector<int> two{event, event};
    // The second half of the first frame is on its way when the frames behind it come.
    const auto first = frame_bytes(with_payload(FrameHeader::notify(10), 0, 1), bytes_of("first"));
    send_with_descriptors(f.peer.get(), {first.begin(), first.begin() + 18}, {&event, 1});
    f.run();
    {
        test::FullTable full;
        test::write_all(f.peer.get(), {first.begin() + 18, first.end()});
        send_with_descriptors(f.peer.get(),
                              frame_bytes(with_payload(FrameHeader::notify(11), 0, 2), bytes_of("second")), two);
        test::write_all(f.peer.get(), frame_bytes(FrameHeader::notify(12), bytes_of("third")));
        f.turn_until([&] { return f.handler.heard.size() == 3 || !f.handler.closed.empty(); });
    }
    send_with_descriptors(f.peer.get(), frame_bytes(with_payload(FrameHeader::notify(13), 0, 1), bytes_of("fourth")),
                          {&event, 1});
    f.turn_until([&] { return f.handler.heard.size() == 4 || !f.handler.closed.empty(); });
    ASSERT_TRUE(f.handler.closed.empty()) << f.handler.closed[0];
    ASSERT_EQ(4u, f.handler.descriptors.size());
    EXPECT_TRUE(f.handler.descriptors[0]);
    EXPECT_FALSE(f.handler.descriptors[1]);
    EXPECT_FALSE(f.handler.descriptors[2]);
    EXPECT_TRUE(f.handler.descriptors[3]);
    EXPECT_EQ(2u, f.handler.heard[1].descriptors);
    ::close(event);
}

// A frame that begins in one read and ends in another lost its descriptors; the next frame's are not taken for its own.
TEST(Connection, ReceiveDescriptors_LostWithHalfAFrame_NextFrameKeepsItsOwn) {
    test::DescriptorCheck check;
    Fixture f;
    const int event = ::eventfd(7, EFD_CLOEXEC);
    const auto first = frame_bytes(with_payload(FrameHeader::notify(10), 0, 1), bytes_of("first"));
    {
        test::FullTable full;
        send_with_descriptors(f.peer.get(), {first.begin(), first.begin() + 5}, {&event, 1});
        f.run();
    }
    test::write_all(f.peer.get(), {first.begin() + 5, first.end()});
    send_with_descriptors(f.peer.get(), frame_bytes(with_payload(FrameHeader::notify(11), 0, 1), bytes_of("second")),
                          {&event, 1});
    f.turn_until([&] { return f.handler.heard.size() == 2 || !f.handler.closed.empty(); });
    ASSERT_TRUE(f.handler.closed.empty()) << f.handler.closed[0];
    ASSERT_EQ(2u, f.handler.descriptors.size());
    EXPECT_FALSE(f.handler.descriptors[0]);
    EXPECT_TRUE(f.handler.descriptors[1]);
    ::close(event);
}

// A server's side: the first is one too many, announced or not.
TEST(Connection, WhereNoDescriptorIsTakenTheFirstEndsIt) {
    test::DescriptorCheck check;
    ConnectionOptions options;
    options.takes_descriptors = false;
    Fixture f(options);
    const auto frame = frame_bytes(with_payload(FrameHeader::request(1, 1), 0, 1), {});
    const int passed = 0;
    iovec part{const_cast<uint8_t*>(frame.data()), frame.size()};
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    DescriptorControl control;
    control.attach(message, &passed, 1);
    ASSERT_EQ(static_cast<ssize_t>(frame.size()), ::sendmsg(f.peer.get(), &message, 0));
    f.turn_until([&] { return !f.handler.closed.empty(); });
    EXPECT_EQ(PMIX_ERR_UNPACK_FAILURE, f.handler.closed[0]);
    EXPECT_TRUE(f.handler.heard.empty());
}

TEST(Connection, AThrowingHandlerEndsIt) {
    Fixture f;
    f.handler.then = [](const Heard&) { throw std::bad_alloc(); };
    test::write_all(f.peer.get(), frame_bytes(FrameHeader::notify(1), {}));
    f.turn_until([&] { return !f.handler.closed.empty(); });
    EXPECT_EQ(PMIX_ERR_OUT_OF_RESOURCE, f.handler.closed[0]);
}

// A child that had closed what it inherited, and opened files of its own under the same numbers, keeps them.
TEST(Connection, Abandon_ChildReusedTheNumbers_ItsFilesStayOpen) {
    ConnectionOptions options;
    options.caller_reads = true;
    Fixture f(options);
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
        constexpr int kMost = 200;
        for (int fd = 3; fd < kMost; ++fd) ::close(fd);
        // Of the kinds that the library has too.
        int kept = 0;
        for (int i = 0; i < 40; ++i) {
            const int fd = i % 4 == 0   ? ::eventfd(0, 0)
                           : i % 4 == 1 ? ::epoll_create1(0)
                           : i % 4 == 2 ? ::open("/dev/null", O_RDONLY)
                                        : ::socket(AF_UNIX, SOCK_STREAM, 0);
            kept += fd >= 3;
        }
        f.connection->abandon();
        f.connection.reset();
        EventLoop::abandon(std::move(f.loop));
        for (int fd = 3; fd < 43; ++fd) kept -= ::fcntl(fd, F_GETFD) >= 0;
        ::_exit(kept == 0 ? 0 : 1);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    EXPECT_EQ(0, status);
}

// The connection had ended before the fork: its number may be anybody's.
TEST(Connection, Abandon_ConnectionHadEnded_NumberIsForgotten) {
    Fixture f;
    const int number = f.connection->fd();
    f.peer.reset();
    f.turn_until([&] { return !f.handler.closed.empty(); });
    const int mine = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
    ASSERT_GE(mine, 0);
    if (mine != number) {
        ASSERT_EQ(number, ::dup2(mine, number));
    }
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
        f.connection->abandon();
        ::_exit(::fcntl(number, F_GETFD) >= 0 ? 0 : 1);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    EXPECT_EQ(0, status);
    ::close(number);
    if (mine != number) ::close(mine);
}

TEST(Connection, AForkedChildAbandonsIt) {
    ConnectionOptions options;
    options.caller_reads = true;
    Fixture f(options);
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
        const size_t before = test::open_descriptors();
        f.connection->abandon();
        f.connection.reset();
        EventLoop::abandon(std::move(f.loop));
        // The socket. What has no inode of its own (epoll, eventfd) stays.
        ::_exit(test::open_descriptors() == before - 1 ? 0 : 1);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    EXPECT_EQ(0, status);
    test::write_all(f.peer.get(), frame_bytes(FrameHeader::notify(1), bytes_of("still here")));
    f.turn_until([&] { return f.handler.heard.size() == 1; });
}

}  // namespace
}  // namespace pmix::transport

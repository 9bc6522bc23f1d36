// SPDX-License-Identifier: BSD-3-Clause
#include "support/status.h"
#include "transport/read_buffer.h"
#include "unit/transport/connection_setting.h"

namespace pmix::transport::connection_test {
namespace {

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

// A connection that has been read out keeps no memory to read into.
TEST(Connection, NothingIsUnread_ItsMemoryIsTheLoops) {
    Fixture f;
    SpareReadMemory& spare = f.loop->spare_read_memory();
    const auto bytes = frame_bytes(FrameHeader::request(4, 1), bytes_of("one"));
    test::write_all(f.peer.get(), {bytes.begin(), bytes.end() - 1});
    f.turn_until([&] { return f.connection->unfinished_bytes() == bytes.size() - 1; });
    EXPECT_EQ(nullptr, spare.take());

    test::write_all(f.peer.get(), {bytes.end() - 1, bytes.end()});
    f.turn_until([&] { return f.handler.heard.size() == 1; });
    EXPECT_EQ("one", f.handler.heard[0].payload);
    ReadMemory* memory = spare.take();
    EXPECT_NE(nullptr, memory);
    spare.give(memory);
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
        EXPECT_STATUS(PMIX_SUCCESS, f.connection->send(FrameHeader::reply(2, 1, PMIX_SUCCESS), large));
        EXPECT_STATUS(PMIX_SUCCESS, f.connection->send(FrameHeader::notify(16), bytes_of("after")));
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
    EXPECT_STATUS(PMIX_SUCCESS, f.connection->send(FrameHeader::notify(16), {}));
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
            EXPECT_STATUS(PMIX_SUCCESS, f.connection->send_parts(FrameHeader::notify(16), parts));
        }
        EXPECT_STATUS(PMIX_SUCCESS, f.connection->send_parts(FrameHeader::notify(17), {}));
        const std::vector<common::Bytes> too_many(Connection::kMaxParts + 1, all.first(1));
        EXPECT_STATUS(PMIX_ERR_BAD_PARAM, f.connection->send_parts(FrameHeader::notify(16), too_many));
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
        EXPECT_STATUS(PMIX_SUCCESS, f.connection->send(FrameHeader::request(3, 5), bytes_of("now")));
    }).join();
    // The loop has not turned.
    EXPECT_EQ(bytes_of("now"), test::read_frame(f.peer.get()).payload);
    EXPECT_STATUS(PMIX_ERR_BAD_PARAM, f.connection->send(FrameHeader::notify(1), {},
                                                         std::vector<int>(common::kMaxFrameDescriptors + 1, 0)));
}

TEST(Connection, TheEndOfThePeerIsHeardOnceAfterItsLastFrame) {
    Fixture f;
    test::write_all(f.peer.get(), frame_bytes(FrameHeader::notify(9), bytes_of("last")));
    f.peer.reset();
    f.turn_until([&] { return !f.handler.closed.empty(); });
    f.run();
    ASSERT_EQ(1u, f.handler.heard.size());
    EXPECT_EQ((std::vector<pmix_status_t>{PMIX_ERR_LOST_CONNECTION}), f.handler.closed);
    EXPECT_STATUS(PMIX_ERR_LOST_CONNECTION, f.connection->send(FrameHeader::notify(1), {}));
}

// A send that finds the peer gone reports it, but what the peer had sent before is still received, and then the end.
TEST(Connection, ASendToADeadPeerLosesNothingReceived) {
    Fixture f;
    test::write_all(f.peer.get(), frame_bytes(FrameHeader::notify(9), bytes_of("last")));
    f.peer.reset();
    EXPECT_STATUS(PMIX_ERR_LOST_CONNECTION, f.connection->send(FrameHeader::notify(1), {}));
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
    EXPECT_STATUS(PMIX_ERR_LOST_CONNECTION, f.connection->send(FrameHeader::notify(1), {}));
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
    EXPECT_STATUS(PMIX_ERR_OUT_OF_RESOURCE, rc);
    EXPECT_LE(f.connection->queued_bytes(), options.max_queued + chunk.size() + common::kFrameHeaderSize);
    f.turn_until([&] { return !f.handler.closed.empty(); });
    EXPECT_STATUS(PMIX_ERR_OUT_OF_RESOURCE, f.handler.closed[0]);
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
            EXPECT_STATUS(PMIX_SUCCESS, connection->wait_for_room(Deadline::never()));
            EXPECT_STATUS(PMIX_SUCCESS, connection->send(FrameHeader::notify(static_cast<uint16_t>(i + 1)), chunk));
            most = std::max(most.load(), connection->queued_bytes());
            ++sent;
        }
    });
    while (connection->queued_bytes() <= options.max_queued) std::this_thread::yield();
    EXPECT_STATUS(PMIX_ERR_TIMEOUT, connection->wait_for_room(Deadline::in_ms(20)));
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
        EXPECT_STATUS(PMIX_SUCCESS, connection->wait_for_room(Deadline::never()));
        pmix_status_t rc = PMIX_SUCCESS;
        for (int i = 0; rc == PMIX_SUCCESS && i < kFrames; ++i) {
            rc = connection->send(FrameHeader::notify(1), chunk);
            EXPECT_STATUS(PMIX_SUCCESS, connection->wait_for_room(Deadline::never()));
        }
        EXPECT_STATUS(PMIX_ERR_OUT_OF_RESOURCE, rc);
        EXPECT_GT(connection->queued_bytes(), 2 * options.max_queued);
        done.complete();
    });
    ASSERT_TRUE(done.wait());
    // The end of the server ends the wait.
    std::thread waits([&] {
        EXPECT_STATUS(PMIX_SUCCESS, connection->wait_for_room(Deadline::never()));
        EXPECT_STATUS(PMIX_ERR_LOST_CONNECTION, connection->send(FrameHeader::notify(1), chunk));
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
            ASSERT_STATUS(PMIX_SUCCESS, f.connection->send(FrameHeader::notify(1), chunk));
        ASSERT_STATUS(PMIX_ERR_TIMEOUT, f.connection->wait_for_room(Deadline::in_ms(20)));
    };
    fill();
    std::vector<uint8_t> read(chunk.size());
    for (int i = 0; i < 1000 && f.connection->queued_bytes() > options.max_queued / 2; ++i) {
        while (::recv(f.peer.get(), read.data(), read.size(), MSG_DONTWAIT) > 0) continue;
        f.loop->progress();
    }
    ASSERT_LE(f.connection->queued_bytes(), options.max_queued / 2);
    EXPECT_STATUS(PMIX_SUCCESS, f.connection->wait_for_room(Deadline::in_ms(20)));
    fill();
    f.on_loop([&] { f.connection->close(); });
    EXPECT_STATUS(PMIX_SUCCESS, f.connection->wait_for_room(Deadline::in_ms(20)));
    EXPECT_STATUS(PMIX_ERR_LOST_CONNECTION, f.connection->send(FrameHeader::notify(1), chunk));
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

TEST(Connection, AThrowingHandlerEndsIt) {
    Fixture f;
    f.handler.then = [](const Heard&) { throw std::bad_alloc(); };
    test::write_all(f.peer.get(), frame_bytes(FrameHeader::notify(1), {}));
    f.turn_until([&] { return !f.handler.closed.empty(); });
    EXPECT_STATUS(PMIX_ERR_OUT_OF_RESOURCE, f.handler.closed[0]);
}

}  // namespace
}  // namespace pmix::transport::connection_test

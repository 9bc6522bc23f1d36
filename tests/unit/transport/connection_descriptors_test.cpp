// SPDX-License-Identifier: BSD-3-Clause
// Descriptors over a connection: passed, queued, refused, missing, and what a forked child does with their numbers.
#include "support/status.h"
#include "unit/transport/connection_setting.h"

namespace pmix::transport::connection_descriptors_test {
namespace {

TEST(Connection, PassesDescriptors) {
    test::DescriptorCheck check;
    Fixture f, g;  // f sends to g's peer end by hand: what is received there is put into g
    const int event = ::eventfd(7, EFD_CLOEXEC);
    const std::vector<int> two{event, event};
    f.on_loop([&] {
        EXPECT_STATUS(PMIX_SUCCESS, f.connection->send(FrameHeader::reply(10, 1, PMIX_SUCCESS), bytes_of("seg"), two));
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
        EXPECT_STATUS(PMIX_SUCCESS, from->send(FrameHeader::notify(1), filler));
        for (uint64_t i = 1; i <= 3; ++i) {
            const int event = ::eventfd(static_cast<unsigned>(i), EFD_CLOEXEC);
            EXPECT_STATUS(PMIX_SUCCESS,
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

// Each queued descriptor is one of our own table: behind so many of them frames go without theirs, and the peer stays.
TEST(Connection, Send_ManyDescriptorsQueued_LaterFramesGoWithout) {
    test::DescriptorCheck check;
    Fixture f;
    const size_t before = test::open_descriptors();
    const int event = ::eventfd(7, EFD_CLOEXEC);
    constexpr size_t kFrames = 1000;
    for (size_t sent = 0; sent < kFrames; ++sent)
        ASSERT_STATUS(PMIX_SUCCESS,
                      f.connection->send(FrameHeader::notify(1), std::vector<uint8_t>(1000), {&event, 1}));
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
    ASSERT_STATUS(PMIX_SUCCESS, f.connection->send(FrameHeader::notify(1), filler));
    {
        test::FullTable full;
        EXPECT_STATUS(PMIX_SUCCESS, f.connection->send(FrameHeader::notify(2), bytes_of("poor"), {&event, 1}));
    }
    EXPECT_STATUS(PMIX_SUCCESS, f.connection->send(FrameHeader::notify(3), bytes_of("rich"), {&event, 1}));
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
    EXPECT_STATUS(PMIX_ERR_OUT_OF_RESOURCE, f.handler.closed[0]);
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
    EXPECT_STATUS(PMIX_ERR_UNPACK_FAILURE, f.handler.closed[0]);
    EXPECT_TRUE(f.handler.heard.empty());
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
}  // namespace pmix::transport::connection_descriptors_test

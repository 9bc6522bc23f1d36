// SPDX-License-Identifier: BSD-3-Clause
// Connected pairs, and a raw peer that speaks bytes instead of frames.
#pragma once

#include <arpa/inet.h>
#include <dirent.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/sockios.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "common/protocol/frame.h"
#include "transport/descriptor.h"
#include "transport/tcp/tcp_socket.h"

namespace pmix::test {

using ConnectionEnds = std::pair<transport::Descriptor, transport::Descriptor>;

inline ConnectionEnds socket_pair() {
    int fds[2];
    EXPECT_EQ(0, ::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, fds));
    return {transport::Descriptor(fds[0]), transport::Descriptor(fds[1])};
}

// The first is the accepted end.
inline std::pair<transport::Descriptor, transport::Descriptor> tcp_pair() {
    auto listener = transport::listen_loopback();
    EXPECT_TRUE(listener.ok());
    sockaddr_in at{};
    socklen_t length = sizeof at;
    EXPECT_EQ(0, ::getsockname(listener->get(), reinterpret_cast<sockaddr*>(&at), &length));
    EXPECT_EQ("127.0.0.1:" + std::to_string(ntohs(at.sin_port)), transport::tcp_address(listener->get()));
    transport::Descriptor far(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    const int small = 4096;
    EXPECT_EQ(0, ::setsockopt(far.get(), SOL_SOCKET, SO_RCVBUF, &small, sizeof small));
    EXPECT_EQ(0, ::connect(far.get(), reinterpret_cast<sockaddr*>(&at), sizeof at));
    transport::Descriptor near(::accept4(listener->get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    EXPECT_TRUE(near);
    return {std::move(near), std::move(far)};
}

// Has the other end acknowledged all that was sent? Left to itself, the kernel does so after some 40 ms, where answers
// have taken acknowledgements along before.
inline bool is_acknowledged(int fd) {
    int left = 1;
    for (int i = 0; i < 20; ++i) {
        EXPECT_EQ(0, ::ioctl(fd, SIOCOUTQ, &left));
        if (left == 0) return true;
        ::usleep(1000);
    }
    return false;
}

inline std::vector<uint8_t> frame_bytes(common::FrameHeader header, const std::vector<uint8_t>& payload) {
    header.payload = static_cast<uint32_t>(payload.size());
    std::vector<uint8_t> out(common::kFrameHeaderSize);
    build_frame_header(header, out.data());
    out.insert(out.end(), payload.begin(), payload.end());
    return out;
}

inline std::vector<uint8_t> bytes_of(std::string_view text) {
    return {text.begin(), text.end()};
}
inline std::string text_of(common::Bytes bytes) {
    return {bytes.begin(), bytes.end()};
}

// All of it, waiting where the socket is full.
inline void write_all(int fd, const std::vector<uint8_t>& bytes) {
    size_t done = 0;
    while (done < bytes.size()) {
        const ssize_t n = ::send(fd, bytes.data() + done, bytes.size() - done, MSG_NOSIGNAL);
        if (n > 0) {
            done += static_cast<size_t>(n);
            continue;
        }
        ASSERT_EQ(EAGAIN, errno);
        pollfd p{fd, POLLOUT, 0};
        ::poll(&p, 1, -1);
    }
}

// Exactly n bytes, or fewer at the end of the stream.
inline std::vector<uint8_t> read_exactly(int fd, size_t n) {
    std::vector<uint8_t> out(n);
    size_t done = 0;
    while (done < n) {
        const ssize_t got = ::recv(fd, out.data() + done, n - done, 0);
        if (got > 0) {
            done += static_cast<size_t>(got);
            continue;
        }
        if (got == 0 || (errno != EAGAIN && errno != EINTR)) break;
        pollfd p{fd, POLLIN, 0};
        ::poll(&p, 1, -1);
    }
    out.resize(done);
    return out;
}

inline common::Frame read_frame(int fd) {
    const auto head = read_exactly(fd, common::kFrameHeaderSize);
    auto header = common::parse_frame_header(head, common::kMaxFramePayload);
    EXPECT_TRUE(header.ok());
    if (!header) return {};
    return {*header, read_exactly(fd, header->payload)};
}

inline size_t open_descriptors() {
    size_t n = 0;
    DIR* directory = ::opendir("/proc/self/fd");
    while (::readdir(directory) != nullptr) ++n;
    ::closedir(directory);
    return n - 3;  // "." and ".." and the directory's own
}

// Fails the test that leaves a descriptor behind.
class DescriptorCheck {
  public:
    DescriptorCheck() : before_(open_descriptors()) {}
    ~DescriptorCheck() { EXPECT_EQ(before_, open_descriptors()) << "descriptors leaked"; }

  private:
    size_t before_;
};

}  // namespace pmix::test

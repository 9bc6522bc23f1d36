// SPDX-License-Identifier: BSD-3-Clause
// What the tests of a connection share: a connection on a loop that the test runs, and the raw socket at its other
// end.
#pragma once

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
#include "transport/connection.h"
#include "transport/send_queue.h"

namespace pmix::transport {

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

inline FrameHeader with_payload(FrameHeader header, size_t n, size_t descriptors = 0) {
    header.payload = static_cast<uint32_t>(n);
    header.descriptors = static_cast<uint8_t>(descriptors);
    return header;
}

}  // namespace pmix::transport

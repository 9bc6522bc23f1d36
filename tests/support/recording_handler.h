// SPDX-License-Identifier: BSD-3-Clause
// A ConnectionHandler that records what is delivered to it, and a loop that a test runs itself.
#pragma once

#include <atomic>
#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

#include "support/long_wait.h"
#include "support/sockets.h"
#include "transport/connection.h"
#include "transport/event_loop.h"

namespace pmix::test {

struct Heard {
    common::FrameHeader header;
    std::string payload;
    size_t descriptors = 0;
    bool operator==(const Heard&) const = default;
};

class RecordingHandler : public transport::ConnectionHandler {
  public:
    virtual ~RecordingHandler() = default;
    void on_frame(transport::ReceivedFrame frame) override {
        heard.push_back({frame.header, text_of(frame.payload), frame.descriptors.size()});
        for (auto& d : frame.descriptors) descriptors.push_back(std::move(d));
        if (then) then(heard.back());
    }
    void on_closed(pmix_status_t why) override {
        closed.push_back(why);
        if (then_closed) then_closed();
    }

    std::vector<Heard> heard;
    std::vector<transport::Descriptor> descriptors;
    std::vector<pmix_status_t> closed;
    std::function<void(const Heard&)> then;
    std::function<void()> then_closed;
};

// One loop, one connection on it, the other end raw. Turned by the test's own thread.
class ManualLoop {
  public:
    explicit ManualLoop(const transport::Io* io = &transport::kRealIo) {
        transport::EventLoopOptions options;
        options.drive = transport::Drive::caller;
        options.io = io;
        auto made = transport::EventLoop::create(options);
        EXPECT_TRUE(made.ok());
        loop = std::move(*made);
    }
    // Runs the loop until done() is true; a test in which it never is fails after a minute.
    template <class F>
    void turn_until(F&& done) {
        const LongWait wait;
        while (!done()) {
            if (wait.over()) throw std::runtime_error("what the test waits for has not happened");
            loop->progress();
        }
    }
    void run(int times = 4) {
        for (int i = 0; i < times; ++i) loop->progress();
    }
    std::unique_ptr<transport::EventLoop> loop;
};

}  // namespace pmix::test

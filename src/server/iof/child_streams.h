// SPDX-License-Identifier: BSD-3-Clause
// The standard streams of a child that are forwarded: its output to those who have asked for it (iof), its input from
// those who push.
//
// Each owns this process's end of one pipe. Loop thread only. Output is read one buffer at a time, the next when the
// last was taken over, so that a slow reader blocks only the child and nothing piles up here; what is left in the pipe
// when the child ends is read at once. What can go wrong: a child that has closed its input (PMIX_ERR_IOF_COMPLETE for
// the sender), input that it does not read while more is pushed (PMIX_ERR_OUT_OF_RESOURCE beyond the limit).
#pragma once

#include <pmix_common.h>

#include <deque>
#include <memory>
#include <vector>

#include "common/base/callback.h"
#include "common/base/ids.h"
#include "common/base/status.h"
#include "server/iof/iof.h"
#include "transport/descriptor.h"
#include "transport/event_loop.h"

namespace pmix::server {

// A pipe's ends, close-on-exec and above the standard streams' numbers.
struct PipeEnds {
    transport::Descriptor read, write;
};
common::Result<PipeEnds> make_pipe() noexcept;
// /dev/null, likewise.
common::Result<transport::Descriptor> open_nothing() noexcept;

class ChildOutput final : private transport::WatchHandler {
  public:
    ChildOutput(Iof& iof, common::ProcId source, pmix_iof_channel_t channel)
        : iof_(iof), source_(std::move(source)), channel_(channel) {}
    ~ChildOutput();
    ChildOutput(const ChildOutput&) = delete;
    ChildOutput& operator=(const ChildOutput&) = delete;

    // The end that the child gets.
    common::Result<transport::Descriptor> open() noexcept;
    // Reads from now on. The child's end is the child's alone by then.
    void start(transport::EventLoop& loop);
    // The child has ended: what it has written, and then the end of the stream.
    void finish();

  private:
    void on_ready(bool readable, bool writable) noexcept override;
    // False: there is nothing now, or nothing more.
    bool read();
    void deliver(common::Blob bytes);
    void end();

    Iof& iof_;
    const common::ProcId source_;
    const pmix_iof_channel_t channel_;
    transport::Descriptor fd_;
    std::unique_ptr<transport::Watch> watch_;
    bool finishing_ = false;
    std::shared_ptr<ChildOutput*> alive_ = std::make_shared<ChildOutput*>(this);  // null once this has gone
};

class ChildInput final : private transport::WatchHandler {
  public:
    using Done = common::Callback<void(pmix_status_t)>;
    ChildInput() = default;
    ~ChildInput();
    ChildInput(const ChildInput&) = delete;
    ChildInput& operator=(const ChildInput&) = delete;

    common::Result<transport::Descriptor> open() noexcept;
    void start(transport::EventLoop& loop);
    // No bytes: the end. done: once, when the bytes are the child's, or when it does not take them.
    void push(std::vector<uint8_t> bytes, Done done);

  private:
    struct Buffer {
        std::vector<uint8_t> bytes;
        size_t written = 0;
        Done done;
    };
    void on_ready(bool readable, bool writable) noexcept override;
    void write();
    void close(pmix_status_t why);

    transport::Descriptor fd_;
    std::unique_ptr<transport::Watch> watch_;
    std::deque<Buffer> buffers_;
    size_t waiting_ = 0;
    bool ending_ = false;
};

}  // namespace pmix::server

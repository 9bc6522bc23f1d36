// SPDX-License-Identifier: BSD-3-Clause
// This process's own stdout and stderr as a place for forwarded output, without ever waiting for their reader.
//
// Loop thread. The descriptors are shared with the parent process, so they are never made non-blocking: poll
// reports when a little can be written without waiting, and only that little is written. Regular files and devices take
// everything. What is not written yet is bounded by the readers' windows: written() is told as it goes out.
//
// What can go wrong: nobody reads any more: the rest is dropped, and written() is told all the same. That raises no
// SIGPIPE, also where a thread of the application's runs this (drain() in its finalize, a loop that the application
// drives).
#pragma once

#include <pmix_common.h>

#include <deque>
#include <functional>
#include <memory>
#include <string>

#include "transport/event_loop.h"

namespace pmix::client {

class IofConsole {
  public:
    using Written = std::function<void(uint64_t reference, size_t cost)>;
    IofConsole(transport::EventLoop& loop, Written written);
    ~IofConsole();
    IofConsole(const IofConsole&) = delete;
    IofConsole& operator=(const IofConsole&) = delete;

    // To stdout for PMIX_FWD_STDOUT_CHANNEL, to stderr for every other channel.
    void write(pmix_iof_channel_t channel, std::string bytes, uint64_t reference, size_t cost);
    // The end of the process's use of us: waits until all is written, or ms milliseconds.
    void drain(int ms) noexcept;

  private:
    struct Output;
    std::unique_ptr<Output> outputs_[2];
};

}  // namespace pmix::client

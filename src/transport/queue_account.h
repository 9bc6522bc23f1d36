// SPDX-License-Identifier: BSD-3-Clause
// Whose memory a connection's unsent bytes are: asked before a frame is queued, told when it has gone.
//
// Any thread, under the connection's send lock: an implementation must be quick and take no lock that is held while
// something is sent.
#pragma once

#include <cstddef>

namespace pmix::transport {

class QueueAccount {
  public:
    // False: there is no room, and nothing was taken.
    [[nodiscard]] virtual bool take(size_t bytes) noexcept = 0;
    // Takes the bytes even where there is no room for them.
    virtual void overdraw(size_t bytes) noexcept = 0;
    virtual void give_back(size_t bytes) noexcept = 0;

  protected:
    ~QueueAccount() = default;
};

}  // namespace pmix::transport

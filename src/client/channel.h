// The seam between a client and its server: send this frame, tell me what comes back.
//
// Two exist: SocketChannel (client/socket_channel) over a connection, and Loopback (api/loopback) for a process that is
// its own server. Nothing above this line knows which one it has. send() and connected() may be called from any thread;
// the sink is called on the loop thread only, and never on the stack of a send().
//
// What can go wrong: a lost server ends in exactly one on_lost(); after it send() answers PMIX_ERR_UNREACH.
#pragma once

#include <cstdint>
#include <string_view>
#include <utility>

#include <unistd.h>

#include "common/frame.h"
#include "common/status.h"

namespace pmix::client {

// A descriptor on its way to whoever maps it: closed when nobody takes it.
class Descriptor {
  public:
    Descriptor() = default;
    explicit Descriptor(int fd) noexcept : fd_(fd) {}
    Descriptor(Descriptor&& o) noexcept : fd_(std::exchange(o.fd_, -1)) {}
    Descriptor& operator=(Descriptor&& o) noexcept {
        if (this != &o) {
            reset();
            fd_ = std::exchange(o.fd_, -1);
        }
        return *this;
    }
    Descriptor(const Descriptor&) = delete;
    Descriptor& operator=(const Descriptor&) = delete;
    ~Descriptor() { reset(); }

    int get() const noexcept { return fd_; }
    bool valid() const noexcept { return fd_ >= 0; }
    int release() noexcept { return std::exchange(fd_, -1); }
    void reset() noexcept {
        if (fd_ >= 0) ::close(std::exchange(fd_, -1));
    }

  private:
    int fd_ = -1;
};

// What a client needs to map a namespace's segment.
struct SegmentGrant {
    Descriptor descriptor;
    uint64_t generation = 0;  // published when the grant was made
};

class ChannelSink {
  public:
    // A reply or an event. The descriptor is invalid unless the sender attached one.
    virtual void on_frame(common::Frame&& frame, Descriptor descriptor) = 0;
    // The server is gone; nothing follows.
    virtual void on_lost(pmix_status_t why) = 0;

  protected:
    ~ChannelSink() = default;
};

class Channel {
  public:
    virtual ~Channel() = default;

    // Takes the frame over whole or not at all. Order of sends is the order of arrival.
    virtual pmix_status_t send(common::Frame&& frame) = 0;

    // The segment of a namespace without a wait, where that can be done (a server that asks itself, on its loop
    // thread). PMIX_ERR_WOULD_BLOCK: ask by frame. PMIX_ERR_NOT_FOUND: there is none.
    virtual common::Result<SegmentGrant> attach(std::string_view nspace) {
        (void)nspace;
        return PMIX_ERR_WOULD_BLOCK;
    }

    virtual bool connected() const noexcept = 0;

    // From here on nothing reaches the sink. Loop thread, or after the loop has stopped.
    virtual void close() noexcept = 0;
};

}  // namespace pmix::client

// SPDX-License-Identifier: BSD-3-Clause
// OpenPMIx's messages over one connected TCP socket: as a server has it, the connect message, then framed messages; as
// a client has it after its handshake, the latter only.
//
// Owned through shared_ptr by its opener, which calls close() before dropping it. Loop thread only: nothing is sent
// from other threads, so nothing is locked. What the socket does not take is queued, charged to an account.
//
// Releases before 7.0 lose a header that reaches them in two parts, and hang. A message is begun only when all that
// was written before has been sent: its header is then the start of a segment and reaches them whole. One that the
// socket has taken in part is finished first.
//
// What can go wrong: the other end closes, sends what is no such message, or does not read; no memory. Then on_closed
// is called once, never on the stack of a call of the owner's.
#pragma once

#include <memory>

#include "common/base/bytes.h"
#include "openpmix/frame.h"
#include "transport/descriptor.h"
#include "transport/event_loop.h"
#include "transport/file_identity.h"
#include "transport/queue_account.h"
#include "transport/read_buffer.h"
#include "transport/send_queue.h"

namespace pmix::openpmix {

class StreamHandler {
  public:
    // The payload of the connect message, which is the first. Borrowed for the call, as all payloads are.
    virtual void on_connect(common::Bytes payload) REQUIRES(common::loop_thread) = 0;
    virtual void on_message(const FrameHeader& header, common::Bytes payload) REQUIRES(common::loop_thread) = 0;
    // What had to wait for the socket has all been sent.
    virtual void on_drained() REQUIRES(common::loop_thread) = 0;
    // Nothing follows. PMIX_ERR_LOST_CONNECTION, PMIX_ERR_UNPACK_FAILURE (not this protocol), PMIX_ERR_OUT_OF_RESOURCE.
    virtual void on_closed(pmix_status_t why) REQUIRES(common::loop_thread) = 0;
    // A message is on its way that is larger than the usual buffer. False: no more of it is read until resume().
    virtual bool admit_message(size_t bytes) noexcept REQUIRES(common::loop_thread) = 0;
    virtual void message_complete() noexcept REQUIRES(common::loop_thread) = 0;

  protected:
    ~StreamHandler() = default;
};

struct StreamOptions {
    size_t max_payload = size_t{256} << 20;                 // of a received message
    size_t max_queued = size_t{512} << 20;                  // beyond it the connection is closed
    std::shared_ptr<transport::QueueAccount> account = {};  // may be null
    bool connected = false;                                 // the handshake is over: messages follow
};

class Stream final : public std::enable_shared_from_this<Stream>,
                     private transport::WatchHandler,
                     private transport::RecoveryStep {
  public:
    // Begins to read; the first callback comes later.
    static common::Result<std::shared_ptr<Stream>> open(transport::EventLoop& loop, transport::Descriptor socket,
                                                        StreamHandler& handler, StreamOptions options)
        REQUIRES(common::loop_thread);
    ~Stream();

    // Bytes without a header: the answer to the connect message.
    void send_bytes(common::Bytes bytes) REQUIRES(common::loop_thread);
    void send(uint32_t tag, common::Bytes payload) REQUIRES(common::loop_thread);
    // The other end reads headers in parts, so messages need not wait for each other.
    void set_takes_split_headers() noexcept { whole_headers_ = false; }

    // From on_message(): the other end may send another message before it is answered. Nagle's algorithm, which
    // OpenPMIx leaves on, keeps a small message back until the one before it is acknowledged: by an answer that is sent
    // at once, by this, or else by a timer of some 40 ms.
    void expect_more() noexcept { more_expected_ = true; }
    // For LateAcknowledgements. False: it has not been acknowledged since it was put on the list.
    bool enlist_to_acknowledge() noexcept { return !std::exchange(enlisted_, true); }
    void acknowledge_unanswered() noexcept;

    void resume() noexcept REQUIRES(common::loop_thread);
    void close() noexcept REQUIRES(common::loop_thread);
    // What the other end has to receive cannot be sent: ends the connection, and on_closed follows.
    void fail(pmix_status_t why) noexcept REQUIRES(common::loop_thread);
    void abandon() noexcept;

    int fd() const noexcept { return socket_.get(); }
    size_t queued_bytes() const noexcept { return queue_.bytes(); }
    size_t unfinished_bytes() const noexcept { return buffer_.unread().size(); }

  private:
    Stream(transport::EventLoop& loop, transport::Descriptor socket, StreamHandler& handler, StreamOptions options);
    void on_ready(bool readable, bool writable) noexcept override;
    void on_recovery() noexcept override;
    void read() REQUIRES(common::loop_thread);
    void receive() REQUIRES(common::loop_thread);
    // False: it is over, or the message at the front has to wait.
    bool deliver() REQUIRES(common::loop_thread);
    void put(const uint8_t* header, size_t header_size, common::Bytes payload) REQUIRES(common::loop_thread);
    // Writes what is queued, as far as that goes.
    void flush() REQUIRES(common::loop_thread);
    bool may_begin() const noexcept;
    void watch() noexcept REQUIRES(common::loop_thread);
    // Tells the handler of the end.
    void finish() noexcept REQUIRES(common::loop_thread);

    transport::EventLoop& loop_;
    transport::Descriptor socket_;
    transport::FileIdentity identity_;
    StreamHandler* handler_;  // null: closed
    const StreamOptions options_;
    std::unique_ptr<transport::Watch> watch_;
    transport::ReadBuffer buffer_;
    transport::SendQueue queue_;
    bool front_begun_ = false;  // of the queue: part of it has been sent
    bool connected_ = false;    // the connect message has been received
    bool whole_headers_ = true;
    bool more_expected_ = false;  // a message that was read now may be followed by another one
    bool answered_ = false;       // something has been sent since the last bytes were received
    bool enlisted_ = false;       // to be acknowledged, if it is not answered by then
    bool held_ = false;           // a large message waits for room
    bool admitted_ = false;       // the large message at the front may be read
    bool failed_ = false;
    pmix_status_t why_ = PMIX_SUCCESS;  // it has failed
};

}  // namespace pmix::openpmix

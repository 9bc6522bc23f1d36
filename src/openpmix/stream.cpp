// SPDX-License-Identifier: BSD-3-Clause
#include "openpmix/stream.h"

#include <errno.h>
#include <sys/socket.h>

#include <new>
#include <utility>

#include "openpmix/hello.h"
#include "transport/tcp/tcp_socket.h"

namespace pmix::openpmix {

using common::Bytes;

namespace {
// Per wake-up of the loop, so that one busy peer does not keep it; the watch is level-triggered.
constexpr int kReadsPerEvent = 16;
}  // namespace

Stream::Stream(transport::EventLoop& loop, transport::Descriptor socket, StreamHandler& handler, StreamOptions options)
    : loop_(loop),
      socket_(std::move(socket)),
      identity_(socket_.get()),
      handler_(&handler),
      options_(std::move(options)),
      queue_(options_.account),
      connected_(options_.connected) {}

Stream::~Stream() {
    transport::assert_on_loop();
    close();
}

common::Result<std::shared_ptr<Stream>> Stream::open(transport::EventLoop& loop, transport::Descriptor socket,
                                                     StreamHandler& handler, StreamOptions options) {
    std::shared_ptr<Stream> stream(new Stream(loop, std::move(socket), handler, std::move(options)));
    transport::send_at_once(stream->socket_.get());
    stream->watch_ = loop.watch(stream->socket_.get(), *stream);
    if (stream->watch_ == nullptr || !stream->watch_->set(true, false)) return PMIX_ERR_OUT_OF_RESOURCE;
    return stream;
}

void Stream::close() noexcept {
    handler_ = nullptr;
    watch_.reset();
    queue_.clear();
    socket_.reset();
}

void Stream::abandon() noexcept {
    close_if(socket_, identity_);
}

// Told later: the owner may be in the middle of what has failed. Where there is no memory for a task, by the loop's
// recovery, which needs none.
void Stream::fail(pmix_status_t why) noexcept {
    if (handler_ == nullptr || std::exchange(failed_, true)) return;
    why_ = why;
    queue_.clear();
    watch_.reset();
    try {
        loop_.post([weak = weak_from_this()] {
            transport::assert_on_loop();
            if (const auto self = weak.lock()) self->finish();
        });
    } catch (const std::bad_alloc&) {
        loop_.recover_later(*this);
    }
}

void Stream::on_recovery() noexcept {
    transport::assert_on_loop();
    const auto self = shared_from_this();  // the handler may drop its own
    finish();
}

void Stream::finish() noexcept {
    watch_.reset();
    if (handler_ == nullptr) return;
    try {
        std::exchange(handler_, nullptr)->on_closed(why_);
    } catch (...) {  // no memory: the handler has lost a step
        loop_.step_lost();
    }
}

void Stream::watch() noexcept {
    if (watch_ != nullptr && !watch_->set(!held_, !queue_.empty())) fail(PMIX_ERR_OUT_OF_RESOURCE);
}

void Stream::on_ready(bool readable, bool writable) noexcept {
    transport::assert_on_loop();
    const auto self = shared_from_this();  // the handler may drop its own
    try {
        if (writable && !queue_.empty()) {
            flush();
            if (queue_.empty() && handler_ != nullptr && !failed_) handler_->on_drained();
        }
        if (readable && handler_ != nullptr && !failed_ && !held_) read();
    } catch (const std::bad_alloc&) {
        // A message is lost, so the other end must know.
        loop_.step_lost();
        fail(PMIX_ERR_OUT_OF_RESOURCE);
    }
}

// ---- in ----

void Stream::read() {
    answered_ = true;  // nothing has been received yet
    more_expected_ = false;
    buffer_.borrow(loop_.spare_read_memory());
    receive();
    buffer_.give_back(loop_.spare_read_memory());
    if (more_expected_ && !answered_ && socket_) transport::acknowledge_now(socket_.get());
}

void Stream::acknowledge_unanswered() noexcept {
    enlisted_ = false;
    if (!answered_ && socket_) transport::acknowledge_now(socket_.get());
}

void Stream::receive() {
    for (int i = 0; i < kReadsPerEvent; ++i) {
        const Bytes unread = buffer_.unread();
        size_t wanted = kHeaderSize;
        FrameHeader header;
        size_t connect = 0;
        if (unread.size() >= kHeaderSize) {
            const bool known = connected_ ? parse_header(unread.data(), &header) == PMIX_SUCCESS
                                          : read_connect_header(unread.first(kHeaderSize), &connect) == PMIX_SUCCESS;
            if (known) wanted += connected_ ? header.payload : connect;
        }
        const auto space = buffer_.space(wanted);
        iovec part{space.data, space.size};
        msghdr message{};
        message.msg_iov = &part;
        message.msg_iovlen = 1;
        const ssize_t n = loop_.io().recvmsg(socket_.get(), &message, MSG_DONTWAIT);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return;
        if (n <= 0) return fail(PMIX_ERR_LOST_CONNECTION);
        answered_ = false;
        buffer_.filled(static_cast<size_t>(n));
        if (!deliver()) return;
        if (static_cast<size_t>(n) < space.size) return;  // nothing more for now
    }
}

bool Stream::deliver() {
    for (;;) {
        const Bytes unread = buffer_.unread();
        if (unread.size() < kHeaderSize) return true;
        FrameHeader header;
        size_t payload = 0;
        pmix_status_t rc;
        if (connected_) {
            rc = parse_header(unread.data(), &header);
            payload = header.payload;
        } else {
            rc = read_connect_header(unread.first(kHeaderSize), &payload);
        }
        if (rc == PMIX_SUCCESS && payload > options_.max_payload) rc = PMIX_ERR_OUT_OF_RESOURCE;
        if (rc != PMIX_SUCCESS) {
            fail(rc);
            return false;
        }
        const size_t whole = kHeaderSize + payload;
        const bool large = connected_ && whole > transport::ReadBuffer::kUsual;
        if (large && !admitted_) {
            admitted_ = handler_->admit_message(whole);
            if (handler_ == nullptr || failed_) return false;
            if (!admitted_) {
                held_ = true;
                watch();
                return false;
            }
        }
        if (unread.size() < whole) return true;
        const Bytes content = unread.subspan(kHeaderSize, payload);
        if (!std::exchange(connected_, true)) {
            handler_->on_connect(content);
        } else {
            handler_->on_message(header, content);
        }
        if (handler_ == nullptr || failed_) return false;
        buffer_.consume(whole);
        if (large) {
            admitted_ = false;
            handler_->message_complete();
            if (handler_ == nullptr || failed_) return false;
        }
    }
}

void Stream::resume() noexcept {
    if (!held_) return;
    held_ = false;
    admitted_ = true;
    watch();
}

// ---- out ----

bool Stream::may_begin() const noexcept {
    return !whole_headers_ || transport::unsent_bytes(socket_.get()) == 0;
}

void Stream::send_bytes(Bytes bytes) {
    put(nullptr, 0, bytes);
}

void Stream::send(uint32_t tag, Bytes payload) {
    uint8_t header[kHeaderSize];
    build_header({0, tag, static_cast<uint32_t>(payload.size())}, header);
    put(header, sizeof header, payload);
}

void Stream::put(const uint8_t* header, size_t header_size, Bytes payload) {
    if (handler_ == nullptr || failed_) return;
    const iovec parts[2] = {{const_cast<uint8_t*>(header), header_size},
                            {const_cast<uint8_t*>(payload.data()), payload.size()}};
    const size_t size = header_size + payload.size();
    size_t sent = 0;
    if (queue_.empty() && may_begin()) {
        msghdr message{};
        message.msg_iov = const_cast<iovec*>(parts);
        message.msg_iovlen = 2;
        const ssize_t n = loop_.io().sendmsg(socket_.get(), &message, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (n < 0 && errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR) return fail(PMIX_ERR_LOST_CONNECTION);
        if (n > 0) sent = static_cast<size_t>(n);
        answered_ = answered_ || n > 0;
        if (sent == size) return;
        front_begun_ = sent != 0;
    }
    bool queued = false;
    try {
        queued = queue_.bytes() <= options_.max_queued && queue_.push(parts, size, sent, {});
    } catch (const std::bad_alloc&) {  // as where the queue is full
    }
    // Half a message may be out: nothing may follow it.
    if (!queued) return fail(PMIX_ERR_OUT_OF_RESOURCE);
    watch();
}

void Stream::flush() {
    while (!queue_.empty() && (front_begun_ || may_begin())) {
        transport::SendQueue::Batch batch;
        queue_.next(batch);
        const size_t front = batch.parts[0].iov_len;
        msghdr message{};
        message.msg_iov = batch.parts;
        message.msg_iovlen = whole_headers_ ? 1 : static_cast<size_t>(batch.count);
        const ssize_t n = loop_.io().sendmsg(socket_.get(), &message, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) break;
        if (n < 0) return fail(PMIX_ERR_LOST_CONNECTION);
        const auto sent = static_cast<size_t>(n);
        // Several are sent together only where it does not matter which of them is begun.
        front_begun_ = whole_headers_ && sent < front;
        queue_.consume(sent);
    }
    if (queue_.empty()) front_begun_ = false;
    watch();
}

}  // namespace pmix::openpmix

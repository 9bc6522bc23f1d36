// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/loopback.h"

#include <fcntl.h>

#include <algorithm>
#include <new>
#include <string>
#include <utility>

namespace pmix::api {

using common::Bytes;
using common::FrameHeader;
using transport::Descriptor;

Loopback::Loopback(transport::EventLoop& loop, server::Server& server, transport::ConnectionHandler& sink)
    : loop_(loop), server_(server), sink_(sink), open_(std::make_shared<std::atomic<bool>>(true)) {
    server_.self_peer().set_sink([this](const FrameHeader& header, Bytes payload, std::span<const int> borrowed) {
        from_server(header, payload, borrowed);
    });
}

Loopback::~Loopback() {
    open_->store(false, std::memory_order_release);
}

pmix_status_t Loopback::send(const FrameHeader& header, Bytes payload) {
    if (!connected()) return PMIX_ERR_UNREACH;
    transport::Task task = [this, open = open_, frame = common::Frame{header, {payload.begin(), payload.end()}}] {
        if (!open->load(std::memory_order_acquire)) return;
        server_.on_frame(server_.self_peer(), frame.header, frame.payload);
    };
    const bool asks = header.kind == common::FrameKind::request;
    common::MutexLock lock(mutex_);
    if (const size_t places = lost_.size() + unanswered_ + 1; asks && places > lost_.capacity())
        lost_.reserve(std::max(places, 2 * lost_.capacity()));
    loop_.post(std::move(task));
    if (asks) ++unanswered_;
    return PMIX_SUCCESS;
}

pmix_status_t Loopback::send_and_wait(const FrameHeader& header, Bytes payload, transport::Waiter& waiter,
                                      transport::Deadline deadline) {
    WIREUP_RETURN_IF_ERROR(send(header, payload));
    return loop_.wait(waiter, deadline) ? PMIX_SUCCESS : PMIX_ERR_TIMEOUT;
}

void Loopback::from_server(const FrameHeader& header, Bytes payload, std::span<const int> borrowed) {
    if (!connected()) return;
    if (header.kind != common::FrameKind::reply) return hand_over(header, payload, borrowed);
    {
        common::MutexLock lock(mutex_);
        if (unanswered_ != 0) --unanswered_;
    }
    try {
        hand_over(header, payload, borrowed);
    } catch (const std::bad_alloc&) {
        transport::assert_on_loop();
        common::MutexLock lock(mutex_);
        lost_.push_back(FrameHeader::reply(header.command, header.id, PMIX_ERR_NOMEM));
        loop_.recover_later(*this);
    }
}

// One at a time: the callback that it calls may end all this.
void Loopback::on_recovery() noexcept {
    transport::assert_on_loop();
    FrameHeader header;
    {
        common::MutexLock lock(mutex_);
        header = lost_.front();
        lost_.erase(lost_.begin());
        if (!lost_.empty()) loop_.recover_later(*this);
    }
    if (!connected()) return;
    transport::EventLoop& loop = loop_;
    try {
        sink_.on_frame({header, {}, {}});
    } catch (const std::bad_alloc&) {
        loop.step_lost();
    }
}

void Loopback::hand_over(const FrameHeader& header, Bytes payload, std::span<const int> borrowed) {
    transport::ReceivedFrame frame{header, payload, {}};
    for (const int fd : borrowed) frame.descriptors.emplace_back(::fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1));
    if (sink_.take_anywhere(frame)) return;
    loop_.post([this, open = open_, owned = frame.copy(), descriptors = std::move(frame.descriptors)]() mutable {
        transport::assert_on_loop();
        if (!open->load(std::memory_order_acquire)) return;
        sink_.on_frame(transport::ReceivedFrame{owned.header, owned.payload, std::move(descriptors)});
    });
}

common::Result<client::SegmentGrant> Loopback::attach_on_loop(std::string_view nspace) {
    auto grant = server_.borrow_segment(server_.self_peer(), nspace);
    if (!grant) return grant.status();
    Descriptor own(::fcntl(grant->descriptor, F_DUPFD_CLOEXEC, STDERR_FILENO + 1));
    if (!own) return PMIX_ERR_OUT_OF_RESOURCE;
    return client::SegmentGrant{std::move(own), grant->instance, grant->generation};
}

common::Result<client::SegmentGrant> Loopback::attach(std::string_view nspace, transport::Deadline deadline) {
    if (!connected()) return PMIX_ERR_UNREACH;
    if (loop_.on_loop_thread()) return attach_on_loop(nspace);
    // Theirs together: who asks may have given up when the loop comes to it.
    struct Question {
        std::string nspace;
        common::Result<client::SegmentGrant> grant = PMIX_ERR_NOMEM;
        transport::Waiter done;
    };
    const auto question = std::make_shared<Question>();
    question->nspace = nspace;
    loop_.post([this, open = open_, question] {
        try {
            question->grant = PMIX_ERR_UNREACH;
            if (open->load(std::memory_order_acquire)) question->grant = attach_on_loop(question->nspace);
        } catch (const std::bad_alloc&) {
            question->grant = PMIX_ERR_NOMEM;
        }
        question->done.complete();
    });
    if (!loop_.wait(question->done, deadline)) return PMIX_ERR_TIMEOUT;
    return std::move(question->grant);
}

void Loopback::close() noexcept {
    open_->store(false, std::memory_order_release);
    server_.self_peer().set_sink(nullptr);
}

}  // namespace pmix::api

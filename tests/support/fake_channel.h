// SPDX-License-Identifier: BSD-3-Clause
// A Channel without a server: what was sent can be looked at, and the test plays the server's part by hand.
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <deque>
#include <functional>
#include <utility>
#include <vector>

#include "client/session/channel.h"
#include "common/base/mutex.h"
#include "common/protocol/messages.h"
#include "support/long_wait.h"
#include "transport/event_loop.h"

namespace pmix::test {

class FakeChannel final : public client::Channel {
  public:
    FakeChannel(transport::EventLoop& loop, transport::ConnectionHandler& sink) : loop_(loop), sink_(sink) {}

    // Runs for each frame, on the sender's thread, after the frame was recorded. May answer().
    std::function<void(const common::Frame&)> on_send;
    // Runs before a frame is recorded; anything but success is send()'s answer, and the frame is lost.
    std::function<pmix_status_t(const common::Frame&)> before_send;
    std::atomic<bool> open{true};
    bool another_users = false;
    bool no_call_without_a_limit = false;  // then one is a failure at once
    std::atomic<int> queue_waits{0};
    std::function<void()> on_wait_for_room;  // not from within itself
    std::function<void()> on_look;
    pmix_status_t queue_status = PMIX_SUCCESS;  // what wait_for_room() answers

    pmix_status_t send(const common::FrameHeader& header, common::Bytes payload) override {
        if (!open) return PMIX_ERR_UNREACH;
        common::Frame frame{header, {payload.begin(), payload.end()}};
        if (const pmix_status_t rc = before_send ? before_send(frame) : PMIX_SUCCESS; rc != PMIX_SUCCESS) return rc;
        {
            common::MutexLock lock(mutex_);
            sent_.push_back(frame);
        }
        if (on_send) on_send(frame);
        return PMIX_SUCCESS;
    }
    pmix_status_t send_and_wait(const common::FrameHeader& header, common::Bytes payload, transport::Waiter& waiter,
                                transport::Deadline deadline) override {
        const pmix_status_t rc = send(header, payload);
        if (rc != PMIX_SUCCESS) return rc;
        // A call without a limit whose answer is missing fails the test, and the test goes on.
        const LongWait most;
        if (deadline.is_never() && no_call_without_a_limit) {
            ADD_FAILURE() << "the call waits without a limit";
            return PMIX_ERROR;
        }
        if (loop_.wait(waiter, deadline.ns() < most.deadline().ns() ? deadline : most.deadline())) return PMIX_SUCCESS;
        EXPECT_TRUE(!most.over()) << "nothing has ended the call";
        return PMIX_ERR_TIMEOUT;
    }
    pmix_status_t wait_for_room(transport::Deadline) override {
        ++queue_waits;
        if (auto now = std::exchange(on_wait_for_room, nullptr)) {
            now();
            if (!on_wait_for_room) on_wait_for_room = std::move(now);
        }
        return queue_status;
    }
    bool serves_root_for_another() const noexcept override { return another_users; }
    bool connected() const noexcept override { return open; }
    void look() noexcept override {
        if (on_look) on_look();
    }
    void close() noexcept override { open = false; }

    // The server's answer, from the loop.
    template <class Message>
    void answer(const common::Frame& request, pmix_status_t status, const Message& message) {
        auto payload = common::message_bytes(message);
        deliver(common::FrameHeader::reply(request.header.command, request.header.id, status),
                std::move(payload).value());
    }
    void notify(const common::EventNotify& event) {
        auto payload = common::message_bytes(event);
        deliver(common::FrameHeader::notify(static_cast<uint16_t>(common::Command::event)), std::move(payload).value());
    }
    void notify(const common::CommitRefusedNotify& refused) {
        auto payload = common::message_bytes(refused);
        deliver(common::FrameHeader::notify(static_cast<uint16_t>(common::Command::commit_refused)),
                std::move(payload).value());
    }
    void notify(const common::IofNotify& output) {
        auto payload = common::message_bytes(output);
        deliver(common::FrameHeader::notify(static_cast<uint16_t>(common::Command::iof)), std::move(payload).value());
    }
    void lose(pmix_status_t why = PMIX_ERR_LOST_CONNECTION) {
        open = false;
        loop_.post([this, why] {
            transport::assert_on_loop();
            sink_.on_closed(why);
        });
    }

    std::vector<common::Frame> sent() {
        common::MutexLock lock(mutex_);
        return sent_;
    }
    template <class Message>
    static Message decoded(const common::Frame& frame) {
        Message message;
        common::decode_message(frame.payload, message);
        return message;
    }

  private:
    void deliver(common::FrameHeader header, common::Blob payload) {
        header.payload = static_cast<uint32_t>(payload.size());
        loop_.post([this, header, payload = std::move(payload)] {
            transport::assert_on_loop();
            transport::ReceivedFrame frame{header, payload, {}};
            if (!sink_.take_anywhere(frame)) sink_.on_frame(std::move(frame));
        });
    }

    transport::EventLoop& loop_;
    transport::ConnectionHandler& sink_;
    common::Mutex mutex_;
    std::vector<common::Frame> sent_;
};

}  // namespace pmix::test

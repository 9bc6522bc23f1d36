// SPDX-License-Identifier: BSD-3-Clause
// The Channel of a process whose server speaks OpenPMIx's protocol: frames go in and come out as from a server of this
// library's own, and a translator stands between them and the TCP connection.
//
// send() and wait_for_room() from any thread; all else happens on the loop, where the stream and the translator live. A
// caller that waits is woken by the loop, or runs it meanwhile where nothing else has needed its thread. What a server
// does not read is bounded: no frame is translated while more than max_queued bytes wait in the stream, and none is
// taken while twice as much waits in all.
//
// What can go wrong: a lost server, or one whose bytes are no messages, ends in one on_closed(); after it send()
// answers PMIX_ERR_UNREACH. A server that does not read: PMIX_ERR_OUT_OF_RESOURCE, and nothing was sent.
#pragma once

#include <atomic>
#include <deque>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "client/openpmix/greeting.h"
#include "client/openpmix/translator.h"
#include "client/session/channel.h"
#include "common/base/mutex.h"
#include "openpmix/stream.h"
#include "openpmix/tellable.h"
#include "transport/event_loop.h"

namespace pmix::client {

class OpenPmixChannel final : public Channel, private openpmix::StreamHandler, private OpenPmixExchange::Ends {
  public:
    // sink hears what comes back, and outlives the channel.
    static common::Result<std::unique_ptr<OpenPmixChannel>> open(
        transport::EventLoop& loop, transport::Descriptor socket, std::unique_ptr<Shadow> shadow, common::ProcId self,
        const openpmix::Traits& traits, transport::ConnectionHandler& sink, size_t max_queued = common::kMaxQueuedBytes)
        REQUIRES(common::loop_thread);
    ~OpenPmixChannel() override;
    // Before anything is sent.
    void set_is_tool() noexcept { translator_->set_is_tool(); }

    pmix_status_t send(const common::FrameHeader& header, common::Bytes payload) override;
    pmix_status_t send_and_wait(const common::FrameHeader& header, common::Bytes payload, transport::Waiter& waiter,
                                transport::Deadline deadline) override;
    pmix_status_t wait_for_room(transport::Deadline deadline) override;
    bool read_pending() noexcept override;
    bool connected() const noexcept override { return outbox_->is_open(); }
    bool may_be_old(std::string_view nspace, common::Rank rank) const noexcept override {
        return freshness_->may_be_old(nspace, rank);
    }
    bool takes(const pmix_value_t& value) const override { return openpmix::is_tellable(traits_, value); }
    // Servers of 5.0 keep a tool's output request until its finalize has come. Where the process ends first, the record
    // of the tool goes with the process, and they use it once more.
    bool awaits_finalize() const noexcept override { return true; }
    void close() noexcept override;
    void abandon() noexcept override;

  private:
    // Frames for the server, in order. Shared with what is posted and with callers that wait: they may find the channel
    // gone.
    class Outbox {
      public:
        explicit Outbox(size_t most) noexcept : max_queued(most) {}

        // Any thread.
        bool is_open() const noexcept { return open_.load(std::memory_order_acquire); }
        // The frame's number is that of all frames so far, from one on. PMIX_ERR_OUT_OF_RESOURCE: twice max_queued
        // waits already. May throw; then the frame is not here.
        common::Result<uint64_t> push(common::Frame&& frame);
        // False: it is not here any more, for it has been taken.
        bool withdraw(uint64_t number) noexcept;
        // The waiter is completed when there is room, or at the end. False: there is room, or it is over.
        bool wait(transport::Waiter& waiter);
        // False: it has been completed.
        bool stop_waiting(transport::Waiter& waiter) noexcept;

        // Loop.
        // The first frame, if its number is at most that one.
        std::optional<common::Frame> pop(uint64_t last) noexcept;
        // So much is in the stream's queue. Wakes the callers that wait, if there is space again.
        void note_stream(size_t bytes) noexcept;
        // Nothing is taken any more, and nobody waits.
        void end() noexcept;

        const size_t max_queued;

      private:
        void release_waiters() noexcept REQUIRES(mutex_);

        std::atomic<bool> open_{true};
        mutable common::Mutex mutex_;
        struct Numbered {
            uint64_t number;
            common::Frame frame;
        };
        std::deque<Numbered> frames_ GUARDED_BY(mutex_);
        uint64_t pushed_ GUARDED_BY(mutex_) = 0;
        size_t bytes_ GUARDED_BY(mutex_) = 0;      // of frames_
        size_t in_stream_ GUARDED_BY(mutex_) = 0;  // as it was last seen
        std::vector<transport::Waiter*> waiters_ GUARDED_BY(mutex_);
    };
    OpenPmixChannel(transport::EventLoop& loop, transport::ConnectionHandler& sink, const openpmix::Traits& traits,
                    size_t max_queued, std::shared_ptr<const Freshness> freshness)
        : loop_(loop),
          sink_(sink),
          traits_(traits),
          outbox_(std::make_shared<Outbox>(max_queued)),
          freshness_(std::move(freshness)) {}
    pmix_status_t send(const common::FrameHeader& header, common::Bytes payload, transport::Waiter* waiter,
                       transport::Deadline deadline);
    // The frames up to that number, while the stream has room.
    void translate_pending(uint64_t last) REQUIRES(common::loop_thread);
    void translate(const common::Frame& frame) REQUIRES(common::loop_thread);

    // StreamHandler
    void on_connect(common::Bytes) override {}
    void on_message(const openpmix::FrameHeader& header, common::Bytes payload) override;
    void on_drained() override;
    void on_closed(pmix_status_t why) override;
    bool admit_message(size_t) noexcept override { return true; }
    void message_complete() noexcept override {}

    // OpenPmixExchange::Ends
    void send_message(uint32_t tag, common::Bytes payload) override;
    void deliver_frame(const common::FrameHeader& header, common::Bytes payload,
                       std::vector<transport::Descriptor>&& descriptors) override;

    transport::EventLoop& loop_;
    transport::ConnectionHandler& sink_;
    const openpmix::Traits traits_;
    const std::shared_ptr<Outbox> outbox_;
    const std::shared_ptr<const Freshness> freshness_;
    std::shared_ptr<openpmix::Stream> stream_;
    std::unique_ptr<OpenPmixTranslator> translator_;
    bool closing_ = false;  // nothing reaches the handler any more
};

}  // namespace pmix::client

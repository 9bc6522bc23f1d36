// SPDX-License-Identifier: BSD-3-Clause
// The Channel of a process whose server speaks OpenPMIx's protocol: frames go in and come out as from a server of this
// library's own, and a translator stands between them and the TCP connection.
//
// send() from any thread; all else happens on the loop, where the stream and the translator live. A caller that waits
// is woken by the loop. What can go wrong: a lost server, or one whose bytes are no messages, ends in one on_closed();
// after it send() answers PMIX_ERR_UNREACH.
#pragma once

#include <atomic>
#include <memory>

#include "client/openpmix/greeting.h"
#include "client/openpmix/translator.h"
#include "client/session/channel.h"
#include "openpmix/stream.h"
#include "transport/event_loop.h"

namespace pmix::client {

class OpenPmixChannel final : public Channel, private openpmix::StreamHandler, private OpenPmixExchange::Ends {
  public:
    // sink hears what comes back, and outlives the channel.
    static common::Result<std::unique_ptr<OpenPmixChannel>> open(
        transport::EventLoop& loop, transport::Descriptor socket, std::unique_ptr<Shadow> shadow, common::ProcId self,
        const openpmix::Traits& traits, transport::ConnectionHandler& sink) REQUIRES(common::loop_thread);
    ~OpenPmixChannel() override;

    pmix_status_t send(const common::FrameHeader& header, common::Bytes payload) override;
    pmix_status_t send_and_wait(const common::FrameHeader& header, common::Bytes payload, transport::Waiter& waiter,
                                transport::Deadline deadline) override;
    bool connected() const noexcept override { return state_->open.load(std::memory_order_acquire); }
    void close() noexcept override;
    void abandon() noexcept override;

  private:
    // Shared with what is posted: a frame under way when the channel goes finds it closed.
    struct State {
        std::atomic<bool> open{true};
    };
    OpenPmixChannel(transport::EventLoop& loop, transport::ConnectionHandler& sink)
        : loop_(loop), sink_(sink), state_(std::make_shared<State>()) {}
    void translate(const common::Frame& frame);

    // StreamHandler
    void on_connect(common::Bytes) override {}
    void on_message(const openpmix::FrameHeader& header, common::Bytes payload) override;
    void on_drained() override {}
    void on_closed(pmix_status_t why) override;
    bool admit_message(size_t) noexcept override { return true; }
    void message_complete() noexcept override {}

    // OpenPmixExchange::Ends
    void send_message(uint32_t tag, common::Bytes payload) override;
    void deliver_frame(const common::FrameHeader& header, common::Bytes payload,
                       std::vector<transport::Descriptor>&& descriptors) override;

    transport::EventLoop& loop_;
    transport::ConnectionHandler& sink_;
    const std::shared_ptr<State> state_;
    std::shared_ptr<openpmix::Stream> stream_;
    std::unique_ptr<OpenPmixTranslator> translator_;
};

}  // namespace pmix::client

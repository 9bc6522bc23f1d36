// SPDX-License-Identifier: BSD-3-Clause
#include "server/admission/acceptor.h"

#include <new>
#include <utility>

#include "server/base/places.h"
#include "transport/unix_socket.h"

namespace pmix::server {

namespace {
constexpr int64_t kPauseMs = 50;  // when the process has no descriptors left
// Per wake-up of the loop, so that who connects without end does not keep it; the watch is level-triggered.
constexpr int kAcceptsPerTurn = 16;
}  // namespace

Door::Door(transport::EventLoop& loop, Scheduler& scheduler, std::string address, Visitor visitor)
    : loop_(loop), scheduler_(scheduler), address_(std::move(address)), visitor_(std::move(visitor)) {}

Door::~Door() {
    watch_.reset();
    if (socket_ && address_.front() != '@') transport::unlink_path(address_);
}

common::Result<std::unique_ptr<Door>> Door::open(transport::EventLoop& loop, Scheduler& scheduler, std::string address,
                                                 Visitor visitor) {
    if (address.empty()) return PMIX_ERR_BAD_PARAM;
    std::unique_ptr<Door> door(new Door(loop, scheduler, std::move(address), std::move(visitor)));
    auto socket = door->address_.front() == '@' ? transport::listen_abstract(door->address_, loop.io())
                                                : transport::listen_path(door->address_, loop.io());
    if (!socket.ok()) return socket.status();
    door->socket_ = std::move(socket).value();
    door->identity_ = transport::FileIdentity(door->socket_.get());
    return door;
}

void Door::start() {
    transport::assert_on_loop();
    if (watch_ == nullptr) watch_ = loop_.watch(socket_.get(), *this);
    // Whoever called starts it again: nobody could ever come.
    if (watch_ == nullptr || !watch_->set(true, false)) throw std::bad_alloc();
}

void Door::on_ready(bool, bool) noexcept {
    transport::assert_on_loop();
    try {
        for (int i = 0; i < kAcceptsPerTurn; ++i) {
            auto socket = transport::accept_one(socket_.get(), loop_.io());
            if (socket.ok()) {
                visitor_(std::move(socket).value());
                continue;
            }
            if (socket.status() == PMIX_ERR_OUT_OF_RESOURCE && raise_descriptor_limit(0)) continue;
            if (socket.status() == PMIX_ERR_OUT_OF_RESOURCE && watch_ != nullptr) {
                // Asking again at once would only burn the processor.
                pause_ = Timer(scheduler_, kPauseMs, [this] { start(); });
                watch_->set(false, false);
            }
            return;
        }
    } catch (const std::bad_alloc&) {
        // The next is accepted when the loop comes round.
    }
}

}  // namespace pmix::server

// SPDX-License-Identifier: BSD-3-Clause
#include "server/admission/acceptor.h"

#include <new>
#include <utility>

#include "server/base/places.h"
#include "transport/unix_socket.h"

namespace pmix::server {

namespace {
constexpr int64_t kPauseMs = 50;  // when the process has no descriptors left
}  // namespace

Acceptor::Acceptor(transport::EventLoop& loop, Scheduler& scheduler, std::string address, bool owns_file,
                   Visitor visitor)
    : loop_(loop),
      scheduler_(scheduler),
      address_(std::move(address)),
      visitor_(std::move(visitor)),
      owns_file_(owns_file) {}

Acceptor::~Acceptor() {
    watch_.reset();
    if (socket_ && owns_file_) transport::unlink_path(address_);
}

common::Result<std::unique_ptr<Acceptor>> Acceptor::open(transport::EventLoop& loop, Scheduler& scheduler,
                                                         std::string address, Visitor visitor) {
    if (address.empty()) return PMIX_ERR_BAD_PARAM;
    const bool is_file = address.front() != '@';
    std::unique_ptr<Acceptor> acceptor(new Acceptor(loop, scheduler, std::move(address), is_file, std::move(visitor)));
    auto socket = !is_file ? transport::listen_abstract(acceptor->address_, loop.io())
                           : transport::listen_path(acceptor->address_, loop.io());
    if (!socket.ok()) return socket.status();
    acceptor->socket_ = std::move(socket).value();
    acceptor->identity_ = transport::FileIdentity(acceptor->socket_.get());
    return acceptor;
}

std::unique_ptr<Acceptor> Acceptor::take_over(transport::EventLoop& loop, Scheduler& scheduler, std::string address,
                                              transport::Descriptor socket, Visitor visitor, unsigned most_at_once) {
    std::unique_ptr<Acceptor> acceptor(new Acceptor(loop, scheduler, std::move(address), false, std::move(visitor)));
    acceptor->most_at_once_ = most_at_once;
    acceptor->socket_ = std::move(socket);
    acceptor->identity_ = transport::FileIdentity(acceptor->socket_.get());
    return acceptor;
}

void Acceptor::start() {
    transport::assert_on_loop();
    if (watch_ == nullptr) watch_ = loop_.watch(socket_.get(), *this);
    // The caller has to try again: without the watch no connection is ever accepted.
    if (watch_ == nullptr || !watch_->set(true, false)) throw std::bad_alloc();
}

void Acceptor::on_ready(bool, bool) noexcept {
    transport::assert_on_loop();
    try {
        for (unsigned i = 0; i < most_at_once_; ++i) {
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

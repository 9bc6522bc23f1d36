// SPDX-License-Identifier: BSD-3-Clause
#include "server/openpmix/openpmix_listener.h"

#include <new>
#include <utility>

#include "common/base/log_limit.h"
#include "server/admission/listener.h"
#include "transport/tcp/tcp_socket.h"
#include "transport/tcp/tcp_user.h"

namespace pmix::server {

namespace {
// One look at the kernel's table serves them. With netlink each takes some 50 us.
constexpr unsigned kMostTogether = 256;
}  // namespace

pmix_status_t OpenPmixListener::open() {
    auto socket = transport::listen_loopback(loop_.io());
    if (!socket.ok()) return socket.status();
    if (const pmix_status_t rc = transport::try_tcp_user(loop_.io()); rc != PMIX_SUCCESS) return rc;
    std::string address = transport::tcp_address(socket->get());
    acceptor_ = Acceptor::take_over(
        loop_, services_.scheduler, std::move(address), std::move(socket).value(),
        [this](transport::Descriptor connection) { accepted(std::move(connection)); }, kMostTogether);
    return PMIX_SUCCESS;
}

void OpenPmixListener::start() {
    if (acceptor_ != nullptr) acceptor_->start();
}

void OpenPmixListener::abandon() noexcept {
    if (acceptor_ != nullptr) acceptor_->abandon();
}

void OpenPmixListener::accepted(transport::Descriptor socket) {
    transport::assert_on_loop();
    if (accepted_.empty())
        services_.scheduler.post([this, alive = std::weak_ptr<bool>(alive_)] {
            if (!alive.expired()) admit_accepted();
        });
    accepted_.push_back(std::move(socket));
}

void OpenPmixListener::admit_accepted() {
    transport::assert_on_loop();
    std::vector<transport::Descriptor> sockets = std::exchange(accepted_, {});
    std::vector<int> numbers;
    for (const auto& socket : sockets) numbers.push_back(socket.get());
    auto users = transport::tcp_users(numbers);
    for (size_t i = 0; i < sockets.size(); ++i) {
        if (!users[i].ok()) {
            WIREUP_LOG_WITHIN(services_.listener.log_limit(), server, warn,
                              "a connection is refused: the kernel does not tell whose it is (%s)",
                              common::log_status(users[i].status()));
            continue;
        }
        Credentials user;
        user.uid = *users[i];
        try {
            auto peer = std::make_shared<OpenPmixPeer>(user, services_, late_);
            (void)services_.listener.take(peer, [&] { return peer->open(loop_, std::move(sockets[i])); });
        } catch (const std::bad_alloc&) {  // this one sees a hang-up
        }
    }
}

}  // namespace pmix::server

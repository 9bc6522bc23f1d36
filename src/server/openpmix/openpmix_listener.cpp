// SPDX-License-Identifier: BSD-3-Clause
#include "server/openpmix/openpmix_listener.h"

#include "common/base/log.h"
#include "server/admission/listener.h"
#include "transport/tcp/tcp_socket.h"
#include "transport/tcp/tcp_user.h"

namespace pmix::server {

pmix_status_t OpenPmixListener::open() {
    auto socket = transport::listen_loopback(loop_.io());
    if (!socket.ok()) return socket.status();
    if (const pmix_status_t rc = transport::try_tcp_user(loop_.io()); rc != PMIX_SUCCESS) return rc;
    std::string address = transport::tcp_address(socket->get());
    acceptor_ = Acceptor::take_over(loop_, services_.scheduler, std::move(address), std::move(socket).value(),
                                    [this](transport::Descriptor connection) { accepted(std::move(connection)); });
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
    auto uid = transport::tcp_user(socket.get());
    if (!uid.ok()) {
        WIREUP_LOG(server, warn, "a connection is refused: the kernel does not tell whose it is (%s)",
                   common::log_status(uid.status()));
        return;
    }
    Credentials user;
    user.uid = *uid;
    auto peer = std::make_shared<OpenPmixPeer>(user, services_, late_);
    (void)services_.listener.take(peer, [&] { return peer->open(loop_, std::move(socket)); });
}

}  // namespace pmix::server

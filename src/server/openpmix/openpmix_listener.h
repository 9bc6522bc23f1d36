// SPDX-License-Identifier: BSD-3-Clause
// Where processes that speak OpenPMIx's protocol connect: a port of 127.0.0.1.
//
// Owns the listening socket; each connection becomes an OpenPmixPeer, which the Listener admits as any other. open() on
// any thread before the loop runs, all else on the loop. Who connects is known by the kernel's word, asked right after
// the connection is accepted, for all that are accepted in one pass of the loop together; where the kernel cannot be
// asked, open() fails and there is no such place.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "server/admission/acceptor.h"
#include "server/openpmix/openpmix_peer.h"

namespace pmix::server {

class OpenPmixListener {
  public:
    OpenPmixListener(transport::EventLoop& loop, OpenPmixServices services)
        : loop_(loop), services_(services), late_(loop) {}

    // PMIX_ERR_NOT_SUPPORTED: no TCP here, or the kernel does not tell whose a connection is.
    pmix_status_t open();
    void start();
    void close() {
        acceptor_.reset();
        accepted_.clear();
    }
    void abandon() noexcept;
    // "127.0.0.1:PORT"; empty: it does not listen.
    std::string address() const { return acceptor_ == nullptr ? std::string() : acceptor_->address(); }

  private:
    void accepted(transport::Descriptor socket);
    void admit_accepted();

    transport::EventLoop& loop_;
    const OpenPmixServices services_;
    openpmix::LateAcknowledgements late_;
    std::unique_ptr<Acceptor> acceptor_;
    std::vector<transport::Descriptor> accepted_;  // in this pass of the loop, and not asked about yet
    const std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);  // for what is posted
};

}  // namespace pmix::server

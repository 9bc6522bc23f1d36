// SPDX-License-Identifier: BSD-3-Clause
// Publish, lookup, unpublish: the host keeps what is published; this adds who asks and brings the answer back.
//
// Requests on the loop thread, answers on any. Nothing owned. What can go wrong: no entry in the host's module
// (PMIX_ERR_NOT_SUPPORTED), or what the host says.
#pragma once

#include "common/protocol/messages.h"
#include "server/base/reply.h"
#include "server/host/host.h"

namespace pmix::server {

class Publish {
  public:
    explicit Publish(Host& host) : host_(host) {}
    void publish(Peer& peer, common::PublishRequest& request, Reply reply);
    void lookup(Peer& peer, common::LookupRequest& request, Reply reply);
    void unpublish(Peer& peer, common::UnpublishRequest& request, Reply reply);

  private:
    Host& host_;
};

}  // namespace pmix::server

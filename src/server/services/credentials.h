// SPDX-License-Identifier: BSD-3-Clause
// Credentials: proofs of a process's identity, which another process of this server can have validated.
//
// Owns the native credentials that were issued: each is a random number, known only to this server and its owner, for
// the identity that the kernel reported of the owner's connection. It is valid until that connection ends, or until its
// owner has asked for kMaxPerProcess newer ones, and at this server only: another server asks its host. Loop thread
// only. What can go wrong: a type that neither the library nor the host has (PMIX_ERR_NOT_SUPPORTED), bytes that are no
// credential of this server (PMIX_ERR_INVALID_CRED).
#pragma once

#include <array>
#include <deque>
#include <map>
#include <string>
#include <vector>

#include "common/protocol/messages.h"
#include "server/base/lifecycle.h"
#include "server/base/reply.h"
#include "server/host/host.h"

namespace pmix::server {

class CredentialOffice final : public LifecycleObserver {
  public:
    static constexpr size_t kMaxPerProcess = 256;

    CredentialOffice(Host& host, const common::ProcId& self) : host_(host), self_(self) {}
    CredentialOffice(const CredentialOffice&) = delete;
    CredentialOffice& operator=(const CredentialOffice&) = delete;

    void get(Peer& peer, common::GetCredentialRequest& request, Reply reply);
    void validate(Peer& peer, common::ValidateCredentialRequest& request, Reply reply);
    void peer_gone(const Peer& peer) override;

    size_t size() const noexcept { return given_.size(); }

  private:
    using Number = std::array<uint8_t, 16>;
    struct Given {
        Number secret;
        uint64_t serial;
        common::ProcId owner;
        Credentials who;
    };

    common::Result<common::Blob> make(const Peer& peer);
    void give_native(Peer& peer, Reply reply);
    // PMIX_ERR_NOT_FOUND: not one of ours at all.
    pmix_status_t check(common::Bytes credential, common::InfoList& results) const;

    Host& host_;
    const common::ProcId self_;
    std::map<Number, Given> given_;
    std::map<uint64_t, std::deque<Number>> by_peer_;
};

}  // namespace pmix::server

// SPDX-License-Identifier: BSD-3-Clause
#include "server/services/credentials.h"

#include <cstring>

#include "common/base/bytes.h"
#include "common/base/random.h"
#include "common/protocol/credential_types.h"
#include "common/values/info_view.h"
#include "server/host/required.h"

namespace pmix::server {

using common::Blob;
using common::Bytes;
using common::InfoList;
using common::InfoView;

namespace {

// In front of each of ours: whose it is, so that those of other makers are told apart at once.
constexpr uint8_t kMagic[8] = {'w', 'i', 'r', 'e', 'u', 'p', 'c', 1};

// Takes the same time whatever differs.
bool equal(const uint8_t* a, const uint8_t* b, size_t n) {
    uint8_t difference = 0;
    for (size_t i = 0; i < n; ++i) difference = static_cast<uint8_t>(difference | (a[i] ^ b[i]));
    return difference == 0;
}

}  // namespace

// ---- giving ----

common::Result<Blob> CredentialOffice::make(const Peer& peer) {
    Number name;
    Given given{{}, peer.serial(), peer.id(), peer.credentials()};
    if (!common::fill_random(name.data(), name.size()) ||
        !common::fill_random(given.secret.data(), given.secret.size()))
        return PMIX_ERR_NOT_SUPPORTED;
    common::ByteWriter w;
    for (const uint8_t b : kMagic) w.u8(b);
    for (const uint8_t b : name) w.u8(b);
    for (const uint8_t b : given.secret) w.u8(b);
    auto& mine = by_peer_[peer.serial()];
    if (mine.size() >= kMaxPerProcess) {
        given_.erase(mine.front());
        mine.pop_front();
    }
    mine.push_back(name);
    given_.insert_or_assign(name, std::move(given));
    return w.take();
}

void CredentialOffice::give_native(Peer& peer, Reply reply) {
    auto credential = make(peer);
    if (!credential) return reply.status(credential.status());
    common::CredentialReply message;
    message.credential = std::move(credential).value();
    InfoList infos;
    const pmix_status_t rc = infos.append_string(PMIX_CRED_TYPE, common::kNativeCredential);
    if (rc != PMIX_SUCCESS) return reply.status(rc);
    message.infos = std::move(infos);
    reply.message(PMIX_SUCCESS, message);
}

// The requester's list of types gives the order; without one the host is asked first, if it issues credentials.
void CredentialOffice::get(Peer& peer, common::GetCredentialRequest& request, Reply reply) {
    InfoList directives = request.directives.take();
    std::string_view types;
    pmix_status_t rc = InfoView(directives).get(PMIX_CRED_TYPE, &types);
    if (rc != PMIX_SUCCESS) return reply.status(rc);
    const Required required = required_in_service(host_.of(peer), directives, common::Function::PMIx_Get_credential);
    if (required == Required::unmet) return reply.status(PMIX_ERR_NOT_SUPPORTED);
    const common::CredentialTypes wanted(types);
    // A type that is not ours may be the host's.
    const bool native = required == Required::met_here && (types.empty() || wanted.has(common::kNativeCredential));
    const bool native_first = native && !types.empty() && wanted.first() == common::kNativeCredential;
    if (native && (native_first || !host_.of(peer).has_get_credential())) return give_native(peer, std::move(reply));
    rc = append_ids(directives, peer.credentials());
    if (rc != PMIX_SUCCESS) return reply.status(rc);
    const std::shared_ptr<Peer> keep = peer.shared_from_this();
    host_.of(peer).get_credential(peer.id(), std::move(directives),
                                  [this, native, keep, reply = std::move(reply)](HostAnswer& a) mutable {
                                      const bool none = common::succeeded(a.status) && a.blob.empty();
                                      if ((a.status == PMIX_ERR_NOT_SUPPORTED || none) && native && !keep->gone())
                                          return give_native(*keep, std::move(reply));
                                      if (none) return reply.status(PMIX_ERR_NOT_SUPPORTED);
                                      common::CredentialReply message;
                                      message.credential = std::move(a.blob);
                                      message.infos = std::move(a.infos);
                                      reply.message(common::plain(a.status), message);
                                  });
}

// ---- checking ----

pmix_status_t CredentialOffice::check(Bytes credential, InfoList& results) const {
    Number name;
    if (credential.size() < sizeof kMagic || std::memcmp(credential.data(), kMagic, sizeof kMagic) != 0)
        return PMIX_ERR_NOT_FOUND;
    if (credential.size() != sizeof kMagic + 2 * name.size()) return PMIX_ERR_INVALID_CRED;
    std::memcpy(name.data(), credential.data() + sizeof kMagic, name.size());
    const auto at = given_.find(name);
    if (at == given_.end()) return PMIX_ERR_NOT_FOUND;  // another server's, perhaps
    const Given& given = at->second;
    if (!equal(given.secret.data(), credential.data() + sizeof kMagic + name.size(), given.secret.size()))
        return PMIX_ERR_INVALID_CRED;
    pmix_status_t rc = append_ids(results, given.who);
    const pmix_proc_t owner = given.owner.to_c();
    if (rc == PMIX_SUCCESS) rc = results.append(PMIX_PROCID, &owner, PMIX_PROC);
    if (rc == PMIX_SUCCESS) rc = results.append_string(PMIX_CRED_TYPE, common::kNativeCredential);
    return rc;
}

void CredentialOffice::validate(Peer& peer, common::ValidateCredentialRequest& request, Reply reply) {
    common::ResultsReply message;
    InfoList results;
    InfoList directives = request.directives.take();
    const Required required =
        required_in_service(host_.of(peer), directives, common::Function::PMIx_Validate_credential);
    if (required == Required::unmet) return reply.status(PMIX_ERR_NOT_SUPPORTED);
    pmix_status_t rc = required == Required::met_here ? check(request.credential, results) : PMIX_ERR_NOT_FOUND;
    if (rc != PMIX_ERR_NOT_FOUND) {
        message.infos = std::move(results);
        return rc == PMIX_SUCCESS ? reply.message(rc, message) : reply.status(rc);
    }
    rc = append_ids(directives, peer.credentials());
    if (rc != PMIX_SUCCESS) return reply.status(rc);
    if (!host_.of(peer).has_validate_credential()) return reply.status(PMIX_ERR_INVALID_CRED);
    host_.validate_credential(peer.id(), std::move(request.credential), std::move(directives),
                              [reply = std::move(reply)](HostAnswer& a) mutable {
                                  common::ResultsReply answer;
                                  answer.infos = std::move(a.infos);
                                  const bool good = common::succeeded(a.status);
                                  // Nobody here can tell what it is: it proves nothing.
                                  if (a.status == PMIX_ERR_NOT_SUPPORTED) a.status = PMIX_ERR_INVALID_CRED;
                                  reply.message(good ? PMIX_SUCCESS : a.status, answer);
                              });
}

void CredentialOffice::peer_gone(const Peer& peer) {
    auto it = by_peer_.find(peer.serial());
    if (it == by_peer_.end()) return;
    for (const Number& name : it->second) given_.erase(name);
    by_peer_.erase(it);
}

}  // namespace pmix::server

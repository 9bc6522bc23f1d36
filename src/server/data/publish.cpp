// SPDX-License-Identifier: BSD-3-Clause
#include "server/data/publish.h"

#include "common/codec/pack.h"
#include "server/host/required.h"

namespace pmix::server {

namespace {

// The answers need nothing but the Reply, so the host's own thread can send them: one wake-up less, and a cross-core
// one costs more than all the work.
Runs where(Reply& reply) {
    return reply.leave_loop() ? Runs::anywhere : Runs::on_loop;
}

}  // namespace

void Publish::publish(Peer& peer, common::PublishRequest& request, Reply reply) {
    common::InfoList infos = request.infos.take();
    if (infos.empty()) return reply.status(PMIX_ERR_BAD_PARAM);
    pmix_status_t rc = check_service(host_, infos, common::Function::PMIx_Publish, Entries::payload);
    if (rc == PMIX_SUCCESS) rc = append_ids(infos, peer.credentials());
    if (rc != PMIX_SUCCESS) return reply.status(rc);
    const Runs runs = where(reply);
    host_.of(peer).publish(peer.id(), std::move(infos), runs, [reply = std::move(reply)](HostAnswer& a) mutable {
        reply.status(common::plain(a.status));
    });
}

void Publish::lookup(Peer& peer, common::LookupRequest& request, Reply reply) {
    if (request.keys.empty()) return reply.status(PMIX_ERR_BAD_PARAM);
    common::InfoList infos = request.infos.take();
    pmix_status_t rc = check_service(host_, infos, common::Function::PMIx_Lookup);
    if (rc == PMIX_SUCCESS) rc = append_ids(infos, peer.credentials());
    if (rc != PMIX_SUCCESS) return reply.status(rc);
    const Runs runs = where(reply);
    host_.of(peer).lookup(
        peer.id(), request.keys, std::move(infos), runs, [reply = std::move(reply)](HostAnswer& a) mutable {
            common::LookupReply message;
            for (const pmix_pdata_t& found : a.found) {
                if (found.value.type == PMIX_UNDEF) continue;
                common::ByteWriter w;
                if (common::encode_value(w, found.value) != PMIX_SUCCESS) continue;
                common::PublishedItem item;
                item.owner = common::ProcId(found.proc);
                item.key = std::string_view(found.key, common::bounded_length(found.key, common::kMaxKeyLength));
                item.value = w.take();
                message.items.push_back(std::move(item));
            }
            reply.message(common::plain(a.status), message);
        });
}

void Publish::unpublish(Peer& peer, common::UnpublishRequest& request, Reply reply) {
    common::InfoList infos = request.infos.take();
    pmix_status_t rc = check_service(host_, infos, common::Function::PMIx_Unpublish);
    if (rc == PMIX_SUCCESS) rc = append_ids(infos, peer.credentials());
    if (rc == PMIX_SUCCESS && !request.all && request.keys.empty()) rc = PMIX_ERR_BAD_PARAM;
    if (rc != PMIX_SUCCESS) return reply.status(rc);
    if (request.all) request.keys.clear();
    const Runs runs = where(reply);
    host_.of(peer).unpublish(
        peer.id(), request.keys, std::move(infos), runs,
        [reply = std::move(reply)](HostAnswer& a) mutable { reply.status(common::plain(a.status)); });
}

}  // namespace pmix::server

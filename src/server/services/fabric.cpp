// SPDX-License-Identifier: BSD-3-Clause
#include "server/services/fabric.h"

#include <memory>

#include "common/values/array_value.h"
#include "common/values/support.h"
#include "server/host/required.h"

namespace pmix::server {

using common::InfoList;
using common::InfoView;
using common::Result;

namespace {

// Devices of one node, each with the node's name.
pmix_status_t append_devices(InfoView devices, std::string_view node, InfoList& out) {
    for (const pmix_info_t& device : devices) {
        if (common::key_view(device) != PMIX_FABRIC_DEVICE) continue;
        const InfoView known = common::infos_in(device.value);
        InfoList facts;
        pmix_status_t rc = facts.append_all(known.begin(), known.size());
        if (rc == PMIX_SUCCESS && !known.has(PMIX_HOSTNAME)) rc = facts.append_string(PMIX_HOSTNAME, node);
        if (rc != PMIX_SUCCESS) return rc;
        auto array = common::array_value(std::move(facts));
        rc = array ? out.append(PMIX_FABRIC_DEVICE, std::move(array).value()) : array.status();
        if (rc != PMIX_SUCCESS) return rc;
    }
    return PMIX_SUCCESS;
}

}  // namespace

// What hosts have delivered of the nodes; of this one, what it sees itself.
Result<InfoList> Fabrics::all_devices(const InfoList& own) const {
    InfoList all;
    pmix_status_t rc = append_devices(own, hostname_, all);
    for (const std::string& node : inventory_.names()) {
        if (rc != PMIX_SUCCESS) return rc;
        if (node == hostname_ && !own.empty()) continue;
        const pmix_value_t* known = inventory_.find(node, PMIX_FABRIC_DEVICES);
        if (known != nullptr) rc = append_devices(common::infos_in(*known), node, all);
    }
    if (rc != PMIX_SUCCESS) return rc;
    return all;
}

void Fabrics::answer_from_devices(InfoList directives, Reply reply) {
    const pmix_status_t rc =
        common::check_required(directives, common::Function::PMIx_Fabric_register, common::level::server);
    if (rc != PMIX_SUCCESS) return reply.status(rc);
    auto found = std::make_shared<InfoList>();
    blocking_tasks_.add(
        [found, devices = devices_](bool) {
            if (!devices) return;
            auto own = devices();
            if (own) *found = std::move(own).value();
        },
        [this, found, directives = std::move(directives), reply = std::move(reply)]() mutable {
            auto devices = all_devices(*found);
            auto description = devices ? common::describe_fabric(*devices, directives, numbers_) : devices.status();
            if (!description) return reply.status(description.status());
            common::ResultsReply message;
            message.infos = std::move(description).value();
            reply.message(PMIX_SUCCESS, message);
        });
}

void Fabrics::request(Peer& peer, common::FabricRequest& request, Reply reply) {
    if (request.operation != PMIX_FABRIC_REQUEST_INFO && request.operation != PMIX_FABRIC_UPDATE_INFO)
        return reply.status(PMIX_ERR_BAD_PARAM);
    InfoList directives = request.directives.take();
    if (!host_.of(peer).has_fabric()) return answer_from_devices(std::move(directives), std::move(reply));
    InfoList up;
    pmix_status_t rc = check_service(host_, directives, common::Function::PMIx_Fabric_register);
    if (rc == PMIX_SUCCESS) rc = up.append_all(directives.c_array(), directives.size());
    if (rc == PMIX_SUCCESS) rc = append_ids(up, peer.credentials());
    if (rc != PMIX_SUCCESS) return reply.status(rc);
    const auto operation = static_cast<pmix_fabric_operation_t>(request.operation);
    host_.fabric(
        peer.id(), operation, std::move(up),
        [this, operation, directives = std::move(directives), reply = std::move(reply)](HostAnswer& a) mutable {
            const bool good = common::succeeded(a.status);
            const bool unknown = good && a.infos.empty() && operation == PMIX_FABRIC_REQUEST_INFO;
            if (a.status == PMIX_ERR_NOT_SUPPORTED || unknown)
                return answer_from_devices(std::move(directives), std::move(reply));
            pmix_status_t status = good ? PMIX_SUCCESS : a.status;
            if (good && !a.infos.empty() && a.infos.find(PMIX_FABRIC_INDEX) == nullptr &&
                operation == PMIX_FABRIC_REQUEST_INFO)
                status = a.infos.append_number(PMIX_FABRIC_INDEX, numbers_.of(a.infos), PMIX_SIZE);
            common::ResultsReply message;
            message.infos = std::move(a.infos);
            reply.message(status, message);
        });
}

}  // namespace pmix::server

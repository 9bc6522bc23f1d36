// SPDX-License-Identifier: BSD-3-Clause
#include "server/services/control.h"

#include "common/base/comma_list.h"
#include "common/base/limits.h"
#include "common/values/info_view.h"
#include "server/host/required.h"

namespace pmix::server {

using common::InfoList;
using common::InfoView;

namespace {

bool registers_cleanup(std::string_view key) {
    return key == PMIX_REGISTER_CLEANUP || key == PMIX_REGISTER_CLEANUP_DIR;
}

bool is_cleanup_key(std::string_view key) {
    return registers_cleanup(key) || key == PMIX_CLEANUP_RECURSIVE || key == PMIX_CLEANUP_EMPTY ||
           key == PMIX_CLEANUP_IGNORE || key == PMIX_CLEANUP_LEAVE_TOPDIR;
}

// Qualifies an action, and is none.
bool is_no_action(std::string_view key) {
    return key == PMIX_JOB_CTRL_ID || key == PMIX_TIMEOUT;
}

// "/a/b///" is "/a/b".
std::string without_end(std::string path) {
    while (path.size() > 1 && path.back() == '/') path.pop_back();
    return path;
}

// "/a//b/./c" is "/a/b/c": paths are compared as text. A link on the way is not looked at.
std::string without_detours(std::string path) {
    for (size_t at = 0; (at = path.find('/', at)) != std::string::npos;) {
        if (path.compare(at, 2, "//") == 0) {
            path.erase(at, 1);
        } else if (path.compare(at, 3, "/./") == 0) {
            path.erase(at, 2);
        } else {
            ++at;
        }
    }
    return path;
}

// Adds what is between commas. A list may have as many as a message has bytes: what nobody may have is refused before
// it is kept.
pmix_status_t add_items(std::string_view list, bool folders, std::vector<std::string>& to) {
    for (const std::string_view item : common::CommaList(list)) {
        if (to.size() >= common::kMaxCleanupsPerProcess) return PMIX_ERR_OUT_OF_RESOURCE;
        if (item.size() >= common::kMaxCleanupPath) return PMIX_ERR_BAD_PARAM;
        std::string path = without_detours(std::string(item));
        to.push_back(folders ? without_end(std::move(path)) : std::move(path));
    }
    return PMIX_SUCCESS;
}

}  // namespace

// done: a part has been carried out here, so it is no error that the host has nothing to do.
Host::Done pass_on(Reply reply, bool done) {
    return [reply = std::move(reply), done](HostAnswer& a) mutable {
        common::ResultsReply message;
        if (done && (a.status == PMIX_ERR_NOT_SUPPORTED || a.status == PMIX_ERR_NOT_FOUND)) a.status = PMIX_SUCCESS;
        message.infos = std::move(a.infos);
        reply.message(common::plain(a.status), message);
    };
}

// ---- what is removed at the end ----

pmix_status_t Control::register_cleanup(Peer& peer, const common::JobControlRequest& request, CleanupTicket& ticket) {
    InfoView view(request.directives.data(), request.directives.size());
    CleanupRules rules;
    std::string_view id;
    pmix_status_t rc = view.get(PMIX_CLEANUP_RECURSIVE, &rules.recursive);
    if (rc == PMIX_SUCCESS) rc = view.get(PMIX_CLEANUP_EMPTY, &rules.only_empty);
    if (rc == PMIX_SUCCESS) rc = view.get(PMIX_CLEANUP_LEAVE_TOPDIR, &rules.leave_top);
    if (rc == PMIX_SUCCESS) rc = view.get(PMIX_JOB_CTRL_ID, &id);
    if (rc == PMIX_SUCCESS && id.size() > common::kMaxCleanupId) rc = PMIX_ERR_BAD_PARAM;
    if (rc != PMIX_SUCCESS) return rc;
    // It may be given several times, as what is to be removed: each names more that stays.
    for (const pmix_info_t& info : view) {
        if (common::key_view(info) != PMIX_CLEANUP_IGNORE) continue;
        if (info.value.type != PMIX_STRING || info.value.data.string == nullptr) return PMIX_ERR_BAD_PARAM;
        WIREUP_RETURN_IF_ERROR(add_items(info.value.data.string, true, rules.ignore));
    }

    const auto requester = registry_.member(peer.id());
    if (!requester) return PMIX_ERR_NOT_SUPPORTED;
    CleanupRequest cleanup{
        *requester, std::string(id), {}, {peer.credentials().uid, peer.credentials().gid}, peer.account()};
    // The paths are removed at the end of the targets; without targets, of all local processes of the requester's
    // namespace.
    common::ProcList targets = request.procs;
    if (targets.empty()) targets.emplace_back(peer.id().nspace, PMIX_RANK_WILDCARD);
    for (auto& [nspace, ranks] : registry_.local_members(Signature(targets))) {
        // A process may not register cleanup for processes of other namespaces.
        if (nspace->name != peer.id().nspace) return PMIX_ERR_NO_PERMISSIONS;
        for (common::Rank rank : ranks) {
            // One that has left for good does not count.
            const Client* client = nspace->find_client(rank);
            if (client == nullptr || !client->gone() || client->may_return)
                cleanup.holders.push_back(member_id(nspace->number, rank));
        }
    }
    if (cleanup.holders.empty()) return PMIX_ERR_NOT_FOUND;
    std::vector<std::string> files, folders;
    for (const pmix_info_t& info : view) {
        if (!registers_cleanup(common::key_view(info))) continue;
        if (info.value.type != PMIX_STRING || info.value.data.string == nullptr) return PMIX_ERR_BAD_PARAM;
        const bool folder = common::key_view(info) == PMIX_REGISTER_CLEANUP_DIR;
        WIREUP_RETURN_IF_ERROR(add_items(info.value.data.string, folder, folder ? folders : files));
    }
    if (files.empty() && folders.empty()) return PMIX_ERR_BAD_PARAM;
    return cleanup_.add(cleanup, files, folders, rules, &ticket);
}

bool Control::cancel_cleanup(Peer& peer, const pmix_info_t& cancel) {
    const auto requester = registry_.member(peer.id());
    if (!requester) return false;
    const bool all = cancel.value.type != PMIX_STRING || cancel.value.data.string == nullptr;
    const std::string id = all ? std::string() : cancel.value.data.string;
    return cleanup_.cancel(*requester, all ? nullptr : &id) != 0;
}

void Control::job_control(Peer& peer, common::JobControlRequest& request, Reply reply) {
    Host& host = host_.of_processes(peer, request.procs);
    const InfoView given(request.directives.data(), request.directives.size());
    pmix_status_t rc = check_service(host, given, common::Function::PMIx_Job_control);
    if (rc != PMIX_SUCCESS) return reply.status(rc);
    bool registers = false, modifies = false, cancelled = false, acts = false, host_only = false;
    InfoList directives;
    for (const pmix_info_t& info : request.directives) {
        const std::string_view key = common::key_view(info);
        if (is_cleanup_key(key)) {
            modifies = true;
            registers = registers || registers_cleanup(key);
            continue;
        }
        const bool cancels = key == PMIX_JOB_CTRL_CANCEL;
        const bool ours = cancels && cancel_cleanup(peer, info);
        cancelled = cancelled || ours;
        // "All of mine": the host may have others.
        const bool all = cancels && (info.value.type != PMIX_STRING || info.value.data.string == nullptr);
        host_only = host_only || (!is_no_action(key) && !ours);
        acts = acts || host_only || (all && host.has_job_control());
        if (rc == PMIX_SUCCESS && (!ours || all)) rc = directives.append(info);
    }
    if (rc == PMIX_SUCCESS && modifies && !registers) rc = PMIX_ERR_BAD_PARAM;
    if (rc == PMIX_SUCCESS) rc = append_ids(directives, peer.credentials());
    CleanupTicket ticket;
    if (rc == PMIX_SUCCESS && registers) rc = register_cleanup(peer, request, ticket);
    if (rc != PMIX_SUCCESS) return reply.status(rc);
    if ((registers || cancelled) && !acts) return reply.status(PMIX_SUCCESS);
    // A requester that is told of a failure takes nothing of its request as done.
    Host::Done answer = pass_on(std::move(reply), cancelled && !host_only);
    host.job_control(peer.id(), request.procs, std::move(directives),
                     [this, ticket, answer = std::move(answer)](HostAnswer& a) mutable {
                         answer(a);
                         if (!common::succeeded(a.status)) cleanup_.withdraw(ticket);
                     });
}

// ---- what only the host can do ----

void Control::allocate(Peer& peer, common::AllocateRequest& request, Reply reply) {
    if (request.directive > UINT8_MAX) return reply.status(PMIX_ERR_BAD_PARAM);
    InfoList infos = request.infos.take();
    pmix_status_t rc = check_service(host_, infos, common::Function::PMIx_Allocation_request);
    if (rc == PMIX_SUCCESS) rc = append_ids(infos, peer.credentials());
    if (rc != PMIX_SUCCESS) return reply.status(rc);
    host_.of(peer).allocate(peer.id(), static_cast<pmix_alloc_directive_t>(request.directive), std::move(infos),
                            pass_on(std::move(reply)));
}

void Control::session_control(Peer& peer, common::SessionControlRequest& request, Reply reply) {
    InfoList directives = request.directives.take();
    pmix_status_t rc = check_service(host_, directives, common::Function::PMIx_Session_control);
    if (rc == PMIX_SUCCESS) rc = append_ids(directives, peer.credentials());
    if (rc != PMIX_SUCCESS) return reply.status(rc);
    host_.of(peer).session_control(peer.id(), request.session_id, std::move(directives), pass_on(std::move(reply)));
}

void Control::resource_block(Peer& peer, common::ResourceBlockRequest& request, Reply reply) {
    std::vector<pmix_resource_unit_t> units;
    if (request.directive > UINT8_MAX || request.block.empty() || request.units.size() > 1)
        return reply.status(PMIX_ERR_BAD_PARAM);
    if (request.units.size() == 1) {
        const pmix_value_t& value = request.units[0].value;
        const bool array = value.type == PMIX_DATA_ARRAY && value.data.darray != nullptr &&
                           value.data.darray->type == PMIX_RESOURCE_UNIT;
        if (!array) return reply.status(PMIX_ERR_BAD_PARAM);
        const auto* first = static_cast<const pmix_resource_unit_t*>(value.data.darray->array);
        units.assign(first, first + value.data.darray->size);
    }
    InfoList infos = request.directives.take();
    pmix_status_t rc = check_service(host_, infos, common::Function::PMIx_Resource_block);
    if (rc == PMIX_SUCCESS) rc = append_ids(infos, peer.credentials());
    if (rc != PMIX_SUCCESS) return reply.status(rc);
    host_.of(peer).resource_block(peer.id(), static_cast<pmix_resource_block_directive_t>(request.directive),
                                  request.block, std::move(units), std::move(infos), pass_on(std::move(reply)));
}

}  // namespace pmix::server

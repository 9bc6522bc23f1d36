// Job control and log: see control.h.
#include "server/control.h"

#include "common/info_view.h"

namespace pmix::server {

using common::InfoView;

namespace {

bool is_cleanup_key(std::string_view key) {
    return key == PMIX_REGISTER_CLEANUP || key == PMIX_REGISTER_CLEANUP_DIR || key == PMIX_CLEANUP_RECURSIVE ||
           key == PMIX_CLEANUP_EMPTY || key == PMIX_CLEANUP_IGNORE || key == PMIX_CLEANUP_LEAVE_TOPDIR;
}

template <class F>
void for_each_item(std::string_view list, F&& f) {
    while (!list.empty()) {
        size_t comma = list.find(',');
        std::string_view item = list.substr(0, comma);
        if (!item.empty()) f(std::string(item));
        list = comma == std::string_view::npos ? std::string_view{} : list.substr(comma + 1);
    }
}

}  // namespace

pmix_status_t Control::register_cleanup(Peer& peer, const common::ControlRequest& request) {
    InfoView view(request.directives.data(), request.directives.size());
    CleanupRules rules;
    rules.recursive = view.flag(PMIX_CLEANUP_RECURSIVE);
    rules.only_empty = view.flag(PMIX_CLEANUP_EMPTY);
    rules.leave_top = view.flag(PMIX_CLEANUP_LEAVE_TOPDIR);
    std::string_view text;
    pmix_status_t rc = view.get(PMIX_CLEANUP_IGNORE, &text);
    if (rc != PMIX_SUCCESS) return rc;
    for_each_item(text, [&](std::string item) { rules.ignore.push_back(std::move(item)); });

    // Whose end it waits for: the targets, and without them all local processes of the asker's namespace.
    std::vector<MemberId> holders;
    common::ProcList targets = request.procs;
    if (targets.empty()) targets.emplace_back(peer.id().nspace, PMIX_RANK_WILDCARD);
    for (auto& [nspace, ranks] : registry_.local_members(make_signature(std::move(targets)))) {
        // Somebody else's processes are not for this one to clean up after.
        if (nspace->name != peer.id().nspace) return PMIX_ERR_NO_PERMISSIONS;
        for (common::Rank rank : ranks) holders.push_back(member_id(nspace->number, rank));
    }
    for (const pmix_info_t& info : view) {
        bool folder = common::key_view(info) == PMIX_REGISTER_CLEANUP_DIR;
        if (!folder && common::key_view(info) != PMIX_REGISTER_CLEANUP) continue;
        if (info.value.type != PMIX_STRING || info.value.data.string == nullptr) return PMIX_ERR_BAD_PARAM;
        for_each_item(info.value.data.string, [&](const std::string& path) {
            for (MemberId who : holders)
                if (rc == PMIX_SUCCESS) rc = cleanup_.add(who, peer.credentials().uid, path, folder, rules);
        });
    }
    return rc;
}

void Control::job_control(Peer& peer, common::ControlRequest& request, Reply reply) {
    bool cleanup = !request.directives.empty();
    for (const pmix_info_t& info : request.directives) cleanup = cleanup && is_cleanup_key(common::key_view(info));
    if (cleanup) return reply.status(register_cleanup(peer, request));
    common::InfoList directives = request.directives.take();
    pmix_status_t rc = append_ids(directives, peer.credentials());
    if (rc != PMIX_SUCCESS) return reply.status(rc);
    host_.job_control(peer.id(), request.procs, std::move(directives), [reply = std::move(reply)](HostAnswer& a) mutable {
        common::ControlReply message;
        message.infos = std::move(a.infos);
        reply.message(common::succeeded(a.status) ? PMIX_SUCCESS : a.status, message);
    });
}

void Control::log(Peer& peer, common::ControlRequest& request, Reply reply) {
    if (request.infos.empty()) return reply.status(PMIX_ERR_BAD_PARAM);
    common::InfoList directives = request.directives.take();
    pmix_status_t rc = append_ids(directives, peer.credentials());
    if (rc != PMIX_SUCCESS) return reply.status(rc);
    host_.log(peer.id(), request.infos.take(), std::move(directives), [reply = std::move(reply)](HostAnswer& a) mutable {
        reply.status(common::succeeded(a.status) ? PMIX_SUCCESS : a.status);
    });
}

}  // namespace pmix::server

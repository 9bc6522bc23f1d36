// SPDX-License-Identifier: BSD-3-Clause
// Construct by leaders that know only their number (PMIX_GROUP_BOOTSTRAP), and by members that a leader adds
// (PMIX_GROUP_ADD_MEMBERS) and that give no list of members. No server can tell when all have joined, so there is an
// upcall for each caller, and the host's answer contains the membership. See groups.h.
#include <algorithm>
#include <array>
#include <utility>

#include "common/values/info_view.h"
#include "common/values/proc_array.h"
#include "common/values/support.h"
#include "server/collectives/groups.h"
#include "server/namespaces/modex_blob.h"

namespace pmix::server {

using common::GroupCall;
using common::InfoList;
using common::InfoView;
using common::ProcId;
using common::ProcList;

void Groups::bootstrap(Peer& peer, common::GroupRequest& request, Reply reply) {
    InfoList infos = request.infos.take();
    InfoView view(infos);
    const bool leads = view.find(PMIX_GROUP_BOOTSTRAP) != nullptr;
    size_t leaders = 0;
    int timeout = 0;
    auto member = registry_.member(peer.id());
    ProcList added;
    const pmix_info_t* add = view.find(PMIX_GROUP_ADD_MEMBERS);
    // As with other constructs: a job that takes the name does not end a construct that has callers.
    const bool forms =
        std::any_of(starters_.begin(), starters_.end(), [&](const Starter& s) { return s.group == request.name; });
    bool well = member.has_value() && (forms || registry_.find(request.name) == nullptr) &&
                view.get(PMIX_TIMEOUT, &timeout) == PMIX_SUCCESS && timeout >= 0 &&
                (add == nullptr || (leads && common::read_proc_array(add->value, added)));
    // A leader names only itself, and gives the number of leaders.
    if (leads) {
        well = well && view.get(PMIX_GROUP_BOOTSTRAP, &leaders) == PMIX_SUCCESS && leaders > 0 &&
               leaders <= common::kMaxListLength && request.procs.size() == 1 && request.procs[0] == peer.id();
    }
    if (!well) return reply.status(PMIX_ERR_BAD_PARAM);
    if (registry_.groups().find(request.name, peer.id()) != nullptr) return reply.status(PMIX_ERR_EXISTS);
    for (const Starter& s : starters_)
        if (s.group == request.name && s.member == *member) return reply.status(PMIX_ERR_EXISTS);
    if (!host_.of(peer).has_group() ||
        required_in_collective(host_.of(peer), view, common::Function::PMIx_Group_construct) == Required::unmet)
        return reply.status(PMIX_ERR_NOT_SUPPORTED);

    Starter& starter = starters_.emplace_back();
    starter.id = next_++;
    starter.group = request.name;
    starter.member = *member;
    starter.assign = view.flag(PMIX_GROUP_ASSIGN_CONTEXT_ID);
    starter.notify = view.flag(PMIX_GROUP_NOTIFY_TERMINATION);
    starter.reply = std::move(reply);
    const uint64_t id = starter.id;
    if (timeout > 0) {
        starter.timer = Timer(scheduler_, int64_t{timeout} * 1000 + kHostAnswerMs, [this, id] {
            end_starters(PMIX_ERR_TIMEOUT, [id](const Starter& s) { return s.id == id; });
        });
    }
    auto due = std::make_shared<char>();
    starter.answer_due = due;
    host_.group(PMIX_GROUP_CONSTRUCT, request.name, {peer.id()}, bootstrap_infos(peer, infos, request.name),
                [this, id, due = std::move(due)](HostAnswer& answer) { bootstrapped(id, answer); });
}

// The caller's directives, except what it shares with the members: that is sent as endpoint data. A caller that is no
// leader is named as an added member.
InfoList Groups::bootstrap_infos(const Peer& peer, const InfoList& infos, const std::string& group) {
    const ProcId& caller = peer.id();
    InfoList out;
    pmix_status_t status = PMIX_SUCCESS;
    for (const pmix_info_t& info : infos) {
        std::string_view k = common::key_view(info);
        if (k == PMIX_GROUP_INFO || k == PMIX_GROUP_ENDPT_DATA || k == PMIX_GROUP_LOCAL_CID) continue;
        out.append(info);
    }
    if (InfoView(infos).find(PMIX_GROUP_BOOTSTRAP) == nullptr)
        common::append_proc_array(out, PMIX_GROUP_ADD_MEMBERS, {caller});
    GroupSection mine;
    mine.requester = caller;
    mine.order = {caller};
    if (InfoList shared = group_shared_by(infos); !shared.empty()) mine.shared.push_back({caller, std::move(shared)});
    std::vector<uint8_t> blob;
    auto section = encode_group_section(mine);
    if (section.ok()) section = wrap_group(group, *section);
    if (section.ok()) blob = std::move(section).value();
    if (!section.ok()) status = section.status();
    Nspace* nspace = registry_.find(caller.nspace);
    if (nspace != nullptr) append_owner(*nspace, blob);
    if (nspace != nullptr && nspace->data != nullptr && nspace->data->committed(caller.rank) != 0) {
        auto data = nspace->data->contribution(nspace->name, std::array{dstore::RankSince{caller.rank, 0}});
        if (data.ok()) blob.insert(blob.end(), data->begin(), data->end());
        if (!data.ok()) status = data.status();
    }
    if (!blob.empty()) {
        pmix_byte_object_t object{reinterpret_cast<char*>(blob.data()), blob.size()};
        pmix_status_t rc = out.append(PMIX_GROUP_ENDPT_DATA, &object, PMIX_BYTE_OBJECT);
        if (rc != PMIX_SUCCESS) status = rc;
    }
    if (pmix_status_t rc = append_ids(out, peer.credentials()); rc != PMIX_SUCCESS) status = rc;
    out.append_number<pmix_status_t>(PMIX_LOCAL_COLLECTIVE_STATUS, status, PMIX_STATUS);
    return out;
}

// Success is the same for all: the first answer ends it for every caller of this node that is in the group.
void Groups::bootstrapped(uint64_t id, HostAnswer& answer) {
    auto at = std::find_if(starters_.begin(), starters_.end(), [id](const Starter& s) { return s.id == id; });
    if (at == starters_.end()) return;
    ProcList members;
    const pmix_info_t* said = answer.infos.find(PMIX_GROUP_MEMBERSHIP);
    pmix_status_t status = common::succeeded(answer.status) ? PMIX_SUCCESS : answer.status;
    if (status == PMIX_SUCCESS && (said == nullptr || !common::read_proc_array(said->value, members)))
        status = PMIX_ERR_NOT_SUPPORTED;  // a host that takes each of them for a group of one
    members = expand(members);
    const ProcId caller = registry_.proc_of(at->member);
    if (status == PMIX_SUCCESS && std::find(members.begin(), members.end(), caller) == members.end())
        status = PMIX_ERR_NOT_FOUND;  // nobody has added it
    const std::string name = at->group;
    if (status == PMIX_SUCCESS && forming(name, caller) != nullptr) status = PMIX_ERR_EXISTS;
    if (status != PMIX_SUCCESS) return end_starters(status, [id](const Starter& s) { return s.id == id; });

    Operation& op = begin(GroupCall::construct, name, {});
    op.launched = op.hosted = op.handed_over = true;  // and answered: without memory for what follows it is lost
    ProcList named;
    for (auto s = starters_.begin(); s != starters_.end();) {
        const ProcId proc = registry_.proc_of(s->member);
        if (s->group != name || std::find(members.begin(), members.end(), proc) == members.end()) {
            ++s;
            continue;
        }
        op.assign = op.assign || s->assign;
        op.notify = op.notify || s->notify;
        op.joined.push_back(s->member);
        named.push_back(proc);
        if (const auto peer = s->reply.peer(); peer != nullptr && op.account == nullptr) op.account = peer->account();
        op.replies.push_back(std::move(s->reply));
        s = starters_.erase(s);
    }
    op.signature = Signature(named);
    op.section.order = members;  // places for their data
    take_endpoint_data(op, answer.infos);
    op.named_order = std::move(members);
    form(op, answer.infos);
}

void Groups::end_starters(pmix_status_t status, const std::function<bool(const Starter&)>& is_meant) {
    std::list<Starter> ended;
    for (auto s = starters_.begin(); s != starters_.end();) {
        auto next = std::next(s);
        if (is_meant(*s)) ended.splice(ended.end(), starters_, s);
        s = next;
    }
    for (Starter& s : ended) s.reply.status(status);
}

}  // namespace pmix::server

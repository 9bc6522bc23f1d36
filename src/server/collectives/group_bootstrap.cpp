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
#include "server/base/need.h"
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
    if (const pmix_status_t rc = check_group_infos(infos); rc != PMIX_SUCCESS) return reply.status(rc);
    InfoView view(infos);
    const bool leads = view.find(PMIX_GROUP_BOOTSTRAP) != nullptr;
    size_t leaders = 0;
    int timeout = 0;
    auto member = registry_.member(peer.id());
    ProcList added;
    const pmix_info_t* add = view.find(PMIX_GROUP_ADD_MEMBERS);
    // As with other constructs: a job that takes the name does not end a construct that has callers.
    const auto of_group = starters_by_group_.lower_bound({request.name, 0});
    const bool forms = of_group != starters_by_group_.end() && of_group->first == request.name;
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
    const StarterKey key(*member, request.name);
    if (starters_.count(key) != 0) return reply.status(PMIX_ERR_EXISTS);
    if (!host_.of(peer).has_group() ||
        required_in_collective(host_.of(peer), view, common::Function::PMIx_Group_construct) == Required::unmet)
        return reply.status(PMIX_ERR_NOT_SUPPORTED);

    OpenShares::Share share = shares_.take(*member);
    if (!share) return reply.status(PMIX_ERR_OUT_OF_RESOURCE);
    Starter& starter = starters_[key];
    starters_by_group_.emplace(request.name, *member);
    const uint64_t id = starter.id = next_++;
    starter.share = std::move(share);
    starter.directives = group_directives(infos);
    starter.reply = std::move(reply);
    if (timeout > 0) {
        starter.timer = Timer(scheduler_, int64_t{timeout} * 1000 + kHostAnswerMs,
                              [this, key, id] { end_starter(key, id, PMIX_ERR_TIMEOUT); });
    }
    auto due = std::make_shared<char>();
    starter.answer_due = due;
    host_.group(PMIX_GROUP_CONSTRUCT, request.name, {peer.id()}, bootstrap_infos(peer, infos, request.name),
                [this, key, id, due = std::move(due)](HostAnswer& answer) { bootstrapped(key, id, answer); });
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
        need(out.append(info));
    }
    if (InfoView(infos).find(PMIX_GROUP_BOOTSTRAP) == nullptr)
        need(common::append_proc_array(out, PMIX_GROUP_ADD_MEMBERS, {caller}));
    GroupSection mine;
    mine.requester = caller;
    mine.order = common::ProcOrder({caller});
    mine.directives = group_directives(infos);
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
    need(append_ids(out, peer.credentials()));
    need(out.append_number<pmix_status_t>(PMIX_LOCAL_COLLECTIVE_STATUS, status, PMIX_STATUS));
    return out;
}

// Success is the same for all: the first answer ends it for every caller of this node that is in the group.
void Groups::bootstrapped(const StarterKey& key, uint64_t id, HostAnswer& answer) {
    const auto at = starters_.find(key);
    if (at == starters_.end() || at->second.id != id) return;
    ProcList members;
    const pmix_info_t* said = answer.infos.find(PMIX_GROUP_MEMBERSHIP);
    pmix_status_t status = common::succeeded(answer.status) ? PMIX_SUCCESS : answer.status;
    if (status == PMIX_SUCCESS && (said == nullptr || !common::read_proc_array(said->value, members)))
        status = PMIX_ERR_NOT_SUPPORTED;  // a host that takes each of them for a group of one
    members = expand(members);
    const ProcId caller = registry_.proc_of(key.first);
    if (status == PMIX_SUCCESS && std::find(members.begin(), members.end(), caller) == members.end())
        status = PMIX_ERR_NOT_FOUND;  // nobody has added it
    const std::string& name = key.second;
    if (status == PMIX_SUCCESS && forming(name, caller) != nullptr) status = PMIX_ERR_EXISTS;
    if (status != PMIX_SUCCESS) return end_starter(key, id, status);

    Operation& op = begin(GroupCall::construct, name, {}, std::move(at->second.share));
    op.launched = op.hosted = op.handed_over = true;  // and answered: without memory for what follows it is lost
    ProcList named;
    const Signature all(members);
    auto next = starters_by_group_.lower_bound({name, 0});
    while (next != starters_by_group_.end() && next->first == name) {
        ++examined_;
        const MemberId member = (next++)->second;
        ProcId proc = registry_.proc_of(member);
        if (!all.has(proc)) continue;
        Starters taken;
        take_starter(starters_.find({member, name}), taken);
        Starter& starter = taken.begin()->second;
        op.section.directives.merge(starter.directives);
        op.joined.push_back(member);
        named.push_back(std::move(proc));
        if (const auto peer = starter.reply.peer(); peer != nullptr && op.account == nullptr)
            op.account = peer->account();
        op.replies.push_back(std::move(starter.reply));
    }
    op.signature = Signature(named);
    op.by_nspace = by_nspace_.add(op.signature, op.id);
    op.section.order = common::ProcOrder(members);  // places for their data
    const bool exchanged = take_sections(op, answer.infos);
    take_endpoint_data(op, answer.infos);
    op.section.final_order = common::ProcOrder(members);
    form(op, answer.infos, false, exchanged);
}

// Into another map. What is behind it.
Groups::Starters::iterator Groups::take_starter(Starters::iterator at, Starters& to) {
    const auto next = std::next(at);
    starters_by_group_.erase({at->first.second, at->first.first});
    to.insert(starters_.extract(at));
    return next;
}

void Groups::end_starters(Starters::iterator first, Starters::iterator last, pmix_status_t status) {
    Starters ended;
    while (first != last) first = take_starter(first, ended);
    examined_ += ended.size();
    for (auto& [key, starter] : ended) starter.reply.status(status);
}

void Groups::end_starter(const StarterKey& key, uint64_t id, pmix_status_t status) {
    const auto at = starters_.find(key);
    if (at != starters_.end() && at->second.id == id) end_starters(at, std::next(at), status);
}

void Groups::end_starters_of(MemberId first, MemberId last, pmix_status_t status) {
    const auto behind = last == UINT64_MAX ? starters_.end() : starters_.lower_bound({last + 1, {}});
    end_starters(starters_.lower_bound({first, {}}), behind, status);
}

}  // namespace pmix::server

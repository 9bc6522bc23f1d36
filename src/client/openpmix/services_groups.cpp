// SPDX-License-Identifier: BSD-3-Clause
// Forwarded output and input, groups, and resolving.
#include <algorithm>
#include <optional>
#include <utility>

#include "client/openpmix/services.h"
#include "common/values/array_value.h"
#include "common/values/info_view.h"
#include "common/values/proc_array.h"

namespace pmix::client {

namespace theirs = pmix::openpmix;

using common::Bytes;
using common::Command;
using common::FrameHeader;
using common::InfoList;
using common::ProcId;

namespace {

// Of a job that has a wildcard among a group's members. More than any job has; a server that says more is not believed.
constexpr uint32_t kMostRanks = 1u << 20;

// That a server has for asking the manager of a job that it does not know.
constexpr int kSecondsForASize = 10;

void append_members(InfoList& infos, const common::ProcList& members) {
    auto procs = common::CArray<pmix_proc_t>::zeroed(members.size());
    if (!procs.ok()) throw std::bad_alloc();
    for (size_t i = 0; i < members.size(); ++i) (*procs)[i] = members[i].to_c();
    auto array = common::array_value(std::move(procs).value());
    if (!array.ok() || infos.append(PMIX_GROUP_MEMBERSHIP, std::move(array).value()) != PMIX_SUCCESS)
        throw std::bad_alloc();
}

void append_array(InfoList& infos, std::string_view key, InfoList&& elements) {
    auto array = common::array_value(std::move(elements));
    if (!array.ok() || infos.append(key, std::move(array).value()) != PMIX_SUCCESS) throw std::bad_alloc();
}

// What a process shares with the members, as releases since 6.0 send it: under its name.
InfoList signed_by(const ProcId& self, const common::Infos& infos) {
    InfoList out;
    const pmix_proc_t proc = self.to_c();
    for (const pmix_info_t& info : infos) {
        const common::InfoView shared = common::infos_in(info.value);
        if (common::key_view(info) != PMIX_GROUP_INFO || shared.size() == 0 || shared.has(PMIX_PROCID)) {
            if (out.append(info) != PMIX_SUCCESS) throw std::bad_alloc();
            continue;
        }
        InfoList one;
        if (one.append(PMIX_PROCID, &proc, PMIX_PROC) != PMIX_SUCCESS ||
            one.append_all(shared.begin(), shared.size()) != PMIX_SUCCESS)
            throw std::bad_alloc();
        append_array(out, PMIX_GROUP_INFO, std::move(one));
    }
    return out;
}

// What all of them have shared, in the form of this library's results.
void append_shared(InfoList& results, const common::Infos& infos) {
    InfoList shared;
    for (const pmix_info_t& info : infos) {
        InfoList& to = common::key_view(info) == PMIX_GROUP_INFO ? shared : results;
        if (to.append(info) != PMIX_SUCCESS) throw std::bad_alloc();
    }
    if (!shared.empty()) append_array(results, PMIX_GROUP_INFO_ARRAY, std::move(shared));
}

bool covers(const common::ProcList& procs, const ProcId& one) noexcept {
    return std::any_of(procs.begin(), procs.end(), [&](const ProcId& proc) {
        return proc.nspace == one.nspace && (proc.rank == one.rank || proc.rank == PMIX_RANK_WILDCARD);
    });
}

theirs::IofDeregisterRequest ending(size_t server_reference) {
    theirs::IofDeregisterRequest request;
    request.reference.value = server_reference;
    return request;
}

}  // namespace

// ---- output ----

namespace {

// 0 is the number of what a server forwards to a tool by itself.
constexpr size_t number_of(uint64_t reference) noexcept {
    return reference + 1;
}

}  // namespace

void OpenPmixServices::pull(const FrameHeader& header, Bytes payload) {
    common::IofPullRequest ours;
    if (const pmix_status_t rc = common::decode_message(payload, ours); rc != PMIX_SUCCESS)
        return exchange_.refuse(header, rc);
    pulls_.insert_or_assign(ours.reference, Pull{ours.channels, ours.procs, std::nullopt, true, false});
    theirs::IofPullRequest request;
    request.procs.procs = std::move(ours.procs);
    request.infos.infos = std::move(ours.infos);
    request.channels.value = ours.channels;
    if (exchange_.traits().pull_has_id) request.reference.emplace().value = number_of(ours.reference);
    const pmix_status_t rc = exchange_.ask(request, [this, header, reference = ours.reference](Bytes answer) {
        theirs::IofPullReply got;
        const pmix_status_t status = exchange_.status_of(answer, &got);
        const auto it = pulls_.find(reference);
        if (!common::succeeded(status)) {
            if (it != pulls_.end()) pulls_.erase(it);
            return exchange_.refuse(header, status);
        }
        if (it != pulls_.end()) {
            it->second.asked = false;
            if (got.reference) it->second.server_reference = got.reference->value;
            if (it->second.ended) {
                // Only now the server can be told which one it is.
                if (got.reference) (void)exchange_.ask(ending(got.reference->value), [](Bytes) {});
                pulls_.erase(it);
            }
        }
        exchange_.reply(header, status, common::Nothing{});
    });
    if (rc == PMIX_SUCCESS) return;
    pulls_.erase(ours.reference);
    exchange_.refuse(header, rc);
}

// A server's own number names what ends. Without it the server would end another one.
void OpenPmixServices::end_pull(const FrameHeader& header, Bytes payload) {
    common::IofDeregisterRequest ours;
    if (const pmix_status_t rc = common::decode_message(payload, ours); rc != PMIX_SUCCESS)
        return exchange_.refuse(header, rc);
    const auto it = pulls_.find(ours.reference);
    if (it == pulls_.end() || it->second.ended) return exchange_.refuse(header, PMIX_ERR_NOT_FOUND);
    if (it->second.asked) {
        it->second.ended = true;
        return exchange_.reply(header, PMIX_SUCCESS, common::Nothing{});
    }
    const std::optional<size_t> server_reference = it->second.server_reference;
    pulls_.erase(it);
    if (!server_reference) return exchange_.refuse(header, PMIX_ERR_NOT_FOUND);
    const pmix_status_t rc = exchange_.ask_for_status(header, ending(*server_reference));
    if (rc != PMIX_SUCCESS) exchange_.refuse(header, rc);
}

// Some servers name a registration by their own number where the output was kept for it: then any that asked for such.
// To a tool they forward what it starts without being asked, too. Here nobody gets output that was not asked for.
void OpenPmixServices::output(Bytes payload) {
    theirs::OutputMessage got;
    if (exchange_.decode(payload, &got) != PMIX_SUCCESS) return;
    if (is_tool_ && got.reference.value == 0 && exchange_.traits().pull_has_id) return;
    const pmix_iof_channel_t channel = got.channel.value;
    const auto fits = [&](const Pull& pull) {
        return !pull.ended && (pull.channels & channel) != 0 && covers(pull.procs, got.source.id);
    };
    auto it = got.reference.value == 0 ? pulls_.end() : pulls_.find(got.reference.value - 1);
    if (it == pulls_.end() || !fits(it->second))
        it = std::find_if(pulls_.begin(), pulls_.end(), [&](const auto& entry) { return fits(entry.second); });
    if (it == pulls_.end()) return;
    common::IofNotify output;
    output.source = got.source.id;
    output.channel = channel;
    output.data = got.data.bytes;
    output.infos = std::move(got.infos.infos);
    output.reference = it->first;
    exchange_.notify(Command::iof, output);
}

// ---- groups ----

void OpenPmixServices::group(const FrameHeader& header, Bytes payload) {
    common::GroupRequest ours;
    if (const pmix_status_t rc = common::decode_message(payload, ours); rc != PMIX_SUCCESS)
        return exchange_.refuse(header, rc);
    if (ours.call == common::GroupCall::construct) return construct(header, std::move(ours));
    if (ours.call == common::GroupCall::destruct) return destruct(header, std::move(ours));
    if (ours.call == common::GroupCall::leave) return leave(header, std::move(ours));
    if (ours.call == common::GroupCall::invite) return invite(header, std::move(ours));
    if (ours.call == common::GroupCall::accept || ours.call == common::GroupCall::decline)
        return answer_invitation(header, std::move(ours));
    // Their servers tell nobody which groups there are.
    exchange_.refuse(header, ours.call == common::GroupCall::names ? PMIX_ERR_NOT_FOUND : PMIX_ERR_NOT_SUPPORTED);
}

// Of a construction that its caller no longer waits for, the members it named are known, so that the group can be
// ended.
void OpenPmixServices::forget_construction(const std::string& name) {
    const auto it = groups_.find(name);
    if (it != groups_.end() && !it->second.constructed) groups_.erase(it);
}

void OpenPmixServices::forget_group(const std::string& name) {
    const auto it = groups_.find(name);
    if (it == groups_.end()) return;
    const auto others = it->second.constructed ? others_of(it->second.present()) : std::set<std::string>{};
    groups_.erase(it);
    for (const std::string& nspace : others) shadow_.release(nspace);
}

common::ProcList OpenPmixServices::each_of(const common::ProcList& procs) const {
    common::ProcList each;
    std::set<ProcId> known;
    const auto add = [&](ProcId proc) {
        if (known.insert(proc).second) each.push_back(std::move(proc));
    };
    for (const ProcId& proc : procs) {
        const uint32_t size = proc.rank == PMIX_RANK_WILDCARD ? shadow_.job_size(proc.nspace) : 0;
        if (size == 0 || size > kMostRanks) {
            add(proc);
            continue;
        }
        for (common::Rank rank = 0; rank < size; ++rank) add({proc.nspace, rank});
    }
    return each;
}

// The members of a group are to be the same in each of them, and not each has heard of each other's job.
void OpenPmixServices::learn_sizes(const common::ProcList& members, std::function<void()> then) {
    std::vector<std::string> jobs;
    for (const std::string& nspace : others_of(members))
        if (covers(members, {nspace, PMIX_RANK_WILDCARD}) && shadow_.job_size(nspace) == 0) jobs.push_back(nspace);
    learn_size_of(std::move(jobs), std::move(then));
}

void OpenPmixServices::learn_size_of(std::vector<std::string>&& jobs, std::function<void()>&& then) {
    if (jobs.empty()) return then();
    const std::string nspace = std::move(jobs.back());
    jobs.pop_back();
    InfoList limit;
    if (limit.append_number<int>(PMIX_TIMEOUT, kSecondsForASize, PMIX_INT) != PMIX_SUCCESS) throw std::bad_alloc();
    theirs::GetRequest request;
    request.nspace = theirs::Text(nspace);
    request.rank.value = PMIX_RANK_WILDCARD;
    request.infos.infos = std::move(limit);
    const auto take = [this, nspace, jobs = std::move(jobs), then](Bytes answer) mutable {
        theirs::GetReply got;
        if (common::succeeded(exchange_.status_of(answer, &got))) {
            for (const Bytes& object : got.objects.objects) {
                theirs::ProcData data;
                if (exchange_.decode_data(object, &data) == PMIX_SUCCESS &&
                    data.proc.id == ProcId(nspace, PMIX_RANK_WILDCARD))
                    (void)shadow_.take_job(nspace, data.values);
            }
        }
        learn_size_of(std::move(jobs), std::move(then));
    };
    if (exchange_.ask(request, take) != PMIX_SUCCESS) then();
}

// To a server, the members of a group are what these have named: of a whole job a wildcard.
OpenPmixServices::Group OpenPmixServices::group_of(common::ProcList&& named) const {
    Group group;
    group.members = each_of(named);
    const bool whole =
        std::any_of(named.begin(), named.end(), [](const ProcId& proc) { return proc.rank == PMIX_RANK_WILDCARD; });
    if (whole) group.named = std::move(named);
    return group;
}

common::ProcList OpenPmixServices::Group::remaining() const {
    common::ProcList out;
    std::copy_if(members.begin(), members.end(), std::back_inserter(out),
                 [&](const ProcId& proc) { return left.count(proc) == 0; });
    return out;
}

// Whether this process has a handler for it or not: else it would wait for one that has left. Asked for before the
// group is there, and not waited for.
void OpenPmixServices::watch_leaves() {
    if (!exchange_.traits().leaves_by_event || registrations_.count(kWatchLeft) != 0) return;
    ++codes_[PMIX_GROUP_LEFT].handlers;
    registrations_[kWatchLeft] = Registration{
        FrameHeader::notify(static_cast<uint16_t>(common::Command::register_events)), {PMIX_GROUP_LEFT}, true};
    advance(kWatchLeft);
}

// Those that are left end the group without it.
void OpenPmixServices::member_left(const std::string& name, const ProcId& proc) {
    const auto known = groups_.find(name);
    if (known == groups_.end()) return;
    Group& group = known->second;
    if (!common::contains(group.members, proc)) return;
    const bool held = group.constructed && others_of(group.present()).count(proc.nspace) != 0;
    group.left.insert(proc);
    if (held && others_of(group.present()).count(proc.nspace) == 0) shadow_.release(proc.nspace);
}

// Only its members have a group, and each of them asks its server for processes by their names.
void OpenPmixServices::replace_groups(common::ProcList& procs) const {
    common::ProcList out;
    for (ProcId& proc : procs) {
        const auto known = groups_.find(proc.nspace);
        const bool is_group = known != groups_.end() && known->second.constructed && proc.nspace != self_.nspace;
        if (is_group && proc.rank == PMIX_RANK_WILDCARD) {
            const common::ProcList present = known->second.present();
            out.insert(out.end(), present.begin(), present.end());
        } else if (is_group && proc.rank < known->second.members.size()) {
            out.push_back(known->second.members[proc.rank]);
        } else {
            out.push_back(std::move(proc));
        }
    }
    procs = std::move(out);
}

InfoList OpenPmixServices::note_group(const std::string& name, common::ProcList&& members,
                                      std::optional<size_t> context, const common::Infos& shared) {
    // The number first: programs read it from the first result without looking at the key.
    InfoList results;
    if (context && results.append_number<size_t>(PMIX_GROUP_CONTEXT_ID, *context, PMIX_SIZE) != PMIX_SUCCESS)
        throw std::bad_alloc();
    if (results.append_string(PMIX_GROUP_ID, name) != PMIX_SUCCESS) throw std::bad_alloc();
    Group group = group_of(std::move(members));
    group.constructed = true;
    append_members(results, group.members);
    append_shared(results, shared);
    for (const std::string& nspace : others_of(group.members)) shadow_.hold(nspace);
    forget_group(name);
    groups_.insert_or_assign(name, std::move(group));
    return results;
}

void OpenPmixServices::construct(const FrameHeader& header, common::GroupRequest&& ours) {
    theirs::GroupConstructRequest request;
    request.group = theirs::Text(ours.name);
    replace_groups(ours.procs);
    // Such servers do not see to it. Without a list a leader adds this process; an inviter may construct for others.
    const bool leads = common::InfoView(ours.directives.data(), ours.directives.size()).has(PMIX_GROUP_LEADER);
    if (!leads && !ours.procs.empty() && !covers(ours.procs, self_))
        return exchange_.refuse(header, PMIX_ERR_BAD_PARAM);
    request.procs.procs = ours.procs;
    if (exchange_.traits().connect_has_extras) {
        request.infos.infos = signed_by(self_, ours.infos);
    } else {
        request.infos.infos = std::move(ours.infos);
    }
    watch_leaves();
    if (Group& group = groups_[ours.name]; !group.constructed) group = group_of(common::ProcList(ours.procs));
    const auto take = [this, header, name = ours.name, members = ours.procs](Bytes answer) mutable {
        struct Formed {
            std::optional<size_t> context;
            common::Infos shared;
            common::GroupReply reply;
            std::vector<transport::Descriptor> descriptors;
        };
        pmix_status_t status = PMIX_SUCCESS;
        const auto formed = std::make_shared<Formed>();
        auto& [context, shared, reply, descriptors] = *formed;
        // Each release writes its own form.
        switch (exchange_.traits().group_reply) {
            case theirs::GroupReplyForm::context_id: {
                theirs::GroupContextReply got;
                status = exchange_.status_of(answer, &got);
                if (got.context_id) context = got.context_id->value;
                break;
            }
            case theirs::GroupReplyForm::members: {
                theirs::GroupMembersReply got;
                status = exchange_.status_of(answer, &got);
                if (got.members && !got.members->procs.empty()) members = std::move(got.members->procs);
                if (got.context_id && got.context_id->value != SIZE_MAX) context = got.context_id->value;
                // The group is there, whether or not what is said of its members' jobs can be kept.
                if (common::succeeded(status))
                    (void)take_jobs(got.objects, others_of(members), &reply.segments, &descriptors);
                break;
            }
            case theirs::GroupReplyForm::optional_id: {
                theirs::GroupReply got;
                status = exchange_.status_of(answer, &got);
                if (got.members && !got.members->procs.empty()) members = std::move(got.members->procs);
                if (got.context_id && got.context_id->given) context = got.context_id->id;
                if (got.infos) shared = std::move(got.infos->infos);
                break;
            }
        }
        if (!common::succeeded(status)) {
            forget_construction(name);
            exchange_.refuse(header, status);
            return send_waiting(name);
        }
        learn_sizes(members, [this, header, name, status, members, formed]() mutable {
            formed->reply.infos = note_group(name, std::move(members), formed->context, formed->shared);
            exchange_.reply(header, status, formed->reply, std::move(formed->descriptors));
            send_waiting(name);  // the process has the group before its handlers learn of it
        });
    };
    const pmix_status_t rc = exchange_.ask(request, take);
    if (rc == PMIX_SUCCESS) return;
    forget_construction(ours.name);
    exchange_.refuse(header, rc);
    send_waiting(ours.name);
}

void OpenPmixServices::destruct(const FrameHeader& header, common::GroupRequest&& ours) {
    const auto known = groups_.find(ours.name);
    const auto ended = [this, header, name = ours.name](pmix_status_t status, const theirs::StatusReply&) {
        forget_group(name);
        exchange_.reply(header, status, common::GroupReply{});
    };
    pmix_status_t rc = PMIX_ERR_NOT_FOUND;
    if (!exchange_.traits().destruct_has_members) {
        theirs::PlainGroupDestructRequest request;
        request.group = theirs::Text(ours.name);
        request.infos.infos = std::move(ours.infos);
        rc = exchange_.ask_for<theirs::StatusReply>(header, request, ended);
    } else if (known != groups_.end()) {
        theirs::GroupDestructRequest request;
        request.group = theirs::Text(ours.name);
        request.procs.procs = known->second.present();
        request.infos.infos = std::move(ours.infos);
        rc = exchange_.ask_for<theirs::StatusReply>(header, request, ended);
    }
    if (rc != PMIX_SUCCESS) exchange_.refuse(header, rc);
}

// The members are told by an event, which is all that there is to it.
void OpenPmixServices::leave(const FrameHeader& header, common::GroupRequest&& ours) {
    if (!exchange_.traits().leaves_by_event) return exchange_.refuse(header, PMIX_ERR_NOT_SUPPORTED);
    const auto known = groups_.find(ours.name);
    if (known == groups_.end() || !known->second.constructed) return exchange_.refuse(header, PMIX_ERR_NOT_FOUND);
    common::ProcList others = known->second.remaining();
    std::erase(others, self_);
    if (others.empty()) {
        forget_group(ours.name);
        return exchange_.reply(header, PMIX_SUCCESS, common::GroupReply{});
    }
    InfoList told;
    common::append_proc_array(told, PMIX_EVENT_CUSTOM_RANGE, others);
    const pmix_proc_t self = self_.to_c();
    if (told.append(PMIX_EVENT_AFFECTED_PROC, &self, PMIX_PROC) != PMIX_SUCCESS ||
        told.append_string(PMIX_GROUP_ID, ours.name) != PMIX_SUCCESS ||
        told.append_all(ours.infos.data(), ours.infos.size()) != PMIX_SUCCESS)
        throw std::bad_alloc();
    theirs::NotifyRequest request;
    request.code.value = PMIX_GROUP_LEFT;
    request.range.value = PMIX_RANGE_CUSTOM;
    request.infos.infos = std::move(told);
    const auto left = [this, header, name = ours.name](pmix_status_t status, const theirs::StatusReply&) {
        forget_group(name);
        exchange_.reply(header, status, common::GroupReply{});
    };
    const pmix_status_t rc = exchange_.ask_for<theirs::StatusReply>(header, request, left);
    if (rc != PMIX_SUCCESS) exchange_.refuse(header, rc);
}

// ---- resolving ----

// The session has asked for a namespace that it does not know, and answers by itself for one that there is. For
// servers that have no such commands, what is left to say is said from what is known here.
void OpenPmixServices::resolve_peers(const FrameHeader& header, Bytes payload) {
    exchange_.take<common::ResolveRequest>(header, payload, [&](common::ResolveRequest& ours) -> pmix_status_t {
        if (!exchange_.traits().resolves) {
            if (!ours.nspace.empty()) return PMIX_ERR_NOT_FOUND;
            common::ResolvePeersReply reply;
            reply.procs = shadow_.procs_of_all(ours.node);
            exchange_.reply(header, PMIX_SUCCESS, reply);
            return PMIX_SUCCESS;
        }
        theirs::ResolvePeersRequest request;
        if (!ours.node.empty()) request.node = theirs::Text(ours.node);
        if (!ours.nspace.empty()) request.nspace = theirs::Text(ours.nspace);
        const auto resolved = [this, header](pmix_status_t status, theirs::ResolvePeersReply& got) {
            common::ResolvePeersReply reply;
            if (got.procs) reply.procs = std::move(got.procs->procs);
            exchange_.reply(header, status, reply);
        };
        return exchange_.ask_for<theirs::ResolvePeersReply>(header, request, resolved);
    });
}

// Of all jobs: servers before 7 refuse to name them, and then those of which something is known here are named.
void OpenPmixServices::resolve_nodes(const FrameHeader& header, Bytes payload) {
    exchange_.take<common::ResolveRequest>(header, payload, [&](common::ResolveRequest& ours) -> pmix_status_t {
        const bool all = ours.nspace.empty();
        if (!exchange_.traits().resolves) {
            if (!all) return PMIX_ERR_NOT_FOUND;
            name_known_nodes(header, PMIX_ERR_NOT_SUPPORTED);
            return PMIX_SUCCESS;
        }
        theirs::ResolveNodeRequest request;
        if (!all) request.nspace = theirs::Text(ours.nspace);
        return exchange_.ask(request, [this, header, all](Bytes answer) {
            theirs::ResolveNodeReply got;
            const pmix_status_t status = exchange_.status_of(answer, &got);
            if (!common::succeeded(status))
                return all ? name_known_nodes(header, status) : exchange_.refuse(header, status);
            common::ResolveNodesReply reply;
            if (got.nodes) reply.nodes = got.nodes->text;
            exchange_.reply(header, status, reply);
        });
    });
}

void OpenPmixServices::name_known_nodes(const FrameHeader& header, pmix_status_t otherwise) {
    common::ResolveNodesReply reply;
    reply.nodes = shadow_.nodes_of_all();
    if (reply.nodes.empty()) return exchange_.refuse(header, otherwise);
    exchange_.reply(header, PMIX_SUCCESS, reply);
}

}  // namespace pmix::client

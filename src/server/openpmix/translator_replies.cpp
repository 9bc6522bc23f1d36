// SPDX-License-Identifier: BSD-3-Clause
// The server's answers and messages, as a client of OpenPMIx reads them.
#include <algorithm>
#include <new>
#include <utility>

#include "common/base/log.h"
#include "common/codec/pack.h"
#include "common/values/array_value.h"
#include "common/values/proc_array.h"
#include "openpmix/known_types.h"
#include "server/openpmix/translator.h"
#include "server/openpmix/translator_calls.h"

namespace pmix::server {

namespace theirs = pmix::openpmix;

using common::Bytes;
using common::Command;
using common::FrameHeader;
using common::FrameKind;
using common::InfoList;

namespace {

// Events that wait for the answer of a registration.
constexpr size_t kMostHeldEvents = 1024;

// The server's own messages are ours: one that cannot be read is a lack of memory.
template <class Ours>
Ours decoded(Bytes payload) {
    Ours message;
    if (common::decode_message(payload, message) != PMIX_SUCCESS) throw std::bad_alloc();
    return message;
}

// Their clients hand the answers to a query on as they come, and their programs look for the keys that they asked for:
// the groups by query, which our own client takes apart, are taken apart here.
InfoList ungrouped(const common::Infos& groups) {
    InfoList answers;
    for (const pmix_info_t& info : groups) {
        const bool group = common::key_view(info) == PMIX_QUERY_RESULTS;
        const common::InfoView inner = group ? common::infos_in(info.value) : common::InfoView(&info, 1);
        for (const pmix_info_t& one : inner)
            if (answers.append(one) != PMIX_SUCCESS) throw std::bad_alloc();
    }
    return answers;
}

// What the members of a group have shared: for each an array that begins with its name. Their clients keep it for
// PMIx_Get, under the group's context id.
InfoList shared_in(const common::InfoView& results, const theirs::Traits& traits) {
    InfoList shared;
    const pmix_info_t* all = results.find(PMIX_GROUP_INFO_ARRAY);
    if (all == nullptr) return shared;
    for (const pmix_info_t& of_member : common::infos_in(all->value))
        if (theirs::is_known(traits, of_member.value) && shared.append(of_member) != PMIX_SUCCESS)
            throw std::bad_alloc();
    return shared;
}

}  // namespace

void OpenPmixTranslator::answer_status(uint32_t tag, pmix_status_t status) {
    theirs::StatusReply reply;
    reply.status.value = status == PMIX_OPERATION_SUCCEEDED ? PMIX_SUCCESS : status;
    answer(tag, reply);
}

void OpenPmixTranslator::frame(const FrameHeader& header, Bytes payload) {
    if (header.kind == FrameKind::reply) {
        const auto it = pending_.find(header.id);
        if (it == pending_.end()) return;
        const Pending pending = std::move(it->second);
        pending_.erase(it);
        return reply(header.id, pending, header.status, payload);
    }
    // What tells of segments is nothing to one that maps none.
    if (header.command == static_cast<uint16_t>(Command::event)) return event(payload);
    if (header.command == static_cast<uint16_t>(Command::iof)) return output(payload);
}

void OpenPmixTranslator::reply(uint32_t tag, const Pending& pending, pmix_status_t status, Bytes payload) {
    const bool good = common::succeeded(status);
    if (!pending.numbers.empty()) return numbered(pending, status, payload);
    if (pending.own) {
        if (good) return;
        // A client that does not hear of the answers waits for none.
        if (pending.command == theirs::Command::register_events) end_waiting();
        if (pending.command == theirs::Command::group_invite) not_sent(pending.key, status);
        return;
    }
    const bool exchanged = pending.command == theirs::Command::fence || pending.command == theirs::Command::connect ||
                           pending.command == theirs::Command::group_construct;
    if (exchanged) ahead_.reset();
    switch (pending.command) {
        case theirs::Command::get:
            return good ? reply_get(tag, pending) : answer_status(tag, status);
        case theirs::Command::refresh:
            return good ? reply_refresh(tag, pending) : answer_status(tag, status);
        case theirs::Command::lookup:
            return good || status == PMIX_ERR_PARTIAL_SUCCESS ? reply_lookup(tag, payload) : answer_status(tag, status);
        case theirs::Command::spawn:
            return good ? reply_spawn(tag, payload) : answer_status(tag, status);
        case theirs::Command::connect:
            return good ? reply_connect(tag, payload) : answer_status(tag, status);
        case theirs::Command::group_construct:
            return good ? reply_group(tag, payload) : answer_status(tag, status);
        case theirs::Command::get_credential:
            return good ? reply_credential(tag, payload) : answer_status(tag, status);
        case theirs::Command::resolve_peers:
        case theirs::Command::resolve_node:
            return good ? reply_resolve(tag, pending, payload) : answer_status(tag, status);
        case theirs::Command::query:
        case theirs::Command::allocation:
        case theirs::Command::job_control:
        case theirs::Command::monitor:
        case theirs::Command::validate_credential:
        case theirs::Command::fabric_register:
        case theirs::Command::fabric_update:
        case theirs::Command::session_control:
            return reply_infos(tag, pending, status, payload);
        case theirs::Command::register_events: {
            if (!good) registrations_.erase(pending.reference);
            answer_status(tag, status);
            // The handler is there once the answer is read, and what it was registered for comes behind it.
            if (--registering_ != 0) return;
            return send_held_events();
        }
        case theirs::Command::iof_pull: {
            if (!good) pulls_.erase(pending.reference);
            theirs::IofPullReply answer_of_pull;
            answer_of_pull.status.value = good ? PMIX_SUCCESS : status;
            if (good) answer_of_pull.reference.emplace().value = pending.reference;
            return answer(tag, answer_of_pull);
        }
        case theirs::Command::iof_deregister:
            if (good) pulls_.erase(pending.reference);
            return answer_status(tag, status);
        default:
            return answer_status(tag, status);
    }
}

void OpenPmixTranslator::reply_infos(uint32_t tag, const Pending& pending, pmix_status_t status, Bytes payload) {
    theirs::InfosReply reply;
    reply.status.value = status == PMIX_OPERATION_SUCCEEDED ? PMIX_SUCCESS : status;
    if (payload.empty()) return answer(tag, reply);
    auto ours = decoded<common::ResultsReply>(payload);
    if (pending.command == theirs::Command::query) ours.infos = ungrouped(ours.infos);
    const bool may_lack =
        pending.command == theirs::Command::job_control || pending.command == theirs::Command::monitor;
    if (!ours.infos.empty() || (common::succeeded(status) && !may_lack))
        reply.infos.emplace().infos = std::move(ours.infos);
    answer(tag, reply);
}

// ---- data ----

const Nspace* OpenPmixTranslator::readable(std::string_view name) const {
    const Nspace* nspace = registry_.find(name);
    return nspace != nullptr && nspace->data != nullptr && segments_.may_map(peer_, *nspace) ? nspace : nullptr;
}

template <class Head>
std::vector<uint8_t> OpenPmixTranslator::with_head(const Head& head, Bytes calls) const {
    std::vector<uint8_t> bytes;
    if (theirs::encode(head, traits_, &bytes) != PMIX_SUCCESS) throw std::bad_alloc();
    bytes.insert(bytes.end(), calls.begin(), calls.end());
    return bytes;
}

void OpenPmixTranslator::reply_get(uint32_t tag, const Pending& pending) {
    const Nspace* nspace = readable(pending.proc.nspace);
    if (nspace == nullptr) return answer_status(tag, PMIX_ERR_NOT_FOUND);
    theirs::ProcData head;
    head.proc.id = pending.proc;
    theirs::GetReply reply;
    std::vector<uint8_t> job, data;
    const bool foreign = pending.proc.nspace != peer_.id().nspace;
    const common::Rank rank = pending.proc.rank;
    if (!common::is_real_rank(rank)) {
        const bool job_level = pending.key.empty() || common::is_reserved_key(pending.key);
        if (rank == PMIX_RANK_WILDCARD || job_level) {
            auto one = pending.key.empty() ? common::Result<std::vector<uint8_t>>(PMIX_ERR_NOT_FOUND)
                                           : OpenPmixJobData::job_key(*nspace, pending.key, traits_);
            // The whole job, for a key that may stand in one of its arrays.
            const bool all = rank == PMIX_RANK_WILDCARD &&
                             (pending.key.empty() || natural_owner(pending.key) != dstore::OwnerKind::job);
            if (one.ok()) {
                data = with_head(head, *one);
            } else if (all) {
                auto calls = job_data_.job(*nspace, traits_);
                if (!calls.ok()) return answer_status(tag, calls.status());
                data = with_head(head, **calls);
            } else {
                return answer_status(tag, PMIX_ERR_NOT_FOUND);
            }
        } else {
            auto calls = OpenPmixJobData::any_proc(*nspace, pending.key, traits_);
            if (!calls.ok()) return answer_status(tag, PMIX_ERR_NOT_FOUND);
            data = with_head(head, *calls);
        }
    } else {
        dstore::Found found;
        const dstore::Reader& reader = nspace->data->reader();
        if (!pending.key.empty() &&
            reader.find(dstore::Owner::proc(rank), dstore::Key(pending.key), found) != PMIX_SUCCESS)
            return answer_status(tag, PMIX_ERR_NOT_FOUND);
        // A client asks once for a process and answers all its requests from that, so it gets all that there is. What
        // the host has said of its own job it has had.
        const bool committed_only = !foreign && !pending.key.empty() && !common::is_reserved_key(pending.key);
        auto calls = OpenPmixJobData::proc(*nspace, rank, committed_only, traits_);
        if (!calls.ok()) return answer_status(tag, calls.status());
        data = with_head(head, *calls);
        // A key of the process's application stands in an array of the job's data alone.
        if (foreign || natural_owner(pending.key) == dstore::OwnerKind::app) {
            theirs::ProcData whole;
            whole.proc.id = {pending.proc.nspace, PMIX_RANK_WILDCARD};
            auto described = job_data_.job(*nspace, traits_);
            if (described.ok()) job = with_head(whole, **described);
        }
    }
    if (!job.empty()) reply.objects.objects.push_back(job);
    reply.objects.objects.push_back(data);
    const bool exchanged = !foreign && common::is_real_rank(rank) && !common::is_reserved_key(pending.key);
    std::vector<std::vector<uint8_t>> ahead;
    if (exchanged && !pending.key.empty() && !pending.renews) ahead = ahead_of(*nspace, rank);
    reply.objects.objects.insert(reply.objects.objects.end(), ahead.begin(), ahead.end());
    answer(tag, reply);
}

// A client keeps what it has been sent, so what a process puts again after that it sees only where it refreshes. Where
// Gets follow the ranks nothing is changed by that: such a client keeps what it has asked for, too. Gets on both sides
// of an exchange are no such loop: each of them may be for what was put last.
std::vector<std::vector<uint8_t>> OpenPmixTranslator::ahead_of(const Nspace& nspace, common::Rank asked) {
    constexpr size_t kMostBytes = size_t{64} << 10;
    if (!ahead_)
        ahead_.emplace(peer_.id().rank, nspace.size_known() ? nspace.size() : 0, openpmix::ReadAhead::By::server);
    const openpmix::ReadAhead::Range range = ahead_->missed(asked);
    std::vector<std::vector<uint8_t>> objects;
    size_t bytes = 0;
    for (common::Rank rank = range.first; rank < range.first + range.count; ++rank) {
        if (rank == peer_.id().rank) continue;
        auto calls = OpenPmixJobData::proc(nspace, rank, true, traits_);
        if (!calls.ok() || calls->empty()) continue;
        bytes += calls->size();
        if (bytes > kMostBytes) break;
        theirs::ProcData head;
        head.proc.id = {nspace.name, rank};
        objects.push_back(with_head(head, *calls));
    }
    return objects;
}

void OpenPmixTranslator::reply_refresh(uint32_t tag, const Pending& pending) {
    const Nspace* nspace = readable(pending.proc.nspace);
    if (nspace == nullptr) return answer_status(tag, PMIX_ERR_NOT_FOUND);
    auto calls = common::is_real_rank(pending.proc.rank)
                     ? OpenPmixJobData::proc(*nspace, pending.proc.rank, true, traits_)
                     : common::Result<std::vector<uint8_t>>(std::vector<uint8_t>());
    if (!calls.ok()) return answer_status(tag, calls.status());
    ends_.send_message(tag, with_head(theirs::StatusReply{}, *calls));
}

void OpenPmixTranslator::reply_lookup(uint32_t tag, Bytes payload) {
    const auto ours = decoded<common::LookupReply>(payload);
    auto items = common::CArray<pmix_pdata_t>::zeroed(ours.items.size());
    if (!items.ok()) throw std::bad_alloc();
    for (size_t i = 0; i < ours.items.size(); ++i) {
        pmix_pdata_t& item = items->data()[i];
        item.proc = ours.items[i].owner.to_c();
        common::set_key(item.key, ours.items[i].key);
        common::ByteReader r(ours.items[i].value);
        const pmix_status_t rc = common::decode_value(r, &item.value);
        if (rc != PMIX_SUCCESS) return answer_status(tag, rc);
    }
    theirs::LookupReply reply;
    reply.data.emplace().elements = std::move(items).value();
    answer(tag, reply);
}

void OpenPmixTranslator::reply_spawn(uint32_t tag, Bytes payload) {
    const auto ours = decoded<common::SpawnReply>(payload);
    theirs::SpawnReply reply;
    reply.nspace.emplace(theirs::Text(ours.nspace));
    std::vector<uint8_t> calls;
    if (const Nspace* nspace = readable(ours.nspace)) {
        if (auto job = job_data_.job(*nspace, traits_); job.ok()) calls = **job;
    }
    ends_.send_message(tag, with_head(reply, calls));
}

// The data of the namespaces that the client may read now, its own left out: a JobData each.
std::vector<std::vector<uint8_t>> OpenPmixTranslator::jobs_of(const common::SegmentList& segments) {
    std::vector<std::vector<uint8_t>> jobs;
    for (const common::SegmentRef& segment : segments) {
        const Nspace* nspace = segment.nspace == peer_.id().nspace ? nullptr : readable(segment.nspace);
        if (nspace == nullptr) continue;
        auto job = job_data_.job(*nspace, traits_);
        if (!job.ok()) continue;
        theirs::JobData head;
        head.nspace = theirs::Text(segment.nspace);
        jobs.push_back(with_head(head, **job));
    }
    return jobs;
}

void OpenPmixTranslator::reply_connect(uint32_t tag, Bytes payload) {
    const auto ours = decoded<common::ConnectReply>(payload);
    theirs::ConnectReplyMessage reply;
    const auto jobs = jobs_of(ours.segments);
    reply.objects.objects.assign(jobs.begin(), jobs.end());
    answer(tag, reply);
}

void OpenPmixTranslator::reply_credential(uint32_t tag, Bytes payload) {
    auto ours = decoded<common::CredentialReply>(payload);
    theirs::CredentialReply reply;
    reply.credential.emplace().bytes = ours.credential;
    reply.infos.emplace().infos = std::move(ours.infos);
    answer(tag, reply);
}

void OpenPmixTranslator::reply_resolve(uint32_t tag, const Pending& pending, Bytes payload) {
    if (pending.command == theirs::Command::resolve_peers) {
        theirs::ResolvePeersReply reply;
        reply.procs.emplace().procs = decoded<common::ResolvePeersReply>(payload).procs;
        return answer(tag, reply);
    }
    theirs::ResolveNodeReply reply;
    reply.nodes.emplace(theirs::Text(decoded<common::ResolveNodesReply>(payload).nodes));
    answer(tag, reply);
}

// Each release reads its own form, whatever the server's is.
void OpenPmixTranslator::reply_group(uint32_t tag, Bytes payload) {
    auto ours = decoded<common::GroupReply>(payload);
    const common::InfoView view(ours.infos.data(), ours.infos.size());
    std::optional<size_t> number;
    if (view.get(PMIX_GROUP_CONTEXT_ID, &number) != PMIX_SUCCESS) number.reset();
    common::ProcList members;
    if (const pmix_info_t* said = view.find(PMIX_GROUP_MEMBERSHIP)) common::read_proc_array(said->value, members);
    if (traits_.group_reply == theirs::GroupReplyForm::context_id) {
        theirs::GroupContextReply reply;
        if (number) reply.context_id.emplace().value = *number;
        return answer(tag, reply);
    }
    if (traits_.group_reply == theirs::GroupReplyForm::members) {
        theirs::GroupMembersReply reply;
        reply.members.emplace().procs = std::move(members);
        reply.context_id.emplace().value = number.value_or(SIZE_MAX);
        const auto jobs = jobs_of(ours.segments);
        reply.objects.objects.assign(jobs.begin(), jobs.end());
        return answer(tag, reply);
    }
    theirs::GroupReply reply;
    reply.members.emplace().procs = std::move(members);
    reply.context_id.emplace();
    reply.context_id->given = number.has_value();
    reply.context_id->id = number.value_or(0);
    reply.infos.emplace().infos = shared_in(view, traits_);  // where it is not read, it is behind the last field
    answer(tag, reply);
}

// ---- events and output ----

void OpenPmixTranslator::event(Bytes payload) {
    const auto event = decoded<common::EventNotify>(payload);
    if (invitations_.heard(event)) ends_.call_drained();
    hear_of_groups(event);
    if (!traits_.forms_invited) earlier_.heard(event);
    if (registering_ != 0 && held_events_.size() < kMostHeldEvents) return hold_event(payload);
    send_held_events();
    send_event(event);
}

// As it was received, which is small beside its structs.
void OpenPmixTranslator::hold_event(Bytes payload) {
    Held held;
    if (!held.charge.set(peer_.account(), sizeof held + payload.size())) {
        peer_.count_lost_event();
        if (lost_events_++ == 0) {
            WIREUP_LOG(events, warn,
                       "%s:%u waits for a registration, and its user has no room: events to it are dropped",
                       peer_.id().nspace.c_str(), peer_.id().rank);
        }
        return;
    }
    held.payload.assign(payload.begin(), payload.end());
    held_events_.push_back(std::move(held));
}

// Each gives back its charge before it is sent, which may take as much again. What was lost is told behind them.
void OpenPmixTranslator::send_held_events() {
    while (!held_events_.empty()) {
        Held held = std::move(held_events_.front());
        held_events_.pop_front();
        const auto event = decoded<common::EventNotify>(held.payload);
        held.charge.clear();
        send_event(event);
    }
    if (lost_events_ == 0) return;
    peer_.add_untold_losses(std::exchange(lost_events_, 0));
    ends_.call_drained();
}

// A client hands an event to all its handlers of the code, and to those of all codes. One from the cache is therefore
// sent only where no earlier registration is for the code, nor for all where this one is: what that was for has had the
// event. Its own events a client hands out by itself; early releases keep them for later handlers as well. An alarm
// that it has asked for has its name, and is not its own.
bool OpenPmixTranslator::is_wanted(const common::EventNotify& event) const {
    const bool is_own = event.source == peer_.id() && (event.nearness & common::EventNotify::kToItsSource) == 0;
    const auto has_code = [&](const auto& entry) { return entry.second.codes.count(event.status) != 0; };
    if (event.replay_for == 0) {
        return !is_own && std::any_of(registrations_.begin(), registrations_.end(),
                                      [&](const auto& entry) { return entry.second.is_default || has_code(entry); });
    }
    const auto asked = registrations_.find(event.replay_for - 1);
    if ((is_own && traits_.keeps_own_events) || asked == registrations_.end()) return false;
    const bool for_all = asked->second.is_default;
    if (!for_all && !has_code(*asked)) return false;
    return std::none_of(registrations_.begin(), asked,
                        [&](const auto& entry) { return has_code(entry) || (for_all && entry.second.is_default); });
}

void OpenPmixTranslator::send_event(const common::EventNotify& event) {
    if (!is_wanted(event)) return;
    theirs::EventMessage message;
    message.code.value = event.status;
    message.source.id = event.source;
    message.infos.infos = common::Infos::borrow(event.infos.data(), event.infos.size());
    message.range.emplace().value = event.range;
    answer(theirs::kEventTag, message);
}

// What it has read it keeps under one scope, whichever the process had put it with.
void OpenPmixTranslator::key_deleted(const common::ProcId& proc, std::string_view key) {
    theirs::DeletionMessage message;
    message.proc.id = proc;
    message.scope.value = PMIX_DEL_GLOBAL;
    message.key = theirs::Text(key);
    answer(theirs::kDeletionTag, message);
}

// A push that waits for its answer stops such a client as well, but only behind what it has read meanwhile.
void OpenPmixTranslator::input_controlled(const std::optional<common::ProcId>& source, bool stop) {
    const bool everybody = !source || source->nspace.empty();
    const bool meant = everybody || (source->nspace == peer_.id().nspace &&
                                     (source->rank == PMIX_RANK_WILDCARD || source->rank == peer_.id().rank));
    if (!traits_.takes_notices || !pushes_ || !meant) return;
    theirs::FlowMessage message;
    message.source.id = everybody ? common::ProcId("", PMIX_RANK_WILDCARD) : *source;
    message.channel.value = PMIX_FWD_STDIN_CHANNEL;
    message.stop.value = stop;
    answer(theirs::kFlowTag, message);
}

void OpenPmixTranslator::output(Bytes payload) {
    auto ours = decoded<common::IofNotify>(payload);
    const auto pull = pulls_.find(ours.reference);
    theirs::OutputMessage message;
    message.source.id = ours.source;
    message.channel.value = ours.channel;
    message.reference.value = pull == pulls_.end() ? 0 : pull->second;
    message.infos.infos = std::move(ours.infos);
    message.data.bytes = ours.data;
    answer(theirs::kOutputTag, message);
    give_credit(ours.reference, ours.data.size() + common::kIofFrameCost);
}

// Not from here: the server is sending, and would send more.
void OpenPmixTranslator::give_credit(uint64_t reference, uint64_t bytes) {
    const auto same =
        std::find_if(owed_.begin(), owed_.end(), [&](const auto& credit) { return credit.reference == reference; });
    if (same != owed_.end()) {
        same->bytes += bytes;
        return;
    }
    common::IofCredit credit;
    credit.reference = reference;
    credit.bytes = bytes;
    owed_.push_back(credit);
    if (ends_.all_sent()) ends_.call_drained();
}

}  // namespace pmix::server

// SPDX-License-Identifier: BSD-3-Clause
// Get and direct modex: see get.h. The upcalls for processes of other nodes: get_upcalls.cpp; what data of other nodes
// answers: get_received.cpp.
#include "server/data/get.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <utility>

#include "common/base/log.h"
#include "common/codec/pack.h"
#include "common/values/info_view.h"
#include "dstore/contribution.h"
#include "server/namespaces/job_section.h"
#include "server/namespaces/modex_blob.h"

namespace pmix::server {

using common::Bytes;
using common::InfoView;
using common::ProcId;
using common::Rank;
using dstore::Found;
using dstore::Key;
using dstore::Owner;

namespace {
// A host that waits for its direct modex hears of it also when its question is dropped on the way for lack of memory.
struct Promised {
    explicit Promised(Get::Respond to) noexcept : respond(std::move(to)) {}
    Promised(Promised&&) noexcept = default;
    ~Promised() {
        try {
            respond(PMIX_ERR_NOMEM, {});
        } catch (...) {  // the host's own
        }
    }
    void operator()(pmix_status_t status, Bytes bytes) {
        Get::Respond once = std::move(respond);
        once(status, bytes);
    }
    Get::Respond respond;
};

// Each process of the job has been on this node and has left it: nobody is there to commit anything more.
bool all_have_left(const Nspace& nspace) noexcept {
    if (nspace.gone.empty() || !nspace.all_local()) return false;
    const auto of_the_job =
        std::ranges::count_if(nspace.gone, [size = nspace.size()](Rank rank) { return rank < size; });
    return static_cast<uint64_t>(of_the_job) >= nspace.size() &&
           std::ranges::all_of(nspace.clients,
                               [](const auto& client) { return client.second.gone() && !client.second.script_runs; });
}
}  // namespace

void Get::answer(Question& question, pmix_status_t status) {
    assert(!(question.respond && question.reply.open()));  // one asks
    if (question.respond) {
        tell_host(std::move(question.respond), status, {});
        return;
    }
    question.reply.status(status);
}

// A host that waited is told when nothing of ours is under way: it may end the job in its callback.
void Get::tell_host(Respond respond, pmix_status_t status, std::vector<uint8_t> blob) {
    tell_host(std::move(respond), {status, std::make_shared<const std::vector<uint8_t>>(std::move(blob))});
}
void Get::tell_host(Respond respond, Answer answer) {
    host_.defer([respond = std::move(respond), answer = std::move(answer)]() mutable {
        WIREUP_LOG(host, debug, "the host's direct modex is answered: status %d, %zu bytes", answer.status,
                   answer.blob->size());
        respond(answer.status, *answer.blob);
    });
}

void Get::answer_found(Question& question, Nspace& nspace) {
    assert(!question.respond);
    auto peer = question.reply.peer();
    if (peer == nullptr) return;
    common::GetReply message;
    std::vector<int> descriptors;
    nspace.last_use = registry_.next_use();
    if (nspace.data != nullptr) {
        message.generation = nspace.data->generation();
        if (!peer->knows_segment(nspace.data->instance())) segments_.add(*peer, nspace, message.segments, descriptors);
        // It may not map the segment, so it can be given nothing.
        if (!peer->knows_segment(nspace.data->instance())) return question.reply.status(PMIX_ERR_NO_PERMISSIONS);
    }
    question.reply.message(PMIX_SUCCESS, message, descriptors);
}

void Get::request(Peer& peer, common::GetRequest& request, Reply reply) {
    Question question;
    question.id = next_++;
    question.key = std::move(request.key);
    common::InfoList infos = request.infos.take();
    question.reply = std::move(reply);
    InfoView view(infos);
    int timeout = 0;
    if (view.get(PMIX_TIMEOUT, &timeout) != PMIX_SUCCESS || timeout < 0) return answer(question, PMIX_ERR_BAD_PARAM);
    question.timeout_s = timeout;
    question.strict = peer.strict();
    // A host that asks its own server asks for what is here: to make it wait would make it wait for itself (Open MPI's
    // daemons look for a key that no process has, on the thread that would have to answer). With a timeout it may wait.
    bool immediate =
        view.flag(PMIX_IMMEDIATE) || view.flag(PMIX_OPTIONAL) || (peer.kind() == PeerKind::self && timeout == 0);
    bool refresh = question.refresh = view.flag(PMIX_GET_REFRESH_CACHE);
    ProcId proc = request.proc.nspace.empty() ? peer.id() : request.proc;
    if (registry_.groups().replace(proc, peer.id()) != PMIX_SUCCESS) return answer(question, PMIX_ERR_NOT_FOUND);
    Nspace* nspace = registry_.find(proc.nspace);
    // Another user's: not even the existence of a key may be disclosed.
    if (nspace != nullptr && nspace->owner && !segments_.may_map(peer, *nspace))
        return answer(question, PMIX_ERR_NO_PERMISSIONS);

    // The requester reports that it has no segment of this namespace: an earlier one was lost.
    if (nspace != nullptr && nspace->data != nullptr && request.generation == 0 && proc.nspace != peer.id().nspace)
        peer.says_it_lacks(nspace->data->instance());

    if (nspace == nullptr || nspace->data == nullptr) {
        const bool local = nspace != nullptr && common::is_real_rank(proc.rank) && nspace->is_local(proc.rank);
        if (local && !immediate && !refresh) {
            return ask_local(*nspace, proc.rank, std::move(question));
        }
        if (immediate || (local && refresh) || !host_.of(peer).has_direct_modex())
            return answer(question, PMIX_ERR_NOT_FOUND);
        return ask_host(proc, std::move(infos), std::move(question));
    }
    if (proc.rank == PMIX_RANK_UNDEF && !question.key.empty() && !common::is_reserved_key(question.key)) {
        return ask_anyone(*nspace, std::move(question), immediate || refresh);
    }
    if (!common::is_real_rank(proc.rank)) {
        // The segment has all of the job's own data; the requester looks again once it has the segment.
        Found found;
        bool known = question.key.empty() || common::is_reserved_key(question.key) ||
                     nspace->data->reader().find(Owner::job(), Key(question.key), found) == PMIX_SUCCESS;
        return known ? answer_found(question, *nspace) : answer(question, PMIX_ERR_NOT_FOUND);
    }
    bool here = nspace->is_local(proc.rank);
    bool have = nspace->data->has(proc.rank, question.key);
    // Nothing to wait for: a host does not register more because of a request.
    bool is_host_data = common::is_reserved_key(question.key);
    if (have && !(refresh && !here)) return answer_found(question, *nspace);
    if (is_host_data && !refresh) {
        Found found;
        // A segment that the requester does not have may still answer it: a node's or the job's value.
        return request.generation == 0 ? answer_found(question, *nspace) : answer(question, PMIX_ERR_NOT_FOUND);
    }
    if (here) {
        if (nspace->data->exists_outside_scope(proc.rank, question.key))
            return answer(question, PMIX_ERR_EXISTS_OUTSIDE_SCOPE);
        // As of a process of another node: without a limit of its own it waits for the first commit only.
        const bool waits = question.patient() || nspace->data->committed(proc.rank) == 0;
        if (immediate || refresh) return answer(question, PMIX_ERR_NOT_FOUND);
        if (!waits) {
            const pmix_status_t refused = nspace->refused(proc.rank);
            return answer(question, refused != PMIX_SUCCESS ? refused : PMIX_ERR_NOT_FOUND);
        }
        return ask_local(*nspace, proc.rank, std::move(question));
    }
    if (immediate || !host_.of(peer).has_direct_modex() || (nspace->size_known() && !nspace->has_rank(proc.rank)))
        return have ? answer_found(question, *nspace) : answer(question, PMIX_ERR_NOT_FOUND);
    ask_host(proc, std::move(infos), std::move(question));
}

void Get::add_pending(Awaited&& what, Question&& question, int64_t limit_ms) {
    if (limit_ms > 0)
        question.timer = Timer(scheduler_, limit_ms, [this, what, id = question.id] { expire_pending(what, id); });
    assert(!question.respond || what.key.empty());  // the host waits for a process's first commit
    hold(question, 2 * what.key.size());
    std::list<Question> one;
    one.push_back(std::move(question));
    note_peer(one.front());
    const auto entry = pending_.try_emplace(std::move(what)).first;
    one.front().place.set({&entry->first, nullptr, one.begin()});
    entry->second.splice(entry->second.end(), one);
}

void Get::note_peer(Question& question) {
    if (const auto peer = question.reply.peer()) question.place = Placed(places_, peer->serial());
}

void Get::take(std::list<Question>& from, std::list<Question>& to) noexcept {
    for (Question& q : from) q.place.clear();
    to.splice(to.end(), from);
    assert(from.empty());
}

bool Get::is_awaited(MemberId member) const noexcept {
    const auto it = pending_.lower_bound(AwaitedView{member});
    return it != pending_.end() && it->first.member == member;
}

Get::PendingGets::iterator Get::take(PendingGets::iterator it, std::list<Question>& to) {
    assert(!it->second.empty());  // an entry ends with its last request
    take(it->second, to);
    return pending_.erase(it);
}

// A process of this node that has not committed the key. It may not even have been started.
void Get::ask_local(Nspace& nspace, Rank rank, Question&& question) {
    if (nspace.commits_no_more(rank)) return answer(question, PMIX_ERR_NOT_FOUND);
    if (const pmix_status_t why = nspace.refused(rank); why != PMIX_SUCCESS) return answer(question, why);
    // Of itself: it would wait for a commit that it mostly cannot make while it waits. What the host has to say of it
    // may still come.
    const auto peer = question.reply.peer();
    const bool by_commit = nspace.data != nullptr || (!question.key.empty() && !common::is_reserved_key(question.key));
    if (peer != nullptr && by_commit && !question.patient() && peer->id().rank == rank &&
        peer->id().nspace == nspace.name) {
        const Client* const client = nspace.find_client(rank);
        if (client == nullptr || client->connections <= 1) return answer(question, PMIX_ERR_NOT_FOUND);
    }
    WIREUP_LOG(server, debug, "a get of \"%s\" waits for %s:%u to commit it", question.key.c_str(), nspace.name.c_str(),
               rank);
    Awaited what{member_id(nspace.number, rank), question.patient() ? question.key : std::string()};
    add_pending(std::move(what), std::move(question), int64_t{question.timeout_s} * 1000);
}

// Its infos are not kept as they were received: encoded, for the host, or not at all.
void Get::hold(Question& question, size_t encoded_bytes) noexcept {
    question.reply.holds_only(2 * sizeof(Question) + 2 * sizeof(Place) + question.key.size() + encoded_bytes);
}

void Get::ask_anyone(Nspace& nspace, Question&& question, bool immediate) {
    if (nspace.data->has_anywhere(question.key)) return answer_found(question, nspace);
    if (immediate || all_have_left(nspace)) return answer(question, PMIX_ERR_NOT_FOUND);
    add_pending({member_id(nspace.number, PMIX_RANK_UNDEF), question.key}, std::move(question),
                int64_t{question.timeout_s} * 1000);
}

// The host is told of the request as the requester made it, with the identity that the kernel gives the requester.
void Get::ask_host(const ProcId& proc, common::InfoList&& infos, Question&& question) {
    const auto peer = question.reply.peer();
    if (peer == nullptr) return;
    infos.remove(PMIX_REQUIRED_KEY);
    pmix_status_t rc = append_ids(infos, peer->credentials());
    if (rc == PMIX_SUCCESS && !question.key.empty()) rc = infos.append_string(PMIX_REQUIRED_KEY, question.key);
    common::ByteWriter encoded;
    if (rc == PMIX_SUCCESS) rc = common::encode_infos(encoded, infos.c_array(), infos.size());
    if (rc != PMIX_SUCCESS) return answer(question, rc);
    const auto it =
        pulls_.try_emplace({proc, question.refresh, question.key, peer->credentials().uid, encoded.take()}).first;
    assert(!question.respond);
    // Where nobody waits for the upcall that is on its way any more, the host may have forgotten it: there is another.
    if (it->second.questions.empty()) {
        it->second.flight = 0;
        it->second.lane.leave();
    }
    if (question.timeout_s > 0) {
        // The key stays where it is as long as the request is there.
        question.timer = Timer(scheduler_, int64_t{question.timeout_s} * 1000,
                               [this, at = &it->first, id = question.id] { expire_pull(*at, id); });
    }
    hold(question, it->first.key.size() + it->first.asks.size());
    std::list<Question> one;
    one.push_back(std::move(question));
    note_peer(one.front());
    one.front().place.set({nullptr, &it->first, one.begin()});
    it->second.questions.splice(it->second.questions.end(), one);
    if (it->second.flight == 0) pull(it->first);
    const Nspace* const nspace = registry_.find(proc.nspace);
    if (nspace != nullptr && nspace->unreachable.count(proc.rank) != 0) far_ends_.add(proc);
}

void Get::expire_pending(const Awaited& what, uint64_t id) {
    auto it = pending_.find(what);
    if (it == pending_.end()) return;
    auto q = std::find_if(it->second.begin(), it->second.end(), [&](const Question& x) { return x.id == id; });
    if (q == it->second.end()) return;
    if (q->respond) {
        const ProcId proc = registry_.proc_of(what.member);
        tell_host(std::move(q->respond), PMIX_SUCCESS, wrap_state(proc.nspace, proc.rank, ModexState::not_yet));
    } else {
        answer(*q, PMIX_ERR_TIMEOUT);
    }
    it->second.erase(q);
    if (it->second.empty()) pending_.erase(it);
}

void Get::expire_pull(const PullKey& at, uint64_t id) {
    auto it = pulls_.find(at);
    if (it == pulls_.end()) return;
    auto& questions = it->second.questions;
    auto q = std::find_if(questions.begin(), questions.end(), [&](const Question& x) { return x.id == id; });
    if (q == questions.end()) return;
    answer(*q, PMIX_ERR_TIMEOUT);
    questions.erase(q);
    if (questions.empty() && it->second.flight == 0) pulls_.erase(it);
}

Get::Answer Get::answer_of(Nspace& nspace, Rank rank) {
    const MemberId member = member_id(nspace.number, rank);
    const uint64_t commits = nspace.data->committed(rank);
    const bool over = nspace.commits_no_more(rank);
    if (written_.answer.blob != nullptr && written_.member == member && written_.commits == commits &&
        written_.over == over)
        return written_.answer;
    Answer made = write_answer(nspace, rank);
    if (made.status == PMIX_SUCCESS) written_ = {member, commits, over, made};
    return made;
}

Get::Answer Get::write_answer(Nspace& nspace, Rank rank) const {
    auto blob = nspace.data->contribution(nspace.name, std::array{dstore::RankSince{rank, 0}});
    if (!blob.ok()) return {blob.status(), std::make_shared<const std::vector<uint8_t>>()};
    std::vector<uint8_t> kept = nspace.data->kept_names(nspace.name, rank);
    blob->insert(blob->end(), kept.begin(), kept.end());
    append_owner(nspace, *blob);
    if (nspace.commits_no_more(rank)) {
        const std::vector<uint8_t> over = wrap_state(nspace.name, rank, ModexState::over);
        blob->insert(blob->end(), over.begin(), over.end());
    }
    return {PMIX_SUCCESS, std::make_shared<const std::vector<uint8_t>>(std::move(blob).value())};
}

void Get::modex_request(const ProcId& proc, Respond from_host) {
    Respond respond(Promised{std::move(from_host)});
    WIREUP_LOG(host, debug, "the host asks for a direct modex of %s:%u", proc.nspace.c_str(), proc.rank);
    Nspace* nspace = registry_.find(proc.nspace);
    const bool described = nspace != nullptr && nspace->data != nullptr;
    const bool may_be_described = common::is_real_rank(proc.rank) || proc.rank == PMIX_RANK_WILDCARD;
    if (!described && may_be_described && !(nspace != nullptr && nspace->is_local(proc.rank)) &&
        early_.hold(proc, respond))
        return;
    if (nspace != nullptr && proc.rank == PMIX_RANK_WILDCARD) {
        auto job = describe_job(*nspace);
        if (job.ok()) append_owner(*nspace, *job);
        return tell_host(std::move(respond), job.status(), job.ok() ? std::move(job).value() : std::vector<uint8_t>());
    }
    if (nspace == nullptr || !common::is_real_rank(proc.rank))
        return tell_host(std::move(respond), PMIX_ERR_NOT_FOUND, {});
    if (nspace->data != nullptr && nspace->data->committed(proc.rank) != 0)
        return tell_host(std::move(respond), answer_of(*nspace, proc.rank));
    // A rank that is announced by number only may still be registered.
    bool expected = nspace->is_local(proc.rank) || (!nspace->placed.has_procs && nspace->has_rank(proc.rank) &&
                                                    nspace->clients.size() < nspace->local_count());
    if (!expected || nspace->commits_no_more(proc.rank)) return tell_host(std::move(respond), PMIX_ERR_NOT_FOUND, {});
    if (const pmix_status_t why = nspace->refused(proc.rank); why != PMIX_SUCCESS)
        return tell_host(std::move(respond), why, {});
    Question question;
    question.id = next_++;
    question.respond = std::move(respond);
    add_pending({member_id(nspace->number, proc.rank), {}}, std::move(question), modex_hold_ms_);
}

void Get::committed(Nspace& nspace, Rank rank, std::span<const common::CommitEntry> entries) {
    const MemberId member = member_id(nspace.number, rank), any = member_id(nspace.number, PMIX_RANK_UNDEF);
    const bool of_this_one = is_awaited(member), of_any = is_awaited(any);
    if (!of_this_one && !of_any) return;
    std::list<Question> ready;
    const auto look_for = [&](MemberId whose, std::string_view key) {
        const auto it = pending_.find(AwaitedView{whose, key});
        if (it == pending_.end()) return;
        examined_ += it->second.size();
        // What other nodes only may see ends a request for this process's key; another process may have one to show.
        if (key.empty() || nspace.data->has(rank, key) ||
            (whose == member && nspace.data->exists_outside_scope(rank, key)))
            take(it, ready);
    };
    if (of_this_one) look_for(member, {});
    for (const common::CommitEntry& entry : entries) {
        if (of_this_one) look_for(member, entry.key);
        if (of_any) look_for(any, entry.key);
    }
    for (Question& q : ready) {
        if (q.respond) {
            tell_host(std::move(q.respond), answer_of(nspace, rank));
        } else if (nspace.data->has(rank, q.key)) {
            answer_found(q, nspace);
        } else {
            const bool kept = nspace.data->exists_outside_scope(rank, q.key);
            answer(q, kept ? PMIX_ERR_EXISTS_OUTSIDE_SCOPE : PMIX_ERR_NOT_FOUND);
        }
    }
}

// Requests from before the host had registered the job: those for the host's own keys wait no longer.
void Get::namespace_described(Nspace& nspace) {
    const AwaitedView first{member_id(nspace.number, 0)};
    for (auto it = pending_.lower_bound(first);
         it != pending_.end() && nspace_number_of(it->first.member) == nspace.number;) {
        for (auto q = it->second.begin(); q != it->second.end();) {
            // With the segment the requester also finds the values of the node and the job.
            const bool over =
                !q->respond && (common::is_reserved_key(q->key) || nspace.data->has(rank_of(it->first.member), q->key));
            if (over) answer_found(*q, nspace);
            q = over ? it->second.erase(q) : std::next(q);
        }
        it = it->second.empty() ? pending_.erase(it) : std::next(it);
    }
    answer_anyone(nspace);
    end_anyone(nspace);
    answer_noted();
    answer_pulls(nspace);
    written_ = {};
    for (EarlyModex::Held& held : early_.take(nspace.name)) modex_request(held.proc, std::move(held.respond));
}

void Get::member_gone(Nspace& nspace, MemberId member) {
    if (nspace.commits_no_more(rank_of(member))) refused(nspace, rank_of(member), PMIX_ERR_NOT_FOUND);
    end_anyone(nspace);
}

// Requests for keys of any rank end with the last process of the job, as those for one rank end with that one.
void Get::end_anyone(Nspace& nspace) {
    if (is_awaited(member_id(nspace.number, PMIX_RANK_UNDEF)) && all_have_left(nspace))
        refused(nspace, PMIX_RANK_UNDEF, PMIX_ERR_NOT_FOUND);
}

void Get::refused(Nspace& nspace, Rank rank, pmix_status_t status) {
    const MemberId member = member_id(nspace.number, rank);
    std::list<Question> over;
    for (auto it = pending_.lower_bound(AwaitedView{member}); it != pending_.end() && it->first.member == member;)
        it = take(it, over);
    for (Question& q : over) answer(q, status);
}

void Get::node_lost(const ProcId& proc) {
    const auto pulled = pulls_.lower_bound(PullView{proc.nspace, proc.rank});
    if (pulled != pulls_.end() && pulled->first.proc == proc) far_ends_.add(proc);
}

void Get::lost_with_its_node(const ProcId& proc) {
    const Nspace* const nspace = registry_.find(proc.nspace);
    const bool known = nspace != nullptr && nspace->has_rank(proc.rank);
    if (known && nspace->unreachable.count(proc.rank) == 0) return;  // it was started again
    std::list<Question> over;
    for (auto it = pulls_.lower_bound(PullView{proc.nspace, proc.rank});
         it != pulls_.end() && it->first.proc == proc;) {
        take(it->second.questions, over);
        it = pulls_.erase(it);
    }
    for (Question& question : over) answer(question, PMIX_ERR_NOT_FOUND);
}

void Get::namespace_gone(Nspace& nspace) {
    written_ = {};
    for (EarlyModex::Held& held : early_.take(nspace.name)) tell_host(std::move(held.respond), PMIX_ERR_NOT_FOUND, {});
    early_.ended(nspace.name);
    std::list<Question> over;
    for (auto it = pending_.lower_bound(AwaitedView{member_id(nspace.number, 0)});
         it != pending_.end() && nspace_number_of(it->first.member) == nspace.number;)
        it = take(it, over);
    for (auto it = pulls_.begin(); it != pulls_.end();) {
        auto next = std::next(it);
        if (it->first.proc.nspace == nspace.name) {
            take(it->second.questions, over);
            pulls_.erase(it);
        }
        it = next;
    }
    for (Question& q : over) answer(q, PMIX_ERR_NOT_FOUND);
}

void Get::peer_gone(const Peer& peer) {
    // Connections that have no request open come and go at little cost: they look at nobody's requests.
    if (peer.open_requests()->load(std::memory_order_relaxed) == 0) return;
    for (auto it = places_.lower_bound(peer.serial()); it != places_.end() && it->first == peer.serial();) {
        const Place place = it->second;
        ++it;  // what is below ends one place only
        ++examined_;
        assert((place.pending == nullptr) != (place.pull == nullptr));
        if (!place.question->reply.open() || !place.question->reply.from(peer)) continue;
        if (place.pending != nullptr) {
            const auto entry = pending_.find(*place.pending);
            assert(entry != pending_.end() && &entry->first == place.pending);
            entry->second.erase(place.question);
            if (entry->second.empty()) pending_.erase(entry);
        } else {
            const auto entry = pulls_.find(*place.pull);
            assert(entry != pulls_.end() && &entry->first == place.pull);
            entry->second.questions.erase(place.question);
            // An answer that is on its way still brings data; it finds nobody to answer.
            if (entry->second.questions.empty() && entry->second.flight == 0) pulls_.erase(entry);
        }
    }
}

void Get::stop(pmix_status_t status) {
    std::list<Question> over;
    for (auto& [what, questions] : pending_) take(questions, over);
    for (auto& [at, p] : pulls_) take(p.questions, over);
    pending_.clear();
    pulls_.clear();
    assert(places_.empty() && lanes_.empty());
    far_ends_.stop();
    for (Question& q : over) answer(q, status);
    for (EarlyModex::Held& held : early_.take_all()) tell_host(std::move(held.respond), status, {});
}

size_t Get::waiting() const noexcept {
    size_t n = early_.size();
    for (const auto& [what, questions] : pending_) n += questions.size();
    for (const auto& [at, p] : pulls_) n += p.questions.size();
    return n;
}

bool Get::awaits_commit_of(uint32_t nspace) const noexcept {
    const auto first = pending_.lower_bound(AwaitedView{member_id(nspace, 0)});
    return first != pending_.end() && nspace_number_of(first->first.member) == nspace;
}

bool Get::uses(const Nspace& nspace) const {
    if (awaits_commit_of(nspace.number)) return true;
    const auto pulled = pulls_.lower_bound(PullView{nspace.name});
    return pulled != pulls_.end() && pulled->first.proc.nspace == nspace.name;
}

void Get::report(ReportRows& rows) const {
    const auto add = [&](const Question& q, ProcId target, bool at_host) {
        auto peer = q.reply.peer();
        RequestReport row;
        row.operation = q.respond ? "modex" : "get";
        if (peer != nullptr) row.requester = peer->id();
        row.target = std::move(target);
        row.key = q.key;
        row.at_host = at_host;
        row.began_ms = q.began_ms;
        rows.requests.push_back(std::move(row));
    };
    for (const auto& [what, questions] : pending_)
        for (const Question& q : questions) add(q, registry_.proc_of(what.member), false);
    for (const auto& [at, pulled] : pulls_)
        for (const Question& q : pulled.questions) add(q, at.proc, true);
    for (const EarlyModex::Held& held : early_.held()) {
        RequestReport row;
        row.operation = "modex";
        row.target = held.proc;
        row.began_ms = held.began_ms;
        rows.requests.push_back(std::move(row));
    }
}

}  // namespace pmix::server

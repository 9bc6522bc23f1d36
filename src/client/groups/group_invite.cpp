// SPDX-License-Identifier: BSD-3-Clause
#include "client/groups/group_invite.h"

#include <algorithm>
#include <cassert>

#include "client/events/events.h"
#include "client/groups/group_api.h"
#include "client/groups/group_limits.h"
#include "client/session/session.h"
#include "client/state/group_membership.h"
#include "common/values/info_view.h"
#include "common/values/proc_array.h"

namespace pmix::client {

using common::InfoList;
using common::InfoView;
using common::ProcId;
using common::ProcList;
using transport::Deadline;

namespace {

// How long those whose inviter has ended wait for a successor.
constexpr int64_t kOrphanMs = 10'000;
constexpr size_t kMaxReceived = 256;

struct OnItsWay {
    std::weak_ptr<char> alive;
    std::function<void(pmix_status_t)> done;
};

void taken(pmix_status_t status, void* cbdata) {
    const std::unique_ptr<OnItsWay> event(static_cast<OnItsWay*>(cbdata));
    if (event != nullptr && !event->alive.expired()) event->done(status);
}

}  // namespace

void GroupInvites::announce(pmix_status_t code, const std::string& name, const ProcList& targets, InfoList infos,
                            Taken done) {
    if (targets.empty()) return;
    infos.append_string(PMIX_GROUP_ID, name);
    common::append_proc_array(infos, PMIX_EVENT_CUSTOM_RANGE, targets);
    infos.append_flag(PMIX_EVENT_NON_DEFAULT, true);
    std::unique_ptr<OnItsWay> event;
    if (done) event = std::make_unique<OnItsWay>(OnItsWay{alive_, std::move(done)});
    const pmix_status_t rc =
        session_.events().notify(code, nullptr, PMIX_RANGE_CUSTOM, infos.c_array(), infos.size(), &taken, event.get());
    if (rc == PMIX_SUCCESS) {
        (void)event.release();
    } else if (event != nullptr) {
        session_.loop().post([rc, event = std::shared_ptr<OnItsWay>(std::move(event))] {
            if (!event->alive.expired()) event->done(rc);
        });
    }
}

// A server of OpenPMIx refuses an event that its host cannot carry, though it has told the processes of its own node.
GroupInvites::Taken GroupInvites::or_give_up_invite(uint64_t invite) {
    if (session_.server_has_more()) return {};
    return [this, invite](pmix_status_t status) {
        if (status == PMIX_SUCCESS) return;
        Invite* const at = invites_.find(invite);
        if (at != nullptr && !at->forming) give_up(*at, status);
    };
}

GroupInvites::Taken GroupInvites::or_finish_join(uint64_t join) {
    if (session_.server_has_more()) return {};
    return [this, join](pmix_status_t status) {
        if (status == PMIX_SUCCESS) return;
        Join* const at = joins_.find(join);
        if (at != nullptr && !at->forming) finish(*at, status, {});
    };
}

// A step of a call that has no memory ends the call: its caller waits.
template <class Step>
void GroupInvites::or_give_up(uint64_t invite, Step&& step) {
    try {
        step();
    } catch (const std::bad_alloc&) {
        if (Invite* const at = invites_.find(invite)) give_up(*at, PMIX_ERR_NOMEM);
    }
}

template <class Step>
void GroupInvites::or_end_join(uint64_t join, Step&& step) {
    try {
        step();
    } catch (const std::bad_alloc&) {
        if (Join* const at = joins_.find(join)) finish(*at, PMIX_ERR_NOMEM, {});
    }
}

// ---- the inviter ----

pmix_status_t GroupInvites::invite(std::string name, ProcList members, InfoList infos, Deadline limit, GroupDone done) {
    WIREUP_RETURN_IF_ERROR(groups_.listen());
    Invite i;
    i.name = std::move(name);
    i.members = std::move(members);
    i.pending = i.members;
    std::erase(i.pending, session_.self());
    i.invited = i.pending;
    i.optional = InfoView(infos).flag(PMIX_GROUP_OPTIONAL);
    i.infos = std::move(infos);
    i.limit = limit;
    i.done = std::move(done);
    session_.loop().post([this, i = std::move(i)]() mutable { start_invite(std::move(i)); });
    return PMIX_SUCCESS;
}

void GroupInvites::start_invite(Invite&& given) {
    if (shut_) return given.done(PMIX_ERR_INIT, {});
    // Lost since the caller looked: all that its end ends has been ended.
    if (!session_.connected()) return given.done(PMIX_ERR_UNREACH, {});
    if (invites_.find(given.name) != nullptr) return given.done(PMIX_ERR_EXISTS, {});
    given.id = next_++;
    Invite* added = nullptr;
    try {
        added = &invites_.add(std::move(given));
    } catch (const std::bad_alloc&) {
        return given.done(PMIX_ERR_NOMEM, {});
    }
    Invite& i = *added;
    begins(i.name);
    or_give_up(i.id, [&] {
        watch_limit(i);
        ask(i, ProcList(i.pending));
        check(i);
    });
}

// Its processes may have been told of the end of another one of the name, which is not the end of this.
void GroupInvites::begins(const std::string& name) noexcept {
    const auto is_of_it = [&](const auto& ended) { return ended.first == name; };
    std::erase_if(given_up_, is_of_it);
    std::erase_if(ended_, is_of_it);
}

void GroupInvites::watch_limit(Invite& invite) {
    transport::assert_on_loop();
    if (invite.limit.is_never()) return;
    invite.timer = session_.loop().after(left_ms(invite.limit), [this, name = invite.name] {
        Invite* late = invites_.find(name);
        if (late == nullptr) return;
        late->timer = 0;
        if (late->forming) return;  // the collective has what was left
        if (!late->optional) return give_up(*late, PMIX_ERR_TIMEOUT);
        or_give_up(late->id, [&] {
            for (const ProcId& p : late->pending) {
                std::erase(late->members, p);
                InfoList infos;
                const pmix_proc_t silent = p.to_c();
                infos.append(PMIX_EVENT_AFFECTED_PROC, &silent, PMIX_PROC);
                announce(PMIX_GROUP_INVITE_FAILED, name, {session_.self()}, std::move(infos));
            }
            late->smaller = late->smaller || !late->pending.empty();
            late->pending.clear();
            check(*late);
        });
    });
}

void GroupInvites::ask(Invite& invite, const ProcList& targets) {
    InfoList infos = for_all(invite.infos);
    common::append_proc_array(infos, PMIX_GROUP_MEMBERSHIP, invite.members);
    announce(PMIX_GROUP_INVITED, invite.name, targets, std::move(infos), or_give_up_invite(invite.id));
}

void GroupInvites::invite_heard(Invite& invite, pmix_status_t code, const ProcId& sender, const GroupVerdict& verdict) {
    if (verdict.abort || code == PMIX_GROUP_CONSTRUCT_ABORT)
        return give_up(invite, PMIX_GROUP_CONSTRUCT_ABORT, code == PMIX_GROUP_CONSTRUCT_ABORT);
    if (invite.forming) {
        if (code == PMIX_GROUP_INVITE_ACCEPTED && !contains(invite.members, sender)) answer_late(invite.name, sender);
        return;
    }
    if (code == PMIX_GROUP_INVITE_ACCEPTED) {
        std::erase(invite.pending, sender);
        return check(invite);
    }
    if (code != PMIX_GROUP_INVITE_DECLINED && code != PMIX_GROUP_INVITE_FAILED) return;
    if (code == PMIX_GROUP_INVITE_FAILED) std::erase(invite.invited, sender);
    auto at = std::find(invite.members.begin(), invite.members.end(), sender);
    if (at == invite.members.end()) return;
    std::erase(invite.pending, sender);
    if (!invite.optional && !verdict.handled) return give_up(invite, PMIX_GROUP_CONSTRUCT_ABORT);
    // Replacements get the place of the member that they replace.
    ProcList fresh;
    for (const ProcId& p : verdict.replacements)
        if (!contains(invite.members, p) && !contains(fresh, p)) fresh.push_back(p);
    at = invite.members.erase(at);
    invite.members.insert(at, fresh.begin(), fresh.end());
    invite.pending.insert(invite.pending.end(), fresh.begin(), fresh.end());
    invite.invited.insert(invite.invited.end(), fresh.begin(), fresh.end());
    if (fresh.empty()) invite.smaller = true;
    ask(invite, fresh);
    check(invite);
}

void GroupInvites::check(Invite& invite) {
    if (!invite.forming && invite.pending.empty()) or_give_up(invite.id, [&] { form(invite); });
}

void GroupInvites::form(Invite& invite) {
    assert(!invite.forming && invite.pending.empty());
    if (invite.members.empty()) return give_up(invite, PMIX_GROUP_CONSTRUCT_ABORT);
    invite.forming = true;
    ProcList others = invite.members;
    std::erase(others, session_.self());
    InfoList infos = for_all(invite.infos);
    common::append_proc_array(infos, PMIX_GROUP_MEMBERSHIP, invite.members);
    announce(PMIX_GROUP_MEMBERSHIP_UPDATE, invite.name, others, std::move(infos));

    InfoList given, mine;
    for (const pmix_info_t& info : invite.infos)
        if (common::key_view(info) != PMIX_GROUP_LEADER) given.append(info);
    // With PMIX_GROUP_OPTIONAL the timeout covers the invitation only; construction gets it again.
    append_limited(mine, given, invite.optional ? Deadline::never() : invite.limit);
    mine.append_flag(PMIX_GROUP_LEADER, true);
    const pmix_status_t rc =
        construct_on_server(session_, invite.name, invite.members, &session_.self(), mine.c_array(), mine.size(),
                            [this, id = invite.id](pmix_status_t status, InfoList&& results) {
                                Invite* const i = invites_.find(id);
                                if (i == nullptr) return;
                                const bool good = status == PMIX_SUCCESS || status == PMIX_ERR_PARTIAL_SUCCESS;
                                if (!good) return give_up(*i, status);
                                InfoList contents;
                                contents.append_all(results.c_array(), results.size());
                                announce(PMIX_GROUP_CONSTRUCT_COMPLETE, i->name, i->members, std::move(contents));
                                finish(*i, i->smaller ? PMIX_ERR_PARTIAL_SUCCESS : status, std::move(results));
                            });
    if (rc != PMIX_SUCCESS) give_up(invite, rc);
}

void GroupInvites::announce_abort(const std::string& name, const ProcList& targets, InfoList infos) {
    const pmix_proc_t self = session_.self().to_c();
    infos.append(PMIX_GROUP_LEADER, &self, PMIX_PROC);
    announce(PMIX_GROUP_CONSTRUCT_ABORT, name, targets, std::move(infos));
}

// Somebody accepts what is over: it must not wait for it.
void GroupInvites::answer_late(const std::string& name, const ProcId& source) {
    InfoList infos;
    const bool told = std::any_of(given_up_.begin(), given_up_.end(), [&](const auto& ended) {
        return ended.first == name && contains(ended.second, source);
    });
    if (told) infos.append_flag(common::kAnswersAcceptance, true);
    announce_abort(name, {source}, std::move(infos));
}

void GroupInvites::give_up(Invite& invite, pmix_status_t status, bool heard) {
    try {
        ProcList all = invite.invited;
        if (!heard) all.push_back(session_.self());
        announce_abort(invite.name, all);
        if (given_up_.size() >= kMaxReceived) given_up_.pop_front();
        given_up_.emplace_back(invite.name, std::move(all));
    } catch (const std::bad_alloc&) {  // the caller is answered all the same
    }
    finish(invite, status, {});
}

void GroupInvites::finish(Invite& invite, pmix_status_t status, InfoList&& results) {
    transport::assert_on_loop();
    if (invite.timer != 0) session_.loop().cancel(invite.timer);
    GroupDone done = std::move(invite.done);
    try {
        if (ended_.size() >= kMaxReceived) ended_.pop_front();
        const bool formed = status == PMIX_SUCCESS || status == PMIX_ERR_PARTIAL_SUCCESS;
        ended_.emplace_back(invite.name, formed ? std::move(invite.members) : ProcList());
    } catch (const std::bad_alloc&) {  // a process that accepts it later waits for its own limit
    }
    invites_.remove(invite);
    assert(done);  // its caller is answered once
    done(status, std::move(results));
}

// ---- the invited ----

pmix_status_t GroupInvites::join(std::string name, ProcId leader, bool accept, InfoList infos, GroupDone done) {
    WIREUP_RETURN_IF_ERROR(groups_.listen());
    Join j;
    j.name = std::move(name);
    j.leader = std::move(leader);
    j.infos = std::move(infos);
    j.done = std::move(done);
    session_.loop().post([this, j = std::move(j), accept]() mutable { start_join(std::move(j), accept); });
    return PMIX_SUCCESS;
}

void GroupInvites::start_join(Join&& given, bool accept) {
    if (shut_) return given.done(PMIX_ERR_INIT, {});
    if (!session_.connected()) return given.done(PMIX_ERR_UNREACH, {});
    if (!accept) return decline(std::move(given));
    if (joins_.find(given.name) != nullptr) return given.done(PMIX_ERR_EXISTS, {});
    given.id = next_++;
    Join* added = nullptr;
    try {
        added = &joins_.add(std::move(given));
    } catch (const std::bad_alloc&) {
        return given.done(PMIX_ERR_NOMEM, {});
    }
    Join& j = *added;
    or_end_join(j.id, [&] { send_acceptance(j); });
}

// Over when the server has taken the event, or with the caller's limit, which the event carries.
void GroupInvites::decline(Join&& given) {
    GroupDone done = std::move(given.done);
    if (session_.server_has_more()) {
        announce(PMIX_GROUP_INVITE_DECLINED, given.name, {given.leader});
        return done(PMIX_SUCCESS, {});
    }
    try {
        InfoList infos;
        if (const int seconds = limit_s(given.infos); seconds != 0)
            infos.append_number<int>(PMIX_TIMEOUT, seconds, PMIX_INT);
        announce(PMIX_GROUP_INVITE_DECLINED, given.name, {given.leader}, std::move(infos),
                 [done](pmix_status_t status) { done(status, {}); });
    } catch (const std::bad_alloc&) {
        done(PMIX_ERR_NOMEM, {});
    }
}

void GroupInvites::send_acceptance(Join& j) {
    transport::assert_on_loop();
    j.limit = limit_of(j.infos);
    if (!j.limit.is_never()) {
        j.timer = session_.loop().after(left_ms(j.limit), [this, name = j.name] {
            Join* late = joins_.find(name);
            if (late == nullptr) return;
            late->timer = 0;
            if (late->forming) return;  // the collective has what was left
            try {
                announce(PMIX_GROUP_INVITE_DECLINED, name, {late->leader});
            } catch (const std::bad_alloc&) {  // its inviter waits for its own limit
            }
            finish(*late, PMIX_ERR_TIMEOUT, {});
        });
    }
    for (const Invitation& i : received_) {
        if (i.name != j.name || !(i.leader == j.leader) || !i.leader_gone) continue;
        if (i.successor.nspace.empty()) return leader_failed(j, i.aborts, i.leads);
        j.leader = i.successor;
        break;
    }
    announce(PMIX_GROUP_INVITE_ACCEPTED, j.name, {j.leader}, {}, or_finish_join(j.id));
}

void GroupInvites::orphaned(Join& join) {
    transport::assert_on_loop();
    assert(join.orphan == 0 && !join.forming);
    join.orphan = session_.loop().after(kOrphanMs, [this, name = join.name] {
        Join* alone = joins_.find(name);
        if (alone == nullptr || alone->forming) return;
        alone->orphan = 0;
        finish(*alone, PMIX_GROUP_LEADER_FAILED, {});
    });
}

void GroupInvites::join_heard(Join& join, pmix_status_t code, const ProcId& source, const InfoList& infos,
                              const GroupVerdict& verdict) {
    transport::assert_on_loop();
    if (join.forming) return;  // the collective ends it
    if (code == PMIX_GROUP_CONSTRUCT_ABORT) return finish(join, PMIX_GROUP_CONSTRUCT_ABORT, {});
    if (code == PMIX_GROUP_MEMBERSHIP_UPDATE && source == join.leader)
        return or_end_join(join.id, [&] { follow(join, infos); });
    if (code == PMIX_GROUP_CONSTRUCT_COMPLETE && source == join.leader) return formed(join, infos);
    if (code == PMIX_GROUP_LEADER_SELECTED && !(source == session_.self())) {
        join.leader = source;
        if (join.orphan != 0) session_.loop().cancel(std::exchange(join.orphan, 0));
        announce(PMIX_GROUP_INVITE_ACCEPTED, join.name, {join.leader}, {}, or_finish_join(join.id));
        return;
    }
    if (code != PMIX_GROUP_LEADER_FAILED) return;
    // It may be known already, by a replay that no handler has seen; what handlers decide counts all the same.
    if (join.orphan != 0 && !verdict.abort && !verdict.leads) return;
    const pmix_proc_t* affected = nullptr;
    if (InfoView(infos).get(PMIX_EVENT_AFFECTED_PROC, &affected) != PMIX_SUCCESS || affected == nullptr ||
        !(ProcId(*affected) == join.leader))
        return;
    leader_failed(join, verdict.abort, verdict.leads);
}

// What is decided when the inviter has ended: then, or, when it was before we had answered, at our answer.
void GroupInvites::leader_failed(Join& join, bool abort, bool lead) {
    if (abort) {
        for (const Invitation& i : received_)
            if (i.name == join.name) announce(PMIX_GROUP_CONSTRUCT_ABORT, join.name, i.invited);
        return finish(join, PMIX_GROUP_CONSTRUCT_ABORT, {});
    }
    // It has invited nobody that we know of: who should follow it?
    const auto is_of_it = [&](const Invitation& i) { return i.name == join.name && i.leader == join.leader; };
    if (std::none_of(received_.begin(), received_.end(), is_of_it)) return finish(join, PMIX_GROUP_LEADER_FAILED, {});
    or_end_join(join.id, [&] { lead ? take_over(join) : orphaned(join); });
}

// An inviter with OpenPMIx's library, whose server has formed the group with those that accepted: there is no
// collective.
void GroupInvites::formed(Join& join, const InfoList& infos) {
    ProcList members;
    if (const pmix_info_t* said = infos.find(PMIX_GROUP_MEMBERSHIP)) common::read_proc_array(said->value, members);
    if (!contains(members, session_.self())) return;  // another group of the name
    or_end_join(join.id, [&] {
        InfoList results;
        for (const pmix_info_t& info : infos) {
            const std::string_view key = common::key_view(info);
            if (key == PMIX_EVENT_CUSTOM_RANGE || key == PMIX_EVENT_NON_DEFAULT) continue;
            if (results.append(info) == PMIX_ERR_NOMEM) throw std::bad_alloc();
        }
        session_.group_membership().constructing(join.name);
        session_.group_membership().constructed(join.name, PMIX_SUCCESS, results);
        finish(join, PMIX_SUCCESS, std::move(results));
    });
}

// The inviter has everybody: so to the collective, with what it wants of it.
void GroupInvites::follow(Join& join, const InfoList& infos) {
    ProcList members;
    if (const pmix_info_t* said = infos.find(PMIX_GROUP_MEMBERSHIP)) common::read_proc_array(said->value, members);
    if (!contains(members, session_.self())) return finish(join, PMIX_GROUP_CONSTRUCT_ABORT, {});
    InfoList given = for_all(infos), mine;
    for (const pmix_info_t& info : join.infos)
        if (given.find(common::key_view(info)) == nullptr) given.append(info);
    append_limited(mine, given, join.limit);
    assert(!join.forming);
    join.forming = true;
    const pmix_status_t rc =
        construct_on_server(session_, join.name, std::move(members), &join.leader, mine.c_array(), mine.size(),
                            [this, id = join.id](pmix_status_t status, InfoList&& results) {
                                if (Join* const j = joins_.find(id)) finish(*j, status, std::move(results));
                            });
    if (rc != PMIX_SUCCESS) finish(join, rc, {});
}

// The invited are those who were; each says again that it accepts.
void GroupInvites::take_over(Join& join) {
    transport::assert_on_loop();
    assert(!join.forming);
    Invite i;
    i.name = join.name;
    for (const Invitation& known : received_) {
        if (known.name != join.name || !(known.leader == join.leader)) continue;
        i.members = known.invited;
        for (const pmix_info_t& info : join.infos)
            if (known.directives.find(common::key_view(info)) == nullptr) i.infos.append(info);
        i.infos.append_all(known.directives.c_array(), known.directives.size());
    }
    if (i.infos.size() == 0) i.infos = std::move(join.infos);
    i.smaller = contains(i.members, join.leader);
    std::erase(i.members, join.leader);
    i.pending = i.members;
    std::erase(i.pending, session_.self());
    if (!contains(i.members, session_.self())) i.members.insert(i.members.begin(), session_.self());
    i.invited = i.pending;
    i.optional = InfoView(i.infos).flag(PMIX_GROUP_OPTIONAL);
    i.limit = join.limit;
    i.id = next_++;
    Invite& mine = invites_.add(std::move(i));
    begins(mine.name);
    // From here on it is this call, and not the join's.
    mine.done = std::move(join.done);
    if (join.timer != 0) session_.loop().cancel(join.timer);
    if (join.orphan != 0) session_.loop().cancel(join.orphan);
    joins_.remove(join);
    or_give_up(mine.id, [&] {
        InfoList infos;
        const pmix_proc_t self = session_.self().to_c();
        infos.append(PMIX_GROUP_LEADER, &self, PMIX_PROC);
        announce(PMIX_GROUP_LEADER_SELECTED, mine.name, mine.invited, std::move(infos));
        watch_limit(mine);
        check(mine);
    });
}

void GroupInvites::finish(Join& join, pmix_status_t status, InfoList&& results) {
    transport::assert_on_loop();
    if (join.timer != 0) session_.loop().cancel(join.timer);
    if (join.orphan != 0) session_.loop().cancel(join.orphan);
    GroupDone done = std::move(join.done);
    joins_.remove(join);
    assert(done);  // its caller is answered once
    done(status, std::move(results));
}

// ---- events ----

void GroupInvites::heard(pmix_status_t code, const std::string& name, const ProcId& source, const InfoList& infos,
                         const GroupVerdict& verdict, bool replayed) {
    if (code == PMIX_GROUP_INVITED) {
        const bool known = std::any_of(received_.begin(), received_.end(),
                                       [&](const Invitation& i) { return i.name == name && i.leader == source; });
        // Told once more because we began to listen: what has become of it since then stands.
        if (replayed && known) return;
        ProcList invited;
        if (const pmix_info_t* said = infos.find(PMIX_GROUP_MEMBERSHIP)) common::read_proc_array(said->value, invited);
        std::erase_if(received_, [&](const Invitation& i) { return i.name == name && i.leader == source; });
        if (received_.size() >= kMaxReceived) received_.pop_front();
        received_.push_back({name, source, std::move(invited), for_all(infos), {}});
        assert(received_.size() <= kMaxReceived);
        // One that waits for it had accepted before there was anything to accept.
        const Join* const join = joins_.find(name);
        if (!replayed && join != nullptr && join->leader == source && !join->forming && join->orphan == 0)
            announce(PMIX_GROUP_INVITE_ACCEPTED, name, {source}, {}, or_finish_join(join->id));
        return;
    }
    for (Invitation& i : received_) {
        if (i.name != name) continue;
        if (code == PMIX_GROUP_LEADER_FAILED && source == i.leader) {
            i.leader_gone = true;
            i.leads = i.leads || verdict.leads;
            i.aborts = i.aborts || verdict.abort;
        }
        if (code == PMIX_GROUP_LEADER_SELECTED && i.leader_gone) i.successor = source;
    }
    if (code == PMIX_GROUP_CONSTRUCT_ABORT && common::is_abort_of(source, infos)) {
        Join* join = joins_.find(name);
        if (join != nullptr && join->leader == source) join_heard(*join, code, source, infos, verdict);
        return;
    }
    if (Invite* invite = invites_.find(name)) {
        ProcId who = source;
        const pmix_proc_t* affected = nullptr;
        if (code == PMIX_GROUP_INVITE_FAILED &&
            InfoView(infos).get(PMIX_EVENT_AFFECTED_PROC, &affected) == PMIX_SUCCESS && affected != nullptr)
            who = ProcId(*affected);
        return invite_heard(*invite, code, who, verdict);
    }
    if (code == PMIX_GROUP_INVITE_ACCEPTED) {
        const auto ended =
            std::find_if(ended_.begin(), ended_.end(), [&](const auto& over) { return over.first == name; });
        // Of an invitation that is still to come: a process that waits for it accepts it then.
        if (ended == ended_.end() || contains(ended->second, source)) return;
        return answer_late(name, source);
    }
    Join* join = joins_.find(name);
    if (join == nullptr) return;
    // A successor of before we listened is this join's only if its inviter has ended: there may have been another group
    // of the name.
    if (replayed && code == PMIX_GROUP_LEADER_SELECTED && join->orphan == 0) return;
    join_heard(*join, code, source, infos, verdict);
}

void GroupInvites::shut(pmix_status_t why) noexcept {
    shut_ = true;
    server_gone(why);
}

// finish() takes the call out before anything of it can throw: so this ends, and each caller is told.
void GroupInvites::server_gone(pmix_status_t why) noexcept {
    const auto end_all = [&](auto& calls) {
        while (!calls.empty()) {
            try {
                finish(calls.oldest(), why, {});
            } catch (const std::bad_alloc&) {
            }
        }
    };
    end_all(invites_);
    end_all(joins_);
}

}  // namespace pmix::client

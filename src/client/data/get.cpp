// SPDX-License-Identifier: BSD-3-Clause
#include "client/data/get.h"

#include <cstdlib>
#include <memory>
#include <string>

#include "client/data/get_request.h"
#include "client/data/lookup.h"
#include "client/data/lookup_qualified.h"
#include "client/session/session.h"
#include "client/state/borrowed_values.h"
#include "client/state/group_membership.h"
#include "client/state/query_cache.h"
#include "common/base/version.h"
#include "common/codec/pack.h"
#include "common/protocol/group_calls.h"
#include "common/values/info_view.h"

namespace pmix::client {
namespace {

using common::Command;
using common::Value;

Sources sources(Session& session, const GetRequest& request) noexcept {
    const dstore::Reader* own = session.own_reader();
    return {session.self(),
            request.own_nspace ? own : session.namespaces().find(request.nspace),
            own,
            session.mine(),
            session.own_nspace(),
            session.stored_for_others()};
}

// What a search found: a value that lies in a store, or one that was made for this caller.
struct Outcome {
    pmix_status_t status = PMIX_ERR_NOT_FOUND;
    Hit hit;
    Value made;
    bool is_made = false;

    void make(common::Result<Value>&& value) {
        status = value.status();
        is_made = value.ok();
        if (is_made) made = std::move(value).value();
    }
};

// About the server of this process: an answer to a question about this process or its job, and of no other level.
common::Result<Value> servers_value(Session& session, const GetRequest& request) {
    if (!request.own_nspace || (request.one_rank() && request.rank != session.self().rank)) return PMIX_ERR_NOT_FOUND;
    if (request.realm == Realm::session || request.realm == Realm::app || request.realm == Realm::node)
        return PMIX_ERR_NOT_FOUND;
    const common::ProcId& server = session.server();
    if (server.nspace.empty()) return PMIX_ERR_NOT_FOUND;
    if (request.key == PMIX_SERVER_NSPACE) return Value::string(server.nspace);
    if (request.key == PMIX_SERVER_RANK) return Value::number(server.rank, PMIX_PROC_RANK);
    return session.own_facts().uri_of(server);
}

// Keys whose answer is the question, or this process itself.
common::Result<Value> identity_value(Session& session, const GetRequest& request) {
    if (request.key == PMIX_SERVER_URI || request.key == PMIX_SERVER_NSPACE || request.key == PMIX_SERVER_RANK)
        return servers_value(session, request);
    // Not of the job: that is what the topology itself is looked for under.
    if (request.key == PMIX_TOPOLOGY2 && request.own_nspace && request.rank == session.self().rank)
        return session.own_facts().topology();
    if (request.key == PMIX_FABRIC_DEVICES && request.own_nspace && request.rank == session.self().rank)
        return session.own_facts().devices();
    if (request.key == PMIX_PROCID && request.one_rank()) {
        const pmix_proc_t proc = common::ProcId(request.nspace, request.rank).to_c();
        return Value::load(&proc, PMIX_PROC);
    }
    if (request.key == PMIX_RANK && request.one_rank()) return Value::number(request.rank, PMIX_PROC_RANK);
    if (request.key == PMIX_NSPACE) return Value::string(request.nspace);
    if (request.key == PMIX_VERSION_INFO) return Value::string(common::kVersionText);
    if (request.key == PMIX_VERSION_NUMERIC) return Value::u32(PMIX_NUMERIC_VERSION);
    return PMIX_ERR_NOT_FOUND;
}

void search(Session& session, const GetRequest& request, Outcome& out) {
    const Sources from = sources(session, request);
    if (request.all_keys()) {
        out.make(look_up_all(from, request));
        return;
    }
    if (request.qualified) {
        out.make(look_up_qualified(from, request));
        if (out.status != PMIX_ERR_NOT_FOUND || !(request.of_group || qualifies_realm_only(request))) return;
    }
    out.status =
        request.scope == PMIX_SCOPE_UNDEF ? look_up(from, request, out.hit) : look_up_in_scope(from, request, out.hit);
    if (out.status == PMIX_ERR_NOT_FOUND && request.reserved()) out.make(identity_value(session, request));
}

// Is the information of the own job an answer? The Standard ignores the process where a session or a node is named by
// itself. Here the job that it names is looked at first, because hosts describe sessions and nodes with a job, and each
// job numbers nodes by itself. The own job has what one that is unknown cannot have; of a session, which has one number
// for all its jobs, also what a known one has not.
bool may_be_of_own_job(Session& session, const GetRequest& request) noexcept {
    if (request.own_nspace || !request.names_session_or_node()) return false;
    if (request.realm == Realm::session) return true;
    return session.reader(request.nspace) == nullptr && !session.namespaces().lacks(request.nspace);
}

// Searches the own job's data where the search, or the server, has failed.
void search_regardless_of_proc(Session& session, const GetRequest& request, Outcome& out) {
    if (out.status == PMIX_SUCCESS || !may_be_of_own_job(session, request)) return;
    GetRequest own = request;
    own.own_nspace = true;
    own.nspace = session.self().nspace;
    own.rank = PMIX_RANK_WILDCARD;
    const pmix_status_t why = out.status;
    search(session, own, out);
    if (out.status != PMIX_SUCCESS) out.status = why;
}

// True if the server may have a value that this process's stores do not have.
bool server_may_know(Session& session, const GetRequest& request) noexcept {
    if (request.optional || request.refresh) return false;
    // A singleton has none, and what it has not is not to be found. (A tool that has lost its server is told so.)
    if (!session.has_server()) return false;
    const bool own = request.own_nspace;
    if (request.reserved() && session.server_has_more()) return session.connected();
    // What the host said of a namespace is all in its segment, and the own one is there from the start.
    if (request.reserved() || request.all_keys()) return !own && session.reader(request.nspace) == nullptr;
    if (!own || request.rank != session.self().rank) return true;
    // Only this process can put it. Another thread is waited for, with its commit, for a limit of time or in strict
    // mode.
    return (request.timeout_s > 0 || session.strict()) && session.connected();
}

common::GetRequest message_for(Session& session, const GetRequest& request) {
    common::GetRequest message;
    message.proc = common::ProcId(request.nspace, request.rank);
    // For a qualified value the request has the key under which it is stored.
    auto key = request.qualified ? qualified_key(request) : common::Result<std::string>(std::string(request.key));
    if (key) message.key = std::move(*key);
    message.infos = common::Infos::borrow(request.infos, request.ninfos);
    Reading reading;
    const dstore::Reader* reader = session.reader(request.nspace);
    message.generation = reader == nullptr ? 0 : reader->publications();
    return message;
}

// What changes at a server of OpenPMIx's without a word to this process: it is asked even for what is here.
bool asks_first(const Session& session, const GetRequest& request) noexcept {
    if (!session.server_has_more() || request.optional || request.stores_only || !session.connected()) return false;
    if (request.key == PMIX_PSET_NAMES) return true;
    const bool self = request.own_nspace && request.rank == session.self().rank;
    if (!request.one_rank() || self) return false;
    if (request.all_keys()) return true;
    return !request.reserved() && session.may_be_old(request.nspace, request.rank);
}

// The server has answered: the value is in the reply, or in a segment now.
void take_reply(Session& session, const GetRequest& request, pmix_status_t status, common::GetReply& reply,
                Outcome& out) {
    try {
        // It has nothing newer.
        if (!common::succeeded(status) && asks_first(session, request)) search(session, request, out);
        // After a refresh, the stores have the answer, whatever the server's status.
        if (!common::succeeded(status) && !request.refresh) {
            // The process may have put its own key meanwhile without committing it.
            const bool own = request.own_nspace && request.rank == session.self().rank;
            if (own && status == PMIX_ERR_TIMEOUT) search(session, request, out);
            if (out.status != PMIX_SUCCESS) out.status = status;
        } else if (reply.is_inline) {
            out.status = common::decode_value_into(reply.value, out.made.c_ptr());
            out.is_made = out.status == PMIX_SUCCESS;
        } else {
            search(session, request, out);
            // It is in a segment for which this process had no room.
            if (out.status == PMIX_ERR_NOT_FOUND && session.namespaces().lacks(request.nspace))
                out.status = PMIX_ERR_OUT_OF_RESOURCE;
            if (out.status == PMIX_ERR_NOT_FOUND && session.refuses_segments()) out.status = PMIX_ERR_NO_PERMISSIONS;
        }
        search_regardless_of_proc(session, request, out);
    } catch (const std::bad_alloc&) {
        out.status = PMIX_ERR_NOMEM;
    }
    out.status = session.refusals().reported_by(out.status);
}

// What PMIx_Query_info has returned to this process, it finds here.
bool queried(Session& session, const GetRequest& request, Outcome& out) {
    const QueryCache& answers = session.query_cache();
    if (!answers.used() || request.stores_only || request.refresh) return false;
    if (request.all_keys() || request.qualified || request.scope != PMIX_SCOPE_UNDEF) return false;
    Value value;
    const common::InfoView infos(request.infos, request.ninfos);
    if (!answers.find(session.self(), common::ProcId(request.nspace, request.rank), request.key, infos, value))
        return false;
    out.make(std::move(value));
    return true;
}

// True: the answer (or the failure) is in out. False: the server is to be asked.
bool settle_here(Session& session, const GetRequest& request, TimeLimit limit, Outcome& out) {
    if (request.refresh && session.connected()) return false;
    if (asks_first(session, request)) return false;
    search(session, request, out);
    if (out.status != PMIX_ERR_NOT_FOUND) return true;
    // In a server the segments are at hand.
    if (session.reader(request.nspace) == nullptr) {
        const pmix_status_t rc = session.attach_here(request.nspace, limit);
        if (rc == PMIX_ERR_TIMEOUT || rc == PMIX_ERR_OUT_OF_RESOURCE) out.status = rc;
        if (rc == PMIX_SUCCESS) search(session, request, out);
        if (out.status != PMIX_ERR_NOT_FOUND) return true;
    }
    if (queried(session, request, out)) return true;
    return !server_may_know(session, request);
}

// Not found, but it may be in a segment that this process could not take when the server sent it.
bool is_lacked(Session& session, const GetRequest& request, const Outcome& out) noexcept {
    return out.status == PMIX_ERR_NOT_FOUND && session.namespaces().lacks(request.nspace);
}

// What both forms of the call do after they have looked here.
enum class Next : uint8_t {
    answer,  // it is in out
    renew,   // the segment that has taken the place of the one that is mapped; then look again
    attach,  // a segment that this process could not take; then look again
    ask      // the server
};

// A segment that is not to be had decides nothing: its job may be unknown.
bool goes_on_without(const GetRequest& request) noexcept {
    return !request.own_nspace && request.names_session_or_node();
}

// What has not been tried yet.
struct MayTry {
    bool renew = true;
    bool attach = true;
};

// While reading.
Next look_here(Session& session, const GetRequest& request, MayTry may, TimeLimit limit, Outcome& out) {
    const dstore::Reader* const first = session.reader(request.nspace);
    const bool mapped = first != nullptr;
    if (mapped && first->is_superseded() && may.renew) return Next::renew;
    bool settled = settle_here(session, request, limit, out);
    if (is_lacked(session, request, out)) {
        if (may.attach) return Next::attach;
        out.status = PMIX_ERR_OUT_OF_RESOURCE;  // lost once more
    } else if (!mapped && out.status == PMIX_ERR_NOT_FOUND && session.reader(request.nspace) != nullptr) {
        // Another thread has brought the segment between the two questions.
        settled = settle_here(session, request, limit, out);
    }
    if (settled) {
        search_regardless_of_proc(session, request, out);
        return Next::answer;
    }
    // The host, which may take its time with a job that it does not know, is not waited for where the own job has the
    // answer. The server has the last word on whether the named job is known.
    if (!request.refresh && session.reader(request.nspace) == nullptr && may_be_of_own_job(session, request)) {
        if (may.attach) return Next::attach;
        search_regardless_of_proc(session, request, out);
        if (out.status == PMIX_SUCCESS) return Next::answer;
    }
    return Next::ask;
}

// PMIX_GET_STATIC_VALUES: the caller destructs the value, so whatever it points to is memory of the caller's.
pmix_status_t fill_storage(Outcome& out, pmix_value_t* storage) {
    if (!out.is_made) return common::decode_value_into(out.hit.bytes(), storage);
    *storage = out.made.take();
    return PMIX_SUCCESS;
}

pmix_status_t hand_out(Session& session, const GetRequest& request, Outcome& out, pmix_value_t** ret_value) {
    if (request.required_unknown) return PMIX_ERR_NOT_SUPPORTED;
    if (request.into_caller) return fill_storage(out, *ret_value);
    if (request.by_pointer) {
        common::Result<const pmix_value_t*> value = PMIX_ERR_NOT_FOUND;
        if (out.is_made) {
            common::ByteWriter encoded;
            WIREUP_RETURN_IF_ERROR(common::encode_value(encoded, out.made.get()));
            value = session.borrowed().keep(encoded.view());
        } else {
            value =
                out.hit.pin() ? session.borrowed().borrow(out.hit.bytes()) : session.borrowed().keep(out.hit.bytes());
        }
        if (!value) return value.status();
        *ret_value = const_cast<pmix_value_t*>(value.value());
        return PMIX_SUCCESS;
    }
    if (!out.is_made) {
        WIREUP_RETURN_IF_ERROR(common::decode_value_into(out.hit.bytes(), out.made.c_ptr()));
    }
    *ret_value = out.made.release();
    return *ret_value == nullptr ? PMIX_ERR_NOMEM : PMIX_SUCCESS;
}

// A request that outlives the call that made it, with what it points to.
struct Pending {
    std::string nspace, key;
    common::InfoList infos;
    GetRequest request;
    TimeLimit limit{0};
    pmix_value_cbfunc_t callback;
    void* cbdata;

    // While reading: what was found is copied, to be had later.
    static void keep(Outcome& out) {
        if (out.status != PMIX_SUCCESS || out.is_made) return;
        out.status = common::decode_value_into(out.hit.bytes(), out.made.c_ptr());
        out.is_made = true;
    }
    // The value stays ours: it is gone when the callback has returned.
    void fire(Outcome& out) const {
        if (out.status == PMIX_SUCCESS && request.required_unknown) out.status = PMIX_ERR_NOT_SUPPORTED;
        callback(out.status, out.status == PMIX_SUCCESS ? out.made.c_ptr() : nullptr, cbdata);
    }
};

using PendingPtr = std::shared_ptr<Pending>;

pmix_status_t fire_later(Session& session, const PendingPtr& pending, std::unique_ptr<Outcome> out) {
    session.loop().post([pending, out = std::move(out)] { pending->fire(*out); });
    return PMIX_SUCCESS;
}

// Looks here, then asks. A segment that this process could not take, or has not got yet, is asked for first, once.
pmix_status_t begin_nb(Session& session, const PendingPtr& pending, MayTry may) {
    auto out = std::make_unique<Outcome>();
    Next next;
    {
        Reading reading;
        next = look_here(session, pending->request, may, pending->limit, *out);
        if (next == Next::answer) Pending::keep(*out);
    }
    if (next == Next::renew) {
        may.renew = false;
        const auto renewed = [&session, pending, may](pmix_status_t) {
            // Also where it has failed: the old segment has what it has.
            const pmix_status_t status = begin_nb(session, pending, may);
            if (status == PMIX_SUCCESS) return;
            Outcome failed;
            failed.status = status;
            pending->fire(failed);
        };
        if (session.attach_nb(pending->request.nspace, renewed, pending->limit) == PMIX_SUCCESS) return PMIX_SUCCESS;
        return begin_nb(session, pending, may);
    }
    if (next == Next::attach) {
        may.attach = false;
        const auto attached = [&session, pending, may](pmix_status_t status) {
            if (status == PMIX_SUCCESS || goes_on_without(pending->request)) status = begin_nb(session, pending, may);
            if (status == PMIX_SUCCESS) return;
            Outcome failed;
            failed.status = status;
            pending->fire(failed);
        };
        const pmix_status_t asked = session.attach_nb(pending->request.nspace, attached, pending->limit);
        return asked == PMIX_SUCCESS || !goes_on_without(pending->request) ? asked : begin_nb(session, pending, may);
    }
    if (next == Next::ask && pending->limit.over()) {
        Reading reading;
        common::GetReply none;
        take_reply(session, pending->request, PMIX_ERR_TIMEOUT, none, *out);
        Pending::keep(*out);
        next = Next::answer;
    }
    if (next == Next::answer) return fire_later(session, pending, std::move(out));
    const auto done = [&session, pending](pmix_status_t status, common::GetReply& reply) {
        Outcome late;
        {
            Reading reading;
            take_reply(session, pending->request, status, reply, late);
            Pending::keep(late);
        }
        pending->fire(late);
    };
    return session.ask_nb<Command::get>(message_for(session, pending->request), done, pending->limit.left_s());
}

// A Get that names a group, which is in no store: the member with this rank in the group is translated to its process.
struct OfGroups {
    pmix_proc_t real;
    const pmix_proc_t* proc;
    std::optional<common::Result<Value>> said;  // the answer
    bool ask_names = false;
    bool in_common = false;  // the qualifiers name a group of this process's and of that one

    OfGroups(Session& session, const pmix_proc_t* asked, const char* key, const pmix_info_t infos[], size_t ninfos)
        : proc(asked) {
        if (key == nullptr) return;
        ask_names = std::string_view(key) == PMIX_GROUP_NAMES && session.has_server();
        if (asked == nullptr || !session.group_membership().any_for(ninfos) || (infos == nullptr && ninfos != 0))
            return;
        real = *asked;
        const pmix_status_t rc = session.group_membership().replace(real);
        proc = &real;
        if (rc != PMIX_SUCCESS) {
            said = common::Result<Value>(rc);
        } else {
            said = session.group_membership().answer(proc, key, infos, ninfos);
            if (!said) in_common = session.group_membership().in_common(*proc, {infos, ninfos});
        }
    }
};

// The groups of a process are the server's to know.
common::GroupRequest names_request(const GetRequest& request) {
    common::GroupRequest message;
    message.call = common::GroupCall::names;
    message.procs.emplace_back(request.nspace, request.rank);
    return message;
}

void take_names(pmix_status_t status, const common::GroupReply& reply, Outcome& out) {
    out.status = status;
    if (!common::succeeded(status)) return;
    const pmix_info_t* names = common::InfoView(reply.infos.data(), reply.infos.size()).find(PMIX_GROUP_NAMES);
    out.make(names == nullptr ? common::Result<Value>(PMIX_ERR_NOT_FOUND) : Value::copy_of(names->value));
}

}  // namespace

void clear_result(const pmix_info_t infos[], size_t ninfos, pmix_value_t** ret_value) noexcept {
    if (ret_value != nullptr && !common::InfoView(infos, ninfos).flag(PMIX_GET_STATIC_VALUES)) *ret_value = nullptr;
}

pmix_status_t get_at_once(Session& session, const pmix_proc_t* proc, const char* key, pmix_value_t** ret_value) {
    if (ret_value == nullptr || key == nullptr) return PMIX_ERR_BAD_PARAM;
    GetRequest request;
    pmix_status_t rc = parse_get_target(session.self(), proc, key, request);
    if (rc != PMIX_SUCCESS) return rc;
    if (asks_first(session, request)) return PMIX_ERR_NOT_FOUND;
    Hit hit;
    const Sources from = sources(session, request);
    if (from.target != nullptr && from.target->is_superseded()) return PMIX_ERR_NOT_FOUND;
    rc = look_up(from, request, hit);
    if (rc != PMIX_SUCCESS) return rc;
    auto* value = static_cast<pmix_value_t*>(std::malloc(sizeof(pmix_value_t)));
    if (value == nullptr) return PMIX_ERR_NOMEM;
    rc = common::decode_value_into(hit.bytes(), value);
    if (rc != PMIX_SUCCESS) {
        std::free(value);
        return rc;
    }
    *ret_value = value;
    return PMIX_SUCCESS;
}

pmix_status_t get(Session& session, const pmix_proc_t* proc, const char* key, const pmix_info_t infos[], size_t ninfos,
                  pmix_value_t** ret_value, bool stores_only) {
    if (ret_value == nullptr) return PMIX_ERR_BAD_PARAM;
    clear_result(infos, ninfos, ret_value);
    OfGroups of_groups(session, proc, key, infos, ninfos);
    auto request = parse_get(session.self(), of_groups.proc, key, infos, ninfos);
    if (!request) return request.status();
    request->of_group = of_groups.in_common;
    if (request->into_caller && *ret_value == nullptr) return PMIX_ERR_BAD_PARAM;
    request->stores_only = stores_only;

    Outcome out;
    if (of_groups.said || of_groups.ask_names) {
        if (of_groups.said) {
            out.make(std::move(*of_groups.said));
        } else {
            common::GroupReply reply;
            const pmix_status_t rc = session.ask<Command::group>(names_request(*request), reply, request->timeout_s);
            if (rc == PMIX_ERR_WOULD_BLOCK) return rc;
            take_names(rc, reply, out);
        }
        return out.status == PMIX_SUCCESS ? hand_out(session, *request, out, ret_value) : out.status;
    }
    MayTry may;
    may.renew = !session.must_not_wait();
    const TimeLimit limit(request->timeout_s);
    for (;;) {
        Next next;
        {
            Reading reading;
            next = look_here(session, *request, may, limit, out);
            if (next == Next::ask) break;
            if (next == Next::answer)
                return out.status == PMIX_SUCCESS ? hand_out(session, *request, out, ret_value) : out.status;
        }
        if (next == Next::renew) {
            may.renew = false;
            // Also where it fails: the old segment has what it has.
            session.renew(request->nspace, limit);
            continue;
        }
        may.attach = false;
        const pmix_status_t attached = session.attach(request->nspace, limit);
        if (attached != PMIX_SUCCESS && !goes_on_without(*request)) return attached;
    }
    common::GetReply reply;
    const pmix_status_t rc = limit.over()
                                 ? PMIX_ERR_TIMEOUT
                                 : session.ask<Command::get>(message_for(session, *request), reply, limit.left_s());
    if (rc == PMIX_ERR_WOULD_BLOCK && !asks_first(session, *request)) return rc;
    Reading reading;
    take_reply(session, *request, rc, reply, out);
    return out.status == PMIX_SUCCESS ? hand_out(session, *request, out, ret_value) : out.status;
}

pmix_status_t get_nb(Session& session, const pmix_proc_t* proc, const char* key, const pmix_info_t infos[],
                     size_t ninfos, pmix_value_cbfunc_t callback, void* cbdata) {
    if (callback == nullptr) return PMIX_ERR_BAD_PARAM;
    OfGroups of_groups(session, proc, key, infos, ninfos);
    auto pending = std::make_shared<Pending>();
    if (infos != nullptr && ninfos <= common::kMaxListLength)
        WIREUP_RETURN_IF_ERROR(pending->infos.append_all(infos, ninfos));
    if (pending->infos.size() != ninfos) return PMIX_ERR_BAD_PARAM;
    auto request = parse_get(session.self(), of_groups.proc, key, pending->infos.c_array(), ninfos);
    if (!request) return request.status();
    request->of_group = of_groups.in_common;
    // There is no storage of the caller's to fill.
    if (request->into_caller) return PMIX_ERR_NOT_SUPPORTED;

    pending->nspace = request->nspace;
    pending->key = request->key;
    pending->request = *request;
    pending->request.nspace = pending->nspace;
    pending->request.key = pending->key;
    pending->limit = TimeLimit(request->timeout_s);
    pending->callback = callback;
    pending->cbdata = cbdata;

    auto out = std::make_unique<Outcome>();
    if (of_groups.ask_names && !of_groups.said) {
        const auto told = [pending](pmix_status_t status, common::GroupReply& reply) {
            Outcome names;
            take_names(status, reply, names);
            pending->fire(names);
        };
        return session.ask_nb<Command::group>(names_request(pending->request), told, pending->request.timeout_s);
    }
    if (of_groups.said) {
        out->make(std::move(*of_groups.said));
        return fire_later(session, pending, std::move(out));
    }
    return begin_nb(session, pending, MayTry());
}

}  // namespace pmix::client

// SPDX-License-Identifier: BSD-3-Clause
// A client's requests, as frames.
#include <algorithm>
#include <utility>

#include "common/base/log.h"
#include "common/codec/pack.h"
#include "common/values/array_value.h"
#include "dstore/qualified.h"
#include "server/openpmix/translator.h"
#include "server/openpmix/translator_calls.h"

namespace pmix::server {

namespace theirs = pmix::openpmix;

using common::Bytes;
using common::Command;
using common::FrameHeader;
using common::InfoList;

namespace {

// Of what a client has put.
void log_lost(const Peer& peer, const char* what, pmix_status_t status) {
    WIREUP_LOG(server, warn, "%s:%u has put what cannot be kept, %s is lost: %s", peer.id().nspace.c_str(),
               peer.id().rank, what, common::log_status(status));
}

void copy_to(InfoList& to, const common::Infos& from) {
    if (to.append_all(from.data(), from.size()) == PMIX_ERR_NOMEM) throw std::bad_alloc();
}

std::string text_of(const theirs::Text& text) {
    return text.null ? std::string() : text.text;
}

// Under the key that this library stores it with. One without qualifiers stays what it is.
void store_qualified(theirs::KeyValue& pair) {
    auto stored = dstore::stored_form(pair.value.get());
    if (stored.status() == PMIX_ERR_NOMEM) throw std::bad_alloc();
    if (!stored.ok()) return;
    pair.key = std::move(stored->key);
    pair.value = std::move(stored->value);
}

common::KeyList keys_of(const theirs::Keys& keys) {
    common::KeyList list;
    for (const theirs::Text& key : keys.keys) list.push_back(text_of(key));
    return list;
}

}  // namespace

template <class Theirs, class Ours, class Convert>
bool OpenPmixTranslator::relay(uint32_t tag, Bytes payload, Command command, Convert convert) {
    Theirs request;
    if (!read(tag, payload, &request)) return true;
    Ours ours;
    Pending pending;
    pending.command = Theirs::kCommand;
    convert(request, ours);
    pass(tag, command, ours, std::move(pending));
    return true;
}

void OpenPmixTranslator::notify_server(Command command, const auto& message) {
    auto payload = common::message_bytes(message);
    if (!payload.ok()) return;
    FrameHeader header = FrameHeader::notify(static_cast<uint16_t>(command));
    header.payload = static_cast<uint32_t>(payload->size());
    ends_.serve_frame(header, *payload);
}

bool OpenPmixTranslator::message(const theirs::FrameHeader& header, Bytes payload) {
    // Never answered: releases crash on a message with this tag.
    if (header.tag == theirs::kHeartbeatTag) {
        notify_server(Command::heartbeat, common::Nothing{});
        return true;
    }
    if (header.tag < theirs::kFirstRequestTag) return true;
    if (pending_.count(header.tag) != 0) return false;
    uint8_t command = 0;
    if (theirs::read_command(payload, traits_, &command) != PMIX_SUCCESS) return false;
    return request(command, header.tag, payload);
}

bool OpenPmixTranslator::request(uint8_t number, uint32_t tag, Bytes payload) {
    const auto command = static_cast<theirs::Command>(number);
    switch (command) {
        case theirs::Command::job_data:
        case theirs::Command::store_fallback:
            return tell_job(tag);
        case theirs::Command::abort:
            return relay<theirs::AbortRequest, common::AbortRequest>(tag, payload, Command::abort,
                                                                     [](auto& from, auto& to) {
                                                                         to.status = from.status.value;
                                                                         to.message = text_of(from.message);
                                                                         to.procs = std::move(from.procs.procs);
                                                                     });
        case theirs::Command::commit:
            return commit(tag, payload);
        case theirs::Command::fence:
            return relay<theirs::FenceRequest, common::FenceRequest>(tag, payload, Command::fence,
                                                                     [](auto& from, auto& to) {
                                                                         to.procs = std::move(from.procs.procs);
                                                                         to.infos = std::move(from.infos.infos);
                                                                     });
        case theirs::Command::get:
            return get(tag, payload);
        case theirs::Command::refresh:
            return refresh(tag, payload);
        case theirs::Command::finalize:
            return relay<theirs::FinalizeRequest, common::FinalizeRequest>(tag, payload, Command::finalize,
                                                                           [](auto&, auto&) {});
        case theirs::Command::publish:
            return relay<theirs::PublishRequest, common::PublishRequest>(
                tag, payload, Command::publish, [](auto& from, auto& to) { to.infos = std::move(from.infos.infos); });
        case theirs::Command::lookup:
            return lookup(tag, payload);
        case theirs::Command::unpublish:
            return unpublish(tag, payload);
        case theirs::Command::spawn:
            return relay<theirs::SpawnRequest, common::SpawnRequest>(tag, payload, Command::spawn,
                                                                     [](auto& from, auto& to) {
                                                                         to.infos = std::move(from.infos.infos);
                                                                         to.apps = std::move(from.apps.elements);
                                                                     });
        case theirs::Command::connect:
            return relay<theirs::PlainConnectRequest, common::ConnectRequest>(
                tag, payload, Command::connect, [](auto& from, auto& to) {
                    to.procs = std::move(from.procs.procs);
                    to.infos = std::move(from.infos.infos);
                });
        case theirs::Command::disconnect:
            return relay<theirs::DisconnectRequest, common::ConnectRequest>(tag, payload, Command::disconnect,
                                                                            [](auto& from, auto& to) {
                                                                                to.procs = std::move(from.procs.procs);
                                                                                to.infos = std::move(from.infos.infos);
                                                                            });
        case theirs::Command::notify:
            return relay<theirs::NotifyRequest, common::NotifyEventRequest>(tag, payload, Command::notify_event,
                                                                            [this](auto& from, auto& to) {
                                                                                to.status = from.code.value;
                                                                                to.source = peer_.id();
                                                                                to.range = from.range.value;
                                                                                to.infos = std::move(from.infos.infos);
                                                                                complete_group_event(to);
                                                                            });
        case theirs::Command::register_events:
            return register_events(tag, payload);
        case theirs::Command::deregister_events:
            return deregister_events(payload);
        case theirs::Command::group_construct:
            return relay<theirs::GroupConstructRequest, common::GroupRequest>(
                tag, payload, Command::group, [](auto& from, auto& to) {
                    to.call = common::GroupCall::construct;
                    to.name = text_of(from.group);
                    to.procs = std::move(from.procs.procs);
                    to.infos = std::move(from.infos.infos);
                });
        case theirs::Command::group_destruct:
            return group_destruct(tag, payload);
        case theirs::Command::group_invite:
            return group_invite(tag, payload);
        case theirs::Command::group_join:
            return group_join(tag, payload);
        default:
            return request_of_services(command, tag, payload);
    }
}

bool OpenPmixTranslator::request_of_services(theirs::Command command, uint32_t tag, Bytes payload) {
    switch (command) {
        case theirs::Command::query:
            return relay<theirs::QueryRequest, common::QueryRequest>(
                tag, payload, Command::query,
                [](auto& from, auto& to) { to.queries = std::move(from.queries.elements); });
        case theirs::Command::log:
            return log(tag, payload);
        case theirs::Command::allocation:
            return relay<theirs::AllocationRequest, common::AllocateRequest>(tag, payload, Command::allocate,
                                                                             [](auto& from, auto& to) {
                                                                                 to.directive = from.directive.value;
                                                                                 to.infos = std::move(from.infos.infos);
                                                                             });
        case theirs::Command::job_control:
            return relay<theirs::JobControlRequest, common::JobControlRequest>(
                tag, payload, Command::job_control, [](auto& from, auto& to) {
                    to.procs = std::move(from.procs.procs);
                    to.directives = std::move(from.infos.infos);
                });
        case theirs::Command::monitor:
            return relay<theirs::MonitorRequest, common::MonitorRequest>(
                tag, payload, Command::monitor, [](auto& from, auto& to) {
                    InfoList one;
                    copy_to(one, common::Infos::borrow(from.monitor.element.data(), from.monitor.element.size()));
                    to.code = from.error.value;
                    to.infos = std::move(one);
                    to.directives = std::move(from.infos.infos);
                });
        case theirs::Command::get_credential:
            return relay<theirs::GetCredentialRequest, common::GetCredentialRequest>(
                tag, payload, Command::get_credential,
                [](auto& from, auto& to) { to.directives = std::move(from.infos.infos); });
        case theirs::Command::validate_credential:
            return relay<theirs::ValidateCredentialRequest, common::ValidateCredentialRequest>(
                tag, payload, Command::validate_credential, [](auto& from, auto& to) {
                    to.credential.assign(from.credential.bytes.begin(), from.credential.bytes.end());
                    to.directives = std::move(from.infos.infos);
                });
        case theirs::Command::iof_pull:
            return iof_pull(tag, payload);
        case theirs::Command::iof_push:
            pushes_ = true;
            return relay<theirs::IofPushRequest, common::IofPushRequest>(tag, payload, Command::iof_push,
                                                                         [](auto& from, auto& to) {
                                                                             to.procs = std::move(from.procs.procs);
                                                                             to.infos = std::move(from.infos.infos);
                                                                             to.data = from.data.bytes;
                                                                         });
        case theirs::Command::iof_deregister:
            return iof_deregister(tag, payload);
        case theirs::Command::fabric_register:
            return relay<theirs::FabricRegisterRequest, common::FabricRequest>(
                tag, payload, Command::fabric, [](auto& from, auto& to) {
                    to.operation = PMIX_FABRIC_REQUEST_INFO;
                    to.directives = std::move(from.infos.infos);
                });
        case theirs::Command::fabric_update:
            return relay<theirs::FabricUpdateRequest, common::FabricRequest>(
                tag, payload, Command::fabric, [](auto& from, auto& to) {
                    InfoList which;
                    if (which.append_number<size_t>(PMIX_FABRIC_INDEX, from.index.value, PMIX_SIZE) != PMIX_SUCCESS)
                        throw std::bad_alloc();
                    to.operation = PMIX_FABRIC_UPDATE_INFO;
                    to.directives = std::move(which);
                });
        case theirs::Command::resource_block:
            return relay<theirs::ResourceBlockRequest, common::ResourceBlockRequest>(
                tag, payload, Command::resource_block, [](auto& from, auto& to) {
                    to.directive = from.directive.value;
                    to.block = text_of(from.block);
                    to.directives = std::move(from.infos.infos);
                    if (from.units.elements.empty()) return;
                    auto array = common::array_value(std::move(from.units.elements));
                    InfoList units;
                    if (!array.ok() || units.append(PMIX_RESOURCE_BLOCK_NAME, std::move(array).value()) != PMIX_SUCCESS)
                        throw std::bad_alloc();
                    to.units = std::move(units);
                });
        case theirs::Command::session_control:
            return relay<theirs::SessionControlRequest, common::SessionControlRequest>(
                tag, payload, Command::session_control, [](auto& from, auto& to) {
                    to.session_id = from.session.value;
                    to.directives = std::move(from.infos.infos);
                });
        case theirs::Command::resolve_peers:
            return relay<theirs::ResolvePeersRequest, common::ResolveRequest>(tag, payload, Command::resolve_peers,
                                                                              [](auto& from, auto& to) {
                                                                                  to.node = text_of(from.node);
                                                                                  to.nspace = text_of(from.nspace);
                                                                              });
        case theirs::Command::resolve_node:
            return relay<theirs::ResolveNodeRequest, common::ResolveRequest>(
                tag, payload, Command::resolve_nodes, [](auto& from, auto& to) { to.nspace = text_of(from.nspace); });
        default:
            answer_status(tag, PMIX_ERR_NOT_SUPPORTED);
            return true;
    }
}

// ---- data ----

// Everything that is not in the answer is asked for by its key later.
bool OpenPmixTranslator::tell_job(uint32_t tag) {
    theirs::JobData data;
    data.nspace = theirs::Text(peer_.id().nspace);
    std::vector<uint8_t> message;
    const pmix_status_t rc = theirs::encode(data, traits_, &message);
    if (rc != PMIX_SUCCESS) return false;
    if (const Nspace* nspace = readable(peer_.id().nspace)) {
        auto calls = job_data_.job(*nspace, traits_);
        if (calls.ok()) message.insert(message.end(), (*calls)->begin(), (*calls)->end());
    }
    ends_.send_message(tag, message);
    return true;
}

// What a process puts for everybody stands in both sections, and so does what it deletes for everybody. Of a key that
// is deleted and put again the later section counts.
bool OpenPmixTranslator::commit(uint32_t tag, Bytes payload) {
    theirs::CommitRequest request;
    if (!read(tag, payload, &request)) return true;
    struct Put {
        std::string key;
        common::Blob value;
        pmix_scope_t scope;
    };
    std::vector<Put> puts;
    std::map<std::string, size_t, std::less<>> local, deleted;
    for (const theirs::Section& section : request.sections.sections) {
        theirs::SectionData data;
        // Their PMIx_Commit has ended with success before this is read, so one value that cannot be taken costs that
        // key alone, or where it cannot be read those behind it. Others' Gets of them end like those of any absent key.
        pmix_status_t rc = theirs::decode(section.values, traits_, &data);
        if (rc != PMIX_SUCCESS) log_lost(peer_, "the rest of its commit", rc);
        const bool deletes = dstore::deleted_scope(section.scope) != PMIX_SCOPE_UNDEF;
        for (theirs::KeyValue& pair : data.values.pairs) {
            if (deletes) {
                const auto same = section.scope == PMIX_DEL_REMOTE ? deleted.find(pair.key) : deleted.end();
                if (same != deleted.end()) {
                    puts[same->second].scope = PMIX_DEL_GLOBAL;
                    continue;
                }
                if (section.scope == PMIX_DEL_LOCAL) deleted.insert_or_assign(pair.key, puts.size());
                puts.push_back({std::move(pair.key), {}, section.scope});
                continue;
            }
            if (pair.key == PMIX_QUALIFIED_VALUE) store_qualified(pair);
            common::ByteWriter w;
            rc = common::encode_value(w, pair.value.get());
            if (rc != PMIX_SUCCESS) {
                log_lost(peer_, pair.key.c_str(), rc);
                continue;
            }
            const auto same = section.scope == PMIX_REMOTE ? local.find(pair.key) : local.end();
            if (same != local.end() && std::ranges::equal(puts[same->second].value, w.view())) {
                puts[same->second].scope = PMIX_GLOBAL;
                continue;
            }
            if (section.scope == PMIX_LOCAL) local.insert_or_assign(pair.key, puts.size());
            puts.push_back({std::move(pair.key), w.take(), section.scope});
        }
    }
    common::CommitRequest ours;
    ours.generation = ++commits_;
    ours.entries.reserve(puts.size());
    for (const Put& put : puts) ours.entries.push_back({static_cast<uint8_t>(put.scope), put.key, put.value});
    Pending pending;
    pending.command = theirs::Command::commit;
    pass(tag, Command::commit, ours, std::move(pending));
    return true;
}

bool OpenPmixTranslator::get(uint32_t tag, Bytes payload) {
    theirs::GetRequest request;
    if (!read(tag, payload, &request)) return true;
    Pending pending;
    pending.command = theirs::Command::get;
    pending.proc = {request.nspace.null || request.nspace.text.empty() ? peer_.id().nspace : request.nspace.text,
                    request.rank.value};
    if (request.key) pending.key = text_of(*request.key);
    const common::InfoView infos(request.infos.infos.data(), request.infos.infos.size());
    pending.renews = infos.flag(PMIX_GET_REFRESH_CACHE);
    // Reserved ones alone name a level or a group, and are the operation's to read.
    const bool qualified = std::ranges::any_of(infos, [](const pmix_info_t& info) {
        return dstore::is_qualifier(info) && !common::is_reserved_key(common::key_view(info));
    });
    if (auto qualifiers = dstore::Qualifiers::marked_in(infos); qualified && qualifiers.ok() && !pending.key.empty())
        pending.key = qualifiers->key_for(pending.key);
    common::GetRequest ours;
    ours.proc = pending.proc;
    ours.key = pending.key;
    ours.infos = std::move(request.infos.infos);
    pass(tag, Command::get, ours, std::move(pending));
    return true;
}

bool OpenPmixTranslator::refresh(uint32_t tag, Bytes payload) {
    theirs::RefreshRequest request;
    if (!read(tag, payload, &request)) return true;
    Pending pending;
    pending.command = theirs::Command::refresh;
    pending.proc = {request.nspace.null ? peer_.id().nspace : request.nspace.text, request.rank.value};
    InfoList infos;
    if (infos.append_flag(PMIX_GET_REFRESH_CACHE, true) != PMIX_SUCCESS) throw std::bad_alloc();
    common::GetRequest ours;
    ours.proc = pending.proc;
    ours.infos = std::move(infos);
    pass(tag, Command::get, ours, std::move(pending));
    return true;
}

bool OpenPmixTranslator::lookup(uint32_t tag, Bytes payload) {
    return relay<theirs::LookupRequest, common::LookupRequest>(tag, payload, Command::lookup, [](auto& from, auto& to) {
        to.keys = keys_of(from.keys);
        to.infos = std::move(from.infos.infos);
    });
}

bool OpenPmixTranslator::unpublish(uint32_t tag, Bytes payload) {
    return relay<theirs::UnpublishRequest, common::UnpublishRequest>(tag, payload, Command::unpublish,
                                                                     [](auto& from, auto& to) {
                                                                         to.keys = keys_of(from.keys);
                                                                         to.all = to.keys.empty();
                                                                         to.infos = std::move(from.infos.infos);
                                                                     });
}

bool OpenPmixTranslator::group_destruct(uint32_t tag, Bytes payload) {
    const auto convert = [](auto& from, auto& to) {
        to.call = common::GroupCall::destruct;
        to.name = text_of(from.group);
        to.infos = std::move(from.infos.infos);
    };
    if (traits_.destruct_has_members)
        return relay<theirs::GroupDestructRequest, common::GroupRequest>(tag, payload, Command::group, convert);
    return relay<theirs::PlainGroupDestructRequest, common::GroupRequest>(tag, payload, Command::group, convert);
}

// The time at which it was asked for travels beside the directives.
bool OpenPmixTranslator::log(uint32_t tag, Bytes payload) {
    return relay<theirs::LogRequest, common::LogRequest>(tag, payload, Command::log, [](auto& from, auto& to) {
        InfoList directives;
        copy_to(directives, from.directives.infos);
        if (from.time.value != 0 && directives.find(PMIX_LOG_TIMESTAMP) == nullptr &&
            directives.append(PMIX_LOG_TIMESTAMP, &from.time.value, PMIX_TIME) != PMIX_SUCCESS)
            throw std::bad_alloc();
        to.infos = std::move(from.data.infos);
        to.directives = std::move(directives);
    });
}

// ---- events and output ----

bool OpenPmixTranslator::register_events(uint32_t tag, Bytes payload) {
    theirs::RegisterEventsRequest request;
    if (!read(tag, payload, &request)) return true;
    Registration registration;
    registration.is_default = request.codes.codes.empty();
    registration.codes.insert(request.codes.codes.begin(), request.codes.codes.end());
    Pending pending;
    pending.command = theirs::Command::register_events;
    pending.reference = next_reference_++;
    common::RegisterEventsRequest ours;
    ours.codes.assign(request.codes.codes.begin(), request.codes.codes.end());
    ours.infos = std::move(request.infos.infos);
    ours.reference = pending.reference;
    registrations_.emplace(pending.reference, std::move(registration));
    ++registering_;
    pass(tag, Command::register_events, ours, std::move(pending));
    return true;
}

// Not answered.
bool OpenPmixTranslator::deregister_events(Bytes payload) {
    theirs::DeregisterEventsRequest request;
    if (theirs::decode(payload, traits_, &request) != PMIX_SUCCESS) return true;
    for (const auto& call : request.codes.calls) {
        for (const pmix_status_t code : call) {
            for (auto it = registrations_.begin(); it != registrations_.end();) {
                Registration& r = it->second;
                const bool over =
                    r.is_default ? code == theirs::kDefaultHandlerCode : r.codes.erase(code) != 0 && r.codes.empty();
                if (!over) {
                    ++it;
                    continue;
                }
                common::DeregisterEventsRequest ours;
                ours.reference = it->first;
                it = registrations_.erase(it);
                notify_server(Command::deregister_events, ours);
            }
        }
    }
    return true;
}

bool OpenPmixTranslator::iof_pull(uint32_t tag, Bytes payload) {
    theirs::IofPullRequest request;
    if (!read(tag, payload, &request)) return true;
    Pending pending;
    pending.command = theirs::Command::iof_pull;
    pending.reference = next_reference_++;
    common::IofPullRequest ours;
    ours.reference = pending.reference;
    ours.channels = request.channels.value;
    ours.procs = std::move(request.procs.procs);
    ours.infos = std::move(request.infos.infos);
    pulls_[pending.reference] = request.reference ? request.reference->value : 0;
    pass(tag, Command::iof_pull, ours, std::move(pending));
    return true;
}

bool OpenPmixTranslator::iof_deregister(uint32_t tag, Bytes payload) {
    theirs::IofDeregisterRequest request;
    if (!read(tag, payload, &request)) return true;
    Pending pending;
    pending.command = theirs::Command::iof_deregister;
    pending.reference = request.reference.value;
    common::IofDeregisterRequest ours;
    ours.reference = pending.reference;
    pass(tag, Command::iof_deregister, ours, std::move(pending));
    return true;
}

void OpenPmixTranslator::drained() {
    for (const common::IofCredit& credit : std::exchange(owed_, {})) notify_server(Command::iof_credit, credit);
    for (const common::GroupRequest& construct : invitations_.take_constructs()) pass_own(Command::group, construct);
    accept_again();
    settle_numbered();
    settle_invites();
}

}  // namespace pmix::server

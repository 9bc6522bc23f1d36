// SPDX-License-Identifier: BSD-3-Clause
// Requests whose answer is a status or infos, what a server publishes, starts and connects, and events.
#include "client/openpmix/services.h"

#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "common/codec/pack.h"
#include "common/values/array_value.h"
#include "common/values/info_view.h"
#include "openpmix/known_types.h"

namespace pmix::client {

namespace theirs = pmix::openpmix;

using common::Bytes;
using common::Command;
using common::FrameHeader;
using common::InfoList;
using common::ProcId;

namespace {

template <class Request>
Request with_infos(common::Infos& infos) {
    Request request;
    request.infos.infos = std::move(infos);
    return request;
}

struct AskedKey {
    std::string key;
    size_t query;  // its place in the request
};

std::vector<AskedKey> asked_keys(const common::Queries& queries) {
    std::vector<AskedKey> asked;
    for (size_t n = 0; n < queries.size(); ++n)
        for (char** key = queries[n].keys; key != nullptr && *key != nullptr; ++key) asked.push_back({*key, n});
    return asked;
}

// Their servers list the answers to all queries; the process here reads a group for each query, in the order of the
// queries. An answer belongs to the first query that still misses its key.
InfoList grouped_by_query(std::vector<AskedKey> missing, size_t queries, const common::Infos& answers) {
    std::vector<InfoList> groups(queries);
    const auto take = [&](const pmix_info_t& info) {
        const auto at =
            std::ranges::find_if(missing, [&](const AskedKey& one) { return one.key == common::key_view(info); });
        if (at == missing.end()) return;
        // What functions support is read without the key that asked for it.
        const bool support = at->key == PMIX_QUERY_ATTRIBUTE_SUPPORT;
        const common::InfoView facts = support ? common::infos_in(info.value) : common::InfoView(&info, 1);
        for (const pmix_info_t& one : facts)
            if (groups[at->query].append(one) != PMIX_SUCCESS) throw std::bad_alloc();
        missing.erase(at);
    };
    for (const pmix_info_t& info : answers) {
        const bool group = common::key_view(info) == PMIX_QUERY_RESULTS;
        for (const pmix_info_t& one : group ? common::infos_in(info.value) : common::InfoView(&info, 1)) take(one);
    }
    InfoList all;
    for (InfoList& one : groups) {
        auto value = common::array_value(std::move(one));
        if (!value || all.append(PMIX_QUERY_RESULTS, std::move(value).value()) != PMIX_SUCCESS) throw std::bad_alloc();
    }
    return all;
}

}  // namespace

template <class Ours, class Convert>
void OpenPmixServices::relay_infos(const FrameHeader& header, Bytes payload, Convert convert) {
    exchange_.take<Ours>(header, payload, [&](Ours& ours) {
        return exchange_.ask(convert(ours), [this, header](Bytes answer) {
            theirs::InfosReply got;
            const pmix_status_t status = exchange_.decode(answer, &got);
            if (status != PMIX_SUCCESS) return exchange_.refuse(header, status);
            common::ResultsReply reply;
            if (got.infos) reply.infos = std::move(got.infos->infos);
            exchange_.reply(header, got.status.value, reply);
        });
    });
}

void OpenPmixServices::query(const FrameHeader& header, Bytes payload) {
    exchange_.take<common::QueryRequest>(header, payload, [&](common::QueryRequest& ours) {
        auto asked = asked_keys(ours.queries);
        const size_t queries = ours.queries.size();
        theirs::QueryRequest request;
        request.queries.elements = ours.queries.take();
        return exchange_.ask(request, [this, header, queries, asked = std::move(asked)](Bytes answer) {
            theirs::InfosReply got;
            const pmix_status_t status = exchange_.decode(answer, &got);
            if (status != PMIX_SUCCESS) return exchange_.refuse(header, status);
            common::ResultsReply reply;
            if (got.infos) reply.infos = grouped_by_query(asked, queries, got.infos->infos);
            exchange_.reply(header, got.status.value, reply);
        });
    });
}

bool OpenPmixServices::request(const FrameHeader& header, Bytes payload) {
    switch (static_cast<Command>(header.command)) {
        case Command::register_events:
            register_events(header, payload);
            return true;
        case Command::deregister_events:
            deregister_events(header, payload);
            return true;
        case Command::notify_event:
            notify_event(header, payload);
            return true;
        case Command::heartbeat:
            exchange_.beat();
            return true;
        case Command::publish:
            relay_status<common::PublishRequest>(header, payload, [](common::PublishRequest& ours) {
                auto request = with_infos<theirs::PublishRequest>(ours.infos);
                request.uid.value = ::geteuid();
                return request;
            });
            return true;
        case Command::lookup:
            lookup(header, payload);
            return true;
        case Command::unpublish:
            relay_status<common::UnpublishRequest>(header, payload, [](common::UnpublishRequest& ours) {
                auto request = with_infos<theirs::UnpublishRequest>(ours.infos);
                request.uid.value = ::geteuid();
                for (const std::string& key : ours.keys) request.keys.keys.emplace_back(key);
                return request;
            });
            return true;
        case Command::spawn:
            spawn(header, payload);
            return true;
        case Command::connect:
            connect(header, payload);
            return true;
        case Command::disconnect:
            disconnect(header, payload);
            return true;
        case Command::group:
            group(header, payload);
            return true;
        case Command::iof_pull:
            pull(header, payload);
            return true;
        case Command::iof_deregister:
            end_pull(header, payload);
            return true;
        case Command::iof_push:
            push(header, payload);
            return true;
        case Command::iof_credit:  // their servers do not count what a client has read
            return true;
        case Command::resolve_peers:
            resolve_peers(header, payload);
            return true;
        case Command::resolve_nodes:
            resolve_nodes(header, payload);
            return true;
        default:
            return request_of_host(header, payload);
    }
}

bool OpenPmixServices::request_of_host(const FrameHeader& header, Bytes payload) {
    switch (static_cast<Command>(header.command)) {
        case Command::query:
            query(header, payload);
            return true;
        case Command::log:
            relay_infos<common::LogRequest>(header, payload, [](common::LogRequest& ours) {
                theirs::LogRequest request;
                request.time.value = ::time(nullptr);
                request.data.infos = std::move(ours.infos);
                request.directives.infos = std::move(ours.directives);
                return request;
            });
            return true;
        case Command::allocate:
            relay_infos<common::AllocateRequest>(header, payload, [](common::AllocateRequest& ours) {
                auto request = with_infos<theirs::AllocationRequest>(ours.infos);
                request.directive.value = static_cast<pmix_alloc_directive_t>(ours.directive);
                return request;
            });
            return true;
        case Command::job_control:
            relay_infos<common::JobControlRequest>(header, payload, [](common::JobControlRequest& ours) {
                auto request = with_infos<theirs::JobControlRequest>(ours.directives);
                request.procs.procs = std::move(ours.procs);
                return request;
            });
            return true;
        case Command::monitor:
            relay_infos<common::MonitorRequest>(header, payload, [](common::MonitorRequest& ours) {
                auto request = with_infos<theirs::MonitorRequest>(ours.directives);
                auto one =
                    common::CArray<pmix_info_t>::copy_of(ours.infos.data(), std::min<size_t>(ours.infos.size(), 1));
                if (!one.ok()) throw std::bad_alloc();
                request.monitor.element = std::move(one).value();
                request.error.value = ours.code;
                return request;
            });
            return true;
        case Command::get_credential:
            get_credential(header, payload);
            return true;
        case Command::validate_credential:
            relay_infos<common::ValidateCredentialRequest>(
                header, payload, [](common::ValidateCredentialRequest& ours) {
                    auto request = with_infos<theirs::ValidateCredentialRequest>(ours.directives);
                    request.credential.bytes = ours.credential;  // ours is there until the request is sent
                    return request;
                });
            return true;
        case Command::session_control:
            relay_infos<common::SessionControlRequest>(header, payload, [](common::SessionControlRequest& ours) {
                auto request = with_infos<theirs::SessionControlRequest>(ours.directives);
                request.session.value = ours.session_id;
                return request;
            });
            return true;
        case Command::resource_block:
            relay_infos<common::ResourceBlockRequest>(header, payload, [](common::ResourceBlockRequest& ours) {
                auto request = with_infos<theirs::ResourceBlockRequest>(ours.directives);
                request.directive.value = static_cast<pmix_resource_block_directive_t>(ours.directive);
                request.block = theirs::Text(ours.block);
                if (ours.units.empty() || ours.units[0].value.type != PMIX_DATA_ARRAY) return request;
                const pmix_data_array_t* array = ours.units[0].value.data.darray;
                if (array == nullptr || array->type != PMIX_RESOURCE_UNIT) return request;
                auto units = common::CArray<pmix_resource_unit_t>::copy_of(
                    static_cast<const pmix_resource_unit_t*>(array->array), array->size);
                if (!units.ok()) throw std::bad_alloc();
                request.units.elements = std::move(units).value();
                return request;
            });
            return true;
        case Command::fabric:
            fabric(header, payload);
            return true;
        default:
            return false;
    }
}

// ---- queries ----

// ---- published data ----

void OpenPmixServices::lookup(const FrameHeader& header, Bytes payload) {
    exchange_.take<common::LookupRequest>(header, payload, [&](common::LookupRequest& ours) {
        auto request = with_infos<theirs::LookupRequest>(ours.infos);
        request.uid.value = ::geteuid();
        for (const std::string& key : ours.keys) request.keys.keys.emplace_back(key);
        return exchange_.ask(request, [this, header](Bytes answer) {
            theirs::LookupReply got;
            const pmix_status_t status = exchange_.status_of(answer, &got);
            common::LookupReply reply;
            const auto* items = got.data ? &got.data->elements : nullptr;
            for (size_t i = 0; items != nullptr && i < items->size(); ++i) {
                const pmix_pdata_t& item = items->data()[i];
                common::ByteWriter w;
                if (common::encode_value(w, item.value) != PMIX_SUCCESS) continue;
                reply.items.push_back({ProcId(item.proc),
                                       std::string(item.key, common::bounded_length(item.key, common::kMaxKeyLength)),
                                       w.take()});
            }
            if (!common::succeeded(status) && reply.items.empty()) return exchange_.refuse(header, status);
            exchange_.reply(header, status, reply);
        });
    });
}

// ---- other jobs ----

pmix_status_t OpenPmixServices::add_segment(const std::string& nspace, common::SegmentList* segments,
                                            std::vector<transport::Descriptor>* descriptors) {
    // A message has room for so many; what is left out is asked for when it is wanted.
    if (descriptors->size() == common::kMaxFrameDescriptors) return PMIX_SUCCESS;
    auto grant = shadow_.grant(nspace);
    if (!grant.ok()) return grant.status();
    segments->push_back(std::move(grant->segment));
    if (grant->descriptor) descriptors->push_back(std::move(grant->descriptor));
    return PMIX_SUCCESS;
}

std::set<std::string> OpenPmixServices::others_of(const common::ProcList& procs) const {
    std::set<std::string> names;
    for (const ProcId& proc : procs)
        if (proc.nspace != self_.nspace) names.insert(proc.nspace);
    return names;
}

pmix_status_t OpenPmixServices::take_jobs(const theirs::ByteObjects& objects, const std::set<std::string>& participants,
                                          common::SegmentList* segments,
                                          std::vector<transport::Descriptor>* descriptors) {
    for (const Bytes& object : objects.objects) {
        theirs::JobData job;
        WIREUP_RETURN_IF_ERROR(exchange_.decode(object, &job));
        if (job.nspace.null || participants.count(job.nspace.text) == 0) continue;
        WIREUP_RETURN_IF_ERROR(shadow_.take_job(job.nspace.text, job.values));
        WIREUP_RETURN_IF_ERROR(add_segment(job.nspace.text, segments, descriptors));
    }
    return PMIX_SUCCESS;
}

void OpenPmixServices::spawn(const FrameHeader& header, Bytes payload) {
    exchange_.take<common::SpawnRequest>(header, payload, [&](common::SpawnRequest& ours) {
        auto request = with_infos<theirs::SpawnRequest>(ours.infos);
        request.apps.elements = ours.apps.take();
        const auto started = [this, header](pmix_status_t status, const theirs::SpawnReply& got) {
            if (!got.nspace || got.nspace->text.empty()) return exchange_.refuse(header, PMIX_ERR_UNPACK_FAILURE);
            common::SpawnReply reply;
            reply.nspace = got.nspace->text;
            std::vector<transport::Descriptor> descriptors;
            // The job runs, whether or not what is said of it can be kept: then it is asked for later.
            if (!got.values.pairs.empty() && shadow_.take_job(reply.nspace, got.values) == PMIX_SUCCESS)
                (void)add_segment(reply.nspace, &reply.segments, &descriptors);
            exchange_.reply(header, status, reply, std::move(descriptors));
        };
        return exchange_.ask_for<theirs::SpawnReply>(header, request, started);
    });
}

void OpenPmixServices::note_put(std::string_view key, Bytes value) {
    if (exchange_.traits().connect_has_extras)
        puts_.insert_or_assign(std::string(key), common::Blob(value.begin(), value.end()));
}

void OpenPmixServices::note_deletion(std::string_view key) {
    const auto it = puts_.find(key);
    if (it != puts_.end()) puts_.erase(it);
}

// What this process has put, and what is known of its job where it is the first of it to take part: without these the
// others do not learn of either.
void OpenPmixServices::append_extras(const common::ConnectRequest& ours, theirs::InfosToEnd* extras) const {
    const auto add = [extras](const char* key, InfoList&& infos) {
        auto array = common::array_value(std::move(infos));
        InfoList one;
        if (!array.ok() || one.append(key, std::move(array).value()) != PMIX_SUCCESS) throw std::bad_alloc();
        size_t n = 0;
        pmix_info_t* taken = one.release(&n);
        extras->infos.emplace_back().element = common::CArray<pmix_info_t>(taken, n);
    };
    const auto append = [this](InfoList& infos, std::string_view key, Bytes encoded) {
        if (common::is_reserved_key(key)) return;
        common::Value value;
        if (common::decode_value_into(encoded, value.c_ptr()) != PMIX_SUCCESS) return;
        if (!theirs::is_known(exchange_.traits(), value.get())) return;
        if (infos.append(key, std::move(value)) != PMIX_SUCCESS) throw std::bad_alloc();
    };
    InfoList own;
    const pmix_proc_t self = self_.to_c();
    if (own.append(PMIX_PROCID, &self, PMIX_PROC) != PMIX_SUCCESS) throw std::bad_alloc();
    for (const auto& [key, value] : puts_) append(own, key, value);
    if (own.size() > 1) add(PMIX_PROC_INFO_ARRAY, std::move(own));

    bool foreign = false, first = true;
    for (const ProcId& proc : ours.procs) {
        foreign = foreign || proc.nspace != self_.nspace;
        if (proc.nspace != self_.nspace) continue;
        if (proc.rank == PMIX_RANK_WILDCARD ? self_.rank != 0 : proc.rank < self_.rank) first = false;
    }
    const dstore::Reader* reader = shadow_.reader(self_.nspace);
    if (!foreign || !first || reader == nullptr) return;
    InfoList job;
    if (job.append(PMIX_NSPACE, self_.nspace.c_str(), PMIX_PROC_NSPACE) != PMIX_SUCCESS) throw std::bad_alloc();
    (void)reader->for_each(dstore::Owner::job(), [&](std::string_view key, const dstore::Found& found) {
        common::Value value;
        if (key == PMIX_NSPACE || common::decode_value_into(found.bytes(), value.c_ptr()) != PMIX_SUCCESS) return;
        if (!theirs::is_known(exchange_.traits(), value.get())) return;
        if (job.append(key, std::move(value)) != PMIX_SUCCESS) throw std::bad_alloc();
    });
    add(PMIX_JOB_INFO_ARRAY, std::move(job));
}

// Of both: the processes and the directives. then(status, answer, others): the other namespaces among the former.
template <class Answer, class Theirs, class Then>
pmix_status_t OpenPmixServices::ask_with_others(const FrameHeader& header, common::ConnectRequest& ours, Theirs request,
                                                Then then) {
    replace_groups(ours.procs);
    auto others = others_of(ours.procs);
    request.procs.procs = std::move(ours.procs);
    request.infos.infos = std::move(ours.infos);
    return exchange_.ask_for<Answer>(
        header, request,
        [then, others = std::move(others)](pmix_status_t status, const Answer& got) { then(status, got, others); });
}

void OpenPmixServices::connect(const FrameHeader& header, Bytes payload) {
    exchange_.take<common::ConnectRequest>(header, payload, [&](common::ConnectRequest& ours) {
        replace_groups(ours.procs);
        theirs::ConnectRequestMessage request;
        if (exchange_.traits().connect_has_extras) append_extras(ours, &request.extras);
        return ask_with_others<theirs::ConnectReplyMessage>(
            header, ours, std::move(request),
            [this, header](pmix_status_t status, const auto& got, const std::set<std::string>& others) {
                common::ConnectReply reply;
                std::vector<transport::Descriptor> descriptors;
                for (const std::string& nspace : others) shadow_.hold(nspace);
                // They are connected, whether or not what is said of their jobs can be kept.
                (void)take_jobs(got.objects, others, &reply.segments, &descriptors);
                exchange_.reply(header, status, reply, std::move(descriptors));
            });
    });
}

void OpenPmixServices::disconnect(const FrameHeader& header, Bytes payload) {
    exchange_.take<common::ConnectRequest>(header, payload, [&](common::ConnectRequest& ours) {
        return ask_with_others<theirs::StatusReply>(
            header, ours, theirs::DisconnectRequest{},
            [this, header](pmix_status_t status, const auto&, const std::set<std::string>& others) {
                for (const std::string& nspace : others) shadow_.release(nspace);
                exchange_.reply(header, status, common::Nothing{});
            });
    });
}

void OpenPmixServices::fabric(const FrameHeader& header, Bytes payload) {
    common::FabricRequest asked;
    if (const pmix_status_t rc = common::decode_message(payload, asked); rc != PMIX_SUCCESS)
        return exchange_.refuse(header, rc);
    if (asked.operation == PMIX_FABRIC_REQUEST_INFO) {
        return relay_infos<common::FabricRequest>(header, payload, [](common::FabricRequest& ours) {
            return with_infos<theirs::FabricRegisterRequest>(ours.directives);
        });
    }
    size_t index = 0;
    const common::InfoView which(asked.directives.data(), asked.directives.size());
    if (asked.operation != PMIX_FABRIC_UPDATE_INFO || which.get(PMIX_FABRIC_INDEX, &index) != PMIX_SUCCESS)
        return exchange_.refuse(header, PMIX_ERR_NOT_SUPPORTED);
    relay_infos<common::FabricRequest>(header, payload, [index](common::FabricRequest&) {
        theirs::FabricUpdateRequest request;
        request.index.value = index;
        return request;
    });
}

void OpenPmixServices::get_credential(const FrameHeader& header, Bytes payload) {
    exchange_.take<common::GetCredentialRequest>(header, payload, [&](common::GetCredentialRequest& ours) {
        const auto request = with_infos<theirs::GetCredentialRequest>(ours.directives);
        const auto given = [this, header](pmix_status_t status, theirs::CredentialReply& got) {
            common::CredentialReply reply;
            if (got.credential) reply.credential.assign(got.credential->bytes.begin(), got.credential->bytes.end());
            if (got.infos) reply.infos = std::move(got.infos->infos);
            exchange_.reply(header, status, reply);
        };
        return exchange_.ask_for<theirs::CredentialReply>(header, request, given);
    });
}

}  // namespace pmix::client

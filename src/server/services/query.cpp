// SPDX-License-Identifier: BSD-3-Clause
#include "server/services/query.h"

#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <deque>
#include <optional>

#include "common/base/limits.h"
#include "common/codec/pack.h"
#include "common/protocol/query_answers.h"
#include "common/values/array_value.h"
#include "common/values/support_question.h"
#include "server/host/required.h"
#include "server/services/report.h"

namespace pmix::server {

using common::InfoList;
using common::InfoView;
using common::key_view;
using common::Level;
using common::SupportQuestion;
using common::Value;

namespace {

// Of one request: each is a walk through the memory of processes.
constexpr size_t kMaxSamples = 16;

}  // namespace

// One request on its way: what was found for each query, and what the host is asked.
struct Query::Work {
    struct Missing {
        size_t query;  // place in the request
        std::string key;
        std::optional<Value> own;  // what is answered if the host has nothing better
    };
    struct Sample {
        size_t query;
        std::string key;
        bool may_go_up;  // to the host, where there is nothing to sample
        UsageScope scope;
    };
    common::Queries queries;
    std::vector<InfoList> found;
    std::vector<Missing> missing;
    std::deque<Sample> samples;  // still to be taken
    UsageViewer viewer;
    size_t asked = 0;  // keys
    size_t answered = 0;
    size_t bytes = 0;  // of the answers, encoded
    Reply reply;

    // One more key is asked: few bytes may ask for many, and again for what was asked already.
    pmix_status_t ask() {
        ++asked;
        return asked > common::kMaxQueryKeys || too_large() ? PMIX_ERR_OUT_OF_RESOURCE : PMIX_SUCCESS;
    }
    bool too_large() const noexcept { return bytes > common::kMaxQueryAnswer; }
    pmix_status_t add(size_t query, std::string_view key, Value&& value) {
        common::ByteWriter encoded;
        WIREUP_RETURN_IF_ERROR(common::encode_value(encoded, value.get()));
        bytes += encoded.size() + key.size();
        ++answered;
        return found[query].append(key, std::move(value));
    }
    void take_from_host(const InfoList& infos);
    void take_own();
    void answer(pmix_status_t verdict);
};

void Query::Work::take_from_host(const InfoList& infos) {
    std::vector<common::AskedKey> asked_keys;
    asked_keys.reserve(missing.size());
    for (const Missing& m : missing) asked_keys.push_back({m.query, m.key});
    const auto answers = common::answers_by_query({queries.begin(), queries.size()}, asked_keys, InfoView(infos));
    for (size_t i = 0; i < missing.size(); ++i)
        if (answers[i] != nullptr && found[missing[i].query].append(*answers[i]) == PMIX_SUCCESS) ++answered;
    size_t at = 0;
    std::erase_if(missing, [&](const Missing&) { return answers[at++] != nullptr; });
}

void Query::Work::take_own() {
    for (Missing& m : missing) {
        if (m.own && found[m.query].append(m.key, std::move(*m.own)) == PMIX_SUCCESS) ++answered;
    }
}

// verdict: of the host, for what was not found here.
void Query::Work::answer(pmix_status_t verdict) {
    take_own();
    common::ResultsReply message;
    InfoList all;
    for (InfoList& one : found) {
        auto value = common::array_value(std::move(one));
        pmix_status_t rc = value ? all.append(PMIX_QUERY_RESULTS, std::move(value).value()) : value.status();
        if (rc != PMIX_SUCCESS) return reply.status(rc);
    }
    message.infos = std::move(all);
    pmix_status_t status = PMIX_SUCCESS;
    if (answered == 0) {
        const bool said_nothing = common::succeeded(verdict) || verdict == PMIX_ERR_PARTIAL_SUCCESS;
        status = said_nothing ? PMIX_ERR_NOT_FOUND : verdict;
    } else if (answered < asked) {
        status = PMIX_ERR_PARTIAL_SUCCESS;
    }
    reply.message(status, message);
}

pmix_status_t Query::answer_support(const pmix_query_t& query, Work& work, size_t index) const {
    const SupportQuestion q = SupportQuestion::read(query);
    for (const std::string& name : q.functions) {
        common::Function function;
        const bool ours = common::find_function(name, &function);
        if (const pmix_status_t full = work.ask(); full != PMIX_SUCCESS) return full;
        if (!ours && !host_attributes_.knows(name)) continue;
        InfoList levels;
        pmix_status_t rc = PMIX_SUCCESS;
        if (q.attributes_of(Level::server)) {
            auto value =
                ours ? common::supported_attributes(function, common::level::server) : common::Result<Value>(Value());
            rc = value ? levels.append(PMIX_SERVER_ATTRIBUTES, std::move(value).value()) : value.status();
        }
        if (rc == PMIX_SUCCESS && q.attributes_of(Level::host)) {
            auto value = host_attributes_.of(name);
            rc = value ? levels.append(PMIX_HOST_ATTRIBUTES, std::move(value).value()) : value.status();
        }
        if (rc != PMIX_SUCCESS) return rc;
        auto value = common::array_value(std::move(levels));
        if (!value) return value.status();
        rc = work.add(index, name, std::move(value).value());
        if (rc != PMIX_SUCCESS) return rc;
    }
    const auto list = [&](Level level, const char* key, std::string&& functions) -> pmix_status_t {
        if (!q.list_of(level)) return PMIX_SUCCESS;
        if (const pmix_status_t full = work.ask(); full != PMIX_SUCCESS) return full;
        if (functions.empty()) return PMIX_SUCCESS;
        auto value = Value::string(functions);
        return value ? work.add(index, key, std::move(value).value()) : value.status();
    };
    const pmix_status_t rc =
        list(Level::server, PMIX_SERVER_FUNCTIONS, common::supported_functions(common::level::server));
    return rc != PMIX_SUCCESS ? rc : list(Level::host, PMIX_HOST_FUNCTIONS, host_attributes_.functions());
}

pmix_status_t Query::answer_here(const Peer& peer, const pmix_query_t& query, Work& work, size_t index) {
    const InfoView qualifiers(query.qualifiers, query.nqual);
    const Required required = required_in_service(host_, qualifiers, common::Function::PMIx_Query_info);
    if (required == Required::unmet) return PMIX_ERR_NOT_SUPPORTED;
    if (SupportQuestion::is_one(query)) return answer_support(query, work, index);
    auto target = Target::read(peer.id(), qualifiers);
    if (!target) return target.status();
    const bool may_go_up = !qualifiers.flag(PMIX_QUERY_LOCAL_ONLY) && peer.kind() != PeerKind::observer;
    for (char** key = query.keys; key != nullptr && *key != nullptr; ++key) {
        if (const pmix_status_t full = work.ask(); full != PMIX_SUCCESS) return full;
        const bool is_report = std::strcmp(*key, WIREUP_QUERY_REPORT) == 0;
        const bool is_counters = std::strcmp(*key, WIREUP_QUERY_COUNTERS) == 0;
        // Of all jobs, here or on other nodes: for nobody else than the server's user and root.
        if (is_report || is_counters || std::strcmp(*key, WIREUP_QUERY_REPORTS) == 0) {
            const uid_t uid = peer.credentials().uid;
            if (uid != ::geteuid() && uid != 0) return PMIX_ERR_NO_PERMISSIONS;
        }
        common::Result<Value> value = PMIX_ERR_NOT_FOUND;
        if (required == Required::by_host) {
            // What is known here is not known under these conditions.
        } else if (std::strcmp(*key, PMIX_QUERY_SUPPORTED_KEYS) == 0) {
            std::string list = common::supported_query_keys(common::level::server);
            const std::string theirs = host_attributes_.strings_of("PMIx_Query_info");
            if (!theirs.empty()) list += "," + theirs;
            value = Value::string(list);
        } else if (is_report || is_counters) {
            value = is_report ? make_report(known_) : make_counter_page(known_, counters_);
            if (!value) return value.status();
        } else if (is_usage_query(*key)) {
            auto scope = usage_.targets().read_query(*key, target->proc, qualifiers, work.viewer);
            if (scope) {
                if (work.samples.size() == kMaxSamples) return PMIX_ERR_OUT_OF_RESOURCE;
                work.samples.push_back({index, *key, may_go_up, std::move(scope).value()});
                continue;
            }
            value = scope.status();
        } else {
            value = answer_query(known_, peer, *key, *target, qualifiers);
        }
        if (value && may_go_up && host_.of(peer).has_query() && host_may_know_better(*key, *value)) {
            // The host has started the processes: it may know those that have not connected, and how those that are
            // lost have ended.
            work.missing.push_back({index, *key, std::move(value).value()});
        } else if (value) {
            WIREUP_RETURN_IF_ERROR(work.add(index, *key, std::move(value).value()));
        } else if (value.status() == PMIX_ERR_BAD_PARAM || value.status() == PMIX_ERR_NOMEM) {
            return value.status();
        } else if (may_go_up) {
            work.missing.push_back({index, *key, {}});
        }
    }
    return PMIX_SUCCESS;
}

namespace {

// The queries with the keys that are missing, and the requester's user and group.
common::Result<common::CArray<pmix_query_t>> queries_for_host(const common::Queries& queries,
                                                              const std::vector<std::vector<std::string>>& keys,
                                                              const Credentials& who) {
    const size_t n = static_cast<size_t>(std::ranges::count_if(keys, [](const auto& k) { return !k.empty(); }));
    auto out = common::CArray<pmix_query_t>::zeroed(n);
    if (!out) return out.status();
    size_t at = 0;
    for (size_t i = 0; i < keys.size(); ++i) {
        if (keys[i].empty()) continue;
        pmix_query_t& query = (*out)[at++];
        query.keys = static_cast<char**>(std::calloc(keys[i].size() + 1, sizeof(char*)));
        if (query.keys == nullptr) return PMIX_ERR_NOMEM;
        for (size_t k = 0; k < keys[i].size(); ++k) {
            query.keys[k] = ::strdup(keys[i][k].c_str());
            if (query.keys[k] == nullptr) return PMIX_ERR_NOMEM;
        }
        InfoList qualifiers;
        pmix_status_t rc = qualifiers.append_all(queries[i].qualifiers, queries[i].nqual);
        if (rc == PMIX_SUCCESS) rc = append_ids(qualifiers, who);
        if (rc != PMIX_SUCCESS) return rc;
        query.qualifiers = qualifiers.release(&query.nqual);
    }
    return std::move(out).value();
}

}  // namespace

void Query::request(Peer& peer, common::QueryRequest& request, Reply reply) {
    if (request.queries.empty()) return reply.status(PMIX_ERR_BAD_PARAM);
    auto work = std::make_unique<Work>();
    work->reply = std::move(reply);
    work->queries = std::move(request.queries);
    work->viewer = {peer.id(), peer.credentials(), peer.kind() == PeerKind::self};
    work->found.resize(work->queries.size());
    for (size_t i = 0; i < work->queries.size(); ++i) {
        const pmix_status_t rc = answer_here(peer, work->queries[i], *work, i);
        if (rc != PMIX_SUCCESS) return work->reply.status(rc);
    }
    if (work->samples.empty()) return ask_host(peer, std::move(work));
    take_samples(peer.account(), std::move(work));
}

// The first of those that are left, then the others; then the host is asked for what nothing was found of.
void Query::take_samples(const AccountPtr& account, std::unique_ptr<Work> work) {
    Work::Sample sample = std::move(work->samples.front());
    work->samples.pop_front();
    const UsageViewer viewer = work->viewer;
    const UsageOptions options = usage_options_of_query(sample.key);
    const UsageScope scope = std::move(sample.scope);
    usage_.once(viewer, options, scope, account,
                [this, account, work = std::move(work), sample = std::move(sample)](pmix_status_t status,
                                                                                    InfoList infos) mutable {
                    const std::shared_ptr<Peer> peer = work->reply.peer();
                    if (peer == nullptr) return;
                    if (status == PMIX_SUCCESS && !infos.empty()) {
                        auto value = common::array_value(std::move(infos));
                        status = value ? work->add(sample.query, sample.key, std::move(value).value()) : value.status();
                        // As before each key that is asked.
                        if (!work->samples.empty() && work->too_large()) status = PMIX_ERR_OUT_OF_RESOURCE;
                    } else if (status == PMIX_SUCCESS && sample.may_go_up) {
                        work->missing.push_back({sample.query, sample.key, {}});
                    }
                    if (status != PMIX_SUCCESS) return work->reply.status(status);
                    if (work->samples.empty()) return ask_host(*peer, std::move(work));
                    take_samples(account, std::move(work));
                });
}

void Query::ask_host(Peer& peer, std::unique_ptr<Work> work) {
    if (work->missing.empty()) return work->answer(PMIX_ERR_NOT_FOUND);
    if (!host_.of(peer).has_query()) return work->answer(PMIX_ERR_NOT_SUPPORTED);
    std::vector<std::vector<std::string>> keys(work->queries.size());
    for (const Work::Missing& m : work->missing) keys[m.query].push_back(m.key);
    auto queries = queries_for_host(work->queries, keys, peer.credentials());
    if (!queries) return work->reply.status(queries.status());
    host_.query(peer.id(), std::move(queries).value(), [work = std::move(work)](HostAnswer& a) {
        work->take_from_host(a.infos);
        work->answer(a.status);
    });
}

}  // namespace pmix::server

// SPDX-License-Identifier: BSD-3-Clause
#include "client/services/query.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <new>
#include <string>
#include <unordered_map>
#include <vector>

#include "client/data/get.h"
#include "client/session/request.h"
#include "client/session/results.h"
#include "client/session/session.h"
#include "client/state/query_cache.h"
#include "client/tool/tool_search.h"
#include "common/values/array_value.h"
#include "common/values/support.h"
#include "common/values/support_question.h"

namespace pmix::client {
namespace {

// PMIX_QUERY_SUPPORTED_QUALIFIERS until OpenPMIx 6; now the string of PMIX_QUERY_QUALIFIERS alone.
constexpr const char* kOlderQualifiers = "pmix.qry.quals";

// For all servers of a node together.
constexpr int64_t kLookAroundMs = 10'000;

using common::Command;
using common::InfoList;
using common::InfoView;
using common::key_view;
using common::Level;
using common::Result;
using common::SupportQuestion;
using common::Value;

constexpr const char kAbiVersion[] = "5.0";

InfoView qualifiers_of(const pmix_query_t& query) noexcept {
    return {query.qualifiers, query.nqual};
}

pmix_status_t check(const pmix_query_t queries[], size_t n, bool servers_own) noexcept {
    if (queries == nullptr || n == 0 || n > common::kMaxListLength) return PMIX_ERR_BAD_PARAM;
    for (size_t i = 0; i < n; ++i) {
        const pmix_query_t& q = queries[i];
        if (q.keys == nullptr || q.keys[0] == nullptr) return PMIX_ERR_BAD_PARAM;
        pmix_status_t rc = check_infos(q.qualifiers, q.nqual);
        if (rc == PMIX_SUCCESS && !servers_own) rc = common::check_flags(qualifiers_of(q));
        if (rc != PMIX_SUCCESS) return rc;
        int limit_s = 0;
        if (read_timeout(q.qualifiers, q.nqual, &limit_s) != PMIX_SUCCESS) return PMIX_ERR_BAD_PARAM;
        for (char** key = q.keys; *key != nullptr; ++key) {
            const size_t length = common::bounded_length(*key, common::kMaxKeyLength + 1);
            if (length == 0 || length > common::kMaxKeyLength) return PMIX_ERR_BAD_PARAM;
        }
        const InfoView view = qualifiers_of(q);
        if (view.has(PMIX_PROCID) && (view.has(PMIX_NSPACE) || view.has(PMIX_RANK))) return PMIX_ERR_BAD_PARAM;
    }
    return PMIX_SUCCESS;
}

// The server has one request for all the queries, so the shortest of their limits is the call's. 0: none has one.
int limit_of(const pmix_query_t queries[], size_t n) noexcept {
    int shortest = 0;
    for (size_t i = 0; i < n; ++i) {
        int limit_s = 0;
        if (read_timeout(queries[i].qualifiers, queries[i].nqual, &limit_s) != PMIX_SUCCESS || limit_s == 0) continue;
        shortest = shortest == 0 ? limit_s : std::min(shortest, limit_s);
    }
    return shortest;
}

// What is true of the server at this moment: it is asked again each time.
bool is_of_moment(std::string_view key) noexcept {
    return key == WIREUP_QUERY_REPORT || key == WIREUP_QUERY_REPORTS || key == WIREUP_QUERY_COUNTERS ||
           key == PMIX_QUERY_PROC_RESOURCE_USAGE || key == PMIX_QUERY_NODE_RESOURCE_USAGE;
}

bool is_abi_key(std::string_view key) noexcept {
    return key == PMIX_QUERY_STABLE_ABI_VERSION || key == PMIX_QUERY_PROVISIONAL_ABI_VERSION;
}

// Is a qualifier required that this library does not know?
bool needs_host(InfoView qualifiers) noexcept {
    for (const pmix_info_t& info : qualifiers) {
        if (common::is_query_qualifier(key_view(info))) continue;
        const auto here = common::level::client | common::level::server;
        if (common::check_required(InfoView(&info, 1), common::Function::PMIx_Query_info, here) != PMIX_SUCCESS)
            return true;
    }
    return false;
}

// One call of PMIx_Query_info.
class Work {
  public:
    Work(Session* session, const pmix_query_t queries[], size_t n)
        : session_(session), queries_(queries), limit_s_(limit_of(queries, n)), found_(n), open_(n), support_(n) {}

    // With queries of its own, for an answer that comes when the caller's may be gone.
    Work(Session* session, common::CArray<pmix_query_t>&& queries) : Work(session, queries.data(), queries.size()) {
        owned_ = std::move(queries);
    }

    pmix_status_t answer_here();
    bool needs_server() const noexcept { return !sent_.empty(); }
    int limit_s() const noexcept { return limit_s_; }
    common::QueryRequest request();
    // The server's answer, or what became of it.
    pmix_status_t take(pmix_status_t status, const common::ResultsReply& reply);
    // The results in their form. Nothing found: the status that says so.
    pmix_status_t finish(InfoList& results);

  private:
    enum class Keep : bool { no, yes };  // for later calls of PMIx_Get, and of this function
    pmix_status_t add(size_t i, std::string_view key, Result<Value>&& value, Keep keep = Keep::yes) {
        if (!value) return value.status();
        ++answered_;
        if (keep == Keep::yes && session_ != nullptr) session_->query_cache().keep(name_of(i, key), value->get());
        return found_[i].append(key, std::move(value).value());
    }
    std::string name_of(size_t i, std::string_view key) const {
        const InfoView qualifiers = qualifiers_of(queries_[i]);
        return QueryCache::name_of(key, QueryCache::process_of(session_->self(), qualifiers), qualifiers);
    }
    pmix_status_t list(size_t i, InfoList& results) const;
    pmix_status_t group(size_t i, InfoList& results) const;
    pmix_status_t answer_one(size_t i, const char* key);
    Result<Value> stored(size_t i, const char* key) const;
    pmix_status_t finish_support(size_t i);
    bool is_support(size_t i) const noexcept { return SupportQuestion::is_one(queries_[i]); }

    common::CArray<pmix_query_t> owned_;
    Session* session_;  // null: before init
    const pmix_query_t* queries_;
    int limit_s_;
    std::vector<InfoList> found_;
    std::vector<std::vector<std::string>> open_;  // keys that are not answered here
    std::vector<InfoList> support_;               // the server's answers for its levels
    std::vector<size_t> sent_;                    // places of the queries that the server is asked
    size_t asked_ = 0;
    size_t answered_ = 0;
    pmix_status_t verdict_ = PMIX_ERR_NOT_FOUND;
};

// What PMIx_Get would find without asking anybody.
Result<Value> Work::stored(size_t i, const char* key) const {
    const InfoView view = qualifiers_of(queries_[i]);
    pmix_proc_t proc = common::ProcId(session_->self().nspace, PMIX_RANK_WILDCARD).to_c();
    const pmix_proc_t* named = nullptr;
    if (view.get(PMIX_PROCID, &named) != PMIX_SUCCESS) return PMIX_ERR_BAD_PARAM;
    if (named != nullptr) proc = *named;
    std::string_view nspace;
    if (view.get(PMIX_NSPACE, &nspace) != PMIX_SUCCESS || nspace.size() > common::kMaxNspaceLength)
        return PMIX_ERR_BAD_PARAM;
    if (!nspace.empty()) proc = common::ProcId(nspace, PMIX_RANK_WILDCARD).to_c();
    if (const pmix_info_t* rank = view.find(PMIX_RANK)) {
        if (rank->value.type == PMIX_PROC_RANK) {
            proc.rank = rank->value.data.rank;
        } else if (view.get(PMIX_RANK, &proc.rank) != PMIX_SUCCESS) {
            return PMIX_ERR_BAD_PARAM;
        }
    }
    InfoList narrowed;
    pmix_status_t rc = narrowed.append_flag(PMIX_OPTIONAL, true);
    for (const char* realm : {PMIX_SESSION_INFO, PMIX_JOB_INFO, PMIX_APP_INFO, PMIX_NODE_INFO, PMIX_SESSION_ID,
                              PMIX_APPNUM, PMIX_HOSTNAME, PMIX_NODEID}) {
        const pmix_info_t* info = view.find(realm);
        if (rc == PMIX_SUCCESS && info != nullptr) rc = narrowed.append(*info);
    }
    if (rc != PMIX_SUCCESS) return rc;
    pmix_value_t* value = nullptr;
    rc = get(*session_, &proc, key, narrowed.c_array(), narrowed.size(), &value, true);
    if (rc != PMIX_SUCCESS) return PMIX_ERR_NOT_FOUND;
    const pmix_value_t content = *value;
    std::free(value);
    return Value(content);
}

// What they are told by, and nothing is asked: each once, whatever it has files for.
pmix_status_t append_filed_servers(InfoList& all, std::string_view nspace) {
    using Of = OpenPmixFile::Of;
    const std::vector<OpenPmixFile> files = openpmix_files_around();
    for (auto file = files.begin(); file != files.end(); ++file) {
        const OpenPmixAddress& address = file->contact.address;
        if (!nspace.empty() && address.server.nspace != nspace) continue;
        const auto same = [&](const OpenPmixFile& f) { return f.contact.address.uri == address.uri; };
        if (std::any_of(files.begin(), file, same)) continue;
        const auto is = [&](Of purpose) {
            return std::any_of(file, files.end(), [&](const OpenPmixFile& f) { return f.of == purpose && same(f); });
        };
        InfoList one;
        const pmix_rank_t rank = address.server.rank;
        pmix_status_t rc = one.append_string(PMIX_NSPACE, address.server.nspace);
        if (rc == PMIX_SUCCESS) rc = one.append(PMIX_RANK, &rank, PMIX_PROC_RANK);
        if (rc == PMIX_SUCCESS && file->contact.pid != 0)
            rc = one.append(PMIX_SERVER_PIDINFO, &file->contact.pid, PMIX_PID);
        if (rc == PMIX_SUCCESS) rc = one.append_string(PMIX_SERVER_URI, address.uri);
        if (rc == PMIX_SUCCESS && !file->contact.version.empty())
            rc = one.append_string(PMIX_VERSION_INFO, file->contact.version);
        if (rc == PMIX_SUCCESS) rc = one.append_flag(PMIX_SERVER_TOOL_SUPPORT, is(Of::tools));
        if (rc == PMIX_SUCCESS) rc = one.append_flag(PMIX_SERVER_SYSTEM_SUPPORT, is(Of::system));
        if (rc == PMIX_SUCCESS && is(Of::scheduler)) rc = one.append_flag(PMIX_SERVER_SCHEDULER, true);
        if (rc == PMIX_SUCCESS && is(Of::controller)) rc = one.append_flag(PMIX_SERVER_SYS_CONTROLLER, true);
        if (rc != PMIX_SUCCESS) return rc;
        auto about = common::array_value(std::move(one));
        if (!about) return about.status();
        WIREUP_RETURN_IF_ERROR(all.append(PMIX_SERVER_INFO_ARRAY, std::move(about).value()));
    }
    return PMIX_SUCCESS;
}

// nspace: those of this name, or where nobody has it those that have a job of it.
Result<Value> servers_here(int limit_s, const transport::Io& io, std::string_view nspace) {
    InfoList all;
    const int64_t most_ms = limit_s == 0 ? kLookAroundMs : std::min(kLookAroundMs, int64_t{limit_s} * 1000);
    const auto around = look_around(transport::Deadline::in_ms(most_ms), io, nspace);
    const bool is_a_name = std::any_of(around.begin(), around.end(), [&](const common::IdentityReply& identity) {
        return identity.server.nspace == nspace;
    });
    for (const common::IdentityReply& identity : around) {
        const bool is_meant = nspace.empty() || (is_a_name ? identity.server.nspace == nspace : identity.has_nspace);
        if (!is_meant) continue;
        InfoList one;
        const pmix_rank_t rank = identity.server.rank;
        const auto pid = static_cast<pid_t>(identity.pid);
        pmix_status_t rc = one.append_string(PMIX_NSPACE, identity.server.nspace);
        if (rc == PMIX_SUCCESS) rc = one.append(PMIX_RANK, &rank, PMIX_PROC_RANK);
        if (rc == PMIX_SUCCESS) rc = one.append(PMIX_SERVER_PIDINFO, &pid, PMIX_PID);
        if (rc == PMIX_SUCCESS) rc = one.append_string(PMIX_SERVER_URI, identity.uri);
        if (rc == PMIX_SUCCESS) rc = one.append_string(PMIX_HOSTNAME, identity.hostname);
        if (rc == PMIX_SUCCESS) rc = one.append_string(PMIX_VERSION_INFO, identity.library_version);
        if (rc == PMIX_SUCCESS)
            rc = one.append_flag(PMIX_SERVER_TOOL_SUPPORT, (identity.offers & common::IdentityReply::kTools) != 0);
        if (rc == PMIX_SUCCESS)
            rc = one.append_flag(PMIX_SERVER_SYSTEM_SUPPORT, (identity.offers & common::IdentityReply::kSystem) != 0);
        if (rc == PMIX_SUCCESS)
            rc = one.append_flag(PMIX_SERVER_SESSION_SUPPORT, (identity.offers & common::IdentityReply::kSession) != 0);
        // An older server's answer has no folders.
        if (rc == PMIX_SUCCESS && !identity.tmpdir.empty()) rc = one.append_string(PMIX_SERVER_TMPDIR, identity.tmpdir);
        if (rc == PMIX_SUCCESS && !identity.system_tmpdir.empty())
            rc = one.append_string(PMIX_SYSTEM_TMPDIR, identity.system_tmpdir);
        const auto launcher = static_cast<pid_t>(identity.launcher);
        if (rc == PMIX_SUCCESS && launcher > 0) rc = one.append(WIREUP_LAUNCHER_PID, &launcher, PMIX_PID);
        if (rc != PMIX_SUCCESS) return rc;
        auto about = common::array_value(std::move(one));
        if (!about) return about.status();
        rc = all.append(PMIX_SERVER_INFO_ARRAY, std::move(about).value());
        if (rc != PMIX_SUCCESS) return rc;
    }
    WIREUP_RETURN_IF_ERROR(append_filed_servers(all, nspace));
    if (all.empty()) return PMIX_ERR_NOT_FOUND;
    return common::array_value(std::move(all));
}

pmix_status_t Work::answer_one(size_t i, const char* key) {
    const InfoView view = qualifiers_of(queries_[i]);
    ++asked_;
    if (needs_host(view)) {
        if (session_ == nullptr || !session_->has_server()) return PMIX_ERR_NOT_SUPPORTED;
        open_[i].emplace_back(key);
        return PMIX_SUCCESS;
    }
    if (is_abi_key(key)) return add(i, key, Value::string(kAbiVersion));
    if (std::strcmp(key, PMIX_QUERY_SUPPORTED_KEYS) == 0 && !session_->has_server())
        return add(i, key, Value::string(common::supported_query_keys(common::level::client)));
    // A tool can see for itself, whether or not it has a server.
    if (std::strcmp(key, PMIX_QUERY_AVAIL_SERVERS) == 0 && session_->is_tool() && !session_->must_not_wait()) {
        std::string_view nspace;
        if (view.get(PMIX_NSPACE, &nspace) != PMIX_SUCCESS || nspace.size() > common::kMaxNspaceLength)
            return PMIX_ERR_BAD_PARAM;
        auto servers = servers_here(limit_s_, session_->loop().io(), nspace);
        return servers.status() == PMIX_ERR_NOT_FOUND ? PMIX_SUCCESS : add(i, key, std::move(servers));
    }
    const bool the_servers =
        common::answers_query(key, common::level::server | common::level::client) || is_of_moment(key);
    if (view.flag(PMIX_QUERY_REFRESH_CACHE)) {
        session_->query_cache().forget(name_of(i, key));
    } else if (!the_servers) {
        Value known;
        if (session_->query_cache().find(name_of(i, key), known)) return add(i, key, std::move(known), Keep::no);
        Result<Value> value = stored(i, key);
        if (value) return add(i, key, std::move(value), Keep::no);
        if (value.status() == PMIX_ERR_BAD_PARAM) return PMIX_ERR_BAD_PARAM;
    }
    open_[i].emplace_back(key);
    return PMIX_SUCCESS;
}

pmix_status_t Work::answer_here() {
    for (size_t i = 0; i < found_.size(); ++i) {
        const pmix_query_t& query = queries_[i];
        pmix_status_t rc = PMIX_SUCCESS;
        if (is_support(i)) {
            if (session_->has_server() && SupportQuestion::read(query).asks_server()) sent_.push_back(i);
            continue;
        }
        // "Which qualifiers can I narrow these keys with?" instead of the keys.
        const bool ask_qualifiers = std::strcmp(query.keys[0], PMIX_QUERY_SUPPORTED_QUALIFIERS) == 0 ||
                                    std::strcmp(query.keys[0], kOlderQualifiers) == 0;
        const bool by_qualifier =
            qualifiers_of(query).flag(PMIX_QUERY_SUPPORTED_QUALIFIERS) || qualifiers_of(query).flag(kOlderQualifiers);
        for (char** key = query.keys + ask_qualifiers; *key != nullptr && rc == PMIX_SUCCESS; ++key) {
            if (!ask_qualifiers && !by_qualifier) {
                rc = answer_one(i, *key);
                continue;
            }
            ++asked_;
            if (common::answers_query(*key, common::level::client | common::level::server))
                rc = add(i, *key, Value::string(common::supported_qualifiers(*key)));
        }
        if (rc != PMIX_SUCCESS) return rc;
        if (!open_[i].empty()) sent_.push_back(i);
    }
    if (session_ != nullptr && !session_->has_server()) sent_.clear();
    return PMIX_SUCCESS;
}

common::QueryRequest Work::request() {
    common::QueryRequest request;
    auto made = common::CArray<pmix_query_t>::zeroed(sent_.size());
    if (!made) throw std::bad_alloc();
    for (size_t n = 0; n < sent_.size(); ++n) {
        const pmix_query_t& from = queries_[sent_[n]];
        pmix_query_t& to = (*made)[n];
        std::vector<const char*> keys;
        if (is_support(sent_[n])) {
            for (char** key = from.keys; *key != nullptr; ++key) keys.push_back(*key);
        } else {
            for (const std::string& key : open_[sent_[n]]) keys.push_back(key.c_str());
        }
        to.keys = static_cast<char**>(std::calloc(keys.size() + 1, sizeof(char*)));
        if (to.keys == nullptr) throw std::bad_alloc();
        for (size_t k = 0; k < keys.size(); ++k) {
            to.keys[k] = ::strdup(keys[k]);
            if (to.keys[k] == nullptr) throw std::bad_alloc();
        }
        InfoList qualifiers;
        if (qualifiers.append_all(from.qualifiers, from.nqual) != PMIX_SUCCESS) throw std::bad_alloc();
        to.qualifiers = qualifiers.release(&to.nqual);
    }
    request.queries = std::move(made).value();
    return request;
}

pmix_status_t Work::take(pmix_status_t status, const common::ResultsReply& reply) {
    verdict_ = status;
    for (size_t n = 0; n < sent_.size() && n < reply.infos.size(); ++n) {
        const size_t i = sent_[n];
        for (const pmix_info_t& info : common::infos_in(reply.infos[n].value)) {
            pmix_status_t rc = PMIX_SUCCESS;
            if (is_support(i)) {
                rc = support_[i].append(info);
                if (rc != PMIX_SUCCESS) return rc;
                continue;
            }
            auto copy = Value::copy_of(info.value);
            if (!copy) return copy.status();
            const std::string_view key = key_view(info);
            if (key == PMIX_QUERY_SUPPORTED_KEYS && info.value.type == PMIX_STRING) {
                copy =
                    Value::string(common::supported_query_keys(common::level::client) + "," + info.value.data.string);
            }
            rc = add(i, key, std::move(copy), is_of_moment(key) ? Keep::no : Keep::yes);
            if (rc != PMIX_SUCCESS) return rc;
        }
    }
    return PMIX_SUCCESS;
}

// The levels of each function side by side: ours from the table, the server's and the host's from the server.
pmix_status_t Work::finish_support(size_t i) {
    const SupportQuestion q = SupportQuestion::read(queries_[i]);
    const auto own = [](Level level) { return level == Level::client ? common::level::client : common::level::tool; };
    for (const std::string& name : q.functions) {
        ++asked_;
        common::Function function;
        const bool known = common::find_function(name, &function);
        const pmix_info_t* theirs = support_[i].find(name);
        if (!known && theirs == nullptr) continue;
        InfoList levels;
        for (const Level level : common::kLevels) {
            if (!q.attributes_of(level)) continue;
            pmix_status_t rc = PMIX_SUCCESS;
            if (level == Level::client || level == Level::tool) {
                Result<Value> value = Value();
                if (known) value = common::supported_attributes(function, own(level));
                rc = value ? levels.append(common::attributes_key(level), std::move(value).value()) : value.status();
            } else {
                const pmix_info_t* said =
                    theirs == nullptr ? nullptr : common::infos_in(theirs->value).find(common::attributes_key(level));
                rc = said != nullptr ? levels.append(*said) : levels.append(common::attributes_key(level), Value());
            }
            if (rc != PMIX_SUCCESS) return rc;
        }
        WIREUP_RETURN_IF_ERROR(add(i, name, common::array_value(std::move(levels))));
    }
    for (const Level level : common::kLevels) {
        if (!q.list_of(level)) continue;
        ++asked_;
        const char* key = common::functions_key(level);
        pmix_status_t rc = PMIX_SUCCESS;
        if (level == Level::client || level == Level::tool) {
            const std::string list = common::supported_functions(own(level));
            if (!list.empty()) rc = add(i, key, Value::string(list));
        } else if (const pmix_info_t* said = support_[i].find(key)) {
            rc = add(i, key, Value::copy_of(said->value));
        }
        if (rc != PMIX_SUCCESS) return rc;
    }
    return PMIX_SUCCESS;
}

// The answers to one query in the order of its keys, from the server or from here: callers read them by position too.
pmix_status_t Work::list(size_t i, InfoList& results) const {
    const InfoList& found = found_[i];
    if (is_support(i)) return results.append_all(found.c_array(), found.size());
    std::unordered_map<std::string_view, std::vector<size_t>> places;  // of each key, the last one first
    for (size_t n = found.size(); n-- > 0;) places[key_view(found[n])].push_back(n);
    for (char** key = queries_[i].keys; *key != nullptr; ++key) {
        const auto at = places.find(*key);
        if (at == places.end() || at->second.empty()) continue;
        WIREUP_RETURN_IF_ERROR(results.append(found[at->second.back()]));
        at->second.pop_back();
    }
    return PMIX_SUCCESS;
}

// As the Standard has it: one PMIX_QUERY_RESULTS for the query, with its qualifiers in front.
pmix_status_t Work::group(size_t i, InfoList& results) const {
    InfoList one;
    pmix_status_t rc = PMIX_SUCCESS;
    if (queries_[i].nqual != 0) {
        InfoList given;
        rc = given.append_all(queries_[i].qualifiers, queries_[i].nqual);
        if (rc != PMIX_SUCCESS) return rc;
        auto qualifiers = common::array_value(std::move(given));
        if (!qualifiers) return qualifiers.status();
        rc = one.append(PMIX_QUERY_QUALIFIERS, std::move(qualifiers).value());
    }
    if (rc == PMIX_SUCCESS) rc = list(i, one);
    if (rc != PMIX_SUCCESS) return rc;
    auto value = common::array_value(std::move(one));
    return value ? results.append(PMIX_QUERY_RESULTS, std::move(value).value()) : value.status();
}

pmix_status_t Work::finish(InfoList& results) {
    pmix_status_t rc = PMIX_SUCCESS;
    for (size_t i = 0; i < found_.size() && rc == PMIX_SUCCESS; ++i) {
        if (is_support(i)) rc = finish_support(i);
    }
    if (rc != PMIX_SUCCESS) return rc;
    if (answered_ == 0) return common::succeeded(verdict_) ? PMIX_ERR_NOT_FOUND : verdict_;
    const bool grouped = session_ != nullptr && session_->strict();
    for (size_t i = 0; i < found_.size() && rc == PMIX_SUCCESS; ++i)
        rc = grouped ? group(i, results) : list(i, results);
    if (rc != PMIX_SUCCESS) return rc;
    return answered_ == asked_ ? PMIX_SUCCESS : PMIX_ERR_PARTIAL_SUCCESS;
}

bool has_results(pmix_status_t status) noexcept {
    return status == PMIX_SUCCESS || status == PMIX_ERR_PARTIAL_SUCCESS;
}

// take: what is to be done first with an answer. Where there is no memory the callback is called all the same.
template <class Take>
void call_back(Work& work, pmix_info_cbfunc_t callback, void* cbdata, Take take) {
    InfoList results;
    pmix_status_t rc = PMIX_ERR_NOMEM;
    try {
        rc = take();
        if (rc == PMIX_SUCCESS) rc = work.finish(results);
    } catch (const std::bad_alloc&) {
        rc = PMIX_ERR_NOMEM;
    }
    if (!has_results(rc)) results.reset();
    give_results(callback, cbdata, rc, std::move(results));
}

}  // namespace

bool only_abi_versions(const pmix_query_t queries[], size_t nqueries) noexcept {
    if (check(queries, nqueries, false) != PMIX_SUCCESS) return false;
    for (size_t i = 0; i < nqueries; ++i) {
        for (char** key = queries[i].keys; *key != nullptr; ++key) {
            if (!is_abi_key(*key)) return false;
        }
    }
    return true;
}

pmix_status_t query_abi_versions(const pmix_query_t queries[], size_t nqueries, pmix_info_t** results,
                                 size_t* nresults) {
    Work work(nullptr, queries, nqueries);
    pmix_status_t rc = work.answer_here();
    InfoList list;
    if (rc == PMIX_SUCCESS) rc = work.finish(list);
    if (has_results(rc)) *results = list.release(nresults);
    return rc;
}

pmix_status_t query(Session& session, const pmix_query_t queries[], size_t nqueries, pmix_info_t** results,
                    size_t* nresults) {
    pmix_status_t rc = check(queries, nqueries, session.is_servers_own());
    if (rc != PMIX_SUCCESS) return rc;
    Work work(&session, queries, nqueries);
    rc = work.answer_here();
    if (rc != PMIX_SUCCESS) return rc;
    if (work.needs_server()) {
        common::ResultsReply reply;
        rc = session.ask<Command::query>(work.request(), reply, work.limit_s());
        rc = work.take(rc, reply);
        if (rc != PMIX_SUCCESS) return rc;
    }
    InfoList list;
    rc = work.finish(list);
    if (has_results(rc)) *results = list.release(nresults);
    return rc;
}

pmix_status_t query_nb(Session& session, const pmix_query_t queries[], size_t nqueries, pmix_info_cbfunc_t callback,
                       void* cbdata) {
    pmix_status_t rc = check(queries, nqueries, session.is_servers_own());
    if (rc == PMIX_SUCCESS && callback == nullptr) rc = PMIX_ERR_BAD_PARAM;
    if (rc != PMIX_SUCCESS) return rc;
    auto own = common::CArray<pmix_query_t>::copy_of(queries, nqueries);
    if (!own) return own.status();
    auto work = std::make_shared<Work>(&session, std::move(own).value());
    rc = work->answer_here();
    if (rc != PMIX_SUCCESS) return rc;
    if (!work->needs_server()) {
        const auto nothing = [] { return PMIX_SUCCESS; };
        session.loop().post([work, callback, cbdata, nothing] { call_back(*work, callback, cbdata, nothing); });
        return PMIX_SUCCESS;
    }
    const auto done = [work, callback, cbdata](pmix_status_t status, common::ResultsReply& reply) {
        call_back(*work, callback, cbdata, [&] { return work->take(status, reply); });
    };
    return session.ask_nb<Command::query>(work->request(), done, work->limit_s());
}

}  // namespace pmix::client

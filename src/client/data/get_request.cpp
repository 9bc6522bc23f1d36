// SPDX-License-Identifier: BSD-3-Clause
#include "client/data/get_request.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "common/values/info_view.h"
#include "common/values/support.h"
#include "dstore/qualified.h"

namespace pmix::client {
namespace {

using common::InfoView;

// The realm of each key that is not the job's. Keys that several realms have (number of nodes, node list, slots) are
// absent: the job's is meant unless a qualifier says otherwise.
struct KeyRealm {
    std::string_view key;
    Realm realm;
};
constexpr auto kKeyRealms = [] {
    std::array rows{
        KeyRealm{PMIX_APPLDR, Realm::app},
        KeyRealm{PMIX_APP_ARGV, Realm::app},
        KeyRealm{PMIX_APP_SIZE, Realm::app},
        KeyRealm{PMIX_WDIR, Realm::app},
        KeyRealm{PMIX_HOSTNAME, Realm::node},
        KeyRealm{PMIX_HOSTNAME_ALIASES, Realm::node},
        KeyRealm{PMIX_NODEID, Realm::node},
        KeyRealm{PMIX_NODE_SIZE, Realm::node},
        KeyRealm{PMIX_LOCAL_SIZE, Realm::node},
        KeyRealm{PMIX_LOCAL_PEERS, Realm::node},
        KeyRealm{PMIX_LOCAL_PROCS, Realm::node},
        KeyRealm{PMIX_LOCAL_CPUSETS, Realm::node},
        KeyRealm{PMIX_LOCALLDR, Realm::node},
        KeyRealm{PMIX_AVAIL_PHYS_MEMORY, Realm::node},
        KeyRealm{PMIX_ALLOCATED_NODELIST, Realm::session},
        KeyRealm{PMIX_NUM_ALLOCATED_NODES, Realm::session},
        KeyRealm{PMIX_CLUSTER_ID, Realm::session},
        KeyRealm{PMIX_HOSTNAME_KEEP_FQDN, Realm::session},
        KeyRealm{PMIX_RM_NAME, Realm::session},
        KeyRealm{PMIX_RM_VERSION, Realm::session},
        KeyRealm{PMIX_SESSION_ID, Realm::session},
        KeyRealm{PMIX_TDIR_RMCLEAN, Realm::session},
        KeyRealm{PMIX_TMPDIR, Realm::session},
        KeyRealm{PMIX_UNIV_SIZE, Realm::session},
    };
    std::sort(rows.begin(), rows.end(), [](const KeyRealm& a, const KeyRealm& b) { return a.key < b.key; });
    return rows;
}();

enum class Qualifier : uint8_t {
    optional,
    immediate,
    refresh,
    pointers,
    statics,
    scope,
    session,
    job,
    app,
    node,
    session_id,
    appnum,
    node_id,
    hostname,
    nspace,
    job_id,
    timeout,
    wait
};
struct QualifierName {
    std::string_view key;
    Qualifier what;
};
constexpr QualifierName kQualifiers[] = {
    {PMIX_OPTIONAL, Qualifier::optional},
    {PMIX_IMMEDIATE, Qualifier::immediate},
    {PMIX_TIMEOUT, Qualifier::timeout},
    {PMIX_GET_REFRESH_CACHE, Qualifier::refresh},
    {PMIX_GET_POINTER_VALUES, Qualifier::pointers},
    {PMIX_GET_STATIC_VALUES, Qualifier::statics},
    {PMIX_DATA_SCOPE, Qualifier::scope},
    {PMIX_NODE_INFO, Qualifier::node},
    {PMIX_HOSTNAME, Qualifier::hostname},
    {PMIX_NODEID, Qualifier::node_id},
    {PMIX_JOB_INFO, Qualifier::job},
    {PMIX_APP_INFO, Qualifier::app},
    {PMIX_APPNUM, Qualifier::appnum},
    {PMIX_SESSION_INFO, Qualifier::session},
    {PMIX_SESSION_ID, Qualifier::session_id},
    {PMIX_NSPACE, Qualifier::nspace},
    {PMIX_JOBID, Qualifier::job_id},
    {PMIX_WAIT, Qualifier::wait},
};

consteval bool all_supported() {
    for (const QualifierName& q : kQualifiers) {
        if (!common::supports(common::Function::PMIx_Get, common::level::client, q.key)) return false;
    }
    return true;
}
static_assert(all_supported() &&
                  std::size(kQualifiers) == common::supported_count(common::Function::PMIx_Get, common::level::client),
              "support.def has the same qualifiers");

const QualifierName* find_qualifier(std::string_view key) noexcept {
    for (const QualifierName& q : kQualifiers) {
        if (q.key == key) return &q;
    }
    return nullptr;
}

pmix_status_t read_flag(const pmix_value_t& value, bool* out) noexcept {
    const pmix_boolean_t truth = common::truth_of(value);
    if (truth == PMIX_NON_BOOL) return PMIX_ERR_BAD_PARAM;
    *out = truth == PMIX_BOOL_TRUE;
    return PMIX_SUCCESS;
}

pmix_status_t read_u32(const pmix_value_t& value, std::optional<uint32_t>* out) noexcept {
    uint64_t n = 0;
    if (common::read_number(value, &n) != PMIX_SUCCESS || n > UINT32_MAX) return PMIX_ERR_BAD_PARAM;
    *out = static_cast<uint32_t>(n);
    return PMIX_SUCCESS;
}

pmix_status_t read_text(const pmix_value_t& value, std::string_view* out) noexcept {
    if (value.type != PMIX_STRING || value.data.string == nullptr) return PMIX_ERR_BAD_PARAM;
    *out = value.data.string;
    return PMIX_SUCCESS;
}

pmix_status_t read_realm(const pmix_value_t& value, Realm realm, GetRequest& request) noexcept {
    bool wanted = false;
    const pmix_status_t rc = read_flag(value, &wanted);
    if (rc == PMIX_SUCCESS && wanted) request.realm = realm;
    return rc;
}

pmix_status_t read_nspace(const pmix_value_t& value, GetRequest& request) noexcept {
    std::string_view text;
    WIREUP_RETURN_IF_ERROR(read_text(value, &text));
    if (text.empty() || text.size() > common::kMaxNspaceLength) return PMIX_ERR_BAD_PARAM;
    request.nspace = text;
    request.nspace_qualified = true;
    return PMIX_SUCCESS;
}

pmix_status_t apply(Qualifier what, const pmix_value_t& value, GetRequest& request) noexcept {
    switch (what) {
        case Qualifier::optional:
            return read_flag(value, &request.optional);
        case Qualifier::immediate:
            return read_flag(value, &request.immediate);
        case Qualifier::refresh:
            return read_flag(value, &request.refresh);
        case Qualifier::pointers:
            return read_flag(value, &request.by_pointer);
        case Qualifier::statics:
            return read_flag(value, &request.into_caller);
        case Qualifier::session:
            return read_realm(value, Realm::session, request);
        case Qualifier::job:
            return read_realm(value, Realm::job, request);
        case Qualifier::app:
            return read_realm(value, Realm::app, request);
        case Qualifier::node:
            return read_realm(value, Realm::node, request);
        case Qualifier::session_id:
            return read_u32(value, &request.session_id);
        case Qualifier::appnum:
            return read_u32(value, &request.appnum);
        case Qualifier::node_id:
            return read_u32(value, &request.node_id);
        case Qualifier::hostname:
            return read_text(value, &request.hostname);
        case Qualifier::nspace:
        case Qualifier::job_id:
            return read_nspace(value, request);
        case Qualifier::scope: {
            uint64_t n = 0;
            if (value.type == PMIX_SCOPE) {
                n = value.data.scope;
            } else if (common::read_number(value, &n) != PMIX_SUCCESS) {
                return PMIX_ERR_BAD_PARAM;
            }
            if (n > PMIX_INTERNAL) return PMIX_ERR_BAD_PARAM;
            request.scope = static_cast<pmix_scope_t>(n);
            return PMIX_SUCCESS;
        }
        case Qualifier::timeout: {
            int64_t n = 0;
            if (common::read_number(value, &n) != PMIX_SUCCESS || n < 0 || n > INT32_MAX) return PMIX_ERR_BAD_PARAM;
            request.timeout_s = static_cast<int>(n);
            return PMIX_SUCCESS;
        }
        case Qualifier::wait:
            return PMIX_SUCCESS;  // the host's business
    }
    return PMIX_SUCCESS;
}

// A rank that names nobody, of the namespace in the request: "which rank am I?", or an error. Apart, so that the usual
// Get does not carry it.
[[gnu::cold, gnu::noinline]] pmix_status_t read_other_rank(const common::ProcId& self, const pmix_proc_t& proc,
                                                           GetRequest& request) noexcept {
    if (proc.rank != PMIX_RANK_INVALID || request.key != PMIX_RANK || !request.own_nspace) return PMIX_ERR_BAD_PARAM;
    request.rank = self.rank;
    return PMIX_SUCCESS;
}

}  // namespace

Realm default_realm(std::string_view key) noexcept {
    const auto* it = std::lower_bound(kKeyRealms.begin(), kKeyRealms.end(), key,
                                      [](const KeyRealm& row, std::string_view k) { return row.key < k; });
    return it != kKeyRealms.end() && it->key == key ? it->realm : Realm::job;
}

bool GetRequest::names_session_or_node() const noexcept {
    if (nspace_qualified) return false;
    if (realm == Realm::session) return session_id.has_value();
    if (realm != Realm::node || (!node_id && hostname.empty())) return false;
    // PMIX_LOCAL_PROCS is not among them: by the Standard it is about all jobs of the node.
    constexpr std::string_view kOfAJob[] = {PMIX_LOCAL_PEERS, PMIX_LOCAL_SIZE, PMIX_LOCALLDR, PMIX_LOCAL_CPUSETS,
                                            PMIX_NODE_OVERSUBSCRIBED};
    return !all_keys() && std::find(std::begin(kOfAJob), std::end(kOfAJob), key) == std::end(kOfAJob);
}

pmix_status_t parse_get_target(const common::ProcId& self, const pmix_proc_t* proc, const char* key,
                               GetRequest& request) noexcept {
    if (key == nullptr) {
        request.key = {};
    } else {
        const size_t length = ::strnlen(key, common::kMaxKeyLength + 1);
        if (length == 0 || length > common::kMaxKeyLength) return PMIX_ERR_BAD_PARAM;
        request.key = {key, length};
    }
    // One MPI library names its own namespace by an empty one.
    request.own_nspace = proc == nullptr || proc->nspace[0] == '\0' ||
                         std::strncmp(proc->nspace, self.nspace.c_str(), sizeof proc->nspace) == 0;
    if (request.own_nspace) {
        request.nspace = self.nspace;
    } else {
        const size_t length = ::strnlen(proc->nspace, sizeof proc->nspace);
        if (length > common::kMaxNspaceLength) return PMIX_ERR_BAD_PARAM;
        request.nspace = {proc->nspace, length};
    }
    if (proc == nullptr) {
        request.rank = self.rank;
        return PMIX_SUCCESS;
    }
    if (!common::is_real_rank(proc->rank) && proc->rank != PMIX_RANK_WILDCARD && proc->rank != PMIX_RANK_UNDEF) {
        return read_other_rank(self, *proc, request);
    }
    request.rank = proc->rank;
    return PMIX_SUCCESS;
}

common::Result<GetRequest> parse_get(const common::ProcId& self, const pmix_proc_t* proc, const char* key,
                                     const pmix_info_t infos[], size_t ninfos) noexcept {
    GetRequest request;
    if (infos == nullptr && ninfos != 0) return PMIX_ERR_BAD_PARAM;
    pmix_status_t rc = parse_get_target(self, proc, key, request);
    if (rc != PMIX_SUCCESS) return rc;
    request.infos = infos;
    request.ninfos = ninfos;
    for (const pmix_info_t& info : InfoView(infos, ninfos)) {
        const QualifierName* q = find_qualifier(common::key_view(info));
        const bool of_value = dstore::is_qualifier(info);
        if (of_value) request.qualified = key != nullptr;
        if (q == nullptr) {
            if (common::is_required(info) && !of_value) request.required_unknown = true;
            continue;
        }
        rc = apply(q->what, info.value, request);
        if (rc != PMIX_SUCCESS) return rc;
    }
    // A qualifier that only one realm has says which one.
    if (request.realm == Realm::natural && request.reserved()) {
        if (request.appnum) {
            request.realm = Realm::app;
        } else if (request.node_id || !request.hostname.empty()) {
            request.realm = Realm::node;
        } else if (request.session_id) {
            request.realm = Realm::session;
        }
    }
    if (request.nspace_qualified) request.own_nspace = request.nspace == self.nspace;
    if (request.nspace_qualified && request.realm != Realm::proc) request.rank = PMIX_RANK_WILDCARD;
    return request;
}

}  // namespace pmix::client

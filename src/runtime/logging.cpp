// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/logging.h"

#include <stdlib.h>
#include <unistd.h>

#include <cstdio>
#include <string_view>

#include "common/base/log.h"
#include "runtime/environment.h"
#include "runtime/replaced_parameters.h"
#include "transport/rendezvous/rendezvous.h"

namespace pmix::api {
namespace {

common::ProcId identity(Role role, common::InfoView infos) {
    common::ProcId self("", PMIX_RANK_UNDEF);
    if (role == Role::client) {
        auto known = transport::read_identity(&read_environment);
        return known.ok() ? *known : self;
    }
    std::string_view nspace;
    const char* key = role == Role::server ? PMIX_SERVER_NSPACE : PMIX_TOOL_NSPACE;
    if (infos.get(key, &nspace) == PMIX_SUCCESS && nspace.size() <= common::kMaxNspaceLength) self.nspace = nspace;
    if (role != Role::server) return self;
    const pmix_info_t* rank = infos.find(PMIX_SERVER_RANK);
    uint64_t n = 0;
    if (rank != nullptr && rank->value.type == PMIX_PROC_RANK) {
        n = rank->value.data.rank;
    } else if (rank != nullptr && common::read_number(rank->value, &n) != PMIX_SUCCESS) {
        n = 0;  // the init refuses it afterwards
    }
    self.rank = static_cast<common::Rank>(n);
    return self;
}

pmix_status_t start_asked_log(Role role, common::InfoView infos) {
    std::string_view spec;
    WIREUP_RETURN_IF_ERROR(infos.get(PMIX_WIREUP_LOG, &spec));
    if (!spec.empty()) return common::start_log(spec, identity(role, infos));
    const char* asked = read_environment(common::kLogVariable);
    if (asked == nullptr || *asked == '\0') return PMIX_SUCCESS;
    const pmix_status_t started = common::start_log(asked, identity(role, infos));
    if (started == PMIX_ERR_NOMEM || started == PMIX_SUCCESS) return started;
    char line[256];
    const int n = std::snprintf(line, sizeof line, "wireup: %s=%.128s: %s; see docs/guide/debugging.md\n",
                                common::kLogVariable, asked, common::log_status(started));
    if (n > 0 && ::write(2, line, static_cast<size_t>(n)) < 0) return PMIX_SUCCESS;
    return PMIX_SUCCESS;
}

}  // namespace

pmix_status_t begin_log(Role role, common::InfoView infos) {
    const pmix_status_t rc = start_asked_log(role, infos);
    if (rc == PMIX_SUCCESS) log_replaced_parameters();
    return rc;
}

}  // namespace pmix::api

// SPDX-License-Identifier: BSD-3-Clause
#include "client/data/singleton.h"

#include <unistd.h>

#include <string>

#include "client/data/put.h"
#include "client/session/session.h"
#include "common/values/value.h"

namespace pmix::client {
namespace {

using common::Value;

std::string host_name() {
    char name[256] = "localhost";
    if (::gethostname(name, sizeof name - 1) != 0) return "localhost";
    name[sizeof name - 1] = '\0';
    return name;
}

}  // namespace

common::ProcId singleton_identity() {
    const std::string pid = std::to_string(::getpid());
    std::string host = host_name();
    // The name must fit, whatever the host is called.
    const size_t space = common::kMaxNspaceLength - sizeof "singleton.." - pid.size();
    if (host.size() > space) host.resize(space);
    return {"singleton." + host + "." + pid, 0};
}

void describe_singleton(Session& session) {
    const pmix_proc_t job = common::ProcId(session.self().nspace, PMIX_RANK_WILDCARD).to_c();
    const auto of_job = [&](const char* key, const Value& value) { store_internal(session, &job, key, &value.get()); };
    const auto of_self = [&](const char* key, const Value& value) {
        store_internal(session, nullptr, key, &value.get());
    };
    const auto text = [](std::string_view s) {
        auto value = Value::string(s);
        return value ? std::move(value).value() : Value();
    };
    const auto u16 = [](uint16_t n) { return Value::number(n, PMIX_UINT16); };

    const auto nspace = text(session.self().nspace);
    of_job(PMIX_JOBID, nspace);
    for (const char* key : {PMIX_JOB_SIZE, PMIX_UNIV_SIZE, PMIX_MAX_PROCS, PMIX_APP_SIZE, PMIX_LOCAL_SIZE,
                            PMIX_NODE_SIZE, PMIX_NUM_NODES, PMIX_JOB_NUM_APPS}) {
        of_job(key, Value::u32(1));
    }
    // A tool may have been given another rank.
    const common::Rank rank = session.self().rank;
    of_job(PMIX_LOCAL_PEERS, text(std::to_string(rank)));
    of_job(PMIX_LOCALLDR, Value::number(rank, PMIX_PROC_RANK));
    of_job(PMIX_NODEID, Value::u32(0));
    of_job(PMIX_HOSTNAME, text(host_name()));
    of_self(PMIX_RANK, Value::number(rank, PMIX_PROC_RANK));
    of_self(PMIX_APP_RANK, Value::number(common::Rank{0}, PMIX_PROC_RANK));
    of_self(PMIX_GLOBAL_RANK, Value::number(common::Rank{0}, PMIX_PROC_RANK));
    of_self(PMIX_APPNUM, Value::u32(0));
    of_self(PMIX_LOCAL_RANK, u16(0));
    of_self(PMIX_NODE_RANK, u16(0));
}

}  // namespace pmix::client

// SPDX-License-Identifier: BSD-3-Clause
#include "server/spawn/local_job.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include <cassert>
#include <cstdlib>
#include <cstring>

#include "common/base/comma_list.h"
#include "common/base/standard_streams.h"
#include "common/values/array_value.h"
#include "common/values/support.h"
#include "server/jobs/launch_env.h"
#include "server/namespaces/job_info.h"
#include "server/spawn/process_start.h"

namespace pmix::server {

using common::InfoList;
using common::InfoView;
using common::Result;

namespace {

// More processes than one node is ever given; each costs its tool three descriptors at most.
constexpr uint32_t kMaxProcesses = 1u << 16;

// All of the hosts that are named have to be this one.
pmix_status_t check_hosts(InfoView infos, std::string_view hostname) {
    std::string_view list;
    WIREUP_RETURN_IF_ERROR(infos.get(PMIX_HOST, &list));
    bool here = true;
    const std::string_view first = hostname.substr(0, hostname.find('.'));
    for (const std::string_view name : common::CommaList(list)) {
        here = here && (name == hostname || name == first || name == "localhost");
    }
    return here ? PMIX_SUCCESS : PMIX_ERR_JOB_ALLOC_FAILED;
}

// What a debugger asks for is refused where it cannot be had, required or not: it would wait for what never stops.
// Where the processes of one application stop, nobody else could know.
pmix_status_t check_stops(InfoView infos, bool of_job) {
    constexpr const char* kNotHere[] = {PMIX_DEBUG_STOP_ON_EXEC, PMIX_DEBUGGER_DAEMONS, PMIX_COSPAWN_APP};
    constexpr const char* kOfJob[] = {PMIX_DEBUG_STOP_IN_INIT, PMIX_DEBUG_STOP_IN_APP};
    for (const char* key : kNotHere)
        if (infos.flag(key)) return PMIX_ERR_NOT_SUPPORTED;
    for (const char* key : kOfJob) {
        const pmix_info_t* info = of_job ? nullptr : infos.find(key);
        if (info != nullptr && common::truth_of(info->value) != PMIX_BOOL_FALSE) return PMIX_ERR_NOT_SUPPORTED;
    }
    return PMIX_SUCCESS;
}

pmix_status_t check(InfoView infos, std::string_view hostname, bool of_job) {
    pmix_status_t rc =
        common::check_required(infos, common::Function::PMIx_Spawn, common::level::client | common::level::tool);
    if (rc == PMIX_SUCCESS) rc = check_stops(infos, of_job);
    for (const pmix_info_t& info : infos)
        if (rc == PMIX_SUCCESS) rc = check_variable(info);
    return rc == PMIX_SUCCESS ? check_hosts(infos, hostname) : rc;
}

// A rank, or a flag that means all.
pmix_status_t read_input(InfoView infos, std::optional<common::Rank>& in) {
    const pmix_info_t* info = infos.find(PMIX_FWD_STDIN);
    if (info == nullptr) return PMIX_SUCCESS;
    const pmix_value_t& value = info->value;
    if (value.type == PMIX_BOOL || value.type == PMIX_UNDEF) {
        if (common::truth_of(value) == PMIX_BOOL_TRUE) in = PMIX_RANK_WILDCARD;
        return PMIX_SUCCESS;
    }
    uint64_t n = 0;
    if (value.type == PMIX_PROC_RANK) {
        n = value.data.rank;
    } else if (common::read_number(value, &n) != PMIX_SUCCESS || n > UINT32_MAX) {
        return PMIX_ERR_BAD_PARAM;
    }
    in = static_cast<common::Rank>(n);
    return *in == PMIX_RANK_WILDCARD || common::is_real_rank(*in) ? PMIX_SUCCESS : PMIX_ERR_BAD_PARAM;
}

pmix_status_t read_options(InfoView infos, LocalJob& job) {
    job.forwarding.out = infos.flag(PMIX_FWD_STDOUT);
    job.forwarding.err = infos.flag(PMIX_FWD_STDERR);
    job.notices.job_events = infos.flag(PMIX_NOTIFY_JOB_EVENTS);
    // The tool is the launcher: OpenPMIx's tools hear of the end of what they have started without asking.
    job.notices.completion = infos.find(PMIX_NOTIFY_COMPLETION) == nullptr || infos.flag(PMIX_NOTIFY_COMPLETION);
    job.notices.process_ends = infos.flag(PMIX_NOTIFY_PROC_TERMINATION);
    job.notices.abnormal_ends = infos.flag(PMIX_NOTIFY_PROC_ABNORMAL_TERMINATION);
    job.notices.silent_end = infos.flag(PMIX_EVENT_SILENT_TERMINATION);
    job.recoverable = infos.flag(PMIX_JOB_RECOVERABLE);
    job.nohup = infos.flag(PMIX_NOHUP);
    job.tools = infos.flag(PMIX_SPAWN_TOOL);
    pmix_status_t rc = infos.get(PMIX_JOB_TIMEOUT, &job.time_limit_s);
    if (rc == PMIX_SUCCESS && job.time_limit_s < 0) rc = PMIX_ERR_BAD_PARAM;
    return rc == PMIX_SUCCESS ? read_input(infos, job.forwarding.in) : rc;
}

pmix_status_t enter(std::string_view path, LocalApp& app) {
    const std::string folder(path);
    app.folder.reset(common::above_standard(::open(folder.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC)));
    if (!app.folder) return errno == EMFILE || errno == ENFILE ? PMIX_ERR_OUT_OF_RESOURCE : PMIX_ERR_JOB_WDIR_NOT_FOUND;
    if (::faccessat(app.folder.get(), ".", X_OK, AT_EACCESS) != 0) return PMIX_ERR_JOB_WDIR_NOT_FOUND;
    // Programs that ask the environment where they are, are told the same.
    char link[64], real[4096];
    ::snprintf(link, sizeof link, "/proc/self/fd/%d", app.folder.get());
    const ssize_t n = ::readlink(link, real, sizeof real);
    if (n <= 0 || n == static_cast<ssize_t>(sizeof real)) return PMIX_SUCCESS;
    return set_variables(app.env.place(), {{"PWD", std::string(real, static_cast<size_t>(n))}});
}

pmix_status_t edit(InfoView infos, Strings& env) {
    const auto edits = LaunchEnv::read_edits(infos);
    return edits == nullptr ? PMIX_SUCCESS : LaunchEnv::apply_edits(*edits, env.place());
}

pmix_status_t read_app(InfoView job_infos, const pmix_app_t& from, LocalApp& app) {
    if (from.maxprocs <= 0) return PMIX_ERR_BAD_PARAM;
    app.size = static_cast<uint32_t>(from.maxprocs);
    const bool has_argv = from.argv != nullptr && from.argv[0] != nullptr;
    const char* name = from.cmd != nullptr ? from.cmd : has_argv ? from.argv[0] : nullptr;
    if (name == nullptr) return PMIX_ERR_JOB_NO_EXE_SPECIFIED;
    char* const only[] = {const_cast<char*>(name), nullptr};
    auto argv = Strings::copy_of(has_argv ? from.argv : only);
    auto env = Strings::copy_of(from.env);
    if (!argv || !env) return PMIX_ERR_NOMEM;
    app.argv = std::move(argv).value();
    app.env = std::move(env).value();
    // What is said of one program counts over what is said of all.
    const InfoView own(from.info, from.ninfo);
    pmix_status_t rc = edit(job_infos, app.env);
    if (rc == PMIX_SUCCESS) rc = edit(own, app.env);
    if (rc != PMIX_SUCCESS) return rc;
    std::string_view folder = from.cwd != nullptr ? from.cwd : "";
    if (folder.empty()) rc = own.get(PMIX_WDIR, &folder);
    if (rc == PMIX_SUCCESS && folder.empty()) rc = job_infos.get(PMIX_WDIR, &folder);
    if (rc == PMIX_SUCCESS && !folder.empty()) rc = enter(folder, app);
    if (rc != PMIX_SUCCESS) return rc;
    auto file = find_program(name, variable_in(app.env.get(), "PATH"), app.folder ? app.folder.get() : AT_FDCWD);
    if (!file) return file.status();
    app.file = std::move(file).value();
    return PMIX_SUCCESS;
}

// Adds as long as all is well.
struct Writer {
    InfoList& list;
    pmix_status_t rc = PMIX_SUCCESS;
    void text(const char* key, std::string_view value) {
        if (rc == PMIX_SUCCESS) rc = list.append_string(key, value);
    }
    void u32(const char* key, uint32_t n) {
        if (rc == PMIX_SUCCESS) rc = list.append_number(key, n, PMIX_UINT32);
    }
    void rank(const char* key, common::Rank n) {
        if (rc == PMIX_SUCCESS) rc = list.append_number(key, n, PMIX_PROC_RANK);
    }
};

// The placement, the local ranks and all that follows from them is the library's to derive: all are on this node.
pmix_status_t describe(InfoView infos, LocalJob& job) {
    Writer w{job.description};
    w.text(PMIX_JOBID, job.nspace);
    w.u32(PMIX_JOB_SIZE, job.size());
    w.u32(PMIX_UNIV_SIZE, job.size());
    w.u32(PMIX_MAX_PROCS, job.size());
    w.u32(PMIX_JOB_NUM_APPS, static_cast<uint32_t>(job.apps.size()));
    const pmix_proc_t parent = job.parent.to_c();
    if (w.rc == PMIX_SUCCESS) w.rc = job.description.append_flag(PMIX_SPAWNED, true);
    if (w.rc == PMIX_SUCCESS) w.rc = job.description.append(PMIX_PARENT_ID, &parent, PMIX_PROC);
    common::Rank leader = 0;
    for (uint32_t i = 0; i < job.apps.size(); ++i) {
        InfoList facts;
        Writer of_app{facts, w.rc};
        of_app.u32(PMIX_APPNUM, i);
        of_app.u32(PMIX_APP_SIZE, job.apps[i].size);
        of_app.rank(PMIX_APPLDR, leader);
        leader += job.apps[i].size;
        if (of_app.rc != PMIX_SUCCESS) return of_app.rc;
        auto array = common::array_value(std::move(facts));
        w.rc = array ? job.description.append(PMIX_APP_INFO_ARRAY, std::move(array).value()) : array.status();
    }
    // For the processes themselves, or for the launcher that they are.
    for (const pmix_info_t& info : infos) {
        const std::string_view key = common::key_view(info);
        const bool for_them = key == PMIX_DEBUG_STOP_IN_INIT || key == PMIX_DEBUG_STOP_IN_APP ||
                              key == PMIX_DEBUG_TARGET || key == PMIX_LAUNCH_DIRECTIVES;
        if (for_them && w.rc == PMIX_SUCCESS) w.rc = job.description.append(info);
    }
    return w.rc;
}

}  // namespace

// ---- strings ----

Strings::~Strings() {
    for (char** at = list_; at != nullptr && *at != nullptr; ++at) std::free(*at);
    std::free(list_);
}

Result<Strings> Strings::copy_of(char* const* list) noexcept {
    size_t n = 0;
    while (list != nullptr && list[n] != nullptr) ++n;
    Strings copy;
    copy.list_ = static_cast<char**>(std::calloc(n + 1, sizeof(char*)));
    if (copy.list_ == nullptr) return PMIX_ERR_NOMEM;
    for (size_t i = 0; i < n; ++i)
        if ((copy.list_[i] = ::strdup(list[i])) == nullptr) return PMIX_ERR_NOMEM;
    return copy;
}

const char* variable_in(char* const* env, std::string_view name) noexcept {
    for (; env != nullptr && *env != nullptr; ++env)
        if (std::strncmp(*env, name.data(), name.size()) == 0 && (*env)[name.size()] == '=')
            return *env + name.size() + 1;
    return nullptr;
}

// ---- the job ----

uint32_t LocalJob::size() const noexcept {
    uint32_t n = 0;
    for (const LocalApp& app : apps) n += app.size;
    return n;
}

const LocalApp& LocalJob::app_of(common::Rank rank) const noexcept {
    assert(rank < size());
    size_t i = 0;
    while (rank >= apps[i].size) rank -= apps[i++].size;
    return apps[i];
}

Result<std::unique_ptr<LocalJob>> read_local_job(std::string nspace, const common::ProcId& parent, InfoView infos,
                                                 const common::CArray<pmix_app_t>& apps, std::string_view hostname) {
    auto job = std::make_unique<LocalJob>();
    job->nspace = std::move(nspace);
    job->parent = parent;
    pmix_status_t rc = check(infos, hostname, true);
    for (const pmix_app_t& app : apps)
        if (rc == PMIX_SUCCESS) rc = check({app.info, app.ninfo}, hostname, false);
    if (rc == PMIX_SUCCESS) rc = read_options(infos, *job);
    uint64_t total = 0;
    for (const pmix_app_t& from : apps) {
        if (rc != PMIX_SUCCESS) return rc;
        rc = read_app(infos, from, job->apps.emplace_back());
        total += job->apps.back().size;
        if (rc == PMIX_SUCCESS && total > kMaxProcesses) rc = PMIX_ERR_JOB_INSUFFICIENT_RESOURCES;
    }
    if (rc == PMIX_SUCCESS) rc = describe(infos, *job);
    if (rc != PMIX_SUCCESS) return rc;
    return job;
}

}  // namespace pmix::server

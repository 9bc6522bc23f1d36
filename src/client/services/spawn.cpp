// SPDX-License-Identifier: BSD-3-Clause
#include "client/services/spawn.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "client/session/request.h"
#include "client/session/session.h"
#include "common/protocol/app_environment.h"
#include "common/values/info_view.h"

namespace pmix::client {
namespace {

using common::Command;
using common::InfoView;

// How long the host may take to end the targets, the caller perhaps among them. A process that aborts does not wait for
// a server that has stopped: it has its own exit to make.
constexpr int kAbortTimeoutS = 30;

// Whether the job, or one of its programs, is one of Open MPI, as far as anything is said.
struct Model {
    bool said = false;
    bool open_mpi = false;
    void read(InfoView infos) {
        for (const pmix_info_t& info : infos) {
            const std::string_view key = common::key_view(info);
            if (!common::is_model_key(key) || key == PMIX_MODEL_LIBRARY_VERSION) continue;
            if (info.value.type != PMIX_STRING || info.value.data.string == nullptr) continue;
            said = true;
            open_mpi = open_mpi || common::names_open_mpi(info.value.data.string);
        }
    }
};

bool has_variable(char** env, std::string_view name) noexcept {
    for (; env != nullptr && *env != nullptr; ++env)
        if (std::strncmp(*env, name.data(), name.size()) == 0 && (*env)[name.size()] == '=') return true;
    return false;
}

// The caller's own word for a variable counts more than its environment.
pmix_status_t add_environment(pmix_app_t& app, bool open_mpi) {
    std::vector<std::string> more;
    const pmix_status_t rc = common::harvest(environ, open_mpi, [&](std::string_view name, std::string_view value) {
        if (!has_variable(app.env, name)) more.push_back(std::string(name) + "=" + std::string(value));
        return PMIX_SUCCESS;
    });
    if (rc != PMIX_SUCCESS) return rc;
    size_t n = 0;
    while (app.env != nullptr && app.env[n] != nullptr) ++n;
    if (n + more.size() > common::kMaxListLength) return PMIX_ERR_BAD_PARAM;
    auto* grown = static_cast<char**>(std::realloc(app.env, (n + more.size() + 1) * sizeof(char*)));
    if (grown == nullptr) return PMIX_ERR_NOMEM;
    app.env = grown;
    app.env[n] = nullptr;
    for (const std::string& entry : more) {
        app.env[n] = ::strdup(entry.c_str());
        if (app.env[n] == nullptr) return PMIX_ERR_NOMEM;
        app.env[++n] = nullptr;
    }
    return PMIX_SUCCESS;
}

std::string_view base_name(std::string_view path) noexcept {
    const size_t end = path.find_last_not_of('/');
    if (end == std::string_view::npos) return path.substr(0, 1);
    path = path.substr(0, end + 1);
    return path.substr(path.rfind('/') + 1);  // npos + 1 is 0
}

// Arguments alone, without the program's name in front.
bool lacks_name(const pmix_app_t& app) noexcept {
    if (app.cmd == nullptr) return false;
    return app.argv == nullptr || app.argv[0] == nullptr || base_name(app.cmd) != base_name(app.argv[0]);
}

pmix_status_t put_name_first(pmix_app_t& app) {
    size_t n = 0;
    while (app.argv != nullptr && app.argv[n] != nullptr) ++n;
    if (n + 1 > common::kMaxListLength) return PMIX_ERR_BAD_PARAM;
    auto* grown = static_cast<char**>(std::realloc(app.argv, (n + 2) * sizeof(char*)));
    if (grown == nullptr) return PMIX_ERR_NOMEM;
    app.argv = grown;
    app.argv[n] = nullptr;
    char* name = ::strdup(std::string(base_name(app.cmd)).c_str());
    if (name == nullptr) return PMIX_ERR_NOMEM;
    std::memmove(app.argv + 1, app.argv, (n + 1) * sizeof(char*));
    app.argv[0] = name;
    return PMIX_SUCCESS;
}

// MPICH's MPI_Comm_spawn, for one, gives the arguments without the program's name, and OpenPMIx's client puts it in
// front. With PMIX_INDEX_ARGV the first argument is the name, whatever it is.
pmix_status_t send_names(common::SpawnRequest& request) {
    const bool of_all = InfoView(request.infos.data(), request.infos.size()).flag(PMIX_INDEX_ARGV);
    const auto changes = [&](const pmix_app_t& app) {
        const InfoView own(app.info, app.ninfo);
        const bool has_first = app.argv != nullptr && app.argv[0] != nullptr;
        const bool indexed = own.has(PMIX_INDEX_ARGV) ? own.flag(PMIX_INDEX_ARGV) : of_all;
        return lacks_name(app) && !(indexed && has_first);
    };
    if (std::none_of(request.apps.begin(), request.apps.end(), changes)) return PMIX_SUCCESS;
    auto apps = common::CArray<pmix_app_t>::copy_of(request.apps.data(), request.apps.size());
    if (!apps) return apps.status();
    for (pmix_app_t& app : *apps)
        if (changes(app)) WIREUP_RETURN_IF_ERROR(put_name_first(app));
    request.apps = common::Apps(std::move(apps).value());
    return PMIX_SUCCESS;
}

// PMIX_SETUP_APP_ENVARS, of the job or of one program: the caller's environment, as far as it is the programming
// model's and this library's, is sent too, and the request is marked so that the host does not do it again.
pmix_status_t send_environment(common::SpawnRequest& request) {
    const InfoView of_job(request.infos.data(), request.infos.size());
    if (of_job.flag(PMIX_ENVARS_HARVESTED)) return PMIX_SUCCESS;
    const bool for_all = of_job.flag(PMIX_SETUP_APP_ENVARS);
    const auto wants = [&](const pmix_app_t& app) {
        return for_all || InfoView(app.info, app.ninfo).flag(PMIX_SETUP_APP_ENVARS);
    };
    if (std::none_of(request.apps.begin(), request.apps.end(), wants)) return PMIX_SUCCESS;
    auto apps = common::CArray<pmix_app_t>::copy_of(request.apps.data(), request.apps.size());
    if (!apps) return apps.status();
    for (pmix_app_t& app : *apps) {
        if (!wants(app)) continue;
        Model model;
        model.read(of_job);
        model.read({app.info, app.ninfo});
        WIREUP_RETURN_IF_ERROR(add_environment(app, model.open_mpi || !model.said));
    }
    common::InfoList infos;
    pmix_status_t rc = infos.append_all(request.infos.data(), request.infos.size());
    if (rc == PMIX_SUCCESS) rc = infos.append_flag(PMIX_ENVARS_HARVESTED, true);
    if (rc != PMIX_SUCCESS) return rc;
    request.apps = common::Apps(std::move(apps).value());
    request.infos = common::Infos(std::move(infos));
    return PMIX_SUCCESS;
}

// A folder that is no full path is of the caller's, not of the host's.
std::string full_path(const std::string& here, const char* folder) {
    if (folder == nullptr) return {};
    return folder[0] == '/' || folder[0] == 0 ? folder : (here == "/" ? here : here + '/') + folder;
}

bool is_relative(const char* folder) noexcept {
    return folder != nullptr && folder[0] != '/' && folder[0] != 0;
}

bool has_relative_folder(InfoView infos) noexcept {
    return std::any_of(infos.begin(), infos.end(), [](const pmix_info_t& info) {
        return common::key_view(info) == PMIX_WDIR && info.value.type == PMIX_STRING &&
               is_relative(info.value.data.string);
    });
}

pmix_status_t replace_string(char*& old, const std::string& by) {
    char* copy = ::strdup(by.c_str());
    if (copy == nullptr) return PMIX_ERR_NOMEM;
    std::free(old);
    old = copy;
    return PMIX_SUCCESS;
}

pmix_status_t complete_folders(pmix_info_t* infos, size_t n, const std::string& here) {
    pmix_status_t rc = PMIX_SUCCESS;
    for (size_t i = 0; i < n && rc == PMIX_SUCCESS; ++i) {
        if (!has_relative_folder({&infos[i], 1})) continue;
        rc = replace_string(infos[i].value.data.string, full_path(here, infos[i].value.data.string));
    }
    return rc;
}

// A program that names no folder starts in the caller's, as far as there is one: the host starts it in one of its own
// otherwise, where a relative path means something else.
pmix_status_t send_directory(common::SpawnRequest& request) {
    const auto says = [](InfoView infos) { return infos.has(PMIX_WDIR) || infos.flag(PMIX_SET_SESSION_CWD); };
    const InfoView of_job(request.infos.data(), request.infos.size());
    const bool job_says = says(of_job);
    const auto lacks = [&](const pmix_app_t& app) {
        return app.cwd == nullptr && !job_says && !says({app.info, app.ninfo});
    };
    const auto changes = [&](const pmix_app_t& app) {
        return lacks(app) || is_relative(app.cwd) || has_relative_folder({app.info, app.ninfo});
    };
    const bool job_changes = has_relative_folder(of_job);
    if (!job_changes && std::none_of(request.apps.begin(), request.apps.end(), changes)) return PMIX_SUCCESS;
    const std::unique_ptr<char, decltype(&std::free)> own(::getcwd(nullptr, 0), &std::free);
    // Linux says "(unreachable)/..." of a folder outside of the process's root.
    if (own == nullptr || own.get()[0] != '/') return PMIX_SUCCESS;
    const std::string here = own.get();
    auto apps = common::CArray<pmix_app_t>::copy_of(request.apps.data(), request.apps.size());
    if (!apps) return apps.status();
    for (pmix_app_t& app : *apps) {
        if (!changes(app)) continue;
        pmix_status_t rc = complete_folders(app.info, app.ninfo, here);
        if (rc == PMIX_SUCCESS && (lacks(app) || is_relative(app.cwd)))
            rc = replace_string(app.cwd, app.cwd == nullptr ? here : full_path(here, app.cwd));
        if (rc != PMIX_SUCCESS) return rc;
    }
    request.apps = common::Apps(std::move(apps).value());
    if (!job_changes) return PMIX_SUCCESS;
    common::InfoList infos;
    pmix_status_t rc = infos.append_all(request.infos.data(), request.infos.size());
    if (rc == PMIX_SUCCESS) rc = complete_folders(infos.c_array(), infos.size(), here);
    if (rc == PMIX_SUCCESS) request.infos = common::Infos(std::move(infos));
    return rc;
}

struct PreparedSpawn {
    common::SpawnRequest request;
    int timeout_s = 0;
};

common::Result<PreparedSpawn> prepare_spawn(const Session& session, const pmix_info_t infos[], size_t ninfos,
                                            const pmix_app_t apps[], size_t napps) {
    PreparedSpawn p;
    pmix_status_t rc = check_directives(session, infos, ninfos);
    if (rc == PMIX_SUCCESS) rc = read_timeout(infos, ninfos, &p.timeout_s);
    // A limit for the spawn is one for the call too, where there is no other.
    if (rc == PMIX_SUCCESS && p.timeout_s == 0) rc = InfoView(infos, ninfos).get(PMIX_SPAWN_TIMEOUT, &p.timeout_s);
    if (rc == PMIX_SUCCESS && p.timeout_s < 0) rc = PMIX_ERR_BAD_PARAM;
    const pmix_proc_t* parent = nullptr;
    if (rc == PMIX_SUCCESS) rc = InfoView(infos, ninfos).get(PMIX_PARENT_ID, &parent);
    if (rc != PMIX_SUCCESS) return rc;
    if (apps == nullptr || napps == 0 || napps > common::kMaxListLength) return PMIX_ERR_BAD_PARAM;
    for (size_t i = 0; i < napps; ++i) {
        if (apps[i].cmd == nullptr && (apps[i].argv == nullptr || apps[i].argv[0] == nullptr)) {
            return PMIX_ERR_JOB_NO_EXE_SPECIFIED;
        }
        rc = check_directives(session, apps[i].info, apps[i].ninfo);
        if (rc != PMIX_SUCCESS) return rc;
    }
    p.request.infos = common::Infos::borrow(infos, ninfos);
    p.request.apps = common::Apps::borrow(apps, napps);
    rc = send_names(p.request);
    if (rc == PMIX_SUCCESS) rc = send_directory(p.request);
    if (rc == PMIX_SUCCESS) rc = send_environment(p.request);
    if (rc != PMIX_SUCCESS) return rc;
    return p;
}

}  // namespace

pmix_status_t spawn(Session& session, const pmix_info_t infos[], size_t ninfos, const pmix_app_t apps[], size_t napps,
                    char* ret_nspace) {
    if (ret_nspace != nullptr) std::memset(ret_nspace, 0, sizeof(pmix_nspace_t));
    auto p = prepare_spawn(session, infos, ninfos, apps, napps);
    if (!p) return p.status();
    common::SpawnReply reply;
    const pmix_status_t rc = session.ask<Command::spawn>(p->request, reply, p->timeout_s);
    if (!common::succeeded(rc)) return rc;
    if (ret_nspace != nullptr && reply.nspace.size() <= common::kMaxNspaceLength) {
        std::memcpy(ret_nspace, reply.nspace.data(), reply.nspace.size());
    }
    return PMIX_SUCCESS;
}

pmix_status_t spawn_nb(Session& session, const pmix_info_t infos[], size_t ninfos, const pmix_app_t apps[],
                       size_t napps, pmix_spawn_cbfunc_t callback, void* cbdata) {
    if (callback == nullptr) return PMIX_ERR_BAD_PARAM;
    auto p = prepare_spawn(session, infos, ninfos, apps, napps);
    if (!p) return p.status();
    const auto done = [callback, cbdata](pmix_status_t rc, common::SpawnReply& reply) {
        const pmix_proc_t job = common::ProcId(reply.nspace, PMIX_RANK_WILDCARD).to_c();
        pmix_nspace_t nspace;
        std::memcpy(nspace, job.nspace, sizeof nspace);
        callback(rc == PMIX_OPERATION_SUCCEEDED ? PMIX_SUCCESS : rc, nspace, cbdata);
    };
    return session.ask_nb<Command::spawn>(p->request, done, p->timeout_s);
}

pmix_status_t abort(Session& session, int status, const char* message, const pmix_proc_t procs[], size_t nprocs) {
    common::AbortRequest request;
    request.status = status;
    if (message != nullptr) request.message.assign(message, common::bounded_length(message, 1u << 20));
    if (procs == nullptr && nprocs != 0) return PMIX_ERR_BAD_PARAM;
    if (procs != nullptr && nprocs != 0) {
        auto list = checked_procs(procs, nprocs);
        if (!list) return list.status();
        request.procs = std::move(list).value();
    }
    // An abort from a callback does not wait for its reply.
    if (session.must_not_wait()) {
        return session.ask_nb<Command::abort>(request, [](pmix_status_t, common::Nothing&) {});
    }
    common::Nothing nothing;
    const pmix_status_t rc = session.ask<Command::abort>(request, nothing, kAbortTimeoutS);
    return rc == PMIX_OPERATION_SUCCEEDED ? PMIX_SUCCESS : rc;
}

}  // namespace pmix::client

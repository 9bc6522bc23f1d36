// SPDX-License-Identifier: BSD-3-Clause
// PMIx_server_*: what the host's arrays say is read on the caller's thread, applied on the loop.
//
// Where a callback was given, the answer is PMIX_SUCCESS and the callback comes later, from the loop: hosts take
// PMIX_OPERATION_SUCCEEDED there for a failure. Without a callback the call waits; from the loop thread itself (inside
// an upcall) it is done at once.
#include <pmix_server.h>
#include <time.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "abi/boundary.h"
#include "common/base/ids.h"
#include "common/codec/portable.h"
#include "common/values/support.h"
#include "common/values/value.h"
#include "runtime/library.h"
#include "server/jobs/fabric_allocation.h"
#include "server/jobs/launch_env.h"
#include "server/jobs/setup_application.h"
#include "server/namespaces/job_info.h"
#include "server/namespaces/job_section.h"
#include "server/server.h"
#include "topology/node_topology.h"
#include "transport/event_loop.h"
#include "transport/waiter.h"

namespace {

using pmix::api::guarded;
using pmix::api::Library;
using pmix::api::server_boundary;
using pmix::common::check_required;
using pmix::common::Function;
using pmix::common::InfoList;
using pmix::common::ProcId;
using pmix::server::Server;
namespace server = pmix::server;

constexpr pmix::common::Levels kServer = pmix::common::level::server;

// A name that fits, or nothing.
bool read_name(const char* name, size_t max, std::string& out) {
    if (name == nullptr) return false;
    size_t n = pmix::common::bounded_length(name, max + 1);
    if (n == 0 || n > max) return false;
    out.assign(name, n);
    return true;
}

bool read_proc(const pmix_proc_t* proc, ProcId& out) {
    if (proc == nullptr || !read_name(proc->nspace, pmix::common::kMaxNspaceLength, out.nspace)) return false;
    out.rank = proc->rank;
    return true;
}

// A step that found no memory may have left others waiting: the server looks for what is due.
template <class Operation>
pmix_status_t apply(pmix::transport::EventLoop& loop, Server& srv, Operation& operation) noexcept {
    const pmix_status_t rc = guarded([&] { return operation(srv); });
    if (rc == PMIX_ERR_NOMEM) loop.step_lost();
    return rc;
}

// Runs operation(Server&) on the loop thread, for the call of this name. It answers a status. Upcalls that are due are
// made before: the call may free what they are about.
template <class Operation>
pmix_status_t on_loop(const char* name, Library& library, Server& srv, pmix_op_cbfunc_t callback, void* cbdata,
                      Operation operation) {
    auto& loop = library.loop();
    if (callback != nullptr) {
        loop.post([loop = &loop, &srv, callback, cbdata, name, operation = std::move(operation)]() mutable {
            srv.make_due_upcalls();
            const pmix_status_t rc = apply(*loop, srv, operation);
            callback(pmix::api::told(rc, name), cbdata);
        });
        return PMIX_SUCCESS;
    }
    if (loop.on_loop_thread()) {
        srv.make_due_upcalls();
        return apply(loop, srv, operation);
    }
    pmix_status_t rc = PMIX_ERROR;
    pmix::transport::Waiter done;
    loop.post([&] {
        srv.make_due_upcalls();
        rc = apply(loop, srv, operation);
        done.complete();
    });
    loop.wait(done, pmix::transport::Deadline::never());
    return rc;
}

// For calls that have no way to report a failure: where memory is short they are made again, after a pause where the
// caller is not the loop itself. The host counts on them: collective operations wait for a rank that is not
// deregistered.
template <class Call>
pmix_status_t until_memory(Library& library, bool reports, Call call) {
    constexpr int kTries = 100;
    constexpr timespec kPause{0, 10'000'000};
    for (int tries = 1;; ++tries) {
        const pmix_status_t rc = guarded(call);
        if (rc != PMIX_ERR_NOMEM || reports || tries == kTries) return rc;
        if (!library.loop().on_loop_thread()) ::nanosleep(&kPause, nullptr);
    }
}

// For a host, which gives it back by the release function.
std::unique_ptr<InfoList> on_heap(InfoList&& infos) {
    return std::make_unique<InfoList>(std::move(infos));
}

// One byte object for each job: a buffer with its name, then a key and a value by turns. All of them or none.
pmix_status_t pack_jobs(const std::vector<std::pair<std::string, InfoList>>& jobs, pmix_data_buffer_t* out) {
    using pmix::common::pack_values;
    struct Buffer {
        ~Buffer() { PMIx_Data_buffer_destruct(&buffer); }
        pmix_data_buffer_t buffer = PMIX_DATA_BUFFER_STATIC_INIT;
    };
    std::vector<pmix_byte_object_t> objects;
    std::vector<Buffer> packed(jobs.size());
    pmix_status_t rc = PMIX_SUCCESS;
    for (size_t i = 0; i < jobs.size() && rc == PMIX_SUCCESS; ++i) {
        pmix_data_buffer_t* one = &packed[i].buffer;
        const char* name = jobs[i].first.c_str();
        rc = pack_values(one, &name, 1, PMIX_STRING);
        for (const pmix_info_t& info : jobs[i].second) {
            const char* key = info.key;
            const size_t before = one->bytes_used;
            if (rc == PMIX_SUCCESS) rc = pack_values(one, &key, 1, PMIX_STRING);
            if (rc == PMIX_SUCCESS) rc = pack_values(one, &info.value, 1, PMIX_VALUE);
            // A value that OpenPMIx's format has no form for (a process without a name) is no reason to lack the
            // others.
            if (rc == PMIX_ERR_BAD_PARAM) {
                one->bytes_used = before;
                one->pack_ptr = one->base_ptr + before;
                rc = PMIX_SUCCESS;
            }
        }
        objects.push_back({one->base_ptr, one->bytes_used});
    }
    for (size_t i = 0; i < objects.size() && rc == PMIX_SUCCESS; ++i)
        rc = pack_values(out, &objects[i], 1, PMIX_BYTE_OBJECT);
    return rc;
}

}  // namespace

extern "C" {

pmix_status_t PMIx_server_init(pmix_server_module_t* module, pmix_info_t info[], size_t ninfo) {
    return guarded([&] { return Library::init_server(module, info, ninfo); });
}

pmix_status_t PMIx_server_finalize(void) {
    return guarded([] { return Library::finalize_server(); });
}

pmix_status_t PMIx_server_register_nspace(const char nspace[], int nlocalprocs, pmix_info_t info[], size_t ninfo,
                                          pmix_op_cbfunc_t cbfunc, void* cbdata) {
    return server_boundary([&](Library& library, Server& srv) -> pmix_status_t {
        std::string name;
        if (!read_name(nspace, pmix::common::kMaxNspaceLength, name)) return PMIX_ERR_BAD_PARAM;
        // -1: none, or not known.
        if ((info == nullptr && ninfo != 0) || nlocalprocs < -1) return PMIX_ERR_BAD_PARAM;
        auto job = server::read_job(name, nlocalprocs, info, ninfo);
        if (!job.ok()) return job.status();
        return on_loop(
            "PMIx_server_register_nspace", library, srv, cbfunc, cbdata,
            [job = std::move(job).value()](Server& server) mutable { return server.register_nspace(std::move(job)); });
    });
}

void PMIx_server_deregister_nspace(const char nspace[], pmix_op_cbfunc_t cbfunc, void* cbdata) {
    pmix_status_t rc = server_boundary([&](Library& library, Server& srv) -> pmix_status_t {
        return until_memory(library, cbfunc != nullptr, [&]() -> pmix_status_t {
            std::string name;
            if (!read_name(nspace, pmix::common::kMaxNspaceLength, name)) return PMIX_ERR_BAD_PARAM;
            return on_loop("PMIx_server_deregister_nspace", library, srv, cbfunc, cbdata, [name](Server& server) {
                server.deregister_nspace(name);
                return PMIX_SUCCESS;
            });
        });
    });
    // The function returns nothing, so the callback reports the error: a host that waits for it must not wait for ever.
    if (rc != PMIX_SUCCESS && cbfunc != nullptr) cbfunc(rc, cbdata);
}

pmix_status_t PMIx_server_register_client(const pmix_proc_t* proc, uid_t uid, gid_t gid, void* server_object,
                                          pmix_op_cbfunc_t cbfunc, void* cbdata) {
    return server_boundary([&](Library& library, Server& srv) -> pmix_status_t {
        ProcId id;
        if (!read_proc(proc, id) || !pmix::common::is_real_rank(id.rank)) return PMIX_ERR_BAD_PARAM;
        return on_loop("PMIx_server_register_client", library, srv, cbfunc, cbdata,
                       [id, uid, gid, server_object](Server& server) {
                           return server.register_client(id, uid, gid, server_object);
                       });
    });
}

void PMIx_server_deregister_client(const pmix_proc_t* proc, pmix_op_cbfunc_t cbfunc, void* cbdata) {
    pmix_status_t rc = server_boundary([&](Library& library, Server& srv) -> pmix_status_t {
        return until_memory(library, cbfunc != nullptr, [&]() -> pmix_status_t {
            ProcId id;
            if (!read_proc(proc, id)) return PMIX_ERR_BAD_PARAM;
            return on_loop("PMIx_server_deregister_client", library, srv, cbfunc, cbdata, [id](Server& server) {
                server.deregister_client(id);
                return PMIX_SUCCESS;
            });
        });
    });
    if (rc != PMIX_SUCCESS && cbfunc != nullptr) cbfunc(rc, cbdata);
}

pmix_status_t PMIx_server_register_resources(pmix_info_t info[], size_t ninfo, pmix_op_cbfunc_t cbfunc, void* cbdata) {
    return server_boundary([&](Library& library, Server& srv) -> pmix_status_t {
        if (info == nullptr && ninfo != 0) return PMIX_ERR_BAD_PARAM;
        auto resources = server::read_resources(info, ninfo);
        if (!resources.ok()) return resources.status();
        return on_loop("PMIx_server_register_resources", library, srv, cbfunc, cbdata,
                       [r = std::move(resources).value()](Server& server) mutable {
                           return server.register_resources(std::move(r));
                       });
    });
}

pmix_status_t PMIx_server_deregister_resources(pmix_info_t info[], size_t ninfo, pmix_op_cbfunc_t cbfunc,
                                               void* cbdata) {
    return server_boundary([&](Library& library, Server& srv) -> pmix_status_t {
        if (info == nullptr && ninfo != 0) return PMIX_ERR_BAD_PARAM;
        auto named = server::read_resource_names(info, ninfo);
        if (!named.ok()) return named.status();
        return on_loop("PMIx_server_deregister_resources", library, srv, cbfunc, cbdata,
                       [r = std::move(named).value()](Server& server) { return server.deregister_resources(r); });
    });
}

pmix_status_t PMIx_server_register_session(uint32_t sessionID, pmix_info_t info[], size_t ninfo,
                                           pmix_op_cbfunc_t cbfunc, void* cbdata) {
    return server_boundary([&](Library& library, Server& srv) -> pmix_status_t {
        srv.note_call_of_7();
        if (sessionID == UINT32_MAX || (info == nullptr && ninfo != 0)) return PMIX_ERR_BAD_PARAM;
        auto session = server::read_session(sessionID, info, ninfo);
        if (!session.ok()) return session.status();
        return on_loop("PMIx_server_register_session", library, srv, cbfunc, cbdata,
                       [sessionID, s = std::move(session).value()](Server& server) mutable {
                           return server.register_session(sessionID, std::move(s));
                       });
    });
}

void PMIx_server_deregister_session(uint32_t sessionID, pmix_op_cbfunc_t cbfunc, void* cbdata) {
    const pmix_status_t rc = server_boundary([&](Library& library, Server& srv) -> pmix_status_t {
        srv.note_call_of_7();
        return on_loop("PMIx_server_deregister_session", library, srv, cbfunc, cbdata, [sessionID](Server& server) {
            server.deregister_session(sessionID);
            return PMIX_SUCCESS;
        });
    });
    if (rc != PMIX_SUCCESS && cbfunc != nullptr) cbfunc(rc, cbdata);
}

// Input is the only channel whose flow can be controlled. No directive is defined.
pmix_status_t PMIx_server_IOF_flow_control(const pmix_proc_t* source, pmix_iof_channel_t channel, bool xoff,
                                           const pmix_info_t directives[], size_t ndirs, pmix_op_cbfunc_t cbfunc,
                                           void* cbdata) {
    return server_boundary([&](Library& library, Server& srv) -> pmix_status_t {
        srv.note_call_of_7();
        if (directives == nullptr && ndirs != 0) return PMIX_ERR_BAD_PARAM;
        if ((channel & PMIX_FWD_STDIN_CHANNEL) == 0) return PMIX_ERR_NOT_SUPPORTED;
        for (size_t i = 0; i < ndirs; ++i)
            if ((directives[i].flags & PMIX_INFO_REQD) != 0) return PMIX_ERR_NOT_SUPPORTED;
        std::optional<ProcId> from;
        if (source != nullptr) from.emplace(*source);
        const pmix_status_t rc =
            on_loop("PMIx_server_IOF_flow_control", library, srv, cbfunc, cbdata, [from, xoff](Server& server) {
                server.control_input(from, xoff);
                return PMIX_SUCCESS;
            });
        return rc == PMIX_SUCCESS && cbfunc == nullptr ? PMIX_OPERATION_SUCCEEDED : rc;
    });
}

// Works where nothing else does: in a child forked from the host, without loop, locks or an initialised library. Where
// there is one, its last finalize waits for us. The rank need not be registered yet.
pmix_status_t PMIx_server_setup_fork(const pmix_proc_t* proc, char*** env) {
    if (proc == nullptr || env == nullptr) return PMIX_ERR_BAD_PARAM;
    if (pmix::common::nspace_view(proc->nspace).empty() || !pmix::common::is_real_rank(proc->rank))
        return PMIX_ERR_BAD_PARAM;
    const bool inside = Library::enter() != nullptr;
    const server::LaunchEnv* launch_env = server::LaunchEnv::current();
    const pmix_status_t rc = launch_env == nullptr
                                 ? PMIX_ERR_INIT
                                 : launch_env->apply(pmix::common::nspace_view(proc->nspace), proc->rank, env);
    if (inside) Library::leave();
    return rc;
}

pmix_status_t PMIx_server_dmodex_request(const pmix_proc_t* proc, pmix_dmodex_response_fn_t cbfunc, void* cbdata) {
    return server_boundary([&](Library& library, Server& srv) -> pmix_status_t {
        ProcId id;
        if (cbfunc == nullptr || !read_proc(proc, id)) return PMIX_ERR_BAD_PARAM;
        library.loop().post([&srv, id, cbfunc, cbdata] {
            server::Get::Respond respond;
            try {
                respond = [cbfunc, cbdata](pmix_status_t status, pmix::common::Bytes bytes) {
                    // The prototype is not const; the host copies what it keeps.
                    auto* data = reinterpret_cast<char*>(const_cast<uint8_t*>(bytes.data()));
                    cbfunc(status, bytes.empty() ? nullptr : data, bytes.size(), cbdata);
                };
            } catch (const std::bad_alloc&) {
                return cbfunc(PMIX_ERR_NOMEM, nullptr, 0, cbdata);
            }
            srv.direct_modex_request(id, std::move(respond));
        });
        return PMIX_SUCCESS;
    });
}

// What the host gets stays until it calls the release function, with nothing in it too.
pmix_status_t PMIx_server_setup_application(const char nspace[], pmix_info_t info[], size_t ninfo,
                                            pmix_setup_application_cbfunc_t cbfunc, void* cbdata) {
    return server_boundary([&](Library& library, Server& srv) -> pmix_status_t {
        std::string name;
        if (cbfunc == nullptr || !read_name(nspace, pmix::common::kMaxNspaceLength, name)) return PMIX_ERR_BAD_PARAM;
        if (info == nullptr && ninfo != 0) return PMIX_ERR_BAD_PARAM;
        WIREUP_RETURN_IF_ERROR(check_required({info, ninfo}, Function::PMIx_server_setup_application, kServer));
        auto answer = server::set_up_application({info, ninfo});
        if (!answer.ok()) return answer.status();
        // The environment is read here; the inventory lies on the loop.
        auto options = InfoList::from_c(info, ninfo);
        if (!options.ok()) return options.status();
        library.loop().post([&srv, cbfunc, cbdata, options = on_heap(std::move(options).value()),
                             infos = on_heap(std::move(answer).value())]() mutable {
            const pmix_status_t rc = guarded([&] { return srv.allocate_fabrics(*options, *infos); });
            if (rc != PMIX_SUCCESS) infos->reset();
            InfoList* list = infos.release();
            cbfunc(
                rc, list->c_array(), list->size(), cbdata,
                [](pmix_status_t, void* p) { delete static_cast<InfoList*>(p); }, list);
        });
        return PMIX_SUCCESS;
    });
}

pmix_status_t PMIx_server_setup_local_support(const char nspace[], pmix_info_t info[], size_t ninfo,
                                              pmix_op_cbfunc_t cbfunc, void* cbdata) {
    return server_boundary([&](Library& library, Server& srv) -> pmix_status_t {
        std::string name;
        if (!read_name(nspace, pmix::common::kMaxNspaceLength, name)) return PMIX_ERR_BAD_PARAM;
        if (info == nullptr && ninfo != 0) return PMIX_ERR_BAD_PARAM;
        WIREUP_RETURN_IF_ERROR(check_required({info, ninfo}, Function::PMIx_server_setup_local_support, kServer));
        auto infos = pmix::common::InfoList::from_c(info, ninfo);
        if (!infos.ok()) return infos.status();
        const pmix_status_t rc = on_loop(
            "PMIx_server_setup_local_support", library, srv, cbfunc, cbdata,
            [name, infos = std::move(infos).value()](Server& server) { return server.add_variables(name, infos); });
        // Python's binding calls it without a callback, and waits for one where the status is PMIX_SUCCESS.
        return rc == PMIX_SUCCESS && cbfunc == nullptr ? PMIX_OPERATION_SUCCEEDED : rc;
    });
}

pmix_status_t PMIx_server_define_process_set(const pmix_proc_t* members, size_t nmembers, const char* pset_name) {
    return server_boundary([&](Library& library, Server& srv) -> pmix_status_t {
        std::string name;
        if (!read_name(pset_name, pmix::common::kMaxKeyLength, name)) return PMIX_ERR_BAD_PARAM;
        if (members == nullptr || nmembers == 0) return PMIX_ERR_BAD_PARAM;
        std::vector<ProcId> procs(nmembers);
        for (size_t i = 0; i < nmembers; ++i)
            if (!read_proc(&members[i], procs[i])) return PMIX_ERR_BAD_PARAM;
        return on_loop("PMIx_server_define_process_set", library, srv, nullptr, nullptr,
                       [&](Server& server) { return server.define_process_set(name, std::move(procs)); });
    });
}

pmix_status_t PMIx_server_delete_process_set(char* pset_name) {
    return server_boundary([&](Library& library, Server& srv) -> pmix_status_t {
        std::string name;
        if (!read_name(pset_name, pmix::common::kMaxKeyLength, name)) return PMIX_ERR_BAD_PARAM;
        return on_loop("PMIx_server_delete_process_set", library, srv, nullptr, nullptr,
                       [&](Server& server) { return server.delete_process_set(name); });
    });
}

// The strings are copied. An array without names means that the function takes no attributes.
pmix_status_t PMIx_Register_attributes(char* function, char* attrs[]) {
    return server_boundary([&](Library& library, Server& srv) -> pmix_status_t {
        std::string name;
        if (!read_name(function, pmix::common::kMaxKeyLength, name)) return PMIX_ERR_BAD_PARAM;
        std::vector<std::string> attributes;
        for (char** a = attrs; a != nullptr && *a != nullptr; ++a) {
            if (!read_name(*a, pmix::common::kMaxKeyLength, attributes.emplace_back())) return PMIX_ERR_BAD_PARAM;
        }
        return on_loop("PMIx_Register_attributes", library, srv, nullptr, nullptr,
                       [&](Server& server) { return server.register_attributes(name, std::move(attributes)); });
    });
}

// What this node has. hwloc discovers it on the caller's thread, at the first call only.
pmix_status_t PMIx_server_collect_inventory(pmix_info_t directives[], size_t ndirs, pmix_info_cbfunc_t cbfunc,
                                            void* cbdata) {
    return server_boundary([&](Library& library, Server& srv) -> pmix_status_t {
        if (cbfunc == nullptr || (directives == nullptr && ndirs != 0)) return PMIX_ERR_BAD_PARAM;
        WIREUP_RETURN_IF_ERROR(check_required({directives, ndirs}, Function::PMIx_server_collect_inventory, kServer));
        auto found = pmix::api::collect_inventory(library.topology(), srv.options().id, srv.options().hostname);
        if (!found.ok()) return found.status();
        library.loop().post([cbfunc, cbdata, infos = on_heap(std::move(found).value())]() mutable {
            InfoList* list = infos.release();
            cbfunc(
                PMIX_SUCCESS, list->c_array(), list->size(), cbdata, [](void* p) { delete static_cast<InfoList*>(p); },
                list);
        });
        return PMIX_SUCCESS;
    });
}

pmix_status_t PMIx_server_deliver_inventory(pmix_info_t info[], size_t ninfo, pmix_info_t directives[], size_t ndirs,
                                            pmix_op_cbfunc_t cbfunc, void* cbdata) {
    return server_boundary([&](Library& library, Server& srv) -> pmix_status_t {
        if ((info == nullptr && ninfo != 0) || (directives == nullptr && ndirs != 0)) return PMIX_ERR_BAD_PARAM;
        WIREUP_RETURN_IF_ERROR(check_required({directives, ndirs}, Function::PMIx_server_deliver_inventory, kServer));
        auto infos = InfoList::from_c(info, ninfo);
        if (!infos.ok()) return infos.status();
        return on_loop("PMIx_server_deliver_inventory", library, srv, cbfunc, cbdata,
                       [infos = std::move(infos).value()](Server& server) { return server.deliver_inventory(infos); });
    });
}

pmix_status_t PMIx_server_collect_job_info(pmix_proc_t* procs, size_t nprocs, pmix_data_buffer_t* dbuf) {
    return server_boundary([&](Library& library, Server& srv) -> pmix_status_t {
        if (procs == nullptr || nprocs == 0 || dbuf == nullptr) return PMIX_ERR_BAD_PARAM;
        std::vector<std::string> names;
        for (size_t i = 0; i < nprocs; ++i) {
            ProcId id;
            if (!read_proc(&procs[i], id)) return PMIX_ERR_BAD_PARAM;
            if (std::find(names.begin(), names.end(), id.nspace) == names.end()) names.push_back(id.nspace);
        }
        std::vector<std::pair<std::string, InfoList>> jobs;
        const pmix_status_t rc = on_loop("PMIx_server_collect_job_info", library, srv, nullptr, nullptr,
                                         [&](Server& server) -> pmix_status_t {
                                             for (const std::string& name : names) {
                                                 auto facts = server.collect_job_info(name);
                                                 if (facts)
                                                     jobs.emplace_back(name, std::move(facts).value());
                                                 else if (facts.status() != PMIX_ERR_NOT_FOUND)
                                                     return facts.status();
                                             }
                                             return jobs.empty() ? PMIX_ERR_NOT_FOUND : PMIX_SUCCESS;
                                         });
        return rc == PMIX_SUCCESS ? pack_jobs(jobs, dbuf) : rc;
    });
}

}  // extern "C"

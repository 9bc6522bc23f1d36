// Upcalls for what a host serves beside jobs and data: control, allocations, monitoring, log, credentials. See host.h.
#include <utility>

#include "server/host_call.h"

namespace pmix::server {

using common::CArray;
using common::InfoList;
using common::ProcId;

bool Host::has(common::Function function) const noexcept {
    using enum common::Function;
    switch (function) {
        case PMIx_Get:
            return has_direct_modex();
        case PMIx_Fence:
            return has_fence();
        case PMIx_Connect:
            return has_connect();
        case PMIx_Disconnect:
            return has_disconnect();
        case PMIx_Group_construct:
        case PMIx_Group_destruct:
            return has_group();
        case PMIx_Publish:
            return module_.publish != nullptr;
        case PMIx_Lookup:
            return module_.lookup != nullptr;
        case PMIx_Unpublish:
            return module_.unpublish != nullptr;
        case PMIx_Spawn:
            return has_spawn();
        case PMIx_Job_control:
            return has_job_control();
        case PMIx_Allocation_request:
            return module_.allocate != nullptr;
        case PMIx_Session_control:
            return module_.session_control != nullptr;
        case PMIx_Resource_block:
            return module_.resource_block != nullptr;
        case PMIx_Process_monitor:
            return module_.monitor != nullptr;
        case PMIx_Log:
            return has_log();
        case PMIx_Get_credential:
            return has_get_credential();
        case PMIx_Validate_credential:
            return has_validate_credential();
        case PMIx_Query_info:
            return has_query();
        case PMIx_Notify_event:
            return has_notify();
        case PMIx_Register_event_handler:
            return has_register_events();
        case PMIx_Fabric_register:
            return has_fabric();
        case PMIx_IOF_pull:
            return module_.iof_pull != nullptr;
        case PMIx_IOF_push:
            return has_push_stdin();
        default:
            return false;
    }
}

void Host::query(const ProcId& asker, CArray<pmix_query_t> queries, Done done) {
    if (module_.query == nullptr) return later(std::move(done), PMIX_ERR_NOT_SUPPORTED);
    auto call = std::make_unique<Call>(std::move(done));
    call->proc = asker.to_c();
    call->queries = std::move(queries);
    run(std::move(call), [this](Call& c, void* cbdata) {
        return module_.query(&c.proc, c.queries.data(), c.queries.size(), on_infos, cbdata);
    });
}

void Host::job_control(const ProcId& requestor, const std::vector<ProcId>& targets, InfoList directives, Done done) {
    if (module_.job_control == nullptr) return later(std::move(done), PMIX_ERR_NOT_SUPPORTED);
    auto call = std::make_unique<Call>(std::move(done));
    call->proc = requestor.to_c();
    call->procs = to_c(targets);
    call->infos = std::move(directives);
    run(std::move(call), [this](Call& c, void* cbdata) {
        return module_.job_control(&c.proc, c.procs.empty() ? nullptr : c.procs.data(), c.procs.size(),
                                   c.infos.c_array(), c.infos.size(), on_infos, cbdata);
    });
}

void Host::log(const ProcId& client, InfoList data, InfoList directives, Done done) {
    if (!has_log()) return later(std::move(done), PMIX_ERR_NOT_SUPPORTED);
    auto call = std::make_unique<Call>(std::move(done));
    call->proc = client.to_c();
    call->infos = std::move(data);
    call->more = std::move(directives);
    run(std::move(call), [this](Call& c, void* cbdata) {
        if (module_.log2 != nullptr) {
            return module_.log2(&c.proc, c.infos.c_array(), c.infos.size(), c.more.c_array(), c.more.size(), on_op,
                                cbdata);
        }
        module_.log(&c.proc, c.infos.c_array(), c.infos.size(), c.more.c_array(), c.more.size(), on_op, cbdata);
        return PMIX_SUCCESS;
    });
}

void Host::allocate(const ProcId& client, pmix_alloc_directive_t directive, InfoList infos, Done done) {
    if (module_.allocate == nullptr) return later(std::move(done), PMIX_ERR_NOT_SUPPORTED);
    auto call = std::make_unique<Call>(std::move(done));
    call->proc = client.to_c();
    call->infos = std::move(infos);
    run(std::move(call), [this, directive](Call& c, void* cbdata) {
        return module_.allocate(&c.proc, directive, c.infos.c_array(), c.infos.size(), on_infos, cbdata);
    });
}

void Host::monitor(const ProcId& requestor, InfoList what, pmix_status_t error, InfoList directives, Done done) {
    if (module_.monitor == nullptr) return later(std::move(done), PMIX_ERR_NOT_SUPPORTED);
    auto call = std::make_unique<Call>(std::move(done));
    call->proc = requestor.to_c();
    call->infos = std::move(what);
    call->more = std::move(directives);
    run(std::move(call), [this, error](Call& c, void* cbdata) {
        return module_.monitor(&c.proc, c.infos.c_array(), error, c.more.c_array(), c.more.size(), on_infos, cbdata);
    });
}

void Host::session_control(const ProcId& requestor, uint32_t session, InfoList directives, Done done) {
    if (module_.session_control == nullptr) return later(std::move(done), PMIX_ERR_NOT_SUPPORTED);
    auto call = std::make_unique<Call>(std::move(done));
    call->proc = requestor.to_c();
    call->infos = std::move(directives);
    run(std::move(call), [this, session](Call& c, void* cbdata) {
        return module_.session_control(&c.proc, session, c.infos.c_array(), c.infos.size(), on_infos, cbdata);
    });
}

void Host::fabric(const ProcId& requestor, pmix_fabric_operation_t operation, InfoList directives, Done done) {
    if (module_.fabric == nullptr) return later(std::move(done), PMIX_ERR_NOT_SUPPORTED);
    auto call = std::make_unique<Call>(std::move(done));
    call->proc = requestor.to_c();
    call->infos = std::move(directives);
    run(std::move(call), [this, operation](Call& c, void* cbdata) {
        return module_.fabric(&c.proc, operation, c.infos.c_array(), c.infos.size(), on_fabric, cbdata);
    });
}

void Host::resource_block(const ProcId& requestor, pmix_resource_block_directive_t directive, std::string block,
                          std::vector<pmix_resource_unit_t> units, InfoList infos, Done done) {
    if (module_.resource_block == nullptr) return later(std::move(done), PMIX_ERR_NOT_SUPPORTED);
    auto call = std::make_unique<Call>(std::move(done));
    call->proc = requestor.to_c();
    call->texts.push_back(std::move(block));
    call->units = std::move(units);
    call->infos = std::move(infos);
    run(std::move(call), [this, directive](Call& c, void* cbdata) {
        return module_.resource_block(&c.proc, directive, c.texts[0].c_str(), c.units.data(), c.units.size(),
                                      c.infos.c_array(), c.infos.size(), on_op, cbdata);
    });
}

void Host::get_credential(const ProcId& proc, InfoList directives, Done done) {
    if (module_.get_credential == nullptr) return later(std::move(done), PMIX_ERR_NOT_SUPPORTED);
    auto call = std::make_unique<Call>(std::move(done));
    call->proc = proc.to_c();
    call->infos = std::move(directives);
    run(std::move(call), [this](Call& c, void* cbdata) {
        return module_.get_credential(&c.proc, c.infos.c_array(), c.infos.size(), on_credential, cbdata);
    });
}

void Host::validate_credential(const ProcId& proc, std::vector<uint8_t> credential, InfoList directives, Done done) {
    if (module_.validate_credential == nullptr) return later(std::move(done), PMIX_ERR_NOT_SUPPORTED);
    auto call = std::make_unique<Call>(std::move(done));
    call->proc = proc.to_c();
    call->infos = std::move(directives);
    call->bytes = std::move(credential);
    call->object.size = call->bytes.size();
    call->object.bytes = call->bytes.empty() ? nullptr : reinterpret_cast<char*>(call->bytes.data());
    run(std::move(call), [this](Call& c, void* cbdata) {
        return module_.validate_credential(&c.proc, &c.object, c.infos.c_array(), c.infos.size(), on_validation,
                                           cbdata);
    });
}

}  // namespace pmix::server

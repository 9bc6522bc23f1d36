// SPDX-License-Identifier: BSD-3-Clause
// The upcalls, entry by entry: which arguments the host borrows, and by which callback it answers. See module_host.h.
#include <cstdlib>
#include <memory>
#include <utility>

#include "common/base/log.h"
#include "server/host/module_upcall.h"

namespace pmix::server {

using common::CArray;
using common::InfoList;
using common::ProcId;

namespace {

std::vector<pmix_proc_t> to_c(const std::vector<common::ProcId>& procs) {
    std::vector<pmix_proc_t> out;
    out.reserve(procs.size());
    for (const common::ProcId& p : procs) out.push_back(p.to_c());
    return out;
}
std::vector<pmix_proc_t> to_c(const common::ProcSet& procs) {
    std::vector<pmix_proc_t> out;
    out.reserve(procs.size());
    for (const common::ProcSet::Part& part : procs.parts()) {
        pmix_proc_t proc = common::ProcId(part.nspace, 0).to_c();
        part.for_each([&](common::Rank rank) {
            proc.rank = rank;
            out.push_back(proc);
        });
    }
    return out;
}

// Null for an empty list, where the entry says so.
template <class T>
T* or_null(std::vector<T>& list) noexcept {
    return list.empty() ? nullptr : list.data();
}

ProcId first_of(const std::vector<ProcId>& procs) {
    return procs.empty() ? ProcId() : procs.front();
}
ProcId first_of(const common::ProcSet& procs) {
    return procs.parts().empty() ? ProcId() : ProcId(procs.parts().front().nspace, PMIX_RANK_WILDCARD);
}

// Texts as a module is given them: pointers, NULL at the end. The pointers hold when the object is moved.
class KeyArray {
  public:
    explicit KeyArray(const std::vector<std::string>& keys) : texts_(keys) {
        pointers_.reserve(texts_.size() + 1);
        for (std::string& text : texts_) pointers_.push_back(text.data());
        pointers_.push_back(nullptr);
    }
    char** get() noexcept { return pointers_.data(); }
    char** get_or_null() noexcept { return texts_.empty() ? nullptr : get(); }

  private:
    std::vector<std::string> texts_;
    std::vector<char*> pointers_;
};

pmix_byte_object_t object_of(std::vector<uint8_t>& bytes) noexcept {
    pmix_byte_object_t object{};
    object.size = bytes.size();
    object.bytes = bytes.empty() ? nullptr : reinterpret_cast<char*>(bytes.data());
    return object;
}

// Bytes and the object that shows them to the host, which may look at it until it has answered.
struct HeldObject {
    explicit HeldObject(std::vector<uint8_t> b) : bytes(std::move(b)), object(object_of(bytes)) {}
    std::vector<uint8_t> bytes;
    pmix_byte_object_t object;
};

}  // namespace

bool ModuleHost::has(common::Function function) const noexcept {
    using enum common::Function;
    switch (function) {
        case PMIx_Get:
            return module_.direct_modex != nullptr;
        case PMIx_Fence:
            return module_.fence_nb != nullptr;
        case PMIx_Connect:
            return module_.connect != nullptr;
        case PMIx_Disconnect:
            return module_.disconnect != nullptr;
        case PMIx_Group_construct:
        case PMIx_Group_destruct:
            return module_.group != nullptr;
        case PMIx_Publish:
            return module_.publish != nullptr;
        case PMIx_Lookup:
            return module_.lookup != nullptr;
        case PMIx_Unpublish:
            return module_.unpublish != nullptr;
        case PMIx_Spawn:
            return module_.spawn != nullptr;
        case PMIx_Job_control:
            return module_.job_control != nullptr;
        case PMIx_Allocation_request:
            return module_.allocate != nullptr;
        case PMIx_Session_control:
            return module_.session_control != nullptr;
        case PMIx_Resource_block:
            return module_.resource_block != nullptr;
        case PMIx_Process_monitor:
            return module_.monitor != nullptr;
        case PMIx_Log:
            return module_.log != nullptr || module_.log2 != nullptr;
        case PMIx_Get_credential:
            return module_.get_credential != nullptr;
        case PMIx_Validate_credential:
            return module_.validate_credential != nullptr;
        case PMIx_Query_info:
            return module_.query != nullptr;
        case PMIx_Notify_event:
            return module_.notify_event != nullptr;
        case PMIx_Register_event_handler:
            return module_.register_events != nullptr;
        case PMIx_Fabric_register:
            return module_.fabric != nullptr;
        case PMIx_IOF_pull:
            return module_.iof_pull != nullptr;
        case PMIx_IOF_push:
            return module_.push_stdin != nullptr;
        default:
            return false;
    }
}

// ---- processes that come and go ----

void ModuleHost::client_connected(const ProcId& proc, void* server_object, InfoList infos, Done done) {
    if (module_.client_connected2 != nullptr) {
        return upcall(module_.client_connected2, proc, std::move(done),
                      [p = proc.to_c(), server_object, infos = std::move(infos)](auto entry, void* cbdata) mutable {
                          return entry(&p, server_object, infos.c_array(), infos.size(), on_op, cbdata);
                      });
    }
    defer([this, proc, server_object, done = std::move(done)]() mutable {
        pmix_status_t rc = PMIX_SUCCESS;
        if (module_.client_connected != nullptr) {
            // Hosts that answer this one at all do so by the return value: known ones ignore the callback.
            pmix_proc_t p = proc.to_c();
            ++made_;
            try {
                rc = module_.client_connected(&p, server_object, nullptr, nullptr);
            } catch (...) {
                rc = PMIX_ERROR;
            }
            if (rc > 0) {
                WIREUP_LOG(host, warn, "client_connected returned %d, which is no status; PMIX_ERROR is taken for it",
                           rc);
                rc = PMIX_ERROR;
            }
            if (rc == PMIX_OPERATION_SUCCEEDED || rc == PMIX_ERR_NOT_SUPPORTED) rc = PMIX_SUCCESS;
        }
        answer(std::move(done), rc);
    });
}

void ModuleHost::client_finalized(const ProcId& proc, void* server_object, Done done) {
    if (module_.client_finalized == nullptr) return answer(std::move(done), PMIX_SUCCESS);
    upcall(module_.client_finalized, proc, std::move(done),
           [p = proc.to_c(), server_object](auto entry, void* cbdata) mutable {
               return entry(&p, server_object, on_op, cbdata);
           });
}

void ModuleHost::tool_connected(InfoList infos, Done done) {
    if (module_.tool_connected2 != nullptr) {
        return upcall(module_.tool_connected2, {}, std::move(done),
                      [infos = std::move(infos)](auto entry, void* cbdata) mutable {
                          return entry(infos.c_array(), infos.size(), on_tool, cbdata);
                      });
    }
    upcall(module_.tool_connected, {}, std::move(done), [infos = std::move(infos)](auto entry, void* cbdata) mutable {
        entry(infos.c_array(), infos.size(), on_tool, cbdata);
        return pmix_status_t{PMIX_SUCCESS};
    });
}

// ---- data ----

void ModuleHost::fence(const common::ProcSet& procs, InfoList infos, char* blob, size_t size, Done done) {
    struct Free {
        void operator()(char* bytes) const noexcept { std::free(bytes); }
    };
    std::unique_ptr<char, Free> held(blob);  // until the host has it
    upcall(
        module_.fence_nb, first_of(procs), std::move(done),
        [list = to_c(procs), infos = std::move(infos), held = std::move(held), size](auto entry, void* cbdata) mutable {
            return entry(list.data(), list.size(), infos.c_array(), infos.size(), held.release(), size, on_modex,
                         cbdata);
        });
}

void ModuleHost::direct_modex(const ProcId& proc, InfoList infos, Done done) {
    upcall(module_.direct_modex, proc, std::move(done),
           [p = proc.to_c(), infos = std::move(infos)](auto entry, void* cbdata) mutable {
               return entry(&p, infos.c_array(), infos.size(), on_modex, cbdata);
           });
}

void ModuleHost::publish(const ProcId& proc, InfoList infos, Runs runs, Done done) {
    upcall(
        module_.publish, proc, std::move(done),
        [p = proc.to_c(), infos = std::move(infos)](auto entry, void* cbdata) mutable {
            return entry(&p, infos.c_array(), infos.size(), on_op, cbdata);
        },
        runs);
}

void ModuleHost::lookup(const ProcId& proc, const std::vector<std::string>& keys, InfoList infos, Runs runs,
                        Done done) {
    upcall(
        module_.lookup, proc, std::move(done),
        [p = proc.to_c(), held = std::make_unique<KeyArray>(keys), infos = std::move(infos)](auto entry,
                                                                                             void* cbdata) mutable {
            return entry(&p, held->get(), infos.c_array(), infos.size(), on_lookup, cbdata);
        },
        runs);
}

void ModuleHost::unpublish(const ProcId& proc, const std::vector<std::string>& keys, InfoList infos, Runs runs,
                           Done done) {
    upcall(
        module_.unpublish, proc, std::move(done),
        [p = proc.to_c(), held = std::make_unique<KeyArray>(keys), infos = std::move(infos)](auto entry,
                                                                                             void* cbdata) mutable {
            return entry(&p, held->get_or_null(), infos.c_array(), infos.size(), on_op, cbdata);
        },
        runs);
}

// ---- collectives ----

void ModuleHost::connect(const common::ProcSet& procs, InfoList infos, Done done) {
    upcall(module_.connect, first_of(procs), std::move(done),
           [list = to_c(procs), infos = std::move(infos)](auto entry, void* cbdata) mutable {
               return entry(list.data(), list.size(), infos.c_array(), infos.size(), on_op, cbdata);
           });
}

void ModuleHost::disconnect(const common::ProcSet& procs, InfoList infos, Done done) {
    upcall(module_.disconnect, first_of(procs), std::move(done),
           [list = to_c(procs), infos = std::move(infos)](auto entry, void* cbdata) mutable {
               return entry(list.data(), list.size(), infos.c_array(), infos.size(), on_op, cbdata);
           });
}

void ModuleHost::group(pmix_group_operation_t operation, std::string name, const common::ProcSet& procs, InfoList infos,
                       Done done) {
    // A bootstrap is no collective operation of this server, whose table would report it while it is open.
    const char* entry_name = infos.find(PMIX_GROUP_BOOTSTRAP) != nullptr ? "group bootstrap" : "group";
    upcall(
        module_.group, first_of(procs), std::move(done),
        [operation, name = std::make_unique<std::string>(std::move(name)), list = to_c(procs),
         infos = std::move(infos)](auto entry, void* cbdata) mutable {
            return entry(operation, name->data(), list.data(), list.size(), infos.c_array(), infos.size(), on_infos,
                         cbdata);
        },
        Runs::on_loop, entry_name);
}

// ---- events ----

void ModuleHost::register_events(std::vector<pmix_status_t> codes, InfoList infos, Done done) {
    if (module_.register_events == nullptr) return answer(std::move(done), PMIX_SUCCESS);
    upcall(module_.register_events, {}, std::move(done),
           [codes = std::move(codes), infos = std::move(infos)](auto entry, void* cbdata) mutable {
               return entry(codes.data(), codes.size(), infos.c_array(), infos.size(), on_op, cbdata);
           });
}

void ModuleHost::deregister_events(std::vector<pmix_status_t> codes, Done done) {
    if (module_.deregister_events == nullptr) return answer(std::move(done), PMIX_SUCCESS);
    upcall(module_.deregister_events, {}, std::move(done),
           [codes = std::move(codes)](auto entry, void* cbdata) mutable {
               return entry(codes.data(), codes.size(), on_op, cbdata);
           });
}

void ModuleHost::notify_event(pmix_status_t code, const ProcId& source, pmix_data_range_t range, InfoList infos,
                              Done done) {
    if (module_.notify_event == nullptr) return answer(std::move(done), PMIX_SUCCESS);
    upcall(module_.notify_event, source, std::move(done),
           [code, p = source.to_c(), range, infos = std::move(infos)](auto entry, void* cbdata) mutable {
               return entry(code, &p, range, infos.c_array(), infos.size(), on_op, cbdata);
           });
}

// ---- jobs ----

void ModuleHost::abort(const ProcId& proc, void* server_object, int status, std::string message, const Procs& procs,
                       Done done) {
    upcall(module_.abort, proc, std::move(done),
           [p = proc.to_c(), server_object, status, message = std::make_unique<std::string>(std::move(message)),
            list = to_c(procs)](auto entry, void* cbdata) mutable {
               return entry(&p, server_object, status, message->c_str(), or_null(list), list.size(), on_op, cbdata);
           });
}

void ModuleHost::spawn(const ProcId& proc, InfoList infos, CArray<pmix_app_t> apps, Done done) {
    upcall(module_.spawn, proc, std::move(done),
           [p = proc.to_c(), infos = std::move(infos), apps = std::move(apps)](auto entry, void* cbdata) mutable {
               return entry(&p, infos.c_array(), infos.size(), apps.data(), apps.size(), on_spawn, cbdata);
           });
}

void ModuleHost::job_control(const ProcId& requestor, const Procs& targets, InfoList directives, Done done) {
    upcall(
        module_.job_control, requestor, std::move(done),
        [p = requestor.to_c(), list = to_c(targets), infos = std::move(directives)](auto entry, void* cbdata) mutable {
            return entry(&p, or_null(list), list.size(), infos.c_array(), infos.size(), on_infos, cbdata);
        });
}

void ModuleHost::iof_pull(const Procs& procs, InfoList infos, pmix_iof_channel_t channels, Done done) {
    upcall(module_.iof_pull, first_of(procs), std::move(done),
           [list = to_c(procs), infos = std::move(infos), channels](auto entry, void* cbdata) mutable {
               return entry(list.data(), list.size(), infos.c_array(), infos.size(), channels, on_op, cbdata);
           });
}

void ModuleHost::push_stdin(const ProcId& source, const Procs& targets, InfoList infos, std::vector<uint8_t> bytes,
                            Done done) {
    upcall(module_.push_stdin, source, std::move(done),
           [p = source.to_c(), list = to_c(targets), infos = std::move(infos), held = HeldObject(std::move(bytes))](
               auto entry, void* cbdata) mutable {
               return entry(&p, list.data(), list.size(), infos.c_array(), infos.size(), &held.object, on_op, cbdata);
           });
}

// ---- services ----

void ModuleHost::query(const ProcId& requestor, CArray<pmix_query_t> queries, Done done) {
    upcall(module_.query, requestor, std::move(done),
           [p = requestor.to_c(), queries = std::move(queries)](auto entry, void* cbdata) mutable {
               return entry(&p, queries.data(), queries.size(), on_infos, cbdata);
           });
}

void ModuleHost::log(const ProcId& client, InfoList data, InfoList directives, Done done) {
    if (module_.log2 != nullptr) {
        return upcall(module_.log2, client, std::move(done),
                      [p = client.to_c(), data = std::move(data), directives = std::move(directives)](
                          auto entry, void* cbdata) mutable {
                          return entry(&p, data.c_array(), data.size(), directives.c_array(), directives.size(), on_op,
                                       cbdata);
                      });
    }
    upcall(module_.log, client, std::move(done),
           [p = client.to_c(), data = std::move(data), directives = std::move(directives)](auto entry,
                                                                                           void* cbdata) mutable {
               entry(&p, data.c_array(), data.size(), directives.c_array(), directives.size(), on_op, cbdata);
               return pmix_status_t{PMIX_SUCCESS};
           });
}

void ModuleHost::allocate(const ProcId& client, pmix_alloc_directive_t directive, InfoList infos, Done done) {
    upcall(module_.allocate, client, std::move(done),
           [p = client.to_c(), directive, infos = std::move(infos)](auto entry, void* cbdata) mutable {
               return entry(&p, directive, infos.c_array(), infos.size(), on_infos, cbdata);
           });
}

void ModuleHost::monitor(const ProcId& requestor, InfoList what, pmix_status_t error, InfoList directives, Done done) {
    upcall(module_.monitor, requestor, std::move(done),
           [p = requestor.to_c(), what = std::move(what), error, directives = std::move(directives)](
               auto entry, void* cbdata) mutable {
               return entry(&p, what.c_array(), error, directives.c_array(), directives.size(), on_infos, cbdata);
           });
}

void ModuleHost::session_control(const ProcId& requestor, uint32_t session, InfoList directives, Done done) {
    upcall(module_.session_control, requestor, std::move(done),
           [p = requestor.to_c(), session, infos = std::move(directives)](auto entry, void* cbdata) mutable {
               return entry(&p, session, infos.c_array(), infos.size(), on_infos, cbdata);
           });
}

void ModuleHost::resource_block(const ProcId& requestor, pmix_resource_block_directive_t directive, std::string block,
                                std::vector<pmix_resource_unit_t> units, InfoList infos, Done done) {
    upcall(module_.resource_block, requestor, std::move(done),
           [p = requestor.to_c(), directive, block = std::make_unique<std::string>(std::move(block)),
            units = std::move(units), infos = std::move(infos)](auto entry, void* cbdata) mutable {
               return entry(&p, directive, block->c_str(), units.data(), units.size(), infos.c_array(), infos.size(),
                            on_op, cbdata);
           });
}

void ModuleHost::fabric(const ProcId& requestor, pmix_fabric_operation_t operation, InfoList directives, Done done) {
    upcall(module_.fabric, requestor, std::move(done),
           [p = requestor.to_c(), operation, infos = std::move(directives)](auto entry, void* cbdata) mutable {
               return entry(&p, operation, infos.c_array(), infos.size(), on_fabric, cbdata);
           });
}

void ModuleHost::get_credential(const ProcId& proc, InfoList directives, Done done) {
    upcall(module_.get_credential, proc, std::move(done),
           [p = proc.to_c(), infos = std::move(directives)](auto entry, void* cbdata) mutable {
               return entry(&p, infos.c_array(), infos.size(), on_credential, cbdata);
           });
}

void ModuleHost::validate_credential(const ProcId& proc, std::vector<uint8_t> credential, InfoList directives,
                                     Done done) {
    upcall(module_.validate_credential, proc, std::move(done),
           [p = proc.to_c(), held = HeldObject(std::move(credential)), infos = std::move(directives)](
               auto entry, void* cbdata) mutable {
               return entry(&p, &held.object, infos.c_array(), infos.size(), on_validation, cbdata);
           });
}

}  // namespace pmix::server

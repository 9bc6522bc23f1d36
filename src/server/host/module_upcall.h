// SPDX-License-Identifier: BSD-3-Clause
// One upcall as a template: the entry of the module, the arguments that the host borrows, and the callbacks that hosts
// are given for their answers. The inside of ModuleHost, for module_host.cpp (how an answer finds its way) and
// module_host_upcalls.cpp (each entry's arguments).
//
// The callbacks are called by the host, on any thread; all else runs on the loop, or where the call's Done may run.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "common/base/log.h"
#include "server/host/module_host.h"
#include "transport/deadline.h"

namespace pmix::server {

// One open upcall: what the host has borrowed (in the derived class), and the operation that waits.
struct ModuleHost::Call {
    Call(Done d, Runs where, const char* entry_name, common::ProcId process) noexcept
        : done(std::move(d)), runs(where), name(entry_name), about(std::move(process)) {}
    virtual ~Call() = default;
    // Calls the entry. The host may answer in it, and this object is gone then.
    virtual pmix_status_t make(void* cbdata) = 0;

    Done done;
    const Runs runs;
    const char* const name;  // of the entry, for the log
    const common::ProcId about;
    const int64_t began_ms = transport::monotonic_ms();
    // With Runs::anywhere: the upcall has returned, or the answer is given. The second of the two frees the Call, so
    // that a host may look at its arguments until it returns, even when another thread of its has answered already.
    std::atomic<bool> left{false};
    int looks = 0;  // at which it was still open; under the table's lock
    Scheduler* scheduler = nullptr;
    const Host* host = nullptr;
};

// make(entry, cbdata) owns the arguments.
template <class Entry, class F>
struct ModuleUpcall final : ModuleHost::Call {
    ModuleUpcall(Host::Done d, Runs where, const char* entry_name, common::ProcId process, Entry e, F f)
        : Call(std::move(d), where, entry_name, std::move(process)), entry(e), call(std::move(f)) {}
    pmix_status_t make(void* cbdata) override { return call(entry, cbdata); }
    const Entry entry;
    F call;
};

inline void* to_cbdata(uint64_t id) noexcept {
    return reinterpret_cast<void*>(static_cast<uintptr_t>(id));
}

void on_op(pmix_status_t status, void* cbdata);

// Puts a call into the table: its number. The call of a number, if it is not answered yet; and its end without an
// answer.
uint64_t admit(std::unique_ptr<ModuleHost::Call> call);
ModuleHost::Call* find_call(uint64_t id);
void forget_call(uint64_t id);

// Calls the host's entry. The call stays in the table, and with it what the host borrows, until it is answered.
void make_upcall(uint64_t id);

template <class Entry, class F>
void ModuleHost::upcall(Entry entry, common::ProcId about, Done done, F make, Runs runs, const char* name) {
    if (entry == nullptr) return refuse(std::move(done));
    auto call =
        std::make_unique<ModuleUpcall<Entry, F>>(std::move(done), runs, name, std::move(about), entry, std::move(make));
    call->scheduler = &scheduler();
    call->host = this;
    const uint64_t id = admit(std::move(call));
    ++made_;
    if (late_ && common::log_on(common::LogArea::host, common::LogLevel::warn)) [[unlikely]]
        look_later();
    // Not before what has been deferred already.
    if (runs == Runs::anywhere && outbox_->calls.empty()) return make_upcall(id);
    try {
        defer([id] { make_upcall(id); });
    } catch (...) {
        forget_call(id);  // its Reply answers an error
        throw;
    }
}

void on_modex(pmix_status_t status, const char* data, size_t size, void* cbdata, pmix_release_cbfunc_t release,
              void* release_cbdata);
void on_lookup(pmix_status_t status, pmix_pdata_t data[], size_t n, void* cbdata);
void on_spawn(pmix_status_t status, pmix_nspace_t nspace, void* cbdata);
void on_tool(pmix_status_t status, pmix_proc_t* proc, void* cbdata);
void on_infos(pmix_status_t status, pmix_info_t* info, size_t n, void* cbdata, pmix_release_cbfunc_t release,
              void* release_cbdata);
// As on_infos, of a fabric: what is behind pointers is the host's until it is released.
void on_fabric(pmix_status_t status, pmix_info_t* info, size_t n, void* cbdata, pmix_release_cbfunc_t release,
               void* release_cbdata);
void on_credential(pmix_status_t status, pmix_byte_object_t* credential, pmix_info_t infos[], size_t n, void* cbdata);
void on_validation(pmix_status_t status, pmix_info_t infos[], size_t n, void* cbdata);

}  // namespace pmix::server

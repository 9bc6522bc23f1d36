// The inside of Host, for host.cpp (how an answer finds its way) and host_services.cpp: an open upcall, and the
// callbacks that hosts are given.
//
// The callbacks are called by the host, on any thread; all else runs on the loop, or where the call's Done may run.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "common/log.h"
#include "server/host.h"

namespace pmix::server {

// One open upcall: whatever the host was lent, and who waits.
struct Host::Call {
    explicit Call(Done d, Runs where = Runs::on_loop) noexcept : done(std::move(d)), runs(where) {}
    Done done;
    const Runs runs;
    const char* name = "";  // of the entry, for the log
    // With Runs::anywhere: the upcall has returned, or the answer is given. Whoever comes second frees the Call, so that a
    // host may look at its arguments until it returns, even when another thread of its has answered already.
    std::atomic<bool> left{false};
    Scheduler* scheduler = nullptr;
    const Host* host = nullptr;
    pmix_proc_t proc{};
    std::vector<pmix_proc_t> procs;
    std::vector<pmix_status_t> codes;
    std::vector<std::string> texts;
    std::vector<char*> keys;  // into texts, NULL at the end
    common::InfoList infos;
    common::InfoList more;
    common::CArray<pmix_app_t> apps;
    common::CArray<pmix_query_t> queries;
    std::vector<pmix_resource_unit_t> units;
    std::vector<uint8_t> bytes;
    pmix_byte_object_t object{};  // bytes, as the host is shown them
};

inline void* to_cbdata(uint64_t id) noexcept { return reinterpret_cast<void*>(static_cast<uintptr_t>(id)); }

void on_op(pmix_status_t status, void* cbdata);

// The call of this number, if nobody has answered it yet; and its end without an answer.
Host::Call* find_call(uint64_t id);
void forget_call(uint64_t id);

// Calls the host's entry by upcall(call, cbdata). The call stays in the table, and with it what the host is lent, until
// somebody answers; the reference stays good during the upcall only if nobody does, so arguments are evaluated first.
template <class F>
void make_upcall(uint64_t id, F& upcall, [[maybe_unused]] const char* name) {
    Host::Call* call = find_call(id);
    if (call == nullptr) return;
    const bool anywhere = call->runs == Runs::anywhere;
    // Who it is about; told before, for the host may have freed it all when it returns.
    const pmix_proc_t& about = call->procs.empty() ? call->proc : call->procs.front();
    WIREUP_LOG(host, debug, "%s #%llu %.255s:%d%s", name, static_cast<unsigned long long>(id), about.nspace,
               static_cast<int>(about.rank), call->procs.size() > 1 ? " and others" : "");
    pmix_status_t rc = PMIX_ERROR;
    try {
        rc = upcall(*call, to_cbdata(id));
    } catch (...) {
        // A host in C++ that lets an exception out gets the answer that an error return would have given it.
        rc = PMIX_ERROR;
        WIREUP_LOG(host, warn, "%s #%llu let an exception out", name, static_cast<unsigned long long>(id));
    }
    if (rc > 0) {
        WIREUP_LOG(host, warn, "%s #%llu returned %d, which is no status; PMIX_ERROR is taken for it", name,
                   static_cast<unsigned long long>(id), rc);
        rc = PMIX_ERROR;
    }
    if (rc != PMIX_SUCCESS)
        WIREUP_LOG(host, debug, "%s #%llu returned %s", name, static_cast<unsigned long long>(id),
                   common::log_status(rc));
    // The host said it all by its return value; a callback that came already has won.
    if (rc != PMIX_SUCCESS) on_op(rc == PMIX_OPERATION_SUCCEEDED ? PMIX_SUCCESS : rc, to_cbdata(id));
    if (anywhere && call->left.exchange(true, std::memory_order_acq_rel)) delete call;
}

template <class F>
void Host::run(std::unique_ptr<Call> call, F upcall, const char* name) {
    const bool anywhere = call->runs == Runs::anywhere;
    call->name = name;
    const uint64_t id = admit(std::move(call));
    // In its turn all the same.
    if (anywhere && outbox_->calls.empty()) return make_upcall(id, upcall, name);
    try {
        soon([id, upcall = std::move(upcall), name]() mutable { make_upcall(id, upcall, name); });
    } catch (...) {
        forget_call(id);  // its Reply answers an error
        throw;
    }
}

void on_infos(pmix_status_t status, pmix_info_t* info, size_t n, void* cbdata, pmix_release_cbfunc_t release,
              void* release_cbdata);
// As on_infos, of a fabric: what is behind pointers is the host's until it is released.
void on_fabric(pmix_status_t status, pmix_info_t* info, size_t n, void* cbdata, pmix_release_cbfunc_t release,
               void* release_cbdata);
void on_credential(pmix_status_t status, pmix_byte_object_t* credential, pmix_info_t infos[], size_t n, void* cbdata);
void on_validation(pmix_status_t status, pmix_info_t infos[], size_t n, void* cbdata);

inline std::vector<pmix_proc_t> to_c(const std::vector<common::ProcId>& procs) {
    std::vector<pmix_proc_t> out;
    out.reserve(procs.size());
    for (const common::ProcId& p : procs) out.push_back(p.to_c());
    return out;
}
inline std::vector<pmix_proc_t> to_c(const common::ProcSet& procs) {
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

}  // namespace pmix::server

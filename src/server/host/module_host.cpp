// SPDX-License-Identifier: BSD-3-Clause
// How an answer finds its way:
//
//   upcall()  puts a Call (arguments, Done) into the ticket table; the entry is called, deferred, with its number as
//   cbdata on_*()    the host's callback, any thread: takes the Call out of the table, copies what is only valid now,
//   posts loop      runs Done, then frees the Call; a data blob goes back to the host by its release function
//
// A Done that may run anywhere is run by on_*() itself, outside the table's lock, and counted meanwhile: what it sends
// may post to the loop, so ~ModuleHost waits until none of them runs.
//
// The table is one per process and outlives servers, because a host may call back after PMIx_server_finalize.
#include "server/host/module_host.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cassert>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "common/base/log.h"
#include "common/base/mutex.h"
#include "common/protocol/fabric.h"
#include "server/base/report_rows.h"
#include "server/host/host_module.h"
#include "server/host/module_upcall.h"

namespace pmix::server {

using common::CArray;
using common::InfoList;
using common::ProcId;

namespace {

using CallPtr = std::unique_ptr<ModuleHost::Call>;

struct Tickets {
    common::Mutex mutex;
    common::CondVar answered;
    std::unordered_map<uint64_t, CallPtr> calls GUARDED_BY(mutex);
    uint64_t next GUARDED_BY(mutex) = 1;
    unsigned answering GUARDED_BY(mutex) = 0;  // threads that run a Done at this moment
    // The last ones that were answered, so that a second answer can be named. By number.
    struct Answered {
        uint64_t id = 0;
        const char* name = "";
    };
    std::array<Answered, 256> past GUARDED_BY(mutex){};
    const pid_t process = ::getpid();
    Tickets* inherited = nullptr;
};

// Made with the first server and never destroyed: a pointer needs no static constructor or destructor.
constinit Tickets* g_tickets = nullptr;

// The table of the parent is no good in a forked child: other threads may have held its lock, or been in a Done.
void make_tickets() {
    if (g_tickets != nullptr && g_tickets->process == ::getpid()) return;
    auto* fresh = new Tickets;
    fresh->inherited = g_tickets;
    g_tickets = fresh;
}

Tickets& tickets() {
    return *g_tickets;
}

uint64_t from_cbdata(void* cbdata) noexcept {
    return reinterpret_cast<uintptr_t>(cbdata);
}

// Gives a blob back to the host, however the answer ends.
class Release {
  public:
    Release(pmix_release_cbfunc_t f, void* data) noexcept : function_(f), data_(data) {}
    Release(Release&& o) noexcept : function_(std::exchange(o.function_, nullptr)), data_(o.data_) {}
    Release& operator=(Release&&) = delete;
    ~Release() {
        if (function_ != nullptr) function_(data_);
    }

  private:
    pmix_release_cbfunc_t function_;
    void* data_;
};

// What an answer brought, for the log.
struct Said {
    pmix_status_t status = PMIX_SUCCESS;
    size_t count = 0;
    const char* of_what = "bytes";
};

// A callback's status: a positive number is none.
pmix_status_t checked(pmix_status_t status, void* cbdata) {
    if (status <= 0) return status;
    WIREUP_LOG(host, warn, "the answer to #%llu is %d, which is no status; PMIX_ERROR is taken for it",
               static_cast<unsigned long long>(from_cbdata(cbdata)), status);
    return PMIX_ERROR;
}

// Takes the call with this number and posts `finish(call)` for the loop. The table is locked meanwhile, so that the
// server, which empties its part of the table before it dies, cannot go away under the post. Null: there is no such
// call, or it is posted. Otherwise it is to be finished by this thread, and is counted.
template <class F>
CallPtr take_or_post(void* cbdata, const Said& said, F& finish) {
    const uint64_t id = from_cbdata(cbdata);
    common::MutexLock lock(tickets().mutex);
    auto it = tickets().calls.find(id);
    if (it == tickets().calls.end()) {
        const Tickets::Answered& past = tickets().past[id % tickets().past.size()];
        WIREUP_LOG(host, warn,
                   "%s #%llu is answered (%s) and is not open: a second answer, or one after the end of the server",
                   past.id == id ? past.name : "an upcall", static_cast<unsigned long long>(id),
                   common::log_status(said.status));
        return nullptr;
    }
    WIREUP_LOG(host, debug, "%s #%llu answered %s, %zu %s", it->second->name, static_cast<unsigned long long>(id),
               common::log_status(said.status), said.count, said.of_what);
    CallPtr call = std::move(it->second);
    tickets().past[id % tickets().past.size()] = {id, call->name};
    tickets().calls.erase(it);
    if (call->runs == Runs::anywhere) {
        ++tickets().answering;
        return call;
    }
    Scheduler* scheduler = call->scheduler;
    try {
        scheduler->post([call = std::move(call), finish = std::move(finish)]() mutable { finish(*call); });
    } catch (...) {
        // The Done is destroyed with the call: its Reply answers an error, and operations with several callers look for
        // answers that are due no longer.
        scheduler->step_lost();
    }
    return nullptr;
}

template <class F>
void answer(void* cbdata, Said said, F finish) noexcept {
    try {
        CallPtr call = take_or_post(cbdata, said, finish);
        if (call == nullptr) return;
        try {
            finish(*call);
        } catch (...) {
            // No memory for the answer: the reply handle reports the error when it is destroyed.
        }
        call->done.reset();  // counted still
        if (!call->left.exchange(true, std::memory_order_acq_rel)) [[maybe_unused]]
            auto* run_frees_it = call.release();
        common::MutexLock lock(tickets().mutex);
        assert(tickets().answering > 0);
        if (--tickets().answering == 0) tickets().answered.notify_all();
    } catch (...) {
        // No memory to begin with it. The host's answer is lost; the call stays open until the server ends.
    }
}

}  // namespace

void on_modex(pmix_status_t status, const char* data, size_t size, void* cbdata, pmix_release_cbfunc_t release,
              void* release_cbdata) {
    status = checked(status, cbdata);
    answer(cbdata, {status, data == nullptr ? 0 : size, "bytes"},
           [status, data, size, held = Release(release, release_cbdata)](ModuleHost::Call& call) {
               HostAnswer a;
               a.status = status;
               if (data != nullptr) a.data = {reinterpret_cast<const uint8_t*>(data), size};
               call.done(a);
           });
}

void on_lookup(pmix_status_t status, pmix_pdata_t data[], size_t n, void* cbdata) {
    auto copy = CArray<pmix_pdata_t>::copy_of(data, data == nullptr ? 0 : n);
    status = copy.ok() ? checked(status, cbdata) : copy.status();
    CArray<pmix_pdata_t> found = copy.ok() ? std::move(copy).value() : CArray<pmix_pdata_t>();
    answer(cbdata, {status, found.size(), "values"},
           [status, found = std::move(found)](ModuleHost::Call& call) mutable {
               HostAnswer a;
               a.status = status;
               a.found = std::move(found);
               call.done(a);
           });
}

void on_spawn(pmix_status_t status, pmix_nspace_t nspace, void* cbdata) {
    status = checked(status, cbdata);
    std::string name;
    try {
        name = common::nspace_view(nspace);
    } catch (const std::bad_alloc&) {
        status = PMIX_ERR_NOMEM;  // for the requester: the host's code, which calls this, cannot take an exception
    }
    answer(cbdata, {status, name.size(), "bytes"}, [status, name = std::move(name)](ModuleHost::Call& call) mutable {
        HostAnswer a;
        a.status = status;
        a.nspace = std::move(name);
        call.done(a);
    });
}

void on_op(pmix_status_t status, void* cbdata) {
    status = checked(status, cbdata);
    answer(cbdata, {status, 0, "bytes"}, [status](ModuleHost::Call& call) {
        HostAnswer a;
        a.status = status;
        call.done(a);
    });
}

namespace {

void pass_infos(pmix_status_t status, common::Result<InfoList> copy, void* cbdata) {
    status = copy.ok() ? checked(status, cbdata) : copy.status();
    InfoList infos = copy.ok() ? std::move(copy).value() : InfoList();
    answer(cbdata, {status, infos.size(), "infos"}, [status, infos = std::move(infos)](ModuleHost::Call& call) mutable {
        HostAnswer a;
        a.status = status;
        a.infos = std::move(infos);
        call.done(a);
    });
}

}  // namespace

void on_infos(pmix_status_t status, pmix_info_t* info, size_t n, void* cbdata, pmix_release_cbfunc_t release,
              void* release_cbdata) {
    auto copy = InfoList::from_c(info, info == nullptr ? 0 : n);
    if (release != nullptr) release(release_cbdata);
    pass_infos(status, std::move(copy), cbdata);
}

void on_fabric(pmix_status_t status, pmix_info_t* info, size_t n, void* cbdata, pmix_release_cbfunc_t release,
               void* release_cbdata) {
    auto copy = common::portable_fabric(info, info == nullptr ? 0 : n);
    if (release != nullptr) release(release_cbdata);
    pass_infos(status, std::move(copy), cbdata);
}

void on_tool(pmix_status_t status, pmix_proc_t* proc, void* cbdata) {
    status = checked(status, cbdata);
    ProcId id;
    try {
        if (proc != nullptr) id = ProcId(*proc);
    } catch (const std::bad_alloc&) {
        status = PMIX_ERR_NOMEM;
    }
    answer(cbdata, {status, 0, "bytes"}, [status, id = std::move(id)](ModuleHost::Call& call) mutable {
        HostAnswer a;
        a.status = status;
        a.tool = std::move(id);
        call.done(a);
    });
}

void on_credential(pmix_status_t status, pmix_byte_object_t* credential, pmix_info_t infos[], size_t n, void* cbdata) {
    HostAnswer a;
    a.status = checked(status, cbdata);
    auto copy = InfoList::from_c(infos, infos == nullptr ? 0 : n);
    if (!copy.ok()) a.status = copy.status();
    if (copy.ok()) a.infos = std::move(copy).value();
    try {
        if (credential != nullptr && credential->bytes != nullptr)
            a.blob.assign(credential->bytes, credential->bytes + credential->size);
    } catch (const std::exception&) {
        a.status = PMIX_ERR_NOMEM;
    }
    const Said said{a.status, a.blob.size(), "bytes"};
    answer(cbdata, said, [a = std::move(a)](ModuleHost::Call& call) mutable { call.done(a); });
}

void on_validation(pmix_status_t status, pmix_info_t infos[], size_t n, void* cbdata) {
    on_infos(status, infos, n, cbdata, nullptr, nullptr);
}

ModuleHost::ModuleHost(Scheduler& scheduler, const pmix_server_module_t* module, size_t module_size)
    : Host(scheduler),
      module_(read_module(module, module_size)),
      nobody_(scheduler),
      forbidden_(scheduler, PMIX_ERR_NO_PERMISSIONS) {
    make_tickets();
}

ModuleHost::~ModuleHost() {
    outbox_->calls.clear();
    std::vector<CallPtr> mine;  // destroyed without the lock: a Done may own a Reply that speaks to a peer
    {
        common::MutexLock lock(tickets().mutex);
        for (auto it = tickets().calls.begin(); it != tickets().calls.end();) {
            if (it->second->host == this) {
                mine.push_back(std::move(it->second));
                it = tickets().calls.erase(it);
            } else {
                ++it;
            }
        }
        while (tickets().answering != 0) tickets().answered.wait(tickets().mutex);
    }
}

void ModuleHost::set_module(const pmix_server_module_t* module, size_t module_size) {
    flush();  // what was asked of the old one
    module_ = read_module(module, module_size);
}

namespace {

// How late the report of an upcall may be, and how often the table is looked through.
constexpr int64_t kLookMs = 5000;
constexpr int kLateLooks = ModuleHost::kLateSeconds * 1000 / kLookMs + 1;

}  // namespace

void ModuleHost::look_later() noexcept {
    try {
        if (!next_look_.is_set()) next_look_ = Timer(scheduler(), kLookMs, [this] { look(); });
    } catch (const std::bad_alloc&) {  // the next upcall tries it again
    }
}

void ModuleHost::look() {
    std::vector<LateUpcall> late;
    bool again = false;
    next_look_ = Timer();
    {
        common::MutexLock lock(tickets().mutex);
        for (const auto& [id, call] : tickets().calls) {
            if (call->host != this || call->looks >= kLateLooks) continue;
            if (++call->looks == kLateLooks) late.push_back({call->name, id, call->about});
            again = again || call->looks < kLateLooks;
        }
    }
    std::ranges::sort(late, {}, &LateUpcall::number);
    if (again) look_later();
    if (!late.empty()) late_(late);
}

size_t ModuleHost::open() const {
    common::MutexLock lock(tickets().mutex);
    size_t n = 0;
    for (const auto& [id, call] : tickets().calls) n += call->host == this;
    return n;
}

void ModuleHost::report(ReportRows& rows) const {
    static constexpr std::string_view kReportedElsewhere[] = {"fence", "direct_modex", "connect", "disconnect",
                                                              "group"};
    std::map<uint64_t, RequestReport> by_number;
    {
        common::MutexLock lock(tickets().mutex);
        for (const auto& [id, call] : tickets().calls) {
            if (call->host != this || std::ranges::find(kReportedElsewhere, call->name) != std::end(kReportedElsewhere))
                continue;
            RequestReport& row = by_number[id];
            row.operation = call->name;
            if (!call->about.nspace.empty()) row.requester = call->about;
            row.at_host = true;
            row.began_ms = call->began_ms;
        }
    }
    for (auto& [id, row] : by_number) rows.requests.push_back(std::move(row));
}

Host& ModuleHost::of(const Peer& peer) noexcept {
    if (peer.kind() == PeerKind::self && !serves_itself_) return nobody_;
    return *this;
}

Host& ModuleHost::of_spawn(const Peer& peer) noexcept {
    if (local_ != nullptr && peer.kind() == PeerKind::self && !has(common::Function::PMIx_Spawn)) return *local_;
    return *this;
}

Host& ModuleHost::of_processes(const Peer& peer, const Procs& procs) noexcept {
    const auto is_local = [this](const ProcId& p) { return local_->started(p.nspace); };
    if (local_ == nullptr || procs.empty() || !std::all_of(procs.begin(), procs.end(), is_local)) return *this;
    const uid_t uid = peer.credentials().uid;
    if (uid == 0 || uid == ::geteuid()) return *local_;
    return forbidden_;
}

Host& ModuleHost::of_abort(const Peer& peer, const Procs& procs) noexcept {
    Host& host = procs.empty() ? of_processes(peer, {peer.id()}) : of_processes(peer, procs);
    return &host == this ? of(peer) : host;
}

uint64_t admit(std::unique_ptr<ModuleHost::Call> call) {
    common::MutexLock lock(tickets().mutex);
    const uint64_t id = tickets().next++;
    tickets().calls.emplace(id, std::move(call));
    return id;
}

ModuleHost::Call* find_call(uint64_t id) {
    common::MutexLock lock(tickets().mutex);
    auto it = tickets().calls.find(id);
    return it == tickets().calls.end() ? nullptr : it->second.get();
}

void forget_call(uint64_t id) {
    CallPtr call;  // destroyed without the lock
    common::MutexLock lock(tickets().mutex);
    auto it = tickets().calls.find(id);
    if (it == tickets().calls.end()) return;
    call = std::move(it->second);
    tickets().calls.erase(it);
}

void make_upcall(uint64_t id) {
    ModuleHost::Call* call = find_call(id);
    if (call == nullptr) return;
    const bool anywhere = call->runs == Runs::anywhere;
    const char* const name = call->name;
    // Logged before, because an answer in the upcall frees it all.
    WIREUP_LOG(host, debug, "%s #%llu %s:%d", name, static_cast<unsigned long long>(id), call->about.nspace.c_str(),
               static_cast<int>(call->about.rank));
    pmix_status_t rc = PMIX_ERROR;
    try {
        rc = call->make(to_cbdata(id));
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
    // The host said it all by its return value; a callback that was called in it has won.
    if (rc != PMIX_SUCCESS) on_op(rc == PMIX_OPERATION_SUCCEEDED ? PMIX_SUCCESS : rc, to_cbdata(id));
    if (anywhere && call->left.exchange(true, std::memory_order_acq_rel)) delete call;
}

void ModuleHost::defer(transport::Task call) {
    if (outbox_->calls.empty() && !outbox_->flushing) {
        scheduler().post([this, weak = std::weak_ptr<Outbox>(outbox_)] {
            if (weak.lock() != nullptr) flush();  // else the server has gone meanwhile
        });
    }
    outbox_->calls.push_back(std::move(call));
}

// Each is taken out first: the host may call an API function that flushes again.
void ModuleHost::flush() {
    const auto box = outbox_;
    const bool before = box->flushing;
    box->flushing = true;  // what is added meanwhile is made by this very loop
    while (!box->calls.empty()) {
        transport::Task call = std::move(box->calls.front());
        box->calls.pop_front();
        try {
            call();
        } catch (...) {
            // The host's own exception, or no memory for one call: the others are still due.
            scheduler().step_lost();
        }
    }
    box->flushing = before;
}

}  // namespace pmix::server

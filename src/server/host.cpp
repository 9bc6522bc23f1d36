// Upcalls: see host.h. How an answer finds its way:
//
//   run()  puts a Call (arguments, Done) into the ticket table; soon, the entry is called with its number as cbdata
//   on_*() the host's callback, any thread: takes the Call out of the table, copies what is only valid now, posts
//   loop   runs Done, then frees the Call; a data blob goes back to the host by its release function
//
// A Done that may run anywhere is run by on_*() itself, outside the table's lock, and counted meanwhile: what it sends
// may post to the loop, so ~Host lets nobody past who might end the loop before.
//
// The table is one per process and outlives servers, because a host may call back after PMIx_server_finalize.
#include "server/host.h"

#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <unordered_map>
#include <utility>

#include "common/fabric.h"
#include "common/log.h"
#include "common/mutex.h"
#include "server/host_call.h"
#include "server/host_module.h"

namespace pmix::server {

using common::CArray;
using common::InfoList;
using common::ProcId;

namespace {

using CallPtr = std::unique_ptr<Host::Call>;

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

Tickets& tickets() { return *g_tickets; }

uint64_t from_cbdata(void* cbdata) noexcept { return reinterpret_cast<uintptr_t>(cbdata); }

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
            // No memory for the answer: what is left of it says so as it is destroyed.
        }
        call->done.reset();  // counted still
        if (!call->left.exchange(true, std::memory_order_acq_rel)) [[maybe_unused]] auto* run_frees_it = call.release();
        common::MutexLock lock(tickets().mutex);
        if (--tickets().answering == 0) tickets().answered.notify_all();
    } catch (...) {
        // No memory to begin with it. The host's word is lost; the call stays open until the server ends.
    }
}

void on_modex(pmix_status_t status, const char* data, size_t size, void* cbdata, pmix_release_cbfunc_t release,
              void* release_cbdata) {
    status = checked(status, cbdata);
    answer(cbdata, {status, data == nullptr ? 0 : size, "bytes"},
           [status, data, size, held = Release(release, release_cbdata)](Host::Call& call) {
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
    answer(cbdata, {status, found.size(), "values"}, [status, found = std::move(found)](Host::Call& call) mutable {
        HostAnswer a;
        a.status = status;
        a.found = std::move(found);
        call.done(a);
    });
}

void on_spawn(pmix_status_t status, pmix_nspace_t nspace, void* cbdata) {
    status = checked(status, cbdata);
    std::string name(common::nspace_view(nspace));
    answer(cbdata, {status, name.size(), "bytes"}, [status, name = std::move(name)](Host::Call& call) mutable {
        HostAnswer a;
        a.status = status;
        a.nspace = std::move(name);
        call.done(a);
    });
}

void set_keys(Host::Call& call, const std::vector<std::string>& keys) {
    call.texts = keys;
    for (std::string& s : call.texts) call.keys.push_back(s.data());
    call.keys.push_back(nullptr);
}

}  // namespace

void on_op(pmix_status_t status, void* cbdata) {
    status = checked(status, cbdata);
    answer(cbdata, {status, 0, "bytes"}, [status](Host::Call& call) {
        HostAnswer a;
        a.status = status;
        call.done(a);
    });
}

namespace {

void pass_infos(pmix_status_t status, common::Result<InfoList> copy, void* cbdata) {
    status = copy.ok() ? checked(status, cbdata) : copy.status();
    InfoList infos = copy.ok() ? std::move(copy).value() : InfoList();
    answer(cbdata, {status, infos.size(), "infos"}, [status, infos = std::move(infos)](Host::Call& call) mutable {
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
    ProcId id = proc == nullptr ? ProcId() : ProcId(*proc);
    answer(cbdata, {status, 0, "bytes"}, [status, id = std::move(id)](Host::Call& call) mutable {
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
    answer(cbdata, said, [a = std::move(a)](Host::Call& call) mutable { call.done(a); });
}

void on_validation(pmix_status_t status, pmix_info_t infos[], size_t n, void* cbdata) {
    on_infos(status, infos, n, cbdata, nullptr, nullptr);
}

void remove_ids(InfoList& infos) {
    infos.remove(PMIX_USERID);
    infos.remove(PMIX_GRPID);
}

pmix_status_t append_ids(InfoList& infos, const Credentials& who) {
    remove_ids(infos);
    pmix_status_t rc = infos.append_number<uint32_t>(PMIX_USERID, who.uid, PMIX_UINT32);
    if (rc == PMIX_SUCCESS) rc = infos.append_number<uint32_t>(PMIX_GRPID, who.gid, PMIX_UINT32);
    return rc;
}

void replace_ids(pmix_app_t& app, const Credentials& who) noexcept {
    for (size_t i = 0; i < app.ninfo; ++i) {
        pmix_info_t& info = app.info[i];
        const std::string_view key = common::key_view(info);
        if (key != PMIX_USERID && key != PMIX_GRPID) continue;
        common::destroy_value(&info.value);
        info.value.type = PMIX_UINT32;
        info.value.data.uint32 = key == PMIX_USERID ? who.uid : who.gid;
    }
}

Host::Host(Scheduler& scheduler, const pmix_server_module_t* module, size_t module_size)
    : scheduler_(scheduler), module_(read_module(module, module_size)) {
    make_tickets();
}

Host::~Host() {
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

void Host::set_module(const pmix_server_module_t* module, size_t module_size) {
    flush();  // what was asked of the old one
    module_ = read_module(module, module_size);
}

size_t Host::open() const {
    common::MutexLock lock(tickets().mutex);
    size_t n = 0;
    for (const auto& [id, call] : tickets().calls) n += call->host == this;
    return n;
}

void Host::later(Done done, pmix_status_t status) {
    scheduler_.post([done = std::move(done), status]() mutable {
        HostAnswer a;
        a.status = status;
        done(a);
    });
}

uint64_t Host::admit(std::unique_ptr<Call> call) {
    call->scheduler = &scheduler_;
    call->host = this;
    common::MutexLock lock(tickets().mutex);
    const uint64_t id = tickets().next++;
    tickets().calls.emplace(id, std::move(call));
    return id;
}

Host::Call* find_call(uint64_t id) {
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

void Host::soon(transport::Task call) {
    if (outbox_->calls.empty() && !outbox_->flushing) {
        scheduler_.post([this, weak = std::weak_ptr<Outbox>(outbox_)] {
            if (weak.lock() != nullptr) flush();  // else the server has gone meanwhile
        });
    }
    outbox_->calls.push_back(std::move(call));
}

// Each is taken out first: the host may come to the door and flush again.
void Host::flush() {
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
            scheduler_.step_lost();
        }
    }
    box->flushing = before;
}

void Host::client_connected(const ProcId& proc, void* server_object, InfoList infos, Done done) {
    if (module_.client_connected2 != nullptr) {
        auto call = std::make_unique<Call>(std::move(done));
        call->proc = proc.to_c();
        call->infos = std::move(infos);
        run(std::move(call), [this, server_object](Call& c, void* cbdata) {
            return module_.client_connected2(&c.proc, server_object, c.infos.c_array(), c.infos.size(), on_op, cbdata);
        });
        return;
    }
    soon([this, proc, server_object, done = std::move(done)]() mutable {
        pmix_status_t rc = PMIX_SUCCESS;
        if (module_.client_connected != nullptr) {
            // Hosts that answer this one at all do so by the return value: known ones ignore the callback.
            pmix_proc_t p = proc.to_c();
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
        later(std::move(done), rc);
    });
}

void Host::tool_connected(InfoList infos, Done done) {
    if (!has_tool_connected()) return later(std::move(done), PMIX_ERR_NOT_SUPPORTED);
    auto call = std::make_unique<Call>(std::move(done));
    call->infos = std::move(infos);
    run(std::move(call), [this](Call& c, void* cbdata) -> pmix_status_t {
        if (module_.tool_connected2 != nullptr)
            return module_.tool_connected2(c.infos.c_array(), c.infos.size(), &on_tool, cbdata);
        module_.tool_connected(c.infos.c_array(), c.infos.size(), &on_tool, cbdata);
        return PMIX_SUCCESS;
    });
}

void Host::client_finalized(const ProcId& proc, void* server_object, Done done) {
    if (module_.client_finalized == nullptr) return later(std::move(done), PMIX_SUCCESS);
    auto call = std::make_unique<Call>(std::move(done));
    call->proc = proc.to_c();
    run(std::move(call),
        [this, server_object](Call& c, void* cbdata) { return module_.client_finalized(&c.proc, server_object, on_op, cbdata); });
}

void Host::abort(const ProcId& proc, void* server_object, int status, std::string message,
                 const std::vector<ProcId>& procs, Done done) {
    if (module_.abort == nullptr) return later(std::move(done), PMIX_ERR_NOT_SUPPORTED);
    auto call = std::make_unique<Call>(std::move(done));
    call->proc = proc.to_c();
    call->procs = to_c(procs);
    call->texts.push_back(std::move(message));
    run(std::move(call), [this, server_object, status](Call& c, void* cbdata) {
        return module_.abort(&c.proc, server_object, status, c.texts[0].c_str(), c.procs.empty() ? nullptr : c.procs.data(),
                             c.procs.size(), on_op, cbdata);
    });
}

void Host::fence(const common::ProcSet& procs, InfoList infos, char* blob, size_t size, Done done) {
    if (module_.fence_nb == nullptr) {
        std::free(blob);
        return later(std::move(done), PMIX_ERR_NOT_SUPPORTED);
    }
    auto call = std::make_unique<Call>(std::move(done));
    call->procs = to_c(procs);
    call->infos = std::move(infos);
    struct Free {
        void operator()(char* bytes) const noexcept { std::free(bytes); }
    };
    std::unique_ptr<char, Free> held(blob);  // until the host has it
    run(std::move(call), [this, held = std::move(held), size](Call& c, void* cbdata) mutable {
        return module_.fence_nb(c.procs.data(), c.procs.size(), c.infos.c_array(), c.infos.size(), held.release(), size,
                                on_modex, cbdata);
    });
}

void Host::direct_modex(const ProcId& proc, InfoList infos, Done done) {
    if (module_.direct_modex == nullptr) return later(std::move(done), PMIX_ERR_NOT_SUPPORTED);
    auto call = std::make_unique<Call>(std::move(done));
    call->proc = proc.to_c();
    call->infos = std::move(infos);
    run(std::move(call), [this](Call& c, void* cbdata) {
        return module_.direct_modex(&c.proc, c.infos.c_array(), c.infos.size(), on_modex, cbdata);
    });
}

void Host::publish(const ProcId& proc, InfoList infos, Runs runs, Done done) {
    if (module_.publish == nullptr) return later(std::move(done), PMIX_ERR_NOT_SUPPORTED);
    auto call = std::make_unique<Call>(std::move(done), runs);
    call->proc = proc.to_c();
    call->infos = std::move(infos);
    run(std::move(call), [this](Call& c, void* cbdata) {
        return module_.publish(&c.proc, c.infos.c_array(), c.infos.size(), on_op, cbdata);
    });
}

void Host::lookup(const ProcId& proc, const std::vector<std::string>& keys, InfoList infos, Runs runs, Done done) {
    if (module_.lookup == nullptr) return later(std::move(done), PMIX_ERR_NOT_SUPPORTED);
    auto call = std::make_unique<Call>(std::move(done), runs);
    call->proc = proc.to_c();
    call->infos = std::move(infos);
    set_keys(*call, keys);
    run(std::move(call), [this](Call& c, void* cbdata) {
        return module_.lookup(&c.proc, c.keys.data(), c.infos.c_array(), c.infos.size(), on_lookup, cbdata);
    });
}

void Host::unpublish(const ProcId& proc, const std::vector<std::string>& keys, InfoList infos, Runs runs, Done done) {
    if (module_.unpublish == nullptr) return later(std::move(done), PMIX_ERR_NOT_SUPPORTED);
    auto call = std::make_unique<Call>(std::move(done), runs);
    call->proc = proc.to_c();
    call->infos = std::move(infos);
    if (!keys.empty()) set_keys(*call, keys);
    run(std::move(call), [this](Call& c, void* cbdata) {
        return module_.unpublish(&c.proc, c.keys.empty() ? nullptr : c.keys.data(), c.infos.c_array(), c.infos.size(),
                                 on_op, cbdata);
    });
}

void Host::spawn(const ProcId& proc, InfoList infos, CArray<pmix_app_t> apps, Done done) {
    if (module_.spawn == nullptr) return later(std::move(done), PMIX_ERR_NOT_SUPPORTED);
    auto call = std::make_unique<Call>(std::move(done));
    call->proc = proc.to_c();
    call->infos = std::move(infos);
    call->apps = std::move(apps);
    run(std::move(call), [this](Call& c, void* cbdata) {
        return module_.spawn(&c.proc, c.infos.c_array(), c.infos.size(), c.apps.data(), c.apps.size(), on_spawn, cbdata);
    });
}

void Host::connect(const common::ProcSet& procs, InfoList infos, Done done) {
    if (module_.connect == nullptr) return later(std::move(done), PMIX_ERR_NOT_SUPPORTED);
    auto call = std::make_unique<Call>(std::move(done));
    call->procs = to_c(procs);
    call->infos = std::move(infos);
    run(std::move(call), [this](Call& c, void* cbdata) {
        return module_.connect(c.procs.data(), c.procs.size(), c.infos.c_array(), c.infos.size(), on_op, cbdata);
    });
}

void Host::disconnect(const common::ProcSet& procs, InfoList infos, Done done) {
    if (module_.disconnect == nullptr) return later(std::move(done), PMIX_ERR_NOT_SUPPORTED);
    auto call = std::make_unique<Call>(std::move(done));
    call->procs = to_c(procs);
    call->infos = std::move(infos);
    run(std::move(call), [this](Call& c, void* cbdata) {
        return module_.disconnect(c.procs.data(), c.procs.size(), c.infos.c_array(), c.infos.size(), on_op, cbdata);
    });
}

void Host::register_events(std::vector<pmix_status_t> codes, InfoList infos, Done done) {
    if (module_.register_events == nullptr) return later(std::move(done), PMIX_SUCCESS);
    auto call = std::make_unique<Call>(std::move(done));
    call->codes = std::move(codes);
    call->infos = std::move(infos);
    run(std::move(call), [this](Call& c, void* cbdata) {
        return module_.register_events(c.codes.data(), c.codes.size(), c.infos.c_array(), c.infos.size(), on_op, cbdata);
    });
}

void Host::deregister_events(std::vector<pmix_status_t> codes, Done done) {
    if (module_.deregister_events == nullptr) return later(std::move(done), PMIX_SUCCESS);
    auto call = std::make_unique<Call>(std::move(done));
    call->codes = std::move(codes);
    run(std::move(call), [this](Call& c, void* cbdata) {
        return module_.deregister_events(c.codes.data(), c.codes.size(), on_op, cbdata);
    });
}

void Host::notify_event(pmix_status_t code, const ProcId& source, pmix_data_range_t range, InfoList infos, Done done) {
    if (module_.notify_event == nullptr) return later(std::move(done), PMIX_SUCCESS);
    auto call = std::make_unique<Call>(std::move(done));
    call->proc = source.to_c();
    call->infos = std::move(infos);
    run(std::move(call), [this, code, range](Call& c, void* cbdata) {
        return module_.notify_event(code, &c.proc, range, c.infos.c_array(), c.infos.size(), on_op, cbdata);
    });
}

void Host::iof_pull(const std::vector<ProcId>& procs, InfoList infos, pmix_iof_channel_t channels, Done done) {
    if (module_.iof_pull == nullptr) return later(std::move(done), PMIX_ERR_NOT_SUPPORTED);
    auto call = std::make_unique<Call>(std::move(done));
    call->procs = to_c(procs);
    call->infos = std::move(infos);
    run(std::move(call), [this, channels](Call& c, void* cbdata) {
        return module_.iof_pull(c.procs.data(), c.procs.size(), c.infos.c_array(), c.infos.size(), channels, on_op, cbdata);
    });
}

void Host::push_stdin(const ProcId& source, const std::vector<ProcId>& targets, InfoList infos,
                      std::vector<uint8_t> bytes, Done done) {
    if (module_.push_stdin == nullptr) return later(std::move(done), PMIX_ERR_NOT_SUPPORTED);
    auto call = std::make_unique<Call>(std::move(done));
    call->proc = source.to_c();
    call->procs = to_c(targets);
    call->infos = std::move(infos);
    call->bytes = std::move(bytes);
    call->object.size = call->bytes.size();
    call->object.bytes = call->bytes.empty() ? nullptr : reinterpret_cast<char*>(call->bytes.data());
    run(std::move(call), [this](Call& c, void* cbdata) {
        return module_.push_stdin(&c.proc, c.procs.data(), c.procs.size(), c.infos.c_array(), c.infos.size(), &c.object,
                                  on_op, cbdata);
    });
}

void Host::group(pmix_group_operation_t operation, std::string name, const common::ProcSet& procs, InfoList infos,
                 Done done) {
    if (module_.group == nullptr) return later(std::move(done), PMIX_ERR_NOT_SUPPORTED);
    auto call = std::make_unique<Call>(std::move(done));
    call->procs = to_c(procs);
    call->texts.push_back(std::move(name));
    call->infos = std::move(infos);
    run(std::move(call), [this, operation](Call& c, void* cbdata) {
        return module_.group(operation, c.texts[0].data(), c.procs.data(), c.procs.size(), c.infos.c_array(),
                             c.infos.size(), on_infos, cbdata);
    });
}

}  // namespace pmix::server

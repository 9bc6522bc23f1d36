// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/library.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <new>
#include <vector>

#include "client/data/fence.h"
#include "client/events/model.h"
#include "client/iof/iof.h"
#include "client/services/fabric.h"
#include "client/session/session.h"
#include "client/state/read_guard.h"
#include "client/tool/keepalive.h"
#include "client/tool/server_set.h"
#include "common/base/log.h"
#include "common/base/mutex.h"
#include "common/values/array_value.h"
#include "common/values/info_view.h"
#include "common/values/strict.h"
#include "runtime/debug_stop.h"
#include "runtime/logging.h"
#include "server/jobs/launch_env.h"
#include "server/server.h"
#include "topology/node_topology.h"
#include "transport/event_loop.h"

namespace pmix::api {
namespace {

using common::MutexLock;

const char* role_name(Role role) noexcept {
    return role == Role::client ? "a client" : role == Role::server ? "a server" : "a tool";
}

// All global state. It is in a page of its own that a forked child finds full of zeros, which is the initial state:
// an unlocked mutex, no library, nobody inside.
struct Globals {
    common::Mutex mutex;  // init and finalize
    std::atomic<Library*> library{nullptr};
    std::atomic<uint32_t> inside{0};  // calls that may wait
    std::atomic<bool> leaving{false};
    unsigned count = 0;
    uint64_t instance = 0;  // of the library: one more with each first init
    // The singleton's init answers PMIX_ERR_UNREACH each time.
    pmix_status_t init_status = PMIX_SUCCESS;
};

// Before the first init there is no page; this one is never written.
constinit Globals g_none;
constinit std::atomic<Globals*> g_globals{&g_none};
// Not wiped by fork: tells a child whose library it inherited.
constinit std::atomic<Library*> g_last{nullptr};

// The caller's directives, and strict mode among them where it comes from the environment: the server reads it there.
std::vector<pmix_info_t> with_strict(const pmix_info_t infos[], size_t ninfos, bool strict) {
    std::vector<pmix_info_t> all(infos, infos + ninfos);
    if (!strict || common::InfoView(infos, ninfos).has(PMIX_WIREUP_STRICT)) return all;
    pmix_info_t& info = all.emplace_back();
    std::memset(&info, 0, sizeof info);
    std::strcpy(info.key, PMIX_WIREUP_STRICT);
    info.value.type = PMIX_BOOL;
    info.value.data.flag = true;
    return all;
}

void wipe_in_child() {
    // Only where the kernel cannot wipe pages itself (before Linux 4.14).
    Globals* g = g_globals.load(std::memory_order_relaxed);
    if (g != &g_none) new (g) Globals;
}

Globals* make_globals() {
    const auto size = static_cast<size_t>(::sysconf(_SC_PAGESIZE));
    void* page = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED) return nullptr;
    const bool wiped = ::madvise(page, size, MADV_WIPEONFORK) == 0;
    auto* mine = new (page) Globals;
    Globals* expected = &g_none;
    if (!g_globals.compare_exchange_strong(expected, mine, std::memory_order_acq_rel)) {
        ::munmap(page, size);
        return expected;
    }
    if (!wiped) ::pthread_atfork(nullptr, nullptr, &wipe_in_child);
    return mine;
}

Globals* globals_for_init() {
    Globals* g = g_globals.load(std::memory_order_acquire);
    return g != &g_none ? g : make_globals();
}

void give_out(const client::Session& session, pmix_proc_t* ret_proc) {
    if (ret_proc != nullptr) *ret_proc = session.self().to_c();
}

}  // namespace

Library* Library::current() noexcept {
    return g_globals.load(std::memory_order_acquire)->library.load(std::memory_order_acquire);
}

namespace {
// Held by the init and finalize that is under way. A callback does not wait for it: that one may be waiting for the
// callback.
class LifecycleLock {
  public:
    explicit LifecycleLock(common::Mutex& mutex) NO_THREAD_SAFETY_ANALYSIS : mutex_(mutex) { take(); }
    ~LifecycleLock() NO_THREAD_SAFETY_ANALYSIS { give_back(); }
    void take() NO_THREAD_SAFETY_ANALYSIS {
        if (transport::EventLoop::on_any_loop()) {
            held_ = mutex_.try_lock();
        } else {
            mutex_.lock();
            held_ = true;
        }
    }
    void give_back() NO_THREAD_SAFETY_ANALYSIS {
        if (held_) mutex_.unlock();
        held_ = false;
    }
    LifecycleLock(const LifecycleLock&) = delete;
    LifecycleLock& operator=(const LifecycleLock&) = delete;
    bool held() const noexcept { return held_; }

  private:
    common::Mutex& mutex_;
    bool held_ = false;
};
// Calls that are not counted (boundary_fast) and have found the library before it was taken away. They do not wait, so
// the limit is for a thread that does not run any more.
void wait_for_fast_calls() {
    constexpr int kSeconds = 10;
    client::GracePeriod left;
    left.begin();
    if (!left.possible()) return;  // a kernel without membarrier: nothing tells when they have left
    const auto limit = transport::Deadline::in_ms(kSeconds * 1000);
    while (!left.over() && !limit.passed()) {
        const timespec pause{0, 100'000};
        ::nanosleep(&pause, nullptr);
    }
}

// A second of patience where there is no memory, or no room for a thread, as there may be in a moment. False: there is
// none. The task is referred to, so that a small one takes no memory of its own, and must live until it has run.
template <class F>
bool post_patiently(transport::EventLoop& loop, const F& task) {
    constexpr int kAttempts = 1000;
    for (int i = 0; i < kAttempts; ++i) {
        try {
            loop.post([&task] { task(); });
            return true;
        } catch (const std::bad_alloc&) {
            const timespec pause{0, 1'000'000};
            ::nanosleep(&pause, nullptr);
        }
    }
    return false;
}

}  // namespace

Library* Library::enter() noexcept {
    Globals* g = g_globals.load(std::memory_order_acquire);
    if (g == &g_none) return nullptr;
    // Counted before the look: a finalize that has taken the library away either is seen here, or sees us.
    g->inside.fetch_add(1, std::memory_order_seq_cst);
    Library* library = g->library.load(std::memory_order_seq_cst);
    if (library == nullptr) leave();
    return library;
}

void Library::leave() noexcept {
    Globals* g = g_globals.load(std::memory_order_acquire);
    // In a child forked inside a call (from a callback on a thread that runs the loop) the count of the page is zero.
    if (g->inside.load(std::memory_order_relaxed) == 0) return;
    if (g->inside.fetch_sub(1, std::memory_order_seq_cst) == 1 && g->leaving.load(std::memory_order_seq_cst)) {
        g->inside.notify_all();
    }
}

Library::Library(Role role) noexcept : role_(role) {}

Library::~Library() {
    // The halves use the loop as they go, as its thread would.
    if (loop_ == nullptr) return;
    transport::LoopRole role(*loop_);
    keepalive_.reset();
    client_.reset();
    server_.reset();
}

void Library::abandon(Library* library) noexcept {
    // In a forked child: our copies of its descriptors are closed, its memory stays as it is.
    if (library->server_ != nullptr) library->server_->abandon();
    if (library->keepalive_ != nullptr) library->keepalive_->abandon();
    if (library->client_ != nullptr) library->client_->abandon();
    transport::EventLoop::abandon(std::move(library->loop_));
}

pmix_status_t Library::init(Role role, pmix_server_module_t* module, pmix_proc_t* ret_proc, const pmix_info_t infos[],
                            size_t ninfos) NO_THREAD_SAFETY_ANALYSIS {
    if (infos == nullptr && ninfos != 0) return PMIX_ERR_BAD_PARAM;
    // Before anything is made or counted, and for a later init too.
    const pmix_status_t understood = check_directives(role, {infos, ninfos});
    if (understood != PMIX_SUCCESS) {
        const bool alone = current() == nullptr;
        if (alone && begin_log(role, {infos, ninfos}) != PMIX_SUCCESS) return understood;
        WIREUP_LOG(api, error, "init of %s: a required attribute is not known or not supported", role_name(role));
        if (alone) common::stop_log();
        return understood;
    }
    Globals* g = globals_for_init();
    if (g == nullptr) return PMIX_ERR_NOMEM;

    LifecycleLock lock(g->mutex);
    if (!lock.held()) return PMIX_ERR_WOULD_BLOCK;

    Library* library = g->library.load(std::memory_order_relaxed);
    if (library != nullptr) {
        if (library->role_ != role) {
            WIREUP_LOG(api, error, "init of %s: this process is %s already", role_name(role),
                       role_name(library->role_));
            return PMIX_ERR_NOT_SUPPORTED;
        }
        WIREUP_RETURN_IF_ERROR(library->check_against({infos, ninfos}));
        if (role == Role::tool && library->is_to_connect({infos, ninfos})) {
            // Without the mutex: this may wait, perhaps for ever (PMIX_WAIT_FOR_CONNECTION). It is not counted yet, so
            // that the last finalize of the others ends it, as it ends all calls that wait.
            const uint64_t instance = g->instance;
            g->inside.fetch_add(1, std::memory_order_seq_cst);
            lock.give_back();
            const pmix_status_t rc = library->connect_tool({infos, ninfos});
            leave();
            if (rc != PMIX_SUCCESS) return rc;
            lock.take();
            if (!lock.held()) return PMIX_ERR_WOULD_BLOCK;
            if (g->instance != instance || g->library.load(std::memory_order_relaxed) == nullptr) return PMIX_ERR_INIT;
        }
        ++g->count;
    } else {
        if (Library* inherited = g_last.exchange(nullptr)) abandon(inherited);
        std::unique_ptr<Library> made(new (std::nothrow) Library(role));
        if (made == nullptr) return PMIX_ERR_NOMEM;
        auto strict = common::strict_mode({infos, ninfos}, ::secure_getenv(common::kStrictVariable));
        if (!strict) return strict.status();
        made->strict_ = *strict;
        WIREUP_RETURN_IF_ERROR(begin_log(role, {infos, ninfos}));
        const auto all = with_strict(infos, ninfos, *strict);
        const common::InfoView told(all.data(), all.size());
        const pmix_status_t rc = role == Role::server ? made->set_up_server(module, told)
                                 : role == Role::tool ? made->set_up_tool(told)
                                                      : made->set_up_client(told);
        if (rc != PMIX_SUCCESS && rc != PMIX_ERR_UNREACH)
            WIREUP_LOG(api, error, "init of %s: %s", role_name(role), common::log_status(rc));
        if (rc != PMIX_SUCCESS && rc != PMIX_ERR_UNREACH) return rc;
        if (made->client_ == nullptr) return rc;
        made->client_->set_strict(*strict);
        const auto devices = later_fabric_devices(made->topology_, made->client_->self(), server::local_hostname());
        made->client_->fabrics().set_devices(devices);
        made->client_->own_facts().set_devices([devices]() -> common::Result<common::Value> {
            auto found = devices();
            if (!found) return found.status();
            if (found->empty()) return PMIX_ERR_NOT_FOUND;
            return common::array_value(std::move(found).value());
        });
        library = made.release();
        g->init_status = rc;
        g->count = 1;
        ++g->instance;
        common::set_process_strict(*strict);
        g_last.store(library);
        g->library.store(library, std::memory_order_seq_cst);
    }
    if (g->count == 1 && role == Role::client) stop_for_debugger(*library, "pmix-init");
    if (g->count == 1 && role == Role::tool) stop_for_debugger(*library, "pmix-tool-init");
    WIREUP_LOG(api, info, "init %u of %s: %s", g->count, role_name(role), common::log_status(g->init_status));
    client::declare_model(library->client(), {infos, ninfos});
    give_out(library->client(), ret_proc);
    // PMIx_tool_init's own page requires this; another page requires an identity.
    if (ret_proc != nullptr && library->strict_ && library->nameless_ && !library->client().connected())
        *ret_proc = common::ProcId().to_c();
    return g->init_status;
}

pmix_status_t Library::finalize(Role role, const pmix_info_t infos[], size_t ninfos) NO_THREAD_SAFETY_ANALYSIS {
    if (infos == nullptr && ninfos != 0) return PMIX_ERR_BAD_PARAM;
    WIREUP_RETURN_IF_ERROR(common::check_flags({infos, ninfos}));
    Globals* g = g_globals.load(std::memory_order_acquire);
    // Until the mutex is ours, somebody else's finalize may take the library away: nothing of it is looked at.
    if (g->library.load(std::memory_order_relaxed) == nullptr) return PMIX_ERR_INIT;
    const LifecycleLock lock(g->mutex);
    if (!lock.held()) return PMIX_ERR_WOULD_BLOCK;

    Library* library = g->library.load(std::memory_order_relaxed);
    // A tool may end by the client's call, too.
    const bool ends =
        library != nullptr && (library->role_ == role || (role == Role::client && library->role_ == Role::tool));
    if (!ends) return PMIX_ERR_INIT;
    if (g->count > 1) {
        --g->count;
        return PMIX_SUCCESS;
    }
    // The last one ends the loop, which cannot be done from the loop.
    if (transport::EventLoop::on_any_loop()) return PMIX_ERR_WOULD_BLOCK;
    g->count = 0;

    client::Session& session = library->client();
    const bool is_client = library->role_ == Role::client;
    if (session.connected() && session.loop().drive() != transport::Drive::host_base) session.iof().end_own_input();
    // Whatever comes of it, the process goes.
    try {
        if (is_client && session.connected()) {
            const common::InfoView view(infos, ninfos);
            if (view.flag(PMIX_EMBED_BARRIER)) {
                const pmix_info_t* limit = view.find(PMIX_TIMEOUT);
                client::fence(session, nullptr, 0, limit, limit != nullptr ? 1 : 0);
            }
            session.ask_to_finalize({infos, ninfos});
        }
        // On a host's event base nobody may be there who reads the answers.
        if (library->servers_ != nullptr && session.loop().drive() != transport::Drive::host_base)
            session.ask_to_finalize({infos, ninfos}, library->servers_->take_all_to_finalize());
    } catch (const std::bad_alloc&) {
    }

    // No new call gets in; those that wait get an answer and leave.
    g->leaving.store(true, std::memory_order_seq_cst);
    // Before the library is: setup_fork() is inside with the library, or finds neither.
    const server::LaunchEnv* const launch_env = server::LaunchEnv::current();
    if (library->server() != nullptr) server::LaunchEnv::set_current(nullptr);
    g->library.store(nullptr, std::memory_order_seq_cst);
    transport::EventLoop& loop = *library->loop_;
    const auto shut = [library] {
        library->ending_ = true;
        if (library->server_ != nullptr) library->server_->stop();
        library->client_->shut(PMIX_ERR_INIT);
    };
    using transport::Drive;
    const bool on_base = loop.drive() == Drive::host_base;
    const bool not_needed = loop.drive() == Drive::own_thread && loop.withdraw_thread();
    if (!on_base && !not_needed) {
        // As a task, on whichever thread runs the loop: another thread may be in the loop, and may end its thread
        // meanwhile.
        transport::Waiter done;
        const auto task = [&] {
            const transport::CompleteAtEnd at_end(done);
            shut();
        };
        if (!post_patiently(loop, task)) {  // nothing has been ended: the caller may call again
            server::LaunchEnv::set_current(launch_env);
            g->library.store(library, std::memory_order_seq_cst);
            g->leaving.store(false, std::memory_order_seq_cst);
            g->inside.notify_all();
            g->count = 1;
            return PMIX_ERR_NOMEM;
        }
        loop.wait(done, transport::Deadline::never());
    } else {
        transport::LoopRole as_loop(loop);
        shut();
        // No thread runs the loop: the tasks that threads inside calls wait for are run here.
        while (g->inside.load(std::memory_order_seq_cst) != 0) {
            loop.run_posted();
            const timespec pause{0, 1'000'000};
            ::nanosleep(&pause, nullptr);
        }
    }
    for (uint32_t n; (n = g->inside.load(std::memory_order_seq_cst)) != 0;) g->inside.wait(n);
    wait_for_fast_calls();
    loop.stop();
    g->leaving.store(false, std::memory_order_seq_cst);
    g_last.store(nullptr);
    common::set_process_strict(false);
    delete library;
    WIREUP_LOG(api, info, "finalized");
    common::stop_log();
    return PMIX_SUCCESS;
}

pmix_status_t Library::init_client(pmix_proc_t* ret_proc, const pmix_info_t infos[], size_t ninfos) {
    return init(Role::client, nullptr, ret_proc, infos, ninfos);
}
pmix_status_t Library::finalize_client(const pmix_info_t infos[], size_t ninfos) {
    return finalize(Role::client, infos, ninfos);
}
pmix_status_t Library::init_server(pmix_server_module_t* module, const pmix_info_t infos[], size_t ninfos) {
    return init(Role::server, module, nullptr, infos, ninfos);
}
pmix_status_t Library::finalize_server() {
    return finalize(Role::server, nullptr, 0);
}
pmix_status_t Library::init_tool(pmix_proc_t* ret_proc, const pmix_info_t infos[], size_t ninfos) {
    return init(Role::tool, nullptr, ret_proc, infos, ninfos);
}
pmix_status_t Library::finalize_tool() {
    return finalize(Role::tool, nullptr, 0);
}

}  // namespace pmix::api

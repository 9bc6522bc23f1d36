// SPDX-License-Identifier: BSD-3-Clause
// The host's module: the only files that touch pmix_server_module_t. One function per upcall; each answer comes back on
// the loop thread, or, where the operation allows it, on the thread by which the host answers.
//
// Upcalls run on the loop thread with no lock held, and what they are given stays valid until the host has answered.
// They are made when the operation that asks for one has returned, in the order in which they were asked for: the host
// may call any PMIx_server_* function inside an upcall, and no frame of the library below it looks at what such a call
// changes or frees. See docs/design/threads.md. Those that may be answered anywhere are made at once, by operations
// that hold nothing. The host may answer before the upcall returns, later, from any thread, by
// PMIX_OPERATION_SUCCEEDED, or by an error; each becomes exactly one Done. One that may run anywhere is run by the
// answering thread, which saves waking the loop, and the end of the server waits for it. A second answer, and an answer
// after the server has gone, find no open upcall and do no harm: what the host hands back as cbdata is a number that is
// looked up, not a pointer.
//
// Also chooses the host of a request (host.h): this one, the local host, or nobody.
#pragma once

#include <atomic>
#include <deque>
#include <functional>
#include <memory>
#include <vector>

#include "server/host/host.h"

namespace pmix::server {

struct ReportRows;

class ModuleHost final : public Host {
  public:
    // The module may be null. Its first 28 slots are read and copied, and no byte more unless module_size (what the
    // host said with PMIX_SERVER_MODULE_SIZE) covers them.
    ModuleHost(Scheduler& scheduler, const pmix_server_module_t* module, size_t module_size);
    // Forgets all open upcalls: their Done never runs, their data is released. Waits for those that run elsewhere.
    ~ModuleHost() override;

    // A launcher's: requests of its own are for its module, too.
    void serve_itself() noexcept { serves_itself_ = true; }
    // What a launcher has started itself; null: nothing.
    void set_local(Host* local) noexcept { local_ = local; }
    // The host has made a call that is new in OpenPMIx 7. Any thread.
    void note_call_of_7() noexcept { is_of_7_.store(true, std::memory_order_relaxed); }
    bool cancels_groups() const noexcept override { return is_of_7_.load(std::memory_order_relaxed); }
    // A launcher says late what it can do (PMIx_tool_set_server_module).
    void set_module(const pmix_server_module_t* module, size_t module_size);

    Host& of(const Peer& peer) noexcept override;
    Host& of_spawn(const Peer& peer) noexcept override;
    Host& of_processes(const Peer& peer, const Procs& procs) noexcept override;
    Host& of_abort(const Peer& peer, const Procs& procs) noexcept override;

    bool has(common::Function function) const noexcept override;
    bool has_tool_connected() const noexcept override {
        return module_.tool_connected != nullptr || module_.tool_connected2 != nullptr;
    }

    // client_connected2 if the module has it; else the old entry, which gets a NULL callback and is not waited for.
    void client_connected(const common::ProcId& proc, void* server_object, common::InfoList infos, Done done) override;
    void tool_connected(common::InfoList infos, Done done) override;
    void client_finalized(const common::ProcId& proc, void* server_object, Done done) override;
    void abort(const common::ProcId& proc, void* server_object, int status, std::string message, const Procs& procs,
               Done done) override;
    void fence(const common::ProcSet& procs, common::InfoList infos, char* blob, size_t size, Done done) override;
    void direct_modex(const common::ProcId& proc, common::InfoList infos, Done done) override;
    void publish(const common::ProcId& proc, common::InfoList infos, Runs runs, Done done) override;
    void lookup(const common::ProcId& proc, const std::vector<std::string>& keys, common::InfoList infos, Runs runs,
                Done done) override;
    void unpublish(const common::ProcId& proc, const std::vector<std::string>& keys, common::InfoList infos, Runs runs,
                   Done done) override;
    void spawn(const common::ProcId& proc, common::InfoList infos, common::CArray<pmix_app_t> apps, Done done) override;
    void connect(const common::ProcSet& procs, common::InfoList infos, Done done) override;
    void disconnect(const common::ProcSet& procs, common::InfoList infos, Done done) override;
    void register_events(std::vector<pmix_status_t> codes, common::InfoList infos, Done done) override;
    void deregister_events(std::vector<pmix_status_t> codes, Done done) override;
    void notify_event(pmix_status_t code, const common::ProcId& source, pmix_data_range_t range, common::InfoList infos,
                      Done done) override;
    void job_control(const common::ProcId& requestor, const Procs& targets, common::InfoList directives,
                     Done done) override;
    void query(const common::ProcId& requestor, common::CArray<pmix_query_t> queries, Done done) override;
    void group(pmix_group_operation_t operation, std::string name, const common::ProcSet& procs, common::InfoList infos,
               Done done) override;
    // log2 if the module has it; else the older entry, which has no return value: the host is waited for.
    void log(const common::ProcId& client, common::InfoList data, common::InfoList directives, Done done) override;
    void allocate(const common::ProcId& client, pmix_alloc_directive_t directive, common::InfoList infos,
                  Done done) override;
    void monitor(const common::ProcId& requestor, common::InfoList what, pmix_status_t error,
                 common::InfoList directives, Done done) override;
    void session_control(const common::ProcId& requestor, uint32_t session, common::InfoList directives,
                         Done done) override;
    void resource_block(const common::ProcId& requestor, pmix_resource_block_directive_t directive, std::string block,
                        std::vector<pmix_resource_unit_t> units, common::InfoList infos, Done done) override;
    void fabric(const common::ProcId& requestor, pmix_fabric_operation_t operation, common::InfoList directives,
                Done done) override;
    void get_credential(const common::ProcId& proc, common::InfoList directives, Done done) override;
    void validate_credential(const common::ProcId& proc, std::vector<uint8_t> credential, common::InfoList directives,
                             Done done) override;
    void iof_pull(const Procs& procs, common::InfoList infos, pmix_iof_channel_t channels, Done done) override;
    void push_stdin(const common::ProcId& source, const Procs& targets, common::InfoList infos,
                    std::vector<uint8_t> bytes, Done done) override;

    void defer(transport::Task call) override;
    // Makes all deferred calls now. For the API, which is entered with nothing of the server's on the stack: what
    // the host asks for comes after what it was due to be told.
    void flush();

    // Upcalls that the host has not answered yet.
    size_t open() const;
    size_t upcalls_open() const override { return open(); }
    uint64_t upcalls_made() const noexcept override { return made_; }
    // A row for each of them, the oldest first, except those of operations that have rows of their own.
    void report(ReportRows& rows) const;
    // Called once for each that is open for kLateSeconds, where warnings are logged. In the loop.
    static constexpr int kLateSeconds = 30;
    struct LateUpcall {
        const char* name = "";
        uint64_t number = 0;
        common::ProcId about;
    };
    void watch(std::function<void(const std::vector<LateUpcall>&)> late) { late_ = std::move(late); }

    struct Call;

  private:
    void look_later() noexcept;
    void look();
    template <class Entry, class F>
    void upcall(Entry entry, common::ProcId about, Done done, F make, Runs runs = Runs::on_loop,
                const char* name = __builtin_FUNCTION());

    pmix_server_module_t module_;
    Host nobody_;
    Host forbidden_;  // for processes of a local job of another user
    Host* local_ = nullptr;
    bool serves_itself_ = false;
    uint64_t made_ = 0;  // upcalls
    std::function<void(const std::vector<LateUpcall>&)> late_;
    Timer next_look_;
    std::atomic<bool> is_of_7_{false};
    struct Outbox {
        std::deque<transport::Task> calls;
        bool flushing = false;
    };
    const std::shared_ptr<Outbox> outbox_ = std::make_shared<Outbox>();
};

}  // namespace pmix::server

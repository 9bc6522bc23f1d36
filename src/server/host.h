// The host's module: the only file pair that touches pmix_server_module_t. One function per upcall; each answer comes
// back on the loop thread, or, where the operation allows it, on the thread by which the host answers.
//
// Upcalls run on the loop thread with no lock held, and what they are given stays valid until the host has answered.
// They are made when the operation that asks for one has returned, in the order in which they were asked for: the host
// may call any PMIx_server_* function inside an upcall, and what such a call changes or frees nobody looks at then. See
// docs/THREADS.md. Those that may be answered anywhere are made at once, by operations that hold nothing.
// The host may answer before the upcall returns, later, from any thread, by PMIX_OPERATION_SUCCEEDED, or by an error;
// each becomes exactly one Done. It runs on the loop and never on the stack of the call, unless it may run anywhere:
// then the answering thread runs it, which saves waking the loop, and the end of the server waits for it. A second
// answer, and an answer after the server has gone, find nobody and do no harm: what the host hands back as cbdata is a
// number that is looked up, not a pointer.
//
// What can go wrong: an entry that is NULL. It means "fine" for client_connected, client_finalized, register_events,
// deregister_events and notify_event, and PMIX_ERR_NOT_SUPPORTED for all else. A host that never answers is waited for;
// whoever asked has the timeout.
#pragma once

#include <pmix_server.h>

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/bytes.h"
#include "common/ids.h"
#include "common/info_view.h"
#include "common/proc_set.h"
#include "common/status.h"
#include "common/support.h"
#include "common/value.h"
#include "server/callback.h"
#include "server/host_attributes.h"
#include "server/peer.h"
#include "server/scheduler.h"

namespace pmix::server {

// What an upcall brought. Which of the parts are filled depends on the upcall.
struct HostAnswer {
    pmix_status_t status = PMIX_SUCCESS;
    common::Bytes data;                    // fence, direct modex: the host's, valid while Done runs
    common::CArray<pmix_pdata_t> found;    // lookup
    std::string nspace;                    // spawn
    common::InfoList infos;                // query, job control, ...
    std::vector<uint8_t> blob;             // credential
    common::ProcId tool;                   // tool_connected: its name, if the host gave one
};

// Adds the requester's user and group as the kernel reported them: PMIX_USERID and PMIX_GRPID, in place of what the
// requester itself wrote there. The infos of every upcall pass through one of these three.
pmix_status_t append_ids(common::InfoList& infos, const Credentials& who);
// For what several processes of different users ask together: nobody's.
void remove_ids(common::InfoList& infos);
// For infos within an application, which are not about the requester: those that are there are replaced.
void replace_ids(pmix_app_t& app, const Credentials& who) noexcept;

// Whose processes take part in a collective operation: one user, or several.
class Participants {
  public:
    void add(const Credentials& who) noexcept {
        if (!first_) {
            first_ = who;
        } else if (first_->uid != who.uid || first_->gid != who.gid) {
            several_ = true;
        }
    }
    pmix_status_t append_ids(common::InfoList& infos) const {
        if (first_ && !several_) return server::append_ids(infos, *first_);
        remove_ids(infos);
        return PMIX_SUCCESS;
    }

  private:
    std::optional<Credentials> first_;
    bool several_ = false;
};

// Where a Done may run. Anywhere: it owns nothing of the loop's, waits for nobody, and runs nothing of the user's.
enum class Runs : uint8_t { on_loop, anywhere };

class Host {
  public:
    using Done = Callback<void(HostAnswer&)>;

    // The module may be null. Its first 28 slots are read and copied, and no byte more unless module_size (what the
    // host said with PMIX_SERVER_MODULE_SIZE) covers them.
    Host(Scheduler& scheduler, const pmix_server_module_t* module, size_t module_size);
    // Forgets all open upcalls: their Done never runs, their data is released. Waits for those that run elsewhere.
    ~Host();
    Host(const Host&) = delete;
    Host& operator=(const Host&) = delete;

    // What may be called for a request of this peer. A host's own request is no upcall to itself: it comes on the
    // library's thread, where a lock that the host holds during its request is waited for for ever. So for the server's
    // own process this is a host without a module, by which the library answers what it can, and PMIX_ERR_NOT_SUPPORTED
    // else. Operations by which a launcher starts and controls processes (spawn, job control, input) do not ask this:
    // a host that makes such a request means its own module, which is the only one that can carry it out.
    Host& of(const Peer& peer) noexcept {
        return peer.kind() == PeerKind::self && nobody_ != nullptr ? *nobody_ : *this;
    }
    // nobody: what of() gives the own process. Null: a launcher whose requests of its own are for its module, too.
    void set_nobody(Host* nobody) noexcept { nobody_ = nobody; }

    bool has_connected2() const noexcept { return module_.client_connected2 != nullptr; }
    bool has_fence() const noexcept { return module_.fence_nb != nullptr; }
    bool has_direct_modex() const noexcept { return module_.direct_modex != nullptr; }
    bool has_notify() const noexcept { return module_.notify_event != nullptr; }
    bool has_spawn() const noexcept { return module_.spawn != nullptr; }
    bool has_connect() const noexcept { return module_.connect != nullptr; }
    bool has_disconnect() const noexcept { return module_.disconnect != nullptr; }
    bool has_job_control() const noexcept { return module_.job_control != nullptr; }
    bool has_log() const noexcept { return module_.log != nullptr || module_.log2 != nullptr; }
    bool has_get_credential() const noexcept { return module_.get_credential != nullptr; }
    bool has_validate_credential() const noexcept { return module_.validate_credential != nullptr; }
    bool has_query() const noexcept { return module_.query != nullptr; }
    bool has_push_stdin() const noexcept { return module_.push_stdin != nullptr; }
    bool has_fabric() const noexcept { return module_.fabric != nullptr; }
    bool has_group() const noexcept { return module_.group != nullptr; }
    bool has_tool_connected() const noexcept {
        return module_.tool_connected != nullptr || module_.tool_connected2 != nullptr;
    }
    // Has it an entry that serves the function? False for functions that no host is asked for.
    bool has(common::Function function) const noexcept;
    // What it says it supports, by function.
    HostAttributes& attributes() noexcept { return attributes_; }
    const HostAttributes& attributes() const noexcept { return attributes_; }
    bool has_register_events() const noexcept { return module_.register_events != nullptr; }

    // client_connected2 if the host has it; else the old entry, which gets a NULL callback and is not waited for.
    void client_connected(const common::ProcId& proc, void* server_object, common::InfoList infos, Done done);
    void tool_connected(common::InfoList infos, Done done);
    void client_finalized(const common::ProcId& proc, void* server_object, Done done);
    // procs empty and all_procs: the NULL form, "everything of the caller's namespace".
    void abort(const common::ProcId& proc, void* server_object, int status, std::string message,
               const std::vector<common::ProcId>& procs, Done done);
    // The blob is malloc'ed and becomes the host's, which frees it; NULL and 0 when nothing was collected.
    void fence(const common::ProcSet& procs, common::InfoList infos, char* blob, size_t size, Done done);
    void direct_modex(const common::ProcId& proc, common::InfoList infos, Done done);
    void publish(const common::ProcId& proc, common::InfoList infos, Runs runs, Done done);
    void lookup(const common::ProcId& proc, const std::vector<std::string>& keys, common::InfoList infos, Runs runs,
                Done done);
    // No keys: all that the caller published; the host then sees NULL.
    void unpublish(const common::ProcId& proc, const std::vector<std::string>& keys, common::InfoList infos, Runs runs,
                   Done done);
    void spawn(const common::ProcId& proc, common::InfoList infos, common::CArray<pmix_app_t> apps, Done done);
    void connect(const common::ProcSet& procs, common::InfoList infos, Done done);
    void disconnect(const common::ProcSet& procs, common::InfoList infos, Done done);
    void register_events(std::vector<pmix_status_t> codes, common::InfoList infos, Done done);
    void deregister_events(std::vector<pmix_status_t> codes, Done done);
    void notify_event(pmix_status_t code, const common::ProcId& source, pmix_data_range_t range,
                      common::InfoList infos, Done done);
    void job_control(const common::ProcId& requestor, const std::vector<common::ProcId>& targets,
                     common::InfoList directives, Done done);

    void query(const common::ProcId& asker, common::CArray<pmix_query_t> queries, Done done);
    // The answer's infos: what the host has to say of the group (context id, membership, endpoint data), or nothing.
    void group(pmix_group_operation_t operation, std::string name, const common::ProcSet& procs, common::InfoList infos,
               Done done);

    // log2 if the host has it; else the older entry, which has no return value: the host is waited for.
    void log(const common::ProcId& client, common::InfoList data, common::InfoList directives, Done done);
    void allocate(const common::ProcId& client, pmix_alloc_directive_t directive, common::InfoList infos, Done done);
    // what: the one info that says it.
    void monitor(const common::ProcId& requestor, common::InfoList what, pmix_status_t error,
                 common::InfoList directives, Done done);
    void session_control(const common::ProcId& requestor, uint32_t session, common::InfoList directives, Done done);
    void resource_block(const common::ProcId& requestor, pmix_resource_block_directive_t directive, std::string block,
                        std::vector<pmix_resource_unit_t> units, common::InfoList infos, Done done);
    // The answer's infos are in the form that can leave the process (common/fabric.h).
    void fabric(const common::ProcId& requestor, pmix_fabric_operation_t operation, common::InfoList directives,
                Done done);
    // A host that answers PMIX_OPERATION_SUCCEEDED to the first has given no credential.
    void get_credential(const common::ProcId& proc, common::InfoList directives, Done done);
    void validate_credential(const common::ProcId& proc, std::vector<uint8_t> credential, common::InfoList directives,
                             Done done);

    void iof_pull(const std::vector<common::ProcId>& procs, common::InfoList infos, pmix_iof_channel_t channels, Done done);
    // No bytes: the end of the input.
    void push_stdin(const common::ProcId& source, const std::vector<common::ProcId>& targets, common::InfoList infos,
                    std::vector<uint8_t> bytes, Done done);

    // A launcher says late what it can do (PMIx_tool_set_server_module).
    void set_module(const pmix_server_module_t* module, size_t module_size);

    // The host's code (an upcall, a callback of its own) is to run once what runs now has returned.
    void soon(transport::Task call);
    // Makes all calls of soon() now. For the door, which is entered with nothing of the server's on the stack: what
    // the host asks for comes after what it was due to hear.
    void flush();

    // Upcalls that the host has not answered yet.
    size_t open() const;

    struct Call;

  private:
    uint64_t admit(std::unique_ptr<Call> call);
    template <class F>
    void run(std::unique_ptr<Call> call, F upcall, const char* name = __builtin_FUNCTION());
    void later(Done done, pmix_status_t status);

    Scheduler& scheduler_;
    pmix_server_module_t module_;
    HostAttributes attributes_;
    Host* nobody_ = nullptr;
    struct Outbox {
        std::deque<transport::Task> calls;
        bool flushing = false;
    };
    const std::shared_ptr<Outbox> outbox_ = std::make_shared<Outbox>();
};

}  // namespace pmix::server

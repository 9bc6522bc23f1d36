// SPDX-License-Identifier: BSD-3-Clause
// The host of this server as the operations see it: one interface, and what chooses between its implementations.
//
//   ModuleHost  (module_host.h) the resource manager: upcalls through its pmix_server_module_t
//   LocalHost   (local_host.h)  this library itself, for the jobs that a tool without a server has started
//   Host        nobody: every request is refused. What a host's own request gets, so that it is no upcall to itself
//
// A request's host is chosen by of(), of_spawn(), of_processes() or of_abort(). Each answer is exactly one Done. It
// runs on the loop and never on the stack of the call, unless it may run anywhere (Runs). Loop thread only.
//
// What can go wrong: a host that has no entry. It means "fine" for client_connected, client_finalized, register_events,
// deregister_events and notify_event, and PMIX_ERR_NOT_SUPPORTED for all else. A host that never answers is waited for;
// the requester has the timeout.
#pragma once

#include <pmix_server.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "common/base/bytes.h"
#include "common/base/callback.h"
#include "common/base/ids.h"
#include "common/base/status.h"
#include "common/protocol/proc_set.h"
#include "common/values/info_view.h"
#include "common/values/support.h"
#include "common/values/value.h"
#include "server/base/peer.h"
#include "server/base/scheduler.h"
#include "server/host/host_attributes.h"

namespace pmix::server {

// What an upcall brought. Which of the parts are filled depends on the upcall.
struct HostAnswer {
    pmix_status_t status = PMIX_SUCCESS;
    common::Bytes data;                  // fence, direct modex: the host's, valid while Done runs
    common::CArray<pmix_pdata_t> found;  // lookup
    std::string nspace;                  // spawn
    common::InfoList infos;              // query, job control, ...
    std::vector<uint8_t> blob;           // credential
    common::ProcId tool;                 // tool_connected: its name, if the host gave one
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
    using Done = common::Callback<void(HostAnswer&)>;
    using Procs = std::vector<common::ProcId>;

    // refusal: the answer to each request that a derived class does not serve.
    explicit Host(Scheduler& scheduler, pmix_status_t refusal = PMIX_ERR_NOT_SUPPORTED) noexcept
        : scheduler_(scheduler), refusal_(refusal) {}
    virtual ~Host() = default;
    Host(const Host&) = delete;
    Host& operator=(const Host&) = delete;

    // ---- which host serves a request ----

    // What may be called for a request of this peer. A host's own request is no upcall to itself: it comes on the
    // library's thread, where a lock that the host holds during its request is waited for for ever. So for the server's
    // own process this is nobody, and the library answers what it can. Operations by which a launcher starts and
    // controls processes (spawn, job control, input) do not ask this: a host that makes such a request means its own
    // module, which is the only one that can carry it out.
    virtual Host& of(const Peer&) noexcept { return *this; }
    // The host that starts what this peer spawns.
    virtual Host& of_spawn(const Peer&) noexcept { return *this; }
    // The host that controls these processes.
    virtual Host& of_processes(const Peer&, const Procs&) noexcept { return *this; }
    // The host that aborts them; an empty list names the peer's namespace.
    virtual Host& of_abort(const Peer&, const Procs&) noexcept { return *this; }

    // The job was started by this library as its own host.
    virtual bool started(std::string_view /*nspace*/) const { return false; }

    // ---- what it can do ----

    // Has it an entry that serves the function? False for functions that no host is asked for.
    virtual bool has(common::Function) const noexcept { return refusal_ != PMIX_ERR_NOT_SUPPORTED; }
    // May a required entry of a service be passed to it? named: the headers name its key.
    virtual bool may_meet(common::Function function, const pmix_info_t& info, bool named) const {
        return has(function) && (named || attributes_.lists(common::function_name(function), common::key_view(info)));
    }
    virtual bool has_tool_connected() const noexcept { return false; }
    bool has_fence() const noexcept { return has(common::Function::PMIx_Fence); }
    bool has_direct_modex() const noexcept { return has(common::Function::PMIx_Get); }
    bool has_notify() const noexcept { return has(common::Function::PMIx_Notify_event); }
    bool has_connect() const noexcept { return has(common::Function::PMIx_Connect); }
    bool has_disconnect() const noexcept { return has(common::Function::PMIx_Disconnect); }
    bool has_job_control() const noexcept { return has(common::Function::PMIx_Job_control); }
    bool has_log() const noexcept { return has(common::Function::PMIx_Log); }
    bool has_get_credential() const noexcept { return has(common::Function::PMIx_Get_credential); }
    bool has_validate_credential() const noexcept { return has(common::Function::PMIx_Validate_credential); }
    bool has_query() const noexcept { return has(common::Function::PMIx_Query_info); }
    bool has_push_stdin() const noexcept { return has(common::Function::PMIx_IOF_push); }
    bool has_fabric() const noexcept { return has(common::Function::PMIx_Fabric_register); }
    bool has_group() const noexcept { return has(common::Function::PMIx_Group_construct); }
    // It has called what hosts of OpenPMIx 7 and later alone call, so PMIX_GROUP_CANCEL has a meaning there. A module
    // does not show it: that of 6.1 has the same size.
    virtual bool cancels_groups() const noexcept { return false; }
    // Calls of the resource manager's entries: how many there have been, and how many it has not answered.
    virtual uint64_t upcalls_made() const noexcept { return 0; }
    virtual size_t upcalls_open() const { return 0; }
    // The attributes that it has registered as supported, by function.
    HostAttributes& attributes() noexcept { return attributes_; }
    const HostAttributes& attributes() const noexcept { return attributes_; }

    // ---- upcalls: PMIx Standard, chapter "Server-Specific Interfaces" ----

    virtual void client_connected(const common::ProcId&, void* /*server_object*/, common::InfoList, Done done) {
        answer(std::move(done), PMIX_SUCCESS);
    }
    virtual void tool_connected(common::InfoList, Done done) { refuse(std::move(done)); }
    virtual void client_finalized(const common::ProcId&, void* /*server_object*/, Done done) {
        answer(std::move(done), PMIX_SUCCESS);
    }
    // No procs: everything of the caller's namespace; a module then sees NULL.
    virtual void abort(const common::ProcId&, void* /*server_object*/, int /*status*/, std::string /*message*/,
                       const Procs&, Done done) {
        refuse(std::move(done));
    }
    // The blob is malloc'ed and becomes the host's, which frees it; NULL and 0 when nothing was collected.
    virtual void fence(const common::ProcSet&, common::InfoList, char* blob, size_t size, Done done);
    virtual void direct_modex(const common::ProcId&, common::InfoList, Done done) { refuse(std::move(done)); }
    virtual void publish(const common::ProcId&, common::InfoList, Runs, Done done) { refuse(std::move(done)); }
    virtual void lookup(const common::ProcId&, const std::vector<std::string>& /*keys*/, common::InfoList, Runs,
                        Done done) {
        refuse(std::move(done));
    }
    // No keys: all that the caller published; a module then sees NULL.
    virtual void unpublish(const common::ProcId&, const std::vector<std::string>& /*keys*/, common::InfoList, Runs,
                           Done done) {
        refuse(std::move(done));
    }
    virtual void spawn(const common::ProcId&, common::InfoList, common::CArray<pmix_app_t>, Done done) {
        refuse(std::move(done));
    }
    virtual void connect(const common::ProcSet&, common::InfoList, Done done) { refuse(std::move(done)); }
    virtual void disconnect(const common::ProcSet&, common::InfoList, Done done) { refuse(std::move(done)); }
    virtual void register_events(std::vector<pmix_status_t>, common::InfoList, Done done) {
        answer(std::move(done), PMIX_SUCCESS);
    }
    virtual void deregister_events(std::vector<pmix_status_t>, Done done) { answer(std::move(done), PMIX_SUCCESS); }
    virtual void notify_event(pmix_status_t, const common::ProcId& /*source*/, pmix_data_range_t, common::InfoList,
                              Done done) {
        answer(std::move(done), PMIX_SUCCESS);
    }
    virtual void job_control(const common::ProcId& /*requestor*/, const Procs& /*targets*/,
                             common::InfoList /*directives*/, Done done) {
        refuse(std::move(done));
    }
    virtual void query(const common::ProcId&, common::CArray<pmix_query_t>, Done done) { refuse(std::move(done)); }
    // The answer's infos: what the host provides for the group (context id, membership, endpoint data), or nothing.
    virtual void group(pmix_group_operation_t, std::string /*name*/, const common::ProcSet&, common::InfoList,
                       Done done) {
        refuse(std::move(done));
    }
    virtual void log(const common::ProcId&, common::InfoList /*data*/, common::InfoList /*directives*/, Done done) {
        refuse(std::move(done));
    }
    virtual void allocate(const common::ProcId&, pmix_alloc_directive_t, common::InfoList, Done done) {
        refuse(std::move(done));
    }
    // what: the one info that names the kind of monitor.
    virtual void monitor(const common::ProcId&, common::InfoList /*what*/, pmix_status_t /*error*/,
                         common::InfoList /*directives*/, Done done) {
        refuse(std::move(done));
    }
    virtual void session_control(const common::ProcId&, uint32_t /*session*/, common::InfoList, Done done) {
        refuse(std::move(done));
    }
    virtual void resource_block(const common::ProcId&, pmix_resource_block_directive_t, std::string /*block*/,
                                std::vector<pmix_resource_unit_t>, common::InfoList, Done done) {
        refuse(std::move(done));
    }
    // The answer's infos are in the form that can leave the process (common/protocol/fabric.h).
    virtual void fabric(const common::ProcId&, pmix_fabric_operation_t, common::InfoList, Done done) {
        refuse(std::move(done));
    }
    // A host that answers PMIX_OPERATION_SUCCEEDED to the first has given no credential.
    virtual void get_credential(const common::ProcId&, common::InfoList, Done done) { refuse(std::move(done)); }
    virtual void validate_credential(const common::ProcId&, std::vector<uint8_t> /*credential*/, common::InfoList,
                                     Done done) {
        refuse(std::move(done));
    }
    virtual void iof_pull(const Procs&, common::InfoList, pmix_iof_channel_t, Done done) { refuse(std::move(done)); }
    // No bytes: the end of the input.
    virtual void push_stdin(const common::ProcId& /*source*/, const Procs& /*targets*/, common::InfoList,
                            std::vector<uint8_t>, Done done) {
        refuse(std::move(done));
    }

    // Code of the host's (an upcall, a callback of its own) runs once what runs now has returned.
    virtual void defer(transport::Task call) { scheduler_.post(std::move(call)); }

  protected:
    Scheduler& scheduler() noexcept { return scheduler_; }
    // Both answer later, on the loop.
    void answer(Done done, pmix_status_t status);
    void refuse(Done done) { answer(std::move(done), refusal_); }

  private:
    Scheduler& scheduler_;
    const pmix_status_t refusal_;
    HostAttributes attributes_;
};

}  // namespace pmix::server

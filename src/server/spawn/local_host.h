// SPDX-License-Identifier: BSD-3-Clause
// The library as its own host: of jobs that a tool has spawned without a server to ask, and for which its module has no
// entry. It starts their processes on this node, describes them to themselves, is told of their end, and serves what
// else a host is asked about them (abort, job control, input).
//
// Owns the jobs until their last process has ended. Loop thread only. A process that ends badly ends its job, unless
// the job is recoverable. At the end of the server what still runs is ended too (SIGTERM, then SIGKILL after a
// delay), unless PMIX_NOHUP was given. The host (module_host) lets only the jobs' own user and root come here.
//
// What can go wrong: see local_job and process_start; when one process cannot be started, those before it are killed,
// and nothing of the job is left.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "server/host/host.h"
#include "server/spawn/local_job.h"

namespace pmix::server {

class Events;
class Iof;
class LaunchEnv;
class Registry;
class Registration;

class LocalHost final : public Host {
  public:
    struct Around {
        transport::EventLoop& loop;
        Scheduler& scheduler;
        Registry& registry;
        Registration& registration;
        const LaunchEnv& launch_env;
        Events& events;
        Iof& iof;
        common::ProcId self;
    };
    explicit LocalHost(Around around) : Host(around.scheduler), around_(std::move(around)) {}

    // Host
    bool started(std::string_view nspace) const override { return jobs_.find(nspace) != jobs_.end(); }
    bool has(common::Function function) const noexcept override;
    bool may_meet(common::Function function, const pmix_info_t& info, bool named) const override;
    void spawn(const common::ProcId& parent, common::InfoList infos, common::CArray<pmix_app_t> apps,
               Done done) override;
    void abort(const common::ProcId& requestor, void* server_object, int status, std::string message,
               const Procs& procs, Done done) override;
    void job_control(const common::ProcId& requestor, const Procs& targets, common::InfoList directives,
                     Done done) override;
    void push_stdin(const common::ProcId& source, const Procs& targets, common::InfoList infos,
                    std::vector<uint8_t> bytes, Done done) override;

    void stop() noexcept;

  private:
    // The new namespace.
    common::Result<std::string> start_job(const common::ProcId& parent, common::InfoView infos,
                                          const common::CArray<pmix_app_t>& apps);
    void end_aborted(const common::ProcId& requestor, int status, const Procs& procs);
    pmix_status_t control(const Procs& targets, common::InfoView directives);
    void write(const Procs& targets, const std::vector<uint8_t>& bytes, Done done);
    pmix_status_t register_job(LocalJob& job);
    pmix_status_t start(LocalJob& job);
    pmix_status_t start_one(LocalJob& job, common::Rank rank, int nothing);
    void give_up(LocalJob& job);
    void ended(const std::string& nspace, common::Rank rank, std::optional<int> wait_status);
    void over(LocalJob& job);
    void end(LocalJob& job);
    template <class F>
    void for_each(const Procs& procs, F&& f);

    // What the requester is told; see local_host_events.cpp.
    void tell(const LocalJob& job, pmix_status_t code, common::Rank about, common::InfoList infos);
    void tell_started(const LocalJob& job);
    void tell_process_ended(const LocalJob& job, common::Rank rank, pmix_status_t how, std::optional<int> code);
    void tell_over(const LocalJob& job);

    Around around_;
    std::map<std::string, std::unique_ptr<LocalJob>, std::less<>> jobs_;
    uint64_t next_ = 1;
    // Tools among the processes see by its closing that this one has ended (PMIX_KEEPALIVE_PIPE).
    PipeEnds keepalive_;
};

}  // namespace pmix::server

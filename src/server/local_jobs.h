// Jobs of this process's own: what a tool spawns when there is no server to ask and its host has no entry for it. The
// library is the host of these jobs: it starts their processes on this node, describes them to themselves, hears of
// their end, and answers what else a host would be asked about them (abort, job control, input).
//
// Owns the jobs until their last process has ended. Loop thread only. A process that ends badly ends its job, unless
// the job is recoverable. At the end of the server what still runs is ended too (SIGTERM, and SIGKILL for who does not
// mind that), unless PMIX_NOHUP was given.
//
// What can go wrong: see local_job and process_start; when one process cannot be started, those before it are killed,
// and nothing of the job is left.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "server/host.h"
#include "server/local_job.h"

namespace pmix::server {

class Events;
class Iof;
class LaunchEnv;
class Registry;
class Setup;

class LocalJobs {
  public:
    struct Around {
        transport::EventLoop& loop;
        Scheduler& scheduler;
        Registry& registry;
        Setup& setup;
        const LaunchEnv& launch_env;
        Events& events;
        Iof& iof;
        common::ProcId self;
    };
    explicit LocalJobs(Around around) : around_(std::move(around)) {}
    LocalJobs(const LocalJobs&) = delete;
    LocalJobs& operator=(const LocalJobs&) = delete;

    // The new namespace.
    common::Result<std::string> spawn(const common::ProcId& parent, common::InfoView infos,
                                      const common::CArray<pmix_app_t>& apps);

    // Are all of these of such jobs? Nobody is not.
    bool own(const std::vector<common::ProcId>& procs) const;
    bool owns(std::string_view nspace) const { return jobs_.find(nspace) != jobs_.end(); }

    // For processes that are own.
    void abort(const common::ProcId& asker, int status, const std::vector<common::ProcId>& procs);
    pmix_status_t control(const std::vector<common::ProcId>& targets, common::InfoView directives);
    void push(const std::vector<common::ProcId>& targets, const std::vector<uint8_t>& bytes, Host::Done done);

    void stop() noexcept;

  private:
    pmix_status_t register_job(LocalJob& job);
    pmix_status_t start(LocalJob& job);
    pmix_status_t start_one(LocalJob& job, common::Rank rank, int nothing);
    void give_up(LocalJob& job);
    void ended(const std::string& nspace, common::Rank rank, std::optional<int> wait_status);
    void over(LocalJob& job);
    void end(LocalJob& job);
    template <class F>
    void for_each(const std::vector<common::ProcId>& procs, F&& f);

    // What the requester is told; see local_events.cpp.
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

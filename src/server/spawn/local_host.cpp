// SPDX-License-Identifier: BSD-3-Clause
#include "server/spawn/local_host.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <new>

#include "common/base/log.h"
#include "common/values/support.h"
#include "server/iof/iof.h"
#include "server/jobs/launch_env.h"
#include "server/jobs/registration.h"
#include "server/namespaces/job_info.h"
#include "server/namespaces/registry.h"
#include "server/spawn/process_start.h"
#include "transport/deadline.h"

namespace pmix::server {

using common::InfoView;
using common::ProcId;
using common::Rank;

namespace {

// Between asking politely and not asking.
constexpr int64_t kUntilKillMs = 2000;
// For the kernel to end a killed process.
constexpr int64_t kUntilGoneMs = 5000;
// The job's name is this process's, with a number.
constexpr size_t kRoomForNumber = 24;

bool names(const ProcId& pattern, const std::string& nspace, Rank rank) {
    return pattern.nspace == nspace && (pattern.rank == PMIX_RANK_WILDCARD || pattern.rank == rank);
}

}  // namespace

// ---- starting ----

common::Result<std::string> LocalHost::start_job(const ProcId& parent, InfoView infos,
                                                 const common::CArray<pmix_app_t>& apps) {
    std::string name = around_.self.nspace.substr(0, common::kMaxNspaceLength - kRoomForNumber);
    do {
        name.resize(std::min(around_.self.nspace.size(), common::kMaxNspaceLength - kRoomForNumber));
        name += '.' + std::to_string(next_++);
    } while (around_.registry.find(name) != nullptr);
    auto read = read_local_job(name, parent, infos, apps, around_.registry.hostname());
    if (!read) return read.status();
    LocalJob& job = *read.value();
    pmix_status_t rc = PMIX_ERR_NOMEM;
    try {
        rc = register_job(job);
        if (rc == PMIX_SUCCESS) rc = start(job);
    } catch (const std::bad_alloc&) {  // what has been started is ended below
    }
    if (rc != PMIX_SUCCESS) {
        give_up(job);
        return rc;
    }
    WIREUP_LOG(server, info, "%s started here, %u processes", name.c_str(), job.size());
    if (job.time_limit_s > 0) {
        job.time_limit = Timer(around_.scheduler, int64_t{job.time_limit_s} * 1000, [this, name] {
            LocalJob& late = *jobs_.find(name)->second;
            if (late.term_status == PMIX_SUCCESS) late.term_status = PMIX_ERR_TIMEOUT;
            end(late);
        });
    }
    jobs_.emplace(name, std::move(read).value());
    // The requester knows the name by then.
    around_.scheduler.post([this, name] {
        auto it = jobs_.find(name);
        if (it != jobs_.end()) tell_started(*it->second);
    });
    return name;
}

pmix_status_t LocalHost::register_job(LocalJob& job) {
    auto setup = read_job(job.nspace, static_cast<int>(job.size()), job.description.c_array(), job.description.size());
    if (!setup) return setup.status();
    pmix_status_t rc = around_.registration.register_nspace(std::move(setup).value());
    for (Rank rank = 0; rank < job.size() && rc == PMIX_SUCCESS; ++rank)
        rc = around_.registration.register_client({job.nspace, rank}, ::geteuid(), ::getegid(), nullptr);
    return rc;
}

pmix_status_t LocalHost::start(LocalJob& job) {
    auto nothing = open_nothing();
    if (!nothing) return PMIX_ERR_JOB_SYS_OP_FAILED;
    if (job.tools && !keepalive_.read) {
        auto pipe = make_pipe();
        if (!pipe) return PMIX_ERR_JOB_SYS_OP_FAILED;
        keepalive_ = std::move(pipe).value();
    }
    job.processes.resize(job.size());
    pmix_status_t rc = PMIX_SUCCESS;
    for (Rank rank = 0; rank < job.size() && rc == PMIX_SUCCESS; ++rank) rc = start_one(job, rank, nothing->get());
    return rc;
}

pmix_status_t LocalHost::start_one(LocalJob& job, Rank rank, int nothing) {
    const LocalApp& app = job.app_of(rank);
    LocalProcess& process = job.processes[rank];
    const ProcId id(job.nspace, rank);
    StartSpec spec;
    transport::Descriptor ends[3];
    const auto forward = [&](int i, auto& stream) {
        auto end = stream.open();
        if (end) ends[i] = std::move(end).value();
        spec.streams[i] = ends[i].get();
        return end ? PMIX_SUCCESS : PMIX_ERR_JOB_SYS_OP_FAILED;
    };
    pmix_status_t rc = PMIX_SUCCESS;
    spec.streams[0] = nothing;
    if (job.forwarding.in_of(rank)) rc = forward(0, *(process.in = std::make_unique<ChildInput>()));
    if (rc == PMIX_SUCCESS && job.forwarding.out)
        rc = forward(1, *(process.out = std::make_unique<ChildOutput>(around_.iof, id, PMIX_FWD_STDOUT_CHANNEL)));
    if (rc == PMIX_SUCCESS && job.forwarding.err)
        rc = forward(2, *(process.err = std::make_unique<ChildOutput>(around_.iof, id, PMIX_FWD_STDERR_CHANNEL)));
    auto env = Strings::copy_of(app.env.get());
    if (!env) return env.status();
    if (rc == PMIX_SUCCESS) rc = around_.launch_env.apply(job.nspace, rank, env->place());
    if (job.tools && variable_in(env->get(), "PMIX_KEEPALIVE_PIPE") == nullptr) {
        spec.kept = keepalive_.read.get();
        if (rc == PMIX_SUCCESS) rc = set_variables(env->place(), {{"PMIX_KEEPALIVE_PIPE", std::to_string(spec.kept)}});
    }
    if (rc != PMIX_SUCCESS) return rc;
    spec.file = app.file.c_str();
    spec.argv = app.argv.get();
    spec.env = env->get();
    if (app.folder) spec.folder = app.folder.get();
    pid_t pid = -1;
    rc = start_process(spec, &pid);
    if (rc != PMIX_SUCCESS) return rc;
    ++job.alive;
    try {
        process.watch = std::make_unique<ChildWatch>(
            around_.loop, around_.scheduler, pid,
            [this, nspace = job.nspace, rank](std::optional<int> status) { ended(nspace, rank, status); });
    } catch (const std::bad_alloc&) {
        ::kill(-pid, SIGKILL);
        ::waitpid(pid, nullptr, 0);
        throw;
    }
    if (job.nohup) process.watch->leave_group();
    // The child's ends go with this function, and with them what would keep the streams from ending.
    if (process.in) process.in->start(around_.loop);
    if (process.out) process.out->start(around_.loop);
    if (process.err) process.err->start(around_.loop);
    return PMIX_SUCCESS;
}

// Of a job that cannot be: nobody has heard of it.
void LocalHost::give_up(LocalJob& job) {
    for (LocalProcess& process : job.processes)
        if (process.watch) process.watch->signal(SIGKILL);
    for (LocalProcess& process : job.processes)
        if (process.watch) process.watch->finish(kUntilGoneMs);
    around_.registration.deregister_nspace(job.nspace);
    around_.iof.forget_output(job.nspace);
}

// ---- the end ----

void LocalHost::ended(const std::string& nspace, Rank rank, std::optional<int> wait_status) {
    auto it = jobs_.find(nspace);
    if (it == jobs_.end()) return;
    LocalJob& job = *it->second;
    LocalProcess& process = job.processes[rank];
    if (process.out) process.out->finish();
    if (process.err) process.err->finish();
    process.out.reset();
    process.err.reset();
    process.in.reset();
    process.watch.reset();
    const ProcId id(job.nspace, rank);
    const Client* client = around_.registry.find_client(id);
    const bool in_the_middle =
        client != nullptr && (client->state == Client::State::connected || client->state == Client::State::lost);
    pmix_status_t how = PMIX_SUCCESS, of_job = PMIX_SUCCESS;
    std::optional<int> code;
    if (wait_status) code = WIFSIGNALED(*wait_status) ? 128 + WTERMSIG(*wait_status) : WEXITSTATUS(*wait_status);
    if (wait_status && WIFSIGNALED(*wait_status)) {
        how = PMIX_ERR_PROC_ABORTED_BY_SIG;
        of_job = PMIX_ERR_JOB_ABORTED_BY_SIG;
    } else if (code && *code != 0) {
        how = PMIX_ERR_EXIT_NONZERO_TERM;
        of_job = PMIX_ERR_JOB_NON_ZERO_TERM;
    } else if (in_the_middle) {
        how = PMIX_ERR_PROC_TERM_WO_SYNC;
        of_job = PMIX_ERR_JOB_TERM_WO_SYNC;
    }
    const bool expected = process.expected;
    if (expected && how != PMIX_SUCCESS) {
        how = PMIX_ERR_PROC_KILLED_BY_CMD;
        of_job = PMIX_ERR_JOB_KILLED_BY_CMD;
    }
    WIREUP_LOG(server, info, "%s:%u ended: %s", nspace.c_str(), rank, common::log_status(how));
    if (how != PMIX_SUCCESS && !job.failed) {
        job.failed = rank;
        job.failed_code = code;
        if (job.term_status == PMIX_SUCCESS) job.term_status = of_job;
    }
    around_.registration.deregister_client(id);
    tell_process_ended(job, rank, how, code);
    if (--job.alive == 0) return over(job);
    if (how != PMIX_SUCCESS && !expected && !job.recoverable) end(job);
}

void LocalHost::over(LocalJob& job) {
    tell_over(job);
    around_.registration.deregister_nspace(job.nspace);
    jobs_.erase(job.nspace);
}

// Asks all of them to end, and sees to it.
void LocalHost::end(LocalJob& job) {
    for (LocalProcess& process : job.processes) {
        if (process.watch == nullptr) continue;
        process.expected = true;
        process.watch->signal(SIGTERM);
        process.watch->signal(SIGCONT);  // a stopped one would not hear it
    }
    job.kill = Timer(around_.scheduler, kUntilKillMs, [this, name = job.nspace] {
        for (LocalProcess& process : jobs_.find(name)->second->processes)
            if (process.watch != nullptr && process.expected) process.watch->signal(SIGKILL);
    });
}

// With the server. Who was told to go on goes on, as nobody's.
void LocalHost::stop() noexcept {
    const auto each = [this](auto&& f) {
        for (auto& [name, job] : jobs_)
            for (LocalProcess& process : job->processes)
                if (process.watch != nullptr && !job->nohup) f(*process.watch);
    };
    each([](ChildWatch& watch) {
        watch.signal(SIGTERM);
        watch.signal(SIGCONT);
    });
    const auto deadline = transport::Deadline::in_ms(kUntilKillMs);
    each([&](ChildWatch& watch) {
        if (!watch.finish(deadline.poll_ms())) watch.signal(SIGKILL);
    });
    each([](ChildWatch& watch) { watch.finish(kUntilGoneMs); });
    jobs_.clear();
}

// ---- what a host is asked ----

bool LocalHost::has(common::Function function) const noexcept {
    using enum common::Function;
    return function == PMIx_Spawn || function == PMIx_Job_control || function == PMIx_IOF_push;
}

bool LocalHost::may_meet(common::Function function, const pmix_info_t& info, bool) const {
    return has(function) && common::check_required(InfoView(&info, 1), function, common::level::tool) == PMIX_SUCCESS;
}

void LocalHost::spawn(const ProcId& parent, common::InfoList infos, common::CArray<pmix_app_t> apps, Done done) {
    auto name = start_job(parent, infos, apps);
    scheduler().post([done = std::move(done), name = std::move(name)]() mutable {
        HostAnswer a;
        a.status = name.status();
        if (name) a.nspace = std::move(name).value();
        done(a);
    });
}

void LocalHost::abort(const ProcId& requestor, void*, int status, std::string, const Procs& procs, Done done) {
    answer(std::move(done), PMIX_SUCCESS);
    end_aborted(requestor, status, procs);
}

void LocalHost::job_control(const ProcId&, const Procs& targets, common::InfoList directives, Done done) {
    answer(std::move(done), control(targets, directives));
}

void LocalHost::push_stdin(const ProcId&, const Procs& targets, common::InfoList infos, std::vector<uint8_t> bytes,
                           Done done) {
    const bool ends = InfoView(infos).flag(PMIX_IOF_COMPLETE);
    if (ends && !bytes.empty()) write(targets, bytes, [](HostAnswer&) {});
    if (ends) bytes.clear();
    write(targets, bytes, std::move(done));
}

template <class F>
void LocalHost::for_each(const Procs& procs, F&& f) {
    for (auto& [name, job] : jobs_) {
        for (Rank rank = 0; rank < job->processes.size(); ++rank) {
            LocalProcess& process = job->processes[rank];
            const bool meant = std::any_of(procs.begin(), procs.end(),
                                           [&, &nspace = name](const ProcId& p) { return names(p, nspace, rank); });
            if (meant && process.watch != nullptr) f(*job, process);
        }
    }
}

void LocalHost::end_aborted(const ProcId& requestor, int status, const Procs& procs) {
    auto it = jobs_.find(requestor.nspace);
    if (it != jobs_.end() && it->second->term_status == PMIX_SUCCESS) {
        LocalJob& job = *it->second;
        job.term_status = PMIX_ERR_JOB_ABORTED;
        job.failed = requestor.rank;
        job.failed_code = status;
    }
    std::vector<ProcId> targets = procs;
    if (targets.empty()) targets.emplace_back(requestor.nspace, PMIX_RANK_WILDCARD);
    LocalJob* hit = nullptr;
    for_each(targets, [&](LocalJob& job, LocalProcess& process) {
        process.expected = true;
        process.watch->signal(SIGTERM);
        process.watch->signal(SIGCONT);
        hit = &job;
    });
    if (hit == nullptr) return;
    hit->kill = Timer(around_.scheduler, kUntilKillMs, [this, targets] {
        for_each(targets, [](LocalJob&, LocalProcess& process) { process.watch->signal(SIGKILL); });
    });
}

pmix_status_t LocalHost::control(const Procs& targets, InfoView directives) {
    int number = 0;
    bool terminates = directives.flag(PMIX_JOB_CTRL_TERMINATE);
    pmix_status_t rc = directives.get(PMIX_JOB_CTRL_SIGNAL, &number);
    if (rc != PMIX_SUCCESS || number < 0 || number > SIGRTMAX) return PMIX_ERR_BAD_PARAM;
    if (directives.flag(PMIX_JOB_CTRL_KILL)) number = SIGKILL;
    if (directives.flag(PMIX_JOB_CTRL_PAUSE)) number = SIGSTOP;
    if (directives.flag(PMIX_JOB_CTRL_RESUME)) number = SIGCONT;
    if (number == 0 && !terminates) return PMIX_ERR_NOT_SUPPORTED;
    if (terminates) number = SIGTERM;
    bool any = false;
    for_each(targets, [&](LocalJob&, LocalProcess& process) {
        any = true;
        process.expected = process.expected || number == SIGKILL || number == SIGTERM;
        process.watch->signal(number);
        if (terminates) process.watch->signal(SIGCONT);
    });
    return any ? PMIX_SUCCESS : PMIX_ERR_NOT_FOUND;
}

void LocalHost::write(const Procs& targets, const std::vector<uint8_t>& bytes, Done done) {
    // Answered when all of them have theirs.
    struct Answer {
        explicit Answer(Done d) : done(std::move(d)) {}
        ~Answer() {
            HostAnswer a;
            a.status = status;
            try {
                done(a);
            } catch (const std::bad_alloc&) {  // the requester got an error when its reply was dropped
            }
        }
        Done done;
        pmix_status_t status = PMIX_SUCCESS;
    };
    auto answer = std::make_shared<Answer>(std::move(done));
    bool any = false;
    for_each(targets, [&](LocalJob&, LocalProcess& process) {
        if (process.in == nullptr) return;
        any = true;
        process.in->push(bytes, [answer](pmix_status_t status) {
            if (answer->status == PMIX_SUCCESS) answer->status = status;
        });
    });
    if (!any) answer->status = PMIX_ERR_NOT_FOUND;
}

}  // namespace pmix::server

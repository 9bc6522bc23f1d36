// SPDX-License-Identifier: BSD-3-Clause
// A job that this process starts by itself: what its spawn asked for, read and made ready, and its processes.
//
// Plain state and pure reading; loop thread. Everything that can be refused is refused here, before anything is
// started: attributes that must be understood and are not (PMIX_ERR_NOT_SUPPORTED), other nodes
// (PMIX_ERR_JOB_ALLOC_FAILED), a folder or a program that is not there (PMIX_ERR_JOB_WDIR_NOT_FOUND,
// PMIX_ERR_JOB_EXE_NOT_FOUND, _APP_NOT_EXECUTABLE), numbers that cannot be (PMIX_ERR_BAD_PARAM).
#pragma once

#include <pmix_common.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/base/ids.h"
#include "common/base/status.h"
#include "common/values/info_view.h"
#include "server/iof/child_streams.h"
#include "server/spawn/child_watch.h"
#include "transport/descriptor.h"

namespace pmix::server {

// A malloc'ed, NULL-terminated array of malloc'ed strings.
class Strings {
  public:
    Strings() = default;
    Strings(Strings&& o) noexcept : list_(std::exchange(o.list_, nullptr)) {}
    Strings& operator=(Strings&& o) noexcept {
        std::swap(list_, o.list_);
        return *this;
    }
    ~Strings();
    static common::Result<Strings> copy_of(char* const* list) noexcept;
    char** get() const noexcept { return list_; }
    // For those who change it, and may move it.
    char*** place() noexcept { return &list_; }

  private:
    char** list_ = nullptr;
};

const char* variable_in(char* const* env, std::string_view name) noexcept;

// What is to be forwarded, and the receivers of the input.
struct Forwarding {
    bool out = false, err = false;
    std::optional<common::Rank> in;  // PMIX_RANK_WILDCARD: all
    bool in_of(common::Rank rank) const noexcept { return in && (*in == PMIX_RANK_WILDCARD || *in == rank); }
};

// Which events about the job are wanted.
struct JobNotices {
    bool job_events = false, completion = false, process_ends = false, abnormal_ends = false, silent_end = false;
};

struct LocalApp {
    std::string file;
    Strings argv, env;
    transport::Descriptor folder;  // none: the caller's
    uint32_t size = 0;
};

struct LocalProcess {
    std::unique_ptr<ChildWatch> watch;  // none: not started, or ended
    std::unique_ptr<ChildOutput> out, err;
    std::unique_ptr<ChildInput> in;
    bool expected = false;  // somebody has asked for its end
};

struct LocalJob {
    std::string nspace;
    common::ProcId parent;
    std::vector<LocalApp> apps;
    Forwarding forwarding;
    JobNotices notices;
    bool recoverable = false, nohup = false, tools = false;
    int time_limit_s = 0;
    common::InfoList description;  // what registering the namespace takes

    std::vector<LocalProcess> processes;  // by rank
    size_t alive = 0;
    pmix_status_t term_status = PMIX_SUCCESS;
    std::optional<common::Rank> failed;
    std::optional<int> failed_code;
    Timer kill, time_limit;

    uint32_t size() const noexcept;
    const LocalApp& app_of(common::Rank rank) const noexcept;
};

// The apps' environments are complete. The parent is the one that asks.
common::Result<std::unique_ptr<LocalJob>> read_local_job(std::string nspace, const common::ProcId& parent,
                                                         common::InfoView infos, const common::CArray<pmix_app_t>& apps,
                                                         std::string_view hostname);

}  // namespace pmix::server
